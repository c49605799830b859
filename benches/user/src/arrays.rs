//! Structs that are read without an allocation, each for arrays of one rank. Several functions read each struct.

use b2nd_serde::{Error, from_slice, take_from_slice, to_slice};
use serde::{Deserialize, Serialize};

/// A struct of all entries. For rank `N`, the type `Shape` is `[u64; N]`, and `Chunk` is `[u32; N]`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Arrays<'a, Shape, Chunk> {
    pub version: u8,
    pub ndim: u8,
    pub shape: Shape,
    pub chunkshape: Chunk,
    pub blockshape: Chunk,
    pub dtype_format: u8,
    pub dtype: &'a str,
}

/// The same struct as `Arrays`, but with the field names of python-blosc2.
#[derive(Debug, PartialEq, Deserialize)]
pub struct OwnNames<'a, Shape, Chunk> {
    pub version: u8,
    pub ndim: u8,
    pub shape: Shape,
    pub chunks: Chunk,
    pub blocks: Chunk,
    pub dtype_format: u8,
    pub dtype: &'a str,
}

/// The same struct as `Arrays`, but with the library's helper for arrays (`b2nd_serde::dims`).
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Dims<'a, const N: usize> {
    pub version: u8,
    pub ndim: u8,
    #[serde(with = "b2nd_serde::dims")]
    pub shape: [u64; N],
    #[serde(with = "b2nd_serde::dims")]
    pub chunkshape: [u32; N],
    #[serde(with = "b2nd_serde::dims")]
    pub blockshape: [u32; N],
    pub dtype_format: u8,
    pub dtype: &'a str,
}

macro_rules! ranks {
    ($($module:ident $rank:literal)*) => { $(
        pub mod $module {
            use super::{Deserialize, Error, from_slice, take_from_slice, to_slice};

            pub type Arrays<'a> = super::Arrays<'a, [u64; $rank], [u32; $rank]>;
            pub type Dims<'a> = super::Dims<'a, $rank>;
            pub type OwnNames<'a> = super::OwnNames<'a, [u64; $rank], [u32; $rank]>;

            /// The entries as a tuple struct, without names.
            #[derive(Debug, PartialEq, Deserialize)]
            pub struct Tuple<'a>(u8, u8, [u64; $rank], [u32; $rank], [u32; $rank], u8, &'a str);

            #[inline(never)]
            pub fn read(bytes: &[u8]) -> Result<Arrays<'_>, Error> {
                from_slice(bytes)
            }

            #[inline(never)]
            pub fn read_prefix(bytes: &[u8]) -> Result<(Arrays<'_>, &[u8]), Error> {
                take_from_slice(bytes)
            }

            #[inline(never)]
            pub fn write<'a>(value: &Arrays<'_>, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
                to_slice(value, buffer)
            }

            #[inline(never)]
            pub fn read_dims(bytes: &[u8]) -> Result<Dims<'_>, Error> {
                from_slice(bytes)
            }

            #[inline(never)]
            pub fn read_own_names(bytes: &[u8]) -> Result<OwnNames<'_>, Error> {
                from_slice(bytes)
            }

            #[inline(never)]
            pub fn read_tuple(bytes: &[u8]) -> Result<Tuple<'_>, Error> {
                from_slice(bytes)
            }
        }
    )* };
}

ranks! { rank_1 1 rank_3 3 rank_8 8 rank_16 16 }
