//! `b2nd rewrite`: a copy in the present format.

use std::ops::ControlFlow;
use std::path::PathBuf;

use b2nd_serde::frame::{Error, ErrorKind, Frame, rewrite_with_progress};
use clap::Args;

use crate::change::{Change, Shown};
use crate::failure::{Failure, Location};
use crate::interrupt::Interrupts;
use crate::output::{Outcome, Progress};

/// Copies an array in the present format, which C-Blosc2 and python-blosc2 open
///
/// Its data is copied as it is. FROM and TO may be the same file.
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd rewrite old.caterva new.b2nd --dtype uint16
  b2nd rewrite --dry-run old.b2nd new.b2nd")]
pub(crate) struct Rewrite {
    /// The file, or the directory of a sparse frame
    from: PathBuf,
    /// The new file or directory
    to: PathBuf,
    /// The type of an item, as NumPy names it: uint16, <u2; needed where the layout has none
    #[arg(long)]
    dtype: Option<String>,
    /// Shows what would change, or why it cannot, and writes nothing
    #[arg(long)]
    dry_run: bool,
    /// Prints a JSON object of the new array
    #[arg(long)]
    json: bool,
}

impl Rewrite {
    pub(crate) fn run(self) -> Outcome {
        let interrupts = Interrupts::hold_back();
        let change = self.change(&interrupts);
        if change.is_err() {
            // By now nothing is left of the new file.
            interrupts.follow();
        }
        Shown { path: &self.to, json: self.json, dry_run: self.dry_run, is_new: true }.show(change)
    }

    fn change(&self, interrupts: &Interrupts) -> Result<Change, Failure> {
        let of_from = |error: Error| Location { path: &self.from, member: None }.failure(error);
        let dtype = self.dtype.as_deref();
        let mut frame = Frame::open(&self.from).map_err(of_from)?;
        let before = Frame::parse(frame.header_bytes()).map_err(of_from)?;
        let after = frame.rewritten(dtype).map_err(of_from)?;
        // Where the old file is to be replaced, it is not open any more.
        drop(frame);
        let mut progress = Progress::of_bytes(before.header().cbytes.unsigned_abs());
        let result = rewrite_with_progress(&self.from, &self.to, dtype, |copied| {
            progress.show(copied);
            if self.dry_run || interrupts.is_caught() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        // Takes it off the screen.
        drop(progress);
        match result {
            Ok(_) => Ok(Change { before, after }),
            Err(error) if error.kind() == ErrorKind::Stopped && self.dry_run => Ok(Change { before, after }),
            // The old file has been read to its end a moment ago.
            Err(error) if matches!(error.kind(), ErrorKind::Io | ErrorKind::Exists) => {
                Err(Location { path: &self.to, member: None }.failure(error))
            }
            Err(error) => Err(of_from(error)),
        }
    }
}
