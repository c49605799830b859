//! What stands for `remote.rs` where the command is built without the feature: no URL can be read.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::failure::Problem;

/// No object.
#[derive(Debug)]
pub(crate) enum Object {}

impl Read for Object {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }
}

impl Seek for Object {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        match *self {}
    }
}

impl Object {
    pub(crate) fn head(&self) -> &[u8] {
        match *self {}
    }
}

/// No objects.
pub(crate) enum Objects {}

impl Iterator for Objects {
    type Item = Result<PathBuf, Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        match *self {}
    }
}

impl Objects {
    pub(crate) fn is_empty(&self) -> bool {
        match *self {}
    }
}

pub(crate) fn open(_: &Path) -> Result<Object, Problem> {
    Err(refused())
}

pub(crate) fn is_prefix(_: &Path) -> bool {
    false
}

/// There is no request to stop.
pub(crate) fn stop() {}

pub(crate) fn list(_: &Path) -> Result<Objects, Problem> {
    Err(refused())
}

fn refused() -> Problem {
    let message = "this b2nd was built without object stores, so it reads no URLs; the one of `pip install b2nd` does, as does `cargo install b2nd --features remote`. A path can begin with ./";
    Problem::new("refused", message)
}
