//! Tensors that `save_array`, `save_tensor` and `pack_tensor` of python-blosc2 write. The frame of such a tensor has no
//! array: the shape and the dtype of the tensor are in a metalayer of another kind.

use b2nd_serde::dtype::Dtype;
use serde::Serialize;
use serde_json::Value;

use super::messagepack;
use crate::input::View;
use crate::text;

/// The metalayer with the kind of the tensor, its shape and its dtype.
const LAYER: &str = "__pack_tensor__";

/// A list with this text as its first item represents a Python tuple.
const TUPLE: &str = "__tuple__";

/// A vlmetalayer whose value has more bytes than this is not read.
const LONGEST: usize = 1 << 16;

/// A tensor in the chunks of a frame without an array. Scripts rely on the names of these fields.
#[derive(Serialize)]
pub(crate) struct PackedTensor {
    /// The Python package that the tensor comes from, such as `numpy` or `torch`.
    pub(crate) kind: String,
    pub(crate) shape: Vec<i64>,
    pub(crate) dtype: String,
}

impl PackedTensor {
    /// The tensor in a frame without an array. If the metalayer of the tensor is in the trailer, the tensor is found
    /// only if the trailer was read.
    pub(crate) fn find(view: View<'_>) -> Option<Self> {
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
        // The JSON text can be longer than the MessagePack. So the limit of the text is twice the limit of a
        // vlmetalayer's value.
        let value = messagepack::value(&bytes, 2 * LONGEST).ok()?;
        let [kind, shape, dtype] = items(serde_json::from_str(value.get()).ok()?)?.try_into().ok()?;
        Some(Self {
            kind: kind.as_str()?.into(),
            shape: items(shape)?.iter().map(Value::as_i64).collect::<Option<_>>()?,
            dtype: match dtype {
                Value::String(text) => text,
                dtype => descr(dtype),
            },
        })
    }

    /// The dtype as NumPy prints it. If the dtype is not valid, the text in the metalayer.
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

/// A dtype as Python prints it: a list of tuples with the fields.
fn descr(value: Value) -> String {
    let is_tuple = value.get(0).is_some_and(|first| first == TUPLE);
    match value {
        Value::String(text) => format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'")),
        Value::Array(_) => {
            let parts: Vec<_> = items(value).unwrap_or_default().into_iter().map(descr).collect();
            let parts = parts.join(", ");
            // In Python, a tuple of one item needs the comma, and a longer tuple may have it.
            if is_tuple { format!("({parts},)") } else { format!("[{parts}]") }
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_nested_struct_are_as_python_prints_them() {
        let tuple = |items: &[Value]| Value::Array([&[TUPLE.into()], items].concat());
        let inner = Value::Array(vec![tuple(&["c'\\".into(), "<i2".into()])]);
        let dtype = descr(Value::Array(vec![
            tuple(&["a".into(), "<f4".into(), tuple(&[2.into()])]),
            tuple(&["b".into(), inner]),
        ]));
        assert_eq!(dtype, r"[('a', '<f4', (2,),), ('b', [('c\'\\', '<i2',)],)]");
        assert!(dtype.parse::<Dtype>().is_ok(), "{dtype}");
    }
}
