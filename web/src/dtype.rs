//! The layout of items as JSON, and numbers in the byte order of the machine.

use b2nd_serde::dtype::{ByteOrder, Dtype, Kind};
use serde_json::{Value, json};

/// The layout of items without a dtype.
pub(crate) fn raw(size: usize) -> Value {
    json!({ "kind": "void", "size": size })
}

/// The layout of an item: `kind`, `size`, and for a struct or subarray its parts.
pub(crate) fn layout(dtype: &Dtype) -> Value {
    let kind = match dtype.kind() {
        Kind::Bool => "bool",
        Kind::Int => "int",
        Kind::Uint => "uint",
        // JavaScript has no float128.
        Kind::Float if dtype.item_size() <= 8 => "float",
        Kind::Complex if dtype.item_size() <= 16 => "complex",
        Kind::Datetime(_) => "datetime",
        Kind::Timedelta(_) => "timedelta",
        Kind::Bytes => "bytes",
        Kind::Str => "str",
        Kind::Struct(parts) => {
            let field = |field: &b2nd_serde::dtype::Field| json!({ "name": field.name(), "offset": field.offset(), "items": layout(field.dtype()) });
            let fields: Vec<_> = parts.fields().iter().map(field).collect();
            return json!({ "kind": "struct", "size": dtype.item_size(), "fields": fields });
        }
        Kind::Subarray(subarray) => {
            let (shape, base) = (subarray.shape(), layout(subarray.base()));
            return json!({ "kind": "subarray", "size": dtype.item_size(), "shape": shape, "base": base });
        }
        _ => return raw(dtype.item_size()),
    };
    let is_big = dtype.byte_order() == Some(ByteOrder::Big);
    json!({ "kind": kind, "size": dtype.item_size(), "bigEndian": is_big })
}

/// The items with numbers in the byte order of WebAssembly, and float16 as float32. Items that are not numbers are
/// returned unchanged.
pub(crate) fn in_machine_order(dtype: &Dtype, mut items: Vec<u8>) -> Vec<u8> {
    let mut dtype = dtype;
    while let Kind::Subarray(subarray) = dtype.kind() {
        dtype = subarray.base();
    }
    let width = match dtype.kind() {
        Kind::Float if dtype.item_size() == 2 => {
            // Reading cannot fail: every float16 is a float32.
            let floats = dtype.read_items::<f32>(&items).into_iter().flatten().flatten();
            return floats.flat_map(f32::to_le_bytes).collect();
        }
        Kind::Bool | Kind::Int | Kind::Uint | Kind::Float | Kind::Datetime(_) | Kind::Timedelta(_) => {
            dtype.item_size()
        }
        Kind::Complex => dtype.item_size() / 2,
        _ => return items,
    };
    if dtype.byte_order() == Some(ByteOrder::Big) {
        items.chunks_exact_mut(width.max(1)).for_each(<[u8]>::reverse);
    }
    items
}
