//! Compression of any bytes with zstd at any level.

use zstd_encode::Encoder;

use crate::choices::Choices;
use crate::seeds;

const COUNT: usize = 4;

/// Choices with the bytes of a frame as the data, and choices without data.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut all = seeds::choices(COUNT, &seeds::frames());
    all.extend(seeds::choices(COUNT, &[]));
    all
}

/// Asserts that a zstd frame decompresses to its data, and that the same data always give the same frame, even if the
/// encoder has compressed other data before.
pub(super) fn run(bytes: &[u8]) {
    let (mut choices, data) = Choices::split(bytes, COUNT);
    let mut encoder = Encoder::new(choices.byte() % 24);
    // An input is short, so it is repeated, with a few other bytes between the repetitions. This gives long matches and
    // several blocks.
    let (repetitions, step) = (1 + choices.below(12), choices.byte());
    let mut long = Vec::new();
    for number in 0..repetitions {
        long.extend_from_slice(data);
        long.extend(std::iter::repeat_n(step.wrapping_mul(u8::try_from(number).unwrap_or_default()), number));
    }
    let mut first = Vec::new();
    encoder.compress(data, &mut first);
    assert!(zrip::decompress_with_limit(&first, data.len()).as_deref() == Ok(data));
    let mut frame = Vec::new();
    encoder.compress(&long, &mut frame);
    assert!(zrip::decompress_with_limit(&frame, long.len()).as_deref() == Ok(&long));
    assert!(frame.len() <= long.len() + 20 + long.len() / 40_000, "{} bytes for {}", frame.len(), long.len());
    let mut again = Vec::new();
    encoder.compress(data, &mut again);
    assert!(again == first, "another frame for the same data");
}
