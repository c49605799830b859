//! A slice of an array, whose subscripts have been compared with the shape.

use core::ops::Range;

use b2nd_serde::Geometry;
use b2nd_serde::geometry::Chunk;

use crate::error::Error;
use crate::finding::first_error;
use crate::header::array::Array;
use crate::header::array_rules::{agreement, valid_geometry};
use crate::header::frame::Frame;
use crate::header::header_rules;
use crate::header::object_kind::ObjectKind;
use crate::slice::subscripts::{AxisForm, Indices, Subscript};

/// A slice of the array of a frame. The constructor has made all checks that need no further read.
pub(super) struct Selection {
    pub(super) geometry: Geometry,
    pub(super) ranges: Vec<Range<u64>>,
    /// For each range, the distance between two neighbouring selected indices, at least 1.
    pub(super) steps: Vec<u64>,
    pub(super) axes: Vec<AxisForm>,
    pub(super) typesize: usize,
    pub(super) nbytes: usize,
}

impl Selection {
    /// The slice with these subscripts. If `subscripts` is `None`, it is the whole array.
    pub(super) fn new<R>(
        frame: &Frame<R>,
        subscripts: Option<&[Subscript]>,
        steps: Option<&[u64]>,
    ) -> Result<Self, Error> {
        let array = array_with_data(frame)?;
        let geometry = valid_geometry(&array)?;
        if let Some(list) = subscripts {
            // Check the number of dimensions with placeholder ranges, so that a wrong number is reported before other
            // errors.
            let dimensions = list.iter().filter(|subscript| !matches!(subscript, Subscript::NewAxis));
            let ranges: Vec<_> = dimensions.map(|_| 0..0).collect();
            geometry.chunks_in(&ranges).map_err(Error::geometry)?;
        }
        let Indices { ranges, steps, axes } = Indices::new(subscripts, steps, &geometry.shape())?;
        geometry.chunks_in_steps(&ranges, &steps).map_err(Error::geometry)?;
        // The typesize is at least 1, because `array_with_data` refuses a smaller one.
        let typesize = usize::try_from(frame.header().typesize).unwrap_or_default();
        let mut selection = Self { geometry, ranges, steps, axes, typesize, nbytes: 0 };
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
        let mut chunks = self.geometry.chunks_in_steps(&self.ranges, &self.steps).ok();
        // `nth` computes the position of the chunk in one step, but `skip` would take a step for each chunk before it.
        let first = chunks.as_mut().and_then(|chunks| chunks.nth(part));
        first.into_iter().chain(chunks.into_iter().flatten())
    }
}

/// The array of a frame; an error if the frame has no array, if the data is not in this frame, if the items are Python
/// objects, or if the header breaks a rule.
fn array_with_data<R>(frame: &Frame<R>) -> Result<Array<'_>, Error> {
    let kind = frame.kind();
    if let Some(action) = kind.action() {
        return Err(Error::unsupported(format_args!(
            "the data of this {kind} is not here: a reader must {action}"
        )));
    }
    let array = frame.array()?.filter(|_| kind == ObjectKind::NDArray);
    let array = array.ok_or_else(|| {
        Error::unsupported(format_args!("the frame has no array: it is of the kind {kind}"))
    })?;
    if let Ok(Some(dtype)) = array.meta().parse_dtype() {
        if dtype.has_objects() {
            return Err(Error::unsupported(
                "the items are pointers to Python objects, which were lost with the process that wrote them",
            ));
        }
    }
    let mut findings = header_rules::check(frame);
    findings.extend(agreement(&array, frame.header()));
    match first_error(&findings) {
        Some(finding) => Err(Error::malformed(finding.clone())),
        None => Ok(array),
    }
}
