//! `b2nd completions`: a shell script that completes command lines.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::{Shell, generate};

use crate::terminal::Outcome;

/// Print a shell script that completes b2nd command lines
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd completions bash > ~/.local/share/bash-completion/completions/b2nd")]
pub(crate) struct Completions {
    /// Shell to write the script for
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(self, mut b2nd: Command) -> Outcome {
        // The script is written to memory first, because `generate` panics if it cannot write.
        let mut script = Vec::new();
        generate(self.shell, &mut b2nd, "b2nd", &mut script);
        io::stdout().write_all(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}
