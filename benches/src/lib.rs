//! Makes the first bytes of a frame. Several benchmarks read these bytes.

use std::fs;

use b2nd_frame::Frame;

/// The number of bytes that a program reads from the start of a file to get the metalayer.
pub const PREFIX: usize = 512;

/// The first bytes of a frame with the metalayer `bytes`. They are the start of a real file in which the metalayer was
/// replaced.
pub fn frame_with(bytes: &[u8]) -> [u8; PREFIX] {
    let mut file =
        fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../frame/tests/data/int32_3x5.b2nd")).unwrap();
    let frame = Frame::parse(&file).unwrap();
    let metalayer = frame.array_metalayer().unwrap();
    let end = metalayer.offset() + metalayer.bytes().len();
    assert_eq!(frame.header().header_len, end, "no part of the header is behind the metalayer");
    let length = u32::try_from(bytes.len()).unwrap();
    let header_len = metalayer.offset() + bytes.len();
    let frame_len = frame.header().frame_len - end as u64 + header_len as u64;
    file.splice(metalayer.offset() - 4..end, length.to_be_bytes().into_iter().chain(bytes.iter().copied()));
    file[11..15].copy_from_slice(&i32::try_from(header_len).unwrap().to_be_bytes());
    file[16..24].copy_from_slice(&frame_len.to_be_bytes());
    file.resize(PREFIX, 0);
    file.try_into().unwrap()
}
