//! Gives the entries of a metalayer to a visitor: in order, by name, or as `Meta` takes them.

use core::marker::PhantomData;

use serde::de::value::StrDeserializer;
#[cfg(feature = "alloc")]
use serde::de::value::UnitDeserializer;
use serde::de::{Deserialize, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess};

use super::value::{Value, Visit};
use super::vector::Vector;
use crate::entry::Entry;
use crate::error::{Detail, Error};
use crate::layout::Layout;
use crate::wire::{FixedInt, Input};

/// The position after an error.
const FAILED: u8 = u8::MAX;

/// A metalayer that is being read, entry by entry.
pub(super) struct Entries<'a, 'de> {
    input: &'a mut Input<'de>,
    layout: Layout,
    /// Where the metalayer begins in the input.
    start: usize,
    /// The position of the next entry; [`FAILED`] after an error in the bytes.
    next: u8,
    ndim: u8,
}

impl<'a, 'de> Entries<'a, 'de> {
    /// Takes the outer marker of a metalayer whose layout is known.
    #[inline]
    pub(super) fn new(input: &'a mut Input<'de>, layout: Layout) -> Self {
        let start = input.position();
        input.skip_outer_marker();
        Self { input, layout, start, next: 0, ndim: 0 }
    }

    #[inline(always)]
    fn next_entry(&self) -> Option<Entry> {
        self.layout.entry(self.next)
    }

    /// Reads an entry, which must be the next one.
    #[inline(always)]
    fn read<S: DeserializeSeed<'de>>(&mut self, entry: Entry, seed: S) -> Result<S::Value, Error> {
        self.next += 1;
        let offset = self.input.position();
        let value = match entry {
            Entry::Version | Entry::DtypeFormat => match self.input.fixint(entry) {
                Ok(value) => seed.deserialize(Value(value)),
                Err(error) => return Err(self.fail(error)),
            },
            Entry::Ndim => match self.input.ndim() {
                Ok(ndim) => {
                    self.ndim = ndim;
                    seed.deserialize(Value(ndim))
                }
                Err(error) => return Err(self.fail(error)),
            },
            Entry::Shape => return self.read_vector::<i64, S>(entry, seed),
            Entry::Chunkshape | Entry::Blockshape => return self.read_vector::<i32, S>(entry, seed),
            Entry::Dtype => match self.input.text(entry) {
                Ok(text) => seed.deserialize(Value(text)),
                Err(error) => return Err(self.fail(error)),
            },
        };
        match value {
            Ok(value) => Ok(value),
            Err(error) => Err(error.in_entry(entry).at(offset)),
        }
    }

    /// Lets a type take all dimensions of a vector.
    #[inline(always)]
    fn read_vector<W, S>(&mut self, entry: Entry, seed: S) -> Result<S::Value, Error>
    where
        W: FixedInt + Visit<'de>,
        S: DeserializeSeed<'de>,
    {
        let offset = self.input.position();
        match self.input.vector::<W>(entry, self.ndim) {
            Ok(items) => {
                seed.deserialize(Vector(items)).map_err(|error| in_vector::<W>(error, entry, offset))
            }
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Remembers an error in the bytes, so that the type cannot ignore it.
    #[cold]
    fn fail(&mut self, error: Error) -> Error {
        self.next = FAILED;
        error.of_version(self.input.version(self.start))
    }

    /// An error unless every entry is taken.
    #[inline]
    pub(super) fn finish(&self) -> Result<(), Error> {
        if usize::from(self.next) == self.layout.entries().len() {
            return Ok(());
        }
        let detail = match self.next {
            FAILED => Detail::PassedOver,
            takes => Detail::Takes { layout: self.layout, takes: takes.into() },
        };
        Err(Error::new(detail).at(self.input.position()))
    }

    /// Adds the current position to an error of the visitor; before the first entry, the start of the metalayer.
    #[cold]
    pub(super) fn locate(&self, error: Error) -> Error {
        error.at(if self.next == 0 { self.start } else { self.input.position() })
    }
}

/// Adds the entry and the byte: that of the dimension that the error names, else that of the vector.
#[cold]
fn in_vector<W: FixedInt>(error: Error, entry: Entry, offset: usize) -> Error {
    let before = error.dimension().map_or(0, |dimension| 1 + dimension * W::WIDTH);
    error.in_entry(entry).at(offset + before)
}

/// The entries in their order.
pub(super) struct InOrder<'e, 'a, 'de>(pub(super) &'e mut Entries<'a, 'de>);

impl<'de> SeqAccess<'de> for InOrder<'_, '_, 'de> {
    type Error = Error;

    #[inline(always)]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        match self.0.next_entry() {
            Some(entry) => self.0.read(entry, seed).map(Some),
            None => Ok(None),
        }
    }

    /// The same as the default. Inlined, it lets the compiler know the position.
    #[inline(always)]
    fn next_element<T: Deserialize<'de>>(&mut self) -> Result<Option<T>, Error> {
        self.next_element_seed(PhantomData)
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        self.0.layout.entries().len().checked_sub(self.0.next.into())
    }
}

/// Which field of a struct takes which entry of a layout.
pub(super) enum Names {
    /// The seven names are those of the seven entries, in their order.
    Seven(&'static [&'static str]),
    /// Each entry of the layout has a well-known name among these.
    Known(&'static [&'static str]),
}

impl Names {
    /// Decides whether a struct takes the entries of a layout by name: `None` if it takes them in order.
    ///
    /// A struct must take them by name if it has a field for an entry that the layout lacks, because serde's
    /// `visit_seq` cannot leave out a field in the middle. `fields` also lists aliases, so its length is not the number
    /// of entries. Only this is certain: a well-known name must be in the position of its own entry.
    #[inline(always)]
    pub(super) fn place(fields: &'static [&'static str], layout: Layout) -> Result<Option<Self>, Error> {
        if layout == Layout::B2nd && Entry::can_be_fields(fields) {
            return Ok(None);
        }
        Self::match_names(fields, layout)
    }

    #[inline(never)]
    fn match_names(fields: &'static [&'static str], layout: Layout) -> Result<Option<Self>, Error> {
        let entries = layout.entries();
        if fields.len() == entries.len() {
            check_positions(fields, layout)?;
            return Ok(None);
        }
        if entries.len() < Entry::ALL.len() {
            if fields.len() == Layout::B2nd.entries().len() && check_positions(fields, Layout::B2nd).is_ok() {
                return Ok(Some(Self::Seven(fields)));
            }
            if entries.iter().all(|&entry| known(fields, entry).is_some()) {
                check_order(fields, layout)?;
                return Ok(Some(Self::Known(fields)));
            }
        }
        check_order(fields, layout)?;
        let is_known = |entry: &Entry| known(fields, *entry).is_some();
        if fields.iter().all(|field| Entry::of_field(field).is_some()) && !entries.iter().all(is_known) {
            let takes = Entry::ALL.iter().filter(|entry| is_known(entry)).count();
            return Err(Error::new(Detail::Takes { layout, takes }));
        }
        // If the entries were given in order, the fields after the one that the layout lacks would take wrong entries.
        if Entry::ALL.iter().any(|entry| !entries.contains(entry) && is_known(entry)) {
            return Err(Error::new(Detail::Unplaced { layout }));
        }
        Ok(None)
    }

    fn of(&self, entry: Entry) -> &'static str {
        let name = match self {
            Self::Seven(fields) => fields.get(entry as usize).copied(),
            Self::Known(fields) => known(fields, entry),
        };
        name.unwrap_or(entry.name())
    }
}

/// Checks that each well-known name is in the position of its own entry.
fn check_positions(fields: &[&'static str], layout: Layout) -> Result<(), Error> {
    for (&field, &entry) in fields.iter().zip(layout.entries()) {
        if !entry.can_be_field(field) {
            return Err(Error::new(Detail::FieldOrder { field, layout }).in_entry(entry));
        }
    }
    Ok(())
}

/// Checks that no well-known name comes after one whose entry is later.
fn check_order(fields: &[&'static str], layout: Layout) -> Result<(), Error> {
    let mut latest = Entry::Version;
    for &field in fields {
        let Some(entry) = Entry::of_field(field) else { continue };
        if entry < latest {
            return Err(Error::new(Detail::FieldAfter { field, layout }).in_entry(latest));
        }
        latest = entry;
    }
    Ok(())
}

fn known(fields: &[&'static str], entry: Entry) -> Option<&'static str> {
    fields.iter().copied().find(|field| Entry::of_field(field) == Some(entry))
}

/// The entries, each with the name of the field that takes it.
pub(super) struct ByName<'e, 'a, 'de> {
    pub(super) entries: &'e mut Entries<'a, 'de>,
    pub(super) names: Names,
}

impl<'de> MapAccess<'de> for ByName<'_, '_, 'de> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some(entry) = self.entries.next_entry() else { return Ok(None) };
        let name: StrDeserializer<'_, Error> = self.names.of(entry).into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        match self.entries.next_entry() {
            Some(entry) => self.entries.read(entry, seed),
            None => Err(serde::de::Error::custom("a value was asked for without its key")),
        }
    }
}

/// The eight fields of a `Meta`: the layout, then each entry, or a unit where the layout has none.
#[cfg(feature = "alloc")]
pub(super) struct AsMeta<'e, 'a, 'de> {
    entries: &'e mut Entries<'a, 'de>,
    /// The position of the next field.
    field: u8,
}

#[cfg(feature = "alloc")]
impl<'e, 'a, 'de> AsMeta<'e, 'a, 'de> {
    #[inline]
    pub(super) fn new(entries: &'e mut Entries<'a, 'de>) -> Self {
        Self { entries, field: 0 }
    }
}

#[cfg(feature = "alloc")]
impl<'de> SeqAccess<'de> for AsMeta<'_, '_, 'de> {
    type Error = Error;

    #[inline(always)]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let layout = self.entries.layout;
        let field = self.field;
        self.field += 1;
        let value = match field.checked_sub(1) {
            None => seed.deserialize(Value(layout.name()))?,
            Some(position) => match Entry::ALL.get(usize::from(position)).copied() {
                Some(entry) if layout.has(entry) => self.entries.read(entry, seed)?,
                Some(_) => seed.deserialize(UnitDeserializer::new())?,
                None => return Ok(None),
            },
        };
        Ok(Some(value))
    }
}
