//! This crate held against C-Blosc2 and python-blosc2: `tests/interop/run` installs them.

mod change;
#[cfg(feature = "frame")]
#[path = "../common/mod.rs"]
mod common;
mod examples;
mod frame;
mod kinds;
mod metalayer;
mod vectors;
mod writing;

#[cfg(feature = "frame")]
use std::{env, process::Command};

/// A script of this folder, to which arguments can be added.
#[cfg(feature = "frame")]
fn python(script: &str) -> Command {
    let mut command =
        Command::new(env::var_os("B2ND_PYTHON").expect("B2ND_PYTHON, which tests/interop/run sets"));
    command.arg(common::data().with_file_name("interop").join(script));
    command
}
