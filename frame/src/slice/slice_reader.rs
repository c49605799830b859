//! `Slice`: a slice of an array, and how its items are read and decompressed.

use core::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::chunk::expansion::zeroed;
use crate::error::Error;
use crate::header::frame::Frame;
use crate::queue::MAX_THREADS;
use crate::read::chunk_file_bytes::ChunkBytes;
use crate::read::lock::{FileLock, share_sidecar};
use crate::slice::array::Array;
use crate::slice::selection::Selection;
use crate::slice::shared_slice::SharedSlice;
use crate::slice::subscripts::Subscript;
use crate::slice::threads::in_threads;
use crate::slice::waves::{Answer, Request, WaveLimits, Waves};
use crate::source::ReadAt;

/// A slice of an array that is not read yet. [`Array::slice`] and [`Array::whole`] return it.
///
/// ```
/// use b2nd_frame::Array;
///
/// let array = Array::open("tests/data/int32_3x5.b2nd")?;
/// let mut items = [0_i32; 6];
/// array.slice(&[1..3, 2..5]).threads(2).read_into(&mut items)?;
/// assert_eq!(items, [7, 8, 9, 12, 13, 14]);
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing is read before `read` or `read_into`"]
pub struct Slice<'a, R> {
    pub(super) array: &'a Array<R>,
    /// `None` for the whole array.
    subscripts: Option<Vec<Subscript>>,
    pub(super) steps: Option<Vec<u64>>,
    pub(super) threads: usize,
    /// How long to wait for the lock of a reader; `None` if no lock is taken.
    pub(super) patience: Option<Duration>,
}

impl<'a, R> Slice<'a, R> {
    /// A slice with these subscripts. If `subscripts` is `None`, the slice is the whole array.
    pub(crate) fn new(array: &'a Array<R>, subscripts: Option<Vec<Subscript>>) -> Self {
        Self { array, subscripts, steps: None, threads: 1, patience: None }
    }

    /// Selects every `step`-th index of each range, beginning with the first index. `steps` has a number for each
    /// dimension of the array, at least 1. Chunks and blocks without a selected item are skipped, as
    /// [`read`](Self::read) describes. If the number of steps is wrong, or a step is 0, the later call that reads the
    /// slice returns an error.
    ///
    /// ```
    /// use b2nd_frame::Array;
    ///
    /// let array = Array::open("tests/data/int32_3x5.b2nd")?;
    /// let items = array.slice(&[0..3, 1..5]).steps(&[2, 3]).read()?;
    /// assert_eq!(items, [1_i32, 4, 11, 14].map(i32::to_le_bytes).concat());
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn steps(self, steps: &[u64]) -> Self {
        Self { steps: Some(steps.into()), ..self }
    }

    /// Sets the number of threads that decompress, from 1 to 256. A number outside this range is clamped. The default
    /// is 1. The calling thread is one of these threads, and only the calling thread reads the file.
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: threads.clamp(1, MAX_THREADS), ..self }
    }

    /// Takes the lock of a reader each time the slice reads bytes from the file, and waits for the lock for at most
    /// `patience`. Only frames that C-Blosc2 wrote with locks have such a lock: the file `.b2lock` or `NAME.b2lock`. By
    /// default, the slice does not take this lock. The slice releases the lock after each read, so a long slice does
    /// not keep writers away for long.
    ///
    /// A writer with the lock can write several times until its change is complete: for example, first a longer shape,
    /// and then the new items. A slice that takes the lock of a reader never returns items of an unfinished change. The
    /// lock does not prevent the error [`Changing`](crate::ErrorKind::Changing). If anything was written since the
    /// array was opened, the slice fails with this error, even if it has waited for the lock. Call
    /// [`refresh`](Array::refresh) after a `Changing` error.
    ///
    /// If a writer holds the lock for longer than `patience`, the error is [`Locked`](crate::ErrorKind::Locked).
    ///
    /// ```
    /// use std::time::Duration;
    /// use b2nd_frame::Array;
    ///
    /// let array = Array::open("tests/data/int32_3x5.b2nd")?;
    /// assert_eq!(array.whole().patience(Duration::from_secs(10)).read()?.len(), 60);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience: Some(patience), ..self }
    }

    /// The size of all selected items together, in bytes.
    ///
    /// # Errors
    ///
    /// The errors of [`read`](Self::read) that are found without reading a chunk.
    pub fn nbytes(&self) -> Result<usize, Error> {
        self.selection().map(|selection| selection.nbytes)
    }

    pub(super) fn selection(&self) -> Result<Arc<Selection>, Error> {
        let array = &self.array.shared;
        Selection::new(array, self.subscripts.as_deref(), self.steps.as_deref()).map(Arc::new)
    }
}

impl<R: ReadAt> Slice<'_, R> {
    /// Reads the items in C order. Each item has [`item_size`](Array::item_size) bytes, in the byte order of the dtype.
    ///
    /// Only chunks with items of the slice are read. In these chunks, only blocks with such items are decompressed,
    /// unless the chunk has a dictionary, the delta filter, or blocks of different sizes. Items that were never written
    /// are zeros.
    ///
    /// # Errors
    ///
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput) if the subscripts do not fit the shape, or a step is not
    ///   positive.
    /// - [`Unsupported`](crate::ErrorKind::Unsupported) if a chunk has a codec or filter of a plugin.
    /// - [`TooLarge`](crate::ErrorKind::TooLarge) if the slice does not fit in memory, or if a needed block has more
    ///   bytes than the slice and also exceeds the [expansion limit](crate::expansion_limit()).
    /// - [`Malformed`](crate::ErrorKind::Malformed) if the header of a needed chunk breaks a rule of
    ///   [`check`](crate::check()), or if a needed block cannot be decompressed. Also if the needed chunks together
    ///   have more bytes than the frame, or if two of them are in the same chunk file. If two chunks of a contiguous
    ///   frame share bytes, a slice reads both if they can be decompressed. Only a check and a salvage compare the
    ///   places of all chunks.
    /// - [`Changing`](crate::ErrorKind::Changing) if the file was changed or replaced after the array was opened
    ///   ([more about it](Array#if-the-file-changes)).
    /// - [`Io`](crate::ErrorKind::Io) if the file cannot be read.
    ///
    /// Also the errors of [`chunks`](Frame::chunks).
    pub fn read(self) -> Result<Vec<u8>, Error> {
        let selection = self.selection()?;
        selection.check_forward()?;
        let mut items = zeroed(selection.nbytes)?;
        self.fill(&selection, &mut items, true)?;
        Ok(items)
    }

    pub(super) fn fill(
        self,
        selection: &Arc<Selection>,
        items: &mut [u8],
        is_zeroed: bool,
    ) -> Result<(), Error> {
        let Self { array, threads, patience, .. } = self;
        let (frame, target) = (array.frame(), SharedSlice::new(items, array.item_size(), is_zeroed, threads));
        array.shared.check_unchanged()?;
        // The version must be known before the first read, so that a change during the reads is noticed.
        array.version();
        let limits = WaveLimits::of(frame.reader());
        let mut waves = Waves::new(Arc::clone(selection), limits);
        let filled = in_threads(threads, selection, &target, |receive| {
            let mut answers = Vec::new();
            while waves.advance(answers, receive)? {
                let _lock = patience.map(|patience| frame.share_lock(patience)).transpose()?;
                answers = frame.read_wave(&mut waves)?;
            }
            Ok(())
        });
        // The version is checked even after an error, because a change of the file can have caused the error.
        let or_changing = |error| frame.or_changing(error, waves.chunk_file());
        let result = array.check_version().and_then(|()| filled.map_err(or_changing));
        result.inspect_err(|error| array.shared.record_change(error))
    }
}

impl<R: ReadAt> Frame<R> {
    /// Takes the lock of a reader if the frame was opened by its path and has a lock file.
    fn share_lock(&self, patience: Duration) -> Result<Option<FileLock>, Error> {
        let Some(path) = self.path() else { return Ok(None) };
        share_sidecar(path, self.header().is_sparse(), Instant::now().checked_add(patience))
    }

    /// Reads the byte ranges of a wave. First, all ranges in the frame are announced to the source. If the source is a
    /// [`KnownRanges`](crate::KnownRanges) that lacks some of them, its error lists all missing ranges at once.
    fn read_wave(&self, waves: &mut Waves) -> Result<Vec<Answer>, Error> {
        let requests = waves.requests();
        self.read_ahead(requests.iter().filter(|of| of.file.is_none()).map(|of| of.range.clone()))?;
        let mut answers = Vec::with_capacity(requests.len());
        for request in requests {
            let Some(answer) = self.read_request(request)? else {
                return Err(waves.missing(request.file));
            };
            answers.push(answer);
        }
        Ok(answers)
    }

    /// Reads the byte range of a request; `None` if the chunk file of the request is missing.
    fn read_request(&self, request: &Request) -> Result<Option<Answer>, Error> {
        let Range { start, end } = request.range;
        match request.file {
            Some(number) => {
                let read = self.file_bytes(number, start, end - start)?;
                Ok(read.map(|ChunkBytes { bytes, version, .. }| Answer { bytes: bytes.into(), version }))
            }
            None => self.read_range(start, end - start).map(|bytes| Some(bytes.into())),
        }
    }
}
