//! Signals that end a process, deferred while there is a temporary file to remove.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(unix)]
use signal_hook::consts::{SIGHUP, SIGXCPU, SIGXFSZ};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

/// Ctrl-C, `kill`, a closed terminal, and the limit of CPU time.
#[cfg(unix)]
const SIGNALS: &[i32] = &[SIGINT, SIGTERM, SIGHUP, SIGXCPU];
#[cfg(not(unix))]
const SIGNALS: &[i32] = &[SIGINT, SIGTERM];

/// The signals caught since this was made. A second signal of the same kind ends the process at once.
pub(crate) struct Interrupts(Vec<(i32, Arc<AtomicBool>)>);

impl Interrupts {
    pub(crate) fn defer() -> Self {
        // With a handler for this signal, a file over the size limit is an error of `write`, like a full disk.
        #[cfg(unix)]
        let _ = flag::register(SIGXFSZ, Arc::default());
        let deferred = SIGNALS.iter().filter(|&&signal| !is_ignored(signal)).map(|&signal| {
            let is_caught = Arc::<AtomicBool>::default();
            // If this fails, the signal ends the process, as it does by default.
            // The order matters: the first signal must find the flag unset.
            let _ = flag::register_conditional_default(signal, is_caught.clone());
            let _ = flag::register(signal, is_caught.clone());
            (signal, is_caught)
        });
        Self(deferred.collect())
    }

    fn caught(&self) -> Option<i32> {
        let Self(signals) = self;
        signals.iter().find(|(_, is_caught)| is_caught.load(Ordering::SeqCst)).map(|&(signal, _)| signal)
    }

    pub(crate) fn is_caught(&self) -> bool {
        self.caught().is_some()
    }

    /// Ends the process by the caught signal, if any.
    pub(crate) fn raise_caught(&self) {
        if let Some(signal) = self.caught() {
            // The parent process sees by which signal this one ended.
            let _ = low_level::emulate_default_handler(signal);
        }
    }
}

/// Whether the process was started with this signal ignored, as `nohup` does with SIGHUP: it must stay ignored. Without
/// /proc, only SIGHUP is assumed to be ignored.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    match mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()) {
        Some(mask) => mask & 1 << (signal - 1) != 0,
        #[cfg(unix)]
        None => signal == SIGHUP,
        #[cfg(not(unix))]
        None => false,
    }
}
