//! The filters that Blosc2 applies before compression, and their inverses.
//!
//! If `src` and `dst` differ in length, only the bytes up to the end of the shorter slice count.

// Without compression, only the inverses are used.
#![cfg_attr(not(feature = "compress"), allow(dead_code, unused_imports))]

mod delta;
mod shuffle;
#[cfg(test)]
mod tests;
mod truncate;

pub(crate) use self::delta::{bytedelta, delta, unbytedelta, undelta};
pub(crate) use self::shuffle::{bitshuffle, shuffle, unbitshuffle, unshuffle};
pub(crate) use self::truncate::truncate;
