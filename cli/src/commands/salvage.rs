//! `b2nd salvage`: a new, whole frame from a damaged one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use b2nd_frame::{
    CheckDepth, Error, ErrorKind, Finding, FindingCode, ReadAt, Salvage as FrameSalvage, SalvageReport,
    Severity,
};
use clap::{Args, ValueEnum, ValueHint};

use super::new_files::{Made, Maker, NewFiles};
use crate::input::{
    Address, Failure, Inside, Numbers, Paths, Target, Visit, dtype_parser, is_zip, pair_or_paths,
};
use crate::output::change::of_either;
use crate::output::mend::instead_of_salvage;
use crate::output::salvage::Salvaged;
use crate::problem::Problem;
use crate::terminal::{Outcome, remark};
use crate::text::{count, more_counts};
use crate::waiting::{Wait, while_changing};

/// Save the undamaged parts of an array in a new, whole frame
///
/// FROM is never changed. Damaged markers and sizes in its header are restored, and its chunk index is searched for.
/// Each chunk is decompressed; a damaged one is lost, and its items become zero, or NaN with --fill nan. The
/// vlmetalayer `b2nd_salvage` of the new frame lists the lost chunks and the unverified ones, whose items may be wrong;
/// `b2nd check` warns of a frame that has it. TO must not exist; it is written only if something can be saved. Standard
/// output lists what was restored, assumed or lost, and what could not be verified, such as chunks compressed with a
/// plugin codec. Indexes of python-blosc2 are left out if an item may have changed.
///
/// Without a chunk index, as in a truncated file, the position of each chunk in the array is unknown: chunks of zeros
/// take no bytes in the file, and replaced chunks are at its end. --assume-order uses the n-th chunk of the file as
/// chunk n of the array, and lists all chunks as unverified unless the file has exactly the chunks of the array. Without
/// this option, such a file is refused, so no chunk is misplaced. A folder of chunk files without chunks.b2frame is
/// salvaged with this option, and with the shapes and the dtype. If the chunk index has several wrong entries, their
/// chunks are lost without this option.
///
/// The members of a zip file are salvaged one by one, by their addresses, `FILE:MEMBER`.
#[derive(Args)]
#[command(
    override_usage = "b2nd salvage [OPTIONS] <FROM> <TO>\n       b2nd salvage [OPTIONS] --into <DIR> [PATH]...",
    mut_arg("paths", |arg| pair_or_paths(arg, "FROM, a damaged frame, and TO, a new path"))
)]
#[command(after_help = "Examples:
  b2nd salvage damaged.b2nd saved.b2nd
  b2nd salvage --dry-run --assume-order cut.b2nd saved.b2nd
  b2nd salvage --into saved/ preprocessed/
  b2nd salvage --into saved/ --damaged preprocessed/
  b2nd salvage lost.b2nd saved.b2nd --shape 40,30 --chunks 10,30 \\
    --blocks 5,30 --dtype float32")]
pub(crate) struct Salvage {
    #[command(flatten)]
    paths: Paths,
    /// Salvage every PATH into a new file of the same name in this folder, which is not searched itself
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    into: Option<PathBuf>,
    /// With --into, skip frames in which `b2nd check --data` finds no error
    #[arg(long, requires = "into")]
    damaged: bool,
    #[command(flatten)]
    options: Options,
    /// Show what would be saved; write nothing and take no lock
    #[arg(long)]
    dry_run: bool,
    /// Print a JSON object for each frame or failure, one per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    wait: Wait,
}

/// What the user knows about the array, and which assumptions are allowed.
#[derive(Args)]
struct Options {
    /// If there is no chunk index, use the n-th chunk of the file as chunk n
    #[arg(long)]
    assume_order: bool,
    /// Value of the items of lost chunks; nan is only for float32 and float64
    #[arg(long, value_enum, default_value_t = Fill::Zeros)]
    fill: Fill,
    /// Shape of the array, if its metalayer cannot be read or is wrong
    #[arg(long, value_name = "ITEMS", allow_hyphen_values = true, value_hint = ValueHint::Other)]
    shape: Option<Numbers<i64>>,
    /// Chunk shape, if the metalayer cannot be read or is wrong
    #[arg(long, value_name = "ITEMS", allow_hyphen_values = true, value_hint = ValueHint::Other)]
    chunks: Option<Numbers<i32>>,
    /// Block shape, if the metalayer cannot be read or is wrong
    #[arg(long, value_name = "ITEMS", allow_hyphen_values = true, value_hint = ValueHint::Other)]
    blocks: Option<Numbers<i32>>,
    /// NumPy dtype, if the metalayer cannot be read or is wrong
    #[arg(long, value_parser = dtype_parser(), hide_possible_values = true)]
    dtype: Option<String>,
}

/// The value of lost items.
#[derive(Clone, Copy, ValueEnum)]
enum Fill {
    Zeros,
    Nan,
}

impl Options {
    /// Applies the options to a salvage.
    fn apply<'p, R: ReadAt>(&self, salvage: FrameSalvage<'p, R>) -> FrameSalvage<'p, R> {
        let mut salvage = salvage.fill(match self.fill {
            Fill::Zeros => b2nd_frame::Fill::Zeros,
            Fill::Nan => b2nd_frame::Fill::Nan,
        });
        if self.assume_order {
            salvage = salvage.assume_order();
        }
        if let Some(Numbers(shape)) = &self.shape {
            salvage = salvage.shape(shape);
        }
        if let Some(Numbers(chunks)) = &self.chunks {
            salvage = salvage.chunkshape(chunks);
        }
        if let Some(Numbers(blocks)) = &self.blocks {
            salvage = salvage.blockshape(blocks);
        }
        match &self.dtype {
            Some(dtype) => salvage.dtype(dtype),
            None => salvage,
        }
    }
}

impl Salvage {
    pub(crate) fn run(self) -> Outcome {
        let Self { paths, into, damaged, options, dry_run, json, wait } = self;
        let files = NewFiles::new(into.is_none(), dry_run, json);
        let salvages = Salvages { files: &files, options, damaged, wait };
        let counts = files.make(&salvages, paths, into.as_deref())?;
        if into.is_some() && !json {
            let (frames, whole) = (count(counts.complete + counts.partial, "frame"), counts.complete);
            let verb = if dry_run { "can be salvaged" } else { "salvaged" };
            let undamaged = match counts.skipped {
                0 => String::new(),
                skipped => format!(", {} passed over", count(skipped, "undamaged file")),
            };
            let failures = more_counts(&[(counts.failures, "failure")]);
            remark(&format_args!("{frames} {verb}, {whole} whole{undamaged}{failures}"));
        }
        if dry_run && !json && counts.complete + counts.partial > 0 {
            remark(&"nothing was written");
        }
        let is_whole = counts.partial + counts.failures == 0;
        Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// All salvages of a run, with their common options.
struct Salvages<'f> {
    files: &'f NewFiles,
    options: Options,
    /// Whether frames without errors are skipped.
    damaged: bool,
    wait: Wait,
}

impl Maker for Salvages<'_> {
    fn make(&self, from: &Address, to: &Path, _: bool) -> Result<Made, Failure> {
        let salvage = || self.salvage(from, to);
        let report =
            if self.files.dry_run { while_changing(salvage) } else { self.wait.while_changing(salvage) }?;
        let salvaged = Salvaged::new(from.location(), to, &report, self.files.dry_run);
        Ok(self.files.made(&salvaged, report.is_whole()))
    }

    fn skips(&self, target: &Target, _: &Path) -> bool {
        // Standard input is never skipped: it can be read only once, so it cannot be checked before the salvage.
        self.damaged && target.inside != Inside::Stdin && self.is_undamaged(target)
    }

    fn name(&self, name: PathBuf) -> PathBuf {
        name
    }
}

impl Salvages<'_> {
    /// Whether a target has at least one frame, and no frame in it has an error.
    fn is_undamaged(&self, target: &Target) -> bool {
        let (mut frames, mut damaged) = (0, 0);
        // A check can take long, so the progress display is shown during the check. The check saves no bytes, so it
        // adds nothing to the number of saved bytes in the display.
        let on_chunk = || self.files.show_progress();
        let visit =
            Visit { depth: Some(CheckDepth::ChunkData), on_chunk: Some(&on_chunk), ..Visit::default() };
        visit.target(target, &mut |view| {
            let is_error = |finding: &Finding| finding.severity() == Severity::Error;
            frames += 1;
            damaged += u64::from(view.map_or(true, |view| view.findings.iter().any(is_error)));
        });
        frames > 0 && damaged == 0
    }

    fn salvage(&self, from: &Address, to: &Path) -> Result<SalvageReport, Failure> {
        if from.inside == Inside::Whole {
            let salvage = FrameSalvage::open(&from.path).map_err(|error| of_either(from, to, error));
            return self.apply_or_preview(salvage?, from, to);
        }
        let place = from.place("the bytes of a frame").map_err(|problem| from.location().failure(problem))?;
        let salvage = FrameSalvage::read_at(place.reader, place.offset);
        self.apply_or_preview(salvage.map_err(|error| from.location().failure(error))?, from, to)
    }

    fn apply_or_preview<R: ReadAt>(
        &self,
        salvage: FrameSalvage<'_, R>,
        from: &Address,
        to: &Path,
    ) -> Result<SalvageReport, Failure> {
        let mut before = 0;
        let salvage = self.options.apply(salvage).on_progress(|saved| {
            // `saved` counts the bytes of this frame only, but `advance` needs the bytes since the last call.
            let more = saved.saturating_sub(before);
            before = saved;
            self.files.advance(more)
        });
        let report = if self.files.dry_run {
            salvage.preview()
        } else {
            self.files.write(|| salvage.apply(to)).map(|(_, report)| report)
        };
        report.map_err(|error| failure_with_hint(from, to, &error))
    }
}

/// The failure of a salvage. A hint names the options that could help.
fn failure_with_hint(from: &Address, to: &Path, error: &Error) -> Failure {
    let is_lost = error.finding().is_some_and(|finding| finding.code() == FindingCode::NotAFrame);
    // A zip file must not be treated as a frame with a damaged header. As in the other commands, the message asks the
    // user to name a member.
    if is_lost
        && from.inside == Inside::Whole
        && is_zip(&from.path)
        && let Err(problem) = from.open()
    {
        return from.location().failure(problem);
    }
    // No option can help with an empty file, so there is no hint for it.
    let is_lost = is_lost && !fs::metadata(&from.path).is_ok_and(|file| file.is_file() && file.len() == 0);
    let hint = match error.kind() {
        ErrorKind::OrderUnknown => Some(" (--assume-order)"),
        ErrorKind::Unsupported => instead_of_salvage(from),
        kind => {
            (is_lost || kind == ErrorKind::ArrayUnknown).then_some(" (--shape, --chunks, --blocks, --dtype)")
        }
    };
    let failure = of_either(from, to, error);
    Failure { error: Problem { hint, ..failure.error }, ..failure }
}
