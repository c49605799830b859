//! How a command ends, and what goes to standard error: errors and remarks.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use b2nd_frame::Severity;
use clap::error::{ContextKind, ContextValue, ErrorKind as UsageError};

/// How a command ends: with its exit status, or with an error of standard output.
pub(crate) type Outcome = io::Result<ExitCode>;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default().bold();

/// The style of a finding.
pub(crate) fn severity_style(severity: Severity) -> Style {
    if severity == Severity::Error { RED } else { YELLOW }
}

/// What only helps to find one's way: labels, offsets, types.
pub(crate) const DIM: Style = Style::new().dimmed();

/// Prints an error on standard error.
pub(crate) fn complain(what: &dyn Display) {
    tell(&format!("{RED}b2nd:{RED:#} {what}"));
}

/// Prints a remark on standard error.
pub(crate) fn remark(what: &dyn Display) {
    tell(&format!("b2nd: {what}"));
}

/// Prints what is wrong with the command line, or the help that was asked for, and ends the process.
pub(crate) fn wrong_usage(mut error: clap::Error) -> ! {
    // Who has mistyped an option has no file of that name: only tips about other options stay.
    if error.kind() == UsageError::UnknownArgument
        && let Some(ContextValue::StyledStrs(mut tips)) = error.remove(ContextKind::Suggested)
    {
        tips.retain(|tip| !tip.to_string().contains(" as a value, use "));
        if !tips.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
        }
    }
    if let Some(width) = width(&io::stderr()).filter(|_| error.use_stderr()) {
        let text = error.render().ansi().to_string();
        let lines = text.lines().map(|line| wrapped(line, Some(width), "       ") + "\n");
        let _ = write!(anstream::stderr(), "{}", lines.collect::<String>());
        std::process::exit(error.exit_code());
    }
    error.exit()
}

fn tell(text: &str) {
    // Standard error may be closed.
    let _ = writeln!(anstream::stderr(), "{}", wrapped(text, width(&io::stderr()), "      "));
}

/// The width of a terminal; `None` if the stream is not one.
pub(crate) fn width(stream: &impl IsTerminal) -> Option<usize> {
    stream.is_terminal().then(textwrap::termwidth)
}

/// The text in lines that fit the width, broken between words. `indent` begins all lines but the first one. Without a
/// width it stays one line, which a program can read.
pub(crate) fn wrapped(text: &str, width: Option<usize>, indent: &str) -> String {
    let Some(width) = width else { return text.into() };
    // A path that is broken could not be copied.
    let options = textwrap::Options::new(width)
        .subsequent_indent(indent)
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::fill(text, options)
}

/// Says what a command waits for, if standard input is a terminal: it would look as if it hung.
pub(crate) fn await_stdin(what: &str) {
    if io::stdin().is_terminal() {
        let end = if cfg!(windows) { "Ctrl-Z and Enter" } else { "Ctrl-D" };
        remark(&format_args!("reading {what} from the terminal; {end} on a new line ends them"));
    }
}
