//! `b2nd info`: everything about each array. The first lines are those of python-blosc2's `info`.

use std::fmt::{self, Display};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use b2nd_frame::{Depth, Header, Special};
use clap::Args;
use serde_json::value::RawValue;
use unicode_width::UnicodeWidthStr;

use crate::address::given;
use crate::failure::Failure;
use crate::input::Target;
use crate::json::{CountsRecord, Record, add_line};
use crate::output::{DIM, Outcome, complain, remark, width, write_finding};
use crate::store::{StoreRecord, held, store_at, table_at};
use crate::table::shortened;
use crate::text::{self, Size, Tuple, codec};
use crate::visit::{self, View};

/// Show everything about arrays except their data
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd info array.b2nd
  b2nd info --json *.b2nd | jq .vlmetalayers")]
pub(crate) struct Info {
    /// Files, sparse frames (directories), stores, `FILE:MEMBER`, `FILE@OFFSET`, URLs, or - (standard input)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Show the values of metalayers whole, however long; otherwise each one has a line
    #[arg(long)]
    meta: bool,
    /// Print a JSON object for each frame, one per line
    #[arg(long)]
    json: bool,
}

impl Info {
    pub(crate) fn run(self) -> Outcome {
        let mut stdout = anstream::stdout();
        let mut code = ExitCode::SUCCESS;
        let mut shown = 0;
        let options = visit::Options { depth: Some(Depth::Frame), meta: true, ..visit::Options::default() };
        let several = self.files.len() > 1;
        for address in given(self.files.clone()) {
            let target = Target::given(address);
            let mut page = Vec::new();
            let store = match store_at(&target) {
                Ok(store) => store,
                Err(failure) => {
                    code = ExitCode::FAILURE;
                    self.tell(&failure, &mut page);
                    stdout.write_all(&page)?;
                    continue;
                }
            };
            let table = table_at(&target);
            let is_table = table.is_some();
            let mut records: Vec<_> = table.into_iter().collect();
            records.extend(store.iter().flat_map(|store| StoreRecord::all(&target, store)));
            if let Some(record) = records.first_mut() {
                record.add_active(&target);
            }
            for record in &records {
                if self.json {
                    add_line(&mut page, record);
                } else {
                    page.extend(painted(&format!("{}{record}", separator(shown))).bytes());
                    shown += 1;
                }
            }
            stdout.write_all(&page)?;
            if is_table || store.is_some() {
                continue;
            }
            let (mut is_silent, mut written) = (true, Ok(()));
            options.visit_target(&target, &mut |view| {
                is_silent = false;
                let mut page = Vec::new();
                match view {
                    Ok(view) if self.json => add_line(&mut page, &view.record()),
                    Ok(view) => {
                        let with_path = several || view.location.member().is_some();
                        let page_of = Page { view: &view, with_path, whole: self.meta };
                        page.extend(painted(&format!("{}{page_of}", separator(shown))).bytes());
                        shown += 1;
                    }
                    Err(failure) => {
                        code = ExitCode::FAILURE;
                        self.tell(&failure, &mut page);
                    }
                }
                if written.is_ok() {
                    written = stdout.write_all(&page);
                }
            });
            if is_silent {
                remark(&format_args!("{}: no frame found", target.location()));
            }
            written?;
        }
        Ok(code)
    }

    fn tell(&self, failure: &Failure, page: &mut Vec<u8>) {
        if self.json {
            add_line(page, failure);
        } else {
            complain(failure);
        }
    }
}

/// What is before a page.
fn separator(shown: usize) -> &'static str {
    if shown > 0 { "\n" } else { "" }
}

/// What is printed for a frame.
struct Page<'s> {
    view: &'s View<'s>,
    with_path: bool,
    /// Whether long values are shown whole.
    whole: bool,
}

impl Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let View { location, header, array, kind, .. } = self.view;
        let (record, embedded) = (&self.view.record(), self.view.embedded());
        if self.with_path {
            writeln!(f, "path    : {}", text::path(location.path))?;
        }
        if let Some(member) = location.member() {
            writeln!(f, "member  : {}", text::clean(member))?;
        }
        if let Some(array) = array {
            writeln!(f, "type    : {kind}")?;
            writeln!(f, "shape   : {}", Tuple(array.shape()))?;
            writeln!(f, "chunks  : {}", Tuple(array.chunkshape()))?;
            match array.blockshape() {
                Some(blockshape) => writeln!(f, "blocks  : {}", Tuple(blockshape))?,
                None => writeln!(f, "blocks  : none")?,
            }
            writeln!(f, "dtype   : {}", text::dtype(array).as_deref().unwrap_or("none"))?;
            if let Some(nbytes) = record.nbytes {
                writeln!(f, "nbytes  : {}", Size(nbytes))?;
            }
        } else {
            writeln!(f, "type    : {kind}")?;
            if !embedded.is_empty() {
                writeln!(f, "holds   : {}", held(&embedded))?;
            }
            writeln!(f, "nbytes  : {}", Size(header.nbytes))?;
        }
        writeln!(f, "cbytes  : {}", Size(header.cbytes))?;
        // python-blosc2 too prints 0 if nothing is stored.
        writeln!(f, "cratio  : {:.2}x", record.cratio.unwrap_or(0.0))?;
        layout(record, f)?;
        frame(record, header, f)?;
        chunks(record, header, f)?;
        compression(record, header, f)?;
        metalayers(record, self.whole, f)?;
        let mut findings = self.view.findings.iter();
        findings.try_for_each(|finding| write_finding(f, finding.code(), &finding.to_string()))
    }
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

/// How the items are divided into chunks and blocks.
fn chunks(record: &Record<'_>, header: &Header, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let stored = record.nchunks.map_or("an unknown number of chunks".into(), |n| text::count(n, "chunk"));
    match (&record.grid, record.nchunks) {
        (Some(grid), _) => writeln!(f, "grid    : {}, {stored}", Tuple(grid))?,
        (None, None) => writeln!(f, "nchunks : not in the header, as chunks differ in length")?,
        (None, Some(0)) => writeln!(f, "nchunks : {stored}")?,
        (None, Some(_)) if header.nchunks().is_none() => writeln!(f, "nchunks : {stored} of any length")?,
        (None, Some(_)) => writeln!(f, "nchunks : {stored} of {} bytes", header.chunksize)?,
    }
    if let Some(counts) = record.chunk_counts {
        stored_chunks(counts, f)?;
    }
    if let Some(blocks) = &record.blocks_per_chunk {
        let count = text::count(blocks.iter().product(), "block");
        writeln!(f, "in chunk: {}, {count}", Tuple(blocks))?;
    }
    if let Some(padding) = record.padding {
        writeln!(f, "padding : {:.1} % of {}", 100.0 * padding, Size(header.nbytes))?;
    }
    if record.itemsize != Some(header.typesize.into()) {
        writeln!(f, "typesize: {}", header.typesize)?;
    }
    Ok(())
}

/// How many chunks are stored, and what the others are.
fn stored_chunks(counts: CountsRecord, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let CountsRecord { stored, zeros, nan, uninitialized, invalid } = counts;
    let total = stored + zeros + nan + uninitialized + invalid;
    if total == 0 {
        return Ok(());
    }
    write!(f, "stored  : {stored} of {}", text::count(total, "chunk"))?;
    let others = [
        (zeros, Special::Zeros.name()),
        (nan, Special::Nan.name()),
        (uninitialized, Special::Uninitialized.name()),
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

/// The metalayers except that of the array.
fn metalayers(record: &Record<'_>, whole: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut line = |label, name: &str, value: Option<&RawValue>, error: Option<&str>| {
        let name = text::clean(name);
        match value {
            Some(value) if whole => writeln!(f, "{label:8}: {name} = {}", text::clean(value.get())),
            Some(value) => writeln!(f, "{label:8}: {}", shown(&name, value)),
            // It names the metalayer.
            None => writeln!(f, "{label:8}: {}", text::clean(error.unwrap_or(&name))),
        }
    };
    for layer in record.metalayers.iter().filter(|layer| Some(layer.name) != record.metalayer) {
        line("meta", layer.name, layer.value.as_deref(), layer.error.as_deref())?;
    }
    for layer in record.vlmetalayers.iter().flatten() {
        line("vlmeta", &layer.name, layer.value.as_deref(), layer.error.as_deref())?;
    }
    Ok(())
}

/// The name and the value of a metalayer, cut at the end of the line. A value that is cut is followed by its length.
fn shown(name: &str, value: &RawValue) -> String {
    let room = width(&io::stdout()).unwrap_or(80).saturating_sub(10);
    let line = format!("{name} = {}", text::clean(value.get()));
    if line.width() <= room {
        return line;
    }
    let length = format!(" ({} bytes)", value.get().len());
    shortened(&line, room.saturating_sub(length.len())) + &length
}

/// The page with dim labels, which end at the first colons.
fn painted(page: &str) -> String {
    let line = |line: &str| match line.split_at_checked(9) {
        Some((label, rest)) if label.ends_with(':') => format!("{DIM}{label}{DIM:#}{rest}"),
        _ => line.into(),
    };
    page.split_inclusive('\n').map(line).collect()
}
