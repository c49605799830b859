//! Each chunk of a sparse frame has a file unless it is constant, and a check finds missing files.

use std::fs;
use std::ops::ControlFlow;
#[cfg(unix)]
use std::path::{Path, PathBuf};
use std::thread;

use crate::{findings, opened};
use b2nd_frame::{Check, CheckDepth, ErrorKind, Finding, FindingCode, Frame, FrameBuilder, Rewrite, check};
use b2nd_lab::{copy, copy_tree, data};
use b2nd_serde::{Meta, Shapes};

#[test]
fn the_chunks_of_a_sparse_frame_have_files() {
    let (_folder, path) = copy("sparse.b2nd");
    // An empty chunk file is not an error: C-Blosc2 leaves one if a chunk becomes constant.
    fs::write(path.join("00000004.chunk"), b"").unwrap();
    fs::write(path.join("notes.txt"), b"").unwrap();
    assert_eq!(check(&path).unwrap().findings, []);
    for (name, there) in [("00000002.chunk", 3), ("00000000.chunk", 2), ("00000001.chunk", 1)] {
        fs::remove_file(path.join(name)).unwrap();
        let first = if there == 3 { "00000002.chunk" } else { "00000000.chunk" };
        let says = format!("only {there} of 4 chunk files are whole; for example {first} is missing");
        // The directory and the header file in it are both accepted as the path of a sparse frame. A check must find
        // the same with either path.
        for path in [&path, &path.join("chunks.b2frame")] {
            let findings = check(path).unwrap().findings;
            let [finding] = &findings[..] else { panic!("{findings:?}") };
            assert_eq!((finding.code(), finding.message()), (FindingCode::ChunkFile, &*says));
            assert_eq!((finding.expected(), finding.found()), (Some(4), Some(there)));
        }
    }
    // If the header file is only bytes in memory, the chunk files are unknown and not checked.
    let bytes = fs::read(path.join("chunks.b2frame")).unwrap();
    assert_eq!(findings(&opened(bytes)), []);
}

/// C-Blosc2 3.3.5 checks a file number as if it were an offset: a chunk header of 32 bytes must fit between this number
/// and cbytes of the frame. So C-Blosc2 opens file number 3 only if cbytes is at least 3 + 32 = 35.
#[test]
fn a_file_number_must_be_as_small_as_c_blosc2_wants_it() {
    let (_folder, path) = copy("sparse.b2nd");
    let file = path.join("chunks.b2frame");
    let mut bytes = fs::read(&file).unwrap();
    for (cbytes, is_open) in [(316_i64, true), (35, true), (34, false), (0, false)] {
        bytes[39..47].copy_from_slice(&cbytes.to_be_bytes());
        fs::write(&file, &bytes).unwrap();
        let findings = check(&path).unwrap().findings;
        assert_eq!(findings.is_empty(), is_open, "{cbytes}: {findings:?}");
        if cbytes == 34 {
            assert_eq!(findings[0].code(), FindingCode::ChunkOffset);
            assert_eq!(
                findings[0].message(),
                "a chunk is in 00000003.chunk, number 3, but with 34 bytes of chunks C-Blosc2 opens numbers up to 2"
            );
        }
    }
}

/// The chunk index is a constant chunk that repeats one file number. So its 40 bytes name one file for all four chunks.
#[test]
fn chunks_that_all_have_the_same_file_are_found() {
    let (_folder, path) = copy("sparse.b2nd");
    let file = fs::read(path.join("chunks.b2frame")).unwrap();
    let header_len = Frame::parse(&file).unwrap().header().header_len;
    let mut index = vec![5, 1, 5, 8];
    for number in [32_u32, 32, 40] {
        index.extend(number.to_le_bytes());
    }
    index.extend([0; 15]);
    index.push(3 << 4);
    index.extend(2_u64.to_le_bytes());
    let mut file = [&file[..header_len], &index, &file[file.len() - 35..]].concat();
    let frame_len = file.len() as u64;
    file[16..24].copy_from_slice(&frame_len.to_be_bytes());
    fs::write(path.join("chunks.b2frame"), file).unwrap();
    let report = check(&path).unwrap();
    let [finding] = &report.findings[..] else { panic!("{:?}", report.findings) };
    assert_eq!(
        (finding.code(), finding.message()),
        (FindingCode::ChunkOffset, "two chunks have the file number 2")
    );
    assert_eq!(report.counts.map(|counts| counts.stored), Some(4));
    #[cfg(feature = "decompress")]
    {
        let error = b2nd_frame::Array::open(&path).unwrap().whole().read().unwrap_err();
        let finding = error.finding().unwrap();
        assert_eq!(
            (finding.code(), finding.message()),
            (FindingCode::ChunkOffset, "chunk 1 is in 00000002.chunk, as is a chunk before it")
        );
    }
}

#[test]
fn a_chunk_file_that_is_not_whole_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse.b2nd");
    copy_tree(&data().join("sparse.b2nd"), &path);
    let file = path.join("00000002.chunk");
    let chunk = fs::read(&file).unwrap();
    assert_eq!(chunk.len(), 80);
    for (bytes, why) in [
        (&b""[..], "is not a chunk"),
        (&chunk[..15], "is not a chunk"),
        (&[0; 80], "is not a chunk"),
        (&chunk[..31], "is not a chunk"),
        (&chunk[..32], "has 32 bytes, but its chunk needs 80"),
        (&chunk[..79], "has 79 bytes, but its chunk needs 80"),
    ] {
        fs::write(&file, bytes).unwrap();
        let findings = check(&path).unwrap().findings;
        assert_eq!(
            findings[0].message(),
            format!("only 3 of 4 chunk files are whole; for example 00000002.chunk {why}")
        );
        let error = Rewrite::new(&path, folder.path().join("copy")).apply().unwrap_err();
        assert_eq!(error.finding().map(Finding::code), Some(FindingCode::ChunkFile), "{error}");
    }
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert!(check(&path).unwrap().findings[0].message().ends_with("00000002.chunk is missing"));
}

/// A check lists the folder of the chunk files once, at its start. So a chunk file that is created later still counts
/// as missing.
#[test]
fn a_chunk_file_that_comes_while_the_chunks_are_checked_is_as_missing_as_before() {
    let (_folder, path) = copy("sparse.b2nd");
    let file = path.join("00000002.chunk");
    fs::remove_file(&file).unwrap();
    let check = Check::new(CheckDepth::ChunkHeaders).on_progress(|done| {
        if done == 1 {
            fs::write(&file, b"no chunk").unwrap();
        }
        ControlFlow::Continue(())
    });
    let findings = check.run(&Frame::open(&path).unwrap()).unwrap().findings;
    assert_eq!(findings.iter().map(Finding::code).collect::<Vec<_>>(), [FindingCode::ChunkFile]);
}

/// A thread truncates the chunk file again and again. This happens before the chunk is read, or between the read of the
/// chunk header and the read of the other bytes.
#[test]
fn a_chunk_is_whole_or_an_error_while_its_file_is_cut_again_and_again() {
    let (_folder, path) = copy("sparse.b2nd");
    let frame = Frame::open(&path).unwrap();
    let mut chunks = frame.chunks().unwrap();
    let entry = chunks.next().unwrap().unwrap();
    let file = fs::File::options().write(true).open(path.join("00000000.chunk")).unwrap();
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for length in [60, 80].repeat(10_000) {
                file.set_len(length).unwrap();
            }
        });
        while !writer.is_finished() {
            match chunks.compressed(&entry) {
                Ok(chunk) => assert_eq!(chunk.unwrap().len(), 80),
                Err(error) if error.kind() == ErrorKind::Changing => {}
                Err(error) => {
                    let says = error.finding().unwrap().message();
                    assert!(
                        says.ends_with("has 80 bytes, but at most 60 are left for it")
                            || says.ends_with("has 80 bytes, but only 60 can be read"),
                        "{says}"
                    );
                }
            }
        }
    });
    assert_eq!(chunks.compressed(&entry).unwrap().unwrap().len(), 80);
}

#[cfg(unix)]
#[test]
fn an_error_about_a_chunk_file_names_it() {
    let (_folder, path) = copy("sparse.b2nd");
    let file = path.join("00000002.chunk");
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(&file, &file).unwrap();
    let frame = Frame::open(&path).unwrap();
    let mut chunks = frame.chunks().unwrap();
    let entry = chunks.nth(2).unwrap().unwrap();
    for error in [check(&path).unwrap_err(), chunks.header(&entry).unwrap_err()] {
        assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(&*file)), "{error}");
    }
}

/// If a chunk file cannot be opened for lack of permission, the check does not call the file damaged.
#[cfg(unix)]
#[test]
fn a_chunk_file_that_may_not_be_read_counts_as_whole() {
    use std::os::unix::fs::PermissionsExt;

    let (_folder, path) = copy("sparse.b2nd");
    let file = path.join("00000002.chunk");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&file).is_ok() {
        eprintln!("root may read every file, so nothing is shown");
    }
    assert_eq!(check(&path).unwrap().findings, []);
}

/// The header file of a sparse frame of `count` chunks, made from `sparse.b2nd`. Its index is compressed. According to
/// the index, chunk 1 consists of zeros. All other chunks have files of their own. The file numbers begin at 2, and are
/// not in the order of the chunks.
#[cfg(feature = "decompress")]
fn with_chunks(count: u32) -> Vec<u8> {
    let file = fs::read(data().join("sparse.b2nd/chunks.b2frame")).unwrap();
    let header = Frame::parse(&file).unwrap().header().clone();
    let nbytes = 8 * count as usize;
    let is_index = |index: &Vec<u8>| {
        b2nd_frame::ChunkHeader::parse(index).is_some_and(|header| header.nbytes() == nbytes)
    };
    let index = b2nd_lab::chunks_of("files_of_chunks").into_iter().find(is_index).unwrap();
    assert!(index.len() < nbytes, "not compressed");
    let trailer = &file[file.len() - 35..];
    let mut file = [&file[..header.header_len], &index, trailer].concat();
    let frame_len = file.len() as u64;
    file[16..24].copy_from_slice(&frame_len.to_be_bytes());
    file[30..38].copy_from_slice(&(i64::from(header.chunksize) * i64::from(count)).to_be_bytes());
    file[39..47].copy_from_slice(&(80 * i64::from(count)).to_be_bytes());
    // The shape in the array metalayer does not fit `count` chunks. The metalayer is renamed, so the frame has no
    // array.
    let name = file.windows(4).position(|bytes| bytes == b"b2nd").unwrap();
    file[name..name + 4].copy_from_slice(b"else");
    file
}

#[cfg(feature = "decompress")]
#[test]
fn a_compressed_index_is_read_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse.b2nd");
    fs::create_dir(&path).unwrap();
    let file = with_chunks(1000);
    fs::write(path.join("chunks.b2frame"), &file).unwrap();
    for number in 2..=1001 {
        fs::copy(data().join("sparse.b2nd/00000000.chunk"), path.join(format!("{number:08X}.chunk")))
            .unwrap();
    }
    // File 1000 would belong to chunk 1. But chunk 1 is zeros, so it needs no file.
    fs::remove_file(path.join("000003E8.chunk")).unwrap();
    assert_eq!(check(&path).unwrap().findings, []);
    fs::remove_file(path.join("00000100.chunk")).unwrap();
    let findings = check(&path).unwrap().findings;
    assert_eq!(findings.len(), 1);
    let says = "only 998 of 999 chunk files are whole; for example 00000100.chunk is missing";
    assert_eq!((findings[0].code(), findings[0].message()), (FindingCode::ChunkFile, says));

    // Whatever bytes of the index are damaged, nothing panics.
    let header_len = Frame::parse(&file).unwrap().header().header_len;
    let frame = Frame::open(&path).unwrap();
    for at in header_len..file.len() - 35 {
        for change in [0x01, 0x80, 0xff] {
            let mut damaged = file.clone();
            damaged[at] ^= change;
            fs::write(path.join("chunks.b2frame"), damaged).unwrap();
            let findings = crate::findings(&frame);
            assert!(findings.len() <= 1, "{at}: {findings:?}");
        }
    }
}

/// An index of a few hundred bytes can name a million files. A check must not try to open each of them if most are
/// missing. A unit test in `frame/src/check/chunk_files.rs` asserts that a check opens only files that exist.
#[cfg(feature = "decompress")]
#[test]
fn a_million_names_with_two_files_cost_no_million_calls() {
    let (_folder, path) = copy("sparse.b2nd");
    fs::write(path.join("chunks.b2frame"), with_chunks(1_000_000)).unwrap();
    let findings = check(&path).unwrap().findings;
    // The folder has 00000000.chunk to 00000003.chunk. The index names files from 00000002.chunk on, so two of them
    // exist.
    let says = "only 2 of 999999 chunk files are whole; for example 00000004.chunk is missing";
    assert_eq!(findings.len(), 1);
    assert_eq!((findings[0].code(), findings[0].message()), (FindingCode::ChunkFile, says));
    assert_eq!((findings[0].expected(), findings[0].found()), (Some(999_999), Some(2)));
}

/// A new sparse frame of 100 chunks. For so many chunks, a check lists the folder instead of opening each file.
#[cfg(unix)]
fn of_100_chunks(folder: &Path) -> PathBuf {
    let path = folder.join("sparse.b2nd");
    let shapes = Shapes { shape: &[100], chunkshape: &[1], blockshape: &[1] };
    let mut writer = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).create_sparse(&path).unwrap();
    for number in 0..100 {
        writer.write_uncompressed(number, &[7]).unwrap();
    }
    writer.finish().unwrap().persist().unwrap();
    path
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_gone_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = of_100_chunks(folder.path());
    let frame = Frame::open(&path).unwrap();
    fs::remove_dir_all(&path).unwrap();
    let error = Check::default().run(&frame).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(&*path)), "{error}");
}

/// A check of many chunks lists the folder to find missing files. If the check has no permission to list the folder, it
/// reports no missing files.
#[cfg(unix)]
#[test]
fn a_folder_that_may_not_be_listed_is_not_listed() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let path = of_100_chunks(folder.path());
    fs::remove_file(path.join("00000007.chunk")).unwrap();
    let missing = "only 99 of 100 chunk files are whole; for example 00000007.chunk is missing";
    assert_eq!(check(&path).unwrap().findings[0].message(), missing);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o300)).unwrap();
    let may_list = fs::read_dir(&path).is_ok();
    let findings = check(&path).unwrap().findings;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    // Root may list the folder whatever its mode is, and then the missing file is found.
    assert_eq!(findings.len(), usize::from(may_list));
}
