//! If a process is killed while it changes the items of an array, the array has the items of exactly one commit.
//!
//! The kill comes from another process at a random moment, so no assertion may depend on the moment.

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use b2nd_frame::{Array, ArrayUpdate, Check, CheckDepth, FrameBuilder, Severity};
use b2nd_serde::{Meta, Shapes};

/// The process that the test below kills. Each commit changes all items, the shape and a vlmetalayer.
#[test]
fn the_process_that_commits() {
    let Some(path) = std::env::var_os("B2ND_COMMITS").map(PathBuf::from) else { return };
    println!("begins");
    let mut update = ArrayUpdate::open(path).unwrap();
    loop {
        let [rows] = *update.meta().shape() else { panic!("one dimension") };
        // The array grows by one row in each commit. When it has 40 rows, it becomes empty.
        let rows = if rows == 40 { 0 } else { rows + 1 };
        update.resize(&[rows]).unwrap();
        let items = vec![u8::try_from(rows).unwrap(); usize::try_from(rows).unwrap()];
        let whole = 0..rows.unsigned_abs();
        update.write(std::slice::from_ref(&whole), &items).unwrap();
        update.set_vlmetalayer("rows", &rows).unwrap();
        update.flush().unwrap();
    }
}

/// Asserts that the shape, the items and the vlmetalayer in the file come from the same commit, and returns the number
/// of rows.
fn rows(path: &Path) -> i64 {
    let array = Array::open(path).unwrap();
    let [rows] = *array.shape() else { panic!("one dimension") };
    let items = array.whole().read().unwrap();
    assert!(items.iter().all(|&item| i64::from(item) == rows), "{rows} rows: {items:?}");
    assert_eq!(array.attributes().unwrap().vlmetalayer("rows").unwrap().decode::<i64>().unwrap(), rows);
    let findings = Check::new(CheckDepth::ChunkData).run_path(path).unwrap().findings;
    assert!(findings.iter().all(|finding| finding.severity() == Severity::Warning), "{findings:?}");
    rows
}

/// For more kills, set for example `B2ND_KILLS=500`.
#[test]
fn an_array_whose_writer_is_killed_has_the_items_of_one_commit() {
    let kills = std::env::var("B2ND_KILLS").map_or(40, |kills| kills.parse().unwrap());
    for is_sparse in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.b2nd");
        let shapes = Shapes { shape: &[0], chunkshape: &[7], blockshape: &[3] };
        let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).vlmetalayer("rows", &0);
        let writer = if is_sparse { builder.create_sparse(&path) } else { builder.create(&path) };
        writer.unwrap().finish().unwrap().persist().unwrap();
        let mut found = std::collections::BTreeSet::new();
        for _ in 0..kills {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args(["--exact", "killed_update::the_process_that_commits", "--nocapture"]);
            command.env("B2ND_COMMITS", &path).stdout(Stdio::piped()).stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            let mut lines = BufReader::new(child.stdout.take().unwrap());
            let mut line = String::new();
            while !line.ends_with("begins\n") {
                assert!(lines.read_line(&mut line).unwrap() > 0);
            }
            std::thread::sleep(Duration::from_micros(fastrand::u64(..30_000)));
            child.kill().unwrap();
            io::copy(&mut lines, &mut io::sink()).unwrap();
            child.wait().unwrap();
            found.insert(rows(&path));
        }
        println!("sparse {is_sparse}: {kills} kills left arrays of {found:?} rows");
        // The next commit removes the bytes that the killed process left after the frame.
        let mut update = ArrayUpdate::open(&path).unwrap();
        let rows_now = update.meta().shape()[0];
        update.set_vlmetalayer("rows", &rows_now).unwrap();
        update.flush().unwrap();
        rows(&path);
    }
}
