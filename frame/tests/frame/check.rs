//! A check finds every kind of damage under its own code, and nothing in intact frames.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::frames::{
    MOST, ZEROS, changed, damage, file, index_damage, lost_typesize, oddities, with, with_array,
    with_items_of, with_metalayers,
};
#[cfg(target_os = "linux")]
use crate::reads;
use crate::{findings, index_start, opened};
use b2nd_frame::{
    Check, CheckDepth, ErrorKind, Finding, FindingCode, Frame, Place, Rewrite, Salvage, Severity, check,
};
use b2nd_lab::{corpus, data, frame_of, offset_field};

fn errors(findings: &[Finding]) -> Vec<FindingCode> {
    findings.iter().filter(|finding| finding.severity() == Severity::Error).map(Finding::code).collect()
}

fn is_sendable<T: Send>() {}

#[test]
fn the_work_on_a_frame_can_be_sent_to_another_thread() {
    is_sendable::<Check<'_>>();
    is_sendable::<Rewrite<'_>>();
    is_sendable::<Salvage<'_>>();
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
                findings(&Frame::read_at(file, offset).unwrap())
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
        // The manifest says which frames have an unusual layout or an old generation. The check must report these
        // properties for exactly these frames.
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

/// The name and the bytes of each damaged file, and the code of its finding.
fn cases() -> impl Iterator<Item = (&'static str, Vec<u8>, FindingCode)> {
    damage().into_iter().chain(oddities()).chain(index_damage())
}

#[test]
fn one_chunk_is_not_said_to_be_several() {
    // In the first file, nbytes is the size of only one of the four chunks. In the second file, the shape needs only
    // one chunk, but nbytes is the size of four chunks.
    let mut bytes = file("int32_3x5.b2nd");
    bytes[37] = 32;
    let says = |bytes, text: &str| {
        let findings = findings(&opened(bytes));
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
    // A split block has one stream for each byte of an item. The damaged header claims items of 7 bytes, but a block of
    // 1003 bytes cannot be split into 7 equal streams.
    file[layer + 2] &= !0x10;
    file[layer + 3] = 7;
    let findings = findings(&opened(file));
    assert_eq!(
        findings[0].message(),
        "the chunk of vlmetalayer note has blocks of 1003 bytes, which cannot be split into 7 streams of equal length"
    );
}

#[test]
fn an_index_with_the_filter_of_a_plugin_is_found() {
    for filter in [32, 128, 255] {
        let mut file = file("int32_3x5.b2nd");
        let index = index_start(&file);
        // The index claims to be compressed, with this filter.
        file[index + 2] &= !2;
        file[index + 16] = filter;
        let findings = findings(&opened(file));
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
    let findings = findings(&opened(bytes));
    let text = "only the first of 4 chunks is stored, and none from grid coordinate [0, 1] on";
    assert_eq!(
        (findings.len(), findings[0].code(), findings[0].message()),
        (1, FindingCode::NeverWritten, text)
    );
}

#[test]
fn a_typesize_is_lost_only_where_all_else_shows_another() {
    let codes = |file: Vec<u8>| {
        let findings = findings(&opened(file));
        findings.iter().map(Finding::code).collect::<Vec<_>>()
    };
    assert_eq!(codes(with_items_of(1024, b"<U256", 1024)), []);
    assert_eq!(codes(lost_typesize()), [FindingCode::LostTypesize]);
    assert_eq!(codes(with_items_of(256, b"|S256", 1)), [FindingCode::LostTypesize]);
    // These item sizes are at most 255, so they fit into the one byte that a chunk header has for the typesize.
    // C-Blosc2 loses only larger item sizes.
    for (size, dtype) in [(255, &b"|S255"[..]), (4, b"<i4")] {
        let found = codes(with_items_of(size, dtype, 1));
        assert_eq!(
            found,
            [FindingCode::ChunksizeMismatch, FindingCode::Sizes, FindingCode::DtypeMismatch],
            "{size}"
        );
    }
    // If C-Blosc2 loses a type size, it writes 1. So a wrong type size of 2 is another fault.
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
    // If a frame has no array metalayer, the name of this metalayer may be damaged. So a user's metalayer is reported
    // if its content describes an array that fits the sizes of the frame. Content with a shape that does not fit, or
    // with more bytes after the last entry, is not reported.
    let content = &sound[112..165];
    let shorter = [&content[..12], &[2], &content[13..]].concat();
    let longer = [content, b"x"].concat();
    for (content, count) in [(content, 1), (&shorter, 0), (&longer, 0), (b"\x97\x00", 0), (b"", 0)] {
        let frame = Frame::parse(&with_metalayers(&[("mine", content)])).unwrap();
        assert_eq!(frame.check_header().findings.len(), count, "{content:02x?}");
    }
    // If the frame has an array, another metalayer with the same content is not reported.
    let frame = Frame::parse(&with_metalayers(&[("mine", content), ("b2nd", content)])).unwrap();
    assert_eq!(frame.check_header().findings, []);
}

/// Version 1 of the metalayer exists only as a sketch in the specification of C-Blosc2. It has array16 markers and up
/// to 32 dimensions.
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
    for (name, file, code) in damage() {
        let path = folder.path().join("bad.b2nd");
        fs::write(&path, file).unwrap();
        let findings = check(&path).unwrap().findings;
        let found = errors(&findings);
        assert_eq!(found.first(), Some(&code), "{name}: {findings:?}");
        assert!(findings.iter().all(|finding| !finding.to_string().is_empty()));

        // `open` returns an error in the header. `array` returns an error in the array's metalayer.
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
    // No file above has these codes. Other tests cover the codes of zip files, directories and chunks. A test below
    // covers `TooLong`, with a header of 64 MiB. The command `b2nd` checks tables, which consist of many frames, so the
    // tests of the command cover the codes of tables.
    all.extend([
        FindingCode::DamagedZip,
        FindingCode::TooLong,
        FindingCode::Salvaged,
        FindingCode::ChunkFile,
        FindingCode::ChunkHeader,
        FindingCode::ChunkData,
        FindingCode::ChunkDictionary,
        FindingCode::ChunkFilters,
        FindingCode::ChunkOverlap,
        FindingCode::LostPage,
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
        let report = Check::new(depth).run(&opened(file)).unwrap();
        let messages: Vec<String> =
            report.findings.iter().map(|finding| finding.message().to_owned()).collect();
        for finding in &report.findings {
            // A value that is not MessagePack may come from another program, so such a finding is only a warning.
            let is_foreign = finding.message().contains("MessagePack");
            let code = if is_foreign { FindingCode::VlmetalayerValue } else { FindingCode::VlmetalayerChunk };
            let severity = if is_foreign { Severity::Warning } else { Severity::Error };
            assert_eq!((finding.code(), finding.severity()), (code, severity), "{finding}");
        }
        assert_eq!(report.skipped.is_empty(), cfg!(feature = "decompress") || depth < CheckDepth::ChunkData);
        messages
    };
    assert_eq!(check(&sound, CheckDepth::ChunkData), [""; 0]);
    // The value of the first vlmetalayer is a MessagePack text: the marker 0xa6 and six characters.
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
    // The value of the second vlmetalayer is compressed. The header of its chunk has 32 bytes. The table of one block
    // and the length of the only stream follow, each of 4 bytes. The next byte is the first of the stream.
    if cfg!(feature = "decompress") {
        let file = changed(sound.clone(), &[(long + 36 + 4, &[0])]);
        let found = check(&file, CheckDepth::ChunkData);
        assert!(found.len() == 1 && found[0].contains(" cannot be decompressed: "), "{found:?}");
    }
}

#[test]
fn a_finding_is_serialized_as_the_command_prints_it() {
    let findings = Frame::read_at(with(&[(37, &[96])]), 0).unwrap().check_header().findings;
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
    // An empty list of metalayers has three bytes.
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
    // This array was made by `blosc2.zeros`. Its file looks like the file of a writer that was killed, so the check
    // warns about it too.
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
        let findings = match Frame::read_at(file, 0) {
            Ok(frame) => findings(&frame),
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
    let frame = Frame::open(&path).unwrap();
    fs::write(&path, with(&[(124, &[4])])).unwrap();
    assert!(
        matches!(Check::default().run(&frame), Err(error) if error.kind() == ErrorKind::Changing && error.finding().is_none())
    );
    assert_eq!(check(&path).unwrap().findings, []);
}

#[test]
fn a_long_header_is_compared_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.b2frame");
    let mut bytes = frame_of(&[("long", &vec![0xc0; 200_000])], &[]);
    fs::write(&path, &bytes).unwrap();
    let frame = Frame::open(&path).unwrap();
    assert_eq!(findings(&frame), []);
    for at in [100_000, 200_000] {
        bytes[at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        assert_eq!(Check::default().run(&frame).unwrap_err().kind(), ErrorKind::Changing, "{at}");
        bytes[at] ^= 1;
    }
}

#[test]
fn the_last_value_that_is_right_has_no_finding() {
    // 127 is the largest filter parameter with which python-blosc2 opens a frame.
    let findings = |file| findings(&opened(file));
    assert_eq!(findings(with(&[(79, &[127])])), []);
    assert_eq!(findings(with(&[(79, &[128])]))[0].expected(), Some(127));
    // In an array without items, chunksize must be -1, or the size that the chunks will have when the array grows.
    let chunksize = |chunksize: i32| changed(file("empty.b2nd"), &[(58, &chunksize.to_be_bytes())]);
    for (number, count) in [(-1, 0), (1, 1), (-2, 1)] {
        assert_eq!(findings(chunksize(number)).len(), count, "{number}");
    }
    // All releases of C-Blosc2 read 8 dimensions, so there is no finding about them.
    let rank_8 = check(data().join("rank8.caterva")).unwrap().findings;
    assert!(rank_8.iter().all(|finding| finding.code() != FindingCode::HighRank), "{rank_8:?}");
}

#[test]
fn a_dtype_that_is_not_known_has_numbers_if_its_format_is_not() {
    let numbers = |changes: &[(usize, &[u8])]| {
        let findings = findings(&opened(with(changes)));
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

/// The file gets a new modification time in every check. So the check sees that a program writes to it, even if the
/// bytes are the same.
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
            File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        }
        ControlFlow::Continue(())
    });
    let error = check.run_path(&path).unwrap_err();
    assert_eq!((error.kind(), looks), (ErrorKind::Changing, 20));
}

/// Replaces a file atomically, so that no reader sees a part of the new bytes.
fn replace(path: &Path, bytes: &[u8]) {
    let new = path.with_extension("new");
    fs::write(&new, bytes).unwrap();
    let renamed = match fs::rename(new, path) {
        // Wine and Windows before 10 do not rename over an open file. The old and the new file have the same length, so
        // a single write of all bytes never leaves the file cut short.
        Err(_) if cfg!(windows) => {
            File::options().write(true).open(path).and_then(|mut file| file.write_all(bytes))
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
                    // The check has read the header. Now the file is overwritten in place.
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

/// Creates a sparse file of this length: writes each piece at its offset, and leaves holes between the pieces.
fn sparse(path: &Path, length: u64, pieces: &[(u64, &[u8])]) {
    let mut file = File::create(path).unwrap();
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
    // After an error, the check reads the file again 10 milliseconds later. Each round writes the undamaged file after
    // 3 milliseconds, in time for the second read. But on a busy machine, this file can be written too late. Such a
    // round tests nothing, and is repeated.
    while in_time < 5 {
        replace(&path, &broken);
        thread::scope(|scope| {
            let start = Instant::now();
            let checked = scope.spawn(|| check(&path).unwrap().findings);
            thread::sleep(Duration::from_millis(3));
            replace(&path, &sound);
            // If the undamaged file was written in time, the check must find no error.
            let is_in_time = start.elapsed() < Duration::from_millis(10);
            let findings = checked.join().unwrap();
            assert!(!is_in_time || findings.is_empty(), "{findings:?}");
            in_time += usize::from(is_in_time);
        });
    }
    // If the damaged file stays, the check reports its error.
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

/// Such a header made the check read beyond the frame, as if the file had become shorter.
#[test]
fn run_path_never_takes_a_damaged_header_for_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.b2nd");
    let file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let (nbytes, cbytes) = (30, 39);
    for values in [[-1_i64, 1 << 32], [60, 1 << 32], [-1, 256]] {
        for after in [0, 11] {
            let mut file = file.clone();
            for (at, value) in [nbytes, cbytes].into_iter().zip(values) {
                file[at..at + 8].copy_from_slice(&value.to_be_bytes());
            }
            file.extend(vec![1; after]);
            fs::write(&path, file).unwrap();
            let long_ago = SystemTime::now() - Duration::from_secs(3600);
            File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
            for depth in [CheckDepth::Frame, CheckDepth::ChunkHeaders, CheckDepth::ChunkData] {
                let found = Check::new(depth).run_path(&path).unwrap().findings;
                assert!(!errors(&found).is_empty(), "{values:?}");
            }
        }
    }
}
