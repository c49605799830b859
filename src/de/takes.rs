//! The entries that a type asks for.

use crate::entry::{Entry, is_meta};
use crate::layout::Layout;

/// The entries that a type takes.
#[derive(Clone, Copy)]
pub(super) enum Takes {
    /// All entries of the layout.
    Any,
    /// This number of entries.
    Count(usize),
    /// An entry for each of these fields. Serde lists aliases as fields too, so the entries can be fewer.
    Fields(&'static [&'static str]),
    /// The bytes, of which a `Meta` takes the entries itself.
    Bytes,
    /// A map, which is always an error.
    Map,
}

impl Takes {
    /// The entries that a struct with this name and these fields takes.
    // Inlined, so the comparison with a `Meta` is decided at compile time.
    #[inline(always)]
    pub(super) fn of_struct(name: &str, fields: &'static [&'static str]) -> Self {
        if is_meta(name, fields) {
            return Self::Bytes;
        }
        Self::Fields(fields)
    }

    /// Whether the type takes the entries of the present layout in order. For a derived type the compiler knows the
    /// answer.
    #[inline(always)]
    pub(super) fn is_ordinary(self) -> bool {
        match self {
            Self::Any => true,
            Self::Count(count) => count == Layout::B2nd.entries().len(),
            Self::Fields(fields) => Entry::can_be_fields(fields),
            Self::Bytes | Self::Map => false,
        }
    }
}
