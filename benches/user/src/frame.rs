//! Reads the first bytes of a frame.

use b2nd_frame::{Error, Frame};

/// Reads the frame header and the array metalayer in it, and returns the number of dimensions of the array.
#[inline(never)]
pub fn read(prefix: &[u8]) -> Result<usize, Error> {
    let frame = Frame::parse(prefix)?;
    let array = frame.array()?;
    Ok(array.map_or(0, |array| array.shape().len()))
}
