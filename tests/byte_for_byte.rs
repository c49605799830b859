//! Tests the promise of this crate about a struct with derived `Serialize` and `Deserialize` whose fields are the
//! entries of a metalayer: it is written as exactly the bytes of the format, and read from these bytes.
//!
//! The expected bytes are literals, written by hand from the table in the crate's documentation (`src/lib.rs`). The
//! snapshots `wire_*` show the bytes of more structs, in plain hexadecimal and annotated.

use std::fmt::Debug;

use b2nd_serde::{Layout, Serializer, from_slice, to_slice};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

#[cfg(feature = "alloc")]
mod common;

/// The struct of the README, with the values of the worked example in the draft specification.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Metalayer {
    version: u8,
    ndim: u8,
    shape: [u64; 2],
    chunkshape: [u32; 2],
    blockshape: [u32; 2],
    dtype_format: u8,
    dtype: String,
}

fn example() -> Metalayer {
    Metalayer {
        version: 0,
        ndim: 2,
        shape: [3, 5],
        chunkshape: [2, 3],
        blockshape: [1, 2],
        dtype_format: 0,
        dtype: "<i4".into(),
    }
}

#[rustfmt::skip]
const EXAMPLE: [u8; 53] = [
    0x97, 0x00, 0x02,
    0x92, 0xd3, 0, 0, 0, 0, 0, 0, 0, 3, 0xd3, 0, 0, 0, 0, 0, 0, 0, 5,
    0x92, 0xd2, 0, 0, 0, 2, 0xd2, 0, 0, 0, 3,
    0x92, 0xd2, 0, 0, 0, 1, 0xd2, 0, 0, 0, 2,
    0x00, 0xdb, 0, 0, 0, 3, b'<', b'i', b'4',
];

#[cfg(feature = "alloc")]
#[test]
fn to_vec_writes_the_struct_of_the_readme_byte_for_byte() {
    assert_eq!(b2nd_serde::to_vec(&example()).unwrap(), EXAMPLE);
    common::snapshot("struct_of_the_readme", &hex(&b2nd_serde::to_vec(&example()).unwrap()));
}

#[test]
fn to_slice_writes_the_struct_of_the_readme_byte_for_byte() {
    let mut buffer = [0xff; 64];
    assert_eq!(to_slice(&example(), &mut buffer).unwrap(), EXAMPLE);
    assert_eq!(buffer[53..], [0xff; 11]);
    assert_eq!(b2nd_serde::serialized_size(&example()).unwrap(), 53);
}

#[test]
fn from_slice_reads_the_struct_of_the_readme_back() {
    assert_eq!(from_slice::<Metalayer>(&EXAMPLE).unwrap(), example());
}

/// An ordinary MessagePack writer takes the shortest form of each number and text.
#[test]
fn rmp_serde_writes_other_bytes_of_the_same_struct() {
    let shortest = rmp_serde::to_vec(&example()).unwrap();
    assert_eq!(
        shortest,
        [0x97, 0, 2, 0x92, 3, 5, 0x92, 2, 3, 0x92, 1, 2, 0, 0xa3, b'<', b'i', b'4'],
        "17 bytes instead of 53"
    );
    assert_eq!(
        from_slice::<Metalayer>(&shortest).unwrap_err().to_string(),
        "byte 4: expected int64 (0xd3) for shape[0], found positive fixint 3 (0x03)"
    );
    // The other way round, rmp-serde reads the fixed widths.
    assert_eq!(rmp_serde::from_slice::<Metalayer>(&EXAMPLE).unwrap(), example());
}

#[test]
fn version_and_dtype_format_have_their_own_bytes() {
    let mut bytes = EXAMPLE;
    (bytes[1], bytes[44]) = (3, 4);
    byte_for_byte(Layout::B2nd, &bytes, &Metalayer { version: 3, dtype_format: 4, ..example() });
}

#[test]
fn a_tuple_is_written_and_read_as_the_struct() {
    let Metalayer { version, ndim, shape, chunkshape, blockshape, dtype_format, dtype } = example();
    let tuple = (version, ndim, shape, chunkshape, blockshape, dtype_format, dtype);
    byte_for_byte(Layout::B2nd, &EXAMPLE, &tuple);
}

/// The entries `ndim`, `shape`, `chunkshape` and `blockshape` of metalayers of some ranks.
const RANKS: [(u8, &str); 5] = [
    (0, "00 90 90 90"),
    (1, "01 91 d30000010000000000 91 d202000000 91 d200000300"),
    (2, "02 92 d30000010000000000 d30000010000000001 92 d202000000 d202000001 92 d200000300 d200000301"),
    (
        8,
        "08
         98 d30000010000000000 d30000010000000001 d30000010000000002 d30000010000000003
            d30000010000000004 d30000010000000005 d30000010000000006 d30000010000000007
         98 d202000000 d202000001 d202000002 d202000003 d202000004 d202000005 d202000006 d202000007
         98 d200000300 d200000301 d200000302 d200000303 d200000304 d200000305 d200000306 d200000307",
    ),
    (
        16,
        "10
         a0 d30000010000000000 d30000010000000001 d30000010000000002 d30000010000000003
            d30000010000000004 d30000010000000005 d30000010000000006 d30000010000000007
            d30000010000000008 d30000010000000009 d3000001000000000a d3000001000000000b
            d3000001000000000c d3000001000000000d d3000001000000000e d3000001000000000f
         a0 d202000000 d202000001 d202000002 d202000003 d202000004 d202000005 d202000006 d202000007
            d202000008 d202000009 d20200000a d20200000b d20200000c d20200000d d20200000e d20200000f
         a0 d200000300 d200000301 d200000302 d200000303 d200000304 d200000305 d200000306 d200000307
            d200000308 d200000309 d20000030a d20000030b d20000030c d20000030d d20000030e d20000030f",
    ),
];

/// The bytes of a metalayer with the dtype `<f8`.
fn bytes_of(layout: Layout, ndim: u8) -> Vec<u8> {
    let (_, entries) = RANKS.into_iter().find(|&(rank, _)| rank == ndim).unwrap();
    let (start, end) = match layout {
        Layout::B2nd => ("97 00", "00 db00000003 3c6638"),
        Layout::B2ndMismarked => ("96 00", "00 db00000003 3c6638"),
        Layout::B2ndSix => ("96 00", "db00000003 3c6638"),
        Layout::Caterva => ("95 00", ""),
        _ => panic!("a new layout"),
    };
    let digits: Vec<u8> = [start, entries, end].concat().bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// Asserts that a value is written as these bytes, and that the bytes are read as the value.
#[track_caller]
fn byte_for_byte<'de, T>(layout: Layout, bytes: &'de [u8], value: &T)
where
    T: Debug + PartialEq + Serialize + Deserialize<'de>,
{
    let mut buffer = [0xff; 400];
    let mut serializer = Serializer::new(&mut buffer).with_layout(layout);
    value.serialize(&mut serializer).unwrap();
    let length = serializer.offset();
    assert_eq!(buffer[..length], *bytes, "{layout}, {value:?}");
    assert_eq!(from_slice::<T>(bytes).unwrap(), *value, "{layout}");

    // `B2ndMismarked` is the only layout that no number of entries selects.
    if layout != Layout::B2ndMismarked {
        assert_eq!(to_slice(value, &mut buffer).unwrap(), bytes, "{layout}, {value:?}");
        #[cfg(feature = "alloc")]
        assert_eq!(b2nd_serde::to_vec(value).unwrap(), bytes, "{layout}, {value:?}");
    }
    #[cfg(feature = "alloc")]
    assert_eq!(b2nd_serde::to_vec_with_layout(value, layout).unwrap(), bytes, "{layout}, {value:?}");
}

/// The entries of layouts `B2nd` and `B2ndMismarked`. The fields of a user's struct have any types that fit.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Seven<S, C, T> {
    version: u8,
    ndim: u8,
    shape: S,
    chunkshape: C,
    blockshape: C,
    dtype_format: u8,
    dtype: T,
}

/// The entries of layout `B2ndSix`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Six<S, C, T> {
    version: u8,
    ndim: u8,
    shape: S,
    chunkshape: C,
    blockshape: C,
    dtype: T,
}

/// The entries of layout `Caterva`.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Five<S, C> {
    version: u8,
    ndim: u8,
    shape: S,
    chunkshape: C,
    blockshape: C,
}

/// Asserts the promise for a struct of each layout. `T` is the type of the dtype.
#[track_caller]
fn in_every_layout<S, C, T>(ndim: u8, shape: &S, chunkshape: &C, blockshape: &C, dtype: &T)
where
    S: Clone + Debug + PartialEq + Serialize + for<'de> Deserialize<'de>,
    C: Clone + Debug + PartialEq + Serialize + for<'de> Deserialize<'de>,
    T: Clone + Debug + PartialEq + Serialize + for<'de> Deserialize<'de>,
{
    let (version, dtype_format) = (0, 0);
    let (shape, chunkshape, blockshape) = (shape.clone(), chunkshape.clone(), blockshape.clone());
    let seven = Seven { version, ndim, shape, chunkshape, blockshape, dtype_format, dtype: dtype.clone() };
    byte_for_byte(Layout::B2nd, &bytes_of(Layout::B2nd, ndim), &seven);
    byte_for_byte(Layout::B2ndMismarked, &bytes_of(Layout::B2ndMismarked, ndim), &seven);
    let Seven { shape, chunkshape, blockshape, dtype, .. } = seven;
    let six = Six { version, ndim, shape, chunkshape, blockshape, dtype };
    byte_for_byte(Layout::B2ndSix, &bytes_of(Layout::B2ndSix, ndim), &six);
    let Six { shape, chunkshape, blockshape, .. } = six;
    let five = Five { version, ndim, shape, chunkshape, blockshape };
    byte_for_byte(Layout::Caterva, &bytes_of(Layout::Caterva, ndim), &five);
}

/// The shape, chunk shape and block shape of [`RANKS`].
fn shapes(ndim: u8) -> (Vec<i64>, Vec<u32>, Vec<u32>) {
    let shape = (0..ndim).map(|dimension| 0x0100_0000_0000 + i64::from(dimension)).collect();
    let vector = |first: u32| (0..ndim).map(|dimension| first + u32::from(dimension)).collect();
    (shape, vector(0x0200_0000), vector(0x0300))
}

#[test]
fn vecs_are_written_and_read_byte_for_byte() {
    for (ndim, _) in RANKS {
        let (shape, chunkshape, blockshape) = shapes(ndim);
        in_every_layout(ndim, &shape, &chunkshape, &blockshape, &"<f8".to_owned());
    }
}

#[test]
fn arrays_are_written_and_read_byte_for_byte() {
    fn of_rank<const N: usize>()
    where
        [i64; N]: Serialize + for<'de> Deserialize<'de>,
        [u32; N]: Serialize + for<'de> Deserialize<'de>,
    {
        let ndim = u8::try_from(N).unwrap();
        let (shape, chunkshape, blockshape) = shapes(ndim);
        let shape: [i64; N] = shape.try_into().unwrap();
        let [chunkshape, blockshape]: [[u32; N]; 2] =
            [chunkshape, blockshape].map(|vector| vector.try_into().unwrap());
        in_every_layout(ndim, &shape, &chunkshape, &blockshape, &"<f8".to_owned());
    }
    of_rank::<0>();
    of_rank::<1>();
    of_rank::<2>();
    of_rank::<8>();
    of_rank::<16>();
}

#[test]
fn a_dtype_of_serde_bytes_is_written_and_read_byte_for_byte() {
    for (ndim, _) in RANKS {
        let (shape, chunkshape, blockshape) = shapes(ndim);
        in_every_layout(ndim, &shape, &chunkshape, &blockshape, &ByteBuf::from("<f8"));
    }
}

#[test]
fn an_enum_of_dtypes_is_written_and_read_byte_for_byte() {
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    enum Kind {
        #[serde(rename = "<i4")]
        Int32,
        #[serde(rename = "<f8")]
        Float64,
    }
    for (ndim, _) in RANKS {
        let (shape, chunkshape, blockshape) = shapes(ndim);
        in_every_layout(ndim, &shape, &chunkshape, &blockshape, &Kind::Float64);
    }
    let example = Seven {
        version: 0,
        ndim: 2,
        shape: [3, 5],
        chunkshape: [2, 3],
        blockshape: [1, 2],
        dtype_format: 0,
        dtype: Kind::Int32,
    };
    byte_for_byte(Layout::B2nd, &EXAMPLE, &example);
}

#[test]
fn borrowed_text_is_written_and_read_byte_for_byte() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Borrowed<'a> {
        version: u8,
        ndim: u8,
        shape: Vec<i64>,
        chunkshape: Vec<u32>,
        blockshape: Vec<u32>,
        dtype_format: u8,
        dtype: &'a str,
    }
    for (ndim, _) in RANKS {
        let (shape, chunkshape, blockshape) = shapes(ndim);
        let value =
            Borrowed { version: 0, ndim, shape, chunkshape, blockshape, dtype_format: 0, dtype: "<f8" };
        for layout in [Layout::B2nd, Layout::B2ndMismarked] {
            let bytes = bytes_of(layout, ndim);
            byte_for_byte(layout, &bytes, &value);
            let read: Borrowed = from_slice(&bytes).unwrap();
            assert_eq!(read.dtype.as_ptr(), bytes[bytes.len() - 3..].as_ptr(), "the text is not copied");
        }
    }
}

/// One struct for all layouts: the entries that a layout lacks are `None`.
#[test]
fn option_fields_are_written_and_read_byte_for_byte() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct AnyLayout {
        version: u8,
        ndim: u8,
        shape: Vec<i64>,
        chunkshape: Vec<u32>,
        blockshape: Vec<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        dtype_format: Option<u8>,
        #[serde(skip_serializing_if = "Option::is_none")]
        dtype: Option<String>,
    }
    for &layout in Layout::ALL {
        for (ndim, _) in RANKS {
            let (shape, chunkshape, blockshape) = shapes(ndim);
            let (dtype_format, dtype) = match layout.entries().len() {
                7 => (Some(0), Some("<f8".to_owned())),
                6 => (None, Some("<f8".to_owned())),
                _ => (None, None),
            };
            let value = AnyLayout { version: 0, ndim, shape, chunkshape, blockshape, dtype_format, dtype };
            byte_for_byte(layout, &bytes_of(layout, ndim), &value);
        }
    }
}

/// The bytes in hexadecimal, 16 on a line.
#[cfg(feature = "alloc")]
fn hex(bytes: &[u8]) -> String {
    let line = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
    bytes.chunks(16).map(line).collect::<Vec<_>>().join("\n")
}

/// Snapshots of the bytes of derived structs: in plain hexadecimal, and below it as `dump::metalayer` annotates them.
#[cfg(feature = "alloc")]
mod snapshots {
    use b2nd_serde::{dump, to_vec_with_layout};

    use super::{Five, Layout, Serialize, Seven, Six, hex, shapes};
    use crate::common::{long_dtype, snapshot};

    fn check<T: Serialize>(name: &str, layout: Layout, value: &T) {
        let bytes = to_vec_with_layout(value, layout).unwrap();
        snapshot(
            &format!("wire_{layout}_{name}"),
            &format!("{}\n\n{}", hex(&bytes), dump::metalayer(&bytes)),
        );
    }

    fn seven(ndim: u8, dtype: &str) -> Seven<Vec<i64>, Vec<u32>, &str> {
        let (shape, chunkshape, blockshape) = shapes(ndim);
        Seven { version: 0, ndim, shape, chunkshape, blockshape, dtype_format: 0, dtype }
    }

    fn six(ndim: u8, dtype: &str) -> Six<Vec<i64>, Vec<u32>, &str> {
        let Seven { shape, chunkshape, blockshape, .. } = seven(ndim, dtype);
        Six { version: 0, ndim, shape, chunkshape, blockshape, dtype }
    }

    #[test]
    fn to_vec_of_every_layout_and_rank() {
        for ndim in [0, 1, 2, 3, 8, 15, 16] {
            let name = format!("rank_{ndim:02}");
            check(&name, Layout::B2nd, &seven(ndim, "<i4"));
            check(&name, Layout::B2ndSix, &six(ndim, "int32"));
            let Seven { version, ndim, shape, chunkshape, blockshape, .. } = seven(ndim, "<i4");
            check(&name, Layout::Caterva, &Five { version, ndim, shape, chunkshape, blockshape });
        }
        // This layout differs from `B2nd` in its first byte.
        check("rank_02", Layout::B2ndMismarked, &seven(2, "<i4"));
    }

    #[test]
    fn to_vec_of_dtypes() {
        check("dtype_empty", Layout::B2nd, &seven(1, ""));
        let long = long_dtype();
        assert!(long.len() > 3000);
        check("dtype_long", Layout::B2nd, &seven(1, &long));
        check("dtype_non_ascii", Layout::B2nd, &seven(1, "[('größe', '<f4'), ('名前', '<U3')]"));
    }

    #[test]
    fn to_vec_of_the_largest_and_smallest_numbers() {
        let value = Seven {
            version: 127,
            ndim: 3,
            shape: [i64::MAX, i64::MIN, -1],
            chunkshape: [i32::MAX, i32::MIN, -1],
            blockshape: [0, 1, 2],
            dtype_format: 127,
            dtype: "|b1",
        };
        check("extremes", Layout::B2nd, &value);
    }
}
