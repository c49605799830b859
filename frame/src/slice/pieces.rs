//! Slices, divided into pieces that fit in memory.

use core::ops::Range;

use crate::chunk::expansion::expansion_limit;
use crate::error::Error;
use crate::read::open::stored_len;
use crate::slice::selection::Selection;
use crate::slice::shared_array::ChunkLayout;
use crate::slice::slice_reader::Slice;

/// The target size of a piece, in bytes.
const TARGET: u64 = 1 << 25;

impl<R> Slice<'_, R> {
    /// Divides the slice into pieces of about 32 MiB, so that a program can read a slice that is larger than memory.
    /// The iterator returns the ranges of each piece, in C order.
    ///
    /// Pieces end where blocks end, so that no block is decompressed twice. A piece can be larger than 32 MiB for this
    /// purpose, up to the [expansion limit](crate::expansion_limit()) of the [stored size](crate::Frame::stored_len) of
    /// the frame. If a piece of whole blocks would be larger than this limit, pieces can end within blocks. Pieces of a
    /// [super-chunk](crate::Array#super-chunks) end where chunks end if possible, and otherwise anywhere.
    ///
    /// To read a piece, pass its ranges to [`Array::slice`](crate::Array::slice). If the slice has
    /// [`steps`](Self::steps), pass the same steps for each piece.
    ///
    /// # Errors
    ///
    /// The errors of [`nbytes`](Self::nbytes).
    ///
    /// ```
    /// use b2nd_frame::Array;
    ///
    /// let array = Array::open("tests/data/int32_3x5.b2nd")?;
    /// let mut items = Vec::new();
    /// let mut buffer = Vec::new();
    /// for piece in array.slice(&[1..3, 2..5]).pieces()? {
    ///     let piece = array.slice(&piece);
    ///     buffer.resize(piece.nbytes()?, 0);
    ///     piece.read_into(&mut buffer)?;
    ///     items.extend_from_slice(&buffer);
    /// }
    /// assert_eq!(items, [7_i32, 8, 9, 12, 13, 14].map(i32::to_le_bytes).concat());
    /// # Ok::<(), b2nd_frame::Error>(())
    /// ```
    pub fn pieces(&self) -> Result<Pieces, Error> {
        let selection = self.selection()?;
        selection.check_forward()?;
        Ok(Pieces::new(&selection, expansion_limit(stored_len(self.array.frame()))))
    }
}

/// An iterator over the pieces of a slice, in C order. [`Slice::pieces`] returns it.
///
/// ```
/// use b2nd_frame::Array;
///
/// let array = Array::open("tests/data/int32_3x5.b2nd")?;
/// // A small slice is one piece.
/// assert!(array.slice(&[1..3, 2..5]).pieces()?.eq([[1..3, 2..5]]));
/// # Ok::<(), b2nd_frame::Error>(())
/// ```
// A piece has a single index in each dimension before `dimension`, a range of indices in `dimension`, and all indices
// of the slice in the later dimensions.
#[derive(Clone, Debug)]
pub struct Pieces {
    ranges: Vec<Range<u64>>,
    steps: Vec<u64>,
    dimension: usize,
    /// The number of selected indices along `dimension` in a piece of the target size.
    target: u64,
    chunk: u64,
    block: u64,
    /// Whether the part of the slice in a row of blocks (see `new`) is within the expansion limit of the frame. If so,
    /// pieces end where blocks end, even if the pieces are then larger than the target.
    has_block_rows: bool,
    /// The start of the next piece along each dimension up to `dimension`; `None` at the end.
    next: Option<Vec<u64>>,
}

impl Pieces {
    fn new(selection: &Selection, limit: u64) -> Self {
        let (ranges, steps) = (selection.ranges.clone(), selection.steps.clone());
        let (chunkshape, blockshape) =
            (selection.array.geometry.chunkshape(), selection.array.geometry.blockshape());
        let size =
            |sizes: &[u64], dimension: usize| -> u64 { sizes.get(dimension).copied().unwrap_or(1).max(1) };
        let lengths: Vec<u64> = selection.lengths().collect();
        // A row is the part of the slice with a single index in `dimension`, and with all indices of the slice in the
        // later dimensions. `row` returns its size in bytes. A row of blocks has as many indices in `dimension` as a
        // block has. `has_block_rows` returns whether the part of the slice in a row of blocks has at most `limit`
        // bytes.
        let row = |dimension: usize| {
            let below = lengths.iter().skip(dimension + 1);
            below
                .fold(selection.array.typesize as u64, |nbytes, &length| nbytes.saturating_mul(length))
                .max(1)
        };
        let linear = match &selection.array.layout {
            ChunkLayout::Grid(_) => None,
            ChunkLayout::Linear { linear, .. } => Some(linear),
        };
        let has_block_rows = |dimension| {
            if linear.is_some() {
                return false;
            }
            let in_block = size(&blockshape, dimension).div_ceil(size(&steps, dimension));
            row(dimension).saturating_mul(in_block.min(size(&lengths, dimension))) <= limit
        };
        let last = ranges.len().saturating_sub(1);
        let fits = |&dimension: &usize| row(dimension) <= TARGET || has_block_rows(dimension);
        let dimension = (0..last).find(fits).unwrap_or(last);
        let starts = ranges.iter().take(dimension + 1).map(|range| range.start).collect();
        Self {
            dimension,
            target: (TARGET / row(dimension)).max(1),
            chunk: linear.map_or_else(
                || size(&chunkshape, dimension),
                |linear| {
                    let below = selection.array.geometry.shape();
                    let below = below.iter().skip(dimension + 1);
                    let row =
                        below.fold(selection.array.typesize as u64, |row, &items| row.saturating_mul(items));
                    (linear.chunksize / row.max(1)).max(1)
                },
            ),
            block: size(&blockshape, dimension),
            has_block_rows: has_block_rows(dimension),
            next: (selection.nbytes > 0).then_some(starts),
            ranges,
            steps,
        }
    }

    /// Ends the iteration: no piece follows the piece that was returned last.
    pub(super) fn stop(&mut self) {
        self.next = None;
    }

    /// The end, along `dimension`, of the piece that begins at index `start`.
    fn end(&self, start: u64, step: u64) -> u64 {
        let target = start.saturating_add(self.target.saturating_mul(step));
        let chunk_start = |index: u64| index / self.chunk * self.chunk;
        let block_start = |index: u64| chunk_start(index) + index % self.chunk / self.block * self.block;
        match (chunk_start(target), block_start(target)) {
            // If possible, the piece ends where a chunk begins, so that no chunk is divided among two pieces and read
            // twice.
            (chunk, _) if chunk > start => chunk,
            (_, block) if block > start => block,
            _ if !self.has_block_rows => target,
            // Here, `start` and `target` are in the same block, and the piece ends with this block. If the block
            // extends beyond its chunk, the piece ends with the chunk.
            _ => (block_start(start) + self.block).min(chunk_start(start) + self.chunk),
        }
    }
}

impl Iterator for Pieces {
    type Item = Vec<Range<u64>>;

    fn next(&mut self) -> Option<Vec<Range<u64>>> {
        let mut starts = self.next.take()?;
        let mut piece = self.ranges.clone();
        let starts_and_steps = starts.iter().zip(&self.steps).enumerate();
        for (part, (dimension, (&start, &step))) in piece.iter_mut().zip(starts_and_steps) {
            let end = if dimension == self.dimension { self.end(start, step) } else { start + 1 };
            *part = start..end.min(part.end);
        }
        // Compute the start of the next piece, in C order: `dimension` advances first, then the dimensions before it.
        let wholes = piece.iter().zip(&self.ranges).zip(&self.steps);
        for (start, ((part, whole), &step)) in starts.iter_mut().zip(wholes).rev() {
            // The first selected index after the piece.
            let next = (part.end - whole.start).checked_next_multiple_of(step);
            let next = next.and_then(|next| whole.start.checked_add(next));
            if let Some(next) = next.filter(|&next| next < whole.end) {
                *start = next;
                self.next = Some(starts);
                break;
            }
            *start = whole.start;
        }
        Some(piece)
    }
}
