//! Several commands that change a file at the same time.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;
use std::thread;

use b2nd_frame::{ArrayUpdate, Frame, FrameBuilder};
use b2nd_lab::{copy_tree, data};
use b2nd_serde::{Meta, Shapes};

use crate::run::{b2nd, header, npy, run, text};

/// The names of all vlmetalayers, each of which has its number as its value.
fn values(path: &Path) -> BTreeSet<String> {
    let trailer = Frame::open(path).unwrap().trailer().unwrap();
    trailer
        .vlmetalayers()
        .iter()
        .map(|layer| {
            assert_eq!(layer.name(), format!("k{}", layer.decode::<u32>().unwrap()));
            layer.name().to_owned()
        })
        .collect()
}

#[test]
fn commands_at_the_same_time_lose_nothing() {
    for (name, is_sparse) in [("int32_3x5.b2nd", false), ("sparse.b2nd", true)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.b2nd");
        if is_sparse {
            copy_tree(&data().join(name), &path);
        } else {
            fs::copy(data().join(name), &path).unwrap();
        }
        Frame::open(&path).unwrap();
        let before = values(&path);
        assert!(before.is_empty());
        let columns = Frame::open(&path).unwrap().array().unwrap().unwrap().shape()[1];
        let dtype = Frame::open(&path).unwrap().array().unwrap().unwrap().dtype().unwrap().to_owned();
        let rows = Frame::open(&path).unwrap().array().unwrap().unwrap().shape()[0];
        let typesize = usize::try_from(Frame::open(&path).unwrap().header().typesize).unwrap();
        let row = vec![7; typesize * usize::try_from(columns).unwrap()];
        fs::write(
            folder.path().join("row.npy"),
            npy(&header(&format!("'{dtype}'"), &format!("({columns},)")), &row),
        )
        .unwrap();
        for round in 0..4 {
            let set = |number: u32| format!("k{number}={number}");
            let [first, second] = [2 * round, 2 * round + 1].map(set);
            let commands = [
                &["set", "a.b2nd", "--vlmeta", &first][..],
                &["set", "a.b2nd", "--vlmeta", &second],
                &["convert", "--append", "0", "row.npy", "a.b2nd"],
                &["rewrite", "a.b2nd", "a.b2nd"],
            ];
            let children = commands.map(|arguments| {
                b2nd(folder.path(), arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
            });
            for child in children {
                let output = child.wait_with_output().unwrap();
                assert!(output.status.success(), "{}", text(&output.stderr));
            }
            assert_eq!(values(&path), (0..2 * round + 2).map(|number| format!("k{number}")).collect());
            let shape = Frame::open(&path).unwrap().array().unwrap().unwrap().shape().to_vec();
            assert_eq!(shape[0], rows + 1 + i64::from(round));
        }
        let output = run(folder.path(), &["check", "--data", "a.b2nd"]);
        assert!(output.status.success(), "{}", text(&output.stdout));
    }
}

#[test]
fn a_command_waits_for_another_writer_and_says_for_whom() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.b2nd");
    fs::copy(data().join("int32_3x5.b2nd"), &path).unwrap();
    let before = fs::read(&path).unwrap();
    let update = ArrayUpdate::open(&path).unwrap();
    let commands = [
        &["set", "a.b2nd", "--vlmeta", "k1=1"][..],
        &["set", "a.b2nd", "--dtype", "<u4"],
        &["rewrite", "a.b2nd", "a.b2nd"],
        &["convert", "--append", "0", "a.b2nd", "a.b2nd"],
    ];
    for arguments in commands {
        let output = run(folder.path(), &[arguments, &["--no-wait"]].concat());
        let expected = "b2nd: a.b2nd: another process, or another part of this one, is changing a.b2nd\n";
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), expected));
    }
    assert!(fs::read(&path).unwrap() == before);

    let mut child =
        b2nd(folder.path(), commands[0]).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(line.starts_with("b2nd: a.b2nd: waiting for "), "{line}");
    if cfg!(target_os = "linux") {
        assert!(line.contains(&format!("process {} (", std::process::id())), "{line}");
    }
    drop(update);
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert!(child.wait().unwrap().success(), "{rest}");
    assert_eq!(rest, "");
    assert_eq!(values(&path), BTreeSet::from(["k1".into()]));
}

/// Another program may move the frame as soon as it is changed. The change must not count as failed then: users and
/// scripts would repeat it, and append the items twice.
#[test]
#[cfg(unix)]
fn a_change_succeeds_even_if_the_frame_is_moved_after_its_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.b2nd");
    // All chunks get new items. After its commit, the command removes the old chunk files, which leaves this test time
    // to move the index.
    let meta =
        Meta::new(Shapes { shape: &[200, 1], chunkshape: &[1, 4], blockshape: &[1, 4] }, "|u1").unwrap();
    let mut array = FrameBuilder::new(meta).create_sparse(&path).unwrap().into_array_writer().unwrap();
    array.write(&[0..200, 0..1], &[7; 200]).unwrap();
    array.finish().unwrap().persist().unwrap();
    fs::write(folder.path().join("column.npy"), npy(&header("'|u1'", "(200, 1)"), &[9; 200])).unwrap();
    let (index, moved) = (path.join("chunks.b2frame"), folder.path().join("moved"));
    for arguments in
        [&["convert", "--append", "1", "column.npy", "a.b2nd"][..], &["set", "a.b2nd", "--vlmeta", "k=1"]]
    {
        let before = fs::read(&index).unwrap();
        let mut child =
            b2nd(folder.path(), arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        while fs::read(&index).unwrap() == before && child.try_wait().unwrap().is_none() {
            thread::yield_now();
        }
        fs::rename(&index, &moved).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
        fs::rename(&moved, &index).unwrap();
        assert!(fs::read(&index).unwrap() != before);
    }
}
