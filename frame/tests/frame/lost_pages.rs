//! A disk, a file system or a transfer loses pages of 4096 bytes: zeros are in their place.

use std::collections::BTreeSet;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::slice;

use b2nd_frame::{
    Array, Check, CheckDepth, ChunkPlace, Codec, Error, Finding, FindingCode, Frame, FrameBuilder, Salvage,
    SalvageReport,
};
use b2nd_serde::{Meta, Shapes};
use fastrand::Rng;

const PAGE: usize = 4096;

/// Bytes that every codec compresses a little: repeated words, with noise between them. The bytes are small numbers, so
/// zstd does not store the noise as it is.
fn words(rng: &mut Rng, length: usize) -> Vec<u8> {
    let words: Vec<Vec<u8>> =
        (0..40).map(|_| (0..rng.usize(8..30)).map(|_| rng.u8(..32)).collect()).collect();
    let mut bytes = Vec::new();
    while bytes.len() < length {
        bytes.extend_from_slice(rng.choice(&words).unwrap());
        bytes.extend((0..rng.usize(1..12)).map(|_| rng.u8(..32)));
    }
    bytes.truncate(length);
    bytes
}

/// An array of bytes in chunks and blocks of these lengths.
fn array(items: &[u8], chunk: i32, block: i32, codec: Codec, level: u8) -> Vec<u8> {
    let length = items.len();
    let shape = [i64::try_from(length).unwrap()];
    let shapes = Shapes { shape: &shape, chunkshape: &[chunk], blockshape: &[block] };
    let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap());
    let builder = builder.codec(codec).level(level).filters(&[]);
    let mut writer = builder.write_to(Cursor::new(Vec::new())).unwrap().into_array_writer().unwrap();
    writer.write(slice::from_ref(&(0..length as u64)), items).unwrap();
    writer.finish().unwrap().into_inner()
}

fn findings(file: &[u8]) -> Vec<Finding> {
    let frame = Frame::read_at(Cursor::new(file), 0).unwrap();
    Check::new(CheckDepth::ChunkData).run(&frame).unwrap().findings
}

fn read(file: &[u8]) -> Option<Vec<u8>> {
    Array::new(Frame::read_at(file, 0).unwrap()).unwrap().whole().read().ok()
}

fn salvaged(file: &[u8]) -> Result<SalvageReport, Error> {
    Salvage::read_at(Cursor::new(file), 0).unwrap().assume_order().preview()
}

/// Noise that LZ4 stores as one long run of literals, and a repetition of its start.
fn noise_and_repetition(rng: &mut Rng) -> Vec<u8> {
    let noise: Vec<u8> = (0..50_000).map(|_| rng.u8(..)).collect();
    [&noise[..], &noise[..10_000]].concat()
}

/// Loses 4096 bytes of an array at many offsets, as the array can be a part of a larger file. Where the items then differ,
/// a check must find the chunk, and a salvage must not call it saved.
#[test]
fn each_lost_page_of_compressed_bytes_is_found_in_its_chunk() {
    let mut rng = Rng::with_seed(1);
    let mut kinds = BTreeSet::new();
    for codec in [Codec::BLOSCLZ, Codec::LZ4, Codec::ZLIB, Codec::ZSTD] {
        // The streams have a page, many pages, or a part of a page.
        for block in [3_000, 9_000, 60_000] {
            let mut items = words(&mut rng, 120_000);
            if codec == Codec::LZ4 && block == 60_000 {
                items = [noise_and_repetition(&mut rng), items[..60_000].to_vec()].concat();
            }
            let file = array(&items, 60_000, block, codec, 5);
            assert_eq!(findings(&file), [], "{codec}");
            let first = Frame::parse(&file).unwrap().header().header_len;
            let end = crate::index_start(&file);
            for page in (first..end - PAGE).step_by(3_001) {
                let mut lost = file.clone();
                lost[page..page + PAGE].fill(0);
                if read(&lost).is_some_and(|read| read == items) {
                    continue;
                }
                let name = codec.name().unwrap();
                let findings = findings(&lost);
                let of_chunk: Vec<_> = findings.iter().filter(|finding| finding.chunk().is_some()).collect();
                assert!(!of_chunk.is_empty(), "{name}, blocks of {block}, page {page}: {findings:?}");
                // If no chunk can be saved, the salvage fails.
                if let Ok(report) = salvaged(&lost) {
                    assert!(report.found_damage(), "{name}, blocks of {block}, page {page}");
                    assert!(report.lost_count() + report.unverified_count() > 0);
                }
                kinds.extend(of_chunk.iter().map(|finding| finding.code().name()));
            }
        }
    }
    // Some streams are still valid with the zeros, some begin or end in the page, and some pages begin a chunk.
    assert_eq!(kinds, ["chunk-data", "chunk-header", "lost-page"].into());
}

#[test]
fn a_lost_page_within_a_stream_is_a_warning_and_the_chunk_is_saved_as_unverified() {
    let file = array(&noise_and_repetition(&mut Rng::with_seed(2)), 60_000, 60_000, Codec::LZ4, 5);
    let mut found = 0;
    for page in (1_500..crate::index_start(&file) - PAGE).step_by(PAGE) {
        let mut lost = file.clone();
        lost[page..page + PAGE].fill(0);
        let findings = findings(&lost);
        if findings.iter().all(|finding| finding.code() != FindingCode::LostPage) {
            continue;
        }
        found += 1;
        let message = format!(
            "chunk 0 has 4096 zeros in its compressed bytes, at byte {page} of the file: a page that was probably lost"
        );
        assert_eq!((findings.len(), findings[0].message()), (1, &*message));
        assert_eq!((findings[0].chunk(), read(&lost).is_some()), (Some(0), true));
        let report = salvaged(&lost).unwrap();
        assert_eq!((report.lost_count(), report.unverified_count(), report.found_damage()), (0, 1, true));
        assert!(report.unverified[0].why.starts_with("it has 4096 zeros in its compressed bytes"));
    }
    assert!(found > 8, "{found}");
}

#[test]
fn a_lost_page_between_blocks_is_an_error() {
    // The first blocks are stored uncompressed, so the codec does not notice that the end of a block is lost.
    let rng = &mut Rng::with_seed(3);
    let noise: Vec<u8> = (0..30_000).map(|_| rng.u8(..)).collect();
    let items = [noise, words(rng, 30_000)].concat();
    let mut file = array(&items, 60_000, 3_000, Codec::LZ4, 5);
    file[5_000..5_000 + PAGE].fill(0);
    let findings = findings(&file);
    let starts = "chunk 0 has 4096 zeros at byte 5000 of the file, and its bytes ";
    let message = findings[0].message();
    assert!(
        message.starts_with(starts) && message.ends_with(" belong to no block: a page was lost"),
        "{message}"
    );
    assert_eq!((findings.len(), findings[0].code()), (1, FindingCode::ChunkData));
    assert_eq!(read(&file).map(|read| read == items), Some(false), "the items can be read, but are wrong");
}

/// C-Blosc2 can write more blocks than the header says, if the block size is not a multiple of the item size.
#[test]
fn a_gap_between_blocks_without_a_page_of_zeros_is_accepted() {
    let items = words(&mut Rng::with_seed(3), 60_000);
    let mut file = array(&items, 60_000, 3_000, Codec::LZ4, 5);
    let start = Frame::parse(&file).unwrap().header().header_len;
    let block = u32::from_le_bytes(file[start + 36..start + 40].try_into().unwrap()) as usize;
    // Block 1 is all zeros now, and its bytes belong to no block.
    file[start + block..start + block + 4].fill(0);
    assert_eq!(findings(&file), []);
}

/// A killed writer can leave a file with the right length whose last pages were never written.
#[test]
fn a_chunk_that_ends_in_a_page_of_zeros_is_lost() {
    let mut rng = Rng::with_seed(4);
    for (codec, level, block) in [(Codec::ZSTD, 5, 30_000), (Codec::LZ4, 5, 3_000), (Codec::LZ4, 0, 30_000)] {
        let file = array(&words(&mut rng, 300_000), 30_000, block, codec, level);
        let frame = Frame::read_at(Cursor::new(&file), 0).unwrap();
        let mut chunks = frame.chunks().unwrap();
        let mut ends = Vec::new();
        while let Some(entry) = chunks.next().transpose().unwrap() {
            let ChunkPlace::Frame(start) = entry.place else { panic!("not stored") };
            ends.push(usize::try_from(start).unwrap() + chunks.header(&entry).unwrap().unwrap().cbytes());
        }
        for first in (PAGE..crate::index_start(&file)).step_by(PAGE) {
            let mut cut = file.clone();
            cut[first..].fill(0);
            let whole = ends.iter().filter(|&&end| end <= first).count() as u64;
            let Ok(report) = salvaged(&cut) else {
                assert_eq!(whole, 0);
                continue;
            };
            assert_eq!(10 - report.lost_count(), whole, "{codec}, level {level}, zeros from {first}");
        }
    }
}

/// The items are mostly noise with long runs of zeros, which encoders shorten least.
#[test]
fn no_encoder_leaves_a_page_of_zeros_in_a_stream() {
    let mut rng = Rng::with_seed(5);
    for _ in 0..60 {
        let length = rng.usize(20_000..300_000);
        let mask = rng.choice([0xff, 0xff, 0x7f, 3]).unwrap();
        let mut items: Vec<u8> = match rng.u8(..4) {
            0 => (0..length).map(|at| at.to_le_bytes()[0]).collect(),
            1 => (0..length).map(|at| (at as u64 / 8).to_le_bytes()[at % 8]).collect(),
            _ => (0..length).map(|_| rng.u8(..) & mask).collect(),
        };
        for _ in 0..rng.usize(1..6) {
            let start = rng.usize(..length);
            let end = length.min(start + rng.choice([9_000, 20_000, 100_000]).unwrap());
            items[start..end].fill(0);
        }
        let block = rng.choice([10_000, 70_000, 300_000]).unwrap().min(i32::try_from(length).unwrap());
        for codec in [Codec::BLOSCLZ, Codec::LZ4, Codec::ZLIB, Codec::ZSTD] {
            let file = array(&items, i32::try_from(length).unwrap(), block, codec, rng.u8(1..=9));
            let findings = findings(&file);
            assert!(
                findings.iter().all(|finding| finding.code() == FindingCode::NoData),
                "{codec}: {findings:?}"
            );
        }
    }
}

#[test]
fn a_page_is_counted_in_the_chunk_file_of_a_sparse_frame() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse.b2nd");
    let shapes = Shapes { shape: &[60_000], chunkshape: &[60_000], blockshape: &[60_000] };
    let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).codec(Codec::LZ4).filters(&[]);
    let mut writer = builder.create_sparse(&path).unwrap().into_array_writer().unwrap();
    writer.write(slice::from_ref(&(0..60_000)), &noise_and_repetition(&mut Rng::with_seed(2))).unwrap();
    writer.finish().unwrap().persist().unwrap();
    let chunk = path.join("00000000.chunk");
    let mut bytes = fs::read(&chunk).unwrap();
    bytes[PAGE..2 * PAGE].fill(0);
    fs::write(&chunk, bytes).unwrap();
    let findings = Check::new(CheckDepth::ChunkData).run_path(&path).unwrap().findings;
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(
        findings[0].message(),
        "chunk 0, in 00000000.chunk, has 4096 zeros in its compressed bytes, at byte 4096 of the file: a page that was \
         probably lost"
    );
}

/// A download that was preallocated and not finished ends in zeros, which can begin anywhere.
#[test]
fn salvage_verifies_no_chunk_that_ends_in_zeros_from_any_byte_on() {
    let items = words(&mut Rng::with_seed(7), 60_000);
    let mut nsaved = 0;
    for codec in [Codec::ZSTD, Codec::LZ4, Codec::BLOSCLZ, Codec::ZLIB] {
        let file = array(&items, 30_000, 10_000, codec, 5);
        let end = crate::index_start(&file);
        for len in (1..400).filter(|len| file[end - len] != 0) {
            let mut damaged = file.clone();
            damaged[end - len..].fill(0);
            let report = salvaged(&damaged).unwrap();
            let lost = report.lost.iter().chain(&report.unverified).map(|chunks| chunks.first);
            assert_eq!(lost.collect::<Vec<_>>(), [1], "{codec:?}, {len}: {report:?}");
            nsaved += report.unverified_count();
        }
    }
    assert!(nsaved > 0);
}

/// Nothing follows a chunk in its file, so the last page of the file can be shorter than a page.
#[test]
fn salvage_verifies_no_compressed_chunk_file_that_ends_in_a_page_of_zeros() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = Rng::with_seed(7);
    let mut items = words(&mut rng, 60_000);
    // The last block is stored without compression, so it can be decompressed whatever its bytes are.
    items[50_000..].fill_with(|| rng.u8(..));
    let shapes = Shapes { shape: &[60_000], chunkshape: &[30_000], blockshape: &[10_000] };
    for codec in [Codec::ZSTD, Codec::LZ4, Codec::BLOSCLZ, Codec::ZLIB] {
        let path = folder.path().join(format!("{codec}.b2nd"));
        let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).codec(codec).filters(&[]);
        let mut writer = builder.create_sparse(&path).unwrap().into_array_writer().unwrap();
        writer.write(slice::from_ref(&(0..60_000)), &items).unwrap();
        writer.finish().unwrap().persist().unwrap();
        assert!(Salvage::open(&path).unwrap().preview().unwrap().unverified.is_empty());
        let chunk = path.join("00000001.chunk");
        let mut bytes = fs::read(&chunk).unwrap();
        let page = (bytes.len() - 32) / PAGE * PAGE;
        bytes[page..].fill(0);
        fs::write(&chunk, bytes).unwrap();
        let report = Salvage::open(&path).unwrap().preview().unwrap();
        let unverified: Vec<_> =
            report.unverified.iter().map(|chunks| (chunks.first, chunks.count)).collect();
        assert_eq!((unverified, report.lost.len()), (vec![(1, 1)], 0), "{codec}: {report:?}");
    }
}

/// Each block of zeros is stored as the length 0, so the zeros at the end of a padded array are many zeros in the file.
#[test]
fn salvage_verifies_undamaged_chunks_that_end_in_blocks_of_zeros() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = Rng::with_seed(8);
    let mut nends = 0;
    for length in (20_000..30_000).step_by(100) {
        let mut items = words(&mut rng, length);
        items.resize(400_000, 0);
        let file = array(&items, 400_000, 4_096, Codec::LZ4, 5);
        let end = crate::index_start(&file);
        nends += u32::from(file[(end - 1) / PAGE * PAGE..end].iter().all(|&byte| byte == 0));
        let report = salvaged(&file).unwrap();
        assert!(!report.found_damage(), "{length}: {report:?}");
    }
    assert!(nends > 0);
    let chunk =
        chunk_file(folder.path(), &[words(&mut rng, 20_000), vec![0; 4_000_000]].concat(), 4_096, Codec::LZ4);
    assert_eq!(checked_and_salvaged(&chunk), (Vec::new(), [0, 0]));
}

/// Writes a sparse frame with two chunks of the same items, and returns the path of the second chunk's file.
fn chunk_file(folder: &Path, items: &[u8], block: i32, codec: Codec) -> PathBuf {
    let path = folder.join(format!("{codec}.b2nd"));
    let length = i32::try_from(items.len()).unwrap();
    let shape = [i64::from(length) * 2];
    let shapes = Shapes { shape: &shape, chunkshape: &[length], blockshape: &[block] };
    let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap()).codec(codec).filters(&[]);
    let mut writer = builder.create_sparse(&path).unwrap().into_array_writer().unwrap();
    writer.write(slice::from_ref(&(0..shape[0].unsigned_abs())), &[items, items].concat()).unwrap();
    writer.finish().unwrap().persist().unwrap();
    path.join("00000001.chunk")
}

/// The findings for a sparse frame, and its chunks that a salvage has lost and has not verified.
fn checked_and_salvaged(chunk: &Path) -> (Vec<Finding>, [u64; 2]) {
    let folder = chunk.parent().unwrap();
    let findings = Check::new(CheckDepth::ChunkData).run_path(folder).unwrap().findings;
    let report = Salvage::open(folder).unwrap().preview().unwrap();
    (findings, [report.lost_count(), report.unverified_count()])
}

#[test]
fn check_warns_of_a_chunk_file_that_ends_in_a_lost_page() {
    let folder = tempfile::tempdir().unwrap();
    let rng = &mut Rng::with_seed(8);
    // LZ4 ends the stream with a long run of literals, so any of their bytes can be decompressed.
    let items = [vec![5; 10_000], (0..50_000).map(|_| rng.u8(1..)).collect()].concat();
    let chunk = chunk_file(folder.path(), &items, 60_000, Codec::LZ4);
    let bytes = fs::read(&chunk).unwrap();
    assert_eq!(checked_and_salvaged(&chunk), (vec![], [0, 0]));
    for nzeros in [299, 1_000, 4_095] {
        let start = bytes.len() - nzeros;
        fs::write(&chunk, [&bytes[..start], &vec![0; nzeros]].concat()).unwrap();
        let (findings, salvaged) = checked_and_salvaged(&chunk);
        let message = format!(
            "chunk 1, in 00000001.chunk, ends with {nzeros} zeros in its compressed bytes, from byte {start} of the file on: a \
             page that was probably lost"
        );
        let found: Vec<_> = findings.iter().map(|finding| (finding.code(), finding.message())).collect();
        assert_eq!((&found[..], salvaged), (&[(FindingCode::LostPage, &*message)][..], [0, 1]));
    }
    // Zeros at the end of data can leave that many zeros at the end of its stream.
    let nzeros = 64 + 2 * 117;
    fs::write(&chunk, [&bytes[..bytes.len() - nzeros], &vec![0; nzeros]].concat()).unwrap();
    assert_eq!(checked_and_salvaged(&chunk).0, []);
}

/// The lost page has the length of the last stream, so the stream counts as zeros, and its bytes belong to no block.
#[test]
fn a_chunk_file_whose_last_stream_was_lost_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let rng = &mut Rng::with_seed(9);
    // The last but one block is stored without compression.
    let noise = (0..3_000).map(|_| rng.u8(1..)).collect();
    let items = [words(rng, 6_000), noise, words(rng, 3_000)].concat();
    let chunk = chunk_file(folder.path(), &items, 3_000, Codec::LZ4);
    let mut bytes = fs::read(&chunk).unwrap();
    let last = usize::try_from(u32::from_le_bytes(bytes[44..48].try_into().unwrap())).unwrap();
    bytes[last - 50..].fill(0);
    fs::write(&chunk, &bytes).unwrap();
    let (findings, salvaged) = checked_and_salvaged(&chunk);
    let (first, end) = (last + 4, bytes.len());
    let message = format!(
        "chunk 1 has {} zeros at byte {first} of the file, and its bytes {first} to {} belong to no block: a page was lost",
        end - first,
        end - 1
    );
    let found: Vec<_> = findings.iter().map(|finding| (finding.code(), finding.message())).collect();
    assert_eq!((&found[..], salvaged), (&[(FindingCode::ChunkData, &*message)][..], [1, 0]));
}

/// Data can end with zeros, and if it is not compressed, its chunk does too.
#[test]
fn check_does_not_warn_of_a_chunk_file_that_ends_with_uncompressed_zeros() {
    let folder = tempfile::tempdir().unwrap();
    let rng = &mut Rng::with_seed(10);
    let mut items: Vec<u8> = words(rng, 60_000);
    items[30_000..59_900].fill_with(|| rng.u8(..));
    items[59_900..].fill(0);
    for codec in [Codec::BLOSCLZ, Codec::LZ4] {
        let chunk = chunk_file(folder.path(), &items, 30_000, codec);
        let bytes = fs::read(&chunk).unwrap();
        assert!(bytes.ends_with(&items[30_000..]), "{codec}");
        assert_eq!(checked_and_salvaged(&chunk).0, [], "{codec}");
    }
}

/// Each stream of zeros is stored as the length 0, so a block of items with many bytes can end with many zeros.
#[test]
fn salvage_verifies_undamaged_chunks_that_end_in_streams_of_zeros() {
    let shapes = Shapes { shape: &[4_000], chunkshape: &[4_000], blockshape: &[4_000] };
    let items = (0..4_000_u32).flat_map(|item| [f64::from(item), 0.0].map(f64::to_le_bytes));
    let items: Vec<u8> = items.flatten().collect();
    let file = |padding: usize| {
        let builder = FrameBuilder::new(Meta::new(shapes, "<c16").unwrap()).codec(Codec::LZ4);
        let builder = builder.metalayer("padding", &vec![1; padding]);
        let mut writer = builder.write_to(Cursor::new(Vec::new())).unwrap().into_array_writer().unwrap();
        writer.write(slice::from_ref(&(0..4_000)), &items).unwrap();
        writer.finish().unwrap().into_inner()
    };
    let end = crate::index_start(&file(100));
    let file = file(100 + (PAGE + 32 - end % PAGE) % PAGE);
    let end = crate::index_start(&file);
    assert_eq!((end % PAGE, &file[end - 32..end]), (32, &[0; 32][..]));
    let report = salvaged(&file).unwrap();
    assert!(!report.found_damage(), "{:?}", report.unverified);
}
