//! Replaces the module `remote` if the feature `remote` is off. Every URL is refused.

use std::io;
use std::iter;
use std::ops::Range;
use std::path::{Path, PathBuf};

use b2nd_frame::ReadAt;

use crate::code;
use crate::problem::Problem;

/// An iterator without any object.
pub(crate) type Objects = iter::Empty<Result<PathBuf, Problem>>;

/// An object in an object store. Without the feature `remote`, no value of this type exists.
pub(crate) enum Object {}

impl Object {
    pub(crate) fn fetch_all(&self, _: &[(Option<String>, Range<u64>)]) -> Result<Vec<Vec<u8>>, Problem> {
        match *self {}
    }

    pub(crate) fn check_unchanged(&self) -> Result<(), Problem> {
        match *self {}
    }
}

impl ReadAt for Object {
    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        match *self {}
    }

    fn size(&self) -> io::Result<u64> {
        match *self {}
    }
}

pub(crate) fn open(_: &Path) -> Result<Object, Problem> {
    Err(not_built())
}

/// Does nothing, because without the feature `remote` there are no requests to stop.
pub(crate) fn stop() {}

pub(crate) fn list(_: &Path) -> Result<Objects, Problem> {
    Err(not_built())
}

fn not_built() -> Problem {
    let message = "this b2nd was built without support for URLs; `pip install b2nd` and `cargo install b2nd --features remote` have it. If this is a path, begin it with ./";
    Problem::new(code::UNSUPPORTED, message)
}
