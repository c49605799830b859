//! Carries out a rewrite: checks its paths, takes the locks, and writes the new frame.

use core::ops::Range;
use core::time::Duration;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use crate::check::{Check, chunk_files};
use crate::chunk::entry::{ChunkPlace, EntryValue};
use crate::chunk_file;
use crate::chunk_file::folder_of;
use crate::edit::commit::Commit;
use crate::edit::rewritten::{Body, FrameChanges, Rewritten};
use crate::edit::writer_lock::WriterLock;
use crate::error::{Error, ErrorKind};
use crate::finding::first_error;
use crate::header::frame::Frame;
use crate::index::index_writer::NewIndex;
use crate::progress::Progress;
use crate::read::chunks::Chunks;
use crate::read::frame_state::FrameState;
use crate::read::lock::{FileLock, share_sidecar};
use crate::read::open::{file_with_header, open_chunk_file, open_frame, read_frame_at};
use crate::source::{ReadAt, fill};
use crate::write::destination::{Destination, NewFrame, real};
use crate::write::file_attributes::{FileAttributes, OldFrame, keep};
use crate::write::output::Output;

/// The maximum number of bytes copied between two calls of the progress callback.
const PIECE: usize = 1 << 22;

/// The minimum length of the buffer for a copy, in bytes.
const MIN_PIECE: usize = 1 << 12;

/// Whether the path `to` leads to the header file `source`, or is the directory of the sparse frame with this header
/// file.
fn is_same(source: &Path, to: &Path) -> bool {
    let real = |path: &Path| real(path).ok();
    file_with_header(to).is_ok_and(|to| real(&to).is_some() && real(&to) == real(source))
}

/// The origin of the old frame: a path, or a reader and the offset of the frame in it.
#[derive(Debug)]
pub(super) enum Origin<R> {
    Path(PathBuf),
    Reader { reader: R, offset: u64 },
}

/// A reader of the old frame: a file, or the reader of the caller.
pub(super) trait FrameReader: ReadAt {}

impl<R: ReadAt> FrameReader for R {}

impl<R: ReadAt> Origin<R> {
    pub(super) fn open(&mut self) -> Result<Frame<Box<dyn FrameReader + '_>>, Error> {
        Ok(match self {
            Self::Path(path) => open_frame(path)?.map_reader(|file| Box::new(file) as _),
            Self::Reader { reader, offset } => {
                read_frame_at(reader, *offset)?.map_reader(|reader| Box::new(reader) as _)
            }
        })
    }
}

/// A rewrite with checked paths.
pub(super) struct Job<'p> {
    /// `None` if the old frame is not opened by a path.
    old: Option<OldFrame>,
    to: &'p Path,
    changes: &'p FrameChanges,
}

/// The lock of the old frame: the lock of a writer for a rewrite in place, otherwise the lock of a reader.
#[derive(Debug)]
pub(super) enum OldLock {
    Writer(WriterLock),
    /// The shared lock of the lock file of C-Blosc2, if there is one.
    Reader {
        _lock: Option<FileLock>,
    },
}

impl<'p> Job<'p> {
    /// Checks both paths of a rewrite. In a rewrite in place, also checks that the old file can be written.
    pub(super) fn new<R: ReadAt>(
        from: &mut Origin<R>,
        to: &'p Path,
        changes: &'p FrameChanges,
    ) -> Result<(Self, Destination), Error> {
        let was_sparse = from.open()?.header().is_sparse();
        let is_sparse = changes.is_sparse.unwrap_or(was_sparse);
        let source = match from {
            Origin::Path(path) => Some(file_with_header(path)?),
            Origin::Reader { .. } if was_sparse => {
                return Err(Error::invalid_input(
                    "a sparse frame must be rewritten by its path, because its chunks are in files beside it",
                ));
            }
            Origin::Reader { .. } => None,
        };
        let replaced = source.as_ref().filter(|source| is_same(source, to));
        let is_in_place = replaced.is_some();
        let destination = match replaced {
            None => Destination::free(to, is_sparse)?,
            Some(source) if is_sparse == was_sparse => Destination::taken(source)?,
            Some(_) => {
                return Err(Error::invalid_input(
                    "a frame of another type cannot replace the old one: give a new path",
                ));
            }
        };
        let old = source.map(|source| OldFrame { source, is_in_place, is_sparse: was_sparse });
        Ok((Self { old, to, changes }, destination))
    }

    /// Takes the lock of the old frame. If another process holds it, waits for at most `patience`, but in a rewrite in
    /// place for at least 1 ms.
    pub(super) fn lock(&self, patience: Duration) -> Result<OldLock, Error> {
        match &self.old {
            None => Ok(OldLock::Reader { _lock: None }),
            Some(OldFrame { source, is_sparse, is_in_place: true }) => {
                WriterLock::take(source, *is_sparse, patience).map(OldLock::Writer)
            }
            Some(OldFrame { source, is_sparse, .. }) => {
                let deadline = Instant::now().checked_add(patience);
                share_sidecar(source, *is_sparse, deadline).map(|lock| OldLock::Reader { _lock: lock })
            }
        }
    }

    /// Returns the parts of the new frame, and the frame parsed from its header. Nothing is written yet. If the chunks
    /// keep their places, this function also checks the new frame. The check of the old frame is not enough: if its
    /// header is of an older generation, fewer rules apply to the old frame than to the new frame. If the frame type
    /// changes or holes are left out, the new frame is checked only after it is written, because its chunks are not in
    /// their new places yet.
    pub(super) fn read<R: ReadAt>(&self, frame: &Frame<R>) -> Result<(Rewritten, Frame<()>), Error> {
        let in_place = self.old.as_ref().filter(|old| old.is_in_place).map(|old| &*old.source);
        let rewritten = Rewritten::new(frame, self.changes, in_place)?;
        self.check_old(frame)?;
        let after = Frame::parse(&rewritten.header)?;
        let Rewritten { header, body: Body::Kept(kept), trailer, .. } = &rewritten else {
            return Ok((rewritten, after));
        };
        // For the check, the new frame has the path of the old frame, because the chunk files of a sparse frame are
        // beside this path. The field `by_directory` is copied too. It records that the frame was opened by its
        // directory, so the check can report an error if such a frame is not sparse.
        let (path, by_directory) = (frame.path.clone(), frame.by_directory);
        let new = NewBytes { header, kept, trailer, frame };
        let seen = Frame { path, by_directory, ..after.clone() }.map_reader(|()| new);
        match first_error(&Check::default().run(&seen)?.findings) {
            None => Ok((rewritten, after)),
            // In a sparse frame, a commit can have removed chunk files since the old frame was checked.
            Some(wrong) => Err(frame.or_changing(Error::malformed(wrong.clone().in_new_frame()), None)),
        }
    }

    /// Checks that the old frame has not changed since it was read. In a rewrite in place, the frame must also be the
    /// whole file, because the bytes after the frame would be lost.
    fn check_old<R: ReadAt>(&self, frame: &Frame<R>) -> Result<(), Error> {
        match &self.old {
            None => frame.check_unchanged(),
            Some(OldFrame { source, is_in_place: true, .. }) => frame.check_whole(source).map(drop),
            Some(OldFrame { source, .. }) => frame.check_same(source).map(drop),
        }
    }

    /// Checks that the old frame is still in the state in which it was read.
    fn check_again<R: ReadAt>(&self, frame: &Frame<R>, state: &FrameState) -> Result<(), Error> {
        if let Some(OldFrame { source, .. }) = &self.old {
            return state.reopen(source, None).map(drop);
        }
        frame.check_unchanged()?;
        if FrameState::of(frame)? == *state { Ok(()) } else { Err(Error::changing(None)) }
    }

    /// Writes the new frame while the lock of the old frame is held.
    pub(super) fn apply<R: ReadAt>(
        self,
        frame: Frame<R>,
        lock: OldLock,
        destination: Destination,
        progress: &mut Progress<'_>,
    ) -> Result<Frame, Error> {
        let mut state = FrameState::of(&frame).map_err(|error| frame.or_changing(error, None))?;
        let (rewritten, after) = self.read(&frame)?;
        let new = destination.begin(self.old.is_none())?;
        progress.advance(0)?;
        let Rewritten { header, body, trailer, changes_items } = &rewritten;
        let new = match body {
            Body::Kept(kept) => {
                if let (Some(directory), Some(old)) = (new.directory(), &self.old) {
                    copy_chunks(&frame, folder_of(&old.source), &new, directory, progress)?;
                }
                new.file().write_all(header).map_err(|error| new.unwritable(error))?;
                let bytes = NewBytes { header, kept, trailer, frame: &frame };
                let header_len = header.len() as u64;
                let copied = copy_bytes(&bytes, header_len, frame.path(), &new, &mut new.file(), progress)?;
                if copied != bytes.len() - header_len {
                    return Err(Error::changing(None));
                }
                new
            }
            Body::Moved(index) => move_chunks(&frame, new, (header, index, trailer), progress)?,
        };
        let opened = Some(SystemTime::now());
        // The old frame is compared again, because a writer without locks can have changed it while it was copied.
        let (file, path) = match (&self.old, lock) {
            (Some(old), OldLock::Writer(mut lock)) => {
                // The returned frame has the path that the caller gave, which may be a link.
                let path = file_with_header(self.to)?;
                // This is the last call of the progress callback. From here on, the rewrite cannot be stopped.
                progress.advance(0)?;
                let before = Frame::parse(frame.header_bytes())?;
                let commit = Commit {
                    path: &old.source,
                    frame: &before,
                    state: &mut state,
                    lock: &mut lock,
                    changes_items: *changes_items,
                };
                // The caller gets a reader that keeps no writer away. It is opened before the rename, because no error
                // may occur after the rename.
                let reader = new.reader()?;
                commit.by_rename(frame, new, after.header_bytes())?;
                (reader, path)
            }
            (old, _) => {
                if let Some(old) = old {
                    keep(&new, old, old.is_sparse);
                }
                new.sync()?;
                // The old frame had no errors when it was checked. So an error now means that the old frame or a chunk
                // file has changed since then. The only exception is an old frame of the older generation, to which
                // fewer rules apply than to the new frame.
                if let wrong @ Some(_) = new.first_error(Check::default(), after.clone())? {
                    return Err(Error::changing(wrong));
                }
                progress.advance(0)?;
                self.check_again(&frame, &state)?;
                new.rename()?
            }
        };
        Ok(Frame { path: Some(path), opened, version: file.version(), ..after.map_reader(|()| file) })
    }
}

/// Copies the chunk files of a sparse frame.
fn copy_chunks<R: ReadAt>(
    frame: &Frame<R>,
    from: &Path,
    new: &NewFrame,
    to: &Path,
    progress: &mut Progress<'_>,
) -> Result<(), Error> {
    let unwritable = |error| new.unwritable(error);
    let listed = chunk_files::list(from).map_err(|error| Error::io("read", from, error))?;
    let is_owned = owned_files(frame, &listed)?;
    for (&number, _) in listed.iter().zip(is_owned).filter(|&(_, is_owned)| is_owned) {
        let name = chunk_file::name(number);
        let path = from.join(&name);
        let unreadable = |error| Error::io("read", &path, error);
        // A commit can have removed the file since the directory was listed. The check of the new frame finds this.
        let Some((old, _)) = open_chunk_file(&path).map_err(unreadable)? else { continue };
        let file = File::options().write(true).create_new(true).open(to.join(name));
        let mut file = file.map_err(unwritable)?;
        copy_bytes(&old, 0, Some(&path), new, &mut file, progress)?;
        FileAttributes::of(&old).map_err(unreadable)?.give_to(&file, false);
        file.sync_all().map_err(unwritable)?;
    }
    Ok(())
}

/// For each listed chunk file, whether an entry of the chunk index refers to it. `listed` has the numbers of the files
/// in ascending order. If this build cannot read the index, all files count as owned.
fn owned_files<R: ReadAt>(frame: &Frame<R>, listed: &[u64]) -> Result<Vec<bool>, Error> {
    let mut is_owned = vec![false; listed.len()];
    let mut mark = || -> Result<(), Error> {
        let mut chunks = Chunks::open_or_changing(frame)?;
        while let Some(entry) = chunks.next().transpose()? {
            if let ChunkPlace::File(number) = entry.place
                && let Some(is_owned) = listed.binary_search(&number).ok().and_then(|at| is_owned.get_mut(at))
            {
                *is_owned = true;
            }
            if chunks.is_repeated() {
                break;
            }
        }
        Ok(())
    };
    match mark() {
        Err(error) if error.kind() == ErrorKind::Unsupported => Ok(vec![true; listed.len()]),
        marked => marked.map(|()| is_owned),
    }
}

/// Copies all bytes of a source from an offset on, and returns their number. Unlike with `io::copy`, an error names the
/// file that failed.
fn copy_bytes(
    old: &impl ReadAt,
    start: u64,
    path: Option<&Path>,
    new: &NewFrame,
    to: &mut impl Write,
    progress: &mut Progress<'_>,
) -> Result<u64, Error> {
    let unreadable = |error| Error::reading(error).at(path);
    // A short file gets a short buffer. A file that grows is still copied to its end, because the size does not limit
    // the copy.
    let size = old.size().map_err(unreadable)?.saturating_sub(start);
    let mut buffer = vec![0; usize::try_from(size).unwrap_or(PIECE).clamp(MIN_PIECE, PIECE)];
    let mut copied = 0;
    loop {
        let read = fill(old, start + copied, &mut buffer).map_err(unreadable)?;
        let piece = buffer.get(..read).unwrap_or_default();
        if piece.is_empty() {
            return Ok(copied);
        }
        to.write_all(piece).map_err(|error| new.unwritable(error))?;
        copied += read as u64;
        progress.advance(read as u64)?;
    }
}

/// Copies the chunks one by one to a new frame of another type, or to a new contiguous frame without holes. The chunks
/// must not have changed since the new index was made.
fn move_chunks<R: ReadAt>(
    frame: &Frame<R>,
    new: NewFrame,
    (header, index, trailer): (&[u8], &NewIndex, &[u8]),
    progress: &mut Progress<'_>,
) -> Result<NewFrame, Error> {
    let mut output = Output::begin(new, header.len() as u64)?;
    let mut chunks = Chunks::open_or_changing(frame)?;
    while let Some(entry) = chunks.next().transpose()? {
        let Some(chunk) = chunks.header(&entry)? else {
            if chunks.is_repeated() {
                break;
            }
            continue;
        };
        let len = chunk.cbytes() as u64;
        let put = output.put(|out| {
            let mut copied = 0;
            while copied < len {
                let piece = chunks.bytes(&entry, copied, (PIECE as u64).min(len - copied))?;
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

/// The bytes that the new frame will have: the new header, the kept bytes of the old frame, and the new trailer. So the
/// new frame can be checked before it is written.
struct NewBytes<'j, R> {
    header: &'j [u8],
    /// The byte range in the old frame from the end of the header to the trailer. The new frame keeps these bytes.
    kept: &'j Range<u64>,
    trailer: &'j [u8],
    frame: &'j Frame<R>,
}

impl<R> NewBytes<'_, R> {
    /// The offset of the trailer.
    fn kept_end(&self) -> u64 {
        (self.header.len() as u64).saturating_add(self.kept.end.saturating_sub(self.kept.start))
    }

    fn len(&self) -> u64 {
        self.kept_end().saturating_add(self.trailer.len() as u64)
    }
}

impl<R: ReadAt> ReadAt for NewBytes<'_, R> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let kept_end = self.kept_end();
        match (offset.checked_sub(self.header.len() as u64), offset.checked_sub(kept_end)) {
            (None, _) => self.header.read_at(buffer, offset),
            (_, Some(after_kept)) => self.trailer.read_at(buffer, after_kept),
            (Some(after_header), None) => {
                let start = self.frame.offset().saturating_add(self.kept.start).saturating_add(after_header);
                let length = usize::try_from(kept_end - offset).unwrap_or(usize::MAX).min(buffer.len());
                self.frame.reader.read_at(buffer.get_mut(..length).unwrap_or_default(), start)
            }
        }
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.len())
    }
}

#[cfg(all(test, feature = "decompress"))]
mod tests {
    use core::cell::Cell;
    use std::fs;

    use super::*;
    use crate::chunk_file::SPARSE_INDEX;
    use crate::file_version::FileVersion;

    /// A file that another program changes after `before` reads, just before the next read.
    struct Beside<'c> {
        file: File,
        before: Cell<usize>,
        commit: &'c dyn Fn(),
    }

    impl ReadAt for Beside<'_> {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            if self.before.replace(self.before.get().wrapping_sub(1)) == 0 {
                (self.commit)();
            }
            self.file.read_at(buffer, offset)
        }

        fn size(&self) -> io::Result<u64> {
            self.file.size()
        }

        fn version(&self) -> Option<FileVersion> {
            self.file.version()
        }
    }

    #[test]
    #[cfg_attr(windows, ignore = "wine does not replace an open file")]
    fn read_beside_a_commit_to_a_sparse_frame_is_changing() {
        let folder = tempfile::tempdir().unwrap();
        let (path, to, changes) = (folder.path().join("a.b2nd"), folder.path().join("new"), <_>::default());
        fs::create_dir(&path).unwrap();
        let (index, chunk) = (path.join(SPARSE_INDEX), path.join(chunk_file::name(0)));
        for number in 0.. {
            for entry in fs::read_dir("tests/data/sparse.b2nd").unwrap() {
                let entry = entry.unwrap();
                fs::copy(entry.path(), path.join(entry.file_name())).unwrap();
            }
            let commit = || {
                let new = folder.path().join("index");
                fs::copy(&index, &new).unwrap();
                fs::rename(&new, &index).unwrap();
                fs::remove_file(&chunk).unwrap();
            };
            let (job, _) = Job::new(&mut Origin::<File>::Path(path.clone()), &to, &changes).unwrap();
            let beside = |file| Beside { file, before: Cell::new(number), commit: &commit };
            let frame = open_frame(&path).unwrap().map_reader(beside);
            match job.read(&frame) {
                Ok(_) if chunk.exists() => break,
                Ok(_) => {}
                Err(error) => assert_eq!(error.kind(), ErrorKind::Changing, "read {number}: {error}"),
            }
        }
    }

    #[test]
    fn apply_beside_a_change_of_a_sparse_frame_in_its_place_is_changing() {
        let folder = tempfile::tempdir().unwrap();
        let (path, to) = (folder.path().join("a.b2nd"), folder.path().join("new"));
        fs::create_dir(&path).unwrap();
        let index = path.join(SPARSE_INDEX);
        for is_sparse in [true, false] {
            let changes = FrameChanges { is_sparse: Some(is_sparse), ..FrameChanges::default() };
            for number in 0.. {
                for entry in fs::read_dir("tests/data/sparse.b2nd").unwrap() {
                    let entry = entry.unwrap();
                    fs::copy(entry.path(), path.join(entry.file_name())).unwrap();
                }
                let (job, destination) =
                    Job::new(&mut Origin::<File>::Path(path.clone()), &to, &changes).unwrap();
                let lock = job.lock(Duration::ZERO).unwrap();
                let frame = open_frame(&path).unwrap();
                let (header_len, is_changed) = (frame.header().header_len as u64, Cell::new(false));
                // C-Blosc2 truncates the file before it writes the new index.
                let change = || {
                    File::options().write(true).open(&index).unwrap().set_len(header_len).unwrap();
                    is_changed.set(true);
                };
                let beside = |file| Beside { file, before: Cell::new(number), commit: &change };
                let frame = frame.map_reader(beside);
                let Err(error) = job.apply(frame, lock, destination, &mut Progress::default()) else {
                    assert!(!is_changed.get(), "read {number}");
                    break;
                };
                assert_eq!(error.kind(), ErrorKind::Changing, "read {number}: {error}");
                assert!(!to.exists());
            }
            fs::rename(&to, folder.path().join(format!("sparse {is_sparse}"))).unwrap();
        }
    }
}
