//! To serde a dtype is its string: it may be the dtype of a struct of one's own.
#![cfg(feature = "dtype")]

use b2nd_serde::dtype::Dtype;
use b2nd_serde::{Entry, Layout, Meta, from_slice, to_vec};
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
fn a_struct_with_a_dtype_has_the_bytes_of_one_with_a_string() -> Result<(), Box<dyn std::error::Error>> {
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
        assert_eq!(bytes, to_vec(&Meta::new(&[10], &[5], &[2], text)?)?);
        assert_eq!(from_slice::<Metalayer>(&bytes)?, metalayer);
    }
    Ok(())
}

#[test]
fn an_unknown_dtype_is_an_error_at_its_entry() -> Result<(), b2nd_serde::Error> {
    let bytes = to_vec(&Meta::new(&[10], &[5], &[2], "[('a', 'i3')]")?)?;
    let error = from_slice::<Metalayer>(&bytes).expect_err("unknown");
    assert_eq!(error.entry(), Some(Entry::Dtype));
    let message = error.to_string();
    let expected = "dtype: character 9: expected 1, 2, 4 or 8 bytes for 'i', found 3";
    assert!(message.ends_with(expected), "{message}");
    Ok(())
}

#[test]
fn in_json_it_is_a_string() -> Result<(), Box<dyn std::error::Error>> {
    for text in DTYPES {
        let dtype: Dtype = text.parse()?;
        let json = serde_json::to_string(&dtype)?;
        assert_eq!(json, serde_json::to_string(text)?);
        assert_eq!(serde_json::from_str::<Dtype>(&json)?, dtype);
    }
    assert!(serde_json::from_str::<Dtype>("4").is_err());
    Ok(())
}

#[test]
fn a_meta_parses_its_dtype_in_every_layout_that_has_one() -> Result<(), Box<dyn std::error::Error>> {
    let meta = Meta::new(&[10], &[5], &[2], "datetime64[ns]")?;
    for &layout in Layout::ALL {
        let dtype = meta.clone().with_layout(layout)?.parse_dtype()?;
        let expected = match layout {
            Layout::Caterva => None,
            _ => Some("<M8[ns]".parse()?),
        };
        assert_eq!(dtype, expected, "{layout}");
    }
    Ok(())
}
