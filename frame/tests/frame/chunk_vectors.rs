//! The valid and invalid conformance vectors about the chunk index and the chunk headers.

use std::fs;

use serde_derive::Serialize;

use crate::vectors::{Refusal, refusal};
use b2nd_frame::{Check, CheckDepth, ChunkHeader, ChunkPlace, Frame, Severity, SpecialValue};
use b2nd_lab::data;
use b2nd_lab::vectors::{hex, with};

/// All items of the array in C order, as hexadecimal digits.
#[derive(Clone, Debug, Serialize)]
struct Values {
    items: String,
}

const TYPESIZE: usize = 4;

/// The offset of the chunk index in the file, and the offset of the first entry of the index.
const INDEX: usize = 421;
const ENTRIES: usize = INDEX + 32;

/// The offset of chunk 1 in the file.
const CHUNK: usize = 229;

/// Reads a frame, and returns the items of its array, or else the first error that a check finds.
fn reading(bytes: &[u8]) -> (Option<Values>, Option<Refusal>) {
    let frame = Frame::read_at(bytes, 0).unwrap();
    let report = Check::new(CheckDepth::ChunkHeaders).run(&frame).unwrap();
    let error = report.findings.iter().find(|finding| finding.severity() == Severity::Error);
    (error.is_none().then(|| Values { items: hex(&items(bytes)) }), error.map(refusal))
}

/// The items of an array whose chunks are not compressed.
fn items(bytes: &[u8]) -> Vec<u8> {
    let frame = Frame::read_at(bytes, 0).unwrap();
    let geometry = frame.array().unwrap().unwrap().geometry().unwrap();
    let chunk_nbytes = geometry.chunk_nbytes(TYPESIZE).unwrap();
    let mut items = vec![0; usize::try_from(geometry.nitems()).unwrap() * TYPESIZE];
    let mut chunks = frame.chunks().unwrap();
    for part in geometry.chunks() {
        let entry = chunks.next().unwrap().unwrap();
        let chunk = match (chunks.compressed(&entry).unwrap(), entry.place) {
            (Some(stored), _) => {
                let header = ChunkHeader::parse(&stored).unwrap();
                let body = &stored[header.header_len()..];
                if header.special() == Some(SpecialValue::Value) {
                    body.repeat(chunk_nbytes / body.len())
                } else {
                    body.to_vec()
                }
            }
            (None, ChunkPlace::Special(SpecialValue::Nan)) => {
                f32::NAN.to_le_bytes().repeat(chunk_nbytes / TYPESIZE)
            }
            (None, _) => vec![0; chunk_nbytes],
        };
        part.scatter(&chunk, TYPESIZE, &mut items).unwrap();
    }
    items
}

type List = b2nd_lab::vectors::List<Values, Refusal>;

/// The bytes of `int32_3x5.b2nd`, with `new` in the place of the bytes at an offset.
fn changed(at: usize, new: &[u8]) -> Vec<u8> {
    with(&fs::read(data().join("int32_3x5.b2nd")).unwrap(), at, new)
}

fn index(list: &mut List) {
    let mut good = |name: &str, at, new: &[u8]| list.good(name, &changed(at, new));
    good("four chunks that are not compressed", 0, &[]);
    good("the first two chunks change places", ENTRIES, &[[64, 0, 0, 0, 0, 0, 0, 0], [0; 8]].concat());
    let special = |last| [0, 0, 0, 0, 0, 0, 0, last];
    good("an entry: all items are zero", ENTRIES + 8, &special(0x81));
    good("an entry: all items are NaN", ENTRIES + 8, &special(0x82));

    let mut bad = |name: &str, at, new: &[u8]| list.bad(name, &changed(at, new));
    bad("an entry of bit 63 alone", ENTRIES + 8, &special(0x80));
    bad("an entry beyond the chunks", ENTRIES + 8, &[0, 1, 0, 0, 0, 0, 0, 0]);
    bad("an entry that is far beyond the file", ENTRIES + 8, &special(0x7f));
    bad("an entry within a chunk", ENTRIES + 8, &[1, 0, 0, 0, 0, 0, 0, 0]);
    bad("an index of three chunks", INDEX + 4, &24_u32.to_le_bytes());
    bad("an index of no bytes", INDEX + 4, &[0; 4]);
    bad("an index that is longer than the file", INDEX + 12, &[0, 1, 0, 0]);
}

fn headers(list: &mut List) {
    let mut bad = |name: &str, at, new: &[u8]| list.bad(name, &changed(CHUNK + at, new));
    bad("the bytes of a chunk: 0", 4, &[0; 4]);
    bad("the bytes of a chunk: too few", 4, &28_u32.to_le_bytes());
    bad("the bytes of a chunk: too many", 4, &36_u32.to_le_bytes());
    bad("the bytes of a chunk: 2^30", 4, &[0, 0, 0, 0x40]);
    bad("the bytes of a chunk: -1", 4, &[0xff; 4]);
    bad("the size of a block: 0", 8, &[0; 4]);
    bad("the size of a block: not the frame's", 8, &16_u32.to_le_bytes());
    bad("the size of a block: -1", 8, &[0xff; 4]);
    bad("the size of a chunk: 0", 12, &[0; 4]);
    bad("the size of a chunk: less than its header", 12, &31_u32.to_le_bytes());
    bad("the size of a chunk: too small for the data", 12, &60_u32.to_le_bytes());
    bad("the size of a chunk: into the next one", 12, &68_u32.to_le_bytes());
    bad("the size of a chunk: beyond the chunks", 12, &[0, 1, 0, 0]);
    bad("the size of a chunk: 2^30", 12, &[0, 0, 0, 0x40]);
    bad("the size of a chunk: -1", 12, &[0xff; 4]);
    bad("the size of an item: 0", 3, &[0]);
    bad("the size of an item: not the frame's", 3, &[8]);
    bad("a chunk that says it is compressed, and is not", 2, &[0x95]);
    bad("one value, and also data", 31, &[0x30]);
    bad("zeros, and also data", 31, &[0x10]);
}

#[test]
fn chunks_of_the_vectors_are_these() {
    let mut list = List::new(reading);
    index(&mut list);
    headers(&mut list);
    list.hold_against("chunks.json");
}
