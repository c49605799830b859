//! `Array`: an open array, whose items are read.

use core::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use b2nd_serde::{Dtype, Geometry, Meta};

use crate::error::Error;
use crate::header::frame::Frame;
use crate::header::object_kind::ObjectKind;
use crate::opened_file::FileIdentity;
use crate::slice::shared_array::{ChunkLayout, SharedArray};
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
    frame: Frame<R>,
    shared: Arc<SharedArray>,
    /// When the file was last written, as it was when the array was opened by its path, or else before the first slice.
    before: OnceLock<Modified>,
}

/// When a file was last written, and its identity if it is found by its path.
type Modified = Option<(SystemTime, Option<FileIdentity>)>;

impl Array {
    /// Opens an array: a file, or the directory of a sparse frame.
    ///
    /// # Errors
    ///
    /// The errors of [`Frame::open`] and of [`new`](Self::new).
    ///
    /// ```
    /// use b2nd_frame::Array;
    ///
    /// let array = Array::open("tests/data/sparse.b2nd")?;
    /// assert_eq!((array.shape(), array.dtype(), array.item_size()), (&[6, 8][..], Some(">u2"), 2));
    /// assert_eq!(array.slice(&[5..6, 7..8]).read()?.len(), array.item_size());
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::of_opened(Frame::open(path)?)
    }

    /// Looks whether there is another array at the path by now, and if so, opens it. So a program can follow an array that
    /// another process changes.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the array was not opened by its path, and the errors of
    /// [`open`](Self::open).
    ///
    /// ```
    /// use b2nd_frame::{Array, Frame};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.b2nd");
    /// # std::fs::copy("tests/data/int32_3x5.b2nd", &path)?;
    /// let array = Array::open(&path)?;
    /// assert!(array.refresh()?.is_none());
    ///
    /// // Another program changes the array.
    /// Frame::open(&path)?.edit().shape(&[4, 6]).apply()?;
    /// let array = array.refresh()?.expect("another array");
    /// assert_eq!(array.shape(), [4, 6]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn refresh(&self) -> Result<Option<Self>, Error> {
        let frame = &self.frame;
        let path =
            frame.path().ok_or_else(|| Error::invalid_input("the array was not opened by its path"))?;
        let before = self.before();
        let now = Frame::open(path)?;
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
    /// Opens the array of a frame. Nothing is read. An item that another program overwrites in its place shows only from the
    /// first slice on, unless the array is opened by [`open`](Self::open). For a [`SlicePlan`](crate::SlicePlan), a frame that was
    /// [parsed](Frame::parse) from bytes is enough.
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](crate::ErrorKind::Unsupported) if the frame has no array, or its data is computed or in other
    ///   files, or the items are Python objects, or the chunks of a super-chunk have different sizes. Also `Unsupported` if
    ///   the array may be described in the trailer: [`with_trailer`](Self::with_trailer) opens it.
    /// - [`Malformed`](crate::ErrorKind::Malformed) if the header of the frame breaks a rule of [`check`](crate::check()).
    /// - [`Changing`](crate::ErrorKind::Changing) if it does because another program is changing the frame.
    ///
    /// ```
    /// use b2nd_frame::{Array, Frame};
    ///
    /// // A frame inside another file.
    /// let bytes = [b"something before ", &std::fs::read("tests/data/int32_3x5.b2nd")?[..]].concat();
    /// let array = Array::new(Frame::read_at(bytes, 17)?)?;
    /// assert_eq!(array.whole().read_rows::<i32>()?, Vec::from_iter(0..15));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(frame: Frame<R>) -> Result<Self, Error> {
        Self::of_parts(frame, None)
    }

    /// Opens the array of a frame, as [`new`](Self::new) does. If the frame is a super-chunk, its trailer can describe the
    /// array. [`open`](Self::open) reads the trailer itself, if it needs it.
    ///
    /// # Errors
    ///
    /// The errors of [`new`](Self::new), and [`Malformed`](crate::ErrorKind::Malformed) if the shape and dtype in the
    /// trailer do not have as many bytes as the chunks.
    ///
    /// ```
    /// use b2nd_frame::{Array, Frame};
    ///
    /// let frame = Frame::read_at(std::fs::read("tests/data/packed.b2frame")?, 0)?;
    /// let trailer = frame.trailer()?;
    /// let array = Array::with_trailer(frame, &trailer)?;
    /// assert_eq!(array.shape(), [4, 25, 10]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_trailer(frame: Frame<R>, trailer: &Trailer) -> Result<Self, Error> {
        Self::of_parts(frame, Some(trailer))
    }

    fn of_parts(frame: Frame<R>, trailer: Option<&Trailer>) -> Result<Self, Error> {
        // The header can be half of an old one and half of a new one.
        let shared = SharedArray::new(&frame, trailer).map_err(|error| frame.header_or_changing(error))?;
        Ok(Self { frame, shared: Arc::new(shared), before: OnceLock::new() })
    }

    /// The frame of the array.
    ///
    /// ```
    /// use b2nd_frame::Array;
    ///
    /// let array = Array::open("tests/data/int32_3x5.b2nd")?;
    /// assert_eq!(array.frame().header().cbytes, 256);
    /// let first = array.frame().chunks()?.next().expect("a chunk")?;
    /// assert!(first.is_stored());
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn frame(&self) -> &Frame<R> {
        &self.frame
    }

    /// The entries of the array's metalayer; `None` if the array is a [super-chunk](Self#super-chunks).
    ///
    /// ```
    /// use b2nd_frame::Array;
    ///
    /// let array = Array::open("tests/data/int32_3x5.b2nd")?;
    /// let meta = array.meta().expect("a metalayer");
    /// assert_eq!((meta.chunkshape(), meta.blockshape()), (&[2, 3][..], &[1, 2][..]));
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn meta(&self) -> Option<&Meta> {
        match &self.shared.layout {
            ChunkLayout::Grid(meta) => Some(meta),
            ChunkLayout::Linear { .. } => None,
        }
    }

    /// The number of items along each dimension.
    #[must_use]
    pub fn shape(&self) -> &[i64] {
        self.shared.layout.shape()
    }

    /// The dtype as text; `None` if the layout has no dtype.
    #[must_use]
    pub fn dtype(&self) -> Option<&str> {
        self.shared.layout.dtype()
    }

    /// The dtype; `None` if the layout has no dtype.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if the text is not a dtype.
    ///
    /// ```
    /// use b2nd_frame::Array;
    ///
    /// let array = Array::open("tests/data/struct_non_ascii.b2nd")?;
    /// let dtype = array.parse_dtype()?.expect("a dtype");
    /// assert_eq!((dtype.item_size(), dtype.fields().len()), (16, 2));
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn parse_dtype(&self) -> Result<Option<Dtype>, Error> {
        self.shared.dtype.clone().map_err(Error::unsupported)
    }

    /// The size of an item in bytes.
    #[must_use]
    pub fn item_size(&self) -> usize {
        self.shared.typesize
    }

    /// The positions of items, blocks and chunks; `None` if the array is a [super-chunk](Self#super-chunks), whose items
    /// follow one another.
    ///
    /// ```
    /// use b2nd_frame::Array;
    ///
    /// let array = Array::open("tests/data/int32_3x5.b2nd")?;
    /// let geometry = array.geometry().expect("a grid of chunks");
    /// assert_eq!(geometry.nchunks(), 4);
    /// assert_eq!(geometry.position(&[2, 4]).expect("an item within the shape").chunk, 3);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn geometry(&self) -> Option<&Geometry> {
        self.meta().map(|_| &self.shared.geometry)
    }

    pub(super) fn shared(&self) -> &Arc<SharedArray> {
        &self.shared
    }
}

impl<R: ReadAt> Array<R> {
    /// Reads the attributes of the array: the vlmetalayers in the trailer of its frame.
    ///
    /// # Errors
    ///
    /// The errors of [`Frame::trailer`].
    ///
    /// ```
    /// use b2nd_frame::Array;
    ///
    /// let array = Array::open("tests/data/vlmetalayers.b2nd")?;
    /// let attributes = array.attributes()?;
    /// assert_eq!(attributes.vlmetalayer("unit").expect("a unit").decode::<String>()?, "kelvin");
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn attributes(&self) -> Result<Trailer, Error> {
        self.frame.trailer()
    }

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
        let trailer = if needs_trailer { Some(frame.trailer()?) } else { None };
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
