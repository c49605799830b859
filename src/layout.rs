//! The layouts as one table: which entries they have, in which order, in which encoding.

use core::fmt;

use serde::de::{self, Deserialize, Deserializer, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::marker::{FIXARRAY, fixarray};
use Entry::{Blockshape, Chunkshape, Dtype, DtypeFormat, Ndim, Shape, Version};

/// The largest number of dimensions (`B2ND_MAX_DIM` in C-Blosc2).
pub(crate) const MAX_NDIM: u8 = 16;

/// The marker of a dimension vector. For 16 dimensions this is `a0`, which is not an array to a `MessagePack` reader,
/// but is what C-Blosc2 writes and reads.
#[inline]
pub(crate) const fn vector_marker(ndim: u8) -> u8 {
    FIXARRAY + ndim
}

/// The first byte of the two layouts of Caterva 0.1.
pub(crate) const CATERVA_THREE: u8 = fixarray(3);

/// An entry of the metalayer. The order of the variants is the order on the wire.
///
/// ```
/// use b2nd_serde::{Entry, Layout};
///
/// assert_eq!(Entry::Chunkshape.name(), "chunkshape");
/// assert_eq!(Layout::Caterva.entries().last(), Some(&Entry::Blockshape));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Entry {
    /// Version of the metalayer, 0 to 127. Every file ever written says 0.
    Version,
    /// Number of dimensions, 0 to 16.
    Ndim,
    /// Items along each dimension, as int64.
    Shape,
    /// Items of a chunk along each dimension, as int32.
    Chunkshape,
    /// Items of a block along each dimension, as int32.
    Blockshape,
    /// Syntax of the dtype, 0 to 127. 0 is NumPy's, and no other is known in any file.
    DtypeFormat,
    /// The item type as text, as str32.
    Dtype,
}

/// How an entry stands on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// One byte, 0 to 127.
    Fixint,
    /// A dimension vector of int64.
    Int64s,
    /// A dimension vector of int32.
    Int32s,
    /// A string with a length of 4 bytes.
    Str32,
}

impl Entry {
    /// All entries, as layout [`B2nd`](Layout::B2nd) has them.
    pub(crate) const ALL: [Entry; 7] = [Version, Ndim, Shape, Chunkshape, Blockshape, DtypeFormat, Dtype];

    /// The name of the entry, as the format's documents spell it.
    #[must_use]
    #[inline]
    pub const fn name(self) -> &'static str {
        match self {
            Version => "version",
            Ndim => "ndim",
            Shape => "shape",
            Chunkshape => "chunkshape",
            Blockshape => "blockshape",
            DtypeFormat => "dtype_format",
            Dtype => "dtype",
        }
    }

    pub(crate) const fn encoding(self) -> Encoding {
        match self {
            Version | Ndim | DtypeFormat => Encoding::Fixint,
            Shape => Encoding::Int64s,
            Chunkshape | Blockshape => Encoding::Int32s,
            Dtype => Encoding::Str32,
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A field name that can mean only one entry.
///
/// Fields are placed by their order, so two of them in the wrong order would be swapped in silence. These names are
/// held against the entry that they stand at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum KnownName {
    Version,
    Ndim,
    Shape,
    Chunkshape,
    Chunks,
    ChunkShape,
    Blockshape,
    Blocks,
    BlockShape,
    DtypeFormat,
    Dtype,
}

impl KnownName {
    #[inline]
    pub(crate) fn of(field: &str) -> Option<Self> {
        Some(match field {
            "version" => Self::Version,
            "ndim" => Self::Ndim,
            "shape" => Self::Shape,
            "chunkshape" => Self::Chunkshape,
            "chunks" => Self::Chunks,
            "chunk_shape" => Self::ChunkShape,
            "blockshape" => Self::Blockshape,
            "blocks" => Self::Blocks,
            "block_shape" => Self::BlockShape,
            "dtype_format" => Self::DtypeFormat,
            "dtype" => Self::Dtype,
            _ => return None,
        })
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Chunks => "chunks",
            Self::ChunkShape => "chunk_shape",
            Self::Blocks => "blocks",
            Self::BlockShape => "block_shape",
            other => other.entry().name(),
        }
    }

    #[inline]
    pub(crate) const fn entry(self) -> Entry {
        match self {
            Self::Version => Version,
            Self::Ndim => Ndim,
            Self::Shape => Shape,
            Self::Chunkshape | Self::Chunks | Self::ChunkShape => Chunkshape,
            Self::Blockshape | Self::Blocks | Self::BlockShape => Blockshape,
            Self::DtypeFormat => DtypeFormat,
            Self::Dtype => Dtype,
        }
    }
}

/// A layout of the metalayer: which entries it has, and how many its first byte says.
///
/// | layout | name | first byte | entries | written by |
/// |---|---|---|---|---|
/// | `B2nd` | `b2nd` | `97` | all seven | C-Blosc2 since 2.7.0, python-blosc2 since 2.1.0 |
/// | `B2ndMismarked` | `b2nd-mismarked` | `96` | all seven | C-Blosc2 between two commits of February 2023 |
/// | `B2ndSix` | `b2nd-six` | `96` | all but `dtype_format` | C-Blosc2 in the days before those |
/// | `Caterva` | `caterva` | `95` | `version` to `blockshape` | Caterva 0.2 to 0.7, C-Blosc2 in January 2023 |
///
/// The first byte tells them apart, and after `96` the byte behind `blockshape`: a str32 marker (`db`) there is the
/// dtype of `B2ndSix`, a positive fixint the dtype format of `B2ndMismarked`. In `B2ndSix` the dtype is spelled as
/// NumPy prints it (`uint8`), elsewhere in NumPy's array-protocol form (`|u1`).
///
/// ```
/// use b2nd_serde::Layout;
///
/// assert_eq!(Layout::default(), Layout::B2nd);
/// assert_eq!(Layout::B2ndSix.name(), "b2nd-six");
/// assert_eq!(Layout::from_name("caterva"), Some(Layout::Caterva));
/// assert_eq!(Layout::B2ndMismarked.entries().len(), 7);
/// ```
///
/// In other formats it is its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Layout {
    /// Seven entries: what every release since 2023 writes.
    #[default]
    B2nd,
    /// Seven entries behind a marker that says six.
    B2ndMismarked,
    /// Six entries: no `dtype_format`.
    B2ndSix,
    /// Five entries: neither `dtype_format` nor `dtype`.
    Caterva,
}

impl Layout {
    /// Every layout, the present one first.
    pub const ALL: &'static [Layout] =
        &[Layout::B2nd, Layout::B2ndMismarked, Layout::B2ndSix, Layout::Caterva];

    /// The name of the layout, as it stands in JSON and in messages.
    #[must_use]
    #[inline]
    pub const fn name(self) -> &'static str {
        match self {
            Layout::B2nd => "b2nd",
            Layout::B2ndMismarked => "b2nd-mismarked",
            Layout::B2ndSix => "b2nd-six",
            Layout::Caterva => "caterva",
        }
    }

    /// The layout of this name.
    #[must_use]
    #[inline]
    pub fn from_name(name: &str) -> Option<Self> {
        Layout::ALL.iter().copied().find(|layout| layout.name() == name)
    }

    /// The entries of the layout in their order on the wire.
    #[must_use]
    #[inline]
    pub const fn entries(self) -> &'static [Entry] {
        match self {
            Layout::B2nd | Layout::B2ndMismarked => &Entry::ALL,
            Layout::B2ndSix => &[Version, Ndim, Shape, Chunkshape, Blockshape, Dtype],
            Layout::Caterva => &[Version, Ndim, Shape, Chunkshape, Blockshape],
        }
    }

    /// The number of entries that the outer marker says.
    #[inline]
    pub(crate) const fn marked_entries(self) -> u8 {
        match self {
            Layout::B2nd => 7,
            Layout::B2ndMismarked | Layout::B2ndSix => 6,
            Layout::Caterva => 5,
        }
    }

    /// The layout that a value with this number of entries is written in.
    #[inline]
    pub(crate) const fn of_entries(count: usize) -> Option<Self> {
        match count {
            7 => Some(Layout::B2nd),
            6 => Some(Layout::B2ndSix),
            5 => Some(Layout::Caterva),
            _ => None,
        }
    }

    /// The entry at a position, counted from 0.
    ///
    /// All layouts share the first five, so these are answered without a look at the layout: where the position is
    /// known at compile time, as in a derived struct, the whole match folds away.
    #[inline]
    pub(crate) const fn entry(self, position: u8) -> Option<Entry> {
        match (position, self) {
            (0, _) => Some(Version),
            (1, _) => Some(Ndim),
            (2, _) => Some(Shape),
            (3, _) => Some(Chunkshape),
            (4, _) => Some(Blockshape),
            (5, Layout::B2nd | Layout::B2ndMismarked) => Some(DtypeFormat),
            (5, Layout::B2ndSix) | (6, Layout::B2nd | Layout::B2ndMismarked) => Some(Dtype),
            _ => None,
        }
    }

    #[cfg(any(feature = "alloc", test))]
    #[inline]
    pub(crate) const fn has(self, entry: Entry) -> bool {
        match entry {
            Version | Ndim | Shape | Chunkshape | Blockshape => true,
            DtypeFormat => matches!(self, Layout::B2nd | Layout::B2ndMismarked),
            Dtype => !matches!(self, Layout::Caterva),
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Layout {
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
        f.write_str("the name of a layout: b2nd, b2nd-mismarked, b2nd-six or caterva")
    }

    #[inline]
    fn visit_str<E: de::Error>(self, name: &str) -> Result<Layout, E> {
        Layout::from_name(name).ok_or_else(|| E::invalid_value(Unexpected::Str(name), &self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_agrees_with_the_table() {
        for &layout in Layout::ALL {
            for position in 0..=u8::MAX {
                let in_table = layout.entries().get(usize::from(position)).copied();
                assert_eq!(layout.entry(position), in_table, "{layout}, entry {position}");
            }
            for entry in Entry::ALL {
                assert_eq!(layout.has(entry), layout.entries().contains(&entry), "{layout}, {entry}");
            }
        }
    }

    #[test]
    fn a_known_name_is_found_by_its_own_spelling() {
        let spellings = [
            "version",
            "ndim",
            "shape",
            "chunkshape",
            "chunks",
            "chunk_shape",
            "blockshape",
            "blocks",
            "block_shape",
            "dtype_format",
            "dtype",
        ];
        for spelling in spellings {
            assert_eq!(KnownName::of(spelling).map(KnownName::name), Some(spelling));
        }
        assert_eq!(KnownName::of("data_type"), None);
        for entry in Entry::ALL {
            assert_eq!(KnownName::of(entry.name()).map(KnownName::entry), Some(entry));
        }
    }
}
