//! Slices as rows: each item is deserialized with serde.

use core::fmt;
use core::ops::Range;
use std::time::Duration;
use std::vec;

use b2nd_serde::Dtype;
use b2nd_serde::dtype::items::ItemError;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::slice::array::Array;
use crate::slice::pieces::Pieces;
use crate::slice::slice_reader::Slice;
use crate::source::ReadAt;

/// The number of rows that are deserialized at once. It is small, because a row can take much more memory than the
/// bytes of its item.
const BATCH: usize = 1024;

impl<'a, R: ReadAt> Slice<'a, R> {
    /// Deserializes each item as `T` with serde, in C order. The documentation of [`items`](b2nd_serde::dtype::items)
    /// lists the possible types for each dtype.
    ///
    /// All rows are in memory at once. To read them in pieces, call [`rows`](Self::rows).
    ///
    /// # Errors
    ///
    /// The errors of [`read`](Self::read). [`Unsupported`](crate::ErrorKind::Unsupported) if the array has no dtype, or
    /// if the item size of the dtype is not the frame's typesize. [`InvalidInput`](crate::ErrorKind::InvalidInput) if
    /// an item does not fit `T`.
    ///
    /// ```
    /// use b2nd_frame::Array;
    /// use serde::Deserialize;
    ///
    /// #[derive(Debug, PartialEq, Deserialize)]
    /// struct Cell {
    ///     a: i32,
    ///     b: f64,
    /// }
    ///
    /// let array = Array::open("tests/data/int32_3x5.b2nd")?;
    /// assert_eq!(array.slice(&[1..2, 0..3]).read_rows::<u8>()?, [5, 6, 7]);
    ///
    /// let error = array.slice(&[1..2, 0..3]).read_rows::<Cell>().unwrap_err();
    /// let message = "item 0 of the slice: the dtype is <i4, not struct Cell";
    /// assert_eq!(error.to_string(), message);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn read_rows<T: DeserializeOwned>(self) -> Result<Vec<T>, Error> {
        self.rows()?.collect()
    }

    /// Deserializes each item as `T` with serde, in C order. The items are read in [`pieces`](Self::pieces), so that a
    /// slice can be larger than memory.
    ///
    /// # Errors
    ///
    /// The errors of [`read_rows`](Self::read_rows). An error that is found without reading a chunk is returned by
    /// `rows` itself. Any other error is returned by the iterator, which then ends.
    ///
    /// ```
    /// use b2nd_frame::Array;
    ///
    /// let array = Array::open("tests/data/int32_3x5.b2nd")?;
    /// let mut sum = 0;
    /// for item in array.slice(&[0..3, 0..5]).rows::<i64>()? {
    ///     sum += item?;
    /// }
    /// assert_eq!(sum, 105);
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn rows<T: DeserializeOwned>(self) -> Result<Rows<'a, R, T>, Error> {
        let selection = self.selection()?;
        let typesize = self.array.item_size();
        let dtype = self.array.parse_dtype()?;
        let dtype =
            dtype.ok_or_else(|| Error::unsupported("the array has no dtype, so its items have no fields"))?;
        let found = dtype.item_size();
        if found != typesize {
            return Err(Error::unsupported(format_args!(
                "items of dtype {dtype} have {found} bytes, but items of the frame have {typesize}"
            )));
        }
        // Items of some dtypes cannot be deserialized at all. Report this before the first read.
        dtype.read_items::<T>(&[]).map_err(Error::invalid_input)?;
        let pieces = self.pieces()?;
        let Slice { array, threads, patience, .. } = self;
        let (items, batch) = (Vec::new(), Vec::new().into_iter());
        Ok(Rows {
            array,
            steps: selection.steps.clone(),
            threads,
            patience,
            dtype,
            pieces,
            items,
            start: 0,
            batch,
            failed: None,
            nread: 0,
        })
    }
}

/// An iterator that reads the items of a slice as rows. [`Slice::rows`] returns it.
///
/// ```
/// use b2nd_frame::Array;
///
/// let array = Array::open("tests/data/int32_3x5.b2nd")?;
/// let mut rows = array.slice(&[2..3, 3..5]).rows::<u64>()?;
/// assert_eq!(rows.next().transpose()?, Some(13));
/// assert_eq!(rows.next().transpose()?, Some(14));
/// assert!(rows.next().is_none());
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
#[must_use = "nothing is read before the first row is taken"]
pub struct Rows<'a, R, T> {
    array: &'a Array<R>,
    steps: Vec<u64>,
    threads: usize,
    patience: Option<Duration>,
    dtype: Dtype,
    pieces: Pieces,
    /// The items of the latest piece. The items from byte `start` on are not deserialized yet.
    items: Vec<u8>,
    start: usize,
    batch: vec::IntoIter<T>,
    /// The error of the first item that could not be deserialized. The batch ends before this item, and the rows of the
    /// batch are returned before the error.
    failed: Option<Error>,
    /// The number of items of the slice that were deserialized so far.
    nread: u64,
}

impl<R: ReadAt, T: DeserializeOwned> Iterator for Rows<'_, R, T> {
    type Item = Result<T, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.batch.next() {
                return Some(Ok(row));
            }
            let result = if let Some(error) = self.failed.take() {
                Err(error)
            } else if self.start < self.items.len() {
                self.deserialize()
            } else {
                let ranges = self.pieces.next()?;
                self.read(&ranges)
            };
            if let Err(error) = result {
                self.pieces.stop();
                self.items.clear();
                return Some(Err(error));
            }
        }
    }
}

impl<R: ReadAt, T: DeserializeOwned> Rows<'_, R, T> {
    fn read(&mut self, ranges: &[Range<u64>]) -> Result<(), Error> {
        self.start = 0;
        let mut slice = self.array.slice(ranges).steps(&self.steps).threads(self.threads);
        slice.patience = self.patience;
        // Drop the previous piece before the next one is read, so that only one piece is in memory.
        self.items = Vec::new();
        self.items = slice.read()?;
        Ok(())
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
            match row {
                Ok(row) => rows.push(row),
                Err(error) => {
                    self.failed = Some(misfit("slice", before, &error));
                    break;
                }
            }
        }
        self.start += batch.len();
        self.nread += rows.len() as u64;
        self.batch = rows.into_iter();
        Ok(())
    }
}

/// The error for an item that does not fit the type of a row. `of` is `slice` or `region`, and the message gives the
/// number of the item in this slice or region. `error` counts items from the start of a batch, and `before` is the
/// number of items of the slice or region before this batch.
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
