//! The entries that a type asks for.

use crate::entry::Entry;
use crate::layout::Layout;
#[cfg(feature = "alloc")]
use crate::layout::META_STRUCT;

/// What a type takes of a metalayer.
#[derive(Clone, Copy)]
pub(super) enum Takes {
    /// All entries that are there.
    Any,
    /// This number of entries.
    Count(usize),
    /// An entry for each of these fields, or fewer, as names of aliases are among them.
    Fields(&'static [&'static str]),
    /// All entries that are there, and the layout.
    #[cfg(feature = "alloc")]
    Meta,
    /// A map, which no metalayer is.
    Map,
}

impl Takes {
    /// What a struct of this name takes.
    #[inline(always)]
    pub(super) fn of_struct(name: &str, fields: &'static [&'static str]) -> Self {
        #[cfg(feature = "alloc")]
        if name == META_STRUCT {
            return Self::Meta;
        }
        let _ = name;
        Self::Fields(fields)
    }

    /// Whether the type takes the entries of the present layout in their order. Where it is a derived one, the compiler
    /// knows the answer.
    #[inline(always)]
    pub(super) fn is_ordinary(self) -> bool {
        match self {
            Self::Any => true,
            Self::Count(count) => count == Layout::B2nd.entries().len(),
            Self::Fields(fields) => Entry::can_be_fields(fields),
            #[cfg(feature = "alloc")]
            Self::Meta => true,
            Self::Map => false,
        }
    }
}
