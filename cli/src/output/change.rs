//! The report of `set` and `rewrite`: the changes (made or only previewed), or the failure.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use b2nd_frame::{Error, Frame, Trailer};

use super::json::{line, print_failure};
use super::record::{FieldChange, Record};
use crate::code;
use crate::input::{Address, Failure, Location, View, is_zip};
use crate::problem::Problem;
use crate::terminal::{Outcome, remark};
use crate::text;

/// The fields of a record that a change can affect.
const FIELDS: [&str; 7] = ["shape", "blocks", "dtype", "layout", "container", "header_len", "frame_len"];

/// The reason why a vlmetalayer can be wrong after the items have changed.
pub(crate) const FROM_ITEMS: &str = "python-blosc2 has computed it from the items";

/// The names of the vlmetalayers that are no longer valid after the items have changed, each with a text for the
/// report.
pub(crate) fn outdated_layers(before: &Trailer) -> Vec<(String, String)> {
    let derived = before.vlmetalayers().iter().filter(|layer| layer.is_derived());
    derived.map(|layer| (layer.name().into(), format!("no longer valid: {FROM_ITEMS}"))).collect()
}

/// A frame before and after a change.
pub(crate) struct Change {
    pub(crate) before: Frame<()>,
    pub(crate) after: Frame<()>,
    /// The names of changed vlmetalayers, each with a text about the change, such as `set` or `removed`.
    pub(crate) layers: Vec<(String, String)>,
}

impl Change {
    /// A change of the header. `trailer` is the trailer before the change, if it can be read.
    pub(crate) fn of_header(
        before: Frame<()>,
        after: Frame<()>,
        trailer: Option<&Trailer>,
    ) -> Result<Self, Error> {
        let is_of_items = !FieldChange::all(&before, &after, &["shape", "dtype"])?.is_empty();
        let layers = trailer.filter(|_| is_of_items).map(outdated_layers).unwrap_or_default();
        Ok(Self { before, after, layers })
    }

    /// One line for each changed field and for each changed vlmetalayer. If the new frame leaves out holes, one more
    /// line shows their size.
    fn text(&self) -> Result<String, Error> {
        let changes = FieldChange::all(&self.before, &self.after, &FIELDS)?;
        let line = |change: &FieldChange| format!("{:10}: {}\n", change.field, change.texts().join(" -> "));
        let holes =
            self.holes().map(|holes| format!("{:10}: {} left out\n", "holes", text::byte_count(holes)));
        let layer =
            |(name, done): &(String, String)| format!("{:10}: {} {done}\n", "vlmeta", text::clean(name));
        Ok(changes.iter().map(line).chain(holes).chain(self.layers.iter().map(layer)).collect())
    }

    /// The size of the holes: bytes of the old frame that belong to no chunk. The new frame leaves them out. The chunks
    /// are unchanged, and the `cbytes` of the old frame includes the holes. So the decrease of `cbytes` is the size of
    /// the holes.
    fn holes(&self) -> Option<u64> {
        let [before, after] = [&self.before, &self.after].map(Frame::header);
        let holes = u64::try_from(before.cbytes.checked_sub(after.cbytes)?).ok()?;
        Some(holes).filter(|&holes| holes > 0 && !before.is_sparse())
    }

    fn json(&self, path: &Path) -> Result<Vec<u8>, Error> {
        let array = self.after.array()?;
        let findings = self.after.check_header().findings;
        let record = Record::new(View::new(Location::new(path), &self.after, array.as_ref(), &findings));
        Ok(line(&record))
    }
}

/// The failure to change or write a file. A failure is printed with its path, so the message does not repeat the path.
pub(crate) fn failure(path: &Path, problem: impl Into<Problem>) -> Failure {
    let mut problem = problem.into();
    if problem.code == code::EXISTS {
        problem.message = "already exists; TO must be a new path, or the same file as FROM".into();
    } else if problem.is_not_a_frame() && is_zip(path) {
        problem.hint = Some("; it is a zip file: `b2nd rewrite FILE:MEMBER TO` copies a frame out of it");
    }
    Location::new(path).failure(problem)
}

/// The problem that TO, the path of a new file, already exists.
pub(crate) fn exists() -> Problem {
    Problem::new(code::EXISTS, "already exists; TO must be a new path")
}

/// Turns a problem into the failure of the file FROM or of the file TO, whichever has caused it.
pub(crate) fn of_either(from: &Address, to: &Path, problem: impl Into<Problem>) -> Failure {
    let problem = problem.into();
    if problem.code == code::EXISTS {
        return Location::new(to).failure(exists());
    }
    // A problem is about TO if it names a file that is neither FROM nor in the folder FROM. Every other problem is
    // about FROM.
    let is_of_to = problem.file.as_ref().is_some_and(|file| !file.0.starts_with(&from.path));
    if is_of_to { Location::new(to).failure(problem) } else { from.location().failure(problem) }
}

/// Prints the report about a change to a file, as text or as JSON.
pub(crate) struct ChangeReport<'p> {
    /// The file that the command changes or writes.
    pub(crate) path: &'p Path,
    pub(crate) json: bool,
    pub(crate) dry_run: bool,
    /// Whether the command writes a new file (`rewrite`), instead of changing one (`set`).
    pub(crate) is_new: bool,
}

impl ChangeReport<'_> {
    /// Prints the changes (made or only previewed), or the failure.
    pub(crate) fn show(&self, change: Result<Change, Failure>) -> Outcome {
        let location = Location::new(self.path);
        let shown = change.and_then(|change| {
            let shown =
                if self.json { change.json(self.path) } else { change.text().map(String::into_bytes) };
            shown.map_err(|error| location.failure(error))
        });
        let shown = match shown {
            Ok(shown) => shown,
            Err(failure) => {
                print_failure(&failure, self.json)?;
                return Ok(ExitCode::FAILURE);
            }
        };
        if let Err(error) = io::stdout().write_all(&shown) {
            if self.dry_run || error.kind() == io::ErrorKind::BrokenPipe {
                return Err(error);
            }
            // Only the output has failed. The file was changed or written, and the message says so.
            let done = if self.is_new { "written" } else { "changed" };
            return Err(io::Error::other(format!("{error}; but {location} was {done}")));
        }
        match (self.dry_run, self.is_new, shown.is_empty()) {
            (true, true, true) => remark(&"the copy would be the same; nothing was written"),
            (true, false, true) => remark(&"nothing would change"),
            (true, _, false) => remark(&"nothing was written"),
            (false, true, _) if !self.json => remark(&format_args!("wrote {location}")),
            (false, false, true) => remark(&"nothing to change"),
            _ => {}
        }
        Ok(ExitCode::SUCCESS)
    }
}
