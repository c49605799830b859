//! The part of the npm package `b2nd` that is written in Rust. It tells which bytes of a file are needed, parses them,
//! and returns the items of an array.
//!
//! If bytes are missing, a call throws a JSON text that lists their ranges, such as `{"ranges":[[0,4096]]}`. JavaScript
//! then fetches these ranges, inserts their bytes, and makes the same call again. Any other error is a text such as
//! `{"code":"truncated","offset":12,"message":"…"}`, with a code of the command `b2nd`.

#![deny(unsafe_code)]

mod dtype;
// Attributes have the same JSON as in `b2nd info --json`.
#[path = "../../cli/src/output/messagepack.rs"]
mod messagepack;
mod text;

use std::rc::Rc;
use std::sync::Arc;

use b2nd_frame::{
    Array, EmbeddedFrames, Error, ErrorKind, Frame, KnownRanges, Pieces, ReadAt, SlicePlan, Store, Trailer,
};
use b2nd_serde::Dtype;
use js_sys::{Array as JsArray, BigInt, Object};
use serde_json::{Value, json};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

type Reader = Box<dyn ReadAt>;

/// The JSON text of an error.
fn thrown(error: &Error) -> String {
    let ranges: Vec<_> = error.ranges().iter().map(|range| [range.start, range.end]).collect();
    if !ranges.is_empty() {
        return json!({ "ranges": ranges }).to_string();
    }
    match error.finding() {
        Some(finding) => failure(finding.code().name(), finding.offset(), finding.message()),
        None => failure(&kebab(error.kind()), None, &error.to_string()),
    }
}

fn failure(code: &str, offset: Option<u64>, message: &str) -> String {
    json!({ "code": code, "offset": offset, "message": message }).to_string()
}

/// The name of a kind of error, as the command prints it, such as `too-large`.
fn kebab(kind: ErrorKind) -> String {
    let name = format!("{kind:?}");
    let words = name.char_indices().map(|(at, letter)| {
        let dash = if at > 0 && letter.is_ascii_uppercase() { "-" } else { "" };
        format!("{dash}{}", letter.to_ascii_lowercase())
    });
    words.collect::<Vec<_>>().concat()
}

/// The known part of a file: the byte ranges that JavaScript has inserted.
#[wasm_bindgen]
pub struct KnownFile {
    known: Arc<KnownRanges>,
    /// The name of the file. Its extension can show the kind of a store.
    name: String,
    store: Option<Option<Store>>,
}

#[wasm_bindgen]
impl KnownFile {
    #[wasm_bindgen(constructor)]
    pub fn new(size: u64, name: String) -> Self {
        Self { known: Arc::new(KnownRanges::new(size)), name, store: None }
    }

    pub fn insert(&self, start: u64, bytes: Vec<u8>) {
        self.known.insert(start, bytes);
    }

    /// Drops all inserted bytes, to free memory after a call. Open arrays keep pages of the chunk index for later
    /// calls.
    pub fn clear(&self) {
        self.known.clear();
    }

    /// The keys of a store in alphabetical order as JSON; `null` if the file is not a store.
    pub fn keys(&mut self) -> Result<String, String> {
        let mut keys = match self.store()? {
            Some(store) => Some(store.members().to_vec()),
            None => self.embedded()?.map(|frames| frames.keys()),
        };
        if let Some(keys) = &mut keys {
            keys.sort_unstable();
        }
        Ok(json!(keys).to_string())
    }

    /// The array in the file or, if there is a key, the array with this key in the store.
    pub fn array(&mut self, key: Option<String>) -> Result<KnownArray, String> {
        let Some(key) = key else {
            let frame = Frame::read_at(Arc::clone(&self.known), 0).map_err(|error| thrown(&error))?;
            return KnownArray::new(frame.map_reader(|known| Box::new(known) as Reader));
        };
        if let Some(store) = self.store()? {
            let frame = store.frame(&key).map_err(|error| thrown(&error))?;
            return KnownArray::new(frame.map_reader(|member| Box::new(member) as Reader));
        }
        let frames = self.embedded()?;
        let mut frames =
            frames.ok_or_else(|| failure("invalid-input", None, "not a store, so it has no keys"))?;
        if !frames.select(&key).map_err(|error| thrown(&error))? {
            let message = format!("the store has no member with the key {key}");
            return Err(failure("invalid-input", None, &message));
        }
        // An array can be sliced any number of times, so the total number of decompressed bytes has no limit.
        let frames = frames.without_total_limit();
        let frame = Frame::read_at(Box::new(frames) as Reader, 0).map_err(|error| thrown(&error))?;
        KnownArray::new(frame)
    }

    /// The attributes of a group in a store as an object.
    pub fn attributes(&mut self, group: &str) -> Result<JsValue, String> {
        let trailer = match self.store()? {
            Some(store) => store.attributes(group).map_err(|error| thrown(&error))?,
            None => None,
        };
        trailer.map_or_else(|| Ok(Object::new().into()), |trailer| attributes(&trailer))
    }
}

impl KnownFile {
    /// The store in the file, if the file is a zip file with a store.
    fn store(&mut self) -> Result<Option<&Store>, String> {
        if self.store.is_none() {
            let mut start = [0; 4];
            let read =
                self.known.read_at(&mut start, 0).map_err(|error| match error.downcast::<Error>() {
                    Ok(error) => thrown(&error),
                    Err(error) => failure("io", None, &error.to_string()),
                })?;
            let is_zip = read == 4 && [b"PK\x03\x04", b"PK\x05\x06"].contains(&&start);
            let store = if is_zip {
                let store = Store::read_zip(Arc::clone(&self.known), &self.name);
                store.map_err(|error| thrown(&error))?
            } else {
                None
            };
            self.store = Some(store);
        }
        Ok(self.store.as_ref().and_then(Option::as_ref))
    }

    /// The frames in a store that is a single frame; `None` if the file is not such a store.
    fn embedded(&self) -> Result<Option<EmbeddedFrames<Arc<KnownRanges>>>, String> {
        let frame = Frame::read_at(Arc::clone(&self.known), 0).map_err(|error| thrown(&error))?;
        if !frame.kind().is_store() {
            return Ok(None);
        }
        EmbeddedFrames::new(frame).map(Some).map_err(|error| thrown(&error))
    }
}

/// The attributes as a JavaScript object. A value with too long or too deeply nested JSON is `null`.
fn attributes(trailer: &Trailer) -> Result<JsValue, String> {
    let entries = trailer.vlmetalayers().iter().map(|layer| {
        let value = layer.value().map_err(|error| thrown(&error))?;
        let json = messagepack::value(&value, messagepack::LONGEST).ok();
        let json = json.and_then(|json| serde_json::from_str(json.get()).ok());
        Ok((layer.name().to_owned(), json.unwrap_or(Value::Null)))
    });
    let object: serde_json::Map<_, _> = entries.collect::<Result<_, String>>()?;
    Ok(js_value(&Value::Object(object)))
}

/// A JSON value as `JSON.parse` makes it, but with a `bigint` for each integer beyond `Number.MAX_SAFE_INTEGER`.
fn js_value(value: &Value) -> JsValue {
    const LARGEST: u64 = (1 << 53) - 1;
    match value {
        Value::Null => JsValue::NULL,
        Value::Bool(value) => JsValue::from_bool(*value),
        Value::String(text) => JsValue::from_str(text),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(integer), _) if integer.unsigned_abs() > LARGEST => BigInt::from(integer).into(),
            (None, Some(integer)) => BigInt::from(integer).into(),
            _ => number.as_f64().map_or(JsValue::NULL, JsValue::from_f64),
        },
        Value::Array(values) => values.iter().map(js_value).collect::<JsArray>().into(),
        // `fromEntries` also defines a property with the name `__proto__`. An assignment would change the prototype
        // instead.
        Value::Object(entries) => {
            let entry =
                |(key, value): (&String, &Value)| JsArray::of2(&JsValue::from_str(key), &js_value(value));
            let entries = entries.iter().map(entry).collect::<JsArray>();
            Object::from_entries(&entries).map_or(JsValue::NULL, JsValue::from)
        }
    }
}

/// An open array.
#[wasm_bindgen]
pub struct KnownArray {
    array: Rc<Array<Reader>>,
    dtype: Option<Dtype>,
}

#[wasm_bindgen]
impl KnownArray {
    /// The shape, chunk shape, block shape, dtype, compression and layout of items as JSON.
    pub fn info(&self) -> String {
        let (array, dtype) = (&self.array, self.dtype.as_ref());
        let header = array.frame().header();
        let filters: Vec<_> = header.pipeline().map(|filter| filter.to_string()).collect();
        json!({
            "shape": array.shape(),
            "chunks": array.meta().map(|meta| meta.chunkshape()),
            "blocks": array.meta().map(|meta| meta.blockshape()),
            "dtype": dtype.map(|dtype| dtype.numpy_str().to_string()),
            "codec": header.codec.to_string(),
            "level": header.level,
            "filters": filters,
            "cbytes": header.cbytes,
            "layout": dtype.map_or_else(|| dtype::raw(array.item_size()), dtype::layout),
        })
        .to_string()
    }

    /// The attributes as an object.
    pub fn attributes(&self) -> Result<JsValue, String> {
        attributes(&self.array.attributes().map_err(|error| thrown(&error))?)
    }

    /// Starts to read a slice. Each argument has a number for each dimension.
    pub fn slice(&self, starts: &[u64], stops: &[u64], steps: Vec<u64>) -> Result<Reading, String> {
        if let Some(dtype) = &self.dtype {
            dtype::check_values(dtype).map_err(|error| failure("unsupported", None, &error.to_string()))?;
        }
        let ranges: Vec<_> = starts.iter().zip(stops).map(|(&start, &stop)| start..stop).collect();
        let slice = self.array.slice(&ranges).steps(&steps);
        let pieces = slice.pieces().map_err(|error| thrown(&error))?;
        Ok(Reading { array: Rc::clone(&self.array), dtype: self.dtype.clone(), pieces, steps, plan: None })
    }
}

impl KnownArray {
    fn new(frame: Frame<Reader>) -> Result<Self, String> {
        let array = if frame.array_metalayer().is_some() {
            Array::new(frame)
        } else {
            frame.trailer().and_then(|trailer| Array::with_trailer(frame, &trailer))
        };
        let array = array.map_err(|error| thrown(&error))?;
        // If the dtype is not valid, or has another item size than the array, the items are raw bytes.
        let dtype = array.parse_dtype().ok().flatten();
        let dtype = dtype.filter(|dtype| dtype.item_size() == array.item_size());
        Ok(Self { array: Rc::new(array), dtype })
    }
}

/// A slice that is read piece by piece.
#[wasm_bindgen]
pub struct Reading {
    array: Rc<Array<Reader>>,
    dtype: Option<Dtype>,
    pieces: Pieces,
    steps: Vec<u64>,
    /// The piece that is being read.
    plan: Option<SlicePlan>,
}

#[wasm_bindgen]
impl Reading {
    /// Reads the next wave: byte ranges of the slice that can be read at the same time. If the items of a piece are
    /// complete now, the result is these items; if not, an empty list. After the last piece, the result is `undefined`.
    /// The items are in C order. Numbers have the byte order of WebAssembly, float16 becomes float32, booleans become 0
    /// or 1, and all other items are as stored.
    pub fn next_wave(&mut self) -> Result<Option<Vec<u8>>, String> {
        if self.plan.is_none() {
            let Some(piece) = self.pieces.next() else { return Ok(None) };
            let plan = self.array.slice(&piece).steps(&self.steps).plan();
            self.plan = Some(plan.map_err(|error| thrown(&error))?);
        }
        let Some(plan) = &mut self.plan else { return Ok(None) };
        if !plan.ranges().is_empty() {
            let wave = read_wave(self.array.frame().reader(), plan)?;
            plan.take(wave).map_err(|error| thrown(&error))?;
        }
        let Some(plan) = self.plan.take_if(|plan| plan.ranges().is_empty()) else {
            return Ok(Some(Vec::new()));
        };
        let items = plan.finish().map_err(|error| thrown(&error))?;
        Ok(Some(match &self.dtype {
            Some(dtype) => dtype::in_machine_order(dtype, items),
            None => items,
        }))
    }
}

/// Reads the byte ranges of a wave. If bytes are missing, the error lists all missing ranges.
fn read_wave(reader: &Reader, plan: &SlicePlan) -> Result<Vec<Vec<u8>>, String> {
    let (mut wave, mut unknown) = (Vec::new(), Vec::new());
    for range in plan.ranges() {
        let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length];
        let mut read = 0;
        while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
            match reader.read_at(rest, range.start + read as u64) {
                Ok(0) => {
                    let message = format!("the file ends at byte {}", range.start + read as u64);
                    return Err(failure("io", None, &message));
                }
                Ok(more) => read += more,
                Err(error) => match error.downcast::<Error>() {
                    Ok(error) if !error.ranges().is_empty() => {
                        unknown.extend(error.ranges().iter().map(|range| [range.start, range.end]));
                        break;
                    }
                    Ok(error) => return Err(thrown(&error)),
                    Err(error) => return Err(failure("io", None, &error.to_string())),
                },
            }
        }
        wave.push(bytes);
    }
    if unknown.is_empty() { Ok(wave) } else { Err(json!({ "ranges": unknown }).to_string()) }
}
