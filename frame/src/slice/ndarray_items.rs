//! Slices as arrays of the crate ndarray.

use ndarray::{ArrayD, Axis};

use crate::error::Error;
use crate::slice::item::{Item, type_of};
use crate::slice::slice_reader::Slice;
use crate::slice::subscripts::AxisForm;
use crate::source::ReadAt;

impl<R: ReadAt> Slice<'_, R> {
    /// Reads the items into an array of the crate ndarray, in C order, with the byte order of the machine.
    ///
    /// With the subscripts of [`ndarray::s!`], the result equals a slice that ndarray makes from the whole array with
    /// the same subscripts.
    ///
    /// # Errors
    ///
    /// The errors of [`read`](Self::read). [`InvalidInput`](crate::ErrorKind::InvalidInput) if the dtype does not fit
    /// `T` (see [`Item`]), if the item size of the dtype is not the type size of the frame, or if a bool is neither 0
    /// nor 1.
    ///
    /// ```
    /// use b2nd_frame::Array;
    /// use ndarray::{array, s};
    ///
    /// let array = Array::open("tests/data/int32_3x5.b2nd")?;
    /// let items = array.slice(&[1..3, 2..5]).read_array::<i32>()?;
    /// assert_eq!(items, array![[7, 8, 9], [12, 13, 14]].into_dyn());
    /// let items = array.slice(s![-1, ..;2]).read_array::<i32>()?;
    /// assert_eq!(items, array![10, 12, 14].into_dyn());
    ///
    /// let error = array.slice(&[1..3, 2..5]).read_array::<f32>().unwrap_err();
    /// assert_eq!(error.to_string(), "items of dtype <i4 cannot be read as f32; use i32");
    /// let error = array.whole().read_array::<f64>().unwrap_err();
    /// assert_eq!(error.to_string(), "items of dtype <i4 cannot be read as f64; use i32, or `read_as`");
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn read_array<T: Item>(self) -> Result<ArrayD<T>, Error> {
        let selection = self.selection()?;
        let is_swapped = self.is_swapped::<T>("read as")?;
        let shape: Result<Vec<usize>, _> = selection.lengths().map(usize::try_from).collect();
        let shape = shape.map_err(Error::too_large)?;
        let items = self.read_items(&selection, is_swapped)?;
        let mut array = ArrayD::from_shape_vec(shape, items).map_err(Error::too_large)?;
        let mut axis = 0;
        for form in &selection.axes {
            match form {
                AxisForm::Kept => {}
                AxisForm::Reversed => array.invert_axis(Axis(axis)),
                AxisForm::New => array = array.insert_axis(Axis(axis)),
                AxisForm::Removed => {
                    array = array.index_axis_move(Axis(axis), 0);
                    continue;
                }
            }
            axis += 1;
        }
        Ok(array)
    }

    /// Reads the items into an array of a wider type, which can represent each value of the stored type.
    ///
    /// For example, `u8` can be read as `i32`, `f16` as `f32`, `bool` as `u8`, and `f64` as `Complex<f64>`. Each type
    /// can also be read as itself.
    ///
    /// During the conversion, the array of stored items and the array of `T` are both in memory.
    ///
    /// # Errors
    ///
    /// The errors of [`read_array`](Self::read_array), except that `T` may be wider than the stored type.
    ///
    /// ```
    /// use b2nd_frame::Array;
    /// use ndarray::array;
    ///
    /// let array = Array::open("tests/data/int32_3x5.b2nd")?;
    /// let items = array.slice(&[1..3, 2..5]).read_as::<f64>()?;
    /// assert_eq!(items, array![[7.0, 8.0, 9.0], [12.0, 13.0, 14.0]].into_dyn());
    ///
    /// let error = array.slice(&[1..3, 2..5]).read_as::<i16>().unwrap_err();
    /// assert_eq!(error.to_string(), "items of dtype <i4 cannot be read as i16; use i32");
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn read_as<T: Item>(self) -> Result<ArrayD<T>, Error> {
        // Ignore an invalid dtype here: the call of `read_array` below reports it.
        let dtype = self.array.shared.dtype.as_ref().ok().and_then(Option::as_ref);
        match dtype.and_then(type_of) {
            Some(source) if T::NARROWER.contains(&source) => {
                // `read_narrower` never returns `None` here, because it accepts all names in `NARROWER`.
                T::read_narrower(self, source).unwrap_or_else(|| Err(Error::unsupported(source)))
            }
            _ => self.read_array(),
        }
    }
}
