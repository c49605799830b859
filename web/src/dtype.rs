//! The layout of items as JSON, and numbers in the byte order of the machine.

use b2nd_serde::dtype::items::ItemError;
use b2nd_serde::dtype::{ByteOrder, Dtype, Kind, TimeUnit};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

/// The layout of items without a dtype.
pub(crate) fn raw(size: usize) -> Value {
    json!({ "kind": "void", "size": size })
}

/// The layout of an item: `kind`, `size`, and more entries that depend on the kind, such as the fields of a struct.
pub(crate) fn layout(dtype: &Dtype) -> Value {
    let kind = match dtype.kind() {
        Kind::Bool => "bool",
        Kind::Int => "int",
        Kind::Uint => "uint",
        // JavaScript has no float128.
        Kind::Float if dtype.item_size() <= 8 => "float",
        Kind::Complex if dtype.item_size() <= 16 => "complex",
        Kind::Datetime(unit) => return time(dtype, "datetime", *unit),
        Kind::Timedelta(unit) => return time(dtype, "timedelta", *unit),
        Kind::Bytes => "bytes",
        Kind::Str => "str",
        Kind::Struct(parts) => {
            let field = |field: &b2nd_serde::dtype::Field| json!({ "name": field.name(), "offset": field.offset(), "layout": layout(field.dtype()) });
            let fields: Vec<_> = parts.fields().iter().map(field).collect();
            return json!({ "kind": "struct", "size": dtype.item_size(), "fields": fields });
        }
        Kind::Subarray(subarray) => {
            let (shape, base) = (subarray.shape(), layout(subarray.base()));
            return json!({ "kind": "subarray", "size": dtype.item_size(), "shape": shape, "base": base });
        }
        _ => return raw(dtype.item_size()),
    };
    json!({ "kind": kind, "size": dtype.item_size(), "bigEndian": is_big(dtype) })
}

fn time(dtype: &Dtype, kind: &str, unit: TimeUnit) -> Value {
    let (size, unit, count) = (dtype.item_size(), unit.symbol(), unit.count());
    json!({ "kind": kind, "size": size, "bigEndian": is_big(dtype), "unit": unit, "count": count })
}

fn is_big(dtype: &Dtype) -> bool {
    dtype.byte_order() == Some(ByteOrder::Big)
}

/// The base dtype inside nested subarrays; the dtype itself if it is not a subarray.
fn innermost(mut dtype: &Dtype) -> &Dtype {
    while let Kind::Subarray(subarray) = dtype.kind() {
        dtype = subarray.base();
    }
    dtype
}

/// Refuses structs with far more values than bytes, because JavaScript creates an object for each value. Also refuses
/// structs with Python objects, or with more than 128 levels.
pub(crate) fn check_values(dtype: &Dtype) -> Result<(), ItemError> {
    match innermost(dtype) {
        dtype if matches!(dtype.kind(), Kind::Struct(_)) => dtype.read_items::<IgnoredAny>(&[]).map(drop),
        _ => Ok(()),
    }
}

/// The items with numbers in the byte order of WebAssembly, float16 as float32, and booleans as 0 or 1. Other items are
/// returned unchanged.
pub(crate) fn in_machine_order(dtype: &Dtype, mut items: Vec<u8>) -> Vec<u8> {
    let dtype = innermost(dtype);
    let size = dtype.item_size();
    let width = match dtype.kind() {
        Kind::Bool => {
            items.iter_mut().for_each(|item| *item = u8::from(*item != 0));
            return items;
        }
        Kind::Float if size == 2 => {
            // Reading cannot fail: every float16 is a float32.
            let floats = dtype.read_items::<f32>(&items).into_iter().flatten().flatten();
            return floats.flat_map(f32::to_le_bytes).collect();
        }
        Kind::Int | Kind::Uint | Kind::Datetime(_) | Kind::Timedelta(_) => size,
        // Larger floats and complex numbers stay unchanged, because JavaScript gets them as bytes.
        Kind::Float if size <= 8 => size,
        Kind::Complex if size <= 16 => size / 2,
        _ => return items,
    };
    if is_big(dtype) {
        items.chunks_exact_mut(width.max(1)).for_each(<[u8]>::reverse);
    }
    items
}
