//! `Dtype`, the kinds of items, and the details of each kind.

use alloc::boxed::Box;
use core::hash::{Hash, Hasher};

/// The largest item size in bytes. NumPy stores the item size in a C `int`, C-Blosc2 in an `int32_t`.
pub(super) const MAX_ITEM_SIZE: usize = i32::MAX as usize;

/// The deepest nesting of dtypes. Real files have about 3 levels.
///
/// Measured on x86-64: reading 16 levels takes up to 96 KB of stack without optimisation, and 32 KB with optimisation.
/// Printing 16 levels with `{:#?}` takes 68 KB. Each of these sizes fits the stack of a thread with musl, which
/// has 128 KB.
pub(super) const MAX_NESTING: usize = 16;

/// The largest number of dimensions of a subarray, as in NumPy.
pub(super) const MAX_SUBARRAY_NDIM: usize = 64;

/// The type of the items of an array, in NumPy's terms.
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
/// A `Dtype` is made from a string with [`parse`](str::parse). `Display` prints it in NumPy's form. A scalar type that
/// was parsed from NumPy's own name for the type (`int32`) is printed as this name. Any other scalar type is printed as
/// a type string (`<i4`). To choose one of these two spellings, use [`type_string`](Self::type_string) or
/// [`numpy_str`](Self::numpy_str). Structured dtypes, subarrays and types of `ml_dtypes` are printed like NumPy's
/// `str(dtype)`. `==` ignores the spelling.
///
/// In serde a `Dtype` is a string. So a struct that is read with this crate can have a field `dtype` of type `Dtype`:
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
/// A field of type `Dtype` cannot check `dtype_format`. If `dtype_format` is not 0, the syntax of the dtype is not
/// NumPy's, so your code must check `dtype_format`. [`Meta::parse_dtype`](crate::Meta::parse_dtype) checks it for you.
/// If the dtype is not valid, the whole struct cannot be read, unless the field can also be a string:
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
    pub(super) kind: Kind,
    pub(super) item_size: usize,
    pub(super) alignment: usize,
    pub(super) byte_order: Option<ByteOrder>,
    pub(super) spelling: Spelling,
}

/// The spelling in which a dtype was read and is printed. All spellings compare equal, because `==` of dtypes must
/// ignore the spelling.
#[derive(Clone, Copy, Debug)]
pub(super) enum Spelling {
    /// The spelling of NumPy's `dtype.str`, such as `|u1`.
    TypeString,
    /// The spelling of NumPy's `str(dtype)`, such as `uint8`.
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
    /// The kind of item, with its details, such as the fields of a structured dtype.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The size of an item in bytes, 0 to 2147483647. An item of `|S0` or `[]` has 0 bytes.
    #[must_use]
    pub fn item_size(&self) -> usize {
        self.item_size
    }

    /// The alignment of an item in memory, in bytes. It is the alignment of the C type, or 1 for a structured dtype
    /// that is not aligned.
    #[must_use]
    pub fn alignment(&self) -> usize {
        self.alignment
    }

    /// The byte order; `None` for types without one, such as single bytes, strings of bytes and objects. It is also
    /// `None` for subarrays and structured dtypes, whose parts have their own byte order.
    #[must_use]
    pub fn byte_order(&self) -> Option<ByteOrder> {
        self.byte_order
    }

    /// The fields of a structured dtype; empty for any other dtype.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        match &self.kind {
            Kind::Struct(parts) => parts.fields(),
            _ => &[],
        }
    }

    /// The field with this name or title; `None` if there is no such field.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        let mut fields = self.fields().iter();
        fields.find(|field| field.name() == name || field.title() == Some(name))
    }

    /// Whether items hold Python objects. A file stores only their addresses, which no other process can use.
    ///
    /// ```
    /// use b2nd_serde::dtype::Dtype;
    ///
    /// let has_objects = |text: &str| text.parse().map(|dtype: Dtype| dtype.has_objects());
    /// assert!(has_objects("|O")?);
    /// assert!(has_objects("[('name', '|O'), ('size', '<i4')]")?);
    /// assert!(!has_objects("<i8")?);
    /// # Ok::<(), b2nd_serde::dtype::Error>(())
    /// ```
    #[must_use]
    pub fn has_objects(&self) -> bool {
        match &self.kind {
            Kind::Object => true,
            Kind::Subarray(subarray) => subarray.base.has_objects(),
            Kind::Struct(parts) => parts.fields.iter().any(|field| field.dtype.has_objects()),
            _ => false,
        }
    }
}

/// The kind of an item. The kind does not include the size, which is [`Dtype::item_size`]: `int8` and `int64` are the
/// same kind.
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
/// # Ok::<(), b2nd_serde::dtype::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Booleans: one byte, 0 or 1.
    Bool,
    /// Signed integers of 1, 2, 4 or 8 bytes.
    Int,
    /// Unsigned integers of 1, 2, 4 or 8 bytes.
    Uint,
    /// Floats of 2, 4, 8 or 16 bytes. A float of 16 bytes is C's `long double`.
    Float,
    /// Pairs of floats. A pair has 8, 16 or 32 bytes.
    Complex,
    /// Time spans, as int64.
    Timedelta(TimeUnit),
    /// Points in time, counted from the start of 1970, as int64.
    Datetime(TimeUnit),
    /// Python objects. An item is a pointer to the object in memory.
    Object,
    /// Strings of bytes, padded with NULs.
    Bytes,
    /// Strings of 4-byte characters, padded with NULs.
    Str,
    /// Bytes without a meaning of their own.
    Void,
    /// Types of the Python package `ml_dtypes`.
    Extension(Extension),
    /// Small arrays of a fixed shape.
    Subarray(Subarray),
    /// Structured dtypes: several fields, each with a name and a dtype.
    Struct(Struct),
}

/// The order of the bytes of a number or character.
///
/// ```
/// use b2nd_serde::dtype::{ByteOrder, Dtype};
///
/// let byte_order = |dtype: &str| dtype.parse().map(|dtype: Dtype| dtype.byte_order());
/// assert_eq!(byte_order(">U3")?, Some(ByteOrder::Big));
/// assert_eq!(byte_order("f4")?, Some(ByteOrder::Little));
/// assert_eq!(byte_order("|u1")?, None);
/// # Ok::<(), b2nd_serde::dtype::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// The least significant byte comes first. NumPy writes this order as `<`.
    Little,
    /// The most significant byte comes first. NumPy writes this order as `>`.
    Big,
}

/// The unit in which a time is counted.
///
/// ```
/// use b2nd_serde::dtype::{Dtype, Kind};
///
/// let dtype: Dtype = "<m8".parse()?;
/// assert!(matches!(dtype.kind(), Kind::Timedelta(unit) if unit.symbol() == "generic"));
/// # Ok::<(), b2nd_serde::dtype::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeUnit {
    pub(super) count: u32,
    pub(super) symbol: &'static str,
}

/// A type of `ml_dtypes`.
///
/// ```
/// use b2nd_serde::dtype::{Dtype, Kind};
///
/// let dtype: Dtype = "bfloat16".parse()?;
/// assert!(matches!(dtype.kind(), Kind::Extension(extension) if extension.name() == "bfloat16"));
/// assert_eq!(dtype.item_size(), 2);
/// # Ok::<(), b2nd_serde::dtype::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extension {
    pub(super) name: &'static str,
    pub(super) letter: char,
}

/// A subarray dtype: each item is a small array. [`shape`](Self::shape) is the shape of this array, and
/// [`base`](Self::base) is the dtype of its items.
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
/// # Ok::<(), b2nd_serde::dtype::Error>(())
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
/// # Ok::<(), b2nd_serde::dtype::Error>(())
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
/// # Ok::<(), b2nd_serde::dtype::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    pub(super) name: Box<str>,
    pub(super) title: Option<Box<str>>,
    pub(super) offset: usize,
    pub(super) dtype: Dtype,
}

impl Kind {
    /// NumPy's letter for the kind, as in `dtype.kind`. The letter of subarrays and structured dtypes is `V`.
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
    /// The number of units in one step of time: 25 in `<M8[25s]`, whose items count steps of 25 seconds.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// NumPy's symbol for the unit: `Y`, `M`, `W`, `D`, `h`, `m`, `s`, `ms`, `us`, `ns`, `ps`, `fs` or `as`, and
    /// `generic` if the dtype has no unit.
    #[must_use]
    pub fn symbol(&self) -> &'static str {
        self.symbol
    }
}

impl Extension {
    /// The name of the type in `ml_dtypes`, such as `bfloat16`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }
}

impl Subarray {
    /// The dtype of the elements of the subarray.
    #[must_use]
    pub fn base(&self) -> &Dtype {
        &self.base
    }

    /// The shape of the subarray: the number of elements along each dimension. There are 1 to 64 dimensions.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }
}

impl Struct {
    /// The fields in the order of the dtype, which is not always the order of their offsets.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Whether the fields are aligned as in C, because this dtype, or a dtype around it, has `aligned=True`. Without
    /// `aligned=True`, the offsets of the fields can still be aligned by chance.
    #[must_use]
    pub fn is_aligned(&self) -> bool {
        self.is_aligned
    }

    /// Whether NumPy reads the items as `numpy.record`.
    #[must_use]
    pub fn is_record(&self) -> bool {
        self.is_record
    }
}

impl Field {
    /// The name of the field. No other field of the struct has the same name, or has this name as its title.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The title of the field, which is a second name; `None` if the field has no title.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// The offset of the field in the item, in bytes.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// The dtype of the field. If the field has a shape, this dtype is a subarray.
    #[must_use]
    pub fn dtype(&self) -> &Dtype {
        &self.dtype
    }
}
