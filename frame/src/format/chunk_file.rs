//! The names of the files in the directory of a sparse frame: one with the header, and one for each chunk that is stored.
//!
//! C-Blosc2 names the latter by a number in eight hexadecimal digits. The chunk index has this number where that of a
//! contiguous frame has an offset. It is not the position of the chunk: chunks can be inserted and deleted.

use std::ffi::OsStr;

use crate::format::chunk::ChunkHeader;

/// The file that has the header, the chunk index and the trailer.
pub(crate) const SPARSE_INDEX: &str = "chunks.b2frame";

const SUFFIX: &str = ".chunk";

/// The name of the file with this number.
pub(crate) fn name(number: u64) -> String {
    format!("{number:08X}{SUFFIX}")
}

/// The number of the file with this name, if it is the file of a chunk.
pub(crate) fn number(file: &OsStr) -> Option<u64> {
    let file = file.to_str()?;
    let number = u64::from_str_radix(file.strip_suffix(SUFFIX)?, 16).ok()?;
    (name(number) == file).then_some(number)
}

/// The highest number of a file that C-Blosc2 opens, which may be negative: it compares the number with the bytes of all
/// chunks, as if it were an offset.
pub(crate) fn last_number(cbytes: i64) -> i64 {
    cbytes.saturating_sub_unsigned(ChunkHeader::MAX_LEN as u64)
}
