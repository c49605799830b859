//! The subscripts of a slice, which select the items along each dimension.

use core::ops::Range;

#[cfg(feature = "ndarray")]
use ndarray::{Dimension, SliceInfo, SliceInfoElem};

use crate::error::Error;

/// The argument of [`Array::slice`](crate::Array::slice): `&[Range<u64>]`, an array or a `Vec` of ranges, or, with the
/// feature `ndarray`, the subscripts of [`ndarray::s!`].
///
/// ```
/// use b2nd_frame::Array;
///
/// let array = Array::open("tests/data/int32_3x5.b2nd")?;
/// let ranges = vec![1..2, 0..5];
/// assert_eq!(array.slice(&[1..2, 0..5]).read()?, array.slice(&ranges).read()?);
/// # #[cfg(feature = "ndarray")]
/// assert_eq!(array.slice(&ranges).read()?, array.slice(ndarray::s![1, ..]).read()?);
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
// No other crate can implement this trait: `list` returns values of `Subscript`, and other crates cannot name this
// type, because it has no public path.
pub trait Subscripts {
    /// Returns a subscript for each dimension of the array, and for each new axis.
    #[doc(hidden)]
    fn list(self) -> Vec<Subscript>;
}

/// The selected items along a dimension. All variants except `Range` work as in [`ndarray::s!`]: a negative number
/// counts from the end.
#[derive(Clone, Debug)]
pub enum Subscript {
    Range(Range<u64>),
    Slice { start: i64, end: Option<i64>, step: i64 },
    Index(i64),
    NewAxis,
}

impl Subscripts for &[Range<u64>] {
    fn list(self) -> Vec<Subscript> {
        self.iter().cloned().map(Subscript::Range).collect()
    }
}

impl<const N: usize> Subscripts for &[Range<u64>; N] {
    fn list(self) -> Vec<Subscript> {
        self.as_slice().list()
    }
}

impl Subscripts for &Vec<Range<u64>> {
    fn list(self) -> Vec<Subscript> {
        self.as_slice().list()
    }
}

#[cfg(feature = "ndarray")]
impl<T: AsRef<[SliceInfoElem]>, In: Dimension, Out: Dimension> Subscripts for SliceInfo<T, In, Out> {
    fn list(self) -> Vec<Subscript> {
        let elements: &[SliceInfoElem] = self.as_ref();
        // The casts lose nothing, because ndarray counts in `isize`, which has at most 64 bits.
        let subscript = |element: &SliceInfoElem| match *element {
            SliceInfoElem::Slice { start, end, step } => {
                Subscript::Slice { start: start as i64, end: end.map(|end| end as i64), step: step as i64 }
            }
            SliceInfoElem::Index(index) => Subscript::Index(index as i64),
            SliceInfoElem::NewAxis => Subscript::NewAxis,
        };
        elements.iter().map(subscript).collect()
    }
}

/// What a dimension of the array becomes in the result, or a new axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AxisForm {
    Kept,
    Reversed,
    /// Removed by a single index.
    Removed,
    /// A new dimension of length 1.
    New,
}

/// The indices that a slice selects. There is a range and a step for each dimension of the array, and an `AxisForm` for
/// each dimension and each new axis.
#[derive(Debug, Default)]
pub(super) struct Indices {
    pub(super) ranges: Vec<Range<u64>>,
    pub(super) steps: Vec<u64>,
    pub(super) axes: Vec<AxisForm>,
}

impl Indices {
    fn push(&mut self, range: Range<u64>, step: u64, axis: AxisForm) {
        self.ranges.push(range);
        self.steps.push(step);
        self.axes.push(axis);
    }

    /// The indices that the subscripts select; `None` selects the whole array. The caller must have checked that there
    /// is one subscript for each dimension of the shape, not counting new axes. `steps` has the steps that were set
    /// with [`Slice::steps`](crate::Slice::steps).
    pub(super) fn new(
        list: Option<&[Subscript]>,
        steps: Option<&[u64]>,
        shape: &[u64],
    ) -> Result<Self, Error> {
        let mut indices = Self::default();
        match list {
            Some(list) => list.iter().try_for_each(|subscript| indices.add(subscript, shape))?,
            None => {
                for &items in shape {
                    indices.push(0..items, 1, AxisForm::Kept);
                }
            }
        }
        let Some(steps) = steps else { return Ok(indices) };
        if indices.steps.iter().any(|&step| step != 1) || indices.axes.contains(&AxisForm::Reversed) {
            return Err(Error::invalid_input(
                "the subscripts already have steps, so other steps cannot be given",
            ));
        }
        if steps.len() != indices.steps.len() {
            let (found, ndim) = (steps.len(), indices.steps.len());
            return Err(Error::invalid_input(format_args!(
                "ndim is {ndim}, but the slice has {found} steps"
            )));
        }
        indices.steps = steps.to_vec();
        Ok(indices)
    }

    fn add(&mut self, subscript: &Subscript, shape: &[u64]) -> Result<(), Error> {
        let dimension = self.ranges.len();
        let items = shape.get(dimension).copied().unwrap_or_default();
        let place = |number: i64, most: u64, verb: &str| {
            let place = if number < 0 {
                items.checked_sub(number.unsigned_abs())
            } else {
                u64::try_from(number).ok()
            };
            place.filter(|&place| place <= most).ok_or_else(|| {
                let why = format!("slice[{dimension}] {verb} {number}, but shape[{dimension}] is {items}");
                Error::invalid_input(why)
            })
        };
        match *subscript {
            // The range is not checked here, because the geometry compares it with the shape later.
            Subscript::Range(ref range) => self.push(range.clone(), 1, AxisForm::Kept),
            Subscript::Index(index) => {
                let index = place(index, items.saturating_sub(1), "has the index")?;
                self.push(index..index + 1, 1, AxisForm::Removed);
            }
            Subscript::NewAxis => self.axes.push(AxisForm::New),
            Subscript::Slice { start, end, step } => {
                let start = place(start, items, "starts at")?;
                let end = end.map_or(Ok(items), |end| place(end, items, "stops at"))?;
                let (end, width) = (end.max(start), step.unsigned_abs());
                if step < 0 {
                    // With a negative step, the last index of the range is always selected. A forward selection that
                    // begins at `first` has the same indices.
                    let first = start + (end - start).saturating_sub(1) % width;
                    self.push(first..end, width, AxisForm::Reversed);
                } else {
                    self.push(start..end, width, AxisForm::Kept);
                }
            }
        }
        Ok(())
    }
}
