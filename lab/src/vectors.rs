//! The conformance vectors: bytes, and what a reader must do with them. The README in `tests/vectors` describes them.
//! Tests generate the vectors again, and compare them with the files in this folder. With `B2ND_VECTORS=write`, the
//! tests write the files instead.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write as _};
use std::{env, fs};

use serde::{Deserialize, Serialize};

use crate::{root, unhex};

/// What a reader must do with the bytes of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The reader must accept the bytes, and read the values of the vector.
    Accept,
    /// The reader must return an error.
    Refuse,
    /// The reader may accept or refuse the bytes, because real files have such bytes, or because no document says what
    /// is right.
    Either,
}

/// A vector: its bytes, and the values or the error that this project reads from them.
#[derive(Debug, Serialize)]
struct Vector<V, E> {
    name: String,
    hex: String,
    verdict: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<V>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<E>,
}

/// A function that reads bytes. It returns the values, an error, or both.
pub type Read<V, E> = fn(&[u8]) -> (Option<V>, Option<E>);

/// The vectors of a file, in the order in which they were added.
#[derive(Debug)]
pub struct List<V, E> {
    vectors: Vec<Vector<V, E>>,
    read: Read<V, E>,
}

impl<V: Debug + Serialize, E: Debug + Serialize> List<V, E> {
    /// Makes an empty list. The function `read` reads each vector that is added.
    pub fn new(read: Read<V, E>) -> Self {
        Self { vectors: Vec::new(), read }
    }

    fn add(&mut self, name: String, bytes: &[u8], verdict: Verdict, why: Option<&'static str>) {
        let (values, error) = (self.read)(bytes);
        match verdict {
            Verdict::Accept => assert!(error.is_none(), "{name}: {error:?}"),
            Verdict::Refuse => assert!(error.is_some(), "{name}: {values:?}"),
            Verdict::Either => {}
        }
        let values = values.filter(|_| verdict != Verdict::Refuse);
        self.vectors.push(Vector { name, hex: hex(bytes), verdict, why, values, error });
    }

    pub fn good(&mut self, name: impl Into<String>, bytes: &[u8]) {
        self.add(name.into(), bytes, Verdict::Accept, None);
    }

    pub fn bad(&mut self, name: impl Into<String>, bytes: &[u8]) {
        self.add(name.into(), bytes, Verdict::Refuse, None);
    }

    pub fn either(&mut self, name: impl Into<String>, bytes: &[u8], why: &'static str) {
        self.add(name.into(), bytes, Verdict::Either, Some(why));
    }

    /// Compares the vectors with their file, or writes the file.
    pub fn hold_against(&self, file: &str) {
        let mut names: Vec<&str> = self.vectors.iter().map(|vector| &*vector.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "two vectors have one name");
        let lines: Vec<_> =
            self.vectors.iter().map(|vector| serde_json::to_string(vector).unwrap()).collect();
        hold_text(file, &format!("[\n{}\n]\n", lines.join(",\n")));
        let row = format!("| `{file}` | {} | ", lines.len());
        assert!(
            text("README.md").contains(&row),
            "the README says another number of vectors than {}",
            lines.len()
        );
    }
}

/// Returns a copy of the bytes, in which `new` overwrites the bytes at the offset `at`.
pub fn with(bytes: &[u8], at: usize, new: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + new.len()].copy_from_slice(new);
    bytes
}

/// A vector, as it is in its JSON file.
#[derive(Clone, Debug, Deserialize)]
pub struct InFile {
    pub name: String,
    pub hex: String,
    pub verdict: Verdict,
    #[serde(default)]
    pub values: serde_json::Value,
    #[serde(default)]
    pub error: serde_json::Value,
}

impl InFile {
    pub fn bytes(&self) -> Vec<u8> {
        unhex(&self.hex)
    }
}

pub fn read(file: &str) -> Vec<InFile> {
    serde_json::from_str(&text(file)).unwrap()
}

fn text(file: &str) -> String {
    fs::read_to_string(root().join("tests/vectors").join(file)).unwrap()
}

/// The results of another implementation, by the name of the vector. A vector is left out if the implementation does
/// what the verdict of the vector requires.
pub type Answers = BTreeMap<String, String>;

/// Compares the answers of an implementation with those in `others.json`, or writes them to this file.
pub fn hold_answers(file: &str, who: &str, answers: &Answers) {
    let mut all: BTreeMap<String, BTreeMap<String, Answers>> =
        serde_json::from_str(&text("others.json")).unwrap();
    all.entry(file.to_owned()).or_default().insert(who.to_owned(), answers.clone());
    hold_text("others.json", &format!("{}\n", serde_json::to_string_pretty(&all).unwrap()));
}

fn hold_text(file: &str, expected: &str) {
    if env::var_os("B2ND_VECTORS").is_some_and(|what| what == "write") {
        fs::write(root().join("tests/vectors").join(file), expected).unwrap();
        return;
    }
    let found = text(file);
    for (expected, found) in expected.lines().zip(found.lines()) {
        assert_eq!(found, expected, "{file}; B2ND_VECTORS=write writes it");
    }
    assert_eq!(found.lines().count(), expected.lines().count(), "{file}; B2ND_VECTORS=write writes it");
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        write!(digits, "{byte:02x}").unwrap();
        digits
    })
}

/// The name of a variant as text: `UnexpectedEnd` is `unexpected-end`.
pub fn kebab(variant: &impl Debug) -> String {
    let mut text = String::new();
    for (position, letter) in format!("{variant:?}").char_indices() {
        if letter.is_uppercase() && position > 0 {
            text.push('-');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}
