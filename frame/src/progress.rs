//! The progress callback, which can also stop the work.

use core::fmt;
use core::ops::ControlFlow;

use crate::error::Error;

/// The number of entries of a chunk index that are read or written between two calls of the progress callback.
pub(crate) const ENTRIES_BETWEEN_STOPS: u64 = 1 << 12;

/// A function that receives the amount of work done.
type OnProgress<'p> = Box<dyn FnMut(u64) -> ControlFlow<()> + Send + 'p>;

/// The amount of work done, and the callback.
#[derive(Default)]
pub(crate) struct Progress<'p> {
    done: u64,
    report: Option<OnProgress<'p>>,
}

impl fmt::Debug for Progress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Progress").field(&self.done).finish()
    }
}

impl<'p> Progress<'p> {
    pub(crate) fn new(report: impl FnMut(u64) -> ControlFlow<()> + Send + 'p) -> Self {
        Self { done: 0, report: Some(Box::new(report)) }
    }

    /// Adds `more` to the amount of work done, and reports the total.
    pub(crate) fn advance(&mut self, more: u64) -> Result<(), Error> {
        self.show(self.done.saturating_add(more))
    }

    /// Sets the amount of work done, and reports it.
    pub(crate) fn show(&mut self, done: u64) -> Result<(), Error> {
        self.done = done;
        match self.report.as_mut().map(|report| report(done)) {
            Some(ControlFlow::Break(())) => Err(Error::stopped()),
            _ => Ok(()),
        }
    }
}
