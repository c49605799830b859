//! What is known of a frame that is visited.

use b2nd_frame::{Array, ChunkCounts, Finding, Frame, Header, Metalayer, ObjectKind, Skipped, Trailer};

use super::address::Location;
use crate::text::parsed_dtype;

/// What is shown of a frame.
#[derive(Clone, Copy)]
pub(crate) struct View<'s> {
    pub(crate) location: Location<'s>,
    pub(crate) offset: u64,
    pub(crate) header: &'s Header,
    pub(crate) kind: ObjectKind,
    pub(crate) metalayers: &'s [Metalayer],
    /// `None` if the frame has chunks but no array metalayer.
    pub(crate) array: Option<&'s Array<'s>>,
    pub(crate) findings: &'s [Finding],
    pub(crate) skipped: &'s [Skipped],
    /// Of a store, and where the values of metalayers are wanted.
    pub(crate) trailer: Option<&'s Trailer>,
    pub(crate) counts: Option<ChunkCounts>,
    /// Whether the values of metalayers are wanted.
    pub(crate) meta: bool,
}

impl<'s> View<'s> {
    /// What the header says of a frame.
    pub(crate) fn new<R>(
        location: Location<'s>,
        frame: &'s Frame<R>,
        array: Option<&'s Array<'s>>,
        findings: &'s [Finding],
    ) -> Self {
        Self {
            location: location.at(frame.offset()),
            offset: frame.offset(),
            header: frame.header(),
            kind: frame.kind(),
            metalayers: frame.metalayers(),
            array,
            findings,
            skipped: &[],
            trailer: None,
            counts: None,
            meta: false,
        }
    }

    /// The size of an item of the array: that of the dtype if it is known, otherwise the typesize.
    pub(crate) fn itemsize(self) -> Option<i64> {
        let size = parsed_dtype(self.array?).and_then(|dtype| i64::try_from(dtype.item_size()).ok());
        Some(size.unwrap_or(self.header.typesize.into()))
    }

    /// The size of all items, where it is known; of a frame without an array, that of its chunks.
    pub(crate) fn nbytes(self) -> Option<i64> {
        match self.array.zip(self.itemsize()) {
            Some((array, itemsize)) => nbytes(array.shape(), itemsize),
            None => Some(self.header.nbytes),
        }
    }

    /// The number of chunks. Where they differ in length, only the index says it.
    pub(crate) fn nchunks(self) -> Option<u64> {
        self.header.nchunks().or(self.counts.map(|counts| counts.total()))
    }

    /// The keys of the frames in its compressed data, if it is a store.
    pub(crate) fn embedded(self) -> Vec<String> {
        self.trailer.filter(|_| self.kind.is_store()).map(Trailer::embedded).unwrap_or_default()
    }
}

/// The size of all items, if it fits.
pub(crate) fn nbytes(shape: &[i64], itemsize: i64) -> Option<i64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(itemsize, |product, &items| product.checked_mul(items))
}
