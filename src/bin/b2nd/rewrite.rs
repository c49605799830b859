//! `b2nd rewrite`: a copy in the present format.

use std::path::PathBuf;

use b2nd_serde::frame::{Error, Frame, rewrite};
use clap::Args;

use crate::Outcome;
use crate::change::{Change, show};

/// Copies an array in the present format, which C-Blosc2 and python-blosc2 open
///
/// Its data is copied as it is. FROM and TO may be the same file.
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd rewrite old.caterva new.b2nd --dtype '<u2'
  b2nd rewrite --dry-run old.b2nd new.b2nd")]
pub(crate) struct Rewrite {
    /// The file, or the directory of a sparse frame
    from: PathBuf,
    /// The new file or directory
    to: PathBuf,
    /// The type of an item, as NumPy writes it; needed where the layout has none
    #[arg(long)]
    dtype: Option<String>,
    /// Shows what would change, and writes nothing
    #[arg(long)]
    dry_run: bool,
    /// Prints a JSON object of the new array
    #[arg(long)]
    json: bool,
}

impl Rewrite {
    pub(crate) fn run(self) -> Outcome {
        let path = if self.dry_run { &self.from } else { &self.to };
        show(path, self.change(), self.json, self.dry_run)
    }

    fn change(&self) -> Result<Change, Error> {
        let mut frame = Frame::open(&self.from)?;
        let before = Frame::parse(frame.header_bytes())?;
        let dtype = self.dtype.as_deref();
        let after = frame.rewritten(dtype)?;
        if !self.dry_run {
            rewrite(&self.from, &self.to, dtype)?;
        }
        Ok(Change { before, after })
    }
}
