//! The entries of a metalayer in their order, and the layouts.

// This file has two tables: `with_entries!` has one row for each entry, and `layouts!` one row for each layout. All
// names, sizes and offsets come from these tables, and so does the code that reads, checks, writes or dumps a
// metalayer. Only the fields of a `Meta` are written by hand, because their types differ from entry to entry.
//
// The two layouts of Caterva 0.1 (2019) are not in the table. They have three entries, `ndim`, `shape` and
// `chunkshape`, but no version and no block shape. In one of the two layouts, the integers also have another marker
// than today, and the byte order of the machine that wrote them. No program writes these layouts today. This crate
// recognizes the first byte of these layouts, and its error message names Caterva 0.1.

use core::fmt;
use core::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::marker::{FIXARRAY, INT32_SIZE, INT64_SIZE, STR32_HEADER, fixarray};

/// The largest number of dimensions (`B2ND_MAX_DIM` in C-Blosc2).
///
/// ```
/// let shape = [1; b2nd_serde::MAX_NDIM + 1];
/// let shapes = b2nd_serde::Shapes { shape: &shape, chunkshape: &[], blockshape: &[] };
/// assert!(b2nd_serde::Geometry::new(shapes).is_err());
/// ```
pub const MAX_NDIM: usize = 16;

/// The largest number of bytes of a dtype. C-Blosc2 stores the length in an `int32_t`.
pub(crate) const MAX_DTYPE_LEN: usize = i32::MAX as usize;

/// The name of a `Meta` in serde's data model.
pub(crate) const META_NAME: &str = "Meta";

/// The name of the first field of a `Meta`. The other fields have the names of the entries.
pub(crate) const META_LAYOUT: &str = "layout";

/// Whether a struct can be a `Meta`. A user's struct can have the same name, so [`is_meta`] also compares the names of
/// the fields.
#[inline(always)]
pub(crate) fn may_be_meta(name: &str, fields: usize) -> bool {
    name == META_NAME && fields == META_FIELDS.len()
}

/// Calls a macro with a row for each entry, in the order in which the entries are written. A row has the entry, its
/// name, its other names, and its encoding. If a field of a user's struct has one of the names in a row, the field must
/// hold the entry of this row.
macro_rules! with_entries {
    ($macro:ident) => {
        $macro! {
            /// Version of the metalayer, 0 to 127. It is 0 in every known file.
            Version version [] Fixint
            /// Number of dimensions, 0 to 16.
            Ndim ndim [] Ndim
            /// Items of the array along each dimension, as int64.
            Shape shape [] Int64s
            /// Items of a chunk along each dimension, as int32.
            Chunkshape chunkshape ["chunks" "chunk_shape"] Int32s
            /// Items of a block along each dimension, as int32.
            Blockshape blockshape ["blocks" "block_shape"] Int32s
            /// Syntax of the dtype, 0 to 127. 0 is NumPy's; no other value is known.
            DtypeFormat dtype_format [] Fixint
            /// The item type as text, as str32.
            Dtype dtype [] Str32
        }
    };
}

pub(crate) use with_entries;

/// The encoding of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// One byte, 0 to 127.
    Fixint,
    /// One byte, 0 to 16: the number of dimensions of the vectors that follow.
    Ndim,
    /// A dimension vector of int64.
    Int64s,
    /// A dimension vector of int32.
    Int32s,
    /// A string whose length is stored in 4 bytes.
    Str32,
}

impl Encoding {
    /// The size of an entry with this encoding, without the bytes of its text.
    pub(crate) const fn size(self) -> Size {
        let (fixed, per_dimension) = match self {
            Self::Fixint | Self::Ndim => (1, 0),
            Self::Int64s => (1, INT64_SIZE),
            Self::Int32s => (1, INT32_SIZE),
            Self::Str32 => (STR32_HEADER, 0),
        };
        Size { fixed, per_dimension }
    }
}

/// A number of bytes that depends on the number of dimensions.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    fixed: usize,
    per_dimension: usize,
}

impl Size {
    pub(crate) const fn plus(self, other: Self) -> Self {
        Self { fixed: self.fixed + other.fixed, per_dimension: self.per_dimension + other.per_dimension }
    }

    #[inline]
    pub(crate) const fn of(self, ndim: u8) -> usize {
        self.fixed + self.per_dimension * ndim as usize
    }
}

/// Generates [`Entry`], and the methods of [`Layout`] that depend on the order of the entries.
macro_rules! entries {
    ($($(#[$doc:meta])* $entry:ident $name:ident [$($other:literal)*] $encoding:ident)*) => {
        /// An entry of the metalayer. The variants are in the order in which the entries are written.
        ///
        /// ```
        /// use b2nd_serde::{Entry, Layout};
        ///
        /// assert_eq!(Entry::Chunkshape.name(), "chunkshape");
        /// assert_eq!(Layout::Caterva.entries().last(), Some(&Entry::Blockshape));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum Entry {
            $( $(#[$doc])* $entry, )*
        }

        impl Entry {
            /// The name of the entry in the format's documents, such as `chunkshape`.
            #[must_use]
            #[inline]
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$entry => stringify!($name), )*
                }
            }

            #[inline]
            pub(crate) const fn encoding(self) -> Encoding {
                match self {
                    $( Self::$entry => Encoding::$encoding, )*
                }
            }

            /// The entry that a field with this name must hold; `None` if the name is not well-known.
            // `chunkshape` and `blockshape` have the same encoding. If the names of the fields were not checked, a
            // struct with these two fields in the wrong order would be written and read without an error.
            #[inline(always)]
            pub(crate) fn of_field(name: &str) -> Option<Self> {
                match name {
                    $( stringify!($name) $( | $other )* => Some(Self::$entry), )*
                    _ => None,
                }
            }
        }

        impl Layout {
            /// The entry at a position, counted from 0.
            // There is one comparison per entry instead of a lookup in a slice. If the position is a constant, as for
            // the field of a derived struct, the compiler removes the comparisons.
            #[inline(always)]
            pub(crate) const fn entry(self, position: u8) -> Option<Entry> {
                let before = 0;
                $(
                    if self.has(Entry::$entry) && position == before {
                        return Some(Entry::$entry);
                    }
                    let before = before + self.has(Entry::$entry) as u8;
                )*
                let _ = before;
                None
            }

            /// Whether fields with these names, in this order, can hold the entries of the layout in their order.
            // The names of a struct with a derived `Serialize` or `Deserialize` are constants. The function is inlined
            // and has one comparison per entry instead of a loop, so the compiler can compute the result for such a
            // struct. The compiler would not unroll a loop over the names.
            #[inline(always)]
            pub(crate) fn can_be_fields(self, names: &[&str]) -> bool {
                let mut names = names.iter();
                $( (!self.has(Entry::$entry)
                    || names.next().is_some_and(|name| Entry::$entry.can_be_field(name))) && )*
                names.next().is_none()
            }

            /// The size of everything before this entry in a metalayer.
            pub(crate) const fn bytes_before(self, entry: Entry) -> Size {
                // The outer marker.
                let size = Size { fixed: 1, per_dimension: 0 };
                $(
                    if entry as u8 == Entry::$entry as u8 {
                        return size;
                    }
                    let size = if self.has(Entry::$entry) { size.plus(Encoding::$encoding.size()) } else { size };
                )*
                size
            }
        }

        /// The fields of a `Meta` in serde's data model: its layout, then each entry.
        pub(crate) const META_FIELDS: &[&str] = &[META_LAYOUT, $( stringify!($name) ),*];

        /// Whether a struct is a `Meta`.
        // The names of a struct with a derived `Serialize` or `Deserialize` are constants. The function is inlined and
        // has a pattern instead of a comparison of slices, so the compiler can compute the result for such a struct.
        #[inline(always)]
        pub(crate) fn is_meta(name: &str, fields: &[&str]) -> bool {
            may_be_meta(name, fields.len()) && matches!(fields, [META_LAYOUT, $( stringify!($name) ),*])
        }
    };
}

with_entries!(entries);

impl Entry {
    /// Whether a field with this name can hold this entry. The field cannot hold the entry if its name is a well-known
    /// name of another entry.
    // The field names of a struct with a derived `Serialize` or `Deserialize` are constants, so after inlining the
    // compiler removes all comparisons.
    #[inline(always)]
    pub(crate) fn can_be_field(self, name: &str) -> bool {
        Self::of_field(name).is_none_or(|own| own == self)
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The marker of a dimension vector. For 16 dimensions the marker is `a0`. In `MessagePack`, the byte `a0` is an empty
/// string, but C-Blosc2 writes and reads `a0` as the marker of 16 dimensions.
#[inline]
pub(crate) const fn vector_marker(ndim: u8) -> u8 {
    FIXARRAY + ndim
}

/// Generates [`Layout`] from a table. Each row has the layout, its name, the number in its outer marker, the entries
/// that it lacks, and two texts for the documentation: a list of its entries, and the programs that wrote it.
macro_rules! layouts {
    (
        $($(#[$doc:meta])* $layout:ident $name:literal $marked:literal without [$($lacking:ident)*]
            $which:literal $writer:literal)*
    ) => {
        /// A layout of the metalayer. It determines the entries, and the number of entries that the first byte states.
        ///
        /// | layout | name | first byte | entries | written by |
        /// |---|---|---|---|---|
        $( #[doc = concat!(
            "| `", stringify!($layout), "` | `", $name, "` | `9", $marked, "` | ", $which, " | ", $writer, " |"
        )] )*
        ///
        /// The first byte determines the layout, except that two layouts begin with `96`. If the first byte is `96`,
        /// the byte after `blockshape` determines which of these two layouts the metalayer has. The str32 marker `db`
        /// means `B2ndSix`, and is the first byte of the dtype. A positive fixint means `B2ndMismarked`, and is the
        /// dtype format.
        ///
        /// `B2ndSix` has the dtype in the spelling of NumPy's `str(dtype)` (`uint8`). The two layouts of seven entries
        /// have the spelling of `dtype.str` (`|u1`).
        ///
        /// ```
        /// use b2nd_serde::Layout;
        ///
        /// assert_eq!(Layout::default(), Layout::B2nd);
        /// assert_eq!(Layout::B2ndSix.name(), "b2nd-six");
        /// assert_eq!("caterva".parse(), Ok(Layout::Caterva));
        /// assert_eq!(Layout::B2ndMismarked.entries().len(), 7);
        /// ```
        ///
        /// In other serde formats, such as JSON, a layout is written as its name.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum Layout {
            $( $(#[$doc])* $layout, )*
        }

        impl Layout {
            /// All layouts, the current one first.
            pub const ALL: &[Self] = &[$( Self::$layout ),*];

            /// The name of the layout in JSON and in messages, such as `b2nd-six`.
            #[must_use]
            #[inline]
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$layout => $name, )*
                }
            }

            /// The entries of the layout, in their order.
            #[must_use]
            #[inline]
            pub const fn entries(self) -> &'static [Entry] {
                match self {
                    $( Self::$layout => const { &listed::<{ count(Self::$layout) }>(Self::$layout) }, )*
                }
            }

            /// The outer marker: the first byte of the metalayer, which states the number of entries.
            #[inline]
            pub(crate) const fn marker(self) -> u8 {
                match self {
                    $( Self::$layout => fixarray($marked), )*
                }
            }

            /// The layout for writing a value with `count` entries: the first layout in the table with that number.
            #[inline]
            pub(crate) const fn of_entries(count: usize) -> Option<Self> {
                $( if count == Self::$layout.entries().len() {
                    return Some(Self::$layout);
                } )*
                None
            }

            /// The layout with this name; `None` if no layout has this name.
            #[inline]
            pub(crate) fn of_name(name: &str) -> Option<Self> {
                match name {
                    $( $name => Some(Self::$layout), )*
                    _ => None,
                }
            }

            /// Whether the layout has an entry. For an entry that all layouts have, the compiler knows the result.
            #[inline(always)]
            pub(crate) const fn has(self, entry: Entry) -> bool {
                match (self, entry) {
                    $( $( (Self::$layout, Entry::$lacking) => false, )* )*
                    _ => true,
                }
            }
        }
    };
}

layouts! {
    /// Seven entries. Every release of C-Blosc2 since 2.7.0 writes this layout.
    #[default]
    B2nd "b2nd" 7 without []
        "all seven" "C-Blosc2 since 2.7.0, python-blosc2 since 2.1.0"
    /// Seven entries, but the first byte states six.
    B2ndMismarked "b2nd-mismarked" 6 without []
        "all seven" "C-Blosc2 between two commits of February 2023"
    /// Six entries: no `dtype_format`.
    B2ndSix "b2nd-six" 6 without [DtypeFormat]
        "all but `dtype_format`" "C-Blosc2 for some days before the first of these two commits"
    /// Five entries: neither `dtype_format` nor `dtype`.
    Caterva "caterva" 5 without [DtypeFormat Dtype]
        "`version` to `blockshape`" "Caterva 0.2 to 0.7, C-Blosc2 in January 2023"
}

impl Layout {
    /// The number of entries that the outer marker states.
    pub(crate) const fn marked_entries(self) -> u8 {
        self.marker() - FIXARRAY
    }
}

/// The number of entries of a layout.
const fn count(layout: Layout) -> usize {
    let mut count = 0;
    while layout.entry(count).is_some() {
        count += 1;
    }
    count as usize
}

/// The entries of a layout that has `COUNT` entries.
#[expect(clippy::indexing_slicing, reason = "computed by the compiler")]
const fn listed<const COUNT: usize>(layout: Layout) -> [Entry; COUNT] {
    let mut entries = [Entry::Version; COUNT];
    let mut position = 0;
    while let Some(entry) = layout.entry(position) {
        entries[position as usize] = entry;
        position += 1;
    }
    entries
}

/// The number of entries that a value can have, for messages.
pub(crate) const ENTRY_COUNTS: &str = "7, 6 or 5";

/// The first bytes that a metalayer can have, and the number of entries that each of them states, for messages.
pub(crate) const OUTER_MARKERS: &str = "7, 6 or 5 (0x97, 0x96 or 0x95)";

/// The names of the layouts, for messages.
const LAYOUT_NAMES: &str = "b2nd, b2nd-mismarked, b2nd-six or caterva";

/// The size of everything before the text of the dtype in layout `B2nd`. In no other layout is it larger.
pub(crate) const BEFORE_TEXT: Size = Layout::B2nd.bytes_before(Entry::Dtype).plus(Encoding::Str32.size());

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Parses the [name](Layout::name) of a layout.
impl FromStr for Layout {
    type Err = ParseLayoutError;

    #[inline]
    fn from_str(name: &str) -> Result<Self, ParseLayoutError> {
        Self::of_name(name).ok_or(ParseLayoutError(()))
    }
}

/// The error of parsing a text that is not the name of a [`Layout`].
///
/// ```
/// use b2nd_serde::Layout;
///
/// let error = "zarr".parse::<Layout>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "expected the name of a layout: b2nd, b2nd-mismarked, b2nd-six or caterva"
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseLayoutError(());

impl fmt::Display for ParseLayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected ")?;
        LayoutVisitor.expecting(f)
    }
}

impl core::error::Error for ParseLayoutError {}

impl Serialize for Layout {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Layout {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(LayoutVisitor)
    }
}

struct LayoutVisitor;

impl Visitor<'_> for LayoutVisitor {
    type Value = Layout;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the name of a layout: {LAYOUT_NAMES}")
    }

    #[inline]
    fn visit_str<E: de::Error>(self, name: &str) -> Result<Layout, E> {
        name.parse().map_err(|_| E::invalid_value(Unexpected::Str(name), &self))
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::format;
    use std::vec::Vec;

    use super::*;
    use Entry::{Blockshape, Chunkshape, Dtype, DtypeFormat, Ndim, Shape, Version};

    #[test]
    fn of_field_gives_the_entry_of_the_table() {
        for &entry in Layout::B2nd.entries() {
            assert_eq!(Entry::of_field(entry.name()), Some(entry));
        }
        assert_eq!(Entry::of_field("chunks"), Some(Chunkshape));
        assert_eq!(Entry::of_field("chunk_shape"), Some(Chunkshape));
        assert_eq!(Entry::of_field("blocks"), Some(Blockshape));
        assert_eq!(Entry::of_field("block_shape"), Some(Blockshape));
        assert_eq!(Entry::of_field("data_type"), None);
        assert_eq!(Entry::of_field("layout"), None);
    }

    /// Other code relies on these assertions. If a new layout breaks one of them, that code must change too.
    #[test]
    fn layout_entries_are_as_the_code_expects() {
        let all = [Version, Ndim, Shape, Chunkshape, Blockshape, DtypeFormat, Dtype];
        assert_eq!(Layout::B2nd.entries(), all, "a `Meta` and the offset of a text rely on it");
        assert_eq!(Layout::B2ndMismarked.entries(), all);
        assert_eq!(Layout::B2ndSix.entries(), [Version, Ndim, Shape, Chunkshape, Blockshape, Dtype]);
        assert_eq!(Layout::Caterva.entries(), [Version, Ndim, Shape, Chunkshape, Blockshape]);
        assert!(all.is_sorted());
        for &layout in Layout::ALL {
            let entries = layout.entries();
            assert!(entries.starts_with(Layout::Caterva.entries()), "{layout}");
            let written = Layout::of_entries(entries.len()).map(Layout::entries);
            assert_eq!(written, Some(entries), "{layout}: the number of entries must determine the entries");
            for entry in all {
                assert_eq!(layout.has(entry), entries.contains(&entry), "{layout}, {entry}");
            }
        }
    }

    #[test]
    fn messages_have_the_counts_markers_and_names_of_the_table() {
        let written = [Layout::B2nd, Layout::B2ndSix, Layout::Caterva];
        let [a, b, c] = written.map(|layout| layout.entries().len());
        assert_eq!(ENTRY_COUNTS, format!("{a}, {b} or {c}"));
        let [a, b, c] = written.map(Layout::marker);
        assert_eq!(OUTER_MARKERS, format!("{ENTRY_COUNTS} ({a:#04x}, {b:#04x} or {c:#04x})"));
        let [rest @ .., last] = Layout::ALL else { panic!("no layouts") };
        let names: Vec<_> = rest.iter().map(|layout| layout.name()).collect();
        assert_eq!(LAYOUT_NAMES, format!("{} or {last}", names.join(", ")));
        for &layout in Layout::ALL {
            assert_eq!(layout.name().parse(), Ok(layout));
        }
        assert_eq!("".parse::<Layout>(), Err(ParseLayoutError(())));
    }

    #[test]
    fn bytes_before_adds_the_sizes_of_the_entries() {
        for (layout, entry, fixed, per_dimension) in [
            (Layout::B2nd, Version, 1, 0),
            (Layout::B2nd, Shape, 3, 0),
            (Layout::B2nd, Blockshape, 5, 14),
            (Layout::B2nd, Dtype, 7, 19),
            (Layout::B2ndSix, Dtype, 6, 19),
        ] {
            for ndim in [0, 1, 16] {
                let expected = fixed + per_dimension * usize::from(ndim);
                assert_eq!(layout.bytes_before(entry).of(ndim), expected, "{layout}, {entry}, {ndim}");
            }
        }
    }

    #[test]
    fn before_text_has_room_for_every_layout() {
        for ndim in 0..=16 {
            let before =
                Layout::ALL.iter().map(|&layout| layout.bytes_before(Dtype).plus(Encoding::Str32.size()));
            assert_eq!(
                before.map(|size| size.of(ndim)).max(),
                Some(BEFORE_TEXT.of(ndim)),
                "{ndim} dimensions"
            );
        }
    }

    #[test]
    fn of_entries_gives_the_first_layout_with_that_number() {
        assert_eq!(Layout::of_entries(7), Some(Layout::B2nd));
        assert_eq!(Layout::of_entries(6), Some(Layout::B2ndSix));
        assert_eq!(Layout::of_entries(5), Some(Layout::Caterva));
        for count in [0, 3, 4, 8, usize::MAX] {
            assert_eq!(Layout::of_entries(count), None);
        }
    }

    #[test]
    fn can_be_fields_rejects_the_name_of_another_entry() {
        let names = ["version", "ndim", "shape", "chunkshape", "blockshape", "dtype_format", "dtype"];
        assert!(Layout::B2nd.can_be_fields(&names));
        assert!(Layout::B2nd.can_be_fields(&["a", "b", "c", "chunks", "block_shape", "f", "g"]));
        assert!(!Layout::B2nd.can_be_fields(&names[1..]));
        assert!(!Layout::B2nd.can_be_fields(&["a", "b", "c", "d", "e", "f", "g", "h"]));
        assert!(Layout::B2ndSix.can_be_fields(&["a", "b", "c", "d", "e", "dtype"]));
        assert!(!Layout::B2ndSix.can_be_fields(&["a", "b", "c", "d", "e", "dtype_format"]));
        assert!(Layout::Caterva.can_be_fields(&names[..5]));
        for at in 0..names.len() - 1 {
            let mut swapped = names;
            swapped.swap(at, at + 1);
            assert!(!Layout::B2nd.can_be_fields(&swapped), "{swapped:?}");
        }
    }
}
