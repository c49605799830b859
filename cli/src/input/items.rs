//! Reads the items of an array in pieces of bounded size.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::thread;

use b2nd_frame::{ChunkPlace, Error, Frame, SpecialValue, expansion_limit};
use b2nd_serde::Geometry;

use super::selection::Selected;
use super::source::Reader;
use crate::problem::Problem;

/// The target size of a read, in bytes. A read is longer if a single row of blocks is longer.
const AT_ONCE: u64 = 1 << 25;

/// The most items to read for the edges of an array: 6 per dimension are 6^16 for 16 dimensions.
const MOST_EDGES: usize = 1 << 22;

/// The most bytes of the edges of an array. A few hundred bytes of a file can claim any number.
const MOST_EDGE_BYTES: usize = 1 << 28;

/// An array whose items can be read.
pub(crate) struct Items {
    pub(crate) frame: Frame<Reader>,
    pub(crate) geometry: Geometry,
    pub(crate) typesize: usize,
    threads: usize,
    /// The most bytes of items in memory at once: the expansion limit for the stored size of the frame.
    pub(crate) limit: u64,
    /// The items of the latest read. Its memory serves the next one.
    buffer: Vec<u8>,
}

/// Receives the bytes of items.
pub(crate) type ReceiveItems<'r, E> = dyn FnMut(&[u8]) -> Result<(), E> + 'r;

/// Receives items, and how many times each one counts.
pub(crate) type ReceiveRepeated<'r, E> = dyn FnMut(&[u8], u64) -> Result<(), E> + 'r;

/// Receives a part of a slice: its ranges, and the bytes of its items.
pub(crate) type ReceivePart<'r, E> = dyn FnMut(&[Range<u64>], &[u8]) -> Result<(), E> + 'r;

impl Items {
    /// The array of a frame, unless its items are computed or stored elsewhere (`is_active`).
    pub(crate) fn of(mut frame: Frame<Reader>) -> Result<Self, Problem> {
        let geometry = match frame.array()? {
            Some(array) if !frame.kind().is_active() => {
                array.geometry().map_err(|error| Problem::new("malformed", error.to_string()))?
            }
            // The library's error has the reason.
            _ => {
                let why = frame.slice(&[]).nbytes().err();
                return Err(
                    why.map_or_else(|| Problem::new("unsupported", "the frame has no array"), Problem::from)
                );
            }
        };
        let typesize = usize::try_from(frame.header().typesize).unwrap_or_default();
        let limit = expansion_limit(stored_len(&frame));
        if typesize as u64 > limit {
            let message =
                format!("items of {typesize} bytes are too long: the limit for this frame is {limit} bytes");
            return Err(Problem::new("too-large", message));
        }
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Ok(Self { frame, geometry, typesize, threads, limit, buffer: Vec::new() })
    }

    /// With this number of threads. The default is one per processor.
    pub(crate) fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// The number of bytes of a slice.
    pub(crate) fn nbytes(&mut self, ranges: &[Range<u64>]) -> Result<usize, Error> {
        self.frame.slice(ranges).nbytes()
    }

    /// Reads the first and the last items along each dimension, as one array.
    pub(crate) fn read_edges(&mut self, selected: &Selected, length: usize) -> Result<Vec<u8>, Problem> {
        let ends = |items: u64| {
            let edge = length as u64;
            if items <= 2 * edge {
                vec![(0..items, 0)]
            } else {
                vec![(0..edge, 0), (items - edge..items, length)]
            }
        };
        let ends: Vec<_> = selected.lengths().map(ends).collect();
        let items =
            |(range, _): &(Range<u64>, usize)| usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let shape: Vec<usize> = ends.iter().map(|ends| ends.iter().map(items).sum()).collect();
        let count = shape.iter().fold(1, |count: usize, &items| count.saturating_mul(items));
        let nbytes = count.checked_mul(self.typesize).filter(|&nbytes| nbytes <= MOST_EDGE_BYTES);
        let Some(nbytes) = nbytes.filter(|_| count <= MOST_EDGES) else {
            let (rank, typesize) = (shape.len(), self.typesize);
            let message =
                format!("the edges of {rank} dimensions have {count} items of {typesize} bytes; use --slice");
            return Err(Problem::new("too-large", message));
        };
        let mut edges = vec![0; nbytes];
        let corners: usize = ends.iter().map(Vec::len).product();
        for corner in 0..corners {
            // A corner takes one end of each dimension: its number has a digit per dimension.
            let mut rest = corner;
            let places = ends.iter().filter_map(|ends| {
                let place = ends.get(rest % ends.len());
                rest /= ends.len();
                place
            });
            let (part, starts): (Vec<_>, Vec<_>) = places.cloned().unzip();
            let mut bytes = Vec::new();
            self.read_steps(&mut selected.ranges_of(&part), &selected.steps, &mut |items| {
                bytes.extend(items);
                Ok::<_, Error>(())
            })?;
            let places: Vec<_> = part
                .iter()
                .zip(starts)
                .map(|(range, start)| start..start + items(&(range.clone(), start)))
                .collect();
            copy_into(&mut edges, &shape, &places, &mut bytes.chunks_exact(self.typesize));
        }
        Ok(edges)
    }

    /// Reads all items, in any order. Of special chunks of a kind, one item is read.
    pub(crate) fn read_chunks<E: From<Error>>(
        &mut self,
        receive: &mut ReceiveRepeated<'_, E>,
    ) -> Result<(), E> {
        let geometry = self.geometry.clone();
        // The first chunk of each special value, and the number of items.
        let mut special: Vec<(SpecialValue, u64, u64)> = Vec::new();
        let mut stored = Vec::new();
        let mut chunks = self.frame.chunks()?;
        while let Some(entry) = chunks.next().transpose()? {
            let ChunkPlace::Special(value) = entry.place else {
                stored.push(entry.number);
                continue;
            };
            let nitems = geometry.chunk(entry.number).map_or(0, |chunk| chunk.extent().nitems());
            match special.iter_mut().find(|(other, ..)| *other == value) {
                Some((.., count)) => *count = count.saturating_add(nitems),
                None => special.push((value, entry.number, nitems)),
            }
        }
        drop(chunks);
        if special.is_empty() {
            let whole: Vec<_> = geometry.shape().iter().map(|&items| 0..items).collect();
            return self.read_rows(&whole, &mut |_, bytes| receive(bytes, 1));
        }
        for chunk in stored.into_iter().filter_map(|number| geometry.chunk(number)) {
            let ranges: Vec<_> = chunk.extent().ranges().collect();
            self.read_rows(&ranges, &mut |_, bytes| receive(bytes, 1))?;
        }
        for (_, number, count) in special {
            let Some(chunk) = geometry.chunk(number) else { continue };
            let first: Vec<_> = chunk.extent().ranges().map(|range| range.start..range.start + 1).collect();
            receive(self.read_again(&first)?, count)?;
        }
        Ok(())
    }

    /// Reads a slice into memory that serves the next read.
    pub(crate) fn read_again(&mut self, ranges: &[Range<u64>]) -> Result<&[u8], Error> {
        let nbytes = self.nbytes(ranges)?;
        self.buffer.resize(nbytes, 0);
        self.frame.slice(ranges).threads(self.threads).read_into(&mut self.buffer)?;
        Ok(&self.buffer)
    }

    /// Reads a whole slice, unless it is too long.
    pub(crate) fn read_all(&mut self, selected: &Selected) -> Result<Vec<u8>, Problem> {
        let limit = self.limit;
        let nbytes = selected.lengths().fold(self.typesize as u64, u64::saturating_mul);
        if nbytes > limit {
            let message = format!(
                "{nbytes} bytes of items are too many to print: the limit for this frame is {limit}; use --slice, or `b2nd convert`"
            );
            return Err(Problem::new("too-large", message));
        }
        let mut bytes = Vec::new();
        self.read_selected(selected, &mut |items| {
            bytes.extend(items);
            Ok::<_, Error>(())
        })?;
        Ok(bytes)
    }

    /// Reads a slice in the order of its items, some rows of blocks at a time.
    pub(crate) fn read_selected<E: From<Error>>(
        &mut self,
        selected: &Selected,
        receive: &mut ReceiveItems<'_, E>,
    ) -> Result<(), E> {
        self.read_steps(&mut selected.ranges.clone(), &selected.steps, receive)
    }

    /// Reads every so many indices of the ranges. If the steps of the first dimension pass over blocks, each index is read
    /// by itself; else the items between are read, too, and left out.
    fn read_steps<E: From<Error>>(
        &mut self,
        ranges: &mut [Range<u64>],
        steps: &[u64],
        receive: &mut ReceiveItems<'_, E>,
    ) -> Result<(), E> {
        // Beside an empty dimension, the others can have any length.
        if ranges.iter().any(Range::is_empty) {
            return receive(&[]);
        }
        let blockshape = self.geometry.blockshape();
        let first = ranges.iter().position(|range| range.end - range.start > 1);
        let step = first.and_then(|first| steps.get(first).zip(blockshape.get(first)));
        if let (Some(first), Some((&step, _))) =
            (first, step.filter(|(step, block)| **step > 1 && step >= block))
            && let Some(whole) = ranges.get(first).cloned()
        {
            for index in whole.clone().step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
                ranges.get_mut(first).into_iter().for_each(|range| *range = index..index + 1);
                self.read_steps(ranges, steps, receive)?;
            }
            ranges.get_mut(first).into_iter().for_each(|range| *range = whole.clone());
            return Ok(());
        }
        if steps.iter().all(|&step| step == 1) {
            return self.read_rows(ranges, &mut |_, bytes| receive(bytes));
        }
        let (typesize, starts) = (self.typesize, ranges.iter().map(|range| range.start).collect::<Vec<_>>());
        let mut items = Vec::new();
        self.read_rows(ranges, &mut |part, bytes| {
            let dimensions = part.iter().zip(&starts).zip(steps);
            let dimensions: Vec<_> =
                dimensions.map(|((part, start), step)| Dimension::new(part, *start, *step)).collect();
            items.clear();
            pick(bytes, &dimensions, typesize, &mut items);
            receive(&items)
        })
    }

    /// Reads ranges in the order of their items, some rows of blocks at a time.
    pub(crate) fn read_rows<E: From<Error>>(
        &mut self,
        ranges: &[Range<u64>],
        receive: &mut ReceivePart<'_, E>,
    ) -> Result<(), E> {
        self.by_block_rows(&mut ranges.to_vec(), 0, receive)
    }

    /// Reads a slice in runs of whole block rows along a dimension. If a block row exceeds the limit, only as many
    /// indices along the dimension are read as fit in one read. If a single index does not fit, it is divided along the
    /// next dimension in the same way. This decompresses a block several times, but bounds the memory: a small file can
    /// claim rows of any length.
    fn by_block_rows<E: From<Error>>(
        &mut self,
        ranges: &mut [Range<u64>],
        dimension: usize,
        receive: &mut ReceivePart<'_, E>,
    ) -> Result<(), E> {
        let nbytes = self.nbytes(ranges)? as u64;
        let Some(whole) = ranges.get(dimension).cloned().filter(|_| nbytes > AT_ONCE) else {
            return self.read_and_pass(ranges, receive);
        };
        let size = |sizes: &[u64]| sizes.get(dimension).copied().unwrap_or(1).max(1);
        let (chunk, block) = (size(&self.geometry.chunkshape()), size(&self.geometry.blockshape()));
        let length = whole.end - whole.start;
        let row = nbytes / length;
        let (at_once, has_block_rows) = (AT_ONCE / row, block.min(length).saturating_mul(row) <= self.limit);
        let is_single = length == 1 || at_once == 0 && !has_block_rows;
        let mut start = whole.start;
        while start < whole.end {
            let end = match start.saturating_add(at_once) {
                _ if is_single => start + 1,
                // At least one row of blocks, and only whole rows, so that no block is decompressed twice.
                end if has_block_rows => next_block(start, chunk, block).max(last_block(end, chunk, block)),
                // A row of blocks exceeds the limit, but a single index along this dimension does not.
                end => end,
            };
            let end = end.min(whole.end);
            if let Some(range) = ranges.get_mut(dimension) {
                *range = start..end;
            }
            if is_single {
                self.by_block_rows(ranges, dimension + 1, receive)?;
            } else {
                self.read_and_pass(ranges, receive)?;
            }
            start = end;
        }
        if let Some(range) = ranges.get_mut(dimension) {
            *range = whole;
        }
        Ok(())
    }

    fn read_and_pass<E: From<Error>>(
        &mut self,
        ranges: &[Range<u64>],
        receive: &mut ReceivePart<'_, E>,
    ) -> Result<(), E> {
        receive(ranges, self.read_again(ranges)?)
    }
}

/// The stored size of a frame; for a sparse frame, of all files in its folder.
fn stored_len(frame: &Frame<Reader>) -> u64 {
    let folder = frame.path().and_then(Path::parent).filter(|_| frame.header().is_sparse());
    let files = folder.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten();
    let lengths = files.filter_map(|file| Some(file.ok()?.metadata().ok()?.len()));
    lengths.fold(frame.header().frame_len, u64::saturating_add)
}

/// The end of the block that contains an item.
fn next_block(item: u64, chunk: u64, block: u64) -> u64 {
    let (start, within) = (item / chunk * chunk, item % chunk);
    start + ((within / block + 1) * block).min(chunk)
}

/// The start of the block that contains an item.
fn last_block(item: u64, chunk: u64, block: u64) -> u64 {
    item / chunk * chunk + item % chunk / block * block
}

/// A dimension of a part of an array, of which some indices are selected.
struct Dimension {
    length: usize,
    indices: Vec<usize>,
}

impl Dimension {
    /// Of the indices from `start` on, the first of every `step`.
    fn new(part: &Range<u64>, start: u64, step: u64) -> Self {
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let first = start + (part.start - start).next_multiple_of(step);
        let indices = (first..part.end).step_by(number(step)).map(|index| number(index - part.start));
        Self { length: number(part.end - part.start), indices: indices.collect() }
    }
}

/// Appends the selected items of a part.
fn pick(part: &[u8], dimensions: &[Dimension], typesize: usize, items: &mut Vec<u8>) {
    let Some((Dimension { length, indices }, below)) = dimensions.split_first() else {
        items.extend(part.get(..typesize).unwrap_or_default());
        return;
    };
    let row = part.len() / (*length).max(1);
    for index in indices {
        pick(part.get(index * row..(index + 1) * row).unwrap_or_default(), below, typesize, items);
    }
}

/// Copies items into a part of an array of this shape.
fn copy_into<'i>(
    array: &mut [u8],
    shape: &[usize],
    places: &[Range<usize>],
    items: &mut impl Iterator<Item = &'i [u8]>,
) {
    let (Some((&length, shape)), Some((range, places))) = (shape.split_first(), places.split_first()) else {
        if let Some(item) = items.next() {
            array.copy_from_slice(item);
        }
        return;
    };
    let below = array.len() / length.max(1);
    for row in array.chunks_exact_mut(below.max(1)).skip(range.start).take(range.len()) {
        copy_into(row, shape, places, items);
    }
}
