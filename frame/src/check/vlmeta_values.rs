//! The check of the values of vlmetalayers.

use crate::check::check_report::{Report, Skipped, SkippedPart};
use crate::error::{Error, ErrorKind};
use crate::finding::{Escaped, Finding};
use crate::header::frame::Frame;
use crate::header::object_kind::ObjectKind;
use crate::source::ReadAt;
use crate::trailer::embed_list::EMBED_LIST_NAME;
use crate::trailer::packed_tensor::{PackedTensor, checked_tensor};
use crate::trailer::trailer_rules::{embed_list, value};

/// Decompresses and checks the value of each vlmetalayer. If the trailer itself is damaged, nothing is done here,
/// because the check of the frame has already reported this.
pub(super) fn check<R: ReadAt>(frame: &Frame<R>, report: &mut Report) -> Result<(), Error> {
    let trailer = match frame.read_trailer() {
        Err(error) if error.kind() == ErrorKind::Malformed => return Ok(()),
        trailer => trailer?,
    };
    let (mut count, mut first) = (0, None);
    let mut take = |layer: &str, found: Result<Option<Finding>, String>| match found {
        Ok(finding) => report.findings.extend(finding),
        Err(why) => {
            count += 1;
            first.get_or_insert_with(|| format!("vlmetalayer {} {why}", Escaped(layer)));
        }
    };
    trailer.vlmetalayers().iter().for_each(|layer| take(layer.name(), value(layer)));
    if frame.kind() == ObjectKind::SChunk {
        let tensor = checked_tensor(&trailer, frame.header());
        take(PackedTensor::VLMETALAYER, Ok(tensor.err().and_then(|error| error.into_finding().ok())));
    }
    if frame.kind().is_store() {
        take(EMBED_LIST_NAME, embed_list(&trailer, frame.header()));
    }
    report.skipped.extend(first.map(|why| Skipped { part: SkippedPart::Values, count: Some(count), why }));
    Ok(())
}
