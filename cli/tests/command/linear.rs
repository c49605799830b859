//! Arrays of `save_array` and `save_tensor` of python-blosc2, and super-chunks.

use std::fs;
use std::path::Path;

use b2nd_lab::data;

use crate::json::schema;
use crate::ls::paths;
use crate::run::{objects, run, text};

/// Runs the command in the folder of these frames.
fn linear(arguments: &[&str]) -> std::process::Output {
    run(&data().join("linear"), arguments)
}

fn copy(names: &[&str], folder: &Path) {
    for name in names {
        fs::copy(data().join(name), folder.join(Path::new(name).file_name().unwrap())).unwrap();
    }
}

/// The bytes of the items in a NumPy file.
fn items(npy: &[u8]) -> &[u8] {
    let end = npy.iter().position(|&byte| byte == b'\n').unwrap();
    &npy[end + 1..]
}

#[test]
fn cat_prints_the_items_that_python_stored() {
    let output = run(&data(), &["cat", "--slice", "3,24,7:", "packed.b2frame"]);
    assert_eq!(text(&output.stdout), "[997 998 999]\n");
    let output = linear(&["cat", "scalar.b2frame"]);
    assert_eq!(text(&output.stdout), "3.5\n");
    let output = linear(&["cat", "--slice", ":2", "struct_aligned.b2frame"]);
    assert_eq!(text(&output.stdout), "[(0, 0.0) (1, 0.5)]\n");
    let output = linear(&["cat", "--csv", "--slice", "1,::2,0", "ten_byte_chunks.b2frame"]);
    assert_eq!(text(&output.stdout), "15\n21\n27\n");
    let object = &objects(&linear(&["cat", "--json", "--slice", "0,0,:", "big_endian.b2frame"]))[0];
    assert_eq!(object["values"], serde_json::json!([0.0, 1.0, 2.0, 3.0]));
    let mut count = 0;
    for entry in fs::read_dir(data().join("linear")).unwrap() {
        let path = entry.unwrap().path();
        let Ok(expected) = fs::read(path.with_extension("items")) else { continue };
        let npy = linear(&["cat", "--npy", path.with_extension("b2frame").to_str().unwrap()]);
        assert!(items(&npy.stdout) == expected, "{path:?}: {}", text(&npy.stderr));
        count += 1;
    }
    assert!(count > 30, "{count}");
}

#[test]
fn a_named_super_chunk_is_an_array_of_one_dimension() {
    let output = linear(&["cat", "--slice", ":3", "bytes.b2frame"]);
    assert_eq!(text(&output.stdout), "[0 1 2]\n");
    let output = linear(&["cat", "--slice", "258", "four_byte_items.b2frame"]);
    assert_eq!(text(&output.stdout), "b'\\x02\\x01\\x00\\x00'\n");
    let output = linear(&["cat", "--slice", "-1", "incomplete_item.b2frame"]);
    assert_eq!(text(&output.stdout), "249\n");
    let output = linear(&["cat", "inserted.b2frame"]);
    assert!(text(&output.stderr).contains("inserted.b2frame: the chunks have different sizes"));
    assert_eq!(output.status.code(), Some(1));

    // At an offset.
    let folder = tempfile::tempdir().unwrap();
    let bytes = fs::read(data().join("linear/bytes.b2frame")).unwrap();
    fs::write(folder.path().join("a.bin"), [b"before", &bytes[..]].concat()).unwrap();
    let output = run(folder.path(), &["cat", "--slice", "::100", "a.bin@6"]);
    assert_eq!(text(&output.stdout), "[  0 100 200]\n", "{}", text(&output.stderr));
}

#[test]
fn ls_lists_described_arrays_but_no_super_chunks() {
    let folder = tempfile::tempdir().unwrap();
    copy(&["packed.b2frame", "linear/bytes.b2frame", "int32_3x5.b2nd"], folder.path());
    let output = run(folder.path(), &["ls"]);
    let (rows, note) = (text(&output.stdout), text(&output.stderr));
    assert!(rows.contains("4,25,10  -    -    int32"), "{rows}");
    assert!(!rows.contains("bytes"), "{rows}");
    assert_eq!(note, "b2nd: 2 arrays, 1 frame without an array; --all lists frames without an array\n");
    let listed = objects(&run(folder.path(), &["ls", "--stats", "--json"]));
    assert!(listed.iter().all(|object| schema().is_valid(object)), "{listed:?}");
    assert_eq!(paths(&listed), ["int32_3x5.b2nd", "packed.b2frame"]);
    let stats = &listed[1]["stats"];
    assert_eq!((&stats["min"], &stats["max"], &stats["mean"]), (&0.into(), &999.into(), &499.5.into()));
    let summary = run(folder.path(), &["ls", "--summary"]);
    assert!(text(&summary.stdout).starts_with("2 arrays, 1 frame without an array\n"));
    let page = run(folder.path(), &["info", "--stats", "packed.b2frame"]);
    assert!(text(&page.stdout).contains("\nitems   : 0 to 999, mean 499.5"), "{}", text(&page.stdout));
}

#[test]
fn convert_makes_a_numpy_file_and_an_array_of_a_packed_tensor() {
    let folder = tempfile::tempdir().unwrap();
    copy(&["packed.b2frame", "linear/bytes.b2frame"], folder.path());
    let converted = |arguments: &[&str]| {
        let output = run(folder.path(), &[&["convert"], arguments].concat());
        (output.status.code(), text(&output.stderr).to_string())
    };
    assert_eq!(converted(&["packed.b2frame", "a.npy"]), (Some(0), String::new()));
    let expected: Vec<u8> = (0_i32..1000).flat_map(i32::to_le_bytes).collect();
    let npy = fs::read(folder.path().join("a.npy")).unwrap();
    assert!(items(&npy) == expected);
    let header = String::from_utf8_lossy(&npy[10..120]).to_string();
    assert!(header.contains("'descr': '<i4', 'fortran_order': False, 'shape': (4, 25, 10)"), "{header}");
    assert_eq!(converted(&["packed.b2frame", "a.b2nd"]), (Some(0), String::new()));
    let record = &objects(&run(folder.path(), &["info", "--json", "a.b2nd"]))[0];
    // The new array has a metalayer of its own, so the description is not copied.
    let fields = ["kind", "shape", "dtype", "has_vlmetalayers"].map(|field| record[field].clone());
    assert_eq!(serde_json::json!(fields), serde_json::json!(["NDArray", [4, 25, 10], "<i4", false]));
    let data = |a: &str, b: &str| run(folder.path(), &["diff", "--data", "--json", a, b]).stdout;
    for (a, b) in
        [("a.b2nd", "packed.b2frame"), ("packed.b2frame", "a.b2nd"), ("packed.b2frame", "packed.b2frame")]
    {
        assert!(!text(&data(a, b)).contains("\"data\""), "{}", text(&data(a, b)));
    }
    assert_eq!(converted(&["--slice", "1:3,:,0", "packed.b2frame", "part.b2nd"]).0, Some(0));
    let part = run(folder.path(), &["cat", "--slice", "1,-1", "part.b2nd"]);
    assert_eq!(text(&part.stdout), "740\n");

    // A super-chunk is converted where it is named.
    let (status, said) = converted(&["--into", "new", "."]);
    let refused =
        "bytes.b2frame: a super-chunk that does not describe an array; name it to convert its items";
    assert!(said.contains(refused), "{said}");
    assert_eq!(status, Some(1));
    assert_eq!(converted(&["--into", "named", "bytes.b2frame"]).0, Some(0));
}

#[test]
fn diff_finds_an_item_of_a_packed_tensor() {
    let folder = tempfile::tempdir().unwrap();
    copy(&["packed.b2frame"], folder.path());
    assert!(run(folder.path(), &["convert", "packed.b2frame", "a.npy"]).status.success());
    let mut npy = fs::read(folder.path().join("a.npy")).unwrap();
    let last = npy.len() - 4;
    npy[last] = 0;
    fs::write(folder.path().join("a.npy"), npy).unwrap();
    assert!(run(folder.path(), &["convert", "a.npy", "a.b2nd"]).status.success());
    let output = run(folder.path(), &["diff", "--data", "packed.b2frame", "a.b2nd"]);
    let line = text(&output.stdout).lines().find(|line| line.starts_with("data: ")).unwrap_or_default();
    let cells: Vec<_> = line.split_whitespace().collect();
    assert_eq!(cells, ["data:", "1", "of", "1000", "items,", "first", "3,24,9", "999", "768"]);
}

#[test]
fn view_shows_a_packed_tensor() {
    let output = run(&data(), &["view", "--slice", "0,:,:", "packed.b2frame"]);
    assert!(text(&output.stdout).contains("249"), "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
fn salvage_of_a_super_chunk_says_what_saves_its_items() {
    let folder = tempfile::tempdir().unwrap();
    copy(&["packed.b2frame"], folder.path());
    let output = run(folder.path(), &["salvage", "packed.b2frame", "a.b2nd"]);
    let message = "b2nd: packed.b2frame: the frame has no array, so it cannot be salvaged; `b2nd convert --slice` saves items whose chunks are not damaged\n";
    assert_eq!(text(&output.stderr), message);
}

#[test]
fn check_of_a_super_chunk_that_cannot_be_read_says_that_it_is_not_salvaged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.b2frame");
    let whole = fs::read(data().join("packed.b2frame")).unwrap();
    // Damages the type size, the chunk index, which begins at byte 1052, and the marker of the length of the trailer.
    for at in [48, 1055, whole.len() - 23] {
        let mut file = whole.clone();
        file[at] ^= 0x80;
        fs::write(&path, file).unwrap();
        let output = run(folder.path(), &["check", "a.b2frame"]);
        let message = "the frame has no array, so it cannot be salvaged; restore it from another copy";
        let expected = format!("a.b2frame: what to do: {message}");
        assert!(
            text(&output.stdout).lines().any(|line| line == expected),
            "byte {at}: {}",
            text(&output.stdout)
        );
        let output = run(folder.path(), &["salvage", "a.b2frame", "new.b2nd"]);
        assert_eq!(text(&output.stderr), format!("b2nd: a.b2frame: {message}\n"));
        let output = run(folder.path(), &["convert", "--slice", "0:1,:,:", "a.b2frame", "a.npy"]);
        assert!(!output.status.success(), "byte {at}: {}", text(&output.stdout));
    }
}

#[test]
fn a_description_that_does_not_fit_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let description = b2nd_lab::stored_chunk(b"\x93\xa5numpy\x92\x02\x03\xa3<i2");
    let frame = b2nd_lab::frame_of(&[], &[("__pack_tensor__", &description)]);
    let chunk = b2nd_lab::stored_chunk(b"01234567");
    fs::write(folder.path().join("a.b2nd"), b2nd_lab::with_chunks(frame, &chunk, &[0], 8)).unwrap();
    let message =
        "describes 6 items of 2 bytes (shape [2, 3], dtype <i2), which is 12 bytes, but the chunks have 8";
    let output = run(folder.path(), &["cat", "a.b2nd"]);
    assert!(text(&output.stderr).contains(message), "{}", text(&output.stderr));
    let output = run(folder.path(), &["check", "--data", "a.b2nd"]);
    assert!(text(&output.stdout).contains(message), "{}", text(&output.stdout));
}
