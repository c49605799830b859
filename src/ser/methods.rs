//! Methods that the serializers share: for wrappers (`Some`, newtypes), and for values that they reject.

use crate::error::{Detail, Error, ValueType};

/// Generates `is_human_readable`, and the methods of [`serde::Serializer`] for wrappers, which are written as their
/// content.
macro_rules! transparent {
    () => {
        #[inline]
        fn serialize_some<T: serde::Serialize + ?Sized>(self, value: &T) -> Result<Self::Ok, Error> {
            value.serialize(self)
        }

        #[inline]
        fn serialize_newtype_struct<T: serde::Serialize + ?Sized>(
            self,
            _name: &'static str,
            value: &T,
        ) -> Result<Self::Ok, Error> {
            value.serialize(self)
        }

        #[inline]
        fn is_human_readable(&self) -> bool {
            false
        }
    };
}

/// Generates methods of [`serde::Serializer`] that reject a value, by groups.
macro_rules! refuse {
    ($($group:ident)*) => { $(refuse!(@$group);)* };

    (@integers) => {
        refuse! { @methods Integer: serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64)
            serialize_i128(i128) serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64)
            serialize_u128(u128) }
    };
    (@bool) => { refuse! { @methods Bool: serialize_bool(bool) } };
    (@floats) => { refuse! { @methods Float: serialize_f32(f32) serialize_f64(f64) } };
    (@char) => { refuse! { @methods Char: serialize_char(char) } };
    (@str) => {
        refuse! { @methods Str: serialize_str(&str) }
        refuse! { @display }
    };
    (@display) => {
        fn collect_str<T: core::fmt::Display + ?Sized>(self, _: &T) -> Result<Self::Ok, Error> {
            $crate::ser::methods::unsupported($crate::error::ValueType::Str)
        }
    };
    (@bytes) => { refuse! { @methods Bytes: serialize_bytes(&[u8]) } };
    (@none) => { refuse! { @methods None: serialize_none() } };
    (@unit) => { refuse! { @methods Unit: serialize_unit() serialize_unit_struct(&'static str) } };
    (@sequences) => {
        refuse! { @methods Sequence:
            serialize_seq(Option<usize>) -> Self::SerializeSeq
            serialize_tuple(usize) -> Self::SerializeTuple
            serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct
        }
    };
    (@map) => { refuse! { @methods Map: serialize_map(Option<usize>) -> Self::SerializeMap } };
    (@structs) => {
        refuse! { @methods Struct: serialize_struct(&'static str, usize) -> Self::SerializeStruct }
    };
    (@variants) => {
        refuse! { @methods Enum: serialize_unit_variant(&'static str, u32, &'static str) }
        refuse! { @variants_with_content }
    };
    (@variants_with_content) => {
        refuse! { @methods Enum:
            serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant
            serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant
        }

        fn serialize_newtype_variant<T: serde::Serialize + ?Sized>(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: &T,
        ) -> Result<Self::Ok, Error> {
            $crate::ser::methods::unsupported($crate::error::ValueType::Enum)
        }
    };

    (@methods $found:ident: $($method:ident($($argument:ty),*) $(-> $compound:ty)?)*) => { $(
        fn $method(self, $(_: $argument),*) -> Result<refuse!(@ok $($compound)?), Error> {
            $crate::ser::methods::unsupported($crate::error::ValueType::$found)
        }
    )* };
    (@ok) => { Self::Ok };
    (@ok $compound:ty) => { $compound };
}

pub(super) use {refuse, transparent};

/// The error for a kind of value that cannot be written in this position.
// One function for all generated methods, so each of them is only a call.
#[cold]
pub(super) fn unsupported<T>(found: ValueType) -> Result<T, Error> {
    Err(Error::new(Detail::Unsupported(found)))
}
