//! Real files: those of this project, and those of a larger corpus where one is at hand.

#![cfg(feature = "frame")]

mod common;

use std::fs;
use std::path::Path;

use b2nd_serde::frame::{Error, Frame};
use b2nd_serde::{Geometry, Layout, Meta, take_from_slice, to_vec};
use common::{corpus, data, unhex};
use serde_json::Value;

/// Holds what a `Meta` says against the same in JSON.
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
        let meta = frame.array().unwrap().unwrap();
        assert_says(&meta, expected, name);
        assert_eq!(meta.layout().name(), expected["layout"], "{name}");

        let bytes = frame.array_metalayer().unwrap().bytes();
        let (again, stale) = take_from_slice::<Meta>(bytes).unwrap();
        assert_eq!(again, meta);
        assert_eq!(stale.len(), usize::try_from(expected["stale"].as_u64().unwrap()).unwrap(), "{name}");
        assert_eq!([&to_vec(&meta).unwrap(), stale].concat(), bytes, "{name}");
    }
}

/// The layout that the manifest of the corpus means.
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

/// The frame of an entry of the manifest, which may stand inside of a larger file.
fn open(folder: &Path, entry: &Value) -> Frame {
    match entry["frame_offset"].as_u64() {
        None => Frame::open(folder.join(entry["file"].as_str().unwrap())).unwrap(),
        Some(offset) => {
            let file = fs::read(folder.join(entry["metadata_file"].as_str().unwrap())).unwrap();
            Frame::parse(&file[usize::try_from(offset).unwrap()..]).unwrap()
        }
    }
}

#[test]
fn every_frame_of_the_corpus_gives_up_its_metalayers() {
    let Some((folder, entries)) = corpus() else { return };
    let mut arrays = 0;
    for entry in &entries {
        let name = entry["file"].as_str().unwrap();
        let expected = &entry["frame"];
        let frame = open(&folder, entry);
        assert_eq!(frame.header_len() as u64, expected["header_len"], "{name}");
        assert_eq!(frame.frame_len(), expected["frame_len"], "{name}");
        assert_eq!(frame.is_sparse(), expected["sframe"], "{name}");
        assert_eq!(frame.nbytes(), expected["nbytes"], "{name}");
        assert_eq!(frame.cbytes(), expected["cbytes"], "{name}");
        assert_eq!(frame.typesize(), expected["typesize"], "{name}");

        let layers = entry["metalayers"].as_array().unwrap();
        assert_eq!(frame.metalayers().len(), layers.len(), "{name}");
        for (layer, expected) in frame.metalayers().iter().zip(layers) {
            assert_eq!(layer.name(), expected["name"], "{name}");
            let in_frame = expected["content_offset"].as_u64().unwrap()
                - entry["frame_offset"].as_u64().unwrap_or_default();
            assert_eq!(layer.offset() as u64, in_frame, "{name}");
            assert_eq!(layer.bytes(), unhex(expected["hex"].as_str().unwrap()), "{name}");
        }
        match (frame.array(), layout_of(entry)) {
            (Some(Ok(meta)), Some(_)) => {
                assert_says(&meta, &entry["expected"], name);
                arrays += 1;
            }
            (Some(Err(error)), None) => assert!(error.to_string().contains("Caterva 0.1"), "{name}: {error}"),
            (None, None) => {}
            (array, layout) => panic!("{name}: {array:?}, {layout:?}"),
        }
    }
    assert_eq!(arrays, 274);
}

/// The bytes of all decompressed chunks, by the geometry.
fn nbytes(geometry: &Geometry, frame: &Frame) -> u64 {
    let chunk = geometry.chunk_nbytes(usize::try_from(frame.typesize()).unwrap()).unwrap();
    geometry.nchunks() * chunk as u64
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
        let geometry = frame.array().unwrap().unwrap().geometry().unwrap();
        assert_eq!(
            u64::try_from(frame.nbytes()).unwrap(),
            nbytes(&geometry, &frame),
            "{}: {geometry:?}",
            path.display()
        );
    }
}

/// Of these, Caterva squeezed a dimension away whose chunks held two items: the metalayer does not know of the
/// second any more, and the data still has it.
const SQUEEZED_TO_DISAGREE: [&str; 2] = ["B_caterva-0.5.0/slice_int.cat", "B_caterva-0.7.3/slice_int.cat"];

/// Caterva 0.2 left the block shape as its memory happened to be, and did not cut chunks into blocks.
const WITHOUT_BLOCKS: &str = "C_caterva-c-v0.2.";

#[test]
fn every_file_of_the_corpus_has_as_many_bytes_as_its_geometry_says() {
    let Some((folder, entries)) = corpus() else { return };
    let (mut agree, mut empty, mut without_blocks, mut disagree) = (0, 0, 0, Vec::new());
    for entry in &entries {
        let name = entry["file"].as_str().unwrap();
        let frame = open(&folder, entry);
        let Some(Ok(meta)) = frame.array() else { continue };
        let geometry = if name.starts_with(WITHOUT_BLOCKS) {
            without_blocks += 1;
            assert!(meta.geometry().is_err(), "{name}: {:?}", meta.blockshape());
            Geometry::new(meta.shape(), meta.chunkshape(), meta.chunkshape()).unwrap()
        } else {
            meta.geometry().unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        if u64::try_from(frame.nbytes()) == Ok(nbytes(&geometry, &frame)) {
            agree += 1;
        } else {
            disagree.push(name);
        }
        if geometry.nitems() == 0 {
            empty += 1;
            assert_eq!(frame.nbytes(), 0, "{name}");
        }
    }
    disagree.sort_unstable();
    assert_eq!(disagree, SQUEEZED_TO_DISAGREE);
    assert_eq!((agree, empty, without_blocks), (272, 18, 5));
}

#[test]
fn a_prefix_of_a_frame_says_how_much_it_needs() {
    let file = fs::read(data().join("struct_long.b2nd")).unwrap();
    let whole = Frame::parse(&file).unwrap();
    assert!(whole.header_len() > 512, "more than one read");
    for length in 0..whole.header_len() {
        match Frame::parse(&file[..length]) {
            Err(Error::Incomplete { needed }) => {
                assert!(needed > length && needed <= whole.header_len(), "{length}: {needed}");
            }
            Err(Error::NotAFrame) => assert_eq!(length, 0),
            other => panic!("{length}: {other:?}"),
        }
    }
    assert_eq!(Frame::parse(&file[..whole.header_len()]).unwrap().metalayers(), whole.metalayers());
}

#[test]
fn a_file_cut_short_says_what_is_missing() {
    let file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.b2nd");
    for length in 0..file.len() {
        fs::write(&path, &file[..length]).unwrap();
        match Frame::open(&path) {
            Err(Error::Truncated { expected, found }) => {
                assert_eq!(found, length as u64);
                assert!(expected > found && expected <= file.len() as u64);
            }
            Err(Error::NotAFrame) => assert_eq!(length, 0),
            other => panic!("{length}: {other:?}"),
        }
    }
}

#[test]
fn a_header_with_any_byte_changed_does_no_harm() {
    let file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let header_len = Frame::parse(&file).unwrap().header_len();
    for at in 0..header_len {
        for byte in [0, 1, 0x7f, 0x80, 0xff, file[at] ^ 1, file[at] ^ 0x80] {
            let mut changed = file.clone();
            changed[at] = byte;
            if let Err(error) = Frame::parse(&changed) {
                assert!(!error.to_string().is_empty());
            }
        }
    }
}
