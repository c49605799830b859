//! What is wrong with a frame is found, under a code of its own; what is right is not.

#![cfg(feature = "frame")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Cursor;

use b2nd_serde::frame::{Code, Finding, Frame, Severity, check};
use common::{corpus, data};

fn errors(findings: &[Finding]) -> Vec<Code> {
    findings.iter().filter(|finding| finding.severity() == Severity::Error).map(Finding::code).collect()
}

#[test]
fn of_the_corpus_only_two_files_are_wrong_and_both_really_are() {
    let Some((folder, entries)) = corpus() else { return };
    let mut wrong = BTreeSet::new();
    let mut counts = BTreeMap::<Code, usize>::new();
    for entry in &entries {
        let name = entry["file"].as_str().unwrap();
        let findings = match entry["frame_offset"].as_u64() {
            None => check(folder.join(name)).unwrap(),
            Some(offset) => {
                let file = fs::read(folder.join(entry["metadata_file"].as_str().unwrap())).unwrap();
                Frame::read_at(Cursor::new(file), offset).unwrap().check().unwrap()
            }
        };
        for finding in &findings {
            *counts.entry(finding.code()).or_default() += 1;
        }
        let errors = errors(&findings);
        if !errors.is_empty() {
            assert_eq!(errors, [Code::ChunksizeMismatch, Code::BlocksizeMismatch], "{name}: {findings:?}");
            wrong.insert(name);
        }
        // Every code of a layout or generation is told where the manifest has one.
        let has = |code| findings.iter().any(|finding| finding.code() == code);
        let layout = entry["layout"].as_str().unwrap();
        assert_eq!(has(Code::StaleTail), layout.contains("stale"), "{name}");
        assert_eq!(has(Code::OldFrame), entry["frame"]["frame_header_nelem"] != 14, "{name}");
        assert_eq!(has(Code::HighRank), entry["expected"]["ndim"].as_u64() > Some(8), "{name}");
        let is_old = layout.contains("caterva") || layout.starts_with("b2nd-5") || layout.starts_with("b2nd-6");
        assert_eq!(has(Code::OldLayout), is_old || layout.contains("says 6"), "{name}");
    }
    println!("{counts:?}");
    let both = ["B_caterva-0.5.0/slice_int.cat", "B_caterva-0.7.3/slice_int.cat"];
    assert_eq!(wrong.into_iter().collect::<Vec<_>>(), both);
}
