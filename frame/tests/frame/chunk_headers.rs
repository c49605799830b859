//! A check of the chunk headers finds damaged headers, and reports nothing in undamaged files.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::frames::{chunk, with_index};
use crate::opened;
#[cfg(feature = "decompress")]
use crate::opened_array;
#[cfg(target_os = "linux")]
use crate::reads;
use b2nd_frame::{
    Check, CheckDepth, ChunkEntry, ChunkPlace, Error, ErrorKind, Filter, Finding, FindingCode, Frame,
    FrameBuilder, Place, ReadAt, Severity, check, is_sparse_frame,
};
use b2nd_lab::{
    chunk_with_a_table, copy, copy_tree, corpus, data, frame_of_chunks, shows_as_much_as_fits, stored_chunk,
};

/// The findings about chunks in a check of this frame.
fn of_chunks<R: ReadAt>(frame: &Frame<R>) -> Result<Vec<Finding>, Error> {
    let mut findings = Check::new(CheckDepth::ChunkHeaders).run(frame)?.findings;
    findings.retain(|finding| finding.place() == Place::Chunk);
    Ok(findings)
}

fn chunk_findings(file: Vec<u8>) -> Vec<Finding> {
    of_chunks(&opened(file)).unwrap()
}

/// The bytes of a file with compressed chunks, and the offsets in the file at which these chunks begin.
fn compressed() -> (Vec<u8>, Vec<usize>) {
    let path = data().join("geometry/d3_f4_awkward.b2nd");
    let frame = Frame::open(&path).unwrap();
    let mut starts = Vec::new();
    let mut chunks = frame.chunks().unwrap();
    while let Some(entry) = chunks.next().transpose().unwrap() {
        let header = chunks.header(&entry).unwrap().unwrap();
        assert!(header.codec().is_some(), "not compressed");
        let ChunkPlace::Frame(start) = entry.place else { panic!("{entry:?}") };
        starts.push(usize::try_from(start).unwrap());
    }
    assert!(starts.len() > 3);
    (fs::read(path).unwrap(), starts)
}

#[test]
fn a_damaged_chunk_header_is_found() {
    let (file, starts) = compressed();
    assert_eq!(chunk_findings(file.clone()), []);
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
        let findings = chunk_findings(damaged);
        assert!(!findings.is_empty(), "{name}");
        let finding = &findings[0];
        assert!(finding.message().contains("chunk 1"), "{name}: {findings:?}");
        assert!(
            matches!(finding.code(), FindingCode::ChunkHeader | FindingCode::ChunkOverlap),
            "{name}: {finding}"
        );
        assert_eq!(finding.offset(), Some(starts[1] as u64), "{name}: {finding}");
    }
}

/// If an uncompressed chunk has the dictionary flag, C-Blosc2 takes the first bytes of its data for the length of a
/// dictionary. This crate ignores the flag and reads the data, which is undamaged.
#[test]
fn an_uncompressed_chunk_with_the_flag_of_a_dictionary_is_found_and_read() {
    const SAYS: &str = "is not compressed, but its header has the dictionary flag: C-Blosc2 takes the first 4 bytes of the \
                        data for a dictionary's length, and refuses the chunk unless they happen to be a valid length; the \
                        data itself is whole, and this crate reads it";
    let sound = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    // The flags of an uncompressed chunk, first with codecs that support dictionaries, then with BloscLZ, which does
    // not.
    for (flags, byte) in [(0x97, 0x01), (0x97, 0x83), (0x37, 0x01), (0x17, 0x01)] {
        let mut file = sound.clone();
        (file[229 + 2], file[229 + 31]) = (flags, byte);
        for depth in [CheckDepth::Frame, CheckDepth::ChunkHeaders, CheckDepth::ChunkData] {
            let findings = Check::new(depth).run(&opened(&file)).unwrap().findings;
            if depth == CheckDepth::Frame {
                assert_eq!(findings, []);
                continue;
            }
            let [finding] = &findings[..] else { panic!("{flags:#x}, {byte:#x}: {findings:?}") };
            assert_eq!((finding.code(), finding.severity()), (FindingCode::ChunkDictionary, Severity::Error));
            assert_eq!((finding.chunk(), finding.offset()), (Some(1), Some(229)));
            assert_eq!(finding.message(), format!("chunk 1 {SAYS}"));
        }
        let (frame, other) = (opened(&file), opened(&sound));
        let (mut chunks, mut others) = (frame.chunks().unwrap(), other.chunks().unwrap());
        let entry = chunks.get(1).unwrap().unwrap();
        let body = |bytes: Option<Vec<u8>>| bytes.unwrap()[32..].to_vec();
        assert_eq!(body(chunks.compressed(&entry).unwrap()), body(others.compressed(&entry).unwrap()));
        #[cfg(feature = "decompress")]
        {
            assert_eq!(chunks.decompressed(&entry).unwrap(), others.decompressed(&entry).unwrap());
            let [read, expected] = [&file, &sound].map(|file| opened_array(file).whole().read().unwrap());
            assert_eq!(read, expected);
        }
    }

    // If the frame is sparse, the finding also names the chunk file.
    let (_folder, path) = copy("sparse.b2nd");
    let mut chunk = fs::read(path.join("00000002.chunk")).unwrap();
    chunk[31] |= 1;
    fs::write(path.join("00000002.chunk"), chunk).unwrap();
    let findings = of_chunks(&Frame::open(&path).unwrap()).unwrap();
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!((finding.code(), finding.offset()), (FindingCode::ChunkDictionary, None));
    assert_eq!(finding.message(), format!("chunk 2, in 00000002.chunk, {SAYS}"));
}

/// A check does not panic, whichever of the first 60 bytes of a chunk is changed. If many chunks are damaged, the check
/// has at most 21 findings about them.
#[test]
fn damaged_chunks_cause_no_panic_and_at_most_21_findings() {
    let (file, starts) = compressed();
    for at in 0..60 {
        for byte in [0, 1, 0x7f, 0x80, 0xff] {
            let mut damaged = file.clone();
            damaged[starts[2] + at] = byte;
            chunk_findings(damaged);
        }
    }
    let mut damaged = file.clone();
    damaged[starts[0]..starts[starts.len() - 1] + 32].fill(0);
    let all = chunk_findings(damaged);
    assert_eq!(all.len(), starts.len().min(21));
}

#[test]
fn a_damaged_chunk_file_is_found() {
    let (_folder, path) = copy("sparse.b2nd");
    let file = path.join("00000002.chunk");
    let chunk = fs::read(&file).unwrap();
    for (at, bytes) in [(4, &[9][..]), (12, &[0, 0, 0, 0x40]), (3, &[8]), (0, &[0; 32]), (31, &[0x10])] {
        let mut damaged = chunk.clone();
        damaged[at..at + bytes.len()].copy_from_slice(bytes);
        fs::write(&file, damaged).unwrap();
        let findings = of_chunks(&Frame::open(&path).unwrap()).unwrap();
        assert_eq!(findings.len(), 1, "{at}");
        assert_eq!((findings[0].code(), findings[0].offset()), (FindingCode::ChunkHeader, None));
        assert!(findings[0].message().contains("00000002.chunk"), "{}", findings[0]);
    }
    // The check of the chunk index already reports a missing file, and the check of the chunk headers does not repeat
    // it.
    fs::remove_file(&file).unwrap();
    let findings = Check::new(CheckDepth::ChunkHeaders).run_path(&path).unwrap().findings;
    assert_eq!(findings, check(&path).unwrap().findings);
    assert_eq!((findings.len(), findings[0].code()), (1, FindingCode::ChunkFile));
}

/// Writes `many_blocks.b2nd` as a sparse frame, with frame type 1 and with file numbers instead of offsets in the
/// index. Returns the second of its two chunks. Each chunk has a table of 70 blocks.
fn many_blocks(path: &Path) -> Vec<u8> {
    let file = fs::read(data().join("peers/many_blocks.b2nd")).unwrap();
    let parsed = Frame::parse(&file).unwrap();
    let (header_len, cbytes) = (parsed.header().header_len, usize::try_from(parsed.header().cbytes).unwrap());
    let (chunks, rest) = file[header_len..].split_at(cbytes);
    let (first, second) = chunks.split_at(8501);
    let mut index = [&file[..header_len], rest].concat();
    index[26] |= 1;
    let frame_len = index.len() as u64;
    index[16..24].copy_from_slice(&frame_len.to_be_bytes());
    let at = index.windows(8).rposition(|bytes| bytes == 8501_u64.to_le_bytes()).unwrap();
    index[at..at + 8].copy_from_slice(&1_u64.to_le_bytes());
    fs::create_dir(path).unwrap();
    for (name, bytes) in
        [("chunks.b2frame", &index[..]), ("00000000.chunk", first), ("00000001.chunk", second)]
    {
        fs::write(path.join(name), bytes).unwrap();
    }
    second.to_vec()
}

#[test]
fn a_chunk_file_that_is_longer_than_its_chunk_is_fine_if_its_blocks_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frame");
    copy_tree(&data().join("sparse.b2nd"), &path);
    let sparse = path.join("00000003.chunk");
    let stored = fs::read(&sparse).unwrap();
    fs::write(&sparse, [&stored[..], b"left over"].concat()).unwrap();
    assert_eq!(of_chunks(&Frame::open(&path).unwrap()).unwrap(), []);

    let path = folder.path().join("many_blocks");
    let second = &many_blocks(&path)[..];
    let write = |chunk: &[u8]| fs::write(path.join("00000001.chunk"), chunk).unwrap();
    let check = || Check::new(CheckDepth::ChunkHeaders).run_path(&path).unwrap().findings;
    write(second);
    assert_eq!(check(), []);
    write(&[second, b"left over"].concat());
    assert_eq!(check(), []);
    // cbytes includes 9 bytes at the end that belong to no block.
    let mut unused = [second, b"left over"].concat();
    unused[12..16].copy_from_slice(&8509_u32.to_le_bytes());
    write(&unused);
    assert_eq!(check(), []);
    // cbytes is smaller than the data of the chunk.
    let mut shorter = second.to_vec();
    shorter[12..16].copy_from_slice(&8492_u32.to_le_bytes());
    write(&shorter);
    let findings = check();
    assert_eq!(findings.len(), 1);
    assert_eq!(
        findings[0].message(),
        "chunk 1, in 00000001.chunk, has 8492 bytes, but its last block ends at byte 8500 of it"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn check_reads_a_chunk_file_once_for_its_data_and_twice_at_most_for_its_header() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frame");
    many_blocks(&path);
    let read = |depth| {
        let before = reads()?;
        assert_eq!(Check::new(depth).run_path(&path).unwrap().findings, []);
        Some(reads()? - before)
    };
    let (Some(frame), Some(headers), Some(data)) =
        (read(CheckDepth::Frame), read(CheckDepth::ChunkHeaders), read(CheckDepth::ChunkData))
    else {
        return;
    };
    assert_eq!(headers - frame, 2 * 2, "of each the start, and the table of its blocks");
    assert_eq!(data - frame, 2, "a long start, which is the whole of a short file");
}

#[test]
fn a_block_is_looked_for_in_a_long_table_too() {
    let mut file = fs::read(data().join("peers/many_blocks.b2nd")).unwrap();
    // Chunk 1 has a table of 70 blocks. The check first reads 256 bytes of the chunk, with the header and 56 entries.
    let entry = 8647 + 32 + 65 * 4;
    for (value, says) in [
        (
            311,
            "chunk 1 has block 65 at its byte 311, but it must begin at byte 312 or later, and before byte 8500",
        ),
        (
            8500,
            "chunk 1 has block 65 at its byte 8500, but it must begin at byte 312 or later, and before byte 8500",
        ),
        (
            -1,
            "chunk 1 has block 65 at its byte -1, but it must begin at byte 312 or later, and before byte 8500",
        ),
    ] {
        file[entry..entry + 4].copy_from_slice(&i32::to_le_bytes(value));
        let findings = chunk_findings(file.clone());
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].message(), says);
    }

    // The check reads a table of 40,000 blocks in three pieces. Block 16,384 is the first block of the second piece.
    let (blocks, after) = (40_000, [&[0xff; 32][..], &stored_chunk(&vec![0; 319_968])].concat());
    let mut chunk = chunk_with_a_table(blocks);
    let file = |chunk: &[u8]| frame_of_chunks(&[chunk, &after].concat(), &[0, chunk.len() + 32], 8 * blocks);
    let length = chunk.len();
    let of_the_first = |file| chunk_findings(file).into_iter().filter(|finding| finding.chunk() == Some(0));
    assert_eq!(of_the_first(file(&chunk)).count(), 0);
    for block in [16_384, 39_999] {
        let at = 32 + 4 * block;
        let start: [u8; 4] = chunk[at..at + 4].try_into().unwrap();
        chunk[at..at + 4].fill(0);
        let says: Vec<String> =
            of_the_first(file(&chunk)).map(|finding| finding.message().to_owned()).collect();
        let least = length - 4;
        assert_eq!(
            says,
            [format!(
                "chunk 0 has block {block} at its byte 0, but it must begin at byte {least} or later, and before byte {length}"
            )]
        );
        chunk[at..at + 4].copy_from_slice(&start);
    }
}

#[test]
fn bytes_that_no_block_needs_are_no_fault_if_they_are_of_the_chunk() {
    let mut chunk = chunk_with_a_table(8);
    chunk.extend([0xff; 9]);
    let length = u32::try_from(chunk.len()).unwrap();
    chunk[12..16].copy_from_slice(&length.to_le_bytes());
    let file = frame_of_chunks(&[&chunk[..], &stored_chunk(&[7; 64])].concat(), &[0, chunk.len()], 64);
    assert_eq!(chunk_findings(file), []);
}

#[test]
fn the_largest_block_is_that_of_c_blosc2() {
    const MOST: usize = 536_866_816;
    let checked = |blocksize: usize| {
        let mut chunk = stored_chunk(b"data");
        chunk[8..12].copy_from_slice(&u32::try_from(blocksize).unwrap().to_le_bytes());
        let frame = Frame::read_at(frame_of_chunks(&chunk, &[0], 4), 0).unwrap();
        let mut chunks = frame.chunks().unwrap();
        let entry = chunks.next().unwrap().unwrap();
        let header = chunks.checked_header(&entry);
        header
            .map(|header| header.unwrap().blocksize())
            .map_err(|error| error.finding().unwrap().message().to_owned())
    };
    assert_eq!(checked(MOST), Ok(MOST));
    for blocksize in [0, MOST + 1, MOST + 2] {
        let says = format!("chunk 0 has blocks of {blocksize} bytes, but must have 1 to {MOST}");
        assert_eq!(checked(blocksize), Err(says));
    }
}

#[test]
fn a_chunk_of_blosc_1_does_not_say_which_filters_it_has() {
    let mut file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    assert_eq!(Frame::parse(&file).unwrap().header().pipeline().count(), 1);
    // Replaces chunk 1 by a chunk with a header of only 16 bytes, a table of four blocks, and blocks of zeros.
    let mut chunk = vec![2, 1, 0x31, 4];
    for number in [32_u32, 8, 64, 32, 36, 40, 44] {
        chunk.extend(number.to_le_bytes());
    }
    chunk.resize(64, 0);
    file[229..229 + 64].copy_from_slice(&chunk);
    assert_eq!(chunk_findings(file), []);
}

#[test]
fn chunks_of_any_length_have_as_many_bytes_as_the_frame() {
    let mut file = fs::read(data().join("peers/chunks_of_any_length.b2frame")).unwrap();
    assert_eq!(chunk_findings(file.clone()), []);
    let nbytes = Frame::parse(&file).unwrap().header().nbytes;
    file[30..38].copy_from_slice(&(nbytes + 1).to_be_bytes());
    let findings = chunk_findings(file);
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    let says = format!("the chunks have {nbytes} bytes of data, but nbytes is {}", nbytes + 1);
    assert_eq!(
        (finding.code(), finding.message(), finding.chunk()),
        (FindingCode::ChunkHeader, &*says, None)
    );
    assert_eq!((finding.expected(), finding.found()), (Some(i128::from(nbytes + 1)), Some(nbytes.into())));
}

/// A chunk header can be valid in itself, but name a filter that the chunk was not compressed with. A reader undoes the
/// filter that the header names, so the items are wrong.
#[test]
fn chunks_with_other_filters_than_the_frame_are_found() {
    let (file, starts) = compressed();
    let has = |at: usize, value: u8| {
        let mut damaged = file.clone();
        damaged[starts[1] + at] = value;
        let findings = chunk_findings(damaged);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!(findings[0].code(), FindingCode::ChunkFilters);
        findings[0].message().to_owned()
    };
    let says = |filters: &str| format!("chunk 1 has {filters}, but the frame has shuffle; such chunks: 1");
    assert_eq!(has(21, 2), says("bitshuffle"));
    assert_eq!(has(21, 0), says("no filter"));
    assert_eq!(has(16, 4), says("trunc_prec, shuffle"));
    assert_eq!(has(29, 3), says("shuffle (3)"));
}

#[test]
fn the_chunks_of_a_cache_have_the_filters_of_its_source() {
    let (file, _) = compressed();
    let frame = opened(file);
    let meta = frame.array().unwrap().unwrap().meta().clone();
    let mut chunks = frame.chunks().unwrap();
    let mut all = Vec::new();
    while let Some(entry) = chunks.next().transpose().unwrap() {
        all.push(chunks.compressed(&entry).unwrap().unwrap());
    }
    let builder = || FrameBuilder::new(meta.clone()).filters(&[Filter::BITSHUFFLE]);
    let codes = |builder: FrameBuilder| {
        let findings = chunk_findings(builder.to_vec(&all).unwrap());
        findings.iter().map(Finding::code).collect::<Vec<_>>()
    };
    assert_eq!(codes(builder()), [FindingCode::ChunkFilters]);
    assert_eq!(codes(builder().metalayer_bytes("proxy-source", b"\x80")), []);
}

#[test]
fn a_dictionary_has_a_length_and_a_codec_that_takes_it() {
    let (mut file, starts) = compressed();
    file[starts[1] + 31] |= 1;
    let findings = chunk_findings(file.clone());
    let says = "chunk 1 has block 0 at its byte ";
    assert!(findings[0].message().starts_with(says), "{findings:?}");
    // The length of the dictionary follows the table of blocks. Here this length is negative, or more bytes than the
    // chunk has.
    let nbytes = u32::from_le_bytes(file[starts[1] + 4..][..4].try_into().unwrap());
    let blocksize = u32::from_le_bytes(file[starts[1] + 8..][..4].try_into().unwrap());
    let after = starts[1] + 32 + 4 * nbytes.div_ceil(blocksize) as usize;
    for length in [-1, i32::MAX] {
        file[after..after + 4].copy_from_slice(&length.to_le_bytes());
        let findings = chunk_findings(file.clone());
        let says = format!("chunk 1 has a dictionary of {length} bytes, but must have one of at most ");
        assert!(findings[0].message().starts_with(&says), "{findings:?}");
    }
    for (format, codec) in [(0, "blosclz"), (0x60, "zlib")] {
        file[starts[1] + 2] = file[starts[1] + 2] & 0x1f | format;
        let findings = chunk_findings(file.clone());
        assert_eq!(findings[0].message(), format!("chunk 1 has a dictionary, but {codec} takes none"));
    }
}

/// C-Blosc2 sets this flag only in memory. If a file has it, C-Blosc2 can read single items of the chunk, but cannot
/// decompress the whole chunk.
#[test]
fn check_and_checked_header_reject_the_flag_of_a_lazily_loaded_chunk() {
    let (compressed, starts) = compressed();
    let uncompressed = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let says = "chunk 1 is marked as lazily loaded, which is only possible in memory: bit 3 of its byte 31 must be 0";
    for (mut file, start) in [(compressed, starts[1]), (uncompressed, 229)] {
        file[start + 31] |= 8;
        let frame = opened(&file);
        let findings = of_chunks(&frame).unwrap();
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!((finding.code(), finding.severity()), (FindingCode::ChunkHeader, Severity::Error));
        assert_eq!(finding.message(), says);
        let mut chunks = frame.chunks().unwrap();
        let entry = chunks.get(1).unwrap().unwrap();
        assert_eq!(chunks.checked_header(&entry).unwrap_err().finding(), Some(finding));
        #[cfg(feature = "decompress")]
        assert_eq!(opened_array(&file).whole().read().unwrap_err().finding(), Some(finding));
    }
    // C-Blosc2 reads a constant chunk with this flag.
    let mut constant = fs::read(data().join("peers/special_full.b2nd")).unwrap();
    let start = Frame::parse(&constant).unwrap().header().header_len;
    constant[start + 31] |= 8;
    assert_eq!(chunk_findings(constant), []);
}

#[test]
fn a_value_is_an_item_and_has_no_data() {
    let file = fs::read(data().join("peers/special_full.b2nd")).unwrap();
    let start = Frame::parse(&file).unwrap().header().header_len;
    for (at, value, says) in [
        (12, 36, "chunk 0 repeats a value of 4 bytes, but items have 8"),
        (2, 7, "chunk 0 has one value, but also data or a dictionary"),
        (31, 0x31, "chunk 0 has one value, but also data or a dictionary"),
    ] {
        let mut damaged = file.clone();
        damaged[start + at] = value;
        let finding = &chunk_findings(damaged.clone())[0];
        assert_eq!(finding.message(), says);
        let frame = opened(damaged);
        let mut chunks = frame.chunks().unwrap();
        let first = chunks.get(0).unwrap().unwrap();
        assert_eq!(chunks.checked_header(&first).unwrap_err().finding(), Some(finding));
    }
}

#[test]
fn blocks_of_any_length_are_in_order() {
    let path = data().join("peers/blocks_of_any_length.b2frame");
    let file = fs::read(&path).unwrap();
    let frame = Frame::open(&path).unwrap();
    let mut chunks = frame.chunks().unwrap();
    let mut fell = false;
    while let Some(entry) = chunks.next().transpose().unwrap() {
        let header = chunks.header(&entry).unwrap().unwrap();
        let ChunkPlace::Frame(start) = entry.place else { panic!("{entry:?}") };
        if header.has_variable_blocks() && header.blocksize() > 1 {
            let table = usize::try_from(start).unwrap() + header.header_len();
            let (first, second) = (table..table + 4, table + 4..table + 8);
            // First, the table entries of the two blocks are swapped. Then both entries are the same.
            let swapped = [&file[second], &file[first.clone()]].concat();
            let same = file[first].repeat(2);
            for starts in [swapped, same] {
                let mut damaged = file.clone();
                damaged[table..table + 8].copy_from_slice(&starts);
                let findings = chunk_findings(damaged);
                assert_eq!(findings.len(), 1);
                assert!(findings[0].message().contains("has block 1 at its byte"), "{}", findings[0]);
            }
            fell = true;
        }
    }
    assert!(fell, "no chunk with several blocks");
}

/// A block that can have any length does not store its end, so it is not compared with the end of its chunk.
#[test]
fn bytes_after_blocks_of_any_length_are_unowned() {
    let mut file = fs::read(data().join("peers/blocks_of_any_length.b2frame")).unwrap();
    // Inserts 9 bytes after the first chunk, which has 139 bytes.
    let end = Frame::parse(&file).unwrap().header().header_len + 139;
    file.splice(end..end, [0xaa; 9]);
    // Offsets in a header: 16 frame_len, 39 cbytes.
    for at in [16, 39] {
        let length = u64::from_be_bytes(file[at..at + 8].try_into().unwrap());
        file[at..at + 8].copy_from_slice(&(length + 9).to_be_bytes());
    }
    let second = file.windows(8).rposition(|bytes| bytes == 139_u64.to_le_bytes()).unwrap();
    file[second..second + 8].copy_from_slice(&148_u64.to_le_bytes());
    let findings = chunk_findings(file);
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!((finding.code(), finding.found()), (FindingCode::UnownedBytes, Some(9)));
}

// Without the feature `decompress`, one of these files cannot be read, because its chunk index is compressed.
#[cfg(feature = "decompress")]
#[test]
fn the_hole_that_a_deleted_chunk_leaves_is_fine_but_not_after_a_shorter_chunk() {
    for (name, before) in [("start", None), ("middle", Some(1)), ("end", Some(3))] {
        let mut file = fs::read(data().join(format!("peers/hole_at_{name}.b2frame"))).unwrap();
        let findings = chunk_findings(file.clone());
        let [hole] = &findings[..] else { panic!("{name}: {findings:?}") };
        assert_eq!((hole.code(), hole.found()), (FindingCode::UnownedBytes, Some(152)), "{name}");
        let Some(chunk) = before else { continue };
        let at = 97 + chunk * 152 + 12;
        assert_eq!(file[at..at + 4], 152_u32.to_le_bytes());
        file[at] -= 1;
        let findings = chunk_findings(file);
        assert_eq!(findings.len(), 1, "{name}");
        let says = format!("chunk {chunk} has 151 bytes, but its last block ends at byte 152 of it");
        assert_eq!(findings[0].message(), says);
    }
}

/// The last byte of an index entry is changed. The entry now says that the chunk is zeros, and no longer has the offset
/// of the chunk.
#[test]
fn the_bytes_of_a_chunk_whose_entry_became_zeros_are_found() {
    for chunk in 0..4 {
        let mut file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
        file[421 + 32 + 8 * chunk + 7] = 0xff;
        let findings = chunk_findings(file);
        let [finding] = &findings[..] else { panic!("{chunk}: {findings:?}") };
        assert_eq!((finding.code(), finding.found()), (FindingCode::UnownedBytes, Some(64)));
        assert_eq!(finding.offset(), Some(165 + 64 * chunk as u64));
        assert_eq!(finding.message(), "64 bytes belong to no entry of the chunk index, the first ones here");

        let (_folder, path) = copy("sparse.b2nd");
        assert_eq!(of_chunks(&Frame::open(&path).unwrap()).unwrap(), []);
        let index = path.join("chunks.b2frame");
        let mut file = fs::read(&index).unwrap();
        let header_len = Frame::open(&path).unwrap().header().header_len;
        file[header_len + 32 + 8 * chunk + 7] = 0xff;
        fs::write(&index, file).unwrap();
        let findings = of_chunks(&Frame::open(&path).unwrap()).unwrap();
        let [finding] = &findings[..] else { panic!("{chunk}: {findings:?}") };
        let says = format!("0000000{chunk}.chunk belongs to no entry of the chunk index");
        assert_eq!((finding.code(), finding.message()), (FindingCode::UnownedBytes, &*says));
        // C-Blosc2 leaves an empty file where a chunk became zeros.
        fs::write(path.join(format!("0000000{chunk}.chunk")), []).unwrap();
        assert_eq!(of_chunks(&Frame::open(&path).unwrap()).unwrap(), []);
    }
}

/// When python-blosc2 removes all items of an array, it does not update cbytes.
#[test]
fn an_array_without_items_owns_nothing() {
    let mut file = fs::read(data().join("empty.b2nd")).unwrap();
    file[39..47].copy_from_slice(&256_u64.to_be_bytes());
    assert_eq!(opened(&file[..]).unowned_bytes().unwrap(), 0);
    assert_eq!(chunk_findings(file), []);
}

/// If the header of a chunk is damaged, it is unknown where the chunk ends. If an index entry is damaged, it is unknown
/// where its chunk begins. So in both cases, the check does not report bytes that belong to no chunk.
#[test]
fn bytes_are_not_called_unowned_where_something_else_is_wrong() {
    let mut file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    file[421 + 32 + 7] = 0xff;
    for (at, byte) in [(229 + 12, 63), (229 + 15, 0x80), (421 + 32 + 8, 63), (421 + 32 + 15, 0x80)] {
        let mut file = file.clone();
        file[at] = byte;
        let findings = Check::new(CheckDepth::ChunkHeaders).run(&opened(file)).unwrap().findings;
        assert!(findings.iter().any(|finding| finding.severity() == Severity::Error), "{at}: {findings:?}");
        assert!(findings.iter().all(|finding| finding.code() != FindingCode::UnownedBytes), "{at}");
    }
}

#[test]
fn a_check_of_chunks_can_be_stopped() {
    let mut seen = Vec::new();
    let check = Check::new(CheckDepth::ChunkHeaders).on_progress(|done| {
        seen.push(done);
        if done == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!(check.run_path(data().join("int32_3x5.b2nd")).unwrap_err().kind(), ErrorKind::Stopped);
    assert_eq!(seen, [1, 2]);
}

#[test]
fn a_directory_in_the_place_of_a_chunk_file_is_a_missing_file_at_every_depth() {
    let (_folder, path) = copy("sparse.b2nd");
    let file = path.join("00000002.chunk");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    for depth in [CheckDepth::Frame, CheckDepth::ChunkHeaders, CheckDepth::ChunkData] {
        let findings = Check::new(depth).run_path(&path).unwrap().findings;
        assert_eq!(findings.len(), 1, "{findings:?}");
        let says = "only 3 of 4 chunk files are whole; for example 00000002.chunk is missing";
        assert_eq!((findings[0].code(), findings[0].message()), (FindingCode::ChunkFile, says));
    }
}

#[test]
fn chunk_files_that_are_not_known_are_not_checked() {
    let file = fs::read(data().join("sparse.b2nd/chunks.b2frame")).unwrap();
    for depth in [CheckDepth::ChunkHeaders, CheckDepth::ChunkData] {
        let report = Check::new(depth).run(&opened(&file)).unwrap();
        assert_eq!(report.findings, []);
        let [skipped] = &report.skipped[..] else { panic!("{:?}", report.skipped) };
        assert_eq!((skipped.part.name(), skipped.count), ("chunks", None));
        let says = "chunks not checked: the chunk files of a sparse frame are read only from a folder; open the frame by its path";
        assert_eq!(skipped.to_string(), says);
        shows_as_much_as_fits(skipped);
    }
}

#[test]
fn a_body_that_the_header_of_its_chunk_cannot_have_is_named() {
    let path = data().join("peers/blocks_of_any_length.b2frame");
    let file = fs::read(&path).unwrap();
    let frame = Frame::open(&path).unwrap();
    let mut chunks = frame.chunks().unwrap();
    let entry = chunks.find(|entry| entry.as_ref().is_ok_and(ChunkEntry::is_stored)).unwrap().unwrap();
    let ChunkPlace::Frame(start) = entry.place else { panic!("{entry:?}") };
    let mut stored = file.clone();
    stored[usize::try_from(start).unwrap() + 2] |= 2;
    let findings = chunk_findings(stored);
    let says = format!("chunk {} has blocks of any length, but none is compressed", entry.number);
    assert_eq!((findings[0].message(), findings[0].offset()), (&*says, Some(start)));
}

#[cfg(feature = "decompress")]
#[test]
fn write_value_takes_blocks_of_any_length() {
    let frame = Frame::open(data().join("peers/blocks_of_any_length.b2frame")).unwrap();
    let mut chunks = frame.chunks().unwrap();
    let entry = chunks.find(|entry| entry.as_ref().is_ok_and(ChunkEntry::is_stored)).unwrap().unwrap();
    let chunk = chunks.compressed(&entry).unwrap().unwrap();
    let expected = chunks.decompressed(&entry).unwrap();
    let shapes = b2nd_serde::Shapes { shape: &[0], chunkshape: &[0], blockshape: &[0] };
    let meta = b2nd_serde::Meta::new(shapes, "|u1").unwrap();
    let file = FrameBuilder::new(meta).vlmetalayer_chunk("value", &chunk).to_vec([[]; 0]).unwrap();
    let trailer = Frame::read_at(&file, 0).unwrap().trailer().unwrap();
    let mut value = Vec::new();
    trailer.vlmetalayers()[0].write_value(&mut value).unwrap();
    assert!(value == expected && *value == *trailer.vlmetalayers()[0].value().unwrap());
}

/// A frame without an array. Its chunk index has these offsets.
fn with_offsets(offsets: &[usize]) -> Vec<u8> {
    let body: Vec<u8> = offsets.iter().flat_map(|&offset| (offset as u64).to_le_bytes()).collect();
    with_index(offsets.len(), &chunk(7, body.len(), 0, &body))
}

#[test]
fn chunks_that_share_their_bytes_are_looked_at_as_often_as_there_are_bytes() {
    // The frame has 4 chunks of 64 bytes, 256 in all. The check ends before the chunks that it has checked have more
    // than twice as many bytes together, 512. This limits its work if many index entries lead to the same chunk.
    assert_eq!(chunk_findings(with_offsets(&[0, 64, 128, 192])), []);
    for offsets in [[0; 20], [64; 20]] {
        let file = with_offsets(&offsets);
        let report = Check::new(CheckDepth::ChunkHeaders).run(&opened(&file)).unwrap();
        let unchecked: Vec<String> = report.skipped.iter().map(ToString::to_string).collect();
        let says =
            "12 chunks not checked: chunk 8 and all later ones, because chunks before them share bytes";
        assert_eq!(unchecked, [says]);
        let twice =
            report.findings.iter().filter(|finding| finding.message().contains("two chunks have the offset"));
        assert_eq!((twice.count(), report.findings.len()), (1, 1), "{:?}", report.findings);
    }
    // Now each chunk repeats a value of 8 bytes, so it has 40 bytes with its header. Chunks 0 to 11 take 480 of the 512
    // bytes. The other 32 bytes are enough for the header of chunk 12, but not for its value.
    let mut file = with_offsets(&[0; 20]);
    file[165 + 2] &= !2;
    file[165 + 12] = 40;
    file[165 + 31] = 0x30;
    let report = Check::new(CheckDepth::ChunkHeaders).run(&opened(&file)).unwrap();
    assert_eq!(report.skipped[0].count, Some(20 - 512 / 40), "512 is 12 times 40, and 32");
}

#[test]
fn a_filter_that_nobody_knows_is_found_in_a_frame_without_an_array() {
    let (mut file, starts) = compressed();
    let name = file.windows(4).position(|bytes| bytes == b"b2nd").unwrap();
    file[name..name + 4].copy_from_slice(b"else");
    assert_eq!(chunk_findings(file.clone()), []);
    // Filters from 160 on are user-defined.
    for (filter, count) in [(160, 0), (159, 1)] {
        file[starts[1] + 16] = filter;
        assert_eq!(chunk_findings(file.clone()).len(), count, "{filter}");
    }
    for start in &starts[1..3] {
        file[start + 16] = 100;
    }
    let findings = chunk_findings(file);
    assert_eq!(
        (findings.len(), findings[0].code(), findings[0].chunk()),
        (1, FindingCode::ChunkFilters, Some(1))
    );
    let says = findings[0].message();
    assert!(
        says.starts_with("chunk 1 has filter 100") && says.ends_with(", which is not known; such chunks: 2"),
        "{says}"
    );
}

/// The check of the index reports the damage, and the check of the chunks does not repeat it.
#[cfg(feature = "decompress")]
#[test]
fn a_chunk_index_that_is_damaged_in_a_later_block_is_found_once() {
    // All chunks after the first four are zeros.
    let index = b2nd_lab::chunks_of("index_of_blocks").remove(0);
    let mut file = with_index(2000, &index);
    // The chunk index is itself a chunk with a table of blocks. Entry 1 of this table has the start of block 1 of the
    // index.
    let table = 165 + 256 + 32;
    file[table + 4..table + 8].copy_from_slice(&i32::MAX.to_le_bytes());
    let check = |depth| Check::new(depth).run(&opened(&file)).unwrap();
    let expected = check(CheckDepth::Frame).findings;
    assert_eq!(expected.iter().map(Finding::code).collect::<Vec<_>>(), [FindingCode::DamagedIndex]);
    assert_eq!(expected[0].message(), "the chunk index cannot be read: block 1 begins outside of it");
    for depth in [CheckDepth::ChunkHeaders, CheckDepth::ChunkData] {
        let mut findings = check(depth).findings;
        findings.retain(|finding| finding.place() != Place::Chunk);
        assert_eq!(findings, expected);
    }

    // Findings about chunks are still reported if the entries of these chunks are in undamaged blocks of the index.
    file[229 + 15] = 0x40;
    let frame = Frame::read_at(file, 0).unwrap();
    let says = "chunk 1 has 1073741888 bytes, but at most 192 are left for it";
    assert!(of_chunks(&frame).unwrap().iter().any(|finding| finding.message() == says));
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
    let (mut checked, mut unchecked) = (0, 0);
    for path in &paths {
        let check = Check::new(CheckDepth::ChunkData).on_progress(|_| {
            checked += 1;
            ControlFlow::Continue(())
        });
        let report = check.run_path(path).unwrap();
        // For files of ironArray, the warning about filters is right: ironArray compressed some chunks with other
        // filters than the header of the frame has.
        let is_of_iron_array = path.extension().is_some_and(|extension| extension == "iarray");
        // In these files a chunk was deleted or replaced, so the finding about unused bytes is right.
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let has_hole = name.starts_with("hole_at_") || name == "ctable_x_id.b2nd";
        let is_known = |finding: &Finding| match finding.code() {
            FindingCode::ChunkFilters => is_of_iron_array,
            FindingCode::UnownedBytes => has_hole,
            _ => false,
        };
        let mut found = report.findings.iter().filter(|finding| finding.place() == Place::Chunk);
        assert_eq!(found.find(|finding| !is_known(finding)), None, "{}", path.display());
        // A check skips some parts if the frame is of an old generation, has an unknown codec, or needs the feature
        // `decompress`.
        unchecked += usize::from(!report.skipped.is_empty());
    }
    println!("{} frames with {checked} chunks; {unchecked} frames not checked in full", paths.len());
    assert!(paths.len() >= 40 && checked > 100);
    assert!(unchecked < paths.len() / 2 || cfg!(not(feature = "decompress")));
}

/// A frame without an array, with `count` chunks that all have the same index entry.
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
        let frame = opened(repeated(entry, (1 << 28) - 1));
        let mut looked = 0;
        let check = Check::new(CheckDepth::ChunkData).on_progress(|_| {
            looked += 1;
            ControlFlow::Continue(())
        });
        let _ = check.run(&frame);
        assert!(looked <= 1, "{entry}: {looked}");
    }
}

#[cfg(feature = "compress")]
mod changing {
    use std::cell::Cell;
    use std::io::{self, Cursor};
    use std::slice;

    use b2nd_frame::{Check, CheckDepth, Frame, FrameBuilder, ReadAt};
    use b2nd_serde::{Meta, Shapes};

    /// A file in which a chunk begins at `start`. When the check reads the chunk's header for the second time, its
    /// block size is 0.
    struct Changing {
        file: Vec<u8>,
        start: usize,
        times: Cell<u32>,
    }

    impl ReadAt for Changing {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            let read = self.file.read_at(buffer, offset)?;
            let at = usize::try_from(offset).unwrap();
            let blocksize = self.start.checked_sub(at).map(|header| header + 8..header + 12);
            if let Some(blocksize) = blocksize.and_then(|range| buffer[..read].get_mut(range)) {
                self.times.set(self.times.get() + 1);
                // The first read is that of `Frame::read_at`.
                if self.times.get() > 2 {
                    blocksize.fill(0);
                }
            }
            Ok(read)
        }

        fn size(&self) -> io::Result<u64> {
            self.file.size()
        }
    }

    #[test]
    fn a_chunk_that_changes_while_it_is_checked_does_no_harm() {
        // Each chunk is compressed to more than 32 KiB, so the check does not keep the bytes of one chunk when it reads
        // the next one.
        let shapes = Shapes { shape: &[3 << 16], chunkshape: &[1 << 16], blockshape: &[1 << 13] };
        let meta = Meta::new(shapes, "|u1").unwrap();
        let mut rng = fastrand::Rng::with_seed(7);
        let items: Vec<u8> = (0..3 << 16).map(|at| if at % 4096 < 2500 { rng.u8(..) } else { 0 }).collect();
        let writer = FrameBuilder::new(meta).write_to(Cursor::new(Vec::new())).unwrap();
        let mut writer = writer.into_array_writer().unwrap();
        writer.write(slice::from_ref(&(0..3 << 16)), &items).unwrap();
        let mut file = writer.finish().unwrap().into_inner();
        let start = Frame::parse(&file).unwrap().header().header_len;
        // Makes the first chunk shorter by 1, so that a byte after it belongs to no chunk. Because of this byte, the
        // check reads the header again at its end, to find where the block that is stored last ends.
        let cbytes = &mut file[start + 12..start + 16];
        let size = u32::from_le_bytes(cbytes.try_into().unwrap());
        cbytes.copy_from_slice(&(size - 1).to_le_bytes());
        let changing = Changing { file, start, times: Cell::new(0) };
        let report = Check::new(CheckDepth::ChunkHeaders).run(&Frame::read_at(&changing, 0).unwrap());
        report.unwrap();
        assert_eq!(changing.times.get(), 3, "reads of the header");
    }
}
