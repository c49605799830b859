//! The explanation of a code: its meaning, its cause and the advice.

use std::fmt::{self, Display};

use b2nd_frame::{FindingCode, Remedy};
use serde::Serialize;

use crate::code;
use crate::terminal::{BOLD, RED, YELLOW};

/// The explanation of a code. Scripts rely on the names of these fields.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Explanation {
    pub(crate) code: &'static str,
    /// `error`, `warning`, or `failure` for an error that is not a finding.
    pub(crate) severity: &'static str,
    pub(crate) meaning: &'static str,
    cause: &'static str,
    advice: &'static str,
    /// The command that mends the file; `None` if there is no such command.
    remedy: Option<&'static str>,
}

/// The failures that are not findings.
const FAILURES: [Explanation; 18] = [
    failure(
        code::IO,
        "A file or folder cannot be read or written. Most messages come from the operating system.",
        "The path does not exist, belongs to another user, or is on a failing disk or network.",
        "Check the path and its permissions.",
    ),
    failure(
        code::COMPRESSED_MEMBER,
        "The member of a zip file is compressed, so that its frame cannot be read in place.",
        "Another program made the zip file: python-blosc2 stores members uncompressed.",
        "Extract the member, or make the zip file without compression: `zip -0`.",
    ),
    failure(
        code::MALFORMED,
        "The bytes are not a valid frame or metalayer. The message says where and why.",
        "The bytes are cut off or damaged, or have another format.",
        "`b2nd dump` shows the first wrong byte.",
    ),
    failure(
        code::DECODE,
        "The value of a metalayer or chunk cannot be read or decompressed.",
        "Its bytes are damaged, or its decompressed size exceeds the expansion limit.",
        "Restore the file from another copy. The shape and dtype can still be read.",
    ),
    failure(
        code::CHANGING,
        "The file was changed while it was read.",
        "A writer is at work.",
        "Try again when it is done.",
    ),
    failure(
        code::LOCKED,
        "Another process holds the lock of the frame.",
        "A program that uses locks is writing the frame, or has it open.",
        "Try again when it is done.",
    ),
    failure(
        code::INVALID_INPUT,
        "A value does not fit this file or the format. Nothing was written.",
        "The message says which rule forbids it.",
        "Follow the message: another value, or another command.",
    ),
    failure(
        code::UNSUPPORTED,
        "This program cannot do this with this file. Nothing was written.",
        "The chunks need a Blosc2 plugin, the items are Python objects or elsewhere, or the frame has no array.",
        "Use another program, such as python-blosc2.",
    ),
    failure(
        code::TOO_LARGE,
        "The operation exceeds the memory, or a limit of this program or the format. Nothing was written.",
        "The array or the slice is large, or a few damaged bytes claim that it is.",
        "Ask for a smaller slice. If the file should be small, check it: `b2nd check --data`.",
    ),
    failure(
        code::ARRAY_UNKNOWN,
        "A salvage cannot find out the shape, the chunks, the blocks or the dtype of the array.",
        "The array's metalayer is lost or damaged.",
        "Give what is missing or wrong: `b2nd salvage` with --shape, --chunks, --blocks or --dtype.",
    ),
    failure(
        code::ORDER_UNKNOWN,
        "A salvage finds chunks, but not their positions in the array.",
        "The chunk index is lost, as in a file that is cut off, or the shape is wrong.",
        "If the shape is right, save the chunks in the order of the file: `b2nd salvage --assume-order`.",
    ),
    failure(
        code::EXISTS,
        "The path of the new file already exists.",
        "Another file has this name.",
        "Give another path.",
    ),
    failure(
        code::STOPPED,
        "The command was interrupted. An unfinished new file was removed.",
        "Ctrl-C, or a signal that terminates the process.",
        "Start the command again.",
    ),
    failure(
        code::MISSING,
        "There is no object at the URL.",
        "The key is misspelled or is a prefix, or the object was removed.",
        "`b2nd ls` lists the objects below a prefix.",
    ),
    failure(
        code::NO_BUCKET,
        "There is no such bucket or container in the object store.",
        "The name, the endpoint or the account is wrong.",
        "Check the URL, and the environment variables for the endpoint and the account.",
    ),
    failure(
        code::NO_ACCESS,
        "The server does not let this user read the object or list the prefix.",
        "The credentials are missing, wrong or too old, or are not for this bucket.",
        "Set the credentials that the message names.",
    ),
    failure(
        code::THROTTLED,
        "The server still limits the request rate after retries.",
        "Too many requests run at the same time, from this command or from others.",
        "Try again later, or with fewer requests at a time: `-j 8`.",
    ),
    failure(
        code::PARTIAL_LISTING,
        "The listing of a prefix is incomplete.",
        "The server failed, and the message says how.",
        "Try again. The listed part is correct.",
    ),
];

const fn failure(
    code: &'static str,
    meaning: &'static str,
    cause: &'static str,
    advice: &'static str,
) -> Explanation {
    Explanation { code, severity: "failure", meaning, cause, advice, remedy: None }
}

impl From<FindingCode> for Explanation {
    fn from(code: FindingCode) -> Self {
        Self {
            code: code.name(),
            severity: code.severity().name(),
            meaning: code.meaning(),
            cause: code.cause(),
            advice: code.advice(),
            remedy: match code.remedy() {
                Some(Remedy::Rewrite) => Some("rewrite"),
                Some(Remedy::Edit) => Some("set"),
                Some(Remedy::Salvage) => Some("salvage"),
                _ => None,
            },
        }
    }
}

impl Explanation {
    /// The text about a code. Its last line names the command that mends the file, if there is such a command.
    pub(crate) fn page(&self) -> String {
        let mended = self.remedy.map(|command| format!("    Mended by: b2nd {command}\n"));
        format!("{self}{}", mended.unwrap_or_default())
    }
}

pub(crate) fn all() -> impl Iterator<Item = Explanation> {
    FindingCode::ALL.iter().map(|&code| code.into()).chain(FAILURES)
}

pub(crate) fn names() -> Vec<&'static str> {
    all().map(|explanation| explanation.code).collect()
}

/// A line with the code, and then a paragraph each for its meaning, its cause and the advice.
impl Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, severity, meaning, cause, advice, remedy: _ } = self;
        let style = if *severity == "warning" { YELLOW } else { RED };
        writeln!(f, "{BOLD}{code}{BOLD:#} ({style}{severity}{style:#})")?;
        // Lines have at most 80 columns, even if the terminal is wider, because very wide lines are hard to read.
        let options = textwrap::Options::new(textwrap::termwidth().min(80));
        let options = options.initial_indent("    ").subsequent_indent("    ");
        // Lines are not broken at hyphens, so that names such as C-Blosc2 stay whole.
        let options = options.word_splitter(textwrap::WordSplitter::NoHyphenation);
        for text in [(*meaning).into(), format!("Cause: {cause}"), format!("What to do: {advice}")] {
            writeln!(f, "{}", textwrap::fill(&text, &options))?;
        }
        Ok(())
    }
}
