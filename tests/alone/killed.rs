//! A process that is killed while it changes a frame leaves the old one or the new one.

#![cfg(feature = "frame")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{copy_tree, data, header_file, remove};
use b2nd_serde::frame::{Frame, Rewrite};

/// The process that the tests below kill. It changes the frame in place, rewrites it in place, or copies it to new names
/// in a folder, on and on, to one of two states and back.
#[test]
fn the_process_that_is_killed() {
    let Some(path) = std::env::var_os("B2ND_PATH").map(PathBuf::from) else { return };
    let how = std::env::var("B2ND_HOW").unwrap();
    let mut frame = Frame::open(&path).unwrap();
    let (shapes, dtypes) = (two_shapes(&frame), two_dtypes(&frame));
    println!("begun");
    for number in 0.. {
        match &*how {
            "change" => frame.edit().shape(&shapes[number % 2]).apply().unwrap(),
            "rewrite" => drop(Rewrite::new(&path, &path).dtype(&dtypes[number % 2]).apply().unwrap()),
            folder => {
                let to = Path::new(folder).join(number.to_string());
                drop(Rewrite::new(&path, to).dtype(&dtypes[number % 2]).apply().unwrap());
            }
        }
    }
}

/// Two shapes of the same chunks.
fn two_shapes<R>(frame: &Frame<R>) -> [Vec<i64>; 2] {
    let geometry = frame.array().unwrap().unwrap().geometry().unwrap();
    let largest: Vec<i64> =
        geometry.extended_shape().iter().map(|&items| items.try_into().unwrap()).collect();
    [largest.iter().map(|items| items - 1).collect(), largest]
}

/// Two dtypes of different lengths.
fn two_dtypes<R>(frame: &Frame<R>) -> [String; 2] {
    let typesize = frame.header().typesize;
    [format!("<u{typesize}"), format!("[('an_item', '<u{typesize}')]")]
}

/// Kills the process some time after it has begun, in which it has made a few steps of this duration.
fn kill(path: &Path, how: &Path, step: Duration) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::the_process_that_is_killed", "--nocapture"])
        .env("B2ND_PATH", path)
        .env("B2ND_HOW", how)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().ends_with("begun")));
    std::thread::sleep(step.mul_f64(fastrand::f64() * 6.0));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A copy of a file of the project, with many bytes before its trailer, so that it takes some time to write.
fn large(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    copy_tree(&data().join(name), &path);
    let mut file = fs::read(header_file(&path)).unwrap();
    let at = file.len() - 35;
    file.splice(at..at, std::iter::repeat_n(0xaa, 1 << 20));
    let frame_len = file.len() as u64;
    file[16..24].copy_from_slice(&frame_len.to_be_bytes());
    fs::write(header_file(&path), file).unwrap();
    path
}

/// All files of a frame.
fn files(path: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let in_directory = |entry: io::Result<fs::DirEntry>| {
        let name = entry.unwrap().file_name();
        (name.clone(), fs::read(path.join(name)).unwrap())
    };
    match fs::read_dir(path) {
        Ok(entries) => entries.map(in_directory).collect(),
        Err(_) => [("".into(), fs::read(path).unwrap())].into(),
    }
}

/// Removes what a killed process has left, and says how much it was.
fn sweep(folder: &Path) -> usize {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<_> = names.filter(|name| name.starts_with(".b2nd-")).collect();
    for name in &left {
        remove(&folder.join(name));
    }
    left.len()
}

/// On a busy machine a process may be killed at the same moment many times.
const MOST_KILLS: usize = 1000;

/// How often each of two states was found.
struct Seen<'s> {
    states: &'s [BTreeMap<OsString, Vec<u8>>; 2],
    times: [usize; 2],
}

impl Seen<'_> {
    fn both(&self) -> bool {
        self.times.iter().all(|&times| times > 0)
    }

    fn look(&mut self, path: &Path) {
        let now = files(path);
        let state = self.states.iter().position(|state| *state == now);
        self.times[state.unwrap_or_else(|| panic!("{} is in neither state", path.display()))] += 1;
    }
}

#[test]
fn a_change_in_place_is_whole_or_has_not_been() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["int32_3x5.b2nd", "sparse.b2nd"] {
        let path = folder.path().join(name);
        copy_tree(&data().join(name), &path);
        let mut frame = Frame::open(&path).unwrap();
        let start = Instant::now();
        let states = two_shapes(&frame).map(|shape| {
            frame.edit().shape(&shape).apply().unwrap();
            files(&path)
        });
        let step = start.elapsed() / 2;
        let mut seen = Seen { states: &states, times: [0; 2] };
        for kills in 0..MOST_KILLS {
            if kills >= 100 && seen.both() {
                break;
            }
            kill(&path, Path::new("change"), step);
            seen.look(&path);
        }
        println!("{name} killed: {:?} in the two states", seen.times);
        assert!(seen.both(), "killed at one moment only");
    }
}

/// A frame, what it is after a copy with either of two dtypes, and how long a copy takes.
fn rewritten(folder: &Path, name: &str) -> (PathBuf, [BTreeMap<OsString, Vec<u8>>; 2], Duration) {
    let path = large(folder, name);
    let start = Instant::now();
    let states = two_dtypes(&Frame::open(&path).unwrap()).map(|dtype| {
        let to = folder.join(format!("{name} {dtype}"));
        Rewrite::new(&path, &to).dtype(&dtype).apply().unwrap();
        files(&to)
    });
    let step = start.elapsed() / 2;
    Rewrite::new(&path, &path).dtype(&two_dtypes(&Frame::open(&path).unwrap())[0]).apply().unwrap();
    (path, states, step)
}

#[test]
fn a_rewrite_in_place_is_whole_or_has_not_been() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["int32_3x5.b2nd", "sparse.b2nd"] {
        let (path, states, step) = rewritten(folder.path(), name);
        let mut seen = Seen { states: &states, times: [0; 2] };
        let mut left = 0;
        for kills in 0..MOST_KILLS {
            if kills >= 100 && seen.both() && left > 0 {
                break;
            }
            kill(&path, Path::new("rewrite"), step);
            left += sweep(header_file(&path).parent().unwrap());
            seen.look(&path);
        }
        println!("{name} killed: {:?} in the two states, {left} temporary files left", seen.times);
        assert!(seen.both() && left > 0, "killed at one moment only");
    }
}

#[test]
fn a_copy_is_whole_or_not_there() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["int32_3x5.b2nd", "sparse.b2nd"] {
        let (path, states, step) = rewritten(folder.path(), name);
        let mut seen = Seen { states: &states, times: [0; 2] };
        let mut left = 0;
        for kills in 0..MOST_KILLS {
            if kills >= 40 && seen.both() && left > 0 {
                break;
            }
            let copies = folder.path().join("copies");
            fs::create_dir(&copies).unwrap();
            kill(&path, &copies, step);
            left += sweep(&copies);
            assert!(files(&path) == states[0], "the frame that is copied");
            for copy in fs::read_dir(&copies).unwrap() {
                seen.look(&copy.unwrap().path());
            }
            fs::remove_dir_all(&copies).unwrap();
        }
        println!("{name} killed: {:?} copies of the two states, {left} temporary ones left", seen.times);
        assert!(seen.both() && left > 0, "killed at one moment only");
    }
}
