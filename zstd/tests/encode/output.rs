//! The frames.

use fastrand::Rng;
use zstd_encode::{Encoder, compress, max_output_len};

use crate::data::{KINDS, data};

/// The length of a block.
const BLOCK: usize = 1 << 17;

/// The frame of the data. Each test so also checks that `max_output_len` is enough.
fn compressed(data: &[u8], level: u8) -> Vec<u8> {
    let mut frame = Vec::with_capacity(max_output_len(data.len()));
    let room = frame.capacity();
    compress(data, level, &mut frame);
    assert_eq!(frame.capacity(), room, "{} bytes at level {level}", data.len());
    frame
}

/// Asserts that a frame decompresses to the data, and that it is not much longer than the data.
fn assert_right(frame: &[u8], data: &[u8], case: &str) {
    assert!(zrip::decompress_with_limit(frame, data.len()).as_deref() == Ok(data), "other data: {case}");
    let most = data.len() + 18 + 3 * data.len().div_ceil(BLOCK);
    assert!(frame.len() <= most, "{} bytes for {}: {case}", frame.len(), data.len());
}

/// Compresses data of a kind, and asserts that its frame is right.
fn assert_compresses(rng: &mut Rng, kind: u8, length: usize, level: u8) {
    let data = data(rng, kind, length);
    assert_right(&compressed(&data, level), &data, &format!("kind {kind}, {length} bytes, level {level}"));
}

#[test]
fn compress_gives_frames_of_the_data_at_each_level() {
    let mut rng = Rng::with_seed(1);
    let lengths = (0..70).chain([127, 255, 256, 257, 1000, 1023, 1024, 4095, 16_383, 16_384, 40_000]);
    for (length, level) in lengths.flat_map(|length| (1..=22).map(move |level| (length, level))) {
        let kind = rng.u8(..KINDS);
        assert_compresses(&mut rng, kind, length, level);
    }
}

#[test]
fn compress_gives_frames_of_data_with_several_blocks() {
    let mut rng = Rng::with_seed(2);
    for kind in 0..KINDS {
        for level in [1, 3, 4, 6, 9, 12, 13, 15, 22] {
            let length = rng.choice([BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 2 * BLOCK + 7]).unwrap();
            assert_compresses(&mut rng, kind, length, level);
        }
    }
}

#[test]
fn compress_finds_no_matches_beyond_the_window() {
    let mut rng = Rng::with_seed(3);
    let start = data(&mut rng, 0, 1000);
    for gap in [(4 << 20) - 1000, (4 << 20) + 1000] {
        let data = [&start[..], &vec![0; gap - 1000], &start].concat();
        for level in [1, 5, 13, 22] {
            let frame = compressed(&data, level);
            assert_right(&frame, &data, &format!("a gap of {gap} bytes, level {level}"));
            let is_found = frame.len() < 1900;
            assert_eq!(is_found, gap < 4 << 20, "{} bytes after a gap of {gap}, level {level}", frame.len());
        }
    }
}

#[test]
fn an_encoder_gives_the_same_frame_each_time() {
    let mut rng = Rng::with_seed(4);
    let inputs: Vec<Vec<u8>> = (0..40)
        .map(|_| {
            let (kind, length) = (rng.u8(..KINDS), rng.usize(..20_000));
            data(&mut rng, kind, length)
        })
        .collect();
    for level in [1, 2, 3, 5, 8, 12, 13, 17, 22] {
        let mut encoder = Encoder::new(level);
        let mut frame = Vec::new();
        for data in &inputs {
            frame.clear();
            encoder.compress(data, &mut frame);
            assert!(frame == compressed(data, level), "{} bytes, level {level}", data.len());
        }
    }
}

#[test]
fn a_level_out_of_range_counts_as_the_nearest_one() {
    let data = data(&mut Rng::with_seed(5), 9, 30_000);
    assert!(compressed(&data, 0) == compressed(&data, 1));
    assert!(compressed(&data, 255) == compressed(&data, 22));
    assert_eq!(format!("{:?}", Encoder::new(99)), "Encoder { level: 22, .. }");
}

/// The frames are the same on each machine. If a change of the encoder changes them on purpose, this test prints the
/// new line.
#[test]
fn frames_are_the_same_on_each_machine() {
    let mut rng = Rng::with_seed(6);
    let cases = (0..KINDS).map(|kind| (kind, 40_000)).chain([(5, 300_000), (9, 300_000)]);
    let inputs: Vec<Vec<u8>> = cases.map(|(kind, length)| data(&mut rng, kind, length)).collect();
    let sums: Vec<(usize, u64)> = (1..=22)
        .map(|level| {
            let frames: Vec<u8> = inputs.iter().flat_map(|data| compressed(data, level)).collect();
            (frames.len(), hash(&frames))
        })
        .collect();
    let lines: Vec<String> = sums.iter().map(|(length, hash)| format!("{length} {hash:016x}")).collect();
    assert_eq!(lines, include_str!("frames.txt").lines().collect::<Vec<_>>());
}

/// The hash FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
