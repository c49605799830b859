//! Structs, each read by a single function.

use b2nd_serde::{Error, from_slice};
use serde::Deserialize;

macro_rules! ranks {
    ($($module:ident $rank:literal)*) => { $(
        pub mod $module {
            use super::{Deserialize, Error, from_slice};

            #[derive(Debug, PartialEq, Deserialize)]
            pub struct Arrays<'a> {
                pub version: u8,
                pub ndim: u8,
                pub shape: [u64; $rank],
                pub chunkshape: [u32; $rank],
                pub blockshape: [u32; $rank],
                pub dtype_format: u8,
                pub dtype: &'a str,
            }

            #[inline(never)]
            pub fn read(bytes: &[u8]) -> Result<Arrays<'_>, Error> {
                from_slice(bytes)
            }
        }
    )* };
}

ranks! { rank_1 1 rank_3 3 rank_8 8 rank_16 16 }
