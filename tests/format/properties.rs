//! Tests promises of the library with random inputs. The variable `PROPTEST_CASES` is the number of inputs of each
//! test, 256 by default. The fuzz target `meta` tests most of these promises with thousands of inputs in each run of
//! CI.

#![cfg(feature = "alloc")]

use std::cell::Cell;

use crate::common::{Five, Seven, Six};
use b2nd_serde::{
    ErrorKind, Layout, Meta, dump, from_slice, serialized_size, take_from_slice, to_slice, to_vec,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde::de::IgnoredAny;
use serde_json::Value;

/// A dtype string: a usual dtype, or any text without NUL. Some texts are longer than the space that the writer
/// reserves.
fn dtypes() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec!["<i4", "|u1", "<f8", "[('a', '<i4'), ('b', '<f8', (2, 3))]", "<M8[ns]"])
            .prop_map(str::to_owned),
        4 => "[^\0]{0,60}",
        1 => "[^\0]{300,400}",
    ]
}

fn sevens() -> impl Strategy<Value = Seven> {
    (0..=16_usize).prop_flat_map(|ndim| {
        let vectors = (vec(any::<i64>(), ndim), vec(any::<i32>(), ndim), vec(any::<i32>(), ndim));
        (0..=127_u8, vectors, 0..=127_u8, dtypes()).prop_map(
            move |(version, (shape, chunkshape, blockshape), dtype_format, dtype)| Seven {
                version,
                ndim: ndim.try_into().unwrap(),
                shape,
                chunkshape,
                blockshape,
                dtype_format,
                dtype,
            },
        )
    })
}

/// A well-formed metalayer of any layout.
fn metalayers() -> impl Strategy<Value = (Layout, Vec<u8>)> {
    (sevens(), prop::sample::select(Layout::ALL.to_vec())).prop_map(|(seven, layout)| {
        let meta: Meta = from_slice(&to_vec(&seven).unwrap()).unwrap();
        (layout, to_vec(&meta.with_layout(layout).unwrap()).unwrap())
    })
}

/// Bytes that resemble a metalayer.
fn almost() -> impl Strategy<Value = Vec<u8>> {
    let edit =
        (any::<prop::sample::Index>(), prop_oneof![any::<u8>(), 0x90..=0xa1_u8, 0xd0..=0xdb_u8], 0..4_u8);
    (metalayers(), vec(edit, 1..4)).prop_map(|((_, mut bytes), edits)| {
        for (index, byte, how) in edits {
            let at = index.index(bytes.len());
            match how {
                0 | 1 => bytes[at] = byte,
                2 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
            if bytes.is_empty() {
                bytes.push(byte);
            }
        }
        bytes
    })
}

/// Any bytes. Most begin as a metalayer does, because without that, reading ends at the first bytes.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let start = (0x95..=0x97_u8, 0..3_u8).prop_map(|(entries, ndim)| vec![entries, 0, ndim, 0x90 + ndim]);
    let start = prop_oneof![1 => Just(vec![]), 15 => start];
    (start, vec(any::<u8>(), 0..100)).prop_map(|(start, rest)| [start, rest].concat())
}

/// Asserts the promises that hold for any bytes. Returns whether the bytes are a metalayer.
fn hold_for_any(bytes: &[u8]) -> bool {
    let read = from_slice::<Meta>(bytes);
    match &read {
        Ok(meta) => {
            assert_eq!(to_vec(meta).unwrap(), bytes);
            assert_eq!(serialized_size(meta).unwrap(), bytes.len());
            let json = serde_json::to_string(meta).unwrap();
            assert_eq!(serde_json::from_str::<Meta>(&json).unwrap(), *meta);
            from_slice::<IgnoredAny>(bytes).unwrap();
        }
        Err(error) => {
            assert!(error.offset().unwrap() <= bytes.len(), "{error}");
            let any = from_slice::<IgnoredAny>(bytes).err();
            match error.kind() {
                // A type that ignores the dtype can ignore one that is not UTF-8.
                ErrorKind::Utf8 => assert!(any.is_none_or(|any| any.kind() == ErrorKind::TrailingBytes)),
                _ => assert_eq!(any.map(|any| any.to_string()), Some(error.to_string())),
            }
        }
    }
    if let Ok((meta, rest)) = take_from_slice::<Meta>(bytes) {
        assert_eq!([&to_vec(&meta).unwrap(), rest].concat(), bytes);
    }
    // If the bytes can be read as a struct, the struct is written as the same bytes, except for the outer marker.
    if let Ok(value) = from_slice::<Seven>(bytes) {
        assert_eq!(to_vec(&value).unwrap()[1..], bytes[1..]);
    }
    if let Ok(value) = from_slice::<Six>(bytes) {
        assert_eq!(to_vec(&value).unwrap(), bytes);
    }
    if let Ok(value) = from_slice::<Five>(bytes) {
        assert_eq!(to_vec(&value).unwrap(), bytes);
    }
    if let Ok(value) = from_slice::<Value>(bytes) {
        assert_eq!(to_vec(&value).unwrap()[1..], bytes[1..]);
    }
    assert!(!dump::metalayer(bytes).to_string().is_empty());
    read.is_ok()
}

proptest! {
    #[test]
    fn from_slice_reads_what_to_vec_and_to_slice_write(seven in sevens()) {
        let bytes = to_vec(&seven).unwrap();
        prop_assert_eq!(from_slice::<Seven>(&bytes).unwrap(), seven.clone());

        let mut buffer = vec![0xaa; bytes.len() + 7];
        prop_assert_eq!(&to_slice(&seven, &mut buffer).unwrap()[..], &bytes[..]);
        prop_assert!(buffer[bytes.len()..].iter().all(|&byte| byte == 0xaa));
        prop_assert_eq!(serialized_size(&seven).unwrap(), bytes.len());
        prop_assert!(to_slice(&seven, &mut vec![0; bytes.len() - 1]).is_err());
    }

    #[test]
    fn to_vec_writes_a_metalayer_of_any_layout_back((layout, bytes) in metalayers()) {
        let meta: Meta = from_slice(&bytes).unwrap();
        prop_assert_eq!(meta.layout(), layout);
        prop_assert!(hold_for_any(&bytes));
    }

    #[test]
    fn from_slice_rejects_any_bytes_or_to_vec_writes_them_back(bytes in any_bytes()) {
        hold_for_any(&bytes);
    }

    #[test]
    fn from_slice_and_take_from_slice_reject_every_proper_prefix((_, bytes) in metalayers()) {
        for length in 0..bytes.len() {
            prop_assert!(from_slice::<Meta>(&bytes[..length]).is_err());
            prop_assert!(take_from_slice::<Meta>(&bytes[..length]).is_err());
        }
    }
}

#[test]
fn from_slice_rejects_an_edited_metalayer_or_to_vec_writes_it_back() {
    let (read, rejected) = (Cell::new(0), Cell::new(0));
    let mut runner = TestRunner::default();
    let result = runner.run(&almost(), |bytes| {
        let count = if hold_for_any(&bytes) { &read } else { &rejected };
        count.set(count.get() + 1);
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    // About a sixth of the metalayers only get another number or letter.
    let least = runner.config().cases / 32;
    assert!(read.get() >= least && rejected.get() >= least, "{read:?} are read, {rejected:?} are not");
}
