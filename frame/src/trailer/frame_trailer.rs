//! The trailer of a frame: its vlmetalayers, and a fingerprint, which all writers leave empty.
//!
//! | bytes | meaning |
//! |---|---|
//! | `94` | array of 4: version, vlmetalayers, length, fingerprint |
//! | `01` | the version |
//! | `93` … | the vlmetalayers: a [section](crate::header::section), whose offsets count from the `94` |
//! | `ce` + 4 | the length of the trailer |
//! | `d8` + 1 + 16 | the fingerprint, with its kind: all zeros |
//!
//! A trailer without vlmetalayers has 35 bytes. In a frame of the older [`Generation`], the trailer has no section of
//! vlmetalayers. Instead, it has a single value without a name: the byte `c6`, a length of 4 bytes, and the value.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use b2nd_chunk::ChunkHeader;
#[cfg(feature = "decompress")]
use b2nd_chunk::{Chunk, Decompressor};
use serde::de::DeserializeOwned;

use crate::chunk::expansion::{self, NotDecompressed};
use crate::code::FindingCode;
use crate::error::Error;
use crate::finding::{Escaped, Finding, Place};
use crate::header::fields::Generation;
use crate::header::frame_header::{Header, too_long};
use crate::header::section::{CONTENT_HEADER, Metalayer, Section, SectionRules, SharedBytes, map_value};
use crate::messagepack::cursor::{Cursor, Part};
use crate::messagepack::marker::Marker;
use crate::trailer::embed_list::{EMBED_LIST_NAME, EmbedPlace};

/// The number of bytes before the vlmetalayers.
pub(crate) const HEAD_LEN: usize = 2;

/// The number of bytes that record the length of the trailer, with their marker.
const LENGTH_LEN: usize = 5;

/// The number of bytes of the fingerprint, with its marker.
const FINGERPRINT_LEN: usize = 18;

/// The number of bytes after the vlmetalayers, in every generation.
pub(crate) const END_LEN: usize = LENGTH_LEN + FINGERPRINT_LEN;

/// The number of bytes of the shortest trailer: one of the older generation, with an empty value.
const MIN_TRAILER_LEN: usize = HEAD_LEN + CONTENT_HEADER + END_LEN;

/// The longest trailer that is read: enough for 8192 vlmetalayers of 32 KiB. The format allows 4 GiB, but a hostile
/// length must not make us allocate that much.
pub(crate) const MAX_TRAILER_LEN: usize = 1 << 28;

/// The maximum length in bytes of a list of a store's keys or objects. A longer list is not read. This length is enough
/// for some 200,000 keys. In memory, a list takes several times its length.
pub(crate) const MAX_KEYS_LEN: usize = 1 << 24;

/// The version of the trailer's format in new frames.
pub(crate) const VERSION: u8 = 1;

/// The trailer of a frame, which holds the vlmetalayers.
///
/// ```
/// use b2nd_frame::Frame;
///
/// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
/// let trailer = frame.trailer()?;
/// assert_eq!(trailer.bytes().len(), 35);
/// assert_eq!(trailer.offset() + 35, frame.header().frame_len);
/// assert!(trailer.vlmetalayers().is_empty());
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trailer {
    offset: u64,
    bytes: SharedBytes,
    version: u8,
    vlmetalayers: Vec<Vlmetalayer>,
}

/// A vlmetalayer: a named value in the trailer. A later change of the value can also change its length.
///
/// The value is `MessagePack` in a Blosc2 chunk. Writers compress all but the shortest values. Reading a compressed
/// value needs the feature `decompress`.
///
/// ```
/// use b2nd_frame::Frame;
///
/// let trailer = Frame::open("tests/data/vlmetalayers.b2nd")?.trailer()?;
/// let [short, long] = trailer.vlmetalayers() else { panic!("not two") };
/// assert_eq!(short.name(), "unit");
/// assert_eq!(short.decode::<String>()?, "kelvin");
/// assert_eq!((long.chunk().len(), long.nbytes()), (61, Some(1003)));
/// if cfg!(feature = "decompress") {
///     assert_eq!(long.decode::<String>()?, "x".repeat(1000));
/// }
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vlmetalayer {
    /// The name and the chunk of the vlmetalayer. The offset of the chunk counts from the start of the trailer.
    metalayer: Metalayer,
    trailer_offset: u64,
}

impl Trailer {
    /// Reads the trailer from the last bytes of a frame. `suffix` may begin before the trailer.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Incomplete`](crate::ErrorKind::Incomplete) if `suffix` must begin earlier in the frame,
    /// [`ErrorKind::Malformed`](crate::ErrorKind::Malformed) if `suffix` does not end with a trailer.
    ///
    /// ```
    /// use b2nd_frame::{Frame, Trailer};
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
        Self::parse_whole(header, Arc::new(bytes.to_vec())).map_err(Error::malformed)
    }

    /// Reads a whole trailer.
    // The cursor gets only the bytes before the length and the fingerprint of the trailer. So the
    // trailer is refused if a vlmetalayer claims bytes of the length or the fingerprint.
    pub(crate) fn parse_whole(header: &Header, shared: SharedBytes) -> Result<Self, Finding> {
        let offset = header.frame_len.saturating_sub(shared.len() as u64);
        let inner = shared.get(..shared.len().saturating_sub(END_LEN)).unwrap_or_default();
        let mut cursor = Cursor::new(inner, part(offset));
        cursor.marker(START_MARKER, "the trailer")?;
        let version = cursor.byte()?;
        let metalayers = if header.generation == Generation::Present {
            Section::parse(&mut cursor, &shared, &SectionRules::TRAILER)?.metalayers
        } else {
            let unnamed = Metalayer::unnamed(&mut cursor, &shared)?;
            // A trailer of the older generation always has one value. If it is empty, the frame has no vlmetalayer.
            (!unnamed.bytes().is_empty()).then_some(unnamed).into_iter().collect()
        };
        let vlmetalayers = metalayers
            .into_iter()
            .map(|metalayer| Vlmetalayer { metalayer, trailer_offset: offset })
            .collect();
        Ok(Self { offset, bytes: shared, version, vlmetalayers })
    }

    /// The bytes of a trailer of the present generation, with these names and chunks. `None` if the trailer is longer
    /// than readers accept, or if an offset or a length does not fit its field. The first byte of `fingerprint` is the
    /// kind of the fingerprint.
    pub(crate) fn build(
        vlmetalayers: &[(&[u8], &[u8])],
        fingerprint: [u8; FINGERPRINT_LEN - 1],
    ) -> Option<Vec<u8>> {
        let mut bytes = [START_MARKER.to_u8(), VERSION].to_vec();
        bytes.extend(Section::build(&SectionRules::TRAILER, HEAD_LEN, vlmetalayers)?);
        let len = bytes.len() + END_LEN;
        let len = u32::try_from(len).ok().filter(|_| len <= MAX_TRAILER_LEN)?;
        bytes.push(Marker::U32.to_u8());
        bytes.extend(len.to_be_bytes());
        bytes.push(Marker::FixExt16.to_u8());
        bytes.extend(fingerprint);
        Some(bytes)
    }

    /// The fingerprint of the frame, without its marker: a byte for the kind of the fingerprint, and 16 bytes.
    pub(crate) fn fingerprint(&self) -> [u8; FINGERPRINT_LEN - 1] {
        self.bytes.last_chunk().copied().unwrap_or_default()
    }

    /// The offset of the trailer, counted from the start of the frame.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes of the trailer.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The version of the trailer's format, which is 1.
    #[must_use]
    pub fn version(&self) -> u8 {
        self.version
    }

    /// All vlmetalayers, in the order of the trailer. A trailer of the older generation has at most one vlmetalayer,
    /// without a name.
    #[must_use]
    pub fn vlmetalayers(&self) -> &[Vlmetalayer] {
        &self.vlmetalayers
    }

    /// The first vlmetalayer with this name; `None` if there is none.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let trailer = Frame::open("tests/data/vlmetalayers.b2nd")?.trailer()?;
    /// let unit = trailer.vlmetalayer("unit").expect("a vlmetalayer");
    /// assert_eq!(unit.decode::<String>()?, "kelvin");
    /// assert!(trailer.vlmetalayer("color").is_none());
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn vlmetalayer(&self, name: &str) -> Option<&Vlmetalayer> {
        self.vlmetalayers.iter().find(|layer| layer.name() == name)
    }

    /// The keys of the frames in the compressed data of a [store](crate::ObjectKind::is_store), and the keys of the
    /// store's arrays on a server. The list is empty if the frame is not a store, or if its keys cannot be read.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let trailer = Frame::open("tests/data/peers/store.b2e")?.trailer()?;
    /// # #[cfg(feature = "decompress")]
    /// assert_eq!(trailer.embedded(), ["/node"]);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn embedded(&self) -> Vec<String> {
        self.embed_map().unwrap_or_default().into_keys().collect()
    }

    /// The place of each key of the store, from the [list](super::embed_list) of embedded frames; `None` if the list
    /// cannot be read.
    pub(crate) fn embed_map(&self) -> Option<BTreeMap<String, EmbedPlace>> {
        map_value(&self.list(EMBED_LIST_NAME)?, "embed_map")
    }

    /// The value of a vlmetalayer that holds a list; `None` if the vlmetalayer is missing, or if the value is too long
    /// or cannot be read.
    pub(crate) fn list(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let layer = self.vlmetalayer(name)?;
        layer.nbytes().filter(|&nbytes| nbytes <= MAX_KEYS_LEN)?;
        layer.value().ok()
    }
}

/// The first byte of a trailer.
const START_MARKER: Marker = Marker::FixArray(4);

pub(crate) fn part(start: u64) -> Part {
    Part { place: Place::Trailer, start, code: FindingCode::DamagedTrailer }
}

/// Reads the length of the trailer. `suffix` has the last bytes of the frame, which include the length.
// The start of a trailer can only be computed from its length, because the frame does not record the start. In every
// generation, the four bytes of the length begin 22 bytes before the end of the trailer.
pub(crate) fn length(header: &Header, suffix: &[u8]) -> Result<usize, Error> {
    let most = header.frame_len.saturating_sub(header.header_len as u64);
    if most < MIN_TRAILER_LEN as u64 {
        let text =
            format!("{most} bytes are left after the header, but a trailer needs at least {MIN_TRAILER_LEN}");
        let finding = Finding::new(FindingCode::DamagedTrailer, Place::Trailer).at(header.header_len as u64);
        return Err(Error::malformed(finding.numbers(MIN_TRAILER_LEN, most).text(text)));
    }
    let end = suffix.last_chunk::<END_LEN>().ok_or_else(|| Error::incomplete(END_LEN))?;
    let start = header.frame_len.saturating_sub(END_LEN as u64);
    let mut cursor = Cursor::new(end, part(start));
    let len = cursor.value(Marker::U32, "the length of the trailer").map_err(Error::malformed)?;
    let len = u32::from_be_bytes(len);
    Err(Error::malformed(match usize::try_from(len) {
        Ok(len) if len >= MIN_TRAILER_LEN && len as u64 <= most => {
            if len <= MAX_TRAILER_LEN {
                return Ok(len);
            }
            too_long(Place::Trailer, start.saturating_add(1), MAX_TRAILER_LEN, len)
        }
        _ => {
            let text = format!("the length of the trailer is {len}, but must be {MIN_TRAILER_LEN} to {most}");
            cursor.finding(1).numbers(most, len).text(text)
        }
    }))
}

impl Vlmetalayer {
    /// The name of the vlmetalayer, at most 31 bytes. Bytes that are not UTF-8 are replaced.
    #[must_use]
    pub fn name(&self) -> &str {
        self.metalayer.name()
    }

    /// The bytes of the name, which may not be UTF-8.
    pub(crate) fn raw_name(&self) -> &[u8] {
        self.metalayer.raw_name()
    }

    /// Whether the name is UTF-8, so python-blosc2 can read it.
    pub(crate) fn has_name_in_utf8(&self) -> bool {
        core::str::from_utf8(self.metalayer.raw_name()).is_ok()
    }

    /// The offset of the chunk that holds the value, counted from the start of the frame.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.trailer_offset.saturating_add(self.metalayer.offset() as u64)
    }

    /// The chunk that holds the value.
    #[must_use]
    pub fn chunk(&self) -> &[u8] {
        self.metalayer.bytes()
    }

    /// The length of the value in bytes, decompressed; `None` if the bytes are not a chunk.
    #[must_use]
    pub fn nbytes(&self) -> Option<usize> {
        self.chunk_header().map(|header| header.nbytes())
    }

    /// The value as `MessagePack` bytes, decompressed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Decode`](crate::ErrorKind::Decode) if the chunk is damaged.
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if its codec or a filter is a plugin, or if it is compressed and
    /// the feature `decompress` is off. [`TooLarge`](crate::ErrorKind::TooLarge) if the value is too long. A few bytes
    /// can claim gigabytes, so a compressed value in a chunk of `n` bytes may have at most 1 MiB + 1024 * `n` bytes,
    /// and never more than 256 MiB.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let trailer = Frame::open("tests/data/vlmetalayers.b2nd")?.trailer()?;
    /// let unit = trailer.vlmetalayer("unit").expect("a unit");
    /// // As MessagePack, a short string is its length and its bytes.
    /// assert_eq!(*unit.value()?, *b"\xa6kelvin");
    /// assert_eq!(unit.decode::<String>()?, "kelvin");
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn value(&self) -> Result<Cow<'_, [u8]>, Error> {
        expansion::value(self.valid_header()?, self.chunk()).map_err(|why| self.not_decompressed(why))
    }

    fn valid_header(&self) -> Result<ChunkHeader, Error> {
        self.chunk_header().ok_or_else(|| Error::decode(self.name(), "not a Blosc2 chunk"))
    }

    fn not_decompressed(&self, why: NotDecompressed) -> Error {
        let text = |why: &str| format!("cannot read vlmetalayer {}: its chunk {why}", Escaped(self.name()));
        match why {
            NotDecompressed::Damaged(why) => Error::decode(self.name(), format!("the chunk {why}")),
            NotDecompressed::Unsupported(why) => Error::unsupported(text(&why)),
            NotDecompressed::TooLarge(why) => Error::too_large(text(&why)),
        }
    }

    /// Writes the value as `MessagePack` bytes, decompressed block by block if all blocks have the same size. Unlike
    /// [`value`](Self::value), this call does not limit the length of the value: a few bytes can become 2 GiB.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Decode`](crate::ErrorKind::Decode) if the chunk is damaged.
    /// [`Unsupported`](crate::ErrorKind::Unsupported) if its codec or a filter is a plugin.
    /// [`TooLarge`](crate::ErrorKind::TooLarge) if there is not enough memory. [`Io`](crate::ErrorKind::Io) if `out`
    /// fails.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let trailer = Frame::open("tests/data/vlmetalayers.b2nd")?.trailer()?;
    /// let mut value = Vec::new();
    /// trailer.vlmetalayer("unit").expect("a unit").write_value(&mut value)?;
    /// assert_eq!(value, b"\xa6kelvin");
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[cfg(feature = "decompress")]
    pub fn write_value(&self, mut out: impl std::io::Write) -> Result<(), Error> {
        let failed = |error| self.not_decompressed(NotDecompressed::new(error));
        let header = self.valid_header()?.checked().map_err(failed)?;
        let chunk = Chunk::with_header(header, self.chunk()).map_err(failed)?;
        let mut decompressor = Decompressor::new();
        if header.has_variable_blocks() {
            // Only the streams record the lengths of these blocks, so decompress the whole chunk at once.
            let mut data = expansion::zeroed(header.nbytes())?;
            decompressor.decompress_into(&chunk, &mut data).map_err(failed)?;
            return out.write_all(&data).map_err(Error::writing);
        }
        let mut block = expansion::zeroed(header.blocksize().min(header.nbytes()))?;
        for number in 0..header.nblocks().unwrap_or_default() {
            let length = header.block_len(number).unwrap_or_default();
            let block = block.get_mut(..length).unwrap_or_default();
            let length = decompressor.decompress_block(&chunk, number, block).map_err(failed)?;
            out.write_all(block.get(..length).unwrap_or_default()).map_err(Error::writing)?;
        }
        Ok(())
    }

    /// Deserializes the value as `T`. Bytes after the `MessagePack` value are ignored.
    ///
    /// The memory that this call takes depends on `T`. If `T` is a `Vec`, each byte of the value can become an item,
    /// and an item can have many bytes.
    ///
    /// # Errors
    ///
    /// The errors of [`value`](Self::value), and [`ErrorKind::Decode`](crate::ErrorKind::Decode) if the value does not
    /// fit `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, Error> {
        rmp_serde::from_slice(&self.value()?).map_err(|error| Error::decode(self.name(), error))
    }

    /// The expansion limit of the value, in bytes.
    pub(crate) fn longest_value(&self) -> usize {
        expansion::longest_value(self.chunk())
    }

    pub(crate) fn chunk_header(&self) -> Option<ChunkHeader> {
        ChunkHeader::parse(self.chunk()).filter(|header| header.cbytes() == self.chunk().len())
    }
}
