//! The choices of a target, such as a shape or a number of threads. The first bytes of the input determine the choices.

/// The bytes for the next choices of a target. After the last byte, each further choice gets a 0.
#[derive(Debug)]
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    /// Uses the first `count` bytes of an input as choices, and returns the rest.
    pub fn split(data: &'a [u8], count: usize) -> (Self, &'a [u8]) {
        let (choices, rest) = data.split_at(count.min(data.len()));
        (Self(choices), rest)
    }

    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// Chooses a number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count
    }

    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    pub fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    pub fn wide(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    pub fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes and returns the next `count` bytes of the choices, or all if fewer are left.
    pub fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        bytes
    }
}
