//! A deserializer for a single value: an integer, a dimension or the dtype.

use core::marker::PhantomData;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{Deserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::methods::{refuse, transparent};
use super::read_error::ReadError;
use crate::error::{Detail, ValueType};

/// A checked value.
pub(super) struct Value<T, F> {
    value: T,
    error: PhantomData<F>,
}

impl<T, F> Value<T, F> {
    #[inline]
    pub(super) fn new(value: T) -> Self {
        Self { value, error: PhantomData }
    }
}

/// A value that can be given to a visitor.
pub(super) trait Visit<'de>: Sized {
    fn visit<V: Visitor<'de>, F: ReadError>(self, visitor: V) -> Result<V::Value, F>;

    /// Gives the value to a visitor whose type asks for an unsigned integer.
    #[inline]
    fn visit_as_unsigned<V: Visitor<'de>, F: ReadError>(self, visitor: V) -> Result<V::Value, F> {
        self.visit(visitor)
    }

    #[inline]
    fn visit_as_bytes<V: Visitor<'de>, F: ReadError>(self, visitor: V) -> Result<V::Value, F> {
        self.visit(visitor)
    }

    // Rejected unless it is a text: the version would be the number of a variant.
    fn visit_as_enum<V: Visitor<'de>, F: ReadError>(self, _visitor: V) -> Result<V::Value, F> {
        Err(F::new(Detail::Unsupported(ValueType::Enum)))
    }
}

impl<'de> Visit<'de> for u8 {
    #[inline]
    fn visit<V: Visitor<'de>, F: ReadError>(self, visitor: V) -> Result<V::Value, F> {
        visitor.visit_u8(self)
    }
}

/// A dimension. A type that asks for an unsigned integer gets one unless the dimension is negative.
// Serde's visitor for `u64` accepts every `u64`. On the fast way no dimension is negative, so a loop over an array of
// them has no exit for an error.
macro_rules! visit_dimension {
    ($type:ty, $natural:ty, $signed:ident, $unsigned:ident) => {
        impl<'de> Visit<'de> for $type {
            #[inline]
            fn visit<V: Visitor<'de>, F: ReadError>(self, visitor: V) -> Result<V::Value, F> {
                visitor.$signed(self)
            }

            #[inline]
            fn visit_as_unsigned<V: Visitor<'de>, F: ReadError>(self, visitor: V) -> Result<V::Value, F> {
                if F::NEVER_NEGATIVE || self >= 0 {
                    visitor.$unsigned(<$natural>::from_ne_bytes(self.to_ne_bytes()))
                } else {
                    self.visit(visitor)
                }
            }
        }
    };
}

visit_dimension!(i32, u32, visit_i32, visit_u32);
visit_dimension!(i64, u64, visit_i64, visit_u64);

impl<'de> Visit<'de> for &'de str {
    #[inline]
    fn visit<V: Visitor<'de>, F: ReadError>(self, visitor: V) -> Result<V::Value, F> {
        visitor.visit_borrowed_str(self)
    }

    #[inline]
    fn visit_as_bytes<V: Visitor<'de>, F: ReadError>(self, visitor: V) -> Result<V::Value, F> {
        visitor.visit_borrowed_bytes(self.as_bytes())
    }

    fn visit_as_enum<V: Visitor<'de>, F: ReadError>(self, visitor: V) -> Result<V::Value, F> {
        visitor.visit_enum(BorrowedStrDeserializer::new(self))
    }
}

macro_rules! unsigned {
    ($($method:ident)*) => { $(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            self.value.visit_as_unsigned(visitor)
        }
    )* };
}

impl<'de, T: Visit<'de>, F: ReadError> Deserializer<'de> for Value<T, F> {
    type Error = F;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, F> {
        self.value.visit(visitor)
    }

    #[inline]
    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, F> {
        self.value.visit_as_bytes(visitor)
    }

    #[inline]
    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, F> {
        self.value.visit_as_bytes(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, F> {
        self.value.visit_as_enum(visitor)
    }

    unsigned! { deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 }

    transparent! {}

    // Rejected, because a type that cannot be written must not be readable either: a float from an integer, a `char`
    // from a one-letter dtype. Only the tag of an enum asks for an identifier.
    refuse! {
        Float: deserialize_f32() deserialize_f64();
        Char: deserialize_char();
        Enum: deserialize_identifier();
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 str string unit unit_struct seq tuple tuple_struct map struct ignored_any
    }
}
