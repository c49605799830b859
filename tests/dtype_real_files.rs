//! Every dtype that a real file holds is read, has the file's item size, and prints back as it stands there.
#![cfg(feature = "dtype")]

use std::fs;
use std::path::{Path, PathBuf};

use b2nd_serde::dtype::Dtype;
use serde_json::Value;

fn corpus() -> PathBuf {
    std::env::var_os("B2ND_CORPUS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"), PathBuf::from)
}

#[test]
fn every_dtype_of_a_real_file_is_read_and_printed_back() {
    let path = corpus().join("manifest.json");
    let Ok(manifest) = fs::read_to_string(&path) else {
        eprintln!("skipped: no {}", path.display());
        return;
    };
    let manifest: Vec<Value> = serde_json::from_str(&manifest).expect("JSON");
    let mut count = 0;
    for entry in &manifest {
        let Some(text) = entry["expected"]["dtype"].as_str() else {
            continue;
        };
        let file = &entry["file"];
        let dtype: Dtype = text.parse().unwrap_or_else(|error| panic!("{file}: {error}"));
        let expected_size = match text {
            // Six of C-Blosc2's own files, written by hand, have items of four bytes under this dtype.
            "uint8" | "|u1" => 1,
            _ => entry["frame"]["typesize"].as_u64().expect("a typesize"),
        };
        assert_eq!(u64::try_from(dtype.item_size()), Ok(expected_size), "{file}: {text}");
        let printed = match entry["layout"].as_str() {
            Some("b2nd-6") => dtype.numpy_str().to_string(),
            _ => dtype.to_string(),
        };
        assert_eq!(printed, text, "{file}");
        count += 1;
    }
    assert!(count > 0, "no dtype in {}", path.display());
    eprintln!("{count} dtypes");
}
