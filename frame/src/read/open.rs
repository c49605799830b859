//! Opening a frame with few reads, often a single one of 512 bytes.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::chunk_file::SPARSE_INDEX;
use crate::code::FindingCode;
use crate::error::Error;
use crate::finding::Place;
use crate::header::frame::Frame;
use crate::header::frame_header::{HEADER_LEN_OFFSET, cut_short, not_a_frame, too_long};
use crate::source::{ReadAt, read_once, read_up_to};

/// The number of bytes of the first read, enough for the header of every ordinary array.
const HEADER_READ: u64 = 512;

/// The number of stored bytes: the length of the frame, or of all files in the directory of a sparse frame.
pub(crate) fn stored_len<R>(frame: &Frame<R>) -> u64 {
    let folder = frame.path().and_then(Path::parent).filter(|_| frame.header().is_sparse());
    let files = folder.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten();
    let lengths = files.filter_map(|file| Some(file.ok()?.metadata().ok()?.len()));
    // For a contiguous frame, or if the directory cannot be listed, the sum is 0, and the result is the length of
    // the frame.
    lengths.fold(0, u64::saturating_add).max(frame.header().frame_len)
}

/// Reads the header of a frame in a file, or in the directory of a sparse frame.
pub(crate) fn open_frame(path: &Path) -> Result<Frame, Error> {
    match open_file(path) {
        // Check for a directory only after a failure: for a file, this call would be wasted.
        Err(_) if path.is_dir() => {
            let advice = "; `Store::open` opens the folder of a store";
            let file = file_with_header(path).map_err(|error| error.advise(advice))?;
            let frame = open_file(&file)?;
            Ok(Frame { by_directory: true, ..frame })
        }
        result => result,
    }
}

fn open_file(path: &Path) -> Result<Frame, Error> {
    let read = |file: File| {
        let time = SystemTime::now();
        Ok(Frame { opened: Some(time), ..read_frame_at(file, 0)? })
    };
    match open_at_once(path).map_err(Error::reading).and_then(read) {
        Ok(frame) => Ok(Frame { path: Some(path.into()), ..frame }),
        // Ask only after a failure whether the path is a pipe or a device.
        Err(_) if fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) => {
            Err(not_a_file(path))
        }
        Err(error) => Err(error.at(Some(path))),
    }
}

impl Frame {
    /// Reads the whole file into memory, and returns this frame with these bytes as its reader; `None` if a single read
    /// does not cover the file. The returned frame has the header of `self`, although a writer may have changed the
    /// header in the file since `self` was opened.
    pub(crate) fn in_memory(&self) -> Result<Option<Frame<io::Cursor<Vec<u8>>>>, Error> {
        if self.header().frame_len >= HEADER_READ {
            return Ok(None);
        }
        let file = read_once(&self.reader, 0, HEADER_READ).map_err(|error| self.unreadable(error))?;
        // The read has filled the buffer, so the file may have more bytes.
        if file.len() as u64 == HEADER_READ {
            return Ok(None);
        }
        let Self { header, bytes, section, offset, path, by_directory, opened, version, reader: _ } = self;
        Ok(Some(Frame {
            header: header.clone(),
            bytes: bytes.clone(),
            section: section.clone(),
            offset: *offset,
            path: path.clone(),
            by_directory: *by_directory,
            opened: *opened,
            version: version.clone(),
            reader: io::Cursor::new(file),
        }))
    }
}

/// The error of a path that names a pipe, a socket or a device.
pub(crate) fn not_a_file(path: &Path) -> Error {
    Error::io("read", path, io::Error::new(ErrorKind::InvalidInput, "neither a file nor a directory"))
}

/// Opens a file for reading. If the file is a FIFO, this call does not wait for a writer.
pub(crate) fn open_at_once(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    match options.open(path) {
        // `WouldBlock` means that the system cannot open the file at once. For example, it may have to fetch the
        // content from tape first. `File::open` does not set `O_NONBLOCK`, so it waits until the file is open.
        Err(error) if error.kind() == ErrorKind::WouldBlock => File::open(path),
        file => file,
    }
}

/// Opens a chunk file, and returns its metadata; `None` if it is missing. A directory or a pipe is not a chunk file,
/// whatever its name.
pub(crate) fn open_chunk_file(path: &Path) -> io::Result<Option<(File, Metadata)>> {
    match open_at_once(path).and_then(|file| Ok((file.metadata()?, file))) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        // Windows does not open a directory as a file.
        Err(_) if path.is_dir() => Ok(None),
        opened => opened.map(|(metadata, file)| metadata.is_file().then_some((file, metadata))),
    }
}

/// Whether a path is the directory of a sparse frame: a directory with a file `chunks.b2frame`. The file is not read.
///
/// ```
/// use b2nd_frame::is_sparse_frame;
///
/// assert!(is_sparse_frame("tests/data/sparse.b2nd"));
/// assert!(!is_sparse_frame("tests/data"));
/// assert!(!is_sparse_frame("tests/data/int32_3x5.b2nd"));
/// ```
pub fn is_sparse_frame(path: impl AsRef<Path>) -> bool {
    path.as_ref().join(SPARSE_INDEX).is_file()
}

/// The path of the file with the header: `path` itself, or if `path` is a directory, the file `chunks.b2frame` in it.
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

/// Reads the header of a frame that begins at an offset of a file.
pub(crate) fn read_frame_at<R: ReadAt>(reader: R, offset: u64) -> Result<Frame<R>, Error> {
    let version = reader.version();
    let prefix = read_once(&reader, offset, HEADER_READ).map_err(Error::reading)?;
    let is_zip = prefix.starts_with(b"PK");
    let frame = match read_on(prefix, &reader, offset, u64::MAX, u64::MAX) {
        // The file is shorter than the length of the frame in the header. A writer may have written the new header, but
        // not yet the rest of the file. So read the header again.
        Err(error) if error.is_about(FindingCode::Truncated) => read(&reader, offset, u64::MAX, u64::MAX),
        Err(error) if is_zip => Err(error.advise("; `zip_members` lists the frames in a zip file")),
        result => result,
    }?;
    Ok(Frame { version, ..frame.map_reader(|()| reader) })
}

/// Reads a header of at most `longest` bytes at `offset`. Checks that the file has the whole frame, and that the frame
/// has at most `limit` bytes.
pub(crate) fn read(reader: &impl ReadAt, offset: u64, limit: u64, longest: u64) -> Result<Frame<()>, Error> {
    let prefix = read_once(reader, offset, HEADER_READ.min(limit)).map_err(Error::reading)?;
    read_on(prefix, reader, offset, limit, longest)
}

/// Continues [`read`] after the first bytes have been read into `prefix`.
fn read_on(
    mut prefix: Vec<u8>,
    reader: &impl ReadAt,
    offset: u64,
    limit: u64,
    longest: u64,
) -> Result<Frame<()>, Error> {
    let mut parsed = Frame::parse(&prefix);
    match &parsed {
        // The first read covers the whole frame, so the file cannot be too short.
        Ok(frame) if frame.header().frame_len <= prefix.len() as u64 => {
            return parsed.map(|frame| Frame { offset, ..frame });
        }
        Err(error) if error.needed().is_none() => return parsed,
        _ => {}
    }
    // The length of the file costs a system call, so ask for it only if the first read does not cover the frame.
    let available = reader.size().map_err(Error::reading)?.saturating_sub(offset).min(limit);
    while let Some(needed) = parsed.as_ref().err().and_then(Error::needed) {
        if needed as u64 > longest {
            let longest = usize::try_from(longest).unwrap_or(usize::MAX);
            return Err(Error::malformed(too_long(Place::Header, HEADER_LEN_OFFSET as u64, longest, needed)));
        }
        if needed as u64 > available || available == 0 {
            break;
        }
        let next = offset.saturating_add(prefix.len() as u64);
        read_up_to(reader, next, needed as u64, &mut prefix).map_err(Error::reading)?;
        if prefix.len() < needed {
            // The file has become shorter since its length was read above.
            return Err(Error::changing(None));
        }
        parsed = Frame::parse(&prefix);
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
        return Err(Error::malformed(cut_short(bound, expected, available)));
    }
    parsed.map(|frame| Frame { offset, ..frame })
}
