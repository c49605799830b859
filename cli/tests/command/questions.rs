//! `b2nd ls`: filters by dtype and rank, files of other programs, damaged sizes, and stores at URLs.

use std::fs;

use serde_json::Value;

use crate::json::schema;
use crate::ls::paths;
use crate::run::{folder, objects, run, text};
use b2nd_lab::data;

#[test]
fn arrays_of_a_dtype_and_rank_are_listed() {
    let folder = folder();
    let found = |arguments: &[&str]| {
        let output = run(folder.path(), &[&["ls", "--json", "--ext", "b2nd,bin,b2z"], arguments].concat());
        let mut found = paths(&objects(&output));
        found.retain(|path| !path.starts_with("bad/"));
        found
    };
    let [a, large, small] = ["images/2024/a.b2nd", "tree.b2z group/large.b2nd", "tree.b2z group/small.b2nd"];
    assert_eq!(found(&["--dtype", "int32"]), [a, small]);
    assert_eq!(found(&["--dtype", "<i4", "--ndim", "2"]), [a]);
    assert_eq!(found(&["--dtype", ">i4"]), [""; 0]);
    // A dtype name matches both byte orders.
    assert_eq!(found(&["--dtype", "uint16"]), ["sparse.b2nd"]);
    assert_eq!(found(&["--dtype", ">u2"]), ["sparse.b2nd"]);
    assert_eq!(found(&["--dtype", "<u2"]), [""; 0]);
    // If an option has several values, an array must match only one of them.
    assert_eq!(found(&["--dtype", "int32, int64"]), [a, large, small]);
    assert_eq!(
        found(&["--dtype", "int32", "--dtype", "i8", "--ndim", "1", "--ndim", "2"]),
        [a, large, small]
    );
    assert_eq!(found(&["--ndim", "0,16"]), ["rank16.b2nd", "scalar.b2nd"]);
    assert_eq!(found(&["--dtype", "[('größe', '<f4'), ('名前', '<U3')]"]), ["images/named_otherwise.bin"]);

    let rows = run(folder.path(), &["ls", "--dtype", "int32", "tree.b2z", "chunks_only.b2frame"]);
    assert_eq!((text(&rows.stdout).lines().count(), text(&rows.stderr)), (1, ""), "no store, no chunks");
    let rows = run(folder.path(), &["ls", "--ndim", "5", "images"]);
    assert_eq!((rows.status.code(), text(&rows.stderr)), (Some(0), "b2nd: no match among 3 arrays\n"));
    let summary = &objects(&run(folder.path(), &["ls", "--summary", "--json", "--ndim", "1", "images"]))[0];
    assert_eq!(summary["arrays"], 2);
    let output = run(folder.path(), &["ls", "--dtype", "float33"]);
    assert!(output.status.code() == Some(2) && text(&output.stderr).contains("'float33': "));
    assert_eq!(run(folder.path(), &["ls", "--ndim", "17"]).status.code(), Some(2));
}

#[test]
fn an_index_is_marked_with_the_array_that_it_is_of() {
    let folder = tempfile::tempdir().unwrap();
    // The second name is that of an index, as python-blosc2 names it. The other names are only similar.
    let names = ["a.b2nd", "a.__index__.bucket.summary.chunk.b2nd", "a.__index__.b2nd", "__index__.b2nd"];
    for name in names {
        fs::copy(data().join("int32_3x5.b2nd"), folder.path().join(name)).unwrap();
    }
    let listed = objects(&run(folder.path(), &["ls", "--json"]));
    for object in &listed {
        let expected = (object["path"] == names[1]).then(|| Value::from("a"));
        assert_eq!(object.get("index_of"), expected.as_ref(), "{object}");
        assert!(schema().is_valid(object), "{object}");
    }
    let rows = run(folder.path(), &["ls", names[1]]);
    assert!(text(&rows.stdout).ends_with(&format!("  {}  index of a\n", names[1])), "{}", text(&rows.stdout));
    let page = run(folder.path(), &["info", names[1]]);
    assert!(text(&page.stdout).contains("\nindex of: a\n"), "{}", text(&page.stdout));
}

#[test]
fn a_packed_tensor_has_its_shape_and_dtype() {
    let folder = tempfile::tempdir().unwrap();
    // Three values as `blosc2.save_array` writes them: with tuples that are marked as such, with plain lists, and with
    // a structured dtype.
    let marked = b"\x94\xa9__tuple__\xa5numpy\x94\xa9__tuple__\x03\x00\x05\xa3<f4";
    let plain = b"\x93\xa5torch\x92\x03\x00\xa3<i8";
    let fields = b"\x93\xa5numpy\x91\x00\x92\x93\xa9__tuple__\xa1a\xa3<f4\x93\xa9__tuple__\xa1b\xa3<i2";
    let tensor = |name: &str, value: &[u8]| {
        let layer = ("__pack_tensor__", &*b2nd_lab::stored_chunk(value));
        fs::write(folder.path().join(name), b2nd_lab::frame_of(&[], &[layer])).unwrap();
    };
    tensor("fields.b2nd", fields);
    tensor("marked.b2nd", marked);
    tensor("other.b2nd", b"\x93\xa5numpy");
    tensor("plain.b2nd", plain);
    let output = run(folder.path(), &["ls", "--all"]);
    let cells: Vec<Vec<&str>> = text(&output.stdout)
        .lines()
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert_eq!(cells[0][..1], ["0"], "{cells:?}");
    assert_eq!((cells[1][0], cells[1][3]), ("3,0,5", "float32"));
    assert_eq!((cells[2][0], cells[2][3]), ("-", "0 chunks, V4"));
    assert_eq!((cells[3][0], cells[3][3]), ("3,0", "int64"));
    let page = run(folder.path(), &["info", "marked.b2nd"]);
    assert!(
        text(&page.stdout).contains("\ntensor  : numpy\nshape   : (3, 0, 5)\ndtype   : float32\n"),
        "{}",
        text(&page.stdout)
    );
    let objects = objects(&run(folder.path(), &["ls", "--all", "--json"]));
    assert!(objects.iter().all(|object| schema().is_valid(object)));
    let fields = ["packed_tensor", "shape", "dtype", "ndim", "itemsize", "nbytes"];
    let tensors: Vec<_> = objects.iter().map(|object| fields.map(|field| object[field].clone())).collect();
    assert_eq!(
        serde_json::json!(tensors),
        serde_json::json!([
            ["numpy", [0], "[('a', '<f4'), ('b', '<i2')]", 1, 6, 0],
            ["numpy", [3, 0, 5], "<f4", 3, 4, 0],
            [null, null, null, null, null, null],
            ["torch", [3, 0], "<i8", 2, 8, 0],
        ])
    );
    let listed = paths(&crate::run::objects(&run(
        folder.path(),
        &["ls", "--ndim", "2", "--dtype", "int64", "--json"],
    )));
    assert_eq!(listed, ["plain.b2nd"]);
}

#[test]
fn an_empty_file_with_an_extension_of_another_program_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in
        [("a.mla", ""), ("b.MB2ND", ""), ("c.mla", "other"), ("d.txt", ""), ("e.mla.gz", "")]
    {
        fs::write(folder.path().join(name), content).unwrap();
    }
    for command in ["ls", "check", "chunks"] {
        let output = run(folder.path(), &[command, "--json"]);
        assert_eq!(paths(&objects(&output)), ["a.mla", "b.MB2ND"], "{command}");
        assert_eq!(output.status.code(), Some(1));
    }
    let output = run(folder.path(), &["ls", "a.mla"]);
    assert_eq!(text(&output.stderr), "b2nd: a.mla: not a Blosc2 frame: the file is empty\n");
    let output = run(folder.path(), &["ls", "c.mla"]);
    assert!(text(&output.stderr).contains("; `b2nd ls --scan` looks for frames inside"));
}

#[test]
fn damaged_sizes_are_in_no_sum_and_no_order() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    fs::write(folder.path().join("whole.b2nd"), &whole).unwrap();
    // Each case changes the first byte of nbytes or cbytes in the header, or of a length in the shape. The number
    // becomes negative or too large.
    for (name, at, byte) in [
        ("nbytes.b2nd", 30, 0x80),
        ("cbytes.b2nd", 39, 0xff),
        ("large.b2nd", 39, 0x7f),
        ("shape.b2nd", 117, 0x40),
    ] {
        let mut damaged = whole.clone();
        damaged[at] = byte;
        fs::write(folder.path().join(name), damaged).unwrap();
    }
    let lines = objects(&run(folder.path(), &["ls", "--json"]));
    let line = |name: &str| lines.iter().find(|line| line["path"] == name).unwrap();
    for line in &lines {
        assert!(schema().is_valid(line), "{line}");
    }
    let sizes = |name| ["nbytes", "stored_nbytes", "cbytes"].map(|size| line(name)[size].as_i64());
    assert_eq!(sizes("whole.b2nd"), [Some(60), Some(128), Some(256)]);
    assert_eq!(sizes("nbytes.b2nd"), [None, None, Some(256)]);
    assert_eq!(sizes("shape.b2nd"), [None, None, Some(256)]);
    assert_eq!(sizes("large.b2nd"), [Some(60), Some(128), None]);
    assert_eq!(sizes("cbytes.b2nd"), [None; 3]);
    assert_eq!(lines.iter().filter(|line| line["cratio"].is_null()).count(), 4);
    let rows = run(folder.path(), &["ls", "--long"]);
    assert!(
        !text(&rows.stdout).contains("iB") && text(&rows.stdout).contains(" - "),
        "{}",
        text(&rows.stdout)
    );
    let summary = objects(&run(folder.path(), &["ls", "--summary", "--json"])).remove(0);
    assert!(schema().is_valid(&summary), "{summary}");
    let sums = ["arrays", "nbytes", "stored_nbytes", "cbytes", "without_sizes"]
        .map(|name| summary[name].as_i64().unwrap());
    assert_eq!(sums, [5, 60, 128, 256, 4]);
    let summary = run(folder.path(), &["ls", "--summary"]);
    let words = "not included: 4 arrays with uncertain sizes, because of errors in the header";
    assert!(text(&summary.stdout).contains(words), "{}", text(&summary.stdout));
    for (by, field) in [("size", "nbytes"), ("ratio", "cratio"), ("stored", "cbytes")] {
        for order in [&[][..], &["--reverse"]] {
            let listed = objects(&run(folder.path(), &[&["ls", "--json", "--sort", by], order].concat()));
            assert!(listed.is_sorted_by_key(|line| line[field].is_null()), "{by}: the unknown is last");
        }
    }
}

#[cfg(feature = "remote")]
#[test]
fn a_store_at_a_url_is_listed_as_the_file_is() {
    let names = ["table.b2z", "nested.b2z", "tree.b2z"];
    let file = |name: &str| (format!("bucket/{name}"), fs::read(data().join(name)).unwrap());
    let server = crate::server::Server::with(names.map(file).into());
    for name in names {
        for arguments in [&["ls"][..], &["check", "-q"], &["info"]] {
            let url = format!("s3://bucket/{name}");
            let [local, remote] = [name, &url].map(|address| server.run(&[arguments, &[address]].concat()));
            let without = |output: &[u8]| String::from_utf8_lossy(output).replace("s3://bucket/", "");
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let [stdout, expected] = [&remote, &local].map(|output| without(&output.stdout));
            assert_eq!(words(&stdout), words(&expected), "{arguments:?} {name}");
            assert_eq!(without(&remote.stderr), without(&local.stderr), "{arguments:?} {name}");
        }
    }
    for member in ["group/table", "/group/table", "/array"] {
        let url = format!("s3://bucket/nested.b2z:{member}");
        let [local, remote] =
            [&format!("nested.b2z:{member}"), &url].map(|address| server.run(&["info", address]));
        assert!(remote.status.success(), "{}", text(&remote.stderr));
        assert_eq!(text(&remote.stdout).replace("s3://bucket/", ""), text(&local.stdout));
    }
}
