//! Compresses to the [Zstandard](https://www.rfc-editor.org/rfc/rfc8878) format (zstd) at all levels, without C and
//! without `unsafe`. Other crates decompress.
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
//! The levels have the numbers of the C library, from 1 (fast) to 22 (small). A level gives about the same size as in
//! the C library, in about 1 to 2 times the time:
//!
//! | levels | matches are found by | and chosen by |
//! |---|---|---|
//! | 1 to 3 | a hash table | taking each match |
//! | 4 and 5 | rows of 16 candidates | taking the best match at a position |
//! | 6 | rows of 16 candidates | looking for a better match at the next position |
//! | 7 to 12 | rows of 16 candidates | looking for a better match at the next two positions |
//! | 13 to 22 | binary trees | finding the cheapest sequences |
//!
//! After a better match, the search for a still better one starts again. For data of more than 256 KiB, the levels 13 to
//! 15 do the same as 11 and 12. So the frame can be longer there than in the C library: at level 15, by 12 % for 1 MiB of
//! bytes 0 and 1 at random.
//!
//! The C library also has dictionaries, streaming, and negative levels, which are faster. This crate only compresses a
//! slice to a whole frame.
//!
//! # Frames
//!
//! The output is one frame, with the length of the data in its header, and without a checksum. The distances of matches
//! are at most 4 MiB, and RFC 8878 recommends that decoders support 8 MiB. A frame is longer than the data by at most
//! 18 bytes, and three bytes for each 128 KiB.
//!
//! The bytes of a frame depend only on the data and the level: not on the machine, and not on what an [`Encoder`]
//! compressed before.
//!
//! # Limits of memory and time
//!
//! An [`Encoder`] keeps its memory. Besides the output, it needs at most this:
//!
//! | levels | memory |
//! |---|---|
//! | 1 to 3 | 3 MiB |
//! | 4 to 12 | 8 MiB |
//! | 13 to 22 | 56 MiB |
//!
//! Less is needed for data of less than 4 MiB. No input makes this crate panic. Data of any length is compressed, in a
//! time that grows linearly with its length.

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
