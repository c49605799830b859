//! Decompresses chunks that C-Blosc2 and C-Blosc wrote, and compares the data with the bytes that were compressed.

use b2nd_chunk::internals::stored_header;
use b2nd_chunk::{Chunk, ChunkHeader, Codec, Decompressor, ErrorKind, Filter, decompress_to_vec};
use b2nd_lab::chunks_of;

/// The items that `tests/data/make.py` compresses.
fn items() -> Vec<u8> {
    (0..2003_i32).flat_map(|number| ((number * 7 % 1000) << 12).to_le_bytes()).collect()
}

fn lines() -> Vec<u8> {
    let line = |number: i32| format!("a line of text, number {}, and another word\n", number * number);
    (0..500).map(line).collect::<String>().into_bytes()
}

/// The data of a chunk, decompressed as a whole and block by block.
fn decompressed(decompressor: &mut Decompressor, chunk: &[u8]) -> Vec<u8> {
    let header = ChunkHeader::parse(chunk).unwrap();
    let mut data = vec![0xaa; header.nbytes()];
    let parsed = Chunk::parse(chunk).unwrap();
    assert_eq!(decompressor.decompress_into(&parsed, &mut data), Ok(header.nbytes()));
    let mut done = 0;
    let mut block = vec![0x55; header.nbytes()];
    let mut ends = vec![0];
    for number in 0..header.nblocks().unwrap() {
        let length = decompressor.decompress_block(&parsed, number, &mut block).unwrap();
        assert_eq!(block[..length], data[done..done + length], "block {number}");
        done += length;
        ends.push(done);
    }
    assert_eq!(done, header.nbytes());
    assert_eq!(decompress_to_vec(chunk, done).as_ref(), Ok(&data));
    // Decompresses the blocks again, from the last to the first and each with a new `Decompressor`, because no block
    // may depend on an earlier call.
    for (number, range) in ends.windows(2).enumerate().rev() {
        let length = Decompressor::new().decompress_block(&parsed, number, &mut block).unwrap();
        assert_eq!(block[..length], data[range[0]..range[1]], "block {number} alone");
    }
    data
}

#[test]
fn every_codec_is_decompressed_split_or_not() {
    let (mut decompressor, mut seen) = (Decompressor::new(), Vec::new());
    for chunk in chunks_of("codecs") {
        let header = ChunkHeader::parse(&chunk).unwrap();
        seen.push((header.codec(), header.is_split()));
        assert!(decompressed(&mut decompressor, &chunk) == items(), "{header:?}");
    }
    let codecs = [Codec::BLOSCLZ, Codec::LZ4, Codec::LZ4, Codec::ZLIB, Codec::ZSTD];
    let expected: Vec<_> =
        codecs.iter().flat_map(|&codec| [(Some(codec), true), (Some(codec), false)]).collect();
    assert_eq!(seen, expected);
}

#[test]
fn every_filter_is_undone() {
    let (mut decompressor, mut seen) = (Decompressor::new(), Vec::new());
    for chunk in chunks_of("filters") {
        let header = ChunkHeader::parse(&chunk).unwrap();
        seen.extend(header.filters().map(|filter| filter.id));
        assert!(header.codec().is_some());
        assert!(decompressed(&mut decompressor, &chunk) == items(), "{header:?}");
    }
    let all = [Filter::SHUFFLE, Filter::BITSHUFFLE, Filter::DELTA, Filter::BYTEDELTA, Filter::INT_TRUNC];
    assert!(all.iter().all(|filter| seen.contains(&filter.id)), "{seen:?}");
}

#[test]
fn dictionaries_of_lz4_and_zstd_are_used() {
    let mut decompressor = Decompressor::new();
    for chunk in chunks_of("dictionaries") {
        let header = ChunkHeader::parse(&chunk).unwrap();
        assert!(header.has_dictionary() && header.codec().is_some());
        assert!(decompressed(&mut decompressor, &chunk) == lines(), "{header:?}");
    }
}

#[test]
fn a_decompressor_uses_the_dictionary_of_each_chunk() {
    let chunk = chunks_of("dictionaries").pop().unwrap();
    let at = 32 + ChunkHeader::parse(&chunk).unwrap().table_len().unwrap();
    let end = at + 4 + usize::try_from(i32::from_le_bytes(*chunk[at..].first_chunk().unwrap())).unwrap();
    // This copy of the chunk has a different dictionary, so its blocks decompress to different data.
    let mut other = chunk.clone();
    other[end - 64..end].fill(b'#');
    let expected = [&chunk, &other].map(|chunk| decompressed(&mut Decompressor::new(), chunk));
    assert_ne!(expected[0], expected[1]);
    let mut decompressor = Decompressor::new();
    for number in [0, 1, 0] {
        let found = decompressed(&mut decompressor, [&chunk, &other][number]);
        assert!(found == expected[number], "chunk {number}");
    }
}

#[test]
fn chunks_of_blosc_1_are_decompressed() {
    let (mut decompressor, mut compressed) = (Decompressor::new(), 0);
    for chunk in chunks_of("blosc1") {
        let header = ChunkHeader::parse(&chunk).unwrap();
        assert_eq!(header.header_len(), 16);
        compressed += usize::from(header.codec().is_some());
        assert!(decompressed(&mut decompressor, &chunk) == items(), "{header:?}");
    }
    assert!(compressed >= 12, "{compressed}");
}

#[test]
fn blocks_of_different_sizes_are_decompressed() {
    let chunk = chunks_of("variable").remove(0);
    let header = ChunkHeader::parse(&chunk).unwrap();
    assert!(header.has_variable_blocks() && header.nblocks() == Some(25), "{header:?}");
    let data = decompressed(&mut Decompressor::new(), &chunk);
    let line = lines()[..40].to_vec();
    assert!(data.windows(40).any(|bytes| bytes == line));
}

#[test]
fn chunks_of_one_value_are_filled_from_any_block_on() {
    // A block has 4 bytes, but the repeated value has 3, so a block can begin in the middle of the value.
    let header = stored_header(true, 3, 12, 4, 3).unwrap();
    let chunk = [&header[..], b"abc"].concat();
    assert_eq!(decompressed(&mut Decompressor::new(), &chunk), b"abcabcabcabc");
    for (special, typesize, expected) in [
        (1, 8, vec![0; 16]),
        (4, 8, vec![0; 16]),
        (2, 4, [0, 0, 0xc0, 0x7f].repeat(4)),
        (2, 8, [0, 0, 0, 0, 0, 0, 0xf8, 0x7f].repeat(2)),
    ] {
        let mut chunk = stored_header(true, typesize, 16, 8, 0).unwrap();
        chunk[31] = special << 4;
        assert_eq!(decompressed(&mut Decompressor::new(), &chunk), expected, "{special}");
    }
}

#[test]
fn a_chunk_without_data_decompresses_to_nothing() {
    let header = stored_header(false, 4, 0, 8, 0).unwrap();
    assert_eq!(Decompressor::new().decompress_into(&Chunk::parse(&header).unwrap(), &mut []), Ok(0));
    let mut compressed = header;
    compressed[2] = 0x95;
    assert_eq!(Decompressor::new().decompress_into(&Chunk::parse(&compressed).unwrap(), &mut []), Ok(0));
}

#[test]
fn decompress_to_vec_refuses_more_data_than_its_limit() {
    let compressed = chunks_of("codecs").remove(0);
    // A chunk of 32 bytes that claims 2 GiB of zeros: no memory is allocated for them.
    let zeros = stored_header(true, 1, i32::MAX as usize - 32, 1 << 20, 0).unwrap();
    for (chunk, nbytes, limit) in
        [(&compressed[..], 8012, 8011), (&compressed, 8012, 0), (&zeros, 2_147_483_615, 1)]
    {
        let error = decompress_to_vec(chunk, limit).unwrap_err();
        let says = format!("the chunk has {nbytes} bytes of data, but at most {limit} are allowed");
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::DataTooLong, says));
    }
    assert_eq!(decompress_to_vec(&compressed, 8012), Ok(items()));
}

#[test]
fn decompress_to_vec_returns_no_bytes_of_a_chunk_without_data() {
    assert_eq!(decompress_to_vec(&stored_header(false, 4, 0, 8, 0).unwrap(), 0), Ok(Vec::new()));
    let error = decompress_to_vec(&[], 0).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::Header, "the chunk does not begin with the header of a chunk")
    );
}

#[test]
fn bytes_after_the_chunk_and_after_the_data_are_left_alone() {
    let mut chunk = chunks_of("codecs").remove(0);
    chunk.extend([1; 100]);
    let mut data = vec![0xaa; items().len() + 2];
    Decompressor::new().decompress_into(&Chunk::parse(&chunk).unwrap(), &mut data).unwrap();
    assert!(data.starts_with(&items()) && data.ends_with(&[0xaa; 2]));
}

#[test]
fn a_block_is_decompressed_from_its_stored_bytes_alone() {
    let mut decompressor = Decompressor::new();
    for chunk in chunks_of("filters").iter().chain(&chunks_of("codecs")) {
        let header = ChunkHeader::parse(chunk).unwrap().checked().unwrap();
        let mut block = vec![0; header.blocksize()];
        for number in 0..header.nblocks().unwrap() {
            let at = header.header_len() + 4 * number;
            let start = u32::from_le_bytes(chunk[at..at + 4].try_into().unwrap()) as usize;
            let result = decompressor.decompress_block_bytes(&header, number, &chunk[start..], &mut block);
            if header.needs_other_blocks() || !header.has_table() {
                assert_eq!(result.unwrap_err().kind(), ErrorKind::Data);
                continue;
            }
            let length = result.unwrap();
            assert_eq!(block[..length], items()[number * header.blocksize()..][..length]);
        }
    }
}

#[test]
fn a_buffer_that_is_too_short_and_a_block_that_does_not_exist_are_errors_with_their_numbers() {
    let chunk = chunks_of("codecs").remove(0);
    let chunk = Chunk::parse(&chunk).unwrap();
    let mut decompressor = Decompressor::new();
    let error = decompressor.decompress_into(&chunk, &mut [0; 8011]).unwrap_err();
    let says = "the chunk needs a buffer of 8012 bytes, but this one has 8011";
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::BufferTooSmall, says));
    let error = decompressor.decompress_block(&chunk, 0, &mut [0; 1023]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BufferTooSmall);
    let error = decompressor.decompress_block(&chunk, 8, &mut [0; 1024]).unwrap_err();
    let says = "the chunk has 8 blocks, and no block 8";
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::NoBlock, says));
}

#[test]
fn decompress_into_and_decompress_block_repeat_the_value_of_a_constant_chunk() {
    for length in 1..20 {
        let value: Vec<u8> = (1..=length).collect();
        for count in [1, 2, 3, 7, 64] {
            let data = value.repeat(count);
            // Blocks that begin at every byte of the value.
            for blocksize in [1, 5, 13, data.len()] {
                let blocksize = blocksize.min(data.len());
                let header = stored_header(true, 1, data.len(), blocksize, value.len()).unwrap();
                let chunk = [&header[..], &value].concat();
                let mut decompressor = Decompressor::new();
                assert_eq!(decompressed(&mut decompressor, &chunk), data);
                for (number, expected) in data.chunks(blocksize).enumerate() {
                    let mut block = vec![0xaa; blocksize];
                    let chunk = Chunk::parse(&chunk).unwrap();
                    let found = decompressor.decompress_block(&chunk, number, &mut block).unwrap();
                    assert_eq!(&block[..found], expected, "value of {length}, block {number} of {blocksize}");
                }
            }
        }
    }
}
