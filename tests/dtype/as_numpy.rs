//! This crate reads a dtype string as NumPy does, and prints the dtype as NumPy does.
//!
//! `data/dtypes/make.py` recorded NumPy's answers. The environment variable `B2ND_DTYPES` can name a larger file that
//! this script wrote.

use b2nd_serde::dtype::{ByteOrder, Dtype, Field, Kind};
use serde_json::{Map, Value, json};

/// Describes the parts of a dtype, in the JSON notation of the file with NumPy's answers.
fn describe(dtype: &Dtype) -> Value {
    let mut parts = Map::new();
    let mut set = |key: &str, value: Value| parts.insert(key.into(), value);
    set("itemsize", dtype.item_size().into());
    set("alignment", dtype.alignment().into());
    set("kind", dtype.kind().letter().to_string().into());
    set(
        "byteorder",
        match dtype.byte_order() {
            Some(ByteOrder::Little) => "<".into(),
            Some(ByteOrder::Big) => ">".into(),
            None => Value::Null,
        },
    );
    set("aligned", is_aligned(dtype).into());
    match dtype.kind() {
        Kind::Datetime(unit) | Kind::Timedelta(unit) => {
            set("unit", json!([unit.symbol(), unit.count()]));
        }
        Kind::Extension(extension) => {
            set("extension", extension.name().into());
        }
        Kind::Subarray(subarray) => {
            set("base", describe(subarray.base()));
            set("shape", subarray.shape().into());
        }
        Kind::Struct(parts) => {
            set("record", parts.is_record().into());
            set("fields", parts.fields().iter().map(describe_field).collect());
        }
        _ => {}
    }
    parts.into()
}

fn describe_field(field: &Field) -> Value {
    json!({
        "name": field.name(),
        "title": field.title(),
        "offset": field.offset(),
        "dtype": describe(field.dtype()),
    })
}

/// Returns the flag `aligned` of a dtype. A subarray has this flag if the structured dtype of its items has it.
fn is_aligned(dtype: &Dtype) -> bool {
    match dtype.kind() {
        Kind::Struct(parts) => parts.is_aligned(),
        Kind::Subarray(subarray) => is_aligned(subarray.base()),
        _ => false,
    }
}

#[derive(Debug, Default)]
struct Counts {
    /// Dtypes whose parts and printed form are the same as in NumPy.
    equal: usize,
    /// Dtypes whose parts are the same as in NumPy. The text that NumPy prints for them is read as another dtype, so
    /// the printed form is not compared.
    printed_otherwise: usize,
    /// Strings that both NumPy and this crate reject.
    refused: usize,
}

/// Compares NumPy's answer in every line of a file with the answer of this crate.
fn compare(file: &str) -> Counts {
    let mut counts = Counts::default();
    for line in file.lines() {
        let entry: Value = serde_json::from_str(line).expect("a line of JSON");
        let input = entry["input"].as_str().expect("an input");
        let parsed = input.parse::<Dtype>();
        let Some(expected) = entry.get("dtype") else {
            assert!(parsed.is_err(), "NumPy refuses {input:?}, here it is {parsed:?}");
            counts.refused += 1;
            continue;
        };
        let dtype = parsed.unwrap_or_else(|error| panic!("{input:?}: {error}"));
        assert_eq!(&describe(&dtype), expected, "{input:?}");
        if let Some(display) = entry.get("display") {
            assert_eq!(&json!(dtype.type_string().to_string()), display, "{input:?}");
            let numpy_str = entry.get("str").unwrap_or(display);
            assert_eq!(&json!(dtype.numpy_str().to_string()), numpy_str, "{input:?}");
            let spelling = if numpy_str == input { numpy_str } else { display };
            assert_eq!(&json!(dtype.to_string()), spelling, "{input:?}");
            counts.equal += 1;
        } else {
            counts.printed_otherwise += 1;
        }
        assert_eq!(dtype.to_string().parse(), Ok(dtype), "{input:?}");
    }
    counts
}

#[test]
fn dtype_parse_and_display_are_as_in_numpy_for_the_sample() {
    let counts = compare(include_str!("../data/dtypes/sample.jsonl"));
    assert!(counts.equal >= 300 && counts.refused >= 50, "{counts:?}");
}

#[test]
fn dtype_parse_and_display_are_as_in_numpy_for_real_files() {
    let counts = compare(include_str!("../data/dtypes/real_files.jsonl"));
    assert_eq!((counts.equal, counts.printed_otherwise, counts.refused), (45, 0, 0));
}

#[test]
#[ignore = "needs a file of data/dtypes/make.py, named by B2ND_DTYPES"]
fn dtype_parse_and_display_are_as_in_numpy_for_a_larger_file() {
    let path = std::env::var("B2ND_DTYPES").expect("B2ND_DTYPES");
    let file = std::fs::read_to_string(path).expect("a file");
    let counts = compare(&file);
    eprintln!("{counts:?}");
    // Fails if the file has too few dtypes, for example none. On CI it has 1500 random dtypes, in a long run 12,000.
    assert!(counts.equal >= 1000, "{counts:?}");
}
