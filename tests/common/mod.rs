//! Parts that several tests share: structs as a user would derive them, and snapshots.

#![allow(dead_code, unreachable_pub, reason = "each test takes what it needs")]

use std::io::Write as _;
use std::marker::PhantomData;
use std::path::Path;
use std::{fmt, io, iter};

use b2nd_serde::{Meta, Shapes};
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde_derive::{Deserialize, Serialize};

/// A struct of all entries of a metalayer, each with its most common Rust type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seven {
    pub version: u8,
    pub ndim: u8,
    pub shape: Vec<i64>,
    pub chunkshape: Vec<i32>,
    pub blockshape: Vec<i32>,
    pub dtype_format: u8,
    pub dtype: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Six {
    pub version: u8,
    pub ndim: u8,
    pub shape: Vec<i64>,
    pub chunkshape: Vec<i32>,
    pub blockshape: Vec<i32>,
    pub dtype: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Five {
    pub version: u8,
    pub ndim: u8,
    pub shape: Vec<i64>,
    pub chunkshape: Vec<i32>,
    pub blockshape: Vec<i32>,
}

/// The bytes of the worked example of the draft specification: [`seven`].
#[rustfmt::skip]
pub const EXAMPLE: [u8; 53] = [
    0x97, 0x00, 0x02,
    0x92, 0xd3, 0, 0, 0, 0, 0, 0, 0, 3, 0xd3, 0, 0, 0, 0, 0, 0, 0, 5,
    0x92, 0xd2, 0, 0, 0, 2, 0xd2, 0, 0, 0, 3,
    0x92, 0xd2, 0, 0, 0, 1, 0xd2, 0, 0, 0, 2,
    0x00, 0xdb, 0, 0, 0, 3, b'<', b'i', b'4',
];

/// The seven entries of the worked example of the draft specification.
pub fn seven() -> Seven {
    Seven {
        version: 0,
        ndim: 2,
        shape: vec![3, 5],
        chunkshape: vec![2, 3],
        blockshape: vec![1, 2],
        dtype_format: 0,
        dtype: "<i4".into(),
    }
}

pub fn six() -> Six {
    let Seven { version, ndim, shape, chunkshape, blockshape, .. } = seven();
    Six { version, ndim, shape, chunkshape, blockshape, dtype: "int32".into() }
}

pub fn five() -> Five {
    let Seven { version, ndim, shape, chunkshape, blockshape, .. } = seven();
    Five { version, ndim, shape, chunkshape, blockshape }
}

/// A `Meta` of a rank, with a different value in each entry and dimension.
pub fn meta_of_rank(ndim: u8, dtype: &str) -> Meta {
    let shape: Vec<i64> = (0..ndim).map(|i| 0x0100_0000_0000 + i64::from(i)).collect();
    let chunkshape: Vec<i32> = (0..ndim).map(|i| 0x0200_0000 + i32::from(i)).collect();
    let blockshape: Vec<i32> = (0..ndim).map(|i| 0x0300 + i32::from(i)).collect();
    Meta::new(Shapes { shape: &shape, chunkshape: &chunkshape, blockshape: &blockshape }, dtype).unwrap()
}

/// The text of a structured dtype. It has about 3 kB.
pub fn long_dtype() -> String {
    let fields: Vec<String> = (0..145).map(|i| format!("('field_{i:03}', '<f8')")).collect();
    format!("[{}]", fields.join(", "))
}

// `unhex`, `Seven` and `shows_as_much_as_fits` are also in the crate `b2nd-lab`. They are repeated here, because the
// published package does not contain that crate.

pub fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

/// Returns true if the test runs in the published package and this package lacks the file or folder at `path`. The test
/// should then end early. The function writes the test's name directly to stderr, because libtest hides the output of a
/// passing test.
pub fn is_left_out(path: &str) -> bool {
    // Cargo adds `Cargo.toml.orig` to every package; the repository does not have it.
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_package = root.join("Cargo.toml.orig").exists();
    let is_left_out = is_package && !root.join(path).exists();
    if is_left_out {
        let test = std::thread::current();
        let test = test.name().unwrap_or("a test");
        let mut past_libtest = io::stderr().lock();
        writeln!(past_libtest, "{test}: skipped from here on, as the package has no {path}").unwrap();
    }
    is_left_out
}

/// A type that reads the elements of a sequence itself.
pub trait FromSeq: Sized {
    fn from_seq<'de, A: SeqAccess<'de>>(seq: A) -> Result<Self, A::Error>;
}

/// Deserializes a `T` with [`FromSeq`].
#[derive(Debug)]
pub struct BySeq<T>(pub T);

impl<'de, T: FromSeq> de::Deserialize<'de> for BySeq<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Elements<T>(PhantomData<T>);

        impl<'de, T: FromSeq> Visitor<'de> for Elements<T> {
            type Value = BySeq<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a sequence")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<BySeq<T>, A::Error> {
                T::from_seq(seq).map(BySeq)
            }
        }

        deserializer.deserialize_seq(Elements(PhantomData))
    }
}

/// A sequence whose length serde does not know in advance.
pub struct Unsized<I>(pub I);

impl<I: Iterator<Item: serde::Serialize> + Clone> serde::Serialize for Unsized<I> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut values = self.0.clone();
        serializer.collect_seq(iter::from_fn(|| values.next()))
    }
}

/// Formats a value into buffers of every length that is too short. Asserts that the buffer receives all text that fits,
/// and that the buffer's error is returned.
#[track_caller]
pub fn shows_as_much_as_fits(shown: &dyn fmt::Display) {
    struct Room(String, usize);

    impl fmt::Write for Room {
        fn write_str(&mut self, part: &str) -> fmt::Result {
            if self.0.len() + part.len() > self.1 {
                return Err(fmt::Error);
            }
            self.0.push_str(part);
            Ok(())
        }
    }

    let whole = shown.to_string();
    for length in 0..whole.len() {
        let mut room = Room(String::new(), length);
        assert_eq!(fmt::Write::write_fmt(&mut room, format_args!("{shown}")), Err(fmt::Error), "{length}");
        assert!(whole.starts_with(&room.0), "{length}: {}", room.0);
    }
}

/// Compares a text with the snapshot of this name in the folder `snapshots`.
#[track_caller]
pub fn snapshot(name: &str, text: &str) {
    if is_left_out(&format!("snapshots/{name}.snap")) {
        return;
    }
    insta::with_settings!({
        snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots"),
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, text);
    });
}
