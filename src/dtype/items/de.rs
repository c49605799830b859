//! The `Deserializer` of an item.

use alloc::string::String;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::error::ItemError;
use super::float16;
use super::plan::{Fields, Parts, Plan, Storage};
use crate::macros::deserialize_through;

type Result<T, E = ItemError> = core::result::Result<T, E>;

/// Deserializes one item or a part of it.
pub(super) struct ItemDeserializer<'p, 'd, 'de> {
    pub(super) plan: &'p mut Plan<'d>,
    /// The bytes from the start of this item or part. There can be more bytes after its end.
    pub(super) bytes: &'de [u8],
}

/// Reads a number at the start of the bytes.
macro_rules! number {
    ($bytes:expr, $plan:expr, $type:ty) => {
        match $bytes.first_chunk() {
            Some(&bytes) if $plan.is_big => <$type>::from_be_bytes(bytes),
            Some(&bytes) => <$type>::from_le_bytes(bytes),
            None => return Err(ItemError::too_short()),
        }
    };
}

/// The kind of value that a Rust type requests. All widths of integers are one kind, and so are all widths of floats.
#[derive(Clone, Copy)]
enum RequestedKind {
    Integer,
    Float,
    Text,
}

impl<'p, 'd, 'de> ItemDeserializer<'p, 'd, 'de> {
    /// Reads a number whose type in Rust differs from its type in the dtype, or a text that cannot be borrowed.
    // This function gets the fields of `self` as arguments. If it got `self` itself, the compiler would store `self` in
    // memory for each field of a struct, although this function is rarely called.
    #[cold]
    fn other<V: Visitor<'de>>(
        plan: &'p mut Plan<'d>,
        bytes: &'de [u8],
        requested: RequestedKind,
        visitor: V,
    ) -> Result<V::Value> {
        let part = Self { plan, bytes };
        match (requested, &part.plan.storage) {
            (RequestedKind::Integer, Storage::Int(_) | Storage::Uint(_))
            | (RequestedKind::Float, Storage::Float16 | Storage::Float32)
            | (RequestedKind::Text, Storage::Text) => part.deserialize_any(visitor),
            _ => part.plan.mismatch(&visitor as &dyn Expected),
        }
    }

    /// The bytes of the part.
    #[inline(always)]
    fn all(&self) -> Result<&'de [u8]> {
        self.bytes.get(..self.plan.size).ok_or_else(ItemError::too_short)
    }

    /// The text of a `U`.
    fn utf32(&self) -> Result<String> {
        let mut text = String::with_capacity(self.plan.size / 4);
        for (number, bytes) in self.all()?.chunks_exact(4).enumerate() {
            let code = number!(bytes, self.plan, u32);
            text.push(char::from_u32(code).ok_or_else(|| {
                ItemError::new(format_args!("character {number} is {code:#x}, which Unicode does not have"))
            })?);
        }
        text.truncate(text.trim_end_matches('\0').len());
        Ok(text)
    }

    /// Passes the values of the part to a visitor, in order, and returns the visitor's value. `count` is the number of
    /// values that the Rust type takes, if that number is fixed.
    fn values<V: Visitor<'de>>(self, count: Option<usize>, visitor: V) -> Result<V::Value> {
        let bytes = self.all()?;
        let mut parts = Parts::by_position(self.plan, count, count.is_none(), &visitor as &dyn Expected)?;
        if parts.padded().is_some() {
            parts.length = unpadded(bytes).len();
        }
        Values { parts, bytes, names: &[] }.visit_seq(visitor)
    }
}

/// The bytes without the NULs that pad them.
fn unpadded(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    // Checks eight bytes at a time, from the end. The eight bytes are read as a big-endian number, so each NUL at their
    // end is eight zero bits at the low end of the number.
    while let Some((before, last)) = rest.split_last_chunk() {
        let zeros = u64::from_be_bytes(*last).trailing_zeros() as usize / 8;
        if zeros < last.len() {
            return rest.get(..rest.len() - zeros).unwrap_or_default();
        }
        rest = before;
    }
    let length = rest.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    rest.get(..length).unwrap_or_default()
}

/// The text of an `S`.
// Not inlined, so the code around it is short enough to be inlined into the visitor of a struct.
#[inline(never)]
fn utf8(bytes: &[u8]) -> Result<&str> {
    core::str::from_utf8(unpadded(bytes)).map_err(|error| {
        let byte = error.valid_up_to();
        ItemError::new(format_args!(
            "the text is not UTF-8 at byte {byte}; a type that takes bytes can read it"
        ))
    })
}

macro_rules! numbers {
    ($($method:ident $visit:ident $type:ident $storage:pat, $requested:ident;)*) => {
        $(
            // Inlined into the visitor of a struct. So if a field has the same type in the struct and in the dtype,
            // reading it takes only a few comparisons and a load.
            #[inline(always)]
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                match self.plan.storage {
                    $storage => visitor.$visit(number!(self.bytes, self.plan, $type)),
                    _ => Self::other(self.plan, self.bytes, RequestedKind::$requested, visitor),
                }
            }
        )*
    };
}

impl<'de> Deserializer<'de> for ItemDeserializer<'_, '_, 'de> {
    type Error = ItemError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.plan.storage {
            // Any byte but 0 is true, as in NumPy.
            Storage::Bool => visitor.visit_bool(number!(self.bytes, self.plan, u8) != 0),
            Storage::Int(1) => self.deserialize_i8(visitor),
            Storage::Int(2) => self.deserialize_i16(visitor),
            Storage::Int(4) => self.deserialize_i32(visitor),
            Storage::Int(_) => self.deserialize_i64(visitor),
            Storage::Uint(1) => self.deserialize_u8(visitor),
            Storage::Uint(2) => self.deserialize_u16(visitor),
            Storage::Uint(4) => self.deserialize_u32(visitor),
            Storage::Uint(_) => self.deserialize_u64(visitor),
            Storage::Float16 => visitor.visit_f32(float16::widen(number!(self.bytes, self.plan, u16))),
            Storage::Float32 => self.deserialize_f32(visitor),
            Storage::Float64 => self.deserialize_f64(visitor),
            Storage::Bytes(_) if utf8(self.all()?).is_err() => self.deserialize_bytes(visitor),
            Storage::Bytes(_) => self.deserialize_str(visitor),
            Storage::Text => visitor.visit_string(self.utf32()?),
            Storage::Raw(_) => self.deserialize_bytes(visitor),
            Storage::Array { .. } => self.deserialize_seq(visitor),
            Storage::Struct(_) => self.deserialize_map(visitor),
        }
    }

    numbers! {
        deserialize_i8 visit_i8 i8 Storage::Int(1), Integer;
        deserialize_i16 visit_i16 i16 Storage::Int(2), Integer;
        deserialize_i32 visit_i32 i32 Storage::Int(4), Integer;
        deserialize_i64 visit_i64 i64 Storage::Int(8), Integer;
        deserialize_i128 visit_i128 i128 Storage::Int(16), Integer;
        deserialize_u8 visit_u8 u8 Storage::Uint(1), Integer;
        deserialize_u16 visit_u16 u16 Storage::Uint(2), Integer;
        deserialize_u32 visit_u32 u32 Storage::Uint(4), Integer;
        deserialize_u64 visit_u64 u64 Storage::Uint(8), Integer;
        deserialize_u128 visit_u128 u128 Storage::Uint(16), Integer;
        deserialize_f32 visit_f32 f32 Storage::Float32, Float;
        deserialize_f64 visit_f64 f64 Storage::Float64, Float;
    }

    #[inline(always)]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.plan.storage {
            Storage::Bytes(_) => visitor.visit_borrowed_str(utf8(self.all()?)?),
            _ => Self::other(self.plan, self.bytes, RequestedKind::Text, visitor),
        }
    }

    #[inline(always)]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.plan.storage {
            Storage::Bytes(_) => visitor.visit_borrowed_bytes(unpadded(self.all()?)),
            Storage::Raw(_) => visitor.visit_borrowed_bytes(self.all()?),
            _ => self.plan.mismatch(&visitor as &dyn Expected),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_bytes(visitor)
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        match self.plan.of_newtype(name) {
            Some(mut plan) => {
                visitor.visit_newtype_struct(ItemDeserializer { plan: &mut plan, bytes: self.bytes })
            }
            None => visitor.visit_newtype_struct(self),
        }
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.values(None, visitor)
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(self, count: usize, visitor: V) -> Result<V::Value> {
        self.values(Some(count), visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let Storage::Struct(fields) = &mut self.plan.storage else {
            return self.plan.mismatch(&visitor as &dyn Expected);
        };
        fields.sort_as_in_dtype();
        Values::of_fields(fields, self.bytes, &[]).visit_map(visitor)
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        let Storage::Struct(fields) = &mut self.plan.storage else {
            return self.plan.mismatch(&visitor as &dyn Expected);
        };
        // Each of the two cases below makes its own `Values`. If both used the same `Values`, `visit_map` would take
        // its address, and then the `Values` could not stay in registers for `visit_seq`.
        if fields.sort_as_in_struct(names)? {
            // The fields are now in the order of the struct. So the visitor gets only the values, and no names are
            // compared for each item.
            return Values::of_fields(fields, self.bytes, &[]).visit_seq(visitor);
        }
        Values::of_fields(fields, self.bytes, names).visit_map(visitor)
    }

    /// Reads a text as the name of a variant without values.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.plan.storage {
            Storage::Bytes(_) => visitor.visit_enum(utf8(self.all()?)?.into_deserializer()),
            Storage::Text => visitor.visit_enum(self.utf32()?.into_deserializer()),
            _ => self.plan.mismatch(&visitor as &dyn Expected),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }

    deserialize_through! { option tuple_struct }

    forward_to_deserialize_any! { bool char unit unit_struct identifier }
}

/// Passes the values of a part to a visitor in order, or the values of its fields with their names.
struct Values<'p, 'd, 'de> {
    parts: Parts<'p, 'd>,
    bytes: &'de [u8],
    /// The field names of the Rust type; empty if the Rust type takes any fields, or takes them without names.
    names: &'static [&'static str],
}

impl<'p, 'd, 'de> Values<'p, 'd, 'de> {
    #[inline]
    fn of_fields(fields: &'p mut Fields<'d>, bytes: &'de [u8], names: &'static [&'static str]) -> Self {
        Self { parts: Parts::of_fields(fields), bytes, names }
    }

    #[inline]
    fn visit_seq<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value> {
        let value = visitor.visit_seq(&mut self)?;
        self.parts.end()?;
        Ok(value)
    }

    fn visit_map<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value> {
        let value = visitor.visit_map(&mut self)?;
        self.parts.end()?;
        Ok(value)
    }
}

impl<'de> SeqAccess<'de> for &mut Values<'_, '_, 'de> {
    type Error = ItemError;

    #[inline(always)]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let Some((plan, offset, place)) = self.parts.next() else { return Ok(None) };
        let bytes = self.bytes.get(offset..).ok_or_else(ItemError::too_short)?;
        let value = seed.deserialize(ItemDeserializer { plan, bytes });
        value.map(Some).map_err(|error| error.at(place))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.parts.length - self.parts.next)
    }
}

impl<'de> MapAccess<'de> for &mut Values<'_, '_, 'de> {
    type Error = ItemError;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        self.parts.key(self.names).map(|key| seed.deserialize(StrDeserializer::new(key))).transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value> {
        self.next_element_seed(seed)?.ok_or_else(ItemError::too_short)
    }
}
