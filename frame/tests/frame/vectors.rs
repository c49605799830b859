//! The valid and invalid frames of the conformance vectors.

use std::fs;

use serde_derive::Serialize;

use crate::findings;
use crate::frames::second_generation;
use b2nd_frame::{Finding, Frame, Header, Metalayer, Severity, Trailer};
use b2nd_lab::vectors::{kebab, read, with};
use b2nd_lab::{data, frame_of, stored_chunk};
use b2nd_serde::to_vec;

/// The values that a reader must read from a frame.
#[derive(Clone, Debug, Serialize)]
struct Values {
    generation: String,
    header_len: usize,
    frame_len: u64,
    version: u8,
    nbytes: i64,
    cbytes: i64,
    typesize: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocksize: Option<i32>,
    chunksize: i32,
    codec: u8,
    level: u8,
    filters: Vec<u8>,
    has_vlmetalayers: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    nchunks: Option<u64>,
    metalayers: Vec<Layer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    array: Option<ArrayValues>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trailer: Option<TrailerValues>,
    /// The codes of the warnings that a check has about the frame.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<&'static str>,
}

#[derive(Clone, Debug, Serialize)]
struct Layer {
    name: String,
    offset: u64,
    length: usize,
}

#[derive(Clone, Debug, Serialize)]
struct ArrayValues {
    layout: &'static str,
    shape: Vec<i64>,
    chunkshape: Vec<i32>,
    blockshape: Vec<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dtype: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
struct TrailerValues {
    offset: u64,
    version: u8,
    vlmetalayers: Vec<Layer>,
}

/// The error of a frame that is refused.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Refusal {
    kind: &'static str,
    place: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    byte: Option<u64>,
}

pub(crate) fn refusal(finding: &Finding) -> Refusal {
    Refusal { kind: finding.code().name(), place: finding.place().name(), byte: finding.offset() }
}

fn values<R>(frame: &Frame<R>, trailer: Option<&Trailer>, findings: &[Finding]) -> Values {
    let header: &Header = frame.header();
    let layer = |layer: &Metalayer| Layer {
        name: layer.name().into(),
        offset: layer.offset() as u64,
        length: layer.bytes().len(),
    };
    let warnings = findings.iter().filter(|finding| finding.severity() == Severity::Warning);
    Values {
        generation: kebab(&header.generation),
        header_len: header.header_len,
        frame_len: header.frame_len,
        version: header.version,
        nbytes: header.nbytes,
        cbytes: header.cbytes,
        typesize: header.typesize,
        blocksize: header.blocksize,
        chunksize: header.chunksize,
        codec: header.codec.0,
        level: header.level,
        filters: header.pipeline().map(|filter| filter.id).collect(),
        has_vlmetalayers: header.has_vlmetalayers,
        nchunks: header.nchunks(),
        metalayers: frame.metalayers().iter().map(layer).collect(),
        array: frame.array().ok().flatten().map(|array| ArrayValues {
            layout: array.meta().layout().name(),
            shape: array.shape().to_vec(),
            chunkshape: array.chunkshape().to_vec(),
            blockshape: array.meta().blockshape().to_vec(),
            dtype: array.dtype().map(Into::into),
        }),
        trailer: trailer.map(|trailer| TrailerValues {
            offset: trailer.offset(),
            version: trailer.version(),
            vlmetalayers: trailer
                .vlmetalayers()
                .iter()
                .map(|layer| Layer {
                    name: layer.name().into(),
                    offset: layer.offset(),
                    length: layer.chunk().len(),
                })
                .collect(),
        }),
        warnings: warnings.map(|warning| warning.code().name()).collect(),
    }
}

/// The values of a frame, or its first error.
fn reading(bytes: &[u8]) -> (Option<Values>, Option<Refusal>) {
    match Frame::read_at(bytes, 0) {
        Ok(frame) => {
            let findings = findings(&frame);
            let error = findings.iter().find(|finding| finding.severity() == Severity::Error);
            let trailer = frame.trailer().ok();
            let values = values(&frame, trailer.as_ref(), &findings);
            (error.is_none().then_some(values), error.map(refusal))
        }
        Err(error) => (None, Some(refusal(error.finding().unwrap()))),
    }
}

type List = b2nd_lab::vectors::List<Values, Refusal>;

const OLD: &str =
    "generations before C-Blosc2 2.0.0-rc1: C-Blosc2 no longer opens them, but files of 2019 have them";
const CATERVA: &str =
    "the draft specification has only the name b2nd; files of Caterva have the name caterva";
const IGNORED: &str = "no document says that a reader must check it, and none uses the value";
const UNKNOWN: &str = "a value that a later release may know: the metalayers can be read all the same";
const NO_TEXT: &str = "no document says that names and dtypes are UTF-8 without NUL";

fn file(name: &str) -> Vec<u8> {
    fs::read(data().join(name)).unwrap()
}

/// Returns these bytes, with their length as the frame length in the header.
fn with_length(bytes: &[u8]) -> Vec<u8> {
    with(bytes, 16, &(bytes.len() as u64).to_be_bytes())
}

/// A frame without chunks. Its array has the layout `B2nd` and no items.
fn small() -> Vec<u8> {
    file("empty.b2nd")
}

/// The frame of `small`, as C-Blosc2 2.0 beta 2 to 5 would have written it.
fn of_second_generation() -> Vec<u8> {
    with(&second_generation(small()), 25, &[0x21])
}

/// A frame with these metalayers and vlmetalayers. `frame_of` and C-Blosc2 write different numbers for the size of the
/// index of the vlmetalayers. This frame has the number of C-Blosc2.
fn frame(metalayers: &[(&str, &[u8])], vlmetalayers: &[(&str, &[u8])]) -> Vec<u8> {
    let bytes = frame_of(metalayers, vlmetalayers);
    let header_len = usize::try_from(u32::from_be_bytes(bytes[11..15].try_into().unwrap())).unwrap();
    // In a trailer, C-Blosc2 counts the size of the index from the byte after the marker `93`, so it is smaller by 1.
    let size = u16::from_be_bytes(bytes[header_len + 4..header_len + 6].try_into().unwrap()) - 1;
    with(&bytes, header_len + 4, &size.to_be_bytes())
}

fn array() -> Vec<u8> {
    to_vec(&(0, 2, [3, 5], [2, 3], [1, 2], 0, "<i4")).unwrap()
}

/// A value of the header: its name, its offset, its marker, and the number of bytes after the marker.
type Field = (&'static str, usize, u8, usize);
const FIELDS: [Field; 13] = [
    ("magic", 1, 0xa8, 8),
    ("header_len", 10, 0xd2, 4),
    ("frame_len", 15, 0xcf, 8),
    ("flags", 24, 0xa4, 4),
    ("nbytes", 29, 0xd3, 8),
    ("cbytes", 38, 0xd3, 8),
    ("typesize", 47, 0xd2, 4),
    ("blocksize", 52, 0xd2, 4),
    ("chunksize", 57, 0xd2, 4),
    ("compr_threads", 62, 0xd1, 2),
    ("decomp_threads", 65, 0xd1, 2),
    ("has_vlmeta", 68, 0xc2, 0),
    ("filters", 69, 0xd8, 17),
];

/// The offset of a header value in frames of this generation, or `None` if their header does not have the value.
fn place(generation: u8, (name, at, ..): Field) -> Option<usize> {
    match (generation, name) {
        (0x9d, "blocksize") => None,
        (0x9e, _) => Some(at),
        _ if at > 52 => Some(at - 5),
        _ => Some(at),
    }
}

fn generations() -> [(&'static str, Vec<u8>); 2] {
    [("9d", of_second_generation()), ("9e", small())]
}

fn whole_frames(list: &mut List) {
    list.good("9e, an array without items", &small());
    list.either("9d, an array without items", &of_second_generation(), OLD);
    list.good("9e, an array of 3 by 5 items in 4 chunks", &file("int32_3x5.b2nd"));
    list.good("9e, a scalar", &file("scalar.b2nd"));
    list.good("9e, rank 16", &file("rank16.b2nd"));
    list.good("9e, a dtype that is not ASCII", &file("struct_non_ascii.b2nd"));
    list.good("9e, vlmetalayers, one of them compressed", &file("vlmetalayers.b2nd"));
    list.either("9e, layout caterva", &file("uint16_6x8.caterva"), CATERVA);
    list.either("9e, layout caterva with old bytes after it", &file("squeezed.caterva"), CATERVA);
    list.good("9e, no metalayer", &frame(&[], &[]));
    list.good(
        "9e, metalayers of a user only",
        &frame(&[("mine", b"\xc0"), ("also", b"\x93\x01\x02\x03")], &[]),
    );
    let sixteen: Vec<String> = (0..16).map(|number| format!("layer {number}")).collect();
    let sixteen: Vec<(&str, &[u8])> = sixteen.iter().map(|name| (&**name, &b"\x2a"[..])).collect();
    list.good("9e, 16 metalayers", &frame(&sixteen, &[]));
    list.good("9e, the longest name and an empty content", &frame(&[(&"n".repeat(31), b"")], &[]));
    let (one, two) = (stored_chunk(b"\x01"), stored_chunk(b"\xa3two"));
    list.good("9e, a vlmetalayer", &frame(&[], &[("one", &one)]));
    list.good(
        "9e, metalayers and vlmetalayers",
        &frame(&[("mine", b"\xc0")], &[("one", &one), ("two", &two)]),
    );
    let many: Vec<String> = (0..17).map(|number| format!("{number}")).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|name| (&**name, &one[..])).collect();
    list.good("9e, 17 vlmetalayers", &frame(&[], &many));
}

/// For each byte of the header that has only one valid value, adds vectors in which the byte has an invalid value.
fn header_markers(list: &mut List) {
    for first in [0x00, 0x90, 0x9b, 0x9c, 0x9f, 0x8e, 0xde, 0xdc, 0xff] {
        list.bad(format!("first byte {first:02x}"), &with(&small(), 0, &[first]));
    }
    for at in 2..10 {
        list.bad(format!("byte {at} of the magic is wrong"), &with(&small(), at, b"?"));
    }
    for (generation, bytes) in generations() {
        for field in FIELDS {
            let (name, _, marker, _) = field;
            let Some(at) = place(bytes[0], field) else { continue };
            assert_eq!(bytes[at], marker, "{generation} {name}");
            // In turn, the wrong marker is: a marker of another width, a marker of another type, and a number.
            for wrong in [marker ^ 1, 0xc0, 0x01] {
                if name == "has_vlmeta" && wrong == 0xc3 {
                    continue;
                }
                let name = format!("{generation}, {name} has the marker {wrong:02x}");
                list.bad(name, &with(&bytes, at, &[wrong]));
            }
        }
    }
}

fn header_values(list: &mut List) {
    for (generation, bytes) in generations() {
        let header_len = u32::from_be_bytes(bytes[11..15].try_into().unwrap());
        let head = header_len - 78;
        for (what, len) in [
            ("0", 0),
            ("one too short for its values", head - 1),
            ("not there in full", header_len - 1),
            ("beyond the frame", u32::try_from(bytes.len()).unwrap() + 1),
            ("the largest int32", 0x7fff_ffff),
            ("-1", u32::MAX),
        ] {
            list.bad(format!("{generation}, header_len is {what}"), &with(&bytes, 11, &len.to_be_bytes()));
        }
        for (what, len) in
            [("beyond the file", bytes.len() as u64 + 1), ("0", 0), ("the largest uint64", u64::MAX)]
        {
            list.bad(format!("{generation}, frame_len is {what}"), &with(&bytes, 16, &len.to_be_bytes()));
        }
        let longer = [&bytes[..], b"more"].concat();
        match generation {
            "9e" => list.good("9e, bytes after the frame", &longer),
            _ => list.either(format!("{generation}, bytes after the frame"), &longer, OLD),
        }
    }
    let whole = file("int32_3x5.b2nd");
    let mut one = |name: &str, at: usize, new: &[u8]| list.bad(name, &with(&whole, at, new));
    one("nbytes is -1", 30, &[0xff; 8]);
    one("cbytes is -1", 39, &[0xff; 8]);
    one("cbytes is beyond the frame", 39, &[0x7f; 8]);
    one("cbytes is one too small", 46, &[0xff]);
    one("typesize is 0", 48, &[0; 4]);
    one("typesize is -1", 48, &[0xff; 4]);
    one("chunksize is -1, but nbytes is not 0", 58, &[0xff; 4]);
    one("chunksize is not that of the array", 58, &[0, 0, 0, 24]);
    one("chunksize is 0, but nbytes is not", 58, &[0; 4]);
    one("blocksize is not that of the array", 53, &[0, 0, 0, 4]);
    one("nbytes is short of a chunk: an interrupted resize", 37, &[96]);
    one("nbytes is a chunk too large: an interrupted resize", 37, &[160]);
    one("a shape of more chunks: an interrupted resize", 124, &[5]);
    one("7 filters", 70, &[7]);
    one("255 filters", 70, &[255]);
    one("frame type 2", 26, &[2]);
    one("frame type 255", 26, &[255]);
    for version in [4, 5, 15] {
        one(&format!("version of the frame is {version}"), 25, &[0x10 | version]);
    }
    list.good("a shape of the same chunks", &with(&whole, 124, &[4]));
    list.good("threads of any number", &with(&with(&whole, 63, &[0x7f, 0xff]), 66, &[0, 0]));
    list.good("another level, split mode and codec", &with(&whole, 27, &[0x91, 0x01]));
    for filter in [0, 1, 2, 3, 4] {
        list.good(format!("filter {filter}"), &with(&whole, 71, &[filter]));
    }
    list.either("filter 31", &with(&whole, 71, &[31]), UNKNOWN);
    list.either("codec 15", &with(&whole, 27, &[0x5f]), UNKNOWN);
    list.either("has_vlmeta, but no vlmetalayer", &with(&small(), 68, &[0xc3]), IGNORED);
}

fn metalayer_section(list: &mut List) {
    let bytes = small();
    let mut one = |name: &str, at: usize, new: &[u8]| list.bad(name, &with(&bytes, at, new));
    for marker in [0x92, 0x94, 0xdc, 0xc0] {
        one(&format!("the metalayers have the marker {marker:02x}"), 87, &[marker]);
    }
    one("the size of the index has the marker of a uint32", 88, &[0xce]);
    one("the index is a map32", 91, &[0xdf]);
    one("the index is a fixmap", 91, &[0x81]);
    one("17 metalayers are counted", 93, &[17]);
    one("65535 metalayers are counted", 92, &[0xff; 2]);
    one("2 metalayers are counted, 1 is there", 93, &[2]);
    one("a name is a str8", 94, &[0xd9]);
    one("a name reaches over its offset", 94, &[0xbf]);
    one("an offset is a uint32", 99, &[0xce]);
    one("a content is a bin16", 107, &[0xc5]);
    one("a content is a str32", 107, &[0xdb]);
    for (what, offset) in [
        ("-1", u32::MAX),
        ("the least int32", 1 << 31),
        ("the largest int32", 0x7fff_ffff),
        ("the end of the header", 165),
        ("too near to the end of the header", 161),
        ("one byte early", 106),
        ("one byte late", 108),
        ("0", 0),
        ("that of the content's bytes", 112),
    ] {
        one(&format!("the offset of a metalayer is {what}"), 100, &offset.to_be_bytes());
    }
    for (what, len) in [("one too long", 54), ("the largest int32", 0x7fff_ffff), ("-1", u32::MAX)] {
        one(&format!("the length of a metalayer is {what}"), 108, &len.to_be_bytes());
    }
    one("the length of the array's metalayer is one too short", 111, &[52]);
    list.either("the size of the index is 0", &with(&bytes, 89, &[0, 0]), IGNORED);
    list.either("the size of the index is counted as in a trailer", &with(&bytes, 89, &[0, 16]), IGNORED);
    list.either("the list of contents has the marker of an array32", &with(&bytes, 104, &[0xdd]), IGNORED);
    list.either("the list of contents counts 2", &with(&bytes, 106, &[2]), IGNORED);
    let twice = frame(&[("b2nd", &array()), ("b2nd", &array())], &[]);
    list.bad("b2nd twice, with items but without chunks", &twice);
    list.good("one name twice", &frame(&[("mine", b"\x01"), ("mine", b"\x02")], &[]));
    let (a, b): (&[u8], &[u8]) = (b"\x01", b"\x92\x02\x03");
    let both = frame(&[("a", a), ("b", b)], &[]);
    // The index entry of `a` begins at byte 94: `a1 'a' d2`, then the offset. The entry of `b` begins 7 bytes later.
    let (first, second) = (both[97..101].to_vec(), both[104..108].to_vec());
    list.good("contents in another order than their names", &with(&with(&both, 97, &second), 104, &first));
    list.good("two names for one content", &with(&both, 104, &first));
    list.either("a name that is not UTF-8", &with(&both, 95, &[0xff]), NO_TEXT);
    list.either("a name with a NUL", &with(&both, 95, &[0]), NO_TEXT);
}

fn arrays(list: &mut List) {
    let bytes = file("int32_3x5.b2nd");
    let mut one = |name: &str, at: usize, new: &[u8]| list.bad(name, &with(&bytes, at, new));
    one("b2nd begins with 98", 112, &[0x98]);
    one("b2nd has a shape of uint64", 116, &[0xcf]);
    one("b2nd has version 1", 113, &[1]);
    one("b2nd has rank 17", 114, &[17]);
    one("b2nd has a dtype beyond its end", 158, &[0, 0, 0, 4]);
    one("b2nd has a negative shape", 117, &[0xff]);
    one("b2nd has chunks of 0", 136, &[0; 4]);
    one("b2nd has blocks of 0", 147, &[0; 4]);
    one("b2nd has a shape beyond int64", 117, &[0x7f; 8]);
    list.either("b2nd of dtype format 1", &with(&bytes, 156, &[1]), UNKNOWN);
    list.either("b2nd of a dtype that means nothing", &with(&bytes, 162, b"xyz"), UNKNOWN);
    list.either("b2nd of a dtype with a NUL", &with(&bytes, 163, &[0]), NO_TEXT);
    list.either("b2nd of a dtype that is not UTF-8", &with(&bytes, 163, &[0xff]), NO_TEXT);
    list.good("b2nd of another dtype of the same size", &with(&bytes, 162, b"<f4"));
    list.bad("b2nd is empty", &frame(&[("b2nd", b"")], &[]));
    list.bad("b2nd is nil", &frame(&[("b2nd", b"\xc0")], &[]));
    list.bad("caterva is empty", &frame(&[("caterva", b"")], &[]));
    list.bad("items, but no chunks", &frame(&[("b2nd", &array())], &[]));
    list.bad(
        "items, but no chunks, in layout caterva",
        &frame(&[("caterva", &to_vec(&(0, 2, [3, 5], [2, 3], [1, 2])).unwrap())], &[]),
    );
}

fn trailers(list: &mut List) {
    let bytes = small();
    let trailer = bytes.len() - 35;
    let mut one = |name: &str, at: usize, new: &[u8]| list.bad(name, &with(&bytes, trailer + at, new));
    one("the trailer begins with 93", 0, &[0x93]);
    one("the trailer begins with 95", 0, &[0x95]);
    one("the trailer's vlmetalayers have the marker 92", 2, &[0x92]);
    one("the trailer's index is a map32", 6, &[0xdf]);
    one("the trailer counts a vlmetalayer that is not there", 8, &[1]);
    one("the trailer counts 65535 vlmetalayers", 7, &[0xff; 2]);
    one("the trailer's length is an int32", 12, &[0xd2]);
    for (what, len) in [
        ("0", 0_u32),
        ("that of a shorter one", 29),
        ("one too small", 34),
        ("one too large", 36),
        ("beyond the frame", 201),
        ("the largest uint32", u32::MAX),
    ] {
        one(&format!("the trailer's length is {what}"), 13, &len.to_be_bytes());
    }
    list.either(
        "the trailer's fingerprint has another marker",
        &with(&bytes, trailer + 17, &[0xc0]),
        IGNORED,
    );
    list.either("the trailer's version is 2", &with(&bytes, trailer + 1, &[2]), IGNORED);
    list.either("the trailer has a fingerprint", &with(&bytes, trailer + 18, &[7; 17]), IGNORED);
    list.either("the trailer's list of contents counts 1", &with(&bytes, trailer + 11, &[1]), IGNORED);
    let gap = [&bytes[..trailer], &[0; 3], &bytes[trailer..]].concat();
    list.bad("no chunks, and a gap before the trailer", &with_length(&gap));
    for kept in [0, 1, 22, 23, 29, 34] {
        let cut = with_length(&bytes[..trailer + kept]);
        list.bad(format!("the frame ends {kept} bytes after its header"), &cut);
    }

    let chunk = stored_chunk(b"\x01");
    let bytes = frame(&[], &[("one", &chunk)]);
    let trailer = bytes.windows(3).position(|bytes| bytes == [0x94, 0x01, 0x93]).unwrap();
    // The trailer begins with the bytes 94 01 93 cd ss ss de nn nn a3 'one' d2. The offset of the first vlmetalayer
    // follows.
    let (offset, content) = (trailer + 14, trailer + 18 + 3);
    assert_eq!((bytes[offset - 1], bytes[content]), (0xd2, 0xc6));
    let mut one = |name: &str, at: usize, new: &[u8]| list.bad(name, &with(&bytes, at, new));
    one("the offset of a vlmetalayer is -1", offset, &[0xff; 4]);
    one("the offset of a vlmetalayer is beyond the trailer", offset, &[0, 0, 1, 0]);
    let from_the_frame = u32::try_from(content).unwrap();
    one("the offset of a vlmetalayer counts from the frame", offset, &from_the_frame.to_be_bytes());
    one("a vlmetalayer is a bin16", content, &[0xc5]);
    one("the length of a vlmetalayer is -1", content + 1, &[0xff; 4]);
    one("the length of a vlmetalayer is beyond the trailer", content + 1, &[0, 0, 1, 0]);
    let size_as_in_a_header = with(&bytes, trailer + 4, &[0, 16]);
    list.either("the size of a trailer's index is counted as in a header", &size_as_in_a_header, IGNORED);
    list.either("has_vlmeta is false, but a vlmetalayer is there", &with(&bytes, 68, &[0xc2]), IGNORED);
}

fn truncations(list: &mut List) {
    for (generation, bytes) in generations() {
        let ends = FIELDS.iter().filter_map(|&field| place(bytes[0], field).map(|at| at + 1));
        let section = bytes.len() - if generation == "9e" { 35 + 78 } else { 30 + 78 };
        let parts = [0, 2, 9, 10, section, section + 1, section + 4, section + 7, section + 8, section + 12];
        let array = [section + 17, section + 20, section + 24, section + 25, section + 30, section + 77];
        let mut cuts: Vec<usize> =
            ends.chain(parts).chain(array).chain([section + 78, bytes.len() - 1]).collect();
        cuts.sort_unstable();
        cuts.dedup();
        for cut in cuts {
            list.bad(format!("{generation}, cut to {cut} bytes"), &bytes[..cut]);
        }
    }
}

#[test]
fn frames_of_the_vectors_are_these() {
    let mut list = List::new(reading);
    whole_frames(&mut list);
    header_markers(&mut list);
    header_values(&mut list);
    metalayer_section(&mut list);
    arrays(&mut list);
    trailers(&mut list);
    truncations(&mut list);
    list.hold_against("frames.json");
}

#[test]
fn headers_of_the_vectors_are_read_from_a_prefix_as_they_say() {
    let vectors = read("frames.json");
    assert!(vectors.len() > 250, "{}", vectors.len());
    for vector in vectors {
        let bytes = vector.bytes();
        let parsed = Frame::parse(&bytes);
        if let Some(header_len) = vector.values["header_len"].as_u64() {
            let frame = parsed.unwrap_or_else(|error| panic!("{}: {error}", vector.name));
            assert_eq!(frame.header().header_len as u64, header_len, "{}", vector.name);
            let prefix = &bytes[..frame.header().header_len];
            assert_eq!(Frame::parse(prefix).unwrap().header(), frame.header(), "{}", vector.name);
        } else if let Err(error) = parsed {
            // If the bytes are only the start of a frame, the error has no offset. Instead, it has the number of bytes
            // that are needed.
            let place = error.finding().and_then(Finding::offset);
            assert!(error.needed().is_some() || place == vector.error["byte"].as_u64(), "{}", vector.name);
        }
    }
}
