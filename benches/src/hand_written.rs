//! The metalayer without serde: what one would write by hand for one struct, with all checks of the crate.
//!
//! Only layout `b2nd`, and an error says nothing but that there is one.

use std::iter;

use b2nd_serde::{Meta, Shapes};

use b2nd_serde_user::arrays::Arrays;
use b2nd_serde_user::vecs::Vecs;

const SEVEN_ENTRIES: u8 = 0x97;
const ARRAY: u8 = 0x90;
const INT64: u8 = 0xd3;
const INT32: u8 = 0xd2;
const STR32: u8 = 0xdb;
const FIXINT_MAX: u8 = 0x7f;
const MAX_NDIM: usize = 16;

/// Writes into the front of a buffer, and returns that part.
pub fn write<'a>(value: &Vecs, buffer: &'a mut [u8]) -> Option<&'a mut [u8]> {
    let bytes = buffer.get_mut(..checked_length(value)?)?;
    fill(value, bytes);
    Some(bytes)
}

/// Writes into a new vector.
pub fn write_vec(value: &Vecs) -> Option<Vec<u8>> {
    // Not `vec![0; length]`: glibc keeps freed memory at hand for `malloc`, but not for `calloc`.
    let mut bytes: Vec<u8> = iter::repeat_n(0, checked_length(value)?).collect();
    fill(value, &mut bytes);
    Some(bytes)
}

/// The length of the metalayer; `None` for a value that has none.
fn checked_length(value: &Vecs) -> Option<usize> {
    let ndim = usize::from(value.ndim);
    let is_valid = ndim <= MAX_NDIM
        && value.shape.len() == ndim
        && value.chunkshape.len() == ndim
        && value.blockshape.len() == ndim
        && value.version <= FIXINT_MAX
        && value.dtype_format <= FIXINT_MAX
        && i32::try_from(value.dtype.len()).is_ok()
        && !value.dtype.as_bytes().contains(&0);
    is_valid.then_some(3 + (1 + ndim * 9) + 2 * (1 + ndim * 5) + 6 + value.dtype.len())
}

/// Writes a valid value into just so many bytes as it takes.
fn fill(value: &Vecs, bytes: &mut [u8]) {
    let ndim = usize::from(value.ndim);
    let (head, rest) = bytes.split_at_mut(3);
    head.copy_from_slice(&[SEVEN_ENTRIES, value.version, value.ndim]);

    let (shape, rest) = rest.split_at_mut(1 + ndim * 9);
    shape[0] = ARRAY + value.ndim;
    for (item, dimension) in shape[1..].as_chunks_mut::<9>().0.iter_mut().zip(&value.shape) {
        item[0] = INT64;
        item[1..].copy_from_slice(&dimension.to_be_bytes());
    }
    let (chunkshape, rest) = rest.split_at_mut(1 + ndim * 5);
    let (blockshape, rest) = rest.split_at_mut(1 + ndim * 5);
    for (vector, dimensions) in [(chunkshape, &value.chunkshape), (blockshape, &value.blockshape)] {
        vector[0] = ARRAY + value.ndim;
        for (item, dimension) in vector[1..].as_chunks_mut::<5>().0.iter_mut().zip(dimensions) {
            item[0] = INT32;
            item[1..].copy_from_slice(&dimension.to_be_bytes());
        }
    }

    let [a, b, c, d] = i32::try_from(value.dtype.len()).expect("a checked length").to_be_bytes();
    let (head, text) = rest.split_at_mut(6);
    head.copy_from_slice(&[value.dtype_format, STR32, a, b, c, d]);
    text.copy_from_slice(value.dtype.as_bytes());
}

/// Reads into vectors and a string.
pub fn read(bytes: &[u8]) -> Option<Vecs> {
    let parts = Parts::of(bytes)?;
    Some(Vecs {
        version: parts.version,
        ndim: parts.ndim,
        shape: vector(parts.shape, int64)?,
        chunkshape: vector(parts.chunkshape, int32)?,
        blockshape: vector(parts.blockshape, int32)?,
        dtype_format: parts.dtype_format,
        dtype: parts.dtype.into(),
    })
}

/// Reads into arrays, and borrows the dtype.
pub fn read_arrays<const N: usize>(bytes: &[u8]) -> Option<Arrays<'_, [u64; N], [u32; N]>> {
    let parts = Parts::of(bytes)?;
    Some(Arrays {
        version: parts.version,
        ndim: parts.ndim,
        shape: array(parts.shape, |item| int64(item)?.try_into().ok())?,
        chunkshape: array(parts.chunkshape, |item| int32(item)?.try_into().ok())?,
        blockshape: array(parts.blockshape, |item| int32(item)?.try_into().ok())?,
        dtype_format: parts.dtype_format,
        dtype: parts.dtype,
    })
}

/// Reads into a `Meta`, by its constructor.
pub fn read_meta(bytes: &[u8]) -> Option<Meta> {
    let parts = Parts::of(bytes)?;
    if parts.version != 0 || parts.dtype_format != 0 {
        return None;
    }
    let (mut shape, mut chunkshape, mut blockshape) = ([0; MAX_NDIM], [0; MAX_NDIM], [0; MAX_NDIM]);
    Meta::new(
        Shapes {
            shape: slice(parts.shape, &mut shape, int64)?,
            chunkshape: slice(parts.chunkshape, &mut chunkshape, int32)?,
            blockshape: slice(parts.blockshape, &mut blockshape, int32)?,
        },
        parts.dtype,
    )
    .ok()
}

/// A metalayer taken apart. All is checked but the markers of the dimensions.
struct Parts<'a> {
    version: u8,
    ndim: u8,
    shape: &'a [[u8; 9]],
    chunkshape: &'a [[u8; 5]],
    blockshape: &'a [[u8; 5]],
    dtype_format: u8,
    dtype: &'a str,
}

impl<'a> Parts<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let [SEVEN_ENTRIES, version @ ..=FIXINT_MAX, ndim, rest @ ..] = bytes else { return None };
        if usize::from(*ndim) > MAX_NDIM {
            return None;
        }
        let (shape, rest) = items(rest, *ndim)?;
        let (chunkshape, rest) = items(rest, *ndim)?;
        let (blockshape, rest) = items(rest, *ndim)?;
        let [dtype_format @ ..=FIXINT_MAX, STR32, a, b, c, d, text @ ..] = rest else { return None };
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
        if length != text.len() || i32::try_from(length).is_err() || text.contains(&0) {
            return None;
        }
        let dtype = str::from_utf8(text).ok()?;
        Some(Self {
            version: *version,
            ndim: *ndim,
            shape,
            chunkshape,
            blockshape,
            dtype_format: *dtype_format,
            dtype,
        })
    }
}

/// The items of a dimension vector, each with its marker, and what is behind them.
fn items<const W: usize>(bytes: &[u8], ndim: u8) -> Option<(&[[u8; W]], &[u8])> {
    let (marker, bytes) = bytes.split_first()?;
    let (items, rest) = bytes.split_at_checked(usize::from(ndim) * W)?;
    (*marker == ARRAY + ndim).then_some((items.as_chunks().0, rest))
}

fn int64(item: [u8; 9]) -> Option<i64> {
    let [INT64, value @ ..] = item else { return None };
    Some(i64::from_be_bytes(value))
}

fn int32(item: [u8; 5]) -> Option<i32> {
    let [INT32, value @ ..] = item else { return None };
    Some(i32::from_be_bytes(value))
}

fn vector<T, const W: usize>(items: &[[u8; W]], read: impl Fn([u8; W]) -> Option<T>) -> Option<Vec<T>> {
    let mut dimensions = Vec::with_capacity(items.len());
    for item in items {
        dimensions.push(read(*item)?);
    }
    Some(dimensions)
}

fn array<T: Copy + Default, const W: usize, const N: usize>(
    items: &[[u8; W]],
    read: impl Fn([u8; W]) -> Option<T>,
) -> Option<[T; N]> {
    let items: &[[u8; W]; N] = items.try_into().ok()?;
    let mut dimensions = [T::default(); N];
    for (dimension, item) in dimensions.iter_mut().zip(items) {
        *dimension = read(*item)?;
    }
    Some(dimensions)
}

fn slice<'a, T, const W: usize>(
    items: &[[u8; W]],
    dimensions: &'a mut [T; MAX_NDIM],
    read: impl Fn([u8; W]) -> Option<T>,
) -> Option<&'a [T]> {
    for (dimension, item) in dimensions.iter_mut().zip(items) {
        *dimension = read(*item)?;
    }
    Some(&dimensions[..items.len()])
}
