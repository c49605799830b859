//! The subcommands with their options.

mod array_items;
mod listing;
mod new_files;

mod cat;
mod check;
mod chunks;
mod completions;
mod convert;
mod decode;
mod diff;
mod dump;
mod encode;
mod explain;
mod info;
mod ls;
mod man;
mod rewrite;
mod salvage;
mod set;
mod view;

use std::fmt::Write;

use clap::Subcommand;

use crate::terminal::Outcome;

/// A line of `overview`: the name of one command, or the names of several commands with a common description. `None`
/// means that the command's own description is shown.
type Line = (&'static str, Option<&'static str>);

/// The groups of `overview`.
const GROUPS: [(&str, &[Line]); 4] = [
    ("Look at arrays", &[("ls", None), ("info", None), ("cat", None), ("view", None), ("diff", None)]),
    ("Find and mend damage", &[("check", None), ("explain", None), ("salvage", None)]),
    ("Write and change arrays", &[("convert", None), ("set", None), ("rewrite", None)]),
    (
        "See the bytes, set up the command",
        &[
            ("chunks, dump", Some("List chunks, or show a header byte by byte")),
            ("encode, decode", Some("Make a metalayer, or show what one says")),
            ("completions, man", Some("Print shell completions, or manual pages")),
        ],
    ),
];

/// The text that `b2nd` without a subcommand and `b2nd -h` print. It fits a screen of 24 lines.
pub(crate) fn overview(b2nd: &clap::Command) -> String {
    let mut text = format!("{}\n\n", b2nd.get_about().unwrap_or_default());
    for (heading, commands) in GROUPS {
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "{heading}:");
        for &(name, about) in commands {
            let own = || b2nd.find_subcommand(name)?.get_about().map(ToString::to_string);
            let about = about.map(String::from).or_else(own).unwrap_or_default();
            let _ = writeln!(text, "  {name:16}  {about}");
        }
    }
    text + "\nExample: b2nd ls --sort nbytes -n 10 data/\nMore: b2nd COMMAND -h lists options, b2nd --help addresses and exit status"
}

/// The subcommands, in the order in which `b2nd --help` lists them.
#[derive(Subcommand)]
pub(crate) enum Command {
    Info(info::Info),
    Ls(ls::Ls),
    Cat(cat::Cat),
    View(view::View),
    Check(check::Check),
    Chunks(chunks::Chunks),
    Diff(diff::Diff),
    Explain(explain::Explain),
    Dump(dump::Dump),
    Encode(encode::Encode),
    Decode(decode::Decode),
    Convert(convert::Convert),
    Set(set::Set),
    Rewrite(rewrite::Rewrite),
    Salvage(salvage::Salvage),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    /// The exit status if standard output is closed before the end, for example by `head`. The status of some commands
    /// is a verdict on all their files. For these commands, the exit status is not 0, because the verdict is not
    /// complete.
    pub(crate) fn status_if_closed(&self) -> u8 {
        match self {
            Self::Diff(_) => 2,
            Self::Check(_) | Self::Convert(_) | Self::Salvage(_) => 1,
            _ => 0,
        }
    }

    /// Runs the subcommand. The function `b2nd` builds the clap definition of the whole command, which `man` and
    /// `completions` need.
    pub(crate) fn run(self, b2nd: fn() -> clap::Command) -> Outcome {
        match self {
            Self::Info(command) => command.run(),
            Self::Ls(command) => command.run(),
            Self::Cat(command) => command.run(),
            Self::View(command) => command.run(),
            Self::Check(command) => command.run(),
            Self::Chunks(command) => command.run(),
            Self::Diff(command) => command.run(),
            Self::Explain(command) => command.run(),
            Self::Dump(command) => command.run(),
            Self::Encode(command) => command.run(),
            Self::Decode(command) => command.run(),
            Self::Convert(command) => command.run(),
            Self::Set(command) => command.run(),
            Self::Rewrite(command) => command.run(),
            Self::Salvage(command) => command.run(),
            Self::Completions(command) => command.run(b2nd()),
            Self::Man(command) => command.run(b2nd()),
        }
    }
}
