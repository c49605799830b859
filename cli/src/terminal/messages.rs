//! The result of a command, styled output, and messages on standard error: errors and remarks.

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use b2nd_frame::Severity;

/// The exit status of a command, or an error of standard output.
pub(crate) type Outcome = io::Result<ExitCode>;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default().bold();

/// The style of a finding.
pub(crate) fn severity_style(severity: Severity) -> Style {
    if severity == Severity::Error { RED } else { YELLOW }
}

/// The style of secondary text: labels, offsets, types.
pub(crate) const DIM: Style = Style::new().dimmed();

/// Buffered standard output for styled text. If standard output shows no styles, they are removed before the text
/// enters the buffer. If they were removed after the buffer, each piece of text between two styles would be a separate
/// write.
pub(crate) fn buffered_stdout() -> Box<dyn Write> {
    if is_colored() {
        Box::new(BufWriter::new(anstream::stdout().lock()))
    } else {
        let plain: Box<dyn Write> = Box::new(BufWriter::new(io::stdout().lock()));
        Box::new(AutoStream::never(plain))
    }
}

/// Prints an error on standard error.
pub(crate) fn complain(what: &dyn Display) {
    tell(&format!("{RED}b2nd:{RED:#} {what}"));
}

/// Prints a remark on standard error.
pub(crate) fn remark(what: &dyn Display) {
    tell(&format!("b2nd: {what}"));
}

fn tell(text: &str) {
    // An error is ignored, because standard error may be closed.
    let _ = writeln!(anstream::stderr(), "{}", wrapped(text, width(&io::stderr()), "      "));
}

/// The width of the terminal; `None` if the stream is not a terminal.
pub(crate) fn width(stream: &impl IsTerminal) -> Option<usize> {
    stream.is_terminal().then(textwrap::termwidth)
}

/// The columns and lines of the terminal. If standard output is not a terminal, the number of columns is the value of
/// the variable `COLUMNS`, or 80. The number of lines is then half of this number.
pub(crate) fn screen_size() -> [usize; 2] {
    if io::stdout().is_terminal() {
        // A terminal that does not know its size can report the size 0.
        let known = terminal_size::terminal_size().filter(|(width, height)| width.0 > 0 && height.0 > 0);
        return known.map_or([80, 24], |(width, height)| [width.0.into(), height.0.into()]);
    }
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let columns = columns.filter(|columns| (1..=1000).contains(columns)).unwrap_or(80);
    [columns, columns.div_ceil(2)]
}

/// Whether standard output shows colors.
pub(crate) fn is_colored() -> bool {
    anstream::stdout().current_choice() != ColorChoice::Never
}

/// The text in lines that fit the width, broken between words. `indent` begins all lines but the first one. Without a
/// width, the text stays on one line, because programs read one message per line.
pub(crate) fn wrapped(text: &str, width: Option<usize>, indent: &str) -> String {
    let Some(width) = width else { return text.into() };
    // Words stay whole, so that a path can be copied.
    let options = textwrap::Options::new(width)
        .subsequent_indent(indent)
        .break_words(false)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    textwrap::fill(text, options)
}

/// Tells the user that the command waits for input from the terminal.
pub(crate) fn await_stdin(what: &str) {
    if io::stdin().is_terminal() {
        let end = if cfg!(windows) { "Ctrl-Z and Enter" } else { "Ctrl-D" };
        remark(&format_args!("reading {what} from the terminal; end the input with {end} on a new line"));
    }
}
