//! Structs with attributes of serde: a struct for all layouts, fields with other names, and entries that are omitted or
//! ignored.

#![cfg(feature = "alloc")]

use std::fmt;

use crate::common::{five, seven, six};
use b2nd_serde::{Deserializer, Entry, ErrorKind, Layout, Meta, Shapes, from_slice, to_vec};
use serde::de::IgnoredAny;
use serde_derive::{Deserialize, Serialize};
use serde_json::{Value, json};

fn bytes_of(layout: Layout) -> Vec<u8> {
    let meta =
        Meta::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] }, "int32").unwrap();
    to_vec(&meta.with_layout(layout).unwrap()).unwrap()
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct AnyLayout {
    version: u8,
    ndim: u8,
    shape: Vec<i64>,
    chunkshape: Vec<i32>,
    blockshape: Vec<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dtype_format: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dtype: Option<String>,
}

#[test]
fn from_slice_and_to_vec_take_one_struct_with_options_for_three_layouts() {
    for (layout, dtype_format, dtype) in [
        (Layout::B2nd, Some(0), Some("int32")),
        (Layout::B2ndSix, None, Some("int32")),
        (Layout::Caterva, None, None),
    ] {
        let bytes = bytes_of(layout);
        let value: AnyLayout = from_slice(&bytes).unwrap();
        assert_eq!((value.dtype_format, value.dtype.as_deref()), (dtype_format, dtype), "{layout}");
        assert_eq!((&value.shape[..], &value.blockshape[..]), (&[3, 5][..], &[1, 2][..]));
        assert_eq!(to_vec(&value).unwrap(), bytes, "{layout}");
    }
    let mismarked: AnyLayout = from_slice(&bytes_of(Layout::B2ndMismarked)).unwrap();
    assert_eq!(to_vec(&mismarked).unwrap(), bytes_of(Layout::B2nd));
}

#[test]
fn from_slice_gives_absent_entries_a_default_or_names_the_missing_field() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct WithDefaults {
        version: u8,
        ndim: u8,
        shape: Vec<i64>,
        chunkshape: Vec<i32>,
        blockshape: Vec<i32>,
        #[serde(default)]
        dtype_format: u8,
        #[serde(default = "unknown")]
        dtype: String,
    }
    fn unknown() -> String {
        "|V1".into()
    }
    let value: WithDefaults = from_slice(&bytes_of(Layout::Caterva)).unwrap();
    assert_eq!((value.dtype_format, value.dtype.as_str()), (0, "|V1"));

    const MISSING: &str = "byte 0: missing field `dtype_format`: the metalayer has no such entry, so the field must be an \
                           `Option` or have a `default`";
    let error = from_slice::<crate::common::Seven>(&bytes_of(Layout::Caterva)).unwrap_err();
    assert_eq!(error.to_string(), MISSING);
    let error = from_slice::<crate::common::Seven>(&bytes_of(Layout::B2ndSix)).unwrap_err();
    assert_eq!(error.to_string(), MISSING);
}

#[test]
fn from_slice_accepts_any_names_in_a_struct_of_seven() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct OtherNames {
        a: u8,
        b: u8,
        c: Vec<i64>,
        d: Vec<i32>,
        e: Vec<i32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        f: Option<u8>,
        #[serde(skip_serializing_if = "Option::is_none")]
        g: Option<String>,
    }
    for layout in [Layout::B2nd, Layout::B2ndSix, Layout::Caterva] {
        let bytes = bytes_of(layout);
        let value: OtherNames = from_slice(&bytes).unwrap();
        assert_eq!(value.g.is_some(), layout != Layout::Caterva);
        assert_eq!(to_vec(&value).unwrap(), bytes);
    }
}

#[test]
fn to_vec_rejects_a_struct_that_leaves_out_only_the_dtype() {
    let value = AnyLayout { dtype: None, ..from_slice(&bytes_of(Layout::B2nd)).unwrap() };
    let error = to_vec(&value).unwrap_err();
    assert_eq!(
        error.to_string(),
        "field `dtype_format` is in the position of `dtype`: in layout b2nd-six fields must follow the order version, \
         ndim, shape, chunkshape, blockshape, dtype"
    );
    assert_eq!(error.kind(), ErrorKind::FieldOrder);
}

#[test]
fn to_vec_and_from_slice_check_the_new_names_of_renamed_fields() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Renamed {
        version: u8,
        ndim: u8,
        shape: [u64; 2],
        #[serde(rename = "chunks")]
        chunk_shape: [u32; 2],
        #[serde(rename(serialize = "blocks", deserialize = "block_shape"))]
        blockshape: [u32; 2],
        dtype_format: u8,
        #[serde(rename = "data_type")]
        dtype: String,
    }
    let bytes = to_vec(&seven()).unwrap();
    assert_eq!(to_vec(&from_slice::<Renamed>(&bytes).unwrap()).unwrap(), bytes);
}

#[test]
fn from_slice_does_not_count_aliases_as_entries() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Aliased<T> {
        version: u8,
        ndim: u8,
        #[serde(alias = "dims", alias = "dimensions")]
        shape: [u64; 2],
        #[serde(alias = "chunks")]
        chunkshape: [u32; 2],
        #[serde(alias = "blocks", alias = "block_shape")]
        blockshape: [u32; 2],
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dtype_format: Option<u8>,
        #[serde(alias = "type", default)]
        dtype: Option<T>,
    }
    let bytes = to_vec(&seven()).unwrap();
    let value: Aliased<String> = from_slice(&bytes).unwrap();
    assert_eq!(value.dtype.as_deref(), Some("<i4"));
    assert_eq!(to_vec(&value).unwrap(), bytes);

    // A shorter layout lacks entries for some fields of the struct. Each entry that it has is still read into the field
    // with its name.
    for layout in [Layout::B2ndSix, Layout::Caterva] {
        let value: Aliased<String> = from_slice(&bytes_of(layout)).unwrap();
        assert_eq!(value.dtype_format, None);
        assert_eq!(value.dtype.is_some(), layout == Layout::B2ndSix);
    }

    // A struct of six fields and a struct of five. In each, one field has two names.
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct SixAliased {
        version: u8,
        ndim: u8,
        #[serde(alias = "dims")]
        shape: [u64; 2],
        chunkshape: [u32; 2],
        blockshape: [u32; 2],
        dtype: String,
    }
    let bytes = to_vec(&six()).unwrap();
    assert_eq!(to_vec(&from_slice::<SixAliased>(&bytes).unwrap()).unwrap(), bytes);
    let error = from_slice::<SixAliased>(&bytes_of(Layout::B2nd)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "byte 0: layout b2nd has 7 entries, but the type takes 6: it has no field for dtype_format"
    );

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct FiveAliased {
        version: u8,
        ndim: u8,
        shape: [u64; 2],
        chunkshape: [u32; 2],
        #[serde(alias = "any")]
        other: [u32; 2],
    }
    let bytes = to_vec(&five()).unwrap();
    assert_eq!(to_vec(&from_slice::<FiveAliased>(&bytes).unwrap()).unwrap(), bytes);
    assert!(from_slice::<FiveAliased>(&bytes_of(Layout::B2ndSix)).is_err());
}

#[test]
fn from_slice_rejects_fields_that_cannot_be_told_apart() {
    // A shorter layout omits some entries. The field names of this struct do not show which fields are omitted: either
    // `dims` or `size` may be the shape.
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "reading fails")]
    struct Unplaced {
        version: u8,
        ndim: u8,
        #[serde(alias = "size")]
        dims: [u64; 2],
        chunkshape: [u32; 2],
        blockshape: [u32; 2],
        #[serde(default)]
        dtype_format: Option<Value>,
        #[serde(default)]
        dtype: Option<String>,
    }
    for layout in [Layout::B2ndSix, Layout::Caterva] {
        let error = from_slice::<Unplaced>(&bytes_of(layout)).unwrap_err();
        let has = layout.entries().len();
        let expected = format!(
            "byte 0: layout {layout} has {has} entries, but the field names do not show which fields take them; name the \
             fields after the entries"
        );
        assert_eq!(error.to_string(), expected);
    }
    assert_eq!(from_slice::<Unplaced>(&bytes_of(Layout::B2nd)).unwrap().dims, [3, 5]);
}

#[test]
fn from_slice_rejects_a_default_field_that_takes_the_entry_of_a_later_field() {
    // Eight names, and none of them is `dtype`. Read in order, `label` would get the dtype and `kind` its default.
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "reading fails")]
    struct Labeled {
        version: u8,
        ndim: u8,
        shape: Vec<u64>,
        chunkshape: Vec<u32>,
        blockshape: Vec<u32>,
        dtype_format: u8,
        #[serde(default)]
        label: String,
        #[serde(default)]
        kind: String,
    }
    // Read in order, `note` would get the shape and `shape` the chunk shape.
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "reading fails")]
    struct Noted {
        version: u8,
        ndim: u8,
        #[serde(default)]
        note: Vec<u64>,
        shape: Vec<u64>,
        chunkshape: Vec<u32>,
        blockshape: IgnoredAny,
        dtype_format: IgnoredAny,
        #[serde(default)]
        kind: String,
    }
    let bytes = bytes_of(Layout::B2nd);
    let says = "byte 0: layout b2nd has 7 entries, but the type takes more";
    for error in [from_slice::<Labeled>(&bytes).unwrap_err(), from_slice::<Noted>(&bytes).unwrap_err()] {
        assert_eq!((error.to_string().as_str(), error.kind()), (says, ErrorKind::EntryCount));
    }
}

#[test]
fn from_slice_accepts_a_struct_visitor_that_checks_for_the_end() {
    /// Seven fields, whose visitor asks for an eighth entry to be sure that there is none.
    #[derive(Debug)]
    struct Careful;
    impl<'de> serde::Deserialize<'de> for Careful {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visitor;
            impl<'de> serde::de::Visitor<'de> for Visitor {
                type Value = Careful;
                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("a metalayer")
                }
                fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Careful, A::Error> {
                    while seq.next_element::<IgnoredAny>()?.is_some() {}
                    Ok(Careful)
                }
            }
            let names = &["version", "ndim", "shape", "chunkshape", "blockshape", "dtype_format", "dtype"];
            deserializer.deserialize_struct("Careful", names, Visitor)
        }
    }
    for layout in [Layout::B2nd, Layout::B2ndMismarked] {
        from_slice::<Careful>(&bytes_of(layout)).unwrap();
    }
}

#[test]
fn from_slice_counts_an_alias_of_a_struct_without_known_names_as_a_field() {
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "reading fails")]
    struct FirstAliased {
        #[serde(alias = "z")]
        a: u8,
        b: u8,
        c: Vec<u64>,
        d: Vec<u32>,
        e: Vec<u32>,
        f: Value,
    }
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only the last is compared")]
    struct LastAliased {
        a: u8,
        b: u8,
        c: Vec<u64>,
        d: Vec<u32>,
        e: Vec<u32>,
        #[serde(alias = "z")]
        f: Value,
    }
    let six = bytes_of(Layout::B2ndSix);
    assert_eq!(from_slice::<FirstAliased>(&six).unwrap_err().to_string(), "byte 0: duplicate field `a`");
    assert_eq!(from_slice::<LastAliased>(&six).unwrap().f, json!("int32"));

    let seven = bytes_of(Layout::B2nd);
    let says =
        "byte 0: layout b2nd has 7 entries, but the type takes 6: the entry dtype_format may be missing";
    assert_eq!(from_slice::<FirstAliased>(&seven).unwrap_err().to_string(), says);
    assert_eq!(from_slice::<LastAliased>(&seven).unwrap_err().to_string(), says);
}

#[test]
fn from_slice_rejects_a_map_visitor_that_takes_more_values_than_entries() {
    /// A map whose visitor reads five values without their keys, and then asks for one value more than the metalayer
    /// has.
    #[derive(Debug)]
    struct Greedy;
    impl<'de> serde::Deserialize<'de> for Greedy {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visitor;
            impl<'de> serde::de::Visitor<'de> for Visitor {
                type Value = Greedy;
                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("a metalayer")
                }
                fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Greedy, A::Error> {
                    for _ in 0..5 {
                        map.next_value::<IgnoredAny>()?;
                    }
                    assert_eq!(map.next_key::<String>()?, None);
                    map.next_value::<IgnoredAny>().map(|_| Greedy)
                }
            }
            let names = &["version", "ndim", "shape", "chunkshape", "blockshape", "dtype_format", "dtype"];
            deserializer.deserialize_struct("Greedy", names, Visitor)
        }
    }
    let error = from_slice::<Greedy>(&bytes_of(Layout::Caterva)).unwrap_err();
    assert_eq!((error.kind(), error.entry()), (ErrorKind::EntryCount, None));
    assert_eq!(error.to_string(), "byte 0: layout caterva has 5 entries, but the type takes more");
}

#[test]
fn from_slice_takes_the_variant_of_an_untagged_enum_that_fits() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Untagged {
        Seven(crate::common::Seven),
        Six(crate::common::Six),
        Five(crate::common::Five),
    }
    for value in [Untagged::Seven(seven()), Untagged::Six(six()), Untagged::Five(five())] {
        let bytes = to_vec(&value).unwrap();
        assert_eq!(from_slice::<Untagged>(&bytes).unwrap(), value);
    }
}

#[test]
fn from_slice_checks_an_entry_that_the_type_ignores() {
    type Ranks = (IgnoredAny, u8, IgnoredAny, IgnoredAny, IgnoredAny, IgnoredAny, IgnoredAny);
    assert_eq!(from_slice::<Ranks>(&bytes_of(Layout::B2nd)).unwrap().1, 2);
    for &layout in Layout::ALL {
        from_slice::<IgnoredAny>(&bytes_of(layout)).unwrap();
    }
    // An entry with a wrong marker is an error even if the Rust type ignores the entry.
    let mut bytes = bytes_of(Layout::B2nd);
    bytes[28] = 0xd3;
    let error = from_slice::<IgnoredAny>(&bytes).unwrap_err();
    assert_eq!(error.to_string(), "byte 28: expected int32 (0xd2) for chunkshape[1], found int64 (0xd3)");
}

#[test]
fn from_slice_gives_a_json_array_that_to_vec_writes_back() {
    for layout in [Layout::B2nd, Layout::B2ndSix, Layout::Caterva] {
        let bytes = bytes_of(layout);
        let value: Value = from_slice(&bytes).unwrap();
        assert_eq!(to_vec(&value).unwrap(), bytes);
    }
    let value: Value = from_slice(&to_vec(&seven()).unwrap()).unwrap();
    assert_eq!(value, json!([0, 2, [3, 5], [2, 3], [1, 2], 0, "<i4"]));
}

#[test]
fn from_slice_restricts_the_dtype_to_the_variants_of_an_enum() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Kind {
        #[serde(rename = "<i4")]
        I4,
        #[serde(rename = "<f8")]
        F8,
        Content(u8),
    }
    type Value = (u8, u8, [u64; 2], [u32; 2], [u32; 2], u8, Kind);
    let value = |kind| -> Value { (0, 2, [3, 5], [2, 3], [1, 2], 0, kind) };
    let general = |bytes: &[u8]| <Value as serde::Deserialize>::deserialize(&mut Deserializer::new(bytes));

    let bytes = to_vec(&seven()).unwrap();
    assert_eq!(to_vec(&value(Kind::I4)).unwrap(), bytes);
    assert_eq!(from_slice::<Value>(&bytes).unwrap(), value(Kind::I4));
    assert_eq!(general(&bytes).unwrap(), value(Kind::I4));

    let other = to_vec(&crate::common::Seven { dtype: "<f4".into(), ..seven() }).unwrap();
    for error in [from_slice::<Value>(&other).unwrap_err(), general(&other).unwrap_err()] {
        let says = "byte 45: dtype: unknown variant `<f4`, expected one of `<i4`, `<f8`, `Content`";
        assert_eq!(error.to_string(), says);
        assert_eq!((error.kind(), error.entry()), (ErrorKind::Custom, Some(Entry::Dtype)));
    }

    let error = to_vec(&value(Kind::Content(1))).unwrap_err().to_string();
    assert_eq!(error, "dtype: expected a string, found an enum (a variant without content is a string)");
    let content = to_vec(&crate::common::Seven { dtype: "Content".into(), ..seven() }).unwrap();
    let error = from_slice::<Value>(&content).unwrap_err().to_string();
    assert_eq!(error, "byte 45: dtype: invalid type: unit variant, expected newtype variant");
}

#[test]
fn to_vec_writes_a_dtype_through_its_display() {
    struct Kind {
        order: char,
        size: usize,
    }
    impl fmt::Display for Kind {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{}i{}", self.order, self.size)
        }
    }
    impl serde::Serialize for Kind {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    }
    let value = |size| (0, 2, [3, 5], [2, 3], [1, 2], 0, Kind { order: '<', size });
    assert_eq!(to_vec(&value(4)).unwrap(), to_vec(&seven()).unwrap());
    assert_eq!(b2nd_serde::serialized_size(&value(100)).unwrap(), 55);

    // A type that is written as a text. This text is longer than the space that the writer reserves for a dtype.
    struct Long;
    impl serde::Serialize for Long {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(&format_args!("{:>5000}", '\u{1f980}'))
        }
    }
    let bytes = to_vec(&(0, 0, [0; 0], [0; 0], [0; 0], 0, Long)).unwrap();
    assert_eq!(from_slice::<Meta>(&bytes).unwrap().dtype().map(str::len), Some(4999 + 4));

    let with_nul = to_vec(&(0, 0, [0; 0], [0; 0], [0; 0], 0, Kind { order: '\0', size: 4 })).unwrap_err();
    assert_eq!(with_nul.to_string(), "dtype must not contain a NUL, but has one at its byte 0");
    // The end of the text is a `String`, because the compiler would merge literals into one piece.
    let (size, end) = (16, String::from("8\0"));
    // The result of `format_args!` cannot be stored in a variable first: before Rust 1.89, it borrows temporary values
    // that are dropped at the end of the statement.
    let in_a_later_piece =
        to_vec(&(0, 0, [0; 0], [0; 0], [0; 0], 0, format_args!("<i{size}{end}"))).unwrap_err();
    assert_eq!(in_a_later_piece.to_string(), "dtype must not contain a NUL, but has one at its byte 5");

    /// A `Display` that ignores the errors of its pieces. The first error is the one that counts.
    struct Stubborn;
    impl fmt::Display for Stubborn {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            for piece in ["<i", "4\0", "\0"] {
                let _ = f.write_str(piece);
            }
            Ok(())
        }
    }
    let ignored = to_vec(&(0, 0, [0; 0], [0; 0], [0; 0], 0, format_args!("{Stubborn}"))).unwrap_err();
    assert_eq!(ignored.to_string(), "dtype must not contain a NUL, but has one at its byte 3");

    struct Unshowable;
    impl fmt::Display for Unshowable {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("<i")?;
            Err(fmt::Error)
        }
    }
    let error = to_vec(&(0, 0, [0; 0], [0; 0], [0; 0], 0, format_args!("{Unshowable}"))).unwrap_err();
    assert_eq!((error.kind(), error.entry()), (ErrorKind::Custom, Some(Entry::Dtype)));
    assert_eq!(error.to_string(), format!("dtype: {}", fmt::Error));
}
