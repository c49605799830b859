//! Edits in place can change only values that keep their length.

use std::fs::{self, File};
use std::io::Cursor;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use b2nd_frame::{
    Error, ErrorKind, Finding, FindingCode, Frame, FrameBuilder, Remedy, Rewrite, Severity, SpecialValue,
    check,
};
use b2nd_lab::{copy, copy_tree, corpus, data, header_file, offset_field};
use b2nd_serde::dtype::Dtype;
use b2nd_serde::{Layout, Meta, Shapes, to_vec};

use crate::{locked, refused, unlock};

/// The positions that differ in two files of the same length.
fn differences(before: &[u8], after: &[u8]) -> Vec<usize> {
    assert_eq!(before.len(), after.len());
    (0..before.len()).filter(|&at| before[at] != after[at]).collect()
}

#[test]
fn a_new_shape_changes_nothing_but_its_int64s() {
    for name in ["int32_3x5.b2nd", "sparse.b2nd", "uint16_6x8.caterva", "sparse.caterva", "squeezed.caterva"]
    {
        let (_folder, path) = copy(name);
        let before = fs::read(header_file(&path)).unwrap();
        let mut frame = Frame::open(&path).unwrap();
        let array = frame.array().unwrap().unwrap();
        let values = array.metalayer().offset() + 5..array.metalayer().offset() + 5 + 9 + 8;
        let (chunks, tail) = (array.chunkshape().to_vec(), array.stale_tail().to_vec());
        let grid: Vec<i64> =
            array.geometry().unwrap().grid_of_chunks().iter().map(|&n| n.try_into().unwrap()).collect();

        let largest: Vec<i64> = grid.iter().zip(&chunks).map(|(n, &c)| n * i64::from(c)).collect();
        let smallest: Vec<i64> = grid.iter().zip(&chunks).map(|(n, &c)| (n - 1) * i64::from(c) + 1).collect();
        for shape in [largest, smallest] {
            frame.edit().shape(&shape).apply().unwrap();
            let now = fs::read(header_file(&path)).unwrap();
            let differences = differences(&before, &now);
            assert!(!differences.is_empty(), "{name}");
            assert!(differences.iter().all(|at| values.contains(at)), "{name}: {differences:?}");
            // The frame that was edited has the new shape, and so has the file if it is opened again.
            assert_eq!(frame.array().unwrap().unwrap().shape(), shape);
            let again = Frame::open(&path).unwrap();
            assert_eq!(again.array().unwrap().unwrap().shape(), shape);
            assert_eq!(again.array().unwrap().unwrap().stale_tail(), tail);
            assert_eq!(again.header_bytes(), frame.header_bytes());
            assert!(
                check(&path).unwrap().findings.iter().all(|finding| finding.severity() == Severity::Warning)
            );
        }
    }
}

#[test]
fn a_shape_that_takes_other_chunks_is_refused_with_both_grids() {
    use ErrorKind::{InvalidInput, TooLarge};

    let (_folder, path) = copy("int32_3x5.b2nd");
    let before = fs::read(&path).unwrap();
    let mut frame = Frame::open(&path).unwrap();
    for (shape, grid) in
        [([5, 5], [3, 2]), ([2, 5], [1, 2]), ([4, 7], [2, 3]), ([2, 12], [1, 4]), ([3, 0], [2, 0])]
    {
        let error = refused(InvalidInput, frame.edit().shape(&shape).apply());
        let expected = format!("shape {shape:?} needs a grid of {grid:?} chunks, but the array has [2, 2]");
        assert_eq!(error, expected);
    }
    let geometry = frame.array().unwrap().unwrap().geometry().unwrap();
    for (kind, shape) in [(InvalidInput, &[3][..]), (InvalidInput, &[3, -5]), (TooLarge, &[i64::MAX, 5])] {
        let expected = geometry.resize(shape).unwrap_err().to_string();
        assert_eq!(refused(kind, frame.edit().shape(shape).apply()), expected);
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn shape_dtype_and_metalayers_change_together_or_not_at_all() {
    let (folder, path) = copy("vlmetalayers.b2nd");
    let before = fs::read(&path).unwrap();
    let mut frame = Frame::open(&path).unwrap();
    let geometry = frame.array().unwrap().unwrap().geometry().unwrap();
    let shape: Vec<i64> = geometry.extended_shape().iter().map(|&items| items.try_into().unwrap()).collect();
    let vendor = vec![0xc0; frame.metalayers()[1].bytes().len()];
    assert!(frame.edit().shape(&shape).dtype("<f4").metalayer("vendor", &vendor).apply().is_err());
    assert_eq!(fs::read(&path).unwrap(), before);

    // A preview returns the resulting frame. It writes nothing, and works although another process has the lock.
    let lock = File::create(folder.path().join("vlmetalayers.b2nd.b2lock")).unwrap();
    File::try_lock(&lock).unwrap();
    let edit = frame.edit().shape(&shape).dtype(">i8").metalayer("vendor", &vendor);
    let preview = edit.preview().unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);
    locked(edit.apply());
    unlock(&lock);
    frame.edit().shape(&shape).dtype(">i8").metalayer("vendor", &vendor).apply().unwrap();
    assert_eq!(counter(&folder.path().join("vlmetalayers.b2nd.b2lock")), 1, "one write");

    let again = Frame::open(&path).unwrap();
    let array = again.array().unwrap().unwrap();
    assert_eq!((array.shape(), array.dtype()), (&shape[..], Some(">i8")));
    assert_eq!(again.metalayers()[1].bytes(), vendor);
    assert_eq!(again.header_bytes(), preview.header_bytes());
    assert_eq!(again.header_bytes(), frame.header_bytes());
}

#[test]
fn a_shape_and_dtype_go_into_the_metalayer_that_is_given_with_them() {
    let mut frame = Frame::open(data().join("int32_3x5.b2nd")).unwrap();
    let shapes = Shapes { shape: &[4, 4], chunkshape: &[2, 3], blockshape: &[1, 2] };
    let value = to_vec(&Meta::new(shapes, "<u4").unwrap()).unwrap();
    let after = frame.edit().dtype("<f4").metalayer("b2nd", &value).preview().unwrap();
    let array = after.array().unwrap().unwrap();
    assert_eq!((array.shape(), array.dtype()), (&[4, 4][..], Some("<f4")));
}

#[test]
fn a_grid_whose_chunks_no_integer_counts_is_refused_like_any_other() {
    let mut frame = Frame::open(data().join("rank8.caterva")).unwrap();
    let mut shape = [i64::MAX / 8; 8];
    shape[7] = 0;
    let why = refused(ErrorKind::InvalidInput, frame.edit().shape(&shape).preview());
    assert!(why.starts_with("shape [1152921504606846975, "), "{why}");
}

#[test]
fn an_array_without_items_may_have_any_shape_without_items() {
    let (_folder, path) = copy("empty.b2nd");
    let mut frame = Frame::open(&path).unwrap();
    assert_eq!(frame.array().unwrap().unwrap().shape(), [0, 4]);
    frame.edit().shape(&[0, 9]).apply().unwrap();
    assert_eq!(check(&path).unwrap().findings, []);
    refused(ErrorKind::InvalidInput, frame.edit().shape(&[1, 4]).apply());
}

#[test]
fn every_array_of_the_corpus_grows_into_its_last_chunks_and_back() {
    let Some((folder, entries)) = corpus() else { return };
    let mut changed = 0;
    for entry in entries.iter().filter(|entry| entry["frame_offset"].is_null()) {
        let name = entry["file"].as_str().unwrap();
        let copies = tempfile::tempdir().unwrap();
        let path = copies.path().join("copy");
        copy_tree(&folder.join(name), &path);
        let before = fs::read(header_file(&path)).unwrap();
        let mut frame = Frame::open(&path).unwrap();
        let Some(array) = frame.array().unwrap() else {
            assert_eq!(
                refused(ErrorKind::Unsupported, frame.edit().shape(&[1]).apply()),
                "the frame has no array",
                "{name}"
            );
            continue;
        };
        let shape = array.shape().to_vec();
        let whole: Vec<i64> = shape
            .iter()
            .zip(array.chunkshape())
            .map(|(&s, &c)| if c == 0 { s } else { (s + i64::from(c) - 1) / i64::from(c) * i64::from(c) })
            .collect();
        let is_wrong = name.ends_with("slice_int.cat");
        match frame.edit().shape(&whole).apply() {
            Err(error) if is_wrong => {
                assert_eq!(error.finding().map(Finding::code), Some(FindingCode::ChunksizeMismatch));
            }
            result => {
                result.unwrap();
                assert_eq!(Frame::open(&path).unwrap().array().unwrap().unwrap().shape(), whole, "{name}");
                frame.edit().shape(&shape).apply().unwrap();
                changed += 1;
            }
        }
        assert_eq!(fs::read(header_file(&path)).unwrap(), before, "{name}");
        assert!(!copies.path().join("copy.b2lock").exists());
    }
    println!("{changed} arrays changed and changed back");
    assert_eq!(changed, 280 - 10 - 2);
}

#[test]
fn a_dtype_of_the_same_length_and_size_takes_the_place_of_the_old_one() {
    let (_folder, path) = copy("int32_3x5.b2nd");
    let before = fs::read(&path).unwrap();
    let mut frame = Frame::open(&path).unwrap();
    frame.edit().dtype(">f4").apply().unwrap();
    assert_eq!(frame.array().unwrap().unwrap().dtype(), Some(">f4"));
    assert_eq!(differences(&before, &fs::read(&path).unwrap()), [162, 163]);
    assert_eq!(check(&path).unwrap().findings, []);

    let now = fs::read(&path).unwrap();
    for (dtype, why) in [
        ("<f8", "the items of the frame have 4 bytes, but those of dtype `<f8` have 8"),
        (
            "uint32",
            "the new dtype must be as long as the old one (3 bytes), but `uint32` has 6; a rewrite can change its \
             length",
        ),
        ("|O4", "dtype `|O` has Python objects: a file could only store their addresses in memory"),
        ("<q4", &format!("dtype: {}", "<q4".parse::<Dtype>().unwrap_err())),
        ("", &format!("dtype: {}", "".parse::<Dtype>().unwrap_err())),
    ] {
        assert_eq!(refused(ErrorKind::InvalidInput, frame.edit().dtype(dtype).apply()), why);
    }
    assert_eq!(fs::read(&path).unwrap(), now);

    let (_folder, path) = copy("uint16_6x8.caterva");
    let error = Frame::open(&path).unwrap().edit().dtype("<u2").apply();
    assert_eq!(
        refused(ErrorKind::Unsupported, error),
        "layout caterva stores no dtype; a rewrite can add one"
    );
}

#[test]
fn a_structured_dtype_can_get_other_names_of_the_same_length() {
    let (_folder, path) = copy("struct_non_ascii.b2nd");
    let mut frame = Frame::open(&path).unwrap();
    assert_eq!(frame.array().unwrap().unwrap().dtype(), Some("[('größe', '<f4'), ('名前', '<U3')]"));
    frame.edit().dtype("[('breite!', '<f4'), ('前名', '<U3')]").apply().unwrap();
    assert_eq!(
        Frame::open(&path).unwrap().array().unwrap().unwrap().dtype(),
        Some("[('breite!', '<f4'), ('前名', '<U3')]")
    );
}

#[test]
fn any_metalayer_gets_another_value_of_the_same_length() {
    let (_folder, path) = copy("vlmetalayers.b2nd");
    let before = fs::read(&path).unwrap();
    let mut frame = Frame::open(&path).unwrap();
    let layer = frame.metalayers().iter().find(|layer| layer.name() == "vendor").unwrap().clone();
    let value: Vec<u8> = layer.bytes().iter().map(|byte| !byte).collect();
    frame.edit().metalayer("vendor", &value).apply().unwrap();
    let range: Vec<usize> = (layer.offset()..layer.offset() + value.len()).collect();
    assert_eq!(differences(&before, &fs::read(&path).unwrap()), range);
    assert_eq!(Frame::open(&path).unwrap().metalayers()[1].bytes(), value);

    let error = refused(ErrorKind::InvalidInput, frame.edit().metalayer("vendor", &value[1..]).apply());
    let (len, shorter) = (value.len(), value.len() - 1);
    assert_eq!(
        error,
        format!(
            "the new value of metalayer `vendor` must be as long as the old one ({len} bytes), but has {shorter}"
        )
    );
    let error = refused(ErrorKind::InvalidInput, frame.edit().metalayer("caterva", b"").apply());
    assert_eq!(error, "the frame has no metalayer `caterva`");
}

#[test]
fn a_metalayer_that_is_part_of_another_one_is_left_alone() {
    let (_folder, path) = copy("vlmetalayers.b2nd");
    let mut file = fs::read(&path).unwrap();
    let frame = Frame::parse(&file).unwrap();
    let array = &frame.metalayers()[0];
    let field = offset_field(&file, "vendor");
    // First, the offset of `vendor` points to the content of the array metalayer. Then the offset points into the
    // content of the array metalayer, to bytes that look like a content of length 0.
    for (at, length) in [(array.offset() - 5, array.bytes().len()), (array.offset() + 4, 0)] {
        file[field..][..4].copy_from_slice(&u32::try_from(at).unwrap().to_be_bytes());
        file[at] = 0xc6;
        fs::write(&path, &file).unwrap();
        let mut frame = Frame::open(&path).unwrap();
        assert_eq!(frame.metalayers()[1].bytes().len(), length);
        let error =
            refused(ErrorKind::Unsupported, frame.edit().metalayer("vendor", &vec![0; length]).apply());
        assert_eq!(error, "metalayer `vendor` shares bytes with another part of the header");
        assert_eq!(fs::read(&path).unwrap(), file);
    }
}

#[test]
fn a_metalayer_in_the_names_of_the_others_is_left_alone() {
    let (_folder, path) = copy("vlmetalayers.b2nd");
    let meta = Frame::open(&path).unwrap().array().unwrap().unwrap().meta().clone();
    let mut writer = FrameBuilder::new(meta)
        .metalayer_bytes("a name of thirty bytes or so", b"")
        .metalayer_bytes("vendor", b"")
        .write_to(Cursor::new(Vec::new()))
        .unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    let mut file = writer.finish().unwrap().into_inner();
    let name = file.windows(7).position(|bytes| bytes == b"of thir").unwrap();
    // Writes an empty bin32 into the long name. The offset of `vendor` then points to it.
    file[name..name + 5].copy_from_slice(&[0xc6, 0, 0, 0, 0]);
    let field = offset_field(&file, "vendor");
    file[field..][..4].copy_from_slice(&u32::try_from(name).unwrap().to_be_bytes());
    fs::write(&path, &file).unwrap();
    let error =
        refused(ErrorKind::Unsupported, Frame::open(&path).unwrap().edit().metalayer("vendor", b"").apply());
    assert_eq!(error, "metalayer `vendor` shares bytes with another part of the header");
    assert_eq!(fs::read(&path).unwrap(), file);
}

#[test]
fn the_metalayer_of_the_array_is_held_against_its_data() {
    let (_folder, path) = copy("int32_3x5.b2nd");
    let before = fs::read(&path).unwrap();
    let mut frame = Frame::open(&path).unwrap();
    let mut set = |meta: Meta| frame.edit().metalayer("b2nd", &to_vec(&meta).unwrap()).apply();
    fn meta(shape: &[i64], chunkshape: &[i32], blockshape: &[i32], dtype: &str) -> Meta {
        Meta::new(Shapes { shape, chunkshape, blockshape }, dtype).unwrap()
    }
    // In these metalayers, either the chunk shape or the block shape is not that of the frame, but a chunk and a block
    // have the same number of items as in the frame.
    for [chunks, blocks] in [[[3, 2], [1, 2]], [[2, 3], [2, 1]]] {
        let error = refused(ErrorKind::InvalidInput, set(meta(&[3, 5], &chunks, &blocks, "<i4")));
        let expected = format!(
            "the new value has chunkshape {chunks:?} and blockshape {blocks:?}, but the data has [2, 3] and [1, 2]"
        );
        assert_eq!(error, expected);
    }
    assert_eq!(
        refused(ErrorKind::InvalidInput, set(meta(&[3, 7], &[2, 3], &[1, 2], "<i4"))),
        "shape [3, 7] needs a grid of [2, 3] chunks, but the array has [2, 2]"
    );
    assert_eq!(
        refused(ErrorKind::InvalidInput, set(meta(&[3, 5], &[2, 3], &[1, 2], "<i8"))),
        "the items of the frame have 4 bytes, but those of dtype `<i8` have 8"
    );
    assert_eq!(fs::read(&path).unwrap(), before);
    set(meta(&[4, 6], &[2, 3], &[1, 2], "<u4")).unwrap();
    assert_eq!(check(&path).unwrap().findings, []);

    // The value of layout `caterva` is 9 bytes shorter, because it has no dtype format and no dtype. The new value must
    // have the length of the old value, so 9 zeros are added.
    let caterva = meta(&[4, 6], &[2, 3], &[1, 2], "<u4").with_layout(Layout::Caterva).unwrap();
    let caterva = [to_vec(&caterva).unwrap(), vec![0; 9]].concat();
    assert_eq!(
        refused(ErrorKind::InvalidInput, frame.edit().metalayer("b2nd", &caterva).apply()),
        "the new value has layout caterva, but the array has layout b2nd"
    );

    // Bytes that are not an array metalayer, and an array metalayer of another version.
    let now = fs::read(&path).unwrap();
    let mut value = frame.array_metalayer().unwrap().bytes().to_vec();
    let error = frame.edit().metalayer("b2nd", &[0xff; 53]).apply().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    value[1] = 1;
    let error = frame.edit().metalayer("b2nd", &value).apply().unwrap_err();
    assert_eq!(error.finding().map(Finding::code), Some(FindingCode::UnknownVersion), "{error}");
    assert_eq!(fs::read(&path).unwrap(), now);
}

#[test]
fn a_wrong_outer_marker_is_put_right() {
    let (_folder, path) = copy("int32_3x5.b2nd");
    let right = fs::read(&path).unwrap();
    let mut wrong = right.clone();
    wrong[112] = 0x96;
    fs::write(&path, wrong).unwrap();
    let mut frame = Frame::open(&path).unwrap();
    frame.edit().metalayer("b2nd", &right[112..165]).apply().unwrap();
    assert_eq!(fs::read(&path).unwrap(), right);
}

#[test]
fn a_dtype_that_was_wrong_before_does_not_keep_a_shape_from_being_changed() {
    let (_folder, path) = copy("int32_3x5.b2nd");
    let mut file = fs::read(&path).unwrap();
    file[162..165].copy_from_slice(b"|u1");
    fs::write(&path, file).unwrap();
    let mut frame = Frame::open(&path).unwrap();
    frame.edit().shape(&[4, 4]).apply().unwrap();
    frame.edit().dtype("<u4").apply().unwrap();
    assert_eq!(check(&path).unwrap().findings, []);
}

#[test]
fn an_interrupted_resize_is_not_made_worse() {
    let (_folder, path) = copy("int32_3x5.b2nd");
    let mut file = fs::read(&path).unwrap();
    file[37] = 96;
    fs::write(&path, &file).unwrap();
    // The header counts 3 chunks, but the chunk index has 4.
    let error = Frame::open(&path).unwrap().edit().shape(&[4, 6]).apply().unwrap_err();
    let expected =
        "shape [4, 6] needs a grid of [2, 2] chunks, but after an interrupted resize there are 3 chunks";
    assert_eq!(error.to_string(), expected);
    let error = Frame::open(&path).unwrap().edit().shape(&[2, 9]).apply().unwrap_err();
    assert_eq!(error.finding().map(Finding::code), Some(FindingCode::ChunkIndexCount));
    assert_eq!(fs::read(&path).unwrap(), file);
}

#[test]
fn an_interrupted_resize_is_undone() {
    let (folder, path) = copy("int32_3x5.b2nd");
    let file = fs::read(&path).unwrap();
    let at = file.windows(9).position(|bytes| *bytes == [0xd3, 0, 0, 0, 0, 0, 0, 0, 5]).unwrap();
    let mut interrupted = file.clone();
    // The header and the index have 4 chunks, but the new shape, 3 x 9, needs 6 chunks.
    interrupted[at + 8] = 9;
    fs::write(&path, &interrupted).unwrap();
    let findings = check(&path).unwrap().findings;
    assert_eq!(findings.iter().map(Finding::code).collect::<Vec<_>>(), [FindingCode::InterruptedResize]);
    assert_eq!(findings[0].code().remedy(), Some(Remedy::Edit));

    let to = folder.path().join("new.b2nd");
    assert!(Rewrite::new(&path, &to).preview().is_err());
    Rewrite::new(&path, &to).shape(&[3, 5]).apply().unwrap();
    assert_eq!(fs::read(&to).unwrap(), file);
    let mut frame = Frame::open(&path).unwrap();
    assert!(frame.edit().shape(&[3, 9]).preview().is_err());
    assert!(frame.edit().shape(&[3, 5]).preview().is_ok());
    frame.edit().shape(&[3, 5]).apply().unwrap();
    assert_eq!(fs::read(&path).unwrap(), file);
    assert_eq!(check(&path).unwrap().findings, []);
}

#[test]
fn a_header_that_changed_since_it_was_read_is_left_alone() {
    let (_folder, path) = copy("int32_3x5.b2nd");
    let mut first = Frame::open(&path).unwrap();
    let mut second = Frame::open(&path).unwrap();
    first.edit().shape(&[4, 6]).apply().unwrap();
    let now = fs::read(&path).unwrap();
    let error = second.edit().dtype("<f4").apply().unwrap_err();
    assert_eq!((error.kind(), error.finding()), (ErrorKind::Changing, None));
    assert_eq!(fs::read(&path).unwrap(), now);
    // The `Frame` that made the first change can make another change.
    first.edit().dtype("<f4").apply().unwrap();

    // The file is renamed instead of removed, because under wine a removed file keeps its name until it is closed.
    fs::rename(&path, path.with_extension("moved")).unwrap();
    assert_eq!(first.edit().dtype("<i4").apply().unwrap_err().kind(), ErrorKind::Io);
    assert!(!path.exists());
}

#[test]
fn a_frame_that_is_not_the_whole_file_is_left_alone() {
    let (_folder, path) = copy("int32_3x5.b2nd");
    let mut file = fs::read(&path).unwrap();
    file.push(1);
    fs::write(&path, &file).unwrap();
    let error = refused(ErrorKind::Unsupported, Frame::open(&path).unwrap().edit().shape(&[4, 6]).apply());
    assert_eq!(error, "the frame has 520 bytes, but its file has 521; only a whole file can be changed");
    assert_eq!(fs::read(&path).unwrap(), file);

    let (_folder, path) = copy("tree.b2z");
    let before = fs::read(&path).unwrap();
    let frames = b2nd_frame::zip_members(&before).unwrap();
    let member = frames.iter().find(|member| member.frame().is_some()).unwrap();
    let mut frame = Frame::read_at(File::open(&path).unwrap(), member.offset()).unwrap();
    let shape = frame.array().unwrap().unwrap().shape().to_vec();
    assert_eq!(
        refused(ErrorKind::InvalidInput, frame.edit().shape(&shape).apply()),
        "only a frame opened with `Frame::open` can be changed"
    );
    assert_eq!(fs::read(&path).unwrap(), before);
}

fn counter(path: &Path) -> u64 {
    u64::from_ne_bytes(fs::read(path).unwrap()[8..16].try_into().unwrap())
}

#[test]
fn the_lock_beside_a_frame_is_held_and_its_counter_raised() {
    for (name, lock) in [("int32_3x5.b2nd", "int32_3x5.b2nd.b2lock"), ("sparse.b2nd", "sparse.b2nd/.b2lock")]
    {
        let (folder, path) = copy(name);
        let lock = folder.path().join(lock);
        let shape = Frame::open(&path).unwrap().array().unwrap().unwrap().shape().to_vec();
        let larger: Vec<i64> = shape.iter().map(|items| items + 1).collect();

        // If there is no lock file, an edit creates none.
        Frame::open(&path).unwrap().edit().shape(&larger[..]).apply().unwrap();
        assert!(!lock.exists());

        // A new lock file is empty.
        fs::write(&lock, b"").unwrap();
        let mut frame = Frame::open(&path).unwrap();
        frame.edit().shape(&shape).apply().unwrap();
        assert_eq!(counter(&lock), 1);
        fs::write(&lock, [[7; 8], 41_u64.to_ne_bytes()].concat()).unwrap();
        frame.edit().shape(&larger).apply().unwrap();
        assert_eq!(fs::read(&lock).unwrap(), [[7; 8], 42_u64.to_ne_bytes()].concat());

        // A writer or a reader in another process holds the lock.
        let before = fs::read(header_file(&path)).unwrap();
        for take in [File::try_lock, File::try_lock_shared] {
            let other = File::open(&lock).unwrap();
            take(&other).unwrap();
            assert_eq!(locked(frame.edit().shape(&shape).apply()), lock);
        }
        assert_eq!(fs::read(header_file(&path)).unwrap(), before);
        assert_eq!(counter(&lock), 42);
        frame.edit().shape(&shape).apply().unwrap();
        assert_eq!(counter(&lock), 43);
    }
}

#[test]
fn a_frame_without_a_file_has_a_preview_of_its_change() {
    let file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let mut frame = Frame::parse(&file).unwrap();
    let after = frame.edit().shape(&[4, 6]).dtype("<f4").preview().unwrap();
    let array = after.array().unwrap().unwrap();
    assert_eq!((array.shape(), array.dtype()), (&[4, 6][..], Some("<f4")));
    let differing = differences(frame.header_bytes(), after.header_bytes());
    // The positions of the last byte of each of the two dimensions, and of the letter in the dtype.
    assert_eq!(differing, [124, 133, 163]);
    assert!(
        refused(ErrorKind::InvalidInput, frame.edit().shape(&[9, 9]).preview())
            .starts_with("shape [9, 9] needs a grid")
    );
}

#[cfg(unix)]
#[test]
fn a_symbolic_link_does_not_lead_around_the_lock() {
    let (folder, path) = copy("int32_3x5.b2nd");
    let (link, lock) = (folder.path().join("link"), folder.path().join("int32_3x5.b2nd.b2lock"));
    std::os::unix::fs::symlink(&path, &link).unwrap();
    fs::write(&lock, b"").unwrap();
    let other = File::open(&lock).unwrap();
    File::try_lock(&other).unwrap();
    for path in [&path, &link] {
        let held = locked(Frame::open(path).unwrap().edit().shape(&[4, 6]).apply());
        assert_eq!(held, fs::canonicalize(&lock).unwrap());
        let held = locked(Rewrite::new(path, path).dtype("<u4").apply());
        assert_eq!(held, fs::canonicalize(&lock).unwrap());
    }
}

#[test]
fn a_dtype_in_a_syntax_that_is_not_known_is_not_given_another_text() {
    let (_folder, path) = copy("int32_3x5.b2nd");
    let mut file = fs::read(&path).unwrap();
    file[156] = 7;
    fs::write(&path, &file).unwrap();
    let error = refused(ErrorKind::Unsupported, Frame::open(&path).unwrap().edit().dtype("<u4").apply());
    assert_eq!(error, "dtype: dtype_format is 7, but only 0 (NumPy) is known");
    assert_eq!(fs::read(&path).unwrap(), file);
}

#[test]
fn whoever_waits_for_agreement_meanwhile_sees_the_old_header_or_the_new_one() {
    let (_folder, path) = copy("int32_3x5.b2nd");
    let is_done = AtomicBool::new(false);
    let (old, new) = ([3, 4], [4, 6]);
    Frame::open(&path).unwrap().edit().shape(&old).apply().unwrap();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = [0; 2];
            while !is_done.load(Ordering::Relaxed) {
                let frame = Frame::open_stable(&path, Duration::from_secs(10)).unwrap();
                let array = frame.array().unwrap().unwrap();
                let is_old = array.shape() == old;
                assert!(is_old || array.shape() == new, "{array:?}");
                seen[usize::from(is_old)] += 1;
            }
            seen
        });
        let mut frame = Frame::open(&path).unwrap();
        for _ in 0..200 {
            frame.edit().shape(&new).apply().unwrap();
            frame.edit().shape(&old).apply().unwrap();
        }
        is_done.store(true, Ordering::Relaxed);
        println!("{:?}", reader.join().unwrap());
    });
}

#[test]
fn a_lost_type_size_is_not_changed_in_place() {
    let (_folder, path) = copy("peers/lost_typesize_S256.b2nd");
    let before = fs::read(&path).unwrap();
    let mut frame = Frame::open(&path).unwrap();
    let lost = |result: Result<(), Error>| {
        let error = result.unwrap_err();
        assert_eq!(error.finding().map(Finding::code), Some(FindingCode::LostTypesize), "{error}");
    };
    lost(frame.edit().shape(&[6]).apply());
    lost(frame.edit().dtype("<U64 ").apply());
    // The type size in the header is 1, so a dtype with items of one byte would fit the header, but not the data.
    lost(frame.edit().dtype("|V001").apply());
    let value = frame.array().unwrap().unwrap().metalayer().bytes().to_vec();
    lost(frame.edit().metalayer("b2nd", &value).apply());
    assert_eq!(fs::read(&path).unwrap(), before);
}
