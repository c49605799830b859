//! NumPy dtypes: the type of the items of an array.
//!
//! The metalayer stores the dtype as a string that NumPy printed: `<f8`, or `[('x', '<i4')]`. A [`Dtype`] is parsed
//! from such a string, and its `Display` prints the same string as NumPy.
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
//! # Supported forms
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
//! Each form in this table means the same as in NumPy on little-endian 64-bit Linux. A byte order of `=`, `|` or none
//! is little-endian, `long` has 8 bytes, `f16` is C's `long double` with an alignment of 16, and `O` has 8 bytes.
//!
//! # Differences from NumPy
//!
//! This crate prints, rejects or compares some dtypes differently:
//!
//! - For two kinds of dtypes, NumPy reads its own output back as another dtype. The first kind is an aligned dtype
//!   inside a dtype that is not aligned: NumPy prints `'aligned': True` only for the outermost dtype. The second kind
//!   is a dictionary with an unnamed field: NumPy prints it as a list, and adds a name when it reads the list. This
//!   crate prints both kinds as a dictionary that NumPy reads back correctly.
//! - A dtype with items of more than 2147483647 bytes is an error. If such a dtype is structured, NumPy accepts it, but
//!   then its item size overflows.
//! - More than 16 nested dtypes are an error. In NumPy, the nesting is limited only by Python's stack.
//! - Two dtypes are not equal if only one of them is aligned, or if only one is a record. In NumPy such dtypes are
//!   equal.
//!
//! Some forms that NumPy reads are errors here, because no known file has them:
//!
//! - several types in one string (`i4,f8`, `(2,3)i4`), spaces in a type string or around a dtype, a sign in a size
//!   (`S+4`), time units with a divisor (`M8[s/5]`) or in Greek (`μs`);
//! - a shape as a list, an empty dictionary (`{}`), a dictionary from field names to fields (`{'a': ('<i4', 0)}`), and
//!   a dictionary with an unknown key, with the same key twice, or with more formats than names;
//! - a scalar with fields (`('i4', [('lo', 'i2'), ('hi', 'i2')])`), titles that are not strings, `None` as a dtype;
//! - these parts of Python's syntax: octal, `\N{…}` and unknown escapes, lone surrogates, prefixes (`u'a'`), adjacent
//!   strings, comments, parentheses that are not a tuple, and numbers that are not decimal. Unlike in Python, decimal
//!   numbers may have leading zeros.
//!
//! `StringDType()` is also an error, because its items are not stored in the array. `<f1` and `<W4` are errors too.
//! python-blosc2 stores these strings for `float8_e5m2` and for the complex types of `ml_dtypes`, but NumPy cannot read
//! them back either. An `ml_dtypes` type is always little-endian, because its name has no byte order.
//!
//! The version of Unicode determines which characters of a name are printed as escapes. Python and Rust may have
//! different versions of Unicode, so the output can differ from NumPy's for characters that only one of the two
//! versions has.

use core::fmt;
use core::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use error::ParseError;
use resolve::Spacing;

// Each module imports only from modules above it. rustdoc lists the methods of `Dtype` in the order of these modules.
// `repr` is above `error`, because an error message quotes the text that was found. `literal` is below `error`, because
// reading a literal can fail.
mod types;

mod repr;

mod error;
mod print;

mod input;

mod literal;
mod scalar;

mod syntax;

mod resolve;

pub mod items;

pub use error::{Error, ErrorKind};
pub use types::{ByteOrder, Dtype, Extension, Field, Kind, Struct, Subarray, TimeUnit};

impl Dtype {
    /// Parses the `descr` of a NumPy file (`.npy`): a type string in quotes, or a list of fields. As in NumPy, unnamed
    /// fields of bytes are padding.
    ///
    /// # Errors
    ///
    /// If the text is not a dtype.
    ///
    /// ```
    /// use b2nd_serde::dtype::Dtype;
    ///
    /// assert_eq!(Dtype::from_descr("'<f4'")?, "<f4".parse()?);
    /// let dtype = Dtype::from_descr("[('a', '|u1'), ('', '|V3'), ('b', '<f4')]")?;
    /// assert_eq!(dtype.field("b").expect("b").offset(), 4);
    /// assert_eq!(dtype.fields().len(), 2);
    /// # Ok::<(), b2nd_serde::dtype::Error>(())
    /// ```
    pub fn from_descr(text: &str) -> Result<Self, Error> {
        let dtype = syntax::parse(text).and_then(|form| resolve::dtype(form, Spacing::Padded));
        dtype.map_err(|error| Error::new(text, error))
    }
}

impl FromStr for Dtype {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        // Only a form with brackets needs the grammar, so a scalar type is parsed without it.
        let dtype = if text.starts_with(['[', '(', '{']) {
            syntax::parse(text).and_then(|form| resolve::dtype(form, Spacing::Packed))
        } else if text.starts_with(scalar::is_beginning) {
            scalar::parse(text).map(|dtype| dtype.spelled_as(text))
        } else {
            Err(ParseError::expected(0, syntax::FORM))
        };
        dtype.map_err(|error| Error::new(text, error))
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
