//! The assignment of struct fields to entries.

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess};

use super::EntryAccess;
use crate::error::{Error, LayoutFault};
use crate::layout::{Entry, Layout};

/// Whether a struct takes the entries of a layout by name, with serde's `visit_map`. Otherwise, it takes them in order,
/// with `visit_seq`.
///
/// If a struct has a field for an entry that the layout lacks, the struct must take the entries by name. `visit_map`
/// can skip this field, but `visit_seq` would read the next entry into this field. If no entry is left for a field,
/// `visit_seq` fails with the error "invalid length", unless the field has a `default`. It fails even if the field is
/// an `Option`.
///
/// `fields` includes aliases, so its length is not always the number of entries that the struct takes. Seven names in
/// the order of the entries count as seven fields, although one of them may be an alias. If one of them is an alias,
/// two entries of a shorter layout may be passed to the same field, and then serde reports a duplicate field. If the
/// names include a well-known name of every entry of the layout, the struct certainly has a field for every entry.
pub(super) fn takes_by_name(fields: &[&'static str], layout: Layout) -> Result<bool, Error> {
    if layout.can_be_fields(fields) {
        return Ok(false);
    }
    if Layout::B2nd.can_be_fields(fields) {
        return Ok(true);
    }
    // From here on, the position of a name does not determine its entry, because `fields` may include aliases.
    check_known(fields, layout)?;
    if layout.entries().iter().all(|&entry| known(fields, entry).is_some()) {
        return Ok(true);
    }
    // Here the struct can take the entries only in order. If the struct has a field for an entry that the layout lacks,
    // the struct is rejected, because this field and the fields after it would get wrong entries.
    let is_lacking = |entry| !layout.has(entry);
    if fields.iter().any(|field| Entry::of_field(field).is_some_and(is_lacking)) {
        return Err(LayoutFault::Unplaced { layout }.error());
    }
    Ok(false)
}

/// Checks that the well-known names are in the order of their entries. Between two well-known names, there must be at
/// least as many other names as there are entries between their two entries. The same is checked before the first and
/// after the last well-known name.
fn check_known(fields: &[&'static str], layout: Layout) -> Result<(), Error> {
    let entries = layout.entries();
    let (mut takes, mut no_field) = (entries.len(), None);
    // `others` is the number of names since the latest well-known name. Each of them is a field or an alias.
    let mut count_gap = |gap: &[Entry], others: usize| {
        takes -= gap.len().saturating_sub(others);
        no_field = no_field.or(gap.first().copied().filter(|_| others == 0));
    };
    let (mut latest, mut next, mut others) = (Entry::Version, 0, 0);
    for &field in fields {
        let Some(entry) = Entry::of_field(field) else {
            others += 1;
            continue;
        };
        if entry < latest {
            return Err(LayoutFault::FieldAfter { field, layout }.error().in_entry(latest));
        }
        let before = entries.partition_point(|&other| other < entry);
        count_gap(entries.get(next..before).unwrap_or_default(), others);
        (latest, next, others) = (entry, before + usize::from(layout.has(entry)), 0);
    }
    count_gap(entries.get(next..).unwrap_or_default(), others);
    match no_field {
        Some(entry) => Err(LayoutFault::NoField { layout, takes, entry }.error()),
        None if takes < entries.len() => Err(LayoutFault::Takes { layout, takes }.error()),
        None => Ok(()),
    }
}

/// The first name in `fields` that is a well-known name of this entry.
fn known(fields: &[&'static str], entry: Entry) -> Option<&'static str> {
    fields.iter().copied().find(|field| Entry::of_field(field) == Some(entry))
}

/// Passes the entries to a visitor as a map. The key of an entry is the name of its field.
pub(super) struct ByName<'e, 'm, 'de, const ORDINARY: bool> {
    pub(super) entries: &'e mut EntryAccess<'m, 'de, ORDINARY>,
    /// The names of the fields, with their aliases.
    pub(super) fields: &'static [&'static str],
}

impl<const ORDINARY: bool> ByName<'_, '_, '_, ORDINARY> {
    /// The name of the field that takes this entry.
    fn field(&self, entry: Entry) -> &'static str {
        // If no name is a well-known name of this entry, `takes_by_name` has checked that there are seven names in the
        // order of the entries.
        let in_order = || self.fields.get(entry as usize).copied();
        known(self.fields, entry).or_else(in_order).unwrap_or(entry.name())
    }
}

impl<'de, const ORDINARY: bool> MapAccess<'de> for ByName<'_, '_, 'de, ORDINARY> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some(entry) = self.entries.next_entry() else { return Ok(None) };
        let name: StrDeserializer<'_, Error> = self.field(entry).into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        match SeqAccess::next_element_seed(&mut &mut *self.entries, seed)? {
            Some(value) => Ok(value),
            None => Err(LayoutFault::TakesMore { layout: self.entries.metalayer.layout }.error()),
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::string::ToString;
    use std::vec::Vec;

    use super::*;

    #[test]
    #[expect(clippy::too_many_lines, reason = "one table")]
    fn takes_by_name_finds_a_field_for_each_entry_or_rejects_the_struct() {
        let by_name = Ok(true);
        let in_order = Ok(false);
        let (b2nd, caterva) = (Layout::B2nd, Layout::Caterva);
        for (fields, layout, expected) in [
            ("a b c d e f g", b2nd, in_order),
            ("a b c d e f g", caterva, by_name),
            ("a b c d e", caterva, in_order),
            ("a b c d e", b2nd, Err("the type takes 5")),
            ("version ndim shape chunks blocks dtype_format dtype", caterva, by_name),
            // These structs have aliases, or fields that are not entries.
            ("version ndim dims shape chunkshape blockshape dtype_format dtype", b2nd, by_name),
            ("version ndim shape chunks parts chunkshape blockshape dtype_format dtype", b2nd, by_name),
            ("version ndim shape size chunkshape blockshape dtype_format type", b2nd, in_order),
            ("version ndim x y z chunkshape blockshape dtype_format dtype", b2nd, in_order),
            (
                "version ndim x y chunkshape blockshape dtype_format",
                caterva,
                Err("name the fields after the entries"),
            ),
            // A field is missing, although some structs have seven names.
            (
                "version ndim dims shape chunkshape blockshape dtype",
                b2nd,
                Err("the type takes 6: it has no field for dtype_format"),
            ),
            (
                "version ndim dims shape blockshape dtype_format dtype",
                b2nd,
                Err("the type takes 6: it has no field for chunkshape"),
            ),
            (
                "ndim shape chunkshape blockshape dtype_format dtype a b",
                b2nd,
                Err("the type takes 6: it has no field for version"),
            ),
            ("shape chunkshape blockshape", b2nd, Err("the type takes 3: it has no field for version")),
            (
                "version ndim shape chunkshape blockshape",
                b2nd,
                Err("the type takes 5: it has no field for dtype_format"),
            ),
            (
                "version ndim shape chunkshape dtype_format dtype",
                caterva,
                Err("the type takes 4: it has no field for blockshape"),
            ),
            // `kind` can be the field of `dtype_format` or of `dtype`, so one of the two is missing.
            (
                "version ndim dims shape chunkshape blockshape kind",
                b2nd,
                Err("the type takes 6: the entry dtype_format may be missing"),
            ),
            // The names are in the wrong order.
            (
                "version ndim shape blocks chunks dtype_format dtype",
                b2nd,
                Err("field `chunks` comes after `blockshape`"),
            ),
            ("ndim version", caterva, Err("field `version` comes after `ndim`")),
        ] {
            let names: Vec<_> = fields.split(' ').collect();
            match (takes_by_name(&names, layout), expected) {
                (Ok(found), expected) => assert_eq!(Ok(found), expected, "{fields}, {layout}"),
                (Err(error), expected) => {
                    let error = error.to_string();
                    assert!(expected.is_err_and(|text| error.contains(text)), "{fields}, {layout}: {error}");
                }
            }
        }
    }
}
