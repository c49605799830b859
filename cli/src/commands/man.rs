//! `b2nd man`: the manual page.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command, ValueHint};
use clap_mangen::{Man as ManPage, generate_to};

use crate::input::Location;
use crate::terminal::{Outcome, complain};
use crate::text::clean;

/// Print the manual page of b2nd or of one command, or write all
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd man ls | man -l -
  b2nd man --dir ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// Command to describe; without it, the page of b2nd
    command: Option<String>,
    /// Write the pages of b2nd and of all commands to this folder, which is made if it does not exist
    #[arg(long, value_name = "FOLDER", conflicts_with = "command", value_hint = ValueHint::DirPath)]
    dir: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(self, b2nd: Command) -> Outcome {
        // The subcommand `b2nd help` has no manual page.
        let mut b2nd = with_all_options(b2nd.disable_help_subcommand(true));
        if let Some(dir) = &self.dir {
            return Ok(match fs::create_dir_all(dir).and_then(|()| generate_to(b2nd, dir)) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    complain(&Location::new(dir).failure(error));
                    ExitCode::FAILURE
                }
            });
        }
        // Without `build`, clap does not know the full names and the usages of the subcommands.
        b2nd.build();
        let about = self.command.as_deref().map_or(Some(&b2nd), |name| b2nd.find_subcommand(name));
        let Some(about) = about else {
            complain(&format_args!("there is no command '{}'", clean(&self.command.unwrap_or_default())));
            return Ok(2.into());
        };
        let mut page = Vec::new();
        ManPage::new(about.clone()).render(&mut page)?;
        io::stdout().write_all(&page)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Shows all options of the command in the short help, because `clap_mangen` omits the description of an option that
/// the short help hides.
fn with_all_options(command: Command) -> Command {
    command.mut_args(|arg| arg.hide_short_help(false)).mut_subcommands(with_all_options)
}
