//! The report of a salvage.

use core::fmt;

use crate::chunk::entry::ChunkCounts;
use crate::chunk_file::SPARSE_INDEX;
use crate::finding::{Finding, counted};
use crate::header::frame::Frame;
use crate::header::section::ARRAY_NAME;

/// The report of a [`Salvage`](crate::Salvage): what it restored, and what it lost.
///
/// Texts such as [`ChunkRange::why`] describe damage and changes. Offsets in these texts refer to the old frame. The
/// wording can change in later releases.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SalvageReport {
    /// The header of the new frame.
    pub frame: Frame<()>,
    /// The restored parts of the header, the chunk index, the trailer and the chunk headers. The right values of these
    /// parts come from the rest of the frame or from the caller, or are the defaults of python-blosc2.
    pub restored: Vec<Restored>,
    /// The order of the chunks, if it was [assumed](crate::Salvage::assume_order).
    pub assumed_order: Option<AssumedOrder>,
    /// The lost chunks, in order.
    pub lost: Vec<ChunkRange>,
    /// The number of lost chunks that a salvage with an [assumed order](crate::Salvage::assume_order) would save.
    pub saved_with_order: u64,
    /// The chunks in the new frame whose data may be wrong, in order. [`why`](ChunkRange::why) is one of these reasons:
    ///
    /// - This crate cannot decompress the chunk.
    /// - The filters of the chunk differ from the filters of the other chunks.
    /// - The header of the chunk was restored, or has unknown flags.
    /// - The chunk has the format version of an alpha release of C-Blosc2. For this version, readers ignore the last
    ///   filter in the chunk header. If the version number is damaged, the data may need the ignored filter.
    /// - The chunk is not compressed, so damage in its data leaves no trace. This reason is given only for a contiguous
    ///   frame whose chunk index or other chunks are damaged.
    /// - The entry of the chunk in the chunk index is wrong, so the place of the chunk was inferred. Either it is the
    ///   only chunk in the file without an entry, or the order of the file was [assumed](crate::Salvage::assume_order).
    ///   If two entries point to the same chunk, either entry can be wrong, so the chunks of both entries are reported.
    /// - The chunk index is lost, and the order of the file was [assumed](crate::Salvage::assume_order), but the file does
    ///   not have exactly the chunks of the array. All stored chunks are unverified then.
    /// - The chunk index that was found is from before the last commit of `ArrayUpdate`, because the file ends within that
    ///   commit. All stored chunks are unverified then.
    /// - The header is lost, and several header lengths fit the chunk index, or no header length fits all its entries.
    ///   With another header length, the entries would point to other chunks.
    /// - The chunk is special, but the file has bytes that are not known to belong to another chunk. If the entry of
    ///   the chunk is damaged, these bytes may be its data.
    /// - The compressed bytes of the chunk have 4096 zeros in a row, or end with more zeros than a compressor writes,
    ///   so a page was probably lost ([`LostPage`](crate::FindingCode::LostPage)).
    /// - The chunk ends with a zero, and only zeros follow, so its end may be lost.
    pub unverified: Vec<ChunkRange>,
    /// The finding of a [`check`](crate::check()) for bytes or chunk files that no entry of the chunk index refers to
    /// ([`UnownedBytes`](crate::FindingCode::UnownedBytes)). These bytes are not in the new frame.
    ///
    /// Replaced and deleted chunks leave such bytes, so the finding alone is no sign of damage. But the finding can be
    /// the only trace of a damaged entry that now points to another chunk, or to an earlier state of its chunk. In that
    /// case, a chunk of the new frame is in the wrong place or out of date, but is not reported as
    /// [`unverified`](Self::unverified).
    pub unowned: Option<Finding>,
    /// The lost metalayers and vlmetalayers.
    pub lost_metalayers: Vec<MetalayerNote>,
    /// The vlmetalayers in the new frame whose values were not decompressed, because they exceed the expansion limit or
    /// the memory, or the feature `decompress` is off. Such a vlmetalayer is no sign of damage.
    pub unverified_metalayers: Vec<MetalayerNote>,
    /// The names of vlmetalayers that are not in the new frame because they may not fit its items. python-blosc2 has
    /// computed these vlmetalayers from the items ([`is_derived`](crate::Vlmetalayer::is_derived)), and can compute
    /// them again, so they do not count as lost. The items may differ if a chunk is lost or unverified, if the order of
    /// the chunks was assumed, or if the caller gave entries of the array's metalayer.
    pub outdated: Vec<String>,
    /// The numbers of stored and special chunks in the new frame. A lost chunk counts as a special chunk with the fill
    /// value.
    pub counts: ChunkCounts,
}

/// The report of a salvage while it is made, without the header of the new frame.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) restored: Vec<Restored>,
    pub(super) assumed_order: Option<AssumedOrder>,
    pub(super) lost: Vec<ChunkRange>,
    pub(super) saved_with_order: u64,
    pub(super) unverified: Vec<ChunkRange>,
    pub(super) unowned: Option<Finding>,
    pub(super) lost_metalayers: Vec<MetalayerNote>,
    pub(super) unverified_metalayers: Vec<MetalayerNote>,
    pub(super) outdated: Vec<String>,
    pub(super) counts: ChunkCounts,
}

impl Notes {
    pub(super) fn report(self, frame: Frame<()>) -> SalvageReport {
        let Self {
            restored,
            assumed_order,
            lost,
            saved_with_order,
            unverified,
            unowned,
            lost_metalayers,
            unverified_metalayers,
            outdated,
            counts,
        } = self;
        SalvageReport {
            frame,
            restored,
            assumed_order,
            lost,
            saved_with_order,
            unverified,
            unowned,
            lost_metalayers,
            unverified_metalayers,
            outdated,
            counts,
        }
    }

    /// Notes that the trailer was restored, unless this is noted already.
    pub(super) fn restore_trailer_markers(&mut self) {
        if !self.restored.contains(&Restored::TrailerMarkers) {
            self.restored.push(Restored::TrailerMarkers);
        }
    }

    /// Whether an item of the new frame may differ from the item before the damage.
    pub(super) fn may_change_items(&self) -> bool {
        let is_given = |restored: &Restored| matches!(restored, Restored::Array(_));
        self.assumed_order.is_some()
            || !self.lost.is_empty()
            || !self.unverified.is_empty()
            || self.restored.iter().any(is_given)
    }

    pub(super) fn lose_metalayer(&mut self, name: impl Into<String>, why: impl Into<String>) {
        self.lost_metalayers.push(MetalayerNote { name: name.into(), why: why.into() });
    }
}

/// Consecutive chunks that are lost, unverified or restored for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChunkRange {
    /// The number of the first chunk.
    pub first: u64,
    /// The number of chunks.
    pub count: u64,
    /// For lost and unverified chunks, the reason. For restored chunks, the change in their headers.
    pub why: String,
}

/// The `part` of [`Restored::Byte`] for a byte of the magic.
pub(super) const MAGIC_NAME: &str = "the magic";

/// The `name` of [`Restored::Number`] for the frame type.
pub(super) const FRAME_TYPE_NAME: &str = "the frame type";

/// A part of a frame that was restored. Its text describes the change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Restored {
    /// The whole header: more than half of its fixed bytes were wrong.
    Header,
    /// The file `chunks.b2frame` of a sparse frame, which was missing or empty. Its vlmetalayers, and metalayers other
    /// than that of the array, are lost.
    HeaderFile,
    /// A byte of the header that has only one right value.
    Byte {
        /// The part that the byte belongs to: `the header` or `the magic`. If the byte is the marker of a field, the
        /// name of this field.
        part: &'static str,
        /// The offset of the byte in the frame.
        offset: usize,
        /// The old and the new byte.
        bytes: [u8; 2],
    },
    /// A number in the header.
    Number {
        /// The name of the field, or `the frame type`.
        name: &'static str,
        /// The old and the new value of the field.
        numbers: [i128; 2],
    },
    /// The compression parameters in the header, such as the codec and the filters, which writers use for new chunks.
    /// The new frame has the defaults of python-blosc2.
    Compression,
    /// The array's metalayer. The text lists the entries that the caller gave, such as `shape [3, 5]`.
    Array(String),
    /// The name of the array's metalayer.
    ArrayName,
    /// Markers or lengths in the array's metalayer.
    ArrayMarkers,
    /// The index of metalayers. Only the array's metalayer was found.
    MetalayerIndex,
    /// Another fault of the header, as [`check`](crate::check()) describes it.
    HeaderFault(String),
    /// The chunk index of a frame with one chunk.
    ChunkIndex,
    /// The flag of a lazily loaded chunk in the header of the chunk index.
    ChunkIndexFlag,
    /// The trailer, which was not found. According to the header, it had no vlmetalayers.
    Trailer,
    /// Lengths, offsets or markers of the trailer.
    TrailerMarkers,
    /// A flag in the header of the chunk that stores a vlmetalayer. `why` describes the change.
    Vlmetalayer(MetalayerNote),
    /// Values in chunk headers. `why` describes the change.
    Chunks(ChunkRange),
}

/// The numbers of found and missing chunks in a frame whose chunks are numbered in the order of the file, because the
/// chunk index is lost or has wrong entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AssumedOrder {
    /// The number of chunks that were found.
    pub found: u64,
    /// The number of missing chunks before the last chunk that was found. Missing chunks after that chunk do not count.
    pub missing: u64,
    /// The number of chunks of the array.
    pub nchunks: u64,
    /// If a chunk index was found, the number of chunks with a wrong entry. Only the places of these chunks follow from
    /// the order of the file. 0 if the chunk index is lost.
    pub wrong_entries: u64,
}

/// A metalayer or vlmetalayer that is lost, could not be verified, or was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetalayerNote {
    /// The name.
    pub name: String,
    /// The reason, or the change.
    pub why: String,
}

impl fmt::Display for Restored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header => {
                f.write_str("the whole header, because more than half of its fixed bytes are wrong")
            }
            Self::HeaderFile => write!(
                f,
                "{SPARSE_INDEX}, which is missing or empty: the vlmetalayers and other metalayers in it are lost"
            ),
            Self::Byte { part, offset, bytes: [old, new] } => {
                let what = if *part == MAGIC_NAME { "a byte of" } else { "the marker of" };
                write!(f, "{what} {part}: byte {offset} was {old:#04x}, and is {new:#04x}")
            }
            Self::Number { name, numbers: [old, new] } => write!(f, "{name} was {old}, and is {new}"),
            Self::Compression => {
                f.write_str("the codec and the filters of new chunks, now the defaults of python-blosc2")
            }
            Self::Array(given) => write!(f, "the array's metalayer, as given: {given}"),
            Self::ArrayName => write!(f, "the name {ARRAY_NAME} of the array's metalayer"),
            Self::ArrayMarkers => f.write_str("markers or lengths in the array's metalayer"),
            Self::MetalayerIndex => {
                f.write_str("the index of metalayers; only the array's metalayer was found")
            }
            Self::HeaderFault(fault) => write!(f, "the header, which has this fault: {fault}"),
            Self::ChunkIndex => f.write_str("the chunk index, of one chunk"),
            Self::ChunkIndexFlag => write!(f, "the chunk index: {CLEARED_LAZY}"),
            Self::Trailer => f.write_str("the trailer, which has no vlmetalayers according to the header"),
            Self::TrailerMarkers => f.write_str("lengths, offsets or markers of the trailer"),
            Self::Vlmetalayer(MetalayerNote { name, why }) => write!(f, "vlmetalayer {name}: {why}"),
            Self::Chunks(ChunkRange { first, count: 1, why }) => write!(f, "chunk {first}: {why}"),
            Self::Chunks(ChunkRange { first, count, why }) => {
                write!(f, "chunks {first} to {}: {why}", first.saturating_add(count - 1))
            }
        }
    }
}

impl fmt::Display for AssumedOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { found, missing, nchunks, wrong_entries } = *self;
        f.write_str("the order of the chunks: ")?;
        if wrong_entries > 0 {
            let found = counted(found, "chunk");
            return write!(
                f,
                "the chunk index has no right entry for {wrong_entries} of the {found} in the file"
            );
        }
        if missing > 0 {
            return write!(
                f,
                "{found} of {nchunks} were found, and {missing} are missing before the last one found"
            );
        }
        write!(f, "the file has {}, ", counted(found, "chunk"))?;
        if found > nchunks {
            write!(f, "of which the first {nchunks} are taken")
        } else {
            write!(f, "taken as the first of {nchunks}")
        }
    }
}

impl SalvageReport {
    /// The number of lost chunks.
    #[must_use]
    pub fn lost_count(&self) -> u64 {
        count(&self.lost)
    }

    /// The number of unverified chunks.
    #[must_use]
    pub fn unverified_count(&self) -> u64 {
        count(&self.unverified)
    }

    /// Whether any damage was found, or a chunk could not be verified. If the result is `false`, either the file is
    /// undamaged, or a value is wrong and nothing else in the file shows that it is wrong. For example, a wrong shape
    /// can have the same grid of chunks as the right shape, and a wrong chunk shape can have the same grid of blocks as
    /// the right chunk shape. A dtype or data can also be wrong. If there are [`unowned`](Self::unowned) bytes, entries
    /// of the chunk index can be wrong too.
    #[must_use]
    pub fn found_damage(&self) -> bool {
        let Self { restored, assumed_order, unverified, .. } = self;
        !(restored.is_empty() && assumed_order.is_none() && unverified.is_empty() && self.is_whole())
    }

    /// Whether nothing was lost: all chunks, metalayers and vlmetalayers are in the new frame.
    /// [Unverified](Self::unverified) chunks are not lost.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.lost.is_empty() && self.lost_metalayers.is_empty()
    }
}

/// The text for a chunk whose dictionary flag was cleared.
pub(super) const CLEARED_DICTIONARY: &str =
    "the dictionary flag is cleared, because the data is not compressed";

/// The text for a chunk that had the flag of a lazily loaded chunk.
pub(super) const CLEARED_LAZY: &str =
    "the flag of a lazily loaded chunk is cleared, because a chunk in a file is never one";

fn count(ranges: &[ChunkRange]) -> u64 {
    ranges.iter().fold(0, |sum, range| sum.saturating_add(range.count))
}

/// Adds `count` chunks to the ranges. If the chunks follow the last range and have the same reason, they extend this
/// range. Otherwise they are a new range.
pub(super) fn add(ranges: &mut Vec<ChunkRange>, first: u64, count: u64, why: String) {
    match ranges.last_mut() {
        Some(last) if last.first.saturating_add(last.count) == first && last.why == why => {
            last.count += count;
        }
        _ if count == 0 => {}
        _ => ranges.push(ChunkRange { first, count, why }),
    }
}
