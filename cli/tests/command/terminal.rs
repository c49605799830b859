//! The command at a terminal: progress, messages and interruption.

#![cfg(unix)]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdout, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use crate::run::{b2nd, folder, let_through, run, send, snapshot, text};
use b2nd_lab::data;
use pty_process::blocking::{Command as Started, Pts, Pty};
use signal_hook::consts::SIGINT;

/// The command, whose streams are a terminal unless they are set later, and both ends of that terminal.
fn at_terminal(folder: &Path, arguments: &[&str]) -> (Started, Pty, Pts) {
    at_terminal_of(80, folder, arguments)
}

/// The same as `at_terminal`, but the terminal has `width` columns.
fn at_terminal_of(width: u16, folder: &Path, arguments: &[&str]) -> (Started, Pty, Pts) {
    let (pty, pts) = pty_process::blocking::open().unwrap();
    pty.resize(pty_process::Size::new(24, width)).unwrap();
    (Started::from(b2nd(folder, arguments)).env("TERM", "xterm"), pty, pts)
}

/// All that the command writes to a terminal of this width, and its exit status.
pub(crate) fn at_terminal_to_end(width: u16, folder: &Path, arguments: &[&str]) -> (String, ExitStatus) {
    let (command, mut pty, pts) = at_terminal_of(width, folder, arguments);
    let mut child = command.spawn(pts).unwrap();
    let shown = screen(&mut pty, None);
    (shown, child.wait().unwrap())
}

/// A time longer than one second. After one second, a command shows its progress.
const LONGER_THAN_LONG: Duration = Duration::from_millis(1100);

/// A time longer than 200 milliseconds. `ls` holds rows back to align their columns, but at a terminal no longer than
/// 200 milliseconds.
const LONGER_THAN_PATIENCE: Duration = Duration::from_millis(250);

/// A listing that gets its paths one by one, so that a test decides how long it takes.
struct Listing {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Listing {
    /// Starts a listing. Its standard error is a terminal, whose other end is returned too.
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
pub(crate) fn screen(pty: &mut Pty, until: Option<&str>) -> String {
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
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("objects");
    let arguments = ["ls", "--json", "--files-from", "-", "-j", "1"];
    let (command, mut pty, pts) = at_terminal(&data(), &arguments);
    let command = command.stdin(Stdio::piped()).stdout(File::create(&output).unwrap());
    let mut child = command.spawn(pts).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "scalar.b2nd").unwrap();
    while fs::metadata(&output).unwrap().len() == 0 {
        thread::sleep(Duration::from_millis(10));
    }
    thread::sleep(LONGER_THAN_LONG);
    writeln!(stdin, "rank16.b2nd").unwrap();
    let shown = screen(&mut pty, Some("files: 2, "));
    assert!(shown.contains("files: 2, "), "{shown:?}");
    drop(stdin);
    let rest = screen(&mut pty, None);
    assert!(rest.ends_with("\r\u{1b}[2K"), "the line is taken away: {rest:?}");
    assert!(child.wait().unwrap().success());
    assert_eq!(fs::read_to_string(output).unwrap().lines().count(), 2);
}

#[test]
fn no_progress_runs_into_what_the_reader_of_a_pipe_shows() {
    let (mut listing, mut pty) = Listing::begin();
    assert!(listing.list("scalar.b2nd").contains(r#""ndim":0"#));
    thread::sleep(LONGER_THAN_LONG);
    assert!(listing.list("rank16.b2nd").contains(r#""ndim":16"#));
    drop(listing.child.stdin.take());
    assert!(listing.child.wait().unwrap().success());
    assert_eq!(screen(&mut pty, None), "");
}

#[test]
fn an_interrupted_listing_ends_quietly_with_whole_lines() {
    let_through(&[SIGINT]);
    let (mut listing, mut pty) = Listing::begin();
    assert!(listing.list("scalar.b2nd").ends_with("}\n"));
    send(SIGINT, &listing.child);
    assert_eq!(listing.child.wait().unwrap().signal(), Some(2));
    let mut rest = String::new();
    listing.stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
    let shown = screen(&mut pty, None);
    assert_eq!(shown, "");
}

/// Sends an interrupt once. Returns the signal that ended the command; `None` if the signal did not end it.
fn interrupted(child: &mut Child) -> Option<i32> {
    send(SIGINT, child);
    signal_of(child)
}

/// The signal that ended the command; `None` if it still ran after ten seconds and was killed.
fn signal_of(child: &mut Child) -> Option<i32> {
    for _ in 0..200 {
        if let Some(status) = child.try_wait().unwrap() {
            return status.signal();
        }
        thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

#[test]
fn a_command_that_waits_for_input_ends_with_one_interrupt() {
    let_through(&[SIGINT]);
    let folder = folder();
    let list = ["salvage", "--into", "saved", "--files-from", "-"];
    let ends = [&["rewrite", "-", "new.b2nd"][..], &["salvage", "-", "new.b2nd"], &list].map(|arguments| {
        let (command, mut pty, pts) = at_terminal(folder.path(), arguments);
        let mut child = command.spawn(pts).unwrap();
        assert!(screen(&mut pty, Some("Ctrl-D")).contains("reading"));
        interrupted(&mut child)
    });
    assert_eq!(ends, [Some(SIGINT); 3]);
    // A signal also ends the command if it has finished a file and waits for the path of the next file. While it worked
    // on the file, signals were deferred.
    let mut command = b2nd(folder.path(), &list);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    writeln!(child.stdin.as_ref().unwrap(), "scalar.b2nd").unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("1 of 1 chunk saved"), "{line}");
    assert_eq!(interrupted(&mut child), Some(SIGINT));
}

/// One thread reads a frame from a server, which delays its answer until the signal was sent. Another thread waits for
/// the next address of the list.
#[cfg(feature = "remote")]
#[test]
fn an_interrupted_salvage_does_not_wait_for_its_list_and_leaves_nothing() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    use std::time::Instant;

    use crate::server::{Objects, Server, answer};

    let_through(&[SIGINT]);
    let folder = tempfile::tempdir().unwrap();
    let saved = folder.path().join("saved");
    let objects: Objects = [("bucket/a.b2nd".into(), crate::remote::large_array())].into();
    let [reads, is_sent] = [(); 2].map(|()| Arc::<AtomicBool>::default());
    let (is_reading, may_go_on, path) = (reads.clone(), is_sent.clone(), saved.clone());
    let server = Server::start(move |name, range| {
        // At this request, the new file exists already, but its data has not been read.
        if fs::read_dir(&path).is_ok_and(|files| files.count() > 0) {
            is_reading.store(true, SeqCst);
            while !may_go_on.load(SeqCst) {
                thread::sleep(Duration::from_millis(10));
            }
        }
        answer(&objects, 100, name, range)
    });
    let mut command = server.command(&["salvage", "--into", saved.to_str().unwrap(), "--files-from", "-"]);
    let command = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    writeln!(child.stdin.as_ref().unwrap(), "s3://bucket/a.b2nd").unwrap();
    let start = Instant::now();
    while !reads.load(SeqCst) {
        let is_reading = child.try_wait().unwrap().is_none() && start.elapsed() < Duration::from_secs(600);
        assert!(is_reading, "no data was read after the new file was there");
        thread::sleep(Duration::from_millis(10));
    }
    send(SIGINT, &child);
    // The signal is deferred, so the command must still be running.
    thread::sleep(Duration::from_millis(200));
    assert!(child.try_wait().unwrap().is_none());
    is_sent.store(true, SeqCst);
    assert_eq!(signal_of(&mut child), Some(SIGINT));
    assert!(!saved.exists());
}

#[test]
fn a_salvage_shows_how_far_it_is_unless_the_terminal_shows_its_results() {
    let folder = folder();
    let progress = [(false, false), (false, true), (true, false)].map(|(shows_results, checks_first)| {
        let arguments = ["salvage", "--into", "saved", "--files-from", "-", "-j", "1", "--damaged"];
        let arguments = if checks_first { &arguments } else { &arguments[..7] };
        let (command, mut pty, pts) = at_terminal(folder.path(), arguments);
        let command = command.stdin(Stdio::piped());
        let command = if shows_results { command } else { command.stdout(Stdio::null()) };
        let mut child = command.spawn(pts).unwrap();
        let mut stdin = child.stdin.take().unwrap();
        writeln!(stdin, "none").unwrap();
        screen(&mut pty, Some("none:"));
        thread::sleep(LONGER_THAN_LONG);
        writeln!(stdin, "images/2024/a.b2nd").unwrap();
        drop(stdin);
        let shown = screen(&mut pty, None);
        assert_eq!(child.wait().unwrap().code(), Some(1), "{shown:?}");
        fs::remove_dir_all(folder.path().join("saved")).unwrap_or_default();
        shown.contains(" B, ")
    });
    assert_eq!(progress, [true, true, false]);
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
    // The rows are shown before the list ends.
    let shown = screen(&mut pty, Some("scalar.b2nd"));
    assert!(shown.contains("SHAPE"), "{shown:?}");
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_terminal_gets_colours_and_a_header_and_a_pipe_does_not() {
    let folder = folder();
    let (shown, status) = at_terminal_to_end(80, folder.path(), &["ls", "images"]);
    assert!(status.success());
    assert!(shown.contains("\u{1b}[1mSHAPE"), "{shown:?}");
    let piped = run(folder.path(), &["ls", "images"]);
    assert!(!text(&piped.stdout).contains('\u{1b}') && !text(&piped.stdout).contains("SHAPE"));
}

#[test]
fn a_terminal_lists_the_codes_whole_and_cuts_their_meanings() {
    let lines = |width| {
        let shown = shown_at(width, &["explain"]);
        shown.lines().map(|line| line.trim_end().to_string()).collect::<Vec<_>>()
    };
    let (narrow, wide) = (lines(40), lines(60));
    assert_eq!(narrow.len(), wide.len());
    for (narrow, wide) in narrow.iter().zip(&wide) {
        let [code, severity] = [0, 1].map(|word| narrow.split_whitespace().nth(word).unwrap());
        assert!(wide.split_whitespace().take(2).eq([code, severity]), "{narrow}");
        assert!(narrow.chars().count() <= 40 && wide.chars().count() <= 60, "{wide}");
    }
}

/// The output at a terminal of this width, without colours.
fn shown_at(width: u16, arguments: &[&str]) -> String {
    let (shown, _) = at_terminal_to_end(width, &data(), arguments);
    let shown = anstream::adapter::strip_str(&shown).to_string().replace("\r\n", "\n");
    // On a slow machine, the command shows a spinner. Its line is overwritten later, so only the text after the last
    // `\r` counts.
    shown.split('\n').map(|line| line.rsplit('\r').next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

#[test]
fn lines_are_broken_between_words_at_a_terminal_only() {
    let cases: [&[&str]; 3] =
        [&["info", "README.md"], &["check", "rank16.b2nd"], &["info", "peers/proxy.b2nd"]];
    for arguments in cases {
        let shown = shown_at(40, arguments);
        let long = shown.lines().find(|line| line.chars().count() > 40);
        // `info` does not break a line that is not prose.
        assert!(long.is_none_or(|line| line.starts_with("frame   :")), "{arguments:?}: {shown}");
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let output = run(&data(), arguments);
        let piped = [text(&output.stdout), text(&output.stderr)].concat();
        if arguments[0] != "info" || arguments[1] == "README.md" {
            assert_eq!(words(&shown), words(&piped), "{arguments:?}");
        }
    }
    let output = run(&data(), &["info", "README.md"]);
    assert_eq!(text(&output.stderr).lines().count(), 1);
    let shown = shown_at(40, &["info", "README.md"]);
    assert!(
        shown.lines().count() > 1 && shown.lines().skip(1).all(|line| line.starts_with("      ")),
        "{shown}"
    );
}

#[test]
fn rows_are_broken_between_columns_at_a_terminal_only_and_addresses_stay_whole() {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    for width in [40, 80] {
        for arguments in [
            &["ls", "--all", "."][..],
            &["ls", "--all", "--long", "--sort", "path", "."],
            &["ls", "--summary", "."],
            &["chunks", "sparse.b2nd"],
        ] {
            let shown = shown_at(width, arguments);
            // A line of one or two cells may be wider than the terminal: an address, for example, is not broken.
            let is_whole = |line: &str| line.trim_start().split("  ").count() <= 2;
            let long = shown.lines().find(|line| line.chars().count() > width.into() && !is_whole(line));
            assert_eq!(long, None, "{arguments:?}");
            assert!(!shown.lines().any(|line| line.ends_with(' ')), "{arguments:?}: {shown}");
            let output = run(&data(), arguments);
            let piped = words(&[text(&output.stdout), text(&output.stderr)].concat());
            let mut shown = words(&shown);
            shown.retain(|word| word != "SHAPE" || arguments.contains(&"--summary"));
            assert!(piped.iter().all(|word| shown.contains(word)), "{arguments:?}");
        }
    }
    snapshot("narrow_ls", &shown_at(40, &["ls", "scalar.b2nd", "tree.b2z"]));
}

#[test]
fn a_value_of_a_metalayer_fits_the_terminal() {
    let shown = shown_at(40, &["info", "vlmetalayers.b2nd"]);
    assert!(shown.contains("\nvlmeta  : note = \"xxxxxxxx… (1002 bytes)\n"), "{shown}");
    let shown = shown_at(120, &["info", "vlmetalayers.b2nd"]);
    assert!(shown.contains(&format!("note = \"{}… (1002 bytes)\n", "x".repeat(88))), "{shown}");
    let shown = shown_at(40, &["diff", "int32_3x5.b2nd", "vlmetalayers.b2nd"]);
    assert!(shown.lines().all(|line| line.chars().count() <= 40), "{shown}");
}

#[test]
fn a_dump_has_colours_and_the_same_lines() {
    let (shown, status) =
        at_terminal_to_end(80, &data(), &["dump", "--chunks", "--trailer", "int32_3x5.b2nd"]);
    assert!(status.success());
    assert!(shown.contains("       \u{1b}[1mheader_len\u{1b}[0m     165\r\n"), "{}", &shown[..900]);
    let plain = anstream::adapter::strip_str(&shown).to_string().replace("\r\n", "\n");
    assert_eq!(plain, text(&run(&data(), &["dump", "--chunks", "--trailer", "int32_3x5.b2nd"]).stdout));
    assert!(plain.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn a_command_that_waits_for_a_terminal_says_so_and_ends_with_one_ctrl_d() {
    for (arguments, what) in [
        (&["dump"][..], "reading bytes or hexadecimal digits from the terminal; end the input with Ctrl-D"),
        (&["decode"], "reading bytes or hexadecimal digits from the terminal; end the input with Ctrl-D"),
        (&["info", "-"], "reading the bytes of a frame from the terminal; end the input with Ctrl-D"),
        (&["ls", "--files-from", "-"], "reading paths from the terminal; end the input with Ctrl-D"),
    ] {
        let (command, mut pty, pts) = at_terminal(&data(), arguments);
        let mut child = command.spawn(pts).unwrap();
        let shown = screen(&mut pty, Some("Ctrl-D"));
        let words: Vec<_> = shown.split_whitespace().collect();
        assert!(words.join(" ").contains(what), "{shown:?}");
        pty.write_all(b"\x04").unwrap();
        screen(&mut pty, None);
        child.wait().unwrap();
    }
    let piped = crate::run::run_with(b"", &data(), &["decode"]);
    assert!(!text(&piped.stderr).contains("Ctrl-D"));
}
