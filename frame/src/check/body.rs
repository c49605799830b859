//! Checks what follows the header: the chunk index and the trailer.

use std::io::{Read, Seek};

use crate::check::{Report, entries};
use crate::finding::{Code, Escaped, Finding, Place, Severity};
use crate::format::fields::{Field, Generation};
use crate::{ChunkCounts, Error, Frame, Trailer};

/// Checks what follows the header, in a file that is not shorter than the frame.
pub(super) fn check<R: Read + Seek>(frame: &mut Frame<R>, report: &mut Report<R>) -> Result<(), Error> {
    let mut end = None;
    match frame.trailer() {
        Ok(trailer) => {
            end = Some(trailer.offset());
            report.findings.extend(check_trailer(frame, &trailer));
        }
        Err(error) if error.is_about(Code::Truncated) => return Err(error),
        Err(error) => report.findings.push(error.into_finding()?),
    }
    if frame.header().nbytes > 0 {
        check_index(frame, end, report)
    } else {
        report.counts = Some(ChunkCounts::default());
        Ok(())
    }
}

fn check_trailer<R>(frame: &Frame<R>, trailer: &Trailer) -> Vec<Finding> {
    let header = frame.header();
    let about = |code| Finding::new(code, Place::Trailer).at(trailer.offset());
    let mut findings = Vec::new();
    let (expected, found) = (header.header_len as u64, trailer.offset());
    if header.nbytes == 0 && expected != found {
        let text = format!(
            "the frame has no chunks, so the trailer must begin at byte {expected}, but it begins at {found}"
        );
        findings.push(about(Code::TrailerPlace).numbers(expected, found).text(text));
    }
    let count = trailer.vlmetalayers().len();
    if header.has_vlmetalayers == (count == 0) {
        let flag = header.has_vlmetalayers;
        let text = format!("has_vlmetalayers is {flag}, but the trailer has {count} vlmetalayers");
        let at = header.range(Field::HasVlmetalayers).map_or(0, |range| range.start);
        findings.push(Finding::new(Code::VlmetalayerFlag, Place::Header).at(at as u64).text(text));
    }
    for layer in trailer.vlmetalayers().iter().filter(|layer| layer.nbytes().is_none()) {
        let (name, length) = (Escaped(layer.name()), layer.chunk().len());
        let text = format!("the {length} bytes of vlmetalayer {name} are not a Blosc2 chunk");
        findings.push(Finding::new(Code::VlmetalayerChunk, Place::Trailer).at(layer.offset()).text(text));
    }
    findings
}

/// The chunk index, which ends where the trailer begins, if that is known.
fn check_index<R: Read + Seek>(
    frame: &mut Frame<R>,
    trailer: Option<u64>,
    report: &mut Report<R>,
) -> Result<(), Error> {
    // The rules of the header report a negative cbytes.
    if !frame.header().is_sparse() && frame.header().cbytes < 0 {
        return Ok(());
    }
    let end = trailer.unwrap_or(frame.header().frame_len);
    let (start, index) = match frame.index_header(end)? {
        Ok(found) => found,
        Err(finding) => {
            report.findings.push(finding);
            return Ok(());
        }
    };
    let header = frame.header();
    let is_present = header.generation == Generation::Present;
    let about = |code| Finding::new(code, Place::ChunkIndex).at(start);
    let gap = end.saturating_sub(start).saturating_sub(index.cbytes as u64);
    let has_gap = trailer.is_some() && gap > 0;
    if has_gap && header.cbytes == 0 && !header.is_sparse() && is_present {
        let text =
            format!("cbytes is 0, so the chunk index should be all that is here, but {gap} bytes follow it");
        report.findings.push(about(Code::ChunkIndexPlace).text(text));
        return Ok(());
    }
    let mut findings = Vec::new();
    if is_present {
        (findings, report.counts) = entries::check(frame, start)?;
    }
    if has_gap && findings.iter().all(|finding| finding.severity() == Severity::Warning) {
        let text = format!("{gap} bytes lie between the chunk index and the trailer");
        report.findings.push(about(Code::ChunkIndexGap).numbers(0, gap).text(text));
    }
    report.findings.extend(findings);
    Ok(())
}
