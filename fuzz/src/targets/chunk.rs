//! Decompression of any bytes as a chunk.

use b2nd_chunk::{Chunk, Decompressor, ErrorKind, decompress_to_vec};
use b2nd_frame::expansion_limit;

use crate::seeds;

/// Chunks of real frames, and chunks of C-Blosc2 without a frame.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let names = ["indexes", "index_of_blocks", "blosc1", "codecs", "dictionaries", "filters", "variable"];
    let mut seeds = seeds::chunks();
    seeds.extend(names.into_iter().flat_map(b2nd_lab::chunks_of).filter(|chunk| chunk.len() < 1 << 14));
    seeds
}

/// Decompresses a chunk in three ways: into a buffer, into a new `Vec`, and block by block. Asserts that all three ways
/// give the same data. Single blocks of a damaged chunk may be decompressed, although the whole chunk cannot be.
pub(super) fn run(bytes: &[u8]) {
    let limit = usize::try_from(expansion_limit(bytes.len() as u64) / 16).unwrap_or(usize::MAX);
    let chunk = match Chunk::parse(bytes) {
        Ok(chunk) => chunk,
        Err(error) => {
            assert!(error.to_string().starts_with("the chunk "), "{error}");
            assert!(
                [ErrorKind::Header, ErrorKind::Table, ErrorKind::Data, ErrorKind::Unsupported]
                    .contains(&error.kind()),
                "{error}"
            );
            assert_eq!(decompress_to_vec(bytes, limit), Err(error));
            return;
        }
    };
    let header = chunk.header();
    let own = decompress_to_vec(bytes, limit);
    // A few bytes can claim gigabytes of data, so a chunk above the limit is not decompressed.
    if header.nbytes() > limit {
        assert_eq!(own.map_err(|error| error.kind()), Err(ErrorKind::DataTooLong));
        return;
    }
    let mut decompressor = Decompressor::new();
    let mut data = vec![0xaa; header.nbytes() + 1];
    let whole = decompressor.decompress_into(&chunk, &mut data);
    assert_eq!(data.pop(), Some(0xaa), "a byte after the data");
    match whole {
        Ok(length) => assert!(length == header.nbytes() && own == Ok(data.clone())),
        Err(error) => {
            assert!(error.to_string().starts_with("the chunk "), "{error}");
            assert_eq!((error.kind(), own), (ErrorKind::Data, Err(error)));
        }
    }
    let (mut done, mut block) = (0, vec![0x55; header.nbytes()]);
    // With the filter `delta`, the decompression of a block after block 0 decompresses block 0 too, so it takes twice
    // the time. To save time, at most 1024 blocks are decompressed one by one.
    for number in 0..header.nblocks().unwrap_or_default().min(1 << 10) {
        match decompressor.decompress_block(&chunk, number, &mut block) {
            Ok(length) if whole.is_ok() => {
                assert_eq!(data[done..done + length], block[..length], "block {number}");
                done += length;
            }
            Ok(_) => {}
            Err(error) => assert!(whole.is_err(), "block {number}: {error}"),
        }
    }
}
