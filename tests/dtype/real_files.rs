//! `as_numpy` compares the dtypes in `real_files.jsonl` with NumPy's answers. This test checks that `real_files.jsonl`
//! has every dtype of `real_files.txt`, and every dtype of the corpus of real files.

use std::collections::{BTreeMap, BTreeSet};

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

#[test]
fn real_files_jsonl_has_every_dtype_of_the_corpus() {
    let known = known();
    assert!(known.keys().eq(include_str!("../data/dtypes/real_files.txt").lines().collect::<BTreeSet<_>>()));
    let Some((_, manifest)) = b2nd_lab::corpus() else { return };
    let mut count = 0;
    for entry in &manifest {
        let Some(text) = entry["expected"]["dtype"].as_str() else {
            continue;
        };
        let file = &entry["file"];
        let numpy =
            known.get(text).unwrap_or_else(|| panic!("{file} has {text}, which is not in real_files.txt"));
        // Some hand-written files of C-Blosc2 have items of 4 bytes, but a dtype of 1 byte.
        if entry["frame"]["typesize"] != numpy["itemsize"] {
            assert!(matches!(text, "uint8" | "|u1"), "{file}: {text}");
        }
        count += 1;
    }
    assert!(count > 0, "the corpus has no dtype");
    eprintln!("{count} dtypes");
}
