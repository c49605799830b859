//! Reading byte ranges.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom};

/// The number of bytes from the offset to the end of the file. The reader is left at the offset.
pub(crate) fn available(reader: &mut impl Seek, offset: u64) -> io::Result<u64> {
    let end = reader.seek(SeekFrom::End(0))?;
    reader.seek(SeekFrom::Start(offset))?;
    Ok(end.saturating_sub(offset))
}

/// Reads until there are `length` bytes, or the file ends.
pub(crate) fn read_up_to(reader: &mut impl Read, length: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    let start = bytes.len();
    let length = usize::try_from(length).map_err(|_| ErrorKind::OutOfMemory)?;
    // The length can come from a damaged file: more than the memory is an error, not an abort.
    bytes.try_reserve_exact(length.saturating_sub(start)).map_err(|_| ErrorKind::OutOfMemory)?;
    bytes.resize(length.max(start), 0);
    let mut filled = start;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match reader.read(rest) {
            Ok(0) => break,
            Ok(read) => filled = filled.saturating_add(read),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(())
}

/// Reads up to `length` bytes with one call.
pub(crate) fn read_once(
    length: u64,
    mut read: impl FnMut(&mut [u8]) -> io::Result<usize>,
) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| ErrorKind::OutOfMemory)?];
    loop {
        match read(&mut bytes) {
            Ok(read) => {
                bytes.truncate(read);
                return Ok(bytes);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
