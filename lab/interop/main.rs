//! Compares this project with C-Blosc2 and python-blosc2, which `lab/run interop` installs.

mod change;
mod chunk_data;
mod compressed;
mod frame;
mod indexed;
mod info;
mod kinds;
mod metalayer;
mod updating;
mod writing;

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::Value;

/// A command that runs a script of this folder. The caller adds arguments.
fn python(script: &str) -> Command {
    let mut command =
        Command::new(env::var_os("B2ND_PYTHON").expect("B2ND_PYTHON, which lab/run interop sets"));
    command.arg(b2nd_lab::root().join("lab/interop").join(script));
    command
}

/// The number of random cases to try: `all` if `B2ND_LONG` is set, or else an eighth of them.
fn cases(all: usize) -> usize {
    if is_long() { all } else { all / 8 }
}

fn is_long() -> bool {
    env::var_os("B2ND_LONG").is_some()
}

/// A random seed, or the value of `B2ND_SEED` to repeat a run.
fn seed() -> u32 {
    let seed = env::var("B2ND_SEED")
        .map_or_else(|_| fastrand::u32(..), |seed| seed.parse().expect("a number below 2^32"));
    println!("B2ND_SEED={seed}");
    seed
}

/// Starts a script that prints lines of JSON. After each line, the script receives the line that `answer` returns.
fn converse(script: &mut Command, mut answer: impl FnMut(Value) -> String) {
    let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut answers = child.stdin.take().unwrap();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let answer = answer(serde_json::from_str(&line.unwrap()).unwrap());
        answers.write_all(format!("{answer}\n").as_bytes()).unwrap();
    }
    assert!(child.wait().unwrap().success());
}
