//! A rewrite writes a frame with the current metalayer and header, and loses no data.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use b2nd_frame::{
    Error, ErrorKind, Finding, FindingCode, Frame, FrameType, Generation, HeaderField, Remedy, Rewrite,
    Severity, check,
};
use b2nd_lab::{copy_tree, corpus, data, frame_of, header_file, remove, stored_chunk, with_gap};
use b2nd_serde::{Layout, Meta, Shapes, to_vec};

use crate::frames::{file, second_generation};
use crate::{index_start, locked, refused, unlock};

/// A temporary folder, into which a test writes its frames.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Copies a file or directory of the test data into this folder, and returns its new path.
    fn copy(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        copy_tree(&data().join(name), &path);
        path
    }

    fn names(&self) -> BTreeSet<OsString> {
        fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    }
}

/// The file of the corpus whose items are Python objects.
const OBJECTS: &str = "dtypes/object.b2nd";

const NO_ARRAY: &str = "the frame has no array";

/// The length of a trailer without vlmetalayers.
fn trailer_len(generation: Generation) -> usize {
    if generation == Generation::Present { 35 } else { 30 }
}

/// A dtype whose items have this many bytes.
fn dtype_of(typesize: i32) -> String {
    match typesize {
        1 | 2 | 4 | 8 => format!("<u{typesize}").replace("<u1", "|u1"),
        _ => format!("|V{typesize}"),
    }
}

#[test]
fn a_type_size_that_was_lost_is_that_of_the_dtype_again() {
    let folder = Folder::new();
    for (name, size) in [("lost_typesize_S256", 256), ("lost_typesize_record", 404)] {
        let path = folder.path(name);
        fs::copy(data().join(format!("peers/{name}.b2nd")), &path).unwrap();
        let found = check(&path).unwrap().findings;
        // One of the files has an array of zeros. For this file, the check also finds that the array has no data.
        let lost = &found[0];
        assert_eq!((lost.code(), lost.expected()), (FindingCode::LostTypesize, Some(size)));
        assert!(found[1..].iter().all(|finding| finding.code() == FindingCode::NoData), "{found:?}");
        assert_eq!(lost.code().remedy(), Some(Remedy::Rewrite));

        let before = fs::read(&path).unwrap();
        let preview = Rewrite::new(&path, &path).preview().unwrap();
        assert_eq!(i128::from(preview.header().typesize), size);
        let frame = Rewrite::new(&path, &path).apply().unwrap();
        assert_eq!(i128::from(frame.header().typesize), size);
        assert_eq!(check(&path).unwrap().findings, found[1..]);
        // Only the type size has changed.
        let mut after = fs::read(&path).unwrap();
        after[48..52].copy_from_slice(&before[48..52]);
        assert_eq!(after, before);
    }
}

#[test]
fn a_lost_type_size_is_mended_only_where_it_is_the_only_error() {
    let folder = Folder::new();
    let lost = file("peers/lost_typesize_S256.b2nd");
    let mut interrupted = lost.clone();
    // nbytes in the header is now the size of three chunks, each of 4 items of 256 bytes. The index has more chunks.
    interrupted[30..38].copy_from_slice(&(3 * 4 * 256_i64).to_be_bytes());
    let path = folder.write("interrupted.b2nd", &interrupted);
    let error = Rewrite::new(&path, &path).apply().unwrap_err();
    assert_eq!(error.finding().map(Finding::code), Some(FindingCode::InterruptedResize), "{error}");
    assert_eq!(fs::read(&path).unwrap(), interrupted);

    // A given dtype must have the item size of the data, not the item size in the header.
    let path = folder.write("lost.b2nd", &lost);
    let error = Rewrite::new(&path, folder.path("new.b2nd")).dtype("u1").apply();
    assert_eq!(
        refused(ErrorKind::InvalidInput, error),
        "the items of the frame have 256 bytes, but those of dtype `|u1` have 1"
    );
    let frame = Rewrite::new(&path, folder.path("new.b2nd")).dtype("<U64").apply().unwrap();
    assert_eq!((frame.header().typesize, frame.array().unwrap().unwrap().dtype()), (256, Some("<U64")));
}

#[test]
fn a_file_that_is_right_comes_out_byte_for_byte() {
    let folder = Folder::new();
    for name in [
        "int32_3x5.b2nd",
        "scalar.b2nd",
        "empty.b2nd",
        "rank16.b2nd",
        "struct_long.b2nd",
        "vlmetalayers.b2nd",
    ] {
        Rewrite::new(data().join(name), folder.path(name)).apply().unwrap();
        assert_eq!(fs::read(folder.path(name)).unwrap(), file(name), "{name}");
    }
}

/// The compressed bytes of all chunks. A special chunk has none.
fn chunks(path: &Path) -> Vec<Option<Vec<u8>>> {
    let frame = Frame::open(path).unwrap();
    let mut chunks = frame.chunks().unwrap();
    let entries: Vec<_> = chunks.by_ref().map(Result::unwrap).collect();
    entries.iter().map(|entry| chunks.compressed(entry).unwrap()).collect()
}

/// Whether a frame has bytes of replaced chunks, which a rewrite leaves out.
fn has_holes(path: &Path) -> bool {
    Frame::open(path).unwrap().unowned_bytes().is_ok_and(|unowned| unowned > 0)
}

/// These frames have a hole where python-blosc2 deleted a chunk. They have no array.
#[cfg(feature = "decompress")]
#[test]
fn rewrite_leaves_out_the_hole_of_a_deleted_chunk() {
    let folder = Folder::new();
    for name in ["start", "middle", "end"] {
        let old = data().join(format!("peers/hole_at_{name}.b2frame"));
        let new = folder.path(name);
        assert_eq!(Frame::open(&old).unwrap().unowned_bytes().unwrap(), 152, "{name}");
        let preview = Rewrite::new(&old, &new).preview().unwrap();
        let frame = Rewrite::new(&old, &new).apply().unwrap();
        assert_eq!(preview.header_bytes(), frame.header_bytes());
        assert_eq!(frame.unowned_bytes().unwrap(), 0);
        assert_eq!(chunks(&new), chunks(&old), "{name}");
        // Without a hole, there is nothing to do for a frame without an array.
        let error = Rewrite::new(&new, folder.path("again")).apply().unwrap_err();
        assert_eq!(error.to_string(), NO_ARRAY);
    }
}

/// Replaces the codec of a chunk index by one that this crate cannot decompress. Codec 33 is `zfp_acc`.
fn set_zfp(index: &mut [u8]) {
    // The flags now say that the index is compressed, and that the codec is in byte 22.
    index[2] = index[2] & 0x1d | 0xc0;
    index[22] = 33;
}

/// The index of this frame is compressed. So it is not known whether the frame has holes.
#[test]
fn rewrite_copies_all_bytes_of_a_frame_whose_index_it_cannot_decompress() {
    let folder = Folder::new();
    let mut whole = file("geometry/d4_U2.b2nd");
    // Without the feature, no compressed index can be read.
    if cfg!(feature = "decompress") {
        let at = index_start(&whole);
        set_zfp(&mut whole[at..]);
    }
    let (old, new) = (folder.write("old", &whole), folder.path("new"));
    let error = Frame::open(&old).unwrap().unowned_bytes().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    Rewrite::new(&old, &new).apply().unwrap();
    assert_eq!(fs::read(&new).unwrap(), whole);
}

/// Without the index, it is not known which chunk files belong to the frame.
#[test]
fn rewrite_copies_all_chunk_files_of_a_frame_whose_index_it_cannot_decompress() {
    let folder = Folder::new();
    let (old, new) = (folder.copy("sparse.b2nd"), folder.path("new"));
    let mut header_and_index = fs::read(header_file(&old)).unwrap();
    let at = Frame::parse(&header_and_index).unwrap().header().header_len;
    set_zfp(&mut header_and_index[at..]);
    fs::write(header_file(&old), header_and_index).unwrap();
    fs::copy(old.join("00000000.chunk"), old.join("00000004.chunk")).unwrap();
    let error = Frame::open(&old).unwrap().count_chunks().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    Rewrite::new(&old, &new).apply().unwrap();
    for number in 0..5 {
        let file = format!("{number:08X}.chunk");
        assert_eq!(fs::read(new.join(&file)).unwrap(), fs::read(old.join(&file)).unwrap());
    }
}

#[cfg(feature = "decompress")]
#[test]
fn rewrite_copies_only_chunk_files_that_an_entry_refers_to() {
    let folder = Folder::new();
    let (old, new) = (folder.copy("sparse.b2nd"), folder.path("new"));
    let names = |path: &Path| {
        let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name());
        entries.collect::<BTreeSet<_>>()
    };
    let expected = names(&old);
    // C-Blosc2 leaves an empty file when a chunk becomes special.
    for (number, content) in [(7, "of a commit that was killed"), (8, "")] {
        fs::write(old.join(format!("{number:08X}.chunk")), content).unwrap();
    }
    Rewrite::new(&old, &new).apply().unwrap();
    assert_eq!(names(&new), expected);
    assert_eq!(chunks(&new), chunks(&old));
}

#[test]
fn every_right_array_of_the_corpus_comes_out_as_c_blosc2_wrote_it() {
    let Some((corpus, entries)) = corpus() else { return };
    let folder = Folder::new();
    let mut written = 0;
    for (number, entry) in entries.iter().enumerate() {
        let layout = entry["layout"].as_str().unwrap();
        if !entry["frame_offset"].is_null() || layout.contains("stale") || !layout.starts_with("b2nd-7") {
            continue;
        }
        let name = entry["file"].as_str().unwrap();
        let from = corpus.join(name);
        if name.ends_with(OBJECTS) || has_holes(&from) {
            continue;
        }
        Rewrite::new(&from, folder.path(&number.to_string())).apply().unwrap();
        let mut expected = fs::read(header_file(&from)).unwrap();
        if layout.contains("says 6") {
            let at = usize::try_from(entry["offset"].as_u64().unwrap()).unwrap();
            assert_eq!(expected[at], 0x96);
            expected[at] = 0x97;
        }
        assert!(fs::read(header_file(&folder.path(&number.to_string()))).unwrap() == expected, "{name}");
        written += 1;
    }
    println!("{written} arrays are the same bytes");
    // An array of objects and an array with holes are left out.
    assert_eq!(written, 170 - 1 - 1 + 2 + 2 + 8);
}

#[test]
fn every_array_of_the_corpus_becomes_a_present_one_with_the_same_data() {
    let Some((corpus, entries)) = corpus() else { return };
    let mut written = [0; 2];
    for entry in entries.iter().filter(|entry| entry["frame_offset"].is_null()) {
        let name = entry["file"].as_str().unwrap();
        let from = corpus.join(name);
        let before = Frame::open(&from).unwrap();
        let folder = Folder::new();
        let to = folder.path("new");
        let given = before.array().unwrap().filter(|array| array.dtype().is_none());
        let given = given.map(|_| dtype_of(before.header().typesize));
        let after = match given.iter().fold(Rewrite::new(&from, &to), Rewrite::dtype).apply() {
            Ok(after) => after,
            Err(error) => {
                assert_eq!(folder.names(), BTreeSet::new(), "{name}");
                is_refused_with_reason(name, &before, error);
                continue;
            }
        };
        // Compares all bytes after the header.
        let (old, new) = (fs::read(header_file(&from)).unwrap(), fs::read(header_file(&to)).unwrap());
        let (old_header, new_header) = (before.header().clone(), after.header().clone());
        let is_present = old_header.generation == Generation::Present;
        let (mut old_body, mut new_body) = (&old[old_header.header_len..], &new[new_header.header_len..]);
        if !is_present {
            assert_eq!(after.trailer().unwrap().bytes(), &file("int32_3x5.b2nd")[520 - 35..], "{name}");
            old_body = &old_body[..old_body.len() - trailer_len(old_header.generation)];
            new_body = &new_body[..new_body.len() - trailer_len(Generation::Present)];
        }
        let has_holes = has_holes(&from);
        if has_holes {
            assert!(after.unowned_bytes().unwrap() == 0 && chunks(&from) == chunks(&to), "{name}");
            assert_eq!(before.trailer().unwrap().bytes(), after.trailer().unwrap().bytes(), "{name}");
        } else {
            assert!(old_body == new_body, "{name}");
        }
        assert_eq!(
            before.trailer().unwrap().vlmetalayers().len(),
            after.trailer().unwrap().vlmetalayers().len()
        );

        assert_eq!(new_header.generation, Generation::Present);
        assert_eq!(new_header.version, if is_present { old_header.version } else { 2 }, "{name}");
        assert_eq!(new_header.frame_len, new.len() as u64);
        for field in [
            HeaderField::Nbytes,
            HeaderField::Cbytes,
            HeaderField::Typesize,
            HeaderField::Chunksize,
            HeaderField::Filters,
            HeaderField::HasVlmetalayers,
        ] {
            let (a, b) = (old_header.range(field).unwrap(), new_header.range(field).unwrap());
            assert!(old[a] == new[b] || has_holes && field == HeaderField::Cbytes, "{name}: {field:?}");
        }
        assert_eq!(old_header.flags[1..], new_header.flags[1..], "{name}");

        have_same_metalayers(name, &before, &after, given.as_deref());
        let oddities = check(&to).unwrap().findings;
        assert!(oddities.iter().all(remains_after_a_rewrite), "{name}: {oddities:?}");
        written[usize::from(is_present)] += 1;
    }
    println!("rewritten [9d, 9e]: {written:?}");
    assert_eq!(written, [12, 280 - 12 - 10 - 2 - 1]);
}

fn remains_after_a_rewrite(finding: &Finding) -> bool {
    matches!(
        finding.code(),
        FindingCode::HighRank
            | FindingCode::DtypeMismatch
            | FindingCode::IgnoredBytes
            | FindingCode::ActiveObject
            | FindingCode::NoData
            | FindingCode::NeverWritten
    )
}

fn is_refused_with_reason(name: &str, before: &Frame<File>, error: Error) {
    if let Some(finding) = error.finding() {
        assert_eq!(error.kind(), ErrorKind::Malformed);
        match finding.code() {
            FindingCode::ObjectDtype => assert!(name.ends_with(OBJECTS)),
            code => {
                assert_eq!(code, FindingCode::ChunksizeMismatch);
                assert!(name.ends_with("slice_int.cat"));
            }
        }
    } else {
        assert_eq!(refused(ErrorKind::Unsupported, Err::<(), _>(error)), NO_ARRAY);
        assert!(before.array().unwrap().is_none());
    }
}

/// The rewritten frame has the metalayers of the old one, and describes the same array in the present layout.
fn have_same_metalayers(name: &str, before: &Frame<File>, after: &Frame<File>, given: Option<&str>) {
    let others = |frame: &Frame<File>| {
        let array = frame.array_metalayer().cloned();
        let others = frame.metalayers().iter().filter(move |&layer| Some(layer) != array.as_ref());
        others.map(|layer| (layer.name().to_owned(), layer.bytes().to_vec())).collect::<Vec<_>>()
    };
    assert_eq!(others(before), others(after), "{name}");
    let (old, new) = (before.array().unwrap().unwrap(), after.array().unwrap().unwrap());
    assert_eq!(new.metalayer().name(), "b2nd");
    assert_eq!(new.meta().layout(), Layout::B2nd);
    assert_eq!((new.shape(), new.chunkshape()), (old.shape(), old.chunkshape()), "{name}");
    let blockshape = if old.has_blocks() { old.meta().blockshape() } else { old.chunkshape() };
    assert_eq!(new.meta().blockshape(), blockshape, "{name}");
    assert_eq!(new.stale_tail(), b"");
    let is_six = old.meta().layout() == Layout::B2ndSix;
    assert!(is_six || new.dtype() == given.or(old.dtype()), "{name}");
    assert!(!is_six || new.meta().parse_dtype() == old.meta().parse_dtype(), "{name}");
}

#[test]
fn a_fingerprint_is_kept() {
    let folder = Folder::new();
    let mut file = second_generation(file("int32_3x5.b2nd"));
    let fingerprint: Vec<u8> = (1..=17).collect();
    let at = file.len() - fingerprint.len();
    file[at..].copy_from_slice(&fingerprint);
    let (old, new) = (folder.write("old", &file), folder.path("new"));
    Rewrite::new(&old, &new).apply().unwrap();
    assert!(fs::read(new).unwrap().ends_with(&fingerprint));
}

#[test]
fn a_frame_of_the_second_generation_becomes_what_the_present_one_would_have_been() {
    let folder = Folder::new();
    for name in ["int32_3x5.b2nd", "scalar.b2nd", "empty.b2nd", "rank16.b2nd", "struct_long.b2nd"] {
        let old = folder.write("old", &second_generation(file(name)));
        assert_eq!(Frame::open(&old).unwrap().header().generation, Generation::Beta2);
        let to = folder.path(name);
        Rewrite::new(&old, &to).apply().unwrap();
        let mut expected = file(name);
        // A rewrite always writes format version 2, but the original file of an array without items may have another
        // version.
        expected[25] = expected[25] & 0xf0 | 2;
        assert_eq!(fs::read(&to).unwrap(), expected, "{name}");
    }
}

/// A rewrite can change the frame type of a frame of the second generation only if the frame has no chunks. Such a
/// frame has no chunk index that the rewrite would have to convert.
#[test]
fn a_frame_of_the_second_generation_without_chunks_becomes_one_of_another_type() {
    let folder = Folder::new();
    let old = second_generation(file("empty.b2nd"));
    let mut sparse = old.clone();
    // Sets the frame type to sparse.
    sparse[26] = 1;
    fs::create_dir(folder.path("sparse")).unwrap();
    let contiguous = folder.write("contiguous", &old);
    folder.write("sparse/chunks.b2frame", &sparse);
    for (from, to) in [(contiguous, FrameType::Sparse), (folder.path("sparse"), FrameType::Contiguous)] {
        let new = folder.path("new");
        let rewrite = || Rewrite::new(&from, &new).sparse(to == FrameType::Sparse);
        assert_eq!(rewrite().preview().unwrap().header().frame_type, to);
        assert_eq!(rewrite().apply().unwrap().header().frame_type, to);
        assert_eq!(check(&new).unwrap().findings, []);
        remove(&new);
    }
}

#[test]
fn where_the_block_shape_is_unset_each_chunk_is_one_block() {
    let folder = Folder::new();
    let mut file = second_generation(file("int32_3x5.b2nd"));
    // Sets the block length of the first dimension to 0, so the block shape is unset. Without blocks, a chunk of 2 x 3
    // items has no padding, so a chunk has 24 bytes, and the four chunks have 96 bytes.
    file[142..146].fill(0);
    file[53..57].copy_from_slice(&24_u32.to_be_bytes());
    file[30..38].copy_from_slice(&96_u64.to_be_bytes());
    let frame = Rewrite::new(folder.write("old", &file), folder.path("new")).apply().unwrap();
    assert_eq!(frame.array().unwrap().unwrap().meta().blockshape(), [2, 3]);
    assert_eq!(frame.header().blocksize, Some(24));
}

#[test]
fn a_dtype_is_given_where_there_is_none_and_spelled_as_numpy_does() {
    let folder = Folder::new();
    let old = data().join("uint16_6x8.caterva");
    for (number, (given, spelled)) in [
        ("<u2", "<u2"),
        ("uint16", "<u2"),
        (">i2", ">i2"),
        ("[('a','u1'),('b','u1')]", "[('a', 'u1'), ('b', 'u1')]"),
    ]
    .into_iter()
    .enumerate()
    {
        let frame = Rewrite::new(&old, folder.path(&number.to_string())).dtype(given).apply().unwrap();
        assert_eq!(frame.array().unwrap().unwrap().dtype(), Some(spelled));
    }
    let before = folder.names();
    let to = folder.path("to");
    assert_eq!(
        refused(ErrorKind::InvalidInput, Rewrite::new(&old, &to).apply()),
        "layout caterva stores no dtype; give one"
    );
    assert_eq!(
        refused(ErrorKind::InvalidInput, Rewrite::new(&old, &to).dtype("f4").apply()),
        "the items of the frame have 2 bytes, but those of dtype `<f4` have 4"
    );
    assert!(
        refused(ErrorKind::InvalidInput, Rewrite::new(&old, &to).dtype("f5").apply()).starts_with("dtype: ")
    );
    assert_eq!(folder.names(), before);
}

#[test]
fn a_dtype_of_another_length_moves_everything_behind_it() {
    let folder = Folder::new();
    let path = folder.copy("vlmetalayers.b2nd");
    let before = fs::read(&path).unwrap();
    let dtype = format!("[('{}', '<f8')]", "x".repeat(3000));
    let frame = Rewrite::new(&path, &path).dtype(&dtype).apply().unwrap();
    assert_eq!(frame.array().unwrap().unwrap().dtype(), Some(&dtype[..]));
    let vendor: serde_json::Value = frame.metalayer("vendor").unwrap().decode().unwrap();
    assert_eq!(vendor, serde_json::json!({"serial": 7, "tags": ["a", "b"]}));
    assert_eq!(check(&path).unwrap().findings, []);
    let note = Frame::open(&path).unwrap().trailer().unwrap();
    assert_eq!(note.vlmetalayers()[0].decode::<String>().unwrap(), "kelvin");
    assert_eq!(folder.names().len(), 1);

    // Closes the frame, because under wine an open file cannot be rewritten. Another test rewrites an open frame.
    drop(frame);
    Rewrite::new(&path, &path).dtype("<f8").apply().unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn an_array_of_python_objects_is_not_written_again() {
    let folder = Folder::new();
    let path = folder.copy("vlmetalayers.b2nd");
    let refused = |error: Error| {
        let says = error.to_string();
        assert!(says.contains("Python objects"), "{says}");
    };
    refused(Rewrite::new(&path, &path).dtype("|O").apply().unwrap_err());
    // The rewrite makes a struct of one float. Its dtype is then overwritten with a struct of one pointer, which has
    // the same length.
    let objects = "[('x', '|O8')]";
    Rewrite::new(&path, &path).dtype("[('x', '<f8')]").apply().unwrap();
    let mut file = fs::read(&path).unwrap();
    let at = file.windows(objects.len()).position(|bytes| bytes == b"[('x', '<f8')]").unwrap();
    file[at..at + objects.len()].copy_from_slice(objects.as_bytes());
    fs::write(&path, file).unwrap();
    assert_eq!(check(&path).unwrap().findings[0].code(), FindingCode::ObjectDtype);
    refused(Rewrite::new(&path, folder.path("new.b2nd")).apply().unwrap_err());
}

#[test]
fn a_dtype_in_another_syntax_stays_as_it_is() {
    let folder = Folder::new();
    let mut file = file("int32_3x5.b2nd");
    file[112 + 44] = 7;
    let path = folder.write("array", &file);
    Rewrite::new(&path, folder.path("new")).apply().unwrap();
    assert_eq!(fs::read(folder.path("new")).unwrap(), file);
    // A given dtype is in NumPy's syntax, whose dtype format is 0.
    let frame = Rewrite::new(&path, &path).dtype("<f4").apply().unwrap();
    assert_eq!(frame.array().unwrap().unwrap().meta().dtype_format(), Some(0));
}

#[test]
fn a_first_array_metalayer_goes_before_its_former_name_which_stays() {
    let folder = Folder::new();
    let squeezed = Frame::open(data().join("squeezed.caterva")).unwrap();
    let tail = squeezed.array().unwrap().unwrap().stale_tail().len();
    let frame =
        Rewrite::new(data().join("squeezed.caterva"), folder.path("new")).dtype("<u2").apply().unwrap();
    let layer = frame.array_metalayer().unwrap();
    // The new metalayer does not have the stale tail of the old one. But it has a dtype format and a dtype, which take
    // 9 bytes. Its name `b2nd` is 3 bytes shorter than `caterva`.
    assert_eq!(layer.bytes().len(), squeezed.array_metalayer().unwrap().bytes().len() - tail + 9);
    assert_eq!(frame.header().header_len, squeezed.header().header_len - tail + 9 - 3);
    let meta = Meta::new(Shapes { shape: &[6, 8], chunkshape: &[4, 5], blockshape: &[2, 3] }, "<u2").unwrap();
    assert_eq!(layer.bytes(), to_vec(&meta).unwrap());
}

#[test]
fn what_cannot_be_rewritten_is_refused_by_name_and_nothing_is_written() {
    let folder = Folder::new();
    let changed = |name: &str, changes: &[(usize, &[u8])]| {
        let mut file = file(name);
        for (at, bytes) in changes {
            file[*at..at + bytes.len()].copy_from_slice(bytes);
        }
        file
    };
    let mut with_user_metadata = second_generation(file("int32_3x5.b2nd"));
    let at = with_user_metadata.len() - 30 + 7;
    with_user_metadata.splice(at..at, stored_chunk(b"data"));
    with_user_metadata[at - 1] = 36;
    with_user_metadata[at + 36 + 4] = 66;
    let frame_len = with_user_metadata.len() as u64;
    with_user_metadata[16..24].copy_from_slice(&frame_len.to_be_bytes());
    let cases = [
        (changed("int32_3x5.b2nd", &[(95, b"x")]), NO_ARRAY),
        (
            with_user_metadata,
            "the trailer has 36 bytes of user metadata without a name, which the present format cannot store",
        ),
    ];
    let to = folder.path("to");
    for (file, expected) in cases {
        let path = folder.write("old", &file);
        assert_eq!(refused(ErrorKind::Unsupported, Rewrite::new(&path, &to).apply()), expected);
        assert_eq!(refused(ErrorKind::Unsupported, Rewrite::new(&path, &path).apply()), expected);
        assert_eq!(fs::read(&path).unwrap(), file);
    }
    // The file has one byte after the frame. A rewrite to another path does not copy this byte.
    let whole = file("int32_3x5.b2nd");
    let path = folder.write("old", &[&whole[..], &[1]].concat());
    let expected = "the frame has 520 bytes, but its file has 521; only a whole file can be changed";
    assert_eq!(refused(ErrorKind::Unsupported, Rewrite::new(&path, &path).apply()), expected);
    let shorter = folder.path("shorter");
    Rewrite::new(&path, &shorter).apply().unwrap();
    assert_eq!(fs::read(&shorter).unwrap(), whole);
    fs::remove_file(shorter).unwrap();
    for (file, code) in [
        // The length in the header of chunk 1.
        (changed("int32_3x5.b2nd", &[(229 + 15, &[0x40])]), FindingCode::ChunkHeader),
        (changed("int32_3x5.b2nd", &[(37, &[96])]), FindingCode::InterruptedResize),
        (changed("int32_3x5.b2nd", &[(113, &[1])]), FindingCode::UnknownVersion),
        (changed("int32_3x5.b2nd", &[(114, &[17])]), FindingCode::DamagedArray),
        (changed("int32_3x5.b2nd", &[(46, &[0xff])]), FindingCode::DamagedIndex),
        (b"something else entirely here".to_vec(), FindingCode::NotAFrame),
    ] {
        let path = folder.write("old", &file);
        assert_eq!(Rewrite::new(&path, &to).apply().unwrap_err().finding().map(Finding::code), Some(code));
        assert_eq!(Rewrite::new(&path, &path).apply().unwrap_err().finding().map(Finding::code), Some(code));
        assert_eq!(fs::read(&path).unwrap(), file);
    }
    let none = folder.path("none");
    let error = Rewrite::new(&none, &to).apply().unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(&*none)));
    let nowhere = folder.path("no folder").join("to");
    let error = Rewrite::new(data().join("int32_3x5.b2nd"), nowhere).apply().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(folder.names(), BTreeSet::from(["old".into()]));
}

#[test]
fn a_new_frame_is_checked_before_it_gets_its_name_whatever_it_came_from() {
    let folder = Folder::new();
    let mut damaged = second_generation(file("int32_3x5.b2nd"));
    // Sets cbytes to 0, as if there were no chunks. In a frame of the second generation, a check does not find this
    // damage.
    damaged[39..47].fill(0);
    let path = folder.write("old", &damaged);
    assert!(check(&path).unwrap().findings.iter().all(|finding| finding.severity() == Severity::Warning));
    for to in [path.clone(), folder.path("new")] {
        let why = refused(ErrorKind::Malformed, Rewrite::new(&path, &to).apply());
        assert!(why.contains("the new frame would have this error: "), "{why}");
        assert_eq!(refused(ErrorKind::Malformed, Rewrite::new(&path, &to).preview()), why);
    }
    assert_eq!(fs::read(&path).unwrap(), damaged);
    assert_eq!(folder.names(), BTreeSet::from(["old".into()]));

    // In a sparse frame of the second generation, a check does not look for the chunk files.
    let path = folder.copy("sparse.b2nd");
    let old = second_generation(file("sparse.b2nd/chunks.b2frame"));
    fs::write(header_file(&path), old).unwrap();
    fs::remove_file(path.join("00000002.chunk")).unwrap();
    assert!(check(&path).unwrap().findings.iter().all(|finding| finding.severity() == Severity::Warning));
    let why = refused(ErrorKind::Malformed, Rewrite::new(&path, folder.path("new")).preview());
    assert!(why.contains("the new frame would have this error: only 3 of 4 chunk files are whole"), "{why}");
    refused(ErrorKind::Malformed, Rewrite::new(&path, folder.path("new")).apply().map(drop));
    assert!(!folder.path("new").exists());
}

#[test]
fn a_preview_is_what_comes_of_it_and_writes_nothing() {
    let folder = Folder::new();
    let path = folder.copy("uint16_6x8.caterva");
    let lock = File::create(folder.path("uint16_6x8.caterva.b2lock")).unwrap();
    File::try_lock(&lock).unwrap();
    let before = folder.names();
    for to in [path.clone(), folder.path("new")] {
        let rewrite = || Rewrite::new(&path, &to).dtype("<u2");
        let preview = rewrite().preview().unwrap();
        assert_eq!(folder.names(), before);
        assert_eq!(fs::read(&path).unwrap(), file("uint16_6x8.caterva"));
        assert_eq!(locked(rewrite().apply()), folder.path("uint16_6x8.caterva.b2lock"));

        unlock(&lock);
        let after = Rewrite::new(folder.path("uint16_6x8.caterva"), folder.path("copy")).dtype("<u2").apply();
        assert_eq!(after.unwrap().header_bytes(), preview.header_bytes());
        fs::remove_file(folder.path("copy")).unwrap();
        File::try_lock(&lock).unwrap();
    }
    let error = Rewrite::new(&path, folder.path("uint16_6x8.caterva.b2lock")).preview().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Exists);
    let nowhere = folder.path("no folder");
    let error = Rewrite::new(&path, nowhere.join("new")).dtype("<u2").preview().unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(&*nowhere)));
}

#[test]
fn a_name_that_is_too_long_for_a_lock_has_none() {
    let folder = Folder::new();
    let path = folder.path(&format!("{}.b2nd", "x".repeat(250)));
    fs::copy(data().join("int32_3x5.b2nd"), &path).unwrap();
    Frame::open(&path).unwrap().edit().shape(&[4, 6]).apply().unwrap();
    Rewrite::new(&path, &path).dtype("<f4").apply().unwrap();
    Rewrite::new(&path, folder.path("new")).apply().unwrap();
    assert_eq!(check(&path).unwrap().findings, []);
}

#[test]
fn an_error_about_a_lock_file_names_the_lock_file() {
    let folder = Folder::new();
    let path = folder.copy("int32_3x5.b2nd");
    let lock = folder.path("int32_3x5.b2nd.b2lock");
    // A directory cannot be opened for writing, even by root.
    fs::create_dir(&lock).unwrap();
    let mut frame = Frame::open(&path).unwrap();
    let results = [frame.edit().shape(&[4, 6]).apply(), Rewrite::new(&path, &path).apply().map(drop)];
    for result in results {
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(&*lock)));
        let reason = error.io_error().unwrap();
        assert_eq!(error.to_string(), format!("cannot open the lock file {}: {reason}", lock.display()));
    }
}

#[cfg(unix)]
#[test]
fn a_file_keeps_its_owner_where_that_is_allowed() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let folder = Folder::new();
    let path = folder.copy("int32_3x5.b2nd");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    if chown(&path, Some(65534), Some(65534)).is_err() {
        println!("not root, so no file can be given away");
        return;
    }
    Rewrite::new(&path, &path).dtype("<f4").apply().unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!((metadata.uid(), metadata.gid()), (65534, 65534));
    // A copy belongs to the user who made it, but has the mode of the old file.
    Rewrite::new(&path, folder.path("new")).apply().unwrap();
    assert_eq!(fs::metadata(folder.path("new")).unwrap().uid(), fs::metadata(folder.0.path()).unwrap().uid());
    for path in [path, folder.path("new")] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o640);
    }
}

#[test]
fn a_file_that_may_not_be_written_is_not_replaced() {
    let folder = Folder::new();
    let path = folder.copy("int32_3x5.b2nd");
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    let may_write = fs::OpenOptions::new().write(true).open(&path).is_ok();
    let mut frame = Frame::open(&path).unwrap();
    let results = [frame.edit().shape(&[4, 6]).apply(), Rewrite::new(&path, &path).apply().map(drop)];
    for result in results {
        match result {
            // Only root can open the file for writing.
            Ok(()) => assert!(may_write),
            Err(error) => {
                // Wine lets root open the file for writing, but not rename another file over it.
                assert!(!may_write || cfg!(windows));
                assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(&*path)));
            }
        }
    }
    Rewrite::new(&path, folder.path("new")).apply().unwrap();
}

#[test]
fn a_copy_goes_only_to_a_new_name() {
    let folder = Folder::new();
    let there = folder.write("there", b"precious");
    fs::create_dir(folder.path("directory")).unwrap();
    let other = folder.copy("sparse.caterva");
    for from in ["int32_3x5.b2nd", "sparse.b2nd"] {
        for to in [&there, &folder.path("directory"), &other] {
            let error = Rewrite::new(data().join(from), to).apply().unwrap_err();
            assert_eq!((error.kind(), error.path()), (ErrorKind::Exists, Some(&**to)));
            assert_eq!(error.to_string(), format!("{} already exists", to.display()));
        }
    }
    assert_eq!(fs::read(&there).unwrap(), b"precious");
    assert_eq!(folder.names().len(), 3);
}

#[test]
fn what_gets_the_new_name_meanwhile_stays() {
    type Create = fn(&Path);
    let folder = Folder::new();
    let to = folder.path("new");
    let file: Create = |to| fs::write(to, b"precious").unwrap();
    let empty: Create = |to| fs::create_dir(to).unwrap();
    let full: Create = |to| {
        fs::create_dir(to).unwrap();
        fs::write(to.join("precious"), b"").unwrap();
    };
    for from in ["int32_3x5.b2nd", "sparse.b2nd"] {
        for create in [file, empty, full] {
            // Another file appears at the destination before the first byte is copied, or after the last byte.
            for reports in [1, 2] {
                let mut left = reports;
                let rewrite = Rewrite::new(data().join(from), &to).on_progress(|_| {
                    left -= 1;
                    if left == 0 {
                        create(&to);
                    }
                    ControlFlow::Continue(())
                });
                let error = rewrite.apply().unwrap_err();
                assert_eq!((error.kind(), error.path()), (ErrorKind::Exists, Some(&*to)), "{from}: {error}");
                assert_eq!(folder.names(), BTreeSet::from(["new".into()]));
                assert_eq!(to.is_dir(), fs::read(&to).is_err());
                assert!(!to.join("chunks.b2frame").exists());
                remove(&to);
            }
        }
    }
}

#[test]
fn a_frame_is_rewritten_again_while_it_is_open() {
    let folder = Folder::new();
    for (name, dtypes) in [("int32_3x5.b2nd", ["<u4", ">i4"]), ("sparse.b2nd", ["<i2", ">u2"])] {
        let path = folder.copy(name);
        let [first, mut second] = dtypes.map(|dtype| Rewrite::new(&path, &path).dtype(dtype).apply());
        let mut last = dtypes[1];
        if let Some(error) = second.as_ref().err().filter(|_| cfg!(windows)) {
            // Wine and Windows before 10 do not rename over an open file. There the second rewrite fails, and the file
            // keeps the result of the first rewrite.
            assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(&*header_file(&path))), "{error}");
            (second, last) = (Frame::open(&path), dtypes[0]);
        }
        for (frame, dtype) in [(first, dtypes[0]), (second, last), (Frame::open(&path), last)] {
            assert_eq!(frame.unwrap().array().unwrap().unwrap().dtype(), Some(dtype), "{name}");
        }
        let mut files = fs::read_dir(header_file(&path).parent().unwrap()).unwrap();
        assert!(files.all(|file| file.unwrap().path().extension() != Some(OsStr::new("tmp"))), "{name}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_error_about_the_old_frame_names_its_file() {
    let folder = Folder::new();
    let path = folder.copy("sparse.b2nd");
    let chunk = path.join("00000002.chunk");
    let rewrite = Rewrite::new(&path, folder.path("new")).on_progress(|copied| {
        if copied == 0 {
            // `/proc/self/mem` can be opened, but its first bytes cannot be read.
            fs::remove_file(&chunk).unwrap();
            std::os::unix::fs::symlink("/proc/self/mem", &chunk).unwrap();
        }
        ControlFlow::Continue(())
    });
    let error = rewrite.apply().unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(&*chunk)), "{error}");
    assert_eq!(error.to_string(), format!("cannot read {}: {}", chunk.display(), error.io_error().unwrap()));
    assert_eq!(folder.names(), BTreeSet::from(["sparse.b2nd".into()]));
}

#[test]
fn a_dtype_that_was_spelled_as_numpy_does_becomes_a_type_string() {
    let folder = Folder::new();
    for (spelled, written) in [("int32", "<i4"), (">f4", ">f4"), ("float32", "<f4")] {
        let shapes = Shapes { shape: &[0, 5], chunkshape: &[2, 3], blockshape: &[1, 2] };
        let meta = Meta::new(shapes, spelled).unwrap().with_layout(Layout::B2ndSix).unwrap();
        let path = folder.write("old", &frame_of(&[("b2nd", &to_vec(&meta).unwrap())], &[]));
        let frame = Rewrite::new(&path, &path).apply().unwrap();
        let array = frame.array().unwrap().unwrap();
        assert_eq!((array.meta().layout(), array.dtype()), (Layout::B2nd, Some(written)));
    }
}

#[test]
fn a_frame_that_is_cut_while_it_is_copied_is_changing_and_leaves_no_copy() {
    let folder = Folder::new();
    // A file of this size is copied in more than one piece, so the progress function is called between two pieces.
    let path = with_gap(folder.0.path(), "int32_3x5.b2nd", 9 << 20);
    let mut reports = 0;
    let rewrite = Rewrite::new(&path, folder.path("new")).dtype("<u4").on_progress(|_| {
        reports += 1;
        if reports == 2 {
            fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(5 << 20).unwrap();
        }
        ControlFlow::Continue(())
    });
    let error = rewrite.apply().unwrap_err();
    assert_eq!((error.kind(), error.finding()), (ErrorKind::Changing, None));
    assert_eq!(folder.names(), BTreeSet::from(["int32_3x5.b2nd".into()]));
}

#[cfg(unix)]
#[test]
fn a_copy_that_is_removed_before_it_has_its_name_is_an_error_about_that_name() {
    let folder = Folder::new();
    let path = folder.copy("sparse.b2nd");
    let new = folder.path("new");
    let rewrite = Rewrite::new(&path, &new).on_progress(|copied| {
        if copied == 0 {
            let unfinished = folder.names().into_iter().find(|name| name != "sparse.b2nd").unwrap();
            remove(&folder.0.path().join(unfinished));
        }
        ControlFlow::Continue(())
    });
    let error = rewrite.apply().unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(&*new)));
    assert_eq!(error.to_string(), format!("cannot write {}: {}", new.display(), error.io_error().unwrap()));
    assert_eq!(folder.names(), BTreeSet::from(["sparse.b2nd".into()]));
}

#[test]
fn a_chunk_file_that_is_damaged_or_removed_before_it_is_copied_is_found_in_the_copy() {
    for (new, what) in [(Some("short"), "not a chunk"), (None, "missing")] {
        let folder = Folder::new();
        let path = folder.copy("sparse.b2nd");
        let file = path.join("00000002.chunk");
        let rewrite = Rewrite::new(&path, folder.path("new")).on_progress(|copied| {
            match new {
                _ if copied > 0 => {}
                Some(new) => fs::write(&file, new).unwrap(),
                None => fs::remove_file(&file).unwrap(),
            }
            ControlFlow::Continue(())
        });
        let error = rewrite.apply().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Changing);
        let finding = error.finding().unwrap();
        let says = format!("only 3 of 4 chunk files are whole; for example 00000002.chunk is {what}");
        assert_eq!((finding.code(), finding.message()), (FindingCode::ChunkFile, &*says));
        assert_eq!(folder.names(), BTreeSet::from(["sparse.b2nd".into()]));
    }
}

#[test]
fn a_sparse_frame_keeps_its_chunks() {
    let folder = Folder::new();
    let path = folder.copy("sparse.caterva");
    let chunk = |path: &Path, number| fs::read(path.join(format!("{number:08X}.chunk"))).unwrap();
    let copy = folder.path("copy.b2nd");
    fs::write(path.join(".b2lock"), b"").unwrap();
    Rewrite::new(&path, &copy).dtype("<u2").apply().unwrap();
    assert_eq!(fs::read_dir(&copy).unwrap().count(), 5, "no lock, nothing else");
    for number in 0..4 {
        assert_eq!(chunk(&copy, number), chunk(&path, number));
    }
    assert_eq!(check(&copy).unwrap().findings, []);

    // A rewrite in place does not touch the chunk files, whether its path is the directory or the header file.
    let modified = |path: &Path| fs::metadata(path.join("00000001.chunk")).unwrap().modified().unwrap();
    let before = modified(&path);
    Rewrite::new(&path, path.join("chunks.b2frame")).dtype("<u2").apply().unwrap();
    assert_eq!(modified(&path), before);
    assert_eq!(
        fs::read(path.join("chunks.b2frame")).unwrap(),
        fs::read(copy.join("chunks.b2frame")).unwrap()
    );
    assert_eq!(fs::read_dir(&path).unwrap().count(), 6);
    Rewrite::new(path.join("chunks.b2frame"), &path).dtype("<i2").apply().unwrap();
    assert_eq!(Frame::open(&path).unwrap().array().unwrap().unwrap().dtype(), Some("<i2"));
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new();
    // A copy of a file does not depend on who may enter the folder of the file.
    fs::set_permissions(folder.0.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let path = folder.copy("uint16_6x8.caterva");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let link = folder.path("link");
    symlink(&path, &link).unwrap();
    Rewrite::new(&link, &link).dtype("<u2").apply().unwrap();
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(Frame::open(&path).unwrap().array().unwrap().unwrap().dtype(), Some("<u2"));
    let copy = folder.path("copy");
    Rewrite::new(&link, &copy).apply().unwrap();
    for path in [&path, &copy] {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o640);
    }
    let sparse = folder.copy("sparse.b2nd");
    let modes =
        [("", 0o750), ("chunks.b2frame", 0o640), ("00000000.chunk", 0o600), ("00000001.chunk", 0o644)];
    for (name, mode) in modes {
        fs::set_permissions(sparse.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let copy = folder.path("sparse copy");
    Rewrite::new(&sparse, &copy).apply().unwrap();
    for (name, mode) in modes {
        assert_eq!(fs::metadata(copy.join(name)).unwrap().permissions().mode() & 0o777, mode, "{name}");
    }
}

/// An access control list of Linux: the permissions of the owner, of user 1234, of the group, of the mask and of others.
#[cfg(target_os = "linux")]
fn acl([owner, user, group, mask, others]: [u16; 5]) -> Vec<u8> {
    let entries = [(1, owner, u32::MAX), (2, user, 1234), (4, group, u32::MAX), (16, mask, u32::MAX)];
    let entries = entries.into_iter().chain([(32_u16, others, u32::MAX)]);
    let entry = |(tag, permissions, id): (u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &permissions.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    [2_u32.to_le_bytes().to_vec(), entries.flat_map(entry).collect()].concat()
}

#[cfg(target_os = "linux")]
fn set_acl(path: &Path, name: &str, acl: &[u8]) -> bool {
    let file = File::open(path).unwrap();
    rustix::fs::fsetxattr(file, name, acl, rustix::fs::XattrFlags::empty()).is_ok()
}

#[cfg(target_os = "linux")]
fn acl_of(path: &Path) -> Option<Vec<u8>> {
    let mut acl = vec![0; 1 << 16];
    let len =
        rustix::fs::fgetxattr(File::open(path).unwrap(), "system.posix_acl_access", &mut acl[..]).ok()?;
    acl.truncate(len);
    Some(acl)
}

#[cfg(target_os = "linux")]
#[test]
fn a_new_file_gets_the_access_control_list_of_the_old_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let path = folder.copy("int32_3x5.b2nd");
    // User 1234 may read and write the file, but the group may not. The mode has the bits of the mask for the group.
    let list = acl([6, 6, 0, 6, 0]);
    if !set_acl(&path, "system.posix_acl_access", &list) {
        println!("the file system has no access control lists");
        return;
    }
    assert_eq!(mode(&path), 0o660);
    Rewrite::new(&path, &path).dtype("<f4").apply().unwrap();
    let copy = folder.path("copy");
    Rewrite::new(&path, &copy).apply().unwrap();
    b2nd_frame::Salvage::open(&path).unwrap().apply(folder.path("saved")).unwrap();
    let mut paths = vec![path.clone(), copy, folder.path("saved")];

    let sparse = folder.path("sparse");
    Rewrite::new(&path, &sparse).sparse(true).apply().unwrap();
    Rewrite::new(&sparse, folder.path("sparse copy")).apply().unwrap();
    for directory in [sparse.clone(), folder.path("sparse copy")] {
        assert_eq!((mode(&directory), acl_of(&directory)), (0o700, None));
        paths.extend(fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()));
    }
    #[cfg(feature = "compress")]
    {
        let mut update = b2nd_frame::ArrayUpdate::open(&sparse).unwrap();
        update.write(&[0..1, 0..1], &[1; 4]).unwrap();
        update.flush().unwrap();
        paths.retain(|path| path.exists());
        paths.extend(fs::read_dir(&sparse).unwrap().map(|entry| entry.unwrap().path()));
        let mut update = b2nd_frame::ArrayUpdate::open(&path).unwrap();
        update.resize(&[0, 5]).unwrap();
        update.flush().unwrap();
    }
    for path in paths {
        assert_eq!((mode(&path), acl_of(&path)), (0o660, Some(list.clone())), "{}", path.display());
    }
}

/// A new file in a directory with a default access control list inherits this list, which may name more users than the
/// old file allows.
#[cfg(target_os = "linux")]
#[test]
fn a_new_file_does_not_inherit_an_access_control_list_that_the_old_file_does_not_have() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let path = folder.copy("int32_3x5.b2nd");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    if !set_acl(folder.0.path(), "system.posix_acl_default", &acl([7, 7, 7, 7, 0])) {
        println!("the file system has no access control lists");
        return;
    }
    let copy = folder.path("copy");
    Rewrite::new(&path, &copy).apply().unwrap();
    Rewrite::new(&path, &path).dtype("<f4").apply().unwrap();
    for path in [path, copy] {
        assert_eq!(acl_of(&path), None);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }
}

#[test]
fn the_lock_beside_a_frame_is_held_meanwhile() {
    let folder = Folder::new();
    let path = folder.copy("int32_3x5.b2nd");
    let lock = folder.write("int32_3x5.b2nd.b2lock", b"");
    let counter = || fs::read(&lock).unwrap();
    Rewrite::new(&path, &path).dtype("<f4").apply().unwrap();
    let once = [[0; 8], 1_u64.to_ne_bytes()].concat();
    assert_eq!(counter(), once);
    let before = fs::read(&path).unwrap();

    // If a reader holds the lock, a rewrite in place is refused, but not one to another path. If a writer holds the
    // lock, both are refused.
    let reader = File::open(&lock).unwrap();
    File::try_lock_shared(&reader).unwrap();
    assert_eq!(locked(Rewrite::new(&path, &path).apply()), lock);
    Rewrite::new(&path, folder.path("copy")).apply().unwrap();
    drop(reader);
    let writer = File::open(&lock).unwrap();
    File::try_lock(&writer).unwrap();
    assert_eq!(locked(Rewrite::new(&path, folder.path("copy 2")).apply()), lock);
    assert_eq!(counter(), once);
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(folder.names().len(), 3);
}

#[test]
fn a_frame_that_check_calls_wrong_is_not_rewritten_through_its_directory() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("directory");
    fs::create_dir(&directory).unwrap();
    let file = directory.join("chunks.b2frame");
    fs::copy(data().join("int32_3x5.b2nd"), &file).unwrap();
    assert_eq!(check(&directory).unwrap().findings[0].severity(), Severity::Error);
    for to in [directory.clone(), folder.path().join("copy")] {
        assert_eq!(Rewrite::new(&directory, &to).apply().unwrap_err().kind(), ErrorKind::Malformed);
    }
    // The frame is contiguous. If it is opened by the path of the directory, this is an error, because the frame of a
    // directory must be sparse. If it is opened by the path of the file, it is valid.
    assert_eq!(check(&file).unwrap().findings, []);
    Rewrite::new(&file, &file).apply().unwrap();
}
