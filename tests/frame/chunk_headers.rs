//! A chunk whose header is damaged is found, and no healthy file is taken for a damaged one.

#![cfg(feature = "frame")]

use std::fs;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::common::{copy_tree, corpus, data};
use b2nd_serde::frame::{Code, ErrorKind, Finding, Frame, is_sparse_frame};

fn on(_: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn findings(file: Vec<u8>) -> Vec<Finding> {
    let mut frame = Frame::read_at(Cursor::new(file), 0).unwrap();
    frame.check_chunks(on).unwrap()
}

/// A file whose chunks are compressed, and where they begin.
fn compressed() -> (Vec<u8>, Vec<usize>) {
    let path = data().join("geometry/d3_f4_awkward.b2nd");
    let mut frame = Frame::open(&path).unwrap();
    let mut starts = Vec::new();
    let mut chunks = frame.chunks().unwrap();
    while let Some(entry) = chunks.next().transpose().unwrap() {
        let header = chunks.header(&entry).unwrap().unwrap();
        assert!(header.codec.is_some(), "not compressed");
        let b2nd_serde::frame::ChunkPlace::Frame(start) = entry.place else { panic!("{entry:?}") };
        starts.push(usize::try_from(start).unwrap());
    }
    assert!(starts.len() > 3);
    (fs::read(path).unwrap(), starts)
}

#[test]
fn a_damaged_chunk_header_is_found() {
    let (file, starts) = compressed();
    assert_eq!(findings(file.clone()), []);
    let cbytes = |chunk: usize| u32::from_le_bytes(file[starts[chunk] + 12..][..4].try_into().unwrap());
    let other = (0..starts.len()).find(|&chunk| chunk != 1 && cbytes(chunk) != cbytes(1)).unwrap();
    let header_of_another = file[starts[other]..][..32].to_vec();
    let nbytes = u32::from_le_bytes(file[starts[1] + 4..][..4].try_into().unwrap());
    let longer = cbytes(1) + 1;
    for (name, at, bytes) in [
        ("compressed length 2^30", 12, &(1_u32 << 30).to_le_bytes()[..]),
        ("compressed length 1 longer", 12, &longer.to_le_bytes()),
        ("compressed length 1 shorter", 12, &(longer - 2).to_le_bytes()),
        ("compressed length 0", 12, &[0; 4]),
        ("a hole of zeros", 0, &[0; 64]),
        ("wrong nbytes", 4, &(nbytes - 1).to_le_bytes()),
        ("negative nbytes", 4, &[0xff; 4]),
        ("wrong typesize", 3, &[8]),
        ("wrong blocksize", 8, &[1, 0, 0, 0]),
        ("no blocksize", 8, &[0; 4]),
        ("not compressed", 2, &[7]),
        ("special zeros", 31, &[0x10]),
        ("special value", 31, &[0x30]),
        ("no special value", 31, &[0x70]),
        ("a block within the table", 32, &[4, 0, 0, 0]),
        ("a block after the chunk", 32, &[0xff, 0xff, 0, 0]),
        ("a header of another chunk", 0, &header_of_another),
    ] {
        let mut damaged = file.clone();
        damaged[starts[1] + at..][..bytes.len()].copy_from_slice(bytes);
        let findings = findings(damaged);
        assert!(!findings.is_empty(), "{name}");
        let finding = &findings[0];
        assert!(finding.message().contains("chunk 1"), "{name}: {findings:?}");
        assert!(matches!(finding.code(), Code::ChunkHeader | Code::ChunkOverlap), "{name}: {finding}");
        assert_eq!(finding.offset(), Some(starts[1] as u64), "{name}: {finding}");
    }
}

/// Whatever the bytes of a chunk are, a check ends, and tells of a few chunks at most.
#[test]
fn no_damage_does_harm() {
    let (file, starts) = compressed();
    for at in 0..60 {
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            let mut damaged = file.clone();
            damaged[starts[2] + at] = byte;
            findings(damaged);
        }
    }
    let mut damaged = file.clone();
    damaged[starts[0]..starts[starts.len() - 1] + 32].fill(0);
    let all = findings(damaged);
    assert_eq!(all.len(), starts.len().min(21));
}

#[test]
fn a_damaged_chunk_file_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse.b2nd");
    copy_tree(&data().join("sparse.b2nd"), &path);
    let file = path.join("00000002.chunk");
    let chunk = fs::read(&file).unwrap();
    for (at, bytes) in [(4, &[9][..]), (12, &[0, 0, 0, 0x40]), (3, &[8]), (0, &[0; 32]), (31, &[0x10])] {
        let mut damaged = chunk.clone();
        damaged[at..at + bytes.len()].copy_from_slice(bytes);
        fs::write(&file, damaged).unwrap();
        let findings = Frame::open(&path).unwrap().check_chunks(on).unwrap();
        assert_eq!(findings.len(), 1, "{at}");
        assert_eq!((findings[0].code(), findings[0].offset()), (Code::ChunkHeader, None));
        assert!(findings[0].message().contains("00000002.chunk"), "{}", findings[0]);
    }
    // A check of the index tells of a file that is missing.
    fs::remove_file(&file).unwrap();
    assert_eq!(Frame::open(&path).unwrap().check_chunks(on).unwrap(), []);
}

#[test]
fn a_check_of_chunks_can_be_stopped() {
    let mut seen = Vec::new();
    let mut frame = Frame::open(data().join("int32_3x5.b2nd")).unwrap();
    let error = frame.check_chunks(|done| {
        seen.push(done);
        if done == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(seen, [1, 2]);
}

/// All frames in a folder.
fn frames(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !is_sparse_frame(&path) {
            frames(&path, found);
        } else if Frame::open(&path).is_ok() {
            found.push(path);
        }
    }
}

#[test]
fn no_healthy_file_has_a_damaged_chunk() {
    let mut paths = Vec::new();
    frames(&data(), &mut paths);
    if let Some((folder, _)) = corpus() {
        frames(&folder, &mut paths);
    }
    let mut checked = 0;
    for path in &paths {
        let mut frame = Frame::open(path).unwrap();
        let findings = frame.check_chunks(|_| {
            checked += 1;
            ControlFlow::Continue(())
        });
        match findings {
            Ok(findings) => assert_eq!(findings, [], "{}", path.display()),
            // An old generation, or a compressed index without the feature for it.
            Err(error) => assert_eq!(error.kind(), ErrorKind::Refused, "{}: {error}", path.display()),
        }
    }
    println!("{} frames with {checked} chunks", paths.len());
    assert!(paths.len() >= 40 && checked > 100);
}

/// A frame without an array. Its index says the same of each of its `count` chunks.
fn repeated(entry: i64, count: u32) -> Vec<u8> {
    let file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let (header, trailer) = (&file[..165 + 256], &file[file.len() - 35..]);
    let mut index = vec![5, 1, 7, 8];
    for number in [8 * count, 8 * count, 40] {
        index.extend(number.to_le_bytes());
    }
    index.extend([0; 15]);
    index.push(3 << 4);
    index.extend(entry.to_le_bytes());
    let mut file = [header, &index, trailer].concat();
    let frame_len = file.len() as u64;
    file[16..24].copy_from_slice(&frame_len.to_be_bytes());
    file[30..38].copy_from_slice(&(32 * u64::from(count)).to_be_bytes());
    let name = file.windows(4).position(|bytes| bytes == b"b2nd").unwrap();
    file[name..name + 4].copy_from_slice(b"else");
    file
}

#[test]
fn what_a_few_bytes_claim_of_many_chunks_is_looked_at_once() {
    for entry in [0, 1 << 40, i64::MIN | 1 << 56] {
        let mut frame = Frame::read_at(Cursor::new(repeated(entry, (1 << 28) - 1)), 0).unwrap();
        let mut looked = 0;
        let _ = frame.check_chunks(|_| {
            looked += 1;
            ControlFlow::Continue(())
        });
        assert!(looked <= 1, "{entry}: {looked}");
    }
}

/// A reader that gives a block size of 0 from the second time on that it reads the first chunk.
struct Changing {
    file: Cursor<Vec<u8>>,
    times: u32,
}

impl Read for Changing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let at = self.file.position();
        let read = self.file.read(buffer)?;
        if at == 165 && read >= 12 {
            self.times += 1;
            if self.times > 1 {
                buffer[8..12].fill(0);
            }
        }
        Ok(read)
    }
}

impl Seek for Changing {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

#[test]
fn a_chunk_that_changes_while_it_is_checked_does_no_harm() {
    for entry in fs::read_dir(data()).unwrap() {
        let path = entry.unwrap().path();
        let Ok(mut file) = fs::read(&path) else { continue };
        let Ok(frame) = Frame::parse(&file) else { continue };
        if frame.header().is_sparse() || frame.header().header_len != 165 {
            continue;
        }
        // A shorter chunk leaves a hole after it, so that its blocks are followed.
        let cbytes = u32::from_le_bytes(file[165 + 12..165 + 16].try_into().unwrap());
        file[165 + 12..165 + 16].copy_from_slice(&(cbytes - 1).to_le_bytes());
        let mut frame = Frame::read_at(Changing { file: Cursor::new(file), times: 0 }, 0).unwrap();
        let _ = frame.check_chunks(on);
    }
}
