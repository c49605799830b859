//! `b2nd chunks`: where each chunk is, and how it is stored.

use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::process::ExitCode;

use b2nd_frame::Frame;
use clap::Args;

use crate::input::{Address, Failure, Found, Inside, Paths, Reader, Stores, Visit, is_passed_over};
use crate::output::chunks::{ChunkTotals, Piece, WantedChunks, list};
use crate::problem::Problem;
use crate::remote;
use crate::terminal::{BOLD, Outcome, Progress, remark};
use crate::text::count;

/// List chunks: where each one is, and how it is stored
///
/// One line per chunk: its number, its coordinate in the grid of chunks, its offset in the file, its stored and
/// decompressed size, and its kind. Chunks of kind zeros, nan or uninitialized have no bytes in the file; a chunk of
/// kind value stores its value once. Unless a single frame is given, the address of each frame is above its chunks.
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd chunks array.b2nd
  b2nd chunks --damaged data/
  b2nd chunks --json data/ | jq -c '[.file, .offset, .cbytes]'")]
pub(crate) struct Chunks {
    #[command(flatten)]
    paths: Paths,
    /// List only chunks with a damaged header, or missing ones
    #[arg(long)]
    damaged: bool,
    /// Print a JSON object for each chunk or failure, one per line
    #[arg(long)]
    json: bool,
}

/// The maximum number of chunks of a batch that are read in advance and kept in memory until they are printed. The
/// chunks of a frame beyond this limit are read while they are printed.
const MOST_HELD_BACK: u64 = 4096;

/// A step of a batch's output, in order.
enum Step {
    Piece(Piece),
    /// A frame that is listed when it is its turn, below this heading. Only the first of a batch stays open, to bound
    /// the number of open files.
    Frame(FrameAt, Option<String>, Option<Box<Frame<Reader>>>),
}

/// The address of a frame.
struct FrameAt {
    address: Address,
    /// The offset of a zip member, so that the zip directory is not read again.
    offset: Option<u64>,
    /// Whether the frame is in the data of a store, so that its chunks have no place in a file. Set by `open`.
    is_embedded: bool,
}

impl FrameAt {
    fn new(address: Address, offset: Option<u64>) -> Self {
        Self { address, offset, is_embedded: false }
    }

    fn open(&mut self) -> Result<Frame<Reader>, Problem> {
        let Some(offset) = self.offset else {
            let (frame, is_embedded) = self.address.open_with_place()?;
            self.is_embedded = is_embedded;
            return Ok(frame);
        };
        let path = self.address.path.as_path();
        let reader: Reader = match self.address.inside {
            Inside::Url(_) => Box::new(remote::open(path)?),
            _ => Box::new(File::open(path)?),
        };
        Ok(Frame::read_at(reader, offset)?)
    }
}

/// The output and the counts of a batch of files.
struct ChunkBatch {
    wanted: WantedChunks,
    /// Whether a single frame is given, whose address need not be shown.
    is_one: bool,
    steps: Vec<Step>,
    /// The number of frames and chunks in `steps`.
    held_back: u64,
    /// Whether a step holds an open frame.
    has_open: bool,
    totals: ChunkTotals,
}

impl Chunks {
    pub(crate) fn run(self) -> Outcome {
        let Self { paths, damaged, json } = self;
        let is_one = paths.given().len() == 1;
        let wanted = WantedChunks { json, damaged };
        let work = |targets: Vec<Found>| {
            let (steps, totals) = (Vec::new(), ChunkTotals::default());
            let mut batch = ChunkBatch { wanted, is_one, steps, held_back: 0, has_open: false, totals };
            for target in targets {
                batch.take(target);
            }
            batch
        };
        let mut printer = ChunkPrinter { wanted, is_first: true, progress: Progress::of_chunks() };
        let mut all = ChunkTotals::default();
        // A store has no chunks, but the files in its folder do.
        paths.visit(Stores::Folders, true, work, |batch| {
            all.add(batch.totals);
            for step in batch.steps {
                match step {
                    Step::Piece(piece) => printer.print(piece)?,
                    Step::Frame(mut at, heading, frame) => all.add(printer.list(&mut at, heading, frame)?),
                }
            }
            printer.progress.show(all.chunks);
            Ok(())
        })?;
        printer.progress.end();
        if all.frames + all.failures == 0 {
            remark(&"no frame found");
        } else if damaged && !json {
            let chunks = count(all.chunks, "chunk");
            remark(&format_args!("{} of {chunks} with a damaged header, or missing", all.damaged));
        }
        Ok(if all.failures > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// The printer, which gets the batches in turn.
struct ChunkPrinter {
    wanted: WantedChunks,
    is_first: bool,
    progress: Progress,
}

impl ChunkPrinter {
    fn print(&mut self, piece: Piece) -> io::Result<()> {
        match piece {
            Piece::Heading(address) => {
                let before = if mem::take(&mut self.is_first) { "" } else { "\n" };
                writeln!(anstream::stdout(), "{before}{BOLD}{address}:{BOLD:#}")
            }
            // JSON has no colours to strip.
            Piece::Lines(lines) if self.wanted.json => io::stdout().write_all(&lines),
            Piece::Lines(lines) => anstream::stdout().write_all(&lines),
            Piece::Failure(failure) => {
                // Standard output must not be behind standard error.
                io::stdout().flush()?;
                self.progress.complain(&failure);
                Ok(())
            }
        }
    }

    /// Lists the chunks of a deferred frame.
    fn list(
        &mut self,
        at: &mut FrameAt,
        heading: Option<String>,
        frame: Option<Box<Frame<Reader>>>,
    ) -> io::Result<ChunkTotals> {
        let opened = frame.map_or_else(|| at.open(), |frame| Ok(*frame));
        let (location, wanted) = (at.address.location(), self.wanted);
        match opened {
            Ok(mut frame) => {
                list(location, heading, &mut frame, at.is_embedded, wanted, &mut |piece| self.print(piece))
            }
            Err(problem) => {
                self.print(Piece::of(location.failure(problem), wanted.json))?;
                Ok(ChunkTotals { failures: 1, ..ChunkTotals::default() })
            }
        }
    }
}

impl ChunkBatch {
    /// Lists the frames of a file, or defers them.
    fn take(&mut self, target: Found) {
        let target = match target {
            Ok(target) => target,
            Err(failure) => return self.fail(failure),
        };
        let is_one = self.is_one && target.is_given();
        let mut at = FrameAt::new(Address::from(target.location()), None);
        match at.open() {
            Ok(frame) => self.take_frame(at, frame, is_one),
            // The order matters: a file of another program is skipped, and a member or an offset can only be a frame.
            Err(problem) if is_passed_over(&target, &problem) => {}
            Err(problem) if target.inside != Inside::Whole && !target.is_zip_object() => {
                self.fail(target.location().failure(problem));
            }
            // It may be a zip file, or no frame at all.
            Err(_) => Visit::default().target(&target, &mut |view| match view {
                Ok(view) => {
                    let address = Address::from(view.location);
                    let offset = view.location.member().map(|_| view.offset);
                    let mut at = FrameAt::new(address, offset);
                    match at.open() {
                        Ok(frame) => self.take_frame(at, frame, false),
                        Err(problem) => self.fail(view.location.failure(problem)),
                    }
                }
                Err(failure) => self.fail(failure),
            }),
        }
    }

    fn take_frame(&mut self, at: FrameAt, mut frame: Frame<Reader>, is_one: bool) {
        let location = at.address.location();
        self.totals.frames += 1;
        let heading = (!self.wanted.json && !is_one).then(|| location.to_string());
        // The library finds the chunk files by the path of their folder.
        if frame.header().is_sparse() && matches!(location.inside, Inside::Url(_)) {
            let message = "the chunk files of a sparse frame are read only from a folder; copy it to one";
            return self.fail(location.failure(Problem::new("invalid-input", message)));
        }
        let count = frame.header().nchunks();
        // If chunks differ in length, only the chunk index has their number.
        let count = count.or_else(|| Some(frame.chunks().ok()?.size_hint().1? as u64));
        // The frame counts too, because a batch can have any number of empty frames.
        let held_back = self.held_back.saturating_add(count.unwrap_or_default()).saturating_add(1);
        if held_back > MOST_HELD_BACK {
            let open = (!mem::replace(&mut self.has_open, true)).then(|| frame.into());
            return self.steps.push(Step::Frame(at, heading, open));
        }
        self.held_back = held_back;
        let listed = list(location, heading, &mut frame, at.is_embedded, self.wanted, &mut |piece| {
            self.steps.push(Step::Piece(piece));
            Ok(())
        });
        self.totals.add(listed.unwrap_or_default());
    }

    fn fail(&mut self, failure: Failure) {
        self.totals.failures += 1;
        self.steps.push(Step::Piece(Piece::of(failure, self.wanted.json)));
    }
}
