//! A deserializer for a dimension vector.

use core::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::methods::{refuse, transparent};
use super::read_error::ReadError;
use super::value::{Value, Visit};
use crate::error::{Detail, ValueType};
use crate::wire::{FixedInt, Items};

/// A dimension vector.
pub(super) struct VectorDeserializer<'de, W, F> {
    items: Items<'de, W>,
    error: PhantomData<F>,
}

impl<'de, W: FixedInt + Visit<'de>, F: ReadError> VectorDeserializer<'de, W, F> {
    #[inline]
    pub(super) fn new(items: Items<'de, W>) -> Self {
        Self { items, error: PhantomData }
    }

    /// Lets a visitor take the dimensions, all of them.
    #[inline]
    fn visit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, F> {
        let ndim = self.items.len();
        let mut dimensions = VectorAccess::<W, F> { items: self.items, ndim, error: PhantomData };
        let value = visitor.visit_seq(&mut dimensions)?;
        if dimensions.items.has_exactly(0) {
            Ok(value)
        } else {
            Err(takes_dimensions(dimensions.drawn(), ndim))
        }
    }

    // The count is checked before the first dimension, so serde's loop over an array needs no exit for a missing one.
    #[inline]
    fn tuple<V: Visitor<'de>>(self, takes: usize, visitor: V) -> Result<V::Value, F> {
        if !self.items.has_exactly(takes) {
            return Err(takes_dimensions(takes, self.items.len()));
        }
        self.visit(visitor)
    }
}

/// The error for a type whose number of dimensions is not that of the vector.
#[cold]
fn takes_dimensions<F: ReadError>(takes: usize, ndim: usize) -> F {
    F::new(Detail::TakesDimensions { takes, ndim })
}

/// Gives the dimensions to a visitor.
// The caller adds the entry and the offset to an error, so this struct is small enough for registers.
struct VectorAccess<'de, W, F> {
    items: Items<'de, W>,
    ndim: usize,
    error: PhantomData<F>,
}

impl<W: FixedInt, F> VectorAccess<'_, W, F> {
    #[inline]
    fn drawn(&self) -> usize {
        self.ndim - self.items.len()
    }
}

impl<'de, W: FixedInt + Visit<'de>, F: ReadError> Deserializer<'de> for VectorDeserializer<'de, W, F> {
    type Error = F;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, F> {
        self.visit(visitor)
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, F> {
        self.tuple(len, visitor)
    }

    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, F> {
        self.tuple(len, visitor)
    }

    transparent! {}

    // Structs and byte arrays could be read from a sequence, but the serializer does not write them as one.
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
        match seed.deserialize(Value::<W, F>::new(item)) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(error.at_dimension(self.drawn() - 1)),
        }
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}
