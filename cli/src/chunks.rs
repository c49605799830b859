//! `b2nd chunks`: where each chunk is, and how it is stored.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::path::Path;
use std::process::ExitCode;

use b2nd_frame::{ChunkEntry, ChunkHeader, ChunkPlace, Chunks, Code, Error, Finding, Frame, Special};
use b2nd_serde::Geometry;
use clap::Args;
use serde::Serialize;

use crate::address::{Address, Inside, Location, bytes_of};
use crate::failure::{Failure, Problem};
use crate::input::{Paths, Stores, Target};
use crate::json::{Filters, add_line, line};
use crate::output::{BOLD, Outcome, Progress, remark, width};
use crate::pool::Pool;
use crate::remote;
use crate::source::Reader;
use crate::table::{Columns, Side};
use crate::text::Tuple;
use crate::visit;

/// List the chunks of frames: where each one is, and how it is stored
///
/// One line per chunk: its number, its coordinate in the grid of chunks, where it begins in the file, its length there and
/// decompressed, and its kind. A chunk of the kinds zeros, nan and uninitialized has no bytes in the file, one of the kind
/// value has its value once. Unless a single frame is given, the address of each frame is above its chunks.
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd chunks array.b2nd
  b2nd chunks --json data/ | jq -c '[.file, .offset, .cbytes]'")]
pub(crate) struct ChunkList {
    #[command(flatten)]
    paths: Paths,
    /// Print a JSON object for each chunk or failure, one per line
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
    typesize: Option<u8>,
    /// `None` too if blocks have different sizes.
    blocksize: Option<usize>,
    /// `None`, as the filters, if it is not compressed.
    codec: Option<String>,
    #[serde(flatten)]
    filters: Filters,
    /// What is wrong, if it is damaged or missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Problem>,
}

const HEAD: [&str; 7] = ["chunk", "coordinate", "offset", "cbytes", "nbytes", "kind", "codec"];
const SIDES: [Side; 7] =
    [Side::Right, Side::Left, Side::Right, Side::Right, Side::Right, Side::Left, Side::Left];

/// A frame that would bring a file to more chunks is listed in its turn, so that memory does not depend on their number.
const MOST_HELD_BACK: u64 = 4096;

/// Lines are passed on when they have this many bytes.
const LINES_LEN: usize = 1 << 16;

/// What is printed of some files, one after the other.
enum Part {
    /// The address of a frame.
    Heading(String),
    Lines(Vec<u8>),
    Failure(Failure),
    /// A frame that is listed in its turn. Only the first of a file stays open until then.
    Frame(Place, Option<Box<Frame<Reader>>>),
}

/// Where a frame is.
struct Place {
    address: Address,
    /// That of a member of a zip file, whose directory is not read again.
    offset: Option<u64>,
}

/// What was found in some files.
#[derive(Default)]
struct Batch {
    parts: Vec<Part>,
    /// How many frames and chunks these parts have.
    held_back: u64,
    /// Whether one of them has a frame that stays open.
    has_open: bool,
    tally: Tally,
}

/// What the exit status and the progress depend on.
#[derive(Clone, Copy, Default)]
struct Tally {
    frames: u64,
    chunks: u64,
    /// Files that cannot be read, and chunks that are missing or damaged.
    failures: u64,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.frames += other.frames;
        self.chunks += other.chunks;
        self.failures += other.failures;
    }
}

impl ChunkList {
    pub(crate) fn run(self) -> Outcome {
        let Self { paths, json } = self;
        let is_one = paths.given().len() == 1;
        let pool = Pool { jobs: paths.jobs(), is_ordered: !paths.unordered, is_slow: true };
        let work = |targets: Vec<Result<Target, Failure>>| {
            let mut batch = Batch::default();
            for target in targets {
                batch.take(target, json, is_one);
            }
            batch
        };
        let mut progress = Progress::of_chunks();
        let mut all = Tally::default();
        let mut is_first = true;
        pool.run(paths.targets(Stores::Folders), work, |batch| {
            all.add(batch.tally);
            // JSON has no colours to be taken out.
            let mut stdout: Box<dyn Write> =
                if json { Box::new(io::stdout().lock()) } else { Box::new(anstream::stdout().lock()) };
            let mut print = |part| match part {
                Part::Heading(address) => {
                    let before = if mem::take(&mut is_first) { "" } else { "\n" };
                    writeln!(stdout, "{before}{BOLD}{address}:{BOLD:#}")
                }
                Part::Lines(lines) => stdout.write_all(&lines),
                Part::Failure(failure) => {
                    stdout.flush()?;
                    progress.complain(&failure);
                    Ok(())
                }
                Part::Frame(..) => Ok(()),
            };
            for part in batch.parts {
                match part {
                    Part::Frame(place, frame) => {
                        let location = place.address.location();
                        match frame.map_or_else(|| place.open(), |frame| Ok(*frame)) {
                            Ok(mut frame) => all.add(list(location, &mut frame, json, &mut print)?),
                            Err(problem) => {
                                all.failures += 1;
                                print(Part::of(location.failure(problem), json))?;
                            }
                        }
                    }
                    part => print(part)?,
                }
            }
            drop(stdout);
            progress.show(all.chunks);
            Ok(())
        })?;
        progress.end();
        if all.frames + all.failures == 0 {
            remark(&"no frame found");
        }
        Ok(if all.failures > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

impl Batch {
    /// Lists the frames of a file.
    fn take(&mut self, target: Result<Target, Failure>, json: bool, is_one: bool) {
        let target = match target {
            Ok(target) => target,
            Err(failure) => return self.fail(failure, json),
        };
        let is_one = is_one && target.is_given;
        let place = Place { address: Address::from(target.location()), offset: None };
        match place.open() {
            Ok(frame) => self.take_frame(place, frame, json, is_one),
            Err(problem) if visit::is_passed_over(&target, &problem) => {}
            Err(problem) if target.inside != Inside::Whole && !target.is_zip_object() => {
                self.fail(target.location().failure(problem), json);
            }
            // It may be a zip file, or no frame at all.
            Err(_) => visit::Options::default().visit_target(&target, &mut |view| match view {
                Ok(view) => {
                    let address = Address::from(view.location);
                    let offset = view.location.member().map(|_| view.offset);
                    let place = Place { address, offset };
                    match place.open() {
                        Ok(frame) => self.take_frame(place, frame, json, false),
                        Err(problem) => self.fail(view.location.failure(problem), json),
                    }
                }
                Err(failure) => self.fail(failure, json),
            }),
        }
    }

    fn take_frame(&mut self, place: Place, mut frame: Frame<Reader>, json: bool, is_one: bool) {
        let address = &place.address;
        self.tally.frames += 1;
        if !json && !is_one {
            self.parts.push(Part::Heading(address.location().to_string()));
        }
        if frame.header().is_sparse() && matches!(address.inside, Inside::Url(_)) {
            let message = "the chunk files of a sparse frame are read only from a folder; copy it to one";
            return self.fail(address.location().failure(Problem::new("refused", message)), json);
        }
        let count = frame.header().nchunks();
        // Where chunks differ in length, only the index says how many there are.
        let count = count.or_else(|| Some(frame.chunks().ok()?.size_hint().1? as u64));
        let held_back = self.held_back.saturating_add(count.unwrap_or_default()).saturating_add(1);
        if held_back > MOST_HELD_BACK {
            let open = (!mem::replace(&mut self.has_open, true)).then(|| frame.into());
            return self.parts.push(Part::Frame(place, open));
        }
        self.held_back = held_back;
        let listed = list(address.location(), &mut frame, json, &mut |part| {
            self.parts.push(part);
            Ok(())
        });
        self.tally.add(listed.unwrap_or_default());
    }

    fn fail(&mut self, failure: Failure, json: bool) {
        self.tally.failures += 1;
        self.parts.push(Part::of(failure, json));
    }
}

impl Place {
    fn open(&self) -> Result<Frame<Reader>, Problem> {
        let Some(offset) = self.offset else { return self.address.open() };
        let path = self.address.path.as_path();
        let reader = match self.address.inside {
            Inside::Url(_) => Reader::Object(remote::open(path)?),
            _ => Reader::File(File::open(path)?),
        };
        Ok(Frame::read_at(reader, offset)?)
    }
}

impl Part {
    fn of(failure: Failure, json: bool) -> Self {
        if json { Self::Lines(line(&failure)) } else { Self::Failure(failure) }
    }
}

/// Takes what is printed.
type Print<'p> = dyn FnMut(Part) -> io::Result<()> + 'p;

/// Lists the chunks of a frame, and why not all of them can be listed.
fn list(
    location: Location<'_>,
    frame: &mut Frame<Reader>,
    json: bool,
    print: &mut Print<'_>,
) -> io::Result<Tally> {
    let mut tally = Tally::default();
    if let Err(error) = list_chunks(location, frame, json, &mut tally, print)? {
        tally.failures += 1;
        print(Part::of(location.failure(error), json))?;
    }
    Ok(tally)
}

fn list_chunks(
    location: Location<'_>,
    frame: &mut Frame<Reader>,
    json: bool,
    tally: &mut Tally,
    print: &mut Print<'_>,
) -> io::Result<Result<(), Error>> {
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
    let mut lines = Vec::new();
    if !json && count > 0 {
        writeln!(lines, "{}", columns.line(&HEAD.map(Into::into)))?;
    }
    let result = loop {
        let entry = match chunks.next().transpose() {
            Ok(Some(entry)) => entry,
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        };
        let (kind, found) = match kind(&mut chunks, &entry) {
            Ok(found) => found,
            Err(error) => break Err(error),
        };
        let (found, error) = match found {
            Ok(found) => (found, None),
            Err(problem) => (None, Some(problem)),
        };
        tally.chunks += 1;
        tally.failures += u64::from(kind == "invalid" || error.is_some());
        let (file, offset) = match (entry.place, entry.file_name(), &folder) {
            (ChunkPlace::Frame(start), ..) => {
                (Some(Cow::Borrowed(location.path)), Some(start_of_frame.saturating_add(start)))
            }
            (_, Some(name), Some(folder)) => (Some(Cow::Owned(folder.join(name))), Some(0)),
            _ => (None, None),
        };
        let compressed = found.filter(|found| !found.is_uncompressed && found.special.is_none());
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
            typesize: found.map(|found| found.typesize),
            blocksize: found.filter(|found| !found.has_variable_blocks).map(|found| found.blocksize),
            codec: compressed.map(|found| found.codec.unwrap_or(header.codec).to_string()),
            filters: Filters::of(
                compressed.map(|found| found.filters.into_iter().filter(|filter| filter.id != 0)),
            ),
            error,
        };
        if json {
            add_line(&mut lines, &record);
        } else {
            writeln!(lines, "{}", columns.line(&cells(&record, entry.file_name())))?;
            if let Some(problem) = record.error {
                // What was listed before it comes first.
                print(Part::Lines(mem::take(&mut lines)))?;
                print(Part::Failure(location.failure(problem)))?;
            }
        }
        if lines.len() > LINES_LEN {
            print(Part::Lines(mem::take(&mut lines)))?;
        }
    };
    if !json && result.is_ok() && tally.chunks == 0 {
        writeln!(lines, "no chunks")?;
    }
    print(Part::Lines(lines))?;
    Ok(result)
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
    let mut columns = Columns::new(SIDES, [usize::MAX; 7]).within(width(&io::stdout()));
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
