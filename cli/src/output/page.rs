//! The pages of `b2nd info`. A page begins with the lines that `info` of python-blosc2 shows.

use std::fmt::{self, Display};
use std::io;

use b2nd_frame::{ArrayHeader, ChunkCounts, FindingCode, Header, SpecialValue};
use serde_json::value::RawValue;
use unicode_width::UnicodeWidthStr;

use super::items::{Stats, ValueCount, ValueCounts};
use super::record::{LayerRecord, metalayers, vlmetalayers};
use super::store::{AttributeRecord, ColumnRecord, StoreRecord, TableRecord};
use crate::input::{Location, View};
use crate::terminal::{DIM, severity_style, width, wrapped};
use crate::text::{self, ABSENT, Size, Tuple, ratio, shortened};

/// The page of a frame.
pub(crate) struct Page<'s> {
    pub(crate) view: View<'s>,
    pub(crate) stats: Option<&'s Stats>,
    pub(crate) with_path: bool,
    /// Whether long values are shown in full.
    pub(crate) whole: bool,
}

impl Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let View { location, header, array, kind, .. } = self.view;
        write_location(f, location, self.with_path)?;
        writeln!(f, "type    : {kind}")?;
        if let Some(array) = location.indexed_array() {
            writeln!(f, "index of: {}", text::clean(array))?;
        }
        if let Some(array) = array {
            writeln!(f, "shape   : {}", Tuple(array.shape()))?;
            writeln!(f, "chunks  : {}", Tuple(array.chunkshape()))?;
            writeln!(f, "blocks  : {}", Tuple(array.meta().blockshape()))?;
            writeln!(f, "dtype   : {}", text::dtype(array).unwrap_or(ABSENT.into()))?;
        } else {
            if let Some(tensor) = self.view.tensor {
                writeln!(f, "tensor  : {}", text::clean(&tensor.kind))?;
                writeln!(f, "shape   : {}", Tuple(&tensor.shape))?;
                writeln!(f, "dtype   : {}", text::tensor_dtype(tensor))?;
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
            // python-blosc2 also prints 0 if nothing is stored.
            Some(sizes) => writeln!(f, "cratio  : {:.2}x", ratio(sizes).unwrap_or(0.0))?,
            None => writeln!(f, "cratio  : unknown")?,
        }
        self.stats.map_or(Ok(()), |stats| write_stats(f, stats))?;
        array.map_or(Ok(()), |array| write_layout(f, array))?;
        write!(f, "frame   : {}, {} bytes", self.view.container(), header.frame_len)?;
        if self.view.offset > 0 {
            write!(f, " from byte {}", self.view.offset)?;
        }
        writeln!(f, ", header {} bytes", header.header_len)?;
        write_chunks(f, self.view)?;
        write_compression(f, header)?;
        write_layers(f, self.view, self.whole)?;
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
        for AttributeRecord { key, name, value, error } in &self.attributes {
            let name = text::clean(&format!("{key} {name}"));
            let line = match value {
                Some(value) => shown(&name, value),
                None => text::clean(error.as_ref().unwrap_or(&name)),
            };
            writeln!(f, "attr    : {line}")?;
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

/// Writes the statistics of the items, and each value with its count.
fn write_stats(f: &mut fmt::Formatter<'_>, stats: &Stats) -> fmt::Result {
    let Stats { nan, infinite, zeros, .. } = stats;
    if let Some([shortest, longest]) = stats.lengths {
        writeln!(f, "items   : {shortest} to {longest} long; {zeros} empty")?;
    } else {
        let [min, max] =
            [&stats.min, &stats.max].map(|end| end.as_ref().map_or(ABSENT, |number| &number.text));
        write!(f, "items   : {min} to {max}")?;
        if let (Some(mean), Some(std)) = (&stats.mean, &stats.std) {
            write!(f, ", mean {}, std {}", mean.text, std.text)?;
        }
        write!(f, "; {nan} NaN")?;
        if let Some(first) = stats.first_nan.as_ref().filter(|first| !first.is_empty()) {
            write!(f, " (first {})", first.iter().map(u64::to_string).collect::<Vec<_>>().join(","))?;
        }
        writeln!(f, ", {infinite} infinite, {zeros} zero")?;
    }
    match &stats.values {
        None => Ok(()),
        Some(ValueCounts(None)) => {
            writeln!(f, "values  : not counted: floats, or more than --values allows, or over 16 MiB")
        }
        Some(ValueCounts(Some(values))) => values.iter().try_for_each(|ValueCount { value, count }| {
            writeln!(f, "value   : {}, {count} times", value.text)
        }),
    }
}

fn write_finding(f: &mut fmt::Formatter<'_>, code: FindingCode, message: &str) -> fmt::Result {
    let severity = code.severity();
    let style = severity_style(severity);
    let line = format!("{style}{severity:8}{style:#}: {code}, {}", text::clean(message));
    writeln!(f, "{}", wrapped(&line, width(&io::stdout()), "          "))
}

/// Writes the line about the layout of the metalayer.
fn write_layout(f: &mut fmt::Formatter<'_>, array: &ArrayHeader<'_>) -> fmt::Result {
    let (layout, metalayer) = (array.meta().layout().name(), array.metalayer().name());
    write!(f, "layout  : {layout}")?;
    if layout != metalayer {
        write!(f, ", metalayer {metalayer}")?;
    }
    match array.meta().version() {
        0 => {}
        version => write!(f, ", version {version}")?,
    }
    match array.meta().dtype_format() {
        None | Some(0) => {}
        Some(format) => write!(f, ", dtype format {format}")?,
    }
    writeln!(f)
}

/// Writes the division of the items into chunks and blocks.
fn write_chunks(f: &mut fmt::Formatter<'_>, view: View<'_>) -> fmt::Result {
    let (header, nchunks) = (view.header, view.nchunks());
    let geometry = view.array.and_then(|array| array.geometry().ok());
    let stored = nchunks.map_or("an unknown number of chunks".into(), |n| text::count(n, "chunk"));
    match (&geometry, nchunks) {
        (Some(geometry), _) => {
            writeln!(f, "grid    : {}, {stored}", Tuple(&geometry.grid_of_chunks()))?;
        }
        (None, None) => writeln!(f, "nchunks : not in the header, as chunks differ in length")?,
        (None, Some(0)) => writeln!(f, "nchunks : {stored}")?,
        (None, Some(_)) if header.nchunks().is_none() => writeln!(f, "nchunks : {stored} of any length")?,
        (None, Some(_)) => writeln!(f, "nchunks : {stored} of {} bytes", header.chunksize)?,
    }
    if let Some(counts) = view.counts {
        write_stored_chunks(f, counts)?;
    }
    if let Some(unowned) = view.unowned_bytes.filter(|&unowned| unowned > 0) {
        writeln!(f, "unowned : {}, which `b2nd rewrite` leaves out", text::count(unowned, "byte"))?;
    }
    if let Some(geometry) = &geometry {
        let blocks = geometry.blocks_per_chunk().to_vec();
        let count = text::count(blocks.iter().product(), "block");
        writeln!(f, "in chunk: {}, {count}", Tuple(&blocks))?;
        writeln!(f, "padding : {:.1} % of {}", 100.0 * geometry.padding(), Size(header.nbytes))?;
    }
    // The typesize of an array is shown only if it differs from the item size. If the array has no valid dtype,
    // `itemsize` returns the typesize, so the typesize is not shown.
    if view.itemsize(view.dtype().as_ref()) != Some(header.typesize.into()) {
        writeln!(f, "typesize: {}", header.typesize)?;
    }
    Ok(())
}

/// Writes the number of stored chunks, and the number of chunks of every other kind that occurs.
fn write_stored_chunks(f: &mut fmt::Formatter<'_>, counts: ChunkCounts) -> fmt::Result {
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

fn write_compression(f: &mut fmt::Formatter<'_>, header: &Header) -> fmt::Result {
    let dictionary = if header.uses_dictionary { ", with a dictionary" } else { "" };
    write!(f, "codec   : {}", header.codec)?;
    if header.codec_meta != 0 {
        write!(f, " ({})", header.codec_meta)?;
    }
    writeln!(f, ", level {}{dictionary}", header.level)?;
    writeln!(f, "split   : {}", header.split_mode)?;
    let filters: Vec<_> = header.pipeline().map(|filter| filter.to_string()).collect();
    writeln!(f, "filters : {}", text::list(&filters))
}

/// Writes all metalayers except the metalayer of the array. Also writes all vlmetalayers.
fn write_layers(f: &mut fmt::Formatter<'_>, view: View<'_>, whole: bool) -> fmt::Result {
    let own = view.array.map(|array| array.metalayer().name());
    let layers = metalayers(view).into_iter().filter(|layer| Some(layer.name) != own);
    let layers = layers.map(|layer| ("meta", layer));
    let vllayers = vlmetalayers(view).into_iter().flatten().map(|layer| ("vlmeta", layer));
    for (label, LayerRecord { name, value, error, .. }) in layers.chain(vllayers) {
        let name = text::clean(name);
        let line = match value {
            Some(value) if whole => format!("{name} = {}", text::clean(value.get())),
            Some(value) => shown(&name, &value),
            // The error names the metalayer, so the name is not shown again.
            None => text::clean(&error.unwrap_or(name)),
        };
        writeln!(f, "{label:8}: {line}")?;
    }
    Ok(())
}

/// The name and the value of a metalayer, shortened to the width of the terminal. A shortened value is followed by its
/// length.
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

/// The page with its labels in dim text. If the ninth byte of a line is a colon, the first nine bytes are the label.
pub(crate) fn painted(page: &str) -> String {
    let line = |line: &str| match line.split_at_checked(9) {
        Some((label, rest)) if label.ends_with(':') => format!("{DIM}{label}{DIM:#}{rest}"),
        _ => line.into(),
    };
    page.split_inclusive('\n').map(line).collect()
}
