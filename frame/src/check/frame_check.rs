//! The check of the trailer and the chunk index.

use crate::check::check_report::Report;
use crate::check::index_check;
use crate::chunk::entry::{ChunkCounts, index_start};
use crate::code::{FindingCode, Severity};
use crate::error::Error;
use crate::header::fields::Generation;
use crate::header::frame::Frame;
use crate::index::index_rules::{about, index_header};
use crate::progress::Progress;
use crate::source::ReadAt;
use crate::trailer::trailer_rules;

/// Checks the trailer and the chunk index. If the file is shorter than the frame, returns an error with the code
/// `Truncated`.
pub(super) fn check<R: ReadAt>(
    frame: &Frame<R>,
    progress: &mut Progress<'_>,
    report: &mut Report,
) -> Result<(), Error> {
    let mut end = None;
    match frame.read_trailer() {
        Ok(trailer) => {
            end = Some(trailer.offset());
            report.findings.extend(trailer_rules::check(frame.header(), &trailer));
        }
        Err(error) if error.is_about(FindingCode::Truncated) => return Err(error),
        Err(error) => report.findings.push(error.into_finding()?),
    }
    if frame.header().nbytes > 0 {
        check_index(frame, end, progress, report)
    } else {
        report.counts = Some(ChunkCounts::default());
        Ok(())
    }
}

/// Checks the chunk index. The index must end at or before the offset `trailer` or, if this offset is not known, at or
/// before the end of the frame.
fn check_index<R: ReadAt>(
    frame: &Frame<R>,
    trailer: Option<u64>,
    progress: &mut Progress<'_>,
    report: &mut Report,
) -> Result<(), Error> {
    // A negative `cbytes` is not reported here, because the rules of the header report it.
    if !frame.header().is_sparse() && frame.header().cbytes < 0 {
        return Ok(());
    }
    let end = trailer.unwrap_or(frame.header().frame_len);
    let first = frame.index_bytes(end)?;
    let header = frame.header();
    let index = match index_header(&first, header, end) {
        Ok(index) => index,
        Err(finding) => {
            report.findings.push(finding);
            return Ok(());
        }
    };
    let is_present = header.generation == Generation::Present;
    let gap = end.saturating_sub(index_start(header)).saturating_sub(index.cbytes() as u64);
    let gap = Some(gap).filter(|&gap| trailer.is_some() && gap > 0);
    // If there are no stored chunks, the bytes between the index and the trailer cannot be old bytes of a replaced
    // chunk. So these bytes are an error, not only a warning.
    if let Some(gap) = gap.filter(|_| header.cbytes == 0 && !header.is_sparse() && is_present) {
        let text = format!(
            "cbytes is 0, so only the chunk index should be between header and trailer, but {gap} bytes follow it"
        );
        report.findings.push(about(FindingCode::DamagedIndex, header).text(text));
        return Ok(());
    }
    let mut findings = Vec::new();
    // This crate does not read the entries of a frame of the older generation (C-Blosc2 2.0 beta), so these entries are
    // not checked.
    if is_present {
        (findings, report.counts) = index_check::check(frame, progress)?;
    }
    // If the index has an error, its length may be wrong too. In that case, it is not certain that there is a gap, so
    // none is reported.
    if let Some(gap) = gap.filter(|_| findings.iter().all(|finding| finding.severity() == Severity::Warning))
    {
        let text = format!("{gap} bytes lie between the chunk index and the trailer");
        report.findings.push(about(FindingCode::IgnoredBytes, frame.header()).numbers(0, gap).text(text));
    }
    report.findings.extend(findings);
    Ok(())
}
