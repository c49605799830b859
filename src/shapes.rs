//! The three vectors of a metalayer, each under its name.

/// The shape of an array, of its chunks and of its blocks, in items along each dimension.
///
/// Chunk shape and block shape have the same type, so as two arguments side by side they could be swapped without an
/// error. Here each has its name. Nothing is checked yet: [`Geometry::new`](crate::Geometry::new) and `Meta::new` do
/// that.
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
