//! Real files: those of this project, and those of a larger corpus if it is present.

use std::fs;

use b2nd_frame::Frame;
use b2nd_lab::{corpus, data, unhex};
use b2nd_serde::{Layout, Meta, take_from_slice, to_vec};
use serde_json::Value;

/// Asserts that a `Meta` has the values of this JSON object.
fn assert_says(meta: &Meta, expected: &Value, name: &str) {
    let said = serde_json::to_value(meta).unwrap();
    for field in ["shape", "chunkshape", "blockshape", "dtype"] {
        assert_eq!(said[field], expected[field], "{name}: {field}");
    }
    assert_eq!(meta.ndim(), expected["shape"].as_array().unwrap().len(), "{name}");
    assert_eq!(meta.version(), 0, "{name}");
}

#[test]
fn files_of_todays_packages_say_what_numpy_said() {
    let expected = fs::read_to_string(data().join("expected.json")).unwrap();
    let expected: serde_json::Map<String, Value> = serde_json::from_str(&expected).unwrap();
    assert!(expected.len() >= 10);
    for (name, expected) in &expected {
        let frame = Frame::open(data().join(name)).unwrap();
        let array = frame.array().unwrap().unwrap();
        let meta = array.meta();
        assert_says(meta, expected, name);
        assert_eq!(meta.layout().name(), expected["layout"], "{name}");
        assert_eq!(array.stale_tail().len() as u64, expected["stale"], "{name}");
        let bytes = array.metalayer().bytes();
        assert_eq!([&to_vec(meta).unwrap(), array.stale_tail()].concat(), bytes, "{name}");
    }
}

/// The layout that the manifest of the corpus names for a file.
fn layout_of(entry: &Value) -> Option<Layout> {
    let name = entry["layout"].as_str().unwrap();
    Some(match name.split(' ').next().unwrap() {
        "b2nd-7" if name.contains("says 6") => Layout::B2ndMismarked,
        "b2nd-7" => Layout::B2nd,
        "b2nd-6" => Layout::B2ndSix,
        "b2nd-5" | "caterva-5" => Layout::Caterva,
        _ => return None,
    })
}

#[test]
fn every_metalayer_of_the_corpus_is_read_and_written_back() {
    let Some((_, entries)) = corpus() else { return };
    let mut counts = [0; 4];
    for entry in &entries {
        let name = entry["file"].as_str().unwrap();
        let Some(layout) = layout_of(entry) else { continue };
        let bytes = unhex(entry["hex"].as_str().unwrap());
        let (meta, rest): (Meta, _) = take_from_slice(&bytes).unwrap();
        assert_says(&meta, &entry["expected"], name);
        assert_eq!(serde_json::to_value(meta.dtype_format()).unwrap(), entry["expected"]["dtype_format"]);
        assert_eq!(meta.layout(), layout, "{name}");
        assert_eq!([&to_vec(&meta).unwrap(), rest].concat(), bytes, "{name}");
        let stale = if entry["layout"].as_str().unwrap().contains("stale") { 38 } else { 0 };
        assert_eq!(rest.len(), stale, "{name}");
        counts[layout as usize] += 1;
    }
    assert_eq!(counts, [192, 2, 2, 78], "b2nd, mismarked, six, caterva");
}

#[test]
fn a_file_has_as_many_bytes_as_its_geometry_says() {
    let expected = fs::read_to_string(data().join("expected.json")).unwrap();
    let expected: serde_json::Map<String, Value> = serde_json::from_str(&expected).unwrap();
    let mut paths: Vec<_> = expected.keys().map(|name| data().join(name)).collect();
    let of_geometry = fs::read_dir(data().join("geometry")).unwrap().map(|entry| entry.unwrap().path());
    paths.extend(of_geometry.filter(|path| path.extension().is_some_and(|extension| extension == "b2nd")));
    assert!(paths.len() >= 27);
    for path in paths {
        let frame = Frame::open(&path).unwrap();
        let header = frame.header();
        let geometry = frame.array().unwrap().unwrap().meta().geometry().unwrap();
        let chunk = geometry.chunk_nbytes(usize::try_from(header.typesize).unwrap()).unwrap() as u64;
        let nbytes = geometry.nchunks() * chunk;
        assert_eq!(u64::try_from(header.nbytes).unwrap(), nbytes, "{}: {geometry:?}", path.display());
        if nbytes > 0 {
            assert_eq!(u64::try_from(header.chunksize).unwrap(), chunk, "{}", path.display());
        }
    }
}
