//! Passes the value of an entry, or a dimension of a vector, to the visitor of a Rust type.

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{DeserializeSeed, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::error::{Detail, Error, TextFault, ValueType};
use crate::macros::deserialize_through;
use crate::metalayer::Place;
use crate::wire::{FixedInt, Integers, Text};

/// A deserializer for a value, with the place of the value in the metalayer. `ORDINARY` means that the metalayer is
/// ordinary.
pub(super) struct ValueDeserializer<T, const ORDINARY: bool>(pub(super) T, pub(super) Place);

/// The kind of value that a Rust type requests. All kinds that need no special treatment are `Other`.
enum Request {
    Unsigned,
    Float,
    Char,
    Bytes,
    Enum,
    /// The name of a field or of a variant. Among derived types, only an enum with the attribute `field_identifier` or
    /// `variant_identifier` requests this for an entry.
    Identifier,
    Tuple(usize),
    Struct,
    /// Anything, because the type ignores the value.
    Ignored,
    Other,
}

impl Request {
    /// Checks that the type can take a single value: an integer, or a dtype as text.
    // A type that cannot be written at a place must not be readable at this place either. Otherwise a float could be
    // read from an integer, and a `char` from a dtype of one letter. And an enum could read the version as the number
    // of a variant.
    #[inline(always)]
    fn check_single_value(&self, place: Place) -> Result<(), Error> {
        match self {
            Self::Float => rejected(ValueType::Float, place),
            Self::Char => rejected(ValueType::Char, place),
            Self::Enum | Self::Identifier => rejected(ValueType::Enum, place),
            _ => Ok(()),
        }
    }
}

/// A value of a metalayer that can be passed to the visitor of a Rust type.
trait Value<'de, const ORDINARY: bool>: Sized {
    /// Passes the value to a visitor. Fails if a value of the requested kind is not valid at this place.
    fn visit<V: Visitor<'de>>(self, request: Request, visitor: V, place: Place) -> Result<V::Value, Error>;
}

/// The error for a type that has no encoding at this place.
#[cold]
fn rejected<T>(found: ValueType, place: Place) -> Result<T, Error> {
    Err(place.add_to(Error::new(Detail::UnsupportedType(found))))
}

impl<'de, const ORDINARY: bool> Value<'de, ORDINARY> for u8 {
    #[inline(always)]
    fn visit<V: Visitor<'de>>(self, request: Request, visitor: V, place: Place) -> Result<V::Value, Error> {
        request.check_single_value(place)?;
        visitor.visit_u8(self)
    }
}

/// Implements [`Value`] for a dimension. A type that asks for an unsigned integer gets one, unless the dimension is
/// negative. No dimension of an `ORDINARY` metalayer is negative.
// Serde's visitor for `u64` accepts every unsigned dimension. So a loop that reads the dimensions of an ordinary
// metalayer as `u64` has no exit for an error.
macro_rules! dimension {
    ($type:ty, $natural:ty, $signed:ident, $unsigned:ident) => {
        impl<'de, const ORDINARY: bool> Value<'de, ORDINARY> for $type {
            #[inline(always)]
            fn visit<V: Visitor<'de>>(
                self,
                request: Request,
                visitor: V,
                place: Place,
            ) -> Result<V::Value, Error> {
                request.check_single_value(place)?;
                match request {
                    Request::Unsigned if ORDINARY || self >= 0 => {
                        visitor.$unsigned(<$natural>::from_ne_bytes(self.to_ne_bytes()))
                    }
                    _ => visitor.$signed(self),
                }
            }
        }
    };
}

dimension!(i32, u32, visit_i32, visit_u32);
dimension!(i64, u64, visit_i64, visit_u64);

impl<'de, const ORDINARY: bool> Value<'de, ORDINARY> for Text<'de> {
    #[inline(always)]
    fn visit<V: Visitor<'de>>(self, request: Request, visitor: V, place: Place) -> Result<V::Value, Error> {
        match request {
            // The text is passed as bytes, so a type can ignore a dtype that is not UTF-8.
            Request::Bytes | Request::Ignored => {
                visitor.visit_borrowed_bytes(self.map_or_else(|bytes| bytes, str::as_bytes))
            }
            Request::Enum => visitor.visit_enum(BorrowedStrDeserializer::new(utf8(self, place)?)),
            _ => {
                request.check_single_value(place)?;
                visitor.visit_borrowed_str(utf8(self, place)?)
            }
        }
    }
}

#[inline]
fn utf8(text: Text<'_>, place: Place) -> Result<&str, Error> {
    text.map_err(|bytes| place.add_to(TextFault::not_utf8(bytes).error()))
}

impl<'de, T: FixedInt + Value<'de, ORDINARY>, const ORDINARY: bool> Value<'de, ORDINARY>
    for Integers<'de, T>
{
    #[inline(always)]
    fn visit<V: Visitor<'de>>(self, request: Request, visitor: V, place: Place) -> Result<V::Value, Error> {
        match request {
            Request::Bytes => return rejected(ValueType::Bytes, place),
            // A struct cannot be written as a dimension vector either.
            Request::Struct => return rejected(ValueType::Struct, place),
            // The count is checked before the first dimension is read, so serde's loop over an array needs no exit for a
            // missing dimension.
            Request::Tuple(len) if !self.has_exactly(len) => return Err(takes_dimensions(len, place)),
            _ => {}
        }
        let mut dimensions = DimensionAccess::<T, ORDINARY> { left: self, place };
        let value = visitor.visit_seq(&mut dimensions)?;
        if dimensions.left.has_exactly(0) {
            return Ok(value);
        }
        drop(value);
        Err(leaves_dimensions(&dimensions.left, place))
    }
}

/// The error for a Rust type that does not take all dimensions of a vector.
#[cold]
#[inline(never)]
fn leaves_dimensions<T: FixedInt>(left: &Integers<'_, T>, place: Place) -> Error {
    takes_dimensions(usize::from(place.ndim) - left.len(), place)
}

/// The error for a Rust type that takes another number of dimensions than the vector has.
#[cold]
fn takes_dimensions(takes: usize, place: Place) -> Error {
    place.add_to(Error::new(Detail::TakesDimensions { takes, ndim: place.ndim.into() }))
}

/// Gives the dimensions of a vector to a visitor.
struct DimensionAccess<'de, T, const ORDINARY: bool> {
    left: Integers<'de, T>,
    /// The place of the vector.
    place: Place,
}

impl<'de, T: FixedInt + Value<'de, ORDINARY>, const ORDINARY: bool> SeqAccess<'de>
    for DimensionAccess<'de, T, ORDINARY>
{
    type Error = Error;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some(value) = self.left.next() else { return Ok(None) };
        let place = self.place.of_dimension(self.left.len());
        match seed.deserialize(ValueDeserializer::<T, ORDINARY>(value, place)) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(place.add_to(error)),
        }
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

/// Generates methods of [`serde::Deserializer`] that pass the value to the visitor. In the input of the macro, the
/// parentheses after the name of a method contain the types of the method's arguments, without the visitor.
macro_rules! deserialize_as {
    ($($request:ident: $($method:ident($($argument:ty),*))*;)*) => { $( $(
        #[inline]
        fn $method<V: Visitor<'de>>(self, $(_: $argument,)* visitor: V) -> Result<V::Value, Error> {
            self.0.visit(Request::$request, visitor, self.1)
        }
    )* )* };
}

impl<'de, T: Value<'de, ORDINARY>, const ORDINARY: bool> serde::Deserializer<'de>
    for ValueDeserializer<T, ORDINARY>
{
    type Error = Error;

    deserialize_as! {
        Unsigned: deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128();
        Float: deserialize_f32() deserialize_f64();
        Char: deserialize_char();
        Bytes: deserialize_bytes() deserialize_byte_buf();
        Enum: deserialize_enum(&'static str, &'static [&'static str]);
        Identifier: deserialize_identifier();
        Struct: deserialize_struct(&'static str, &'static [&'static str]);
        Ignored: deserialize_ignored_any();
        Other: deserialize_any();
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
        self.0.visit(Request::Tuple(len), visitor, self.1)
    }

    deserialize_through! { option newtype tuple_struct }

    forward_to_deserialize_any! { bool i8 i16 i32 i64 i128 str string unit unit_struct seq map }
}
