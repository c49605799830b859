//! The frames in a file: itself, the members of a zip file, or wherever a scan finds them.

use std::error::Error as _;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use b2nd_serde::frame::{
    Array, Code, Content, Error, ErrorKind, Finding, Frame, Header, Member, Severity, Trailer, scan,
    zip_members,
};

use crate::input::Target;
use crate::json::{Failure, Place, Problem, Record};

/// How much of a frame is looked at.
#[derive(Clone, Copy, Default)]
pub(crate) struct Look {
    /// Looks for frames anywhere in a file.
    pub(crate) scan: bool,
    /// Looks at the end of the frame too.
    pub(crate) whole: bool,
    /// Shows the values of metalayers.
    pub(crate) meta: bool,
}

/// A frame that was seen.
pub(crate) struct Seen<'s> {
    pub(crate) place: Place<'s>,
    pub(crate) header: &'s Header,
    /// None if the frame is just chunks.
    pub(crate) array: Option<&'s Array<'s>>,
    /// Whether it holds arrays that cannot be seen.
    pub(crate) is_embed_store: bool,
    pub(crate) findings: &'s [Finding],
    pub(crate) record: Record<'s>,
}

/// The bytes of the magic and what stands before it: a shorter file is not known for a frame.
const MAGIC_END: i128 = 10;

/// What is done with each frame, or with what could not be read.
type Each<'e> = dyn FnMut(Result<Seen<'_>, Failure>) + 'e;

impl Look {
    /// Looks at what was found, or hands on why nothing was.
    pub(crate) fn at_found(self, found: Result<Target, Failure>, each: &mut Each<'_>) {
        match found {
            Ok(target) => self.at(&target, each),
            Err(failure) => each(Err(failure)),
        }
    }

    /// Looks at all frames of a file.
    pub(crate) fn at(self, target: &Target, each: &mut Each<'_>) {
        let place = Place { path: &target.path, member: None };
        if self.scan && !target.is_sparse && !target.is_named_zip() {
            return scan_file(target, place, each);
        }
        let settle = || Frame::open_checked(&target.path);
        let error = match self.show(place, Frame::open(&target.path), settle, each) {
            Ok(()) => return,
            Err(error) => error,
        };
        match error.finding() {
            Some(finding) if finding.code() == Code::NotAFrame => {
                if target.is_named_zip() || target.is_given && is_zip(&target.path) {
                    return self.zip(place, each);
                }
                if !target.is_given && !target.is_named_blosc2() {
                    return;
                }
            }
            Some(finding) if finding.code() == Code::Truncated => {
                let is_short = finding.found().is_some_and(|length| length < MAGIC_END);
                if is_short && !target.is_given && !target.is_named_blosc2() {
                    return;
                }
            }
            _ => {}
        }
        let hint = hint(target, &error);
        each(Err(place.failure(Problem { hint, ..error.into() })));
    }

    fn zip(self, place: Place<'_>, each: &mut Each<'_>) {
        let members = File::open(place.path).map_err(Error::from).and_then(|mut file| {
            let members = zip_members(&mut file)?;
            Ok((file, members))
        });
        let (file, members) = match members {
            Ok(members) => members,
            Err(error) => {
                let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
                return each(Err(match source {
                    Some(source) if source.kind() == io::ErrorKind::InvalidData => {
                        place.failure(not_a_zip(place.path, source))
                    }
                    _ => place.failure(error),
                }));
            }
        };
        for member in &members {
            let place = Place { member: Some(member.name()), ..place };
            let problem = match member.content() {
                Content::Frame(_) => {
                    let open = || Frame::read_at(file.try_clone()?, member.offset());
                    let settle = || {
                        let mut frame = open()?;
                        let findings = frame.check()?;
                        Ok((frame, findings))
                    };
                    match self.show(place, open(), settle, each) {
                        Ok(()) => continue,
                        Err(error) => error.into(),
                    }
                }
                Content::Broken(finding) => Problem::from(finding.clone()),
                _ => match unexpected(member) {
                    Some(problem) => problem,
                    None => continue,
                },
            };
            each(Err(place.failure(problem)));
        }
    }

    /// Shows a frame, or says why it cannot be opened. If something is wrong with it, another writer may be at work,
    /// and it has to be looked at until it settles.
    fn show(
        self,
        place: Place<'_>,
        opened: Result<Frame<File>, Error>,
        settle: impl Fn() -> Result<(Frame<File>, Vec<Finding>), Error>,
        each: &mut Each<'_>,
    ) -> Result<(), Error> {
        if !self.whole {
            let frame = opened?;
            self.hand_on(place, &frame, &frame.check_header(), None, each);
            return Ok(());
        }
        let checked = opened.and_then(|mut frame| {
            let findings = frame.check()?;
            Ok((frame, findings))
        });
        let is_error = |finding: &Finding| finding.severity() == Severity::Error;
        let (mut frame, findings) = match checked {
            Ok((frame, findings)) if !findings.iter().any(is_error) => (frame, findings),
            Err(error) if is_not_a_frame(&error) => return Err(error),
            _ => settle()?,
        };
        let trailer = if self.meta { frame.trailer().ok() } else { None };
        self.hand_on(place, &frame, &findings, trailer.as_ref(), each);
        Ok(())
    }

    fn hand_on<R>(
        self,
        place: Place<'_>,
        frame: &Frame<R>,
        findings: &[Finding],
        trailer: Option<&Trailer>,
        each: &mut Each<'_>,
    ) {
        let array = match frame.array() {
            Ok(array) => array,
            Err(error) => return each(Err(place.failure(error))),
        };
        let array = array.as_ref();
        let mut record = Record::new(place, frame, array, findings);
        if self.meta {
            record = record.with_values(frame, trailer);
        }
        let (header, is_embed_store) = (frame.header(), frame.is_embed_store());
        each(Ok(Seen { place, header, array, is_embed_store, findings, record }));
    }
}

/// Where to look for what is not in a file that was given.
fn hint(target: &Target, error: &Error) -> Option<&'static str> {
    if !target.is_given {
        return None;
    }
    if error.kind() == ErrorKind::Io {
        return (!target.is_sparse && target.path.is_dir()).then_some("b2nd ls lists the arrays in a folder");
    }
    (is_not_a_frame(error) && !target.is_named_blosc2()).then_some("b2nd ls --scan looks for frames inside")
}

fn is_not_a_frame(error: &Error) -> bool {
    error.finding().is_some_and(|finding| finding.code() == Code::NotAFrame)
}

fn not_a_zip(path: &Path, error: &io::Error) -> Problem {
    let is_empty = fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0);
    let message = if is_empty {
        "the file is empty".into()
    } else {
        format!("no zip file, or cut short: {}", error.to_string().to_lowercase())
    };
    Problem::new("not-a-zip", message)
}

/// What is wrong with a member of a zip file that is no frame, if it should be one.
fn unexpected(member: &Member) -> Option<Problem> {
    if !Target::given(member.name().into()).is_named_blosc2() {
        return None;
    }
    Some(match member.content() {
        Content::Compressed => Problem::new("compressed-member", "the zip file has it compressed"),
        _ if member.len() == 0 => Problem::new(Code::NotAFrame.name(), "the member is empty"),
        _ => Problem::new(Code::NotAFrame.name(), "not a Blosc2 frame"),
    })
}

fn is_zip(path: &Path) -> bool {
    let mut start = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && [b"PK\x03\x04", b"PK\x05\x06"].contains(&&start)
}

/// Shows all frames anywhere in a file, as far as their headers go.
fn scan_file(target: &Target, place: Place<'_>, each: &mut Each<'_>) {
    let look = Look { scan: true, ..Look::default() };
    let opened = File::open(&target.path).and_then(|file| Ok((file.metadata()?.len(), file)));
    let (length, file) = match opened {
        Ok(opened) => opened,
        Err(error) => return each(Err(place.failure(error))),
    };
    let mut found = 0;
    for frame in scan(file) {
        let frame = match frame {
            Ok(frame) => frame,
            Err(error) => return each(Err(place.failure(error))),
        };
        found += 1;
        let (offset, frame_len) = (frame.offset(), frame.header().frame_len);
        let rest = length.saturating_sub(offset);
        if frame_len > rest {
            let text =
                format!("cut short: the frame at byte {offset} takes {frame_len} bytes, the file has {rest}");
            each(Err(place.failure(Problem::new(Code::Truncated.name(), text))));
        } else {
            look.hand_on(place, &frame, &frame.check_header(), None, each);
        }
    }
    if found == 0
        && target.is_named_blosc2()
        && let Err(error) = Frame::open(&target.path)
    {
        each(Err(place.failure(error)));
    }
}
