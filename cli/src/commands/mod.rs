//! The subcommands with their options.

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

use clap::Subcommand;

use crate::terminal::Outcome;

/// A subcommand, in the order of the help.
#[derive(Subcommand)]
pub(crate) enum Command {
    Info(info::Info),
    Ls(ls::Ls),
    Cat(cat::Cat),
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
    /// The exit status if the reader of standard output, such as `head`, closes it before the end. That is no error,
    /// unless the status is a verdict on all files.
    pub(crate) fn status_if_closed(&self) -> u8 {
        match self {
            Self::Diff(_) => 2,
            Self::Check(_) | Self::Convert(_) | Self::Salvage(_) => 1,
            _ => 0,
        }
    }

    /// Runs the subcommand. `b2nd` builds the clap definition of the whole command, for `man` and `completions`.
    pub(crate) fn run(self, b2nd: fn() -> clap::Command) -> Outcome {
        match self {
            Self::Info(command) => command.run(),
            Self::Ls(command) => command.run(),
            Self::Cat(command) => command.run(),
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
