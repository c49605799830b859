//! The bytes of a header as one table: its values, their order and their encodings.

use crate::finding::Finding;
use crate::messagepack::cursor::Cursor;
use crate::messagepack::marker::Marker::{self, FixExt16, FixStr, I16, I32, I64, U64};

/// The generations of the header. Headers of different generations begin with different bytes.
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
    /// Frames of C-Blosc2 2.0 beta 2 to 5. The header begins with `9d` and has 13 values, but no block size.
    Beta2,
    /// Frames of C-Blosc2 2.0.0-rc1 and later. The header begins with `9e` and has 14 values. Its format version is 2,
    /// or 3 if chunks or blocks may have different sizes. C-Blosc2 also writes 3 if the chunk size is 0.
    Present,
}

impl Generation {
    pub(crate) const ALL: [Self; 2] = [Self::Beta2, Self::Present];

    /// The first byte of a frame of C-Blosc2 2.0 beta 1 (2019). Its header has 12 values, without block size and
    /// filters. This crate refuses such a frame.
    pub(crate) const BETA1_MARKER: u8 = Marker::FixArray(12).to_u8();

    /// The first byte of the frame: the marker of a MessagePack array of 13 or 14 values.
    pub(crate) const fn marker(self) -> Marker {
        Marker::FixArray(match self {
            Self::Beta2 => 13,
            Self::Present => 14,
        })
    }

    /// The generation whose header begins with this byte.
    pub(crate) fn of_marker(marker: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|generation| generation.marker().to_u8() == marker)
    }

    /// The number of bytes of a header before its metalayers.
    // The `const` blocks make the loop in `start` run at compile time.
    pub(crate) const fn head_len(self) -> usize {
        match self {
            Self::Beta2 => const { HeaderField::Metalayers.start(Self::Beta2) },
            Self::Present => const { HeaderField::Metalayers.start(Self::Present) },
        }
    }
}

/// The encoding of a value in the header.
#[derive(Clone, Copy)]
pub(crate) struct Encoding {
    /// The name of the value in dumps and messages.
    pub(crate) name: &'static str,
    /// The byte before the value; `None` if the value begins with its own marker.
    pub(crate) marker: Option<u8>,
    /// The number of bytes after the marker; 0 if this number is not fixed.
    pub(crate) len: usize,
    /// The first generation that has the value.
    pub(crate) since: Generation,
}

/// Generates the enum, the list of its values, their encodings and their documentation from one table. A row has the
/// variant, the name, the offset in the present generation, the marker, the marker as documented, the length, the first
/// generation with the value, and a description.
// The offsets in the rows are only documentation. The code computes the real offsets from the lengths, and a test
// compares them with the offsets in the rows.
macro_rules! fields {
    (
        $(#[$before:meta])*
        [$($field:ident $name:literal $offset:literal $marker:expr, $shown:literal $len:literal $since:ident $what:literal)*]
        $(#[$between:meta])*
        [$($part:ident $part_name:literal $part_offset:literal $part_len:literal $part_what:literal)*]
        $(#[$after:meta])*
        pub enum HeaderField;
    ) => {
        $(#[$before])*
        ///
        /// | offset | marker | bytes | name | value |
        /// |---|---|---|---|---|
        $(#[doc = concat!("| ", $offset, " | ", $shown, " | ", $len, " | `", $name, "` | ", $what, " |")])*
        ///
        $(#[$between])*
        ///
        /// | offset | bytes | name | value |
        /// |---|---|---|---|
        $(#[doc = concat!("| ", $part_offset, " | ", $part_len, " | `", $part_name, "` | ", $part_what, " |")])*
        ///
        $(#[$after])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum HeaderField {
            $(#[doc = concat!("`", $name, "`: ", $what, ".")] $field,)*
        }

        impl HeaderField {
            /// All values, in the order of the header.
            pub(crate) const ALL: &[Self] = &[$(Self::$field),*];

            /// The encoding of the value, from its row in the table.
            pub(crate) const fn encoding(self) -> Encoding {
                match self {
                    // The `const` blocks let the compiler compute the result of this match if it knows the field at
                    // compile time.
                    $(Self::$field => const {
                        Encoding { name: $name, marker: $marker, len: $len, since: Generation::$since }
                    },)*
                }
            }

            /// The offset and the marker of the value, as the documentation of this enum shows them.
            #[cfg(test)]
            fn on_the_page(self) -> (usize, &'static str) {
                match self {
                    $(Self::$field => ($offset, $shown),)*
                }
            }
        }

        /// The offset of each part within `filters`.
        pub(crate) mod filters {
            $(pub(crate) const $part: usize = $part_offset - super::FILTERS_OFFSET;)*
        }

        /// The parts of `filters`, each with its name, offset and number of bytes.
        pub(crate) const FILTER_PARTS: &[(&str, usize, usize)] = &[$(($part_name, filters::$part, $part_len)),*];
    };
}

fields! {
    /// The values of a header, in order.
    ///
    /// The header is one MessagePack array. Each value before the metalayers has a fixed width, so it can be changed
    /// without moving any other value. The first byte is the marker of the array, `9e` in the present generation. The
    /// table shows the offsets in the present generation:
    [
        Magic "magic" 2 Some(FixStr(8).to_u8()), "`a8`" 8 Beta2 "the text `b2frame` and a NUL"
        HeaderLen "header_len" 11 Some(I32.to_u8()), "`d2`" 4 Beta2 "the length of the header in bytes, with its metalayers"
        FrameLen "frame_len" 16 Some(U64.to_u8()), "`cf`" 8 Beta2
            "the length of the frame in bytes, from the header to the end of the trailer"
        Flags "flags" 25 Some(FixStr(4).to_u8()), "`a4`" 4 Beta2
            "four bytes, below: version, frame type, codec and level, split mode"
        Nbytes "nbytes" 30 Some(I64.to_u8()), "`d3`" 8 Beta2 "the size of all chunks in bytes, decompressed"
        Cbytes "cbytes" 39 Some(I64.to_u8()), "`d3`" 8 Beta2 "the size of all chunks in bytes, as stored"
        Typesize "typesize" 48 Some(I32.to_u8()), "`d2`" 4 Beta2 "the size of an item in bytes"
        Blocksize "blocksize" 53 Some(I32.to_u8()), "`d2`" 4 Present "the size of a block in bytes, decompressed"
        Chunksize "chunksize" 58 Some(I32.to_u8()), "`d2`" 4 Beta2
            "the size of a chunk in bytes, decompressed; 0 if chunks have different sizes"
        CompressionThreads "compr_threads" 63 Some(I16.to_u8()), "`d1`" 2 Beta2 "the number of threads that compressed"
        DecompressionThreads "decomp_threads" 66 Some(I16.to_u8()), "`d1`" 2 Beta2
            "the number of threads that decompressed"
        HasVlmetalayers "has_vlmeta" 68 None, "" 1 Beta2 "`c3` if the trailer has vlmetalayers, else `c2`"
        Filters "filters" 70 Some(FixExt16.to_u8()), "`d8`" 17 Beta2 "filters and codec, below"
        Metalayers "metalayers" 87 None, "" 0 Beta2 "the metalayers, up to the end of the header"
    ]
    /// A header that begins with `9d` has no `blocksize`, so all values after it begin 5 bytes earlier.
    ///
    /// The four bytes of `flags`:
    ///
    /// | offset | bits | value |
    /// |---|---|---|
    /// | 25 | 0 to 3 | version of the format |
    /// | 25 | 6 | chunks may have different sizes |
    /// | 25 | 7 | blocks may have different sizes |
    /// | 26 | 0 to 7 | frame type: 0 contiguous, 1 sparse |
    /// | 27 | 0 to 3 | codec; if it is 6, the codec is at 77 |
    /// | 27 | 4 to 7 | compression level |
    /// | 28 | 0 and 1 | split mode |
    ///
    /// The table shows the 17 bytes of `filters`, which are a MessagePack extension. The first byte is the type of the
    /// extension, which here is the number of filters. The 16 bytes after it are the data of the extension.
    [
        COUNT "nfilters" 70 1 "the number of filters"
        IDS "filters" 71 6 "the number of each filter, in the order in which they are applied"
        CODEC "codec" 77 1 "the codec, if the codec in the flags is 6"
        CODEC_META "codec_meta" 78 1 "the codec's parameter"
        METAS "filters_meta" 79 6 "a parameter for each filter"
        MORE_FLAGS "more_flags" 85 1 "bit 0: chunks are compressed with a dictionary"
        RESERVED "reserved" 86 1 "nothing yet"
    ]
    /// ```
    /// use b2nd_frame::{HeaderField, Frame};
    ///
    /// let frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let range = frame.header().range(HeaderField::Nbytes).expect("every generation has it");
    /// assert_eq!(range, 30..38);
    /// assert_eq!(frame.header_bytes()[range], frame.header().nbytes.to_be_bytes());
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub enum HeaderField;
}

/// The index of the frame type among the four bytes of `flags`.
pub(crate) const FRAME_TYPE: usize = 1;

/// The offset of `filters` in the present generation.
const FILTERS_OFFSET: usize = HeaderField::Filters.present_offset();

impl HeaderField {
    /// The offset of the value itself, after its marker; `None` if the generation does not have this value.
    pub(crate) const fn offset(self, generation: Generation) -> Option<usize> {
        let encoding = self.encoding();
        if (encoding.since as u8) > generation as u8 {
            return None;
        }
        Some(self.start(generation) + encoding.marker.is_some() as usize)
    }

    /// The offset of the value after its marker in the present generation, which has every value.
    pub(crate) const fn present_offset(self) -> usize {
        self.start(Generation::Present) + self.encoding().marker.is_some() as usize
    }

    /// The offset of the value's marker, or of the value itself if it has no marker. If the generation does not have
    /// this value, the result is the offset of the next value.
    const fn start(self, generation: Generation) -> usize {
        // The first byte of the header is the marker of the array.
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

    /// Takes the marker and the `N` bytes of the value.
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
    use super::*;

    #[test]
    fn the_page_shows_the_offsets_and_markers_of_the_present_generation() {
        for field in HeaderField::ALL {
            let marker = field.encoding().marker.map_or(String::new(), |marker| format!("`{marker:02x}`"));
            let offset = field.offset(Generation::Present).unwrap();
            assert_eq!(field.on_the_page(), (offset, &*marker), "{field:?}");
        }
    }

    #[test]
    fn the_parts_of_the_filters_follow_one_another() {
        let end = FILTER_PARTS.iter().fold(0, |end, &(name, offset, len)| {
            assert_eq!(offset, end, "{name}");
            end + len
        });
        assert_eq!(end, HeaderField::Filters.encoding().len);
    }

    #[test]
    fn the_marker_of_a_generation_counts_its_values() {
        for generation in Generation::ALL {
            let count = HeaderField::ALL.iter().filter(|field| field.offset(generation).is_some()).count();
            assert_eq!(generation.marker(), Marker::FixArray(u8::try_from(count).unwrap()));
            assert_eq!(Generation::of_marker(generation.marker().to_u8()), Some(generation));
            assert_eq!(HeaderField::Metalayers.offset(generation), Some(generation.head_len()));
        }
        assert_eq!(Generation::ALL.map(Generation::head_len), [82, 87]);
    }
}
