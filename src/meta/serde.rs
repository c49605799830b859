//! `Meta` in serde's data model: a struct of eight fields, the layout and the seven entries.

use core::fmt;

use ecow::EcoString;
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::{IN_PLACE, Meta, Vector};
use crate::entry::{Entry, MAX_NDIM, META_FIELDS};
use crate::error::{Error, LayoutFault};
use crate::layout::{EntrySet, Layout, META_STRUCT};

impl Serialize for Meta {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct(self.layout.meta_struct(), META_FIELDS.len())?;
        fields.serialize_field("layout", self.layout.name())?;
        fields.serialize_field("version", &self.version)?;
        // As a `u8`, because it is read as one, and some formats record the width of an integer.
        fields.serialize_field("ndim", &self.ndim_byte())?;
        fields.serialize_field("shape", self.shape())?;
        fields.serialize_field("chunkshape", self.chunkshape())?;
        fields.serialize_field("blockshape", self.blockshape())?;
        fields.serialize_field("dtype_format", &self.dtype_format())?;
        fields.serialize_field("dtype", &self.dtype())?;
        fields.end()
    }
}

impl<'de> Deserialize<'de> for Meta {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct(META_STRUCT, META_FIELDS, MetaVisitor)
    }
}

struct MetaVisitor;

impl<'de> Visitor<'de> for MetaVisitor {
    type Value = Meta;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the layout and entries of a b2nd metalayer")
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, mut fields: A) -> Result<Meta, A::Error> {
        let mut draft = Draft::new();
        // Not a loop: with a constant entry in each call the compiler removes the matches over entries.
        fill(&mut fields, &mut draft, None)?;
        fill(&mut fields, &mut draft, Some(Entry::Version))?;
        fill(&mut fields, &mut draft, Some(Entry::Ndim))?;
        fill(&mut fields, &mut draft, Some(Entry::Shape))?;
        fill(&mut fields, &mut draft, Some(Entry::Chunkshape))?;
        fill(&mut fields, &mut draft, Some(Entry::Blockshape))?;
        fill(&mut fields, &mut draft, Some(Entry::DtypeFormat))?;
        fill(&mut fields, &mut draft, Some(Entry::Dtype))?;
        draft.finish()
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Meta, A::Error> {
        let mut draft = Draft::new();
        let mut seen = EntrySet::EMPTY;
        while let Some(FieldName(field)) = map.next_key()? {
            let is_first = match field {
                None => !draft.has_layout,
                Some(entry) => seen.insert(entry),
            };
            if !is_first {
                return Err(de::Error::duplicate_field(field.map_or("layout", Entry::name)));
            }
            map.next_value_seed(Fill { draft: &mut draft, field })?;
        }
        // The other entries depend on the layout, which may come last. `finish` checks them.
        for &entry in Entry::ALL {
            if EntrySet::OF_EVERY_LAYOUT.contains(entry) && !seen.contains(entry) {
                return Err(de::Error::missing_field(entry.name()));
            }
        }
        draft.finish()
    }
}

/// Reads the next field of a sequence.
// Inlined, so the entry is a constant in each call, also in `Fill::deserialize`, and the matches over entries
// disappear.
#[inline(always)]
fn fill<'de, A: SeqAccess<'de>>(
    fields: &mut A,
    draft: &mut Draft,
    field: Option<Entry>,
) -> Result<(), A::Error> {
    fields.next_element_seed(Fill { draft, field })?.ok_or_else(|| {
        let before = field.map_or(0, |entry| entry as usize + 1);
        de::Error::invalid_length(before, &MetaVisitor)
    })
}

/// The name of a field: an entry, or `None` for the layout.
struct FieldName(Option<Entry>);

impl<'de> Deserialize<'de> for FieldName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_identifier(FieldNameVisitor)
    }
}

struct FieldNameVisitor;

impl Visitor<'_> for FieldNameVisitor {
    type Value = FieldName;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<FieldName, E> {
        if name == "layout" {
            return Ok(FieldName(None));
        }
        match Entry::ALL.iter().find(|entry| entry.name() == name) {
            Some(&entry) => Ok(FieldName(Some(entry))),
            None => Err(E::unknown_field(name, META_FIELDS)),
        }
    }
}

/// A partly read `Meta`. It is filled in place, because moving it costs more than reading it.
struct Draft {
    meta: Meta,
    ndim: u8,
    has_layout: bool,
    /// The entries read so far. Entries that all layouts have are in the set from the start: each of them is required,
    /// and reported where it is missing.
    entries: EntrySet,
}

impl Draft {
    #[inline]
    fn new() -> Self {
        let meta = Meta {
            shape: Vector::new(),
            chunkshape: Vector::new(),
            blockshape: Vector::new(),
            dtype: EcoString::new(),
            layout: Layout::B2nd,
            version: 0,
            dtype_format: 0,
        };
        Self { meta, ndim: 0, has_layout: false, entries: EntrySet::OF_EVERY_LAYOUT }
    }

    /// Checks the fields against each other.
    #[inline]
    fn finish<E: de::Error>(mut self) -> Result<Meta, E> {
        // JSON written by hand may leave the layout out. The entries then select it, as when writing a struct.
        if !self.has_layout {
            let has_entries = |layout: &Layout| layout.entry_set() == self.entries;
            self.meta.layout = Layout::ALL.iter().copied().find(has_entries).unwrap_or_default();
        }
        check_entries(self.meta.layout, self.entries)
            .and_then(|()| self.meta.check(self.ndim))
            .map_err(E::custom)?;
        Ok(self.meta)
    }
}

/// Checks that these are the entries of the layout.
#[inline]
fn check_entries(layout: Layout, given: EntrySet) -> Result<(), Error> {
    if given == layout.entry_set() {
        return Ok(());
    }
    let wrong = Entry::ALL.iter().copied().find(|&entry| layout.has(entry) != given.contains(entry));
    wrong.map_or(Ok(()), |entry| {
        let fault =
            if layout.has(entry) { LayoutFault::Absent { layout } } else { LayoutFault::Surplus { layout } };
        Err(fault.error().in_entry(entry))
    })
}

/// Reads a field into its place.
struct Fill<'a> {
    draft: &'a mut Draft,
    field: Option<Entry>,
}

impl<'de> DeserializeSeed<'de> for Fill<'_> {
    type Value = ();

    #[inline(always)]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        let Draft { meta, ndim, has_layout, entries } = self.draft;
        let Some(entry) = self.field else {
            meta.layout = Layout::deserialize(deserializer)?;
            *has_layout = true;
            return Ok(());
        };
        match entry {
            Entry::Version => meta.version = u8::deserialize(deserializer)?,
            Entry::Ndim => *ndim = u8::deserialize(deserializer)?,
            Entry::Shape => deserializer.deserialize_seq(FillVector(&mut meta.shape))?,
            Entry::Chunkshape => deserializer.deserialize_seq(FillVector(&mut meta.chunkshape))?,
            Entry::Blockshape => deserializer.deserialize_seq(FillVector(&mut meta.blockshape))?,
            Entry::DtypeFormat => {
                if let Some(value) = Option::deserialize(deserializer)? {
                    meta.dtype_format = value;
                    entries.insert(entry);
                }
            }
            Entry::Dtype => {
                if deserializer.deserialize_option(FillText(&mut meta.dtype))? {
                    entries.insert(entry);
                }
            }
        }
        Ok(())
    }
}

/// Reads a dimension vector into an array on the stack, then copies it.
// Growing a vector costs more per dimension than reading one. The fixed array also bounds the memory: other formats can
// claim any length.
struct FillVector<'a, W>(&'a mut Vector<W>);

impl<'de, W: Deserialize<'de> + Copy + Default> Visitor<'de> for FillVector<'_, W> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {MAX_NDIM} dimensions")
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut dimensions = [W::default(); MAX_NDIM as usize];
        let mut ndim = 0;
        while let Some(dimension) = seq.next_element()? {
            let Some(slot) = dimensions.get_mut(ndim) else {
                return Err(de::Error::invalid_length(ndim + 1, &self));
            };
            *slot = dimension;
            ndim += 1;
        }
        *self.0 = vector(&dimensions, ndim);
        Ok(())
    }
}

/// A vector of the first `ndim` dimensions.
// Few dimensions are copied one by one. A copy in larger pieces, right after writing them in small ones, stalls the
// processor.
#[inline]
fn vector<W: Copy>(dimensions: &[W; MAX_NDIM as usize], ndim: usize) -> Vector<W> {
    let &[a, b, c, d, ..] = dimensions;
    match dimensions.get(..ndim) {
        Some(long) if ndim > IN_PLACE => Vector::from_slice(long),
        _ => Vector::from_buf_and_len([a, b, c, d], ndim.min(IN_PLACE)),
    }
}

/// Reads a dtype that may be absent, and returns whether it is present.
struct FillText<'a>(&'a mut EcoString);

impl<'de> Visitor<'de> for FillText<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a dtype")
    }

    #[inline]
    fn visit_none<E: de::Error>(self) -> Result<bool, E> {
        Ok(false)
    }

    // Our own deserializer gives a unit for an entry that the layout does not have.
    #[inline]
    fn visit_unit<E: de::Error>(self) -> Result<bool, E> {
        Ok(false)
    }

    #[inline]
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }

    #[inline]
    fn visit_str<E: de::Error>(self, text: &str) -> Result<bool, E> {
        *self.0 = text.into();
        Ok(true)
    }
}
