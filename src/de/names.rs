//! The assignment of struct fields to entries.

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess};

use super::EntryAccess;
use crate::error::{Error, LayoutFault};
use crate::layout::{Entry, Layout};

/// The names of the fields of a struct that takes the entries of a layout by name.
pub(super) enum Names {
    /// The names of seven fields, one for each entry, in the order of the entries.
    Seven(&'static [&'static str]),
    /// The names of all fields of a struct, with their aliases. For each entry of the layout, at least one of them is
    /// a well-known name of the entry (see [`Entry::of_field`]).
    Known(&'static [&'static str]),
}

impl Names {
    /// Decides whether a struct takes the entries of a layout by name. `None` means that the struct takes them in
    /// order.
    ///
    /// If a struct has a field for an entry that the layout lacks, the struct must take the entries by name. serde's
    /// `visit_map` can skip this field. `visit_seq` cannot skip it: it ends with the error "invalid length", even if
    /// the field has a `default` or is an `Option`.
    ///
    /// `fields` includes aliases, so its length is not always the number of entries that the struct takes. Only two
    /// kinds of struct certainly have a field for each entry: a struct with seven fields in the order of all entries,
    /// and a struct with a well-known name for every entry of the layout.
    pub(super) fn place(fields: &'static [&'static str], layout: Layout) -> Result<Option<Self>, Error> {
        if fields.len() == layout.entries().len() {
            return check_positions(fields, layout).map(|()| None);
        }
        if fields.len() == Entry::ALL.len() && check_positions(fields, Layout::B2nd).is_ok() {
            return Ok(Some(Self::Seven(fields)));
        }
        // From here on, the number of fields does not tell which entry each field takes: `fields` may include aliases.
        // So only the order of the well-known names can be checked.
        check_order(fields, layout)?;
        if layout.entries().iter().all(|&entry| known(fields, entry).is_some()) {
            return Ok(Some(Self::Known(fields)));
        }
        if fields.iter().all(|field| Entry::of_field(field).is_some()) {
            let takes = Entry::ALL.iter().filter(|&&entry| known(fields, entry).is_some()).count();
            return Err(LayoutFault::Takes { layout, takes }.error());
        }
        // Here the struct can take the entries only in order. If it has a field for an entry that the layout lacks, it
        // is rejected, because this field and the fields after it would get wrong entries.
        let is_lacking = |entry| !layout.has(entry);
        if fields.iter().any(|field| Entry::of_field(field).is_some_and(is_lacking)) {
            return Err(LayoutFault::Unplaced { layout }.error());
        }
        Ok(None)
    }

    fn name(&self, entry: Entry) -> &'static str {
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
            return Err(LayoutFault::FieldOrder { field, layout }.error().in_entry(entry));
        }
    }
    Ok(())
}

/// Checks that the well-known names are in the order of their entries.
fn check_order(fields: &[&'static str], layout: Layout) -> Result<(), Error> {
    let mut latest = Entry::Version;
    for &field in fields {
        let Some(entry) = Entry::of_field(field) else { continue };
        if entry < latest {
            return Err(LayoutFault::FieldAfter { field, layout }.error().in_entry(latest));
        }
        latest = entry;
    }
    Ok(())
}

fn known(fields: &[&'static str], entry: Entry) -> Option<&'static str> {
    fields.iter().copied().find(|field| Entry::of_field(field) == Some(entry))
}

/// Passes the entries to a visitor as a map. The key of an entry is the name of its field.
pub(super) struct ByName<'e, 'm, 'de, const ORDINARY: bool> {
    pub(super) entries: &'e mut EntryAccess<'m, 'de, ORDINARY>,
    pub(super) names: Names,
}

impl<'de, const ORDINARY: bool> MapAccess<'de> for ByName<'_, '_, 'de, ORDINARY> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some(entry) = self.entries.next_entry() else { return Ok(None) };
        let name: StrDeserializer<'_, Error> = self.names.name(entry).into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        match SeqAccess::next_element_seed(&mut &mut *self.entries, seed)? {
            Some(value) => Ok(value),
            None => Err(LayoutFault::TakesMore { layout: self.entries.metalayer.layout }.error()),
        }
    }
}
