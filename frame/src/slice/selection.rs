//! The selected items of a slice. The subscripts are already checked against the shape of the array.

use core::ops::Range;
use std::sync::Arc;

use crate::error::Error;
use crate::slice::linear::LinearRuns;
use crate::slice::selected_chunk::SelectedChunk;
use crate::slice::shared_array::{ChunkLayout, SharedArray};
use crate::slice::subscripts::{AxisForm, Indices, Subscript};

/// A slice of an open array. `new` has made all checks that need no bytes of the index or the chunks.
pub(super) struct Selection {
    pub(super) array: Arc<SharedArray>,
    pub(super) ranges: Vec<Range<u64>>,
    /// For each range, the distance between two neighbouring selected indices, at least 1.
    pub(super) steps: Vec<u64>,
    pub(super) axes: Vec<AxisForm>,
    pub(super) nbytes: usize,
    /// The byte runs of the slice. `None` if the array has a grid of chunks, or if the slice is empty.
    runs: Option<LinearRuns>,
}

impl Selection {
    /// The slice with these subscripts. If `subscripts` is `None`, the slice is the whole array.
    pub(super) fn new(
        array: &Arc<SharedArray>,
        subscripts: Option<&[Subscript]>,
        steps: Option<&[u64]>,
    ) -> Result<Self, Error> {
        let (geometry, typesize) = (&array.geometry, array.typesize);
        if let Some(list) = subscripts {
            // Check the number of dimensions with placeholder ranges, so that a wrong number of dimensions is reported
            // before other errors.
            let dimensions = list.iter().filter(|subscript| !matches!(subscript, Subscript::NewAxis));
            let ranges: Vec<_> = dimensions.map(|_| 0..0).collect();
            geometry.chunks_in(&ranges).map_err(Error::geometry)?;
        }
        let Indices { ranges, steps, axes } = Indices::new(subscripts, steps, &geometry.shape())?;
        geometry.chunks_in_steps(&ranges, &steps).map_err(Error::geometry)?;
        let mut selection = Self { array: Arc::clone(array), ranges, steps, axes, nbytes: 0, runs: None };
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
        if selection.nbytes > 0 && matches!(array.layout, ChunkLayout::Linear { .. }) {
            let Self { ranges, steps, .. } = &selection;
            selection.runs = Some(LinearRuns::new(&geometry.shape(), ranges, steps, typesize));
        }
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

    /// The chunk with the part number `part` (see [`chunks_from`](Self::chunks_from)).
    pub(super) fn chunk(&self, part: usize) -> Option<SelectedChunk<'_>> {
        self.chunks_from(part).next().map(|(_, chunk)| chunk)
    }

    /// The chunks with items of the slice, each with its part number, from the part number `part` on. In an array with
    /// a grid of chunks, the part number of a chunk is its index among the chunks of the slice. Without a grid, it is
    /// the chunk number.
    pub(super) fn chunks_from(&self, part: usize) -> impl Iterator<Item = (usize, SelectedChunk<'_>)> {
        let (mut grid, mut linear) = (None, None);
        match &self.array.layout {
            ChunkLayout::Grid(_) => {
                grid = self.array.geometry.chunks_in_steps(&self.ranges, &self.steps).ok();
            }
            ChunkLayout::Linear { linear: of, .. } => {
                linear = self.runs.as_ref().map(|runs| of.chunks_from(runs, part as u64));
            }
        }
        // `nth` of the chunks computes the position of a chunk in one step. `skip` after `flatten` would take a step
        // for each earlier chunk.
        let first = grid.as_mut().and_then(|chunks| chunks.nth(part));
        let grid = first.into_iter().chain(grid.into_iter().flatten());
        let linear = linear
            .into_iter()
            .flatten()
            .map(|chunk| (usize::try_from(chunk.number).unwrap_or(usize::MAX), SelectedChunk::Linear(chunk)));
        (part..).zip(grid.map(SelectedChunk::Grid)).chain(linear)
    }
}
