//! The walk over the chunks of a damaged frame.

use std::io::{Read, Seek};

use crate::error::{Error, ErrorKind};
use crate::format::index::{ChunkEntry, ChunkPlace};
use crate::io::chunks::Chunks;
use crate::io::frame::Frame;
use crate::salvage::survey::Survey;

/// The next chunk or chunks.
pub(super) enum Next {
    Entry(ChunkEntry),
    /// All chunks, with the same entry.
    Repeated(ChunkEntry, u64),
    /// Chunks without a known place: the first one, their number, and the reason.
    Unknown(u64, u64, String),
}

/// The receiver of chunks.
pub(super) type Take<'t, R> = dyn FnMut(&mut Chunks<'_, &mut R>, Next) -> Result<(), Error> + 't;

/// Passes on the chunks with their places, in the order of their numbers.
pub(super) fn each<R: Read + Seek>(
    frame: &mut Frame<&mut R>,
    survey: &Survey,
    take: &mut Take<'_, R>,
) -> Result<(), Error> {
    let nchunks = survey.parts.sizes.nchunks;
    let nbytes = Some(u64::from(survey.parts.sizes.chunksize));
    let mut chunks = frame.chunks()?;
    if let Some(order) = &survey.order {
        let lost = |first: u64, end: u64| Next::Unknown(first, end - first, "it was not found".into());
        let mut next = 0;
        for &(number, place) in order.iter().take_while(|(number, _)| *number < nchunks) {
            take(&mut chunks, lost(next, number))?;
            let place = if survey.is_sparse { ChunkPlace::File(place) } else { ChunkPlace::Frame(place) };
            take(&mut chunks, Next::Entry(ChunkEntry { number, nbytes, place }))?;
            next = number + 1;
        }
        return take(&mut chunks, lost(next, nchunks));
    }
    let (mut number, is_repeated) = (0, chunks.is_repeated() && nchunks > 1);
    while let Some(entry) = chunks.next() {
        match entry {
            // An index of one repeated entry has a few bytes and can claim any number of chunks, so all are handled at
            // once.
            Ok(entry) if is_repeated => return take(&mut chunks, Next::Repeated(entry, nchunks)),
            Ok(entry) => take(&mut chunks, Next::Entry(entry))?,
            // The rest of the index cannot be read. The chunks up to here can.
            Err(error) if error.kind() == ErrorKind::Malformed => {
                return take(&mut chunks, Next::Unknown(number, nchunks - number, error.to_string()));
            }
            Err(error) => return Err(error),
        }
        number += 1;
    }
    Ok(())
}
