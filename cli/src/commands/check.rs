//! `b2nd check`: errors and warnings of frames.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::{self, Display};
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use b2nd_frame::{CheckDepth, Finding, FindingCode, ObjectKind, Severity};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Args, Command};

use crate::input::{Failure, Found, Inside, Location, Paths, Stores, Target, View, Visit, store_of_files};
use crate::output::explanation::Explanation;
use crate::output::json::add_line;
use crate::output::mend;
use crate::output::record::Record;
use crate::output::store::{StoreRecord, table_at};
use crate::pool::lock;
use crate::terminal::{BOLD, Outcome, Progress, remark, severity_style, width, wrapped};
use crate::text::{clean, count, more_counts};

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
#[command(aliases = ["verify", "validate", "fsck"])]
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
    only: Vec<FindingCode>,
    /// Ignore findings of these codes
    #[arg(long, value_name = "CODE", value_delimiter = ',', value_parser = code(), hide_possible_values = true)]
    ignore: Vec<FindingCode>,
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

fn code() -> impl TypedValueParser<Value = FindingCode> {
    let names = FindingCode::ALL.iter().map(|code| code.name());
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

/// The findings that are wanted.
struct Wanted {
    /// The codes to report; all codes if empty.
    only: Vec<FindingCode>,
    ignore: Vec<FindingCode>,
}

impl Wanted {
    fn has(&self, code: FindingCode) -> bool {
        (self.only.is_empty() || self.only.contains(&code)) && !self.ignore.contains(&code)
    }

    /// Removes what is not wanted. How many there were.
    fn retain(&self, findings: &mut Vec<Finding>) -> u64 {
        let all = findings.len();
        findings.retain(|finding| self.has(finding.code()));
        (all - findings.len()) as u64
    }
}

/// The progress is shown after this many chunks.
const CHUNKS_SHOWN: u64 = 256;

impl Check {
    pub(crate) fn run(self) -> Outcome {
        let Self { paths, chunks, data, only, ignore, strict, json } = self;
        let asked = match (data, chunks) {
            (true, _) => CheckDepth::ChunkData,
            (false, true) => CheckDepth::ChunkHeaders,
            _ => CheckDepth::Frame,
        };
        let depth = only.iter().map(|code| code.depth()).fold(asked, CheckDepth::max);
        let wanted = Wanted { only, ignore };
        let reads_chunks = depth > CheckDepth::Frame;
        let progress = if reads_chunks { Progress::of_chunks() } else { Progress::of_files(false) };
        let progress = Mutex::new(progress);
        let done = AtomicU64::new(0);
        let on_chunk = || {
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if done.is_multiple_of(CHUNKS_SHOWN) {
                lock(&progress).show(done);
            }
        };
        let visit = Visit { depth: Some(depth), on_chunk: Some(&on_chunk), ..Visit::default() };
        let work = |targets: Vec<Found>| {
            let mut batch =
                Batch { wanted: &wanted, json, depth, text: Vec::new(), checked: Checked::default() };
            for target in targets {
                batch.visit(target, visit);
            }
            batch
        };
        let mut all = Checked::default();
        paths.visit(Stores::WithFiles, reads_chunks, work, |batch| {
            all.add(batch.checked);
            if !reads_chunks {
                lock(&progress).show(all.files);
            }
            anstream::stdout().write_all(&batch.text)
        })?;
        drop(progress);
        all.tell(json, depth);
        let has_failed = all.failures + all.with_errors > 0 || strict && all.with_warnings > 0;
        Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// What was found in some files.
struct Batch<'w> {
    wanted: &'w Wanted,
    json: bool,
    depth: CheckDepth,
    text: Vec<u8>,
    checked: Checked,
}

impl Batch<'_> {
    fn visit(&mut self, target: Found, visit: Visit<'_>) {
        self.checked.files += 1;
        let is_table = target.as_ref().is_ok_and(|target| self.take_store(target));
        // The files in the folder of a store are targets too.
        if !is_table && !target.as_ref().is_ok_and(|target| target.is_store) {
            visit.found(target, &mut |view| match view {
                Ok(view) => self.take(view),
                Err(failure) => self.fail(&failure),
            });
        }
    }

    /// Takes what is unusual about a store as a whole, or about a table in it. Whether it is such a table.
    fn take_store(&mut self, target: &Target) -> bool {
        let is_member = matches!(target.inside, Inside::Member(_));
        let table = if is_member { table_at(target) } else { None };
        let (is_table, store) = (table.is_some(), store_of_files(target));
        let records = store.iter().flat_map(|store| StoreRecord::all(target, store));
        for mut record in records.chain(table) {
            let all = &mut self.checked;
            all.ignored += self.wanted.retain(&mut record.findings);
            *(if record.kind == ObjectKind::CTable { &mut all.tables } else { &mut all.stores }) += 1;
            all.with_warnings += u64::from(!record.findings.is_empty());
            if self.json {
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
        all.ignored += self.wanted.retain(&mut findings);
        if !view.skipped.is_empty() {
            let reasons: Vec<String> = view.skipped.iter().map(ToString::to_string).collect();
            let example = format!("{}: {}", view.location, reasons.join("; "));
            all.partly.add(PartlyChecked { frames: 1, example });
        }
        match findings.iter().map(Finding::severity).max() {
            Some(Severity::Error) => all.with_errors += 1,
            Some(_) => all.with_warnings += 1,
            None => {}
        }
        let is_file = view.location.inside == Inside::Whole;
        let mend = is_file.then(|| mend::command(view.location.path, &findings, self.depth)).flatten();
        if self.json {
            let view = View { findings: &findings, ..view };
            return add_line(&mut self.text, &Record { mend, ..Record::of(view) });
        }
        self.show_all(view.location, &findings);
        if let Some(command) = mend {
            // It is one line, to be copied.
            let line = format!("{}: to mend it: {BOLD}{command}{BOLD:#}\n", view.location);
            self.text.extend(line.bytes());
        }
    }

    fn fail(&mut self, failure: &Failure) {
        let code = failure.error.finding.as_ref().map(|finding| finding.code());
        // An unreadable file fails whatever `--only` asks for: it could have such a finding.
        if code.is_some_and(|code| self.wanted.ignore.contains(&code)) {
            self.checked.ignored += 1;
            return;
        }
        self.checked.failures += 1;
        if self.json {
            return add_line(&mut self.text, failure);
        }
        self.show(failure.address.location(), Severity::Error, failure.error.code, &failure.error);
        self.checked.codes.extend(code);
    }

    fn show_all(&mut self, location: Location<'_>, findings: &[Finding]) {
        for finding in findings {
            self.show(location, finding.severity(), finding.code().name(), finding);
            self.checked.codes.insert(finding.code());
        }
    }

    fn show(&mut self, location: Location<'_>, severity: Severity, code: &str, what: &dyn Display) {
        let style = severity_style(severity);
        let what = clean(&what.to_string());
        let line = format!("{location}: {style}{severity}{style:#}: {code}: {what}");
        let line = wrapped(&line, width(&io::stdout()), "    ");
        self.text.extend(line.bytes().chain(*b"\n"));
    }
}

/// How many there were of each, and the codes that were shown.
#[derive(Default)]
struct Checked {
    files: u64,
    frames: u64,
    stores: u64,
    tables: u64,
    with_errors: u64,
    with_warnings: u64,
    failures: u64,
    ignored: u64,
    codes: BTreeSet<FindingCode>,
    partly: PartlyChecked,
}

impl Checked {
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.frames += other.frames;
        self.stores += other.stores;
        self.tables += other.tables;
        self.with_errors += other.with_errors;
        self.with_warnings += other.with_warnings;
        self.failures += other.failures;
        self.ignored += other.ignored;
        self.codes.extend(other.codes);
        self.partly.add(other.partly);
    }

    /// Explains the codes that were shown, and says how many frames there were.
    fn tell(&self, json: bool, depth: CheckDepth) {
        if self.partly.frames > 0 {
            remark(&self.partly);
        }
        if json {
            return;
        }
        for &code in &self.codes {
            // Standard error may be closed.
            let _ = writeln!(anstream::stderr(), "\n{}", Explanation::from(code).to_string().trim_end());
        }
        // Where nothing is wrong, this may be why.
        let is_fine = self.frames > 0 && self.with_errors + self.with_warnings + self.failures == 0;
        let hint = match depth {
            _ if !is_fine => "",
            CheckDepth::Frame => "; chunks not read (--chunks)",
            CheckDepth::ChunkHeaders => "",
            _ => "; Blosc2 has no checksums, so not every change of the data is found",
        };
        remark(&format_args!("{self}{hint}"));
    }
}

impl Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frames, stores, tables, with_errors, with_warnings, failures, ignored, .. } = *self;
        if frames + stores + tables + failures + ignored == 0 {
            return f.write_str("no frame found");
        }
        f.write_str(&count(frames, "frame"))?;
        f.write_str(&more_counts(&[(stores, "store"), (tables, "table")]))?;
        match (with_errors, with_warnings) {
            (0, 0) if frames > 0 && failures + self.partly.frames == 0 => {
                f.write_str(", no errors or warnings")?;
            }
            (0, 0) => {}
            (0, warnings) => write!(f, ", {warnings} with warnings")?,
            (errors, 0) => write!(f, ", {errors} with errors")?,
            (errors, warnings) => write!(f, ", {errors} with errors, {warnings} with only warnings")?,
        }
        if self.partly.frames > 0 {
            write!(f, ", {} not checked in full", self.partly.frames)?;
        }
        f.write_str(&more_counts(&[(failures, "failure")]))?;
        if ignored > 0 {
            write!(f, "; {} ignored", count(ignored, "finding"))?;
        }
        Ok(())
    }
}

/// The number of frames that were not checked in full, with an example.
#[derive(Default)]
struct PartlyChecked {
    frames: u64,
    /// What was not checked of the first one, and why.
    example: String,
}

impl PartlyChecked {
    fn add(&mut self, other: Self) {
        if self.frames == 0 {
            self.example = other.example;
        }
        self.frames += other.frames;
    }
}

impl Display for PartlyChecked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.frames > 1 {
            write!(f, "{} were not checked in full; for example ", count(self.frames, "frame"))?;
        }
        f.write_str(&self.example)
    }
}
