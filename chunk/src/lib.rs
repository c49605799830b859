//! Decompresses and compresses the chunks of Blosc2, and checks their headers, without C.
//!
//! A chunk is the result of one call of a Blosc2 compressor. Frames (`.b2nd` and `.b2frame` files) hold many chunks.
//! Zarr and HDF5 files can hold chunks, too. The crate `b2nd-frame` reads frames.
//!
//! ```
//! # #[cfg(feature = "decompress")] {
//! use b2nd_chunk::decompress_to_vec;
//!
//! // A chunk of two items of 4 bytes, which are not compressed. At most 1 MiB of data is accepted.
//! let chunk = b"\x05\x01\x07\x04\x08\0\0\0\x08\0\0\0\x28\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x07\0\0\0\x2a\0\0\0";
//! let data = decompress_to_vec(chunk, 1 << 20)?;
//! let items: Vec<u32> = data.chunks_exact(4).map(|item| u32::from_le_bytes(item.try_into().unwrap())).collect();
//! assert_eq!(items, [7, 42]);
//! # }
//! # Ok::<(), b2nd_chunk::Error>(())
//! ```
//!
//! `decompress_to_vec` returns bytes, because a chunk records the size of its items, but not their type. To read many
//! chunks, or single blocks of a chunk, use `Chunk` and `Decompressor`. To see the sizes and the codec of a chunk
//! before it is decompressed, use [`ChunkHeader`]. `Compressor` compresses bytes to a chunk:
//!
//! ```
//! # #[cfg(feature = "compress")] {
//! use b2nd_chunk::{CParams, Compressor, decompress_to_vec};
//!
//! let items: Vec<u32> = (0..1000).collect();
//! let data: Vec<u8> = items.into_iter().flat_map(u32::to_le_bytes).collect();
//! let mut chunk = Vec::new();
//! Compressor::new(CParams::new(4))?.compress_into(&data, &mut chunk)?;
//! assert_eq!(decompress_to_vec(&chunk, 1 << 20)?, data);
//! # }
//! # Ok::<(), b2nd_chunk::Error>(())
//! ```
//!
//! # The format
//!
//! ```text
//! 0           header  16 or 32 bytes: sizes, codec, filters
//! header_len  table   the offset of each block (int32, from the start
//!                     of the chunk); a dictionary, if there is one
//!             blocks  each compressed on its own, as one stream or as
//!                     one stream per byte of an item
//! cbytes
//! ```
//!
//! The picture shows a compressed chunk. In an uncompressed chunk, the data follows the header. In a constant chunk,
//! all items are equal, and their value follows the header. If the flags of the header determine this value, for
//! example 0, nothing follows. The documentation of [`ChunkHeader`] describes the header, and the documentation of
//! `Chunk` describes the blocks.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | none | headers and tables of blocks; `no_std`, without an allocator |
//! | `decompress` | `decompress_to_vec`, `Chunk` and `Decompressor`; `no_std`, with an allocator |
//! | `compress` | `Compressor` and all of `decompress`; `no_std`, with an allocator |
//! | `std` | `From<Error>` for `io::Error`; the decoder of zstd detects the processor's instructions at run time |
//!
//! The features `decompress` and `std` are on by default.
//!
//! # What is decompressed
//!
//! - The codecs BloscLZ, LZ4, LZ4HC, zlib and zstd. A chunk can have a dictionary. For LZ4, a dictionary is any
//!   sequence of bytes. For zstd, it has the dictionary format of zstd, which C-Blosc2 writes.
//! - The filters shuffle, bitshuffle, delta, `trunc_prec`, bytedelta and `int_trunc`.
//! - Chunks of Blosc 1 and 2. All blocks of a chunk can have the same size, or different sizes.
//!
//! Chunks with other codecs or filters are refused. The error names the plugin (zfp, openzl, ndlz, ndcell, ndmean and
//! others), or the number of the codec or filter.
//!
//! These chunks are refused too:
//!
//! - Chunks whose codec, or whose item size for bytedelta, is only in the header of the frame.
//! - Constant chunks of NaN whose items have neither 4 nor 8 bytes.
//! - Chunks with measurements of a codec instead of data (instrumented chunks).
//! - Chunks with split blocks whose size is not a multiple of the item size. C-Blosc2 can write such chunks, but their
//!   data is incomplete: C-Blosc2 does not store the last bytes of each block.
//!
//! # What is compressed
//!
//! Compression supports the same filters as decompression. The codecs are BloscLZ, LZ4, zlib and zstd. The levels are
//! those of C-Blosc2, except that LZ4 gives the same result at all levels from 1 on. At each level, chunks of zstd are
//! about as large as with C-Blosc2. LZ4HC and dictionaries can be read, but not written.
//!
//! # Limits of time and memory
//!
//! No input makes this crate panic. The caller provides the memory for the decompressed data. Only `decompress_to_vec`
//! allocates this memory itself, up to a limit that the caller gives. A `Decompressor` also keeps memory for four
//! blocks, each at most as long as the data, and for tables of the codecs. A `Compressor` keeps memory for five blocks,
//! and for an encoder. The encoder of zstd needs at most 8 MiB at the levels 1 to 6, and at most 56 MiB at higher
//! levels. The time of a call grows only with the number of bytes that it reads and writes.

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![warn(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]
#![cfg_attr(test, allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used))]

#[cfg(feature = "decompress")]
extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

// Each module imports only from the modules above it.
mod codec;
mod filter;
mod split_mode;

mod header;

mod error;

mod blocks;
mod lost_page;
mod rules;

#[cfg(feature = "compress")]
mod params;

#[cfg(feature = "decompress")]
mod filters;

#[cfg(feature = "decompress")]
mod memory;

#[cfg(feature = "decompress")]
mod chunk;

#[cfg(feature = "decompress")]
mod blosclz;

#[cfg(feature = "decompress")]
mod streams;

#[cfg(feature = "compress")]
mod compressor;
#[cfg(feature = "decompress")]
mod decompressor;

#[cfg(feature = "decompress")]
pub use chunk::Chunk;
pub use codec::Codec;
#[cfg(feature = "compress")]
pub use compressor::Compressor;
#[cfg(feature = "decompress")]
pub use decompressor::{Decompressor, decompress_to_vec};
pub use error::{Error, ErrorKind};
pub use filter::Filter;
pub use header::{ChunkHeader, SpecialValue};
#[cfg(feature = "compress")]
pub use params::CParams;
pub use rules::CheckedHeader;
pub use split_mode::SplitMode;

/// Names for `b2nd-frame` only, which reads chunks in parts and repairs them. These names can change in any release.
/// Some methods of `ChunkHeader`, `Codec` and `Filter` are hidden, because they also exist only for `b2nd-frame`.
#[doc(hidden)]
pub mod internals {
    pub use crate::blocks::{BlockTable, block_starts, stream_len};
    pub use crate::header::{
        HeaderSize, INT32, MAX_BLOCKSIZE, PARTS, VERSIONS, clear_false_dictionary, clear_lazy, restore_codec,
        set_filter, stored_header, typesize_byte,
    };
    pub use crate::lost_page::{PAGE_LEN, zero_run};
}
