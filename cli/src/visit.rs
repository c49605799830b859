//! Visits the frames of a file: the file itself, the members of a zip file, or what a scan finds.

use std::fs::File;
use std::io::{Read, Seek};
use std::ops::ControlFlow;
use std::path::Path;

use b2nd_serde::frame::{
    Array, Check, ChunkCounts, Code, Content, Depth, Finding, Frame, Header, Member, Report, Trailer,
    Unchecked, scan, zip_members,
};

use crate::failure::{Failure, Location, Problem, stdin_hint};
use crate::input::Target;
use crate::json::Record;

/// What to visit, and how much of it to read.
#[derive(Clone, Copy, Default)]
pub(crate) struct Options<'p> {
    /// Look for frames anywhere in a file.
    pub(crate) scan: bool,
    /// Check what follows the header too, to this depth.
    pub(crate) depth: Option<Depth>,
    /// Read the values of metalayers.
    pub(crate) meta: bool,
    /// Call this after each chunk that has been checked.
    pub(crate) on_chunk: Option<&'p (dyn Fn() + Sync)>,
}

/// What is shown of a frame.
pub(crate) struct View<'s> {
    pub(crate) location: Location<'s>,
    pub(crate) header: &'s Header,
    /// `None` if the frame has chunks but no array metalayer.
    pub(crate) array: Option<&'s Array<'s>>,
    /// The keys of the frames in its compressed data, if it is a store and the trailer was read.
    pub(crate) embedded: Vec<String>,
    pub(crate) findings: &'s [Finding],
    pub(crate) unchecked: Option<&'s Unchecked>,
    pub(crate) record: Record<'s>,
}

/// What was read after the header of a frame.
#[derive(Default)]
struct After {
    trailer: Option<Trailer>,
    counts: Option<ChunkCounts>,
    unchecked: Option<Unchecked>,
}

/// The end of the magic bytes: a shorter file cannot be recognized as a frame.
const MAGIC_END: i128 = 10;

/// Receives each frame, or why it could not be read.
type Receive<'e> = dyn FnMut(Result<View<'_>, Failure>) + 'e;

impl Options<'_> {
    /// Visits all frames of a file, or passes on why there is no file.
    pub(crate) fn visit(self, found: Result<Target, Failure>, receive: &mut Receive<'_>) {
        match found {
            Ok(target) => self.visit_target(&target, receive),
            Err(failure) => receive(Err(failure)),
        }
    }

    /// Visits all frames of a file.
    pub(crate) fn visit_target(self, target: &Target, receive: &mut Receive<'_>) {
        let location = Location { path: &target.path, member: None };
        if self.scan && !target.is_sparse && !target.is_named_zip() {
            return scan_file(target, location, receive);
        }
        let problem = match self.visit_file(location, receive) {
            Ok(()) => return,
            Err(problem) => problem,
        };
        let finding = problem.finding.as_deref();
        match finding.map(Finding::code) {
            Some(Code::NotAFrame) => {
                if target.is_named_zip() || target.is_given && is_zip(&target.path) {
                    return self.visit_members(location, receive);
                }
                if !target.is_given && !target.is_named_blosc2() {
                    return;
                }
            }
            Some(Code::Truncated) => {
                let is_short = finding.and_then(Finding::found).is_some_and(|length| length < MAGIC_END);
                if is_short && !target.is_given && !target.is_named_blosc2() {
                    return;
                }
            }
            _ => {}
        }
        let hint = hint(target, &problem);
        receive(Err(location.failure(Problem { hint, ..problem })));
    }

    /// Visits the frame that a file or directory is.
    fn visit_file(self, location: Location<'_>, receive: &mut Receive<'_>) -> Result<(), Problem> {
        let Some(depth) = self.depth else {
            let frame = Frame::open(location.path)?;
            self.emit(location, &frame, &frame.check_header(), &After::default(), receive);
            return Ok(());
        };
        match self.check(depth).path(location.path)? {
            report @ Report { frame: Some(_), .. } => self.emit_whole(location, report, receive),
            Report { findings, .. } => {
                return findings.into_iter().try_for_each(|finding| Err(finding.into()));
            }
        }
        Ok(())
    }

    fn check<'c>(self, depth: Depth) -> Check<'c>
    where
        Self: 'c,
    {
        Check::new(depth).on_progress(move |_| {
            self.on_chunk.inspect(|on_chunk| on_chunk());
            ControlFlow::Continue(())
        })
    }

    /// Visits the frame that a member of a zip file is. No writer can be at work in it: the directory of a zip file is
    /// written last.
    fn visit_member(
        self,
        location: Location<'_>,
        file: &mut File,
        offset: u64,
        receive: &mut Receive<'_>,
    ) -> Result<(), Problem> {
        let frame = Frame::read_at(file, offset)?;
        match self.depth {
            None => self.emit(location, &frame, &frame.check_header(), &After::default(), receive),
            Some(depth) => self.emit_whole(location, self.check(depth).frame(frame)?, receive),
        }
        Ok(())
    }

    fn visit_members(self, location: Location<'_>, receive: &mut Receive<'_>) {
        let mut file = match File::open(location.path) {
            Ok(file) => file,
            Err(error) => return receive(Err(location.failure(error))),
        };
        let members = match zip_members(&mut file) {
            Ok(members) => members,
            Err(error) => return receive(Err(location.failure(error))),
        };
        for member in &members {
            let location = Location { member: Some(member.name()), ..location };
            let problem = match member.content() {
                Content::Frame(_) => match self.visit_member(location, &mut file, member.offset(), receive) {
                    Ok(()) => continue,
                    Err(problem) => problem,
                },
                Content::Broken(finding) => Problem::from(finding.clone()),
                _ => match unexpected(member) {
                    Some(problem) => problem,
                    None => continue,
                },
            };
            receive(Err(location.failure(problem)));
        }
    }

    /// Passes a checked frame on, with the values in its trailer if they are wanted.
    fn emit_whole<R: Read + Seek>(
        self,
        location: Location<'_>,
        report: Report<R>,
        receive: &mut Receive<'_>,
    ) {
        let Report { frame: Some(mut frame), findings, counts, unchecked, .. } = report else { return };
        let is_wanted = self.meta || frame.kind().is_store();
        let trailer = if is_wanted { frame.trailer().ok() } else { None };
        self.emit(location, &frame, &findings, &After { trailer, counts, unchecked }, receive);
    }

    /// Passes a frame on.
    fn emit<R>(
        self,
        location: Location<'_>,
        frame: &Frame<R>,
        findings: &[Finding],
        after: &After,
        receive: &mut Receive<'_>,
    ) {
        let array = match frame.array() {
            Ok(array) => array,
            Err(error) => return receive(Err(location.failure(error))),
        };
        let array = array.as_ref();
        let mut record = Record::new(location, frame, array, findings);
        record.chunk_counts = after.counts.map(Into::into);
        // Where chunks differ in length, only the index says how many there are.
        record.nchunks = record.nchunks.or(after.counts.map(|counts| counts.total()));
        if self.meta {
            record = record.with_values(frame, after.trailer.as_ref());
        }
        let embedded = after.trailer.as_ref().map(Trailer::embedded).unwrap_or_default();
        let (header, unchecked) = (frame.header(), after.unchecked.as_ref());
        receive(Ok(View { location, header, array, embedded, findings, unchecked, record }));
    }
}

/// What to try with a file of the command line that is not a frame.
fn hint(target: &Target, problem: &Problem) -> Option<&'static str> {
    if !target.is_given {
        return None;
    }
    let is_not_a_frame = problem.finding.as_ref().is_some_and(|finding| finding.code() == Code::NotAFrame);
    if is_not_a_frame {
        return (!target.is_named_blosc2()).then_some("; `b2nd ls --scan` looks for frames inside");
    }
    let is_folder = problem.kind == "io" && !target.is_named_blosc2() && target.path.is_dir();
    if problem.kind == "io" && !target.path.exists() {
        return stdin_hint(&target.path);
    }
    is_folder.then_some("; `b2nd ls` lists the arrays in a folder")
}

/// What is wrong with a member of a zip file that is not a frame, but has the extension of one.
fn unexpected(member: &Member) -> Option<Problem> {
    if !Target::given(member.name().into()).is_named_blosc2() {
        return None;
    }
    Some(match member.content() {
        Content::Compressed => Problem::new(
            "compressed-member",
            "the member is compressed; extract it from the zip file to read its frame",
        ),
        _ if member.len() == 0 => Problem::new(Code::NotAFrame.name(), "the member is empty"),
        _ => Problem::new(Code::NotAFrame.name(), "not a Blosc2 frame"),
    })
}

/// Whether a file begins as a zip file does.
pub(crate) fn is_zip(path: &Path) -> bool {
    let mut start = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && [b"PK\x03\x04", b"PK\x05\x06"].contains(&&start)
}

/// Visits the frames anywhere in a file. Only their headers are checked.
fn scan_file(target: &Target, location: Location<'_>, receive: &mut Receive<'_>) {
    let options = Options { scan: true, ..Options::default() };
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
        if frame_len > rest {
            let text = format!(
                "cut short: the frame at byte {offset} has {frame_len} bytes, but the file ends after {rest} of them"
            );
            receive(Err(location.failure(Problem::new(Code::Truncated.name(), text))));
        } else {
            options.emit(location, &frame, &frame.check_header(), &After::default(), receive);
        }
    }
    if found == 0
        && target.is_named_blosc2()
        && let Err(error) = Frame::open(&target.path)
    {
        receive(Err(location.failure(error)));
    }
}
