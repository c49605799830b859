//! The trailer, and its vlmetalayers.

use crate::code::FindingCode;
use crate::finding::{Escaped, Finding, Place};
use crate::format::fields::HeaderField;
use crate::format::header::Header;
use crate::format::trailer::Trailer;

/// What is wrong with a trailer, or unusual.
pub(crate) fn check(header: &Header, trailer: &Trailer) -> Vec<Finding> {
    let about = |code| Finding::new(code, Place::Trailer).at(trailer.offset());
    let mut findings = Vec::new();
    let (expected, found) = (header.header_len as u64, trailer.offset());
    if header.nbytes == 0 && expected != found {
        let text = format!(
            "the frame has no chunks, so the trailer must begin at byte {expected}, but it begins at {found}"
        );
        findings.push(about(FindingCode::TrailerPlace).numbers(expected, found).text(text));
    }
    let count = trailer.vlmetalayers().len();
    if header.has_vlmetalayers == (count == 0) {
        let flag = header.has_vlmetalayers;
        let text = format!("has_vlmetalayers is {flag}, but the trailer has {count} vlmetalayers");
        let at = header.range(HeaderField::HasVlmetalayers).map_or(0, |range| range.start);
        findings.push(Finding::new(FindingCode::VlmetalayerFlag, Place::Header).at(at as u64).text(text));
    }
    for layer in trailer.vlmetalayers().iter().filter(|layer| layer.nbytes().is_none()) {
        let (name, length) = (Escaped(layer.name()), layer.chunk().len());
        let text = format!("the {length} bytes of vlmetalayer {name} are not a Blosc2 chunk");
        findings
            .push(Finding::new(FindingCode::VlmetalayerChunk, Place::Trailer).at(layer.offset()).text(text));
    }
    findings
}
