//! Rust types for the items of an array.

use std::sync::Arc;

use b2nd_serde::dtype::{ByteOrder, Dtype, Kind};
use bytemuck::allocation::try_zeroed_vec;
use bytemuck::{NoUninit, Pod, cast_slice_mut};
#[cfg(feature = "ndarray")]
use {half::f16, ndarray::ArrayD, num_complex::Complex};

#[cfg(feature = "ndarray")]
use crate::chunk::expansion::no_memory;
use crate::error::Error;
use crate::slice::selection::Selection;
use crate::slice::slice_reader::Slice;
use crate::source::ReadAt;

/// A Rust type for the items of an array. [`Slice::read_into`] reads items into a buffer of this type. With the feature
/// `ndarray`, `Slice::read_array` reads them into an array. With the feature `compress`, items of this type can also be
/// written.
///
/// | type | kinds of dtypes with the same size, in either byte order |
/// |---|---|
/// | `bool` | `b` |
/// | `i8` to `i64`, `u8` to `u64` | `i`, `u` |
/// | `i64` | `M`, `m`: datetimes and durations, counted in their unit |
/// | `f16` of the crate half, `f32`, `f64` | `f` |
/// | `Complex<f32>`, `Complex<f64>` of the crate num-complex | `c` |
/// | `[u8; N]` | `S`, `U`, `V`, structs and any other dtype with items of `N` bytes, unchanged; also items without a dtype |
///
/// `f16` and `Complex` need the feature `ndarray`.
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
    #[cfg(all(feature = "compress", feature = "ndarray"))]
    fn dtype() -> String;

    /// Whether this type is `u8`. A buffer of `u8` receives the bytes of the items, whatever their dtype.
    const IS_BYTE: bool = false;

    /// Whether items of this kind can be read as this type. The size is checked separately.
    fn has_kind(kind: &Kind) -> bool;

    /// Converts raw items to items of this type. The error is the index of the first invalid item.
    fn items(raw: Vec<Self::Raw>) -> Result<Vec<Self>, usize>;

    /// The bytes of a buffer, to be overwritten; `None` if only some byte values are valid for this type.
    fn bytes(items: &mut [Self]) -> Option<&mut [u8]>;

    /// The names of the narrower types. This type can represent all values of a narrower type without loss.
    const NARROWER: &'static [&'static str] = &[];

    /// Reads items of the narrower type with this name, and converts them; `None` for another name.
    #[cfg(feature = "ndarray")]
    fn read_narrower<R: ReadAt>(_: Slice<'_, R>, _: &str) -> Option<Result<ArrayD<Self>, Error>> {
        None
    }
}

/// Generates the constant `NARROWER` and the function `read_narrower` of [`Stored`], which `read_as` uses. The input is
/// a list of narrower types, each with its conversion.
#[cfg(feature = "ndarray")]
macro_rules! narrower {
    ($($source:ty, $convert:expr;)*) => {
        const NARROWER: &'static [&'static str] = &[$(stringify!($source)),*];

        fn read_narrower<R: ReadAt>(slice: Slice<'_, R>, source: &str) -> Option<Result<ArrayD<Self>, Error>> {
            match source {
                $(stringify!($source) => Some(slice.read_array::<$source>().and_then(|array| converted(&array, $convert))),)*
                _ => None,
            }
        }
    };
}

/// The array with each item converted. If there is no memory for the result, this function returns an error, while
/// `ArrayD::mapv` would panic or abort.
#[cfg(feature = "ndarray")]
fn converted<S: Copy, T>(array: &ArrayD<S>, convert: impl Fn(S) -> T) -> Result<ArrayD<T>, Error> {
    let mut items = Vec::new();
    let nbytes = array.len() as u128 * size_of::<T>() as u128;
    items.try_reserve_exact(array.len()).map_err(|_| no_memory(nbytes))?;
    items.extend(array.iter().map(|&item| convert(item)));
    ArrayD::from_shape_vec(array.raw_dim(), items).map_err(Error::too_large)
}

macro_rules! items {
    ($($(#[$condition:meta])* $type:ty, $width:literal, $dtype:literal => $kinds:pat, from [$($source:ty),*];)*) => {
        $(
            $(#[$condition])*
            impl Item for $type {}

            $(#[$condition])*
            impl Stored for $type {
                type Raw = Self;

                const WIDTH: usize = $width;

                const IS_BYTE: bool = matches!(stringify!($type).as_bytes(), b"u8");

                fn name() -> String {
                    stringify!($type).into()
                }

                #[cfg(all(feature = "compress", feature = "ndarray"))]
                fn dtype() -> String {
                    $dtype.into()
                }

                fn has_kind(kind: &Kind) -> bool {
                    matches!(kind, $kinds)
                }

                fn items(raw: Vec<Self>) -> Result<Vec<Self>, usize> {
                    Ok(raw)
                }

                fn bytes(items: &mut [Self]) -> Option<&mut [u8]> {
                    Some(cast_slice_mut(items))
                }

                #[cfg(feature = "ndarray")]
                narrower! { $($source, Self::from;)* }
            }
        )*

        /// The name of the Rust type for the items of a dtype: a number type, or `bool`. For dates and durations, it is
        /// `i64`. `None` if no such type fits the dtype.
        pub(super) fn type_of(dtype: &Dtype) -> Option<&'static str> {
            let is = |is_kind: bool, size| is_kind && dtype.item_size() == size;
            if matches!(dtype.kind(), Kind::Bool) {
                return Some("bool");
            }
            $(
                $(#[$condition])*
                {
                    if is(matches!(dtype.kind(), $kinds), size_of::<$type>()) {
                        return Some(stringify!($type));
                    }
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
    #[cfg(feature = "ndarray")]
    f16, 2, "<f2" => Kind::Float, from [i8, u8];
    f32, 4, "<f4" => Kind::Float, from [i8, i16, u8, u16, f16];
    f64, 8, "<f8" => Kind::Float, from [i8, i16, i32, u8, u16, u32, f16, f32];
    #[cfg(feature = "ndarray")]
    Complex<f32>, 4, "<c8" => Kind::Complex, from [f32];
    #[cfg(feature = "ndarray")]
    Complex<f64>, 8, "<c16" => Kind::Complex, from [f64];
}

impl Item for bool {}

impl Stored for bool {
    type Raw = u8;

    const WIDTH: usize = 1;

    fn name() -> String {
        "bool".into()
    }

    #[cfg(all(feature = "compress", feature = "ndarray"))]
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

    fn bytes(_: &mut [Self]) -> Option<&mut [u8]> {
        None
    }
}

impl<const N: usize> Item for [u8; N] {}

impl<const N: usize> Stored for [u8; N] {
    type Raw = Self;

    const WIDTH: usize = 1;

    fn name() -> String {
        format!("[u8; {N}]")
    }

    #[cfg(all(feature = "compress", feature = "ndarray"))]
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

    fn bytes(items: &mut [Self]) -> Option<&mut [u8]> {
        Some(cast_slice_mut(items))
    }
}

impl<R: ReadAt> Slice<'_, R> {
    /// Reads the items into a buffer, in C order. A buffer of `u8` receives the same bytes as [`read`](Self::read)
    /// returns. A buffer of another number type receives numbers in the byte order of the machine. The buffer must have
    /// exactly as many items as the slice or, for `u8`, [`nbytes`](Self::nbytes) bytes. After an error, its content is
    /// not specified.
    ///
    /// # Errors
    ///
    /// The errors of [`read`](Self::read). [`InvalidInput`](crate::ErrorKind::InvalidInput) if the buffer has the wrong
    /// length, if the dtype does not fit `T` (see [`Item`]), if the item size of the dtype is not the type size of the
    /// frame, or if a bool is neither 0 nor 1.
    ///
    /// ```
    /// use b2nd_frame::Array;
    ///
    /// let array = Array::open("tests/data/int32_3x5.b2nd")?;
    /// let mut items = [0_i32; 6];
    /// array.slice(&[1..3, 2..5]).read_into(&mut items)?;
    /// assert_eq!(items, [7, 8, 9, 12, 13, 14]);
    ///
    /// let mut bytes = [0_u8; 24];
    /// array.slice(&[1..3, 2..5]).read_into(&mut bytes)?;
    /// assert_eq!(bytes.as_slice(), items.map(i32::to_le_bytes).concat());
    ///
    /// let error = array.slice(&[1..3, 2..5]).read_into(&mut [0_f32; 6]).unwrap_err();
    /// assert_eq!(error.to_string(), "items of dtype <i4 cannot be read into a buffer of f32; use i32");
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn read_into<T: Item>(self, items: &mut [T]) -> Result<(), Error> {
        let selection = self.selection()?;
        selection.check_forward()?;
        let (is_swapped, expected, unit) = if T::IS_BYTE {
            (false, selection.nbytes, "bytes")
        } else {
            (
                self.is_swapped::<T>("read into a buffer of")?,
                selection.nbytes / self.array.item_size(),
                "items",
            )
        };
        let found = items.len();
        if found != expected {
            let text = format_args!("the slice has {expected} {unit}, but the buffer {found}");
            return Err(Error::invalid_input(text));
        }
        match T::bytes(items) {
            Some(bytes) => {
                self.fill(&selection, bytes, false)?;
                if is_swapped {
                    swap::<T>(T::bytes(items).unwrap_or_default());
                }
            }
            None => items.copy_from_slice(&self.read_items(&selection, is_swapped)?),
        }
        Ok(())
    }

    /// Whether the stored items have another byte order than the machine. An error if the dtype does not fit `T`.
    pub(super) fn is_swapped<T: Item>(&self, how: &str) -> Result<bool, Error> {
        is_swapped::<T>(&self.array.shared.dtype, self.array.item_size(), how)
    }

    /// Reads the items as a type that fits the dtype.
    pub(super) fn read_items<T: Item>(
        self,
        selection: &Arc<Selection>,
        is_swapped: bool,
    ) -> Result<Vec<T>, Error> {
        let nitems = selection.nbytes / self.array.item_size();
        let mut raw: Vec<T::Raw> = try_zeroed_vec(nitems)
            .map_err(|()| Error::too_large(format_args!("there is no memory for {nitems} items")))?;
        self.fill(selection, cast_slice_mut(&mut raw), true)?;
        if is_swapped {
            swap::<T>(cast_slice_mut(&mut raw));
        }
        T::items(raw).map_err(|index| {
            Error::invalid_input(format_args!(
                "item {index} of the slice is not a valid {}: its byte must be 0 or 1",
                T::name()
            ))
        })
    }
}

/// Reverses the byte order of items.
pub(crate) fn swap<T: Item>(items: &mut [u8]) {
    items.chunks_exact_mut(T::WIDTH).for_each(<[u8]>::reverse);
}

/// Checks that the items can be read or written as `T`, and returns whether their byte order differs from the
/// machine's. `how` is a part of the error message: "read as", "read into a buffer of" or "written from".
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
    let fitting = type_of(dtype);
    // Numbers without a Rust type, such as a long double, are read as raw bytes.
    let is_raw = fitting.is_none() && T::has_kind(&Kind::Void);
    if !(T::has_kind(dtype.kind()) || is_raw) || found != size {
        let fitting = fitting.map_or_else(|| format!("[u8; {found}]"), Into::into);
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

#[cfg(all(test, feature = "ndarray"))]
mod tests {
    use crate::error::ErrorKind;

    use super::*;

    #[test]
    fn converted_refuses_an_array_for_which_there_is_no_memory() {
        // Items of type `()` take no memory. A `Vec` can have at most half as many bytes as the address space, but 8
        // bytes for each of these items would need nearly the whole address space.
        let count = usize::MAX / 8;
        let array = ArrayD::from_shape_vec(vec![count], vec![(); count]).unwrap();
        let error = converted(&array, |()| 0_u64).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert_eq!(error.to_string(), format!("there is no memory for {} bytes", 8 * count));
    }
}
