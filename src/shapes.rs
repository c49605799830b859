//! The three dimension vectors of a metalayer as named arguments.

/// The shape of an array, of its chunks and of its blocks, in items along each dimension.
///
/// The fields have names to prevent a mistake. The chunk shape and the block shape have the same Rust type. If they
/// were two arguments of a function, a caller could swap them without an error. [`Geometry::new`](crate::Geometry::new)
/// and `Meta::new` check the numbers.
///
/// ```
/// use b2nd_serde::{Geometry, Shapes};
///
/// let shapes = Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] };
/// assert_eq!(Geometry::new(shapes)?.nchunks(), 4);
/// // The same chunks and blocks for a larger array.
/// assert_eq!(Geometry::new(Shapes { shape: &[30, 5], ..shapes })?.nchunks(), 30);
/// # Ok::<(), b2nd_serde::geometry::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shapes<'a> {
    /// Items of the array along each dimension.
    pub shape: &'a [i64],
    /// Items of a chunk along each dimension.
    pub chunkshape: &'a [i32],
    /// Items of a block along each dimension.
    pub blockshape: &'a [i32],
}
