//! A rewrite converts a contiguous frame to a sparse frame and back, and does not change the chunks.

use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::Path;

use b2nd_frame::b2nd_serde::Layout;
use b2nd_frame::{
    Check, CheckDepth, ChunkPlace, ErrorKind, FindingCode, Frame, FrameBuilder, FrameType, Generation,
    HeaderField, Rewrite, Salvage, Severity, SpecialValue, check,
};
use b2nd_lab::{copy_tree, corpus, data, header_file, remove, stored_chunk};
use b2nd_serde::{Meta, Shapes};

/// A chunk as a reader sees it: its stored bytes, or its special value.
#[derive(Debug, PartialEq)]
enum Seen {
    Stored(Vec<u8>),
    Special(SpecialValue),
}

fn chunks(path: &Path) -> Vec<Seen> {
    let frame = Frame::open(path).unwrap();
    let file = fs::read(header_file(path)).unwrap();
    let mut chunks = frame.chunks().unwrap();
    let mut seen = Vec::new();
    while let Some(entry) = chunks.next().transpose().unwrap() {
        let cbytes = chunks.header(&entry).unwrap().map_or(0, |header| header.cbytes());
        seen.push(match entry.place {
            ChunkPlace::Frame(start) => {
                Seen::Stored(file[usize::try_from(start).unwrap()..][..cbytes].to_vec())
            }
            ChunkPlace::File(_) => {
                Seen::Stored(fs::read(path.join(entry.file_name().unwrap())).unwrap()[..cbytes].to_vec())
            }
            ChunkPlace::Special(special) => Seen::Special(special),
            place => panic!("{place:?}"),
        });
    }
    seen
}

/// The parts of a frame that a change of its type must not change: the metalayers, the trailer, and some values of the
/// header.
type Around = (Vec<(String, Vec<u8>)>, Vec<u8>, Vec<Vec<u8>>);

fn around(path: &Path) -> Around {
    let frame = Frame::open(path).unwrap();
    let layers = frame.metalayers().iter();
    let layers = layers.map(|layer| (layer.name().to_owned(), layer.bytes().to_vec())).collect();
    let trailer = frame.trailer().unwrap().bytes().to_vec();
    let fields = [
        HeaderField::Nbytes,
        HeaderField::Typesize,
        HeaderField::Chunksize,
        HeaderField::Blocksize,
        HeaderField::Filters,
    ];
    let value = |field| frame.header_bytes()[frame.header().range(field).unwrap()].to_vec();
    (layers, trailer, fields.map(value).to_vec())
}

/// The codes of the findings about a frame, except those about unused bytes.
fn findings(path: &Path) -> Vec<FindingCode> {
    let findings = Check::new(CheckDepth::ChunkHeaders).run_path(path).unwrap().findings;
    findings
        .iter()
        .map(b2nd_frame::Finding::code)
        // A conversion drops unused bytes such as those of deleted chunks, so the new frame does not have these
        // findings.
        .filter(|&code| !matches!(code, FindingCode::IgnoredBytes | FindingCode::UnownedBytes))
        .collect()
}

/// Converts a frame to the other frame type and back, and compares the three frames.
fn there_and_back(path: &Path, folder: &Path) {
    let (there, back) = (folder.join("there"), folder.join("back"));
    let old = Frame::open(path).unwrap().header().frame_type;
    let other = if old == FrameType::Sparse { FrameType::Contiguous } else { FrameType::Sparse };
    let rewrite = || Rewrite::new(path, &there).sparse(other == FrameType::Sparse);
    let preview = rewrite().preview().unwrap();
    let frame = rewrite().apply().unwrap();
    assert_eq!(preview.header_bytes(), frame.header_bytes());
    assert_eq!(frame.header().frame_type, other);
    assert_eq!(there.is_dir(), other == FrameType::Sparse);
    Rewrite::new(&there, &back).sparse(old == FrameType::Sparse).apply().unwrap();
    let first = chunks(path);
    for new in [&there, &back] {
        assert!(chunks(new) == first, "{}", path.display());
        assert_eq!(around(new), around(path), "{}", path.display());
        assert_eq!(findings(new), findings(path), "{}", path.display());
        remove(new);
    }
}

/// Returns true if the frame can be converted to the other type. Other tests cover the frames that cannot.
fn is_convertible(path: &Path) -> bool {
    let Ok(frame) = Frame::open(path) else { return false };
    let is_present_array = match frame.array() {
        Ok(None) => true,
        Ok(Some(array)) => array.meta().layout() == Layout::B2nd && array.stale_tail().is_empty(),
        Err(_) => false,
    };
    is_present_array && frame.header().generation == Generation::Present && frame.chunks().is_ok() && {
        let findings = Check::new(CheckDepth::ChunkHeaders).run_path(path).unwrap().findings;
        findings.iter().all(|finding| finding.severity() == Severity::Warning)
    }
}

#[test]
fn frames_of_all_kinds_become_the_other_type_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let folders = [data(), data().join("peers")];
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut converted = 0;
    for path in files.map(|file| file.unwrap().path()).filter(|path| is_convertible(path)) {
        there_and_back(&path, folder.path());
        converted += 1;
    }
    assert!(converted >= 20, "{converted}");
}

#[test]
fn frames_of_the_corpus_become_the_other_type_and_back() {
    let Some((corpus, manifest)) = corpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut converted = 0;
    for file in &manifest {
        let path = corpus.join(file["file"].as_str().unwrap_or_default());
        if is_convertible(&path) && fs::metadata(header_file(&path)).unwrap().len() < 1 << 20 {
            there_and_back(&path, folder.path());
            converted += 1;
        }
    }
    println!("{converted} of {} converted", manifest.len());
}

#[test]
fn a_hole_between_chunks_is_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let [path, sparse, back] = ["old", "sparse", "back"].map(|name| folder.path().join(name));
    // The index entry of chunk 1 becomes a special value. The chunk's 42 bytes stay in the file as a hole.
    let meta = Meta::new(Shapes { shape: &[30], chunkshape: &[10], blockshape: &[10] }, "|u1").unwrap();
    let mut writer = FrameBuilder::new(meta).create(&path).unwrap();
    for number in 0..3 {
        writer.write_uncompressed(number, &[1; 10]).unwrap();
    }
    drop(writer.finish().unwrap().persist().unwrap());
    let mut file = fs::read(&path).unwrap();
    let entry = file.len() - 35 - 16;
    file[entry..entry + 8].copy_from_slice(&(i64::MIN | 1 << 56).to_le_bytes());
    fs::write(&path, file).unwrap();

    let cbytes = |frame: &Frame<File>| frame.header().cbytes;
    assert_eq!(cbytes(&Frame::open(&path).unwrap()), 3 * 42);
    assert_eq!(cbytes(&Rewrite::new(&path, &sparse).sparse(true).apply().unwrap()), 2 * 42);
    let frame = Rewrite::new(&sparse, &back).sparse(false).apply().unwrap();
    assert_eq!(cbytes(&frame), 2 * 42);
    assert!(chunks(&back) == chunks(&path));
    assert_eq!(fs::metadata(&back).unwrap().len() + 42, fs::metadata(&path).unwrap().len());
}

#[test]
fn an_old_array_gets_the_present_layout_with_the_new_type() {
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("new");
    let old = data().join("uint16_6x8.caterva");
    let rewrite = || Rewrite::new(&old, &new).sparse(true);
    assert_eq!(rewrite().apply().unwrap_err().to_string(), "layout caterva stores no dtype; give one");
    let frame = rewrite().dtype("<u2").apply().unwrap();
    assert_eq!(frame.array().unwrap().unwrap().meta().layout(), Layout::B2nd);
    assert!(chunks(&new) == chunks(&old));
}

#[test]
fn what_cannot_become_another_type_says_why_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, new) = (folder.path().join("old"), folder.path().join("new"));
    let mut file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let refused = |to: &Path, frame_type| {
        let rewrite = || Rewrite::new(&path, to).sparse(frame_type == FrameType::Sparse);
        let preview = rewrite().preview().unwrap_err().to_string();
        let error = rewrite().apply().unwrap_err();
        assert_eq!(error.to_string(), preview);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        (error.kind(), preview)
    };
    fs::write(&path, &file).unwrap();
    assert_eq!(
        refused(&path, FrameType::Sparse),
        (
            ErrorKind::InvalidInput,
            "a frame of another type cannot replace the old one: give a new path".into()
        )
    );
    // Chunk 1 begins at byte 229, and bytes 12 to 15 of the chunk are its length.
    file[229 + 15] = 0x40;
    fs::write(&path, &file).unwrap();
    let (kind, message) = refused(&new, FrameType::Sparse);
    assert_eq!(kind, ErrorKind::Malformed);
    assert!(message.ends_with("chunk 1 has 1073741888 bytes, but at most 192 are left for it"), "{message}");
}

#[test]
fn a_chunk_that_is_copied_in_pieces_is_as_long_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (path, new) = (folder.path().join("long.b2nd"), folder.path().join("sparse"));
    let shapes = Shapes { shape: &[10_000_000], chunkshape: &[5_000_000], blockshape: &[5_000_000] };
    let mut writer = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).create(&path).unwrap();
    for number in [0, 1] {
        writer.write_uncompressed(number, &vec![7; 5_000_000]).unwrap();
    }
    writer.finish().unwrap().persist().unwrap();
    Rewrite::new(&path, &new).sparse(true).apply().unwrap();
    for name in ["00000000.chunk", "00000001.chunk"] {
        assert_eq!(fs::metadata(new.join(name)).unwrap().len(), 32 + 5_000_000);
    }
}

#[test]
fn a_chunk_that_only_a_sparse_frame_may_have_does_not_get_into_a_contiguous_one() {
    let folder = tempfile::tempdir().unwrap();
    let (path, new) = (folder.path().join("sparse"), folder.path().join("new.b2nd"));
    let meta = Meta::new(Shapes { shape: &[8], chunkshape: &[8], blockshape: &[8] }, "|u1").unwrap();
    let mut writer = FrameBuilder::new(meta).create_sparse(&path).unwrap();
    writer.write_chunk(0, &stored_chunk(&[7; 8])).unwrap();
    writer.finish().unwrap().persist().unwrap();
    assert!(Rewrite::new(&path, &new).sparse(false).preview().is_ok());
    // The chunk now has the same data after a header of 16 bytes, as in Blosc 1.
    let mut short = vec![2, 1, 0x02, 1];
    for number in [8_u32, 8, 24] {
        short.extend(number.to_le_bytes());
    }
    short.extend([7; 8]);
    fs::write(path.join("00000000.chunk"), &short).unwrap();
    assert_eq!(check(&path).unwrap().findings, []);
    let error = Rewrite::new(&path, &new).sparse(false).apply().unwrap_err().to_string();
    assert_eq!(
        error,
        "chunk 0, in 00000000.chunk, has 24 bytes, but C-Blosc2 reads no chunk of less than 32"
    );
    assert!(!new.exists());
}

#[test]
fn a_change_of_type_that_is_stopped_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("new");
    for (name, frame_type) in [("int32_3x5.b2nd", FrameType::Sparse), ("sparse.b2nd", FrameType::Contiguous)]
    {
        for stop_at in 0.. {
            let mut reports = Vec::new();
            let rewrite = Rewrite::new(data().join(name), &new)
                .sparse(frame_type == FrameType::Sparse)
                .on_progress(|bytes| {
                    reports.push(bytes);
                    if reports.len() > stop_at { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
            let Err(error) = rewrite.apply() else {
                assert_eq!((reports.first(), reports.len()), (Some(&0), 6), "{name}");
                let cbytes = Frame::open(&new).unwrap().header().cbytes;
                assert_eq!(reports.last().copied(), u64::try_from(cbytes).ok());
                break;
            };
            assert_eq!(error.kind(), ErrorKind::Stopped);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
        remove(&new);
    }
}

#[test]
fn a_chunk_that_changes_before_it_is_moved_is_heard_and_nothing_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let (path, new) = (folder.path().join("old"), folder.path().join("new"));
    let chunk = path.join("00000001.chunk");
    let other = |cbytes: u8| {
        let mut other = fs::read(data().join("sparse.b2nd/00000001.chunk")).unwrap();
        other.resize(cbytes.into(), 0);
        other[12..16].copy_from_slice(&u32::from(cbytes).to_le_bytes());
        other
    };
    let length = u8::try_from(other(64).len()).unwrap();
    let swap = || {
        let last = path.join("00000003.chunk");
        let [one, other] = [&chunk, &last].map(|path| fs::read(path).unwrap());
        assert_ne!(one.len(), other.len());
        fs::write(&chunk, other).unwrap();
        fs::write(&last, one).unwrap();
    };
    for (change, kind) in [
        // First, the chunk claims more bytes than its file has. Then the chunk and its file are longer than before.
        (&(|| fs::write(&chunk, &other(200)[..100]).unwrap()) as &(dyn Fn() + Sync), ErrorKind::Changing),
        (&|| fs::write(&chunk, other(length + 8)).unwrap(), ErrorKind::Changing),
        // The files of two chunks are swapped. The chunks have different lengths, but the sum of the lengths stays the
        // same.
        (&swap, ErrorKind::Changing),
        (&|| fs::remove_file(&chunk).unwrap(), ErrorKind::Malformed),
    ] {
        copy_tree(&data().join("sparse.b2nd"), &path);
        let rewrite = Rewrite::new(&path, &new).sparse(false).on_progress(|copied| {
            if copied == 0 {
                change();
            }
            ControlFlow::Continue(())
        });
        let error = rewrite.apply().unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        remove(&path);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[cfg(unix)]
#[test]
fn a_private_frame_stays_private() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let [path, sparse, back, saved] = ["old", "sparse", "back", "saved"].map(|name| folder.path().join(name));
    fs::copy(data().join("int32_3x5.b2nd"), &path).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for (file, directory) in [(0o600, 0o700), (0o640, 0o750), (0o644, 0o755), (0o755, 0o755)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(file)).unwrap();
        Rewrite::new(&path, &sparse).sparse(true).apply().unwrap();
        Rewrite::new(&sparse, &back).sparse(false).apply().unwrap();
        assert_eq!((mode(&sparse), mode(&back)), (directory, file));
        Salvage::open(&sparse).unwrap().apply(&saved).unwrap();
        assert_eq!(mode(&saved), directory);
        for entry in [&sparse, &saved].into_iter().flat_map(|new| fs::read_dir(new).unwrap()) {
            assert_eq!(mode(&entry.unwrap().path()), file);
        }
        remove(&sparse);
        remove(&saved);
        remove(&back);
    }

    // The files of the sparse frame are private only because their directory is.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    Rewrite::new(&path, &sparse).sparse(true).apply().unwrap();
    fs::set_permissions(&sparse, fs::Permissions::from_mode(0o710)).unwrap();
    Rewrite::new(&sparse, &back).sparse(false).apply().unwrap();
    assert_eq!(mode(&back), 0o640);
}
