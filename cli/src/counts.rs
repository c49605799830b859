//! The counts at the end of a listing: arrays, stores, tables, frames without an array, failures.

use std::fmt;
use std::process::ExitCode;

use crate::text::count;

/// How many of each there were.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) arrays: u64,
    pub(crate) stores: u64,
    pub(crate) tables: u64,
    pub(crate) others: u64,
    pub(crate) failures: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: Self) {
        self.arrays += other.arrays;
        self.stores += other.stores;
        self.tables += other.tables;
        self.others += other.others;
        self.failures += other.failures;
    }

    pub(crate) fn is_none(self) -> bool {
        let Self { arrays, stores, tables, others, failures } = self;
        arrays + stores + tables + others + failures == 0
    }

    pub(crate) fn status(self) -> ExitCode {
        if self.failures > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&count(self.arrays, "array"))?;
        let others = [(self.stores, "store"), (self.tables, "table")];
        for (number, noun) in others.into_iter().filter(|&(number, _)| number > 0) {
            write!(f, ", {}", count(number, noun))?;
        }
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
