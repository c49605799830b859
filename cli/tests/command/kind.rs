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
