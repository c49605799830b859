//! The entries of a metalayer as a visitor takes them, in order.

use core::marker::PhantomData;

use serde::de::{Deserialize, DeserializeSeed, SeqAccess};

use super::read_error::ReadError;
use super::value::Value;
use super::vector::VectorDeserializer;
use crate::entry::Entry;
use crate::wire::Metalayer;

/// The entries in order.
pub(super) struct InOrder<'m, 'de, F> {
    pub(super) metalayer: &'m Metalayer<'de>,
    /// The offset of the metalayer in the input.
    start: usize,
    /// The position of the next entry.
    next: u8,
    /// Whether the type has asked for more entries than there are.
    is_over: bool,
    error: PhantomData<F>,
}

impl<'m, 'de, F: ReadError> InOrder<'m, 'de, F> {
    #[inline]
    pub(super) fn new(metalayer: &'m Metalayer<'de>, start: usize) -> Self {
        Self { metalayer, start, next: 0, is_over: false, error: PhantomData }
    }

    /// The number of entries that have been taken.
    #[inline]
    pub(super) fn taken(&self) -> usize {
        self.next.into()
    }

    /// Whether the type has asked for more entries than there are.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    // Inlined, so the compiler knows the entry of each field (see `next_element`).
    #[inline(always)]
    pub(super) fn next_entry(&self) -> Option<Entry> {
        self.metalayer.layout.entry(self.next)
    }

    /// Lets a type read an entry.
    // Inlined, so the match over entries folds away.
    #[inline(always)]
    fn read<S: DeserializeSeed<'de>>(&self, entry: Entry, seed: S) -> Result<S::Value, F> {
        let Metalayer { layout, version, ndim, dtype_format, dtype, .. } = *self.metalayer;
        let value = match entry {
            Entry::Version => seed.deserialize(Value::new(version)),
            Entry::Ndim => seed.deserialize(Value::new(ndim)),
            Entry::Shape => seed.deserialize(VectorDeserializer::new(self.metalayer.shape.clone())),
            Entry::Chunkshape => seed.deserialize(VectorDeserializer::new(self.metalayer.chunkshape.clone())),
            Entry::Blockshape => seed.deserialize(VectorDeserializer::new(self.metalayer.blockshape.clone())),
            Entry::DtypeFormat => seed.deserialize(Value::new(dtype_format)),
            Entry::Dtype => seed.deserialize(Value::new(dtype)),
        };
        match value {
            Ok(value) => Ok(value),
            // Numbers instead of the metalayer itself, whose address would keep it out of registers.
            Err(error) => Err(F::in_entry(error, entry, layout, ndim, self.start)),
        }
    }
}

impl<'de, F: ReadError> SeqAccess<'de> for &mut InOrder<'_, 'de, F> {
    type Error = F;

    #[inline(always)]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, F> {
        let Some(entry) = self.next_entry() else {
            self.is_over = true;
            return Ok(None);
        };
        self.next += 1;
        self.read(entry, seed).map(Some)
    }

    // Same as serde's default method, but inlined: only then does the compiler know the position of each entry, and
    // folds the matches over layouts and entries.
    #[inline(always)]
    fn next_element<T: Deserialize<'de>>(&mut self) -> Result<Option<T>, F> {
        self.next_element_seed(PhantomData)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        self.metalayer.layout.entries().len().checked_sub(self.next.into())
    }
}
