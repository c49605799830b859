//! Tests with arrays that this project changed or rewrote, and with arrays that it changes while python-blosc2 has them
//! open. python-blosc2 must read the right data from them. Without locks, it may also read the data of an older commit,
//! or fail, but it must never read data that the array never had.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use crate::python;
use b2nd_frame::b2nd_serde::{Layout, Meta, Shapes};
use b2nd_frame::{
    Array, ArrayUpdate, ErrorKind, Finding, FindingCode, Frame, FrameBuilder, Generation, Rewrite, check,
};
use b2nd_lab::vectors::hex;
use b2nd_lab::{copy_tree, corpus, data};
use serde_json::{Value, json};

/// All frames among the files of the project and of the corpus.
fn frames() -> Vec<PathBuf> {
    let in_project = fs::read_dir(data()).unwrap().map(|entry| entry.unwrap().path());
    let mut frames: Vec<PathBuf> = in_project.filter(|path| Frame::open(path).is_ok()).collect();
    assert!(frames.len() > 8);
    if let Some((folder, entries)) = corpus() {
        let whole = entries.iter().filter(|entry| entry["frame_offset"].is_null());
        frames.extend(whole.map(|entry| folder.join(entry["file"].as_str().unwrap())));
    }
    frames
}

/// An array before and after a change, and the dtype that python-blosc2 must read from the changed array.
struct Job {
    original: PathBuf,
    changed: PathBuf,
    dtype: String,
}

/// Asserts for each job that python-blosc2 reads the data of the original from the changed array. An array that
/// python-blosc2 refuses is skipped, but then python-blosc2 must refuse the original too. Returns the number of arrays
/// that were not skipped.
fn assert_same(jobs: &[Job]) -> usize {
    let mut expected = Vec::new();
    let asked = jobs.iter().map(|job| {
        let frame = Frame::open(&job.changed).unwrap();
        let array = frame.array().unwrap().unwrap();
        let (shape, chunkshape, blockshape) = (array.shape(), array.chunkshape(), array.meta().blockshape());
        let shapes = json!({"shape": shape, "chunkshape": chunkshape, "blockshape": blockshape});
        let mut asked = shapes.clone();
        asked["original"] = json!(job.original);
        asked["changed"] = json!(job.changed);
        expected.push(shapes);
        asked
    });
    let asked = Value::Array(asked.collect());

    let mut child = python("same_data.py").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(asked.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let seen: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(seen.len(), jobs.len());

    let mut same = 0;
    for ((job, seen), mut expected) in jobs.iter().zip(&seen).zip(expected) {
        let name = job.original.display();
        if seen["refused"].is_string() {
            assert_eq!(seen["as_original"], true, "{name}: {seen}");
            println!("{name}: refused, as it was: {}", seen["refused"]);
            continue;
        }
        expected["dtype"] = json!(job.dtype);
        // One file has a filter that needs the shape of the array. `same_data.py` decompresses chunks without their
        // array, which is not possible with this filter, so its answer is null.
        let is_closed = job.original.ends_with("ndmean_repart_rand.caterva");
        expected["same"] = if is_closed { Value::Null } else { json!(true) };
        assert_eq!(*seen, expected, "{name}");
        same += 1;
    }
    same
}

/// Another dtype with items of the same size, whose text is as long as `dtype`. `None` if this function knows no such
/// dtype.
fn other_dtype(dtype: &str) -> Option<String> {
    let (order, rest) = dtype.split_at_checked(1)?;
    let (kind, size) = rest.split_at_checked(1)?;
    let other = match (kind, size) {
        ("u", "1" | "2" | "4" | "8") => "i",
        ("i", "1") | ("i" | "f", "2" | "4" | "8") => "u",
        _ => return None,
    };
    Some(format!("{order}{other}{size}"))
}

/// A dtype whose items have this many bytes.
fn dtype_of(typesize: i32) -> String {
    match typesize {
        1 => "|i1".to_owned(),
        2 | 4 | 8 => format!("<i{typesize}"),
        _ => format!("|V{typesize}"),
    }
}

/// The dtype as python-blosc2 shows it.
fn shown(dtype: &str) -> String {
    dtype.parse::<b2nd_serde::dtype::Dtype>().map_or(dtype.into(), |dtype| dtype.to_string())
}

#[test]
fn a_changed_array_has_the_new_shape_and_dtype_and_the_same_data() {
    let folder = tempfile::tempdir().unwrap();
    let mut jobs = Vec::new();
    let mut dtypes = 0;
    for (number, original) in frames().into_iter().enumerate() {
        let changed = folder.path().join(format!("{number}.b2nd"));
        copy_tree(&original, &changed);
        let mut frame = Frame::open(&changed).unwrap();
        let Some(array) = frame.array().unwrap() else { continue };
        // python-blosc2 opens two kinds of arrays as chunks without a shape: those whose metalayer is not named `b2nd`,
        // and those of the layout `B2ndSix`. They are skipped.
        if array.metalayer().name() != "b2nd" || array.meta().layout() == Layout::B2ndSix {
            continue;
        }
        let Some(dtype) = array.dtype().map(str::to_owned) else { continue };
        let extended = array.geometry().unwrap().extended_shape();
        let shape: Vec<i64> = extended.iter().map(|&items| items.try_into().unwrap()).collect();
        frame.edit().shape(&shape).apply().unwrap();
        // Tries two dtypes. Items of the first have the same size as items of the present dtype. Items of the second
        // have the typesize of the frame, which can be another size.
        let others = [other_dtype(&dtype), Some(dtype_of(frame.header().typesize))];
        let other = others
            .into_iter()
            .flatten()
            .find(|other| *other != dtype && frame.edit().dtype(other).apply().is_ok());
        dtypes += usize::from(other.is_some());
        let dtype = other.unwrap_or(dtype);
        jobs.push(Job { original, changed, dtype: shown(&dtype) });
    }
    let same = assert_same(&jobs);
    println!("{same} changed arrays, {dtypes} with another dtype, are what they should be to python-blosc2");
    // python-blosc2 refuses at most 7 of the arrays. The refused arrays are all in the corpus.
    assert!(jobs.len() - same <= 7 && same >= 8);
}

#[test]
fn a_rewritten_array_is_an_array_again_and_has_the_same_data() {
    let folder = tempfile::tempdir().unwrap();
    let mut jobs = Vec::new();
    let mut generations = [0; 2];
    for (number, original) in frames().into_iter().enumerate() {
        let frame = Frame::open(&original).unwrap();
        let Some(array) = frame.array().unwrap() else { continue };
        // Six files of C-Blosc2 itself have items of 4 or 8 bytes, but a dtype of 1 byte. The check finds this
        // mismatch. For these files, the rewrite gets a dtype of the right size.
        let is_wrong = check(&original)
            .unwrap()
            .findings
            .iter()
            .any(|finding| finding.code() == FindingCode::DtypeMismatch);
        let given = (array.dtype().is_none() || is_wrong).then(|| dtype_of(frame.header().typesize));
        let changed = folder.path().join(format!("{number}.b2nd"));
        match given.iter().fold(Rewrite::new(&original, &changed), Rewrite::dtype).apply() {
            Ok(new) => {
                generations[usize::from(frame.header().generation == Generation::Present)] += 1;
                let dtype = shown(new.array().unwrap().unwrap().dtype().unwrap());
                jobs.push(Job { original, changed, dtype });
            }
            Err(error) => {
                let is_of_objects = error.finding().map(Finding::code) == Some(FindingCode::ObjectDtype);
                assert!(
                    is_of_objects || original.ends_with("slice_int.cat"),
                    "{}: {error}",
                    original.display()
                );
            }
        }
    }
    let same = assert_same(&jobs);
    println!(
        "{same} rewritten arrays, of [9d, 9e] {generations:?}, are what they should be to python-blosc2"
    );
    // python-blosc2 refuses at most 7 of the arrays. The refused arrays are all in the corpus.
    assert!(jobs.len() - same <= 7 && same >= 8);
}

/// A process that holds an array open with python-blosc2, with locks.
struct Other {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Other {
    fn open(path: &Path, locking: &str) -> Self {
        let mut command = python("hold_open.py");
        let mut child =
            command.arg(path).arg(locking).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, input, lines }
    }

    /// Sends a word, and returns the answer.
    fn ask(&mut self, word: &str) -> String {
        writeln!(self.input, "{word}").unwrap();
        self.lines.next().unwrap().unwrap()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn a_process_that_locks_is_not_disturbed_and_sees_the_change() {
    for name in ["int32_3x5.b2nd", "sparse.b2nd"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        copy_tree(&data().join(name), &path);
        let mut other = Other::open(&path, "locks");
        let shape = Frame::open(&path).unwrap().array().unwrap().unwrap().shape().to_vec();
        let larger: Vec<i64> = shape.iter().map(|items| items + 1).collect();
        assert_eq!(other.ask("shape"), format!("{shape:?}"));

        assert_eq!(other.ask("lock"), "locked");
        let mut frame = Frame::open(&path).unwrap();
        for result in [frame.edit().shape(&larger).apply(), Rewrite::new(&path, &path).apply().map(drop)] {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Locked);
        }
        assert_eq!(other.ask("unlock"), "unlocked");

        let sum = other.ask("sum");
        frame.edit().shape(&larger).apply().unwrap();
        assert_eq!(other.ask("shape"), format!("{larger:?}"));
        // The resize has added items. They are zeros, so the sum is the same as before.
        assert_eq!(other.ask("sum"), sum);
        let dtype = Frame::open(&path).unwrap().header().typesize;
        Rewrite::new(&path, &path).dtype(format!("[('an_item', '>i{dtype}')]")).apply().unwrap();
        assert_eq!(other.ask("sum"), sum);
        assert_eq!(other.ask("shape"), format!("{larger:?}"));
        println!("{name}: a process with a lock saw {shape:?}, then {larger:?}");
    }
}

/// Without locks, C-Blosc2 notices a commit only if the length of the frame changes. In a sparse frame the length often
/// stays the same, so C-Blosc2 can return older items.
#[test]
fn a_process_without_locks_sees_no_items_that_the_array_never_had() {
    // The first row is for contiguous frames, the second for sparse frames. Each row has three counts of answers: with
    // the items of the newest commit, with the items of an older commit, and with an error.
    let mut seen = [[0; 3]; 2];
    for case in 0..16 {
        let (is_sparse, has_read, kind) = (case & 1 == 1, case & 2 == 2, case >> 2);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("array.b2nd");
        // Items that differ between chunks and between commits.
        let items = |commit: u32, count: u32| -> Vec<u8> {
            (0..count).flat_map(|item| (commit * 1000 + item).to_le_bytes()).collect()
        };
        let shapes = Shapes { shape: &[8, 6], chunkshape: &[2, 3], blockshape: &[2, 2] };
        let builder = FrameBuilder::new(Meta::new(shapes, "<u4").unwrap());
        let created = if is_sparse { builder.create_sparse(&path) } else { builder.create(&path) };
        let mut array = created.unwrap().into_array_writer().unwrap();
        array.write(&[0..8, 0..6], &items(1, 48)).unwrap();
        array.finish().unwrap().persist().unwrap();
        let mut other = Other::open(&path, "no locks");
        let mut versions = vec![hex(&items(1, 48))];
        if has_read {
            assert_eq!(other.ask("items"), versions[0]);
        }
        for commit in 2..12 {
            let mut update = ArrayUpdate::open(&path).unwrap();
            // `kind` determines what each commit does: it writes one chunk, writes several chunks, appends a row, or
            // appends a column.
            let row = u64::from(commit) % 4 * 2;
            match kind {
                0 => update.write(&[row..row + 2, 0..3], &items(commit, 6)),
                1 => update.write(&[row..8, 0..6], &items(commit, (8 - u32::try_from(row).unwrap()) * 6)),
                2 => update.append(0, &items(commit, 6)),
                _ => update.append(1, &items(commit, 8)),
            }
            .unwrap();
            update.flush().unwrap();
            drop(update);
            versions.push(hex(&Array::open(&path).unwrap().whole().read().unwrap()));
            let answer = other.ask("items");
            let what = if versions.last() == Some(&answer) {
                0
            } else if versions.contains(&answer) {
                1
            } else {
                assert!(answer.starts_with("error: "), "case {case}, commit {commit}: {answer}");
                2
            };
            seen[usize::from(is_sparse)][what] += 1;
        }
    }
    println!(
        "a process without locks saw the new array, an old one, or an error: {seen:?} times, sparse second"
    );
    assert_eq!(seen[0][0], 80);
}
