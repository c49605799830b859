//! What a frame holds, where it is not just an array.

use crate::common::{data, snapshot};
use crate::run::{objects, run, screen, text};

#[test]
fn info_says_what_a_frame_holds() {
    let names =
        ["lazy_expression.b2nd", "proxy.b2nd", "batch_array.b2frame", "object_array.b2frame", "store.b2e"];
    let output = run(&data().join("peers"), &[&["info"], &names[..]].concat());
    snapshot("info_kinds", &screen(&output));
}

#[test]
fn ls_says_of_an_array_that_it_has_no_data_of_its_own() {
    let peers = data().join("peers");
    let names = ["two_filters.b2nd", "lazy_expression.b2nd", "proxy.b2nd"];
    snapshot("ls_kinds", &screen(&run(&peers, &[&["ls"], &names[..]].concat())));

    let output = run(&peers, &[&["ls", "--json"], &names[..]].concat());
    let kinds: Vec<_> = objects(&output).iter().map(|object| object["kind"].clone()).collect();
    assert_eq!(kinds, ["NDArray", "LazyExpr", "Proxy"]);
}

#[test]
fn check_warns_of_what_a_reader_must_evaluate_or_fetch() {
    let output = run(&data().join("peers"), &["check", "--json", "proxy.b2nd", "two_filters.b2nd"]);
    let codes: Vec<_> = objects(&output).iter().map(|object| object["findings"][0]["code"].clone()).collect();
    assert_eq!(codes, ["active-object".into(), serde_json::Value::Null]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn info_says_what_a_store_holds() {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree.b2d");
    std::fs::create_dir(&tree).unwrap();
    for (from, to) in [("peers/store.b2e", "embed.b2e"), ("int32_3x5.b2nd", "array.b2nd")] {
        std::fs::copy(data().join(from), tree.join(to)).unwrap();
    }
    let output = run(folder.path(), &["info", "tree.b2d"]);
    let page = "path    : tree.b2d\ntype    : EmbedStore\nholds   : /array, /node\n";
    assert_eq!((text(&output.stdout), text(&output.stderr)), (page, ""));

    let output = run(&data(), &["info", "table.b2z"]);
    let page = text(&output.stdout).split("\n\n").next().unwrap();
    snapshot("info_table", page);

    let objects = objects(&run(&data(), &["info", "--json", "table.b2z"]));
    assert_eq!(objects[0]["columns"][1], serde_json::json!({ "name": "name", "type": "<U4" }));
    assert_eq!(objects.len(), 6, "the store, and its members");
}

#[test]
fn a_store_that_cannot_be_read_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("embed.b2e"), "not a frame").unwrap();
    let output = run(folder.path(), &["info", "."]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("not a Blosc2 frame"), "{}", text(&output.stderr));
}
