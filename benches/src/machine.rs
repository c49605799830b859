//! The machine and the versions of a figure.

use std::process::Command;
use std::{fs, thread};

/// The exact versions of everything here.
const LOCK: &str = include_str!("../Cargo.lock");

pub fn processor() -> String {
    let information = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = information.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown", |(_, model)| model);
    let cores = thread::available_parallelism().map_or_else(|_| "unknown".into(), |cores| cores.to_string());
    format!("{model} with {cores} cores")
}

pub fn compiler() -> String {
    output_of("rustc", "--version").split(" (").next().unwrap_or_default().into()
}

pub fn today() -> String {
    output_of("date", "+%F")
}

fn output_of(program: &str, argument: &str) -> String {
    let output = Command::new(program).arg(argument).output();
    output.map_or("unknown".into(), |output| String::from_utf8_lossy(&output.stdout).trim().into())
}

pub fn version_of(package: &str) -> &'static str {
    let entry = format!("name = \"{package}\"\nversion = \"");
    let version = LOCK.split_once(&entry).and_then(|(_, rest)| rest.split_once('"'));
    version.map_or("unknown", |(version, _)| version)
}

/// The 10th percentile, which neither other programs nor a single lucky measurement affects.
pub fn tenth_percentile(times: impl Iterator<Item = f64>) -> Option<f64> {
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 10).copied()
}
