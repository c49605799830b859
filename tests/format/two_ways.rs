//! The code that passes entries to a visitor is compiled twice: for ordinary metalayers, and for all metalayers. Both
//! copies call the same methods of a visitor and return the same errors, so a Rust type cannot tell which one is used.

#![cfg(feature = "alloc")]

use std::cell::Cell;
use std::fmt;

use b2nd_serde::{Deserializer, Error, Layout, Meta, from_slice, take_from_slice, to_vec};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Error as _, IgnoredAny, SeqAccess, Visitor};

use crate::common::{BySeq, EXAMPLE, FromSeq, five, meta_of_rank, seven};

/// Reads an ordinary metalayer, and the same entries in layout `B2ndMismarked`, which is not ordinary: each with
/// `from_slice` and with a `Deserializer`.
fn read<T: DeserializeOwned>(bytes: &[u8]) -> [Result<T, Error>; 4] {
    assert_eq!(bytes[0], 0x97);
    let mut mismarked = bytes.to_vec();
    mismarked[0] = 0x96;
    let deserialize = |bytes| {
        let mut deserializer = Deserializer::new(bytes);
        let read = T::deserialize(&mut deserializer);
        // A metalayer that could not be read does not count.
        assert!(read.is_ok() || deserializer.offset() == 0);
        read
    };
    [from_slice(bytes), deserialize(bytes), from_slice(&mismarked), deserialize(&mismarked)]
}

/// A dimension whose visitor accepts only unsigned integers.
#[derive(Debug, PartialEq)]
struct Unsigned(u64);

impl<'de> Deserialize<'de> for Unsigned {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Only;
        impl Visitor<'_> for Only {
            type Value = Unsigned;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an unsigned integer")
            }

            fn visit_u64<E>(self, value: u64) -> Result<Unsigned, E> {
                Ok(Unsigned(value))
            }
        }
        deserializer.deserialize_u64(Only)
    }
}

#[test]
fn from_slice_and_deserializer_give_an_unsigned_integer_to_a_type_that_asks_for_one() {
    type Seven = (u8, u8, Vec<Unsigned>, Vec<u32>, Vec<u32>, u8, String);
    type Five = (u8, u8, Vec<Unsigned>, Vec<u32>, Vec<u32>);
    let expected = [3, 5].map(Unsigned);
    for value in read::<Seven>(&to_vec(&seven()).unwrap()) {
        assert_eq!(value.unwrap().2, expected);
    }
    assert_eq!(from_slice::<Five>(&to_vec(&five()).unwrap()).unwrap().2, expected);
    let negative = to_vec(&(0, 1, [-1], [1], [1], 0, "|u1")).unwrap();
    for value in read::<(u8, u8, [Unsigned; 1], [i32; 1], [i32; 1], u8, String)>(&negative) {
        let error = value.unwrap_err().to_string();
        assert!(error.contains("-1") && error.contains("shape[0]"), "{error}");
    }
}

/// A value that puts the text of each error into the text of a new error.
#[derive(Debug)]
struct Wrapped<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Wrapped<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer)
            .map(Wrapped)
            .map_err(|error| D::Error::custom(format_args!("mine: {error}")))
    }
}

/// An error of this crate has its place when the type gets it, so the type can put it into a text of its own.
#[test]
fn from_slice_and_deserializer_give_the_same_text_of_an_error_that_a_type_wraps() {
    fn says<T: DeserializeOwned + fmt::Debug>(text: &str) {
        let [first, others @ ..] = read::<T>(&EXAMPLE).map(Result::unwrap_err);
        assert_eq!(first.to_string(), text);
        for error in others {
            assert_eq!(error.to_string(), text);
            assert_eq!((error.entry(), error.offset()), (first.entry(), first.offset()), "{text}");
        }
    }
    type Shape<T> = (u8, u8, T, [u32; 2], [u32; 2], u8, String);
    type Chunkshape<T> = (u8, u8, [u64; 2], T, [u32; 2], u8, String);
    type Dtype<T> = (u8, u8, [u64; 2], [u32; 2], [u32; 2], u8, T);
    let three = "byte 3: shape has 2 dimensions, but the type takes 3";
    says::<Shape<[u64; 3]>>(three);
    says::<Shape<Wrapped<[u64; 3]>>>(&format!("byte 3: shape: mine: {three}"));
    says::<Wrapped<Shape<[u64; 3]>>>(&format!("mine: {three}"));
    let float = "byte 28: chunkshape[1] is an integer, but the type takes a float";
    says::<Chunkshape<(u32, f32)>>(float);
    says::<Chunkshape<(u32, Wrapped<f32>)>>(&format!("byte 28: chunkshape[1]: mine: {float}"));
    says::<Dtype<Wrapped<char>>>(
        "byte 45: dtype: mine: byte 45: dtype is a string, but the type takes a char",
    );
    says::<Dtype<Wrapped<u8>>>("byte 45: dtype: mine: invalid type: string \"<i4\", expected u8");
}

/// A visitor that reads all elements of a sequence, and then returns an error.
struct ToTheEnd;

impl<'de> Visitor<'de> for ToTheEnd {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while entries.next_element::<IgnoredAny>()?.is_some() {}
        Err(A::Error::custom("I like none of them"))
    }
}

/// A type that reads a sequence to its end, and then rejects it.
#[derive(Debug)]
struct Picky;

impl<'de> Deserialize<'de> for Picky {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ToTheEnd).map(|()| Self)
    }
}

/// A type that reads a tuple to its end, and then rejects it.
#[derive(Debug)]
struct PickyTuple;

impl<'de> Deserialize<'de> for PickyTuple {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple(7, ToTheEnd).map(|()| Self)
    }
}

#[test]
fn from_slice_and_deserializer_return_the_own_error_of_a_type_that_reads_all_entries() {
    let bytes = to_vec(&seven()).unwrap();
    let sequence = read::<Picky>(&bytes).map(Result::unwrap_err);
    let tuple = read::<PickyTuple>(&bytes).map(Result::unwrap_err);
    for error in sequence.into_iter().chain(tuple) {
        assert!(error.to_string().ends_with("I like none of them"), "{error}");
    }
}

/// A value, or the text of the error if it could not be read.
#[derive(Debug, PartialEq)]
struct Forgiving<T>(Result<T, String>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Forgiving<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(T::deserialize(deserializer).map_err(|error| error.to_string())))
    }
}

#[test]
fn from_slice_and_deserializer_give_the_text_of_an_error_to_a_type_that_catches_it() {
    type Caught =
        (Forgiving<f32>, Forgiving<bool>, [u64; 2], [Forgiving<i8>; 2], [u32; 2], u8, Forgiving<u8>);
    let bytes = to_vec(&(0, 2, [3, 5], [2, 300], [1, 2], 0, "<i4")).unwrap();
    let [float, boolean, byte, text] = [
        "byte 1: version is an integer, but the type takes a float",
        "invalid type: integer `2`, expected a boolean",
        "invalid value: integer `300`, expected i8",
        "invalid type: string \"<i4\", expected u8",
    ]
    .map(str::to_owned);
    for value in read::<Caught>(&bytes) {
        let (version, ndim, _, chunkshape, _, _, dtype) = value.unwrap();
        assert_eq!(version.0.as_ref(), Err(&float));
        assert_eq!(ndim.0.as_ref(), Err(&boolean));
        assert_eq!(chunkshape, [Forgiving(Ok(2)), Forgiving(Err(byte.clone()))]);
        assert_eq!(dtype.0.as_ref(), Err(&text));
    }
}

#[test]
fn from_slice_gives_a_meta_of_every_layout_to_a_type_that_catches_errors() {
    for &layout in Layout::ALL {
        let meta = meta_of_rank(5, "<i4").with_layout(layout).unwrap();
        let mut bytes = to_vec(&meta).unwrap();
        let expected = Forgiving(Ok(meta.clone()));
        assert_eq!(from_slice::<Forgiving<Meta>>(&bytes).unwrap(), expected, "{layout}");
        let mut deserializer = Deserializer::new(&bytes);
        assert_eq!(Forgiving::deserialize(&mut deserializer).unwrap(), expected, "{layout}");
        let length = bytes.len();
        bytes.push(0);
        let Forgiving(read) = from_slice::<Forgiving<Meta>>(&bytes).unwrap();
        assert_eq!(
            read.unwrap_err(),
            format!("byte {length}: 1 byte is left after the metalayer"),
            "{layout}"
        );
        let (Forgiving(read), rest) = take_from_slice(&bytes).unwrap();
        assert_eq!((read, rest), (Ok(meta), &[0][..]), "{layout}");
    }
    let bytes = &to_vec(&seven()).unwrap()[..20];
    let Forgiving(read) = from_slice::<Forgiving<Meta>>(bytes).unwrap();
    assert_eq!(read.unwrap_err(), from_slice::<Meta>(bytes).unwrap_err().to_string());
}

thread_local! {
    static HAS_FAILED: Cell<bool> = const { Cell::new(false) };
}

/// A type that returns an error when it is deserialized for the first time, but not later.
#[derive(Debug)]
struct Moody;

impl FromSeq for Moody {
    fn from_seq<'de, A: SeqAccess<'de>>(mut entries: A) -> Result<Self, A::Error> {
        while entries.next_element::<IgnoredAny>()?.is_some() {}
        if HAS_FAILED.replace(true) { Ok(Self) } else { Err(A::Error::custom("not now")) }
    }
}

#[test]
fn from_slice_deserializes_a_type_only_once() {
    let error = from_slice::<BySeq<Moody>>(&to_vec(&seven()).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "byte 0: not now");
}
