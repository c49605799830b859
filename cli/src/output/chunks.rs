//! The output of `b2nd chunks`: a line or an object for each chunk.

use std::borrow::Cow;
use std::io::{self, Write};
use std::mem;
use std::path::{Path, PathBuf};

use b2nd_frame::{
    ChunkEntry, ChunkHeader, ChunkPlace, Chunks, Error, Finding, FindingCode, Frame, Header, SpecialValue,
};
use b2nd_serde::Geometry;
use serde::Serialize;

use super::json::{add_line, line};
use super::record::FilterNames;
use super::table::{Columns, Side};
use crate::input::{Failure, Location, Reader, bytes_of};
use crate::problem::Problem;
use crate::terminal::width;
use crate::text::Tuple;

/// A chunk. Scripts rely on these names.
#[derive(Serialize)]
struct ChunkRecord<'c> {
    #[serde(flatten)]
    location: Location<'c>,
    chunk: u64,
    coordinate: Option<Vec<u64>>,
    /// The file that has the chunk; `None` if there is nothing to read, or it is in the compressed data of a store.
    file: Option<String>,
    /// The bytes of `file` in hexadecimal, if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    file_bytes: Option<String>,
    /// The name of its own file, in a sparse frame.
    #[serde(skip)]
    file_name: Option<String>,
    /// Where it begins in that file.
    offset: Option<u64>,
    cbytes: Option<usize>,
    nbytes: Option<u64>,
    kind: &'static str,
    typesize: Option<u8>,
    /// `None` too if blocks have different sizes.
    blocksize: Option<usize>,
    /// `None`, like the filters, if the chunk is not compressed.
    codec: Option<String>,
    #[serde(flatten)]
    filters: FilterNames,
    /// The error of a damaged or missing chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Problem>,
}

/// The headings, and how their columns are aligned; in the order of `ChunkRecord::cells`.
const COLUMNS: [(&str, Side); 7] = [
    ("chunk", Side::Right),
    ("coordinate", Side::Left),
    ("offset", Side::Right),
    ("cbytes", Side::Right),
    ("nbytes", Side::Right),
    ("kind", Side::Left),
    ("codec", Side::Left),
];

impl ChunkRecord<'_> {
    fn cells(&self) -> [String; COLUMNS.len()] {
        let number = |number: Option<u64>| number.map_or("-".into(), |number| number.to_string());
        [
            self.chunk.to_string(),
            self.coordinate.as_deref().map_or("-".into(), |coordinate| Tuple(coordinate).to_string()),
            self.file_name.clone().unwrap_or_else(|| number(self.offset)),
            number(self.cbytes.map(|cbytes| cbytes as u64)),
            number(self.nbytes),
            self.kind.into(),
            self.codec.clone().unwrap_or_default(),
        ]
    }
}

/// Lines are passed on when they have this many bytes.
const LINES_LEN: usize = 1 << 16;

/// A piece of output.
pub(crate) enum Piece {
    /// The address of a frame.
    Heading(String),
    Lines(Vec<u8>),
    Failure(Failure),
}

impl Piece {
    pub(crate) fn of(failure: Failure, json: bool) -> Self {
        if json { Self::Lines(line(&failure)) } else { Self::Failure(failure) }
    }
}

/// Prints a piece of output.
pub(crate) type Print<'p> = dyn FnMut(Piece) -> io::Result<()> + 'p;

/// The counts for the exit status and the progress.
#[derive(Clone, Copy, Default)]
pub(crate) struct ChunkTotals {
    pub(crate) frames: u64,
    pub(crate) chunks: u64,
    /// Chunks that are missing or damaged.
    pub(crate) damaged: u64,
    /// Damaged or missing chunks, and unreadable files.
    pub(crate) failures: u64,
}

impl ChunkTotals {
    pub(crate) fn add(&mut self, other: Self) {
        self.frames += other.frames;
        self.chunks += other.chunks;
        self.damaged += other.damaged;
        self.failures += other.failures;
    }
}

/// The selection of chunks, and the form of the list.
#[derive(Clone, Copy)]
pub(crate) struct WantedChunks {
    pub(crate) json: bool,
    /// Only those that are missing or damaged.
    pub(crate) damaged: bool,
}

/// Lists the chunks of a frame below a heading, followed by the error that ended the list, if any.
pub(crate) fn list(
    location: Location<'_>,
    heading: Option<String>,
    frame: &mut Frame<Reader>,
    is_embedded: bool,
    wanted: WantedChunks,
    print: &mut Print<'_>,
) -> io::Result<ChunkTotals> {
    let mut totals = ChunkTotals::default();
    let mut heading = heading.map(Piece::Heading);
    // With --damaged, a frame has a heading only if it has a damaged chunk.
    if !wanted.damaged {
        heading.take().map_or(Ok(()), &mut *print)?;
    }
    // Chunks without bytes of their own cannot be damaged, and a few bytes can claim 268 million of them.
    if wanted.damaged
        && let Ok(counts) = frame.count_chunks()
        && counts.stored + counts.invalid == 0
    {
        totals.chunks = counts.total();
        return Ok(totals);
    }
    let listed = ListedFrame {
        location,
        header: frame.header().clone(),
        geometry: frame.array().ok().flatten().and_then(|array| array.geometry().ok()),
        start: (!is_embedded).then_some(frame.offset()),
        folder: frame.path().and_then(Path::parent).map(Path::to_path_buf),
    };
    let result = match frame.chunks() {
        Ok(chunks) => listed.list(chunks, heading, wanted, &mut totals, print)?,
        Err(error) => Err(error),
    };
    if let Err(error) = result {
        totals.failures += 1;
        print(Piece::of(location.failure(error), wanted.json))?;
    }
    Ok(totals)
}

/// The frame whose chunks are listed.
struct ListedFrame<'f> {
    location: Location<'f>,
    header: Header,
    geometry: Option<Geometry>,
    /// The offset of the frame in its file; `None` if it is in the compressed data of a store.
    start: Option<u64>,
    /// For a sparse frame, the folder with a file for each chunk.
    folder: Option<PathBuf>,
}

impl ListedFrame<'_> {
    fn list(
        &self,
        mut chunks: Chunks<'_, Reader>,
        mut heading: Option<Piece>,
        WantedChunks { json, damaged }: WantedChunks,
        totals: &mut ChunkTotals,
        print: &mut Print<'_>,
    ) -> io::Result<Result<(), Error>> {
        let count = chunks.size_hint().1.unwrap_or(usize::MAX) as u64;
        let columns = self.columns(count);
        let mut lines = Vec::new();
        let mut headings = (!json && count > 0).then(|| columns.line(&COLUMNS.map(|(heading, _)| heading)));
        let listed = loop {
            let record = match self.next(&mut chunks).transpose() {
                Ok(Some(record)) => record,
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            };
            totals.chunks += 1;
            let is_damaged = record.kind == "invalid" || record.error.is_some();
            totals.damaged += u64::from(is_damaged);
            totals.failures += u64::from(is_damaged);
            if damaged && !is_damaged {
                continue;
            }
            heading.take().map_or(Ok(()), &mut *print)?;
            if let Some(headings) = headings.take() {
                writeln!(lines, "{headings}")?;
            }
            if json {
                add_line(&mut lines, &record);
            } else {
                writeln!(lines, "{}", columns.line(&record.cells()))?;
                if let Some(problem) = record.error {
                    // The lines before the error are printed first.
                    print(Piece::Lines(mem::take(&mut lines)))?;
                    print(Piece::Failure(self.location.failure(problem)))?;
                }
            }
            if lines.len() > LINES_LEN {
                print(Piece::Lines(mem::take(&mut lines)))?;
            }
        };
        if !json && !damaged && listed.is_ok() && totals.chunks == 0 {
            writeln!(lines, "no chunks")?;
        }
        print(Piece::Lines(lines))?;
        Ok(listed)
    }

    /// Columns that are wide enough for all lines, which are printed one by one.
    fn columns(&self, count: u64) -> Columns {
        let mut columns =
            Columns::new(COLUMNS.map(|(_, side)| (side, usize::MAX))).within(width(&io::stdout()));
        columns.fit(&COLUMNS.map(|(heading, _)| heading));
        // The last chunk has the longest number and coordinate.
        let last = count.saturating_sub(1);
        let corner = self.coordinate(last).map_or(String::new(), |corner| Tuple(&corner).to_string());
        let end = self.header.frame_len.saturating_add(self.start.unwrap_or_default());
        let place = if self.header.is_sparse() { "00000000.chunk".into() } else { end.to_string() };
        // A stored chunk is longer than its data by less than 64 bytes, the length of two headers.
        let longest = (u64::from(self.header.chunksize.max(0).unsigned_abs()) + 64).to_string();
        // Kinds wider than `stored` need no room: only stored chunks have a codec, the column after the kind.
        columns.fit(&[&last.to_string(), &corner, &place, &longest, &longest, "stored", ""]);
        columns
    }

    /// The next chunk.
    fn next(&self, chunks: &mut Chunks<'_, Reader>) -> Option<Result<ChunkRecord<'_>, Error>> {
        Some(chunks.next()?.and_then(|entry| self.record(chunks, &entry)))
    }

    fn record(&self, chunks: &mut Chunks<'_, Reader>, entry: &ChunkEntry) -> Result<ChunkRecord<'_>, Error> {
        let (kind, found, error) = read(chunks, entry)?;
        let (file, offset) = match (entry.place, entry.file_name(), &self.folder) {
            (ChunkPlace::Frame(at), ..) => {
                let offset = self.start.map(|start| start.saturating_add(at));
                (offset.map(|_| Cow::Borrowed(self.location.path)), offset)
            }
            (_, Some(name), Some(folder)) => (Some(Cow::Owned(folder.join(name))), Some(0)),
            _ => (None, None),
        };
        // Only compressed data went through a codec and filters.
        let compressed = found.filter(|found| !found.is_uncompressed && found.special.is_none());
        Ok(ChunkRecord {
            location: self.location,
            chunk: entry.number,
            coordinate: self.coordinate(entry.number),
            file: file.as_deref().map(|file| file.to_string_lossy().into_owned()),
            file_bytes: file.as_deref().and_then(bytes_of),
            file_name: entry.file_name(),
            offset,
            cbytes: found.map(|found| found.cbytes),
            nbytes: found.map(|found| found.nbytes as u64).or(entry.nbytes),
            kind,
            typesize: found.map(|found| found.typesize),
            blocksize: found.filter(|found| !found.has_variable_blocks).map(|found| found.blocksize),
            codec: compressed.map(|found| found.codec.unwrap_or(self.header.codec).to_string()),
            filters: FilterNames::of(
                compressed.map(|found| found.filters.into_iter().filter(|filter| filter.id != 0)),
            ),
            error,
        })
    }

    fn coordinate(&self, number: u64) -> Option<Vec<u64>> {
        Some(self.geometry.as_ref()?.chunk(number)?.coordinate().to_vec())
    }
}

/// The kind of a chunk, with its header if it is valid, or with the problem.
fn read(
    chunks: &mut Chunks<'_, Reader>,
    entry: &ChunkEntry,
) -> Result<(&'static str, Option<ChunkHeader>, Option<Problem>), Error> {
    Ok(match entry.place {
        ChunkPlace::Special(special) => (special.name(), None, None),
        ChunkPlace::Frame(_) | ChunkPlace::File(_) => match chunks.checked_header(entry) {
            Ok(header) => {
                let special = header.as_ref().and_then(|header| header.special);
                (special.map_or("stored", SpecialValue::name), header, None)
            }
            Err(error) => match error.finding().map(Finding::code) {
                Some(FindingCode::ChunkFile) => ("missing", None, Some(error.into())),
                Some(_) => ("damaged", None, Some(error.into())),
                // An error of reading ends the list.
                None => return Err(error),
            },
        },
        _ => ("invalid", None, None),
    })
}
