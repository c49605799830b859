//! The verification of a single chunk by its header and by decompression.

use std::io::{Read, Seek};

use crate::check::chunk_data::{self, NotDecompressed};
use crate::error::{Error, ErrorKind};
use crate::format::chunk::ChunkHeader;
use crate::format::index::ChunkEntry;
use crate::io::blocks::{FIRST_READ, wrong_table};
use crate::io::chunks::Chunks;
use crate::rules::chunk::{ChunkRules, Plugins, list, unsupported};

/// The verdict on a chunk.
pub(super) enum Verdict {
    Sound(Vec<u8>),
    /// It could not be verified.
    Unverified(Vec<u8>, String),
    Lost(String),
}

/// Reads a stored chunk and decompresses it.
pub(super) fn chunk<R: Read + Seek>(
    chunks: &mut Chunks<'_, R>,
    entry: &ChunkEntry,
    rules: &ChunkRules,
) -> Result<Verdict, Error> {
    match read(chunks, entry, rules) {
        // A disk sector that cannot be read costs only the chunks in it.
        Err(error) if error.kind() == ErrorKind::Io => Ok(Verdict::Lost("it cannot be read".into())),
        read => read,
    }
}

fn read<R: Read + Seek>(
    chunks: &mut Chunks<'_, R>,
    entry: &ChunkEntry,
    rules: &ChunkRules,
) -> Result<Verdict, Error> {
    let Some(first) = chunks.bytes(entry, 0, FIRST_READ)? else {
        return Ok(Verdict::Lost("its file is missing".into()));
    };
    let Some(header) = ChunkHeader::parse(&first.bytes) else {
        return Ok(Verdict::Lost("its first bytes are not the header of a chunk".into()));
    };
    let why = rules.violation(&header, entry.nbytes, first.room).or_else(|| rules.wrong_value(&header));
    // No writer sets these flags, and C-Blosc2 does not read a chunk with them, so a byte of the header is damaged.
    let why = match why {
        None if header.has_unknown_flags() => Some("has flags that no writer stores".into()),
        None => wrong_table(chunks, entry, &header, &first.bytes)?,
        why => why,
    };
    if let Some(why) = why {
        return Ok(Verdict::Lost(format!("it {why}")));
    }
    let bytes = match chunks.bytes(entry, 0, header.cbytes as u64)? {
        Some(chunk) if chunk.bytes.len() == header.cbytes => chunk.bytes,
        _ => return Ok(Verdict::Lost("its file has become shorter".into())),
    };
    if header.has_table() {
        let checked = match unsupported(&header, Plugins::Refused) {
            Some(why) => Err(NotDecompressed::NotTried(why)),
            None => chunk_data::check(&header, &bytes, None),
        };
        match checked {
            Ok(()) => {}
            Err(NotDecompressed::Damaged(why)) => {
                return Ok(Verdict::Lost(format!("it cannot be decompressed: {why}")));
            }
            Err(NotDecompressed::NotTried(why)) => {
                return Ok(Verdict::Unverified(bytes, format!("it {why}")));
            }
        }
    }
    Ok(match doubt(&header, rules) {
        Some(why) => Verdict::Unverified(bytes, why),
        None => Verdict::Sound(bytes),
    })
}

/// Why a chunk that decompresses may still differ from the written data.
fn doubt(header: &ChunkHeader, rules: &ChunkRules) -> Option<String> {
    let version = header.version;
    if let Some(filters) = rules.other_filters(header) {
        let usual = rules.filters.as_ref().map(|filters| list(filters.iter())).unwrap_or_default();
        return Some(format!("it has {filters}, but the frame has {usual}"));
    }
    header
        .is_of_alpha()
        .then(|| format!("its chunk format has version {version}, which ignores the last filter"))
}
