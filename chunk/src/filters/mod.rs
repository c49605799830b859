//! The filters that Blosc2 applies before compression, and their inverses.
//!
//! If `src` and `dst` have different lengths, a filter uses only as many bytes of each as the shorter one has.

// Without the feature `compress`, only the inverses are used.
#![cfg_attr(not(feature = "compress"), allow(dead_code, unused_imports))]

mod delta;
mod shuffle;
#[cfg(test)]
mod tests;
mod truncate;

pub(crate) use self::delta::{bytedelta, delta, unbytedelta, undelta};
pub(crate) use self::shuffle::{bitshuffle, shuffle, unbitshuffle, unshuffle};
pub(crate) use self::truncate::truncate;
