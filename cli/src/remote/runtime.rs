//! The asynchronous runtime, the time limit of requests, and how they are stopped.

use std::io;
use std::pin::pin;
use std::sync::{LazyLock, Mutex};
use std::thread;

use clap::error::ErrorKind as UsageError;
use futures_util::future::{Either, select};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::code;
use crate::pool::lock;
use crate::problem::Problem;

/// The time limit of a request with its retries, in seconds.
pub(super) static TIMEOUT: LazyLock<u64> = LazyLock::new(timeout);

pub(super) const MAX_TIMEOUT: u64 = 24 * 60 * 60;

/// Becomes `true` when no answer to a request is wanted any more.
static STOPPED: LazyLock<watch::Sender<bool>> = LazyLock::new(|| watch::channel(false).0);

/// The number of threads that drive the connections and the listings. The remaining work of a request is done by the
/// thread that waits for its answer.
const WORKERS: usize = 2;

/// The runtime of all requests.
static RUNTIME: LazyLock<io::Result<Runtime>> = LazyLock::new(|| {
    // An error means only that a provider of TLS is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // The runtime panics if it cannot start a thread, so this is tested first. Besides the workers, one thread resolves
    // names.
    check_threads(WORKERS + 1)?;
    Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build()
});

/// The value of the environment variable `B2ND_TIMEOUT`, or 60. A wrong value ends the process.
fn timeout() -> u64 {
    // An empty variable counts as unset.
    let Some(text) = std::env::var_os("B2ND_TIMEOUT").filter(|text| !text.is_empty()) else { return 60 };
    let seconds = text.to_str().and_then(|text| text.parse().ok());
    seconds.filter(|seconds| (1..=MAX_TIMEOUT).contains(seconds)).unwrap_or_else(|| {
        let message = format!(
            "B2ND_TIMEOUT is {}; it must be a number of seconds from 1 to {MAX_TIMEOUT}\n",
            text.display()
        );
        clap::Error::raw(UsageError::ValueValidation, message).exit()
    })
}

/// Ends all requests, because the reader of the output is gone.
pub(crate) fn stop() {
    STOPPED.send_replace(true);
}

/// Checks that the system can start this number of threads.
fn check_threads(count: usize) -> io::Result<()> {
    let gate = Mutex::new(());
    thread::scope(|scope| {
        // The threads wait for the gate, so they all exist at the same time.
        let _closed = lock(&gate);
        (0..count).try_for_each(|_| {
            thread::Builder::new().spawn_scoped(scope, || drop(lock(&gate))).map(drop).map_err(|error| {
                io::Error::new(error.kind(), format!("cannot start a thread for the network: {error}"))
            })
        })
    })
}

/// The runtime, with a provider of TLS.
pub(super) fn runtime() -> Result<&'static Runtime, Problem> {
    RUNTIME.as_ref().map_err(|error| Problem::new(code::IO, error.to_string()))
}

/// Waits for a result; `None` after `stop`.
pub(super) fn wait<T>(awaited: impl Future<Output = T>) -> Result<Option<T>, Problem> {
    Ok(runtime()?.block_on(async {
        let mut stopped = STOPPED.subscribe();
        match select(pin!(awaited), pin!(stopped.wait_for(|&stopped| stopped))).await {
            Either::Left((done, _)) => Some(done),
            Either::Right(_) => None,
        }
    }))
}
