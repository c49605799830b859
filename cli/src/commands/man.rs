//! `b2nd man`: the manual page.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, iter};

use clap::builder::PossibleValuesParser;
use clap::{Args, Command, ValueHint};
use clap_mangen::Man as ManPage;

use crate::input::Location;
use crate::terminal::{Outcome, complain};

/// Print the manual page of b2nd or of one command, or write all pages to a folder
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd man ls | man -l -
  b2nd man --dir ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// Command to describe; without it, the page of b2nd
    #[arg(value_parser = PossibleValuesParser::new(COMMANDS), hide_possible_values = true)]
    command: Option<String>,
    /// Write the pages of b2nd and of all commands to this folder, which is made if it does not exist
    #[arg(long, value_name = "FOLDER", conflicts_with = "command", value_hint = ValueHint::DirPath)]
    dir: Option<PathBuf>,
}

/// The commands with a page. clap needs the names before it builds the command; a test compares them with the help.
const COMMANDS: [&str; 15] = [
    "info",
    "ls",
    "cat",
    "check",
    "chunks",
    "diff",
    "explain",
    "dump",
    "encode",
    "decode",
    "set",
    "rewrite",
    "salvage",
    "completions",
    "man",
];

/// The exit status section of a command whose help has none.
fn exit_status(command: &str) -> String {
    let failed = match command {
        "check" => "there were errors that are not ignored, with `--strict` also warnings, or a file failed",
        "encode" | "decode" | "dump" => "the input is not valid, or cannot be read",
        "cat" => "the array, or a chunk that is needed, cannot be read, or the file cannot be written",
        "salvage" => "some data is lost, or nothing could be saved",
        "set" | "rewrite" => "nothing was changed or written, for the reason that is shown",
        "completions" | "man" | "explain" => "the output cannot be written",
        _ => "a file failed",
    };
    format!("Exit status:\n  0  success\n  1  {failed}\n  2  wrong usage")
}

impl Man {
    pub(crate) fn run(self, mut b2nd: Command) -> Outcome {
        // `b2nd help` has no page.
        b2nd = b2nd.disable_help_subcommand(true);
        // clap derives the names and usages of subcommands only on demand.
        b2nd.build();
        if let Some(dir) = &self.dir {
            return Ok(match write_all(dir, &b2nd) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    complain(&Location::of(dir).failure(error));
                    ExitCode::FAILURE
                }
            });
        }
        let about = self.command.as_ref().and_then(|name| b2nd.find_subcommand(name)).unwrap_or(&b2nd);
        io::stdout().write_all(&page(about.clone())?)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes a page for b2nd and one per command.
fn write_all(dir: &Path, b2nd: &Command) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let commands = COMMANDS.into_iter().filter_map(|name| b2nd.find_subcommand(name));
    for about in iter::once(b2nd).chain(commands) {
        let name = about.get_display_name().unwrap_or(about.get_name()).replace(' ', "-");
        fs::write(dir.join(format!("{name}.1")), page(about.clone())?)?;
    }
    Ok(())
}

fn page(about: Command) -> io::Result<Vec<u8>> {
    let has_commands = about.has_subcommands();
    let name = about.get_name().to_owned();
    let end = about.get_after_help().map(ToString::to_string).unwrap_or_default();
    let page = ManPage::new(about).source(concat!("b2nd ", env!("CARGO_PKG_VERSION")));
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    if has_commands {
        page.render_subcommands_section(&mut text)?;
    }
    let mut text = copyable(&String::from_utf8_lossy(&text));
    // Sections of the help are separated by empty lines.
    for section in end.split("\n\n").filter(|section| !section.is_empty()) {
        text += &end_section(section);
    }
    if !end.contains("Exit status:") {
        text += &end_section(&exit_status(&name));
    }
    Ok(text.into_bytes())
}

/// Escapes characters that groff would replace by typographic ones, which a shell does not understand. groff's requests
/// contain none of them, so the whole page can be replaced.
fn copyable(text: &str) -> String {
    text.replace('`', "\\(ga").replace('^', "\\(ha").replace('~', "\\(ti")
}

/// A section from the end of the help, with the heading as its first line. `ManPage` would join and hyphenate the lines
/// of examples. Each line begins with `\&`, because a line that begins with a dot would be a request of groff.
fn end_section(section: &str) -> String {
    let Some((heading, text)) = section.split_once(":\n") else { return String::new() };
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    let lines: Vec<_> = copyable(&text).lines().map(|line| ["\\&", line.trim_start()].concat()).collect();
    let (heading, lines) = (heading.to_uppercase(), lines.join("\n"));
    format!(".SH {heading}\n.nf\n{lines}\n.fi\n")
}
