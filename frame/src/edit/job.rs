//! The work of a rewrite.

use core::ops::Range;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{self, Path, PathBuf};
use std::time::Instant;

use crate::check::Check;
use crate::edit::attributes::{Old, keep, keep_attributes};
use crate::edit::rewritten::{Body, Rewritten, Wanted};
use crate::error::Error;
use crate::finding::first_error;
use crate::format::chunk_file;
use crate::format::chunk_file::folder_of;
use crate::format::frame::Frame;
use crate::format::index::EntryValue;
use crate::io::lock::{ExclusiveLock, Lock};
use crate::io::open::{file_with_header, open_at_once};
use crate::progress::Progress;
use crate::write::destination::{Destination, NewFrame};
use crate::write::index::NewIndex;
use crate::write::output::Output;

/// The number of bytes copied between two calls of the progress callback.
const PIECE: u64 = 1 << 22;

/// Whether `to` is the header file `source` under any path, or the directory of a sparse frame that contains it.
fn is_same(source: &Path, to: &Path) -> bool {
    let real = |path: &Path| real(path).ok();
    file_with_header(to).is_ok_and(|to| real(&to).is_some() && real(&to) == real(source))
}

/// The absolute path without links. Windows does not know it on every drive, for example not on all RAM disks.
fn real(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path).or_else(|error| if path.is_symlink() { Err(error) } else { path::absolute(path) })
}

/// A rewrite with checked paths.
pub(super) struct Job<'p> {
    /// `None` if the old frame is not opened by a path.
    old: Option<Old>,
    to: &'p Path,
    wanted: &'p Wanted,
    /// Whether a directory is written.
    makes_directory: bool,
}

/// The locks of the old frame.
type Locks = (Option<ExclusiveLock>, Option<Lock>);

impl<'p> Job<'p> {
    /// Checks that the new file can be written at its path. The old frame comes from a reader without a path, so it
    /// cannot be rewritten in place.
    pub(super) fn of_reader<R>(
        old: &Frame<R>,
        to: &'p Path,
        wanted: &'p Wanted,
    ) -> Result<(Self, Destination), Error> {
        if old.header().is_sparse() {
            return Err(Error::invalid_input(
                "a sparse frame is rewritten by its path, where its chunks are",
            ));
        }
        let makes_directory = wanted.is_sparse == Some(true);
        let destination = Destination::free(to, makes_directory)?;
        Ok((Self { old: None, to, wanted, makes_directory }, destination))
    }

    /// Checks both paths of a rewrite, and that the new file can be written.
    pub(super) fn new(from: &Path, to: &'p Path, wanted: &'p Wanted) -> Result<(Self, Destination), Error> {
        let source = file_with_header(from)?;
        let is_in_place = is_same(&source, to);
        let was_sparse = Frame::open(&source)?.header().is_sparse();
        let is_sparse = wanted.is_sparse.unwrap_or(was_sparse);
        let makes_directory = !is_in_place && is_sparse;
        let destination = if !is_in_place {
            Destination::free(to, makes_directory)?
        } else if is_sparse == was_sparse {
            // The system would allow the rename, but a file that may not be written must not be replaced either.
            let target =
                real(&source).and_then(|target| OpenOptions::new().write(true).open(&target).map(|_| target));
            Destination::taken(&source, target.map_err(|error| Error::io("write", &source, error))?)?
        } else {
            return Err(Error::invalid_input(
                "a frame of another type cannot replace the old one: give a new path",
            ));
        };
        let old = Some(Old { source, is_in_place, is_sparse: was_sparse });
        Ok((Self { old, to, wanted, makes_directory }, destination))
    }

    fn is_in_place(&self) -> bool {
        self.old.as_ref().is_some_and(|old| old.is_in_place)
    }

    /// Takes the lock of the old frame: to replace it, or to copy it.
    pub(super) fn lock(&self) -> Result<Locks, Error> {
        match &self.old {
            None => Ok((None, None)),
            Some(Old { source, is_sparse, is_in_place: true, .. }) => {
                Ok((ExclusiveLock::take(source, *is_sparse)?, None))
            }
            Some(Old { source, is_sparse, .. }) => {
                // The deadline has already passed: it tries once, and does not wait.
                Ok((None, Lock::take_shared(source, *is_sparse, Some(Instant::now()))?))
            }
        }
    }

    /// The new header and body, and the new frame parsed from that header. Nothing is written yet. The new frame is
    /// checked too, because the rules for an older generation do not cover all errors.
    pub(super) fn read<R: Read + Seek>(&self, frame: &mut Frame<R>) -> Result<(Rewritten, Frame<()>), Error> {
        let rewritten = Rewritten::of(frame, self.wanted)?;
        self.check_old(frame)?;
        let after = Frame::parse(&rewritten.header)?;
        let Body::Kept { range, trailer } = &rewritten.body else { return Ok((rewritten, after)) };
        let new = Unwritten {
            header: &rewritten.header,
            kept: range,
            trailer,
            offset: frame.offset(),
            old: &mut frame.reader,
            position: 0,
        };
        // As if it were at the path of the old one: a directory must hold a sparse frame.
        let by_directory = frame.by_directory;
        let mut seen = Frame { path: frame.path.clone(), by_directory, ..after.clone() }.map_reader(|()| new);
        match first_error(&Check::default().run(&mut seen)?.findings) {
            None => Ok((rewritten, after)),
            Some(wrong) => Err(Error::malformed(wrong.clone().in_new_frame())),
        }
    }

    /// Checks that the old frame has not changed since it was read. In place, it must also be the whole file, because
    /// the rest would be lost.
    fn check_old<R: Read + Seek>(&self, frame: &mut Frame<R>) -> Result<(), Error> {
        let Some(Old { source, is_in_place, .. }) = &self.old else {
            let now = frame.read_range(0, frame.header_bytes().len() as u64)?;
            return if now == frame.header_bytes() { Ok(()) } else { Err(Error::changing(None)) };
        };
        let file = open_at_once(source).map_err(|error| Error::io("read", source, error));
        if *is_in_place {
            return frame.check_whole(source, &mut file?);
        }
        frame.check_same(source, &mut file?).map(drop)
    }

    /// Writes the new frame, while the locks of the old one are held.
    pub(super) fn apply<R: Read + Seek>(
        self,
        mut frame: Frame<R>,
        (mut exclusive, _shared): Locks,
        destination: Destination,
        progress: &mut Progress<'_>,
    ) -> Result<Frame, Error> {
        let (rewritten, after) = self.read(&mut frame)?;
        let new = destination.begin(self.makes_directory, self.old.is_none())?;
        progress.advance(0)?;
        let Rewritten { header, body } = &rewritten;
        let new = match body {
            Body::Kept { range, trailer } => {
                if let (Some(directory), Some(old)) = (new.directory(), &self.old) {
                    copy_chunks(folder_of(&old.source), &new, directory, progress)?;
                }
                write(&mut frame, [header, trailer], range, &new, progress)?;
                new
            }
            Body::Moved { index, trailer } => {
                move_chunks(&mut frame, new, (header, index, trailer), progress)?
            }
        };
        if let Some(old) = &self.old {
            keep(&new, old, old.is_sparse);
        }
        new.sync()?;
        // Again: without a lock file, a writer can have changed the old frame while it was copied.
        self.check_old(&mut frame)?;
        // The plan had no errors, but the old frame or a chunk file can have changed since.
        if let wrong @ Some(_) = new.first_error(Check::default(), after.clone())? {
            return Err(Error::changing(wrong));
        }
        // The path as given, which may be a link.
        let given = self.is_in_place().then(|| file_with_header(self.to)).transpose()?;
        // The last call of the progress callback: from here on the rewrite cannot be stopped.
        progress.advance(0)?;
        // Before the rename, because after it nothing may fail. A raised counter only makes other processes read the
        // header again.
        if let Some(lock) = &mut exclusive {
            lock.raise_counter()?;
        }
        // Some systems do not replace a file that is open.
        drop(frame);
        let (file, path) = new.rename()?;
        Ok(Frame { path: Some(given.unwrap_or(path)), ..after.map_reader(|()| file) })
    }
}

/// Writes the header file of the new frame: the new header, the kept bytes of the old file, and the trailer.
fn write<R: Read + Seek>(
    frame: &mut Frame<R>,
    [header, trailer]: [&[u8]; 2],
    kept: &Range<u64>,
    new: &NewFrame,
    progress: &mut Progress<'_>,
) -> Result<(), Error> {
    let mut file = new.file();
    file.write_all(header).map_err(|error| new.unwritable(error))?;
    let (start, kept_len) = (frame.offset().saturating_add(kept.start), len(kept));
    frame.reader.seek(SeekFrom::Start(start)).map_err(|error| frame.unreadable(error))?;
    let mut old = Read::by_ref(&mut frame.reader).take(kept_len);
    if copy_bytes(&mut old, frame.path.as_deref(), &mut file, new, progress)? != kept_len {
        return Err(Error::changing(None));
    }
    file.write_all(trailer).map_err(|error| new.unwritable(error))
}

/// Copies the files of the chunks of a sparse frame.
fn copy_chunks(from: &Path, new: &NewFrame, to: &Path, progress: &mut Progress<'_>) -> Result<(), Error> {
    let unwritable = |error| new.unwritable(error);
    for entry in fs::read_dir(from).map_err(|error| Error::io("read", from, error))? {
        let entry = entry.map_err(|error| Error::io("read", from, error))?;
        let path = entry.path();
        // Other files in the directory, such as the lock file, are not part of the frame.
        if chunk_file::number(&entry.file_name()).is_some() && path.is_file() {
            let unreadable = |error| Error::io("read", &path, error);
            let mut old = open_at_once(&path).map_err(unreadable)?;
            let file = File::options().write(true).create_new(true).open(to.join(entry.file_name()));
            let mut file = file.map_err(unwritable)?;
            copy_bytes(&mut old, Some(&path), &mut file, new, progress)?;
            keep_attributes(&file, &old.metadata().map_err(unreadable)?, false);
            file.sync_all().map_err(unwritable)?;
        }
    }
    Ok(())
}

/// Copies all bytes of a reader, and returns their number. Unlike with `io::copy`, an error names the file that failed.
fn copy_bytes(
    old: &mut impl Read,
    path: Option<&Path>,
    to: &mut impl Write,
    new: &NewFrame,
    progress: &mut Progress<'_>,
) -> Result<u64, Error> {
    let (mut piece, mut copied) = (Vec::new(), 0);
    loop {
        piece.clear();
        let read = old.by_ref().take(PIECE).read_to_end(&mut piece);
        let read = read.map_err(|error| Error::reading(error).at(path))? as u64;
        if read == 0 {
            return Ok(copied);
        }
        to.write_all(&piece).map_err(|error| new.unwritable(error))?;
        copied += read;
        progress.advance(read)?;
    }
}

/// Writes a frame of another type with the chunks of the old one. They must be unchanged since the new index was made.
fn move_chunks<R: Read + Seek>(
    frame: &mut Frame<R>,
    new: NewFrame,
    (header, index, trailer): (&[u8], &NewIndex, &[u8]),
    progress: &mut Progress<'_>,
) -> Result<NewFrame, Error> {
    let mut output = Output::begin(new, header.len() as u64)?;
    let mut chunks = frame.chunks()?;
    while let Some(entry) = chunks.next().transpose()? {
        let Some(chunk) = chunks.header(&entry)? else {
            if chunks.is_repeated() {
                break;
            }
            continue;
        };
        let len = chunk.cbytes as u64;
        let put = output.put(|out| {
            let mut copied = 0;
            while copied < len {
                let piece = chunks.bytes(&entry, copied, PIECE.min(len - copied))?;
                let piece = piece.map_or_else(Vec::new, |piece| piece.bytes);
                if piece.is_empty() {
                    return Err(Error::changing(None));
                }
                out.write_all(&piece).map_err(Error::writing)?;
                copied += piece.len() as u64;
                progress.advance(piece.len() as u64)?;
            }
            Ok(len)
        })?;
        if !index.has(entry.number, EntryValue::Stored(put)) {
            return Err(Error::changing(None));
        }
    }
    output.finish(header, index, trailer, || progress.advance(0))
}

/// The number of bytes that are kept.
fn len(kept: &Range<u64>) -> u64 {
    kept.end.saturating_sub(kept.start)
}

/// A reader of a new frame before it is written, so `check` can read it.
struct Unwritten<'j, R> {
    header: &'j [u8],
    kept: &'j Range<u64>,
    trailer: &'j [u8],
    old: &'j mut R,
    /// The offset of the old frame in its file.
    offset: u64,
    position: u64,
}

/// The bytes from an offset on.
fn rest(bytes: &[u8], offset: u64) -> &[u8] {
    usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default()
}

impl<R: Read + Seek> Read for Unwritten<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Self { header, kept, trailer, offset: before, .. } = *self;
        let kept_len = len(kept);
        let read = match self.position.checked_sub(header.len() as u64) {
            None => rest(header, self.position).read(buffer),
            Some(offset) if offset < kept_len => {
                self.old.seek(SeekFrom::Start(before.saturating_add(kept.start).saturating_add(offset)))?;
                Read::by_ref(self.old).take(kept_len - offset).read(buffer)
            }
            Some(offset) => rest(trailer, offset - kept_len).read(buffer),
        }?;
        self.position = self.position.saturating_add(read as u64);
        Ok(read)
    }
}

impl<R> Seek for Unwritten<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let Self { header, kept, trailer, .. } = *self;
        let len = len(kept).saturating_add((header.len() + trailer.len()) as u64);
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(offset) => len.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        self.position = position.ok_or(ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
