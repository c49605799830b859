//! A dtype is printed with the width that is asked for, and in no other way than NumPy prints it.
#![cfg(feature = "dtype")]

use b2nd_serde::dtype::{Dtype, Error};

#[test]
fn width_and_alignment_are_of_the_whole() -> Result<(), Error> {
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

const STRUCT: &str = "{'names': ['a', 'b'], 'formats': ['u1', '<f8'], 'offsets': [0, 8], 'itemsize': 16}";

#[test]
fn no_flag_reaches_the_parts() -> Result<(), Error> {
    for text in [STRUCT, "('<i4', (2, 3))"] {
        let dtype: Dtype = text.parse()?;
        assert_eq!(format!("{dtype:+}"), text);
        assert_eq!(format!("{dtype:#}"), text);
    }
    Ok(())
}

/// As large as there is, so that its number of bits does not fit 32.
#[test]
fn the_largest_items_are_printed_where_addresses_have_32_bits() -> Result<(), Error> {
    for text in ["|S2147483647", "|V2147483647", "<U536870911", "[('a', 'S2147483647')]"] {
        let dtype: Dtype = text.parse()?;
        assert_eq!(dtype.numpy_str().to_string(), text);
        assert_eq!(dtype.to_string(), text);
    }
    Ok(())
}
