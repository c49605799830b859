//! Tensors that `blosc2.save_array`, `save_tensor` and `pack_tensor` write: chunks, and their shape and dtype in a metalayer.

use b2nd_serde::dtype::Dtype;
use serde::Serialize;
use serde_json::Value;

use super::messagepack;
use crate::input::View;
use crate::text;

/// The metalayer with the kind of the tensor, its shape and its dtype.
const LAYER: &str = "__pack_tensor__";

/// The first item of a list that is a tuple in Python.
const TUPLE: &str = "__tuple__";

/// The longest metalayer that is read.
const LONGEST: usize = 1 << 16;

/// What a frame without an array says of the tensor in its chunks. Scripts rely on these names.
#[derive(Serialize)]
pub(crate) struct PackedTensor {
    /// What it was in Python, such as `numpy` or `torch`.
    pub(crate) kind: String,
    pub(crate) shape: Vec<i64>,
    pub(crate) dtype: String,
}

impl PackedTensor {
    /// The tensor in a frame without an array, if its trailer was read.
    pub(crate) fn of(view: View<'_>) -> Option<Self> {
        if view.array.is_some() {
            return None;
        }
        let fixed = view.metalayers.iter().find(|layer| layer.name() == LAYER);
        let bytes = if let Some(layer) = fixed {
            layer.bytes().into()
        } else {
            let layer = view.trailer?.vlmetalayer(LAYER)?;
            layer.nbytes().filter(|&nbytes| nbytes <= LONGEST)?;
            layer.value().ok()?
        };
        let value = messagepack::value(&bytes, 2 * LONGEST).ok()?;
        let [kind, shape, dtype] = items(serde_json::from_str(value.get()).ok()?)?.try_into().ok()?;
        Some(Self {
            kind: kind.as_str()?.into(),
            shape: items(shape)?.iter().map(Value::as_i64).collect::<Option<_>>()?,
            dtype: descr(dtype, true),
        })
    }

    /// The dtype as NumPy prints it, or the text in the metalayer.
    pub(crate) fn dtype_name(&self) -> String {
        let dtype = self.dtype.parse::<Dtype>();
        dtype.map_or_else(|_| text::clean(&self.dtype), |dtype| dtype.numpy_str().to_string())
    }
}

/// The items of a list or tuple.
fn items(value: Value) -> Option<Vec<Value>> {
    let Value::Array(mut items) = value else { return None };
    if items.first().is_some_and(|first| first == TUPLE) {
        items.remove(0);
    }
    Some(items)
}

/// A dtype as Python prints it: a type string, or at the top a list of tuples with the fields.
fn descr(value: Value, is_top: bool) -> String {
    match value {
        Value::String(text) if is_top => text,
        Value::String(text) => format!("'{text}'"),
        Value::Array(_) => {
            let parts = items(value).unwrap_or_default().into_iter().map(|part| descr(part, false));
            let parts = parts.collect::<Vec<_>>().join(", ");
            if is_top { format!("[{parts}]") } else { format!("({parts},)") }
        }
        other => other.to_string(),
    }
}
