//! Sources of bytes that are read at offsets.

use core::ops::Range;
use std::fs::File;
use std::io::{self, Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use crate::file_version::FileVersion;

/// Bytes that are read at offsets: a file, memory, an object on a server.
///
/// Files, `&[u8]`, `Vec<u8>`, `Arc<[u8]>` and references to them are sources. Put other bytes, such as a memory map,
/// into a [`Cursor`]; its position is ignored. For a reader with a position, use [`Seekable`].
///
/// The methods take `&self`, so threads can share a source.
///
/// ```
/// use b2nd_frame::{Frame, ReadAt};
///
/// let file = std::fs::read("tests/data/int32_3x5.b2nd")?;
/// let mut magic = [0; 8];
/// file.read_at(&mut magic, 2)?;
/// assert_eq!(&magic, b"b2frame\0");
/// assert_eq!(ReadAt::size(&file)?, 520);
///
/// let frame = Frame::read_at(file, 0)?;
/// assert_eq!(frame.array()?.expect("an array").shape(), [3, 5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ReadAt {
    /// Reads bytes from an offset on, and returns their number. The number can be smaller than the length of the
    /// buffer. If it is 0, the source ends at the offset or before it.
    ///
    /// # Errors
    ///
    /// If the bytes cannot be read.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// The number of bytes.
    ///
    /// # Errors
    ///
    /// If the number is not known.
    fn size(&self) -> io::Result<u64>;

    /// The version of the bytes; `None` if they never change, or their version is not known. An `Array` compares
    /// versions to notice a change of its file.
    ///
    /// This method is called before the header of a frame is read, and after each slice. The source of an object on a
    /// server can return the version of the last response, so that this call needs no request.
    fn version(&self) -> Option<FileVersion> {
        None
    }

    /// The number of bytes that this source could transfer in the time between a request and the first byte of the
    /// answer; 0 if there is no such delay, as for files. The default is 0. To save a round trip, a slice reads up to
    /// about this number of bytes that it does not need, but never more than 64 MiB.
    ///
    /// [`BYTES_PER_ROUND_TRIP`] is a good value for an object on a server.
    fn bytes_per_round_trip(&self) -> u64 {
        0
    }

    /// Announces the byte ranges that the next calls of [`read_at`](Self::read_at) may read. A source with a delay can
    /// request these ranges in parallel, and keep their bytes until the next announcement. The ranges are sorted and
    /// share no bytes. The default implementation does nothing.
    ///
    /// # Errors
    ///
    /// If the bytes cannot be read.
    fn read_ahead(&self, ranges: &[Range<u64>]) -> io::Result<()> {
        let _ = ranges;
        Ok(())
    }
}

/// The number of bytes that a connection transfers during a round trip of 30 ms, if it transfers 140 Mbit/s.
///
/// The time to the first byte of an object store is 10 to 100 ms, and connections of laptops and virtual machines have 50 to
/// 1000 Mbit/s. A `SlicePlan` uses this number.
pub const BYTES_PER_ROUND_TRIP: u64 = 1 << 19;

impl ReadAt for File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_at(self, buffer, offset);
        #[cfg(windows)]
        return std::os::windows::fs::FileExt::seek_read(self, buffer, offset);
        // This code is for WebAssembly. There are no threads, so nothing else moves the position between the two calls.
        #[cfg(not(any(unix, windows)))]
        {
            let mut file = self;
            file.seek(SeekFrom::Start(offset))?;
            file.read(buffer)
        }
    }

    fn size(&self) -> io::Result<u64> {
        match self.metadata()? {
            metadata if metadata.is_file() => Ok(metadata.len()),
            // A block device has no length in its metadata.
            _ => (&*self).seek(SeekFrom::End(0)),
        }
    }

    fn version(&self) -> Option<FileVersion> {
        self.metadata().ok().map(|metadata| FileVersion::from(&metadata))
    }
}

impl ReadAt for [u8] {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.get(offset..));
        rest.unwrap_or_default().read(buffer)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self[..].read_at(buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        self[..].size()
    }
}

/// The source is the whole content. The position of the cursor is ignored.
impl<T: AsRef<[u8]>> ReadAt for Cursor<T> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.get_ref().as_ref().read_at(buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        self.get_ref().as_ref().size()
    }
}

macro_rules! of_pointer {
    ($($pointer:ty),*) => {$(
        impl<T: ReadAt + ?Sized> ReadAt for $pointer {
            fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
                (**self).read_at(buffer, offset)
            }

            fn size(&self) -> io::Result<u64> {
                (**self).size()
            }

            fn version(&self) -> Option<FileVersion> {
                (**self).version()
            }

            fn bytes_per_round_trip(&self) -> u64 {
                (**self).bytes_per_round_trip()
            }

            fn read_ahead(&self, ranges: &[Range<u64>]) -> io::Result<()> {
                (**self).read_ahead(ranges)
            }
        }
    )*};
}

of_pointer!(&T, &mut T, Box<T>, Arc<T>);

/// A reader with a position, as a source. Only one thread at a time can read.
///
/// ```
/// use std::io::BufReader;
/// use b2nd_frame::{Frame, Seekable};
///
/// let reader = BufReader::new(std::fs::File::open("tests/data/int32_3x5.b2nd")?);
/// let frame = Frame::read_at(Seekable::new(reader), 0)?;
/// assert_eq!(frame.count_chunks()?.total(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Seekable<R>(Mutex<R>);

impl<R> Seekable<R> {
    /// Wraps a reader.
    pub fn new(reader: R) -> Self {
        Self(Mutex::new(reader))
    }

    /// Returns the reader.
    pub fn into_inner(self) -> R {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: Read + Seek> ReadAt for Seekable<R> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        // The position is set before each read, so the position after a panic does not matter.
        let mut reader = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reader.seek(SeekFrom::Start(offset))?;
        reader.read(buffer)
    }

    fn size(&self) -> io::Result<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).seek(SeekFrom::End(0))
    }
}

/// Reads up to `length` bytes with one call.
pub(crate) fn read_once(source: &(impl ReadAt + ?Sized), offset: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| ErrorKind::OutOfMemory)?];
    loop {
        match source.read_at(&mut bytes, offset) {
            Ok(read) => {
                bytes.truncate(read);
                return Ok(bytes);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The longest read for which [`read_up_to`] allocates memory without asking for the size of the source.
const SHORT: u64 = 1 << 16;

/// Appends the bytes from `offset` on to `bytes`, until `bytes` has `length` bytes in all, or the source ends.
pub(crate) fn read_up_to(
    source: &(impl ReadAt + ?Sized),
    offset: u64,
    mut length: u64,
    bytes: &mut Vec<u8>,
) -> io::Result<()> {
    let start = bytes.len();
    // The length can come from a damaged file, so do not allocate more memory than the source has bytes. The size of
    // the source costs a system call, so a short read does not ask for it.
    if length > SHORT {
        let rest = source.size()?.saturating_sub(offset);
        length = length.min(rest.saturating_add(start as u64));
    }
    let length = usize::try_from(length).map_err(|_| ErrorKind::OutOfMemory)?;
    // If there is not enough memory, return an error, and do not abort the process.
    bytes.try_reserve_exact(length.saturating_sub(start)).map_err(|_| ErrorKind::OutOfMemory)?;
    bytes.resize(length.max(start), 0);
    let filled = fill(source, offset, bytes.get_mut(start..).unwrap_or_default())?;
    bytes.truncate(start + filled);
    Ok(())
}

/// Fills the buffer with the bytes from `offset` on. Returns the number of bytes, which is smaller than the length of
/// the buffer if the source ends first.
pub(crate) fn fill(source: &(impl ReadAt + ?Sized), offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match source.read_at(rest, offset.saturating_add(filled as u64)) {
            Ok(0) => break,
            // A faulty source could return a number above the length of the buffer.
            Ok(read) => filled = filled.saturating_add(read),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_up_to_takes_memory_for_the_bytes_of_the_source() {
        let source = vec![7; 100_000];
        for (offset, length, expected) in
            [(0, 1 << 44, 100_000), (99_990, 1 << 44, 10), (200_000, 1 << 44, 0)]
        {
            let mut bytes = Vec::new();
            read_up_to(&source, offset, length, &mut bytes).unwrap();
            assert_eq!(bytes, vec![7; expected]);
            assert!(bytes.capacity() <= expected, "{}", bytes.capacity());
        }
        let mut bytes = vec![1, 2];
        read_up_to(&source, 99_999, 1 << 44, &mut bytes).unwrap();
        assert_eq!(bytes, [1, 2, 7]);
    }

    #[test]
    fn read_at_of_bytes_ends_where_they_end() {
        let bytes: &[u8] = b"abcdef";
        for source in
            [&bytes as &dyn ReadAt, &bytes.to_vec(), &Cursor::new(bytes), &Seekable::new(Cursor::new(bytes))]
        {
            let mut buffer = [0; 4];
            assert_eq!(source.read_at(&mut buffer, 4).unwrap(), 2);
            assert_eq!(&buffer[..2], b"ef");
            assert_eq!(source.read_at(&mut buffer, 6).unwrap(), 0);
            assert_eq!(source.read_at(&mut buffer, u64::MAX).unwrap(), 0);
            assert_eq!(source.size().unwrap(), 6);
        }
    }
}
