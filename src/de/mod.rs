//! Reads metalayers. All bytes of a metalayer are checked first; then its entries are passed to the visitor of the Rust
//! type.
//!
//! ```text
//! bytes ─▶ Deserializer ─▶ Metalayer ─▶ EntryAccess ─▶ ValueDeserializer ─▶ visitor of an entry
//! ```
//!
//! The code to the right of `Deserializer` is compiled twice. The first copy is for *ordinary* metalayers (see
//! [`Metalayer::ordinary`]) and for Rust types that take the entries in order. The first copy is inlined into the code
//! that reads the Rust type. The second copy works for every metalayer and every type.
//!
//! A `Meta` is read without a visitor for each entry:
//!
//! ```text
//! bytes ─▶ Deserializer ─▶ visitor of a Meta ─▶ Metalayer ─▶ Meta
//! ```

mod names;
mod value;

use core::marker::PhantomData;

use serde::de::{Deserialize, DeserializeSeed, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use crate::error::{Detail, Error, LayoutFault, ValueType};
use crate::layout::{Entry, Layout, is_meta, with_entries};
use crate::macros::deserialize_through;
use crate::metalayer::Metalayer;
use crate::wire::Reader;
use names::{ByName, takes_by_name};
use value::ValueDeserializer;

/// Reads a value from a metalayer, which must be the whole input.
///
/// Types such as `&str` borrow from the input.
///
/// # Errors
///
/// See [`ErrorKind`](crate::ErrorKind). If the metalayer has an invalid byte, and also an entry that does not fit its
/// Rust type, the error is about the invalid byte, even if the entry comes first. So a damaged file gives the same
/// error for every Rust type, with one exception: a dtype that is not UTF-8 is no error for a type that takes it as
/// bytes or ignores it. Bytes after the metalayer are an error too, which is returned only if there is no other error.
/// To get these bytes instead of an error, use [`take_from_slice`].
///
/// If the `Deserialize` of a type catches errors, or reads nothing, any bytes are accepted.
///
/// ```
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Meta<'a> {
///     version: u8,
///     ndim: u8,
///     shape: Vec<u64>,
///     chunkshape: Vec<u32>,
///     blockshape: Vec<u32>,
///     dtype_format: u8,
///     dtype: &'a str,
/// }
///
/// let bytes = b"\x97\x00\x01\x91\xd3\0\0\0\0\0\0\0\x06\x91\xd2\0\0\0\x04\x91\xd2\0\0\0\x02\
///     \x00\xdb\0\0\0\x03|u1";
/// let meta: Meta = b2nd_serde::from_slice(bytes)?;
/// assert_eq!((meta.shape, meta.chunkshape, meta.blockshape), (vec![6], vec![4], vec![2]));
/// assert_eq!(meta.dtype, "|u1");
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[inline]
pub fn from_slice<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Error> {
    T::deserialize(&mut Deserializer { must_end: true, ..Deserializer::new(bytes) })
}

/// Reads a value from the metalayer at the front of the input, and returns the value and the bytes after the metalayer.
///
/// Use this function for files with stale bytes after the metalayer. python-blosc2 2.1 to 3.10 left such bytes when a
/// metalayer became shorter.
///
/// # Errors
///
/// See [`ErrorKind`](crate::ErrorKind).
///
/// ```
/// let bytes = b"\x95\x00\x00\x90\x90\x90 and more";
/// let (value, rest): ((u8, u8, [u64; 0], [u32; 0], [u32; 0]), _) = b2nd_serde::take_from_slice(bytes)?;
/// assert_eq!(value.1, 0);
/// assert_eq!(rest, b" and more");
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[inline]
pub fn take_from_slice<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<(T, &'de [u8]), Error> {
    let mut deserializer = Deserializer::new(bytes);
    match T::deserialize(&mut deserializer) {
        Ok(value) => Ok((value, deserializer.reader.rest())),
        Err(error) => Err(error),
    }
}

/// The maximum number of bytes that `from_reader` reads. The longest metalayer has fewer bytes.
#[cfg(feature = "std")]
const MAX_READ: u64 = (1 << 31) + (1 << 10);

/// Reads all bytes from a reader, and deserializes a value from them. Bytes after the metalayer are an error.
///
/// At most 2 GiB + 1 KiB are read, because no metalayer is longer. If you do not trust the reader, set a lower limit
/// with [`Read::take`](std::io::Read::take).
///
/// # Errors
///
/// [`ErrorKind::Io`](crate::ErrorKind::Io) if the reader fails, and the errors of [`from_slice`].
///
/// ```
/// let bytes = b"\x95\x00\x01\x91\xd3\0\0\0\0\0\0\0\x06\x91\xd2\0\0\0\x04\x91\xd2\0\0\0\x02";
/// let reader = std::io::Cursor::new(bytes);
/// let (_, _, [items], _, _): (u8, u8, [u64; 1], [u32; 1], [u32; 1]) = b2nd_serde::from_reader(reader)?;
/// assert_eq!(items, 6);
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[cfg(feature = "std")]
pub fn from_reader<R: std::io::Read, T: serde::de::DeserializeOwned>(reader: R) -> Result<T, Error> {
    use std::io::Read as _;

    let mut bytes = alloc::vec::Vec::new();
    let read = reader.take(MAX_READ).read_to_end(&mut bytes);
    read.map_err(|error| Error::new(Detail::Reader(error)))?;
    from_slice(&bytes)
}

/// The entries that the requested Rust type takes.
#[derive(Clone, Copy)]
enum RequestedEntries {
    /// All entries of the layout.
    Any,
    /// A fixed number of entries.
    Count(usize),
    /// The entries of a struct with these field names. Serde lists aliases as field names too, so there can be fewer
    /// entries than names.
    Fields(&'static [&'static str]),
    /// A map, which is always an error.
    Map,
}

impl RequestedEntries {
    /// Whether the type takes the entries of layout `B2nd` in order. For a type with a derived `Deserialize`, the
    /// compiler knows the result.
    #[inline(always)]
    fn takes_all_in_order(self) -> bool {
        match self {
            Self::Any => true,
            Self::Count(count) => count == Layout::B2nd.entries().len(),
            Self::Fields(fields) => Layout::B2nd.can_be_fields(fields),
            Self::Map => false,
        }
    }

    /// Whether the type is a struct with more names, including aliases, than this number of entries.
    fn has_more_names_than(self, entries: usize) -> bool {
        matches!(self, Self::Fields(fields) if fields.len() > entries)
    }
}

/// A serde deserializer that reads metalayers from a slice.
///
/// A metalayer can be read into a struct, tuple, tuple struct, sequence or `Meta`. The
/// page [`data_model`](crate::data_model) has a table of the types that each entry accepts.
///
/// ```
/// use b2nd_serde::{Deserializer, Layout};
/// use serde::Deserialize;
///
/// let mut deserializer = Deserializer::new(b"\x95\x00\x00\x90\x90\x90");
/// assert_eq!(deserializer.layout()?, Layout::Caterva);
/// let value = serde_json::Value::deserialize(&mut deserializer)?;
/// assert_eq!(deserializer.offset(), 6);
/// deserializer.end()?;
/// assert_eq!(value, serde_json::json!([0, 0, [], [], []]));
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[derive(Debug)]
pub struct Deserializer<'de> {
    reader: Reader<'de>,
    /// Whether bytes after the metalayer are an error.
    must_end: bool,
}

impl<'de> Deserializer<'de> {
    /// A deserializer for the metalayer at the front of a slice.
    #[must_use]
    #[inline]
    pub fn new(bytes: &'de [u8]) -> Self {
        Self { reader: Reader::new(bytes), must_end: false }
    }

    /// The layout of the next metalayer. The deserializer does not advance.
    ///
    /// The first byte determines the layout, except that two layouts begin with `96`. If the first byte is `96`, the
    /// byte after `blockshape` determines which of these two layouts the metalayer has.
    ///
    /// # Errors
    ///
    /// If no layout begins with the first byte. If the first byte is `96`, an invalid byte in `version`, `ndim`,
    /// `shape`, `chunkshape` or `blockshape` is an error too, and so is an invalid byte right after `blockshape`.
    pub fn layout(&self) -> Result<Layout, Error> {
        Metalayer::find_layout(self.reader)
    }

    /// The number of bytes read so far. A metalayer that could not be read does not count.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.reader.position()
    }

    /// Checks that no bytes are left.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TrailingBytes`](crate::ErrorKind::TrailingBytes) if bytes are left; the message says how many.
    pub fn end(&self) -> Result<(), Error> {
        self.reader.check_end()
    }

    /// Passes the entries of the next metalayer to a visitor, and returns the visitor's value.
    // This function and `visit` are inlined into the code that reads the type. Only then does the compiler know which
    // entries the type takes.
    #[inline(always)]
    fn read<V: Visitor<'de>>(&mut self, requested: RequestedEntries, visitor: V) -> Result<V::Value, Error> {
        match Metalayer::ordinary(self.reader) {
            // `read_general` would give the same result in this case, only more slowly.
            Some(metalayer) if requested.takes_all_in_order() && !(self.must_end && metalayer.has_rest()) => {
                let value = visit::<true, V>(&metalayer, requested, visitor)?;
                self.reader = metalayer.after;
                Ok(value)
            }
            _ => self.read_general(requested, visitor),
        }
    }

    /// The slow path of `read`. It is used if the metalayer is not ordinary, if the type does not take all entries in
    /// order, or if bytes follow a metalayer that must end the input.
    // Never inlined, so the code for ordinary metalayers stays small.
    #[cold]
    #[inline(never)]
    fn read_general<V: Visitor<'de>>(
        &mut self,
        requested: RequestedEntries,
        visitor: V,
    ) -> Result<V::Value, Error> {
        let metalayer = Metalayer::read(self.reader)?;
        let value = visit::<false, V>(&metalayer, requested, visitor)?;
        if self.must_end {
            metalayer.check_end()?;
        }
        self.reader = metalayer.after;
        Ok(value)
    }

    /// Passes the bytes of the next metalayer to a `Meta`, which checks and decodes them itself.
    #[inline(always)]
    fn read_meta<V: Visitor<'de>>(&mut self, visitor: V) -> Result<V::Value, Error> {
        let (offset, bytes) = (self.offset(), self.reader.rest());
        let length = if self.must_end { bytes.len() } else { Metalayer::length(bytes) };
        match visitor.visit_borrowed_bytes::<Error>(bytes.get(..length).unwrap_or_default()) {
            Ok(value) => {
                self.reader.skip(length);
                Ok(value)
            }
            Err(error) => Err(invalid_meta(offset, bytes, self.must_end, error)),
        }
    }
}

/// The error for bytes that a `Meta` rejects. The error that the `Meta` itself raises is only a text, without kind and
/// offset, so the metalayer is read again here.
// The arguments are parts of the deserializer. If the function got the deserializer itself, the compiler would store it in
// memory for each `Meta`.
#[cold]
#[inline(never)]
fn invalid_meta(offset: usize, bytes: &[u8], must_end: bool, _: Error) -> Error {
    match Metalayer::read_with_text(Reader::at(offset, bytes), must_end) {
        Err(error) => error,
        // A `Meta` accepts these bytes, so the type is a user's own struct with the name and the fields of a `Meta`.
        Ok(_) => LayoutFault::NotAMeta.error().at(offset),
    }
}

impl<'de> serde::Deserializer<'de> for &mut Deserializer<'de> {
    type Error = Error;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.read(RequestedEntries::Any, visitor)
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
        self.read(RequestedEntries::Count(len), visitor)
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if is_meta(name, fields) {
            self.read_meta(visitor)
        } else {
            self.read(RequestedEntries::Fields(fields), visitor)
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.read(RequestedEntries::Map, visitor)
    }

    deserialize_through! { option newtype tuple_struct }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        enum identifier ignored_any
    }
}

/// Passes the entries of a metalayer to a visitor, and returns the visitor's value. `ORDINARY` means that the metalayer
/// is ordinary and that the type takes the entries in order.
#[inline(always)]
fn visit<'de, const ORDINARY: bool, V: Visitor<'de>>(
    metalayer: &Metalayer<'de>,
    requested: RequestedEntries,
    visitor: V,
) -> Result<V::Value, Error> {
    let Metalayer { start, layout, .. } = *metalayer;
    let count = layout.entries().len();
    let mut entries = EntryAccess::<ORDINARY> { metalayer, next: 0, is_over: false };
    let value = match requested {
        // The visitor gets `entries` by reference. A move would copy memory right after it was written, which stalls
        // the processor.
        _ if ORDINARY => visitor.visit_seq(&mut entries),
        RequestedEntries::Count(takes) if takes != count => Err(LayoutFault::Takes { layout, takes }.error()),
        RequestedEntries::Any | RequestedEntries::Count(_) => visitor.visit_seq(&mut entries),
        RequestedEntries::Fields(fields) => match takes_by_name(fields, layout) {
            Ok(false) => visitor.visit_seq(&mut entries),
            Ok(true) => visitor.visit_map(ByName { entries: &mut entries, fields }),
            Err(error) => Err(error),
        },
        RequestedEntries::Map => Err(Error::new(Detail::UnsupportedType(ValueType::Map))),
    };
    let value = match value {
        Ok(value) => value,
        Err(error) => {
            let takes_more = entries.is_over && !matches!(requested, RequestedEntries::Any);
            return Err(error_of_type(error, takes_more, layout, metalayer.version, start));
        }
    };
    // Without this check, entries that the type does not read would be dropped silently.
    let takes = usize::from(entries.next);
    if takes != count {
        return Err(LayoutFault::Takes { layout, takes }.error().at(start));
    }
    // Here a struct with more names than the layout has entries asked for an entry after the last one, and got none.
    // The missing entry caused no error, because a field with a `default` needs no entry. So the entries may be in the
    // wrong fields, and this is an error. A struct with one name per entry is not rejected, because its visitor may
    // only check that no entry follows.
    if !ORDINARY && entries.is_over && requested.has_more_names_than(count) {
        return Err(LayoutFault::TakesMore { layout }.error().at(start));
    }
    Ok(value)
}

/// The error of a type that rejects the entries of a metalayer. `takes_more` means that the type has asked for another
/// entry after the last one.
#[cold]
fn error_of_type(error: Error, takes_more: bool, layout: Layout, version: u8, start: usize) -> Error {
    // Replaces the struct's own error, which would only be "invalid length 7".
    if takes_more && error.is_custom_length() && error.entry().is_none() {
        return LayoutFault::TakesMore { layout }.error().at(start);
    }
    // In nearly every error of a type, the bytes of the entry are valid, and the type rejects the value. Only a dtype
    // that is not UTF-8 has invalid bytes. Another version may allow these bytes, so only this error names the version.
    let version = if error.text_fault().is_some() { version } else { 0 };
    error.at(start).of_version(version)
}

/// Gives the entries to a visitor, in order.
struct EntryAccess<'m, 'de, const ORDINARY: bool> {
    metalayer: &'m Metalayer<'de>,
    /// The position of the next entry.
    next: u8,
    /// Whether the requested type has asked for more entries than the layout has.
    is_over: bool,
}

impl<'de, const ORDINARY: bool> EntryAccess<'_, 'de, ORDINARY> {
    // Inlined, so the compiler knows the entry of each field (see `next_element`).
    #[inline(always)]
    fn next_entry(&self) -> Option<Entry> {
        self.metalayer.layout.entry(self.next)
    }

    /// Passes the value of an entry to a serde seed, and returns the result of the seed.
    // Inlined, so the compiler knows `entry`, and removes the match.
    #[inline(always)]
    fn deserialize<S: DeserializeSeed<'de>>(&self, entry: Entry, seed: S) -> Result<S::Value, Error> {
        let metalayer = self.metalayer;
        let place = metalayer.place(entry);
        macro_rules! deserialize_entry {
            ($($(#[$doc:meta])* $entry:ident $name:ident $others:tt $encoding:ident)*) => {
                match entry {
                    $( Entry::$entry => {
                        seed.deserialize(ValueDeserializer::<_, ORDINARY>(metalayer.$name.clone(), place))
                    } )*
                }
            };
        }
        let value = with_entries!(deserialize_entry);
        match value {
            Ok(value) => Ok(value),
            Err(error) => Err(place.add_to(error)),
        }
    }
}

impl<'de, const ORDINARY: bool> SeqAccess<'de> for &mut EntryAccess<'_, 'de, ORDINARY> {
    type Error = Error;

    #[inline(always)]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some(entry) = self.next_entry() else {
            self.is_over = true;
            return Ok(None);
        };
        self.next += 1;
        self.deserialize(entry, seed).map(Some)
    }

    // Same as serde's default method, but inlined. Only then does the compiler know the position of each entry, and
    // remove the matches over layouts and entries.
    #[inline(always)]
    fn next_element<T: Deserialize<'de>>(&mut self) -> Result<Option<T>, Error> {
        self.next_element_seed(PhantomData)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        self.metalayer.layout.entries().len().checked_sub(self.next.into())
    }
}
