//! Tests of the dumps: the rows for the header, the chunks and the trailer of a frame.

use std::fs;
use std::io::Cursor;

use crate::frames::second_generation;
use b2nd_frame::{Frame, FrameBuilder, dump_header};
use b2nd_lab::{
    Kept, Receive, chunk_of_zeros, copy_tree, data, frame_of, rows_until, shows_as_much_as_fits,
    stored_chunk, with_gap,
};
use b2nd_serde::{Meta, Shapes};

/// All rows of a frame: those of its header, its chunks and its trailer.
fn rows(file: &[u8]) -> Vec<Kept> {
    b2nd_lab::rows(|receive| {
        dump_header(file).rows(&mut *receive);
        if let Ok(frame) = Frame::read_at(file, 0) {
            let _ = frame.dump_chunks(&mut *receive);
            let _ = frame.dump_trailer(receive);
        }
    })
}

/// The rows of the chunks and of the chunk index.
fn chunk_rows(file: &[u8]) -> Vec<Kept> {
    let frame = Frame::read_at(file, 0).unwrap();
    b2nd_lab::rows(|receive| frame.dump_chunks(receive).unwrap())
}

fn trailer_rows(file: &[u8]) -> Vec<Kept> {
    let frame = Frame::read_at(file, 0).unwrap();
    b2nd_lab::rows(|receive| frame.dump_trailer(receive).unwrap())
}

fn header_rows(header: &[u8]) -> Vec<Kept> {
    b2nd_lab::rows(|receive| dump_header(header).rows(receive))
}

#[test]
fn all_but_the_data_of_chunks_is_shown_once_and_has_a_meaning() {
    for name in ["int32_3x5.b2nd", "vlmetalayers.b2nd", "peers/special_some.b2nd", "peers/store.b2e"] {
        let file = fs::read(data().join(name)).unwrap();
        let frame = Frame::parse(&file).unwrap();
        let start = frame.header().header_len;
        let chunks = start..start + usize::try_from(frame.header().cbytes).unwrap();
        let mut times = vec![0; file.len()];
        let mut data = 0;
        for row in rows(&file) {
            let start = usize::try_from(row.offset).unwrap();
            assert_eq!(row.bytes, file[start..start + row.bytes.len()], "{name}: {row:?}");
            times[start..start + row.bytes.len()].iter_mut().for_each(|times| *times += 1);
            assert!(
                !row.field.is_empty() || !row.value.is_empty() || !row.kind.is_empty(),
                "{name}: {row:?}"
            );
            if row.field == "data" && chunks.contains(&start) {
                data += row.value.split(' ').next().unwrap().parse::<usize>().unwrap();
            }
            assert!(row.line.chars().count() <= 80 || row.value.chars().count() > 13, "{name}: {row:?}");
        }
        assert!(times.iter().all(|&times| times <= 1), "{name}");
        let unshown = times.iter().filter(|&&times| times == 0).count();
        assert_eq!(unshown, data, "{name}: only data");
    }
}

#[test]
fn the_columns_are_the_same_in_all_rows() {
    let folder = tempfile::tempdir().unwrap();
    let far = with_gap(folder.path(), "int32_3x5.b2nd", 10_000_000);
    let far = (String::from("offsets of 8 digits"), fs::read(far).unwrap());
    let files = ["rank16.b2nd", "vlmetalayers.b2nd", "struct_long.b2nd", "peers/many_metalayers.b2nd"]
        .map(|name| (name.to_owned(), fs::read(data().join(name)).unwrap()));
    for (name, file) in files.into_iter().chain([far]) {
        for row in rows(&file) {
            let cells = &row.cells;
            assert_eq!(cells.concat(), row.line, "{name}");
            let mut end = cells[..2].concat().chars().count();
            let texts = [&row.kind, &row.field, &row.value];
            let columns = cells[2..].iter().zip(texts).zip([40, 52, 67]);
            for ((cell, text), column) in columns {
                end += cell.chars().count();
                assert!(text.is_empty() || end - text.chars().count() == column, "{name}: {row:?}");
            }
        }
    }
}

#[test]
fn a_value_that_is_longer_than_its_metalayer_is_shown_as_bytes() {
    // The marker claims a text of 5 bytes, but the content of the metalayer ends after 2 bytes of the text.
    let file = frame_of(&[("cut", b"\xa5ab"), ("next", b"\xc0")], &[]);
    let start = Frame::parse(&file).unwrap().metalayer("cut").unwrap().offset() as u64;
    let rows = rows(&file);
    let shown = rows.iter().find(|row| row.offset == start).unwrap();
    assert_eq!((&shown.bytes[..], &*shown.kind), (&b"\xa5ab"[..], ""), "{shown:?}");
}

#[test]
fn no_frame_is_too_bad_for_a_dump() {
    let good = fs::read(data().join("vlmetalayers.b2nd")).unwrap();
    for at in 0..good.len() {
        for byte in [0, 0x7f, 0x80, 0xff] {
            let mut bad = good.clone();
            bad[at] = byte;
            let rows = rows(&bad);
            let faults = rows.iter().filter(|row| row.fault.is_some()).count();
            assert!(faults <= 2, "{at} {byte}: the header and the trailer have one each at most");
        }
    }
}

#[test]
fn bytes_of_no_vlmetalayer_are_not_taken_for_the_length_of_the_trailer() {
    let mut file = fs::read(data().join("vlmetalayers.b2nd")).unwrap();
    let offset =
        |name: &[u8]| file.windows(name.len()).rposition(|bytes| bytes == name).unwrap() + name.len();
    let [unit, note] = [offset(b"\xa4unit\xd2"), offset(b"\xa4note\xd2")];
    // Both names now have the offset of the first content. So no name has the offset of the second content.
    file.copy_within(unit..unit + 4, note);
    let rows = rows(&file);
    assert!(rows.iter().all(|row| row.fault.is_none()));
    let end = rows.iter().filter(|row| ["trailer_len", "fingerprint"].contains(&&*row.field));
    let before_end: Vec<_> = end.map(|row| file.len() as u64 - row.offset).collect();
    assert_eq!(before_end, [23, 18]);
    assert_eq!(rows.iter().filter(|row| row.value.ends_with(", above")).count(), 1);
}

#[test]
fn a_text_as_wide_as_its_column_has_a_space_after_it() {
    let mut file = fs::read(data().join("vlmetalayers.b2nd")).unwrap();
    let contents = file.windows(3).rposition(|bytes| bytes == [0xdc, 0, 2]).unwrap();
    // Readers ignore this marker, so another marker in its place is no fault.
    file[contents] = 0xb0;
    let rows = rows(&file);
    let row = rows.iter().find(|row| row.offset == contents as u64).unwrap();
    assert!(row.line.ends_with("  fixstr of 16 contents      2 contents"), "{row:?}");
}

#[test]
fn what_is_wrong_with_a_trailer_is_shown_at_its_byte() {
    let good = frame_of(&[], &[("a", &stored_chunk(b"\xc0")), ("b", &chunk_of_zeros(9))]);
    let last = |bad: &[u8]| rows(bad).last().unwrap().clone();
    assert_eq!(last(&good).fault, None);
    let trailer = Frame::parse(&good).unwrap().header().header_len;
    for (at, byte, says) in [
        (trailer, 0x93, "expected array of 4 (0x94) for the trailer, found array of 3 (0x93)"),
        (trailer + 2, 0x94, "expected array of 3 (0x93) for the metalayers, found array of 4 (0x94)"),
        (good.len() - 23, 0xcf, "expected uint32 (0xce) for the length of the trailer, found uint64 (0xcf)"),
    ] {
        let mut bad = good.clone();
        bad[at] = byte;
        let last = last(&bad);
        assert_eq!((last.offset, last.fault.as_deref()), (at as u64, Some(says)));
    }
}

/// The rows of the chunks and of the chunk index. For each row: its offset, its bytes, its field, and its fault, or its
/// value if it has no fault.
fn rows_of_chunks(file: &[u8]) -> Vec<(u64, Vec<u8>, String, String)> {
    let rows = chunk_rows(file).into_iter();
    rows.map(|row| (row.offset, row.bytes, row.field, row.fault.unwrap_or(row.value))).collect()
}

#[test]
fn the_blocks_of_a_chunk_are_where_its_table_says() {
    let file = fs::read(data().join("vlmetalayers.b2nd")).unwrap();
    let rows = rows_of_chunks(&file);
    let blocks: Vec<_> = rows.iter().filter(|(.., field, _)| field.starts_with("block ")).collect();
    // The first chunk is not compressed. The second one begins at byte 246.
    let expected = [(278, 40_i32, "block 0"), (282, 60, "block 1")];
    assert_eq!(blocks.len(), expected.len());
    for ((offset, bytes, field, value), (at, start, name)) in blocks.into_iter().zip(expected) {
        assert_eq!((*offset, &**bytes, &**field), (at, &start.to_le_bytes()[..], name));
        assert_eq!(*value, format!("byte {start} of the chunk"));
    }
    // The chunk has 64 bytes: the header of 32, the table of 8, and 24 bytes of data.
    let after = rows.iter().position(|(.., field, _)| field == "block 1").unwrap() + 1;
    assert_eq!((rows[after].0, &*rows[after].2, &*rows[after].3), (286, "data", "24 bytes"));

    // The header now claims a million blocks. Their table would be longer than all chunks of the frame.
    let mut cut = file;
    cut[250..254].copy_from_slice(&4_000_000_i32.to_le_bytes());
    cut[254..258].copy_from_slice(&4_i32.to_le_bytes());
    let rows = rows_of_chunks(&cut);
    let (.., fault) = rows.iter().find(|(.., value)| value.contains("end ")).unwrap();
    assert!(
        fault.starts_with("the offsets of the blocks end ") && fault.ends_with(" bytes early"),
        "{fault}"
    );
}

#[test]
#[cfg(feature = "decompress")]
fn the_blocks_of_a_chunk_are_looked_for_in_its_own_bytes_only() {
    let rows = |file: Vec<u8>| chunk_rows(&file);
    // The third chunk begins at byte 401 and has 152 bytes. The fourth chunk follows.
    let good = fs::read(data().join("peers/hole_at_end.b2frame")).unwrap();
    assert_eq!(good[401 + 12..401 + 16], 152_i32.to_le_bytes());
    assert!(rows(good.clone()).iter().all(|row| row.fault.is_none()));

    // With blocks of 4 bytes, the table of blocks would be longer than the chunk.
    let mut long = good.clone();
    long[401 + 8..401 + 12].copy_from_slice(&4_i32.to_le_bytes());
    let nbytes = i32::from_le_bytes(good[401 + 4..401 + 8].try_into().unwrap());
    let missing = 32 + nbytes / 4 * 4 - 152;
    let rows_of = |file, chunk: &str, next: &str| {
        let rows = rows(file);
        let place = |name: &str| rows.iter().position(|row| row.field == name).unwrap();
        rows[place(chunk)..place(next)].to_vec()
    };
    let third = rows_of(long, "chunk 2", "chunk 3");
    let last = third.last().unwrap();
    assert_eq!(last.fault.as_deref(), Some(&*format!("the offsets of the blocks end {missing} bytes early")));
    assert!(third.iter().all(|row| row.offset + row.bytes.len() as u64 <= 553));

    // Changes the start of the block in the table, so that the block begins after the end of the chunk, or before the
    // start of the chunk.
    for start in [152, i32::MAX, -1] {
        let mut wrong = good.clone();
        wrong[401 + 32..401 + 36].copy_from_slice(&start.to_le_bytes());
        let third = rows_of(wrong, "chunk 2", "chunk 3");
        let block = third.iter().find(|row| row.field == "block 0").unwrap();
        assert_eq!(block.value, format!("byte {start} of the chunk"));
        assert_eq!(block.fault.as_deref(), Some("the chunk has 152 bytes"));
        assert_eq!(third.last().unwrap().field, "data", "the rest follows");
    }

    // The chunk now claims to have a dictionary. The number after the table of blocks is the length of the dictionary.
    for (length, rest) in
        [(0, Some(112)), (100, Some(12)), (112, Some(0)), (113, None), (i32::MAX, None), (-1, None)]
    {
        let mut wrong = good.clone();
        wrong[401 + 31] |= 1;
        wrong[401 + 36..401 + 40].copy_from_slice(&i32::to_le_bytes(length));
        let third = rows_of(wrong, "chunk 2", "chunk 3");
        let dictionary = third.iter().find(|row| row.field == "dictionary").unwrap();
        assert_eq!(dictionary.fault.is_none(), rest.is_some(), "{dictionary:?}");
        let rest = rest.unwrap_or(112);
        assert_eq!(third.last().unwrap().value, format!("{rest} bytes"));
    }
}

#[test]
fn a_chunk_of_blosc_1_has_a_header_of_16_bytes() {
    let shapes = Shapes { shape: &[8], chunkshape: &[8], blockshape: &[8] };
    let mut writer =
        FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).write_to(Cursor::new(Vec::new())).unwrap();
    writer.write_uncompressed(0, &[7; 8]).unwrap();
    let mut file = writer.finish().unwrap().into_inner();
    let start = u32::from_be_bytes(file[11..15].try_into().unwrap()) as usize;
    // The chunk gets a header of 16 bytes with version 2 and cbytes 24. Only the flag of uncompressed data is set.
    file[start..start + 3].copy_from_slice(&[2, 1, 0x02]);
    file[start + 12] = 24;
    let rows = rows_of_chunks(&file);
    let shown: Vec<_> = rows.iter().skip_while(|(.., field, _)| field != "version").collect();
    let fields: Vec<_> = shown.iter().map(|(.., field, _)| &**field).collect();
    let header = ["version", "codec_version", "flags", "typesize", "nbytes", "blocksize", "cbytes"];
    assert_eq!(fields[..8], [&header[..], &["data"]].concat());
    assert_eq!((shown[7].0, &*shown[7].3), (start as u64 + 16, "8 bytes"));
}

#[test]
fn what_a_chunk_leaves_to_the_frame_is_what_the_frame_says() {
    let mut file = fs::read(data().join("vlmetalayers.b2nd")).unwrap();
    let flags = |file: &[u8]| {
        let rows = rows_of_chunks(file);
        rows.into_iter().find(|(offset, ..)| *offset == 248).unwrap().3
    };
    assert_eq!(flags(&file), "zstd, unsplit");
    // Chunk 1 begins at byte 246, and its flags are byte 248. The changed flags say that the codec of the frame header
    // applies.
    file[248] |= 0xe0;
    assert_eq!(flags(&file), "zstd, unsplit");
}

#[test]
fn blocks_of_any_size_and_no_filters_are_named() {
    let file = fs::read(data().join("peers/blocks_of_any_length.b2frame")).unwrap();
    let rows = rows_of_chunks(&file);
    assert!(rows.iter().any(|(.., field, value)| field == "block_flags" && value == "blocks of any size"));

    let mut header = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    // The bytes of the filters in the frame header.
    header[71..77].fill(0);
    let rows = header_rows(&header);
    let filters = rows.iter().find(|row| row.offset == 71).unwrap();
    assert_eq!((&*filters.field, &*filters.value), ("filters", "none"));
}

#[test]
fn the_column_of_offsets_is_as_wide_as_the_last_offset_of_the_header() {
    let file = frame_of(&[("long", &vec![0xc4; 1_000_000])], &[]);
    let rows = header_rows(&file);
    assert!(rows[0].line.starts_with("      0  9e "), "{}", rows[0].line);
}

#[test]
fn of_many_blocks_the_first_ones_are_shown() {
    let shapes = Shapes { shape: &[4000], chunkshape: &[4000], blockshape: &[4] };
    let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap());
    let mut writer = builder.write_to(Cursor::new(Vec::new())).unwrap();
    writer.write_uncompressed(0, &[0; 4000]).unwrap();
    let mut file = writer.finish().unwrap().into_inner();
    let start = u32::from_be_bytes(file[11..15].try_into().unwrap()) as usize;
    // The chunk now claims to be compressed: its 4000 bytes become the table of its 1000 blocks.
    assert_eq!(file[start + 8..start + 12], 4_i32.to_le_bytes());
    file[start + 2] &= !2;
    let last_of = |blocksize: u8, more_flags: u8| {
        let mut file = file.clone();
        (file[start + 8], file[start + 31]) = (blocksize, more_flags);
        let rows = rows_of_chunks(&file);
        let index = rows.iter().position(|(.., field, _)| field == "chunk index").unwrap();
        assert_eq!(rows[index - 2].2, "blocks");
        [&rows[index - 2].3, &rows[index - 1].2, &rows[index - 1].3].map(Clone::clone)
    };
    // Blocks of 3 bytes need a table of 1334 entries, which is longer than the chunk. With blocks of 4 bytes, the table
    // ends at the end of the chunk. The length of a dictionary follows the table, so no bytes are left for it.
    let early = |bytes: u32| format!("the offsets of the blocks end {bytes} bytes early");
    assert_eq!(last_of(3, 0), ["1078 more", "", &early(1336)]);
    assert_eq!(last_of(4, 1), ["744 more", "", &early(4)]);
    assert_eq!(last_of(5, 1), ["544 more", "dictionary and data", "796 bytes"]);
    assert_eq!(last_of(4, 0), ["744 more", "data", "0 bytes"]);
    let rows = rows_of_chunks(&file);
    let blocks = rows.iter().filter(|(.., field, _)| field.starts_with("block ")).count();
    assert_eq!(blocks, 256);
    assert!(
        rows.iter().any(|(.., field, value)| (&**field, &**value) == ("blocks", "744 more")),
        "{rows:#?}"
    );
}

#[test]
#[cfg(feature = "decompress")]
fn the_entries_of_a_compressed_chunk_index_are_shown() {
    let file = fs::read(data().join("peers/hole_at_end.b2frame")).unwrap();
    let rows = rows_of_chunks(&file);
    let index = rows.iter().position(|(.., field, _)| field == "chunk index").unwrap();
    let entries = rows[index..].iter().filter(|(.., field, _)| field.starts_with("chunk "));
    let entries: Vec<_> = entries.skip(1).map(|(.., field, value)| (&**field, &**value)).collect();
    let expected =
        [("chunk 0", "byte 97"), ("chunk 1", "byte 249"), ("chunk 2", "byte 401"), ("chunk 3", "byte 553")];
    assert_eq!(entries, expected);
}

#[test]
fn the_chunks_of_a_sparse_frame_are_in_their_files() {
    let frame = Frame::open(data().join("sparse.b2nd")).unwrap();
    let rows = b2nd_lab::rows(|receive| frame.dump_chunks(receive).unwrap());
    let chunks = rows.into_iter().filter(|row| row.field.starts_with("chunk ") && row.bytes.is_empty());
    let places: Vec<_> = chunks.map(|row| (row.offset, row.value)).collect();
    assert_eq!(places[0], (0, "in 00000000.chunk".into()));
    assert_eq!(places[4].1, "4 chunks", "the index");
}

#[test]
fn a_chunk_file_that_is_missing_has_a_fault_and_the_others_follow() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse.b2nd");
    copy_tree(&data().join("sparse.b2nd"), &path);
    fs::remove_file(path.join("00000002.chunk")).unwrap();
    let rows = b2nd_lab::rows(|receive| Frame::open(&path).unwrap().dump_chunks(receive).unwrap());
    let faults: Vec<_> = rows.iter().filter(|row| row.fault.is_some()).collect();
    let says = "chunk 2 should be in 00000002.chunk, which is missing";
    assert_eq!(faults.iter().map(|row| row.fault.as_deref()).collect::<Vec<_>>(), [Some(says)]);
    let fault = rows.iter().position(|row| row.fault.is_some()).unwrap();
    assert_eq!((&*rows[fault - 1].field, &*rows[fault + 1].field), ("chunk 2", "chunk 3"));
}

#[test]
fn a_dump_ends_where_its_function_does() {
    for name in ["vlmetalayers.b2nd", "peers/special_some.b2nd", "geometry/d3_f4_awkward.b2nd"] {
        let mut file = fs::read(data().join(name)).unwrap();
        // Makes the length of the first chunk negative.
        let start = Frame::parse(&file).unwrap().header().header_len;
        file[start + 15] = 0x80;
        let all = [
            |file: &[u8], receive: &mut Receive<'_>| dump_header(file).rows(receive),
            |file: &[u8], receive: &mut Receive<'_>| {
                Frame::read_at(file, 0).unwrap().dump_chunks(receive).unwrap();
            },
            |file: &[u8], receive: &mut Receive<'_>| {
                Frame::read_at(file, 0).unwrap().dump_trailer(receive).unwrap();
            },
        ];
        let mut faults = Vec::new();
        for dump in all {
            let rows = b2nd_lab::rows(|receive| dump(&file, receive));
            assert!(rows.len() > 5);
            faults.push(rows.iter().any(|row| row.fault.is_some()));
            for count in 1..=rows.len() {
                assert_eq!(rows_until(count, |receive| dump(&file, receive)), rows[..count], "{name}");
            }
        }
        assert_eq!(faults, [false, true, false], "{name}");
    }
}

#[test]
fn the_text_of_a_header_is_its_rows() {
    for name in ["int32_3x5.b2nd", "sparse.b2nd/chunks.b2frame"] {
        let file = fs::read(data().join(name)).unwrap();
        for length in [file.len(), 20] {
            let text = dump_header(&file[..length]).to_string();
            let rows = header_rows(&file[..length]);
            let plain = rows.iter().filter(|row| row.fault.is_none()).map(|row| row.line.clone());
            assert!(
                plain.eq(text.lines().take(rows.len() - usize::from(length == 20)).map(str::to_owned)),
                "{text}"
            );
            shows_as_much_as_fits(&dump_header(&file[..length]));
        }
    }
    let sparse = fs::read(data().join("sparse.b2nd/chunks.b2frame")).unwrap();
    let frame_type =
        header_rows(&sparse).into_iter().find(|row| row.bytes == [1] && row.offset == 26).unwrap();
    assert_eq!(frame_type.value, "sframe");
}

#[test]
fn a_trailer_of_the_second_generation_has_one_content_without_a_name() {
    let file = second_generation(fs::read(data().join("int32_3x5.b2nd")).unwrap());
    let rows = trailer_rows(&file);
    let shown: Vec<u8> = rows.iter().flat_map(|row| row.bytes.clone()).collect();
    assert_eq!(shown, file[file.len() - 30..]);
    let fields: Vec<&str> = rows.iter().map(|row| &*row.field).collect();
    assert!(
        fields.starts_with(&["trailer", "version", "content", "trailer_len", "fingerprint"]),
        "{fields:?}"
    );
}

#[test]
fn a_chunk_of_one_value_is_shown_by_its_name() {
    for (name, value) in
        [("special_zeros", "zeros"), ("special_nans", "nan"), ("special_uninit", "uninitialized")]
    {
        let rows = rows_of_chunks(&fs::read(data().join(format!("peers/{name}.b2nd"))).unwrap());
        assert_eq!((&*rows[0].2, &*rows[0].3), ("chunk 0", value));
    }
}

#[test]
fn a_codec_that_a_chunk_does_not_name_is_not_made_up() {
    let mut chunk = stored_chunk(b"\xc0");
    chunk[2] = chunk[2] & !2 | 0xe0;
    let file = frame_of(&[], &[("v", &chunk)]);
    let rows = trailer_rows(&file);
    let flags = rows.iter().find(|row| row.field == "flags").unwrap();
    assert_eq!((&*flags.bytes, &*flags.value), (&[chunk[2]][..], "compressed"));
}

/// Returns the offset and the text of the only fault. Asserts that the last row has this fault, and that the rows show
/// the input from its start to the fault, without a gap.
fn only_fault(header: &[u8]) -> (u64, String) {
    let rows = header_rows(header);
    let shown: Vec<u8> = rows.iter().flat_map(|row| row.bytes.clone()).collect();
    assert!(header.starts_with(&shown), "bytes are shown twice, or not at all");
    let (last, before) = rows.split_last().unwrap();
    assert!(before.iter().all(|row| row.fault.is_none()), "rows follow the fault");
    (last.offset, last.fault.clone().expect("the last row says what is wrong"))
}

#[test]
fn a_header_that_is_cut_short_says_so_last_even_if_an_offset_points_at_what_was_shown() {
    let mut header = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    header[100..104].copy_from_slice(&[0, 0, 0, 1]);
    let (offset, fault) = only_fault(&header[..140]);
    assert_eq!((offset, &*fault), (140, "expected 165 bytes of header, but the input ends after 140"));
}

#[test]
fn no_row_follows_a_fault_in_the_first_of_several_metalayers() {
    let mut header = fs::read(data().join("vlmetalayers.b2nd")).unwrap();
    // Changes the marker of the dtype in the array metalayer. Another metalayer follows the array metalayer.
    header[150] = 0;
    let (offset, fault) = only_fault(&header);
    assert_eq!((offset, &*fault), (150, "expected str32 (0xdb) for dtype, found positive fixint 0 (0x00)"));
}

#[test]
fn a_fault_between_two_metalayers_is_shown_at_its_byte() {
    let mut header = fs::read(data().join("vlmetalayers.b2nd")).unwrap();
    header[158] = 7;
    let (offset, fault) = only_fault(&header);
    assert_eq!(offset, 158);
    assert_eq!(
        fault,
        "expected bin32 (0xc6) for the content of metalayer vendor, found positive fixint 7 (0x07)"
    );
}

#[test]
fn an_index_of_one_value_has_no_entries() {
    let mut file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let index = 421;
    // The chunk index is now a constant chunk with one value of 8 bytes.
    file[index + 2] &= !2;
    file[index + 12] = 32 + 8;
    file[index + 31] = 3 << 4;
    let rows = chunk_rows(&file);
    let index = rows.iter().position(|row| row.field == "chunk index").unwrap();
    assert!(rows[index..].iter().all(|row| !row.field.starts_with("chunk ") || row.field == "chunk index"));
    for row in rows {
        let start = usize::try_from(row.offset).unwrap();
        assert_eq!(row.bytes, file[start..start + row.bytes.len()], "{row:?}");
    }
}

#[test]
fn each_kind_of_messagepack_value_is_shown() {
    let values: [(&[u8], &str); 23] = [
        (b"\x07", "7"),
        (b"\xff", "-1"),
        (b"\xc0", ""),
        (b"\xc3", "true"),
        (b"\xca\x3f\xc0\0\0", "1.5"),
        (b"\xcb\xbf\xe0\0\0\0\0\0\0", "-0.5"),
        (b"\xcc\xc8", "200"),
        (b"\xcd\x01\0", "256"),
        (b"\xce\0\x01\0\0", "65536"),
        (b"\xcf\0\0\0\x01\0\0\0\0", "4294967296"),
        (b"\xd0\x80", "-128"),
        (b"\xd1\x80\0", "-32768"),
        (b"\xd2\x80\0\0\0", "-2147483648"),
        (b"\xd3\x80\0\0\0\0\0\0\0", "-9223372036854775808"),
        (b"\xdd\0\0\0\x01\x07", "7"),
        (b"\xde\0\x01\x07\x08", "8"),
        (b"\xdf\0\0\0\x01\x07\x09", "9"),
        (b"\xc4\x01a", "a"),
        (b"\xc5\0\x01a", "a"),
        (b"\xc7\x01\x05a", "a"),
        (b"\xc8\0\x01\x05a", "a"),
        (b"\xd4\x05a", "a"),
        (b"\xd6\x05abcd", "abcd"),
    ];
    for (value, shown) in values {
        let file = frame_of(&[("any", value)], &[]);
        let rows = header_rows(&file[..Frame::parse(&file).unwrap().header().header_len]);
        let last = rows.last().unwrap();
        assert_eq!((&*last.value, &last.fault), (shown, &None), "{value:x?}");
        let header_len = Frame::parse(&file).unwrap().header().header_len;
        assert_eq!(last.offset + last.bytes.len() as u64, header_len as u64, "{value:x?}");
    }
    let rows_of = |value: &[u8]| {
        let file = frame_of(&[("any", value)], &[]);
        let rows = header_rows(&file[..Frame::parse(&file).unwrap().header().header_len]);
        let content = rows.iter().position(|row| row.field == "content").unwrap();
        rows[content + 1..].to_vec()
    };
    // The rows of the values in a map are one level deeper than the row of the map. If a text has a row of its own,
    // that row is one level deeper than the row of its marker.
    let map = rows_of(b"\x83\x01\x02\x03\x04\x05\x06");
    assert!(map.len() == 7 && map[1..].iter().all(|row| row.depth == map[0].depth + 1));
    let text = rows_of(b"\xa9nine char");
    assert_eq!([&*text[0].kind, &*text[1].value], ["fixstr of 9", "nine char"]);
    assert_eq!(text[1].depth, text[0].depth + 1);
    assert_eq!(rows_of(b"\xa3abc")[0].kind, "fixstr");
    let long = rows_of(&[b"\xc5\x01\x2c", &[b'a'; 300][..]].concat());
    assert_eq!((long.len(), &*long[0].value, &*long.last().unwrap().value), (35, "300 bytes", "aaa"));
    let deep = rows_of(&[0x91; 40]);
    assert_eq!(deep.iter().filter(|row| row.kind == "array of 1").count(), 32);
    assert_eq!(deep.last().unwrap().kind, "");

    // If the bytes are not a complete MessagePack value, a row shows them as bytes.
    for value in [&b"\xc1"[..], b"\xcd\x01", b"\xc9\xff\xff\xff\xff\x01", b"\xdf\xff\xff\xff\xff"] {
        let file = frame_of(&[("any", value)], &[]);
        let header_len = Frame::parse(&file).unwrap().header().header_len;
        let shown: Vec<u8> = header_rows(&file[..header_len]).into_iter().flat_map(|row| row.bytes).collect();
        assert_eq!(shown, file[..header_len], "{value:x?}");
    }
}
