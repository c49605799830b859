//! From a file to a frame: which bytes are read, and how often.

use std::format;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::vec;
use std::vec::Vec;

use crate::frame::finding::{Code, Finding, Place};
use crate::frame::format::header::{HEADER_LEN_OFFSET, not_a_frame, too_long};
use crate::frame::{Error, Frame};

/// Bytes of the first read: they hold the header of every ordinary array.
const FIRST_READ: u64 = 512;

/// How long a reader waits for a writer before it looks again.
pub(crate) const PAUSE: Duration = Duration::from_millis(1);

/// The file of a sparse frame that has the header.
pub(crate) const SPARSE_INDEX: &str = "chunks.b2frame";

impl Frame<File> {
    /// Reads the header of a frame in a file, or in the directory of a sparse frame.
    ///
    /// One read of 512 bytes, and a second one where the header is longer. While another process writes the file, one
    /// read can catch a header half-written: [`open_stable`](Self::open_stable) cannot.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is no frame, or is shorter than its frame (after it has been read once more). A pipe
    /// or another thing that is no file is refused without waiting for it.
    ///
    /// ```
    /// use b2nd_serde::frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/sparse.b2nd")?;
    /// assert!(frame.header().is_sparse());
    /// assert_eq!(frame.path().unwrap().file_name().unwrap(), "chunks.b2frame");
    /// # Ok::<(), b2nd_serde::frame::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        match Self::open_file(path) {
            Err(_) if path.is_dir() => {
                let frame = Self::open_file(&file_with_header(path)?)?;
                Ok(Self { by_directory: true, ..frame })
            }
            result => result,
        }
    }

    fn open_file(path: &Path) -> Result<Self, Error> {
        let read = |file: File| {
            let prefix = read_once(FIRST_READ, |bytes| read_start(&file, bytes))?;
            Self::begin_with(prefix, file, 0)
        };
        match open_at_once(path).map_err(Error::from).and_then(read) {
            Ok(frame) => Ok(Self { path: Some(path.into()), ..frame }),
            // What is no file is found out by its failure too.
            Err(_) if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) => {
                let error = io::Error::new(ErrorKind::InvalidInput, "neither a file nor a directory");
                Err(Error::io("read", path, error))
            }
            Err(error) => Err(error.at(path)),
        }
    }
}

/// Opens a file to read. Nobody is waited for who would have to open the other end of a pipe.
pub(crate) fn open_at_once(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    match options.open(path) {
        // A file that its server or tape has to give out first, which it does now.
        Err(error) if error.kind() == ErrorKind::WouldBlock => File::open(path),
        file => file,
    }
}

/// Reads the first bytes of a file, which a pipe and what else has no places refuses.
fn read_start(file: &File, bytes: &mut [u8]) -> io::Result<usize> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_at(file, bytes, 0);
    #[cfg(not(unix))]
    return { file }.read(bytes);
}

/// Whether this is the directory of a sparse frame.
///
/// ```
/// use b2nd_serde::frame::is_sparse_frame;
///
/// assert!(is_sparse_frame("tests/data/sparse.b2nd"));
/// assert!(!is_sparse_frame("tests/data"));
/// assert!(!is_sparse_frame("tests/data/int32_3x5.b2nd"));
/// ```
pub fn is_sparse_frame(path: impl AsRef<Path>) -> bool {
    path.as_ref().join(SPARSE_INDEX).is_file()
}

/// The file itself, or in a directory, the one that has the header.
pub(crate) fn file_with_header(path: &Path) -> Result<PathBuf, Error> {
    if !path.is_dir() {
        return Ok(path.into());
    }
    let file = path.join(SPARSE_INDEX);
    if file.exists() {
        return Ok(file);
    }
    let text = format!("a directory without {SPARSE_INDEX}, so not a sparse frame");
    Err(Error::io("read", path, io::Error::new(ErrorKind::NotFound, text)))
}

/// The folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

impl<R: Read + Seek> Frame<R> {
    /// Reads the header of a frame that begins at an offset of a file, such as a member of a zip.
    ///
    /// The reader is kept for what may be asked later; a `&mut` reader is one too. It is read as often as by
    /// [`open`](Frame::open).
    ///
    /// # Errors
    ///
    /// As [`open`](Frame::open).
    ///
    /// ```
    /// use b2nd_serde::frame::Frame;
    ///
    /// let mut bytes = b"something before ".to_vec();
    /// let offset = bytes.len() as u64;
    /// bytes.extend(std::fs::read("tests/data/int32_3x5.b2nd")?);
    ///
    /// let frame = Frame::read_at(std::io::Cursor::new(bytes), offset)?;
    /// assert_eq!(frame.array()?.expect("an array").shape(), [3, 5]);
    /// assert_eq!(frame.offset(), offset);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_at(mut reader: R, offset: u64) -> Result<Self, Error> {
        reader.seek(SeekFrom::Start(offset))?;
        let prefix = read_once(FIRST_READ, |bytes| reader.read(bytes))?;
        Self::begin_with(prefix, reader, offset)
    }

    /// Reads the header of which the first bytes are here.
    fn begin_with(prefix: Vec<u8>, mut reader: R, offset: u64) -> Result<Self, Error> {
        let frame = match read_on(prefix, &mut reader, offset, u64::MAX, u64::MAX) {
            // A writer may have been between the header and what follows it.
            Err(error) if error.finding().map(Finding::code) == Some(Code::Truncated) => {
                read(&mut reader, offset, u64::MAX, u64::MAX)
            }
            result => result,
        }?;
        Ok(frame.with_reader(reader))
    }
}

/// Reads the header once, of at most so many bytes, and holds the length of the frame against the file, of which only a
/// number of bytes count.
pub(crate) fn read(
    reader: &mut (impl Read + Seek),
    offset: u64,
    limit: u64,
    longest: u64,
) -> Result<Frame, Error> {
    reader.seek(SeekFrom::Start(offset))?;
    let prefix = read_once(FIRST_READ.min(limit), |bytes| reader.read(bytes))?;
    read_on(prefix, reader, offset, limit, longest)
}

/// The same after the first bytes.
fn read_on(
    mut prefix: Vec<u8>,
    reader: &mut (impl Read + Seek),
    offset: u64,
    limit: u64,
    longest: u64,
) -> Result<Frame, Error> {
    let mut parsed = Frame::parse(&prefix);
    match &parsed {
        Ok(frame) if frame.header().frame_len <= prefix.len() as u64 => {
            return parsed.map(|frame| Frame { offset, ..frame });
        }
        Err(error) if error.needed().is_none() => return parsed,
        _ => {}
    }
    // How long the file is matters only here.
    let available = available(reader, offset)?.min(limit);
    while let Some(needed) = parsed.as_ref().err().and_then(Error::needed) {
        if needed as u64 > longest {
            let longest = usize::try_from(longest).unwrap_or(usize::MAX);
            return Err(Error::malformed(too_long(Place::Header, HEADER_LEN_OFFSET as u64, longest, needed)));
        }
        if needed as u64 > available || available == 0 {
            break;
        }
        reader.seek(SeekFrom::Start(offset.saturating_add(prefix.len() as u64)))?;
        read_up_to(reader, needed as u64, &mut prefix)?;
        parsed = Frame::parse(&prefix);
        if prefix.len() < needed {
            break;
        }
    }
    let (bound, expected) = match &parsed {
        Ok(frame) => ("", frame.header().frame_len),
        Err(error) => match error.needed() {
            Some(_) if available == 0 => {
                let why = if offset == 0 { "the file is empty" } else { "the file ends before it" };
                return Err(Error::malformed(not_a_frame(why)));
            }
            Some(needed) => ("at least ", needed as u64),
            None => return parsed,
        },
    };
    if expected > available {
        let text = format!("cut short: the frame has {bound}{expected} bytes, but the file only {available}");
        let finding = Finding::new(Code::Truncated, Place::File).numbers(expected, available);
        return Err(Error::malformed(finding.text(text)));
    }
    parsed.map(|frame| Frame { offset, ..frame })
}

/// The bytes of the file from the offset on, where the reader is left.
pub(crate) fn available(reader: &mut impl Seek, offset: u64) -> io::Result<u64> {
    let end = reader.seek(SeekFrom::End(0))?;
    reader.seek(SeekFrom::Start(offset))?;
    Ok(end.saturating_sub(offset))
}

/// Reads so many bytes, or fewer, as they come at once.
fn read_once(length: u64, mut read: impl FnMut(&mut [u8]) -> io::Result<usize>) -> io::Result<Vec<u8>> {
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

/// Reads on until so many bytes are there, or the file ends.
pub(crate) fn read_up_to(reader: &mut impl Read, length: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    let start = bytes.len();
    let length = usize::try_from(length).map_err(|_| ErrorKind::OutOfMemory)?;
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
