//! A writer that discards its bytes, and reports each write.

use std::io::{self, Seek, SeekFrom, Write};

/// A writer that calls `receive` with the position and the bytes of each write.
pub(crate) struct Writes<F> {
    pub(crate) position: u64,
    receive: F,
}

impl<F: FnMut(u64, &[u8])> Writes<F> {
    pub(crate) fn to(receive: F) -> Self {
        Self { position: 0, receive }
    }
}

impl<F: FnMut(u64, &[u8])> Write for Writes<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.receive)(self.position, bytes);
        self.position += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<F> Seek for Writes<F> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match to {
            SeekFrom::Start(position) => self.position = position,
            SeekFrom::Current(0) => {}
            other => panic!("{other:?}"),
        }
        Ok(self.position)
    }
}
