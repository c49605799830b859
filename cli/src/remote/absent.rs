//! Stands in for this folder if the feature `remote` is off: every URL is refused.

use std::io;
use std::iter;
use std::path::{Path, PathBuf};

use crate::problem::Problem;

/// No objects.
pub(crate) type Objects = iter::Empty<Result<PathBuf, Problem>>;

pub(crate) fn open(_: &Path) -> Result<io::Empty, Problem> {
    Err(not_built())
}

/// There is no request to stop.
pub(crate) fn stop() {}

pub(crate) fn list(_: &Path) -> Result<Objects, Problem> {
    Err(not_built())
}

fn not_built() -> Problem {
    let message = "this b2nd was built without support for URLs; `pip install b2nd` and `cargo install b2nd --features remote` have it. If this is a path, begin it with ./";
    Problem::new("unsupported", message)
}
