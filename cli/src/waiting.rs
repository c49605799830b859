//! Waits for other processes that change a frame at the same time.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use b2nd_frame::has_locks;
use clap::Args;

use crate::code;
use crate::problem::Problem;
use crate::terminal::remark;

/// The maximum time that a command waits for other processes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// After this time, the command says which process it waits for.
const SILENCE: Duration = Duration::from_secs(1);

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(2);

/// An error that can mean that another process is changing the frame.
pub(crate) trait HasProblem {
    /// The problem; `None` if the failed attempt must not be repeated.
    fn problem(&self) -> Option<&Problem>;
}

impl HasProblem for Problem {
    fn problem(&self) -> Option<&Problem> {
        Some(self)
    }
}

/// The option of the commands that change a file.
#[derive(Args)]
pub(crate) struct Wait {
    /// Fail at once if another process is changing the file; without it, wait for that process, up to 60 seconds
    #[arg(long, hide_short_help = true)]
    no_wait: bool,
}

impl Wait {
    /// Changes a file. If another process is changing it, tries again until that process has finished.
    pub(crate) fn change<T, E: HasProblem>(
        &self,
        file: &Path,
        attempt: impl FnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        if has_locks(file).is_ok_and(|has| !has) {
            let what = "the file system has no locks: no other program may change the file at the same time";
            remark(&format_args!("{}: {what}", file.display()));
        }
        self.while_changing(attempt)
    }

    /// Reads a frame as [`while_changing`] does. With `--no-wait`, reads it only once.
    pub(crate) fn while_changing<T, E: HasProblem>(
        &self,
        attempt: impl FnMut() -> Result<T, E>,
    ) -> Result<T, E> {
        repeat(if self.no_wait { Duration::ZERO } else { PATIENCE }, attempt)
    }
}

/// Reads a frame. If another process changes it meanwhile, reads it again.
pub(crate) fn while_changing<T, E: HasProblem>(read: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    repeat(PATIENCE, read)
}

fn repeat<T, E: HasProblem>(patience: Duration, mut attempt: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    let begin = Instant::now();
    let mut is_silent = true;
    loop {
        let error = match attempt() {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let waited = begin.elapsed();
        let problem =
            error.problem().filter(|problem| [code::CHANGING, code::LOCKED].contains(&problem.code));
        let Some(problem) = problem.filter(|_| waited < patience) else { return Err(error) };
        if is_silent
            && waited >= SILENCE
            && let Some((file, _)) = problem.file.as_deref()
        {
            is_silent = false;
            remark(&format_args!("{}: waiting for {}", file.display(), writer(file, problem.code)));
        }
        thread::sleep(PAUSE);
    }
}

/// Describes the process that has locked a file or is changing it. `code` is the code of the problem that this process
/// causes.
fn writer(file: &Path, code: &str) -> String {
    match system::process_with_lock(file) {
        Some((id, name)) => format!("process {id} ({name}), which has locked it"),
        None if code == code::LOCKED => "another process, which has locked it".into(),
        None => "another process, which is changing it".into(),
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;
    use std::os::linux::fs::MetadataExt;
    use std::path::Path;

    use rustix::fs::{major, minor};

    /// The id and the name of the process that has locked a file, if the system shows them.
    pub(super) fn process_with_lock(file: &Path) -> Option<(u32, String)> {
        let metadata = file.metadata().ok()?;
        let (device, inode) = (metadata.st_dev(), metadata.st_ino());
        let file = format!("{:02x}:{:02x}:{inode}", major(device), minor(device));
        // Each line describes a lock, such as `1: FLOCK ADVISORY WRITE 4711 fd:01:1234 0 EOF`. The line of a process
        // that waits for a lock has an arrow before FLOCK.
        let locks = fs::read_to_string("/proc/locks").ok()?;
        let id = locks.lines().find_map(|line| {
            let fields: Vec<_> = line.split_whitespace().collect();
            let &[_, "FLOCK", _, _, id, of, ..] = &fields[..] else { return None };
            (of == file).then(|| id.parse().ok()).flatten()
        })?;
        let name = fs::read_to_string(format!("/proc/{id}/comm")).ok()?;
        Some((id, name.trim_end().into()))
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::path::Path;

    pub(super) fn process_with_lock(_: &Path) -> Option<(u32, String)> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writer_says_that_a_file_is_locked_only_if_it_is() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(writer(file.path(), code::CHANGING), "another process, which is changing it");
        assert_eq!(writer(file.path(), code::LOCKED), "another process, which has locked it");
    }
}
