//! A deserializer for one value of an entry: an integer or the dtype.

use serde::de::{Deserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::methods::{refuse, transparent};
use crate::error::{Detail, Error, ValueType};

/// A value that has been read and checked.
pub(super) struct Value<T>(pub(super) T);

/// A value that can be given to a visitor.
pub(super) trait Visit<'de>: Sized {
    fn visit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error>;

    fn visit_as_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.visit(visitor)
    }
}

impl<'de> Visit<'de> for u8 {
    #[inline]
    fn visit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u8(self)
    }
}

impl<'de> Visit<'de> for i32 {
    #[inline]
    fn visit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_i32(self)
    }
}

impl<'de> Visit<'de> for i64 {
    #[inline]
    fn visit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_i64(self)
    }
}

impl<'de> Visit<'de> for &'de str {
    #[inline]
    fn visit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self)
    }

    #[inline]
    fn visit_as_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_bytes(self.as_bytes())
    }
}

impl<'de, T: Visit<'de>> Deserializer<'de> for Value<T> {
    type Error = Error;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.0.visit(visitor)
    }

    #[inline]
    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.0.visit_as_bytes(visitor)
    }

    #[inline]
    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.0.visit_as_bytes(visitor)
    }

    transparent! {}

    // Refused because they cannot be written either: a float for an integer, a char for a string. An identifier is only
    // asked for by the tag of an enum, which would read the version as the number of a variant.
    refuse! {
        Float: deserialize_f32() deserialize_f64();
        Char: deserialize_char();
        Enum: deserialize_identifier();
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 str string unit unit_struct seq tuple tuple_struct map
        struct enum ignored_any
    }
}
