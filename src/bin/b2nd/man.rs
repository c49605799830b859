//! `b2nd man`: the manual page.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_mangen::Man as Page;

use crate::{Arguments, Outcome};

/// Prints the manual page, of b2nd or of one command
#[derive(Args)]
#[command(after_help = "Example:
  b2nd man ls | man -l -")]
pub(crate) struct Man {
    /// The command that the page is about
    command: Option<String>,
}

impl Man {
    pub(crate) fn run(self) -> Outcome {
        let mut b2nd = Arguments::command();
        b2nd.build();
        let about = match &self.command {
            None => b2nd,
            Some(name) => match b2nd.find_subcommand(name) {
                Some(command) => command.clone(),
                None => {
                    let text = format!("there is no command '{name}'");
                    Arguments::command().error(clap::error::ErrorKind::InvalidSubcommand, text).exit()
                }
            },
        };
        let mut page = Vec::new();
        Page::new(about).render(&mut page)?;
        io::stdout().write_all(&page)?;
        Ok(ExitCode::SUCCESS)
    }
}
