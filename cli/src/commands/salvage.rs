//! `b2nd salvage`: a new, whole frame from a damaged one.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Seek, Write};
use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use b2nd_frame::{
    CheckDepth, Error, ErrorKind, Finding, FindingCode, Salvage as FrameSalvage, SalvageReport, Severity,
};
use clap::error::ErrorKind as UsageError;
use clap::{Args, ValueEnum, ValueHint};

use crate::input::{
    Address, Failure, Found, Inside, Location, Numbers, Paths, Stores, Target, Visit, dtype_parser,
    given_all, is_passed_over, is_zip, numbers,
};
use crate::interrupt::Interrupts;
use crate::names::{file_of, folder_or_here};
use crate::output::change::{exists, of_either};
use crate::output::json::add_line;
use crate::output::salvage::Salvaged;
use crate::pool::lock;
use crate::problem::Problem;
use crate::terminal::{Outcome, Progress, remark};
use crate::text::{count, more_counts};

/// Save the undamaged parts of an array in a new, whole frame
///
/// FROM is never changed. Damaged markers and sizes in its header are restored, and its chunk index is searched for.
/// Each chunk is decompressed; a damaged one is lost, and its items become zero, or NaN with --fill nan. The
/// vlmetalayer `b2nd_salvage` of the new frame lists the losses, and `b2nd check` warns of a frame that has it. TO must
/// not exist; it is written only if something can be saved. Standard output lists what was restored, assumed or lost,
/// and what could not be verified, such as chunks compressed with a plugin codec.
///
/// Without a chunk index, as in a truncated file, chunks can be found, but their numbers are unknown: chunks of zeros
/// take no bytes, and replaced chunks are at the end. --assume-order uses the n-th chunk of the file as chunk n of the
/// array. Without this option, such a file is refused, so no chunk is misplaced.
///
/// The members of a zip file are salvaged one by one, by their addresses, `FILE:MEMBER`.
#[derive(Args)]
#[command(
    override_usage = "b2nd salvage [OPTIONS] FROM TO\n       b2nd salvage [OPTIONS] --into <DIR> [PATH]..."
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
    /// With --into, pass over the frames in which `b2nd check --data` finds no error
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
    #[arg(long, value_name = "ITEMS", value_parser = numbers::<i64>, allow_hyphen_values = true)]
    #[arg(value_hint = ValueHint::Other)]
    shape: Option<Numbers<i64>>,
    /// Chunk shape, if the metalayer cannot be read or is wrong
    #[arg(long, value_name = "ITEMS", value_parser = numbers::<i32>, allow_hyphen_values = true)]
    #[arg(value_hint = ValueHint::Other)]
    chunks: Option<Numbers<i32>>,
    /// Block shape, if the metalayer cannot be read or is wrong
    #[arg(long, value_name = "ITEMS", value_parser = numbers::<i32>, allow_hyphen_values = true)]
    #[arg(value_hint = ValueHint::Other)]
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
    fn apply<'p, R: Read + Seek>(&self, salvage: FrameSalvage<'p, R>) -> FrameSalvage<'p, R> {
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
        let Self { paths, into, damaged, options, dry_run, json } = self;
        let work = Work {
            options,
            damaged,
            dry_run,
            json,
            interrupts: Interrupts::new(),
            progress: Mutex::new(Progress::of_bytes_so_far(into.is_none())),
            done: AtomicU64::new(0),
            folders: Mutex::default(),
        };
        let all = match &into {
            None => Ok(work.salvage_pair(paths.given())),
            Some(into) => work.salvage_all(paths, into),
        };
        work.end();
        let all = all?;
        if into.is_some() && !json {
            remark(&all.summary(dry_run));
        }
        all.print(json, dry_run)
    }
}

/// The state shared by all salvages of a run.
struct Work {
    options: Options,
    /// Whether frames without errors are passed over.
    damaged: bool,
    dry_run: bool,
    json: bool,
    interrupts: Interrupts,
    progress: Mutex<Progress>,
    /// The number of chunk bytes saved so far, over all frames.
    done: AtomicU64,
    /// The folders that were created for new files.
    folders: Mutex<BTreeSet<PathBuf>>,
}

impl Work {
    /// Salvages FROM into TO.
    fn salvage_pair(&self, given: &[PathBuf]) -> SalvageBatch {
        let [from, to] = given else {
            // clap cannot require FROM and TO, because --into takes any number of paths.
            let message = "without --into, there must be two paths, FROM and TO\n";
            clap::Error::raw(UsageError::WrongNumberOfValues, message).exit();
        };
        let [from, to] = given_all([from, to]);
        let result = to.into_path().and_then(|to| {
            self.check(&to, false)?;
            Ok((self.salvage(&from, &to)?, to))
        });
        match result {
            Ok((report, to)) => self.report_of(&from, &to, &report),
            Err(failure) => self.failed(&failure),
        }
    }

    /// Salvages many frames into a folder.
    fn salvage_all(&self, paths: Paths, into: &Path) -> io::Result<SalvageBatch> {
        let mut all = SalvageBatch::default();
        // Once, and not for each file.
        if into.exists() && !into.is_dir() {
            return Ok(self.failed(&Location::of(into).failure(Problem::new("io", "not a folder"))));
        }
        let work = |targets: Vec<Found>| {
            let mut batch = SalvageBatch::default();
            for target in targets {
                batch.add(self.salvage_target(target, into));
            }
            batch
        };
        paths.visit(Stores::Folders, true, work, |batch| {
            anstream::stdout().write_all(&batch.text)?;
            // The text is already printed, and would only fill memory.
            all.add(SalvageBatch { text: Vec::new(), ..batch });
            Ok(())
        })?;
        Ok(all)
    }

    /// Salvages a file that was given, or found in a folder.
    fn salvage_target(&self, target: Found, into: &Path) -> SalvageBatch {
        let target = match target {
            Ok(target) => target,
            Err(failure) => return self.failed(&failure),
        };
        // New files are passed over, and after a signal all remaining ones.
        if self.interrupts.is_caught() || is_output(&target, into) {
            return SalvageBatch::default();
        }
        // Standard input can be read only once.
        if self.damaged && target.inside != Inside::Stdin && self.is_undamaged(&target) {
            return SalvageBatch { undamaged: 1, ..SalvageBatch::default() };
        }
        let from = Address { path: target.path.clone(), inside: target.inside.clone() };
        let to = into.join(name_of(&target));
        if !self.dry_run
            && let Some(folder) = to.parent()
            && let Err(error) = self.create_folder(folder)
        {
            return self.failed(&Location::of(folder).failure(error));
        }
        match self.check(&to, true).and_then(|()| self.salvage(&from, &to)) {
            Err(failure) if is_passed_over(&target, &failure.error) => SalvageBatch::default(),
            Err(failure) => self.failed(&failure),
            Ok(report) => self.report_of(&from, &to, &report),
        }
    }

    /// Checks the path of a new file for a preview, as it is otherwise checked when the file is written.
    fn check(&self, to: &Path, creates_folders: bool) -> Result<(), Failure> {
        match unusable(to, creates_folders) {
            Some(problem) if self.dry_run => Err(Location::of(to).failure(problem)),
            _ => Ok(()),
        }
    }

    /// Creates the folder of a new file, and records the folders that did not exist before.
    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        let absent = folder.ancestors().take_while(|folder| !folder.exists());
        lock(&self.folders).extend(absent.map(PathBuf::from));
        fs::create_dir_all(folder)
    }

    /// Removes the progress from the screen, and the new folders that are empty: their targets had no frame.
    fn end(&self) {
        lock(&self.progress).end();
        // In reverse order, a folder comes before its parent.
        for folder in lock(&self.folders).iter().rev() {
            // A folder with files is not removed.
            let _ = fs::remove_dir(folder);
        }
    }

    /// Whether a file has frames, and none of them an error.
    fn is_undamaged(&self, target: &Target) -> bool {
        let (mut frames, mut damaged) = (0, 0);
        // A check saves no bytes, but can take long, so it shows those that were saved so far.
        let on_chunk = || lock(&self.progress).show(self.done.load(Ordering::Relaxed));
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
            let salvage = FrameSalvage::open(&from.path).map_err(|error| of_either(from, to, &error));
            return self.with(salvage?, from, to);
        }
        let place = from.place("the bytes of a frame").map_err(|problem| from.location().failure(problem))?;
        let salvage = FrameSalvage::read_at(place.reader, place.offset);
        self.with(salvage.map_err(|error| from.location().failure(error))?, from, to)
    }

    fn with<R: Read + Seek>(
        &self,
        salvage: FrameSalvage<'_, R>,
        from: &Address,
        to: &Path,
    ) -> Result<SalvageReport, Failure> {
        let mut before = 0;
        let salvage = self.options.apply(salvage).on_progress(|saved| {
            // `saved` begins at 0 for each frame, `done` does not.
            let more = saved.saturating_sub(before);
            before = saved;
            lock(&self.progress).show(self.done.fetch_add(more, Ordering::Relaxed) + more);
            if self.interrupts.is_caught() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let report = if self.dry_run {
            salvage.preview()
        } else {
            self.interrupts.defer(|| salvage.apply(to)).map(|(_, report)| report)
        };
        if self.interrupts.is_caught() {
            // The temporary file has been removed. The last thread with one ends the process, because the others may be
            // waiting for a list or a server.
            self.interrupts.raise_caught(|| self.end());
        }
        report.map_err(|error| failure_of(from, to, &error))
    }

    /// The report of a frame, as text or JSON.
    fn report_of(&self, from: &Address, to: &Path, report: &SalvageReport) -> SalvageBatch {
        let salvaged = Salvaged { from: from.location(), to, report, dry_run: self.dry_run };
        let mut text = Vec::new();
        if self.json {
            add_line(&mut text, &salvaged.record());
        } else {
            text.extend(salvaged.to_string().into_bytes());
        }
        let is_whole = report.is_whole();
        SalvageBatch { text, whole: is_whole.into(), partly: (!is_whole).into(), ..SalvageBatch::default() }
    }

    fn failed(&self, failure: &Failure) -> SalvageBatch {
        let mut text = Vec::new();
        if self.json {
            add_line(&mut text, failure);
        } else {
            lock(&self.progress).complain(failure);
        }
        SalvageBatch { text, failures: 1, ..SalvageBatch::default() }
    }
}

/// Whether a file was found in the folder of the new files, which is below a searched folder.
fn is_output(target: &Target, into: &Path) -> bool {
    let Ok(into) = fs::canonicalize(into) else { return false };
    // Without the searched folder itself: the folder of the new files may be that, or above it.
    let mut folders = target.path.ancestors().skip(1).take(target.depth.saturating_sub(1));
    folders.any(|folder| fs::canonicalize(folder).is_ok_and(|folder| folder == into))
}

/// The failure of a salvage, with the options for what its error asks for.
fn failure_of(from: &Address, to: &Path, error: &Error) -> Failure {
    let is_lost = error.finding().is_some_and(|finding| finding.code() == FindingCode::NotAFrame);
    // A zip file has no damaged header. As for the other commands, the message asks for a member.
    if is_lost
        && from.inside == Inside::Whole
        && is_zip(&from.path)
        && let Err(problem) = from.open()
    {
        return from.location().failure(problem);
    }
    // What an empty file had cannot be given.
    let is_lost = is_lost && !fs::metadata(&from.path).is_ok_and(|file| file.is_file() && file.len() == 0);
    let hint = match error.kind() {
        ErrorKind::OrderUnknown => Some(" (--assume-order)"),
        kind => {
            (is_lost || kind == ErrorKind::ArrayUnknown).then_some(" (--shape, --chunks, --blocks, --dtype)")
        }
    };
    let failure = of_either(from, to, error);
    Failure { error: Problem { hint, ..failure.error }, ..failure }
}

/// Why no frame can be written at a path. With `creates_folders`, its folder need not be there.
fn unusable(to: &Path, creates_folders: bool) -> Option<Problem> {
    if to.symlink_metadata().is_ok() {
        return Some(exists());
    }
    let mut folders = to.ancestors().skip(1).map(folder_or_here);
    let folder = if creates_folders { folders.find(|folder| folder.exists()) } else { folders.next() };
    Problem::no_folder(folder?)
}

/// The name of the new file for a target: its path below the folder or URL in which it was found, or its own name.
fn name_of(target: &Target) -> PathBuf {
    match &target.inside {
        Inside::Member(member) | Inside::Url(Some(member)) => last_names(Path::new(member), 1),
        Inside::Offset(offset) => format!("{}@{offset}.b2nd", last_names(&target.path, 1).display()).into(),
        Inside::Stdin => "stdin.b2nd".into(),
        Inside::Whole | Inside::Url(None) => {
            let path = file_of(&target.path);
            // A sparse frame that is named by `.` or `..` has its name in its full path.
            match path.file_name().is_none().then(|| path.canonicalize()) {
                Some(Ok(path)) => last_names(&path, 1),
                _ => last_names(path, target.depth.max(1)),
            }
        }
    }
}

/// The last names of a path. Parts such as `..` are left out, so the result is always a path inside a folder.
fn last_names(path: &Path, count: usize) -> PathBuf {
    let is_name = |part: &&OsStr| matches!(Path::new(part).components().next(), Some(Component::Normal(_)));
    let names: Vec<_> = path.iter().filter(is_name).rev().take(count).collect();
    names.into_iter().rev().collect()
}

/// The output and the counts of a batch.
#[derive(Default)]
struct SalvageBatch {
    text: Vec<u8>,
    whole: u64,
    partly: u64,
    undamaged: u64,
    failures: u64,
}

impl SalvageBatch {
    fn add(&mut self, other: Self) {
        self.text.extend(other.text);
        self.whole += other.whole;
        self.partly += other.partly;
        self.undamaged += other.undamaged;
        self.failures += other.failures;
    }

    /// The numbers of frames, in words.
    fn summary(&self, dry_run: bool) -> String {
        let Self { whole, partly, undamaged, failures, .. } = *self;
        let verb = if dry_run { "can be salvaged" } else { "salvaged" };
        let frames = count(whole + partly, "frame");
        let passed_over = match undamaged {
            0 => String::new(),
            _ => format!(", {} passed over", count(undamaged, "undamaged file")),
        };
        format!("{frames} {verb}, {whole} whole{passed_over}{}", more_counts(&[(failures, "failure")]))
    }

    /// Prints the remaining output, and returns the exit status.
    fn print(&self, json: bool, dry_run: bool) -> Outcome {
        io::stdout().write_all(&self.text)?;
        if dry_run && !json && self.whole + self.partly > 0 {
            remark(&"nothing was written");
        }
        let is_whole = self.partly + self.failures == 0;
        Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out_of_a_folder() {
        let names = [("a/./b", "a/b"), ("../a/../b", "a/b"), ("/a", "a"), ("..", "")];
        let names_of_windows = [(r"..\..\a", "a"), (r"C:\a", "a"), ("C:a", "a"), ("a/C:b", "a")];
        for (name, expected) in
            names.into_iter().chain(names_of_windows.into_iter().filter(|_| cfg!(windows)))
        {
            assert_eq!(last_names(Path::new(name), usize::MAX), Path::new(expected), "{name}");
        }
    }
}
