//! The ready-made struct: any metalayer that the format accepts, with its layout.

use core::fmt;
use core::marker::PhantomData;

use ecow::EcoString;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use smallvec::SmallVec;

use crate::dtype::{self, Dtype};
use crate::error::{Detail, Error, Integer, Length, Result};
use crate::geometry::{self, Geometry};
use crate::layout::{Entry, Layout, MAX_NDIM};
use crate::wire;

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
    Layout::ALL.into_iter().find(|&layout| struct_name(layout) == name)
}

/// The dimensions of most arrays need no heap.
type Dimensions<W> = SmallVec<[W; 4]>;

/// What a metalayer says: any that the format accepts, in any layout, with any version and any sign.
///
/// Its three vectors always have the same number of dimensions, 0 to 16. For every accepted input,
/// `to_vec(&from_slice::<Meta>(bytes)?)? == bytes`, whatever the layout. It keeps the layout through newtypes and
/// `Option`, but not through an `untagged` enum or `flatten`, which forget it before a `Meta` sees the bytes.
///
/// In other formats it is a struct of `layout` and the seven entries, of which those that the layout lacks are null.
/// Reading one checks all that this format checks; without `layout`, the entries that are there decide.
///
/// ```
/// use b2nd_serde::{Layout, Meta, from_slice, to_vec};
///
/// let meta = Meta::new(&[3, 5], &[2, 3], &[1, 2], "<i4")?;
/// let bytes = to_vec(&meta)?;
/// assert_eq!(bytes.len(), 53);
///
/// let meta: Meta = from_slice(&bytes)?;
/// assert_eq!(meta.layout(), Layout::B2nd);
/// assert_eq!(meta.shape(), [3, 5]);
/// assert_eq!(meta.dtype(), Some("<i4"));
///
/// let json = r#"{"layout":"b2nd","version":0,"ndim":2,"shape":[3,5],"chunkshape":[2,3],"blockshape":[1,2],"dtype_format":0,"dtype":"<i4"}"#;
/// assert_eq!(serde_json::to_string(&meta)?, json);
/// assert_eq!(serde_json::from_str::<Meta>(json)?, meta);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Meta {
    shape: Dimensions<i64>,
    chunkshape: Dimensions<i32>,
    blockshape: Dimensions<i32>,
    /// Empty where the layout has none.
    dtype: EcoString,
    layout: Layout,
    version: u8,
    /// 0 where the layout has none.
    dtype_format: u8,
}

impl Meta {
    /// A metalayer of layout [`Layout::B2nd`], version 0 and dtype format 0, which is NumPy's syntax.
    ///
    /// Shapes are in items; signs and sizes are not looked at.
    ///
    /// # Errors
    ///
    /// If the vectors have different numbers of dimensions or more than 16, or if the dtype has a NUL or is over
    /// 2147483647 bytes long.
    ///
    /// ```
    /// use b2nd_serde::Meta;
    ///
    /// let error = Meta::new(&[3, 5], &[2, 3, 4], &[1, 2], "<i4").unwrap_err();
    /// assert_eq!(error.to_string(), "chunkshape has 3 dimensions, but ndim is 2");
    /// ```
    pub fn new(shape: &[i64], chunkshape: &[i32], blockshape: &[i32], dtype: &str) -> Result<Self> {
        let ndim = u8::try_from(shape.len()).unwrap_or(u8::MAX);
        if ndim > MAX_NDIM {
            let found = Length::new(shape.len());
            return Err(Error::new(Detail::Rank { found }).in_entry(Entry::Ndim));
        }
        Self {
            shape: shape.into(),
            chunkshape: chunkshape.into(),
            blockshape: blockshape.into(),
            dtype: dtype.into(),
            layout: Layout::B2nd,
            version: 0,
            dtype_format: 0,
        }
        .checked(ndim)
    }

    /// The same in another layout. What that layout has no entry for is dropped: the dtype format, the dtype.
    ///
    /// # Errors
    ///
    /// If the layout has a dtype, and this one has none.
    ///
    /// ```
    /// use b2nd_serde::{Layout, Meta, to_vec};
    ///
    /// let old = Meta::new(&[6], &[4], &[2], "|u1")?.with_layout(Layout::Caterva)?;
    /// assert_eq!(old.dtype(), None);
    /// assert_eq!(to_vec(&old)?.len(), 25);
    /// assert!(old.with_layout(Layout::B2nd).is_err());
    /// # Ok::<(), b2nd_serde::Error>(())
    /// ```
    pub fn with_layout(mut self, layout: Layout) -> Result<Self> {
        if layout.has(Entry::Dtype) && !self.layout.has(Entry::Dtype) {
            return Err(Error::new(Detail::Absent { layout }).in_entry(Entry::Dtype));
        }
        if !layout.has(Entry::Dtype) {
            self.dtype = EcoString::new();
        }
        if !layout.has(Entry::DtypeFormat) {
            self.dtype_format = 0;
        }
        self.layout = layout;
        Ok(self)
    }

    /// The layout in which it was read, or will be written.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The version of the metalayer, 0 to 127: 0 in every file ever written.
    #[must_use]
    pub fn version(&self) -> u8 {
        self.version
    }

    /// The number of dimensions, 0 to 16.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Items along each dimension.
    #[must_use]
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// Items of a chunk along each dimension.
    #[must_use]
    pub fn chunkshape(&self) -> &[i32] {
        &self.chunkshape
    }

    /// Items of a block along each dimension.
    #[must_use]
    pub fn blockshape(&self) -> &[i32] {
        &self.blockshape
    }

    /// The syntax of the dtype, 0 to 127 (0 is NumPy's); `None` where the layout has no such entry.
    #[must_use]
    pub fn dtype_format(&self) -> Option<u8> {
        self.layout.has(Entry::DtypeFormat).then_some(self.dtype_format)
    }

    /// The item type as text; `None` where the layout has no such entry.
    #[must_use]
    pub fn dtype(&self) -> Option<&str> {
        self.layout.has(Entry::Dtype).then_some(self.dtype.as_str())
    }

    /// Where the items of the array lie: the proof that the numbers work.
    ///
    /// # Errors
    ///
    /// If the version is not 0, whose rules alone are known, or the numbers break one of the
    /// [rules](crate::geometry#what-is-accepted).
    ///
    /// ```
    /// use b2nd_serde::Meta;
    ///
    /// let meta = Meta::new(&[3, 5], &[2, 3], &[1, 2], "<i4")?;
    /// assert_eq!(meta.geometry()?.nchunks(), 4);
    ///
    /// let meta = Meta::new(&[3, -5], &[2, 3], &[1, 2], "<i4")?;
    /// let error = meta.geometry().unwrap_err();
    /// assert_eq!(error.to_string(), "expected at least 0 for shape[1], found -5");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn geometry(&self) -> core::result::Result<Geometry, geometry::Error> {
        if self.version != 0 {
            return Err(geometry::Error::version(self.version));
        }
        Geometry::new(&self.shape, &self.chunkshape, &self.blockshape)
    }

    /// What the dtype means; `None` where the layout has no such entry.
    ///
    /// # Errors
    ///
    /// If the dtype format is not 0, which is NumPy's, or if the dtype is none that NumPy or `ml_dtypes` has. Its text
    /// stays there to be asked for with [`dtype`](Self::dtype).
    ///
    /// ```
    /// use b2nd_serde::Meta;
    ///
    /// let dtype = Meta::new(&[3, 5], &[2, 3], &[1, 2], "<i4")?.parse_dtype()?.expect("layout b2nd has one");
    /// assert_eq!(dtype.item_size(), 4);
    ///
    /// let error = Meta::new(&[], &[], &[], "int33")?.parse_dtype().unwrap_err();
    /// assert_eq!(error.to_string(), "character 0: unknown type 'int33'");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse_dtype(&self) -> core::result::Result<Option<Dtype>, dtype::ParseError> {
        let Some(text) = self.dtype() else {
            return Ok(None);
        };
        if self.dtype_format != 0 {
            return Err(dtype::ParseError::unknown_format(text, self.dtype_format));
        }
        text.parse().map(Some)
    }

    /// Holds the parts against each other and against the widths of the format.
    #[inline]
    fn checked(self, ndim: u8) -> Result<Self> {
        if ndim > MAX_NDIM {
            let found = Length::new(ndim.into());
            return Err(Error::new(Detail::Rank { found }).in_entry(Entry::Ndim));
        }
        let lengths = [
            (Entry::Shape, self.shape.len()),
            (Entry::Chunkshape, self.chunkshape.len()),
            (Entry::Blockshape, self.blockshape.len()),
        ];
        for (entry, length) in lengths {
            if length != usize::from(ndim) {
                let found = Length::new(length);
                return Err(Error::new(Detail::Dimensions { found, ndim }).in_entry(entry));
            }
        }
        for (entry, value) in [(Entry::Version, self.version), (Entry::DtypeFormat, self.dtype_format)] {
            if !wire::is_fixint(value) {
                let value = Integer::unsigned(value.into());
                return Err(Error::new(Detail::DoesNotFit(value)).in_entry(entry));
            }
        }
        wire::check_str(&self.dtype).map_err(|fault| fault.error().in_entry(Entry::Dtype))?;
        Ok(self)
    }
}

impl fmt::Debug for Meta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meta")
            .field("layout", &self.layout)
            .field("version", &self.version)
            .field("shape", &self.shape)
            .field("chunkshape", &self.chunkshape)
            .field("blockshape", &self.blockshape)
            .field("dtype_format", &self.dtype_format())
            .field("dtype", &self.dtype())
            .finish()
    }
}

impl Serialize for Meta {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct(struct_name(self.layout), FIELDS.len())?;
        fields.serialize_field("layout", self.layout.name())?;
        fields.serialize_field("version", &self.version)?;
        fields.serialize_field("ndim", &self.ndim())?;
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

/// The fields of a `Meta` as they were read, before they are held against each other.
#[derive(Default)]
struct Fields {
    layout: Option<Layout>,
    version: u8,
    ndim: u8,
    shape: Dimensions<i64>,
    chunkshape: Dimensions<i32>,
    blockshape: Dimensions<i32>,
    dtype_format: Option<u8>,
    dtype: Option<EcoString>,
}

impl Fields {
    #[inline]
    fn check(self) -> Result<Meta> {
        let layout = self.layout.unwrap_or(match (self.dtype_format, &self.dtype) {
            (Some(_), _) => Layout::B2nd,
            (None, Some(_)) => Layout::B2ndSix,
            (None, None) => Layout::Caterva,
        });
        let there = [(Entry::DtypeFormat, self.dtype_format.is_some()), (Entry::Dtype, self.dtype.is_some())];
        for (entry, is_there) in there {
            let detail = match (layout.has(entry), is_there) {
                (true, false) => Detail::Absent { layout },
                (false, true) => Detail::Surplus { layout },
                _ => continue,
            };
            return Err(Error::new(detail).in_entry(entry));
        }
        Meta {
            shape: self.shape,
            chunkshape: self.chunkshape,
            blockshape: self.blockshape,
            dtype: self.dtype.unwrap_or_default(),
            layout,
            version: self.version,
            dtype_format: self.dtype_format.unwrap_or_default(),
        }
        .checked(self.ndim)
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
        Fields {
            layout: Some(next(&mut fields, 0)?),
            version: next(&mut fields, 1)?,
            ndim: next(&mut fields, 2)?,
            shape: next::<_, Vector<_>>(&mut fields, 3)?.0,
            chunkshape: next::<_, Vector<_>>(&mut fields, 4)?.0,
            blockshape: next::<_, Vector<_>>(&mut fields, 5)?.0,
            dtype_format: next(&mut fields, 6)?,
            dtype: next::<_, Option<Text>>(&mut fields, 7)?.map(|dtype| dtype.0),
        }
        .check()
        .map_err(de::Error::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Meta, A::Error> {
        let mut layout = None;
        let mut version = None;
        let mut ndim = None;
        let mut shape = None;
        let mut chunkshape = None;
        let mut blockshape = None;
        let mut dtype_format = None;
        let mut dtype = None;
        while let Some(Field(field)) = map.next_key()? {
            match field {
                None => set(&mut layout, "layout", &mut map)?,
                Some(Entry::Version) => set(&mut version, "version", &mut map)?,
                Some(Entry::Ndim) => set(&mut ndim, "ndim", &mut map)?,
                Some(Entry::Shape) => set(&mut shape, "shape", &mut map)?,
                Some(Entry::Chunkshape) => set(&mut chunkshape, "chunkshape", &mut map)?,
                Some(Entry::Blockshape) => set(&mut blockshape, "blockshape", &mut map)?,
                Some(Entry::DtypeFormat) => set(&mut dtype_format, "dtype_format", &mut map)?,
                Some(Entry::Dtype) => set(&mut dtype, "dtype", &mut map)?,
            }
        }
        Fields {
            layout,
            version: required(version, "version")?,
            ndim: required(ndim, "ndim")?,
            shape: required::<_, Vector<_>>(shape, "shape")?.0,
            chunkshape: required::<_, Vector<_>>(chunkshape, "chunkshape")?.0,
            blockshape: required::<_, Vector<_>>(blockshape, "blockshape")?.0,
            dtype_format: dtype_format.flatten(),
            dtype: dtype.flatten().map(|dtype: Text| dtype.0),
        }
        .check()
        .map_err(de::Error::custom)
    }
}

/// The next field of a sequence.
#[inline]
fn next<'de, A: SeqAccess<'de>, T: Deserialize<'de>>(fields: &mut A, index: usize) -> Result<T, A::Error> {
    fields.next_element()?.ok_or_else(|| de::Error::invalid_length(index, &MetaVisitor))
}

/// Takes the value of a key that has not come before.
fn set<'de, A: MapAccess<'de>, T: Deserialize<'de>>(
    slot: &mut Option<T>,
    name: &'static str,
    map: &mut A,
) -> Result<(), A::Error> {
    if slot.is_some() {
        return Err(de::Error::duplicate_field(name));
    }
    *slot = Some(map.next_value()?);
    Ok(())
}

/// The value of a field that has to be there.
fn required<E: de::Error, T>(slot: Option<T>, name: &'static str) -> Result<T, E> {
    slot.ok_or_else(|| E::missing_field(name))
}

/// The key of a field: an entry, or the layout.
struct Field(Option<Entry>);

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_identifier(FieldVisitor)
    }
}

struct FieldVisitor;

impl Visitor<'_> for FieldVisitor {
    type Value = Field;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Field, E> {
        if name == "layout" {
            return Ok(Field(None));
        }
        match Entry::ALL.into_iter().find(|entry| entry.name() == name) {
            Some(entry) => Ok(Field(Some(entry))),
            None => Err(E::unknown_field(name, &FIELDS)),
        }
    }
}

/// A dimension vector of any format: however long it says it is, no more than 16 dimensions are kept.
struct Vector<W>(Dimensions<W>);

impl<'de, W: Deserialize<'de>> Deserialize<'de> for Vector<W> {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(VectorVisitor(PhantomData))
    }
}

struct VectorVisitor<W>(PhantomData<W>);

impl<'de, W: Deserialize<'de>> Visitor<'de> for VectorVisitor<W> {
    type Value = Vector<W>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at most {MAX_NDIM} dimensions")
    }

    #[inline]
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vector<W>, A::Error> {
        let mut dimensions = SmallVec::new();
        while let Some(dimension) = seq.next_element()? {
            if dimensions.len() == usize::from(MAX_NDIM) {
                return Err(de::Error::invalid_length(dimensions.len() + 1, &self));
            }
            dimensions.push(dimension);
        }
        Ok(Vector(dimensions))
    }
}

/// A dtype of any format.
struct Text(EcoString);

impl<'de> Deserialize<'de> for Text {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor)
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a dtype")
    }

    #[inline]
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text(text.into()))
    }
}
