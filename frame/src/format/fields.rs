//! The bytes of a header, as one table: which values it has, in which order, and how each one is encoded.

use crate::finding::Finding;
use crate::format::cursor::Cursor;
use crate::format::marker::Marker::{self, FixExt16, FixStr, I16, I32, I64, U64};

/// The three generations of the header. The first byte tells them apart.
///
/// ```
/// use b2nd_frame::{Frame, Generation};
///
/// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
/// assert_eq!(frame.header().generation, Generation::Present);
/// assert_eq!(frame.header_bytes()[0], 0x9e);
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Generation {
    /// `9c`, 12 values: C-Blosc2 2.0 beta 1. It has neither block size nor filters.
    Beta1,
    /// `9d`, 13 values: C-Blosc2 2.0 beta 2 to 5. It has no block size.
    Beta2,
    /// `9e`, 14 values: everything since C-Blosc2 2.0.0-rc1. Its format version is 2, or 3 if chunks or blocks may have
    /// different sizes. C-Blosc2 also writes 3 if the chunk size is 0.
    Present,
}

impl Generation {
    pub(crate) const ALL: [Self; 3] = [Self::Beta1, Self::Beta2, Self::Present];

    /// The first byte of the frame: the marker of an array of 12, 13 or 14 values.
    pub(crate) const fn marker(self) -> Marker {
        Marker::FixArray(match self {
            Self::Beta1 => 12,
            Self::Beta2 => 13,
            Self::Present => 14,
        })
    }

    /// The generation whose header begins with this byte.
    pub(crate) const fn of_marker(marker: u8) -> Option<Self> {
        Some(match Marker::from_u8(marker) {
            Marker::FixArray(12) => Self::Beta1,
            Marker::FixArray(13) => Self::Beta2,
            Marker::FixArray(14) => Self::Present,
            _ => return None,
        })
    }

    /// The number of bytes before the metalayers.
    pub(crate) const fn head_len(self) -> usize {
        match self {
            Self::Beta1 => const { Field::Metalayers.start(Self::Beta1) },
            Self::Beta2 => const { Field::Metalayers.start(Self::Beta2) },
            Self::Present => const { Field::Metalayers.start(Self::Present) },
        }
    }
}

/// How the header encodes a value.
#[derive(Clone, Copy)]
pub(crate) struct Encoding {
    /// The name, in dumps and messages.
    pub(crate) name: &'static str,
    /// The byte before the value; `None` if the value begins with its own marker.
    pub(crate) marker: Option<u8>,
    /// The number of bytes after the marker; 0 if it differs from header to header.
    pub(crate) len: usize,
    /// The first generation that has the value.
    pub(crate) since: Generation,
}

/// Makes the enum, the list of its values and their encodings from one table.
macro_rules! fields {
    (
        $(#[$attribute:meta])*
        pub enum Field {
            $($(#[doc = $doc:literal])* $field:ident $name:literal $marker:expr, $len:literal, $since:ident;)*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Field {
            $($(#[doc = $doc])* $field,)*
        }

        impl Field {
            /// All values, in the order in which the header has them.
            pub(crate) const ALL: &[Self] = &[$(Self::$field),*];

            /// The row of the table.
            pub(crate) const fn encoding(self) -> Encoding {
                let (name, marker, len, since) = match self {
                    // A constant, so that a match on a known value folds to it.
                    $(Self::$field => const { ($name, $marker, $len, Generation::$since) },)*
                };
                Encoding { name, marker, len, since }
            }
        }
    };
}

fields! {
    /// The values of a header, in their order.
    ///
    /// The header is one MessagePack array. Each value has a fixed width, so that it can be changed without moving the
    /// others. The first byte is the marker of the array, `9e` in the present generation. The offsets are those of this
    /// generation:
    ///
    /// | offset | marker | bytes | name | value |
    /// |---|---|---|---|---|
    /// | 2 | `a8` | 8 | `magic` | the text `b2frame` and a NUL |
    /// | 11 | `d2` | 4 | `header_len` | the length of the header, with its metalayers |
    /// | 16 | `cf` | 8 | `frame_len` | the length of the frame, from the header to the end of the trailer |
    /// | 25 | `a4` | 4 | `flags` | four bytes, below |
    /// | 30 | `d3` | 8 | `nbytes` | the size of all chunks, decompressed |
    /// | 39 | `d3` | 8 | `cbytes` | the size of all chunks, as stored |
    /// | 48 | `d2` | 4 | `typesize` | the size of an item |
    /// | 53 | `d2` | 4 | `blocksize` | the size of a block, decompressed |
    /// | 58 | `d2` | 4 | `chunksize` | the size of a chunk, decompressed; 0 if chunks have different sizes |
    /// | 63 | `d1` | 2 | `compr_threads` | the number of threads that compressed |
    /// | 66 | `d1` | 2 | `decomp_threads` | the number of threads that decompressed |
    /// | 68 | | 1 | `has_vlmeta` | `c3` if the trailer has vlmetalayers, else `c2` |
    /// | 70 | `d8` | 17 | `filters` | filters and codec, below |
    /// | 87 | | | `metalayers` | the metalayers, up to the end of the header |
    ///
    /// `9d` headers have no `blocksize`, and `9c` headers have neither `blocksize` nor `filters`. Without `blocksize`,
    /// all later values are 5 bytes nearer to the start; without `filters`, the metalayers are 18 more bytes nearer.
    ///
    /// The four bytes of `flags`:
    ///
    /// | offset | bits | value |
    /// |---|---|---|
    /// | 25 | 0 to 3 | version of the format |
    /// | 25 | 6 | chunks may have different sizes |
    /// | 25 | 7 | blocks have different sizes |
    /// | 26 | 0 to 7 | frame type: 0 contiguous, 1 sparse |
    /// | 27 | 0 to 3 | codec; if it is 6, the codec is at 77 |
    /// | 27 | 4 to 7 | compression level |
    /// | 28 | 0 and 1 | split mode |
    ///
    /// The 17 bytes of `filters`. MessagePack reads the first one as the type of an extension:
    ///
    /// | offset | bytes | value |
    /// |---|---|---|
    /// | 70 | 1 | the number of filters |
    /// | 71 | 6 | which filters, in the order in which they are applied |
    /// | 77 | 1 | the codec, if the flags say 6 |
    /// | 78 | 1 | the codec's parameter |
    /// | 79 | 6 | a parameter for each filter |
    /// | 85 | 1 | bit 0: chunks are compressed with a dictionary |
    /// | 86 | 1 | reserved |
    ///
    /// ```
    /// use b2nd_frame::{Field, Frame};
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let range = frame.header().range(Field::Nbytes).expect("every generation has it");
    /// assert_eq!(range, 30..38);
    /// assert_eq!(frame.header_bytes()[range], frame.header().nbytes.to_be_bytes());
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub enum Field {
        /// The text `b2frame` and a NUL.
        Magic "magic" Some(FixStr(8).to_u8()), 8, Beta1;
        /// The length of the header in bytes, with its metalayers.
        HeaderLen "header_len" Some(I32.to_u8()), 4, Beta1;
        /// The length of the frame in bytes.
        FrameLen "frame_len" Some(U64.to_u8()), 8, Beta1;
        /// Four bytes of flags: version, frame type, codec and level, split mode.
        Flags "flags" Some(FixStr(4).to_u8()), 4, Beta1;
        /// The size of all chunks in bytes, decompressed.
        Nbytes "nbytes" Some(I64.to_u8()), 8, Beta1;
        /// The size of all chunks in bytes, as stored.
        Cbytes "cbytes" Some(I64.to_u8()), 8, Beta1;
        /// The size of an item in bytes.
        Typesize "typesize" Some(I32.to_u8()), 4, Beta1;
        /// The size of a block in bytes, decompressed.
        Blocksize "blocksize" Some(I32.to_u8()), 4, Present;
        /// The size of a chunk in bytes, decompressed.
        Chunksize "chunksize" Some(I32.to_u8()), 4, Beta1;
        /// The number of threads that compressed.
        CompressionThreads "compr_threads" Some(I16.to_u8()), 2, Beta1;
        /// The number of threads that decompressed.
        DecompressionThreads "decomp_threads" Some(I16.to_u8()), 2, Beta1;
        /// Whether the trailer has vlmetalayers.
        HasVlmetalayers "has_vlmeta" None, 1, Beta1;
        /// The filters, and the codec if the flags have no room for it.
        Filters "filters" Some(FixExt16.to_u8()), 17, Beta2;
        /// The metalayers, up to the end of the header.
        Metalayers "metalayers" None, 0, Beta1;
    }
}

/// The offset in `flags` of the frame type.
pub(crate) const FRAME_TYPE: usize = 1;

/// The offsets in `filters` of its parts.
pub(crate) mod filters {
    pub(crate) const COUNT: usize = 0;
    pub(crate) const IDS: usize = 1;
    pub(crate) const CODEC: usize = 7;
    pub(crate) const CODEC_META: usize = 8;
    pub(crate) const METAS: usize = 9;
    pub(crate) const MORE_FLAGS: usize = 15;
    pub(crate) const RESERVED: usize = 16;
}

/// The parts of `filters`: the name, the offset and the number of bytes of each.
pub(crate) const FILTER_PARTS: [(&str, usize, usize); 7] = [
    ("nfilters", filters::COUNT, 1),
    ("filters", filters::IDS, 6),
    ("codec", filters::CODEC, 1),
    ("codec_meta", filters::CODEC_META, 1),
    ("filters_meta", filters::METAS, 6),
    ("more_flags", filters::MORE_FLAGS, 1),
    ("reserved", filters::RESERVED, 1),
];

impl Field {
    /// The offset of the value after its marker; `None` if the generation does not have it.
    pub(crate) const fn offset(self, generation: Generation) -> Option<usize> {
        let encoding = self.encoding();
        if (encoding.since as u8) > generation as u8 {
            return None;
        }
        Some(self.start(generation) + encoding.marker.is_some() as usize)
    }

    /// The offset at which the value begins, with its marker, or would begin if the generation had it.
    const fn start(self, generation: Generation) -> usize {
        // The marker of the array.
        let mut start = 1;
        let mut fields = Self::ALL;
        while let [field, rest @ ..] = fields {
            let Encoding { marker, len, since, .. } = field.encoding();
            if *field as u8 == self as u8 {
                break;
            }
            if since as u8 <= generation as u8 {
                start += marker.is_some() as usize + len;
            }
            fields = rest;
        }
        start
    }

    /// Takes the value's marker and its `N` bytes.
    #[inline]
    pub(crate) fn take<const N: usize>(self, cursor: &mut Cursor<'_>) -> Result<[u8; N], Finding> {
        let Encoding { name, marker, .. } = self.encoding();
        if let Some(marker) = marker {
            cursor.marker(marker, name)?;
        }
        cursor.array()
    }
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::string::String;

    use super::*;

    #[test]
    fn the_picture_of_the_header_shows_the_table() {
        let source = include_str!("fields.rs");
        let offsets = Field::ALL.iter().map(|field| {
            let Encoding { name, marker, len, .. } = field.encoding();
            let offset = field.offset(Generation::Present).unwrap();
            let marker = marker.map_or(String::new(), |marker| format!(" `{marker:02x}`"));
            let len = if len == 0 { String::new() } else { format!(" {len}") };
            let row = format!("    /// | {offset} |{marker} |{len} | `{name}` | ");
            assert!(
                source.lines().any(|line| line.starts_with(&row)),
                "no row of the picture begins with {row:?}"
            );
            offset
        });
        assert!(offsets.is_sorted());
    }

    #[test]
    fn the_pictures_of_flags_and_filters_show_their_parts() {
        let source = include_str!("fields.rs");
        let has_row = |row: &str| source.lines().any(|line| line.starts_with(row));
        let start = |field: Field| field.offset(Generation::Present).unwrap();
        let row = format!("    /// | {} | 0 to 7 | frame type", start(Field::Flags) + FRAME_TYPE);
        assert!(has_row(&row), "no row of the picture begins with {row:?}");
        let mut end = 0;
        for (name, offset, len) in FILTER_PARTS {
            assert_eq!(offset, end, "{name}");
            end += len;
            let row = format!("    /// | {} | {len} | ", start(Field::Filters) + offset);
            assert!(has_row(&row), "no row of the picture begins with {row:?}");
        }
        assert_eq!(end, Field::Filters.encoding().len);
    }

    #[test]
    fn the_marker_of_a_generation_counts_its_values() {
        for generation in Generation::ALL {
            let count = Field::ALL.iter().filter(|field| field.offset(generation).is_some()).count();
            assert_eq!(generation.marker(), Marker::FixArray(u8::try_from(count).unwrap()));
            assert_eq!(Generation::of_marker(generation.marker().to_u8()), Some(generation));
            assert_eq!(Field::Metalayers.offset(generation), Some(generation.head_len()));
        }
        assert_eq!(Generation::ALL.map(Generation::head_len), [64, 82, 87]);
    }
}
