//! The metalayers of a header and of a trailer: an index of names and offsets, then the contents.
//!
//! `93`, `cd` and the size of the index, `de` and the number of metalayers, for each one a name (a fixstr) and an offset
//! (`d2`); `dc` and the number of contents, each one a `c6` with its length.

use std::format;
use std::string::String;
use std::sync::Arc;
use std::vec::Vec;

use core::ops::Range;

use crate::frame::finding::{Code, Finding};
use crate::frame::format::cursor::Walk;

/// The bytes of a header or trailer, which its metalayers share. Not a slice: that would have to be copied to be shared.
pub(crate) type Part = Arc<Vec<u8>>;

/// A metalayer of a frame: bytes with a name.
///
/// ```
/// use b2nd_serde::frame::Frame;
///
/// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
/// let metalayer = &frame.metalayers()[0];
/// assert_eq!((metalayer.name(), metalayer.offset(), metalayer.bytes().len()), ("b2nd", 112, 53));
/// # Ok::<(), b2nd_serde::frame::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Metalayer {
    name: String,
    /// The header or trailer.
    part: Part,
    content: Range<usize>,
    offset_field: usize,
}

impl Metalayer {
    /// The one content of a trailer before the present generation, at the walk's position.
    pub(crate) fn unnamed(walk: &mut Walk<'_>, part: &Part, kind: &Kind) -> Result<Self, Finding> {
        let content = content(walk, kind, "")?;
        Ok(Self { name: String::new(), part: part.clone(), content, offset_field: 0 })
    }

    /// The name, of at most 31 bytes; those that are not UTF-8 are replaced. It ends before a NUL, as it does for C-Blosc2.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its first byte stands, counted from the start of the frame.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.content.start
    }

    /// The content.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.part.get(self.content.clone()).unwrap_or_default()
    }

    /// Where the index has the offset of this metalayer, as an int32 behind its marker, counted from the start of the
    /// frame. The number counts from the start of the frame too, and points 5 bytes before the content, at its marker.
    #[must_use]
    pub fn offset_field(&self) -> usize {
        self.offset_field
    }
}

impl core::fmt::Debug for Metalayer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Metalayer")
            .field("name", &self.name)
            .field("offset", &self.content.start)
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

/// Bytes before a content: its marker and its length.
pub(crate) const CONTENT_HEADER: usize = 5;

/// The metalayers of a header or trailer, with what stands around them. Positions count from the start of the part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section {
    /// Where its `93` stands.
    pub(crate) start: usize,
    /// The size of the index as it says: from the `93` up to the `dc`.
    pub(crate) index_size: u16,
    /// Where the index ends: where a `dc` should stand.
    pub(crate) list: usize,
    pub(crate) metalayers: Vec<Metalayer>,
}

/// The codes and limits of one kind of section.
pub(crate) struct Kind {
    pub(crate) count: Code,
    pub(crate) offset: Code,
    pub(crate) length: Code,
    pub(crate) max_count: u16,
}

impl Section {
    /// Reads the section at the walk's position; offsets count from the start of the walk's bytes. The walk is left
    /// behind the index.
    pub(crate) fn parse(walk: &mut Walk<'_>, part: &Part, kind: &Kind) -> Result<Self, Finding> {
        let start = walk.position;
        walk.marker(0x93, "the metalayers")?;
        walk.marker(0xcd, "the size of the index")?;
        let index_size = walk.u16()?;
        walk.marker(0xde, "the index of metalayers")?;
        let count = walk.u16()?;
        if count > kind.max_count {
            let text = format!("expected at most {} metalayers, found {count}", kind.max_count);
            return Err(walk
                .finding(kind.count, walk.position - 2)
                .numbers(kind.max_count, count)
                .text(text));
        }
        let mut metalayers = Vec::new();
        for _ in 0..count {
            metalayers.push(metalayer(walk, part, kind)?);
        }
        Ok(Self { start, index_size, list: walk.position, metalayers })
    }
}

fn metalayer(walk: &mut Walk<'_>, part: &Part, kind: &Kind) -> Result<Metalayer, Finding> {
    let at = walk.position;
    let marker = walk.byte()?;
    if marker & 0xe0 != 0xa0 {
        return Err(walk.wrong_marker(at, "a fixstr (0xa0 to 0xbf)", "the name of a metalayer", marker));
    }
    let name = walk.take(usize::from(marker & 0x1f))?;
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    let name = String::from_utf8_lossy(name).into_owned();

    let of = format!("the offset of metalayer {name}");
    let offset_field = walk.position + 1;
    let offset = walk.marked_i32(&of)?;
    let limit = walk.bytes.len().saturating_sub(CONTENT_HEADER);
    let position = usize::try_from(offset).ok().filter(|&position| position <= limit);
    let Some(position) = position else {
        let text = format!("expected 0 to {limit} for {of}, found {offset}");
        return Err(walk.finding(kind.offset, offset_field).numbers(limit, offset).text(text));
    };
    let content = content(&mut walk.from(position), kind, &name)?;
    Ok(Metalayer { name, part: part.clone(), content, offset_field })
}

/// Where the content is whose marker stands at the walk's position.
fn content(walk: &mut Walk<'_>, kind: &Kind, name: &str) -> Result<Range<usize>, Finding> {
    walk.marker(0xc6, &format!("the content of metalayer {name}"))?;
    let length = i32::from_be_bytes(walk.array()?);
    let left = walk.bytes.len() - walk.position;
    match usize::try_from(length) {
        Ok(length) if length <= left => Ok(walk.position..walk.position + length),
        _ => {
            let text = format!("expected 0 to {left} for the length of metalayer {name}, found {length}");
            Err(walk.finding(kind.length, walk.position - 4).numbers(left, length).text(text))
        }
    }
}
