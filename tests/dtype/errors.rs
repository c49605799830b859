//! A string that is not a dtype gives an error with the position of the wrong character and the reason.

use b2nd_serde::dtype::ErrorKind::{
    DuplicateField, Layout, Syntax, TooDeep, TooLarge, UnknownFormat, UnknownType,
};
use b2nd_serde::dtype::{Dtype, Error, ErrorKind};
use b2nd_serde::{Meta, Shapes, from_slice, to_vec};

fn refusal(text: &str) -> Error {
    match text.parse::<Dtype>() {
        Ok(dtype) => panic!("{text:?} is read as {dtype}"),
        Err(error) => error,
    }
}

#[track_caller]
fn refuses(table: &[(&str, ErrorKind, &str)]) {
    for &(text, kind, message) in table {
        let error = refusal(text);
        assert_eq!(error.to_string(), message, "{text:?}");
        assert_eq!(error.kind(), kind, "{text:?}");
    }
}

#[test]
fn dtype_parse_rejects_a_type_string_where_it_goes_wrong() {
    refuses(&[
        ("", Syntax, "character 0: expected a type string, '[', '(' or '{', found the end"),
        (" <i4", Syntax, "character 0: expected a type string, '[', '(' or '{', found ' '"),
        (" [('a', '<i4')]", Syntax, "character 0: expected a type string, '[', '(' or '{', found ' '"),
        ("'<i4'", Syntax, "character 0: expected a type string, '[', '(' or '{', found \"'\""),
        ("<", UnknownType, "character 1: expected a type letter such as i, u or f, found the end"),
        ("<x4", UnknownType, "character 1: expected a type letter such as i, u or f, found 'x'"),
        ("x4", UnknownType, "character 0: expected a type letter such as i, u or f, found 'x'"),
        ("4", UnknownType, "character 0: expected a type letter such as i, u or f, found '4'"),
        ("<é", UnknownType, "character 1: expected a type letter such as i, u or f, found 'é'"),
        ("<d8", UnknownType, "character 2: expected the end of the type, found '8'"),
        ("<int32", UnknownType, "character 2: expected 1, 2, 4 or 8 bytes for 'i', found 'n'"),
        ("<u", UnknownType, "character 2: expected 1, 2, 4 or 8 bytes for 'u', found the end"),
        ("<U-1", UnknownType, "character 2: expected 0 to 536870911 characters for 'U', found '-'"),
        ("S+4", UnknownType, "character 1: expected 0 to 2147483647 bytes for 'S', found '+'"),
        ("Float64", UnknownType, "character 0: expected a type such as <i4 or float64, found 'Float64'"),
        ("int33", UnknownType, "character 0: expected a type such as <i4 or float64, found 'int33'"),
        ("it's", UnknownType, "character 0: expected a type such as <i4 or float64, found \"it's\""),
        ("<f1", UnknownType, "character 2: expected 2, 4, 8 or 16 bytes for 'f', found 1"),
        ("i16", UnknownType, "character 1: expected 1, 2, 4 or 8 bytes for 'i', found 16"),
        ("<i4x", UnknownType, "character 3: expected the end of the type, found 'x'"),
        ("S2147483648", TooLarge, "character 1: expected 0 to 2147483647 bytes for 'S', found 2147483648"),
        ("<U536870912", TooLarge, "character 2: expected 0 to 536870911 characters for 'U', found 536870912"),
        ("<M4", UnknownType, "character 2: expected 8 bytes for 'M', found 4"),
        ("<M8[s", UnknownType, "character 5: expected ']', found the end"),
        ("<M8[s]x", UnknownType, "character 6: expected the end of the type, found 'x'"),
        (
            "<M8[sec]",
            UnknownType,
            "character 4: expected a time unit (Y, M, W, D, h, m, s, ms, us, ns, ps, fs, as), found 'sec'",
        ),
        (
            "<M8[25",
            UnknownType,
            "character 6: expected a time unit (Y, M, W, D, h, m, s, ms, us, ns, ps, fs, as), found the end",
        ),
        (
            "m8[2147483648s]",
            UnknownType,
            "character 3: expected a count of 0 to 2147483647, found 2147483648",
        ),
        ("datetime64s", UnknownType, "character 10: expected '[' or the end of the type, found 's'"),
        ("<M08[ns]", UnknownType, "character 2: expected 8 bytes for 'M', found 08"),
    ]);
    // NumPy rejects a leading zero in `<M08` only if a unit follows, so this string is accepted.
    assert_eq!("<M08".parse::<Dtype>().unwrap().to_string(), "<M8");
}

#[test]
fn dtype_parse_rejects_a_list_of_fields_where_it_goes_wrong() {
    refuses(&[
        ("[", Syntax, "character 1: expected a field (a tuple of name and dtype), found the end"),
        ("['i4']", Syntax, "character 1: expected a field (a tuple of name and dtype), found \"'\""),
        ("[]x", Syntax, "character 2: expected the end, found 'x'"),
        ("[('a', '<i4'", Syntax, "character 12: expected ',' or ')', found the end"),
        ("[('a', '<i4') ('b', '<i4')]", Syntax, "character 14: expected ',' or ']', found '('"),
        ("[('a' '<i4')]", Syntax, "character 6: expected ',', found \"'\""),
        ("[('a',)]", Syntax, "character 6: expected a type string, '[', '(' or '{', found ')'"),
        ("[('a', int32)]", Syntax, "character 7: expected a type string, '[', '(' or '{', found 'i'"),
        ("[(1, '<i4')]", Syntax, "character 2: expected a string in quotes, found '1'"),
        ("[((1, 'a'), '<i4')]", Syntax, "character 3: expected a string in quotes, found '1'"),
        ("[(('t', 'a', 'b'), '<i4')]", Syntax, "character 13: expected ',' or ')', found \"'\""),
        ("[('a', '<i4', -1)]", Syntax, "character 14: expected a number or a tuple of numbers, found '-'"),
        ("[('a', '<i4', (2, x))]", Syntax, "character 18: expected a number, found 'x'"),
        ("[('a', '<i4', 2, 3)]", Syntax, "character 17: expected ',' or ')', found '3'"),
        (
            "[('日本', 'foo')]",
            UnknownType,
            "character 9: expected a type such as <i4 or float64, found 'foo'",
        ),
        ("[('a', '<\\x693')]", UnknownType, "character 7: expected 1, 2, 4 or 8 bytes for 'i', found 3"),
        (
            "[('a', 'u1'), ('b', 'u1'), ('a', 'u1')]",
            DuplicateField,
            "character 27: the name or title 'a' occurs more than once",
        ),
        (
            "[(('b', 'a'), 'u1'), ('b', 'u1')]",
            DuplicateField,
            "character 21: the name or title 'b' occurs more than once",
        ),
        (
            "[('a', 'S2147483647'), ('b', 'S1')]",
            TooLarge,
            "character 23: an item has more than 2147483647 bytes",
        ),
    ]);
}

#[test]
fn dtype_parse_rejects_a_name_where_its_literal_goes_wrong() {
    refuses(&[
        ("[('a", Syntax, "character 4: expected the closing quote, found the end"),
        ("[('a\n', 'u1')]", Syntax, "character 4: expected the closing quote, found '\\n'"),
        (
            r"[('a\q', 'u1')]",
            Syntax,
            r#"character 5: expected one of \ ' " a b f n r t v x u U after the backslash, found 'q'"#,
        ),
        (r"[('a\x4', 'u1')]", Syntax, "character 6: expected 2 hexadecimal digits, found '4'"),
        (r"[('a\ud800', 'u1')]", Syntax, "character 6: expected a Unicode character, found d800"),
    ]);
}

#[expect(clippy::too_many_lines, reason = "one table")]
#[test]
fn dtype_parse_rejects_a_dictionary_where_it_goes_wrong() {
    refuses(&[
        ("{}", Syntax, "character 0: the dictionary has no 'names'"),
        ("{'names': ['a']}", Syntax, "character 0: the dictionary has no 'formats'"),
        ("{'names' ['a']}", Syntax, "character 9: expected ':', found '['"),
        ("{'names': 'ab'}", Syntax, "character 10: expected '[' or '(', found \"'\""),
        ("{names: ['a']}", Syntax, "character 1: expected a string in quotes, found 'n'"),
        ("{'names': [], 'names': []}", Syntax, "character 14: the key 'names' occurs more than once"),
        (
            "{'names': [], 'title': []}",
            Syntax,
            "character 14: expected a key of names, formats, offsets, titles, itemsize, aligned, found 'title'",
        ),
        (
            "{'names': ['a'], 'formats': ['u1', 'u1']}",
            Layout,
            "character 28: 'formats' has 2 entries, but 'names' has 1",
        ),
        (
            "{'names': ['a', 'b'], 'formats': ['u1', 'u1'], 'offsets': [0]}",
            Layout,
            "character 58: 'offsets' has 1 entry, but 'names' has 2",
        ),
        (
            "{'names': ['a'], 'formats': ['<i4'], 'offsets': [2], 'aligned': True}",
            Layout,
            "character 49: offset 2 is not a multiple of the alignment 4",
        ),
        (
            "{'names': ['a'], 'formats': ['<i4'], 'itemsize': 3}",
            Layout,
            "character 49: itemsize 3 is less than the 4 bytes of the fields",
        ),
        (
            "{'names': ['a'], 'formats': ['<i4'], 'itemsize': 6, 'aligned': True}",
            Layout,
            "character 49: itemsize 6 is not a multiple of the alignment 4",
        ),
        (
            "{'names': ['a'], 'formats': ['u1'], 'aligned': 1}",
            Syntax,
            "character 47: expected True or False, found '1'",
        ),
        (
            "{'names': ['a'], 'formats': ['<i4'], 'offsets': [2147483646]}",
            TooLarge,
            "character 11: an item has more than 2147483647 bytes",
        ),
        (
            "{'names': ['a', 'b'], 'formats': ['O', '<i4'], 'offsets': [0, 4]}",
            Layout,
            "character 16: the field overlaps another one, and one of the two contains objects",
        ),
        (
            "{'names': ['a', 'b'], 'formats': [('O', (2,)), '<i8'], 'offsets': [0, 8]}",
            Layout,
            "character 16: the field overlaps another one, and one of the two contains objects",
        ),
        (
            "{'names': ['a', 'b'], 'formats': [[('x', 'O')], '<i8'], 'offsets': [0, 0]}",
            Layout,
            "character 16: the field overlaps another one, and one of the two contains objects",
        ),
    ]);
    for overlapping_without_objects in [
        "{'names': ['a', 'b'], 'formats': [('<i8', (2,)), '<i8'], 'offsets': [0, 8]}",
        "{'names': ['a', 'b'], 'formats': [[('x', '<i8')], '<i8'], 'offsets': [0, 0]}",
    ] {
        assert!(overlapping_without_objects.parse::<Dtype>().is_ok());
    }
}

#[test]
fn dtype_parse_rejects_a_subarray_where_it_goes_wrong() {
    refuses(&[
        ("('<i4')", Syntax, "character 6: expected ',', found ')'"),
        ("('<i4', (2; 3))", Syntax, "character 10: expected ',' or ')', found ';'"),
        ("('<i4', (2, 3)", Syntax, "character 14: expected ',' or ')', found the end"),
        (
            "('<i4', 99999999999999999999)",
            TooLarge,
            "character 8: expected a number up to 2147483647, found 99999999999999999999",
        ),
        ("('<i4', 1000000000)", TooLarge, "character 8: an item has more than 2147483647 bytes"),
        ("('S0', (2,))", Layout, "character 7: the items of a subarray must have a size, as in 'S5'"),
        ("(numpy.record, '<i4')", Syntax, "character 15: expected '[' or '{', found \"'\""),
    ]);
    let of = |ndim: usize| format!("('u1', ({}))", "1,".repeat(ndim));
    assert_eq!(of(64).parse::<Dtype>().unwrap().item_size(), 1);
    let error = refusal(&of(65));
    assert_eq!(error.to_string(), "character 7: the subarray has more than 64 dimensions");
    assert_eq!(error.kind(), TooDeep);
}

#[test]
fn dtype_parse_takes_only_the_number_0_of_subarrays_without_bytes() {
    let dtype: Dtype = "(('<i4', (0,)), 0)".parse().unwrap();
    assert_eq!((&*dtype.to_string(), dtype.item_size()), ("('<i4', (0,))", 0));
    // NumPy reads the first of these two strings, `(('<i4', (0,)), 3)`, as 3 bytes of padding. This crate rejects both.
    for number in ["3", "(3,)"] {
        assert_eq!(refusal(&format!("(('<i4', (0,)), {number})")).kind(), Layout);
    }
}

#[test]
fn dtype_parse_rejects_more_than_16_nested_dtypes() {
    let error = refusal(&format!("{}'u1'{}", "[('a', ".repeat(16), ")]".repeat(16)));
    assert_eq!(error.to_string(), "character 112: dtypes are nested more than 16 deep");
    assert_eq!(error.kind(), TooDeep);
}

#[test]
fn dtype_error_keeps_the_string() {
    let text = "[('a', 'decimal128')]";
    let error = refusal(text);
    assert_eq!(error.input(), text);
    assert_eq!(
        format!("{error:#?}"),
        "Error {\n    kind: UnknownType,\n    character: Some(\n        8,\n    ),\n    \
         message: \"expected a type such as <i4 or float64, found 'decimal128'\",\n    \
         input: \"[('a', 'decimal128')]\",\n}"
    );
    assert_eq!(format!("{error:?}"), error.to_string());
}

#[test]
fn dtype_error_is_short_for_a_long_string() -> Result<(), b2nd_serde::Error> {
    const LENGTH: usize = 500_000;
    let long = |piece: &str| piece.repeat(LENGTH / piece.len());
    let x = long("x");
    let ones = long("1");
    let escapes = long("\u{85}");
    let names = long(&format!("'{}',", "x".repeat(97)));
    let refused = [
        (Syntax, long(" ")),
        (Syntax, long("'")),
        (Syntax, format!("['{x}']")),
        (Syntax, format!("[('{x}")),
        (Syntax, format!("[('a', {x})]")),
        (Syntax, format!("[('a', '<i4') {x}]")),
        (Syntax, format!("{{'{x}': []}}")),
        (Syntax, format!("{{'{escapes}': []}}")),
        (Syntax, format!("{{'names': [], 'formats': [], 'aligned': {x}}}")),
        (Syntax, format!("{{'names': [{names}]}}")),
        (Syntax, format!(r"[('\U{ones}', 'u1')]")),
        (UnknownType, x.clone()),
        (UnknownType, format!("<{x}")),
        (UnknownType, long("<")),
        (UnknownType, format!("i{ones}")),
        (UnknownType, format!("i{x}")),
        (UnknownType, format!("<i4{x}")),
        (UnknownType, format!("M8[{x}]")),
        (UnknownType, format!("M8[{ones}s]")),
        (UnknownType, format!("M8[s{x}")),
        (UnknownType, format!("M8[s]{x}")),
        (UnknownType, format!("datetime64{x}")),
        (UnknownType, format!("[('a', '{x}')]")),
        (DuplicateField, format!("[('{x}', 'u1'), ('{x}', 'u1')]")),
        (DuplicateField, format!("[(('{escapes}', '{escapes}'), 'u1')]")),
        (Layout, format!("{{'names': [{names}], 'formats': []}}")),
        (Layout, format!("{{'names': ['{x}', 'b'], 'formats': ['O', 'O'], 'offsets': [0, 0]}}")),
        (Layout, format!("{{'names': ['{x}'], 'formats': ['<i4'], 'itemsize': 3}}")),
        (TooLarge, format!("S{ones}")),
        (TooLarge, format!("('<i4', {ones})")),
        (TooLarge, format!("[('{x}', 'S2147483647'), ('b', 'S1')]")),
        (TooDeep, long("(")),
        (TooDeep, format!("('<i4', ({}))", long("1,"))),
    ];
    for (kind, text) in refused {
        let error = refusal(&text);
        let message = error.to_string();
        assert_eq!(error.kind(), kind, "{message:.1000}");
        assert!(message.len() < 160, "{message:.1000}");
        assert_eq!(error.input().len(), text.len());
    }
    let meta = Meta::new(Shapes { shape: &[], chunkshape: &[], blockshape: &[] }, &x)?;
    let message = from_slice::<(u8, u8, [i64; 0], [i32; 0], [i32; 0], u8, Dtype)>(&to_vec(&meta)?)
        .expect_err("no such dtype")
        .to_string();
    assert!(message.len() < 200, "{message:.1000}");
    Ok(())
}

#[test]
fn dtype_error_takes_no_more_memory_than_the_string() {
    let text = "x".repeat(1_000_000);
    let memory = allocation_counter::measure(|| drop(refusal(&text)));
    assert!(memory.bytes_max < 1_010_000, "{memory:?}");
}

#[test]
fn parse_dtype_rejects_an_unknown_dtype_of_a_usable_meta() -> Result<(), b2nd_serde::Error> {
    let meta = Meta::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] }, "decimal128")?;
    let meta: Meta = from_slice(&to_vec(&meta)?)?;
    assert_eq!(meta.shape(), [3, 5]);
    assert_eq!(meta.dtype(), Some("decimal128"));
    let error = meta.parse_dtype().expect_err("unknown");
    assert_eq!(error.kind(), UnknownType);
    assert_eq!(error.input(), "decimal128");
    Ok(())
}

#[test]
fn parse_dtype_rejects_another_dtype_format_by_name() -> Result<(), b2nd_serde::Error> {
    let mut bytes = to_vec(&Meta::new(Shapes { shape: &[], chunkshape: &[], blockshape: &[] }, "<i4")?)?;
    let dtype_format = bytes.len() - "<i4".len() - 6;
    assert_eq!(bytes[dtype_format], 0);
    bytes[dtype_format] = 7;
    let meta: Meta = from_slice(&bytes)?;
    assert_eq!(meta.dtype_format(), Some(7));
    let error = meta.parse_dtype().expect_err("unknown format");
    assert_eq!(error.to_string(), "dtype_format is 7, but only 0 (NumPy) is known");
    assert_eq!(error.kind(), UnknownFormat);
    assert_eq!(error.character(), None);
    assert_eq!(error.input(), "<i4");
    Ok(())
}
