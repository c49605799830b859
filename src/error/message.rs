//! The message of an error: what was expected and what was found, with the entry and the dimension.

use core::fmt;

use super::detail::{CustomText, Detail, LayoutFault, ValueType};
use crate::layout::{ENTRY_COUNTS, Encoding, Entry, Layout, MAX_NDIM, OUTER_MARKERS, vector_marker};
use crate::marker::{FIXINT_MAX, FIXINTS, INT32, INT64, Marker, STR32, fixarray};

/// A fault and its place.
pub(super) struct Located {
    // 32 bits keep the error small. A larger offset, in an input of more than 4 GiB, is dropped.
    pub(super) offset: Option<u32>,
    pub(super) entry: Option<Entry>,
    pub(super) dimension: Option<u8>,
    /// The version of the metalayer; 0 if it is not known.
    pub(super) version: u8,
    pub(super) detail: Detail,
}

/// Displays an entry or one of its dimensions: `shape`, `shape[1]`.
struct EntryPath {
    entry: Option<Entry>,
    dimension: Option<u8>,
}

impl fmt::Display for EntryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.entry, self.dimension) {
            (Some(entry), None) => write!(f, "{entry}"),
            (Some(entry), Some(dimension)) => write!(f, "{entry}[{dimension}]"),
            (None, _) => f.write_str("the layout"),
        }
    }
}

/// Displays a count with its noun: `1 byte`, `2 bytes`.
struct Counted(usize, &'static str, &'static str);

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, one, several) = self;
        write!(f, "{count} {}", if *count == 1 { one } else { several })
    }
}

fn bytes(count: usize) -> Counted {
    Counted(count, "byte", "bytes")
}

fn dimensions(count: usize) -> Counted {
    Counted(count, "dimension", "dimensions")
}

fn entries(count: usize) -> Counted {
    Counted(count, "entry", "entries")
}

/// Displays the beginning of a message: `layout b2nd has 7 entries`.
struct LayoutHas(Layout);

impl fmt::Display for LayoutHas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "layout {} has {}", self.0, entries(self.0.entries().len()))
    }
}

/// Displays the order that the fields of a struct must have in a layout.
struct OrderOf(Layout);

impl fmt::Display for OrderOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in layout {} fields must follow the order ", self.0)?;
        for (position, entry) in self.0.entries().iter().enumerate() {
            write!(f, "{}{entry}", if position == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl Located {
    fn place(&self) -> EntryPath {
        EntryPath { entry: self.entry, dimension: self.dimension }
    }

    fn encoding(&self) -> Option<Encoding> {
        self.entry.map(Entry::encoding)
    }

    /// Writes what was expected and what was found, and the version if it is not 0.
    pub(super) fn message(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.detail_message(f)?;
        // Another version may allow the bytes that are invalid in version 0, so the message names the version.
        match self.version {
            0 => Ok(()),
            version => write!(f, "; version is {version}, but only version 0 is known"),
        }
    }

    fn detail_message(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place();
        match &self.detail {
            &Detail::Truncated { needed, left } => {
                write!(f, "expected {} for {place}, but the input ends ", bytes(needed))?;
                if left > 0 { write!(f, "after {left}") } else { f.write_str("here") }
            }
            &Detail::Marker { found, ndim } => {
                self.expected_marker(ndim, f)?;
                write!(f, " for {place}, found {}", Marker(found))
            }
            &Detail::Layout { found } => {
                write!(f, "expected an array of {OUTER_MARKERS}, found {}", Marker(found))?;
                if found == fixarray(3) {
                    f.write_str(", a layout of Caterva 0.1 (2019), which this project does not read")?;
                }
                Ok(())
            }
            Detail::WholeFrame => f.write_str(
                "these bytes are a whole Blosc2 frame; `b2nd_frame::Frame` finds the metalayer in it",
            ),
            &Detail::SixthEntry { found } => {
                write!(f, "expected {} for dtype, or {FIXINTS} for dtype_format, ", Marker(STR32))?;
                let Some(found) = found else { return f.write_str("but the input ends here") };
                write!(f, "found {}", Marker(found))
            }
            &Detail::Dimensions { found, ndim } => {
                write!(f, "{place} has {}, but ndim is {ndim}", dimensions(found))
            }
            &Detail::MoreDimensions { ndim } => {
                write!(f, "{place} has more than {}, but ndim is {ndim}", dimensions(ndim.into()))
            }
            &Detail::TakesDimensions { takes, ndim } => {
                write!(f, "{place} has {}, but the type takes {takes}", dimensions(ndim))
            }
            Detail::OutOfRange(value) => {
                write!(f, "{place} is {value}, but must ")?;
                self.range(f)
            }
            Detail::Text(fault) => write!(f, "{place} {fault}"),
            &Detail::Trailing { count } => {
                let verb = if count == 1 { "is" } else { "are" };
                write!(f, "{} {verb} left after the metalayer", bytes(count))
            }
            Detail::Fit(fault) => self.layout_message(*fault, f),
            Detail::BufferTooSmall { needed, given } => {
                write!(f, "the metalayer has {}, but the buffer has {given}", bytes(*needed))
            }
            Detail::UnsupportedType(takes) => self.unsupported_type(*takes, f),
            Detail::UnsupportedValue(found) => self.unsupported_value(*found, f),
            Detail::IgnoredError => f.write_str("the type ignored an error in one of its entries"),
            Detail::Unstable => f.write_str("the value changed between two calls of its `Serialize`"),
            #[cfg(feature = "std")]
            Detail::Reader(_) => f.write_str("the reader failed"),
            #[cfg(feature = "std")]
            Detail::Writer(_) => f.write_str("the writer failed"),
            Detail::Custom(text) => self.custom(text, f),
        }
    }

    /// Writes the range of numbers that are valid for the entry.
    fn range(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.encoding() {
            Some(Encoding::Int64s) => f.write_str("fit int64"),
            Some(Encoding::Int32s) => f.write_str("fit int32"),
            Some(Encoding::Ndim) => write!(f, "be 0 to {MAX_NDIM}"),
            _ => write!(f, "be 0 to {FIXINT_MAX}"),
        }
    }

    /// Writes the message for a value or a Rust type that does not fit a layout.
    fn layout_message(&self, fault: LayoutFault, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place();
        match fault {
            LayoutFault::Takes { layout, takes } => {
                write!(f, "{}, but the type takes {takes}", LayoutHas(layout))?;
                // Old texts about the format have examples without `dtype_format`, so this mistake is likely.
                let lacks_format = layout == Layout::B2nd && takes + 1 == layout.entries().len();
                if lacks_format { f.write_str(": the entry dtype_format may be missing") } else { Ok(()) }
            }
            LayoutFault::NoField { layout, takes, entry } => {
                write!(f, "{}, but the type takes {takes}: it has no field for {entry}", LayoutHas(layout))
            }
            LayoutFault::TakesMore { layout } => write!(f, "{}, but the type takes more", LayoutHas(layout)),
            LayoutFault::Unplaced { layout } => write!(
                f,
                "{}, but the field names do not show which fields take them; name the fields after the entries",
                LayoutHas(layout)
            ),
            LayoutFault::Gives { layout, gives } => {
                write!(f, "{}, but the value gives {gives}", LayoutHas(layout))
            }
            LayoutFault::NoLayout { gives } => {
                write!(f, "the value has {}, but a layout has {ENTRY_COUNTS}", entries(gives))
            }
            LayoutFault::UnknownCount => write!(
                f,
                "the length of the sequence is not known: it must be {ENTRY_COUNTS}, or set by `Serializer::with_layout`"
            ),
            LayoutFault::OtherLayout { value, asked } => {
                write!(f, "the value has layout {value}, but the serializer was given {asked}")
            }
            LayoutFault::Absent { layout } => {
                write!(f, "layout {layout} needs an entry {place}, but the value has none")
            }
            LayoutFault::Surplus { layout } => {
                write!(f, "layout {layout} has no entry {place}, but the value has one")
            }
            LayoutFault::FieldOrder { field, layout } => {
                write!(f, "field `{field}` is in the position of `{place}`: {}", OrderOf(layout))
            }
            LayoutFault::FieldAfter { field, layout } => {
                write!(f, "field `{field}` comes after `{place}`: {}", OrderOf(layout))
            }
            LayoutFault::NotAMeta => f.write_str(
                "the struct has the name and the fields of `b2nd_serde::Meta`, but is another type: use that type, or \
                 rename the struct",
            ),
        }
    }

    fn expected_marker(&self, ndim: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected ")?;
        match self.encoding() {
            // If the error names no dimension, the wrong marker is the marker of the vector, not of one of its
            // integers.
            Some(Encoding::Int64s | Encoding::Int32s) if self.dimension.is_none() => {
                write!(f, "{} ({:#04x})", dimensions(ndim.into()), vector_marker(ndim))
            }
            Some(Encoding::Int64s) => write!(f, "{}", Marker(INT64)),
            Some(Encoding::Int32s) => write!(f, "{}", Marker(INT32)),
            Some(Encoding::Str32) => write!(f, "{}", Marker(STR32)),
            Some(Encoding::Fixint | Encoding::Ndim) | None => f.write_str(FIXINTS),
        }
    }

    /// Writes the message for a Rust type that takes a value of the kind `takes`, which is not valid at this place.
    fn unsupported_type(&self, takes: ValueType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.entry {
            Some(_) => write!(f, "{}", self.place()),
            None => f.write_str("a metalayer"),
        }?;
        write!(f, " is {}, but the type takes {}{}", ExpectedValue(self), takes.name(), self.hint(takes))
    }

    /// Writes the message for a value of the kind `found`, which is not valid at this place.
    fn unsupported_value(&self, found: ValueType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.entry.is_some() {
            write!(f, "{}: ", self.place())?;
        }
        write!(f, "expected {}, found {}{}", ExpectedValue(self), found.name(), self.hint(found))
    }

    /// A hint for a mistake that is easy to make with serde. The kind `found` is not valid at this place.
    fn hint(&self, found: ValueType) -> &'static str {
        match (self.encoding(), found) {
            (Some(_), ValueType::None) => " (to leave the entry out, use `skip_serializing_if`)",
            (Some(Encoding::Str32), ValueType::Sequence) => " (for bytes, use `serde_bytes`)",
            (Some(Encoding::Str32), ValueType::Enum) => " (a variant without content is a string)",
            (None, ValueType::Map) => " (`flatten` turns a struct into a map)",
            _ => "",
        }
    }

    /// Writes the message of an error that the type's own `Serialize` or `Deserialize` raised.
    fn custom(&self, text: &CustomText, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.entry.is_some() {
            write!(f, "{}: ", self.place())?;
        }
        fmt::Display::fmt(text, f)
    }
}

/// The kind of value that is valid at a place, in the terms of serde's data model.
struct ExpectedValue<'p>(&'p Located);

impl fmt::Display for ExpectedValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.encoding() {
            None => write!(f, "a struct, tuple or sequence of {ENTRY_COUNTS} entries"),
            Some(Encoding::Int64s | Encoding::Int32s) if self.0.dimension.is_none() => {
                f.write_str("a sequence of integers")
            }
            Some(Encoding::Str32) => f.write_str("a string"),
            Some(_) => f.write_str("an integer"),
        }
    }
}
