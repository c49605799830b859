//! The rules for a chunk header itself, and for its agreement with the frame.

#[cfg(feature = "decompress")]
use b2nd_chunk::ErrorKind;
use b2nd_chunk::internals::{MAX_BLOCKSIZE, typesize_byte};
use b2nd_chunk::{ChunkHeader, Filter, SpecialValue};

use crate::chunk::entry::{ChunkEntry, ChunkPlace};
use crate::code::FindingCode;
#[cfg(feature = "decompress")]
use crate::error::Error;
use crate::finding::{Finding, Place};
use crate::header::frame_header::Header;

/// The values that a frame requires in the headers of its chunks. A frame without an array requires no item size, block
/// size or filters.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChunkRules {
    /// The item size as a chunk header stores it, in a single byte: 1 if the item size is above 255.
    pub(crate) typesize: Option<u8>,
    /// The item size in the header of the frame; `None` if the item size of the chunk need not agree with it.
    pub(crate) itemsize: Option<usize>,
    pub(crate) blocksize: Option<usize>,
    /// The filters of the frame that are in use. It is unusual, but valid, that a chunk has other filters:
    /// python-blosc2 can change the filters of a frame between two chunks.
    pub(crate) filters: Option<Vec<Filter>>,
    /// Whether a chunk may be shorter than the longest chunk header, 32 bytes.
    pub(crate) may_be_short: bool,
}

impl ChunkRules {
    pub(crate) fn new(header: &Header, is_array: bool) -> Self {
        if !is_array {
            return Self { may_be_short: header.is_sparse(), ..Self::default() };
        }
        let typesize = typesize_byte(header.typesize);
        Self {
            typesize: Some(typesize),
            // A type size of 1 can be wrong: some writers store 1 instead of a size above 255. So if the type size is
            // 1, the item size counts as unknown.
            itemsize: usize::try_from(header.typesize).ok().filter(|&size| size > 1),
            blocksize: header.blocksize.and_then(|size| usize::try_from(size).ok()),
            filters: Some(header.pipeline().map(|filter| filter.in_chunk(typesize)).collect()),
            may_be_short: header.is_sparse(),
        }
    }

    /// Checks the header of a chunk. The chunk must have `expected` decompressed bytes, if that number is known, and at
    /// most `room` stored bytes. The text of an error completes the sentence "the chunk …".
    pub(crate) fn check(&self, header: &ChunkHeader, expected: Option<u64>, room: u64) -> Result<(), String> {
        self.check_sizes(header, expected, room)?;
        check_body(header)?;
        self.check_value(header)
    }

    /// Checks only the sizes in the header. `expected` and `room` are as in [`check`](Self::check).
    pub(crate) fn check_sizes(
        &self,
        header: &ChunkHeader,
        expected: Option<u64>,
        room: u64,
    ) -> Result<(), String> {
        let (nbytes, blocksize) = (header.nbytes(), header.blocksize());
        let (cbytes, typesize) = (header.cbytes(), header.typesize());
        // Check the sizes first: every later rule and the decompressor rely on them.
        if let Some(expected) = expected.filter(|&expected| expected != nbytes as u64) {
            return Err(format!("has {nbytes} bytes of data, but must have {expected}"));
        }
        if cbytes as u64 > room {
            return Err(format!("has {cbytes} bytes, but at most {room} are left for it"));
        }
        // C-Blosc2 always reads 32 bytes of a chunk in a contiguous frame, even if the chunk header has only 16 bytes.
        if cbytes < ChunkHeader::MAX_LEN && !self.may_be_short {
            let least = ChunkHeader::MAX_LEN;
            return Err(format!("has {cbytes} bytes, but C-Blosc2 reads no chunk of less than {least}"));
        }
        if typesize == 0 || self.typesize.is_some_and(|expected| expected != typesize) {
            let expected = self.typesize.unwrap_or(1);
            return Err(format!("has items of {typesize} bytes, but must have {expected}"));
        }
        if blocksize == 0 || blocksize > MAX_BLOCKSIZE {
            return Err(format!("has blocks of {blocksize} bytes, but must have 1 to {MAX_BLOCKSIZE}"));
        }
        match self.blocksize {
            Some(expected) if header.has_variable_blocks() => Err(format!(
                "has {blocksize} blocks of different sizes, but must have blocks of {expected} bytes"
            )),
            Some(expected) if blocksize != expected => {
                Err(format!("has blocks of {blocksize} bytes, but must have {expected}"))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the value of a constant chunk is one item.
    // The value must have exactly the size of an item, because C-Blosc2 always reads a whole item, even if the stored
    // value is shorter or longer.
    fn check_value(&self, header: &ChunkHeader) -> Result<(), String> {
        let body = header.cbytes().saturating_sub(header.header_len());
        match self.itemsize {
            Some(itemsize) if header.special() == Some(SpecialValue::Value) && itemsize != body => {
                Err(format!("repeats a value of {body} bytes, but items have {itemsize}"))
            }
            _ => Ok(()),
        }
    }

    /// Lists the filters of a chunk if they are unusual; otherwise the result is `None`. In an array, filters are
    /// unusual if they differ from the filters in the header of the frame. In a frame without an array, they are
    /// unusual if one of them is unknown.
    pub(crate) fn other_filters(&self, header: &ChunkHeader) -> Option<String> {
        if !header.has_table() || header.header_len() < ChunkHeader::MAX_LEN {
            return None;
        }
        let filters = || header.filters().into_iter().filter(|filter| filter.id != 0);
        let is_other = match &self.filters {
            Some(expected) => !filters().eq(expected.iter().copied()),
            None => filters().any(Filter::is_unknown),
        };
        is_other.then(|| list(filters()))
    }
}

/// Converts the result of a rule of `b2nd_chunk`: an error becomes its message.
pub(crate) fn rule<T>(checked: Result<T, b2nd_chunk::Error>) -> Result<T, String> {
    checked.map_err(|error| error.message().to_string())
}

/// Checks that the flags of a chunk do not contradict each other, and that C-Blosc2 can read a chunk with these flags.
pub(crate) fn check_flags(header: &ChunkHeader) -> Result<(), String> {
    rule(header.check_flags())?;
    // C-Blosc2 reads the special value from bits of byte 31, even in a chunk of Blosc 1. The header of such a chunk
    // ends at byte 16, so byte 31 is data. If these bits of the data are not 0, C-Blosc2 mistakes the chunk for a
    // special chunk.
    match header.false_special() {
        Some(bits) => Err(format!("has the special-value bits {bits}, so C-Blosc2 cannot read it")),
        None => Ok(()),
    }
}

/// Refuses an uncompressed chunk with the dictionary flag. This crate can read such a chunk, but C-Blosc2 reads the
/// first bytes of the data as the length of a dictionary.
// This check is not a part of `check_flags`, because this crate reads the chunks of an array in spite of this fault.
pub(crate) fn check_dictionary(header: &ChunkHeader) -> Result<(), String> {
    if header.has_false_dictionary() {
        return Err("has a dictionary, but is not compressed: bit 0 of its byte 31 must be 0".into());
    }
    Ok(())
}

/// Checks the chunk of a vlmetalayer. Unlike a chunk of the array's data, this chunk is stored even if it has a special
/// value.
pub(crate) fn check_in_trailer(header: &ChunkHeader, chunk: &[u8]) -> Result<(), String> {
    let (rules, room) = (ChunkRules { may_be_short: true, ..ChunkRules::default() }, chunk.len() as u64);
    // If all items of a data chunk are zero, NaN or uninitialized, the chunk is only an entry of the chunk index. The
    // chunk of a vlmetalayer has no entry in an index, so with such a value it is stored as a header without data.
    if header.special().is_some_and(|special| special != SpecialValue::Value) {
        rules.check_sizes(header, None, room)?;
        check_flags(header)?;
        let has_body = header.cbytes() > header.header_len();
        return if has_body { Err("has one value, but also data".into()) } else { Ok(()) };
    }
    rules.check(header, None, room)?;
    rule(header.check_table(chunk))?;
    check_dictionary(header)
}

/// Checks that the bytes after a header agree with the header.
fn check_body(header: &ChunkHeader) -> Result<(), String> {
    check_flags(header)?;
    match header.special() {
        None | Some(SpecialValue::Value) => rule(header.check()),
        // For the other special values (zeros, NaN, uninitialized), writers store no chunk, but only set an entry of
        // the chunk index.
        Some(special) => Err(format!("is stored, but has no data: it is of the kind {}", special.name())),
    }
}

pub(crate) fn list(filters: impl Iterator<Item = Filter>) -> String {
    let names: Vec<String> = filters.map(|filter| filter.to_string()).collect();
    if names.is_empty() { "no filter".into() } else { names.join(", ") }
}

/// A finding about a stored chunk.
pub(crate) fn about(code: FindingCode, entry: &ChunkEntry) -> Finding {
    let finding = Finding::new(code, Place::Chunk).in_chunk(entry.number);
    match entry.place {
        ChunkPlace::Frame(start) => finding.at(start),
        _ => finding,
    }
}

/// The finding for a chunk that does not begin with a chunk header.
pub(crate) fn not_a_chunk(entry: &ChunkEntry) -> Finding {
    let where_ = entry.file_name().map_or("here".into(), |name| format!("in {name}"));
    let text = format!(
        "chunk {} should begin {where_}, but these bytes are not the header of a chunk",
        entry.number
    );
    about(FindingCode::ChunkHeader, entry).text(text)
}

/// The finding for a chunk whose file is missing.
pub(crate) fn missing(entry: &ChunkEntry) -> Finding {
    let name = entry.file_name().unwrap_or_default();
    about(FindingCode::ChunkFile, entry)
        .text(format!("chunk {} should be in {name}, which is missing", entry.number))
}

/// The finding for a chunk whose data is damaged.
pub(crate) fn damaged(entry: &ChunkEntry, why: &str) -> Finding {
    about(FindingCode::ChunkData, entry).text(format!("chunk {} {why}", entry.number))
}

/// The finding for a chunk whose compressed bytes contain a page of zeros, which has probably replaced lost bytes.
pub(crate) fn lost_page(entry: &ChunkEntry, why: &str) -> Finding {
    about(FindingCode::LostPage, entry).text(sentence(entry, why))
}

/// The finding for a chunk whose header is invalid.
pub(crate) fn wrong(entry: &ChunkEntry, why: &str) -> Finding {
    about(FindingCode::ChunkHeader, entry).text(sentence(entry, why))
}

/// The finding for a chunk whose entry in the chunk index is invalid.
#[cfg(feature = "decompress")]
pub(crate) fn wrong_place(entry: &ChunkEntry, value: i64) -> Finding {
    wrong(entry, &format!("has the entry {value} in the chunk index, which is not a valid place"))
}

/// The error for a chunk that this crate cannot read, although the chunk may be undamaged.
#[cfg(feature = "decompress")]
pub(crate) fn unread(entry: &ChunkEntry, why: &str) -> Error {
    Error::unsupported(format_args!("chunk {} {why}", entry.number))
}

/// The error for a chunk that could not be decompressed.
#[cfg(feature = "decompress")]
pub(crate) fn not_decompressed(entry: &ChunkEntry, error: &b2nd_chunk::Error) -> Error {
    let why = error.message().to_string();
    match error.kind() {
        ErrorKind::NoMemory => Error::too_large(format_args!("chunk {} {why}", entry.number)),
        ErrorKind::Unsupported => unread(entry, &why),
        ErrorKind::Header | ErrorKind::Table => Error::malformed(wrong(entry, &why)),
        _ => Error::malformed(damaged(entry, &why)),
    }
}

/// The finding for an uncompressed chunk whose header has the dictionary flag.
pub(crate) fn with_false_dictionary(entry: &ChunkEntry) -> Finding {
    let why = "is not compressed, but its header has the dictionary flag: C-Blosc2 takes the first 4 bytes of the data \
               for a dictionary's length, and refuses the chunk unless they happen to be a valid length; the data itself is \
               whole, and this crate reads it";
    about(FindingCode::ChunkDictionary, entry).text(sentence(entry, why))
}

/// A sentence about a chunk, with the name of its file if the chunk is in a file of its own.
fn sentence(entry: &ChunkEntry, why: &str) -> String {
    match entry.file_name() {
        Some(name) => format!("chunk {}, in {name}, {why}", entry.number),
        None => format!("chunk {} {why}", entry.number),
    }
}
