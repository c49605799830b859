//! The filters that Blosc2 applies before compression, and their inverses.
//!
//! If `src` and `dst` have different lengths, a filter uses only as many bytes of each as the shorter one has.

mod delta;
mod shuffle;
#[cfg(test)]
mod tests;
#[cfg(feature = "compress")]
mod truncate;

#[cfg(any(feature = "compress", test))]
pub(crate) use self::delta::{bytedelta, delta};
pub(crate) use self::delta::{unbytedelta, undelta};
#[cfg(any(feature = "compress", test))]
pub(crate) use self::shuffle::{bitshuffle, shuffle};
pub(crate) use self::shuffle::{unbitshuffle, unshuffle};
#[cfg(feature = "compress")]
pub(crate) use self::truncate::truncate;
