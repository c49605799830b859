//! Compares the output of `--json` with its schema and with NumPy.

use std::fs;

use crate::run::{folder, objects, run, text};
use b2nd_lab::{corpus, data, root};
use b2nd_serde::Layout;
use jsonschema::Validator;
use serde_json::{Value, json};

pub(crate) fn schema_text() -> Value {
    serde_json::from_str(&fs::read_to_string(root().join("docs/b2nd.schema.json")).unwrap()).unwrap()
}

pub(crate) fn schema() -> Validator {
    jsonschema::validator_for(&schema_text()).unwrap()
}

/// The schema of one kind of object.
pub(crate) fn of(kind: &str) -> Validator {
    let mut schema = schema_text();
    schema["oneOf"] = json!([{ "$ref": format!("#/$defs/{kind}") }]);
    jsonschema::validator_for(&schema).unwrap()
}

#[test]
fn no_character_gets_to_a_terminal_that_controls_it_or_turns_its_text() {
    let folder = tempfile::tempdir().unwrap();
    let unsafe_text = "a\u{1b}\u{7f}\u{9b}2J\u{202e}\u{2066}é";
    let value = [&[0xa0 + u8::try_from(unsafe_text.len()).unwrap()], unsafe_text.as_bytes()].concat();
    let name = format!("{}.b2nd", unsafe_text.replace('\u{1b}', ""));
    fs::write(folder.path().join(&name), b2nd_lab::frame_of(&[("m", &value)], &[])).unwrap();
    for arguments in [&["info", "--json", "--meta"][..], &["ls", "--json", "--all"], &["dump", "--json"]] {
        let output = run(folder.path(), &[arguments, &[&name]].concat());
        let line = text(&output.stdout);
        let is_unsafe = |c: char| c.is_control() && c != '\n' || "\u{202e}\u{2066}".contains(c);
        assert!(!line.contains(is_unsafe) && line.contains("\\u009b2J\\u202e\\u2066é"), "{line}");
        assert_eq!(objects(&output)[0]["path"], *name);
    }
    let output = run(folder.path(), &["info", "--json", "--meta", &name]);
    assert_eq!(objects(&output)[0]["metalayers"][0]["value"], unsafe_text);
}

#[test]
fn the_schema_names_every_layout() {
    let schema = schema_text();
    let enumerated = |kind: &str| schema["$defs"][kind]["properties"]["layout"]["enum"].clone();
    let mut names: Vec<_> = Layout::ALL.iter().map(|layout| json!(layout.name())).collect();
    assert_eq!(enumerated("metalayer"), json!(names));
    names.push(Value::Null);
    assert_eq!(enumerated("frame"), json!(names));
}

#[test]
fn every_object_is_as_the_schema_says() {
    let folder = folder();
    let schema = schema();
    let shapes = ["--shape", "3,5", "--chunks", "2,3", "--blocks", "1,2", "--dtype"];
    let encode = |dtype| [&["encode", "--json"], &shapes[..], &[dtype]].concat();
    fs::copy(data().join("table.b2z"), folder.path().join("table.b2z")).unwrap();
    let cases: [(&[&str], &str, usize); 37] = [
        (&["check", "--json", "--summary"], "checked", 1),
        (&["check", "--json", "--summary", "scalar.b2nd"], "checked", 1),
        (&["chunks", "--json", "--damaged", "images", "none"], "failure", 1),
        (&["dump", "--json", "--chunk", "0", "scalar.b2nd"], "dump", 1),
        (&["ls", "--json", "images"], "frame", 3),
        (&["ls", "--json", "bad/cut.b2nd", "bad/marker.b2nd", "none"], "failure", 3),
        (&["ls", "--json", "--summary", "images", "tree.b2z"], "summary", 1),
        (&["ls", "--json", "--sort", "ratio", "-n", "2", "images"], "frame", 2),
        (&["ls", "--json", "--scan", "tree.b2z"], "frame", 2),
        (&["ls", "--json", "--long", "tree.b2z", "table.b2z"], "frame", 4),
        (
            &["info", "--json", "rank16.b2nd", "squeezed.caterva", "chunks_only.b2frame", "sparse.b2nd"],
            "frame",
            4,
        ),
        (&["info", "--json", "--meta", "images/2024/b.b2nd", "tree.b2z"], "frame", 2),
        (&["info", "--json", "bad/zeroed.b2nd", "images"], "failure", 2),
        (&["check", "--json", "bad/resized.b2nd", "tree.b2z"], "frame", 5),
        (&["check", "--json", "--chunks", "tree.b2z", "sparse.b2nd"], "frame", 5),
        (&["chunks", "--json", "sparse.b2nd"], "chunk", 4),
        (&["chunks", "--json", "images", "tree.b2z"], "chunk", 13),
        (&["chunks", "--json", "bad/zeroed.b2nd", "none"], "failure", 2),
        (&encode("<i4"), "metalayer", 1),
        (&encode("int33"), "failure", 1),
        (&["decode", "--json", "--hex", "97c0"], "failure", 1),
        (&["dump", "--json", "scalar.b2nd"], "dump", 1),
        (&["dump", "--json", "bad/marker.b2nd"], "dump", 1),
        (&["dump", "--json", "--chunks", "--trailer", "sparse.b2nd"], "dump", 1),
        (&["diff", "--json", "scalar.b2nd", "images/2024/b.b2nd"], "diff", 1),
        (&["diff", "--json", "scalar.b2nd", "none"], "failure", 1),
        (&["salvage", "--json", "--dry-run", "bad/cut.b2nd", "new.b2nd", "--assume-order"], "salvage", 1),
        (&["salvage", "--json", "--dry-run", "--into", "saved", "images"], "salvage", 3),
        (&["convert", "--json", "--into", "converted", "images/2024"], "conversion", 2),
        (&["explain", "--json", "old-layout", "io"], "explanation", 2),
        (&["cat", "--json", "scalar.b2nd"], "items", 1),
        (&["cat", "--json", "--slice", "...,1", "tree.b2z:group/small.b2nd"], "items", 1),
        (&["cat", "--json", "none"], "failure", 1),
        (&["info", "--json", "tree.b2z:group/small.b2nd", "tree.b2z@46"], "frame", 2),
        (&["chunks", "--json", "tree.b2z:group/small.b2nd"], "chunk", 1),
        (&["dump", "--json", "tree.b2z:group/small.b2nd"], "dump", 1),
        (&["check", "--json", "tree.b2z:none", "ftp://host/a.b2nd"], "failure", 2),
    ];
    for (arguments, kind, count) in cases {
        let output = run(folder.path(), arguments);
        let objects = objects(&output);
        assert_eq!(objects.len(), count, "{arguments:?}: {}", text(&output.stdout));
        for object in objects {
            // Commands that describe frames also describe stores. Only the object of a store has no `container`.
            let own = of(if kind == "frame" && object["container"].is_null() { "store" } else { kind });
            let wrong: Vec<String> = own.iter_errors(&object).map(|error| error.to_string()).collect();
            assert!(wrong.is_empty(), "{arguments:?}: {wrong:?}: {object}");
            assert!(schema.is_valid(&object), "one kind, and one only: {object}");
        }
    }
    assert!(!schema.is_valid(&json!({ "path": "x" })), "the schema refuses something");
}

#[test]
fn the_keys_of_an_array_are_these_in_this_order() {
    let output = run(&data(), &["ls", "--json", "int32_3x5.b2nd"]);
    let expected =
        r#"{"schema":1,"path":"int32_3x5.b2nd","address":"int32_3x5.b2nd","member":null,"offset":0,"container":"cframe","kind":"NDArray","metalayer":"b2nd","#
            .to_owned()
            + r#""layout":"b2nd","version":0,"ndim":2,"shape":[3,5],"chunks":[2,3],"blocks":[1,2],"#
            + r#""dtype_format":0,"dtype":"<i4","dtype_name":"int32","itemsize":4,"typesize":4,"nbytes":60,"stored_nbytes":128,"#
            + r#""cbytes":256,"cratio":0.5,"nchunks":4,"grid":[2,2],"blocks_per_chunk":[2,2],"padding":0.53125,"#
            + r#""codec":"zstd","codec_meta":0,"clevel":5,"split":"auto","dictionary":false,"filters":["shuffle"],"filters_meta":[0],"header_len":165,"frame_len":520,"#
            + r#""metalayers":[{"name":"b2nd","offset":112,"len":53}],"has_vlmetalayers":false,"#
            + r#""stale_bytes":0,"findings":[]}"#
            + "\n";
    assert_eq!(text(&output.stdout), expected);
}

#[test]
fn a_failure_has_its_path_kind_offset_and_message() {
    let folder = folder();
    let output = run(folder.path(), &["ls", "--json", "bad/marker.b2nd"]);
    let expected = json!({
        "schema": 1,
        "path": "bad/marker.b2nd",
        "address": "bad/marker.b2nd",
        "member": null,
        "error": {
            "kind": "damaged-array",
            "offset": 116,
            "message": "metalayer b2nd: expected int64 (0xd3) for shape[0], found int32 (0xd2)",
        },
    });
    assert_eq!(objects(&output), [expected]);
    assert_eq!(text(&output.stderr), "");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn arrays_are_what_numpy_said() {
    let expected = fs::read_to_string(data().join("expected.json")).unwrap();
    let expected: serde_json::Map<String, Value> = serde_json::from_str(&expected).unwrap();
    for (name, expected) in &expected {
        let output = run(&data(), &["ls", "--json", name]);
        let object = &objects(&output)[0];
        for (key, field) in
            [("shape", "shape"), ("chunks", "chunkshape"), ("blocks", "blockshape"), ("dtype", "dtype")]
        {
            assert_eq!(object[key], expected[field], "{name}: {key}");
        }
        assert_eq!(object["layout"], expected["layout"], "{name}");
        assert_eq!(object["stale_bytes"], expected["stale"], "{name}");
    }
}

#[test]
fn values_of_metalayers_are_json() {
    let output = run(&data(), &["info", "--json", "--meta", "vlmetalayers.b2nd"]);
    let object = &objects(&output)[0];
    assert_eq!(object["metalayers"][1]["value"], json!({ "serial": 7, "tags": ["a", "b"] }));
    assert_eq!(object["metalayers"][0].get("value"), None);
    assert_eq!(object["vlmetalayers"][0]["value"], "kelvin");
    assert_eq!(object["vlmetalayers"][1]["value"], "x".repeat(1000));
}

#[test]
fn a_value_that_cannot_be_shown_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let good = fs::read(data().join("vlmetalayers.b2nd")).unwrap();
    let layers =
        objects(&run(&data(), &["info", "--json", "--meta", "vlmetalayers.b2nd"]))[0]["vlmetalayers"].clone();
    let chunk = |layer: usize| usize::try_from(layers[layer]["offset"].as_u64().unwrap()).unwrap();
    let shown = |at: usize, bytes: &[u8]| {
        let mut file = good.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        fs::write(folder.path().join("bad.b2nd"), file).unwrap();
        let output = run(folder.path(), &["info", "--json", "--meta", "bad.b2nd"]);
        let object = objects(&output).remove(0);
        assert!(schema().is_valid(&object), "{object}");
        object["vlmetalayers"].clone()
    };
    // Bytes that are not one value of `MessagePack` are shown as hexadecimal digits.
    let stored = chunk(0) + 32;
    assert_eq!(shown(stored, b"\xd9\xff")[0]["value"], "d9ff656c76696e");
    assert_eq!(shown(stored, b"\x05")[0]["value"], "056b656c76696e");
    // A chunk of a few bytes whose header has an nbytes beyond the limit is not decompressed.
    let long = &shown(chunk(1) + 4, &(17_i32 << 20).to_le_bytes())[1];
    assert_eq!(
        (&long["value"], &long["error"]),
        (&Value::Null, &"metalayer note: 17825792 bytes (17 MiB) are too many to show".into())
    );
    // The chunk of one vlmetalayer is damaged. Its error is shown, and also the value of the other vlmetalayer.
    let damaged = shown(chunk(1) + 40, &[0xff; 12]);
    assert_eq!((&damaged[0]["value"], &damaged[1]["value"]), (&"kelvin".into(), &Value::Null));
    assert!(
        damaged[1]["error"].as_str().unwrap().starts_with("cannot decode metalayer `note`: "),
        "{damaged}"
    );
}

#[test]
fn an_interrupted_resize_is_named() {
    let folder = folder();
    let output = run(folder.path(), &["ls", "--json", "bad/resized.b2nd"]);
    assert_eq!(objects(&output)[0]["findings"][0]["code"], "interrupted-resize");
    assert_eq!(output.status.code(), Some(0), "it could be read");
}

#[test]
fn the_corpus_is_as_the_schema_says() {
    let Some((folder, _)) = corpus() else { return };
    let schema = schema();
    for arguments in [&["ls", "--json"][..], &["check", "--json"], &["ls", "--json", "--scan"]] {
        for object in objects(&run(&folder, arguments)) {
            assert!(schema.is_valid(&object), "{arguments:?}: {object}");
        }
    }
}
