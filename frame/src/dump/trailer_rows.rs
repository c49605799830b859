//! Annotated bytes of a frame's trailer.

use core::fmt;
use core::ops::ControlFlow;

use b2nd_chunk::ChunkHeader;
use b2nd_serde::dump::{self, Row};

use super::annotator::{Annotator, Receive, Stop, until_break};
use super::chunk_rows::stored;
use crate::error::Error;
use crate::finding::Finding;
use crate::header::fields::Generation;
use crate::header::frame::Frame;
use crate::header::frame_header::Header;
use crate::messagepack::marker::ValueType;
use crate::source::ReadAt;
use crate::trailer::frame_trailer::{END_LEN, Trailer, length, part};

/// Passes the rows of the trailer to a function.
pub(crate) fn all<R: ReadAt>(
    frame: &Frame<R>,
    mut receive: impl FnMut(&Row<'_>) -> ControlFlow<()>,
) -> Result<(), Error> {
    let end = frame.last_bytes(END_LEN)?;
    let (bytes, fault) = match length(frame.header(), &end) {
        Ok(length) => (frame.last_bytes(length)?, None),
        // A fault is shown as a row. If a writer may have caused the fault, this call returns an error instead.
        Err(error) => (end, Some(frame.or_changing(error, None).into_finding()?)),
    };
    // An error only means that the function returned `Break`.
    let _ = write(frame.header(), &bytes, fault, &mut until_break(&mut receive));
    Ok(())
}

/// Writes the rows of a trailer, or of the last bytes of a frame without a valid trailer.
fn write(header: &Header, bytes: &[u8], fault: Option<Finding>, receive: &mut Receive<'_>) -> fmt::Result {
    let offset = header.frame_len.saturating_sub(bytes.len() as u64);
    let is_found = fault.is_none();
    let fault =
        fault.or_else(|| Trailer::parse(header, bytes).err().and_then(|error| error.into_finding().ok()));
    let fault = fault.map(|finding| {
        let at = finding.offset().and_then(|at| usize::try_from(at.saturating_sub(offset)).ok());
        (at.unwrap_or_default(), finding.message().to_string())
    });
    let rows = dump::Annotator::new(bytes, receive).within(offset, header.frame_len);
    Annotator::new(part(offset), rows, fault)
        .run(|rows| if is_found { rows.trailer(header.generation) } else { Err(Stop::Fault) })
}

impl Annotator<'_, '_> {
    fn trailer(&mut self, generation: Generation) -> Result<(), Stop> {
        let marker = self.marker()?;
        self.row(ValueType(marker), "trailer", "")?;
        let version = self.marker()?;
        self.row(ValueType(version), "version", version.to_u8())?;
        if generation == Generation::Present {
            self.section("vlmetalayers", |rows, _, content| rows.vlmetalayer(content))?;
        } else {
            self.content(self.rows.shown(), &[], &mut |rows, _, content| rows.vlmetalayer(content))?;
        }
        // The length of the trailer is at a fixed distance from the end. Before the length, there may be bytes that
        // belong to no vlmetalayer.
        let end = self.cursor.bytes().len().saturating_sub(END_LEN);
        self.inside(|rows| rows.raw_until(end))?;
        self.cursor = self.cursor.at(end);
        self.value("trailer_len")?;
        let marker = self.marker()?;
        let kind = self.cursor.byte()?;
        self.row(ValueType(marker), "fingerprint", format_args!("kind {kind}"))?;
        Ok(self.inside(|rows| rows.raw_until(usize::MAX))?)
    }

    /// Shows the content of a vlmetalayer. It should be a chunk; if not, only its bytes are shown.
    fn vlmetalayer(&mut self, content: &[u8]) -> Result<(), Stop> {
        let end = self.rows.shown() + content.len();
        if let Some(header) = ChunkHeader::parse(content).filter(|header| header.cbytes() == content.len()) {
            // The cursor has already passed the content. It is moved back to show the chunk header value by value.
            self.cursor = self.cursor.at(self.rows.shown());
            self.chunk_header(&header, header.codec())?;
            self.note("data", &stored(&header))?;
            if header.stored(content).is_some() {
                self.inside(|rows| rows.values(end))?;
            }
            self.cursor = self.cursor.at(end);
        }
        Ok(self.inside(|rows| rows.raw_until(end))?)
    }
}
