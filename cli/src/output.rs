//! How a command ends, and what goes to standard error: errors, remarks, progress.

use std::fmt::{self, Display};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use b2nd_frame::{Code, Severity};
use indicatif::{ProgressBar, ProgressStyle};

use crate::text;

/// How a command ends: with its exit status, or with an error of standard output.
pub(crate) type Outcome = io::Result<ExitCode>;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default().bold();

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
pub(crate) fn wrong_usage(error: &clap::Error) -> ! {
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

/// A finding, as a line on the page of a frame or store.
pub(crate) fn write_finding(f: &mut fmt::Formatter<'_>, code: Code, message: &str) -> fmt::Result {
    let severity = code.severity();
    let style = if severity == Severity::Error { RED } else { YELLOW };
    let line = format!("{style}{severity:8}{style:#}: {code}, {}", text::clean(message));
    writeln!(f, "{}", wrapped(&line, width(&io::stdout()), "          "))
}

/// Progress is shown only if the work takes longer than this.
const LONG: Duration = Duration::from_secs(1);

/// A line on standard error that shows the progress, if standard error is a terminal that does not also show the
/// output.
pub(crate) struct Progress {
    start: Option<Instant>,
    template: &'static str,
    /// The amount of work, if it is known.
    all: Option<u64>,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Counts files. `is_silent` means that nothing goes to standard output before the end.
    pub(crate) fn of_files(is_silent: bool) -> Self {
        Self::new(is_silent, "{spinner} files: {human_pos}, {elapsed}", None)
    }

    /// Counts chunks.
    pub(crate) fn of_chunks() -> Self {
        Self::new(false, "{spinner} chunks: {human_pos}, {elapsed}", None)
    }

    /// Counts bytes, while nothing goes to standard output.
    pub(crate) fn of_bytes(all: u64) -> Self {
        Self::new(true, "{spinner} {binary_bytes} of {binary_total_bytes}, {elapsed}", Some(all))
    }

    fn new(is_silent: bool, template: &'static str, all: Option<u64>) -> Self {
        let is_free = is_silent || !io::stdout().is_terminal();
        let start = (is_free && io::stderr().is_terminal()).then(Instant::now);
        Self { start, template, all, bar: None }
    }

    pub(crate) fn show(&mut self, done: u64) {
        let Some(elapsed) = self.start.map(|start| start.elapsed()).filter(|&elapsed| elapsed >= LONG) else {
            return;
        };
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template(self.template);
            let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
            let bar = ProgressBar::no_length().with_style(style).with_elapsed(elapsed);
            self.all.inspect(|&all| bar.set_length(all));
            bar
        });
        bar.set_position(done);
    }

    /// Prints an error above the progress.
    pub(crate) fn complain(&self, what: &dyn Display) {
        match &self.bar {
            Some(bar) => bar.suspend(|| complain(what)),
            None => complain(what),
        }
    }
}

impl Progress {
    /// Removes the progress from the screen.
    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}
