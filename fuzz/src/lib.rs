//! Functions that take any bytes and assert the promises of the library.
//!
//! Such a function is called a target. `tests/replay.rs` runs each target on its seeds and on thousands of mutations of
//! its seeds. `src/bin/libfuzzer.rs` runs a target in libFuzzer. A seed is a small real file of `frame/tests/data`, a
//! value made from such a file, or an input in `corpus` that once found a fault.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs, io};

use fastrand::Rng;

mod choices;
mod mutate;
mod seeds;
mod targets;

pub use mutate::mutate;
pub use targets::{TARGETS, Target};

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a package in a repository")
}

/// A temporary folder. It is in /dev/shm if /dev/shm exists. On a disk, a target would spend most of its time on syncs.
pub(crate) fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    folder.expect("a temporary folder")
}

/// Runs a target on its seeds, and on `FUZZ_RUNS` mutations of them. The environment variable `FUZZ_SEED` is the seed
/// of the random numbers; without it, the seed is random. The seed is printed, so that the run can be repeated. An
/// input with which the target panics is kept in `fuzz/target/found`.
pub fn replay(target: &Target) {
    let number = |name| env::var(name).ok().map(|text| text.parse().expect("a number"));
    let runs = number("FUZZ_RUNS").unwrap_or(target.runs);
    let seed = number("FUZZ_SEED").unwrap_or_else(|| fastrand::u64(..));
    println!("FUZZ_SEED={seed}");
    let start = Instant::now();
    let seeds = target.seeds();
    for seed in &seeds {
        try_one(target, seed);
    }
    let mut rng = Rng::with_seed(seed);
    for _ in 0..runs {
        let mut bytes = rng.choice(&seeds).expect("a target has seeds").clone();
        let other = rng.choice(&seeds).expect("a target has seeds");
        mutate(&mut rng, &mut bytes, other);
        try_one(target, &bytes);
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{}: {} seeds and {runs} mutations in {seconds:.1} s", target.name, seeds.len());
}

fn try_one(target: &Target, bytes: &[u8]) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (target.run)(bytes))) {
        match keep(target, bytes) {
            Ok(path) => eprintln!("the input is in {}", path.display()),
            Err(error) => eprintln!("the input cannot be kept: {error}"),
        }
        resume_unwind(panic);
    }
}

fn keep(target: &Target, bytes: &[u8]) -> io::Result<PathBuf> {
    let folder = root().join("fuzz/target/found").join(target.name);
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{:016x}", hash(bytes)));
    fs::write(&path, bytes)?;
    Ok(path)
}

/// The hash FNV-1a. It is the same in every version of Rust, so the names of kept inputs do not change.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
