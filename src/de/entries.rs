//! The entries of a metalayer as a visitor takes them: in order, or as the fields of a `Meta`.

use core::marker::PhantomData;

#[cfg(feature = "alloc")]
use serde::de::value::UnitDeserializer;
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

/// The eight fields of a `Meta`: the layout, then each entry, or a unit for an entry that the layout does not have.
// A derived `Deserialize` cannot see the outer marker, so the layout comes as a field of its own.
#[cfg(feature = "alloc")]
pub(super) struct AsMeta<'m, 'de, F> {
    entries: InOrder<'m, 'de, F>,
    /// The position of the next field.
    field: u8,
}

#[cfg(feature = "alloc")]
impl<'m, 'de, F: ReadError> AsMeta<'m, 'de, F> {
    #[inline]
    pub(super) fn new(metalayer: &'m Metalayer<'de>, start: usize) -> Self {
        Self { entries: InOrder::new(metalayer, start), field: 0 }
    }
}

#[cfg(feature = "alloc")]
impl<'de, F: ReadError> SeqAccess<'de> for AsMeta<'_, 'de, F> {
    type Error = F;

    // Inlined: the position of the field is a constant in each call of `Meta`'s visitor.
    #[inline(always)]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, F> {
        let layout = self.entries.metalayer.layout;
        let field = self.field;
        self.field = field.saturating_add(1);
        let value = match field.checked_sub(1) {
            None => seed.deserialize(Value::<_, F>::new(layout.name()))?,
            Some(position) => match Entry::ALL.get(usize::from(position)).copied() {
                Some(entry) if layout.has(entry) => self.entries.read(entry, seed)?,
                Some(_) => seed.deserialize(UnitDeserializer::new())?,
                None => return Ok(None),
            },
        };
        Ok(Some(value))
    }
}
