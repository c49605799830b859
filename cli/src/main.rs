//! The command `b2nd`: lists, shows, checks, reads, changes and salvages Blosc2 arrays.

// In this file and in each folder, a module imports only from modules that are declared above it. The modules after a
// blank line import from modules above that line.
mod code;
mod names;
mod pool;
mod text;

mod interrupt;
mod problem;
mod terminal;

#[cfg_attr(not(feature = "remote"), path = "remote/absent.rs")]
mod remote;

mod waiting;

mod input;

mod output;

mod commands;

use std::io::ErrorKind;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};

use crate::commands::{Command, overview};

/// List, show, check, read, change and salvage Blosc2 N-dimensional arrays
///
/// A frame is the file format of Blosc2: one file, or a directory with a file for each chunk (a sparse frame). An array
/// is a frame whose header has a metalayer with the shape, chunks, blocks and dtype.
#[derive(Parser)]
#[command(
    name = "b2nd",
    // The help shows this name, and not the name of the program file, which is `b2nd.exe` on Windows.
    bin_name = "b2nd",
    version,
    long_version = LONG_VERSION,
    max_term_width = 80,
    arg_required_else_help = true,
    mut_arg("color", |arg| arg.hide_short_help(true).help("When to use colors")),
    after_help = "Addresses:
  FILE, FOLDER  a frame, a sparse frame or a store
  FILE:MEMBER   a member of a zip file
  STORE:/KEY    a member of a store, as `info` prints its keys
  FILE@OFFSET   a frame inside another file, at this byte
  URL           s3://, gs://, az://, http:// or https://; `ls`, `check` and
                `chunks` also take s3://BUCKET/PREFIX; URL:MEMBER is a member
                of a .b2z file (feature remote)
  -             standard input, which is read into memory
  `ls`, `check` and `chunks` print addresses. Every command that reads frames
  accepts them, except that `set` needs a FILE or FOLDER. `decode` reads a
  metalayer from a FILE or -. An existing path wins over an address: to force a
  path, begin it with ./ or put it after --.

Environment (feature remote):
  B2ND_TIMEOUT  seconds for a request with its retries [default: 60]
  AWS_…, GOOGLE_…, AZURE_…
                credentials, as docs/OBJECT_STORES.md lists them

Exit status:
  0  success
  1  a file failed, `check` found errors, `diff` found differences, or
     `salvage` lost data
  2  wrong usage; for `diff`, any trouble"
)]
struct Arguments {
    #[command(flatten)]
    color: colorchoice_clap::Color,
    #[command(subcommand)]
    command: Command,
}

/// The version with the features that this program was built with, for a bug report.
const LONG_VERSION: &str = if cfg!(feature = "remote") {
    concat!(env!("CARGO_PKG_VERSION"), "\nfeatures: +remote")
} else {
    concat!(env!("CARGO_PKG_VERSION"), "\nfeatures: -remote")
};

fn main() -> ExitCode {
    let mut command = Arguments::command();
    if std::env::args_os().skip(1).all(|argument| argument == "-h") {
        let overview = overview(&command);
        command = command.override_help(overview);
    }
    let arguments = Arguments::from_arg_matches(&command.get_matches()).unwrap_or_else(|error| error.exit());
    arguments.color.write_global();
    let status = arguments.command.status_if_closed();
    match arguments.command.run(Arguments::command) {
        Ok(code) => code,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => status.into(),
        Err(error) => {
            terminal::complain(&format_args!("standard output: {error}"));
            status.max(1).into()
        }
    }
}
