//! Messages and progress at a terminal.

mod messages;

mod progress;

pub(crate) use messages::{
    BOLD, DIM, Outcome, RED, YELLOW, await_stdin, buffered_stdout, complain, is_colored, remark, screen_size,
    severity_style, width, wrapped,
};
pub(crate) use progress::Progress;
