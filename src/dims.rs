//! Dimension vectors as arrays of any length. A field of a struct uses this module with the attribute
//! `#[serde(with = "b2nd_serde::dims")]`.
//!
//! Serde itself supports only arrays of up to 32 items, and no const generic as their length. This module supports
//! arrays of any length, also if the length is a const generic. The bytes, the errors and the time are the same as for
//! serde's own arrays.
//!
//! ```
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Meta<'a, const N: usize> {
//!     version: u8,
//!     ndim: u8,
//!     #[serde(with = "b2nd_serde::dims")]
//!     shape: [u64; N],
//!     #[serde(with = "b2nd_serde::dims")]
//!     chunkshape: [u32; N],
//!     #[serde(with = "b2nd_serde::dims")]
//!     blockshape: [u32; N],
//!     dtype_format: u8,
//!     dtype: &'a str,
//! }
//!
//! let bytes = b"\x97\x00\x01\x91\xd3\0\0\0\0\0\0\0\x06\x91\xd2\0\0\0\x04\x91\xd2\0\0\0\x02\
//!     \x00\xdb\0\0\0\x03|u1";
//! let meta: Meta<'_, 1> = b2nd_serde::from_slice(bytes)?;
//! assert_eq!((meta.shape, meta.chunkshape, meta.blockshape), ([6], [4], [2]));
//! let mut buffer = [0; 100];
//! assert_eq!(b2nd_serde::to_slice(&meta, &mut buffer)?, bytes);
//! # Ok::<(), b2nd_serde::Error>(())
//! ```

use core::fmt;
use core::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeTuple, Serializer};

/// Serializes an array as a tuple, as serde does. The attribute `#[serde(with = "b2nd_serde::dims")]` calls this
/// function.
///
/// ```
/// struct Three([u64; 3]);
///
/// impl serde::Serialize for Three {
///     fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
///         b2nd_serde::dims::serialize(&self.0, serializer)
///     }
/// }
///
/// let mut buffer = [0; 100];
/// let bytes = b2nd_serde::to_slice(&(0, 3, Three([6, 7, 8]), [1; 3], [1; 3], 0, "|u1"), &mut buffer)?;
/// assert_eq!((bytes[3], bytes[12]), (0x93, 6));
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
///
/// # Errors
///
/// The errors of the serializer.
#[inline]
pub fn serialize<T, S, const N: usize>(dimensions: &[T; N], serializer: S) -> Result<S::Ok, S::Error>
where
    T: Serialize,
    S: Serializer,
{
    let mut tuple = serializer.serialize_tuple(N)?;
    for dimension in dimensions {
        tuple.serialize_element(dimension)?;
    }
    tuple.end()
}

/// Deserializes an array of exactly `N` dimensions. The attribute `#[serde(with = "b2nd_serde::dims")]` calls this
/// function.
///
/// ```
/// use serde::Deserialize;
/// use serde::de::{Deserializer, IgnoredAny as Any};
///
/// struct One([u64; 1]);
///
/// impl<'de> Deserialize<'de> for One {
///     fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
///         b2nd_serde::dims::deserialize(deserializer).map(One)
///     }
/// }
///
/// let bytes = b"\x95\x00\x01\x91\xd3\0\0\0\0\0\0\0\x06\x91\xd2\0\0\0\x04\x91\xd2\0\0\0\x02";
/// let (_, _, shape, ..): (Any, Any, One, Any, Any) = b2nd_serde::from_slice(bytes)?;
/// assert_eq!(shape.0, [6]);
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
///
/// # Errors
///
/// The errors of the deserializer, and "invalid length" if there are fewer than `N` dimensions.
#[inline]
pub fn deserialize<'de, T, D, const N: usize>(deserializer: D) -> Result<[T; N], D::Error>
where
    T: Deserialize<'de> + Copy + Default,
    D: Deserializer<'de>,
{
    deserializer.deserialize_tuple(N, ArrayVisitor(PhantomData))
}

struct ArrayVisitor<T, const N: usize>(PhantomData<[T; N]>);

impl<'de, T: Deserialize<'de> + Copy + Default, const N: usize> Visitor<'de> for ArrayVisitor<T, N> {
    type Value = [T; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array of length {N}")
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<[T; N], A::Error> {
        // The array is filled in place, because it cannot be collected from an iterator. Filling in place needs the
        // bounds `Copy` and `Default`.
        let mut dimensions = [T::default(); N];
        for (index, dimension) in dimensions.iter_mut().enumerate() {
            match seq.next_element()? {
                Some(value) => *dimension = value,
                None => return Err(A::Error::invalid_length(index, &self)),
            }
        }
        Ok(dimensions)
    }
}
