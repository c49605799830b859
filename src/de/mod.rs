//! Reading. A whole metalayer is checked first, and the check selects one of two ways to decode it.
//!
//! An *ordinary* metalayer (the present layout, valid, no negative dimension) takes the fast way in `slice.rs`, which
//! is inlined into the type that is read. Everything else takes the general way in `deserializer.rs`, which also
//! explains why a type does not fit.
//!
//! ```text
//! bytes ─▶ Metalayer::ordinary ─ Some ─▶ slice.rs ──────────────▶ value
//!                 │                         │ the type does not fit (Misfit)
//!                 └─ None ─▶ deserializer.rs ◀┘ ─────────────────▶ value, or an Error with its place
//! ```

// Each module imports only from those above it.
mod methods;
mod takes;

mod read_error;

mod value;

mod vector;

mod entries;

mod names;

mod deserializer;

mod slice;

use serde::de::Deserialize;

#[cfg(not(feature = "std"))]
use crate::error::Error;
#[cfg(feature = "std")]
use crate::error::{Detail, Error};

pub use deserializer::Deserializer;

/// Reads a value from a metalayer, which must be the whole input.
///
/// Types such as `&str` borrow from the input.
///
/// # Errors
///
/// See [`ErrorKind`](crate::ErrorKind). An error in the bytes of the metalayer takes precedence over an error of the
/// type, even if it is in a later entry, so a damaged file gives the same error for every type. Bytes after the
/// metalayer are an error too, reported last.
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
    slice::read(bytes, None)
}

/// Reads a value from the metalayer at the front of the input, and returns it with the rest of the input.
///
/// Use it for files with stale bytes after the metalayer. python-blosc2 2.1 to 3.10 left them there when a metalayer
/// became shorter.
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
    let mut rest = bytes;
    match slice::read(bytes, Some(&mut rest)) {
        Ok(value) => Ok((value, rest)),
        Err(error) => Err(error),
    }
}

/// The most bytes that are read of a reader: more than the longest dtype and all other entries.
#[cfg(feature = "std")]
const MAX_READ: u64 = (1 << 31) + (1 << 10);

/// Reads a value from a reader, up to its end. Bytes after the metalayer are an error.
///
/// At most 2 GiB + 1 KiB are read: a longer metalayer does not exist. Limit a reader that you do not trust with
/// [`Read::take`](std::io::Read::take).
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
