//! Reading: a deserializer that checks each entry against the width of its position.

// Each module imports only from those above it.
mod methods;

mod value;

mod vector;

mod entries;

use serde::de::{Deserialize, Visitor};
use serde::forward_to_deserialize_any;

use crate::error::{Detail, Error, ValueType};
use crate::layout::Layout;
#[cfg(feature = "alloc")]
use crate::layout::META_STRUCT;
use crate::wire::Input;
#[cfg(feature = "alloc")]
use entries::AsMeta;
use entries::{ByName, Entries, InOrder, Names};
use methods::transparent;

/// Reads a value from a metalayer, which must be the whole input.
///
/// Types such as `&str` borrow from the input.
///
/// # Errors
///
/// See [`ErrorKind`](crate::ErrorKind); bytes after the metalayer are an error too.
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
    let mut deserializer = Deserializer::new(bytes);
    let result = T::deserialize(&mut deserializer);
    // The result stays whole: to take it apart and put it together again would copy what was read.
    if result.is_ok() {
        deserializer.end()?;
        return result;
    }
    result.map_err(|error| error.at(deserializer.offset()))
}

/// Reads a value from the metalayer at the front of the input, and returns it with the rest of the input.
///
/// Use it for files that have old bytes after a metalayer that became shorter.
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
        Ok(value) => Ok((value, deserializer.input.rest())),
        Err(error) => Err(error.at(deserializer.offset())),
    }
}

/// Reads a value from a reader, up to its end. Bytes after the metalayer are an error.
///
/// # Errors
///
/// [`ErrorKind::Io`](crate::ErrorKind::Io) if the reader fails, and those of [`from_slice`].
///
/// ```
/// let bytes = b"\x95\x00\x01\x91\xd3\0\0\0\0\0\0\0\x06\x91\xd2\0\0\0\x04\x91\xd2\0\0\0\x02";
/// let reader = std::io::Cursor::new(bytes);
/// let (_, _, [items], _, _): (u8, u8, [u64; 1], [u32; 1], [u32; 1]) = b2nd_serde::from_reader(reader)?;
/// assert_eq!(items, 6);
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[cfg(feature = "std")]
pub fn from_reader<R: std::io::Read, T: serde::de::DeserializeOwned>(mut reader: R) -> Result<T, Error> {
    let mut bytes = alloc::vec::Vec::new();
    reader.read_to_end(&mut bytes).map_err(|error| Error::new(Detail::Reader(error)))?;
    from_slice(&bytes)
}

/// A serde deserializer that reads metalayers from a slice.
///
/// It can be read into a struct, tuple, tuple struct, sequence or `Meta`. The [crate's page](crate#serdes-data-model)
/// has a table of what each type can read.
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
    input: Input<'de>,
}

impl<'de> Deserializer<'de> {
    /// A deserializer for the metalayer at the front of a slice.
    #[must_use]
    #[inline]
    pub fn new(bytes: &'de [u8]) -> Self {
        Self { input: Input::new(bytes) }
    }

    /// The layout of the next metalayer. The position does not change.
    ///
    /// The first byte tells the layout; after `96`, the byte after `blockshape` decides.
    ///
    /// # Errors
    ///
    /// If no layout begins with the first byte. After `96`, also if one of the bytes up to the deciding one is wrong.
    #[inline]
    pub fn layout(&self) -> Result<Layout, Error> {
        self.input.layout()
    }

    /// The number of bytes read so far.
    #[must_use]
    #[inline]
    pub fn offset(&self) -> usize {
        self.input.position()
    }

    /// Checks that no bytes are left.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TrailingBytes`](crate::ErrorKind::TrailingBytes) if bytes are left; the message says how many.
    #[inline]
    pub fn end(&self) -> Result<(), Error> {
        self.input.end()
    }

    /// Lets the visitor take all entries in their order.
    #[inline]
    fn sequence<V: Visitor<'de>>(&mut self, layout: Layout, visitor: V) -> Result<V::Value, Error> {
        let mut entries = Entries::new(&mut self.input, layout);
        match visitor.visit_seq(InOrder(&mut entries)) {
            Ok(value) => entries.finish().map(|()| value),
            Err(error) => Err(entries.locate(error)),
        }
    }

    /// Lets the visitor take all entries in their order, if the type takes as many.
    #[inline]
    fn tuple<V: Visitor<'de>>(&mut self, takes: usize, visitor: V) -> Result<V::Value, Error> {
        let layout = self.layout()?;
        if takes != layout.entries().len() {
            return Err(Error::new(Detail::Takes { layout, takes }).at(self.offset()));
        }
        self.sequence(layout, visitor)
    }

    /// Lets the visitor take the entries by the names of its fields.
    #[inline(never)]
    fn named<V: Visitor<'de>>(
        &mut self,
        layout: Layout,
        names: Names,
        visitor: V,
    ) -> Result<V::Value, Error> {
        let mut entries = Entries::new(&mut self.input, layout);
        match visitor.visit_map(ByName { entries: &mut entries, names }) {
            Ok(value) => entries.finish().map(|()| value),
            Err(error) => Err(entries.locate(error)),
        }
    }
}

impl<'de> serde::Deserializer<'de> for &mut Deserializer<'de> {
    type Error = Error;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let layout = self.layout()?;
        self.sequence(layout, visitor)
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
        self.tuple(len, visitor)
    }

    #[inline]
    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.tuple(len, visitor)
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let layout = self.layout()?;
        #[cfg(feature = "alloc")]
        if name == META_STRUCT {
            let mut entries = Entries::new(&mut self.input, layout);
            return visitor.visit_seq(AsMeta::new(&mut entries)).map_err(|error| entries.locate(error));
        }
        let _ = name;
        match Names::place(fields, layout).map_err(|error| error.at(self.offset()))? {
            None => self.sequence(layout, visitor),
            Some(names) => self.named(layout, names, visitor),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
        Err(Error::new(Detail::Unsupported(ValueType::Map)).at(self.offset()))
    }

    transparent! {}

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq enum
        identifier ignored_any
    }
}
