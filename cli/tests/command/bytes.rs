//! `b2nd dump`, `encode` and `decode`: metalayers as bytes, and back.

use std::fs;

use crate::json::of;
use crate::run::{folder, objects, run, run_with, screen, snapshot, text};
use b2nd_lab::{copy_tree, corpus, data, root, unhex};
use b2nd_serde::Layout;
use b2nd_serde::{Meta, Shapes, to_vec};

/// The arguments that encode the worked example in the draft specification of B2ND.
const EXAMPLE: [&str; 9] =
    ["encode", "--shape", "3,5", "--chunks", "2,3", "--blocks", "1,2", "--dtype", "<i4"];
const EXAMPLE_HEX: &str = "97000292d30000000000000003d3000000000000000592d200000002d20000000392d200000001d200000002\
    00db000000033c6934";

#[test]
fn a_header_byte_by_byte() {
    snapshot("dump_int32_3x5", text(&run(&data(), &["dump", "int32_3x5.b2nd"]).stdout));
    snapshot("dump_squeezed", text(&run(&data(), &["dump", "squeezed.caterva"]).stdout));
    snapshot("dump_vlmetalayers", text(&run(&data(), &["dump", "vlmetalayers.b2nd"]).stdout));
    let old = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    // An old kind of header, the second generation: it has no field blocksize.
    let old = [&[0x9d], &old[1..14], &[160], &old[15..52], &old[57..99], &[0xd2, 0, 0, 0, 102], &old[104..]]
        .concat();
    snapshot("dump_older", text(&run_with(&old, root(), &["dump"]).stdout));
}

#[test]
fn bad_bytes_are_marked() {
    let folder = folder();
    let mut screens = Vec::new();
    for file in ["bad/cut.b2nd", "bad/marker.b2nd", "bad/zeroed.b2nd", "bad/empty.b2nd", "images/notes.txt"] {
        let output = run(folder.path(), &["dump", file]);
        let lines: Vec<&str> = text(&output.stdout).lines().chain(text(&output.stderr).lines()).collect();
        let last = lines.len().saturating_sub(4);
        let status = output.status.code().unwrap();
        screens.push(format!("{file}: status {status}\n{}\n", lines[last..].join("\n")));
    }
    let good = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    for (at, byte) in [
        (0, 0x9f),
        (10, 0xd3),
        (11, 0x7f),
        (57, 0xc3),
        (68, 1),
        (87, 0x92),
        (92, 0xff),
        (100, 0x7f),
        (107, 0xc5),
        (108, 0x7f),
        (113, 0x80),
        (163, 0xff),
    ] {
        let mut bad = good.clone();
        bad[at] = byte;
        let output = run_with(&bad[..165], root(), &["dump"]);
        let lines: Vec<&str> = text(&output.stdout).lines().collect();
        let last = lines.len().saturating_sub(3);
        let status = output.status.code().unwrap();
        screens.push(format!("byte {at} = {byte:02x}: status {status}\n{}\n", lines[last..].join("\n")));
        assert_eq!(text(&output.stdout).matches("^^").count(), 1, "{}", text(&output.stdout));
    }
    let cut = run_with(&good[..120], root(), &["dump"]);
    assert_eq!(cut.status.code(), Some(1));
    snapshot("dump_of_bad_headers", &screens.concat());
}

#[test]
fn every_byte_of_a_header_is_shown_once() {
    for file in ["int32_3x5.b2nd", "rank16.b2nd", "squeezed.caterva", "vlmetalayers.b2nd", "struct_long.b2nd"]
    {
        let bytes = fs::read(data().join(file)).unwrap();
        let dump = &objects(&run(&data(), &["dump", "--json", file]))[0];
        let mut shown = Vec::new();
        for value in dump["values"].as_array().unwrap() {
            assert_eq!(value["offset"], shown.len(), "{file}");
            shown.extend(unhex(value["hex"].as_str().unwrap()));
        }
        let header_len = u32::from_be_bytes(bytes[11..15].try_into().unwrap()) as usize;
        assert_eq!(shown, bytes[..header_len], "{file}");
    }
}

#[test]
fn every_header_of_the_corpus_is_understood() {
    let Some((folder, entries)) = corpus() else { return };
    for entry in entries {
        let file = entry["metadata_file"].as_str().unwrap();
        let file = match entry["frame_offset"].as_u64() {
            Some(offset) => format!("{file}@{offset}"),
            None => file.to_owned(),
        };
        let output = run(&folder, &["dump", &file]);
        assert_eq!(output.status.code(), Some(0), "{file}: {}", text(&output.stdout));
    }
}

#[test]
fn no_bytes_are_too_bad_for_a_dump() {
    let good = fs::read(data().join("vlmetalayers.b2nd")).unwrap();
    for at in 0..182 {
        for byte in [0, 0x7f, 0x80, 0xff] {
            let mut bad = good[..182].to_vec();
            bad[at] = byte;
            let dump = b2nd_frame::dump_header(&bad).to_string();
            assert!(!dump.is_empty(), "{at} {byte}");
            let cut = b2nd_frame::dump_header(&bad[..at]).to_string();
            assert!(cut.matches("^^").count() == 1, "{at} {byte}: {cut}");
        }
    }
}

#[test]
fn a_metalayer_comes_as_digits_or_as_it_is() {
    let bytes = unhex(EXAMPLE_HEX);
    let expected = b2nd_serde::dump::metalayer(&bytes).to_string();
    let spaced = EXAMPLE_HEX.as_bytes().chunks(2).map(|pair| text(pair).to_owned() + " ").collect::<String>();
    let upper = EXAMPLE_HEX.to_uppercase();
    for digits in [EXAMPLE_HEX, &spaced, &upper] {
        assert_eq!(text(&run(root(), &["dump", "--hex", digits]).stdout), expected, "{digits}");
        assert_eq!(text(&run_with(digits.as_bytes(), root(), &["dump"]).stdout), expected, "{digits}");
    }
    assert_eq!(text(&run_with(&bytes, root(), &["dump"]).stdout), expected);
    assert_eq!(text(&run_with(&bytes, root(), &["dump", "-"]).stdout), expected);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("bytes"), &bytes).unwrap();
    assert_eq!(text(&run(folder.path(), &["dump", "bytes"]).stdout), expected);
}

#[test]
fn text_that_does_not_describe_bytes_is_an_error() {
    for (given, expected) in [
        ("97 00 1", "the number of digits is odd, but a byte has two"),
        ("hello world", "'h' is not a hexadecimal digit"),
    ] {
        for command in ["dump", "decode"] {
            let output = run_with(given.as_bytes(), root(), &[command]);
            assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""), "{given}");
            let complaint = "not a frame, a metalayer, or hexadecimal digits";
            assert!(
                text(&output.stderr).contains(&format!("{complaint}: {expected}")),
                "{}",
                text(&output.stderr)
            );
        }
    }
}

#[test]
fn a_frame_inside_another_file_is_dumped_at_its_offset() {
    let output = run(&data(), &["dump", "tree.b2z@46"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("shape[1]"));
    let after = run(&data(), &["dump", "int32_3x5.b2nd@5000"]);
    let message = "b2nd: int32_3x5.b2nd@5000: nothing at offset 5000: the file has 520 bytes\n";
    assert_eq!((after.status.code(), text(&after.stderr)), (Some(1), message));
    let sparse = run(&data(), &["dump", "sparse.b2nd"]);
    assert!(text(&sparse.stdout).contains("sframe"));
}

#[test]
fn the_rest_of_a_frame_byte_by_byte() {
    let rest = |arguments: &[&str]| {
        let output = run(&data(), &[&["dump"], arguments].concat());
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{arguments:?}");
        text(&output.stdout).to_owned()
    };
    let header = rest(&["vlmetalayers.b2nd"]);
    let all = rest(&["vlmetalayers.b2nd", "--chunks", "--trailer"]);
    snapshot("dump_rest", all.strip_prefix(&header).unwrap());
    let (chunks, trailer) =
        (rest(&["--chunks", "vlmetalayers.b2nd"]), rest(&["--trailer", "vlmetalayers.b2nd"]));
    assert_eq!(all, chunks + trailer.strip_prefix(&header).unwrap());

    let sparse = rest(&["--chunks", "sparse.b2nd"]);
    assert!(sparse.contains("chunk 3        in 00000003.chunk\n"), "{sparse}");
    let bytes = fs::read(data().join("vlmetalayers.b2nd")).unwrap();
    let piped = run_with(&bytes, root(), &["dump", "--chunks", "--trailer"]);
    assert_eq!(text(&piped.stdout), all, "as bytes");
    let member = rest(&["--chunks", "--trailer", "tree.b2z@46"]);
    assert!(member.contains("fingerprint"), "{member}");
}

#[test]
fn a_bad_chunk_hides_neither_the_others_nor_the_trailer() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    // In the headers of the first two chunks, cbytes becomes smaller than the header itself.
    (file[165 + 12], file[229 + 12]) = (1, 1);
    fs::write(folder.path().join("a.b2nd"), file).unwrap();
    let path = folder.path().join("sparse.b2nd");
    copy_tree(&data().join("sparse.b2nd"), &path);
    fs::remove_file(path.join("00000001.chunk")).unwrap();
    for (name, faults) in [
        (
            "a.b2nd",
            &[
                "chunk 0 should begin here, but these bytes are not the header of a chunk",
                "chunk 1 should begin here, but these bytes are not the header of a chunk",
            ][..],
        ),
        ("sparse.b2nd", &["chunk 1 should be in 00000001.chunk, which is missing"]),
    ] {
        let output = run(folder.path(), &["dump", "--chunks", "--trailer", name]);
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), ""));
        let shown = text(&output.stdout);
        for fault in faults {
            assert!(shown.contains(&format!("^^ {fault}\n")), "{shown}");
        }
        assert!(["chunk 2 ", "chunk 3 ", "chunk index", "trailer"].iter().all(|part| shown.contains(part)));
        let json = run(folder.path(), &["dump", "--json", "--chunks", "--trailer", name]);
        let object = &objects(&json)[0];
        assert!(of("dump").is_valid(object), "{object}");
        assert_eq!((json.status.code(), &object["error"]["message"]), (Some(1), &faults[0].into()));
        let found: Vec<_> =
            object["values"].as_array().unwrap().iter().filter_map(|row| row["fault"].as_str()).collect();
        assert_eq!(found, faults);
    }
}

#[test]
fn what_follows_a_bad_header_is_not_shown() {
    let folder = folder();
    let output = run(folder.path(), &["dump", "--chunks", "--trailer", "bad/marker.b2nd"]);
    let last = "^^ expected int64 (0xd3) for shape[0], found int32 (0xd2)\n";
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), ""));
    assert!(text(&output.stdout).ends_with(last), "{}", text(&output.stdout));
    let cut = run(folder.path(), &["dump", "--trailer", "bad/cut.b2nd"]);
    assert_eq!(cut.status.code(), Some(1));
    assert!(text(&cut.stdout).contains("shape[1]") && text(&cut.stderr).contains("cut short"));
    let metalayer = run(root(), &["dump", "--trailer", "--hex", EXAMPLE_HEX]);
    assert_eq!(metalayer.status.code(), Some(1));
    assert!(text(&metalayer.stdout).contains("shape[1]"));
    assert_eq!(text(&metalayer.stderr), "b2nd: a metalayer by itself has no chunks and no trailer\n");
    let json = &objects(&run(folder.path(), &["dump", "--json", "--trailer", "bad/cut.b2nd"]))[0];
    assert!(json["values"].as_array().unwrap().len() > 30 && json["error"]["kind"] == "truncated", "{json}");
}

#[test]
fn encode_gives_the_bytes_of_the_draft_specification() {
    let output = run(root(), &EXAMPLE);
    assert_eq!(text(&output.stdout), format!("{EXAMPLE_HEX}\n"));
    let raw = run(root(), &[&EXAMPLE[..], &["--raw"]].concat());
    assert_eq!(raw.stdout, unhex(EXAMPLE_HEX));
    let tuples = ["encode", "--shape", "(3, 5)", "--chunks", "[2, 3]", "--blocks", "1, 2", "--dtype", "<i4"];
    assert_eq!(run(root(), &tuples).stdout, output.stdout);
    let crosses = ["encode", "--shape", "3x5", "--chunks", "2 x 3", "--blocks", "1x2", "--dtype", "<i4"];
    assert_eq!(run(root(), &crosses).stdout, output.stdout);
    let scalar =
        run(root(), &["encode", "--shape", "()", "--chunks", "()", "--blocks", "", "--dtype", "|u1"]);
    let expected =
        to_vec(&Meta::new(Shapes { shape: &[], chunkshape: &[], blockshape: &[] }, "|u1").unwrap()).unwrap();
    assert_eq!(unhex(text(&scalar.stdout).trim()), expected);
}

#[test]
fn encode_says_why_shapes_do_not_work_together() {
    let cases = [
        ["400,3", "110", "57,3", "|u1"],
        ["400,3", "0,3", "57,3", "|u1"],
        ["400,3", "110,3", "0,3", "|u1"],
        ["-1,3", "110,3", "57,3", "|u1"],
        ["400,3", "110,3", "57,3", "int33"],
        ["400,3", "110,3", "57,3", "[('name', '|O')]"],
        ["4000000000", "2000000000", "1000", "<f8"],
        ["1000000", "100000,100000", "1,1", "<f8"],
    ];
    let mut messages = String::new();
    for [shape, chunks, blocks, dtype] in cases {
        let options = ["encode", "--shape", shape, "--chunks", chunks, "--blocks", blocks, "--dtype", dtype];
        let output = run(root(), &options);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""), "{options:?}");
        messages += text(&output.stderr);
    }
    snapshot("encode_refused", &messages);
}

#[test]
fn numbers_that_cannot_be_read_are_shown_with_their_range() {
    for (chunks, expected) in [
        ("3z5", "'3z5' is not a whole number; write numbers between commas, such as 400,3"),
        ("3xx5", "'' is not a whole number; write numbers between commas, such as 400,3"),
        ("3,,5", "'' is not a whole number; write numbers between commas, such as 400,3"),
        ("1,2147483648", "2147483648 is out of range: must be 0 to 2147483647 (int32)"),
        (&"9".repeat(50), "is out of range: must be 0 to 2147483647 (int32)"),
    ] {
        let options = ["encode", "--shape", "3,5", "--chunks", chunks, "--blocks", "1,2", "--dtype", "<i4"];
        let output = run(root(), &options);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    }
}

#[test]
fn a_dtype_is_written_as_writers_of_the_layout_do() {
    let dtype = |given: &str, layout: &str| {
        let options = [&EXAMPLE[..8], &[given, "--layout", layout, "--json"]].concat();
        objects(&run(root(), &options))[0]["dtype"].clone()
    };
    for given in ["int32", "<i4", "i4", "i"] {
        assert_eq!(dtype(given, "b2nd"), "<i4", "{given}");
        assert_eq!(dtype(given, "b2nd-mismarked"), "<i4", "{given}");
        assert_eq!(dtype(given, "b2nd-six"), "int32", "{given}");
    }
    assert_eq!(dtype("uint8", "b2nd"), "|u1");
    assert_eq!(dtype("[('a', 'int16')]", "b2nd"), "[('a', '<i2')]");
}

#[test]
fn only_layout_caterva_takes_no_dtype() {
    let shapes = ["encode", "--shape", "3,5", "--chunks", "2,3", "--blocks", "1,2"];
    let encoded = run(root(), &[&shapes[..], &["--layout", "caterva"]].concat());
    let bytes = to_vec(&(0, 2, [3, 5], [2, 3], [1, 2])).unwrap();
    assert_eq!((encoded.status.code(), unhex(text(&encoded.stdout).trim())), (Some(0), bytes));
    for layout in [&[][..], &["--layout", "b2nd"], &["--layout", "b2nd-mismarked"], &["--layout", "b2nd-six"]]
    {
        let output = run(root(), &[&shapes[..], layout].concat());
        assert_eq!(output.status.code(), Some(2), "{layout:?}");
        assert!(text(&output.stderr).contains("--dtype"), "{}", text(&output.stderr));
    }
}

#[test]
fn decode_is_encode_the_other_way() {
    let output = run_with(&run(root(), &EXAMPLE).stdout, root(), &["decode"]);
    snapshot("decode", &screen(&output));
    for layout in Layout::ALL.iter().map(|layout| layout.name()) {
        let raw = run(root(), &[&EXAMPLE[..], &["--layout", layout, "--raw"]].concat());
        let decoded = &objects(&run_with(&raw.stdout, root(), &["decode", "--json"]))[0];
        assert_eq!(decoded["layout"], layout);
        let dump = run_with(&raw.stdout, root(), &["dump"]);
        assert!(dump.status.success(), "{}", text(&dump.stdout));
        assert_eq!(decoded["shape"], serde_json::json!([3, 5]));
        assert_eq!(unhex(decoded["hex"].as_str().unwrap()), raw.stdout);
    }
    let other_format = run(root(), &["decode", "--hex", &EXAMPLE_HEX.replace("00db", "07db")]);
    assert!(text(&other_format.stdout).starts_with("layout  : b2nd, dtype format 7\n"));
    let frame = run(&data(), &["decode", "int32_3x5.b2nd"]);
    let message = "b2nd: int32_3x5.b2nd: a whole frame, not a metalayer; `b2nd info` shows the array in it\n";
    assert_eq!((frame.status.code(), text(&frame.stderr)), (Some(1), message));
    let bad = run(root(), &["decode", "--hex", &EXAMPLE_HEX[..40]]);
    assert_eq!(bad.status.code(), Some(1));
    assert!(text(&bad.stderr).contains("byte 13: expected 9 bytes for shape[1]"), "{}", text(&bad.stderr));
}

#[test]
fn a_line_without_an_end_is_not_kept_for_ever() {
    let longest = 1 << 20;
    for (arguments, end) in [
        (&["decode", "--json", "--lines"][..], "\n"),
        (&["ls", "--json", "--files-from", "-"], "\n"),
        (&["ls", "--json", "-0", "--files-from", "-"], "\0"),
    ] {
        // If the length of a path is a multiple of 2^15 UTF-16 units, Wine opens the current folder instead of the
        // file. The longest allowed line has 2^20 bytes, which is such a multiple. So nearly all characters of the line
        // take three bytes each, but only one UTF-16 unit.
        let line = "x".to_owned() + &"名".repeat(longest / 3);
        assert_eq!(line.len(), longest);
        for (input, is_too_long) in [(line.clone() + end + &line, false), (line + "x" + end + "x", true)] {
            let output = run_with(input.as_bytes(), root(), arguments);
            assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
            let answers = objects(&output);
            assert_eq!(answers.len(), if is_too_long { 1 } else { 2 });
            let message = answers[0]["error"]["message"].as_str().unwrap();
            assert_eq!(
                message == "a line has more than 1048576 bytes",
                is_too_long,
                "{arguments:?}: {message}"
            );
        }
    }
}

#[test]
fn each_line_is_decoded_by_itself_and_has_an_answer() {
    let caterva = "95 00 00 90 90 90";
    let upper = EXAMPLE_HEX.to_uppercase();
    let lines = [EXAMPLE_HEX, "", caterva, &EXAMPLE_HEX[..40], "no digits", &upper].join("\n");
    let decode = ["decode", "--json", "--lines"];
    let output = run_with(lines.as_bytes(), root(), &decode);
    assert_eq!(output.status.code(), Some(1));
    let answers = objects(&output);
    assert_eq!(answers.len(), 6);
    assert_eq!((&answers[0]["hex"], &answers[5]["hex"]), (&EXAMPLE_HEX.into(), &EXAMPLE_HEX.into()));
    assert_eq!(answers[2]["layout"], "caterva");
    for (answer, byte) in [(1, Some(0)), (3, Some(13)), (4, None)] {
        assert_eq!(answers[answer]["error"]["offset"].as_u64(), byte, "{}", answers[answer]);
    }
    let whole = [EXAMPLE_HEX, caterva, ""].join("\r\n");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("good.hex"), whole).unwrap();
    let output = run(folder.path(), &["decode", "--json", "--lines", "good.hex"]);
    assert_eq!((output.status.code(), objects(&output).len()), (Some(0), 2));
    let missing = run(folder.path(), &["decode", "--json", "--lines", "missing.hex"]);
    assert_eq!((missing.status.code(), &objects(&missing)[0]["path"]), (Some(1), &"missing.hex".into()));
    assert_eq!(run(root(), &["decode", "--lines"]).status.code(), Some(2), "only with --json");
}

#[test]
fn the_vectors_are_decoded_as_they_say() {
    let vectors = b2nd_lab::vectors::read("metalayers.json");
    let lines: String = vectors.iter().map(|vector| vector.hex.clone() + "\n").collect();
    let answers = objects(&run_with(lines.as_bytes(), root(), &["decode", "--json", "--lines"]));
    assert_eq!(answers.len(), vectors.len());
    for (vector, answer) in vectors.iter().zip(&answers) {
        let offset = answer.get("error").map(|error| &error["offset"]);
        assert_eq!(offset, vector.error.get("byte"), "{}: {answer}", vector.name);
        if offset.is_none() {
            assert_eq!(answer["shape"], vector.values["shape"], "{}", vector.name);
        }
    }
}
