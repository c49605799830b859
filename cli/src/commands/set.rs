//! `b2nd set`: another shape or dtype, in place.

use std::path::{Path, PathBuf};

use b2nd_frame::{Error, Frame};
use b2nd_serde::Layout;
use clap::{ArgGroup, Args, ValueHint};

use crate::input::{Numbers, dtype_as_stored, dtype_parser, given_all, numbers};
use crate::output::change::{Change, ChangeReport, failure};
use crate::terminal::Outcome;

/// Change the shape or dtype of an array in its file, without touching its data
///
/// The new shape must need the same chunks as the old one: none is added or removed. If the array grows, the new items
/// have the values that the padding held: mostly zeros, but also the fill value of an array that was made with one, or
/// old items if the array was larger before. The new dtype must have the same item size, and a type string of the same
/// length, such as <i4 and <f4. No other program should have the file open.
#[derive(Args)]
#[command(group(ArgGroup::new("change").args(["shape", "dtype"]).required(true).multiple(true)))]
#[command(after_help = "Examples:
  b2nd set array.b2nd --dtype float32 --dry-run
  b2nd set array.b2nd --shape 4,6")]
pub(crate) struct Set {
    /// Frame to change: a file, or a sparse frame (directory)
    file: PathBuf,
    /// New shape, such as 400,3 or 400x3
    #[arg(long, value_name = "ITEMS", value_parser = numbers::<i64>, allow_hyphen_values = true)]
    #[arg(value_hint = ValueHint::Other)]
    shape: Option<Numbers<i64>>,
    /// New NumPy dtype, such as float32 or <f4
    #[arg(long, value_parser = dtype_parser(), hide_possible_values = true)]
    dtype: Option<String>,
    /// Show what would change, or why nothing can be changed; write nothing and take no lock
    #[arg(long)]
    dry_run: bool,
    /// Print the changed array as a JSON object
    #[arg(long)]
    json: bool,
}

impl Set {
    pub(crate) fn run(self) -> Outcome {
        let [file] = given_all([&self.file]);
        let change =
            file.into_path().and_then(|file| self.change(&file).map_err(|error| failure(&file, &error)));
        ChangeReport { path: &self.file, json: self.json, dry_run: self.dry_run, is_new: false }.show(change)
    }

    fn change(&self, file: &Path) -> Result<Change, Error> {
        let mut frame = Frame::open(file)?;
        // A copy of the header, which the edit changes in place.
        let before = Frame::parse(frame.header_bytes())?;
        let layout = before.array()?.map(|array| array.meta().layout());
        let mut edit = frame.edit();
        if let Some(Numbers(shape)) = &self.shape {
            edit = edit.shape(shape);
        }
        if let Some(dtype) = &self.dtype {
            edit = edit.dtype(&dtype_as_stored(dtype, layout == Some(Layout::B2ndSix)));
        }
        if self.dry_run {
            return Ok(Change { before, after: edit.preview()? });
        }
        edit.apply()?;
        Ok(Change { before, after: Frame::parse(frame.header_bytes())? })
    }
}
