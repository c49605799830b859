//! The names of the files in the directory of a sparse frame: one with the header, and one per stored chunk.
//!
//! C-Blosc2 names a chunk file by a number of eight hexadecimal digits. The chunk index records this number instead of
//! an offset. The number is not the position of the chunk, because chunks can be inserted and deleted.

use std::ffi::OsStr;
use std::path::Path;

use b2nd_chunk::ChunkHeader;

/// The file in the directory of a sparse frame with the header, the chunk index and the trailer.
pub const SPARSE_INDEX: &str = "chunks.b2frame";

const SUFFIX: &str = ".chunk";

/// The name of the file with this number.
pub(crate) fn name(number: u64) -> String {
    format!("{number:08X}{SUFFIX}")
}

/// The number of the chunk file with this name; `None` for other files.
pub(crate) fn number(file: &OsStr) -> Option<u64> {
    let file = file.to_str()?;
    let number = u64::from_str_radix(file.strip_suffix(SUFFIX)?, 16).ok()?;
    // Accept only C-Blosc2's spelling: `1.chunk` is not `00000001.chunk`.
    (name(number) == file).then_some(number)
}

/// The highest file number that C-Blosc2 opens. It is negative if C-Blosc2 opens no chunk file at all. C-Blosc2 checks
/// the number as if it were an offset in the chunks.
pub(crate) fn last_number(cbytes: i64) -> i64 {
    cbytes.saturating_sub_unsigned(ChunkHeader::MAX_LEN as u64)
}

/// The directory of a sparse frame, from the path of its header file; `None` if the file has another name.
pub(crate) fn sparse_folder(path: &Path) -> Option<&Path> {
    path.ends_with(SPARSE_INDEX).then(|| folder_of(path))
}

/// The directory of a file.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
