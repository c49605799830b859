//! Slices as arrays of the crate ndarray.

use b2nd_serde::dtype::{ByteOrder, Dtype, Kind};
use bytemuck::{NoUninit, Pod, allocation::try_zeroed_vec, cast_slice_mut};
use half::f16;
use ndarray::{ArrayD, Axis};
use num_complex::Complex;

use crate::error::Error;
use crate::slice::slice_reader::Slice;
use crate::slice::subscripts::AxisForm;
use crate::source::ReadAt;

/// A Rust type for the items of an array. [`Slice::read_array`] reads items as this type. With the feature `compress`,
/// items of this type can also be written.
///
/// | type | kinds of dtypes with the same size, in either byte order |
/// |---|---|
/// | `bool` | `b` |
/// | `i8` to `i64`, `u8` to `u64` | `i`, `u` |
/// | `i64` | `M`, `m`: datetimes and durations, counted in their unit |
/// | `f16` of the crate half, `f32`, `f64` | `f` |
/// | `Complex<f32>`, `Complex<f64>` of the crate num-complex | `c` |
/// | `[u8; N]` | `S`, `U`, `V`, structs and any other dtype with items of `N` bytes, unchanged; also items without a dtype |
pub trait Item: Stored {}

/// How items of a Rust type are stored, and how they are read and converted. This trait is not public, so no other
/// crate can implement [`Item`].
pub trait Stored: NoUninit + Send + Sync {
    /// A type of the same size for which any bytes are valid.
    type Raw: Pod;

    /// The number of bytes that are reversed together to change the byte order. For a complex number, this is the size
    /// of its real part. It is 1 if nothing needs to be reversed.
    const WIDTH: usize;

    /// The name of the type in a message.
    fn name() -> String;

    /// The little-endian dtype for a new array of this type.
    #[cfg(feature = "compress")]
    fn dtype() -> String;

    /// Whether items of this kind can be read as this type. The size is checked separately.
    fn has_kind(kind: &Kind) -> bool;

    /// Converts raw items to items of this type. The error is the index of the first invalid item.
    fn items(raw: Vec<Self::Raw>) -> Result<Vec<Self>, usize>;

    /// The names of the narrower types: this type can represent all their values without loss.
    const NARROWER: &'static [&'static str] = &[];

    /// Reads items of the narrower type with this name, and converts them; `None` for another name.
    fn read_narrower<R: ReadAt>(_: Slice<'_, R>, _: &str) -> Option<Result<ArrayD<Self>, Error>> {
        None
    }
}

/// Generates `NARROWER` and `read_narrower` of [`Stored`] from a list of narrower types, each with its conversion.
/// `read_as` uses both.
macro_rules! narrower {
    ($($source:ty, $convert:expr;)*) => {
        const NARROWER: &'static [&'static str] = &[$(stringify!($source)),*];

        fn read_narrower<R: ReadAt>(slice: Slice<'_, R>, source: &str) -> Option<Result<ArrayD<Self>, Error>> {
            match source {
                $(stringify!($source) => Some(slice.read_array::<$source>().map(|array| array.mapv($convert))),)*
                _ => None,
            }
        }
    };
}

macro_rules! items {
    ($($type:ty, $width:literal, $dtype:literal => $kinds:pat, from [$($source:ty),*];)*) => {
        $(
            impl Item for $type {}

            impl Stored for $type {
                type Raw = Self;

                const WIDTH: usize = $width;

                fn name() -> String {
                    stringify!($type).into()
                }

                #[cfg(feature = "compress")]
                fn dtype() -> String {
                    $dtype.into()
                }

                fn has_kind(kind: &Kind) -> bool {
                    matches!(kind, $kinds)
                }

                fn items(raw: Vec<Self>) -> Result<Vec<Self>, usize> {
                    Ok(raw)
                }

                narrower! { $($source, Self::from;)* }
            }
        )*

        /// The name of the Rust number type for a dtype, or `bool`. For dates and durations, this is `i64`. `None` if
        /// no such type fits the dtype.
        fn type_of(dtype: &Dtype) -> Option<&'static str> {
            let is = |is_kind: bool, size| is_kind && dtype.item_size() == size;
            if matches!(dtype.kind(), Kind::Bool) {
                return Some("bool");
            }
            $(
                if is(matches!(dtype.kind(), $kinds), size_of::<$type>()) {
                    return Some(stringify!($type));
                }
            )*
            None
        }
    };
}

items! {
    i8, 1, "|i1" => Kind::Int, from [bool];
    i16, 2, "<i2" => Kind::Int, from [bool, i8, u8];
    i32, 4, "<i4" => Kind::Int, from [bool, i8, i16, u8, u16];
    // NumPy stores a date or a duration as a count in 64 bits.
    i64, 8, "<i8" => Kind::Int | Kind::Datetime(_) | Kind::Timedelta(_), from [bool, i8, i16, i32, u8, u16, u32];
    u8, 1, "|u1" => Kind::Uint, from [bool];
    u16, 2, "<u2" => Kind::Uint, from [bool, u8];
    u32, 4, "<u4" => Kind::Uint, from [bool, u8, u16];
    u64, 8, "<u8" => Kind::Uint, from [bool, u8, u16, u32];
    f16, 2, "<f2" => Kind::Float, from [i8, u8];
    f32, 4, "<f4" => Kind::Float, from [i8, i16, u8, u16, f16];
    f64, 8, "<f8" => Kind::Float, from [i8, i16, i32, u8, u16, u32, f16, f32];
    Complex<f32>, 4, "<c8" => Kind::Complex, from [f32];
    Complex<f64>, 8, "<c16" => Kind::Complex, from [f64];
}

impl Item for bool {}

impl Stored for bool {
    type Raw = u8;

    const WIDTH: usize = 1;

    fn name() -> String {
        "bool".into()
    }

    #[cfg(feature = "compress")]
    fn dtype() -> String {
        "|b1".into()
    }

    fn has_kind(kind: &Kind) -> bool {
        matches!(kind, Kind::Bool)
    }

    fn items(raw: Vec<u8>) -> Result<Vec<Self>, usize> {
        // Only the bytes 0 and 1 are valid for a `bool` of Rust.
        match raw.iter().position(|&byte| byte > 1) {
            Some(index) => Err(index),
            None => Ok(raw.into_iter().map(|byte| byte == 1).collect()),
        }
    }
}

impl<const N: usize> Item for [u8; N] {}

impl<const N: usize> Stored for [u8; N] {
    type Raw = Self;

    const WIDTH: usize = 1;

    fn name() -> String {
        format!("[u8; {N}]")
    }

    #[cfg(feature = "compress")]
    fn dtype() -> String {
        format!("|V{N}")
    }

    fn has_kind(kind: &Kind) -> bool {
        // All kinds of items that no other Rust type reads: texts, raw bytes, structs and others.
        use Kind::{Bool, Complex, Datetime, Float, Int, Timedelta, Uint};
        !matches!(kind, Bool | Int | Uint | Float | Complex | Datetime(_) | Timedelta(_))
    }

    fn items(raw: Vec<Self>) -> Result<Vec<Self>, usize> {
        Ok(raw)
    }
}

impl<R: ReadAt> Slice<'_, R> {
    /// Reads the items into an array of the crate ndarray, in C order, with the byte order of the machine.
    ///
    /// With the subscripts of [`ndarray::s!`], the result equals the slice that ndarray takes from the whole array.
    ///
    /// # Errors
    ///
    /// The errors of [`read`](Self::read). [`InvalidInput`](crate::ErrorKind::InvalidInput) if the dtype does not fit
    /// `T` (see [`Item`]), if the item size of the dtype is not the type size of the frame, or if a bool is neither 0
    /// nor 1.
    ///
    /// ```
    /// use b2nd_frame::Array;
    /// use ndarray::{array, s};
    ///
    /// let array = Array::open("tests/data/int32_3x5.b2nd")?;
    /// let items = array.slice(&[1..3, 2..5]).read_array::<i32>()?;
    /// assert_eq!(items, array![[7, 8, 9], [12, 13, 14]].into_dyn());
    /// let items = array.slice(s![-1, ..;2]).read_array::<i32>()?;
    /// assert_eq!(items, array![10, 12, 14].into_dyn());
    ///
    /// let error = array.slice(&[1..3, 2..5]).read_array::<f32>().unwrap_err();
    /// assert_eq!(error.to_string(), "items of dtype <i4 cannot be read as f32; use i32");
    /// let error = array.whole().read_array::<f64>().unwrap_err();
    /// assert_eq!(error.to_string(), "items of dtype <i4 cannot be read as f64; use i32, or `read_as`");
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn read_array<T: Item>(self) -> Result<ArrayD<T>, Error> {
        let selection = self.selection()?;
        let is_swapped = is_swapped::<T>(&self.array.opened().dtype, self.array.item_size(), "read as")?;
        let shape: Result<Vec<usize>, _> = selection.lengths().map(usize::try_from).collect();
        let shape = shape.map_err(Error::too_large)?;
        let nitems = selection.nbytes / self.array.item_size();
        let no_memory = |()| Error::too_large(format_args!("there is no memory for {nitems} items"));
        let mut raw: Vec<T::Raw> = try_zeroed_vec(nitems).map_err(no_memory)?;
        self.fill(&selection, cast_slice_mut(&mut raw), true)?;
        if is_swapped {
            swap::<T>(cast_slice_mut(&mut raw));
        }
        let items = T::items(raw).map_err(|index| {
            Error::invalid_input(format_args!(
                "item {index} of the slice is not a valid {}: its byte must be 0 or 1",
                T::name()
            ))
        })?;
        let mut array = ArrayD::from_shape_vec(shape, items).map_err(Error::too_large)?;
        let mut axis = 0;
        for form in &selection.axes {
            match form {
                AxisForm::Kept => {}
                AxisForm::Reversed => array.invert_axis(Axis(axis)),
                AxisForm::New => array = array.insert_axis(Axis(axis)),
                AxisForm::Removed => {
                    array = array.index_axis_move(Axis(axis), 0);
                    continue;
                }
            }
            axis += 1;
        }
        Ok(array)
    }

    /// Reads the items into an array of a wider type, which can represent each value of the stored type.
    ///
    /// For example, `u8` can be read as `i32`, `f16` as `f32`, `bool` as `u8`, and `f64` as `Complex<f64>`. Each type
    /// can also be read as itself.
    ///
    /// During the conversion, the array of stored items and the array of `T` are both in memory.
    ///
    /// # Errors
    ///
    /// The errors of [`read_array`](Self::read_array), except that `T` may be wider than the stored type.
    ///
    /// ```
    /// use b2nd_frame::Array;
    /// use ndarray::array;
    ///
    /// let array = Array::open("tests/data/int32_3x5.b2nd")?;
    /// let items = array.slice(&[1..3, 2..5]).read_as::<f64>()?;
    /// assert_eq!(items, array![[7.0, 8.0, 9.0], [12.0, 13.0, 14.0]].into_dyn());
    ///
    /// let error = array.slice(&[1..3, 2..5]).read_as::<i16>().unwrap_err();
    /// assert_eq!(error.to_string(), "items of dtype <i4 cannot be read as i16; use i32");
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn read_as<T: Item>(self) -> Result<ArrayD<T>, Error> {
        // Ignore an invalid dtype here: the call of `read_array` below reports it.
        let dtype = self.array.opened().dtype.as_ref().ok().and_then(Option::as_ref);
        match dtype.and_then(type_of) {
            Some(source) if T::NARROWER.contains(&source) => {
                // `read_narrower` never returns `None` here, because it knows all names in `NARROWER`.
                T::read_narrower(self, source).unwrap_or_else(|| Err(Error::unsupported(source)))
            }
            _ => self.read_array(),
        }
    }
}

/// Reverses the byte order of items.
pub(crate) fn swap<T: Item>(items: &mut [u8]) {
    items.chunks_exact_mut(T::WIDTH).for_each(<[u8]>::reverse);
}

/// Checks that the items can be read or written as `T`, and returns whether their byte order differs from the
/// machine's. `how` is "read as" or "written from".
pub(crate) fn is_swapped<T: Item>(
    dtype: &Result<Option<Dtype>, String>,
    typesize: usize,
    how: &str,
) -> Result<bool, Error> {
    let (name, size) = (T::name(), size_of::<T::Raw>());
    let dtype = match dtype {
        Ok(dtype) => dtype.as_ref(),
        Err(error) => {
            return Err(Error::invalid_input(format_args!(
                "the items cannot be {how} {name}: dtype: {error}"
            )));
        }
    };
    let Some(dtype) = dtype else {
        // Without a dtype, every type except raw bytes would be a guess.
        let is_bytes = T::has_kind(&Kind::Void) && size == typesize;
        let why = format!("items without a dtype are {how} [u8; {typesize}], not {name}");
        return if is_bytes { Ok(false) } else { Err(Error::invalid_input(why)) };
    };
    let found = dtype.item_size();
    if !T::has_kind(dtype.kind()) || found != size {
        let fitting = type_of(dtype).map_or_else(|| format!("[u8; {found}]"), Into::into);
        let is_wider = how == "read as" && T::NARROWER.contains(&fitting.as_str());
        let or = if is_wider { ", or `read_as`" } else { "" };
        return Err(Error::invalid_input(format_args!(
            "items of dtype {dtype} cannot be {how} {name}; use {fitting}{or}"
        )));
    }
    if found != typesize {
        let why =
            format!("items of dtype {dtype} have {found} bytes, but items of the frame have {typesize}");
        return Err(Error::invalid_input(format_args!("{why}: they cannot be {how} {name}")));
    }
    let native = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };
    Ok(T::WIDTH > 1 && dtype.byte_order().is_some_and(|order| order != native))
}
