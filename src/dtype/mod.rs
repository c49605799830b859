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
//! - More than 16 dtypes inside each other are refused; NumPy ends where Python's stack does.
//! - Equality includes whether a dtype is aligned or a record. In NumPy two dtypes are equal without that.
//!
//! What nobody's files hold is refused, though NumPy takes it: several types in one string (`i4,f8`, `(2,3)i4`), spaces
//! in a type string or around it all, a sign in a size (`S+4`), units with a divisor (`M8[s/5]`) or in Greek (`μs`), fields as a dictionary of
//! their names, a dictionary without entries (`{}`), other or repeated keys in a dictionary, more formats than names, a shape as a list, a scalar with
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

use core::fmt;
use core::hash::{Hash, Hasher};
use core::str::FromStr;

use ecow::eco_format;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::meta::Meta;
use error::Problem;
use print::{NumpyStr, Padded, TypeString};

mod error;
mod kind;
mod layout;
mod literal;
mod print;
mod scalar;
mod syntax;

pub use error::{ParseError, ParseErrorKind};
pub use kind::{ByteOrder, Extension, Field, Kind, Struct, Subarray, TimeUnit};

/// The largest item in bytes: NumPy has it in a C `int`, C-Blosc2 in an `int32_t`.
const MAX_ITEM_SIZE: usize = i32::MAX as usize;

/// How many dtypes may be inside each other. Those of real files are about 3 deep.
///
/// Measured on x86-64: to read 16 takes up to 96 KB of stack without optimisation, and 32 KB with it; to print them with
/// `{:#?}`, 68 KB. So they fit the 128 KB that a thread has with musl.
const MAX_NESTING: usize = 16;

/// The largest number of dimensions of a subarray, as in NumPy.
const MAX_NDIM: usize = 64;

/// What an item of an array is, in NumPy's terms.
///
/// It is made by parsing, and `Display` gives the string back as NumPy spells it: `<i4` for a type string, also one
/// that was read as `i4`; `int32` for the name that NumPy itself prints; `str(dtype)` for the structured ones,
/// subarrays and types of `ml_dtypes`. [`type_string`](Self::type_string) and [`numpy_str`](Self::numpy_str) give one
/// spelling, whichever was read. The spelling makes no difference to `==`.
///
/// To serde it is its string, so it may be the `dtype` of a struct in this format.
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
/// Such a field does not see `dtype_format`: where that is not 0 the dtype is in another syntax than NumPy's, so it has
/// to be checked beside it. [`Meta::parse_dtype`] does. And a dtype that is not known is an error for the whole struct,
/// unless the field may be a string too:
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

/// How a dtype was written, and is to be printed. It is no part of what the dtype means: all are equal.
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

    /// What NumPy's `dtype.str` gives, where that says it all: type strings (`|u1`), and `str(dtype)` for structured
    /// dtypes, subarrays and types of `ml_dtypes`. All layouts but [`B2ndSix`](crate::Layout::B2ndSix) have it in this
    /// spelling.
    ///
    /// ```
    /// use b2nd_serde::dtype::Dtype;
    ///
    /// let dtype: Dtype = "uint8".parse()?;
    /// assert_eq!(dtype.type_string().to_string(), "|u1");
    /// assert_eq!(dtype.to_string(), "uint8");
    /// # Ok::<(), b2nd_serde::dtype::ParseError>(())
    /// ```
    #[must_use]
    pub fn type_string(&self) -> impl fmt::Display {
        Padded(TypeString(self))
    }

    /// What NumPy's `str(dtype)` gives: a name (`uint8`) where there is one. Layout
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
    /// What the dtype means; `None` where the layout has no such entry.
    ///
    /// # Errors
    ///
    /// If the dtype format is not 0, which is NumPy's, or if the dtype is none that NumPy or `ml_dtypes` has. Its text
    /// stays there to be asked for with [`dtype`](Self::dtype).
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
        } else if text.starts_with(scalar::is_beginning) {
            scalar::parse(text).map(|dtype| dtype.spelled_as(text))
        } else {
            Err(Problem::expected(0, syntax::FORM))
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
