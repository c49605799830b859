//! `b2nd set`: another shape or dtype, in place.

use std::path::PathBuf;

use b2nd_serde::Layout;
use b2nd_serde::frame::{ArrayLayout, Error, Frame};
use clap::{ArgGroup, Args};

use crate::change::{Change, ChangeReport, failure};
use crate::encode::{Numbers, numbers, spelled};
use crate::output::Outcome;

/// Gives an array another shape or dtype in its file; its data is not touched
///
/// The shape can change only within the chunks that exist, the dtype only to one of the same size whose type string is
/// as long. Where the array grows, the new items show what the padding held: mostly zeros, but also the fill
/// value of an array that was made with one, or old items if the array was larger before. No other program should have the file open.
#[derive(Args)]
#[command(group(ArgGroup::new("change").args(["shape", "dtype"]).required(true).multiple(true)))]
#[command(after_help = "Examples:
  b2nd set array.b2nd --dtype float32 --dry-run
  b2nd set array.b2nd --shape 4,6")]
pub(crate) struct Set {
    /// The file, or the directory of a sparse frame
    file: PathBuf,
    /// Items along each dimension; new ones are not set to anything
    #[arg(long, value_name = "ITEMS", value_parser = numbers::<i64>, allow_hyphen_values = true)]
    shape: Option<Numbers<i64>>,
    /// The type of an item, as NumPy names it: float32, <f4
    #[arg(long)]
    dtype: Option<String>,
    /// Shows what would change, or why it cannot, and writes nothing; takes no lock
    #[arg(long)]
    dry_run: bool,
    /// Prints a JSON object of the array as it is then
    #[arg(long)]
    json: bool,
}

impl Set {
    pub(crate) fn run(self) -> Outcome {
        let change = self.change().map_err(|error| failure(&self.file, &error));
        ChangeReport { path: &self.file, json: self.json, dry_run: self.dry_run, is_new: false }.show(change)
    }

    fn change(&self) -> Result<Change, Error> {
        let mut frame = Frame::open(&self.file)?;
        let before = Frame::parse(frame.header_bytes())?;
        let layout = before.array()?.map(|array| array.layout());
        let mut edit = frame.edit();
        if let Some(Numbers(shape)) = &self.shape {
            edit = edit.shape(shape);
        }
        if let Some(dtype) = &self.dtype {
            edit = edit.dtype(&spelled(dtype, layout == Some(ArrayLayout::Format(Layout::B2ndSix))));
        }
        let after = edit.preview()?;
        if !self.dry_run {
            edit.apply()?;
        }
        Ok(Change { before, after })
    }
}
