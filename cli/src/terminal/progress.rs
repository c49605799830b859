//! The progress line of long work.

use std::fmt::Display;
#[cfg(unix)]
use std::fs::File;
use std::io::{self, IsTerminal};
#[cfg(unix)]
use std::os::fd::AsFd;
#[cfg(unix)]
use std::os::unix::fs::FileTypeExt;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::messages::complain;

/// Work that takes less than this time shows no progress.
const LONG: Duration = Duration::from_secs(1);

/// Whether standard output is a pipe. On systems where this is unknown, a pipe is assumed.
fn is_piped() -> bool {
    #[cfg(unix)]
    {
        let stdout = io::stdout().as_fd().try_clone_to_owned().map(File::from);
        stdout.and_then(|stdout| stdout.metadata()).is_ok_and(|output| output.file_type().is_fifo())
    }
    #[cfg(not(unix))]
    true
}

/// A line on standard error that shows the progress. There is no such line if standard error is not a terminal, or if
/// output can appear on the same terminal.
pub(crate) struct Progress {
    start: Option<Instant>,
    template: &'static str,
    /// The amount of work, if it is known.
    all: Option<u64>,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Progress in files. `is_silent` means that nothing is written to standard output before the end.
    pub(crate) fn of_files(is_silent: bool) -> Self {
        Self::new(is_silent, "{spinner} files: {human_pos}, {elapsed}", None)
    }

    /// Progress in chunks.
    pub(crate) fn of_chunks() -> Self {
        Self::new(false, "{spinner} chunks: {human_pos}, {elapsed}", None)
    }

    /// Progress in bytes, while nothing is written to standard output.
    pub(crate) fn of_bytes(all: u64) -> Self {
        Self::new(true, "{spinner} {binary_bytes} of {binary_total_bytes}, {elapsed}", Some(all))
    }

    /// Progress in bytes of an unknown total.
    pub(crate) fn of_bytes_so_far(is_silent: bool) -> Self {
        Self::new(is_silent, "{spinner} {binary_bytes}, {elapsed}", None)
    }

    fn new(is_silent: bool, template: &'static str, all: Option<u64>) -> Self {
        // Output on the same terminal would mix with the progress line. If standard output is a pipe, its reader, such
        // as `head`, may print on this terminal.
        let is_free = is_silent || !io::stdout().is_terminal() && !is_piped();
        let start = (is_free && io::stderr().is_terminal()).then(Instant::now);
        Self { start, template, all, bar: None }
    }

    pub(crate) fn show(&mut self, done: u64) {
        let Some(elapsed) = self.start.map(|start| start.elapsed()).filter(|&elapsed| elapsed >= LONG) else {
            return;
        };
        let bar = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template(self.template);
            // Every template is a constant and valid, so the default is never used.
            let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
            let bar = ProgressBar::no_length().with_style(style).with_elapsed(elapsed);
            self.all.inspect(|&all| bar.set_length(all));
            bar
        });
        bar.set_position(done);
    }

    /// Prints an error above the progress line.
    pub(crate) fn complain(&self, what: &dyn Display) {
        match &self.bar {
            Some(bar) => bar.suspend(|| complain(what)),
            None => complain(what),
        }
    }

    /// Removes the progress line from the screen.
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
