//! Macros for the parts of serde's traits that most serializers and deserializers of this crate have in common.
//!
//! Serde's data model has 29 types. A serializer or deserializer of this crate rejects most of them, and treats some
//! others, such as a newtype struct, as their content. `ser`, `de` and `dtype::items` use these macros:
//!
//! | macro | generates |
//! |---|---|
//! | `serializer_types!` | the associated types of a `Serializer` |
//! | `serialize_through!` | methods of `Serializer` for types that count as another type |
//! | `serialize_rejects!` | methods of `Serializer` for types that are errors |
//! | `serialize_elements!` | the traits that receive the elements of a sequence, tuple or tuple struct |
//! | `deserialize_through!` | methods of `Deserializer` for types that count as another type |
//!
//! The arguments of the macros are kinds of types, such as `integers` or `sequences`. Each kind stands for one or more
//! of serde's types.

/// Generates the associated types of a [`serde::Serializer`]: its result, its error, and the types that receive the
/// elements of a sequence, the fields of a struct and the entries of a map.
macro_rules! serializer_types {
    ($ok:ty, $error:ty) => {
        serializer_types! { $ok, $error, elements: serde::ser::Impossible<$ok, $error> }
    };
    ($ok:ty, $error:ty, elements: $elements:ty) => {
        serializer_types! { $ok, $error, elements: $elements, fields: serde::ser::Impossible<$ok, $error> }
    };
    ($ok:ty, $error:ty, elements: $elements:ty, fields: $fields:ty) => {
        serializer_types! {
            $ok, $error, elements: $elements, fields: $fields, map: serde::ser::Impossible<$ok, $error>
        }
    };
    ($ok:ty, $error:ty, elements: $elements:ty, fields: $fields:ty, map: $map:ty) => {
        type Ok = $ok;
        type Error = $error;
        type SerializeSeq = $elements;
        type SerializeTuple = $elements;
        type SerializeTupleStruct = $elements;
        type SerializeTupleVariant = serde::ser::Impossible<$ok, $error>;
        type SerializeMap = $map;
        type SerializeStruct = $fields;
        type SerializeStructVariant = serde::ser::Impossible<$ok, $error>;
    };
}

/// Generates `is_human_readable`, and the methods of [`serde::Serializer`] for the named kinds: `some` and `newtype` are
/// written as their content, `tuple_struct` as a tuple.
macro_rules! serialize_through {
    ($($kind:ident)*) => {
        $( serialize_through! { @$kind } )*

        #[inline]
        fn is_human_readable(&self) -> bool {
            false
        }
    };
    (@some) => {
        #[inline]
        fn serialize_some<T: serde::Serialize + ?Sized>(self, value: &T) -> Result<Self::Ok, Self::Error> {
            value.serialize(self)
        }
    };
    (@newtype) => {
        #[inline]
        fn serialize_newtype_struct<T: serde::Serialize + ?Sized>(
            self,
            _name: &'static str,
            value: &T,
        ) -> Result<Self::Ok, Self::Error> {
            value.serialize(self)
        }
    };
    (@tuple_struct) => {
        #[inline(always)]
        fn serialize_tuple_struct(
            self,
            _name: &'static str,
            len: usize,
        ) -> Result<Self::SerializeTupleStruct, Self::Error> {
            self.serialize_tuple(len)
        }
    };
}

/// Generates methods of [`serde::Serializer`] that reject the named kinds. The function before the colon makes the
/// error from the serializer and the `ValueType`.
macro_rules! serialize_rejects {
    ($reject:path: $($kind:ident)*) => { $( serialize_rejects! { @$kind $reject } )* };

    (@integers $reject:path) => {
        serialize_rejects! { @methods $reject, Integer: serialize_i8(i8) serialize_i16(i16) serialize_i32(i32)
            serialize_i64(i64) serialize_i128(i128) serialize_u8(u8) serialize_u16(u16) serialize_u32(u32)
            serialize_u64(u64) serialize_u128(u128) }
    };
    (@bool $reject:path) => { serialize_rejects! { @methods $reject, Bool: serialize_bool(bool) } };
    (@floats $reject:path) => {
        serialize_rejects! { @methods $reject, Float: serialize_f32(f32) serialize_f64(f64) }
    };
    (@char $reject:path) => { serialize_rejects! { @methods $reject, Char: serialize_char(char) } };
    (@str $reject:path) => {
        serialize_rejects! { @methods $reject, Str: serialize_str(&str) }
        serialize_rejects! { @display $reject }
    };
    (@display $reject:path) => {
        fn collect_str<T: core::fmt::Display + ?Sized>(self, _: &T) -> Result<Self::Ok, Self::Error> {
            $reject(&self, crate::error::ValueType::Str)
        }
    };
    (@bytes $reject:path) => { serialize_rejects! { @methods $reject, Bytes: serialize_bytes(&[u8]) } };
    (@none $reject:path) => { serialize_rejects! { @methods $reject, None: serialize_none() } };
    (@unit $reject:path) => {
        serialize_rejects! { @methods $reject, Unit: serialize_unit() serialize_unit_struct(&'static str) }
    };
    (@sequences $reject:path) => {
        serialize_rejects! { @methods $reject, Sequence:
            serialize_seq(Option<usize>) -> Self::SerializeSeq
            serialize_tuple(usize) -> Self::SerializeTuple
            serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct
        }
    };
    (@map $reject:path) => {
        serialize_rejects! { @methods $reject, Map: serialize_map(Option<usize>) -> Self::SerializeMap }
    };
    (@structs $reject:path) => {
        serialize_rejects! { @methods $reject, Struct:
            serialize_struct(&'static str, usize) -> Self::SerializeStruct }
    };
    (@variants $reject:path) => {
        serialize_rejects! { @methods $reject, Enum: serialize_unit_variant(&'static str, u32, &'static str) }
        serialize_rejects! { @variants_with_content $reject }
    };
    (@variants_with_content $reject:path) => {
        serialize_rejects! { @methods $reject, Enum:
            serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant
            serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant
        }

        fn serialize_newtype_variant<T: serde::Serialize + ?Sized>(
            self,
            _: &'static str,
            _: u32,
            _: &'static str,
            _: &T,
        ) -> Result<Self::Ok, Self::Error> {
            $reject(&self, crate::error::ValueType::Enum)
        }
    };

    (@methods $reject:path, $found:ident: $($method:ident($($argument:ty),*) $(-> $compound:ty)?)*) => { $(
        fn $method(self, $(_: $argument),*) -> Result<serialize_rejects!(@ok $($compound)?), Self::Error> {
            $reject(&self, crate::error::ValueType::$found)
        }
    )* };
    (@ok) => { Self::Ok };
    (@ok $compound:ty) => { $compound };
}

/// Implements serde's traits for the elements of a sequence, tuple and tuple struct. The implementations call two
/// methods of the type: `element` for each element, and `finish` after the last one.
macro_rules! serialize_elements {
    (#[$inline:meta] impl[$($generics:tt)*] $type:ty => $ok:ty, $error:ty) => {
        serialize_elements! { @traits #[$inline] [[$($generics)*] $type => $ok, $error]
            SerializeSeq::serialize_element SerializeTuple::serialize_element SerializeTupleStruct::serialize_field }
    };
    (@traits #[$inline:meta] $implementation:tt $($trait:ident::$method:ident)*) => {
        $( serialize_elements! { @trait #[$inline] $implementation $trait::$method } )*
    };
    (@trait #[$inline:meta] [[$($generics:tt)*] $type:ty => $ok:ty, $error:ty] $trait:ident::$method:ident) => {
        impl<$($generics)*> serde::ser::$trait for $type {
            type Ok = $ok;
            type Error = $error;

            #[$inline]
            fn $method<T: serde::Serialize + ?Sized>(&mut self, value: &T) -> Result<(), $error> {
                self.element(value)
            }

            #[$inline]
            fn end(self) -> Result<$ok, $error> {
                self.finish()
            }
        }
    };
}

/// Generates `is_human_readable`, and the methods of [`serde::Deserializer`] for the named kinds: `option` and `newtype`
/// are read as their content, `tuple_struct` as a tuple.
macro_rules! deserialize_through {
    ($($kind:ident)*) => {
        $( deserialize_through! { @$kind } )*

        #[inline]
        fn is_human_readable(&self) -> bool {
            false
        }
    };
    (@option) => {
        // Always `Some`: the format has no marker for an absent value. `None` comes from serde, for a missing field.
        #[inline]
        fn deserialize_option<V: serde::de::Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            visitor.visit_some(self)
        }
    };
    (@newtype) => {
        #[inline]
        fn deserialize_newtype_struct<V: serde::de::Visitor<'de>>(
            self,
            _name: &'static str,
            visitor: V,
        ) -> Result<V::Value, Self::Error> {
            visitor.visit_newtype_struct(self)
        }
    };
    (@tuple_struct) => {
        #[inline]
        fn deserialize_tuple_struct<V: serde::de::Visitor<'de>>(
            self,
            _name: &'static str,
            len: usize,
            visitor: V,
        ) -> Result<V::Value, Self::Error> {
            self.deserialize_tuple(len, visitor)
        }
    };
}

pub(crate) use {
    deserialize_through, serialize_elements, serialize_rejects, serialize_through, serializer_types,
};
