//! The chunk and block shapes of a new array.

use super::Geometry;
use super::dimensions::Dimensions;

/// The targets for the sizes of a block and of a chunk in bytes. A block of 128 KiB, together with its compressed
/// bytes, fits the L2 cache of a core. A chunk of 4 MiB has 32 such blocks.
const BLOCK_NBYTES: u64 = 1 << 17;
const CHUNK_NBYTES: u64 = 1 << 22;

/// If a dimension is shorter than this number of parts of the target length, the parts are shortened so that the last
/// part is nearly as long as the others. With so few parts, the padding of a short last part would be a large share of
/// the dimension.
const MANY_PARTS: u64 = 8;

impl Geometry {
    /// The block shape of a new array: about 128 KiB of items. `shape` is the shape of the array, or the chunk shape if
    /// the caller has chosen one.
    ///
    /// The last dimension is divided first, and the first dimension last. Along each dimension, a block is as long as
    /// the target size allows. But if the dimension is shorter than 8 blocks of this length, the blocks are shortened
    /// so that the last block is nearly as long as the others. If a block does not span a dimension, it has 1 item
    /// along each earlier dimension. So the items of a block are contiguous in an array in C order. The result depends
    /// only on the shape and the item size, while python-blosc2 looks at the caches of the machine. A dimension of 0
    /// items is expected to grow, so it is treated like a very long dimension.
    ///
    /// | shape | item size | chunk shape | block shape |
    /// |---|---|---|---|
    /// | \[10000000\] | 8 | \[524288\] | \[16384\] |
    /// | \[4000, 5000\] | 4 | \[204, 5000\] | \[6, 5000\] |
    /// | \[160, 512, 512\] | 2 | \[8, 512, 512\] | \[1, 128, 512\] |
    /// | \[20, 100, 200, 50\] | 4 | \[1, 100, 200, 50\] | \[1, 3, 200, 50\] |
    /// | \[1000000, 3\] | 8 | \[169291, 3\] | \[5461, 3\] |
    /// | \[3, 1000000\] | 8 | \[1, 507904\] | \[1, 16384\] |
    /// | \[0, 1000\] | 8 | \[512, 1000\] | \[16, 1000\] |
    /// | \[600, 400\] | 8 | \[600, 400\] | \[40, 400\] |
    ///
    /// ```
    /// use b2nd_serde::Geometry;
    ///
    /// let (shape, typesize) = ([160, 512, 512], 2);
    /// let blockshape = Geometry::default_blockshape(&shape, typesize);
    /// assert_eq!(blockshape, [1, 128, 512]);
    /// assert_eq!(Geometry::default_chunkshape(&shape, &blockshape, typesize), [8, 512, 512]);
    /// ```
    #[must_use]
    pub fn default_blockshape(shape: &[u64], typesize: usize) -> Dimensions {
        let mut left = items(BLOCK_NBYTES, typesize);
        parts(shape, |items| {
            let part = part(items, left);
            left = (left / part).max(1);
            part
        })
    }

    /// The chunk shape of a new array with these blocks: about 4 MiB of items. Along a dimension that a chunk does not
    /// span, the chunk is a whole number of blocks long. All other rules are those of
    /// [`default_blockshape`](Self::default_blockshape), which has a table of examples.
    #[must_use]
    pub fn default_chunkshape(shape: &[u64], blockshape: &[u64], typesize: usize) -> Dimensions {
        let block_nitems =
            blockshape.iter().fold(1, |product: u64, &items| product.saturating_mul(items.max(1)));
        let mut left = (items(CHUNK_NBYTES, typesize) / block_nitems).max(1);
        let mut blocks = Dimensions::collect(blockshape.iter().copied());
        let mut blocks = blocks.numbers_mut().rev();
        parts(shape, |items| {
            let block = blocks.next().map_or(1, |block| (*block).max(1));
            let nblocks = part(items.div_ceil(block), left);
            left = (left / nblocks).max(1);
            // If a chunk spans the dimension, its length is the length of the dimension, and is not rounded up to whole
            // blocks. Any other chunk is a whole number of blocks long. Along a dimension of 0 items, a chunk is a
            // whole number of blocks long too, because the dimension is expected to grow.
            if nblocks.saturating_mul(block) < items || items == 0 { nblocks * block } else { items }
        })
    }
}

/// The number of items that fit `nbytes` bytes, but at least 1.
fn items(nbytes: u64, typesize: usize) -> u64 {
    nbytes.checked_div(typesize as u64).unwrap_or(nbytes).max(1)
}

/// Replaces each dimension by the result of `part` for this dimension, from the last dimension to the first.
fn parts(shape: &[u64], mut part: impl FnMut(u64) -> u64) -> Dimensions {
    let mut parts = Dimensions::collect(shape.iter().copied());
    parts.numbers_mut().rev().for_each(|items| *items = part(*items));
    parts
}

/// The length of the parts into which a dimension of `items` items is divided. It is at most `most`.
fn part(items: u64, most: u64) -> u64 {
    match items {
        0 => most,
        _ if items <= most => items,
        _ if items / most < MANY_PARTS => items.div_ceil(items.div_ceil(most)),
        _ => most,
    }
}
