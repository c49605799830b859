//! Slices of arrays: their items, decompressed.

use core::ops::Range;
use std::io::{Read, Seek};
use std::sync::mpsc::{self, Receiver, TrySendError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use b2nd_serde::Geometry;

use crate::error::Error;
use crate::finding::first_error;
use crate::format::array::Array;
use crate::format::decompress::zeroed;
use crate::format::frame::Frame;
use crate::format::object_kind::ObjectKind;
use crate::io::piece::{Piece, Scratch, Unshared, read_pieces};
use crate::io::shared_slice::SharedSlice;
use crate::rules::array::{agreement, valid_geometry};
use crate::rules::chunk::ChunkRules;
use crate::rules::header::{self, Surroundings};

/// The maximum number of threads of a read. More do not help, and each takes a place in the queue.
pub(crate) const MAX_THREADS: usize = 256;

/// A slice of an array that is about to be read, from [`Frame::slice`].
///
/// ```
/// use b2nd_frame::Frame;
///
/// let mut frame = Frame::open("tests/data/int32_3x5.b2nd")?;
/// let mut items = [0; 24];
/// frame.slice(&[1..3, 2..5]).threads(2).read_into(&mut items)?;
/// let items = items.as_chunks().0.iter().map(|&item| i32::from_le_bytes(item));
/// assert!(items.eq([7, 8, 9, 12, 13, 14]));
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing is read before `read` or `read_into`"]
pub struct Slice<'f, R> {
    pub(super) frame: &'f mut Frame<R>,
    pub(super) ranges: Vec<Range<u64>>,
    pub(super) threads: usize,
}

impl<R> Frame<R> {
    /// Selects a slice of the array, with a range for each dimension. An array without dimensions takes `&[]`.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let mut frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let row = frame.slice(&[1..2, 0..5]).read()?;
    /// assert_eq!(row.len(), 5 * 4);
    /// assert_eq!(row[..4], 5_i32.to_le_bytes());
    ///
    /// let error = frame.slice(&[0..3, 4..6]).read().unwrap_err();
    /// assert_eq!(error.to_string(), "slice[1] stops at 6, but shape[1] is 5");
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn slice(&mut self, ranges: &[Range<u64>]) -> Slice<'_, R> {
        Slice { frame: self, ranges: ranges.into(), threads: 1 }
    }

    /// Selects the whole array.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let mut frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// assert_eq!(frame.whole().read()?.len(), 3 * 5 * 4);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn whole(&mut self) -> Slice<'_, R> {
        // Without an array, reading fails.
        let array = self.array().ok().flatten();
        let shape = array.as_ref().map(Array::shape).unwrap_or_default();
        let ranges = shape.iter().map(|items| 0..u64::try_from(*items).unwrap_or_default()).collect();
        Slice { frame: self, ranges, threads: 1 }
    }
}

impl<R> Slice<'_, R> {
    /// Sets the number of threads that decompress, from 1 to 256; other numbers are clamped. The default is 1. The
    /// calling thread is one of them, and only it reads the file.
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: threads.clamp(1, MAX_THREADS), ..self }
    }

    /// The size of the items in bytes.
    ///
    /// # Errors
    ///
    /// The errors of [`read`](Self::read) that are found without reading a chunk.
    pub fn nbytes(&self) -> Result<usize, Error> {
        SlicePlan::new(self.frame, &self.ranges).map(|plan| plan.nbytes)
    }
}

impl<R: Read + Seek> Slice<'_, R> {
    /// Reads the items in C order. Each has the size of the header's typesize and the byte order of the dtype.
    ///
    /// Only chunks with items of the slice are read, and only the blocks with such items are decompressed, unless the
    /// chunk has a dictionary or the delta filter. Items that were never written are zeros.
    ///
    /// # Errors
    ///
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput) if the ranges do not fit the shape.
    /// - [`Unsupported`](crate::ErrorKind::Unsupported) if the frame has no array, or its data is computed or in other
    ///   files; if the items are Python objects; if a chunk has a codec or filter of a plugin.
    /// - [`TooLarge`](crate::ErrorKind::TooLarge) if the slice does not fit in memory, or a needed block claims more
    ///   bytes than the [expansion limit](crate::expansion_limit()) and the slice.
    /// - [`Malformed`](crate::ErrorKind::Malformed) if the header of the frame or of a needed chunk breaks a rule of
    ///   [`check`](crate::check()), if a needed block cannot be decompressed, or if two chunks share bytes or a file.
    /// - [`Io`](crate::ErrorKind::Io) if the file cannot be read.
    ///
    /// Also the errors of [`chunks`](Frame::chunks).
    pub fn read(self) -> Result<Vec<u8>, Error> {
        let plan = SlicePlan::new(self.frame, &self.ranges)?;
        let mut items = zeroed(plan.nbytes)?;
        self.fill(&plan, &mut items, true)?;
        Ok(items)
    }

    /// Reads the items into a buffer of exactly [`nbytes`](Self::nbytes) bytes. After an error its content is not
    /// specified.
    ///
    /// # Errors
    ///
    /// The errors of [`read`](Self::read), and [`InvalidInput`](crate::ErrorKind::InvalidInput) if the buffer has
    /// another length.
    pub fn read_into(self, items: &mut [u8]) -> Result<(), Error> {
        let plan = SlicePlan::new(self.frame, &self.ranges)?;
        if plan.nbytes != items.len() {
            let (nbytes, found) = (plan.nbytes, items.len());
            return Err(Error::invalid_input(format_args!(
                "the slice has {nbytes} bytes, but the buffer {found}"
            )));
        }
        self.fill(&plan, items, false)
    }

    pub(super) fn fill(self, plan: &SlicePlan, items: &mut [u8], is_zeroed: bool) -> Result<(), Error> {
        if items.is_empty() {
            return Ok(());
        }
        let Self { frame, ranges, threads } = self;
        let SlicePlan { geometry, typesize, .. } = plan;
        let rules = ChunkRules::new(frame.header(), true);
        let mut unshared = Unshared::new(frame.header().frame_len);
        let mut chunks = frame.chunks()?;
        let target = SharedSlice::new(items, *typesize, is_zeroed, threads);
        let parts = geometry.chunks_in(&ranges).map_err(Error::geometry)?;
        in_threads(threads, &target, |receive| {
            for part in parts {
                read_pieces(&mut chunks, &rules, &part, *typesize, &mut unshared, receive)?;
            }
            Ok(())
        })
    }
}

/// The geometry of the array, and the size of the slice.
pub(crate) struct SlicePlan {
    pub(super) geometry: Geometry,
    pub(crate) typesize: usize,
    pub(crate) nbytes: usize,
}

impl SlicePlan {
    pub(crate) fn new<R>(frame: &Frame<R>, ranges: &[Range<u64>]) -> Result<Self, Error> {
        let array = array_with_data(frame)?;
        let geometry = valid_geometry(&array)?;
        geometry.chunks_in(ranges).map_err(Error::geometry)?;
        let header = frame.header();
        // At least 1, or `array_with_data` has failed.
        let typesize = usize::try_from(header.typesize).unwrap_or_default();
        let lengths = || ranges.iter().map(|range| range.end - range.start);
        // An empty slice has 0 bytes, even where the product of its other lengths overflows.
        let nbytes = if lengths().any(|length| length == 0) {
            Some(0)
        } else {
            lengths().try_fold(typesize as u64, u64::checked_mul)
        };
        // Rust allocates at most `isize::MAX` bytes at once.
        let nbytes = nbytes.and_then(|nbytes| isize::try_from(nbytes).ok()?.try_into().ok());
        let nbytes =
            nbytes.ok_or_else(|| Error::too_large("the slice has more bytes than memory can hold"))?;
        Ok(Self { geometry, typesize, nbytes })
    }
}

/// The array of a frame. The data must be in this frame and readable, and the header must break no rule.
fn array_with_data<R>(frame: &Frame<R>) -> Result<Array<'_>, Error> {
    let kind = frame.kind();
    if let Some(action) = kind.action() {
        return Err(Error::unsupported(format_args!(
            "the data of this {kind} is not here: a reader must {action}"
        )));
    }
    let array = frame.array()?.filter(|_| kind == ObjectKind::NDArray);
    let array = array.ok_or_else(|| {
        Error::unsupported(format_args!("the frame has no array: it is of the kind {kind}"))
    })?;
    if let Ok(Some(dtype)) = array.meta().parse_dtype() {
        if dtype.has_objects() {
            return Err(Error::unsupported(
                "the items are pointers to Python objects, which were lost with the process that wrote them",
            ));
        }
    }
    let mut findings = header::check(frame, Surroundings::default());
    findings.extend(agreement(&array, frame.header()));
    match first_error(&findings) {
        Some(finding) => Err(Error::malformed(finding.clone())),
        None => Ok(array),
    }
}

/// A piece and its number in the order of reading.
type NumberedPiece<'g> = (usize, Piece<'g>);

/// Copies pieces into a slice in several threads, while `produce` reads them in the calling thread. The result is the
/// error of the first piece that failed, in the order of reading: the same error as with one thread.
fn in_threads<'g>(
    threads: usize,
    target: &SharedSlice<'_>,
    produce: impl FnOnce(&mut dyn FnMut(Piece<'g>) -> Result<(), Error>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut scratch = Scratch::default();
    if threads == 1 {
        return produce(&mut |piece| piece.copy(target, &mut scratch));
    }
    let errors = FirstError::default();
    // One waiting piece for each thread: a thread that finishes finds work, and the queue holds little memory.
    let (sender, receiver) = mpsc::sync_channel(threads);
    let receiver = Mutex::new(receiver);
    thread::scope(|scope| {
        for _ in 1..threads {
            let work = || {
                let mut scratch = Scratch::default();
                while let Some((number, piece)) = next(&receiver) {
                    errors.record(number, piece.copy(target, &mut scratch));
                }
            };
            // The system has no more threads. Those that started, or the calling thread alone, do the work.
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        let mut number = 0;
        let produced = produce(&mut |piece| {
            // `stopped` is never returned, as the recorded error has a lower number.
            if errors.lock().is_some() {
                return Err(Error::stopped());
            }
            // The queue is full: the calling thread copies this piece instead of waiting.
            if let Err(TrySendError::Full((number, piece)) | TrySendError::Disconnected((number, piece))) =
                sender.try_send((number, piece))
            {
                errors.record(number, piece.copy(target, &mut scratch));
            }
            number += 1;
            Ok(())
        });
        // Without a sender, the threads stop when the queue is empty. The calling thread helps to empty it.
        drop(sender);
        while let Some((number, piece)) = next(&receiver) {
            errors.record(number, piece.copy(target, &mut scratch));
        }
        // The error of reading comes after the errors of all pieces read before it.
        errors.record(number, produced);
    });
    errors.0.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), |(_, error)| Err(error))
}

fn next<'g>(receiver: &Mutex<Receiver<NumberedPiece<'g>>>) -> Option<NumberedPiece<'g>> {
    receiver.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// The error with the lowest piece number so far.
#[derive(Default)]
struct FirstError(Mutex<Option<(usize, Error)>>);

impl FirstError {
    fn lock(&self) -> MutexGuard<'_, Option<(usize, Error)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, number: usize, result: Result<(), Error>) {
        let Err(error) = result else { return };
        let mut first = self.lock();
        if first.as_ref().is_none_or(|&(earlier, _)| number < earlier) {
            *first = Some((number, error));
        }
    }
}
