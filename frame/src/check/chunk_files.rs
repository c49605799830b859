//! What is wrong with the [files of chunks](crate::format::chunk_file) in the directory of a sparse frame.
//!
//! A file that no chunk refers to is not a fault: C-Blosc2 leaves an empty one where a chunk became one repeated value.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use crate::error::Error;
use crate::format::chunk::ChunkHeader;
use crate::format::chunk_file::{name, number};
use crate::io::open::open_at_once;

/// Up to this number of files, each one is opened. For more, the folder is listed first, as a chunk index of a few hundred
/// bytes can name a million files that are not there.
const MAX_UNLISTED: usize = 64;

/// What is wrong with the file of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileFault {
    Missing,
    /// It does not begin with the header of a chunk.
    NotAChunk,
    Short {
        /// The bytes of the chunk.
        cbytes: usize,
        /// The bytes of the file.
        length: u64,
    },
}

/// What is wrong with some files.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FileFaults {
    /// The first file with a fault.
    pub(super) first: Option<(u64, FileFault)>,
    /// How many files have one.
    pub(super) count: usize,
}

/// What is wrong with the files of these numbers, which are in ascending order. Opens at most [`MAX_UNLISTED`] files
/// that do not exist.
pub(super) fn faults(numbers: &[u64], directory: &Path) -> Result<FileFaults, Error> {
    let listed = match (numbers.len() > MAX_UNLISTED).then(|| list(directory)).transpose() {
        // Without permission to list the directory, nothing is known about its files.
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

/// Checks the files of these numbers, except those that are known to be missing.
fn collect(
    numbers: &[u64],
    listed: Option<&[u64]>,
    mut fault: impl FnMut(u64) -> Result<Option<FileFault>, Error>,
) -> Result<FileFaults, Error> {
    let mut faults = FileFaults::default();
    for &number in numbers {
        let is_missing = listed.is_some_and(|listed| listed.binary_search(&number).is_err());
        let found = if is_missing { Some(FileFault::Missing) } else { fault(number)? };
        if let Some(fault) = found {
            faults.first = faults.first.or(Some((number, fault)));
            faults.count += 1;
        }
    }
    Ok(faults)
}

/// What is wrong with a file. One that we have no permission to read counts as whole.
fn fault(path: &Path) -> io::Result<Option<FileFault>> {
    let file = match open_at_once(path) {
        Ok(file) => file,
        // Windows does not let a directory be opened as a file.
        Err(_) if path.is_dir() => return Ok(Some(FileFault::Missing)),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Some(FileFault::Missing)),
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(Some(FileFault::Missing));
    }
    let length = metadata.len();
    let mut header = Vec::new();
    file.take(ChunkHeader::MAX_LEN as u64).read_to_end(&mut header)?;
    Ok(match ChunkHeader::parse(&header) {
        Some(ChunkHeader { cbytes, .. }) if cbytes as u64 > length => {
            Some(FileFault::Short { cbytes, length })
        }
        Some(_) => None,
        None => Some(FileFault::NotAChunk),
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
            Ok((number == 7).then_some(FileFault::NotAChunk))
        });
        assert_eq!(opened, [3, 7]);
        assert_eq!(faults.unwrap(), FileFaults { first: Some((0, FileFault::Missing)), count: 999_999 });
    }
}
