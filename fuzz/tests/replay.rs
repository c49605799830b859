//! Each target holds for its seeds and for mutations of them.
//!
//! `FUZZ_RUNS` is the number of mutations, `FUZZ_SECONDS` a time instead, `FUZZ_SEED` the seed of the random numbers,
//! which is printed. An input that fails is kept in `fuzz/target/found`; it goes to `fuzz/corpus` with the commit that
//! mends it.

use b2nd_serde_fuzz::{Replay, TARGETS};

fn replay(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target with this name");
    let replay = Replay::from_env(target.runs);
    println!("FUZZ_SEED={}", replay.seed);
    replay.run(target);
}

macro_rules! tests {
    ($($target:ident)*) => {
        $(#[test]
        fn $target() {
            replay(stringify!($target));
        })*

        #[test]
        fn every_target_is_replayed() {
            assert!(TARGETS.iter().map(|target| target.name).eq([$(stringify!($target)),*]));
        }
    };
}

tests!(meta frame slices change write containers vlmeta dtype geometry);
