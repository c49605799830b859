//! Slices as rows: each item as a value of a type with serde.

use core::fmt;
use core::ops::Range;
use std::io::{Read, Seek};
use std::vec;

use b2nd_serde::Dtype;
use b2nd_serde::dtype::items::ItemError;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::format::decompress::expansion_limit;
use crate::format::frame::Frame;
use crate::io::selection::Selection;
use crate::io::slice::Slice;

/// The target size of a piece, in bytes.
const PIECE: u64 = 1 << 25;

/// The number of rows that are deserialized at once. Rows can be much longer than their items.
const BATCH: usize = 1024;

impl<'f, R: Read + Seek> Slice<'f, R> {
    /// Reads each item as a value of a type with serde, in C order. The page of
    /// [`items`](b2nd_serde::dtype::items) says which types a dtype takes.
    ///
    /// All rows are in memory at once; [`rows`](Self::rows) reads them in pieces.
    ///
    /// # Errors
    ///
    /// The errors of [`read`](Self::read). [`Unsupported`](crate::ErrorKind::Unsupported) if the array has no dtype, or
    /// one of another size than the frame's typesize. [`InvalidInput`](crate::ErrorKind::InvalidInput) if an item does
    /// not fit the type.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    /// use serde::Deserialize;
    ///
    /// #[derive(Debug, PartialEq, Deserialize)]
    /// struct Cell {
    ///     a: i32,
    ///     b: f64,
    /// }
    ///
    /// let mut frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// assert_eq!(frame.slice(&[1..2, 0..3]).read_rows::<u8>()?, [5, 6, 7]);
    ///
    /// let error = frame.slice(&[1..2, 0..3]).read_rows::<Cell>().unwrap_err();
    /// let message = "item 0 of the slice: the dtype is <i4, not struct Cell";
    /// assert_eq!(error.to_string(), message);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn read_rows<T: DeserializeOwned>(self) -> Result<Vec<T>, Error> {
        self.rows()?.collect()
    }

    /// Reads each item as a value of a type with serde, in C order and in pieces of some 32 MiB, so that memory does not
    /// depend on the size of the slice. A piece can be as large as the [expansion limit](crate::expansion_limit()) of the
    /// frame if that saves decompressing a block twice.
    ///
    /// # Errors
    ///
    /// The errors of [`read_rows`](Self::read_rows), except those of the chunks and items, which the iterator gives. It
    /// ends after an error.
    ///
    /// ```
    /// use b2nd_frame::Frame;
    ///
    /// let mut frame = Frame::open("tests/data/int32_3x5.b2nd")?;
    /// let mut sum = 0;
    /// for item in frame.slice(&[0..3, 0..5]).rows::<i64>()? {
    ///     sum += item?;
    /// }
    /// assert_eq!(sum, 105);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn rows<T: DeserializeOwned>(self) -> Result<Rows<'f, R, T>, Error> {
        let selection = self.selection()?;
        let array = self.frame.array()?;
        let dtype = array.map_or(Ok(None), |array| array.meta().parse_dtype()).map_err(Error::unsupported)?;
        let dtype =
            dtype.ok_or_else(|| Error::unsupported("the array has no dtype, so its items have no fields"))?;
        let (found, typesize) = (dtype.item_size(), selection.typesize);
        if found != typesize {
            return Err(Error::unsupported(format_args!(
                "items of dtype {dtype} have {found} bytes, but items of the frame have {typesize}"
            )));
        }
        // Some dtypes fit no type.
        dtype.read_items::<T>(&[]).map_err(Error::invalid_input)?;
        let limit = expansion_limit(self.frame.header().frame_len);
        let pieces = Pieces::new(self.ranges, &selection, limit);
        let (frame, threads, batch) = (self.frame, self.threads, Vec::new().into_iter());
        Ok(Rows { frame, threads, dtype, pieces, items: Vec::new(), start: 0, batch, nread: 0 })
    }
}

/// Reads the items of a slice as rows, from [`Slice::rows`].
///
/// ```
/// use b2nd_frame::Frame;
///
/// let mut frame = Frame::open("tests/data/int32_3x5.b2nd")?;
/// let mut rows = frame.slice(&[2..3, 3..5]).rows::<u64>()?;
/// assert_eq!(rows.next().transpose()?, Some(13));
/// assert_eq!(rows.next().transpose()?, Some(14));
/// assert!(rows.next().is_none());
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[must_use = "nothing is read before the first row is taken"]
pub struct Rows<'f, R, T> {
    frame: &'f mut Frame<R>,
    threads: usize,
    dtype: Dtype,
    pieces: Pieces,
    /// The items of the latest piece, from `start` on not yet deserialized.
    items: Vec<u8>,
    start: usize,
    batch: vec::IntoIter<T>,
    /// The number of items that were deserialized.
    nread: u64,
}

impl<R: Read + Seek, T: DeserializeOwned> Iterator for Rows<'_, R, T> {
    type Item = Result<T, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.batch.next() {
                return Some(Ok(row));
            }
            let result = if self.start < self.items.len() {
                self.deserialize()
            } else {
                let ranges = self.pieces.next()?;
                self.read(ranges)
            };
            if let Err(error) = result {
                self.pieces.next = None;
                self.items.clear();
                return Some(Err(error));
            }
        }
    }
}

impl<R: Read + Seek, T: DeserializeOwned> Rows<'_, R, T> {
    fn read(&mut self, ranges: Vec<Range<u64>>) -> Result<(), Error> {
        self.start = 0;
        let slice = Slice { frame: self.frame, ranges, threads: self.threads };
        self.items.resize(slice.nbytes()?, 0);
        slice.read_into(&mut self.items)
    }

    /// Deserializes the next items of the piece.
    fn deserialize(&mut self) -> Result<(), Error> {
        let rest = self.items.get(self.start..).unwrap_or_default();
        let batch = BATCH.saturating_mul(self.dtype.item_size()).min(rest.len());
        let batch = rest.get(..batch).unwrap_or_default();
        let before = self.nread;
        let items = self.dtype.read_items(batch).map_err(Error::invalid_input)?;
        let mut rows = Vec::with_capacity(items.len());
        for row in items {
            rows.push(row.map_err(|error| misfit("slice", before, &error))?);
        }
        self.start += batch.len();
        self.nread += rows.len() as u64;
        self.batch = rows.into_iter();
        Ok(())
    }
}

/// The error of an item, by its number in the slice or region.
#[cold]
pub(crate) fn misfit(of: &str, before: u64, error: &ItemError) -> Error {
    let item = before + error.item().unwrap_or_default() as u64;
    let (path, reason) = (error.path().escape_debug(), error.reason());
    let field = if error.path().is_empty() { "" } else { ", field " };
    Error::invalid_input(format_args!("item {item} of the {of}{field}{path}: {reason}"))
}

impl<R, T> fmt::Debug for Rows<'_, R, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("dtype", &self.dtype).field("nread", &self.nread).finish_non_exhaustive()
    }
}

/// Divides a slice into pieces in C order.
///
/// A piece has one index of each dimension before `dimension`, some of this one, and all of those after it.
struct Pieces {
    ranges: Vec<Range<u64>>,
    dimension: usize,
    /// The indices along `dimension` in a piece of the target size.
    target: u64,
    chunk: u64,
    block: u64,
    /// Whether pieces end at blocks, so that none is decompressed twice, even if they are larger than the target.
    has_block_rows: bool,
    /// The start of the next piece along each dimension up to `dimension`; `None` at the end.
    next: Option<Vec<u64>>,
}

impl Pieces {
    fn new(ranges: Vec<Range<u64>>, selection: &Selection, limit: u64) -> Self {
        let (chunkshape, blockshape) = (selection.geometry.chunkshape(), selection.geometry.blockshape());
        let length = |range: &Range<u64>| range.end - range.start;
        let size = |sizes: &[u64], dimension| sizes.get(dimension).copied().unwrap_or(1).max(1);
        // The bytes of one index along a dimension, and of a row of blocks.
        let row = |dimension: usize| {
            let lengths = ranges.iter().skip(dimension + 1).map(length);
            lengths.fold(selection.typesize as u64, u64::saturating_mul).max(1)
        };
        let has_block_rows = |dimension| {
            let blocks = ranges.get(dimension).map_or(1, length).min(size(&blockshape, dimension));
            row(dimension).saturating_mul(blocks) <= limit
        };
        let last = ranges.len().saturating_sub(1);
        let fits = |&dimension: &usize| row(dimension) <= PIECE || has_block_rows(dimension);
        let dimension = (0..last).find(fits).unwrap_or(last);
        let starts = ranges.iter().take(dimension + 1).map(|range| range.start).collect();
        Self {
            dimension,
            target: PIECE / row(dimension),
            chunk: size(&chunkshape, dimension),
            block: size(&blockshape, dimension),
            has_block_rows: has_block_rows(dimension),
            next: (selection.nbytes > 0).then_some(starts),
            ranges,
        }
    }

    /// The end of a piece along `dimension`.
    fn end(&self, start: u64, stop: u64) -> u64 {
        let target = start.saturating_add(self.target.max(1));
        let chunk_start = |index: u64| index / self.chunk * self.chunk;
        let block_start = |index: u64| chunk_start(index) + index % self.chunk / self.block * self.block;
        let end = match block_start(target) {
            block if block > start => block,
            _ if !self.has_block_rows => target,
            // The end of the block that contains the start.
            _ => (block_start(start) + self.block).min(chunk_start(start) + self.chunk),
        };
        end.min(stop)
    }
}

impl Iterator for Pieces {
    type Item = Vec<Range<u64>>;

    fn next(&mut self) -> Option<Vec<Range<u64>>> {
        let mut starts = self.next.take()?;
        let mut piece = self.ranges.clone();
        for (dimension, (part, &start)) in piece.iter_mut().zip(&starts).enumerate() {
            let end = if dimension == self.dimension { self.end(start, part.end) } else { start + 1 };
            *part = start..end;
        }
        // The next start: the last of the dimensions changes first.
        for ((start, part), whole) in starts.iter_mut().zip(&piece).zip(&self.ranges).rev() {
            if part.end < whole.end {
                *start = part.end;
                self.next = Some(starts);
                break;
            }
            *start = whole.start;
        }
        Some(piece)
    }
}
