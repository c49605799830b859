//! `Meta`, a ready-made struct for a metalayer in any layout.

use core::fmt;

use ecow::EcoString;
use smallvec::SmallVec;

use crate::entry::{Entry, MAX_NDIM};
use crate::error::{Detail, Error, LayoutFault};
use crate::layout::Layout;
use crate::shapes::Shapes;
use crate::{marker, wire};

mod serde;

/// Dimensions stored inline; few arrays have more.
// With 15 bytes of dtype inline too, a `Meta` has 112 bytes. Moving 300 bytes costs more than reading them.
const IN_PLACE: usize = 4;

/// A dimension vector.
type Vector<W> = SmallVec<[W; IN_PLACE]>;

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
/// The three shapes always have the same number of dimensions, 0 to 16. Nothing else about their meaning is checked:
/// numbers can be negative, and the dtype can be any text. [`Meta::geometry`] and `Meta::parse_dtype` check them.
///
/// A `Meta` keeps its layout, so it is written back byte for byte as it was read:
/// `to_vec(&from_slice::<Meta>(bytes)?)? == bytes`. This is also true inside newtypes and `Option`. A `Meta` cannot be
/// read in this format inside an `untagged` enum or with `flatten`, because serde then reads the entries into a buffer
/// that does not have the layout.
///
/// In other formats, such as JSON, a `Meta` is a struct of `layout` and the seven entries. Entries that the layout does
/// not have are null. The same rules are checked as for a metalayer. If `layout` is missing, the entries determine it.
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
    shape: Vector<i64>,
    chunkshape: Vector<i32>,
    blockshape: Vector<i32>,
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
    /// The numbers can be negative or zero; [`Meta::geometry`] checks them.
    ///
    /// # Errors
    ///
    /// If the three shapes have different numbers of dimensions or more than 16, or if the dtype has a NUL or more than
    /// 2147483647 bytes.
    ///
    /// ```
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// let shapes = Shapes { shape: &[3, 5], chunkshape: &[2, 3, 4], blockshape: &[1, 2] };
    /// let error = Meta::new(shapes, "<i4").unwrap_err();
    /// assert_eq!(error.to_string(), "chunkshape has 3 dimensions, but ndim is 2");
    /// ```
    pub fn new(shapes: Shapes<'_>, dtype: &str) -> Result<Self, Error> {
        let Shapes { shape, chunkshape, blockshape } = shapes;
        // The fallback is above the maximum, so a longer shape is an error below.
        let ndim = u8::try_from(shape.len()).unwrap_or(u8::MAX);
        if ndim > MAX_NDIM {
            let found = shape.len();
            return Err(Error::new(Detail::Rank { found }).in_entry(Entry::Ndim));
        }
        let meta = Self {
            shape: shape.into(),
            chunkshape: chunkshape.into(),
            blockshape: blockshape.into(),
            dtype: dtype.into(),
            layout: Layout::B2nd,
            version: 0,
            dtype_format: 0,
        };
        meta.check(ndim)?;
        Ok(meta)
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
        self.shape.len()
    }

    /// The entry `ndim`.
    fn ndim_byte(&self) -> u8 {
        u8::try_from(self.ndim()).unwrap_or(u8::MAX)
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
        Shapes { shape: &self.shape, chunkshape: &self.chunkshape, blockshape: &self.blockshape }
    }

    /// The shape: the items of the array along each dimension.
    #[must_use]
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// The chunk shape: the items of a chunk along each dimension.
    #[must_use]
    pub fn chunkshape(&self) -> &[i32] {
        &self.chunkshape
    }

    /// The block shape: the items of a block along each dimension.
    #[must_use]
    pub fn blockshape(&self) -> &[i32] {
        &self.blockshape
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

    /// This metalayer in another layout. A dtype or dtype format that the new layout does not have is dropped. The
    /// dtype keeps its spelling.
    ///
    /// # Errors
    ///
    /// If the new layout has a dtype, but the old one does not.
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
        check_vector(Entry::Shape, shape.len(), self.ndim_byte())?;
        self.shape = shape.into();
        Ok(self)
    }

    /// This metalayer with another dtype. The dtype format stays.
    ///
    /// # Errors
    ///
    /// If the layout has no dtype, or if the new one has a NUL or more than 2147483647 bytes.
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
        check_dtype(dtype)?;
        self.dtype = dtype.into();
        Ok(self)
    }

    /// Checks the numbers of dimensions, and that each entry fits its width in the format.
    #[inline]
    fn check(&self, ndim: u8) -> Result<(), Error> {
        // Every field by name, so the compiler asks for a check when a field is added.
        let Self { shape, chunkshape, blockshape, dtype, layout: _, version, dtype_format } = self;
        if ndim > MAX_NDIM {
            let found = ndim.into();
            return Err(Error::new(Detail::Rank { found }).in_entry(Entry::Ndim));
        }
        check_vector(Entry::Shape, shape.len(), ndim)?;
        check_vector(Entry::Chunkshape, chunkshape.len(), ndim)?;
        check_vector(Entry::Blockshape, blockshape.len(), ndim)?;
        check_fixint(Entry::Version, *version)?;
        check_fixint(Entry::DtypeFormat, *dtype_format)?;
        check_dtype(dtype)
    }
}

#[inline]
fn check_dtype(dtype: &str) -> Result<(), Error> {
    if wire::is_dtype(dtype) {
        return Ok(());
    }
    Err(wire::not_dtype(dtype.as_bytes()).in_entry(Entry::Dtype))
}

#[inline]
fn check_vector(entry: Entry, length: usize, ndim: u8) -> Result<(), Error> {
    if length == usize::from(ndim) {
        return Ok(());
    }
    Err(Error::new(Detail::Dimensions { found: length, ndim }).in_entry(entry))
}

#[inline]
fn check_fixint(entry: Entry, value: u8) -> Result<(), Error> {
    if marker::is_fixint(value) {
        return Ok(());
    }
    Err(Error::new(Detail::OutOfRange(u128::from(value).into())).in_entry(entry))
}

// By hand, because a derived one would show an empty dtype where the layout has none.
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
