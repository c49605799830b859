//! The header of a frame: reading its values, and putting its bytes together.

use core::array;
use core::ops::Range;

use crate::finding::{Code, Finding, Place};
use crate::format::cursor::{Cursor, Part};
use crate::format::fields::{Encoding, FRAME_TYPE, Field, Generation, filters};
use crate::format::flags::{Codec, Filter, FrameType, MAX_FILTERS, SplitMode};
use crate::format::marker::{Marker, Named};

pub(crate) const MAGIC: &[u8; 8] = b"b2frame\0";

/// The offset of the magic, in every generation.
pub(crate) const MAGIC_OFFSET: usize = offset(Field::Magic);

/// The offset of the length of the header, in every generation.
pub(crate) const HEADER_LEN_OFFSET: usize = offset(Field::HeaderLen);

/// The number of bytes that say how long the header and the frame are.
pub(crate) const START_LEN: usize = offset(Field::FrameLen) + Field::FrameLen.encoding().len;

/// The longest header that is read: 16 metalayers of 4 MiB. Real ones have a few KiB. The format allows 2 GiB, but a
/// hostile length must not make us allocate that much.
pub(crate) const MAX_HEADER_LEN: usize = 1 << 26;

/// The codec's number in the flags, if the codec itself is with the filters.
const CODEC_WITH_FILTERS: u8 = 6;

/// The version of the format that is written.
pub(crate) const VERSION: u8 = 2;

/// The same if chunks may have different sizes.
const VARIABLE_VERSION: u8 = 3;

/// In the first byte of flags: chunks may have different sizes.
const HAS_VARIABLE_CHUNKS: u8 = 0x40;

/// In the first byte of flags. All writers set it.
const HAS_64_BIT_OFFSETS: u8 = 0x10;

/// The offset of a value in a header of the present generation, which has all of them.
const fn offset(field: Field) -> usize {
    match field.offset(Generation::Present) {
        Some(offset) => offset,
        None => 0,
    }
}

/// The values of a frame's header, without its metalayers.
///
/// All values are as in the file; [`Frame::check`] checks whether they agree with each other. The page of [`Field`]
/// shows their bytes.
///
/// ```
/// use b2nd_frame::{Codec, Frame, FrameType, SplitMode};
///
/// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
/// let header = frame.header();
/// assert_eq!((header.nbytes, header.typesize), (128, 4));
/// assert_eq!((header.blocksize, header.chunksize), (Some(8), 32));
/// assert_eq!(header.frame_type, FrameType::Contiguous);
/// assert_eq!((header.codec, header.level), (Codec(5), 5));
/// assert_eq!(header.split_mode, SplitMode::Auto);
/// assert_eq!(header.pipeline().map(|filter| filter.to_string()).collect::<Vec<_>>(), ["shuffle"]);
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
///
/// [`Frame::check`]: crate::Frame::check
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "the header has as many")]
pub struct Header {
    /// The generation of the header, which decides which values it has.
    pub generation: Generation,
    /// The length of the header in bytes, with its metalayers.
    pub header_len: usize,
    /// The length of the frame in bytes. For a sparse frame, the length of the file that has the header.
    pub frame_len: u64,
    /// The four bytes of flags, unchanged. Fields below have their meanings.
    pub flags: [u8; 4],
    /// The version of the format: 2, or 3 if chunks or blocks may have different sizes. Older generations have 1 or 4.
    pub version: u8,
    /// Whether chunks may have different sizes. C-Blosc2 also sets it if `chunksize` is 0, so arrays without items can
    /// have it too.
    pub has_variable_chunks: bool,
    /// Whether blocks have different sizes. No array has such blocks.
    pub has_variable_blocks: bool,
    /// Where the chunks are. The first generation has no sparse frames.
    pub frame_type: FrameType,
    /// The codec for new chunks.
    pub codec: Codec,
    /// A parameter of the codec; 0 before the present generation.
    pub codec_meta: u8,
    /// The compression level for new chunks, 0 to 9 in a valid header.
    pub level: u8,
    /// How the blocks of new chunks are split. Writers that did not know split modes wrote 0, which means
    /// [`SplitMode::Always`].
    pub split_mode: SplitMode,
    /// Whether new chunks are compressed with a dictionary.
    pub uses_dictionary: bool,
    /// The size of all decompressed chunks in bytes, with the padding of an array's chunks.
    pub nbytes: i64,
    /// The size of all chunks as stored, in bytes. If there are no chunks, the number has no meaning.
    pub cbytes: i64,
    /// The size of an item in bytes.
    pub typesize: i32,
    /// The size of a decompressed block in bytes; `None` before the present generation.
    pub blocksize: Option<i32>,
    /// The size of a decompressed chunk in bytes. It is 0 if chunks have different sizes, and may be 0 or -1 if there
    /// are none.
    pub chunksize: i32,
    /// The number of threads that the writer used to compress.
    pub compression_threads: i16,
    /// The number of threads that the writer used to decompress.
    pub decompression_threads: i16,
    /// Whether the trailer has vlmetalayers.
    pub has_vlmetalayers: bool,
    /// The number of filters that the header counts, at most 6 in a valid header. A filter with number 0 is not in use.
    /// In the first generation, which has no filters, this is 0.
    pub nfilters: u8,
    /// The filters for new chunks, in the order in which they are applied.
    pub filters: [Filter; 6],
}

impl Header {
    /// The range of bytes in the frame that holds a value, without its marker; `None` if this generation does not have
    /// the value.
    ///
    /// ```
    /// use b2nd_frame::{Field, Frame};
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// assert_eq!(frame.header().range(Field::Nbytes), Some(30..38));
    /// assert_eq!(frame.header().range(Field::Metalayers), Some(87..165));
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn range(&self, field: Field) -> Option<Range<usize>> {
        let start = field.offset(self.generation)?;
        let end = if field == Field::Metalayers { self.header_len } else { start + field.encoding().len };
        Some(start..end)
    }

    /// A finding about a value.
    pub(crate) fn finding(&self, code: Code, field: Field) -> Finding {
        let finding = Finding::new(code, Place::Header);
        match self.range(field) {
            Some(range) => finding.at(range.start as u64),
            None => finding,
        }
    }

    /// Whether it is a sparse frame: a directory with a file for each chunk.
    #[must_use]
    pub fn is_sparse(&self) -> bool {
        self.frame_type == FrameType::Sparse
    }

    /// The filters in use, in the order in which they are applied.
    pub fn pipeline(&self) -> impl Iterator<Item = Filter> + '_ {
        self.filters.iter().take(self.nfilters.into()).copied().filter(|filter| filter.id != 0)
    }

    /// The number of chunks, computed from `nbytes` and `chunksize`. `None` if chunks have different sizes, or if one
    /// of the two is negative.
    #[must_use]
    pub fn nchunks(&self) -> Option<u64> {
        let nbytes = u64::try_from(self.nbytes).ok()?;
        // Without chunks, Caterva writes a chunk size of -1.
        if nbytes == 0 {
            return Some(0);
        }
        let chunksize = u64::try_from(self.chunksize).ok().filter(|&chunksize| chunksize > 0)?;
        Some(nbytes.div_ceil(chunksize))
    }
}

/// Why the length of a header is not known.
pub(crate) enum LengthError {
    /// This many bytes are needed.
    Incomplete(usize),
    /// The bytes are not a header.
    Malformed(Finding),
}

/// The values that every header begins with.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    generation: Generation,
    pub(crate) header_len: usize,
    frame_len: u64,
}

impl Start {
    pub(crate) fn parse(prefix: &[u8]) -> Result<Self, LengthError> {
        let magic = prefix.get(MAGIC_OFFSET..).unwrap_or_default();
        let len = magic.len().min(MAGIC.len());
        if magic.get(..len) != MAGIC.get(..len) {
            return Err(LengthError::Malformed(other_bytes(prefix)));
        }
        let is_other = prefix.first().is_some_and(|&marker| Generation::of_marker(marker).is_none());
        if is_other && len < MAGIC.len() {
            return Err(LengthError::Malformed(other_bytes(prefix)));
        }
        // A wrong first byte is one however few bytes follow it, so that more bytes never make a malformed header incomplete.
        if !is_other && prefix.len() < START_LEN {
            return Err(LengthError::Incomplete(START_LEN));
        }
        Self::take(&mut cursor(prefix)).map_err(LengthError::Malformed)
    }

    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Finding> {
        let marker = cursor.byte()?;
        let Some(generation) = Generation::of_marker(marker) else {
            let [beta1, beta2, present] = Generation::ALL.map(|generation| Named(generation.marker()));
            return Err(cursor.wrong_marker(
                &format_args!("{beta1}, {beta2} or {present}"),
                &"the header",
                marker,
            ));
        };
        Field::Magic.take::<{ MAGIC.len() }>(cursor)?;
        let header_len = i32::from_be_bytes(Field::HeaderLen.take(cursor)?);
        let frame_len = u64::from_be_bytes(Field::FrameLen.take(cursor)?);
        match usize::try_from(header_len) {
            Ok(header_len)
                if (generation.head_len()..=MAX_HEADER_LEN).contains(&header_len)
                    && header_len as u64 <= frame_len =>
            {
                Ok(Self { generation, header_len, frame_len })
            }
            _ => Err(wrong_len(cursor, generation, header_len, frame_len)),
        }
    }
}

#[cold]
fn wrong_len(cursor: &Cursor<'_>, generation: Generation, header_len: i32, frame_len: u64) -> Finding {
    let least = generation.head_len();
    let (limit, text) = match usize::try_from(header_len) {
        Ok(len) if len >= least && len as u64 <= frame_len => {
            return too_long(Place::Header, HEADER_LEN_OFFSET as u64, MAX_HEADER_LEN, len);
        }
        Ok(len) if len >= least => {
            (frame_len, format!("header_len is {len}, but must be at most frame_len, {frame_len}"))
        }
        _ => (least as u64, format!("header_len is {header_len}, but must be at least {least}")),
    };
    cursor.finding(Code::HeaderLength, HEADER_LEN_OFFSET).numbers(limit, header_len).text(text)
}

/// The finding for bytes that are not a frame, with a hint at what they may be.
fn other_bytes(prefix: &[u8]) -> Finding {
    let is_zeroed = prefix.iter().take(START_LEN).all(|&byte| byte == 0);
    not_a_frame(if is_zeroed {
        "it begins with zeros: never written, or lost"
    } else {
        "no b2frame magic at byte 2"
    })
}

pub(crate) fn not_a_frame(why: &str) -> Finding {
    Finding::new(Code::NotAFrame, Place::Header).text(format!("not a Blosc2 frame: {why}"))
}

/// The finding for a header or trailer that is longer than this crate reads.
pub(crate) fn too_long(place: Place, offset: u64, longest: usize, length: usize) -> Finding {
    let text = format!("{place} has {length} bytes, but at most {longest} are read");
    Finding::new(Code::TooLong, place).at(offset).numbers(longest, length).text(text)
}

/// That a frame is longer than what is there of its file. `bound` comes before a length that is not known exactly.
pub(crate) fn cut_short(bound: &str, frame_len: u64, available: u64) -> Finding {
    let text = format!("cut short: the frame has {bound}{frame_len} bytes, but the file only {available}");
    Finding::new(Code::Truncated, Place::File).numbers(frame_len, available).text(text)
}

fn cursor(bytes: &[u8]) -> Cursor<'_> {
    let (marker, end) = (Code::HeaderMarker, Code::HeaderLength);
    Cursor::new(bytes, Part { place: Place::Header, start: 0, marker, end })
}

/// Reads the header after its start, up to the metalayers.
pub(crate) fn parse(bytes: &[u8], start: Start) -> Result<Header, Finding> {
    let Start { generation, header_len, frame_len } = start;
    let cursor = &mut cursor(bytes).at(START_LEN);
    let flags = Field::Flags.take(cursor)?;
    let nbytes = i64::from_be_bytes(Field::Nbytes.take(cursor)?);
    let cbytes = i64::from_be_bytes(Field::Cbytes.take(cursor)?);
    let typesize = i32::from_be_bytes(Field::Typesize.take(cursor)?);
    let is_present = generation == Generation::Present;
    let blocksize = if is_present { Some(i32::from_be_bytes(Field::Blocksize.take(cursor)?)) } else { None };
    let chunksize = i32::from_be_bytes(Field::Chunksize.take(cursor)?);
    let compression_threads = i16::from_be_bytes(Field::CompressionThreads.take(cursor)?);
    let decompression_threads = i16::from_be_bytes(Field::DecompressionThreads.take(cursor)?);
    let [has_vlmetalayers] = Field::HasVlmetalayers.take(cursor)?;
    let has_vlmetalayers = match Marker::from_u8(has_vlmetalayers) {
        Marker::False => false,
        Marker::True => true,
        found => {
            let (Encoding { name, .. }, found) = (Field::HasVlmetalayers.encoding(), found.to_u8());
            let expected = format_args!("{} or {}", Named(Marker::False), Named(Marker::True));
            return Err(cursor.wrong_marker(&expected, &name, found));
        }
    };
    let parts: [u8; Field::Filters.encoding().len] =
        if generation == Generation::Beta1 { Default::default() } else { Field::Filters.take(cursor)? };
    let part = |offset: usize| parts.get(offset).copied().unwrap_or_default();
    let [general, frame_type, codec, split_mode] = flags;
    Ok(Header {
        generation,
        header_len,
        frame_len,
        flags,
        version: general & 0x0f,
        has_variable_chunks: general & HAS_VARIABLE_CHUNKS != 0,
        has_variable_blocks: general & 0x80 != 0,
        frame_type: match frame_type {
            _ if generation == Generation::Beta1 => FrameType::Contiguous,
            0 => FrameType::Contiguous,
            1 => FrameType::Sparse,
            unknown => FrameType::Unknown(unknown),
        },
        codec: Codec(match codec & 0x0f {
            CODEC_WITH_FILTERS if is_present => part(filters::CODEC),
            codec => codec,
        }),
        codec_meta: if is_present { part(filters::CODEC_META) } else { 0 },
        level: codec >> 4,
        split_mode: SplitMode::of_bits(split_mode),
        uses_dictionary: is_present && part(filters::MORE_FLAGS) & 1 != 0,
        nbytes,
        cbytes,
        typesize,
        blocksize,
        chunksize,
        compression_threads,
        decompression_threads,
        has_vlmetalayers,
        nfilters: part(filters::COUNT),
        filters: array::from_fn(|index| Filter {
            id: part(filters::IDS + index),
            meta: part(filters::METAS + index),
        }),
    })
}

/// How new chunks are compressed, by the header.
#[derive(Clone, Debug)]
pub(crate) struct Compression {
    pub(crate) codec: Codec,
    pub(crate) codec_meta: u8,
    /// At most 15.
    pub(crate) level: u8,
    pub(crate) split_mode: SplitMode,
    pub(crate) filters: [Filter; MAX_FILTERS as usize],
    pub(crate) uses_dictionary: bool,
}

/// The bytes of a header of the present generation: markers and values, to which the metalayers are added last.
pub(crate) struct Builder {
    bytes: Vec<u8>,
}

impl Builder {
    /// A header with the magic, and all other values 0 or false.
    pub(crate) fn new() -> Self {
        let mut bytes = vec![Generation::Present.marker().to_u8()];
        for Encoding { marker, len, .. } in Field::ALL.iter().map(|field| field.encoding()) {
            bytes.extend(marker);
            bytes.resize(bytes.len() + len, 0);
        }
        let mut builder = Self { bytes };
        builder.set(Field::Magic, MAGIC);
        builder.set(Field::HasVlmetalayers, &[Marker::False.to_u8()]);
        builder
    }

    /// Copies all values of another header, which has these bytes.
    pub(crate) fn copy(&mut self, header: &Header, bytes: &[u8]) {
        for &field in Field::ALL {
            if let Some(value) = header.range(field).and_then(|range| bytes.get(range)) {
                self.set(field, value);
            }
        }
    }

    /// Gives a value its bytes.
    pub(crate) fn set(&mut self, field: Field, value: &[u8]) {
        let slot = self.bytes.iter_mut().skip(offset(field)).take(field.encoding().len);
        slot.zip(value).for_each(|(slot, &byte)| *slot = byte);
    }

    /// Sets the flags, the filters and the codec.
    pub(crate) fn set_compression(
        &mut self,
        has_variable_chunks: bool,
        is_sparse: bool,
        compression: &Compression,
    ) {
        let Compression { codec, codec_meta, level, split_mode, filters, uses_dictionary } = compression;
        let version = if has_variable_chunks { VARIABLE_VERSION | HAS_VARIABLE_CHUNKS } else { VERSION };
        let codec_flag = codec.0.min(CODEC_WITH_FILTERS);
        let flags =
            [version | HAS_64_BIT_OFFSETS, is_sparse.into(), codec_flag | level << 4, split_mode.bits()];
        self.set(Field::Flags, &flags);
        let [ids, metas] = [filters.map(|filter| filter.id), filters.map(|filter| filter.meta)];
        let more_flags = [u8::from(*uses_dictionary)];
        let parts = [&[MAX_FILTERS][..], &ids, &[codec.0, *codec_meta], &metas, &more_flags];
        self.set(Field::Filters, &parts.concat());
    }

    /// Sets the frame type.
    pub(crate) fn set_sparse(&mut self, is_sparse: bool) {
        if let Some(slot) = self.bytes.get_mut(offset(Field::Flags) + FRAME_TYPE) {
            *slot = is_sparse.into();
        }
    }

    /// The number of bytes before the metalayers.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The whole header with these metalayers, for a frame with `bytes_after` bytes after the header; `None` if it is
    /// too long.
    pub(crate) fn finish(mut self, metalayers: &[u8], bytes_after: u64) -> Option<Vec<u8>> {
        let len = self.bytes.len() + metalayers.len();
        self.set(Field::HeaderLen, &i32::try_from(len).ok()?.to_be_bytes());
        self.set(Field::FrameLen, &bytes_after.checked_add(len as u64)?.to_be_bytes());
        self.bytes.extend(metalayers);
        Some(self.bytes)
    }
}
