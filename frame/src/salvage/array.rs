//! The array's metalayer, with its markers restored or its entries given.

use core::fmt;

use b2nd_serde::dtype::Dtype;
use b2nd_serde::{Layout, MAX_NDIM, Meta, Shapes, take_from_slice};

use crate::error::Error;
use crate::format::marker::Marker;

/// Entries of the array's metalayer that the caller knows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    pub(crate) shape: Option<Vec<i64>>,
    pub(crate) chunkshape: Option<Vec<i32>>,
    pub(crate) blockshape: Option<Vec<i32>>,
    pub(crate) dtype: Option<String>,
}

impl Given {
    /// Whether no entry is given.
    pub(super) fn is_empty(&self) -> bool {
        let Self { shape, chunkshape, blockshape, dtype } = self;
        shape.is_none() && chunkshape.is_none() && blockshape.is_none() && dtype.is_none()
    }

    /// The metalayer with the given entries, and the old ones for the rest.
    pub(super) fn apply(&self, old: Option<&Meta>) -> Result<Meta, Error> {
        let Self { shape, chunkshape, blockshape, dtype } = self;
        if let Some(old) = old.filter(|_| self.is_empty()) {
            return Ok(old.clone());
        }
        let shapes = old.map(Meta::shapes);
        let dtype = dtype.clone().or_else(|| Some(old?.dtype()?.to_owned()));
        let shape = shape.as_deref().or(shapes.map(|shapes| shapes.shape));
        let chunkshape = chunkshape.as_deref().or(shapes.map(|shapes| shapes.chunkshape));
        let blockshape = blockshape.as_deref().or(shapes.map(|shapes| shapes.blockshape));
        let (Some(shape), Some(chunkshape), Some(blockshape), Some(dtype)) =
            (shape, chunkshape, blockshape, dtype)
        else {
            return Err(Error::array_unknown(
                "the array's metalayer cannot be read: give its shape, chunk shape, block shape and dtype",
            ));
        };
        // NumPy's names such as `uint16` become type strings. A text that is not a dtype is refused later.
        let dtype = dtype.parse::<Dtype>().map_or(dtype, |dtype| dtype.type_string().to_string());
        Meta::new(Shapes { shape, chunkshape, blockshape }, &dtype).map_err(Error::array_unknown)
    }
}

/// The entries that are given, such as `shape [3, 5]`.
impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shape, chunkshape, blockshape, dtype } = self;
        let entries = [
            shape.as_ref().map(|shape| format!("shape {shape:?}")),
            chunkshape.as_ref().map(|chunkshape| format!("chunkshape {chunkshape:?}")),
            blockshape.as_ref().map(|blockshape| format!("blockshape {blockshape:?}")),
            dtype.as_ref().map(|dtype| format!("dtype {dtype}")),
        ];
        f.write_str(&entries.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// The metalayer of an array, and its bytes.
pub(super) type ArrayMetalayer = (Meta, Vec<u8>);

/// Reads the metalayer of an array, if it has a valid geometry. Stale bytes after its entries are dropped.
pub(super) fn read(content: &[u8]) -> Option<ArrayMetalayer> {
    let is_valid =
        |meta: &Meta| meta.geometry().is_ok() && meta.dtype_format().is_none_or(|format| format == 0);
    read_any(content).filter(|(meta, _)| is_valid(meta))
}

/// Reads the metalayer of an array with any geometry and dtype format: those of its entries that are wrong can be
/// given.
pub(super) fn read_any(content: &[u8]) -> Option<ArrayMetalayer> {
    let (meta, rest) = take_from_slice::<Meta>(content).ok()?;
    let bytes = content.get(..content.len() - rest.len())?;
    Some((meta, bytes.to_vec()))
}

/// Reads the metalayer of an array after restoring its markers and counts.
pub(super) fn restore(content: &[u8]) -> Option<ArrayMetalayer> {
    let mut ranks: Vec<u8> = (0..=MAX_NDIM).filter(|&rank| votes(content, rank) > 0).collect();
    // The metalayer has the number of dimensions four times: try the most frequent value first.
    ranks.sort_by_key(|&rank| core::cmp::Reverse(votes(content, rank)));
    ranks.into_iter().find_map(|rank| read(&restored(content, rank)?))
}

/// The offset and the integer size of each of the three dimension vectors, and the offset after them.
fn vectors(rank: u8) -> ([(usize, usize); 3], usize) {
    let rank = usize::from(rank);
    let [long, short] = [8, 4].map(|item| 1 + rank * (1 + item));
    ([(3, 8), (3 + long, 4), (3 + long + short, 4)], 3 + long + 2 * short)
}

fn vector_marker(rank: u8) -> u8 {
    Marker::FixArray(0).to_u8() + rank
}

/// Counts how many of the four copies of the number of dimensions agree with this rank.
fn votes(content: &[u8], rank: u8) -> usize {
    let (vectors, _) = vectors(rank);
    let of_vectors = vectors.iter().filter(|(at, _)| content.get(*at) == Some(&vector_marker(rank))).count();
    of_vectors + usize::from(content.get(2) == Some(&rank))
}

/// The metalayer of layout `b2nd` with all markers and counts overwritten.
// Widths are fixed, so every marker and count follows from the number of dimensions and from the length of the content.
fn restored(content: &[u8], rank: u8) -> Option<Vec<u8>> {
    let mut bytes = content.to_vec();
    let mut set = |at: usize, byte: u8| bytes.get_mut(at).map(|slot| *slot = byte);
    let entries = u8::try_from(Layout::B2nd.entries().len()).ok()?;
    set(0, Marker::FixArray(entries).to_u8())?;
    set(1, 0)?;
    set(2, rank)?;
    let (vectors, end) = vectors(rank);
    for (at, item) in vectors {
        set(at, vector_marker(rank))?;
        let marker = if item == 8 { Marker::I64 } else { Marker::I32 }.to_u8();
        for number in 0..usize::from(rank) {
            set(at + 1 + number * (1 + item), marker)?;
        }
    }
    set(end, 0)?;
    set(end + 1, Marker::Str32.to_u8())?;
    let length = i32::try_from(content.len().checked_sub(end + 6)?).ok()?;
    for (byte, at) in length.to_be_bytes().into_iter().zip(end + 2..) {
        set(at, byte)?;
    }
    Some(bytes)
}
