//! The position of each item of an array: its chunk, its block in the chunk, and its byte.
//!
//! An array of shape S is divided into chunks of shape C, and each chunk into blocks of shape B. The chunks of an
//! array, the blocks of a chunk and the items of a block are in C order: the last dimension varies fastest. Along each
//! dimension,
//!
//! | | | method |
//! |---|---|---|
//! | E = ⌈S / C⌉ × C | the shape, rounded up to whole chunks | [`extended_shape`](Geometry::extended_shape) |
//! | P = ⌈C / B⌉ × B | the chunk shape, rounded up to whole blocks | [`padded_chunk`](Geometry::padded_chunk) |
//! | G = E / C | the grid of chunks | [`grid_of_chunks`](Geometry::grid_of_chunks) |
//! | H = P / B | the blocks of a chunk | [`blocks_per_chunk`](Geometry::blocks_per_chunk) |
//!
//! A decompressed chunk has as many items as an array of shape P, but stores them block after block. A chunk with more
//! than one block is therefore not itself an array in C order. All chunks have the same length, including those at the
//! end of the array.
//!
//! ```
//! use b2nd_serde::{Geometry, Shapes};
//!
//! let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
//! assert_eq!(geometry.extended_shape(), [4, 6]);
//! assert_eq!(geometry.padded_chunk(), [2, 4]);
//! assert_eq!(geometry.grid_of_chunks(), [2, 2]);
//! assert_eq!(geometry.blocks_per_chunk(), [2, 2]);
//! # Ok::<(), b2nd_serde::geometry::Error>(())
//! ```
//!
//! # Reading an array
//!
//! To assemble an array, iterate over its chunks: [`Chunk::scatter`] copies the items of a decompressed chunk to their
//! places in the array, and [`Chunk::gather`] copies them back. [`Geometry::chunks_in`] iterates over the chunks of a
//! slice.
//!
//! ```
//! use b2nd_serde::{Geometry, Shapes};
//!
//! # fn decompressed_chunk(number: u64) -> Vec<u8> {
//! #     // 4 blocks of 2 items; 0xff is padding.
//! #     [
//! #         [0, 1, 2, 0xff, 5, 6, 7, 0xff],
//! #         [3, 4, 0xff, 0xff, 8, 9, 0xff, 0xff],
//! #         [10, 11, 12, 0xff, 0xff, 0xff, 0xff, 0xff],
//! #         [13, 14, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
//! #     ][number as usize].to_vec()
//! # }
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let geometry = Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] })?;
//! let typesize = 1;
//! let mut array = [0; 15];
//! for chunk in geometry.chunks() {
//!     let bytes = decompressed_chunk(chunk.number());
//!     chunk.scatter(&bytes, typesize, &mut array)?;
//! }
//! assert_eq!(array, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]);
//! # Ok(())
//! # }
//! ```
//!
//! To copy items to a file or to an array in another order, iterate over the [blocks](Chunk::blocks) of each chunk and
//! the [runs](Block::runs) of each block. The items of a run are contiguous both in the chunk and in the array.
//!
//! # What is accepted
//!
//! [`Geometry::new`] accepts shapes that follow these rules:
//!
//! - The three shapes have the same number of dimensions, at most 16. No number is negative.
//! - If S > 0, then C > 0. If C > 0, then B > 0. A chunk may be larger than the array, and a block larger than the
//!   chunk.
//! - The products of S and of E over all dimensions fit int64. The products of C and of B fit int32. Without dimensions
//!   the product is 1.
//!
//! The draft specification of the format and C-Blosc2 3.3.5 have nearly the same rules. In the following cases, one of
//! them differs from this crate, or the result may be a surprise:
//!
//! - S = 0, C = 5, B = 0: the draft specification allows it, but C-Blosc2 and this crate reject it. Such a chunk has
//!   items, but no blocks for them.
//! - S = 0, C = 0, B = 1: the draft specification, C-Blosc2 and this crate allow it. The array has no chunks, so E, P,
//!   G and H are 0 for any B.
//! - Products with a zero are 0 here, even if the other factors overflow. C-Blosc2 multiplies from the first dimension
//!   on, and rejects a product that overflows before the zero: it opens S = \[0, 2^40, 2^40\], but not \[2^40, 2^40,
//!   0\]. The draft specification does not define the order, so this crate accepts both. But if the E of a single
//!   dimension does not fit int64, this crate rejects the shape, even if another dimension is 0.
//! - S near the limit of int64: C-Blosc2 adds a whole chunk to S before it checks the limit, and therefore rejects S =
//!   2^63 - 2 with C = 7. This crate accepts this shape, because E is 2^63 - 1, which fits int64.
//! - A version other than 0: C-Blosc2 ignores the version. `Meta::geometry` rejects the metalayer, because the rules of
//!   other versions are not known.
//! - A chunk larger than the limit of Blosc2, about 2 GiB: C-Blosc2 opens the array, but cannot read from it.
//!   [`Geometry::new`] does not know the type size, and accepts such a chunk; [`Geometry::chunk_nbytes`] rejects it.

mod dimensions;
mod error;

mod axis;
mod walk;

mod extent;
mod grid;
mod run;

// More methods of `Geometry`. rustdoc lists them in the order of these modules.
mod chunk;
mod default;
mod position;
mod resize;

pub use chunk::{Block, Blocks, Chunk, Chunks};
pub use dimensions::Dimensions;
pub use error::{Error, ErrorKind};
pub use extent::Extent;
pub use grid::Geometry;
pub use position::Position;
pub use resize::Resize;
pub use run::{Run, Runs};
