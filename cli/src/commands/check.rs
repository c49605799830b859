//! `b2nd check`: errors and warnings of frames.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;
use std::slice;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use b2nd_frame::{CheckDepth, Finding, FindingCode, ObjectKind, Severity};
use clap::Args;
use clap::builder::TypedValueParser;
use serde::Serialize;

use crate::input::{
    Failure, Found, Location, Offered, Paths, Stores, Target, View, Visit, store_of_files, visit_table,
};
use crate::output::checked::{Checked, Ending};
use crate::output::json::add_line;
use crate::output::mend::{Mend, mend};
use crate::output::record::Record;
use crate::output::store::{StoreRecord, table_at};
use crate::pool::{PassPart, lock};
use crate::terminal::{BOLD, Outcome, Progress, severity_style, width, wrapped};
use crate::text::clean;

/// Check frames for errors and warnings
///
/// Errors: readers must reject the file. Warnings: unusual, but readable. A file that cannot be read, or is not a
/// frame, is shown as an error and counted as a failure. Standard output has a line for each finding, and the
/// command that mends a file if there is one; standard error explains the codes, as `b2nd explain` does.
///
/// Blosc2 has no checksums, so only inconsistencies are found. Some faults leave no trace: damaged data, a wrong dtype
/// with the same item size, a wrong shape with the same number of chunks, and an array in which a killed writer changed
/// only some items. A page of zeros that a disk left in compressed data is found with --data. Chunks that were never
/// written read as zeros. The warnings no-data and never-written report arrays that probably have such chunks. But some
/// of these arrays are intended, and some unwritten chunks are not found.
///
/// With --only and --ignore, only the remaining findings determine the exit status. A file that cannot be read still
/// counts as a failure, unless --ignore names the reason, such as not-a-frame.
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd check array.b2nd
  b2nd check --chunks copied/
  b2nd check --data copied/array.b2nd
  b2nd check --strict --ignore old-layout,high-rank data/
  b2nd check --summary data/
  b2nd check --strict --json data/ | jq -c '[.path, .error // .findings]'")]
pub(crate) struct Check {
    #[command(flatten)]
    paths: Paths,
    #[command(flatten)]
    options: Options,
}

/// The depth of a check, and its output.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "one field per option")]
struct Options {
    /// Check the header of every chunk too
    #[arg(long)]
    chunks: bool,
    /// Decompress every chunk too
    #[arg(long)]
    data: bool,
    /// Report only findings with these codes, and read as much of each file as they require; `b2nd explain` lists the
    /// codes
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = code(), hide_possible_values = true)]
    only: Vec<FindingCode>,
    /// Ignore findings of these codes
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = code(), hide_possible_values = true)]
    ignore: Vec<FindingCode>,
    /// Exit with status 1 if there are warnings, or parts that cannot be checked
    #[arg(long)]
    strict: bool,
    /// Print findings without the explanation of their codes
    #[arg(short, long)]
    quiet: bool,
    /// Print the number of frames with each code instead of the findings
    #[arg(long)]
    summary: bool,
    /// Print a JSON object for each frame or failure, one per line
    #[arg(long)]
    json: bool,
}

/// Parses a finding code. Completions offer all codes.
fn code() -> impl TypedValueParser<Value = FindingCode> {
    let names = FindingCode::ALL.iter().map(|code| code.name());
    Offered(names.collect()).try_map(|name| {
        let code = name.parse::<FindingCode>();
        code.map_err(|error| format!("{error}; `b2nd explain` lists the codes; failures are not findings"))
    })
}

impl Options {
    /// The depth that --chunks and --data ask for, or a greater one if a code of --only requires it.
    fn depth(&self) -> CheckDepth {
        let asked = match (self.data, self.chunks) {
            (true, _) => CheckDepth::ChunkData,
            (false, true) => CheckDepth::ChunkHeaders,
            _ => CheckDepth::Frame,
        };
        self.only.iter().map(|code| code.depth()).fold(asked, CheckDepth::max)
    }

    /// Removes all findings that --only and --ignore exclude. Returns the number of removed findings.
    fn retain(&self, findings: &mut Vec<Finding>) -> u64 {
        let all = findings.len();
        findings.retain(|finding| {
            let code = finding.code();
            (self.only.is_empty() || self.only.contains(&code)) && !self.ignore.contains(&code)
        });
        (all - findings.len()) as u64
    }
}

/// The number of chunks between two updates of the progress display. The display is not updated for every chunk,
/// because each update takes a lock.
const CHUNKS_SHOWN: u64 = 256;

impl Check {
    pub(crate) fn run(self) -> Outcome {
        let Self { paths, options } = self;
        let ending = match (options.summary, options.quiet) {
            (true, _) => Ending::Summary,
            (_, true) => Ending::Totals,
            _ => Ending::Explained,
        };
        let depth = options.depth();
        let reads_chunks = depth > CheckDepth::Frame;
        let progress = if reads_chunks { Progress::of_chunks() } else { Progress::of_files(false) };
        let progress = Mutex::new(progress);
        let done = AtomicU64::new(0);
        let on_chunk = || {
            // `Relaxed` is enough, because the number is only used for the progress display.
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(CHUNKS_SHOWN) {
                lock(&progress).show(done);
            }
        };
        let visit = Visit {
            depth: Some(depth),
            threads: paths.threads_per_file(),
            embedded: true,
            on_chunk: Some(&on_chunk),
            ..Visit::default()
        };
        let work = |targets: Vec<Found>, _: &mut PassPart<'_, _>| {
            let (text, checked) = (Vec::new(), Checked::default());
            let mut batch = CheckBatch { options: &options, depth, text, checked };
            for target in targets {
                batch.visit(target, visit);
            }
            batch
        };
        let mut all = Checked::default();
        // `Stores::WithFiles` visits a store and then each of its files, because the store and the files can have
        // different findings.
        paths.visit(Stores::WithFiles, reads_chunks, work, |batch| {
            all.add(batch.checked);
            if !reads_chunks {
                lock(&progress).show(all.files);
            }
            anstream::stdout().write_all(&batch.text)
        })?;
        // Removes the progress display from the screen before the totals are printed.
        drop(progress);
        all.print_ending(ending, options.json, depth)?;
        let has_failed = all.failures + all.with_errors > 0
            || all.is_empty()
            || options.strict && all.with_warnings + all.partly > 0;
        Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// A failure, and the command that mends its file, if such a command exists.
#[derive(Serialize)]
struct MendableFailure<'f> {
    #[serde(flatten)]
    failure: &'f Failure,
    #[serde(skip_serializing_if = "Option::is_none")]
    mend: Option<String>,
}

/// The findings and counts of a batch of files.
struct CheckBatch<'o> {
    options: &'o Options,
    depth: CheckDepth,
    text: Vec<u8>,
    checked: Checked,
}

impl CheckBatch<'_> {
    fn visit(&mut self, target: Found, visit: Visit<'_>) {
        self.checked.files += 1;
        let is_table = target.as_ref().is_ok_and(|target| self.take_store(target));
        let mut receive = |view: Result<View<'_>, Failure>| match view {
            Ok(view) => self.take(view),
            Err(failure) => self.fail(&failure),
        };
        match target {
            Ok(table) if is_table => visit_table(&table, visit, &mut receive),
            // Nothing is left to do for the folder of a store: `take_store` has added the findings about the store, and
            // each file in the folder is a separate target.
            Ok(store) if store.is_store => {}
            target => visit.found(target, &mut receive),
        }
    }

    /// If the target is a store, adds the findings about the store and its tables. If the target is a table that is
    /// named as a member of a store, adds the findings about the table. Returns whether the target is such a table.
    fn take_store(&mut self, target: &Target) -> bool {
        let is_member = target.location().member().is_some();
        let table = if is_member { table_at(target) } else { None };
        let (is_table, store) = (table.is_some(), store_of_files(target));
        let records = store.iter().flat_map(|store| StoreRecord::all(target, store));
        for mut record in records.chain(table) {
            let all = &mut self.checked;
            all.ignored += self.options.retain(&mut record.findings);
            *(if record.kind == ObjectKind::CTable { &mut all.tables } else { &mut all.stores }) += 1;
            all.add_findings(&record.findings);
            if self.options.summary {
                continue;
            }
            if self.options.json {
                add_line(&mut self.text, &record);
            } else {
                self.show_all(record.address.location(), &record.findings);
            }
        }
        is_table
    }

    fn take(&mut self, view: View<'_>) {
        let mut findings = view.findings.to_vec();
        let all = &mut self.checked;
        all.frames += 1;
        all.ignored += self.options.retain(&mut findings);
        if !view.skipped.is_empty() {
            let reasons: Vec<String> = view.skipped.iter().map(ToString::to_string).collect();
            let example = format!("{}: {}", view.location, reasons.join("; "));
            all.add_partly(example);
        }
        all.add_findings(&findings);
        if self.options.summary {
            return;
        }
        let mend = mend(view.location, &findings, self.depth);
        if self.options.json {
            let view = View { findings: &findings, ..view };
            let mend = mend.and_then(Mend::command);
            return add_line(&mut self.text, &Record { mend, ..Record::new(view) });
        }
        self.show_all(view.location, &findings);
        self.show_mend(view.location, mend);
    }

    fn show_mend(&mut self, location: Location<'_>, mend: Option<Mend>) {
        let line = match mend {
            // This line is not wrapped, so that the user can copy the command.
            Some(Mend::Command(command)) => format!("{location}: to mend it: {BOLD}{command}{BOLD:#}\n"),
            Some(Mend::Advice(advice)) => {
                wrapped(&format!("{location}: what to do: {advice}"), width(&io::stdout()), "    ") + "\n"
            }
            None => return,
        };
        self.text.extend(line.bytes());
    }

    fn fail(&mut self, failure: &Failure) {
        let code = failure.error.finding.as_ref().map(|finding| finding.code());
        // If `--ignore` contains the code of the failure, the file does not count as a failure. `--only` changes
        // nothing here: an unreadable file could have one of the findings that `--only` requests.
        if code.is_some_and(|code| self.options.ignore.contains(&code)) {
            self.checked.ignored += 1;
            return;
        }
        self.checked.add_failure(failure);
        if self.options.summary {
            return;
        }
        let location = failure.address.location();
        let finding = failure.error.finding.as_deref();
        let mend = finding.and_then(|why| mend(location, slice::from_ref(why), self.depth));
        if self.options.json {
            let mend = mend.and_then(Mend::command);
            return add_line(&mut self.text, &MendableFailure { failure, mend });
        }
        self.show(location, Severity::Error, failure.error.code, &failure.error);
        self.show_mend(location, mend);
    }

    fn show_all(&mut self, location: Location<'_>, findings: &[Finding]) {
        for finding in findings {
            self.show(location, finding.severity(), finding.code().name(), finding);
        }
    }

    fn show(&mut self, location: Location<'_>, severity: Severity, code: &str, what: &dyn Display) {
        let style = severity_style(severity);
        // Messages quote names from the file. Such a name can contain characters that are not safe to print, so `clean`
        // replaces them.
        let what = clean(&what.to_string());
        let line = format!("{location}: {style}{severity}{style:#}: {code}: {what}");
        let line = wrapped(&line, width(&io::stdout()), "    ");
        self.text.extend(line.bytes().chain(*b"\n"));
    }
}
