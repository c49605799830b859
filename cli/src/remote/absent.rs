//! The replacement of this folder without the feature `remote`: no URL can be read.

use std::io;
use std::iter;
use std::path::{Path, PathBuf};

use crate::problem::Problem;

/// No objects.
pub(crate) type Objects = iter::Empty<Result<PathBuf, Problem>>;

pub(crate) fn open(_: &Path) -> Result<io::Empty, Problem> {
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
