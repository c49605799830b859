//! The check of the [chunk files](crate::chunk_file) in the directory of a sparse frame.
//!
//! An empty file without an entry in the chunk index is valid: C-Blosc2 leaves an empty file when a chunk becomes
//! special. Other files without an entry are reported by `unowned`.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use b2nd_chunk::ChunkHeader;

use crate::chunk_file::{name, number};
use crate::error::Error;
use crate::read::open::open_chunk_file;

/// The maximum number of chunk files that are opened without listing the directory.
// A chunk index of a few hundred bytes can name a million files that do not exist. If the directory is listed once,
// each missing file takes only a search in the list, and no system call.
const MAX_UNLISTED: usize = 64;

/// The fault of a file that does not exist.
const MISSING: &str = "is missing";

/// The faults of all checked files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FileFaults {
    /// The number of the first file with a fault, and the fault.
    pub(super) first: Option<(u64, String)>,
    /// The number of files with a fault.
    pub(super) count: usize,
}

/// Finds the faults of the chunk files with these numbers, which must be in ascending order. If there are more than
/// [`MAX_UNLISTED`] numbers, lists the directory first, and opens only the files in the list. The other files count as
/// missing.
pub(super) fn faults(numbers: &[u64], directory: &Path) -> Result<FileFaults, Error> {
    let listed = match (numbers.len() > MAX_UNLISTED).then(|| list(directory)).transpose() {
        // Without permission to list the directory, nothing is known about its files, so no fault is reported.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(FileFaults::default()),
        listed => listed.map_err(|error| Error::io("read", directory, error))?,
    };
    collect(numbers, listed.as_deref(), |number| {
        let file = directory.join(name(number));
        fault(&file).map_err(|error| Error::io("read", &file, error))
    })
}

/// The numbers of the files in the directory, in ascending order.
pub(crate) fn list(directory: &Path) -> io::Result<Vec<u64>> {
    let mut listed = Vec::new();
    for entry in fs::read_dir(directory)? {
        listed.extend(number(&entry?.file_name()));
    }
    listed.sort_unstable();
    Ok(listed)
}

/// Collects the faults of the files with these numbers, by calling `fault` for each number. If `listed` is not `None`,
/// a file whose number is not in `listed` counts as missing, and `fault` is not called for it.
fn collect(
    numbers: &[u64],
    listed: Option<&[u64]>,
    mut fault: impl FnMut(u64) -> Result<Option<String>, Error>,
) -> Result<FileFaults, Error> {
    let mut faults = FileFaults::default();
    for &number in numbers {
        let is_missing = listed.is_some_and(|listed| listed.binary_search(&number).is_err());
        if let Some(fault) = if is_missing { Some(MISSING.into()) } else { fault(number)? } {
            faults.first.get_or_insert((number, fault));
            faults.count += 1;
        }
    }
    Ok(faults)
}

/// The fault of a file. A file without read permission counts as valid.
fn fault(path: &Path) -> io::Result<Option<String>> {
    let (file, metadata) = match open_chunk_file(path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(None),
        opened => match opened? {
            Some(opened) => opened,
            None => return Ok(Some(MISSING.into())),
        },
    };
    let (length, mut header) = (metadata.len(), Vec::new());
    file.take(ChunkHeader::MAX_LEN as u64).read_to_end(&mut header)?;
    Ok(match ChunkHeader::parse(&header) {
        Some(header) if header.cbytes() as u64 > length => {
            Some(format!("has {length} bytes, but its chunk needs {}", header.cbytes()))
        }
        Some(_) => None,
        None => Some("is not a chunk".into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_exist_are_opened() {
        let numbers: Vec<u64> = (0..1_000_000).collect();
        let mut opened = Vec::new();
        let faults = collect(&numbers, Some(&[3, 7, 2_000_000]), |number| {
            opened.push(number);
            Ok((number == 7).then(|| "is not a chunk".into()))
        });
        assert_eq!(opened, [3, 7]);
        assert_eq!(faults.unwrap(), FileFaults { first: Some((0, MISSING.into())), count: 999_999 });
    }
}
