//! A rewrite reports its progress, and leaves no files if it is stopped.

use std::fs;
use std::ops::ControlFlow::{Break, Continue};
use std::path::{Path, PathBuf};

use b2nd_frame::{Check, ErrorKind, Frame, Rewrite, check};
use b2nd_lab::{copy_tree, data, header_file, with_gap};

/// The length of a gap in the frame. With this gap, the frame is so long that it is copied in several pieces.
const GAP: usize = (8 << 20) + 1;

fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

#[test]
fn progress_begins_at_none_and_ends_at_all() {
    let folder = tempfile::tempdir().unwrap();
    for (name, chunk_files) in [("int32_3x5.b2nd", 0), ("sparse.b2nd", 80 * 3 + 76)] {
        let path = with_gap(folder.path(), name, GAP);
        let behind_header = fs::metadata(header_file(&path)).unwrap().len() - 165;
        for to in [&path, &folder.path().join("copy")] {
            let mut reports = Vec::new();
            Rewrite::new(&path, to)
                .on_progress(|bytes| {
                    reports.push(bytes);
                    Continue(())
                })
                .apply()
                .unwrap();
            let all = behind_header + if to == &path { 0 } else { chunk_files };
            assert_eq!((reports.first(), reports.last()), (Some(&0), Some(&all)), "{name}");
            assert!(reports.is_sorted() && reports.len() >= 5, "{name}: {reports:?}");
        }
        b2nd_lab::remove(&folder.path().join("copy"));
    }
}

#[test]
fn wherever_it_is_stopped_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["int32_3x5.b2nd", "sparse.b2nd"] {
        let path = with_gap(folder.path(), name, GAP);
        let file = header_file(&path);
        let (before, left) =
            (fs::read(&file).unwrap(), [names(folder.path()), names(file.parent().unwrap())]);
        for to in [&path, &folder.path().join("copy")] {
            let mut stop_at = 0;
            loop {
                let mut reports = 0;
                let result = Rewrite::new(&path, to)
                    .on_progress(|_| {
                        reports += 1;
                        if reports > stop_at { Break(()) } else { Continue(()) }
                    })
                    .apply();
                match result {
                    Ok(_) => break,
                    Err(error) => assert_eq!(error.kind(), ErrorKind::Stopped, "{error}"),
                }
                assert_eq!([names(folder.path()), names(file.parent().unwrap())], left, "{name}: {stop_at}");
                assert!(fs::read(&file).unwrap() == before);
                stop_at += 1;
            }
            assert!(stop_at >= 5, "{name}: stopped at {stop_at} places only");
        }
        b2nd_lab::remove(&folder.path().join("copy"));
    }
}

#[test]
fn the_frame_that_is_given_back_is_the_one_that_opens() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["int32_3x5.b2nd", "sparse.b2nd"] {
        let path = folder.path().join(name);
        copy_tree(&data().join(name), &path);
        for to in [path.clone(), folder.path().join("copy"), header_file(&path)] {
            let mut frame = Rewrite::new(&path, &to).apply().unwrap();
            let opened = Frame::open(&to).unwrap();
            assert_eq!(frame.path(), opened.path());
            assert_eq!(frame.header_bytes(), opened.header_bytes());
            assert_eq!(Check::default().run(&frame).unwrap().findings, []);
            assert_eq!(check(&to).unwrap().findings, []);
            // The new frame can be edited right away.
            frame.edit().metalayer("b2nd", opened.metalayers()[0].bytes()).apply().unwrap();
        }
        b2nd_lab::remove(&folder.path().join("copy"));
    }
}
