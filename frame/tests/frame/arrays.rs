//! Writes new arrays region by region.

use std::fs;
use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::ops::Range;
use std::slice;

use b2nd_chunk::ChunkHeader;
use b2nd_frame::{
    Array, ArrayWriter, Check, CheckDepth, ChunkPlace, Codec, Error, ErrorKind, Frame, FrameBuilder,
    Severity, SpecialValue,
};
use b2nd_lab::data;
use b2nd_serde::{Dtype, Meta, Shapes};

use crate::{opened, opened_array};

const SHAPE: [i64; 2] = [50, 70];

fn builder(dtype: &str) -> FrameBuilder {
    let shapes = Shapes { shape: &SHAPE, chunkshape: &[16, 32], blockshape: &[5, 8] };
    FrameBuilder::new(Meta::new(shapes, dtype).unwrap())
}

fn in_memory(builder: FrameBuilder) -> ArrayWriter<Cursor<Vec<u8>>> {
    builder.write_to(Cursor::new(Vec::new())).unwrap().into_array_writer().unwrap()
}

/// The items of an array of `SHAPE`. The four bytes of an item mostly differ, and each item is similar to the item
/// before it.
fn items() -> Vec<u8> {
    (0..SHAPE[0] * SHAPE[1])
        .flat_map(|item| [item / 100, item % 7, 3, item % 100])
        .map(|byte| byte.to_le_bytes()[0])
        .collect()
}

fn whole() -> [Range<u64>; 2] {
    SHAPE.map(|items| 0..items.unsigned_abs())
}

fn finished(writer: ArrayWriter<Cursor<Vec<u8>>>) -> Vec<u8> {
    writer.finish().unwrap().into_inner()
}

fn read(frame: &[u8]) -> Vec<u8> {
    let array = opened_array(frame);
    // A check cannot tell written zeros from chunks that were never written, so warnings are allowed.
    let report = Check::new(CheckDepth::ChunkData).run(array.frame()).unwrap();
    assert!(report.findings.iter().all(|finding| finding.severity() == Severity::Warning), "{report:?}");
    array.whole().read().unwrap()
}

#[test]
fn the_file_is_the_same_for_any_number_of_threads_and_for_whole_rows_of_chunks() {
    let mut files = Vec::new();
    for threads in [1, 2, 3, 7, 1000] {
        let mut writer = in_memory(builder("<i4")).threads(threads);
        writer.write(&whole(), &items()).unwrap();
        files.push(finished(writer));
    }
    // Each region consists of whole chunks, so the writer keeps no chunk open between two regions.
    let mut by_rows = in_memory(builder("<i4")).threads(2).max_open_chunks(0);
    for start in (0..50).step_by(16) {
        let (end, row) = (50.min(start + 16), 70 * 4);
        by_rows.write(&[start as u64..end as u64, 0..70], &items()[start * row..end * row]).unwrap();
    }
    files.push(finished(by_rows));
    assert!(files.iter().all(|file| *file == files[0]));
    assert!(read(&files[0]) == items());
}

/// Copies the items of a region into a buffer.
fn give(ranges: &[Range<u64>], part: &mut [u8]) {
    let at = |index: u64| usize::try_from(index).unwrap() * 4;
    let columns = at(ranges[1].start)..at(ranges[1].end);
    for (row, part) in ranges[0].clone().zip(part.chunks_exact_mut(columns.len())) {
        part.copy_from_slice(&items()[at(row) * 70..][columns.clone()]);
    }
}

#[test]
fn a_function_that_reads_the_items_makes_the_same_file() {
    let mut writer = in_memory(builder("<i4"));
    writer.write(&whole(), &items()).unwrap();
    let expected = finished(writer);
    for threads in [1, 3] {
        let mut writer = in_memory(builder("<i4")).threads(threads);
        writer
            .write_from(&whole(), |ranges, part| {
                give(ranges, part);
                Ok::<_, Error>(())
            })
            .unwrap();
        assert!(finished(writer) == expected, "{threads}");
        // The two regions meet at column 33, which is inside a chunk.
        let mut writer = in_memory(builder("<i4")).threads(threads);
        for columns in [0..33, 33..70] {
            let region = [0..50, columns];
            writer
                .write_from(&region, |ranges, part| {
                    give(ranges, part);
                    Ok::<_, Error>(())
                })
                .unwrap();
        }
        assert!(read(&finished(writer)) == items(), "{threads}");
    }
}

#[test]
fn an_error_or_panic_of_the_function_that_reads_ends_all_threads() {
    #[derive(Debug, PartialEq)]
    struct Cancelled;
    impl From<Error> for Cancelled {
        fn from(error: Error) -> Self {
            panic!("{error}")
        }
    }
    let mut writer = in_memory(builder("<i4")).threads(3);
    let is_last = |ranges: &[Range<u64>]| ranges[0].start == 16;
    let cancelled =
        writer.write_from(&whole(), |ranges, _| if is_last(ranges) { Err(Cancelled) } else { Ok(()) });
    assert_eq!(cancelled, Err(Cancelled));
    check_broken(writer);

    let mut writer = in_memory(builder("<i4")).threads(3);
    let panicking = std::panic::AssertUnwindSafe(|| {
        writer.write_from(&whole(), |ranges, _| {
            assert!(!is_last(ranges), "on purpose");
            Ok::<_, Error>(())
        })
    });
    assert!(std::panic::catch_unwind(panicking).is_err());
    check_broken(writer);
}

/// Checks that every call fails after a call that has lost items.
fn check_broken<W: Write + Seek + Send>(mut writer: ArrayWriter<W>) {
    let given = |_: &[Range<u64>], _: &mut [u8]| Ok::<_, Error>(());
    let errors = [
        writer.write(&whole(), &items()),
        writer.write_from(&whole(), given),
        writer.write_rows(&whole(), vec![0; 3500]),
        writer.fill_with_zeros(),
        writer.finish().map(drop),
    ];
    for error in errors.map(Result::unwrap_err) {
        assert!(error.to_string().starts_with("an earlier call has failed after it took items"), "{error}");
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
}

#[test]
fn an_array_is_not_finished_after_a_failed_write_of_an_open_chunk() {
    // The first row completes no chunk, so the three chunks that it is in stay open.
    let opened = || {
        let mut writer = in_memory(builder("<i4"));
        writer.write(&[0..1, 0..70], &items()[..280]).unwrap();
        writer
    };
    let mut writer = opened();
    writer.write_from(&[1..2, 0..70], |_, _| Err(Frame::parse(b"no frame").unwrap_err())).unwrap_err();
    check_broken(writer);

    // Errors before the first item leave the open chunks as they are.
    let mut writer = opened().max_open_chunks(3);
    writer.write(&[1..2, 0..70], &[0; 279]).unwrap_err();
    writer.write(&[1..2, 0..71], &[0; 284]).unwrap_err();
    writer.write(&[16..17, 0..70], &[0; 280]).unwrap_err();
    writer.write_rows(&[1..2, 0..70], vec![i64::MAX; 70]).unwrap_err();
    let rows = vec![0; 70].into_iter().inspect(|_| panic!("on purpose"));
    let panicking = std::panic::AssertUnwindSafe(|| writer.write_rows(&[1..2, 0..70], rows));
    assert!(std::panic::catch_unwind(panicking).is_err());
    writer.write(&[1..50, 0..70], &items()[280..]).unwrap();
    assert!(read(&finished(writer)) == items());
}

#[test]
fn an_array_is_not_finished_after_a_disk_was_full() {
    // The chunks are stored uncompressed, so they are longer than the buffer of the writer.
    let shapes = Shapes { shape: &[100, 1000], chunkshape: &[20, 1000], blockshape: &[5, 100] };
    let builder = FrameBuilder::new(Meta::new(shapes, "<i4").unwrap()).level(0);
    let full = builder.write_to(Full(Cursor::default(), 100_000)).unwrap();
    let mut writer = full.into_array_writer().unwrap();
    let row: Vec<u8> = (0..1000_u32).flat_map(u32::to_le_bytes).collect();
    let error =
        (0..100).try_for_each(|number| writer.write(&[number..number + 1, 0..1000], &row)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    writer.fill_with_zeros().unwrap_err();
    let error = writer.finish().map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
}

#[test]
fn a_chunk_is_written_as_soon_as_its_last_item_has_come() {
    let mut writer = in_memory(builder("<i4")).max_open_chunks(3);
    // Writes one row of items at a time. The items of a row are in 3 chunks, so at most these 3 chunks are open. A
    // chunk has 16 rows, except the last chunks, which have 2 rows of the array.
    for (row, items) in (0..).zip(items().chunks(70 * 4)) {
        writer.write(&[row..row + 1, 0..70], items).unwrap();
    }
    assert!(read(&finished(writer)) == items());
}

#[test]
fn items_of_an_open_chunk_can_be_written_again_but_not_those_of_a_complete_one() {
    let mut writer = in_memory(builder("<i4"));
    writer.write(&[0..15, 0..70], &[1; 15 * 70 * 4]).unwrap();
    writer.write(&[7..16, 0..70], &items()[7 * 280..16 * 280]).unwrap();
    let error = writer.write(&[15..17, 0..70], &[0; 2 * 70 * 4]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(error.to_string(), "chunk 0 has already been given, or filled");
    writer.write(&[16..50, 0..70], &items()[16 * 280..]).unwrap();
    let read = read(&finished(writer));
    assert!(read[..7 * 280] == [1; 7 * 280] && read[7 * 280..] == items()[7 * 280..]);
}

#[test]
fn an_array_with_missing_items_is_not_finished_but_can_be_filled_with_zeros() {
    let half = || {
        let mut writer = in_memory(builder("<i4"));
        writer.write(&[0..16, 0..33], &[7; 16 * 33 * 4]).unwrap();
        writer
    };
    let error = half().finish().unwrap_err();
    assert_eq!(error.to_string(), "chunk 1 is not complete: 16 of its 512 items have been written");
    let mut writer = half();
    writer.fill_with_zeros().unwrap();
    let frame = finished(writer);
    let read = read(&frame);
    assert_eq!(
        (read[0], read[33 * 4], read.iter().map(|&byte| u64::from(byte)).sum::<u64>()),
        (7, 0, 7 * 16 * 33 * 4)
    );
    assert_eq!(opened(&frame).count_chunks().unwrap().stored, 2);
    // Writes only one chunk of the array.
    let mut writer = in_memory(builder("<i4"));
    writer.write(&[0..16, 0..32], &[7; 16 * 32 * 4]).unwrap();
    let error = writer.finish().unwrap_err();
    assert_eq!(error.to_string(), "11 of 12 chunks have not been given; the first of them is chunk 1");
}

#[test]
fn equal_items_become_a_special_chunk_and_nan_only_where_it_means_the_same() {
    let place = |dtype: &str, item: &[u8]| {
        let mut writer = in_memory(builder(dtype));
        writer.write(&whole(), &item.repeat(50 * 70)).unwrap();
        let frame = finished(writer);
        assert!(read(&frame) == item.repeat(50 * 70), "{dtype} {item:?}");
        // Chunk 0 is full, but it has padding: its 16 rows do not fill a whole number of blocks of 5 rows.
        let frame = opened(frame);
        let mut chunks = frame.chunks().unwrap();
        let entry = chunks.get(0).unwrap().unwrap();
        match entry.place {
            ChunkPlace::Special(special) => Some(special),
            _ => chunks.header(&entry).unwrap().and_then(|header: ChunkHeader| header.special()),
        }
    };
    let nan = f32::NAN.to_le_bytes();
    assert_eq!(place("<f4", &[0; 4]), Some(SpecialValue::Zeros));
    // The padding of chunk 0 is zero, so the chunk does not consist of NaN only.
    assert_eq!(place("<f4", &nan), None);
    let shapes = Shapes { shape: &[64], chunkshape: &[32], blockshape: &[8] };
    let flat = |dtype: &str, item: &[u8]| {
        let region = slice::from_ref(&(0..64));
        let mut writer = in_memory(FrameBuilder::new(Meta::new(shapes, dtype).unwrap()));
        writer.write(region, &item.repeat(64)).unwrap();
        let array = opened_array(finished(writer));
        let counts = array.frame().count_chunks().unwrap();
        assert!(array.slice(region).read().unwrap() == item.repeat(64), "{dtype} {item:?}");
        (counts.zeros, counts.nan, counts.stored)
    };
    assert_eq!(flat("<f4", &[0; 4]), (2, 0, 0));
    assert_eq!(flat("<f4", &nan), (0, 2, 0));
    assert_eq!(flat("<f8", &f64::NAN.to_le_bytes()), (0, 2, 0));
    // Only a little-endian float with the usual bytes of NaN makes a special chunk of NaN. The chunks of the other
    // items are stored: an integer with the bytes of NaN, a big-endian float, a negative NaN, and a text.
    assert_eq!(flat("<i4", &nan), (0, 0, 2));
    assert_eq!(flat(">f4", &nan), (0, 0, 2));
    assert_eq!(flat("<f4", &(-f32::NAN).to_le_bytes()), (0, 0, 2));
    assert_eq!(flat("|S300", &[65; 300]), (0, 0, 2));
}

#[test]
fn a_wrong_region_is_named_and_leaves_the_array_as_it_was() {
    let mut writer = in_memory(builder("<i4")).max_open_chunks(2);
    let mut says = |region: &[Range<u64>], nbytes: usize| {
        let error = writer.write(region, &vec![1; nbytes]).unwrap_err();
        (error.kind(), error.to_string())
    };
    let invalid = |says: &str| (ErrorKind::InvalidInput, says.to_owned());
    assert_eq!(says(&[0..51, 0..70], 0), invalid("slice[0] stops at 51, but shape[0] is 50"));
    assert_eq!(says(slice::from_ref(&(0..50)), 0), invalid("the slice has 1 dimension, but ndim is 2"));
    assert_eq!(
        says(&[0..2, 0..3], 23),
        invalid("the region has 6 items of 4 bytes, 24 in all, but 23 are given")
    );
    let open = "3 chunks of 2560 bytes would be open, but the limit is 2";
    assert_eq!(says(&[0..1, 0..70], 280), (ErrorKind::TooLarge, open.to_owned()));
    writer.write(&whole(), &items()).unwrap();
    assert!(read(&finished(writer)) == items());
}

#[test]
fn arrays_without_dimensions_and_without_items_are_written() {
    let shapes = Shapes { shape: &[], chunkshape: &[], blockshape: &[] };
    let mut writer = in_memory(FrameBuilder::new(Meta::new(shapes, "<f8").unwrap()));
    writer.write(&[], &1.5_f64.to_le_bytes()).unwrap();
    assert_eq!(read(&finished(writer)), 1.5_f64.to_le_bytes());

    let mut writer = in_memory(FrameBuilder::new(Meta::with_default_shapes(&[0, 9], 8, "<f8").unwrap()));
    writer.write(&[0..0, 0..9], &[]).unwrap();
    assert_eq!(opened(finished(writer)).count_chunks().unwrap().total(), 0);
}

#[test]
fn what_this_crate_only_reads_is_refused_before_an_item_is_given() {
    let refused = |builder: FrameBuilder| {
        builder.write_to(Cursor::new(Vec::new())).unwrap().into_array_writer().unwrap_err().to_string()
    };
    assert!(refused(builder("<i4").codec(Codec::LZ4HC)).contains("lz4hc is only decompressed here"));
    assert!(refused(builder("<i4").codec(Codec::ZFP_RATE)).contains("zfp_rate is not one of"));
    let says = refused(builder("<i4").uses_dictionary(true));
    assert_eq!(says, "this crate cannot compress chunks with dictionaries");
}

#[test]
fn chunks_that_were_written_before_stay_and_their_items_are_refused() {
    let begun = || {
        let mut writer = builder("<i4").write_to(Cursor::new(Vec::new())).unwrap();
        writer.write_repeated(0, &[1, 2, 3, 4]).unwrap();
        writer.into_array_writer().unwrap()
    };
    let error = begun().write(&whole(), &items()).unwrap_err();
    assert_eq!(error.to_string(), "chunk 0 has already been given, or filled");
    let mut writer = begun();
    writer.write(&[0..16, 32..70], &[7; 16 * 38 * 4]).unwrap();
    writer.write(&[16..50, 0..70], &[7; 34 * 70 * 4]).unwrap();
    let array = opened_array(finished(writer));
    assert_eq!(array.slice(&[15..16, 31..33]).read().unwrap(), [1, 2, 3, 4, 7, 7, 7, 7]);
}

/// A file with room for a limited number of bytes, the second field. Later writes fail.
struct Full(Cursor<Vec<u8>>, usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = bytes.len().min(self.1);
        if length == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.1 -= length;
        self.0.write(&bytes[..length])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Full {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

#[test]
fn a_full_disk_is_an_error_in_any_thread() {
    let mut complete = in_memory(builder("<i4"));
    complete.write(&whole(), &items()).unwrap();
    let length = finished(complete).len();
    for threads in [1, 3] {
        for room in (0..length).step_by(1 + length / 40) {
            let written = builder("<i4").write_to(Full(Cursor::default(), room)).and_then(|writer| {
                let mut writer = writer.into_array_writer().unwrap().threads(threads);
                writer.write(&whole(), &items())?;
                writer.finish()
            });
            assert_eq!(
                written.map(drop).unwrap_err().kind(),
                ErrorKind::Io,
                "room for {room}, {threads} threads"
            );
        }
    }
}

#[test]
fn rows_are_written_as_the_dtype_says_and_a_value_that_does_not_fit_is_named() {
    let dtype = "[('name', '>U3'), ('flags', [('a', '|u1'), ('b', '?')])]";
    let mut writer = in_memory(builder(dtype));
    let row = |number: u16| ("x".repeat(usize::from(number % 4)), (number % 200, number.is_multiple_of(3)));
    let rows: Vec<_> = (0..50 * 70).map(row).collect();
    writer.write_rows(&whole(), &rows).unwrap();
    let file = finished(writer);
    let array = opened_array(&file);
    assert!(array.slice(&whole()).read_rows::<(String, (u16, bool))>().unwrap() == rows);
    let item = array.slice(&[0..1, 2..3]).read().unwrap();
    assert_eq!(item, [0, 0, 0, b'x', 0, 0, 0, b'x', 0, 0, 0, 0, 2, 0]);

    let mut writer = in_memory(builder(dtype));
    let mut says = |rows: &[(&str, (u16, bool))]| {
        let error = writer.write_rows(&[0..1, 0..2], rows).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        error.to_string()
    };
    assert_eq!(
        says(&[("a", (1, true)), ("b", (256, true))]),
        "item 1 of the region, field flags.a: 256 is out of the range of |u1, 0 to 255"
    );
    assert_eq!(says(&[("a", (1, true))]), "the region has 2 items of 14 bytes, 28 in all, but 14 are given");
    writer.write_rows(&whole(), &rows).unwrap();
}

#[test]
fn an_array_that_is_not_finished_leaves_nothing_at_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.b2nd");
    for is_sparse in [false, true] {
        let create = |builder: FrameBuilder| {
            if is_sparse { builder.create_sparse(&path) } else { builder.create(&path) }
        };
        let mut writer = create(builder("<i4")).unwrap().into_array_writer().unwrap().threads(2);
        writer.write(&[0..49, 0..70], &items()[..49 * 280]).unwrap();
        assert_eq!(writer.finish().unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

        let mut writer = create(builder("<i4")).unwrap().into_array_writer().unwrap().threads(2);
        writer.write(&whole(), &items()).unwrap();
        drop(writer.finish().unwrap().persist().unwrap());
        assert!(Array::open(&path).unwrap().slice(&whole()).read().unwrap() == items());
        assert_eq!(create(builder("<i4")).unwrap_err().kind(), ErrorKind::Exists);
        if is_sparse { fs::remove_dir_all(&path) } else { fs::remove_file(&path) }.unwrap();
    }
}

#[cfg(feature = "ndarray")]
mod from_ndarray {
    use ::ndarray::{self, Array2, Array3, ArrayD, IxDyn, NewAxis, SliceInfo, SliceInfoElem, s};
    use num_complex::Complex;

    use super::*;

    fn round_trip<T: b2nd_frame::Item + PartialEq + Clone>(array: &Array2<T>, dtype: &str) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new.b2nd");
        let written = b2nd_frame::write_array(&path, array.view()).and_then(Array::new).unwrap();
        assert_eq!(written.dtype(), Some(dtype));
        let region = [array.nrows(), array.ncols()].map(|items| 0..items as u64);
        assert!(written.slice(&region).read_array::<T>().unwrap() == array.clone().into_dyn(), "{dtype}");
    }

    #[test]
    fn each_item_type_has_its_dtype_and_comes_back() {
        let numbers =
            Array2::from_shape_fn((30, 20), |(row, column)| u8::try_from((row * 20 + column) % 100).unwrap());
        macro_rules! each {
            ($($type:ty, $dtype:literal;)*) => { $(round_trip::<$type>(&numbers.mapv(|number| <$type>::try_from(number).unwrap()), $dtype);)* };
        }
        each! {
            u8, "|u1"; i8, "|i1"; u16, "<u2"; i16, "<i2"; u32, "<u4"; i32, "<i4"; u64, "<u8"; i64, "<i8";
            f32, "<f4"; f64, "<f8";
        }
        round_trip(&numbers.mapv(|number| number % 3 == 0), "|b1");
        round_trip(&numbers.mapv(|number| half::f16::from_f32(number.into())), "<f2");
        round_trip(&numbers.mapv(|number| Complex::new(f32::from(number), 1.0)), "<c8");
        round_trip(&numbers.mapv(|number| Complex::new(f64::from(number), 1.0)), "<c16");
        round_trip(&numbers.mapv(|number| [number; 300]), "|V300");
    }

    #[test]
    fn views_in_any_order_of_memory_are_written_in_c_order() {
        let cube =
            Array3::from_shape_fn((9, 11, 13), |(x, y, z)| i32::try_from(x * 143 + y * 13 + z).unwrap());
        let views = [
            cube.view(),
            cube.view().reversed_axes(),
            cube.slice(s![..;2, ..;-1, 3..]),
            cube.broadcast((9, 11, 13)).unwrap(),
        ];
        for (number, view) in views.into_iter().enumerate() {
            for dtype in ["<i4", ">i4"] {
                let shape: Vec<i64> = view.shape().iter().map(|&items| items.try_into().unwrap()).collect();
                let shapes = Shapes { shape: &shape, chunkshape: &[4, 5, 6], blockshape: &[2, 2, 4] };
                let folder = tempfile::tempdir().unwrap();
                let builder = FrameBuilder::new(Meta::new(shapes, dtype).unwrap());
                let written =
                    builder.write_array(folder.path().join("new.b2nd"), view).and_then(Array::new).unwrap();
                let region: Vec<_> = shape.iter().map(|&items| 0..items.unsigned_abs()).collect();
                let found: ArrayD<i32> = written.slice(&region).read_array().unwrap();
                assert!(found == view.to_owned().into_dyn(), "view {number}, {dtype}");
            }
        }
    }

    #[test]
    fn subscripts_of_ndarray_mean_what_they_mean_there() {
        let cube =
            Array3::from_shape_fn((9, 11, 13), |(a, b, c)| i32::try_from(a * 1000 + b * 100 + c).unwrap());
        let shapes = Shapes { shape: &[9, 11, 13], chunkshape: &[4, 5, 6], blockshape: &[2, 2, 4] };
        let folder = tempfile::tempdir().unwrap();
        let builder = FrameBuilder::new(Meta::new(shapes, ">i4").unwrap());
        let written = builder.write_array(folder.path().join("new.b2nd"), cube.view());
        let array = written.and_then(Array::new).unwrap();
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..2000 {
            let mut elements = Vec::new();
            for length in [9, 11, 13] {
                if rng.u8(0..8) == 0 {
                    elements.push(SliceInfoElem::NewAxis);
                }
                let mut place = || rng.isize(-length..=length);
                let (start, end) = (place(), place());
                let from_start = |place: isize| if place < 0 { place + length } else { place };
                elements.push(match rng.u8(0..5) {
                    0 => SliceInfoElem::Index(rng.isize(-length..length)),
                    1 => SliceInfoElem::Slice { start: 0, end: None, step: 1 },
                    form => {
                        let [start, end] =
                            if from_start(start) <= from_start(end) { [start, end] } else { [end, start] };
                        let step = rng.isize(1..length) * if form == 2 { -1 } else { 1 };
                        // An end of `None` is the end of the dimension.
                        let end = Some(end).filter(|_| rng.u8(0..4) > 0);
                        SliceInfoElem::Slice { start, end, step }
                    }
                });
            }
            let info = SliceInfo::<_, IxDyn, IxDyn>::try_from(elements).unwrap();
            let expected = cube.view().into_dyn().slice(&info).to_owned();
            let found = array.slice(info.clone()).threads(rng.usize(1..3)).read_array::<i32>().unwrap();
            assert_eq!(found, expected, "{info:?}");
        }
        let says = |error: Error| (error.kind(), error.to_string());
        for (error, why) in [
            (array.slice(s![.., 3..12, ..]).read_array::<i32>(), "slice[1] stops at 12, but shape[1] is 11"),
            (
                array.slice(s![.., .., -14]).read_array::<i32>(),
                "slice[2] has the index -14, but shape[2] is 13",
            ),
            (array.slice(s![9, .., ..]).read_array::<i32>(), "slice[0] has the index 9, but shape[0] is 9"),
            (array.slice(s![.., ..40]).read_array::<i32>(), "the slice has 2 dimensions, but ndim is 3"),
            (
                array.slice(s![..;2, .., ..]).steps(&[2, 1, 1]).read_array::<i32>(),
                "the subscripts already have steps, so other steps cannot be given",
            ),
        ] {
            assert_eq!(says(error.unwrap_err()), (ErrorKind::InvalidInput, why.into()));
        }
        // A `SliceInfo` can have a step of 0.
        let all = SliceInfoElem::Slice { start: 0, end: None, step: 1 };
        let elements = vec![all, SliceInfoElem::Slice { start: 0, end: None, step: 0 }, all];
        let info = SliceInfo::<_, IxDyn, IxDyn>::try_from(elements).unwrap();
        let why = "the step of slice[1] is 0, but must be at least 1";
        let error = array.slice(info).read_array::<i32>().unwrap_err();
        assert_eq!(says(error), (ErrorKind::InvalidInput, why.into()));
        let error = array.slice(s![.., NewAxis, ..;-1, ..]).read().unwrap_err();
        let why = "the step of slice[1] is negative: only `read_array` and `read_as` can reverse a dimension";
        assert_eq!(says(error), (ErrorKind::InvalidInput, why.into()));
    }

    #[test]
    fn a_wider_type_reads_every_value() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let bytes = Array2::from_shape_fn((30, 20), |(row, column)| u8::try_from(row * 5 + column).unwrap());
        let array = b2nd_frame::write_array(path("u1"), bytes.view()).and_then(Array::new).unwrap();
        let bytes = bytes.into_dyn();
        assert_eq!(array.whole().read_as::<u8>().unwrap(), bytes);
        macro_rules! each {
            ($($type:ty),*) => { $(assert_eq!(array.whole().read_as::<$type>().unwrap(), bytes.mapv(<$type>::from));)* };
        }
        each!(u16, i16, u32, i32, u64, i64, half::f16, f32, f64);
        let says = |error: Error| (error.kind(), error.to_string());
        let advice =
            |or: &str| (ErrorKind::InvalidInput, format!("items of dtype |u1 cannot be read as {or}"));
        assert_eq!(says(array.whole().read_as::<i8>().unwrap_err()), advice("i8; use u8"));
        assert_eq!(says(array.whole().read_array::<i8>().unwrap_err()), advice("i8; use u8"));
        assert_eq!(says(array.whole().read_array::<f32>().unwrap_err()), advice("f32; use u8, or `read_as`"));

        let halves = bytes.mapv(half::f16::from);
        let array = b2nd_frame::write_array(path("f2"), halves.view()).and_then(Array::new).unwrap();
        assert_eq!(array.whole().read_as::<f32>().unwrap(), halves.mapv(f32::from));
        let flags = bytes.mapv(|byte| byte % 3 == 0);
        let array = b2nd_frame::write_array(path("b1"), flags.view()).and_then(Array::new).unwrap();
        assert_eq!(array.whole().read_as::<i16>().unwrap(), flags.mapv(i16::from));
        let numbers = bytes.mapv(|byte| Complex::new(f32::from(byte), 0.0));
        let array = b2nd_frame::write_array(path("f4"), numbers.mapv(|number| number.re).view())
            .and_then(Array::new)
            .unwrap();
        assert_eq!(
            array.slice(s![..;-1, 3]).read_as::<Complex<f32>>().unwrap(),
            numbers.slice(s![..;-1, 3]).into_dyn()
        );
        let dates = FrameBuilder::new(
            Meta::new(Shapes { shape: &[2], chunkshape: &[2], blockshape: &[2] }, "<M8[s]").unwrap(),
        );
        let array =
            dates.write_array(path("M8"), ::ndarray::arr1(&[1_i64, 2]).view()).and_then(Array::new).unwrap();
        assert!(array.whole().read_as::<f64>().is_err());
        assert_eq!(array.whole().read_as::<i64>().unwrap(), ::ndarray::arr1(&[1, 2]).into_dyn());
    }

    #[test]
    fn write_array_and_read_array_take_raw_bytes_for_a_long_double() {
        let folder = tempfile::tempdir().unwrap();
        let items = ndarray::arr1(&[[1_u8; 16], [2; 16], [3; 16]]);
        let shapes = Shapes { shape: &[3], chunkshape: &[2], blockshape: &[2] };
        let builder = || FrameBuilder::new(Meta::new(shapes, "<f16").unwrap());
        let written = builder().write_array(folder.path().join("a.b2nd"), items.view());
        let array = written.and_then(Array::new).unwrap();
        assert_eq!(array.whole().read_array::<[u8; 16]>().unwrap(), items.clone().into_dyn());
        let error = array.whole().read_array::<f64>().unwrap_err();
        assert_eq!(error.to_string(), "items of dtype <f16 cannot be read as f64; use [u8; 16]");
    }

    #[test]
    fn write_array_of_a_builder_names_both_shapes_if_they_differ() {
        let folder = tempfile::tempdir().unwrap();
        let numbers = ndarray::Array::<i32, _>::zeros((2, 3));
        let path = folder.path().join("a.b2nd");
        let error = builder("<i4").write_array(&path, numbers.view()).unwrap_err();
        let expected = "the metalayer has shape [50, 70], but the array has shape [2, 3]";
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::InvalidInput, expected.into()));
        assert!(!path.exists());
    }

    #[test]
    fn an_array_of_another_type_or_shape_is_refused() {
        let mut writer = in_memory(builder("<i4"));
        let says = |error: Error| (error.kind(), error.to_string());
        let error =
            writer.write_array(&whole(), ndarray::Array::<f32, _>::zeros((50, 70)).view()).unwrap_err();
        assert_eq!(
            says(error),
            (ErrorKind::InvalidInput, "items of dtype <i4 cannot be written from f32; use i32".into())
        );
        let error =
            writer.write_array(&[0..2, 0..3], ndarray::Array::<i32, _>::zeros((3, 2)).view()).unwrap_err();
        let expected = "the region is [0..2, 0..3], but the array has shape [3, 2]";
        assert_eq!(says(error), (ErrorKind::InvalidInput, expected.into()));
    }

    #[test]
    fn append_array_accepts_items_without_the_axis() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.b2nd");
        b2nd_frame::write_array(&path, ndarray::array![[1, 2], [3, 4]].view()).unwrap();
        let mut update = b2nd_frame::ArrayUpdate::open(&path).unwrap();
        update.append_array(0, ndarray::array![5, 6].view()).unwrap();
        update.append_array(1, ndarray::array![7, 8, 9].view()).unwrap();
        update.flush().unwrap();
        let items = Array::open(&path).unwrap().whole().read_array::<i32>().unwrap();
        assert_eq!(items, ndarray::array![[1, 2, 7], [3, 4, 8], [5, 6, 9]].into_dyn());
    }

    #[test]
    fn append_array_converts_items_to_the_byte_order_of_the_dtype() {
        let folder = tempfile::tempdir().unwrap();
        for (name, dtype) in [("little.b2nd", "<i4"), ("big.b2nd", ">i4")] {
            let path = folder.path().join(name);
            let builder = FrameBuilder::new(Meta::with_default_shapes(&[2], 4, dtype).unwrap());
            builder.write_array(&path, ndarray::array![1, 2].view()).unwrap();
            let mut update = b2nd_frame::ArrayUpdate::open(&path).unwrap();
            update.append_array(0, ndarray::array![3].view()).unwrap();
            update.flush().unwrap();
            let items = Array::open(&path).unwrap().whole().read_array::<i32>().unwrap();
            assert_eq!(items, ndarray::array![1, 2, 3].into_dyn(), "{dtype}");
        }
    }

    #[test]
    fn append_array_names_the_shape_and_the_axis_that_are_right() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.b2nd");
        b2nd_frame::write_array(&path, ndarray::Array::<i32, _>::zeros((3, 4)).view()).unwrap();
        let mut update = b2nd_frame::ArrayUpdate::open(&path).unwrap();
        let mut says = |axis, shape: &[usize]| {
            let error = update.append_array(axis, ArrayD::<i32>::zeros(shape).view()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            error.to_string()
        };
        for (axis, shape, expected) in [
            (0, &[2, 3][..], "[n, 4] with any n, or [4]"),
            (0, &[3], "[n, 4] with any n, or [4]"),
            (1, &[2, 4], "[3, n] with any n, or [3]"),
        ] {
            assert_eq!(
                says(axis, shape),
                format!(
                    "shape {shape:?} cannot be appended to shape [3, 4] along dimension {axis}: it must be {expected}"
                )
            );
        }
        assert_eq!(
            says(2, &[3, 3]),
            "axis is 2, but must be less than 2, as the array to append to has shape [3, 4]"
        );
    }
}

/// An array of one dimension with these items.
fn array_of(dtype: &str, items: &[u8]) -> Array<Vec<u8>> {
    let typesize = dtype.parse::<Dtype>().unwrap().item_size();
    let count = i32::try_from(items.len() / typesize).unwrap();
    let shapes = Shapes { shape: &[count.into()], chunkshape: &[count], blockshape: &[count] };
    let builder = FrameBuilder::new(Meta::new(shapes, dtype).unwrap());
    let mut writer = in_memory(builder);
    writer.write(slice::from_ref(&(0..count.unsigned_abs().into())), items).unwrap();
    opened_array(writer.finish().unwrap().into_inner())
}

#[test]
fn read_into_takes_bytes_and_items_in_either_byte_order() {
    let numbers = [1_i16, -2, 300];
    for (dtype, bytes) in
        [("<i2", numbers.map(i16::to_le_bytes).concat()), (">i2", numbers.map(i16::to_be_bytes).concat())]
    {
        let array = array_of(dtype, &bytes);
        let (mut found, mut stored) = ([0_i16; 3], [0_u8; 6]);
        array.whole().read_into(&mut found).unwrap();
        assert_eq!(found, numbers, "{dtype}");
        array.whole().threads(2).read_into(&mut stored).unwrap();
        assert_eq!(stored.as_slice(), bytes, "{dtype}");
        for (error, buffer) in [
            (array.whole().read_into(&mut [0_u16; 3]).unwrap_err(), "u16"),
            (array.whole().read_into(&mut [0_i32; 3]).unwrap_err(), "i32"),
            (array.whole().read_into(&mut [[0; 2]; 3]).unwrap_err(), "[u8; 2]"),
        ] {
            let says = format!("items of dtype {dtype} cannot be read into a buffer of {buffer}; use i16");
            assert_eq!(error.to_string(), says);
        }
        let error = array.whole().read_into(&mut [0_i16; 4]).unwrap_err();
        assert_eq!(error.to_string(), "the slice has 3 items, but the buffer 4");
    }

    let array = array_of("|b1", &[1, 0, 1]);
    let mut found = [false; 3];
    array.whole().read_into(&mut found).unwrap();
    assert_eq!(found, [true, false, true]);
    let error = array_of("|b1", &[1, 2]).whole().read_into(&mut [false; 2]).unwrap_err();
    assert_eq!(error.to_string(), "item 1 of the slice is not a valid bool: its byte must be 0 or 1");
    let error = array_of("|u1", &[1, 0]).whole().read_into(&mut [false; 2]).unwrap_err();
    assert_eq!(error.to_string(), "items of dtype |u1 cannot be read into a buffer of bool; use u8");

    let mut found = [[0; 3]; 2];
    array_of("|S3", b"abcde\0").whole().read_into(&mut found).unwrap();
    assert_eq!(found, [*b"abc", *b"de\0"]);
}

#[test]
fn read_into_takes_items_without_a_dtype_only_as_raw_bytes_of_their_size() {
    let array = Array::open(data().join("uint16_6x8.caterva")).unwrap();
    assert_eq!(array.dtype(), None);
    let mut found = [[0; 2]; 48];
    array.whole().read_into(&mut found).unwrap();
    assert!(found.iter().zip(0..).all(|(item, number)| *item == [number, 0]), "{found:?}");
    for (error, buffer) in [
        (array.whole().read_into(&mut [0_u16; 48]).unwrap_err(), "u16"),
        (array.whole().read_into(&mut [[0; 4]; 24]).unwrap_err(), "[u8; 4]"),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let says = format!("items without a dtype are read into a buffer of [u8; 2], not {buffer}");
        assert_eq!(error.to_string(), says);
    }
}
