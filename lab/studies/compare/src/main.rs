//! For each path on standard input, prints a line of JSON with what a crate reads from the file: `crates b2nd-serde <
//! paths`.

use std::env::args;
use std::io::stdin;
use std::path::Path;

use serde_json::{Value, json};

fn main() {
    let who = args().nth(1).unwrap_or_default();
    let open = match &*who {
        "b2nd-serde" => b2nd_serde,
        "blosc2" => blosc2,
        "blosc2-pure-rs" => blosc2_pure_rs,
        _ => panic!("which crate?"),
    };
    for path in stdin().lines() {
        let answer = open(Path::new(&path.expect("paths"))).unwrap_or_else(|error| json!({ "error": error }));
        println!("{answer}");
    }
}

/// The array as b2nd-frame reads it, or the first error of `check`.
fn b2nd_serde(path: &Path) -> Result<Value, String> {
    let mut frame = b2nd_frame::Frame::open(path).map_err(|error| error.to_string())?;
    let report = b2nd_frame::Check::default().run(&mut frame).map_err(|error| error.to_string())?;
    let is_error = |finding: &&b2nd_frame::Finding| finding.severity() == b2nd_frame::Severity::Error;
    if let Some(error) = report.findings.iter().find(is_error) {
        return Err(error.to_string());
    }
    let array = frame.array().map_err(|error| error.to_string())?.ok_or("no array")?;
    Ok(json!({ "shape": array.shape(), "chunkshape": array.chunkshape() }))
}

fn blosc2(path: &Path) -> Result<Value, String> {
    let array = blosc2::nd::Ndarray::open(path).map_err(|error| error.to_string())?;
    Ok(json!({ "shape": array.shape(), "chunkshape": array.chunkshape() }))
}

fn blosc2_pure_rs(path: &Path) -> Result<Value, String> {
    let array = blosc2_pure_rs::b2nd_open(path)?;
    Ok(json!({ "shape": array.meta.shape, "chunkshape": array.meta.chunkshape }))
}
