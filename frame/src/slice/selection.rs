//! A slice of an array, whose subscripts have been compared with the shape.

use core::ops::Range;

use std::sync::Arc;

use b2nd_serde::geometry::Chunk;

use crate::error::Error;
use crate::slice::opened::Opened;
use crate::slice::subscripts::{AxisForm, Indices, Subscript};

/// A slice of an open array. The constructor has made all checks that need no further read.
pub(super) struct Selection {
    pub(super) opened: Arc<Opened>,
    pub(super) ranges: Vec<Range<u64>>,
    /// For each range, the distance between two neighbouring selected indices, at least 1.
    pub(super) steps: Vec<u64>,
    pub(super) axes: Vec<AxisForm>,
    pub(super) nbytes: usize,
}

impl Selection {
    /// The slice with these subscripts. If `subscripts` is `None`, it is the whole array.
    pub(super) fn new(
        opened: &Arc<Opened>,
        subscripts: Option<&[Subscript]>,
        steps: Option<&[u64]>,
    ) -> Result<Self, Error> {
        let (geometry, typesize) = (&opened.geometry, opened.typesize);
        if let Some(list) = subscripts {
            // Check the number of dimensions with placeholder ranges, so that a wrong number is reported before other
            // errors.
            let dimensions = list.iter().filter(|subscript| !matches!(subscript, Subscript::NewAxis));
            let ranges: Vec<_> = dimensions.map(|_| 0..0).collect();
            geometry.chunks_in(&ranges).map_err(Error::geometry)?;
        }
        let Indices { ranges, steps, axes } = Indices::new(subscripts, steps, &geometry.shape())?;
        geometry.chunks_in_steps(&ranges, &steps).map_err(Error::geometry)?;
        let mut selection = Self { opened: Arc::clone(opened), ranges, steps, axes, nbytes: 0 };
        // An empty slice has 0 bytes, even if the product of its other lengths overflows.
        let nbytes = if selection.lengths().any(|length| length == 0) {
            Some(0)
        } else {
            selection.lengths().try_fold(typesize as u64, u64::checked_mul)
        };
        // Rust allocates at most `isize::MAX` bytes at once.
        let nbytes = nbytes.and_then(|nbytes| isize::try_from(nbytes).ok()?.try_into().ok());
        selection.nbytes =
            nbytes.ok_or_else(|| Error::too_large("the slice has more bytes than memory can hold"))?;
        Ok(selection)
    }

    /// The number of selected indices along each dimension.
    pub(super) fn lengths(&self) -> impl Iterator<Item = u64> {
        self.ranges.iter().zip(&self.steps).map(|(range, &step)| (range.end - range.start).div_ceil(step))
    }

    /// Refuses negative steps: only `read_array` and `read_as` support them.
    pub(super) fn check_forward(&self) -> Result<(), Error> {
        let axes = self.axes.iter().filter(|axis| **axis != AxisForm::New);
        match axes.enumerate().find(|(_, axis)| **axis == AxisForm::Reversed) {
            Some((dimension, _)) => Err(Error::invalid_input(format_args!(
                "the step of slice[{dimension}] is negative: only `read_array` and `read_as` can reverse a dimension"
            ))),
            None => Ok(()),
        }
    }

    /// A chunk with items of the slice, by its number among all such chunks.
    pub(super) fn chunk(&self, part: usize) -> Option<Chunk<'_>> {
        self.chunks_from(part).next()
    }

    /// The chunks with items of the slice, from number `part` on.
    pub(super) fn chunks_from(&self, part: usize) -> impl Iterator<Item = Chunk<'_>> {
        let mut chunks = self.opened.geometry.chunks_in_steps(&self.ranges, &self.steps).ok();
        // `nth` computes the position of the chunk in one step, but `skip` would take a step for each chunk before it.
        let first = chunks.as_mut().and_then(|chunks| chunks.nth(part));
        first.into_iter().chain(chunks.into_iter().flatten())
    }
}
