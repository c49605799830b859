//! `b2nd chunks`: where each chunk is, and how it is stored.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use b2nd_serde::Geometry;
use b2nd_serde::frame::{ChunkEntry, ChunkHeader, ChunkPlace, Chunks, Code, Error, Finding, Frame, Special};
use clap::Args;
use serde::Serialize;

use crate::address::{Address, Location, bytes_of, given_all};
use crate::failure::{Failure, Problem};
use crate::json::add_line;
use crate::output::{Outcome, complain};
use crate::source::Reader;
use crate::table::{Columns, Side};
use crate::text::Tuple;

/// List the chunks of a frame: where each one is, and how it is stored
///
/// One line per chunk: its number, its coordinate in the grid of chunks, where it begins in the file, its length there and
/// decompressed, and its kind. A chunk of the kinds zeros, nan and uninitialized has no bytes in the file, one of the kind
/// value has its value once.
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd chunks array.b2nd
  b2nd chunks --json array.b2nd | jq -c 'select(.kind == \"stored\") | [.file, .offset, .cbytes]'")]
pub(crate) struct ChunkList {
    /// Frame: FILE, sparse frame (directory), `FILE:MEMBER`, `FILE@OFFSET`, or - (standard input)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print a JSON object for each chunk, one per line
    #[arg(long)]
    json: bool,
}

/// A chunk. Scripts rely on these names.
#[derive(Serialize)]
struct ChunkRecord<'c> {
    #[serde(flatten)]
    location: Location<'c>,
    chunk: u64,
    coordinate: Option<Vec<u64>>,
    /// The file that has the chunk; `None` if there is nothing to read.
    file: Option<Cow<'c, str>>,
    /// Of a path that is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    file_bytes: Option<String>,
    /// Where it begins in that file.
    offset: Option<u64>,
    cbytes: Option<usize>,
    nbytes: Option<u64>,
    kind: &'static str,
    codec: Option<String>,
    /// What is wrong, if it is damaged or missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Problem>,
}

const HEAD: [&str; 7] = ["chunk", "coordinate", "offset", "cbytes", "nbytes", "kind", "codec"];
const SIDES: [Side; 7] =
    [Side::Right, Side::Left, Side::Right, Side::Right, Side::Right, Side::Left, Side::Left];

impl ChunkList {
    pub(crate) fn run(self) -> Outcome {
        let [address] = given_all([&self.file]);
        let mut stdout = BufWriter::new(anstream::stdout().lock());
        let result = match open(&address) {
            Ok(mut frame) => {
                let location = address.location();
                self.list(location, &mut frame, &mut stdout)?.map_err(|error| location.failure(error))
            }
            Err(failure) => Err(failure),
        };
        if let Err(failure) = &result {
            self.show(failure, &mut stdout)?;
        }
        stdout.flush()?;
        Ok(if matches!(result, Ok(true)) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn show(&self, failure: &Failure, stdout: &mut impl Write) -> io::Result<()> {
        if self.json {
            let mut line = Vec::new();
            add_line(&mut line, failure);
            return stdout.write_all(&line);
        }
        // What was listed before it comes first.
        stdout.flush()?;
        complain(failure);
        Ok(())
    }

    /// Whether all chunks are as they should be; or why they cannot be listed.
    fn list(
        &self,
        location: Location<'_>,
        frame: &mut Frame<Reader>,
        stdout: &mut impl Write,
    ) -> io::Result<Result<bool, Error>> {
        let geometry = frame.array().ok().flatten().and_then(|array| array.geometry().ok());
        let header = frame.header().clone();
        let start_of_frame = frame.offset();
        let folder = frame.path().and_then(Path::parent).map(Path::to_path_buf);
        let nbytes = header.chunksize.max(0).unsigned_abs().into();
        let mut chunks = match frame.chunks() {
            Ok(chunks) => chunks,
            Err(error) => return Ok(Err(error)),
        };
        let count = chunks.size_hint().1.unwrap_or(usize::MAX) as u64;
        let place = if header.is_sparse() {
            "00000000.chunk".into()
        } else {
            header.frame_len.saturating_add(start_of_frame).to_string()
        };
        let columns = columns(count, geometry.as_ref(), place, nbytes);
        if !self.json && count > 0 {
            writeln!(stdout, "{}", columns.line(&HEAD.map(Into::into)))?;
        }
        let mut is_fine = true;
        let mut line = Vec::new();
        loop {
            let entry = match chunks.next().transpose() {
                Ok(Some(entry)) => entry,
                Ok(None) => return Ok(Ok(is_fine)),
                Err(error) => return Ok(Err(error)),
            };
            let (kind, found) = match kind(&mut chunks, &entry) {
                Ok(found) => found,
                Err(error) => return Ok(Err(error)),
            };
            let (found, error) = match found {
                Ok(found) => (found, None),
                Err(problem) => (None, Some(problem)),
            };
            is_fine &= kind != "invalid" && error.is_none();
            let (file, offset) = match (entry.place, entry.file_name(), &folder) {
                (ChunkPlace::Frame(start), ..) => {
                    (Some(Cow::Borrowed(location.path)), Some(start_of_frame.saturating_add(start)))
                }
                (_, Some(name), Some(folder)) => (Some(Cow::Owned(folder.join(name))), Some(0)),
                _ => (None, None),
            };
            let is_compressed = |found: &ChunkHeader| !found.is_uncompressed && found.special.is_none();
            let record = ChunkRecord {
                location,
                chunk: entry.number,
                coordinate: geometry.as_ref().and_then(|geometry| coordinate(geometry, entry.number)),
                file: file.as_deref().map(Path::to_string_lossy),
                file_bytes: file.as_deref().and_then(bytes_of),
                offset,
                cbytes: found.map(|found| found.cbytes),
                nbytes: found.map(|found| found.nbytes as u64).or(entry.nbytes),
                kind,
                codec: found
                    .filter(is_compressed)
                    .map(|found| found.codec.unwrap_or(header.codec).to_string()),
                error,
            };
            if self.json {
                line.clear();
                add_line(&mut line, &record);
                stdout.write_all(&line)?;
            } else {
                writeln!(stdout, "{}", columns.line(&cells(&record, entry.file_name())))?;
                if let Some(problem) = record.error {
                    self.show(&location.failure(problem), stdout)?;
                }
            }
        }
    }
}

fn open(address: &Address) -> Result<Frame<Reader>, Failure> {
    address.open().map_err(|problem| address.location().failure(problem))
}

/// The kind of a chunk, and its header if that is as it should be, or what is wrong with it.
fn kind(
    chunks: &mut Chunks<'_, Reader>,
    entry: &ChunkEntry,
) -> Result<(&'static str, Result<Option<ChunkHeader>, Problem>), Error> {
    Ok(match entry.place {
        ChunkPlace::Special(special) => (special.name(), Ok(None)),
        ChunkPlace::Frame(_) | ChunkPlace::File(_) => match chunks.checked_header(entry) {
            Ok(header) => {
                let special = header.as_ref().and_then(|header| header.special);
                (special.map_or("stored", Special::name), Ok(header))
            }
            Err(error) => match error.finding().map(Finding::code) {
                Some(Code::ChunkFile) => ("missing", Err(error.into())),
                Some(_) => ("damaged", Err(error.into())),
                None => return Err(error),
            },
        },
        _ => ("invalid", Ok(None)),
    })
}

fn coordinate(geometry: &Geometry, number: u64) -> Option<Vec<u64>> {
    Some(geometry.chunk(number)?.coordinate().to_vec())
}

/// Columns that are wide enough for all lines, which are printed one by one.
fn columns(count: u64, geometry: Option<&Geometry>, place: String, nbytes: u64) -> Columns<7> {
    let mut columns = Columns::new(SIDES, [usize::MAX; 7]);
    columns.fit(&HEAD.map(Into::into));
    let last = count.saturating_sub(1);
    let corner = geometry.and_then(|geometry| coordinate(geometry, last));
    let corner = corner.map_or(String::new(), |corner| Tuple(&corner).to_string());
    let longest = (nbytes + 64).to_string();
    let cells = [last.to_string(), corner, place, longest.clone(), longest];
    let [number, corner, offset, cbytes, nbytes] = cells;
    columns.fit(&[number, corner, offset, cbytes, nbytes, "stored".into(), String::new()]);
    columns
}

fn cells(record: &ChunkRecord<'_>, file: Option<String>) -> [String; 7] {
    let number = |number: Option<u64>| number.map_or("-".into(), |number| number.to_string());
    [
        record.chunk.to_string(),
        record.coordinate.as_deref().map_or("-".into(), |coordinate| Tuple(coordinate).to_string()),
        file.unwrap_or_else(|| number(record.offset)),
        number(record.cbytes.map(|cbytes| cbytes as u64)),
        number(record.nbytes),
        record.kind.into(),
        record.codec.clone().unwrap_or_default(),
    ]
}
