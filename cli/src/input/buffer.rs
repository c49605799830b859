//! Buffers for items. If the system has no memory for a buffer, the result is an error. The process is not aborted, so
//! it can still remove its temporary files.

use crate::code;
use crate::problem::Problem;

/// Changes the length of a buffer. New bytes are zeros.
pub(super) fn resize(buffer: &mut Vec<u8>, length: usize) -> Result<(), Problem> {
    let more = length.saturating_sub(buffer.len());
    let reserved = buffer.try_reserve_exact(more);
    reserved.map_err(|_| Problem::new(code::TOO_LARGE, format!("there is no memory for {length} bytes")))?;
    buffer.resize(length, 0);
    Ok(())
}

/// A buffer of `length` zero bytes.
pub(crate) fn zeroed(length: usize) -> Result<Vec<u8>, Problem> {
    let mut buffer = Vec::new();
    resize(&mut buffer, length).map(|()| buffer)
}
