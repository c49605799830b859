//! Tests the magic entry for `file(1)`, if that program is installed.

#![cfg(unix)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use b2nd_frame::{Frame, FrameType, Generation};
use b2nd_lab::{corpus, data, root};
use b2nd_serde::Layout;

/// The output of the program `file` for this path.
fn says(path: &Path) -> Option<String> {
    let magic = root().join("docs/neighbours/blosc2.magic");
    if !magic.exists() {
        eprintln!("the entry for file(1) is not here");
        return None;
    }
    let mut command = Command::new("file");
    command.args(["--brief", "--raw", "--magic-file"]).arg(magic).arg(path);
    let Ok(output) = command.output() else {
        eprintln!("file(1) is not installed here");
        return None;
    };
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// The expected output of `file` for a frame, or only the start of this output if the dtype is too long for `file`.
fn expected<R>(frame: &Frame<R>) -> String {
    let header = frame.header();
    if header.generation == Generation::Beta2 {
        return "Blosc2 frame of C-Blosc2 2.0 beta 2 to 5".into();
    }
    let mut text = format!("Blosc2 frame, version {}", header.version);
    if header.frame_type == FrameType::Sparse {
        text += ", sparse";
    }
    let codec = match header.codec.0 {
        0 => ", BloscLZ",
        1 => ", LZ4",
        2 => ", LZ4HC",
        4 => ", Zlib",
        5 => ", Zstandard",
        _ => "",
    };
    write!(text, "{codec}, {} bytes in chunks, {} compressed", header.nbytes, header.cbytes).unwrap();
    let Some(array) = frame.array().unwrap() else { return text };
    if frame.metalayers()[0].name() != array.metalayer().name() {
        return text;
    }
    if array.meta().layout() != Layout::B2nd {
        return text + if array.metalayer().name() == "caterva" { ", array of Caterva" } else { ", array" };
    }
    match array.shape() {
        [] => text += ", array, a scalar",
        shape if shape.len() > 8 => {
            write!(text, ", array, {} dimensions", shape.len()).unwrap();
            return text;
        }
        shape => {
            let shape: Vec<_> = shape.iter().map(ToString::to_string).collect();
            write!(text, ", array, shape {}", shape.join("x")).unwrap();
        }
    }
    write!(text, ", dtype {}", array.dtype().unwrap()).unwrap();
    text
}

#[test]
fn the_entry_for_file_says_what_the_header_says() {
    let mut files = Vec::new();
    for folder in [data(), data().join("peers")] {
        files.extend(folder.read_dir().unwrap().map(|entry| entry.unwrap().path()));
    }
    files.push(data().join("sparse.b2nd/chunks.b2frame"));
    if let Some((folder, entries)) = corpus() {
        let whole = entries.iter().filter(|entry| entry["frame_offset"].is_null());
        files.extend(whole.map(|entry| folder.join(entry["metadata_file"].as_str().unwrap())));
    }
    let mut arrays = 0;
    for path in files.iter().filter(|path| path.is_file()) {
        let Some(said) = says(path) else { return };
        match Frame::open(path) {
            Ok(frame) if frame.offset() == 0 => {
                let expected = expected(&frame);
                assert!(
                    said == expected || said.len() > 120 && expected.starts_with(&said),
                    "{path:?}: {said}, {expected}"
                );
                arrays += usize::from(said.contains(", array"));
            }
            _ => assert!(!said.contains("Blosc2"), "{path:?}: {said}"),
        }
    }
    assert!(arrays >= 20, "{arrays}");
}
