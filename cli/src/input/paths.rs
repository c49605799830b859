//! The options of commands that visit many files: which, and with how many threads.

use std::io;
use std::path::PathBuf;
use std::thread;

use clap::{Args, ValueHint};

use super::address::given;
use super::list::listed;
use super::target::Found;
use super::targets::{Search, Stores, Targets};
use crate::names::is_url;
use crate::pool::Pool;
use crate::remote;

/// More threads than cores hide the latency of a slow disk, and do not slow down a fast one.
const MIN_JOBS: usize = 16;

/// Requests to an object store at a time. It answers each of them slowly, and many of them at once.
const REMOTE_JOBS: usize = 64;

/// Which files to visit, and how.
#[derive(Args)]
pub(crate) struct Paths {
    /// Files, sparse frames (directories), folders to search, `FILE:MEMBER`, `FILE@OFFSET`, URLs, or - (standard input)
    #[arg(id = "paths", value_name = "PATH", default_value = ".")]
    roots: Vec<PathBuf>,
    /// Read paths or other addresses from FILE, one per line; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "paths")]
    files_from: Option<PathBuf>,
    /// Lines of --files-from end with a NUL byte, as `find -print0` and `ls --print0` write them
    #[arg(short = '0', long, requires = "files_from", conflicts_with = "paths")]
    null: bool,
    #[command(flatten)]
    search: Search,
    /// Number of threads [default: number of cores, at least 16; 64 if a PATH is a URL]
    #[arg(short, long, value_name = "N", value_parser = jobs, value_hint = ValueHint::Other)]
    jobs: Option<u16>,
}

/// Parses a number of threads.
fn jobs(text: &str) -> Result<u16, &'static str> {
    text.parse().ok().filter(|jobs| (1..=1024).contains(jobs)).ok_or("must be a number from 1 to 1024")
}

impl Paths {
    /// The paths of the command line.
    pub(crate) fn given(&self) -> &[PathBuf] {
        if self.files_from.is_some() { &[] } else { &self.roots }
    }

    /// Whether the results are passed on in the order of the paths; in folders by name.
    pub(crate) fn are_ordered(&self) -> bool {
        !self.search.unordered
    }

    /// Works on batches of the files to visit, on several threads, and passes the results on. An error of `take` ends the
    /// work. `is_slow` says whether each file is much work.
    pub(crate) fn visit<T: Send>(
        self,
        stores: Stores,
        is_slow: bool,
        work: impl Fn(Vec<Found>) -> T + Sync,
        mut take: impl FnMut(T) -> io::Result<()> + Send,
    ) -> io::Result<()> {
        let is_remote = self.given().iter().any(|path| is_url(path));
        let least = if is_remote { REMOTE_JOBS } else { MIN_JOBS };
        let fit = || thread::available_parallelism().map_or(least, |cores| cores.get().max(least));
        let jobs = self.jobs.map_or_else(fit, usize::from);
        let pool = Pool { jobs, is_ordered: self.are_ordered(), is_slow: is_slow || is_remote };
        let are_named = self.files_from.is_none();
        let roots = match self.files_from {
            None => Box::new(given(self.roots).map(Ok)),
            Some(list) => listed(list, if self.null { 0 } else { b'\n' }),
        };
        let targets = Targets::new(roots, are_named, self.search, stores);
        // After an error of the output, worker threads may still wait for a server.
        pool.run(targets, work, |done| take(done).inspect_err(|_| remote::stop()))
    }
}
