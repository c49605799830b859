//! Runs libFuzzer on the target that `FUZZ_TARGET` names. `fuzz/run` builds and starts this program.
#![no_main]

use std::sync::LazyLock;

use b2nd_serde_fuzz::{TARGETS, Target};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("FUZZ_TARGET").expect("FUZZ_TARGET");
    TARGETS.iter().find(|target| target.name == name).expect("a target with this name")
});

fuzz_target!(|data: &[u8]| (TARGET.run)(data));

// libFuzzer makes half of the mutations. It inserts values with which the code compared the input. `mutate` makes the
// other half. These mutations fit the format.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed & 1 == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let mut rng = fastrand::Rng::with_seed(seed.into());
    let mut bytes = data[..size].to_vec();
    b2nd_serde_fuzz::mutate(&mut rng, &mut bytes, &data[..size]);
    let size = bytes.len().min(max_size);
    data[..size].copy_from_slice(&bytes[..size]);
    size
});
