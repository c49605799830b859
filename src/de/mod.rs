//! Reads metalayers. A check of the whole metalayer comes first, and selects one of two ways to decode it.
//!
//! An *ordinary* metalayer (valid, of the current layout, without a negative dimension) is decoded the fast way, if the
//! requested Rust type takes the entries in order. The code of the fast way is inlined into the code that reads the
//! type. Every other metalayer is decoded the general way. If a type does not fit an ordinary metalayer, the metalayer
//! is decoded again the general way, to find the reason.
//!
//! ```text
//! bytes ─▶ SliceDeserializer ─▶ Metalayer::ordinary ─ Some ─▶ value
//!                                     │                 │ the type does not fit (Misfit)
//!                                     └─ None ─▶ Deserializer ─▶ value, or an Error with its place
//! ```
//!
//! A `Meta` is read in neither of these ways: `give_bytes` passes the bytes of the metalayer to the `Meta`, and
//! `meta.rs` checks and decodes them.

mod names;

use core::fmt;
use core::marker::PhantomData;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{self, Deserialize, DeserializeSeed, IgnoredAny, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::error::{Detail, Error, LayoutFault, TextFault, ValueType};
use crate::layout::{Entry, Layout, META_FIELDS, is_meta};
use crate::wire::{FixedInt, Input, Items, Metalayer, Place, Text};
use names::{ByName, Names};

/// Reads a value from a metalayer, which must be the whole input.
///
/// Types such as `&str` borrow from the input.
///
/// # Errors
///
/// See [`ErrorKind`](crate::ErrorKind). An invalid byte of the metalayer takes precedence over an entry that does not
/// fit its Rust type, even if the invalid byte comes after that entry. So a damaged file gives the same error for every
/// Rust type, with one exception: a dtype that is not UTF-8 is no error for a type that takes it as bytes or ignores it.
/// Bytes after the metalayer are an error too, but every other error takes precedence.
///
/// ```
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Meta<'a> {
///     version: u8,
///     ndim: u8,
///     shape: Vec<u64>,
///     chunkshape: Vec<u32>,
///     blockshape: Vec<u32>,
///     dtype_format: u8,
///     dtype: &'a str,
/// }
///
/// let bytes = b"\x97\x00\x01\x91\xd3\0\0\0\0\0\0\0\x06\x91\xd2\0\0\0\x04\x91\xd2\0\0\0\x02\
///     \x00\xdb\0\0\0\x03|u1";
/// let meta: Meta = b2nd_serde::from_slice(bytes)?;
/// assert_eq!((meta.shape, meta.chunkshape, meta.blockshape), (vec![6], vec![4], vec![2]));
/// assert_eq!(meta.dtype, "|u1");
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[inline]
pub fn from_slice<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Error> {
    read(bytes, None)
}

/// Reads a value from the metalayer at the front of the input, and returns the value and the bytes after the metalayer.
///
/// Use it for files with stale bytes after the metalayer. python-blosc2 2.1 to 3.10 left such bytes when a metalayer
/// became shorter.
///
/// # Errors
///
/// See [`ErrorKind`](crate::ErrorKind).
///
/// ```
/// let bytes = b"\x95\x00\x00\x90\x90\x90 and more";
/// let (value, rest): ((u8, u8, [u64; 0], [u32; 0], [u32; 0]), _) = b2nd_serde::take_from_slice(bytes)?;
/// assert_eq!(value.1, 0);
/// assert_eq!(rest, b" and more");
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[inline]
pub fn take_from_slice<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<(T, &'de [u8]), Error> {
    let mut rest = bytes;
    match read(bytes, Some(&mut rest)) {
        Ok(value) => Ok((value, rest)),
        Err(error) => Err(error),
    }
}

/// The maximum number of bytes that are read. The longest dtype and all other entries together have fewer bytes.
#[cfg(feature = "std")]
const MAX_READ: u64 = (1 << 31) + (1 << 10);

/// Reads a reader to its end, and deserializes a value from the bytes. Bytes after the metalayer are an error.
///
/// At most 2 GiB + 1 KiB are read, because no metalayer is longer. If you do not trust the reader, set a lower limit
/// with [`Read::take`](std::io::Read::take).
///
/// # Errors
///
/// [`ErrorKind::Io`](crate::ErrorKind::Io) if the reader fails, and the errors of [`from_slice`].
///
/// ```
/// let bytes = b"\x95\x00\x01\x91\xd3\0\0\0\0\0\0\0\x06\x91\xd2\0\0\0\x04\x91\xd2\0\0\0\x02";
/// let reader = std::io::Cursor::new(bytes);
/// let (_, _, [items], _, _): (u8, u8, [u64; 1], [u32; 1], [u32; 1]) = b2nd_serde::from_reader(reader)?;
/// assert_eq!(items, 6);
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[cfg(feature = "std")]
pub fn from_reader<R: std::io::Read, T: de::DeserializeOwned>(reader: R) -> Result<T, Error> {
    use std::io::Read as _;

    let mut bytes = alloc::vec::Vec::new();
    let read = reader.take(MAX_READ).read_to_end(&mut bytes);
    read.map_err(|error| Error::new(Detail::Reader(error)))?;
    from_slice(&bytes)
}

/// Generates `is_human_readable`, and the methods of [`serde::Deserializer`] that read an option or a newtype struct as
/// its content.
macro_rules! transparent {
    () => { transparent! { option newtype } };
    ($($group:ident)*) => {
        $(transparent! { @$group })*

        #[inline]
        fn is_human_readable(&self) -> bool {
            false
        }
    };
    (@option) => {
        // Always `Some`: the format has no marker for an absent value. `None` comes from serde, for a missing field.
        #[inline]
        fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            visitor.visit_some(self)
        }
    };
    (@newtype) => {
        #[inline]
        fn deserialize_newtype_struct<V: Visitor<'de>>(
            self,
            _name: &'static str,
            visitor: V,
        ) -> Result<V::Value, Self::Error> {
            visitor.visit_newtype_struct(self)
        }
    };
}

/// Generates the method of [`serde::Deserializer`] that reads a tuple struct as a tuple.
macro_rules! tuple_struct {
    () => {
        #[inline]
        fn deserialize_tuple_struct<V: Visitor<'de>>(
            self,
            _name: &'static str,
            len: usize,
            visitor: V,
        ) -> Result<V::Value, Self::Error> {
            self.deserialize_tuple(len, visitor)
        }
    };
}

#[cfg(feature = "dtype")]
pub(crate) use {transparent, tuple_struct};

/// Generates methods of [`serde::Deserializer`] that reject the requested type. In the input of the macro, the
/// parentheses after the name of a method contain the types of the method's arguments, without the visitor.
macro_rules! refuse {
    ($($found:ident: $($method:ident($($argument:ty),*))*;)*) => { $( $(
        fn $method<V: Visitor<'de>>(self, $(_: $argument,)* _: V) -> Result<V::Value, Self::Error> {
            Err(ReadError::new(Detail::Unsupported(ValueType::$found), self.place))
        }
    )* )* };
}

/// Generates the methods of [`serde::Deserializer`] for a whole metalayer. They call `take`, and pass it the entries
/// that the Rust type requests.
macro_rules! whole {
    () => {
        #[inline]
        fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.take(Takes::Any, visitor)
        }

        #[inline]
        fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
            self.take(Takes::Count(len), visitor)
        }

        tuple_struct! {}

        #[inline]
        fn deserialize_struct<V: Visitor<'de>>(
            self,
            name: &'static str,
            fields: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value, Error> {
            self.take(Takes::of_struct(name, fields), visitor)
        }

        fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.take(Takes::Map, visitor)
        }

        transparent! {}

        forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
            enum identifier ignored_any
        }
    };
}

/// The entries that the requested Rust type takes.
#[derive(Clone, Copy)]
enum Takes {
    /// All entries of the layout.
    Any,
    /// A fixed number of entries.
    Count(usize),
    /// The entries of a struct with these field names. Serde lists aliases as field names too, so there can be fewer
    /// entries than names.
    Fields(&'static [&'static str]),
    /// The bytes of the metalayer, for a `Meta`. It decodes them itself.
    Bytes,
    /// A map, which is always an error.
    Map,
}

impl Takes {
    /// The entries that a struct with this name and these fields takes.
    // Inlined, so the comparison with a `Meta` is decided at compile time.
    #[inline(always)]
    fn of_struct(name: &str, fields: &'static [&'static str]) -> Self {
        if is_meta(name, fields) {
            return Self::Bytes;
        }
        Self::Fields(fields)
    }

    /// Whether the type takes the entries of the current layout in order. For a type with a derived `Deserialize`, the
    /// compiler knows the result.
    #[inline(always)]
    fn is_ordinary(self) -> bool {
        match self {
            Self::Any => true,
            Self::Count(count) => count == Layout::B2nd.entries().len(),
            Self::Fields(fields) => Entry::can_be_fields(fields),
            Self::Bytes | Self::Map => false,
        }
    }
}

/// Reads a value from the metalayer at the front of some bytes. `rest` receives the bytes after the metalayer. If
/// `rest` is `None`, no bytes may follow the metalayer.
// This function, `take`, `visit_ordinary` and `unboxed` are inlined into the code that reads the type `T`. Only then
// does the compiler know which entries `T` takes.
#[inline(always)]
fn read<'de, T: Deserialize<'de>>(bytes: &'de [u8], rest: Option<&mut &'de [u8]>) -> Result<T, Error> {
    let result = T::deserialize(SliceDeserializer { bytes, rest });
    if let Err(error) = result {
        return Err(explain::<T>(bytes, error));
    }
    // The result is returned as it is, because `Ok(value?)` would copy the value. Serde writes an array to memory in
    // small pieces, and copying larger pieces right afterwards stalls the processor.
    result
}

/// Reads a metalayer again the general way, to find out why the type does not fit.
#[cold]
fn explain<'de, T: Deserialize<'de>>(bytes: &'de [u8], error: Error) -> Error {
    // The metalayer is read again after every error, not only after `Misfit`, because a type can replace `Misfit` by an
    // error of its own.
    T::deserialize(&mut Deserializer::new(bytes)).err().unwrap_or(error)
}

/// A deserializer for a metalayer at the front of some bytes.
struct SliceDeserializer<'r, 'de> {
    bytes: &'de [u8],
    /// Receives the bytes after the metalayer; `None` if no bytes may follow the metalayer.
    rest: Option<&'r mut &'de [u8]>,
}

impl<'de> SliceDeserializer<'_, 'de> {
    #[inline(always)]
    fn take<V: Visitor<'de>>(self, takes: Takes, visitor: V) -> Result<V::Value, Error> {
        if let Takes::Bytes = takes {
            return self.give_bytes(visitor);
        }
        let Self { bytes, rest } = self;
        // This check covers all bytes. After this check, only a type that does not fit can be an error, so decoding has
        // no branch for an invalid byte.
        match Metalayer::ordinary(bytes) {
            Some(metalayer) if takes.is_ordinary() && (rest.is_some() || metalayer.rest.is_empty()) => {
                if let Some(rest) = rest {
                    *rest = metalayer.rest;
                }
                visit_ordinary(&metalayer, visitor).map_err(|Misfit| misfit())
            }
            _ => unboxed(take_other(bytes, rest, takes, visitor)),
        }
    }

    /// Gives the bytes of the metalayer to a `Meta`, which checks and decodes them itself. So serde is not called for
    /// each single entry.
    #[inline(always)]
    fn give_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let Self { bytes, rest } = self;
        let (first, left) = if rest.is_some() { Metalayer::split(bytes) } else { (bytes, &[][..]) };
        match visitor.visit_borrowed_bytes(first) {
            Ok(value) => {
                if let Some(rest) = rest {
                    *rest = left;
                }
                Ok(value)
            }
            Err(Misfit) => Err(no_meta(bytes, rest)),
        }
    }
}

/// Passes the entries of an ordinary metalayer to a visitor, and returns the visitor's value. A visitor that does not
/// take all entries is an error.
#[inline(always)]
fn visit_ordinary<'de, V: Visitor<'de>>(metalayer: &Metalayer<'de>, visitor: V) -> Result<V::Value, Misfit> {
    let mut entries = InOrder::new(metalayer, 0);
    let value = visitor.visit_seq(&mut entries)?;
    if usize::from(entries.next) == metalayer.layout.entries().len() { Ok(value) } else { Err(Misfit) }
}

/// The error for bytes that a `Meta` rejects.
#[cold]
#[inline(never)]
fn no_meta<'de>(bytes: &'de [u8], rest: Option<&mut &'de [u8]>) -> Error {
    match take_other(bytes, rest, Takes::Bytes, IgnoredAny) {
        Err(error) => error,
        Ok(_) => misfit(),
    }
}

#[cold]
#[inline(never)]
fn misfit() -> Error {
    Error::new(Detail::Misfit)
}

/// Reads a value the general way. This is needed if the metalayer is not ordinary, if the type does not take all
/// entries in order, or if bytes follow the metalayer although `rest` is `None`.
// Never inlined, so the code of the fast way stays small.
#[cold]
#[inline(never)]
fn take_other<'de, V: Visitor<'de>>(
    bytes: &'de [u8],
    rest: Option<&mut &'de [u8]>,
    takes: Takes,
    visitor: V,
) -> Result<Boxed<V::Value>, Error> {
    let mut deserializer = Deserializer::new(bytes);
    let value = deserializer.take(takes, visitor)?;
    match rest {
        Some(rest) => *rest = deserializer.input.rest(),
        // The bytes after the metalayer may be entries of a later version, so the version is added to the error.
        None => deserializer.end().map_err(|error| error.of_version(Input::new(bytes).version(0)))?,
    }
    Ok(boxed(value))
}

/// The value that the general way returns, in a `Box` if the crate has feature `alloc`.
// Boxed, because a value returned by this cold path would need a stack slot. The fast path would return through the
// same slot, so its result could not stay in registers.
#[cfg(feature = "alloc")]
type Boxed<T> = alloc::boxed::Box<T>;
#[cfg(not(feature = "alloc"))]
type Boxed<T> = T;

fn boxed<T>(value: T) -> Boxed<T> {
    #[cfg(feature = "alloc")]
    return alloc::boxed::Box::new(value);
    #[cfg(not(feature = "alloc"))]
    value
}

#[inline(always)]
fn unboxed<T>(value: Result<Boxed<T>, Error>) -> Result<T, Error> {
    #[cfg(feature = "alloc")]
    return value.map(|value| *value);
    #[cfg(not(feature = "alloc"))]
    value
}

impl<'de> serde::Deserializer<'de> for SliceDeserializer<'_, 'de> {
    type Error = Error;

    whole! {}
}

/// An error type: [`Misfit`] for the fast way to read, [`Error`] for the general way.
trait ReadError: de::Error {
    /// Whether this error type is used only for metalayers without a negative dimension. Then signs need not be tested.
    const NEVER_NEGATIVE: bool;

    /// The place of a value in the metalayer, or nothing if the error has no place.
    type Place: Copy;

    fn place_of(entry: Entry, layout: Layout, ndim: u8, start: usize) -> Self::Place;

    /// The place of a dimension of the vector at this place.
    fn dimension_of(vector: Self::Place, dimension: usize) -> Self::Place;

    /// An error of this crate. Its place is added at once, because a type can put the text of the error into the text of
    /// an error of its own.
    fn new(detail: Detail, place: Self::Place) -> Self;

    /// Adds the place to an error that a type raised, unless the error has a place already.
    fn at_place(self, place: Self::Place) -> Self;
}

impl ReadError for Error {
    const NEVER_NEGATIVE: bool = false;

    type Place = Place;

    #[inline]
    fn place_of(entry: Entry, layout: Layout, ndim: u8, start: usize) -> Place {
        Place { entry, layout, ndim, start, dimension: None }
    }

    #[inline]
    fn dimension_of(vector: Place, dimension: usize) -> Place {
        Place { dimension: Some(dimension), ..vector }
    }

    #[cold]
    fn new(detail: Detail, place: Place) -> Self {
        place.of_error(Self::new(detail))
    }

    #[cold]
    fn at_place(self, place: Place) -> Self {
        place.of_error(self)
    }
}

/// The error of the fast way: the type does not fit an ordinary metalayer. The caller reads the metalayer again, the
/// general way, to get the reason.
// Zero-sized, so a `Result` with this error is hardly larger than the value in it. So arrays stay in registers. Because
// the error has no message, the fast way also saves the time to build one.
#[derive(Debug)]
struct Misfit;

impl ReadError for Misfit {
    const NEVER_NEGATIVE: bool = true;

    type Place = ();

    #[inline]
    fn place_of(_entry: Entry, _layout: Layout, _ndim: u8, _start: usize) {}

    #[inline]
    fn dimension_of((): (), _dimension: usize) {}

    #[inline]
    fn new(_detail: Detail, (): ()) -> Self {
        Self
    }

    #[inline]
    fn at_place(self, (): ()) -> Self {
        self
    }
}

impl de::Error for Misfit {
    #[inline]
    fn custom<T: fmt::Display>(_message: T) -> Self {
        Self
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the type does not fit the metalayer")
    }
}

impl core::error::Error for Misfit {}

/// Gives the entries to a visitor, in order.
struct InOrder<'m, 'de, F> {
    metalayer: &'m Metalayer<'de>,
    /// The offset of the metalayer in the input.
    start: usize,
    /// The position of the next entry.
    next: u8,
    /// Whether the requested type has asked for more entries than the layout has.
    is_over: bool,
    error: PhantomData<F>,
}

impl<'m, 'de, F: ReadError> InOrder<'m, 'de, F> {
    #[inline]
    fn new(metalayer: &'m Metalayer<'de>, start: usize) -> Self {
        Self { metalayer, start, next: 0, is_over: false, error: PhantomData }
    }

    // Inlined, so the compiler knows the entry of each field (see `next_element`).
    #[inline(always)]
    fn next_entry(&self) -> Option<Entry> {
        self.metalayer.layout.entry(self.next)
    }

    /// Passes the value of an entry to a serde seed, and returns what the seed makes of it.
    // Inlined, so the compiler knows `entry`, and removes the match.
    #[inline(always)]
    fn read<S: DeserializeSeed<'de>>(&self, entry: Entry, seed: S) -> Result<S::Value, F> {
        let Metalayer { layout, version, ndim, dtype_format, dtype, .. } = *self.metalayer;
        // Gets only numbers: taking the address of the metalayer would keep it out of registers.
        let place = F::place_of(entry, layout, ndim, self.start);
        let vectors = self.metalayer;
        let value = match entry {
            Entry::Version => seed.deserialize(Value { value: version, place }),
            Entry::Ndim => seed.deserialize(Value { value: ndim, place }),
            Entry::Shape => seed.deserialize(VectorDeserializer { items: vectors.shape.clone(), place }),
            Entry::Chunkshape => {
                seed.deserialize(VectorDeserializer { items: vectors.chunkshape.clone(), place })
            }
            Entry::Blockshape => {
                seed.deserialize(VectorDeserializer { items: vectors.blockshape.clone(), place })
            }
            Entry::DtypeFormat => seed.deserialize(Value { value: dtype_format, place }),
            Entry::Dtype => seed.deserialize(Value { value: dtype, place }),
        };
        match value {
            Ok(value) => Ok(value),
            Err(error) => Err(F::at_place(error, place)),
        }
    }
}

impl<'de, F: ReadError> SeqAccess<'de> for &mut InOrder<'_, 'de, F> {
    type Error = F;

    #[inline(always)]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, F> {
        let Some(entry) = self.next_entry() else {
            self.is_over = true;
            return Ok(None);
        };
        self.next += 1;
        self.read(entry, seed).map(Some)
    }

    // Same as serde's default method, but inlined. Only then does the compiler know the position of each entry, and
    // remove the matches over layouts and entries.
    #[inline(always)]
    fn next_element<T: Deserialize<'de>>(&mut self) -> Result<Option<T>, F> {
        self.next_element_seed(PhantomData)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        self.metalayer.layout.entries().len().checked_sub(self.next.into())
    }
}

/// A deserializer for an integer or a text of a metalayer. Its bytes have been checked.
struct Value<T, F: ReadError> {
    value: T,
    place: F::Place,
}

/// An integer or a text that can be passed to a visitor.
trait Visit<'de>: Sized {
    fn visit<V: Visitor<'de>, F: ReadError>(self, visitor: V, place: F::Place) -> Result<V::Value, F>;

    /// Passes the value to the visitor of a type that asks for an unsigned integer.
    #[inline]
    fn visit_as_unsigned<V: Visitor<'de>, F: ReadError>(
        self,
        visitor: V,
        place: F::Place,
    ) -> Result<V::Value, F> {
        self.visit(visitor, place)
    }

    /// Passes the value to the visitor of a type that asks for bytes, or ignores the value.
    #[inline]
    fn visit_as_bytes<V: Visitor<'de>, F: ReadError>(
        self,
        visitor: V,
        place: F::Place,
    ) -> Result<V::Value, F> {
        self.visit(visitor, place)
    }

    // Only a text can be read as an enum. Otherwise an enum could read the version as the number of a variant.
    fn visit_as_enum<V: Visitor<'de>, F: ReadError>(
        self,
        _visitor: V,
        place: F::Place,
    ) -> Result<V::Value, F> {
        Err(F::new(Detail::Unsupported(ValueType::Enum), place))
    }
}

impl<'de> Visit<'de> for u8 {
    #[inline]
    fn visit<V: Visitor<'de>, F: ReadError>(self, visitor: V, _: F::Place) -> Result<V::Value, F> {
        visitor.visit_u8(self)
    }
}

/// Implements [`Visit`] for the integer type of a dimension. A type that asks for an unsigned integer gets one unless
/// the dimension is negative.
// On the fast way no dimension is negative, so a type that asks for an unsigned integer always gets one. Serde's
// visitor for `u64` accepts every unsigned dimension. So a loop that reads dimensions as `u64` has no exit for an
// error.
macro_rules! visit_dimension {
    ($type:ty, $natural:ty, $signed:ident, $unsigned:ident) => {
        impl<'de> Visit<'de> for $type {
            #[inline]
            fn visit<V: Visitor<'de>, F: ReadError>(self, visitor: V, _: F::Place) -> Result<V::Value, F> {
                visitor.$signed(self)
            }

            #[inline]
            fn visit_as_unsigned<V: Visitor<'de>, F: ReadError>(
                self,
                visitor: V,
                place: F::Place,
            ) -> Result<V::Value, F> {
                if F::NEVER_NEGATIVE || self >= 0 {
                    visitor.$unsigned(<$natural>::from_ne_bytes(self.to_ne_bytes()))
                } else {
                    self.visit(visitor, place)
                }
            }
        }
    };
}

visit_dimension!(i32, u32, visit_i32, visit_u32);
visit_dimension!(i64, u64, visit_i64, visit_u64);

impl<'de> Visit<'de> for Text<'de> {
    #[inline]
    fn visit<V: Visitor<'de>, F: ReadError>(self, visitor: V, place: F::Place) -> Result<V::Value, F> {
        visitor.visit_borrowed_str(utf8(self, place)?)
    }

    #[inline]
    fn visit_as_bytes<V: Visitor<'de>, F: ReadError>(self, visitor: V, _: F::Place) -> Result<V::Value, F> {
        visitor.visit_borrowed_bytes(self.map_or_else(|bytes| bytes, str::as_bytes))
    }

    fn visit_as_enum<V: Visitor<'de>, F: ReadError>(
        self,
        visitor: V,
        place: F::Place,
    ) -> Result<V::Value, F> {
        visitor.visit_enum(BorrowedStrDeserializer::new(utf8(self, place)?))
    }
}

#[inline]
fn utf8<F: ReadError>(text: Text<'_>, place: F::Place) -> Result<&str, F> {
    text.map_err(|bytes| F::new(Detail::Text(TextFault::find(bytes)), place))
}

macro_rules! unsigned {
    ($($method:ident)*) => { $(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            self.value.visit_as_unsigned(visitor, self.place)
        }
    )* };
}

impl<'de, T: Visit<'de>, F: ReadError> serde::Deserializer<'de> for Value<T, F> {
    type Error = F;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, F> {
        self.value.visit(visitor, self.place)
    }

    #[inline]
    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, F> {
        self.value.visit_as_bytes(visitor, self.place)
    }

    #[inline]
    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, F> {
        self.deserialize_bytes(visitor)
    }

    // Bytes, so a type that ignores the dtype can ignore one that is not UTF-8.
    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, F> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, F> {
        self.value.visit_as_enum(visitor, self.place)
    }

    unsigned! { deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 }

    transparent! {}

    // Floats and `char` are rejected, because a type that cannot be written here must not be readable either. Otherwise
    // a float could be read from an integer, and a `char` from a one-letter dtype. Of the derived types, only an enum
    // reads an entry as an identifier: an enum with the attribute `field_identifier` or `variant_identifier`. So the
    // error for an identifier names an enum.
    refuse! {
        Float: deserialize_f32() deserialize_f64();
        Char: deserialize_char();
        Enum: deserialize_identifier();
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 str string unit unit_struct seq tuple tuple_struct map struct
    }
}

/// A deserializer for a dimension vector, whose bytes have been checked.
struct VectorDeserializer<'de, W, F: ReadError> {
    items: Items<'de, W>,
    place: F::Place,
}

impl<'de, W: FixedInt + Visit<'de>, F: ReadError> VectorDeserializer<'de, W, F> {
    /// Passes the dimensions to a visitor, and returns the visitor's value. A visitor that does not take all dimensions
    /// is an error.
    #[inline]
    fn visit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, F> {
        let ndim = self.items.len();
        let mut dimensions = VectorAccess::<W, F> { items: self.items, ndim, place: self.place };
        let value = visitor.visit_seq(&mut dimensions)?;
        if dimensions.items.has_exactly(0) {
            Ok(value)
        } else {
            Err(takes_dimensions(dimensions.drawn(), ndim, self.place))
        }
    }

    // The count is checked before the first dimension is read, so serde's loop over an array needs no exit for a
    // missing dimension.
    #[inline]
    fn tuple<V: Visitor<'de>>(self, takes: usize, visitor: V) -> Result<V::Value, F> {
        if !self.items.has_exactly(takes) {
            return Err(takes_dimensions(takes, self.items.len(), self.place));
        }
        self.visit(visitor)
    }
}

/// The error for a Rust type that takes another number of dimensions than the vector has.
#[cold]
fn takes_dimensions<F: ReadError>(takes: usize, ndim: usize, place: F::Place) -> F {
    F::new(Detail::TakesDimensions { takes, ndim }, place)
}

/// Passes the dimensions of a vector to a visitor.
// The fast way has no places, so there this struct is small enough for registers.
struct VectorAccess<'de, W, F: ReadError> {
    items: Items<'de, W>,
    ndim: usize,
    place: F::Place,
}

impl<W: FixedInt, F: ReadError> VectorAccess<'_, W, F> {
    #[inline]
    fn drawn(&self) -> usize {
        self.ndim - self.items.len()
    }
}

impl<'de, W: FixedInt + Visit<'de>, F: ReadError> serde::Deserializer<'de> for VectorDeserializer<'de, W, F> {
    type Error = F;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, F> {
        self.visit(visitor)
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, F> {
        self.tuple(len, visitor)
    }

    tuple_struct! {}

    transparent! {}

    // Structs and byte arrays are rejected. Serde could read them from a sequence, but the serializer does not write
    // them as a sequence.
    refuse! {
        Struct: deserialize_struct(&'static str, &'static [&'static str]);
        Bytes: deserialize_bytes() deserialize_byte_buf();
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string unit unit_struct seq map
        enum identifier ignored_any
    }
}

impl<'de, W: FixedInt + Visit<'de>, F: ReadError> SeqAccess<'de> for VectorAccess<'de, W, F> {
    type Error = F;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, F> {
        let Some(item) = self.items.next() else { return Ok(None) };
        let place = F::dimension_of(self.place, self.drawn() - 1);
        match seed.deserialize(Value::<W, F> { value: item, place }) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(F::at_place(error, place)),
        }
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

/// A serde deserializer that reads metalayers from a slice.
///
/// A metalayer can be read into a struct, tuple, tuple struct, sequence or `Meta`. The
/// [crate's page](crate#serdes-data-model) has a table of the types that each entry accepts.
/// [`from_slice`](crate::from_slice()) is faster.
///
/// ```
/// use b2nd_serde::{Deserializer, Layout};
/// use serde::Deserialize;
///
/// let mut deserializer = Deserializer::new(b"\x95\x00\x00\x90\x90\x90");
/// assert_eq!(deserializer.layout()?, Layout::Caterva);
/// let value = serde_json::Value::deserialize(&mut deserializer)?;
/// assert_eq!(deserializer.offset(), 6);
/// deserializer.end()?;
/// assert_eq!(value, serde_json::json!([0, 0, [], [], []]));
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[derive(Debug)]
pub struct Deserializer<'de> {
    input: Input<'de>,
}

impl<'de> Deserializer<'de> {
    /// A deserializer for the metalayer at the front of a slice.
    #[must_use]
    #[inline]
    pub fn new(bytes: &'de [u8]) -> Self {
        Self { input: Input::new(bytes) }
    }

    /// The layout of the next metalayer. The position does not change.
    ///
    /// The first byte determines the layout. Only `96` begins two layouts; then the byte that follows `blockshape`
    /// decides.
    ///
    /// # Errors
    ///
    /// If no layout begins with the first byte. If the first byte is `96`, an invalid byte in `version`, `ndim`,
    /// `shape`, `chunkshape` or `blockshape` is an error too, and so is an invalid byte right after `blockshape`.
    pub fn layout(&self) -> Result<Layout, Error> {
        self.input.layout()
    }

    /// The number of bytes read so far. A metalayer that could not be read does not count.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.input.position()
    }

    /// Checks that no bytes are left.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TrailingBytes`](crate::ErrorKind::TrailingBytes) if bytes are left; the message says how many.
    pub fn end(&self) -> Result<(), Error> {
        self.input.end()
    }

    /// Checks the whole next metalayer, passes its entries to a visitor, and returns the visitor's value.
    fn take<V: Visitor<'de>>(&mut self, takes: Takes, visitor: V) -> Result<V::Value, Error> {
        let start = self.offset();
        let metalayer = Metalayer::read(self.input.clone())?;
        let bytes = self.input.rest();
        let bytes = bytes.get(..bytes.len() - metalayer.rest.len()).unwrap_or_default();
        let value = visit_entries(&metalayer, bytes, start, takes, visitor).map_err(|error| {
            // Of the errors here, only this one is about the bytes, which may be valid in another version.
            let version = if error.text_fault().is_some() { metalayer.version } else { 0 };
            error.at(start).of_version(version)
        })?;
        self.input.skip_to(metalayer.rest);
        Ok(value)
    }
}

/// Passes the entries of a metalayer to a visitor, and returns the visitor's value. `bytes` are the bytes of the
/// metalayer, and `start` is the offset of the metalayer in the input.
fn visit_entries<'de, V: Visitor<'de>>(
    metalayer: &Metalayer<'de>,
    bytes: &'de [u8],
    start: usize,
    takes: Takes,
    visitor: V,
) -> Result<V::Value, Error> {
    let layout = metalayer.layout;
    let count = layout.entries().len();
    let mut entries = InOrder::new(metalayer, start);
    let value = match takes {
        Takes::Count(takes) if takes != count => return Err(LayoutFault::Takes { layout, takes }.error()),
        // The visitor gets `entries` by reference. A move would copy memory right after it was written, which stalls
        // the processor.
        Takes::Any | Takes::Count(_) => visitor.visit_seq(&mut entries),
        Takes::Fields(fields) => match Names::place(fields, layout)? {
            None => visitor.visit_seq(&mut entries),
            Some(names) => visitor.visit_map(ByName { entries: &mut entries, names }),
        },
        Takes::Bytes => {
            metalayer.utf8_dtype(start)?;
            // The bytes have been checked, so a `Meta` accepts them. If the bytes are rejected, the type is a user's
            // own struct with the name and the fields of a `Meta`.
            let fault = LayoutFault::Takes { layout, takes: META_FIELDS.len() };
            return visitor.visit_borrowed_bytes(bytes).map_err(|Misfit| fault.error());
        }
        Takes::Map => return Err(Error::new(Detail::Unsupported(ValueType::Map))),
    };
    match (value, usize::from(entries.next)) {
        (Ok(value), visited) if visited == count => Ok(value),
        // Replaces the struct's own error, which would only be "invalid length 7".
        (Err(error), _)
            if !matches!(takes, Takes::Any)
                && error.is_custom_length()
                && error.entry().is_none()
                && entries.is_over =>
        {
            Err(LayoutFault::TakesMore { layout }.error())
        }
        (Err(error), _) => Err(error),
        // Without this check, a type that stops before the last entry would silently drop the entries after it.
        (Ok(_), visited) => Err(LayoutFault::Takes { layout, takes: visited }.error()),
    }
}

impl<'de> serde::Deserializer<'de> for &mut Deserializer<'de> {
    type Error = Error;

    whole! {}
}
