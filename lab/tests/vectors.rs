//! Reads the conformance vectors with the crates blosc2-pure-rs and rmp-serde. Cargo builds these crates, so `lab/run`
//! does not have to install them.

use std::collections::BTreeMap;
use std::fs;

use blosc2_pure_rs::{B2ndArray, B2ndMeta, Schunk, b2nd_open, blosc2_schunk_open};
use serde_json::{Value, json};

use b2nd_lab::vectors::{Answers, InFile, Verdict, hold_answers, read};
use b2nd_lab::{Seven, root};

const PURE_RS: &str = "blosc2-pure-rs 0.2.4";
const RMP_SERDE: &str = "rmp-serde 1.3";

/// Returns what a reader does with a vector: "accept", "refuse", or "misread" if a value that it read differs from the
/// value of the vector. Returns `None` if the reader does what the verdict requires. For the verdict `Either`, the
/// result is never `None`.
fn does(vector: &InFile, read: Option<&Value>) -> Option<&'static str> {
    let does = match read {
        None => "refuse",
        Some(read) if is_in(read, &vector.values) => "accept",
        Some(_) => "misread",
    };
    let is_expected = match vector.verdict {
        Verdict::Accept => does == "accept",
        Verdict::Refuse => does == "refuse",
        Verdict::Either => false,
    };
    (!is_expected).then_some(does)
}

fn is_in(read: &Value, expected: &Value) -> bool {
    match (read, expected) {
        (_, Value::Null) => true,
        (Value::Object(read), Value::Object(expected)) => {
            read.iter().all(|(name, value)| is_in(value, expected.get(name).unwrap_or(&Value::Null)))
        }
        _ => read == expected,
    }
}

#[test]
fn blosc2_pure_rs_reads_the_metalayers_as_the_vectors_say() {
    let mut answers = Answers::new();
    for vector in read("metalayers.json") {
        let read = B2ndMeta::deserialize(&vector.bytes()).ok().map(|meta| {
            // The reader must also write back the values that it reads from a good vector.
            let is_good = vector.verdict == Verdict::Accept;
            assert!(!is_good || meta.serialize().unwrap() == vector.bytes(), "{}", vector.name);
            json!({
                "ndim": meta.ndim(),
                "shape": meta.shape,
                "chunkshape": meta.chunkshape,
                "blockshape": meta.blockshape,
                "dtype_format": meta.dtype_format,
                "dtype": meta.dtype,
            })
        });
        // blosc2-pure-rs reads a metalayer and checks in the same step that its numbers describe a valid array. So it
        // may refuse a metalayer whose numbers do not describe a valid array.
        let is_no_array = read.is_none() && !vector.values["no_array"].is_null();
        let Some(does) = does(&vector, read.as_ref()).filter(|_| !is_no_array) else { continue };
        answers.insert(vector.name, does.to_owned());
    }
    hold_answers("metalayers.json", PURE_RS, &answers);
}

fn of_chunks(schunk: &Schunk) -> Value {
    json!({ "nbytes": schunk.nbytes, "nchunks": schunk.chunks.len() })
}

fn of_array(array: &B2ndArray) -> Value {
    let mut values = of_chunks(&array.schunk);
    values["array"] = json!({
        "shape": array.meta.shape,
        "chunkshape": array.meta.chunkshape,
        "blockshape": array.meta.blockshape,
    });
    values
}

#[test]
fn blosc2_pure_rs_opens_the_frames_as_the_vectors_say() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frame.b2nd");
    let mut answers = Answers::new();
    for vector in read("frames.json") {
        let bytes = vector.bytes();
        fs::write(&path, &bytes).unwrap();
        let has = |name: &[u8]| bytes.windows(name.len()).any(|bytes| bytes == name);
        let read = if has(b"\xa4b2nd\xd2") || has(b"\xa7caterva\xd2") {
            b2nd_open(&path).ok().as_ref().map(of_array)
        } else {
            blosc2_schunk_open(path.to_str().unwrap()).ok().map(|_| json!({}))
        };
        let Some(does) = does(&vector, read.as_ref()) else { continue };
        answers.insert(vector.name, does.to_owned());
    }
    hold_answers("frames.json", PURE_RS, &answers);
}

/// rmp-serde is a reader for any `MessagePack`. It does not know the rules of a `b2nd` metalayer.
#[test]
fn rmp_serde_reads_the_metalayers_as_the_vectors_say() {
    let mut answers = Answers::new();
    for vector in read("metalayers.json") {
        let read = rmp_serde::from_slice::<Seven>(&vector.bytes()).ok().map(|seven| json!(seven));
        let Some(does) = does(&vector, read.as_ref()) else { continue };
        answers.insert(vector.name, does.to_owned());
    }
    hold_answers("metalayers.json", RMP_SERDE, &answers);
}

#[test]
fn the_comparison_has_the_counts_of_the_vectors() {
    let page = fs::read_to_string(root().join("docs/COMPARE.md")).unwrap();
    let others = fs::read_to_string(root().join("tests/vectors/others.json")).unwrap();
    let others: BTreeMap<String, BTreeMap<String, Answers>> = serde_json::from_str(&others).unwrap();
    for (file, bytes) in [("metalayers.json", "metalayers"), ("frames.json", "frames")] {
        let vectors = read(file);
        // `others.json` also has entries for opening a frame with the metalayer. Their names contain "opening".
        // docs/COMPARE.md has no rows for these entries, so they are skipped.
        let others = others[file].iter().filter(|(who, _)| !who.contains("opening"));
        for (who, answers) in
            others.map(|(who, answers)| (&**who, answers)).chain([("this project", &Answers::new())])
        {
            let [good, bad] = [Verdict::Accept, Verdict::Refuse].map(|verdict| {
                let names =
                    vectors.iter().filter(|vector| vector.verdict == verdict).map(|vector| &vector.name);
                let right = names.clone().filter(|name| !answers.contains_key(*name)).count();
                format!("{right} of {}", names.count())
            });
            let row = format!("| {bytes} | {who} | {good} | {bad} |\n");
            assert!(page.contains(&row), "{row}");
        }
    }
}
