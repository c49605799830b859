//! Compares this project with C-Blosc2 and python-blosc2, which `lab/run interop` installs.

mod change;
mod examples;
mod frame;
mod info;
mod kinds;
mod metalayer;
mod writing;

use std::{env, process::Command};

/// A script of this folder, to which arguments can be added.
fn python(script: &str) -> Command {
    let mut command =
        Command::new(env::var_os("B2ND_PYTHON").expect("B2ND_PYTHON, which lab/run interop sets"));
    command.arg(b2nd_lab::root().join("lab/interop").join(script));
    command
}

/// The number of random cases: an eighth of all, or all with `B2ND_LONG=1`.
fn cases(all: usize) -> usize {
    if env::var_os("B2ND_LONG").is_some() { all } else { all / 8 }
}
