//! A slice has the same items as the same part of the whole array. If a check of the chunks finds an error with the
//! code `ChunkHeader` or `ChunkOffset`, the whole array cannot be read, except for two kinds of findings (see
//! `agrees`).

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::slice;

use b2nd_frame::{
    Array, Check, CheckDepth, ErrorKind, FindingCode, Frame, FrameBuilder, ReadAt, SlicePlan, SpecialValue,
};
use b2nd_lab::{chunk_with_a_table, data, frame_of_chunks};
use b2nd_serde::{Meta, Shapes};
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::{opened, opened_array, random_range, refused};

/// The paths of the real files that have an array and are frames of the present generation.
fn arrays() -> Vec<PathBuf> {
    let folders = ["", "geometry", "linear", "peers"].map(|folder| data().join(folder));
    let mut paths: Vec<_> = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()))
        .filter(|path| {
            path.extension().is_some_and(|extension| extension == "b2nd" || extension == "b2frame")
        })
        .collect();
    paths.sort();
    paths
}

fn whole<R>(array: &Array<R>) -> Vec<Range<u64>> {
    array.shape().iter().map(|items| 0..items.unsigned_abs()).collect()
}

/// The expected items of a slice with steps, copied from the items of the whole array.
fn cut(items: &[u8], whole: &[Range<u64>], slice: &[(Range<u64>, u64)], typesize: usize) -> Vec<u8> {
    let (Some((whole, below)), Some(((range, step), rest))) = (whole.split_first(), slice.split_first())
    else {
        return items.to_vec();
    };
    let row: usize =
        below.iter().map(|range| usize::try_from(range.end).unwrap()).product::<usize>() * typesize;
    assert_eq!(items.len(), row * usize::try_from(whole.end).unwrap());
    (range.start..range.end)
        .step_by(usize::try_from(*step).unwrap())
        .flat_map(|x| cut(&items[usize::try_from(x).unwrap() * row..][..row], below, rest, typesize))
        .collect()
}

/// Reads a slice by a plan: gives the plan the bytes of each range that the plan asks for, and returns the items.
fn followed(mut plan: SlicePlan, path: &Path) -> Vec<u8> {
    let mut waves = 0;
    while !plan.ranges().is_empty() {
        let read = |(number, range): (usize, &Range<u64>)| {
            let name = plan.chunk_file(number);
            let file = fs::read(name.map_or(path.into(), |name| path.with_file_name(name))).unwrap();
            let [start, end] = [range.start, range.end].map(|byte| usize::try_from(byte).unwrap());
            file[start..end.min(file.len())].to_vec()
        };
        let wave: Vec<_> = plan.ranges().iter().enumerate().map(read).collect();
        plan.take(wave).unwrap();
        waves += 1;
    }
    // The plan asks for at most four waves of ranges: the index, a block of the index, the first bytes of chunks, and
    // the blocks of chunks.
    assert!(waves <= 4, "{waves} waves");
    plan.finish().unwrap()
}

/// A random slice inside the array: a range and a step for each dimension. Half of the ranges are whole, and few are
/// empty. Most steps are so short that a block can have several items of the slice.
fn random_slice(rng: &mut fastrand::Rng, whole: &[Range<u64>]) -> Vec<(Range<u64>, u64)> {
    let mut part = |range: &Range<u64>| {
        let items = range.end;
        let part = if rng.bool() { 0..items } else { random_range(rng, items) };
        let step = match rng.u8(..8) {
            0 => rng.u64(1..=items.max(1)),
            1..4 => rng.u64(2..4),
            _ => 1,
        };
        (part, step)
    };
    whole.iter().map(&mut part).collect()
}

#[test]
fn any_slice_has_the_items_of_the_whole_array_with_any_number_of_threads() {
    let mut rng = fastrand::Rng::with_seed(1);
    let (mut arrays_read, mut slices) = (0, 0);
    for path in arrays() {
        let Ok(array) = Array::open(&path) else { continue };
        let ranges = whole(&array);
        let Ok(items) = array.slice(&ranges).read() else { continue };
        arrays_read += 1;
        for _ in 0..20 {
            let slice = random_slice(&mut rng, &ranges);
            let expected = cut(&items, &ranges, &slice, array.item_size());
            let (part, steps): (Vec<_>, Vec<_>) = slice.iter().cloned().unzip();
            for threads in [1, 3] {
                let mut found = vec![0xaa; expected.len()];
                let read = array.slice(&part).steps(&steps).threads(threads);
                assert_eq!(read.nbytes().unwrap(), expected.len(), "{path:?} {slice:?}");
                read.read_into(&mut found).unwrap();
                assert_eq!(found, expected, "{path:?} {slice:?} {threads}");
                // `array` has read its index by now, so it would need fewer waves.
                let new = Array::open(&path).unwrap();
                let plan = new.slice(&part).steps(&steps).threads(threads).plan().unwrap();
                assert_eq!(
                    followed(plan, array.frame().path().unwrap()),
                    expected,
                    "{path:?} {slice:?} {threads}"
                );
            }
            slices += 1;
        }
    }
    assert!(arrays_read > 30 && slices > 600, "{arrays_read} {slices}");
}

#[test]
fn slices_of_one_array_in_several_threads_have_its_items() {
    for path in arrays() {
        let Ok(array) = Array::open(&path) else { continue };
        let ranges = whole(&array);
        let Ok(items) = Array::open(&path).unwrap().slice(&ranges).read() else { continue };
        std::thread::scope(|scope| {
            for seed in 0..3 {
                let (array, ranges, items, path) = (&array, &ranges, &items, &path);
                scope.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(seed);
                    for _ in 0..10 {
                        let slice = random_slice(&mut rng, ranges);
                        let (part, steps): (Vec<_>, Vec<_>) = slice.iter().cloned().unzip();
                        let read = array.slice(&part).steps(&steps).threads(rng.usize(1..3)).read().unwrap();
                        assert_eq!(read, cut(items, ranges, &slice, array.item_size()), "{path:?} {slice:?}");
                    }
                });
            }
        });
    }
}

#[test]
fn the_items_of_real_files_are_those_that_were_written() {
    let read = |name: &str, slice: &[_]| Array::open(data().join(name)).unwrap().slice(slice).read();
    let expected: Vec<u8> = (0_i32..15).flat_map(i32::to_le_bytes).collect();
    assert_eq!(read("int32_3x5.b2nd", &[0..3, 0..5]).unwrap(), expected);
    // A big-endian array in a sparse frame.
    assert_eq!(read("sparse.b2nd", &[1..2, 1..3]).unwrap(), [0, 9, 0, 10]);
    let item = |name| read(name, &[39..40, 39..40]).unwrap().try_into().map(f64::from_le_bytes).unwrap();
    assert!(item("peers/special_nans.b2nd").is_nan());
    assert_eq!(item("peers/special_zeros.b2nd").to_bits(), 0.0_f64.to_bits());
    assert_eq!(item("peers/special_full.b2nd").to_bits(), 2.5_f64.to_bits());
    assert_eq!(read("scalar.b2nd", &[]).unwrap().len(), 8);
    assert_eq!(read("empty.b2nd", &[0..0, 0..4]).unwrap(), [0; 0]);
}

#[test]
fn the_items_are_those_that_numpy_wrote() {
    let mut count = 0;
    for path in arrays() {
        let Ok(items) = fs::read(path.with_extension("items")) else { continue };
        let array = Array::open(&path).unwrap();
        assert!(array.whole().threads(2).read().unwrap() == items, "{path:?}");
        count += 1;
    }
    assert_eq!(count, 16 + 19);
}

#[test]
fn a_frame_in_another_file_is_read_there() {
    let file = [b"before", &fs::read(data().join("int32_3x5.b2nd")).unwrap()[..]].concat();
    let array = Array::new(Frame::read_at(file, 6).unwrap()).unwrap();
    assert_eq!(array.slice(&[2..3, 4..5]).threads(2).read().unwrap(), 14_i32.to_le_bytes());
}

#[test]
#[expect(clippy::single_range_in_vec_init, reason = "a slice of one dimension")]
fn what_is_no_slice_is_refused() {
    let array = Array::open(data().join("int32_3x5.b2nd")).unwrap();
    #[expect(clippy::reversed_empty_ranges, reason = "it is refused")]
    let reversed = [0..3, 4..2];
    for (slice, message) in [
        (&[0..3][..], "the slice has 1 dimension, but ndim is 2"),
        (&[0..3, 4..6], "slice[1] stops at 6, but shape[1] is 5"),
        (&reversed, "slice[1] starts at 4, after its stop at 2"),
    ] {
        let error = array.slice(slice).read().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert_eq!(error.to_string(), message);
    }
    for (steps, message) in [
        (&[1][..], "ndim is 2, but the slice has 1 steps"),
        (&[1, 0], "the step of slice[1] is 0, but must be at least 1"),
    ] {
        assert_eq!(array.whole().steps(steps).read().unwrap_err().to_string(), message);
        let error = array.slice(&[0..3, 0..5]).steps(steps).read().unwrap_err();
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::InvalidInput, message.into()));
    }
    let every_other = array.slice(&[0..3, 0..5]).steps(&[2, 3]).read().unwrap();
    assert_eq!(array.whole().steps(&[2, 3]).read().unwrap(), every_other);
    let error = array.slice(&[0..3, 0..5]).read_into(&mut [0_u8; 59]).unwrap_err();
    assert_eq!(error.to_string(), "the slice has 60 bytes, but the buffer 59");
}

/// If two blocks of a chunk could begin at the same byte, a small chunk could claim many blocks that all have the same
/// bytes.
#[test]
fn blocks_that_begin_together_are_refused() {
    let mut file = fs::read(data().join("peers/many_blocks.b2nd")).unwrap();
    let table = Frame::parse(&file).unwrap().header().header_len + 32;
    file.copy_within(table..table + 4, table + 4);
    let array = opened_array(file);
    let error = array.slice(slice::from_ref(&(0..300))).read().unwrap_err();
    let says = "byte 146 of the frame: chunk 0 cannot be decompressed: two blocks begin at byte 312 of it";
    assert_eq!(error.to_string(), says);
}

/// An array of items of 4 bytes, in a single chunk. The chunk claims one block of `nbytes` bytes, compressed with LZ4.
/// `stored` are the stored bytes of this block.
fn of_one_block(nbytes: usize, stored: &[u8]) -> Array<Vec<u8>> {
    let mut chunk = chunk_with_a_table(1);
    chunk.truncate(36);
    chunk.extend(stored);
    // Offsets in the header of a chunk: 4 nbytes, 8 blocksize, 12 cbytes.
    for (at, size) in [(4, nbytes), (8, nbytes), (12, chunk.len())] {
        chunk[at..at + 4].copy_from_slice(&u32::try_from(size).unwrap().to_le_bytes());
    }
    opened_array(frame_of_chunks(&chunk, &[0], nbytes))
}

#[test]
fn read_decompresses_a_block_beyond_the_expansion_limit_only_for_a_slice_as_long() {
    const NBYTES: usize = (1 << 26) + 4;
    let first = slice::from_ref(&(0..1));
    // A block of zeros is stored as the length 0. Nothing is decompressed, so there is no limit.
    assert_eq!(of_one_block(NBYTES, &[0; 4]).slice(first).read().unwrap(), [0; 4]);
    // The block has a stream of one byte, which is not valid.
    let array = of_one_block(NBYTES, &[1, 0, 0, 0, 7]);
    assert_eq!(
        refused(ErrorKind::TooLarge, array.slice(first).read()),
        "chunk 0 claims 67108868 bytes of data in 5 stored bytes, but at most 67108864 are decompressed"
    );
    refused(ErrorKind::Malformed, array.whole().read());
}

#[test]
fn read_refuses_a_damaged_block_that_looks_like_a_block_of_zeros() {
    assert_eq!(of_one_block(8, &[0; 4]).whole().read().unwrap(), [0; 8]);
    // The first block has as many bytes as a block of zeros, but not all of them are zero. The second block has only
    // zeros, but ends within the length of its stream.
    for stored in [&[1, 0, 0, 0][..], &[0; 3]] {
        refused(ErrorKind::Malformed, of_one_block(8, stored).whole().read());
    }
}

#[test]
fn read_refuses_a_chunk_that_extends_into_the_chunk_index() {
    const NBYTES: usize = 1 << 16;
    // The first read of the slice does not reach the end of the chunk. A negative length and a token of 1 mean that the
    // stream repeats one byte, here 7.
    let mut stored = vec![0; 20_000];
    stored[..5].copy_from_slice(&[0xf9, 0xff, 0xff, 0xff, 1]);
    let array = of_one_block(NBYTES, &stored);
    assert!(array.whole().read().unwrap() == vec![7; NBYTES]);
    let mut file = array.frame().reader().clone();
    let cbytes = Frame::parse(&file).unwrap().header().header_len + 12;
    file[cbytes] += 1;
    refused(ErrorKind::Malformed, opened_array(file).whole().read().map(drop));
}

#[test]
fn pieces_end_within_blocks_beyond_the_expansion_limit() {
    let shapes = Shapes { shape: &[1 << 28], chunkshape: &[1 << 27], blockshape: &[1 << 27] };
    let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap());
    let mut writer = builder.write_to(Cursor::new(Vec::new())).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    let array = opened_array(writer.finish().unwrap().into_inner());
    let expected = (0..8).map(|number| number << 25..(number + 1) << 25);
    assert!(array.whole().pieces().unwrap().flatten().eq(expected));
}

#[test]
fn take_names_a_chunk_file_that_is_missing_or_ends_early() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.b2nd");
    let shapes = Shapes { shape: &[1 << 16], chunkshape: &[1 << 16], blockshape: &[1 << 12] };
    let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap());
    let mut writer = builder.create_sparse(&path).unwrap();
    writer.write_uncompressed(0, &vec![7; 1 << 16]).unwrap();
    writer.finish().unwrap().persist().unwrap();
    let bytes = |plan: &SlicePlan| {
        let name = plan.chunk_file(0).unwrap_or_else(|| "chunks.b2frame".into());
        let [start, end] =
            [plan.ranges()[0].start, plan.ranges()[0].end].map(|byte| usize::try_from(byte).unwrap());
        fs::read(path.join(name)).unwrap()[start..end].to_vec()
    };
    // The first wave is the chunk index, the second one the start of the chunk, and the third one its last block. This
    // block begins at byte 32 + 15 * 4096.
    for (waves, start, message) in [
        (1, 0, "chunk 0 should be in 00000000.chunk, which is missing"),
        (2, 61_472, "chunk 0, in 00000000.chunk, has 65568 bytes, but only 61472 can be read"),
    ] {
        let array = Array::open(&path).unwrap();
        let mut plan = array.slice(slice::from_ref(&(65_535..65_536))).plan().unwrap();
        for _ in 0..waves {
            let wave = bytes(&plan);
            plan.take([wave]).unwrap();
        }
        assert_eq!((plan.ranges().len(), plan.ranges()[0].start), (1, start));
        let error = plan.take([Vec::<u8>::new()]).unwrap_err();
        assert_eq!((error.kind(), error.finding().unwrap().message()), (ErrorKind::Malformed, message));
        assert!(plan.ranges().is_empty());
    }
}

#[test]
fn more_items_than_memory_holds_are_refused_before_any_is_asked_for() {
    // Makes an array of 2^57 zeros in a file of a few hundred bytes.
    let shapes = Shapes { shape: &[1 << 27, 1 << 30], chunkshape: &[1, 1 << 30], blockshape: &[1, 1 << 20] };
    let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap());
    let mut writer = builder.write_to(Cursor::new(Vec::new())).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    let array = opened_array(writer.finish().unwrap().into_inner());
    let error = array.slice(&[0..1 << 27, 0..1 << 30]).read().unwrap_err();
    let says = match usize::BITS {
        64 => "there is no memory for 144115188075855872 bytes",
        _ => "the slice has more bytes than memory can hold",
    };
    assert_eq!(error.to_string(), says);
    assert_eq!(array.slice(&[(1 << 27) - 1..1 << 27, (1 << 30) - 2..1 << 30]).read().unwrap(), [0, 0]);
}

#[test]
fn data_that_is_not_here_is_named() {
    let refused = |path: &str| refused(ErrorKind::Unsupported, Array::open(data().join(path)));
    assert_eq!(
        refused("peers/lazy_expression.b2nd"),
        "the data of this LazyExpr is not here: a reader must evaluate an expression in the file, and open the arrays that it names"
    );
    assert_eq!(
        refused("peers/object_array.b2frame"),
        "the frame has no array: it is of the kind ObjectArray"
    );
}

/// Changes a byte of a file. Asserts that the whole array cannot be read if a check of the chunks finds an error.
fn agrees(path: &Path, file: &[u8], at: usize, change: u8, counts: &mut [usize; 2]) {
    let mut file = file.to_vec();
    file[at] ^= change;
    let array = opened_array(&file);
    let read = array.whole().read();
    // A slice does not read blocks that have only padding. So the check must not look for damage in their data either.
    let report = Check::new(CheckDepth::ChunkHeaders).run(array.frame()).unwrap();
    let objection = report.findings.iter().find(|finding| {
        // Two findings do not make a slice fail: two chunks share bytes, or unused bytes follow the last block.
        let passes = |text| finding.message().contains(text);
        finding.code() == FindingCode::ChunkHeader && !passes("its last block ends")
            || finding.code() == FindingCode::ChunkOffset && !passes("two chunks")
    });
    assert!(
        read.is_err() || objection.is_none(),
        "{} byte {at} ^ {change:#x}: {objection:?}",
        path.display()
    );
    counts[usize::from(read.is_err())] += 1;
}

#[test]
fn what_a_check_objects_to_is_not_read() {
    let mut counts = [0; 2];
    for name in
        ["int32_3x5.b2nd", "geometry/d3_f4_awkward.b2nd", "peers/special_full.b2nd", "vlmetalayers.b2nd"]
    {
        let path = data().join(name);
        let file = fs::read(&path).unwrap();
        let frame = opened(&file);
        let mut chunks = frame.chunks().unwrap();
        let mut starts = Vec::new();
        while let Some(entry) = chunks.next().transpose().unwrap() {
            if let b2nd_frame::ChunkPlace::Frame(start) = entry.place {
                starts.push(usize::try_from(start).unwrap());
            }
        }
        for start in starts.into_iter().take(4) {
            for at in start..(start + 48).min(file.len()) {
                for change in [0x01, 0x10, 0x80, 0xff] {
                    agrees(&path, &file, at, change, &mut counts);
                }
            }
        }
    }
    assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
}

#[test]
fn chunks_are_read_by_their_number_and_decompressed() {
    let frame = Frame::open(data().join("int32_3x5.b2nd")).unwrap();
    let mut chunks = frame.chunks().unwrap();
    let numbers = [3, 0, 2].map(|number| chunks.get(number).unwrap().unwrap().number);
    assert_eq!(numbers, [3, 0, 2]);
    assert_eq!(chunks.next().unwrap().unwrap().number, 0);
    assert_eq!((chunks.get(4).unwrap(), chunks.get(u64::MAX).unwrap()), (None, None));
    for name in
        ["peers/special_nans.b2nd", "peers/special_full.b2nd", "peers/special_zeros.b2nd", "sparse.b2nd"]
    {
        let array = Array::open(data().join(name)).unwrap();
        let items = array.whole().read().unwrap();
        let mut found = vec![0; items.len()];
        let mut chunks = array.frame().chunks().unwrap();
        for part in array.geometry().expect("a grid of chunks").chunks() {
            let entry = chunks.get(part.number()).unwrap().unwrap();
            let data = chunks.decompressed(&entry).unwrap();
            assert_eq!(Some(data.len() as u64), entry.nbytes);
            part.scatter(&data, array.item_size(), &mut found).unwrap();
        }
        assert_eq!(found, items, "{name}");
    }
}

#[test]
fn rows_are_the_items_of_the_slice_in_the_same_order() {
    let mut rows_read = 0;
    for path in arrays() {
        let Ok(array) = Array::open(&path) else { continue };
        let Ok(items) = array.whole().read() else { continue };
        let Ok(Some(dtype)) = array.parse_dtype() else { continue };
        let expected: Result<Vec<Value>, _> = dtype.read_items(&items).unwrap().collect();
        match (expected, array.whole().threads(2).read_rows::<Value>()) {
            (Ok(expected), Ok(rows)) => {
                assert_eq!(rows, expected, "{}", path.display());
                rows_read += rows.len();
            }
            (Err(expected), Err(error)) => assert!(error.to_string().ends_with(expected.reason()), "{error}"),
            (expected, rows) => panic!("{}: {:?}, {:?}", path.display(), expected.err(), rows.err()),
        }
    }
    assert!(rows_read > 1000, "{rows_read}");
}

#[test]
fn rows_of_several_pieces_are_those_of_the_whole_slice() {
    // Each item has 1 KiB, so each slice is so long that it is read in more than two pieces.
    let item = |chunk: u64| [&[u8::try_from(chunk).unwrap()][..], &[0; 1023]].concat();
    for (shape, chunkshape, blockshape) in [
        ([1, 80 << 10], [1, 30 << 10], [1, 7 << 10]),
        ([80, 1 << 10], [50, 1 << 10], [20, 1 << 8]),
        ([3, 40 << 10], [2, 10 << 10], [2, 10 << 10]),
    ] {
        let shapes = Shapes { shape: &shape, chunkshape: &chunkshape, blockshape: &blockshape };
        let meta = Meta::new(shapes, "[('chunk', 'u1'), ('rest', 'V1023')]").unwrap();
        let nchunks = meta.geometry().unwrap().nchunks();
        let mut writer = FrameBuilder::new(meta).write_to(Cursor::new(Vec::new())).unwrap();
        (0..nchunks).for_each(|chunk| writer.write_repeated(chunk, &item(chunk)).unwrap());
        let array = opened_array(writer.finish().unwrap());
        let items = array.whole().read().unwrap();
        let rows = array.whole().rows::<(u8, IgnoredAny)>().unwrap();
        assert!(rows.map(|row| row.unwrap().0).eq(items.iter().step_by(1024).copied()), "{shape:?}");
        let items = array.whole().steps(&[2, 3]).read().unwrap();
        let rows = array.whole().steps(&[2, 3]).rows::<(u8, IgnoredAny)>().unwrap();
        assert!(rows.map(|row| row.unwrap().0).eq(items.iter().step_by(1024).copied()), "{shape:?}");
    }
}

#[test]
fn a_row_that_does_not_fit_is_named_and_is_the_last() {
    let shapes = Shapes { shape: &[4000], chunkshape: &[3000], blockshape: &[100] };
    let meta = Meta::new(shapes, "[('a', '<i2')]").unwrap();
    let mut writer = FrameBuilder::new(meta).write_to(Cursor::new(Vec::new())).unwrap();
    writer.write_repeated(0, &[1, 0]).unwrap();
    writer.write_repeated(1, &[0, 1]).unwrap();
    let array = opened_array(writer.finish().unwrap());
    let range = 500..4000;
    let rows: Vec<_> = array.slice(&[range]).rows::<(u8,)>().unwrap().collect();
    let error = rows.last().unwrap().as_ref().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let message = "item 2500 of the slice, field a: invalid value: integer `256`, expected u8";
    assert_eq!(error.to_string(), message);
    assert!(rows.len() == 2501 && rows[..2500].iter().all(|row| matches!(row, Ok((1,)))));
}

/// No filter changes the length of a block. So if a slice did not undo `bytedelta`, its items would be wrong, but there
/// would be no error. The bits that `int_trunc` clears are lost: they stay zero in the items of a slice.
#[test]
fn what_the_filters_of_plugins_changed_is_read() {
    for (name, item) in [("bytedelta", 1), ("int_trunc", 1 << 16)] {
        let path = data().join(format!("plugins/{name}.b2nd"));
        let items = Array::open(path).unwrap().slice(&[0..10, 0..12]).read().unwrap();
        let number = |at: i32| (at / 12 * 100 + at % 12) * item;
        assert_eq!(items, (0..120).flat_map(|at| number(at).to_le_bytes()).collect::<Vec<_>>(), "{name}");
    }
}

/// A file with a delay that no connection has.
struct Distant {
    file: File,
    longest: Cell<usize>,
}

impl ReadAt for Distant {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.longest.set(self.longest.get().max(buffer.len()));
        self.file.read_at(buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn bytes_per_round_trip(&self) -> u64 {
        u64::MAX
    }
}

#[test]
fn slice_reads_at_most_64_mib_at_once_whatever_a_round_trip_costs() {
    const GAP: i64 = 80 << 20;
    let mut bytes = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let frame_len = bytes.len() as u64 + GAP.unsigned_abs();
    bytes[16..24].copy_from_slice(&frame_len.to_be_bytes());
    let trailer = 485;
    // A hole of the file, which takes no room on the disk.
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&bytes[..trailer]).unwrap();
    file.seek(SeekFrom::Current(GAP)).unwrap();
    file.write_all(&bytes[trailer..]).unwrap();
    let array = opened_array(Distant { file, longest: Cell::default() });
    assert_eq!(array.whole().read_rows::<i32>().unwrap(), (0..15).collect::<Vec<_>>());
    let longest = array.frame().reader().longest.get();
    assert!(longest <= 64 << 20, "{longest}");

    let file = File::open(data().join("int32_3x5.b2nd")).unwrap();
    let array = opened_array(Distant { file, longest: Cell::default() });
    assert_eq!(array.whole().read_rows::<i32>().unwrap(), (0..15).collect::<Vec<_>>());
}

/// A frame with a gap of zeros between its header and its chunk index. The gap takes no memory.
struct WithGap {
    header: Vec<u8>,
    gap: u64,
    rest: Vec<u8>,
}

impl ReadAt for WithGap {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let header_len = self.header.len() as u64;
        if offset < header_len {
            return self.header.read_at(buffer, offset);
        }
        let index_start = header_len + self.gap;
        if offset >= index_start {
            return self.rest.read_at(buffer, offset - index_start);
        }
        let length = buffer.len().min(usize::try_from(index_start - offset).unwrap());
        buffer[..length].fill(0);
        Ok(length)
    }

    fn size(&self) -> io::Result<u64> {
        Ok((self.header.len() + self.rest.len()) as u64 + self.gap)
    }
}

/// A long file allows long pieces. In this file of 256 GiB, a piece of whole blocks has 2^48 bytes, which no machine
/// can allocate.
#[cfg(target_pointer_width = "64")]
#[test]
fn rows_returns_an_error_if_there_is_no_memory_for_a_piece() {
    const GAP: u64 = 1 << 38;
    let shapes = Shapes { shape: &[2, 1 << 47], chunkshape: &[2, 1 << 29], blockshape: &[2, 1 << 20] };
    let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap());
    let mut writer = builder.write_to(Cursor::new(Vec::new())).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    let mut header = writer.finish().unwrap().into_inner();
    let rest = header.split_off(Frame::parse(&header).unwrap().header().header_len);
    // Offsets in a header: 16 frame_len, 39 cbytes.
    let frame_len = (header.len() + rest.len()) as u64 + GAP;
    for (at, number) in [(16, frame_len), (39, GAP)] {
        header[at..at + 8].copy_from_slice(&number.to_be_bytes());
    }
    let array = opened_array(WithGap { header, gap: GAP, rest });
    assert_eq!(array.slice(&[1..2, 5..7]).read_rows::<u8>().unwrap(), [0, 0]);
    let mut rows = array.whole().rows::<u8>().unwrap();
    let message = refused(ErrorKind::TooLarge, rows.next().unwrap());
    assert_eq!(message, "there is no memory for 281474976710656 bytes");
    assert!(rows.next().is_none());
}
