//! Reads metalayers as several Rust types. If the bytes can be read as a type, writing the value gives the same bytes.

use b2nd_serde::{
    ErrorKind, Layout, Meta, dump, from_slice, serialized_size, take_from_slice, to_slice, to_vec,
};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::assert_rows;

/// A struct that can be read from all layouts.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Seven {
    version: u8,
    ndim: u8,
    shape: Vec<i64>,
    chunkshape: Vec<i32>,
    blockshape: Vec<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dtype_format: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dtype: Option<String>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Six<'a>(u8, u8, Vec<i64>, Vec<i32>, Vec<i32>, &'a str);

type Five = (u8, u8, Vec<i64>, Vec<i32>, Vec<i32>);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Any {
    Seven(u8, u8, Vec<i64>, Vec<i32>, Vec<i32>, u8, String),
    Six(u8, u8, Vec<i64>, Vec<i32>, Vec<i32>, String),
    Five(u8, u8, Vec<i64>, Vec<i32>, Vec<i32>),
}

/// A struct for metalayers of two dimensions, with arrays instead of `Vec`s.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Fixed {
    version: u8,
    ndim: u8,
    shape: [i64; 2],
    #[serde(with = "b2nd_serde::dims")]
    chunkshape: [i32; 2],
    #[serde(with = "b2nd_serde::dims")]
    blockshape: [i32; 2],
    dtype_format: u8,
    #[serde(with = "text")]
    dtype: Vec<u8>,
}

/// Reads and writes the text of a dtype as bytes.
mod text {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        String::deserialize(deserializer).map(String::into_bytes)
    }
}

pub fn run(bytes: &[u8]) {
    let read = from_slice::<Meta>(bytes);
    match &read {
        Ok(meta) => comes_back(meta, bytes),
        Err(error) => {
            assert!(error.offset().is_some_and(|offset| offset <= bytes.len()), "{error}");
            let any = from_slice::<IgnoredAny>(bytes).err();
            match error.kind() {
                // `IgnoredAny` skips the dtype, so it accepts a dtype that is not UTF-8.
                ErrorKind::Utf8 => assert!(any.is_none_or(|any| any.kind() == ErrorKind::TrailingBytes)),
                _ => assert_eq!(any.expect("a malformed metalayer").to_string(), error.to_string()),
            }
            assert!(from_slice::<Any>(bytes).is_err() && from_slice::<serde_json::Value>(bytes).is_err());
        }
    }
    if let Ok((meta, rest)) = take_from_slice::<Meta>(bytes) {
        assert_eq!([&to_vec(&meta).expect("what was read"), rest].concat(), bytes);
    }
    // If one of these types can be read from the bytes, writing the value gives the same bytes. Only the first byte,
    // the outer marker, can differ: if it announces six entries but seven follow, the written marker announces seven.
    if let Ok(value) = from_slice::<Seven>(bytes) {
        assert_eq!(to_vec(&value).expect("what was read").get(1..), bytes.get(1..));
    }
    if let Ok(value) = from_slice::<Six>(bytes) {
        assert_eq!(to_vec(&value).expect("what was read"), bytes);
    }
    if let Ok(value) = from_slice::<Five>(bytes) {
        assert_eq!(to_vec(&value).expect("what was read"), bytes);
    }
    if let Ok(value) = from_slice::<Fixed>(bytes) {
        assert_eq!(to_vec(&value).expect("what was read").get(1..), bytes.get(1..));
    }
    let shown = dump::metalayer(bytes);
    let rows = b2nd_lab::rows(|receive| shown.rows(receive));
    assert_eq!(assert_rows(&rows, 0, bytes), read.is_err());
    let lines: String = rows.iter().flat_map(|row| [&*row.line, "\n"]).collect();
    assert_eq!(shown.to_string(), lines);
}

fn comes_back(meta: &Meta, bytes: &[u8]) {
    assert_eq!(to_vec(meta).expect("what was read"), bytes);
    assert_eq!(serialized_size(meta).expect("what was read"), bytes.len());
    let mut buffer = vec![0xaa; bytes.len() + 3];
    assert_eq!(to_slice(meta, &mut buffer).expect("room enough"), bytes);
    assert!(buffer.ends_with(&[0xaa; 3]));
    assert!(to_slice(meta, &mut buffer[..bytes.len() - 1]).is_err());

    let json = serde_json::to_string(meta).expect("a struct");
    assert_eq!(&serde_json::from_str::<Meta>(&json).expect("what was written"), meta);
    let value = from_slice::<serde_json::Value>(bytes).expect("a sequence");
    assert_eq!(to_vec(&value).expect("what was read").get(1..), bytes.get(1..));
    let any = from_slice::<Any>(bytes).expect("one of the variants");
    assert_eq!(to_vec(&any).expect("what was read").get(1..), bytes.get(1..));
    assert!(from_slice::<Seven>(bytes).is_ok() && from_slice::<IgnoredAny>(bytes).is_ok());

    for &layout in Layout::ALL {
        let Ok(other) = meta.clone().with_layout(layout) else { continue };
        let written = to_vec(&other).expect("a layout that the metalayer fits");
        assert_eq!(from_slice::<Meta>(&written).expect("what was written"), other);
        assert_eq!((other.layout(), other.shapes().shape), (layout, meta.shape()));
    }
    for length in [0, 1, 2, bytes.len() / 2, bytes.len() - 1] {
        assert!(from_slice::<Meta>(&bytes[..length]).is_err(), "{length} bytes are no metalayer");
    }
    if let Ok(geometry) = meta.geometry() {
        assert_eq!(geometry.ndim(), meta.ndim());
    }
}
