//! `b2nd rewrite`: a copy in the present format.

use std::ops::ControlFlow;
use std::path::PathBuf;

use b2nd_serde::frame::{self, Error, ErrorKind, Frame, Generation};
use clap::Args;

use crate::change::{Change, ChangeReport, failure};
use crate::failure::Failure;
use crate::interrupt::Interrupts;
use crate::output::{Outcome, Progress};

/// Copies an array in the present format, which C-Blosc2 and python-blosc2 open
///
/// Its data is copied as it is. FROM and TO may be the same file: the new one then takes its place, with its owner and
/// mode as far as the system allows. A copy gets the mode only.
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd rewrite old.caterva new.b2nd --dtype uint16
  b2nd rewrite --dry-run old.b2nd new.b2nd")]
pub(crate) struct Rewrite {
    /// The file, or the directory of a sparse frame
    from: PathBuf,
    /// The new file or directory
    to: PathBuf,
    /// The type of an item, as NumPy names it: uint16, <u2; needed where the layout stores none
    #[arg(long)]
    dtype: Option<String>,
    /// Shows what would change, or why it cannot, and writes nothing; takes no lock
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
        ChangeReport { path: &self.to, json: self.json, dry_run: self.dry_run, is_new: true }.show(change)
    }

    fn change(&self, interrupts: &Interrupts) -> Result<Change, Failure> {
        let failed = |error: Error| {
            let is_about_from = error.path().is_some_and(|path| path.starts_with(&self.from));
            let is_about_to = matches!(error.kind(), ErrorKind::Io | ErrorKind::Exists) && !is_about_from;
            failure(if is_about_to { &self.to } else { &self.from }, &error)
        };
        let before = Frame::open(&self.from).and_then(|frame| Frame::parse(frame.header_bytes()));
        let before = before.map_err(failed)?;
        let mut progress = Progress::of_bytes(before.header().cbytes.unsigned_abs());
        let mut rewrite = frame::Rewrite::new(&self.from, &self.to).on_progress(|copied| {
            progress.show(copied);
            if interrupts.is_caught() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if let Some(dtype) = &self.dtype {
            rewrite = rewrite.dtype(dtype);
        }
        let after = rewrite.preview().map_err(|error| {
            let is_refused = error.kind() == ErrorKind::Refused && self.dtype.is_none();
            let mut failure = failed(error);
            if is_refused && needs_dtype(&before) {
                failure.error.hint = Some("for instance --dtype uint16");
            }
            failure
        })?;
        if !self.dry_run {
            rewrite.apply().map_err(failed)?;
        }
        Ok(Change { before, after })
    }
}

/// Whether a rewrite of the frame must be given a dtype.
fn needs_dtype(frame: &Frame) -> bool {
    let is_beta1 = frame.header().generation == Generation::Beta1;
    !is_beta1 && frame.array().is_ok_and(|array| array.is_some_and(|array| array.dtype().is_none()))
}
