//! An open array does not read again the bytes that it keeps, and notices a change of its file.

use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use b2nd_chunk::{CParams, Compressor};
use b2nd_frame::{Array, ArrayUpdate, Error, ErrorKind, FileVersion, Frame, FrameBuilder, ReadAt, Rewrite};
use b2nd_frame::{Check, CheckDepth, ChunkHeader, Codec, Filter, Salvage};
use b2nd_lab::{copy, copy_tree, data};
use b2nd_serde::{Meta, Shapes};

use crate::{Recording, opened_array, refused, unlock};

fn is_shared<T: Send + Sync>(_: &T) {}

/// An array of 8192 chunks, each with 4 blocks of 64 items. No two items are equal.
fn many_chunks() -> Vec<u8> {
    let shapes = Shapes { shape: &[8192 * 256], chunkshape: &[256], blockshape: &[64] };
    let builder = FrameBuilder::new(Meta::new(shapes, "<u4").unwrap());
    let mut writer = builder.write_to(Cursor::new(Vec::new())).unwrap().into_array_writer().unwrap();
    let items: Vec<u8> = (0..8192 * 256_u32).flat_map(|item| (item * 7).to_le_bytes()).collect();
    writer.write(slice::from_ref(&(0..8192 * 256)), &items).unwrap();
    writer.finish().unwrap().into_inner()
}

#[test]
fn an_item_that_is_read_again_takes_one_read_of_its_block() {
    let array = opened_array(Recording::new(many_chunks()));
    let recording = array.frame().reader();
    let read = |at: u64| {
        recording.reads.borrow_mut().clear();
        let item = array.slice(slice::from_ref(&(at..at + 1))).read().unwrap();
        assert_eq!(item, u32::try_from(at * 7).unwrap().to_le_bytes());
        recording.lengths()
    };
    assert!(read(1_000_000).len() > 1);
    // A block has 256 bytes before it is compressed.
    for at in [1_000_000, 1_000_000, 1_000_065] {
        let lengths = read(at);
        assert!(lengths.len() == 1 && lengths[0] <= 256, "{at}: {lengths:?}");
    }
    // The page of the chunk index is kept too.
    assert_eq!(read(1_000_300).len(), 1);
    assert_eq!(recording.sizes.get(), 1);
}

#[test]
fn array_is_shared_by_threads_if_its_source_is() {
    is_shared(&Array::open(data().join("int32_3x5.b2nd")).unwrap());
    is_shared(&opened_array(fs::read(data().join("int32_3x5.b2nd")).unwrap()));
}

#[test]
fn debug_of_an_array_has_its_path_shape_and_dtype() {
    let array = Array::open(data().join("int32_3x5.b2nd")).unwrap();
    let path = array.frame().path();
    let expected = format!("Array {{ path: {path:?}, shape: [3, 5], dtype: Some(\"<i4\"), .. }}");
    assert_eq!(format!("{array:?}"), expected);
}

/// Copies an array of the test data, a file or a folder.
fn copied(name: &str, folder: &Path) -> PathBuf {
    let (from, path) = (data().join(name), folder.join("a.b2nd"));
    if from.is_dir() {
        copy_tree(&from, &path);
    } else {
        fs::copy(&from, &path).unwrap();
    }
    path
}

/// Replaces a file by a copy of it.
fn replace(file: &Path) {
    let new = file.with_extension("new");
    fs::copy(file, &new).unwrap();
    fs::rename(new, file).unwrap();
}

/// Copies `int32_3x5.b2nd`, and damages the header of its first chunk. The modification time is 100 seconds ago.
fn damaged(folder: &Path) -> PathBuf {
    let path = copied("int32_3x5.b2nd", folder);
    let mut bytes = fs::read(&path).unwrap();
    bytes[165..165 + 16].fill(0xff);
    fs::write(&path, bytes).unwrap();
    written(&path, 100);
    path
}

/// Sets the modification time to this number of seconds ago. Without this, two writes could have the same time.
fn written(path: &Path, ago: u64) {
    let time = SystemTime::now() - Duration::from_secs(ago);
    OpenOptions::new().write(true).open(path).unwrap().set_modified(time).unwrap();
}

#[test]
fn slice_of_an_array_whose_chunk_was_overwritten_in_its_place_is_changing() {
    let folder = tempfile::tempdir().unwrap();
    let path = copied("int32_3x5.b2nd", folder.path());
    written(&path, 100);
    let array = Array::open(&path).unwrap();
    assert_eq!(array.slice(&[0..1, 0..1]).read_rows::<i32>().unwrap(), [0]);
    // The first item of the first chunk, which is not compressed.
    let mut file = fs::read(&path).unwrap();
    file[165 + 32] = 77;
    fs::write(&path, &file).unwrap();
    written(&path, 50);
    refused(ErrorKind::Changing, array.slice(&[0..1, 0..1]).read());
    refused(ErrorKind::Changing, array.whole().threads(2).read());

    let array = array.refresh().unwrap().expect("another array");
    assert_eq!(array.slice(&[0..1, 0..1]).read_rows::<i32>().unwrap(), [77]);
    assert!(array.refresh().unwrap().is_none());
}

#[test]
fn slice_of_an_array_with_another_header_is_changing_whatever_the_time_of_the_last_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = copied("int32_3x5.b2nd", folder.path());
    written(&path, 100);
    let time = File::open(&path).unwrap().metadata().unwrap().modified().unwrap();
    let array = Array::open(&path).unwrap();
    array.whole().read().unwrap();
    Frame::open(&path).unwrap().edit().dtype("<u4").apply().unwrap();
    OpenOptions::new().write(true).open(&path).unwrap().set_modified(time).unwrap();
    refused(ErrorKind::Changing, array.slice(&[0..1, 0..1]).read());
    assert_eq!(array.refresh().unwrap().expect("another array").dtype(), Some("<u4"));
}

/// Only the trailer of a super-chunk with vlmetalayers can describe the array. The first file has an array metalayer,
/// and the second one has no vlmetalayers.
#[test]
fn open_does_not_read_a_trailer_that_cannot_describe_the_array() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["vlmetalayers.b2nd", "linear/bytes.b2frame"] {
        let path = copied(name, folder.path());
        let expected = Array::open(&path).unwrap().whole().read().unwrap();
        let start = Frame::open(&path).unwrap().trailer().unwrap().offset();
        let mut file = fs::read(&path).unwrap();
        file[usize::try_from(start).unwrap()..].fill(0xff);
        fs::write(&path, file).unwrap();
        Frame::open(&path).unwrap().trailer().unwrap_err();
        assert_eq!(Array::open(&path).unwrap().whole().read().unwrap(), expected, "{name}");
    }
}

/// The file is a cache of python-blosc2, into which all items were fetched.
#[test]
fn open_says_that_a_proxy_may_lack_a_part_of_its_data() {
    let error = Array::open(data().join("peers/proxy.b2nd")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let expected = "the data of this Proxy is a cache, which may lack a part of it: a reader must open the array that it \
                    names, or fetch from it";
    assert_eq!(error.to_string(), expected);
}

#[test]
#[cfg_attr(windows, ignore = "wine does not replace an open file")]
fn refresh_returns_the_longer_array_after_an_append_and_none_before() {
    for name in ["int32_3x5.b2nd", "sparse.b2nd"] {
        let folder = tempfile::tempdir().unwrap();
        let path = copied(name, folder.path());
        let old = Array::open(&path).unwrap();
        let items = old.whole().read().unwrap();
        assert!(old.refresh().unwrap().is_none(), "{name}");

        let (rows, columns) = (old.shape()[0], usize::try_from(old.shape()[1]).unwrap());
        let row: Vec<u8> = (1..=u8::try_from(columns * old.item_size()).unwrap()).collect();
        let mut update = ArrayUpdate::open(&path).unwrap();
        update.append(0, &row).unwrap();
        update.flush().unwrap();
        drop(update);
        refused(ErrorKind::Changing, old.whole().read());

        let new = old.refresh().unwrap().expect("a longer array");
        assert_eq!(new.shape(), [rows + 1, columns.try_into().unwrap()], "{name}");
        assert_eq!(new.whole().read().unwrap(), [items, row].concat(), "{name}");
        assert!(new.refresh().unwrap().is_none(), "{name}");
    }
}

/// Puts a sparse array at a path that does not exist yet.
fn put_sparse(path: &Path) {
    copy_tree(&data().join("sparse.b2nd"), path);
}

/// An array of the test data, and a way to replace it.
type Replacement = (&'static str, &'static str, fn(&Path));

const REPLACEMENTS: [Replacement; 6] = [
    ("int32_3x5.b2nd", "renamed file", |path| {
        let other = path.with_extension("new");
        Rewrite::new(path, &other).dtype("<u4").apply().unwrap();
        fs::rename(other, path).unwrap();
    }),
    ("int32_3x5.b2nd", "renamed file of equal bytes", replace),
    ("int32_3x5.b2nd", "new file", |path| {
        fs::remove_file(path).unwrap();
        let shapes = Shapes { shape: &[3], chunkshape: &[3], blockshape: &[3] };
        let new = FrameBuilder::new(Meta::new(shapes, "<i4").unwrap()).create(path).unwrap();
        let mut writer = new.into_array_writer().unwrap();
        writer.write(slice::from_ref(&(0..3)), &[7; 12]).unwrap();
        writer.finish().unwrap().persist().unwrap();
    }),
    ("int32_3x5.b2nd", "folder in place of a file", |path| {
        fs::remove_file(path).unwrap();
        put_sparse(path);
    }),
    ("sparse.b2nd", "new folder", |path| {
        fs::remove_dir_all(path).unwrap();
        put_sparse(path);
    }),
    ("sparse.b2nd", "file in place of a folder", |path| {
        fs::remove_dir_all(path).unwrap();
        fs::copy(data().join("int32_3x5.b2nd"), path).unwrap();
    }),
];

#[test]
#[cfg_attr(windows, ignore = "wine does not replace an open file")]
fn slice_of_an_array_whose_file_was_replaced_is_changing() {
    for (name, case, replace) in REPLACEMENTS {
        let folder = tempfile::tempdir().unwrap();
        let path = copied(name, folder.path());
        let file = if path.is_dir() { path.join("chunks.b2frame") } else { path.clone() };
        written(&file, 100);
        let arrays = [
            Array::open(&path).unwrap(),
            Array::new(Frame::open(&path).unwrap()).unwrap(),
            Array::open(&path).unwrap(),
        ];
        // The last array has read nothing before the change.
        for array in &arrays[..2] {
            array.whole().read().unwrap();
        }
        replace(&path);
        let expected = Array::open(&path).unwrap();
        for array in arrays {
            for threads in [1, 2] {
                refused(ErrorKind::Changing, array.whole().threads(threads).read());
            }
            let array = array.refresh().unwrap().expect(case);
            assert_eq!(array.dtype(), expected.dtype(), "{case}");
            assert_eq!(array.whole().read().unwrap(), expected.whole().read().unwrap(), "{case}");
            assert!(array.refresh().unwrap().is_none(), "{case}");
        }
    }
}

/// The first append to an empty array writes a new file.
#[test]
#[cfg_attr(windows, ignore = "wine does not replace an open file")]
fn slice_of_an_empty_array_is_changing_after_the_first_append() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.b2nd");
    let shapes = Shapes { shape: &[0], chunkshape: &[8], blockshape: &[8] };
    let builder = FrameBuilder::new(Meta::new(shapes, "<u2").unwrap());
    builder.create(&path).unwrap().into_array_writer().unwrap().finish().unwrap().persist().unwrap();
    written(&path, 100);
    let array = Array::open(&path).unwrap();
    assert!(array.whole().read().unwrap().is_empty());
    let mut update = ArrayUpdate::open(&path).unwrap();
    update.append(0, &[1, 0, 2, 0]).unwrap();
    update.flush().unwrap();
    refused(ErrorKind::Changing, array.whole().read());
    let array = array.refresh().unwrap().expect("another array");
    assert_eq!(array.whole().read_rows::<u16>().unwrap(), [1, 2]);
}

#[cfg(unix)]
#[test]
fn slice_of_an_array_is_changing_if_its_symlink_leads_to_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["first", "second"].map(|name| folder.path().join(name));
    let link = folder.path().join("a.b2nd");
    for file in &files {
        fs::copy(data().join("int32_3x5.b2nd"), file).unwrap();
        written(file, 100);
    }
    std::os::unix::fs::symlink(&files[0], &link).unwrap();
    let array = Array::open(&link).unwrap();
    array.whole().read().unwrap();
    let other = folder.path().join("other");
    std::os::unix::fs::symlink(&files[1], &other).unwrap();
    fs::rename(other, &link).unwrap();
    refused(ErrorKind::Changing, array.whole().read());
    assert!(array.refresh().unwrap().is_some());
}

#[test]
#[cfg_attr(windows, ignore = "wine does not delete an open file")]
fn slice_reads_a_deleted_file_and_refresh_does_not_find_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = copied("int32_3x5.b2nd", folder.path());
    let array = Array::open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(array.whole().read_rows::<i32>().unwrap(), (0..15).collect::<Vec<_>>());
    refused(ErrorKind::Io, array.refresh());

    // The chunks of a sparse frame are in its folder.
    let folder = tempfile::tempdir().unwrap();
    let path = copied("sparse.b2nd", folder.path());
    let array = Array::open(&path).unwrap();
    fs::remove_dir_all(&path).unwrap();
    refused(ErrorKind::Changing, array.whole().read());
    refused(ErrorKind::Io, array.refresh());
}

/// A link to itself leads nowhere.
#[cfg(unix)]
#[test]
fn slice_is_an_io_error_if_it_is_not_known_whether_the_files_were_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let path = copied("sparse.b2nd", folder.path());
    let array = Array::open(&path).unwrap();
    fs::remove_dir_all(&path).unwrap();
    std::os::unix::fs::symlink(&path, &path).unwrap();
    refused(ErrorKind::Io, array.whole().read());
}

#[test]
fn array_of_a_relative_path_keeps_the_absolute_path() {
    let array = Array::open("tests/data/sparse.b2nd").unwrap();
    let expected = std::path::absolute("tests/data/sparse.b2nd").unwrap().join("chunks.b2frame");
    assert_eq!(array.frame().path(), Some(&*expected));
}

/// Without a path, only changes of the open file show.
#[test]
fn slice_of_an_array_of_an_open_file_is_changing_if_this_file_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = copied("int32_3x5.b2nd", folder.path());
    written(&path, 100);
    let array = opened_array(File::open(&path).unwrap());
    let items = array.whole().read().unwrap();
    let [old, new] = ["old", "new"].map(|name| folder.path().join(name));
    fs::copy(&path, &new).unwrap();
    fs::rename(&path, &old).unwrap();
    fs::rename(new, path).unwrap();
    assert_eq!(array.whole().read().unwrap(), items);
    // The header of the first chunk is no longer valid.
    let mut bytes = fs::read(&old).unwrap();
    bytes[165..165 + 16].fill(0xff);
    fs::write(&old, bytes).unwrap();
    written(&old, 50);
    refused(ErrorKind::Changing, array.whole().read());
}

#[test]
fn refresh_refuses_an_array_that_was_not_opened_by_its_path() {
    let file = File::open(data().join("int32_3x5.b2nd")).unwrap();
    assert!(file.size().unwrap() > 0);
    let says = refused(ErrorKind::InvalidInput, opened_array(file).refresh());
    assert_eq!(says, "the array was not opened by its path");
}

#[test]
fn array_keeps_errors_to_the_slice_that_has_them() {
    // The last chunk is damaged.
    let mut file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    file[165 + 3 * 64 + 12] = 0xff;
    let array = opened_array(file);
    for _ in 0..2 {
        refused(ErrorKind::Malformed, array.whole().read());
        assert_eq!(array.slice(&[0..2, 0..3]).read_rows::<i32>().unwrap(), [0, 1, 2, 5, 6, 7]);
    }
}

#[test]
fn patience_waits_for_a_writer_with_the_lock() {
    for (name, lock) in [("int32_3x5.b2nd", "a.b2nd.b2lock"), ("sparse.b2nd", "a.b2nd/.b2lock")] {
        let folder = tempfile::tempdir().unwrap();
        let path = copied(name, folder.path());
        let array = Array::open(&path).unwrap();
        let expected = array.whole().read().unwrap();
        assert_eq!(array.whole().patience(Duration::ZERO).read().unwrap(), expected, "without a lock file");

        let lock = File::create(folder.path().join(lock)).unwrap();
        lock.lock().unwrap();
        let error = array.whole().patience(Duration::ZERO).read().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Locked, "{name}");
        assert_eq!(array.whole().read().unwrap(), expected, "no lock is taken");
        thread::scope(|scope| {
            let reader = scope.spawn(|| array.whole().patience(Duration::from_secs(60)).read().unwrap());
            thread::sleep(Duration::from_millis(20));
            assert!(!reader.is_finished());
            unlock(&lock);
            assert_eq!(reader.join().unwrap(), expected);
        });
        lock.try_lock().expect("the reader has released the lock");
    }
}

#[test]
fn patience_returns_no_items_of_an_unfinished_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = copied("int32_3x5.b2nd", folder.path());
    let set = |item: u8| {
        let mut file = fs::read(&path).unwrap();
        file[165 + 32] = item;
        fs::write(&path, &file).unwrap();
    };
    let lock = File::create(folder.path().join("a.b2nd.b2lock")).unwrap();
    lock.lock().unwrap();
    set(77);
    written(&path, 100);
    // A writer is between two writes.
    let array = Array::open(&path).unwrap();
    let first = || array.slice(&[0..1, 0..1]);
    assert_eq!(first().read_rows::<i32>().unwrap(), [77]);
    thread::scope(|scope| {
        let reader = scope.spawn(|| first().patience(Duration::from_secs(60)).read());
        thread::sleep(Duration::from_millis(20));
        set(78);
        unlock(&lock);
        refused(ErrorKind::Changing, reader.join().unwrap());
    });
    let array = array.refresh().unwrap().expect("another array");
    let items = array.whole().patience(Duration::ZERO).read_rows::<i32>().unwrap();
    assert_eq!(items[0], 78);
}

#[test]
fn an_item_that_is_overwritten_before_the_first_slice_is_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = copied("int32_3x5.b2nd", folder.path());
    // Sets the old modification time an hour back, so the write changes it even if the file system rounds times.
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
    let array = Array::open(&path).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    // A byte of the last chunk.
    bytes[400] ^= 1;
    fs::write(&path, bytes).unwrap();
    refused(ErrorKind::Changing, array.whole().read());
    assert!(array.refresh().unwrap().is_some());
}

/// The table of blocks in the index points to the index itself, so a slice could read the same bytes again and again.
#[test]
fn a_damaged_table_of_a_long_index_is_an_error_and_no_endless_loop() {
    let mut file = many_chunks();
    let frame = Frame::parse(&file[..512]).unwrap();
    let header = frame.header();
    let at = header.header_len + usize::try_from(header.cbytes).unwrap();
    // The index gets compressed blocks of 32 KiB, which do not become much shorter.
    let old = at..at + ChunkHeader::parse(&file[at..]).unwrap().cbytes();
    let mut params = CParams::new(8);
    (params.codec, params.clevel, params.blocksize) = (Codec::LZ4, 5, 1 << 15);
    params.filters = [Filter::NONE; 6];
    let mut index = Vec::new();
    Compressor::new(params).unwrap().compress_into(&file[old.start + 32..old.end], &mut index).unwrap();
    assert!(!ChunkHeader::parse(&index).unwrap().is_uncompressed());
    assert!(index.len() > 20_000, "{}: longer than the first read of an index", index.len());
    file.splice(old, index);
    let frame_len = (file.len() as u64).to_be_bytes();
    file[16..24].copy_from_slice(&frame_len);
    let read = |file: &[u8]| opened_array(file.to_vec()).slice(slice::from_ref(&(0..2))).read();
    assert_eq!(read(&file).unwrap(), [0, 0, 0, 0, 7, 0, 0, 0]);

    file[at + 32..at + 36].fill(0);
    let error = read(&file).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
}

#[cfg(unix)]
#[test]
fn a_chunk_file_of_any_time_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = copied("sparse.b2nd", folder.path());
    let expected = Array::open(&path).unwrap().whole().read().unwrap();
    let file = OpenOptions::new().write(true).open(path.join("00000000.chunk")).unwrap();
    // Not every file system can store this time.
    let latest =
        (0..63).rev().find_map(|bits| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(1 << bits)));
    let _ = file.set_modified(latest.unwrap());
    assert_eq!(Array::open(&path).unwrap().whole().read().unwrap(), expected);
}

#[test]
fn a_frame_is_not_changing_after_its_own_edit() {
    let folder = tempfile::tempdir().unwrap();
    let path = damaged(folder.path());
    let mut frame = Frame::open(&path).unwrap();
    frame.edit().shape(&[4, 6]).apply().unwrap();
    let mut chunks = frame.chunks().unwrap();
    let entry = chunks.get(0).unwrap().unwrap();
    assert_eq!(chunks.decompressed(&entry).unwrap_err().kind(), ErrorKind::Malformed);
}

#[test]
#[cfg_attr(windows, ignore = "wine does not replace an open file")]
fn attributes_of_an_array_that_has_changed_are_changing() {
    let folder = tempfile::tempdir().unwrap();
    for is_replaced in [false, true] {
        let path = copied("vlmetalayers.b2nd", folder.path());
        written(&path, 100);
        let (frame, array) = (Frame::open(&path).unwrap(), Array::open(&path).unwrap());
        let (old, opened) = (array.attributes().unwrap(), File::open(&path).unwrap());
        let opened = opened_array(opened);
        assert_eq!(opened.attributes().unwrap().bytes(), old.bytes());
        if is_replaced {
            // The open files stay as they are.
            replace(&path);
            frame.trailer().unwrap();
        } else {
            let mut update = ArrayUpdate::open(&path).unwrap();
            update.set_vlmetalayer("unit", "metre").unwrap();
            update.flush().unwrap();
            refused(ErrorKind::Changing, frame.trailer());
            refused(ErrorKind::Changing, opened.attributes());
        }
        refused(ErrorKind::Changing, array.attributes());
        array.refresh().unwrap().expect("another array").attributes().unwrap();
    }
}

/// Overwrites a chunk file in its place with the bytes of another chunk file. python-blosc2 writes the index only after
/// that.
fn overwrite_chunk_file(folder: &Path) {
    fs::write(folder.join("00000000.chunk"), fs::read(folder.join("00000001.chunk")).unwrap()).unwrap();
}

#[test]
fn slice_of_a_sparse_array_is_changing_if_a_known_chunk_file_was_overwritten_before_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let path = copied("sparse.b2nd", folder.path());
    written(&path.join("00000000.chunk"), 100);
    let array = Array::open(&path).unwrap();
    array.slice(&[0..1, 0..1]).read().unwrap();
    overwrite_chunk_file(&path);
    for threads in [1, 2] {
        refused(ErrorKind::Changing, array.slice(&[0..1, 0..1]).threads(threads).read());
    }

    // The writer may have been killed before it writes the index.
    let array = array.refresh().unwrap().expect("another array");
    assert_eq!(array.slice(&[0..1, 0..1]).read().unwrap(), array.slice(&[0..1, 5..6]).read().unwrap());
    assert!(array.refresh().unwrap().is_none());
    fs::remove_file(path.join("00000000.chunk")).unwrap();
    refused(ErrorKind::Changing, array.slice(&[0..1, 0..1]).read());
    let array = array.refresh().unwrap().expect("another array");
    refused(ErrorKind::Malformed, array.slice(&[0..1, 0..1]).read());
}

/// Puts a frame in the place of another, calls `between`, and then undoes the exchange.
type Exchange = fn(&Path, &Path, &mut dyn FnMut());

const EXCHANGES: [(&str, Exchange); 2] = [
    ("int32_3x5.b2nd", |path, other, between| {
        let (old, time) = (fs::read(path).unwrap(), fs::metadata(path).unwrap().modified().unwrap());
        fs::write(path, fs::read(other).unwrap()).unwrap();
        between();
        fs::write(path, old).unwrap();
        OpenOptions::new().write(true).open(path).unwrap().set_modified(time).unwrap();
    }),
    ("sparse.b2nd", |path, other, between| {
        let old = path.with_extension("old");
        fs::rename(path, &old).unwrap();
        fs::rename(other, path).unwrap();
        between();
        fs::rename(path, other).unwrap();
        fs::rename(old, path).unwrap();
    }),
];

#[test]
fn slice_that_was_once_changing_stays_so_after_the_change_was_undone() {
    for (name, exchange) in EXCHANGES {
        let [folder, others] = [(), ()].map(|()| tempfile::tempdir().unwrap());
        let (path, other) = (copied(name, folder.path()), copied(name, others.path()));
        let array = Array::open(&path).unwrap();
        let expected = array.slice(&[0..1, 0..1]).read().unwrap();
        let index = if path.is_dir() { path.join("chunks.b2frame") } else { path.clone() };
        written(&index, 100);
        let array = array.refresh().unwrap().expect("a file with another time");
        exchange(&path, &other, &mut || refused(ErrorKind::Changing, array.whole().read()).truncate(0));
        // The array may keep what it has read of the other frame.
        refused(ErrorKind::Changing, array.slice(&[0..1, 0..1]).read());
        refused(ErrorKind::Changing, array.slice(&[0..1, 0..1]).plan());
        let array = array.refresh().unwrap().expect("another array");
        assert_eq!(array.slice(&[0..1, 0..1]).read().unwrap(), expected, "{name}");
        assert!(array.refresh().unwrap().is_none(), "{name}");
    }
}

/// A source that is changed directly after its first read.
struct ChangedAtOnce {
    bytes: Vec<u8>,
    is_read: Cell<bool>,
    versions: [Option<FileVersion>; 2],
}

impl ReadAt for ChangedAtOnce {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.is_read.set(true);
        self.bytes.read_at(buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        ReadAt::size(&self.bytes)
    }

    fn version(&self) -> Option<FileVersion> {
        self.versions[usize::from(self.is_read.get())].clone()
    }
}

#[test]
fn version_of_an_array_is_the_one_before_its_header_was_read() {
    let opened = |first: &[u8], then: Option<&[u8]>| {
        let versions = [Some(first), then].map(|bytes| bytes.map(FileVersion::from));
        let bytes = fs::read(data().join("int32_3x5.b2nd")).unwrap();
        opened_array(ChangedAtOnce { bytes, is_read: Cell::new(false), versions })
    };
    refused(ErrorKind::Changing, opened(b"first", Some(b"second")).whole().read());
    assert_eq!(opened(b"first", Some(b"first")).whole().read().unwrap().len(), 60);
    assert_eq!(opened(b"first", None).whole().read().unwrap().len(), 60, "the version is not known any more");
}

#[test]
fn a_version_that_is_known_only_after_the_first_read_is_no_change() {
    let source = || {
        let bytes = fs::read(data().join("int32_3x5.b2nd")).unwrap();
        let versions = [None, Some(FileVersion::from(&b"first"[..]))];
        ChangedAtOnce { bytes, is_read: Cell::new(false), versions }
    };
    let frame = Frame::parse(&source().bytes).unwrap().map_reader(|()| source());
    assert!(Check::new(CheckDepth::ChunkHeaders).run(&frame).unwrap().findings.is_empty());
    assert_eq!(frame.trailer().unwrap().vlmetalayers().len(), 0);
    let folder = tempfile::tempdir().unwrap();
    let salvage = Salvage::read_at(source(), 0).unwrap();
    let (_, report) = salvage.apply(folder.path().join("new.b2nd")).unwrap();
    assert!(report.is_whole());
}

#[test]
#[cfg_attr(windows, ignore = "wine does not replace an open file")]
fn an_error_of_a_replaced_sparse_frame_is_changing_whatever_the_time_of_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let path = copied("sparse.b2nd", folder.path());
    written(&path.join("chunks.b2frame"), 100);
    let rewritten = folder.path().join("rewritten.b2nd");
    let made = Rewrite::new(&path, &rewritten).apply().unwrap();
    for (path, frame) in [(path.clone(), Frame::open(&path).unwrap()), (rewritten, made)] {
        let [index, chunk] = ["chunks.b2frame", "00000000.chunk"].map(|name| path.join(name));
        replace(&index);
        fs::write(&chunk, [0xff; 16]).unwrap();
        for file in [&index, &chunk] {
            written(file, 100);
        }
        let mut chunks = frame.chunks().unwrap();
        let entry = chunks.get(0).unwrap().unwrap();
        refused(ErrorKind::Changing, chunks.checked_header(&entry));
    }
}

/// Without the error, the opened frame would give items of another commit, because its index refers to this number.
#[cfg(unix)]
#[test]
fn a_chunk_file_with_a_number_that_a_later_commit_uses_again_is_changing() {
    let old = data().join("sparse.b2nd");
    let rewritten = |from: &Path, to: &Path| Rewrite::new(from, to).apply().unwrap();
    let made = |path: &Path| {
        let frame = Frame::open(&old).unwrap();
        let meta = frame.array().unwrap().unwrap().meta().clone();
        let mut writer = FrameBuilder::new(meta).create_sparse(path).unwrap();
        let mut chunks = frame.chunks().unwrap();
        while let Some(entry) = chunks.next().transpose().unwrap() {
            writer.write_chunk(entry.number, &chunks.compressed(&entry).unwrap().unwrap()).unwrap();
        }
        writer.finish().unwrap().persist().unwrap()
    };
    let ways: [&dyn Fn(&Path) -> Frame; 4] = [
        &|path| {
            put_sparse(path);
            Frame::open(path).unwrap()
        },
        &made,
        &|path| rewritten(&old, path),
        &|path| {
            put_sparse(path);
            rewritten(path, path)
        },
    ];
    for new_frame in ways {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.b2nd");
        let frame = new_frame(&path);
        let mut chunks = frame.chunks().unwrap();
        let [first, second] = [0, 1].map(|number| chunks.get(number).unwrap().unwrap());
        // A commit first makes the new chunk file, and then the new index.
        let chunk = path.join("00000000.chunk");
        replace(&chunk);
        // On some systems, a copy keeps the modification time.
        written(&chunk, 0);
        chunks.checked_header(&first).unwrap();
        replace(&path.join("chunks.b2frame"));
        refused(ErrorKind::Changing, chunks.checked_header(&first));
        // This chunk file is from before the frame was opened, so it cannot belong to a later commit.
        written(&path.join("00000001.chunk"), 100);
        chunks.checked_header(&second).unwrap();
    }
}

#[test]
fn an_error_of_a_frame_with_another_header_is_changing_whatever_the_time_of_the_last_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = copied("int32_3x5.b2nd", folder.path());
    let time = SystemTime::now() - Duration::from_secs(100);
    let put = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        OpenOptions::new().write(true).open(&path).unwrap().set_modified(time).unwrap();
    };
    let right = fs::read(&path).unwrap();
    let at = right.windows(3).position(|bytes| bytes == b"<i4").unwrap();
    let (mut damaged, mut of_three) = (right.clone(), right.clone());
    damaged[165..165 + 16].fill(0xff);
    // The header now counts the bytes of 3 chunks, but the array has 4.
    of_three[37] = 96;

    put(&damaged);
    let frame = Frame::open(&path).unwrap();
    let mut chunks = frame.chunks().unwrap();
    let first = chunks.get(0).unwrap().unwrap();
    // The new header has another dtype.
    damaged[at + 1] = b'u';
    put(&damaged);
    refused(ErrorKind::Changing, chunks.checked_header(&first));

    put(&of_three);
    refused(ErrorKind::Malformed, Array::open(&path));
    let frame = Frame::open(&path).unwrap();
    put(&right);
    refused(ErrorKind::Changing, Array::new(frame));
}

#[test]
fn an_error_while_a_writer_has_the_lock_file_is_changing() {
    let folder = tempfile::tempdir().unwrap();
    let frame = Frame::open(damaged(folder.path())).unwrap();
    let read = || {
        let mut chunks = frame.chunks().unwrap();
        let first = chunks.get(0).unwrap().unwrap();
        chunks.checked_header(&first)
    };
    let lock = File::create(folder.path().join("a.b2nd.b2lock")).unwrap();
    refused(ErrorKind::Malformed, read());
    lock.lock().unwrap();
    refused(ErrorKind::Changing, read());
}

/// Calls both ways to read chunk 0, beside a thread that calls `change` again and again. The index was written long
/// before. Each call must have at least one error that is `Changing` and names the fault. Other errors of any kind are
/// allowed: if the thread pauses, a file looks damaged.
fn assert_changing_beside(path: &Path, change: impl Fn() + Sync) {
    let index = File::options().write(true).open(path.join("chunks.b2frame")).unwrap();
    index.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
    let slice = || Array::open(path)?.slice(&[0..1, 0..1]).read().map(drop);
    let chunk = || {
        let frame = Frame::open(path)?;
        let mut chunks = frame.chunks()?;
        let first = chunks.get(0)?.expect("a chunk");
        chunks.compressed(&first).map(drop)
    };
    let is_changing = |error: &Error| {
        error.kind() == ErrorKind::Changing && error.finding().is_some_and(|why| why.chunk() == Some(0))
    };
    for read in [&slice as &dyn Fn() -> Result<(), Error>, &chunk] {
        let is_over = AtomicBool::new(false);
        let found = thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    change();
                }
            });
            let found = (0..5_000).any(|_| read().is_err_and(|error| is_changing(&error)));
            is_over.store(true, Ordering::Relaxed);
            found
        });
        assert!(found);
    }
}

#[test]
fn an_error_of_a_chunk_file_that_is_being_overwritten_is_changing() {
    let (_folder, path) = copy("sparse.b2nd");
    let file = path.join("00000000.chunk");
    let bytes = fs::read(&file).unwrap();
    assert_changing_beside(&path, || {
        fs::write(&file, b"").unwrap();
        thread::yield_now();
        fs::write(&file, &bytes).unwrap();
    });
}

#[test]
fn an_error_of_a_missing_chunk_file_is_changing_while_files_beside_it_come_and_go() {
    let (_folder, path) = copy("sparse.b2nd");
    fs::remove_file(path.join("00000000.chunk")).unwrap();
    assert_changing_beside(&path, || {
        fs::write(path.join("other"), b"").unwrap();
        fs::remove_file(path.join("other")).unwrap();
    });
}
