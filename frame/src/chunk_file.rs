//! The names of the files in the directory of a sparse frame. One file has the header, and each stored chunk has a file
//! of its own.
//!
//! C-Blosc2 names a chunk file with a number of eight hexadecimal digits, such as `0000000A.chunk`. The chunk index
//! records this number instead of an offset. The number is not the position of the chunk, because chunks can be
//! inserted and deleted.

use std::ffi::OsStr;
use std::path::Path;

use b2nd_chunk::ChunkHeader;

/// The name of the file that holds the header, the chunk index and the trailer of a sparse frame. It is in the
/// directory of the frame, beside the chunk files.
pub const SPARSE_INDEX: &str = "chunks.b2frame";

const SUFFIX: &str = ".chunk";

/// The name of the chunk file with this number.
pub(crate) fn name(number: u64) -> String {
    format!("{number:08X}{SUFFIX}")
}

/// The number in the file name `file`; `None` if `file` is not the name of a chunk file.
pub(crate) fn number(file: &OsStr) -> Option<u64> {
    let file = file.to_str()?;
    let number = u64::from_str_radix(file.strip_suffix(SUFFIX)?, 16).ok()?;
    // Accept only the spelling of C-Blosc2. `1.chunk` has the number 1 too, but C-Blosc2 does not open it.
    (name(number) == file).then_some(number)
}

/// The highest file number that C-Blosc2 opens, for a frame with this `cbytes`. C-Blosc2 checks a file number as if it
/// were the offset of a chunk: a chunk header of 32 bytes must fit between this number and `cbytes`. A negative result
/// means that C-Blosc2 opens no chunk file at all.
pub(crate) fn last_number(cbytes: i64) -> i64 {
    cbytes.saturating_sub_unsigned(ChunkHeader::MAX_LEN as u64)
}

/// Whether the number of a chunk file is too high for C-Blosc2. `cbytes` is the stored size of all chunks in the frame.
pub(crate) fn is_too_high(number: u64, cbytes: u64) -> bool {
    i128::from(number) > last_number(i64::try_from(cbytes).unwrap_or(i64::MAX)).into()
}

/// The directory of a sparse frame, from the path of its file `chunks.b2frame`; `None` if the path has another file
/// name.
pub(crate) fn sparse_folder(path: &Path) -> Option<&Path> {
    path.ends_with(SPARSE_INDEX).then(|| folder_of(path))
}

/// The directory that contains a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
