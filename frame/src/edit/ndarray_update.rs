//! Writes arrays of the crate ndarray into an existing array.

use core::ops::Range;

use ndarray::{ArrayView, Dimension};

use crate::chunk::expansion::zeroed;
use crate::edit::array_update::{ArrayUpdate, check_appended_shape};
use crate::error::Error;
use crate::slice::item::Item;
use crate::write::whole_array::{check_shape, copy_items};

impl ArrayUpdate {
    /// Writes a region from an array of the same shape. The items are converted to the byte order of the dtype.
    ///
    /// # Errors
    ///
    /// The errors of [`write`](Self::write). [`InvalidInput`](crate::ErrorKind::InvalidInput) if the shape of the array
    /// differs from the shape of the region, or if items of the dtype cannot be read as `T` (see [`Item`]).
    ///
    /// ```
    /// use b2nd_frame::{Array, ArrayUpdate, write_array};
    /// use ndarray::{Array2, array};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("labels.b2nd");
    /// write_array(&path, Array2::<u8>::zeros((3, 4)).view())?;
    /// let mut labels = ArrayUpdate::open(&path)?;
    /// labels.write_array(&[1..2, 1..3], array![[7_u8, 8]].view())?;
    /// labels.flush()?;
    /// assert_eq!(Array::open(&path)?.slice(&[1..2, 0..4]).read()?, [0, 7, 8, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(clippy::needless_pass_by_value, reason = "a view is passed as in the crate ndarray")]
    pub fn write_array<T: Item, D: Dimension>(
        &mut self,
        region: &[Range<u64>],
        array: ArrayView<'_, T, D>,
    ) -> Result<(), Error> {
        check_shape(region, array.shape())?;
        let items = self.bytes_of(&array)?;
        self.write(region, &items)
    }

    /// Appends the items of an array along a dimension. In all other dimensions, the array must be as long as the array
    /// in the file. An array without the dimension `axis`, such as a single row, makes the array in the file longer by
    /// 1.
    ///
    /// The chunk shape does not change. If [`write_array`](crate::write_array()) has made the file from a single row,
    /// each appended row becomes a separate chunk. So make the file with chunks for the final size of the array, as in
    /// the example.
    ///
    /// # Errors
    ///
    /// The errors of [`append`](Self::append). [`InvalidInput`](crate::ErrorKind::InvalidInput) if the shapes differ in
    /// a dimension other than `axis`, or if items of the dtype cannot be read as `T` (see [`Item`]).
    ///
    /// ```
    /// use b2nd_frame::b2nd_serde::Meta;
    /// use b2nd_frame::{Array, ArrayUpdate, FrameBuilder};
    /// use ndarray::{Array2, array};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("log.b2nd");
    /// // A new array whose rows will be appended. Its chunks have about 4 MiB, because it has no rows yet.
    /// let meta = Meta::with_default_shapes(&[0, 2], 8, "<f8")?;
    /// FrameBuilder::new(meta).write_array(&path, Array2::<f64>::zeros((0, 2)).view())?;
    ///
    /// let mut log = ArrayUpdate::open(&path)?;
    /// log.append_array(0, array![[1.0, 2.0]].view())?;
    /// log.append_array(0, array![3.0, 4.0].view())?;
    /// log.append_array(0, array![[5.0, 6.0], [7.0, 8.0]].view())?;
    /// log.flush()?;
    /// let log = Array::open(&path)?;
    /// assert_eq!(log.whole().read_array::<f64>()?, array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]].into_dyn());
    /// assert_eq!(log.chunkshape(), Some(&[262_144, 2][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(clippy::needless_pass_by_value, reason = "a view is passed as in the crate ndarray")]
    pub fn append_array<T: Item, D: Dimension>(
        &mut self,
        axis: usize,
        array: ArrayView<'_, T, D>,
    ) -> Result<(), Error> {
        let shape: Vec<u64> = array.shape().iter().map(|&items| items as u64).collect();
        check_appended_shape(self.meta(), axis, &shape)?;
        let items = self.bytes_of(&array)?;
        self.append(axis, &items)
    }

    fn bytes_of<T: Item, D: Dimension>(&self, array: &ArrayView<'_, T, D>) -> Result<Vec<u8>, Error> {
        let is_swapped = self.is_swapped::<T>()?;
        let mut bytes = zeroed(array.len().saturating_mul(size_of::<T>()))?;
        copy_items(array, is_swapped, &mut bytes);
        Ok(bytes)
    }
}
