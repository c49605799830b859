//! The array whose items `cat` and `view` show.

use std::io;
use std::process::ExitCode;

use b2nd_frame::{Error, ObjectKind};

use crate::code;
use crate::input::{Address, Failure, Inside, Items, Target, is_zip, store_at};
use crate::names::has_extension;
use crate::output::json::print_failure;
use crate::output::mend::with_salvage;
use crate::problem::Problem;
use crate::terminal::Outcome;
use crate::waiting::{HasProblem, while_changing};

/// The reason why the items are not shown.
pub(super) enum Trouble {
    /// A failure. It already contains the address of its frame.
    Failure(Failure),
    /// A problem. `show` adds the address of the frame to it.
    Problem(Problem),
    /// An error of standard output.
    Output(io::Error),
}

impl Trouble {
    /// Turns a problem into a failure if some items have been printed (`is_begun`). `while_changing` can try again
    /// after a problem, but not after a failure, so no item is printed twice.
    pub(super) fn after_output(self, is_begun: bool, address: &Address) -> Self {
        match self {
            Self::Problem(problem) if is_begun => Self::Failure(address.location().failure(problem)),
            trouble => trouble,
        }
    }
}

impl HasProblem for Trouble {
    fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Problem(problem) => Some(problem),
            Self::Failure(_) | Self::Output(_) => None,
        }
    }
}

impl From<Problem> for Trouble {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Problem(error.into())
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Shows the items at an address, or prints why they are not shown.
pub(super) fn show(address: &Address, json: bool, show: impl FnMut() -> Result<(), Trouble>) -> Outcome {
    let failure = match while_changing(show) {
        Ok(()) => return Ok(ExitCode::SUCCESS),
        Err(Trouble::Output(error)) => return Err(error),
        Err(Trouble::Failure(failure)) => failure,
        Err(Trouble::Problem(problem)) => address.location().failure(problem),
    };
    print_failure(&with_salvage(failure), json)?;
    Ok(ExitCode::FAILURE)
}

/// Opens an array. A store or a zip file is refused: the user must name one of its members.
pub(super) fn open_items(address: &Address) -> Result<Items, Trouble> {
    let target = Target::given(address.clone());
    if target.is_named_zip()
        || target.inside == Inside::Whole && is_zip(&target.path)
        || store_at(&target).map_err(Trouble::Failure)?.is_some()
    {
        return Err(Trouble::Failure(refuse_store(&target)));
    }
    let frame = address.open()?;
    if frame.kind() == ObjectKind::EmbedStore {
        return Err(Trouble::Failure(refuse_store(&target)));
    }
    Ok(Items::new(frame)?)
}

/// Refuses a store or a zip file. The message asks the user to name one of its members.
fn refuse_store(target: &Target) -> Failure {
    let message = if has_extension(&target.path, "npz") {
        "NumPy files in a zip file: `b2nd convert FILE:NAME TO` converts one of them"
    } else {
        "a store: name one of its members, which `b2nd ls` lists"
    };
    target.location().failure(Problem::new(code::INVALID_INPUT, message))
}
