//! Compares the output of `b2nd info` with that of python-blosc2, which `lab/run interop` installs.

use std::process::Command;
use std::{env, fs};

use b2nd_lab::data;

use crate::python;

#[test]
fn info_prints_what_python_blosc2_prints() {
    let command = env::var_os("B2ND").expect("B2ND, which lab/run interop sets");
    let mut compared = 0;
    for entry in fs::read_dir(data()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "b2nd") {
            continue;
        }
        let theirs = python("info.py").arg(&path).output().unwrap();
        let ours = Command::new(&command).arg("info").arg(&path).output().unwrap();
        let [theirs, ours] = [theirs, ours].map(|output| String::from_utf8(output.stdout).unwrap());
        let expected: Vec<&str> = theirs.lines().collect();
        let found: Vec<&str> = ours.lines().take_while(|line| !line.starts_with("layout")).collect();
        assert_eq!(found, expected, "{}", path.display());
        compared += 1;
    }
    println!("{compared} files: info prints the same lines");
    assert!(compared >= 7);
}
