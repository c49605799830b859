//! `Meta` keeps the layout that it was read from, so it is written with the same bytes. In other formats, such as JSON,
//! it is a plain object.

#![cfg(feature = "alloc")]

use std::fmt::Write as _;

use crate::common::{meta_of_rank, unhex};
use b2nd_serde::{ErrorKind, Layout, Meta, Shapes, from_slice, take_from_slice, to_vec};
use serde_derive::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Newtype<T>(T);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
struct Transparent {
    meta: Meta,
}

#[test]
fn to_vec_writes_a_meta_of_every_layout_back_byte_for_byte() {
    for &layout in Layout::ALL {
        for ndim in 0..=16 {
            let meta = meta_of_rank(ndim, "<i4").with_layout(layout).unwrap();
            let bytes = to_vec(&meta).unwrap();
            let read: Meta = from_slice(&bytes).unwrap();
            assert_eq!((read.layout(), &read), (layout, &meta));
            assert_eq!(to_vec(&read).unwrap(), bytes);

            let wrapped: Option<Newtype<Option<Transparent>>> = from_slice(&bytes).unwrap();
            assert_eq!(to_vec(&wrapped).unwrap(), bytes, "through newtypes and Option");
        }
    }
}

#[test]
fn to_vec_writes_an_odd_but_well_formed_meta_back_byte_for_byte() {
    for hex in [
        // Version 127, dtype format 127.
        "977f009090907fdb00000000",
        "967f0090909000db00000000",
        // Negative and zero dimensions.
        "97000191d3ffffffffffffffff91d20000000091d28000000000db000000017c",
        "96000191d3800000000000000091d2ffffffff91d200000000db00000000",
        "95000191d3000000000000000091d20000000091d200000001",
    ] {
        let bytes = unhex(hex);
        assert_eq!(to_vec(&from_slice::<Meta>(&bytes).unwrap()).unwrap(), bytes, "{hex}");
    }
    let odd: Meta = from_slice(&unhex("977f0090909007db00000000")).unwrap();
    assert_eq!((odd.version(), odd.dtype_format(), odd.dtype()), (127, Some(7), Some("")));
}

#[test]
fn take_from_slice_returns_a_stale_tail() {
    let mut bytes = to_vec(&meta_of_rank(2, "<i4")).unwrap();
    bytes.extend([1, 2, 3]);
    let (meta, rest): (Meta, _) = take_from_slice(&bytes).unwrap();
    assert_eq!((meta, rest), (meta_of_rank(2, "<i4"), &[1, 2, 3][..]));
    assert_eq!(from_slice::<Meta>(&bytes).unwrap_err().kind(), ErrorKind::TrailingBytes);
}

#[test]
fn meta_in_json_is_a_plain_object_of_layout_and_entries() {
    let meta = Meta::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] }, "<i4").unwrap();
    for (layout, dtype_format, dtype) in [
        (Layout::B2nd, json!(0), json!("<i4")),
        (Layout::B2ndMismarked, json!(0), json!("<i4")),
        (Layout::B2ndSix, Value::Null, json!("<i4")),
        (Layout::Caterva, Value::Null, Value::Null),
    ] {
        let meta = meta.clone().with_layout(layout).unwrap();
        let expected = json!({
            "layout": layout.name(), "version": 0, "ndim": 2,
            "shape": [3, 5], "chunkshape": [2, 3], "blockshape": [1, 2],
            "dtype_format": dtype_format, "dtype": dtype,
        });
        assert_eq!(serde_json::to_value(&meta).unwrap(), expected);
        assert_eq!(serde_json::from_value::<Meta>(expected.clone()).unwrap(), meta);

        // If the object has no `layout`, the other keys determine the layout.
        let mut object = expected;
        object.as_object_mut().unwrap().remove("layout");
        let inferred = serde_json::from_value::<Meta>(object).unwrap();
        let expected = if layout == Layout::B2ndMismarked { Layout::B2nd } else { layout };
        assert_eq!(inferred.layout(), expected);
    }
}

#[test]
fn meta_from_json_has_every_check_of_the_format() {
    let good = json!({
        "layout": "b2nd", "version": 0, "ndim": 2, "shape": [3, 5], "chunkshape": [2, 3], "blockshape": [1, 2],
        "dtype_format": 0, "dtype": "<i4",
    });
    let with = |field: &str, value: Value| {
        let mut object = good.clone();
        object[field] = value;
        serde_json::from_value::<Meta>(object).unwrap_err().to_string()
    };
    let without = |field: &str| {
        let mut object = good.clone();
        object.as_object_mut().unwrap().remove(field);
        serde_json::from_value::<Meta>(object).unwrap_err().to_string()
    };
    let mut text = String::new();
    for (name, error) in [
        ("an unknown layout", with("layout", json!("b3nd"))),
        ("layout caterva, but a dtype", with("layout", json!("caterva"))),
        ("layout b2nd-six, but a dtype_format", with("layout", json!("b2nd-six"))),
        ("dtype null", with("dtype", Value::Null)),
        ("dtype_format null", with("dtype_format", Value::Null)),
        ("version 128", with("version", json!(128))),
        ("version 256", with("version", json!(256))),
        ("version -1", with("version", json!(-1))),
        ("dtype_format 128", with("dtype_format", json!(128))),
        ("ndim 3", with("ndim", json!(3))),
        ("ndim 17", with("ndim", json!(17))),
        ("shape of 3", with("shape", json!([1, 2, 3]))),
        ("shape of 17", with("shape", json!([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]))),
        ("chunkshape of 1", with("chunkshape", json!([1]))),
        ("blockshape of 0", with("blockshape", json!([]))),
        ("shape 2^63", with("shape", json!([1, 9_223_372_036_854_775_808_u64]))),
        ("chunkshape 2^31", with("chunkshape", json!([1, 2_147_483_648_u64]))),
        ("shape 1.5", with("shape", json!([1, 1.5]))),
        ("dtype with NUL", with("dtype", json!("<i\0"))),
        ("dtype 4", with("dtype", json!(4))),
        ("a field of another name", with("data_type", json!("<i4"))),
        ("no version", without("version")),
        ("no shape", without("shape")),
        ("no dtype", without("dtype")),
    ] {
        writeln!(text, "{name}\n    {error}").unwrap();
    }
    let twice = r#"{"ndim": 1, "ndim": 1}"#;
    writeln!(text, "ndim twice\n    {}", serde_json::from_str::<Meta>(twice).unwrap_err()).unwrap();
    crate::common::snapshot("errors_of_json", &text);
}

#[test]
fn from_slice_rejects_a_meta_in_an_untagged_enum() {
    #[derive(Debug, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Untagged {
        Meta(Meta),
    }
    let meta = meta_of_rank(2, "<i4");
    let bytes = to_vec(&Untagged::Meta(meta.clone())).unwrap();
    assert_eq!(bytes, to_vec(&meta).unwrap());
    assert!(from_slice::<Untagged>(&bytes).is_err());
    // For an untagged enum, serde buffers the value until it knows the variant. In this buffer, JSON's null is a unit.
    // So a `Meta` must also read a unit as a missing entry.
    for &layout in Layout::ALL {
        let meta = meta.clone().with_layout(layout).unwrap();
        let Untagged::Meta(read) = serde_json::from_value(json!(meta)).unwrap();
        assert_eq!(read, meta);
        let mut object = json!(meta);
        for entry in ["dtype", "dtype_format"] {
            object.as_object_mut().unwrap().entry(entry).or_insert(Value::Null);
        }
        let Untagged::Meta(read) = serde_json::from_value(object).unwrap();
        assert_eq!(read, meta);
    }
}

#[test]
fn meta_reads_what_a_user_struct_writes() {
    let bytes = to_vec(&crate::common::seven()).unwrap();
    assert_eq!(
        from_slice::<Meta>(&bytes).unwrap(),
        Meta::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] }, "<i4").unwrap()
    );
}

#[test]
fn with_layout_drops_what_the_layout_has_no_entry_for() {
    let meta = Meta::new(Shapes { shape: &[6], chunkshape: &[4], blockshape: &[2] }, "uint8").unwrap();
    let six = meta.clone().with_layout(Layout::B2ndSix).unwrap();
    assert_eq!((six.dtype_format(), six.dtype()), (None, Some("uint8")));
    assert_eq!(six.with_layout(Layout::B2nd).unwrap(), meta);
    let mut bytes = to_vec(&meta).unwrap();
    let dtype_format = bytes.len() - "uint8".len() - 6;
    bytes[dtype_format] = 1;
    let other: Meta = from_slice(&bytes).unwrap();
    let mismarked = other.clone().with_layout(Layout::B2ndMismarked).unwrap();
    assert_eq!(mismarked.dtype_format(), Some(1));
    let back = other.with_layout(Layout::B2ndSix).unwrap().with_layout(Layout::B2nd).unwrap();
    assert_eq!(back.dtype_format(), Some(0));
    let caterva = meta.with_layout(Layout::Caterva).unwrap();
    assert_eq!((caterva.dtype_format(), caterva.dtype()), (None, None));
    assert!(caterva.clone().with_layout(Layout::Caterva).is_ok());
    assert!(caterva.with_layout(Layout::B2nd).is_err());
}

#[test]
fn meta_is_small() {
    // On big-endian machines, a short string of the crate `ecow` is 8 bytes larger.
    let longest = if cfg!(target_endian = "little") { 104 } else { 112 };
    assert!(size_of::<Meta>() <= longest, "{}", size_of::<Meta>());
}

#[test]
fn meta_debug_shows_all_entries() {
    let meta = Meta::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] }, "<i4").unwrap();
    assert_eq!(
        format!("{meta:?}"),
        "Meta { layout: B2nd, version: 0, shape: [3, 5], chunkshape: [2, 3], blockshape: [1, 2], \
         dtype_format: Some(0), dtype: Some(\"<i4\") }"
    );
}

#[test]
fn meta_deserialize_rejects_what_is_no_object() {
    let error = serde_json::from_str::<Meta>("7").unwrap_err().to_string();
    assert!(
        error.starts_with("invalid type: integer `7`, expected the layout and entries of a b2nd metalayer"),
        "{error}"
    );
}

#[test]
fn meta_deserialize_counts_too_few_fields_and_rejects_a_key_that_is_no_name() {
    let fields = rmp_serde::to_vec(&meta_of_rank(2, "<i4")).unwrap();
    for (bytes, says) in [
        // An array of only 3 elements: the layout, version and ndim.
        (
            [&[0x93], &fields[1..8]].concat(),
            "invalid length 3, expected the layout and entries of a b2nd metalayer",
        ),
        (vec![0x81, 0xc0, 0xc0], "invalid type: unit value, expected the name of a field"),
    ] {
        assert_eq!(rmp_serde::from_slice::<Meta>(&bytes).unwrap_err().to_string(), says);
    }
}

#[test]
fn layout_is_serialized_and_parsed_as_its_name() {
    for &layout in Layout::ALL {
        assert_eq!(json!(layout), json!(layout.name()));
        assert_eq!(serde_json::from_value::<Layout>(json!(layout)).unwrap(), layout);
    }
    let says = "expected the name of a layout: b2nd, b2nd-mismarked, b2nd-six or caterva";
    assert_eq!("b3nd".parse::<Layout>().unwrap_err().to_string(), says);
    let error = serde_json::from_value::<Layout>(json!(7)).unwrap_err().to_string();
    assert_eq!(error, format!("invalid type: integer `7`, {says}"));
}

/// Some formats write the position of a field, or its name as bytes, instead of a text. A derived struct reads both.
#[test]
fn meta_takes_the_same_field_identifiers_as_a_derived_struct() {
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only compared")]
    struct Derived {
        layout: Layout,
        version: u8,
        ndim: u8,
        shape: Vec<i64>,
        chunkshape: Vec<i32>,
        blockshape: Vec<i32>,
        dtype_format: Option<u8>,
        dtype: Option<String>,
    }
    let meta = meta_of_rank(2, "<i4");
    let names = ["layout", "version", "ndim", "shape", "chunkshape", "blockshape", "dtype_format", "dtype"];
    let values = json!(meta);
    let values = names.map(|name| rmp_serde::to_vec(&values[name]).unwrap());
    let map = |key: &dyn Fn(usize) -> Vec<u8>| -> Vec<u8> {
        let entries =
            values.iter().enumerate().flat_map(|(index, value)| [key(index), value.clone()].concat());
        [0x88].into_iter().chain(entries).collect()
    };
    let positions = map(&|index| vec![u8::try_from(index).unwrap()]);
    let bytes =
        map(&|index| [&[0xc4, u8::try_from(names[index].len()).unwrap()], names[index].as_bytes()].concat());
    for encoded in [positions, bytes] {
        rmp_serde::from_slice::<Derived>(&encoded).unwrap();
        assert_eq!(rmp_serde::from_slice::<Meta>(&encoded).unwrap(), meta);
    }
    for (key, says) in [
        (vec![8], "invalid value: integer `8`, expected a field index below 8"),
        (vec![0xc4, 1, 0xff], "invalid value: byte array, expected the name of a field"),
    ] {
        let encoded = map(&|_| key.clone());
        assert!(rmp_serde::from_slice::<Derived>(&encoded).is_err());
        assert_eq!(rmp_serde::from_slice::<Meta>(&encoded).unwrap_err().to_string(), says);
    }
}
