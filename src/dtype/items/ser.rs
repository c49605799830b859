//! The `Serializer` of an item.

use alloc::string::String;
use core::fmt::{self, Display, Write};

use serde::ser::{
    Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, SerializeTupleStruct,
    Serializer,
};

use super::error::ItemError;
use super::float16;
use super::plan::{FieldPlan, Fields, Form, Plan};

type Result<T = ()> = core::result::Result<T, ItemError>;

/// Serializes a value into an item or a part of it.
pub(super) struct ItemSerializer<'p, 'd, 'b> {
    pub(super) plan: &'p mut Plan<'d>,
    /// Of the size of the part, and zeros.
    pub(super) bytes: &'b mut [u8],
}

impl<'p, 'd, 'b> ItemSerializer<'p, 'd, 'b> {
    /// The error of a value that the dtype cannot hold.
    #[cold]
    fn mismatch<T>(&self, value: impl Display) -> Result<T> {
        Err(ItemError::new(format_args!("the dtype is {}, but the type gives {value}", self.plan)))
    }

    /// Writes a number of little-endian bytes.
    #[inline]
    fn number(self, little: &[u8]) -> Result {
        let Some(little) = little.get(..self.bytes.len()) else { return Err(ItemError::too_short()) };
        self.bytes.copy_from_slice(little);
        if self.plan.is_big {
            self.bytes.reverse();
        }
        Ok(())
    }

    #[cold]
    fn integer(self, value: i128) -> Result {
        let bits = 8 * self.plan.size;
        let (min, max) = match self.plan.form {
            Form::Int(_) => (-1 << (bits - 1), (1 << (bits - 1)) - 1),
            Form::Uint(_) => (0, (1 << bits) - 1),
            _ => return self.mismatch(format_args!("the integer {value}")),
        };
        if (min..=max).contains(&value) {
            return self.number(&value.to_le_bytes());
        }
        let dtype = &self.plan;
        Err(ItemError::new(format_args!("{value} is out of the range of {dtype}, {min} to {max}")))
    }

    /// Writes a text or bytes that NULs pad.
    #[inline]
    fn padded(self, bytes: &[u8]) -> Result {
        let size = self.plan.size;
        let Some(slots) = self.bytes.get_mut(..bytes.len()) else {
            let (found, dtype) = (bytes.len(), &self.plan);
            return Err(ItemError::new(format_args!(
                "{found} bytes are too long for {dtype}, which has {size}"
            )));
        };
        if bytes.last() == Some(&0) {
            return Err(self.nul_at_end());
        }
        slots.copy_from_slice(bytes);
        Ok(())
    }

    #[cold]
    fn nul_at_end(&self) -> ItemError {
        ItemError::new(format_args!(
            "the value ends with NUL, which a reader of {} takes for padding",
            self.plan
        ))
    }

    /// Writes a text of UTF-32.
    fn utf32(self, text: &str) -> Result {
        let most = self.plan.size / 4;
        if text.ends_with('\0') {
            return Err(self.nul_at_end());
        }
        let mut slots = self.bytes.chunks_exact_mut(4);
        for character in text.chars() {
            let Some(slot) = slots.next() else {
                let (found, dtype) = (text.chars().count(), &self.plan);
                return Err(ItemError::new(format_args!(
                    "{found} characters are too long for {dtype}, which has {most}"
                )));
            };
            let code = u32::from(character);
            slot.copy_from_slice(&if self.plan.is_big { code.to_be_bytes() } else { code.to_le_bytes() });
        }
        Ok(())
    }

    /// The values in order. `is_list` if their number is not part of the type.
    fn values(self, length: Option<usize>, is_list: bool) -> Result<ItemValues<'p, 'd, 'b>> {
        let Self { plan, bytes } = self;
        let byte = plan.byte();
        let (places, most) = match plan.form {
            Form::Array { length, ref mut element } => (Places::Elements(element), length),
            Form::Bytes => (Places::Bytes { byte, is_text: is_list }, plan.size),
            Form::Raw => (Places::Bytes { byte, is_text: false }, plan.size),
            Form::Struct(ref mut fields) => {
                fields.sort_as_in_dtype();
                let most = fields.list.len();
                (Places::Fields(fields), most)
            }
            _ => return Self { plan, bytes }.mismatch("a sequence"),
        };
        let values = ItemValues { places, bytes, written: 0, most };
        // Told before the first value is written.
        match length {
            Some(length) if length > most => Err(values.wrong_number(length)),
            _ => Ok(values),
        }
    }

    /// The fields of a struct.
    #[inline]
    fn fields(self) -> Result<ItemFields<'p, 'd, 'b>> {
        let Self { plan, bytes } = self;
        match plan.form {
            Form::Struct(ref mut fields) => Ok(ItemFields { fields, bytes, written: 0, key: String::new() }),
            _ => Self { plan, bytes }.mismatch("a struct or a map"),
        }
    }
}

macro_rules! integers {
    ($($method:ident $type:ident $form:pat,)*) => {
        $(
            #[inline]
            fn $method(self, value: $type) -> Result {
                match self.plan.form {
                    $form => self.number(&value.to_le_bytes()),
                    _ => self.integer(value.into()),
                }
            }
        )*
    };
}

macro_rules! mismatches {
    ($($method:ident($($argument:ty),*) -> $ok:ty = $text:literal,)*) => {
        $(
            fn $method(self, $(_: $argument),*) -> Result<$ok> {
                self.mismatch($text)
            }
        )*
    };
}

impl<'p, 'd, 'b> Serializer for ItemSerializer<'p, 'd, 'b> {
    type Ok = ();
    type Error = ItemError;
    type SerializeSeq = ItemValues<'p, 'd, 'b>;
    type SerializeTuple = ItemValues<'p, 'd, 'b>;
    type SerializeTupleStruct = ItemValues<'p, 'd, 'b>;
    type SerializeTupleVariant = Impossible<(), ItemError>;
    type SerializeMap = ItemFields<'p, 'd, 'b>;
    type SerializeStruct = ItemFields<'p, 'd, 'b>;
    type SerializeStructVariant = Impossible<(), ItemError>;

    integers! {
        serialize_i8 i8 Form::Int(1),
        serialize_i16 i16 Form::Int(2),
        serialize_i32 i32 Form::Int(4),
        serialize_i64 i64 Form::Int(8),
        serialize_i128 i128 Form::Int(16),
        serialize_u8 u8 Form::Uint(1),
        serialize_u16 u16 Form::Uint(2),
        serialize_u32 u32 Form::Uint(4),
        serialize_u64 u64 Form::Uint(8),
    }

    fn serialize_u128(self, value: u128) -> Result {
        match value.try_into() {
            Ok(value) => self.integer(value),
            Err(_) => self.mismatch(format_args!("the integer {value}")),
        }
    }

    fn serialize_bool(self, value: bool) -> Result {
        match self.plan.form {
            Form::Bool => self.number(&[value.into()]),
            _ => self.mismatch(format_args!("the boolean {value}")),
        }
    }

    fn serialize_f32(self, value: f32) -> Result {
        match self.plan.form {
            Form::Float16 => match float16::narrow(value) {
                Some(bits) => self.number(&bits.to_le_bytes()),
                None => self.mismatch(format_args!("{value}, which is not a value of it")),
            },
            Form::Float32 => self.number(&value.to_le_bytes()),
            _ => self.serialize_f64(value.into()),
        }
    }

    #[inline]
    fn serialize_f64(self, value: f64) -> Result {
        match self.plan.form {
            Form::Float64 => self.number(&value.to_le_bytes()),
            // Not even a value that fits: what can be written would depend on the data.
            Form::Float16 | Form::Float32 => self.mismatch("an f64"),
            _ => self.mismatch(format_args!("the float {value}")),
        }
    }

    fn serialize_char(self, value: char) -> Result {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result {
        match self.plan.form {
            Form::Bytes => self.padded(value.as_bytes()),
            Form::Text => self.utf32(value),
            _ => self.mismatch("a string"),
        }
    }

    fn serialize_bytes(self, value: &[u8]) -> Result {
        match self.plan.form {
            Form::Bytes => self.padded(value),
            Form::Raw if self.bytes.len() == value.len() => {
                self.bytes.copy_from_slice(value);
                Ok(())
            }
            _ => self.mismatch(format_args!("{} bytes", value.len())),
        }
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, name: &'static str, value: &T) -> Result {
        match self.plan.form {
            // `half::f16` is a newtype of its bits.
            Form::Float16 if name == "f16" => {
                value.serialize(ItemSerializer { plan: &mut self.plan.bits(), bytes: self.bytes })
            }
            _ => value.serialize(self),
        }
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result {
        self.mismatch("a variant with a value")
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<ItemValues<'p, 'd, 'b>> {
        self.values(length, true)
    }

    fn serialize_tuple(self, length: usize) -> Result<ItemValues<'p, 'd, 'b>> {
        self.values(Some(length), false)
    }

    fn serialize_tuple_struct(self, _: &'static str, length: usize) -> Result<ItemValues<'p, 'd, 'b>> {
        self.values(Some(length), false)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<ItemFields<'p, 'd, 'b>> {
        self.fields()
    }

    #[inline]
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<ItemFields<'p, 'd, 'b>> {
        self.fields()
    }

    mismatches! {
        serialize_none() -> () = "none",
        serialize_unit() -> () = "a unit",
        serialize_unit_struct(&'static str) -> () = "a unit struct",
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant =
            "a variant with values",
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant =
            "a variant with fields",
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// Values by position.
pub(super) struct ItemValues<'p, 'd, 'b> {
    places: Places<'p, 'd>,
    bytes: &'b mut [u8],
    written: usize,
    most: usize,
}

/// The places of values.
enum Places<'p, 'd> {
    Elements(&'p mut Plan<'d>),
    Fields(&'p mut Fields<'d>),
    Bytes { byte: Plan<'d>, is_text: bool },
}

impl ItemValues<'_, '_, '_> {
    #[cold]
    fn wrong_number(&self, found: usize) -> ItemError {
        let most = self.most;
        ItemError::new(format_args!("the dtype has {most} values, but the type gives {found}"))
    }

    #[inline]
    fn write<T: ?Sized + Serialize>(&mut self, value: &T) -> Result {
        let number = self.written;
        if number == self.most {
            return Err(self.wrong_number(number + 1));
        }
        self.written += 1;
        let plan = match &mut self.places {
            Places::Elements(element) => &mut **element,
            Places::Bytes { byte, .. } => byte,
            Places::Fields(fields) => {
                let field = fields.list.get_mut(number).ok_or_else(ItemError::too_short)?;
                return write_field(field, self.bytes, value);
            }
        };
        let start = number * plan.size;
        let bytes = self.bytes.get_mut(start..start + plan.size).ok_or_else(ItemError::too_short)?;
        value.serialize(ItemSerializer { plan, bytes }).map_err(|error| error.in_element(number))
    }

    fn finish(self) -> Result {
        match self.places {
            // The rest is padding.
            Places::Bytes { byte, is_text: true } => {
                let last = self.written.checked_sub(1).and_then(|last| self.bytes.get(last));
                if last == Some(&0) {
                    return Err(ItemSerializer { plan: &mut { byte }, bytes: self.bytes }.nul_at_end());
                }
                Ok(())
            }
            _ if self.written < self.most => Err(self.wrong_number(self.written)),
            _ => Ok(()),
        }
    }
}

#[inline]
fn write_field<T: ?Sized + Serialize>(field: &mut FieldPlan<'_>, item: &mut [u8], value: &T) -> Result {
    let FieldPlan { plan, offset, field, .. } = field;
    let bytes = item.get_mut(*offset..*offset + plan.size).ok_or_else(ItemError::too_short)?;
    value.serialize(ItemSerializer { plan, bytes }).map_err(|error| error.in_field(field.name()))
}

macro_rules! by_position {
    ($($trait:ident $method:ident,)*) => {
        $(
            impl $trait for ItemValues<'_, '_, '_> {
                type Ok = ();
                type Error = ItemError;

                fn $method<T: ?Sized + Serialize>(&mut self, value: &T) -> Result {
                    self.write(value)
                }

                fn end(self) -> Result {
                    self.finish()
                }
            }
        )*
    };
}

by_position! {
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
}

/// Values by name.
pub(super) struct ItemFields<'p, 'd, 'b> {
    fields: &'p mut Fields<'d>,
    bytes: &'b mut [u8],
    written: usize,
    /// The latest key of a map.
    key: String,
}

impl ItemFields<'_, '_, '_> {
    #[inline]
    fn write<T: ?Sized + Serialize>(&mut self, name: &str, value: &T) -> Result {
        let field = self.fields.next(name, self.written)?;
        self.written += 1;
        write_field(field, self.bytes, value)
    }
}

impl SerializeStruct for ItemFields<'_, '_, '_> {
    type Ok = ();
    type Error = ItemError;

    #[inline]
    fn serialize_field<T: ?Sized + Serialize>(&mut self, name: &'static str, value: &T) -> Result {
        self.write(name, value)
    }

    fn end(self) -> Result {
        self.fields.end(self.written)
    }
}

impl SerializeMap for ItemFields<'_, '_, '_> {
    type Ok = ();
    type Error = ItemError;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result {
        self.key.clear();
        write!(self.key, "{}", Key(key)).map_err(|_| ItemError::new("a key of the map is not a string"))
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result {
        let key = core::mem::take(&mut self.key);
        self.write(&key, value)?;
        // The next key takes its memory.
        self.key = key;
        Ok(())
    }

    fn end(self) -> Result {
        self.fields.end(self.written)
    }
}

/// A key as text: a `Formatter` is a serializer of strings and numbers.
struct Key<'k, T: ?Sized>(&'k T);

impl<T: ?Sized + Serialize> Display for Key<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.serialize(f)
    }
}
