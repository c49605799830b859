//! Writes metalayers. The number of entries of a value determines its layout, and the position of an entry determines
//! its encoding.
//!
//! ```text
//!                                                         ┌─▶ IntegerSerializer ─┐
//! value ─▶ Serializer ──────────▶ SerializeMetalayer ─────┼─▶ VectorSerializer ──┼─▶ Writer ─▶ bytes
//!                                 one call for each entry └─▶ TextSerializer ────┘
//! ```
//!
//! A `Meta` is a struct whose first field gives the layout (see `meta.rs`).

#[cfg(feature = "alloc")]
use alloc::{boxed::Box, vec::Vec};
use core::fmt::Display;
use core::marker::PhantomData;

use serde::Serialize;
use serde::ser::SerializeStruct;

use crate::error::{Detail, Error, LayoutFault, TextFault, ValueType, out_of_range};
use crate::layout::{Encoding, Entry, Layout, META_FIELDS, META_LAYOUT, ParseLayoutError, may_be_meta};
use crate::macros::{serialize_elements, serialize_rejects, serialize_through, serializer_types};
use crate::wire::{FixedInt, Slots, Writer, check_dtype};

/// The bytes reserved for the dtype in a new vector: enough for every dtype except structs and subarrays.
#[cfg(feature = "alloc")]
const DTYPE_ROOM: usize = 16;

/// Writes a value as a metalayer into a new vector. The capacity of the vector can be some bytes more than its length.
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

/// The number of bytes of the metalayer that a value is written as.
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
    let mut length = 0;
    value.serialize(MeasuringSerializer {
        writer: Writer::new(&mut []),
        length: &mut length,
        layout: None,
    })?;
    Ok(length)
}

#[cfg(feature = "alloc")]
#[inline]
fn new_vec<T: Serialize + ?Sized>(value: &T, layout: Option<Layout>) -> Result<Vec<u8>, Error> {
    // For nearly every dtype, this call writes the whole metalayer. If the dtype is longer than `DTYPE_ROOM`, the call
    // only measures the length of the metalayer.
    let (bytes, length) = allocated(value, layout, DTYPE_ROOM)?;
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
    let (bytes, written) = allocated(value, layout, dtype_room)?;
    // The second call of `Serialize` may write another value. The allocation has room for the dimensions of the second
    // value, but for a dtype only as long as that of the first value. If the second value has fewer dimensions and a
    // longer dtype, it can have the same length as the first value, but not fit the allocation.
    if written == length && length <= bytes.len() {
        Ok(shortened(bytes, length))
    } else {
        Err(Error::new(Detail::Unstable))
    }
}

/// Writes a metalayer to a new allocation with room for a dtype of this length. Returns the allocation, and the length
/// of the metalayer, which may exceed the allocation.
#[cfg(feature = "alloc")]
#[inline(always)]
fn allocated<T: Serialize + ?Sized>(
    value: &T,
    layout: Option<Layout>,
    dtype_room: usize,
) -> Result<(Box<[u8]>, usize), Error> {
    let (mut bytes, mut length) = (Box::default(), 0);
    let writer = Writer::allocating(&mut bytes, dtype_room);
    value.serialize(MeasuringSerializer { writer, length: &mut length, layout })?;
    Ok((bytes, length))
}

// Truncates the vector and does not shrink it to fit, because a reallocation would cost more than the few spare bytes.
// Inlined, like most functions that are called when a metalayer is written: see `SerializeMetalayer`.
#[cfg(feature = "alloc")]
#[inline(always)]
fn shortened(bytes: Box<[u8]>, length: usize) -> Vec<u8> {
    let mut bytes = Vec::from(bytes);
    bytes.truncate(length);
    bytes
}

/// The error for a kind of value that cannot be written in this position.
// All generated methods call this one function, so each generated method is short.
#[cold]
fn unsupported<S, T>(_: &S, found: ValueType) -> Result<T, Error> {
    Err(Error::new(Detail::Unsupported(found)))
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
}

impl<'a> Serializer<'a> {
    /// A serializer that writes to the front of a buffer.
    #[must_use]
    #[inline]
    pub fn new(buffer: &'a mut [u8]) -> Self {
        Self { buffer, position: 0, layout: None }
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

    /// Starts the next metalayer at the current position of the buffer.
    #[inline(always)]
    fn start(&mut self, layout: Layout) -> SerializeMetalayer<'_, true> {
        let buffer = self.buffer.get_mut(self.position..).unwrap_or_default();
        SerializeMetalayer::new(layout, Writer::new(buffer), &mut self.position)
    }
}

/// A serializer for one metalayer, which may be longer than the buffer of the writer.
// A type of its own, not a flag of `Serializer`: otherwise `to_vec` and `to_slice` would share the code that serializes a
// type, and it would be inlined into neither.
struct MeasuringSerializer<'s> {
    writer: Writer<'s>,
    /// Increased by the length of the metalayer when it is complete.
    length: &'s mut usize,
    /// The requested layout. If it is `None`, the number of entries selects the layout.
    layout: Option<Layout>,
}

impl<'s> MeasuringSerializer<'s> {
    #[inline(always)]
    fn start(self, layout: Layout) -> SerializeMetalayer<'s, false> {
        SerializeMetalayer::new(layout, self.writer, self.length)
    }
}

/// Implements [`serde::Serializer`] for a type with a method `start`, which starts a metalayer.
macro_rules! metalayer_serializer {
    ($serializer:ty => $metalayer:ty) => {
        impl<'s> serde::Serializer for $serializer {
            serializer_types! { (), Error, elements: $metalayer, fields: $metalayer }

            #[inline(always)]
            fn serialize_seq(self, len: Option<usize>) -> Result<Self::SerializeSeq, Error> {
                match (len, self.layout) {
                    (Some(len), _) => self.serialize_tuple(len),
                    // The length of the sequence is not known. The layout determines how many entries there must be, and
                    // `end` checks this.
                    (None, Some(layout)) => Ok(self.start(layout)),
                    (None, None) => Err(LayoutFault::UnknownCount.error()),
                }
            }

            #[inline(always)]
            fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple, Error> {
                let layout = layout_of(len, self.layout)?;
                Ok(self.start(layout))
            }

            #[inline(always)]
            fn serialize_struct(
                self,
                name: &'static str,
                len: usize,
            ) -> Result<Self::SerializeStruct, Error> {
                // A `Meta` is recognized before the number of fields is checked, because it has eight fields in every
                // layout. serde passes the names of the fields one by one, so they are compared later.
                if may_be_meta(name, len) {
                    let next_field = NextField::MetaLayout(self.layout);
                    return Ok(SerializeMetalayer { next_field, ..self.start(Layout::B2nd) });
                }
                self.serialize_tuple(len)
            }

            serialize_through! { some newtype tuple_struct }

            serialize_rejects! { unsupported: integers bool floats char str bytes none unit variants map }
        }
    };
}

metalayer_serializer! { &'s mut Serializer<'_> => SerializeMetalayer<'s, true> }
metalayer_serializer! { MeasuringSerializer<'s> => SerializeMetalayer<'s, false> }

/// The layout of a value with this number of entries.
#[inline(always)]
fn layout_of(gives: usize, requested: Option<Layout>) -> Result<Layout, Error> {
    match requested {
        None => Layout::of_entries(gives).ok_or_else(|| LayoutFault::NoLayout { gives }.error()),
        Some(layout) if layout.entries().len() == gives => Ok(layout),
        Some(layout) => Err(LayoutFault::Gives { layout, gives }.error()),
    }
}

/// The value of [`SerializeMetalayer::next`] after an error. No layout has an entry at this position, so writing cannot
/// continue.
const FAILED: u8 = u8::MAX;

/// A metalayer that is being written, entry by entry. With `MUST_FIT`, one that is longer than the buffer is an error.
// The methods that choose the entry of a field are `inline(always)`. Only then can the compiler remove the comparisons
// of names and the matches over entries, because it knows the entry of each field.
#[derive(Debug)]
pub struct SerializeMetalayer<'s, const MUST_FIT: bool> {
    writer: Writer<'s>,
    /// Increased by the length of the metalayer when it is complete.
    written: &'s mut usize,
    /// The layout to write.
    layout: Layout,
    /// The layout whose entries the value gives. It differs from `layout` only for a `Meta`, which gives all entries,
    /// also those that its layout lacks.
    given: Layout,
    /// The position of the next entry in `given`; [`FAILED`] after an error, even if the `Serialize` of the value ignores
    /// the error.
    next: u8,
    ndim: u8,
    next_field: NextField,
}

impl<'s, const MUST_FIT: bool> SerializeMetalayer<'s, MUST_FIT> {
    #[inline(always)]
    fn new(layout: Layout, writer: Writer<'s>, written: &'s mut usize) -> Self {
        Self { writer, written, layout, given: layout, next: 0, ndim: 0, next_field: NextField::Entry }
    }

    #[inline(always)]
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let Some(entry) = self.given.entry(self.next) else {
            // If `next` is `FAILED`, the value has ignored an earlier error. `gives` is then `FAILED` too, and
            // `wrong_count` returns an error that says this.
            let gives = self.next.saturating_add(1);
            self.next = FAILED;
            return Err(wrong_count(self.given, gives));
        };
        match self.write(entry, value) {
            Ok(()) => {
                self.next += 1;
                Ok(())
            }
            Err(error) => {
                self.next = FAILED;
                Err(error.in_entry(entry))
            }
        }
    }

    #[inline(always)]
    fn write<T: Serialize + ?Sized>(&mut self, entry: Entry, value: &T) -> Result<(), Error> {
        let writer = &mut self.writer;
        match entry.encoding() {
            _ if !self.layout.has(entry) => {}
            Encoding::Fixint if entry == Entry::Version => writer.version(integer(value)?)?,
            Encoding::Fixint => writer.fixint(integer(value)?)?,
            Encoding::Ndim => {
                self.ndim = integer(value)?;
                writer.start(self.layout, self.ndim)?;
            }
            Encoding::Int64s => {
                let slots = writer.vector::<i64>(self.ndim);
                value.serialize(VectorSerializer { slots, entry, ndim: self.ndim })?;
            }
            Encoding::Int32s => {
                let slots = writer.vector::<i32>(self.ndim);
                value.serialize(VectorSerializer { slots, entry, ndim: self.ndim })?;
            }
            Encoding::Str32 => {
                let length = value.serialize(TextSerializer(writer.rest()))?;
                writer.skip(length);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn finish(self) -> Result<(), Error> {
        if usize::from(self.next) != self.given.entries().len() {
            return Err(wrong_count(self.given, self.next));
        }
        if MUST_FIT {
            self.writer.check_room()?;
        }
        *self.written += self.writer.position();
        Ok(())
    }
}

#[cold]
fn wrong_count(layout: Layout, gives: u8) -> Error {
    if gives == FAILED {
        return Error::new(Detail::IgnoredError);
    }
    LayoutFault::Gives { layout, gives: gives.into() }.error()
}

serialize_elements! { #[inline(always)] impl[const MUST_FIT: bool] SerializeMetalayer<'_, MUST_FIT> => (), Error }

// Structs. A `Meta` is a struct of its layout and all seven entries.

/// The role of the next field of a struct.
#[derive(Clone, Copy, Debug)]
enum NextField {
    /// An entry.
    Entry,
    /// The field `layout` of a `Meta`. It must equal the requested layout, if there is one.
    MetaLayout(Option<Layout>),
    /// An entry of a `Meta`.
    MetaEntry,
}

impl<const MUST_FIT: bool> SerializeMetalayer<'_, MUST_FIT> {
    /// Checks that a field with a well-known name is in the position of its own entry. A field of a `Meta` must have the
    /// name of its entry.
    #[inline(always)]
    fn check_name(&self, key: &'static str) -> Result<(), Error> {
        match (self.next_field, self.given.entry(self.next)) {
            (NextField::Entry, Some(entry)) if !entry.can_be_field(key) => {
                Err(LayoutFault::FieldOrder { field: key, layout: self.layout }.error().in_entry(entry))
            }
            (NextField::MetaEntry, entry) if entry.is_none_or(|entry| entry.name() != key) => {
                Err(wrong_meta_fields())
            }
            _ => Ok(()),
        }
    }

    /// Reads the layout from the first field of a `Meta`. Fails if another layout was requested.
    #[inline(always)]
    fn meta_layout<T: Serialize + ?Sized>(
        &mut self,
        key: &str,
        value: &T,
        asked: Option<Layout>,
    ) -> Result<(), Error> {
        if key != META_LAYOUT {
            return Err(wrong_meta_fields());
        }
        let value = value.serialize(LayoutSerializer)?;
        match asked {
            Some(asked) if asked != value => Err(LayoutFault::OtherLayout { value, asked }.error()),
            _ => {
                self.layout = value;
                self.next_field = NextField::MetaEntry;
                Ok(())
            }
        }
    }
}

impl<const MUST_FIT: bool> SerializeStruct for SerializeMetalayer<'_, MUST_FIT> {
    type Ok = ();
    type Error = Error;

    #[inline(always)]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        let checked = match self.next_field {
            NextField::MetaLayout(asked) => self.meta_layout(key, value, asked),
            _ => self.check_name(key).and_then(|()| self.element(value)),
        };
        // Records the failure, because a `Serialize` may ignore the error and continue.
        if checked.is_err() {
            self.next = FAILED;
        }
        checked
    }

    #[inline(always)]
    fn end(self) -> Result<(), Error> {
        self.finish()
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

    serialize_rejects! { unsupported: integers bool floats char display bytes none unit variants sequences map structs }
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

#[inline]
fn check_count(found: usize, ndim: u8) -> Result<(), Error> {
    if found == usize::from(ndim) { Ok(()) } else { Err(wrong_dimensions(found, ndim)) }
}

#[cold]
fn wrong_dimensions(found: usize, ndim: u8) -> Error {
    Error::new(Detail::Dimensions { found, ndim })
}

/// The value of `count` after an error in a dimension. The `Serialize` of a vector may ignore the error and write
/// further dimensions, which are counted from this value on. So the count stays above every `ndim`, and far from an
/// overflow.
const FAILED_COUNT: usize = usize::MAX / 2;

impl<'s, W: FixedInt + Width> serde::Serializer for VectorSerializer<'s, W> {
    serializer_types! { (), Error, elements: SerializeVector<'s, W> }

    #[inline]
    fn serialize_seq(self, len: Option<usize>) -> Result<Self::SerializeSeq, Error> {
        if let Some(len) = len {
            check_count(len, self.ndim)?;
        }
        Ok(SerializeVector { slots: self.slots, entry: self.entry, ndim: self.ndim, count: 0 })
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
    count: usize,
}

impl<W: FixedInt + Width> SerializeVector<'_, W> {
    #[cold]
    fn wrong(&self) -> Error {
        if self.count < FAILED_COUNT {
            wrong_dimensions(self.count, self.ndim)
        } else {
            Error::new(Detail::IgnoredError)
        }
    }

    // Inlined: see `SerializeMetalayer`.
    #[inline(always)]
    fn put<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        match integer(value) {
            Ok(dimension) => self.slots.put(dimension),
            Err(error) => {
                let error = error.in_dimension(self.entry, self.count);
                self.count = FAILED_COUNT;
                return Err(error);
            }
        }
        self.count += 1;
        Ok(())
    }

    #[inline]
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.put(value)?;
        // The count is checked here and not only in `finish`, because a sequence may be infinite.
        if self.count > usize::from(self.ndim) { Err(self.wrong()) } else { Ok(()) }
    }

    #[inline]
    fn finish(self) -> Result<(), Error> {
        if self.count == usize::from(self.ndim) { Ok(()) } else { Err(self.wrong()) }
    }
}

serialize_elements! { #[inline] impl[W: FixedInt + Width] SerializeVector<'_, W> => (), Error }

/// The serializer for a string, UTF-8 bytes, or a value that is serialized through its `Display`. It writes to the
/// front of the slice, and returns the number of bytes, including bytes that did not fit.
// It does not get the writer of the metalayer: a reference to that writer would keep its fields in memory.
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
            // A NUL is found first, as when a dtype is read.
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
