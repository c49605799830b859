//! This crate reads the same values from frames of python-blosc2 as python-blosc2 does.

use std::fs;

use b2nd_frame::{ArrayHeader, Filter, Frame, FrameType, Severity, Vlmetalayer, check};
use b2nd_lab::data;
use b2nd_serde::Dtype;
use serde_json::{Map, Value, json};

fn entries() -> Map<String, Value> {
    serde_json::from_str(&fs::read_to_string(data().join("peers/expected.json")).unwrap()).unwrap()
}

/// Reads from a frame the values that `expected.json` lists for it.
fn says(name: &str) -> Value {
    let frame = Frame::open(data().join("peers").join(name)).unwrap();
    let trailer = frame.trailer().unwrap();
    let header = frame.header();
    let mut metalayers: Vec<_> = frame.metalayers().iter().map(|layer| layer.name().to_owned()).collect();
    metalayers.sort_unstable();
    let mut vlmetalayers: Vec<_> = trailer.vlmetalayers().iter().map(Vlmetalayer::name).collect();
    vlmetalayers.sort_unstable();
    assert_eq!(header.has_vlmetalayers, !vlmetalayers.is_empty(), "{name}");
    let array = frame.array().unwrap();
    let mut says = json!({
        "container": if header.frame_type == FrameType::Sparse { "sframe" } else { "cframe" },
        "is_array": array.is_some(),
        "typesize": header.typesize,
        "stored_nbytes": header.nbytes,
        "cbytes": header.cbytes,
        "nchunks": header.nchunks(),
        "codec": header.codec.to_string(),
        "clevel": header.level,
        "filters": header.pipeline().map(Filter::name).collect::<Vec<_>>(),
        "metalayers": metalayers,
        "vlmetalayers": vlmetalayers,
    });
    if let Some(array) = array {
        says.as_object_mut().unwrap().append(says_of_array(&array).as_object_mut().unwrap());
    }
    says
}

fn says_of_array(array: &ArrayHeader<'_>) -> Value {
    let items: i64 = array.shape().iter().product();
    let dtype: Dtype = array.dtype().unwrap().parse().unwrap();
    json!({
        "shape": array.shape(),
        "chunks": array.chunkshape(),
        "blocks": array.meta().blockshape(),
        "ndim": array.shape().len(),
        "nbytes": items * i64::try_from(dtype.item_size()).unwrap(),
        "dtype": array.dtype(),
    })
}

#[test]
fn frames_of_every_kind_say_what_python_blosc2_says_of_them() {
    let entries = entries();
    assert!(entries.len() >= 18);
    for (name, expected) in &entries {
        let mut says = says(name);
        // If chunks have different sizes, the number of chunks cannot be computed from the header.
        let of_any_length = ["batch_array", "blocks_of_any_length", "chunks_of_any_length", "object_array"];
        if of_any_length.iter().any(|stem| *name == format!("{stem}.b2frame")) {
            let nchunks = says["nchunks"].take();
            assert!(nchunks.is_null(), "{name}: {nchunks}");
            says["nchunks"] = expected["frame"]["nchunks"].clone();
        }
        assert_eq!(says, expected["frame"], "{name}");
    }
}

#[test]
fn an_error_is_found_exactly_where_python_blosc2_cannot_read_the_data() {
    for (name, expected) in &entries() {
        let findings = check(data().join("peers").join(name)).unwrap().findings;
        let has_error = findings.iter().any(|finding| finding.severity() == Severity::Error);
        assert_eq!(has_error, !expected["reads"].is_null(), "{name}: {findings:?}");
    }
}
