//! Any string is either rejected or parsed as a dtype. If this dtype is printed and parsed again, the result is the
//! same dtype.

use std::cell::Cell;
use std::sync::LazyLock;

use b2nd_serde::dtype::Dtype;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestRunner;
use serde_json::Value;

/// The dtype strings of `sample.jsonl`, which NumPy reads or rejects.
static INPUTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    include_str!("../data/dtypes/sample.jsonl")
        .lines()
        .filter_map(|line| {
            let entry: Value = serde_json::from_str(line).ok()?;
            entry["input"].as_str().map(String::from)
        })
        .collect()
});

/// Pieces of dtype strings.
const PIECES: [&str; 44] = [
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ", ",
    ":",
    "'",
    "\"",
    "\\",
    "\\x41",
    "\\u65e5",
    "a",
    "b",
    "é",
    "日",
    "f0",
    "0",
    "1",
    "3",
    "64",
    "2147483647",
    "4294967296",
    "'<i4'",
    "'S'",
    "'O'",
    "'u1'",
    "'>M8[25s]'",
    "bfloat16",
    "numpy.record, ",
    "('a', '<f8')",
    "(('t', 'b'), 'U3')",
    "('c', 'i2', (2, 3))",
    "'names': ",
    "'formats': ",
    "'offsets': ",
    "'titles': ",
    "'itemsize': ",
    "'aligned': ",
    "True",
    "None",
    "<",
    "M8[",
];

/// Asserts the promises that hold for any string. Returns whether the string is a dtype.
fn holds(text: &str) -> Result<bool, TestCaseError> {
    match text.parse::<Dtype>() {
        Ok(dtype) => {
            for printed in [dtype.to_string(), dtype.type_string().to_string(), dtype.numpy_str().to_string()]
            {
                let reread = printed.parse::<Dtype>();
                prop_assert_eq!(reread.as_ref(), Ok(&dtype), "{} -> {}", text, printed);
                prop_assert_eq!(reread.map(|dtype| dtype.to_string()), Ok(printed));
            }
            Ok(true)
        }
        Err(error) => {
            prop_assert_eq!(error.input(), text);
            let character = error.character().expect("a place in the string");
            prop_assert!(character <= text.chars().count(), "{}", error);
            Ok(false)
        }
    }
}

#[test]
fn dtype_parse_reads_some_of_the_sample_and_rejects_the_rest() {
    let read = INPUTS.iter().filter(|text| holds(text).expect("holds")).count();
    assert!(read >= 200 && read < INPUTS.len(), "{read}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn dtype_parse_reads_or_rejects_any_string(text in any::<String>()) {
        holds(&text)?;
    }

    #[test]
    fn dtype_parse_reads_or_rejects_any_pieces(pieces in proptest::collection::vec(select(PIECES.as_slice()), 0..24)) {
        holds(&pieces.concat())?;
    }
}

/// A string of the sample, with some parts replaced.
fn edited() -> impl Strategy<Value = String> {
    let edits = proptest::collection::vec((any::<Index>(), 0..3_usize, select(PIECES.as_slice())), 1..4);
    (select(&INPUTS[..]), edits).prop_map(|(text, edits)| {
        let mut chars: Vec<char> = text.chars().collect();
        for (place, removed, piece) in edits {
            let start = place.index(chars.len() + 1);
            let end = (start + removed).min(chars.len());
            chars.splice(start..end, piece.chars());
        }
        chars.into_iter().collect()
    })
}

#[test]
fn dtype_parse_reads_or_rejects_an_edited_dtype() {
    let read = Cell::new(0);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(2000));
    let result = runner.run(&edited(), |text| {
        read.set(read.get() + u32::from(holds(&text)?));
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    // About one in ninety is a dtype.
    assert!((5..1995).contains(&read.get()), "{read:?} of 2000 are read");
}
