//! The numbers of a slice, and the position of each number between the smallest and the largest one.

use b2nd_serde::dtype::{Dtype, Kind};
use serde::Deserialize;

use super::float::Float;
use super::value::Value;
use crate::text::clean;

/// An item as a number. An integer is not converted to an `f64`, because two datetimes can differ by less than the
/// precision of an `f64`.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Level {
    /// An integer, a bool, or the count of a datetime or timedelta.
    Integer(i128),
    /// A float, or the magnitude of a complex number. It is not NaN.
    Float(f64),
}

type Levels<'i> = Box<dyn Iterator<Item = Option<Level>> + 'i>;

impl Level {
    /// The numbers of these items. NaN and `NaT` are `None`.
    fn read<'i>(dtype: &'i Dtype, items: &'i [u8]) -> Levels<'i> {
        fn read<'i, T: Deserialize<'i> + 'i>(
            dtype: &'i Dtype,
            items: &'i [u8],
            level: fn(T) -> Option<Level>,
        ) -> Levels<'i> {
            // Reading cannot fail: `T` fits the dtype, and the bytes are whole items.
            let read = dtype.read_items::<T>(items).into_iter().flatten();
            Box::new(read.map(move |item| level(item.ok()?)))
        }
        let float = |float: f64| Some(Self::Float(float)).filter(|_| !float.is_nan());
        match dtype.kind() {
            Kind::Bool => read(dtype, items, |item: bool| Some(Self::Integer(item.into()))),
            Kind::Float => read(dtype, items, float),
            Kind::Complex => read(dtype, items, |(real, imaginary): (f64, f64)| {
                let magnitude = real.hypot(imaginary);
                let is_finite = real.is_finite() && imaginary.is_finite();
                // The magnitude of a complex number with finite parts can exceed the largest float. It must not count
                // as infinite.
                let magnitude = if is_finite { magnitude.min(f64::MAX) } else { magnitude };
                Some(Self::Float(magnitude)).filter(|_| !magnitude.is_nan())
            }),
            Kind::Datetime(_) | Kind::Timedelta(_) => {
                read(dtype, items, |item: i64| Some(Self::Integer(item.into())).filter(|_| item != i64::MIN))
            }
            _ => read(dtype, items, |item| Some(Self::Integer(item))),
        }
    }

    fn is_infinite(self) -> bool {
        matches!(self, Self::Float(float) if float.is_infinite())
    }
}

/// The range of the finite numbers in a slice, and the counts of all other items.
pub(crate) struct LevelRange {
    dtype: Dtype,
    /// The smallest and the largest finite number, each with the bytes of its item. `None` if no number is finite.
    ends: Option<[(Level, Vec<u8>); 2]>,
    /// The number of items that are NaN or `NaT`.
    pub(crate) missing: u64,
    pub(crate) infinite: u64,
}

impl LevelRange {
    /// An empty range. `None` if items of this dtype are not numbers.
    pub(crate) fn new(dtype: Dtype) -> Option<Self> {
        let is_number = match dtype.kind() {
            Kind::Bool | Kind::Int | Kind::Uint | Kind::Datetime(_) | Kind::Timedelta(_) => true,
            // Rust has no float128.
            Kind::Float => dtype.item_size() <= 8,
            Kind::Complex => dtype.item_size() <= 16,
            _ => false,
        };
        is_number.then_some(Self { dtype, ends: None, missing: 0, infinite: 0 })
    }

    pub(crate) fn dtype(&self) -> &Dtype {
        &self.dtype
    }

    /// Extends the range so that it contains these items.
    pub(crate) fn add(&mut self, items: &[u8]) {
        let bytes = items.chunks_exact(self.dtype.item_size());
        for (level, item) in Level::read(&self.dtype, items).zip(bytes) {
            match level {
                None => self.missing += 1,
                Some(level) if level.is_infinite() => self.infinite += 1,
                Some(level) => {
                    let end = || (level, item.to_vec());
                    let [min, max] = self.ends.get_or_insert_with(|| [end(), end()]);
                    if level < min.0 {
                        *min = end();
                    }
                    if level > max.0 {
                        *max = end();
                    }
                }
            }
        }
    }

    /// The smallest and the largest finite number as text. `None` if no number is finite.
    pub(crate) fn texts(&self) -> Option<[String; 2]> {
        let text = |(level, item): &(Level, Vec<u8>)| {
            let value = match (self.dtype.kind(), *level) {
                (Kind::Complex, Level::Float(magnitude)) => {
                    #[expect(clippy::cast_possible_truncation, reason = "complex64 has no more digits")]
                    let single = magnitude as f32;
                    let is_single = self.dtype.item_size() == 8 && single.is_finite();
                    Value::Float(if is_single { Float::Single(single) } else { Float::Double(magnitude) })
                }
                _ => Value::read(&self.dtype, item),
            };
            clean(&value.scalar())
        };
        self.ends.as_ref().map(|ends| ends.each_ref().map(text))
    }

    /// For each item, the part of the range that contains it. The range is divided into 256 equal parts. Infinite
    /// numbers are in the first or last part. If all numbers are equal, they are in the first part. `None` for NaN and
    /// `NaT`.
    pub(crate) fn parts<'i>(&'i self, items: &'i [u8]) -> impl Iterator<Item = Option<u8>> + 'i {
        let [min, max] = match &self.ends {
            Some(ends) => ends.each_ref().map(|(level, _)| *level),
            None => [Level::Float(0.0); 2],
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates; NaN becomes 0"
        )]
        let part = move |level| (256.0 * fraction(level, min, max)) as u8;
        Level::read(&self.dtype, items).map(move |level| level.map(part))
    }
}

/// The position of a number in a range: 0 for `min`, 1 for `max`.
#[expect(clippy::cast_precision_loss, reason = "only the differences are rounded")]
fn fraction(level: Level, min: Level, max: Level) -> f64 {
    match (level, min, max) {
        (Level::Integer(number), Level::Integer(min), Level::Integer(max)) => {
            (number - min) as f64 / (max - min) as f64
        }
        (Level::Float(number), Level::Float(min), Level::Float(max)) => {
            // The difference of two finite numbers can be infinite, but the difference of their halves cannot.
            let scale = if (max - min).is_finite() { 1.0 } else { 0.5 };
            (number * scale - min * scale) / (max * scale - min * scale)
        }
        // This case does not occur, because all numbers of a dtype are of the same kind.
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of the ends, and the part of each item.
    fn parts<const N: usize, const M: usize>(
        dtype: &str,
        items: [[u8; N]; M],
    ) -> (Vec<String>, Vec<Option<u8>>) {
        let mut range = LevelRange::new(dtype.parse().unwrap()).unwrap();
        range.add(&items.concat());
        (range.texts().into_iter().flatten().collect(), range.parts(&items.concat()).collect())
    }

    fn texts(texts: [&str; 2]) -> Vec<String> {
        texts.map(String::from).into()
    }

    #[test]
    fn level_range_magnitudes_of_complex_numbers_have_the_digits_of_their_parts() {
        let single = [[0.1_f32, 0.0], [3.0, 4.0]].map(|parts| parts.map(f32::to_le_bytes).concat());
        let single = single.map(|item| <[u8; 8]>::try_from(item).unwrap());
        assert_eq!(parts("<c8", single), (texts(["0.1", "5.0"]), [0, 255].map(Some).into()));
        let double = [[0.0_f64, 0.0], [1.5e308, 1.5e308]].map(|parts| parts.map(f64::to_le_bytes).concat());
        let double = double.map(|item| <[u8; 16]>::try_from(item).unwrap());
        let (ends, places) = parts("<c16", double);
        assert_eq!((ends[1].as_str(), places), ("1.7976931348623157e+308", [0, 255].map(Some).into()));
    }

    #[test]
    fn level_range_parts_are_equally_wide() {
        let (ends, found) = parts("|u1", std::array::from_fn::<_, 256, _>(|item| [item.try_into().unwrap()]));
        assert_eq!((ends, found), (texts(["0", "255"]), (0..=255).map(Some).collect()));
        let found = parts("<f4", [1.0_f32, 3.0, 2.0, 1.999].map(f32::to_le_bytes));
        assert_eq!(found, (texts(["1.0", "3.0"]), [0, 255, 128, 127].map(Some).into()));
    }

    #[test]
    fn level_range_is_exact_for_large_integers() {
        let base = 1_700_000_000_000_000_000_i64;
        let found = parts("<M8[ns]", [base, base + 1, base + 2, i64::MIN].map(i64::to_le_bytes));
        let ends = texts(["2023-11-14T22:13:20.000000000", "2023-11-14T22:13:20.000000002"]);
        assert_eq!(found, (ends, vec![Some(0), Some(128), Some(255), None]));
        let found = parts(">u8", [u64::MAX, u64::MAX - 2, u64::MAX - 1].map(u64::to_be_bytes));
        assert_eq!(
            found,
            (texts(["18446744073709551613", "18446744073709551615"]), [255, 0, 128].map(Some).into())
        );
        let found = parts("<i8", [i64::MIN, 0, i64::MAX].map(i64::to_le_bytes));
        assert_eq!(found.1, [0, 128, 255].map(Some));
    }

    #[test]
    fn level_range_has_only_finite_numbers() {
        let items = [f64::NAN, f64::INFINITY, -2.0, f64::NEG_INFINITY, 2.0, 0.0];
        let (ends, found) = parts("<f8", items.map(f64::to_le_bytes));
        assert_eq!(
            (ends, found),
            (texts(["-2.0", "2.0"]), vec![None, Some(255), Some(0), Some(0), Some(255), Some(128)])
        );
        let found = parts("<f8", [f64::MAX, f64::MIN, 0.0].map(f64::to_le_bytes));
        assert_eq!(found.1, [255, 0, 128].map(Some));
        let found = parts("<f8", [0.0, 5e-324].map(f64::to_le_bytes));
        assert_eq!(found, (texts(["0.0", "5e-324"]), [0, 255].map(Some).into()));
        let found = parts("<f8", [f64::INFINITY, f64::NAN, f64::NEG_INFINITY].map(f64::to_le_bytes));
        assert_eq!(found, (vec![], vec![Some(255), None, Some(0)]));
    }

    #[test]
    fn level_range_has_all_kinds_of_numbers() {
        assert_eq!(parts("|b1", [[0], [1]]), (texts(["False", "True"]), [0, 255].map(Some).into()));
        assert_eq!(
            parts("<i2", [7_i16; 2].map(i16::to_le_bytes)),
            (texts(["7", "7"]), [0, 0].map(Some).into())
        );
        let halves = [0x2e66_u16, 0xbc00, 0x3c00].map(u16::to_le_bytes);
        assert_eq!(parts("<f2", halves), (texts(["-1.0", "1.0"]), [140, 0, 255].map(Some).into()));
        let complex =
            [[3.0_f32, 4.0], [0.0, 0.0], [-2.5, 0.0]].map(|parts| parts.map(f32::to_le_bytes).concat());
        let complex = complex.map(|item| <[u8; 8]>::try_from(item).unwrap());
        assert_eq!(parts("<c8", complex), (texts(["0.0", "5.0"]), [255, 0, 128].map(Some).into()));
        let found = parts("<m8[s]", [-5_i64, 5].map(i64::to_le_bytes));
        assert_eq!(found, (texts(["-5", "5"]), [0, 255].map(Some).into()));
        for dtype in ["|S3", "<U2", "|V4", "<f16", "<c32", "[('a', '<i4')]", "('<i4', (2,))"] {
            let dtype = dtype.parse::<Dtype>();
            assert!(dtype.is_ok_and(|dtype| LevelRange::new(dtype).is_none()));
        }
    }
}
