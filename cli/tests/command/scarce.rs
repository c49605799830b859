//! Commands on a system that refuses threads or memory.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use crate::run::{b2nd, b2nd_under, header, npy, objects, run, text};

/// The threads of the command get stacks of this size, 64 TiB, for which no machine has room. So no thread can start.
const STACK: (&str, &str) = ("RUST_MIN_STACK", "70368744177664");

/// Writes a NumPy file with items that a codec makes a little shorter.
fn write_npy(path: &Path, nbytes: usize) {
    let items: Vec<u8> = (0..nbytes).map(|at| (at * at / 7).to_le_bytes()[0] & 0x3f).collect();
    fs::write(path, npy(&header("'|u1'", &format!("({nbytes},)")), &items)).unwrap();
}

/// Checks that no temporary file is left.
fn check_no_temporary(folder: &Path) {
    for file in fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name();
        assert!(!name.to_string_lossy().starts_with(".b2nd-"), "{}", name.display());
    }
}

#[test]
fn a_command_works_if_no_thread_can_be_started() {
    let folder = tempfile::tempdir().unwrap();
    write_npy(&folder.path().join("a.npy"), 1 << 20);
    let convert = ["convert", "-j", "4", "--chunks", "100000", "a.npy"];
    assert!(run(folder.path(), &[&convert[..], &["threads.b2nd"]].concat()).status.success());
    for arguments in [
        &[&convert[..], &["a.b2nd"]].concat()[..],
        &["convert", "-j", "4", "a.b2nd", "again.npy"],
        &["check", "-j", "4", "--data", "a.b2nd", "threads.b2nd"],
        &["salvage", "-j", "4", "a.b2nd", "salvaged.b2nd"],
        &["cat", "a.b2nd"],
        &["ls", "-j", "4", "."],
    ] {
        let output = b2nd(folder.path(), arguments).env(STACK.0, STACK.1).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    }
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert!(read("a.b2nd") == read("threads.b2nd"));
    assert!(read("a.npy")[64..].ends_with(&read("again.npy")[128..]));
}

#[test]
#[cfg(feature = "remote")]
fn a_remote_command_fails_if_no_thread_can_be_started() {
    let folder = tempfile::tempdir().unwrap();
    let command = &mut b2nd(folder.path(), &["info", "http://127.0.0.1:9/a.b2nd"]);
    let output = command.env(STACK.0, STACK.1).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let message = "b2nd: http://127.0.0.1:9/a.b2nd: cannot start a thread for the network: ";
    assert!(text(&output.stderr).starts_with(message), "{}", text(&output.stderr));
}

#[test]
fn a_command_without_memory_fails_leaves_no_temporary_file_and_finds_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    write_npy(&folder.path().join("a.npy"), 8 << 20);
    // The codec blosclz is in this project. The crate of zstd ends the process if there is no memory for its buffers.
    let convert = ["convert", "--codec", "blosclz", "--chunks", "8388608", "--blocks", "4194304", "a.npy"];
    assert!(run(folder.path(), &[&convert[..], &["a.b2nd"]].concat()).status.success());
    let convert = [&convert[..], &["new.b2nd"]].concat();
    let (mut failed, mut worked) = (0, 0);
    for limit in (40..=96).step_by(8) {
        for arguments in [
            &convert[..],
            &["convert", "a.b2nd", "new.npy"],
            &["convert", "--append", "0", "a.npy", "copy.b2nd"],
            &["cat", "--slice", "::100000", "a.b2nd"],
            &["check", "--data", "--json", "a.b2nd"],
            &["salvage", "--json", "a.b2nd", "salvaged.b2nd"],
        ] {
            fs::copy(folder.path().join("a.b2nd"), folder.path().join("copy.b2nd")).unwrap();
            let limit = format!("ulimit -v {}", limit * 1024);
            // Without threads: the standard library panics if a new thread finds no memory for its signal stack.
            let command = &mut b2nd_under(&limit, folder.path(), arguments);
            let output = command.env(STACK.0, STACK.1).output().unwrap();
            let shown = || format!("{limit} {arguments:?}: {}", text(&output.stderr));
            assert_eq!(output.status.signal(), None, "{}", shown());
            check_no_temporary(folder.path());
            match arguments[0] {
                "check" => {
                    let findings = &objects(&output)[0]["findings"];
                    assert_eq!(findings.as_array().map(Vec::len), Some(0), "{}", shown());
                }
                "salvage" if output.status.success() => assert_eq!(objects(&output)[0]["lost_chunks"], 0),
                "salvage" => {
                    assert_eq!(objects(&output)[0]["chunks"], serde_json::Value::Null, "{}", shown());
                }
                _ if output.status.success() => worked += 1,
                _ => {
                    failed += 1;
                    assert!(text(&output.stderr).contains("memory"), "{}", shown());
                }
            }
            for name in ["new.b2nd", "new.npy", "salvaged.b2nd"] {
                let _ = fs::remove_file(folder.path().join(name));
            }
        }
    }
    assert!(failed > 0 && worked > 0, "{failed} failed, {worked} worked");
}
