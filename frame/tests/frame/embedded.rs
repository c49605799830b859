//! Frames that are embedded in the compressed data of a store.

use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;

use b2nd_frame::{
    Check, CheckDepth, EmbeddedFrames, ErrorKind, Filter, Frame, FrameBuilder, ObjectKind, ReadAt,
    SpecialValue, Store, expansion_limit,
};
use b2nd_lab::{chunk_of_zeros, chunk_with_a_table, data};
use b2nd_serde::{Meta, Shapes};
use serde_json::{Value, json};

use super::{Recording, findings, opened, opened_array};

/// The embedded frames of a store in the test data.
fn frames(name: &str) -> EmbeddedFrames<fs::File> {
    EmbeddedFrames::new(Frame::open(data().join(name)).unwrap()).unwrap()
}

/// All bytes of the selected frame. One read more finds its end.
fn all_bytes(frames: &impl ReadAt) -> Vec<u8> {
    let mut bytes = vec![0xaa; usize::try_from(frames.size().unwrap()).unwrap() + 9];
    let read = frames.read_at(&mut bytes, 0).unwrap();
    assert_eq!(read as u64, frames.size().unwrap());
    bytes.truncate(read);
    bytes
}

/// A store with four chunks of 32 MiB of zeros. Its list claims that these byte ranges of the data are frames.
fn store(places: &[(&str, u64, u64)]) -> Frame<Vec<u8>> {
    let place = |&(key, offset, length)| (key, BTreeMap::from([("offset", offset), ("length", length)]));
    let map = BTreeMap::from([("embed_map", places.iter().map(place).collect::<BTreeMap<_, _>>())]);
    let shapes = Shapes { shape: &[1 << 27], chunkshape: &[1 << 25], blockshape: &[1 << 20] };
    let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).vlmetalayer("estore_metadata", &map);
    let mut writer = builder.write_to(Cursor::new(Vec::new())).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    opened(writer.finish().unwrap().into_inner())
}

#[test]
fn each_frame_is_read_by_its_key() {
    let mut frames = frames("embedded/store.b2e");
    assert_eq!(frames.keys(), ["/z/numbers", "/chunks", "/noted"]);
    for (key, kind) in [
        ("/noted", ObjectKind::NDArray),
        ("/chunks", ObjectKind::SChunk),
        ("/z/numbers", ObjectKind::NDArray),
    ] {
        assert!(frames.select(key).unwrap());
        let frame = opened(&frames);
        assert_eq!(frame.kind(), kind, "{key}");
        assert_eq!(findings(&frame), []);
    }
    assert!(frames.select("/noted").unwrap());
    let trailer = opened(&frames).trailer().unwrap();
    assert_eq!(trailer.vlmetalayer("unit").unwrap().decode::<String>().unwrap(), "kelvin");
    assert!(frames.select("/z/numbers").unwrap());
    let items = opened_array(&frames).slice(&[3..4, 2..4]).read().unwrap();
    assert_eq!(items, [47_i32, 48].map(i32::to_le_bytes).concat());
}

#[test]
fn read_at_reads_nothing_of_the_chunk_that_was_decompressed_last() {
    let store = Recording::new(fs::read(data().join("embedded/store.b2e")).unwrap());
    let mut frames = EmbeddedFrames::new(opened(&store)).unwrap();
    assert!(frames.select("/z/numbers").unwrap());
    let mut bytes = [0; 8];
    frames.read_at(&mut bytes, 0).unwrap();
    store.reads.borrow_mut().clear();
    frames.read_at(&mut bytes, 2).unwrap();
    assert_eq!((&bytes, store.lengths()), (b"b2frame\0", vec![]));
}

#[test]
fn a_frame_has_the_same_bytes_however_they_are_read() {
    let mut frames = frames("embedded/store.b2e");
    frames.select("/z/numbers").unwrap();
    let whole = all_bytes(&frames);
    // This frame is longer than two chunks of the store, so its bytes are in several chunks.
    assert!(whole.len() > 512);
    assert_eq!(opened(&whole).header().frame_len, whole.len() as u64);
    for end in [whole.len() as u64, u64::MAX] {
        assert_eq!(frames.read_at(&mut [0; 9], end).unwrap(), 0);
    }
    for at in (0..whole.len()).rev().step_by(7) {
        let mut bytes = [0; 7];
        let read = frames.read_at(&mut bytes, at as u64).unwrap();
        assert_eq!(bytes[..read], whole[at..][..read]);
        assert_eq!(read, 7.min(whole.len() - at));
    }
}

#[test]
fn a_key_that_is_not_there_and_one_on_a_server_are_told_apart() {
    let mut frames = frames("embedded/store.b2e");
    assert!(!frames.select("/gone").unwrap());
    let error = frames.select("/far").unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string()),
        (ErrorKind::Unsupported, "the data of /far is on a server, not in the store".into())
    );
    let array = Frame::open(data().join("int32_3x5.b2nd")).unwrap();
    assert_eq!(EmbeddedFrames::new(array).unwrap().keys(), [""; 0]);
}

#[test]
fn a_frame_ends_where_its_place_ends_and_with_the_data() {
    let end = 1 << 27;
    for (place, length) in [((5, 7), 7), ((end - 3, u64::MAX), 3), ((end + 1, 9), 0)] {
        let mut frames = EmbeddedFrames::new(store(&[("/a", place.0, place.1)])).unwrap();
        frames.select("/a").unwrap();
        assert_eq!(all_bytes(&frames), vec![0; length], "{place:?}");
    }
}

#[test]
fn frames_that_share_bytes_are_refused() {
    let error = EmbeddedFrames::new(store(&[("/b", 8, 1), ("/a", 0, 9)])).unwrap_err();
    assert_eq!(error.to_string(), "/a and /b share bytes in the data of the store");
    assert_eq!(EmbeddedFrames::new(store(&[("/b", 9, 1), ("/a", 0, 9)])).unwrap().keys(), ["/a", "/b"]);
}

/// A store has a list of its frames. An entry of the list is an offset and a length, or a URL if the array is on a
/// server. Each list in the table below has a wrong or missing part.
#[test]
fn a_list_that_python_blosc2_cannot_read_is_found() {
    let shapes = Shapes { shape: &[64], chunkshape: &[64], blockshape: &[64] };
    let of_items = |size: usize, list: &Value| {
        let dtype = ["|u1", "<u2"][size - 1];
        let builder = FrameBuilder::new(Meta::new(shapes, dtype).unwrap());
        let builder = builder.metalayer("b2embed", &json!({})).vlmetalayer("estore_metadata", list);
        let mut writer = builder.write_to(Cursor::new(Vec::new())).unwrap();
        writer.write_uncompressed(0, &[7; 128][..64 * size]).unwrap();
        let frame = opened(writer.finish().unwrap().into_inner());
        let report = Check::new(CheckDepth::ChunkData).run(&frame).unwrap();
        let skipped = report.skipped.iter().map(ToString::to_string);
        report.findings.iter().map(|finding| finding.message().to_owned()).chain(skipped).collect::<Vec<_>>()
    };
    let place = json!({"offset": 0, "length": 8});
    let server = json!({"urlbase": "https://host", "path": "a"});
    let sound = json!({"embed_map": {"/a": place, "/b": server}, "current_offset": 8});
    assert_eq!(of_items(1, &sound), [""; 0]);
    let changed = |pointer: &str, value: Value| {
        let mut list = sound.clone();
        *list.pointer_mut(pointer).unwrap() = value;
        list
    };
    let neither = "has neither an offset and a length nor a URL for ";
    for (list, text) in [
        (json!({"embed_mop": {}, "current_offset": 8}), "has no map of frames, `embed_map`".to_owned()),
        (changed("/embed_map", json!(7)), "has no map of frames, `embed_map`".into()),
        (changed("/embed_map/~1a", json!(7)), "has no map of frames, `embed_map`".into()),
        (changed("/current_offset", json!(-1)), "has no end of the data, `current_offset`".into()),
        (
            changed("/current_offset", json!(65)),
            "says that the data ends at byte 65, but the store has 64 bytes".into(),
        ),
        (changed("/current_offset", json!(7)), "has /a at bytes 0 to 8, but the data ends at byte 7".into()),
        (changed("/embed_map/~1a/offset", json!(-1)), format!("{neither}/a")),
        (changed("/embed_map/~1a", json!({"offset": 0, "longth": 8})), format!("{neither}/a")),
        (changed("/embed_map/~1b", json!({"urlbase": "https://host", "poth": "a"})), format!("{neither}/b")),
    ] {
        assert_eq!(of_items(1, &list), [format!("vlmetalayer estore_metadata {text}")], "{list}");
    }
    let long = json!({"embed_map": {"/a": place}, "current_offset": 8, "more": "x".repeat(1 << 24)});
    let [skipped] = &of_items(1, &long)[..] else { panic!("not one") };
    assert!(skipped.contains("but at most 16777216 are read as a list of frames"), "{skipped}");
    let text = "vlmetalayer estore_metadata counts bytes, but items of the store have 2 bytes";
    assert_eq!(of_items(2, &sound), [text]);
}

#[test]
fn a_list_that_is_too_long_is_one_skipped_value() {
    let shapes = Shapes { shape: &[0], chunkshape: &[64], blockshape: &[64] };
    // A compressed chunk of one block. It claims 200 MiB of data.
    let mut chunk = chunk_with_a_table(1);
    for at in [4, 8] {
        chunk[at..at + 4].copy_from_slice(&(200_u32 << 20).to_le_bytes());
    }
    for chunk in [chunk, chunk_of_zeros(200 << 20)] {
        let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).metalayer("b2embed", &json!({}));
        let file = builder.vlmetalayer_chunk("estore_metadata", &chunk).to_vec([[]; 0]).unwrap();
        let report = Check::new(CheckDepth::ChunkData).run(&opened(file)).unwrap();
        assert_eq!(report.findings, []);
        let [skipped] = &report.skipped[..] else { panic!("{:?}", report.skipped) };
        assert_eq!((skipped.part.name(), skipped.count), ("values", Some(1)), "{skipped}");
    }
}

#[test]
fn a_value_with_a_filter_that_is_not_undone_is_skipped_and_not_called_damaged() {
    let shapes = Shapes { shape: &[0], chunkshape: &[64], blockshape: &[64] };
    let mut chunk = chunk_with_a_table(1);
    // Changes the first filter of the chunk.
    chunk[16] = Filter::BYTEDELTA_BUGGY.id;
    let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).vlmetalayer_chunk("unit", &chunk);
    let file = builder.to_vec([[]; 0]).unwrap();
    let report = Check::new(CheckDepth::ChunkData).run(&opened(file)).unwrap();
    assert_eq!(report.findings, []);
    let skipped: Vec<String> = report.skipped.iter().map(ToString::to_string).collect();
    let why = "has bytedelta_buggy, a filter that this crate cannot undo";
    assert_eq!(skipped, [format!("1 value not checked: vlmetalayer unit {why}")]);
}

#[test]
fn what_is_decompressed_is_limited_by_the_length_of_the_store() {
    let chunk = 1 << 25;
    let store = store(&[("/a", 0, 9), ("/b", chunk, 9), ("/c", 2 * chunk, 9)]);
    assert_eq!(expansion_limit(store.header().frame_len), 2 * chunk);
    let mut frames = EmbeddedFrames::new(store).unwrap();
    for key in ["/a", "/a", "/b", "/b"] {
        frames.select(key).unwrap();
        assert_eq!(frames.read_at(&mut [1; 9], 0).unwrap(), 9);
    }
    frames.select("/c").unwrap();
    let error = frames.read_at(&mut [1; 9], 0).unwrap_err();
    let message =
        "chunk 2 of the store decompresses to 33554432 bytes, but at most 0 are left for a store of";
    assert!(error.to_string().contains(message), "{error}");
}

/// A single chunk of zeros is stored in a few bytes. A `Store` limits only this chunk, not the total of all reads.
#[test]
fn frame_array_and_attributes_of_a_store_decompress_no_chunk_beyond_the_expansion_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.b2e");
    for (chunk, is_allowed) in [(64 << 20, true), (65 << 20, false)] {
        let shapes = Shapes { shape: &[chunk.into()], chunkshape: &[chunk], blockshape: &[1 << 20] };
        let place = json!({"offset": 0, "length": 9});
        let places = json!({"embed_map": {"/a": place, "/g/__vlmeta__": {"offset": 9, "length": 9}}});
        let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap());
        let builder = builder.metalayer("b2embed", &json!({})).vlmetalayer("estore_metadata", &places);
        let mut writer = builder.write_to(Cursor::new(Vec::new())).unwrap();
        writer.fill_missing(SpecialValue::Zeros).unwrap();
        let file = writer.finish().unwrap().into_inner();
        let message = format!(
            "chunk 0 of the store decompresses to {chunk} bytes, but at most 67108864 are left for a store of {} bytes",
            file.len()
        );
        fs::write(&path, file).unwrap();
        let store = Store::open(&path).unwrap().unwrap();
        let results = [store.frame("/a").err(), store.array("/a").err(), store.attributes("/g").err()];
        for error in results.map(Option::unwrap) {
            // If the chunk is decompressed, its bytes are found not to be a frame.
            let kind = if is_allowed { ErrorKind::Malformed } else { ErrorKind::TooLarge };
            assert_eq!((error.kind(), error.to_string().contains(&message)), (kind, !is_allowed), "{error}");
        }
    }
}

#[test]
fn no_changed_byte_of_a_store_panics() {
    let file = fs::read(data().join("embedded/store.b2e")).unwrap();
    let mut read = 0;
    for at in 0..file.len() {
        let mut file = file.clone();
        file[at] ^= 0x55;
        let Ok(store) = Frame::read_at(file, 0) else { continue };
        let Ok(mut frames) = EmbeddedFrames::new(store) else { continue };
        for key in frames.keys() {
            if frames.select(&key).is_ok()
                && let Ok(frame) = Frame::read_at(&frames, 0)
            {
                drop(frame.trailer());
                read += 1;
            }
        }
    }
    assert!(read > 1000, "{read}");
}
