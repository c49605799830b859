//! Chunks in the order of the file, where nothing says which is which.

use std::io::{Read, Seek};

use crate::check::chunk_files;
use crate::error::Error;
use crate::format::chunk::ChunkHeader;
use crate::rules::chunk::ChunkRules;
use crate::salvage::layout::{search, signature};
use crate::salvage::source::Source;
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
            None => match search(source, at.saturating_add(1), &signature, 1)?.first() {
                Some(&next) => at = next,
                None => break,
            },
        }
    }
    Ok(found)
}
