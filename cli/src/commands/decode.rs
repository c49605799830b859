//! `b2nd decode`: the fields of a metalayer.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use b2nd_serde::{Meta, from_slice};
use clap::{Args, ValueHint};

use crate::code;
use crate::input::{Address, Bytes, Failure, Inside, MAX_LEN, from_text, lines, open_or_stdin, read_bytes};
use crate::output::json::{line, print};
use crate::output::record::MetaRecord;
use crate::problem::Problem;
use crate::terminal::{Outcome, complain};
use crate::text::{self, ABSENT, Tuple};

/// Decode a metalayer: layout, shape, chunks, blocks, dtype
///
/// The input is the bytes of a metalayer, or these bytes as hexadecimal digits.
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd decode metalayer.bin
  b2nd encode --shape 6 --chunks 4 --blocks 2 --dtype '<f8' | b2nd decode --json
  b2nd decode --json --lines < metalayers.hex")]
pub(crate) struct Decode {
    /// File with the metalayer [default: -, standard input]
    #[arg(value_name = "FILE", conflicts_with = "hex")]
    file: Option<PathBuf>,
    /// Bytes to decode instead of a file, as hexadecimal digits
    #[arg(long, value_name = "DIGITS", value_hint = ValueHint::Other)]
    hex: Option<Bytes>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
    /// Decode each line by itself, and print an object for each
    #[arg(long, requires = "json", conflicts_with = "hex")]
    lines: bool,
}

impl Decode {
    pub(crate) fn run(self) -> Outcome {
        if self.lines {
            return decode_lines(self.file);
        }
        let address = file_or_stdin(self.file);
        let bytes = match self.hex {
            Some(Bytes(bytes)) => Ok(bytes),
            None => read_bytes(&address.path, MAX_LEN),
        };
        let (meta, bytes) = match decode(bytes) {
            Ok(decoded) => decoded,
            Err(error) => {
                let failure = Failure { address: address.into(), error };
                match (self.json, &failure.address.inside) {
                    (true, _) => print(&failure)?,
                    // No path is shown: neither standard input nor the digits of --hex have a path.
                    (false, Inside::Stdin) => complain(&failure.error),
                    (false, _) => complain(&failure),
                }
                return Ok(ExitCode::FAILURE);
            }
        };
        let output = if self.json {
            line(&MetaRecord { meta: &meta, bytes: &bytes })
        } else {
            page(&meta).into_bytes()
        };
        io::stdout().write_all(&output)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The address of a file, or of standard input.
fn file_or_stdin(file: Option<PathBuf>) -> Address {
    file.filter(|file| file != Path::new("-")).map_or_else(Address::stdin, Address::new)
}

/// Prints an object for each line as soon as it is read, so that another program can send lines one at a time and wait
/// for each answer.
fn decode_lines(file: Option<PathBuf>) -> Outcome {
    let address = file_or_stdin(file);
    let input = match open_or_stdin(&address.path, "lines of hexadecimal digits") {
        Ok(input) => input,
        Err(error) => {
            print(&address.location().failure(error))?;
            return Ok(ExitCode::FAILURE);
        }
    };
    let mut code = ExitCode::SUCCESS;
    for text in lines(input, b'\n') {
        match decode(text.and_then(from_text)) {
            Ok((meta, bytes)) => print(&MetaRecord { meta: &meta, bytes: &bytes })?,
            Err(error) => {
                // The next lines may be valid, so decoding goes on.
                code = ExitCode::FAILURE;
                print(&address.location().failure(error))?;
            }
        }
    }
    Ok(code)
}

fn decode(bytes: io::Result<Vec<u8>>) -> Result<(Meta, Vec<u8>), Problem> {
    let bytes = bytes?;
    // A frame has the magic bytes `b2frame\0` at byte 2. The library refuses a frame too, but its message names a Rust
    // type. The message here names a command.
    if bytes.get(2..).is_some_and(|bytes| bytes.starts_with(b"b2frame\0")) {
        let message = "a whole frame, not a metalayer; `b2nd info` shows the array in it";
        return Err(Problem::new(code::MALFORMED, message));
    }
    let meta = from_slice(&bytes).map_err(|error| malformed(&error))?;
    Ok((meta, bytes))
}

fn malformed(error: &b2nd_serde::Error) -> Problem {
    let offset = error.offset().map(|offset| offset as u64);
    // `Problem` shows the offset itself, so the message must not contain it.
    Problem { offset, ..Problem::new(code::MALFORMED, error.message().to_string()) }
}

fn page(meta: &Meta) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &dyn std::fmt::Display| {
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "{name:8}: {value}");
    };
    match meta.dtype_format() {
        // Dtype format 0 means a NumPy dtype. The number 0 is not shown, because nearly all files have this format.
        None | Some(0) => line("layout", &meta.layout()),
        Some(format) => line("layout", &format_args!("{}, dtype format {format}", meta.layout())),
    }
    line("version", &meta.version());
    line("shape", &Tuple(meta.shape()));
    line("chunks", &Tuple(meta.chunkshape()));
    line("blocks", &Tuple(meta.blockshape()));
    line("dtype", &text::clean(meta.dtype().unwrap_or(ABSENT)));
    match meta.parse_dtype() {
        Ok(None) => {}
        Ok(Some(dtype)) => line("itemsize", &dtype.item_size()),
        Err(error) => line("error", &format_args!("dtype: {error}")),
    }
    match meta.geometry() {
        Ok(geometry) => {
            let (grid, count) =
                (geometry.grid_of_chunks().to_vec(), text::count(geometry.nchunks(), "chunk"));
            line("grid", &format_args!("{}, {count}", Tuple(&grid)));
        }
        Err(error) => line("error", &error),
    }
    text
}
