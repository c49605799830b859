//! The options of commands that visit many files: the files, and the number of threads.

use std::io;
use std::path::PathBuf;
use std::thread;

use b2nd_frame::is_sparse_frame;
use clap::{Arg, Args, ValueHint, value_parser};

use super::address::given;
use super::list::listed;
use super::target::Found;
use super::targets::{Search, Stores, Targets, VISIT};
use crate::names::is_url;
use crate::pool::{PassPart, Pool};
use crate::remote;

/// The least number of threads without --jobs. On a machine with fewer cores, the additional threads make reading from
/// a slow disk faster, because many reads wait for the disk at the same time. They do not make reading from a fast disk
/// slower.
const MIN_JOBS: usize = 16;

/// The least number of threads without --jobs if a path is a URL. An object store answers a request slowly, but it
/// answers many requests at the same time.
const REMOTE_JOBS: usize = 64;

/// The help for PATH, after the word "files".
const OTHER_PATHS: &str =
    "folders to search, sparse frames, `FILE:MEMBER`, `FILE@OFFSET`, URLs, or - (standard input)";

/// Sets the help for PATH in a command that needs the two paths FROM and TO, or with --into any number of paths. `pair`
/// is the help for FROM and TO.
pub(crate) fn pair_or_paths(path: Arg, pair: &str) -> Arg {
    path.help(format!("{pair}. With --into: files, {OTHER_PATHS} [default: .]")).hide_default_value(true)
}

/// The files to visit, and how.
#[derive(Args)]
pub(crate) struct Paths {
    #[arg(id = "paths", help = format!("Files, {OTHER_PATHS}"), value_name = "PATH", default_value = ".")]
    roots: Vec<PathBuf>,
    /// Read paths or other addresses from FILE, one per line; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "paths", hide_short_help = true, help_heading = VISIT)]
    files_from: Option<PathBuf>,
    /// Addresses in --files-from end with a NUL byte, as written by `find -print0` and `b2nd ls --print0`
    #[arg(short = '0', long, requires = "files_from", conflicts_with = "paths", hide_short_help = true, help_heading = VISIT)]
    null: bool,
    #[command(flatten)]
    search: Search,
    /// Number of threads [default: number of cores, at least 16; 64 if a PATH is a URL]
    #[arg(short, long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024), value_hint = ValueHint::Other, hide_short_help = true, help_heading = VISIT)]
    jobs: Option<u16>,
}

impl Paths {
    /// The paths of the command line. With --files-from, there are none.
    pub(crate) fn given(&self) -> &[PathBuf] {
        if self.files_from.is_some() { &[] } else { &self.roots }
    }

    /// The number of threads for work on a single file: the number of --jobs, or one per core.
    pub(crate) fn threads(&self) -> usize {
        self.jobs.map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from)
    }

    /// The number of threads for each file. If a single file or sparse frame is given, it gets all threads. Otherwise
    /// several files are processed at the same time, each by one thread.
    pub(crate) fn threads_per_file(&self) -> usize {
        match self.given() {
            [path] if !path.is_dir() || is_sparse_frame(path) => self.threads(),
            _ => 1,
        }
    }

    /// Whether results are passed on in the order of the paths, and within a folder in the order of the names.
    pub(crate) fn are_ordered(&self) -> bool {
        !self.search.unordered
    }

    /// Calls `work` for batches of the files to visit, on several threads, and passes the results to `take`. An error
    /// of `take` ends the work. `is_slow` means that a single file is enough work for a batch.
    pub(crate) fn visit<T: Send>(
        self,
        stores: Stores,
        is_slow: bool,
        work: impl Fn(Vec<Found>, &mut PassPart<'_, T>) -> T + Sync,
        mut take: impl FnMut(T) -> io::Result<()> + Send,
    ) -> io::Result<()> {
        // URLs in the list of --files-from do not count, because the list has not been read yet.
        let is_remote = self.given().iter().any(|path| is_url(path.as_os_str().as_encoded_bytes()));
        let least = if is_remote { REMOTE_JOBS } else { MIN_JOBS };
        let fit = || thread::available_parallelism().map_or(least, |cores| cores.get().max(least));
        let jobs = self.jobs.map_or_else(fit, usize::from);
        // A file on a server needs at least one slow request, so each file is a separate batch.
        let pool = Pool { jobs, is_ordered: self.are_ordered(), is_slow: is_slow || is_remote };
        let roots = match self.files_from {
            None => Box::new(given(self.roots).map(Ok)),
            Some(list) => listed(list, if self.null { 0 } else { b'\n' }),
        };
        let targets = Targets::new(roots, self.search, stores);
        // If the output fails, the results are no longer wanted. Worker threads may still be waiting for a server, so
        // their requests are stopped.
        pool.run(targets, work, |done| take(done).inspect_err(|_| remote::stop()))
    }
}
