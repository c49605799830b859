//! Methods that the deserializers share.

/// Generates `is_human_readable`, and the methods of [`serde::Deserializer`] for wrappers, which are read as their
/// content.
macro_rules! transparent {
    () => {
        // Always `Some`: the format has no marker for an absent value. `None` comes from serde, for a missing field.
        #[inline]
        fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
            visitor.visit_some(self)
        }

        #[inline]
        fn deserialize_newtype_struct<V: Visitor<'de>>(
            self,
            _name: &'static str,
            visitor: V,
        ) -> Result<V::Value, Self::Error> {
            visitor.visit_newtype_struct(self)
        }

        #[inline]
        fn is_human_readable(&self) -> bool {
            false
        }
    };
}

/// Generates methods of [`serde::Deserializer`] that reject the requested type. The types in parentheses are the
/// arguments.
macro_rules! refuse {
    ($($found:ident: $($method:ident($($argument:ty),*))*;)*) => { $( $(
        fn $method<V: Visitor<'de>>(self, $(_: $argument,)* _: V) -> Result<V::Value, Self::Error> {
            Err(ReadError::new(Detail::Unsupported(ValueType::$found)))
        }
    )* )* };
}

/// Generates the methods of [`serde::Deserializer`] for a whole metalayer. They call `take` with the entries that a
/// type takes.
macro_rules! whole {
    () => {
        #[inline]
        fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.take(Takes::Any, visitor)
        }

        #[inline]
        fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
            self.take(Takes::Count(len), visitor)
        }

        #[inline]
        fn deserialize_tuple_struct<V: Visitor<'de>>(
            self,
            _name: &'static str,
            len: usize,
            visitor: V,
        ) -> Result<V::Value, Error> {
            self.take(Takes::Count(len), visitor)
        }

        #[inline]
        fn deserialize_struct<V: Visitor<'de>>(
            self,
            name: &'static str,
            fields: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value, Error> {
            self.take(Takes::of_struct(name, fields), visitor)
        }

        fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            self.take(Takes::Map, visitor)
        }

        transparent! {}

        forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
            enum identifier ignored_any
        }
    };
}

pub(super) use {refuse, transparent, whole};
