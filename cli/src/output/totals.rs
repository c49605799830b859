//! The counts at the end of a listing: arrays, stores, tables, frames without an array, failures.

use std::fmt;
use std::process::ExitCode;

use crate::text::{count, more_counts};

/// The number of arrays, stores, tables, other frames, failures and files in a listing.
#[derive(Clone, Copy, Default)]
pub(crate) struct Totals {
    pub(crate) arrays: u64,
    pub(crate) stores: u64,
    pub(crate) tables: u64,
    pub(crate) others: u64,
    pub(crate) failures: u64,
    /// The number of failures that a damaged frame caused.
    pub(crate) damaged: u64,
    pub(crate) files: u64,
    /// The number of arrays that do not meet the conditions of a filter.
    pub(crate) unwanted: u64,
    /// Whether frames without an array were counted but not listed.
    pub(crate) hides: bool,
}

impl Totals {
    pub(crate) fn add(&mut self, other: Self) {
        self.arrays += other.arrays;
        self.stores += other.stores;
        self.tables += other.tables;
        self.others += other.others;
        self.failures += other.failures;
        self.damaged += other.damaged;
        self.files += other.files;
        self.unwanted += other.unwanted;
        self.hides |= other.hides;
    }

    pub(crate) fn is_none(self) -> bool {
        let Self { arrays, stores, tables, others, failures, .. } = self;
        arrays + stores + tables + others + failures == 0
    }

    pub(crate) fn status(self) -> ExitCode {
        if self.failures > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { arrays, stores, tables, others, failures, .. } = *self;
        f.write_str(&count(arrays, "array"))?;
        f.write_str(&more_counts(&[(stores, "store"), (tables, "table")]))?;
        if others > 0 {
            write!(f, ", {} without an array", count(others, "frame"))?;
        }
        f.write_str(&more_counts(&[(failures, "failure")]))
    }
}
