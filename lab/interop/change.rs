//! Tests with arrays that this project changes while python-blosc2 has them open. Without locks, python-blosc2 may read
//! the data of an older commit, or fail, but it must never read data that the array never had.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use crate::python;
use b2nd_frame::b2nd_serde::{Meta, Shapes};
use b2nd_frame::{Array, ArrayUpdate, ErrorKind, Frame, FrameBuilder, Rewrite};
use b2nd_lab::vectors::hex;
use b2nd_lab::{copy_tree, data};

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
