//! Arrays of `save_array` and `save_tensor`, and super-chunks. The tests of `slices` also read slices of these files.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use b2nd_chunk::internals::stored_header;
use b2nd_frame::{Array, Check, CheckDepth, ErrorKind, Finding, FindingCode, Frame};
use b2nd_lab::{data, frame_of, frame_of_chunks, stored_chunk, with_chunks};
use serde::Deserialize;

use crate::{Recording, index_start, opened, opened_array};

#[derive(Deserialize)]
struct Expected {
    shape: Vec<i64>,
    dtype: String,
}

fn path(name: &str) -> PathBuf {
    data().join("linear").join(format!("{name}.b2frame"))
}

/// A frame of two chunks of 8 bytes, with this description of an array.
fn described(description: &[u8]) -> Vec<u8> {
    let chunk = stored_chunk(b"01234567");
    let chunks = chunk.repeat(2);
    let frame = frame_of(&[], &[("__pack_tensor__", &stored_chunk(description))]);
    with_chunks(frame, &chunks, &[0, chunk.len()], 8)
}

#[test]
fn shape_dtype_and_items_are_those_of_python() {
    let expected = fs::read_to_string(data().join("linear/expected.json")).unwrap();
    let expected: BTreeMap<String, Expected> = serde_json::from_str(&expected).unwrap();
    for (name, Expected { shape, dtype }) in &expected {
        let array = Array::open(path(name)).unwrap();
        assert_eq!(array.shape(), shape, "{name}");
        let found = array.parse_dtype().unwrap().unwrap();
        let dtype = dtype.replace(", 'aligned': True", "").parse().unwrap();
        assert_eq!(found, dtype, "{name}");
        assert!(
            array.whole().read().unwrap() == fs::read(path(name).with_extension("items")).unwrap(),
            "{name}"
        );
        assert!(array.meta().is_none() && array.geometry().is_none());
        let report = Check::new(CheckDepth::ChunkData).run_path(path(name)).unwrap();
        let codes: Vec<_> = report.findings.iter().map(Finding::code).collect();
        assert!(codes.is_empty() || codes == [FindingCode::NoData], "{name}: {codes:?}");
    }
    assert_eq!(expected.len(), 19);
}

#[test]
fn slice_reads_only_the_chunks_that_it_needs() {
    const CHUNK: usize = 1 << 15;
    let data: Vec<u8> = (0..CHUNK).map(|byte| byte.to_le_bytes()[0]).collect();
    let chunk = stored_chunk(&data);
    let starts: Vec<_> = (0..64).map(|number| number * chunk.len()).collect();
    // 16 rows of four chunks.
    let description = b"\x93\xa5numpy\x92\x10\xce\0\x02\0\0\xa3|u1";
    let frame = frame_of(&[], &[("__pack_tensor__", &stored_chunk(description))]);
    let file = Recording::new(with_chunks(frame, &chunk.repeat(64), &starts, CHUNK));
    let frame = opened(&file);
    let trailer = frame.trailer().unwrap();
    let array = Array::with_trailer(frame, &trailer).unwrap();
    file.reads.borrow_mut().clear();
    // The last byte of one chunk and the first of the next, in two rows.
    let border = CHUNK as u64;
    let items = array.slice(&[3..5, border - 1..border + 1]).read().unwrap();
    assert_eq!(items, [255, 0, 255, 0]);
    let read: usize = file.lengths().iter().sum();
    assert!(read < 8 * CHUNK, "{read}");
}

/// The chunks have more bytes than a plan reads needlessly to save a wave. So each chunk is read whole only because the
/// slice needs all of it.
#[test]
fn plan_reads_chunks_that_the_slice_needs_whole_in_one_wave() {
    const CHUNK: usize = 1 << 20;
    let chunk = stored_chunk(&vec![7; CHUNK]);
    let file = frame_of_chunks(&chunk.repeat(2), &[0, chunk.len()], CHUNK);
    let array = opened_array(&file);
    let mut plan = array.whole().plan().unwrap();
    let mut waves = Vec::new();
    while !plan.ranges().is_empty() {
        let wave: Vec<_> = plan
            .ranges()
            .iter()
            .map(|range| [range.start, range.end].map(|byte| usize::try_from(byte).unwrap()))
            .collect();
        plan.take(wave.iter().map(|&[start, end]| &file[start..end])).unwrap();
        waves.push(wave);
    }
    // The first wave is the chunk index.
    let index = index_start(&file);
    assert_eq!(waves[1..], [[[index - 2 * chunk.len(), index]]]);
    assert!(plan.finish().unwrap() == vec![7; 2 * CHUNK]);
}

/// The items are bytes, but the chunk repeats a value of three bytes.
#[test]
fn slice_can_begin_and_end_within_the_value_of_a_constant_chunk() {
    let header = stored_header(true, 3, 9, 9, 3).unwrap();
    let chunk = [&header[..], b"abc"].concat();
    let array = opened_array(frame_of_chunks(&chunk, &[0], 9));
    assert_eq!((array.shape(), array.item_size()), (&[9][..], 1));
    for start in 0..9 {
        for end in start + 1..10 {
            let range = start as u64..end as u64;
            assert_eq!(array.slice(&[range]).read().unwrap(), b"abcabcabc"[start..end], "{start}..{end}");
        }
    }
    // Threads fill a long slice in parts.
    const LONG: usize = (3 << 20) + 3;
    let header = stored_header(true, 3, LONG, LONG, 3).unwrap();
    let chunk = [&header[..], b"abc"].concat();
    let array = opened_array(frame_of_chunks(&chunk, &[0], LONG));
    let range = 1..LONG as u64;
    let items = array.slice(&[range]).threads(2).read().unwrap();
    assert!(items.iter().eq(b"abc".iter().cycle().skip(1).take(LONG - 1)));
}

#[test]
fn open_refuses_a_description_that_does_not_fit_the_chunks() {
    for (description, message) in [
        (
            &b"\x93\xa5numpy\x92\x02\x03\xa3<i2"[..],
            "vlmetalayer __pack_tensor__ describes 6 items of 2 bytes (shape [2, 3], dtype <i2), which is 12 bytes, but the chunks have 16",
        ),
        (
            b"\x93\xa5numpy\x92\x02\xfe\xa3<i2",
            "vlmetalayer __pack_tensor__ has an invalid shape: shape[1] is -2, but must be at least 0",
        ),
        (
            b"\x92\xa5numpy\x92\x02\x03",
            "vlmetalayer __pack_tensor__ does not have the kind, shape and dtype of an array",
        ),
    ] {
        let frame = opened(described(description));
        let trailer = frame.trailer().unwrap();
        let report = Check::new(CheckDepth::ChunkData).run(&frame).unwrap();
        let found: Vec<_> =
            report.findings.iter().map(|finding| (finding.code(), finding.message())).collect();
        assert_eq!(found, [(FindingCode::VlmetalayerValue, message)]);
        let error = Array::with_trailer(frame, &trailer).unwrap_err();
        assert_eq!((error.kind(), error.finding().unwrap().message()), (ErrorKind::Malformed, message));
    }
    // A level takes one byte, so a short file can have many levels.
    let deep = [&b"\x93\xa5numpy\x91\x02"[..], &[0x91; 1000], b"\x01"].concat();
    let trailer = opened(described(&deep)).trailer().unwrap();
    assert_eq!(trailer.packed_tensor(), None);
    for shape in [&b"\x92\x02\x04"[..], b"\x94\xa9__tuple__\x02\x02\x02"] {
        let frame = opened(described(&[b"\x93\xa5torch", shape, b"\xa3<u2"].concat()));
        let trailer = frame.trailer().unwrap();
        let array = Array::with_trailer(frame, &trailer).unwrap();
        assert_eq!(array.whole().read().unwrap(), b"01234567".repeat(2));
    }
}

#[test]
fn new_refuses_a_frame_whose_array_may_be_in_the_trailer() {
    let file = fs::read(data().join("packed.b2frame")).unwrap();
    let error = Array::new(Frame::parse(&file).unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let message = "the header has no array, but the trailer may have one: open the frame with its trailer";
    assert_eq!(error.to_string(), message);
    let file = fs::read(path("bytes")).unwrap();
    assert_eq!(Array::new(Frame::parse(&file).unwrap()).unwrap().shape(), [250]);
}

#[test]
fn open_refuses_chunks_of_different_sizes_and_objects() {
    let error = Array::open(path("inserted")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let message = "the chunks have different sizes, so the places of the items are not known; the chunks can be read one by one";
    assert_eq!(error.to_string(), message);
    let frame = opened(described(b"\x93\xa5numpy\x91\x02\xa2|O"));
    let trailer = frame.trailer().unwrap();
    let error = Array::with_trailer(frame, &trailer).unwrap_err();
    assert!(error.to_string().starts_with("the items are pointers to Python objects"), "{error}");
    let error = Array::open(data().join("peers/object_array.b2frame")).unwrap_err();
    assert_eq!(error.to_string(), "the frame has no array: it is of the kind ObjectArray");
}

// With 32 bits, a slice of 2 TiB is refused.
#[cfg(target_pointer_width = "64")]
#[test]
fn pieces_of_an_array_without_a_grid_have_at_most_32_mib() {
    const LENGTH: u64 = 1 << 40;
    // Two rows, each longer than a piece.
    let mut file = described(&[b"\x93\xa5numpy\x92\x02\xcf", &LENGTH.to_be_bytes()[..], b"\xa3|u1"].concat());
    // Offsets in a header: 30 nbytes, 58 chunksize.
    file[30..38].copy_from_slice(&(2 * LENGTH).to_be_bytes());
    file[58..62].copy_from_slice(&(3_u32 << 22).to_be_bytes());
    let frame = opened(file);
    let trailer = frame.trailer().unwrap();
    let array = Array::with_trailer(frame, &trailer).unwrap();
    let mut pieces = array.whole().pieces().unwrap();
    // Pieces end where chunks end, as far as possible.
    assert!(pieces.by_ref().take(2).eq([[0..1, 0..6 << 22], [0..1, 6 << 22..12 << 22]]));
    assert!(pieces.take(100_000).all(|piece| piece[1].end - piece[1].start <= 1 << 25));
}

#[test]
fn an_array_of_seventeen_dimensions_is_whole_but_not_supported() {
    let shape = [&b"\xdc\0\x11"[..], &[1; 17]].concat();
    let frame = opened(described(&[b"\x93\xa5numpy", &shape[..], b"\xa4|V16"].concat()));
    let trailer = frame.trailer().unwrap();
    assert!(Check::new(CheckDepth::ChunkData).run(&frame).unwrap().findings.is_empty());
    let error = Array::with_trailer(frame, &trailer).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(error.to_string(), "the array has 17 dimensions, but this crate supports at most 16");
}
