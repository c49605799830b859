//! Salvages damaged frames, and compares the new frames and the reports with what a salvage should save.

#[cfg(feature = "decompress")]
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::io::Cursor;
use std::ops::ControlFlow;
#[cfg(feature = "compress")]
use std::ops::Range;
use std::path::Path;

#[cfg(feature = "decompress")]
use b2nd_frame::Array;
use b2nd_frame::{
    Check, CheckDepth, Error, ErrorKind, Fill, Finding, FindingCode, Frame, FrameBuilder, Generation, Remedy,
    Restored, Salvage, SalvageReport, Severity, SpecialValue, check,
};
use b2nd_lab::{chunk_of_zeros, copy, data};
#[cfg(feature = "decompress")]
use b2nd_lab::{chunk_with_a_table, frame_of, stored_chunk};
use b2nd_serde::{Meta, Shapes};
#[cfg(feature = "decompress")]
use serde_json::json;

#[cfg(feature = "decompress")]
use crate::frames::chunk_with_codec;
use crate::frames::{damage, index_damage, oddities, second_generation};
use crate::{Recording, index_start};

/// The file of the array that most tests use. It has 3 x 5 items in 4 chunks of 2 x 3 items. Each chunk has 64 bytes,
/// and chunk 0 begins at byte 165.
fn small() -> Vec<u8> {
    fs::read(data().join("int32_3x5.b2nd")).unwrap()
}

const CHUNKS: usize = 165;
const CHUNK: usize = 64;
const INDEX: usize = CHUNKS + 4 * CHUNK;

fn of(bytes: Vec<u8>) -> Salvage<'static, Vec<u8>> {
    Salvage::read_at(bytes, 0).unwrap()
}

/// Salvages a frame of these bytes, and returns the bytes of the new file and the report. Asserts that a preview gives
/// the same report.
#[track_caller]
fn saved(bytes: &[u8], folder: &Path) -> Result<(Vec<u8>, SalvageReport), Error> {
    let to = folder.join("saved.b2nd");
    let preview = of(bytes.to_vec()).preview();
    let applied = of(bytes.to_vec()).apply(&to);
    assert_eq!(preview.is_ok(), applied.is_ok(), "{preview:?} {applied:?}");
    assert_eq!(to.exists(), applied.is_ok());
    let (frame, report) = applied?;
    let preview = preview?;
    assert_eq!(preview.frame.header_bytes(), frame.header_bytes());
    let all = |report: &SalvageReport| {
        let SalvageReport {
            lost, unverified, unowned, restored, assumed_order, lost_metalayers, counts, ..
        } = report;
        format!(
            "{lost:?} {unverified:?} {unowned:?} {restored:?} {assumed_order:?} {lost_metalayers:?} {counts:?}"
        )
    };
    assert_eq!(all(&preview), all(&report));
    let new = fs::read(&to).unwrap();
    fs::remove_file(to).unwrap();
    Ok((new, report))
}

/// The restored parts, as text.
fn said(report: &SalvageReport) -> Vec<String> {
    report.restored.iter().map(ToString::to_string).collect()
}

fn errors(path: &Path) -> Vec<FindingCode> {
    let findings = Check::new(CheckDepth::ChunkData).run_path(path).unwrap().findings;
    findings.iter().filter(|finding| finding.severity() == Severity::Error).map(Finding::code).collect()
}

/// If an array is made in memory and then saved, python-blosc2 writes its vlmetalayers with another typesize than
/// usual. A salvage must not take this typesize for damage.
#[test]
#[cfg(feature = "decompress")]
fn vlmetalayers_of_an_array_that_was_made_in_memory_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = fs::read(data().join("peers/made_in_memory.b2nd")).unwrap();
    let (new, report) = saved(&file, folder.path()).unwrap();
    assert_eq!((report.lost_metalayers.len(), report.restored.len()), (0, 0), "{report:?}");
    let values = |file: Vec<u8>| {
        let trailer = Frame::read_at(file, 0).unwrap().trailer().unwrap();
        trailer.vlmetalayers().iter().map(|layer| layer.value().unwrap().to_vec()).collect::<Vec<_>>()
    };
    assert_eq!(values(new), values(file));
}

#[test]
fn a_given_dtype_must_have_the_item_size_of_the_header() {
    for (dtype, size) in [("int8", 1), ("<f8", 8), ("complex128", 16)] {
        let error = of(small()).dtype(dtype).preview().unwrap_err().to_string();
        assert!(error.contains(&format!("has items of {size} bytes, but by its header")), "{error}");
        assert!(error.ends_with("the array has items of 4"), "{error}");
    }
    assert!(of(small()).dtype("float32").preview().is_ok());
}

/// For each code whose remedy is a salvage, at least one damaged file is salvaged, and the new frame has no error. If
/// a salvage without options fails, the test tries again with the right shapes and dtype as options.
#[test]
fn each_code_that_a_salvage_mends_is_mended() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("damaged.b2nd"), folder.path().join("saved.b2nd"));
    let mut mended = BTreeSet::new();
    for (name, file, code) in damage().into_iter().chain(oddities()).chain(index_damage()) {
        if code.remedy() != Some(Remedy::Salvage) {
            continue;
        }
        fs::write(&from, &file).unwrap();
        assert!(check(&from).unwrap().findings.iter().any(|finding| finding.code() == code), "{name}");
        let plain = || Salvage::open(&from).unwrap();
        let given = || {
            let salvage = plain().shape(&[3, 5]).chunkshape(&[2, 3]).blockshape(&[1, 2]).dtype("<i4");
            salvage.assume_order()
        };
        let applied = plain().apply(&to).or_else(|_| given().apply(&to));
        assert_eq!(fs::read(&from).unwrap(), file, "{name}");
        if applied.is_ok() {
            assert_eq!(errors(&to), [], "{name}");
            mended.insert(code);
            fs::remove_file(&to).unwrap();
        }
    }
    let with_remedy = FindingCode::ALL.iter().filter(|code| code.remedy() == Some(Remedy::Salvage));
    let mut left: BTreeSet<FindingCode> = with_remedy.copied().collect();
    left.retain(|code| !mended.contains(code));
    // The tests below cover these codes.
    let below = [
        FindingCode::TooLong,
        FindingCode::ChunkHeader,
        FindingCode::ChunkDictionary,
        FindingCode::ChunkData,
        FindingCode::ChunkOverlap,
        FindingCode::ChunkFile,
    ];
    assert_eq!(left, below.into());
}

/// If the table says that no operation repairs a frame with this code, a salvage must not repair it either.
#[test]
fn no_code_that_a_salvage_mends_lacks_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("damaged.b2nd"), folder.path().join("saved.b2nd"));
    for (name, file, code) in damage().into_iter().chain(oddities()).chain(index_damage()) {
        // A salvage does not write bytes that readers ignore. They need no remedy.
        if code.remedy().is_some() || code == FindingCode::IgnoredBytes {
            continue;
        }
        fs::write(&from, &file).unwrap();
        if Salvage::open(&from).unwrap().apply(&to).is_ok() {
            let codes =
                |path: &Path| check(path).unwrap().findings.iter().map(Finding::code).collect::<Vec<_>>();
            assert!(codes(&to).contains(&code) || !codes(&from).contains(&code), "{name}: {code}");
            fs::remove_file(&to).unwrap();
        }
    }
}

#[test]
fn a_header_length_that_is_too_long_to_read_is_restored() {
    const MAX_HEADER_LEN: u32 = 1 << 26;
    let (_folder, path) = copy("int32_3x5.b2nd");
    let mut file = small();
    // The frame must be longer than the header, so the file ends with zeros.
    file[11..15].copy_from_slice(&(MAX_HEADER_LEN + 1).to_be_bytes());
    file[16..24].copy_from_slice(&u64::from(MAX_HEADER_LEN + 100).to_be_bytes());
    fs::write(&path, file).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_len(u64::from(MAX_HEADER_LEN) + 100).unwrap();
    assert_eq!(errors(&path), [FindingCode::TooLong]);
    let new = path.with_file_name("new.b2nd");
    let (_, report) = Salvage::open(&path).unwrap().apply(&new).unwrap();
    assert_eq!((&*said(&report)[0], errors(&new)), ("header_len was 67108865, and is 165", vec![]));
}

#[test]
fn a_frame_without_damage_is_saved_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    for entry in walk(&data()) {
        let Ok(frame) = Frame::open(&entry) else { continue };
        let is_present = frame.header().generation == Generation::Present;
        if !is_present || frame.array().is_ok_and(|array| array.is_none()) || frame.offset() > 0 {
            continue;
        }
        let from = if frame.header().is_sparse() { entry.parent().unwrap() } else { &entry };
        let to = folder.path().join(format!("{count}.b2nd"));
        let (new, report) = match Salvage::open(from).unwrap().apply(&to) {
            // Without the feature `decompress`, a compressed chunk index is not read.
            Err(_) if cfg!(not(feature = "decompress")) => continue,
            applied => applied.unwrap_or_else(|error| panic!("{}: {error}", from.display())),
        };
        assert!(report.is_whole() && report.assumed_order.is_none(), "{}: {report:?}", from.display());
        assert_eq!(new.array().unwrap().unwrap().shape(), frame.array().unwrap().unwrap().shape());
        let counts = |path: &Path| Frame::open(path).unwrap().count_chunks().unwrap();
        assert_eq!(counts(&to), counts(from), "{}", from.display());
        count += 1;
    }
    assert!(count > 20, "{count}");
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        files.extend(if path.is_dir() { walk(&path) } else { vec![path] });
    }
    files.sort();
    files
}

#[test]
fn a_damaged_chunk_is_lost_and_every_other_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    let old = small();
    for chunk in 0..4 {
        for byte in 0..32 {
            let mut file = old.clone();
            file[CHUNKS + chunk * CHUNK + byte] ^= 0x55;
            let Ok((new, report)) = saved(&file, folder.path()) else { panic!("chunk {chunk}, byte {byte}") };
            let lost: Vec<u64> = report.lost.iter().map(|range| range.first).collect();
            assert!(lost.is_empty() || lost == [chunk as u64], "chunk {chunk}, byte {byte}: {report:?}");
            let frame = Frame::read_at(new, 0).unwrap();
            let has_note = frame.trailer().unwrap().vlmetalayer("b2nd_salvage").is_some();
            assert_eq!(has_note, report.lost_count() + report.unverified_count() > 0);
            let mut chunks = frame.chunks().unwrap();
            while let Some(entry) = chunks.next().transpose().unwrap() {
                let bytes = chunks.compressed(&entry).unwrap();
                let start = CHUNKS + usize::try_from(entry.number).unwrap() * CHUNK;
                match bytes {
                    None => assert_eq!(lost, [entry.number]),
                    Some(bytes) if entry.number != chunk as u64 => {
                        assert_eq!(bytes, old[start..start + CHUNK]);
                    }
                    Some(_) => {}
                }
            }
        }
    }
}

/// The data of a chunk with a wrong dictionary flag is undamaged, so nothing is lost.
#[test]
fn the_flag_of_a_dictionary_is_cleared_where_the_data_is_not_compressed() {
    let folder = tempfile::tempdir().unwrap();
    let (old, mut file) = (small(), small());
    for (chunk, byte) in [(0, 0x01), (2, 0x83), (3, 0x01)] {
        file[CHUNKS + chunk * CHUNK + 31] = byte;
    }
    let (new, report) = saved(&file, folder.path()).unwrap();
    let why = "the dictionary flag is cleared, because the data is not compressed";
    assert_eq!(said(&report), [format!("chunk 0: {why}"), format!("chunks 2 to 3: {why}")]);
    assert!(report.is_whole() && report.unverified.is_empty(), "{report:?}");
    let mut expected = old;
    expected[CHUNKS + 2 * CHUNK + 31] = 0x82;
    assert_eq!(new[CHUNKS..INDEX], expected[CHUNKS..INDEX]);
    let (from, to) = (folder.path().join("new.b2nd"), folder.path().join("again.b2nd"));
    fs::write(&from, new).unwrap();
    assert_eq!(Check::new(CheckDepth::ChunkData).run_path(&from).unwrap().findings, []);
    assert_eq!(Salvage::open(&from).unwrap().apply(&to).unwrap().1.restored, []);

    // A salvage also clears the flag in a chunk file of a sparse frame, and in a vlmetalayer.
    let (_folder, path) = copy("sparse.b2nd");
    let chunk = path.join("00000001.chunk");
    let stored = fs::read(&chunk).unwrap();
    let mut damaged = stored.clone();
    damaged[31] |= 1;
    fs::write(&chunk, damaged).unwrap();
    let to = folder.path().join("sparse.b2nd");
    let (_, report) = Salvage::open(&path).unwrap().apply(&to).unwrap();
    assert_eq!((said(&report), report.lost), (vec![format!("chunk 1: {why}")], vec![]));
    assert_eq!(fs::read(to.join("00000001.chunk")).unwrap(), stored);
    let mut file = fs::read(data().join("vlmetalayers.b2nd")).unwrap();
    let trailer = Frame::read_at(&file, 0).unwrap().trailer().unwrap();
    let (value, at) = (trailer.vlmetalayers()[0].value().unwrap(), trailer.vlmetalayers()[0].offset());
    file[usize::try_from(at).unwrap() + 31] |= 1;
    let (new, report) = saved(&file, folder.path()).unwrap();
    assert_eq!(said(&report), [format!("vlmetalayer unit: {why}")]);
    let trailer = Frame::read_at(&new, 0).unwrap().trailer().unwrap();
    assert_eq!(trailer.vlmetalayers()[0].value().unwrap(), value);
    assert!(report.is_whole(), "{report:?}");
}

#[test]
fn the_new_frame_says_what_is_lost_and_keeps_saying_it() {
    #[derive(serde::Deserialize, Debug, PartialEq)]
    struct Note {
        lost: Vec<(u64, u64)>,
        unverified: Vec<(u64, u64)>,
        fill: String,
        assumed_order: bool,
    }
    let folder = tempfile::tempdir().unwrap();
    let mut file = small();
    file[CHUNKS + 3 * CHUNK] = 0xff;
    file[CHUNKS + 3 * CHUNK + 2] = 0;
    let (mut again, _) = saved(&file, folder.path()).unwrap();
    let note = |file: &[u8]| -> Note {
        let frame = Frame::read_at(file, 0).unwrap();
        frame.trailer().unwrap().vlmetalayer("b2nd_salvage").unwrap().decode().unwrap()
    };
    assert_eq!(
        note(&again),
        Note { lost: vec![(3, 1)], unverified: vec![(0, 3)], fill: "zeros".into(), assumed_order: false }
    );
    // Damages chunk 1 of the new frame. The new header is as long as the old one, so the chunks have the same offsets.
    again[CHUNKS + CHUNK + 2] = 0;
    let (last, report) = saved(&again, folder.path()).unwrap();
    assert_eq!(report.lost_count(), 1);
    assert_eq!(
        note(&last),
        Note {
            lost: vec![(1, 1), (3, 1)],
            unverified: vec![(0, 1), (2, 1)],
            fill: "zeros".into(),
            assumed_order: false
        }
    );
    let path = folder.path().join("last.b2nd");
    fs::write(&path, last).unwrap();
    let findings = check(&path).unwrap().findings;
    assert_eq!(findings.iter().map(Finding::code).collect::<Vec<_>>(), [FindingCode::Salvaged]);
    let message = "the frame was salvaged: 2 chunks were lost, from chunk 1 on, and are zeros now; 2 chunks could not be \
                   verified, from chunk 0 on, so their items may be wrong";
    assert_eq!(findings[0].message(), message);
}

/// The array of `small`, with one vlmetalayer whose value is in `chunk`.
#[cfg(feature = "decompress")]
fn with_vlmetalayer(name: &str, chunk: &[u8]) -> Vec<u8> {
    const TRAILER: usize = 485;
    let other = frame_of(&[], &[(name, chunk)]);
    let trailer = Frame::read_at(&other, 0).unwrap().trailer().unwrap();
    let mut file = [&small()[..TRAILER], trailer.bytes()].concat();
    let frame_len = file.len() as u64;
    file[16..24].copy_from_slice(&frame_len.to_be_bytes());
    // Sets the flag of vlmetalayers.
    file[68] = 0xc3;
    file
}

/// The note of a salvage is a vlmetalayer. If another program copies the vlmetalayers, it may compress them.
#[test]
#[cfg(feature = "decompress")]
fn a_compressed_note_is_kept_and_one_that_is_no_note_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let mut damaged = small();
    damaged[CHUNKS + 3 * CHUNK + 2] = 0;
    let note = |file: &[u8]| {
        let trailer = Frame::read_at(file, 0).unwrap().trailer().unwrap();
        trailer.vlmetalayers().iter().map(|layer| layer.value().unwrap().into_owned()).collect::<Vec<_>>()
    };
    let (new, _) = saved(&damaged, folder.path()).unwrap();
    let before = note(&new);
    let value = &before[0];
    // The chunk has one block of LZ4. The stored length of its only stream is the length of the data, which means that
    // the stream is not compressed.
    let length = i32::try_from(value.len()).unwrap();
    let mut chunk = chunk_with_a_table(1);
    chunk.truncate(36);
    chunk.extend(length.to_le_bytes());
    chunk.extend(value);
    for (at, number) in [(4, length), (8, length), (12, 40 + length), (32, 36)] {
        chunk[at..at + 4].copy_from_slice(&number.to_le_bytes());
    }
    let compressed = with_vlmetalayer("b2nd_salvage", &chunk);
    let path = folder.path().join("compressed.b2nd");
    fs::write(&path, &compressed).unwrap();
    let findings = check(&path).unwrap().findings;
    let message = "the frame was salvaged: chunk 3 was lost, and is zeros now; 3 chunks could not be verified, from chunk 0 \
                   on, so their items may be wrong";
    assert_eq!(findings[0].message(), message);
    let (new, report) = saved(&compressed, folder.path()).unwrap();
    assert_eq!((note(&new), report.lost_metalayers.len()), (before, 0));

    let why = "it is not the list of an earlier salvage".to_owned();
    let with = |key, wrong| {
        let right = [("lost", json!([[3, 1]])), ("fill", json!("zeros")), ("assumed_order", json!(false))];
        let mut note: BTreeMap<&str, serde_json::Value> = right.into();
        note.insert(key, wrong);
        rmp_serde::to_vec(&note).unwrap()
    };
    // Older frames have no ranges of unverified chunks.
    let file = with_vlmetalayer("b2nd_salvage", &stored_chunk(&with("fill", json!("nan"))));
    assert_eq!(saved(&file, folder.path()).unwrap().1.lost_metalayers.len(), 0);
    let wrong = [
        vec![0xc0],
        with("fill", json!("no value")),
        with("lost", json!([3])),
        with("unverified", json!([3])),
        with("unverified", json!([[3, -1]])),
    ];
    for value in wrong {
        let file = with_vlmetalayer("b2nd_salvage", &stored_chunk(&value));
        fs::write(&path, &file).unwrap();
        let finding = &check(&path).unwrap().findings[0];
        let message = "the frame was salvaged, but vlmetalayer b2nd_salvage cannot be read";
        assert_eq!(finding.message(), message);
        let (new, report) = saved(&file, folder.path()).unwrap();
        assert_eq!(report.lost_metalayers[0].why, why);
        assert_eq!(report.lost_metalayers[0].name, "b2nd_salvage");
        assert!(note(&new).is_empty());
    }
}

#[test]
fn a_salvage_asks_nothing_of_a_file_that_ends_in_its_header() {
    for length in 1..CHUNKS {
        let error = of(small()[..length].to_vec()).locate().unwrap_err();
        let given = of(small()[..length].to_vec()).shape(&[3, 5]).chunkshape(&[2, 3]).blockshape(&[2, 2]);
        let with_shapes = given.dtype("<i4").preview().unwrap_err();
        // The lengths of the header and of the frame, whose last byte is 8, are in the first 24 bytes.
        let least = if length < 23 { 87 } else { CHUNKS };
        let numbers = (Some(least as i128), Some(length as i128));
        for error in [error, with_shapes] {
            assert!(error.to_string().starts_with("nothing could be saved: "), "{length}: {error}");
            let finding = error.finding().unwrap();
            assert_eq!(finding.code(), FindingCode::Truncated, "{length}: {error}");
            assert_eq!((finding.expected(), finding.found()), numbers, "{length}: {error}");
        }
    }
    // If only the length of the header is damaged, all chunks are found.
    let mut file = small();
    file[11..15].copy_from_slice(&[0, 0, 2, 0]);
    assert!(of(file).preview().unwrap().is_whole());
}

#[test]
fn without_an_index_the_order_must_be_assumed() {
    let folder = tempfile::tempdir().unwrap();
    for length in CHUNKS..INDEX + 20 {
        let cut = &small()[..length];
        let whole = (length - CHUNKS) / CHUNK;
        let error = saved(cut, folder.path()).unwrap_err();
        let expected = if whole == 0 { ErrorKind::Unsupported } else { ErrorKind::OrderUnknown };
        assert_eq!(error.kind(), expected, "{length}");
        let assumed = of(cut.to_vec()).assume_order().preview();
        if whole == 0 {
            let message =
                "nothing could be saved: no chunk index that fits the array and no undamaged chunk was found";
            assert_eq!(assumed.unwrap_err().to_string(), message);
            continue;
        }
        assert!(
            error.to_string().contains(&format!(
                "the file has {whole} chunk{} and the array has 4",
                if whole == 1 { "" } else { "s" }
            )),
            "{error}"
        );
        let report = assumed.unwrap();
        assert_eq!(report.lost_count(), 4 - whole as u64, "{length}");
        assert_eq!(report.assumed_order.iter().count(), 1);
    }
}

/// The numbers of the chunks that a salvage lost.
fn lost(report: &SalvageReport) -> Vec<u64> {
    report.lost.iter().flat_map(|range| range.first..range.first + range.count).collect()
}

/// Without an index, a salvage can only number the chunks in the order of their positions in the file. A damaged chunk
/// must not change the numbers of the chunks after it.
#[test]
fn damaged_bytes_between_chunks_stand_for_the_chunks_that_are_lost_there() {
    let header = |chunk: usize| CHUNKS + chunk * CHUNK..CHUNKS + chunk * CHUNK + 32;
    let length = |chunk: usize| header(chunk).start + 12..header(chunk).start + 13;
    let cut = |chunks: usize| CHUNKS + chunks * CHUNK;
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("saved.b2nd");
    for (damaged, end, expected) in [
        (vec![header(1)], INDEX, vec![1]),
        (vec![header(0)], INDEX, vec![0]),
        (vec![length(1)], INDEX, vec![1]),
        (vec![length(1), length(2)], INDEX, vec![1, 2]),
        (vec![header(0), header(2)], INDEX, vec![0, 2]),
        // All bytes of two chunks are damaged. The number of lost chunks follows from the offset of the index, which is
        // where the chunks end.
        (vec![header(1).start..header(2).start, header(2).start..header(3).start], INDEX, vec![1, 2]),
        // The file is truncated, and one of the remaining chunks is damaged.
        (vec![header(1)], cut(3), vec![1, 3]),
        (vec![length(0)], cut(3), vec![0, 3]),
    ] {
        let mut file = small();
        for range in damaged {
            file[range].fill(0x55);
        }
        file.truncate(end);
        assert_eq!(of(file.clone()).preview().unwrap_err().kind(), ErrorKind::OrderUnknown);
        let (frame, report) = of(file).assume_order().apply(&to).unwrap();
        assert_eq!(lost(&report), expected);
        let mut chunks = frame.chunks().unwrap();
        for number in (0..4).filter(|number| !expected.contains(number)) {
            let entry = chunks.get(number).unwrap().unwrap();
            let start = CHUNKS + usize::try_from(number).unwrap() * CHUNK;
            assert_eq!(chunks.compressed(&entry).unwrap().unwrap(), small()[start..start + CHUNK]);
        }
        fs::remove_file(&to).unwrap();
    }
}

#[test]
fn a_number_that_no_chunk_file_has_is_that_of_a_lost_chunk() {
    let (_folder, path) = copy("sparse.b2nd");
    let index = path.join("chunks.b2frame");
    let header_len = Frame::open(&path).unwrap().header().header_len;
    let mut bytes = fs::read(&index).unwrap();
    bytes.truncate(header_len);
    fs::write(&index, bytes).unwrap();
    let all = Salvage::open(&path).unwrap().assume_order().preview().unwrap();
    assert_eq!(all.lost_count(), 0);
    fs::remove_file(path.join("00000001.chunk")).unwrap();
    let report = Salvage::open(&path).unwrap().assume_order().preview().unwrap();
    assert_eq!(lost(&report), [1]);
    assert_eq!(report.assumed_order.unwrap().missing, 1, "{report:?}");
    // One file number is now larger than the number of chunks.
    fs::rename(path.join("00000000.chunk"), path.join("00000099.chunk")).unwrap();
    let report = Salvage::open(&path).unwrap().assume_order().preview().unwrap();
    assert_eq!(lost(&report), [all.counts.total() - 1]);
}

/// The small array, whose index has other entries for some chunks: pairs of a chunk number and an entry.
fn with_entries(entries: &[(usize, i64)]) -> Vec<u8> {
    let mut file = small();
    for &(number, value) in entries {
        file[INDEX + 32 + 8 * number..][..8].copy_from_slice(&value.to_le_bytes());
    }
    file
}

/// The entry of the n-th chunk of the small file.
fn offset(n: usize) -> i64 {
    i64::try_from(n * CHUNK).unwrap()
}

const ZEROS: i64 = 0x81 << 56;

/// Entries that lead nowhere: beyond the chunks, and a special value with other bits.
const NOWHERE: [i64; 3] = [1 << 40, i64::MIN | 0x7f << 56, i64::MIN];

const ONLY_ONE: &str =
    "its entry in the chunk index is wrong, so the only chunk in the file without an entry was used";
const IN_ORDER: &str = "its entry in the chunk index is wrong or occurs twice, so its place follows from the assumed \
                        order of the chunks";
/// The end of the reason for a lost chunk that `assume_order` would save.
const NEEDS_ORDER: &str = "; to save it in the order of the file, assume the order";
const OTHERS: &str = "damage to uncompressed data leaves no trace, and other bytes of the file are damaged";

/// The reason why each chunk of the small array is unverified.
fn doubts(report: &SalvageReport) -> [&str; 4] {
    let of = |number| {
        let range =
            report.unverified.iter().find(|range| (range.first..range.first + range.count).contains(&number));
        range.map_or("", |range| &*range.why)
    };
    [of(0), of(1), of(2), of(3)]
}

#[test]
fn a_chunk_with_a_wrong_entry_is_saved_if_it_is_the_only_one_without_an_entry() {
    let folder = tempfile::tempdir().unwrap();
    // The last of these entries leads into the middle of a chunk.
    for wrong in NOWHERE.into_iter().chain([7, 100]) {
        for number in 0..4 {
            let (new, report) = saved(&with_entries(&[(number, wrong)]), folder.path()).unwrap();
            assert_eq!(new[CHUNKS..INDEX], small()[CHUNKS..INDEX], "{number}: {wrong:#x}");
            let mut expected = [OTHERS; 4];
            expected[number] = ONLY_ONE;
            assert_eq!((report.lost_count(), doubts(&report)), (0, expected), "{number}: {wrong:#x}");
        }
    }
    // The order of the other chunks does not matter.
    let (new, report) =
        saved(&with_entries(&[(0, 1 << 40), (1, offset(3)), (3, offset(1))]), folder.path()).unwrap();
    assert_eq!((report.lost_count(), doubts(&report)), (0, [ONLY_ONE, OTHERS, OTHERS, OTHERS]));
    assert_eq!(new[CHUNKS + CHUNK..][..CHUNK], small()[CHUNKS + 3 * CHUNK..][..CHUNK]);
}

#[test]
fn chunks_with_wrong_entries_are_saved_in_the_order_of_the_file_only_if_it_is_assumed() {
    let folder = tempfile::tempdir().unwrap();
    for (entries, expected) in [
        // Two chunks have the same entry, so either of the two entries can be wrong.
        (vec![(2, 0)], [IN_ORDER, OTHERS, IN_ORDER, OTHERS]),
        (vec![(0, offset(1))], [IN_ORDER, IN_ORDER, OTHERS, OTHERS]),
        (vec![(3, 0), (1, 0)], [IN_ORDER, IN_ORDER, OTHERS, IN_ORDER]),
        (vec![(1, NOWHERE[0]), (2, NOWHERE[1])], [OTHERS, IN_ORDER, IN_ORDER, OTHERS]),
        (vec![(0, 5), (3, NOWHERE[2])], [IN_ORDER, OTHERS, OTHERS, IN_ORDER]),
    ] {
        let file = with_entries(&entries);
        let report = of(file.clone()).preview().unwrap();
        let doubtful: Vec<u64> =
            (0..4).filter(|&n| expected[usize::try_from(n).unwrap()] == IN_ORDER).collect();
        assert_eq!((lost(&report), report.assumed_order), (doubtful.clone(), None), "{entries:?}");
        assert!(report.lost.iter().all(|range| range.why.ends_with(NEEDS_ORDER)), "{report:?}");
        assert_eq!(report.saved_with_order, report.lost_count());
        let to = folder.path().join("saved.b2nd");
        let (_, report) = of(file).assume_order().apply(&to).unwrap();
        assert_eq!((report.lost_count(), doubts(&report)), (0, expected), "{entries:?}");
        assert_eq!(fs::read(&to).unwrap()[CHUNKS..INDEX], small()[CHUNKS..INDEX], "{entries:?}");
        let assumed = format!(
            "the order of the chunks: the chunk index has no right entry for {} of the 4 chunks in the file",
            doubtful.len()
        );
        assert_eq!(report.assumed_order.unwrap().to_string(), assumed);
        let findings = check(&to).unwrap().findings;
        assert!(findings.iter().any(|finding| finding.code() == FindingCode::Salvaged), "{findings:?}");
        fs::remove_file(to).unwrap();
    }
}

#[test]
fn chunks_with_wrong_entries_are_lost_if_several_chunks_may_be_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let far = NOWHERE[0];
    for (entries, expected) in [
        // Chunks 2 and 3 are not in the order of the file.
        (vec![(2, offset(3)), (3, offset(2)), (0, offset(1))], vec![0, 1]),
        (vec![(2, offset(3)), (3, offset(2)), (0, far), (1, far)], vec![0, 1]),
        // The second chunk of the file is an old copy: chunk 1 was replaced by the chunk at the end.
        (vec![(1, far), (3, ZEROS)], vec![1]),
        (vec![(1, offset(3)), (3, ZEROS), (2, far)], vec![2]),
        // The entry of chunk 1 became a special value, so either of two chunks of the file can be chunk 2.
        (vec![(1, ZEROS), (2, far)], vec![2]),
        // Here the index has three entries of stored chunks, but the file has four chunks.
        (vec![(1, ZEROS), (2, far), (0, offset(3))], vec![0, 2, 3]),
    ] {
        let (_, report) = saved(&with_entries(&entries), folder.path()).unwrap();
        assert_eq!(lost(&report), expected, "{entries:?}");
        assert!(
            report.unverified.iter().all(|range| range.why != ONLY_ONE && range.why != IN_ORDER),
            "{report:?}"
        );
    }
    // The other bytes without an entry are no whole chunk.
    for damaged in [CHUNKS, CHUNKS + CHUNK] {
        let mut file = with_entries(&[(0, far), (1, far)]);
        file[damaged + 9] ^= 1;
        let (_, report) = saved(&file, folder.path()).unwrap();
        assert_eq!(lost(&report), [0, 1]);
    }
    // The index entry of chunk 1 now has an offset inside chunk 0, where the data is a copy of a valid chunk header.
    let mut file = with_entries(&[(1, 32)]);
    let nested = file[CHUNKS + CHUNK..][..32].to_vec();
    file[CHUNKS + 32..][..32].copy_from_slice(&nested);
    let (_, report) = saved(&file, folder.path()).unwrap();
    assert!(report.lost.iter().any(|range| range.first <= 1), "{report:?}");
    assert!(report.lost_count() >= 2, "{report:?}");
}

/// A disk can lose the page of the index. The header of the index may be before this page.
#[test]
fn an_index_of_zeros_counts_as_lost_so_the_order_can_be_assumed() {
    let folder = tempfile::tempdir().unwrap();
    for entries in [vec![(1, 0), (2, 0), (3, 0)], vec![(1, 0), (2, NOWHERE[0]), (3, 0)]] {
        let file = with_entries(&entries);
        let error = saved(&file, folder.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OrderUnknown, "{error}");
        let report = of(file).assume_order().preview().unwrap();
        assert_eq!((report.lost_count(), report.assumed_order.map(|order| order.found)), (0, Some(4)));
    }
    // One of these entries is right, and leads to a chunk of its own.
    let report = of(with_entries(&[(2, 0), (3, 0)])).preview().unwrap();
    assert_eq!(report.assumed_order, None);
}

#[test]
fn a_chunk_without_an_entry_is_never_used_for_a_right_entry() {
    let folder = tempfile::tempdir().unwrap();
    // Chunk 3 was replaced by the chunk at the end, so the first chunk of the file is an old one.
    let entries = [(0, offset(1)), (1, offset(2)), (2, ZEROS)];
    let (new, report) = saved(&with_entries(&entries), folder.path()).unwrap();
    let special = "its entry says that it is a single value, but the 64 bytes from byte 165 on may be its chunk: \
                   nothing shows that they belong to another one";
    assert_eq!((report.lost_count(), doubts(&report)), (0, ["", "", special, ""]));
    assert_eq!(new[CHUNKS..CHUNKS + 2 * CHUNK], small()[CHUNKS + CHUNK..CHUNKS + 3 * CHUNK]);
    // A chunk with a damaged header has a right entry.
    let mut file = with_entries(&entries);
    file[CHUNKS + 3 * CHUNK + 2] = 0;
    let (_, report) = saved(&file, folder.path()).unwrap();
    assert_eq!(lost(&report), [3]);
}

/// An array of four chunks that are compressed with LZ4.
fn compressed() -> Vec<u8> {
    let shapes = Shapes { shape: &[4 * 17920], chunkshape: &[17920], blockshape: &[256] };
    compressed_into(FrameBuilder::new(Meta::new(shapes, "<u2").unwrap()))
}

/// The four chunks of `compressed`, in another frame.
fn compressed_into(builder: FrameBuilder) -> Vec<u8> {
    let source = Frame::open(data().join("peers/many_blocks.b2nd")).unwrap();
    let mut writer = builder.write_to(Cursor::new(Vec::new())).unwrap();
    let mut chunks = source.chunks().unwrap();
    for number in 0..4 {
        let entry = chunks.get(number % 2).unwrap().unwrap();
        writer.write_chunk(number, &chunks.compressed(&entry).unwrap().unwrap()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// The offsets of the chunks of a frame. All chunks must be stored.
fn starts(file: &[u8]) -> Vec<usize> {
    let frame = Frame::read_at(file, 0).unwrap();
    let start = |entry: b2nd_frame::ChunkEntry| match entry.place {
        b2nd_frame::ChunkPlace::Frame(start) => usize::try_from(start).unwrap(),
        place => panic!("{place:?}"),
    };
    frame.chunks().unwrap().map(|entry| start(entry.unwrap())).collect()
}

/// Replaces the entry of a chunk in an uncompressed index.
fn set_entry(file: &mut [u8], number: usize, value: i64) {
    let entry = index_start(file) + 32 + 8 * number;
    file[entry..entry + 8].copy_from_slice(&value.to_le_bytes());
}

/// The numbers of the lost and the unverified chunks.
fn doubtful(report: &SalvageReport) -> BTreeSet<u64> {
    let ranges = report.lost.iter().chain(&report.unverified);
    ranges.flat_map(|range| range.first..range.first + range.count).collect()
}

/// The entry of chunk 3 has become a special value. The bytes of chunk 3 follow chunk 2, which is damaged too.
#[test]
fn a_special_chunk_is_unverified_if_its_bytes_may_follow_a_damaged_chunk() {
    let folder = tempfile::tempdir().unwrap();
    for file in [array(&[0, 1, 2, 3]), compressed()] {
        let start = starts(&file)[2];
        let longer = u32::from_le_bytes(file[start + 12..][..4].try_into().unwrap()) + 96;
        let bit = |at: usize, bit: u8| (at, vec![file[start + at] ^ bit]);
        let damages = [
            bit(31, 8),
            bit(2, 2),
            bit(3, 1),
            bit(4, 1),
            bit(8, 1),
            bit(12, 1),
            bit(13, 1),
            (12, longer.to_le_bytes().to_vec()),
            (0, vec![0; 32]),
        ];
        for (at, bytes) in damages {
            let mut file = file.clone();
            set_entry(&mut file, 3, ZEROS);
            file[start + at..][..bytes.len()].copy_from_slice(&bytes);
            let (_, report) = saved(&file, folder.path()).unwrap();
            assert!(doubtful(&report).contains(&3), "byte {at}: {report:?}");
            assert_eq!(report.counts.zeros, 1 + report.lost_count());
        }
    }
}

/// The stored size of chunk 1 is too large, so chunk 2 seems to be in chunk 1. But the entry of chunk 2 is right.
#[test]
fn a_right_entry_is_not_replaced_if_the_length_of_the_chunk_before_is_wrong() {
    let mut file = compressed();
    let starts = starts(&file);
    set_entry(&mut file, 0, ZEROS);
    file[starts[1] + 12..][..4].copy_from_slice(&17001_u32.to_le_bytes());
    file[starts[2] + 4] ^= 1;
    let report = of(file).preview().unwrap();
    assert!(report.unverified.iter().all(|range| range.why != ONLY_ONE), "{report:?}");
}

#[test]
fn salvage_without_an_index_saves_a_chunk_with_the_flag_of_a_lazily_loaded_chunk() {
    let mut file = small();
    file[CHUNKS + 2 * CHUNK + 31] |= 8;
    file.truncate(INDEX);
    let report = of(file).assume_order().preview().unwrap();
    assert_eq!((report.lost_count(), report.assumed_order.unwrap().found), (0, 4), "{report:?}");
}

#[test]
fn salvage_clears_the_flag_of_a_lazily_loaded_chunk_in_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = small();
    file[INDEX + 31] |= 8;
    let (new, report) = saved(&file, folder.path()).unwrap();
    assert_eq!(new[CHUNKS..INDEX], small()[CHUNKS..INDEX]);
    let cleared = "the chunk index: the flag of a lazily loaded chunk is cleared, because a chunk in a file is never one";
    assert_eq!((said(&report), report.lost_count()), (vec![cleared.into()], 0));
    assert_eq!(doubts(&report), [OTHERS; 4]);
}

#[test]
fn the_doubts_about_the_place_and_the_data_of_a_chunk_are_both_reported() {
    let mut file = with_entries(&[(1, NOWHERE[0])]);
    file[CHUNKS + CHUNK + 30] = 2;
    let report = of(file).preview().unwrap();
    let flags = "it has flags that no writer stores, so a byte of its header is damaged";
    assert_eq!(doubts(&report)[1], format!("{ONLY_ONE}; {flags}"));
}

/// No entry of a stored chunk is right, but the special chunk shows that the bytes are a chunk index.
#[test]
fn the_order_of_the_file_can_be_assumed_if_no_entry_of_a_stored_chunk_is_right() {
    let mut file = array(&[0, 1, 2]);
    (0..3).for_each(|number| set_entry(&mut file, number, NOWHERE[0]));
    let report = of(file.clone()).preview().unwrap();
    assert_eq!(lost(&report), [0, 1, 2]);
    assert!(report.lost[0].why.ends_with(NEEDS_ORDER), "{report:?}");
    let report = of(file).assume_order().preview().unwrap();
    assert_eq!((report.lost_count(), report.counts.zeros), (0, 1));
    assert_eq!(doubts(&report)[..3], [IN_ORDER; 3]);
}

/// Each entry is a special value with other bits, so each chunk of the file lacks an entry.
#[test]
fn a_salvage_can_be_stopped_while_it_infers_places() {
    let count = 1 << 14;
    let meta = Meta::new(Shapes { shape: &[count], chunkshape: &[1], blockshape: &[1] }, "|u1").unwrap();
    let mut writer = FrameBuilder::new(meta).write_to(Cursor::new(Vec::new())).unwrap();
    let count = count.unsigned_abs();
    (0..count).for_each(|number| writer.write_uncompressed(number, &[7]).unwrap());
    let mut file = writer.finish().unwrap().into_inner();
    let index = index_start(&file);
    let calls = |file: &[u8]| {
        let mut calls = 0;
        let salvage = of(file.to_vec()).on_progress(|_| {
            calls += 1;
            ControlFlow::Continue(())
        });
        assert!(salvage.preview().unwrap().lost_count() > 0);
        calls
    };
    // All entries but that of chunk 0 are special, so there cannot be many chunks without an entry.
    let last = index + 32 + 8;
    let end = last + 8 * (usize::try_from(count).unwrap() - 1);
    file[last..end].chunks_mut(8).for_each(|entry| entry.copy_from_slice(&ZEROS.to_le_bytes()));
    file[last..last + 8].copy_from_slice(&NOWHERE[0].to_le_bytes());
    let few = calls(&file);
    file[last..end].chunks_mut(8).for_each(|entry| entry.copy_from_slice(&NOWHERE[1].to_le_bytes()));
    let many = calls(&file);
    // Four calls while the chunks without an entry are found, and four while the entries are compared with them.
    assert!(many > few && many - few <= 8, "{few} {many}");
}

#[test]
fn a_special_chunk_is_unverified_also_if_a_wrong_entry_gets_the_only_chunk_without_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = array(&[0, 1, 2]);
    let entry = index_start(&file) + 32;
    file[entry..entry + 8].copy_from_slice(&NOWHERE[0].to_le_bytes());
    let (_, report) = saved(&file, folder.path()).unwrap();
    let special = "its entry says that it is a single value, but the 96 bytes from byte 146 on may be its chunk: \
                   nothing shows that they belong to another one";
    assert_eq!((report.lost_count(), doubts(&report)), (0, [ONLY_ONE, OTHERS, OTHERS, special]));
}

/// Commits of this crate record the holes that they leave, so these bytes cannot be the chunk of a special entry.
#[test]
#[cfg(feature = "compress")]
fn a_recorded_hole_casts_no_doubt_on_special_chunks_and_its_chunks_are_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let file = updated(&array(&[0, 1, 2]), 64..128, &[7; 64]);
    assert!(Frame::read_at(&file[..], 0).unwrap().unowned_bytes().unwrap() >= 96);
    let (_, report) = saved(&file, folder.path()).unwrap();
    assert!(!report.found_damage(), "{report:?}");
    // The entry of chunk 3, which is special, becomes wrong.
    let entry = index_start(&file) + 32 + 3 * 8;
    let mut damaged = file;
    damaged[entry..entry + 8].copy_from_slice(&NOWHERE[0].to_le_bytes());
    let (_, report) = saved(&damaged, folder.path()).unwrap();
    assert_eq!(lost(&report), [3], "{report:?}");
}

#[test]
fn a_sparse_frame_stays_sparse_and_loses_the_chunks_without_a_file() {
    let (folder, path) = copy("sparse.b2nd");
    fs::remove_file(path.join("00000002.chunk")).unwrap();
    let to = folder.path().join("saved.b2nd");
    let applied = Salvage::open(&path).unwrap().apply(&to);
    if cfg!(not(feature = "decompress")) && applied.is_err() {
        return;
    }
    let (frame, report) = applied.unwrap();
    assert!(frame.header().is_sparse() && to.is_dir());
    assert_eq!((report.lost[0].first, report.lost_count()), (2, 1));
    assert_eq!(report.lost[0].why, "its file is missing");
    assert_eq!(errors(&to), []);
    assert_eq!(Salvage::open(&path).unwrap().apply(&to).unwrap_err().kind(), ErrorKind::Exists);
}

/// A contiguous frame is salvaged as a contiguous frame, even if its file has the name of the header file of a sparse
/// frame.
#[test]
fn a_sparse_frame_without_its_index_file_is_saved_if_the_array_is_given_and_the_order_assumed() {
    for is_missing in [true, false] {
        let (folder, path) = copy("sparse.b2nd");
        let index = path.join("chunks.b2frame");
        fs::remove_file(&index).unwrap();
        if !is_missing {
            fs::write(index, []).unwrap();
        }
        let salvage = || Salvage::open(&path).unwrap();
        let error = salvage().assume_order().shape(&[6, 8]).preview().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ArrayUnknown);
        let message = "chunks.b2frame is missing or empty: give the shape, chunk shape, block shape and dtype of the array";
        assert_eq!(error.to_string(), message);
        let given = || salvage().shape(&[6, 8]).chunkshape(&[4, 5]).blockshape(&[2, 3]).dtype(">u2");
        assert_eq!(given().preview().unwrap_err().kind(), ErrorKind::OrderUnknown);
        let to = folder.path().join("saved.b2nd");
        let (_, report) = given().assume_order().apply(&to).unwrap();
        assert_eq!(errors(&to), []);
        assert_eq!((report.restored[0].clone(), report.lost_count()), (Restored::HeaderFile, 0));
        assert!(report.assumed_order.is_some() && report.found_damage());
        #[cfg(feature = "decompress")]
        assert_eq!(
            Array::open(&to).unwrap().whole().read().unwrap(),
            Array::open(data().join("sparse.b2nd")).unwrap().whole().read().unwrap()
        );

        // Without a chunk file, the directory is no frame.
        for number in 0..4 {
            fs::remove_file(path.join(format!("{number:08X}.chunk"))).unwrap();
        }
        if is_missing {
            assert_eq!(Salvage::open(&path).unwrap_err().kind(), ErrorKind::Io);
        } else {
            assert!(given().assume_order().preview().is_err());
        }
    }
}

/// A value that expands too much is no damage.
#[test]
#[cfg(feature = "compress")]
fn a_vlmetalayer_that_is_too_long_to_decompress_is_kept_as_its_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let value = [&[0xc6, 1, 0x12, 0xa8, 0x80][..], &vec![0; 18_000_000]].concat();
    let mut chunk = Vec::new();
    let mut params = b2nd_chunk::CParams::new(1);
    params.codec = b2nd_chunk::Codec::BLOSCLZ;
    b2nd_chunk::Compressor::new(params).unwrap().compress_into(&value, &mut chunk).unwrap();
    let file = with_vlmetalayer("thumb", &chunk);
    let (new, report) = saved(&file, folder.path()).unwrap();
    assert_eq!((report.is_whole(), report.found_damage()), (true, false), "{report:?}");
    let [note] = &report.unverified_metalayers[..] else { panic!("{report:?}") };
    assert_eq!(note.name, "thumb");
    assert!(note.why.starts_with("its chunk has a value of 18000005 bytes in "), "{}", note.why);
    let trailer = Frame::read_at(Cursor::new(new), 0).unwrap().trailer().unwrap();
    assert!(trailer.vlmetalayer("thumb").unwrap().chunk() == chunk);
}

#[test]
#[cfg(feature = "decompress")]
fn check_and_salvage_take_an_unknown_codec_of_a_vlmetalayer_for_damage_but_no_codec_of_a_user() {
    for (codec, is_damaged) in [(200, false), (41, true)] {
        let file = with_vlmetalayer("unit", &chunk_with_codec(codec));
        let report = Check::new(CheckDepth::ChunkData).run(&Frame::read_at(&file, 0).unwrap()).unwrap();
        let codes: Vec<_> = report.findings.iter().map(Finding::code).collect();
        assert_eq!(codes.contains(&FindingCode::VlmetalayerChunk), is_damaged, "{report:?}");
        assert_eq!(report.skipped.is_empty(), is_damaged, "{report:?}");
        let report = of(file).preview().unwrap();
        assert_eq!(
            (report.lost_metalayers.len(), report.unverified_metalayers.len()),
            if is_damaged { (1, 0) } else { (0, 1) },
            "{report:?}"
        );
    }
}

#[test]
fn a_contiguous_frame_that_is_named_as_the_file_of_a_sparse_one_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chunks.b2frame");
    fs::write(&path, small()).unwrap();
    assert_eq!(check(&path).unwrap().findings, []);
    let to = folder.path().join("new.b2nd");
    let (frame, report) = Salvage::open(&path).unwrap().apply(&to).unwrap();
    assert!(report.is_whole() && !frame.header().is_sparse() && to.is_file(), "{report:?}");

    // If the frame type in a sparse frame is damaged, the frame is still salvaged as a sparse frame, and no chunk is
    // lost.
    let (folder, path) = copy("sparse.b2nd");
    let file = path.join("chunks.b2frame");
    for damaged in [0, 0x55] {
        let mut bytes = fs::read(&file).unwrap();
        bytes[26] = damaged;
        fs::write(&file, bytes).unwrap();
        let to = folder.path().join(damaged.to_string());
        let (frame, report) = match Salvage::open(&path).unwrap().apply(&to) {
            // Without the feature `decompress`, a compressed chunk index is not read.
            Err(_) if cfg!(not(feature = "decompress")) => continue,
            applied => applied.unwrap(),
        };
        assert!(report.is_whole() && frame.header().is_sparse() && to.is_dir(), "{report:?}");
    }

    // If the frame type of a sparse frame without chunk files is damaged, the frame is still salvaged as a sparse
    // frame, because the path is that of a directory.
    let meta = Meta::new(Shapes { shape: &[4], chunkshape: &[2], blockshape: &[2] }, "<i4").unwrap();
    let mut writer = FrameBuilder::new(meta).create_sparse(folder.path().join("zeros")).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    writer.finish().unwrap().persist().unwrap();
    let file = folder.path().join("zeros/chunks.b2frame");
    let mut bytes = fs::read(&file).unwrap();
    bytes[26] = 0;
    fs::write(&file, bytes).unwrap();
    let to = folder.path().join("new");
    Salvage::open(folder.path().join("zeros")).unwrap().apply(&to).unwrap();
    assert!(to.is_dir());
}

#[test]
fn a_constant_chunk_with_a_wrong_value_does_not_cost_the_other_chunks() {
    let meta = Meta::new(Shapes { shape: &[4], chunkshape: &[2], blockshape: &[2] }, "<i4").unwrap();
    let mut writer = FrameBuilder::new(meta).write_to(Cursor::new(Vec::new())).unwrap();
    // A constant chunk of two items with the value 7.
    let mut chunk = chunk_of_zeros(8);
    (chunk[3], chunk[8], chunk[12], chunk[31]) = (4, 8, 36, 0x30);
    chunk.extend([7, 0, 0, 0]);
    writer.write_chunk(0, &chunk).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    let mut file = writer.finish().unwrap().into_inner();
    let chunk = Frame::parse(&file).unwrap().header().header_len;
    file[chunk + 12] = 34;
    let report = of(file).preview().unwrap();
    assert_eq!((report.lost_count(), report.counts.zeros), (1, 2));
}

#[test]
fn lost_chunks_are_filled_with_nan_only_where_readers_read_it() {
    let array = |dtype: &str| {
        let meta = Meta::new(Shapes { shape: &[4], chunkshape: &[2], blockshape: &[2] }, dtype).unwrap();
        let mut writer = FrameBuilder::new(meta).write_to(Cursor::new(Vec::new())).unwrap();
        let nbytes = writer.chunk_nbytes();
        for number in 0..2 {
            writer.write_uncompressed(number, &vec![1; nbytes]).unwrap();
        }
        let mut file = writer.finish().unwrap().into_inner();
        let header_len = Frame::parse(&file).unwrap().header().header_len;
        file[header_len + 2] = 0;
        file
    };
    let filled = |dtype, fill| of(array(dtype)).fill(fill).preview();
    assert_eq!(filled("<f4", Fill::Nan).unwrap().counts.nan, 1);
    assert_eq!(filled("<f8", Fill::Zeros).unwrap().counts.zeros, 1);
    for dtype in ["<i4", ">f8", "<f2"] {
        assert_eq!(filled(dtype, Fill::Nan).unwrap_err().kind(), ErrorKind::InvalidInput, "{dtype}");
    }
}

#[test]
fn what_is_no_array_with_items_of_its_own_is_refused() {
    let mut file = small();
    let at = file.windows(3).position(|bytes| bytes == b"<i4").unwrap();
    file[at..at + 3].copy_from_slice(b"|O8");
    assert!(of(file).preview().unwrap_err().to_string().contains("Python objects"));
    let error = of(b"text".to_vec()).preview().unwrap_err();
    assert_eq!(error.finding().unwrap().code(), FindingCode::NotAFrame);
    let chunks = fs::read(data().join("peers/object_array.b2frame")).unwrap();
    // The first file is undamaged. In the other files, one byte is damaged: in a size in the header, in a marker, or in
    // the magic.
    for damage in [None, Some(61_usize), Some(24), Some(4)] {
        let mut file = chunks.clone();
        if let Some(at) = damage {
            file[at] ^= 0x15;
        }
        let message = of(file).preview().unwrap_err().to_string();
        assert_eq!(message, "the frame has no array, so it cannot be salvaged", "{damage:?}");
    }
    // A frame of the second generation, first undamaged, then with these bytes damaged.
    for damage in [vec![], vec![0_usize], vec![4], vec![15, 24, 29], vec![61, 62]] {
        let mut file = second_generation(small());
        for &at in &damage {
            file[at] ^= 0x55;
        }
        let message = of(file).preview().unwrap_err().to_string();
        assert_eq!(message, "frames older than C-Blosc2 2.0.0-rc1 cannot be salvaged", "{damage:?}");
    }
}

#[test]
fn a_frame_whose_first_bytes_are_lost_asks_for_the_shape() {
    let folder = tempfile::tempdir().unwrap();
    let cut = small()[20..].to_vec();
    let error = saved(&cut, folder.path()).unwrap_err();
    assert!(
        error.to_string().ends_with("give the shape, chunk shape, block shape and dtype of the array"),
        "{error}"
    );
    let given = of(cut).shape(&[3, 5]).chunkshape(&[2, 3]).blockshape(&[1, 2]).dtype("int32");
    let report = given.preview().unwrap();
    assert_eq!((report.lost_count(), report.assumed_order.iter().count()), (0, 0), "{report:?}");
}

#[test]
fn a_wrong_entry_is_named_and_can_be_given_alone() {
    let folder = tempfile::tempdir().unwrap();
    // The integers of a vector begin after the marker of the vector and the marker of the first integer.
    let entry = |vector: &[u8], at: usize, value: u8| {
        let mut file = small();
        let start = file.windows(vector.len()).position(|bytes| bytes == vector).unwrap();
        file[start + at] = value;
        file
    };
    let shape = [0x92, 0xd3, 0, 0, 0, 0, 0, 0, 0, 3];
    let chunkshape = [0x92, 0xd2, 0, 0, 0, 2];
    let cases = [
        (
            entry(&shape, 9, 7),
            "the chunk index has 4 chunks, but the array has 8; nbytes is 128 in the header, but the array needs 256: if a shape is \
             wrong, give the right one",
        ),
        (entry(&shape, 2, 0xff), "shape[0] is"),
        (entry(&chunkshape, 5, 0), "chunkshape[0] is 0, but shape[0] is 3"),
        (entry(&chunkshape, 5, 9), "chunksize is 32 in the header, but the array needs 144"),
    ];
    for (number, (file, expected)) in cases.into_iter().enumerate() {
        let error = saved(&file, folder.path()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ArrayUnknown);
        // An assumed order does not change the error.
        assert_eq!(of(file.clone()).assume_order().preview().unwrap_err().to_string(), error.to_string());
        assert!(error.to_string().contains(expected), "{error}");
        let salvage = of(file);
        let given = if number < 2 { salvage.shape(&[3, 5]) } else { salvage.chunkshape(&[2, 3]) };
        let (_, report) = given.apply(folder.path().join(number.to_string())).unwrap();
        assert!(report.is_whole(), "{report:?}");
        let new = fs::read(folder.path().join(number.to_string())).unwrap();
        // The array metalayer and the chunks are the same as in the original file. Other bytes, such as the version of
        // the chunk index, may depend on the writer.
        assert_eq!(new[CHUNKS - 53..INDEX], small()[CHUNKS - 53..INDEX], "{expected}");
    }
}

/// The array determines every size in a chunk header except cbytes. cbytes follows from the blocks of the chunk, or
/// from the offset of the next chunk.
#[test]
#[cfg(feature = "decompress")]
fn a_damaged_size_in_the_header_of_a_chunk_is_restored() {
    let folder = tempfile::tempdir().unwrap();
    // The chunks of the first file are not compressed. The chunks of the second file are compressed with LZ4.
    let lz4 = fs::read(data().join("peers/many_blocks.b2nd")).unwrap();
    for (file, unverified) in [(small(), 4), (lz4, 1)] {
        let frame = Frame::read_at(&file, 0).unwrap();
        let entries: Vec<_> = frame.chunks().unwrap().map(Result::unwrap).collect();
        let expected: Vec<_> =
            entries.iter().map(|entry| frame.chunks().unwrap().compressed(entry).unwrap()).collect();
        for (entry, at) in entries.iter().flat_map(|entry| (3..16).map(move |at| (entry, at))) {
            let b2nd_frame::ChunkPlace::Frame(start) = entry.place else { continue };
            let mut damaged = file.clone();
            damaged[usize::try_from(start).unwrap() + at] ^= 0x41;
            let to = folder.path().join("new.b2nd");
            let (new, report) = of(damaged).apply(&to).unwrap();
            assert!(report.is_whole(), "byte {at} of {entry:?}: {report:?}");
            assert_eq!(report.unverified_count(), unverified, "byte {at} of {entry:?}: {report:?}");
            assert_eq!(report.restored.len(), 1, "byte {at} of {entry:?}: {report:?}");
            for (number, chunk) in (0..).zip(&expected) {
                let mut chunks = new.chunks().unwrap();
                let entry = chunks.get(number).unwrap().unwrap();
                assert_eq!(chunks.compressed(&entry).unwrap(), *chunk, "byte {at}");
            }
            fs::remove_file(to).unwrap();
        }
    }
}

/// Such an index leads to no valid chunk.
#[test]
fn damaged_sizes_in_the_headers_of_all_chunks_are_restored() {
    let folder = tempfile::tempdir().unwrap();
    for count in 1..3 {
        let shapes = Shapes { shape: &[64 * count], chunkshape: &[64], blockshape: &[64] };
        let mut writer =
            FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).write_to(Cursor::new(Vec::new())).unwrap();
        for number in 0..count.unsigned_abs() {
            writer.write_uncompressed(number, &[7; 64]).unwrap();
        }
        let file = writer.finish().unwrap().into_inner();
        let start = Frame::parse(&file).unwrap().header().header_len;
        let index = index_start(&file);
        for at in [3, 4, 7, 8, 9, 12, 13] {
            let mut damaged = file.clone();
            damaged[start..index].chunks_mut(96).for_each(|chunk| chunk[at] ^= 0x41);
            let (new, report) = saved(&damaged, folder.path()).unwrap();
            assert_eq!(new[start..index], file[start..index], "byte {at}");
            assert_eq!(
                (report.lost_count(), report.unverified_count()),
                (0, count.unsigned_abs()),
                "byte {at}"
            );
        }
        // If no header can be restored, the damage is found before the chunks are read.
        for byte in [0, 0xff] {
            let mut damaged = file.clone();
            damaged[start..index].chunks_mut(96).for_each(|chunk| chunk[..32].fill(byte));
            let nothing =
                "nothing could be saved: no chunk index that fits the array and no undamaged chunk was found";
            assert_eq!(of(damaged.clone()).locate().unwrap_err().to_string(), nothing);
            let given = of(damaged).shape(&[64 * count]).preview().unwrap_err().to_string();
            assert_eq!(given, format!("{nothing}; the given shapes or dtype may be wrong"));
        }
    }
}

#[test]
#[cfg(feature = "decompress")]
fn a_damaged_size_in_a_chunk_file_is_restored() {
    let (folder, path) = copy("sparse.b2nd");
    let to = folder.path().join("new.b2nd");
    let file = path.join("00000001.chunk");
    let whole = fs::read(&file).unwrap();
    let mut damaged = whole.clone();
    damaged[13] ^= 1;
    fs::write(&file, damaged).unwrap();
    let (_, report) = Salvage::open(&path).unwrap().apply(&to).unwrap();
    assert_eq!((report.restored.len(), report.lost_count(), report.unverified_count()), (1, 0, 1));
    let saved: Vec<_> =
        fs::read_dir(&to).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    assert!(saved.contains(&whole));
}

/// Byte 30 of a chunk header has 7 bits that no writer sets. If one of them is set, C-Blosc2 ignores it and reads the
/// chunk. So a salvage saves the chunk too.
#[test]
fn a_chunk_with_flags_that_no_writer_stores_is_saved_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    for bit in 1..8 {
        let mut file = small();
        file[CHUNKS + CHUNK + 30] = 1 << bit;
        let (_, report) = saved(&file, folder.path()).unwrap();
        assert_eq!(report.lost_count(), 0, "{bit}: {report:?}");
        let [unverified] = &report.unverified[..] else { panic!("{bit}: {report:?}") };
        assert_eq!((unverified.first, unverified.count), (1, 1), "{bit}");
    }
}

/// C-Blosc2 sets this flag only in memory, and cannot read a whole chunk of a file that has it.
#[test]
fn salvage_clears_the_flag_of_a_lazily_loaded_chunk() {
    let folder = tempfile::tempdir().unwrap();
    let why = "the flag of a lazily loaded chunk is cleared, because a chunk in a file is never one";
    let peer = |name: &str| fs::read(data().join("peers").join(name)).unwrap();
    // Uncompressed chunks, compressed chunks, and the only chunk of an array.
    let files =
        [(small(), 1), (peer("many_blocks.b2nd"), 1), (fs::read(data().join("scalar.b2nd")).unwrap(), 0)];
    for (file, number) in files {
        let frame = Frame::read_at(&file, 0).unwrap();
        let entry = frame.chunks().unwrap().get(number).unwrap().unwrap();
        let b2nd_frame::ChunkPlace::Frame(start) = entry.place else { panic!("{entry:?}") };
        let mut damaged = file.clone();
        damaged[usize::try_from(start).unwrap() + 31] |= 8;
        let (new, report) = saved(&damaged, folder.path()).unwrap();
        assert!(report.is_whole(), "{report:?}");
        assert_eq!(said(&report)[0], format!("chunk {number}: {why}"));
        let is_unverified =
            |range: &b2nd_frame::ChunkRange| (range.first..range.first + range.count).contains(&number);
        assert!(report.unverified.iter().any(is_unverified), "{report:?}");
        let new = Frame::read_at(new, 0).unwrap();
        let [old, new] =
            [frame.chunks().unwrap().compressed(&entry), new.chunks().unwrap().compressed(&entry)];
        assert_eq!(new.unwrap(), old.unwrap());
    }
    // C-Blosc2 ignores the flag in a constant chunk, so this is no damage.
    let mut file = peer("special_full.b2nd");
    let start = starts(&file)[0];
    file[start + 31] |= 8;
    let (new, report) = saved(&file, folder.path()).unwrap();
    assert!(!report.found_damage(), "{report:?}");
    assert_eq!(new[start..start + 40], file[start..start + 40]);
    let mut file = fs::read(data().join("vlmetalayers.b2nd")).unwrap();
    let trailer = Frame::read_at(&file, 0).unwrap().trailer().unwrap();
    let at = usize::try_from(trailer.vlmetalayers()[0].offset()).unwrap();
    file[at + 31] |= 8;
    let (new, report) = saved(&file, folder.path()).unwrap();
    assert_eq!((said(&report), report.is_whole()), (vec![format!("vlmetalayer unit: {why}")], true));
    let new = Frame::read_at(&new, 0).unwrap().trailer().unwrap();
    assert_eq!(new.vlmetalayers()[0].chunk(), trailer.vlmetalayers()[0].chunk());
}

/// If two entries have the same offset, at least one of them is wrong, even if the chunk header at this offset can be
/// restored.
#[test]
fn chunks_at_one_place_are_both_lost_if_their_header_is_damaged() {
    for at in [3, 5, 9, 13, 15] {
        let mut file = with_entries(&[(2, offset(1))]);
        file[CHUNKS + CHUNK + at] ^= 0x41;
        let report = of(file).preview().unwrap();
        assert_eq!(lost(&report), [1, 2], "byte {at}: {report:?}");
    }
}

/// A damaged header of a stored chunk does not make the special chunks of the array unverified.
#[test]
fn a_restored_chunk_casts_no_doubt_on_special_ones() {
    // Chunk 3 is special and not stored. Chunks 0, 1 and 2 have 96 bytes each: a header of 32 bytes, and 64 items.
    let mut file = array(&[0, 1, 2]);
    let start = Frame::parse(&file).unwrap().header().header_len;
    file[start + 96 + 13] = 1;
    let report = of(file).preview().unwrap();
    assert_eq!((report.restored.len(), report.unverified_count()), (1, 3), "{report:?}");
    assert!(report.unverified.iter().all(|range| range.first + range.count <= 3), "{report:?}");
}

#[test]
#[cfg(feature = "decompress")]
fn an_unknown_filter_becomes_that_of_the_other_chunks_and_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = fs::read(data().join("peers/many_blocks.b2nd")).unwrap();
    let frame = Frame::read_at(&file, 0).unwrap();
    let entries: Vec<_> = frame.chunks().unwrap().map(Result::unwrap).collect();
    let b2nd_frame::ChunkPlace::Frame(start) = entries[1].place else { panic!("a chunk in a file") };
    let filters = usize::try_from(start).unwrap() + 16;
    // No filter has the number 100. 33 is the plugin `ndmean`, and 200 is a filter of a user. The other chunks and the
    // header of the frame do not have them.
    for (at, filter) in (filters..filters + 6).flat_map(|at| [100, 33, 200].map(|filter| (at, filter))) {
        let mut damaged = file.clone();
        damaged[at] = filter;
        let to = folder.path().join("new.b2nd");
        let (_, report) = of(damaged).apply(&to).unwrap();
        assert!(!report.restored.is_empty(), "{filter}: {report:?}");
        assert!(report.restored[0].to_string().starts_with("chunk 1: filter "), "{report:?}");
        assert_eq!((report.unverified[0].first, report.unverified_count()), (1, 1));
        let new = Frame::open(&to).unwrap();
        let mut chunks = new.chunks().unwrap();
        let entry = chunks.get(1).unwrap().unwrap();
        let old = frame.chunks().unwrap().compressed(&entries[1]).unwrap();
        assert_eq!(chunks.compressed(&entry).unwrap(), old);
        fs::remove_file(to).unwrap();
    }
}

/// Chunks with a filter that this crate does not support: the plugin `ndmean`, or a filter of a user.
#[test]
#[cfg(feature = "decompress")]
fn a_salvage_keeps_an_unsupported_filter_that_another_chunk_or_the_header_has() {
    let file = compressed();
    let starts = starts(&file);
    for filter in [33, 200] {
        let with = |chunks: &[usize], in_header: bool| {
            let mut file = file.clone();
            for &chunk in chunks {
                file[starts[chunk] + 21] = filter;
            }
            if in_header {
                // The last of the six filters, which begin at byte 71.
                file[76] = filter;
            }
            of(file).preview().unwrap()
        };
        for report in [with(&[1, 2], false), with(&[1, 2, 3], false), with(&[1], true)] {
            assert!(report.restored.is_empty() && report.unverified_count() > 0, "{report:?}");
        }
        assert_eq!(with(&[1], false).restored.len(), 1);
    }
}

/// Byte 22 of the chunk says that the codec is LZ4, but its flags name no codec, or a plugin. No program writes such
/// flags, and C-Blosc2 cannot read such a chunk.
#[test]
#[cfg(feature = "decompress")]
fn flags_without_a_codec_are_damage_and_are_restored_from_the_codec() {
    let folder = tempfile::tempdir().unwrap();
    let file = fs::read(data().join("peers/many_blocks.b2nd")).unwrap();
    let frame = Frame::read_at(&file, 0).unwrap();
    let entry = frame.chunks().unwrap().nth(1).unwrap().unwrap();
    let b2nd_frame::ChunkPlace::Frame(start) = entry.place else { panic!("a chunk in a file") };
    let flags = usize::try_from(start).unwrap() + 2;
    assert_eq!((file[flags] >> 5, file[flags + 20]), (1, 1));
    for format in [2, 5, 6] {
        let mut damaged = file.clone();
        damaged[flags] = file[flags] & 0x1f | format << 5;
        let frame = Frame::read_at(&damaged, 0).unwrap();
        let report = Check::new(CheckDepth::ChunkData).run(&frame).unwrap();
        let codes: Vec<_> = report.findings.iter().map(Finding::code).collect();
        assert_eq!((codes, report.skipped.len()), (vec![FindingCode::ChunkData], 0), "{format}");
        let array = Array::new(frame).unwrap();
        let error = array.whole().read().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed, "{format}");
        let (new, report) = saved(&damaged, folder.path()).unwrap();
        let restored = format!("chunk 1: the codec in the flags of its header was {format}, and is 1");
        assert_eq!((said(&report), report.unverified_count()), (vec![restored], 1), "{report:?}");
        assert_eq!(report.unverified[0].first, 1);
        let [new, old] =
            [new, file.clone()].map(|file| Array::new(Frame::read_at(file, 0).unwrap()).unwrap());
        assert_eq!(new.whole().read().unwrap(), old.whole().read().unwrap());
        // If the codec is a plugin, nothing shows damage.
        damaged[flags] = file[flags] & 0x1f | 6 << 5;
        damaged[flags + 20] = 33;
        let report = of(damaged).preview().unwrap();
        assert_eq!((report.restored.len(), report.unverified_count()), (0, 1), "{report:?}");
    }
}

#[test]
fn a_header_that_is_gone_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = small();
    file[..CHUNKS].fill(0);
    assert_eq!(saved(&file, folder.path()).unwrap_err().kind(), ErrorKind::Malformed);
    let given = of(file).shape(&[3, 5]).chunkshape(&[2, 3]).blockshape(&[1, 2]).dtype("int32");
    let report = given.assume_order().preview().unwrap();
    assert_eq!(report.lost_count(), 0, "{report:?}");
    assert_eq!(report.frame.array().unwrap().unwrap().dtype(), Some("<i4"));
    // The header is lost, so its frame length is not known. The report does not list `frame_len` as restored.
    assert!(report.restored.iter().all(|restored| !restored.to_string().contains("frame_len")), "{report:?}");
}

/// A frame after a commit that gave a range of the array other items.
#[cfg(feature = "compress")]
fn updated(frame: &[u8], range: Range<u64>, items: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.b2nd");
    fs::write(&path, frame).unwrap();
    let mut update = b2nd_frame::ArrayUpdate::open(&path).unwrap();
    update.write(std::slice::from_ref(&range), items).unwrap();
    update.flush().unwrap();
    drop(update);
    fs::read(path).unwrap()
}

/// A new array of uint16, in chunks of 1000 items.
#[cfg(feature = "compress")]
fn in_thousands(items: &[u8]) -> Vec<u8> {
    let length = items.len() as u64 / 2;
    let shape = [i64::try_from(length).unwrap()];
    let shapes = Shapes { shape: &shape, chunkshape: &[1000], blockshape: &[100] };
    let builder = FrameBuilder::new(Meta::new(shapes, "<u2").unwrap());
    let mut writer = builder.write_to(Cursor::new(Vec::new())).unwrap().into_array_writer().unwrap();
    writer.write(std::slice::from_ref(&(0..length)), items).unwrap();
    writer.finish().unwrap().into_inner()
}

/// The bytes of uint16 numbers that count up, each number `repeats` times.
#[cfg(feature = "compress")]
fn steps(count: u16, repeats: u16) -> Vec<u8> {
    (0..count).flat_map(|item| (item / repeats).to_le_bytes()).collect()
}

/// Decompresses each chunk of a frame.
#[cfg(feature = "decompress")]
fn chunk_data(frame: &[u8]) -> Vec<Vec<u8>> {
    let frame = Frame::read_at(frame, 0).unwrap();
    let mut chunks = frame.chunks().unwrap();
    let nchunks = frame.array().unwrap().unwrap().geometry().unwrap().nchunks();
    let entries: Vec<_> = (0..nchunks).map(|number| chunks.get(number).unwrap().unwrap()).collect();
    entries.iter().map(|entry| chunks.decompressed(entry).unwrap()).collect()
}

/// The header and the start of the first chunk are lost, with and without further metalayers, which make the header
/// longer. Each chunk that is found must be in its own place.
#[test]
#[cfg(feature = "decompress")]
fn a_lost_header_and_first_chunk_move_no_other_chunk() {
    let folder = tempfile::tempdir().unwrap();
    let shapes = Shapes { shape: &[4 * 17920], chunkshape: &[17920], blockshape: &[256] };
    let given =
        |file: Vec<u8>| of(file).shape(&[4 * 17920]).chunkshape(&[17920]).blockshape(&[256]).dtype("<u2");
    for (metalayer_len, has_index) in [(0, true), (300, true), (0, false)] {
        let builder = FrameBuilder::new(Meta::new(shapes, "<u2").unwrap());
        let builder = if metalayer_len > 0 {
            builder.metalayer_bytes("mine", &vec![7; metalayer_len])
        } else {
            builder
        };
        let file = compressed_into(builder);
        for nlost in 1..3 {
            let mut damaged = file.clone();
            damaged[..starts(&file)[nlost - 1] + 20].fill(0);
            damaged.truncate(if has_index { file.len() } else { index_start(&file) });
            let to = folder.path().join("new.b2nd");
            let salvage = if has_index { given(damaged) } else { given(damaged).assume_order() };
            let (_, report) = salvage.apply(&to).unwrap();
            let (new, old) = (chunk_data(&fs::read(&to).unwrap()), chunk_data(&file));
            fs::remove_file(&to).unwrap();
            assert_eq!(lost(&report), (0..nlost as u64).collect::<Vec<_>>(), "{report:?}");
            // Without an index, the number of lost chunks is only a guess.
            let unverified = if has_index { 0 } else { 4 - nlost as u64 };
            assert_eq!(report.unverified_count(), unverified, "{report:?}");
            assert!(new[nlost..] == old[nlost..], "{metalayer_len}, {has_index}, {nlost}");
        }
    }
}

/// The four chunks are compressed, and have no index. So a salvage can number them only in the order of the file.
#[test]
#[cfg(feature = "decompress")]
fn chunks_without_an_index_are_verified_only_if_the_file_has_exactly_those_of_the_array() {
    let file = compressed();
    let (starts, index) = (starts(&file), index_start(&file));
    let doubts = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut damaged = file[..index].to_vec();
        change(&mut damaged);
        let report = of(damaged).assume_order().preview().unwrap();
        let doubts: BTreeSet<_> = report.unverified.iter().map(|range| range.why.clone()).collect();
        (lost(&report), report.unverified_count(), doubts)
    };
    let none = BTreeSet::new();
    assert_eq!(doubts(&|_| {}), (vec![], 0, none.clone()));
    // Chunk 1 is damaged, but its header can be recognized.
    assert_eq!(doubts(&|file| file[starts[1] + 12..][..4].fill(0)), (vec![1], 0, none));
    let why = "the chunk index is lost, and the file does not have exactly the chunks of the array, so its place follows \
               only from the assumed order of the chunks";
    let place = BTreeSet::from([why.to_owned()]);
    // The rest of the file is lost, or one of the first chunks was special, and nothing is lost.
    assert_eq!(doubts(&|file| file.truncate(starts[3] + 100)), (vec![3], 3, place.clone()));
    // The range of damaged bytes can be a chunk, or the rest of an old one.
    assert_eq!(doubts(&|file| file[starts[1]..starts[2]].fill(0xff)), (vec![1], 3, place.clone()));
    // There is one chunk more than the array has, so one of them is an old one.
    let last = file[starts[3]..index].to_vec();
    assert_eq!(doubts(&|file| file.extend(&last)), (vec![], 4, place));
}

/// The header with further metalayers is lost, and no entry leads to the first chunk of the file, because its entry has
/// become a special value.
#[test]
#[cfg(feature = "decompress")]
fn a_lost_header_ends_where_the_first_chunk_begins_even_if_no_entry_leads_there() {
    let folder = tempfile::tempdir().unwrap();
    let shapes = Shapes { shape: &[4 * 17920], chunkshape: &[17920], blockshape: &[256] };
    let builder = FrameBuilder::new(Meta::new(shapes, "<u2").unwrap());
    let file = compressed_into(builder.metalayer_bytes("mine", &[7; 300]));
    let mut damaged = file.clone();
    set_entry(&mut damaged, 0, i64::from_le_bytes([0, 0, 0, 0, 0, 0, 0, 0x81]));
    damaged[..starts(&file)[0]].fill(0);
    let salvage = of(damaged).shape(&[4 * 17920]).chunkshape(&[17920]).blockshape(&[256]).dtype("<u2");
    let to = folder.path().join("new.b2nd");
    let (_, report) = salvage.apply(&to).unwrap();
    let unverified: Vec<_> = report.unverified.iter().map(|range| (range.first, range.count)).collect();
    assert_eq!((lost(&report), unverified), (vec![], vec![(0, 1)]), "{report:?}");
    assert!(report.unowned.is_some(), "{report:?}");
    assert!(chunk_data(&fs::read(&to).unwrap())[1..] == chunk_data(&file)[1..]);
}

/// An entry has become NaN, but items of two bytes have no NaN in Blosc2. No reader reads such a chunk.
#[test]
#[cfg(feature = "decompress")]
fn a_nan_that_no_item_can_have_is_a_wrong_entry() {
    let folder = tempfile::tempdir().unwrap();
    let (file, mut damaged) = (compressed(), compressed());
    set_entry(&mut damaged, 1, i64::from_le_bytes([0, 0, 0, 0, 0, 0, 0, 0x82]));
    let frame = Frame::read_at(&damaged, 0).unwrap();
    let report = Check::new(CheckDepth::Frame).run(&frame).unwrap();
    let found: Vec<_> = report.findings.iter().map(|finding| (finding.code(), finding.message())).collect();
    let text = "the entry of chunk 1 is NaN, but Blosc2 has no NaN of 2 bytes";
    assert_eq!(found, [(FindingCode::ChunkOffset, text)]);
    let (new, report) = saved(&damaged, folder.path()).unwrap();
    assert_eq!((lost(&report), report.unverified_count()), (vec![], 1), "{report:?}");
    assert!(chunk_data(&new) == chunk_data(&file));
}

/// All chunks have the same stored size, which is less than the length of the header. So the entries of the chunk index
/// also fit a header that is shorter by one chunk.
#[test]
fn all_chunks_are_unverified_if_several_lengths_fit_a_lost_header() {
    let mut file = small();
    file[..CHUNKS + 20].fill(0);
    let given = of(file).shape(&[3, 5]).chunkshape(&[2, 3]).blockshape(&[1, 2]).dtype("int32");
    let report = given.preview().unwrap();
    assert_eq!((lost(&report), report.unverified_count()), (vec![0], 3), "{report:?}");
    let why = "the header is lost, and by the chunk index it could have 165 or 101 bytes, so this may be another chunk";
    assert_eq!(report.unverified[0].why, why);
}

/// Whichever bytes are changed, nothing panics, and no written frame has an error.
#[test]
fn whatever_is_damaged_the_new_frame_has_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(25);
    let to = folder.path().join("saved.b2nd");
    let mut counts = (0, 0);
    for name in
        ["int32_3x5.b2nd", "vlmetalayers.b2nd", "struct_long.b2nd", "rank16.b2nd", "peers/many_blocks.b2nd"]
    {
        let old = fs::read(data().join(name)).unwrap();
        for _ in 0..100 {
            let mut file = old.clone();
            for _ in 0..random.usize(1..6) {
                let at = random.usize(..file.len());
                file[at] = random.u8(..);
            }
            file.truncate(if random.bool() { file.len() } else { random.usize(..file.len()) });
            let salvage = of(file);
            let salvage = if random.bool() { salvage.assume_order() } else { salvage };
            match salvage.apply(&to) {
                Ok(_) => {
                    assert_eq!(errors(&to), []);
                    fs::remove_file(&to).unwrap();
                    counts.0 += 1;
                }
                Err(error) => {
                    use ErrorKind::{
                        ArrayUnknown, InvalidInput, Malformed, OrderUnknown, TooLarge, Unsupported,
                    };
                    assert!(
                        matches!(
                            error.kind(),
                            InvalidInput | Unsupported | TooLarge | ArrayUnknown | OrderUnknown | Malformed
                        ),
                        "{error}"
                    );
                    counts.1 += 1;
                }
            }
        }
    }
    assert!(counts.0 > 50 && counts.1 > 50, "{counts:?}");
}

#[test]
fn a_salvage_that_is_stopped_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("saved.b2nd");
    let salvage = of(small()).on_progress(|saved| match saved {
        0..100 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    });
    assert_eq!(salvage.apply(&to).unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A new array of 4 chunks of 64 items. For each number in `chunks`, the array has a stored chunk whose items count up
/// from that number. The other chunks are zeros.
fn array(chunks: &[u8]) -> Vec<u8> {
    let meta = Meta::new(Shapes { shape: &[256], chunkshape: &[64], blockshape: &[64] }, "|u1").unwrap();
    let mut writer = FrameBuilder::new(meta).write_to(Cursor::new(Vec::new())).unwrap();
    for (number, &item) in (0..).zip(chunks) {
        let items: Vec<u8> = (0..64).map(|at| item.wrapping_add(at)).collect();
        writer.write_uncompressed(number, &items).unwrap();
    }
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    writer.finish().unwrap().into_inner()
}

#[test]
fn the_index_of_another_frame_in_the_file_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let (mut first, second) = (array(&[0, 1, 2, 3]), array(&[10, 11, 12, 13]));
    let index = index_start(&first);
    first.truncate(index);
    let file = [&b"other bytes"[..], &first, &second].concat();
    let salvage = || Salvage::read_at(file.clone(), 11).unwrap();
    let error = salvage().apply(folder.path().join("new.b2nd")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OrderUnknown, "{error}");
    let to = folder.path().join("new.b2nd");
    let (_, report) = salvage().assume_order().apply(&to).unwrap();
    assert_eq!((report.counts.stored, report.lost_count()), (4, 0));
    let new = fs::read(to).unwrap();
    assert!(new.windows(32).any(|bytes| bytes == &first[index - 64..index - 32]));
}

#[test]
fn the_metalayer_of_another_frame_in_the_file_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let (mut first, second) = (array(&[0, 1, 2, 3]), array(&[10, 11, 12, 13]));
    let header_len = Frame::parse(&first).unwrap().header().header_len;
    first[87..header_len].fill(0xff);
    let file = [first, second].concat();
    let salvage = Salvage::read_at(file, 0).unwrap().assume_order();
    let error = salvage.apply(folder.path().join("new.b2nd")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ArrayUnknown, "{error}");
}

#[test]
fn a_special_value_is_unverified_where_a_chunk_belongs_to_no_entry() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = array(&[0, 1, 2, 3]);
    let (_, report) = saved(&file, folder.path()).unwrap();
    assert_eq!(report.unverified.len(), 0);
    // Replaces the entry of chunk 1 by an entry for zeros.
    let entry = index_start(&file) + 32 + 8;
    file[entry..entry + 8].copy_from_slice(&(0x81_i64 << 56).to_le_bytes());
    let (_, report) = saved(&file, folder.path()).unwrap();
    assert_eq!(report.unverified.len(), 1);
    let range = &report.unverified[0];
    assert_eq!(
        (range.first, &*range.why),
        (
            1,
            "its entry says that it is a single value, but the 96 bytes from byte 242 on may be its chunk: nothing shows that they belong to another one"
        )
    );
}

#[test]
fn all_special_values_of_a_repeated_index_are_unverified_where_a_chunk_belongs_to_no_entry() {
    let folder = tempfile::tempdir().unwrap();
    let (stored, zeros) = (array(&[0, 1, 2, 3]), array(&[]));
    let mut file = [&stored[..index_start(&stored)], &zeros[index_start(&zeros)..]].concat();
    let frame_len = file.len() as u64;
    file[16..24].copy_from_slice(&frame_len.to_be_bytes());
    let (_, report) = saved(&file, folder.path()).unwrap();
    assert_eq!(
        (report.counts.zeros, report.lost_count(), report.unverified_count()),
        (4, 0, 4),
        "{report:?}"
    );
    let (_, report) = saved(&zeros, folder.path()).unwrap();
    assert_eq!((report.counts.zeros, report.unverified_count()), (4, 0), "{report:?}");
}

#[test]
fn the_length_of_the_frame_that_was_wrong_is_reported_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = small();
    file[16] ^= 0x80;
    let (_, report) = saved(&file, folder.path()).unwrap();
    assert_eq!(said(&report), [format!("frame_len was {}, and is {}", (1_u64 << 63) + 520, file.len())]);
}

#[test]
fn bytes_that_look_like_chunks_are_searched_once() {
    let mut file = array(&[0, 1, 2, 3]);
    let header_len = Frame::parse(&file).unwrap().header().header_len;
    file.truncate(header_len);
    // Fills the file with repetitions of 9 bytes that look like the typesize, nbytes and blocksize in a chunk header.
    while file.len() < 200_000 {
        file.extend([1, 64, 0, 0, 0, 64, 0, 0, 0]);
    }
    let recording = Recording::new(file);
    let salvage = Salvage::read_at(&recording, 0).unwrap();
    assert!(salvage.assume_order().preview().is_err());
    let (read, length): (usize, _) = (recording.lengths().iter().sum(), recording.file.len());
    // The salvage may read a chunk header of 32 bytes at each of these repetitions of 9 bytes. Together, these reads
    // are less than 4 times the length of the file. The limit of 10 times leaves room for a few more reads of the whole
    // file.
    assert!(read < 10 * length, "{read} bytes of {length}");
}

/// Changes each byte of the header, the chunk index and the trailer. If a check finds an error, or a warning that a
/// salvage mends, the salvage must report damage.
#[cfg(feature = "decompress")]
#[test]
fn a_salvage_reports_damage_wherever_a_check_finds_an_error_or_names_a_salvage() {
    for name in ["vlmetalayers.b2nd", "empty.b2nd", "peers/made_in_memory.b2nd", "sparse.b2nd"] {
        let (_folder, path) = copy(name);
        let changed = b2nd_lab::header_file(&path);
        let good = fs::read(&changed).unwrap();
        let findings = || match Frame::open(&path) {
            Ok(frame) => Check::new(CheckDepth::ChunkHeaders).run(&frame).unwrap().findings,
            Err(error) => vec![error.finding().unwrap().clone()],
        };
        assert!(!Salvage::open(&path).unwrap().preview().unwrap().found_damage());
        for at in 0..good.len() {
            for mask in [1, 0x80, 0xff] {
                let mut file = good.clone();
                file[at] ^= mask;
                fs::write(&changed, file).unwrap();
                let is_damage = |finding: &Finding| {
                    finding.severity() == Severity::Error || finding.code().remedy() == Some(Remedy::Salvage)
                };
                let findings = findings();
                let Some(damage) = findings.iter().find(|finding| is_damage(finding)) else { continue };
                let Ok(report) = Salvage::open(&path).unwrap().preview() else { continue };
                assert!(report.found_damage(), "{name}, byte {at} ^ {mask:#x}: {damage}");
            }
        }
    }
}

/// Adds 20 to the stored size in the header of the chunk at the offset `at`.
#[cfg(feature = "decompress")]
fn lengthen(file: &mut [u8], at: usize) {
    let cbytes = u32::from_le_bytes(file[at + 12..at + 16].try_into().unwrap());
    file[at + 12..at + 16].copy_from_slice(&(cbytes + 20).to_le_bytes());
}

/// The stored size in the header of a chunk is wrong, and bytes that no chunk owns follow the chunk.
#[test]
#[cfg(feature = "decompress")]
fn salvage_restores_the_stored_size_of_a_chunk_file_that_is_too_long() {
    let (folder, path) = copy("sparse.b2nd");
    let file = path.join("00000003.chunk");
    let whole = fs::read(&file).unwrap();
    let mut damaged = [&whole[..], &[0x55; 40]].concat();
    lengthen(&mut damaged, 0);
    fs::write(&file, damaged).unwrap();
    let to = folder.path().join("new.b2nd");
    let (_, report) = Salvage::open(&path).unwrap().apply(&to).unwrap();
    assert_eq!(said(&report), ["chunk 3: cbytes in its header was 96, and is 76"]);
    assert_eq!(doubtful(&report), [3].into(), "{report:?}");
    let saved: Vec<_> =
        fs::read_dir(&to).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    assert!(saved.contains(&whole));
}

/// Without damage, no stored size is restored, even if bytes that no chunk owns follow a chunk.
#[test]
#[cfg(feature = "decompress")]
fn salvage_restores_no_stored_size_if_only_other_bytes_follow_a_chunk() {
    let (_folder, path) = copy("sparse.b2nd");
    let file = path.join("00000003.chunk");
    fs::write(&file, [&fs::read(&file).unwrap()[..], &[0x55; 40]].concat()).unwrap();
    assert_eq!(said(&Salvage::open(&path).unwrap().preview().unwrap()), [""; 0]);
}

/// The frame of `compressed` after a commit that replaced a chunk. The old chunk is a recorded hole.
#[cfg(feature = "compress")]
fn with_replaced_chunk(number: u64) -> Vec<u8> {
    updated(&compressed(), 17920 * number..17920 * (number + 1), &steps(17920, 7))
}

#[test]
#[cfg(feature = "compress")]
fn salvage_restores_the_stored_size_of_a_chunk_that_reaches_into_a_recorded_hole() {
    let folder = tempfile::tempdir().unwrap();
    let file = with_replaced_chunk(1);
    let (_, report) = saved(&file, folder.path()).unwrap();
    assert!(!report.found_damage(), "{report:?}");
    let mut damaged = file.clone();
    lengthen(&mut damaged, starts(&file)[0]);
    let (new, report) = saved(&damaged, folder.path()).unwrap();
    assert!(said(&report)[0].starts_with("chunk 0: cbytes in its header was "), "{report:?}");
    assert_eq!((report.restored.len(), doubtful(&report)), (1, [0].into()), "{report:?}");
    assert_eq!(chunk_data(&new), chunk_data(&file));
}

/// A lost header can begin with the first byte of an older header by chance.
#[test]
fn a_lost_header_that_begins_like_an_older_one_is_given() {
    let mut file = small();
    file[..CHUNKS].fill(0x55);
    file[0] = second_generation(small())[0];
    let given = of(file).shape(&[3, 5]).chunkshape(&[2, 3]).blockshape(&[1, 2]).dtype("int32");
    let report = given.preview().unwrap();
    assert_eq!(report.lost_count(), 0, "{report:?}");
    // More than half of the fixed bytes of an older header are right.
    let mut older = second_generation(small());
    older[8..24].fill(0x55);
    let error = of(older).preview().unwrap_err().to_string();
    assert_eq!(error, "frames older than C-Blosc2 2.0.0-rc1 cannot be salvaged");
}

/// An array of three chunks of float32, whose first chunk was lost in a salvage that filled it with zeros. Returns the
/// frame with a damaged chunk 1.
fn salvaged_and_damaged(folder: &Path) -> Vec<u8> {
    let meta = Meta::new(Shapes { shape: &[6], chunkshape: &[2], blockshape: &[2] }, "<f4").unwrap();
    let mut writer = FrameBuilder::new(meta).write_to(Cursor::new(Vec::new())).unwrap();
    (0..3).for_each(|number| writer.write_uncompressed(number, &[1; 8]).unwrap());
    let mut file = writer.finish().unwrap().into_inner();
    let start = Frame::parse(&file).unwrap().header().header_len;
    file[start + 2] = 0;
    let (mut again, report) = saved(&file, folder).unwrap();
    assert_eq!((report.counts.zeros, lost(&report)), (1, vec![0]));
    // Chunk 1 is the first stored chunk now.
    again[start + 2] = 0;
    again
}

#[test]
fn salvage_refuses_another_fill_value_than_that_of_earlier_losses() {
    let folder = tempfile::tempdir().unwrap();
    let file = salvaged_and_damaged(folder.path());
    let error = of(file.clone()).fill(Fill::Nan).preview().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let expected = "an earlier salvage filled the chunks that it lost with zeros, and a frame can record only one fill \
                    value, so the chunks that are lost now must be filled with zeros too, and not with nan";
    assert_eq!(error.to_string(), expected);
    assert_eq!(of(file).preview().unwrap().counts.zeros, 2);
    // Without new losses, the fill value is not used.
    let mut file = salvaged_and_damaged(folder.path());
    let start = Frame::parse(&file).unwrap().header().header_len;
    file[start + 2] = file[start + 8 + 32 + 2];
    assert_eq!(of(file).fill(Fill::Nan).preview().unwrap().counts.zeros, 1);
}

/// The header is lost, and chunk 1 is damaged. A recorded hole follows chunk 1. Its right entry must not count as wrong.
#[test]
#[cfg(feature = "compress")]
fn a_damaged_chunk_before_a_recorded_hole_casts_no_doubt_on_the_length_of_a_lost_header() {
    let file = with_replaced_chunk(2);
    let starts = starts(&file);
    let mut damaged = file;
    damaged[..starts[0]].fill(0);
    damaged[starts[1]..starts[1] + 32].fill(0x55);
    let salvage = of(damaged).shape(&[4 * 17920]).chunkshape(&[17920]).blockshape(&[256]).dtype("<u2");
    let report = salvage.preview().unwrap();
    assert_eq!((lost(&report), report.unverified_count()), (vec![1], 0), "{report:?}");
}

/// A commit that was killed has a record after the frame. The chunks that it would have replaced are current.
#[test]
#[cfg(feature = "compress")]
fn the_record_of_a_killed_commit_hides_no_chunk_if_the_order_is_assumed() {
    let folder = tempfile::tempdir().unwrap();
    let (old, mut killed) = (compressed(), with_replaced_chunk(1));
    for index in [index_start(&old), index_start(&killed)] {
        killed[index..index + 32].fill(0x55);
    }
    let header_len = starts(&old)[0];
    killed[..header_len].copy_from_slice(&old[..header_len]);
    let to = folder.path().join("new.b2nd");
    of(killed).assume_order().apply(&to).unwrap();
    assert!(chunk_data(&fs::read(to).unwrap()) == chunk_data(&old));
}

/// The only chunk was replaced, and the file ends within the new one. The old chunk is whole, but not current.
#[test]
#[cfg(feature = "compress")]
fn the_old_chunk_of_a_cut_array_of_one_chunk_is_unverified() {
    let folder = tempfile::tempdir().unwrap();
    let items = steps(1000, 7);
    let old = in_thousands(&items);
    // Without the index, the only chunk is certain.
    let report = of(old[..index_start(&old)].to_vec()).preview().unwrap();
    assert_eq!((report.lost_count(), report.unverified_count()), (0, 0), "{:?}", report.unverified);
    let mut file = updated(&old, 0..1000, &steps(1000, 5));
    file.truncate(starts(&file)[0] + 50);
    file[index_start(&old)..old.len()].fill(0x55);
    let (new, report) = saved(&file, folder.path()).unwrap();
    assert_eq!(chunk_data(&new), [items]);
    assert_eq!(report.unverified_count(), 1, "{:?} {:?}", report.restored, report.unverified);
}

/// The file ends within its last commit, whose index is lost. The index of the commit before is whole, but not current.
#[test]
#[cfg(feature = "compress")]
fn the_chunks_of_an_index_from_before_the_last_commit_are_unverified() {
    let old = in_thousands(&steps(3000, 7));
    let mut file = updated(&old, 0..1000, &steps(1000, 5));
    let undamaged = of(file.clone()).preview().unwrap();
    assert!(!undamaged.found_damage(), "{:?}", undamaged.unverified);
    file.truncate(old.len() + 60);
    let report = of(file.clone()).preview().unwrap();
    assert_eq!((report.lost_count(), report.unverified_count()), (0, 3), "{:?}", report.unverified);
    // If the commit was killed before its last write, the old index is current.
    let header_len = old.len().min(200);
    file[..header_len].copy_from_slice(&old[..header_len]);
    let report = of(file).preview().unwrap();
    assert_eq!((report.lost_count(), report.unverified_count()), (0, 0), "{:?}", report.unverified);
}
