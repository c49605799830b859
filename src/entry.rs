//! The entries of a metalayer, with their names and encodings.

use core::fmt;

/// The largest number of dimensions (`B2ND_MAX_DIM` in C-Blosc2).
///
/// ```
/// let shape = [1; b2nd_serde::MAX_NDIM as usize + 1];
/// let shapes = b2nd_serde::Shapes { shape: &shape, chunkshape: &[], blockshape: &[] };
/// assert!(b2nd_serde::Geometry::new(shapes).is_err());
/// ```
pub const MAX_NDIM: u8 = 16;

/// The largest number of bytes of a dtype. C-Blosc2 stores the length in an `int32_t`.
pub(crate) const MAX_DTYPE_LEN: usize = i32::MAX as usize;

/// The name of a `Meta` in serde's data model. A struct of a user can have it too, so its fields count as well.
pub(crate) const META_NAME: &str = "Meta";

/// The encoding of an entry.
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

/// Generates [`Entry`] from a table: the entry, its name, further names for a field of a struct, and its encoding.
macro_rules! entries {
    ($($(#[$doc:meta])* $entry:ident $name:literal [$($other:literal)*] $encoding:ident)*) => {
        /// An entry of the metalayer. The order of the variants is the order on the wire.
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
            /// All entries, in their order.
            pub(crate) const ALL: &[Self] = &[$( Self::$entry ),*];

            /// The name of the entry in the format's documents, such as `chunkshape`.
            #[must_use]
            #[inline]
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$entry => $name, )*
                }
            }

            pub(crate) const fn encoding(self) -> Encoding {
                match self {
                    $( Self::$entry => Encoding::$encoding, )*
                }
            }

            /// Whether fields with these names can hold all entries, in their order.
            // Inlined, and one comparison per row instead of a loop, so the compiler decides it for a derived struct.
            // It does not unroll a loop over names, which would cost some 300 instructions for each metalayer.
            #[inline(always)]
            pub(crate) fn can_be_fields(names: &[&str]) -> bool {
                let mut names = names.iter();
                $( names.next().is_some_and(|name| Self::$entry.can_be_field(name)) && )* names.next().is_none()
            }

            /// The entry that a field with this name must hold; `None` if the name is not a well-known one.
            // `chunkshape` and `blockshape` have the same encoding. Without this rule two swapped fields would be
            // written and read silently.
            // Inlined, so the match disappears for a name that is known at compile time.
            #[inline(always)]
            pub(crate) fn of_field(name: &str) -> Option<Self> {
                match name {
                    $( $name $( | $other )* => Some(Self::$entry), )*
                    _ => None,
                }
            }
        }

        /// The fields of a `Meta` in serde's data model: its layout, then each entry.
        pub(crate) const META_FIELDS: &[&str] = &["layout", $( $name ),*];

        /// Whether a struct is a `Meta`.
        // Inlined, and a pattern instead of a comparison of slices, so the compiler decides it for a derived struct.
        #[inline(always)]
        pub(crate) fn is_meta(name: &str, fields: &[&str]) -> bool {
            name == META_NAME && matches!(fields, ["layout", $( $name ),*])
        }
    };
}

entries! {
    /// Version of the metalayer, 0 to 127. It is 0 in every known file.
    Version "version" [] Fixint
    /// Number of dimensions, 0 to 16.
    Ndim "ndim" [] Fixint
    /// Items of the array along each dimension, as int64.
    Shape "shape" [] Int64s
    /// Items of a chunk along each dimension, as int32.
    Chunkshape "chunkshape" ["chunks" "chunk_shape"] Int32s
    /// Items of a block along each dimension, as int32.
    Blockshape "blockshape" ["blocks" "block_shape"] Int32s
    /// Syntax of the dtype, 0 to 127. 0 is NumPy's; no other value is known.
    DtypeFormat "dtype_format" [] Fixint
    /// The item type as text, as str32.
    Dtype "dtype" [] Str32
}

impl Entry {
    /// Whether a field with this name can hold this entry: not if it is a well-known name of another entry.
    // A derived struct gives its names as constants, so after inlining the compiler removes all comparisons.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_name_means_the_entry_of_the_table() {
        for &entry in Entry::ALL {
            assert_eq!(Entry::of_field(entry.name()), Some(entry));
        }
        assert_eq!(Entry::of_field("chunks"), Some(Entry::Chunkshape));
        assert_eq!(Entry::of_field("chunk_shape"), Some(Entry::Chunkshape));
        assert_eq!(Entry::of_field("blocks"), Some(Entry::Blockshape));
        assert_eq!(Entry::of_field("block_shape"), Some(Entry::Blockshape));
        assert_eq!(Entry::of_field("data_type"), None);
        assert_eq!(Entry::of_field("layout"), None);
    }
}
