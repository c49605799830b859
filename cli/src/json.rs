//! What `--json` prints: an object for each array, or for what went wrong. Scripts rely on these names, and
//! `docs/b2nd.schema.json` describes them.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::Path;

use b2nd_serde::frame::{
    Array, ArrayLayout, Error, Filter, Finding, Frame, FrameType, Generation, Header, Trailer,
};
use b2nd_serde::{Geometry, Meta, dump};
use serde::Serialize;

use crate::hex::hex;
use crate::text;

/// A frame: an array, or just chunks, of which what an array has is null.
#[derive(Serialize)]
pub(crate) struct Record<'f> {
    pub(crate) path: Cow<'f, str>,
    pub(crate) member: Option<&'f str>,
    pub(crate) offset: u64,
    pub(crate) container: &'static str,
    pub(crate) metalayer: Option<&'f str>,
    pub(crate) layout: Option<&'static str>,
    pub(crate) version: Option<u8>,
    pub(crate) ndim: Option<usize>,
    pub(crate) shape: Option<&'f [i64]>,
    pub(crate) chunks: Option<&'f [i32]>,
    pub(crate) blocks: Option<&'f [i32]>,
    pub(crate) dtype_format: Option<u8>,
    pub(crate) dtype: Option<&'f str>,
    pub(crate) itemsize: Option<i64>,
    pub(crate) typesize: i32,
    pub(crate) nbytes: Option<i64>,
    pub(crate) stored_nbytes: i64,
    pub(crate) cbytes: i64,
    pub(crate) cratio: Option<f64>,
    pub(crate) nchunks: Option<u64>,
    pub(crate) grid: Option<Vec<u64>>,
    pub(crate) blocks_per_chunk: Option<Vec<u64>>,
    pub(crate) padding: Option<f64>,
    pub(crate) codec: String,
    pub(crate) clevel: u8,
    pub(crate) filters: Option<Vec<String>>,
    pub(crate) header_len: usize,
    pub(crate) frame_len: u64,
    pub(crate) metalayers: Vec<Layer<'f>>,
    pub(crate) has_vlmetalayers: bool,
    /// With `--meta`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) vlmetalayers: Option<Vec<VlLayer>>,
    pub(crate) stale_bytes: Option<usize>,
    pub(crate) findings: Vec<Oddity<'f>>,
}

/// A metalayer of the header.
#[derive(Serialize)]
pub(crate) struct Layer<'f> {
    pub(crate) name: &'f str,
    pub(crate) offset: usize,
    pub(crate) len: usize,
    /// With `--meta`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<serde_json::Value>,
}

/// A metalayer of the trailer, whose length may change.
#[derive(Serialize)]
pub(crate) struct VlLayer {
    pub(crate) name: String,
    pub(crate) offset: u64,
    pub(crate) len: usize,
    pub(crate) value: Option<serde_json::Value>,
    /// Why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// What is wrong or odd.
#[derive(Serialize)]
pub(crate) struct Oddity<'f> {
    code: &'static str,
    severity: String,
    offset: Option<u64>,
    expected: Option<i128>,
    found: Option<i128>,
    message: &'f str,
}

impl<'f> From<&'f Finding> for Oddity<'f> {
    fn from(finding: &'f Finding) -> Self {
        Self {
            code: finding.code().name(),
            severity: finding.severity().to_string(),
            offset: finding.offset(),
            expected: finding.expected(),
            found: finding.found(),
            message: finding.message(),
        }
    }
}

/// Where a frame stands.
#[derive(Clone, Copy)]
pub(crate) struct Place<'p> {
    pub(crate) path: &'p Path,
    pub(crate) member: Option<&'p str>,
}

impl Place<'_> {
    pub(crate) fn failure(self, error: impl Into<Problem>) -> Failure {
        let path = self.path.to_string_lossy().into_owned();
        Failure { path, member: self.member.map(Into::into), error: error.into() }
    }
}

/// As a terminal can bear it.
impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::path(self.path))?;
        match self.member {
            Some(member) => write!(f, ":{}", text::clean(member)),
            None => Ok(()),
        }
    }
}

impl<'f> Record<'f> {
    pub(crate) fn new<R>(
        place: Place<'f>,
        frame: &'f Frame<R>,
        array: Option<&'f Array<'f>>,
        findings: &'f [Finding],
    ) -> Self {
        let header = frame.header();
        let geometry = array.and_then(|array| array.geometry().ok());
        let itemsize = array.map(|array| item_size(array, header));
        Self {
            path: place.path.to_string_lossy(),
            member: place.member,
            offset: frame.offset(),
            container: if header.frame_type == FrameType::Sparse { "sframe" } else { "cframe" },
            metalayer: array.map(|array| array.metalayer().name()),
            layout: array.map(|array| layout(array.layout())),
            version: array.and_then(Array::meta).map(Meta::version),
            ndim: array.map(|array| array.shape().len()),
            shape: array.map(Array::shape),
            chunks: array.map(Array::chunkshape),
            blocks: array.and_then(Array::blockshape),
            dtype_format: array.and_then(Array::meta).and_then(Meta::dtype_format),
            dtype: array.and_then(Array::dtype),
            itemsize,
            typesize: header.typesize,
            nbytes: array.zip(itemsize).and_then(|(array, size)| nbytes(array.shape(), size)),
            stored_nbytes: header.nbytes,
            cbytes: header.cbytes,
            cratio: cratio(header),
            nchunks: header.nchunks(),
            grid: geometry.as_ref().map(|geometry| geometry.grid_of_chunks().to_vec()),
            blocks_per_chunk: geometry.as_ref().map(|geometry| geometry.blocks_per_chunk().to_vec()),
            padding: geometry.as_ref().map(Geometry::padding),
            codec: header.codec.to_string(),
            clevel: header.level,
            filters: filters(header),
            header_len: header.header_len,
            frame_len: header.frame_len,
            metalayers: frame
                .metalayers()
                .iter()
                .map(|layer| Layer {
                    name: layer.name(),
                    offset: layer.offset(),
                    len: layer.bytes().len(),
                    value: None,
                })
                .collect(),
            has_vlmetalayers: header.has_vlmetalayers,
            vlmetalayers: None,
            stale_bytes: array.map(|array| array.stale_tail().len()),
            findings: findings.iter().map(Oddity::from).collect(),
        }
    }

    /// Adds the values of all metalayers but the array's own.
    pub(crate) fn with_values<R>(mut self, frame: &Frame<R>, trailer: Option<&Trailer>) -> Self {
        for (layer, metalayer) in self.metalayers.iter_mut().zip(frame.metalayers()) {
            if Some(layer.name) != self.metalayer {
                layer.value = Some(value(metalayer.bytes()));
            }
        }
        let layers = trailer.map(Trailer::vlmetalayers).unwrap_or_default();
        let mut room = MOST_SHOWN;
        let layers = layers.iter().map(|layer| {
            let nbytes = layer.nbytes().unwrap_or_default();
            let (value, error) = if nbytes > room {
                (None, Some(format!("metalayer {}: {nbytes} bytes, more than are shown", layer.name())))
            } else {
                room -= nbytes;
                match layer.value() {
                    Ok(bytes) => (Some(value(&bytes)), None),
                    Err(error) => (None, Some(error.to_string())),
                }
            };
            VlLayer {
                name: layer.name().into(),
                offset: layer.offset(),
                len: layer.chunk().len(),
                value,
                error,
            }
        });
        self.vlmetalayers = Some(layers.collect());
        self
    }
}

/// The most bytes of all values of a frame that are shown: compressed, a few can claim any number.
const MOST_SHOWN: usize = 1 << 24;

/// The layout's name. All that are not of the format have the three entries of Caterva 0.1.
fn layout(layout: ArrayLayout) -> &'static str {
    match layout {
        ArrayLayout::Format(layout) => layout.name(),
        _ => "caterva-three",
    }
}

/// The bytes of an item: by the dtype where there is one that is known, else by the frame.
fn item_size(array: &Array<'_>, header: &Header) -> i64 {
    let dtype = array.meta().and_then(|meta| meta.parse_dtype().ok().flatten());
    let size = dtype.and_then(|dtype| i64::try_from(dtype.item_size()).ok());
    size.unwrap_or(header.typesize.into())
}

/// The size of the array's items, where it is a number.
fn nbytes(shape: &[i64], itemsize: i64) -> Option<i64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(itemsize, |product, &items| product.checked_mul(items))
}

#[expect(clippy::cast_precision_loss, reason = "a ratio is not exact")]
fn cratio(header: &Header) -> Option<f64> {
    (header.cbytes != 0).then(|| header.nbytes as f64 / header.cbytes as f64)
}

/// The names of the filters in use; the first generation of headers has none.
fn filters(header: &Header) -> Option<Vec<String>> {
    let name = |filter: Filter| Filter { meta: 0, ..filter }.to_string();
    (header.generation != Generation::Beta1).then(|| header.pipeline().map(name).collect())
}

/// `MessagePack` as JSON; what JSON has not got, as text, and what is no `MessagePack`, as digits.
fn value(bytes: &[u8]) -> serde_json::Value {
    let mut rest = bytes;
    match rmpv::decode::read_value(&mut rest) {
        Ok(value) if rest.is_empty() => json(value),
        _ => hex(bytes).into(),
    }
}

fn json(value: rmpv::Value) -> serde_json::Value {
    use rmpv::Value::{Array, Binary, Boolean, Ext, F32, F64, Integer, Map, Nil, String};
    match value {
        Nil => serde_json::Value::Null,
        Boolean(value) => value.into(),
        Integer(value) => match (value.as_i64(), value.as_u64()) {
            (Some(value), _) => value.into(),
            (_, Some(value)) => value.into(),
            _ => serde_json::Value::Null,
        },
        F32(value) if value.is_finite() => value.into(),
        F64(value) if value.is_finite() => value.into(),
        F32(value) => value.to_string().into(),
        F64(value) => value.to_string().into(),
        String(value) => std::string::String::from_utf8_lossy(value.as_bytes()).into(),
        Binary(bytes) | Ext(_, bytes) => hex(&bytes).into(),
        Array(values) => values.into_iter().map(json).collect(),
        Map(pairs) => pairs.into_iter().map(|(key, value)| (name(key), json(value))).collect(),
    }
}

/// A key, which is a string in JSON.
fn name(key: rmpv::Value) -> String {
    match json(key) {
        serde_json::Value::String(name) => name,
        other => other.to_string(),
    }
}

/// Adds an object on a line of its own.
pub(crate) fn add_line(lines: &mut Vec<u8>, value: &impl Serialize) {
    // No map here has keys that are no strings, and a `Vec` takes all there is.
    let _ = serde_json::to_writer(&mut *lines, value);
    lines.push(b'\n');
}

/// An object on a line of its own.
pub(crate) fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = Vec::new();
    add_line(&mut line, value);
    line
}

/// What went wrong with a file.
#[derive(Serialize)]
pub(crate) struct Failure {
    pub(crate) path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) member: Option<Box<str>>,
    pub(crate) error: Problem,
}

impl Failure {
    pub(crate) fn place(&self) -> Place<'_> {
        Place { path: Path::new(&self.path), member: self.member.as_deref() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), self.error)
    }
}

/// Why something cannot be read.
#[derive(Clone, Serialize)]
pub(crate) struct Problem {
    pub(crate) kind: &'static str,
    /// The byte of the frame, or of the bytes that were given.
    pub(crate) offset: Option<u64>,
    pub(crate) message: String,
    /// The rule that is broken, with its advice.
    #[serde(skip)]
    pub(crate) finding: Option<Box<Finding>>,
    /// What to try instead.
    #[serde(skip)]
    pub(crate) hint: Option<&'static str>,
}

impl Problem {
    pub(crate) fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, offset: None, message: message.into(), finding: None, hint: None }
    }
}

impl From<Finding> for Problem {
    fn from(finding: Finding) -> Self {
        let (kind, offset) = (finding.code().name(), finding.offset());
        let problem = Self::new(kind, finding.message());
        Self { offset, finding: Some(finding.into()), ..problem }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(finding) => (*finding).into(),
            Error::Io(error) => error.into(),
            Error::Change(_) => Self::new("refused", error.to_string()),
            Error::Changing(_) => Self::new("changing", error.to_string()),
            _ => Self::new("malformed", error.to_string()),
        }
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::new("io", error.to_string())
    }
}

/// The message, with its place, as a terminal can bear it.
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = match (&self.finding, self.offset) {
            (Some(finding), _) => finding.to_string(),
            (None, Some(offset)) => format!("byte {offset}: {}", self.message),
            (None, None) => self.message.clone(),
        };
        f.write_str(&text::clean(&message))?;
        self.hint.map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

/// A metalayer by itself: what `encode` and `decode` print.
#[derive(Serialize)]
pub(crate) struct Metalayer<'m> {
    pub(crate) layout: &'static str,
    pub(crate) version: u8,
    pub(crate) ndim: usize,
    pub(crate) shape: &'m [i64],
    pub(crate) chunks: &'m [i32],
    pub(crate) blocks: &'m [i32],
    pub(crate) dtype_format: Option<u8>,
    pub(crate) dtype: Option<&'m str>,
    pub(crate) hex: String,
}

impl<'m> Metalayer<'m> {
    pub(crate) fn new(meta: &'m Meta, bytes: &[u8]) -> Self {
        Self {
            layout: meta.layout().name(),
            version: meta.version(),
            ndim: meta.ndim(),
            shape: meta.shape(),
            chunks: meta.chunkshape(),
            blocks: meta.blockshape(),
            dtype_format: meta.dtype_format(),
            dtype: meta.dtype(),
            hex: hex(bytes),
        }
    }
}

/// The bytes of a header or metalayer, value by value.
#[derive(Serialize)]
pub(crate) struct Dump {
    pub(crate) path: String,
    pub(crate) values: Vec<DumpValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<Problem>,
}

/// A line of a dump.
#[derive(Serialize)]
pub(crate) struct DumpValue {
    offset: usize,
    depth: usize,
    hex: String,
    #[serde(rename = "type")]
    kind: String,
    value: String,
    field: String,
}

impl From<dump::Row> for DumpValue {
    fn from(row: dump::Row) -> Self {
        let dump::Row { offset, depth, bytes, kind, value, field, .. } = row;
        Self { offset, depth, hex: hex(&bytes), kind, value, field }
    }
}
