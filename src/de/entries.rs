//! The entries of a metalayer on their way into a visitor: in order, by name, or as a `Meta` takes them.

use serde::de::value::StrDeserializer;
#[cfg(feature = "alloc")]
use serde::de::value::UnitDeserializer;
use serde::de::{DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess};

use super::value::Value;
use super::vector::Vector;
use crate::error::{Detail, Error, Length, Result};
use crate::layout::{Entry, KnownName, Layout};
use crate::wire::Input;

/// The entries of a metalayer, in their order.
pub(super) struct Entries<'a, 'de> {
    input: &'a mut Input<'de>,
    layout: Layout,
    /// Where the metalayer begins in the input.
    start: usize,
    /// The position of the next entry.
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

    /// Reads an entry, which has to be the next one.
    #[inline]
    fn read<S: DeserializeSeed<'de>>(&mut self, entry: Entry, seed: S) -> Result<S::Value> {
        self.next += 1;
        let offset = self.input.position();
        let value = match entry {
            Entry::Version | Entry::DtypeFormat => seed.deserialize(Value(self.input.fixint(entry)?)),
            Entry::Ndim => {
                self.ndim = self.input.ndim()?;
                seed.deserialize(Value(self.ndim))
            }
            Entry::Shape => seed.deserialize(Vector::<i64>(self.input.vector(entry, self.ndim)?)),
            Entry::Chunkshape | Entry::Blockshape => {
                seed.deserialize(Vector::<i32>(self.input.vector(entry, self.ndim)?))
            }
            Entry::Dtype => seed.deserialize(Value(self.input.text(entry)?)),
        };
        value.map_err(|error| error.in_entry(entry).at(offset))
    }

    #[inline]
    fn next_entry(&self) -> Option<Entry> {
        self.layout.entry(self.next)
    }

    /// Adds to an error of the visitor's own how far it came: to an entry, or no further than the outer marker.
    #[cold]
    pub(super) fn locate(&self, error: Error) -> Error {
        error.at(if self.next == 0 { self.start } else { self.input.position() })
    }

    /// An error unless every entry is taken.
    #[inline]
    pub(super) fn finish(self) -> Result<()> {
        if self.next_entry().is_none() {
            return Ok(());
        }
        let takes = Length::new(self.next.into());
        Err(Error::new(Detail::Takes { layout: self.layout, takes }).at(self.input.position()))
    }
}

impl<'de> SeqAccess<'de> for Entries<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        match self.next_entry() {
            Some(entry) => self.read(entry, seed).map(Some),
            None => Ok(None),
        }
    }

    #[inline]
    fn size_hint(&self) -> Option<usize> {
        Some(self.layout.entries().len() - usize::from(self.next))
    }
}

/// How the field names of a struct stand to the entries of a layout.
pub(super) enum Names {
    /// The seven names are those of the seven entries, in their order.
    Seven(&'static [&'static str]),
    /// Each entry of the layout has a well-known name among these.
    Known(&'static [&'static str]),
}

impl Names {
    /// Decides whether a struct takes the entries of a layout by name, which it has to where it has a field for an
    /// entry that the layout lacks; `None` if it takes them in order.
    ///
    /// `fields` lists aliases beside the names, so its length is no number of entries. What is certain is that a
    /// well-known name means its own entry: a name out of its place is an error, here with the entry it stands at.
    #[inline]
    pub(super) fn place(fields: &'static [&'static str], layout: Layout) -> Result<Option<Self>> {
        let entries = layout.entries();
        if fields.len() == entries.len() {
            check_places(fields, entries)?;
            return Ok(None);
        }
        if entries.len() < Entry::ALL.len() {
            if fields.len() == Entry::ALL.len() && check_places(fields, &Entry::ALL).is_ok() {
                return Ok(Some(Self::Seven(fields)));
            }
            if entries.iter().all(|&entry| known(fields, entry).is_some()) {
                check_order(fields)?;
                return Ok(Some(Self::Known(fields)));
            }
        }
        check_order(fields)?;
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

/// Checks that each well-known name stands at its own entry.
#[inline]
fn check_places(fields: &[&str], entries: &[Entry]) -> Result<()> {
    for (field, &entry) in fields.iter().zip(entries) {
        match KnownName::of(field) {
            Some(name) if name.entry() != entry => {
                return Err(Error::new(Detail::FieldOrder { name }).in_entry(entry));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks that no well-known name stands behind one whose entry comes later.
fn check_order(fields: &[&str]) -> Result<()> {
    let mut latest = Entry::Version;
    for name in fields.iter().filter_map(|field| KnownName::of(field)) {
        if name.entry() < latest {
            return Err(Error::new(Detail::FieldBehind { name }).in_entry(latest));
        }
        latest = name.entry();
    }
    Ok(())
}

fn known(fields: &[&'static str], entry: Entry) -> Option<&'static str> {
    fields.iter().copied().find(|field| KnownName::of(field).map(KnownName::entry) == Some(entry))
}

/// The entries of a metalayer, each with the name of the field that takes it.
pub(super) struct NamedEntries<'a, 'de> {
    entries: Entries<'a, 'de>,
    names: Names,
}

impl<'a, 'de> NamedEntries<'a, 'de> {
    pub(super) fn new(entries: Entries<'a, 'de>, names: Names) -> Self {
        Self { entries, names }
    }

    pub(super) fn finish(self) -> Result<()> {
        self.entries.finish()
    }

    pub(super) fn locate(&self, error: Error) -> Error {
        self.entries.locate(error)
    }
}

impl<'de> MapAccess<'de> for NamedEntries<'_, 'de> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let Some(entry) = self.entries.next_entry() else {
            return Ok(None);
        };
        let name: StrDeserializer<'_, Error> = self.names.of(entry).into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value> {
        match self.entries.next_entry() {
            Some(entry) => self.entries.read(entry, seed),
            None => Err(serde::de::Error::custom("a value was asked for without its key")),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        self.entries.size_hint()
    }
}

/// A `Meta`'s eight fields: the layout, then each entry or the lack of it.
#[cfg(feature = "alloc")]
pub(super) struct MetaEntries<'a, 'de> {
    entries: Entries<'a, 'de>,
    /// The next field.
    field: u8,
}

#[cfg(feature = "alloc")]
impl<'a, 'de> MetaEntries<'a, 'de> {
    #[inline]
    pub(super) fn new(entries: Entries<'a, 'de>) -> Self {
        Self { entries, field: 0 }
    }

    pub(super) fn locate(&self, error: Error) -> Error {
        self.entries.locate(error)
    }
}

#[cfg(feature = "alloc")]
impl<'de> SeqAccess<'de> for MetaEntries<'_, 'de> {
    type Error = Error;

    #[inline]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>> {
        let layout = self.entries.layout;
        let field = self.field;
        self.field += 1;
        let value = match field.checked_sub(1) {
            None => seed.deserialize(Value(layout.name()))?,
            Some(position) => match Layout::B2nd.entry(position) {
                Some(entry) if layout.has(entry) => self.entries.read(entry, seed)?,
                Some(_) => seed.deserialize(UnitDeserializer::new())?,
                None => return Ok(None),
            },
        };
        Ok(Some(value))
    }
}
