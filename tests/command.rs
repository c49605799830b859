//! The command line: what it prints, where, and with which status it ends.

#![cfg(feature = "cli")]

mod common;

use std::fs;
use std::io::Read;
use std::process::{Command, Output, Stdio};

fn b2nd(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_b2nd"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

fn run(arguments: &[&str]) -> Output {
    b2nd(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn info_shows_an_array_as_python_blosc2_does() {
    let output = run(&["info", "tests/data/int32_3x5.b2nd"]);
    common::snapshot("info", text(&output.stdout));
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

#[test]
fn info_shows_several_arrays_with_their_paths() {
    let output = run(&[
        "info",
        "tests/data/scalar.b2nd",
        "tests/data/sparse.b2nd",
        "tests/data/struct_non_ascii.b2nd",
        "tests/data/empty.b2nd",
        "tests/data/rank16.b2nd",
        "tests/data/squeezed.caterva",
    ]);
    common::snapshot("info_several", text(&output.stdout));
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

#[test]
fn a_file_that_is_no_array_gets_one_line_on_stderr_and_status_1() {
    let folder = tempfile::tempdir().unwrap();
    let file = fs::read(common::data().join("int32_3x5.b2nd")).unwrap();
    let with = |at: usize, bytes: &[u8]| {
        let mut file = file.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    let cases: [(&str, &[u8]); 10] = [
        ("empty.b2nd", b""),
        ("zeroed.b2nd", &[0; 600]),
        ("text.b2nd", b"not an array"),
        ("cut_in_magic.b2nd", &file[..5]),
        ("cut_in_header.b2nd", &file[..100]),
        ("cut_in_data.b2nd", &file[..300]),
        ("other_metalayer.b2nd", &with(95, b"x2nd")),
        ("bad_offset.b2nd", &with(100, &[0x7f])),
        ("bad_metalayer.b2nd", &with(116, &[0xd2])),
        ("bad_header.b2nd", &with(87, &[0x94])),
    ];
    let mut lines = String::new();
    for (name, bytes) in cases {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        let output = run(&["info", path.to_str().unwrap()]);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""), "{name}");
        let stderr = text(&output.stderr).replace(folder.path().to_str().unwrap(), "FOLDER");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        lines += &stderr;
    }
    let output = run(&["info", "tests/data/none.b2nd"]);
    assert_eq!(output.status.code(), Some(1));
    lines += text(&output.stderr);
    common::snapshot("info_failures", &lines);
}

#[test]
fn one_bad_file_does_not_hide_the_others() {
    let output = run(&["info", "Cargo.toml", "tests/data/scalar.b2nd"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("dtype   : float64"));
    assert_eq!(text(&output.stderr).lines().count(), 1);
}

#[test]
fn wrong_usage_is_status_2() {
    for arguments in [&[][..], &["info"], &["inform", "x"], &["info", "--no-such-option", "x"]] {
        assert_eq!(run(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let mut child = b2nd(&["info"])
        .args(vec!["tests/data/struct_long.b2nd"; 200])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}
