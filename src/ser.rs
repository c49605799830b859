//! Writes metalayers. The number of entries of a value determines its layout, and the position of an entry determines
//! its encoding.
//!
//! ```text
//!                                                         ┌─▶ IntegerSerializer ─┐
//! value ─▶ Serializer ──────────▶ SerializeMetalayer ─────┼─▶ VectorSerializer ──┼─▶ Writer ─▶ bytes
//!                                 one call for each entry └─▶ TextSerializer ────┘
//! ```
//!
//! `to_vec` writes into a vector of fixed length. `serialized_size` writes into an empty buffer, so it only counts the
//! bytes. A `Meta` is a struct whose first field gives the layout (`SerializeMeta`).

#[cfg(feature = "alloc")]
use alloc::{vec, vec::Vec};
use core::fmt::Display;
use core::marker::PhantomData;

use serde::Serialize;
use serde::ser::SerializeStruct;

use crate::error::{Detail, Error, LayoutFault, TextFault, ValueType, out_of_range};
#[cfg(feature = "alloc")]
use crate::layout::BEFORE_TEXT;
use crate::layout::{Encoding, Entry, Layout, META_FIELDS, META_LAYOUT, ParseLayoutError, may_be_meta};
use crate::macros::{serialize_elements, serialize_rejects, serialize_through, serializer_types};
use crate::wire::{FixedInt, Slots, Writer, check_dimensions, check_dtype};

/// The first length of a new vector. It has room for 16 dimensions and a dtype of 64 bytes. With fewer dimensions, a longer
/// dtype fits.
#[cfg(feature = "alloc")]
const NEW_VEC_LEN: usize = BEFORE_TEXT.of(16) + 64;

/// Writes a value as a metalayer into a new vector. The capacity of the vector can be a few hundred bytes more than its
/// length.
///
/// For a long metalayer, `serialize` is called twice: first to measure the length, and then to write. Both calls must
/// serialize the same value.
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
/// [`ErrorKind::EntryCount`](crate::ErrorKind::EntryCount) if the value and the layout have different numbers of
/// entries, and the errors of [`to_vec`].
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
/// [`ErrorKind::BufferTooSmall`](crate::ErrorKind::BufferTooSmall) if the buffer is too short; [`Error::needed_len`]
/// says how many bytes are needed. It is also an error if the value does not fit a layout, or if its `Serialize` fails.
/// After an error, part of the buffer may be overwritten.
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
    let length = serializer.offset();
    Ok(buffer.get_mut(..length).unwrap_or_default())
}

/// Writes a value as a metalayer to a writer, in one call of `write_all`.
///
/// # Errors
///
/// [`ErrorKind::Io`](crate::ErrorKind::Io) if the writer fails. It is also an error if the value does not fit a layout,
/// or if its `Serialize` fails. In these two cases nothing has been written.
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

/// The length in bytes of the metalayer that `to_slice` would write for a value.
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
    measured(value, None, &mut [])
}

/// Writes a metalayer to the front of a buffer, and returns its length. Bytes that do not fit are counted and dropped.
#[inline(always)]
fn measured<T: Serialize + ?Sized>(
    value: &T,
    layout: Option<Layout>,
    buffer: &mut [u8],
) -> Result<usize, Error> {
    let mut serializer = Serializer { buffer, position: 0, layout, must_fit: false };
    value.serialize(MeasuringSerializer(&mut serializer))?;
    Ok(serializer.position)
}

#[cfg(feature = "alloc")]
#[inline]
fn new_vec<T: Serialize + ?Sized>(value: &T, layout: Option<Layout>) -> Result<Vec<u8>, Error> {
    // Filled with a byte other than 0, because `vec![0; n]` asks the allocator for zeroed memory, which is slower for
    // such a short vector.
    let mut bytes = vec![u8::MAX; NEW_VEC_LEN];
    let length = measured(value, layout, &mut bytes)?;
    if length > bytes.len() {
        return long_vec(value, layout, length);
    }
    // Not shrunk to fit, because a copy or a reallocation would cost more than the spare bytes.
    bytes.truncate(length);
    Ok(bytes)
}

/// Writes a metalayer of this length, which a first call of `Serialize` has measured.
#[cfg(feature = "alloc")]
#[cold]
#[inline(never)]
fn long_vec<T: Serialize + ?Sized>(
    value: &T,
    layout: Option<Layout>,
    length: usize,
) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; length];
    // The second call of `Serialize` may write another value.
    if measured(value, layout, &mut bytes)? == length { Ok(bytes) } else { Err(Error::new(Detail::Unstable)) }
}

/// The error for a kind of value that cannot be written in this position.
// All generated methods call this one function, so each generated method is short.
#[cold]
fn unsupported<S, T>(_: &S, found: ValueType) -> Result<T, Error> {
    Err(Error::new(Detail::UnsupportedValue(found)))
}

/// A serde serializer that writes metalayers into a buffer.
///
/// It takes a struct, tuple, tuple struct or sequence of 7, 6 or 5 entries, or a `Meta`. The position of an entry, not
/// its Rust type, determines its encoding. The page [`data_model`](crate::data_model) has a table of the types that
/// each entry accepts.
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
    /// The requested layout. If it is `None`, the number of entries selects the layout.
    layout: Option<Layout>,
    /// Whether a metalayer that is longer than the buffer is an error. If not, such a metalayer is only measured.
    must_fit: bool,
}

impl<'a> Serializer<'a> {
    /// A serializer that writes to the front of a buffer.
    #[must_use]
    #[inline]
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, position: 0, layout: None, must_fit: true }
    }

    /// Sets the layout of all metalayers that this serializer writes, so the number of entries does not select it. A
    /// value with another number of entries is an error, and so is a `Meta` of another layout.
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

    /// The number of bytes written so far. The next metalayer begins at this offset of the buffer.
    ///
    /// A metalayer that could not be written does not count.
    #[must_use]
    #[inline]
    pub fn offset(&self) -> usize {
        self.position
    }

    /// Starts a metalayer. `len` is its number of entries, if that number is known.
    #[inline(always)]
    fn start_sequence(&mut self, len: Option<usize>) -> Result<SerializeMetalayer<'_>, Error> {
        match (len, self.layout) {
            (Some(len), _) => self.start_tuple(len),
            // The layout determines how many entries there must be, and `end` checks this.
            (None, Some(layout)) => Ok(self.start(layout)),
            (None, None) => Err(LayoutFault::UnknownCount.error()),
        }
    }

    /// Starts a metalayer of this number of entries.
    #[inline(always)]
    fn start_tuple(&mut self, len: usize) -> Result<SerializeMetalayer<'_>, Error> {
        let layout = layout_of(len, self.layout)?;
        Ok(self.start(layout))
    }

    #[inline(always)]
    fn start_struct(&mut self, name: &str, len: usize) -> Result<SerializeFields<'_>, Error> {
        // A `Meta` is recognized before the number of fields is checked, because it has eight fields in every layout.
        // serde passes the names of the fields one by one, so they are compared later.
        if may_be_meta(name, len) {
            let requested = self.layout;
            let metalayer = self.metalayer(Layout::B2nd);
            return Ok(SerializeFields::Meta(SerializeMeta { metalayer, requested, meta_layout: None }));
        }
        self.start_tuple(len).map(SerializeFields::Entries)
    }

    #[inline(always)]
    fn start(&mut self, layout: Layout) -> SerializeMetalayer<'_> {
        let mut metalayer = self.metalayer(layout);
        metalayer.writer.marker(layout);
        metalayer
    }

    /// A metalayer at the current position of the buffer, without its marker.
    #[inline(always)]
    fn metalayer(&mut self, layout: Layout) -> SerializeMetalayer<'_> {
        SerializeMetalayer {
            writer: Writer::new(self.buffer.get_mut(self.position..).unwrap_or_default()),
            written: &mut self.position,
            must_fit: self.must_fit,
            layout,
            ndim: 0,
            next: Some(0),
        }
    }
}

/// A wrapper around a [`Serializer`], only for [`measured`].
// This type gives `to_vec` its own copy of the code that serializes a type. If `to_vec` and `to_slice` shared one copy,
// the compiler would inline it into neither of them.
struct MeasuringSerializer<'s, 'a>(&'s mut Serializer<'a>);

/// Implements [`serde::Serializer`] by calling three methods of a [`Serializer`].
macro_rules! metalayer_serializer {
    ($type:ty, $self:ident => $serializer:expr) => {
        impl<'s> serde::Serializer for $type {
            serializer_types! { (), Error, elements: SerializeMetalayer<'s>, fields: SerializeFields<'s> }

            #[inline(always)]
            fn serialize_seq($self, len: Option<usize>) -> Result<Self::SerializeSeq, Error> {
                $serializer.start_sequence(len)
            }

            #[inline(always)]
            fn serialize_tuple($self, len: usize) -> Result<Self::SerializeTuple, Error> {
                $serializer.start_tuple(len)
            }

            #[inline(always)]
            fn serialize_struct($self, name: &'static str, len: usize) -> Result<Self::SerializeStruct, Error> {
                $serializer.start_struct(name, len)
            }

            serialize_through! { some newtype tuple_struct }

            serialize_rejects! { unsupported: integers bool floats char str bytes none unit variants map }
        }
    };
}

metalayer_serializer! { &'s mut Serializer<'_>, self => self }
metalayer_serializer! { MeasuringSerializer<'s, '_>, self => self.0 }

/// The layout of a value with this number of entries.
#[inline(always)]
fn layout_of(gives: usize, requested: Option<Layout>) -> Result<Layout, Error> {
    match requested {
        None => Layout::of_entries(gives).ok_or_else(|| LayoutFault::NoLayout { gives }.error()),
        Some(layout) if layout.entries().len() == gives => Ok(layout),
        Some(layout) => Err(LayoutFault::Gives { layout, gives }.error()),
    }
}

/// A metalayer that is being written, entry by entry.
// The methods that choose the entry of a field are `inline(always)`. Only then does the compiler know the entry of each
// field, and remove the comparisons of names and the matches over entries.
#[derive(Debug)]
pub struct SerializeMetalayer<'s> {
    writer: Writer<'s>,
    /// The number of bytes that the serializer has written. When the metalayer is complete, its length is added.
    written: &'s mut usize,
    must_fit: bool,
    /// The layout that has the same entries as the value.
    layout: Layout,
    ndim: u8,
    /// The position of the next entry in the layout; `None` after an error.
    next: Option<u8>,
}

impl SerializeMetalayer<'_> {
    /// Takes the position of the next entry. The caller sets `next` again when it has written the entry. So `next` stays
    /// `None` after an error, even if the `Serialize` of the value ignores the error and continues.
    #[inline(always)]
    fn take_next(&mut self) -> Result<u8, Error> {
        self.next.take().ok_or_else(ignored_error)
    }

    /// Writes the next entry. If the entry is a field of a struct, and the name of the field is well-known, checks that
    /// the name belongs to this entry.
    #[inline(always)]
    fn entry<T: Serialize + ?Sized>(&mut self, field: Option<&'static str>, value: &T) -> Result<(), Error> {
        let next = self.take_next()?;
        let layout = self.layout;
        let Some(entry) = layout.entry(next) else {
            return Err(wrong_count(layout, next + 1));
        };
        if let Some(field) = field.filter(|field| !entry.can_be_field(field)) {
            return Err(LayoutFault::FieldOrder { field, layout }.error().in_entry(entry));
        }
        self.write(entry, value)?;
        self.next = Some(next + 1);
        Ok(())
    }

    #[inline(always)]
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.entry(None, value)
    }

    #[inline(always)]
    fn write<T: Serialize + ?Sized>(&mut self, entry: Entry, value: &T) -> Result<(), Error> {
        let Self { writer, ndim, .. } = self;
        let written = match entry.encoding() {
            Encoding::Fixint => integer(value).and_then(|value| writer.fixint(value)),
            Encoding::Ndim => integer(value).and_then(|value| {
                *ndim = value;
                writer.ndim(value)
            }),
            Encoding::Int64s => {
                let slots = writer.vector::<i64>(*ndim);
                value.serialize(VectorSerializer { slots, entry, ndim: *ndim })
            }
            Encoding::Int32s => {
                let slots = writer.vector::<i32>(*ndim);
                value.serialize(VectorSerializer { slots, entry, ndim: *ndim })
            }
            Encoding::Str32 => {
                value.serialize(TextSerializer(writer.rest())).map(|length| writer.skip(length))
            }
        };
        written.map_err(|error| error.in_entry(entry))
    }

    #[inline(always)]
    fn finish(mut self) -> Result<(), Error> {
        let gives = self.take_next()?;
        if usize::from(gives) != self.layout.entries().len() {
            return Err(wrong_count(self.layout, gives));
        }
        if self.must_fit {
            self.writer.check_room()?;
        }
        *self.written += self.writer.position();
        Ok(())
    }
}

#[cold]
fn ignored_error() -> Error {
    Error::new(Detail::IgnoredError)
}

#[cold]
fn wrong_count(layout: Layout, gives: u8) -> Error {
    LayoutFault::Gives { layout, gives: gives.into() }.error()
}

serialize_elements! { #[inline(always)] impl[] SerializeMetalayer<'_> => (), Error }

/// A struct that is being written, field by field.
#[derive(Debug)]
pub enum SerializeFields<'s> {
    Entries(SerializeMetalayer<'s>),
    Meta(SerializeMeta<'s>),
}

impl SerializeStruct for SerializeFields<'_> {
    type Ok = ();
    type Error = Error;

    #[inline(always)]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        match self {
            Self::Entries(metalayer) => metalayer.entry(Some(key), value),
            Self::Meta(meta) => meta.field(key, value),
        }
    }

    #[inline(always)]
    fn end(self) -> Result<(), Error> {
        match self {
            Self::Entries(metalayer) | Self::Meta(SerializeMeta { metalayer, .. }) => metalayer.finish(),
        }
    }
}

/// A `Meta` that is being written: a struct of its layout, and then all seven entries.
#[derive(Debug)]
pub struct SerializeMeta<'s> {
    /// The metalayer to write. Its `layout` is always `B2nd`, because a `Meta` passes all seven entries, whatever its
    /// own layout is.
    metalayer: SerializeMetalayer<'s>,
    /// The layout that the `Meta` must have, if one was requested.
    requested: Option<Layout>,
    /// The layout of the `Meta`; `None` before the first field. Entries that this layout lacks are not written.
    meta_layout: Option<Layout>,
}

impl SerializeMeta<'_> {
    #[inline(always)]
    fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        let metalayer = &mut self.metalayer;
        let next = metalayer.take_next()?;
        let Some(meta_layout) = self.meta_layout else {
            if key != META_LAYOUT {
                return Err(wrong_meta_fields());
            }
            let meta_layout = requested_layout(value.serialize(LayoutSerializer)?, self.requested)?;
            metalayer.writer.marker(meta_layout);
            metalayer.next = Some(next);
            self.meta_layout = Some(meta_layout);
            return Ok(());
        };
        match metalayer.layout.entry(next) {
            Some(entry) if entry.name() == key => {
                if meta_layout.has(entry) {
                    metalayer.write(entry, value)?;
                } else {
                    value.serialize(LackingSerializer(meta_layout)).map_err(|error| error.in_entry(entry))?;
                }
                metalayer.next = Some(next + 1);
                Ok(())
            }
            _ => Err(wrong_meta_fields()),
        }
    }
}

/// Checks that a `Meta` has the requested layout.
#[inline(always)]
fn requested_layout(value: Layout, requested: Option<Layout>) -> Result<Layout, Error> {
    match requested {
        Some(asked) if asked != value => Err(LayoutFault::OtherLayout { value, asked }.error()),
        _ => Ok(value),
    }
}

/// The error for a user's own struct that has the name of a `Meta` and its number of fields, but other fields.
#[cold]
fn wrong_meta_fields() -> Error {
    LayoutFault::NoLayout { gives: META_FIELDS.len() }.error()
}

/// The serializer for the name of a layout.
struct LayoutSerializer;

impl serde::Serializer for LayoutSerializer {
    serializer_types! { Layout, Error }

    #[inline]
    fn serialize_str(self, name: &str) -> Result<Layout, Error> {
        name.parse().map_err(|error: ParseLayoutError| serde::ser::Error::custom(error))
    }

    serialize_through! { some newtype }

    serialize_rejects! { not_a_meta: integers bool floats char display bytes none unit variants sequences map structs }
}

/// The error for a user's own struct that has the name and the fields of a `Meta`, but whose field `layout` is not a
/// string.
#[cold]
fn not_a_meta<T>(_: &LayoutSerializer, _: ValueType) -> Result<T, Error> {
    Err(LayoutFault::NotAMeta.error())
}

/// The serializer for an entry that the layout of a `Meta` lacks. Only `None` is valid, and nothing is written for it.
// A user's own struct with the name and the fields of a `Meta` may have a value here, which must not be dropped silently.
struct LackingSerializer(Layout);

impl serde::Serializer for LackingSerializer {
    serializer_types! { (), Error }

    #[inline]
    fn serialize_none(self) -> Result<(), Error> {
        Ok(())
    }

    serialize_through! { some newtype }

    serialize_rejects! { surplus: integers bool floats char str bytes unit variants sequences map structs }
}

/// The error for a value of an entry that the layout lacks.
#[cold]
fn surplus<T>(&LackingSerializer(layout): &LackingSerializer, _: ValueType) -> Result<T, Error> {
    Err(LayoutFault::Surplus { layout }.error())
}

/// The integer that a value serializes as.
#[inline]
fn integer<W: Width, T: Serialize + ?Sized>(value: &T) -> Result<W, Error> {
    value.serialize(IntegerSerializer(PhantomData))
}

/// An integer type with a checked conversion from every other integer type.
trait Width:
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

impl Width for u8 {}
impl Width for i32 {}
impl Width for i64 {}

struct IntegerSerializer<W>(PhantomData<W>);

/// Generates the serializer's methods for integers. Each returns the integer as a `W`, or an error if the integer does
/// not fit a `W`.
macro_rules! integers {
    ($($method:ident($type:ty) $wide:ty)*) => { $(
        #[inline]
        fn $method(self, value: $type) -> Result<W, Error> {
            W::try_from(value).map_err(|_| out_of_range(<$wide>::from(value)))
        }
    )* };
}

impl<W: Width> serde::Serializer for IntegerSerializer<W> {
    serializer_types! { W, Error }

    integers! {
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

    serialize_through! { some newtype }

    serialize_rejects! { unsupported: bool floats char str bytes none unit variants sequences map structs }
}

/// The serializer for a sequence, tuple or tuple struct of `ndim` integers.
struct VectorSerializer<'s, W> {
    slots: Slots<'s, W>,
    entry: Entry,
    ndim: u8,
}

/// The error for a vector of `count` dimensions instead of `ndim`. If `count` is above `ndim`, the counting stopped at
/// `count`, and more dimensions may follow.
#[cold]
fn wrong_count_of_dimensions(count: usize, ndim: u8) -> Error {
    let detail = if count > usize::from(ndim) {
        Detail::MoreDimensions { ndim }
    } else {
        Detail::Dimensions { found: count, ndim }
    };
    Error::new(detail)
}

impl<'s, W: FixedInt + Width> serde::Serializer for VectorSerializer<'s, W> {
    serializer_types! { (), Error, elements: SerializeVector<'s, W> }

    #[inline]
    fn serialize_seq(self, len: Option<usize>) -> Result<Self::SerializeSeq, Error> {
        if let Some(len) = len {
            check_dimensions(len, self.ndim)?;
        }
        Ok(SerializeVector { slots: self.slots, entry: self.entry, ndim: self.ndim, count: Some(0) })
    }

    #[inline]
    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple, Error> {
        self.serialize_seq(Some(len))
    }

    #[inline]
    fn collect_seq<I: IntoIterator<Item: Serialize>>(self, values: I) -> Result<(), Error> {
        let values = values.into_iter();
        let (least, most) = values.size_hint();
        // A sequence may be infinite, so at most `ndim` + 1 dimensions are read. For slices, a zip with a range is
        // faster than `take`.
        let enough = usize::from(self.ndim) + 1;
        // If the size hint is exact, it is checked before the first dimension is written.
        let mut dimensions = self.serialize_seq(most.filter(|&most| most == least))?;
        for (_, value) in (0..enough).zip(values) {
            dimensions.put(&value)?;
        }
        dimensions.finish()
    }

    serialize_through! { some newtype tuple_struct }

    serialize_rejects! { unsupported: integers bool floats char str bytes none unit variants map structs }
}

/// A partly written dimension vector.
// This is a separate struct, because with a field `count` in `VectorSerializer`, Rust arrays were written more slowly.
struct SerializeVector<'s, W> {
    slots: Slots<'s, W>,
    entry: Entry,
    ndim: u8,
    /// The number of dimensions written; `None` after an error, even if the `Serialize` of the vector ignores the error.
    count: Option<usize>,
}

impl<W: FixedInt + Width> SerializeVector<'_, W> {
    /// Writes the next dimension, and returns the number of dimensions written so far.
    // Inlined: see `SerializeMetalayer`.
    #[inline(always)]
    fn put<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<usize, Error> {
        let count = self.count.take().ok_or_else(ignored_error)?;
        let dimension = integer(value).map_err(|error| error.in_dimension(self.entry, count))?;
        self.slots.put(dimension);
        self.count = Some(count + 1);
        Ok(count + 1)
    }

    #[inline]
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let count = self.put(value)?;
        // The count is checked here and not only in `finish`, because a sequence may be infinite.
        if count > usize::from(self.ndim) { Err(wrong_count_of_dimensions(count, self.ndim)) } else { Ok(()) }
    }

    #[inline]
    fn finish(self) -> Result<(), Error> {
        let count = self.count.ok_or_else(ignored_error)?;
        if count == usize::from(self.ndim) {
            Ok(())
        } else {
            Err(wrong_count_of_dimensions(count, self.ndim))
        }
    }
}

serialize_elements! { #[inline] impl[W: FixedInt + Width] SerializeVector<'_, W> => (), Error }

/// The serializer for a string, UTF-8 bytes, or a value that is serialized through its `Display`. It writes to the
/// front of the slice, and returns the number of bytes, including bytes that did not fit.
// This type has no reference to the writer of the metalayer, because such a reference would keep the writer's fields in
// memory instead of registers.
struct TextSerializer<'s>(&'s mut [u8]);

impl serde::Serializer for TextSerializer<'_> {
    serializer_types! { usize, Error }

    #[inline]
    fn serialize_str(self, text: &str) -> Result<usize, Error> {
        let mut writer = Writer::new(self.0);
        writer.text(text)?;
        Ok(writer.position())
    }

    /// Writes the name of a variant as the dtype. So the dtypes that a program accepts can be the unit variants of an
    /// enum.
    #[inline]
    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<usize, Error> {
        self.serialize_str(variant)
    }

    #[inline]
    fn serialize_bytes(self, bytes: &[u8]) -> Result<usize, Error> {
        match core::str::from_utf8(bytes) {
            Ok(text) => self.serialize_str(text),
            // If the bytes have a NUL and are also not UTF-8, the error is about the NUL, as when a dtype is read.
            Err(_) => check_dtype(bytes).and_then(|()| Err(TextFault::not_utf8(bytes).error())),
        }
    }

    // Serde's default allocates a `String`, which needs a heap.
    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<usize, Error> {
        let mut writer = Writer::new(self.0);
        writer.display(value)?;
        Ok(writer.position())
    }

    serialize_through! { some newtype }

    serialize_rejects! { unsupported: integers bool floats char none unit variants_with_content sequences map structs }
}
