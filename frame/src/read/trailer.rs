//! Reads the trailer of a frame.

use crate::error::Error;
use crate::header::frame::Frame;
use crate::source::ReadAt;
use crate::trailer::frame_trailer::{self, Trailer};

/// The number of bytes that are read first, enough if it has no long vlmetalayers.
const TRAILER_READ: usize = 512;

/// Reads the trailer. An error that a writer may have caused is `Changing`. If the source has a version, the trailer is
/// that of the header: it is compared after the trailer was read.
pub(crate) fn trailer_or_changing<R: ReadAt>(frame: &Frame<R>) -> Result<Trailer, Error> {
    let version = frame.reader.version();
    let trailer = frame.read_trailer();
    // For other sources, such as objects on a server, this would cost a request.
    if version.is_some() {
        frame.check_version(version)?;
    }
    trailer.map_err(|error| frame.or_changing(error))
}

impl<R: ReadAt> Frame<R> {
    /// Reads the trailer. An error is not compared with the file.
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
