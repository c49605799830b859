//! The command held against python-blosc2: `tests/interop/run` installs it.

use std::process::Command;
use std::{env, fs};

use crate::common::data;

#[test]
#[ignore = "needs python-blosc2: tests/interop/run"]
fn info_prints_what_python_blosc2_prints() {
    let python = env::var_os("B2ND_PYTHON").expect("B2ND_PYTHON, which tests/interop/run sets");
    let mut compared = 0;
    for entry in fs::read_dir(data()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "b2nd") {
            continue;
        }
        let script = data().with_file_name("interop").join("info.py");
        let theirs = Command::new(&python).arg(script).arg(&path).output().unwrap();
        let ours = Command::new(env!("CARGO_BIN_EXE_b2nd")).arg("info").arg(&path).output().unwrap();
        let [theirs, ours] = [theirs, ours].map(|output| String::from_utf8(output.stdout).unwrap());
        let expected: Vec<&str> = theirs.lines().collect();
        let found: Vec<&str> = ours.lines().take_while(|line| !line.starts_with("layout")).collect();
        assert_eq!(found, expected, "{}", path.display());
        compared += 1;
    }
    println!("{compared} files: info prints the same lines");
    assert!(compared >= 7);
}
