//! `b2nd`: what array is in this file?

mod info;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Looks at Blosc2 N-dimensional arrays without reading their data.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Shows shape, chunks, blocks and dtype of arrays.
    Info {
        /// Files with a frame, or directories of sparse frames.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Info { files } => info::run(&files),
    }
}
