//! Decompression of any bytes as a chunk.

use b2nd_chunk::{ChunkHeader, Decompressor, ErrorKind};
use b2nd_frame::expansion_limit;

use crate::seeds;

/// Chunks of real frames, and chunks of C-Blosc2 without a frame.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let names = ["indexes", "index_of_blocks", "blosc1", "codecs", "dictionaries", "filters", "variable"];
    let mut seeds = seeds::chunks();
    seeds.extend(names.into_iter().flat_map(b2nd_lab::chunks_of).filter(|chunk| chunk.len() < 1 << 14));
    seeds
}

/// Decompresses a chunk as a whole, and again block by block. Both ways give the same data, or both fail.
pub(super) fn run(bytes: &[u8]) {
    let Some(header) = ChunkHeader::parse(bytes) else {
        Decompressor::new().decompress_into(bytes, &mut []).expect_err("no header");
        return;
    };
    // The decompressor has no limit for the size of the data, because it writes to the caller's memory. So this target
    // skips chunks that claim too much data.
    if header.nbytes() as u64 > expansion_limit(bytes.len() as u64) / 16 {
        return;
    }
    let mut decompressor = Decompressor::new();
    let mut data = vec![0xaa; header.nbytes() + 1];
    let whole = decompressor.decompress_into(bytes, &mut data);
    assert_eq!(data.pop(), Some(0xaa), "a byte after the data");
    match whole {
        Ok(length) => assert_eq!(length, header.nbytes()),
        Err(error) => {
            assert!(error.to_string().starts_with("the chunk "), "{error}");
            assert!(![ErrorKind::NoBlock, ErrorKind::BufferTooSmall].contains(&error.kind()), "{error}");
        }
    }
    let (mut done, mut block) = (0, vec![0x55; header.nbytes()]);
    // With the filter `delta`, the decompression of any other block also decompresses block 0, which takes the same
    // time again. So at most 1024 blocks are decompressed one by one.
    for number in 0..header.nblocks().unwrap_or_default().min(1 << 10) {
        match decompressor.decompress_block(bytes, number, &mut block) {
            Ok(length) if whole.is_ok() => {
                assert_eq!(data[done..done + length], block[..length], "block {number}");
                done += length;
            }
            Ok(_) => {}
            Err(error) => assert!(whole.is_err(), "block {number}: {error}"),
        }
    }
}
