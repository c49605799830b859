//! `Meta`, a ready-made struct for a metalayer in any layout, and its form in serde's data model.
//!
//! In other formats a `Meta` is a struct of its layout and entries. This crate's own `Serializer` and `Deserializer`
//! recognize this struct by its name and fields (`META_NAME`, `META_FIELDS`). The `Serializer` takes the layout from
//! the first field, and skips the entries that this layout does not have. The `Deserializer` passes the bytes of the
//! metalayer to the visitor in this file, which decodes them. So serde is not called for each single entry.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use ecow::EcoString;
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::ser::{Serialize, SerializeStruct, Serializer};

#[cfg(feature = "dtype")]
use crate::dtype::{self, Dtype};
use crate::error::{Error, LayoutFault};
use crate::geometry::{self, Dimensions, Geometry};
use crate::layout::{Entry, Layout, MAX_NDIM, META_FIELDS, META_LAYOUT, META_NAME};
use crate::metalayer::Metalayer;
use crate::shapes::Shapes;
use crate::wire::{Reader, check_dimensions, check_dtype, check_fixint, check_ndim};

/// A `Meta` with at most this number of dimensions needs no allocation for them. Few arrays have more dimensions.
// A `Meta` has 104 bytes: 64 for the dimensions, 15 for the text of a short dtype, and 25 for everything else. With 16
// dimensions inline, a `Meta` would have some 300 bytes, and moving them would cost more than reading the metalayer.
const INLINE: usize = 4;

/// The dimensions of three shapes. In each shape, the elements after the last dimension are 0.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Arrays<const ROOM: usize> {
    shape: [i64; ROOM],
    chunkshape: [i32; ROOM],
    blockshape: [i32; ROOM],
}

impl<const ROOM: usize> Arrays<ROOM> {
    const ZERO: Self = Self { shape: [0; ROOM], chunkshape: [0; ROOM], blockshape: [0; ROOM] };

    #[inline(always)]
    fn fill(
        &mut self,
        shape: impl Iterator<Item = i64>,
        chunkshape: impl Iterator<Item = i32>,
        blockshape: impl Iterator<Item = i32>,
    ) {
        self.shape.iter_mut().zip(shape).for_each(|(slot, items)| *slot = items);
        self.chunkshape.iter_mut().zip(chunkshape).for_each(|(slot, items)| *slot = items);
        self.blockshape.iter_mut().zip(blockshape).for_each(|(slot, items)| *slot = items);
    }

    #[inline]
    fn first(&self, ndim: usize) -> Shapes<'_> {
        Shapes {
            shape: self.shape.get(..ndim).unwrap_or_default(),
            chunkshape: self.chunkshape.get(..ndim).unwrap_or_default(),
            blockshape: self.blockshape.get(..ndim).unwrap_or_default(),
        }
    }
}

/// Three shapes with the same number of dimensions.
// This is a struct and not an enum, because with an enum it took longer to read a metalayer of one dimension.
#[derive(Clone, PartialEq, Eq, Hash)]
struct OwnedShapes {
    /// The shapes, if they have at most [`INLINE`] dimensions; zeros otherwise.
    inline: Arrays<INLINE>,
    /// The shapes, if they have more than [`INLINE`] dimensions; `None` otherwise.
    heap: Option<Box<Arrays<MAX_NDIM>>>,
    ndim: u8,
}

impl OwnedShapes {
    #[inline(always)]
    fn new(
        ndim: u8,
        shape: impl Iterator<Item = i64>,
        chunkshape: impl Iterator<Item = i32>,
        blockshape: impl Iterator<Item = i32>,
    ) -> Self {
        let mut shapes = Self { inline: Arrays::ZERO, heap: None, ndim };
        if usize::from(ndim) <= INLINE {
            shapes.inline.fill(shape, chunkshape, blockshape);
        } else {
            shapes.heap.insert(Box::new(Arrays::ZERO)).fill(shape, chunkshape, blockshape);
        }
        shapes
    }

    #[inline]
    fn from_shapes(ndim: u8, shapes: Shapes<'_>) -> Self {
        let Shapes { shape, chunkshape, blockshape } = shapes;
        Self::new(ndim, shape.iter().copied(), chunkshape.iter().copied(), blockshape.iter().copied())
    }

    #[inline]
    fn get(&self) -> Shapes<'_> {
        match &self.heap {
            None => self.inline.first(self.ndim.into()),
            Some(heap) => heap.first(self.ndim.into()),
        }
    }
}

/// A metalayer in any layout, with all its entries.
///
/// ```
/// use b2nd_serde::{Meta, Shapes, from_slice, to_vec};
///
/// let shapes = Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] };
/// let bytes = to_vec(&Meta::new(shapes, "<i4")?)?;
/// let meta: Meta = from_slice(&bytes)?;
/// assert_eq!((meta.shape(), meta.dtype()), (&[3, 5][..], Some("<i4")));
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
///
/// The three shapes always have the same number of dimensions, 0 to 16. The meaning of the entries is not checked:
/// numbers can be negative, and the dtype can be any text. [`Meta::geometry`] checks the numbers, and
/// `Meta::parse_dtype` the dtype.
///
/// A `Meta` keeps its layout, so a metalayer is written back byte for byte as it was read:
/// `to_vec(&from_slice::<Meta>(bytes)?)? == bytes`. The same is true for a `Meta` inside a newtype or an `Option`. But
/// a metalayer cannot be read into a `Meta` inside an `untagged` enum or in a field with `flatten`, because serde then
/// copies the entries to a buffer, without the layout.
///
/// In other formats, such as JSON, a `Meta` is a struct of `layout` and the seven entries. Entries that the layout does
/// not have are null. The values of these fields must follow the same rules as the entries of a metalayer. If `layout`
/// is missing, the entries determine it. If the other format gives bytes instead of a struct, these bytes are read as a
/// metalayer.
///
/// JSON, RON, MessagePack, postcard, CBOR and TOML are tested. CSV and URL queries cannot hold a `Meta`, because these
/// formats have no sequences inside a struct. XML has neither an empty sequence nor a null, so XML can hold a `Meta`
/// only if it has at least one dimension and a layout with all seven entries.
///
/// ```
/// use b2nd_serde::{Meta, Shapes};
///
/// let meta = Meta::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] }, "<i4")?;
/// let json = concat!(
///     r#"{"layout":"b2nd","version":0,"ndim":2,"shape":[3,5],"chunkshape":[2,3],"blockshape":[1,2],"#,
///     r#""dtype_format":0,"dtype":"<i4"}"#
/// );
/// assert_eq!(serde_json::to_string(&meta)?, json);
/// assert_eq!(serde_json::from_str::<Meta>(json)?, meta);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Meta {
    shapes: OwnedShapes,
    /// Empty if the layout does not have this entry.
    dtype: EcoString,
    layout: Layout,
    version: u8,
    /// 0 if the layout does not have this entry.
    dtype_format: u8,
}

impl Meta {
    /// A metalayer of layout [`Layout::B2nd`], version 0 and dtype format 0, which is NumPy's syntax.
    ///
    /// The numbers of the shapes can be negative or zero; [`Meta::geometry`] checks them.
    ///
    /// # Errors
    ///
    /// If the three shapes have different numbers of dimensions, or more than 16 dimensions, or if the dtype has a NUL
    /// or more than 2147483647 bytes.
    ///
    /// ```
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// let shapes = Shapes { shape: &[3, 5], chunkshape: &[2, 3, 4], blockshape: &[1, 2] };
    /// let error = Meta::new(shapes, "<i4").unwrap_err();
    /// assert_eq!(error.to_string(), "chunkshape has 3 dimensions, but ndim is 2");
    /// ```
    pub fn new(shapes: Shapes<'_>, dtype: &str) -> Result<Self, Error> {
        Self::checked(Layout::B2nd, 0, shapes.shape.len(), shapes, 0, dtype)
    }

    /// The metalayer of a new array with items of `typesize` bytes. The chunk and block shapes are computed from the
    /// shape and the type size; see the table at [`Geometry::default_blockshape`].
    ///
    /// # Errors
    ///
    /// The errors of [`Meta::new`].
    ///
    /// ```
    /// let meta = b2nd_serde::Meta::with_default_shapes(&[4000, 5000], 4, "<f4")?;
    /// assert_eq!((meta.chunkshape(), meta.blockshape()), (&[204, 5000][..], &[6, 5000][..]));
    /// # Ok::<(), b2nd_serde::Error>(())
    /// ```
    pub fn with_default_shapes(shape: &[i64], typesize: usize, dtype: &str) -> Result<Self, Error> {
        let extent = Dimensions::collect(shape.iter().map(|&items| items.unsigned_abs()));
        let blockshape = Geometry::default_blockshape(&extent, typesize);
        let chunkshape = Geometry::default_chunkshape(&extent, &blockshape, typesize);
        // A default chunk has at most 4 MiB, or a single item that is larger. An item counts as at least 1 byte, so no
        // dimension of a chunk or block is above 2^22. Every dimension fits int32, so the fallback `i32::MAX` is never
        // used.
        let int32 =
            |shape: Dimensions| shape.iter().map(|&items| i32::try_from(items).unwrap_or(i32::MAX)).collect();
        let (chunkshape, blockshape): (Vec<i32>, Vec<i32>) = (int32(chunkshape), int32(blockshape));
        // `Dimensions` holds only the first 16 dimensions. If `shape` has more, the chunk and block shapes are padded
        // with ones until they have as many dimensions as `shape`. `Meta::new` then rejects the three shapes with an
        // error that names this number of dimensions.
        let rest = |part: &[i32]| [part, &vec![1; shape.len() - part.len()]].concat();
        let shapes = Shapes { shape, chunkshape: &rest(&chunkshape), blockshape: &rest(&blockshape) };
        Self::new(shapes, dtype)
    }

    /// Makes a `Meta` of these entries. Checks their counts and ranges, and the text of the dtype.
    fn checked(
        layout: Layout,
        version: u8,
        ndim: usize,
        shapes: Shapes<'_>,
        dtype_format: u8,
        dtype: &str,
    ) -> Result<Self, Error> {
        let ndim = check_ndim(ndim).map_err(|error| error.in_entry(Entry::Ndim))?;
        for (entry, found) in [
            (Entry::Shape, shapes.shape.len()),
            (Entry::Chunkshape, shapes.chunkshape.len()),
            (Entry::Blockshape, shapes.blockshape.len()),
        ] {
            check_dimensions(found, ndim).map_err(|error| error.in_entry(entry))?;
        }
        check_fixint(version).map_err(|error| error.in_entry(Entry::Version))?;
        check_fixint(dtype_format).map_err(|error| error.in_entry(Entry::DtypeFormat))?;
        check_dtype(dtype.as_bytes()).map_err(|error| error.in_entry(Entry::Dtype))?;
        let shapes = OwnedShapes::from_shapes(ndim, shapes);
        Ok(Self { shapes, dtype: dtype.into(), layout, version, dtype_format })
    }

    /// Makes a `Meta` of the entries of a checked metalayer and its dtype as text.
    #[inline(always)]
    fn from_metalayer(metalayer: &Metalayer<'_>, dtype: &str) -> Self {
        let Metalayer { layout, version, ndim, shape, chunkshape, blockshape, dtype_format, .. } = metalayer;
        let shapes = OwnedShapes::new(*ndim, shape.clone(), chunkshape.clone(), blockshape.clone());
        Self { shapes, dtype: dtype.into(), layout: *layout, version: *version, dtype_format: *dtype_format }
    }

    /// The layout in which the metalayer was read and will be written.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The version, 0 to 127. It is 0 in every known file.
    #[must_use]
    pub fn version(&self) -> u8 {
        self.version
    }

    /// The number of dimensions, 0 to 16.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.shapes.ndim.into()
    }

    /// The shape, chunk shape and block shape together, for [`Meta::new`] or [`Geometry::new`](crate::Geometry::new).
    ///
    /// ```
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// let meta = Meta::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] }, "<i4")?;
    /// let longer = Meta::new(Shapes { shape: &[30, 5], ..meta.shapes() }, "<i4")?;
    /// assert_eq!(longer.chunkshape(), [2, 3]);
    /// # Ok::<(), b2nd_serde::Error>(())
    /// ```
    #[must_use]
    pub fn shapes(&self) -> Shapes<'_> {
        self.shapes.get()
    }

    /// The shape: the items of the array along each dimension.
    #[must_use]
    pub fn shape(&self) -> &[i64] {
        self.shapes().shape
    }

    /// The chunk shape: the items of a chunk along each dimension.
    #[must_use]
    pub fn chunkshape(&self) -> &[i32] {
        self.shapes().chunkshape
    }

    /// The block shape: the items of a block along each dimension.
    #[must_use]
    pub fn blockshape(&self) -> &[i32] {
        self.shapes().blockshape
    }

    /// The syntax of the dtype, 0 to 127; 0 is NumPy's. `None` if the layout has no such entry.
    #[must_use]
    pub fn dtype_format(&self) -> Option<u8> {
        self.layout.has(Entry::DtypeFormat).then_some(self.dtype_format)
    }

    /// The dtype as text, which may be any string. `None` if the layout has no such entry.
    #[must_use]
    pub fn dtype(&self) -> Option<&str> {
        self.layout.has(Entry::Dtype).then_some(self.dtype.as_str())
    }

    /// The [`Geometry`] of the array, which computes the positions of its items.
    ///
    /// # Errors
    ///
    /// If the version is not 0, or if the numbers violate one of the [rules](crate::geometry#what-is-accepted).
    ///
    /// ```
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// let meta = Meta::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] }, "<i4")?;
    /// assert_eq!(meta.geometry()?.nchunks(), 4);
    ///
    /// let meta = Meta::new(Shapes { shape: &[3, -5], chunkshape: &[2, 3], blockshape: &[1, 2] }, "<i4")?;
    /// let error = meta.geometry().unwrap_err();
    /// assert_eq!(error.to_string(), "shape[1] is -5, but must be at least 0");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn geometry(&self) -> Result<Geometry, geometry::Error> {
        if self.version() != 0 {
            return Err(geometry::Error::version(self.version()));
        }
        Geometry::new(self.shapes())
    }

    /// The parsed dtype; `None` if the layout has no entry `dtype`.
    ///
    /// # Errors
    ///
    /// If the dtype format is not 0, or if the dtype string is not valid. After such an error, [`dtype`](Self::dtype)
    /// still gives the string.
    ///
    /// ```
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// let shapes = Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] };
    /// let dtype = Meta::new(shapes, "<i4")?.parse_dtype()?;
    /// assert_eq!(dtype.map(|dtype| dtype.item_size()), Some(4));
    ///
    /// let error = Meta::new(shapes, "int33")?.parse_dtype().unwrap_err();
    /// assert_eq!(error.to_string(), "character 0: expected a type such as <i4 or float64, found 'int33'");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "dtype")]
    pub fn parse_dtype(&self) -> Result<Option<Dtype>, dtype::Error> {
        let Some(text) = self.dtype() else { return Ok(None) };
        match self.dtype_format() {
            // A layout without the entry `dtype_format` uses NumPy's syntax too.
            None | Some(0) => text.parse().map(Some),
            Some(format) => Err(dtype::Error::unknown_format(text, format)),
        }
    }

    /// This metalayer in another layout. A dtype or dtype format that the new layout does not have is dropped. The
    /// dtype keeps its spelling.
    ///
    /// # Errors
    ///
    /// If the new layout has the entry `dtype`, but the old layout does not.
    ///
    /// ```
    /// use b2nd_serde::{Layout, Meta, Shapes, to_vec};
    ///
    /// let meta = Meta::new(Shapes { shape: &[6], chunkshape: &[4], blockshape: &[2] }, "|u1")?;
    /// let old = meta.with_layout(Layout::Caterva)?;
    /// assert_eq!(old.dtype(), None);
    /// assert_eq!(to_vec(&old)?.len(), 25);
    /// assert!(old.with_layout(Layout::B2nd).is_err());
    /// # Ok::<(), b2nd_serde::Error>(())
    /// ```
    pub fn with_layout(mut self, layout: Layout) -> Result<Self, Error> {
        if layout.has(Entry::Dtype) && !self.layout.has(Entry::Dtype) {
            return Err(LayoutFault::Absent { layout }.error().in_entry(Entry::Dtype));
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

    /// This metalayer with another shape.
    ///
    /// # Errors
    ///
    /// If the new shape has another number of dimensions.
    ///
    /// ```
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// let meta = Meta::new(Shapes { shape: &[6], chunkshape: &[4], blockshape: &[2] }, "|u1")?;
    /// assert_eq!(meta.clone().with_shape(&[8])?.shape(), [8]);
    /// let error = meta.with_shape(&[8, 1]).unwrap_err();
    /// assert_eq!(error.to_string(), "shape has 2 dimensions, but ndim is 1");
    /// # Ok::<(), b2nd_serde::Error>(())
    /// ```
    pub fn with_shape(mut self, shape: &[i64]) -> Result<Self, Error> {
        check_dimensions(shape.len(), self.shapes.ndim).map_err(|error| error.in_entry(Entry::Shape))?;
        self.shapes = OwnedShapes::from_shapes(self.shapes.ndim, Shapes { shape, ..self.shapes() });
        Ok(self)
    }

    /// This metalayer with another dtype. The dtype format stays the same.
    ///
    /// # Errors
    ///
    /// If the layout has no dtype, or if the new dtype has a NUL or more than 2147483647 bytes.
    ///
    /// ```
    /// use b2nd_serde::{Layout, Meta, Shapes};
    ///
    /// let meta = Meta::new(Shapes { shape: &[6], chunkshape: &[4], blockshape: &[2] }, "|u1")?;
    /// assert_eq!(meta.clone().with_dtype("|i1")?.dtype(), Some("|i1"));
    /// let error = meta.with_layout(Layout::Caterva)?.with_dtype("|i1").unwrap_err();
    /// assert_eq!(error.to_string(), "layout caterva has no entry dtype, but the value has one");
    /// # Ok::<(), b2nd_serde::Error>(())
    /// ```
    pub fn with_dtype(mut self, dtype: &str) -> Result<Self, Error> {
        if !self.layout.has(Entry::Dtype) {
            return Err(LayoutFault::Surplus { layout: self.layout }.error().in_entry(Entry::Dtype));
        }
        check_dtype(dtype.as_bytes()).map_err(|error| error.in_entry(Entry::Dtype))?;
        self.dtype = dtype.into();
        Ok(self)
    }
}

// Written by hand, because a derived `Debug` would show an empty dtype if the layout has no dtype.
impl fmt::Debug for Meta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shapes { shape, chunkshape, blockshape } = self.shapes.get();
        f.debug_struct("Meta")
            .field("layout", &self.layout)
            .field("version", &self.version)
            .field("shape", &shape)
            .field("chunkshape", &chunkshape)
            .field("blockshape", &blockshape)
            .field("dtype_format", &self.dtype_format())
            .field("dtype", &self.dtype())
            .finish()
    }
}

impl Serialize for Meta {
    #[inline]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct(META_NAME, META_FIELDS.len())?;
        // The layout comes first, because it determines the entries. This crate's own `Serializer` needs the layout
        // before the entries.
        fields.serialize_field(META_LAYOUT, &self.layout)?;
        fields.serialize_field(Entry::Version.name(), &self.version)?;
        fields.serialize_field(Entry::Ndim.name(), &self.shapes.ndim)?;
        fields.serialize_field(Entry::Shape.name(), self.shape())?;
        fields.serialize_field(Entry::Chunkshape.name(), self.chunkshape())?;
        fields.serialize_field(Entry::Blockshape.name(), self.blockshape())?;
        fields.serialize_field(Entry::DtypeFormat.name(), &self.dtype_format())?;
        fields.serialize_field(Entry::Dtype.name(), &self.dtype())?;
        fields.end()
    }
}

impl<'de> Deserialize<'de> for Meta {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_struct(META_NAME, META_FIELDS, MetaVisitor)
    }
}

struct MetaVisitor;

impl<'de> Visitor<'de> for MetaVisitor {
    type Value = Meta;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the layout and entries of a b2nd metalayer")
    }

    // This crate's own `Deserializer` passes the bytes of one metalayer. The bytes are checked here and not in the
    // `Deserializer`, because the deserializers of other formats can pass bytes too.
    #[inline]
    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Meta, E> {
        if let Some(metalayer) = Metalayer::ordinary(Reader::new(bytes)) {
            if let (false, Ok(dtype)) = (metalayer.has_rest(), metalayer.dtype) {
                return Ok(Meta::from_metalayer(&metalayer, dtype));
            }
        }
        read_any(bytes).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut fields: A) -> Result<Meta, A::Error> {
        let fields = &mut fields;
        let draft = Draft {
            layout: element(fields, 0)?,
            version: element(fields, 1)?,
            ndim: element(fields, 2)?,
            shape: element(fields, 3)?,
            chunkshape: element(fields, 4)?,
            blockshape: element(fields, 5)?,
            dtype_format: element(fields, 6)?,
            dtype: element(fields, 7)?,
        };
        draft.finish()
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Meta, A::Error> {
        let (map, mut draft) = (&mut map, Draft::default());
        while let Some(field) = map.next_key_seed(FieldName)? {
            let name = field.map_or(META_LAYOUT, Entry::name);
            match field {
                None => value(map, name, &mut draft.layout)?,
                Some(Entry::Version) => value(map, name, &mut draft.version)?,
                Some(Entry::Ndim) => value(map, name, &mut draft.ndim)?,
                Some(Entry::Shape) => value(map, name, &mut draft.shape)?,
                Some(Entry::Chunkshape) => value(map, name, &mut draft.chunkshape)?,
                Some(Entry::Blockshape) => value(map, name, &mut draft.blockshape)?,
                Some(Entry::DtypeFormat) => value(map, name, &mut draft.dtype_format)?,
                Some(Entry::Dtype) => value(map, name, &mut draft.dtype)?,
            }
        }
        draft.finish()
    }
}

/// Reads any metalayer, *ordinary* or not. Fails if the metalayer is invalid, or if bytes follow it.
// Not inlined, so the code for ordinary metalayers stays small.
#[cold]
#[inline(never)]
fn read_any(bytes: &[u8]) -> Result<Meta, Error> {
    let (metalayer, dtype) = Metalayer::read_with_text(Reader::new(bytes), true)?;
    Ok(Meta::from_metalayer(&metalayer, dtype))
}

/// Reads the next field of a sequence.
fn element<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(
    fields: &mut A,
    position: usize,
) -> Result<Option<T>, A::Error> {
    match fields.next_element()? {
        Some(value) => Ok(Some(value)),
        None => Err(de::Error::invalid_length(position, &MetaVisitor)),
    }
}

/// Reads the value of a field of a map. A second field with the same name is an error.
fn value<'de, T: Deserialize<'de>, A: MapAccess<'de>>(
    map: &mut A,
    name: &'static str,
    field: &mut Option<T>,
) -> Result<(), A::Error> {
    if field.is_some() {
        return Err(de::Error::duplicate_field(name));
    }
    *field = Some(map.next_value()?);
    Ok(())
}

/// Reads the name of a field of a `Meta`. The result is the entry with this name, or `None` for the field `layout`.
struct FieldName;

impl<'de> DeserializeSeed<'de> for FieldName {
    type Value = Option<Entry>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<Entry>, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for FieldName {
    type Value = Option<Entry>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    /// Accepts the position of a field instead of its name, as a derived struct does. Some formats write the position.
    fn visit_u64<E: de::Error>(self, position: u64) -> Result<Option<Entry>, E> {
        let Some(index) = position.checked_sub(1) else { return Ok(None) };
        let entry = usize::try_from(index).ok().and_then(|index| Layout::B2nd.entries().get(index));
        match entry {
            Some(&entry) => Ok(Some(entry)),
            None => Err(E::invalid_value(Unexpected::Unsigned(position), &"a field index below 8")),
        }
    }

    fn visit_bytes<E: de::Error>(self, name: &[u8]) -> Result<Option<Entry>, E> {
        match core::str::from_utf8(name) {
            Ok(name) => self.visit_str(name),
            Err(_) => Err(E::invalid_value(Unexpected::Bytes(name), &self)),
        }
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Option<Entry>, E> {
        match Layout::B2nd.entries().iter().find(|entry| entry.name() == name) {
            None if name != META_LAYOUT => Err(E::unknown_field(name, META_FIELDS)),
            entry => Ok(entry.copied()),
        }
    }
}

/// The fields of a `Meta` as read from another format. `None` means that the field was missing, and `Some(None)` that
/// it was null.
#[derive(Default)]
#[expect(clippy::option_option, reason = "a null is a field that is given")]
struct Draft {
    layout: Option<Layout>,
    version: Option<u8>,
    ndim: Option<u8>,
    shape: Option<Vec<i64>>,
    chunkshape: Option<Vec<i32>>,
    blockshape: Option<Vec<i32>>,
    dtype_format: Option<Option<u8>>,
    dtype: Option<Option<String>>,
}

impl Draft {
    /// Checks that the fields are consistent, and makes a `Meta` of them.
    fn finish<E: de::Error>(self) -> Result<Meta, E> {
        let missing = |entry: Entry| move || E::missing_field(entry.name());
        let version = self.version.ok_or_else(missing(Entry::Version))?;
        let ndim = self.ndim.ok_or_else(missing(Entry::Ndim))?;
        let shapes = Shapes {
            shape: &self.shape.ok_or_else(missing(Entry::Shape))?,
            chunkshape: &self.chunkshape.ok_or_else(missing(Entry::Chunkshape))?,
            blockshape: &self.blockshape.ok_or_else(missing(Entry::Blockshape))?,
        };
        let (dtype_format, dtype) = (self.dtype_format.flatten(), self.dtype.flatten());
        let entries = [(Entry::DtypeFormat, dtype_format.is_some()), (Entry::Dtype, dtype.is_some())];
        let differs =
            |layout: Layout| entries.iter().find(|&&(entry, is_given)| layout.has(entry) != is_given);
        // JSON written by hand may omit the layout. Then the entries that are present select the layout, as when a
        // struct is written.
        let of_entries = || Layout::ALL.iter().copied().find(|&layout| differs(layout).is_none());
        let layout = self.layout.or_else(of_entries).unwrap_or_default();
        if let Some(&(entry, is_given)) = differs(layout) {
            let fault =
                if is_given { LayoutFault::Surplus { layout } } else { LayoutFault::Absent { layout } };
            return Err(E::custom(fault.error().in_entry(entry)));
        }
        let (dtype_format, dtype) = (dtype_format.unwrap_or_default(), dtype.unwrap_or_default());
        Meta::checked(layout, version, ndim.into(), shapes, dtype_format, &dtype).map_err(E::custom)
    }
}
