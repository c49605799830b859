//! Every Rust type that has the entries in their order can be written and read. The format of an entry depends on its
//! position, not on its Rust type.

#![cfg(feature = "alloc")]

use std::borrow::Cow;
use std::fmt::Debug;
use std::iter;

use crate::common::{BySeq, EXAMPLE, FromSeq, Unsized, five, seven, six};
use arrayvec::{ArrayString, ArrayVec};
use b2nd_serde::{
    ErrorKind, Layout, Serializer, from_slice, take_from_slice, to_slice, to_vec, to_vec_with_layout,
};
use serde::de::{Deserialize as _, DeserializeOwned, IgnoredAny, SeqAccess};
use serde::ser::Serialize as Writable;
use serde_bytes::{ByteBuf, Bytes};
use serde_derive::{Deserialize, Serialize};

/// Asserts that a value is written as the bytes of the worked example, and that these bytes are read as an equal value.
fn both_ways<T: Writable + DeserializeOwned + PartialEq + Debug>(value: &T) {
    assert_eq!(to_vec(value).unwrap(), EXAMPLE);
    assert_eq!(from_slice::<T>(&EXAMPLE).unwrap(), *value);
}

/// A struct for a metalayer. The types of its fields are parameters: `V` for the single numbers, `S` for the shape, `D`
/// for the chunk and block shapes, and `T` for the dtype.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Of<V, S, D, T> {
    version: V,
    ndim: V,
    shape: S,
    chunkshape: D,
    blockshape: D,
    dtype_format: V,
    dtype: T,
}

fn with_integer<I: From<u8> + Writable + DeserializeOwned + PartialEq + Debug>() {
    let vector = |values: [u8; 2]| Vec::from(values.map(I::from));
    both_ways(&Of {
        version: I::from(0),
        ndim: I::from(2),
        shape: vector([3, 5]),
        chunkshape: vector([2, 3]),
        blockshape: vector([1, 2]),
        dtype_format: I::from(0),
        dtype: "<i4".to_owned(),
    });
}

#[test]
fn to_vec_and_from_slice_give_every_integer_type_the_width_of_its_entry() {
    with_integer::<u8>();
    with_integer::<u16>();
    with_integer::<u32>();
    with_integer::<u64>();
    with_integer::<u128>();
    with_integer::<i16>();
    with_integer::<i32>();
    with_integer::<i64>();
    with_integer::<i128>();
    both_ways(&Of {
        version: 0_i8,
        ndim: 2_i8,
        shape: vec![3_usize, 5],
        chunkshape: vec![2_isize, 3],
        blockshape: vec![1, 2],
        dtype_format: 0,
        dtype: "<i4".to_owned(),
    });
}

fn with_vectors<S, D>(shape: S, chunkshape: D, blockshape: D)
where
    S: Writable + DeserializeOwned + PartialEq + Debug,
    D: Writable + DeserializeOwned + PartialEq + Debug,
{
    both_ways(&Of {
        version: 0_u8,
        ndim: 2,
        shape,
        chunkshape,
        blockshape,
        dtype_format: 0,
        dtype: "<i4".to_owned(),
    });
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Pair(u32, u32);

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Newtype<T>(T);

#[test]
fn to_vec_and_from_slice_take_any_sequence_as_a_dimension_vector() {
    with_vectors(vec![3_u64, 5], [2_u32, 3], [1, 2]);
    with_vectors([3_u64, 5], (2_u16, 3_i64), (1, 2));
    with_vectors((3_u8, 5_i128), Pair(2, 3), Pair(1, 2));
    with_vectors(Newtype(vec![3_u64, 5]), Some([2_u32, 3]), Some([1, 2]));
    with_vectors(Some(Newtype(Some([3_u64, 5]))), Newtype(Pair(2, 3)), Newtype(Pair(1, 2)));
    with_vectors([Newtype(3_u64), Newtype(5)], vec![Some(2_u32), Some(3)], vec![Some(1), Some(2)]);
    let array = |values: [u32; 2]| values.into_iter().collect::<ArrayVec<u32, 16>>();
    with_vectors(ArrayVec::<u64, 2>::from([3, 5]), array([2, 3]), array([1, 2]));
    with_vectors(Box::<[u64]>::from([3, 5]), vec![2_u32, 3], vec![1, 2]);
}

#[test]
fn to_vec_writes_a_slice_as_a_dimension_vector() {
    let value = (0, 2, &[3_i64, 5][..], &[2_i32, 3][..], &[1_i32, 2][..], 0, "<i4");
    assert_eq!(to_vec(&value).unwrap(), EXAMPLE);
}

#[test]
fn to_vec_and_from_slice_take_no_dimensions_as_an_empty_array() {
    let scalar = (0_u8, 0_u8, [0_u64; 0], [0_u32; 0], [0_u32; 0]);
    let bytes = to_vec(&scalar).unwrap();
    assert_eq!(bytes, [0x95, 0, 0, 0x90, 0x90, 0x90]);
    assert_eq!(from_slice::<(u8, u8, [u64; 0], [u32; 0], [u32; 0])>(&bytes).unwrap(), scalar);
}

fn with_dtype<T: Writable + DeserializeOwned + PartialEq + Debug>(dtype: T) {
    both_ways(&Of {
        version: 0_u8,
        ndim: 2,
        shape: [3_u64, 5],
        chunkshape: [2_u32, 3],
        blockshape: [1, 2],
        dtype_format: 0,
        dtype,
    });
}

#[test]
fn to_vec_and_from_slice_take_any_string_or_bytes_as_the_dtype() {
    with_dtype("<i4".to_owned());
    with_dtype(Box::<str>::from("<i4"));
    with_dtype(Cow::Borrowed("<i4"));
    with_dtype(ArrayString::<8>::from("<i4").unwrap());
    with_dtype(ByteBuf::from(b"<i4"));
    with_dtype(Some("<i4".to_owned()));
    with_dtype(Newtype("<i4".to_owned()));
}

/// A dtype that is not UTF-8 is an error only for a type that takes it as text.
#[test]
fn from_slice_gives_a_dtype_that_is_not_utf8_as_bytes() {
    type Entries<T> = Of<u8, [u64; 2], [u32; 2], T>;
    for layout in [Layout::B2nd, Layout::B2ndMismarked] {
        let mut bytes = EXAMPLE;
        (bytes[0], bytes[51]) = (if layout == Layout::B2nd { 0x97 } else { 0x96 }, 0xff);
        assert_eq!(from_slice::<Entries<&[u8]>>(&bytes).unwrap().dtype, b"<\xff4");
        assert_eq!(from_slice::<Entries<&Bytes>>(&bytes).unwrap().dtype, &b"<\xff4"[..]);
        assert_eq!(from_slice::<Entries<ByteBuf>>(&bytes).unwrap().dtype, b"<\xff4");
        assert_eq!(from_slice::<Entries<Option<ByteBuf>>>(&bytes).unwrap().dtype.unwrap(), b"<\xff4");
        assert_eq!(from_slice::<Entries<IgnoredAny>>(&bytes).unwrap().shape, [3, 5]);
        from_slice::<IgnoredAny>(&bytes).unwrap();
        let longer = [&bytes[..], b"rest"].concat();
        let (value, rest): (Entries<ByteBuf>, _) = take_from_slice(&longer).unwrap();
        assert_eq!((value.shape, rest), ([3, 5], &b"rest"[..]));

        let says = "byte 51: dtype must be UTF-8, but is not valid at its byte 1";
        for error in [
            from_slice::<Entries<&str>>(&bytes).unwrap_err(),
            from_slice::<Entries<String>>(&bytes).unwrap_err(),
            from_slice::<serde_json::Value>(&bytes).unwrap_err(),
            from_slice::<b2nd_serde::Meta>(&bytes).unwrap_err(),
            take_from_slice::<b2nd_serde::Meta>(&bytes).unwrap_err(),
            b2nd_serde::Meta::deserialize(&mut b2nd_serde::Deserializer::new(&bytes)).unwrap_err(),
        ] {
            assert_eq!((error.to_string().as_str(), error.kind()), (says, ErrorKind::Utf8), "{layout}");
        }
        bytes[1] = 9;
        let says = format!("{says}; version is 9, but only version 0 is known");
        assert_eq!(from_slice::<Entries<String>>(&bytes).unwrap_err().to_string(), says);
        assert_eq!(from_slice::<b2nd_serde::Meta>(&bytes).unwrap_err().to_string(), says);
    }
    // A NUL is an error for every type, because C-Blosc2 ends the dtype there.
    let mut bytes = EXAMPLE;
    bytes[50..].copy_from_slice(b"\xff\0\xff");
    let error = from_slice::<IgnoredAny>(&bytes).unwrap_err();
    assert_eq!((error.offset(), error.kind()), (Some(51), ErrorKind::Nul));
    // Bytes that are not UTF-8 are not written.
    let value = (0, 2, [3, 5], [2, 3], [1, 2], 0, Bytes::new(b"<\xff4"));
    assert_eq!(to_vec(&value).unwrap_err().kind(), ErrorKind::Utf8);
}

#[test]
fn from_slice_borrows_the_dtype() {
    let bytes = EXAMPLE;
    let dtype = &bytes[50..];
    type Entries<T> = Of<u8, [u64; 2], [u32; 2], T>;
    let text = from_slice::<Entries<&str>>(&bytes).unwrap().dtype;
    assert_eq!((text.as_ptr(), text.len()), (dtype.as_ptr(), 3));
    let text = from_slice::<Entries<&[u8]>>(&bytes).unwrap().dtype;
    assert_eq!((text.as_ptr(), text.len()), (dtype.as_ptr(), 3));
    let text = from_slice::<Entries<&Bytes>>(&bytes).unwrap().dtype;
    assert_eq!((text.as_ptr(), text.len()), (dtype.as_ptr(), 3));

    #[derive(Deserialize)]
    #[allow(dead_code, reason = "only the dtype is looked at")]
    struct Whole<'a>(u8, u8, [u64; 2], [u32; 2], [u32; 2], u8, #[serde(borrow)] Cow<'a, str>);
    let Cow::Borrowed(text) = from_slice::<Whole>(&bytes).unwrap().6 else { panic!("a copy") };
    assert_eq!(text.as_ptr(), dtype.as_ptr());
}

#[test]
fn to_vec_selects_the_layout_by_the_number_of_entries() {
    for (bytes, marker) in [
        (to_vec(&seven()), 0x97),
        (to_vec(&six()), 0x96),
        (to_vec(&five()), 0x95),
        (to_vec(&(0, 0, [0; 0], [0; 0], [0; 0])), 0x95),
        (to_vec(&(0, 0, [0; 0], [0; 0], [0; 0], "f8")), 0x96),
    ] {
        assert_eq!(bytes.unwrap()[0], marker);
    }
    assert_eq!(from_slice::<crate::common::Six>(&to_vec(&six()).unwrap()).unwrap(), six());
    assert_eq!(from_slice::<crate::common::Five>(&to_vec(&five()).unwrap()).unwrap(), five());
}

#[test]
fn serializer_with_layout_writes_this_layout() {
    let mut buffer = [0; 64];
    let mut serializer = Serializer::new(&mut buffer).with_layout(Layout::B2ndMismarked);
    seven().serialize(&mut serializer).unwrap();
    let mut expected = EXAMPLE;
    assert_eq!(serializer.offset(), expected.len());
    expected[0] = 0x96;
    assert_eq!(buffer[..53], expected);
    assert_eq!(from_slice::<crate::common::Seven>(&expected).unwrap(), seven());

    let meta: b2nd_serde::Meta = from_slice(&expected).unwrap();
    let mut serializer = Serializer::new(&mut buffer).with_layout(Layout::B2ndMismarked);
    meta.serialize(&mut serializer).unwrap();
    assert_eq!(buffer[..53], expected);

    let error = five().serialize(&mut Serializer::new(&mut buffer).with_layout(Layout::B2nd)).unwrap_err();
    assert_eq!(error.to_string(), "layout b2nd has 7 entries, but the value gives 5");
}

#[test]
fn to_vec_and_from_slice_take_structs_tuples_sequences_newtypes_and_some_alike() {
    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Tuple(u8, u8, [u64; 2], [u32; 2], [u32; 2], u8, String);

    both_ways(&Tuple(0, 2, [3, 5], [2, 3], [1, 2], 0, "<i4".into()));
    both_ways(&(0_u8, 2_u8, [3_u64, 5], [2_u32, 3], [1_u32, 2], 0_u8, "<i4".to_owned()));
    both_ways(&Some(Newtype(Some(seven()))));

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(untagged)]
    enum Entry {
        Integer(u64),
        Vector(Vec<u64>),
        Text(String),
    }
    both_ways(&vec![
        Entry::Integer(0),
        Entry::Integer(2),
        Entry::Vector(vec![3, 5]),
        Entry::Vector(vec![2, 3]),
        Entry::Vector(vec![1, 2]),
        Entry::Integer(0),
        Entry::Text("<i4".into()),
    ]);
}

/// Makes a sequence whose length serde does not know in advance.
fn of_unknown_length<T: Clone + Writable>(values: &[T]) -> impl Writable {
    Unsized(values.iter().cloned())
}

#[test]
fn to_vec_counts_a_sequence_of_unknown_length() {
    let (shape, chunks, blocks) =
        (of_unknown_length(&[3, 5]), of_unknown_length(&[2, 3]), of_unknown_length(&[1, 2]));
    assert_eq!(to_vec(&(0, 2, &shape, &chunks, &blocks, 0, "<i4")).unwrap(), EXAMPLE);

    let long = of_unknown_length(&[1, 2, 3]);
    let error = to_vec(&(0, 2, &shape, &long, &blocks, 0, "<i4")).unwrap_err();
    assert_eq!(error.to_string(), "chunkshape has more than 2 dimensions, but ndim is 2");

    let entries = of_unknown_length(&[0, 0]);
    assert_eq!(to_vec(&entries).unwrap_err().kind(), ErrorKind::EntryCount);
    let error = entries.serialize(&mut Serializer::new(&mut [0; 9]).with_layout(Layout::Caterva));
    assert_eq!(error.unwrap_err().to_string(), "layout caterva has 5 entries, but the value gives 2");
}

#[test]
fn serializer_and_deserializer_take_several_metalayers() {
    let mut buffer = [0; 100];
    let mut serializer = Serializer::new(&mut buffer);
    seven().serialize(&mut serializer).unwrap();
    five().serialize(&mut serializer).unwrap();
    let written = serializer.offset();

    let (first, rest) = take_from_slice::<crate::common::Seven>(&buffer[..written]).unwrap();
    assert_eq!(first, seven());
    assert_eq!(from_slice::<crate::common::Five>(rest).unwrap(), five());

    let mut deserializer = b2nd_serde::Deserializer::new(&buffer[..written]);
    assert_eq!(deserializer.layout().unwrap(), Layout::B2nd);
    assert_eq!(crate::common::Seven::deserialize(&mut deserializer).unwrap(), seven());
    assert_eq!((deserializer.layout().unwrap(), deserializer.offset()), (Layout::Caterva, 53));
    assert!(deserializer.end().is_err());
    assert_eq!(crate::common::Five::deserialize(&mut deserializer).unwrap(), five());
    deserializer.end().unwrap();
}

#[test]
fn to_slice_fills_a_buffer_of_the_exact_size() {
    let mut buffer = [0; 53];
    assert_eq!(to_slice(&seven(), &mut buffer).unwrap().len(), 53);
    let error = to_slice(&seven(), &mut buffer[..52]).unwrap_err();
    assert_eq!(error.to_string(), "the metalayer has 53 bytes, but the buffer has 52");
}

#[test]
fn serializer_keeps_the_first_metalayer_if_the_second_does_not_fit() {
    let mut buffer = [0; 53 + 10];
    let mut serializer = Serializer::new(&mut buffer);
    seven().serialize(&mut serializer).unwrap();
    let error = five().serialize(&mut serializer).unwrap_err();
    assert_eq!(error.to_string(), "the metalayer has 44 bytes, but the buffer has 10");
    assert_eq!(serializer.offset(), 53);
    assert_eq!(from_slice::<crate::common::Seven>(&buffer[..53]).unwrap(), seven());
}

#[test]
fn serializer_writes_the_next_metalayer_in_the_place_of_a_failed_one() {
    let mut buffer = [0; 53 + 44];
    let mut serializer = Serializer::new(&mut buffer);
    seven().serialize(&mut serializer).unwrap();
    assert!((0, 2, [3, 5], [2.0, 3.0], [1, 2]).serialize(&mut serializer).is_err());
    assert_eq!(serializer.offset(), 53);
    five().serialize(&mut serializer).unwrap();
    assert_eq!(serializer.offset(), 53 + 44);
    assert_eq!(from_slice::<crate::common::Five>(&buffer[53..]).unwrap(), five());
}

#[test]
fn to_vec_with_layout_writes_this_layout() {
    let mut mismarked = EXAMPLE;
    mismarked[0] = 0x96;
    assert_eq!(to_vec_with_layout(&seven(), Layout::B2ndMismarked).unwrap(), mismarked);
    assert_eq!(to_vec_with_layout(&six(), Layout::B2ndSix).unwrap(), to_vec(&six()).unwrap());
    for wrong in
        [to_vec_with_layout(&six(), Layout::B2nd), to_vec_with_layout(&five(), Layout::B2ndMismarked)]
    {
        assert_eq!(wrong.unwrap_err().kind(), ErrorKind::EntryCount);
    }
    // This dtype is longer than the space that the writer reserves for it.
    let long = (0, 1, [6], [4], [2], 0, "V".repeat(1000));
    let bytes = to_vec_with_layout(&long, Layout::B2ndMismarked).unwrap();
    assert_eq!((bytes[0], &bytes[1..]), (0x96, &to_vec(&long).unwrap()[1..]));
}

#[cfg(feature = "std")]
#[test]
fn from_reader_reads_a_long_dtype() {
    let value = (0, 1, [6_u64], [4_u32], [2_u32], 0, "x".repeat(5_000));
    let bytes = to_vec(&value).unwrap();
    let read: (u8, u8, [u64; 1], [u32; 1], [u32; 1], u8, String) =
        b2nd_serde::from_reader(&bytes[..]).unwrap();
    assert_eq!(read, value);
}

#[cfg(feature = "std")]
#[test]
fn from_reader_reads_what_to_writer_writes() {
    let mut file = Vec::new();
    b2nd_serde::to_writer(&mut file, &seven()).unwrap();
    assert_eq!(b2nd_serde::from_reader::<_, crate::common::Seven>(&file[..]).unwrap(), seven());
    file.push(0);
    let error = b2nd_serde::from_reader::<_, crate::common::Seven>(&file[..]).unwrap_err();
    assert_eq!(error.to_string(), "byte 53: 1 byte is left after the metalayer");
}

#[test]
fn to_vec_rejects_a_sequence_without_an_end() {
    struct Endless;
    impl Writable for Endless {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq(iter::repeat(1))
        }
    }
    struct Looping;
    impl Writable for Looping {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            use serde::ser::SerializeSeq as _;
            let mut dimensions = serializer.serialize_seq(None)?;
            loop {
                dimensions.serialize_element(&1)?;
            }
        }
    }
    for error in [to_vec(&(0, 2, Endless, [2, 3], [1, 2])), to_vec(&(0, 2, Looping, [2, 3], [1, 2]))] {
        assert_eq!(error.unwrap_err().to_string(), "shape has more than 2 dimensions, but ndim is 2");
    }
}

#[test]
fn to_vec_rejects_a_tuple_with_fewer_dimensions_than_it_says() {
    struct Tuple;
    impl Writable for Tuple {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            use serde::ser::SerializeTuple as _;
            let mut dimensions = serializer.serialize_tuple(2)?;
            dimensions.serialize_element(&1)?;
            dimensions.end()
        }
    }
    struct TupleStruct;
    impl Writable for TupleStruct {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            use serde::ser::SerializeTupleStruct as _;
            let mut dimensions = serializer.serialize_tuple_struct("TupleStruct", 2)?;
            dimensions.serialize_field(&1)?;
            dimensions.end()
        }
    }
    for error in [to_vec(&(0, 2, Tuple, [2, 3], [1, 2])), to_vec(&(0, 2, TupleStruct, [2, 3], [1, 2]))] {
        assert_eq!(error.unwrap_err().to_string(), "shape has 1 dimension, but ndim is 2");
    }
}

/// The size hints of a sequence: the hint before the first element, and the hint after each element.
struct Hints(Vec<Option<usize>>);

impl FromSeq for Hints {
    fn from_seq<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
        let mut hints = vec![seq.size_hint()];
        while seq.next_element::<IgnoredAny>()?.is_some() {
            hints.push(seq.size_hint());
        }
        Ok(Self(hints))
    }
}

#[test]
fn from_slice_hints_how_many_elements_are_left() {
    let bytes = to_vec(&(0, 3, [5; 3], [1; 3], [1; 3])).unwrap();
    type Entries = (u8, u8, BySeq<Hints>, [u32; 3], [u32; 3]);
    let (_, _, BySeq(Hints(hints)), _, _) = from_slice::<Entries>(&bytes).unwrap();
    assert_eq!(hints, [Some(3), Some(2), Some(1), Some(0)]);
    let BySeq(Hints(hints)) = from_slice(&EXAMPLE).unwrap();
    assert_eq!(hints, (0..=7).rev().map(Some).collect::<Vec<_>>());
}

#[test]
fn is_human_readable_is_false() {
    /// A type that reads and writes a number or a text, and asserts that `is_human_readable` is false.
    #[derive(Debug, PartialEq)]
    struct Probe(bool);
    impl Writable for Probe {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            assert!(!serializer.is_human_readable());
            if self.0 { serializer.serialize_str("<i4") } else { serializer.serialize_u8(2) }
        }
    }
    impl<'de> serde::de::Deserialize<'de> for Probe {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            assert!(!deserializer.is_human_readable());
            IgnoredAny::deserialize(deserializer).map(|_| Probe(false))
        }
    }
    struct Probes;
    impl Writable for Probes {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            assert!(!serializer.is_human_readable());
            [Probe(false), Probe(false)].serialize(serializer)
        }
    }
    let bytes = to_vec(&(0, Probe(false), Probes, [2, 3], [1, 2], 0, Probe(true))).unwrap();
    type Entries = (Probe, Probe, Probe, (Probe, Probe), Probe, Probe, Probe);
    assert_eq!(from_slice::<Entries>(&bytes).unwrap().6, Probe(false));
    Probe::deserialize(&mut b2nd_serde::Deserializer::new(&bytes)).unwrap();
    Probes.serialize(&mut Serializer::new(&mut [])).unwrap_err();
}

#[test]
fn from_slice_rejects_invalid_bytes_if_the_type_ignores_the_error() {
    /// Reads a `T`, or `None` if a `T` cannot be read. Ignores the error.
    struct Lenient<T>(Option<T>);
    impl<'de, T: serde::de::Deserialize<'de>> serde::de::Deserialize<'de> for Lenient<T> {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            Ok(Lenient(T::deserialize(deserializer).ok()))
        }
    }
    /// A sequence whose visitor asks for more elements than there are, and ignores every error.
    struct Stubborn;
    impl FromSeq for Stubborn {
        fn from_seq<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
            for _ in 0..20 {
                drop(seq.next_element::<IgnoredAny>());
            }
            Ok(Self)
        }
    }
    type Entries<T> = (u8, u8, T, [u32; 2], [u32; 2], u8, String);
    let bytes = EXAMPLE;
    // An error that a type raises itself can be ignored.
    type Dtype<T> = (u8, u8, [u64; 2], [u32; 2], [u32; 2], u8, T);
    assert!(from_slice::<Dtype<Lenient<u8>>>(&bytes).unwrap().6.0.is_none());
    assert!(from_slice::<Entries<Lenient<u8>>>(&bytes).unwrap().2.0.is_none());
    assert!(from_slice::<Entries<Lenient<[u64; 3]>>>(&bytes).unwrap().2.0.is_none());
    assert!(from_slice::<Entries<BySeq<Stubborn>>>(&bytes).is_ok());
    assert!(from_slice::<BySeq<Stubborn>>(&bytes).is_ok());
    // An error in the bytes cannot be ignored.
    for at in [1, 2, 3, 4, 13, 22, 33, 44, 45] {
        let mut bytes = bytes;
        bytes[at] = 0xc1;
        assert!(from_slice::<Entries<Lenient<[u64; 2]>>>(&bytes).is_err(), "{at}");
        assert!(from_slice::<Entries<BySeq<Stubborn>>>(&bytes).is_err(), "{at}");
        assert!(from_slice::<BySeq<Stubborn>>(&bytes).is_err(), "{at}");
    }
    bytes
        .iter()
        .enumerate()
        .skip(1)
        .for_each(|(cut, _)| assert!(from_slice::<BySeq<Stubborn>>(&bytes[..cut]).is_err()));
}

#[test]
fn to_vec_rejects_a_value_that_ignores_an_error() {
    /// Tries to write floats as the shape, ignores the error, and then writes a valid shape.
    struct Retrying;
    impl Writable for Retrying {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            use serde::ser::SerializeTuple as _;
            let mut entries = serializer.serialize_tuple(5)?;
            entries.serialize_element(&0)?;
            entries.serialize_element(&2)?;
            let _ = entries.serialize_element(&[1.0, 2.0]);
            for _ in 0..3 {
                let _ = entries.serialize_element(&[1, 2]);
            }
            entries.end()
        }
    }
    assert_eq!(to_vec(&Retrying).unwrap_err().to_string(), "the type ignored an error in one of its entries");

    /// Tries to write a dimension of a wrong type, ignores the error, and then writes valid dimensions.
    struct Passing;
    impl Writable for Passing {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            use serde::ser::SerializeSeq as _;
            let mut dimensions = serializer.serialize_seq(None)?;
            let _ = dimensions.serialize_element(&1.5);
            dimensions.serialize_element(&3)?;
            let _ = dimensions.serialize_element(&5);
            dimensions.end()
        }
    }
    let error = to_vec(&(0, 2, Passing, [1, 1], [1, 1])).unwrap_err().to_string();
    assert_eq!(error, "the type ignored an error in one of its entries");

    /// Tries to write an entry under the name of another entry, and ignores the error.
    struct Renaming;
    impl Writable for Renaming {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            use serde::ser::SerializeStruct as _;
            let mut entries = serializer.serialize_struct("Renaming", 5)?;
            entries.serialize_field("version", &0)?;
            entries.serialize_field("ndim", &0)?;
            let _ = entries.serialize_field("chunkshape", &[0; 0]);
            for name in ["shape", "chunkshape", "blockshape"] {
                let _ = entries.serialize_field(name, &[0; 0]);
            }
            entries.end()
        }
    }
    assert_eq!(to_vec(&Renaming).unwrap_err().to_string(), "the type ignored an error in one of its entries");
}

#[test]
fn from_slice_reports_a_wrong_marker_before_a_type_that_does_not_fit() {
    let mut bytes = to_vec(&(0, 4, [-1; 4], [1; 4], [1; 4])).unwrap();
    bytes[4 + 2 * 9] = 0xd2;
    type Caterva<T> = (u8, u8, T, [u32; 4], [u32; 4]);
    let expected = "byte 22: expected int64 (0xd3) for shape[2], found int32 (0xd2)";
    assert_eq!(from_slice::<Caterva<[i64; 2]>>(&bytes).unwrap_err().to_string(), expected);
    assert_eq!(from_slice::<Caterva<[u64; 4]>>(&bytes).unwrap_err().to_string(), expected);
    assert_eq!(from_slice::<Caterva<String>>(&bytes).unwrap_err().to_string(), expected);
}

#[test]
fn from_slice_gives_a_field_without_an_entry_its_default() {
    #[derive(Debug, Deserialize)]
    struct Eight {
        version: u8,
        ndim: u8,
        #[serde(default)]
        extra: bool,
        shape: Vec<u64>,
        chunkshape: Vec<u32>,
        blockshape: Vec<u32>,
        dtype_format: u8,
        dtype: String,
    }
    let bytes = EXAMPLE;
    let eight = from_slice::<Eight>(&bytes).unwrap();
    assert_eq!((eight.version, eight.ndim, eight.dtype_format, eight.extra), (0, 2, 0, false));
    assert_eq!((eight.shape, eight.chunkshape, eight.blockshape), (vec![3, 5], vec![2, 3], vec![1, 2]));
    assert_eq!(eight.dtype, "<i4");

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct LeftOut {
        version: u8,
        ndim: u8,
        shape: Vec<u64>,
        chunkshape: Vec<u32>,
        blockshape: Vec<u32>,
        dtype_format: u8,
        dtype: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
        #[serde(skip)]
        cached: Option<u64>,
    }
    let mut left_out = from_slice::<LeftOut>(&bytes).unwrap();
    assert_eq!(to_vec(&left_out).unwrap(), bytes);
    left_out.notes.push("an eighth entry".into());
    assert_eq!(
        to_vec(&left_out).unwrap_err().to_string(),
        "the value has 8 entries, but a layout has 7, 6 or 5"
    );

    // These types have one field too many. The fields do not have the names of entries, so this crate cannot know which
    // field has no entry, and rejects the type.
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it cannot be read")]
    struct OwnNames(u8, u8, Vec<u64>, Vec<u32>, Vec<u32>, u8, String, u8);
    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "it cannot be read")]
    struct Letters {
        a: u8,
        b: u8,
        c: Vec<u64>,
        d: Vec<u32>,
        e: Vec<u32>,
        f: u8,
        g: String,
        h: u8,
    }
    let error = from_slice::<OwnNames>(&bytes).unwrap_err();
    assert_eq!(error.to_string(), "byte 0: layout b2nd has 7 entries, but the type takes 8");
    let error = from_slice::<Letters>(&bytes).unwrap_err();
    assert_eq!(error.to_string(), "byte 0: layout b2nd has 7 entries, but the type takes more");
}

#[test]
fn to_vec_rejects_a_tuple_struct_of_too_few_dimensions() {
    #[derive(Serialize)]
    struct Two(i64, i64);

    let tuple = to_vec(&(0, 3, (1, 2), [1; 3], [1; 3])).unwrap_err().to_string();
    assert!(tuple.contains("shape"), "{tuple}");
    assert_eq!(to_vec(&(0, 3, Two(1, 2), [1; 3], [1; 3])).unwrap_err().to_string(), tuple);
}

#[test]
fn from_slice_rejects_a_visitor_that_leaves_dimensions() {
    struct First;
    impl FromSeq for First {
        fn from_seq<'de, A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
            seq.next_element::<u64>().map(|_| Self)
        }
    }
    let bytes = EXAMPLE;
    type Entries<T> = (u8, u8, T, [u32; 2], [u32; 2], u8, String);
    let Err(error) = from_slice::<Entries<BySeq<First>>>(&bytes) else {
        panic!("the second dimension is left")
    };
    assert_eq!(error.to_string(), "byte 3: shape has 2 dimensions, but the type takes 1");
}
