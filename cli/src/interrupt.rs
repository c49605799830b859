//! The signals that end a process, held back while there is something to tidy up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};

/// Whether Ctrl-C was pressed, or the process was told to end otherwise, since this was made. A second time ends it at
/// once.
pub(crate) struct Interrupts([(i32, Arc<AtomicBool>); 2]);

impl Interrupts {
    pub(crate) fn hold_back() -> Self {
        Self([SIGINT, SIGTERM].map(|signal| {
            let is_caught = Arc::<AtomicBool>::default();
            // A signal that cannot be held back ends the process, as ever.
            let _ = flag::register_conditional_default(signal, is_caught.clone());
            let _ = flag::register(signal, is_caught.clone());
            (signal, is_caught)
        }))
    }

    fn caught(&self) -> Option<i32> {
        let Self(signals) = self;
        signals.iter().find(|(_, is_caught)| is_caught.load(Ordering::SeqCst)).map(|&(signal, _)| signal)
    }

    pub(crate) fn is_caught(&self) -> bool {
        self.caught().is_some()
    }

    /// Ends the process by the signal that was caught, if one was.
    pub(crate) fn follow(&self) {
        if let Some(signal) = self.caught() {
            let _ = low_level::emulate_default_handler(signal);
        }
    }
}
