//! Reads the items of an array in pieces of bounded size.

use std::collections::HashMap;
use std::hash::Hash;
use std::mem;
use std::ops::Range;
use std::thread;

use b2nd_frame::{
    Array, ChunkEntry, ChunkHeader, ChunkPlace, Chunks, Error, Frame, Slice, SlicePlan, SpecialValue,
    expansion_limit,
};
use b2nd_serde::{Dtype, Geometry};

use super::buffer;
use super::selection::Selected;
use super::source::Reader;
use crate::code;
use crate::problem::Problem;
use crate::remote;
use crate::text::byte_count;
use crate::waiting::PATIENCE;

/// The maximum number of items to read for the edges of an array. The edges have up to 6 indices in each dimension, so
/// an array of 16 dimensions can have 6^16 items at its edges.
const MOST_EDGES: usize = 1 << 22;

/// The maximum number of bytes to read for the edges of an array. A file of a few hundred bytes can claim items of any
/// size.
const MOST_EDGE_BYTES: usize = 1 << 28;

/// An array whose items can be read.
pub(crate) struct Items {
    array: Array<Reader>,
    /// Whether the frame describes an array, by its metalayer or as a packed tensor. Otherwise it is a super-chunk,
    /// whose items have one dimension.
    pub(crate) is_described: bool,
    pub(crate) shape: Vec<u64>,
    pub(crate) typesize: usize,
    threads: usize,
    /// The maximum number of bytes of an item, and of a slice for `read_all`. It is the [`expansion_limit`] for the
    /// stored size of the frame, so a small file cannot claim very large items.
    pub(crate) limit: u64,
    /// The items of the latest read. The next read reuses this memory.
    buffer: Vec<u8>,
}

/// A function that receives the ranges of a piece, the bytes of its items, and the number of times that each item
/// counts. Of all constant chunks with the same value, only the first item of the first chunk is passed: it counts for
/// all items of these chunks. Each item of any other chunk is passed, and counts once.
pub(crate) type ReceiveRepeated<'r, E> = dyn FnMut(&[Range<u64>], &[u8], u64) -> Result<(), E> + 'r;

/// The value of a constant chunk: the kind of the value, and for [`SpecialValue::Value`] its bytes.
pub(crate) type Constant = (SpecialValue, Vec<u8>);

/// An iterator over the chunks of an array, with the values of constant chunks, which are known without decompression.
pub(crate) struct KnownChunks<'i> {
    chunks: Chunks<'i, Reader>,
    /// Whether the headers of stored chunks are read. False in an object store, where each header would need a request.
    reads_headers: bool,
}

impl KnownChunks<'_> {
    /// The next chunk, and its value if it is constant. A stored chunk counts as constant if its header was read and
    /// marks it as constant.
    pub(crate) fn next(&mut self) -> Result<Option<(ChunkEntry, Option<Constant>)>, Problem> {
        let Some(entry) = self.chunks.next().transpose()? else { return Ok(None) };
        if let ChunkPlace::Special(value) = entry.place {
            return Ok(Some((entry, Some((value, Vec::new())))));
        }
        let special = self.header(&entry)?.and_then(|header| Some((header.special()?, header.header_len())));
        let Some((special, start)) = special else { return Ok(Some((entry, None))) };
        let chunk = self.chunks.compressed(&entry)?.unwrap_or_default();
        Ok(Some((entry, Some((special, chunk.get(start..).unwrap_or_default().into())))))
    }

    /// The header of a stored chunk; `None` in an object store, where reading the header would need a request.
    pub(crate) fn header(&mut self, entry: &ChunkEntry) -> Result<Option<ChunkHeader>, Problem> {
        if self.reads_headers { Ok(self.chunks.checked_header(entry)?) } else { Ok(None) }
    }

    /// The stored bytes of a chunk.
    pub(crate) fn stored(&mut self, entry: &ChunkEntry) -> Result<Vec<u8>, Problem> {
        Ok(self.chunks.compressed(entry)?.unwrap_or_default())
    }
}

/// The parts of an array to read. Of all constant chunks with the same value, only the first item of the first chunk is
/// read. `K` is the value of a constant chunk. If two arrays are compared, `K` is the pair of the values in the two
/// arrays.
pub(crate) struct PartsToRead<K> {
    shape: Vec<u64>,
    /// The grid of chunks; `None` if the array has no grid. Then no chunks are added.
    geometry: Option<Geometry>,
    /// For each value, the number of the first chunk with this value, and the count of the items in all chunks with
    /// this value.
    constants: HashMap<K, (u64, u64)>,
    others: Vec<u64>,
    skips: bool,
}

impl<K: Eq + Hash> PartsToRead<K> {
    /// Starts without parts. If the array has a geometry, its chunks can be added.
    pub(crate) fn new(items: &Items) -> Self {
        let (shape, geometry) = (items.shape.clone(), items.geometry().cloned());
        Self { shape, geometry, constants: HashMap::new(), others: Vec::new(), skips: false }
    }

    pub(crate) fn add(&mut self, number: u64, constant: Option<K>) {
        let Some(value) = constant else { return self.others.push(number) };
        let chunk = self.geometry.as_ref().and_then(|geometry| geometry.chunk(number));
        let nitems = chunk.map_or(0, |chunk| chunk.extent().nitems());
        let (_, count) = self.constants.entry(value).or_insert((number, 0));
        *count = count.saturating_add(nitems);
    }

    /// Records that a chunk is left out, so that `finish` does not return the whole array.
    pub(crate) fn skip(&mut self) {
        self.skips = true;
    }

    /// The ranges of each part, and the number of times that each item of the part counts. If there are no constant and
    /// no skipped chunks, the only part is the whole array, because reading it at once is faster than reading chunk by
    /// chunk.
    pub(crate) fn finish(self) -> impl Iterator<Item = (Vec<Range<u64>>, u64)> + use<K> {
        let Self { shape, geometry, constants, others, skips } = self;
        let is_whole = constants.is_empty() && !skips;
        let whole = is_whole.then(|| (shape.iter().map(|&items| 0..items).collect(), 1));
        let others = if is_whole { Vec::new() } else { others };
        let mut constants: Vec<_> = constants.into_values().collect();
        constants.sort_unstable();
        let others = others.into_iter().map(|number| (number, None));
        let constants = constants.into_iter().map(|(number, count)| (number, Some(count)));
        let parts = others.chain(constants).filter_map(move |(number, count)| {
            let chunk = geometry.as_ref()?.chunk(number)?;
            let ranges = chunk.extent().ranges();
            Some(match count {
                Some(count) => (ranges.map(|range| range.start..range.start + 1).collect(), count),
                None => (ranges.collect(), 1),
            })
        });
        whole.into_iter().chain(parts)
    }
}

/// The index of an item in the array. `number` is the position of the item among the items of `part`, in C order.
/// `part` has a range for each dimension.
pub(crate) fn index_in(part: &[Range<u64>], mut number: u64) -> Vec<u64> {
    let mut index: Vec<_> = part
        .iter()
        .rev()
        .map(|range| {
            let length = (range.end - range.start).max(1);
            let at = range.start + number % length;
            number /= length;
            at
        })
        .collect();
    index.reverse();
    index
}

/// A function that receives a piece of a slice: the ranges of the piece, and the bytes of its items.
pub(crate) type ReceivePiece<'r, E> = dyn FnMut(&[Range<u64>], &[u8]) -> Result<(), E> + 'r;

impl Items {
    /// Prepares to read the items of an array or of a super-chunk. Refuses every other object, and a frame whose items
    /// a reader must compute or fetch from elsewhere (`ObjectKind::is_active`).
    pub(crate) fn new(frame: Frame<Reader>) -> Result<Self, Problem> {
        let limit = expansion_limit(frame.stored_len());
        let (array, is_described) = if frame.array_metalayer().is_some() {
            (Array::new(frame)?, true)
        } else {
            let trailer = frame.trailer()?;
            (Array::with_trailer(frame, &trailer)?, trailer.packed_tensor().is_some())
        };
        let (shape, typesize) =
            (array.shape().iter().map(|items| items.unsigned_abs()).collect(), array.item_size());
        if typesize as u64 > limit {
            let (nbytes, limit) = (byte_count(typesize as u64), byte_count(limit));
            let message = format!("items of {nbytes} are too long: the limit for this frame is {limit}");
            return Err(Problem::new(code::TOO_LARGE, message));
        }
        let threads = thread::available_parallelism().map_or(1, usize::from);
        Ok(Self { array, is_described, shape, typesize, threads, limit, buffer: Vec::new() })
    }

    /// The grid of chunks; `None` for a super-chunk, whose items are not in a grid.
    pub(crate) fn geometry(&self) -> Option<&Geometry> {
        self.array.geometry()
    }

    /// The dtype; `None` if the array has no dtype.
    pub(crate) fn dtype(&self) -> Result<Option<Dtype>, Error> {
        self.array.parse_dtype()
    }

    pub(crate) fn frame(&self) -> &Frame<Reader> {
        self.array.frame()
    }

    /// Sets the number of threads. The default is one per processor.
    pub(crate) fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    fn slice(&self, ranges: &[Range<u64>], steps: &[u64]) -> Slice<'_, Reader> {
        self.array.slice(ranges).steps(steps).threads(self.threads).patience(PATIENCE)
    }

    /// Refuses a slice that cannot be read, before anything is printed.
    pub(crate) fn check(&self, selected: &Selected) -> Result<(), Problem> {
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
            return Err(Problem::new(code::TOO_LARGE, message));
        };
        let mut edges = buffer::zeroed(nbytes)?;
        let corners: usize = ends.iter().map(Vec::len).product();
        // For each corner: its ranges in the array, and its ranges in `edges`.
        let parts = (0..corners).map(|corner| {
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
            let places =
                part.iter().zip(starts).map(|(range, start)| start..start + items(&(range.clone(), start)));
            let places: Vec<_> = places.collect();
            (selected.array_ranges(&part), places)
        });
        let (parts, places): (Vec<_>, Vec<_>) = parts.unzip();
        let mut copy = |number: usize, bytes: &[u8]| {
            let places = places.get(number).map(Vec::as_slice).unwrap_or_default();
            copy_into(&mut edges, &shape, places, &mut bytes.chunks_exact(self.typesize));
        };
        if let Some(object) = self.frame().reader().object() {
            for (number, bytes) in self.read_object(object, &parts, &selected.steps)?.iter().enumerate() {
                copy(number, bytes);
            }
        } else {
            for (number, part) in parts.iter().enumerate() {
                copy(number, &self.slice(part, &selected.steps).read()?);
            }
        }
        Ok(edges)
    }

    pub(crate) fn known_chunks(&self) -> Result<KnownChunks<'_>, Problem> {
        let reads_headers = self.frame().reader().object().is_none();
        Ok(KnownChunks { chunks: self.frame().chunks()?, reads_headers })
    }

    /// Reads all items, in any order. Of all constant chunks with the same value, only one item is read. `receive` gets
    /// this item together with the number of items in these chunks.
    pub(crate) fn read_chunks<E: From<Problem>>(
        &mut self,
        receive: &mut ReceiveRepeated<'_, E>,
    ) -> Result<(), E> {
        let mut parts = PartsToRead::new(self);
        if self.geometry().is_some() {
            let mut chunks = self.known_chunks()?;
            while let Some((entry, constant)) = chunks.next()? {
                parts.add(entry.number, constant);
            }
        }
        let ones = vec![1; self.shape.len()];
        for (ranges, times) in parts.finish() {
            self.read_pieces(&ranges, &ones, &mut |ranges, bytes| receive(ranges, bytes, times))?;
        }
        Ok(())
    }

    /// Reads a slice. The next call reuses the memory of the returned bytes, unless the array is in an object store.
    pub(crate) fn read_reusing(&mut self, ranges: &[Range<u64>], steps: &[u64]) -> Result<&[u8], Problem> {
        let mut buffer = mem::take(&mut self.buffer);
        if let Some(object) = self.frame().reader().object() {
            // `read_object` allocates a new buffer, so the old one is freed first.
            drop(buffer);
            self.buffer = self.read_object(object, &[ranges.to_vec()], steps)?.pop().unwrap_or_default();
            return Ok(&self.buffer);
        }
        let nbytes = self.slice(ranges, steps).nbytes()?;
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
        if let Some(object) = self.frame().reader().object() {
            let read = self.read_object(object, &[ranges.to_vec()], steps)?.pop().unwrap_or_default();
            if items.len() != read.len() {
                let why = format!("the slice has {} bytes, but the buffer {}", read.len(), items.len());
                return Err(Problem::new(code::INVALID_INPUT, why));
            }
            items.copy_from_slice(&read);
            return Ok(());
        }
        Ok(self.slice(ranges, steps).read_into(items)?)
    }

    /// Reads slices of an object in an object store. The byte ranges are requested in waves. All ranges of a wave, for
    /// all slices, are requested in parallel. The bytes of a wave can show which ranges the next wave needs.
    fn read_object(
        &self,
        object: &remote::Object,
        slices: &[Vec<Range<u64>>],
        steps: &[u64],
    ) -> Result<Vec<Vec<u8>>, Problem> {
        let plan = |ranges: &Vec<_>| self.slice(ranges, steps).plan();
        let mut plans = slices.iter().map(plan).collect::<Result<Vec<_>, _>>()?;
        let mut reads_chunk_files = false;
        let mut taken = Ok(());
        while taken.is_ok() && plans.iter().any(|plan| !plan.ranges().is_empty()) {
            let wave = plans.iter().flat_map(|plan| {
                plan.ranges()
                    .iter()
                    .enumerate()
                    .map(|(number, range)| (plan.chunk_file(number), range.clone()))
            });
            let wave: Vec<_> = wave.collect();
            reads_chunk_files |= wave.iter().any(|(file, _)| file.is_some());
            let mut answers = object.fetch_all(&wave)?.into_iter();
            taken = plans.iter_mut().filter(|plan| !plan.ranges().is_empty()).try_for_each(|plan| {
                let count = plan.ranges().len();
                plan.take(answers.by_ref().take(count))
            });
        }
        let read = taken.and_then(|()| plans.into_iter().map(SlicePlan::finish).collect());
        if reads_chunk_files {
            // If a writer has committed a change since the index was read, a chunk file can be missing, or belong to
            // the new index. Only the index shows such a commit. So the current index is compared with the index that
            // was read, even if the slice seems to be damaged.
            object.check_unchanged()?;
        }
        Ok(read?)
    }

    /// Reads a whole slice. Refuses a slice of more than `limit` bytes.
    pub(crate) fn read_all(&mut self, selected: &Selected) -> Result<Vec<u8>, Problem> {
        let limit = self.limit;
        let nbytes = selected.lengths().fold(self.typesize as u64, u64::saturating_mul);
        if nbytes > limit {
            let message = format!(
                "{} of items are too many to print: the limit for this frame is {}; use --slice, or `b2nd convert`",
                byte_count(nbytes),
                byte_count(limit)
            );
            return Err(Problem::new(code::TOO_LARGE, message));
        }
        let mut bytes = Vec::new();
        self.read_pieces(&selected.ranges, &selected.steps, &mut |_, items| {
            bytes.extend(items);
            Ok::<_, Problem>(())
        })?;
        Ok(bytes)
    }

    /// Reads a slice in pieces, in C order.
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
