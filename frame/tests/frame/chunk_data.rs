//! A check of the data finds all chunks that cannot be decompressed.

use std::fs;
#[cfg(feature = "compress")]
use std::io::{self, Cursor};
use std::ops::ControlFlow;
use std::path::Path;
#[cfg(feature = "compress")]
use std::slice;
#[cfg(feature = "compress")]
use std::sync::Mutex;

use crate::opened;
#[cfg(feature = "decompress")]
use crate::opened_array;
use b2nd_frame::FindingCode;
use b2nd_frame::{Check, CheckDepth, ChunkPlace, Frame, Report, SkippedPart};
#[cfg(feature = "compress")]
use b2nd_frame::{FrameBuilder, ReadAt};
use b2nd_lab::data;
#[cfg(feature = "decompress")]
use b2nd_lab::{chunk_with_a_table, copy_tree, frame_of_chunks};
#[cfg(feature = "compress")]
use b2nd_serde::{Meta, Shapes};

/// Files whose chunks are compressed in different ways: the chunks have few or many blocks, and the blocks have equal
/// or different lengths.
#[cfg(feature = "decompress")]
const FILES: [&str; 5] = [
    "geometry/d3_f4_awkward.b2nd",
    "geometry/d4_U2.b2nd",
    "peers/batch_array.b2frame",
    "peers/blocks_of_any_length.b2frame",
    "peers/many_blocks.b2nd",
];

fn report(file: Vec<u8>) -> Report {
    Check::new(CheckDepth::ChunkData).run(&opened(file)).unwrap()
}

/// The start and the length of the last compressed chunk in a file.
fn compressed(path: &Path) -> (usize, usize) {
    let frame = Frame::open(path).unwrap();
    let mut chunks = frame.chunks().unwrap();
    let mut last = None;
    while let Some(entry) = chunks.next().transpose().unwrap() {
        let header = chunks.header(&entry).unwrap();
        if let (ChunkPlace::Frame(start), Some(header)) = (entry.place, header) {
            last = header.codec().map(|_| (usize::try_from(start).unwrap(), header.cbytes())).or(last);
        }
    }
    last.unwrap()
}

#[cfg(feature = "decompress")]
#[test]
fn damaged_data_is_found_as_far_as_the_codec_notices() {
    let (mut found, mut all) = (0, 0);
    for name in FILES {
        let path = data().join(name);
        let file = fs::read(&path).unwrap();
        let whole = report(file.clone());
        assert!(whole.findings.iter().all(|finding| finding.code() != FindingCode::ChunkData), "{name}");
        assert_eq!(whole.skipped, [], "{name}");
        let (start, cbytes) = compressed(&path);
        for at in (start + 32..start + cbytes).step_by(1 + cbytes / 100) {
            for change in [0x01, 0x10, 0x80, 0xff] {
                let mut damaged = file.clone();
                damaged[at] ^= change;
                let findings = report(damaged).findings;
                all += 1;
                if let Some(finding) =
                    findings.iter().find(|finding| finding.code() == FindingCode::ChunkData)
                {
                    found += 1;
                    assert!(finding.message().contains(" cannot be decompressed: "), "{finding}");
                    assert_eq!(finding.offset(), Some(start as u64), "{finding}");
                }
            }
        }
    }
    println!("{found} of {all} damages found by decompressing");
    assert!(found > 50);
}

#[cfg(feature = "decompress")]
#[test]
fn what_the_headers_of_chunks_show_is_found_beside_damaged_data() {
    let path = data().join("peers/batch_array.b2frame");
    let mut file = fs::read(&path).unwrap();
    // Makes nbytes in the frame header larger by 1 than the sum of the sizes of all chunks.
    file[37] += 1;
    let (start, cbytes) = compressed(&path);
    let mut damaged = 0;
    for at in start + 32..start + cbytes {
        let mut file = file.clone();
        file[at] ^= 0xff;
        let data = report(file.clone()).findings;
        damaged += usize::from(data.iter().any(|finding| finding.code() == FindingCode::ChunkData));
        let headers = Check::new(CheckDepth::ChunkHeaders).run(&opened(file));
        for finding in headers.unwrap().findings {
            assert!(data.contains(&finding), "{at}: {finding}, but only {data:?}");
        }
    }
    assert!(damaged > 0, "no codec notices");
}

#[cfg(feature = "decompress")]
#[test]
fn data_of_chunk_files_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse.b2nd");
    copy_tree(&data().join("sparse.b2nd"), &path);
    let check = || Check::new(CheckDepth::ChunkData).run_path(&path).unwrap();
    let healthy = check();
    assert!(healthy.findings.is_empty() && healthy.skipped.is_empty());
    // Replaces chunk 1 by a chunk of another file. The new chunk is compressed with zstd.
    let donor = data().join("peers/hole_at_end.b2frame");
    let (start, cbytes) = compressed(&donor);
    let mut chunk = fs::read(donor).unwrap()[start..start + cbytes].to_vec();
    fs::write(path.join("00000001.chunk"), &chunk).unwrap();
    assert!(check().findings.iter().all(|finding| finding.code() == FindingCode::ChunkHeader));
    let header = Frame::open(&path).unwrap().header().clone();
    for (at, value) in [(4, header.chunksize), (8, header.blocksize.unwrap())] {
        chunk[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    fs::write(path.join("00000001.chunk"), &chunk).unwrap();
    let report = check();
    assert!(!report.findings.is_empty());
}

/// If two table entries are the same, C-Blosc2 decompresses one block twice and reports no error.
#[cfg(feature = "decompress")]
#[test]
fn blocks_that_share_bytes_are_found() {
    let path = data().join("peers/many_blocks.b2nd");
    let mut file = fs::read(&path).unwrap();
    let (start, _) = compressed(&path);
    let table = start + 32;
    file.copy_within(table + 60 * 4..table + 61 * 4, table + 61 * 4);
    let findings = report(file).findings;
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].message(), "chunk 1 cannot be decompressed: blocks 60 and 61 share bytes");
}

#[test]
fn what_this_crate_cannot_decompress_is_not_called_damaged() {
    let path = data().join("peers/many_blocks.b2nd");
    let mut file = fs::read(&path).unwrap();
    let (start, _) = compressed(&path);
    // The flags now say that the codec is in byte 22. Codec 33 is zfp_acc.
    file[start + 2] = file[start + 2] & 0x1f | 0xc0;
    file[start + 22] = 33;
    let report = report(file);
    assert_eq!(report.findings, []);
    let says = if cfg!(feature = "decompress") {
        "1 chunk not decompressed: chunk 1 has zfp_acc, a codec that this crate cannot decompress"
    } else {
        "2 chunks not decompressed: chunk 0 is compressed; build with the feature `decompress`"
    };
    assert_eq!(report.skipped.len(), 1);
    assert_eq!(report.skipped[0].part, SkippedPart::Data);
    assert_eq!(report.skipped[0].to_string(), says);
}

#[test]
fn a_codec_that_nobody_knows_is_damage() {
    let path = data().join("peers/many_blocks.b2nd");
    let mut file = fs::read(&path).unwrap();
    let (start, _) = compressed(&path);
    // The flags now say that the codec is in byte 22. No codec has the number 41: the known plugins have lower numbers,
    // and the codecs of users have higher numbers.
    file[start + 2] = file[start + 2] & 0x1f | 0xc0;
    file[start + 22] = 41;
    let report = report(file.clone());
    let says = "chunk 1 has codec 41, which belongs neither to C-Blosc2 nor to a plugin";
    let found: Vec<_> = report.findings.iter().map(|finding| (finding.code(), finding.message())).collect();
    assert_eq!(found, [(FindingCode::ChunkData, says)]);
    #[cfg(feature = "decompress")]
    {
        let frame = opened(&file);
        let mut chunks = frame.chunks().unwrap();
        let entry = chunks.get(1).unwrap().unwrap();
        for error in
            [chunks.decompressed(&entry).unwrap_err(), opened_array(&file).whole().read().unwrap_err()]
        {
            assert_eq!(error.finding(), report.findings.first());
        }
    }
}

#[cfg(feature = "decompress")]
#[test]
fn why_a_chunk_is_not_decompressed_is_said() {
    let any_length = "peers/blocks_of_any_length.b2frame";
    for (name, at, bytes, says) in [
        ("peers/many_blocks.b2nd", 2, &[0xe5][..], "leaves its codec to the frame"),
        ("peers/many_blocks.b2nd", 16, &[34], "has bytedelta_buggy, a filter that this crate cannot undo"),
        (
            "peers/many_blocks.b2nd",
            16,
            &[35],
            "has bytedelta with parameter 0, a filter that takes the item size from the frame",
        ),
        ("peers/many_blocks.b2nd", 16, &[32], "has ndcell, a filter that this crate cannot undo"),
        ("peers/many_blocks.b2nd", 16, &[33], "has ndmean, a filter that this crate cannot undo"),
        (any_length, 4, &(1_u32 << 30).to_le_bytes(), "has data of 1073741824 bytes in "),
    ] {
        let path = data().join(name);
        let mut file = fs::read(&path).unwrap();
        let (start, _) = compressed(&path);
        file[start + at..start + at + bytes.len()].copy_from_slice(bytes);
        let report = report(file);
        let [unchecked] = &report.skipped[..] else { panic!("{says}: {:?}", report.skipped) };
        let unchecked = unchecked.to_string();
        assert!(
            unchecked.starts_with("1 chunk not decompressed: chunk ") && unchecked.contains(says),
            "{unchecked}"
        );
        assert!(
            report.findings.iter().all(|finding| finding.code() != FindingCode::ChunkData),
            "{:?}",
            report.findings
        );
    }
}

/// A check must find damage in chunks that were written with a plugin's filter. This shows that the check decompresses
/// such chunks.
#[cfg(feature = "decompress")]
#[test]
fn what_plugins_wrote_is_decompressed() {
    let mut noticed = 0;
    for name in ["bytedelta", "int_trunc"] {
        let path = data().join(format!("plugins/{name}.b2nd"));
        let file = fs::read(&path).unwrap();
        let whole = report(file.clone());
        assert_eq!((&whole.findings[..], &whole.skipped[..]), (&[][..], &[][..]), "{name}");
        let (start, cbytes) = compressed(&path);
        for at in start + 48..start + cbytes {
            let mut damaged = file.clone();
            damaged[at] ^= 0xff;
            noticed += usize::from(!report(damaged).findings.is_empty());
        }
    }
    assert!(noticed > 0);
}

#[cfg(feature = "decompress")]
#[test]
fn a_few_bytes_that_claim_a_gigabyte_are_left_alone() {
    let path = data().join("peers/hole_at_end.b2frame");
    let file = fs::read(&path).unwrap();
    let (start, _) = compressed(&path);
    let mut claims = file.clone();
    for chunk in [97, 249, 401, start] {
        for at in [4, 8] {
            claims[chunk + at..chunk + at + 4].copy_from_slice(&(1_u32 << 28).to_le_bytes());
        }
    }
    // The chunk headers now claim 256 MiB for each of the four chunks. The frame header gets values that agree with
    // this: nbytes is the size of all four chunks, and chunksize is the size of one chunk.
    claims[30..38].copy_from_slice(&(4_u64 << 28).to_be_bytes());
    let at = claims.windows(4).position(|bytes| bytes == 400_u32.to_be_bytes()).unwrap();
    claims[58..62].copy_from_slice(&(1_u32 << 28).to_be_bytes());
    assert_eq!(at, 58, "the chunk size");
    let report = report(claims);
    let unchecked = report.skipped[0].to_string();
    assert!(
        unchecked.starts_with("4 chunks not decompressed: chunk 0 has a block of 268435456 bytes in "),
        "{unchecked}"
    );
}

/// A frame with one chunk of one block, in which all bytes are the same.
#[cfg(feature = "decompress")]
fn of_one_byte(length: usize, byte: u8) -> Vec<u8> {
    let mut chunk = chunk_with_a_table(1);
    if byte != 0 {
        chunk.truncate(36);
        chunk.extend((-i32::from(byte)).to_le_bytes());
        chunk.push(1);
    }
    let cbytes = chunk.len();
    for (at, number) in [(4, length), (8, length), (12, cbytes)] {
        chunk[at..at + 4].copy_from_slice(&u32::try_from(number).unwrap().to_le_bytes());
    }
    frame_of_chunks(&chunk, &[0], length)
}

#[cfg(feature = "decompress")]
#[test]
fn a_few_bytes_are_decompressed_to_64_mebibytes_and_zeros_not_at_all() {
    const MOST: usize = 1 << 26;
    for (length, byte, says) in [
        (MOST, 7, None),
        (
            MOST + 1,
            7,
            Some("a block of 67108865 bytes in 5 stored bytes, but at most 67108864 are decompressed"),
        ),
        (MOST + 1, 0, None),
        (1 << 28, 0, None),
    ] {
        let report = report(of_one_byte(length, byte));
        assert_eq!(report.findings, [], "{length}");
        let unchecked: Vec<String> = report.skipped.iter().map(ToString::to_string).collect();
        let says = says.map(|says| format!("1 chunk not decompressed: chunk 0 has {says}"));
        assert_eq!(unchecked, says.into_iter().collect::<Vec<_>>(), "{length}");
    }
}

#[cfg(feature = "decompress")]
#[test]
fn a_last_block_that_is_shorter_and_every_filter_of_c_blosc2_itself_are_no_damage() {
    let chunks = b2nd_lab::chunks_of("short_block");
    assert_eq!(chunks.len(), 4);
    for mut chunk in chunks {
        let codec = chunk[22];
        assert!(chunk[2] & 2 == 0 && chunk[8..12] == [0, 1, 0, 0], "{codec}: {:?}", &chunk[..32]);
        // In turn: no filter; `trunc_prec`, which decompression need not undo; a filter number that does not exist; a
        // filter of a user.
        for (filter, damaged, unchecked) in [(0, 0, 0), (4, 0, 0), (5, 1, 0), (200, 0, 1)] {
            chunk[16] = filter;
            let report = report(frame_of_chunks(&chunk, &[0], 1000));
            let data = report.findings.iter().filter(|finding| finding.code() == FindingCode::ChunkData);
            assert_eq!((data.count(), report.skipped.len()), (damaged, unchecked), "{codec}, {filter}");
        }
    }
}

/// A check that finds an error looks at the chunk again. In this test, a writer completes the chunk before the check
/// looks again.
#[test]
fn a_chunk_that_is_being_written_is_looked_at_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.b2nd");
    let whole = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let mut damaged = whole.clone();
    damaged[229 + 15] = 0x40;
    for depth in [CheckDepth::ChunkHeaders, CheckDepth::ChunkData] {
        fs::write(&path, &damaged).unwrap();
        let mut is_damaged = true;
        let check = Check::new(depth).on_progress(|done| {
            if done == 4 && std::mem::take(&mut is_damaged) {
                fs::write(&path, &whole).unwrap();
            }
            ControlFlow::Continue(())
        });
        assert_eq!(check.run_path(&path).unwrap().findings, []);

        fs::write(&path, &damaged).unwrap();
        let mut looks = 0;
        let check = Check::new(depth).on_progress(|done| {
            looks += u32::from(done == 4);
            ControlFlow::Continue(())
        });
        assert_eq!(check.run_path(&path).unwrap().findings.len(), 1);
        assert!(looks >= 2, "a second look");
    }
}

/// A frame with an array of 40 chunks, whose compressed chunks have about half of `chunk_len` bytes.
#[cfg(feature = "compress")]
fn forty_chunks(chunk_len: usize) -> Vec<u8> {
    let chunk = i32::try_from(chunk_len).unwrap();
    let nitems = 40 * i64::from(chunk);
    let shapes = Shapes { shape: &[nitems], chunkshape: &[chunk], blockshape: &[chunk / 4] };
    let mut rng = fastrand::Rng::with_seed(1);
    let items: Vec<u8> = (0..40 * chunk_len).map(|at| if at % 64 < 32 { rng.u8(..) } else { 7 }).collect();
    let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap());
    let writer = builder.write_to(Cursor::new(Vec::new())).unwrap();
    let mut array = writer.into_array_writer().unwrap();
    array.write(slice::from_ref(&(0..nitems.unsigned_abs())), &items).unwrap();
    array.finish().unwrap().into_inner()
}

/// The offset of each chunk.
#[cfg(feature = "compress")]
fn starts(file: &[u8]) -> Vec<usize> {
    let frame = opened(file.to_vec());
    let places = frame.chunks().unwrap().map(|entry| match entry.unwrap().place {
        ChunkPlace::Frame(start) => usize::try_from(start).unwrap(),
        place => panic!("{place:?}"),
    });
    places.collect()
}

#[cfg(feature = "compress")]
#[test]
fn a_check_with_threads_finds_the_same_in_the_same_order() {
    let file = forty_chunks(4000);
    let starts = starts(&file);
    let mut rng = fastrand::Rng::with_seed(2);
    let mut most = 0;
    for ndamaged in [0, 1, 7, 30, 40] {
        for _ in 0..3 {
            let mut damaged = file.clone();
            // Most bytes are in the data of the chunk, and some in its header.
            for number in rng.choose_multiple(0..40, ndamaged) {
                let length = if rng.bool() { 1200 } else { 32 };
                damaged[starts[number] + rng.usize(..length)] ^= 1 << rng.u8(..8);
            }
            let check = |threads| {
                let check = Check::new(CheckDepth::ChunkData).threads(threads);
                check.run(&opened(damaged.clone())).unwrap()
            };
            let expected = check(1);
            most = most.max(expected.findings.len());
            for threads in [0, 2, 5, 1000] {
                let found = check(threads);
                assert_eq!(
                    (found.findings, found.skipped),
                    (expected.findings.clone(), expected.skipped.clone())
                );
            }
        }
    }
    assert!(most > 10, "{most}");
}

/// A file that counts how often each of its bytes was read.
#[cfg(feature = "compress")]
struct Counted {
    file: Vec<u8>,
    counts: Mutex<Vec<u32>>,
}

#[cfg(feature = "compress")]
impl ReadAt for Counted {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let length = self.file.read_at(buffer, offset)?;
        let start = usize::try_from(offset).unwrap();
        self.counts.lock().unwrap()[start..start + length].iter_mut().for_each(|count| *count += 1);
        Ok(length)
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }
}

#[cfg(feature = "compress")]
#[test]
fn a_check_of_data_reads_each_byte_of_a_chunk_once() {
    for chunk_len in [400, 4000, 40_000, 400_000] {
        let file = forty_chunks(chunk_len);
        let starts = starts(&file);
        let counts = Mutex::new(vec![0; file.len()]);
        let frame = Frame::read_at(Counted { file, counts }, 0).unwrap();
        let Counted { counts, .. } = frame.reader();
        counts.lock().unwrap().fill(0);
        assert_eq!(Check::new(CheckDepth::ChunkData).threads(2).run(&frame).unwrap().findings, []);
        let counts = counts.lock().unwrap();
        // The first bytes of a chunk are also the bytes after the chunk before it.
        for (number, chunk) in starts.windows(2).enumerate() {
            let again = counts[chunk[0] + 32..chunk[1]].iter().filter(|&&count| count != 1).count();
            assert_eq!(again, 0, "chunk {number} of {chunk_len}");
        }
    }
}
