//! The kind of a frame agrees with the type of the object that python-blosc2 returns for this frame.

use std::fs;

use crate::frames::with_metalayers;
use crate::refused;
#[cfg(feature = "compress")]
use b2nd_frame::ArrayUpdate;
use b2nd_frame::{ErrorKind, FindingCode, Frame, ObjectKind, Rewrite};
use b2nd_lab::data;
use serde_json::{Map, Value};

/// The metalayers that determine a kind, in the order in which python-blosc2 looks for them.
const TELLING: [(&str, &[u8], ObjectKind); 15] = [
    ("proxy-source", b"\x80", ObjectKind::Proxy),
    ("b2o", b"\x82\xa4kind\xa8lazyexpr\xa7version\x01", ObjectKind::LazyExpr),
    ("b2o", b"\x82\xa7version\x92\x01\xc0\xa4kind\xa7lazyudf", ObjectKind::LazyUdf),
    ("b2o", b"\x81\xa4kind\xacremote_array", ObjectKind::RemoteArray),
    ("b2o", b"\x81\xa4kind\xa7c2array", ObjectKind::C2Array),
    ("listarray", b"\x80", ObjectKind::ListArray),
    ("vlarray", b"\x80", ObjectKind::ObjectArray),
    ("batcharray", b"\x80", ObjectKind::BatchArray),
    ("LazyArray", b"\x00", ObjectKind::LazyExpr),
    ("LazyArray", b"\x01", ObjectKind::LazyUdf),
    ("b2remote_store", b"\x80", ObjectKind::RemoteStore),
    ("b2embed", b"\x80", ObjectKind::EmbedStore),
    ("b2dict", b"\x80", ObjectKind::DictStore),
    ("b2tree", b"\x80", ObjectKind::TreeStore),
    ("b2nd", b"", ObjectKind::NDArray),
];

/// The kind of a frame with these metalayers.
fn kind(metalayers: &[(&str, &[u8])]) -> ObjectKind {
    Frame::parse(&with_metalayers(metalayers)).unwrap().kind()
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
        let warns =
            frame.check_header().findings.iter().any(|finding| finding.code() == FindingCode::ActiveObject);
        assert_eq!(warns, kind.is_active(), "{name}");
        kinds.push(kind);
    }
    // The other kinds are stores, which are folders or zip files instead of frames.
    let rest = [
        ObjectKind::DictStore,
        ObjectKind::TreeStore,
        ObjectKind::RemoteStore,
        ObjectKind::CTable,
        ObjectKind::RemoteCTable,
    ];
    assert!(ObjectKind::ALL.iter().all(|kind| kinds.contains(kind) != rest.contains(kind)), "{kinds:?}");
}

#[test]
fn of_two_metalayers_the_one_that_python_blosc2_looks_for_first_tells_the_kind() {
    const ARRAY: (&str, &[u8]) = ("b2nd", b"");
    for (index, &(name, content, first)) in TELLING.iter().enumerate() {
        assert_eq!(kind(&[ARRAY, (name, content)]), first, "{name}");
        for &(other, content_of_other, _) in TELLING[index..].iter().filter(|row| row.0 != name) {
            let (layer, other) = ((name, content), (other, content_of_other));
            // `LazyArray` determines the kind only in a frame that also has `b2nd`.
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
    assert_eq!(kind(&[]), ObjectKind::SChunk);
    assert_eq!(kind(&[("mine", b"\x01"), ("ctable_varlen_scalar", b"\x80")]), ObjectKind::SChunk);
    assert_eq!(kind(&[("LazyArray", b"\x00")]), ObjectKind::SChunk);
    assert_eq!(kind(&[("caterva", b"")]), ObjectKind::NDArray);
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
        assert_eq!(kind(&[("b2o", content)]), ObjectKind::UnknownObject, "{content:?}");
    }
    for content in [&b""[..], b"\x02", b"\xa0", b"\xff"] {
        assert_eq!(kind(&[("b2nd", b""), ("LazyArray", content)]), ObjectKind::UnknownObject, "{content:?}");
    }
    assert!(ObjectKind::UnknownObject.is_active() && !ObjectKind::UnknownObject.holds_data());
}

#[test]
fn items_of_an_object_whose_data_is_elsewhere_are_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let messages = [
        "c2array.b2nd",
        "lazy_expression.b2nd",
        "lazy_function.b2nd",
        "old_lazy_expression.b2nd",
        "old_lazy_function.b2nd",
        "proxy.b2nd",
        "remote_array.b2nd",
        "later_object.b2nd",
    ]
    .map(|name| {
        let path = folder.path().join(name);
        fs::copy(data().join("peers").join(name), &path).unwrap();
        let before = fs::read(&path).unwrap();
        let mut frame = Frame::open(&path).unwrap();
        // A dtype of the same length.
        let dtype = frame.array().unwrap().unwrap().dtype().unwrap().replace(['f', 'i'], "u");

        let message = refused(ErrorKind::Unsupported, frame.edit().dtype(&dtype).preview());
        assert_eq!(refused(ErrorKind::Unsupported, frame.edit().dtype(&dtype).apply()), message);
        for to in [&path, &folder.path().join("copy")] {
            assert_eq!(
                refused(ErrorKind::Unsupported, Rewrite::new(&path, to).dtype(&*dtype).apply()),
                message
            );
        }
        #[cfg(feature = "compress")]
        {
            let mut update = ArrayUpdate::open(&path).unwrap();
            let region = vec![0..1; update.meta().shape().len()];
            let item = vec![1; usize::try_from(frame.header().typesize).unwrap()];
            assert_eq!(refused(ErrorKind::Unsupported, update.write(&region, &item)), message);
            let longer: Vec<_> = update.meta().shape().iter().map(|items| items + 1).collect();
            assert_eq!(refused(ErrorKind::Unsupported, update.resize(&longer)), message);
            update.flush().unwrap();
        }
        assert_eq!(fs::read(&path).unwrap(), before);
        // Wine does not replace an open file.
        drop(frame);

        // What leaves the items as they are is allowed.
        drop(Rewrite::new(&path, &path).apply().unwrap());
        #[cfg(feature = "compress")]
        {
            let mut update = ArrayUpdate::open(&path).unwrap();
            update.set_vlmetalayer("unit", "metre").unwrap();
            update.flush().unwrap();
        }
        message
    });
    insta::assert_snapshot!(messages.join("\n"), @r"
    the data of this C2Array is not here: a reader must fetch from the server that it names
    the data of this LazyExpr is not here: a reader must evaluate an expression in the file, and open the arrays that it names
    the data of this LazyUDF is not here: a reader must run a function in the file, and open the arrays that it names
    the data of this LazyExpr is not here: a reader must evaluate an expression in the file, and open the arrays that it names
    the data of this LazyUDF is not here: a reader must run a function in the file, and open the arrays that it names
    the data of this Proxy is a cache, which may lack a part of it: a reader must open the array that it names, or fetch from it
    the data of this RemoteArray is not here: a reader must fetch from the source that it names
    the data of this UnknownObject is not here: a reader must support this kind of object
    ");
}
