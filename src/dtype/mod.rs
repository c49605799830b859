//! NumPy dtypes: what an item of the array is.
//!
//! The metalayer says it as a string that NumPy printed and python-blosc2 wrote: `<f8`, or `[('x', '<i4')]`. A
//! [`Dtype`] is what such a string means, and prints itself as NumPy does.
//!
//! ```
//! use b2nd_serde::dtype::{ByteOrder, Dtype, Kind};
//!
//! let dtype: Dtype = ">f8".parse()?;
//! assert_eq!((dtype.kind(), dtype.item_size()), (&Kind::Float, 8));
//! assert_eq!(dtype.byte_order(), Some(ByteOrder::Big));
//!
//! let dtype: Dtype = "[('x', '<i4'), ('y', '<f8', (2, 3))]".parse()?;
//! assert_eq!(dtype.item_size(), 52);
//! assert_eq!(dtype.field("y").map(|field| field.offset()), Some(4));
//! assert_eq!(dtype.to_string(), "[('x', '<i4'), ('y', '<f8', (2, 3))]");
//! # Ok::<(), b2nd_serde::dtype::ParseError>(())
//! ```
//!
//! # What is read
//!
//! | form | examples |
//! |---|---|
//! | type strings | `<i4` `>u8` `\|S5` `<U10` `\|V7` `\|O` `<M8[25s]` `=f8` `f8` |
//! | names and letters that `np.dtype` takes | `uint8` `float64` `datetime64[ns]` `bool` `?` `d` |
//! | the names of `ml_dtypes` 0.6 | `bfloat16` `float8_e4m3fn` `int4` |
//! | lists of fields | `[('a', '<i4'), ('b', '<f8', (2, 3)), (('title', 'c'), 'S10')]` |
//! | dictionaries | `{'names': ['a'], 'formats': ['<i4'], 'offsets': [4], 'itemsize': 8, 'aligned': True}` |
//! | subarrays | `('<i4', (2, 3))` |
//! | records | `(numpy.record, [('a', '<i4')])`, which NumPy prints and python-blosc2 stores, yet neither reads |
//!
//! NumPy decides what each means, as it does on 64-bit Linux with little-endian numbers: a byte order of `=`, `|` or
//! none is little-endian, `long` has 8 bytes, `f16` is C's `long double` with an alignment of 16, an `O` has 8 bytes.
//!
//! # Where it is not NumPy
//!
//! What NumPy would write wrongly is refused or written rightly:
//!
//! - NumPy prints `'aligned': True` only for the outermost dtype, and an unnamed field of a dictionary in a list, where
//!   reading gives it a name. Such dtypes print here as the dictionary that NumPy reads rightly.
//! - An item of more than 2147483647 bytes is refused; NumPy lets the size of a structured dtype wrap around.
//! - Equality includes whether a dtype is aligned or a record. In NumPy two dtypes are equal without that.
//!
//! What nobody's files hold is refused, though NumPy takes it: several types in one string (`i4,f8`, `(2,3)i4`), spaces
//! in a type string or around it all, units with a divisor (`M8[s/5]`) or in Greek (`μs`), fields as a dictionary of
//! their names, other or repeated keys in a dictionary, more formats than names, a shape as a list, a scalar with
//! fields (`('i4', [('lo', 'i2'), ('hi', 'i2')])`), titles that are not strings, `None` as a dtype. Of Python's
//! literals, not read are octal, `\N{…}` and unknown escapes, lone surrogates, prefixes (`u'a'`), literals side by
//! side, comments, parentheses that are no tuple, and numbers in any way but decimal (which may begin with zeros here).
//!
//! Not known either are `StringDType()`, whose items lie outside the array, and `<f1`, `<W4`, which python-blosc2
//! stores for `float8_e5m2` and the complex types of `ml_dtypes`: NumPy does not read them back. An `ml_dtypes` name
//! has no byte order, so it is taken for little-endian.
//!
//! Which characters of a name are printed as they are, and which as an escape, depends on the version of Unicode that
//! Python and Rust know: they differ in characters that the older one has not got.

use alloc::boxed::Box;
use core::fmt;
use core::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::Meta;

mod error;
mod layout;
mod literal;
mod print;
mod scalar;
mod syntax;

pub use error::{ParseError, ParseErrorKind};

/// The largest item in bytes: NumPy has it in a C `int`, C-Blosc2 in an `int32_t`.
const MAX_ITEM_SIZE: usize = i32::MAX as usize;

/// How many dtypes may be inside each other. Each takes a few calls on the stack, some kilobytes; Python gives up at
/// about 100.
const MAX_NESTING: usize = 32;

/// The largest number of dimensions of a subarray, as in NumPy.
const MAX_NDIM: usize = 64;

/// What an item of an array is, in NumPy's terms.
///
/// It is made by parsing, and `Display` gives the string back as NumPy spells it: `dtype.str` (`<i4`, also of a dtype
/// read as `int32`), and `str(dtype)` for the structured ones, subarrays and types of `ml_dtypes`.
///
/// To serde it is that string, so it may be the `dtype` of a struct in this format.
///
/// ```
/// use b2nd_serde::dtype::Dtype;
/// use b2nd_serde::{from_slice, to_vec};
/// # use serde_derive::{Deserialize, Serialize};
///
/// #[derive(Debug, PartialEq, Serialize, Deserialize)]
/// struct Metalayer {
///     version: u8,
///     ndim: u8,
///     shape: [u64; 1],
///     chunkshape: [u32; 1],
///     blockshape: [u32; 1],
///     dtype_format: u8,
///     dtype: Dtype,
/// }
///
/// let metalayer = Metalayer {
///     version: 0,
///     ndim: 1,
///     shape: [10],
///     chunkshape: [5],
///     blockshape: [2],
///     dtype_format: 0,
///     dtype: "<M8[ns]".parse()?,
/// };
/// let bytes = to_vec(&metalayer)?;
/// assert!(bytes.ends_with(b"<M8[ns]"));
/// assert_eq!(from_slice::<Metalayer>(&bytes)?, metalayer);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dtype {
    kind: Kind,
    item_size: usize,
    alignment: usize,
    byte_order: Option<ByteOrder>,
}

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
    count: u32,
    symbol: &'static str,
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
    name: &'static str,
    letter: char,
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
    base: Box<Dtype>,
    shape: Box<[usize]>,
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
    fields: Box<[Field]>,
    is_aligned: bool,
    is_record: bool,
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
    name: Box<str>,
    title: Option<Box<str>>,
    offset: usize,
    dtype: Dtype,
}

impl Dtype {
    /// What sort of item it is, with all that belongs to that sort.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Bytes of an item, 0 to 2147483647. An array of `|S0` or `[]` has items of no bytes.
    #[must_use]
    pub fn item_size(&self) -> usize {
        self.item_size
    }

    /// The alignment in memory that NumPy gives it: that of the C type, and 1 for a structured dtype that is not
    /// aligned.
    #[must_use]
    pub fn alignment(&self) -> usize {
        self.alignment
    }

    /// The order of the bytes of an item; `None` where there is none: single bytes, strings of bytes, objects,
    /// subarrays and structured dtypes, whose parts have each their own.
    #[must_use]
    pub fn byte_order(&self) -> Option<ByteOrder> {
        self.byte_order
    }

    /// The fields of a structured dtype; none for any other.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        match &self.kind {
            Kind::Struct(parts) => parts.fields(),
            _ => &[],
        }
    }

    /// The field of a structured dtype that has this name or title.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        let mut fields = self.fields().iter();
        fields.find(|field| field.name() == name || field.title() == Some(name))
    }

    /// What NumPy's `str(dtype)` gives: names (`uint8`) where `Display` has type strings (`|u1`). Layout
    /// [`B2ndSix`](crate::Layout::B2ndSix) has it in this spelling.
    ///
    /// ```
    /// use b2nd_serde::dtype::Dtype;
    ///
    /// let numpy_str = |dtype: &str| dtype.parse().map(|dtype: Dtype| dtype.numpy_str().to_string());
    /// assert_eq!(numpy_str("|u1")?, "uint8");
    /// assert_eq!(numpy_str("<M8[ns]")?, "datetime64[ns]");
    /// assert_eq!(numpy_str(">i4")?, ">i4");
    /// # Ok::<(), b2nd_serde::dtype::ParseError>(())
    /// ```
    #[must_use]
    pub fn numpy_str(&self) -> impl fmt::Display {
        print::NumpyStr(self)
    }

    fn has_objects(&self) -> bool {
        match &self.kind {
            Kind::Object => true,
            Kind::Subarray(subarray) => subarray.base.has_objects(),
            Kind::Struct(parts) => parts.fields.iter().any(|field| field.dtype.has_objects()),
            _ => false,
        }
    }
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
    fn sign(self) -> char {
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

impl Meta {
    /// What the dtype means; `None` where the layout has no such entry.
    ///
    /// # Errors
    ///
    /// If the dtype format is not 0, which is NumPy's, or if the dtype is none that NumPy or `ml_dtypes` has. Its text
    /// stays there to be asked for with [`dtype`](Self::dtype).
    ///
    /// ```
    /// use b2nd_serde::Meta;
    ///
    /// let dtype = Meta::new(&[3, 5], &[2, 3], &[1, 2], "<i4")?.parse_dtype()?.expect("layout b2nd has one");
    /// assert_eq!(dtype.item_size(), 4);
    ///
    /// let error = Meta::new(&[], &[], &[], "int33")?.parse_dtype().unwrap_err();
    /// assert_eq!(error.to_string(), "character 0: unknown type 'int33'");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse_dtype(&self) -> Result<Option<Dtype>, ParseError> {
        let Some(text) = self.dtype() else { return Ok(None) };
        match self.dtype_format() {
            None | Some(0) => text.parse().map(Some),
            Some(format) => Err(ParseError::unknown_format(text, format)),
        }
    }
}

impl FromStr for Dtype {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let dtype = if text.starts_with(['[', '(', '{']) {
            syntax::parse(text).and_then(|form| layout::dtype(form, false))
        } else {
            scalar::parse(text)
        };
        dtype.map_err(|problem| ParseError::new(text, problem))
    }
}

impl Serialize for Dtype {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Dtype {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(DtypeVisitor)
    }
}

struct DtypeVisitor;

impl Visitor<'_> for DtypeVisitor {
    type Value = Dtype;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a NumPy dtype")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Dtype, E> {
        text.parse().map_err(E::custom)
    }
}
