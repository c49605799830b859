//! The output of `b2nd chunks`: a line or an object for each chunk.

use std::borrow::Cow;
use std::io;
use std::mem;
use std::path::{Path, PathBuf};

use b2nd_frame::{
    ChunkEntry, ChunkHeader, ChunkPlace, Chunks, Error, ErrorKind, Finding, FindingCode, Frame, Header,
    SpecialValue,
};
use b2nd_serde::Geometry;
use serde::Serialize;

use super::json::add_line;
use super::record::FilterNames;
use super::table::{Columns, Side};
use crate::code;
use crate::input::{Address, Failure, Inside, Location, Reader, path_hex};
use crate::pool::PassPart;
use crate::problem::Problem;
use crate::terminal::width;
use crate::text::Tuple;
use crate::waiting::{HasProblem, while_changing};

/// A chunk, to be printed as a line or as a JSON object. Scripts rely on the names of these fields.
#[derive(Serialize)]
struct ChunkRecord<'c> {
    #[serde(flatten)]
    location: Location<'c>,
    chunk: u64,
    coordinate: Option<Vec<u64>>,
    /// The file that contains the chunk; `None` if the chunk has no bytes, or is in the compressed data of a store.
    file: Option<String>,
    /// The bytes of the path `file` in hexadecimal, if the path is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    file_bytes: Option<String>,
    /// The name of the chunk's own file, in a sparse frame.
    #[serde(skip)]
    file_name: Option<String>,
    /// The offset of the chunk in `file`.
    offset: Option<u64>,
    cbytes: Option<usize>,
    nbytes: Option<u64>,
    kind: &'static str,
    typesize: Option<u8>,
    /// The block size in bytes; `None` if the chunk has no valid header, or if its blocks differ in size.
    blocksize: Option<usize>,
    /// The codec; `None` if the chunk is not compressed or has no valid header. Then the filters are `None` too.
    codec: Option<String>,
    #[serde(flatten)]
    filters: FilterNames,
    /// The error of a damaged or missing chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Problem>,
}

/// The headings and the alignments of the columns, in the order of `ChunkRecord::cells`.
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

/// When the collected lines exceed this number of bytes, they are passed on to be printed.
const LINES_LEN: usize = 1 << 16;

/// A piece of output.
pub(crate) enum Piece {
    /// The address of a frame.
    Heading(String),
    Lines(Vec<u8>),
    Failure(Failure),
}

/// The counts for the exit status and the progress.
#[derive(Clone, Copy, Default)]
pub(crate) struct ChunkTotals {
    pub(crate) frames: u64,
    pub(crate) chunks: u64,
    /// The number of chunks that are missing or damaged.
    pub(crate) damaged: u64,
    /// The number of damaged or missing chunks, of unreadable files and of frames that cannot be listed.
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
    /// Whether to list only chunks that are missing or damaged.
    pub(crate) damaged: bool,
}

/// The pieces of output about some chunks, and the counts of these chunks.
type Listed = (Vec<Piece>, ChunkTotals);

/// Collects the list of chunks. When the lines exceed `LINES_LEN`, they are passed to `pass`, which prints them.
pub(crate) struct ChunkList<'p> {
    wanted: WantedChunks,
    pass: &'p mut PassPart<'p, Listed>,
    pieces: Vec<Piece>,
    lines: Vec<u8>,
    totals: ChunkTotals,
    /// How often pieces were passed to `pass`.
    passes: u64,
}

/// The problem that ended a list.
struct Unlisted {
    problem: Problem,
    /// Whether the list can be started again: a writer was changing the file, and no piece of the list was passed on
    /// yet.
    is_repeatable: bool,
}

impl HasProblem for Unlisted {
    fn problem(&self) -> Option<&Problem> {
        self.is_repeatable.then_some(&self.problem)
    }
}

impl<'p> ChunkList<'p> {
    pub(crate) fn new(wanted: WantedChunks, pass: &'p mut PassPart<'p, Listed>) -> Self {
        Self {
            wanted,
            pass,
            pieces: Vec::new(),
            lines: Vec::new(),
            totals: ChunkTotals::default(),
            passes: 0,
        }
    }

    /// Adds a piece of output after the lines that were collected so far.
    fn add(&mut self, piece: Piece) {
        self.pieces.extend([Piece::Lines(mem::take(&mut self.lines)), piece]);
    }

    pub(crate) fn end(&mut self) -> Listed {
        self.pieces.push(Piece::Lines(mem::take(&mut self.lines)));
        (mem::take(&mut self.pieces), mem::take(&mut self.totals))
    }

    pub(crate) fn fail(&mut self, failure: Failure) {
        self.totals.failures += 1;
        if self.wanted.json { add_line(&mut self.lines, &failure) } else { self.add(Piece::Failure(failure)) }
    }

    /// Lists the chunks of a frame, followed by the error that ended the list, if any.
    pub(crate) fn take(
        &mut self,
        location: Location<'_>,
        frame: Frame<Reader>,
        is_embedded: bool,
        has_heading: bool,
    ) {
        self.totals.frames += 1;
        // The library opens the chunk files by the path of their folder. A URL is not a path, so a sparse frame at a
        // URL is refused.
        if frame.header().is_sparse() && matches!(location.inside, Inside::Url(_)) {
            let message = "the chunk files of a sparse frame are read only from a folder; copy it to one";
            return self.fail(location.failure(Problem::new(code::INVALID_INPUT, message)));
        }
        self.pieces.push(Piece::Lines(mem::take(&mut self.lines)));
        let (pieces, totals, passes) = (self.pieces.len(), self.totals, self.passes);
        let mut frame = Some(frame);
        let listed = while_changing(|| {
            let frame = frame.take().map_or_else(|| Address::from(location).open(), Ok);
            let listed = frame.and_then(|frame| self.take_once(location, &frame, is_embedded, has_heading));
            listed.map_err(|problem| {
                let is_repeatable = problem.code == code::CHANGING && self.passes == passes;
                if is_repeatable {
                    self.pieces.truncate(pieces);
                    self.lines.clear();
                    self.totals = totals;
                }
                Unlisted { problem, is_repeatable }
            })
        });
        if let Err(Unlisted { problem, .. }) = listed {
            self.fail(location.failure(problem));
        }
    }

    fn take_once(
        &mut self,
        location: Location<'_>,
        frame: &Frame<Reader>,
        is_embedded: bool,
        has_heading: bool,
    ) -> Result<(), Problem> {
        let WantedChunks { json, damaged } = self.wanted;
        let mut heading = (has_heading && !json).then(|| Piece::Heading(location.to_string()));
        // With --damaged, a frame has a heading only if it has a damaged chunk.
        if !damaged {
            heading.take().into_iter().for_each(|heading| self.add(heading));
        }
        // With --damaged, a frame is skipped if all its chunks are special. A special chunk has no bytes in the file,
        // so it cannot be damaged. The skip saves time, because a file of a few bytes can claim 268 million special
        // chunks.
        if damaged
            && let Ok(counts) = frame.count_chunks()
            && counts.stored + counts.invalid == 0
        {
            self.totals.chunks += counts.total();
            return Ok(());
        }
        let listed = ListedFrame {
            location,
            header: frame.header().clone(),
            geometry: frame.array().ok().flatten().and_then(|array| array.geometry().ok()),
            start: (!is_embedded).then_some(frame.offset()),
            folder: frame.path().and_then(Path::parent).map(Path::to_path_buf),
        };
        Ok(frame.chunks().and_then(|chunks| self.list(&listed, chunks, heading))?)
    }

    fn list(
        &mut self,
        frame: &ListedFrame<'_>,
        mut chunks: Chunks<'_, Reader>,
        mut heading: Option<Piece>,
    ) -> Result<(), Error> {
        let WantedChunks { json, damaged } = self.wanted;
        let count = chunks.size_hint().1.unwrap_or(usize::MAX) as u64;
        let columns = frame.columns(count);
        let mut headings = (!json && count > 0).then(|| columns.line(&COLUMNS.map(|(heading, _)| heading)));
        let mut is_empty = true;
        while let Some(entry) = chunks.next().transpose()? {
            let record = frame.record(&mut chunks, &entry)?;
            is_empty = false;
            self.totals.chunks += 1;
            let is_damaged = record.kind == "invalid" || record.error.is_some();
            self.totals.damaged += u64::from(is_damaged);
            self.totals.failures += u64::from(is_damaged);
            if damaged && !is_damaged {
                continue;
            }
            heading.take().into_iter().for_each(|heading| self.add(heading));
            if json {
                add_line(&mut self.lines, &record);
            } else {
                for line in headings.take().into_iter().chain([columns.line(&record.cells())]) {
                    self.lines.extend(line.bytes().chain(*b"\n"));
                }
                if let Some(problem) = record.error {
                    self.add(Piece::Failure(frame.location.failure(problem)));
                }
            }
            if self.lines.len() > LINES_LEN {
                let listed = self.end();
                self.passes += 1;
                if (self.pass)(listed).is_break() {
                    return Ok(());
                }
            }
        }
        if is_empty && !json && !damaged {
            self.lines.extend(b"no chunks\n");
        }
        Ok(())
    }
}

/// The frame whose chunks are listed.
struct ListedFrame<'f> {
    location: Location<'f>,
    header: Header,
    geometry: Option<Geometry>,
    /// The offset of the frame in its file; `None` if the frame is in the compressed data of a store.
    start: Option<u64>,
    /// For a sparse frame, the folder that contains the chunk files.
    folder: Option<PathBuf>,
}

impl ListedFrame<'_> {
    /// Columns that are wide enough for every line. The widths must be known before the first line, because the lines
    /// are printed one by one.
    fn columns(&self, count: u64) -> Columns {
        let mut columns =
            Columns::new(COLUMNS.map(|(_, side)| (side, usize::MAX))).within(width(&io::stdout()));
        columns.fit(&COLUMNS.map(|(heading, _)| heading));
        // The last chunk has the longest number and coordinate.
        let last = count.saturating_sub(1);
        let corner = self.coordinate(last).map_or(String::new(), |corner| Tuple(&corner).to_string());
        let end = self.header.frame_len.saturating_add(self.start.unwrap_or_default());
        let place = if self.header.is_sparse() { "00000000.chunk".into() } else { end.to_string() };
        // A stored chunk can be longer than its decompressed data, but only by less than 64 bytes (the length of two
        // chunk headers). If the chunks have different sizes, `chunksize` is 0. Then the size of a chunk can be
        // anything up to the size of all chunks together.
        let chunksize = u64::from(self.header.chunksize.max(0).unsigned_abs());
        let nbytes = if chunksize > 0 { chunksize } else { self.header.nbytes.unsigned_abs() };
        let longest = nbytes.saturating_add(64).to_string();
        // Some names of kinds are longer than `stored`. But such a name is the last text in its line, because the next
        // column has the codec, and only stored chunks have a codec. So the column needs only the width of `stored`.
        columns.fit(&[&last.to_string(), &corner, &place, &longest, &longest, "stored", ""]);
        columns
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
        // Codec and filters are shown only for a chunk with compressed data. Uncompressed and special chunks have no
        // codec and no filters. If a chunk has no valid header, its codec and filters are not known.
        let compressed = found.filter(|found| !found.is_uncompressed() && found.special().is_none());
        Ok(ChunkRecord {
            location: self.location,
            chunk: entry.number,
            coordinate: self.coordinate(entry.number),
            file: file.as_deref().map(|file| file.to_string_lossy().into_owned()),
            file_bytes: file.as_deref().and_then(path_hex),
            file_name: entry.file_name(),
            offset,
            cbytes: found.map(|found| found.cbytes()),
            nbytes: found.map(|found| found.nbytes() as u64).or(entry.nbytes),
            kind,
            typesize: found.map(|found| found.typesize()),
            blocksize: found.filter(|found| !found.has_variable_blocks()).map(|found| found.blocksize()),
            codec: compressed.map(|found| found.codec().unwrap_or(self.header.codec).to_string()),
            filters: FilterNames::new(
                compressed.map(|found| found.filters().into_iter().filter(|filter| filter.id != 0)),
            ),
            error,
        })
    }

    fn coordinate(&self, number: u64) -> Option<Vec<u64>> {
        Some(self.geometry.as_ref()?.chunk(number)?.coordinate().to_vec())
    }
}

/// Returns the kind of a chunk. If the chunk has a valid header, also returns this header. If the chunk is damaged or
/// missing, also returns the problem.
fn read(
    chunks: &mut Chunks<'_, Reader>,
    entry: &ChunkEntry,
) -> Result<(&'static str, Option<ChunkHeader>, Option<Problem>), Error> {
    Ok(match entry.place {
        ChunkPlace::Special(special) => (special.name(), None, None),
        ChunkPlace::Frame(_) | ChunkPlace::File(_) => match chunks.checked_header(entry) {
            Ok(header) => {
                let special = header.as_ref().and_then(ChunkHeader::special);
                (special.map_or("stored", SpecialValue::name), header, None)
            }
            Err(error) if error.kind() == ErrorKind::Changing => return Err(error),
            Err(error) => match error.finding().map(Finding::code) {
                Some(FindingCode::ChunkFile) => ("missing", None, Some(error.into())),
                Some(_) => ("damaged", None, Some(error.into())),
                // An error that is not a finding, such as an error of reading, ends the list.
                None => return Err(error),
            },
        },
        _ => ("invalid", None, None),
    })
}
