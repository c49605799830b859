//! The annotated bytes of metalayers are the same as in the folder `snapshots`. The files in this folder are examples,
//! to be read together with the specification.

#![cfg(feature = "alloc")]

use crate::common::{long_dtype, meta_of_rank};
use b2nd_serde::{Layout, Meta, Shapes, dump, to_vec};

fn check(name: &str, meta: &Meta) {
    crate::common::snapshot(&format!("wire_{name}"), &dump::metalayer(&to_vec(meta).unwrap()).to_string());
}

#[test]
fn wire_bytes_of_every_layout_and_rank() {
    for &layout in Layout::ALL {
        for ndim in [0, 1, 2, 3, 8, 15, 16] {
            let meta = meta_of_rank(ndim, "<i4").with_layout(layout).unwrap();
            check(&format!("{layout}_rank_{ndim:02}"), &meta);
        }
    }
}

#[test]
fn wire_bytes_of_dtypes() {
    for layout in [Layout::B2nd, Layout::B2ndMismarked, Layout::B2ndSix] {
        let non_ascii = meta_of_rank(1, "[('größe', '<f4'), ('名前', '<U3')]").with_layout(layout).unwrap();
        check(&format!("{layout}_dtype_non_ascii"), &non_ascii);
    }
    let empty = meta_of_rank(1, "");
    check("b2nd_dtype_empty", &empty);
    let long = meta_of_rank(1, &long_dtype());
    assert!(long.dtype().unwrap().len() > 3000);
    check("b2nd_dtype_long", &long);
}

#[test]
fn wire_bytes_of_extreme_values() {
    let meta = Meta::new(
        Shapes {
            shape: &[i64::MAX, i64::MIN, -1],
            chunkshape: &[i32::MAX, i32::MIN, -1],
            blockshape: &[0, 1, 2],
        },
        "|b1",
    )
    .unwrap();
    check("b2nd_extremes", &meta);
}
