//! The header of a frame: one MessagePack array of fixed widths, walked from front to back.

use core::ops::Range;
use std::format;

use crate::frame::finding::{Code, Finding, Place};
use crate::frame::format::cursor::{Rules, Walk};
use crate::frame::format::fields::{Codec, Field, Filter, FrameType, Generation, SplitMode};

pub(crate) const MAGIC: &[u8; 8] = b"b2frame\0";

/// Bytes that have to be there to know how long the header and the frame are.
pub(crate) const LEAST: usize = 24;

/// Where the length of the header stands.
pub(crate) const HEADER_LEN_AT: u64 = 11;

/// The longest header that is read: 16 metalayers of 4 MiB. Real ones take up to some KiB; the format would have 2 GiB,
/// which nobody shall have to make room for because a file says so.
pub(crate) const LONGEST: usize = 1 << 26;

/// The first byte of the frame is the generation, the second one the marker of the magic.
pub(crate) const MAGIC_AT: usize = 2;

/// A codec of this number has its true one beside the filters.
const CODEC_ELSEWHERE: u8 = 6;

/// What the header of a frame says, but for its metalayers.
///
/// Byte numbers are those of the present generation; [`position`](Self::position) has those of the others. All are
/// as the file has them: none has been held against another.
///
/// ```
/// use b2nd_serde::frame::{Codec, Frame, FrameType, SplitMode};
///
/// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
/// let header = frame.header();
/// assert_eq!((header.nbytes, header.typesize, header.blocksize, header.chunksize), (128, 4, Some(8), 32));
/// assert_eq!(header.frame_type, FrameType::Contiguous);
/// assert_eq!((header.codec, header.level), (Codec(5), 5));
/// assert_eq!(header.split_mode, SplitMode::Auto);
/// assert_eq!(header.pipeline().map(|filter| filter.to_string()).collect::<Vec<_>>(), ["shuffle"]);
/// # Ok::<(), b2nd_serde::frame::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "a frame has as many")]
pub struct Header {
    /// Byte 0: which of the three headers it is.
    pub generation: Generation,
    /// Byte 11, `header_len`: the length of the header with its metalayers, in bytes.
    pub header_len: usize,
    /// Byte 16, `frame_len`: the length of the frame in bytes; of a sparse one, of its file with the header.
    pub frame_len: u64,
    /// Byte 25, `flags`: four bytes as they are. All that is known of them is in the following fields.
    pub flags: [u8; 4],
    /// Byte 25, bits 0 to 3: the version of the format. 2 today, 3 where chunks or blocks may have different sizes; 1 and 4
    /// in the generations before.
    pub version: u8,
    /// Byte 25, bit 6: whether chunks may have different sizes. C-Blosc2 sets it where `chunksize` is 0, also in arrays
    /// without items, which have no chunks.
    pub has_variable_chunks: bool,
    /// Byte 25, bit 7: whether blocks have different sizes. No array has such.
    pub has_variable_blocks: bool,
    /// Byte 26: where the chunks are. The first generation knew no sparse frames.
    pub frame_type: FrameType,
    /// Byte 27, bits 0 to 3, or where they are 6, byte 77: the codec for new chunks.
    pub codec: Codec,
    /// Byte 78: what the codec makes of it is its own business; 0 before the present generation.
    pub codec_meta: u8,
    /// Byte 27, bits 4 to 7: the compression level for new chunks, 0 to 9.
    pub level: u8,
    /// Byte 28, bits 0 and 1: how blocks of new chunks are split. 0, which is always, where a writer did not know it.
    pub split_mode: SplitMode,
    /// Byte 85, bit 0: whether new chunks are compressed with a dictionary.
    pub uses_dictionary: bool,
    /// Byte 30, `nbytes`: the bytes of all chunks when decompressed, with the padding of an array's edge chunks.
    pub nbytes: i64,
    /// Byte 39, `cbytes`: the bytes of all chunks as they are stored. It says nothing where there are no chunks.
    pub cbytes: i64,
    /// Byte 48, `typesize`: the bytes of an item.
    pub typesize: i32,
    /// Byte 53, `blocksize`: the bytes of a block when decompressed; `None` before the present generation.
    pub blocksize: Option<i32>,
    /// Byte 58, `chunksize`: the bytes of a chunk when decompressed; 0 where they have different sizes, and 0 or -1 where
    /// there are none.
    pub chunksize: i32,
    /// Byte 63: threads that the writer compressed with.
    pub compression_threads: i16,
    /// Byte 66: threads that the writer decompressed with.
    pub decompression_threads: i16,
    /// Byte 68: whether the trailer has vlmetalayers.
    pub has_vlmetalayers: bool,
    /// Byte 70: how many of the filters count, 0 to 6; 0 in the first generation, which has none.
    pub nfilters: u8,
    /// Bytes 71 to 76 and 79 to 84: the filters for new chunks, in the order in which they are applied.
    pub filters: [Filter; 6],
}

impl Header {
    /// The bytes of the frame in which a value stands, without its marker; `None` where this generation has none.
    ///
    /// ```
    /// use b2nd_serde::frame::{Field, Frame};
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// assert_eq!(frame.header().position(Field::Nbytes), Some(30..38));
    /// assert_eq!(frame.header().position(Field::Metalayers), Some(87..165));
    /// # Ok::<(), b2nd_serde::frame::Error>(())
    /// ```
    #[must_use]
    pub fn position(&self, field: Field) -> Option<Range<usize>> {
        let (start, length) = field.position(self.generation)?;
        let end = if field == Field::Metalayers { self.header_len } else { start + length };
        Some(start..end)
    }

    /// Whether it is a sparse frame: a directory with a file for each chunk.
    #[must_use]
    pub fn is_sparse(&self) -> bool {
        self.frame_type == FrameType::Sparse
    }

    /// The filters that count, without those that are none.
    pub fn pipeline(&self) -> impl Iterator<Item = Filter> + '_ {
        self.filters.iter().take(self.nfilters.into()).copied().filter(|filter| filter.id != 0)
    }

    /// Number of chunks: all are of one size, the last one as long as the others or shorter. `None` where they have
    /// different sizes, and where the numbers make no sense.
    #[must_use]
    pub fn nchunks(&self) -> Option<u64> {
        let nbytes = u64::try_from(self.nbytes).ok()?;
        // Without chunks they have no size, for which Caterva writes -1.
        if nbytes == 0 {
            return Some(0);
        }
        let chunksize = u64::try_from(self.chunksize).ok().filter(|&chunksize| chunksize > 0)?;
        Some(nbytes.div_ceil(chunksize))
    }
}

/// Why the length of a header is not known: more bytes are needed, or it is none.
pub(crate) enum Unknown {
    /// So many bytes are needed.
    Needs(usize),
    Refused(Finding),
}

/// The length of the header that begins here.
pub(crate) fn length(prefix: &[u8]) -> Result<usize, Unknown> {
    let magic = prefix.get(MAGIC_AT..).unwrap_or_default();
    let there = magic.len().min(MAGIC.len());
    if magic.get(..there) != MAGIC.get(..there) {
        return Err(Unknown::Refused(other_bytes(prefix)));
    }
    if prefix.len() < LEAST {
        let marker = prefix.first().map(|&marker| Generation::of_marker(marker));
        let is_none = there < MAGIC.len() && marker == Some(None);
        return Err(if is_none { Unknown::Refused(other_bytes(prefix)) } else { Unknown::Needs(LEAST) });
    }
    start(&mut walk(prefix)).map(|(_, length, _)| length).map_err(Unknown::Refused)
}

/// That these bytes begin no frame, though some of them may have been meant to.
fn other_bytes(prefix: &[u8]) -> Finding {
    let is_zeroed = prefix.iter().take(LEAST).all(|&byte| byte == 0);
    not_a_frame(if is_zeroed {
        "it begins with zeros: never written, or lost"
    } else {
        "no b2frame magic at byte 2"
    })
}

pub(crate) fn not_a_frame(why: &str) -> Finding {
    Finding::new(Code::NotAFrame, Place::Header).text(format!("not a Blosc2 frame: {why}"))
}

/// That a header or trailer is longer than it is read.
pub(crate) fn too_long(place: Place, at: u64, longest: usize, length: usize) -> Finding {
    let text = format!("expected at most {longest} bytes for the length of {place}, found {length}");
    Finding::new(Code::TooLong, place).at(at).numbers(longest, length).text(text)
}

fn walk(bytes: &[u8]) -> Walk<'_> {
    let (marker, end) = (Code::HeaderMarker, Code::HeaderLength);
    Walk::new(bytes, Rules { place: Place::Header, start: 0, marker, end })
}

/// Takes the generation, the magic, and the lengths of header and frame.
fn start(walk: &mut Walk<'_>) -> Result<(Generation, usize, u64), Finding> {
    let marker = walk.byte()?;
    let Some(generation) = Generation::of_marker(marker) else {
        return Err(walk.wrong_marker(0, "array of 12, 13 or 14 (0x9c, 0x9d, 0x9e)", "the header", marker));
    };
    walk.marker(0xa8, "the magic")?;
    let _: [u8; 8] = walk.array()?;
    let at = walk.position + 1;
    let header_len = walk.marked_i32("header_len")?;
    let frame_len = walk.marked_u64("frame_len")?;
    let least = Field::Metalayers.position(generation).map_or(LEAST, |(start, _)| start);
    let (limit, bound) = match usize::try_from(header_len) {
        Ok(length) if length >= least && length as u64 <= frame_len => {
            return if length <= LONGEST {
                Ok((generation, length, frame_len))
            } else {
                Err(too_long(Place::Header, at as u64, LONGEST, length))
            };
        }
        Ok(length) if length >= least => (frame_len, "most frame_len,"),
        _ => (least as u64, "least"),
    };
    let text = format!("expected a header_len of at {bound} {limit}, found {header_len}");
    Err(walk.finding(Code::HeaderLength, at).numbers(limit, header_len).text(text))
}

/// Reads the header up to its metalayers.
pub(crate) fn parse(bytes: &[u8]) -> Result<Header, Finding> {
    let mut walk = walk(bytes);
    let (generation, header_len, frame_len) = start(&mut walk)?;
    walk.marker(0xa4, "the flags")?;
    let flags = walk.array()?;
    let nbytes = walk.marked_i64("nbytes")?;
    let cbytes = walk.marked_i64("cbytes")?;
    let typesize = walk.marked_i32("typesize")?;
    let is_present = generation == Generation::Present;
    let blocksize = if is_present { Some(walk.marked_i32("blocksize")?) } else { None };
    let chunksize = walk.marked_i32("chunksize")?;
    let compression_threads = walk.marked_i16("the threads for compression")?;
    let decompression_threads = walk.marked_i16("the threads for decompression")?;
    let has_vlmetalayers = match walk.byte()? {
        0xc2 => false,
        0xc3 => true,
        found => {
            let at = walk.position - 1;
            return Err(walk.wrong_marker(at, "false (0xc2) or true (0xc3)", "has_vlmetalayers", found));
        }
    };
    let pipeline =
        if generation == Generation::Beta1 { Pipeline::default() } else { Pipeline::take(&mut walk)? };
    let [general, frame_type, codec, split_mode] = flags;
    Ok(Header {
        generation,
        header_len,
        frame_len,
        flags,
        version: general & 0x0f,
        has_variable_chunks: general & 0x40 != 0,
        has_variable_blocks: general & 0x80 != 0,
        frame_type: match frame_type {
            _ if generation == Generation::Beta1 => FrameType::Contiguous,
            0 => FrameType::Contiguous,
            1 => FrameType::Sparse,
            unknown => FrameType::Unknown(unknown),
        },
        codec: Codec(if is_present && codec & 0x0f == CODEC_ELSEWHERE {
            pipeline.codec
        } else {
            codec & 0x0f
        }),
        codec_meta: if is_present { pipeline.codec_meta } else { 0 },
        level: codec >> 4,
        split_mode: SplitMode::of_bits(split_mode),
        uses_dictionary: is_present && pipeline.more_flags & 1 != 0,
        nbytes,
        cbytes,
        typesize,
        blocksize,
        chunksize,
        compression_threads,
        decompression_threads,
        has_vlmetalayers,
        nfilters: pipeline.nfilters,
        filters: pipeline.filters,
    })
}

/// The extension of 16 bytes, whose type is the number of filters.
#[derive(Default)]
struct Pipeline {
    nfilters: u8,
    filters: [Filter; 6],
    codec: u8,
    codec_meta: u8,
    more_flags: u8,
}

impl Pipeline {
    fn take(walk: &mut Walk<'_>) -> Result<Self, Finding> {
        walk.marker(0xd8, "the filters")?;
        let nfilters = walk.byte()?;
        let ids: [u8; 6] = walk.array()?;
        let (codec, codec_meta) = (walk.byte()?, walk.byte()?);
        let metas: [u8; 6] = walk.array()?;
        let [more_flags, _] = walk.array()?;
        let mut filters = [Filter::default(); 6];
        for (filter, (id, meta)) in filters.iter_mut().zip(ids.into_iter().zip(metas)) {
            *filter = Filter { id, meta };
        }
        Ok(Self { nfilters, filters, codec, codec_meta, more_flags })
    }
}
