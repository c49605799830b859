//! The error of reading, changing or making a frame.

use core::error;
use core::fmt;
use core::iter::successors;
use core::ops::Range;
use std::io;
use std::path::{Path, PathBuf};

use b2nd_serde::geometry;

use crate::code::FindingCode;
use crate::finding::{Escaped, Finding};

/// The error of reading, changing or making a frame: a [kind](Self::kind) and a message.
///
/// An `Error` has the size of a pointer. Errors of the kinds [`Decode`](ErrorKind::Decode) and
/// [`Encode`](ErrorKind::Encode) have a [`source`](error::Error::source), whose message is not a part of the error's
/// message. The message of [`Io`](ErrorKind::Io) includes the message of the [`io_error`](Self::io_error).
///
/// ```
/// use b2nd_frame::{FindingCode, ErrorKind, Finding, Frame};
///
/// let error = Frame::parse(b"\x89HDF\r\n\x1a\n").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Malformed);
/// assert_eq!(error.finding().map(Finding::code), Some(FindingCode::NotAFrame));
/// assert_eq!(error.to_string(), "not a Blosc2 frame: no b2frame magic at byte 2");
///
/// let error = Frame::open("no such file.b2nd").unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Io);
/// let reason = error.io_error().expect("the system's reason");
/// assert_eq!(error.to_string(), format!("cannot read no such file.b2nd: {reason}"));
/// ```
pub struct Error(Box<Inner>);

/// The kind of an [`Error`], by which a program can decide what to do.
///
/// ```
/// use b2nd_frame::{ErrorKind, Frame};
///
/// let file = std::fs::read("tests/data/int32_3x5.b2nd")?;
/// let mut length = 10;
/// let frame = loop {
///     match Frame::parse(&file[..length]) {
///         Err(error) if error.kind() == ErrorKind::Incomplete => length = error.needed().unwrap(),
///         result => break result?,
///     }
/// };
/// assert_eq!((length, frame.header().header_len), (165, 165));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file cannot be read or written. [`Error::io_error`] gives the reason.
    Io,
    /// More bytes are needed. [`Error::needed`] gives the smallest number of bytes for the next attempt. For a
    /// [`KnownRanges`](crate::KnownRanges), [`Error::ranges`] gives the missing byte ranges instead.
    Incomplete,
    /// The bytes are not a frame, or violate a rule that readers must enforce. [`Error::finding`] has the details.
    Malformed,
    /// A metalayer cannot be read as the requested type, or cannot be decompressed. The source gives the reason.
    Decode,
    /// A value cannot be written as a metalayer. The source gives the reason.
    Encode,
    /// Another process, or another part of this process, holds the lock of the frame. The same call may succeed later.
    Locked,
    /// Another program changed the frame while it was read, or after it was opened. Open the frame again; for an array,
    /// call `Array::refresh`. [`Error::finding`] can describe the fault that the last read found. If you repeat the
    /// call, and each time get the same finding, a writer was interrupted.
    Changing,
    /// An argument does not fit the frame or the format, such as a slice outside the shape. The call can succeed with
    /// another argument. The call has changed no file.
    InvalidInput,
    /// This crate does not support this call for this frame. For example, the codec of the frame is a plugin, its items
    /// are Python objects, it has no array, or the call needs the feature `decompress`. Another program may support the
    /// frame. The call has changed no file.
    Unsupported,
    /// A size exceeds the available memory, a limit of this crate, or a limit of the format. The call can succeed with
    /// a smaller slice or array. The call has changed no file.
    TooLarge,
    /// A [`Salvage`](crate::Salvage) cannot restore the array's metalayer on its own. Give the salvage the missing
    /// entries, such as the [shape](crate::Salvage::shape).
    ArrayUnknown,
    /// A [`Salvage`](crate::Salvage) found chunks but no usable chunk index, so it does not know their numbers in the
    /// array. You can allow the salvage to [assume their order](crate::Salvage::assume_order).
    OrderUnknown,
    /// The path of the new file already exists.
    Exists,
    /// The progress callback stopped a rewrite, a salvage or a check. No part of a new file is left.
    Stopped,
}

struct Inner {
    kind: ErrorKind,
    detail: Detail,
    /// The file or folder that the error is about.
    path: Option<PathBuf>,
    /// A text that is appended to the message, often empty.
    advice: &'static str,
}

enum Detail {
    /// An operation on a file failed. The `str` is the operation, which follows "cannot" in the message.
    Io(&'static str, io::Error),
    /// The number of bytes that are needed.
    Incomplete(usize),
    /// The byte ranges that are needed.
    Ranges(Vec<Range<u64>>),
    Finding(Finding),
    /// A metalayer cannot be decoded or written. `action` follows "cannot" in the message.
    Layer {
        action: &'static str,
        name: String,
        source: Box<dyn error::Error + Send + Sync>,
    },
    Text(String),
}

impl Error {
    fn new(kind: ErrorKind, detail: Detail) -> Self {
        Self(Box::new(Inner { kind, detail, path: None, advice: "" }))
    }

    fn text(kind: ErrorKind, why: impl fmt::Display) -> Self {
        Self::new(kind, Detail::Text(why.to_string()))
    }

    fn with_path(mut self, path: PathBuf) -> Self {
        self.0.path = Some(path);
        self
    }

    /// The error for a failed operation on a file. `action` follows "cannot" in the message, such as "read" or "create
    /// a file in".
    pub(crate) fn io(action: &'static str, path: &Path, reason: io::Error) -> Self {
        Self::new(ErrorKind::Io, Detail::Io(action, reason)).with_path(path.into())
    }

    /// The error for a failed read. [`at`](Self::at) can add the path of the file.
    pub(crate) fn reading(reason: io::Error) -> Self {
        // A source can read from another source. For example, a frame in the data of a store is read from the chunks of
        // the store. An error of the inner source is returned as it is if its kind tells the caller what to do.
        match reason.downcast::<Self>() {
            Ok(error)
                if matches!(
                    error.kind(),
                    ErrorKind::Incomplete | ErrorKind::Changing | ErrorKind::TooLarge
                ) =>
            {
                error
            }
            Ok(error) => Self::new(ErrorKind::Io, Detail::Io("read", error.into())),
            Err(reason) => Self::new(ErrorKind::Io, Detail::Io("read", reason)),
        }
    }

    /// The error for a failed write. [`at`](Self::at) can add the path of the file.
    pub(crate) fn writing(reason: io::Error) -> Self {
        Self::new(ErrorKind::Io, Detail::Io("write", reason))
    }

    pub(crate) fn incomplete(needed: usize) -> Self {
        Self::new(ErrorKind::Incomplete, Detail::Incomplete(needed))
    }

    /// The error of a source that does not have these byte ranges.
    pub(crate) fn unknown(ranges: Vec<Range<u64>>) -> Self {
        Self::new(ErrorKind::Incomplete, Detail::Ranges(ranges))
    }

    /// Joins the errors of two reads. If both errors list missing byte ranges, the result lists the ranges of both, so
    /// that all of them can be fetched at the same time.
    pub(crate) fn and(mut self, mut other: Self) -> Self {
        match (&mut self.0.detail, &mut other.0.detail) {
            (Detail::Ranges(ranges), Detail::Ranges(others)) => ranges.append(others),
            (Detail::Ranges(_), _) => return other,
            _ => {}
        }
        self
    }

    pub(crate) fn malformed(finding: Finding) -> Self {
        Self::new(ErrorKind::Malformed, Detail::Finding(finding))
    }

    pub(crate) fn decode(name: &str, source: impl Into<Box<dyn error::Error + Send + Sync>>) -> Self {
        let (name, source) = (name.into(), source.into());
        Self::new(ErrorKind::Decode, Detail::Layer { action: "decode", name, source })
    }

    pub(crate) fn encode(name: &str, source: impl Into<Box<dyn error::Error + Send + Sync>>) -> Self {
        let (name, source) = (name.into(), source.into());
        Self::new(ErrorKind::Encode, Detail::Layer { action: "write", name, source })
    }

    pub(crate) fn in_use(path: &Path) -> Self {
        let text = format!("another process, or another part of this one, is changing {}", path.display());
        Self::text(ErrorKind::Locked, text).with_path(path.into())
    }

    pub(crate) fn locked(lock: PathBuf) -> Self {
        let text = format!("another process holds the lock {}", lock.display());
        Self::text(ErrorKind::Locked, text).with_path(lock)
    }

    pub(crate) fn changing(finding: Option<Finding>) -> Self {
        let text = || Detail::Text("the frame is being changed, or has changed since it was read".into());
        Self::new(ErrorKind::Changing, finding.map_or_else(text, Detail::Finding))
    }

    /// Converts the error to one of the kind `Changing`, because a writer has changed the frame. The finding is kept.
    pub(crate) fn into_changing(self) -> Self {
        match self.0.detail {
            Detail::Finding(finding) => Self::changing(Some(finding)),
            _ => Self::changing(None),
        }
    }

    pub(crate) fn invalid_input(why: impl fmt::Display) -> Self {
        Self::text(ErrorKind::InvalidInput, why)
    }

    pub(crate) fn unsupported(why: impl fmt::Display) -> Self {
        Self::text(ErrorKind::Unsupported, why)
    }

    pub(crate) fn too_large(why: impl fmt::Display) -> Self {
        Self::text(ErrorKind::TooLarge, why)
    }

    /// The error for a shape or range of the caller, if it is invalid or too large.
    pub(crate) fn geometry(error: geometry::Error) -> Self {
        match error.kind() {
            geometry::ErrorKind::Overflow | geometry::ErrorKind::ChunkSize => Self::too_large(error),
            _ => Self::invalid_input(error),
        }
    }

    pub(crate) fn array_unknown(why: impl fmt::Display) -> Self {
        Self::text(ErrorKind::ArrayUnknown, why)
    }

    pub(crate) fn order_unknown(why: impl fmt::Display) -> Self {
        Self::text(ErrorKind::OrderUnknown, why)
    }

    pub(crate) fn exists(path: &Path) -> Self {
        let text = format!("{} already exists", path.display());
        Self::text(ErrorKind::Exists, text).with_path(path.into())
    }

    pub(crate) fn stopped() -> Self {
        Self::text(ErrorKind::Stopped, "stopped")
    }

    /// Adds a path to an `Io` or `Malformed` error, if the path is known and the error has no path yet.
    pub(crate) fn at(mut self, file: Option<&Path>) -> Self {
        if matches!(self.0.kind, ErrorKind::Io | ErrorKind::Malformed) && self.0.path.is_none() {
            self.0.path = file.map(Into::into);
        }
        self
    }

    /// Appends advice to the message of an `Io` or `Malformed` error. The advice begins with its own punctuation, such
    /// as `; `.
    pub(crate) fn advise(mut self, text: &'static str) -> Self {
        self.0.advice = text;
        self
    }

    /// Whether the error has a finding with this code.
    pub(crate) fn is_about(&self, code: FindingCode) -> bool {
        self.finding().is_some_and(|finding| finding.code() == code)
    }

    /// Returns the finding of a [`Malformed`](ErrorKind::Malformed) error as `Ok`, and any other error unchanged as
    /// `Err`.
    pub(crate) fn into_finding(self) -> Result<Finding, Self> {
        match *self.0 {
            Inner { kind: ErrorKind::Malformed, detail: Detail::Finding(finding), .. } => Ok(finding),
            other => Err(Self(Box::new(other))),
        }
    }

    /// The kind of error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The smallest number of bytes for the next attempt; `None` if the kind is not [`ErrorKind::Incomplete`], or if
    /// byte [`ranges`](Self::ranges) are needed.
    #[must_use]
    pub fn needed(&self) -> Option<usize> {
        match self.0.detail {
            Detail::Incomplete(needed) => Some(needed),
            _ => None,
        }
    }

    /// The byte ranges that are missing in a [`KnownRanges`](crate::KnownRanges), as offsets in the whole file. Empty
    /// if the error has another reason.
    ///
    /// ```
    /// use b2nd_frame::{Frame, KnownRanges};
    ///
    /// let error = Frame::read_at(KnownRanges::new(520), 0).unwrap_err();
    /// assert_eq!(error.ranges(), [0..512]);
    /// assert_eq!(error.to_string(), "incomplete: bytes 0 to 512 are needed");
    /// ```
    #[must_use]
    pub fn ranges(&self) -> &[Range<u64>] {
        match &self.0.detail {
            Detail::Ranges(ranges) => ranges,
            _ => &[],
        }
    }

    /// The finding that describes the fault in the bytes. An error of the kind [`ErrorKind::Malformed`] always has a
    /// finding, and an error of the kind [`ErrorKind::Changing`] sometimes has one. Errors of other kinds have no
    /// finding.
    #[must_use]
    pub fn finding(&self) -> Option<&Finding> {
        match &self.0.detail {
            Detail::Finding(finding) => Some(finding),
            _ => None,
        }
    }

    /// The reason why a file cannot be read or written; `None` if the kind is not [`ErrorKind::Io`].
    ///
    /// ```
    /// use std::io;
    /// use b2nd_frame::Frame;
    ///
    /// let error = Frame::open("no such file.b2nd").unwrap_err();
    /// assert_eq!(error.io_error().map(io::Error::kind), Some(io::ErrorKind::NotFound));
    /// ```
    #[must_use]
    pub fn io_error(&self) -> Option<&io::Error> {
        match &self.0.detail {
            Detail::Io(_, reason) => Some(reason),
            _ => None,
        }
    }

    /// The file or folder that the error is about, if it is known: the file with the fault ([`ErrorKind::Malformed`]),
    /// the file that cannot be read or written ([`ErrorKind::Io`]), the lock file ([`ErrorKind::Locked`]), or the file
    /// that already exists ([`ErrorKind::Exists`]).
    ///
    /// ```
    /// use std::path::Path;
    /// use b2nd_frame::Frame;
    ///
    /// let error = Frame::open("no such file.b2nd").unwrap_err();
    /// assert_eq!(error.path(), Some(Path::new("no such file.b2nd")));
    /// ```
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, detail, path, advice } = &*self.0;
        match detail {
            Detail::Io(action, reason) => {
                let path = path.as_deref().map_or("the file".into(), Path::to_string_lossy);
                write!(f, "cannot {action} {path}: {reason}{advice}")
            }
            Detail::Incomplete(needed) => write!(f, "incomplete: at least {needed} bytes are needed"),
            Detail::Ranges(ranges) => {
                let first = ranges.first().cloned().unwrap_or_default();
                let more = match ranges.len() {
                    0 | 1 => String::new(),
                    count => format!(" and {} more ranges", count - 1),
                };
                write!(f, "incomplete: bytes {} to {}{more} are needed", first.start, first.end)
            }
            Detail::Finding(finding) if *kind == ErrorKind::Changing => {
                write!(f, "the frame is being changed, or a change was interrupted: {finding}")
            }
            Detail::Finding(finding) => {
                path.as_ref().map_or(Ok(()), |path| write!(f, "{}: ", path.display()))?;
                write!(f, "{finding}{advice}")
            }
            Detail::Layer { action, name, .. } => write!(f, "cannot {action} metalayer `{}`", Escaped(name)),
            Detail::Text(text) => f.write_str(text),
        }
    }
}

/// Prints the message and the messages of all sources, for `unwrap` and for a `main` that returns the error. `{:#?}`
/// prints the fields.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            write!(f, "{self}")?;
            let mut sources = successors(error::Error::source(self), |error| error.source());
            return sources.try_for_each(|source| write!(f, ": {source}"));
        }
        f.debug_struct("Error")
            .field("kind", &self.kind())
            .field("message", &format_args!("{self}"))
            .field("source", &error::Error::source(self))
            .finish()
    }
}

impl error::Error for Error {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match &self.0.detail {
            Detail::Io(_, reason) => reason.source(),
            Detail::Layer { source, .. } => Some(source.as_ref()),
            _ => None,
        }
    }
}

/// Wraps the error in an `io::Error` with the same message; `downcast` returns the wrapped error. The kind of the
/// `io::Error` is the kind of the [`io_error`](Error::io_error) if there is one, or else the closest [`io::ErrorKind`].
///
/// ```
/// use std::io;
/// use b2nd_frame::{Error, ErrorKind, Frame};
///
/// fn header_len(file: &[u8]) -> io::Result<usize> {
///     Ok(Frame::parse(file)?.header().header_len)
/// }
///
/// let error = header_len(b"\x89HDF\r\n\x1a\n").unwrap_err();
/// assert_eq!(error.kind(), io::ErrorKind::InvalidData);
/// assert_eq!(error.downcast::<Error>()?.kind(), ErrorKind::Malformed);
/// # Ok::<(), io::Error>(())
/// ```
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::Io => error.io_error().map_or(io::ErrorKind::Other, Self::kind),
            ErrorKind::Incomplete => io::ErrorKind::UnexpectedEof,
            ErrorKind::Malformed | ErrorKind::Decode => io::ErrorKind::InvalidData,
            ErrorKind::Encode | ErrorKind::InvalidInput => io::ErrorKind::InvalidInput,
            ErrorKind::Locked => io::ErrorKind::WouldBlock,
            ErrorKind::Unsupported => io::ErrorKind::Unsupported,
            ErrorKind::Exists => io::ErrorKind::AlreadyExists,
            ErrorKind::Changing
            | ErrorKind::TooLarge
            | ErrorKind::ArrayUnknown
            | ErrorKind::OrderUnknown
            // Not `Interrupted`, because the standard library repeats a call after that error.
            | ErrorKind::Stopped => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}
