//! Every error message says what was expected, what was found, and where. The snapshots have the full messages.

#![cfg(feature = "alloc")]

use std::error::Error as _;
use std::fmt::Write as _;
#[cfg(feature = "std")]
use std::io;
use std::ops::ControlFlow;

use crate::common::{EXAMPLE, Unsized, five, seven, shows_as_much_as_fits, six};
use b2nd_serde::{
    Entry, Error, ErrorKind, Layout, Meta, Serializer, Shapes, dump, from_slice, to_slice, to_vec,
};
use serde::ser::{Error as _, Serialize as Writable};
use serde_bytes::Bytes;
use serde_derive::{Deserialize, Serialize};

/// The bytes of the worked example of the draft specification, overwritten with the bytes `with` from offset `at` on.
fn example(at: usize, with: &[u8]) -> Vec<u8> {
    let mut bytes = EXAMPLE.to_vec();
    bytes[at..at + with.len()].copy_from_slice(with);
    bytes
}

fn changed(mut bytes: Vec<u8>, changes: &[(usize, u8)]) -> Vec<u8> {
    for &(at, byte) in changes {
        bytes[at] = byte;
    }
    bytes
}

fn cut(length: usize) -> Vec<u8> {
    EXAMPLE[..length].to_vec()
}

fn line(lines: &mut String, name: &str, error: &Error) {
    let dimension = error.dimension().map_or(String::new(), |dimension| format!("[{dimension}]"));
    let entry = error.entry().map_or("-".into(), |entry| format!("{entry}{dimension}"));
    writeln!(lines, "{name}\n    {error}\n    {:?}, {entry}", error.kind()).unwrap();
}

#[test]
fn needed_len_is_the_length_of_the_metalayer_for_every_shorter_buffer() {
    let mut buffer = [0; EXAMPLE.len() + 1];
    for length in 0..EXAMPLE.len() {
        let error = to_slice(&seven(), &mut buffer[..length]).unwrap_err();
        assert_eq!(
            (error.kind(), error.needed_len()),
            (ErrorKind::BufferTooSmall, Some(EXAMPLE.len())),
            "{length}"
        );
    }
    assert_eq!(to_slice(&seven(), &mut buffer[..EXAMPLE.len()]).unwrap(), EXAMPLE);

    // The second metalayer needs its own length, not the length of both.
    let mut serializer = Serializer::new(&mut buffer);
    seven().serialize(&mut serializer).unwrap();
    let error = seven().serialize(&mut serializer).unwrap_err();
    assert_eq!(error.needed_len(), Some(EXAMPLE.len()));

    // No other error has a length.
    assert_eq!(to_vec(&(0, 1, [6], [4])).unwrap_err().needed_len(), None);
    assert_eq!(from_slice::<Meta>(&cut(10)).unwrap_err().needed_len(), None);
}

#[expect(clippy::too_many_lines, reason = "one table")]
#[test]
fn from_slice_rejects_malformed_bytes_at_their_place() {
    let six = to_vec(&six()).unwrap();
    let cases: &[(&str, Vec<u8>)] = &[
        ("nothing", vec![]),
        ("an array of 4", example(0, &[0x94])),
        ("the layouts of Caterva 0.1", example(0, &[0x93])),
        ("an array of 8", example(0, &[0x98])),
        ("array16", example(0, &[0xdc])),
        ("a map", example(0, &[0x87])),
        ("a whole frame", b"\x9e\xa8b2frame\0\xd2\0\0\0\xa5".to_vec()),
        ("end before version", cut(1)),
        ("version is a uint8", example(1, &[0xcc])),
        ("end before ndim", cut(2)),
        ("ndim is negative", example(2, &[0xff])),
        ("ndim is 17", example(2, &[17])),
        ("ndim is 127", example(2, &[127])),
        ("end before shape", cut(3)),
        ("shape of 3", example(3, &[0x93])),
        ("shape of 16 where ndim is 16", {
            let mut bytes = to_vec(&crate::common::meta_of_rank(16, "<i4")).unwrap();
            bytes[3] = 0x9f;
            bytes
        }),
        ("shape as array16", example(3, &[0xdc])),
        ("shape[0] is a fixint", example(4, &[3])),
        ("shape[0] is a uint64", example(4, &[0xcf])),
        ("shape[1] is an int32", example(13, &[0xd2])),
        ("end within shape[0]", cut(12)),
        ("end before shape[1]", cut(13)),
        ("end within shape[1]", cut(14)),
        ("end before chunkshape", cut(22)),
        ("chunkshape[0] is an int64", example(23, &[0xd3])),
        ("end within chunkshape[1]", cut(30)),
        ("blockshape of 1", example(33, &[0x91])),
        ("blockshape[1] is nil", example(39, &[0xc0])),
        ("end before dtype_format", cut(44)),
        ("dtype_format is a str32", example(44, &[0xdb])),
        ("dtype_format is negative", example(44, &[0xe0])),
        ("end before dtype", cut(45)),
        ("dtype is a fixstr", example(45, &[0xa3])),
        ("dtype is a str8", example(45, &[0xd9])),
        ("dtype is bin32", example(45, &[0xc6])),
        ("end within the length of dtype", cut(47)),
        ("dtype of 4 bytes, 3 are there", example(46, &[0, 0, 0, 4])),
        ("dtype of i32::MAX bytes", example(46, &[0x7f, 0xff, 0xff, 0xff])),
        ("dtype of -1 bytes", example(46, &[0xff; 4])),
        ("dtype is not UTF-8", example(51, &[0xff])),
        ("dtype has a NUL", example(52, &[0])),
        ("a byte is left", [&EXAMPLE[..], &[0]].concat()),
        ("bytes are left", EXAMPLE.repeat(2)),
        ("dtype is 2 bytes, one is left", example(46, &[0, 0, 0, 2])),
        (
            "marked 6, then neither dtype nor dtype_format",
            changed(EXAMPLE.to_vec(), &[(0, 0x96), (44, 0xc0)]),
        ),
        (
            "marked 6, and a fault before it can be told which",
            changed(EXAMPLE.to_vec(), &[(0, 0x96), (23, 0xd3)]),
        ),
        ("marked 6, end before it can be told which", example(0, &[0x96])[..44].to_vec()),
        ("marked 6, a dtype_format, end before dtype", example(0, &[0x96])[..45].to_vec()),
        ("six entries, dtype cut short", six[..six.len() - 1].to_vec()),
        ("marked 5, but with a dtype", example(0, &[0x95])),
    ];
    let mut lines = String::new();
    for (name, bytes) in cases {
        let error = from_slice::<Meta>(bytes).unwrap_err();
        line(&mut lines, name, &error);
        // The error is the same for every type, with one exception: a type that ignores the dtype accepts a dtype that
        // is not UTF-8.
        let any = from_slice::<serde::de::IgnoredAny>(bytes).err().map(|any| any.to_string());
        assert_eq!(any, Some(error.to_string()).filter(|_| error.kind() != ErrorKind::Utf8), "{name}");
    }
    crate::common::snapshot("errors_malformed", &lines);
}

#[derive(Debug, Deserialize, Serialize)]
struct Swapped {
    version: u8,
    ndim: u8,
    shape: [u64; 2],
    blockshape: [u32; 2],
    chunkshape: [u32; 2],
    dtype_format: u8,
    dtype: String,
}

/// Version 1 of the metalayer exists only as a sketch in the draft specification. It has array16 markers, and up to 32
/// dimensions.
#[test]
fn from_slice_names_another_version_in_its_error() {
    let sixteen = || to_vec(&crate::common::meta_of_rank(16, "<i4")).unwrap();
    for (bytes, says) in [
        (changed(sixteen(), &[(1, 1), (2, 20)]), "byte 2: ndim is 20, but must be 0 to 16"),
        (
            changed(sixteen(), &[(1, 1), (3, 0xdc)]),
            "byte 3: expected 16 dimensions (0xa0) for shape, found array16 (0xdc)",
        ),
        (
            changed(sixteen(), &[(0, 0x96), (1, 1), (3, 0xdc)]),
            "byte 3: expected 16 dimensions (0xa0) for shape, found array16 (0xdc)",
        ),
        (
            changed(sixteen(), &[(0, 0x98), (1, 1)]),
            "byte 0: expected an array of 7, 6 or 5 (0x97, 0x96 or 0x95), found array of 8 (0x98)",
        ),
        (
            [changed(sixteen(), &[(1, 1)]), vec![0]].concat(),
            &format!("byte {}: 1 byte is left after the metalayer", sixteen().len()),
        ),
    ] {
        let says = format!("{says}; version is 1, but only version 0 is known");
        assert_eq!(from_slice::<Meta>(&bytes).unwrap_err().to_string(), says);
        assert_eq!(from_slice::<serde_json::Value>(&bytes).unwrap_err().to_string(), says);
        let mut fault = None;
        dump::metalayer(&bytes).rows(|row| {
            fault = row.fault.map(ToString::to_string);
            ControlFlow::Continue(())
        });
        let fault = fault.unwrap();
        assert!(says.ends_with(&fault) && fault.ends_with("only version 0 is known"), "{fault}");
    }
    // A metalayer of another version is read if its bytes have the layout of version 0. But the meaning of its numbers
    // is not known.
    let meta: Meta = from_slice(&changed(sixteen(), &[(1, 1)])).unwrap();
    assert_eq!(meta.version(), 1);
    // A metalayer with only three entries has no version, so its error does not name one.
    let error = from_slice::<Meta>(&example(0, &[0x93, 1])).unwrap_err();
    assert!(!error.to_string().contains("version"), "{error}");
}

#[test]
fn from_slice_says_what_is_there_to_a_type_that_takes_something_else() {
    type Of<S> = (u8, u8, S, [u32; 2], [u32; 2], u8, String);
    type Rank3 = (u8, u8, [u64; 3], [u32; 3], [u32; 3], u8, String);
    let bytes = EXAMPLE;
    let mut lines = String::new();
    macro_rules! case {
        ($name:expr, $type:ty, $bytes:expr) => {
            line(&mut lines, $name, &from_slice::<$type>($bytes).map(drop).unwrap_err());
        };
    }
    case!("five entries of seven", (u8, u8, [u64; 2], [u32; 2], [u32; 2]), &bytes);
    case!("a struct of five, the input has seven", crate::common::Five, &bytes);
    case!("a struct of six, the input has seven", crate::common::Six, &bytes);
    case!("a struct of seven, the input has five", crate::common::Seven, &to_vec(&five()).unwrap());
    case!("a struct of six without a chunkshape", WithoutChunkshape, &bytes);
    case!("three dimensions of two", Rank3, &bytes);
    case!("a negative dimension into u32", Of<[u64; 2]>, &example(28, &[0xd2, 0xff, 0xff, 0xff, 0xff]));
    case!("300 into i8", Of<[i8; 2]>, &example(20, &[1, 0x2c]));
    case!("a dimension of 3 into bool", (u8, u8, [bool; 2], (), (), u8, String), &bytes);
    case!("two fields are swapped", Swapped, &bytes);
    case!("two fields are swapped, and there is an alias", SwappedAlias, &bytes);
    case!("a struct that refuses itself when it is whole", Whole, &bytes);
    case!("a type with a will of its own", (u8, u8, [u64; 2], [u32; 2], [u32; 2], u8, Picky), &bytes);
    crate::common::snapshot("errors_of_types_reading", &lines);
}

#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "reading fails")]
struct WithoutChunkshape {
    version: u8,
    ndim: u8,
    shape: [u64; 2],
    blockshape: [u32; 2],
    dtype_format: u8,
    dtype: String,
}

#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "reading fails")]
struct SwappedAlias {
    version: u8,
    ndim: u8,
    #[serde(alias = "dims")]
    shape: [u64; 2],
    blocks: [u32; 2],
    chunks: [u32; 2],
    dtype_format: u8,
    dtype: String,
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "crate::common::Seven")]
struct Whole;

impl TryFrom<crate::common::Seven> for Whole {
    type Error = &'static str;

    fn try_from(seven: crate::common::Seven) -> Result<Self, Self::Error> {
        if seven.ndim == 3 { Ok(Whole) } else { Err("expected 3 dimensions") }
    }
}

#[derive(Debug)]
struct Picky;

impl<'de> serde::Deserialize<'de> for Picky {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dtype = <&str as serde::Deserialize>::deserialize(deserializer)?;
        Err(serde::de::Error::custom(format_args!("{dtype} is too small")))
    }
}

impl serde::Serialize for Picky {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("not today"))
    }
}

#[expect(clippy::too_many_lines, reason = "one list of cases")]
#[test]
fn to_vec_names_a_value_that_does_not_fit_with_its_range() {
    let mut lines = String::new();
    let mut case = |name: &str, result: Result<Vec<u8>, Error>| line(&mut lines, name, &result.unwrap_err());
    let dims = [1, 2];
    case("version 128", to_vec(&(128, 2, dims, dims, dims)));
    case("version -1", to_vec(&(-1, 2, dims, dims, dims)));
    case("ndim 17", to_vec(&(0, 17, dims, dims, dims)));
    case("ndim 128", to_vec(&(0, 128, dims, dims, dims)));
    case("ndim 256", to_vec(&(0, 256, dims, dims, dims)));
    case("ndim -1", to_vec(&(0, -1, dims, dims, dims)));
    case("shape u64::MAX", to_vec(&(0, 2, [1, u64::MAX], dims, dims)));
    case("shape u128::MAX", to_vec(&(0, 2, [1, u128::MAX], dims, dims)));
    case("shape u64::MAX of an i128", to_vec(&(0, 2, [1, i128::from(u64::MAX)], dims, dims)));
    case("shape i128::MIN", to_vec(&(0, 2, [1, i128::MIN], dims, dims)));
    case("chunkshape 2^31", to_vec(&(0, 2, dims, [2_147_483_648_u32, 1], dims)));
    case("blockshape -2^31 - 1", to_vec(&(0, 2, dims, dims, [1, -2_147_483_649_i64])));
    case("shape of 3", to_vec(&(0, 2, [1, 2, 3], dims, dims)));
    case("chunkshape of 1", to_vec(&(0, 2, dims, [1], dims)));
    case("blockshape of 300", to_vec(&(0, 2, dims, dims, vec![1; 300])));
    case("dtype_format 128", to_vec(&(0, 2, dims, dims, dims, 128, "<i4")));
    case("dtype with NUL", to_vec(&(0, 2, dims, dims, dims, 0, "<i\0")));
    case("dtype of bytes that are not UTF-8", to_vec(&(0, 2, dims, dims, dims, 0, Bytes::new(b"<i\xff"))));
    case("dtype as a plain slice", to_vec(&(0, 2, dims, dims, dims, 0, b"<i4")));
    case("dtype refuses itself", to_vec(&(0, 2, dims, dims, dims, 0, Picky)));
    case("a shape of floats", to_vec(&(0, 2, [1.0, 2.0], dims, dims)));
    case("a missing dtype", to_vec(&(0, 2, dims, dims, dims, 0, None::<&str>)));
    case("4 entries", to_vec(&(0, 2, dims, dims)));
    case("8 entries", to_vec(&(0, 2, dims, dims, dims, 0, "<i4", 0)));
    case("one entry of five that were said", to_vec(&Liar { says: 5, gives: 1 }));
    case("six entries of five that were said", to_vec(&Liar { says: 5, gives: 6 }));
    let swapped: Swapped = Swapped {
        version: 0,
        ndim: 2,
        shape: [3, 5],
        blockshape: [1, 2],
        chunkshape: [2, 3],
        dtype_format: 0,
        dtype: "<i4".into(),
    };
    case("two fields are swapped", to_vec(&swapped));
    case("a sequence that does not say how many entries it has", to_vec(&Unsized(std::iter::repeat(0))));
    case("a value that changes while it is written", to_vec(&Fickle::new([(0, 700), (0, 600)])));

    let into = |size| to_slice(&seven(), &mut vec![0; size]).map(|bytes| bytes.to_vec());
    case("a buffer of 52 bytes", into(52));
    case("a buffer of no bytes", into(0));
    let with_layout = |value: &dyn Fn(&mut Serializer) -> Result<(), Error>, layout| {
        value(&mut Serializer::new(&mut [0; 99]).with_layout(layout)).map(|()| vec![])
    };
    case("seven entries as caterva", with_layout(&|to| seven().serialize(to), Layout::Caterva));
    let meta = Meta::new(Shapes { shape: &[6], chunkshape: &[4], blockshape: &[2] }, "|u1").unwrap();
    case("a Meta as another layout", with_layout(&|to| meta.serialize(to), Layout::B2ndMismarked));
    case(
        "a Meta of 17 dimensions",
        Meta::new(Shapes { shape: &[1; 17], chunkshape: &[1; 17], blockshape: &[1; 17] }, "").map(|_| vec![]),
    );
    case(
        "a Meta of 300 dimensions",
        Meta::new(Shapes { shape: &[1; 300], chunkshape: &[], blockshape: &[] }, "").map(|_| vec![]),
    );
    case(
        "a Meta of two ranks",
        Meta::new(Shapes { shape: &[1], chunkshape: &[1, 1], blockshape: &[1] }, "").map(|_| vec![]),
    );
    case(
        "a Meta with a NUL",
        Meta::new(Shapes { shape: &[1], chunkshape: &[1], blockshape: &[1] }, "\0").map(|_| vec![]),
    );
    let caterva = meta.with_layout(Layout::Caterva).unwrap();
    case("a Meta without a dtype", caterva.with_layout(Layout::B2ndSix).map(|_| vec![]));
    crate::common::snapshot("errors_writing", &lines);
}

/// A sequence that claims a length of `says`, but has `gives` elements.
struct Liar {
    says: usize,
    gives: usize,
}

impl serde::Serialize for Liar {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeSeq as _;
        let mut entries = serializer.serialize_seq(Some(self.says))?;
        for entry in 0..self.gives {
            if entry < 2 {
                entries.serialize_element(&0)?;
            } else {
                entries.serialize_element(&[0; 0])?;
            }
        }
        entries.end()
    }
}

/// A value with two forms. Each form has a number of dimensions and a length of the dtype. The first call of
/// `serialize` writes the first form, and each later call the second.
struct Fickle {
    forms: [(u8, usize); 2],
    calls: std::cell::Cell<usize>,
}

impl Fickle {
    fn new(forms: [(u8, usize); 2]) -> Self {
        Self { forms, calls: std::cell::Cell::default() }
    }

    fn form((ndim, length): (u8, usize)) -> (u8, u8, Vec<u64>, Vec<u32>, Vec<u32>, u8, String) {
        let dimensions = usize::from(ndim);
        (0, ndim, vec![1; dimensions], vec![1; dimensions], vec![1; dimensions], 0, "x".repeat(length))
    }
}

impl serde::Serialize for Fickle {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::form(self.forms[self.calls.replace(1)]).serialize(serializer)
    }
}

#[test]
fn to_vec_rejects_a_value_that_changes_or_writes_one_of_its_forms() {
    // Each dimension has 19 bytes. With these lengths of the dtype, some forms with different numbers of dimensions
    // have the same number of bytes.
    let dtypes = [0, 3, 16, 17, 17 + 19, 36, 36 + 19, 700, 700 + 19, 700 + 2 * 19];
    let forms: Vec<_> = (0..3).flat_map(|ndim| dtypes.map(|length| (ndim, length))).collect();
    let (mut written, mut rejected) = (0, 0);
    for &first in &forms {
        for &second in &forms {
            let value = Fickle::new([first, second]);
            match to_vec(&value) {
                Ok(bytes) => {
                    let one_of = [first, second].map(|form| to_vec(&Fickle::form(form)).unwrap());
                    assert!(one_of.contains(&bytes), "{first:?}, then {second:?}: {bytes:02x?}");
                    written += 1;
                }
                Err(error) => {
                    let text = "the value changed between two calls of its `Serialize`";
                    assert_eq!(error.to_string(), text, "{first:?}, then {second:?}");
                    rejected += 1;
                }
            }
        }
    }
    assert!(written > forms.len() && rejected > 0, "{written} written, {rejected} rejected");
}

#[test]
fn from_slice_names_a_field_out_of_its_place() {
    fn fault<'de, T: serde::Deserialize<'de>>(bytes: &'de [u8]) -> String {
        from_slice::<T>(bytes).map(drop).unwrap_err().to_string()
    }
    #[derive(Deserialize)]
    #[allow(dead_code, reason = "reading fails")]
    struct ShortNames {
        version: u8,
        ndim: u8,
        shape: [u64; 2],
        blocks: [u32; 2],
        chunks: [u32; 2],
    }
    #[derive(Deserialize)]
    #[allow(dead_code, reason = "reading fails")]
    struct WithAliases {
        version: u8,
        ndim: u8,
        #[serde(alias = "a", alias = "b", alias = "c")]
        shape: [u64; 2],
        block_shape: [u32; 2],
        chunk_shape: [u32; 2],
        dtype_format: u8,
        dtype: String,
    }
    let bytes = EXAMPLE;
    let short = to_vec(&five()).unwrap();
    let order = "fields must follow the order version, ndim, shape, chunkshape, blockshape";
    let seven = format!("in layout b2nd {order}, dtype_format, dtype");
    let order = &*format!("in layout caterva {order}");
    let cases = [
        (fault::<Swapped>(&bytes), "field `chunkshape` comes after `blockshape`", &*seven),
        (fault::<Swapped>(&short), "field `chunkshape` comes after `blockshape`", order),
        (fault::<ShortNames>(&short), "field `chunks` comes after `blockshape`", order),
        (fault::<WithAliases>(&bytes), "field `chunk_shape` comes after `blockshape`", &seven),
        (fault::<WithAliases>(&short), "field `chunk_shape` comes after `blockshape`", order),
    ];
    for (found, what, order) in cases {
        assert_eq!(found, format!("byte 0: {what}: {order}"));
    }
}

#[test]
fn dump_shows_the_bytes_up_to_a_fault() {
    let mut text = String::new();
    let cases = [example(28, &[0xd3]), cut(30), cut(4), example(2, &[17]), example(51, &[0xff]), vec![0xc1]];
    for bytes in cases.iter().chain([&[&EXAMPLE[..], &[1, 2, 3]].concat(), &vec![]]) {
        writeln!(text, "{}", dump::metalayer(bytes)).unwrap();
    }
    crate::common::snapshot("dump_of_faults", &text);
}

/// The first `count` lines of a dump. After them, the closure returns `Break`, which ends the dump.
fn lines(bytes: &[u8], count: usize) -> Vec<String> {
    let mut lines = Vec::new();
    dump::metalayer(bytes).rows(|row| {
        lines.push(row.to_string());
        if lines.len() < count { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    lines
}

#[test]
fn dump_ends_where_its_function_or_writer_does() {
    for bytes in [EXAMPLE.to_vec(), example(28, &[0xd3])] {
        let all = lines(&bytes, usize::MAX);
        assert!(all.len() > 5);
        for count in 1..=all.len() {
            assert_eq!(lines(&bytes, count), all[..count]);
        }
        shows_as_much_as_fits(&dump::metalayer(&bytes));
    }
}

#[test]
fn error_display_returns_the_error_of_its_writer() {
    shows_as_much_as_fits(&from_slice::<Meta>(&example(28, &[0xd3])).unwrap_err());
    shows_as_much_as_fits(&to_vec(&(0, 2, [1.0, 2.0], [1, 2], [1, 2])).unwrap_err());
}

#[test]
fn dump_shows_or_hints_at_the_bytes_after_a_fault() {
    // A line of a dump shows at most nine bytes.
    for (left, kind) in [(9, ""), (10, "…")] {
        let bytes = [0xc1; 10];
        let mut rows = Vec::new();
        dump::metalayer(&bytes[..left]).rows(|row| {
            rows.push((row.bytes.len(), row.kind.to_string(), row.fault.is_some()));
            ControlFlow::Continue(())
        });
        assert_eq!(rows, [(9, kind.to_owned(), true)]);
    }
}

#[test]
fn dump_has_a_column_for_its_last_offset() {
    let meta =
        Meta::new(Shapes { shape: &[6], chunkshape: &[4], blockshape: &[2] }, &"x".repeat(20_000)).unwrap();
    let text = dump::metalayer(&to_vec(&meta).unwrap()).to_string();
    assert!(text.starts_with("    0  97 "), "{}", &text[..40]);
    assert!(text.lines().last().unwrap().starts_with("200"));
}

#[test]
fn error_has_a_kind_and_a_place() {
    let error = from_slice::<Meta>(&example(28, &[0xd3])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Marker);
    assert_eq!(
        (error.entry(), error.dimension(), error.offset()),
        (Some(Entry::Chunkshape), Some(1), Some(28))
    );
    assert!(error.source().is_none());
    assert_eq!(format!("{error:?}"), error.to_string());
    let fields = format!("{error:#?}");
    assert!(fields.contains("kind: Marker") && fields.contains("byte 28: expected int32"), "{fields}");

    let error = to_vec(&(0, 1, [u64::MAX], [1], [1])).unwrap_err();
    assert_eq!((error.entry(), error.dimension(), error.offset()), (Some(Entry::Shape), Some(0), None));
}

#[cfg(feature = "std")]
#[test]
fn from_reader_and_to_writer_return_the_error_of_the_reader_or_writer() {
    struct Failing;
    impl io::Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is on fire"))
        }
    }
    impl io::Write for Failing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is full"))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let error = b2nd_serde::from_reader::<_, Meta>(Failing).unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Io, "the reader failed"));
    assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("the disk is on fire"));
    assert_eq!(format!("{error:?}"), "the reader failed: the disk is on fire");
    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::Other);
    let error = b2nd_serde::to_writer(Failing, &seven()).unwrap_err();
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Io, "the writer failed"));
    assert_eq!(error.source().map(ToString::to_string).as_deref(), Some("the disk is full"));
}

#[cfg(feature = "std")]
#[test]
fn io_error_from_error_has_a_fitting_kind() {
    let cut_short = from_slice::<Meta>(&cut(20)).unwrap_err();
    assert_eq!(io::Error::from(cut_short).kind(), io::ErrorKind::UnexpectedEof);
    let malformed = from_slice::<Meta>(&example(4, &[0])).unwrap_err();
    let text = malformed.to_string();
    let error = io::Error::from(malformed);
    assert_eq!((error.kind(), error.to_string()), (io::ErrorKind::InvalidData, text));
}
