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
fn lost_page_searches_only_streams_in_which_no_encoder_leaves_zeros() {
    let mut stream = vec![1; 20_000];
    stream[8_000..16_200].fill(0);
    let stream = block(&stream);
    for (codec, length, expected) in [
        (Codec::BLOSCLZ, 30_000, Some(8_192)),
        (Codec::BLOSCLZ, 100 << 20, Some(8_192)),
        (Codec::LZ4, (512 << 10) - 1, Some(8_192)),
        (Codec::LZ4, 512 << 10, None),
        (Codec::LZ4HC, (512 << 10) - 1, Some(8_192)),
        (Codec::LZ4HC, 512 << 10, None),
        (Codec::ZLIB, 4 << 20, Some(8_192)),
        (Codec::ZLIB, 5 << 20, None),
        // A plugin.
        (Codec(33), 30_000, None),
        // The stream is stored as it is.
        (Codec::LZ4, 20_000, None),
    ] {
        assert_eq!(header(codec, length).lost_page(&stream, length, 0), expected, "{codec}, {length}");
    }
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
    let zeros = [0; 12_000];
    // 12,000 is 0x02ee0. The header of literals has 20 bits of size, 2 bits for its length, and the type: 0 if the
    // literals are data, 2 if they are compressed.
    let raw = [&[0x0c, 0xee, 0x02][..], &zeros, &[7; 100]].concat();
    let coded = [&[0x0e, 0xee, 0x02][..], &zeros, &[7; 100]].concat();
    let found = |blocks: &[(u32, &[u8])]| {
        let length = 100_000;
        header(Codec::ZSTD, length).lost_page(&block(&zstd(blocks)), length, 0)
    };
    assert_eq!(found(&[(0, &zeros), (2, &[2; 50])]), None);
    assert_eq!(found(&[(2, &raw)]), None);
    assert_eq!(found(&[(2, &coded)]), Some(4_096));
    assert_eq!(found(&[(0, &zeros), (2, &coded)]), Some(12_288));
}

#[test]
fn lost_page_takes_any_bytes() {
    let mut rng = Rng::with_seed(1);
    for _ in 0..3_000 {
        let mut bytes: Vec<u8> = (0..rng.usize(..400)).map(|_| rng.u8(..) & rng.u8(..)).collect();
        if rng.bool() {
            let start: Vec<u8> = [&[200, 0, 0, 0][..], b"\x28\xb5\x2f\xfd"].concat();
            bytes.splice(..bytes.len().min(start.len()), start);
        }
        let codec = rng.choice([Codec::ZSTD, Codec::ZSTD, Codec::LZ4, Codec::ZLIB]).unwrap();
        let length = rng.usize(..1_000);
        let _ = header(codec, 1_000).lost_page(&bytes, length, rng.u64(..));
    }
}

#[cfg(feature = "compress")]
#[test]
fn lost_page_finds_nothing_in_the_chunks_of_this_crate() {
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
                for at in [0, 1_000, 2_000, 3_000] {
                    assert_eq!(header.lost_page(block, length, at), None, "{codec}, level {level}");
                }
            }
        }
    }
}
