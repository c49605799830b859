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
mod known_ranges;
#[cfg(feature = "decompress")]
mod linear;
#[cfg(feature = "compress")]
mod lost_pages;
mod magic;
mod object_kind;
#[cfg(feature = "compress")]
mod open_array;
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

use std::cell::{Cell, RefCell};
use std::fmt::Debug;
use std::fs;
use std::io;
use std::path::PathBuf;

#[cfg(feature = "decompress")]
use b2nd_frame::Array;
use b2nd_frame::{Check, Error, ErrorKind, Finding, Frame, ReadAt};

/// Releases the lock of a file. On Windows, errors are ignored, because wine unlocks the file and reports an error.
#[track_caller]
fn unlock(file: &fs::File) {
    let unlocked = file.unlock();
    assert!(unlocked.is_ok() || cfg!(windows), "{unlocked:?}");
}

/// Opens the frame at the start of these bytes, which must be valid.
#[track_caller]
fn opened<R: ReadAt>(file: R) -> Frame<R> {
    Frame::read_at(file, 0).unwrap()
}

/// Opens the array of the frame at the start of these bytes, which must be valid.
#[cfg(feature = "decompress")]
#[track_caller]
fn opened_array<R: ReadAt>(file: R) -> Array<R> {
    Array::new(opened(file)).unwrap()
}

/// The offset of the chunk index in a contiguous frame.
#[track_caller]
fn index_start(frame: &[u8]) -> usize {
    let header = Frame::parse(frame).unwrap().header().clone();
    header.header_len + usize::try_from(header.cbytes).unwrap()
}

/// A file in memory that records how it is read.
struct Recording {
    file: Vec<u8>,
    /// The offset and the length of the buffer of each read.
    reads: RefCell<Vec<(u64, usize)>>,
    /// How many times the length of the file was asked for.
    sizes: Cell<usize>,
}

impl Recording {
    fn new(file: Vec<u8>) -> Self {
        Self { file, reads: RefCell::default(), sizes: Cell::default() }
    }

    /// The lengths of the reads.
    fn lengths(&self) -> Vec<usize> {
        self.reads.borrow().iter().map(|&(_, length)| length).collect()
    }
}

impl ReadAt for Recording {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.reads.borrow_mut().push((offset, buffer.len()));
        self.file.read_at(buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        self.sizes.set(self.sizes.get() + 1);
        self.file.size()
    }
}

/// The number of read calls that this thread has made, if the system counts them.
#[cfg(target_os = "linux")]
fn reads() -> Option<u64> {
    let counts = fs::read_to_string("/proc/thread-self/io").ok()?;
    counts.lines().find_map(|line| line.strip_prefix("syscr: ")?.parse().ok())
}

/// A random range of a dimension with `items` items. Few ranges are empty.
#[cfg(feature = "decompress")]
fn random_range(rng: &mut fastrand::Rng, items: u64) -> std::ops::Range<u64> {
    let least = u64::from(items > 0 && rng.u8(..8) > 0);
    let start = rng.u64(0..=items - least);
    start..rng.u64(start + least..=items)
}

/// The findings of a check that does not read the chunks of the frame.
#[track_caller]
fn findings<R: ReadAt>(frame: &Frame<R>) -> Vec<Finding> {
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
