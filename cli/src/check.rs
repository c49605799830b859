//! `b2nd check`: errors and warnings of frames.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::{self, Display};
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use b2nd_frame::{Code, Depth, Finding, Kind, Severity};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Args, Command};

use crate::address::{Inside, Location};
use crate::explain::Explanation;
use crate::failure::Failure;
use crate::input::{Paths, Stores, Target};
use crate::json::{Record, add_line};
use crate::mend;
use crate::output::{BOLD, Outcome, Progress, RED, YELLOW, remark, width, wrapped};
use crate::pool::Pool;
use crate::store::{StoreRecord, store_of_files, table_at};
use crate::text::{self, count};
use crate::visit::{self, View};

/// Check frames for errors and warnings
///
/// Errors: readers must reject the file. Warnings: unusual, but readable. A file that cannot be read, or is not a
/// frame, is shown as an error and counted as a failure. Standard output has a line for each finding, and the
/// command that mends a file if there is one; standard error explains the codes, as `b2nd explain` does.
///
/// Blosc2 has no checksums, so only what does not fit together is found. Damaged data, another dtype with items of the
/// same size, another shape with as many chunks, and an array in which a killed writer changed only some items leave no
/// trace. Chunks that were never written read as zeros; there are warnings of that, no-data and never-written, but some
/// arrays are meant so, and some are missed.
///
/// With --only and --ignore, the exit status is that of the findings that are left. A file that cannot be read counts as
/// a failure all the same, unless --ignore names the reason, such as not-a-frame.
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd check array.b2nd
  b2nd check --chunks copied/
  b2nd check --data copied/array.b2nd
  b2nd check --strict --ignore old-layout,high-rank data/
  b2nd check --strict --json data/ | jq -c '[.path, .error // .findings]'")]
#[expect(clippy::struct_excessive_bools, reason = "as many options")]
pub(crate) struct Check {
    #[command(flatten)]
    paths: Paths,
    /// Check the header of every chunk too
    #[arg(long)]
    chunks: bool,
    /// Decompress every chunk too
    #[arg(long)]
    data: bool,
    /// Look only for findings of these codes, and read what they need; `b2nd explain` lists them
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = code(), hide_possible_values = true)]
    only: Vec<Code>,
    /// Ignore findings of these codes
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = code(), hide_possible_values = true)]
    ignore: Vec<Code>,
    /// Exit with status 1 if there are warnings
    #[arg(long)]
    strict: bool,
    /// Print a JSON object for each frame or failure, one per line
    #[arg(long)]
    json: bool,
}

/// Parses a code. Completions offer them all.
#[derive(Clone)]
struct Codes(PossibleValuesParser);

fn code() -> impl TypedValueParser<Value = Code> {
    let names = Code::ALL.iter().map(|code| code.name());
    Codes(PossibleValuesParser::new(names)).try_map(|name| name.parse())
}

impl TypedValueParser for Codes {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        self.0.parse_ref(command, argument, value).map_err(|mut error| {
            // A similar one stays in the message, but all of them would fill the screen.
            error.insert(ContextKind::ValidValue, ContextValue::Strings(Vec::new()));
            let tip = ContextValue::StyledStrs(vec!["`b2nd explain` lists the codes".into()]);
            error.insert(ContextKind::Suggested, tip);
            error
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

/// How much of a frame must be read to find this.
fn depth(code: Code) -> Depth {
    match code {
        Code::ChunkData => Depth::ChunkData,
        Code::ChunkHeader | Code::ChunkFilters | Code::ChunkOverlap => Depth::ChunkHeaders,
        _ => Depth::Frame,
    }
}

/// The findings that are wanted.
struct Filter {
    /// All, if there is none.
    only: Vec<Code>,
    ignore: Vec<Code>,
}

impl Filter {
    fn wants(&self, code: Code) -> bool {
        (self.only.is_empty() || self.only.contains(&code)) && !self.ignore.contains(&code)
    }

    /// Removes what is not wanted. How many there were.
    fn retain(&self, findings: &mut Vec<Finding>) -> u64 {
        let all = findings.len();
        findings.retain(|finding| self.wants(finding.code()));
        (all - findings.len()) as u64
    }
}

/// The progress is shown after this many chunks.
const CHUNKS_SHOWN: u64 = 256;

/// What was found in some files.
#[derive(Default)]
struct Batch {
    files: u64,
    frames: u64,
    stores: u64,
    tables: u64,
    with_errors: u64,
    with_warnings: u64,
    failures: u64,
    ignored: u64,
    text: Vec<u8>,
    codes: BTreeSet<Code>,
    unchecked: Unchecked,
    /// Whether the chunks were not read.
    is_shallow: bool,
}

/// Frames of which not all could be checked.
#[derive(Default)]
struct Unchecked {
    frames: u64,
    /// What was not checked of the first one, and why.
    example: String,
}

impl Check {
    pub(crate) fn run(self) -> Outcome {
        let Self { paths, chunks, data, only, ignore, strict, json } = self;
        let asked = match (data, chunks) {
            (true, _) => Depth::ChunkData,
            (false, true) => Depth::ChunkHeaders,
            _ => Depth::Frame,
        };
        let depth = only.iter().map(|&code| depth(code)).fold(asked, Depth::max);
        let filter = Filter { only, ignore };
        let reads_chunks = depth > Depth::Frame;
        let pool = Pool {
            jobs: paths.jobs(),
            is_ordered: !paths.unordered,
            is_slow: reads_chunks || paths.are_remote(),
        };
        let progress = if reads_chunks { Progress::of_chunks() } else { Progress::of_files(false) };
        let progress = Mutex::new(progress);
        let show = |done| progress.lock().unwrap_or_else(PoisonError::into_inner).show(done);
        let done = AtomicU64::new(0);
        let on_chunk = || {
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(CHUNKS_SHOWN) {
                show(done);
            }
        };
        let on_chunk = Some(&on_chunk as &(dyn Fn() + Sync));
        let options = visit::Options { depth: Some(depth), on_chunk, ..visit::Options::default() };
        let work = |targets: Vec<Result<Target, Failure>>| {
            let mut batch = Batch::default();
            for target in targets {
                batch.files += 1;
                let is_table = target.as_ref().is_ok_and(|target| batch.take_store(target, &filter, json));
                // The files in the folder of a store are targets too.
                if !is_table && !target.as_ref().is_ok_and(|target| target.is_store) {
                    options.visit(target, &mut |view| batch.take(view, &filter, json));
                }
            }
            batch
        };
        let mut all = Batch { is_shallow: !reads_chunks, ..Batch::default() };
        pool.run(paths.targets(Stores::WithFiles), work, |batch| {
            all.files += batch.files;
            all.frames += batch.frames;
            all.stores += batch.stores;
            all.tables += batch.tables;
            all.with_errors += batch.with_errors;
            all.with_warnings += batch.with_warnings;
            all.failures += batch.failures;
            all.ignored += batch.ignored;
            all.codes.extend(batch.codes);
            all.unchecked.add(batch.unchecked);
            if !reads_chunks {
                show(all.files);
            }
            anstream::stdout().write_all(&batch.text)
        })?;
        drop(progress);
        if all.unchecked.frames > 0 {
            remark(&all.unchecked);
        }
        if !json {
            for &code in &all.codes {
                // Standard error may be closed.
                let _ = writeln!(anstream::stderr(), "\n{}", Explanation::from(code).to_string().trim_end());
            }
            remark(&all);
        }
        let has_failed = all.failures + all.with_errors > 0 || strict && all.with_warnings > 0;
        Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

impl Batch {
    /// Takes what is unusual about a store as a whole, or about a table in it. Whether it is such a table.
    fn take_store(&mut self, target: &Target, filter: &Filter, json: bool) -> bool {
        let is_member = matches!(target.inside, Inside::Member(_));
        let table = if is_member { table_at(target) } else { None };
        let (is_table, store) = (table.is_some(), store_of_files(target));
        let records = store.iter().flat_map(|store| StoreRecord::all(target, store));
        for mut record in records.chain(table) {
            self.ignored += filter.retain(&mut record.findings);
            *(if record.kind == Kind::CTable { &mut self.tables } else { &mut self.stores }) += 1;
            self.with_warnings += u64::from(!record.findings.is_empty());
            if json {
                add_line(&mut self.text, &record);
                continue;
            }
            for finding in &record.findings {
                self.show(&record.address.location(), finding.severity(), finding.code().name(), finding);
                self.codes.insert(finding.code());
            }
        }
        is_table
    }

    fn take(&mut self, view: Result<View<'_>, Failure>, filter: &Filter, json: bool) {
        match view {
            Ok(view) => {
                let mut findings = view.findings.to_vec();
                self.ignored += filter.retain(&mut findings);
                let view = View { findings: &findings, ..view };
                self.frames += 1;
                if !view.unchecked.is_empty() {
                    let all: Vec<String> = view.unchecked.iter().map(ToString::to_string).collect();
                    let example = format!("{}: {}", view.location, all.join("; "));
                    self.unchecked.add(Unchecked { frames: 1, example });
                }
                match view.findings.iter().map(Finding::severity).max() {
                    Some(Severity::Error) => self.with_errors += 1,
                    Some(_) => self.with_warnings += 1,
                    None => {}
                }
                let is_file = view.location.inside == Inside::Whole;
                let mend = is_file.then(|| mend::command(view.location.path, view.findings)).flatten();
                if json {
                    add_line(&mut self.text, &Record { mend, ..view.record() });
                } else {
                    for finding in view.findings {
                        self.show(&view.location, finding.severity(), finding.code().name(), finding);
                        self.codes.insert(finding.code());
                    }
                    if let Some(command) = mend {
                        // It is one line, to be copied.
                        let line = format!("{}: to mend it: {BOLD}{command}{BOLD:#}\n", view.location);
                        self.text.extend(line.bytes());
                    }
                }
            }
            // Of a file that cannot be read, nobody knows whether it has what is looked for.
            Err(failure)
                if failure
                    .error
                    .finding
                    .as_ref()
                    .is_some_and(|finding| filter.ignore.contains(&finding.code())) =>
            {
                self.ignored += 1;
            }
            Err(failure) => {
                self.failures += 1;
                if json {
                    add_line(&mut self.text, &failure);
                } else {
                    self.show(
                        &failure.address.location(),
                        Severity::Error,
                        failure.error.kind,
                        &failure.error,
                    );
                    self.codes.extend(failure.error.finding.map(|finding| finding.code()));
                }
            }
        }
    }

    fn show(&mut self, location: &Location<'_>, severity: Severity, kind: &str, what: &dyn Display) {
        let style = if severity == Severity::Error { RED } else { YELLOW };
        let what = text::clean(&what.to_string());
        let line = format!("{location}: {style}{severity}{style:#}: {kind}: {what}");
        let line = wrapped(&line, width(&io::stdout()), "    ");
        self.text.extend(line.bytes().chain(*b"\n"));
    }
}

impl Unchecked {
    fn add(&mut self, other: Self) {
        if self.frames == 0 {
            self.example = other.example;
        }
        self.frames += other.frames;
    }
}

impl Display for Unchecked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.frames > 1 {
            write!(f, "{} were not checked in full; for example ", count(self.frames, "frame"))?;
        }
        f.write_str(&self.example)
    }
}

/// The last line: how many frames there were.
impl Display for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frames, stores, tables, with_errors, with_warnings, failures, ignored, .. } = *self;
        if frames + stores + tables + failures + ignored == 0 {
            return f.write_str("no frame found");
        }
        f.write_str(&count(frames, "frame"))?;
        for (number, noun) in
            [(stores, "store"), (tables, "table")].into_iter().filter(|&(number, _)| number > 0)
        {
            write!(f, ", {}", count(number, noun))?;
        }
        match (with_errors, with_warnings) {
            (0, 0) if frames > 0 && failures == 0 => f.write_str(", no errors or warnings")?,
            (0, 0) => {}
            (0, warnings) => write!(f, ", {warnings} with warnings")?,
            (errors, 0) => write!(f, ", {errors} with errors")?,
            (errors, warnings) => write!(f, ", {errors} with errors, {warnings} with only warnings")?,
        }
        if failures > 0 {
            write!(f, ", {}", count(failures, "failure"))?;
        }
        if ignored > 0 {
            write!(f, "; {} ignored", count(ignored, "finding"))?;
        }
        // Where nothing is wrong, this may be why.
        let is_fine = frames > 0 && with_errors + with_warnings + failures == 0;
        if is_fine && self.is_shallow { f.write_str("; chunks not read (--chunks)") } else { Ok(()) }
    }
}
