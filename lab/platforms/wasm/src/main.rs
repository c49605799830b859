//! Reads a frame from bytes, and from a file on systems with files.

use std::time::Duration;

use b2nd_frame::b2nd_serde::Dtype;
use b2nd_frame::{Frame, check};

const FILE: &[u8] = include_bytes!("../../../../frame/tests/data/int32_3x5.b2nd");

fn is_right<R>(frame: &Frame<R>) {
    let array = frame.array().unwrap().unwrap();
    assert_eq!(array.shape(), [3, 5]);
    assert_eq!(array.geometry().unwrap().nchunks(), 4);
    assert_eq!(array.dtype().unwrap().parse::<Dtype>().unwrap().item_size(), 4);
}

fn main() {
    is_right(&Frame::parse(FILE).unwrap());
    // The shortest prefix that has the whole header.
    is_right(&Frame::parse(&FILE[..165]).unwrap());
    Frame::parse(&FILE[..164]).unwrap_err();

    if cfg!(target_os = "wasi") {
        let path = "/int32_3x5.b2nd";
        is_right(&Frame::open(path).unwrap());
        is_right(&Frame::open_stable(path, Duration::from_secs(1)).unwrap());
        assert!(check(path).unwrap().findings.is_empty());
    } else {
        Frame::open("int32_3x5.b2nd").unwrap_err();
    }
}
