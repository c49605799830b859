//! NumPy dtypes: what an item of the array is.
//!
//! The metalayer has the dtype as a string that NumPy printed and python-blosc2 wrote: `<f8`, or `[('x', '<i4')]`. A
//! [`Dtype`] is what such a string means, and its `Display` is what NumPy prints.
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
//! # Ok::<(), b2nd_serde::dtype::Error>(())
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
//! | records | `(numpy.record, [('a', '<i4')])`, which NumPy prints and python-blosc2 stores, but neither can read |
//!
//! Each means what it means to NumPy on 64-bit Linux with little-endian numbers: a byte order of `=`, `|` or none is
//! little-endian, `long` has 8 bytes, `f16` is C's `long double` with an alignment of 16, and an `O` has 8 bytes.
//!
//! # Differences from NumPy
//!
//! Some dtypes are printed, refused or compared in another way:
//!
//! - NumPy prints `'aligned': True` only for the outermost dtype. It prints an unnamed field of a dictionary in a list,
//!   where reading it back adds a name. Such dtypes print here as a dictionary, which NumPy reads back correctly.
//! - An item of more than 2147483647 bytes is refused. In NumPy the size of a structured dtype overflows.
//! - More than 16 nested dtypes are refused. NumPy's limit is Python's stack.
//! - Two dtypes differ if only one of them is aligned, or a record. In NumPy they are equal.
//!
//! Some forms that NumPy reads are in no known file, and are refused here:
//!
//! - several types in one string (`i4,f8`, `(2,3)i4`), spaces in a type string or around a dtype, a sign in a size
//!   (`S+4`), time units with a divisor (`M8[s/5]`) or in Greek (`μs`);
//! - a dictionary from field names to fields, a dictionary without entries (`{}`), with other keys or with the same key
//!   twice, more formats than names, a shape as a list;
//! - a scalar with fields (`('i4', [('lo', 'i2'), ('hi', 'i2')])`), titles that are not strings, `None` as a dtype;
//! - of Python's literals: octal, `\N{…}` and unknown escapes, lone surrogates, prefixes (`u'a'`), adjacent strings,
//!   comments, parentheses that are not a tuple, and numbers that are not decimal (they may have leading zeros here).
//!
//! `StringDType()` is unknown too, because its items are not in the array. So are `<f1` and `<W4`, which python-blosc2
//! stores for `float8_e5m2` and the complex types of `ml_dtypes`, and which NumPy does not read back. The name of an
//! `ml_dtypes` type has no byte order, so it is little-endian.
//!
//! Which characters of a name are printed as an escape depends on the version of Unicode. Python and Rust may differ for
//! characters that the older version does not have.

use core::fmt;
use core::hash::{Hash, Hasher};
use core::str::FromStr;

use ecow::eco_format;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::meta::Meta;
use error::Fault;
use print::{NumpyStr, Padded, TypeString};

mod error;
mod input;
mod kind;
mod literal;
mod print;
mod repr;
mod resolve;
mod scalar;
mod syntax;

pub use error::{Error, ErrorKind};
pub use kind::{ByteOrder, Extension, Field, Kind, Struct, Subarray, TimeUnit};

/// The largest item size in bytes: NumPy has it in a C `int`, C-Blosc2 in an `int32_t`.
const MAX_ITEM_SIZE: usize = i32::MAX as usize;

/// The most dtypes inside each other. In real files there are about 3.
///
/// Measured on x86-64: reading 16 takes up to 96 KB of stack without optimisation, and 32 KB with it. Printing them with
/// `{:#?}` takes 68 KB. Both fit the 128 KB of a thread with musl.
const MAX_NESTING: usize = 16;

/// The largest number of dimensions of a subarray, as in NumPy.
const MAX_NDIM: usize = 64;

/// What an item of an array is, in NumPy's terms.
///
/// ```
/// use b2nd_serde::Dtype;
///
/// let dtype: Dtype = "[('x', '<i4'), ('y', '>f8')]".parse()?;
/// assert_eq!(dtype.item_size(), 12);
/// assert_eq!(dtype.fields()[1].name(), "y");
/// # Ok::<(), b2nd_serde::dtype::Error>(())
/// ```
///
/// A `Dtype` is made from a string with [`parse`](str::parse). `Display` prints it as NumPy does: a type string as `<i4`
/// (even if it was `i4`), a name as `int32`, and structured dtypes, subarrays and types of `ml_dtypes` as `str(dtype)`.
/// [`type_string`](Self::type_string) and [`numpy_str`](Self::numpy_str) always give the same spelling. `==` ignores the
/// spelling.
///
/// In serde a `Dtype` is a string, so it can be the `dtype` of a struct in this format:
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
///
/// Such a field cannot check `dtype_format`. If that is not 0, the syntax of the dtype is not NumPy's, so check both;
/// [`Meta::parse_dtype`] does. A dtype that is not valid is an error for the whole struct, unless the field can also be a
/// string:
///
/// ```
/// use b2nd_serde::{Dtype, Meta, Shapes, from_slice, to_vec};
/// # use serde_derive::{Deserialize, Serialize};
///
/// #[derive(Debug, PartialEq, Serialize, Deserialize)]
/// #[serde(untagged)]
/// enum AnyDtype {
///     Known(Dtype),
///     Other(String),
/// }
///
/// type Metalayer = (u8, u8, [u64; 1], [u32; 1], [u32; 1], u8, AnyDtype);
///
/// for text in ["<i4", "decimal128"] {
///     let bytes = to_vec(&Meta::new(Shapes { shape: &[10], chunkshape: &[5], blockshape: &[2] }, text)?)?;
///     let metalayer: Metalayer = from_slice(&bytes)?;
///     match &metalayer.6 {
///         AnyDtype::Known(dtype) => assert_eq!(dtype.item_size(), 4),
///         AnyDtype::Other(other) => assert_eq!(other, "decimal128"),
///     }
///     assert_eq!(to_vec(&metalayer)?, bytes);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Dtype {
    kind: Kind,
    item_size: usize,
    alignment: usize,
    byte_order: Option<ByteOrder>,
    spelling: Spelling,
}

/// How a dtype was written, and will be printed. It is not part of the meaning, so all values are equal.
#[derive(Clone, Copy, Debug)]
enum Spelling {
    /// `|u1`
    TypeString,
    /// `uint8`
    NumpyStr,
}

impl PartialEq for Spelling {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Spelling {}

impl Hash for Spelling {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Dtype {
    /// The kind of item, with the parts that this kind has.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The bytes of an item, 0 to 2147483647. An item of `|S0` or `[]` has 0 bytes.
    #[must_use]
    pub fn item_size(&self) -> usize {
        self.item_size
    }

    /// The alignment in memory: that of the C type, and 1 for a structured dtype that is not aligned.
    #[must_use]
    pub fn alignment(&self) -> usize {
        self.alignment
    }

    /// The byte order; `None` for single bytes, strings of bytes and objects, and for subarrays and structured dtypes,
    /// whose parts have their own.
    #[must_use]
    pub fn byte_order(&self) -> Option<ByteOrder> {
        self.byte_order
    }

    /// The fields of a structured dtype. Any other dtype has none.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        match &self.kind {
            Kind::Struct(parts) => parts.fields(),
            _ => &[],
        }
    }

    /// The field with this name or title, if the dtype is structured and has one.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        let mut fields = self.fields().iter();
        fields.find(|field| field.name() == name || field.title() == Some(name))
    }

    /// NumPy's `dtype.str` (`|u1`) for types that have one, and `str(dtype)` for structured dtypes, subarrays and types of
    /// `ml_dtypes`. All layouts except [`B2ndSix`](crate::Layout::B2ndSix) use this spelling.
    ///
    /// ```
    /// use b2nd_serde::dtype::Dtype;
    ///
    /// let dtype: Dtype = "uint8".parse()?;
    /// assert_eq!(dtype.type_string().to_string(), "|u1");
    /// assert_eq!(dtype.to_string(), "uint8");
    /// # Ok::<(), b2nd_serde::dtype::Error>(())
    /// ```
    #[must_use]
    pub fn type_string(&self) -> impl fmt::Display {
        Padded(TypeString(self))
    }

    /// NumPy's `str(dtype)`: a name (`uint8`) for types that have one. Layout [`B2ndSix`](crate::Layout::B2ndSix) uses this
    /// spelling.
    ///
    /// ```
    /// use b2nd_serde::dtype::Dtype;
    ///
    /// let numpy_str = |dtype: &str| dtype.parse().map(|dtype: Dtype| dtype.numpy_str().to_string());
    /// assert_eq!(numpy_str("|u1")?, "uint8");
    /// assert_eq!(numpy_str("<M8[ns]")?, "datetime64[ns]");
    /// assert_eq!(numpy_str(">i4")?, ">i4");
    /// # Ok::<(), b2nd_serde::dtype::Error>(())
    /// ```
    #[must_use]
    pub fn numpy_str(&self) -> impl fmt::Display {
        Padded(NumpyStr(self))
    }

    fn spelled_as(mut self, text: &str) -> Self {
        if eco_format!("{}", self.numpy_str()) == text {
            self.spelling = Spelling::NumpyStr;
        }
        self
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

impl Meta {
    /// Reads the dtype; `None` if the layout has no such entry.
    ///
    /// # Errors
    ///
    /// If the dtype format is not 0, or if the dtype string is not valid. [`dtype`](Self::dtype) still gives the string.
    ///
    /// ```
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// let dtype = Meta::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] }, "<i4")?.parse_dtype()?.expect("layout b2nd has one");
    /// assert_eq!(dtype.item_size(), 4);
    ///
    /// let error = Meta::new(Shapes { shape: &[], chunkshape: &[], blockshape: &[] }, "int33")?.parse_dtype().unwrap_err();
    /// assert_eq!(error.to_string(), "character 0: expected a type such as <i4 or float64, found 'int33'");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse_dtype(&self) -> Result<Option<Dtype>, Error> {
        let Some(text) = self.dtype() else { return Ok(None) };
        match self.dtype_format() {
            None | Some(0) => text.parse().map(Some),
            Some(format) => Err(Error::unknown_format(text, format)),
        }
    }
}

impl FromStr for Dtype {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let dtype = if text.starts_with(['[', '(', '{']) {
            syntax::parse(text).and_then(|form| resolve::dtype(form, false))
        } else if text.starts_with(scalar::is_beginning) {
            scalar::parse(text).map(|dtype| dtype.spelled_as(text))
        } else {
            Err(Fault::expected(0, syntax::FORM))
        };
        dtype.map_err(|fault| Error::new(text, fault))
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
