//! What `--json` prints: an object for each array, or for what went wrong. Scripts rely on these names, and
//! `docs/b2nd.schema.json` describes them.

use std::borrow::Cow;
use std::io::{self, Write};

use b2nd_frame::{
    Array, ChunkCounts, Codec, Filter, Finding, Frame, FrameType, Generation, Header, Kind, Trailer,
    Unchecked,
};
use b2nd_serde::dtype::Dtype;
use b2nd_serde::{Geometry, Meta};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::address::Location;
use crate::failure::with_sources;
use crate::hex::hex;
use crate::messagepack;
use crate::visit::View;

/// A frame. Without an array, the fields of an array are null.
#[derive(Serialize)]
pub(crate) struct Record<'f> {
    #[serde(flatten)]
    pub(crate) location: Location<'f>,
    pub(crate) offset: u64,
    pub(crate) container: &'static str,
    pub(crate) kind: Kind,
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
    /// Where the chunk index is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) chunk_counts: Option<CountsRecord>,
    pub(crate) grid: Option<Vec<u64>>,
    pub(crate) blocks_per_chunk: Option<Vec<u64>>,
    pub(crate) padding: Option<f64>,
    pub(crate) codec: Cow<'static, str>,
    /// The codec's parameter.
    pub(crate) codec_meta: u8,
    pub(crate) clevel: u8,
    pub(crate) split: String,
    pub(crate) dictionary: bool,
    #[serde(flatten)]
    pub(crate) filters: Filters,
    pub(crate) header_len: usize,
    pub(crate) frame_len: u64,
    pub(crate) metalayers: Vec<LayerRecord<'f>>,
    pub(crate) has_vlmetalayers: bool,
    /// With `--meta`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) vlmetalayers: Option<Vec<VlLayerRecord>>,
    pub(crate) stale_bytes: Option<usize>,
    pub(crate) findings: &'f [Finding],
    /// What could not be checked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unchecked: Vec<UncheckedRecord<'f>>,
    /// The command that mends what was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mend: Option<String>,
}

/// What a check could not check.
#[derive(Serialize)]
pub(crate) struct UncheckedRecord<'f> {
    what: &'static str,
    chunks: Option<u64>,
    why: &'f str,
}

impl<'f> From<&'f Unchecked> for UncheckedRecord<'f> {
    fn from(Unchecked { what, chunks, why, .. }: &'f Unchecked) -> Self {
        Self { what: what.name(), chunks: *chunks, why }
    }
}

/// How many chunks are stored, and how many have one value instead.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct CountsRecord {
    pub(crate) stored: u64,
    pub(crate) zeros: u64,
    pub(crate) nan: u64,
    pub(crate) uninitialized: u64,
    pub(crate) invalid: u64,
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
    /// With `--meta`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<Box<RawValue>>,
    /// Why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// A metalayer of the trailer, whose length may change.
#[derive(Serialize)]
pub(crate) struct VlLayerRecord {
    pub(crate) name: String,
    pub(crate) offset: u64,
    pub(crate) len: usize,
    pub(crate) value: Option<Box<RawValue>>,
    /// Why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

impl<'f> Record<'f> {
    pub(crate) fn new<R>(
        location: Location<'f>,
        frame: &'f Frame<R>,
        array: Option<&'f Array<'f>>,
        findings: &'f [Finding],
    ) -> Self {
        Self::of(View::new(location, frame, array, findings))
    }

    pub(crate) fn of(view: View<'f>) -> Self {
        let View { location, header, array, .. } = view;
        let geometry = array.and_then(|array| array.geometry().ok());
        let itemsize = array.map(|array| item_size(array.meta().and_then(parsed_dtype).as_ref(), header));
        Self {
            location,
            offset: view.offset,
            container: if header.frame_type == FrameType::Sparse { "sframe" } else { "cframe" },
            kind: view.kind,
            metalayer: array.map(|array| array.metalayer().name()),
            layout: array.map(|array| array.layout().name()),
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
            cratio: ratio(header.nbytes.into(), header.cbytes.into()),
            nchunks: view.nchunks(),
            chunk_counts: view.counts.map(Into::into),
            grid: geometry.as_ref().map(|geometry| geometry.grid_of_chunks().to_vec()),
            blocks_per_chunk: geometry.as_ref().map(|geometry| geometry.blocks_per_chunk().to_vec()),
            padding: geometry.as_ref().map(Geometry::padding),
            codec: codec(header.codec),
            codec_meta: header.codec_meta,
            clevel: header.level,
            split: header.split_mode.to_string(),
            dictionary: header.uses_dictionary,
            // Headers of the first generation do not store them.
            filters: Filters::of((header.generation != Generation::Beta1).then(|| header.pipeline())),
            header_len: header.header_len,
            frame_len: header.frame_len,
            metalayers: view
                .metalayers
                .iter()
                .map(|layer| LayerRecord {
                    name: layer.name(),
                    offset: layer.offset(),
                    len: layer.bytes().len(),
                    value: None,
                    error: None,
                })
                .collect(),
            has_vlmetalayers: header.has_vlmetalayers,
            vlmetalayers: None,
            stale_bytes: array.map(|array| array.stale_tail().len()),
            findings: view.findings,
            unchecked: view.unchecked.iter().map(Into::into).collect(),
            mend: None,
        }
    }

    /// Adds the values of all metalayers but the array's own.
    pub(crate) fn with_values(mut self, view: View<'_>) -> Self {
        let outcome = |name: &str, shown: Result<Box<RawValue>, String>| match shown {
            Ok(value) => (Some(value), None),
            Err(error) => (None, Some(format!("metalayer {name}: {error}"))),
        };
        for (layer, metalayer) in self.metalayers.iter_mut().zip(view.metalayers) {
            if Some(layer.name) != self.metalayer {
                (layer.value, layer.error) = outcome(layer.name, messagepack::value(metalayer.bytes()));
            }
        }
        let layers = view.trailer.map(Trailer::vlmetalayers).unwrap_or_default();
        let mut room = MOST_SHOWN;
        let layers = layers.iter().map(|layer| {
            let nbytes = layer.nbytes().unwrap_or_default();
            let (value, error) = if nbytes > room.min(messagepack::LONGEST) {
                outcome(layer.name(), Err(format!("{nbytes} bytes are too many to show")))
            } else {
                match layer.value() {
                    Ok(bytes) => outcome(layer.name(), messagepack::value(&bytes)),
                    Err(error) => (None, Some(with_sources(&error))),
                }
            };
            room = room.saturating_sub(nbytes.max(value.as_ref().map_or(0, |value| value.get().len())));
            VlLayerRecord {
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

/// The most bytes of all values of a trailer, decompressed or as text: a few compressed bytes can claim any number.
const MOST_SHOWN: usize = 1 << 24;

/// The dtype of an array, if it is valid.
pub(crate) fn parsed_dtype(meta: &Meta) -> Option<Dtype> {
    meta.parse_dtype().ok().flatten()
}

/// The size of an item: that of the dtype if it is known, otherwise the typesize.
pub(crate) fn item_size(dtype: Option<&Dtype>, header: &Header) -> i64 {
    let size = dtype.and_then(|dtype| i64::try_from(dtype.item_size()).ok());
    size.unwrap_or(header.typesize.into())
}

/// The size of all items, if it fits.
pub(crate) fn nbytes(shape: &[i64], itemsize: i64) -> Option<i64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(itemsize, |product, &items| product.checked_mul(items))
}

/// How many times as many bytes there were before the compression.
#[expect(clippy::cast_precision_loss, reason = "a ratio is not exact")]
pub(crate) fn ratio(stored_nbytes: i128, cbytes: i128) -> Option<f64> {
    (cbytes != 0).then(|| stored_nbytes as f64 / cbytes as f64)
}

/// The name of a codec, or its number.
pub(crate) fn codec(codec: Codec) -> Cow<'static, str> {
    codec.name().map_or_else(|| codec.to_string().into(), Cow::Borrowed)
}

/// The filters in use, if they are known.
#[derive(Serialize)]
pub(crate) struct Filters {
    /// Their names, or numbers.
    filters: Option<Vec<Cow<'static, str>>>,
    /// Their parameters.
    filters_meta: Option<Vec<u8>>,
}

impl Filters {
    pub(crate) fn of(filters: Option<impl Iterator<Item = Filter>>) -> Self {
        let number = |filter| Filter { meta: 0, ..filter }.to_string();
        let name = |filter: Filter| filter.name().map_or_else(|| number(filter).into(), Cow::Borrowed);
        let both = filters.map(|filters| filters.map(|filter| (name(filter), filter.meta)).unzip());
        let (filters, filters_meta) = both.unzip();
        Self { filters, filters_meta }
    }
}

/// The version of the schema, which grows if a field changes its meaning or goes away. New fields do not change it.
const SCHEMA: u8 = 1;

/// An object as it is printed. Lines are filtered, split and mixed, so each says the version.
#[derive(Serialize)]
struct Line<'v, T> {
    schema: u8,
    #[serde(flatten)]
    value: &'v T,
}

/// Writes an object on a line of its own.
pub(crate) fn write_line(mut writer: impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut writer, &Line { schema: SCHEMA, value })?;
    writer.write_all(b"\n")
}

/// Adds an object on a line of its own.
pub(crate) fn add_line(lines: &mut Vec<u8>, value: &impl Serialize) {
    // This cannot fail: all keys are strings, and writing to a `Vec` does not fail.
    let _ = write_line(lines, value);
}

/// An object on a line of its own.
pub(crate) fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = Vec::new();
    add_line(&mut line, value);
    line
}

/// A metalayer by itself: what `encode` and `decode` print.
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
