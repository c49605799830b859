//! The `Deserializer` of an item.

use alloc::string::String;
use core::marker::PhantomData;
use core::slice;

use serde::de::value::{BorrowedStrDeserializer, SeqDeserializer, StrDeserializer, U16Deserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};

use super::error::ItemError;
use super::float16;
use super::plan::{FieldPlan, Form, Plan, surplus};

type Result<T> = core::result::Result<T, ItemError>;

/// Deserializes one item or a part of it.
pub(super) struct ItemDeserializer<'p, 'd, 'de> {
    pub(super) plan: &'p mut Plan<'d>,
    /// They begin with the part, and can be longer.
    pub(super) bytes: &'de [u8],
}

/// Reads a number at the start of the bytes.
macro_rules! number {
    ($self:ident, $type:ty) => {
        match $self.bytes.first_chunk() {
            Some(&bytes) if $self.plan.is_big => <$type>::from_be_bytes(bytes),
            Some(&bytes) => <$type>::from_le_bytes(bytes),
            None => return Err(ItemError::too_short()),
        }
    };
}

impl<'p, 'd, 'de> ItemDeserializer<'p, 'd, 'de> {
    /// The error of a type that cannot be read from the dtype.
    #[cold]
    fn mismatch(&self, expected: &dyn Expected) -> ItemError {
        ItemError::new(format_args!("the dtype is {}, but the type takes {expected}", self.plan))
    }

    /// An integer of another width in the type than in the dtype.
    // Not `self`, which would be stored for each field, although the call is rare.
    #[cold]
    fn integer<V: Visitor<'de>>(plan: &'p mut Plan<'d>, bytes: &'de [u8], visitor: V) -> Result<V::Value> {
        let part = Self { plan, bytes };
        match part.plan.form {
            Form::Int(1) => visitor.visit_i8(number!(part, i8)),
            Form::Int(2) => visitor.visit_i16(number!(part, i16)),
            Form::Int(4) => visitor.visit_i32(number!(part, i32)),
            Form::Int(_) => visitor.visit_i64(number!(part, i64)),
            Form::Uint(1) => visitor.visit_u8(number!(part, u8)),
            Form::Uint(2) => visitor.visit_u16(number!(part, u16)),
            Form::Uint(4) => visitor.visit_u32(number!(part, u32)),
            Form::Uint(_) => visitor.visit_u64(number!(part, u64)),
            _ => Err(part.mismatch(&visitor)),
        }
    }

    /// A float that is wider in the type than in the dtype.
    #[cold]
    fn narrow_float<V: Visitor<'de>>(
        plan: &'p mut Plan<'d>,
        bytes: &'de [u8],
        visitor: V,
    ) -> Result<V::Value> {
        let part = Self { plan, bytes };
        match part.plan.form {
            Form::Float32 => visitor.visit_f32(number!(part, f32)),
            Form::Float16 => visitor.visit_f32(float16::widen(number!(part, u16))),
            _ => Err(part.mismatch(&visitor)),
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
        let mut length = 0;
        for (number, bytes) in self.all()?.chunks_exact(4).enumerate() {
            let Some(&bytes) = bytes.first_chunk() else { break };
            let code = if self.plan.is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
            let character = char::from_u32(code).ok_or_else(|| {
                ItemError::new(format_args!("character {number} is {code:#x}, which Unicode does not have"))
            })?;
            text.push(character);
            if code != 0 {
                length = text.len();
            }
        }
        text.truncate(length);
        Ok(text)
    }

    #[inline(never)]
    fn text<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.plan.form {
            Form::Text => visitor.visit_string(self.utf32()?),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    /// The values in order; `length` is the number that the type takes, if it takes a fixed one.
    fn values<V: Visitor<'de>>(self, length: Option<usize>, visitor: V) -> Result<V::Value> {
        let check = |found: usize| match length {
            Some(length) if length != found => {
                Err(ItemError::new(format_args!("the dtype has {found} values, but the type takes {length}")))
            }
            _ => Ok(()),
        };
        // A tuple takes all bytes of a text, and a list those without the padding.
        let bytes = match self.plan.form {
            Form::Bytes if length.is_none() => unpadded(self.all()?),
            Form::Bytes | Form::Raw => self.all()?,
            Form::Array { length, ref mut element } => {
                check(length)?;
                return Elements { element, bytes: self.bytes, length, next: 0 }.visit(visitor);
            }
            Form::Struct(ref mut fields) => {
                check(fields.list.len())?;
                fields.sort_as_in_dtype();
                return FieldValues { fields: fields.list.iter_mut(), item: self.bytes }.visit(visitor);
            }
            _ => return Err(self.mismatch(&visitor)),
        };
        check(bytes.len())?;
        let mut bytes = SeqDeserializer::new(bytes.iter().copied());
        let value = visitor.visit_seq(&mut bytes)?;
        bytes.end()?;
        Ok(value)
    }
}

/// The bytes without the NULs that pad them.
fn unpadded(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    // Eight bytes at a time, of which the last is the lowest of the number.
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
// A call, so that the code around it is short enough to be inlined into the visitor of a struct.
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
    ($($method:ident $visit:ident $type:ident $form:pat => $other:ident,)*) => {
        $(
            // Into the visitor of the struct: all that remains of a field is a comparison of the form, and a load.
            #[inline(always)]
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                match self.plan.form {
                    $form => visitor.$visit(number!(self, $type)),
                    _ => Self::$other(self.plan, self.bytes, visitor),
                }
            }
        )*
    };
}

macro_rules! forward {
    ($($method:ident => $target:ident,)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
                self.$target(visitor)
            }
        )*
    };
}

macro_rules! never {
    ($($method:ident($($argument:ty),*),)*) => {
        $(
            fn $method<V: Visitor<'de>>(self, $(_: $argument,)* visitor: V) -> Result<V::Value> {
                Err(self.mismatch(&visitor))
            }
        )*
    };
}

impl<'de> Deserializer<'de> for ItemDeserializer<'_, '_, 'de> {
    type Error = ItemError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.plan.form {
            Form::Bool => self.deserialize_bool(visitor),
            Form::Int(_) | Form::Uint(_) => Self::integer(self.plan, self.bytes, visitor),
            Form::Float16 | Form::Float32 => self.deserialize_f32(visitor),
            Form::Float64 => self.deserialize_f64(visitor),
            Form::Bytes if utf8(self.all()?).is_err() => self.deserialize_bytes(visitor),
            Form::Bytes | Form::Text => self.deserialize_str(visitor),
            Form::Raw => self.deserialize_bytes(visitor),
            Form::Array { .. } => self.deserialize_seq(visitor),
            Form::Struct(_) => self.deserialize_map(visitor),
        }
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.plan.form {
            // NumPy too takes any byte but 0 for true.
            Form::Bool => visitor.visit_bool(number!(self, u8) != 0),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    numbers! {
        deserialize_i8 visit_i8 i8 Form::Int(1) => integer,
        deserialize_i16 visit_i16 i16 Form::Int(2) => integer,
        deserialize_i32 visit_i32 i32 Form::Int(4) => integer,
        deserialize_i64 visit_i64 i64 Form::Int(8) => integer,
        deserialize_u8 visit_u8 u8 Form::Uint(1) => integer,
        deserialize_u16 visit_u16 u16 Form::Uint(2) => integer,
        deserialize_u32 visit_u32 u32 Form::Uint(4) => integer,
        deserialize_u64 visit_u64 u64 Form::Uint(8) => integer,
        deserialize_f64 visit_f64 f64 Form::Float64 => narrow_float,
        deserialize_f32 visit_f32 f32 Form::Float32 => narrow_float,
    }

    forward! {
        deserialize_i128 => deserialize_i64,
        deserialize_u128 => deserialize_u64,
        deserialize_char => deserialize_str,
        deserialize_identifier => deserialize_str,
        deserialize_byte_buf => deserialize_bytes,
    }

    #[inline(always)]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.plan.form {
            Form::Bytes => visitor.visit_borrowed_str(utf8(self.all()?)?),
            _ => self.text(visitor),
        }
    }

    #[inline(always)]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.plan.form {
            Form::Bytes => visitor.visit_borrowed_bytes(unpadded(self.all()?)),
            Form::Raw => visitor.visit_borrowed_bytes(self.all()?),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_some(self)
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value> {
        match self.plan.form {
            // `half::f16` is a newtype of its bits.
            Form::Float16 if name == "f16" => {
                let bits: U16Deserializer<ItemError> = number!(self, u16).into_deserializer();
                visitor.visit_newtype_struct(bits)
            }
            _ => visitor.visit_newtype_struct(self),
        }
    }

    #[inline]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        self.values(None, visitor)
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value> {
        self.values(Some(length), visitor)
    }

    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value> {
        self.values(Some(length), visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        let Form::Struct(fields) = &mut self.plan.form else { return Err(self.mismatch(&visitor)) };
        fields.sort_as_in_dtype();
        FieldEntries { values: FieldValues { fields: fields.list.iter_mut(), item: self.bytes }, names: &[] }
            .visit(visitor)
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        let Form::Struct(fields) = &mut self.plan.form else { return Err(self.mismatch(&visitor)) };
        let is_exact = fields.sort_as_in_struct(names)?;
        let values = FieldValues { fields: fields.list.iter_mut(), item: self.bytes };
        // Without names, which a struct would compare for each item.
        if is_exact { values.visit(visitor) } else { FieldEntries { values, names }.visit(visitor) }
    }

    /// A text is the name of a variant without values.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value> {
        match self.plan.form {
            Form::Bytes => visitor.visit_enum(BorrowedStrDeserializer::new(utf8(self.all()?)?)),
            Form::Text => visitor.visit_enum(self.utf32()?.into_deserializer()),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    never! {
        deserialize_unit(),
        deserialize_unit_struct(&'static str),
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        visitor.visit_unit()
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// The elements of an array.
struct Elements<'p, 'd, 'de> {
    element: &'p mut Plan<'d>,
    /// From the first element on.
    bytes: &'de [u8],
    length: usize,
    next: usize,
}

impl<'de> Elements<'_, '_, 'de> {
    fn visit<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value> {
        let value = visitor.visit_seq(&mut self)?;
        if self.next < self.length {
            let (found, taken) = (self.length, self.next);
            return Err(ItemError::new(format_args!(
                "the dtype has {found} values, but the type takes {taken}"
            )));
        }
        Ok(value)
    }
}

impl<'de> SeqAccess<'de> for &mut Elements<'_, '_, 'de> {
    type Error = ItemError;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let number = self.next;
        if number == self.length {
            return Ok(None);
        }
        let bytes = self.bytes.get(number * self.element.size..).ok_or_else(ItemError::too_short)?;
        self.next += 1;
        let value = seed.deserialize(ItemDeserializer { plan: self.element, bytes });
        value.map(Some).map_err(|error| error.in_element(number))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.length - self.next)
    }
}

/// The values of the fields of a struct.
struct FieldValues<'p, 'd, 'de> {
    fields: slice::IterMut<'p, FieldPlan<'d>>,
    item: &'de [u8],
}

impl<'de> FieldValues<'_, '_, 'de> {
    #[inline]
    fn visit<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value> {
        let value = visitor.visit_seq(&mut self)?;
        self.end()?;
        Ok(value)
    }

    /// Fails if the type has not taken all fields.
    #[inline]
    fn end(mut self) -> Result<()> {
        self.fields.next().map_or(Ok(()), |field| Err(surplus(field.field.name())))
    }
}

impl<'de> SeqAccess<'de> for &mut FieldValues<'_, '_, 'de> {
    type Error = ItemError;

    #[inline(always)]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let Some(FieldPlan { plan, offset, field, .. }) = self.fields.next() else { return Ok(None) };
        let bytes = self.item.get(*offset..).ok_or_else(ItemError::too_short)?;
        let value = seed.deserialize(ItemDeserializer { plan, bytes });
        value.map(Some).map_err(|error| error.in_field(field.name()))
    }

    #[inline(always)]
    fn next_element<T: Deserialize<'de>>(&mut self) -> Result<Option<T>> {
        self.next_element_seed(PhantomData)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.fields.len())
    }
}

/// The fields of a struct with their names.
struct FieldEntries<'p, 'd, 'de> {
    values: FieldValues<'p, 'd, 'de>,
    /// Those that the type has; empty if it takes any.
    names: &'static [&'static str],
}

impl<'de> FieldEntries<'_, '_, 'de> {
    fn visit<V: Visitor<'de>>(mut self, visitor: V) -> Result<V::Value> {
        let value = visitor.visit_map(&mut self)?;
        self.values.end()?;
        Ok(value)
    }
}

impl<'de> MapAccess<'de> for &mut FieldEntries<'_, '_, 'de> {
    type Error = ItemError;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let Some(field) = self.values.fields.as_slice().first() else { return Ok(None) };
        seed.deserialize(StrDeserializer::new(field.key(self.names))).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value> {
        (&mut self.values).next_element_seed(seed)?.ok_or_else(ItemError::too_short)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.values.fields.len())
    }
}
