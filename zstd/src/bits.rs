//! Bit streams: the first bits are the lowest bits of the first byte.

use alloc::vec::Vec;

/// Appends bits to a vector of bytes. At most 56 bits can be added between two calls of [`flush`](Self::flush).
pub(crate) struct BitWriter<'o> {
    output: &'o mut Vec<u8>,
    bits: u64,
    count: u32,
}

impl<'o> BitWriter<'o> {
    pub(crate) fn new(output: &'o mut Vec<u8>) -> Self {
        Self { output, bits: 0, count: 0 }
    }

    /// Adds a number that has `count` bits.
    #[inline]
    pub(crate) fn add(&mut self, value: u32, count: u32) {
        debug_assert!(
            u64::from(value) < 1 << count && self.count + count < 64,
            "{value} has more than {count} bits"
        );
        self.bits |= u64::from(value) << self.count;
        self.count += count;
    }

    /// Adds the lowest `count` bits of a number.
    #[inline]
    pub(crate) fn add_lowest(&mut self, value: u32, count: u32) {
        self.add(value & ((1 << count) - 1), count);
    }

    /// Moves the complete bytes to the output.
    #[inline]
    pub(crate) fn flush(&mut self) {
        let bytes = self.count / 8;
        let length = self.output.len() + bytes as usize;
        // All 8 bytes are appended, because a copy of constant length is faster. Then the bytes that are not complete
        // yet are removed.
        self.output.extend_from_slice(&self.bits.to_le_bytes());
        self.output.truncate(length);
        self.bits >>= 8 * bytes;
        self.count %= 8;
    }

    /// Moves all bits to the output, and fills the last byte with zeros.
    pub(crate) fn finish(mut self) {
        self.flush();
        if self.count > 0 {
            self.output.push(self.bits.to_le_bytes()[0]);
        }
    }

    /// Ends a stream that a decoder reads from its end. A bit with the value 1 marks the end, and zeros fill the last
    /// byte.
    pub(crate) fn finish_with_mark(mut self) {
        self.flush();
        self.add(1, 1);
        self.finish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(parts: &[(u32, u32)], has_mark: bool) -> Vec<u8> {
        let mut output = Vec::new();
        let mut bits = BitWriter::new(&mut output);
        for &(value, count) in parts {
            bits.add_lowest(value, count);
            bits.flush();
        }
        if has_mark {
            bits.finish_with_mark();
        } else {
            bits.finish();
        }
        output
    }

    #[test]
    fn the_first_bits_are_the_lowest_of_the_first_byte() {
        assert_eq!(written(&[(0b1, 1), (0xf02, 5), (0b1, 2), (0x123, 9)], false), [0x45, 0x23, 1]);
        assert_eq!(written(&[], false), []);
    }

    #[test]
    fn finish_with_mark_adds_a_bit_and_zeros() {
        assert_eq!(written(&[], true), [1]);
        assert_eq!(written(&[(0x7f, 7)], true), [0xff]);
        assert_eq!(written(&[(0, 8)], true), [0, 1]);
    }
}
