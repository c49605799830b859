//! The array of a frame, from the metalayer `b2nd`, or `caterva` in files of Caterva.

use crate::code::FindingCode;
use crate::finding::{Finding, Place};
use crate::header::fields::Generation;
use crate::header::section::Metalayer;
use b2nd_serde::{Error, Geometry, Meta, Shapes, geometry, take_from_slice};

/// The array of a frame: its shape, dtype and layout, as recorded in the metalayer.
///
/// ```
/// use b2nd_frame::Frame;
///
/// let frame = Frame::open("tests/data/squeezed.caterva")?;
/// let array = frame.array()?.expect("an array");
/// assert_eq!(array.meta().layout().name(), "caterva");
/// assert_eq!((array.shape(), array.chunkshape(), array.dtype()), (&[6, 8][..], &[4, 5][..], None));
/// assert_eq!(array.stale_tail().len(), 38);
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayHeader<'f> {
    meta: Meta,
    has_blocks: bool,
    metalayer: &'f Metalayer,
    stale_tail: &'f [u8],
}

impl<'f> ArrayHeader<'f> {
    pub(crate) fn read(metalayer: &'f Metalayer, generation: Generation) -> Result<Self, Finding> {
        let (meta, stale_tail) =
            take_from_slice(metalayer.bytes()).map_err(|error| malformed(metalayer, &error))?;
        let has_blocks = generation == Generation::Present || blocks_are_set(&meta);
        Ok(Self { meta, has_blocks, metalayer, stale_tail })
    }

    /// The entries of the array's metalayer, and the layout of the metalayer.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The number of items along each dimension.
    #[must_use]
    pub fn shape(&self) -> &[i64] {
        self.meta.shape()
    }

    /// The number of items of a chunk along each dimension.
    #[must_use]
    pub fn chunkshape(&self) -> &[i32] {
        self.meta.chunkshape()
    }

    /// The dtype as text; `None` if the layout has no dtype.
    #[must_use]
    pub fn dtype(&self) -> Option<&str> {
        self.meta.dtype()
    }

    /// Whether the array has blocks. Without blocks, ignore the [block shape](Meta::blockshape) in the metalayer.
    ///
    /// Only an array in a frame from a beta release of C-Blosc2 can have no blocks. Such an array has no blocks if its
    /// block shape is below 1 or larger than the chunk shape in at least one dimension. The library Caterva used these
    /// beta releases and wrote such block shapes: version 0.2 stored uninitialized memory, and version 0.3 stored
    /// zeros.
    #[must_use]
    pub fn has_blocks(&self) -> bool {
        self.has_blocks
    }

    /// The metalayer that the array was read from.
    #[must_use]
    pub fn metalayer(&self) -> &'f Metalayer {
        self.metalayer
    }

    /// Stale bytes after the array's entries; usually there are none. Some writers left these bytes when their function
    /// `squeeze` removed dimensions of length 1, because the entries then became shorter.
    #[must_use]
    pub fn stale_tail(&self) -> &'f [u8] {
        self.stale_tail
    }

    /// The [`Geometry`] of the array, which computes the positions of its items. If the array [has no
    /// blocks](Self::has_blocks), each chunk counts as one block.
    ///
    /// # Errors
    ///
    /// The errors of [`Meta::geometry`].
    pub fn geometry(&self) -> Result<Geometry, geometry::Error> {
        // `Meta::geometry` rejects an unknown version, so it is also called for a version other than 0.
        if self.has_blocks || self.meta.version() != 0 {
            return self.meta.geometry();
        }
        Geometry::new(Shapes { blockshape: self.chunkshape(), ..self.meta.shapes() })
    }
}

fn blocks_are_set(meta: &Meta) -> bool {
    meta.blockshape().iter().zip(meta.chunkshape()).all(|(&block, &chunk)| block > 0 && block <= chunk)
}

/// The finding for an invalid metalayer of an array.
fn malformed(metalayer: &Metalayer, error: &Error) -> Finding {
    // If the error has a version number, this crate does not know the version of the metalayer. The metalayer may still
    // be valid, because a later version can have other entries than version 0.
    let code =
        if error.version().is_some() { FindingCode::UnknownVersion } else { FindingCode::DamagedArray };
    let at = metalayer.offset().saturating_add(error.offset().unwrap_or_default());
    // The offset of the error counts from the start of the metalayer. The text omits that offset, because the finding
    // gives the offset in the frame.
    let text = format!("metalayer {}: {}", metalayer.name(), error.message());
    Finding::new(code, Place::Array).at(at as u64).text(text)
}
