//! Reads frames and slices from bytes in memory and from a file.

use std::time::Duration;

use b2nd_frame::b2nd_serde::Dtype;
use b2nd_frame::{Array, Frame, check};

const FILE: &[u8] = include_bytes!("../../../../frame/tests/data/int32_3x5.b2nd");

fn is_right<R>(frame: &Frame<R>) {
    let array = frame.array().unwrap().unwrap();
    assert_eq!(array.shape(), [3, 5]);
    assert_eq!(array.geometry().unwrap().nchunks(), 4);
    assert_eq!(array.dtype().unwrap().parse::<Dtype>().unwrap().item_size(), 4);
}

/// The bytes of files with compressed chunks, and the items of their arrays.
const SLICES: [(&[u8], &[u8]); 3] = [
    (
        include_bytes!("../../../../frame/tests/data/geometry/d3_f4_awkward.b2nd"),
        include_bytes!("../../../../frame/tests/data/geometry/d3_f4_awkward.items"),
    ),
    (
        include_bytes!("../../../../frame/tests/data/geometry/d4_U2.b2nd"),
        include_bytes!("../../../../frame/tests/data/geometry/d4_U2.items"),
    ),
    (
        include_bytes!("../../../../frame/tests/data/geometry/d1_i2_three_levels.b2nd"),
        include_bytes!("../../../../frame/tests/data/geometry/d1_i2_three_levels.items"),
    ),
];

fn are_right() {
    for (file, items) in SLICES {
        let array = Array::new(Frame::read_at(file, 0).unwrap()).unwrap();
        assert!(array.whole().read().unwrap() == items);
    }
    let array = Array::new(Frame::read_at(FILE, 0).unwrap()).unwrap();
    let row = array.slice(&[1..2, 0..5]).threads(1).read_array::<i32>().unwrap();
    assert_eq!(row.into_raw_vec_and_offset().0, [5, 6, 7, 8, 9]);
}

fn main() {
    are_right();
    is_right(&Frame::parse(FILE).unwrap());
    // The shortest prefix that has the whole header.
    is_right(&Frame::parse(&FILE[..165]).unwrap());
    Frame::parse(&FILE[..164]).unwrap_err();

    let path = "/int32_3x5.b2nd";
    is_right(&Frame::open(path).unwrap());
    is_right(&Frame::open_stable(path, Duration::from_secs(1)).unwrap());
    assert!(check(path).unwrap().findings.is_empty());
}
