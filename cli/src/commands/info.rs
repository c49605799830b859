//! `b2nd info`: everything about each array.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use b2nd_frame::CheckDepth;
use clap::{Args, ValueHint};
use serde::Serialize;

use crate::code;
use crate::input::{Failure, ShownValues, Target, View, Visit, given, given_all, store_at};
use crate::output::items::Stats;
use crate::output::json::{print, print_failure};
use crate::output::mend::{is_damage, remark_next_step, with_salvage};
use crate::output::messagepack;
use crate::output::page::{Page, painted};
use crate::output::record::Record;
use crate::output::store::{StoreRecord, table_at};
use crate::problem::Problem;
use crate::terminal::{Outcome, Progress, complain, remark};
use crate::text::clean;
use crate::waiting::while_changing;

/// Show everything about arrays except their data
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd info array.b2nd
  b2nd info --json *.b2nd | jq .vlmetalayers
  b2nd info --values labels.b2nd
  b2nd info --meta=history --json array.b2nd")]
pub(crate) struct Info {
    /// Files, sparse frames (directories), stores, `FILE:MEMBER`, `FILE@OFFSET`, URLs, or - (standard input)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Show the full values of metalayers; with NAME, write only this metalayer or vlmetalayer
    ///
    /// Without this option, each value is cut to a line, and JSON has no values longer than 64 KiB. With NAME, the
    /// bytes of the value are written, or with --json the value; it can have any size.
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, value_hint = ValueHint::Other)]
    #[expect(clippy::option_option, reason = "the type of clap for an option with an optional value")]
    meta: Option<Option<String>>,
    /// Read all items, and show the minimum, maximum, mean and standard deviation of the finite items, and the numbers
    /// of NaN, infinite and zero items
    ///
    /// The index of the first NaN is shown too. Of dates and texts, the range or the lengths are shown.
    #[arg(long)]
    stats: bool,
    /// Show --stats, and the count of each value if there are at most MOST values: for images of labels [default MOST:
    /// 256]
    #[arg(long, value_name = "MOST", num_args = 0..=1, require_equals = true, default_missing_value = "256")]
    #[arg(value_hint = ValueHint::Other)]
    values: Option<usize>,
    /// Print a JSON object for each frame, one per line
    #[arg(long)]
    json: bool,
}

impl Info {
    pub(crate) fn run(self) -> Outcome {
        let stats = self.stats || self.values.is_some();
        if let Some(Some(name)) = &self.meta {
            if stats {
                complain(
                    &"--meta=NAME writes only this metalayer: it cannot be used with --stats or --values",
                );
                return Ok(ExitCode::from(2));
            }
            return write_metalayer(&self.files, name, self.json);
        }
        let several = self.files.len() > 1;
        let mut printer = PagePrinter {
            json: self.json,
            stats,
            values: self.values,
            several,
            shown: 0,
            failures: 0,
            damaged: 0,
        };
        for address in given(self.files) {
            let target = Target::given(address);
            if !printer.stores(&target, self.meta.is_some())? {
                printer.frames(&target, self.meta.is_some())?;
            }
        }
        if printer.damaged > 0 && several && !self.json {
            remark_next_step();
        }
        Ok(if printer.failures > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Writes one metalayer or vlmetalayer of a frame to standard output: its bytes, or its value as JSON.
fn write_metalayer(files: &[PathBuf], name: &str, json: bool) -> Outcome {
    let [file] = files else {
        complain(&"--meta=NAME needs one FILE");
        return Ok(ExitCode::from(2));
    };
    if !json && io::stdout().is_terminal() {
        complain(&"--meta=NAME writes bytes, which a terminal cannot show; add --json");
        return Ok(ExitCode::from(2));
    }
    let [address] = given_all([file]);
    let value = while_changing(|| {
        let frame = address.open()?;
        let mut bytes = Vec::new();
        if let Some(layer) = frame.metalayers().iter().find(|layer| layer.name() == name) {
            bytes.extend(layer.bytes());
        } else if let Some(layer) = frame.trailer()?.vlmetalayer(name) {
            layer.write_value(&mut bytes)?;
        } else {
            let message = format!("no metalayer '{}'; `b2nd info` lists them", clean(name));
            return Err(Problem::new(code::INVALID_INPUT, message));
        }
        if !json {
            return Ok(bytes);
        }
        // The length of the text has no limit here, so this fails only if the value is nested too deeply.
        let value = messagepack::value(&bytes, usize::MAX);
        let value = value
            .map_err(|why| Problem::new(code::UNSUPPORTED, format!("metalayer {}: {why}", clean(name))))?;
        Ok([value.get().as_bytes(), b"\n"].concat())
    });
    match value {
        Ok(bytes) => io::stdout().write_all(&bytes).map(|()| ExitCode::SUCCESS),
        Err(problem) => print_failure(&address.location().failure(problem), json).map(|()| ExitCode::FAILURE),
    }
}

/// Prints the pages or JSON objects, and counts the failures.
struct PagePrinter {
    json: bool,
    stats: bool,
    /// With --values, the maximum number of different values. If an array has more, its values are not counted.
    values: Option<usize>,
    /// Whether several files were given.
    several: bool,
    /// The number of pages printed so far.
    shown: u64,
    failures: u64,
    /// The number of failures that are caused by damage.
    damaged: u64,
}

impl PagePrinter {
    /// Shows a store and the tables in it, or the failure to open the store. Returns false if the target is neither a
    /// store nor a table, so that `frames` must show it.
    fn stores(&mut self, target: &Target, whole: bool) -> io::Result<bool> {
        let store = match store_at(target) {
            Ok(store) => store,
            Err(failure) => return self.fail(failure).map(|()| true),
        };
        let mut records: Vec<_> = table_at(target).into_iter().collect();
        records.extend(store.iter().flat_map(|store| StoreRecord::all(target, store)));
        if let Some(record) = records.first_mut() {
            // The first record is about the target itself, which is a store or a table.
            record.add_from_files(target, self.shown_values(whole));
        }
        for record in &records {
            self.show(record, record)?;
        }
        Ok(!records.is_empty() || store.is_some())
    }

    /// Without --meta, a page already cuts each value to one line. So the length of the values needs a limit here only
    /// for JSON without --meta.
    fn shown_values(&self, whole: bool) -> ShownValues {
        if whole || !self.json { ShownValues::All } else { ShownValues::Short }
    }

    fn frames(&mut self, target: &Target, whole: bool) -> io::Result<()> {
        let values = self.shown_values(whole);
        let visit = Visit { depth: Some(CheckDepth::Frame), unowned: true, values, ..Visit::default() };
        let (mut is_silent, mut written) = (true, Ok(()));
        visit.target(target, &mut |view| {
            is_silent = false;
            let shown = match view {
                // If standard output has failed, no more frames are printed.
                Ok(_) if written.is_err() => return,
                Ok(view) => {
                    let with_path = self.several || view.location.member().is_some();
                    let stats = match self.read_stats(view) {
                        Ok(stats) => stats,
                        Err(error) => {
                            written = Err(error);
                            return;
                        }
                    };
                    let record = Record { stats: stats.as_ref(), ..Record::new(view) };
                    let page = Page { view, stats: stats.as_ref(), with_path, whole };
                    self.show(&record, &page)
                }
                Err(failure) => self.fail(failure),
            };
            if written.is_ok() {
                written = shown;
            }
        });
        if is_silent {
            remark(&format_args!("{}: no frame found", target.location()));
        }
        written
    }

    /// With --stats, the statistics of the items. If the items cannot be read, prints the failure, and returns `None`.
    fn read_stats(&mut self, view: View<'_>) -> io::Result<Option<Stats>> {
        if !self.stats || view.shape().is_none() {
            return Ok(None);
        }
        let mut progress = Progress::of_bytes_so_far(self.shown == 0);
        match Stats::at(view.location, None, self.values, &mut |nbytes| progress.show(nbytes)) {
            Ok(stats) => Ok(stats),
            Err(failure) => {
                drop(progress);
                self.fail(failure).map(|()| None)
            }
        }
    }

    /// Prints a JSON object, or a page. An empty line separates pages.
    fn show(&mut self, object: &impl Serialize, page: &impl Display) -> io::Result<()> {
        if self.json {
            return print(object);
        }
        let separator = if self.shown > 0 { "\n" } else { "" };
        self.shown += 1;
        anstream::stdout().write_all(painted(&format!("{separator}{page}")).as_bytes())
    }

    fn fail(&mut self, failure: Failure) -> io::Result<()> {
        self.failures += 1;
        self.damaged += u64::from(is_damage(&failure));
        let failure = if self.several { failure } else { with_salvage(failure) };
        print_failure(&failure, self.json)
    }
}
