//! The last part of the output of `b2nd check`: the number of frames, the codes that were found, and the meaning of
//! these codes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};
use std::io::{self, Write};

use b2nd_frame::{CheckDepth, Finding, Severity};
use serde::Serialize;

use super::explanation::{Explanation, all};
use super::json::line;
use super::summary::table;
use crate::input::Failure;
use crate::terminal::remark;
use crate::text::{count, more_counts};

/// The output of a check in addition to its findings, or instead of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The explanations of the codes that were found, and then the totals.
    Explained,
    /// Only the totals.
    Totals,
    /// The number of frames with each code, instead of the findings.
    Summary,
}

/// The counts of a check, as `--json` prints them with `--summary`. Scripts rely on the names of these fields.
#[derive(Default, Serialize)]
pub(crate) struct Checked {
    #[serde(skip)]
    pub(crate) files: u64,
    #[serde(rename = "checked_frames")]
    pub(crate) frames: u64,
    pub(crate) stores: u64,
    pub(crate) tables: u64,
    pub(crate) with_errors: u64,
    pub(crate) with_warnings: u64,
    /// The number of frames that were not checked in full.
    #[serde(rename = "partly_checked")]
    pub(crate) partly: u64,
    pub(crate) failures: u64,
    #[serde(rename = "ignored_findings")]
    pub(crate) ignored: u64,
    /// An example for the user: the address of the first frame that was not checked in full, the skipped parts of this
    /// frame, and the reasons.
    #[serde(skip)]
    example: Option<String>,
    /// For each code, the number of frames and stores that have a finding with this code. A file that cannot be read is
    /// counted for the code of its failure.
    #[serde(skip)]
    counts: BTreeMap<&'static str, u64>,
}

impl Checked {
    pub(crate) fn add(&mut self, other: Self) {
        self.files += other.files;
        self.frames += other.frames;
        self.stores += other.stores;
        self.tables += other.tables;
        self.with_errors += other.with_errors;
        self.with_warnings += other.with_warnings;
        self.failures += other.failures;
        self.ignored += other.ignored;
        self.partly += other.partly;
        self.example = self.example.take().or(other.example);
        other.counts.into_iter().for_each(|(code, count)| *self.counts.entry(code).or_default() += count);
    }

    /// Counts the findings of a frame or store. Several findings with the same code are counted once.
    pub(crate) fn add_findings(&mut self, findings: &[Finding]) {
        let codes: BTreeSet<_> = findings.iter().map(|finding| finding.code().name()).collect();
        for code in codes {
            *self.counts.entry(code).or_default() += 1;
        }
        match findings.iter().map(Finding::severity).max() {
            Some(Severity::Error) => self.with_errors += 1,
            Some(_) => self.with_warnings += 1,
            None => {}
        }
    }

    pub(crate) fn add_failure(&mut self, failure: &Failure) {
        self.failures += 1;
        *self.counts.entry(failure.error.code).or_default() += 1;
    }

    /// Counts a frame that was not checked in full. `example` is a text with the address of the frame, and the reasons
    /// why parts of the frame were not checked.
    pub(crate) fn add_partly(&mut self, example: String) {
        self.partly += 1;
        self.example.get_or_insert(example);
    }

    /// Whether there was nothing to check.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { frames, stores, tables, failures, ignored, .. } = self;
        frames + stores + tables + failures + ignored == 0
    }

    /// Prints what `ending` selects, after a remark about frames that were not checked in full.
    pub(crate) fn print_ending(&self, ending: Ending, json: bool, depth: CheckDepth) -> io::Result<()> {
        if let Some(example) = &self.example {
            let many = format!("{} were not checked in full; for example ", count(self.partly, "frame"));
            remark(&format_args!("{}{example}", if self.partly > 1 { &many } else { "" }));
        }
        // If there are frames without findings, the hint says what a check of this depth does not read or cannot find.
        let hint = match depth {
            _ if self.frames <= self.with_errors + self.with_warnings => "",
            CheckDepth::Frame => "; chunks not read (--chunks)",
            CheckDepth::ChunkHeaders => "; data of chunks not read (--data)",
            _ => "; Blosc2 has no checksums, so not every change of the data is found",
        };
        match ending {
            Ending::Summary if json => {
                return anstream::stdout()
                    .write_all(&line(&CheckedRecord { checked: self, codes: self.counted() }));
            }
            Ending::Summary => return writeln!(anstream::stdout(), "{}{self}{hint}", self.table()),
            _ if json => return Ok(()),
            Ending::Explained => {
                // The message of a failure is an explanation already, so only the codes of findings are explained.
                for (code, _) in self.explained().filter(|(code, _)| code.severity != "failure") {
                    // Standard error may be closed, so an error of writing is ignored.
                    let _ = writeln!(anstream::stderr(), "\n{}", code.to_string().trim_end());
                }
            }
            Ending::Totals => {}
        }
        remark(&format_args!("{self}{hint}"));
        Ok(())
    }

    /// The explanation of each code that was found, with the count of the code.
    fn explained(&self) -> impl Iterator<Item = (Explanation, u64)> {
        all().filter_map(|code| Some((code, *self.counts.get(code.code)?)))
    }

    /// The codes that were found: first the codes of errors, then the codes of failures, then the codes of warnings. In
    /// each of these three groups, the most frequent code is first.
    fn counted(&self) -> Vec<CountedCode> {
        let counted = self.explained();
        let mut counted: Vec<_> = counted
            .map(|(Explanation { code, severity, .. }, count)| CountedCode { code, severity, count })
            .collect();
        // Severities sort by name: error, failure, warning. The sort is stable.
        counted.sort_by_key(|counted| (counted.severity, Reverse(counted.count)));
        counted
    }

    /// The table of the codes, with an empty line below it.
    fn table(&self) -> String {
        let row =
            |CountedCode { code, severity, count }| vec![count.to_string(), severity.into(), code.into()];
        let rows: Vec<_> = self.counted().into_iter().map(row).collect();
        if rows.is_empty() {
            return String::new();
        }
        // The text of `summary::table` begins with an empty line, which separates the table from the text above it. No
        // text is above this table, so the empty line is removed.
        table(&["COUNT", "SEVERITY", "CODE"], &rows).trim_start().to_owned() + "\n"
    }
}

#[derive(Serialize)]
struct CheckedRecord<'c> {
    #[serde(flatten)]
    checked: &'c Checked,
    codes: Vec<CountedCode>,
}

/// A code, and the number of frames, stores and failures that have it.
#[derive(Serialize)]
struct CountedCode {
    code: &'static str,
    /// `error` or `warning` for the code of a finding; `failure` for any other code.
    severity: &'static str,
    count: u64,
}

impl Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frames, stores, tables, with_errors, with_warnings, failures, ignored, .. } = *self;
        if self.is_empty() {
            return f.write_str("no frame was found");
        }
        f.write_str(&count(frames, "frame"))?;
        f.write_str(&more_counts(&[(stores, "store"), (tables, "table")]))?;
        match (with_errors, with_warnings) {
            (0, 0) if frames > 0 && failures + self.partly == 0 => {
                f.write_str(", no errors or warnings")?;
            }
            (0, 0) => {}
            (0, warnings) => write!(f, ", {warnings} with warnings")?,
            (errors, 0) => write!(f, ", {errors} with errors")?,
            (errors, warnings) => write!(f, ", {errors} with errors, {warnings} with only warnings")?,
        }
        if self.partly > 0 {
            write!(f, ", {} not checked in full", self.partly)?;
        }
        f.write_str(&more_counts(&[(failures, "failure")]))?;
        if ignored > 0 {
            write!(f, "; {} ignored", count(ignored, "finding"))?;
        }
        Ok(())
    }
}
