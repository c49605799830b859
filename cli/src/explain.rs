//! `b2nd explain`: what the code of a finding or a failure means, and what to do.

use std::fmt::{self, Display};
use std::io::{self, Write};
use std::process::ExitCode;

use b2nd_frame::Code;
use clap::Args;
use serde::Serialize;

use crate::encode::Offered;
use crate::json::line;
use crate::output::{BOLD, Outcome, RED, YELLOW, complain, width};
use crate::table::{Columns, Side, shortened};
use crate::text::clean;

/// Explain what the code of a finding or failure means, its cause, and what to do
///
/// The codes are those that `check`, `ls` and `info` show. Without a code, all are listed.
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd explain interrupted-resize
  b2nd explain --json | jq -r 'select(.severity == \"error\") | .code'")]
pub(crate) struct Explain {
    /// Codes to explain, such as old-layout
    #[arg(value_name = "CODE", value_parser = Offered(names()), hide_possible_values = true)]
    codes: Vec<String>,
    /// Print a JSON object for each code, one per line
    #[arg(long)]
    json: bool,
}

/// What a code means. Scripts rely on these names.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Explanation {
    code: &'static str,
    /// `error`, `warning`, or `failure`: nothing is known of the frame.
    severity: &'static str,
    meaning: &'static str,
    cause: &'static str,
    advice: &'static str,
}

/// Why something failed, where it is not a finding.
const FAILURES: [Explanation; 14] = [
    failure(
        "io",
        "A file or folder cannot be read or written. The message is that of the system.",
        "It does not exist, belongs to somebody else, or is on a disk or network that fails.",
        "Check the path and its permissions.",
    ),
    failure(
        "compressed-member",
        "The member of a zip file is compressed, so that its frame cannot be read in place.",
        "The zip file was made by another program: those of Blosc2 are not compressed again.",
        "Extract the member, or make the zip file without compression: `zip -0`.",
    ),
    failure(
        "malformed",
        "The bytes are not a frame or a metalayer, where the message says so.",
        "They are cut off or damaged, or are something else.",
        "`b2nd dump` shows the first wrong byte.",
    ),
    failure(
        "decode",
        "The value of a metalayer or chunk cannot be read or decompressed.",
        "Its bytes are damaged, or it is longer than its compressed bytes allow.",
        "Restore the file from another copy. Shape and dtype can be read all the same.",
    ),
    failure(
        "changing",
        "The file was changed while it was read.",
        "A writer is at work.",
        "Try again when it is done.",
    ),
    failure(
        "locked",
        "Another process holds the lock of the frame.",
        "A program that uses locks is writing the frame, or has it open.",
        "Try again when it is done.",
    ),
    failure(
        "refused",
        "This cannot be done with this file. Nothing was written.",
        "The message says which rule forbids it.",
        "Follow the message: another value, or another command.",
    ),
    failure(
        "exists",
        "The path of the new file already exists.",
        "Another file has the name.",
        "Give another path.",
    ),
    failure(
        "stopped",
        "The work was stopped before its end. Nothing of a new file is left.",
        "Ctrl-C, or a signal to end.",
        "Start it again.",
    ),
    failure(
        "missing",
        "There is no object at the URL.",
        "The key is another one, it is a prefix, or the object was removed.",
        "`b2nd ls` lists what is below a prefix.",
    ),
    failure(
        "no-bucket",
        "There is no such bucket or container in the object store.",
        "Its name, the endpoint or the account is another one.",
        "Check the URL, and the variables of the environment with the endpoint and the account.",
    ),
    failure(
        "no-access",
        "The server does not let this user read it.",
        "The credentials are missing, wrong or too old, or are not for this bucket.",
        "Set those that the message names.",
    ),
    failure(
        "throttled",
        "The server asks for fewer requests, also after it was asked again.",
        "There are too many at a time, from here or from elsewhere.",
        "Try again later, or with fewer at a time: `-j 8`.",
    ),
    failure(
        "partial-listing",
        "Not all that is below a prefix was listed.",
        "The server failed, and the message says how.",
        "Try again; what was listed is right, but not all.",
    ),
];

const fn failure(
    code: &'static str,
    meaning: &'static str,
    cause: &'static str,
    advice: &'static str,
) -> Explanation {
    Explanation { code, severity: "failure", meaning, cause, advice }
}

impl From<Code> for Explanation {
    fn from(code: Code) -> Self {
        Self {
            code: code.name(),
            severity: code.severity().name(),
            meaning: code.meaning(),
            cause: code.cause(),
            advice: code.advice(),
        }
    }
}

fn all() -> impl Iterator<Item = Explanation> {
    Code::ALL.iter().map(|&code| code.into()).chain(FAILURES)
}

fn names() -> Vec<&'static str> {
    all().map(|explanation| explanation.code).collect()
}

impl Explain {
    pub(crate) fn run(self) -> Outcome {
        if let Some(unknown) = self.codes.iter().find(|code| !names().contains(&code.as_str())) {
            complain(&format_args!("there is no code '{}'; `b2nd explain` lists all", clean(unknown)));
            return Ok(2.into());
        }
        let is_wanted =
            |code: &Explanation| self.codes.is_empty() || self.codes.iter().any(|name| name == code.code);
        let wanted: Vec<Explanation> = all().filter(is_wanted).collect();
        if self.json {
            io::stdout().write_all(&wanted.iter().flat_map(line).collect::<Vec<u8>>())?;
        } else if self.codes.is_empty() {
            anstream::stdout().write_all(list(&wanted).as_bytes())?;
        } else {
            let pages: Vec<String> = wanted.iter().map(ToString::to_string).collect();
            anstream::stdout().write_all(pages.join("\n").as_bytes())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The narrowest terminal that has room for meanings.
const WITH_MEANINGS: usize = 60;

/// A line for each code, with the first sentence of its meaning. At a terminal it is cut at the end of the line, or left
/// out if little of it would be seen.
fn list(explanations: &[Explanation]) -> String {
    let width = width(&io::stdout());
    let is_narrow = width.is_some_and(|width| width < WITH_MEANINGS);
    let rows = explanations.iter().map(|row| {
        let meaning = row.meaning.split_once(". ").map_or(row.meaning, |(first, _)| first);
        let meaning = if is_narrow { "" } else { meaning };
        [row.code.into(), row.severity.into(), meaning.trim_end_matches('.').into()]
    });
    let rows: Vec<[String; 3]> = rows.collect();
    let mut columns = Columns::new([Side::Left; 3], [usize::MAX, usize::MAX, 0]);
    for row in &rows {
        columns.fit(row);
    }
    rows.iter()
        .map(|row| {
            let line = columns.line(row);
            width.map_or(line.clone(), |width| shortened(&line, width)) + "\n"
        })
        .collect()
}

/// A page of some lines: the code, what it means, its cause, and what to do.
impl Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, severity, meaning, cause, advice } = self;
        let style = if *severity == "warning" { YELLOW } else { RED };
        writeln!(f, "{BOLD}{code}{BOLD:#} ({style}{severity}{style:#})")?;
        let options = textwrap::Options::new(textwrap::termwidth().min(80));
        let options = options.initial_indent("    ").subsequent_indent("    ");
        // Names such as C-Blosc2 stay whole.
        let options = options.word_splitter(textwrap::WordSplitter::NoHyphenation);
        for text in [(*meaning).into(), format!("Cause: {cause}"), format!("What to do: {advice}")] {
            writeln!(f, "{}", textwrap::fill(&text, &options))?;
        }
        Ok(())
    }
}
