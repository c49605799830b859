//! Floats as NumPy prints them: the fewest digits that are read back as the same number, at most 8 after the point in
//! an array.

use half::f16;

/// The digits after the point that NumPy prints in an array.
const PRECISION: usize = 8;

#[derive(Clone, Copy, Debug)]
pub(super) enum Float {
    F16(f16),
    F32(f32),
    F64(f64),
}

impl Float {
    pub(super) fn wide(self) -> f64 {
        match self {
            Self::F16(value) => value.to_f64(),
            Self::F32(value) => value.into(),
            Self::F64(value) => value,
        }
    }

    /// 10 to the power of `numpy.finfo(dtype).precision`: from here on NumPy prints an exponent.
    fn digits(self) -> f64 {
        match self {
            Self::F16(_) => 1e3,
            Self::F32(_) => 1e6,
            Self::F64(_) => 1e15,
        }
    }

    pub(super) fn is_finite(self) -> bool {
        self.wide().is_finite()
    }

    fn is_negative(self) -> bool {
        self.wide().is_sign_negative() && !self.wide().is_nan()
    }

    /// Whether the quotient of two numbers, in their own precision, is above 1000. NumPy then prints exponents.
    fn is_far_above(self, other: Self) -> bool {
        match (self, other) {
            (Self::F16(a), Self::F16(b)) => f16::from_f32(a.to_f32() / b.to_f32()) > f16::from_f32(1000.0),
            (Self::F32(a), Self::F32(b)) => a / b > 1000.0,
            _ => self.wide() / other.wide() > 1000.0,
        }
    }

    /// Whether it is below 0.0001 in the precision of the type.
    fn is_tiny(self) -> bool {
        match self {
            Self::F16(value) => value < f16::from_f64(0.0001),
            Self::F32(value) => value < 0.0001,
            Self::F64(value) => value < 0.0001,
        }
    }

    /// Whether a decimal number is read as this one.
    fn is(self, text: &str) -> bool {
        match self {
            Self::F16(value) => text.parse().is_ok_and(|text| f16::from_f64(text) == value),
            Self::F32(value) => text.parse() == Ok(value),
            Self::F64(value) => text.parse() == Ok(value),
        }
    }

    /// The fewest digits that are read as this number, as a mantissa and an exponent. Of two equally near candidates,
    /// Rust prints the greater one, NumPy the one with an even last digit.
    fn shortest(self) -> String {
        let wide = self.wide();
        let text = match self {
            // `f16` has no shortest form, so all lengths are tried.
            Self::F16(_) => (0..5).map(|digits| format!("{wide:.digits$e}")).find(|text| self.is(text)),
            Self::F32(value) => Some(format!("{value:e}")),
            Self::F64(value) => Some(format!("{value:e}")),
        };
        let text = text.unwrap_or_else(|| format!("{wide:e}"));
        let digits = parts(&text).1.len();
        // With a number of digits, Rust too rounds a tie to the even digit.
        Some(format!("{wide:.digits$e}")).filter(|even| self.is(even)).unwrap_or(text)
    }

    /// The digits before and after the point, without an exponent. At most `precision` are after it, without zeros at
    /// the end.
    fn positional(self, precision: usize) -> (String, String) {
        let (integer, fraction, exponent) = parts(&self.shortest());
        let (sign, digits) = match integer.strip_prefix('-') {
            Some(digit) => ("-", format!("{digit}{fraction}")),
            None => ("", format!("{integer}{fraction}")),
        };
        // The number of digits before the point.
        let before = usize::try_from(exponent + 1).unwrap_or_default();
        let zeros = "0".repeat(usize::try_from(-1 - exponent).unwrap_or_default());
        let (integer, fraction) = match digits.split_at_checked(before) {
            Some(("", fraction)) => ("0".into(), format!("{zeros}{fraction}")),
            Some((integer, fraction)) => (integer.to_owned(), fraction.to_owned()),
            // The number has zeros between its digits and the point.
            None => (format!("{digits:0<before$}"), String::new()),
        };
        if fraction.trim_end_matches('0').len() > precision {
            // NumPy rounds the exact value, not the shortest digits.
            let rounded = format!("{:.precision$}", self.wide());
            let (integer, fraction) = rounded.split_once('.').unwrap_or((&rounded, ""));
            return (integer.into(), fraction.trim_end_matches('0').into());
        }
        (format!("{sign}{integer}"), fraction.trim_end_matches('0').into())
    }

    /// A digit, the digits after the point as in [`positional`](Self::positional), and the exponent.
    fn scientific(self, precision: usize) -> (String, String, i32) {
        match parts(&self.shortest()) {
            (_, fraction, _) if fraction.len() > precision => parts(&format!("{:.precision$e}", self.wide())),
            parts => parts,
        }
    }

    /// The number alone, as NumPy prints a scalar. Without `needs_point`, a whole number has no point.
    pub(super) fn scalar(self, needs_point: bool) -> String {
        if !self.is_finite() {
            return self.not_finite().into();
        }
        let size = self.wide().abs();
        // NumPy's `str` begins to print exponents here: for float64 a digit later than in an array.
        let most = if let Self::F64(_) = self { 1e16 } else { self.digits() };
        if size == 0.0 || size >= 1e-4 && size < most {
            let (integer, fraction) = self.positional(usize::MAX);
            return match (fraction.is_empty(), needs_point) {
                (true, true) => format!("{integer}.0"),
                (true, false) => integer,
                (false, _) => format!("{integer}.{fraction}"),
            };
        }
        let (integer, fraction, exponent) = self.scientific(usize::MAX);
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{integer}{point}{fraction}e{}", signed(exponent, 2))
    }

    fn not_finite(self) -> &'static str {
        match self.wide() {
            wide if wide.is_nan() => "nan",
            wide if wide < 0.0 => "-inf",
            _ => "inf",
        }
    }

    /// The JSON number that is read back as this value, or a text for NaN and infinities.
    pub(super) fn json(self) -> Result<f64, &'static str> {
        match self.wide() {
            wide if wide.is_nan() => Err("NaN"),
            f64::INFINITY => Err("Infinity"),
            f64::NEG_INFINITY => Err("-Infinity"),
            // The shortest digits of an f32 are not those of the same value as an f64.
            wide => Ok(self.shortest().parse().unwrap_or(wide)),
        }
    }
}

/// A number with an exponent: the digit before the point, those after it without zeros at the end, and the exponent.
fn parts(text: &str) -> (String, String, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    (integer.into(), fraction.trim_end_matches('0').into(), exponent.parse().unwrap_or_default())
}

/// An exponent with its sign and at least `digits` digits.
fn signed(exponent: i32, digits: usize) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{:0digits$}", exponent.unsigned_abs())
}

/// How NumPy prints the floats of an array, so that all have the same width.
pub(super) struct FloatFormat {
    left: usize,
    right: usize,
    /// The digits of an exponent, if the numbers have exponents.
    exponent: Option<usize>,
    /// Whether a number that is not negative has a plus.
    has_plus: bool,
}

impl FloatFormat {
    /// The format of some floats. The iterator is cloned and read several times, so that nothing is collected.
    pub(super) fn new(floats: impl Iterator<Item = Float> + Clone, has_plus: bool) -> Self {
        let sizes = floats.clone().filter(|float| float.is_finite() && float.wide() != 0.0).map(absolute);
        let order = |a: &Float, b: &Float| a.wide().total_cmp(&b.wide());
        let range = sizes.clone().min_by(order).zip(sizes.max_by(order));
        // The conditions of NumPy's `FloatingFormat`.
        let has_exponents = range.is_some_and(|(least, most)| {
            most.wide() >= most.digits().min(1e8) || least.is_tiny() || most.is_far_above(least)
        });
        let (mut left, mut right, mut exponents) = (0, 0, 0);
        for float in floats.clone().filter(|float| float.is_finite()) {
            let (integer, fraction) = if has_exponents {
                let (integer, fraction, exponent) = float.scientific(PRECISION);
                exponents = exponents.max(signed(exponent, 2).len() - 1);
                (integer, fraction)
            } else {
                float.positional(PRECISION)
            };
            let plus = usize::from(has_plus && !float.is_negative());
            left = left.max(integer.len() + plus);
            right = right.max(fraction.len());
        }
        let mut format = Self { left, right, exponent: has_exponents.then_some(exponents), has_plus };
        // NaN and infinities widen the column.
        if floats.clone().any(|float| !float.is_finite()) {
            let mut floats = floats;
            let has_sign = has_plus || floats.any(|float| float.wide() == f64::NEG_INFINITY);
            let widest = 3 + usize::from(has_sign);
            format.left = format.left.max(widest.saturating_sub(format.after_left()));
        }
        format
    }

    /// The width of a number from its point on.
    fn after_left(&self) -> usize {
        1 + self.right + self.exponent.map_or(0, |digits| digits + 2)
    }

    pub(super) fn text(&self, float: Float) -> String {
        let plus = if self.has_plus && !float.is_negative() { "+" } else { "" };
        let Self { left, right, .. } = *self;
        if !float.is_finite() {
            let text = format!("{plus}{}", float.not_finite());
            return format!("{text:>width$}", width = left + self.after_left());
        }
        let Some(digits) = self.exponent else {
            let (integer, fraction) = float.positional(PRECISION);
            let integer = format!("{plus}{integer}");
            return format!("{integer:>left$}.{fraction:<right$}");
        };
        // With an exponent, NumPy fills the width with further exact digits, not with zeros.
        let text = format!("{:.right$e}", float.wide());
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let integer = format!("{plus}{integer}");
        format!("{integer:>left$}.{fraction}e{}", signed(exponent.parse().unwrap_or_default(), digits))
    }
}

fn absolute(float: Float) -> Float {
    match float {
        Float::F16(value) => Float::F16(f16::from_f64(value.to_f64().abs())),
        Float::F32(value) => Float::F32(value.abs()),
        Float::F64(value) => Float::F64(value.abs()),
    }
}
