//! The filter of a listing: `--dtype` and `--ndim`.

use b2nd_serde::MAX_NDIM;
use b2nd_serde::dtype::Dtype;
use clap::builder::{RangedU64ValueParser, TypedValueParser};
use clap::{Args, ValueHint};

use super::values::dtype_parser;
use super::view::View;

/// Conditions on arrays. An option can have several values, and one of them must match the array. If both `--dtype` and
/// `--ndim` are given, an array must meet both conditions.
#[derive(Args, Default)]
pub(crate) struct ArrayFilter {
    /// List only arrays of this dtype, or of one of several, such as int8,int16. A name such as float32 matches both
    /// byte orders, <f4 only one
    #[arg(long, value_parser = dtypes(), hide_possible_values = true)]
    dtype: Vec<WantedDtypes>,
    /// List only arrays with this number of dimensions, or one of several, such as 2,3
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = RangedU64ValueParser::<usize>::new().range(0..=MAX_NDIM as u64), value_hint = ValueHint::Other)]
    ndim: Vec<usize>,
}

impl ArrayFilter {
    /// Whether there is no condition.
    pub(crate) fn is_none(&self) -> bool {
        self.dtype.is_empty() && self.ndim.is_empty()
    }

    /// Whether a frame has an array that meets the conditions.
    pub(crate) fn wants(&self, view: View<'_>) -> bool {
        let Some(shape) = view.shape() else { return false };
        let has_dtype = || {
            let dtype = view.dtype();
            let mut wanted = self.dtype.iter().flat_map(|WantedDtypes(wanted)| wanted);
            dtype.is_some_and(|dtype| wanted.any(|wanted| wanted.is(&dtype)))
        };
        (self.ndim.is_empty() || self.ndim.contains(&shape.len())) && (self.dtype.is_empty() || has_dtype())
    }
}

/// The dtypes in one argument of --dtype.
#[derive(Clone)]
struct WantedDtypes(Vec<WantedDtype>);

#[derive(Clone, Debug)]
struct WantedDtype {
    dtype: Dtype,
    /// Whether the byte order must match too.
    is_exact: bool,
}

impl WantedDtype {
    fn is(&self, other: &Dtype) -> bool {
        let has_kind = || self.dtype.kind() == other.kind() && self.dtype.item_size() == other.item_size();
        self.dtype == *other || !self.is_exact && has_kind()
    }
}

fn dtypes() -> impl TypedValueParser<Value = WantedDtypes> {
    dtype_parser().try_map(|text| wanted_dtypes(&text))
}

/// Parses one dtype, which may contain commas, or several dtypes separated by commas.
fn wanted_dtypes(text: &str) -> Result<WantedDtypes, String> {
    let one = wanted_dtype(text).map(|wanted| vec![wanted]);
    one.or_else(|_| text.split(',').map(wanted_dtype).collect()).map(WantedDtypes)
}

fn wanted_dtype(text: &str) -> Result<WantedDtype, String> {
    let text = text.trim();
    // The byte order must match only if the text states one. Names such as float32 and type strings with `|` state no
    // byte order.
    let is_exact = text.contains(['<', '>', '=']);
    let dtype = text.parse();
    dtype.map(|dtype| WantedDtype { dtype, is_exact }).map_err(|error| format!("'{text}': {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_of_either_byte_order_and_a_type_string_of_its_own() {
        let wants = |wanted: &str, dtype: &str| {
            let WantedDtypes(wanted) = wanted_dtypes(wanted).unwrap();
            wanted.iter().any(|wanted| wanted.is(&dtype.parse().unwrap()))
        };
        for (wanted, dtype, is_wanted) in [
            ("float32", "<f4", true),
            ("float32", ">f4", true),
            ("f4", ">f4", true),
            ("<f4", ">f4", false),
            (">f4", ">f4", true),
            ("float32", "<f8", false),
            ("float32", "<i4", false),
            ("uint8", "|u1", true),
            ("|u1", "|u1", true),
            ("int8, float64", ">f8", true),
            ("datetime64[s]", ">M8[s]", true),
            ("datetime64[s]", "<M8[ms]", false),
            ("U3", ">U3", true),
            ("[('a', '<f4'), ('b', '<i2')]", "[('a', '<f4'), ('b', '>i2')]", false),
            ("[('a)', '<f4'), ('b', '<i2')]", "[('a)', '<f4'), ('b', '<i2')]", true),
        ] {
            assert_eq!(wants(wanted, dtype), is_wanted, "{wanted} {dtype}");
        }
        assert!(wanted_dtypes("float33").is_err_and(|error| error.starts_with("'float33': ")));
        assert!(wanted_dtypes("int8,").is_err());
    }
}
