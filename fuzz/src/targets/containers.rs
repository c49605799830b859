//! Frames inside other files: the library finds each frame at its offset, and finds nothing else.

use std::fs;

use b2nd_frame::{Frame, MemberContent, Store, scan, zip_members};

use crate::folder;

/// The longest header that `scan` finds.
const MAX_HEADER: usize = 1 << 20;

pub fn run(bytes: &[u8]) {
    // Computes the result that `scan` must have: tries to parse a frame at each byte.
    let mut expected = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match Frame::parse(&bytes[at..]) {
            Ok(frame) if frame.header().header_len <= MAX_HEADER => {
                expected.push((at as u64, frame.header_bytes().to_vec()));
                at += frame.header().header_len;
            }
            _ => at += 1,
        }
    }
    let found: Vec<_> = scan(bytes)
        .map(|frame| frame.expect("a file in memory"))
        .map(|frame| (frame.offset(), frame.header_bytes().to_vec()))
        .collect();
    assert!(
        found == expected,
        "scan finds frames elsewhere than at {:?}",
        expected.iter().map(|it| it.0).collect::<Vec<_>>()
    );

    let members = zip_members(bytes);
    for member in members.iter().flatten() {
        match member.content() {
            MemberContent::Frame(frame) => {
                let end = member.offset() + member.len();
                assert!(
                    end <= bytes.len() as u64 && frame.header().frame_len <= member.len(),
                    "{}",
                    member.name()
                );
                assert_eq!(frame.offset(), member.offset());
                let at = usize::try_from(member.offset()).expect("a small file");
                let parsed = Frame::parse(&bytes[at..]).expect("the same bytes");
                assert_eq!(parsed.header_bytes(), frame.header_bytes());
                let again = Frame::read_at(bytes, member.offset()).expect("a frame within the file");
                assert_eq!(again.header(), frame.header());
            }
            MemberContent::Broken(finding) => assert!(!finding.message().is_empty()),
            _ => assert!(member.frame().is_none()),
        }
    }

    let folder = folder();
    let path = folder.path().join("store.b2z");
    fs::write(&path, bytes).expect("room for a file");
    if let Ok(Some(store)) = Store::open(&path) {
        assert!(members.is_ok(), "a store is a zip file");
        for (key, _) in store.tables() {
            assert!(key.starts_with('/'));
        }
        let names = members.iter().flatten().map(b2nd_frame::ZipMember::name);
        for name in names {
            let _ = store.is_part(name);
        }
    }
}
