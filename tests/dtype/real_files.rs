//! Every dtype of the real files is read, has NumPy's item size, and prints back unchanged.
#![cfg(feature = "dtype")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use b2nd_serde::dtype::Dtype;
use serde_json::Value;

/// NumPy's answer for each dtype.
fn known() -> BTreeMap<String, Value> {
    let lines = include_str!("../data/dtypes/real_files.jsonl").lines();
    let entries = lines.map(|line| {
        let entry: Value = serde_json::from_str(line).expect("a line of JSON");
        (entry["input"].as_str().expect("a string").to_owned(), entry["dtype"].clone())
    });
    entries.collect()
}

fn holds(text: &str, numpy: &Value) {
    let dtype: Dtype = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(Value::from(dtype.item_size()), numpy["itemsize"], "{text}");
    assert_eq!(Value::from(dtype.alignment()), numpy["alignment"], "{text}");
    assert_eq!(dtype.to_string(), text);
}

#[test]
fn every_dtype_of_real_files_is_read_and_printed_back() {
    let known = known();
    assert_eq!(known.len(), 45);
    assert!(known.keys().eq(include_str!("../data/dtypes/real_files.txt").lines().collect::<BTreeSet<_>>()));
    for (text, numpy) in &known {
        holds(text, numpy);
    }
}

fn corpus() -> PathBuf {
    std::env::var_os("B2ND_CORPUS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"), PathBuf::from)
}

#[test]
fn every_dtype_in_the_files_themselves_is_known() {
    let path = corpus().join("manifest.json");
    let Ok(manifest) = fs::read_to_string(&path) else {
        eprintln!("skipped: no {}", path.display());
        return;
    };
    let manifest: Vec<Value> = serde_json::from_str(&manifest).expect("JSON");
    let known = known();
    let mut count = 0;
    for entry in &manifest {
        let Some(text) = entry["expected"]["dtype"].as_str() else {
            continue;
        };
        let file = &entry["file"];
        let numpy =
            known.get(text).unwrap_or_else(|| panic!("{file} has {text}, which real_files.txt has not"));
        holds(text, numpy);
        // Some hand-written files of C-Blosc2 have items of 4 bytes, but a dtype of 1 byte.
        if entry["frame"]["typesize"] != numpy["itemsize"] {
            assert!(matches!(text, "uint8" | "|u1"), "{file}: {text}");
        }
        count += 1;
    }
    assert!(count > 0, "no dtype in {}", path.display());
    eprintln!("{count} dtypes");
}
