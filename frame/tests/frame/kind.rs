//! A frame's kind is what python-blosc2 makes of it.

use std::fs;

use crate::check::with_metalayers;
use b2nd_frame::{Code, Frame, Kind};
use b2nd_lab::data;
use serde_json::{Map, Value};

/// The metalayers that tell a kind, in the order in which python-blosc2 looks for them.
const TELLING: [(&str, &[u8], Kind); 15] = [
    ("proxy-source", b"\x80", Kind::Proxy),
    ("b2o", b"\x82\xa4kind\xa8lazyexpr\xa7version\x01", Kind::LazyExpr),
    ("b2o", b"\x82\xa7version\x92\x01\xc0\xa4kind\xa7lazyudf", Kind::LazyUdf),
    ("b2o", b"\x81\xa4kind\xacremote_array", Kind::RemoteArray),
    ("b2o", b"\x81\xa4kind\xa7c2array", Kind::C2Array),
    ("listarray", b"\x80", Kind::ListArray),
    ("vlarray", b"\x80", Kind::ObjectArray),
    ("batcharray", b"\x80", Kind::BatchArray),
    ("LazyArray", b"\x00", Kind::LazyExpr),
    ("LazyArray", b"\x01", Kind::LazyUdf),
    ("b2remote_store", b"\x80", Kind::RemoteStore),
    ("b2embed", b"\x80", Kind::EmbedStore),
    ("b2dict", b"\x80", Kind::DictStore),
    ("b2tree", b"\x80", Kind::TreeStore),
    ("b2nd", b"", Kind::NDArray),
];

/// The kind of a frame with these metalayers.
fn kind(metalayers: &[(&str, &[u8])]) -> Kind {
    let metalayers: Vec<_> = metalayers.iter().map(|&(name, content)| (name.as_bytes(), content)).collect();
    Frame::parse(&with_metalayers(&metalayers)).unwrap().kind()
}

#[test]
fn real_frames_are_of_the_kind_that_python_blosc2_names_and_warn_where_it_refuses() {
    let expected = fs::read_to_string(data().join("peers/expected.json")).unwrap();
    let expected: Map<String, Value> = serde_json::from_str(&expected).unwrap();
    let mut kinds = Vec::new();
    for (name, expected) in &expected {
        let frame = Frame::open(data().join("peers").join(name)).unwrap();
        let kind = frame.kind();
        let class = match expected["refuses"].as_str() {
            None => expected["opens"].as_str().unwrap(),
            Some("proxy") => "Proxy",
            Some("lazyexpr") => "LazyExpr",
            Some("LazyArray") if name == "old_lazy_expression.b2nd" => "LazyExpr",
            Some("lazyudf" | "LazyArray") => "LazyUDF",
            Some("remote_array") => "RemoteArray",
            Some("c2array") => "C2Array",
            Some(_) => "UnknownObject",
        };
        assert_eq!(kind.name(), class, "{name}");
        assert_eq!(kind.is_active(), !expected["refuses"].is_null(), "{name}");
        let warns = frame.check_header().iter().any(|finding| finding.code() == Code::ActiveObject);
        assert_eq!(warns, kind.is_active(), "{name}");
        kinds.push(kind);
    }
    // The rest are stores, which are folders or zip files.
    let rest = [Kind::DictStore, Kind::TreeStore, Kind::RemoteStore, Kind::CTable];
    assert!(Kind::ALL.iter().all(|kind| kinds.contains(kind) != rest.contains(kind)), "{kinds:?}");
}

#[test]
fn of_two_metalayers_the_one_that_python_blosc2_looks_for_first_tells_the_kind() {
    const ARRAY: (&str, &[u8]) = ("b2nd", b"");
    for (index, &(name, content, first)) in TELLING.iter().enumerate() {
        assert_eq!(kind(&[ARRAY, (name, content)]), first, "{name}");
        for &(other, content_of_other, _) in TELLING[index..].iter().filter(|row| row.0 != name) {
            let (layer, other) = ((name, content), (other, content_of_other));
            // `LazyArray` counts only beside `b2nd`.
            let with_array = [ARRAY, layer, other];
            assert_eq!(kind(&with_array), first, "{with_array:?}");
            let reversed = [other, layer, ARRAY];
            assert_eq!(kind(&reversed), first, "{reversed:?}");
        }
    }
}

#[test]
fn a_kind_is_serialized_by_its_name() {
    for (_, _, kind) in TELLING {
        assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
    }
}

#[test]
fn without_a_telling_metalayer_there_is_an_array_or_just_chunks() {
    assert_eq!(kind(&[]), Kind::SChunk);
    assert_eq!(kind(&[("mine", b"\x01"), ("ctable_varlen_scalar", b"\x80")]), Kind::SChunk);
    assert_eq!(kind(&[("LazyArray", b"\x00")]), Kind::SChunk);
    assert_eq!(kind(&[("caterva", b"")]), Kind::NDArray);
}

#[test]
fn an_object_that_does_not_say_a_known_kind_is_an_active_one_all_the_same() {
    for content in [
        &b""[..],
        b"\x01",
        b"\x80",
        b"\xa8lazyexpr",
        b"\x81\xa4kind",
        b"\x81\xa4kind\x01",
        b"\x81\xa4kind\xc0",
        b"\x81\xa4kind\xa5later",
        b"\x81\x01\xa8lazyexpr",
        b"\x81\xa4kind\xffazyexpr",
        &[0x91; 4096],
    ] {
        assert_eq!(kind(&[("b2o", content)]), Kind::UnknownObject, "{content:?}");
    }
    for content in [&b""[..], b"\x02", b"\xa0", b"\xff"] {
        assert_eq!(kind(&[("b2nd", b""), ("LazyArray", content)]), Kind::UnknownObject, "{content:?}");
    }
    assert!(Kind::UnknownObject.is_active() && !Kind::UnknownObject.holds_data());
}
