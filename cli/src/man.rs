//! `b2nd man`: the manual page.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, Command};
use clap_mangen::Man as Page;

use crate::output::Outcome;

/// Prints the manual page of b2nd or of one command
#[derive(Args)]
#[command(after_help = "Example:
  b2nd man ls | man -l -")]
pub(crate) struct Man {
    /// Command to describe
    command: Option<String>,
}

impl Man {
    pub(crate) fn run(self, mut b2nd: Command) -> Outcome {
        b2nd.build();
        let about = self.command.as_ref().map_or(Some(&b2nd), |name| b2nd.find_subcommand(name));
        let Some(about) = about.cloned() else {
            let text = format!("there is no command '{}'", self.command.unwrap_or_default());
            b2nd.error(ErrorKind::InvalidSubcommand, text).exit()
        };
        let mut page = Vec::new();
        Page::new(about).render(&mut page)?;
        io::stdout().write_all(&page)?;
        Ok(ExitCode::SUCCESS)
    }
}
