//! `b2nd set`: another shape or dtype, or other vlmetalayers, in place.

use std::path::{Path, PathBuf};

use b2nd_frame::{ArrayUpdate, Error, ErrorKind, Finding, FindingCode, Frame, Trailer, Vlmetalayer};
use b2nd_serde::Layout;
use clap::{ArgGroup, Args, ValueHint};
use serde_json::Value;

use crate::code;
use crate::input::{Numbers, dtype_as_stored, dtype_parser, given_all, json_value};
use crate::interrupt::Interrupts;
use crate::output::change::{Change, ChangeReport, failure};
use crate::problem::Problem;
use crate::terminal::Outcome;
use crate::text;
use crate::waiting::{Wait, while_changing};

/// Change the shape, dtype or vlmetalayers of an array in place
///
/// Its data is not touched. The new shape must need the same chunks as the old one: none is added or removed. If the
/// array grows, the new items are read from the padding of its last chunks. The padding is usually zeros, but the fill
/// value if the array was made with one, or old items if the array was larger before. The new dtype must have the same
/// item size, and a type string of the same length, such as <i4 and <f4. If python-blosc2 has indexed the array, the
/// indexes become stale; its `rebuild_index` builds them again. The shape and dtype of a column of a table with indexes
/// or generated columns are not changed.
///
/// Vlmetalayers are named values of any length: the attributes of the array. Their numbers are int64, uint64 or
/// float64, as in the JSON: 1 is an integer, and 1.0 the nearest float64. An integer of more than 64 bits is refused.
/// All changes of a run are made together: a process that is killed leaves either the old values or the new ones.
#[derive(Args)]
#[command(
    override_usage = "b2nd set [OPTIONS] <--shape <ITEMS>|--dtype <DTYPE>>... <FILE>\n       b2nd set [OPTIONS] <--vlmeta <NAME=JSON>|--remove-vlmeta <NAME>>... <FILE>"
)]
#[command(group(ArgGroup::new("change").required(true).multiple(true)
    .args(["shape", "dtype", "vlmeta", "remove_vlmeta"])))]
#[command(after_help = "Examples:
  b2nd set array.b2nd --dtype float32 --dry-run
  b2nd set array.b2nd --shape 4,6
  b2nd set array.b2nd --vlmeta 'unit=\"mm\"' --vlmeta spacing=[1,0.5]")]
pub(crate) struct Set {
    /// Frame to change: a file, or a sparse frame (directory)
    file: PathBuf,
    /// New shape, such as 400,3 or 400x3
    #[arg(long, value_name = "ITEMS", allow_hyphen_values = true, value_hint = ValueHint::Other)]
    shape: Option<Numbers<i64>>,
    /// New NumPy dtype, such as float32 or <f4
    #[arg(long, value_parser = dtype_parser(), hide_possible_values = true)]
    dtype: Option<String>,
    /// Set a vlmetalayer to a JSON value; a string needs quotes. May be given several times
    #[arg(long, value_name = "NAME=JSON", value_parser = vlmetalayer, value_hint = ValueHint::Other)]
    #[arg(conflicts_with_all = ["shape", "dtype", "dry_run"])]
    vlmeta: Vec<(String, Value)>,
    /// Remove a vlmetalayer. May be given several times
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other)]
    #[arg(conflicts_with_all = ["shape", "dtype", "dry_run"])]
    remove_vlmeta: Vec<String>,
    /// Show what would change, or why nothing can be changed; write nothing and take no lock
    #[arg(long)]
    dry_run: bool,
    /// Print the changed array as a JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    wait: Wait,
}

/// Parses the name and the value of `--vlmeta`.
fn vlmetalayer(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("must be NAME=JSON")?;
    Ok((name.into(), json_value(value)?))
}

/// The message that a frame has no vlmetalayer of this name.
fn no_vlmetalayer(name: &str, trailer: &Trailer) -> String {
    let names = trailer.vlmetalayers().iter().map(Vlmetalayer::name);
    let others = if names.len() == 0 {
        "the frame has none".into()
    } else {
        format!("{}`b2nd info` lists them", text::did_you_mean(name, names))
    };
    format!("no vlmetalayer '{}'; {others}", text::clean(name))
}

impl Set {
    pub(crate) fn run(self) -> Outcome {
        let [file] = given_all([&self.file]);
        let interrupts = Interrupts::new();
        let change = file.into_path().and_then(|file| {
            let has_layers = !self.vlmeta.is_empty() || !self.remove_vlmeta.is_empty();
            // Signals are deferred, because some changes, such as a change of a sparse frame, write a temporary file.
            let change = || {
                let change = interrupts
                    .defer(|| if has_layers { self.change_vlmetalayers(&file) } else { self.change(&file) });
                if change.is_err() {
                    // If a signal was caught, the process ends here, and not after the wait for another process.
                    interrupts.raise_caught(|| ());
                }
                change
            };
            let change = if self.dry_run { while_changing(change) } else { self.wait.change(&file, change) };
            change.map_err(|problem| failure(&file, problem))
        });
        ChangeReport { path: &self.file, json: self.json, dry_run: self.dry_run, is_new: false }.show(change)
    }

    fn change(&self, file: &Path) -> Result<Change, Problem> {
        let mut frame = Frame::open(file)?;
        // `before` must be a copy of the header, because the edit changes the header in place.
        let before = Frame::parse(frame.header_bytes())?;
        let trailer = frame.trailer().ok();
        let layout = before.array()?.map(|array| array.meta().layout());
        let mut edit = frame.edit();
        if let Some(Numbers(shape)) = &self.shape {
            edit = edit.shape(shape);
        }
        if let Some(dtype) = &self.dtype {
            edit = edit.dtype(&dtype_as_stored(dtype, layout == Some(Layout::B2ndSix)));
        }
        let resize = |finding: &Finding| finding.code() == FindingCode::InterruptedResize;
        let is_resized = before.check_header().findings.iter().any(resize);
        let refused = |error: Error| {
            // If the chunk shape is damaged, the right shape of the array does not fit: only wrong shapes fit, or no
            // shape.
            let hint = "; if the chunk shape is damaged, give the right one to `b2nd salvage --chunks`";
            let hint = Some(hint).filter(|_| is_resized && error.kind() == ErrorKind::InvalidInput);
            Problem { hint, ..error.into() }
        };
        if self.dry_run {
            return Ok(Change::of_header(before, edit.preview().map_err(refused)?, trailer.as_ref())?);
        }
        edit.apply().map_err(refused)?;
        Ok(Change::of_header(before, frame.map_reader(drop), trailer.as_ref())?)
    }

    fn change_vlmetalayers(&self, file: &Path) -> Result<Change, Problem> {
        let mut update = ArrayUpdate::open(file)?;
        let before = update.frame().clone();
        let mut layers = Vec::new();
        for name in &self.remove_vlmeta {
            if !update.remove_vlmetalayer(name) {
                return Err(Problem::new(
                    code::INVALID_INPUT,
                    no_vlmetalayer(name, &Frame::open(file)?.trailer()?),
                ));
            }
            layers.push((name.clone(), "removed".into()));
        }
        for (name, value) in &self.vlmeta {
            update.set_vlmetalayer(name, value)?;
            layers.push((name.clone(), "set".into()));
        }
        update.flush()?;
        // The file is not read again after the commit: if reading failed, the command would report a failure although
        // the change was made.
        Ok(Change { before, after: update.frame().clone(), layers })
    }
}
