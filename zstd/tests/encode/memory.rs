//! The memory of an encoder.

use allocation_counter::measure;
use fastrand::Rng;
use zstd_encode::Encoder;

use crate::data::data;

/// The documentation of the crate has the same limits, in MiB.
const LIMITS: [(u8, u64); 6] = [(1, 3), (3, 3), (4, 8), (12, 8), (13, 56), (22, 56)];

#[test]
fn compress_needs_no_more_memory_than_documented() {
    let mut rng = Rng::with_seed(1);
    let mut output = Vec::with_capacity(6 << 20);
    // Noise, planes of counters, and copies.
    let mut inputs: Vec<Vec<u8>> = [0, 5, 10].map(|kind| data(&mut rng, kind, 5 << 20)).into();
    // Bytes 0 and 1 at random have the most matches. The zeros before them make the tables as large as they get.
    inputs.push([vec![0; 4 << 20], (0..512 << 10).map(|_| rng.u8(..2)).collect()].concat());
    for (number, data) in inputs.iter().enumerate() {
        for (level, limit) in LIMITS {
            output.clear();
            let peak = measure(|| Encoder::new(level).compress(data, &mut output)).bytes_max;
            assert!(peak <= limit << 20, "{peak} bytes for input {number} at level {level}");
            // Much less is needed for a short input.
            let peak = measure(|| Encoder::new(level).compress(&data[..5000], &mut output)).bytes_max;
            assert!(peak <= 1 << 20, "{peak} bytes for 5000 of input {number} at level {level}");
        }
    }
}
