//! Visits the frames of a file: the file itself, the members of a zip file, or the frames that a scan finds.

use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;

use b2nd_frame::{
    Check, CheckDepth, EmbeddedFrames, Error, ErrorKind, Finding, FindingCode, Frame, MemberContent,
    ObjectKind, ReadAt, Report, Trailer, ZipMember, scan, zip_members,
};

use super::address::{Address, Inside, Location};
use super::failure::Failure;
use super::source::{FOLDER, compressed, is_zip};
use super::target::{Found, Target};
use super::view::{ShownValues, View};
use crate::code;
use crate::names::{is_named_blosc2, may_be_blosc2};
use crate::problem::Problem;
use crate::remote;
use crate::waiting::while_changing;

/// The frames whose chunks a listing counts. For this, the listing reads their chunk index. A check reads every chunk
/// index anyway.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum CountChunks {
    #[default]
    Never,
    /// Frames without an array, if their header does not record the number of chunks.
    IfUnknown,
    Always,
}

/// The frames to visit, and how much of them to read.
#[derive(Clone, Copy, Default)]
pub(crate) struct Visit<'p> {
    /// Look for frames anywhere in a file.
    pub(crate) scan: bool,
    /// The depth of a check. `None` means that only headers are checked.
    pub(crate) depth: Option<CheckDepth>,
    /// The number of threads that decompress the data of one frame for a check.
    pub(crate) threads: usize,
    pub(crate) values: ShownValues,
    pub(crate) counts: CountChunks,
    /// Also count the bytes that belong to no chunk, if this takes at most [`MOST_HEADERS`] reads, and the frame is not
    /// in an object store.
    pub(crate) unowned: bool,
    /// Visit the frames in the data of stores too.
    pub(crate) embedded: bool,
    /// In a zip file, visit only the members whose names begin with this text.
    pub(crate) below: &'p str,
    /// Call this function after each chunk that has been checked.
    pub(crate) on_chunk: Option<&'p (dyn Fn() + Sync)>,
}

/// The maximum number of chunk headers to read when bytes that belong to no chunk are counted.
const MOST_HEADERS: u64 = 4096;

/// The parts of a frame that were read besides its header; `None` for a part that was not needed or is damaged.
#[derive(Default)]
struct More {
    trailer: Option<Trailer>,
    unowned_bytes: Option<u64>,
}

/// The offset of the end of a frame's magic bytes. A shorter file cannot be recognized as a frame.
const MAGIC_END: i128 = 10;

/// A function that receives each visited frame, or the failure to read it.
type ReceiveView<'e> = dyn FnMut(Result<View<'_>, Failure>) + 'e;

impl Visit<'_> {
    /// Visits all frames of a target, or passes on the failure to find a target.
    pub(crate) fn found(self, found: Found, receive: &mut ReceiveView<'_>) {
        match found {
            Ok(target) => self.target(&target, receive),
            Err(failure) => receive(Err(failure)),
        }
    }

    /// Visits all frames of a file.
    pub(crate) fn target(self, target: &Target, receive: &mut ReceiveView<'_>) {
        let location = target.location();
        if target.inside != Inside::Whole {
            return match self.visit_inside(target, receive) {
                Err(problem) if !is_passed_over(target, &problem) => receive(Err(location.failure(problem))),
                _ => {}
            };
        }
        // A sparse frame or a .b2z file is not scanned, because its structure shows where the frames are. But a
        // .b2z file is scanned if its zip directory, the list of its members, cannot be read.
        if self.scan && !target.is_sparse && (!target.is_named_zip() || is_without_directory(&target.path)) {
            return scan_file(target, location, receive);
        }
        // The file is read as a frame first, because most files are frames.
        let problem = match self.visit_file(location, receive) {
            Ok(()) => return,
            Err(problem) => problem,
        };
        if problem.is_not_a_frame() && (target.is_named_zip() || target.is_given() && is_zip(&target.path)) {
            let visited = File::open(location.path)
                .map_err(Problem::from)
                .and_then(|file| self.visit_members(location, file, receive));
            return visited.unwrap_or_else(|problem| receive(Err(location.failure(problem))));
        }
        if is_passed_over(target, &problem) {
            return;
        }
        let hint = hint(target, &problem);
        receive(Err(location.failure(Problem { hint, ..problem })));
    }

    /// Visits the frame at an address that is not a path: a member, an offset, an object or standard input. If an
    /// object is a zip file, all frames in it are visited.
    fn visit_inside(self, target: &Target, receive: &mut ReceiveView<'_>) -> Result<(), Problem> {
        if self.scan && target.inside == Inside::Stdin {
            return Err(Problem::new(
                code::INVALID_INPUT,
                "--scan needs a file; standard input is read as one frame",
            ));
        }
        let location = target.location();
        if target.inside == Inside::Url(None) {
            if self.scan {
                return Err(Problem::new(
                    code::INVALID_INPUT,
                    "--scan needs a file; it would fetch the whole object",
                ));
            }
            if target.is_zip_object() {
                return self.visit_members(location, remote::open(location.path)?, receive);
            }
        }
        let address = Address::from(location);
        let place = address.place("the bytes of a frame")?;
        let damage = if self.reads_data() { place.damage()? } else { None };
        let mut frame = address.open_place(place)?;
        self.visit_frame(location, &mut frame, damage, receive)?;
        self.visit_embedded(location, frame, receive);
        Ok(())
    }

    /// Whether a check decompresses the data of chunks.
    fn reads_data(self) -> bool {
        self.depth.is_some_and(|depth| depth >= CheckDepth::ChunkData)
    }

    /// Visits an open frame. Unlike the check of a file, the check of an open frame is not repeated if a writer changes
    /// the frame meanwhile. `damage` is a finding if the frame is in a zip member whose checksum is wrong.
    fn visit_frame<R: ReadAt>(
        self,
        location: Location<'_>,
        frame: &mut Frame<R>,
        damage: Option<Finding>,
        receive: &mut ReceiveView<'_>,
    ) -> Result<(), Problem> {
        let mut report = match self.depth {
            Some(depth) => self.check(depth).run(frame)?,
            None => frame.check_header(),
        };
        report.findings.extend(damage);
        let more = self.read_more(frame, &mut report)?;
        self.emit(location, frame, &report, &more, receive);
        Ok(())
    }

    /// Counts the chunks and the bytes that belong to no chunk, and reads the trailer, each only if requested. A part
    /// that is damaged becomes `None`.
    fn read_more<R: ReadAt>(self, frame: &mut Frame<R>, report: &mut Report) -> Result<More, Problem> {
        let is_counted = match self.counts {
            CountChunks::Never => false,
            CountChunks::IfUnknown => {
                frame.header().nchunks().is_none() && frame.array().is_ok_and(|a| a.is_none())
            }
            // A check has already counted the chunks, unless it could not read the chunk index.
            CountChunks::Always => report.counts.is_none(),
        };
        if is_counted {
            report.counts = unless_changing(frame.count_chunks())?;
        }
        let has_few = report.counts.is_some_and(|counts| counts.stored <= MOST_HEADERS);
        let is_measured = self.unowned && has_few && frame.reader().bytes_per_round_trip() == 0;
        let unowned_bytes = if is_measured { unless_changing(frame.unowned_bytes())? } else { None };
        let trailer = if self.wants_trailer(frame) { unless_changing(frame.trailer())? } else { None };
        Ok(More { trailer, unowned_bytes })
    }

    /// If `embedded` is set, visits the frames in the data of a store, each by its key. Nothing is visited if the keys
    /// cannot be part of an address, for example because the store itself is at an offset in another file.
    fn visit_embedded<R: ReadAt>(
        self,
        location: Location<'_>,
        store: Frame<R>,
        receive: &mut ReceiveView<'_>,
    ) {
        if !self.embedded || !store.kind().is_store() {
            return;
        }
        let is_alone = store.kind() == ObjectKind::EmbedStore;
        let mut frames = match EmbeddedFrames::new(store) {
            Ok(frames) => frames,
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                return receive(Err(location.failure(error)));
            }
            // If the trailer cannot be read, nothing is reported here, because a check of the store reports it.
            Err(_) => return,
        };
        for key in frames.keys() {
            let Some(location) = location.in_store(&key, is_alone) else { return };
            let selected = frames.select(&key).and_then(|_| Frame::read_at(&mut frames, 0));
            let visited = selected
                .map_err(Problem::from)
                .and_then(|mut frame| self.visit_frame(location, &mut frame, None, receive));
            if let Err(problem) = visited {
                receive(Err(location.failure(problem)));
            }
        }
    }

    /// Visits a file, or the directory of a sparse frame, as one frame.
    fn visit_file(self, location: Location<'_>, receive: &mut ReceiveView<'_>) -> Result<(), Problem> {
        let (frame, report, more) = while_changing(|| {
            let (mut frame, mut report) = self.read_file(location.path)?;
            let more = self.read_more(&mut frame, &mut report)?;
            Ok::<_, Problem>((frame, report, more))
        })?;
        self.emit(location, &frame, &report, &more, receive);
        self.visit_embedded(location, frame, receive);
        Ok(())
    }

    /// Opens a frame, and checks it to the requested depth. Without a depth, only its header is checked.
    fn read_file(self, path: &Path) -> Result<(Frame, Report), Problem> {
        let Some(depth) = self.depth else {
            let frame = Frame::open(path)?;
            let report = frame.check_header();
            return Ok((frame, report));
        };
        let mut report = self.check(depth).run_path(path)?;
        if let Some(frame) = report.frame.take() {
            return Ok((frame, report));
        }
        // If the check cannot open the frame, the reason is its only finding.
        report.findings.drain(..).try_for_each(|finding| Err(Problem::from(finding)))?;
        Ok((Frame::open(path)?, report))
    }

    fn check<'c>(self, depth: CheckDepth) -> Check<'c>
    where
        Self: 'c,
    {
        Check::new(depth).threads(self.threads).on_progress(move |chunks| {
            // While the chunk index is read, `chunks` is 0. No chunk has been checked then, so `on_chunk` is not
            // called.
            self.on_chunk.filter(|_| chunks > 0).inspect(|on_chunk| on_chunk());
            ControlFlow::Continue(())
        })
    }

    /// Visits the frames in a zip file.
    fn visit_members(
        self,
        location: Location<'_>,
        mut file: impl ReadAt,
        receive: &mut ReceiveView<'_>,
    ) -> Result<(), Problem> {
        for member in zip_members(&mut file)?.iter().filter(|member| member.name().starts_with(self.below)) {
            let inside = match location.inside {
                Inside::Url(_) => Inside::Url(Some(member.name())),
                _ => Inside::Member(member.name()),
            };
            let location = Location { inside, ..location };
            let problem = match member.content() {
                // The visit of this frame is not repeated, because no writer can be changing the frame: the directory
                // of a zip file is written last, and this zip file has one, so the file is complete.
                MemberContent::Frame(_) => {
                    let visited = self.visit_member(location, member, &mut file, receive);
                    match visited {
                        Ok(()) => continue,
                        Err(problem) => problem,
                    }
                }
                MemberContent::Broken(finding) => Problem::from(finding.clone()),
                _ => match not_a_frame(member) {
                    Some(problem) => problem,
                    None => continue,
                },
            };
            receive(Err(location.failure(problem)));
        }
        Ok(())
    }

    /// Visits a frame that is a member of a zip file. A check that reads the data of chunks also compares the bytes of
    /// the member with the member's checksum in the zip file.
    fn visit_member(
        self,
        location: Location<'_>,
        member: &ZipMember,
        mut file: impl ReadAt,
        receive: &mut ReceiveView<'_>,
    ) -> Result<(), Problem> {
        let damage = if self.reads_data() { member.check_bytes(&mut file)? } else { None };
        let mut frame = Frame::read_at(&mut file, member.offset())?;
        self.visit_frame(location, &mut frame, damage, receive)?;
        self.visit_embedded(location, frame, receive);
        Ok(())
    }

    /// Whether the trailer is needed: if the frame is a store or may be a packed tensor, or if values of metalayers are
    /// requested.
    fn wants_trailer<R>(self, frame: &Frame<R>) -> bool {
        let may_be_packed = frame.kind() == ObjectKind::SChunk && frame.header().has_vlmetalayers;
        self.values != ShownValues::None || frame.kind().is_store() || may_be_packed
    }

    /// Passes a view of a frame to `receive`.
    fn emit<R>(
        self,
        location: Location<'_>,
        frame: &Frame<R>,
        report: &Report,
        more: &More,
        receive: &mut ReceiveView<'_>,
    ) {
        let array = match frame.array() {
            Ok(array) => array,
            Err(error) => return receive(Err(location.failure(error))),
        };
        let view = View::new(location, frame, array.as_ref(), &report.findings);
        let trailer = more.trailer.as_ref();
        let tensor = trailer.filter(|_| frame.kind() == ObjectKind::SChunk).and_then(Trailer::packed_tensor);
        let Report { skipped, counts, .. } = report;
        receive(Ok(View {
            skipped,
            tensor: tensor.as_ref(),
            trailer,
            counts: *counts,
            unowned_bytes: more.unowned_bytes,
            values: self.values,
            ..view
        }));
    }
}

/// The part of a frame that was read; `None` if it is damaged. An error only if a writer is changing the frame.
fn unless_changing<T>(read: Result<T, Error>) -> Result<Option<T>, Problem> {
    match read {
        Err(error) if error.kind() == ErrorKind::Changing => Err(error.into()),
        read => Ok(read.ok()),
    }
}

/// Whether a file in a folder has nothing to do with Blosc2, and is skipped.
pub(crate) fn is_passed_over(target: &Target, problem: &Problem) -> bool {
    let Some(finding) = problem.finding.as_deref() else { return false };
    let is_other = match finding.code() {
        FindingCode::NotAFrame => true,
        FindingCode::Truncated => finding.found().is_some_and(|length| length < MAGIC_END),
        _ => false,
    };
    // A writer that was stopped can leave an empty file. So an empty file counts as a damaged frame if it has one of
    // the extensions that `may_be_blosc2` recognizes.
    let is_unwritten = || may_be_blosc2(&target.path) && is_empty(target);
    is_other && !target.is_given() && !target.is_named_blosc2() && !is_unwritten()
}

/// Whether the directory of a zip file cannot be read. The directory is at the end of the file, so it is missing if the
/// file was cut off. A directory beyond a size limit is not read either.
fn is_without_directory(path: &Path) -> bool {
    path.is_file() && File::open(path).is_ok_and(|mut file| zip_members(&mut file).is_err())
}

fn is_empty(target: &Target) -> bool {
    target.path.metadata().is_ok_and(|metadata| metadata.len() == 0)
}

/// A hint for a file or folder that the user has named and that is not a frame.
fn hint(target: &Target, problem: &Problem) -> Option<&'static str> {
    if !target.is_given() {
        return None;
    }
    if problem.is_not_a_frame() {
        let has_inside = !target.is_named_blosc2() && !is_empty(target);
        return has_inside.then_some("; `b2nd ls --scan` looks for frames inside");
    }
    Address::from(target.location()).is_folder().then_some(FOLDER)
}

/// The failure of a zip member that is not a frame, but has a Blosc2 extension.
fn not_a_frame(member: &ZipMember) -> Option<Problem> {
    if !is_named_blosc2(Path::new(member.name())) {
        return None;
    }
    Some(match member.content() {
        MemberContent::Compressed => compressed(),
        _ if member.len() == 0 => Problem::new(FindingCode::NotAFrame.name(), "the member is empty"),
        _ => Problem::new(FindingCode::NotAFrame.name(), "not a Blosc2 frame"),
    })
}

/// Searches a file for frames at any offset, and visits them. Only their headers are checked.
fn scan_file(target: &Target, location: Location<'_>, receive: &mut ReceiveView<'_>) {
    let visit = Visit { scan: true, ..Visit::default() };
    let opened = File::open(&target.path).and_then(|file| Ok((file.metadata()?.len(), file)));
    let (length, file) = match opened {
        Ok(opened) => opened,
        Err(error) => return receive(Err(location.failure(error))),
    };
    let mut found = 0;
    for frame in scan(file) {
        let frame = match frame {
            Ok(frame) => frame,
            Err(error) => return receive(Err(location.failure(error))),
        };
        found += 1;
        let (offset, frame_len) = (frame.offset(), frame.header().frame_len);
        let rest = length.saturating_sub(offset);
        // A scan reads only headers, so the file may end before the end of the frame.
        if frame_len > rest {
            let text = format!(
                "cut short: the frame at byte {offset} has {frame_len} bytes, but the file ends after {rest} of them"
            );
            receive(Err(location.at(offset).failure(Problem::new(FindingCode::Truncated.name(), text))));
        } else {
            visit.emit(location, &frame, &frame.check_header(), &More::default(), receive);
        }
    }
    // A file with a Blosc2 extension must contain a frame, so a scan that finds no frame in the file is a failure.
    if found == 0
        && target.is_named_blosc2()
        && let Err(error) = Frame::open(&target.path)
    {
        receive(Err(location.failure(error)));
    }
}
