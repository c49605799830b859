//! A deserializer for a dimension vector.

use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::methods::{refuse, transparent};
use super::value::{Value, Visit};
use crate::error::{Detail, Error, ValueType};
use crate::wire::{FixedInt, Items};

/// A dimension vector.
pub(super) struct Vector<'de, W>(pub(super) Items<'de, W>);

impl<'de, W: FixedInt + Visit<'de>> Vector<'de, W> {
    /// Lets a visitor take the dimensions. It must take all of them.
    #[inline]
    fn visit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let ndim = self.0.len();
        let mut dimensions = Dimensions { items: self.0, ndim };
        match visitor.visit_seq(&mut dimensions) {
            Ok(_) if !dimensions.items.has_exactly(0) => Err(takes_dimensions(dimensions.drawn(), ndim)),
            value => value,
        }
    }

    #[inline]
    fn tuple<V: Visitor<'de>>(self, takes: usize, visitor: V) -> Result<V::Value, Error> {
        if !self.0.has_exactly(takes) {
            return Err(takes_dimensions(takes, self.0.len()));
        }
        self.visit(visitor)
    }
}

/// The error for a type that takes another number of dimensions than there are.
#[cold]
fn takes_dimensions(takes: usize, ndim: usize) -> Error {
    Error::new(Detail::TakesDimensions { takes, ndim })
}

/// Gives the dimensions to a visitor. The caller adds the entry and the offset to an error, so that this struct is
/// small enough for registers.
struct Dimensions<'de, W> {
    items: Items<'de, W>,
    ndim: usize,
}

impl<W: FixedInt> Dimensions<'_, W> {
    #[inline]
    fn drawn(&self) -> usize {
        self.ndim - self.items.len()
    }
}

impl<'de, W: FixedInt + Visit<'de>> Deserializer<'de> for Vector<'de, W> {
    type Error = Error;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.visit(visitor)
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
        self.tuple(len, visitor)
    }

    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.tuple(len, visitor)
    }

    transparent! {}

    // Both could be read from a sequence, but they are not written as one.
    refuse! {
        Struct: deserialize_struct(&'static str, &'static [&'static str]);
        Bytes: deserialize_bytes() deserialize_byte_buf();
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string unit unit_struct seq map
        enum identifier ignored_any
    }
}

impl<'de, W: FixedInt + Visit<'de>> SeqAccess<'de> for Dimensions<'de, W> {
    type Error = Error;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some(item) = self.items.next() else { return Ok(None) };
        match seed.deserialize(Value(item)) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(error.at_dimension(self.drawn() - 1)),
        }
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}
