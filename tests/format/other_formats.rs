//! `Meta` and a derived struct in other serde formats: formats with and without field names, text formats and binary
//! formats.

#![cfg(feature = "alloc")]

use crate::common::{EXAMPLE, Seven, meta_of_rank, seven};
use b2nd_serde::{ErrorKind, Layout, Meta, Shapes, from_slice, take_from_slice, to_vec};
use ron::ser::PrettyConfig;
use serde::de::Deserialize as _;
use serde::de::value::{self, BytesDeserializer};
use serde::ser::Serialize as Writable;
use serde_derive::{Deserialize, Serialize};

/// The name of a format, and a function that writes a `Meta` in this format and reads it back.
type RoundTrip = (&'static str, fn(&Meta) -> Meta);

fn formats() -> [RoundTrip; 10] {
    [
        ("JSON", |value| serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()),
        ("JSON value", |value| serde_json::from_value(serde_json::to_value(value).unwrap()).unwrap()),
        ("RON", |value| ron::from_str(&ron::to_string(value).unwrap()).unwrap()),
        ("RON with names of structs", |value| {
            let names = PrettyConfig::new().struct_names(true);
            ron::from_str(&ron::ser::to_string_pretty(value, names).unwrap()).unwrap()
        }),
        ("MessagePack arrays", |value| rmp_serde::from_slice(&rmp_serde::to_vec(value).unwrap()).unwrap()),
        ("MessagePack maps", |value| {
            rmp_serde::from_slice(&rmp_serde::to_vec_named(value).unwrap()).unwrap()
        }),
        ("postcard", |value| postcard::from_bytes(&postcard::to_allocvec(value).unwrap()).unwrap()),
        // BCS has no markers, so each field must be read with the width with which it was written.
        ("BCS", |value| bcs::from_bytes(&bcs::to_bytes(value).unwrap()).unwrap()),
        ("CBOR", |value| {
            let mut bytes = Vec::new();
            ciborium::into_writer(value, &mut bytes).unwrap();
            ciborium::from_reader(&bytes[..]).unwrap()
        }),
        ("TOML", |value| toml::from_str(&toml::to_string(value).unwrap()).unwrap()),
    ]
}

fn each_format(meta: &Meta) {
    for (format, round_trip) in formats() {
        assert_eq!(round_trip(meta), *meta, "{format}");
    }
}

#[test]
fn meta_comes_back_from_each_format() {
    for &layout in Layout::ALL {
        for ndim in [0, 1, 4, 5, 16] {
            each_format(&meta_of_rank(ndim, "[('größe', '<f4')]").with_layout(layout).unwrap());
        }
    }
    // Negative numbers in the shapes also stay the same in every format.
    let negative = Meta::new(Shapes { shape: &[i64::MIN], chunkshape: &[i32::MIN], blockshape: &[-1] }, "");
    each_format(&negative.unwrap());
}

/// The same derived struct is also written in a text format and in a binary format.
#[test]
fn a_struct_from_from_slice_comes_back_from_json_and_postcard() {
    let value: Seven = from_slice(&EXAMPLE).unwrap();
    assert_eq!(serde_json::from_str::<Seven>(&serde_json::to_string(&value).unwrap()).unwrap(), value);
    assert_eq!(postcard::from_bytes::<Seven>(&postcard::to_allocvec(&value).unwrap()).unwrap(), value);
}

#[test]
fn meta_in_ron_and_toml_has_the_names_of_the_entries() {
    let meta = from_slice::<Meta>(&to_vec(&seven()).unwrap()).unwrap();
    let names = PrettyConfig::new().struct_names(true).compact_structs(true).compact_arrays(true);
    assert_eq!(
        ron::ser::to_string_pretty(&meta, names).unwrap(),
        r#"Meta(layout: "b2nd", version: 0, ndim: 2, shape: [3, 5], chunkshape: [2, 3], blockshape: [1, 2], dtype_format: Some(0), dtype: Some("<i4"))"#
    );
    let toml = toml::to_string(&meta.with_layout(Layout::Caterva).unwrap()).unwrap();
    assert_eq!(
        toml,
        "layout = \"caterva\"\nversion = 0\nndim = 2\nshape = [3, 5]\nchunkshape = [2, 3]\nblockshape = [1, 2]\n"
    );
}

/// A struct of a user that is also named `Meta`, but whose fields have other types.
mod user {
    use super::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    pub(super) struct Meta<S, D> {
        pub version: u8,
        pub ndim: u8,
        pub shape: S,
        pub chunkshape: D,
        pub blockshape: D,
        pub dtype_format: u8,
        pub dtype: String,
    }
}

#[test]
fn from_slice_and_to_vec_take_a_user_struct_named_meta_as_seven_entries() {
    let seven = to_vec(&seven()).unwrap();
    let value: user::Meta<Vec<u64>, [u32; 2]> = from_slice(&seven).unwrap();
    assert_eq!((&value.shape[..], &*value.dtype), (&[3, 5][..], "<i4"));
    assert_eq!(to_vec(&value).unwrap(), seven);
    let error = from_slice::<user::Meta<u8, u8>>(&seven).unwrap_err();
    assert_eq!(error.to_string(), "byte 3: shape: invalid type: sequence, expected u8");
}

/// A user's struct with the name and the fields of a `Meta`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename = "Meta")]
struct LookAlike<L, F, D> {
    layout: L,
    version: u8,
    ndim: u8,
    shape: [i64; 0],
    chunkshape: [i32; 0],
    blockshape: [i32; 0],
    dtype_format: F,
    dtype: D,
}

impl<L, F, D> LookAlike<L, F, D> {
    fn new(layout: L, dtype_format: F, dtype: D) -> Self {
        let (shape, chunkshape, blockshape) = ([], [], []);
        Self { layout, version: 0, ndim: 0, shape, chunkshape, blockshape, dtype_format, dtype }
    }
}

const NOT_A_META: &str = "the struct has the name and the fields of `b2nd_serde::Meta`, but is another type: use that \
     type, or rename the struct";

#[test]
fn to_vec_rejects_a_value_for_an_entry_that_the_layout_of_a_user_struct_lacks() {
    fn surplus(value: &impl serde::Serialize) -> String {
        to_vec(value).unwrap_err().to_string()
    }
    let meta = meta_of_rank(0, "<i4").with_layout(Layout::Caterva).unwrap();
    assert_eq!(to_vec(&LookAlike::new("caterva", None::<u8>, None::<&str>)).unwrap(), to_vec(&meta).unwrap());

    let says = "layout caterva has no entry dtype, but the value has one";
    assert_eq!(surplus(&LookAlike::new("caterva", None::<u8>, Some("<i4"))), says);
    assert_eq!(surplus(&LookAlike::new("caterva", None::<u8>, "<i4")), says);
    assert_eq!(surplus(&LookAlike::new("caterva", None::<u8>, format_args!("<i4"))), says);
    assert_eq!(surplus(&LookAlike::new("caterva", None::<u8>, [0_u8; 3])), says);
    assert_eq!(surplus(&LookAlike::new("caterva", None::<u8>, ())), says);
    let says = "layout b2nd-six has no entry dtype_format, but the value has one";
    assert_eq!(surplus(&LookAlike::new("b2nd-six", Some(0), Some("int32"))), says);
    assert_eq!(surplus(&LookAlike::new("b2nd-six", 0, "int32")), says);
}

#[test]
fn to_vec_rejects_a_user_struct_that_looks_like_a_meta_but_has_no_layout_name() {
    let error = to_vec(&LookAlike::new(7, Some(0), Some("<i4"))).unwrap_err();
    assert_eq!((error.to_string().as_str(), error.kind()), (NOT_A_META, ErrorKind::UnsupportedType));
}

#[test]
fn from_slice_and_to_vec_reject_a_user_struct_that_looks_like_a_meta() {
    #[derive(Debug, Serialize)]
    #[serde(rename = "Meta")]
    struct Eight {
        version: u8,
        ndim: u8,
        shape: [i64; 0],
        chunkshape: [i32; 0],
        blockshape: [i32; 0],
        dtype_format: u8,
        dtype: &'static str,
        layout: &'static str,
    }
    let bytes = to_vec(&meta_of_rank(2, "<i4")).unwrap();
    type ToRead = LookAlike<String, Option<u8>, Option<String>>;
    let says = format!("byte 0: {NOT_A_META}");
    assert_eq!(from_slice::<ToRead>(&bytes).unwrap_err().to_string(), says);
    let error = take_from_slice::<ToRead>(&bytes).unwrap_err();
    assert_eq!((error.to_string(), error.kind()), (says, ErrorKind::UnsupportedType));

    let eight = Eight {
        version: 0,
        ndim: 0,
        shape: [],
        chunkshape: [],
        blockshape: [],
        dtype_format: 0,
        dtype: "<i4",
        layout: "b2nd",
    };
    let error = to_vec(&eight).unwrap_err().to_string();
    assert_eq!(error, "the value has 8 entries, but a layout has 7, 6 or 5");
}

/// Asserts that a struct with the name of a `Meta` and its number of fields, but other fields, is neither written nor
/// read.
macro_rules! named_meta {
    ($struct:ident { $($field:ident: $type:ty = $value:expr),* }) => {{
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename = "Meta")]
        struct $struct {
            $($field: $type,)*
        }
        let value = $struct { $($field: $value,)* };
        let error = to_vec(&value).unwrap_err().to_string();
        assert_eq!(error, "the value has 8 entries, but a layout has 7, 6 or 5", "{value:?}");
        let bytes = to_vec(&meta_of_rank(1, "<i4")).unwrap();
        assert!(from_slice::<$struct>(&bytes).is_err());
    }};
}

#[test]
fn to_vec_and_from_slice_compare_all_eight_field_names_of_a_struct_named_meta() {
    named_meta! {
        AuthorAndLicense {
            layout: String = "caterva".into(), version: u8 = 0, ndim: u8 = 1, shape: [u64; 1] = [6],
            chunkshape: [u32; 1] = [4], blockshape: [u32; 1] = [2], author: String = "A".into(),
            license: String = "MIT".into()
        }
    }
    named_meta! {
        OtherShape {
            layout: String = "b2nd".into(), version: u8 = 0, ndim: u8 = 1, dims: [u64; 1] = [6],
            chunkshape: [u32; 1] = [4], blockshape: [u32; 1] = [2], dtype_format: u8 = 0, dtype: String = "|u1".into()
        }
    }
    named_meta! {
        DtypeFirst {
            layout: String = "caterva".into(), version: u8 = 0, ndim: u8 = 1, shape: [u64; 1] = [6],
            chunkshape: [u32; 1] = [4], blockshape: [u32; 1] = [2], dtype: String = "|u1".into(), dtype_format: u8 = 0
        }
    }
}

/// A hand-written `Serialize` can claim to be a `Meta`, and then give fewer fields than it claimed.
#[test]
fn to_vec_rejects_a_struct_named_meta_that_gives_fewer_fields_than_it_says() {
    struct Short;
    impl Writable for Short {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            use serde::ser::SerializeStruct as _;
            let mut fields = serializer.serialize_struct("Meta", 8)?;
            fields.serialize_field("layout", "caterva")?;
            fields.serialize_field("version", &0)?;
            fields.serialize_field("ndim", &0)?;
            for name in ["shape", "chunkshape", "blockshape"] {
                fields.serialize_field(name, &[0; 0])?;
            }
            fields.end()
        }
    }
    assert_eq!(to_vec(&Short).unwrap_err().to_string(), "layout b2nd has 7 entries, but the value gives 5");
}

/// A hand-written `Serialize` can claim to be a `Meta`, ignore the error of its layout, and then give another layout.
#[test]
fn to_vec_rejects_a_struct_named_meta_that_ignores_the_error_of_its_layout() {
    struct Retrying {
        other_layouts: &'static [&'static str],
    }
    impl Writable for Retrying {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            use serde::ser::SerializeStruct as _;
            let mut fields = serializer.serialize_struct("Meta", 8)?;
            fields.serialize_field("layout", "zarr").unwrap_err();
            for layout in self.other_layouts {
                let _ = fields.serialize_field("layout", layout);
            }
            let _ = fields.serialize_field("version", &0);
            let _ = fields.serialize_field("ndim", &0);
            for name in ["shape", "chunkshape", "blockshape"] {
                let _ = fields.serialize_field(name, &[0; 0]);
            }
            let _ = fields.serialize_field("dtype_format", &0);
            let _ = fields.serialize_field("dtype", "|u1");
            fields.end()
        }
    }
    for other_layouts in [&[][..], &["b2nd"]] {
        let error = to_vec(&Retrying { other_layouts }).unwrap_err().to_string();
        assert_eq!(error, "the type ignored an error in one of its entries", "{other_layouts:?}");
    }
}

#[test]
fn meta_deserialize_checks_bytes_from_another_format() {
    fn read(bytes: &[u8]) -> Result<Meta, value::Error> {
        Meta::deserialize(BytesDeserializer::new(bytes))
    }
    for &layout in Layout::ALL {
        let meta = meta_of_rank(5, "<i4").with_layout(layout).unwrap();
        let mut bytes = to_vec(&meta).unwrap();
        assert_eq!(read(&bytes).unwrap(), meta);
        for cut in 0..bytes.len() {
            assert!(read(&bytes[..cut]).is_err(), "{layout}, {cut} bytes");
        }
        bytes.push(0);
        let error = read(&bytes).unwrap_err().to_string();
        assert!(error.ends_with("1 byte is left after the metalayer"), "{error}");
    }
}
