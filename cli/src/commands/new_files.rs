//! Makes the new files of `salvage` and `convert`. Each command makes the file TO from FROM. With `--into DIR`, it
//! makes a new file in DIR for each input.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::error::ErrorKind as UsageError;
use serde::Serialize;

use crate::code;
use crate::input::{
    Address, Failure, Found, Inside, Location, Paths, Stores, Target, given_all, is_passed_over,
};
use crate::interrupt::Interrupts;
use crate::names::{file_of, folder_or_here};
use crate::output::change::exists;
use crate::output::json::{add_line, line};
use crate::pool::{PassPart, lock};
use crate::problem::Problem;
use crate::terminal::Progress;

/// The conversions or the salvages of a run. Each of them makes a new file.
pub(super) trait Maker: Sync {
    /// Makes the file TO from FROM. TO must not exist yet, except for `convert --append`. `is_named` is true if the
    /// user gave FROM itself. Otherwise FROM was found in a folder or below a URL.
    fn make(&self, from: &Address, to: &Path, is_named: bool) -> Result<Made, Failure>;

    /// Whether to skip an input whose new file would be `to`. Skipped inputs are counted in [`Counts`].
    fn skips(&self, target: &Target, to: &Path) -> bool;

    /// Turns the name of an input into the name of its new file in the folder of `--into`.
    fn name(&self, name: PathBuf) -> PathBuf;
}

/// The output for a new file, and whether the file is complete.
pub(super) struct Made {
    text: Vec<u8>,
    is_complete: bool,
}

/// The state of a run that makes new files: signals, progress, and the folders that the run has created.
pub(super) struct NewFiles {
    pub(super) dry_run: bool,
    pub(super) json: bool,
    interrupts: Interrupts,
    progress: Mutex<Progress>,
    /// The number of bytes that were converted or saved so far, in all new files together.
    done: AtomicU64,
    /// The folders that were created for new files.
    folders: Mutex<BTreeSet<PathBuf>>,
    /// The new files of this run.
    made: Mutex<BTreeSet<PathBuf>>,
}

/// The number of files for each outcome.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) complete: u64,
    pub(super) partial: u64,
    pub(super) skipped: u64,
    pub(super) failures: u64,
}

impl Counts {
    /// Whether no input was found.
    pub(super) fn is_none(&self) -> bool {
        let Self { complete, partial, skipped, failures } = self;
        complete + partial + skipped + failures == 0
    }

    fn add(&mut self, other: &Self) {
        self.complete += other.complete;
        self.partial += other.partial;
        self.skipped += other.skipped;
        self.failures += other.failures;
    }
}

/// The output for some inputs, and the counts of their outcomes.
type Batch = (Vec<u8>, Counts);

impl NewFiles {
    /// `is_pair` means that FROM and TO are given instead of --into. Then nothing is written to standard output until
    /// the new file is finished, so no output can mix with the progress display.
    pub(super) fn new(is_pair: bool, dry_run: bool, json: bool) -> Self {
        Self {
            dry_run,
            json,
            interrupts: Interrupts::new(),
            progress: Mutex::new(Progress::of_bytes_so_far(is_pair)),
            done: AtomicU64::new(0),
            folders: Mutex::default(),
            made: Mutex::default(),
        }
    }

    /// Makes the new files and prints what was made.
    pub(super) fn make(&self, maker: &impl Maker, paths: Paths, into: Option<&Path>) -> io::Result<Counts> {
        let Some(into) = into else {
            let (text, counts) = self.make_pair(maker, paths.given());
            self.end();
            return io::stdout().write_all(&text).map(|()| counts);
        };
        let counts = self.make_all(maker, paths, into);
        self.end();
        counts
    }

    fn make_pair(&self, maker: &impl Maker, given: &[PathBuf]) -> Batch {
        let [from, to] = given else {
            // clap cannot require two paths, because with --into there can be any number of paths.
            let message =
                "give two paths, FROM and TO, or a folder for new files, --into DIR; --help has examples\n";
            clap::Error::raw(UsageError::WrongNumberOfValues, message).exit();
        };
        let [from, to] = given_all([from, to]);
        let to = match to.into_path() {
            Ok(to) if maker.skips(&Target::given(from.clone()), &to) => return skipped(),
            to => to,
        };
        let made = to.and_then(|to| {
            self.check(&to, false)?;
            maker.make(&from, &to, true)
        });
        self.batch(made)
    }

    fn make_all(&self, maker: &impl Maker, paths: Paths, into: &Path) -> io::Result<Counts> {
        let mut all = Counts::default();
        // The folder of --into is checked once here, and not for each new file.
        let folder = Address::read(into.into()).into_path().and_then(|folder| {
            let is_file = folder.exists() && !folder.is_dir();
            let not_a_folder = || Location::new(into).failure(Problem::new(code::IO, "not a folder"));
            if is_file { Err(not_a_folder()) } else { Ok(()) }
        });
        if let Err(failure) = folder {
            let (text, counts) = self.failed(&failure);
            return io::stdout().write_all(&text).map(|()| counts);
        }
        let work = |targets: Vec<Found>, _: &mut PassPart<'_, _>| {
            let mut batch = Batch::default();
            for target in targets {
                let (text, counts) = self.make_target(maker, target, into);
                batch.0.extend(text);
                batch.1.add(&counts);
            }
            batch
        };
        paths.visit(Stores::Folders, true, work, |(text, counts)| {
            all.add(&counts);
            anstream::stdout().write_all(&text)
        })?;
        Ok(all)
    }

    /// Makes the new file for one input, which the user has named or which was found in a folder.
    fn make_target(&self, maker: &impl Maker, target: Found, into: &Path) -> Batch {
        let target = match target {
            Ok(target) => target,
            Err(failure) => return self.failed(&failure),
        };
        // A file in the folder of the new files is not an input, even if that folder is inside a searched folder. After
        // a signal, all remaining inputs are skipped.
        if self.interrupts.is_caught() || is_output(&target, into) {
            return Batch::default();
        }
        let from = Address { path: target.path.clone(), inside: target.inside.clone() };
        let to = into.join(maker.name(new_name(&target)));
        // If this run made the file at `to` from another input of the same name, the current input is not skipped, but
        // fails.
        if maker.skips(&target, &to) && !lock(&self.made).contains(&to) {
            return skipped();
        }
        if !self.dry_run
            && let Some(folder) = to.parent()
            && let Err(error) = self.create_folder(folder)
        {
            return self.failed(&Location::new(folder).failure(error));
        }
        let is_first = lock(&self.made).insert(to.clone());
        match self.check(&to, true).and_then(|()| maker.make(&from, &to, target.is_given())) {
            Err(failure) if is_passed_over(&target, &failure.error) => {
                if is_first {
                    lock(&self.made).remove(&to);
                }
                Batch::default()
            }
            made => self.batch(made),
        }
    }

    /// In a dry run, refuses a path `to` at which no file can be written. Otherwise nothing is checked here, because
    /// writing the file makes the same check.
    fn check(&self, to: &Path, creates_folders: bool) -> Result<(), Failure> {
        match unusable(to, creates_folders) {
            Some(problem) if self.dry_run => Err(Location::new(to).failure(problem)),
            _ => Ok(()),
        }
    }

    /// Creates the folder of a new file with its parents, and records those folders that did not exist before.
    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        let absent = folder.ancestors().take_while(|folder| !folder.exists());
        lock(&self.folders).extend(absent.map(PathBuf::from));
        fs::create_dir_all(folder)
    }

    /// Calls `write`, which writes a new file. Signals are deferred until `write` returns.
    pub(super) fn write<T>(&self, write: impl FnOnce() -> T) -> T {
        let written = self.interrupts.defer(write);
        if self.interrupts.is_caught() {
            // A signal was caught, and `write` has removed its temporary file. If no other thread is writing a file
            // now, the process ends here. It does not wait for threads that are not writing, because they may be
            // waiting for more input or for a server.
            self.interrupts.raise_caught(|| self.end());
        }
        written
    }

    /// Adds `more` bytes to the progress display. `Break` means that a signal was caught.
    pub(super) fn advance(&self, more: u64) -> ControlFlow<()> {
        self.done.fetch_add(more, Ordering::Relaxed);
        self.show_progress();
        if self.interrupts.is_caught() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    pub(super) fn show_progress(&self) {
        lock(&self.progress).show(self.done.load(Ordering::Relaxed));
    }

    /// The same as `advance`, but fails if a signal was caught.
    pub(super) fn advance_or_fail(&self, nbytes: usize) -> Result<(), Problem> {
        match self.advance(nbytes as u64) {
            ControlFlow::Continue(()) => Ok(()),
            // The signal ends the process before anybody can read this message.
            ControlFlow::Break(()) => Err(Problem::new(code::STOPPED, "stopped by a signal")),
        }
    }

    /// Removes the progress display from the screen. Also removes the folders that this run has created and that are
    /// empty.
    pub(super) fn end(&self) {
        lock(&self.progress).end();
        // The folders are sorted by their paths. In the reverse order, a folder is removed before its parent.
        for folder in lock(&self.folders).iter().rev() {
            // `remove_dir` fails for a folder that is not empty, so such a folder stays.
            let _ = fs::remove_dir(folder);
        }
    }

    /// Turns the record of a new file into its output: text or JSON.
    pub(super) fn made(&self, made: &(impl Serialize + ToString), is_complete: bool) -> Made {
        let text = if self.json { line(made) } else { made.to_string().into_bytes() };
        Made { text, is_complete }
    }

    fn batch(&self, made: Result<Made, Failure>) -> Batch {
        match made {
            Ok(Made { text, is_complete }) => {
                let (complete, partial) = (is_complete.into(), (!is_complete).into());
                (text, Counts { complete, partial, ..Counts::default() })
            }
            Err(failure) => self.failed(&failure),
        }
    }

    fn failed(&self, failure: &Failure) -> Batch {
        let mut text = Vec::new();
        if self.json {
            add_line(&mut text, failure);
        } else {
            lock(&self.progress).complain(failure);
        }
        (text, Counts { failures: 1, ..Counts::default() })
    }
}

/// The output and the count of a skipped input.
fn skipped() -> Batch {
    (Vec::new(), Counts { skipped: 1, ..Counts::default() })
}

/// Whether a target was found in `into`, the folder of the new files, because this folder is inside a searched folder.
fn is_output(target: &Target, into: &Path) -> bool {
    let Ok(into) = fs::canonicalize(into) else { return false };
    // Only the folders between the searched folder and the target are compared with `into`. So if `into` is the
    // searched folder itself or contains it, the files in the searched folder are inputs.
    let mut folders = target.path.ancestors().skip(1).take(target.depth.saturating_sub(1));
    folders.any(|folder| fs::canonicalize(folder).is_ok_and(|folder| folder == into))
}

/// The reason why no file can be written at the path `to`, or `None`. With `creates_folders`, the folder of the file
/// may be missing.
fn unusable(to: &Path, creates_folders: bool) -> Option<Problem> {
    if to.symlink_metadata().is_ok() {
        return Some(exists());
    }
    let mut folders = to.ancestors().skip(1).map(folder_or_here);
    let folder = if creates_folders { folders.find(|folder| folder.exists()) } else { folders.next() };
    Problem::no_folder(folder?)
}

/// The name of the new file for a target. A file that was found in a folder or below a URL gets its path below that
/// folder or URL. Any other file, object or member gets only the last part of its path or name. A frame at an offset
/// gets the name of its file with the offset, and standard input gets the name `stdin.b2nd`.
fn new_name(target: &Target) -> PathBuf {
    match &target.inside {
        Inside::Member(member) | Inside::Url(Some(member)) => last_names(Path::new(member), 1),
        Inside::Offset(offset) => format!("{}@{offset}.b2nd", last_names(&target.path, 1).display()).into(),
        Inside::Stdin => "stdin.b2nd".into(),
        Inside::Whole | Inside::Url(None) => {
            let path = file_of(&target.path);
            // The user may name a sparse frame as `.` or `..`. Then only its full path contains a name.
            match path.file_name().is_none().then(|| path.canonicalize()) {
                Some(Ok(path)) => last_names(&path, 1),
                _ => last_names(path, target.depth.max(1)),
            }
        }
    }
}

/// The last `count` names of a path. Parts such as `..` are left out. So the result, joined to the folder of the new
/// files, is always a path inside that folder.
fn last_names(path: &Path, count: usize) -> PathBuf {
    let is_name = |part: &&OsStr| matches!(Path::new(part).components().next(), Some(Component::Normal(_)));
    let names: Vec<_> = path.iter().filter(is_name).rev().take(count).collect();
    names.into_iter().rev().collect()
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
