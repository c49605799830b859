//! Reads any bytes as an item of any dtype, into many Rust types. Each read gives a value or an error. If a value can
//! be written, and then read again, a second write gives the same bytes.

use std::collections::BTreeMap;
use std::fmt::Debug;

use b2nd_serde::Dtype;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use crate::choices::Choices;
use crate::seeds;

/// The number of bytes of an input that are used as the item. The text of the dtype follows these bytes.
const COUNT: usize = 64;

/// The maximum size of an item that this target reads. A dtype can claim items of 2 GiB.
const MOST: usize = 1 << 16;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Numbers {
    a: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    b: Option<f64>,
    #[serde(rename = "x", default, skip_serializing_if = "Vec::is_empty")]
    c: Vec<u8>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Either {
    Text(String),
    Number(i64),
    Float(f32),
    List(Vec<Either>),
    Map(BTreeMap<String, Either>),
}

pub fn seeds() -> Vec<Vec<u8>> {
    let own = ["[('a', '<i4')]", "[('x', 'S3'), ('a', '>i4'), ('b', '<f8')]", "('<U2', (2, 0, 1))"];
    seeds::choices(COUNT, &[seeds::dtypes(), own.map(Vec::from).to_vec()].concat())
}

pub fn run(data: &[u8]) {
    let (mut choices, text) = Choices::split(data, COUNT);
    let Some(dtype) = std::str::from_utf8(text).ok().and_then(|text| text.parse::<Dtype>().ok()) else {
        return;
    };
    if dtype.item_size() > MOST {
        return;
    }
    let start = choices.bytes(COUNT);
    let item: Vec<u8> = start.iter().chain(&[0; 8]).copied().cycle().take(dtype.item_size()).collect();
    both::<Numbers>(&dtype, &item);
    both::<Either>(&dtype, &item);
    both::<serde_json::Value>(&dtype, &item);
    both::<(u8, String)>(&dtype, &item);
    both::<Vec<(f32, f32)>>(&dtype, &item);
    both::<BTreeMap<String, Vec<u16>>>(&dtype, &item);
    both::<[u8; 4]>(&dtype, &item);
    both::<bool>(&dtype, &item);
    both::<i128>(&dtype, &item);
    both::<u64>(&dtype, &item);
    both::<char>(&dtype, &item);
    both::<f64>(&dtype, &item);
    both::<Option<String>>(&dtype, &item);
    let _ = dtype.read_item::<&str>(&item);
    both::<()>(&dtype, &item);
    let ignored = dtype.read_item::<IgnoredAny>(&item);
    assert_eq!(ignored.is_ok(), dtype.read_items::<IgnoredAny>(&item).is_ok(), "{dtype}");
}

/// Reads a value, writes it, and reads and writes it again. Asserts that both writes give the same bytes. Some values
/// cannot be written, for example an `f64` as an item of dtype `<f4`.
fn both<T: Debug + DeserializeOwned + Serialize>(dtype: &Dtype, item: &[u8]) {
    let Ok(value) = dtype.read_item::<T>(item) else { return };
    let (mut written, mut again) = (vec![0xaa; item.len()], vec![0x55; item.len()]);
    if dtype.write_item(&value, &mut written).is_err() {
        return;
    }
    // If two fields overlap, a write of the second field can make the text of the first field invalid. Then the written
    // bytes cannot be read.
    if let Ok(value) = dtype.read_item::<T>(&written) {
        dtype.write_item(&value, &mut again).unwrap_or_else(|error| panic!("{dtype}: {value:?}: {error}"));
        assert_eq!(again, written, "{dtype}: {value:?}");
    }
}
