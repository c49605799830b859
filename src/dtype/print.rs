//! Prints a dtype in NumPy's form.

use alloc::string::ToString;
use core::fmt::{self, Display, Write};

use ecow::eco_format;

use super::repr::Repr;
use super::types::{ByteOrder, Dtype, Kind, Spelling, Struct, Subarray};

impl Dtype {
    /// The dtype as NumPy's `dtype.str` prints it (`|u1`). Structured dtypes, subarrays and types of `ml_dtypes` are
    /// printed as `str(dtype)` prints them. The layouts [`B2nd`](crate::Layout::B2nd) and
    /// [`B2ndMismarked`](crate::Layout::B2ndMismarked) store this spelling.
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
    pub fn type_string(&self) -> impl Display {
        Padded(TypeString(self))
    }

    /// The dtype as NumPy's `str(dtype)` prints it: a name (`uint8`) for types that have a name. Layout
    /// [`B2ndSix`](crate::Layout::B2ndSix) stores this spelling.
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
    pub fn numpy_str(&self) -> impl Display {
        Padded(NumpyStr(self))
    }

    /// Sets the spelling of a dtype that was parsed from `text`: `NumpyStr` if NumPy's `str(dtype)` prints the same
    /// text.
    pub(super) fn spelled_as(mut self, text: &str) -> Self {
        if eco_format!("{}", self.numpy_str()) == text {
            self.spelling = Spelling::NumpyStr;
        }
        self
    }
}

/// Prints the dtype as NumPy does. If the dtype was parsed from the name that NumPy prints for it, this name is
/// printed, else the [type string](Dtype::type_string).
impl Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.spelling {
            Spelling::TypeString => Padded(TypeString(self)).fmt(f),
            Spelling::NumpyStr => Padded(NumpyStr(self)).fmt(f),
        }
    }
}

/// Applies the width and alignment of the format string.
struct Padded<T>(T);

impl<T: Display> Display for Padded<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without a width the text is printed piece by piece, and needs no allocation.
        match (f.width(), f.precision()) {
            (None, None) => self.0.fmt(f),
            _ => f.pad(&self.0.to_string()),
        }
    }
}

/// Displays a dtype as NumPy's `dtype.str`, or as `str(dtype)` if the type has no type string: `<i4`, `bfloat16`,
/// `[('a', '<i4')]`.
struct TypeString<'a>(&'a Dtype);

impl Display for TypeString<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dtype = self.0;
        match &dtype.kind {
            Kind::Extension(_) | Kind::Subarray(_) | Kind::Struct(_) => {
                Nested { dtype, in_aligned: false }.fmt(f)
            }
            _ => {
                f.write_char(dtype.byte_order.map_or('|', ByteOrder::sign))?;
                letter_and_size(dtype, "0", f)
            }
        }
    }
}

/// Displays a dtype as NumPy's `str(dtype)`.
struct NumpyStr<'a>(&'a Dtype);

impl Display for NumpyStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dtype = self.0;
        // This closure is only called for types whose names include the number of bits. For other types, the product
        // may overflow on 32-bit machines.
        let bits = || dtype.item_size * 8;
        match &dtype.kind {
            Kind::Bool => f.write_str("bool"),
            Kind::Object => f.write_str("object"),
            // In NumPy, a name such as `int32` means a type in the byte order of the machine. This crate always assumes
            // a little-endian machine, so a big-endian type has no name.
            _ if dtype.byte_order == Some(ByteOrder::Big) => TypeString(dtype).fmt(f),
            Kind::Int => write!(f, "int{}", bits()),
            Kind::Uint => write!(f, "uint{}", bits()),
            Kind::Float => write!(f, "float{}", bits()),
            Kind::Complex => write!(f, "complex{}", bits()),
            Kind::Datetime(unit) => write!(f, "datetime64{unit}"),
            Kind::Timedelta(unit) => write!(f, "timedelta64{unit}"),
            _ => TypeString(dtype).fmt(f),
        }
    }
}

/// Prints the letter of the type and the size, except for Python objects, which have only a letter. For an `S`, `U` or
/// `V` of 0 bytes, prints the text of `zero` instead of the size.
fn letter_and_size(dtype: &Dtype, zero: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char(dtype.kind.letter())?;
    match &dtype.kind {
        Kind::Object => Ok(()),
        Kind::Bytes | Kind::Str | Kind::Void if dtype.item_size == 0 => f.write_str(zero),
        // A `U` is printed with its number of characters. This number is the item size divided by the alignment, which
        // is the size of one character.
        Kind::Str => write!(f, "{}", dtype.item_size / dtype.alignment),
        Kind::Datetime(unit) | Kind::Timedelta(unit) => write!(f, "{}{unit}", dtype.item_size),
        _ => write!(f, "{}", dtype.item_size),
    }
}

/// A dtype inside another one.
struct Nested<'a> {
    dtype: &'a Dtype,
    /// Whether the surrounding dtype is aligned. If so, the nested dtype is aligned too, and is printed without
    /// `aligned`.
    in_aligned: bool,
}

impl Display for Nested<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.dtype.kind {
            Kind::Bool => f.write_str("'?'"),
            Kind::Extension(extension) => f.write_str(extension.name()),
            Kind::Subarray(Subarray { base, shape }) => {
                let base = Nested { dtype: base, ..*self };
                write!(f, "({base}, {})", Tuple(shape))
            }
            Kind::Struct(parts) => {
                // As in NumPy, an aligned dtype around a record does not align the fields of the record.
                let in_aligned = self.in_aligned && !parts.is_record;
                if parts.is_record {
                    f.write_str("(numpy.record, ")?;
                }
                // A dictionary is printed only where a list would be read back as another dtype.
                if parts.is_aligned == in_aligned && can_be_list(parts, self.dtype.item_size) {
                    list(parts, f)?;
                } else {
                    dict(parts, self.dtype.item_size, in_aligned, f)?;
                }
                f.write_str(if parts.is_record { ")" } else { "" })
            }
            _ => {
                f.write_char('\'')?;
                if let Some(order) = self.dtype.byte_order {
                    f.write_char(order.sign())?;
                }
                letter_and_size(self.dtype, "", f)?;
                f.write_char('\'')
            }
        }
    }
}

/// Whether the same offsets, size and names are read back if the fields are printed as a list.
fn can_be_list(parts: &Struct, item_size: usize) -> bool {
    let round_up = |offset: usize, alignment| {
        if parts.is_aligned { offset.next_multiple_of(alignment) } else { offset }
    };
    let mut end = 0;
    let mut alignment = 1;
    for field in &parts.fields {
        if field.name.is_empty() || field.offset != round_up(end, field.dtype.alignment) {
            return false;
        }
        end = field.offset + field.dtype.item_size;
        alignment = alignment.max(field.dtype.alignment);
    }
    item_size == round_up(end, alignment)
}

fn list(parts: &Struct, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let in_aligned = parts.is_aligned;
    f.write_char('[')?;
    separated(&parts.fields, f, |field, f| {
        let name = Repr(&field.name);
        match &field.title {
            Some(title) => write!(f, "(({}, {name}), ", Repr(title))?,
            None => write!(f, "({name}, ")?,
        }
        // In the tuple of a field, a subarray is printed as two items: the base and the shape.
        let (dtype, shape) = match &field.dtype.kind {
            Kind::Subarray(Subarray { base, shape }) => (&**base, Some(Tuple(shape))),
            _ => (&field.dtype, None),
        };
        Nested { dtype, in_aligned }.fmt(f)?;
        if let Some(shape) = shape {
            write!(f, ", {shape}")?;
        }
        f.write_char(')')
    })?;
    f.write_char(']')
}

fn dict(parts: &Struct, item_size: usize, in_aligned: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let fields = &*parts.fields;
    f.write_str("{'names': [")?;
    separated(fields, f, |field, f| Repr(&field.name).fmt(f))?;
    f.write_str("], 'formats': [")?;
    separated(fields, f, |field, f| {
        let in_aligned = parts.is_aligned;
        let dtype = &field.dtype;
        Nested { dtype, in_aligned }.fmt(f)
    })?;
    f.write_str("], 'offsets': [")?;
    separated(fields, f, |field, f| write!(f, "{}", field.offset))?;
    if fields.iter().any(|field| field.title.is_some()) {
        f.write_str("], 'titles': [")?;
        separated(fields, f, |field, f| match &field.title {
            Some(title) => Repr(title).fmt(f),
            None => f.write_str("None"),
        })?;
    }
    write!(f, "], 'itemsize': {item_size}")?;
    if parts.is_aligned && !in_aligned {
        f.write_str(", 'aligned': True")?;
    }
    f.write_char('}')
}

/// Prints items with commas between them.
fn separated<T>(
    items: &[T],
    f: &mut fmt::Formatter<'_>,
    print: impl Fn(&T, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            f.write_str(", ")?;
        }
        print(item, f)?;
    }
    Ok(())
}

/// Displays a shape as Python prints a tuple: `(2,)`, `(2, 3)`.
struct Tuple<'a>(&'a [usize]);

impl Display for Tuple<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('(')?;
        separated(self.0, f, |length, f| write!(f, "{length}"))?;
        f.write_str(if self.0.len() == 1 { ",)" } else { ")" })
    }
}
