//! Rewrites a frame in the present format, with another header and the same data.

use core::fmt;
use core::ops::{ControlFlow, Range};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::edit::canonical::{Body, Canonical};
use crate::find::chunk_file;
use crate::find::lock::{ExclusiveLock, SharedLock};
use crate::find::open::{SPARSE_INDEX, file_with_header, folder_of, open_at_once};
use crate::finding::{Finding, Severity};
use crate::format::flags::FrameType;
use crate::format::index::Entry;
use crate::write::place::{Pending, Place};
use crate::write::sink::{End, Output, Unfinished};
use crate::{Error, Frame};

/// Bytes that are copied between two reports of progress.
const PIECE: u64 = 1 << 22;

/// A rewrite of a frame in the present format, in which the array has a metalayer `b2nd` of layout `b2nd`.
///
/// The result is a new file or, if both paths lead to the same file, replaces the old one ("in place").
///
/// | old frame | what the rewrite does |
/// |---|---|
/// | layout `caterva` | adds the dtype, which you must give |
/// | the layout of Caterva 0.1.1 | adds the dtype, which you must give, and blocks as large as the chunks |
/// | layout `b2nd-six` | spells the dtype as NumPy's `dtype.str` |
/// | layout `b2nd-mismarked` | corrects the first byte |
/// | old bytes after the array's metalayer | removes them |
/// | layout `b2nd` | changes the dtype if you give one, also to a longer or shorter text |
/// | a [type size that was lost](crate::Code::LostTypesize) | writes the size of the dtype's items |
/// | a header of the second generation (`9d`) | makes header and trailer of the present generation (`9e`) |
/// | a header of the first generation (`9c`) | refuses it |
/// | sparse or contiguous | makes the other type, if you [ask for it](Self::frame_type); then the frame needs no array |
///
/// C-Blosc2 can then open frames that it could not open before. python-blosc2 sees a Caterva file as an array again;
/// without the rewrite, version 3 and later open it as plain chunks, without a shape.
///
/// Chunks, chunk index, trailer and all other metalayers are copied unchanged; only an older trailer is converted, and a frame
/// of another type gets a new chunk index. Nothing is decompressed.
///
/// A frame in which [`check`](crate::check()) finds any other error is refused, because the error would be copied. A
/// frame that is only a part of its file is refused too. The new frame is also checked before it gets its name.
///
/// # The new file
///
/// It is first written under another name in the same folder (`.b2nd-XXXXXX.tmp`), synced, and then renamed. So other
/// processes see either the old file or the whole new one. If this process is killed, at most a file or directory with
/// that name is left. After the new file has its name, there can be no error.
///
/// A sparse frame in place keeps its directory, and only `chunks.b2frame` is replaced; a copy of it is a new directory,
/// which is empty for a moment before the written one replaces it.
/// A symbolic link remains a symbolic link.
///
/// The new file gets the mode of the old one, and if a directory is made of a file, those who may read it may enter; in
/// place, it also gets its owner and group. If the system does not allow this, it is left out without an error. Hard links
/// and extended attributes are lost. In place, you need permission to write the old file.
///
/// # Locks
///
/// If the frame has a `.b2lock` file, its exclusive lock is held in place, and its shared lock for a copy. If another
/// process holds the lock, this gives an error and does not wait.
///
/// **Without a `.b2lock`, a process that has the old file open does not notice the new one. What it writes later may be
/// lost with the old file. Or it may damage the new file, because it still uses the old header.**
///
/// ```
/// use b2nd_frame::{Frame, Rewrite};
///
/// # let folder = tempfile::tempdir()?;
/// # let new = folder.path().join("new.b2nd");
/// let old = "tests/data/uint16_6x8.caterva";
/// assert_eq!(Frame::open(old)?.array()?.expect("an array").dtype(), None);
///
/// let frame = Rewrite::new(old, &new).dtype("uint16").apply()?;
/// let array = frame.array()?.expect("an array");
/// assert_eq!(array.metalayer().name(), "b2nd");
/// assert_eq!((array.shape(), array.dtype()), (&[6, 8][..], Some("<u2")));
///
/// let error = Rewrite::new(old, folder.path().join("other.b2nd")).apply().unwrap_err();
/// assert_eq!(error.to_string(), "layout caterva stores no dtype; give one");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is written without `apply`"]
pub struct Rewrite<'p> {
    from: PathBuf,
    to: PathBuf,
    dtype: Option<String>,
    frame_type: Option<FrameType>,
    progress: Progress<'p>,
}

impl<'p> Rewrite<'p> {
    /// Begins a rewrite of the frame at `from` to the path `to`. Nothing is read or written before
    /// [`preview`](Self::preview) or [`apply`](Self::apply).
    ///
    /// Each path is that of a file, or of the directory of a sparse frame.
    pub fn new(from: impl Into<PathBuf>, to: impl Into<PathBuf>) -> Self {
        let progress = Progress { copied: 0, report: None };
        Self { from: from.into(), to: to.into(), dtype: None, frame_type: None, progress }
    }

    /// Sets the dtype of the array. It is needed if the old layout stores none.
    ///
    /// Its item size must be the frame's [type size](crate::Header::typesize). It is written as a [type
    /// string](b2nd_serde::dtype::Dtype::type_string), so `uint8` becomes `|u1`.
    ///
    /// ```
    /// use b2nd_frame::Rewrite;
    ///
    /// let rewrite = Rewrite::new("tests/data/int32_3x5.b2nd", "new.b2nd").dtype("[('x', 'f4')]");
    /// let after = rewrite.preview()?;
    /// assert_eq!(after.array()?.expect("an array").dtype(), Some("[('x', '<f4')]"));
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn dtype(mut self, dtype: impl Into<String>) -> Self {
        self.dtype = Some(dtype.into());
        self
    }

    /// Sets the frame type: a sparse frame becomes a contiguous one, or the other way round. Without this, it stays.
    ///
    /// The chunks are copied one by one, without decompressing them. A hole between chunks, which C-Blosc2 leaves where a
    /// chunk was replaced or deleted, is not copied. The frame needs no array. The new path must be another one.
    ///
    /// ```
    /// use b2nd_frame::{Frame, FrameType, Rewrite, is_sparse_frame};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (sparse, contiguous) = (folder.path().join("sparse"), folder.path().join("contiguous"));
    /// Rewrite::new("tests/data/int32_3x5.b2nd", &sparse).frame_type(FrameType::Sparse).apply()?;
    /// assert!(is_sparse_frame(&sparse));
    /// Rewrite::new(&sparse, &contiguous).frame_type(FrameType::Contiguous).apply()?;
    /// assert_eq!(std::fs::read(&contiguous)?.len(), std::fs::read("tests/data/int32_3x5.b2nd")?.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn frame_type(mut self, frame_type: FrameType) -> Self {
        self.frame_type = Some(frame_type);
        self
    }

    /// Calls a function with the number of bytes that [`apply`](Self::apply) has copied. The function can stop the
    /// rewrite.
    ///
    /// The first call is with 0, after the old frame has been checked. Then there is a call after each piece of at most
    /// 4 MiB, and a last one before the new file gets its name. The last number is about the header's
    /// [`cbytes`](crate::Header::cbytes).
    ///
    /// If the function returns `ControlFlow::Break`, the unfinished new file is removed, and the error is
    /// [`ErrorKind::Stopped`](crate::ErrorKind::Stopped).
    ///
    /// ```
    /// use std::ops::ControlFlow;
    /// use b2nd_frame::{ErrorKind, Rewrite};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let new = folder.path().join("new.b2nd");
    /// let old = "tests/data/uint16_6x8.caterva";
    /// let rewrite = Rewrite::new(old, &new).dtype("<u2").on_progress(|_| ControlFlow::Break(()));
    /// assert_eq!(rewrite.apply().unwrap_err().kind(), ErrorKind::Stopped);
    /// assert!(!new.exists());
    ///
    /// let mut copied = 0;
    /// let rewrite = Rewrite::new(old, &new).dtype("<u2").on_progress(|bytes| {
    ///     copied = bytes;
    ///     ControlFlow::Continue(())
    /// });
    /// rewrite.apply()?;
    /// assert_eq!(copied, 415);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_progress(mut self, report: impl FnMut(u64) -> ControlFlow<()> + 'p) -> Self {
        self.progress.report = Some(Box::new(report));
        self
    }

    /// Returns the frame as [`apply`](Self::apply) would make it. Nothing is written, and no lock is taken.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply), except those about the lock and about writing.
    ///
    /// ```
    /// use b2nd_frame::Rewrite;
    ///
    /// let after = Rewrite::new("tests/data/uint16_6x8.caterva", "new.b2nd").dtype("<u2").preview()?;
    /// assert_eq!(after.array()?.expect("an array").layout().to_string(), "b2nd");
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn preview(&self) -> Result<Frame, Error> {
        let (job, _) = Job::new(self)?;
        let (_, _, after) = job.read()?;
        Ok(after)
    }

    /// Writes the new frame, and opens it.
    ///
    /// # Errors
    ///
    /// - [`Refused`] if the frame cannot be rewritten, or not in place.
    /// - [`Malformed`] if the frame has an error.
    /// - [`Exists`] if there is already something else at the new path.
    /// - [`Locked`] if another process holds the lock.
    /// - [`Changing`] if the frame was changed meanwhile.
    /// - [`Stopped`] if the function of [`on_progress`](Self::on_progress) stopped it.
    /// - [`Io`] if a file cannot be read or written.
    ///
    /// After any error the old frame is unchanged, and nothing of the new one is left.
    ///
    /// [`Refused`]: crate::ErrorKind::Refused
    /// [`Malformed`]: crate::ErrorKind::Malformed
    /// [`Exists`]: crate::ErrorKind::Exists
    /// [`Locked`]: crate::ErrorKind::Locked
    /// [`Changing`]: crate::ErrorKind::Changing
    /// [`Stopped`]: crate::ErrorKind::Stopped
    /// [`Io`]: crate::ErrorKind::Io
    ///
    /// ```
    /// use b2nd_frame::{Frame, Rewrite};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("array.caterva");
    /// # std::fs::copy("tests/data/uint16_6x8.caterva", &path)?;
    /// // In place.
    /// let frame = Rewrite::new(&path, &path).dtype("<u2").apply()?;
    /// assert_eq!(Frame::open(&path)?.header_bytes(), frame.header_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn apply(mut self) -> Result<Frame<File>, Error> {
        let mut progress = core::mem::take(&mut self.progress);
        let (job, place) = Job::new(&self)?;
        job.apply(place, &mut progress)
    }
}

impl fmt::Debug for Rewrite<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, dtype, frame_type, progress: _ } = self;
        f.debug_struct("Rewrite")
            .field("from", from)
            .field("to", to)
            .field("dtype", dtype)
            .field("frame_type", frame_type)
            .finish_non_exhaustive()
    }
}

type OnProgress<'r> = Box<dyn FnMut(u64) -> ControlFlow<()> + 'r>;

/// How much of a rewrite is done.
#[derive(Default)]
struct Progress<'r> {
    copied: u64,
    report: Option<OnProgress<'r>>,
}

impl Progress<'_> {
    fn advance(&mut self, bytes: u64) -> Result<(), Error> {
        self.copied = self.copied.saturating_add(bytes);
        match self.report.as_mut().map(|report| report(self.copied)) {
            Some(ControlFlow::Break(())) => Err(Error::stopped()),
            _ => Ok(()),
        }
    }
}

/// Whether a path leads to the file with the header, or to its directory.
fn is_same(source: &Path, to: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    file_with_header(to).is_ok_and(|to| real(&to).is_some() && real(&to) == real(source))
}

/// A rewrite whose paths have been checked.
struct Job<'p> {
    /// The path as it was given: a directory must hold a sparse frame, so `check` must know whether it is one.
    from: &'p Path,
    to: &'p Path,
    dtype: Option<&'p str>,
    frame_type: Option<FrameType>,
    /// The file of `from` that has the header.
    source: PathBuf,
    is_in_place: bool,
    /// Decides which lock the old frame has. No writer changes it.
    is_sparse: bool,
    /// Whether a directory is written.
    makes_directory: bool,
}

impl<'p> Job<'p> {
    /// Checks that the new file can be written at its path.
    fn new(rewrite: &'p Rewrite<'_>) -> Result<(Self, Place), Error> {
        let Rewrite { from, to, dtype, frame_type, .. } = rewrite;
        let source = file_with_header(from)?;
        let is_in_place = is_same(&source, to);
        let old_type = Frame::open(&source)?.header().frame_type;
        let new_type = frame_type.unwrap_or(old_type);
        if let Some(FrameType::Unknown(number)) = frame_type {
            return Err(Error::refused(format_args!("frame type {number} cannot be written")));
        }
        let makes_directory = !is_in_place && new_type == FrameType::Sparse;
        let place = if !is_in_place {
            Place::free(to, makes_directory)?
        } else if new_type == old_type {
            // Without permission to write a file, it must not be replaced either.
            let target = fs::canonicalize(&source)
                .and_then(|target| OpenOptions::new().write(true).open(&target).map(|_| target));
            Place::taken(target.map_err(|error| Error::io("write", &source, error))?)?
        } else {
            return Err(Error::refused(
                "a frame of another type cannot replace the old one: give a new path",
            ));
        };
        let (dtype, frame_type, is_sparse) = (dtype.as_deref(), *frame_type, old_type == FrameType::Sparse);
        Ok((Self { from, to, dtype, frame_type, source, is_in_place, is_sparse, makes_directory }, place))
    }

    /// The old frame, and the new one that is made of it: its parts, and the frame as its header shows it. The new frame
    /// is checked too, because the rules for an older generation do not cover all errors.
    fn read(&self) -> Result<(Frame<File>, Canonical, Frame), Error> {
        let mut frame = Frame::open(self.from)?;
        let canonical = Canonical::of(&mut frame, self.dtype, self.frame_type)?;
        self.check_old(&frame)?;
        let after = Frame::parse(&canonical.header)?;
        let Body::Kept { range, trailer } = &canonical.body else { return Ok((frame, canonical, after)) };
        let new =
            Unwritten { header: &canonical.header, kept: range, trailer, old: &frame.reader, position: 0 };
        match first_error(&after, &self.source, self.from.is_dir(), new)? {
            None => Ok((frame, canonical, after)),
            Some(wrong) => Err(Error::refused(format_args!(
                "the frame is damaged, and the new one would have the same error: {}",
                wrong.message()
            ))),
        }
    }

    /// Checks that the old frame is the whole file, and has not changed since it was read.
    fn check_old(&self, frame: &Frame<File>) -> Result<(), Error> {
        let file = open_at_once(&self.source).map_err(|error| Error::io("read", &self.source, error));
        frame.check_whole(&self.source, &mut file?)
    }

    fn apply(self, place: Place, progress: &mut Progress<'_>) -> Result<Frame<File>, Error> {
        let (mut exclusive, mut _shared) = (None, None);
        if self.is_in_place {
            exclusive = ExclusiveLock::take(&self.source, self.is_sparse)?;
        } else {
            _shared = SharedLock::take(&self.source, self.is_sparse, Some(Instant::now()))?;
        }
        let (mut frame, canonical, after) = self.read()?;
        let new = place.begin(self.makes_directory, false)?;
        progress.advance(0)?;
        let Canonical { header, body } = &canonical;
        let new = match body {
            Body::Kept { range, trailer } => {
                if let Some(directory) = new.directory() {
                    self.copy_chunks(&new, directory, progress)?;
                }
                self.write(&frame, [header, trailer], range, &new, progress)?;
                new
            }
            Body::Moved { index, trailer } => {
                move_chunks(&mut frame, &End { header, index, trailer }, new, progress)?
            }
        };
        if let Ok(metadata) = frame.reader.metadata() {
            keep_attributes(new.file(), &metadata, self.is_in_place);
        }
        if let Some(directory) = new.directory() {
            keep_modes(directory, &self.source, self.is_sparse);
        }
        new.sync()?;
        self.check_old(&frame)?;
        let path = match new.directory() {
            Some(directory) => directory.join(SPARSE_INDEX),
            None if self.is_in_place => self.source.clone(),
            None => self.to.into(),
        };
        check_new(&after, &path, new.file())?;
        // The path as it was given, which may lead through a link.
        let given = self.is_in_place.then(|| file_with_header(self.to)).transpose()?;
        progress.advance(0)?;
        if let Some(lock) = &mut exclusive {
            lock.raise_counter()?;
        }
        // Some systems do not replace a file that is open.
        drop(frame);
        let (file, path) = new.persist()?;
        Ok(Frame { path: Some(given.unwrap_or(path)), ..after.map_reader(|()| file) })
    }

    /// Writes the new file that has the header, with bytes of the old one between its two parts.
    fn write(
        &self,
        frame: &Frame<File>,
        [header, trailer]: [&[u8]; 2],
        kept: &Range<u64>,
        new: &Pending,
        progress: &mut Progress<'_>,
    ) -> Result<(), Error> {
        let (mut old, mut file) = (&frame.reader, new.file());
        file.write_all(header).map_err(|error| new.unwritable(error))?;
        old.seek(SeekFrom::Start(kept.start)).map_err(|error| frame.unreadable(error))?;
        let kept_len = len(kept);
        if copy_bytes(&mut old.take(kept_len), &self.source, &mut file, new, progress)? != kept_len {
            return Err(Error::changing(None));
        }
        file.write_all(trailer).map_err(|error| new.unwritable(error))
    }

    fn copy_chunks(&self, new: &Pending, to: &Path, progress: &mut Progress<'_>) -> Result<(), Error> {
        let unwritable = |error| new.unwritable(error);
        let from = folder_of(&self.source);
        for entry in fs::read_dir(from).map_err(|error| Error::io("read", from, error))? {
            let entry = entry.map_err(|error| Error::io("read", from, error))?;
            let path = entry.path();
            if chunk_file::number(&entry.file_name()).is_some() && path.is_file() {
                let unreadable = |error| Error::io("read", &path, error);
                let mut old = File::open(&path).map_err(unreadable)?;
                let file = File::options().write(true).create_new(true).open(to.join(entry.file_name()));
                let mut file = file.map_err(unwritable)?;
                copy_bytes(&mut old, &path, &mut file, new, progress)?;
                keep_attributes(&file, &old.metadata().map_err(unreadable)?, false);
                file.sync_all().map_err(unwritable)?;
            }
        }
        Ok(())
    }
}

/// Copies all bytes of a reader of the file `path`, and says how many. An error names the file that it is about, which
/// `io::copy` does not tell.
fn copy_bytes(
    old: &mut impl Read,
    path: &Path,
    to: &mut impl Write,
    new: &Pending,
    progress: &mut Progress<'_>,
) -> Result<u64, Error> {
    let (mut piece, mut copied) = (Vec::new(), 0);
    loop {
        piece.clear();
        let read = old.by_ref().take(PIECE).read_to_end(&mut piece);
        let read = read.map_err(|error| Error::io("read", path, error))? as u64;
        if read == 0 {
            return Ok(copied);
        }
        to.write_all(&piece).map_err(|error| new.unwritable(error))?;
        copied += read;
        progress.advance(read)?;
    }
}

/// Writes a frame of another type, with the chunks of the old one. They must still be as they were for the new index.
fn move_chunks(
    frame: &mut Frame<File>,
    end: &End<'_>,
    new: Pending,
    progress: &mut Progress<'_>,
) -> Result<Pending, Error> {
    let mut output = Unfinished::begin(new, end.header.len() as u64)?;
    let mut chunks = frame.chunks()?;
    while let Some(entry) = chunks.next().transpose()? {
        let Some(header) = chunks.header(&entry)? else {
            if chunks.is_repeated() {
                break;
            }
            continue;
        };
        let len = header.cbytes as u64;
        let put = output.put(|out| {
            let mut copied = 0;
            while copied < len {
                let piece = chunks.bytes(&entry, copied, PIECE.min(len - copied))?;
                let piece = piece.map_or_else(|_| Vec::new(), |(bytes, _)| bytes);
                if piece.is_empty() {
                    return Err(Error::changing(None));
                }
                out.write_all(&piece).map_err(Error::writing)?;
                copied += piece.len() as u64;
                progress.advance(piece.len() as u64)?;
            }
            Ok(len)
        })?;
        if !end.index.has(entry.number, Entry::Stored(put)) {
            return Err(Error::changing(None));
        }
    }
    output.end(end)
}

/// The number of bytes that are kept.
fn len(kept: &Range<u64>) -> u64 {
    kept.end.saturating_sub(kept.start)
}

/// The bytes of a new frame before they are written.
struct Unwritten<'j> {
    header: &'j [u8],
    kept: &'j Range<u64>,
    trailer: &'j [u8],
    old: &'j File,
    position: u64,
}

/// The bytes from an offset on.
fn rest(bytes: &[u8], offset: u64) -> &[u8] {
    usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default()
}

impl Read for Unwritten<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Self { header, kept, trailer, .. } = *self;
        let kept_len = len(kept);
        let read = match self.position.checked_sub(header.len() as u64) {
            None => rest(header, self.position).read(buffer),
            Some(offset) if offset < kept_len => {
                self.old.seek(SeekFrom::Start(kept.start.saturating_add(offset)))?;
                self.old.take(kept_len - offset).read(buffer)
            }
            Some(offset) => rest(trailer, offset - kept_len).read(buffer),
        }?;
        self.position = self.position.saturating_add(read as u64);
        Ok(read)
    }
}

impl Seek for Unwritten<'_> {
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

/// The first error in the new frame `after`, as it will be found at a path.
fn first_error(
    after: &Frame,
    path: &Path,
    by_directory: bool,
    reader: impl Read + Seek,
) -> Result<Option<Finding>, Error> {
    let seen = Frame { path: Some(path.into()), by_directory, ..after.clone() };
    let findings = seen.map_reader(|()| reader).check()?;
    Ok(findings.into_iter().find(|finding| finding.severity() == Severity::Error))
}

/// Checks the new frame once more before it gets its name: it had no errors when it was only planned, but the old one, or a
/// chunk file, can have been changed since.
fn check_new(after: &Frame, path: &Path, new: &File) -> Result<(), Error> {
    match first_error(after, path, false, new)? {
        None => Ok(()),
        wrong => Err(Error::changing(wrong)),
    }
}

/// Gives a new file the mode of the old one and, in place, its owner, as far as the system allows. Only root can change
/// the owner, and some file systems have neither owners nor modes.
fn keep_attributes(new: &File, old: &Metadata, is_in_place: bool) {
    #[cfg(unix)]
    if is_in_place {
        use std::os::unix::fs::{MetadataExt, fchown};
        if fchown(new, Some(old.uid()), Some(old.gid())).is_err() {
            let _ = fchown(new, None, Some(old.gid()));
        }
    }
    #[cfg(not(unix))]
    let _ = is_in_place;
    // After the owner, because a change of owner clears some bits of the mode.
    let _ = new.set_permissions(old.permissions());
}

/// Gives a new directory and its chunks the modes that the old frame has, as far as the system allows: those of its
/// directory, or if it was a file, that of the file, with permission to enter for those who may read.
fn keep_modes(directory: &Path, source: &Path, is_sparse: bool) {
    let old = if is_sparse { folder_of(source) } else { source };
    let Ok(old) = fs::metadata(old).map(|metadata| metadata.permissions()) else { return };
    #[cfg(unix)]
    if !is_sparse {
        use std::os::unix::fs::PermissionsExt;
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let _ = fs::set_permissions(entry.path(), old.clone());
        }
        let mode = old.mode();
        let _ = fs::set_permissions(directory, fs::Permissions::from_mode(mode | (mode & 0o444) >> 2));
        return;
    }
    // The chunks have got the modes of the old ones.
    let _ = fs::set_permissions(directory, old);
}
