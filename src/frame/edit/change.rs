//! Changing the metalayers of a frame where they stand.

use core::ops::Range;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::vec::Vec;

use crate::dtype::{Dtype, ParseError};
use crate::frame::check::agreement;
use crate::frame::find::lock::ExclusiveLock;
use crate::frame::find::open::{available, read_up_to};
use crate::frame::finding::Severity;
use crate::frame::format::array::Array;
use crate::frame::format::section::CONTENT_HEADER;
use crate::frame::{Error, Frame, Header, Metalayer};
use crate::{Layout, Meta};

/// Where the first dimension of the shape stands in a metalayer, its marker not counted: behind the markers of layout
/// and shape, the version and ndim.
const SHAPE_AT: usize = 5;

/// Bytes from one dimension of the shape to the next.
const SHAPE_STEP: usize = 9;

/// Changes in place, for a frame that was opened by its path: only what keeps its length can be changed so.
/// [`rewrite`](crate::frame::rewrite()) makes a frame with another length.
///
/// The file is changed by one write of the changed bytes, and synced. No data is touched. A change is refused, and the
/// file stays as it is, if its header is no longer the one that was read, and if the frame is not the whole file.
/// Whoever reads in this very moment may see half of it, as with any writer: [`open_stable`](Frame::open_stable) does not.
///
/// Where the frame has a `.b2lock`, as C-Blosc2 makes when it is told to lock, its exclusive lock is held meanwhile, and
/// its counter tells the others to read the header again. It is not waited for. **Without a `.b2lock`, a handle that
/// is open elsewhere does not know of the change, and can write its old header back over it.**
impl Frame<File> {
    /// Gives the array another shape, for which it needs no other chunks: it grows or shrinks within its last ones.
    ///
    /// An array that grows shows what its padding holds. Those are zeros where nothing has ever been written, and old
    /// items where the array once was larger.
    ///
    /// # Errors
    ///
    /// If chunks would have to be added or removed. A shape that C-Blosc2 would not open is refused, and so is one for an
    /// array that does not agree with its header.
    ///
    /// ```
    /// use b2nd_serde::frame::Frame;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("array.b2nd");
    /// # std::fs::copy("tests/data/int32_3x5.b2nd", &path)?;
    /// // Chunks of 2 x 3 items: the last ones have room for a fourth row and a sixth column.
    /// let mut frame = Frame::open(&path)?;
    /// frame.set_shape(&[4, 6])?;
    /// assert_eq!(frame.array()?.expect("an array").shape(), [4, 6]);
    /// assert_eq!(Frame::open(&path)?.array()?.expect("an array").shape(), [4, 6]);
    ///
    /// let error = frame.set_shape(&[4, 7]).unwrap_err();
    /// assert_eq!(error.to_string(), "shape [4, 7] needs a grid of [2, 3] chunks, but the array has [2, 2]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_shape(&mut self, shape: &[i64]) -> Result<(), Error> {
        let after = self.with_shape(shape)?;
        self.become_same(after)
    }

    /// Gives the items of the array another dtype, of the same size. The text is written as it is given, and has as many
    /// bytes as the one that is there.
    ///
    /// # Errors
    ///
    /// If the length is another, or if the dtype is none that NumPy or `ml_dtypes` has, or is not of the frame's
    /// [type size](crate::frame::Header::typesize).
    ///
    /// ```
    /// use b2nd_serde::frame::Frame;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("array.b2nd");
    /// # std::fs::copy("tests/data/int32_3x5.b2nd", &path)?;
    /// let mut frame = Frame::open(&path)?;
    /// frame.set_dtype("<f4")?;
    /// assert_eq!(frame.array()?.expect("an array").dtype(), Some("<f4"));
    ///
    /// let error = frame.set_dtype("<f8").unwrap_err();
    /// assert_eq!(error.to_string(), "the items of the frame have 4 bytes, but those of dtype `<f8` have 8");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_dtype(&mut self, dtype: &str) -> Result<(), Error> {
        let after = self.with_dtype(dtype)?;
        self.become_same(after)
    }

    /// Gives a metalayer another value of the same length, or the array's metalayer another one that means the same
    /// chunks.
    ///
    /// # Errors
    ///
    /// If there is no metalayer of this name, or its length is another. For the array's metalayer, as
    /// [`set_shape`](Self::set_shape) and [`set_dtype`](Self::set_dtype).
    ///
    /// ```
    /// use b2nd_serde::frame::Frame;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("array.b2nd");
    /// # std::fs::copy("tests/data/vlmetalayers.b2nd", &path)?;
    /// #[derive(serde_derive::Serialize, serde_derive::Deserialize)]
    /// struct Vendor {
    ///     serial: u8,
    ///     tags: Vec<String>,
    /// }
    ///
    /// let mut frame = Frame::open(&path)?;
    /// let mut vendor: Vendor = frame.metalayer("vendor").expect("a metalayer").decode()?;
    /// vendor.serial += 1;
    /// frame.set_metalayer("vendor", &rmp_serde::to_vec_named(&vendor)?)?;
    /// # let frame = Frame::open(&path)?;
    /// # let vendor: Vendor = frame.metalayer("vendor").expect("a metalayer").decode()?;
    /// # assert_eq!(vendor.serial, 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_metalayer(&mut self, name: &str, value: &[u8]) -> Result<(), Error> {
        let layer = self
            .metalayer(name)
            .ok_or_else(|| Error::refused(format_args!("the frame has no metalayer `{name}`")))?;
        let after = self.replaced(layer, value)?;
        self.become_same(after)
    }

    fn become_same(&mut self, after: Frame) -> Result<(), Error> {
        let path = self.path.as_deref().ok_or_else(not_opened)?;
        self.write(path, &after.bytes)?;
        (self.bytes, self.section) = (after.bytes, after.section);
        Ok(())
    }

    /// Writes a header of the same length over the one that was read.
    fn write(&self, path: &Path, header: &[u8]) -> Result<(), Error> {
        let mut lock = ExclusiveLock::take(path, self.header().is_sparse())?;
        let mut file = OpenOptions::new().read(true).write(true).open(path)?;
        self.check_whole(&mut file)?;
        let Some(changed) = difference(&self.bytes, header) else { return Ok(()) };
        if let Some(lock) = &mut lock {
            lock.raise_counter()?;
        }
        file.seek(SeekFrom::Start(changed.start as u64))?;
        file.write_all(header.get(changed).unwrap_or_default())?;
        file.sync_all()?;
        Ok(())
    }

    /// Refuses a file of which the frame is only a part, or whose header is not the one that was read.
    pub(crate) fn check_whole(&self, file: &mut File) -> Result<(), Error> {
        let mut now = Vec::new();
        let file_len = available(file, 0)?;
        read_up_to(file, self.bytes.len() as u64, &mut now)?;
        if now != *self.bytes {
            return Err(Error::changing(None));
        }
        let frame_len = self.header.frame_len;
        if frame_len != file_len {
            return Err(Error::refused(format_args!(
                "the frame has {frame_len} bytes, but its file has {file_len}; only a whole file can be changed"
            )));
        }
        Ok(())
    }
}

/// What a change would make of a frame. No file is touched.
impl<R> Frame<R> {
    /// The frame with another shape of its array.
    ///
    /// # Errors
    ///
    /// As [`set_shape`](Frame::set_shape), but for those of the file.
    ///
    /// ```
    /// use b2nd_serde::frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let after = frame.with_shape(&[4, 6])?.with_dtype("<f4")?;
    /// let array = after.array()?.expect("an array");
    /// assert_eq!((array.shape(), array.dtype()), (&[4, 6][..], Some("<f4")));
    /// # Ok::<(), b2nd_serde::frame::Error>(())
    /// ```
    pub fn with_shape(&self, shape: &[i64]) -> Result<Frame, Error> {
        let array = self.array()?.ok_or_else(no_array)?;
        meta(&array)?;
        check_shape(&array, shape)?;
        let mut value = array.metalayer().bytes().to_vec();
        for (at, items) in (SHAPE_AT..).step_by(SHAPE_STEP).zip(shape) {
            put(&mut value, at, &items.to_be_bytes());
        }
        self.replaced(array.metalayer(), &value)
    }

    /// The frame with another dtype of its array.
    ///
    /// # Errors
    ///
    /// As [`set_dtype`](Frame::set_dtype), but for those of the file.
    pub fn with_dtype(&self, dtype: &str) -> Result<Frame, Error> {
        let array = self.array()?.ok_or_else(no_array)?;
        let before = array.dtype().ok_or_else(|| {
            let layout = array.layout();
            Error::refused(format_args!("layout {layout} stores no dtype; a rewrite can add one"))
        })?;
        if let Some(format) = array.meta().and_then(Meta::dtype_format).filter(|&format| format != 0) {
            return Err(wrong_dtype(ParseError::unknown_format(before, format)));
        }
        check_dtype(&dtype.parse().map_err(wrong_dtype)?, &self.header)?;
        if dtype.len() != before.len() {
            let (expected, found) = (before.len(), dtype.len());
            return Err(Error::refused(format_args!(
                "the new dtype must be as long as the old one ({expected} bytes), but `{dtype}` has {found}; a rewrite \
                 can change its length"
            )));
        }
        let mut value = array.metalayer().bytes().to_vec();
        // It is the last entry.
        let end = value.len().saturating_sub(array.stale_tail().len());
        put(&mut value, end.saturating_sub(before.len()), dtype.as_bytes());
        self.replaced(array.metalayer(), &value)
    }

    /// The frame with another value of a metalayer of its own.
    fn replaced(&self, layer: &Metalayer, value: &[u8]) -> Result<Frame, Error> {
        let (expected, found) = (layer.bytes().len(), value.len());
        if expected != found {
            let name = layer.name();
            return Err(Error::refused(format_args!(
                "the new value of metalayer `{name}` must be as long as the old one ({expected} bytes), but has {found}"
            )));
        }
        if self.shares_bytes(layer) {
            let name = layer.name();
            return Err(Error::refused(format_args!(
                "metalayer `{name}` shares bytes with another part of the header"
            )));
        }
        let mut bytes = self.bytes.to_vec();
        put(&mut bytes, layer.offset(), value);
        let after = Frame::parse(&bytes)?;
        if self.array_metalayer() == Some(layer) {
            let before = self.array()?.ok_or_else(no_array)?;
            check_array(&before, &after.array()?.ok_or_else(no_array)?, &self.header)?;
        }
        Ok(after)
    }

    /// Whether bytes of a metalayer are something else of the header too, which no writer has ever written.
    fn shares_bytes(&self, layer: &Metalayer) -> bool {
        let end = |layer: &Metalayer| layer.offset() + layer.bytes().len();
        let is_beside = |other: &Metalayer| {
            end(other) <= layer.offset() || end(layer) <= other.offset().saturating_sub(CONTENT_HEADER)
        };
        let others = self.metalayers().iter().filter(|&other| other != layer);
        layer.offset() < self.section.list + CONTENT_HEADER || !others.into_iter().all(is_beside)
    }
}

fn check_array(before: &Array<'_>, after: &Array<'_>, header: &Header) -> Result<(), Error> {
    let (old, new) = (meta(before)?, meta(after)?);
    // A wrong outer marker may be put right: no entry is lost.
    let is_put_right = (old.layout(), new.layout()) == (Layout::B2ndMismarked, Layout::B2nd);
    if old.layout() != new.layout() && !is_put_right {
        let (old, new) = (old.layout(), new.layout());
        return Err(Error::refused(format_args!(
            "the new value has layout {new}, but the array has layout {old}"
        )));
    }
    let shapes = |meta: &Meta| [meta.chunkshape().to_vec(), meta.blockshape().to_vec()];
    let (expected, found) = (shapes(old), shapes(new));
    if expected != found {
        let ([chunks, blocks], [new_chunks, new_blocks]) = (expected, found);
        return Err(Error::refused(format_args!(
            "the new value has chunkshape {new_chunks:?} and blockshape {new_blocks:?}, but the data has {chunks:?} \
             and {blocks:?}"
        )));
    }
    if (old.version(), old.shape()) != (new.version(), new.shape()) {
        check_shape(before, new.shape())?;
        let findings = agreement(after, header);
        if let Some(finding) = findings.into_iter().find(|finding| finding.severity() == Severity::Error) {
            return Err(Error::malformed(finding));
        }
    }
    if (old.dtype_format(), old.dtype()) != (new.dtype_format(), new.dtype()) {
        if let Some(dtype) = new.parse_dtype().map_err(wrong_dtype)? {
            check_dtype(&dtype, header)?;
        }
    }
    Ok(())
}

/// The metalayer in this format, which alone is written.
fn meta<'a>(array: &'a Array<'_>) -> Result<&'a Meta, Error> {
    array.meta().ok_or_else(|| {
        let layout = array.layout();
        Error::refused(format_args!(
            "layout {layout} can be read, but not changed; a rewrite makes it `b2nd`"
        ))
    })
}

fn check_shape(array: &Array<'_>, shape: &[i64]) -> Result<(), Error> {
    let geometry = array.geometry().map_err(Error::refused)?;
    let resize = geometry.resize(shape).map_err(Error::refused)?;
    if resize.changes_chunks() {
        let (grid, new_grid) = (geometry.grid_of_chunks(), resize.after().grid_of_chunks());
        let why =
            format_args!("shape {shape:?} needs a grid of {new_grid:?} chunks, but the array has {grid:?}");
        return Err(Error::refused(why));
    }
    Ok(())
}

pub(crate) fn no_array() -> Error {
    Error::refused("the frame has no array")
}

fn not_opened() -> Error {
    Error::refused("only a frame opened with `Frame::open` can be changed")
}

/// That the text of a dtype is not valid, or in a format that is not known.
pub(crate) fn wrong_dtype(error: ParseError) -> Error {
    Error::refused(format_args!("dtype: {error}"))
}

/// Refuses a dtype whose items are of another size than those of the frame.
pub(crate) fn check_dtype(dtype: &Dtype, header: &Header) -> Result<(), Error> {
    let (expected, found) = (header.typesize, dtype.item_size());
    if usize::try_from(expected) == Ok(found) {
        Ok(())
    } else {
        Err(Error::refused(format_args!(
            "the items of the frame have {expected} bytes, but those of dtype `{dtype}` have {found}"
        )))
    }
}

/// Writes bytes over others.
pub(crate) fn put(target: &mut [u8], at: usize, bytes: &[u8]) {
    for (target, &byte) in target.iter_mut().skip(at).zip(bytes) {
        *target = byte;
    }
}

/// From the first byte to the last one that differs.
fn difference(before: &[u8], after: &[u8]) -> Option<Range<usize>> {
    let differs = |(before, after)| before != after;
    let first = before.iter().zip(after).position(differs)?;
    let same_at_end = before.iter().rev().zip(after.iter().rev()).position(differs)?;
    Some(first..after.len().saturating_sub(same_at_end))
}
