//! `b2nd chunks`, and chunks in the output of `info` and `check --chunks`.

use std::fs;

use b2nd_frame::FrameBuilder;
use b2nd_serde::{Meta, Shapes};
use serde_json::Value;

use crate::json::of;
use crate::run::{folder, objects, run, screen, snapshot, text};
use b2nd_lab::{copy_tree, data};

/// The end of the last line that `check --data` prints if it has no findings.
const NO_CHECKSUMS: &str = "Blosc2 has no checksums, so not every change of the data is found";

#[test]
fn each_chunk_has_a_line() {
    let data = data();
    let list = |file: &str| screen(&run(&data, &["chunks", file]));
    let files = [
        "int32_3x5.b2nd",
        "sparse.b2nd",
        "peers/special_some.b2nd",
        "peers/special_full.b2nd",
        "peers/chunks_of_any_length.b2frame",
        "empty.b2nd",
        "rank8.caterva",
        "README.md",
    ];
    let lists: Vec<String> =
        files.iter().map(|file| format!("$ b2nd chunks {file}\n{}\n", list(file))).collect();
    snapshot("chunks", &lists.join("\n"));
}

#[test]
fn several_frames_have_their_address_above_their_chunks() {
    let folder = folder();
    fs::rename(folder.path().join("bad/resized.b2nd"), folder.path().join("resized.b2nd")).unwrap();
    fs::remove_dir_all(folder.path().join("bad")).unwrap();
    let arguments = ["chunks", "images/2024", "sparse.b2nd", "tree.b2z", "images/notes.txt", "none"];
    snapshot("chunks_of_several", &screen(&run(folder.path(), &arguments)));
    let output = run(folder.path(), &["chunks", "images/notes.txt"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
    // The output has no heading for a file that is the argument, but it has one for a file that was found in a folder.
    assert!(text(&run(folder.path(), &["chunks", "resized.b2nd"]).stdout).starts_with("chunk  "));
    let here = run(&folder.path().join("images/2024"), &["chunks", "--ext", "b2nd"]);
    assert!(text(&here.stdout).starts_with("a.b2nd:\nchunk  "), "{}", text(&here.stdout));
    assert_eq!(text(&run(&folder.path().join("images"), &["chunks", "x", "--ext", "b2z"]).stdout), "");

    let all = run(folder.path(), &["chunks", "--json"]);
    let frames = objects(&run(folder.path(), &["check", "--json"]));
    let mut lines = Vec::new();
    for frame in frames.iter().filter(|frame| !frame["container"].is_null()) {
        lines.extend(run(folder.path(), &["chunks", "--json", frame["address"].as_str().unwrap()]).stdout);
    }
    assert!(lines == all.stdout, "{}\ninstead of\n{}", text(&all.stdout), text(&lines));
    assert!(all.status.success());
}

#[test]
fn a_frame_of_many_chunks_is_listed_in_its_turn() {
    let folder = tempfile::tempdir().unwrap();
    let shapes = Shapes { shape: &[10_000], chunkshape: &[1], blockshape: &[1] };
    let mut writer =
        FrameBuilder::new(Meta::new(shapes, "<u2").unwrap()).create(folder.path().join("b.b2nd")).unwrap();
    for number in 0..10_000_u16 {
        writer.write_uncompressed(u64::from(number), &number.to_le_bytes()).unwrap();
    }
    writer.finish().unwrap().persist().unwrap();
    for name in ["a.b2nd", "c.b2nd"] {
        fs::copy(data().join("int32_3x5.b2nd"), folder.path().join(name)).unwrap();
    }
    let listed = |arguments: &[&str]| -> Vec<(String, u64)> {
        let objects = objects(&run(folder.path(), &[&["chunks", "--json"], arguments].concat()));
        let place =
            |chunk: &Value| (chunk["path"].as_str().unwrap().into(), chunk["chunk"].as_u64().unwrap());
        objects.iter().map(place).collect()
    };
    let of = |path: &str, count| (0..count).map(|chunk| (path.to_owned(), chunk)).collect::<Vec<_>>();
    let expected = [of("a.b2nd", 4), of("b.b2nd", 10_000), of("c.b2nd", 4)].concat();
    assert_eq!(listed(&[]), expected);
    let mut unordered = listed(&["--unordered"]);
    let changes = unordered.chunk_by(|(a, _), (b, _)| a == b).count();
    assert_eq!(changes, 3, "no frame is listed between the chunks of another one");
    unordered.sort();
    assert_eq!(unordered, expected);
    let output = run(folder.path(), &["chunks"]);
    let headings: Vec<_> = text(&output.stdout).lines().filter(|line| line.ends_with(':')).collect();
    assert_eq!(headings, ["a.b2nd:", "b.b2nd:", "c.b2nd:"]);
    assert_eq!(text(&output.stdout).lines().count(), 10_008 + 3 * 2 + 2);
}

#[test]
fn a_frame_without_chunks_says_so() {
    let data = data();
    let output = run(&data, &["chunks", "empty.b2nd"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "no chunks\n"));
    let output = run(&data, &["chunks", "empty.b2nd", "scalar.b2nd"]);
    assert!(text(&output.stdout).starts_with("empty.b2nd:\nno chunks\n\nscalar.b2nd:\nchunk "));
    assert_eq!(text(&run(&data, &["chunks", "--json", "empty.b2nd"]).stdout), "");
}

/// A zip file with these members, uncompressed. Its checksums are wrong, so it is only for tests that do not verify
/// them.
pub(crate) fn zip<'n>(members: impl IntoIterator<Item = (String, &'n [u8])>) -> Vec<u8> {
    let (mut zip, mut directory, mut count) = (Vec::new(), Vec::new(), 0_u16);
    for (name, bytes) in members {
        let length = u32::try_from(bytes.len()).unwrap().to_le_bytes();
        let name_len = u16::try_from(name.len()).unwrap().to_le_bytes();
        let start = u32::try_from(zip.len()).unwrap().to_le_bytes();
        let common =
            [&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &length, &length, &name_len, &[0; 2]].concat();
        zip.extend([b"PK\x03\x04", &*common, name.as_bytes(), bytes].concat());
        directory.extend([b"PK\x01\x02", &[20, 0][..], &common, &[0; 10], &start, name.as_bytes()].concat());
        count += 1;
    }
    let place = [directory.len(), zip.len()].map(|number| u32::try_from(number).unwrap().to_le_bytes());
    let count = count.to_le_bytes();
    zip.extend([&directory, &b"PK\x05\x06"[..], &[0; 4], &count, &count, &place.concat(), &[0; 2]].concat());
    zip
}

#[test]
fn members_of_a_zip_file_are_listed_in_their_turn_without_staying_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b.b2nd");
    let shapes = Shapes { shape: &[4100], chunkshape: &[1], blockshape: &[1] };
    let mut writer = FrameBuilder::new(Meta::new(shapes, "<u2").unwrap()).create(&path).unwrap();
    for number in 0..4100 {
        writer.write_uncompressed(number, &[0; 2]).unwrap();
    }
    writer.finish().unwrap().persist().unwrap();
    let large = fs::read(path).unwrap();
    let small = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let bytes = |number: u16| if number.is_multiple_of(2) { &*large } else { &*small };
    fs::write(folder.path().join("a.b2z"), zip((0..60).map(|n| (format!("{n:03}.b2nd"), bytes(n))))).unwrap();
    let expected: Vec<String> =
        (0..60).flat_map(|n| vec![format!("{n:03}.b2nd"); if n % 2 == 0 { 4100 } else { 4 }]).collect();
    let arguments = ["chunks", "--json", "a.b2z"];
    // The command may have 24 open files, and some are open from its start. So it cannot keep a file open for each of
    // the 30 large members.
    #[cfg(unix)]
    let mut command = crate::run::b2nd_under("ulimit -n 24", folder.path(), &arguments);
    #[cfg(not(unix))]
    let mut command = crate::run::b2nd(folder.path(), &arguments);
    let output = command.output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
    let member = |line: &str| line.split('"').skip_while(|&word| word != "member").nth(2).unwrap().to_owned();
    let members: Vec<String> = text(&output.stdout).lines().map(member).collect();
    assert!(members == expected, "in their order, and whole");
}

#[test]
fn a_chunk_says_how_it_is_compressed() {
    let chunk =
        |file: &str, number: usize| objects(&run(&data(), &["chunks", "--json", file])).remove(number);
    let fields = |chunk: Value| {
        ["typesize", "blocksize", "codec", "filters", "filters_meta"].map(|field| chunk[field].clone())
    };
    let compressed = fields(chunk("vlmetalayers.b2nd", 1));
    assert_eq!(Value::from(compressed.to_vec()), serde_json::json!([8, 16, "zstd", ["shuffle"], [0]]));
    let uncompressed = fields(chunk("int32_3x5.b2nd", 0));
    assert_eq!(Value::from(uncompressed.to_vec()), serde_json::json!([4, 8, null, null, null]));
    let zeros = fields(chunk("peers/special_zeros.b2nd", 0));
    assert!(zeros.iter().all(Value::is_null), "{zeros:?}");
}

#[test]
fn the_bytes_of_each_chunk_are_where_it_says() {
    let data = data();
    for file in ["int32_3x5.b2nd", "sparse.b2nd", "geometry/d3_f4_awkward.b2nd"] {
        let output = run(&data, &["chunks", "--json", file]);
        assert!(output.status.success());
        for chunk in objects(&output) {
            let number = |key: &str| usize::try_from(chunk[key].as_u64().unwrap()).unwrap();
            let bytes = fs::read(data.join(chunk["file"].as_str().unwrap())).unwrap();
            let bytes = &bytes[number("offset")..][..number("cbytes")];
            let size = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
            assert_eq!((size(4), size(12)), (number("nbytes"), number("cbytes")), "{chunk}");
        }
    }
    // For a frame at an offset of a zip file, offsets of chunks count from the start of that file.
    let members = objects(&run(&data, &["ls", "--json", "tree.b2z"]));
    let member = members.iter().find(|member| member["offset"].is_u64()).unwrap();
    let output = run(&data, &["chunks", "--json", &format!("tree.b2z@{}", member["offset"])]);
    let start = member["header_len"].as_u64().unwrap() + member["offset"].as_u64().unwrap();
    let offsets: Vec<u64> = objects(&output).iter().filter_map(|chunk| chunk["offset"].as_u64()).collect();
    assert_eq!(offsets.iter().min().copied().unwrap_or(start), start);
}

#[test]
fn a_chunk_that_is_missing_or_damaged_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse.b2nd");
    copy_tree(&data().join("sparse.b2nd"), &path);
    fs::remove_file(path.join("00000001.chunk")).unwrap();
    fs::write(path.join("00000002.chunk"), [0; 80]).unwrap();
    let output = run(folder.path(), &["chunks", "--json", "sparse.b2nd"]);
    assert_eq!(output.status.code(), Some(1));
    let kinds: Vec<_> = objects(&output).iter().map(|chunk| chunk["kind"].clone()).collect();
    assert_eq!(kinds, ["stored", "missing", "damaged", "stored"]);

    let damaged = run(folder.path(), &["chunks", "--json", "--damaged", "sparse.b2nd"]);
    let kinds: Vec<_> = objects(&damaged).iter().map(|chunk| chunk["kind"].clone()).collect();
    assert_eq!((kinds, damaged.status.code()), (vec!["missing".into(), "damaged".into()], Some(1)));
    fs::copy(data().join("int32_3x5.b2nd"), folder.path().join("a.b2nd")).unwrap();
    let damaged = run(folder.path(), &["chunks", "--damaged"]);
    // With --damaged, a frame without damage has no heading.
    let lines: Vec<&str> =
        text(&damaged.stdout).lines().map(|line| line.split("  ").next().unwrap()).collect();
    assert_eq!(lines[..2], ["sparse.b2nd:", "chunk"], "{lines:?}");
    assert_eq!(lines.len(), 4, "{lines:?}");
    let says = "b2nd: 2 of 8 chunks with a damaged header, or missing";
    assert_eq!(text(&damaged.stderr).lines().last(), Some(says));
    let whole = run(folder.path(), &["chunks", "--damaged", "a.b2nd"]);
    assert_eq!(
        (text(&whole.stdout), text(&whole.stderr), whole.status.code()),
        ("", "b2nd: 0 of 4 chunks with a damaged header, or missing\n", Some(0))
    );
}

#[test]
fn one_chunk_is_dumped_alone() {
    let all = run(&data(), &["dump", "--chunks", "int32_3x5.b2nd"]);
    let one = run(&data(), &["dump", "--chunk", "3", "int32_3x5.b2nd"]);
    let rows = text(&one.stdout);
    let first: Vec<&str> = rows.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(first, ["357", "chunk", "3", "byte", "357"]);
    assert!(text(&all.stdout).contains(rows), "{rows}");
    let none = run(&data(), &["dump", "--chunk", "4", "int32_3x5.b2nd"]);
    assert_eq!(
        (text(&none.stdout), text(&none.stderr), none.status.code()),
        ("", "b2nd: int32_3x5.b2nd: there is no chunk 4: the frame has 4 chunks\n", Some(1))
    );
    let metalayer = run(&data(), &["dump", "--chunk", "0", "--hex", "97 00 01"]);
    assert_eq!(metalayer.status.code(), Some(1));
    assert_eq!(run(&data(), &["dump", "--chunk", "0", "--chunks", "int32_3x5.b2nd"]).status.code(), Some(2));
}

#[test]
fn a_damaged_chunk_is_found_with_its_header() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    file[229 + 15] = 0x40;
    fs::write(folder.path().join("a.b2nd"), file).unwrap();
    assert!(run(folder.path(), &["check", "a.b2nd"]).status.success());
    let output = run(folder.path(), &["check", "--chunks", "a.b2nd"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        text(&output.stdout),
        "a.b2nd: error: chunk-header: byte 229 of the frame: chunk 1 has 1073741888 bytes, but at most 192 are left \
         for it\na.b2nd: to mend it: b2nd salvage a.b2nd a.salvaged.b2nd  # --dry-run shows what is lost\n"
    );
    let object = objects(&run(folder.path(), &["check", "--chunks", "--json", "a.b2nd"])).remove(0);
    assert_eq!((&object["findings"][0]["chunk"], object.get("unchecked")), (&1.into(), None));
}

#[test]
fn a_chunk_whose_header_does_not_fit_the_frame_is_listed_as_damaged_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let whole = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    // Chunk 1 begins at byte 229. Each case changes one byte of its header: in typesize, nbytes, blocksize or cbytes.
    for (at, byte, why) in [
        (3, 8, "has items of 8 bytes, but must have 4"),
        (4, 31, "has 31 bytes of data, but must have 32"),
        (8, 4, "has blocks of 4 bytes, but must have 8"),
        (15, 0x40, "has 1073741888 bytes, but at most 192 are left for it"),
    ] {
        let mut file = whole.clone();
        file[229 + at] = byte;
        fs::write(folder.path().join("a.b2nd"), file).unwrap();
        let output = run(folder.path(), &["chunks", "a.b2nd"]);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(text(&output.stderr), format!("b2nd: a.b2nd: byte 229 of the frame: chunk 1 {why}\n"));
        let line = text(&output.stdout).lines().nth(2).unwrap();
        assert_eq!(line.trim_end(), "    1  (0, 1)         229       -      32  damaged");
        assert_eq!(text(&output.stdout).lines().count(), 5, "the others are listed");
        let objects = objects(&run(folder.path(), &["chunks", "--json", "a.b2nd"]));
        assert!(of("chunk").is_valid(&objects[1]), "{}", objects[1]);
        assert_eq!(objects[1]["error"]["message"], format!("chunk 1 {why}"));
        assert_eq!(objects[1]["cbytes"], Value::Null);
    }
}

#[test]
fn data_that_cannot_be_decompressed_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let file = fs::read(data().join("peers/hole_at_end.b2frame")).unwrap();
    let mut damaged = file.clone();
    // The second chunk begins at byte 249. The stored length of its first stream is 36 bytes later. This length is 100,
    // as many bytes as the stream has after decompression. So the stream is not compressed.
    assert_eq!(damaged[249 + 36], 100);
    damaged[249 + 36] = 96;
    fs::write(folder.path().join("a.b2frame"), damaged).unwrap();
    assert!(run(folder.path(), &["check", "--chunks", "a.b2frame"]).status.success());
    snapshot("check_data", &screen(&run(folder.path(), &["check", "--data"])));

    // The flags of the first chunk now say that byte 22 is the number of the codec. Codec number 33 is a plugin.
    let mut other = file;
    other[97 + 2] = other[97 + 2] & 0x1f | 0xc0;
    other[97 + 22] = 33;
    fs::write(folder.path().join("a.b2frame"), &other).unwrap();
    let says = "1 chunk not decompressed: chunk 0 has zfp_acc, a codec that this crate cannot decompress";
    let output = run(folder.path(), &["check", "--data", "--ignore", "unowned-bytes"]);
    assert!(output.status.success());
    assert_eq!(
        text(&output.stderr),
        format!(
            "b2nd: a.b2frame: {says}\nb2nd: 1 frame, 1 not checked in full; 1 finding ignored; {NO_CHECKSUMS}\n"
        )
    );
    let output = run(folder.path(), &["check", "--data", "--json"]);
    let why = "chunk 0 has zfp_acc, a codec that this crate cannot decompress";
    assert_eq!(
        objects(&output)[0]["unchecked"],
        serde_json::json!([{ "what": "data", "chunks": 1, "why": why }])
    );
    assert!(of("frame").is_valid(&objects(&output)[0]));
    fs::write(folder.path().join("b.b2frame"), &other).unwrap();
    let output = run(folder.path(), &["check", "--data", "--ignore", "unowned-bytes"]);
    let first = text(&output.stderr).lines().next().unwrap();
    assert_eq!(first, format!("b2nd: 2 frames were not checked in full; for example a.b2frame: {says}"));
}

#[test]
fn chunks_of_any_length_are_counted() {
    let output = run(&data(), &["info", "peers/object_array.b2frame"]);
    assert!(
        text(&output.stdout).contains("\nnchunks : 4 chunks of any length\n"),
        "{}",
        text(&output.stdout)
    );
    let objects = objects(&run(&data(), &["info", "--json", "peers/object_array.b2frame"]));
    assert_eq!(objects[0]["nchunks"], 4);
}
