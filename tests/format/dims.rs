//! A Rust array with `#[serde(with = "b2nd_serde::dims")]` is written as the same bytes as a Rust array without this
//! attribute, and gives the same errors.

#![cfg(feature = "alloc")]

use std::fmt::Debug;

use b2nd_serde::{from_slice, to_vec};
use serde::de::DeserializeOwned;
use serde_derive::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Serdes<const N: usize>
where
    [u64; N]: serde::Serialize + DeserializeOwned,
    [u32; N]: serde::Serialize + DeserializeOwned,
{
    version: u8,
    ndim: u8,
    shape: [u64; N],
    chunkshape: [u32; N],
    blockshape: [u32; N],
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Ours<const N: usize> {
    version: u8,
    ndim: u8,
    #[serde(with = "b2nd_serde::dims")]
    shape: [u64; N],
    #[serde(with = "b2nd_serde::dims")]
    chunkshape: [u32; N],
    #[serde(with = "b2nd_serde::dims")]
    blockshape: [u32; N],
}

fn compare<const N: usize>()
where
    [u64; N]: serde::Serialize + DeserializeOwned + Debug,
    [u32; N]: serde::Serialize + DeserializeOwned + Debug,
{
    let ndim = u8::try_from(N).unwrap();
    let serdes = Serdes { version: 0, ndim, shape: [7; N], chunkshape: [5; N], blockshape: [2; N] };
    let ours = Ours { version: 0, ndim, shape: [7; N], chunkshape: [5; N], blockshape: [2; N] };
    let bytes = to_vec(&serdes).unwrap();
    assert_eq!(to_vec(&ours).unwrap(), bytes);
    assert_eq!(from_slice::<Ours<N>>(&bytes).unwrap(), ours);
    // Sets each byte to several wrong values, and truncates the input at each byte.
    for at in 0..bytes.len() {
        for byte in [0x00, 0x01, 0x7f, 0x90, 0x91, 0x93, 0xa0, 0xc0, 0xd2, 0xd3, 0xff] {
            let mut wrong = bytes.clone();
            wrong[at] = byte;
            same_outcome::<N>(&wrong);
        }
        same_outcome::<N>(&bytes[..at]);
    }
}

fn same_outcome<const N: usize>(bytes: &[u8])
where
    [u64; N]: serde::Serialize + DeserializeOwned + Debug,
    [u32; N]: serde::Serialize + DeserializeOwned + Debug,
{
    match (from_slice::<Serdes<N>>(bytes), from_slice::<Ours<N>>(bytes)) {
        (Ok(serdes), Ok(ours)) => assert_eq!(to_vec(&serdes).unwrap(), to_vec(&ours).unwrap()),
        (Err(serdes), Err(ours)) => {
            assert_eq!(format!("{serdes:?}"), format!("{ours:?}"), "{bytes:02x?}");
        }
        (serdes, ours) => panic!("{serdes:?} and {ours:?}: {bytes:02x?}"),
    }
}

#[test]
fn dims_reads_and_writes_an_array_as_serde_does() {
    compare::<0>();
    compare::<1>();
    compare::<3>();
    compare::<16>();
}

#[test]
fn dims_deserialize_counts_too_few_items_of_another_format() {
    let json = r#"{"version":0,"ndim":2,"shape":[1,2],"chunkshape":[1],"blockshape":[1,2]}"#;
    let error = serde_json::from_str::<Ours<2>>(json).unwrap_err();
    assert!(error.to_string().starts_with("invalid length 1, expected an array of length 2"), "{error}");
}
