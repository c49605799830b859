//! `b2nd encode`: a metalayer from shapes and a dtype.

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use b2nd_serde::dtype::Dtype;
use b2nd_serde::{Entry, Layout, Meta, Shapes, to_vec};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueHint};

use crate::code;
use crate::input::{Address, Failure, Numbers, dtype_as_stored, dtype_parser};
use crate::output::json::{line, print};
use crate::output::record::MetaRecord;
use crate::problem::Problem;
use crate::terminal::{Outcome, complain};
use crate::text::{count, hex};

/// Make a metalayer from shapes and a dtype, if they fit together
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd encode --shape 400,3 --chunks 110,3 --blocks 57,3 --dtype '|u1'
  b2nd encode --shape 3,5 --chunks 2,3 --blocks 1,2 --dtype int32 | b2nd dump")]
pub(crate) struct Encode {
    /// Array shape, such as 400,3 or 400x3; () for a scalar
    #[arg(long, value_name = "ITEMS", allow_hyphen_values = true, value_hint = ValueHint::Other)]
    shape: Numbers<i64>,
    /// Chunk shape, with as many numbers as --shape
    #[arg(long, value_name = "ITEMS", allow_hyphen_values = true, value_hint = ValueHint::Other)]
    chunks: Numbers<i32>,
    /// Block shape, with as many numbers as --shape
    #[arg(long, value_name = "ITEMS", allow_hyphen_values = true, value_hint = ValueHint::Other)]
    blocks: Numbers<i32>,
    /// NumPy dtype, such as uint8 or |u1; layout caterva does not store it
    #[arg(long, required_unless_present = "layout", value_parser = dtype_parser(), hide_possible_values = true)]
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

/// Parses the name of a layout. Help and completions list all names.
fn layouts() -> impl TypedValueParser<Value = Layout> {
    PossibleValuesParser::new(Layout::ALL.iter().map(|layout| layout.name()))
        .try_map(|name| name.parse::<Layout>())
}

fn layouts_with_dtype() -> impl Iterator<Item = &'static str> {
    Layout::ALL.iter().filter(|layout| layout.entries().contains(&Entry::Dtype)).map(|layout| layout.name())
}

impl Encode {
    pub(crate) fn run(self) -> Outcome {
        let (meta, bytes) = match self.encode() {
            Ok(encoded) => encoded,
            Err(error) => {
                if self.json {
                    let error = Problem::new(code::INVALID_INPUT, error.to_string());
                    // There is no input, but a failure needs an address, so it gets the address of standard input.
                    print(&Failure { address: Address::stdin().into(), error })?;
                } else {
                    complain(&error);
                }
                return Ok(ExitCode::FAILURE);
            }
        };
        let output = match (self.json, self.raw) {
            (true, _) => line(&MetaRecord { meta: &meta, bytes: &bytes }),
            (false, true) => bytes,
            (false, false) => (hex(&bytes) + "\n").into_bytes(),
        };
        let mut stdout = io::stdout();
        stdout.write_all(&output)?;
        // Rust can keep the bytes after the last line break in a buffer. It then writes these bytes when the process
        // ends, and ignores errors. The bytes of --raw may have no line break, so they are flushed here.
        stdout.flush()?;
        Ok(ExitCode::SUCCESS)
    }

    fn encode(&self) -> Result<(Meta, Vec<u8>), Box<dyn Error>> {
        let ndim = self.shape.0.len();
        for (option, ndim_here) in [("--chunks", self.chunks.0.len()), ("--blocks", self.blocks.0.len())] {
            if ndim_here != ndim {
                let [has, needs] = [ndim_here, ndim].map(|ndim| count(ndim as u64, "dimension"));
                return Err(format!("{option} has {has}, but --shape has {needs}").into());
            }
        }
        let is_six = self.layout == Layout::B2ndSix;
        let dtype = self.dtype.as_ref().map(|dtype| dtype_as_stored(dtype, is_six));
        let text = dtype.as_deref().unwrap_or_default();
        let meta = Meta::new(
            Shapes { shape: &self.shape.0, chunkshape: &self.chunks.0, blockshape: &self.blocks.0 },
            text,
        )?;
        let geometry = meta.geometry()?;
        if let Some(dtype) = dtype {
            let dtype: Dtype = dtype.parse().map_err(|error| format!("dtype: {error}"))?;
            if dtype.has_objects() {
                return Err(format!("dtype: `{dtype}` has Python objects, which no file can hold").into());
            }
            // Fails if a chunk is too long.
            geometry.chunk_nbytes(dtype.item_size())?;
        }
        let meta = meta.with_layout(self.layout)?;
        let bytes = to_vec(&meta)?;
        Ok((meta, bytes))
    }
}
