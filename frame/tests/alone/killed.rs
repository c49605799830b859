//! A process that is killed while it changes a frame leaves the old frame or the new one.
//!
//! The tests end the process in two ways. In some tests, another process kills it at a random moment, so no assertion
//! may depend on the moment. In the other tests, it aborts itself at a given report of progress, so the moment is the
//! same in every run.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use b2nd_frame::{Frame, Rewrite};
use b2nd_lab::{copy_tree, data, header_file, remove, with_gap};

/// The frames that the process changes: a contiguous frame, which is a file, and a sparse frame, which is a folder.
const NAMES: [&str; 2] = ["int32_3x5.b2nd", "sparse.b2nd"];

/// The process that the tests below kill. It changes the frame in place, rewrites it in place, or copies it to new
/// names in a folder, alternating between two states without end. If a number of reports is given, the process aborts
/// at the report of progress with this number.
#[test]
fn the_process_that_dies() {
    let Some(path) = std::env::var_os("B2ND_PATH").map(PathBuf::from) else { return };
    let how = std::env::var("B2ND_HOW").unwrap();
    let mut reports_left: Option<u32> =
        std::env::var("B2ND_REPORTS").ok().map(|count| count.parse().unwrap());
    // Each step opens and closes the frame, because wine does not rename over an open file.
    let open = || Frame::open(&path).unwrap();
    let (shapes, dtypes) = (two_shapes(&open()), two_dtypes(&open()));
    for step in 1.. {
        let mut rewrite = |to: &Path| {
            let rewrite = Rewrite::new(&path, to).dtype(&dtypes[step % 2]).on_progress(|_| {
                match &mut reports_left {
                    Some(0) => std::process::abort(),
                    Some(count) => *count -= 1,
                    None => {}
                }
                ControlFlow::Continue(())
            });
            drop(rewrite.apply().unwrap());
        };
        match &*how {
            "change" => open().edit().shape(&shapes[step % 2]).apply().unwrap(),
            "rewrite" => rewrite(&path),
            folder => rewrite(&Path::new(folder).join(step.to_string())),
        }
        println!("done");
        if reports_left.is_some() {
            return;
        }
    }
}

/// Two shapes for this array. With both shapes, the array has the same number of chunks in each dimension.
fn two_shapes<R>(frame: &Frame<R>) -> [Vec<i64>; 2] {
    let geometry = frame.array().unwrap().unwrap().geometry().unwrap();
    let largest: Vec<i64> =
        geometry.extended_shape().iter().map(|&items| items.try_into().unwrap()).collect();
    [largest.iter().map(|items| items - 1).collect(), largest]
}

/// Two dtypes for this array, whose texts have different lengths.
fn two_dtypes<R>(frame: &Frame<R>) -> [String; 2] {
    let typesize = frame.header().typesize;
    [format!("<u{typesize}"), format!("[('an_item', '<u{typesize}')]")]
}

fn begin(path: &Path, how: &Path, reports: Option<u32>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "killed::the_process_that_dies", "--nocapture"]);
    command.env("B2ND_PATH", path).env("B2ND_HOW", how);
    command.envs(reports.map(|count| ("B2ND_REPORTS", count.to_string())));
    command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// Starts the process, and kills it after it has reported this number of steps.
fn kill_after(steps: usize, path: &Path, how: &Path) {
    let mut child = begin(path, how, None);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let is_done = |line: &io::Result<String>| line.as_ref().unwrap().ends_with("done");
    assert_eq!(lines.filter(is_done).take(steps).count(), steps);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Starts the process so that it aborts after this number of reports of progress. Returns true if it aborted, and false
/// if it ended before that.
fn abort_after(reports: u32, path: &Path, how: &Path) -> bool {
    let mut child = begin(path, how, Some(reports));
    io::copy(&mut child.stdout.take().unwrap(), &mut io::sink()).unwrap();
    !child.wait().unwrap().success()
}

/// The names and contents of all files of a frame.
pub(crate) fn files(path: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let in_directory = |entry: io::Result<fs::DirEntry>| {
        let name = entry.unwrap().file_name();
        (name.clone(), fs::read(path.join(name)).unwrap())
    };
    match fs::read_dir(path) {
        Ok(entries) => entries.map(in_directory).collect(),
        Err(_) => [("".into(), fs::read(path).unwrap())].into(),
    }
}

/// Removes the temporary files of a killed process, and returns their number.
fn sweep(folder: &Path) -> usize {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<_> = names.filter(|name| name.starts_with(".b2nd-")).collect();
    for name in &left {
        remove(&folder.join(name));
    }
    left.len()
}

/// The two states that a frame may have after a kill, and how often each state was found.
struct States {
    files: [BTreeMap<OsString, Vec<u8>>; 2],
    times: [usize; 2],
}

impl States {
    fn new(files: [BTreeMap<OsString, Vec<u8>>; 2]) -> Self {
        assert!(files[0] != files[1]);
        Self { files, times: [0; 2] }
    }

    /// Asserts that a frame has one of the two states, counts this state, and returns its number.
    fn find(&mut self, path: &Path) -> usize {
        let now = files(path);
        let state = self.files.iter().position(|state| *state == now);
        let state = state.unwrap_or_else(|| panic!("{} is in neither state", path.display()));
        self.times[state] += 1;
        state
    }
}

/// The number of processes that are killed for each frame.
const KILLS: usize = 100;

#[test]
fn a_change_in_place_is_whole_or_has_not_been() {
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        let path = folder.path().join(name);
        copy_tree(&data().join(name), &path);
        let mut frame = Frame::open(&path).unwrap();
        let mut states = States::new(two_shapes(&frame).map(|shape| {
            frame.edit().shape(&shape).apply().unwrap();
            files(&path)
        }));
        for kill in 0..KILLS {
            kill_after(1 + kill % 8, &path, Path::new("change"));
            states.find(&path);
        }
        println!("{name} killed: {:?} in the two states", states.times);
    }
}

/// Makes a frame with the first of two dtypes. Returns its path, and its states with the first and with the second
/// dtype.
fn rewritten(folder: &Path, name: &str, gap: usize) -> (PathBuf, States) {
    let path = with_gap(folder, name, gap);
    let dtypes = two_dtypes(&Frame::open(&path).unwrap());
    let states = [0, 1].map(|state| {
        let to = folder.join(format!("{name} {state}"));
        Rewrite::new(&path, &to).dtype(&dtypes[state]).apply().unwrap();
        let files = files(&to);
        remove(&to);
        files
    });
    Rewrite::new(&path, &path).dtype(&dtypes[0]).apply().unwrap();
    (path, States::new(states))
}

#[test]
fn a_rewrite_in_place_that_is_killed_is_whole_or_has_not_been() {
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        let (path, mut states) = rewritten(folder.path(), name, 1 << 20);
        let mut left = 0;
        for kill in 0..KILLS {
            kill_after(1 + kill % 4, &path, Path::new("rewrite"));
            left += sweep(header_file(&path).parent().unwrap());
            states.find(&path);
        }
        println!("{name} killed: {:?} in the two states, {left} temporary files left", states.times);
    }
}

#[test]
fn a_copy_that_is_killed_is_whole_or_not_there() {
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        let (path, mut states) = rewritten(folder.path(), name, 1 << 20);
        let mut left = 0;
        for kill in 0..KILLS {
            let copies = folder.path().join("copies");
            fs::create_dir(&copies).unwrap();
            kill_after(1 + kill % 4, &path, &copies);
            left += sweep(&copies);
            assert!(files(&path) == states.files[0], "the frame that is copied");
            for copy in fs::read_dir(&copies).unwrap() {
                let copy = copy.unwrap().path();
                // At the end of a copy of a sparse frame, the rewrite creates an empty directory at the destination,
                // and replaces it by the complete directory. If the kill comes between these two steps, the empty
                // directory is left. It is not a frame.
                if !copy.is_dir() || !files(&copy).is_empty() {
                    states.find(&copy);
                }
            }
            fs::remove_dir_all(&copies).unwrap();
        }
        println!("{name} killed: {:?} copies of the two states, {left} temporary ones left", states.times);
    }
}

#[test]
fn a_rewrite_that_dies_at_any_report_of_progress_leaves_the_old_frame_and_one_temporary_file() {
    let folder = tempfile::tempdir().unwrap();
    let copies = folder.path().join("copies");
    fs::create_dir(&copies).unwrap();
    for name in NAMES {
        let (path, mut states) = rewritten(folder.path(), name, (8 << 20) + 1);
        for (how, temporary) in [(Path::new("rewrite"), header_file(&path)), (&copies, copies.join("1"))] {
            let mut reports = 0;
            while abort_after(reports, &path, how) {
                assert_eq!(sweep(temporary.parent().unwrap()), 1, "{name}, after {reports} reports");
                assert_eq!(states.find(&path), 0, "{name}, after {reports} reports");
                reports += 1;
            }
            assert!(reports >= 4, "{name}: {reports}");
            assert_eq!(sweep(temporary.parent().unwrap()), 0);
            let new = if how == copies { copies.join("1") } else { path.clone() };
            assert_eq!(states.find(&new), 1);
            let dtypes = two_dtypes(&Frame::open(&path).unwrap());
            Rewrite::new(&path, &path).dtype(&dtypes[0]).apply().unwrap();
        }
        remove(&copies.join("1"));
    }
}
