//! The pages of `b2nd info`. They begin with the lines of python-blosc2's `info`.

use std::fmt::{self, Display};
use std::io;

use b2nd_frame::{ChunkCounts, FindingCode, Header, SpecialValue};
use serde_json::value::RawValue;
use unicode_width::UnicodeWidthStr;

use super::items::Stats;
use super::record::Record;
use super::store::{ColumnRecord, StoreRecord, TableRecord};
use crate::input::{Location, View};
use crate::terminal::{DIM, severity_style, width, wrapped};
use crate::text::{self, ABSENT, Size, Tuple, codec, shortened};

/// The page of a frame.
pub(crate) struct Page<'s> {
    pub(crate) view: View<'s>,
    pub(crate) record: Record<'s>,
    pub(crate) with_path: bool,
    /// Whether long values are shown whole.
    pub(crate) whole: bool,
}

impl Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let View { location, header, array, kind, .. } = self.view;
        let record = &self.record;
        write_location(f, location, self.with_path)?;
        writeln!(f, "type    : {kind}")?;
        if let Some(array) = record.index_of {
            writeln!(f, "index of: {}", text::clean(array))?;
        }
        if let Some(array) = array {
            writeln!(f, "shape   : {}", Tuple(array.shape()))?;
            writeln!(f, "chunks  : {}", Tuple(array.chunkshape()))?;
            writeln!(f, "blocks  : {}", Tuple(array.meta().blockshape()))?;
            writeln!(f, "dtype   : {}", record.dtype_name.as_deref().unwrap_or(ABSENT))?;
        } else {
            if let Some(tensor) = &record.packed_tensor {
                writeln!(f, "tensor  : {}", text::clean(&tensor.kind))?;
                writeln!(f, "shape   : {}", Tuple(&tensor.shape))?;
                writeln!(f, "dtype   : {}", tensor.dtype_name())?;
            }
            let embedded = self.view.embedded();
            if !embedded.is_empty() {
                write_held(f, &embedded)?;
            }
        }
        if let Some(nbytes) = self.view.nbytes() {
            writeln!(f, "nbytes  : {}", Size(nbytes))?;
        }
        writeln!(f, "cbytes  : {}", Size(header.cbytes))?;
        match self.view.compressed() {
            // python-blosc2 too prints 0 if nothing is stored.
            Some(_) => writeln!(f, "cratio  : {:.2}x", record.cratio.unwrap_or(0.0))?,
            None => writeln!(f, "cratio  : unknown")?,
        }
        if let Some(stats) = record.stats {
            let [min, max] =
                [&stats.min, &stats.max].map(|end| end.as_ref().map_or(ABSENT, |number| &number.text));
            let Stats { nan, infinite, zeros, .. } = stats;
            writeln!(f, "items   : {min} to {max}; {nan} NaN, {infinite} infinite, {zeros} zero")?;
        }
        layout(record, f)?;
        frame(record, header, f)?;
        chunks(record, header, self.view.counts, f)?;
        compression(record, header, f)?;
        metalayers(record, self.whole, f)?;
        let mut findings = self.view.findings.iter();
        findings.try_for_each(|finding| write_finding(f, finding.code(), &finding.to_string()))
    }
}

impl Display for StoreRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_location(f, self.address.location(), true)?;
        writeln!(f, "type    : {}", self.kind)?;
        if let Some(TableRecord { rows, columns }) = &self.table {
            match rows {
                Some(rows) => writeln!(f, "rows    : {rows}")?,
                None => writeln!(f, "rows    : unknown, as the table was not closed")?,
            }
            for ColumnRecord { name, kind, item_shape, .. } in columns {
                write!(f, "column  : {}, {}", text::clean(name), text::clean(kind))?;
                if !item_shape.is_empty() {
                    write!(f, ", items of shape {}", Tuple(item_shape))?;
                }
                writeln!(f)?;
            }
        }
        if let Some(members) = &self.members {
            write_held(f, members)?;
        }
        self.findings.iter().try_for_each(|finding| write_finding(f, finding.code(), finding.message()))
    }
}

fn write_location(f: &mut fmt::Formatter<'_>, location: Location<'_>, with_path: bool) -> fmt::Result {
    if with_path {
        writeln!(f, "path    : {}", text::path(location.path))?;
    }
    location.member().map_or(Ok(()), |member| writeln!(f, "member  : {}", text::clean(member)))
}

/// Writes the keys of a store's members.
fn write_held(f: &mut fmt::Formatter<'_>, members: &[String]) -> fmt::Result {
    let members = if members.is_empty() { "nothing".into() } else { text::clean(&members.join(", ")) };
    writeln!(f, "holds   : {members}")
}

fn write_finding(f: &mut fmt::Formatter<'_>, code: FindingCode, message: &str) -> fmt::Result {
    let severity = code.severity();
    let style = severity_style(severity);
    let line = format!("{style}{severity:8}{style:#}: {code}, {}", text::clean(message));
    writeln!(f, "{}", wrapped(&line, width(&io::stdout()), "          "))
}

/// The metalayer of the array.
fn layout(record: &Record<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (Some(layout), Some(metalayer)) = (record.layout, record.metalayer) else { return Ok(()) };
    write!(f, "layout  : {layout}")?;
    if layout != metalayer {
        write!(f, ", metalayer {metalayer}")?;
    }
    match record.version {
        None | Some(0) => {}
        Some(version) => write!(f, ", version {version}")?,
    }
    match record.dtype_format {
        None | Some(0) => {}
        Some(format) => write!(f, ", dtype format {format}")?,
    }
    writeln!(f)
}

/// The frame that the array is in.
fn frame(record: &Record<'_>, header: &Header, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "frame   : {}, {} bytes", record.container, header.frame_len)?;
    if record.offset > 0 {
        write!(f, " from byte {}", record.offset)?;
    }
    writeln!(f, ", header {} bytes", header.header_len)
}

/// The division of the items into chunks and blocks.
fn chunks(
    record: &Record<'_>,
    header: &Header,
    counts: Option<ChunkCounts>,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let stored = record.nchunks.map_or("an unknown number of chunks".into(), |n| text::count(n, "chunk"));
    match (&record.grid, record.nchunks) {
        (Some(grid), _) => writeln!(f, "grid    : {}, {stored}", Tuple(grid))?,
        (None, None) => writeln!(f, "nchunks : not in the header, as chunks differ in length")?,
        (None, Some(0)) => writeln!(f, "nchunks : {stored}")?,
        (None, Some(_)) if header.nchunks().is_none() => writeln!(f, "nchunks : {stored} of any length")?,
        (None, Some(_)) => writeln!(f, "nchunks : {stored} of {} bytes", header.chunksize)?,
    }
    if let Some(counts) = counts {
        stored_chunks(counts, f)?;
    }
    if let Some(blocks) = &record.blocks_per_chunk {
        let count = text::count(blocks.iter().product(), "block");
        writeln!(f, "in chunk: {}, {count}", Tuple(blocks))?;
    }
    if let Some(padding) = record.padding {
        writeln!(f, "padding : {:.1} % of {}", 100.0 * padding, Size(header.nbytes))?;
    }
    // Without a valid dtype, the item size is the typesize, and has no line of its own.
    if record.itemsize != Some(header.typesize.into()) {
        writeln!(f, "typesize: {}", header.typesize)?;
    }
    Ok(())
}

/// The number of stored chunks, and of the others by kind.
fn stored_chunks(counts: ChunkCounts, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let ChunkCounts { stored, zeros, nan, uninitialized, invalid, .. } = counts;
    if counts.total() == 0 {
        return Ok(());
    }
    write!(f, "stored  : {stored} of {}", text::count(counts.total(), "chunk"))?;
    let others = [
        (zeros, SpecialValue::Zeros.name()),
        (nan, SpecialValue::Nan.name()),
        (uninitialized, SpecialValue::Uninitialized.name()),
        (invalid, "invalid"),
    ];
    for (count, kind) in others.into_iter().filter(|&(count, _)| count > 0) {
        write!(f, ", {count} of kind {kind}")?;
    }
    writeln!(f)
}

fn compression(record: &Record<'_>, header: &Header, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let dictionary = if header.uses_dictionary { ", with a dictionary" } else { "" };
    let codec = codec(header.codec, header.codec_meta);
    writeln!(f, "codec   : {codec}, level {}{dictionary}", record.clevel)?;
    writeln!(f, "split   : {}", header.split_mode)?;
    writeln!(f, "filters : {}", text::list(&text::filters(header)))
}

/// All metalayers except the array's own.
fn metalayers(record: &Record<'_>, whole: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut line = |label, name: &str, value: Option<&RawValue>, error: Option<&str>| {
        let name = text::clean(name);
        match value {
            Some(value) if whole => writeln!(f, "{label:8}: {name} = {}", text::clean(value.get())),
            Some(value) => writeln!(f, "{label:8}: {}", shown(&name, value)),
            // The error already names the metalayer.
            None => writeln!(f, "{label:8}: {}", text::clean(error.unwrap_or(&name))),
        }
    };
    for layer in record.metalayers.iter().filter(|layer| Some(layer.name) != record.metalayer) {
        line("meta", layer.name, layer.value.as_deref(), layer.error.as_deref())?;
    }
    for layer in record.vlmetalayers.iter().flatten() {
        line("vlmeta", layer.name, layer.value.as_deref(), layer.error.as_deref())?;
    }
    Ok(())
}

/// The name and the value of a metalayer, cut at the end of the line. A value that is cut is followed by its length.
fn shown(name: &str, value: &RawValue) -> String {
    // A label has 8 characters, a colon and a space.
    let room = width(&io::stdout()).unwrap_or(80).saturating_sub(10);
    let line = format!("{name} = {}", text::clean(value.get()));
    if line.width() <= room {
        return line;
    }
    let length = format!(" ({} bytes)", value.get().len());
    shortened(&line, room.saturating_sub(length.len())) + &length
}

/// The page with its labels (the first 9 characters of a line, if they end with a colon) dimmed.
pub(crate) fn painted(page: &str) -> String {
    let line = |line: &str| match line.split_at_checked(9) {
        Some((label, rest)) if label.ends_with(':') => format!("{DIM}{label}{DIM:#}{rest}"),
        _ => line.into(),
    };
    page.split_inclusive('\n').map(line).collect()
}
