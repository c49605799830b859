//! Arrays that python-blosc2 has indexed. `b2nd` and `ArrayUpdate` then change or copy them.

use std::env;
use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom, Write};
use std::process::Command;

use b2nd_frame::{ChunkPlace, Frame};
use serde_json::Value;

use crate::updating::commit;
use crate::{converse, python};

/// Overwrites the start of a chunk, so that it cannot be decompressed.
fn destroy_a_chunk(path: &str) {
    let entry = Frame::open(path).unwrap().chunks().unwrap().get(3).unwrap().unwrap();
    let (path, start) = match entry.place {
        ChunkPlace::Frame(start) => (path.to_owned(), start),
        ChunkPlace::File(number) => (format!("{path}/{number:08X}.chunk"), 0),
        place => panic!("chunk 3 is not stored: {place:?}"),
    };
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(start)).unwrap();
    file.write_all(&[0xff; 48]).unwrap();
}

#[test]
fn an_indexed_query_finds_what_a_scan_finds_after_each_change() {
    let command = env::var_os("B2ND").expect("B2ND, which lab/run interop sets");
    let run = |arguments: &Value| {
        let arguments: Vec<String> = serde_json::from_value(arguments.clone()).unwrap();
        Command::new(&command).args(&arguments).output().unwrap()
    };
    let (folder, mut compared) = (tempfile::tempdir().unwrap(), None);
    converse(python("indexed.py").arg(folder.path()), |line| {
        if let Some(arguments) = line.get("run") {
            let output = run(arguments);
            // A salvage with losses ends with 1.
            let is_done = output.status.success() || arguments[0] == "salvage";
            assert!(is_done, "{arguments}: {output:?}");
        } else if let Some(arguments) = line.get("refused") {
            let output = run(arguments);
            let message = String::from_utf8(output.stderr).unwrap();
            assert!(!output.status.success() && message.contains("table"), "{arguments}: {message}");
        } else if let Some(path) = line.get("damage") {
            destroy_a_chunk(path.as_str().unwrap());
        } else if let Some(changes) = line.get("changes") {
            commit(line["path"].as_str().unwrap(), changes);
        } else {
            compared = line["compared"].as_u64();
        }
        String::new()
    });
    println!("{} arrays: queries with their indexes find what a scan finds", compared.unwrap());
}
