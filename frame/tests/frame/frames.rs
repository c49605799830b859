//! Makes frames for the tests: changed frames, damaged frames, and frames of old formats.

use std::fs;

use crate::index_start;
use std::io::Cursor;

use b2nd_frame::{Filter, FindingCode, Frame, FrameBuilder};
#[cfg(feature = "decompress")]
use b2nd_lab::chunk_with_a_table;
use b2nd_lab::{data, frame_of, offset_field};
use b2nd_serde::{Meta, Shapes};

/// Converts a current frame to a frame as C-Blosc2 2.0 beta 2 to 5 wrote it: without a block size in the header, and
/// without an index of vlmetalayers.
pub(crate) fn second_generation(mut file: Vec<u8>) -> Vec<u8> {
    let old = Frame::parse(&file).unwrap();
    for layer in old.metalayers() {
        let offset = u32::try_from(layer.offset() - 5 - 5).unwrap();
        let at = offset_field(&file, layer.name());
        file[at..][..4].copy_from_slice(&offset.to_be_bytes());
    }
    let header_len = u32::try_from(old.header().header_len - 5).unwrap();
    file[11..15].copy_from_slice(&header_len.to_be_bytes());
    file[0] = 0x9d;
    file[25] = file[25] & 0xf0 | 1;
    file.truncate(file.len() - 35);
    file.extend([0x94, 1, 0xc6, 0, 0, 0, 0, 0xce, 0, 0, 0, 30, 0xd8]);
    file.extend([0; 17]);
    file.drain(52..57);
    let frame_len = file.len() as u64;
    file[16..24].copy_from_slice(&frame_len.to_be_bytes());
    file
}

/// `int32_3x5.b2nd` with three changes: the array metalayer has another name, the chunk index consists of these bytes,
/// and the header claims `entries` chunks.
pub(crate) fn with_index(entries: usize, index: &[u8]) -> Vec<u8> {
    let file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let at = index_start(&file);
    let trailer = &file[file.len() - 35..];
    let mut file = [&file[..at], index, trailer].concat();
    let frame_len = file.len() as u64;
    file[16..24].copy_from_slice(&frame_len.to_be_bytes());
    file[30..38].copy_from_slice(&(32 * entries as u64).to_be_bytes());
    let name = file.windows(4).position(|bytes| bytes == b"b2nd").unwrap();
    file[name..name + 4].copy_from_slice(b"else");
    file
}

pub(crate) fn chunk(flags: u8, nbytes: usize, special: u8, body: &[u8]) -> Vec<u8> {
    let mut chunk = vec![5, 1, flags, 8];
    let cbytes = 32 + body.len();
    for number in [nbytes, nbytes, cbytes] {
        chunk.extend(u32::try_from(number).unwrap().to_le_bytes());
    }
    chunk.extend([0; 15]);
    chunk.push(special << 4);
    chunk.extend(body);
    chunk
}

/// A compressed chunk index of `nbytes` bytes. It stores the bytes `block` only once: each entry in its table of blocks
/// is the start of these bytes.
pub(crate) fn in_blocks(nbytes: usize, blocksize: usize, block: &[u8]) -> Vec<u8> {
    const UNSPLIT_ZSTD: u8 = 0x95;
    let nblocks = nbytes.checked_div(blocksize).unwrap_or_default();
    let start = u32::try_from(32 + 4 * nblocks).unwrap();
    let body = [&start.to_le_bytes().repeat(nblocks)[..], block].concat();
    let mut index = chunk(UNSPLIT_ZSTD, nbytes, 0, &body);
    index[8..12].copy_from_slice(&u32::try_from(blocksize).unwrap().to_le_bytes());
    index
}

/// The bytes of a file of the test data.
pub(crate) fn file(name: &str) -> Vec<u8> {
    fs::read(data().join(name)).unwrap()
}

/// The bytes of `int32_3x5.b2nd`, with these bytes changed.
pub(crate) fn with(changes: &[(usize, &[u8])]) -> Vec<u8> {
    changed(file("int32_3x5.b2nd"), changes)
}

pub(crate) fn changed(mut file: Vec<u8>, changes: &[(usize, &[u8])]) -> Vec<u8> {
    for &(at, bytes) in changes {
        file[at..at + bytes.len()].copy_from_slice(bytes);
    }
    file
}

/// A frame with the filter bytedelta, whose parameter 0 stands for items of 300 bytes. `FrameBuilder` refuses it.
fn bytedelta_of_large_items() -> Vec<u8> {
    let meta = Meta::new(Shapes { shape: &[2], chunkshape: &[2], blockshape: &[2] }, "|V300").unwrap();
    let builder = FrameBuilder::new(meta).filters(&[Filter { meta: 100, ..Filter::BYTEDELTA }]);
    let mut writer = builder.write_to(Cursor::new(Vec::new())).unwrap();
    writer.write_uncompressed(0, &[1; 600]).unwrap();
    let mut file = writer.finish().unwrap().into_inner();
    file[84] = 0;
    file
}

/// A file in which `bytes` replace the bytes that begin `at` bytes before the end of the file.
fn with_end(name: &str, at: usize, bytes: &[u8]) -> Vec<u8> {
    let file = file(name);
    let at = file.len() - at;
    changed(file, &[(at, bytes)])
}

/// A file with 3 bytes inserted before its trailer. `trailer` is the length of the trailer. The frame length in the
/// header includes the 3 bytes.
fn with_gap(name: &str, trailer: usize) -> Vec<u8> {
    let mut file = file(name);
    let at = file.len() - trailer;
    file.splice(at..at, [0; 3]);
    let frame_len = file.len() as u64;
    changed(file, &[(16, &frame_len.to_be_bytes())])
}

/// The header of `int32_3x5.b2nd`, and the first `bytes` bytes after the header. The frame length in the header is the
/// length of this shortened frame.
fn cut_behind_the_header(bytes: usize) -> Vec<u8> {
    let file = &file("int32_3x5.b2nd")[..165 + bytes];
    changed(file.to_vec(), &[(16, &(file.len() as u64).to_be_bytes())])
}

/// `int32_3x5.b2nd` with these metalayers instead of its own.
pub(crate) fn with_metalayers(metalayers: &[(&str, &[u8])]) -> Vec<u8> {
    let (file, mut header) = (file("int32_3x5.b2nd"), frame_of(metalayers, &[]));
    // `frame_of` adds an empty trailer of 35 bytes, and writes 0 for nbytes and cbytes.
    header.truncate(header.len() - 35);
    header[30..47].copy_from_slice(&file[30..47]);
    header.extend(&file[165..]);
    let frame_len = header.len() as u64;
    changed(header, &[(16, &frame_len.to_be_bytes())])
}

/// `int32_3x5.b2nd` with a change in its array metalayer.
pub(crate) fn with_array(change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut content = file("int32_3x5.b2nd")[112..165].to_vec();
    change(&mut content);
    with_metalayers(&[("b2nd", &content)])
}

/// `int32_3x5.b2nd` as C-Blosc2 2.0 beta 2 to 5 would have written it, with these changes.
fn of_second_generation(changes: &[(usize, &[u8])]) -> Vec<u8> {
    changed(second_generation(file("int32_3x5.b2nd")), changes)
}

const MINUS: [u8; 4] = [0xff; 4];
pub(crate) const MOST: [u8; 4] = i32::MAX.to_be_bytes();

/// For each kind of damage: its name, a damaged file, and the code of the finding. Some release of C-Blosc2 crashed or
/// failed with such a file.
#[expect(clippy::too_many_lines, reason = "one table")]
pub(crate) fn damage() -> Vec<(&'static str, Vec<u8>, FindingCode)> {
    let rank_17 = |content: &mut Vec<u8>| {
        content[2] = 17;
        content[3] = 0xa1;
    };
    vec![
        ("rank 17", with_array(rank_17), FindingCode::DamagedArray),
        ("rank 127", with(&[(114, &[127])]), FindingCode::DamagedArray),
        ("metalayer empty", with_array(Vec::clear), FindingCode::DamagedArray),
        ("metalayer cut in shape", with_array(|content| content.truncate(10)), FindingCode::DamagedArray),
        (
            "metalayer cut in the dtype's length",
            with_array(|content| content.truncate(47)),
            FindingCode::DamagedArray,
        ),
        ("metalayer cut in the dtype", with_array(|content| content.truncate(52)), FindingCode::DamagedArray),
        ("dtype_len negative", with(&[(158, &MINUS)]), FindingCode::DamagedArray),
        ("dtype_len past the end", with(&[(158, &[0, 0, 0, 4])]), FindingCode::DamagedArray),
        ("dtype_len INT32_MAX", with(&[(158, &MOST)]), FindingCode::DamagedArray),
        ("block 0, chunk not", with(&[(147, &[0; 4])]), FindingCode::InvalidShape),
        ("chunk and block 0, shape not", with(&[(136, &[0; 4]), (147, &[0; 4])]), FindingCode::InvalidShape),
        ("chunk 0, shape not", with(&[(136, &[0; 4])]), FindingCode::InvalidShape),
        (
            "product of C wraps int32",
            with(&[(136, &[0, 1, 0, 0]), (141, &[0, 1, 0, 0])]),
            FindingCode::InvalidShape,
        ),
        (
            "product of B wraps int32",
            with(&[(147, &[0, 1, 0, 0]), (152, &[0, 1, 0, 0])]),
            FindingCode::InvalidShape,
        ),
        (
            "product of S wraps int64",
            with(&[(117, &[0, 0, 1]), (126, &[0, 0, 1])]),
            FindingCode::InvalidShape,
        ),
        ("E beyond int64", with(&[(117, &i64::MAX.to_be_bytes())]), FindingCode::InvalidShape),
        ("content_len INT32_MAX", with(&[(108, &MOST)]), FindingCode::DamagedHeader),
        ("content_len negative", with(&[(108, &MINUS)]), FindingCode::DamagedHeader),
        ("content_len one too many", with(&[(108, &[0, 0, 0, 54])]), FindingCode::DamagedHeader),
        ("header_len 86", with(&[(11, &[0, 0, 0, 86])]), FindingCode::DamagedHeader),
        ("header_len 0", with(&[(11, &[0; 4])]), FindingCode::DamagedHeader),
        ("header_len negative", with(&[(11, &MINUS)]), FindingCode::DamagedHeader),
        ("header_len past frame_len", with(&[(11, &[0, 0, 2, 9])]), FindingCode::DamagedHeader),
        ("header_len INT32_MAX", with(&[(11, &MOST)]), FindingCode::DamagedHeader),
        ("header_len within the index", with(&[(11, &[0, 0, 0, 95])]), FindingCode::DamagedHeader),
        ("frame_len past the file", with(&[(22, &[2, 9])]), FindingCode::Truncated),
        ("frame_len 2^64 - 1", with(&[(16, &[0xff; 8])]), FindingCode::Truncated),
        ("17 metalayers", with_metalayers(&[("x", b"\xc0".as_slice()); 17]), FindingCode::DamagedHeader),
        ("65535 metalayers", with(&[(92, &[0xff; 2])]), FindingCode::DamagedHeader),
        ("index marker not de", with(&[(91, &[0xdf])]), FindingCode::DamagedHeader),
        ("name not a fixstr", with(&[(94, &[0xd9])]), FindingCode::DamagedHeader),
        ("offset marker not d2", with(&[(99, &[0xce])]), FindingCode::DamagedHeader),
        ("content marker not c6", with(&[(107, &[0xc5])]), FindingCode::DamagedHeader),
        ("offset negative", with(&[(100, &MINUS)]), FindingCode::DamagedHeader),
        ("offset at the end", with(&[(100, &[0, 0, 0, 165])]), FindingCode::DamagedHeader),
        ("offset without room for a length", with(&[(100, &[0, 0, 0, 161])]), FindingCode::DamagedHeader),
        ("offset INT32_MAX", with(&[(100, &MOST)]), FindingCode::DamagedHeader),
        ("trailer_len 2^32 - 1", with_end("int32_3x5.b2nd", 22, &MINUS), FindingCode::DamagedTrailer),
        ("trailer_len 24", with_end("int32_3x5.b2nd", 22, &[0, 0, 0, 24]), FindingCode::DamagedTrailer),
        (
            "trailer_len past the frame",
            with_end("int32_3x5.b2nd", 22, &[0, 0, 2, 9]),
            FindingCode::DamagedTrailer,
        ),
        (
            "trailer_len into the header",
            with_end("int32_3x5.b2nd", 22, &[0, 0, 1, 100]),
            FindingCode::DamagedTrailer,
        ),
        ("nothing behind the header", cut_behind_the_header(0), FindingCode::DamagedTrailer),
        ("10 bytes behind the header", cut_behind_the_header(10), FindingCode::DamagedTrailer),
        ("22 bytes behind the header", cut_behind_the_header(22), FindingCode::DamagedTrailer),
        ("29 bytes behind the header", cut_behind_the_header(29), FindingCode::DamagedTrailer),
        ("frame_len is header_len", with(&[(22, &[0, 165])]), FindingCode::DamagedTrailer),
        (
            "no items, 19 bytes left",
            changed(file("empty.b2nd"), &[(14, &[0xb5])]),
            FindingCode::DamagedTrailer,
        ),
        ("chunksize 0 under items", with(&[(58, &[0; 4])]), FindingCode::Sizes),
    ]
}

/// The same as `damage`, but for the codes that `damage` does not cover.
#[expect(clippy::too_many_lines, reason = "one table")]
pub(crate) fn oddities() -> Vec<(&'static str, Vec<u8>, FindingCode)> {
    let content = &file("int32_3x5.b2nd")[112..165];
    let longer = [&file("int32_3x5.b2nd")[..], b"more"].concat();
    let vlmetalayers = file("vlmetalayers.b2nd");
    // `in_trailer` changes bytes of this trailer. Below, it changes the number of vlmetalayers, or the offset, the
    // length, the name or the chunk of the first vlmetalayer.
    let trailer = Frame::read_at(&vlmetalayers, 0).unwrap().trailer().unwrap();
    let start = usize::try_from(trailer.offset()).unwrap();
    let chunk = usize::try_from(trailer.vlmetalayers()[0].offset()).unwrap();
    let in_trailer = |at: usize, bytes: &[u8]| changed(vlmetalayers.clone(), &[(at, bytes)]);
    vec![
        ("text", b"not a frame, but some text".to_vec(), FindingCode::NotAFrame),
        ("no bytes", Vec::new(), FindingCode::NotAFrame),
        ("zeros", vec![0; 600], FindingCode::NotAFrame),
        ("appended bytes", longer, FindingCode::LongerFile),
        ("another header", with(&[(0, &[0x9f])]), FindingCode::DamagedHeader),
        ("nbytes as uint64", with(&[(29, &[0xcf])]), FindingCode::DamagedHeader),
        ("version 4", with(&[(25, &[0x14])]), FindingCode::UnknownVersion),
        ("frame type 2", with(&[(26, &[2])]), FindingCode::FrameType),
        ("frame type 0x10", with(&[(26, &[0x10])]), FindingCode::FrameType),
        ("frame type 0x80", with(&[(26, &[0x80])]), FindingCode::FrameType),
        ("filter 16", with(&[(71, &[16])]), FindingCode::UnknownFilter),
        ("a parameter of a filter in use", with(&[(84, &[0x80])]), FindingCode::FilterParameter),
        ("a parameter of no filter", with(&[(79, &[0xff])]), FindingCode::FilterParameter),
        ("bytedelta of items of 128 bytes", bytedelta_of_large_items(), FindingCode::FilterParameter),
        ("dtype that means nothing", with(&[(162, b"xyz")]), FindingCode::UnknownDtype),
        ("dtype format 1", with(&[(156, &[1])]), FindingCode::UnknownDtype),
        ("a sparse frame in a file", with(&[(26, &[1])]), FindingCode::FrameType),
        ("9d", of_second_generation(&[]), FindingCode::OldFrame),
        ("7 filters", with(&[(70, &[7])]), FindingCode::DamagedHeader),
        ("typesize 0", with(&[(48, &[0; 4])]), FindingCode::Sizes),
        ("nbytes negative", with(&[(30, &[0xff])]), FindingCode::Sizes),
        ("cbytes negative", with(&[(39, &[0xff])]), FindingCode::Sizes),
        ("chunksize negative", with(&[(58, &[0xff])]), FindingCode::Sizes),
        ("index size 0", with(&[(89, &[0; 2])]), FindingCode::IgnoredBytes),
        ("no list of contents", with(&[(104, &[0xdd])]), FindingCode::IgnoredBytes),
        ("list of 2", with(&[(106, &[2])]), FindingCode::IgnoredBytes),
        (
            "the same name twice",
            with_metalayers(&[("b2nd", content), ("b2nd", content)]),
            FindingCode::DuplicateMetalayer,
        ),
        ("a lazy expression", file("peers/lazy_expression.b2nd"), FindingCode::ActiveObject),
        ("a proxy", file("peers/proxy.b2nd"), FindingCode::ActiveObject),
        ("an object of a later release", file("peers/later_object.b2nd"), FindingCode::ActiveObject),
        ("array of 8", with(&[(112, &[0x98])]), FindingCode::DamagedArray),
        ("shape as uint64", with(&[(116, &[0xcf])]), FindingCode::DamagedArray),
        ("NUL in dtype", with(&[(163, &[0])]), FindingCode::DamagedArray),
        ("dtype of no UTF-8", with(&[(163, &[0xff])]), FindingCode::DamagedArray),
        ("stale tail", file("squeezed.caterva"), FindingCode::StaleTail),
        ("caterva", file("uint16_6x8.caterva"), FindingCode::OldLayout),
        ("metalayer version 1", with(&[(113, &[1])]), FindingCode::UnknownVersion),
        ("shape negative", with(&[(117, &[0xff])]), FindingCode::InvalidShape),
        ("chunk negative", with(&[(136, &[0xff])]), FindingCode::InvalidShape),
        ("chunk of 8 GiB", with(&[(48, &[0x40, 0, 0, 0])]), FindingCode::InvalidShape),
        ("9d, block 0", of_second_generation(&[(142, &[0; 4])]), FindingCode::UnsetBlockshape),
        (
            "9d, block above chunk",
            of_second_generation(&[(142, &[0, 0, 0, 9])]),
            FindingCode::UnsetBlockshape,
        ),
        ("rank 16", file("rank16.b2nd"), FindingCode::HighRank),
        ("a block of more than a chunk", with(&[(53, &[0, 0, 0, 16]), (155, &[4])]), FindingCode::LargeBlock),
        ("chunksize of another chunk", with(&[(58, &[0, 0, 0, 24])]), FindingCode::ChunksizeMismatch),
        ("blocksize of another block", with(&[(53, &[0, 0, 0, 4])]), FindingCode::Sizes),
        ("fewer chunks than the grid", with(&[(37, &[96])]), FindingCode::InterruptedResize),
        ("more chunks than the grid", with(&[(37, &[160])]), FindingCode::InterruptedResize),
        ("a shape of more chunks", with(&[(124, &[5])]), FindingCode::InterruptedResize),
        ("a shape without items", with(&[(124, &[0])]), FindingCode::InterruptedResize),
        ("chunksize without items", changed(file("empty.b2nd"), &[(61, &[3])]), FindingCode::IgnoredBytes),
        ("a name other than b2nd", with(&[(95, b"c2nd")]), FindingCode::MisnamedArray),
        ("typesize 1 for items of 1024 bytes", lost_typesize(), FindingCode::LostTypesize),
        ("Python objects", with_items_of(8, b"|O", 8), FindingCode::ObjectDtype),
        (
            "a field of Python objects",
            with_items_of(12, b"[('a', '<i4'), ('b', '|O', (1,))]", 12),
            FindingCode::ObjectDtype,
        ),
        ("dtype of 8 bytes", with(&[(164, b"8")]), FindingCode::DtypeMismatch),
        ("cbytes past the index", with(&[(46, &[0xff])]), FindingCode::DamagedIndex),
        ("cbytes past the file", with(&[(40, &[0xff])]), FindingCode::DamagedIndex),
        ("index of other chunks", with_index_of_5(), FindingCode::ChunkIndexCount),
        ("a chunk taken for the index", with(&[(39, &[0; 8])]), FindingCode::DamagedIndex),
        ("an offset behind the chunks", with_offset(3, 225), FindingCode::ChunkOffset),
        ("offsets without chunks", without_chunks(), FindingCode::ChunkOffset),
        ("an offset twice", with_offset(3, 64), FindingCode::ChunkOffset),
        ("an unknown special value", with_offset(3, 1 << 63), FindingCode::ChunkOffset),
        ("a special value with other bits", with_offset(3, (-1 << 56) + 192), FindingCode::ChunkOffset),
        ("an index of one value", with_index_of_nan(), FindingCode::DamagedIndex),
        ("a length that is lost", with_lost_length(), FindingCode::LostChunkLength),
        ("nothing stored", file("struct_long.b2nd"), FindingCode::NoData),
        ("stored up to the last chunk", with_offset(3, ZEROS), FindingCode::NeverWritten),
        ("a gap behind the index", with_gap("int32_3x5.b2nd", 35), FindingCode::IgnoredBytes),
        ("trailer without its end", with_end("int32_3x5.b2nd", 23, &[0xcd]), FindingCode::DamagedTrailer),
        ("trailer of 3", with_end("int32_3x5.b2nd", 35, &[0x93]), FindingCode::DamagedTrailer),
        ("trailer behind a gap", with_gap("empty.b2nd", 35), FindingCode::DamagedTrailer),
        ("vlmetalayers said, not there", with(&[(68, &[0xc3])]), FindingCode::IgnoredBytes),
        ("8193 vlmetalayers", in_trailer(start + 7, &[0x20, 0x01]), FindingCode::DamagedTrailer),
        ("vlmetalayer's offset", in_trailer(start + 15, &MOST), FindingCode::DamagedTrailer),
        ("vlmetalayer's length", in_trailer(chunk - 4, &MINUS), FindingCode::DamagedTrailer),
        ("vlmetalayer's name no UTF-8", in_trailer(start + 10, &[0xff]), FindingCode::VlmetalayerValue),
        ("vlmetalayer no chunk", in_trailer(chunk + 12, &[0; 4]), FindingCode::VlmetalayerChunk),
        ("vlmetalayer of no items", in_trailer(chunk + 3, &[0]), FindingCode::VlmetalayerChunk),
        ("vlmetalayer of no blocks", in_trailer(chunk + 8, &[0; 4]), FindingCode::VlmetalayerChunk),
        ("vlmetalayer of more bytes", in_trailer(chunk + 4, &[8]), FindingCode::VlmetalayerChunk),
        ("vlmetalayer with a dictionary", in_trailer(chunk + 31, &[1]), FindingCode::VlmetalayerChunk),
    ]
}

/// The same as `damage`, but for damage in the chunk header of the chunk index.
pub(crate) fn index_damage() -> Vec<(&'static str, Vec<u8>, FindingCode)> {
    vec![
        ("an index of items of 9 bytes", with_index_byte(3, 9), FindingCode::DamagedIndex),
        ("an index of blocks of 0 bytes", with_index_byte(8, 0), FindingCode::DamagedIndex),
        ("an index of blocks of 2 GiB", with_index_byte(11, 0x7f), FindingCode::DamagedIndex),
        ("an index of Blosc 1", with_index_byte(2, 0x18), FindingCode::DamagedIndex),
        ("an index of blocks of any length", with_index_byte(30, 1), FindingCode::DamagedIndex),
        ("an index with a dictionary", with_index_byte(31, 1), FindingCode::DamagedIndex),
        ("an index for memory only", with_index_byte(31, 8), FindingCode::DamagedIndex),
        ("an index of zeros and more", with_index_byte(31, 0x10), FindingCode::DamagedIndex),
    ]
}

/// The index entry of a chunk that consists of zeros.
pub(crate) const ZEROS: i64 = -0x7f << 56;

/// `int32_3x5.b2nd` with a chunk index that is a constant chunk of NaN.
fn with_index_of_nan() -> Vec<u8> {
    let mut file = with_index_byte(31, 0x20);
    let index = index_start(&file);
    // Clears the flag of uncompressed data, because a constant chunk has no data.
    file[index + 2] &= !2;
    file
}

/// A compressed chunk whose codec has this number. Numbers from 160 on belong to users.
#[cfg(feature = "decompress")]
pub(crate) fn chunk_with_codec(codec: u8) -> Vec<u8> {
    let mut chunk = chunk_with_a_table(1);
    // The flags now say that the codec is in byte 22.
    (chunk[2], chunk[22]) = (0xd5, codec);
    chunk
}

/// `int32_3x5.b2nd` with one byte changed in the chunk header of its index.
fn with_index_byte(at: usize, byte: u8) -> Vec<u8> {
    let file = file("int32_3x5.b2nd");
    let index = index_start(&file);
    assert_ne!(file[index + at], byte);
    changed(file, &[(index + at, &[byte])])
}

/// A frame with chunks of different sizes, in which the index entry of one chunk says that it is a constant chunk. So
/// the size of this chunk is unknown.
fn with_lost_length() -> Vec<u8> {
    let file = file("peers/chunks_of_any_length.b2frame");
    let index = index_start(&file);
    assert_eq!(file[index + 2] & 7, 7, "the index is not stored behind a header of 32 bytes");
    changed(file, &[(index + 32, &ZEROS.to_le_bytes())])
}

/// `int32_3x5.b2nd` with a chunk index that claims 40 bytes, which is enough for 5 chunks instead of 4.
fn with_index_of_5() -> Vec<u8> {
    let file = file("int32_3x5.b2nd");
    let index = index_start(&file);
    assert_eq!(file[index + 4..index + 8], 32_u32.to_le_bytes());
    changed(file, &[(index + 4, &40_u32.to_le_bytes())])
}

/// `int32_3x5.b2nd` with another offset for one chunk in the chunk index.
fn with_offset(chunk: usize, offset: i64) -> Vec<u8> {
    let file = file("int32_3x5.b2nd");
    let header = Frame::parse(&file).unwrap().header().clone();
    assert_eq!(header.cbytes, 256);
    let index = index_start(&file);
    let (flags, offsets) = (file[index + 2], index + 32);
    assert_eq!(flags & 7, 7, "the index is not stored behind a header of 32 bytes");
    assert_eq!(file[offsets + 8..offsets + 16], 64_i64.to_le_bytes());
    changed(file, &[(offsets + 8 * chunk, &offset.to_le_bytes())])
}

/// `int32_3x5.b2nd` without its chunks: the chunk index directly follows the header.
fn without_chunks() -> Vec<u8> {
    let mut file = file("int32_3x5.b2nd");
    file.drain(165..165 + 256);
    let frame_len = file.len() as u64;
    changed(file, &[(16, &frame_len.to_be_bytes()), (39, &[0; 8])])
}

/// An array of `<U256` whose header has the typesize 1, although an item has 1024 bytes. `to_cframe` of python-blosc2
/// writes such a header for an array in memory with items of more than 255 bytes, unless the array was made with
/// `contiguous=True`.
pub(crate) fn lost_typesize() -> Vec<u8> {
    with_items_of(256 * 4, b"<U256", 1)
}

/// `int32_3x5.b2nd` with another item size and dtype. The sizes in the frame header agree with this item size, but the
/// chunks are not changed.
pub(crate) fn with_items_of(size: u32, dtype: &[u8], typesize: u32) -> Vec<u8> {
    let file = with_array(|content| {
        content.truncate(46);
        content.extend(u32::try_from(dtype.len()).unwrap().to_be_bytes());
        content.extend(dtype);
    });
    let nbytes = i64::from(4 * 8 * size);
    changed(
        file,
        &[
            (30, &nbytes.to_be_bytes()),
            (48, &typesize.to_be_bytes()),
            (53, &(2 * size).to_be_bytes()),
            (58, &(8 * size).to_be_bytes()),
        ],
    )
}
