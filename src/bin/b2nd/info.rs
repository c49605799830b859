//! `b2nd info`: shape, chunks, blocks and dtype, as python-blosc2's `info` prints them.

use std::error::Error;
use std::fmt::{self, Display, Write as _};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use b2nd_serde::Meta;
use b2nd_serde::frame::Frame;
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
    let (Some(layer), Some(meta)) = (frame.array_metalayer(), frame.array()) else {
        return Err("a frame without an array: no metalayer b2nd or caterva".into());
    };
    let meta =
        meta.map_err(|error| format!("metalayer {} at byte {}: {error}", layer.name(), layer.offset()))?;

    let mut text = String::new();
    if with_path {
        writeln!(text, "path    : {}", file.display())?;
    }
    writeln!(text, "type    : NDArray")?;
    writeln!(text, "shape   : {}", Tuple(meta.shape()))?;
    writeln!(text, "chunks  : {}", Tuple(meta.chunkshape()))?;
    writeln!(text, "blocks  : {}", Tuple(meta.blockshape()))?;
    writeln!(text, "dtype   : {}", dtype(&meta))?;
    if let Some(nbytes) = nbytes(&meta, frame.typesize()) {
        writeln!(text, "nbytes  : {}", Size(nbytes))?;
    }
    writeln!(text, "cbytes  : {}", Size(frame.cbytes()))?;
    writeln!(text, "cratio  : {:.2}x", ratio(frame.nbytes(), frame.cbytes()))?;
    writeln!(text, "layout  : {}", meta.layout())?;
    Ok(text)
}

/// The dtype as NumPy prints it; where NumPy could not, as it stands in the metalayer.
fn dtype(meta: &Meta) -> String {
    match (meta.parse_dtype(), meta.dtype()) {
        (Ok(Some(dtype)), _) => dtype.numpy_str().to_string(),
        // Nobody has checked it: a control character does not get to the terminal.
        (_, Some(text)) => text.replace(char::is_control, "\u{fffd}"),
        (_, None) => "none".to_owned(),
    }
}

/// The size of the array's items, where it is a number.
fn nbytes(meta: &Meta, typesize: i32) -> Option<i64> {
    meta.shape().iter().try_fold(i64::from(typesize), |product, &items| product.checked_mul(items))
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
