//! Writing: a serializer that encodes each entry by its position.

// Each module imports only from those above it.
mod methods;

mod integer;
mod text;

mod vector;

mod entries;

mod start;

#[cfg(feature = "alloc")]
use alloc::{boxed::Box, vec::Vec};

use serde::Serialize;
use serde::ser::Impossible;

#[cfg(feature = "alloc")]
use crate::error::Detail;
use crate::error::Error;
use crate::layout::Layout;
#[cfg(feature = "alloc")]
use crate::wire::NewBytes;
use crate::wire::{After, NoRoom};
use entries::Entries;
use methods::{refuse, transparent};
use start::Start;

/// The bytes reserved for the dtype in a new vector: enough for every dtype except structs and subarrays.
#[cfg(feature = "alloc")]
const DTYPE_ROOM: usize = 16;

/// Writes a value as a metalayer into a new vector. Its capacity can be some bytes more than its length.
///
/// The number of entries of the value selects the [`Layout`]: 7 is `B2nd`, 6 is `B2ndSix`, 5 is `Caterva`. **A struct
/// that forgets `dtype_format` is written as `B2ndSix`, which no release of C-Blosc2 opens.** [`to_vec_with_layout`] is
/// safer: it rejects such a struct.
///
/// # Errors
///
/// If the value does not fit a layout: see [`ErrorKind`](crate::ErrorKind).
///
/// ```
/// // Version, number of dimensions, shape, chunk shape, block shape, dtype format, dtype.
/// let bytes = b2nd_serde::to_vec(&(0, 1, [6], [4], [2], 0, "|u1"))?;
/// assert_eq!(
///     bytes,
///     b"\x97\x00\x01\x91\xd3\0\0\0\0\0\0\0\x06\x91\xd2\0\0\0\x04\x91\xd2\0\0\0\x02\x00\xdb\0\0\0\x03|u1"
/// );
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[cfg(feature = "alloc")]
#[inline]
pub fn to_vec<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, Error> {
    new_vec(value, None)
}

/// Writes a value as a metalayer of this layout into a new vector.
///
/// # Errors
///
/// [`ErrorKind::EntryCount`](crate::ErrorKind::EntryCount) if the number of entries of the value is not that of the
/// layout, and the errors of [`to_vec`].
///
/// ```
/// use b2nd_serde::{Layout, to_vec_with_layout};
///
/// let bytes = to_vec_with_layout(&(0, 1, [6], [4], [2], 0, "|u1"), Layout::B2ndMismarked)?;
/// assert_eq!((bytes.len(), bytes[0]), (34, 0x96));
///
/// // The dtype format was forgotten.
/// let error = to_vec_with_layout(&(0, 1, [6], [4], [2], "|u1"), Layout::B2nd).unwrap_err();
/// assert_eq!(error.to_string(), "layout b2nd has 7 entries, but the value gives 6");
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[cfg(feature = "alloc")]
pub fn to_vec_with_layout<T: Serialize + ?Sized>(value: &T, layout: Layout) -> Result<Vec<u8>, Error> {
    new_vec(value, Some(layout))
}

/// Writes a value as a metalayer to the front of a buffer, and returns the written part.
///
/// # Errors
///
/// [`ErrorKind::BufferTooSmall`](crate::ErrorKind::BufferTooSmall) if the buffer is too short; the message says how
/// many bytes are needed. Also if the value does not fit a layout. After an error, part of the buffer may be
/// overwritten.
///
/// ```
/// let mut buffer = [0; 100];
/// let bytes = b2nd_serde::to_slice(&(0, 1, [6_u64], [4_u32], [2_u32]), &mut buffer)?;
/// assert_eq!(bytes.len(), 25);
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[inline]
pub fn to_slice<'a, T: Serialize + ?Sized>(value: &T, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
    let length = value.serialize(Start { buffer: &mut *buffer, layout: None })?;
    Ok(buffer.get_mut(..length).unwrap_or_default())
}

/// Writes a value as a metalayer to a writer, in one call of `write_all`.
///
/// # Errors
///
/// [`ErrorKind::Io`](crate::ErrorKind::Io) if the writer fails. Also if the value does not fit a layout; then nothing
/// has been written.
///
/// ```
/// let mut file = std::io::Cursor::new(Vec::new());
/// b2nd_serde::to_writer(&mut file, &(0, 1, [6], [4], [2]))?;
/// assert_eq!(file.position(), 25);
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[cfg(feature = "std")]
pub fn to_writer<W: std::io::Write, T: Serialize + ?Sized>(mut writer: W, value: &T) -> Result<(), Error> {
    writer.write_all(&to_vec(value)?).map_err(|error| Error::new(Detail::Writer(error)))
}

/// The number of bytes of a value as a metalayer.
///
/// # Errors
///
/// The errors of [`to_slice`], except that no buffer can be too small.
///
/// ```
/// assert_eq!(b2nd_serde::serialized_size(&(0, 2, [3, 5], [2, 3], [1, 2], 0, "<i4"))?, 53);
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[inline]
pub fn serialized_size<T: Serialize + ?Sized>(value: &T) -> Result<usize, Error> {
    value.serialize(Start { buffer: NoRoom, layout: None })
}

#[cfg(feature = "alloc")]
#[inline]
fn new_vec<T: Serialize + ?Sized>(value: &T, layout: Option<Layout>) -> Result<Vec<u8>, Error> {
    let mut bytes = Box::default();
    // One pass for nearly every dtype. For a longer one, this pass has only measured the length.
    let length = value.serialize(Start { buffer: NewBytes::new(&mut bytes, DTYPE_ROOM), layout })?;
    match length.checked_sub(bytes.len()) {
        None | Some(0) => Ok(shortened(bytes, length)),
        Some(missing) => with_long_dtype(value, layout, length, DTYPE_ROOM + missing),
    }
}

/// Writes a metalayer whose dtype exceeds [`DTYPE_ROOM`]. The length is known from a first call of `Serialize`.
#[cfg(feature = "alloc")]
#[cold]
#[inline(never)]
fn with_long_dtype<T: Serialize + ?Sized>(
    value: &T,
    layout: Option<Layout>,
    length: usize,
    dtype_room: usize,
) -> Result<Vec<u8>, Error> {
    let mut bytes = Box::default();
    let written = value.serialize(Start { buffer: NewBytes::new(&mut bytes, dtype_room), layout })?;
    // The second call may give another value. Other dimensions with another dtype can have the same total length, but
    // exceed the allocation.
    if written == length && length <= bytes.len() {
        Ok(shortened(bytes, length))
    } else {
        Err(Error::new(Detail::Unstable))
    }
}

// Truncated, not shrunk to fit: a reallocation would cost more than the few spare bytes. Inlined like the rest of the
// way from `serialize` to the bytes (see `entries.rs`).
#[cfg(feature = "alloc")]
#[inline(always)]
fn shortened(bytes: Box<[u8]>, length: usize) -> Vec<u8> {
    let mut bytes = Vec::from(bytes);
    bytes.truncate(length);
    bytes
}

/// A serde serializer that writes metalayers into a buffer.
///
/// It takes a struct, tuple, tuple struct or sequence of 7, 6 or 5 entries, or a `Meta`. The position of an entry, not
/// its Rust type, determines its encoding. The [crate's page](crate#serdes-data-model) has a table of the types and
/// entries that fit each other.
///
/// ```
/// use b2nd_serde::{Layout, Serializer};
/// use serde::Serialize;
///
/// let mut buffer = [0; 100];
/// let mut serializer = Serializer::new(&mut buffer).with_layout(Layout::B2ndMismarked);
/// (0, 1, [6], [4], [2], 0, "|u1").serialize(&mut serializer)?;
/// let length = serializer.offset();
/// assert_eq!((length, buffer[0]), (34, 0x96));
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[derive(Debug)]
pub struct Serializer<'a> {
    buffer: &'a mut [u8],
    position: usize,
    layout: Option<Layout>,
}

impl<'a> Serializer<'a> {
    /// A serializer that writes to the front of a buffer.
    #[must_use]
    #[inline]
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, position: 0, layout: None }
    }

    /// Selects the layout directly, not by the number of entries. A value with another number of entries gives an
    /// error, and so does a `Meta` of another layout.
    ///
    /// ```
    /// use b2nd_serde::{Layout, Serializer};
    /// use serde::Serialize;
    ///
    /// let mut buffer = [0; 100];
    /// let mut serializer = Serializer::new(&mut buffer).with_layout(Layout::B2nd);
    /// let error = (0, 1, [6], [4], [2]).serialize(&mut serializer).unwrap_err();
    /// assert_eq!(error.to_string(), "layout b2nd has 7 entries, but the value gives 5");
    /// ```
    #[must_use]
    pub fn with_layout(mut self, layout: Layout) -> Self {
        self.layout = Some(layout);
        self
    }

    /// The number of bytes written so far. The next metalayer begins there.
    ///
    /// A metalayer that gave an error is not counted.
    #[must_use]
    #[inline]
    pub fn offset(&self) -> usize {
        self.position
    }

    /// The start of the next metalayer.
    #[inline]
    fn start(&mut self) -> Start<After<'_>> {
        let bytes = self.buffer.get_mut(self.position..).unwrap_or_default();
        Start { buffer: After { bytes, position: &mut self.position }, layout: self.layout }
    }
}

impl<'s> serde::Serializer for &'s mut Serializer<'_> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Entries<After<'s>>;
    type SerializeTuple = Entries<After<'s>>;
    type SerializeTupleStruct = Entries<After<'s>>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Impossible<(), Error>;
    type SerializeStruct = Entries<After<'s>>;
    type SerializeStructVariant = Impossible<(), Error>;

    #[inline]
    fn serialize_seq(self, len: Option<usize>) -> Result<Self::SerializeSeq, Error> {
        self.start().serialize_seq(len)
    }

    #[inline]
    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple, Error> {
        self.start().serialize_tuple(len)
    }

    #[inline]
    fn serialize_tuple_struct(
        self,
        name: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleStruct, Error> {
        self.start().serialize_tuple_struct(name, len)
    }

    #[inline]
    fn serialize_struct(self, name: &'static str, len: usize) -> Result<Self::SerializeStruct, Error> {
        self.start().serialize_struct(name, len)
    }

    transparent! {}

    refuse! { integers bool floats char str bytes none unit variants map }
}
