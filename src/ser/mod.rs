//! Writing: a serializer that gives each entry the width of its position.

// Each module imports only from those above it.
mod methods;

mod integer;
mod text;

mod vector;

mod entries;

#[cfg(feature = "alloc")]
use alloc::vec::Vec;
#[cfg(feature = "alloc")]
use core::iter;

use serde::Serialize;
use serde::ser::Impossible;

use crate::error::{Detail, Error};
use crate::layout::Layout;
use entries::Entries;
use methods::{refuse, transparent};

/// Enough for a metalayer of 16 dimensions and a dtype of 36 bytes.
#[cfg(feature = "alloc")]
const STACK_LEN: usize = crate::wire::LONGEST_BEFORE_DTYPE + 36;

/// Writes a value as a metalayer into a new vector.
///
/// The number of entries of the value selects the [`Layout`]: 7 is `B2nd`, 6 is `B2ndSix`, 5 is `Caterva`. **A struct that
/// forgets `dtype_format` is written as `B2ndSix`, which no release of C-Blosc2 opens.** To name the layout is safer:
/// [`to_vec_with_layout`] refuses such a struct.
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
    with_bytes(value, None, <[u8]>::to_vec)
}

/// Writes a value as a metalayer of this layout into a new vector.
///
/// # Errors
///
/// [`ErrorKind::EntryCount`](crate::ErrorKind::EntryCount) if the value has another number of entries than the layout. Also
/// those of [`to_vec`].
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
    with_bytes(value, Some(layout), <[u8]>::to_vec)
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
    let mut serializer = Serializer::new(buffer);
    value.serialize(&mut serializer)?;
    Ok(serializer.into_written())
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
    with_bytes(value, None, |bytes| {
        writer.write_all(bytes).map_err(|error| Error::new(Detail::Writer(error)))
    })?
}

/// The number of bytes that a value has as a metalayer.
///
/// # Errors
///
/// Those of [`to_slice`], except that there is no buffer to be too small.
///
/// ```
/// assert_eq!(b2nd_serde::serialized_size(&(0, 2, [3, 5], [2, 3], [1, 2], 0, "<i4"))?, 53);
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[inline]
pub fn serialized_size<T: Serialize + ?Sized>(value: &T) -> Result<usize, Error> {
    let mut serializer = Serializer::counting(&mut []);
    value.serialize(&mut serializer)?;
    Ok(serializer.offset())
}

/// Writes the metalayer of a value and calls `use_bytes` with it. It is on the stack if it fits, else on the heap.
#[cfg(feature = "alloc")]
#[inline]
fn with_bytes<T: Serialize + ?Sized, R>(
    value: &T,
    layout: Option<Layout>,
    use_bytes: impl FnOnce(&[u8]) -> R,
) -> Result<R, Error> {
    let mut stack = [0; STACK_LEN];
    let mut serializer = Serializer { layout, ..Serializer::counting(&mut stack) };
    value.serialize(&mut serializer)?;
    let size = serializer.offset();
    match stack.get(..size) {
        Some(bytes) => Ok(use_bytes(bytes)),
        None => with_long_bytes(value, layout, size).map(|bytes| use_bytes(&bytes)),
    }
}

#[cfg(feature = "alloc")]
#[cold]
fn with_long_bytes<T: Serialize + ?Sized>(
    value: &T,
    layout: Option<Layout>,
    size: usize,
) -> Result<Vec<u8>, Error> {
    let mut bytes: Vec<u8> = iter::repeat_n(0, size).collect();
    let mut serializer = Serializer { layout, ..Serializer::counting(&mut bytes) };
    value.serialize(&mut serializer)?;
    if serializer.offset() == size { Ok(bytes) } else { Err(Error::new(Detail::Unstable)) }
}

/// A serde serializer that writes metalayers into a buffer.
///
/// It takes a struct, tuple, tuple struct or sequence of 7, 6 or 5 entries, or a `Meta`. The position of an entry, not
/// its Rust type, decides how it is encoded. The [crate's page](crate#serdes-data-model) has a table of what each kind
/// of value becomes.
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
    /// Bytes that do not fit the buffer are only counted; they are not an error.
    counting: bool,
}

impl<'a> Serializer<'a> {
    /// A serializer that writes to the front of a buffer.
    #[must_use]
    #[inline]
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, position: 0, layout: None, counting: false }
    }

    #[inline]
    fn counting(buffer: &'a mut [u8]) -> Self {
        Self { counting: true, ..Self::new(buffer) }
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

    #[inline]
    fn into_written(self) -> &'a mut [u8] {
        self.buffer.get_mut(..self.position).unwrap_or_default()
    }

    /// The layout of a value with this number of entries.
    #[inline]
    fn layout_of(&self, gives: usize) -> Result<Layout, Error> {
        match self.layout {
            None => Layout::of_entries(gives).ok_or_else(|| Error::new(Detail::NoLayout { gives })),
            Some(layout) if layout.entries().len() == gives => Ok(layout),
            Some(layout) => Err(Error::new(Detail::Gives { layout, gives })),
        }
    }
}

impl<'s> serde::Serializer for &'s mut Serializer<'_> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Entries<'s>;
    type SerializeTuple = Entries<'s>;
    type SerializeTupleStruct = Entries<'s>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Impossible<(), Error>;
    type SerializeStruct = Entries<'s>;
    type SerializeStructVariant = Impossible<(), Error>;

    #[inline]
    fn serialize_seq(self, len: Option<usize>) -> Result<Self::SerializeSeq, Error> {
        match (len, self.layout) {
            (Some(len), _) => self.serialize_tuple(len),
            (None, Some(layout)) => Ok(Entries::new(self, layout)),
            (None, None) => Err(Error::new(Detail::UnknownCount)),
        }
    }

    #[inline]
    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple, Error> {
        let layout = self.layout_of(len)?;
        Ok(Entries::new(self, layout))
    }

    #[inline]
    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleStruct, Error> {
        self.serialize_tuple(len)
    }

    #[inline]
    fn serialize_struct(self, name: &'static str, len: usize) -> Result<Self::SerializeStruct, Error> {
        #[cfg(feature = "alloc")]
        if let Some(value) = Layout::of_meta_struct(name) {
            return match self.layout {
                Some(asked) if asked != value => Err(Error::new(Detail::OtherLayout { value, asked })),
                _ => Ok(Entries::of_meta(self, value)),
            };
        }
        let _ = name;
        self.serialize_tuple(len)
    }

    transparent! {}

    refuse! { integers bool floats char str bytes none unit variants map }
}
