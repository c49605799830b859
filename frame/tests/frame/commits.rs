//! A change loses no content of any file, no commit of another writer, and no bytes that readers of the old array still
//! need.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Cursor, Seek, SeekFrom, Write};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use b2nd_frame::{
    Array, ArrayUpdate, Check, CheckDepth, ChunkHeader, ChunkPlace, Error, ErrorKind, Frame, FrameBuilder,
    HeaderField, Rewrite, Salvage, Severity,
};
use b2nd_lab::{copy_tree, corpus, data, header_file, remove};
use b2nd_serde::{Meta, Shapes, to_vec};
use fastrand::Rng;

use crate::{locked, refused, unlock};

/// Longer than any test waits: the writers take turns of some milliseconds.
const PATIENCE: Duration = Duration::from_secs(600);

/// The codes of all errors that a check of the data finds.
fn errors(path: &Path) -> BTreeSet<&'static str> {
    let report = Check::new(CheckDepth::ChunkData).run_path(path).unwrap();
    let errors = report.findings.iter().filter(|finding| finding.severity() == Severity::Error);
    errors.map(|finding| finding.code().name()).collect()
}

fn shape(path: &Path) -> Vec<i64> {
    Frame::open(path).unwrap().array().unwrap().unwrap().shape().to_vec()
}

fn whole(shape: &[i64]) -> Vec<Range<u64>> {
    shape.iter().map(|&items| 0..items.unsigned_abs()).collect()
}

fn items(path: &Path) -> Result<Vec<u8>, Error> {
    Array::open(path)?.whole().read()
}

/// The items of a chunk.
fn chunk(frame: &Frame, number: usize) -> Result<Vec<u8>, Error> {
    let mut chunks = frame.chunks()?;
    let entry = chunks.get(number as u64)?.unwrap();
    chunks.decompressed(&entry)
}

/// Creates an array of uint16 with the items 1, 2, …
fn create(path: &Path, is_sparse: bool, shapes: Shapes<'_>) {
    let builder = FrameBuilder::new(Meta::new(shapes, "<u2").unwrap());
    let writer = if is_sparse { builder.create_sparse(path) } else { builder.create(path) };
    let mut writer = writer.unwrap().into_array_writer().unwrap();
    let count = shapes.shape.iter().product::<i64>();
    writer.write(&whole(shapes.shape), &numbers(1..=u16::try_from(count).unwrap())).unwrap();
    writer.finish().unwrap().persist().unwrap();
}

fn numbers(numbers: impl IntoIterator<Item = u16>) -> Vec<u8> {
    numbers.into_iter().flat_map(u16::to_le_bytes).collect()
}

/// An array with stale bytes after its metalayer, as `b2nd_squeeze` of C-Blosc2 leaves them.
fn squeezed(path: &Path, is_sparse: bool) {
    create(path, is_sparse, Shapes { shape: &[1, 19], chunkshape: &[1, 4], blockshape: &[1, 2] });
    let frame = Frame::open(path).unwrap();
    let start = frame.array().unwrap().unwrap().metalayer().offset();
    let shapes = Shapes { shape: &[19], chunkshape: &[4], blockshape: &[2] };
    let meta = to_vec(&Meta::new(shapes, "<u2").unwrap()).unwrap();
    let mut file = fs::read(header_file(path)).unwrap();
    file[start..start + meta.len()].copy_from_slice(&meta);
    fs::write(header_file(path), file).unwrap();
    assert!(!Frame::open(path).unwrap().array().unwrap().unwrap().stale_tail().is_empty());
}

fn copy_frame(from: &Path, to: &Path) {
    if from.is_dir() {
        copy_tree(from, to);
    } else {
        fs::copy(from, to).unwrap();
    }
}

type Change = fn(&Path) -> Result<(), Error>;

/// Changes of all kinds. Changes of the shape make the array longer or shorter along dimension 0, so the first items
/// stay.
const CHANGES: [(&str, Change); 8] = [
    ("edit of the shape", |path| {
        let mut frame = Frame::open(path)?;
        let array = frame.array()?.unwrap();
        let mut shape = array.shape().to_vec();
        let Some((first, &chunk)) = shape.first_mut().zip(array.chunkshape().first()) else { return Ok(()) };
        *first += if *first % i64::from(chunk) == 0 { -1 } else { 1 };
        frame.edit().shape(&shape).apply()
    }),
    ("edit of the dtype", |path| {
        let mut frame = Frame::open(path)?;
        let dtype = frame.array()?.unwrap().dtype().unwrap_or_default().to_owned();
        let others = [("<u2", "<i2"), ("<i4", "<u4"), ("<i8", "<u8"), ("|u1", "|i1"), ("<f8", "<i8")];
        let other = others.iter().find(|(old, _)| *old == dtype).map_or(&*dtype, |(_, new)| new);
        frame.edit().dtype(other).apply()
    }),
    ("a vlmetalayer", |path| {
        let mut update = ArrayUpdate::open(path)?;
        update.set_vlmetalayer("b2nd_test", &[1, 2, 3])?;
        update.flush()
    }),
    ("no change of the items", |path| {
        let (shape, items) = (shape(path), items(path)?);
        let mut update = ArrayUpdate::open(path)?;
        update.write(&whole(&shape), &items)?;
        update.flush()
    }),
    ("a longer array", |path| {
        let mut update = ArrayUpdate::open(path)?;
        let mut shape = update.meta().shape().to_vec();
        let Some(first) = shape.first_mut() else { return Ok(()) };
        *first += 1;
        update.resize(&shape)?;
        update.flush()
    }),
    ("an append", |path| {
        let (shape, items) = (shape(path), items(path)?);
        let Some(count) =
            shape.first().and_then(|&count| usize::try_from(count).ok()).filter(|&count| count > 0)
        else {
            return Ok(());
        };
        let mut update = ArrayUpdate::open(path)?;
        update.append(0, &items[..items.len() / count])?;
        update.flush()
    }),
    ("a rewrite in place", |path| Rewrite::new(path, path).apply().map(drop)),
    ("a rewrite in place with a vlmetalayer after it", |path| {
        Rewrite::new(path, path).apply()?;
        CHANGES[2].1(path)
    }),
];

/// Makes each change on a copy of an array. A refused change leaves all bytes as they are. After any other change, a
/// check finds no new error, and the items are there. Returns the number of changes that were made.
fn each_change(path: &Path) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.b2nd");
    let (errors_before, shape_before, items_before) = (errors(path), shape(path), items(path).ok());
    let mut count = 0;
    for (what, change) in CHANGES {
        copy_frame(path, &copy);
        let file = fs::read(header_file(&copy)).unwrap();
        let name = format!("{}: {what}", path.display());
        if let Err(error) = change(&copy) {
            assert!(fs::read(header_file(&copy)).unwrap() == file, "{name}: {error}");
        } else {
            count += 1;
            let errors = errors(&copy);
            assert!(errors.is_subset(&errors_before), "{name}: {errors:?}");
            let is_other_shape = shape_before.get(1..) != shape(&copy).get(1..);
            assert!(!is_other_shape, "{name}");
            if let Some(before) = &items_before {
                let after = items(&copy).unwrap_or_else(|error| panic!("{name}: {error}"));
                let common = before.len().min(after.len());
                assert!(after[..common] == before[..common], "{name}");
                let row = before.len()
                    / shape_before.first().map_or(1, |&items| usize::try_from(items).unwrap().max(1));
                assert!(after.len() + row >= before.len(), "{name}");
            }
            // The file can be changed again.
            let again = ArrayUpdate::open(&copy).map(drop);
            assert!(again.is_ok() || ArrayUpdate::open(path).is_err(), "{name}: {again:?}");
        }
        remove(&copy);
    }
    count
}

#[test]
fn changes_of_an_array_with_stale_bytes_leave_a_whole_frame() {
    let folder = tempfile::tempdir().unwrap();
    for is_sparse in [false, true] {
        let path = folder.path().join(format!("{is_sparse}.b2nd"));
        squeezed(&path, is_sparse);
        assert_eq!(each_change(&path), CHANGES.len());
    }
}

#[test]
fn changes_of_every_real_array_leave_a_whole_frame() {
    let expected: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(&fs::read_to_string(data().join("expected.json")).unwrap()).unwrap();
    let mut paths: Vec<PathBuf> = expected.keys().map(|name| data().join(name)).collect();
    if let Some((folder, entries)) = corpus() {
        paths.extend(entries.iter().map(|entry| folder.join(entry["file"].as_str().unwrap())));
    }
    let (mut count, mut stale) = (0, 0);
    for path in &paths {
        let Ok(frame) = Frame::open(path) else { continue };
        // The items of some arrays of the corpus have gigabytes.
        let Ok(Some(array)) = frame.array() else { continue };
        if frame.header().nbytes > 1 << 22 || array.shape().contains(&0) {
            continue;
        }
        let changes = each_change(path);
        count += changes;
        stale += usize::from(changes > 0 && !array.stale_tail().is_empty());
    }
    assert!(count > 40, "{count}");
    println!("{count} changes of {} arrays, {stale} of them with stale bytes", paths.len());
}

/// Repeats `attempt` until no writer changes the array meanwhile.
fn patiently<T>(mut attempt: impl FnMut() -> Result<T, Error>) -> T {
    loop {
        match attempt() {
            Ok(done) => return done,
            Err(error) => assert!(error.kind() == ErrorKind::Changing || is_refusal(&error), "{error}"),
        }
    }
}

/// Commits an update. On Windows, repeats a commit that a reader or another writer has made impossible.
fn flush(update: &mut ArrayUpdate) {
    let deadline = Instant::now() + PATIENCE;
    while let Err(error) = update.flush() {
        assert!(is_refusal(&error) && Instant::now() < deadline, "{error}");
    }
}

/// Whether wine may have refused to replace a file because it is open.
fn is_refusal(error: &Error) -> bool {
    cfg!(windows) && error.kind() == ErrorKind::Io
}

/// Calls `test` for a contiguous and a sparse frame, both with and without the lock file of C-Blosc2. No array is at
/// the path yet. The function makes the lock file, or does nothing.
fn each_case(test: impl Fn(&Path, bool, &dyn Fn())) {
    for (is_sparse, has_lock) in [(false, false), (false, true), (true, false), (true, true)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("array.b2nd");
        test(&path, is_sparse, &|| {
            if has_lock {
                fs::write(sidecar(&path, is_sparse), [0; 16]).unwrap();
            }
        });
    }
}

fn sidecar(path: &Path, is_sparse: bool) -> PathBuf {
    if is_sparse { path.join(".b2lock") } else { path.with_file_name("array.b2nd.b2lock") }
}

const ROW: Shapes<'_> = Shapes { shape: &[1, 3], chunkshape: &[4, 3], blockshape: &[2, 3] };

#[test]
fn writers_at_the_same_time_lose_nothing() {
    const ROUNDS: u16 = 15;
    each_case(|path, is_sparse, make_lock_file| {
        create(path, is_sparse, ROW);
        make_lock_file();
        let append = |number: u16| {
            let mut update = patiently(|| ArrayUpdate::open_patiently(path, PATIENCE));
            update.append(0, &numbers([number; 3])).unwrap();
            flush(&mut update);
        };
        let set = |number: u16| {
            let mut update = patiently(|| ArrayUpdate::open_patiently(path, PATIENCE));
            update.set_vlmetalayer(&format!("{number}"), &number).unwrap();
            flush(&mut update);
        };
        let edit = |_| {
            // The dtype changes, and then changes back.
            for dtype in ["<i2", "<u2"] {
                patiently(|| Frame::open(path)?.edit().dtype(dtype).patience(PATIENCE).apply());
            }
        };
        let rewrite = |_| drop(patiently(|| Rewrite::new(path, path).patience(PATIENCE).apply()));
        let mut writers: Vec<&(dyn Fn(u16) + Sync)> = vec![&append, &append, &set, &rewrite];
        // `edit` waits for the lock while its frame is open, and wine does not replace an open file.
        if cfg!(not(windows)) {
            writers.push(&edit);
        }
        thread::scope(|scope| {
            for (first, writer) in (1..).map(|writer| 1000 * writer).zip(writers) {
                scope.spawn(move || (first..first + ROUNDS).for_each(writer));
            }
        });
        let frame = Frame::open(path).unwrap();
        let items = Array::open(path).unwrap().whole().read_rows::<u16>().unwrap();
        let mut rows: Vec<_> = items.chunks(3).skip(1).map(|row| (row[0], row[1], row[2])).collect();
        rows.sort_unstable();
        let numbers: Vec<u16> = (1000..1000 + ROUNDS).chain(2000..2000 + ROUNDS).collect();
        assert_eq!(rows, numbers.iter().map(|&number| (number, number, number)).collect::<Vec<_>>());
        let trailer = frame.trailer().unwrap();
        let layers: BTreeMap<u16, String> = trailer
            .vlmetalayers()
            .iter()
            .map(|layer| (layer.decode().unwrap(), layer.name().to_owned()))
            .collect();
        assert!(layers.into_iter().eq((3000..3000 + ROUNDS).map(|number| (number, number.to_string()))));
        assert!(errors(path).is_empty());
        let names = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(
            names,
            1 + usize::from(!is_sparse && sidecar(path, is_sparse).exists()),
            "nothing is left over"
        );
    });
}

/// A thread that waits for a lock which it holds itself would wait forever, so each call has a deadline.
#[test]
fn a_writer_waits_for_another_one_at_most_until_its_deadline() {
    each_case(|path, is_sparse, make_lock_file| {
        create(path, is_sparse, ROW);
        make_lock_file();
        let file = header_file(path);
        let first = ArrayUpdate::open(path).unwrap();
        for patience in [0, 5].map(Duration::from_millis) {
            assert_eq!(locked(ArrayUpdate::open_patiently(path, patience)), file);
            let mut frame = Frame::open(path).unwrap();
            assert_eq!(locked(frame.edit().dtype("<i2").patience(patience).apply()), file);
            assert_eq!(locked(Rewrite::new(path, path).patience(patience).apply()), file);
        }
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let second = scope.spawn(|| {
                let update = ArrayUpdate::open_patiently(path, PATIENCE).unwrap();
                assert!(is_over.load(Ordering::SeqCst), "it did not wait");
                update
            });
            thread::sleep(Duration::from_millis(5));
            is_over.store(true, Ordering::SeqCst);
            drop(first);
            drop(second.join().unwrap());
        });
        drop(Rewrite::new(path, path).apply().unwrap());
    });
}

/// All files of a frame.
fn files(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = if path.is_dir() {
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect()
    } else {
        vec![path.to_path_buf()]
    };
    // A file can be removed or renamed meanwhile.
    paths.into_iter().filter_map(|path| Some((path.clone(), fs::read(path).ok()?))).collect()
}

/// Makes the lock file of C-Blosc2, and locks it; `None` if another writer has locked it meanwhile.
fn hold(sidecar: &Path) -> Option<File> {
    fs::write(sidecar, [0; 16]).unwrap();
    let lock = File::open(sidecar).unwrap();
    File::try_lock(&lock).is_ok().then_some(lock)
}

#[test]
fn a_commit_sees_a_lock_file_that_was_made_meanwhile_and_leaves_no_part_of_it() {
    for is_sparse in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("array.b2nd");
        create(&path, is_sparse, ROW);
        let mut update = ArrayUpdate::open(&path).unwrap();
        update.append(0, &numbers(1..25)).unwrap();
        let lock = hold(&sidecar(&path, is_sparse)).unwrap();
        let before = files(&path);
        assert_eq!(locked(update.flush()), sidecar(&path, is_sparse));
        assert!(files(&path) == before);
        unlock(&lock);
        update.flush().unwrap();
        assert_eq!(shape(&path), [9, 3]);
        assert!(errors(&path).is_empty());
    }
}

/// The other program uses only the lock file of C-Blosc2. A frame that it is changing is not called malformed.
#[test]
fn rewrite_in_place_is_changing_if_another_program_makes_a_lock_file_and_removes_a_chunk_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array.b2nd");
    create(&path, true, Shapes { shape: &[40, 3], ..ROW });
    let before = fs::read(header_file(&path)).unwrap();
    let mut lock = None;
    let rewrite = Rewrite::new(&path, &path).on_progress(|_| {
        if lock.is_none() {
            lock = hold(&sidecar(&path, true));
            fs::remove_file(path.join("00000003.chunk")).unwrap();
        }
        ControlFlow::Continue(())
    });
    refused(ErrorKind::Changing, rewrite.apply().map(drop));
    assert!(fs::read(header_file(&path)).unwrap() == before);
}

/// The other program holds the lock file of C-Blosc2, for which the edit waits. Meanwhile it replaces the file that the
/// edit has locked.
#[cfg(unix)]
#[test]
fn edit_is_not_lost_in_a_file_that_was_replaced_while_it_waited_for_the_lock_file() {
    let folder = tempfile::tempdir().unwrap();
    let [path, other] = ["array.b2nd", "other.b2nd"].map(|name| folder.path().join(name));
    create(&path, false, ROW);
    fs::copy(&path, &other).unwrap();
    let lock = hold(&sidecar(&path, false)).unwrap();
    let mut frame = Frame::open(&path).unwrap();
    let edited = thread::scope(|scope| {
        let edit = scope.spawn(|| frame.edit().dtype("<i2").patience(PATIENCE).apply());
        // Waits until the edit has locked the file.
        let file = File::open(&path).unwrap();
        while !edit.is_finished() && File::try_lock_shared(&file).is_ok() {
            unlock(&file);
            thread::sleep(Duration::from_millis(5));
        }
        fs::rename(&other, &path).unwrap();
        unlock(&lock);
        edit.join().unwrap()
    });
    // If the file was replaced just after the edit had locked it, the edit has locked the new file instead.
    let expected = if edited.is_ok() { "<i2" } else { "<u2" };
    assert_eq!(Frame::open(&path).unwrap().array().unwrap().unwrap().dtype(), Some(expected));
    if edited.is_err() {
        refused(ErrorKind::Changing, edited);
    }
}

/// On Windows, no other program can write or replace the file while the update is open.
#[cfg(unix)]
#[test]
fn flush_is_changing_if_the_file_is_no_frame_any_more_and_an_io_error_if_it_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array.b2nd");
    create(&path, false, ROW);
    let mut update = ArrayUpdate::open(&path).unwrap();
    update.append(0, &numbers([1, 2, 3])).unwrap();
    fs::write(&path, "the first bytes of another program").unwrap();
    refused(ErrorKind::Changing, update.flush());
    fs::remove_file(&path).unwrap();
    refused(ErrorKind::Io, update.flush());
}

/// A thread acts as a program that uses only the lock file of C-Blosc2: while a commit of ours is under way, it makes
/// this file and commits. If our commit fails, it must not remove a byte of the other commit.
#[test]
#[cfg_attr(windows, ignore = "on Windows, no other program can write a locked file")]
fn a_failed_commit_removes_nothing_that_another_program_has_committed() {
    let shapes = Shapes { shape: &[4, 3], ..ROW };
    let mut failed = [0; 2];
    for round in 0..20 {
        let is_sparse = round % 2 == 1;
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["array.b2nd", "other.b2nd"].map(|name| folder.path().join(name));
        create(&path, is_sparse, shapes);
        copy_frame(&path, &other);
        let (before, old) = (files(&path), items(&path).unwrap());
        // The commit of the other program is longer.
        let mut rng = Rng::with_seed(1);
        let mut update = ArrayUpdate::open(&other).unwrap();
        update.append(0, &numbers((0..3 * 4).map(|_| rng.u16(..)))).unwrap();
        update.set_vlmetalayer("long", &(0..9999).map(|_| rng.u8(..)).collect::<Vec<_>>()).unwrap();
        update.flush().unwrap();
        drop(update);
        let expected = items(&other).unwrap();

        let mut update = ArrayUpdate::open_patiently(&path, PATIENCE).unwrap();
        update.append(0, &numbers([7; 3 * 4])).unwrap();
        let (flushed, has_other) = thread::scope(|scope| {
            let committed = scope.spawn(|| {
                // Waits until our commit has written its chunk.
                while !files(&path).iter().any(|(file, bytes)| match before.get(file) {
                    Some(old) => bytes.len() > old.len(),
                    None => ChunkHeader::parse(bytes).is_some_and(|header| header.cbytes() == bytes.len()),
                }) {
                    thread::yield_now();
                }
                // Our commit may have locked the new lock file first. Then the other program commits nothing.
                let Some(lock) = hold(&sidecar(&path, is_sparse)) else { return false };
                if fs::read(header_file(&path)).unwrap().starts_with(&before[&header_file(&path)]) {
                    for (file, bytes) in files(&other) {
                        let to = if is_sparse { path.join(file.file_name().unwrap()) } else { path.clone() };
                        let options = File::options().write(true).create(true).truncate(true).clone();
                        options.open(to).unwrap().write_all(&bytes).unwrap();
                    }
                }
                unlock(&lock);
                true
            });
            (update.flush(), committed.join().unwrap())
        });
        // If our commit came first, the other program has overwritten it, because that program does not use our lock.
        if flushed.is_err() {
            refused(ErrorKind::Changing, flushed);
            failed[usize::from(is_sparse)] += 1;
            drop(update);
            let expected = if has_other { &expected } else { &old };
            assert!(items(&path).unwrap() == *expected, "sparse {is_sparse}");
            assert!(errors(&path).is_empty());
        }
    }
    println!("{failed:?} of 10 commits failed");
}

/// A program reads an array that it opened before the commits of another program. Unix keeps a replaced file until it
/// is closed.
#[test]
#[cfg_attr(windows, ignore = "wine does not replace an open file")]
fn a_frame_that_was_opened_before_a_commit_reads_on_or_is_changing() {
    for seed in 0..30 {
        let (mut rng, is_sparse) = (Rng::with_seed(seed), seed % 2 == 1);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("array.b2nd");
        create(&path, is_sparse, Shapes { shape: &[40, 3], ..ROW });
        let (frame, array) = (Frame::open(&path).unwrap(), Array::open(&path).unwrap());
        let before = array.whole().read().unwrap();
        let mut update = ArrayUpdate::open(&path).unwrap();
        for _ in 0..6 {
            let row = rng.u64(8..32);
            update.write(&[row..row + 1, 0..3], &numbers([rng.u16(..); 3])).unwrap();
            if rng.bool() {
                update.append(0, &numbers([7; 3])).unwrap();
            }
            if rng.bool() {
                update.set_vlmetalayer("a", &rng.u8(..)).unwrap();
            }
            update.flush().unwrap();
            // No byte of a contiguous frame changes, and the unchanged chunks of a sparse frame stay. But if their
            // files were written shortly before the frame was opened, they can be from a later commit.
            for number in 0..10 {
                match chunk(&frame, number) {
                    Ok(items) => assert!(items == before[24 * number..][..24], "seed {seed}: other items"),
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Changing, "seed {seed}: {error}");
                        assert!(is_sparse || cfg!(windows), "seed {seed}: {error}");
                    }
                }
            }
            // An array compares the header, and so notices each commit.
            refused(ErrorKind::Changing, array.slice(&[0..4, 0..3]).read());
            refused(ErrorKind::Changing, array.whole().read());
        }
        let expected = items(&path).unwrap();
        let array = array.refresh().unwrap().expect("another array");
        assert!(array.whole().read().unwrap() == expected);
        assert!(array.refresh().unwrap().is_none());
    }
}

#[test]
#[cfg_attr(windows, ignore = "wine does not replace an open file")]
fn unchanged_chunks_of_a_sparse_frame_are_read_after_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array.b2nd");
    create(&path, true, Shapes { shape: &[40, 3], ..ROW });
    set_old(&path);
    let old = Frame::open(&path).unwrap();
    let before = items(&path).unwrap();
    let mut update = ArrayUpdate::open(&path).unwrap();
    for item in 0..10 {
        update.write(&[20..24, 0..3], &numbers([item; 12])).unwrap();
        update.flush().unwrap();
        for number in 0..10 {
            match number {
                5 => drop(refused(ErrorKind::Changing, chunk(&old, number))),
                _ => assert!(chunk(&old, number).unwrap() == before[24 * number..][..24]),
            }
        }
    }
}

#[test]
fn readers_beside_a_writer_see_one_commit_or_changing() {
    for is_sparse in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("array.b2nd");
        create(&path, is_sparse, Shapes { shape: &[40, 3], ..ROW });
        let mut update = ArrayUpdate::open(&path).unwrap();
        let fill = |update: &mut ArrayUpdate, number: u16| {
            update.write(&whole(&[40, 3]), &numbers([number; 120])).unwrap();
            flush(update);
        };
        fill(&mut update, 0);
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut last = 0;
                    while !is_over.load(Ordering::SeqCst) {
                        match Array::open(&path).and_then(|array| array.whole().read_rows::<u16>()) {
                            Ok(items) => {
                                assert!(items.iter().all(|item| *item == items[0]), "a mixture: {items:?}");
                                assert!(items[0] >= last, "an older commit");
                                last = items[0];
                            }
                            Err(error) => assert_eq!(error.kind(), ErrorKind::Changing, "{error}"),
                        }
                    }
                });
            }
            // The writer has a thread of its own, so that the readers end too if the writer panics.
            let written = scope.spawn(|| (1..100).for_each(|number| fill(&mut update, number))).join();
            is_over.store(true, Ordering::SeqCst);
            written.unwrap();
        });
    }
}

/// While the file is replaced, the lock is released if a program has the file open.
#[cfg(windows)]
#[test]
fn flush_can_be_repeated_after_another_program_has_excluded_all_writers() {
    use std::os::windows::fs::OpenOptionsExt;

    const SHARE_READ: u32 = 1;
    const SHARE_WRITE: u32 = 2;
    for is_sparse in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("array.b2nd");
        squeezed(&path, is_sparse);
        let before = fs::read(header_file(&path)).unwrap();
        let mut update = ArrayUpdate::open(&path).unwrap();
        update.append(0, &numbers([7; 5])).unwrap();
        let open = |share_mode| File::options().read(true).share_mode(share_mode).open(header_file(&path));
        // Windows does not replace the file while this reader has it open.
        let reader = open(SHARE_READ | SHARE_WRITE).unwrap();
        let (flushed, excluding) = thread::scope(|scope| {
            let excluding = scope.spawn(|| {
                loop {
                    if let Ok(file) = open(SHARE_READ) {
                        return file;
                    }
                    thread::yield_now();
                }
            });
            (update.flush(), excluding.join().unwrap())
        });
        refused(ErrorKind::Io, flushed);
        assert!(fs::read(header_file(&path)).unwrap() == before);
        refused(ErrorKind::Locked, update.flush());
        drop((excluding, reader));
        update.flush().unwrap();
        assert_eq!(shape(&path), [24]);
        assert!(errors(&path).is_empty());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        refused(ErrorKind::Locked, ArrayUpdate::open(&path));
    }
}

/// Sets the times of all files of a frame to an hour ago. Without this, the next write could have the same time.
fn set_old(path: &Path) {
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(3600);
    for file in files(path).keys() {
        File::options().write(true).open(file).unwrap().set_modified(long_ago).unwrap();
    }
}

/// Overwrites the first item of a chunk in its place, as C-Blosc2 does with an uncompressed chunk. Header, index and
/// trailer stay the same.
fn overwrite(path: &Path, number: u64, item: u16) {
    let frame = Frame::open(path).unwrap();
    let mut chunks = frame.chunks().unwrap();
    let entry = chunks.get(number).unwrap().unwrap();
    let header = chunks.header(&entry).unwrap().unwrap();
    let ChunkPlace::Frame(start) = entry.place else { panic!("{entry:?}") };
    assert_eq!(header.nbytes() + header.header_len(), header.cbytes(), "uncompressed");
    let mut file = File::options().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(start + header.header_len() as u64)).unwrap();
    file.write_all(&item.to_le_bytes()).unwrap();
}

fn first_item(path: &Path, chunk: u64) -> u16 {
    let row = 4 * chunk;
    Array::open(path).unwrap().slice(&[row..row + 1, 0..1]).read_rows::<u16>().unwrap()[0]
}

#[test]
#[cfg_attr(windows, ignore = "on Windows, no other program can write a locked file")]
fn rewrite_of_a_frame_whose_chunk_is_overwritten_meanwhile_is_changing() {
    for (new, is_sparse) in [("array.b2nd", false), ("new.b2nd", false), ("new.b2nd", true)] {
        let folder = tempfile::tempdir().unwrap();
        let [path, new] = ["array.b2nd", new].map(|name| folder.path().join(name));
        create(&path, false, Shapes { shape: &[40, 3], ..ROW });
        set_old(&path);
        let overwritten = |copied| {
            if copied > 0 {
                overwrite(&path, 0, 77);
            }
            ControlFlow::Continue(())
        };
        let rewrite = Rewrite::new(&path, &new).sparse(is_sparse).on_progress(overwritten);
        refused(ErrorKind::Changing, rewrite.apply().map(drop));
        assert_eq!(first_item(&path, 0), 77, "the other program loses nothing");
        assert!(new == path || !new.exists());

        let file = File::open(&path).unwrap();
        let copy = folder.path().join("copy.b2nd");
        let rewrite = Rewrite::read_at(&file, 0, &copy).on_progress(overwritten);
        set_old(&path);
        refused(ErrorKind::Changing, rewrite.apply().map(drop));
        Rewrite::read_at(&file, 0, &copy).apply().unwrap();
        assert_eq!(first_item(&copy, 0), 77);
    }
}

/// When python-blosc2 removes all items of an array, it does not update cbytes. The modification time of the file shows
/// no change.
#[test]
fn rewrite_of_a_frame_without_items_whose_trailer_is_overwritten_meanwhile_is_changing() {
    let folder = tempfile::tempdir().unwrap();
    let [path, new] = ["array.b2nd", "new.b2nd"].map(|name| folder.path().join(name));
    let [before, after] = [1, 2].map(|value| {
        let meta = Meta::new(Shapes { shape: &[0, 3], ..ROW }, "<u2").unwrap();
        let builder = FrameBuilder::new(meta).vlmetalayer("value", &value);
        let mut file = builder.write_to(Cursor::new(Vec::new())).unwrap().finish().unwrap().into_inner();
        let cbytes = 39;
        file[cbytes..cbytes + 8].copy_from_slice(&999_i64.to_be_bytes());
        file
    });
    assert!(before != after && before.len() == after.len());
    fs::write(&path, &before).unwrap();
    set_old(&path);
    let time = fs::metadata(&path).unwrap().modified().unwrap();
    let rewrite = Rewrite::new(&path, &new).on_progress(|_| {
        fs::write(&path, &after).unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        ControlFlow::Continue(())
    });
    refused(ErrorKind::Changing, rewrite.apply().map(drop));
    assert!(!new.exists());
}

#[test]
fn check_of_a_frame_whose_chunk_is_overwritten_meanwhile_is_changing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array.b2nd");
    create(&path, false, Shapes { shape: &[40, 3], ..ROW });
    set_old(&path);
    let (frame, mut count) = (Frame::open(&path).unwrap(), 0);
    let mut overwritten = |chunks| {
        if chunks == 10 {
            overwrite(&path, 0, 77);
            count += 1;
        }
        ControlFlow::Continue(())
    };
    let check = || Check::new(CheckDepth::ChunkData);
    refused(ErrorKind::Changing, check().on_progress(&mut overwritten).run(&frame));
    // A writer in a loop.
    refused(ErrorKind::Changing, check().on_progress(overwritten).run_path(&path));
    assert_eq!(count, 21);
    assert_eq!(check().run(&frame).unwrap().findings, []);
}

#[test]
fn salvage_of_a_frame_whose_chunk_is_overwritten_meanwhile_is_changing() {
    let folder = tempfile::tempdir().unwrap();
    let [path, new] = ["array.b2nd", "new.b2nd"].map(|name| folder.path().join(name));
    // The salvage compares more than the header, but this array has so many chunks that the last is not compared.
    create(&path, false, Shapes { shape: &[8000, 3], ..ROW });
    set_old(&path);
    let salvage = Salvage::open(&path).unwrap().on_progress(|_| {
        overwrite(&path, 1999, 77);
        ControlFlow::Continue(())
    });
    refused(ErrorKind::Changing, salvage.apply(&new));
    assert!(!new.exists());
    Salvage::open(&path).unwrap().apply(&new).unwrap();
    assert_eq!(first_item(&new, 1999), 77);
}

/// Calls `test` for a contiguous and a sparse frame. `commit` is a commit to the frame: it replaces all chunks but the
/// first, or all chunks.
fn beside_a_commit(test: impl Fn(&Path, &mut (dyn FnMut(bool) + Send))) {
    for is_sparse in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("array.b2nd");
        create(&path, is_sparse, Shapes { shape: &[40, 3], ..ROW });
        set_old(&path);
        let mut item = 0;
        test(&path, &mut |is_whole| {
            item += 1;
            let (first, mut update) = (if is_whole { 0_u16 } else { 4 }, ArrayUpdate::open(&path).unwrap());
            let items = numbers((first * 3..120).map(|_| item));
            update.write(&[u64::from(first)..40, 0..3], &items).unwrap();
            update.flush().unwrap();
        });
    }
}

#[test]
#[cfg_attr(windows, ignore = "wine does not replace an open file")]
fn salvage_beside_a_commit_is_changing() {
    beside_a_commit(|path, commit| {
        let new = path.with_file_name("new.b2nd");
        // The first call comes before the first chunk is read, and the call with a size after the first chunk is copied.
        for is_first in [true, false] {
            let mut beside = |salvage: &dyn Fn(Salvage<'_>) -> Result<(), Error>| {
                let mut is_over = false;
                let opened = Salvage::open(path).unwrap().on_progress(|copied| {
                    if !is_over && (is_first || copied > 0) {
                        is_over = true;
                        commit(is_first);
                    }
                    ControlFlow::Continue(())
                });
                refused(ErrorKind::Changing, salvage(opened));
            };
            beside(&|salvage| salvage.apply(&new).map(drop));
            assert!(!new.exists());
            beside(&|salvage| salvage.preview().map(drop));
            if is_first {
                beside(&|salvage| salvage.locate());
            }
        }
        let salvaged = Salvage::open(path).unwrap();
        commit(true);
        refused(ErrorKind::Changing, salvaged.preview());
        let (_, report) = Salvage::open(path).unwrap().apply(&new).unwrap();
        assert_eq!(report.lost, []);
        assert!(items(&new).unwrap() == items(path).unwrap());
    });
}

#[test]
#[cfg_attr(windows, ignore = "wine does not replace an open file")]
fn check_beside_a_commit_to_a_sparse_frame_is_changing() {
    beside_a_commit(|path, commit| {
        if path.is_file() {
            return;
        }
        for depth in [CheckDepth::Frame, CheckDepth::ChunkHeaders, CheckDepth::ChunkData] {
            let (frame, mut is_over) = (Frame::open(path).unwrap(), false);
            if depth == CheckDepth::Frame {
                commit(false);
            }
            let check = Check::new(depth).on_progress(|chunks| {
                if !is_over && chunks > 0 {
                    is_over = true;
                    commit(false);
                }
                ControlFlow::Continue(())
            });
            refused(ErrorKind::Changing, check.run(&frame));
            assert_eq!(Check::new(depth).run_path(path).unwrap().findings, []);
        }
    });
}

#[test]
#[cfg_attr(windows, ignore = "wine does not replace an open file")]
fn dump_chunks_beside_a_commit_to_a_sparse_frame_is_changing() {
    beside_a_commit(|path, commit| {
        let (frame, mut is_over) = (Frame::open(path).unwrap(), false);
        let dumped = frame.dump_chunks(|row| {
            if !is_over {
                is_over = true;
                commit(false);
            }
            assert!(row.fault.is_none(), "{row}");
            ControlFlow::Continue(())
        });
        match dumped {
            Err(error) => assert_eq!(error.kind(), ErrorKind::Changing, "{error}"),
            Ok(()) => assert!(path.is_file()),
        }
    });
}

#[test]
#[cfg_attr(windows, ignore = "wine does not replace an open file")]
fn rewrite_beside_a_commit_is_changing() {
    beside_a_commit(|path, commit| {
        let new = path.with_file_name("new.b2nd");
        for is_sparse in [false, true] {
            let mut is_over = false;
            let rewrite = Rewrite::new(path, &new).sparse(is_sparse).on_progress(|copied| {
                if !is_over && copied > 0 {
                    is_over = true;
                    commit(false);
                }
                ControlFlow::Continue(())
            });
            refused(ErrorKind::Changing, rewrite.apply());
            assert!(!new.exists());
        }
    });
}

#[test]
#[cfg_attr(windows, ignore = "on Windows, no other program can write a locked file")]
fn flush_does_not_replace_a_chunk_that_was_overwritten_since_its_items_were_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array.b2nd");
    create(&path, false, Shapes { shape: &[40, 3], ..ROW });
    set_old(&path);
    let mut update = ArrayUpdate::open(&path).unwrap();
    update.write(&[9..10, 0..3], &numbers([5; 3])).unwrap();
    overwrite(&path, 2, 77);
    let before = files(&path);
    refused(ErrorKind::Changing, update.write(&[13..14, 0..3], &numbers([6; 3])));
    refused(ErrorKind::Changing, update.flush());
    refused(ErrorKind::Changing, update.flush());
    assert!(files(&path) == before);
    drop(update);

    let mut update = ArrayUpdate::open(&path).unwrap();
    for row in [9, 13] {
        update.write(&[row..row + 1, 0..3], &numbers([5; 3])).unwrap();
        update.flush().unwrap();
    }
    assert_eq!(first_item(&path, 2), 77);
}

#[test]
fn edit_keeps_a_chunk_that_was_overwritten_before_and_after_a_killed_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array.b2nd");
    create(&path, false, Shapes { shape: &[40, 3], ..ROW });
    set_old(&path);
    let mut frame = Frame::open(&path).unwrap();
    overwrite(&path, 2, 77);
    // The first bytes of a commit that was killed.
    File::options().append(true).open(&path).unwrap().write_all(b"\0b2hole").unwrap();
    frame.edit().dtype("<i2").apply().unwrap();
    assert_eq!(path.metadata().unwrap().len(), frame.header().frame_len);
    assert_eq!(Array::open(&path).unwrap().slice(&[8..9, 0..1]).read_rows::<i16>().unwrap(), [77]);
}

/// An update keeps at most 64 MiB of decompressed chunks in all. This test writes more, so the first chunks are
/// compressed while later chunks are written.
#[test]
fn writes_to_more_chunks_than_can_be_open_lose_no_item() {
    const CHUNK: u64 = 4096;
    const COUNT: u64 = 100;
    let columns = CHUNK * COUNT;
    let shape = [200, i64::try_from(columns).unwrap()];
    let shapes = Shapes { shape: &shape, chunkshape: &[256, 4096], blockshape: &[32, 4096] };
    // Each write is a part of another row, in these chunks. A chunk has 1 MiB.
    for writes in [
        // Chunks 50 to 59 are changed for the second time: 10 of the chunks of this write are open, and 30 are not.
        &[0..60, 50..90, 0..COUNT, 0..1][..],
        // At most 64 chunks can be open. The third write begins in the 10 oldest open chunks, and its other chunks take
        // the places of open chunks. The fourth write has exactly 64 chunks. The last write begins in open chunks, and
        // has more chunks than can be open.
        &[0..10, 40..90, 0..20, 0..64, 0..COUNT],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wide.b2nd");
        let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).level(1);
        let mut writer = builder.create(&path).unwrap();
        writer.fill_missing(b2nd_frame::SpecialValue::Zeros).unwrap();
        writer.finish().unwrap().persist().unwrap();
        let mut update = ArrayUpdate::open(&path).unwrap();
        for (row, chunks) in (0..).zip(writes) {
            let range = chunks.start * CHUNK..chunks.end * CHUNK;
            let count = usize::try_from(range.end - range.start).unwrap();
            let items = vec![u8::try_from(row + 1).unwrap(); count];
            update.write(&[row..row + 1, range], &items).unwrap();
        }
        update.resize(&[201, shape[1]]).unwrap();
        update.flush().unwrap();
        drop(update);
        let array = Array::open(&path).unwrap();
        for (row, chunks) in (0..).zip(writes).chain([(10, &(0..0)), (200, &(0..0))]) {
            let items = array.slice(&[row..row + 1, 0..columns]).read().unwrap();
            let item = u8::try_from(row + 1).unwrap();
            let expected = (0..COUNT).map(|chunk| if chunks.contains(&chunk) { item } else { 0 });
            assert!(
                items.chunks(4096).map(<[u8]>::to_vec).eq(expected.map(|item| vec![item; 4096])),
                "{writes:?}: row {row}"
            );
        }
    }
}

/// A resize by C-Blosc2 can leave such a header.
#[test]
fn an_array_without_items_whose_header_counts_chunks_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("array.b2nd");
    let meta = Meta::new(Shapes { shape: &[0, 3], ..ROW }, "<u2").unwrap();
    FrameBuilder::new(meta).create(&path).unwrap().finish().unwrap().persist().unwrap();
    let mut file = fs::read(&path).unwrap();
    let cbytes = 39;
    file[cbytes..cbytes + 8].copy_from_slice(&999_i64.to_be_bytes());
    fs::write(&path, file).unwrap();
    assert_eq!(Frame::open(&path).unwrap().header().cbytes, 999);
    let mut update = ArrayUpdate::open(&path).unwrap();
    update.append(0, &numbers([1, 2, 3])).unwrap();
    update.flush().unwrap();
    assert!(items(&path).unwrap() == numbers([1, 2, 3]));
}

/// Creates an array without items, with rows of 3 items.
fn create_empty(path: &Path, is_sparse: bool) {
    let builder = FrameBuilder::new(Meta::new(Shapes { shape: &[0, 3], ..ROW }, "<u2").unwrap());
    let writer = if is_sparse { builder.create_sparse(path) } else { builder.create(path) };
    writer.unwrap().finish().unwrap().persist().unwrap();
}

/// Without chunks, the sizes of chunks and blocks in the header have no meaning, and writers leave anything there.
#[test]
fn an_array_without_items_gets_items_whatever_chunksize_and_blocksize_it_had() {
    each_case(|path, is_sparse, lock| {
        create_empty(path, is_sparse);
        lock();
        let empty = fs::read(header_file(path)).unwrap();
        for (field, sizes) in [(HeaderField::Chunksize, [-1, 0, 7]), (HeaderField::Blocksize, [-1, 0, 7])] {
            let range = Frame::open(path).unwrap().header().range(field).unwrap();
            for size in sizes {
                let mut file = empty.clone();
                file[range.clone()].copy_from_slice(&i32::to_be_bytes(size));
                fs::write(header_file(path), file).unwrap();
                let mut update = ArrayUpdate::open(path).unwrap();
                update.append(0, &numbers([1, 2, 3])).unwrap();
                update.flush().unwrap_or_else(|error| panic!("{field:?} {size}: {error}"));
                drop(update);
                assert!(items(path).unwrap() == numbers([1, 2, 3]));
                assert_eq!(errors(path), BTreeSet::new(), "{field:?} {size}");
            }
        }
    });
}

/// After a loss of power, a file can end in a page of zeros.
#[test]
fn open_of_a_file_with_other_bytes_after_the_frame_is_unsupported() {
    each_case(|path, is_sparse, lock| {
        create(path, is_sparse, ROW);
        lock();
        let frame = fs::read(header_file(path)).unwrap();
        for more in [&b"other"[..], &[0; 4096]] {
            fs::write(header_file(path), [&frame[..], more].concat()).unwrap();
            let error = ArrayUpdate::open(path).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            let says =
                format!("the frame has {} bytes, but its file has {}", frame.len(), frame.len() + more.len());
            assert!(error.to_string().starts_with(&says), "{error}");
        }
        fs::write(header_file(path), frame).unwrap();
        drop(ArrayUpdate::open(path).unwrap());
    });
}
