//! `Array`: an open array, whose items are read. Its public methods are in `array_methods.rs`.

use core::fmt;
use std::fs::File;
use std::path;
use std::sync::{Arc, OnceLock};

use crate::error::Error;
use crate::file_version::{FileVersion, has_changed};
use crate::header::frame::Frame;
use crate::header::object_kind::ObjectKind;
use crate::read::open::open_frame;
use crate::read::trailer::trailer_or_changing;
use crate::slice::shared_array::SharedArray;
use crate::source::ReadAt;
use crate::trailer::frame_trailer::Trailer;

/// An open array. Any number of threads can read it at the same time.
///
/// ```
/// use b2nd_frame::Array;
///
/// let array = Array::open("tests/data/int32_3x5.b2nd")?;
/// assert_eq!((array.shape(), array.dtype()), (&[3, 5][..], Some("<i4")));
/// let row = array.slice(&[1..2, 0..5]).read()?;
/// assert_eq!(row, [5_i32, 6, 7, 8, 9].map(i32::to_le_bytes).concat());
///
/// // Threads share it.
/// std::thread::scope(|scope| {
///     let columns = [0, 1].map(|column| {
///         let array = &array;
///         scope.spawn(move || array.slice(&[0..3, column..column + 1]).read_rows::<i32>())
///     });
///     let [first, second] = columns.map(|column| column.join().unwrap().unwrap());
///     assert_eq!((first, second), (vec![0, 5, 10], vec![1, 6, 11]));
/// });
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
///
/// # Super-chunks
///
/// Arrays that `save_array`, `save_tensor` or `pack_tensor` of python-blosc2 wrote have no metalayer with a chunk
/// shape. Their items are in C order, through all chunks, and a slice reads only the chunks that it needs. Shape and
/// dtype are in the [trailer](Trailer::packed_tensor).
///
/// Any other super-chunk is an array of one dimension. Its items have the typesize of the frame; the dtype is `|V` with
/// this number, such as `|V16`. If the typesize is 1, or does not divide the size of the data, the items are bytes,
/// `|u1`.
///
/// ```
/// use b2nd_frame::Array;
///
/// let array = Array::open("tests/data/packed.b2frame")?;
/// assert_eq!((array.shape(), array.dtype()), (&[4, 25, 10][..], Some("<i4")));
/// assert!(array.meta().is_none() && array.geometry().is_none());
/// assert_eq!(array.slice(&[3..4, 24..25, 8..10]).read_rows::<i32>()?, [998, 999]);
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
///
/// # What it holds
///
/// The metalayer, the dtype and the rules of the array are checked once, when it is opened. Later it keeps what its
/// slices have read and may need again: pages of the chunk index and tables of blocks, at most 4 MiB each, and memory
/// for decompressing, at most 16 MiB. A page of more than 2 MiB is not kept, and is decompressed again for each slice.
///
/// # If the file changes
///
/// An `Array` is the array at the time when it was opened. If another program changes the file, slices fail with
/// [`Changing`](crate::ErrorKind::Changing), and [`refresh`](Self::refresh) gives the array as it is now. After such an
/// error, all slices fail, even if the file is restored: the array may keep bytes of the change. An array that was
/// opened by its path also notices if another file replaces the file at this path. If the file was deleted, slices of a
/// contiguous frame go on reading the open file.
///
/// python-blosc2 overwrites a chunk file of a sparse frame in its place, before the index. A slice at this moment
/// fails, or has the new items of this chunk. It can mix bytes of both chunk files only if their lengths and
/// modification times are equal.
///
/// An array of another source, such as a memory map, notices changes only if the source has a
/// [`version`](ReadAt::version).
///
/// Two changes go unnoticed: one just after the array was opened, in a file system with coarse modification times; and,
/// on Windows, a new file at the path with the same header, length and time.
pub struct Array<R = File> {
    pub(crate) frame: Frame<R>,
    pub(crate) shared: Arc<SharedArray>,
    /// The version of the opened frame. For a [parsed](Frame::parse) frame, it is taken from the reader before the first
    /// slice.
    version: OnceLock<Option<FileVersion>>,
}

impl Array {
    /// The array that is now at the path; `None` if it has not changed.
    pub(crate) fn reopened(&self) -> Result<Option<Self>, Error> {
        let frame = &self.frame;
        let path =
            frame.path().ok_or_else(|| Error::invalid_input("the array was not opened by its path"))?;
        let folder = path.parent().filter(|_| frame.by_directory);
        let now = open_frame(folder.unwrap_or(path))?;
        let is_same = now.header_bytes() == frame.header_bytes() && now.version.as_ref() == self.version();
        if is_same && !self.shared.has_changed() {
            return Ok(None);
        }
        Self::of_opened(now).map(Some)
    }
}

impl<R> Array<R> {
    pub(crate) fn of_parts(frame: Frame<R>, trailer: Option<&Trailer>) -> Result<Self, Error> {
        // The header can be a mixture of an old and a new header.
        let shared = SharedArray::new(&frame, trailer).map_err(|error| frame.header_or_changing(error))?;
        // A relative path would lead to another file if the program changed its working directory.
        let path = frame.path.map(|path| path::absolute(&path).unwrap_or(path));
        Ok(Self { frame: Frame { path, ..frame }, shared: Arc::new(shared), version: OnceLock::new() })
    }
}

impl<R: ReadAt> Array<R> {
    /// The version of the array; `None` if it cannot change, or the version is not known.
    pub(crate) fn version(&self) -> Option<&FileVersion> {
        self.version
            .get_or_init(|| self.frame.version.clone().or_else(|| self.frame.reader.version()))
            .as_ref()
    }

    /// Fails if the file has changed since the array was opened, or if an earlier slice has found a change.
    // Nearly all changes of a file also change the header. If a chunk is overwritten in place by a chunk of the same
    // length, only the modification time changes.
    pub(crate) fn check_version(&self) -> Result<(), Error> {
        let Some(version) = self.version() else { return Ok(()) };
        if has_changed(Some(version), self.frame.version_now()?.as_ref()) {
            return Err(Error::changing(None));
        }
        self.frame.check_unchanged()?;
        // Another thread may have kept bytes of a change that was undone meanwhile.
        self.shared.check_unchanged()
    }

    /// Opens the array of a frame that was opened just now.
    pub(crate) fn of_opened(frame: Frame<R>) -> Result<Self, Error> {
        let needs_trailer = frame.kind() == ObjectKind::SChunk && frame.header().has_vlmetalayers;
        let trailer = if needs_trailer { Some(trailer_or_changing(&frame)?) } else { None };
        Self::of_parts(frame, trailer.as_ref())
    }
}

impl<R> fmt::Debug for Array<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Array")
            .field("path", &self.frame.path())
            .field("shape", &self.shape())
            .field("dtype", &self.dtype())
            .finish_non_exhaustive()
    }
}
