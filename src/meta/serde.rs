//! A `Meta` to serde: eight fields, the layout and the seven entries.

use core::fmt;

use ecow::EcoString;
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::{Meta, Vector};
use crate::error::{Detail, Error};
use crate::layout::{Entry, Layout, MAX_NDIM};

/// The name under which a `Meta` asks for its fields. Our own [`Deserializer`](crate::Deserializer) knows it, and
/// answers with the layout and seven entries.
pub(crate) const STRUCT_NAME: &str = "$b2nd_serde::Meta";

/// The fields of a `Meta` in every other format.
const FIELDS: [&str; 8] =
    ["layout", "version", "ndim", "shape", "chunkshape", "blockshape", "dtype_format", "dtype"];

/// The name under which a `Meta` of this layout gives its fields: so our own [`Serializer`](crate::Serializer) knows
/// the layout before the first field.
const fn struct_name(layout: Layout) -> &'static str {
    match layout {
        Layout::B2nd => "$b2nd_serde::Meta",
        Layout::B2ndMismarked => "$b2nd_serde::Meta(b2nd-mismarked)",
        Layout::B2ndSix => "$b2nd_serde::Meta(b2nd-six)",
        Layout::Caterva => "$b2nd_serde::Meta(caterva)",
    }
}

/// The layout of the `Meta` that gives its fields under this name; `None` for any other struct.
#[inline]
pub(crate) fn layout_of_struct(name: &str) -> Option<Layout> {
    Layout::ALL.iter().copied().find(|&layout| struct_name(layout) == name)
}

impl Serialize for Meta {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct(struct_name(self.layout), FIELDS.len())?;
        fields.serialize_field("layout", self.layout.name())?;
        fields.serialize_field("version", &self.version)?;
        // At most 16, and read as a byte where a format has widths.
        fields.serialize_field("ndim", &u8::try_from(self.ndim()).unwrap_or(u8::MAX))?;
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
        deserializer.deserialize_struct(STRUCT_NAME, &FIELDS, MetaVisitor)
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
        fill(&mut fields, &mut draft, None, 0)?;
        fill(&mut fields, &mut draft, Some(Entry::Version), 1)?;
        fill(&mut fields, &mut draft, Some(Entry::Ndim), 2)?;
        fill(&mut fields, &mut draft, Some(Entry::Shape), 3)?;
        fill(&mut fields, &mut draft, Some(Entry::Chunkshape), 4)?;
        fill(&mut fields, &mut draft, Some(Entry::Blockshape), 5)?;
        fill(&mut fields, &mut draft, Some(Entry::DtypeFormat), 6)?;
        fill(&mut fields, &mut draft, Some(Entry::Dtype), 7)?;
        draft.finish()
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Meta, A::Error> {
        let mut draft = Draft::new();
        let mut seen = 0;
        while let Some(FieldName(field)) = map.next_key()? {
            if seen & bit(field) != 0 {
                return Err(de::Error::duplicate_field(field.map_or("layout", Entry::name)));
            }
            seen |= bit(field);
            map.next_value_seed(Fill { draft: &mut draft, field })?;
        }
        for entry in [Entry::Version, Entry::Ndim, Entry::Shape, Entry::Chunkshape, Entry::Blockshape] {
            if seen & bit(Some(entry)) == 0 {
                return Err(de::Error::missing_field(entry.name()));
            }
        }
        draft.finish()
    }
}

/// Reads the next field of a sequence, behind so many others.
#[inline(always)]
fn fill<'de, A: SeqAccess<'de>>(
    fields: &mut A,
    draft: &mut Draft,
    field: Option<Entry>,
    before: usize,
) -> Result<(), A::Error> {
    match fields.next_element_seed(Fill { draft, field })? {
        Some(()) => Ok(()),
        None => Err(de::Error::invalid_length(before, &MetaVisitor)),
    }
}

/// A bit for each field; `None` is the layout.
fn bit(field: Option<Entry>) -> u8 {
    field.map_or(1, |entry| 2 << entry as u8)
}

/// The key of a field: an entry, or the layout.
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
        match Entry::ALL.into_iter().find(|entry| entry.name() == name) {
            Some(entry) => Ok(FieldName(Some(entry))),
            None => Err(E::unknown_field(name, &FIELDS)),
        }
    }
}

/// A `Meta` that is being read. It is filled in place, as moving it would cost more than reading it.
struct Draft {
    meta: Meta,
    ndim: u8,
    has_layout: bool,
    has_dtype_format: bool,
    has_dtype: bool,
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
        Self { meta, ndim: 0, has_layout: false, has_dtype_format: false, has_dtype: false }
    }

    /// Holds the fields against each other.
    #[inline]
    fn finish<E: de::Error>(mut self) -> Result<Meta, E> {
        if !self.has_layout {
            self.meta.layout = match (self.has_dtype_format, self.has_dtype) {
                (true, _) => Layout::B2nd,
                (false, true) => Layout::B2ndSix,
                (false, false) => Layout::Caterva,
            };
        }
        let layout = self.meta.layout;
        check_presence(layout, Entry::DtypeFormat, self.has_dtype_format)
            .and_then(|()| check_presence(layout, Entry::Dtype, self.has_dtype))
            .and_then(|()| self.meta.check(self.ndim))
            .map_err(E::custom)?;
        Ok(self.meta)
    }
}

#[inline]
fn check_presence(layout: Layout, entry: Entry, is_there: bool) -> Result<(), Error> {
    let detail = match (layout.has(entry), is_there) {
        (true, false) => Detail::Absent { layout },
        (false, true) => Detail::Surplus { layout },
        _ => return Ok(()),
    };
    Err(Error::new(detail).in_entry(entry))
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
        let Draft { meta, ndim, has_layout, has_dtype_format, has_dtype } = self.draft;
        match self.field {
            None => {
                meta.layout = Layout::deserialize(deserializer)?;
                *has_layout = true;
            }
            Some(Entry::Version) => meta.version = u8::deserialize(deserializer)?,
            Some(Entry::Ndim) => *ndim = u8::deserialize(deserializer)?,
            Some(Entry::Shape) => deserializer.deserialize_seq(FillVector(&mut meta.shape))?,
            Some(Entry::Chunkshape) => deserializer.deserialize_seq(FillVector(&mut meta.chunkshape))?,
            Some(Entry::Blockshape) => deserializer.deserialize_seq(FillVector(&mut meta.blockshape))?,
            Some(Entry::DtypeFormat) => {
                let value: Option<u8> = Option::deserialize(deserializer)?;
                meta.dtype_format = value.unwrap_or_default();
                *has_dtype_format = value.is_some();
            }
            Some(Entry::Dtype) => *has_dtype = deserializer.deserialize_option(FillText(&mut meta.dtype))?,
        }
        Ok(())
    }
}

/// Reads a dimension vector: however long it says it is, no more than 16 dimensions are kept.
struct FillVector<'a, W>(&'a mut Vector<W>);

impl<'de, W: Deserialize<'de>> Visitor<'de> for FillVector<'_, W> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {MAX_NDIM} dimensions")
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let most = usize::from(MAX_NDIM);
        self.0.reserve_exact(seq.size_hint().unwrap_or_default().min(most));
        while let Some(dimension) = seq.next_element()? {
            if self.0.len() == most {
                return Err(de::Error::invalid_length(most + 1, &self));
            }
            self.0.push(dimension);
        }
        Ok(())
    }
}

/// Reads a dtype, or the lack of one: answers whether there is one.
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
