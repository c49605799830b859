//! Reads the chunk index in each of its forms.

use std::fs;
use std::io::Cursor;

use crate::frames::{chunk, in_blocks, second_generation, with_index};
use crate::{Recording, findings};
use b2nd_frame::{
    ChunkEntry, ChunkPlace, Error, ErrorKind, Finding, FindingCode, Frame, FrameBuilder, SpecialValue,
};
use b2nd_lab::{copy_tree, data, frame_of_chunks, stored_chunk};
use b2nd_serde::{Meta, Shapes};

fn places(file: &[u8]) -> Result<Vec<ChunkPlace>, Error> {
    let frame = Frame::read_at(file, 0).unwrap();
    let chunks = frame.chunks()?;
    chunks.map(|entry| entry.map(|entry| entry.place)).collect()
}

#[test]
fn every_entry_of_the_index_is_told_as_c_blosc2_reads_it() {
    let special = |byte: i64| byte << 56;
    for (value, place) in [
        (0, ChunkPlace::Frame(165)),
        (224, ChunkPlace::Frame(389)),
        (225, ChunkPlace::Invalid(225)),
        (i64::MAX, ChunkPlace::Invalid(i64::MAX)),
        (-1, ChunkPlace::Special(SpecialValue::Zeros)),
        (special(0x81), ChunkPlace::Special(SpecialValue::Zeros)),
        (special(0x81) + 1, ChunkPlace::Special(SpecialValue::Zeros)),
        (special(0x83), ChunkPlace::Special(SpecialValue::Zeros)),
        (special(0xc1), ChunkPlace::Special(SpecialValue::Zeros)),
        (special(0x82), ChunkPlace::Special(SpecialValue::Nan)),
        (special(0x84), ChunkPlace::Special(SpecialValue::Uninitialized)),
        (special(0x86), ChunkPlace::Special(SpecialValue::Uninitialized)),
        (special(0x80), ChunkPlace::Invalid(special(0x80))),
        (special(0x90), ChunkPlace::Invalid(special(0x90))),
    ] {
        let value: i64 = value;
        let stored = with_index(1, &chunk(7, 8, 0, &value.to_le_bytes()));
        let repeated = with_index(1, &chunk(5, 8, 3, &value.to_le_bytes()));
        assert_eq!(places(&stored).unwrap(), [place], "{value:#x}");
        assert_eq!(places(&repeated).unwrap(), [place], "{value:#x}");
    }
}

#[test]
fn a_chunk_has_its_number_and_its_length() {
    let frame = Frame::open(data().join("peers/last_chunk_is_short.b2frame")).unwrap();
    let (nbytes, chunksize) = (frame.header().nbytes, frame.header().chunksize);
    let entries: Vec<ChunkEntry> = frame.chunks().unwrap().map(Result::unwrap).collect();
    let lengths: u64 = entries.iter().map(|entry| entry.nbytes.unwrap()).sum();
    assert_eq!(lengths, nbytes.unsigned_abs());
    assert_eq!(entries[0].nbytes, Some(u64::try_from(chunksize).unwrap()));
    assert!(entries.last().unwrap().nbytes < entries[0].nbytes);
    assert!(entries.iter().enumerate().all(|(number, entry)| entry.number == number as u64));
    let mut chunks = frame.chunks().unwrap();
    let last = chunks.nth(entries.len() - 1).unwrap().unwrap();
    assert_eq!(Some(&last), entries.last());
    assert_eq!(chunks.header(&last).unwrap().unwrap().nbytes() as u64, last.nbytes.unwrap());
    assert!(chunks.next().is_none() && chunks.nth(usize::MAX).is_none());

    let frame = Frame::open(data().join("empty.b2nd")).unwrap();
    assert_eq!(frame.chunks().unwrap().count(), 0);
    let frame = Frame::open(data().join("peers/chunks_of_any_length.b2frame")).unwrap();
    let mut chunks = frame.chunks().unwrap();
    let mut sum = 0;
    while let Some(entry) = chunks.next().transpose().unwrap() {
        assert_eq!(entry.nbytes, None);
        sum += chunks.header(&entry).unwrap().unwrap().nbytes();
    }
    assert_eq!(sum as u64, frame.header().nbytes.unsigned_abs());
}

/// The entries of a long index are read in several pieces, in order and in the reverse order.
#[test]
fn a_long_index_is_read_piece_by_piece() {
    let offsets: Vec<i64> =
        (0..100_000).map(|chunk| if chunk % 3 == 0 { -0x7f << 56 } else { chunk % 225 }).collect();
    let body: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
    let file = with_index(offsets.len(), &chunk(7, body.len(), 0, &body));
    is_read(&file, &offsets);

    // An index that repeats one entry has only 8 bytes of data, whatever the number of chunks is.
    let count = 50_000_000;
    let file = with_index(count, &chunk(5, 8 * count, 3, &(-0x7f_i64 << 56).to_le_bytes()));
    let frame = Frame::read_at(file, 0).unwrap();
    assert_eq!(frame.chunks().unwrap().nth(count - 1).unwrap().unwrap().number, count as u64 - 1);
    assert_eq!(findings(&frame)[0].message(), "none of 50000000 chunks is stored");
}

fn is_read(file: &[u8], offsets: &[i64]) {
    let frame = Frame::read_at(file, 0).unwrap();
    let place = |offset: i64| match offset {
        0.. => ChunkPlace::Frame(165 + offset.unsigned_abs()),
        _ => ChunkPlace::Special(SpecialValue::Zeros),
    };
    let mut count = 0;
    for (entry, &offset) in frame.chunks().unwrap().zip(offsets) {
        assert_eq!(entry.unwrap().place, place(offset));
        count += 1;
    }
    assert_eq!(count, offsets.len());
    for number in [offsets.len() - 1, 0, offsets.len() / 2] {
        let entry = frame.chunks().unwrap().nth(number).unwrap().unwrap();
        assert_eq!((entry.number, entry.place), (number as u64, place(offsets[number])));
    }
}

#[cfg(feature = "decompress")]
#[test]
fn a_compressed_index_is_read_block_by_block() {
    let indexes = b2nd_lab::chunks_of("indexes");
    assert_eq!(indexes.len(), 32);
    for index in indexes {
        let header = b2nd_frame::ChunkHeader::parse(&index).unwrap();
        assert!(header.codec().is_some(), "not compressed");
        let count = i64::try_from(header.nbytes() / 8).unwrap();
        let offset = |number| if number < count / 2 { number * 7919 % 225 } else { -0x7f << 56 };
        let offsets: Vec<i64> = (0..count).map(offset).collect();
        is_read(&with_index(offsets.len(), &index), &offsets);
    }
}

#[cfg(feature = "decompress")]
#[test]
fn an_index_that_takes_too_much_memory_or_has_no_whole_entries_is_refused() {
    const LONGEST_BLOCK: usize = 1 << 24;
    const MOST: usize = 1 << 26;
    // A stream with the stored length 0 stands for zeros.
    let zeros = [0; 4];
    for (nbytes, blocksize) in
        [(16, 8), (1 << 20, 1 << 14), (LONGEST_BLOCK, LONGEST_BLOCK), (MOST, LONGEST_BLOCK)]
    {
        let file = with_index(nbytes / 8, &in_blocks(nbytes, blocksize, &zeros));
        let frame = Frame::read_at(file, 0).unwrap();
        for number in [0, nbytes / 8 - 1] {
            let entry = frame.chunks().unwrap().nth(number).unwrap().unwrap();
            assert_eq!((entry.number, entry.place), (number as u64, ChunkPlace::Frame(165)));
        }
    }
    let blocks = |length: usize| {
        format!("it has blocks of {length} bytes, but must have a multiple of 8 up to {LONGEST_BLOCK}")
    };
    let [longer, more] = [LONGEST_BLOCK + 8, MOST + 8];
    let claims = format!("it claims {more} bytes of data in 52 stored bytes, but may have at most {MOST}");
    for (nbytes, blocksize, kind, why) in [
        (8, 12, ErrorKind::Unsupported, blocks(12)),
        (longer, longer, ErrorKind::Unsupported, blocks(longer)),
        (more, LONGEST_BLOCK, ErrorKind::TooLarge, claims),
    ] {
        let error = places(&with_index(nbytes / 8, &in_blocks(nbytes, blocksize, &zeros))).unwrap_err();
        let says = format!("the chunk index cannot be read: {why}");
        assert_eq!((error.kind(), error.to_string()), (kind, says));
    }
    let error = places(&with_index(3, &in_blocks(24, 12, &zeros))).unwrap_err();
    let finding = error.finding().unwrap();
    let says = "the chunk index has blocks of 12 bytes, but must have a multiple of 8";
    assert_eq!((finding.code(), finding.message()), (FindingCode::DamagedIndex, says));
}

#[cfg(feature = "decompress")]
#[test]
fn an_index_whose_streams_are_longer_than_their_data_is_read() {
    fastrand::seed(2);
    let stream = || -> Vec<u8> { std::iter::repeat_with(|| fastrand::u8(1..128)).take(64).collect() };
    let streams: Vec<Vec<u8>> = std::iter::repeat_with(stream).take(8).collect();
    let block: Vec<u8> = streams.iter().flat_map(|stream| [&[64, 0, 0, 0], &stream[..]].concat()).collect();
    let mut index = in_blocks(1024, 512, &block);
    // Clears the flag of unsplit blocks. Each block is now split into one stream for each byte of an item. No stream is
    // compressed.
    index[2] &= !0x10;
    let entries = streams.concat();
    let offset = |entry: &[u8]| i64::from_le_bytes(entry.try_into().unwrap());
    let expected: Vec<i64> = entries.chunks(8).map(offset).collect();
    let places = places(&with_index(128, &index)).unwrap();
    let found = places.iter().map(|place| match *place {
        ChunkPlace::Invalid(value) => value,
        _ => panic!("{place:?}"),
    });
    assert_eq!(found.collect::<Vec<i64>>(), expected.repeat(2));
}

#[cfg(not(feature = "decompress"))]
#[test]
fn a_compressed_index_needs_the_feature() {
    let index = chunk(0x15, 80, 0, &[0; 8]);
    let error = places(&with_index(10, &index)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().ends_with("it is compressed; build with the feature `decompress`"), "{error}");
}

#[test]
fn what_cannot_be_read_is_refused_with_a_finding() {
    let code = |file: &[u8]| places(file).unwrap_err().finding().map(Finding::code);
    let body = [0; 32];
    // In turn: the frame header claims more chunks than the index has; the chunk header of the index is truncated; the
    // entries of the index are truncated; the value of a constant index is shorter than an offset; the index is a
    // constant chunk of NaN.
    assert_eq!(code(&with_index(0x7fff_ffff, &chunk(7, 32, 0, &body))), Some(FindingCode::ChunkIndexCount));
    assert_eq!(code(&with_index(4, &chunk(7, 32, 0, &body)[..20])), Some(FindingCode::DamagedIndex));
    assert_eq!(code(&with_index(4, &chunk(7, 32, 0, &body[..8]))), Some(FindingCode::DamagedIndex));
    assert_eq!(code(&with_index(4, &chunk(5, 32, 3, &body[..4]))), Some(FindingCode::DamagedIndex));
    assert_eq!(code(&with_index(4, &chunk(5, 32, 2, &[]))), Some(FindingCode::DamagedIndex));
    let error = places(&with_index(4, &in_blocks(32, 0, &body))).unwrap_err();
    let finding = error.finding().unwrap();
    let says = "the chunk index has blocks of 0 bytes, but must have 1 to 536866816";
    assert_eq!((finding.code(), finding.message()), (FindingCode::DamagedIndex, says));
    // 33 bytes are not a whole number of entries of 8 bytes.
    let error = places(&with_index(4, &chunk(7, 33, 0, &[0; 33]))).unwrap_err();
    let says = "the chunk index has 4 chunks and 1 byte, but nbytes and chunksize give 4";
    assert_eq!(error.finding().map(Finding::message), Some(says));
    let old = data().join("sparse.caterva");
    if let Err(error) = Frame::open(old).unwrap().chunks() {
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
}

#[test]
fn the_index_of_an_older_generation_is_refused() {
    let file = second_generation(fs::read(data().join("int32_3x5.b2nd")).unwrap());
    let frame = Frame::read_at(file, 0).unwrap();
    let error = frame.count_chunks().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(error.to_string(), "the chunk index of a frame older than C-Blosc2 2.0.0-rc1 is not read");
    assert_eq!(frame.chunks().map(drop).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn chunks_are_counted_by_what_they_are() {
    let counts = |name: &str| Frame::open(data().join(name)).unwrap().count_chunks().unwrap();
    for (name, stored, zeros, total) in
        [("int32_3x5.b2nd", 4, 0, 4), ("peers/special_zeros.b2nd", 0, 4, 4), ("sparse.b2nd", 4, 0, 4)]
    {
        let counts = counts(name);
        assert_eq!((counts.stored, counts.zeros, counts.total()), (stored, zeros, total), "{name}");
    }
}

#[test]
fn a_chunk_without_a_header_is_refused_with_its_place() {
    let mut file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    // The compressed length of chunk 1 is negative.
    file[229 + 15] = 0x80;
    let frame = Frame::read_at(file, 0).unwrap();
    let mut chunks = frame.chunks().unwrap();
    let entry = chunks.nth(1).unwrap().unwrap();
    let says = "chunk 1 should begin here, but these bytes are not the header of a chunk";
    let error = chunks.header(&entry).unwrap_err();
    let finding = error.finding().unwrap();
    assert_eq!(
        (finding.message(), finding.offset(), finding.code()),
        (says, Some(229), FindingCode::ChunkHeader)
    );
}

#[test]
fn a_chunk_file_is_looked_for_only_beside_a_frame_that_was_opened_by_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse.b2nd");
    copy_tree(&data().join("sparse.b2nd"), &path);
    let file = fs::read(path.join("chunks.b2frame")).unwrap();
    let frame = Frame::read_at(file, 0).unwrap();
    let mut chunks = frame.chunks().unwrap();
    let entry = chunks.next().unwrap().unwrap();
    let error = chunks.header(&entry).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(error.to_string(), "the chunks of a sparse frame are only found if it was opened by its path");

    // First the chunk file is missing. Then a directory has the name of the chunk file.
    let missing = path.join("00000000.chunk");
    fs::remove_file(&missing).unwrap();
    for is_directory in [false, true] {
        if is_directory {
            fs::create_dir(&missing).unwrap();
        }
        let frame = Frame::open(&path).unwrap();
        let error = frame.chunks().unwrap().header(&entry).unwrap_err();
        let finding = error.finding().unwrap();
        assert_eq!(
            (finding.code(), finding.chunk(), finding.offset()),
            (FindingCode::ChunkFile, Some(0), None)
        );
        assert_eq!(finding.message(), "chunk 0 should be in 00000000.chunk, which is missing");
    }
}

#[test]
fn a_chunk_longer_than_what_is_read_at_once_comes_whole() {
    const LEN: usize = 100_000;
    let shapes = Shapes { shape: &[3 * 100_000], chunkshape: &[100_000], blockshape: &[1000] };
    let builder = FrameBuilder::new(Meta::new(shapes, "|u1").unwrap());
    let data = |chunk: u8| (0..LEN).map(|at| u8::try_from(at % 251).unwrap() ^ chunk).collect::<Vec<u8>>();
    let mut writer = builder.write_to(Cursor::new(Vec::new())).unwrap();
    for number in 0..3 {
        writer.write_uncompressed(number.into(), &data(number)).unwrap();
    }
    let frame = Frame::read_at(writer.finish().unwrap(), 0).unwrap();
    let mut chunks = frame.chunks().unwrap();
    let mut count = 0;
    while let Some(entry) = chunks.next().transpose().unwrap() {
        let chunk = chunks.compressed(&entry).unwrap().unwrap();
        assert!(chunk[32..] == data(count), "chunk {count}");
        count += 1;
    }
    assert_eq!(count, 3);
}

#[cfg(feature = "decompress")]
#[test]
fn a_few_bytes_do_not_claim_a_long_index() {
    let nbytes = 1 << 27;
    let zstd = 0x85;
    let error = places(&with_index(nbytes / 8, &chunk(zstd, nbytes, 0, &[0; 32]))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    let text = "the chunk index cannot be read: it claims 134217728 bytes of data in 64 stored bytes, but may have at most 67108864";
    assert_eq!(error.to_string(), text);
}

/// The part of a chunk to read.
#[derive(Debug)]
enum Ask {
    Header,
    Whole,
}

/// One step of a test: the part of a chunk to read, the start of the chunk, and the expected read of the file. The
/// expected read is an offset and a length, or `None` if the step must not read the file. The start and the offset are
/// relative to the start of the chunks.
type Step = (Ask, usize, Option<(usize, usize)>);

/// Reads a part of one chunk for each step, and compares the reads of the file with the expected reads.
fn assert_reads(chunks: &[u8], steps: &[Step]) {
    let starts: Vec<usize> = steps.iter().map(|&(_, start, _)| start).collect();
    let mut file = frame_of_chunks(chunks, &starts, 8);
    // A chunk size of 0 in the header allows chunks of different lengths.
    file[58..62].fill(0);
    let frame = Frame::read_at(Recording::new(file), 0).unwrap();
    let header_len = frame.header().header_len;
    let mut chunks = frame.chunks().unwrap();
    for (number, (ask, start, expected)) in steps.iter().enumerate() {
        let entry = chunks.next().unwrap().unwrap();
        assert_eq!(entry.place, ChunkPlace::Frame((header_len + start) as u64));
        let reads = &frame.reader().reads;
        reads.borrow_mut().clear();
        match ask {
            Ask::Header => assert!(chunks.header(&entry).unwrap().is_some()),
            Ask::Whole => assert!(chunks.compressed(&entry).unwrap().is_some()),
        }
        let expected: Vec<_> =
            expected.iter().map(|&(at, length)| ((header_len + at) as u64, length)).collect();
        assert_eq!(*reads.borrow(), expected, "{number}: {ask:?} of the chunk at {start}");
    }
}

/// The length of a look-ahead read. Such a read starts at a header, and includes the bytes after this header, because
/// the next headers may be among them.
const AHEAD: usize = 1 << 15;
/// A look-ahead read starts at most this number of bytes after the end of the previous read. A header farther away is
/// read alone.
const NEAR: usize = 1 << 11;

#[test]
fn headers_near_each_other_take_one_read_and_no_byte_is_read_in_advance_twice() {
    let chunks = stored_chunk(b"").repeat(8192);
    let end = chunks.len();
    let second = AHEAD + NEAR;
    let third = second + AHEAD + NEAR + 64;
    assert_reads(
        &chunks,
        &[
            (Ask::Header, 0, Some((0, AHEAD))),
            (Ask::Header, AHEAD - 32, None),
            (Ask::Header, second, Some((second, AHEAD))),
            // This header is more than `NEAR` bytes after the last read, so it is read alone. The next header directly
            // follows this header.
            (Ask::Header, third - 32, Some((third - 32, 32))),
            (Ask::Header, third, Some((third, AHEAD))),
            // A header far away is read alone, and its bytes replace those of the look-ahead read from `third` on. The
            // next two headers were in that read. They are read again, but alone: no byte is in two look-ahead reads.
            // The header after them begins at the end of that read.
            (Ask::Header, 200_000, Some((200_000, 32))),
            (Ask::Header, third + AHEAD - 64, Some((third + AHEAD - 64, 32))),
            (Ask::Header, third + AHEAD - 32, Some((third + AHEAD - 32, 32))),
            (Ask::Header, third + AHEAD, Some((third + AHEAD, AHEAD))),
            // A look-ahead read is shorter than `AHEAD` if fewer bytes are left before the end of the chunks.
            (Ask::Header, end - 10_048, Some((end - 10_048, 32))),
            (Ask::Header, end - 10_016, Some((end - 10_016, 10_016))),
            (Ask::Header, end - 32, None),
        ],
    );
}

#[test]
fn a_long_chunk_that_is_read_leaves_the_headers_that_were_read_in_advance() {
    let empty = stored_chunk(b"");
    let inner = empty.repeat(AHEAD / 32 - 1);
    let (exact, long) = (stored_chunk(&inner), stored_chunk(&[&inner[..], &empty].concat()));
    let chunks = [&empty.repeat(2), &long, &empty.repeat(4096), &exact[..]].concat();
    let last = chunks.len() - AHEAD;
    assert_reads(
        &chunks,
        &[
            (Ask::Header, 0, Some((0, AHEAD))),
            // The first bytes are kept from the look-ahead read.
            (Ask::Whole, 64, Some((AHEAD, 64 + 32))),
            // The long chunk has more than `AHEAD` bytes. The bytes of such a long read are not kept, so they do not
            // replace the bytes of the look-ahead read. The header at 32 is among these bytes, so it takes no read.
            (Ask::Header, 32, None),
            (Ask::Header, last, Some((last, 32))),
            // The bytes of a chunk of exactly `AHEAD` bytes are kept. The last header is inside this chunk, so it takes
            // no read.
            (Ask::Whole, last, Some((last + 32, AHEAD - 32))),
            (Ask::Header, last + AHEAD - 32, None),
        ],
    );
}

#[test]
fn the_chunks_that_are_left_are_told() {
    let frame = Frame::open(data().join("int32_3x5.b2nd")).unwrap();
    let mut chunks = frame.chunks().unwrap();
    for left in (0..=4).rev() {
        // The iterator ends after an error, and the next item can be an error. So if chunks are left, only one more
        // item is certain, and the lower bound of the hint is 1.
        assert_eq!(chunks.size_hint(), (left.min(1), Some(left)));
        assert_eq!(chunks.next().is_some(), left > 0);
    }
    assert_eq!((chunks.size_hint(), chunks.nth(usize::MAX).is_none()), ((0, Some(0)), true));
    assert_eq!(chunks.size_hint(), (0, Some(0)));
    let frame = Frame::open(data().join("empty.b2nd")).unwrap();
    assert_eq!(frame.chunks().unwrap().size_hint(), (0, Some(0)));
}

#[test]
fn a_chunk_is_held_against_the_frame_if_it_is_of_an_array() {
    let mut file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    file[229 + 3] = 8;
    let checked = |file: &[u8]| {
        let frame = Frame::read_at(file, 0).unwrap();
        let mut chunks = frame.chunks().unwrap();
        let entry = chunks.nth(1).unwrap().unwrap();
        chunks.checked_header(&entry).map(|header| header.unwrap().typesize())
    };
    let error = checked(&file).unwrap_err();
    assert_eq!(error.finding().unwrap().message(), "chunk 1 has items of 8 bytes, but must have 4");
    // Renames the array metalayer. In a frame without an array, chunks can have items of any size.
    let name = file.windows(4).position(|bytes| bytes == b"b2nd").unwrap();
    file[name..name + 4].copy_from_slice(b"else");
    assert_eq!(checked(&file).unwrap(), 8);
}
