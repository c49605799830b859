//! The fast way to read, for ordinary metalayers, and the fallback to the general way.

use serde::de::{Deserialize, IgnoredAny, Visitor};
use serde::forward_to_deserialize_any;

use super::deserializer::Deserializer;
use super::entries::InOrder;
use super::methods::{transparent, whole};
use super::read_error::Misfit;
use super::takes::Takes;
use crate::error::{Detail, Error};
use crate::wire::{Input, Metalayer};

/// Reads a value from the metalayer at the front of some bytes. `rest` receives the bytes after it; without a `rest`
/// there must be none.
// This function, `take`, `visit` and `unboxed` are inlined into the type that is read: only then are its entries known
// at compile time.
#[inline(always)]
pub(super) fn read<'de, T: Deserialize<'de>>(
    bytes: &'de [u8],
    rest: Option<&mut &'de [u8]>,
) -> Result<T, Error> {
    let result = T::deserialize(SliceDeserializer { bytes, rest });
    if let Err(error) = result {
        return Err(explain::<T>(bytes, error));
    }
    // Not unwrapped and wrapped again: that copies the value. Serde writes an array to memory in small pieces, and a
    // copy in larger pieces right after it stalls the processor.
    result
}

/// Reads a metalayer again the general way, for the reason why the type does not fit it.
#[cold]
fn explain<'de, T: Deserialize<'de>>(bytes: &'de [u8], error: Error) -> Error {
    // For every error, not only `Misfit`: a type can wrap that one in an error of its own.
    match T::deserialize(&mut Deserializer::new(bytes)) {
        Err(explained) => explained.at(0),
        Ok(_) => error.at(0),
    }
}

/// A deserializer for a metalayer at the front of some bytes.
struct SliceDeserializer<'r, 'de> {
    bytes: &'de [u8],
    /// Receives the bytes after the metalayer; `None` if there must be none.
    rest: Option<&'r mut &'de [u8]>,
}

impl<'de> SliceDeserializer<'_, 'de> {
    #[inline(always)]
    fn take<V: Visitor<'de>>(self, takes: Takes, visitor: V) -> Result<V::Value, Error> {
        if let Takes::Bytes = takes {
            return self.give_bytes(visitor);
        }
        let Self { bytes, rest } = self;
        // One check of all bytes. After it only the type can fail, so decoding has no branch for an error in the bytes.
        match Metalayer::ordinary(bytes) {
            Some(metalayer) if takes.is_ordinary() && (rest.is_some() || metalayer.rest.is_empty()) => {
                if let Some(rest) = rest {
                    *rest = metalayer.rest;
                }
                visit(&metalayer, visitor).map_err(|Misfit| misfit())
            }
            _ => unboxed(take_other(bytes, rest, takes, visitor)),
        }
    }

    /// Lets a `Meta` check and take the bytes of the metalayer itself, without seeds and values in between.
    #[inline(always)]
    fn give_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let Self { bytes, rest } = self;
        let (first, left) = if rest.is_some() { Metalayer::split(bytes) } else { (bytes, &[][..]) };
        match visitor.visit_borrowed_bytes(first) {
            Ok(value) => {
                if let Some(rest) = rest {
                    *rest = left;
                }
                Ok(value)
            }
            Err(Misfit) => Err(no_meta(bytes, rest)),
        }
    }
}

/// Lets a type take the entries of an ordinary metalayer.
#[inline(always)]
fn visit<'de, V: Visitor<'de>>(metalayer: &Metalayer<'de>, visitor: V) -> Result<V::Value, Misfit> {
    let mut entries = InOrder::new(metalayer, 0);
    let value = visitor.visit_seq(&mut entries)?;
    if entries.taken() == metalayer.layout.entries().len() { Ok(value) } else { Err(Misfit) }
}

/// The error of bytes that a `Meta` refuses.
#[cold]
#[inline(never)]
fn no_meta<'de>(bytes: &'de [u8], rest: Option<&mut &'de [u8]>) -> Error {
    match take_other(bytes, rest, Takes::Any, IgnoredAny) {
        Err(error) => error,
        Ok(_) => misfit(),
    }
}

#[cold]
#[inline(never)]
fn misfit() -> Error {
    Error::new(Detail::Misfit)
}

/// The general way, for a metalayer that is not ordinary, a type that needs names, or bytes after the metalayer.
// Never inlined, so it does not grow the code of the fast way.
#[cold]
#[inline(never)]
fn take_other<'de, V: Visitor<'de>>(
    bytes: &'de [u8],
    rest: Option<&mut &'de [u8]>,
    takes: Takes,
    visitor: V,
) -> Result<Boxed<V::Value>, Error> {
    let mut deserializer = Deserializer::new(bytes);
    let value = deserializer.take(takes, visitor)?;
    match rest {
        Some(rest) => *rest = deserializer.rest(),
        // The bytes may be entries that version 0 does not have.
        None => deserializer.end().map_err(|error| error.of_version(Input::new(bytes).version(0)))?,
    }
    Ok(boxed(value))
}

/// The value of the general way, on the heap if there is one.
// Boxed, because a value returned by this cold path would need a stack slot. The fast path returns through the same
// slot, so its result could no longer stay in registers.
#[cfg(feature = "alloc")]
type Boxed<T> = alloc::boxed::Box<T>;
#[cfg(not(feature = "alloc"))]
type Boxed<T> = T;

fn boxed<T>(value: T) -> Boxed<T> {
    #[cfg(feature = "alloc")]
    return alloc::boxed::Box::new(value);
    #[cfg(not(feature = "alloc"))]
    value
}

#[inline(always)]
fn unboxed<T>(value: Result<Boxed<T>, Error>) -> Result<T, Error> {
    #[cfg(feature = "alloc")]
    return value.map(|value| *value);
    #[cfg(not(feature = "alloc"))]
    value
}

impl<'de> serde::Deserializer<'de> for SliceDeserializer<'_, 'de> {
    type Error = Error;

    whole! {}
}
