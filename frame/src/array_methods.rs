//! The public methods of [`Array`]. Methods that read the file call the code in the folders `read/` and `slice/`.

use std::path::Path;

use b2nd_serde::{Dtype, Geometry, Meta};

use crate::error::Error;
use crate::header::frame::Frame;
use crate::read::open::open_frame;
use crate::read::trailer::trailer_or_changing;
use crate::slice::array::Array;
use crate::slice::slice_reader::Slice;
use crate::slice::subscripts::Subscripts;
use crate::source::ReadAt;
use crate::trailer::frame_trailer::Trailer;

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
        Self::of_opened(open_frame(path.as_ref())?)
    }

    /// Opens the array again if it has changed; `None` if it has not. An array counts as changed if its file was
    /// written, if another file is at its path, or if a slice has failed with [`Changing`](crate::ErrorKind::Changing).
    /// Each call opens the file and reads the header.
    ///
    /// Call `refresh` after a `Changing` error. A program that watches an array for new items calls `refresh` before
    /// each read. The cookbook has an example.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if the array was not opened by its path, and the errors of
    /// [`open`](Self::open), such as [`Io`](crate::ErrorKind::Io) if the file was deleted.
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
        self.reopened()
    }
}

impl<R> Array<R> {
    /// Opens the array of a frame. This call reads the file only after an error, to find out whether another program is
    /// changing the frame. A [`SlicePlan`](crate::SlicePlan) needs only a frame that was [parsed](Frame::parse) from
    /// bytes. If such a frame gets a reader ([`map_reader`](Frame::map_reader)), a change of the file before the first
    /// slice can go unnoticed.
    ///
    /// # Errors
    ///
    /// - [`Unsupported`](crate::ErrorKind::Unsupported) if the frame has no array, if its data is computed or in other
    ///   files, if the items are Python objects, or if the chunks of a super-chunk have different sizes. Also
    ///   `Unsupported` if the frame is a super-chunk with vlmetalayers, because its trailer may describe the array.
    ///   [`with_trailer`](Self::with_trailer) opens such a frame.
    /// - [`Malformed`](crate::ErrorKind::Malformed) if the header of the frame breaks a rule of [`check`](crate::check()).
    /// - [`Changing`](crate::ErrorKind::Changing) if the header is invalid because another program is changing the frame.
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

    /// Opens the array of a frame, as [`new`](Self::new) does. If the frame is a super-chunk, its trailer can describe
    /// the array. [`open`](Self::open) reads the trailer by itself if the array needs it.
    ///
    /// # Errors
    ///
    /// The errors of [`new`](Self::new), and [`Malformed`](crate::ErrorKind::Malformed) if the trailer describes an
    /// array, but this description cannot be read, or contradicts the size of the chunks.
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
    /// use b2nd_frame::b2nd_serde::Layout;
    ///
    /// let array = Array::open("tests/data/int32_3x5.b2nd")?;
    /// let meta = array.meta().expect("a metalayer");
    /// assert_eq!((meta.layout(), meta.version()), (Layout::B2nd, 0));
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn meta(&self) -> Option<&Meta> {
        self.shared.meta()
    }

    /// The number of items along each dimension.
    ///
    /// ```
    /// use b2nd_frame::Array;
    ///
    /// let array = Array::open("tests/data/int32_3x5.b2nd")?;
    /// assert_eq!(array.shape(), [3, 5]);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn shape(&self) -> &[i64] {
        self.shared.shape()
    }

    /// The number of items of a chunk along each dimension; `None` if the array is a
    /// [super-chunk](Self#super-chunks).
    ///
    /// ```
    /// use b2nd_frame::Array;
    ///
    /// let array = Array::open("tests/data/int32_3x5.b2nd")?;
    /// assert_eq!(array.chunkshape(), Some(&[2, 3][..]));
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn chunkshape(&self) -> Option<&[i32]> {
        self.meta().map(Meta::chunkshape)
    }

    /// The number of items of a block along each dimension; `None` if the array is a [super-chunk](Self#super-chunks).
    /// If the array has no blocks ([`ArrayHeader::has_blocks`](crate::ArrayHeader::has_blocks)), this is the chunk
    /// shape.
    ///
    /// ```
    /// use b2nd_frame::Array;
    ///
    /// let array = Array::open("tests/data/int32_3x5.b2nd")?;
    /// assert_eq!(array.blockshape(), Some(&[1, 2][..]));
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn blockshape(&self) -> Option<&[i32]> {
        self.shared.blockshape()
    }

    /// The dtype as text; `None` if the layout has no dtype.
    ///
    /// ```
    /// use b2nd_frame::Array;
    ///
    /// assert_eq!(Array::open("tests/data/int32_3x5.b2nd")?.dtype(), Some("<i4"));
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn dtype(&self) -> Option<&str> {
        self.shared.dtype_text()
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
    ///
    /// ```
    /// use b2nd_frame::Array;
    ///
    /// let array = Array::open("tests/data/int32_3x5.b2nd")?;
    /// assert_eq!(array.item_size(), 4);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn item_size(&self) -> usize {
        self.shared.typesize
    }

    /// The positions of items, blocks and chunks; `None` if the array is a [super-chunk](Self#super-chunks), because
    /// its items are not in a grid of chunks.
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

    /// Selects a slice of the array. The [`Subscripts`] are a range for each dimension, or the result of the macro `s!`
    /// of ndarray. For an array without dimensions, pass `&[]`.
    ///
    /// ```
    /// use b2nd_frame::Array;
    ///
    /// let array = Array::open("tests/data/int32_3x5.b2nd")?;
    /// let row = array.slice(&[1..2, 0..5]).read()?;
    /// assert_eq!(row.len(), 5 * 4);
    /// assert_eq!(row[..4], 5_i32.to_le_bytes());
    ///
    /// let error = array.slice(&[0..3, 4..6]).read().unwrap_err();
    /// assert_eq!(error.to_string(), "slice[1] stops at 6, but shape[1] is 5");
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn slice(&self, subscripts: impl Subscripts) -> Slice<'_, R> {
        Slice::new(self, Some(subscripts.list()))
    }

    /// Selects the whole array.
    ///
    /// ```
    /// use b2nd_frame::Array;
    ///
    /// let array = Array::open("tests/data/int32_3x5.b2nd")?;
    /// assert_eq!(array.whole().read()?.len(), 3 * 5 * 4);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn whole(&self) -> Slice<'_, R> {
        Slice::new(self, None)
    }
}

impl<R: ReadAt> Array<R> {
    /// Reads the attributes of the array: the vlmetalayers in the trailer of its frame.
    ///
    /// # Errors
    ///
    /// The errors of [`Frame::trailer`], and [`Changing`](crate::ErrorKind::Changing) if the file was changed or replaced
    /// after the array was opened, as for a slice.
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
        // Record the version before the trailer is read. Otherwise, `check_version` could not notice a change during
        // this read.
        self.version();
        let trailer = trailer_or_changing(&self.frame);
        self.check_version()?;
        trailer
    }
}
