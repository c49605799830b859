//! The ready-made struct: any metalayer that the format accepts, with its layout.

use core::fmt;

use ecow::EcoString;
use smallvec::SmallVec;

use crate::error::{Detail, Error};
use crate::layout::{Entry, Layout, MAX_NDIM};
use crate::{marker, wire};

mod serde;

/// The dimensions of most arrays need no heap.
type Dimensions<W> = SmallVec<[W; 4]>;

/// What a metalayer says: any that the format accepts, in any layout, with any version and any sign.
///
/// Its three vectors always have the same number of dimensions, 0 to 16. For every accepted input,
/// `to_vec(&from_slice::<Meta>(bytes)?)? == bytes`, whatever the layout. It keeps the layout through newtypes and
/// `Option`. Of this format it cannot be read inside an `untagged` enum, which keeps the entries for itself and has no
/// place for the layout, nor flattened.
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
    pub fn new(shape: &[i64], chunkshape: &[i32], blockshape: &[i32], dtype: &str) -> Result<Self, Error> {
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
    pub fn with_layout(mut self, layout: Layout) -> Result<Self, Error> {
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

    /// Holds the parts against each other and against the widths of the format.
    #[inline]
    fn check(&self, ndim: u8) -> Result<(), Error> {
        if ndim > MAX_NDIM {
            let found = ndim.into();
            return Err(Error::new(Detail::Rank { found }).in_entry(Entry::Ndim));
        }
        check_vector(Entry::Shape, self.shape.len(), ndim)?;
        check_vector(Entry::Chunkshape, self.chunkshape.len(), ndim)?;
        check_vector(Entry::Blockshape, self.blockshape.len(), ndim)?;
        check_fixint(Entry::Version, self.version)?;
        check_fixint(Entry::DtypeFormat, self.dtype_format)?;
        if wire::is_dtype(&self.dtype) {
            return Ok(());
        }
        Err(wire::not_dtype(self.dtype.as_bytes()).in_entry(Entry::Dtype))
    }
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
