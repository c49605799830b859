//! Reads frames from paths, readers, slices and pieces, with the same values.

use std::borrow::Cow;
use std::cell::RefCell;
use std::error::Error as _;
use std::fs;
use std::io::{self, Cursor, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use crate::frames::second_generation;
#[cfg(feature = "decompress")]
use crate::frames::{chunk_with_codec, in_blocks, with_index};
use crate::{Recording, findings, opened};
use b2nd_frame::{
    ArrayHeader, ChunkHeader, Codec, Error, ErrorKind, Filter, Finding, FindingCode, Frame, FrameType,
    Generation, HeaderField, ReadAt, Rewrite, Seekable, Store, scan,
};
use b2nd_lab::{chunk_of_zeros, corpus, corpus_of_2019, data, frame_of, offset_field, stored_chunk, unhex};
use serde_json::{Value, json};

/// A frame of the corpus: the name and the bytes of its file, the offset of the frame in this file, and the frame's
/// entry in the manifest.
struct Entry {
    name: String,
    file: Vec<u8>,
    offset: u64,
    says: Value,
}

fn entries() -> Vec<Entry> {
    let Some((folder, entries)) = corpus() else { return Vec::new() };
    let read = |says: Value| {
        let name = says["file"].as_str().unwrap().to_owned();
        let file = fs::read(folder.join(says["metadata_file"].as_str().unwrap())).unwrap();
        Entry { name, file, offset: says["frame_offset"].as_u64().unwrap_or_default(), says }
    };
    entries.into_iter().map(read).collect()
}

impl Entry {
    fn bytes(&self) -> &[u8] {
        &self.file[usize::try_from(self.offset).unwrap()..]
    }

    /// Asserts that a frame has the values that the manifest gives for it.
    fn assert_is<R>(&self, frame: &Frame<R>) {
        let name = &self.name;
        let (header, expected) = (frame.header(), &self.says["frame"]);
        assert_eq!(frame.header_bytes()[0] - 0x90, expected["frame_header_nelem"], "{name}");
        assert_eq!(header.header_len, expected["header_len"], "{name}");
        assert_eq!(header.frame_len, expected["frame_len"], "{name}");
        assert_eq!(header.flags, *unhex(expected["flags_hex"].as_str().unwrap()), "{name}");
        assert_eq!(header.is_sparse(), expected["sframe"], "{name}");
        assert_eq!(header.nbytes, expected["nbytes"], "{name}");
        assert_eq!(header.cbytes, expected["cbytes"], "{name}");
        assert_eq!(header.typesize, expected["typesize"], "{name}");
        let section = header.range(HeaderField::Metalayers).unwrap().start as u64;
        assert_eq!(section + self.offset, expected["metalayer_section_offset"], "{name}");

        let layers = self.says["metalayers"].as_array().unwrap();
        assert_eq!(frame.metalayers().len(), layers.len(), "{name}");
        for (layer, expected) in frame.metalayers().iter().zip(layers) {
            assert_eq!(layer.name(), expected["name"], "{name}");
            assert_eq!(layer.offset() as u64 + self.offset, expected["content_offset"], "{name}");
            assert_eq!(layer.bytes(), unhex(expected["hex"].as_str().unwrap()), "{name}");
            let field = frame.header_bytes()[offset_field(frame.header_bytes(), layer.name())..]
                .first_chunk()
                .unwrap();
            assert_eq!(u32::from_be_bytes(*field) as usize + 5, layer.offset(), "{name}");
        }
        match frame.array().unwrap() {
            Some(array) => self.assert_is_array(&array),
            None => assert!(self.says["expected"].is_null(), "{name}: an array is not seen"),
        }
    }

    fn assert_is_array(&self, array: &ArrayHeader<'_>) {
        let name = &self.name;
        let expected = &self.says["expected"];
        let ndim = array.shape().len();
        let says = json!({
            "ndim": ndim,
            "shape": array.shape(),
            "chunkshape": array.chunkshape(),
            "blockshape": array.meta().blockshape(),
            "dtype_format": array.meta().dtype_format(),
            "dtype": array.dtype(),
        });
        assert_eq!(says, *expected, "{name}");
        assert_eq!(array.metalayer().offset() as u64 + self.offset, self.says["offset"], "{name}");
        let layout = self.says["layout"].as_str().unwrap();
        let said = match array.meta().layout().name() {
            "b2nd" => "b2nd-7",
            "b2nd-mismarked" => "b2nd-7 [array marker says 6 elements]",
            "b2nd-six" => "b2nd-6",
            "caterva" if array.metalayer().name() == "b2nd" => "b2nd-5",
            "caterva" => "caterva-5",
            other => panic!("{other}"),
        };
        assert!(layout.starts_with(said), "{name}: {said}, {layout}");
        let stale = if layout.contains("stale") { 38 } else { 0 };
        assert_eq!(array.stale_tail().len(), stale, "{name}");
    }
}

#[test]
fn every_frame_of_the_corpus_reads_through_open() {
    let Some((folder, _)) = corpus() else { return };
    let mut opened = 0;
    for entry in entries().iter().filter(|entry| entry.offset == 0) {
        entry.assert_is(&Frame::open(folder.join(&entry.name)).unwrap());
        // A sparse frame can be opened by the path of its directory, or by the path of the header file in the
        // directory.
        entry.assert_is(&Frame::open(folder.join(entry.says["metadata_file"].as_str().unwrap())).unwrap());
        opened += 1;
    }
    assert_eq!(opened, 280);
}

#[test]
fn every_frame_of_the_corpus_reads_at_its_offset_in_any_reader() {
    let entries = entries();
    let arrays = entries.iter().filter(|entry| {
        entry.assert_is(&Frame::read_at(&entry.file, entry.offset).unwrap());
        // A source ignores the position of a reader.
        let mut reader = Cursor::new(&entry.file);
        reader.set_position(7);
        entry.assert_is(&Frame::read_at(&reader, entry.offset).unwrap());
        entry.assert_is(&Frame::read_at(Seekable::new(reader), entry.offset).unwrap());
        // The frame can also be in the middle of other bytes.
        let moved: Arc<[u8]> = [&[0xee; 777], entry.bytes()].concat().into();
        let frame = Frame::read_at(moved, 777).unwrap();
        entry.assert_is(&frame);
        frame.array().unwrap().is_some()
    });
    assert!(entries.is_empty() || arrays.count() == 274);
}

#[test]
fn every_frame_of_the_corpus_reads_from_a_prefix_fed_byte_by_byte() {
    for entry in entries() {
        let bytes = entry.bytes();
        let whole = Frame::parse(bytes).unwrap();
        entry.assert_is(&whole);
        let header_len = whole.header().header_len;
        for length in 0..header_len {
            let error = Frame::parse(&bytes[..length]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Incomplete, "{}: {length}", entry.name);
            let needed = error.needed().unwrap();
            assert!(needed > length && needed <= header_len, "{}: {length}, {needed}", entry.name);
        }
        entry.assert_is(&Frame::parse(&bytes[..header_len]).unwrap());
    }
}

#[test]
fn what_is_malformed_stays_malformed_however_many_bytes_follow() {
    for name in ["int32_3x5.b2nd", "vlmetalayers.b2nd", "uint16_6x8.caterva"] {
        let file = fs::read(data().join(name)).unwrap();
        let header_len = Frame::parse(&file).unwrap().header().header_len;
        for at in 0..header_len {
            for change in [1, 0x80, 0xff] {
                let mut changed = file[..header_len].to_vec();
                changed[at] ^= change;
                let mut kinds = (0..=header_len)
                    .map(|length| Frame::parse(&changed[..length]).err().map(|error| error.kind()));
                let first = kinds.position(|kind| kind == Some(ErrorKind::Malformed));
                assert!(kinds.all(|kind| kind == Some(ErrorKind::Malformed)), "{name}: {at}, {first:?}");
                // If the byte at 0 or a byte of the magic (2 to 9) is wrong, the error comes as soon as this byte is
                // read.
                if at == 0 && !(0x9d..=0x9e).contains(&changed[0]) || (2..10).contains(&at) {
                    assert_eq!(first, Some(at + 1), "{name}: {at}");
                }
            }
        }
    }
}

#[test]
fn a_program_with_its_own_reads_needs_as_many_as_the_parser_says() {
    for name in ["int32_3x5.b2nd", "struct_long.b2nd", "sparse.b2nd/chunks.b2frame"] {
        let file = fs::read(data().join(name)).unwrap();
        let (mut length, mut rounds) = (0, 0);
        let frame = loop {
            match Frame::parse(&file[..length]) {
                Ok(frame) => break frame,
                Err(error) => length = error.needed().unwrap_or_else(|| panic!("{name}: {error}")),
            }
            rounds += 1;
        };
        assert_eq!((length, rounds), (frame.header().header_len, 2), "{name}");
    }
}

#[test]
fn an_ordinary_file_takes_one_read_of_512_bytes_and_a_long_header_two() {
    let mut counts = [0; 2];
    for entry in entries() {
        let frame = Frame::read_at(Recording::new(entry.file.clone()), entry.offset).unwrap();
        let header_len = frame.header().header_len;
        if header_len <= 512 {
            assert_eq!(frame.reader().lengths(), [512], "{}", entry.name);
            counts[0] += 1;
        } else {
            assert_eq!(frame.reader().lengths(), [512, header_len - 512], "{}", entry.name);
            counts[1] += 1;
        }
    }
    let long = fs::read(data().join("struct_long.b2nd")).unwrap();
    let frame = opened(Recording::new(long));
    assert_eq!(frame.reader().lengths(), [512, frame.header().header_len - 512]);
    println!("one read: {}, two: {}", counts[0], counts[1]);
}

#[cfg(feature = "decompress")]
#[test]
fn of_a_compressed_index_only_the_block_that_is_asked_for_is_read() {
    let zeros = [0; 4];
    let file = with_index(1 << 17, &in_blocks(1 << 20, 1 << 14, &zeros));
    let frame = opened(Recording::new(file));
    assert_eq!(frame.chunks().unwrap().nth(100_000).unwrap().unwrap().number, 100_000);
    // The reads are, in turn: the header of the frame; the chunk header of the index, with the next 8 bytes, which
    // would be the value of a constant chunk; the offset of one block of the index; and the bytes of this block.
    assert_eq!(frame.reader().lengths(), [512, 40, 4, 4]);
}

#[test]
fn a_frame_without_an_array_is_a_frame() {
    let mut file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    file[95] = b'x';
    let frame = Frame::parse(&file).unwrap();
    assert_eq!(frame.metalayers()[0].name(), "x2nd");
    assert!(frame.array().unwrap().is_none());
}

#[test]
fn a_caterva_array_is_found_by_its_former_name_and_b2nd_goes_first() {
    let frame = Frame::open(data().join("sparse.caterva")).unwrap();
    assert_eq!(frame.array_metalayer().unwrap().name(), "caterva");
    assert_eq!(frame.array().unwrap().unwrap().dtype(), None);
}

#[test]
fn the_headers_of_all_generations_say_the_same_in_other_places() {
    let mut seen = Vec::new();
    for entry in entries() {
        let frame = Frame::parse(entry.bytes()).unwrap();
        let header = frame.header();
        for (field, marker) in [
            (HeaderField::HeaderLen, 0xd2),
            (HeaderField::FrameLen, 0xcf),
            (HeaderField::Flags, 0xa4),
            (HeaderField::Nbytes, 0xd3),
            (HeaderField::Cbytes, 0xd3),
            (HeaderField::Typesize, 0xd2),
            (HeaderField::Blocksize, 0xd2),
            (HeaderField::Chunksize, 0xd2),
            (HeaderField::CompressionThreads, 0xd1),
            (HeaderField::DecompressionThreads, 0xd1),
            (HeaderField::Filters, 0xd8),
        ] {
            let Some(range) = header.range(field) else {
                assert_ne!(header.generation, Generation::Present);
                continue;
            };
            assert_eq!(frame.header_bytes()[range.start - 1], marker, "{}: {field:?}", entry.name);
        }
        assert_eq!(header.blocksize.is_some(), header.generation == Generation::Present);
        assert!(header.nfilters > 0, "{}", entry.name);
        assert!(header.level <= 9);
        if !seen.contains(&header.generation) {
            seen.push(header.generation);
        }
    }
    assert!(seen.is_empty() || seen.len() == 2, "{seen:?}");
}

#[test]
fn a_bit_or_byte_of_a_header_means_what_its_generation_gives_it() {
    let present = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let second = second_generation(present.clone());
    let header = |file: &[u8], at: usize, byte: u8| {
        let mut file = file.to_vec();
        file[at] = byte;
        Frame::parse(&file).unwrap().header().clone()
    };
    for (general, chunks, blocks) in
        [(0x12, false, false), (0x53, true, false), (0x93, false, true), (0xd3, true, true)]
    {
        let header = header(&present, 25, general);
        assert_eq!(
            (header.has_variable_chunks, header.has_variable_blocks),
            (chunks, blocks),
            "{general:#x}"
        );
    }
    for file in [&present, &second] {
        assert_eq!(header(file, 26, 1).frame_type, FrameType::Sparse);
        assert_eq!(header(file, 26, 0).frame_type, FrameType::Contiguous);
    }
    // Codec 6 means that the number of the codec is in the byte after the filters. The second generation has no such
    // byte.
    let beside = |file: &[u8], at: usize| {
        let filters = Frame::parse(file).unwrap().header().range(HeaderField::Filters).unwrap().start;
        let mut file = file.to_vec();
        file[27] = 0x56;
        header(&file, filters + at, 35)
    };
    assert_eq!((beside(&present, 7).codec, beside(&second, 7).codec), (Codec(35), Codec(6)));
    assert_eq!((beside(&present, 8).codec_meta, beside(&second, 8).codec_meta), (35, 0));
    assert_eq!((beside(&present, 15).uses_dictionary, beside(&second, 15).uses_dictionary), (true, false));
    let filters = Frame::parse(&present).unwrap().header().range(HeaderField::Filters).unwrap().start;
    for (more_flags, uses_dictionary) in [(0, false), (1, true), (2, false), (0xfe, false), (0xff, true)] {
        assert_eq!(header(&present, filters + 15, more_flags).uses_dictionary, uses_dictionary);
    }
}

#[test]
fn a_number_of_a_filter_has_a_name_or_an_owner_or_is_unknown() {
    let names = [
        (0, "none"),
        (1, "shuffle"),
        (2, "bitshuffle"),
        (3, "delta"),
        (4, "trunc_prec"),
        (32, "ndcell"),
        (33, "ndmean"),
        (34, "bytedelta_buggy"),
        (35, "bytedelta"),
        (36, "int_trunc"),
    ];
    let mut file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let first = Frame::parse(&file).unwrap().header().range(HeaderField::Filters).unwrap().start + 1;
    for id in 0..=255 {
        let name = names.iter().find(|&&(named, _)| named == id).map(|&(_, name)| name);
        assert_eq!(Filter { id, meta: 0 }.name(), name, "{id}");
        file[first] = id;
        let findings = findings(&opened(&file));
        let is_unknown = findings.iter().any(|finding| finding.code() == FindingCode::UnknownFilter);
        assert_eq!(is_unknown, name.is_none() && id < 160, "{id}");
    }
}

#[test]
fn other_metalayers_read_into_types_of_ones_own() {
    #[derive(Debug, PartialEq, serde_derive::Deserialize)]
    struct Vendor<'a> {
        serial: u32,
        #[serde(borrow)]
        tags: Vec<&'a str>,
    }
    let frame = Frame::open(data().join("vlmetalayers.b2nd")).unwrap();
    let layer = frame.metalayer("vendor").unwrap();
    let vendor: Vendor<'_> = layer.decode().unwrap();
    assert_eq!(vendor, Vendor { serial: 7, tags: vec!["a", "b"] });
    assert_eq!(layer.decode::<Value>().unwrap(), json!({"serial": 7, "tags": ["a", "b"]}));
    assert!(frame.metalayer("none").is_none());

    let error = layer.decode::<u8>().unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::Decode, "cannot decode metalayer `vendor`")
    );
    let error = frame.metalayer("b2nd").unwrap().decode::<(u8, u8)>().unwrap_err();
    assert_eq!(error.to_string(), "cannot decode metalayer `b2nd`");
    let source = error.source().unwrap();
    assert_eq!(source.to_string(), "byte 0: layout b2nd has 7 entries, but the type takes 2");
    assert!(source.is::<b2nd_serde::Error>());
    assert_eq!(format!("{error:?}"), format!("{error}: {source}"));
}

#[test]
fn the_other_metalayers_of_the_corpus_are_messagepack() {
    let mut names = std::collections::BTreeSet::new();
    for entry in entries() {
        let frame = Frame::parse(entry.bytes()).unwrap();
        let array = frame.array_metalayer();
        for layer in frame.metalayers().iter().filter(|&layer| Some(layer) != array) {
            layer.decode::<serde::de::IgnoredAny>().unwrap();
            names.insert(layer.name().to_owned());
        }
    }
    for name in ["LazyArray", "proxy-source", "b2o", "b2embed", "vendor"] {
        assert!(names.is_empty() || names.contains(name), "{name}");
    }
}

#[test]
fn the_trailer_of_every_frame_of_the_corpus_is_where_the_frame_ends() {
    let (mut stored, mut decompressed, mut compressed) = (0, 0, 0);
    for entry in entries() {
        let frame = Frame::read_at(&entry.file, entry.offset).unwrap();
        let trailer = frame.trailer().unwrap();
        let header = frame.header();
        assert_eq!(trailer.offset() + trailer.bytes().len() as u64, header.frame_len, "{}", entry.name);
        assert_eq!(!trailer.vlmetalayers().is_empty(), header.has_vlmetalayers, "{}", entry.name);
        if trailer.vlmetalayers().is_empty() {
            let least = if header.generation == Generation::Present { 35 } else { 30 };
            assert_eq!(trailer.bytes().len(), least, "{}", entry.name);
        }
        for layer in trailer.vlmetalayers() {
            let nbytes = layer.nbytes().unwrap();
            match layer.value() {
                Ok(value) => {
                    assert_eq!(value.len(), nbytes, "{}", entry.name);
                    layer.decode::<serde::de::IgnoredAny>().unwrap();
                    *if matches!(value, Cow::Borrowed(_)) { &mut stored } else { &mut decompressed } += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
                    assert!(error.to_string().ends_with("build with the feature `decompress`"), "{error}");
                    compressed += 1;
                }
            }
        }
    }
    println!("vlmetalayers: {stored} stored, {decompressed} decompressed, {compressed} left compressed");
    assert_eq!(stored > 0, corpus().is_some());
    let is_on = cfg!(feature = "decompress");
    assert_eq!(
        (decompressed > 0, compressed > 0),
        (is_on && corpus().is_some(), !is_on && corpus().is_some())
    );
}

#[test]
fn vlmetalayers_have_values() {
    let frame = Frame::open(data().join("vlmetalayers.b2nd")).unwrap();
    assert!(frame.header().has_vlmetalayers);
    let trailer = frame.trailer().unwrap();
    let [unit, note] = trailer.vlmetalayers() else { panic!("{trailer:?}") };
    assert_eq!(unit.decode::<String>().unwrap(), "kelvin");
    assert_eq!(*unit.value().unwrap(), *b"\xa6kelvin");
    let file = fs::read(data().join("vlmetalayers.b2nd")).unwrap();
    assert!(file[usize::try_from(unit.offset()).unwrap()..].starts_with(unit.chunk()));
    assert_eq!((note.name(), note.nbytes()), ("note", Some(1003)));
    match note.decode::<String>() {
        Ok(value) => assert!(cfg!(feature = "decompress") && value == "x".repeat(1000)),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert_eq!(
                error.to_string(),
                "cannot read vlmetalayer note: its chunk is compressed; build with the feature `decompress`"
            );
        }
    }
    assert_eq!(unit.decode::<u8>().unwrap_err().to_string(), "cannot decode metalayer `unit`");
}

#[test]
#[cfg(feature = "decompress")]
fn value_and_write_value_say_whether_a_codec_is_unsupported_or_damaged() {
    for (codec, kind, says) in [
        (200, ErrorKind::Unsupported, "has codec 200, a codec that this crate cannot decompress"),
        (41, ErrorKind::Decode, "has codec 41, which belongs neither to C-Blosc2 nor to a plugin"),
    ] {
        let file = frame_of(&[], &[("unit", &chunk_with_codec(codec))]);
        let trailer = opened(&file).trailer().unwrap();
        let unit = trailer.vlmetalayer("unit").unwrap();
        let errors = [unit.value().unwrap_err(), unit.write_value(Vec::new()).unwrap_err()];
        for error in errors.into_iter().chain(unit.decode::<u8>().err()) {
            assert_eq!(error.kind(), kind, "{error}");
            let message = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            assert!(message.ends_with(says), "{message}");
        }
    }
}

#[test]
#[cfg(feature = "decompress")]
fn value_and_write_value_refuse_an_uncompressed_chunk_with_the_flag_of_a_lazily_loaded_chunk() {
    let mut chunk = stored_chunk(&[7]);
    for is_valid in [true, false] {
        chunk[31] |= if is_valid { 0 } else { 8 };
        let file = frame_of(&[], &[("unit", &chunk)]);
        let trailer = opened(&file).trailer().unwrap();
        let unit = trailer.vlmetalayer("unit").unwrap();
        assert_eq!((unit.value().is_ok(), unit.write_value(Vec::new()).is_ok()), (is_valid, is_valid));
    }
}

#[test]
fn a_file_cut_short_says_what_is_missing() {
    let file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.b2nd");
    for length in 0..file.len() {
        fs::write(&path, &file[..length]).unwrap();
        let error = Frame::open(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed, "{length}");
        let finding = error.finding().unwrap();
        if length == 0 {
            assert_eq!(finding.code(), FindingCode::NotAFrame);
        } else {
            assert_eq!(finding.code(), FindingCode::Truncated);
            assert_eq!(finding.found(), Some(length as i128));
            assert!(finding.expected() > finding.found() && finding.expected() <= Some(file.len() as i128));
        }
    }
}

#[test]
fn what_is_missing_is_said_to_be_the_least_where_more_is_not_known() {
    let file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    for (length, says) in [
        (10, "cut short: the frame has at least 24 bytes, but the file only 10"),
        (100, "cut short: the frame has at least 165 bytes, but the file only 100"),
        (300, "cut short: the frame has 520 bytes, but the file only 300"),
    ] {
        let error = Frame::read_at(&file[..length], 0).unwrap_err();
        assert_eq!(error.to_string(), says);
    }
    // The file ends directly after the frame header, and this header is longer than the 512 bytes of the first read.
    let long = fs::read(data().join("struct_long.b2nd")).unwrap();
    let header_len = Frame::parse(&long).unwrap().header().header_len;
    assert!(header_len > 512);
    let error = Frame::read_at(&long[..header_len], 0).unwrap_err();
    let says = format!("cut short: the frame has {} bytes, but the file only {header_len}", long.len());
    assert_eq!(error.to_string(), says);
}

#[test]
fn the_name_of_a_metalayer_ends_at_a_nul() {
    let mut file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    file[95..99].copy_from_slice(b"b2\0d");
    let frame = Frame::parse(&file).unwrap();
    assert_eq!(frame.metalayers()[0].name(), "b2");
    assert!(frame.metalayer("b2").unwrap().decode::<serde::de::IgnoredAny>().is_ok());
    assert!(frame.array().unwrap().is_none());
}

#[test]
fn a_line_break_in_the_name_of_a_metalayer_does_not_break_a_message() {
    let file = fs::read(data().join("vlmetalayers.b2nd")).unwrap();
    let named = |name: &[u8; 6]| {
        let mut file = file.clone();
        file[105..111].copy_from_slice(name);
        file
    };
    let mut messages = Vec::new();
    // Damages the marker of the metalayer's content.
    let mut bad = named(b"ven\nor");
    bad[158] = 0;
    messages.push(Frame::parse(&bad).unwrap_err().to_string());
    // Inserts a byte before the content, and makes the content one byte shorter.
    let mut bad = named(b"ven\nor");
    bad[115] += 1;
    bad.copy_within(158..181, 159);
    bad[163] -= 1;
    messages.extend(Frame::parse(&bad).unwrap().check_header().findings.iter().map(ToString::to_string));
    let frame = Frame::parse(&named(b"ven\nor")).unwrap();
    messages.push(frame.metalayer("ven\nor").unwrap().decode::<u8>().unwrap_err().to_string());
    let twice = [("a\nb", &b"\xc0"[..]), ("a\nb", b"\xc0")];
    let twice = Frame::parse(&frame_of(&twice, &[("a\nb", b"no chunk")])).unwrap();
    messages.extend(twice.check_header().findings.iter().map(ToString::to_string));
    let file = frame_of(&[], &[("a\nb", b"no chunk")]);
    let findings = findings(&opened(file));
    messages.extend(findings.iter().map(ToString::to_string));
    assert!(messages.len() >= 5, "{messages:?}");
    for message in messages {
        assert!(!message.contains('\n') && message.contains("\\n"), "{message:?}");
    }
}

#[test]
fn the_frames_of_2019_are_refused_by_name() {
    // Makes a frame as C-Blosc2 2.0 beta 1 wrote it, and a later frame with an array of Caterva 0.1.
    let mut beta1 = frame_of(&[], &[]);
    beta1[0] = 0x9c;
    let three = [&[0x93, 1, 0x91, 0xd3][..], &[0; 8], &[0x91, 0xd2], &[0; 4]].concat();
    let caterva = frame_of(&[("caterva", &three)], &[]);
    let mut files = vec![beta1, caterva];
    if let Some(old) = corpus_of_2019() {
        assert_eq!(old.len(), 10);
        files.extend(old.into_iter().map(|path| fs::read(path).unwrap()));
    }
    for file in files {
        let error = Frame::parse(&file).and_then(|frame| frame.array().map(drop)).unwrap_err();
        let (expected, code) = if file[0] == 0x9c {
            (
                "a frame of C-Blosc2 2.0 beta 1 (2019), which this crate does not read",
                FindingCode::DamagedHeader,
            )
        } else {
            ("a layout of Caterva 0.1 (2019), which this project does not read", FindingCode::DamagedArray)
        };
        assert_eq!(error.finding().map(Finding::code), Some(code));
        assert!(error.to_string().ends_with(expected), "{error}");
    }
}

#[test]
fn an_error_has_a_message_and_what_goes_with_its_kind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.b2nd");
    fs::copy(data().join("int32_3x5.b2nd"), &path).unwrap();
    let lock = folder.path().join("a.b2nd.b2lock");
    let held = fs::File::create(&lock).unwrap();
    held.lock().unwrap();
    let file = fs::read(&path).unwrap();
    let locked = Frame::open(&path).unwrap().edit().shape(&[4, 6]).apply().unwrap_err();
    let stopped = Rewrite::new(&path, folder.path().join("b")).on_progress(|_| ControlFlow::Break(()));
    drop(held);
    let stopped = stopped.apply().unwrap_err();
    let refused = Frame::open(&path).unwrap().edit().shape(&[9]).apply().unwrap_err();
    for (error, kind, message, has) in [
        (
            Frame::parse(b"").unwrap_err(),
            ErrorKind::Incomplete,
            "incomplete: at least 24 bytes are needed",
            "needed",
        ),
        (
            Frame::parse(&[1; 99]).unwrap_err(),
            ErrorKind::Malformed,
            "not a Blosc2 frame: no b2frame magic at byte 2",
            "finding",
        ),
        (locked, ErrorKind::Locked, &format!("another process holds the lock {}", lock.display()), "path"),
        (stopped, ErrorKind::Stopped, "stopped", ""),
        (refused, ErrorKind::InvalidInput, "shape has 1 dimension, but ndim is 2", ""),
        (
            Rewrite::new(&path, &lock).apply().unwrap_err(),
            ErrorKind::Exists,
            &format!("{} already exists", lock.display()),
            "path",
        ),
        (
            Frame::open(folder.path()).unwrap_err(),
            ErrorKind::Io,
            &format!(
                "cannot read {}: a directory without chunks.b2frame, so not a sparse frame; `Store::open` opens the \
                 folder of a store",
                folder.path().display()
            ),
            "path, reason",
        ),
        (
            Frame::parse(&file).unwrap().metalayer("b2nd").unwrap().decode::<u8>().unwrap_err(),
            ErrorKind::Decode,
            "cannot decode metalayer `b2nd`",
            "source",
        ),
    ] {
        assert_eq!((error.kind(), &*error.to_string()), (kind, message));
        let is = |name: &str| has.contains(name);
        assert_eq!(error.needed().is_some(), is("needed"), "{error}");
        assert_eq!(error.finding().is_some(), is("finding"), "{error}");
        assert_eq!(error.path().is_some(), is("path"), "{error}");
        assert_eq!(error.source().is_some(), is("source"), "{error}");
        assert_eq!(error.io_error().is_some(), is("reason"), "{error}");
    }
}

#[test]
fn messages_say_what_is_missing_and_who_is_in_the_way() {
    let file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let error = Frame::parse(&file[..100]).unwrap_err();
    assert_eq!(error.to_string(), "incomplete: at least 165 bytes are needed");
    let error = "no-such-code".parse::<FindingCode>().unwrap_err();
    assert_eq!(error.to_string(), "`no-such-code` is not the code of a finding");
    assert!(FindingCode::ALL.iter().all(|code| code.cause().ends_with('.')));
}

#[test]
fn what_is_printed_for_debugging_says_what_it_is() {
    let frame = Frame::open(data().join("vlmetalayers.b2nd")).unwrap();
    let layer = format!("{:?}", frame.metalayer("vendor").unwrap());
    assert!(layer.starts_with("Metalayer { name: \"vendor\", offset: 163, bytes: [130, 166,"), "{layer}");
    let meta = format!("{:?}", frame.array().unwrap().unwrap().meta());
    assert!(meta.contains("shape: [6], chunkshape: [4], blockshape: [2]"), "{meta}");
    assert!(meta.contains("\"<f8\""), "{meta}");
    let check = format!("{:?}", b2nd_frame::Check::new(b2nd_frame::CheckDepth::ChunkData));
    assert!(check.starts_with("Check { depth: ChunkData"), "{check}");
    let rewrite = format!("{:?}", Rewrite::new("old.b2nd", "new.b2nd").dtype("<u2"));
    assert!(
        rewrite.contains("old.b2nd") && rewrite.contains("new.b2nd") && rewrite.contains("<u2"),
        "{rewrite}"
    );
}

#[test]
fn a_directory_without_a_frame_says_so() {
    let error = Frame::open(data()).unwrap_err();
    assert_eq!(error.path(), Some(&*data()));
    let source = io_error(&error);
    assert_eq!(source.to_string(), "a directory without chunks.b2frame, so not a sparse frame");
    assert_eq!(source.kind(), io::ErrorKind::NotFound);
}

/// Asserts that an error has the kind `Io`, and returns the I/O error in it.
fn io_error(error: &Error) -> &io::Error {
    assert_eq!(error.kind(), ErrorKind::Io);
    error.io_error().unwrap()
}

#[test]
fn a_zip_file_is_not_a_frame_and_says_what_reads_it() {
    let path = data().join("tree.b2z");
    let error = Frame::open(&path).unwrap_err();
    assert_eq!(error.path(), Some(&*path));
    let (finding, advice) = (error.finding().unwrap(), "; `zip_members` lists the frames in a zip file");
    assert_eq!(error.to_string(), format!("{}: {finding}{advice}", path.display()));
}

#[cfg(feature = "decompress")]
#[test]
fn blockshape_of_an_array_without_blocks_is_the_chunk_shape() {
    let mut file = second_generation(fs::read(data().join("int32_3x5.b2nd")).unwrap());
    let shapes = b"\x92\xd2\0\0\0\x02\xd2\0\0\0\x03\x92\xd2\0\0\0\x01\xd2\0\0\0\x02";
    let at = file.windows(shapes.len()).position(|bytes| bytes == shapes).unwrap();
    // A chunk of 2 x 4 items has no padding, so it is as long with blocks as without.
    file[at + 10] = 4;
    for (stored, expected) in [([1, 2], [1, 2]), ([0, 0], [2, 4]), ([1, 8], [2, 4])] {
        (file[at + 16], file[at + 21]) = (stored[0], stored[1]);
        let array = b2nd_frame::Array::new(opened(file.clone())).unwrap();
        assert_eq!(array.blockshape(), Some(&expected[..]), "{stored:?}");
    }
}

#[test]
fn an_error_about_a_file_names_it_and_says_the_reason() {
    let error = Frame::open("no such file").unwrap_err();
    assert_eq!(error.to_string(), format!("cannot read no such file: {}", io_error(&error)));
    assert!(error.source().is_none());
    assert_eq!(error.path(), Some(Path::new("no such file")));
    assert_eq!(io_error(&error).kind(), io::ErrorKind::NotFound);
    let fields = format!("{error:#?}");
    assert!(
        fields.starts_with("Error {\n    kind: Io,\n    message: cannot read no such file: "),
        "{fields}"
    );
    assert_eq!(format!("{error:?}"), error.to_string());
    assert_eq!(size_of::<Error>(), size_of::<usize>());
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.b2nd");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let socket = folder.path().join("socket.b2nd");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let refused = |path: &Path| {
        for error in [Frame::open(path).unwrap_err(), Store::open(path).unwrap_err()] {
            assert_eq!(error.path(), Some(path));
            assert_eq!(io_error(&error).to_string(), "neither a file nor a directory");
        }
    };
    refused(&pipe);
    refused(&socket);
    refused("/dev/null".as_ref());
    // A pipe that contains a frame is refused like the empty pipe above. The first of these frames is shorter than the
    // first read of `Frame::open`, the second is longer.
    for name in ["scalar.b2nd", "int32_3x5.b2nd"] {
        let mut writer = fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        writer.write_all(&fs::read(data().join(name)).unwrap()).unwrap();
        refused(&pipe);
    }
}

/// Reads the file as a frame, and calls the methods of the frame. They may fail, but must not panic.
fn ask(file: Vec<u8>) {
    let Ok(frame) = Frame::read_at(file, 0) else { return };
    if let Ok(Some(array)) = frame.array() {
        let _ = array.geometry();
    }
    if let Ok(trailer) = frame.trailer() {
        trailer.vlmetalayers().iter().for_each(|layer| drop(layer.decode::<Value>()));
        drop(trailer.embedded());
    }
    for layer in frame.metalayers() {
        let _ = layer.decode::<Value>();
    }
    findings(&frame);
}

#[test]
fn a_frame_with_any_byte_changed_does_no_harm() {
    for name in [
        "int32_3x5.b2nd",
        "vlmetalayers.b2nd",
        "squeezed.caterva",
        "sparse.b2nd/chunks.b2frame",
        "peers/lazy_expression.b2nd",
        "peers/store.b2e",
    ] {
        let file = fs::read(data().join(name)).unwrap();
        let header_len = Frame::parse(&file).unwrap().header().header_len;
        let places: Vec<usize> = (0..header_len).chain(file.len() - 100..file.len()).collect();
        for &at in &places {
            for byte in [0, 1, 0x7f, 0x80, 0xff, file[at] ^ 1, file[at] ^ 0x80] {
                let mut changed = file.clone();
                changed[at] = byte;
                ask(changed);
            }
        }
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..5_000 {
            let mut changed = file.clone();
            for _ in 0..rng.usize(1..6) {
                // The first 10 bytes are not changed, because without the magic nothing is read.
                let &at = rng.choice(&places).unwrap();
                changed[at.max(10)] = rng.u8(..);
            }
            ask(changed);
        }
    }
}

/// A file whose length changes: each request for the length takes the last number of `lengths`.
#[derive(Debug)]
struct Growing {
    file: Vec<u8>,
    lengths: RefCell<Vec<u64>>,
}

impl Growing {
    fn new(file: &[u8], lengths: &[u64]) -> Self {
        Self { file: file.to_vec(), lengths: RefCell::new(lengths.to_vec()) }
    }
}

impl ReadAt for Growing {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.lengths.borrow_mut().pop().unwrap())
    }
}

#[test]
fn only_what_is_compressed_has_a_codec() {
    let codec = |chunk: &[u8]| ChunkHeader::parse(chunk).unwrap().codec();
    assert_eq!((codec(&stored_chunk(&[7; 9])), codec(&chunk_of_zeros(9))), (None, None));
    let mut compressed = stored_chunk(&[7; 9]);
    for (flags, expected) in [(0x05, Some(Codec(0))), (0x25, Some(Codec(1))), (0x85, Some(Codec(5)))] {
        compressed[2] = flags;
        assert_eq!(codec(&compressed), expected, "{flags:#x}");
        let mut stored = compressed.clone();
        stored[2] |= 0x02;
        let mut special = compressed.clone();
        special[31] = 0x10;
        assert_eq!((codec(&stored), codec(&special)), (None, None), "{flags:#x}");
    }
}

#[test]
fn the_length_of_a_file_is_not_asked_for_if_one_read_tells_all() {
    // This file panics if its length is asked for.
    let endless = |file: &[u8]| Growing::new(file, &[]);
    let scalar = fs::read(data().join("scalar.b2nd")).unwrap();
    assert!(Frame::read_at(endless(&scalar), 0).is_ok());
    let error = Frame::read_at(endless(&[7; 600]), 0).unwrap_err();
    assert_eq!(error.finding().map(Finding::code), Some(FindingCode::NotAFrame));
}

#[test]
fn a_file_caught_while_it_grows_is_read_once_more() {
    let file = fs::read(data().join("int32_3x5.b2nd")).unwrap();
    let length = file.len() as u64;
    let growing = |lengths: &[u64]| Growing::new(&file, lengths);
    assert!(Frame::read_at(growing(&[length, 300]), 0).is_ok());
    let error = Frame::read_at(growing(&[length, 310, 300]), 0).unwrap_err();
    assert_eq!(error.to_string(), "cut short: the frame has 520 bytes, but the file only 310");
}

#[test]
fn a_file_that_is_cut_while_its_header_is_read_is_changing() {
    let file = fs::read(data().join("struct_long.b2nd")).unwrap();
    assert!(Frame::parse(&file).unwrap().header().header_len > 600);
    let cut = Growing::new(&file[..600], &[file.len() as u64]);
    let error = Frame::read_at(cut, 0).unwrap_err();
    assert_eq!((error.kind(), error.needed()), (ErrorKind::Changing, None), "{error}");
}

#[test]
fn a_file_that_is_shorter_than_its_end_says_is_changing() {
    let file = fs::read(data().join("vlmetalayers.b2nd")).unwrap();
    let length = file.len() as u64;
    let header_len = Frame::parse(&file).unwrap().header().header_len;
    let cut = |length_now: usize| Growing::new(&file[..length_now], &[length; 9]);
    let frame = Frame::read_at(cut(header_len + 9), 0).unwrap();
    for error in [frame.trailer().unwrap_err(), frame.count_chunks().unwrap_err()] {
        assert_eq!((error.kind(), error.finding()), (ErrorKind::Changing, None));
    }
    // The scan does not find a frame whose header is incomplete, and ends.
    for length_now in [20, 24, header_len - 1] {
        assert_eq!(scan(cut(length_now)).map(Result::unwrap).count(), 0, "{length_now}");
    }
}

#[test]
fn a_fault_after_the_first_bytes_of_a_header_is_malformed() {
    let long = [0xc0; 700];
    let mut file = frame_of(&[("first", &long), ("second", b"\xc0")], &[]);
    let header_len = Frame::parse(&file).unwrap().header().header_len;
    // Damages the marker of the second content.
    let at = header_len - 6;
    file[at] = 7;
    let error = Frame::read_at(&file, 0).unwrap_err();
    let finding = error.finding().unwrap();
    assert_eq!((error.kind(), finding.offset()), (ErrorKind::Malformed, Some(at as u64)));
    let says = "expected bin32 (0xc6) for the content of metalayer second, found positive fixint 7 (0x07)";
    assert_eq!(finding.message(), says);
}

#[test]
fn trailer_of_a_file_that_is_cut_after_it_was_opened_is_changing_and_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.b2nd");
    fs::copy(data().join("vlmetalayers.b2nd"), &path).unwrap();
    let frame = Frame::open(&path).unwrap();
    let (header_len, frame_len) = (frame.header().header_len as u64, frame.header().frame_len);
    for length in [frame_len - 1, 300, header_len] {
        fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
        let error = frame.trailer().unwrap_err();
        let says = format!(
            "the frame is being changed, or a change was interrupted: cut short: the frame has {frame_len} bytes, but the \
             file only {length}"
        );
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::Changing, says));
        assert_eq!(findings(&frame), [error.finding().unwrap().clone()]);
    }
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(header_len - 1).unwrap();
    assert_eq!(b2nd_frame::Check::default().run(&frame).unwrap_err().kind(), ErrorKind::Changing);
}
