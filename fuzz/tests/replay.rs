//! Runs each target on its seeds and on mutations of the seeds. No target may fail.
//!
//! `FUZZ_RUNS` is the number of mutations, `FUZZ_SEED` the seed of the random numbers. An input with which a target
//! fails is kept in `fuzz/target/found`. The commit that fixes the fault should add this input to `fuzz/corpus`.

use b2nd_serde_fuzz::{TARGETS, replay};

macro_rules! tests {
    ($($target:ident)*) => {
        $(#[test]
        fn $target() {
            let target = TARGETS.iter().find(|target| target.name == stringify!($target));
            replay(target.expect("a target with this name"));
        })*

        #[test]
        fn every_target_is_replayed() {
            assert!(TARGETS.iter().map(|target| target.name).eq([$(stringify!($target)),*]));
        }
    };
}

tests!(meta frame chunk compress zstd slices plan change write containers vlmeta dtype items geometry);
