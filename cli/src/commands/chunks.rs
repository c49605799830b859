//! `b2nd chunks`: where each chunk is, and how it is stored.

use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::process::ExitCode;

use b2nd_frame::Frame;
use clap::Args;

use crate::input::{Address, Found, Inside, Paths, Reader, Stores, Target, View, Visit, is_passed_over};
use crate::output::chunks::{ChunkList, ChunkTotals, Piece, WantedChunks};
use crate::pool::PassPart;
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
    /// List only missing chunks and chunks with a damaged header
    #[arg(long)]
    damaged: bool,
    /// Print a JSON object for each chunk or failure, one per line
    #[arg(long)]
    json: bool,
}

impl Chunks {
    pub(crate) fn run(self) -> Outcome {
        let Self { paths, damaged, json } = self;
        let is_one = paths.given().len() == 1;
        let work = |targets: Vec<Found>, pass: &mut PassPart<'_, _>| {
            let mut list = ChunkList::new(WantedChunks { json, damaged }, pass);
            for target in targets {
                match target {
                    Ok(target) => take(&target, is_one && target.is_given(), &mut list),
                    Err(failure) => list.fail(failure),
                }
            }
            list.end()
        };
        let mut progress = Progress::of_chunks();
        let (mut all, mut is_first) = (ChunkTotals::default(), true);
        // The folder of a store is searched like any other folder, because only the frames in it have chunks.
        paths.visit(Stores::Folders, true, work, |(pieces, totals)| {
            for piece in pieces {
                match piece {
                    Piece::Heading(address) => {
                        let before = if mem::take(&mut is_first) { "" } else { "\n" };
                        writeln!(anstream::stdout(), "{before}{BOLD}{address}:{BOLD:#}")?;
                    }
                    Piece::Lines(lines) => io::stdout().write_all(&lines)?,
                    Piece::Failure(failure) => {
                        // The failure goes to standard error. Standard output is flushed first, so that the earlier
                        // lines appear before the failure.
                        io::stdout().flush()?;
                        progress.complain(&failure);
                    }
                }
            }
            all.add(totals);
            progress.show(all.chunks);
            Ok(())
        })?;
        progress.end();
        if all.frames + all.failures == 0 {
            remark(&"no frame found");
        } else if damaged && !json {
            let chunks = count(all.chunks, "chunk");
            remark(&format_args!("{} of {chunks} with a damaged header, or missing", all.damaged));
        }
        Ok(if all.failures > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Lists the chunks of all frames in a file.
fn take(target: &Target, is_one: bool, list: &mut ChunkList<'_>) {
    let location = target.location();
    match Address::from(location).open_with_place() {
        Ok((frame, is_embedded)) => list.take(location, frame, is_embedded, !is_one),
        // The order of the next three cases matters. First: a file of another program, found in a folder, is skipped.
        Err(problem) if is_passed_over(target, &problem) => {}
        // Second: the bytes inside a file, at a URL or from standard input must be a frame, so any problem is a
        // failure. But the URL of a zip file belongs to the third case.
        Err(problem) if target.inside != Inside::Whole && !target.is_zip_object() => {
            list.fail(location.failure(problem));
        }
        // Third: the target is not a frame, but it may be a zip file. `Visit` visits the frames in a zip file, and
        // reports any other target as a failure.
        Err(_) => Visit::default().target(target, &mut |view| {
            let opened = view.and_then(|view| match open(view) {
                Ok(frame) => Ok((view.location, frame)),
                Err(problem) => Err(view.location.failure(problem)),
            });
            match opened {
                Ok((location, frame)) => list.take(location, frame, false, true),
                Err(failure) => list.fail(failure),
            }
        }),
    }
}

/// Opens the frame of a zip member. The view already has the offset of the frame, so the directory of the zip file is
/// not read again.
fn open(view: View<'_>) -> Result<Frame<Reader>, Problem> {
    let reader: Reader = match view.location.inside {
        Inside::Url(_) => Box::new(remote::open(view.location.path)?),
        _ => Box::new(File::open(view.location.path)?),
    };
    Ok(Frame::read_at(reader, view.offset)?)
}
