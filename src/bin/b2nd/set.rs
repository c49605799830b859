//! `b2nd set`: another shape or dtype, in place.

use std::path::PathBuf;

use b2nd_serde::frame::{Error, Frame};
use clap::{ArgGroup, Args};

use crate::Outcome;
use crate::change::{Change, show};
use crate::encode::{Numbers, numbers};

/// Gives an array another shape or dtype where it stands; its data is not touched
///
/// The shape may change only within the chunks that are there, the dtype only to one of the same size whose name is as
/// long. Nobody else should have the file open.
#[derive(Args)]
#[command(group(ArgGroup::new("change").args(["shape", "dtype"]).required(true).multiple(true)))]
#[command(after_help = "Examples:
  b2nd set array.b2nd --dtype '<f4' --dry-run
  b2nd set array.b2nd --shape 4,6")]
pub(crate) struct Set {
    /// The file, or the directory of a sparse frame
    file: PathBuf,
    /// Items along each dimension
    #[arg(long, value_name = "ITEMS", value_parser = numbers::<i64>, allow_hyphen_values = true)]
    shape: Option<Numbers<i64>>,
    /// The type of an item, as NumPy writes it
    #[arg(long)]
    dtype: Option<String>,
    /// Shows what would change, and writes nothing
    #[arg(long)]
    dry_run: bool,
    /// Prints a JSON object of the array as it is then
    #[arg(long)]
    json: bool,
}

impl Set {
    pub(crate) fn run(self) -> Outcome {
        show(&self.file, self.change(), self.json, self.dry_run)
    }

    fn change(&self) -> Result<Change, Error> {
        let mut frame = Frame::open(&self.file)?;
        let before = Frame::parse(frame.header_bytes())?;
        let shape = self.shape.as_ref().map(|shape| before.with_shape(&shape.0)).transpose()?;
        let after = match (&self.dtype, shape) {
            (Some(dtype), Some(shape)) => shape.with_dtype(dtype)?,
            (Some(dtype), None) => before.with_dtype(dtype)?,
            (None, Some(shape)) => shape,
            (None, None) => before.clone(),
        };
        if let (false, Some(layer)) = (self.dry_run, after.array_metalayer()) {
            // Both at once.
            frame.set_metalayer(layer.name(), layer.bytes())?;
        }
        Ok(Change { before, after })
    }
}
