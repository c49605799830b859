//! Writes new frames from ready-made chunks.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::path::Path;

use crate::findings;
use b2nd_frame::{
    Check, CheckDepth, ChunkPlace, Codec, ErrorKind, Filter, FindingCode, Frame, FrameBuilder, FrameType,
    FrameWriter, HeaderField, NewFrame, ReadAt, Salvage, SpecialValue, SplitMode, write_new_file,
};
use b2nd_lab::{chunk_of_zeros, data, shows_as_much_as_fits, stored_chunk};
use b2nd_serde::{Layout, Meta, Shapes};

fn meta(shape: &[i64], chunkshape: &[i32], blockshape: &[i32], dtype: &str) -> Meta {
    Meta::new(Shapes { shape, chunkshape, blockshape }, dtype).unwrap()
}

/// The metalayer of the worked example of the draft specification. Its array has 4 chunks of 32 bytes, in blocks of 8
/// bytes.
fn worked_example() -> Meta {
    meta(&[3, 5], &[2, 3], &[1, 2], "<i4")
}

fn begin() -> FrameWriter<Cursor<Vec<u8>>> {
    FrameBuilder::new(worked_example()).write_to(Cursor::new(Vec::new())).unwrap()
}

/// Starts writing the array of the worked example, but with floats as items.
fn begin_with_floats() -> FrameWriter<Cursor<Vec<u8>>> {
    let builder = FrameBuilder::new(meta(&[3, 5], &[2, 3], &[1, 2], "<f4"));
    builder.write_to(Cursor::new(Vec::new())).unwrap()
}

/// Makes the items of chunk `number`. Different chunks get different items.
fn items_of(number: u64, nbytes: usize) -> Vec<u8> {
    (0..nbytes)
        .map(|byte| u8::try_from((byte + usize::try_from(number).unwrap() * 7) % 251).unwrap())
        .collect()
}

/// Stores all chunks, the last one first.
fn store_all<W: Write + Seek>(writer: &mut FrameWriter<W>) {
    for number in (0..writer.nchunks()).rev() {
        writer.write_uncompressed(number, &items_of(number, writer.chunk_nbytes())).unwrap();
    }
}

/// Asserts that a check of a frame and of the data of its chunks finds nothing, and returns the frame.
#[track_caller]
fn without_findings<R: ReadAt>(frame: Frame<R>) -> Frame<R> {
    let report = Check::new(CheckDepth::ChunkData).run(&frame).unwrap();
    let mut findings = report.findings;
    findings.retain(|finding| finding.code() != FindingCode::HighRank);
    assert_eq!(findings, []);
    assert_eq!(report.skipped, []);
    frame
}

/// The bytes of a stored chunk.
fn bytes_of(file: &[u8], place: ChunkPlace, cbytes: usize) -> &[u8] {
    let ChunkPlace::Frame(start) = place else { panic!("not in the frame: {place:?}") };
    &file[usize::try_from(start).unwrap()..][..cbytes]
}

#[test]
fn arrays_of_all_ranks_are_read_back() {
    let mut random = fastrand::Rng::with_seed(13);
    for round in 0..300 {
        let ndim = [0, 1, 2, 3, 4, 8, 16][round % 7];
        let most = [1, 40, 9, 6, 4, 2, 2][round % 7];
        let mut sizes = |most: i32| -> Vec<i32> { (0..ndim).map(|_| random.i32(1..=most)).collect() };
        let shape: Vec<i64> = sizes(most).into_iter().map(i64::from).collect();
        let chunkshape = sizes(most);
        let blockshape: Vec<i32> =
            chunkshape.iter().map(|&chunk| random.i32(1..=if ndim > 8 { 1 } else { chunk })).collect();
        let dtype = ["|u1", "<i4", "<f8", "<c16", "|S300", "[('a', '<i2'), ('b', '|S5')]"][round % 6];
        let meta = meta(&shape, &chunkshape, &blockshape, dtype);
        let geometry = meta.geometry().unwrap();
        let typesize = meta.parse_dtype().unwrap().unwrap().item_size();
        let array = items_of(1, usize::try_from(geometry.nitems()).unwrap() * typesize);

        let mut writer = FrameBuilder::new(meta.clone()).write_to(Cursor::new(Vec::new())).unwrap();
        assert_eq!(writer.nchunks(), geometry.nchunks());
        for chunk in geometry.chunks() {
            let mut items = vec![0; writer.chunk_nbytes()];
            chunk.gather(&array, typesize, &mut items).unwrap();
            writer.write_uncompressed(chunk.number(), &items).unwrap();
        }
        let frame = without_findings(Frame::read_at(writer.finish().unwrap(), 0).unwrap());
        assert_eq!(frame.array().unwrap().unwrap().meta(), &meta);

        let entries: Vec<_> = frame.chunks().unwrap().collect::<Result<_, _>>().unwrap();
        let file = frame.into_reader().into_inner();
        let mut read = vec![0xaa; array.len()];
        for (entry, chunk) in entries.iter().zip(geometry.chunks()) {
            let nbytes = usize::try_from(entry.nbytes.unwrap()).unwrap();
            let items = &bytes_of(&file, entry.place, 32 + nbytes)[32..];
            chunk.scatter(items, typesize, &mut read).unwrap();
        }
        assert!(read == array, "{meta:?}");
    }
}

/// Sets the numbers of threads in the header of a frame to 0, because they depend on the machine.
fn comparable(mut header: Vec<u8>) -> Vec<u8> {
    let frame = Frame::parse(&header).unwrap();
    for field in [HeaderField::CompressionThreads, HeaderField::DecompressionThreads] {
        header[frame.header().range(field).unwrap()].fill(0);
    }
    header
}

#[test]
fn chunks_of_python_blosc2_make_the_frame_that_it_made() {
    let file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let frame = Frame::read_at(&file[..], 0).unwrap();
    let meta = frame.array().unwrap().unwrap().meta().clone();
    let mut chunks = Vec::new();
    let mut entries = frame.chunks().unwrap();
    while let Some(entry) = entries.next().transpose().unwrap() {
        let header = entries.header(&entry).unwrap().unwrap();
        chunks.push(bytes_of(&file, entry.place, header.cbytes()));
    }
    let made = FrameBuilder::new(meta).to_vec(&chunks).unwrap();

    let header_len = frame.header().header_len;
    assert_eq!(comparable(made[..header_len].to_vec()), comparable(file[..header_len].to_vec()));
    assert_eq!(made.len(), file.len());
    // Both files store the chunk index uncompressed. In the chunk header of the index, C-Blosc2 also names a codec and
    // a filter, although they are not used.
    let differs = made.iter().zip(&file).skip(header_len).filter(|(made, real)| made != real).count();
    assert_eq!(differs, 2);
    without_findings(Frame::read_at(made, 0).unwrap());
}

#[test]
fn the_header_says_what_the_builder_was_told() {
    let filters = [Filter { id: 4, meta: 10 }, Filter { id: 35, meta: 0 }];
    let builder =
        FrameBuilder::new(worked_example()).codec(Codec(35)).codec_meta(3).level(9).filters(&filters);
    let builder = builder.split_mode(SplitMode::Never).uses_dictionary(true);
    let mut writer = builder.write_to(Cursor::new(Vec::new())).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    let frame = Frame::read_at(writer.finish().unwrap(), 0).unwrap();
    let header = frame.header();
    assert_eq!((header.codec, header.codec_meta, header.level), (Codec(35), 3, 9));
    assert_eq!((header.split_mode, header.uses_dictionary), (SplitMode::Never, true));
    assert!(header.pipeline().eq(filters));
    assert_eq!((header.version, header.frame_type), (2, FrameType::Contiguous));
    assert_eq!(frame.check_header().findings, []);
}

#[test]
fn codecs_filters_and_split_modes_are_those_of_the_registry_of_c_blosc2() {
    for (number, name) in [
        (0, "blosclz"),
        (1, "lz4"),
        (2, "lz4hc"),
        (4, "zlib"),
        (5, "zstd"),
        (32, "ndlz"),
        (33, "zfp_acc"),
        (34, "zfp_prec"),
        (35, "zfp_rate"),
        (36, "openhtj2k"),
        (37, "grok"),
        (38, "openzl"),
        (39, "j2k"),
        (40, "htj2k"),
    ] {
        assert_eq!((Codec(number).name(), &*Codec(number).to_string()), (Some(name), name));
    }
    for (id, meta, name, shown) in [
        (0, 0, Some("none"), "none"),
        (1, 0, Some("shuffle"), "shuffle"),
        (2, 0, Some("bitshuffle"), "bitshuffle"),
        (3, 0, Some("delta"), "delta"),
        (4, 10, Some("trunc_prec"), "trunc_prec (10)"),
        (100, 0, None, "filter 100"),
        (200, 7, None, "filter 200 (7)"),
    ] {
        let filter = Filter { id, meta };
        assert_eq!((filter.name(), &*filter.to_string()), (name, shown));
        shows_as_much_as_fits(&filter);
    }
    for (mode, bits, shown) in [
        (SplitMode::Always, 0, "always"),
        (SplitMode::Never, 1, "never"),
        (SplitMode::Auto, 2, "auto"),
        (SplitMode::ForwardCompatible, 3, "forward compatible"),
    ] {
        let builder = FrameBuilder::new(worked_example()).split_mode(mode);
        let mut writer = builder.write_to(Cursor::new(Vec::new())).unwrap();
        writer.fill_missing(SpecialValue::Zeros).unwrap();
        let file = writer.finish().unwrap();
        // The split mode is in the fourth byte of the flags.
        assert_eq!(file.get_ref()[28] & 3, bits);
        let frame = Frame::read_at(file, 0).unwrap();
        assert_eq!((frame.header().split_mode, &*mode.to_string()), (mode, shown));
    }
}

#[test]
fn metalayers_and_vlmetalayers_are_read_back() {
    let old = Frame::open(data().join("vlmetalayers.b2nd")).unwrap();
    let old_trailer = old.trailer().unwrap();
    let note = old_trailer.vlmetalayer("note").unwrap();
    let vendor = old.metalayer("vendor").unwrap();
    let mut builder = FrameBuilder::new(worked_example())
        .metalayer("numbers", &[1, 2, 3])
        .metalayer_bytes("vendor", vendor.bytes())
        .vlmetalayer("unit", "kelvin")
        .vlmetalayer_chunk("note", note.chunk());
    for number in 0..13 {
        builder = builder.metalayer(&format!("{}{number}", "n".repeat(29)), &number);
    }
    let mut writer = builder.write_to(Cursor::new(Vec::new())).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    let frame = Frame::read_at(writer.finish().unwrap(), 0).unwrap();
    assert_eq!(frame.metalayers().len(), 16);
    assert_eq!(frame.metalayer("numbers").unwrap().decode::<Vec<u8>>().unwrap(), [1, 2, 3]);
    assert_eq!(frame.metalayer("vendor").unwrap().bytes(), vendor.bytes());
    let trailer = frame.trailer().unwrap();
    assert_eq!(trailer.vlmetalayer("unit").unwrap().decode::<String>().unwrap(), "kelvin");
    assert_eq!(trailer.vlmetalayer("note").unwrap().chunk(), note.chunk());
    assert!(frame.header().has_vlmetalayers);
    assert!(findings(&frame).iter().all(|finding| finding.code() == FindingCode::NoData));
}

#[test]
fn a_long_metalayer_is_read_back() {
    let bytes = vec![0xc0; 1 << 20];
    let builder = FrameBuilder::new(worked_example()).metalayer_bytes("long", &bytes);
    let mut writer = builder.write_to(Cursor::new(Vec::new())).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    let frame = Frame::read_at(writer.finish().unwrap(), 0).unwrap();
    assert_eq!(frame.metalayer("long").unwrap().bytes(), bytes);
}

#[test]
fn all_ways_to_write_give_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.b2nd");
    let mut writer = FrameBuilder::new(worked_example()).create(&path).unwrap();
    store_all(&mut writer);
    let frame = writer.finish().unwrap().persist().unwrap();
    assert_eq!((frame.path(), frame.header().frame_len), (Some(&*path), fs::metadata(&path).unwrap().len()));
    let file = fs::read(&path).unwrap();

    let mut writer = begin();
    store_all(&mut writer);
    assert_eq!(writer.finish().unwrap().into_inner(), file);

    let chunk = |number| [&file_chunk_header(), &items_of(number, 32)[..]].concat();
    let in_order = FrameBuilder::new(worked_example()).to_vec((0..4).map(chunk)).unwrap();
    assert_eq!(in_order.len(), file.len());
    without_findings(Frame::read_at(&in_order, 0).unwrap());

    // The frame is written between other bytes, which must stay unchanged.
    let mut to = Cursor::new(vec![0xaa; 2000]);
    to.set_position(100);
    let mut writer = FrameBuilder::new(worked_example()).write_to(to).unwrap();
    store_all(&mut writer);
    let to = writer.finish().unwrap();
    assert_eq!(to.position(), 100 + file.len() as u64);
    let bytes = to.into_inner();
    assert_eq!(bytes[..100], [0xaa; 100]);
    assert_eq!(bytes[100..][..file.len()], file);
    assert!(bytes[100 + file.len()..].iter().all(|&byte| byte == 0xaa) && bytes.len() == 2000);
}

/// The header of an uncompressed chunk of the worked example.
fn file_chunk_header() -> [u8; 32] {
    let mut header = [0; 32];
    header[..16].copy_from_slice(b"\x05\x01\x07\x04\x20\0\0\0\x08\0\0\0\x40\0\0\0");
    header
}

fn files(directory: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn the_files_of_a_sparse_frame_are_numbered_as_its_chunks_come() {
    let folder = tempfile::tempdir().unwrap();
    for (name, order, numbers) in [("one", [0, 2, 3], [0, 1, 2]), ("other", [3, 0, 2], [1, 2, 0])] {
        let path = folder.path().join(name);
        let mut writer = FrameBuilder::new(worked_example()).create_sparse(&path).unwrap();
        for number in order {
            writer.write_uncompressed(number, &items_of(number, 32)).unwrap();
        }
        writer.write_special(1, SpecialValue::Zeros).unwrap();
        let frame = writer.finish().unwrap().persist().unwrap();
        assert_eq!((frame.header().frame_type, frame.header().cbytes), (FrameType::Sparse, 3 * 64));
        assert_eq!(frame.path(), Some(&*path.join("chunks.b2frame")));
        let places: Vec<_> = frame.chunks().unwrap().map(|entry| entry.unwrap().place).collect();
        let zeros = ChunkPlace::Special(SpecialValue::Zeros);
        let [first, third, fourth] = numbers.map(ChunkPlace::File);
        assert_eq!(places, [first, zeros, third, fourth]);
        let files = files(&path);
        assert_eq!(files.len(), 4);
        for (number, file) in [0, 2, 3].into_iter().zip(numbers) {
            let chunk = &files[OsStr::new(&format!("{file:08X}.chunk"))];
            assert_eq!(chunk[32..], items_of(number, 32));
        }
        without_findings(Frame::open(&path).unwrap());
    }
}

#[test]
fn a_late_chunk_of_a_sparse_frame_has_a_file_that_c_blosc2_opens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("late.b2nd");
    let mut writer = FrameBuilder::new(meta(&[100_000], &[1], &[1], "|u1")).create_sparse(&path).unwrap();
    writer.write_uncompressed(99_999, &[7]).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    let frame = without_findings(writer.finish().unwrap().persist().unwrap());
    let place = frame.chunks().unwrap().nth(99_999).unwrap().unwrap().place;
    assert_eq!(place, ChunkPlace::File(0));
}

#[test]
fn special_values_are_in_the_index_and_repeated_items_in_the_frame() {
    let mut writer = begin_with_floats();
    writer.write_special(0, SpecialValue::Nan).unwrap();
    writer.write_special(1, SpecialValue::Uninitialized).unwrap();
    writer.write_repeated(2, &[1, 2, 3, 4]).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    let frame = without_findings(Frame::read_at(writer.finish().unwrap(), 0).unwrap());
    assert_eq!(frame.header().cbytes, 36);
    let mut chunks = frame.chunks().unwrap();
    let mut special = Vec::new();
    while let Some(entry) = chunks.next().transpose().unwrap() {
        special.push(match entry.place {
            ChunkPlace::Special(special) => special,
            _ => chunks.header(&entry).unwrap().unwrap().special().unwrap(),
        });
    }
    assert_eq!(
        special,
        [SpecialValue::Nan, SpecialValue::Uninitialized, SpecialValue::Value, SpecialValue::Zeros]
    );
}

#[test]
fn a_compressors_chunk_of_one_special_value_becomes_an_entry_of_the_index() {
    let mut writer = begin_with_floats();
    store_all(&mut writer);
    let stored = Frame::read_at(writer.finish().unwrap(), 0).unwrap().header().cbytes;
    for (bits, special) in
        [(0x10, SpecialValue::Zeros), (0x20, SpecialValue::Nan), (0x40, SpecialValue::Uninitialized)]
    {
        let mut chunk = file_chunk_header();
        (chunk[2], chunk[12], chunk[31]) = (0x05, 32, bits);
        let mut writer = begin_with_floats();
        writer.write_chunk(1, &chunk).unwrap();
        for number in [0, 2, 3] {
            writer.write_uncompressed(number, &items_of(number, 32)).unwrap();
        }
        let frame = Frame::read_at(writer.finish().unwrap(), 0).unwrap();
        assert_eq!(frame.header().cbytes, stored - 64);
        let place = frame.chunks().unwrap().nth(1).unwrap().unwrap().place;
        assert_eq!(place, ChunkPlace::Special(special));
        without_findings(frame);
    }
}

/// The file of an array of this many stored chunks, and the offsets of the chunks.
fn many_chunks(chunks: i64) -> (Vec<u8>, Vec<usize>) {
    let builder = FrameBuilder::new(meta(&[8 * chunks], &[8], &[8], "|u1"));
    let mut writer = builder.write_to(Cursor::new(Vec::new())).unwrap();
    assert_eq!(writer.first_missing(), Some(0));
    store_all(&mut writer);
    assert_eq!(writer.first_missing(), None);
    assert!(format!("{writer:?}").starts_with("FrameWriter { sizes: "));
    let file = writer.finish().unwrap().into_inner();
    let frame = Frame::read_at(&file, 0).unwrap();
    let entries = frame.chunks().unwrap().map(Result::unwrap);
    let starts: Vec<_> = entries
        .map(|entry| {
            let ChunkPlace::Frame(start) = entry.place else { panic!("not stored") };
            usize::try_from(start).unwrap()
        })
        .collect();
    (file, starts)
}

#[test]
fn of_many_bad_chunks_20_are_told_and_the_others_counted() {
    let (mut damaged, starts) = many_chunks(25);
    for start in starts {
        damaged[start + 3] = 9;
    }
    let frame = Frame::read_at(damaged, 0).unwrap();
    let findings = Check::new(CheckDepth::ChunkHeaders).run(&frame).unwrap().findings;
    assert_eq!(findings.len(), 21);
    assert_eq!(findings[20].message(), "5 more findings about chunks are left out");
}

#[test]
fn many_findings_of_one_code_do_not_hide_those_of_others() {
    let (mut damaged, starts) = many_chunks(30);
    for (number, &start) in starts.iter().enumerate() {
        match number {
            // Changes the size of the items.
            ..25 => damaged[start + 3] = 9,
            // Changes a filter. Also changes the flags, so that the chunk claims to be compressed. A compressed chunk
            // has a table of blocks after its header, so the only block gets an entry: it starts at byte 36.
            25 => {
                damaged[start + 2] = 0x35;
                damaged[start + 16] = 2;
                damaged[start + 32..start + 36].copy_from_slice(&36_u32.to_le_bytes());
            }
            _ => {}
        }
    }
    let frame = Frame::read_at(damaged, 0).unwrap();
    let findings = Check::new(CheckDepth::ChunkHeaders).run(&frame).unwrap().findings;
    let count = |code| findings.iter().filter(|finding| finding.code() == code).count();
    assert_eq!((count(FindingCode::ChunkHeader), count(FindingCode::ChunkFilters)), (21, 1), "{findings:?}");
    let left_out: Vec<_> = findings.iter().filter(|finding| finding.message().contains("left out")).collect();
    assert_eq!(left_out.len(), 1);
    assert_eq!((left_out[0].code(), left_out[0].chunk()), (FindingCode::ChunkHeader, None));
}

#[test]
fn an_index_of_one_offset_is_not_a_repeated_value() {
    let python = fs::read(data().join("scalar.b2nd")).unwrap();
    let mut writer = FrameBuilder::new(meta(&[], &[], &[], "<f8")).write_to(Cursor::new(Vec::new())).unwrap();
    writer.write_uncompressed(0, &3.5_f64.to_le_bytes()).unwrap();
    let file = writer.finish().unwrap().into_inner();
    // The bytes of the filters are not compared, because C-Blosc2 names filters in the index, although they are not
    // used.
    let index = |file: &[u8]| {
        let index = &file[file.len() - 40 - 35..][..40];
        (index[..16].to_vec(), index[24..].to_vec())
    };
    assert_eq!(index(&file), index(&python));
}

#[test]
fn an_index_of_one_special_value_takes_40_bytes() {
    for (special, last) in
        [(SpecialValue::Zeros, 0x81), (SpecialValue::Nan, 0x82), (SpecialValue::Uninitialized, 0x84)]
    {
        let meta = meta(&[1 << 27], &[1], &[1], "<f4");
        let mut writer = FrameBuilder::new(meta).write_to(Cursor::new(Vec::new())).unwrap();
        writer.write_special(7, special).unwrap();
        writer.fill_missing(special).unwrap();
        let file = writer.finish().unwrap().into_inner();
        let header_len = Frame::parse(&file).unwrap().header().header_len;
        assert_eq!(file.len(), header_len + 40 + 35);
        // The expected bytes of the chunk index are those that `blosc2.zeros` writes.
        let index = &file[header_len..][..40];
        let expected = [
            &[5, 1, 5, 8, 0, 0, 0, 0x40, 0, 0x40, 0, 0, 40, 0, 0, 0][..],
            &[0; 15],
            &[0x30, 0, 0, 0, 0, 0, 0, 0, last],
        ];
        assert_eq!(index, expected.concat());
        let frame = Frame::read_at(file, 0).unwrap();
        assert_eq!(frame.count_chunks().unwrap().total(), 1 << 27);
    }
}

#[test]
fn an_array_without_items_has_no_chunks_and_no_index() {
    for (chunkshape, version, chunksize) in [([4, 4], 2, 128), ([0, 4], 3, 0)] {
        let meta = meta(&[0, 8], &chunkshape, &[2, 2], "<f8");
        let writer = FrameBuilder::new(meta).write_to(Cursor::new(Vec::new())).unwrap();
        assert_eq!(writer.nchunks(), 0);
        let frame = Frame::read_at(writer.finish().unwrap(), 0).unwrap();
        let header = frame.header();
        assert_eq!((header.nbytes, header.cbytes, header.chunksize), (0, 0, chunksize));
        assert_eq!((header.version, header.has_variable_chunks), (version, version == 3));
        assert_eq!(header.frame_len, header.header_len as u64 + 35);
        without_findings(frame);
    }
}

/// A stored chunk of the worked example.
fn good_chunk() -> Vec<u8> {
    [&file_chunk_header()[..], &[7; 32]].concat()
}

fn good_chunk_with(at: usize, value: &[u8]) -> Vec<u8> {
    let mut chunk = good_chunk();
    chunk[at..at + value.len()].copy_from_slice(value);
    chunk
}

/// A chunk that repeats a value.
fn repeated_chunk(value: &[u8]) -> Vec<u8> {
    let mut chunk = [&good_chunk_with(31, &[0x30])[..32], value].concat();
    (chunk[2], chunk[12]) = (0x05, u8::try_from(chunk.len()).unwrap());
    chunk
}

#[test]
fn a_chunk_that_does_not_fit_is_refused_and_can_be_given_again() {
    let (good, with, repeated) = (good_chunk(), good_chunk_with, repeated_chunk);
    let mut writer = begin();
    let wrong = [
        ("cannot be written: the 10 given bytes are not a Blosc2 chunk", vec![5; 10]),
        ("has 64 bytes by its header, but 63 are given", good[..63].to_vec()),
        ("has 64 bytes by its header, but 65 are given", [&good[..], &[0]].concat()),
        ("has 31 bytes of data, but must have 32", with(4, &[31])),
        ("has items of 8 bytes, but must have 4", with(3, &[8])),
        ("has blocks of 16 bytes, but must have 8", with(8, &[16])),
        ("has 8 blocks of different sizes, but must have blocks of 8 bytes", with(30, &[1])),
        ("has a dictionary, but is not compressed: bit 0 of its byte 31 must be 0", with(31, &[1])),
        ("has one value, but also data or a dictionary", with(31, &[0x10])),
        ("has the special value 5, but only 1 to 4 are known", with(31, &[0x50])),
        ("repeats a value of 5 bytes, which does not fit 32 bytes", repeated(&[1; 5])),
        ("repeats a value of 8 bytes, but items have 4", repeated(&[1; 8])),
        ("has block 0 at its byte 47, but it must begin at byte 48 or later, and before byte 64", {
            let mut chunk = with(2, &[0x05]);
            chunk[32..36].copy_from_slice(&47_i32.to_le_bytes());
            chunk
        }),
        ("has 18 bytes, but C-Blosc2 reads no chunk of less than 32", {
            b"\x02\x01\x02\x04\x20\0\0\0\x08\0\0\0\x12\0\0\0ab".to_vec()
        }),
    ];
    for (why, chunk) in wrong {
        let error = writer.write_chunk(2, &chunk).unwrap_err();
        assert_eq!(
            (error.kind(), &*error.to_string()),
            (ErrorKind::InvalidInput, &*format!("chunk 2 {why}"))
        );
    }
    finishes_after_refusals(writer);
}

#[test]
fn items_that_do_not_fit_are_refused_and_can_be_given_again() {
    let mut writer = begin();
    let refusals = [
        (writer.write_uncompressed(2, &[0; 31]), "chunk 2 needs 32 bytes of items, but 31 are given"),
        (writer.write_repeated(2, &[0; 8]), "chunk 2 needs an item of 4 bytes, but 8 are given"),
        (
            writer.write_special(2, SpecialValue::Value),
            "chunk 2 cannot repeat a value that is not given; `write_repeated` takes one",
        ),
        (writer.write_uncompressed(4, &[0; 32]), "chunk 4 does not exist: the array has 4 chunks, from 0 on"),
        (
            writer.write_special(u64::MAX, SpecialValue::Zeros),
            "chunk 18446744073709551615 does not exist: the array has 4 chunks, from 0 on",
        ),
        (
            writer.fill_missing(SpecialValue::Value),
            "the other chunks cannot repeat a value that is not given; `write_repeated` takes one",
        ),
    ];
    for (result, message) in refusals {
        assert_eq!(result.unwrap_err().to_string(), message);
    }
    finishes_after_refusals(writer);
}

/// Writes all chunks after refusals, and asserts that the writer refuses a chunk that is already written.
fn finishes_after_refusals(mut writer: FrameWriter<Cursor<Vec<u8>>>) {
    let good = good_chunk();
    writer.write_chunk(3, &repeated_chunk(&[1; 4])).unwrap();
    for number in [2, 0] {
        writer.write_chunk(number, &good).unwrap();
    }
    assert_eq!(
        writer.write_chunk(2, &good).unwrap_err().to_string(),
        "chunk 2 has already been given, or filled"
    );
    assert_eq!(
        writer.write_special(0, SpecialValue::Nan).unwrap_err().to_string(),
        "chunk 0 has already been given, or filled"
    );
    writer.write_chunk(1, &good).unwrap();
    let frame = Frame::read_at(writer.finish().unwrap(), 0).unwrap();
    assert_eq!(frame.header().cbytes, 3 * 64 + 36);
    without_findings(frame);
}

#[test]
fn only_little_endian_floats_can_be_nan() {
    let cases = [
        ("|u1", false),
        ("<f2", false),
        ("<f4", true),
        ("<f8", true),
        // For a chunk of NaN, readers produce the bytes of a little-endian float, even if the dtype is not
        // little-endian.
        (">f4", false),
        (">f8", false),
        ("<i4", false),
        ("<M8[ns]", false),
        ("|S4", false),
        ("<c8", false),
        ("<c16", false),
    ];
    for (dtype, is_nan) in cases {
        let meta = meta(&[2], &[1], &[1], dtype);
        let mut writer = FrameBuilder::new(meta).write_to(Cursor::new(Vec::new())).unwrap();
        let found = writer.write_special(0, SpecialValue::Nan).map_err(|error| error.to_string());
        let message = "chunk 0 cannot be NaN: only little-endian floats of 4 or 8 bytes can";
        assert_eq!(found, if is_nan { Ok(()) } else { Err(message.into()) }, "{dtype}");
        assert_eq!(writer.fill_missing(SpecialValue::Nan).is_ok(), is_nan, "{dtype}");
    }
}

#[test]
fn a_file_that_only_appends_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let file = fs::File::options().append(true).create(true).open(&path).unwrap();
    let mut writer = FrameBuilder::new(meta(&[2], &[2], &[2], "|u1")).write_to(file).unwrap();
    writer.write_uncompressed(0, &[1, 2]).unwrap();
    let error = writer.finish().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    let reason = error.io_error().unwrap().to_string();
    assert_eq!(reason, "the header cannot be written before the chunks: the writer only appends");
}

#[test]
fn a_vlmetalayer_whose_chunk_cannot_be_read_is_refused() {
    let good = stored_chunk(&[0xa1, b'x']);
    for (at, value, why) in [
        (1, 0, "has items of 0 bytes"),
        (4, 200, "is not compressed, but has 2 bytes for 200 of data"),
        (8, 0, "has blocks of 0 bytes"),
        (12, 200, "which are not a Blosc2 chunk"),
        (31, 1, "has a dictionary, but is not compressed"),
    ] {
        let at: usize = at;
        let mut chunk = good.clone();
        chunk[if at == 1 { 3 } else { at }] = value;
        let builder = FrameBuilder::new(meta(&[2], &[2], &[2], "|u1")).vlmetalayer_chunk("unit", &chunk);
        let error = builder.write_to(Cursor::new(Vec::new())).unwrap_err().to_string();
        assert!(error.starts_with("the chunk of vlmetalayer `unit` has ") || error.contains(why), "{error}");
        assert!(error.contains(why), "{error}");
    }
    // The chunk has stored data, but its flags also say that it consists of zeros.
    let mut chunk = stored_chunk(&[0xa1, b'x']);
    (chunk[2], chunk[31]) = (chunk[2] & !0x02, 0x10);
    let builder = FrameBuilder::new(meta(&[2], &[2], &[2], "|u1")).vlmetalayer_chunk("unit", &chunk);
    let error = builder.write_to(Cursor::new(Vec::new())).unwrap_err().to_string();
    assert!(error.contains("has one value, but also data"), "{error}");
}

/// In MessagePack, a zero byte is the number 0, so a special chunk of one zero byte is a valid value.
#[test]
fn a_vlmetalayer_whose_chunk_is_special_is_valid_and_is_copied_and_salvaged() {
    let chunk = chunk_of_zeros(1);
    let builder = FrameBuilder::new(meta(&[0], &[2], &[2], "|u1")).vlmetalayer_chunk("unit", &chunk);
    let file = builder.to_vec([[]; 0]).unwrap();
    let frame = Frame::read_at(&file, 0).unwrap();
    assert_eq!(Check::new(CheckDepth::ChunkData).run(&frame).unwrap().findings, []);
    let layer = frame.trailer().unwrap().vlmetalayers()[0].clone();
    assert_eq!(layer.chunk(), chunk);
    #[cfg(feature = "decompress")]
    assert_eq!(layer.decode::<u8>().unwrap(), 0);
    let report = Salvage::read_at(&file, 0).unwrap().preview().unwrap();
    assert_eq!(report.lost_metalayers, []);
}

#[test]
fn codecs_and_dictionaries_are_those_of_c_blosc2() {
    let build = |codec: u8, dictionary: bool| {
        let builder = FrameBuilder::new(meta(&[2], &[2], &[2], "|u1")).codec(Codec(codec));
        builder.uses_dictionary(dictionary).write_to(Cursor::new(Vec::new())).map(drop)
    };
    for codec in [0, 1, 2, 4, 5, 32, 160, 255] {
        build(codec, false).unwrap();
        assert_eq!(build(codec, true).is_ok(), ![0, 4].contains(&codec), "{codec}");
    }
    for codec in [3, 6, 15, 31] {
        build(codec, false).unwrap_err();
    }
    assert_eq!(
        build(0, true).unwrap_err().to_string(),
        "blosclz does not support dictionaries; lz4, lz4hc and zstd do"
    );
}

#[test]
fn a_path_without_a_name_is_refused_at_once() {
    for path in ["", "..", "."] {
        FrameBuilder::new(meta(&[2], &[2], &[2], "|u1")).create(path).unwrap_err();
    }
}

#[test]
fn a_missing_chunk_is_named() {
    let mut writer = begin();
    for number in [0, 2] {
        writer.write_uncompressed(number, &[0; 32]).unwrap();
    }
    let error = writer.finish().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(error.to_string(), "2 of 4 chunks have not been given; the first of them is chunk 1");
    let error = begin().finish().unwrap_err();
    assert_eq!(error.to_string(), "4 of 4 chunks have not been given; the first of them is chunk 0");
}

#[expect(clippy::too_many_lines, reason = "one table")]
#[test]
fn what_cannot_be_a_frame_is_refused() {
    let builder = || FrameBuilder::new(worked_example());
    let array = |shape: &[i64], chunkshape: &[i32], blockshape: &[i32], dtype: &str| {
        FrameBuilder::new(meta(shape, chunkshape, blockshape, dtype))
    };
    let many = |count: u8| {
        (0..count).fold(builder(), |builder, number| builder.metalayer(&number.to_string(), &number))
    };
    let many_vl = |count: u8| {
        (0..count).fold(builder(), |builder, number| builder.vlmetalayer(&number.to_string(), &number))
    };
    let wrong = [
        (
            FrameBuilder::new(worked_example().with_layout(Layout::Caterva).unwrap()),
            ErrorKind::InvalidInput,
            "layout caterva cannot be written; only b2nd can",
        ),
        (
            array(&[3], &[0], &[1], "|u1"),
            ErrorKind::InvalidInput,
            "chunkshape[0] is 0, but shape[0] is 3: a dimension that is not empty needs chunks of at least 1",
        ),
        (
            array(&[3], &[1 << 30], &[1], "<f8"),
            ErrorKind::TooLarge,
            "chunkshape: a chunk has 1073741824 items of 8 bytes, padding included, but can hold at most 2147483615 bytes",
        ),
        (
            array(&[3], &[1 << 30], &[1 << 30], "|u1"),
            ErrorKind::TooLarge,
            "blockshape: a block has 1073741824 items of 1 bytes, but can have at most 536866816 bytes",
        ),
        (
            array(&[1 << 40], &[1], &[1], "|u1"),
            ErrorKind::TooLarge,
            "the array has 1099511627776 chunks, but a frame can have at most 268435451",
        ),
        (
            array(&[i64::MAX], &[1], &[1], "<f8"),
            ErrorKind::TooLarge,
            "9223372036854775807 chunks of 8 bytes have more bytes than the format can count",
        ),
        (
            array(&[4, 9], &[4, 2], &[4, 3], "|u1"),
            ErrorKind::InvalidInput,
            "blockshape[1] is 3, but chunkshape[1] is 2: a block must not be larger than a chunk",
        ),
        (
            array(&[3], &[3], &[3], "|S0"),
            ErrorKind::InvalidInput,
            "an item has 0 bytes, but must have 1 to 536866816",
        ),
        (
            builder().typesize(8),
            ErrorKind::InvalidInput,
            "typesize is 8, but items of dtype `<i4` have 4 bytes",
        ),
        (builder().level(10), ErrorKind::InvalidInput, "level is 10, but must be 0 to 9"),
        (
            builder().filters(&[Filter { id: 1, meta: 0 }; 7]),
            ErrorKind::TooLarge,
            "there are 7 filters, but a frame can have at most 6",
        ),
        (builder().filters(&[Filter { id: 99, meta: 0 }]), ErrorKind::InvalidInput, "filter 99 is unknown"),
        (
            builder().filters(&[Filter { meta: 128, ..Filter::BITSHUFFLE }]),
            ErrorKind::InvalidInput,
            "the parameter of the filter bitshuffle is 128, but python-blosc2 opens no frame with a parameter above 127",
        ),
        (
            builder().filters(&[Filter { meta: 246, ..Filter::TRUNC_PREC }]),
            ErrorKind::InvalidInput,
            "the parameter of the filter trunc_prec is 246, but python-blosc2 opens no frame with a parameter above 127; \
             give the number of bits to keep",
        ),
        (
            FrameBuilder::new(meta(&[3], &[3], &[3], "|V300")).filters(&[Filter::SHUFFLE, Filter::BYTEDELTA]),
            ErrorKind::InvalidInput,
            "the parameter of the filter bytedelta is 0, which stands for the item size 300, but python-blosc2 opens no \
             frame with a parameter above 127",
        ),
        (
            many(16),
            ErrorKind::TooLarge,
            "there are 17 metalayers, with that of the array, but a frame can have at most 16",
        ),
        (many_vl(17), ErrorKind::TooLarge, "there are 17 vlmetalayers, but a frame can have at most 16"),
        (
            builder().metalayer("b2nd", &1),
            ErrorKind::InvalidInput,
            "metalayer `b2nd` is reserved for the array",
        ),
        (
            builder().metalayer("m", &1).metalayer("m", &2),
            ErrorKind::InvalidInput,
            "there are two metalayers `m`",
        ),
        (
            builder().vlmetalayer("v", &1).vlmetalayer("v", &2),
            ErrorKind::InvalidInput,
            "there are two vlmetalayers `v`",
        ),
        (
            builder().metalayer(&"n".repeat(32), &1),
            ErrorKind::InvalidInput,
            "the name of a metalayer can have at most 31 bytes, but `nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn` has 32",
        ),
        (
            builder().vlmetalayer("a\0b", &1),
            ErrorKind::InvalidInput,
            "the name \"a\\0b\" of a vlmetalayer contains a NUL, which would end the name",
        ),
        (
            builder().vlmetalayer_chunk("v", b"kelvin"),
            ErrorKind::InvalidInput,
            "the chunk of vlmetalayer `v` has 6 bytes, which are not a Blosc2 chunk",
        ),
        (
            builder().metalayer_bytes("m", &vec![0; 1 << 26]),
            ErrorKind::TooLarge,
            "the header would have more than 67108864 bytes, or an offset that does not fit",
        ),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (builder, kind, message) in wrong {
        let error = builder.create(folder.path().join("new.b2nd")).unwrap_err();
        assert_eq!((error.kind(), &*error.to_string()), (kind, message));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn create_accepts_the_largest_filter_parameter_that_python_blosc2_opens() {
    let folder = tempfile::tempdir().unwrap();
    let builder = FrameBuilder::new(Meta::with_default_shapes(&[3], 1, "|u1").unwrap());
    let largest = builder.filters(&[Filter { meta: 127, ..Filter::BITSHUFFLE }]);
    drop(largest.create(folder.path().join("new.b2nd")).unwrap());
}

#[test]
fn a_dtype_that_is_not_known_needs_a_typesize() {
    let unknown = || meta(&[3], &[3], &[3], "complex 7");
    let error = FrameBuilder::new(unknown()).to_vec([[0; 0]; 0]).unwrap_err();
    assert!(error.to_string().ends_with("; if the dtype is right, give the typesize"), "{error}");
    let mut writer = FrameBuilder::new(unknown()).typesize(5).write_to(Cursor::new(Vec::new())).unwrap();
    writer.write_uncompressed(0, &[1; 15]).unwrap();
    let frame = Frame::read_at(writer.finish().unwrap(), 0).unwrap();
    assert_eq!(frame.header().typesize, 5);
}

#[test]
fn no_array_of_python_objects_is_made() {
    for dtype in ["|O", "[('a', '|O')]", "('|O', (2,))"] {
        let refused = FrameBuilder::new(meta(&[3], &[3], &[3], dtype)).to_vec([[0; 0]; 0]).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{dtype}");
        assert!(refused.to_string().contains("has Python objects"), "{refused}");
    }
}

#[test]
fn a_value_that_is_not_messagepack_is_an_error_with_its_source() {
    struct Never;
    impl serde::Serialize for Never {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("never"))
        }
    }
    for builder in [
        FrameBuilder::new(worked_example()).metalayer("m", &Never),
        FrameBuilder::new(worked_example()).vlmetalayer("m", &Never),
    ] {
        let error = builder.write_to(Cursor::new(Vec::new())).unwrap_err();
        assert_eq!((error.kind(), &*error.to_string()), (ErrorKind::Encode, "cannot write metalayer `m`"));
        assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "never");
    }
}

#[test]
fn nothing_is_a_frame_and_nothing_has_its_name_before_it_is_finished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.b2nd");
    for is_sparse in [false, true] {
        for is_finished in [false, true] {
            let builder = FrameBuilder::new(worked_example());
            let mut writer =
                if is_sparse { builder.create_sparse(&path) } else { builder.create(&path) }.unwrap();
            writer.write_uncompressed(0, &[0; 32]).unwrap();
            assert!(!path.exists());
            if is_finished {
                // `finish` fails, because chunks are missing.
                assert!(writer.finish().is_err());
            } else {
                drop(writer);
            }
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }
    let mut to = Cursor::new(data_bytes());
    let mut writer = FrameBuilder::new(worked_example()).write_to(&mut to).unwrap();
    writer.write_uncompressed(0, &[0; 32]).unwrap();
    drop(writer);
    // The old frame begins at byte 0. The writer has overwritten its header, which has 165 bytes, with zeros.
    assert_eq!(Frame::parse(to.get_ref()).unwrap_err().kind(), ErrorKind::Malformed);
    assert_eq!(to.get_ref()[..165], [0; 165]);
}

fn data_bytes() -> Vec<u8> {
    fs::read(data().join("int32_3x5.b2nd")).unwrap()
}

#[test]
fn what_is_at_the_path_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.b2nd");
    let begin = |is_sparse| {
        let builder = FrameBuilder::new(worked_example());
        if is_sparse { builder.create_sparse(&path) } else { builder.create(&path) }
    };
    for is_sparse in [false, true] {
        let mut writer = begin(is_sparse).unwrap();
        store_all(&mut writer);
        fs::write(&path, "mine").unwrap();
        for error in [begin(is_sparse).unwrap_err(), writer.finish().unwrap().persist().unwrap_err()] {
            assert_eq!((error.kind(), error.path()), (ErrorKind::Exists, Some(&*path)));
        }
        assert_eq!(fs::read(&path).unwrap(), b"mine");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        fs::remove_file(&path).unwrap();
    }
    let error = FrameBuilder::new(worked_example()).create(folder.path().join("no/such/folder")).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(&*folder.path().join("no/such"))));
}

#[test]
fn write_new_file_gives_a_complete_file_its_name_and_replaces_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.png");
    let write = |bytes: &'static [u8]| {
        write_new_file(&path, |mut file| -> Result<(), b2nd_frame::Error> {
            file.write_all(bytes).unwrap();
            assert!(!path.exists(), "the file is not complete yet");
            Ok(())
        })
    };
    write(b"first").unwrap();
    assert_eq!(write(b"second").unwrap_err().kind(), ErrorKind::Exists);
    assert_eq!(fs::read(&path).unwrap(), b"first");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn a_path_that_no_file_can_have_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let create = |path: &Path| FrameBuilder::new(worked_example()).create(path).unwrap_err();
    for (missing, why) in [(&file, "not a folder"), (&folder.path().join("none"), "no such folder")] {
        let error = create(&missing.join("new.b2nd"));
        assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(&**missing)));
        assert_eq!(error.to_string(), format!("cannot create a file in {}: {why}", missing.display()));
    }
    // Below a file, there can be no folder. So the error is not that the folder is missing.
    let error = create(&file.join("folder/new.b2nd"));
    assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(&*file.join("folder"))));
    assert_eq!(error.io_error().unwrap().kind(), io::ErrorKind::NotADirectory);
    for path in [folder.path().join("new.b2nd/"), folder.path().join("x".repeat(300))] {
        let error = create(&path);
        assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(&*path)));
        assert_eq!(
            error.to_string(),
            format!("cannot create {}: {}", path.display(), error.io_error().unwrap())
        );
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    // The path of a new sparse frame may end with a slash, because the frame is a directory.
    let mut writer =
        FrameBuilder::new(worked_example()).create_sparse(folder.path().join("new.b2nd/")).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    writer.finish().unwrap().persist().unwrap();
}

/// In /sys and /proc, not even root can create files.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_takes_no_files_is_named() {
    for (folder, inside, is_plain) in [("/sys", "kernel", true), ("/proc", "self", false)] {
        // If this file system is not mounted, the folder does not exist, or it is an ordinary folder, in which root can
        // create files.
        if !Path::new(folder).join(inside).exists() {
            eprintln!("{folder} is not mounted here");
            continue;
        }
        let path = Path::new(folder).join("new.b2nd");
        for is_sparse in [false, true] {
            let builder = FrameBuilder::new(worked_example());
            let error =
                if is_sparse { builder.create_sparse(&path) } else { builder.create(&path) }.unwrap_err();
            assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(Path::new(folder))));
            assert_eq!(
                error.to_string(),
                format!("cannot create a file in {folder}: {}", error.io_error().unwrap())
            );
            // The message must not contain the name of the temporary file, which users do not know.
            let source = error.io_error().unwrap().to_string();
            assert!(!is_plain || !source.contains(".b2nd-"), "{source}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_gone_before_the_frame_is_finished_is_an_error_about_the_new_path() {
    for is_sparse in [false, true] {
        for is_given_a_chunk in [false, is_sparse] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("new.b2nd");
            let builder = FrameBuilder::new(worked_example());
            let mut writer =
                if is_sparse { builder.create_sparse(&path) } else { builder.create(&path) }.unwrap();
            if !is_given_a_chunk {
                writer.fill_missing(SpecialValue::Zeros).unwrap();
            }
            fs::remove_dir_all(folder.path()).unwrap();
            let error = if is_given_a_chunk {
                writer.write_uncompressed(0, &[1; 32]).unwrap_err()
            } else {
                writer.finish().and_then(NewFrame::persist).unwrap_err()
            };
            assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(&*path)));
            assert_eq!(
                error.to_string(),
                format!("cannot write {}: {}", path.display(), error.io_error().unwrap())
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn a_directory_that_cannot_be_renamed_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.b2nd");
    let mut writer = FrameBuilder::new(worked_example()).create_sparse(&path).unwrap();
    writer.fill_missing(SpecialValue::Zeros).unwrap();
    // Another process removes the temporary directory.
    for entry in fs::read_dir(folder.path()).unwrap() {
        fs::remove_dir_all(entry.unwrap().path()).unwrap();
    }
    let error = writer.finish().and_then(NewFrame::persist).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(&*path)));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[cfg(unix)]
#[test]
fn a_new_frame_has_the_mode_of_any_new_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
    fs::write(folder.path().join("file"), "").unwrap();
    fs::create_dir(folder.path().join("directory")).unwrap();
    let mut writer = FrameBuilder::new(worked_example()).create(folder.path().join("new")).unwrap();
    store_all(&mut writer);
    writer.finish().unwrap().persist().unwrap();
    let mut writer = FrameBuilder::new(worked_example()).create_sparse(folder.path().join("sparse")).unwrap();
    store_all(&mut writer);
    writer.finish().unwrap().persist().unwrap();
    assert_eq!((mode("new"), mode("sparse")), (mode("file"), mode("directory")));
    assert_eq!((mode("sparse/chunks.b2frame"), mode("sparse/00000000.chunk")), (mode("file"), mode("file")));
}

/// A file in memory whose writes fail after `room` bytes.
#[derive(Debug, Default)]
struct Failing {
    file: Cursor<Vec<u8>>,
    /// The number of bytes that can still be written before a write fails.
    room: Option<usize>,
}

impl Write for &mut Failing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(room) = &mut self.room else { return self.file.write(bytes) };
        if *room == 0 {
            self.room = None;
            return Err(io::ErrorKind::StorageFull.into());
        }
        let written = self.file.write(&bytes[..bytes.len().min(*room)])?;
        *room -= written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for &mut Failing {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

#[test]
fn a_chunk_that_could_not_be_written_can_be_given_again() {
    const LEN: usize = 1 << 17;
    let meta = meta(&[4 << 17], &[1 << 17], &[1 << 12], "|u1");
    let mut expected = FrameBuilder::new(meta.clone()).write_to(Cursor::new(Vec::new())).unwrap();
    for number in 0..4 {
        expected.write_uncompressed(number, &items_of(number, LEN)).unwrap();
    }
    let expected = expected.finish().unwrap().into_inner();
    for room in [0, 1, 100, LEN + 200, 2 * LEN] {
        let mut file = Failing { room: Some(room), ..Failing::default() };
        let mut writer = FrameBuilder::new(meta.clone()).write_to(&mut file).unwrap();
        let mut failures = 0;
        for number in 0..4 {
            while let Err(error) = writer.write_uncompressed(number, &items_of(number, LEN)) {
                assert_eq!(error.kind(), ErrorKind::Io);
                assert!(error.to_string().starts_with("cannot write the file: "), "{error}");
                failures += 1;
            }
        }
        writer.finish().unwrap();
        assert_eq!(failures, 1);
        assert!(file.file.into_inner() == expected, "room for {room}");
    }
}

#[test]
fn chunks_of_any_bytes_never_panic_and_never_make_a_frame_with_findings() {
    let mut random = fastrand::Rng::with_seed(651);
    let mut good = 0;
    for _ in 0..20_000 {
        let mut chunk = [stored_chunk(&[7; 32]), chunk_of_zeros(32), file_chunk_header().to_vec()]
            [random.usize(..3)]
        .clone();
        chunk.resize(chunk.len() + random.usize(..3), 1);
        for (at, value) in [(3, 4), (8, 8)] {
            chunk[at] = value;
        }
        for _ in 0..random.usize(..3) {
            let at = random.usize(..chunk.len());
            chunk[at] = random.u8(..);
        }
        let mut writer = begin();
        if writer.write_chunk(0, &chunk).is_ok() {
            good += 1;
            for number in 1..4 {
                writer.write_uncompressed(number, &[0; 32]).unwrap();
            }
            without_findings(Frame::read_at(writer.finish().unwrap(), 0).unwrap());
        }
    }
    assert!(good > 1000, "{good}");
}

/// A type size of 1 can be wrong, so a chunk with a longer value is no fault of the frame. But a slice needs one byte
/// for each item.
#[cfg(feature = "decompress")]
#[test]
fn read_rejects_a_repeated_value_that_is_longer_than_a_type_size_of_1() {
    for value in [&[7][..], &[7, 7]] {
        let mut chunk = repeated_chunk(value);
        (chunk[3], chunk[4], chunk[8]) = (1, 16, 8);
        let builder = FrameBuilder::new(meta(&[16], &[16], &[8], "|u1"));
        let mut writer = builder.write_to(Cursor::new(Vec::new())).unwrap();
        writer.write_uncompressed(0, &[1; 16]).unwrap();
        let mut file = writer.finish().unwrap().into_inner();
        let at = Frame::parse(&file).unwrap().header().header_len;
        file[at..at + chunk.len()].copy_from_slice(&chunk);
        let report = Check::new(CheckDepth::ChunkHeaders).run(&crate::opened(&file[..])).unwrap();
        let codes: Vec<_> = report.findings.iter().map(b2nd_frame::Finding::code).collect();
        assert_eq!(codes, [FindingCode::UnownedBytes]);
        let read = crate::opened_array(file).whole().read();
        match value {
            [_] => assert_eq!(read.unwrap(), [7; 16]),
            _ => assert_eq!(
                read.unwrap_err().to_string(),
                format!("byte {at} of the frame: chunk 0 repeats a value of 2 bytes, but items have 1")
            ),
        }
    }
}
