//! `b2nd rewrite`: a copy in the current format.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use b2nd_frame::{Error, ErrorKind, Frame, ReadAt, Rewrite as FrameRewrite, Trailer};
use clap::{Args, ValueHint};

use crate::input::{FRAME, Failure, Inside, Numbers, dtype_parser, given_all};
use crate::interrupt::Interrupts;
use crate::output::change::{Change, ChangeReport, failure, of_either};
use crate::output::mend::with_salvage;
use crate::terminal::{Outcome, Progress};
use crate::waiting::{Wait, while_changing};

/// Copy an array to the current format, its chunks unchanged
///
/// C-Blosc2 and python-blosc2 open the copy. The compressed chunks are copied unchanged; `b2nd convert` compresses the
/// items anew. Bytes that belong to no chunk, which replaced and deleted chunks leave, are left out. If TO is the same
/// file as FROM, the copy replaces it, and keeps its owner and permissions as far as the system allows. Otherwise TO
/// must not exist; it gets the permissions of FROM, but not its owner. If FROM is a member, an offset, a URL or
/// standard input, TO gets default permissions.
///
/// With --contiguous or --sparse, FROM can be any frame, also one without an array.
///
/// Indexes that python-blosc2 has computed from the items are not valid for another shape or dtype. In place, they
/// become stale; in a copy, they are left out.
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd rewrite old.caterva new.b2nd --dtype uint16
  b2nd rewrite --contiguous folder.b2nd one_file.b2nd
  b2nd rewrite tree.b2z:group/array.b2nd array.b2nd
  b2nd rewrite --dry-run old.b2nd new.b2nd")]
#[expect(clippy::struct_excessive_bools, reason = "one field per option")]
pub(crate) struct Rewrite {
    #[arg(help = FRAME)]
    from: PathBuf,
    /// Path of the new frame
    to: PathBuf,
    /// New shape, with the same grid of chunks; after an interrupted resize, with as many chunks as the frame has
    #[arg(long, value_name = "ITEMS", allow_hyphen_values = true, value_hint = ValueHint::Other)]
    shape: Option<Numbers<i64>>,
    /// NumPy dtype, such as uint16 or <u2; required if FROM stores none
    #[arg(long, value_parser = dtype_parser(), hide_possible_values = true)]
    dtype: Option<String>,
    /// Write one file, also if FROM is a sparse frame
    #[arg(long)]
    contiguous: bool,
    /// Write a sparse frame: a directory with a file for each chunk
    #[arg(long, conflicts_with = "contiguous")]
    sparse: bool,
    /// Show what would change, or why nothing can be changed; write nothing and take no lock
    #[arg(long)]
    dry_run: bool,
    /// Print the new array as a JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    wait: Wait,
}

impl Rewrite {
    pub(crate) fn run(self) -> Outcome {
        let interrupts = Interrupts::new();
        let change = self.change(&interrupts);
        if change.is_err() {
            // If a signal was caught, the process ends here. The failed rewrite has already removed its temporary file.
            interrupts.raise_caught(|| ());
        }
        ChangeReport { path: &self.to, json: self.json, dry_run: self.dry_run, is_new: true }.show(change)
    }

    fn change(&self, interrupts: &Interrupts) -> Result<Change, Failure> {
        let [from, to] = given_all([&self.from, &self.to]);
        // This call only checks that TO is a path. Its result is not needed.
        to.into_path()?;
        if from.inside == Inside::Whole {
            let change = || self.change_whole(&from.path, interrupts);
            return if self.dry_run { while_changing(change) } else { self.wait.change(&self.to, change) };
        }
        let frame = from.open().map_err(|problem| with_salvage(from.location().failure(problem)))?;
        let failed = |error: Error| of_either(&from, &self.to, error);
        // The report needs the old header. The header is parsed again, because the rewrite takes the reader out of
        // `frame`.
        let before = (Frame::parse(frame.header_bytes()).map_err(failed)?, frame.trailer().ok());
        let offset = frame.offset();
        self.apply_or_preview(
            FrameRewrite::read_at(frame.into_reader(), offset, &self.to),
            before,
            interrupts,
            failed,
        )
    }

    /// Rewrites a whole file, or the directory of a sparse frame.
    fn change_whole(&self, from: &Path, interrupts: &Interrupts) -> Result<Change, Failure> {
        let failed = |error: Error| {
            // If FROM and TO are the same file, an error with the path of this file is about FROM.
            let is_about_from = error.path().is_some_and(|path| path.starts_with(from));
            let is_about_to = matches!(error.kind(), ErrorKind::Io | ErrorKind::Exists) && !is_about_from;
            failure(if is_about_to { &self.to } else { from }, error)
        };
        let before = Frame::open(from).map_err(|error| with_salvage(failed(error)))?;
        let trailer = before.trailer().ok();
        // The file is closed here: the rewrite may replace it, and some systems do not replace a file that is open.
        let before = before.map_reader(drop);
        self.apply_or_preview(FrameRewrite::new(from, &self.to), (before, trailer), interrupts, failed)
    }

    /// Applies the rewrite with the options of the command line, or previews it for `--dry-run`. `before` is the old
    /// frame with its trailer.
    fn apply_or_preview<R: ReadAt>(
        &self,
        rewrite: FrameRewrite<'_, R>,
        (before, trailer): (Frame<()>, Option<Trailer>),
        interrupts: &Interrupts,
        failed: impl Fn(Error) -> Failure,
    ) -> Result<Change, Failure> {
        let failed = |error| with_salvage(failed(error));
        // In a damaged header, `cbytes` can be negative.
        let mut progress = Progress::of_bytes(before.header().cbytes.unsigned_abs());
        let mut rewrite = rewrite.on_progress(|copied| {
            progress.show(copied);
            if interrupts.is_caught() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if let Some(Numbers(shape)) = &self.shape {
            rewrite = rewrite.shape(shape);
        }
        if let Some(dtype) = &self.dtype {
            rewrite = rewrite.dtype(dtype);
        }
        if self.contiguous || self.sparse {
            rewrite = rewrite.sparse(self.sparse);
        }
        let after = if self.dry_run {
            rewrite.preview()
        } else {
            interrupts.defer(|| rewrite.apply()).map(|frame| frame.map_reader(drop))
        };
        match after {
            Ok(after) => Change::of_header(before, after, trailer.as_ref()).map_err(failed),
            Err(error) => {
                let is_refused = error.kind() == ErrorKind::InvalidInput && self.dtype.is_none();
                let mut failure = failed(error);
                if is_refused && needs_dtype(&before) {
                    failure.error.hint = Some(", for example with --dtype uint16");
                }
                Err(failure)
            }
        }
    }
}

/// Whether the frame can be rewritten only with --dtype, because its array has no dtype.
fn needs_dtype(frame: &Frame<()>) -> bool {
    frame.array().is_ok_and(|array| array.is_some_and(|array| array.dtype().is_none()))
}
