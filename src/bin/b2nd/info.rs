//! `b2nd info`: shape, chunks, blocks and dtype, as python-blosc2's `info` prints them.

use std::error::Error;
use std::fmt::{self, Display, Write as _};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use b2nd_serde::Meta;
use b2nd_serde::frame::{Array, Frame};
use humansize::{BINARY, format_size_i};

/// Shows each file; those that cannot be shown are named on standard error, and the rest goes on.
pub(crate) fn run(files: &[PathBuf]) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    let mut shown = 0;
    for file in files {
        let text = match info(file, files.len() > 1) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("b2nd: {}: {error}", file.display());
                code = ExitCode::FAILURE;
                continue;
            }
        };
        let separator = if shown > 0 { "\n" } else { "" };
        match write!(io::stdout().lock(), "{separator}{text}") {
            Ok(()) => shown += 1,
            // The reader has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
            Err(error) => {
                eprintln!("b2nd: standard output: {error}");
                return ExitCode::FAILURE;
            }
        }
    }
    code
}

fn info(file: &Path, with_path: bool) -> Result<String, Box<dyn Error>> {
    let frame = Frame::open(file)?;
    let header = frame.header();
    let Some(array) = frame.array()? else {
        let store = "an embed store: the arrays in it are compressed";
        let other = "a frame without an array: no metalayer b2nd or caterva";
        return Err(if frame.is_embed_store() { store } else { other }.into());
    };

    let mut text = String::new();
    if with_path {
        writeln!(text, "path    : {}", file.display())?;
    }
    writeln!(text, "type    : NDArray")?;
    writeln!(text, "shape   : {}", Tuple(array.shape()))?;
    writeln!(text, "chunks  : {}", Tuple(array.chunkshape()))?;
    match array.blockshape() {
        Some(blockshape) => writeln!(text, "blocks  : {}", Tuple(blockshape))?,
        None => writeln!(text, "blocks  : none")?,
    }
    writeln!(text, "dtype   : {}", dtype(&array))?;
    if let Some(nbytes) = nbytes(array.shape(), header.typesize) {
        writeln!(text, "nbytes  : {}", Size(nbytes))?;
    }
    writeln!(text, "cbytes  : {}", Size(header.cbytes))?;
    writeln!(text, "cratio  : {:.2}x", ratio(header.nbytes, header.cbytes))?;
    writeln!(text, "layout  : {}", array.layout())?;
    Ok(text)
}

/// The dtype as NumPy prints it; where NumPy could not, as it stands in the metalayer.
fn dtype(array: &Array) -> String {
    match (array.meta().map(Meta::parse_dtype), array.dtype()) {
        (Some(Ok(Some(dtype))), _) => dtype.numpy_str().to_string(),
        // Nobody has checked it: a control character does not get to the terminal.
        (_, Some(text)) => text.replace(char::is_control, "\u{fffd}"),
        (_, None) => "none".to_owned(),
    }
}

/// The size of the array's items, where it is a number.
fn nbytes(shape: &[i64], typesize: i32) -> Option<i64> {
    shape.iter().try_fold(i64::from(typesize), |product, &items| product.checked_mul(items))
}

/// As python-blosc2 has it: 0 where nothing is stored.
#[expect(clippy::cast_precision_loss, reason = "two decimals are shown")]
fn ratio(nbytes: i64, cbytes: i64) -> f64 {
    if cbytes == 0 { 0.0 } else { nbytes as f64 / cbytes as f64 }
}

/// Numbers as Python shows a tuple.
struct Tuple<'a, T>(&'a [T]);

impl<T: Display> Display for Tuple<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('(')?;
        for (index, item) in self.0.iter().enumerate() {
            let separator = if index > 0 { ", " } else { "" };
            write!(f, "{separator}{item}")?;
        }
        f.write_str(if self.0.len() == 1 { ",)" } else { ")" })
    }
}

/// A number of bytes, and the same in a unit that a person can grasp.
struct Size(i64);

impl Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.0, format_size_i(self.0, BINARY))
    }
}
