//! Defers termination signals while there is a temporary file to remove.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

#[cfg(unix)]
use signal_hook::consts::{SIGHUP, SIGXCPU, SIGXFSZ};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

use crate::pool::lock;

/// The signals of Ctrl-C, of `kill`, of a closed terminal, and of the limit of CPU time.
#[cfg(unix)]
const SIGNALS: &[i32] = &[SIGINT, SIGTERM, SIGHUP, SIGXCPU];
#[cfg(not(unix))]
const SIGNALS: &[i32] = &[SIGINT, SIGTERM];

/// The termination signals. They end the process, except during a call of `defer`.
pub(crate) struct Interrupts {
    signals: Vec<Signal>,
    /// The number of calls of `defer` that are running.
    deferring: Mutex<usize>,
}

struct Signal {
    number: i32,
    /// Whether the signal ends the process when it arrives.
    ends: Arc<AtomicBool>,
    is_caught: Arc<AtomicBool>,
}

impl Signal {
    fn new(number: i32) -> Self {
        let signal = Self { number, ends: Arc::new(AtomicBool::new(true)), is_caught: Arc::default() };
        // If a registration fails, the signal ends the process, as it does by default. The handlers run in the order of
        // their registration. For a deferred signal, `ends` is false, so the first handler does nothing. The last
        // handler sets `ends` to true, so a second signal of the same kind ends the process.
        let _ = flag::register_conditional_default(number, signal.ends.clone());
        let _ = flag::register(number, signal.is_caught.clone());
        let _ = flag::register(number, signal.ends.clone());
        signal
    }
}

impl Interrupts {
    pub(crate) fn new() -> Self {
        // Without a handler, SIGXFSZ ends the process if a file exceeds the size limit. With this handler, `write`
        // returns an error instead, as for a full disk.
        #[cfg(unix)]
        let _ = flag::register(SIGXFSZ, Arc::default());
        let signals =
            SIGNALS.iter().filter(|&&signal| !is_ignored(signal)).map(|&signal| Signal::new(signal));
        Self { signals: signals.collect(), deferring: Mutex::default() }
    }

    /// Defers the signals during work that makes and removes a temporary file. At any other time, a signal ends the
    /// process immediately, even if a thread is waiting for a terminal or a server. A second signal of the same kind
    /// always ends the process.
    pub(crate) fn defer<T>(&self, work: impl FnOnce() -> T) -> T {
        let mut deferring = lock(&self.deferring);
        *deferring += 1;
        if *deferring == 1 {
            // A signal that was caught during earlier work is not deferred again: its next arrival ends the process.
            let ends = |signal: &Signal| signal.is_caught.load(Ordering::SeqCst);
            self.signals.iter().for_each(|signal| signal.ends.store(ends(signal), Ordering::SeqCst));
        }
        drop(deferring);
        let done = work();
        let mut deferring = lock(&self.deferring);
        *deferring -= 1;
        if *deferring == 0 {
            self.signals.iter().for_each(|signal| signal.ends.store(true, Ordering::SeqCst));
        }
        done
    }

    pub(crate) fn is_caught(&self) -> bool {
        self.signals.iter().any(|signal| signal.is_caught.load(Ordering::SeqCst))
    }

    /// Calls `last`, and then ends the process with the caught signal. Does nothing if no signal was caught, or while
    /// other threads defer signals: each of them calls this function after its work.
    pub(crate) fn raise_caught(&self, last: impl FnOnce()) {
        // The lock is held, so that no other thread begins work before the process ends.
        let deferring = lock(&self.deferring);
        let caught = self.signals.iter().find(|signal| signal.is_caught.load(Ordering::SeqCst));
        if let Some(signal) = caught.filter(|_| *deferring == 0) {
            last();
            // The parent process sees which signal has ended this process.
            let _ = low_level::emulate_default_handler(signal.number);
        }
    }
}

/// Whether the process was started with this signal ignored, as `nohup` does with SIGHUP. Such a signal must stay
/// ignored. Without /proc, the ignored signals are unknown. Then only SIGHUP counts as ignored, so that `nohup` works.
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
