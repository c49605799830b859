//! Chunks in the order of the file, where nothing says which is which.

use std::collections::VecDeque;
use std::io::{Read, Seek};

use crate::check::chunk_files;
use crate::error::Error;
use crate::format::chunk::ChunkHeader;
use crate::rules::chunk::ChunkRules;
use crate::salvage::layout::{TYPESIZE, signature};
use crate::salvage::source::{PIECE, Source};
use crate::write::plan::Sizes;

/// The offsets of the chunks that follow one another from `start` on, or the numbers of the chunk files. Each has a valid
/// header. Where one is damaged, the next one is searched.
pub(super) fn find<R: Read + Seek>(
    source: &mut Source<R>,
    start: u64,
    sizes: &Sizes,
    rules: &ChunkRules,
) -> Result<Vec<u64>, Error> {
    if let Some(directory) = source.directory() {
        return chunk_files::list(directory).map_err(|error| Error::io("read", directory, error));
    }
    let signature = signature(sizes);
    let nbytes = u64::try_from(sizes.chunksize).ok();
    let mut found = Vec::new();
    let (mut hits, mut searched) = (VecDeque::new(), start.saturating_add(TYPESIZE));
    let mut at = start;
    while at < source.len {
        let bytes = source.read(at, ChunkHeader::MAX_LEN as u64)?;
        let room = source.len - at;
        let header = ChunkHeader::parse(&bytes).filter(|header| {
            rules.violation(header, nbytes, room).or_else(|| rules.wrong_value(header)).is_none()
        });
        match header {
            Some(header) => {
                found.push(at);
                at = at.saturating_add(header.cbytes as u64);
            }
            None => match next(source, at, &signature, &mut hits, &mut searched)? {
                Some(next) => at = next,
                None => break,
            },
        }
    }
    Ok(found)
}

/// The next place after `at` that looks like the header of a chunk. Each piece of the file is searched once: `hits` are those of the
/// last piece, and what is before `searched` has been searched.
fn next<R: Read + Seek>(
    source: &mut Source<R>,
    at: u64,
    signature: &[u8],
    hits: &mut VecDeque<u64>,
    searched: &mut u64,
) -> Result<Option<u64>, Error> {
    loop {
        match hits.pop_front() {
            Some(hit) if hit > at => return Ok(Some(hit)),
            Some(_) => {}
            None if *searched >= source.len => return Ok(None),
            None => {
                *searched = (*searched).max(at.saturating_add(TYPESIZE));
                let piece = source.search_piece(*searched, signature)?;
                hits.extend(piece.into_iter().map(|offset| offset - TYPESIZE));
                *searched = searched.saturating_add(PIECE);
            }
        }
    }
}
