//! The names of `MessagePack` markers in dumps and messages.

use core::fmt;

pub(crate) use rmp::Marker;

/// The type of the value that begins with a marker, such as `int32`, `array of 7` or `fixint`.
pub(crate) struct ValueType(pub(crate) Marker);

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Marker::FixMap(count) => return write!(f, "map of {count}"),
            Marker::FixArray(count) => return write!(f, "array of {count}"),
            Marker::FixStr(length) => return write!(f, "fixstr of {length}"),
            Marker::FixPos(_) | Marker::FixNeg(_) => "fixint",
            Marker::Null => "nil",
            Marker::Reserved => "a byte that MessagePack never uses",
            Marker::False => "false",
            Marker::True => "true",
            Marker::Bin8 => "bin8",
            Marker::Bin16 => "bin16",
            Marker::Bin32 => "bin32",
            Marker::Ext8 => "ext8",
            Marker::Ext16 => "ext16",
            Marker::Ext32 => "ext32",
            Marker::F32 => "float32",
            Marker::F64 => "float64",
            Marker::U8 => "uint8",
            Marker::U16 => "uint16",
            Marker::U32 => "uint32",
            Marker::U64 => "uint64",
            Marker::I8 => "int8",
            Marker::I16 => "int16",
            Marker::I32 => "int32",
            Marker::I64 => "int64",
            Marker::FixExt1 => "fixext1",
            Marker::FixExt2 => "fixext2",
            Marker::FixExt4 => "fixext4",
            Marker::FixExt8 => "fixext8",
            Marker::FixExt16 => "fixext16",
            Marker::Str8 => "str8",
            Marker::Str16 => "str16",
            Marker::Str32 => "str32",
            Marker::Array16 => "array16",
            Marker::Array32 => "array32",
            Marker::Map16 => "map16",
            Marker::Map32 => "map32",
        })
    }
}

/// A marker with its byte: `int32 (0xd2)`, `positive fixint 5 (0x05)`.
pub(crate) struct Named(pub(crate) Marker);

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Marker::FixPos(value) => write!(f, "positive fixint {value}"),
            Marker::FixNeg(_) => f.write_str("negative fixint"),
            marker => ValueType(marker).fmt(f),
        }?;
        write!(f, " ({:#04x})", self.0.to_u8())
    }
}
