//! The markers of `MessagePack`: the first byte of each value.
//!
//! | bytes | marker | followed by |
//! |---|---|---|
//! | `00` to `7f` | positive fixint | nothing: the byte is the value |
//! | `80` to `8f` | fixmap | pairs; the low 4 bits are their number |
//! | `90` to `9f` | fixarray | values; the low 4 bits are their number |
//! | `a0` to `bf` | fixstr | bytes; the low 5 bits are their number |
//! | `c0` to `df` | one of the named constants below | a value of the type in its name; integers and lengths are big-endian |
//! | `e0` to `ff` | negative fixint | nothing: the byte is the value, as an `i8` |

use core::fmt;

/// The largest positive fixint.
pub(crate) const FIXINT_MAX: u8 = 0x7f;
pub(crate) const FIXMAP: u8 = 0x80;
pub(crate) const FIXMAP_MAX: u8 = 0x8f;
pub(crate) const FIXARRAY: u8 = 0x90;
pub(crate) const FIXARRAY_MAX: u8 = 0x9f;
pub(crate) const FIXSTR: u8 = 0xa0;
pub(crate) const FIXSTR_MAX: u8 = 0xbf;
/// The smallest byte that is a negative fixint. As an `i8` it is -32.
pub(crate) const NEGATIVE_FIXINT: u8 = 0xe0;

/// The range of positive fixints, for messages.
pub(crate) const FIXINTS: &str = "positive fixint (0x00 to 0x7f)";

/// The number of bytes of an int64 or an int32, with its marker.
pub(crate) const INT64_SIZE: usize = 1 + size_of::<i64>();
pub(crate) const INT32_SIZE: usize = 1 + size_of::<i32>();

/// The number of bytes of a str32 before its text: the marker, and a length of 4 bytes.
pub(crate) const STR32_HEADER: usize = 1 + size_of::<u32>();

/// The marker of an array of at most 15 values.
#[inline]
pub(crate) const fn fixarray(count: u8) -> u8 {
    FIXARRAY + count
}

/// Generates the constants and their names from one table.
macro_rules! markers {
    ($($constant:ident = $byte:literal $name:literal)*) => {
        $( pub(crate) const $constant: u8 = $byte; )*

        /// The name of a marker that is a single byte, not a range.
        const fn name(marker: u8) -> &'static str {
            match marker {
                $( $constant => $name, )*
                _ => "fixint",
            }
        }
    };
}

markers! {
    NIL = 0xc0 "nil"
    NEVER_USED = 0xc1 "a byte that MessagePack never uses"
    FALSE = 0xc2 "false"
    TRUE = 0xc3 "true"
    BIN8 = 0xc4 "bin8"
    BIN16 = 0xc5 "bin16"
    BIN32 = 0xc6 "bin32"
    EXT8 = 0xc7 "ext8"
    EXT16 = 0xc8 "ext16"
    EXT32 = 0xc9 "ext32"
    FLOAT32 = 0xca "float32"
    FLOAT64 = 0xcb "float64"
    UINT8 = 0xcc "uint8"
    UINT16 = 0xcd "uint16"
    UINT32 = 0xce "uint32"
    UINT64 = 0xcf "uint64"
    INT8 = 0xd0 "int8"
    INT16 = 0xd1 "int16"
    INT32 = 0xd2 "int32"
    INT64 = 0xd3 "int64"
    FIXEXT1 = 0xd4 "fixext1"
    FIXEXT2 = 0xd5 "fixext2"
    FIXEXT4 = 0xd6 "fixext4"
    FIXEXT8 = 0xd7 "fixext8"
    FIXEXT16 = 0xd8 "fixext16"
    STR8 = 0xd9 "str8"
    STR16 = 0xda "str16"
    STR32 = 0xdb "str32"
    ARRAY16 = 0xdc "array16"
    ARRAY32 = 0xdd "array32"
    MAP16 = 0xde "map16"
    MAP32 = 0xdf "map32"
}

/// Displays a marker in a message, with its kind and its byte: `int32 (0xd2)`.
pub(crate) struct Marker(pub(crate) u8);

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let byte = self.0;
        match byte {
            0..=FIXINT_MAX => write!(f, "positive fixint {byte}"),
            FIXMAP..=FIXMAP_MAX => write!(f, "map of {}", byte - FIXMAP),
            FIXARRAY..=FIXARRAY_MAX => write!(f, "array of {}", byte - FIXARRAY),
            FIXSTR..=FIXSTR_MAX => write!(f, "fixstr of {}", byte - FIXSTR),
            NEGATIVE_FIXINT.. => f.write_str("negative fixint"),
            _ => f.write_str(name(byte)),
        }?;
        write!(f, " ({byte:#04x})")
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn marker_display_names_the_kind_and_the_byte() {
        let named = |byte| Marker(byte).to_string();
        assert_eq!(named(0x05), "positive fixint 5 (0x05)");
        assert_eq!(named(0x82), "map of 2 (0x82)");
        assert_eq!(named(fixarray(7)), "array of 7 (0x97)");
        assert_eq!(named(0xa3), "fixstr of 3 (0xa3)");
        assert_eq!(named(INT32), "int32 (0xd2)");
        assert_eq!(named(0xff), "negative fixint (0xff)");
    }

    #[test]
    fn fixints_names_the_first_and_last_byte() {
        assert_eq!(FIXINTS, std::format!("positive fixint ({:#04x} to {FIXINT_MAX:#04x})", 0));
    }

    #[test]
    fn name_knows_every_byte_between_the_ranges() {
        for byte in NIL..=MAP32 {
            assert_ne!(name(byte), "fixint", "{byte:#04x}");
        }
    }
}
