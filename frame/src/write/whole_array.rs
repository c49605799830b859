//! New arrays from arrays of the crate ndarray.

use core::ops::Range;
use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;

use b2nd_serde::Meta;
use bytemuck::{bytes_of, cast_slice};
use ndarray::{ArrayView, Dimension, Slice};

use crate::error::Error;
use crate::header::frame::Frame;
use crate::slice::item::{self, Item};
use crate::write::array_writer::ArrayWriter;
use crate::write::frame_builder::FrameBuilder;

/// Writes an array to a path that must not exist yet, as a contiguous frame, and opens it.
///
/// The item type determines the dtype (`f32` is `<f4`, `[u8; 16]` is `|V16`). The shape and the item size determine the
/// chunk shape and the block shape ([`Geometry::default_blockshape`](b2nd_serde::Geometry::default_blockshape) has a
/// table). Chunks are compressed by zstd at level 5, after a shuffle, in one thread. To choose other parameters, use
/// [`FrameBuilder::write_array`].
///
/// The chunk shape is chosen for the shape of `array`, and does not change when items are appended. For an array that
/// will grow, make a new file as in the example of [`ArrayUpdate::append_array`](crate::ArrayUpdate::append_array).
///
/// Besides the array, this function needs memory for two chunks, or for three if the array is not in C order.
///
/// # Errors
///
/// The errors of [`FrameBuilder::create`], [`ArrayWriter::write`] and [`NewFrame::persist`](crate::NewFrame::persist).
///
/// ```
/// use ndarray::Array;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("waves.b2nd");
/// let waves = Array::linspace(0.0, 100.0, 60_000).sin().into_shape_with_order((300, 200))?;
/// let frame = b2nd_frame::write_array(&path, waves.view())?;
/// let array = b2nd_frame::Array::new(frame)?;
/// assert_eq!(array.whole().read_array::<f64>()?, waves.into_dyn());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_array<T: Item, D: Dimension>(
    path: impl AsRef<Path>,
    array: ArrayView<'_, T, D>,
) -> Result<Frame<File>, Error> {
    let shape = array.shape().iter().map(|&items| i64::try_from(items).map_err(Error::too_large));
    let shape = shape.collect::<Result<Vec<_>, _>>()?;
    let meta = Meta::with_default_shapes(&shape, size_of::<T>(), &T::dtype());
    FrameBuilder::new(meta.map_err(Error::invalid_input)?).write_array(path, array)
}

impl FrameBuilder {
    /// Writes an array to a path that must not exist yet, as a contiguous frame, and opens it.
    ///
    /// # Errors
    ///
    /// The errors of [`create`](Self::create), [`ArrayWriter::write_array`] and
    /// [`NewFrame::persist`](crate::NewFrame::persist).
    ///
    /// ```
    /// use b2nd_frame::{Array, Codec, FrameBuilder};
    /// use b2nd_serde::{Meta, Shapes};
    /// use ndarray::array;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("table.b2nd");
    /// let meta = Meta::new(Shapes { shape: &[2, 3], chunkshape: &[1, 3], blockshape: &[1, 3] }, ">i4")?;
    /// let builder = FrameBuilder::new(meta).codec(Codec::LZ4).vlmetalayer("unit", "metre");
    /// let frame = builder.write_array(&path, array![[1, 2, 3], [4, 5, 6]].view())?;
    /// assert_eq!(Array::new(frame)?.slice(&[1..2, 0..1]).read()?, [0, 0, 0, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_array<T: Item, D: Dimension>(
        self,
        path: impl AsRef<Path>,
        array: ArrayView<'_, T, D>,
    ) -> Result<Frame<File>, Error> {
        let whole: Vec<Range<u64>> = array.shape().iter().map(|&items| 0..items as u64).collect();
        let shape = self.0.meta.shape();
        if !shape.iter().map(|&items| items.unsigned_abs()).eq(whole.iter().map(|range| range.end)) {
            let found = array.shape();
            let why = format!("the metalayer has shape {shape:?}, but the array has shape {found:?}");
            return Err(Error::invalid_input(why));
        }
        let mut writer = self.create(path)?.into_array_writer()?;
        writer.write_array(&whole, array)?;
        writer.finish()?.persist()
    }
}

impl<W: Write + Seek> ArrayWriter<W> {
    /// Writes a region from an array of the same shape. The items are converted to the byte order of the dtype.
    ///
    /// # Errors
    ///
    /// The errors of [`write`](Self::write). [`InvalidInput`](crate::ErrorKind::InvalidInput) if the shape of the array
    /// differs from the shape of the region, or if `T` does not fit the dtype (see [`Item`]).
    ///
    /// ```
    /// use std::io::Cursor;
    /// use b2nd_frame::{Array, Frame, FrameBuilder};
    /// use b2nd_serde::{Meta, Shapes};
    /// use ndarray::array;
    ///
    /// let meta = Meta::new(Shapes { shape: &[2, 4], chunkshape: &[2, 2], blockshape: &[2, 2] }, "<i2")?;
    /// let mut writer = FrameBuilder::new(meta).write_to(Cursor::new(Vec::new()))?.into_array_writer()?;
    /// writer.write_array(&[0..2, 0..2], array![[1_i16, 2], [5, 6]].view())?;
    /// writer.write_array(&[0..2, 2..4], array![[3_i16, 4], [7, 8]].view())?;
    /// let written = Array::new(Frame::read_at(writer.finish()?, 0)?)?;
    /// assert_eq!(written.slice(&[1..2, 0..4]).read_array::<i16>()?, array![[5_i16, 6, 7, 8]].into_dyn());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(clippy::needless_pass_by_value, reason = "a view is passed as in the crate ndarray")]
    pub fn write_array<T: Item, D: Dimension>(
        &mut self,
        region: &[Range<u64>],
        array: ArrayView<'_, T, D>,
    ) -> Result<(), Error> {
        let is_swapped = self.is_swapped::<T>()?;
        check_shape(region, array.shape())?;
        if let Some(items) = array.as_slice().filter(|_| !is_swapped) {
            return self.write(region, cast_slice(items));
        }
        self.write_from(region, |part, bytes| {
            let mut items = array.view();
            for (axis, (part, whole)) in part.iter().zip(region).enumerate() {
                // The array is in memory, so each of its indices is a `usize`.
                let index = |index: u64| usize::try_from(index - whole.start).unwrap_or(usize::MAX);
                let (start, end) = (index(part.start), index(part.end));
                items.slice_axis_inplace(ndarray::Axis(axis), Slice::from(start..end));
            }
            copy_items(&items, is_swapped, bytes);
            Ok(())
        })
    }
}

/// Copies the items of an array to `bytes`, in C order. If `is_swapped` is true, the byte order of the copied items is
/// reversed.
pub(crate) fn copy_items<T: Item, D: Dimension>(
    array: &ArrayView<'_, T, D>,
    is_swapped: bool,
    bytes: &mut [u8],
) {
    for (item, bytes) in array.iter().zip(bytes.chunks_exact_mut(size_of::<T>())) {
        bytes.copy_from_slice(bytes_of(item));
    }
    if is_swapped {
        item::swap::<T>(bytes);
    }
}

/// Refuses an array whose shape differs from the shape of the region.
pub(crate) fn check_shape(region: &[Range<u64>], found: &[usize]) -> Result<(), Error> {
    let lengths = region.iter().map(|range| range.end.saturating_sub(range.start));
    if lengths.eq(found.iter().map(|&items| items as u64)) {
        return Ok(());
    }
    Err(Error::invalid_input(format_args!("the region is {region:?}, but the array has shape {found:?}")))
}
