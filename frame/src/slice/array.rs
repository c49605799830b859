//! `Array`: an open array, from which slices are read. Its public methods are in `array_methods.rs`.

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
/// shape. Their items follow one another in C order, from chunk to chunk. A slice reads only the chunks that it needs.
/// The shape and the dtype are in the [trailer](Trailer::packed_tensor).
///
/// Any other super-chunk is an array of one dimension. The size of its items is the typesize of the frame, and the
/// dtype is `|V` with this size, such as `|V16`. If the typesize is 1, or does not divide the size of the data, the
/// items are bytes with the dtype `|u1`.
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
/// # What an array keeps in memory
///
/// The metalayer, the dtype and the header are checked once, when the array is opened. Later, the array keeps data that
/// its slices have read and may need again: at most 4 MiB of pages of the chunk index, and at most 4 MiB of tables of
/// blocks. It also keeps at most 16 MiB of memory for decompressing. A page of 2 MiB or more is not kept, so each slice
/// decompresses it again.
///
/// # If the file changes
///
/// An `Array` describes the array as it was at the time of opening. If another program changes the file, slices fail
/// with [`Changing`](crate::ErrorKind::Changing), and [`refresh`](Self::refresh) gives the array as it is now. After a
/// `Changing` error, all later slices of this `Array` fail, even if the file is restored, because the `Array` may keep
/// bytes that it read during the change. An array that was opened by its path also notices if another file replaces the
/// file at this path. If the file of a contiguous frame was deleted, slices continue to read the open file.
///
/// python-blosc2 overwrites a chunk file of a sparse frame in place, and then writes the index. A slice between these
/// two writes fails, or returns the new items of this chunk. The slice can mix bytes of the old and the new chunk file
/// only if their lengths and modification times are equal.
///
/// If an array reads from a source that is not a file, such as a memory map, it notices changes only if the source has
/// a [`version`](ReadAt::version).
///
/// Two kinds of changes can go unnoticed. In a file system with coarse modification times, an array can miss a change
/// just after it was opened. On Windows, an array does not notice a new file at its path if the new file has the same
/// header, length and modification time.
pub struct Array<R = File> {
    pub(crate) frame: Frame<R>,
    pub(crate) shared: Arc<SharedArray>,
    /// The version of the opened frame. For a [parsed](Frame::parse) frame, the version is taken from the reader before
    /// the first slice.
    version: OnceLock<Option<FileVersion>>,
}

impl Array {
    /// The array that is now at the path; `None` if the array has not changed since it was opened.
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
        // If the header is invalid, it may be a mixture of an old and a new header, because another program is writing
        // it. The error is then `Changing`.
        let shared = SharedArray::new(&frame, trailer).map_err(|error| frame.header_or_changing(error))?;
        // A relative path would lead to another file if the program changed its working directory.
        let path = frame.path.map(|path| path::absolute(&path).unwrap_or(path));
        Ok(Self { frame: Frame { path, ..frame }, shared: Arc::new(shared), version: OnceLock::new() })
    }
}

impl<R: ReadAt> Array<R> {
    /// The version of the array's source; `None` if the source cannot change, or its version is not known.
    pub(crate) fn version(&self) -> Option<&FileVersion> {
        self.version
            .get_or_init(|| self.frame.version.clone().or_else(|| self.frame.reader.version()))
            .as_ref()
    }

    /// Fails if the file has changed since the array was opened, or if an earlier slice has found a change.
    // Nearly all changes of a file also change the header. But if a chunk is overwritten in place by a chunk of the
    // same length, only the modification time changes. So the version is compared too, not only the header.
    pub(crate) fn check_version(&self) -> Result<(), Error> {
        let Some(version) = self.version() else { return Ok(()) };
        if has_changed(Some(version), self.frame.version_now()?.as_ref()) {
            return Err(Error::changing(None));
        }
        self.frame.check_unchanged()?;
        // Another thread may have noticed a change that was undone before this check. The array may then keep bytes
        // that were read during the change.
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
