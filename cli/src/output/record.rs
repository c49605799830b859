//! The JSON objects of a frame and of a metalayer. Scripts rely on the field names of these objects. The file
//! `docs/b2nd.schema.json` describes the fields.

use std::path::Path;

use b2nd_frame::{
    ArrayHeader, ChunkCounts, Error, Filter, Frame, Metalayer, PackedTensor, Skipped, Trailer, Vlmetalayer,
};
use b2nd_serde::{Geometry, Meta};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::json;
use serde_json::value::{RawValue, Value};

use super::items::Stats;
use super::messagepack;
use crate::input::{Location, ShownValues, View};
use crate::problem::with_sources;
use crate::text::{ABSENT, Tuple, byte_count, clean, hex, list, ratio};

/// A frame as a JSON object. If the frame has no array, the fields about an array are null.
pub(crate) struct Record<'f> {
    pub(crate) view: View<'f>,
    /// The statistics of the items. `None` without --stats, or if the items have no statistics (see `Stats::at`).
    pub(crate) stats: Option<&'f Stats>,
    /// The command that mends the findings.
    pub(crate) mend: Option<String>,
}

/// Writes a field, or nothing if it has no value.
fn write_some<M: SerializeMap>(
    map: &mut M,
    name: &'static str,
    value: Option<impl Serialize>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(name, &value))
}

/// Writes the entries of a metalayer or of a packed tensor. An entry without a value is null.
fn write_meta<M: SerializeMap>(
    map: &mut M,
    meta: Option<&Meta>,
    tensor: Option<&PackedTensor>,
) -> Result<(), M::Error> {
    let shape = meta.map(Meta::shape).or(tensor.map(|tensor| &*tensor.shape));
    map.serialize_entry("layout", &meta.map(|meta| meta.layout().name()))?;
    map.serialize_entry("version", &meta.map(Meta::version))?;
    map.serialize_entry("ndim", &shape.map(<[i64]>::len))?;
    map.serialize_entry("shape", &shape)?;
    map.serialize_entry("chunks", &meta.map(Meta::chunkshape))?;
    map.serialize_entry("blocks", &meta.map(Meta::blockshape))?;
    map.serialize_entry("dtype_format", &meta.map(Meta::dtype_format))?;
    map.serialize_entry("dtype", &meta.map_or(tensor.map(|tensor| &*tensor.dtype), Meta::dtype))
}

impl Serialize for Record<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { view, stats, mend } = self;
        let View { location, header, array, tensor, .. } = *view;
        let mut record = serializer.serialize_map(None)?;
        location.write(&mut record)?;
        record.serialize_entry("offset", &view.offset)?;
        record.serialize_entry("container", view.container())?;
        record.serialize_entry("kind", &view.kind)?;
        write_some(&mut record, "index_of", location.indexed_array())?;
        write_some(&mut record, "packed_tensor", tensor.map(|tensor| &tensor.kind))?;
        record.serialize_entry("metalayer", &array.map(|array| array.metalayer().name()))?;
        write_meta(&mut record, array.map(ArrayHeader::meta), tensor)?;
        self.write_sizes(&mut record)?;
        record.serialize_entry("codec", &header.codec.to_string())?;
        record.serialize_entry("codec_meta", &header.codec_meta)?;
        record.serialize_entry("clevel", &header.level)?;
        record.serialize_entry("split", &header.split_mode.to_string())?;
        record.serialize_entry("dictionary", &header.uses_dictionary)?;
        let FilterNames { filters, filters_meta } = FilterNames::new(Some(header.pipeline()));
        record.serialize_entry("filters", &filters)?;
        record.serialize_entry("filters_meta", &filters_meta)?;
        record.serialize_entry("header_len", &header.header_len)?;
        record.serialize_entry("frame_len", &header.frame_len)?;
        record.serialize_entry("metalayers", &metalayers(*view))?;
        record.serialize_entry("has_vlmetalayers", &header.has_vlmetalayers)?;
        write_some(&mut record, "vlmetalayers", vlmetalayers(*view))?;
        record.serialize_entry("stale_bytes", &array.map(|array| array.stale_tail().len()))?;
        write_some(&mut record, "stats", *stats)?;
        record.serialize_entry("findings", view.findings)?;
        let unchecked: Vec<_> = view.skipped.iter().map(skipped).collect();
        write_some(&mut record, "unchecked", Some(unchecked).filter(|parts| !parts.is_empty()))?;
        write_some(&mut record, "mend", mend.as_ref())?;
        record.end()
    }
}

impl<'f> Record<'f> {
    pub(crate) fn new(view: View<'f>) -> Self {
        Self { view, stats: None, mend: None }
    }

    fn write_sizes<M: SerializeMap>(&self, record: &mut M) -> Result<(), M::Error> {
        let view = self.view;
        // The dtype is parsed only once per record, because a listing makes a record for every array.
        let dtype = view.dtype();
        let geometry = view.array.and_then(|array| array.geometry().ok());
        let geometry = geometry.as_ref();
        let name = view.dtype_name(dtype.as_ref());
        record.serialize_entry("dtype_name", &name)?;
        record.serialize_entry("itemsize", &view.itemsize(dtype.as_ref()))?;
        record.serialize_entry("typesize", &view.header.typesize)?;
        record.serialize_entry("nbytes", &view.shape().and_then(|_| view.nbytes_with(dtype.as_ref())))?;
        record.serialize_entry("stored_nbytes", &view.stored_nbytes())?;
        record.serialize_entry("cbytes", &view.cbytes())?;
        record.serialize_entry("cratio", &view.compressed().and_then(ratio))?;
        record.serialize_entry("nchunks", &view.nchunks())?;
        write_some(record, "chunk_counts", view.counts.map(counts))?;
        write_some(record, "unowned_bytes", view.unowned_bytes)?;
        record.serialize_entry("grid", &geometry.map(|geometry| geometry.grid_of_chunks().to_vec()))?;
        let blocks = geometry.map(|geometry| geometry.blocks_per_chunk().to_vec());
        record.serialize_entry("blocks_per_chunk", &blocks)?;
        record.serialize_entry("padding", &geometry.map(Geometry::padding))
    }
}

/// A part of a frame that a check skipped.
fn skipped(skipped: &Skipped) -> Value {
    json!({ "what": skipped.part.name(), "chunks": skipped.count, "why": skipped.why })
}

/// The number of chunks of each kind.
fn counts(counts: ChunkCounts) -> Value {
    let ChunkCounts { stored, zeros, nan, uninitialized, invalid, .. } = counts;
    json!({ "stored": stored, "zeros": zeros, "nan": nan, "uninitialized": uninitialized, "invalid": invalid })
}

/// A field that has different values in two records, with both values.
pub(crate) struct FieldChange {
    pub(crate) field: &'static str,
    pub(crate) values: [Value; 2],
}

impl FieldChange {
    /// The given fields that differ between two frames.
    pub(crate) fn all<R, S>(
        before: &Frame<R>,
        after: &Frame<S>,
        fields: &[&'static str],
    ) -> Result<Vec<Self>, Error> {
        let (before, after) = (frame_fields(before)?, frame_fields(after)?);
        let change = |&field| {
            let values = [&before, &after].map(|record| record.get(field).cloned().unwrap_or_default());
            Self { field, values }
        };
        Ok(fields.iter().map(change).filter(|Self { values: [before, after], .. }| before != after).collect())
    }

    pub(crate) fn texts(&self) -> [String; 2] {
        self.values.each_ref().map(value_text)
    }
}

/// The record of a frame, without its address and its findings, as JSON.
fn frame_fields<R>(frame: &Frame<R>) -> Result<Value, Error> {
    let array = frame.array()?;
    let view = View::new(Location::new(Path::new("")), frame, array.as_ref(), &[]);
    Ok(serde_json::to_value(Record::new(view)).unwrap_or_default())
}

/// A value of a record as text.
fn value_text(value: &Value) -> String {
    match value {
        Value::Null => ABSENT.into(),
        Value::String(text) => clean(text),
        Value::Array(values) if values.first().is_some_and(Value::is_string) => {
            list(&values.iter().map(value_text).collect::<Vec<_>>())
        }
        Value::Array(values) => Tuple(values).to_string(),
        value => value.to_string(),
    }
}

/// The limits for the lengths of shown values of metalayers. The limits are needed because a few compressed bytes can
/// expand to any size.
pub(crate) struct Room {
    /// The maximum length of a value in bytes. It applies to the decompressed value and to its text.
    longest: usize,
    /// The number of bytes that are left for all further values.
    left: usize,
    /// The end of an error message. It names the option that shows longer values, if there is one.
    hint: &'static str,
}

impl Room {
    pub(crate) const SHORT: Self = Self { longest: 1 << 16, left: 1 << 20, hint: " without --meta" };
    /// The limit if each value is shown on one line.
    pub(crate) const LINE: Self = Self { longest: Self::LINE_LEN, left: usize::MAX, hint: "" };
    pub(crate) const LINE_LEN: usize = 200;
    pub(crate) const ALL: Self = Self { longest: messagepack::LONGEST, left: 1 << 24, hint: "" };

    fn new(values: ShownValues) -> Option<Self> {
        match values {
            ShownValues::None => None,
            ShownValues::Short => Some(Self::SHORT),
            ShownValues::All => Some(Self::ALL),
        }
    }

    /// Refuses a value of `nbytes` bytes if it is too long to be shown.
    fn has(&self, nbytes: usize) -> Result<(), String> {
        if nbytes <= self.longest.min(self.left) {
            return Ok(());
        }
        Err(format!("{} are too many to show{}", byte_count(nbytes as u64), self.hint))
    }

    /// Subtracts the length of a value or of its text, whichever is longer, from the number of bytes that are left.
    /// Fails if the text is too long. Even then, the length is subtracted, because the bytes were decompressed.
    pub(crate) fn take(&mut self, nbytes: usize, text: &str) -> Result<(), String> {
        let shown = self.has(text.len());
        self.left = self.left.saturating_sub(nbytes.max(text.len()));
        shown
    }

    /// The value of a metalayer, or the reason why it is not shown.
    fn value(&mut self, name: &str, bytes: &[u8]) -> Result<Box<RawValue>, String> {
        let value = messagepack::value(bytes, self.longest).map_err(|error| error + self.hint);
        let value = value.and_then(|value| self.take(bytes.len(), value.get()).map(|()| value));
        value.map_err(|error| format!("metalayer {name}: {error}"))
    }

    /// The value of a vlmetalayer, or the reason why it is not shown. A value that is too long is not decompressed.
    fn vlvalue(&mut self, layer: &Vlmetalayer) -> Result<Box<RawValue>, String> {
        let name = layer.name();
        self.has(layer.nbytes().unwrap_or_default()).map_err(|error| format!("metalayer {name}: {error}"))?;
        // The error of `layer.value` already names the metalayer.
        layer.value().map_err(|error| with_sources(&error)).and_then(|bytes| self.value(name, &bytes))
    }
}

/// A metalayer of the header, or of the trailer.
#[derive(Serialize)]
pub(crate) struct LayerRecord<'f> {
    pub(crate) name: &'f str,
    offset: u64,
    len: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<Box<RawValue>>,
    /// The reason for a missing value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

impl<'f> LayerRecord<'f> {
    fn new(name: &'f str, offset: u64, len: usize, value: Option<Result<Box<RawValue>, String>>) -> Self {
        let (value, error) = value.map_or((None, None), |value| (value.as_ref().ok().cloned(), value.err()));
        Self { name, offset, len, value, error }
    }
}

/// The metalayers of the header, with their values if the view requests them.
pub(crate) fn metalayers<'f>(view: View<'f>) -> Vec<LayerRecord<'f>> {
    let own = view.array.map(|array| array.metalayer().name());
    let mut room = Room::new(view.values);
    let record = |layer: &'f Metalayer| {
        // The array's own metalayer gets no value here, because its entries are fields of the record.
        let room = room.as_mut().filter(|_| Some(layer.name()) != own);
        let value = room.map(|room| room.value(layer.name(), layer.bytes()));
        LayerRecord::new(layer.name(), layer.offset() as u64, layer.bytes().len(), value)
    };
    view.metalayers.iter().map(record).collect()
}

/// The metalayers of the trailer with their values. `None` if the view requests no values.
pub(crate) fn vlmetalayers<'f>(view: View<'f>) -> Option<Vec<LayerRecord<'f>>> {
    let mut room = Room::new(view.values)?;
    let layers = view.trailer.map(Trailer::vlmetalayers).unwrap_or_default();
    let record = |layer: &'f Vlmetalayer| {
        LayerRecord::new(layer.name(), layer.offset(), layer.chunk().len(), Some(room.vlvalue(layer)))
    };
    Some(layers.iter().map(record).collect())
}

/// The filters of a frame or chunk. Both fields are `None` if the chunk is not compressed or has no valid header.
#[derive(Serialize)]
pub(crate) struct FilterNames {
    /// The name of each filter, or its number if it has no name.
    filters: Option<Vec<String>>,
    /// The parameter of each filter.
    filters_meta: Option<Vec<u8>>,
}

impl FilterNames {
    pub(crate) fn new(filters: Option<impl Iterator<Item = Filter>>) -> Self {
        let name = |filter| Filter { meta: 0, ..filter }.to_string();
        let both = filters.map(|filters| filters.map(|filter| (name(filter), filter.meta)).unzip());
        let (filters, filters_meta) = both.unzip();
        Self { filters, filters_meta }
    }
}

/// A metalayer by itself, as `encode` and `decode` print it.
pub(crate) struct MetaRecord<'m> {
    pub(crate) meta: &'m Meta,
    pub(crate) bytes: &'m [u8],
}

impl Serialize for MetaRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut record = serializer.serialize_map(None)?;
        write_meta(&mut record, Some(self.meta), None)?;
        record.serialize_entry("hex", &hex(self.bytes))?;
        record.end()
    }
}
