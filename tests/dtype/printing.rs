//! A dtype is printed exactly as NumPy prints it, and with the width that the format string asks for.

use b2nd_serde::dtype::{Dtype, Error, Field};

#[test]
fn dtype_display_applies_width_and_alignment_to_the_whole() -> Result<(), Error> {
    let dtypes = ["<i4", "uint8", "|S5", "bfloat16", "('<i4', (2, 3))", "[('a', '<i4', (2,))]", STRUCT];
    for text in dtypes {
        let dtype: Dtype = text.parse()?;
        assert_eq!(format!("{dtype:120}|"), format!("{text:120}|"));
        assert_eq!(format!("{dtype:*>120}|"), format!("{text:*>120}|"));
        assert_eq!(format!("{dtype:^3.2}|"), format!("{text:^3.2}|"));
    }
    let dtype: Dtype = "<u2".parse()?;
    assert_eq!(format!("{:>8}|{:<5}|", dtype.numpy_str(), dtype.type_string()), "  uint16|<u2  |");
    Ok(())
}

#[test]
fn dtype_parse_reads_an_escape_as_python_does() -> Result<(), Error> {
    let escapes = r#"\\ \' \" \a \b \f \n \r \t \v \x07 \u00e9 \U0001f980"#;
    let characters =
        ["\\", "'", "\"", "\x07", "\x08", "\x0c", "\n", "\r", "\t", "\x0b", "\x07", "é", "\u{1f980}"];
    assert_eq!(escapes.split(' ').count(), characters.len());
    for (escape, character) in escapes.split(' ').zip(characters) {
        let dtype: Dtype = format!("[('a{escape}', '<i4')]").parse()?;
        let name = format!("a{character}");
        assert_eq!(dtype.field(&name).map(Field::name), Some(&*name), "{escape}");
        // NumPy prints the name of a field as Python prints a string. Which characters it escapes depends on the
        // Unicode version of Python. So the test does not compare the printed text, but only parses it again.
        assert_eq!(dtype.to_string().parse::<Dtype>()?, dtype, "{escape}");
    }
    Ok(())
}

#[test]
fn dtype_field_is_found_by_its_name_or_title() -> Result<(), Error> {
    let dtype: Dtype = "[(('mass in kg', 'm'), '<f8'), ('id', '<i4')]".parse()?;
    assert_eq!(dtype.fields().iter().map(Field::name).collect::<Vec<_>>(), ["m", "id"]);
    let offset = |name| dtype.field(name).map(Field::offset);
    assert_eq!(
        [offset("m"), offset("mass in kg"), offset("id"), offset("x")],
        [Some(0), Some(0), Some(8), None]
    );
    let plain: Dtype = "<f8".parse()?;
    assert_eq!((plain.fields().len(), plain.field("m")), (0, None));
    Ok(())
}

/// For a type without a size, such as `S`, a number in the place of a shape is the size of the type. If this number is
/// 0, the type still has no size.
#[test]
fn dtype_parse_gives_no_size_to_a_type_with_a_number_of_0() -> Result<(), Error> {
    for (text, shown) in [("('S', 0)", "|S0"), ("('>U', 0)", ">U0"), ("('V', 0)", "|V0"), ("('S', 3)", "|S3")]
    {
        let dtype: Dtype = text.parse()?;
        assert_eq!(dtype.type_string().to_string(), shown, "{text}");
    }
    Ok(())
}

const STRUCT: &str = "{'names': ['a', 'b'], 'formats': ['u1', '<f8'], 'offsets': [0, 8], 'itemsize': 16}";

#[test]
fn dtype_display_passes_no_flag_to_the_parts() -> Result<(), Error> {
    for text in [STRUCT, "('<i4', (2, 3))"] {
        let dtype: Dtype = text.parse()?;
        assert_eq!(format!("{dtype:+}"), text);
        assert_eq!(format!("{dtype:#}"), text);
    }
    Ok(())
}

/// A name such as `int32` has the item size in bits. The largest item size fits into 32 bits when it is counted in
/// bytes, but not when it is counted in bits. So printing must not compute the bits for these dtypes.
#[test]
fn dtype_display_prints_the_largest_items_where_addresses_have_32_bits() -> Result<(), Error> {
    for text in ["|S2147483647", "|V2147483647", "<U536870911", "[('a', 'S2147483647')]"] {
        let dtype: Dtype = text.parse()?;
        assert_eq!(dtype.numpy_str().to_string(), text);
        assert_eq!(dtype.to_string(), text);
    }
    Ok(())
}
