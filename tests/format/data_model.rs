//! Each of the 29 types of serde's data model is written and read in each position. The snapshots record for each
//! position whether this works, or else the error.

#![cfg(feature = "alloc")]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::common::seven;
use b2nd_serde::{ErrorKind, from_slice, to_vec};
use serde::de::DeserializeOwned;
use serde::ser::{Serialize as Writable, SerializeTuple, Serializer};
use serde_bytes::{ByteBuf, Bytes};
use serde_derive::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct UnitStruct;
#[derive(Serialize, Deserialize)]
struct NewtypeStruct<T>(T);
#[derive(Serialize, Deserialize)]
struct TupleStruct(u8, u8);
#[derive(Serialize, Deserialize)]
struct Struct {
    a: u8,
    b: u8,
}
#[derive(Serialize, Deserialize)]
enum Enum {
    Unit,
    Newtype(u8),
    Tuple(u8, u8),
    Struct { a: u8 },
}

#[derive(Serialize, Deserialize)]
enum Kind {
    #[serde(rename = "<i4")]
    I4,
    #[serde(rename = "<f8")]
    F8,
}

/// A metalayer with two dimensions in which `value` replaces one part. `place` names this part: an entry, `shape[0]`,
/// or `metalayer` for the whole metalayer.
struct With<'a, T: ?Sized> {
    place: &'a str,
    value: &'a T,
}

impl<T: Writable + ?Sized> Writable for With<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { place, value } = *self;
        if place == "metalayer" {
            return value.serialize(serializer);
        }
        let mut entries = serializer.serialize_tuple(7)?;
        macro_rules! entry {
            ($name:literal, $other:expr) => {
                if place == $name {
                    entries.serialize_element(value)?;
                } else {
                    entries.serialize_element($other)?;
                }
            };
        }
        entry!("version", &0);
        entry!("ndim", &2);
        if place == "shape[0]" {
            entries.serialize_element(&(value, 5))?;
        } else {
            entry!("shape", &[3, 5]);
        }
        entry!("chunkshape", &[2, 3]);
        entry!("blockshape", &[1, 2]);
        entry!("dtype_format", &0);
        entry!("dtype", "<i4");
        entries.end()
    }
}

/// The results of writing a value in each place of a metalayer, one line per place.
fn written<T: Writable + ?Sized>(name: &str, value: &T) -> String {
    let mut lines = String::new();
    for place in ["metalayer", "version", "shape", "shape[0]", "dtype"] {
        let outcome = match to_vec(&With { place, value }) {
            Ok(bytes) => format!("ok, {} bytes", bytes.len()),
            Err(error) => {
                assert_ne!(error.kind(), ErrorKind::Custom, "{error}");
                error.to_string()
            }
        };
        writeln!(lines, "{name:16} {place:9} {outcome}").unwrap();
    }
    lines
}

#[test]
fn to_vec_writes_or_rejects_each_type_in_each_position() {
    let table: String = [
        written("bool", &true),
        written("i8", &1_i8),
        written("i16", &1_i16),
        written("i32", &1_i32),
        written("i64", &1_i64),
        written("i128", &1_i128),
        written("u8", &1_u8),
        written("u16", &1_u16),
        written("u32", &1_u32),
        written("u64", &1_u64),
        written("u128", &1_u128),
        written("f32", &1.0_f32),
        written("f64", &1.0_f64),
        written("char", &'O'),
        written("string", "O"),
        written("byte array", Bytes::new(b"O")),
        written("none", &None::<u8>),
        written("some", &Some(1)),
        written("unit", &()),
        written("unit_struct", &UnitStruct),
        written("unit_variant", &Enum::Unit),
        written("dtype as enum", &Kind::F8),
        written("newtype_struct", &NewtypeStruct(1)),
        written("newtype_variant", &Enum::Newtype(1)),
        written("seq", &vec![1, 2]),
        written("tuple", &(1, 2)),
        written("tuple_struct", &TupleStruct(1, 2)),
        written("tuple_variant", &Enum::Tuple(1, 2)),
        written("map", &BTreeMap::from([(1, 2)])),
        written("struct", &Struct { a: 1, b: 2 }),
        written("struct_variant", &Enum::Struct { a: 1 }),
        written("Display", &format_args!("<i{}", 4)),
    ]
    .concat();
    crate::common::snapshot("data_model_written", &table);
}

/// The results of reading a `T` from each entry of the worked example, one line per entry.
fn read<T: DeserializeOwned>(name: &str) -> String {
    fn outcome<T: DeserializeOwned>() -> String {
        match from_slice::<T>(&to_vec(&seven()).unwrap()) {
            Ok(_) => "ok".into(),
            Err(error) => error.to_string(),
        }
    }
    type Shape<T> = (u8, u8, T, [u32; 2], [u32; 2], u8, String);
    type Flat<T> = (T, u8, [u64; 2], [u32; 2], [u32; 2], u8, String);
    type Dtype<T> = (u8, u8, [u64; 2], [u32; 2], [u32; 2], u8, T);
    [
        ("metalayer", outcome::<T>()),
        ("version", outcome::<Flat<T>>()),
        ("shape", outcome::<Shape<T>>()),
        ("shape[0]", outcome::<Shape<(T, u64)>>()),
        ("dtype", outcome::<Dtype<T>>()),
    ]
    .iter()
    .fold(String::new(), |lines, (place, outcome)| lines + &format!("{name:16} {place:9} {outcome}\n"))
}

#[test]
fn from_slice_reads_or_rejects_each_type_in_each_position() {
    let table: String = [
        read::<bool>("bool"),
        read::<i8>("i8"),
        read::<i16>("i16"),
        read::<i32>("i32"),
        read::<i64>("i64"),
        read::<i128>("i128"),
        read::<u8>("u8"),
        read::<u16>("u16"),
        read::<u32>("u32"),
        read::<u64>("u64"),
        read::<u128>("u128"),
        read::<f32>("f32"),
        read::<f64>("f64"),
        read::<char>("char"),
        read::<String>("string"),
        read::<ByteBuf>("byte array"),
        read::<Option<u64>>("option"),
        read::<()>("unit"),
        read::<UnitStruct>("unit_struct"),
        read::<NewtypeStruct<u64>>("newtype_struct"),
        read::<Enum>("enum"),
        read::<Kind>("dtype as enum"),
        read::<Vec<u64>>("seq"),
        read::<(u64, u64)>("tuple"),
        read::<TupleStruct>("tuple_struct"),
        read::<BTreeMap<String, u64>>("map"),
        read::<Struct>("struct"),
    ]
    .concat();
    crate::common::snapshot("data_model_read", &table);
}

#[test]
fn to_vec_and_from_slice_reject_tagged_enums_and_flatten() {
    #[derive(Serialize, Deserialize)]
    struct Six(u8, [u64; 2], [u32; 2], [u32; 2], u8, String);
    #[derive(Serialize, Deserialize)]
    enum External {
        #[allow(dead_code)]
        Seven(crate::common::Seven),
    }
    #[derive(Serialize, Deserialize)]
    #[serde(tag = "kind")]
    enum Internal {
        Struct {
            ndim: u8,
            shape: [u64; 2],
            chunkshape: [u32; 2],
            blockshape: [u32; 2],
            format: u8,
            dtype: String,
        },
    }
    #[derive(Serialize, Deserialize)]
    #[serde(tag = "version", content = "rest")]
    enum Adjacent {
        Six(Six),
    }
    #[derive(Serialize, Deserialize)]
    struct Flattened {
        #[serde(flatten)]
        seven: crate::common::Seven,
    }
    let values = || (2, [3, 5], [2, 3], [1, 2], 0, "<i4".to_owned());
    let (ndim, shape, chunkshape, blockshape, format, dtype) = values();
    let refused = [
        to_vec(&External::Seven(seven())).unwrap_err(),
        to_vec(&Internal::Struct { ndim, shape, chunkshape, blockshape, format, dtype }).unwrap_err(),
        to_vec(&Adjacent::Six(Six(2, [3, 5], [2, 3], [1, 2], 0, "<i4".into()))).unwrap_err(),
        to_vec(&Flattened { seven: seven() }).unwrap_err(),
    ];
    let bytes = to_vec(&seven()).unwrap();
    let also = [
        from_slice::<External>(&bytes).err().unwrap(),
        from_slice::<Internal>(&bytes).err().unwrap(),
        from_slice::<Adjacent>(&bytes).err().unwrap(),
        from_slice::<Flattened>(&bytes).err().unwrap(),
    ];
    let names = ["external", "internal", "adjacent", "flatten"];
    let mut lines = String::new();
    for (name, (write, read)) in names.iter().zip(refused.iter().zip(&also)) {
        writeln!(lines, "{name:9} written: {write}\n{name:9} read:    {read}").unwrap();
    }
    crate::common::snapshot("enums_and_flatten", &lines);
}
