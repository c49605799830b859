//! The search for pages of zeros in the place of compressed bytes.

#[cfg(feature = "compress")]
use b2nd_chunk::{CParams, Compressor, SplitMode};
use b2nd_chunk::{ChunkHeader, Codec};
use fastrand::Rng;

/// The header of a chunk with one block of one stream.
fn header(codec: Codec, length: usize) -> ChunkHeader {
    let format = match codec {
        Codec::BLOSCLZ => 0,
        Codec::LZ4 | Codec::LZ4HC => 1,
        Codec::ZLIB => 3,
        Codec::ZSTD => 4,
        _ => 6,
    };
    let mut header = [0; 32];
    header[..4].copy_from_slice(&[5, 1, 0x15 | format << 5, 1]);
    let length = u32::try_from(length).unwrap().to_le_bytes();
    header[4..8].copy_from_slice(&length);
    header[8..12].copy_from_slice(&length);
    (header[12], header[22]) = (100, codec.0);
    ChunkHeader::parse(&header).unwrap()
}

/// A block of one stream.
fn block(stream: &[u8]) -> Vec<u8> {
    [&i32::try_from(stream.len()).unwrap().to_le_bytes(), stream].concat()
}

#[test]
fn lost_page_finds_only_zeros_that_no_encoder_leaves() {
    const KIB: usize = 1 << 10;
    const MIB: usize = 1 << 20;
    let found = |codec, length, zeros: usize| {
        let mut stream = vec![1; 20_000];
        stream[1_234..1_234 + zeros].fill(0);
        header(codec, length).lost_page(&block(&stream), length)
    };
    for (codec, length, most) in [
        (Codec::BLOSCLZ, 30_000, 4_095),
        (Codec::BLOSCLZ, 100 * MIB, 4_095),
        (Codec::LZ4, 512 * KIB, 4_095),
        (Codec::LZ4, 2 * MIB, 8_256),
        (Codec::LZ4HC, 512 * KIB, 4_095),
        (Codec::LZ4HC, 2 * MIB, 8_256),
        (Codec::ZLIB, 4_000 * KIB, 4_095),
        (Codec::ZLIB, 8 * MIB, 8_192),
        // A plugin.
        (Codec(33), 30_000, 20_000 - 1_234),
        // The stream is stored as it is.
        (Codec::LZ4, 20_000, 20_000 - 1_234),
    ] {
        assert_eq!(found(codec, length, most), None, "{codec}, {length}");
        if most < 20_000 - 1_234 {
            assert_eq!(found(codec, length, most + 1), Some(4 + 1_234), "{codec}, {length}");
        }
    }
}

#[test]
fn lost_page_finds_4096_zeros_at_each_byte_of_a_stream() {
    for start in 0..=12_000 - 4_096 {
        let mut stream = vec![1; 12_000];
        stream[start..start + 4_096].fill(0);
        assert_eq!(header(Codec::LZ4, 30_000).lost_page(&block(&stream), 30_000), Some(4 + start));
    }
}

#[test]
fn lost_end_finds_zeros_at_the_end_that_no_encoder_leaves() {
    let ends_with = |codec, length, zeros: usize| {
        let mut stream = vec![1; 9_000];
        stream[9_000 - zeros..].fill(0);
        header(codec, length).lost_end(&block(&stream), length)
    };
    for (codec, length, most) in [
        (Codec::BLOSCLZ, 30_000, 64),
        (Codec::LZ4, 30_000, 64 + 2 * 58),
        (Codec::LZ4HC, 512 << 10, 64 + 2_048),
        (Codec::ZLIB, 30_000, 64 + 29),
    ] {
        assert_eq!(ends_with(codec, length, most), None, "{codec}, {length}");
        assert_eq!(ends_with(codec, length, most + 1), Some(4 + 9_000 - most - 1), "{codec}, {length}");
    }
    assert_eq!(ends_with(Codec::LZ4, 9_000, 4_000), None, "the stream is stored as it is");
    assert_eq!(ends_with(Codec(33), 30_000, 4_000), None, "a plugin");
    let zeros = [0; 4_000];
    let coded = [&[0x0e, 0xee, 0x02][..], &zeros].concat();
    let of_zstd =
        |kind, bytes| header(Codec::ZSTD, 100_000).lost_end(&block(&zstd(&[(kind, bytes)])), 100_000);
    assert_eq!([of_zstd(0, &zeros), of_zstd(2, &coded)], [None, Some(4 + 9 + 3 + 3)]);
}

/// A zstd frame with these blocks: the type and the bytes of each.
fn zstd(blocks: &[(u32, &[u8])]) -> Vec<u8> {
    let mut frame = b"\x28\xb5\x2f\xfd\xa0\0\0\x01\0".to_vec();
    for (number, (kind, bytes)) in blocks.iter().enumerate() {
        let last = u32::from(number + 1 == blocks.len());
        let size = u32::try_from(bytes.len()).unwrap();
        frame.extend_from_slice(&(size << 3 | kind << 1 | last).to_le_bytes()[..3]);
        frame.extend_from_slice(bytes);
    }
    frame
}

#[test]
fn lost_page_does_not_search_the_parts_of_a_zstd_stream_that_are_data() {
    // The length of the stream, and the header of the frame.
    const START: usize = 4 + 9;
    let zeros = [0; 12_000];
    // 12,000 is 0x02ee0. The header of literals has 20 bits of size, 2 bits for its length, and the type: 0 if the
    // literals are data, 2 if they are compressed.
    let raw = [&[0x0c, 0xee, 0x02][..], &zeros, &[7; 100]].concat();
    let coded = [&[0x0e, 0xee, 0x02][..], &zeros, &[7; 100]].concat();
    let found = |blocks: &[(u32, &[u8])]| {
        let length = 100_000;
        header(Codec::ZSTD, length).lost_page(&block(&zstd(blocks)), length)
    };
    assert_eq!(found(&[(0, &zeros), (2, &[2; 50])]), None);
    assert_eq!(found(&[(2, &raw)]), None);
    assert_eq!(found(&[(2, &coded)]), Some(START + 3 + 3));
    assert_eq!(found(&[(0, &zeros), (2, &coded)]), Some(START + 3 + 12_000 + 3 + 3));
}

#[test]
fn lost_page_and_lost_end_take_any_bytes() {
    let mut rng = Rng::with_seed(1);
    for _ in 0..3_000 {
        let mut bytes: Vec<u8> = (0..rng.usize(..12_000)).map(|_| rng.u8(..) & rng.u8(..)).collect();
        // Zeros that can be a lost page, often at the end.
        let zeros = if rng.bool() { rng.usize(60..200) } else { rng.usize(4_000..5_000) }.min(bytes.len());
        let start = bytes.len() - zeros;
        let start = if rng.bool() { start } else { rng.usize(..=start) };
        bytes[start..start + zeros].fill(0);
        if rng.bool() {
            let stream_len = if rng.u8(..4) > 0 { bytes.len().saturating_sub(4) } else { 200 };
            let start = [&u32::try_from(stream_len).unwrap().to_le_bytes()[..], b"\x28\xb5\x2f\xfd"].concat();
            bytes.splice(..bytes.len().min(start.len()), start);
        }
        let codec = rng.choice([Codec::ZSTD, Codec::ZSTD, Codec::LZ4, Codec::ZLIB]).unwrap();
        let length = rng.usize(..1_000);
        let header = header(codec, 1_000);
        let _ = (header.lost_page(&bytes, length), header.lost_end(&bytes, length));
    }
}

#[cfg(feature = "compress")]
#[test]
fn lost_page_and_lost_end_find_nothing_in_the_chunks_of_this_crate() {
    let mut rng = Rng::with_seed(2);
    let mut data: Vec<u8> = (0..400_000).map(|_| rng.u8(..)).collect();
    data[100_000..130_000].fill(0);
    data[131_000..139_300].fill(0);
    for codec in [Codec::BLOSCLZ, Codec::LZ4, Codec::ZLIB, Codec::ZSTD] {
        for (level, split) in [(1, SplitMode::Never), (3, SplitMode::Always), (9, SplitMode::Auto)] {
            let mut params = CParams::new(2);
            (params.codec, params.clevel, params.splitmode) = (codec, level, split);
            let mut chunk = Vec::new();
            Compressor::new(params).unwrap().compress_into(&data, &mut chunk).unwrap();
            let header = ChunkHeader::parse(&chunk).unwrap();
            for number in 0..header.nblocks().unwrap() {
                let at = header.header_len() + 4 * number;
                let start = u32::from_le_bytes(chunk[at..at + 4].try_into().unwrap()) as usize;
                let length = header.block_len(number).unwrap();
                let block = header.block_bytes(&chunk[start..], length).unwrap();
                let found = (header.lost_page(block, length), header.lost_end(block, length));
                assert_eq!(found, (None, None), "{codec}, level {level}");
            }
        }
    }
}
