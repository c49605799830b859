//! Reads the items of an array in pieces of bounded size.

use std::mem;
use std::ops::Range;
use std::thread;

use b2nd_frame::{ChunkPlace, Frame, Slice, SpecialValue, expansion_limit};
use b2nd_serde::Geometry;

use super::buffer;
use super::selection::Selected;
use super::source::Reader;
use crate::problem::Problem;

/// The maximum number of items to read for the edges of an array. The edges have up to 6 indices in each dimension, so
/// an array of 16 dimensions can have 6^16 items at its edges.
const MOST_EDGES: usize = 1 << 22;

/// The maximum number of bytes to read for the edges of an array. A file of a few hundred bytes can claim items of any
/// size.
const MOST_EDGE_BYTES: usize = 1 << 28;

/// An array whose items can be read.
pub(crate) struct Items {
    pub(crate) frame: Frame<Reader>,
    pub(crate) geometry: Geometry,
    pub(crate) typesize: usize,
    threads: usize,
    /// The maximum number of bytes of an item, and of a slice for `read_all`. It is the [`expansion_limit`] for the
    /// stored size of the frame, so a small file cannot claim very large items.
    pub(crate) limit: u64,
    /// The items of the latest read. The next read reuses this memory.
    buffer: Vec<u8>,
    /// For an object in an object store: the byte ranges of the chunk index, and their bytes. Every slice needs these
    /// ranges first. Their bytes are kept, so that the next slice need not request the ranges again.
    index: Option<(Wave, Vec<Vec<u8>>)>,
}

/// Byte ranges that are requested together, each with the name of the file in which it is. `None` means the file of the
/// frame itself.
type Wave = Vec<(Option<String>, Range<u64>)>;

/// A function that receives the bytes of items, and the number of times that each item counts. Each item of a stored
/// chunk counts once. Of all special chunks with the same value, only one item is passed: it counts for all items of
/// these chunks.
pub(crate) type ReceiveRepeated<'r, E> = dyn FnMut(&[u8], u64) -> Result<(), E> + 'r;

/// A function that receives a piece of a slice: the ranges of the piece, and the bytes of its items.
pub(crate) type ReceivePiece<'r, E> = dyn FnMut(&[Range<u64>], &[u8]) -> Result<(), E> + 'r;

impl Items {
    /// Prepares the reading of the items of the array in a frame. Refuses a frame without an array. Also refuses a
    /// frame whose items a reader must compute or fetch from elsewhere (`ObjectKind::is_active`).
    pub(crate) fn new(mut frame: Frame<Reader>) -> Result<Self, Problem> {
        let geometry = match frame.array()? {
            Some(array) if !frame.kind().is_active() => {
                array.geometry().map_err(|error| Problem::new("malformed", error.to_string()))?
            }
            // The library refuses to read the items of such a frame, and its error says why.
            _ => {
                let why = frame.whole().nbytes().err();
                return Err(
                    why.map_or_else(|| Problem::new("unsupported", "the frame has no array"), Problem::from)
                );
            }
        };
        let typesize = usize::try_from(frame.header().typesize).unwrap_or_default();
        let limit = expansion_limit(frame.stored_len());
        if typesize as u64 > limit {
            let message =
                format!("items of {typesize} bytes are too long: the limit for this frame is {limit} bytes");
            return Err(Problem::new("too-large", message));
        }
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Ok(Self { frame, geometry, typesize, threads, limit, buffer: Vec::new(), index: None })
    }

    /// Sets the number of threads. The default is one per processor.
    pub(crate) fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    fn slice(&mut self, ranges: &[Range<u64>], steps: &[u64]) -> Slice<'_, Reader> {
        self.frame.slice(ranges).steps(steps).threads(self.threads)
    }

    /// Refuses a slice that cannot be read, before anything is printed.
    pub(crate) fn check(&mut self, selected: &Selected) -> Result<(), Problem> {
        self.slice(&selected.ranges, &selected.steps).nbytes()?;
        Ok(())
    }

    /// Reads the edges of a slice as one array: the items whose index is among the first or the last `length` indices
    /// of the slice in each dimension.
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
        let mut edges = buffer::zeroed(nbytes)?;
        let corners: usize = ends.iter().map(Vec::len).product();
        for corner in 0..corners {
            // A corner is a choice of one end in each dimension. The number `corner` encodes the choice with one digit
            // per dimension: the digit is the index of the chosen end. The base of a digit is the number of ends of its
            // dimension, which is 1 or 2.
            let mut rest = corner;
            let places = ends.iter().filter_map(|ends| {
                let place = ends.get(rest % ends.len());
                rest /= ends.len();
                place
            });
            let (part, starts): (Vec<_>, Vec<_>) = places.cloned().unzip();
            let typesize = self.typesize;
            let bytes = self.read_reusing(&selected.array_ranges(&part), &selected.steps)?;
            let places: Vec<_> = part
                .iter()
                .zip(starts)
                .map(|(range, start)| start..start + items(&(range.clone(), start)))
                .collect();
            copy_into(&mut edges, &shape, &places, &mut bytes.chunks_exact(typesize));
        }
        Ok(edges)
    }

    /// Reads all items, in any order. Of all special chunks with the same value, only one item is read. `receive` gets
    /// this item together with the number of items in these chunks.
    pub(crate) fn read_chunks<E: From<Problem>>(
        &mut self,
        receive: &mut ReceiveRepeated<'_, E>,
    ) -> Result<(), E> {
        let geometry = self.geometry.clone();
        let ones = vec![1; geometry.ndim()];
        // Each special value, the number of the first chunk with this value, and the count of the items in all chunks
        // with this value.
        let mut special: Vec<(SpecialValue, u64, u64)> = Vec::new();
        let mut stored = Vec::new();
        let mut chunks = self.frame.chunks().map_err(Problem::from)?;
        while let Some(entry) = chunks.next().transpose().map_err(Problem::from)? {
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
            return self.read_pieces(&whole, &ones, &mut |_, bytes| receive(bytes, 1));
        }
        for chunk in stored.into_iter().filter_map(|number| geometry.chunk(number)) {
            let ranges: Vec<_> = chunk.extent().ranges().collect();
            self.read_pieces(&ranges, &ones, &mut |_, bytes| receive(bytes, 1))?;
        }
        for (_, number, count) in special {
            let Some(chunk) = geometry.chunk(number) else { continue };
            let first: Vec<_> = chunk.extent().ranges().map(|range| range.start..range.start + 1).collect();
            receive(self.read_reusing(&first, &ones)?, count)?;
        }
        Ok(())
    }

    /// Reads a slice into a buffer that the next call reuses.
    pub(crate) fn read_reusing(&mut self, ranges: &[Range<u64>], steps: &[u64]) -> Result<&[u8], Problem> {
        let nbytes = self.slice(ranges, steps).nbytes()?;
        let mut buffer = mem::take(&mut self.buffer);
        buffer::resize(&mut buffer, nbytes)?;
        self.read_into(ranges, steps, &mut buffer)?;
        self.buffer = buffer;
        Ok(&self.buffer)
    }

    /// Reads a slice into a buffer that has the size of the slice.
    pub(crate) fn read_into(
        &mut self,
        ranges: &[Range<u64>],
        steps: &[u64],
        items: &mut [u8],
    ) -> Result<(), Problem> {
        if self.frame.reader_mut().object().is_some() {
            let read = self.read_object(ranges, steps)?;
            if items.len() != read.len() {
                let why = format!("the slice has {} bytes, but the buffer {}", read.len(), items.len());
                return Err(Problem::new("invalid-input", why));
            }
            items.copy_from_slice(&read);
            return Ok(());
        }
        Ok(self.slice(ranges, steps).read_into(items)?)
    }

    /// Reads a slice of an object in an object store. The byte ranges are requested in waves: the ranges of one wave
    /// are requested in parallel, and their bytes can show which ranges the next wave needs.
    fn read_object(&mut self, ranges: &[Range<u64>], steps: &[u64]) -> Result<Vec<u8>, Problem> {
        let mut plan = self.slice(ranges, steps).plan()?;
        let mut is_index = true;
        while !plan.ranges().is_empty() {
            let files = (0..).map(|number| plan.chunk_file(number));
            let wave: Wave = files.zip(plan.ranges().iter().cloned()).collect();
            let answers = match &self.index {
                Some((known, answers)) if *known == wave => answers.clone(),
                _ => {
                    // `read_into` calls this function only if the reader is an object, so `break` is never reached.
                    let Some(object) = self.frame.reader_mut().object() else { break };
                    let answers = object.fetch_all(&wave)?;
                    if is_index {
                        self.index = Some((wave, answers.clone()));
                    }
                    answers
                }
            };
            is_index = false;
            plan.take(answers)?;
        }
        Ok(plan.finish()?)
    }

    /// Reads a whole slice. Refuses a slice of more than `limit` bytes.
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
        self.read_pieces(&selected.ranges, &selected.steps, &mut |_, items| {
            bytes.extend(items);
            Ok::<_, Problem>(())
        })?;
        Ok(bytes)
    }

    /// Reads a slice in the order of its items, in pieces.
    pub(crate) fn read_pieces<E: From<Problem>>(
        &mut self,
        ranges: &[Range<u64>],
        steps: &[u64],
        receive: &mut ReceivePiece<'_, E>,
    ) -> Result<(), E> {
        let pieces = self.slice(ranges, steps).pieces().map_err(Problem::from)?;
        for piece in pieces {
            receive(&piece, self.read_reusing(&piece, steps)?)?;
        }
        Ok(())
    }
}

/// Copies `items` to the ranges `places` of an array. `shape` is the shape of the array. The items are in C order.
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
