//! A visited frame and its derived sizes.

use b2nd_frame::{
    ArrayHeader, ChunkCounts, Finding, Frame, FrameType, Header, Metalayer, ObjectKind, PackedTensor,
    Skipped, Trailer,
};
use b2nd_serde::dtype::Dtype;

use super::address::Location;
use crate::text::{dtype_name, parsed_dtype, tensor_dtype};

/// How much to show of the values of metalayers.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum ShownValues {
    #[default]
    None,
    /// Values within the limits of `Room::SHORT`.
    Short,
    /// Values within the limits of `Room::ALL`, which are larger.
    All,
}

/// A visited frame: the parts that were read, and what to show of them.
#[derive(Clone, Copy)]
pub(crate) struct View<'s> {
    pub(crate) location: Location<'s>,
    pub(crate) offset: u64,
    pub(crate) header: &'s Header,
    pub(crate) kind: ObjectKind,
    pub(crate) metalayers: &'s [Metalayer],
    /// The array that the array metalayer describes, if the frame has this metalayer.
    pub(crate) array: Option<&'s ArrayHeader<'s>>,
    /// The array that the trailer describes, if the frame has no array metalayer.
    pub(crate) tensor: Option<&'s PackedTensor>,
    pub(crate) findings: &'s [Finding],
    pub(crate) skipped: &'s [Skipped],
    /// The trailer; `None` if it was not needed (see `Visit::wants_trailer`) or cannot be read.
    pub(crate) trailer: Option<&'s Trailer>,
    pub(crate) counts: Option<ChunkCounts>,
    /// The number of bytes that belong to no chunk; `None` if these bytes were not counted.
    pub(crate) unowned_bytes: Option<u64>,
    pub(crate) values: ShownValues,
}

impl<'s> View<'s> {
    /// A view of a frame, after only its header was read.
    pub(crate) fn new<R>(
        location: Location<'s>,
        frame: &'s Frame<R>,
        array: Option<&'s ArrayHeader<'s>>,
        findings: &'s [Finding],
    ) -> Self {
        Self {
            location: location.at(frame.offset()),
            offset: frame.offset(),
            header: frame.header(),
            kind: frame.kind(),
            metalayers: frame.metalayers(),
            array,
            tensor: None,
            findings,
            skipped: &[],
            trailer: None,
            counts: None,
            unowned_bytes: None,
            values: ShownValues::None,
        }
    }

    /// The name of the frame type.
    pub(crate) fn container(&self) -> &'static str {
        if self.header.is_sparse() { "sframe" } else { "cframe" }
    }

    /// The shape of the array; `None` without an array.
    pub(crate) fn shape(&self) -> Option<&'s [i64]> {
        self.array.map(ArrayHeader::shape).or(self.tensor.map(|tensor| &*tensor.shape))
    }

    /// The dtype of the array, if it is known.
    pub(crate) fn dtype(&self) -> Option<Dtype> {
        match (self.array, self.tensor) {
            (Some(array), _) => parsed_dtype(array),
            (None, tensor) => tensor?.dtype.parse().ok(),
        }
    }

    /// The dtype as NumPy prints it. If it is not valid, the text in the metalayer.
    pub(crate) fn dtype_name(&self, dtype: Option<&Dtype>) -> Option<String> {
        match self.array {
            Some(array) => dtype_name(array, dtype),
            None => self.tensor.map(tensor_dtype),
        }
    }

    /// The item size of the dtype if it is known, otherwise the typesize; `None` without an array.
    pub(crate) fn itemsize(self, dtype: Option<&Dtype>) -> Option<i64> {
        self.shape()?;
        let size = dtype.and_then(|dtype| i64::try_from(dtype.item_size()).ok());
        Some(size.unwrap_or(self.header.typesize.into()))
    }

    /// The size of all items, if it is known. For a frame without an array, the decompressed size of its chunks.
    pub(crate) fn nbytes(self) -> Option<i64> {
        self.nbytes_with(self.dtype().as_ref())
    }

    /// Returns the same size as `nbytes`, for a caller that has already parsed the dtype.
    pub(crate) fn nbytes_with(self, dtype: Option<&Dtype>) -> Option<i64> {
        match self.shape().zip(self.itemsize(dtype)) {
            Some((shape, itemsize)) => nbytes(shape, itemsize).filter(|_| !self.has_wrong_sizes()),
            None => self.stored_nbytes(),
        }
    }

    /// The decompressed size of all chunks; `None` if findings make it uncertain.
    pub(crate) fn stored_nbytes(self) -> Option<i64> {
        (!self.has_wrong_sizes()).then_some(self.header.nbytes)
    }

    /// The stored size of all chunks. `None` if the size in the header is impossible: it is negative, or the frame is
    /// contiguous and shorter than this size.
    pub(crate) fn cbytes(self) -> Option<i64> {
        let Header { cbytes, frame_len, frame_type, .. } = *self.header;
        let fits = |cbytes: u64| frame_type == FrameType::Sparse || cbytes <= frame_len;
        u64::try_from(cbytes).is_ok_and(fits).then_some(cbytes)
    }

    /// The sizes `stored_nbytes` and `cbytes`, whose ratio is the compression ratio.
    pub(crate) fn compressed(self) -> Option<(i128, i128)> {
        Some((self.stored_nbytes()?.into(), self.cbytes()?.into()))
    }

    /// Whether findings make the sizes uncertain. Sums of sizes omit such a frame, because one damaged number would
    /// dominate a sum.
    fn has_wrong_sizes(self) -> bool {
        self.findings.iter().any(|finding| finding.code().makes_sizes_uncertain())
    }

    /// The number of chunks. If chunks differ in length, the header does not determine their number. Then the number is
    /// known only if the chunk index was read.
    pub(crate) fn nchunks(self) -> Option<u64> {
        self.header.nchunks().or(self.counts.map(|counts| counts.total()))
    }

    /// The keys of the frames in the compressed data of a store.
    pub(crate) fn embedded(self) -> Vec<String> {
        self.trailer.filter(|_| self.kind.is_store()).map(Trailer::embedded).unwrap_or_default()
    }
}

/// The size of all items, if it fits an `i64`.
fn nbytes(shape: &[i64], itemsize: i64) -> Option<i64> {
    // A 0 is checked first, because the product of the other dimensions may overflow.
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(itemsize, |product, &items| product.checked_mul(items))
}
