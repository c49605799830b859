//! The files in the directory of a sparse frame, one for each chunk that is more than one value.
//!
//! C-Blosc2 calls them by a number of eight hexadecimal digits, which stands in the chunk index where a contiguous frame
//! has an offset. It is not the place of the chunk: chunks can be put in between others, or be deleted. A file that no
//! chunk has is no fault: the one of a chunk that became one value stays, without bytes.

use std::ffi::OsStr;
use std::format;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::string::String;
use std::vec::Vec;

use crate::frame::find::open::open_at_once;
use crate::frame::format::chunk::ChunkHeader;

const SUFFIX: &str = ".chunk";

/// The name of the file with this number.
pub(crate) fn name(number: u64) -> String {
    format!("{number:08X}{SUFFIX}")
}

/// The number of a file that has a chunk.
pub(crate) fn number(file: &OsStr) -> Option<u64> {
    let file = file.to_str()?;
    let number = u64::from_str_radix(file.strip_suffix(SUFFIX)?, 16).ok()?;
    (name(number) == file).then_some(number)
}

/// What is wrong with the file of a chunk.
#[derive(Clone, Copy)]
pub(crate) enum Fault {
    Missing,
    /// It does not begin with the header of a chunk.
    NoChunk,
    Short {
        /// The bytes of the chunk.
        cbytes: usize,
        /// The bytes of the file.
        length: u64,
    },
}

/// What is wrong with the file of this number; nothing is known of one that may not be read.
pub(crate) fn fault(number: u64, directory: &Path) -> io::Result<Option<Fault>> {
    let file = match open_at_once(&directory.join(name(number))) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Some(Fault::Missing)),
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(Some(Fault::Missing));
    }
    let length = metadata.len();
    let mut header = Vec::new();
    file.take(ChunkHeader::MAX_LEN as u64).read_to_end(&mut header)?;
    Ok(match ChunkHeader::parse(&header) {
        Some(ChunkHeader { cbytes, .. }) if cbytes as u64 > length => Some(Fault::Short { cbytes, length }),
        Some(_) => None,
        None => Some(Fault::NoChunk),
    })
}
