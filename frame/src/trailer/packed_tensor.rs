//! Arrays that `save_array`, `save_tensor` and `pack_tensor` of python-blosc2 write. Their frames have no array
//! metalayer. The vlmetalayer `__pack_tensor__` is a `MessagePack` tuple of kind, shape and dtype. The dtype is a type
//! string, or the `descr` of a struct: a list of tuples. python-blosc2 writes a tuple as a list whose first item is the
//! text `__tuple__`.

use core::fmt;

use b2nd_serde::dtype::Kind;
use b2nd_serde::{Dtype, Geometry, MAX_NDIM, Shapes};
use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::code::FindingCode;
use crate::error::Error;
use crate::finding::{Finding, Place};
use crate::header::frame_header::Header;
use crate::trailer::frame_trailer::Trailer;

const NAME: &str = PackedTensor::VLMETALAYER;

/// The first item of a list that stands for a Python tuple.
const TUPLE: &str = "__tuple__";

/// The length in bytes of the longest description that is read.
const MAX_LEN: usize = 1 << 16;

/// The deepest nesting of lists in a description that is read. It is limited because each level needs a part of the
/// stack.
const MAX_DEPTH: u8 = 64;

/// The description of an array that `save_array`, `save_tensor` or `pack_tensor` of python-blosc2 has written. It comes
/// from a [vlmetalayer](Trailer::packed_tensor). The chunks of the frame together hold the items in C order.
///
/// ```
/// use b2nd_frame::Frame;
///
/// let trailer = Frame::open("tests/data/packed.b2frame")?.trailer()?;
/// let tensor = trailer.packed_tensor().expect("a tensor");
/// assert_eq!((&*tensor.kind, &*tensor.shape, &*tensor.dtype), ("numpy", &[4, 25, 10][..], "<i4"));
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackedTensor {
    /// The Python package that the array comes from: `numpy`, `torch` or `tensorflow`.
    pub kind: String,
    /// The number of items along each dimension.
    pub shape: Vec<i64>,
    /// The dtype as text.
    pub dtype: String,
}

impl PackedTensor {
    /// The name of the vlmetalayer that describes the array.
    pub const VLMETALAYER: &str = "__pack_tensor__";
}

impl Trailer {
    /// The array that is described in the vlmetalayer `__pack_tensor__`; `None` if there is no such vlmetalayer, or if
    /// its value cannot be read.
    #[must_use]
    pub fn packed_tensor(&self) -> Option<PackedTensor> {
        let layer = self.vlmetalayer(NAME)?;
        layer.nbytes().filter(|&nbytes| nbytes <= MAX_LEN)?;
        let [kind, shape, dtype] = layer.decode::<Value>().ok()?.items()?.try_into().ok()?;
        let length = |length| if let Value::Integer(length) = length { Some(length) } else { None };
        Some(PackedTensor {
            kind: kind.text()?,
            shape: shape.items()?.into_iter().map(length).collect::<Option<_>>()?,
            dtype: match dtype {
                Value::Text(text) => text,
                dtype => dtype.descr()?,
            },
        })
    }
}

/// The array that a trailer describes. An error if the description cannot be read or contradicts the header.
pub(crate) fn checked_tensor(trailer: &Trailer, header: &Header) -> Result<Option<PackedTensor>, Error> {
    let Some(layer) = trailer.vlmetalayer(NAME) else { return Ok(None) };
    let about = |text: String| {
        let text = format!("vlmetalayer {NAME} {text}");
        Finding::new(FindingCode::VlmetalayerValue, Place::Trailer).at(layer.offset()).text(text)
    };
    let Some(tensor) = trailer.packed_tensor() else {
        return Err(Error::malformed(about("does not have the kind, shape and dtype of an array".into())));
    };
    let PackedTensor { shape, dtype, .. } = &tensor;
    let ones = vec![1; shape.len()];
    if shape.len() > MAX_NDIM {
        return Err(Error::unsupported(format_args!(
            "the array has {} dimensions, but this crate supports at most {MAX_NDIM}",
            shape.len()
        )));
    }
    let nitems = match Geometry::new(Shapes { shape, chunkshape: &ones, blockshape: &ones }) {
        Ok(geometry) => geometry.nitems(),
        Err(error) => return Err(Error::malformed(about(format!("has an invalid shape: {error}")))),
    };
    let (found, size) = (header.nbytes, item_size(dtype, header));
    let nbytes = i128::from(nitems) * size as i128;
    if i128::from(found) == nbytes {
        return Ok(Some(tensor));
    }
    let text = format!(
        "describes {nitems} items of {size} bytes (shape {shape:?}, dtype {dtype}), which is {nbytes} bytes, but the chunks have {found}"
    );
    Err(Error::malformed(about(text).numbers(nbytes, found)))
}

/// The size of an item of this dtype in bytes, at least 1. For an unknown dtype, it is the typesize of the frame.
pub(crate) fn item_size(dtype: &str, header: &Header) -> usize {
    let size =
        dtype.parse().map_or(usize::try_from(header.typesize).ok(), |dtype: Dtype| Some(dtype.item_size()));
    size.unwrap_or_default().max(1)
}

/// A `MessagePack` value of a type that occurs in the description of an array.
enum Value {
    Integer(i64),
    Text(String),
    List(Vec<Self>),
    Other,
}

impl Value {
    fn text(self) -> Option<String> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    fn is_tuple(&self) -> bool {
        matches!(self, Self::List(items) if matches!(items.first(), Some(Self::Text(text)) if text == TUPLE))
    }

    /// The items of a list or tuple.
    fn items(self) -> Option<Vec<Self>> {
        let is_tuple = self.is_tuple();
        let Self::List(mut items) = self else { return None };
        if is_tuple {
            items.remove(0);
        }
        Some(items)
    }

    /// The dtype of a struct. If the dtype is unknown, the text is the `descr` as Python prints it.
    fn descr(self) -> Option<String> {
        let text = self.python()?;
        let Ok(dtype) = Dtype::from_descr(&text) else { return Some(text) };
        // NumPy gives raw bytes the same `descr` as a struct with padding only.
        let is_bytes = matches!(dtype.kind(), Kind::Struct(_)) && dtype.fields().is_empty();
        Some(if is_bytes { format!("|V{}", dtype.item_size()) } else { dtype.type_string().to_string() })
    }

    /// The value as Python prints it.
    fn python(self) -> Option<String> {
        let is_tuple = self.is_tuple();
        Some(match self {
            Self::Integer(number) => number.to_string(),
            Self::Text(text) => format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'")),
            Self::List(_) => {
                let parts: Option<Vec<_>> = self.items()?.into_iter().map(Self::python).collect();
                let parts = parts?.join(", ");
                // In Python, a tuple of one item needs the comma, and a longer tuple may have it.
                if is_tuple { format!("({parts},)") } else { format!("[{parts}]") }
            }
            Self::Other => return None,
        })
    }
}

impl<'m> Deserialize<'m> for Value {
    fn deserialize<D: Deserializer<'m>>(deserializer: D) -> Result<Self, D::Error> {
        ValueVisitor { depth: MAX_DEPTH }.deserialize(deserializer)
    }
}

/// Reads a value in which lists are nested at most `depth` deep.
struct ValueVisitor {
    depth: u8,
}

impl<'m> DeserializeSeed<'m> for ValueVisitor {
    type Value = Value;

    fn deserialize<D: Deserializer<'m>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'m> Visitor<'m> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Integer(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(i64::try_from(number).map_or(Value::Other, Value::Integer))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'m>>(self, mut seq: A) -> Result<Value, A::Error> {
        let Some(depth) = self.depth.checked_sub(1) else {
            return Err(A::Error::custom(format_args!("lists are nested more than {MAX_DEPTH} deep")));
        };
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(ValueVisitor { depth })? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'m>>(self, mut map: A) -> Result<Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Value, E> {
        Ok(Value::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Other)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Other)
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Value, E> {
        Ok(Value::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descr_is_the_dtype_that_numpy_makes_of_it() {
        let text = |text: &str| Value::Text(text.into());
        let tuple =
            |items: Vec<Value>| Value::List([vec![text(TUPLE)], items].into_iter().flatten().collect());
        let field = |name: &str, dtype: &str| tuple(vec![text(name), text(dtype)]);
        let subarray = tuple(vec![text("a"), text("<f4"), tuple(vec![Value::Integer(2)])]);
        let nested = tuple(vec![text("b"), Value::List(vec![field("c'\\", "<i2")])]);
        let title = tuple(vec![tuple(vec![text("T"), text("a")]), text("<i4")]);
        for (fields, expected) in [
            (vec![subarray, nested], r#"[('a', '<f4', (2,)), ('b', [("c'\\", '<i2')])]"#),
            (
                vec![field("a", "|i1"), field("", "|V7"), field("b", "<f8")],
                "{'names': ['a', 'b'], 'formats': ['i1', '<f8'], 'offsets': [0, 8], 'itemsize': 16}",
            ),
            (vec![title], "[(('T', 'a'), '<i4')]"),
            (vec![field("", "|V8")], "|V8"),
        ] {
            let dtype = Value::List(fields).descr().unwrap();
            assert_eq!(dtype, expected);
            assert!(dtype.parse::<Dtype>().is_ok(), "{dtype}");
        }
        assert_eq!(Value::List(vec![Value::Other]).descr(), None);
        assert_eq!(Value::List(vec![text("new"), Value::Integer(1)]).descr().unwrap(), "['new', 1]");
    }
}
