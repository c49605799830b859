//! `b2nd encode`: a metalayer from shapes and a dtype.

use std::error::Error;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::num::IntErrorKind;
use std::process::ExitCode;

use b2nd_serde::dtype::Dtype;
use b2nd_serde::{Entry, Layout, Meta, Shapes, to_vec};
use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Command, ValueHint};

use crate::address::Address;
use crate::failure::{Failure, Problem};
use crate::hex::hex;
use crate::json::{MetaRecord, line};
use crate::output::{Outcome, complain, remark};

/// Encode a metalayer from shapes and a dtype, and check that they fit together
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd encode --shape 400,3 --chunks 110,3 --blocks 57,3 --dtype '|u1'
  b2nd encode --shape 3,5 --chunks 2,3 --blocks 1,2 --dtype int32 | b2nd dump")]
pub(crate) struct Encode {
    /// Array shape, such as 400,3 or 400x3; () for a scalar
    #[arg(long, value_name = "ITEMS", value_parser = numbers::<i64>, allow_hyphen_values = true)]
    #[arg(value_hint = ValueHint::Other)]
    shape: Numbers<i64>,
    /// Chunk shape, with as many numbers as --shape
    #[arg(long, value_name = "ITEMS", value_parser = numbers::<i32>, allow_hyphen_values = true)]
    #[arg(value_hint = ValueHint::Other)]
    chunks: Numbers<i32>,
    /// Block shape, with as many numbers as --shape
    #[arg(long, value_name = "ITEMS", value_parser = numbers::<i32>, allow_hyphen_values = true)]
    #[arg(value_hint = ValueHint::Other)]
    blocks: Numbers<i32>,
    /// NumPy dtype, such as uint8 or |u1; layout caterva does not store it
    #[arg(long, required_unless_present = "layout", value_parser = dtype(), hide_possible_values = true)]
    #[arg(required_if_eq_any(layouts_with_dtype().map(|name| ("layout", name))))]
    dtype: Option<String>,
    /// Layout of the metalayer; all but b2nd are old
    #[arg(long, default_value = "b2nd", hide_default_value = false, value_parser = layouts())]
    layout: Layout,
    /// Print the bytes themselves instead of hexadecimal digits
    #[arg(long)]
    raw: bool,
    /// Print a JSON object
    #[arg(long, conflicts_with = "raw")]
    json: bool,
}

/// A layout by its name, with all names for help and completions.
fn layouts() -> impl TypedValueParser<Value = Layout> {
    PossibleValuesParser::new(Layout::ALL.iter().map(|layout| layout.name()))
        .try_map(|name| name.parse::<Layout>())
}

fn layouts_with_dtype() -> impl Iterator<Item = &'static str> {
    Layout::ALL.iter().filter(|layout| layout.entries().contains(&Entry::Dtype)).map(|layout| layout.name())
}

/// Numbers between commas.
#[derive(Clone)]
pub(crate) struct Numbers<T>(pub(crate) Vec<T>);

/// Parses numbers between commas, also in brackets, as Python prints a tuple or a list; or with `x` between them.
pub(crate) fn numbers<T: TryFrom<i128>>(text: &str) -> Result<Numbers<T>, String> {
    let inner = text.trim().trim_start_matches(['(', '[']).trim_end_matches([')', ']']);
    let inner = inner.trim_end_matches([',', ' ']);
    if inner.is_empty() {
        return Ok(Numbers(Vec::new()));
    }
    let number = |text: &str| {
        let text = text.trim();
        match text.parse::<i128>().map(T::try_from) {
            Ok(Ok(number)) => Ok(number),
            Err(error) if !matches!(error.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) => {
                Err(format!("'{text}' is not a whole number; write numbers between commas, such as 400,3"))
            }
            _ => {
                let bits = 8 * size_of::<T>();
                let max = (1_i128 << (bits - 1)) - 1;
                Err(format!("{text} is out of range: must be 0 to {max} (int{bits})"))
            }
        }
    };
    inner.split([',', 'x']).map(number).collect::<Result<_, _>>().map(Numbers)
}

/// Takes any text; completions offer these.
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

/// Takes any dtype; completions offer the usual ones.
pub(crate) fn dtype() -> Offered {
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

/// The dtype as a metalayer stores it: its type string, or in layout b2nd-six its name. The library reports a text that
/// is not a dtype, so it is returned as it is.
pub(crate) fn spelled(text: &str, is_six: bool) -> String {
    match text.parse::<Dtype>() {
        Ok(dtype) if is_six => dtype.numpy_str().to_string(),
        Ok(dtype) => dtype.type_string().to_string(),
        Err(_) => text.into(),
    }
}

fn dimensions(ndim: usize) -> String {
    format!("{ndim} dimension{}", if ndim == 1 { "" } else { "s" })
}

impl Encode {
    pub(crate) fn run(self) -> Outcome {
        let (meta, bytes) = match self.encode() {
            Ok(encoded) => encoded,
            Err(error) => {
                if self.json {
                    let error = Problem::new("refused", error.to_string());
                    let failure = Failure { address: Address::stdin().into(), error };
                    io::stdout().write_all(&line(&failure))?;
                } else {
                    complain(&error);
                }
                return Ok(ExitCode::FAILURE);
            }
        };
        self.warn();
        let output = match (self.json, self.raw) {
            (true, _) => line(&MetaRecord::new(&meta, &bytes)),
            (false, true) => bytes,
            (false, false) => (hex(&bytes) + "\n").into_bytes(),
        };
        let mut stdout = io::stdout();
        stdout.write_all(&output)?;
        stdout.flush()?;
        Ok(ExitCode::SUCCESS)
    }

    /// Says what C-Blosc2 reads, but not every program.
    fn warn(&self) {
        for (dimension, (block, chunk)) in self.blocks.0.iter().zip(&self.chunks.0).enumerate() {
            if block > chunk {
                remark(&format_args!(
                    "--blocks has {block} in dimension {dimension}, more than the {chunk} of --chunks: \
                     python-blosc2 makes no such array"
                ));
            }
        }
    }

    fn encode(&self) -> Result<(Meta, Vec<u8>), Box<dyn Error>> {
        let ndim = self.shape.0.len();
        for (option, ndim_here) in [("--chunks", self.chunks.0.len()), ("--blocks", self.blocks.0.len())] {
            if ndim_here != ndim {
                let (has, needs) = (dimensions(ndim_here), dimensions(ndim));
                return Err(format!("{option} has {has}, but --shape has {needs}").into());
            }
        }
        let is_six = self.layout == Layout::B2ndSix;
        let dtype = self.dtype.as_ref().map(|dtype| spelled(dtype, is_six));
        let text = dtype.as_deref().unwrap_or_default();
        let meta = Meta::new(
            Shapes { shape: &self.shape.0, chunkshape: &self.chunks.0, blockshape: &self.blocks.0 },
            text,
        )?;
        let geometry = meta.geometry()?;
        if let Some(dtype) = dtype {
            let dtype: Dtype = dtype.parse().map_err(|error| format!("dtype: {error}"))?;
            geometry.chunk_nbytes(dtype.item_size())?;
        }
        let meta = meta.with_layout(self.layout)?;
        let bytes = to_vec(&meta)?;
        Ok((meta, bytes))
    }
}
