//! The JSON objects of a frame and of a metalayer. Scripts rely on these names, and `docs/b2nd.schema.json` describes
//! them.

use std::path::Path;

use b2nd_frame::{
    Array, ChunkCounts, Error, Filter, Finding, Frame, FrameType, Metalayer, ObjectKind, Skipped, Trailer,
    Vlmetalayer,
};
use b2nd_serde::{Geometry, Meta};
use serde::Serialize;
use serde_json::value::{RawValue, Value};

use super::items::Stats;
use super::messagepack;
use super::packed::PackedTensor;
use crate::input::{Location, ShownValues, View};
use crate::problem::with_sources;
use crate::text::{ABSENT, Tuple, clean, dtype_name, hex, list, parsed_dtype, ratio};

/// A frame. Without an array, the fields of an array are null.
#[derive(Serialize)]
pub(crate) struct Record<'f> {
    #[serde(flatten)]
    pub(crate) location: Location<'f>,
    pub(crate) offset: u64,
    pub(crate) container: &'static str,
    pub(crate) kind: ObjectKind,
    /// The array that this frame is an index of, as the file name gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) index_of: Option<&'f str>,
    /// Only for a frame without an array.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) packed_tensor: Option<PackedTensor>,
    pub(crate) metalayer: Option<&'f str>,
    pub(crate) layout: Option<&'static str>,
    pub(crate) version: Option<u8>,
    pub(crate) ndim: Option<usize>,
    pub(crate) shape: Option<&'f [i64]>,
    pub(crate) chunks: Option<&'f [i32]>,
    pub(crate) blocks: Option<&'f [i32]>,
    pub(crate) dtype_format: Option<u8>,
    pub(crate) dtype: Option<&'f str>,
    /// As NumPy prints it.
    pub(crate) dtype_name: Option<String>,
    pub(crate) itemsize: Option<i64>,
    pub(crate) typesize: i32,
    pub(crate) nbytes: Option<i64>,
    pub(crate) stored_nbytes: Option<i64>,
    pub(crate) cbytes: Option<i64>,
    pub(crate) cratio: Option<f64>,
    pub(crate) nchunks: Option<u64>,
    /// Only if the chunk index was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) chunk_counts: Option<CountsRecord>,
    pub(crate) grid: Option<Vec<u64>>,
    pub(crate) blocks_per_chunk: Option<Vec<u64>>,
    pub(crate) padding: Option<f64>,
    pub(crate) codec: String,
    /// The codec's parameter.
    pub(crate) codec_meta: u8,
    pub(crate) clevel: u8,
    pub(crate) split: String,
    pub(crate) dictionary: bool,
    #[serde(flatten)]
    pub(crate) filters: FilterNames,
    pub(crate) header_len: usize,
    pub(crate) frame_len: u64,
    pub(crate) metalayers: Vec<LayerRecord<'f>>,
    pub(crate) has_vlmetalayers: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) vlmetalayers: Option<Vec<VlLayerRecord<'f>>>,
    pub(crate) stale_bytes: Option<usize>,
    /// Only with --stats, for items that are numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stats: Option<&'f Stats>,
    pub(crate) findings: &'f [Finding],
    /// The parts that the check skipped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "unchecked")]
    pub(crate) skipped: Vec<SkippedRecord<'f>>,
    /// The command that mends the findings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mend: Option<String>,
}

/// A part of a frame that a check skipped.
#[derive(Serialize)]
pub(crate) struct SkippedRecord<'f> {
    what: &'static str,
    chunks: Option<u64>,
    why: &'f str,
}

impl<'f> From<&'f Skipped> for SkippedRecord<'f> {
    fn from(skipped: &'f Skipped) -> Self {
        Self { what: skipped.part.name(), chunks: skipped.count, why: &skipped.why }
    }
}

/// The number of chunks of each kind.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct CountsRecord {
    stored: u64,
    zeros: u64,
    nan: u64,
    uninitialized: u64,
    invalid: u64,
}

impl From<ChunkCounts> for CountsRecord {
    fn from(counts: ChunkCounts) -> Self {
        let ChunkCounts { stored, zeros, nan, uninitialized, invalid, .. } = counts;
        Self { stored, zeros, nan, uninitialized, invalid }
    }
}

/// A metalayer of the header.
#[derive(Serialize)]
pub(crate) struct LayerRecord<'f> {
    pub(crate) name: &'f str,
    pub(crate) offset: usize,
    pub(crate) len: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<Box<RawValue>>,
    /// The reason for a missing value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// A metalayer of the trailer, whose length may change.
#[derive(Serialize)]
pub(crate) struct VlLayerRecord<'f> {
    pub(crate) name: &'f str,
    pub(crate) offset: u64,
    pub(crate) len: usize,
    pub(crate) value: Option<Box<RawValue>>,
    /// The reason for a missing value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

impl<'f> Record<'f> {
    /// The record of a frame, with the values of metalayers if the view requests them.
    pub(crate) fn of(view: View<'f>) -> Self {
        let View { location, header, array, .. } = view;
        let geometry = array.and_then(|array| array.geometry().ok());
        let own = array.map(|array| array.metalayer().name());
        // Parsed once: a listing makes a record of every array.
        let dtype = array.and_then(parsed_dtype);
        let mut room = Room::of(view.values);
        let mut layer = |layer: &'f Metalayer| {
            // The record has the values of the array's own metalayer as fields.
            LayerRecord::of(layer, room.as_mut().filter(|_| Some(layer.name()) != own))
        };
        Self {
            location,
            offset: view.offset,
            container: if header.frame_type == FrameType::Sparse { "sframe" } else { "cframe" },
            kind: view.kind,
            index_of: location.index_of(),
            packed_tensor: PackedTensor::of(view),
            metalayer: own,
            layout: array.map(|array| array.meta().layout().name()),
            version: array.map(|array| array.meta().version()),
            ndim: array.map(|array| array.shape().len()),
            shape: array.map(Array::shape),
            chunks: array.map(Array::chunkshape),
            blocks: array.map(|array| array.meta().blockshape()),
            dtype_format: array.and_then(|array| array.meta().dtype_format()),
            dtype: array.and_then(Array::dtype),
            dtype_name: array.and_then(|array| dtype_name(array, dtype.as_ref())),
            itemsize: view.itemsize(dtype.as_ref()),
            typesize: header.typesize,
            nbytes: array.and_then(|_| view.nbytes_of(dtype.as_ref())),
            stored_nbytes: view.stored_nbytes(),
            cbytes: view.cbytes(),
            cratio: view.compressed().and_then(ratio),
            nchunks: view.nchunks(),
            chunk_counts: view.counts.map(Into::into),
            grid: geometry.as_ref().map(|geometry| geometry.grid_of_chunks().to_vec()),
            blocks_per_chunk: geometry.as_ref().map(|geometry| geometry.blocks_per_chunk().to_vec()),
            padding: geometry.as_ref().map(Geometry::padding),
            codec: header.codec.to_string(),
            codec_meta: header.codec_meta,
            clevel: header.level,
            split: header.split_mode.to_string(),
            dictionary: header.uses_dictionary,
            filters: FilterNames::of(Some(header.pipeline())),
            header_len: header.header_len,
            frame_len: header.frame_len,
            metalayers: view.metalayers.iter().map(&mut layer).collect(),
            has_vlmetalayers: header.has_vlmetalayers,
            vlmetalayers: VlLayerRecord::all(view.trailer, view.values),
            stale_bytes: array.map(|array| array.stale_tail().len()),
            stats: None,
            findings: view.findings,
            skipped: view.skipped.iter().map(Into::into).collect(),
            mend: None,
        }
    }
}

/// A field of two records that differs, with both values.
pub(crate) struct FieldChange {
    pub(crate) field: &'static str,
    pub(crate) values: [Value; 2],
}

impl FieldChange {
    /// The differences of two frames in these fields.
    pub(crate) fn all<R, S>(
        before: &Frame<R>,
        after: &Frame<S>,
        fields: &[&'static str],
    ) -> Result<Vec<Self>, Error> {
        let (before, after) = (fields_of(before)?, fields_of(after)?);
        let change = |&field| {
            let values = [&before, &after].map(|record| record.get(field).cloned().unwrap_or_default());
            Self { field, values }
        };
        Ok(fields.iter().map(change).filter(|Self { values: [before, after], .. }| before != after).collect())
    }

    pub(crate) fn texts(&self) -> [String; 2] {
        self.values.each_ref().map(text_of)
    }
}

/// The record of a frame, without its address and its findings, as JSON.
fn fields_of<R>(frame: &Frame<R>) -> Result<Value, Error> {
    let array = frame.array()?;
    let view = View::new(Location::of(Path::new("")), frame, array.as_ref(), &[]);
    Ok(serde_json::to_value(Record::of(view)).unwrap_or_default())
}

/// A value of a record as text.
fn text_of(value: &Value) -> String {
    match value {
        Value::Null => ABSENT.into(),
        Value::String(text) => clean(text),
        Value::Array(values) if values.first().is_some_and(Value::is_string) => {
            list(&values.iter().map(text_of).collect::<Vec<_>>())
        }
        Value::Array(values) => Tuple(values).to_string(),
        value => value.to_string(),
    }
}

/// A limit on the shown values of metalayers, because a few compressed bytes can expand to any size.
pub(crate) struct Room {
    /// The most bytes of a value, decompressed or as text.
    longest: usize,
    /// The bytes left for all further values.
    left: usize,
    /// A hint to the option that shows longer values.
    hint: &'static str,
}

impl Room {
    pub(crate) const SHORT: Self = Self { longest: 1 << 16, left: 1 << 20, hint: " without --meta" };
    /// The limit where each value has one line.
    pub(crate) const LINE: Self = Self { longest: Self::LINE_LEN, left: usize::MAX, hint: "" };
    pub(crate) const LINE_LEN: usize = 200;
    pub(crate) const ALL: Self = Self { longest: messagepack::LONGEST, left: 1 << 24, hint: "" };

    fn of(values: ShownValues) -> Option<Self> {
        match values {
            ShownValues::None => None,
            ShownValues::Short => Some(Self::SHORT),
            ShownValues::All => Some(Self::ALL),
        }
    }

    /// Whether a value of this length can be shown.
    fn has(&self, nbytes: usize) -> Result<(), String> {
        if nbytes <= self.longest.min(self.left) {
            return Ok(());
        }
        Err(format!("{nbytes} bytes are too many to show{}", self.hint))
    }

    /// Subtracts the size of a value from the room, even if its text does not fit, because its bytes were decompressed
    /// anyway. Fails if its text is too long.
    pub(crate) fn take(&mut self, nbytes: usize, text: &str) -> Result<(), String> {
        let shown = self.has(text.len());
        self.left = self.left.saturating_sub(nbytes.max(text.len()));
        shown
    }

    /// The value of a metalayer, or the reason why it is not shown.
    fn value(&mut self, name: &str, bytes: &[u8]) -> ValueOrError {
        let value = messagepack::value(bytes, self.longest).map_err(|error| error + self.hint);
        match value.and_then(|value| self.take(bytes.len(), value.get()).map(|()| value)) {
            Ok(value) => (Some(value), None),
            Err(error) => (None, Some(format!("metalayer {name}: {error}"))),
        }
    }
}

type ValueOrError = (Option<Box<RawValue>>, Option<String>);

impl<'f> LayerRecord<'f> {
    fn of(layer: &'f Metalayer, room: Option<&mut Room>) -> Self {
        let (name, bytes) = (layer.name(), layer.bytes());
        let (value, error) = room.map_or((None, None), |room| room.value(name, bytes));
        Self { name, offset: layer.offset(), len: bytes.len(), value, error }
    }
}

impl<'f> VlLayerRecord<'f> {
    fn all(trailer: Option<&'f Trailer>, values: ShownValues) -> Option<Vec<Self>> {
        let mut room = Room::of(values)?;
        let layers = trailer.map(Trailer::vlmetalayers).unwrap_or_default();
        Some(layers.iter().map(|layer| Self::of(layer, &mut room)).collect())
    }

    fn of(layer: &'f Vlmetalayer, room: &mut Room) -> Self {
        let name = layer.name();
        // Before the value is decompressed.
        let (value, error) = match room.has(layer.nbytes().unwrap_or_default()) {
            Err(error) => (None, Some(format!("metalayer {name}: {error}"))),
            Ok(()) => match layer.value() {
                Ok(bytes) => room.value(name, &bytes),
                // The error names the metalayer.
                Err(error) => (None, Some(with_sources(&error))),
            },
        };
        Self { name, offset: layer.offset(), len: layer.chunk().len(), value, error }
    }
}

/// The filters in use, if they are known.
#[derive(Serialize)]
pub(crate) struct FilterNames {
    /// Their names, or numbers.
    filters: Option<Vec<String>>,
    /// Their parameters.
    filters_meta: Option<Vec<u8>>,
}

impl FilterNames {
    pub(crate) fn of(filters: Option<impl Iterator<Item = Filter>>) -> Self {
        let name = |filter| Filter { meta: 0, ..filter }.to_string();
        let both = filters.map(|filters| filters.map(|filter| (name(filter), filter.meta)).unzip());
        let (filters, filters_meta) = both.unzip();
        Self { filters, filters_meta }
    }
}

/// A metalayer by itself, as `encode` and `decode` print it.
#[derive(Serialize)]
pub(crate) struct MetaRecord<'m> {
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

impl<'m> MetaRecord<'m> {
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
