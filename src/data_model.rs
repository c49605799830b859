//! Serde's data model: the Rust types that each part of a metalayer accepts.
//!
//! The encoding of a value depends on its position, not on its Rust type. The table shows which types are valid at each
//! position, and under which condition. Where a cell says "error", both reading and writing fail.
//!
//! ```
//! use b2nd_serde::{ErrorKind, from_slice};
//!
//! let bytes = b"\x95\x00\x01\x91\xd3\0\0\0\0\0\0\0\x06\x91\xd2\0\0\0\x04\x91\xd2\0\0\0\x02";
//! let (_, _, shape, _, _): (i128, u8, Vec<u16>, [i32; 1], (u64,)) = from_slice(bytes)?;
//! assert_eq!(shape, [6]);
//!
//! // A dimension is not a float.
//! let error = from_slice::<(u8, u8, [f64; 1], [i32; 1], [i32; 1])>(bytes).unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::UnsupportedType);
//! # Ok::<(), b2nd_serde::Error>(())
//! ```
//!
//! | type | as the metalayer | as an integer entry, or a dimension | as a dimension vector | as the dtype |
//! |---|---|---|---|---|
//! | `bool` | error | error | error | error |
//! | `i8` `i16` `i32` `i64` `i128` | error | if the value fits | error | error |
//! | `u8` `u16` `u32` `u64` `u128` | error | if the value fits | error | error |
//! | `f32` `f64` | error | error | error | error |
//! | `char` | error | error | error | error |
//! | string | error | error | error | without NUL |
//! | byte array | error | error | error | UTF-8 without NUL; when reading, also other bytes without NUL |
//! | option: none | error | error | error | error |
//! | option: some | its content | its content | its content | its content |
//! | unit, unit struct | error | error | error | error |
//! | newtype struct | its content | its content | its content | its content |
//! | seq | of 7, 6 or 5 entries | error | of ndim integers | error |
//! | tuple, tuple struct | of 7, 6 or 5 entries | error | of ndim integers | error |
//! | struct | of 7, 6 or 5 entries | error | error | error |
//! | map | error | error | error | error |
//! | unit variant | error | error | error | its name |
//! | newtype, tuple and struct variants | error | error | error | error |
//!
//! The table applies to reading and to writing, with two differences:
//!
//! - `&[u8]` can read a dtype, but cannot write one. Serde writes `&[u8]` and `Vec<u8>` as sequences; `serde_bytes`
//!   writes them as bytes.
//! - A dtype that is not UTF-8 cannot be written, but it can be read as bytes or ignored with `IgnoredAny`. So a
//!   program can still read the entries before such a dtype.
//!
//! More about single types:
//!
//! - A Rust array counts as a tuple. Serde itself supports only arrays of up to 32 items, and not `[T; N]` with a
//!   generic `N`. [`dims`](crate::dims) supports arrays of any length, also with a generic `N`.
//! - A type that serializes through its `Display` (`collect_str`) counts as a string.
//! - An enum of unit variants restricts the dtype to its variants: `enum Kind { #[serde(rename = "<f4")] F4 }`. For any
//!   other dtype, the error names the dtype and the variants.
//! - The serde attribute `flatten` cannot be used, because it turns a struct into a map.
//! - If a struct has a field for each entry, named after the entry, it can have further fields when it is read. The
//!   further fields get their `default`. This crate cannot reject unknown names: serde passes the aliases of fields in
//!   the same list as the names of fields, so an unknown name may be an alias. If a struct has six fields and one
//!   alias, and none of these seven names is the name of an entry, the struct counts as a struct of seven fields.
//!   Reading layout `B2ndSix` into this struct fails with `duplicate field`, unless the alias belongs to one of the
//!   last two fields. When writing, every field counts as an entry. If a field is not an entry, use `#[serde(skip)]`
//!   (or `default` and `skip_serializing_if`) to leave the field out.
//! - An `untagged` enum is written as the content of its variant. When reading, serde first stores the value in its own
//!   buffer, and then reads the variant from this buffer without the checks of this crate. So an `untagged` enum can
//!   read an integer as a float, although the table above has an error for this case.
//! - `deserialize_any` gives a sequence of entries, so a metalayer can be read into a `serde_json::Value`, which
//!   becomes a JSON array. When this JSON array is written as a metalayer, its number of entries selects the layout. So
//!   a metalayer of layout `B2ndMismarked` becomes one of layout `B2nd`.
