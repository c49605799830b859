//! The `Serializer` of an item.

use alloc::string::String;
use core::fmt::{self, Display, Write};

use serde::ser::{Serialize, SerializeMap, SerializeStruct, Serializer};

use super::error::ItemError;
use super::float16;
use super::plan::{Parts, Plan, Storage};
use crate::error::ValueType;
use crate::macros::{serialize_elements, serialize_rejects, serialize_through, serializer_types};

type Result<T = (), E = ItemError> = core::result::Result<T, E>;

/// Serializes a value into an item or a part of it.
pub(super) struct ItemSerializer<'p, 'd, 'b> {
    pub(super) plan: &'p mut Plan<'d>,
    /// The bytes of the part. They must all be zero.
    pub(super) bytes: &'b mut [u8],
}

impl<'p, 'd, 'b> ItemSerializer<'p, 'd, 'b> {
    /// Writes a number, given as little-endian bytes.
    #[inline]
    fn number<const N: usize>(self, mut little: [u8; N]) -> Result {
        let slot = self.bytes.first_chunk_mut().ok_or_else(ItemError::too_short)?;
        if self.plan.is_big {
            little.reverse();
        }
        *slot = little;
        Ok(())
    }

    /// Writes an integer whose type in Rust differs from its type in the dtype. `value` is `None` if the integer does
    /// not fit an `i128`.
    #[cold]
    fn integer(self, value: Option<i128>, text: &dyn Display) -> Result {
        let bits = 8 * self.plan.size;
        let (min, max) = match self.plan.storage {
            Storage::Int(_) => (-1 << (bits - 1), (1 << (bits - 1)) - 1),
            Storage::Uint(_) => (0, (1 << bits) - 1),
            _ => return self.plan.mismatch(format_args!("the integer {text}")),
        };
        let Some(value) = value.filter(|value| (min..=max).contains(value)) else {
            let dtype = &self.plan;
            return Err(ItemError::new(format_args!(
                "{text} is out of the range of {dtype}, {min} to {max}"
            )));
        };
        for (slot, byte) in self.bytes.iter_mut().zip(value.to_le_bytes()) {
            *slot = byte;
        }
        if self.plan.is_big {
            self.bytes.reverse();
        }
        Ok(())
    }

    /// Fails if a text is too long, or if it ends with NUL.
    #[inline]
    fn check_text(&self, text: &[u8], found: usize, most: usize, units: &str) -> Result {
        let dtype = &self.plan;
        if found > most {
            return Err(ItemError::new(format_args!(
                "{found} {units} are too long for {dtype}, which has {most}"
            )));
        }
        check_last(dtype, text.last().copied())
    }

    /// Writes a text or bytes, padded with NULs.
    #[inline]
    fn padded(self, bytes: &[u8]) -> Result {
        self.check_text(bytes, bytes.len(), self.plan.size, "bytes")?;
        let slots = self.bytes.get_mut(..bytes.len()).ok_or_else(ItemError::too_short)?;
        slots.copy_from_slice(bytes);
        Ok(())
    }

    /// Writes a text of UTF-32.
    fn utf32(self, text: &str) -> Result {
        self.check_text(text.as_bytes(), text.chars().count(), self.plan.size / 4, "characters")?;
        for (slot, character) in self.bytes.chunks_exact_mut(4).zip(text.chars()) {
            let code = u32::from(character);
            slot.copy_from_slice(&if self.plan.is_big { code.to_be_bytes() } else { code.to_le_bytes() });
        }
        Ok(())
    }

    /// Prepares to write the elements of an array, the bytes of a byte string, or the fields of a struct by position.
    /// `is_list` means that the Rust type can have any number of values.
    fn values(self, count: Option<usize>, is_list: bool) -> Result<ItemValues<'p, 'd, 'b>> {
        let parts = Parts::by_position(self.plan, count, is_list, "a sequence")?;
        Ok(ItemValues { parts, bytes: self.bytes })
    }

    /// Starts writing the fields of a structured dtype.
    #[inline]
    fn fields(self) -> Result<ItemValues<'p, 'd, 'b>> {
        let Self { plan, bytes } = self;
        match plan.storage {
            Storage::Struct(ref mut fields) => Ok(ItemValues { parts: Parts::of_fields(fields), bytes }),
            _ => plan.mismatch("a struct or a map"),
        }
    }
}

/// The error for a kind of value that no dtype can hold.
fn unsupported<T>(part: &ItemSerializer<'_, '_, '_>, found: ValueType) -> Result<T> {
    part.plan.mismatch(if let ValueType::Enum = found { "a variant with a value" } else { found.name() })
}

/// Fails if a text ends with NUL, because a reader takes the NUL for padding.
#[inline]
fn check_last(dtype: &Plan<'_>, last: Option<u8>) -> Result {
    if last != Some(0) {
        return Ok(());
    }
    Err(ItemError::new(format_args!("the value ends with NUL, which a reader of {dtype} takes for padding")))
}

macro_rules! integers {
    ($($method:ident $type:ident $storage:pat,)*) => {
        $(
            #[inline]
            fn $method(self, value: $type) -> Result {
                match self.plan.storage {
                    $storage => self.number(value.to_le_bytes()),
                    _ => self.integer(value.try_into().ok(), &value),
                }
            }
        )*
    };
}

impl<'p, 'd, 'b> Serializer for ItemSerializer<'p, 'd, 'b> {
    serializer_types! {
        (), ItemError, elements: ItemValues<'p, 'd, 'b>, fields: ItemValues<'p, 'd, 'b>, map: ItemValues<'p, 'd, 'b>
    }

    integers! {
        serialize_i8 i8 Storage::Int(1),
        serialize_i16 i16 Storage::Int(2),
        serialize_i32 i32 Storage::Int(4),
        serialize_i64 i64 Storage::Int(8),
        serialize_i128 i128 Storage::Int(16),
        serialize_u8 u8 Storage::Uint(1),
        serialize_u16 u16 Storage::Uint(2),
        serialize_u32 u32 Storage::Uint(4),
        serialize_u64 u64 Storage::Uint(8),
        serialize_u128 u128 Storage::Uint(16),
    }

    fn serialize_f32(self, value: f32) -> Result {
        match self.plan.storage {
            Storage::Float16 => match float16::narrow(value) {
                Some(bits) => self.number(bits.to_le_bytes()),
                None => Err(ItemError::new(format_args!("{} has no value {value}", self.plan))),
            },
            Storage::Float32 => self.number(value.to_le_bytes()),
            Storage::Float64 => self.number(f64::from(value).to_le_bytes()),
            _ => self.plan.mismatch(format_args!("the f32 {value}")),
        }
    }

    #[inline]
    fn serialize_f64(self, value: f64) -> Result {
        match self.plan.storage {
            Storage::Float64 => self.number(value.to_le_bytes()),
            // An `f64` is rejected even if its value fits an `<f4`. Otherwise a program could work with some data and
            // fail with other data.
            _ => self.plan.mismatch(format_args!("the f64 {value}")),
        }
    }

    fn serialize_bool(self, value: bool) -> Result {
        match self.plan.storage {
            Storage::Bool => self.number([value.into()]),
            _ => self.plan.mismatch(format_args!("the boolean {value}")),
        }
    }

    fn serialize_char(self, value: char) -> Result {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result {
        match self.plan.storage {
            Storage::Bytes(_) => self.padded(value.as_bytes()),
            Storage::Text => self.utf32(value),
            _ => self.plan.mismatch("a string"),
        }
    }

    fn serialize_bytes(self, value: &[u8]) -> Result {
        match self.plan.storage {
            Storage::Bytes(_) => self.padded(value),
            Storage::Raw(_) if self.bytes.len() == value.len() => {
                self.bytes.copy_from_slice(value);
                Ok(())
            }
            _ => self.plan.mismatch(format_args!("{} bytes", value.len())),
        }
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, name: &'static str, value: &T) -> Result {
        match self.plan.of_newtype(name) {
            Some(mut plan) => value.serialize(ItemSerializer { plan: &mut plan, bytes: self.bytes }),
            None => value.serialize(self),
        }
    }

    fn serialize_seq(self, count: Option<usize>) -> Result<Self::SerializeSeq> {
        self.values(count, true)
    }

    fn serialize_tuple(self, count: usize) -> Result<Self::SerializeTuple> {
        self.values(Some(count), false)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap> {
        self.fields()
    }

    #[inline]
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct> {
        self.fields()
    }

    serialize_through! { some tuple_struct }

    serialize_rejects! { unsupported: none unit variants_with_content }
}

/// Writes the values of a part in order, or the values of its fields by name.
pub(super) struct ItemValues<'p, 'd, 'b> {
    parts: Parts<'p, 'd>,
    bytes: &'b mut [u8],
}

impl ItemValues<'_, '_, '_> {
    #[inline]
    fn element<T: ?Sized + Serialize>(&mut self, value: &T) -> Result {
        let Some((plan, offset, place)) = self.parts.next() else {
            return Err(ItemError::wrong_number(self.parts.length, self.parts.length + 1));
        };
        let bytes = self.bytes.get_mut(offset..offset + plan.size).ok_or_else(ItemError::too_short)?;
        value.serialize(ItemSerializer { plan, bytes }).map_err(|error| error.at(place))
    }

    #[inline]
    fn finish(self) -> Result {
        match self.parts.padded() {
            Some(dtype) => {
                check_last(dtype, self.bytes.get(..self.parts.next).and_then(<[_]>::last).copied())
            }
            None => self.parts.end(),
        }
    }
}

serialize_elements! { #[inline] impl[] ItemValues<'_, '_, '_> => (), ItemError }

impl SerializeStruct for ItemValues<'_, '_, '_> {
    type Ok = ();
    type Error = ItemError;

    #[inline]
    fn serialize_field<T: ?Sized + Serialize>(&mut self, name: &'static str, value: &T) -> Result {
        self.parts.select(name)?;
        self.element(value)
    }

    fn end(self) -> Result {
        self.finish()
    }
}

impl SerializeMap for ItemValues<'_, '_, '_> {
    type Ok = ();
    type Error = ItemError;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result {
        let mut name = String::new();
        write!(name, "{}", Key(key)).map_err(|_| ItemError::new("a key of the map is not a string"))?;
        self.parts.select(&name)
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result {
        self.element(value)
    }

    fn end(self) -> Result {
        self.finish()
    }
}

/// Displays the key of a map. It uses the `Serializer` that serde implements for `fmt::Formatter`. This serializer
/// accepts strings and numbers.
struct Key<'k, T: ?Sized>(&'k T);

impl<T: ?Sized + Serialize> Display for Key<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.serialize(f)
    }
}
