//! A serializer for one integer of any type. It returns the value in the width of the entry.

use core::marker::PhantomData;

use serde::Serialize;
use serde::ser::Impossible;

use super::methods::{refuse, transparent};
use crate::error::{Detail, Error};

/// The integer that a value serializes as.
#[inline]
pub(super) fn integer<W: Width, T: Serialize + ?Sized>(value: &T) -> Result<W, Error> {
    value.serialize(IntegerSerializer(PhantomData))
}

/// A positive fixint: 0 to 127.
#[inline]
pub(super) fn fixint<T: Serialize + ?Sized>(value: &T) -> Result<u8, Error> {
    // As an `i8`, whose numbers from 0 on are exactly the positive fixints.
    let value: i8 = integer(value)?;
    u8::try_from(value).map_err(|_| Error::new(Detail::OutOfRange(i128::from(value).into())))
}

/// An integer type that every other integer type can be converted into if the value fits.
pub(super) trait Width:
    TryFrom<i8>
    + TryFrom<i16>
    + TryFrom<i32>
    + TryFrom<i64>
    + TryFrom<i128>
    + TryFrom<u8>
    + TryFrom<u16>
    + TryFrom<u32>
    + TryFrom<u64>
    + TryFrom<u128>
{
}

impl Width for i8 {}
impl Width for i32 {}
impl Width for i64 {}

struct IntegerSerializer<W>(PhantomData<W>);

/// Generates the methods for integers, which return the value if it fits.
macro_rules! take {
    ($($method:ident($type:ty) $wide:ty)*) => { $(
        #[inline]
        fn $method(self, value: $type) -> Result<W, Error> {
            W::try_from(value).map_err(|_| Error::new(Detail::OutOfRange(<$wide>::from(value).into())))
        }
    )* };
}

impl<W: Width> serde::Serializer for IntegerSerializer<W> {
    type Ok = W;
    type Error = Error;
    type SerializeSeq = Impossible<W, Error>;
    type SerializeTuple = Impossible<W, Error>;
    type SerializeTupleStruct = Impossible<W, Error>;
    type SerializeTupleVariant = Impossible<W, Error>;
    type SerializeMap = Impossible<W, Error>;
    type SerializeStruct = Impossible<W, Error>;
    type SerializeStructVariant = Impossible<W, Error>;

    take! {
        serialize_i8(i8) i128
        serialize_i16(i16) i128
        serialize_i32(i32) i128
        serialize_i64(i64) i128
        serialize_i128(i128) i128
        serialize_u8(u8) u128
        serialize_u16(u16) u128
        serialize_u32(u32) u128
        serialize_u64(u64) u128
        serialize_u128(u128) u128
    }

    transparent! {}

    refuse! { bool floats char str bytes none unit variants sequences map structs }
}
