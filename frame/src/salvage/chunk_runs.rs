//! The entries of the chunks of a damaged frame, in the order of the chunk numbers.

use crate::chunk::entry::{ChunkEntry, ChunkPlace};
use crate::error::{Error, ErrorKind};
use crate::header::frame::Frame;
use crate::read::chunks::Chunks;
use crate::salvage::survey::Survey;
use crate::source::ReadAt;

/// Consecutive chunks that have the same entry, or whose places are not known.
pub(super) struct ChunkRun {
    pub(super) first: u64,
    pub(super) count: u64,
    /// The entry, or why the places of the chunks are not known.
    pub(super) entry: Result<ChunkEntry, String>,
}

/// A function that receives the chunks, one run of chunks at a time.
pub(super) type Receive<'t, R> = dyn FnMut(&mut Chunks<'_, &R>, ChunkRun) -> Result<(), Error> + 't;

/// Passes the chunks and their places to `receive`, in the order of the chunk numbers.
pub(super) fn each<R: ReadAt>(
    frame: &Frame<&R>,
    survey: &Survey,
    receive: &mut Receive<'_, R>,
) -> Result<(), Error> {
    let nchunks = survey.parts.sizes.nchunks;
    let nbytes = Some(u64::from(survey.parts.sizes.chunksize));
    let mut chunks = frame.open_salvaged_chunks()?;
    if let Some(order) = &survey.order {
        let lost = |first, end| ChunkRun { first, count: end - first, entry: Err("it was not found".into()) };
        let mut next = 0;
        for &(number, place) in order.iter().take_while(|(number, _)| *number < nchunks) {
            receive(&mut chunks, lost(next, number))?;
            let place =
                if survey.header.is_sparse { ChunkPlace::File(place) } else { ChunkPlace::Frame(place) };
            let entry = Ok(ChunkEntry { number, nbytes, place });
            receive(&mut chunks, ChunkRun { first: number, count: 1, entry })?;
            next = number + 1;
        }
        return receive(&mut chunks, lost(next, nchunks));
    }
    let mut first = 0;
    while let Some(entry) = chunks.next() {
        let entry = match entry {
            // The rest of the index cannot be read, so the places of the chunks from `first` on are not known.
            Err(error) if error.kind() == ErrorKind::Malformed => Err(error.to_string()),
            entry => Ok(entry?),
        };
        // An index of one repeated entry takes only a few bytes, even if the number of chunks is huge. So the chunks of
        // such an index are passed as one run, because passing them one by one could take very long.
        let count = if entry.is_err() || chunks.is_repeated() { nchunks - first } else { 1 };
        receive(&mut chunks, ChunkRun { first, count, entry })?;
        first += count;
        if first == nchunks {
            break;
        }
    }
    Ok(())
}
