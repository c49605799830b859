//! There are a fast and a general way to read a metalayer. Both call the same methods of a visitor and return the same
//! errors, so a Rust type cannot tell which way is used.

#![cfg(feature = "alloc")]

use std::cell::Cell;
use std::fmt;

use b2nd_serde::{Deserializer, Error, Layout, Meta, from_slice, take_from_slice, to_vec};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Error as _, IgnoredAny, SeqAccess, Visitor};

use crate::common::{BySeq, EXAMPLE, FromSeq, five, meta_of_rank, seven};

/// Reads a metalayer in the fast way, with `from_slice`, and in the general way, with a `Deserializer`.
fn both<T: DeserializeOwned>(bytes: &[u8]) -> [Result<T, Error>; 2] {
    [from_slice(bytes), T::deserialize(&mut Deserializer::new(bytes))]
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
    for read in both::<Seven>(&to_vec(&seven()).unwrap()) {
        assert_eq!(read.unwrap().2, expected);
    }
    for read in both::<Five>(&to_vec(&five()).unwrap()) {
        assert_eq!(read.unwrap().2, expected);
    }
    let negative = to_vec(&(0, 1, [-1], [1], [1], 0, "|u1")).unwrap();
    for read in both::<(u8, u8, [Unsigned; 1], [i32; 1], [i32; 1], u8, String)>(&negative) {
        let error = read.unwrap_err().to_string();
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
        let [fast, general] = both::<T>(&EXAMPLE).map(|read| read.unwrap_err());
        assert_eq!((fast.to_string().as_str(), general.to_string().as_str()), (text, text));
        assert_eq!((fast.entry(), fast.offset()), (general.entry(), general.offset()), "{text}");
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
    let sequence = both::<Picky>(&bytes).map(Result::unwrap_err);
    let tuple = both::<PickyTuple>(&bytes).map(Result::unwrap_err);
    for error in sequence.into_iter().chain(tuple) {
        assert!(error.to_string().ends_with("I like none of them"), "{error}");
    }
}

/// A `Meta`, or the text of the error if no `Meta` could be read.
#[derive(Debug, PartialEq)]
struct Forgiving(Result<Meta, String>);

impl<'de> Deserialize<'de> for Forgiving {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Meta::deserialize(deserializer).map_err(|error| error.to_string())))
    }
}

#[test]
fn from_slice_gives_a_meta_of_every_layout_to_a_type_that_catches_errors() {
    for &layout in Layout::ALL {
        let meta = meta_of_rank(5, "<i4").with_layout(layout).unwrap();
        let mut bytes = to_vec(&meta).unwrap();
        for read in both::<Forgiving>(&bytes) {
            assert_eq!(read.unwrap(), Forgiving(Ok(meta.clone())), "{layout}");
        }
        let length = bytes.len();
        bytes.push(0);
        let Forgiving(read) = from_slice(&bytes).unwrap();
        assert_eq!(
            read.unwrap_err(),
            format!("byte {length}: 1 byte is left after the metalayer"),
            "{layout}"
        );
        let (Forgiving(read), rest) = take_from_slice(&bytes).unwrap();
        assert_eq!((read, rest), (Ok(meta), &[0][..]), "{layout}");
    }
    let bytes = &to_vec(&seven()).unwrap()[..20];
    let Forgiving(read) = from_slice(bytes).unwrap();
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
fn from_slice_rejects_a_type_that_fails_only_once() {
    let error = from_slice::<BySeq<Moody>>(&to_vec(&seven()).unwrap()).unwrap_err().to_string();
    assert!(error.ends_with("the type rejected the metalayer, but accepted it when asked again"), "{error}");
}
