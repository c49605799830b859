//! The metalayers of the conformance vectors, good and bad.

#![cfg(feature = "alloc")]

use serde_derive::Serialize;

use b2nd_lab::vectors::{self, Verdict, kebab, read, with};
use b2nd_serde::{Entry, Error, Layout, Meta, Shapes, from_slice, take_from_slice, to_vec};
use common::{five, long_dtype, meta_of_rank, seven, six};

#[path = "../common/mod.rs"]
mod common;

/// The entries of a metalayer, and the numbers that are computed from them, such as the grid of chunks.
#[derive(Clone, Debug, Serialize)]
struct Values {
    layout: &'static str,
    version: u8,
    ndim: usize,
    shape: Vec<i64>,
    chunkshape: Vec<i32>,
    blockshape: Vec<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dtype_format: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dtype: Option<String>,
    /// The number of chunks along each dimension, if the numbers are a valid geometry.
    #[serde(skip_serializing_if = "Option::is_none")]
    grid: Option<Vec<u64>>,
    /// The reason why the numbers are not a valid geometry.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_array: Option<NoArray>,
}

#[derive(Clone, Debug, Serialize)]
struct NoArray {
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimension: Option<usize>,
}

/// The error of an invalid metalayer.
#[derive(Clone, Debug, Serialize)]
struct Refusal {
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimension: Option<usize>,
    byte: usize,
}

fn values(meta: &Meta) -> Values {
    let geometry = meta.geometry();
    Values {
        layout: meta.layout().name(),
        version: meta.version(),
        ndim: meta.ndim(),
        shape: meta.shape().to_vec(),
        chunkshape: meta.chunkshape().to_vec(),
        blockshape: meta.blockshape().to_vec(),
        dtype_format: meta.dtype_format(),
        dtype: meta.dtype().map(Into::into),
        grid: geometry.as_ref().ok().map(|geometry| geometry.grid_of_chunks().to_vec()),
        no_array: geometry.err().map(|error| NoArray {
            kind: kebab(&error.kind()),
            entry: error.entry().map(Entry::name),
            dimension: error.dimension(),
        }),
    }
}

fn refusal(error: &Error) -> Refusal {
    Refusal {
        kind: kebab(&error.kind()),
        entry: error.entry().map(Entry::name),
        dimension: error.dimension(),
        byte: error.offset().unwrap(),
    }
}

/// Reads a metalayer, and returns its values and the error. If other bytes follow a valid metalayer, there are both
/// values and an error.
fn reading(bytes: &[u8]) -> (Option<Values>, Option<Refusal>) {
    let first = take_from_slice::<Meta>(bytes).ok();
    (first.map(|(meta, _)| values(&meta)), from_slice::<Meta>(bytes).err().as_ref().map(refusal))
}

type List = vectors::List<Values, Refusal>;

const OLDER: &str = "the draft specification lets readers accept it, and real files have it";
const SIX: &str = "no release of C-Blosc2 has read layout b2nd-six, but files of February 2023 have it";
const CATERVA_THREE: &str = "the layouts of Caterva 0.1, of 2019, which this project refuses";
const TRAILING: &str = "releases of python-blosc2 and python-caterva left old bytes after a metalayer that became \
                        shorter; a reader of frames takes what comes first, and b2nd_serde::from_slice refuses it";
const NO_TEXT: &str =
    "no document says that a dtype is UTF-8 without NUL; to C-Blosc2 it is bytes that end at a NUL";

/// The bytes of the worked example of the draft specification in this layout.
fn example(layout: Layout) -> Vec<u8> {
    match layout {
        Layout::B2nd => to_vec(&seven()).unwrap(),
        Layout::B2ndSix => to_vec(&six()).unwrap(),
        Layout::Caterva => to_vec(&five()).unwrap(),
        _ => {
            to_vec(&from_slice::<Meta>(&example(Layout::B2nd)).unwrap().with_layout(layout).unwrap()).unwrap()
        }
    }
}

/// The worked example with another dtype.
fn with_dtype(dtype: &[u8]) -> Vec<u8> {
    let length = u32::try_from(dtype.len()).unwrap().to_be_bytes();
    [&example(Layout::B2nd)[..46], &length, dtype].concat()
}

fn layouts_and_ranks(list: &mut List) {
    for &layout in Layout::ALL {
        for ndim in 0..=16 {
            // The numbers of each dimension fit together, so the geometry is valid.
            let shape: Vec<i64> = (0..ndim.into()).map(|i| 2 + i % 3).collect();
            let chunkshape: Vec<i32> = (0..ndim).map(|i| 1 + i % 3).collect();
            let blockshape: Vec<i32> = (0..ndim).map(|i| 1 + i % 2).collect();
            let shapes = Shapes { shape: &shape, chunkshape: &chunkshape, blockshape: &blockshape };
            let dtype = if layout == Layout::B2ndSix { "uint16" } else { "<u2" };
            let meta = Meta::new(shapes, dtype).unwrap().with_layout(layout).unwrap();
            let (name, bytes) = (format!("{layout}, rank {ndim}"), to_vec(&meta).unwrap());
            match layout {
                Layout::B2nd => list.good(name, &bytes),
                Layout::B2ndSix => list.either(name, &bytes, SIX),
                _ => list.either(name, &bytes, OLDER),
            }
        }
    }
    list.good("worked example of the draft specification", &example(Layout::B2nd));
    list.good("a number for each byte, rank 3", &to_vec(&meta_of_rank(3, "<i4")).unwrap());
}

/// For each byte of the worked example that has only one valid value, adds vectors in which the byte has an invalid
/// value.
fn markers(list: &mut List) {
    let bytes = example(Layout::B2nd);
    let vector = [0x90, 0x91, 0x93, 0x9f, 0xa0, 0xa2, 0xdc, 0xdd, 0x82, 0xc0, 0x02];
    let int = [0x03, 0xcc, 0xcd, 0xce, 0xcf, 0xd0, 0xd1, 0xd2, 0xd3, 0xca, 0xcb, 0xc0, 0xff];
    let fixint = [0x80, 0x90, 0xc0, 0xcc, 0xd0, 0xe0, 0xff];
    let outer = [0x00, 0x90, 0x92, 0x94, 0x98, 0x99, 0x9f, 0xa7, 0x87, 0xc0, 0xdc, 0xdd, 0xff];
    let text = [0xa3, 0xa0, 0xd9, 0xda, 0xc4, 0xc5, 0xc6, 0xc0, 0xdc, 0x00];
    for (place, at, wrong) in [
        ("outer array", 0, &outer[..]),
        ("version", 1, &fixint),
        ("ndim", 2, &fixint),
        ("shape", 3, &vector),
        ("shape[0]", 4, &int),
        ("shape[1]", 13, &int),
        ("chunkshape", 22, &vector),
        ("chunkshape[0]", 23, &int),
        ("chunkshape[1]", 28, &int),
        ("blockshape", 33, &vector),
        ("blockshape[0]", 34, &int),
        ("blockshape[1]", 39, &int),
        ("dtype_format", 44, &fixint),
        ("dtype", 45, &text),
    ] {
        for &marker in wrong.iter().filter(|&&marker| marker != bytes[at]) {
            list.bad(format!("{place} has the marker {marker:02x}"), &with(&bytes, at, &[marker]));
        }
    }
    let three = with(&bytes, 0, &[0x93]);
    list.either("outer array has the marker 93", &three, CATERVA_THREE);
    let native = b"\x93\x02\x92\xcf\x03\0\0\0\0\0\0\0\xcf\x05\0\0\0\0\0\0\0\x92\xd2\x02\0\0\0\xd2\x03\0\0\0";
    list.either("Caterva 0.1, integers in the byte order of the machine", native, CATERVA_THREE);
    let big = b"\x93\x02\x92\xd3\0\0\0\0\0\0\0\x03\xd3\0\0\0\0\0\0\0\x05\x92\xd2\0\0\0\x02\xd2\0\0\0\x03";
    list.either("Caterva 0.1, big-endian integers", big, CATERVA_THREE);
}

/// Adds the output of ordinary MessagePack writers, which use markers for numbers and texts of other widths.
fn widths(list: &mut List) {
    let bytes = example(Layout::B2nd);
    let splice = |from: usize, to: usize, new: &[u8]| [&bytes[..from], new, &bytes[to..]].concat();
    let shortest = b"\x97\0\x02\x92\x03\x05\x92\x02\x03\x92\x01\x02\0\xa3<i4";
    list.bad("each value in its shortest form", shortest);
    list.bad("version as uint8", &splice(1, 2, &[0xcc, 0]));
    list.bad("ndim as uint8", &splice(2, 3, &[0xcc, 2]));
    for (entry, at) in [("shape", 3), ("chunkshape", 22), ("blockshape", 33)] {
        list.bad(format!("{entry} as array16"), &splice(at, at + 1, &[0xdc, 0, 2]));
        list.bad(format!("{entry} as array32"), &splice(at, at + 1, &[0xdd, 0, 0, 0, 2]));
    }
    let three: [(&str, &[u8]); 8] = [
        ("fixint", &[3]),
        ("uint8", &[0xcc, 3]),
        ("uint16", &[0xcd, 0, 3]),
        ("uint32", &[0xce, 0, 0, 0, 3]),
        ("int8", &[0xd0, 3]),
        ("int16", &[0xd1, 0, 3]),
        ("int32", &[0xd2, 0, 0, 0, 3]),
        ("int64", &[0xd3, 0, 0, 0, 0, 0, 0, 0, 3]),
    ];
    for (entry, from, to, own) in
        [("shape[0]", 4, 13, "int64"), ("chunkshape[1]", 28, 33, "int32"), ("blockshape[1]", 39, 44, "int32")]
    {
        for (width, new) in three.iter().filter(|(width, _)| *width != own) {
            list.bad(format!("{entry} as {width}"), &splice(from, to, new));
        }
    }
    list.bad("dtype_format as uint8", &splice(44, 45, &[0xcc, 0]));
    for (width, new) in [
        ("fixstr", &b"\xa3<i4"[..]),
        ("str8", b"\xd9\x03<i4"),
        ("str16", b"\xda\0\x03<i4"),
        ("bin8", b"\xc4\x03<i4"),
        ("bin32", b"\xc6\0\0\0\x03<i4"),
    ] {
        list.bad(format!("dtype as {width}"), &splice(45, 53, new));
    }
    list.bad("dtype as nil", &splice(45, 53, &[0xc0]));
    list.bad("outer array as array16", &splice(0, 1, &[0xdc, 0, 7]));
    list.bad("outer array as a map of 7", &with(&bytes, 0, &[0x87]));
}

fn truncations(list: &mut List) {
    let bytes = example(Layout::B2nd);
    for len in 0..bytes.len() {
        list.bad(format!("b2nd, cut to {len} bytes"), &bytes[..len]);
    }
    for layout in [Layout::B2ndMismarked, Layout::B2ndSix, Layout::Caterva] {
        let bytes = example(layout);
        for len in [1, 2, 3, 4, 12, 13, 21, 22, 23, 27, 33, 34, 38, 43, 44, 45, 46, 49, 50, 52] {
            if len < bytes.len() {
                list.bad(format!("{layout}, cut to {len} bytes"), &bytes[..len]);
            }
        }
    }
}

fn ranks_and_counts(list: &mut List) {
    let bytes = example(Layout::B2nd);
    for ndim in [0, 1, 3, 16] {
        list.bad(format!("ndim is {ndim}, and each vector has 2"), &with(&bytes, 2, &[ndim]));
    }
    for ndim in [17, 32, 127] {
        list.bad(format!("ndim is {ndim}"), &with(&bytes, 2, &[ndim]));
    }
    let sixteen = to_vec(&meta_of_rank(16, "<i4")).unwrap();
    list.bad("rank 16, shape has the marker of 15", &with(&sixteen, 3, &[0x9f]));
    let as_array16 = [&sixteen[..3], &[0xdc, 0, 16], &sixteen[4..]].concat();
    list.bad("rank 16, shape as array16", &as_array16);
    let seventeen = {
        let dimension = |marker: u8, width: usize| [&[marker][..], &vec![0; width - 1], &[1]].concat();
        let (long, short) = (dimension(0xd3, 8).repeat(17), dimension(0xd2, 4).repeat(17));
        [&[0x97, 0, 17, 0xa1][..], &long, &[0xa1], &short, &[0xa1], &short, b"\0\xdb\0\0\0\x03<i4"].concat()
    };
    list.bad("rank 17, with the markers that would follow", &seventeen);
    for version in [1, 2, 127] {
        list.good(format!("version {version}, with the bytes of version 0"), &with(&bytes, 1, &[version]));
    }
    list.bad(
        "version 1, shape as array16",
        &[&with(&bytes, 1, &[1])[..3], &[0xdc, 0, 2], &bytes[4..]].concat(),
    );
    for format in [1, 127] {
        list.good(format!("dtype_format {format}"), &with(&bytes, 44, &[format]));
    }
}

/// Adds metalayers that can be read. The numbers of some of them describe a valid array; the numbers of the others do
/// not.
fn numbers(list: &mut List) {
    let mut add = |name: &str, shape: &[i64], chunkshape: &[i32], blockshape: &[i32]| {
        let shapes = Shapes { shape, chunkshape, blockshape };
        list.good(name, &to_vec(&Meta::new(shapes, "|u1").unwrap()).unwrap());
    };
    add("shape[0] is -1", &[-1, 5], &[2, 3], &[1, 2]);
    add("shape[1] is the least int64", &[3, i64::MIN], &[2, 3], &[1, 2]);
    add("chunkshape[0] is -1", &[3, 5], &[-1, 3], &[1, 2]);
    add("chunkshape[1] is the least int32", &[3, 5], &[2, i32::MIN], &[1, 2]);
    add("blockshape[1] is -1", &[3, 5], &[2, 3], &[1, -1]);
    add("all shapes are 0", &[0], &[0], &[0]);
    add("no items, chunks and blocks of some", &[0, 5], &[2, 3], &[1, 2]);
    add("no items, chunks of 0, blocks of 1", &[0], &[0], &[1]);
    add("no items, chunks of 5, blocks of 0", &[0], &[5], &[0]);
    add("items, chunks of 0, blocks of 0", &[5], &[0], &[0]);
    add("items, chunks of 0, blocks of 1", &[5], &[0], &[1]);
    add("items, chunks of 5, blocks of 0", &[5], &[5], &[0]);
    add("a chunk larger than the array", &[3], &[7], &[7]);
    add("a block larger than the chunk", &[9], &[3], &[5]);
    add("the largest chunk", &[i64::from(i32::MAX)], &[i32::MAX], &[1]);
    add("chunks beyond int32", &[1 << 40, 1 << 10], &[1 << 16, 1 << 16], &[1, 1]);
    add("blocks beyond int32", &[1 << 20, 1 << 20], &[1, 1], &[1 << 16, 1 << 16]);
    add("the largest array", &[i64::MAX], &[1], &[1]);
    add("an array of 2^62 items", &[1 << 31, 1 << 31], &[1 << 10, 1 << 10], &[1 << 5, 1 << 5]);
    add("items beyond int64", &[1 << 32, 1 << 31], &[1, 1], &[1, 1]);
    add("rounded up beyond int64", &[i64::MAX], &[2], &[1]);
    add("rounded up to the largest int64", &[i64::MAX - 1], &[7], &[1]);
    add("a product that overflows, then 0", &[1 << 40, 1 << 40, 0], &[1, 1, 1], &[1, 1, 1]);
    add("0, then a product that would overflow", &[0, 1 << 40, 1 << 40], &[1, 1, 1], &[1, 1, 1]);
}

fn dtypes(list: &mut List) {
    for (name, dtype) in [
        ("dtype is empty", ""),
        ("dtype in words", "float32"),
        ("dtype that means nothing", "no dtype at all"),
        ("dtype of a struct", "[('a', '<i4'), ('b', '<f8', (3,))]"),
        ("dtype that is not ASCII", "[('größe', '<f4'), ('名前', '<U3')]"),
        ("dtype with control characters", "<i4\n\t\u{1}\u{7f}"),
        ("dtype of 3 kB", &long_dtype()),
    ] {
        list.good(name, &with_dtype(dtype.as_bytes()));
    }
    list.either("dtype ends with a NUL", &with_dtype(b"<i4\0"), NO_TEXT);
    list.either("dtype begins with a NUL", &with_dtype(b"\0<i4"), NO_TEXT);
    list.either("dtype has a NUL within", &with_dtype(b"<i\x004"), NO_TEXT);
    for (name, dtype) in [
        ("a byte of no character", &b"<i4\xff"[..]),
        ("a character cut short", b"\xc3"),
        ("a character in too many bytes", b"\xc0\xaf"),
        ("half of a surrogate pair", b"\xed\xa0\x80"),
        ("Latin-1", b"[('gr\xf6\xdfe', '<f4')]"),
    ] {
        list.either(format!("dtype that is not UTF-8: {name}"), &with_dtype(dtype), NO_TEXT);
    }
    let bytes = example(Layout::B2nd);
    for (name, length) in [
        ("4, but 3 bytes are left", 4_u32),
        ("255", 255),
        ("the largest int32", 0x7fff_ffff),
        ("the least int32", 0x8000_0000),
        ("-1", 0xffff_ffff),
    ] {
        list.bad(format!("the length of dtype is {name}"), &with(&bytes, 46, &length.to_be_bytes()));
    }
}

fn trailing_bytes(list: &mut List) {
    let mut add = |name: String, bytes: &[u8]| list.either(name, bytes, TRAILING);
    for layout in [Layout::B2nd, Layout::B2ndMismarked, Layout::Caterva] {
        let bytes = example(layout);
        add(format!("{layout}, then a byte 00"), &[&bytes[..], &[0]].concat());
        add(format!("{layout}, then itself"), &bytes.repeat(2));
        add(format!("{layout}, then its last 9 bytes"), &[&bytes[..], &bytes[bytes.len() - 9..]].concat());
    }
    add(
        "the length of dtype is 2, and 3 bytes are left".into(),
        &with(&example(Layout::B2nd), 46, &[0, 0, 0, 2]),
    );
    list.bad("caterva, marked as b2nd", &with(&example(Layout::Caterva), 0, &[0x97]));
    list.bad("caterva, marked as six entries", &with(&example(Layout::Caterva), 0, &[0x96]));
    list.bad("six entries, marked as b2nd", &with(&example(Layout::B2ndSix), 0, &[0x97]));
    list.either("b2nd, marked as caterva", &with(&example(Layout::B2nd), 0, &[0x95]), TRAILING);
    let neither = with(&with(&example(Layout::B2nd), 0, &[0x96]), 44, &[0xc0]);
    list.bad("marked as six entries, then neither dtype_format nor dtype", &neither);
}

#[test]
fn from_slice_and_take_from_slice_give_the_verdicts_of_the_vectors() {
    let mut list = List::new(reading);
    layouts_and_ranks(&mut list);
    markers(&mut list);
    widths(&mut list);
    truncations(&mut list);
    ranks_and_counts(&mut list);
    numbers(&mut list);
    dtypes(&mut list);
    trailing_bytes(&mut list);
    list.hold_against("metalayers.json");
}

#[test]
fn from_slice_reads_a_json_value_from_the_vectors_as_they_say() {
    let vectors = read("metalayers.json");
    assert!(vectors.len() > 300, "{}", vectors.len());
    for vector in vectors {
        let bytes = vector.bytes();
        let read = from_slice::<serde_json::Value>(&bytes);
        if vector.verdict == Verdict::Accept {
            let values = read.unwrap_or_else(|error| panic!("{}: {error}", vector.name));
            assert_eq!(values[2], vector.values["shape"], "{}", vector.name);
            assert_eq!(to_vec(&from_slice::<Meta>(&bytes).unwrap()).unwrap(), bytes, "{}", vector.name);
        } else if let Some(byte) = vector.error["byte"].as_u64() {
            assert_eq!(read.unwrap_err().offset(), usize::try_from(byte).ok(), "{}", vector.name);
        }
    }
}
