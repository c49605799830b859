//! Damaged chunks.

use b2nd_chunk::internals::{set_filter, stored_header};
use b2nd_chunk::{Chunk, ChunkHeader, Decompressor, Error, ErrorKind, decompress_to_vec};
use b2nd_lab::chunks_of;

/// Offsets in a header.
const FLAGS: usize = 2;
const TYPESIZE: usize = 3;
const NBYTES: usize = 4;
const BLOCKSIZE: usize = 8;
const CBYTES: usize = 12;
const FILTERS: usize = 16;
const FILTERS_META: usize = 24;
const MORE_FLAGS: usize = 31;

/// A chunk of one block of 4 bytes, in one stream.
fn chunk_of(codec: u8, stream: &[u8]) -> Vec<u8> {
    let cbytes = u8::try_from(36 + stream.len()).unwrap();
    let mut chunk = vec![5, 1, codec << 5 | 0x15, 1, 4, 0, 0, 0, 4, 0, 0, 0, cbytes];
    chunk.resize(32, 0);
    chunk.extend([36, 0, 0, 0]);
    chunk.extend(stream);
    chunk
}

fn result(chunk: &[u8]) -> Result<Vec<u8>, (ErrorKind, String)> {
    let kind_and_text = |error: Error| {
        assert_eq!(format!("{error:?}"), error.to_string());
        (error.kind(), error.to_string())
    };
    let mut data = vec![0xaa; ChunkHeader::parse(chunk).map_or(0, |header| header.nbytes().min(1 << 20))];
    let decompressed = Chunk::parse(chunk)
        .and_then(|chunk| Decompressor::new().decompress_into(&chunk, &mut data))
        .map(|_| data);
    // `decompress_to_vec` finds the same data or fault.
    if decompressed.as_ref().err().is_none_or(|error| error.kind() != ErrorKind::BufferTooSmall) {
        assert_eq!(decompress_to_vec(chunk, 1 << 20), decompressed);
    }
    decompressed.map_err(kind_and_text)
}

#[test]
fn no_changed_byte_panics_or_makes_a_block_differ_from_the_whole() {
    let mut accepted = 0;
    for name in ["codecs", "filters", "dictionaries", "variable", "blosc1"] {
        for chunk in chunks_of(name) {
            let header_len = ChunkHeader::parse(&chunk).unwrap().header_len();
            let step = 1 + chunk.len() / 50;
            for at in (0..header_len + 40).chain((header_len + 40..chunk.len()).step_by(step)) {
                let mut damaged = chunk.clone();
                damaged[at] ^= 0x81;
                let Ok(data) = result(&damaged) else { continue };
                let mut block = vec![0; data.len()];
                let damaged = Chunk::parse(&damaged).unwrap();
                if let Ok(length) = Decompressor::new().decompress_block(&damaged, 0, &mut block) {
                    assert!(block[..length] == data[..length], "{name}, byte {at}");
                    accepted += 1;
                }
            }
        }
    }
    // Many changes leave a chunk that decompresses to other data, such as those in uncompressed streams.
    assert!(accepted > 300, "{accepted}");
}

#[test]
fn a_chunk_that_is_cut_short_is_refused() {
    let chunk = chunks_of("codecs").remove(0);
    for length in [0, 15, 31, 32, 100, chunk.len() - 1] {
        let (kind, _) = result(&chunk[..length]).unwrap_err();
        assert_eq!(kind, ErrorKind::Header, "{length}");
    }
    let says = format!("the chunk has {} bytes, but only 100 are given", chunk.len());
    assert_eq!(result(&chunk[..100]).unwrap_err().1, says);
}

#[test]
fn streams_are_runs_or_data_or_refused() {
    let run = |value: i32, token: &[u8]| [&value.to_le_bytes()[..], token].concat();
    assert_eq!(result(&chunk_of(1, &run(0, &[]))), Ok(vec![0; 4]));
    assert_eq!(result(&chunk_of(1, &run(-1, &[1]))), Ok(vec![1; 4]));
    assert_eq!(result(&chunk_of(1, &run(-255, &[0xff]))), Ok(vec![255; 4]));
    assert_eq!(result(&chunk_of(1, &run(4, b"data"))), Ok(b"data".into()));
    for (stream, says) in [
        (run(-256, &[1]), "a stream has the length -256, but repeats no byte"),
        (run(-7, &[2]), "a stream has the length -7, but repeats no byte"),
        (run(-7, &[]), "it reaches beyond the end of the chunk"),
        (run(3, b"ab"), "it reaches beyond the end of the chunk"),
        (b"ab".to_vec(), "it reaches beyond the end of the chunk"),
        (run(5, b"abcde"), "a stream has 5 bytes, but must have at most the 4 of its data"),
        (run(2, &[0x10, b'a']), "lz4 cannot decompress a stream of 2 bytes to 4"),
    ] {
        let says = format!("the chunk cannot be decompressed: block 0: {says}");
        assert_eq!(result(&chunk_of(1, &stream)), Err((ErrorKind::Data, says)));
    }
}

#[test]
fn tables_that_lead_outside_are_refused() {
    let chunk = chunk_of(1, &[0; 4]);
    for start in [-1, 0, 35, 40, i32::MAX] {
        let mut damaged = chunk.clone();
        damaged[32..36].copy_from_slice(&start.to_le_bytes());
        let says = format!(
            "the chunk has block 0 at its byte {start}, but it must begin at byte 36 or later, and before byte 40"
        );
        assert_eq!(result(&damaged), Err((ErrorKind::Table, says)));
        let checked = ChunkHeader::parse(&damaged).unwrap().check_table(&damaged);
        assert_eq!(checked.unwrap_err().kind(), ErrorKind::Table);
    }
    // Block 1 of a chunk whose table has more blocks.
    let mut damaged = chunks_of("codecs").remove(0);
    damaged[36..40].copy_from_slice(&1_i32.to_le_bytes());
    let error = Chunk::parse(&damaged).unwrap_err();
    assert!(error.to_string().starts_with("the chunk has block 1 at its byte 1, "), "{error}");
}

#[test]
fn a_dictionary_that_does_not_fit_or_is_none_is_refused() {
    let chunk = chunks_of("dictionaries").pop().unwrap();
    let at = 32 + ChunkHeader::parse(&chunk).unwrap().table_len().unwrap();
    for (length, kind) in [(-1, ErrorKind::Table), (32_769, ErrorKind::Table), (i32::MAX, ErrorKind::Table)] {
        let mut damaged = chunk.clone();
        damaged[at..at + 4].copy_from_slice(&length.to_le_bytes());
        assert_eq!(result(&damaged).unwrap_err().0, kind, "{length}");
    }
    let says = "the chunk cannot be decompressed: block 0: the dictionary is not in the format of the codec";
    let refused = Err((ErrorKind::Data, says.into()));
    let mut damaged = chunk.clone();
    // A byte of the magic number.
    damaged[at + 4] ^= 1;
    assert_eq!(result(&damaged), refused);
    // The three repeat offsets of a zstd dictionary are distances. At the start of a stream, they count back from the
    // end of the content of the dictionary. Each must be at least 1, and at most the length of the content. The first
    // offset is at byte 175, and the content follows the third one. C-Blosc2 checks these offsets too.
    let length = u32::from_le_bytes(*chunk[at..].first_chunk().unwrap());
    let reach = u32::try_from(at + 4).unwrap() + length - 175 - 12;
    for (offset, is_refused) in [(0, true), (1, false), (reach, false), (reach + 1, true), (u32::MAX, true)] {
        let mut damaged = chunk.clone();
        damaged[175..179].copy_from_slice(&offset.to_le_bytes());
        assert_eq!(result(&damaged) == refused, is_refused, "{offset}");
    }
}

#[test]
fn the_sizes_of_variable_blocks_must_add_up() {
    let chunk = chunks_of("variable").remove(0);
    let nbytes = ChunkHeader::parse(&chunk).unwrap().nbytes();
    let nbytes = i32::try_from(nbytes).unwrap();
    // The last of these three changes was found by a fuzz target.
    for change in [-1, 1, -nbytes] {
        let mut damaged = chunk.clone();
        let changed = nbytes + change;
        damaged[4..8].copy_from_slice(&changed.to_le_bytes());
        let (kind, says) = result(&damaged).unwrap_err();
        assert_eq!(kind, ErrorKind::Data);
        assert!(says.ends_with(&format!("the blocks do not add up to {changed} bytes")), "{says}");
    }
}

#[test]
fn a_variable_block_without_a_stream_is_refused() {
    for codec in [0, 1, 3, 4] {
        let mut chunk = chunk_of(codec, &4_i32.to_le_bytes());
        // The chunk has one block, of any size.
        (chunk[8], chunk[30]) = (1, 1);
        assert_eq!(result(&chunk).unwrap_err().0, ErrorKind::Data, "codec format {codec}");
    }
}

#[test]
fn a_plugin_is_refused_before_anything_is_decompressed() {
    let mut chunk = chunks_of("codecs").remove(0);
    chunk[FLAGS] |= 0xe0;
    assert!(chunk[FLAGS] & 2 == 0, "not compressed");
    assert_eq!(result(&chunk).unwrap_err().0, ErrorKind::Unsupported);
    chunk = chunks_of("codecs").remove(0);
    chunk[MORE_FLAGS] |= 0x80;
    assert_eq!(result(&chunk).unwrap_err().0, ErrorKind::Unsupported);
}

#[test]
fn decompress_block_bytes_takes_any_header_with_any_stored_bytes() {
    let mut rng = fastrand::Rng::with_seed(1);
    let mut chunks: Vec<_> =
        ["codecs", "filters", "dictionaries", "variable", "blosc1"].into_iter().flat_map(chunks_of).collect();
    // A constant chunk and an uncompressed chunk whose blocks cannot be split into streams of equal length.
    for (repeats, body) in [(true, 0), (false, 10)] {
        let header = stored_header(repeats, 3, 10, 7, body).unwrap();
        chunks.push([&header[..], &vec![1; body]].concat());
    }
    let (mut accepted, mut rejected) = (0, 0);
    for _ in 0..20_000 {
        let chunk = rng.choice(&chunks).unwrap();
        let mut bytes = chunk.clone();
        for _ in 0..rng.usize(0..3) {
            let size: i32 = *rng.choice(&[0, 1, 2, 7, 33, 100, 4096, i32::MAX - 3, i32::MAX]).unwrap();
            match rng.u8(0..8) {
                0 => bytes[0] = rng.u8(..),
                1 => bytes[TYPESIZE] = rng.u8(..),
                2 => bytes[FLAGS] ^= 2,
                3 => bytes[FLAGS] = bytes[FLAGS] & 0x1f | rng.u8(0..8) << 5,
                4 => bytes[MORE_FLAGS] = rng.u8(0..5) << 4,
                5 => bytes[FILTERS + rng.usize(0..6)] = rng.u8(0..40),
                6 => bytes[FILTERS_META + rng.usize(0..6)] = rng.u8(..),
                _ => {
                    let at = *rng.choice(&[NBYTES, BLOCKSIZE, CBYTES]).unwrap();
                    bytes[at..at + 4].copy_from_slice(&size.to_le_bytes());
                }
            }
        }
        let Some(header) = ChunkHeader::parse(&bytes) else { continue };
        let _ = (header.check_flags(), header.check_table(chunk), header.stored(chunk));
        let _ = (header.unknown_filter(), header.false_special());
        let (number, from) = (rng.usize(0..4), rng.usize(0..chunk.len()));
        let length = header.block_len(number).unwrap_or_default();
        let _ = (header.longest_block(length), header.block_bytes(&chunk[from..], length));
        let mut block = vec![0; length.min(1 << 16)];
        let Ok(header) = header.checked() else { continue };
        let mut decompressor = Decompressor::new();
        // The first block of the chunk, any other bytes of it, and uncompressed streams of the length that fits.
        let stored =
            header.table_len().and_then(|table| chunk.get(header.header_len().checked_add(table)?..));
        let stream = length.min(1 << 10).checked_div(header.nstreams(length)).unwrap_or_default();
        let stream = [&u32::try_from(stream).unwrap().to_le_bytes()[..], &vec![7; stream]].concat();
        for stored in [stored.unwrap_or_default(), &chunk[from..], &stream.repeat(300)] {
            match decompressor.decompress_block_bytes(&header, number, stored, &mut block) {
                Ok(_) => accepted += 1,
                Err(_) => rejected += 1,
            }
        }
    }
    assert!(accepted > 1000 && rejected > 1000, "{accepted} and {rejected}");
}

#[test]
fn set_filter_ignores_a_number_beyond_the_header() {
    let mut chunk = chunk_of(1, &[0; 4]);
    let before = chunk.clone();
    set_filter(&mut chunk, usize::MAX, 1);
    assert_eq!(chunk, before);
}
