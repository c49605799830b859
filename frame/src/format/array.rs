//! The array of a frame: its metalayer `b2nd`, or `caterva`, the former name.
//!
//! The two layouts of Caterva 0.1 are read here and not by `b2nd_serde`. They have three entries, and nothing writes
//! them:
//!
//! ```text
//! 93 ndim  9n shape  9n chunkshape
//!             |         `- d2 and an int32 for each dimension
//!             `- cf and a uint64 (0.1.0), or d3 and an int64 (0.1.1)
//! ```
//!
//! The integers of 0.1.0 have the byte order of the writer's machine, and are read as little-endian. The integers of
//! 0.1.1 are big-endian.

use crate::code::FindingCode;
use crate::finding::{Finding, Place};
use crate::format::cursor::{Cursor, Part};
use crate::format::fields::Generation;
use crate::format::marker::Marker;
use crate::format::section::Metalayer;
use b2nd_serde::dtype::{self, Dtype, Kind};
use b2nd_serde::{
    Entry, Error, ErrorKind, Geometry, Layout, MAX_NDIM, Meta, Shapes, geometry, take_from_slice,
};

/// The first byte of the two layouts of Caterva 0.1: an array of three entries.
pub(crate) const CATERVA_THREE: Marker = Marker::FixArray(3);

/// The array of a frame: its shape, dtype and layout, as recorded in the metalayer.
///
/// ```
/// use b2nd_frame::Frame;
///
/// let frame = Frame::open("tests/data/squeezed.caterva")?;
/// let array = frame.array()?.expect("an array");
/// assert_eq!(array.layout_name(), "caterva");
/// assert_eq!((array.shape(), array.chunkshape(), array.dtype()), (&[6, 8][..], &[4, 5][..], None));
/// assert_eq!(array.stale_tail().len(), 38);
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Array<'f> {
    parsed: ParsedMetalayer,
    has_blocks: bool,
    metalayer: &'f Metalayer,
    stale_tail: &'f [u8],
}

/// The metalayer of an array.
#[derive(Clone, Debug, PartialEq)]
enum ParsedMetalayer {
    Meta(Meta),
    Caterva01(Caterva01),
}

/// The three entries of Caterva 0.1, in either of its layouts.
#[derive(Clone, Debug, PartialEq)]
struct Caterva01 {
    name: &'static str,
    shape: Vec<i64>,
    chunkshape: Vec<i32>,
}

impl<'f> Array<'f> {
    pub(crate) fn read(metalayer: &'f Metalayer, generation: Generation) -> Result<Self, Finding> {
        let bytes = metalayer.bytes();
        let (parsed, stale_tail) = if bytes.first() == Some(&CATERVA_THREE.to_u8()) {
            let (caterva, rest) = Caterva01::read(metalayer)?;
            (ParsedMetalayer::Caterva01(caterva), rest)
        } else {
            let (meta, rest) = take_from_slice(bytes).map_err(|error| malformed(metalayer, &error))?;
            (ParsedMetalayer::Meta(meta), rest)
        };
        let has_blocks = match &parsed {
            ParsedMetalayer::Meta(meta) => generation == Generation::Present || blocks_are_set(meta),
            ParsedMetalayer::Caterva01(_) => false,
        };
        Ok(Self { parsed, has_blocks, metalayer, stale_tail })
    }

    /// The array's metalayer as a [`Meta`]; `None` for the two layouts of Caterva 0.1, which do not belong to the
    /// format.
    #[must_use]
    pub fn meta(&self) -> Option<&Meta> {
        match &self.parsed {
            ParsedMetalayer::Meta(meta) => Some(meta),
            ParsedMetalayer::Caterva01(_) => None,
        }
    }

    /// The layout of the metalayer; `None` for the two layouts of Caterva 0.1, as for [`meta`](Self::meta).
    #[must_use]
    pub fn layout(&self) -> Option<Layout> {
        self.meta().map(Meta::layout)
    }

    /// The name of the layout: [`Layout::name`], `caterva-0.1.0` or `caterva-0.1.1`.
    #[must_use]
    pub fn layout_name(&self) -> &'static str {
        match &self.parsed {
            ParsedMetalayer::Meta(meta) => meta.layout().name(),
            ParsedMetalayer::Caterva01(caterva) => caterva.name,
        }
    }

    /// The number of items along each dimension.
    #[must_use]
    pub fn shape(&self) -> &[i64] {
        match &self.parsed {
            ParsedMetalayer::Meta(meta) => meta.shape(),
            ParsedMetalayer::Caterva01(caterva) => &caterva.shape,
        }
    }

    /// The number of items of a chunk along each dimension.
    #[must_use]
    pub fn chunkshape(&self) -> &[i32] {
        match &self.parsed {
            ParsedMetalayer::Meta(meta) => meta.chunkshape(),
            ParsedMetalayer::Caterva01(caterva) => &caterva.chunkshape,
        }
    }

    /// The number of items of a block along each dimension, as in the metalayer; `None` if the layout has no block
    /// shape. In some old files the numbers have no meaning: see [`has_blocks`](Self::has_blocks).
    #[must_use]
    pub fn blockshape(&self) -> Option<&[i32]> {
        self.meta().map(Meta::blockshape)
    }

    /// Whether the array has blocks. If not, do not use the block shape: Caterva 0.1 stored none, Caterva 0.2 stored
    /// uninitialized memory, and Caterva 0.3 stored zeros.
    ///
    /// Two facts identify such an array: the frame is of a beta release of C-Blosc2, and the block shape is below 1 or
    /// larger than the chunk shape in some dimension.
    #[must_use]
    pub fn has_blocks(&self) -> bool {
        self.has_blocks
    }

    /// The dtype as text; `None` if the layout has no dtype.
    #[must_use]
    pub fn dtype(&self) -> Option<&str> {
        self.meta().and_then(Meta::dtype)
    }

    /// The parsed dtype; `None` if the layout has no dtype.
    ///
    /// # Errors
    ///
    /// The errors of [`Meta::parse_dtype`].
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let dtype = frame.array()?.expect("an array").parse_dtype()?.expect("a dtype");
    /// assert_eq!(dtype.item_size(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse_dtype(&self) -> Result<Option<Dtype>, dtype::Error> {
        self.meta().map_or(Ok(None), Meta::parse_dtype)
    }

    /// The metalayer that the array was read from.
    #[must_use]
    pub fn metalayer(&self) -> &'f Metalayer {
        self.metalayer
    }

    /// Stale bytes after the array's entries, usually empty. Some writers left them there when `squeeze` removed
    /// dimensions of length 1.
    #[must_use]
    pub fn stale_tail(&self) -> &'f [u8] {
        self.stale_tail
    }

    /// The [`Geometry`] of the array: the positions of its items. Without blocks, each chunk counts as one block.
    ///
    /// # Errors
    ///
    /// The errors of [`Meta::geometry`].
    pub fn geometry(&self) -> Result<Geometry, geometry::Error> {
        match &self.parsed {
            // `Meta::geometry` also rejects an unknown version, whatever the blocks are.
            ParsedMetalayer::Meta(meta) if self.has_blocks || meta.version() != 0 => meta.geometry(),
            _ => Geometry::new(Shapes {
                shape: self.shape(),
                chunkshape: self.chunkshape(),
                blockshape: self.chunkshape(),
            }),
        }
    }
}

fn blocks_are_set(meta: &Meta) -> bool {
    meta.blockshape().iter().zip(meta.chunkshape()).all(|(&block, &chunk)| block > 0 && block <= chunk)
}

impl Caterva01 {
    fn read(metalayer: &Metalayer) -> Result<(Self, &[u8]), Finding> {
        let (marker, end) = (FindingCode::ArrayMarker, FindingCode::ArrayTruncated);
        let part = Part { place: Place::Array, start: metalayer.offset() as u64, marker, end };
        let mut cursor = Cursor::new(metalayer.bytes(), part);
        cursor.marker(CATERVA_THREE, "a metalayer of Caterva 0.1")?;
        let ndim = cursor.byte()?;
        if ndim > MAX_NDIM {
            let text = format!("ndim is {ndim}, but must be at most {MAX_NDIM}");
            return Err(cursor.finding(FindingCode::Rank, 1).numbers(MAX_NDIM, ndim).text(text));
        }
        cursor.marker(vector_marker(ndim), "shape")?;
        // Without dimensions both layouts have the same bytes.
        let is_native = cursor.rest().first() == Some(&Marker::U64.to_u8());
        let mut shape = Vec::with_capacity(ndim.into());
        let mut chunkshape = Vec::with_capacity(ndim.into());
        for _ in 0..ndim {
            shape.push(if is_native {
                i64::from_le_bytes(cursor.value(Marker::U64, "shape")?)
            } else {
                i64::from_be_bytes(cursor.value(Marker::I64, "shape")?)
            });
        }
        cursor.marker(vector_marker(ndim), "chunkshape")?;
        for _ in 0..ndim {
            let items = cursor.value(Marker::I32, "chunkshape")?;
            chunkshape.push(if is_native { i32::from_le_bytes(items) } else { i32::from_be_bytes(items) });
        }
        let name = if is_native { "caterva-0.1.0" } else { "caterva-0.1.1" };
        Ok((Self { name, shape, chunkshape }, cursor.rest()))
    }
}

/// The marker of a dimension vector, which is `a0` for 16 dimensions.
fn vector_marker(ndim: u8) -> Marker {
    Marker::from_u8(Marker::FixArray(0).to_u8() + ndim)
}

/// The finding for an invalid metalayer of an array.
fn malformed(metalayer: &Metalayer, error: &Error) -> Finding {
    let code = match error.kind() {
        // First, because the bytes may be valid in that version.
        _ if error.version().is_some() => FindingCode::ArrayVersion,
        ErrorKind::Rank => FindingCode::Rank,
        ErrorKind::DtypeLength => FindingCode::DtypeLength,
        ErrorKind::UnexpectedEnd if is_within_dtype(metalayer.bytes(), error) => FindingCode::DtypeLength,
        ErrorKind::UnexpectedEnd => FindingCode::ArrayTruncated,
        ErrorKind::Utf8 | ErrorKind::Nul => FindingCode::DtypeText,
        _ => FindingCode::ArrayMarker,
    };
    let at = metalayer.offset().saturating_add(error.offset().unwrap_or_default());
    // The message without its own offset, which counts from the start of the metalayer. The finding has the offset in
    // the frame.
    let text = format!("metalayer {}: {}", metalayer.name(), error.message());
    Finding::new(code, Place::Array).at(at as u64).text(text)
}

/// Whether the metalayer ends within the text of its dtype.
fn is_within_dtype(bytes: &[u8], error: &Error) -> bool {
    // The error is at the text. The marker is before it, and so is its length of 4 bytes.
    let header = error.offset().and_then(|offset| offset.checked_sub(5));
    error.entry() == Some(Entry::Dtype) && header.and_then(|at| bytes.get(at)) == Some(&Marker::Str32.to_u8())
}

/// Whether items of this dtype hold Python objects. A file stores only their addresses, which no other process can use,
/// so this crate writes no such frame.
///
/// ```
/// use b2nd_frame::has_objects;
///
/// assert!(has_objects(&"|O".parse()?));
/// assert!(has_objects(&"[('name', '|O'), ('size', '<i4')]".parse()?));
/// assert!(!has_objects(&"<i8".parse()?));
/// # Ok::<(), b2nd_serde::dtype::Error>(())
/// ```
#[must_use]
pub fn has_objects(dtype: &Dtype) -> bool {
    match dtype.kind() {
        Kind::Object => true,
        Kind::Subarray(subarray) => has_objects(subarray.base()),
        _ => dtype.fields().iter().any(|field| has_objects(field.dtype())),
    }
}
