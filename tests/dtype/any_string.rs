//! Any string is either rejected or parsed as a dtype. If this dtype is printed and parsed again, the result is the
//! same dtype.

use std::sync::LazyLock;

use b2nd_serde::dtype::Dtype;
use proptest::prelude::*;
use proptest::sample::{Index, select};
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
fn the_sample_holds_and_some_of_it_is_read() {
    let read = INPUTS.iter().filter(|text| holds(text).expect("holds")).count();
    assert!(read >= 200 && read < INPUTS.len(), "{read}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_string_holds(text in any::<String>()) {
        holds(&text)?;
    }

    #[test]
    fn any_heap_of_pieces_holds(pieces in proptest::collection::vec(select(PIECES.as_slice()), 0..24)) {
        holds(&pieces.concat())?;
    }

    #[test]
    fn a_dtype_with_parts_replaced_holds(
        text in select(&INPUTS[..]),
        edits in proptest::collection::vec((any::<Index>(), 0..3_usize, select(PIECES.as_slice())), 1..4),
    ) {
        let mut chars: Vec<char> = text.chars().collect();
        for (place, removed, piece) in edits {
            let start = place.index(chars.len() + 1);
            let end = (start + removed).min(chars.len());
            chars.splice(start..end, piece.chars());
        }
        holds(&chars.into_iter().collect::<String>())?;
    }
}
