//! `Array`: an open array, whose items are read. Its public methods are in `array_methods.rs`.

use core::fmt;
use std::fs::File;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use crate::error::Error;
use crate::header::frame::Frame;
use crate::header::object_kind::ObjectKind;
use crate::opened_file::FileIdentity;
use crate::read::open::open_frame;
use crate::read::trailer::trailer;
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
/// An array that `save_array`, `save_tensor` or `pack_tensor` of python-blosc2 has written has no metalayer with a chunk
/// shape. Its items are in C order, through all chunks, and a slice reads only the chunks that it needs. Shape and dtype
/// are in the [trailer](Trailer::packed_tensor).
///
/// Any other super-chunk is an array of one dimension. Its items have the typesize of the frame and the dtype `|V` with
/// this number. If the typesize is 1, or does not divide the size of the data, the items are bytes, `|u1`.
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
/// The metalayer, the dtype and the rules of the array are checked once, when it is opened. Then it keeps what its slices
/// have read and will need again: pages of the chunk index and tables of blocks, at most 4 MiB each, and memory for
/// decompressing, at most 16 MiB.
///
/// # If the file changes
///
/// An `Array` is the array at the time when it was opened. If another program changes the file, slices fail with
/// [`Changing`](crate::ErrorKind::Changing), and [`refresh`](Self::refresh) gives the array as it is now. If the file is
/// replaced by a new one, slices of a contiguous frame go on to read the old file.
///
/// A program can change items in a way that does not show: in the moment after the array was opened, in a file system
/// whose times of the last write are too coarse.
pub struct Array<R = File> {
    pub(crate) frame: Frame<R>,
    pub(crate) shared: Arc<SharedArray>,
    /// When the file was last written, as it was when the array was opened by its path, or else before the first slice.
    before: OnceLock<Modified>,
}

/// When a file was last written, and its identity if it is found by its path.
type Modified = Option<(SystemTime, Option<FileIdentity>)>;

impl Array {
    /// The array that is now at the path; `None` if it has not changed.
    pub(crate) fn reopened(&self) -> Result<Option<Self>, Error> {
        let frame = &self.frame;
        let path =
            frame.path().ok_or_else(|| Error::invalid_input("the array was not opened by its path"))?;
        let before = self.before();
        let now = open_frame(path)?;
        let is_same = now.header_bytes() == frame.header_bytes()
            && now.reader.modified() == before.map(|(modified, _)| modified)
            && identity(&now) == identity(frame);
        if is_same {
            return Ok(None);
        }
        Self::of_opened(Frame { by_directory: frame.by_directory, ..now }).map(Some)
    }
}

impl<R> Array<R> {
    pub(crate) fn of_parts(frame: Frame<R>, trailer: Option<&Trailer>) -> Result<Self, Error> {
        // The header can be half of an old one and half of a new one.
        let shared = SharedArray::new(&frame, trailer).map_err(|error| frame.header_or_changing(error))?;
        Ok(Self { frame, shared: Arc::new(shared), before: OnceLock::new() })
    }

    pub(super) fn shared(&self) -> &Arc<SharedArray> {
        &self.shared
    }
}

impl<R: ReadAt> Array<R> {
    /// Fails if the array in the file is another one than when it was opened.
    // The header tells nearly all changes. The time of the last write tells those of a chunk that was overwritten in its
    // place by one of the same length.
    pub(super) fn check_unchanged(&self) -> Result<(), Error> {
        let before = self.before();
        if before.is_none() {
            return Ok(());
        }
        if self.modified() == before { self.frame.check_unchanged() } else { Err(Error::changing(None)) }
    }

    /// Opens the array of a frame that was opened just now.
    pub(crate) fn of_opened(frame: Frame<R>) -> Result<Self, Error> {
        let needs_trailer = frame.kind() == ObjectKind::SChunk && frame.header().has_vlmetalayers;
        let trailer = if needs_trailer { Some(trailer(&frame)?) } else { None };
        let array = Self::of_parts(frame, trailer.as_ref())?;
        array.before();
        Ok(array)
    }

    fn before(&self) -> Modified {
        *self.before.get_or_init(|| self.modified())
    }

    /// When the file with the header was last written; `None` if it cannot change.
    fn modified(&self) -> Modified {
        // A writer replaces the index of a sparse frame by a new file, but not its chunks. So the file at the path counts.
        match self.frame.path().filter(|_| self.frame.header().is_sparse()) {
            Some(path) => {
                let metadata = path.metadata().ok()?;
                Some((metadata.modified().ok()?, Some(FileIdentity::of(&metadata))))
            }
            None => self.frame.reader.modified().map(|modified| (modified, None)),
        }
    }
}

fn identity(frame: &Frame) -> Option<FileIdentity> {
    frame.reader.metadata().ok().map(|metadata| FileIdentity::of(&metadata))
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
