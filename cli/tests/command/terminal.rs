//! The command at a terminal: what a person sees while it works, and when it is stopped.

#![cfg(unix)]

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::common::data;
use crate::run::{b2nd, folder, let_through, run, text};
use pty_process::blocking::{Command as Started, Pts, Pty};
use signal_hook::consts::SIGINT;

/// The command, whose streams are a terminal unless they are set later, and both ends of that terminal.
fn at_terminal(folder: &Path, arguments: &[&str]) -> (Started, Pty, Pts) {
    let (pty, pts) = pty_process::blocking::open().unwrap();
    (Started::from(b2nd(folder, arguments)).env("TERM", "xterm"), pty, pts)
}

/// Progress is shown after one second. A sleep can take longer than this, but never less.
const LONGER_THAN_LONG: Duration = Duration::from_millis(1100);

/// After 200 milliseconds, rows are shown before the widths of all columns are known.
const LONGER_THAN_PATIENCE: Duration = Duration::from_millis(250);

/// A listing that gets its paths one by one, so that a test decides how long it takes.
struct Listing {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Listing {
    /// Also returns the other end of its standard error, which is a terminal.
    fn begin() -> (Self, Pty) {
        let (command, pty, pts) = at_terminal(&data(), &["ls", "--json", "--files-from", "-", "-j", "1"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn(pts).unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        (Self { child, stdout }, pty)
    }

    /// Writes a path to the listing, and waits for the line about it.
    fn list(&mut self, path: &str) -> String {
        writeln!(self.child.stdin.as_ref().unwrap(), "{path}").unwrap();
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line
    }
}

/// All that is written to a terminal until its other end is closed, or until this text was written.
fn screen(pty: &mut Pty, until: Option<&str>) -> String {
    let mut screen = Vec::new();
    let mut bytes = [0; 1000];
    // On Linux, reading from a terminal whose other end is closed is an error.
    while let Ok(1..) = pty.read(&mut bytes).inspect(|&read| screen.extend(&bytes[..read])) {
        if until.is_some_and(|until| String::from_utf8_lossy(&screen).contains(until)) {
            break;
        }
    }
    String::from_utf8_lossy(&screen).into_owned()
}

#[test]
fn long_work_shows_how_far_it_is_and_leaves_no_trace() {
    let (mut listing, mut pty) = Listing::begin();
    assert!(listing.list("scalar.b2nd").contains(r#""ndim":0"#));
    thread::sleep(LONGER_THAN_LONG);
    assert!(listing.list("rank16.b2nd").contains(r#""ndim":16"#));
    let shown = screen(&mut pty, Some("files: 2"));
    assert!(shown.contains("files: 2, "), "{shown:?}");
    drop(listing.child.stdin.take());
    let rest = screen(&mut pty, None);
    assert!(rest.ends_with("\r\u{1b}[2K"), "the line is taken away: {rest:?}");
    assert!(listing.child.wait().unwrap().success());
}

#[test]
fn an_interrupted_listing_ends_quietly_with_whole_lines() {
    let_through(&[SIGINT]);
    let (mut listing, mut pty) = Listing::begin();
    assert!(listing.list("scalar.b2nd").ends_with("}\n"));
    let pid = listing.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(listing.child.wait().unwrap().signal(), Some(2));
    let mut rest = String::new();
    listing.stdout.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.as_str(), screen(&mut pty, None).as_str()), ("", ""));
}

#[test]
fn a_complaint_has_a_line_of_its_own_beside_the_count_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let output = File::create(folder.path().join("summary")).unwrap();
    let (command, mut pty, pts) = at_terminal(&data(), &["ls", "--summary", "--files-from", "-", "-j", "1"]);
    let mut child = command.stdin(Stdio::piped()).stdout(output).spawn(pts).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "none_yet").unwrap();
    screen(&mut pty, Some("none_yet"));
    thread::sleep(LONGER_THAN_LONG);
    writeln!(stdin, "scalar.b2nd\nnone").unwrap();
    drop(stdin);
    let shown = screen(&mut pty, None);
    assert!(shown.contains("files: "), "{shown:?}");
    let before = shown.split("none: No such file").next().unwrap();
    let line = before.rsplit('\n').next().unwrap().rsplit("\u{1b}[2K").next().unwrap();
    assert!(!line.contains("files:"), "{shown:?}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn rows_are_shown_as_they_come_below_their_header() {
    let (command, mut pty, pts) = at_terminal(&data(), &["ls", "--files-from", "-"]);
    let mut child = command.stdin(Stdio::piped()).spawn(pts).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "none").unwrap();
    screen(&mut pty, Some("none:"));
    thread::sleep(LONGER_THAN_PATIENCE);
    writeln!(stdin, "none_yet\nscalar.b2nd").unwrap();
    // Before the list ends.
    let shown = screen(&mut pty, Some("scalar.b2nd"));
    assert!(shown.contains("SHAPE"), "{shown:?}");
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_terminal_gets_colours_and_a_header_and_a_pipe_does_not() {
    let folder = folder();
    let (command, mut pty, pts) = at_terminal(folder.path(), &["ls", "images"]);
    let mut child = command.spawn(pts).unwrap();
    let shown = screen(&mut pty, None);
    assert!(child.wait().unwrap().success());
    assert!(shown.contains("\u{1b}[1mSHAPE"), "{shown:?}");
    let piped = run(folder.path(), &["ls", "images"]);
    assert!(!text(&piped.stdout).contains('\u{1b}') && !text(&piped.stdout).contains("SHAPE"));
}
