//! The slices of `--slice`.

use std::ops::Range;
use std::str::FromStr;

use crate::text::count;

/// The subscripts of a slice in NumPy's notation, such as `0:2,3,:`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection(Vec<Subscript>);

/// A subscript in the brackets of a slice.
#[derive(Clone, Copy, Debug)]
enum Subscript {
    /// One index. The result does not have the dimension to which this index belongs.
    Index(i64),
    Range(Option<i64>, Option<i64>, u64),
    /// `...`: selects the whole range of every dimension that has no subscript of its own.
    Rest,
}

/// A slice of an array with a known shape: for each dimension, a range, a step, and whether the result keeps the
/// dimension.
#[derive(Debug)]
pub(crate) struct Selected {
    pub(crate) ranges: Vec<Range<u64>>,
    /// For each range, the distance from one selected index to the next, at least 1.
    pub(crate) steps: Vec<u64>,
    kept: Vec<bool>,
}

impl Selected {
    /// The shape of the result, without the dimensions that an index drops.
    pub(crate) fn shape(&self) -> impl Iterator<Item = u64> {
        self.kept(self.lengths())
    }

    /// The number of selected indices in each dimension of the array.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = u64> {
        let steps = self.steps.iter();
        self.ranges.iter().zip(steps).map(|(range, &step)| (range.end - range.start).div_ceil(step))
    }

    /// Converts a part of the selection to ranges of the array. `part` has a range for each dimension of the array. The
    /// numbers in `part` are positions among the selected indices: if the first selected index is 5 and the step is 10,
    /// position 2 is index 25.
    pub(crate) fn array_ranges(&self, part: &[Range<u64>]) -> Vec<Range<u64>> {
        let all = self.ranges.iter().zip(&self.steps).zip(part);
        all.map(|((whole, step), part)| {
            let last = part.end.saturating_sub(1).max(part.start);
            let end = whole.start + last * step + u64::from(part.end > part.start);
            whole.start + part.start * step..end
        })
        .collect()
    }

    pub(crate) fn has_steps(&self) -> bool {
        self.steps.iter().any(|&step| step > 1)
    }

    /// Takes one value for each dimension of the array, and returns the values of the dimensions that the selection
    /// keeps.
    pub(crate) fn kept<T>(&self, values: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
        values.into_iter().zip(&self.kept).filter(|(_, kept)| **kept).map(|(value, _)| value)
    }

    /// Converts a part of the selection to ranges of the array, if all steps are 1. Unlike in `array_ranges`, `part`
    /// has ranges only for the kept dimensions.
    pub(crate) fn array_ranges_of_kept(&self, part: &[Range<u64>]) -> Vec<Range<u64>> {
        let mut part = part.iter();
        let place = |(whole, &kept): (&Range<u64>, &bool)| match kept.then(|| part.next()).flatten() {
            Some(part) => whole.start + part.start..whole.start + part.end,
            None => whole.clone(),
        };
        self.ranges.iter().zip(&self.kept).map(place).collect()
    }
}

/// Parses a slice, with or without brackets.
impl FromStr for Selection {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let inner = text.trim();
        let inner = inner.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).unwrap_or(inner);
        // As in Python, a comma at the end is ignored.
        let inner = inner.trim().trim_end_matches(',');
        if inner.is_empty() {
            return Ok(Selection::default());
        }
        let subscripts: Vec<_> =
            inner.split(',').map(|text| subscript(text.trim())).collect::<Result<_, _>>()?;
        match subscripts.iter().filter(|subscript| matches!(subscript, Subscript::Rest)).count() {
            0 | 1 => Ok(Selection(subscripts)),
            _ => Err("... may occur only once".into()),
        }
    }
}

fn subscript(text: &str) -> Result<Subscript, String> {
    let number = |text: &str| {
        let text = text.trim();
        let number = text.parse::<i64>();
        number.map_err(|_| format!("'{text}' is not a whole number; write a slice such as 0:2,3,:"))
    };
    let open = |text: &str| if text.trim().is_empty() { Ok(None) } else { number(text).map(Some) };
    match text.split_once(':') {
        None if text == "..." => Ok(Subscript::Rest),
        None => number(text).map(Subscript::Index),
        Some((start, rest)) => {
            let (end, step) = rest.split_once(':').unwrap_or((rest, ""));
            let step = u64::try_from(open(step)?.unwrap_or(1)).ok().filter(|&step| step > 0);
            let step = step.ok_or_else(|| format!("'{text}' must have a step of at least 1"))?;
            Ok(Subscript::Range(open(start)?, open(end)?, step))
        }
    }
}

impl Selection {
    /// Applies the slice to an array of this shape. As in NumPy, the bounds of a range are clipped to the shape, but a
    /// single index must be within the shape.
    pub(crate) fn apply(&self, shape: &[u64]) -> Result<Selected, String> {
        let Self(subscripts) = self;
        let given = subscripts.iter().filter(|subscript| !matches!(subscript, Subscript::Rest)).count();
        let ndim = shape.len();
        let Some(open) = ndim.checked_sub(given) else {
            let given = count(given as u64, "dimension");
            return Err(format!("the slice has {given}, but the array has {ndim}"));
        };
        let whole = Subscript::Range(None, None, 1);
        // As in NumPy, the dimensions after the last subscript are whole, as if `...` followed it.
        let rest = if given == subscripts.len() { &[Subscript::Rest][..] } else { &[] };
        let subscripts = subscripts.iter().chain(rest).flat_map(|subscript| match subscript {
            Subscript::Rest => vec![whole; open],
            &subscript => vec![subscript],
        });
        let mut selected = Selected { ranges: Vec::new(), steps: Vec::new(), kept: Vec::new() };
        for (dimension, (subscript, &length)) in subscripts.zip(shape).enumerate() {
            // A negative number counts from the end.
            let place = |number: i64| i128::from(number) + if number < 0 { i128::from(length) } else { 0 };
            let cut = |number| u64::try_from(place(number).clamp(0, length.into())).unwrap_or_default();
            let range = match subscript {
                Subscript::Index(index) => match u64::try_from(place(index)) {
                    Ok(index) if index < length => index..index + 1,
                    _ => {
                        return Err(format!(
                            "index {index} is out of bounds: shape[{dimension}] is {length}"
                        ));
                    }
                },
                Subscript::Range(start, stop, _) => {
                    let (start, stop) = (start.map_or(0, cut), stop.map_or(length, cut));
                    start..stop.max(start)
                }
                Subscript::Rest => 0..length,
            };
            selected.ranges.push(range);
            selected.steps.push(match subscript {
                Subscript::Range(.., step) => step,
                _ => 1,
            });
            selected.kept.push(!matches!(subscript, Subscript::Index(_)));
        }
        Ok(selected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_means_what_it_means_in_numpy() {
        let selected = |text: &str| {
            let selected = text.parse::<Selection>().and_then(|selection| selection.apply(&[4, 5, 6]))?;
            let shape: Vec<_> = selected.shape().collect();
            Ok::<_, String>((selected.ranges, shape))
        };
        for (text, ranges, shape) in [
            ("0:2,3,:", [0..2, 3..4, 0..6], &[2, 6][..]),
            ("", [0..4, 0..5, 0..6], &[4, 5, 6]),
            ("[-1]", [3..4, 0..5, 0..6], &[5, 6]),
            ("-3:-1,..., 1:100", [1..3, 0..5, 1..6], &[2, 5, 5]),
            ("3:1,-9:2", [3..3, 0..2, 0..6], &[0, 2, 6]),
            ("0,0,0,", [0..1, 0..1, 0..1], &[]),
            ("::2,1::3,-1::9", [0..4, 1..5, 5..6], &[2, 2, 1]),
        ] {
            assert_eq!(selected(text), Ok((ranges.into(), shape.into())), "{text}");
        }
        for (text, error) in [
            ("4", "index 4 is out of bounds: shape[0] is 4"),
            ("0,-6", "index -6 is out of bounds: shape[1] is 5"),
            ("0,0,0,0", "the slice has 4 dimensions, but the array has 3"),
            ("::0", "'::0' must have a step of at least 1"),
            ("::-1", "'::-1' must have a step of at least 1"),
            ("a:2", "'a' is not a whole number; write a slice such as 0:2,3,:"),
            ("...,...", "... may occur only once"),
        ] {
            assert_eq!(selected(text), Err(error.into()), "{text}");
        }
    }
}
