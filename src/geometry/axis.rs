//! The rules for the numbers of one dimension, and for products over all dimensions.

use super::dimensions::ceildiv;
use super::error::{Divided, Error, Factors, Violation};
use crate::layout::Entry;

/// The numbers of items in the array, in a chunk and in a block along one dimension. Each number fits the signed
/// integer type of its entry.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Axis {
    pub(super) shape: u64,
    pub(super) chunk: u32,
    pub(super) block: u32,
}

impl Axis {
    /// Checks that the three numbers are consistent.
    pub(super) fn check(self, dimension: u8) -> Result<Self, Error> {
        let Self { shape, chunk, block } = self;
        let zero = |divided, items| Error(Violation::Zero { divided, dimension, items });
        if shape > 0 && chunk == 0 {
            return Err(zero(Divided::Array, shape));
        }
        // The draft specification allows blocks of 0 items along a dimension in which the array is empty, even if
        // chunks have items along this dimension. C-Blosc2 does not open such an array, and this crate rejects it too.
        if chunk > 0 && block == 0 {
            return Err(zero(Divided::Chunk, chunk.into()));
        }
        // `extended` rounds the shape up to whole chunks. The result is below 2^63 + 2^31, so it fits u64. C-Blosc2
        // rounds up by an addition in i64, which may overflow although the rounded shape would fit.
        if self.extended() > Factors::ExtendedShape.max_product() {
            return Err(Error(Violation::RoundedUp { dimension, items: shape, chunk }));
        }
        Ok(self)
    }

    /// E: the items of the array, rounded up to whole chunks.
    pub(super) fn extended(self) -> u64 {
        self.chunks() * u64::from(self.chunk)
    }

    /// P: the items of a chunk, rounded up to whole blocks.
    pub(super) fn padded(self) -> u64 {
        self.blocks() * u64::from(self.block)
    }

    /// G: the chunks of the array.
    pub(super) fn chunks(self) -> u64 {
        ceildiv(self.shape, self.chunk.into())
    }

    /// H: the blocks of a chunk.
    pub(super) fn blocks(self) -> u64 {
        ceildiv(self.chunk.into(), self.block.into())
    }
}

/// Checks that an integer of the format is not negative.
pub(super) fn unsigned<U, I>(entry: Entry, dimension: u8, integer: I) -> Result<U, Error>
where
    U: TryFrom<I>,
    I: Copy + Into<i64>,
{
    let found = integer.into();
    U::try_from(integer).map_err(|_| Error(Violation::Negative { entry, dimension, found }))
}

/// Checks that the product of `factors` is not above the limit of the format. `of` names the kind of factors, which
/// determines the limit.
pub(super) fn check_product(of: Factors, factors: &[u64]) -> Result<(), Error> {
    // A product with a factor of 0 is 0, even if the product of the factors before the 0 overflows. So the result does
    // not depend on the order of the dimensions. C-Blosc2 multiplies from the first dimension on, and may find an
    // overflow before it reaches the 0.
    if factors.contains(&0) {
        return Ok(());
    }
    let mut before = 1_u64;
    for (dimension, &items) in (0..).zip(factors) {
        before = before
            .checked_mul(items)
            .filter(|&product| product <= of.max_product())
            .ok_or(Error(Violation::Product { of, dimension, before, items }))?;
    }
    Ok(())
}

/// Checks that a shape, a slice or the steps of a slice have `ndim` dimensions. `entry` is the entry with the shape;
/// `None` for a slice or its steps.
pub(super) fn check_count(entry: Option<Entry>, found: usize, ndim: usize) -> Result<(), Error> {
    if found == ndim { Ok(()) } else { Err(Error(Violation::DimensionCount { entry, found, ndim })) }
}
