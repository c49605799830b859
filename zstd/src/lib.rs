//! Compresses to the [Zstandard](https://www.rfc-editor.org/rfc/rfc8878) format (zstd) at all levels, without C and
//! without `unsafe`. To decompress, use another crate, for example zrip.
//!
//! ```
//! let text = b"Each line of this text is the same as the line before.\n".repeat(100);
//! let mut frame = Vec::new();
//! zstd_encode::compress(&text, 3, &mut frame);
//! assert!(frame.len() < 100);
//!
//! assert_eq!(zrip::decompress(&frame).unwrap(), text);
//! ```
//!
//! # Levels
//!
//! The levels have the same numbers as in the C library, from 1 (fast) to 22 (small). A level gives about the same size
//! as in the C library, and takes about 1 to 2 times as long:
//!
//! | levels | matches are found by | and chosen by |
//! |---|---|---|
//! | 1 to 3 | a hash table | taking each match |
//! | 4 and 5 | rows of 16 candidates | taking the best match at a position |
//! | 6 | rows of 16 candidates | looking for a better match at the next position |
//! | 7 to 12 | rows of 16 candidates | looking for a better match at the next two positions |
//! | 13 to 22 | binary trees | finding the cheapest sequences |
//!
//! If a better match is found at a next position, the search goes on from there for a still better one. For data of
//! more than 256 KiB, the levels 13 to 15 do the same as 11 and 12. So at the levels 13 to 15, a frame can be longer
//! than the frame of the C library. For example, 1 MiB of random bytes 0 and 1 gives a frame that is 12 % longer at
//! level 15.
//!
//! The C library also has dictionaries, streaming, and negative levels, which are faster. This crate only compresses a
//! slice to a whole frame.
//!
//! # Frames
//!
//! The output is one frame, with the length of the data in its header, and without a checksum. A match is at most 4 MiB
//! away from the bytes that it copies. RFC 8878 recommends that decoders support 8 MiB, so most decoders can read the
//! frames. A frame is at most 18 bytes longer than the data, plus three bytes for each 128 KiB.
//!
//! The bytes of a frame depend only on the data and the level: not on the machine, and not on what an [`Encoder`]
//! compressed before.
//!
//! # Limits of memory and time
//!
//! An [`Encoder`] keeps its memory for the next data. In addition to the output, it needs at most this memory:
//!
//! | levels | memory |
//! |---|---|
//! | 1 to 3 | 3 MiB |
//! | 4 to 12 | 8 MiB |
//! | 13 to 22 | 56 MiB |
//!
//! For data of less than 4 MiB, the encoder needs less memory. No input makes this crate panic. The data can have any
//! length, and the time grows linearly with its length.

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
#![warn(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]
#![cfg_attr(test, allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used))]

extern crate alloc;
#[cfg(test)]
extern crate std;

// Each module imports only from the modules above it.
mod bytes;

mod bits;
mod cost;

mod fse;
mod huffman;

mod sequence;

mod literals;
mod sequences;

mod block;

mod parse;

mod levels;

mod frame;

pub use frame::{Encoder, compress, max_output_len};
