//! The texts of floats, as NumPy prints them. A text has the fewest digits that identify the number. In an array, a
//! text has at most 8 digits after the point.

use half::f16;

/// The maximum number of digits after the point in an array, as in NumPy.
const PRECISION: usize = 8;

/// A float of an item, in the width in which it is stored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Float {
    Half(f16),
    Single(f32),
    Double(f64),
}

impl Float {
    /// The stored number.
    pub(super) fn exact(self) -> f64 {
        match self {
            Self::Half(number) => number.to_f64(),
            Self::Single(number) => number.into(),
            Self::Double(number) => number,
        }
    }

    /// The number as people write it: with the fewest digits that distinguish the stored number from all other numbers
    /// of its width. The `f32` 0.1 becomes 0.1, not 0.10000000149011612.
    pub(super) fn shortest(self) -> f64 {
        match self {
            // The `Display` text of an `f16` cannot be used, because it has the digits of an `f32`.
            Self::Half(number) => {
                let texts = (0..5).map(|digits| format!("{number:.digits$e}", number = number.to_f64()));
                let mut floats = texts.filter_map(|text| text.parse().ok());
                floats.find(|&float| f16::from_f64(float) == number).unwrap_or(number.to_f64())
            }
            Self::Single(number) => number.to_string().parse().unwrap_or(number.into()),
            Self::Double(number) => number,
        }
    }
}

/// The number with 10 significant digits.
pub(super) fn rounded(float: f64) -> f64 {
    format!("{float:.9e}").parse().unwrap_or(float)
}

/// The text of a float that is printed alone. Python prints the same text.
pub(super) fn scalar(float: f64) -> String {
    if float.is_nan() { "nan".into() } else { with_sign(format!("{float:?}"), 2) }
}

/// Writes the exponent in the text of a number with a sign and at least `least` digits. A text without an exponent is
/// returned unchanged.
fn with_sign(text: String, least: usize) -> String {
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
    format!("{mantissa}e{sign}{digits:0>least$}")
}

/// The format of the floats of an array. All texts of these floats have the same width.
#[derive(Default)]
pub(super) struct FloatFormat {
    /// Whether a number that is not negative gets a plus sign.
    has_plus: bool,
    /// The number of digits after the point, and the number of digits of the exponent. `None` if the numbers are
    /// printed without exponents.
    scientific: Option<(usize, usize)>,
    /// The maximum widths of a number's text before the point (`left`), and from the point on (`right`).
    left: usize,
    right: usize,
}

impl FloatFormat {
    /// The format of some floats. The iterator is cloned and read several times, so that no list of the floats is
    /// needed.
    pub(super) fn new(floats: impl Iterator<Item = f64> + Clone, has_plus: bool) -> Self {
        let sizes = floats.clone().filter(|float| float.is_finite() && *float != 0.0).map(f64::abs);
        let (least, most) = (sizes.clone().fold(f64::INFINITY, f64::min), sizes.clone().fold(0.0, f64::max));
        // These are NumPy's conditions for exponents in an array of float64. Here they apply to float16 and float32
        // too. For these two dtypes, NumPy 2.3 and later versions have a lower limit than 1e8.
        let has_exponents = most >= 1e8 || least < 1e-4 || most / least > 1000.0;
        let decimals = |size: f64| {
            // The first text has the shortest digits of the number. The second text is rounded to `PRECISION` digits
            // after the point. In each text, the digits after the point are counted, without zeros at the end. The
            // result is the smaller count.
            let texts = [format!("{size:e}"), format!("{size:.PRECISION$e}")];
            let digits = texts.iter().filter_map(|text| text.split('e').next());
            digits.map(|digits| digits.trim_end_matches('0').len().saturating_sub(2)).min()
        };
        let scientific = || {
            let digits = if most >= 1e100 || least < 1e-99 { 3 } else { 2 };
            (sizes.filter_map(decimals).max().unwrap_or_default(), digits)
        };
        let mut format = Self { has_plus, scientific: has_exponents.then(scientific), ..Self::default() };
        for float in floats.clone().filter(|float| float.is_finite()) {
            let (integer, rest) = format.parts(float);
            format.left = format.left.max(integer.len());
            format.right = format.right.max(rest.len());
        }
        for float in floats.filter(|float| !float.is_finite()) {
            let (text, _) = format.parts(float);
            format.left = format.left.max(text.len().saturating_sub(format.right));
        }
        format
    }

    /// The text of a number before the point, and its text from the point on.
    fn parts(&self, float: f64) -> (String, String) {
        let text = match self.scientific {
            _ if !float.is_finite() => scalar(float),
            Some((precision, digits)) => with_sign(format!("{float:.precision$e}"), digits),
            None => {
                let text = format!("{float}");
                let is_long = text.split_once('.').is_some_and(|(_, decimals)| decimals.len() > PRECISION);
                if is_long { format!("{float:.PRECISION$}").trim_end_matches('0').into() } else { text }
            }
        };
        let plus = if self.has_plus && !text.starts_with('-') { "+" } else { "" };
        match text.split_once('.') {
            Some((integer, decimals)) => (format!("{plus}{integer}"), format!(".{decimals}")),
            // NumPy prints a whole number with a point at its end.
            None if float.is_finite() => (format!("{plus}{text}"), ".".into()),
            None => (format!("{plus}{text}"), String::new()),
        }
    }

    pub(super) fn text(&self, float: f64) -> String {
        let (integer, rest) = self.parts(float);
        let (left, right) = (self.left, self.right);
        if rest.is_empty() {
            return format!("{integer:>width$}", width = left + right);
        }
        format!("{integer:>left$}{rest:<right$}")
    }
}
