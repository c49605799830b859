//! The sorts of items, and the parts of those that have parts.

use alloc::boxed::Box;

use super::Dtype;

/// The sorts of items. The item size tells an `int8` from an `int64`.
///
/// ```
/// use b2nd_serde::dtype::{Dtype, Kind};
///
/// let dtype: Dtype = "<M8[25s]".parse()?;
/// let Kind::Datetime(unit) = dtype.kind() else {
///     panic!("not a datetime");
/// };
/// assert_eq!((unit.count(), unit.symbol()), (25, "s"));
/// assert_eq!(dtype.kind().letter(), 'M');
/// # Ok::<(), b2nd_serde::dtype::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// One byte, 0 or 1.
    Bool,
    /// Signed integers of 1, 2, 4 or 8 bytes.
    Int,
    /// Unsigned integers of 1, 2, 4 or 8 bytes.
    Uint,
    /// Floats of 2, 4, 8 or 16 bytes; 16 is C's `long double`.
    Float,
    /// A pair of floats, 8, 16 or 32 bytes in all.
    Complex,
    /// A span of time, as an int64.
    Timedelta(TimeUnit),
    /// A point in time since 1970, as an int64.
    Datetime(TimeUnit),
    /// A Python object, which is a pointer in memory.
    Object,
    /// A string of bytes, filled up with NULs.
    Bytes,
    /// A string of characters of 4 bytes, filled up with NULs.
    Str,
    /// Bytes without a meaning.
    Void,
    /// A type of the Python package `ml_dtypes`.
    Extension(Extension),
    /// A small array in each item.
    Subarray(Subarray),
    /// Fields.
    Struct(Struct),
}

/// The order of the bytes of a number, or of a character.
///
/// ```
/// use b2nd_serde::dtype::{ByteOrder, Dtype};
///
/// let byte_order = |dtype: &str| dtype.parse().map(|dtype: Dtype| dtype.byte_order());
/// assert_eq!(byte_order(">U3")?, Some(ByteOrder::Big));
/// assert_eq!(byte_order("f4")?, Some(ByteOrder::Little));
/// assert_eq!(byte_order("|u1")?, None);
/// # Ok::<(), b2nd_serde::dtype::ParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// The least significant byte first: `<`.
    Little,
    /// The most significant byte first: `>`.
    Big,
}

/// The steps in which a time is counted.
///
/// ```
/// use b2nd_serde::dtype::{Dtype, Kind};
///
/// let dtype: Dtype = "<m8".parse()?;
/// assert!(matches!(dtype.kind(), Kind::Timedelta(unit) if unit.symbol() == "generic"));
/// # Ok::<(), b2nd_serde::dtype::ParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeUnit {
    pub(super) count: u32,
    pub(super) symbol: &'static str,
}

/// A type of `ml_dtypes`, known by its name.
///
/// ```
/// use b2nd_serde::dtype::{Dtype, Kind};
///
/// let dtype: Dtype = "bfloat16".parse()?;
/// assert!(matches!(dtype.kind(), Kind::Extension(extension) if extension.name() == "bfloat16"));
/// assert_eq!(dtype.item_size(), 2);
/// # Ok::<(), b2nd_serde::dtype::ParseError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extension {
    pub(super) name: &'static str,
    pub(super) letter: char,
}

/// The array in each item of a subarray dtype.
///
/// ```
/// use b2nd_serde::dtype::{Dtype, Kind};
///
/// let dtype: Dtype = "('<i4', (2, 3))".parse()?;
/// let Kind::Subarray(subarray) = dtype.kind() else {
///     panic!("not a subarray");
/// };
/// assert_eq!(subarray.base().to_string(), "<i4");
/// assert_eq!(subarray.shape(), [2, 3]);
/// # Ok::<(), b2nd_serde::dtype::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Subarray {
    pub(super) base: Box<Dtype>,
    pub(super) shape: Box<[usize]>,
}

/// The fields of a structured dtype.
///
/// ```
/// use b2nd_serde::dtype::{Dtype, Kind};
///
/// let dtype: Dtype = "{'names': ['a', 'b'], 'formats': ['u1', '<f8'], 'aligned': True}".parse()?;
/// let Kind::Struct(parts) = dtype.kind() else {
///     panic!("not structured");
/// };
/// assert!(parts.is_aligned());
/// let offsets: Vec<usize> = parts.fields().iter().map(|field| field.offset()).collect();
/// assert_eq!(offsets, [0, 8]);
/// # Ok::<(), b2nd_serde::dtype::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Struct {
    pub(super) fields: Box<[Field]>,
    pub(super) is_aligned: bool,
    pub(super) is_record: bool,
}

/// A field of a structured dtype.
///
/// ```
/// use b2nd_serde::dtype::Dtype;
///
/// let dtype: Dtype = "[('a', 'u1'), (('of the day', 'max'), '<f4')]".parse()?;
/// let field = dtype.field("max").expect("a field");
/// assert_eq!(field.title(), Some("of the day"));
/// assert_eq!(field.offset(), 1);
/// assert_eq!(field.dtype().to_string(), "<f4");
/// # Ok::<(), b2nd_serde::dtype::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    pub(super) name: Box<str>,
    pub(super) title: Option<Box<str>>,
    pub(super) offset: usize,
    pub(super) dtype: Dtype,
}

impl Kind {
    /// NumPy's letter for the kind, `dtype.kind`: subarrays and structured dtypes are `V` too.
    #[must_use]
    pub fn letter(&self) -> char {
        match self {
            Kind::Bool => 'b',
            Kind::Int => 'i',
            Kind::Uint => 'u',
            Kind::Float => 'f',
            Kind::Complex => 'c',
            Kind::Timedelta(_) => 'm',
            Kind::Datetime(_) => 'M',
            Kind::Object => 'O',
            Kind::Bytes => 'S',
            Kind::Str => 'U',
            Kind::Void | Kind::Subarray(_) | Kind::Struct(_) => 'V',
            Kind::Extension(extension) => extension.letter,
        }
    }
}

impl ByteOrder {
    pub(super) fn sign(self) -> char {
        match self {
            ByteOrder::Little => '<',
            ByteOrder::Big => '>',
        }
    }
}

impl TimeUnit {
    /// How many of the unit are one step: 25 in `<M8[25s]`.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// NumPy's symbol of the unit: `Y`, `M`, `W`, `D`, `h`, `m`, `s`, `ms`, `us`, `ns`, `ps`, `fs`, `as`, or `generic`
    /// where there is none.
    #[must_use]
    pub fn symbol(&self) -> &'static str {
        self.symbol
    }
}

impl Extension {
    /// The name, as `ml_dtypes` spells it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }
}

impl Subarray {
    /// What the items of the array are.
    #[must_use]
    pub fn base(&self) -> &Dtype {
        &self.base
    }

    /// The items along each dimension, of which there are 1 to 64.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }
}

impl Struct {
    /// The fields in their order, which need not be that of their offsets.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Whether the fields are aligned as C aligns them. They may be so by chance where this is false.
    #[must_use]
    pub fn is_aligned(&self) -> bool {
        self.is_aligned
    }

    /// Whether NumPy gives the items as `numpy.record`.
    #[must_use]
    pub fn is_record(&self) -> bool {
        self.is_record
    }
}

impl Field {
    /// The name, which no other field has for its name or title.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The title: a second name, which may be a longer one.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// The byte of the item at which the field begins.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The type of the field. Where each field is an array itself, a subarray.
    #[must_use]
    pub fn dtype(&self) -> &Dtype {
        &self.dtype
    }
}
