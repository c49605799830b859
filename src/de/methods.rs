//! The methods that the deserializers share: for what they look through, and for what they refuse.

/// Writes the methods of [`serde::Deserializer`] for what is its content, and the answer to what all have in common.
macro_rules! transparent {
    () => {
        #[inline]
        fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            visitor.visit_some(self)
        }

        #[inline]
        fn deserialize_newtype_struct<V: Visitor<'de>>(
            self,
            _name: &'static str,
            visitor: V,
        ) -> Result<V::Value, Error> {
            visitor.visit_newtype_struct(self)
        }

        #[inline]
        fn is_human_readable(&self) -> bool {
            false
        }
    };
}

/// Writes methods of [`serde::Deserializer`] that refuse what a type asks for, each with its further arguments.
macro_rules! refuse {
    ($($found:ident: $($method:ident($($argument:ty),*))*;)*) => { $( $(
        fn $method<V: Visitor<'de>>(self, $(_: $argument,)* _: V) -> Result<V::Value, Error> {
            Err(Error::new(Detail::Unsupported(ValueType::$found)))
        }
    )* )* };
}

pub(super) use {refuse, transparent};
