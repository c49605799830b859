//! Telling the caller how much is done. The caller can stop it.

use core::ops::ControlFlow;

use crate::error::Error;

/// A function that is told how much is done.
type OnProgress<'p> = Box<dyn FnMut(u64) -> ControlFlow<()> + 'p>;

/// How much is done, and who is told.
#[derive(Default)]
pub(crate) struct Progress<'p> {
    done: u64,
    report: Option<OnProgress<'p>>,
}

impl<'p> Progress<'p> {
    pub(crate) fn new(report: impl FnMut(u64) -> ControlFlow<()> + 'p) -> Self {
        Self { done: 0, report: Some(Box::new(report)) }
    }

    /// Tells that this much more is done.
    pub(crate) fn advance(&mut self, more: u64) -> Result<(), Error> {
        self.show(self.done.saturating_add(more))
    }

    /// Tells that this much is done.
    pub(crate) fn show(&mut self, done: u64) -> Result<(), Error> {
        self.done = done;
        match self.report.as_mut().map(|report| report(done)) {
            Some(ControlFlow::Break(())) => Err(Error::stopped()),
            _ => Ok(()),
        }
    }
}
