//! A check finds every kind of damage under its own code, and nothing in intact frames.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::io::{Cursor, Seek, SeekFrom, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::rewrite::second_generation;
use crate::{findings, index_start, opened};
use b2nd_frame::{Check, CheckDepth, ErrorKind, Finding, FindingCode, Frame, Place, Severity, check};
use b2nd_lab::{corpus, data, frame_of, offset_field};

fn errors(findings: &[Finding]) -> Vec<FindingCode> {
    findings.iter().filter(|finding| finding.severity() == Severity::Error).map(Finding::code).collect()
}

/// The number of read calls of this thread, if the system counts them.
#[cfg(target_os = "linux")]
pub(crate) fn reads() -> Option<u64> {
    let counts = fs::read_to_string("/proc/thread-self/io").ok()?;
    counts.lines().find_map(|line| line.strip_prefix("syscr: ")?.parse().ok())
}

#[cfg(target_os = "linux")]
#[test]
fn a_small_file_is_read_twice() {
    let path = data().join("peers/two_filters.b2nd");
    let (Some(before), Some(between)) = (reads(), reads()) else { return };
    assert_eq!(check(path).unwrap().findings, []);
    let after = reads().unwrap();
    assert_eq!(after - between - (between - before), 2, "the header to know it, and the whole file");
}

#[test]
fn of_the_corpus_only_three_files_are_wrong_and_all_really_are() {
    let Some((folder, entries)) = corpus() else { return };
    let mut wrong = BTreeSet::new();
    let mut counts = BTreeMap::<FindingCode, usize>::new();
    for entry in &entries {
        let name = entry["file"].as_str().unwrap();
        let findings = match entry["frame_offset"].as_u64() {
            None => check(folder.join(name)).unwrap().findings,
            Some(offset) => {
                let file = fs::read(folder.join(entry["metadata_file"].as_str().unwrap())).unwrap();
                findings(&mut Frame::read_at(Cursor::new(file), offset).unwrap())
            }
        };
        for finding in &findings {
            *counts.entry(finding.code()).or_default() += 1;
        }
        let errors = errors(&findings);
        if !errors.is_empty() {
            let expected = if name.ends_with("object.b2nd") {
                &[FindingCode::ObjectDtype][..]
            } else {
                &[FindingCode::ChunksizeMismatch, FindingCode::Sizes]
            };
            assert_eq!(errors, expected, "{name}: {findings:?}");
            wrong.insert(name);
        }
        // Codes about the layout or generation are reported exactly where the manifest says so.
        let has = |code| findings.iter().any(|finding| finding.code() == code);
        let layout = entry["layout"].as_str().unwrap();
        assert_eq!(has(FindingCode::StaleTail), layout.contains("stale"), "{name}");
        assert_eq!(has(FindingCode::OldFrame), entry["frame"]["frame_header_nelem"] != 14, "{name}");
        assert_eq!(has(FindingCode::HighRank), entry["expected"]["ndim"].as_u64() > Some(8), "{name}");
        let is_old =
            layout.contains("caterva") || layout.starts_with("b2nd-5") || layout.starts_with("b2nd-6");
        assert_eq!(has(FindingCode::OldLayout), is_old || layout.contains("says 6"), "{name}");
    }
    println!("{counts:?}");
    let all = [
        "B_blosc2-4.14.1/dtypes/object.b2nd",
        "B_caterva-0.5.0/slice_int.cat",
        "B_caterva-0.7.3/slice_int.cat",
    ];
    assert_eq!(wrong.into_iter().collect::<Vec<_>>(), all);
}

/// A file of the project, to be broken.
fn file(name: &str) -> Vec<u8> {
    fs::read(data().join(name)).unwrap()
}

/// `int32_3x5.b2nd` with some bytes changed.
fn with(changes: &[(usize, &[u8])]) -> Vec<u8> {
    changed(file("int32_3x5.b2nd"), changes)
}

fn changed(mut file: Vec<u8>, changes: &[(usize, &[u8])]) -> Vec<u8> {
    for &(at, bytes) in changes {
        file[at..at + bytes.len()].copy_from_slice(bytes);
    }
    file
}

/// A file with changed bytes at `at`, counted from the end.
fn with_end(name: &str, at: usize, bytes: &[u8]) -> Vec<u8> {
    let file = file(name);
    let at = file.len() - at;
    changed(file, &[(at, bytes)])
}

/// A file with 3 bytes inserted before its trailer of this length, and `frame_len` updated.
fn with_gap(name: &str, trailer: usize) -> Vec<u8> {
    let mut file = file(name);
    let at = file.len() - trailer;
    file.splice(at..at, [0; 3]);
    let frame_len = file.len() as u64;
    changed(file, &[(16, &frame_len.to_be_bytes())])
}

/// The header of `int32_3x5.b2nd` with some bytes after it, and a frame length to match.
fn cut_behind_the_header(bytes: usize) -> Vec<u8> {
    let file = &file("int32_3x5.b2nd")[..165 + bytes];
    changed(file.to_vec(), &[(16, &(file.len() as u64).to_be_bytes())])
}

/// `int32_3x5.b2nd` with these metalayers.
pub(crate) fn with_metalayers(metalayers: &[(&str, &[u8])]) -> Vec<u8> {
    let (file, mut header) = (file("int32_3x5.b2nd"), frame_of(metalayers, &[]));
    // It has an empty trailer of 35 bytes, and no chunks: nbytes and cbytes are 0.
    header.truncate(header.len() - 35);
    header[30..47].copy_from_slice(&file[30..47]);
    header.extend(&file[165..]);
    let frame_len = header.len() as u64;
    changed(header, &[(16, &frame_len.to_be_bytes())])
}

/// `int32_3x5.b2nd` with a metalayer of another content.
fn with_array(change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut content = file("int32_3x5.b2nd")[112..165].to_vec();
    change(&mut content);
    with_metalayers(&[("b2nd", &content)])
}

/// `int32_3x5.b2nd` as C-Blosc2 2.0 beta 2 to 5 would have written it, changed.
fn of_second_generation(changes: &[(usize, &[u8])]) -> Vec<u8> {
    changed(second_generation(file("int32_3x5.b2nd")), changes)
}

const MINUS: [u8; 4] = [0xff; 4];
const MOST: [u8; 4] = i32::MAX.to_be_bytes();

/// Damage that once broke C-Blosc2, and the code of its finding here.
#[expect(clippy::too_many_lines, reason = "one table")]
pub(crate) fn table() -> Vec<(&'static str, Vec<u8>, FindingCode)> {
    let rank_17 = |content: &mut Vec<u8>| {
        content[2] = 17;
        content[3] = 0xa1;
    };
    vec![
        ("rank 17", with_array(rank_17), FindingCode::DamagedArray),
        ("rank 127", with(&[(114, &[127])]), FindingCode::DamagedArray),
        ("metalayer empty", with_array(Vec::clear), FindingCode::DamagedArray),
        ("metalayer cut in shape", with_array(|content| content.truncate(10)), FindingCode::DamagedArray),
        (
            "metalayer cut in the dtype's length",
            with_array(|content| content.truncate(47)),
            FindingCode::DamagedArray,
        ),
        ("metalayer cut in the dtype", with_array(|content| content.truncate(52)), FindingCode::DamagedArray),
        ("dtype_len negative", with(&[(158, &MINUS)]), FindingCode::DamagedArray),
        ("dtype_len past the end", with(&[(158, &[0, 0, 0, 4])]), FindingCode::DamagedArray),
        ("dtype_len INT32_MAX", with(&[(158, &MOST)]), FindingCode::DamagedArray),
        ("block 0, chunk not", with(&[(147, &[0; 4])]), FindingCode::InvalidShape),
        ("chunk and block 0, shape not", with(&[(136, &[0; 4]), (147, &[0; 4])]), FindingCode::InvalidShape),
        ("chunk 0, shape not", with(&[(136, &[0; 4])]), FindingCode::InvalidShape),
        (
            "product of C wraps int32",
            with(&[(136, &[0, 1, 0, 0]), (141, &[0, 1, 0, 0])]),
            FindingCode::InvalidShape,
        ),
        (
            "product of B wraps int32",
            with(&[(147, &[0, 1, 0, 0]), (152, &[0, 1, 0, 0])]),
            FindingCode::InvalidShape,
        ),
        (
            "product of S wraps int64",
            with(&[(117, &[0, 0, 1]), (126, &[0, 0, 1])]),
            FindingCode::InvalidShape,
        ),
        ("E beyond int64", with(&[(117, &i64::MAX.to_be_bytes())]), FindingCode::InvalidShape),
        ("content_len INT32_MAX", with(&[(108, &MOST)]), FindingCode::DamagedHeader),
        ("content_len negative", with(&[(108, &MINUS)]), FindingCode::DamagedHeader),
        ("content_len one too many", with(&[(108, &[0, 0, 0, 54])]), FindingCode::DamagedHeader),
        ("header_len 86", with(&[(11, &[0, 0, 0, 86])]), FindingCode::DamagedHeader),
        ("header_len 0", with(&[(11, &[0; 4])]), FindingCode::DamagedHeader),
        ("header_len negative", with(&[(11, &MINUS)]), FindingCode::DamagedHeader),
        ("header_len past frame_len", with(&[(11, &[0, 0, 2, 9])]), FindingCode::DamagedHeader),
        ("header_len INT32_MAX", with(&[(11, &MOST)]), FindingCode::DamagedHeader),
        ("header_len within the index", with(&[(11, &[0, 0, 0, 95])]), FindingCode::DamagedHeader),
        ("frame_len past the file", with(&[(22, &[2, 9])]), FindingCode::Truncated),
        ("frame_len 2^64 - 1", with(&[(16, &[0xff; 8])]), FindingCode::Truncated),
        ("17 metalayers", with_metalayers(&[("x", b"\xc0".as_slice()); 17]), FindingCode::DamagedHeader),
        ("65535 metalayers", with(&[(92, &[0xff; 2])]), FindingCode::DamagedHeader),
        ("index marker not de", with(&[(91, &[0xdf])]), FindingCode::DamagedHeader),
        ("name not a fixstr", with(&[(94, &[0xd9])]), FindingCode::DamagedHeader),
        ("offset marker not d2", with(&[(99, &[0xce])]), FindingCode::DamagedHeader),
        ("content marker not c6", with(&[(107, &[0xc5])]), FindingCode::DamagedHeader),
        ("offset negative", with(&[(100, &MINUS)]), FindingCode::DamagedHeader),
        ("offset at the end", with(&[(100, &[0, 0, 0, 165])]), FindingCode::DamagedHeader),
        ("offset without room for a length", with(&[(100, &[0, 0, 0, 161])]), FindingCode::DamagedHeader),
        ("offset INT32_MAX", with(&[(100, &MOST)]), FindingCode::DamagedHeader),
        ("trailer_len 2^32 - 1", with_end("int32_3x5.b2nd", 22, &MINUS), FindingCode::DamagedTrailer),
        ("trailer_len 24", with_end("int32_3x5.b2nd", 22, &[0, 0, 0, 24]), FindingCode::DamagedTrailer),
        (
            "trailer_len past the frame",
            with_end("int32_3x5.b2nd", 22, &[0, 0, 2, 9]),
            FindingCode::DamagedTrailer,
        ),
        (
            "trailer_len into the header",
            with_end("int32_3x5.b2nd", 22, &[0, 0, 1, 100]),
            FindingCode::DamagedTrailer,
        ),
        ("nothing behind the header", cut_behind_the_header(0), FindingCode::DamagedTrailer),
        ("10 bytes behind the header", cut_behind_the_header(10), FindingCode::DamagedTrailer),
        ("22 bytes behind the header", cut_behind_the_header(22), FindingCode::DamagedTrailer),
        ("29 bytes behind the header", cut_behind_the_header(29), FindingCode::DamagedTrailer),
        ("frame_len is header_len", with(&[(22, &[0, 165])]), FindingCode::DamagedTrailer),
        (
            "no items, 19 bytes left",
            changed(file("empty.b2nd"), &[(14, &[0xb5])]),
            FindingCode::DamagedTrailer,
        ),
        ("chunksize 0 under items", with(&[(58, &[0; 4])]), FindingCode::Sizes),
    ]
}

/// The rest of the codes.
#[expect(clippy::too_many_lines, reason = "one table")]
pub(crate) fn oddities() -> Vec<(&'static str, Vec<u8>, FindingCode)> {
    let content = &file("int32_3x5.b2nd")[112..165];
    let longer = [&file("int32_3x5.b2nd")[..], b"more"].concat();
    let vlmetalayers = file("vlmetalayers.b2nd");
    // In reverse order: the end of the trailer, two contents, their list, two index entries, the index.
    let trailer = Frame::read_at(Cursor::new(&vlmetalayers), 0).unwrap().trailer().unwrap();
    let start = usize::try_from(trailer.offset()).unwrap();
    let chunk = usize::try_from(trailer.vlmetalayers()[0].offset()).unwrap();
    let in_trailer = |at: usize, bytes: &[u8]| changed(vlmetalayers.clone(), &[(at, bytes)]);
    vec![
        ("text", b"not a frame, but some text".to_vec(), FindingCode::NotAFrame),
        ("no bytes", Vec::new(), FindingCode::NotAFrame),
        ("zeros", vec![0; 600], FindingCode::NotAFrame),
        ("appended bytes", longer, FindingCode::LongerFile),
        ("another header", with(&[(0, &[0x9f])]), FindingCode::DamagedHeader),
        ("nbytes as uint64", with(&[(29, &[0xcf])]), FindingCode::DamagedHeader),
        ("version 4", with(&[(25, &[0x14])]), FindingCode::UnknownVersion),
        ("frame type 2", with(&[(26, &[2])]), FindingCode::FrameType),
        ("frame type 0x10", with(&[(26, &[0x10])]), FindingCode::FrameType),
        ("frame type 0x80", with(&[(26, &[0x80])]), FindingCode::FrameType),
        ("filter 16", with(&[(71, &[16])]), FindingCode::UnknownFilter),
        ("a parameter of a filter in use", with(&[(84, &[0x80])]), FindingCode::FilterParameter),
        ("a parameter of no filter", with(&[(79, &[0xff])]), FindingCode::FilterParameter),
        ("dtype that means nothing", with(&[(162, b"xyz")]), FindingCode::UnknownDtype),
        ("dtype format 1", with(&[(156, &[1])]), FindingCode::UnknownDtype),
        ("a sparse frame in a file", with(&[(26, &[1])]), FindingCode::FrameType),
        ("9d", of_second_generation(&[]), FindingCode::OldFrame),
        ("7 filters", with(&[(70, &[7])]), FindingCode::DamagedHeader),
        ("typesize 0", with(&[(48, &[0; 4])]), FindingCode::Sizes),
        ("nbytes negative", with(&[(30, &[0xff])]), FindingCode::Sizes),
        ("cbytes negative", with(&[(39, &[0xff])]), FindingCode::Sizes),
        ("chunksize negative", with(&[(58, &[0xff])]), FindingCode::Sizes),
        ("index size 0", with(&[(89, &[0; 2])]), FindingCode::IgnoredBytes),
        ("no list of contents", with(&[(104, &[0xdd])]), FindingCode::IgnoredBytes),
        ("list of 2", with(&[(106, &[2])]), FindingCode::IgnoredBytes),
        (
            "the same name twice",
            with_metalayers(&[("b2nd", content), ("b2nd", content)]),
            FindingCode::DuplicateMetalayer,
        ),
        ("a lazy expression", file("peers/lazy_expression.b2nd"), FindingCode::ActiveObject),
        ("a proxy", file("peers/proxy.b2nd"), FindingCode::ActiveObject),
        ("an object of a later release", file("peers/later_object.b2nd"), FindingCode::ActiveObject),
        ("array of 8", with(&[(112, &[0x98])]), FindingCode::DamagedArray),
        ("shape as uint64", with(&[(116, &[0xcf])]), FindingCode::DamagedArray),
        ("NUL in dtype", with(&[(163, &[0])]), FindingCode::DamagedArray),
        ("dtype of no UTF-8", with(&[(163, &[0xff])]), FindingCode::DamagedArray),
        ("stale tail", file("squeezed.caterva"), FindingCode::StaleTail),
        ("caterva", file("uint16_6x8.caterva"), FindingCode::OldLayout),
        ("metalayer version 1", with(&[(113, &[1])]), FindingCode::UnknownVersion),
        ("shape negative", with(&[(117, &[0xff])]), FindingCode::InvalidShape),
        ("chunk negative", with(&[(136, &[0xff])]), FindingCode::InvalidShape),
        ("chunk of 8 GiB", with(&[(48, &[0x40, 0, 0, 0])]), FindingCode::InvalidShape),
        ("9d, block 0", of_second_generation(&[(142, &[0; 4])]), FindingCode::UnsetBlockshape),
        (
            "9d, block above chunk",
            of_second_generation(&[(142, &[0, 0, 0, 9])]),
            FindingCode::UnsetBlockshape,
        ),
        ("rank 16", file("rank16.b2nd"), FindingCode::HighRank),
        ("a block of more than a chunk", with(&[(53, &[0, 0, 0, 16]), (155, &[4])]), FindingCode::LargeBlock),
        ("chunksize of another chunk", with(&[(58, &[0, 0, 0, 24])]), FindingCode::ChunksizeMismatch),
        ("blocksize of another block", with(&[(53, &[0, 0, 0, 4])]), FindingCode::Sizes),
        ("fewer chunks than the grid", with(&[(37, &[96])]), FindingCode::InterruptedResize),
        ("more chunks than the grid", with(&[(37, &[160])]), FindingCode::InterruptedResize),
        ("a shape of more chunks", with(&[(124, &[5])]), FindingCode::InterruptedResize),
        ("a shape without items", with(&[(124, &[0])]), FindingCode::InterruptedResize),
        ("chunksize without items", changed(file("empty.b2nd"), &[(61, &[3])]), FindingCode::IgnoredBytes),
        ("a name other than b2nd", with(&[(95, b"c2nd")]), FindingCode::MisnamedArray),
        ("typesize 1 for items of 1024 bytes", lost_typesize(), FindingCode::LostTypesize),
        ("Python objects", with_items_of(8, b"|O", 8), FindingCode::ObjectDtype),
        (
            "a field of Python objects",
            with_items_of(12, b"[('a', '<i4'), ('b', '|O', (1,))]", 12),
            FindingCode::ObjectDtype,
        ),
        ("dtype of 8 bytes", with(&[(164, b"8")]), FindingCode::DtypeMismatch),
        ("cbytes past the index", with(&[(46, &[0xff])]), FindingCode::DamagedIndex),
        ("cbytes past the file", with(&[(40, &[0xff])]), FindingCode::DamagedIndex),
        ("index of other chunks", with_index_of_5(), FindingCode::ChunkIndexCount),
        ("a chunk taken for the index", with(&[(39, &[0; 8])]), FindingCode::DamagedIndex),
        ("an offset behind the chunks", with_offset(3, 225), FindingCode::ChunkOffset),
        ("offsets without chunks", without_chunks(), FindingCode::ChunkOffset),
        ("an offset twice", with_offset(3, 64), FindingCode::ChunkOffset),
        ("an unknown special value", with_offset(3, 1 << 63), FindingCode::ChunkOffset),
        ("a special value with other bits", with_offset(3, (-1 << 56) + 192), FindingCode::ChunkOffset),
        ("an index of one value", with_index_of_nan(), FindingCode::DamagedIndex),
        ("a length that is lost", with_lost_length(), FindingCode::LostChunkLength),
        ("nothing stored", file("struct_long.b2nd"), FindingCode::NoData),
        ("stored up to the last chunk", with_offset(3, ZEROS), FindingCode::NeverWritten),
        ("a gap behind the index", with_gap("int32_3x5.b2nd", 35), FindingCode::IgnoredBytes),
        ("trailer without its end", with_end("int32_3x5.b2nd", 23, &[0xcd]), FindingCode::DamagedTrailer),
        ("trailer of 3", with_end("int32_3x5.b2nd", 35, &[0x93]), FindingCode::DamagedTrailer),
        ("trailer behind a gap", with_gap("empty.b2nd", 35), FindingCode::DamagedTrailer),
        ("vlmetalayers said, not there", with(&[(68, &[0xc3])]), FindingCode::IgnoredBytes),
        ("8193 vlmetalayers", in_trailer(start + 7, &[0x20, 0x01]), FindingCode::DamagedTrailer),
        ("vlmetalayer's offset", in_trailer(start + 15, &MOST), FindingCode::DamagedTrailer),
        ("vlmetalayer's length", in_trailer(chunk - 4, &MINUS), FindingCode::DamagedTrailer),
        ("vlmetalayer's name no UTF-8", in_trailer(start + 10, &[0xff]), FindingCode::VlmetalayerValue),
        ("vlmetalayer no chunk", in_trailer(chunk + 12, &[0; 4]), FindingCode::VlmetalayerChunk),
        ("vlmetalayer of no items", in_trailer(chunk + 3, &[0]), FindingCode::VlmetalayerChunk),
        ("vlmetalayer of no blocks", in_trailer(chunk + 8, &[0; 4]), FindingCode::VlmetalayerChunk),
        ("vlmetalayer of more bytes", in_trailer(chunk + 4, &[8]), FindingCode::VlmetalayerChunk),
        ("vlmetalayer with a dictionary", in_trailer(chunk + 31, &[1]), FindingCode::VlmetalayerChunk),
    ]
}

/// Damage to the chunk header of the chunk index.
pub(crate) fn index_headers() -> Vec<(&'static str, Vec<u8>, FindingCode)> {
    vec![
        ("an index of items of 9 bytes", with_index_byte(3, 9), FindingCode::DamagedIndex),
        ("an index of blocks of 0 bytes", with_index_byte(8, 0), FindingCode::DamagedIndex),
        ("an index of blocks of 2 GiB", with_index_byte(11, 0x7f), FindingCode::DamagedIndex),
        ("an index of Blosc 1", with_index_byte(2, 0x18), FindingCode::DamagedIndex),
        ("an index of blocks of any length", with_index_byte(30, 1), FindingCode::DamagedIndex),
        ("an index with a dictionary", with_index_byte(31, 1), FindingCode::DamagedIndex),
        ("an index for memory only", with_index_byte(31, 8), FindingCode::DamagedIndex),
        ("an index of zeros and more", with_index_byte(31, 0x10), FindingCode::DamagedIndex),
    ]
}

/// All damaged files, and the codes of their findings.
fn cases() -> impl Iterator<Item = (&'static str, Vec<u8>, FindingCode)> {
    table().into_iter().chain(oddities()).chain(index_headers())
}

#[test]
fn one_chunk_is_not_said_to_be_several() {
    // nbytes for one of four chunks, and then a shape of one chunk.
    let mut bytes = file("int32_3x5.b2nd");
    bytes[37] = 32;
    let says = |bytes, text: &str| {
        let findings = findings(&mut opened(bytes));
        assert!(findings.iter().any(|finding| finding.message().contains(text)), "{findings:?}");
    };
    says(bytes, "enough for 1 chunk of 32 bytes, but the shape has 4 chunks, ");
    let mut bytes = file("int32_3x5.b2nd");
    (bytes[124], bytes[133]) = (2, 3);
    says(bytes, "enough for 4 chunks of 32 bytes, but the shape has 1 chunk, ");
}

#[test]
fn blocks_whose_streams_cannot_be_of_one_length_are_found() {
    let mut file = file("vlmetalayers.b2nd");
    let layer = usize::try_from(opened(&file).trailer().unwrap().vlmetalayers()[1].offset()).unwrap();
    // Split blocks, and items of 7 bytes; the block has 1003.
    file[layer + 2] &= !0x10;
    file[layer + 3] = 7;
    let findings = findings(&mut opened(file));
    assert_eq!(
        findings[0].message(),
        "the chunk of vlmetalayer note has blocks of 1003 bytes that are split into 7 streams, which cannot be of one length"
    );
}

#[test]
fn an_index_with_the_filter_of_a_plugin_is_found() {
    for filter in [32, 128, 255] {
        let mut file = file("int32_3x5.b2nd");
        let index = index_start(&file);
        // Compressed, with this filter.
        file[index + 2] &= !2;
        file[index + 16] = filter;
        let findings = findings(&mut opened(file));
        assert_eq!(findings[0].code(), FindingCode::DamagedIndex);
        let message = findings[0].message();
        assert!(message.ends_with("but must have none or a filter of C-Blosc2 itself"), "{message}");
    }
}

#[test]
fn the_first_chunk_that_is_not_stored_is_named() {
    let mut bytes = file("int32_3x5.b2nd");
    // The entries of the chunks 1, 2 and 3.
    for at in [461, 469, 477] {
        bytes[at..at + 8].copy_from_slice(&ZEROS.to_le_bytes());
    }
    let findings = findings(&mut opened(bytes));
    let text = "only the first of 4 chunks is stored, none from coordinate [0, 1] of the grid on";
    assert_eq!(
        (findings.len(), findings[0].code(), findings[0].message()),
        (1, FindingCode::NeverWritten, text)
    );
}

/// The entry of a chunk of zeros.
const ZEROS: i64 = -0x7f << 56;

/// `int32_3x5.b2nd` with a chunk index that is a constant chunk of NaN.
fn with_index_of_nan() -> Vec<u8> {
    let mut file = with_index_byte(31, 0x20);
    let index = index_start(&file);
    // It has no data.
    file[index + 2] &= !2;
    file
}

/// `int32_3x5.b2nd` with one byte changed in the chunk header of its index.
fn with_index_byte(at: usize, byte: u8) -> Vec<u8> {
    let file = file("int32_3x5.b2nd");
    let index = index_start(&file);
    assert_ne!(file[index + at], byte);
    changed(file, &[(index + at, &[byte])])
}

/// A frame with chunks of different sizes. One chunk is not stored.
fn with_lost_length() -> Vec<u8> {
    let file = file("peers/chunks_of_any_length.b2frame");
    let index = index_start(&file);
    assert_eq!(file[index + 2] & 7, 7, "the index is not stored behind a header of 32 bytes");
    changed(file, &[(index + 32, &ZEROS.to_le_bytes())])
}

/// The number of bytes of the chunk index, which counts 5 chunks.
fn with_index_of_5() -> Vec<u8> {
    let file = file("int32_3x5.b2nd");
    let index = index_start(&file);
    assert_eq!(file[index + 4..index + 8], 32_u32.to_le_bytes());
    changed(file, &[(index + 4, &40_u32.to_le_bytes())])
}

/// `int32_3x5.b2nd` with another offset of a chunk.
fn with_offset(chunk: usize, offset: i64) -> Vec<u8> {
    let file = file("int32_3x5.b2nd");
    let header = Frame::parse(&file).unwrap().header().clone();
    assert_eq!(header.cbytes, 256);
    let index = index_start(&file);
    let (flags, offsets) = (file[index + 2], index + 32);
    assert_eq!(flags & 7, 7, "the index is not stored behind a header of 32 bytes");
    assert_eq!(file[offsets + 8..offsets + 16], 64_i64.to_le_bytes());
    changed(file, &[(offsets + 8 * chunk, &offset.to_le_bytes())])
}

/// `int32_3x5.b2nd` with its index right behind the header.
fn without_chunks() -> Vec<u8> {
    let mut file = file("int32_3x5.b2nd");
    file.drain(165..165 + 256);
    let frame_len = file.len() as u64;
    changed(file, &[(16, &frame_len.to_be_bytes()), (39, &[0; 8])])
}

/// An array of `<U256`, written as python-blosc2 does from memory that is not contiguous.
fn lost_typesize() -> Vec<u8> {
    with_items_of(256 * 4, b"<U256", 1)
}

/// `int32_3x5.b2nd` with items of this size and dtype, and header sizes to match. Its data is not adapted.
fn with_items_of(size: u32, dtype: &[u8], typesize: u32) -> Vec<u8> {
    let file = with_array(|content| {
        content.truncate(46);
        content.extend(u32::try_from(dtype.len()).unwrap().to_be_bytes());
        content.extend(dtype);
    });
    let nbytes = i64::from(4 * 8 * size);
    changed(
        file,
        &[
            (30, &nbytes.to_be_bytes()),
            (48, &typesize.to_be_bytes()),
            (53, &(2 * size).to_be_bytes()),
            (58, &(8 * size).to_be_bytes()),
        ],
    )
}

#[test]
fn a_typesize_is_lost_only_where_all_else_shows_another() {
    let codes = |file: Vec<u8>| {
        let findings = findings(&mut opened(file));
        findings.iter().map(Finding::code).collect::<Vec<_>>()
    };
    assert_eq!(codes(with_items_of(1024, b"<U256", 1024)), []);
    assert_eq!(codes(lost_typesize()), [FindingCode::LostTypesize]);
    assert_eq!(codes(with_items_of(256, b"|S256", 1)), [FindingCode::LostTypesize]);
    // These item sizes fit the one byte that a chunk header has for them.
    for (size, dtype) in [(255, &b"|S255"[..]), (4, b"<i4")] {
        let found = codes(with_items_of(size, dtype, 1));
        assert_eq!(
            found,
            [FindingCode::ChunksizeMismatch, FindingCode::Sizes, FindingCode::DtypeMismatch],
            "{size}"
        );
    }
    // Other numbers may be wrong too.
    let found = codes(with_items_of(1024, b"<U256", 2));
    assert!(
        found.contains(&FindingCode::ChunksizeMismatch) && !found.contains(&FindingCode::LostTypesize),
        "{found:?}"
    );
    let fewer_chunks = changed(lost_typesize(), &[(30, &(3 * 8 * 1024_i64).to_be_bytes())]);
    assert_eq!(codes(fewer_chunks)[..2], [FindingCode::LostTypesize, FindingCode::InterruptedResize]);
}

#[test]
fn every_changed_byte_of_the_name_b2nd_is_found() {
    let sound = file("int32_3x5.b2nd");
    let frame = Frame::parse(&sound).unwrap();
    let at = offset_field(frame.header_bytes(), "b2nd") - 1 - b"b2nd".len();
    for at in at..at + 4 {
        for byte in (0..=u8::MAX).filter(|&byte| byte != sound[at]) {
            let findings =
                Frame::parse(&changed(sound.clone(), &[(at, &[byte])])).unwrap().check_header().findings;
            let codes: Vec<FindingCode> = findings.iter().map(Finding::code).collect();
            assert_eq!(codes, [FindingCode::MisnamedArray], "byte {at} is {byte:#04x}");
        }
    }
    // A user's metalayer is not reported if it is an array of another size, or has bytes after it.
    let content = &sound[112..165];
    let shorter = [&content[..12], &[2], &content[13..]].concat();
    let longer = [content, b"x"].concat();
    for (content, count) in [(content, 1), (&shorter, 0), (&longer, 0), (b"\x97\x00", 0), (b"", 0)] {
        let frame = Frame::parse(&with_metalayers(&[("mine", content)])).unwrap();
        assert_eq!(frame.check_header().findings.len(), count, "{content:02x?}");
    }
    // Beside an array, any metalayer is what its name says.
    let frame = Frame::parse(&with_metalayers(&[("mine", content), ("b2nd", content)])).unwrap();
    assert_eq!(frame.check_header().findings, []);
}

/// Version 1 is sketched upstream: array16 markers, and up to 32 dimensions.
#[test]
fn an_error_in_a_metalayer_of_another_version_names_the_version() {
    for ndim in [2, 16, 20] {
        let array16 = |content: &mut Vec<u8>| {
            content[1] = 1;
            content[2] = ndim;
            content.splice(3..4, [0xdc, 0, ndim]);
        };
        let findings = Frame::parse(&with_array(array16)).unwrap().check_header().findings;
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!(finding.code(), FindingCode::UnknownVersion);
        assert!(finding.message().ends_with("; version is 1, but only version 0 is known"), "{finding}");
    }
}

#[test]
fn a_list_of_metalayers_names_the_number_that_is_wrong() {
    for (change, expected, found) in [((104, 0x23), 0xdc, 0x23), ((106, 2), 1, 2)] {
        let (at, byte) = change;
        let findings = Frame::parse(&with(&[(at, &[byte])])).unwrap().check_header().findings;
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!(finding.code(), FindingCode::IgnoredBytes);
        assert_eq!((finding.expected(), finding.found()), (Some(expected), Some(found)));
    }
    // Both names have the offset of the first content. The finding is about the second offset.
    let mut file = with_metalayers(&[("first", b"\xc0"), ("second", b"\xc0")]);
    let [first, second] = ["first", "second"].map(|name| offset_field(&file, name));
    file.copy_within(first..first + 4, second);
    let findings = Frame::parse(&file).unwrap().check_header().findings;
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!((finding.code(), finding.offset()), (FindingCode::IgnoredBytes, Some(second as u64)));
}

#[test]
fn a_frame_without_chunks_has_none_whatever_size_they_would_have() {
    let Some((folder, entries)) = corpus() else { return };
    let mut seen = BTreeSet::new();
    for entry in
        entries.iter().filter(|entry| entry["frame"]["nbytes"] == 0 && entry["frame_offset"].is_null())
    {
        let frame = Frame::open(folder.join(entry["file"].as_str().unwrap())).unwrap();
        assert_eq!(frame.header().nchunks(), Some(0), "{entry}");
        seen.insert(frame.header().chunksize.signum());
    }
    assert_eq!(seen, [-1, 0, 1].into());
}

#[test]
fn what_once_broke_c_blosc2_is_refused_under_its_own_code() {
    let folder = tempfile::tempdir().unwrap();
    for (name, file, code) in table() {
        let path = folder.path().join("bad.b2nd");
        fs::write(&path, file).unwrap();
        let findings = check(&path).unwrap().findings;
        let found = errors(&findings);
        assert_eq!(found.first(), Some(&code), "{name}: {findings:?}");
        assert!(findings.iter().all(|finding| !finding.to_string().is_empty()));

        // An error in the header is returned by `open`, one in the array metalayer by `array`.
        match Frame::open(&path) {
            Err(error) => assert_eq!(error.finding().map(Finding::code), Some(code), "{name}"),
            Ok(frame) => match frame.array() {
                Err(error) => assert_eq!(error.finding().map(Finding::code), Some(code), "{name}"),
                Ok(array) => {
                    let is_sound = array.unwrap().geometry().is_ok();
                    assert_eq!(
                        is_sound,
                        matches!(code, FindingCode::DamagedTrailer | FindingCode::Sizes),
                        "{name}"
                    );
                }
            },
        }
    }
}

#[test]
fn every_code_is_found_and_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = BTreeSet::new();
    for (name, file, code) in cases() {
        let path = folder.path().join("odd.b2nd");
        fs::write(&path, file).unwrap();
        let findings = check(&path).unwrap().findings;
        let found = findings.iter().find(|finding| finding.code() == code);
        assert!(found.is_some(), "{name}: {findings:?}");
        assert_eq!(found.unwrap().severity(), code.severity());
        all.insert(code);
    }
    // Other tests cover the codes of zip files, directories and chunks; one below has a header of 64 MiB. A table
    // consists of many frames, so the tests of the command cover it.
    all.extend([
        FindingCode::DamagedZip,
        FindingCode::DamagedZip,
        FindingCode::TooLong,
        FindingCode::Salvaged,
        FindingCode::ChunkFile,
        FindingCode::ChunkHeader,
        FindingCode::ChunkData,
        FindingCode::ChunkDictionary,
        FindingCode::ChunkFilters,
        FindingCode::ChunkOverlap,
        FindingCode::UnclosedTable,
        FindingCode::UnownedBytes,
        FindingCode::ZipChecksum,
    ]);
    assert_eq!(all, FindingCode::ALL.iter().copied().collect());
    for code in all {
        assert_eq!(code.name().parse(), Ok(code), "a name of its own");
        assert!(code.meaning().ends_with('.') && code.advice().ends_with('.'), "{code}");
    }
}

#[test]
fn the_values_of_vlmetalayers_are_read_with_the_data() {
    let sound = file("vlmetalayers.b2nd");
    let trailer = opened(&sound).trailer().unwrap();
    let [short, long] =
        [0, 1].map(|layer: usize| usize::try_from(trailer.vlmetalayers()[layer].offset()).unwrap());
    let check = |file: &[u8], depth| {
        let report = Check::new(depth).run(&mut opened(file)).unwrap();
        let messages: Vec<String> =
            report.findings.iter().map(|finding| finding.message().to_owned()).collect();
        for finding in &report.findings {
            // A value that is not MessagePack can be another program's.
            let is_foreign = finding.message().contains("MessagePack");
            let code = if is_foreign { FindingCode::VlmetalayerValue } else { FindingCode::VlmetalayerChunk };
            let severity = if is_foreign { Severity::Warning } else { Severity::Error };
            assert_eq!((finding.code(), finding.severity()), (code, severity), "{finding}");
        }
        assert_eq!(report.skipped.is_empty(), cfg!(feature = "decompress") || depth < CheckDepth::ChunkData);
        messages
    };
    assert_eq!(check(&sound, CheckDepth::ChunkData), [""; 0]);
    // The value of the first one is `a6` and six characters.
    let start = "the value of vlmetalayer unit is not MessagePack that python-blosc2 reads: ";
    for (bytes, says) in [
        (&b"\xa7"[..], "the value at byte 0 has an unknown marker, or does not end"),
        (b"\xa5", "it ends at byte 6 of 7"),
        (b"\xc1", "the value at byte 0 has an unknown marker, or does not end"),
        (b"\xa6\xff", "the text at byte 0 is not UTF-8"),
        (b"\x81\x01\xa4", "the key at byte 1 is neither text nor bytes"),
        (b"\x82\xa1k\x91\x01\x02", "the key at byte 5 is neither text nor bytes"),
        (b"\x82\xa1k\x90\xc4\x00", ""),
    ] {
        let file = changed(sound.clone(), &[(short + 32, bytes)]);
        assert_eq!(check(&file, CheckDepth::ChunkHeaders), [""; 0]);
        let found = check(&file, CheckDepth::ChunkData);
        let expected: &[String] = if says.is_empty() { &[] } else { &[format!("{start}{says}")] };
        assert_eq!(found, expected, "{bytes:02x?}");
    }
    // The second value is compressed. The length of its only stream follows the table of one block.
    if cfg!(feature = "decompress") {
        let file = changed(sound.clone(), &[(long + 36 + 4, &[0])]);
        let found = check(&file, CheckDepth::ChunkData);
        assert!(found.len() == 1 && found[0].contains(" cannot be decompressed: "), "{found:?}");
    }
}

#[test]
fn a_finding_is_serialized_as_the_command_prints_it() {
    let findings = Frame::read_at(Cursor::new(with(&[(37, &[96])])), 0).unwrap().check_header().findings;
    let expected = serde_json::json!({
        "code": "interrupted-resize",
        "severity": "error",
        "place": "header",
        "chunk": null,
        "offset": 30,
        "expected": 128,
        "found": 96,
        "message": findings[0].message(),
    });
    assert_eq!(serde_json::to_value(&findings[0]).unwrap(), expected);
    for (finding, name) in [("truncated", true), ("Truncated", false), ("", false)] {
        assert_eq!(finding.parse::<FindingCode>().is_ok(), name, "{finding}");
    }
}

#[test]
fn a_place_is_named_for_a_sentence_and_for_a_program() {
    for (place, sentence, name) in [
        (Place::File, "the file", "file"),
        (Place::Header, "the header", "header"),
        (Place::Metalayers, "the metalayers", "metalayers"),
        (Place::Array, "the array's metalayer", "array"),
        (Place::Chunk, "a chunk", "chunk"),
        (Place::ChunkIndex, "the chunk index", "chunk-index"),
        (Place::Trailer, "the trailer", "trailer"),
    ] {
        assert_eq!((&*place.to_string(), place.name()), (sentence, name));
        assert_eq!(serde_json::json!(place), serde_json::json!(name));
    }
    let finding = Finding::of_file(FindingCode::UnclosedTable, "the number of rows is missing");
    assert_eq!((finding.place(), finding.offset(), finding.chunk()), (Place::File, None, None));
    assert_eq!(
        (finding.code(), finding.message()),
        (FindingCode::UnclosedTable, "the number of rows is missing")
    );
}

#[test]
fn a_header_without_a_list_of_metalayers_is_found() {
    // The list of no metalayers takes three bytes.
    let mut header = frame_of(&[], &[]);
    let length = Frame::parse(&header).unwrap().header().header_len - 3;
    header.drain(length..length + 3);
    header[11..15].copy_from_slice(&u32::try_from(length).unwrap().to_be_bytes());
    let findings = Frame::parse(&header).unwrap().check_header().findings;
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!((finding.code(), finding.offset()), (FindingCode::IgnoredBytes, Some(length as u64)));
    assert_eq!(finding.message(), "the header ends before the list of metalayers");
}

#[test]
fn the_files_of_the_project_are_right() {
    for name in ["int32_3x5.b2nd", "scalar.b2nd", "empty.b2nd", "sparse.b2nd", "vlmetalayers.b2nd"] {
        assert_eq!(check(data().join(name)).unwrap().findings, [], "{name}");
    }
    // An array of `blosc2.zeros` looks the same as one of a killed writer, so the warning is right.
    let findings = check(data().join("struct_long.b2nd")).unwrap().findings;
    assert_eq!(findings.iter().map(Finding::code).collect::<Vec<_>>(), [FindingCode::NoData]);
}

#[test]
fn a_frame_is_contiguous_or_sparse_by_its_header_and_not_by_the_name_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let (contiguous, sparse) = (file("int32_3x5.b2nd"), file("sparse.b2nd/chunks.b2frame"));
    let (index, other) = (folder.path().join("chunks.b2frame"), folder.path().join("array.b2nd"));
    let codes = |path: &Path| check(path).unwrap().findings.iter().map(Finding::code).collect::<Vec<_>>();
    for number in 0..4 {
        let name = format!("{number:08X}.chunk");
        fs::copy(data().join("sparse.b2nd").join(&name), folder.path().join(name)).unwrap();
    }

    fs::write(&index, &contiguous).unwrap();
    assert_eq!(codes(&index), []);
    assert_eq!(codes(folder.path()), [FindingCode::FrameType]);
    fs::write(&index, &sparse).unwrap();
    assert_eq!(codes(&index), []);
    assert_eq!(codes(folder.path()), []);
    fs::write(&other, &contiguous).unwrap();
    assert_eq!(codes(&other), []);
    fs::write(&other, &sparse).unwrap();
    assert_eq!(codes(&other), [FindingCode::FrameType]);
}

#[test]
fn what_is_found_names_the_place_and_the_numbers() {
    let mut lines = String::new();
    for (name, file, _) in cases() {
        let findings = match Frame::read_at(Cursor::new(file), 0) {
            Ok(mut frame) => findings(&mut frame),
            Err(error) => {
                writeln!(
                    lines,
                    "{name}\n    refused[{}] {error}",
                    error.finding().map(Finding::code).unwrap()
                )
                .unwrap();
                continue;
            }
        };
        writeln!(lines, "{name}").unwrap();
        for finding in findings {
            writeln!(lines, "    {}[{}] {finding}", finding.severity(), finding.code()).unwrap();
        }
    }
    crate::snapshot("findings", &lines);
}

#[test]
fn a_frame_that_changed_since_it_was_read_is_not_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("changing.b2nd");
    fs::write(&path, file("int32_3x5.b2nd")).unwrap();
    let mut frame = Frame::open(&path).unwrap();
    fs::write(&path, with(&[(124, &[4])])).unwrap();
    assert!(
        matches!(Check::default().run(&mut frame), Err(error) if error.kind() == ErrorKind::Changing && error.finding().is_none())
    );
    assert_eq!(check(&path).unwrap().findings, []);
}

#[test]
fn a_long_header_is_compared_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.b2frame");
    let mut bytes = frame_of(&[("long", &vec![0xc0; 200_000])], &[]);
    fs::write(&path, &bytes).unwrap();
    let mut frame = Frame::open(&path).unwrap();
    assert_eq!(findings(&mut frame), []);
    for at in [100_000, 200_000] {
        bytes[at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        assert_eq!(Check::default().run(&mut frame).unwrap_err().kind(), ErrorKind::Changing, "{at}");
        bytes[at] ^= 1;
    }
}

#[test]
fn the_last_value_that_is_right_has_no_finding() {
    // The largest parameter of a filter that python-blosc2 opens.
    let findings = |file| findings(&mut opened(file));
    assert_eq!(findings(with(&[(79, &[127])])), []);
    assert_eq!(findings(with(&[(79, &[128])]))[0].expected(), Some(127));
    // An array without items has the size of its future chunks, or -1.
    let chunksize = |chunksize: i32| changed(file("empty.b2nd"), &[(58, &chunksize.to_be_bytes())]);
    for (number, count) in [(-1, 0), (1, 1), (-2, 1)] {
        assert_eq!(findings(chunksize(number)).len(), count, "{number}");
    }
    // Every release reads 8 dimensions.
    let rank_8 = check(data().join("rank8.caterva")).unwrap().findings;
    assert!(rank_8.iter().all(|finding| finding.code() != FindingCode::HighRank), "{rank_8:?}");
}

#[test]
fn a_dtype_that_is_not_known_has_numbers_if_its_format_is_not() {
    let numbers = |changes: &[(usize, &[u8])]| {
        let findings = findings(&mut opened(with(changes)));
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        (finding.code(), finding.expected(), finding.found())
    };
    assert_eq!(numbers(&[(162, b"xyz")]), (FindingCode::UnknownDtype, None, None));
    assert_eq!(numbers(&[(156, &[1])]), (FindingCode::UnknownDtype, Some(0), Some(1)));
}

#[test]
fn metalayers_that_are_not_in_order_are_named_with_their_bytes() {
    let mut file = frame_of(&[("one", &[0xc0]), ("two", &[0xc0])], &[]);
    let header_len = Frame::parse(&file).unwrap().header().header_len;
    let (one, two) = (offset_field(&file, "one"), offset_field(&file, "two"));
    let offsets = [one, two].map(|at| file[at..at + 4].to_vec());
    file[one..one + 4].copy_from_slice(&offsets[1]);
    file[two..two + 4].copy_from_slice(&offsets[0]);
    let findings = Frame::parse(&file).unwrap().check_header().findings;
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    let (end, found) = (header_len - 12, header_len - 6);
    let says = format!("metalayer one begins at byte {found}, but the one before it ends at byte {end}");
    assert_eq!((finding.message(), finding.offset()), (&*says, Some(one as u64)));
    assert_eq!((finding.expected(), finding.found()), (Some(end as i128), Some(found as i128)));
}

#[test]
fn a_report_has_the_frame_whether_it_is_small_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.b2frame");
    fs::write(&path, frame_of(&[("long", &vec![0xc0; 4_000_000])], &[])).unwrap();
    for path in [path, data().join("int32_3x5.b2nd"), data().join("sparse.b2nd")] {
        let report = check(&path).unwrap();
        let (found, frame) = (report.frame.unwrap(), Frame::open(&path).unwrap());
        assert_eq!((found.header(), found.path()), (frame.header(), frame.path()));
    }
}

/// A writer that rewrites the same bytes still counts as a writer.
#[test]
fn a_frame_with_the_same_errors_that_is_written_in_every_check_is_changing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("changing.b2nd");
    fs::write(&path, with(&[(229 + 3, &[100])])).unwrap();
    let mut looks = 0;
    let check = Check::new(CheckDepth::ChunkHeaders).on_progress(|chunks| {
        if chunks == 4 {
            looks += 1;
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(3600 * looks);
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        }
        ControlFlow::Continue(())
    });
    let error = check.run_path(&path).unwrap_err();
    assert_eq!((error.kind(), looks), (ErrorKind::Changing, 20));
}

/// Replaces a file atomically, as a writer changes a number.
fn replace(path: &Path, bytes: &[u8]) {
    let new = path.with_extension("new");
    fs::write(&new, bytes).unwrap();
    let renamed = match fs::rename(new, path) {
        // Wine and Windows before 10 do not rename over a file that is open. Both have the same length, so a single write
        // of all bytes never leaves the file cut short.
        Err(_) if cfg!(windows) => {
            fs::File::options().write(true).open(path).and_then(|mut file| file.write_all(bytes))
        }
        renamed => renamed,
    };
    renamed.unwrap();
}

#[test]
fn a_frame_that_changes_in_every_check_is_changing_and_one_that_comes_to_rest_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("changing.b2nd");
    let (one, other) = (file("int32_3x5.b2nd"), with(&[(124, &[4])]));
    for (changes, is_changing) in [(usize::MAX, true), (3, false)] {
        let mut looks = 0;
        fs::write(&path, &one).unwrap();
        let check = Check::new(CheckDepth::ChunkHeaders).on_progress(|chunks| {
            if chunks == 1 {
                looks += 1;
                if looks <= changes {
                    // Into the same file, of which the check has read the header.
                    fs::write(&path, if looks % 2 == 0 { &one } else { &other }).unwrap();
                }
            }
            ControlFlow::Continue(())
        });
        let result = check.run_path(&path);
        if is_changing {
            let error = result.unwrap_err();
            assert_eq!((error.kind(), error.finding(), looks), (ErrorKind::Changing, None, 20));
        } else {
            assert_eq!((result.unwrap().findings, looks), (vec![], 4));
        }
    }
}

#[test]
fn errors_that_are_others_in_every_check_are_changing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("changing.b2nd");
    let broken = |looks: u8| with(&[(229 + 3, &[looks])]);
    fs::write(&path, broken(100)).unwrap();
    let mut looks = 0;
    let check = Check::new(CheckDepth::ChunkHeaders).on_progress(|chunks| {
        if chunks == 4 {
            looks += 1;
            replace(&path, &broken(100 + looks));
        }
        ControlFlow::Continue(())
    });
    let error = check.run_path(&path).unwrap_err();
    assert_eq!((error.kind(), looks), (ErrorKind::Changing, 20));
    assert_eq!(error.to_string(), "the frame is being changed, or has changed since it was read");
}

/// A sparse file of this length with these pieces; the rest is a hole.
fn sparse(path: &Path, length: u64, pieces: &[(u64, &[u8])]) {
    let mut file = fs::File::create(path).unwrap();
    file.set_len(length).unwrap();
    for &(at, bytes) in pieces {
        file.seek(SeekFrom::Start(at)).unwrap();
        file.write_all(bytes).unwrap();
    }
}

#[test]
fn a_length_that_is_only_claimed_makes_no_room() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("claims.b2nd");
    let length: u64 = 5 << 30;
    let header = with(&[(16, &length.to_be_bytes())])[..165].to_vec();

    let trailer = [&[0xce][..], &0xffff_fff0_u32.to_be_bytes(), &[0xd8], &[0; 17]].concat();
    sparse(&path, length, &[(0, &header), (length - 23, &trailer)]);
    let codes: Vec<FindingCode> = check(&path).unwrap().findings.iter().map(Finding::code).collect();
    assert!(codes.contains(&FindingCode::TooLong), "{codes:?}");
    let error = Frame::open(&path).unwrap().trailer().unwrap_err();
    let longest = 256 << 20;
    let said = format!("the trailer has {} bytes, but at most {longest} are read", 0xffff_fff0_u32);
    assert!(error.to_string().ends_with(&said), "{error}");

    sparse(&path, length, &[(0, &changed(header, &[(11, &MOST)]))]);
    let error = Frame::open(&path).unwrap_err();
    assert_eq!(error.finding().map(Finding::code), Some(FindingCode::TooLong));
    let said = format!("the header has {} bytes, but at most {} are read", i32::MAX, 64 << 20);
    assert!(error.to_string().ends_with(&said), "{error}");
    assert_eq!(check(&path).unwrap().findings[0].code(), FindingCode::TooLong);
}

#[test]
fn an_error_that_is_gone_when_the_file_is_looked_at_again_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("written.b2nd");
    let (sound, broken) = (file("int32_3x5.b2nd"), with(&[(37, &[96])]));
    let mut in_time = 0;
    // On a busy machine the write can be too late; such a round tests nothing, and is repeated.
    while in_time < 5 {
        replace(&path, &broken);
        thread::scope(|scope| {
            let start = Instant::now();
            let checked = scope.spawn(|| check(&path).unwrap().findings);
            thread::sleep(Duration::from_millis(3));
            replace(&path, &sound);
            // The second look comes 10 milliseconds after the first.
            let is_in_time = start.elapsed() < Duration::from_millis(10);
            let findings = checked.join().unwrap();
            assert!(!is_in_time || findings.is_empty(), "{findings:?}");
            in_time += usize::from(is_in_time);
        });
    }
    // Lasting damage is reported.
    replace(&path, &broken);
    assert_eq!(errors(&check(&path).unwrap().findings).first(), Some(&FindingCode::InterruptedResize));
}

#[test]
fn what_needs_nothing_has_no_remedy() {
    let needs_nothing = |code: &&FindingCode| code.advice().starts_with("Nothing.");
    assert!(FindingCode::ALL.iter().any(|code| needs_nothing(&code)));
    let mended: Vec<_> =
        FindingCode::ALL.iter().filter(needs_nothing).filter(|code| code.remedy().is_some()).collect();
    assert!(mended.is_empty(), "{mended:?}");
}
