//! What goes to standard error: complaints, counts, and a sign of life where the work is long.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};

/// How a command ends: with its exit status, or with an error of standard output.
pub(crate) type Outcome = io::Result<ExitCode>;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default().bold();

/// Says on standard error what went wrong.
pub(crate) fn complain(what: &dyn Display) {
    // Where nobody listens, nothing is lost.
    let _ = writeln!(anstream::stderr(), "{RED}b2nd:{RED:#} {what}");
}

/// Says on standard error what there is to know.
pub(crate) fn remark(what: &dyn Display) {
    let _ = writeln!(anstream::stderr(), "b2nd: {what}");
}

/// After so long, work is long.
const LONG: Duration = Duration::from_secs(1);

/// How far the work is, on standard error, if that is a terminal and the output does not go there too.
pub(crate) struct Progress {
    start: Option<Instant>,
    template: &'static str,
    /// How much there is to do, if that is known.
    all: Option<u64>,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Of a number of files. `is_silent` says that standard output gets nothing before the end.
    pub(crate) fn of_files(is_silent: bool) -> Self {
        Self::new(is_silent, "{spinner} files: {human_pos}, {elapsed}", None)
    }

    /// Of so many bytes, while standard output gets nothing.
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

    /// Says what went wrong, beside it.
    pub(crate) fn complain(&self, what: &dyn Display) {
        match &self.bar {
            Some(bar) => bar.suspend(|| complain(what)),
            None => complain(what),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
