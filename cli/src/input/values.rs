//! Values of options that several commands have: numbers, dtypes, and texts that completions offer.

use std::ffi::OsStr;
use std::num::IntErrorKind;
use std::str::FromStr;

use b2nd_serde::dtype::Dtype;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};

/// The numbers of an option, such as the numbers of a shape.
#[derive(Clone)]
pub(crate) struct Numbers<T>(pub(crate) Vec<T>);

/// Parses numbers that are separated by commas or by `x`. They may be in brackets, like a Python tuple or list.
impl<T: TryFrom<i128>> FromStr for Numbers<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let inner = text.trim().trim_start_matches(['(', '[']).trim_end_matches([')', ']']);
        // A Python tuple of one number ends with a comma.
        let inner = inner.trim_end_matches([',', ' ']);
        if inner.is_empty() {
            return Ok(Numbers(Vec::new()));
        }
        let number = |text: &str| {
            let text = text.trim();
            match text.parse::<i128>().map(T::try_from) {
                Ok(Ok(number)) => Ok(number),
                Err(error)
                    if !matches!(error.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) =>
                {
                    Err(format!(
                        "'{text}' is not a whole number; write numbers between commas, such as 400,3"
                    ))
                }
                _ => {
                    // The number does not fit `T`, the type of the entry in the metalayer. The message asks for at
                    // least 0, but a negative number that fits `T` is accepted above: the library rejects it later,
                    // with an error that names the entry.
                    let bits = 8 * size_of::<T>();
                    let max = (1_i128 << (bits - 1)) - 1;
                    Err(format!("{text} is out of range: must be 0 to {max} (int{bits})"))
                }
            }
        };
        inner.split([',', 'x']).map(number).collect::<Result<_, _>>().map(Numbers)
    }
}

/// A parser that accepts any text, with the texts that completions offer.
#[derive(Clone)]
pub(crate) struct Offered(pub(crate) Vec<&'static str>);

impl TypedValueParser for Offered {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.0.iter().map(PossibleValue::new)))
    }
}

/// The parser for --dtype. It accepts any text, and completions offer the usual dtypes.
pub(crate) fn dtype_parser() -> Offered {
    Offered(USUAL_DTYPES.into())
}

/// The dtypes that completions offer.
const USUAL_DTYPES: [&str; 14] = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
];

/// The dtype as a metalayer stores it. Layout b2nd-six (`is_six`) stores the name that NumPy prints, such as `float32`.
/// Any other layout stores the type string, such as `<f4`. A text that is not a dtype is returned unchanged: the caller
/// or the library refuses it.
pub(crate) fn dtype_as_stored(text: &str, is_six: bool) -> String {
    match text.parse::<Dtype>() {
        Ok(dtype) if is_six => dtype.numpy_str().to_string(),
        Ok(dtype) => dtype.type_string().to_string(),
        Err(_) => text.into(),
    }
}
