//! The values of a frame's header. The table of its bytes is on [`HeaderField`].

use core::array;
use core::ops::Range;

use b2nd_chunk::{Codec, Filter, SplitMode};

use crate::code::FindingCode;
use crate::error::Error;
use crate::finding::{Finding, Place};
use crate::header::fields::{Generation, HeaderField, filters};
use crate::header::flags::{self, FrameType};
use crate::messagepack::cursor::{Cursor, Part};
use crate::messagepack::marker::{Marker, Named};

pub(crate) const MAGIC: &[u8; 8] = b"b2frame\0";

/// The offset of the magic, in every generation.
pub(crate) const MAGIC_OFFSET: usize = HeaderField::Magic.present_offset();

/// The offset of the length of the header, in every generation.
pub(crate) const HEADER_LEN_OFFSET: usize = HeaderField::HeaderLen.present_offset();

/// The number of bytes from the start of the header to the end of the value `frame_len`. These bytes contain the magic,
/// `header_len` and `frame_len`.
pub(crate) const START_LEN: usize =
    HeaderField::FrameLen.present_offset() + HeaderField::FrameLen.encoding().len;

/// The length of the longest header that this crate reads, about 16 metalayers of 4 MiB. Real headers have a few KiB.
/// The format allows 2 GiB, but a hostile length must not make us allocate that much.
pub(crate) const MAX_HEADER_LEN: usize = 1 << 26;

/// If the flags have this codec number, the real codec number is in the byte `codec` of the field `filters`.
// The flags have only 4 bits for a codec, but the numbers of plugins begin at 32.
pub(super) const CODEC_WITH_FILTERS: u8 = 6;

/// A bit in the first byte of flags: chunks may have different sizes.
pub(super) const HAS_VARIABLE_CHUNKS: u8 = 0x40;

/// A bit in the first byte of flags: blocks may have different sizes.
const HAS_VARIABLE_BLOCKS: u8 = 0x80;

/// The values of a frame's header, without its metalayers.
///
/// All values are as in the file, even if they contradict each other. A [`Check`] reports contradictions. The
/// documentation of [`HeaderField`] shows the bytes of the values.
///
/// ```
/// use b2nd_frame::{Codec, Frame, FrameType, SplitMode};
///
/// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
/// let header = frame.header();
/// assert_eq!((header.nbytes, header.typesize), (128, 4));
/// assert_eq!((header.blocksize, header.chunksize), (Some(8), 32));
/// assert_eq!(header.frame_type, FrameType::Contiguous);
/// assert_eq!((header.codec, header.level), (Codec::ZSTD, 5));
/// assert_eq!(header.split_mode, SplitMode::Auto);
/// assert_eq!(header.pipeline().map(|filter| filter.to_string()).collect::<Vec<_>>(), ["shuffle"]);
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
///
/// [`Check`]: crate::Check
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "the header has as many")]
pub struct Header {
    /// The generation of the header. It determines which values the header has.
    pub generation: Generation,
    /// The length of the header in bytes, with its metalayers.
    pub header_len: usize,
    /// The length of the frame in bytes. For a sparse frame, the length of `chunks.b2frame`.
    pub frame_len: u64,
    /// The four bytes of flags, unchanged. The decoded values are in the fields that follow.
    pub flags: [u8; 4],
    /// The version of the format: 2, or 3 if chunks or blocks may have different sizes. In a frame of the older
    /// generation, it is 1 or 4.
    pub version: u8,
    /// Whether chunks may have different sizes. C-Blosc2 also sets this flag if `chunksize` is 0, so the flag can be
    /// true for an array without items.
    pub has_variable_chunks: bool,
    /// Whether blocks may have different sizes. In an array, all blocks have the same size.
    pub has_variable_blocks: bool,
    /// The frame type: all chunks in one file, or a file for each chunk.
    pub frame_type: FrameType,
    /// The codec for new chunks.
    pub codec: Codec,
    /// A parameter of the codec; 0 in the older generation.
    pub codec_meta: u8,
    /// The compression level for new chunks, 0 to 9 in a valid header.
    pub level: u8,
    /// The split mode of the blocks of new chunks. Writers that predate split modes wrote 0, which now means
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
    /// The size of a decompressed block in bytes; `None` in the older generation.
    pub blocksize: Option<i32>,
    /// The size of a decompressed chunk in bytes. It is 0 if chunks have different sizes, and may be 0 or -1 if there
    /// are no chunks.
    pub chunksize: i32,
    /// The number of threads that the writer used to compress.
    pub compression_threads: i16,
    /// The number of threads that the writer used to decompress.
    pub decompression_threads: i16,
    /// Whether the trailer has vlmetalayers.
    pub has_vlmetalayers: bool,
    /// The number of filters that the header records, at most 6 in a valid header. A filter whose `id` is 0 is not in
    /// use.
    pub nfilters: u8,
    /// The filters for new chunks, in order of application.
    pub filters: [Filter; 6],
}

impl Header {
    /// The byte range of a value in the frame, without its marker; `None` if this generation does not have the value.
    ///
    /// ```
    /// use b2nd_frame::{HeaderField, Frame};
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// assert_eq!(frame.header().range(HeaderField::Nbytes), Some(30..38));
    /// assert_eq!(frame.header().range(HeaderField::Metalayers), Some(87..165));
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    #[must_use]
    pub fn range(&self, field: HeaderField) -> Option<Range<usize>> {
        let start = field.offset(self.generation)?;
        let end =
            if field == HeaderField::Metalayers { self.header_len } else { start + field.encoding().len };
        Some(start..end)
    }

    /// A finding about a value of the header.
    pub(crate) fn finding(&self, code: FindingCode, field: HeaderField) -> Finding {
        let finding = Finding::new(code, Place::Header);
        match self.range(field) {
            Some(range) => finding.at(range.start as u64),
            None => finding,
        }
    }

    /// Whether the frame is sparse: a directory with a file for each chunk.
    #[must_use]
    pub fn is_sparse(&self) -> bool {
        self.frame_type == FrameType::Sparse
    }

    /// The filters in use, in order of application.
    pub fn pipeline(&self) -> impl Iterator<Item = Filter> + '_ {
        self.filters.iter().take(self.nfilters.into()).copied().filter(|filter| filter.id != 0)
    }

    /// The number of chunks, computed from `nbytes` and `chunksize`. `None` if chunks have different sizes, or if
    /// `nbytes` or `chunksize` is negative.
    #[must_use]
    pub fn nchunks(&self) -> Option<u64> {
        let nbytes = u64::try_from(self.nbytes).ok()?;
        // Without chunks, do not use `chunksize`: Caterva then writes -1.
        if nbytes == 0 {
            return Some(0);
        }
        let chunksize = u64::try_from(self.chunksize).ok().filter(|&chunksize| chunksize > 0)?;
        Some(nbytes.div_ceil(chunksize))
    }
}

/// The first values of a header. They are at the same offsets in both generations.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    generation: Generation,
    pub(crate) header_len: usize,
    frame_len: u64,
}

impl Start {
    pub(crate) fn parse(prefix: &[u8]) -> Result<Self, Error> {
        // Check the magic first, and only then the marker in the first byte. Without the magic, the bytes are not a
        // frame at all, and the message must say so instead of naming a wrong marker.
        let magic = prefix.get(MAGIC_OFFSET..).unwrap_or_default();
        let len = magic.len().min(MAGIC.len());
        if magic.get(..len) != MAGIC.get(..len) {
            return Err(Error::malformed(other_bytes(prefix)));
        }
        let is_other = prefix.first().is_some_and(|&marker| Generation::of_marker(marker).is_none());
        if is_other && len < MAGIC.len() {
            return Err(Error::malformed(other_bytes(prefix)));
        }
        // If the first byte is wrong, the error is `Malformed`, however few bytes are given. `Incomplete` would make
        // the caller read more bytes, which cannot correct the first byte.
        if !is_other && prefix.len() < START_LEN {
            return Err(Error::incomplete(START_LEN));
        }
        Self::take(&mut cursor(prefix)).map_err(Error::malformed)
    }

    fn take(cursor: &mut Cursor<'_>) -> Result<Self, Finding> {
        let marker = cursor.byte()?;
        let Some(generation) = Generation::of_marker(marker) else {
            let [beta2, present] = Generation::ALL.map(|generation| Named(generation.marker()));
            let wrong = cursor.wrong_marker(&format_args!("{beta2} or {present}"), &"the header", marker);
            return Err(if marker == Generation::BETA1_MARKER {
                wrong.text("a frame of C-Blosc2 2.0 beta 1 (2019), which this crate does not read".into())
            } else {
                wrong
            });
        };
        HeaderField::Magic.take::<{ MAGIC.len() }>(cursor)?;
        let header_len = i32::from_be_bytes(HeaderField::HeaderLen.take(cursor)?);
        let frame_len = u64::from_be_bytes(HeaderField::FrameLen.take(cursor)?);
        let least = generation.head_len();
        let (limit, text) = match usize::try_from(header_len) {
            Ok(len) if len >= least && len as u64 <= frame_len => {
                if len <= MAX_HEADER_LEN {
                    return Ok(Self { generation, header_len: len, frame_len });
                }
                return Err(too_long(Place::Header, HEADER_LEN_OFFSET as u64, MAX_HEADER_LEN, len));
            }
            Ok(len) if len >= least => {
                (frame_len, format!("header_len is {len}, but must be at most frame_len, {frame_len}"))
            }
            _ => (least as u64, format!("header_len is {header_len}, but must be at least {least}")),
        };
        Err(cursor.finding(HEADER_LEN_OFFSET).numbers(limit, header_len).text(text))
    }
}

/// The finding for bytes that are not a frame, with a hint at what they may be.
fn other_bytes(prefix: &[u8]) -> Finding {
    let is_zeroed = prefix.iter().take(START_LEN).all(|&byte| byte == 0);
    not_a_frame(if is_zeroed {
        "it begins with zeros: never written, or lost"
    } else if prefix.starts_with(b"\x93NUMPY") {
        "it is a NumPy file (.npy)"
    } else {
        "no b2frame magic at byte 2"
    })
}

pub(crate) fn not_a_frame(why: &str) -> Finding {
    Finding::new(FindingCode::NotAFrame, Place::Header).text(format!("not a Blosc2 frame: {why}"))
}

/// The finding for a header or trailer that is longer than `longest`, the maximum that this crate reads.
pub(crate) fn too_long(place: Place, offset: u64, longest: usize, length: usize) -> Finding {
    let text = format!("{place} has {length} bytes, but at most {longest} are read");
    Finding::new(FindingCode::TooLong, place).at(offset).numbers(longest, length).text(text)
}

/// The finding for a frame that is longer than its file. `bound` is the text before the number `frame_len`: "at least "
/// if the length is not known exactly, or empty.
pub(crate) fn cut_short(bound: &str, frame_len: u64, available: u64) -> Finding {
    let text = format!("cut short: the frame has {bound}{frame_len} bytes, but the file only {available}");
    Finding::new(FindingCode::Truncated, Place::File).numbers(frame_len, available).text(text)
}

fn cursor(bytes: &[u8]) -> Cursor<'_> {
    Cursor::new(bytes, Part { place: Place::Header, start: 0, code: FindingCode::DamagedHeader })
}

/// Takes the next value as a boolean. In MessagePack, a boolean is a marker without any bytes after it.
fn boolean(field: HeaderField, cursor: &mut Cursor<'_>) -> Result<bool, Finding> {
    let [byte] = field.take(cursor)?;
    match Marker::from_u8(byte) {
        Marker::False => Ok(false),
        Marker::True => Ok(true),
        _ => {
            let expected = format!("{} or {}", Named(Marker::False), Named(Marker::True));
            Err(cursor.wrong_marker(&expected, &field.encoding().name, byte))
        }
    }
}

/// Reads the values of the header that follow `start`, up to the metalayers.
// Takes the values in the order of `HeaderField`, and skips a value that the generation does not have.
pub(crate) fn parse(bytes: &[u8], start: Start) -> Result<Header, Finding> {
    let Start { generation, header_len, frame_len } = start;
    let cursor = &mut cursor(bytes).at(START_LEN);
    let flags = HeaderField::Flags.take(cursor)?;
    let nbytes = i64::from_be_bytes(HeaderField::Nbytes.take(cursor)?);
    let cbytes = i64::from_be_bytes(HeaderField::Cbytes.take(cursor)?);
    let typesize = i32::from_be_bytes(HeaderField::Typesize.take(cursor)?);
    let is_present = generation == Generation::Present;
    let blocksize =
        if is_present { Some(i32::from_be_bytes(HeaderField::Blocksize.take(cursor)?)) } else { None };
    let chunksize = i32::from_be_bytes(HeaderField::Chunksize.take(cursor)?);
    let compression_threads = i16::from_be_bytes(HeaderField::CompressionThreads.take(cursor)?);
    let decompression_threads = i16::from_be_bytes(HeaderField::DecompressionThreads.take(cursor)?);
    let has_vlmetalayers = boolean(HeaderField::HasVlmetalayers, cursor)?;
    let parts: [u8; HeaderField::Filters.encoding().len] = HeaderField::Filters.take(cursor)?;
    let part = |offset: usize| parts.get(offset).copied().unwrap_or_default();
    let [general, frame_type, codec, split_mode] = flags;
    Ok(Header {
        generation,
        header_len,
        frame_len,
        flags,
        version: general & 0x0f,
        has_variable_chunks: general & HAS_VARIABLE_CHUNKS != 0,
        has_variable_blocks: general & HAS_VARIABLE_BLOCKS != 0,
        frame_type: match frame_type {
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
        split_mode: flags::split_mode(split_mode),
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
