//! The counts at the end of a listing: arrays, frames without an array, failures.

use std::fmt;
use std::process::ExitCode;

use crate::text::count;

/// How many arrays, other frames and failures there were.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) arrays: u64,
    pub(crate) others: u64,
    pub(crate) failures: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: Self) {
        self.arrays += other.arrays;
        self.others += other.others;
        self.failures += other.failures;
    }

    pub(crate) fn status(self) -> ExitCode {
        if self.failures > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&count(self.arrays, "array"))?;
        match self.others {
            0 => {}
            1 => f.write_str(", 1 frame without an array")?,
            others => write!(f, ", {others} frames without an array")?,
        }
        if self.failures > 0 {
            write!(f, ", {}", count(self.failures, "failure"))?;
        }
        Ok(())
    }
}
