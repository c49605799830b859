//! The files in the directory of a sparse frame, one for each chunk that is more than one value.
//!
//! C-Blosc2 calls them by a number of eight hexadecimal digits, which stands in the chunk index where a contiguous frame
//! has an offset. It is not the place of the chunk: chunks can be put in between others, or be deleted. A file that no
//! chunk has is no fault: the one of a chunk that became one value stays, without bytes.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::format;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::string::String;

const SUFFIX: &str = ".chunk";

/// The name of the file with this number.
pub(super) fn name(number: u64) -> String {
    format!("{number:08X}{SUFFIX}")
}

/// The number of a file that has a chunk.
pub(super) fn number(file: &OsStr) -> Option<u64> {
    let file = file.to_str()?;
    let number = u64::from_str_radix(file.strip_suffix(SUFFIX)?, 16).ok()?;
    (name(number) == file).then_some(number)
}

/// Of these numbers, those without a file in the directory; none where the directory may not be listed.
pub(super) fn missing(numbers: &BTreeSet<u64>, directory: &Path) -> io::Result<BTreeSet<u64>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(BTreeSet::new()),
        entries => entries?,
    };
    let mut missing = numbers.clone();
    for entry in entries {
        if let Some(number) = number(&entry?.file_name()) {
            missing.remove(&number);
        }
    }
    Ok(missing)
}
