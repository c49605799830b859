//! Reads and writes items of NumPy with typical Rust types of users.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::num::NonZeroU8;
use std::time::Duration;

use allocation_counter::measure;
use b2nd_serde::Dtype;
use half::f16;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

fn dtype(text: &str) -> Dtype {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn read<'de, T: Deserialize<'de>>(text: &str, item: &'de [u8]) -> T {
    dtype(text).read_item(item).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Asserts that the item is read as the value, and that the value is written as the same item.
#[track_caller]
fn both<'de, T: Debug + PartialEq + Deserialize<'de> + Serialize>(text: &str, item: &'de [u8], value: &T) {
    assert_eq!(&read::<T>(text, item), value, "{text}");
    let mut written = vec![0xaa; item.len()];
    dtype(text).write_item(value, &mut written).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(written, item, "{text}");
}

/// Reads the item as a `T`, which must fail, and returns the error message.
fn unread<'de, T: Debug + Deserialize<'de>>(text: &str, item: &'de [u8]) -> String {
    dtype(text).read_item::<T>(item).unwrap_err().to_string()
}

/// Writes the value as an item, which must fail, and returns the error message.
fn unwritten(text: &str, value: impl Serialize) -> String {
    let dtype = dtype(text);
    dtype.write_item(&value, &mut vec![0; dtype.item_size()]).unwrap_err().to_string()
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Point {
    x: i16,
    y: f32,
}

const POINT: &str = "[('x', '<i2'), ('y', '>f4')]";
const POINT_BYTES: [u8; 6] = [0xfe, 0xff, 0x3f, 0x80, 0, 0];
const POINT_VALUE: Point = Point { x: -2, y: 1.0 };

#[test]
fn read_item_and_write_item_take_scalars_as_values() {
    both("?", &[1], &true);
    both("i1", &[0xff], &-1_i8);
    both("<u2", &[1, 2], &0x201_u16);
    both(">u2", &[1, 2], &0x102_u64);
    both(">i8", &[0, 0, 0, 0, 0, 0, 0, 9], &9_u8);
    both("<u8", &[0xff; 8], &u64::MAX);
    both("<u8", &[0xff; 8], &u128::from(u64::MAX));
    both("<i4", &[0xff; 4], &-1_i128);
    both("u1", &[7], &NonZeroU8::new(7).unwrap());
    both("<M8[ns]", &i64::MIN.to_le_bytes(), &i64::MIN);
    both(">m8[s]", &[0, 0, 0, 0, 0, 0, 1, 0], &256_u16);
    both("<f2", &[0, 0x3e], &1.5_f32);
    both(">f2", &[0x3e, 0], &f16::from_f32(1.5));
    both("<f4", &1.5_f32.to_le_bytes(), &1.5_f32);
    both(">f8", &0.1_f64.to_be_bytes(), &0.1_f64);
    both("<c8", &[[0, 0, 0x80, 0x3f], [0, 0, 0, 0xc0]].concat(), &(1.0_f32, -2.0_f32));
    both(">c16", &[1.0_f64.to_be_bytes(), 2.0_f64.to_be_bytes()].concat(), &[1.0_f64, 2.0]);
    both("<i4", &[5, 0, 0, 0], &Some(5));
    assert_eq!(Some(read::<f64>("<f4", &0.1_f32.to_le_bytes())), Some(f64::from(0.1_f32)));
    assert_eq!(Some(read::<f64>(">f2", &[0x3e, 0])), Some(1.5));
    assert!(read::<bool>("?", &[2]));
}

#[test]
fn read_item_and_write_item_take_texts_and_bytes_as_strings_and_bytes() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Kind {
        Star,
        #[serde(rename = "gx")]
        Galaxy,
    }
    both("S4", b"ab\0\0", &"ab");
    both("S12", b"\xc3\xa9 1234567890"[..12].as_ref(), &"é 123456789".to_owned());
    both("S4", b"a\0b\0", &Cow::Borrowed("a\0b"));
    both("S2", b"x\0", &'x');
    both("<U2", &[0xe9, 0, 0, 0, 0, 0, 0, 0], &"é".to_owned());
    both(">U2", &[0, 1, 0xf6, 0, 0, 0, 0, 0x21], &"\u{1f600}!".to_owned());
    both("S4", b"Star", &Kind::Star);
    both("<U2", &[b'g', 0, 0, 0, b'x', 0, 0, 0], &Kind::Galaxy);
    both("S4", &[0xff, 1, 0, 0], &vec![0xff_u8, 1]);
    both("S4", &[0xff, 1, 0, 0], &[0xff_u8, 1, 0, 0]);
    both("V3", &[0xff, 1, 0], &[0xff_u8, 1, 0]);
    both("V3", &[0xff, 1, 0], &vec![0xff_u8, 1, 0]);
    both("bfloat16", &[1, 2], &serde_bytes::Bytes::new(&[1, 2]));
    both("S3", &[0xff, 1, 0], &serde_bytes::Bytes::new(&[0xff, 1]));
    both("<f16", &[7; 16], &serde_bytes::ByteBuf::from([7; 16]));
}

#[test]
fn read_item_and_write_item_take_structs_as_structs_tuples_and_maps() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Wrapped(Point);
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Pair(i64, f32);
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Swapped {
        y: f32,
        #[serde(rename = "x")]
        across: i32,
        #[serde(skip)]
        note: String,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Defaults {
        x: i16,
        #[serde(default, skip_serializing)]
        missing: u8,
        y: f32,
        #[serde(skip_serializing_if = "Option::is_none")]
        absent: Option<u8>,
    }
    both(POINT, &POINT_BYTES, &POINT_VALUE);
    both(POINT, &POINT_BYTES, &Wrapped(POINT_VALUE));
    both(POINT, &POINT_BYTES, &Pair(-2, 1.0));
    both(POINT, &POINT_BYTES, &(-2, 1.0_f32));
    both(POINT, &POINT_BYTES, &Swapped { across: -2, y: 1.0, note: String::new() });
    both(POINT, &POINT_BYTES, &Defaults { x: -2, missing: 0, y: 1.0, absent: None });
    both(POINT, &POINT_BYTES, &json!({"x": -2, "y": 1.0}).as_object().map(|_| POINT_VALUE));
    both("[('a', 'u1'), ('b', 'u1')]", &[1, 2], &HashMap::from([("a".to_owned(), 1), ("b".to_owned(), 2)]));
    both("[('a', 'u1'), ('b', 'u1')]", &[1, 2], &vec![1, 2]);
    both("[]", &[], &HashMap::<String, u8>::new());
    both(
        "[('secs', '<u8'), ('nanos', '<u4')]",
        &[[1; 8].as_slice(), &[0; 4]].concat(),
        &Duration::from_secs(u64::from_le_bytes([1; 8])),
    );
    both("[(('a title', 'n'), 'u1')]", &[9], &HashMap::from([("n".to_owned(), 9)]));
    let (x, _): (i16, IgnoredAny) = read(POINT, &POINT_BYTES);
    assert_eq!(x, -2);

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Titled {
        #[serde(rename = "a title")]
        n: u8,
        m: u8,
    }
    both("[('m', 'u1'), (('a title', 'n'), 'u1')]", &[8, 9], &Titled { n: 9, m: 8 });
}

#[test]
fn read_item_gives_structs_as_maps_to_types_that_ask_for_any_value() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Flat {
        x: i16,
        #[serde(flatten)]
        rest: BTreeMap<String, f32>,
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Any {
        Text(String),
        Point(Point),
    }
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "kind")]
    enum Tagged {
        A { n: u8 },
        B { n: i8 },
    }
    both(POINT, &POINT_BYTES, &Flat { x: -2, rest: BTreeMap::from([("y".into(), 1.0)]) });
    both(POINT, &POINT_BYTES, &Any::Point(POINT_VALUE));
    both("[('kind', 'S1'), ('n', 'i1')]", b"B\xff", &Tagged::B { n: -1 });
    assert_eq!(read::<Json>(POINT, &POINT_BYTES), json!({"x": -2, "y": 1.0}));
}

#[test]
fn read_item_and_write_item_take_subarrays_and_nested_structs() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Line<'a> {
        #[serde(borrow)]
        name: &'a str,
        ends: [Point; 2],
        flags: (u8, bool),
    }
    let text = format!("[('name', 'S2'), ('ends', {POINT}, (2,)), ('flags', [('f0', 'u1'), ('f1', '?')])]");
    let item = [b"l\0", &POINT_BYTES[..], &POINT_BYTES, &[3, 1]].concat();
    both(&text, &item, &Line { name: "l", ends: [POINT_VALUE, POINT_VALUE], flags: (3, true) });
    both("('u1', (2, 3))", &[1, 2, 3, 4, 5, 6], &[[1, 2, 3], [4, 5, 6]]);
    both("('u1', (2, 3))", &[1, 2, 3, 4, 5, 6], &vec![(1, 2, 3), (4, 5, 6)]);
    both("('u1', (2, 0))", &[], &vec![Vec::<u8>::new(); 2]);
    // If an item has padding, a read ignores it, and a write fills it with zeros.
    let padded = "{'names': ['b', 'a'], 'formats': ['>u2', 'u1'], 'offsets': [4, 1], 'itemsize': 8}";
    assert_eq!(read::<(u16, u8)>(padded, &[9, 7, 9, 9, 1, 2, 9, 9]), (0x102, 7));
    both(padded, &[0, 7, 0, 0, 1, 2, 0, 0], &(0x102, 7));
}

#[derive(Debug, Deserialize, Serialize)]
struct X {
    x: i16,
}

#[derive(Debug, Deserialize, Serialize)]
struct Xyz {
    x: i16,
    y: f32,
    z: u8,
}

/// Compares messages with the snapshot of this name.
fn snapshot(name: &str, messages: &[String]) {
    insta::with_settings!({
        snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots"),
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, messages.join("\n"));
    });
}

#[test]
fn read_item_loses_nothing_without_an_error_that_names_the_field() {
    #[derive(Debug, Deserialize)]
    struct Narrow {
        #[expect(dead_code, reason = "never read")]
        x: u8,
        #[expect(dead_code, reason = "never read")]
        y: f32,
    }
    let messages = [
        unread::<f32>("<f8", &[0; 8]),
        unread::<f64>("<i4", &[0; 4]),
        unread::<u8>("?", &[1]),
        unread::<Narrow>(POINT, &POINT_BYTES),
        unread::<X>(POINT, &POINT_BYTES),
        unread::<Xyz>(POINT, &POINT_BYTES),
        unread::<(i16,)>(POINT, &POINT_BYTES),
        unread::<[u8; 3]>("('u1', (2,))", &[1, 2]),
        unread::<Vec<i8>>("('u1', (2,))", &[1, 200]),
        unread::<&str>("S2", &[b'a', 0xff]),
        unread::<String>("<U2", &[b'a', 0, 0, 0, 0, 0xd8, 0, 0]),
        unread::<&str>("<U1", &[b'a', 0, 0, 0]),
        unread::<()>("u1", &[1]),
        unread::<u64>("O", &[0; 8]),
        unread::<u64>("<u8", &[0; 7]),
        unread::<Json>("[('a', [('b', 'O')])]", &[0; 8]),
        unread::<Json>("('u1', (2147483647, 0))", &[]),
    ];
    snapshot("errors_of_items_read", &messages);
}

#[test]
fn write_item_loses_nothing_without_an_error_that_names_the_field() {
    let messages = [
        unwritten("i1", 300),
        unwritten("<u8", -1),
        unwritten("<u8", u128::MAX),
        unwritten("<f4", 0.5_f64),
        unwritten("<f2", 0.1_f32),
        unwritten("S2", "abc"),
        unwritten("S4", "ab\0"),
        unwritten("S4", vec![1_u8, 0]),
        unwritten("<U1", "ab"),
        unwritten("V2", [1_u8]),
        unwritten("u1", None::<u8>),
        unwritten("u1", "1"),
        unwritten("u1", Ok::<u8, u8>(1)),
        unwritten("<i4", 0.5_f32),
        unwritten(POINT, X { x: 1 }),
        unwritten(POINT, Xyz { x: 1, y: 1.0, z: 1 }),
        unwritten(POINT, (1,)),
        unwritten(POINT, [(1, 2)]),
        unwritten(POINT, [1, 2, 3]),
        unwritten(POINT, HashMap::from([((), 1)])),
        unwritten(POINT, (40_000, 1.0_f32)),
    ];
    snapshot("errors_of_items_written", &messages);
}

#[test]
fn read_items_and_write_items_allocate_nothing_for_fixed_types() {
    let dtype = dtype("[('ra', '<f8'), ('name', 'S8'), ('flags', [('f0', 'u1'), ('f1', '?')])]");
    type Row<'a> = (f64, &'a str, (u8, bool));
    let row: Row<'_> = (1.5, "Vega", (3, true));
    let mut items = vec![0; 1000 * dtype.item_size()];
    let rows = vec![row; 1000];
    let written = measure(|| dtype.write_items(&rows, &mut items).unwrap()).count_total;
    let one = measure(|| assert!(dtype.read_item::<Row<'_>>(&items[..18]).is_ok())).count_total;
    let all = measure(|| assert!(dtype.read_items(&items).unwrap().all(|read| read == Ok(row)))).count_total;
    assert_eq!((written, all), (one, one), "only the plan of the dtype is allocated");
}

#[test]
fn write_items_takes_values_of_alternating_types() {
    // `write_items` remembers the order of the fields of one item. It must not use this order for the next item, which
    // has other fields.
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Either {
        Swapped { b: u8, a: u8 },
        Pair(u8, u8),
    }
    let dtype = dtype("[('a', 'u1'), ('b', 'u1')]");
    let mut items = [0; 8];
    let values = [
        Either::Swapped { b: 2, a: 1 },
        Either::Pair(1, 2),
        Either::Swapped { b: 2, a: 1 },
        Either::Pair(1, 2),
    ];
    dtype.write_items(&values, &mut items).unwrap();
    assert_eq!(items, [1, 2, 1, 2, 1, 2, 1, 2]);
    let error = dtype.write_items([1], &mut items).unwrap_err();
    assert_eq!(error.to_string(), "1 item has 2 bytes, found 8");
}

/// The items borrow only from the bytes, not from the dtype.
#[test]
fn read_items_gives_text_that_outlives_the_dtype() {
    fn names(items: &[u8]) -> Vec<&str> {
        let local = dtype("S3");
        local.read_items(items).unwrap().collect::<Result<_, _>>().unwrap()
    }
    assert_eq!(names(b"abcde\0"), ["abc", "de"]);
}

#[test]
fn write_items_rejects_an_iterator_that_gives_another_number_of_values_than_it_says() {
    /// An iterator that says how many values it has, and gives another number.
    struct Said {
        says: usize,
        gives: std::ops::Range<u8>,
    }
    impl Iterator for Said {
        type Item = u8;
        fn next(&mut self) -> Option<u8> {
            self.gives.next()
        }
        fn size_hint(&self) -> (usize, Option<usize>) {
            (self.says, Some(self.says))
        }
    }
    impl ExactSizeIterator for Said {}

    let write = |gives| dtype("u1").write_items(Said { says: 3, gives }, &mut [0; 3]);
    write(7..10).unwrap();
    for (gives, says) in [(7..9, "gave 2"), (7..7, "gave 0"), (7..11, "gave more than 3")] {
        let error = write(gives).unwrap_err().to_string();
        assert_eq!(error, format!("the iterator said that it has 3 values, but {says}"));
    }
}

thread_local! {
    static READ: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// A byte that counts how often it is deserialized. It cannot be cloned.
#[derive(Debug, PartialEq)]
struct Counted(u8);

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        READ.set(READ.get() + 1);
        u8::deserialize(deserializer).map(Counted)
    }
}

#[test]
fn items_nth_count_and_last_do_not_deserialize_the_items_they_skip() {
    let (dtype, bytes) = (dtype("u1"), [10, 11, 12, 13, 14]);
    let items = || dtype.read_items::<Counted>(&bytes).unwrap();
    let reads = |run: &dyn Fn()| {
        let before = READ.get();
        run();
        READ.get() - before
    };
    assert_eq!(reads(&|| assert_eq!(items().nth(3), Some(Ok(Counted(13))))), 1);
    assert_eq!(reads(&|| assert_eq!(items().nth(5), None)), 0);
    assert_eq!(reads(&|| assert_eq!(items().nth(usize::MAX), None)), 0);
    assert_eq!(reads(&|| assert_eq!(items().last(), Some(Ok(Counted(14))))), 1);
    assert_eq!(reads(&|| assert_eq!(items().count(), 5)), 0);
    assert_eq!(reads(&|| assert_eq!(items().skip(1).step_by(2).count(), 2)), 2);

    // Each of these methods leaves the iterator at the same place as a loop over `next`.
    let mut some = items();
    assert_eq!((some.next(), some.nth(1), some.len()), (Some(Ok(Counted(10))), Some(Ok(Counted(12))), 2));
    assert_eq!((some.clone().next(), some.nth(2), some.len()), (Some(Ok(Counted(13))), None, 0));
    assert_eq!((some.next(), some.last()), (None, None));

    // The number of the item in an error counts the skipped items.
    let error = dtype.read_items::<bool>(&bytes).unwrap().nth(2).unwrap().unwrap_err();
    assert_eq!(error.item(), Some(2));
}
