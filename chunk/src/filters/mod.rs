//! The filters that Blosc2 applies before compression, and their inverses.
//!
//! If `src` and `dst` differ in length, only the bytes up to the end of the shorter one count.

mod delta;
mod shuffle;
#[cfg(test)]
mod tests;
#[cfg(feature = "compress")]
mod truncate;

#[cfg(feature = "compress")]
pub(crate) use self::truncate::truncate;
#[cfg(any(test, feature = "compress"))]
pub(crate) use self::{
    delta::{bytedelta, delta},
    shuffle::{bitshuffle, shuffle},
};
pub(crate) use self::{
    delta::{unbytedelta, undelta},
    shuffle::{unbitshuffle, unshuffle},
};
