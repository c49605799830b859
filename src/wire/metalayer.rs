//! A metalayer with all bytes checked, so decoding its entries cannot fail.

use super::buffer::most_before_dtype;
use super::input::Input;
use super::integer::{FixedInt, Items};
use super::text::{STR32_HEADER, dtype};
use crate::entry::{Entry, MAX_NDIM};
use crate::error::Error;
use crate::layout::Layout;
use crate::marker::{FIXINT_MAX, STR32};

/// The entries of a metalayer.
#[derive(Debug)]
pub(crate) struct Metalayer<'de> {
    pub(crate) layout: Layout,
    pub(crate) version: u8,
    pub(crate) ndim: u8,
    pub(crate) shape: Items<'de, i64>,
    pub(crate) chunkshape: Items<'de, i32>,
    pub(crate) blockshape: Items<'de, i32>,
    /// 0 if the layout does not have this entry.
    pub(crate) dtype_format: u8,
    /// Empty if the layout does not have this entry.
    pub(crate) dtype: &'de str,
    /// The bytes after the metalayer.
    pub(crate) rest: &'de [u8],
}

impl<'de> Metalayer<'de> {
    /// The metalayer at the front of some bytes, if it is *ordinary*: valid, of layout `B2nd`, without a negative
    /// dimension.
    ///
    /// Nearly every real metalayer is ordinary. `None` does not mean that it is invalid: [`read`](Self::read) decides.
    // Inlined with everything it calls, so the entries stay in registers.
    #[inline(always)]
    pub(crate) fn ordinary(bytes: &'de [u8]) -> Option<Self> {
        const OUTER: u8 = Layout::B2nd.marker();
        let [OUTER, version @ ..=FIXINT_MAX, ndim @ ..=MAX_NDIM, rest @ ..] = bytes else { return None };
        let (version, ndim) = (*version, *ndim);
        let (shape, rest) = Items::ordinary(rest, ndim)?;
        let (chunkshape, rest) = Items::ordinary(rest, ndim)?;
        let (blockshape, rest) = Items::ordinary(rest, ndim)?;
        let [dtype_format @ ..=FIXINT_MAX, STR32, a, b, c, d, rest @ ..] = rest else { return None };
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        let (text, rest) = rest.split_at_checked(length)?;
        let (dtype_format, dtype) = (*dtype_format, dtype(text)?);
        Some(Self {
            layout: Layout::B2nd,
            version,
            ndim,
            shape,
            chunkshape,
            blockshape,
            dtype_format,
            dtype,
            rest,
        })
    }

    /// The bytes of the metalayer at the front of some bytes, and those after it. Invalid bytes are not split.
    // Without a check of an ordinary one: the place of the dtype's length follows from `ndim`.
    #[inline]
    pub(crate) fn split(bytes: &'de [u8]) -> (&'de [u8], &'de [u8]) {
        const OUTER: u8 = Layout::B2nd.marker();
        if let [OUTER, _, ndim, ..] = *bytes {
            let text = most_before_dtype(ndim);
            let length = bytes.get(..text).and_then(<[u8]>::last_chunk).copied().map(u32::from_be_bytes);
            let length = length.map_or(usize::MAX, |length| text.saturating_add(length as usize));
            return bytes.split_at_checked(length).unwrap_or((bytes, &[]));
        }
        let rest = Self::read(Input::new(bytes)).map_or(0, |metalayer| metalayer.rest.len());
        bytes.split_at_checked(bytes.len() - rest).unwrap_or((bytes, &[]))
    }

    /// The metalayer at the front of the input, in any layout and with any dimensions, or why it is invalid.
    #[cold]
    #[inline(never)]
    pub(crate) fn read(mut input: Input<'de>) -> Result<Self, Error> {
        let start = input.position();
        let layout = input.layout()?;
        let read = Self::entries(&mut input, layout);
        read.map_err(|error| error.of_version(input.version(start)))
    }

    fn entries(input: &mut Input<'de>, layout: Layout) -> Result<Self, Error> {
        input.skip_outer_marker();
        let version = input.fixint(Entry::Version)?;
        let ndim = input.ndim()?;
        let shape = input.vector(Entry::Shape, ndim)?;
        let chunkshape = input.vector(Entry::Chunkshape, ndim)?;
        let blockshape = input.vector(Entry::Blockshape, ndim)?;
        let dtype_format =
            if layout.has(Entry::DtypeFormat) { input.fixint(Entry::DtypeFormat)? } else { 0 };
        let dtype = if layout.has(Entry::Dtype) { input.text()? } else { "" };
        Ok(Self {
            layout,
            version,
            ndim,
            shape,
            chunkshape,
            blockshape,
            dtype_format,
            dtype,
            rest: input.rest(),
        })
    }
}

/// The offset of an entry in the metalayer.
pub(crate) fn bytes_before(entry: Entry, layout: Layout, ndim: u8) -> usize {
    // Computed only for an error's place. Every width is fixed, so no byte has to be read.
    let vector = |width| 1 + usize::from(ndim) * width;
    let before = layout.entries().iter().take_while(|&&other| other != entry).map(|entry| match entry {
        Entry::Shape => vector(i64::WIDTH),
        Entry::Chunkshape | Entry::Blockshape => vector(i32::WIDTH),
        Entry::Version | Entry::Ndim | Entry::DtypeFormat => 1,
        Entry::Dtype => STR32_HEADER,
    });
    1 + before.sum::<usize>()
}
