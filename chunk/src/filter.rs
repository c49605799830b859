//! Filters, by their numbers in C-Blosc2.

use core::fmt;

use crate::codec::FIRST_OF_USERS;

macro_rules! filters {
    ($($constant:ident $id:literal $name:literal $what:literal)*) => {
        /// A filter of the pipeline: its number in C-Blosc2, and its parameter.
        ///
        /// | constant | number | name | filter |
        /// |---|---|---|---|
        $(#[doc = concat!("| `", stringify!($constant), "` | ", $id, " | `", $name, "` | ", $what, " |")])*
        ///
        /// ```
        /// use b2nd_chunk::Filter;
        ///
        /// assert_eq!(Filter::SHUFFLE.to_string(), "shuffle");
        /// assert_eq!(Filter { meta: 10, ..Filter::TRUNC_PREC }.to_string(), "trunc_prec (10)");
        /// assert_eq!(Filter { id: 200, meta: 0 }.to_string(), "filter 200");
        /// ```
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct Filter {
            /// The number of the filter; 0 means no filter.
            pub id: u8,
            /// The parameter of the filter. For `trunc_prec` and `int_trunc`, it is the number of bits that are kept.
            /// As an `i8`, it can be negative: then its absolute value is the number of bits that are cleared. For
            /// `shuffle`, it is the item size, and 0 means the item size of the chunk. For `bytedelta`, it is the item
            /// size. `bitshuffle` and `delta` ignore their parameters, as in C-Blosc2.
            pub meta: u8,
        }

        impl Filter {
            $(
                #[doc = concat!("`", $name, "`: ", $what, ". Its parameter is 0.")]
                pub const $constant: Self = Self { id: $id, meta: 0 };
            )*

            /// The name of the filter in C-Blosc2, or in its registry of plugins. `None` for an unknown number, and for
            /// the numbers 160 to 255, which any program may use for its own filters.
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                match self.id {
                    $($id => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}

filters! {
    NONE 0 "none" "no filter"
    SHUFFLE 1 "shuffle" "the first byte of all items, then the second one, and so on"
    BITSHUFFLE 2 "bitshuffle" "the same with bits"
    DELTA 3 "delta" "XOR with the first block"
    TRUNC_PREC 4 "trunc_prec" "the parameter is the number of bits of a float that are kept"
    NDCELL 32 "ndcell" "a plugin: cells of several dimensions"
    NDMEAN 33 "ndmean" "a plugin: means of cells"
    BYTEDELTA_BUGGY 34 "bytedelta_buggy" "the first release of `bytedelta`, which has a bug"
    BYTEDELTA 35 "bytedelta" "a plugin: differences of bytes after a shuffle"
    INT_TRUNC 36 "int_trunc" "a plugin: the parameter is the number of bits of an integer that are kept"
}

impl Filter {
    /// Whether the number belongs neither to a known filter nor to the range for users, 160 to 255.
    #[doc(hidden)]
    #[must_use]
    pub fn is_unknown(self) -> bool {
        self.id < FIRST_OF_USERS && self.name().is_none()
    }

    /// The filter as a chunk stores it. The parameter 0 of `bytedelta` means the item size in the header of the frame.
    /// This method replaces a 0 by `typesize`, so that the chunk can be decompressed without its frame.
    ///
    /// ```
    /// use b2nd_chunk::Filter;
    ///
    /// assert_eq!(Filter::BYTEDELTA.in_chunk(4), Filter { meta: 4, ..Filter::BYTEDELTA });
    /// assert_eq!(Filter::SHUFFLE.in_chunk(4), Filter::SHUFFLE);
    /// ```
    #[doc(hidden)]
    #[must_use]
    pub fn in_chunk(self, typesize: u8) -> Self {
        if self == Self::BYTEDELTA { Self { meta: typesize, ..self } } else { self }
    }

    /// The filter with the parameter 0, to compare it with the constants.
    pub(crate) fn without_parameter(self) -> Self {
        Self { meta: 0, ..self }
    }

    /// Whether the filter moves bytes or bits, and so needs a second buffer.
    #[cfg(feature = "decompress")]
    pub(crate) fn is_shuffle(self) -> bool {
        [Self::SHUFFLE, Self::BITSHUFFLE].contains(&self.without_parameter())
    }

    /// The size of the items that a shuffle rearranges: the parameter of `shuffle`, or the item size if the parameter
    /// is 0. C-Blosc2 ignores the parameter of `bitshuffle`.
    #[cfg(feature = "decompress")]
    pub(crate) fn shuffled_size(self, itemsize: usize) -> usize {
        if self.id == Self::SHUFFLE.id && self.meta != 0 { self.meta.into() } else { itemsize }
    }

    /// Whether the filter is not built into C-Blosc2: it is a plugin, a filter of a user, or unknown.
    #[doc(hidden)]
    #[must_use]
    pub fn is_plugin(self) -> bool {
        self.id > Self::TRUNC_PREC.id
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "filter {}", self.id),
        }?;
        if self.meta == 0 { Ok(()) } else { write!(f, " ({})", self.meta) }
    }
}
