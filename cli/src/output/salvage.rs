//! The report of `salvage`: the restored, assumed, lost and unverified parts.

use std::fmt::{self, Display};
use std::path::Path;

use b2nd_frame::{ChunkRange, MetalayerNote, SalvageReport};
use b2nd_serde::Geometry;
use serde::Serialize;

use crate::input::Location;
use crate::output::change::FROM_ITEMS;
use crate::text::{ABSENT, Tuple, clean, count, dtype};

/// If at most this number of chunks is lost, the JSON list of lost chunks has an entry for each chunk. Otherwise, it
/// has an entry for each range of chunks. The same applies to the list of unverified chunks.
const MAX_LISTED: u64 = 4096;

/// The text output of a frame has at most this number of lines about lost chunks, and at most this number about
/// unverified chunks.
const MAX_LINES: usize = 20;

/// The result of a salvage, as `--json` prints it.
#[derive(Serialize)]
pub(crate) struct Salvaged<'s> {
    #[serde(flatten)]
    from: Location<'s>,
    to: String,
    dry_run: bool,
    damage_found: bool,
    chunks: u64,
    saved_chunks: u64,
    lost_chunks: u64,
    unverified_chunks: u64,
    restored: Vec<String>,
    assumed: Vec<String>,
    lost: Vec<RangeRecord<'s>>,
    lost_metalayers: Vec<LayerRecord<'s>>,
    unverified_metalayers: Vec<LayerRecord<'s>>,
    outdated_metalayers: &'s [String],
    unowned: Option<String>,
    unverified: Vec<RangeRecord<'s>>,
    /// The chunks of `unverified` for the text output, with one entry per range. All chunks of a frame can be
    /// unverified, for example if their codec is unknown. So a list with one entry per chunk could be very long.
    #[serde(skip)]
    unverified_ranges: Vec<RangeRecord<'s>>,
    /// The number of lost chunks that `--assume-order` would save.
    #[serde(skip)]
    saved_with_order: u64,
    /// The shape, chunk shape and dtype of the array, as text.
    #[serde(skip)]
    array: String,
}

/// A range of consecutive chunks. `coordinate` is the coordinate of the first chunk. `start` and `stop` are the index
/// range of the items in the first chunk.
#[derive(Serialize)]
struct RangeRecord<'s> {
    first: u64,
    count: u64,
    coordinate: Vec<u64>,
    start: Vec<u64>,
    stop: Vec<u64>,
    why: &'s str,
}

#[derive(Serialize)]
struct LayerRecord<'s> {
    name: &'s str,
    why: &'s str,
}

impl<'s> Salvaged<'s> {
    pub(crate) fn new(from: Location<'s>, to: &Path, report: &'s SalvageReport, dry_run: bool) -> Self {
        let (chunks, lost_chunks) = (report.counts.total(), report.lost_count());
        let array = report.frame.array().ok().flatten();
        let geometry = array.as_ref().and_then(|array| array.geometry().ok());
        let layer_records = |notes: &'s [MetalayerNote]| -> Vec<LayerRecord<'s>> {
            notes.iter().map(|note| LayerRecord { name: &note.name, why: &note.why }).collect()
        };
        Self {
            from,
            to: to.to_string_lossy().into_owned(),
            dry_run,
            damage_found: report.found_damage(),
            chunks,
            saved_chunks: chunks.saturating_sub(lost_chunks),
            lost_chunks,
            unverified_chunks: report.unverified_count(),
            restored: report.restored.iter().map(ToString::to_string).collect(),
            assumed: report.assumed_order.iter().map(ToString::to_string).collect(),
            lost: range_records(&report.lost, geometry.as_ref(), MAX_LISTED),
            lost_metalayers: layer_records(&report.lost_metalayers),
            unverified_metalayers: layer_records(&report.unverified_metalayers),
            outdated_metalayers: &report.outdated,
            unowned: report.unowned.as_ref().map(ToString::to_string),
            unverified: range_records(&report.unverified, geometry.as_ref(), MAX_LISTED),
            unverified_ranges: range_records(&report.unverified, geometry.as_ref(), 0),
            saved_with_order: report.saved_with_order,
            array: array.map_or_else(String::new, |array| {
                let (shape, chunkshape) = (Tuple(array.shape()), Tuple(array.chunkshape()));
                let dtype = dtype(&array).unwrap_or_else(|| ABSENT.into());
                format!("shape {shape}, chunks {chunkshape}, dtype {dtype}")
            }),
        }
    }
}

/// Writes a line about the frame, and then a line about each part that was not simply copied.
impl Display for Salvaged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (self.from, Location::new(Path::new(&self.to)));
        write!(f, "{from} -> {to}: {} of {} saved", self.saved_chunks, count(self.chunks, "chunk"))?;
        match self.unverified_chunks {
            0 => writeln!(f)?,
            unverified => writeln!(f, ", {unverified} of them not verified")?,
        }
        if !self.damage_found {
            writeln!(
                f,
                "  no damage found; check these values, which nothing else in the file confirms: {}",
                self.array
            )?;
        }
        if let Some(unowned) = &self.unowned {
            writeln!(
                f,
                "  unowned: {unowned}: chunks were replaced or deleted, or an entry is wrong, and its chunk may be in the wrong \
                 place or out of date"
            )?;
        }
        for restored in &self.restored {
            writeln!(f, "  restored: {}", clean(restored))?;
        }
        for order in &self.assumed {
            writeln!(f, "  assumed: {order}")?;
        }
        for (what, layers) in [("lost", &self.lost_metalayers), ("unverified", &self.unverified_metalayers)] {
            for LayerRecord { name, why } in layers {
                writeln!(f, "  {what}: metalayer {}: {}", clean(name), clean(why))?;
            }
        }
        for name in self.outdated_metalayers {
            writeln!(f, "  not copied: vlmetalayer {}: {FROM_ITEMS}, which may differ now", clean(name))?;
        }
        for (what, records) in [("lost", &self.lost), ("unverified", &self.unverified_ranges)] {
            for record in records.iter().take(MAX_LINES) {
                writeln!(f, "  {what}: {record}")?;
            }
            let more = records.len().saturating_sub(MAX_LINES);
            if more > 0 {
                writeln!(f, "  {what}: {more} more, which --json lists")?;
            }
        }
        if self.saved_with_order > 0 {
            let lost = count(self.lost_chunks, "lost chunk");
            writeln!(f, "  --assume-order saves {} of the {lost}", self.saved_with_order)?;
        }
        Ok(())
    }
}

impl Display for RangeRecord<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, count, coordinate, start, stop, why } = self;
        let why = clean(why);
        if *count > 1 {
            let last = first.saturating_add(count - 1);
            return write!(f, "chunks {first} to {last}: {why}");
        }
        let items: Vec<_> = start.iter().zip(stop).map(|(start, stop)| format!("{start}:{stop}")).collect();
        write!(f, "chunk {first} at {coordinate:?}, items [{}]: {why}", items.join(", "))
    }
}

/// The records of some ranges: one per chunk, or one per range if there are more than `most` chunks.
fn range_records<'s>(
    ranges: &'s [ChunkRange],
    geometry: Option<&Geometry>,
    most: u64,
) -> Vec<RangeRecord<'s>> {
    let are_few = ranges.iter().map(|range| range.count).sum::<u64>() <= most;
    let mut records = Vec::new();
    for ChunkRange { first, count, why, .. } in ranges {
        let (numbers, count) = if are_few { (*first..first + count, 1) } else { (*first..first + 1, *count) };
        for first in numbers {
            let chunk = geometry.and_then(|geometry| geometry.chunk(first));
            let [coordinate, start, stop] = chunk.map_or_else(Default::default, |chunk| {
                [chunk.coordinate(), chunk.extent().start(), chunk.extent().stop()]
                    .map(|numbers| numbers.to_vec())
            });
            records.push(RangeRecord { first, count, coordinate, start, stop, why });
        }
    }
    records
}
