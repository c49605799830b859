//! `b2nd diff` and `b2nd explain`.

use std::fs;
use std::path::Path;

use crate::run::{header, npy, objects, run, screen, snapshot, text};
use b2nd_frame::{FindingCode, FrameBuilder, SpecialValue};
use b2nd_lab::{chunk_of_zeros, data, frame_of, stored_chunk};
use b2nd_serde::{Meta, Shapes};
use serde_json::json;

#[test]
fn what_differs_is_shown_and_counts_in_the_exit_status() {
    let pairs = [["int32_3x5.b2nd", "vlmetalayers.b2nd"], ["sparse.b2nd", "int32_3x5.b2nd"]];
    let mut screens = String::new();
    for pair in pairs {
        let output = run(&data(), &[&["diff"], &pair[..]].concat());
        assert_eq!(output.status.code(), Some(1));
        screens += &screen(&output);
    }
    screens += &screen(&run(&data(), &["diff", "peers/store.b2e", "scalar.b2nd"]));
    snapshot("diff", &screens);
}

#[test]
fn diff_of_folders_names_the_help() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("a")).unwrap();
    let output = run(folder.path(), &["diff", "a", "a"]);
    assert_eq!(
        text(&output.stderr),
        "b2nd: a: a directory without chunks.b2frame, so not a sparse frame; \
         `b2nd diff --help` shows how to compare the files of two folders\n"
    );
}

#[test]
fn the_items_are_not_compared_without_data() {
    let folder = tempfile::tempdir().unwrap();
    let mut other = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    other[200] ^= 1;
    fs::write(folder.path().join("other.b2nd"), other).unwrap();
    let path = data().join("int32_3x5.b2nd");
    let output = run(folder.path(), &["diff", path.to_str().unwrap(), "other.b2nd"]);
    assert_eq!(
        (output.status.code(), text(&output.stdout), text(&output.stderr)),
        (Some(0), "", "b2nd: the items were not compared; use --data\n")
    );
    let output = run(folder.path(), &["diff", "--data", path.to_str().unwrap(), "other.b2nd"]);
    assert_eq!(output.status.code(), Some(1));
    let json = run(folder.path(), &["diff", "--json", "other.b2nd", "other.b2nd"]);
    assert_eq!(
        objects(&json),
        [json!({ "schema": 1, "a": "other.b2nd", "b": "other.b2nd", "differences": [] })]
    );
}

/// The arrays have different chunks, byte orders and item sizes. `lab/interop/values.py` tests random arrays, and
/// compares the results with NumPy.
#[test]
fn items_are_compared_by_their_values() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, descr: &str, shape: &str, items: &[u8], options: &[&str]| {
        fs::write(folder.path().join("items.npy"), npy(&header(descr, shape), items)).unwrap();
        let arguments = [&["convert", "items.npy", name], options].concat();
        assert!(run(folder.path(), &arguments).status.success());
    };
    let floats = [1.0, f32::NAN, -0.0, f32::INFINITY, 5.0, 6.5];
    let equal: Vec<u8> = floats.into_iter().flat_map(|float| (float + 0.0).to_be_bytes()).collect();
    let floats = floats.map(f64::from);
    let bytes = |items: &[f64]| items.iter().copied().flat_map(f64::to_le_bytes).collect::<Vec<u8>>();
    write("a.b2nd", "'<f8'", "(2, 3)", &bytes(&floats), &[]);
    write("equal.b2nd", "'>f4'", "(2, 3)", &equal, &["--chunks", "1,2", "--blocks", "1,1"]);
    let near = bytes(&[1.0, f64::NAN, 0.5, f64::INFINITY, 5.0, 7.0]);
    write("near.b2nd", "'<f8'", "(2, 3)", &near, &[]);
    write("integers.b2nd", "'|i1'", "(2, 3)", &[1, 2, 0, 4, 5, 7], &[]);
    write("texts.b2nd", "'|S1'", "(2, 3)", b"abcdef", &[]);
    write("long.b2nd", "'<f8'", "(3, 2)", &bytes(&floats), &[]);
    let struct_of = |point: &str| format!("[('a', '|u1'), ('b', '<f8', (2,)), ('c', '{point}')]");
    let items = |last: &[u8]| [&[7], &bytes(&[0.5, 1.5])[..], last].concat();
    write("struct.b2nd", &struct_of("|S2"), "()", &items(b"xy"), &[]);
    write("padded.b2nd", &struct_of("|S4"), "()", &items(b"xy\0\0"), &[]);
    write("other.b2nd", &struct_of("|S2"), "()", &items(b"xz"), &[]);
    let mut screens = String::new();
    for (pair, options, status) in [
        (["a.b2nd", "equal.b2nd"], &[][..], 1),
        (["a.b2nd", "near.b2nd"], &[], 1),
        (["a.b2nd", "near.b2nd"], &["--tolerance", "0.5"], 0),
        (["a.b2nd", "integers.b2nd"], &["--tolerance", "0.5"], 1),
        (["a.b2nd", "texts.b2nd"], &[], 1),
        (["a.b2nd", "long.b2nd"], &[], 1),
        (["struct.b2nd", "padded.b2nd"], &[], 1),
        (["struct.b2nd", "other.b2nd"], &[], 1),
        (["struct.b2nd", "other.b2nd"], &["--json"], 1),
        (["a.b2nd", "near.b2nd"], &["--tolerance=-1"], 2),
        (["a.b2nd", "near.b2nd"], &["--tolerance", "nan"], 2),
    ] {
        let output = run(folder.path(), &[&["diff", "--data"], options, &pair].concat());
        assert_eq!(output.status.code(), Some(status), "{pair:?}: {}", text(&output.stdout));
        let options = options.join(" ");
        screens += &[format!("$ b2nd diff --data {options} {}\n", pair.join(" ")), screen(&output)].concat();
    }
    snapshot("diff_data", &screens);
}

/// An array of int64 in constant chunks of 128 MiB. All chunks repeat `value`, except the chunk in `other`, which
/// repeats its own value.
fn constant_array(path: &Path, value: i64, other: Option<(u64, i64)>) {
    let shapes = Shapes { shape: &[1 << 36], chunkshape: &[1 << 24], blockshape: &[1 << 15] };
    let mut writer = FrameBuilder::new(Meta::new(shapes, "<i8").unwrap()).create(path).unwrap();
    if let Some((number, other)) = other {
        writer.write_repeated(number, &other.to_le_bytes()).unwrap();
    }
    if value == 0 {
        writer.fill_missing(SpecialValue::Zeros).unwrap();
    } else {
        while let Some(number) = writer.first_missing() {
            writer.write_repeated(number, &value.to_le_bytes()).unwrap();
        }
    }
    writer.finish().unwrap().persist().unwrap();
}

/// Each array has 512 GiB, so the test does not end if the items are decompressed.
#[test]
fn diff_data_compares_constant_chunks_without_their_items() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    constant_array(&path("zeros.b2nd"), 0, None);
    constant_array(&path("more_zeros.b2nd"), 0, None);
    constant_array(&path("sevens.b2nd"), 7, Some((3, 8)));
    constant_array(&path("one.b2nd"), 0, Some((5, 1)));
    let diff = |pair: [&str; 2]| run(folder.path(), &[&["diff", "--data", "--json"], &pair[..]].concat());
    assert_eq!(diff(["zeros.b2nd", "more_zeros.b2nd"]).status.code(), Some(0));
    assert_eq!(diff(["sevens.b2nd", "sevens.b2nd"]).status.code(), Some(0));
    let data = |pair| objects(&diff(pair))[0]["differences"][0].clone();
    let expected = json!({ "field": "data", "a": 7, "b": 0, "index": [0], "different": 1_u64 << 36 });
    assert_eq!(data(["sevens.b2nd", "zeros.b2nd"]), expected);
    let expected = json!({ "field": "data", "a": 0, "b": 1, "index": [5 << 24], "different": 1 << 24 });
    assert_eq!(data(["zeros.b2nd", "one.b2nd"]), expected);
}

/// The chunks use the codec of a plugin, so their items cannot be read.
#[test]
fn diff_data_compares_equal_stored_chunks_without_decompression() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = data().join("peers/plugin_codec.b2nd");
    let copy = folder.path().join("copy.b2nd");
    fs::copy(&plugin, &copy).unwrap();
    let output = run(folder.path(), &["diff", "--data", plugin.to_str().unwrap(), "copy.b2nd"]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

#[test]
fn diff_data_has_no_tolerance_for_bools() {
    let folder = tempfile::tempdir().unwrap();
    for (name, items) in [("a", [0, 1]), ("b", [1, 1])] {
        fs::write(folder.path().join("items.npy"), npy(&header("'|b1'", "(2,)"), &items)).unwrap();
        assert!(run(folder.path(), &["convert", "items.npy", &format!("{name}.b2nd")]).status.success());
        fs::remove_file(folder.path().join("items.npy")).unwrap();
    }
    let output = run(folder.path(), &["diff", "--data", "--tolerance", "1", "a.b2nd", "b.b2nd"]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn numbers_of_the_header_and_of_the_metalayer_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let path = data().join("int32_3x5.b2nd");
    // Each case changes the last byte of a number.
    for (at, byte, field, values) in [
        (84, 3, "filters_meta", [json!([0]), json!([3])]),
        (113, 1, "version", [json!(0), json!(1)]),
        (156, 1, "dtype_format", [json!(0), json!(1)]),
    ] {
        let mut other = whole.clone();
        other[at] = byte;
        fs::write(folder.path().join("other.b2nd"), other).unwrap();
        let output = run(folder.path(), &["diff", "--json", path.to_str().unwrap(), "other.b2nd"]);
        assert_eq!(output.status.code(), Some(1), "{field}: {}", text(&output.stdout));
        assert!(crate::json::schema().is_valid(&objects(&output)[0]), "{field}");
        let differences = &objects(&output)[0]["differences"];
        let [a, b] = values;
        assert!(
            differences.as_array().unwrap().contains(&json!({ "field": field, "a": a, "b": b })),
            "{field}: {differences}"
        );
    }
}

#[test]
fn trouble_is_status_2() {
    for pair in [["none", "scalar.b2nd"], ["scalar.b2nd", "README.md"], ["scalar.b2nd", "."]] {
        let output = run(&data(), &[&["diff"], &pair[..]].concat());
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""), "{pair:?}");
        assert_eq!(text(&output.stderr).lines().count(), 1, "{}", text(&output.stderr));
        let json = run(&data(), &[&["diff", "--json"], &pair[..]].concat());
        assert_eq!(json.status.code(), Some(2));
        assert!(objects(&json)[0]["error"]["message"].is_string());
    }
}

#[test]
fn metalayers_are_compared_by_their_values() {
    let folder = tempfile::tempdir().unwrap();
    // The value of `same` is 7 in both frames, encoded in one byte or in two.
    let a = frame_of(&[("same", b"\x07"), ("n", b"\x01")], &[("v", &stored_chunk(b"\xa1a"))]);
    let b = frame_of(&[("same", b"\xcc\x07"), ("n", b"\x02")], &[("w", &stored_chunk(b"\xa1a"))]);
    fs::write(folder.path().join("a"), a).unwrap();
    fs::write(folder.path().join("b"), b).unwrap();
    let output = run(folder.path(), &["diff", "--json", "a", "b"]);
    let expected = json!([
        { "field": "meta", "name": "n", "a": 1, "b": 2 },
        { "field": "vlmeta", "name": "v", "a": "a" },
        { "field": "vlmeta", "name": "w", "b": "a" },
    ]);
    assert_eq!(objects(&output)[0]["differences"], expected);
}

#[test]
fn of_a_long_value_no_more_is_shown_than_of_others() {
    let folder = tempfile::tempdir().unwrap();
    // Two frames with ten values of half a MiB each. A value has only a few compressed bytes.
    for (name, nbytes) in [("a", 500_000), ("b", 500_001)] {
        let chunk = chunk_of_zeros(nbytes);
        let names: Vec<_> = (0..10).map(|number| format!("v{number}")).collect();
        let layers: Vec<_> = names.iter().map(|name| (&**name, &*chunk)).collect();
        fs::write(folder.path().join(name), frame_of(&[], &layers)).unwrap();
    }
    for (arguments, longest, words) in [
        (&["diff"][..], 10 * 800, "(1000002 bytes, hash "),
        (&["diff", "--json"], 10 * 200, "\"1000002 bytes, hash "),
        (&["diff", "--json", "--meta"], 17 << 20, "\"1000002 bytes, hash "),
    ] {
        let output = run(folder.path(), &[arguments, &["a", "b"]].concat());
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
        let shown = text(&output.stdout);
        assert!(shown.len() < longest && shown.contains(words), "{arguments:?}: {} bytes", shown.len());
        assert_eq!(shown.matches("v9").count(), 1);
    }
    let output = run(folder.path(), &["info", "--json", "a"]);
    assert!(output.stdout.len() < 1 << 18, "{} bytes", output.stdout.len());
    let layer = &objects(&output)[0]["vlmetalayers"][0];
    let error = "metalayer v0: 500000 bytes (488.3 KiB) are too many to show without --meta";
    assert_eq!((&layer["value"], &layer["error"]), (&json!(null), &json!(error)));
    fs::write(folder.path().join("one"), frame_of(&[], &[("v0", &chunk_of_zeros(500_000))])).unwrap();
    let whole = run(folder.path(), &["info", "--json", "--meta", "one"]);
    assert_eq!(objects(&whole)[0]["vlmetalayers"][0]["value"].as_str().unwrap().len(), 1_000_000);
    // Without `--meta`, JSON has values of up to 64 KiB, but the text shows only the start of a value above 200 bytes.
    let [c, d] = [b"\xda\x01\x2b", b"\xda\x01\x2c"].map(|marker| {
        let len = usize::from(marker[2]) + 256;
        frame_of(&[("m", &[&marker[..], &vec![b'x'; len]].concat())], &[])
    });
    fs::write(folder.path().join("c"), c).unwrap();
    fs::write(folder.path().join("d"), d).unwrap();
    let output = run(folder.path(), &["diff", "--json", "c", "d"]);
    assert_eq!(objects(&output)[0]["differences"][0]["a"].as_str().unwrap().len(), 299);
    let output = run(folder.path(), &["diff", "c", "d"]);
    assert!(text(&output.stdout).contains("xxx… (301 bytes, hash "), "{}", text(&output.stdout));
    let output = run(folder.path(), &["diff", "--meta", "c", "d"]);
    assert!(text(&output.stdout).contains(&"x".repeat(300)), "{}", text(&output.stdout));
}

#[test]
fn a_code_is_explained_with_its_cause_and_cure() {
    snapshot("explain", &screen(&run(&data(), &["explain", "interrupted-resize", "io"])));
    let listed = run(&data(), &["explain"]);
    let names: Vec<_> = text(&listed.stdout).lines().map(|line| line.split(' ').next().unwrap()).collect();
    for code in FindingCode::ALL {
        assert!(names.contains(&code.name()), "{code}");
        assert!(code.cause().ends_with('.'), "{code}");
    }
    let schema = crate::json::schema_text();
    let kinds = schema["$defs"]["error"]["properties"]["kind"]["description"].as_str().unwrap();
    let kinds = kinds.strip_prefix("The code of a finding, or ").unwrap().trim_end_matches('.');
    for kind in kinds.split(", ") {
        assert!(names.contains(&kind), "{kind}");
    }
    assert_eq!(
        kinds.split(", ").count() + FindingCode::ALL.len(),
        names.len(),
        "the schema names all failures"
    );
    let output = run(&data(), &["explain", "--json"]);
    assert_eq!(objects(&output).len(), names.len());
    let unknown = run(&data(), &["explain", "no-such-code"]);
    assert_eq!(text(&unknown.stderr), "b2nd: there is no code 'no-such-code'; `b2nd explain` lists all\n");
    let similar = run(&data(), &["explain", "truncted"]);
    let message = "b2nd: there is no code 'truncted'; did you mean 'truncated'? `b2nd explain` lists all\n";
    assert_eq!((similar.status.code(), text(&similar.stderr)), (Some(2), message));
}
