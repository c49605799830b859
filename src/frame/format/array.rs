//! What makes a frame an array: its metalayer `b2nd`, or `caterva`, its former name.

use core::fmt;
use std::format;
use std::vec::Vec;

use crate::frame::finding::{Code, Finding, Place};
use crate::frame::format::cursor::{Rules, Walk};
use crate::frame::format::fields::Generation;
use crate::frame::format::section::Metalayer;
use crate::layout::MAX_NDIM;
use crate::{Entry, Error, ErrorKind, Geometry, Layout, Meta, Shapes, geometry, take_from_slice};

/// The array that a frame holds: what its metalayer says, and old bytes that may stand behind it.
///
/// ```
/// use b2nd_serde::frame::Frame;
///
/// let frame = Frame::open("tests/data/squeezed.caterva")?;
/// let array = frame.array()?.expect("an array");
/// assert_eq!(array.layout().to_string(), "caterva");
/// assert_eq!((array.shape(), array.chunkshape(), array.dtype()), (&[6, 8][..], &[4, 5][..], None));
/// assert_eq!(array.stale_tail().len(), 38);
/// # Ok::<(), b2nd_serde::frame::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Array<'f> {
    says: Says,
    has_blocks: bool,
    metalayer: &'f Metalayer,
    stale_tail: &'f [u8],
}

#[derive(Clone, Debug, PartialEq)]
enum Says {
    Meta(Meta),
    First(First),
}

/// The three entries of Caterva 0.1.
#[derive(Clone, Debug, PartialEq)]
struct First {
    layout: ArrayLayout,
    shape: Vec<i64>,
    chunkshape: Vec<i32>,
}

/// The layouts in which an array's metalayer is found in files: those of the format, and the two before it, which are
/// only ever read.
///
/// ```
/// use b2nd_serde::Layout;
/// use b2nd_serde::frame::ArrayLayout;
///
/// assert_eq!(ArrayLayout::Format(Layout::B2nd).to_string(), "b2nd");
/// assert_eq!(ArrayLayout::Caterva010.to_string(), "caterva-0.1.0");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArrayLayout {
    /// One of the four layouts of the format.
    Format(Layout),
    /// Caterva 0.1.0: `93`, ndim, shape and chunkshape, which the writer's machine wrote in its own byte order under
    /// the markers `cf` and `d2`. They are read as little-endian.
    Caterva010,
    /// Caterva 0.1.1: the same in big-endian, with the shape under `d3`.
    Caterva011,
}

impl fmt::Display for ArrayLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(layout) => layout.fmt(f),
            Self::Caterva010 => f.write_str("caterva-0.1.0"),
            Self::Caterva011 => f.write_str("caterva-0.1.1"),
        }
    }
}

impl<'f> Array<'f> {
    pub(crate) fn read(metalayer: &'f Metalayer, generation: Generation) -> Result<Self, Finding> {
        let bytes = metalayer.bytes();
        let (says, stale_tail) = if bytes.first() == Some(&0x93) {
            let (first, rest) = First::read(metalayer)?;
            (Says::First(first), rest)
        } else {
            let (meta, rest) = take_from_slice(bytes).map_err(|error| malformed(metalayer, &error))?;
            (Says::Meta(meta), rest)
        };
        let has_blocks = match &says {
            Says::Meta(meta) => generation == Generation::Present || blocks_are_set(meta),
            Says::First(_) => false,
        };
        Ok(Self { says, has_blocks, metalayer, stale_tail })
    }

    /// The metalayer in this format; `None` for the two layouts of Caterva 0.1, which are none of it.
    #[must_use]
    pub fn meta(&self) -> Option<&Meta> {
        match &self.says {
            Says::Meta(meta) => Some(meta),
            Says::First(_) => None,
        }
    }

    /// The layout of the metalayer.
    #[must_use]
    pub fn layout(&self) -> ArrayLayout {
        match &self.says {
            Says::Meta(meta) => ArrayLayout::Format(meta.layout()),
            Says::First(first) => first.layout,
        }
    }

    /// Items along each dimension.
    #[must_use]
    pub fn shape(&self) -> &[i64] {
        match &self.says {
            Says::Meta(meta) => meta.shape(),
            Says::First(first) => &first.shape,
        }
    }

    /// Items of a chunk along each dimension.
    #[must_use]
    pub fn chunkshape(&self) -> &[i32] {
        match &self.says {
            Says::Meta(meta) => meta.chunkshape(),
            Says::First(first) => &first.chunkshape,
        }
    }

    /// Items of a block along each dimension, as they are in the metalayer; `None` where the layout has none. Whether
    /// they mean something is in [`has_blocks`](Self::has_blocks).
    #[must_use]
    pub fn blockshape(&self) -> Option<&[i32]> {
        self.meta().map(Meta::blockshape)
    }

    /// Whether the chunks are cut into blocks. Those of Caterva 0.1 are not, nor are those of 0.2 and 0.3, which wrote
    /// a block shape that means nothing: in a frame of C-Blosc2's beta releases, one below 1 or above the chunk.
    #[must_use]
    pub fn has_blocks(&self) -> bool {
        self.has_blocks
    }

    /// The item type as text; `None` where the layout has none.
    #[must_use]
    pub fn dtype(&self) -> Option<&str> {
        self.meta().and_then(Meta::dtype)
    }

    /// The metalayer that all this stands in.
    #[must_use]
    pub fn metalayer(&self) -> &'f Metalayer {
        self.metalayer
    }

    /// Old bytes behind the metalayer, which some writers left there when they squeezed an array; mostly none.
    #[must_use]
    pub fn stale_tail(&self) -> &'f [u8] {
        self.stale_tail
    }

    /// Where the items of the array lie. Where there are no blocks, each chunk is one.
    ///
    /// # Errors
    ///
    /// As [`Meta::geometry`].
    pub fn geometry(&self) -> Result<Geometry, geometry::Error> {
        match &self.says {
            Says::Meta(meta) if self.has_blocks || meta.version() != 0 => meta.geometry(),
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

impl First {
    fn read(metalayer: &Metalayer) -> Result<(Self, &[u8]), Finding> {
        let (marker, end) = (Code::ArrayMarker, Code::ArrayTruncated);
        let rules = Rules { place: Place::Array, start: metalayer.offset() as u64, marker, end };
        let mut walk = Walk::new(metalayer.bytes(), rules);
        walk.marker(0x93, "a metalayer of Caterva 0.1")?;
        let ndim = walk.byte()?;
        if ndim > MAX_NDIM {
            let text = format!("ndim is {ndim}, more than {MAX_NDIM}");
            return Err(walk.finding(Code::Rank, 1).numbers(MAX_NDIM, ndim).text(text));
        }
        walk.marker(0x90 + ndim, "shape")?;
        // Without dimensions both layouts are the same bytes.
        let is_native = walk.bytes.get(walk.position) == Some(&0xcf);
        let mut shape = Vec::with_capacity(ndim.into());
        let mut chunkshape = Vec::with_capacity(ndim.into());
        for _ in 0..ndim {
            shape.push(if is_native {
                walk.marker(0xcf, "shape")?;
                i64::from_le_bytes(walk.array()?)
            } else {
                walk.marked_i64("shape")?
            });
        }
        walk.marker(0x90 + ndim, "chunkshape")?;
        for _ in 0..ndim {
            let items = walk.marked_i32("chunkshape")?;
            chunkshape.push(if is_native { items.swap_bytes() } else { items });
        }
        let layout = if is_native { ArrayLayout::Caterva010 } else { ArrayLayout::Caterva011 };
        let rest = metalayer.bytes().get(walk.position..).unwrap_or_default();
        Ok((Self { layout, shape, chunkshape }, rest))
    }
}

/// What is wrong with the bytes of an array's metalayer.
fn malformed(metalayer: &Metalayer, error: &Error) -> Finding {
    let version = version(metalayer.bytes());
    let code = match error.kind() {
        _ if version != 0 => Code::ArrayVersion,
        ErrorKind::Rank => Code::Rank,
        ErrorKind::DtypeLength => Code::DtypeLength,
        ErrorKind::UnexpectedEnd if is_within_dtype(metalayer.bytes(), error) => Code::DtypeLength,
        ErrorKind::UnexpectedEnd => Code::ArrayTruncated,
        ErrorKind::Utf8 | ErrorKind::Nul => Code::DtypeText,
        _ => Code::ArrayMarker,
    };
    let at = metalayer.offset().saturating_add(error.offset().unwrap_or_default());
    let name = metalayer.name();
    let text = match version {
        0 => format!("metalayer {name}: {error}"),
        _ => format!(
            "metalayer {name} has version {version}, and cannot be read as version 0, the only known one: {error}"
        ),
    };
    Finding::new(code, Place::Array).at(at as u64).text(text)
}

/// The version of a metalayer that may be malformed; 0 where it cannot be told.
fn version(bytes: &[u8]) -> u8 {
    match bytes {
        // Later versions may have other outer markers.
        &[0x90..=0x9f, version @ 0..=0x7f, ..] => version,
        _ => 0,
    }
}

/// Whether the metalayer ends behind the length of its dtype.
fn is_within_dtype(bytes: &[u8], error: &Error) -> bool {
    let header = error.offset().and_then(|offset| offset.checked_sub(5));
    error.entry() == Some(Entry::Dtype) && header.and_then(|at| bytes.get(at)) == Some(&0xdb)
}

/// What is wrong with the meaning of an array's numbers.
pub(crate) fn meaningless(array: &Array<'_>, error: geometry::Error) -> Finding {
    let code = match error.kind() {
        geometry::ErrorKind::Version => Code::ArrayVersion,
        geometry::ErrorKind::Negative => Code::NegativeDimension,
        geometry::ErrorKind::Zero if error.entry() == Some(Entry::Blockshape) => Code::ZeroBlock,
        geometry::ErrorKind::Zero => Code::ZeroChunk,
        geometry::ErrorKind::ChunkSize => Code::ChunkTooLarge,
        _ => Code::Overflow,
    };
    let text = format!("metalayer {}: {error}", array.metalayer().name());
    Finding::new(code, Place::Array).at(array.metalayer().offset() as u64).text(text)
}
