//! In serde a dtype is a string, so it can be a field of a user's struct.

use std::collections::HashSet;

use b2nd_serde::dtype::{Dtype, Error};
use b2nd_serde::{Entry, Layout, Meta, Serializer, Shapes, from_slice, to_vec};
use serde::Serialize as _;
use serde_derive::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Metalayer {
    version: u8,
    ndim: u8,
    shape: Vec<u64>,
    chunkshape: Vec<u32>,
    blockshape: Vec<u32>,
    dtype_format: u8,
    dtype: Dtype,
}

const DTYPES: [&str; 5] = [
    "<i4",
    "float8_e4m3fn",
    "[('café', '<i4'), ('日本', '<f8', (2,))]",
    r#"[('it\'s "q"\\', '<i4')]"#,
    "{'names': ['a', 'b'], 'formats': ['u1', '<f8'], 'offsets': [0, 8], 'itemsize': 16, 'aligned': True}",
];

#[test]
fn dtype_deserialize_rejects_what_is_no_string() {
    let error = serde_json::from_str::<Dtype>("3").unwrap_err().to_string();
    assert_eq!(error, "invalid type: integer `3`, expected a NumPy dtype at line 1 column 1");
}

#[test]
fn to_vec_writes_a_dtype_as_its_string() -> Result<(), Box<dyn std::error::Error>> {
    for text in DTYPES {
        let metalayer = Metalayer {
            version: 0,
            ndim: 1,
            shape: vec![10],
            chunkshape: vec![5],
            blockshape: vec![2],
            dtype_format: 0,
            dtype: text.parse()?,
        };
        let bytes = to_vec(&metalayer)?;
        assert_eq!(
            bytes,
            to_vec(&Meta::new(Shapes { shape: &[10], chunkshape: &[5], blockshape: &[2] }, text)?)?
        );
        assert_eq!(from_slice::<Metalayer>(&bytes)?, metalayer);
    }
    Ok(())
}

/// A struct that can have any layout.
#[derive(Debug, Serialize, Deserialize)]
struct AnyLayout {
    version: u8,
    ndim: u8,
    shape: Vec<u64>,
    chunkshape: Vec<u32>,
    blockshape: Vec<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dtype_format: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dtype: Option<Dtype>,
}

/// Pairs of NumPy's `dtype.str` and `str(dtype)`.
const SPELLINGS: [(&str, &str); 13] = [
    ("|b1", "bool"),
    ("|u1", "uint8"),
    ("<i4", "int32"),
    ("<f8", "float64"),
    ("<f16", "float128"),
    ("<c16", "complex128"),
    ("|O", "object"),
    ("<M8[ns]", "datetime64[ns]"),
    ("<m8[25s]", "timedelta64[25s]"),
    ("<M8", "datetime64"),
    (">f8", ">f8"),
    ("|S5", "|S5"),
    ("[('a', 'u1'), ('b', '<f8')]", "[('a', 'u1'), ('b', '<f8')]"),
];

#[test]
fn from_slice_and_serializer_keep_the_spelling_of_a_dtype_in_every_layout()
-> Result<(), Box<dyn std::error::Error>> {
    for text in SPELLINGS.into_iter().flat_map(|(type_string, name)| [type_string, name]) {
        for &layout in Layout::ALL {
            let bytes = to_vec(
                &Meta::new(Shapes { shape: &[10], chunkshape: &[5], blockshape: &[2] }, text)?
                    .with_layout(layout)?,
            )?;
            let metalayer: AnyLayout = from_slice(&bytes)?;
            assert_eq!(
                metalayer.dtype.as_ref().map(ToString::to_string).as_deref(),
                layout.entries().contains(&Entry::Dtype).then_some(text)
            );
            let mut buffer = [0; 128];
            let mut serializer = Serializer::new(&mut buffer).with_layout(layout);
            metalayer.serialize(&mut serializer)?;
            let length = serializer.offset();
            assert_eq!(buffer[..length], bytes, "{text} {layout}");
        }
    }
    Ok(())
}

#[test]
fn dtype_display_keeps_the_spelling_that_eq_ignores() -> Result<(), Error> {
    for (type_string, name) in SPELLINGS {
        let pair: [Dtype; 2] = [type_string.parse()?, name.parse()?];
        assert_eq!(pair[0], pair[1]);
        assert_eq!(HashSet::from(pair.clone()).len(), 1);
        for (dtype, text) in pair.iter().zip([type_string, name]) {
            assert_eq!(dtype.to_string(), text);
            assert_eq!(dtype.type_string().to_string(), type_string);
            assert_eq!(dtype.numpy_str().to_string(), name);
        }
    }
    Ok(())
}

#[test]
fn dtype_display_changes_a_spelling_that_numpy_does_not_print() -> Result<(), Error> {
    for (text, printed) in [
        ("double", "<f8"),
        ("i4", "<i4"),
        ("=i4", "<i4"),
        ("|i4", "<i4"),
        ("?", "|b1"),
        ("bool_", "|b1"),
        ("str", "<U0"),
        ("datetime64[1ns]", "<M8[ns]"),
        ("[('a', 'uint8')]", "[('a', 'u1')]"),
    ] {
        assert_eq!(text.parse::<Dtype>()?.to_string(), printed);
    }
    Ok(())
}

#[test]
fn from_slice_names_the_entry_of_an_unknown_dtype() -> Result<(), b2nd_serde::Error> {
    let bytes =
        to_vec(&Meta::new(Shapes { shape: &[10], chunkshape: &[5], blockshape: &[2] }, "[('a', 'i3')]")?)?;
    let error = from_slice::<Metalayer>(&bytes).expect_err("unknown");
    assert_eq!(error.entry(), Some(Entry::Dtype));
    let message = error.to_string();
    let expected = "dtype: character 9: expected 1, 2, 4 or 8 bytes for 'i', found 3";
    assert!(message.ends_with(expected), "{message}");
    Ok(())
}

#[test]
fn dtype_in_json_is_a_string() -> Result<(), Box<dyn std::error::Error>> {
    for text in DTYPES {
        let dtype: Dtype = text.parse()?;
        let json = serde_json::to_string(&dtype)?;
        assert_eq!(json, serde_json::to_string(text)?);
        assert_eq!(serde_json::from_str::<Dtype>(&json)?, dtype);
    }
    Ok(())
}

#[test]
fn parse_dtype_parses_the_dtype_in_every_layout_that_has_one() -> Result<(), Box<dyn std::error::Error>> {
    let meta = Meta::new(Shapes { shape: &[10], chunkshape: &[5], blockshape: &[2] }, "datetime64[ns]")?;
    for &layout in Layout::ALL {
        let dtype = meta.clone().with_layout(layout)?.parse_dtype()?;
        let has_dtype = layout.entries().contains(&Entry::Dtype);
        let expected = has_dtype.then(|| "<M8[ns]".parse()).transpose()?;
        assert_eq!(dtype, expected, "{layout}");
    }
    Ok(())
}
