//! Tests that find, read, check and change frames.

#[cfg(feature = "compress")]
mod arrays;
mod change;
mod check;
mod chunk_data;
mod chunk_files;
mod chunk_headers;
mod chunk_vectors;
mod chunks;
#[cfg(feature = "compress")]
mod commits;
mod derived;
mod dump;
#[cfg(feature = "decompress")]
mod embedded;
mod failing;
mod frame_type;
mod frames;
mod geometry;
mod inside;
#[cfg(feature = "compress")]
mod lost_pages;
mod magic;
mod object_kind;
mod peers;
mod reading;
mod real_files;
mod rewrite;
mod salvage;
mod salvage_claims;
#[cfg(feature = "decompress")]
mod slices;
mod store;
#[cfg(feature = "compress")]
mod update;
mod vectors;
mod writing;

use std::fmt::Debug;
#[cfg(target_os = "linux")]
use std::fs;
use std::io::{Cursor, Read, Seek};
use std::path::PathBuf;

use b2nd_frame::{Check, Error, ErrorKind, Finding, Frame};

/// Opens the frame at the start of these bytes, which must be valid.
#[track_caller]
fn opened<B: AsRef<[u8]>>(file: B) -> Frame<Cursor<B>> {
    Frame::read_at(Cursor::new(file), 0).unwrap()
}

/// The offset of the chunk index in a contiguous frame.
#[track_caller]
fn index_start(frame: &[u8]) -> usize {
    let header = Frame::parse(frame).unwrap().header().clone();
    header.header_len + usize::try_from(header.cbytes).unwrap()
}

/// The number of read calls that this thread has made, if the system counts them.
#[cfg(target_os = "linux")]
fn reads() -> Option<u64> {
    let counts = fs::read_to_string("/proc/thread-self/io").ok()?;
    counts.lines().find_map(|line| line.strip_prefix("syscr: ")?.parse().ok())
}

/// The findings of a check that does not read the chunks of the frame.
#[track_caller]
fn findings<R: Read + Seek>(frame: &mut Frame<R>) -> Vec<Finding> {
    Check::default().run(frame).unwrap().findings
}

/// Asserts that a result is an error of this kind, and returns its message.
#[track_caller]
fn refused<T: Debug>(kind: ErrorKind, result: Result<T, Error>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    error.to_string()
}

/// Asserts that a result is an error of the kind `Locked`, and returns the path of the lock file in it.
#[track_caller]
fn locked<T: Debug>(result: Result<T, Error>) -> PathBuf {
    let error = result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
    error.path().unwrap().into()
}

/// Compares a text with the snapshot of this name.
#[track_caller]
fn snapshot(name: &str, text: &str) {
    insta::with_settings!({
        snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots"),
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, text);
    });
}
