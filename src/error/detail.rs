//! What can go wrong, in 16 bytes, and how it is said.

use core::fmt;

use super::ErrorKind;
use crate::layout::{CATERVA_THREE, Encoding, Entry, KnownName, Layout, MAX_NDIM, vector_marker};
use crate::marker::{INT32, INT64, Marker, STR32};

/// A length, held without alignment to keep an error small.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Length([u8; 4]);

impl Length {
    pub(crate) fn new(length: usize) -> Self {
        Self(u32::try_from(length).unwrap_or(u32::MAX).to_ne_bytes())
    }

    fn get(self) -> u32 {
        u32::from_ne_bytes(self.0)
    }
}

/// Any integer of at most 128 bits, cut to a sign and 64 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Integer {
    sign: Sign,
    magnitude: [u8; 8],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Plus,
    Minus,
    /// The value is beyond the magnitude.
    Above,
    /// The value is below minus the magnitude.
    Below,
}

impl Integer {
    pub(crate) fn unsigned(value: u128) -> Self {
        let (sign, magnitude) = match u64::try_from(value) {
            Ok(magnitude) => (Sign::Plus, magnitude),
            Err(_) => (Sign::Above, u64::MAX),
        };
        Self { sign, magnitude: magnitude.to_ne_bytes() }
    }

    pub(crate) fn signed(value: i128) -> Self {
        let mut integer = Self::unsigned(value.unsigned_abs());
        if value < 0 {
            integer.sign = if integer.sign == Sign::Above { Sign::Below } else { Sign::Minus };
        }
        integer
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = u64::from_ne_bytes(self.magnitude);
        match self.sign {
            Sign::Plus => write!(f, "{magnitude}"),
            Sign::Minus => write!(f, "-{magnitude}"),
            Sign::Above => write!(f, "a value above {magnitude}"),
            Sign::Below => write!(f, "a value below -{magnitude}"),
        }
    }
}

/// The sorts of values of serde's data model, as far as a message tells them apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueType {
    Bool,
    Integer,
    Float,
    Char,
    Str,
    Bytes,
    None,
    Unit,
    Enum,
    Sequence,
    Map,
    Struct,
}

impl ValueType {
    fn name(self) -> &'static str {
        match self {
            Self::Bool => "a bool",
            Self::Integer => "an integer",
            Self::Float => "a float",
            Self::Char => "a char",
            Self::Str => "a string",
            Self::Bytes => "bytes",
            Self::None => "None",
            Self::Unit => "a unit",
            Self::Enum => "a tagged enum",
            Self::Sequence => "a sequence",
            Self::Map => "a map",
            Self::Struct => "a struct",
        }
    }
}

/// What went wrong, apart from where.
#[cfg_attr(not(feature = "alloc"), expect(dead_code, reason = "some only come with `Meta` and `to_vec`"))]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Fewer bytes are left than the value at this place has.
    Truncated {
        needed: Length,
        left: Length,
    },
    /// The marker is another one than that of the entry; `ndim` is the count that a dimension vector should have.
    Marker {
        found: u8,
        ndim: u8,
    },
    /// The outer marker is that of no layout.
    Layout {
        found: u8,
    },
    /// The byte behind the block shape begins neither a dtype nor a dtype format.
    SixthEntry {
        found: u8,
    },
    Rank {
        found: Length,
    },
    /// A vector is written with another number of dimensions than `ndim` says.
    Dimensions {
        found: Length,
        ndim: u8,
    },
    /// The type takes another number of dimensions than the input has.
    TakesDimensions {
        takes: Length,
        ndim: u8,
    },
    DoesNotFit(Integer),
    /// Not UTF-8 from this byte of the dtype on.
    Utf8 {
        valid: Length,
    },
    /// A NUL at this byte of the dtype.
    Nul {
        at: Length,
    },
    DtypeLength {
        found: Length,
    },
    Trailing {
        count: Length,
    },
    /// The type takes another number of entries than the layout has.
    Takes {
        layout: Layout,
        takes: Length,
    },
    /// The value written has another number of entries than the layout.
    Gives {
        layout: Layout,
        gives: Length,
    },
    /// No layout has this number of entries.
    NoLayout {
        gives: Length,
    },
    /// A sequence does not say how many entries will come.
    UnknownCount,
    /// A `Meta` of one layout is written where another was asked for.
    OtherLayout {
        value: Layout,
        asked: Layout,
    },
    /// The entry is missing in a `Meta` of this layout.
    Absent {
        layout: Layout,
    },
    /// The entry is there in a `Meta` of a layout that has none.
    Surplus {
        layout: Layout,
    },
    /// The field stands at another entry than its name says.
    FieldOrder {
        name: KnownName,
    },
    /// The field stands somewhere behind an entry that its own comes before.
    FieldBehind {
        name: KnownName,
    },
    Unsupported(ValueType),
    BufferTooSmall {
        needed: Length,
        given: Length,
    },
    /// The type went on after an error that it was given.
    PassedOver,
    /// The names of the fields do not tell which of them are the entries of a layout.
    Unplaced {
        layout: Layout,
    },
    /// A `Display` or `Serialize` gave another value when asked a second time.
    Unstable,
    #[cfg(feature = "std")]
    Io,
    Custom,
}

impl Detail {
    pub(super) fn kind(self) -> ErrorKind {
        match self {
            Self::Truncated { .. } => ErrorKind::UnexpectedEnd,
            Self::Marker { .. } => ErrorKind::Marker,
            Self::Layout { .. } | Self::SixthEntry { .. } => ErrorKind::Layout,
            Self::Rank { .. } => ErrorKind::Rank,
            Self::Dimensions { .. } | Self::TakesDimensions { .. } => ErrorKind::DimensionCount,
            Self::DoesNotFit(_) => ErrorKind::OutOfRange,
            Self::Utf8 { .. } => ErrorKind::Utf8,
            Self::Nul { .. } => ErrorKind::Nul,
            Self::DtypeLength { .. } => ErrorKind::DtypeLength,
            Self::Trailing { .. } => ErrorKind::TrailingBytes,
            Self::Takes { .. }
            | Self::Gives { .. }
            | Self::NoLayout { .. }
            | Self::UnknownCount
            | Self::Unplaced { .. }
            | Self::OtherLayout { .. }
            | Self::Absent { .. }
            | Self::Surplus { .. } => ErrorKind::EntryCount,
            Self::FieldOrder { .. } | Self::FieldBehind { .. } => ErrorKind::FieldOrder,
            Self::Unsupported(_) => ErrorKind::UnsupportedType,
            Self::BufferTooSmall { .. } => ErrorKind::BufferTooSmall,
            #[cfg(feature = "std")]
            Self::Io => ErrorKind::Io,
            Self::Unstable | Self::PassedOver | Self::Custom => ErrorKind::Custom,
        }
    }
}

/// Everything about an error that needs no heap, in 16 bytes.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    pub(super) offset: u32,
    pub(super) entry: Option<Entry>,
    pub(super) index: u8,
    pub(super) detail: Detail,
}

pub(super) const NO_OFFSET: u32 = u32::MAX;
pub(super) const NO_INDEX: u8 = u8::MAX;

/// `entry`, or `entry[index]`.
pub(super) struct Place {
    entry: Option<Entry>,
    index: u8,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.entry, self.index) {
            (Some(entry), NO_INDEX) => write!(f, "{entry}"),
            (Some(entry), index) => write!(f, "{entry}[{index}]"),
            (None, _) => f.write_str("the layout"),
        }
    }
}

/// A count with its noun: `1 byte`, `2 bytes`.
struct Counted(u32, &'static str);

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = match (self.0, self.1) {
            (1, "entry") => "entry",
            (_, "entry") => "entries",
            (1, noun) => noun,
            (count, noun) => return write!(f, "{count} {noun}s"),
        };
        write!(f, "{} {plural}", self.0)
    }
}

fn bytes(count: Length) -> Counted {
    Counted(count.get(), "byte")
}

fn dimensions(count: impl Into<u32>) -> Counted {
    Counted(count.into(), "dimension")
}

fn entries(count: impl Into<u32>) -> Counted {
    Counted(count.into(), "entry")
}

/// The number of entries of a layout, as a sentence about it begins.
fn layout_has(layout: Layout, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "layout {layout} has {}", entries(Length::new(layout.entries().len())))
}

impl From<Length> for u32 {
    fn from(length: Length) -> u32 {
        length.get()
    }
}

impl Parts {
    pub(super) fn place(&self) -> Place {
        Place { entry: self.entry, index: self.index }
    }

    fn encoding(&self) -> Option<Encoding> {
        self.entry.map(Entry::encoding)
    }

    fn is_dimension(&self) -> bool {
        self.index != NO_INDEX
    }

    /// Says what was expected and what was found. What needs the heap is said by [`Error`](super::Error) itself.
    pub(super) fn message(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place();
        match self.detail {
            Detail::Truncated { needed, left } => {
                write!(f, "expected {} for {place}, found the end", bytes(needed))?;
                if left.get() > 0 { write!(f, " after {}", left.get()) } else { Ok(()) }
            }
            Detail::Marker { found, ndim } => {
                self.expected_marker(ndim, f)?;
                write!(f, " for {place}, found {}", Marker(found))
            }
            Detail::Layout { found } => {
                let marker = Marker(found);
                write!(f, "expected 7, 6 or 5 entries (0x97, 0x96, 0x95), found {marker}")?;
                if found == CATERVA_THREE { f.write_str(", a layout of Caterva 0.1") } else { Ok(()) }
            }
            Detail::SixthEntry { found } => {
                let (str32, found) = (Marker(STR32), Marker(found));
                write!(f, "expected {str32} for dtype, or {FIXINTS} for dtype_format, found {found}")
            }
            Detail::Rank { found } => write!(f, "ndim is {}, more than {MAX_NDIM}", found.get()),
            Detail::Dimensions { found, ndim } => {
                write!(f, "{place} has {}, but ndim is {ndim}", dimensions(found))
            }
            Detail::TakesDimensions { takes, ndim } => {
                write!(f, "{place} has {}, the type takes {}", dimensions(ndim), takes.get())
            }
            Detail::DoesNotFit(value) => write!(f, "{place}: {value} does not fit {}", self.range()),
            Detail::Utf8 { valid } => write!(f, "{place} is not UTF-8 from its byte {} on", valid.get()),
            Detail::Nul { at } => write!(f, "{place} has a NUL at its byte {}", at.get()),
            Detail::DtypeLength { found } => {
                write!(f, "{place} has {}, more than {}", bytes(found), i32::MAX)
            }
            Detail::Trailing { count } => {
                let verb = if count.get() == 1 { "is" } else { "are" };
                write!(f, "{} {verb} left after the metalayer", bytes(count))
            }
            Detail::BufferTooSmall { needed, given } => {
                write!(f, "the metalayer has {}, the buffer {}", bytes(needed), given.get())
            }
            Detail::Unsupported(found) => self.unsupported(found, f),
            _ => self.layout_message(f),
        }
    }

    /// The messages about a value and a layout that do not fit each other.
    fn layout_message(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.place();
        match self.detail {
            Detail::Takes { layout, takes } => {
                layout_has(layout, f)?;
                write!(f, ", the type takes {}", takes.get())
            }
            Detail::Gives { layout, gives } => {
                layout_has(layout, f)?;
                write!(f, ", the value gives {}", gives.get())
            }
            Detail::NoLayout { gives } => write!(f, "no layout has {}, only 7, 6 or 5", entries(gives)),
            Detail::UnknownCount => {
                f.write_str("expected 7, 6 or 5 entries, found a sequence that does not say how many")
            }
            Detail::OtherLayout { value, asked } => {
                write!(f, "the value has layout {value}, the serializer was given {asked}")
            }
            Detail::Absent { layout } => {
                write!(f, "layout {layout} has an entry {place}, the value has none")
            }
            Detail::Surplus { layout } => {
                write!(f, "layout {layout} has no entry {place}, the value has one")
            }
            Detail::FieldOrder { name } => {
                write!(f, "field {} stands where the layout has {place}", name.name())
            }
            Detail::FieldBehind { name } => write!(f, "field {} stands behind {place}", name.name()),
            Detail::Unplaced { layout } => {
                layout_has(layout, f)?;
                f.write_str(", and the names of the type's fields do not tell which they are")
            }
            Detail::PassedOver => f.write_str("the type has passed over an error"),
            _ => f.write_str("the value changed between two calls of its Serialize"),
        }
    }

    fn expected_marker(&self, ndim: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected ")?;
        match self.encoding() {
            Some(Encoding::Int64s | Encoding::Int32s) if !self.is_dimension() => {
                write!(f, "{} ({:#04x})", dimensions(ndim), vector_marker(ndim))
            }
            Some(Encoding::Int64s) => write!(f, "{}", Marker(INT64)),
            Some(Encoding::Int32s) => write!(f, "{}", Marker(INT32)),
            Some(Encoding::Str32) => write!(f, "{}", Marker(STR32)),
            Some(Encoding::Fixint) | None => f.write_str(FIXINTS),
        }
    }

    /// Writing, the value is not what the place takes; reading, the type takes not what is there.
    fn unsupported(&self, found: ValueType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (is, found_name) = (self.expected_value(), found.name());
        match (self.offset == NO_OFFSET, self.entry.is_some()) {
            (true, true) => write!(f, "{}: expected {is}, found {found_name}", self.place()),
            (true, false) => write!(f, "expected {is}, found {found_name}"),
            (false, true) => write!(f, "{} is {is}, the type takes {found_name}", self.place()),
            (false, false) => write!(f, "a metalayer is {is}, the type takes {found_name}"),
        }?;
        f.write_str(match (self.encoding(), found) {
            (Some(_), ValueType::None) => " (skip_serializing_if leaves an entry out)",
            (Some(Encoding::Str32), ValueType::Sequence) => " (bytes are written through serde_bytes)",
            (None, ValueType::Map) => " (which flatten makes of a struct)",
            _ => "",
        })
    }

    /// What a value has to be at this place, in the words of serde's data model.
    fn expected_value(&self) -> &'static str {
        match self.encoding() {
            None => "a struct, tuple or sequence of 7, 6 or 5 entries",
            Some(Encoding::Int64s | Encoding::Int32s) if !self.is_dimension() => "a sequence of integers",
            Some(Encoding::Fixint | Encoding::Int64s | Encoding::Int32s) => "an integer",
            Some(Encoding::Str32) => "a string",
        }
    }

    /// The values that fit this place.
    fn range(&self) -> &'static str {
        match self.encoding() {
            Some(Encoding::Int64s) => "int64",
            Some(Encoding::Int32s) => "int32",
            _ => "0 to 127",
        }
    }
}

const FIXINTS: &str = "positive fixint (0x00 to 0x7f)";
