//! Dtypes: the printed form parses to the same dtype.

use b2nd_serde::Dtype;

pub fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match text.parse::<Dtype>() {
        Ok(dtype) => {
            for printed in [dtype.to_string(), dtype.type_string().to_string(), dtype.numpy_str().to_string()]
            {
                let again: Dtype =
                    printed.parse().unwrap_or_else(|error| panic!("{text} prints {printed}: {error}"));
                assert_eq!(again, dtype, "{text} prints {printed}");
                assert_eq!(again.to_string(), printed);
                assert_eq!((again.item_size(), again.alignment()), (dtype.item_size(), dtype.alignment()));
            }
            let json = serde_json::to_string(&dtype).expect("a string");
            assert_eq!(serde_json::from_str::<Dtype>(&json).expect("what was written"), dtype);
            for field in dtype.fields() {
                assert!(
                    field.offset() + field.dtype().item_size() <= dtype.item_size(),
                    "{text}: {}",
                    field.name()
                );
                assert_eq!(dtype.field(field.name()), Some(field), "{text}: names differ");
            }
        }
        Err(error) => {
            assert_eq!(error.input(), text);
            assert!(error.character().is_some_and(|character| character <= text.chars().count()), "{error}");
        }
    }
}
