//! The findings about chunks. Their number is limited, because a damaged file can cause a million findings.

use crate::check::check_report::{Report, Skipped, SkippedPart};
use crate::chunk::entry::ChunkEntry;
use crate::code::FindingCode;
use crate::finding::{Finding, Place};
use crate::index::index_rules::MAX_COMPARED;

/// The maximum number of findings about chunks that are kept for each code.
const MAX_FINDINGS: usize = 20;

/// Findings about chunks so far, at most [`MAX_FINDINGS`] of each code.
#[derive(Default)]
pub(super) struct ChunkFindings {
    kept: Vec<Finding>,
    /// For each code with more than [`MAX_FINDINGS`] findings, the number of the findings that are left out.
    left_out: Vec<(FindingCode, u64)>,
    /// Skipped checks. If some chunks were not decompressed, the first element counts them.
    skipped: Vec<Skipped>,
}

impl ChunkFindings {
    pub(super) fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        findings.into_iter().for_each(|finding| self.push(finding));
    }

    pub(super) fn push(&mut self, finding: Finding) {
        let code = finding.code();
        if self.kept.iter().filter(|kept| kept.code() == code).count() < MAX_FINDINGS {
            self.kept.push(finding);
        } else if let Some((_, count)) = self.left_out.iter_mut().find(|(other, _)| *other == code) {
            *count += 1;
        } else {
            self.left_out.push((code, 1));
        }
    }

    pub(super) fn not_decompressed(&mut self, entry: &ChunkEntry, why: &str) {
        match self.skipped.first_mut() {
            Some(Skipped { part: SkippedPart::Data, count: Some(count), .. }) => *count += 1,
            _ => self.skip(SkippedPart::Data, 1, format!("chunk {} {why}", entry.number)),
        }
    }

    /// Records that this chunk and all later chunks were not checked. `all` is the number of chunks.
    pub(super) fn not_looked_at(&mut self, entry: &ChunkEntry, all: u64) {
        let why =
            format!("chunk {} and all later ones, because chunks before them share bytes", entry.number);
        self.skip(SkippedPart::Chunks, all.saturating_sub(entry.number), why);
    }

    /// Records that only the first [`MAX_COMPARED`] of `all` stored chunks were compared with each other.
    pub(super) fn not_compared(&mut self, all: u64) {
        let why = format!("only the first {MAX_COMPARED} stored chunks are compared");
        self.skip(SkippedPart::SharedBytes, all.saturating_sub(MAX_COMPARED as u64), why);
    }

    fn skip(&mut self, part: SkippedPart, count: u64, why: String) {
        if count > 0 {
            self.skipped.push(Skipped { part, count: Some(count), why });
        }
    }

    /// Adds the findings and the skipped checks to a report.
    pub(super) fn report(self, report: &mut Report) {
        report.findings.extend(self.kept);
        report.findings.extend(self.left_out.into_iter().map(|(code, count)| {
            let text = format!("{count} more findings about chunks are left out");
            Finding::new(code, Place::Chunk).text(text)
        }));
        report.skipped.extend(self.skipped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::entry::ChunkPlace;

    #[test]
    fn chunks_that_are_too_many_to_be_compared_are_not_passed_over_in_silence() {
        let compared =
            "611392 chunks not compared with the others: only the first 8388608 stored chunks are compared";
        let mut findings = ChunkFindings::default();
        findings.not_compared(8_388_608);
        assert_eq!(findings.skipped, []);
        findings.not_compared(9_000_000);
        assert_eq!(findings.skipped[0].to_string(), compared);

        let mut findings = ChunkFindings::default();
        let entry = ChunkEntry { number: 7, nbytes: None, place: ChunkPlace::Frame(97) };
        findings.not_decompressed(&entry, "has another codec");
        findings.not_decompressed(&entry, "has a third one");
        findings.not_looked_at(&entry, 10);
        findings.not_compared(9_000_000);
        let says: Vec<String> = findings.skipped.iter().map(ToString::to_string).collect();
        let data = "2 chunks not decompressed: chunk 7 has another codec";
        let rest = "3 chunks not checked: chunk 7 and all later ones, because chunks before them share bytes";
        assert_eq!(says, [data, rest, compared]);
    }
}
