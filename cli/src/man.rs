//! `b2nd man`: the manual page.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Args, Command};
use clap_mangen::Man as Page;

use crate::output::Outcome;

/// Print the manual page of b2nd or of one command
#[derive(Args)]
#[command(after_help = "Example:
  b2nd man ls | man -l -")]
pub(crate) struct Man {
    /// Command to describe; without it, the page of b2nd
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
        io::stdout().write_all(&page(about)?)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn page(about: Command) -> io::Result<Vec<u8>> {
    let has_commands = about.has_subcommands();
    let end = about.get_after_help().map(ToString::to_string).unwrap_or_default();
    let page = Page::new(about).source(concat!("b2nd ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if has_commands {
        page.render_subcommands_section(&mut text)?;
    }
    text.extend(end_section(&end).bytes());
    Ok(text)
}

/// The end of the help: its first line begins with the heading. `Page` would join and hyphenate the lines of examples.
fn end_section(end: &str) -> String {
    let Some((heading, text)) = end.split_once(':') else { return String::new() };
    let text = text.trim_matches('\n').replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    format!(".SH {}\n.nf\n{text}\n.fi\n", heading.to_uppercase())
}
