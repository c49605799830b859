//! Tests of `ArrayUpdate`, which changes the items, the shape and the vlmetalayers of arrays.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::time::{Duration, SystemTime};

use b2nd_frame::{
    Array, ArrayUpdate, Check, CheckDepth, Codec, ErrorKind, Filter, Frame, FrameBuilder, Rewrite, Salvage,
    check,
};
use b2nd_lab::{copy_tree, data};
use b2nd_serde::{Meta, Shapes};
use fastrand::Rng;

use crate::{index_start, random_range, refused};

/// A model of an array: the content that its file should have.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    shape: Vec<i64>,
    items: BTreeMap<Vec<u64>, u16>,
    vlmetalayers: BTreeMap<String, u32>,
}

fn ranges(shape: &[i64]) -> Vec<Range<u64>> {
    shape.iter().map(|&items| 0..items.unsigned_abs()).collect()
}

/// The indices of all items of a region, in C order.
fn indices(region: &[Range<u64>]) -> Vec<Vec<u64>> {
    region.iter().fold(vec![Vec::new()], |starts, range| {
        let longer = |start: &Vec<u64>| {
            let start = start.clone();
            range.clone().map(move |index| [&start[..], &[index]].concat())
        };
        starts.iter().flat_map(longer).collect()
    })
}

impl Model {
    fn write(&mut self, region: &[Range<u64>], items: &[u16]) {
        self.items.extend(indices(region).into_iter().zip(items.iter().copied()));
    }

    fn resize(&mut self, shape: &[i64]) {
        let is_in = |index: &Vec<u64>| index.iter().zip(shape).all(|(&at, &items)| at < items.unsigned_abs());
        self.items.retain(|index, _| is_in(index));
        self.shape = shape.into();
    }

    fn items(&self) -> Vec<u16> {
        indices(&ranges(&self.shape))
            .iter()
            .map(|index| self.items.get(index).copied().unwrap_or(0))
            .collect()
    }

    /// Asserts that the file has the content of the model, and that a check of its data finds nothing.
    fn is_in(&self, path: &Path, what: &str) {
        let array = Array::open(path).unwrap();
        assert_eq!(array.shape(), self.shape, "{what}");
        let items = array.whole().read_rows::<u16>().unwrap();
        assert!(items == self.items(), "{what}: {items:?}, not {:?}", self.items());
        let trailer = array.attributes().unwrap();
        let layers = trailer.vlmetalayers().iter();
        let layers: BTreeMap<_, _> =
            layers.map(|layer| (layer.name().to_owned(), layer.decode::<u32>().unwrap())).collect();
        assert_eq!(layers, self.vlmetalayers, "{what}");
        let findings = Check::new(CheckDepth::ChunkData).run_path(path).unwrap().findings;
        // Ignores the warnings about chunks that may never have been written. A check has such warnings about chunks of
        // zeros, because they are not stored.
        let is_other = |code: &&str| !["no-data", "never-written"].contains(code);
        let findings: Vec<_> =
            findings.iter().map(|finding| finding.code().name()).filter(is_other).collect();
        assert_eq!(findings, [] as [&str; 0], "{what}");
    }
}

fn bytes(items: &[u16]) -> Vec<u8> {
    items.iter().flat_map(|item| item.to_le_bytes()).collect()
}

fn random_items(rng: &mut Rng, count: usize) -> Vec<u16> {
    let constant = rng.bool().then(|| rng.u16(..3));
    (0..count).map(|_| constant.unwrap_or_else(|| rng.u16(..))).collect()
}

/// Creates an array of zeros with a random shape, as a contiguous or a sparse frame. Returns its model.
fn create(path: &Path, rng: &mut Rng, is_sparse: bool) -> Model {
    let ndim = rng.usize(1..4);
    let shape: Vec<i64> = (0..ndim).map(|_| if rng.u8(..8) > 0 { rng.i64(1..8) } else { 0 }).collect();
    let chunkshape: Vec<i32> = (0..ndim).map(|_| rng.i32(1..5)).collect();
    let blockshape: Vec<i32> = chunkshape.iter().map(|&items| rng.i32(1..=items)).collect();
    let shapes = Shapes { shape: &shape, chunkshape: &chunkshape, blockshape: &blockshape };
    let codec = *rng.choice([Codec::ZSTD, Codec::LZ4, Codec::LZ4HC, Codec::BLOSCLZ].iter()).unwrap();
    let builder = FrameBuilder::new(Meta::new(shapes, "<u2").unwrap()).codec(codec);
    let mut writer = if is_sparse { builder.create_sparse(path) } else { builder.create(path) }.unwrap();
    writer.fill_missing(b2nd_frame::SpecialValue::Zeros).unwrap();
    writer.finish().unwrap().persist().unwrap();
    Model { shape, ..Model::default() }
}

/// Makes the same random change to the array and to the model.
fn change(rng: &mut Rng, update: &mut ArrayUpdate, model: &mut Model) {
    match rng.u8(..10) {
        0..4 => {
            let region: Vec<_> =
                model.shape.iter().map(|&items| random_range(rng, items.unsigned_abs())).collect();
            let items = random_items(rng, indices(&region).len());
            update.write(&region, &bytes(&items)).unwrap();
            model.write(&region, &items);
        }
        4..6 => {
            let axis = rng.usize(0..model.shape.len());
            let mut region = ranges(&model.shape);
            region[axis] = region[axis].end..region[axis].end + rng.u64(0..4);
            let items = random_items(rng, indices(&region).len());
            // An append without items is skipped. If another dimension than `axis` has no indices, new indices along
            // `axis` have no items. Then `append` cannot compute the number of new indices from the bytes of the items.
            if !items.is_empty() {
                update.append(axis, &bytes(&items)).unwrap();
                let mut shape = model.shape.clone();
                shape[axis] = i64::try_from(region[axis].end).unwrap();
                model.resize(&shape);
                model.write(&region, &items);
            }
        }
        6..8 => {
            let shape: Vec<i64> = model.shape.iter().map(|&items| (items + rng.i64(-3..4)).max(0)).collect();
            update.resize(&shape).unwrap();
            model.resize(&shape);
        }
        8 => {
            let (name, value) = (["a", "b", "c"][rng.usize(..3)], rng.u32(..));
            update.set_vlmetalayer(name, &value).unwrap();
            model.vlmetalayers.insert(name.into(), value);
        }
        _ => {
            let name = ["a", "b", "c"][rng.usize(..3)];
            assert_eq!(update.remove_vlmetalayer(name), model.vlmetalayers.remove(name).is_some());
        }
    }
}

/// To try more histories, set for example `B2ND_HISTORIES=5000`.
#[test]
fn random_histories_leave_what_an_array_in_memory_would_hold() {
    let count = std::env::var("B2ND_HISTORIES").map_or(60, |count| count.parse().unwrap());
    let mut refused = 0;
    for seed in 0..count {
        let mut rng = Rng::with_seed(seed);
        let folder = tempfile::tempdir().unwrap();
        let is_sparse = seed % 3 == 0;
        let path = folder.path().join("a.b2nd");
        let mut model = create(&path, &mut rng, is_sparse);
        'history: for commit in 0..8 {
            let mut update = ArrayUpdate::open(&path).unwrap();
            for _ in 0..rng.usize(1..3) {
                let before = model.clone();
                for _ in 0..rng.usize(0..5) {
                    change(&mut rng, &mut update, &mut model);
                }
                let what = format!("seed {seed}, commit {commit}");
                if let Err(error) = update.flush() {
                    // With very few bytes of chunks, the numbers of the chunk files can become too high for C-Blosc2.
                    let is_known = error.to_string().contains("has a higher number than C-Blosc2 opens with");
                    assert!(is_sparse && is_known, "{what}: {error}");
                    before.is_in(&path, &what);
                    refused += 1;
                    break 'history;
                }
                assert_eq!(update.meta().shape(), model.shape);
                model.is_in(&path, &what);
                let header = Frame::open(&path).unwrap();
                assert!(update.frame().header_bytes() == header.header_bytes(), "{what}");
            }
        }
        let names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["a.b2nd"]);
    }
    assert!(refused <= count / 50, "{refused} of {count}");
}

/// Creates an array of one dimension with the items 1 to 20, in chunks of 4 items. Returns its model.
fn numbers(path: &Path) -> Model {
    let shapes = Shapes { shape: &[20], chunkshape: &[4], blockshape: &[2] };
    let writer = FrameBuilder::new(Meta::new(shapes, "<u2").unwrap()).create(path).unwrap();
    let mut writer = writer.into_array_writer().unwrap();
    let items: Vec<u16> = (1..=20).collect();
    let whole = ranges(&[20]);
    writer.write(&whole, &bytes(&items)).unwrap();
    writer.finish().unwrap().persist().unwrap();
    let mut model = Model { shape: vec![20], ..Model::default() };
    model.write(&whole, &items);
    model
}

#[test]
fn rewrite_leaves_out_the_holes_of_commits() {
    let folder = tempfile::tempdir().unwrap();
    let [path, copy] = ["a.b2nd", "copy.b2nd"].map(|name| folder.path().join(name));
    let mut model = numbers(&path);
    let mut update = ArrayUpdate::open(&path).unwrap();
    for value in 7..10 {
        model.write(from_ref(&(3..9)), &[value; 6]);
        update.write(from_ref(&(3..9)), &bytes(&[value; 6])).unwrap();
        update.flush().unwrap();
    }
    drop(update);
    let holes = Frame::open(&path).unwrap().unowned_bytes().unwrap();
    assert!(holes > 0);
    let before = fs::metadata(&path).unwrap().len();
    for to in [&copy, &path] {
        let frame = Rewrite::new(&path, to).apply().unwrap();
        assert_eq!(frame.unowned_bytes().unwrap(), 0);
        assert!(frame.header().frame_len <= before - holes, "{before} - {holes}");
        model.is_in(to, "a rewrite");
    }
}

#[test]
fn flush_counts_the_holes_of_a_frame_without_a_record_of_holes() {
    const CHUNK: u64 = 1 << 15;
    let mut rng = Rng::with_seed(1);
    let mut random = |count: u64| (0..count).map(|_| rng.u8(..)).collect::<Vec<_>>();
    // The chunks that each of two commits replaces, and whether the second commit writes a new file. It does if the
    // holes have more than 64 KiB, and more bytes than the unchanged chunks.
    for (chunks, is_new) in [([0..3, 3..6], true), ([7..8, 0..1], false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.b2nd");
        let shapes = Shapes { shape: &[8 << 15], chunkshape: &[1 << 15], blockshape: &[1 << 15] };
        let writer = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).create(&path).unwrap();
        let mut writer = writer.into_array_writer().unwrap();
        writer.write(&ranges(&[8 << 15]), &random(8 * CHUNK)).unwrap();
        writer.finish().unwrap().persist().unwrap();
        for (number, chunks) in chunks.iter().enumerate() {
            let mut file = fs::read(&path).unwrap();
            let index = index_start(&file);
            // The first commit has left a record, directly before the index. The test damages the last byte of the record.
            assert_eq!(file[..index].ends_with(b"\0b2holes"), number == 1);
            if number == 1 {
                file[index - 1] = 0;
                fs::write(&path, file).unwrap();
            }
            let range = CHUNK * chunks.start..CHUNK * chunks.end;
            let mut update = ArrayUpdate::open(&path).unwrap();
            update.write(from_ref(&range), &random(range.end - range.start)).unwrap();
            update.flush().unwrap();
        }
        let holes = Frame::open(&path).unwrap().unowned_bytes().unwrap();
        assert_eq!(holes == 0, is_new, "{chunks:?}: {holes} bytes");
    }
}

#[test]
fn resize_writes_only_the_chunks_with_new_items_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.b2nd");
    // Two by two chunks of 2 x 3 items.
    copy_tree(&data().join("int32_3x5.b2nd"), &path);
    let places = || {
        let frame = Frame::open(&path).unwrap();
        let chunks = frame.chunks().unwrap();
        chunks.map(|entry| entry.unwrap().place).collect::<Vec<_>>()
    };
    let before = places();
    let mut update = ArrayUpdate::open(&path).unwrap();
    update.resize(&[4, 5]).unwrap();
    update.flush().unwrap();
    let is_same: Vec<_> = before.iter().zip(places()).map(|(before, after)| *before == after).collect();
    assert_eq!(is_same, [true, true, false, false]);
}

#[test]
fn open_refuses_a_small_file_that_claims_millions_of_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.b2nd");
    // The numbers of these chunks take just more than 64 MiB.
    let shapes = Shapes { shape: &[(1 << 23) + 1], chunkshape: &[1], blockshape: &[1] };
    let mut writer = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).create(&path).unwrap();
    writer.fill_missing(b2nd_frame::SpecialValue::Zeros).unwrap();
    writer.finish().unwrap().persist().unwrap();
    let len = fs::metadata(&path).unwrap().len();
    let says = format!("8388609 chunks are too many for a frame of {len} bytes");
    assert_eq!(refused(ErrorKind::TooLarge, ArrayUpdate::open(&path)), says);
}

#[test]
fn debug_of_an_update_has_the_number_of_changed_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.b2nd");
    numbers(&path);
    let mut update = ArrayUpdate::open(&path).unwrap();
    assert!(format!("{update:?}").contains("pending: 0, is_changed: false"), "{update:?}");
    // These items are in three chunks.
    update.write(from_ref(&(3..9)), &bytes(&[7; 6])).unwrap();
    assert!(format!("{update:?}").contains("pending: 3, is_changed: true"), "{update:?}");
}

/// A commit first writes new bytes after the old frame, and then the header. It changes no other byte.
#[test]
fn a_commit_that_ends_at_any_write_leaves_the_old_array_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let [path, cut] = ["a.b2nd", "cut.b2nd"].map(|name| folder.path().join(name));
    let old = numbers(&path);
    let before = fs::read(&path).unwrap();
    let mut new = old.clone();
    let mut update = ArrayUpdate::open(&path).unwrap();
    new.write(from_ref(&(3..9)), &[7; 6]);
    update.write(from_ref(&(3..9)), &bytes(&[7; 6])).unwrap();
    new.resize(&[22]);
    update.resize(&[22]).unwrap();
    update.set_vlmetalayer("a", &5).unwrap();
    new.vlmetalayers.insert("a".into(), 5);
    update.flush().unwrap();
    drop(update);
    new.is_in(&path, "whole");
    let after = fs::read(&path).unwrap();
    let header_len = Frame::parse(&before).unwrap().header().header_len;
    assert!(after.len() > before.len(), "in place");

    // First: a commit ends while it writes bytes after the old frame. Then the file still holds the old array, and the
    // next commit overwrites these bytes.
    for len in before.len() + 1..=after.len() {
        fs::write(&cut, [&before, &after[before.len()..len]].concat()).unwrap();
        let items = Array::open(&cut).unwrap().slice(&ranges(&[20])).read_rows::<u16>().unwrap();
        assert!(items == old.items(), "{len}");
        let mut update = ArrayUpdate::open(&cut).unwrap();
        update.resize(&[19]).unwrap();
        update.flush().unwrap();
        let mut shorter = old.clone();
        shorter.resize(&[19]);
        shorter.is_in(&cut, &format!("{len} bytes"));
    }
    // If the bytes after the frame are from another program, they are not overwritten: the file cannot be opened.
    let more = [&before[..], b"more"].concat();
    fs::write(&cut, &more).unwrap();
    assert_eq!(ArrayUpdate::open(&cut).unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(fs::read(&cut).unwrap(), more);
    // Second: all other bytes of the old frame stay, so a program that has read the old header can go on reading.
    assert_eq!(after[header_len..before.len()], before[header_len..]);
}

#[test]
fn many_commits_of_a_row_leave_a_file_of_bounded_length() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.b2nd");
    let shapes = Shapes { shape: &[0, 3], chunkshape: &[100, 3], blockshape: &[10, 3] };
    let builder = FrameBuilder::new(Meta::new(shapes, "<u2").unwrap());
    builder.create(&path).unwrap().finish().unwrap().persist().unwrap();
    let mut update = ArrayUpdate::open(&path).unwrap();
    let count = std::env::var("B2ND_COMMITS_OF_A_ROW").map_or(1000, |count| count.parse().unwrap());
    let mut longest = 0;
    for row in 0..count {
        update.append(0, &bytes(&[row, 1, 2])).unwrap();
        update.flush().unwrap();
        longest = longest.max(fs::metadata(&path).unwrap().len());
    }
    let array = Array::open(&path).unwrap();
    let items = array.slice(&[0..u64::from(count), 0..1]).read_rows::<u16>().unwrap();
    assert!(items.into_iter().eq(0..count));
    let cbytes: u64 = b2nd_chunks(array.frame());
    // The limit for the length of the file is a sum of three numbers. The first is the bytes of the chunks. The second
    // is the maximum size of all holes together: if it is exceeded, a commit writes a new file. The third is an upper
    // bound for the other bytes that the last commit wrote.
    let most = cbytes + cbytes.max(1 << 16) + 16 * u64::from(count) + 4096;
    assert!(longest <= most, "{longest} bytes, {cbytes} of chunks");
    println!("{count} commits: at most {longest} bytes, {cbytes} of chunks");
}

/// The sum of the lengths of all chunks that are stored.
fn b2nd_chunks(frame: &Frame) -> u64 {
    let mut chunks = frame.chunks().unwrap();
    let mut sum = 0;
    while let Some(entry) = chunks.next() {
        sum += chunks.header(&entry.unwrap()).unwrap().map_or(0, |header| header.cbytes() as u64);
    }
    sum
}

#[test]
fn new_chunks_have_the_filters_that_the_header_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.b2nd");
    let shapes = Shapes { shape: &[64], chunkshape: &[64], blockshape: &[32] };
    let builder = FrameBuilder::new(Meta::new(shapes, "<u2").unwrap());
    let items: Vec<u16> = (0..64).collect();
    let writer = builder.filters(&[Filter::SHUFFLE, Filter::BYTEDELTA]).create(&path).unwrap();
    let mut writer = writer.into_array_writer().unwrap();
    writer.write(from_ref(&(0..64)), &bytes(&items)).unwrap();
    writer.finish().unwrap().persist().unwrap();
    let filters = |number: u64| {
        let frame = Frame::open(&path).unwrap();
        let mut chunks = frame.chunks().unwrap();
        let entry = chunks.get(number).unwrap().unwrap();
        chunks.header(&entry).unwrap().unwrap().filters()
    };
    // The parameter 0 of bytedelta means the item size, so the check has no findings.
    let [.., shuffle, bytedelta] = filters(0);
    assert_eq!((shuffle, bytedelta), (Filter::SHUFFLE, Filter { meta: 2, ..Filter::BYTEDELTA }));
    let report = Check::new(CheckDepth::ChunkData).run_path(&path).unwrap();
    assert_eq!(report.findings, []);

    // The header now counts five filters, so the sixth is not in use.
    let mut file = fs::read(&path).unwrap();
    file[70] = 5;
    fs::write(&path, &file).unwrap();
    let mut update = ArrayUpdate::open(&path).unwrap();
    update.append(0, &bytes(&items)).unwrap();
    update.flush().unwrap();
    assert_eq!(filters(1), [[Filter::NONE; 4].as_slice(), &[Filter::SHUFFLE, Filter::NONE]].concat()[..]);
    let found = Array::open(&path).unwrap().slice(from_ref(&(64..128))).read_rows::<u16>().unwrap();
    assert_eq!(found, items);
}

#[test]
fn a_salvage_finds_no_chunk_that_a_commit_has_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let [path, saved] = ["a.b2nd", "saved.b2nd"].map(|name| folder.path().join(name));
    let mut model = numbers(&path);
    for value in 100..110 {
        let mut update = ArrayUpdate::open(&path).unwrap();
        model.write(from_ref(&(4..12)), &[value; 8]);
        update.write(from_ref(&(4..12)), &bytes(&[value; 8])).unwrap();
        update.flush().unwrap();
    }
    // Damages the file: overwrites the header of the chunk index.
    let mut file = fs::read(&path).unwrap();
    let frame = Frame::parse(&file).unwrap();
    let index = frame.header().header_len + usize::try_from(frame.header().cbytes).unwrap();
    file[index..index + 16].fill(0xff);
    fs::write(&path, file).unwrap();
    let (frame, report) = Salvage::open(&path).unwrap().assume_order().apply(&saved).unwrap();
    assert!(report.assumed_order.is_some());
    let mut found = Array::new(frame).unwrap().whole().read_rows::<u16>().unwrap();
    // The commits wrote chunks 1 and 2 again, so in the file they come after the other chunks. A salvage that assumes
    // the order of the file takes them for the last chunks. So the test compares only the sorted items.
    found.sort_unstable();
    let mut expected = model.items();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn what_cannot_be_changed_says_why_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.b2nd");
    let model = numbers(&path);
    let before = fs::read(&path).unwrap();
    let mut update = ArrayUpdate::open(&path).unwrap();
    let mut says = |change: &mut dyn FnMut(&mut ArrayUpdate) -> Result<(), b2nd_frame::Error>, says: &str| {
        assert_eq!(change(&mut update).unwrap_err().to_string(), says);
    };
    says(
        &mut |update| update.append(1, &[]),
        "axis is 1, but must be less than 1, as the array to append to has shape [20]",
    );
    says(
        &mut |update| update.append(0, &[1]),
        "an index along dimension 0 takes 2 bytes, but `items` has 1 byte",
    );
    says(
        &mut |update| update.write(from_ref(&(0..2)), &[1]),
        "the region has 2 items of 2 bytes, 4 in all, but 1 are given",
    );
    says(&mut |update| update.resize(&[1, 2]), "shape has 2 dimensions, but ndim is 1");
    says(&mut |update| update.resize(&[-1]), "shape[0] is -1, but must be at least 0");
    let long = "a name of more than thirty-one bytes";
    says(
        &mut |update| update.set_vlmetalayer(long, &1),
        &format!("the name of a vlmetalayer can have at most 31 bytes, but `{long}` has 36"),
    );
    update.flush().unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);

    // Another writer of this crate waits for the lock.
    update.resize(&[18]).unwrap();
    let mut frame = Frame::open(&path).unwrap();
    assert_eq!(frame.edit().shape(&[17]).apply().unwrap_err().kind(), ErrorKind::Locked);
    // A program without locks changes the frame. On Windows, no other program can write a locked file.
    if cfg!(not(windows)) {
        let after = frame.edit().shape(&[17]).preview().unwrap();
        let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        let mut write =
            |header: &[u8]| file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(header)).unwrap();
        write(after.header_bytes());
        assert_eq!(update.flush().unwrap_err().kind(), ErrorKind::Changing);
        write(frame.header_bytes());
    }
    model.is_in(&path, "as before");
    drop(update);
    let mut update = ArrayUpdate::open(&path).unwrap();
    update.resize(&[18]).unwrap();
    update.flush().unwrap();
    assert_eq!(Frame::open(&path).unwrap().array().unwrap().unwrap().shape(), [18]);

    let unsupported = |name: &str, says: &str| {
        let error = ArrayUpdate::open(data().join(name)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().starts_with(says), "{error}");
    };
    unsupported("uint16_6x8.caterva", "layout caterva of an old version cannot be changed");
}

#[test]
fn set_vlmetalayer_works_where_the_items_cannot_be_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let shapes = Shapes { shape: &[4], chunkshape: &[4], blockshape: &[2] };
    let zfp = folder.path().join("zfp.b2nd");
    let builder = FrameBuilder::new(Meta::new(shapes, "<f4").unwrap()).codec(Codec::ZFP_PREC);
    let mut writer = builder.create(&zfp).unwrap();
    writer.fill_missing(b2nd_frame::SpecialValue::Zeros).unwrap();
    writer.finish().unwrap().persist().unwrap();
    let mut update = ArrayUpdate::open(&zfp).unwrap();
    let refused = [update.write(from_ref(&(0..1)), &[0; 4]), update.append(0, &[0; 4]), update.resize(&[5])];
    for result in refused {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Unsupported);
    }
    update.set_vlmetalayer("unit", &"K").unwrap();
    update.flush().unwrap();
    let frame = Frame::open(&zfp).unwrap();
    assert_eq!(frame.array().unwrap().unwrap().shape(), [4]);
    assert_eq!(frame.trailer().unwrap().vlmetalayer("unit").unwrap().decode::<String>().unwrap(), "K");
}

#[test]
fn the_lock_is_held_until_the_value_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.b2nd");
    numbers(&path);
    fs::write(folder.path().join("a.b2nd.b2lock"), [0; 16]).unwrap();
    let update = ArrayUpdate::open(&path).unwrap();
    assert_eq!(ArrayUpdate::open(&path).unwrap_err().kind(), ErrorKind::Locked);
    drop(update);
    assert!(ArrayUpdate::open(&path).is_ok());
}

#[cfg(unix)]
#[test]
fn a_commit_that_fails_keeps_the_file_and_the_changes() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.b2nd");
    let mut model = numbers(&path);
    let before = fs::read(&path).unwrap();
    let mut update = ArrayUpdate::open(&path).unwrap();
    update.resize(&[30]).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    // If root runs the test, the file can be opened for writing in spite of its mode. Then the flush does not fail, so
    // it is not tried here.
    if fs::OpenOptions::new().write(true).open(&path).is_err() {
        assert_eq!(update.flush().unwrap_err().kind(), ErrorKind::Io);
        assert_eq!(fs::read(&path).unwrap(), before);
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    update.flush().unwrap();
    model.resize(&[30]);
    model.is_in(&path, "the second flush");
}

/// C-Blosc2 opens a chunk file only if its number is at most `cbytes - 32`. Here, cbytes is the number of bytes of all
/// chunks.
#[test]
fn chunk_files_keep_numbers_that_c_blosc2_opens_when_the_array_shrinks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array.b2nd");
    let meta = Meta::new(Shapes { shape: &[800], chunkshape: &[4], blockshape: &[4] }, "|u1").unwrap();
    let mut array = FrameBuilder::new(meta).create_sparse(&path).unwrap().into_array_writer().unwrap();
    let items: Vec<u8> = (0..=255).cycle().take(800).collect();
    array.write(from_ref(&(0..800)), &items).unwrap();
    array.finish().unwrap().persist().unwrap();

    // Until the commit, the old chunk files must stay. So the files of the new chunks get higher numbers.
    let mut update = ArrayUpdate::open(&path).unwrap();
    update.resize(&[4]).unwrap();
    update.write(from_ref(&(0..4)), &[4, 3, 2, 1]).unwrap();
    let error = update.flush().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    insta::assert_snapshot!(error, @"chunk file 200 has a higher number than C-Blosc2 opens with 36 bytes of chunks; make the array smaller in a commit of its own, or convert it to a contiguous frame");
    assert_eq!(Array::open(&path).unwrap().slice(from_ref(&(0..800))).read().unwrap(), items);
    drop(update);

    let mut update = ArrayUpdate::open(&path).unwrap();
    update.write(from_ref(&(0..4)), &[4, 3, 2, 1]).unwrap();
    update.flush().unwrap();
    update.resize(&[4]).unwrap();
    update.flush().unwrap();
    assert_eq!(Check::default().run_path(&path).unwrap().findings, []);
    assert_eq!(Array::open(&path).unwrap().slice(from_ref(&(0..4))).read().unwrap(), [4, 3, 2, 1]);
    let mut files: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    files.sort();
    assert_eq!(files, ["00000000.chunk", "chunks.b2frame"]);
}

/// Creates a sparse frame with an array of these items, two in each chunk file.
fn sparse(folder: &Path, items: &[u16]) -> PathBuf {
    let path = folder.join("array.b2nd");
    let shapes = Shapes { shape: &[items.len().try_into().unwrap()], chunkshape: &[2], blockshape: &[2] };
    let meta = Meta::new(shapes, "<u2").unwrap();
    let mut array = FrameBuilder::new(meta).create_sparse(&path).unwrap().into_array_writer().unwrap();
    array.write(from_ref(&(0..items.len() as u64)), &bytes(items)).unwrap();
    array.finish().unwrap().persist().unwrap();
    path
}

#[test]
fn flush_takes_the_numbers_of_old_chunk_files_without_an_entry_if_higher_ones_are_too_high() {
    let folder = tempfile::tempdir().unwrap();
    let path = sparse(folder.path(), &[1, 2]);
    let file = |number: u64| path.join(format!("{number:08X}.chunk"));
    // With 36 bytes of chunks, C-Blosc2 opens numbers up to 4. Another program may be about to refer to a file that it
    // has just written.
    for number in 1..300 {
        fs::write(file(number), "of a commit that was killed").unwrap();
        let written = File::options().write(true).open(file(number)).unwrap();
        written.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
    }
    let recent = fs::read(file(1)).unwrap();
    let mut update = ArrayUpdate::open(&path).unwrap();
    let mut model = Model { shape: vec![2], ..Model::default() };
    for value in 3..6 {
        model.write(from_ref(&(0..2)), &[value, value]);
        update.write(from_ref(&(0..2)), &bytes(&[value, value])).unwrap();
        let written = SystemTime::now();
        File::options().write(true).open(file(1)).unwrap().set_modified(written).unwrap();
        update.flush().unwrap();
        if written.elapsed().unwrap() > Duration::from_millis(900) {
            // This machine is so slow that the file may not have been recent during the commit.
            return;
        }
        assert_eq!(fs::read(file(1)).unwrap(), recent);
        assert_eq!(model.items(), Array::open(&path).unwrap().whole().read_rows::<u16>().unwrap());
        assert_eq!(check(&path).unwrap().findings, []);
    }
}

/// Another program may still have the old index, which refers to the removed files.
#[test]
fn flush_takes_the_number_of_a_removed_chunk_file_only_if_higher_ones_are_too_high() {
    let folder = tempfile::tempdir().unwrap();
    let path = sparse(folder.path(), &[1, 2, 3, 4, 5, 6]);
    let file = |number: u64| path.join(format!("{number:08X}.chunk"));
    let numbers = || (0..8).filter(|&number| file(number).exists()).collect::<Vec<u64>>();
    let mut update = ArrayUpdate::open(&path).unwrap();
    for (chunk, expected) in [(0, [1, 2, 3]), (1, [2, 3, 4])] {
        update.write(from_ref(&(2 * chunk..2 * chunk + 2)), &bytes(&[7, 8])).unwrap();
        update.flush().unwrap();
        assert_eq!(numbers(), expected);
    }
    // With 108 bytes of chunks, C-Blosc2 opens numbers up to 76. No file has the numbers 0 and 1.
    for number in 5..300 {
        fs::write(file(number), "of a commit that was killed").unwrap();
    }
    update.write(from_ref(&(4..6)), &bytes(&[7, 8])).unwrap();
    update.flush().unwrap();
    assert_eq!(numbers(), [0, 3, 4, 5, 6, 7]);
    assert_eq!(Array::open(&path).unwrap().whole().read_rows::<u16>().unwrap(), [7, 8, 7, 8, 7, 8]);
}

#[test]
#[cfg_attr(windows, ignore = "on Windows, no other program can write a locked file")]
fn check_reports_what_a_commit_may_have_written_only_without_the_lock_of_a_writer() {
    let folder = tempfile::tempdir().unwrap();
    let old = SystemTime::now() - Duration::from_secs(3600);
    for (name, code) in [("int32_3x5.b2nd", "longer-file"), ("sparse.b2nd", "unowned-bytes")] {
        let path = folder.path().join(name);
        copy_tree(&data().join(name), &path);
        let codes = || {
            let findings = Check::new(CheckDepth::ChunkHeaders).run_path(&path).unwrap().findings;
            findings.iter().map(|finding| finding.code().name()).collect::<Vec<_>>()
        };
        let update = ArrayUpdate::open(&path).unwrap();
        let written = if path.is_dir() { path.join("00000077.chunk") } else { path.clone() };
        let mut written = File::options().append(true).create(true).open(written).unwrap();
        written.write_all(b"of a commit").unwrap();
        written.set_modified(old).unwrap();
        assert_eq!(codes(), [] as [&str; 0], "{name}");
        drop(update);
        assert_eq!(codes(), [code]);
    }
}

/// Salvages a copy of `int32_3x5.b2nd` (four chunks of 2x3 items) in which the chunks `lost` are damaged.
fn salvaged_without(lost: &[usize], path: &Path) {
    let mut file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    for chunk in lost {
        file[165 + 64 * chunk + 2] = 0;
    }
    Salvage::read_at(file, 0).unwrap().apply(path).unwrap();
}

/// The ranges of lost chunks and of unverified chunks in the note of a salvage; `None` if there is no note.
fn salvage_note(path: &Path) -> Option<[Vec<(u64, u64)>; 2]> {
    #[derive(serde::Deserialize)]
    struct Note {
        lost: Vec<(u64, u64)>,
        unverified: Vec<(u64, u64)>,
    }
    let trailer = Frame::open(path).unwrap().trailer().unwrap();
    let note = trailer.vlmetalayer("b2nd_salvage").map(|layer| layer.decode::<Note>().unwrap());
    note.map(|Note { lost, unverified }| [lost, unverified])
}

#[test]
fn resize_renumbers_the_lost_and_the_unverified_chunks_of_a_salvage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array.b2nd");
    salvaged_without(&[1, 2], &path);
    // Chunks that are not compressed cannot be verified.
    assert_eq!(salvage_note(&path).unwrap(), [vec![(1, 2)], vec![(0, 1), (3, 1)]]);
    let mut update = ArrayUpdate::open(&path).unwrap();
    let mut resize = |shapes: &[[i64; 2]]| {
        for shape in shapes {
            update.resize(shape).unwrap();
        }
        update.flush().unwrap();
        salvage_note(&path)
    };
    // Two by two chunks become three by three.
    assert_eq!(resize(&[[6, 9]]).unwrap(), [[(1, 1), (3, 1)], [(0, 1), (4, 1)]]);
    assert_eq!(resize(&[[6, 5], [3, 10]]).unwrap(), [[(1, 1), (4, 1)], [(0, 1), (5, 1)]]);
    assert_eq!(resize(&[[3, 2]]).unwrap(), [[(1, 1)], [(0, 1)]]);
    // A new chunk takes the place of the lost chunk that was removed.
    assert_eq!(resize(&[[4, 6]]).unwrap(), [[(2, 1)], [(0, 1)]]);
    assert_eq!(
        check(&path).unwrap().findings[0].message(),
        "the frame was salvaged: chunk 2 was lost, and is zeros now; chunk 0 could not be verified, so its items may \
         be wrong"
    );
    assert_eq!(resize(&[[2, 6]]).unwrap(), [vec![], vec![(0, 1)]]);
    assert_eq!(resize(&[[0, 6]]), None);
}

#[test]
fn write_removes_a_chunk_from_the_note_of_a_salvage_if_it_replaces_all_its_items() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array.b2nd");
    salvaged_without(&[0, 2], &path);
    let mut update = ArrayUpdate::open(&path).unwrap();
    let mut write = |region: &[Range<u64>]| {
        let nitems = region.iter().map(|range| range.end - range.start).product::<u64>();
        update.write(region, &7_i32.to_le_bytes().repeat(usize::try_from(nitems).unwrap())).unwrap();
        update.flush().unwrap();
        salvage_note(&path)
    };
    assert_eq!(write(&[0..3, 0..2]).unwrap(), [[(0, 1), (2, 1)], [(1, 1), (3, 1)]]);
    assert_eq!(write(&[1..3, 0..5]).unwrap(), [[(0, 1)], [(1, 1)]]);
    assert_eq!(write(&[0..2, 0..3]).unwrap(), [vec![], vec![(1, 1)]]);
    assert_eq!(write(&[0..2, 3..5]), None);
    assert_eq!(check(&path).unwrap().findings, []);
}

#[test]
fn resize_keeps_the_note_of_an_assumed_order_without_lost_chunks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array.b2nd");
    let mut cut = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    cut.truncate(165 + 3 * 64);
    Salvage::read_at(cut, 0).unwrap().assume_order().apply(&path).unwrap();
    assert_eq!(salvage_note(&path).unwrap(), [[(3, 1)], [(0, 3)]]);
    let mut update = ArrayUpdate::open(&path).unwrap();
    update.resize(&[2, 5]).unwrap();
    update.flush().unwrap();
    assert_eq!(salvage_note(&path).unwrap(), [vec![], vec![(0, 2)]]);
    assert_eq!(
        check(&path).unwrap().findings[0].message(),
        "the frame was salvaged: no chunk was lost; 2 chunks could not be verified, from chunk 0 on, so their items \
         may be wrong; the order of the chunks was assumed"
    );
}

#[cfg(unix)]
#[test]
fn flush_gives_new_chunk_files_the_mode_and_owner_of_the_header_file() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    // The second mode has a bit that the usual umask removes.
    for mode in [0o600, 0o664] {
        let folder = tempfile::tempdir().unwrap();
        let path = sparse(folder.path(), &[1, 2, 3, 4, 5, 6]);
        let files = || fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
        for file in files() {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            // Only root can give a file away.
            let _ = chown(&file, Some(65534), Some(65534));
        }
        let attributes = |path: &Path| {
            let metadata = fs::metadata(path).unwrap();
            (metadata.mode() & 0o777, metadata.uid(), metadata.gid())
        };
        let expected = attributes(&path.join("chunks.b2frame"));

        let mut update = ArrayUpdate::open(&path).unwrap();
        update.write(from_ref(&(0..2)), &bytes(&[7, 8])).unwrap();
        update.flush().unwrap();
        update.append(0, &bytes(&[9])).unwrap();
        update.flush().unwrap();
        assert_eq!(files().count(), 5);
        for file in files() {
            assert_eq!(attributes(&file), expected, "{}", file.display());
        }
    }
}
