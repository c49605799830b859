//! What goes to standard error: complaints, counts, and a sign of life where the work is long.

use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};

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

/// A count of files on standard error, if that is a terminal and the output does not go there too.
pub(crate) struct Progress {
    start: Option<Instant>,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// `is_silent` says that standard output gets nothing before the end.
    pub(crate) fn new(is_silent: bool) -> Self {
        let is_free = is_silent || !std::io::stdout().is_terminal();
        Self { start: (is_free && std::io::stderr().is_terminal()).then(Instant::now), bar: None }
    }

    pub(crate) fn show(&mut self, files: u64) {
        if self.start.is_none_or(|start| start.elapsed() < LONG) {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{spinner} {human_pos} files, {elapsed}");
            let bar = ProgressBar::new_spinner().with_elapsed(LONG);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar
        });
        bar.set_position(files);
    }

    /// Says what went wrong, beside the count.
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
