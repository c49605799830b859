//! Functions that grow a buffer. If the system has no memory, they return an error instead of ending the process.

use alloc::vec::Vec;

use crate::error::Fault;

/// Reserves room for `more` bytes after the bytes of a buffer.
pub(crate) fn reserve(buffer: &mut Vec<u8>, more: usize) -> Result<(), Fault> {
    let nbytes = buffer.len().saturating_add(more);
    buffer.try_reserve(more).map_err(|_| Fault::NoMemory { nbytes })
}

/// Changes the length of a buffer. New bytes are zeros.
pub(crate) fn resize(buffer: &mut Vec<u8>, length: usize) -> Result<(), Fault> {
    reserve(buffer, length.saturating_sub(buffer.len()))?;
    buffer.resize(length, 0);
    Ok(())
}
