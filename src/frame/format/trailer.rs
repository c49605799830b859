//! The trailer of a frame: its vlmetalayers, and a fingerprint that no writer has ever filled in.

use std::borrow::Cow;
use std::format;
use std::io::{Read, Seek, SeekFrom};
use std::sync::Arc;
use std::vec::Vec;

use serde::de::DeserializeOwned;

use crate::frame::find::open::read_up_to;
use crate::frame::finding::{Code, Finding, Place};
use crate::frame::format::chunk::ChunkHeader;
use crate::frame::format::cursor::{Rules, Walk};
use crate::frame::format::fields::Generation;
use crate::frame::format::header::{Header, too_long};
use crate::frame::format::section::{Kind, Metalayer, Part, Section};
use crate::frame::{Error, Frame};

/// What stands at the end of every trailer: `ce` and its length, `d8` and a fingerprint.
pub(crate) const END: usize = 23;

/// The bytes of the shortest trailer of all generations.
const LEAST: usize = 30;

/// The longest trailer that is read: 8192 vlmetalayers of 32 KiB. The format would have 4 GiB, which nobody shall have to
/// make room for because a file says so.
const LONGEST: usize = 1 << 28;

/// Bytes of the first read.
const FIRST_READ: usize = 512;

/// The most vlmetalayers that a trailer has: `BLOSC2_MAX_VLMETALAYERS`.
const MAX_VLMETALAYERS: u16 = 8 * 1024;

/// The trailer of a frame.
///
/// ```
/// use b2nd_serde::frame::Frame;
///
/// let mut frame = Frame::open("tests/data/int32_3x5.b2nd")?;
/// let trailer = frame.trailer()?;
/// assert_eq!(trailer.len(), 35);
/// assert_eq!(trailer.offset() + 35, frame.header().frame_len);
/// assert!(trailer.vlmetalayers().is_empty());
/// # Ok::<(), b2nd_serde::frame::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trailer {
    offset: u64,
    bytes: Part,
    version: u8,
    vlmetalayers: Vec<Vlmetalayer>,
}

/// A vlmetalayer: a named value that can change its length, and so stands in the trailer.
///
/// The value is `MessagePack`, in a Blosc2 chunk. The chunk has it as it is where it is short; else it is compressed, and
/// can be read with the feature `decompress`.
///
/// ```
/// use b2nd_serde::frame::Frame;
///
/// let trailer = Frame::open("tests/data/vlmetalayers.b2nd")?.trailer()?;
/// let [short, long] = trailer.vlmetalayers() else { panic!("not two") };
/// assert_eq!(short.name(), "unit");
/// assert_eq!(short.decode::<String>()?, "kelvin");
/// assert_eq!((long.chunk().len(), long.nbytes()), (61, Some(1003)));
/// if cfg!(feature = "decompress") {
///     assert_eq!(long.decode::<String>()?, "x".repeat(1000));
/// }
/// # Ok::<(), b2nd_serde::frame::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vlmetalayer {
    /// Its places count from the start of the trailer.
    metalayer: Metalayer,
    trailer: u64,
}

impl Trailer {
    /// Reads the trailer out of the last bytes of a frame. More bytes before it do no harm.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Incomplete`](crate::frame::ErrorKind::Incomplete) if more bytes are needed, counted from the end of
    /// the frame.
    ///
    /// ```
    /// use b2nd_serde::frame::{Frame, Trailer};
    ///
    /// let file = std::fs::read("tests/data/int32_3x5.b2nd")?;
    /// let frame = Frame::parse(&file)?;
    /// let last = |length| &file[file.len() - length..];
    /// assert_eq!(Trailer::parse(frame.header(), last(20)).unwrap_err().needed(), Some(23));
    /// assert_eq!(Trailer::parse(frame.header(), last(23)).unwrap_err().needed(), Some(35));
    /// assert_eq!(Trailer::parse(frame.header(), last(35))?.version(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(header: &Header, suffix: &[u8]) -> Result<Self, Error> {
        let length = length(header, suffix)?;
        let start = suffix.len().checked_sub(length);
        let bytes = start.and_then(|start| suffix.get(start..)).ok_or_else(|| Error::incomplete(length))?;
        Self::walk(header, bytes.to_vec()).map_err(Error::malformed)
    }

    fn walk(header: &Header, bytes: Vec<u8>) -> Result<Self, Finding> {
        let offset = header.frame_len.saturating_sub(bytes.len() as u64);
        let bytes = Arc::new(bytes);
        let part = bytes.clone();
        let inner = part.get(..part.len().saturating_sub(END)).unwrap_or_default();
        let mut walk = Walk::new(inner, rules(offset));
        let is_first = header.generation == Generation::Beta1;
        walk.marker(if is_first { 0x0d } else { 0x94 }, "the trailer")?;
        let version = walk.byte()?;
        let kind = Kind {
            count: Code::VlmetalayerCount,
            offset: Code::VlmetalayerOffset,
            length: Code::VlmetalayerLength,
            max_count: MAX_VLMETALAYERS,
        };
        let mut vlmetalayers = Vec::new();
        if header.generation == Generation::Present {
            let found = Section::parse(&mut walk, &part, &kind)?;
            vlmetalayers.extend(found.metalayers);
        } else {
            let unnamed = Metalayer::unnamed(&mut walk, &part, &kind)?;
            vlmetalayers.extend((!unnamed.bytes().is_empty()).then_some(unnamed));
        }
        let vlmetalayers =
            vlmetalayers.into_iter().map(|metalayer| Vlmetalayer { metalayer, trailer: offset }).collect();
        Ok(Self { offset, bytes, version, vlmetalayers })
    }

    /// Where it stands, counted from the start of the frame.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Its length in bytes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a trailer has bytes")]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The version of its format: 1, or 0 in the first generation of frames.
    #[must_use]
    pub fn version(&self) -> u8 {
        self.version
    }

    /// The vlmetalayers, in the order of the trailer. In the generations before the present one, there is at most one,
    /// and it has no name.
    #[must_use]
    pub fn vlmetalayers(&self) -> &[Vlmetalayer] {
        &self.vlmetalayers
    }
}

fn rules(start: u64) -> Rules {
    Rules { place: Place::Trailer, start, marker: Code::TrailerMarker, end: Code::TrailerLength }
}

/// The length of the trailer that ends here.
fn length(header: &Header, suffix: &[u8]) -> Result<usize, Error> {
    let most = header.frame_len.saturating_sub(header.header_len as u64);
    if most < LEAST as u64 {
        let text = format!("expected a trailer of at least {LEAST} bytes behind the header, found {most}");
        let finding = Finding::new(Code::TrailerLength, Place::Trailer).at(header.header_len as u64);
        return Err(Error::malformed(finding.numbers(LEAST, most).text(text)));
    }
    let Some(end) = suffix.last_chunk::<END>() else { return Err(Error::incomplete(END)) };
    let mut walk = Walk::new(end, rules(header.frame_len.saturating_sub(END as u64)));
    walk.marker(0xce, "the length of the trailer").map_err(Error::malformed)?;
    let length = u32::from_be_bytes(walk.array().map_err(Error::malformed)?);
    match usize::try_from(length) {
        Ok(length) if length >= LEAST && length as u64 <= most => {
            if length <= LONGEST {
                return Ok(length);
            }
            let at = header.frame_len.saturating_sub(END as u64 - 1);
            Err(Error::malformed(too_long(Place::Trailer, at, LONGEST, length)))
        }
        _ => {
            let text = format!("expected {LEAST} to {most} for the length of the trailer, found {length}");
            let finding = walk.finding(Code::TrailerLength, 1).numbers(most, length);
            Err(Error::malformed(finding.text(text)))
        }
    }
}

impl Vlmetalayer {
    /// The name, of at most 31 bytes; those that are not UTF-8 are replaced.
    #[must_use]
    pub fn name(&self) -> &str {
        self.metalayer.name()
    }

    /// Where its chunk begins, counted from the start of the frame.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.trailer.saturating_add(self.metalayer.offset() as u64)
    }

    /// The chunk that has the value.
    #[must_use]
    pub fn chunk(&self) -> &[u8] {
        self.metalayer.bytes()
    }

    /// The bytes of the value, decompressed; `None` if the chunk is none.
    #[must_use]
    pub fn nbytes(&self) -> Option<usize> {
        self.chunk_header().map(|header| header.nbytes)
    }

    /// The value, which is `MessagePack`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Decode`](crate::frame::ErrorKind::Decode) if the chunk is damaged, if the value is longer than 256 MiB, or if it is compressed and the
    /// feature `decompress` is off.
    pub fn value(&self) -> Result<Cow<'_, [u8]>, Error> {
        let header = self.chunk_header().ok_or_else(|| "not a Blosc2 chunk".into());
        let value = header.and_then(|header| header.data(self.chunk(), LONGEST));
        value.map_err(|reason| Error::decode(self.name(), reason))
    }

    /// Reads the value into a type.
    ///
    /// # Errors
    ///
    /// Those of [`value`](Self::value), or that the value is not of that type.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, Error> {
        rmp_serde::from_slice(&self.value()?).map_err(|error| Error::decode(self.name(), error))
    }

    pub(crate) fn chunk_header(&self) -> Option<ChunkHeader> {
        ChunkHeader::parse(self.chunk()).filter(|header| header.cbytes == self.chunk().len())
    }
}

impl<R: Read + Seek> Frame<R> {
    /// Reads the trailer, which has the vlmetalayers.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or has no trailer where the frame ends.
    ///
    /// ```
    /// use b2nd_serde::frame::Frame;
    ///
    /// let mut frame = Frame::open("tests/data/vlmetalayers.b2nd")?;
    /// let names: Vec<_> = frame.trailer()?.vlmetalayers().iter().map(|layer| layer.name().to_owned()).collect();
    /// assert_eq!(names, ["unit", "note"]);
    /// # Ok::<(), b2nd_serde::frame::Error>(())
    /// ```
    pub fn trailer(&mut self) -> Result<Trailer, Error> {
        let suffix = self.last_bytes(FIRST_READ)?;
        let parsed = Trailer::parse(&self.header, &suffix);
        let Some(needed) = parsed.as_ref().err().and_then(Error::needed) else { return parsed };
        let suffix = self.last_bytes(needed)?;
        if suffix.len() < needed {
            return parsed;
        }
        if length(&self.header, &suffix)? != needed {
            return Err(Error::changing(None));
        }
        Trailer::walk(&self.header, suffix).map_err(Error::malformed)
    }

    /// The last bytes of the frame, none of the header's.
    fn last_bytes(&mut self, length: usize) -> Result<Vec<u8>, Error> {
        let length = (length as u64).min(self.header.frame_len.saturating_sub(self.header.header_len as u64));
        self.bytes_at(self.header.frame_len.saturating_sub(length), length)
    }

    /// Bytes of the frame: as many as there are, up to a length.
    pub(crate) fn bytes_at(&mut self, position: u64, length: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        self.reader.seek(SeekFrom::Start(self.offset.saturating_add(position)))?;
        read_up_to(&mut self.reader, length, &mut bytes)?;
        Ok(bytes)
    }
}
