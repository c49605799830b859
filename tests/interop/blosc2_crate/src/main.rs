//! Says of each file whose path it reads what the crate `blosc2` makes of it: a line of JSON each.

use std::io::stdin;
use std::path::Path;

use blosc2::nd::Ndarray;
use serde_json::json;

fn main() {
    for line in stdin().lines() {
        let line = line.expect("paths");
        let answer = match Ndarray::open(Path::new(&line)) {
            Ok(array) => json!({
                "shape": array.shape(),
                "chunkshape": array.chunkshape(),
                "blockshape": array.blockshape(),
            }),
            Err(error) => json!({ "error": error.to_string() }),
        };
        println!("{answer}");
    }
}
