//! Items as serde data. An item has a fixed number of bytes; the dtype determines their meaning.
//!
//! To read and write items of a structured dtype, use a struct with the same fields.
//!
//! ```
//! use b2nd_serde::Dtype;
//! # use serde_derive::{Deserialize, Serialize};
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! struct Star<'a> {
//!     ra: f64,
//!     dec: f64,
//!     #[serde(borrow)]
//!     name: &'a str,
//!     flags: (u8, bool),
//! }
//!
//! let dtype: Dtype = "[('ra', '<f8'), ('dec', '<f8'), ('name', 'S8'), ('flags', [('f0', 'u1'), ('f1', '?')])]".parse()?;
//! let stars = [
//!     Star { ra: 101.287, dec: -16.716, name: "Sirius", flags: (3, true) },
//!     Star { ra: 279.235, dec: 38.784, name: "Vega", flags: (0, false) },
//! ];
//! let mut items = vec![0; 2 * dtype.item_size()];
//! dtype.write_items(&stars, &mut items)?;
//! assert_eq!(&items[16..26], b"Sirius\0\0\x03\x01");
//!
//! let read: Vec<Star<'_>> = dtype.read_items(&items)?.collect::<Result<_, _>>()?;
//! assert_eq!(read, stars);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Serde's data model
//!
//! A type that can read a dtype can also write it, unless the table says otherwise.
//!
//! | dtype | types |
//! |---|---|
//! | `?` | `bool`; any byte but 0 is true |
//! | `i1` to `i8`, `u1` to `u8` | any integer that holds the value |
//! | `M8`, `m8` | any integer that holds the count; `NaT` is `i64::MIN` |
//! | `f2` | `f32`, `f64` (only reading), `half::f16` |
//! | `f4` | `f32`, `f64` (only reading) |
//! | `f8` | `f64`, `f32` (only writing) |
//! | `c8`, `c16` | a tuple or sequence of two floats |
//! | `S` | `&str`, `String`, `char`, the name of a unit variant; `&[u8]`, `Vec<u8>`, `[u8; N]` |
//! | `U` | `String`, `char`, the name of a unit variant; `&str` only for writing |
//! | `V`; numbers that Rust does not have: floats of 16 bytes, pairs of them, types of `ml_dtypes` | `&[u8]`, `Vec<u8>`, `[u8; N]` |
//! | a subarray | a tuple, array or sequence for each dimension |
//! | a struct | a struct or map by the names of the fields, in any order; a tuple, array or sequence by their positions |
//! | `O` | error |
//!
//! - **Nothing is lost silently**, except through `deserialize_any`, below. It is an error if the dtype has a field
//!   that the Rust type lacks, or the Rust type has a field that the dtype lacks. A value that does not fit is an error
//!   too: an `<f8` for an `f32`, an integer out of range, a text that is too long. `serde`'s `IgnoredAny` reads and
//!   ignores any field. When reading, a field of the Rust type can be missing in the dtype if it is an `Option` or has
//!   `#[serde(default)]`.
//! - A newtype struct, and an option with a value, are treated as their content. `None`, units, and variants with
//!   values are errors.
//! - The name of a field of the Rust type can be the name or the title of a field of the dtype.
//! - NULs pad texts, so a text cannot end with a NUL. A `[u8; N]` includes the padding of an `S`; a `Vec<u8>` and a
//!   `&[u8]` do not. An `S` that is not UTF-8 can be read as bytes. A surrogate in a `U` is an error.
//! - Padding is written as zeros. Where fields overlap, the bytes of the field that is written last remain.
//! - `&str` and `&[u8]` borrow from the item. A `U` cannot be read as `&str`, because it is not stored as UTF-8.
//! - `deserialize_any`, which a `serde_json::Value` uses, reads a structured dtype as a map, and an `S` that is not
//!   UTF-8 as bytes. `flatten`, `untagged` enums and internally tagged enums use `deserialize_any`, so with them an
//!   integer can be read as a float, or an `f8` as an `f32`.
//! - More than 128 levels of nesting are an error. An item of n bytes with more than 16 n + 4096 values is an error
//!   too. Without this limit, a short item could have any number of values, in empty lists, overlapping fields or
//!   fields without bytes.
//!
//! When many items are read, the dtype is compiled once, and the field names of a Rust type are compared with those of
//! the dtype once. After that, reading or writing an item needs no allocation, except for Rust types that own memory,
//! such as `String`, and for reading a `U`.

use core::iter::FusedIterator;
use core::marker::PhantomData;
use core::slice::ChunksExact;

use serde::de::Deserialize;
use serde::ser::Serialize;

use super::types::Dtype;
use de::ItemDeserializer;
use plan::Plan;
use ser::ItemSerializer;

// Each module imports only from those above it.
mod error;
mod float16;

mod plan;

mod de;
mod ser;

pub use error::ItemError;

impl Dtype {
    /// Deserializes an item. To read many items, use [`read_items`](Self::read_items).
    ///
    /// # Errors
    ///
    /// If the item has another size than the dtype, or does not fit the Rust type: see [`items`](self).
    ///
    /// ```
    /// use b2nd_serde::Dtype;
    ///
    /// let dtype: Dtype = ">f8".parse()?;
    /// assert_eq!(dtype.read_item::<f64>(&1.5_f64.to_be_bytes())?, 1.5);
    ///
    /// let error = dtype.read_item::<f32>(&[0; 8]).unwrap_err();
    /// assert_eq!(error.to_string(), "the dtype is >f8, not f32");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_item<'de, T: Deserialize<'de>>(&self, item: &'de [u8]) -> Result<T, ItemError> {
        let mut plan = Plan::new(self)?;
        self.check_len(item.len(), 1)?;
        T::deserialize(ItemDeserializer { plan: &mut plan, bytes: item })
    }

    /// Deserializes consecutive items. If the item size is 0, there are no items.
    ///
    /// # Errors
    ///
    /// If the length of `items` is not a multiple of the item size, or if the dtype contains `O`, too many levels or
    /// too many values. The iterator gives an error for each item that does not fit the Rust type.
    ///
    /// ```
    /// use b2nd_serde::Dtype;
    ///
    /// let dtype: Dtype = "[('x', '<u2'), ('y', 'u1')]".parse()?;
    /// let points: Vec<(u16, u8)> = dtype.read_items(&[1, 0, 2, 3, 0, 4])?.collect::<Result<_, _>>()?;
    /// assert_eq!(points, [(1, 2), (3, 4)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_items<'d, 'de, T: Deserialize<'de>>(
        &'d self,
        items: &'de [u8],
    ) -> Result<Items<'d, 'de, T>, ItemError> {
        let plan = Plan::new(self)?;
        let size = self.item_size();
        self.check_len(items.len(), items.len() / size.max(1))?;
        let bytes = items.chunks_exact(size.max(1));
        Ok(Items { plan, count: bytes.len(), bytes, of: PhantomData })
    }

    /// Serializes an item. Padding is written as zeros. After an error, the content of the item is not specified.
    ///
    /// # Errors
    ///
    /// If the item has another size than the dtype, or if the value does not fit the dtype: see [`items`](self).
    ///
    /// ```
    /// use b2nd_serde::Dtype;
    ///
    /// let dtype: Dtype = "{'names': ['n'], 'formats': ['>i2'], 'offsets': [1], 'itemsize': 4}".parse()?;
    /// let mut item = [0xff; 4];
    /// dtype.write_item(&(500,), &mut item)?;
    /// assert_eq!(item, [0, 1, 0xf4, 0]);
    ///
    /// let error = dtype.write_item(&(40_000,), &mut item).unwrap_err();
    /// assert_eq!(error.to_string(), "field n: 40000 is out of the range of >i2, -32768 to 32767");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_item<T: ?Sized + Serialize>(&self, value: &T, item: &mut [u8]) -> Result<(), ItemError> {
        let mut plan = Plan::new(self)?;
        self.check_len(item.len(), 1)?;
        item.fill(0);
        value.serialize(ItemSerializer { plan: &mut plan, bytes: item })
    }

    /// Serializes values as consecutive items, which must fill all the bytes. If the item size is 0, no value is
    /// serialized.
    ///
    /// # Errors
    ///
    /// The errors of [`write_item`](Self::write_item). It is also an error if the values do not fill the bytes exactly,
    /// or if the iterator gives another number of values than its `len`.
    ///
    /// ```
    /// use b2nd_serde::Dtype;
    ///
    /// let dtype: Dtype = "[('x', '<u2'), ('y', 'u1')]".parse()?;
    /// let mut items = [0; 6];
    /// dtype.write_items(&[(1, 2), (3, 4)], &mut items)?;
    /// assert_eq!(items, [1, 0, 2, 3, 0, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_items<T: Serialize>(
        &self,
        values: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
        items: &mut [u8],
    ) -> Result<(), ItemError> {
        let mut plan = Plan::new(self)?;
        let mut values = values.into_iter();
        let count = values.len();
        self.check_len(items.len(), count)?;
        if self.item_size() == 0 {
            return Ok(());
        }
        items.fill(0);
        for (number, bytes) in items.chunks_exact_mut(self.item_size()).enumerate() {
            let value = values.next().ok_or_else(|| ItemError::wrong_count(count, number))?;
            value
                .serialize(ItemSerializer { plan: &mut plan, bytes })
                .map_err(|error| error.in_item(number))?;
        }
        if values.next().is_some() { Err(ItemError::wrong_count(count, count + 1)) } else { Ok(()) }
    }

    /// Fails unless `found` is the number of bytes of `count` items.
    fn check_len(&self, found: usize, count: usize) -> Result<(), ItemError> {
        let size = self.item_size();
        if size.checked_mul(count) == Some(found) {
            return Ok(());
        }
        let items = if count == 1 { "item has" } else { "items have" };
        let expected = size.saturating_mul(count);
        Err(ItemError::new(format_args!("{count} {items} {expected} bytes, found {found}")))
    }
}

/// An iterator that deserializes items one by one, from [`Dtype::read_items`].
///
/// ```
/// use b2nd_serde::Dtype;
///
/// let dtype: Dtype = "S3".parse()?;
/// let mut names = dtype.read_items::<&str>(b"abcd\0\0")?;
/// assert_eq!(names.len(), 2);
/// assert_eq!(names.next(), Some(Ok("abc")));
/// assert_eq!(names.next(), Some(Ok("d")));
/// assert_eq!(names.next(), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Items<'d, 'de, T> {
    plan: Plan<'d>,
    bytes: ChunksExact<'de, u8>,
    /// The number of all items, read or not.
    count: usize,
    of: PhantomData<fn() -> T>,
}

// Written by hand, because a derived `Clone` would need `T: Clone`.
impl<T> Clone for Items<'_, '_, T> {
    fn clone(&self) -> Self {
        Self { plan: self.plan.clone(), bytes: self.bytes.clone(), count: self.count, of: PhantomData }
    }
}

impl<'de, T: Deserialize<'de>> Iterator for Items<'_, 'de, T> {
    type Item = Result<T, ItemError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.bytes.next()?;
        let value = T::deserialize(ItemDeserializer { plan: &mut self.plan, bytes });
        Some(value.map_err(|error| error.in_item(self.count - self.bytes.len() - 1)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.bytes.size_hint()
    }

    /// Skips `n` items without deserializing them, and returns the next item.
    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        // `ChunksExact::nth` also consumes the item that it returns, so it is used only for the skipped items.
        if let Some(last_skipped) = n.checked_sub(1) {
            self.bytes.nth(last_skipped)?;
        }
        self.next()
    }

    /// The number of items that are left, without deserializing them.
    fn count(self) -> usize {
        self.bytes.len()
    }

    /// The last item. Only this item is deserialized.
    fn last(mut self) -> Option<Self::Item> {
        self.nth(self.bytes.len().checked_sub(1)?)
    }
}

impl<'de, T: Deserialize<'de>> ExactSizeIterator for Items<'_, 'de, T> {}

impl<'de, T: Deserialize<'de>> FusedIterator for Items<'_, 'de, T> {}
