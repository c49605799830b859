//! Reads the trailer of a frame.

use crate::error::Error;
use crate::file_version::has_changed;
use crate::header::frame::Frame;
use crate::source::ReadAt;
use crate::trailer::frame_trailer::{self, Trailer};

/// The number of bytes that are read first, enough for a trailer without long vlmetalayers.
const TRAILER_READ: usize = 512;

/// Reads the trailer. The error is `Changing` if the version of the source differs from its version before the header
/// was read. It is also `Changing` if the trailer is invalid and a writer may be the cause.
pub(crate) fn trailer_or_changing<R: ReadAt>(frame: &Frame<R>) -> Result<Trailer, Error> {
    let trailer = frame.read_trailer().map_err(|error| frame.or_changing(error, None))?;
    if has_changed(frame.version.as_ref(), frame.reader.version().as_ref()) {
        return Err(Error::changing(None));
    }
    Ok(trailer)
}

impl<R: ReadAt> Frame<R> {
    /// Reads the trailer. An error is not replaced by `Changing`, even if a writer may have caused the error.
    pub(crate) fn read_trailer(&self) -> Result<Trailer, Error> {
        let suffix = self.last_bytes(TRAILER_READ)?;
        let parsed = Trailer::parse(self.header(), &suffix);
        let Some(needed) = parsed.as_ref().err().and_then(Error::needed) else { return parsed };
        let suffix = self.last_bytes(needed)?;
        // If the second read gives another length than the first, a writer has changed the trailer between the two
        // reads.
        if frame_trailer::length(self.header(), &suffix)? != needed {
            return Err(Error::changing(None));
        }
        Trailer::parse_whole(self.header(), suffix.into()).map_err(Error::malformed)
    }
}
