//! The headers of chunks, and the rules for them.

use b2nd_chunk::internals::{
    BlockTable, HeaderSize, VERSIONS, clear_false_dictionary, clear_lazy, restore_codec, set_filter,
    stored_header,
};
use b2nd_chunk::{ChunkHeader, Codec, ErrorKind, Filter, SpecialValue};

/// Offsets in a header.
const FLAGS: usize = 2;
const TYPESIZE: usize = 3;
const NBYTES: usize = 4;
const FILTERS: usize = 16;
const MORE_FLAGS: usize = 31;

/// The header of a compressed chunk of 12 items of 3 bytes, in blocks of 15 bytes.
fn header() -> [u8; 32] {
    let mut header = stored_header(false, 3, 36, 15, 60).unwrap();
    // The flags mean: codec zstd, and split blocks.
    header[FLAGS] = 0x85;
    header
}

fn parsed(bytes: &[u8]) -> ChunkHeader {
    ChunkHeader::parse(bytes).unwrap()
}

#[test]
fn parse_takes_only_a_whole_header() {
    let bytes = header();
    for length in 0..bytes.len() {
        assert!(ChunkHeader::parse(&bytes[..length]).is_none(), "{length}");
    }
}

#[test]
fn a_header_of_16_bytes_has_its_filters_in_its_flags() {
    for (flags, filters) in [
        (0x00, [Filter::NONE, Filter::NONE]),
        (0x01, [Filter::NONE, Filter::SHUFFLE]),
        (0x04, [Filter::NONE, Filter::BITSHUFFLE]),
        (0x08, [Filter::DELTA, Filter::NONE]),
        (0x0c, [Filter::DELTA, Filter::BITSHUFFLE]),
    ] {
        let mut bytes = header();
        bytes[FLAGS] = flags;
        let header = parsed(&bytes);
        assert_eq!((header.header_len(), &header.filters()[4..]), (16, &filters[..]), "{flags}");
    }
}

#[test]
fn the_last_block_is_shorter_and_is_not_split() {
    let header = parsed(&header());
    assert_eq!([0, 1, 2, 3].map(|number| header.block_len(number)), [Some(15), Some(15), Some(6), None]);
    assert_eq!([15, 6].map(|length| header.nstreams(length)), [3, 1]);
    assert_eq!((header.nblocks(), header.table_len()), (Some(3), Some(12)));
    assert_eq!(header.longest_block(15), 15 + 3 * 4);
    let whole_blocks = parsed(&stored_header(false, 3, 30, 15, 30).unwrap());
    assert_eq!([1, 2].map(|number| whole_blocks.block_len(number)), [Some(15), None]);
}

#[test]
fn a_header_that_contradicts_itself_is_refused_by_name() {
    parsed(&header()).check().unwrap();
    for (at, byte, says) in [
        (TYPESIZE, 0, "the chunk has items of 0 bytes, but must have at least 1"),
        (8, 0, "the chunk has blocks of 0 bytes, but must have 1 to 536866816"),
        (11, 0x40, "the chunk has blocks of 1073741839 bytes, but must have 1 to 536866816"),
        (FLAGS, 0x87, "the chunk is not compressed, but has 60 bytes for 36 of data"),
        (FLAGS, 0x05, "the chunk has a dictionary, but blosclz takes none"),
        (
            TYPESIZE,
            4,
            "the chunk has blocks of 15 bytes, which cannot be split into 4 streams of equal length",
        ),
        (8, 14, "the chunk has blocks of 14 bytes, which cannot be split into 3 streams of equal length"),
        (MORE_FLAGS, 0x50, "the chunk has the special value 5, but only 1 to 4 are known"),
        (MORE_FLAGS, 0x11, "the chunk has one value, but also data or a dictionary"),
        (MORE_FLAGS, 0x30, "the chunk repeats a value of 60 bytes, which does not fit 36 bytes"),
        (12, 40, "the chunk has no room for the offsets of its blocks in 40 bytes"),
    ] {
        let mut bytes = header();
        if says.contains("takes none") {
            bytes[MORE_FLAGS] = 1;
        }
        bytes[at] = byte;
        let error = parsed(&bytes).check().unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Header, says));
    }
    for (body, nbytes) in [(0, 36), (3, 0)] {
        let mut bytes = stored_header(true, 3, nbytes, 15, body).unwrap();
        bytes[MORE_FLAGS] = 0x30;
        let says = format!("the chunk repeats a value of {body} bytes, which does not fit {nbytes} bytes");
        assert_eq!(parsed(&bytes).check().unwrap_err().to_string(), says);
    }
}

#[test]
fn the_flags_of_byte_31_and_30_are_checked() {
    let mut bytes = header();
    bytes[FLAGS] |= 2;
    bytes[30] = 1;
    let says = "the chunk has blocks of any length, but none is compressed";
    assert_eq!(parsed(&bytes).check_flags().unwrap_err().to_string(), says);
    bytes[30] = 0;
    bytes[MORE_FLAGS] = 8;
    let says = "the chunk is marked as lazily loaded, which is only possible in memory: bit 3 of its byte 31 must be 0";
    for flags in [bytes[FLAGS], header()[FLAGS]] {
        bytes[FLAGS] = flags;
        assert_eq!(parsed(&bytes).check_flags().unwrap_err().to_string(), says);
    }
    // C-Blosc2 ignores the flag if the chunk is constant.
    bytes[MORE_FLAGS] = 0x18;
    parsed(&bytes).check_flags().unwrap();
    // 35 bytes of NaN are rejected, because they are not a whole number of items of 3 bytes.
    bytes = header();
    (bytes[MORE_FLAGS], bytes[NBYTES]) = (0x20, 35);
    let says = "the chunk has 35 bytes of one value, which is not a multiple of the item size 3";
    assert_eq!(parsed(&bytes).check().unwrap_err().to_string(), says);
}

#[test]
fn plugins_and_the_unknown_are_refused_by_name() {
    parsed(&header()).checked().unwrap();
    let with = |changes: &[(usize, u8)]| {
        let mut bytes = header();
        for &(at, byte) in changes {
            bytes[at] = byte;
        }
        let error = parsed(&bytes).checked().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        error.message().to_string()
    };
    for (codec, name) in [(32, "ndlz"), (33, "zfp_acc"), (38, "openzl"), (200, "codec 200")] {
        let says = format!("has {name}, a codec that this crate cannot decompress");
        assert_eq!(with(&[(FLAGS, 0xc5), (22, codec)]), says);
    }
    assert_eq!(with(&[(FLAGS, 0xe5)]), "leaves its codec to the frame");
    for (filter, name) in [(32, "ndcell"), (33, "ndmean"), (34, "bytedelta_buggy"), (200, "filter 200")] {
        assert_eq!(with(&[(21, filter)]), format!("has {name}, a filter that this crate cannot undo"));
    }
    let says = "has bytedelta with parameter 0, a filter that takes the item size from the frame";
    assert_eq!(with(&[(21, 35)]), says);
    assert_eq!(with(&[(MORE_FLAGS, 0x80)]), "has measurements of its codec instead of data");
    assert_eq!(with(&[(MORE_FLAGS, 0x20)]), "is all NaN, but Blosc2 has no NaN of 3 bytes");
}

#[test]
fn a_special_value_outside_of_blosc2_is_seen_only_by_c_blosc2() {
    let mut bytes = header();
    bytes[FLAGS] = 0x21;
    bytes[MORE_FLAGS] = 0x20;
    let header = parsed(&bytes);
    assert_eq!((header.special(), header.codec(), header.false_special()), (None, Some(Codec::LZ4), Some(2)));
    header.check().unwrap();
    bytes[FLAGS] = 0x25;
    assert_eq!(parsed(&bytes).special(), Some(SpecialValue::Nan));
    assert_eq!(parsed(&bytes).false_special(), None);
}

#[test]
fn the_sixth_filter_of_an_alpha_release_does_not_count() {
    let mut bytes = header();
    (bytes[0], bytes[21]) = (3, 77);
    assert!(parsed(&bytes).is_of_alpha());
    parsed(&bytes).checked().unwrap();
    bytes[0] = 4;
    assert!(!parsed(&bytes).is_of_alpha());
    parsed(&bytes).checked().unwrap_err();
}

#[test]
fn numbers_below_160_without_a_name_are_unknown() {
    let is_known = |number| matches!(number, 0..=2 | 4 | 5 | 32..=40);
    for number in 0..=255 {
        let is_unknown = number < 160 && !is_known(number);
        assert_eq!(Codec(number).is_unknown(), is_unknown, "codec {number}");
        assert_eq!(Codec(number).name().is_some(), is_known(number), "codec {number}");
    }
    for id in 0..=255 {
        let is_known = id <= 4 || (32..=36).contains(&id);
        let filter = Filter { id, meta: 0 };
        assert_eq!(filter.is_unknown(), id < 160 && !is_known, "filter {id}");
        assert_eq!(filter.name().is_some(), is_known, "filter {id}");
    }
}

#[test]
fn checked_rejects_unknown_codecs_and_filters_as_damage() {
    let error = |changes: &[(usize, u8)]| {
        let mut bytes = header();
        for &(at, byte) in changes {
            bytes[at] = byte;
        }
        let error = parsed(&bytes).checked().unwrap_err();
        (error.kind(), error.message().to_string())
    };
    let unknown = |name: &str| {
        (ErrorKind::Data, format!("has {name}, which belongs neither to C-Blosc2 nor to a plugin"))
    };
    // The flags have the numbers of codecs in bits 5 to 7. If this number is 6, the codec is in byte 22.
    let flags = |format: u8| header()[FLAGS] & 0x1f | format << 5;
    for format in [2, 5] {
        assert_eq!(error(&[(FLAGS, flags(format))]), unknown(&format!("codec {format}")));
    }
    assert_eq!(error(&[(FLAGS, flags(6)), (22, 41)]), unknown("codec 41"));
    assert_eq!(error(&[(FLAGS, flags(6)), (22, 3)]), unknown("codec 3"));
    assert_eq!(error(&[(21, 5)]), unknown("filter 5"));
    // An unknown filter is damage, even if the codec is a plugin.
    assert_eq!(error(&[(FLAGS, flags(6)), (22, 33), (21, 5)]), unknown("filter 5"));
}

/// The built-in codecs, each with its number in bits 5 to 7 of the flags.
const FORMATS: [(Codec, u8); 5] =
    [(Codec::BLOSCLZ, 0), (Codec::LZ4, 1), (Codec::LZ4HC, 1), (Codec::ZLIB, 3), (Codec::ZSTD, 4)];

#[test]
fn checked_rejects_a_built_in_codec_with_the_flags_of_a_plugin_as_damage() {
    for (codec, format) in FORMATS {
        let mut bytes = header();
        (bytes[FLAGS], bytes[22]) = (bytes[FLAGS] & 0x1f | 6 << 5, codec.0);
        let error = parsed(&bytes).checked().unwrap_err();
        let text = format!(
            "has {codec} as the codec of a plugin or a user: for {codec}, bits 5 to 7 of its byte 2 must be {format}, not 6"
        );
        assert_eq!((error.kind(), error.message().to_string()), (ErrorKind::Data, text));
        // Without compressed blocks, no codec is needed, and C-Blosc2 reads the chunk.
        bytes[MORE_FLAGS] = 0x10;
        assert!(parsed(&bytes).checked().is_ok(), "{codec}");
    }
}

#[test]
fn restore_codec_sets_the_number_in_the_flags_unless_they_have_that_of_a_built_in_codec() {
    for (codec, format) in FORMATS {
        for old in 0..8 {
            let mut bytes = header();
            (bytes[FLAGS], bytes[22]) = (bytes[FLAGS] & 0x1f | old << 5, codec.0);
            let is_lost = [2, 5, 6, 7].contains(&old);
            assert_eq!(restore_codec(&mut bytes), is_lost.then_some([old, format]), "{codec}");
            let new = if is_lost { format } else { old };
            assert_eq!(bytes[FLAGS], header()[FLAGS] & 0x1f | new << 5);
        }
    }
    // The codecs in byte 22 of the first two are a plugin and unknown. The last two have no codec and no byte 22.
    let [mut plugin, mut unknown, mut constant, mut old] = [header(), header(), header(), header()];
    for bytes in [&mut plugin, &mut unknown, &mut constant, &mut old] {
        bytes[FLAGS] = bytes[FLAGS] & 0x1f | 6 << 5;
    }
    (plugin[22], unknown[22], constant[MORE_FLAGS]) = (33, 3, 0x10);
    old[FLAGS] &= !0x04;
    for mut bytes in [plugin, unknown, constant, old] {
        let before = bytes;
        assert_eq!((restore_codec(&mut bytes), bytes), (None, before));
    }
}

#[test]
fn a_chunk_without_compressed_blocks_has_no_codec() {
    let mut bytes = header();
    assert_eq!(parsed(&bytes).codec(), Some(Codec::ZSTD));
    // A constant chunk, of zeros.
    bytes[MORE_FLAGS] = 0x10;
    assert_eq!((parsed(&bytes).special(), parsed(&bytes).codec()), (Some(SpecialValue::Zeros), None));
    // A chunk that is not compressed.
    (bytes[MORE_FLAGS], bytes[FLAGS]) = (0, 0x87);
    assert_eq!((parsed(&bytes).is_uncompressed(), parsed(&bytes).codec()), (true, None));
}

#[test]
fn the_dictionary_flag_of_an_uncompressed_chunk_is_false_and_is_cleared() {
    for (flags, more_flags, is_false) in [(0x87, 0x01, true), (0x87, 0, false), (0x85, 0x01, false)] {
        let mut bytes = header();
        (bytes[FLAGS], bytes[MORE_FLAGS]) = (flags, more_flags);
        assert_eq!(parsed(&bytes).has_false_dictionary(), is_false, "{flags:#x}, {more_flags}");
        assert_eq!(clear_false_dictionary(&mut bytes), is_false);
        assert_eq!(bytes[MORE_FLAGS], if is_false { 0 } else { more_flags });
    }
}

#[test]
fn clear_lazy_clears_the_flag_of_a_lazily_loaded_chunk_and_no_other() {
    // The last chunk is constant, so C-Blosc2 ignores the flag.
    for (more_flags, is_lazy) in [(0x08, true), (0x89, true), (0x81, false), (0x18, false)] {
        let mut bytes = header();
        bytes[MORE_FLAGS] = more_flags;
        assert_eq!(clear_lazy(&mut bytes), is_lazy);
        assert_eq!(bytes[MORE_FLAGS], if is_lazy { more_flags & !0x08 } else { more_flags });
    }
    assert!(!clear_lazy(&mut [0; 32]));
}

#[test]
fn filters_and_flags_that_no_release_has_are_unknown() {
    let mut bytes = header();
    assert_eq!((parsed(&bytes).unknown_filter(), parsed(&bytes).has_unknown_flags()), (None, false));
    // Filter 5 is unknown, and filter 160 is the first number that users may give to a filter.
    (bytes[FILTERS], bytes[FILTERS + 3], bytes[FILTERS + 4]) = (160, 1, 5);
    assert_eq!(parsed(&bytes).unknown_filter(), Some(4));
    for (byte, is_unknown) in [(1, false), (2, true), (3, true)] {
        let mut bytes = header();
        bytes[30] = byte;
        assert_eq!(parsed(&bytes).has_unknown_flags(), is_unknown, "{byte}");
    }
}

#[test]
fn a_size_of_a_header_has_the_name_of_its_part() {
    use HeaderSize::{Blocksize, Cbytes, Nbytes, Typesize};
    let names = [Typesize, Nbytes, Blocksize, Cbytes].map(HeaderSize::name);
    assert_eq!(names, ["typesize", "nbytes", "blocksize", "cbytes"]);
    assert_eq!(Cbytes.replace(&mut header(), 7), Some(92));
}

#[test]
fn stored_bytes_are_those_of_an_uncompressed_or_empty_chunk() {
    let data = *b"abcdefghij";
    let chunk = [&stored_header(false, 1, 10, 4, 10).unwrap()[..], &data].concat();
    assert_eq!(parsed(&chunk).stored(&chunk), Some(&data[..]));
    assert_eq!(parsed(&chunk).stored(&chunk[..41]), None);
    let zeros = stored_header(true, 1, 10, 4, 0).unwrap();
    assert_eq!(parsed(&zeros).stored(&[&zeros[..], &data].concat()), None);
    let empty = stored_header(true, 1, 0, 4, 0).unwrap();
    assert_eq!(parsed(&empty).stored(&empty), Some(&[][..]));
}

#[test]
fn a_block_ends_after_its_last_stream() {
    // Three streams: two bytes, a run (a negative length and one byte), and nothing. After them another block begins.
    let bytes = b"\x02\0\0\0ab\xfe\xff\xff\xffc\0\0\0\0next";
    let header = parsed(&header());
    assert_eq!(header.block_bytes(bytes, 15), Some(&bytes[..15]));
    assert_eq!(header.block_bytes(bytes, 6), Some(&bytes[..6]), "the shorter last block has one stream");
    assert_eq!(header.block_bytes(&bytes[..14], 15), None);
}

#[test]
fn blocks_begin_after_the_length_of_an_empty_dictionary() {
    // One block of 8 zeros, with LZ4. After its entry in the table there are two lengths: of the dictionary, and of the
    // stream.
    let mut chunk = [0; 44];
    chunk[..4].copy_from_slice(&[5, 1, 0x35, 1]);
    (chunk[4], chunk[8], chunk[12], chunk[31]) = (8, 8, 44, 1);
    for (start, is_valid) in [(36, false), (39, false), (40, true)] {
        chunk[32] = start;
        let header = parsed(&chunk);
        assert_eq!(header.blocks_start(&chunk), 40);
        assert_eq!(header.check_table(&chunk).is_ok(), is_valid, "{start}");
    }
}

#[test]
fn a_wrong_offset_of_a_block_is_named() {
    let says = |bytes: [u8; 32], starts: [i32; 3]| {
        let mut table = BlockTable::new(&parsed(&bytes), &[]);
        table.extend(&starts.map(i32::to_le_bytes).concat());
        table.finish().err().map(|error| error.to_string())
    };
    assert_eq!(says(header(), [60, 44, 91]), None);
    let outside =
        "the chunk has block 2 at its byte 92, but it must begin at byte 44 or later, and before byte 92";
    assert_eq!(says(header(), [60, 44, 92]).as_deref(), Some(outside));
    // Blocks of different sizes are in order, and no two begin at the same byte. The header has their number, 3, in the
    // place of the block size.
    let mut variable = header();
    (variable[8], variable[30]) = (3, 1);
    assert_eq!(says(variable, [44, 45, 46]), None);
    let before =
        "the chunk has block 1 at its byte 44, but it must begin at byte 45 or later, and before byte 92";
    assert_eq!(says(variable, [44, 44, 46]).as_deref(), Some(before));
}

#[test]
fn only_delta_and_dictionaries_need_other_blocks() {
    let mut bytes = header();
    assert!(!parsed(&bytes).needs_other_blocks());
    set_filter(&mut bytes, 1, Filter::DELTA.id);
    assert_eq!(bytes[FILTERS + 1], Filter::DELTA.id);
    assert!(parsed(&bytes).needs_other_blocks());
    set_filter(&mut bytes, 1, 0);
    bytes[MORE_FLAGS] |= 1;
    assert!(parsed(&bytes).needs_other_blocks());
}

#[test]
fn the_versions_of_chunks_in_frames_are_3_to_6() {
    assert_eq!(VERSIONS, 3..=6);
}
