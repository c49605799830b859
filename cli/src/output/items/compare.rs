//! Whether items of two arrays are equal.

use b2nd_serde::dtype::{Dtype, Kind};

use super::value::Value;

/// Compares the items of two arrays by their values.
pub(crate) struct Comparison<'d> {
    dtypes: [&'d Dtype; 2],
    /// The largest difference at which two numbers count as equal.
    tolerance: f64,
}

/// A number of an item. It is widened, so that numbers of any width can be compared.
#[derive(Clone, Copy)]
enum Number {
    Integer(i128),
    Float(f64),
}

impl<'d> Comparison<'d> {
    /// `None` if items of these two dtypes are not compared, for example numbers with texts.
    pub(crate) fn new(dtypes: [&'d Dtype; 2], tolerance: f64) -> Option<Self> {
        let [a, b] = dtypes;
        are_comparable(a, b).then_some(Self { dtypes, tolerance })
    }

    /// The number of items that differ, and the position of the first one.
    pub(crate) fn count(&self, a: &[u8], b: &[u8]) -> (u64, Option<usize>) {
        let [a_dtype, b_dtype] = self.dtypes;
        // Items of the same dtype with equal bytes are equal, even if they are NaN.
        if a_dtype == b_dtype && a == b {
            return (0, None);
        }
        let [a, b] =
            [(a_dtype, a), (b_dtype, b)].map(|(dtype, items)| items.chunks_exact(dtype.item_size().max(1)));
        let (mut count, mut first) = (0, None);
        for (number, (a, b)) in a.zip(b).enumerate() {
            if !self.are_equal(a_dtype, a, b_dtype, b) {
                count += 1;
                first.get_or_insert(number);
            }
        }
        (count, first)
    }

    fn are_equal(&self, a_dtype: &Dtype, a: &[u8], b_dtype: &Dtype, b: &[u8]) -> bool {
        if a_dtype == b_dtype && a == b {
            return true;
        }
        match (a_dtype.kind(), b_dtype.kind()) {
            (Kind::Struct(_), Kind::Struct(_)) => {
                let [mut a, b] = [(a_dtype, a), (b_dtype, b)].map(|(dtype, item)| {
                    dtype.fields().iter().map(move |field| {
                        let (dtype, start) = (field.dtype(), field.offset());
                        (dtype, item.get(start..start + dtype.item_size()).unwrap_or_default())
                    })
                });
                b.into_iter().all(|(b_dtype, b)| {
                    a.next().is_some_and(|(a_dtype, a)| self.are_equal(a_dtype, a, b_dtype, b))
                })
            }
            (Kind::Subarray(a_list), Kind::Subarray(b_list)) => {
                let (a_dtype, b_dtype) = (a_list.base(), b_list.base());
                let [a, b] = [(a_dtype, a), (b_dtype, b)]
                    .map(|(dtype, items)| items.chunks_exact(dtype.item_size().max(1)));
                a.zip(b).all(|(a, b)| self.are_equal(a_dtype, a, b_dtype, b))
            }
            _ => match (numbers(a_dtype, a), numbers(b_dtype, b)) {
                (Some(a), Some(b)) => {
                    // True and false are unequal at any tolerance, because they have no distance.
                    let is_bool = [a_dtype, b_dtype].iter().any(|dtype| matches!(dtype.kind(), Kind::Bool));
                    let tolerance = if is_bool { 0.0 } else { self.tolerance };
                    a.into_iter().zip(b).all(|(a, b)| a.is_within(b, tolerance))
                }
                // These items are not numbers, but for example texts or times. With the same dtype, they are not equal,
                // because their bytes differ. With different dtypes, such as another width or byte order, they are
                // equal if they have the same text.
                _ => {
                    a_dtype != b_dtype && Value::read(a_dtype, a).quoted() == Value::read(b_dtype, b).quoted()
                }
            },
        }
    }
}

fn are_comparable(a: &Dtype, b: &Dtype) -> bool {
    match (a.kind(), b.kind()) {
        (Kind::Struct(_), Kind::Struct(_)) => {
            let fields = a.fields().iter().zip(b.fields());
            a.fields().len() == b.fields().len()
                && fields
                    .into_iter()
                    .all(|(a, b)| a.name() == b.name() && are_comparable(a.dtype(), b.dtype()))
        }
        (Kind::Subarray(a), Kind::Subarray(b)) => {
            a.shape() == b.shape() && are_comparable(a.base(), b.base())
        }
        (Kind::Bytes, Kind::Bytes) | (Kind::Str, Kind::Str) | (Kind::Complex, Kind::Complex) => true,
        (Kind::Datetime(a), Kind::Datetime(b)) | (Kind::Timedelta(a), Kind::Timedelta(b)) => a == b,
        _ => a == b || is_real(a) && is_real(b),
    }
}

/// Whether items are real numbers that can be compared.
fn is_real(dtype: &Dtype) -> bool {
    match dtype.kind() {
        Kind::Bool | Kind::Int | Kind::Uint => true,
        Kind::Float => dtype.item_size() <= 8,
        _ => false,
    }
}

/// The real and the imaginary part of an item. `None` if the item is not a number, or has too many bits.
fn numbers(dtype: &Dtype, item: &[u8]) -> Option<[Number; 2]> {
    let zero = Number::Integer(0);
    Some(match (dtype.kind(), dtype.item_size()) {
        (Kind::Bool, _) => [Number::Integer(dtype.read_item::<bool>(item).ok()?.into()), zero],
        (Kind::Int | Kind::Uint, _) => [Number::Integer(dtype.read_item(item).ok()?), zero],
        (Kind::Float, 2 | 4) => [Number::Float(dtype.read_item::<f32>(item).ok()?.into()), zero],
        (Kind::Float, 8) => [Number::Float(dtype.read_item(item).ok()?), zero],
        (Kind::Complex, 8) => {
            let (real, imaginary) = dtype.read_item::<(f32, f32)>(item).ok()?;
            [Number::Float(real.into()), Number::Float(imaginary.into())]
        }
        (Kind::Complex, 16) => {
            let (real, imaginary) = dtype.read_item(item).ok()?;
            [Number::Float(real), Number::Float(imaginary)]
        }
        _ => return None,
    })
}

impl Number {
    /// Whether two numbers are equal, or differ by at most the tolerance. NaN is equal to NaN.
    fn is_within(self, other: Self, tolerance: f64) -> bool {
        if let (Self::Integer(a), Self::Integer(b)) = (self, other) {
            return a == b || float(i128::try_from(a.abs_diff(b)).unwrap_or(i128::MAX)) <= tolerance;
        }
        let (a, b) = (self.to_f64(), other.to_f64());
        #[expect(clippy::float_cmp, reason = "infinity has no difference from itself")]
        let are_equal = a == b || a.is_nan() && b.is_nan();
        are_equal || (a - b).abs() <= tolerance
    }

    fn to_f64(self) -> f64 {
        match self {
            Self::Integer(number) => float(number),
            Self::Float(number) => number,
        }
    }
}

/// Converts an integer to a float as NumPy does.
#[expect(clippy::cast_precision_loss, reason = "numbers above 2^53 are rounded")]
fn float(number: i128) -> f64 {
    number as f64
}
