//! Methods that the deserializers share: for wrappers (`Option`, newtypes), and for types that they refuse.

/// Makes the methods of [`serde::Deserializer`] for wrappers, which are read as their content, and `is_human_readable`.
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

/// Makes methods of [`serde::Deserializer`] that refuse the requested type. The types in brackets are their arguments.
macro_rules! refuse {
    ($($found:ident: $($method:ident($($argument:ty),*))*;)*) => { $( $(
        fn $method<V: Visitor<'de>>(self, $(_: $argument,)* _: V) -> Result<V::Value, Error> {
            Err(Error::new(Detail::Unsupported(ValueType::$found)))
        }
    )* )* };
}

pub(super) use {refuse, transparent};
