//! The writer of the items of a new array.

use core::fmt;
use core::ops::Range;
use std::collections::BTreeMap;
use std::io::{Seek, Write};

use b2nd_chunk::{CParams, Compressor, ErrorKind, Filter, SpecialValue};
use b2nd_serde::geometry::Chunk;
use b2nd_serde::{Geometry, Meta};

use crate::chunk::expansion::zeroed;
use crate::error::Error;
use crate::header::frame::Frame;
use crate::header::frame_header::Header;
use crate::queue::{MAX_THREADS, in_order};
#[cfg(feature = "ndarray")]
use crate::slice::item::{self, Item};
use crate::write::frame_plan::Sizes;
use crate::write::frame_writer::FrameWriter;

const BITS: usize = u64::BITS as usize;

/// Writes the items of a new array, one region at a time, and compresses the chunks. Created by
/// [`FrameWriter::into_array_writer`].
///
/// Regions can have any shape, and can be written in any order. A chunk is compressed and written as soon as it has all
/// its items. Until then it is *open*, and stays in memory. If regions consist of whole chunks, no chunk is open. If
/// regions are consecutive slices along the first dimension, at most one row of chunks is open. In any other order, all
/// chunks can be open at once, so set a limit with [`max_open_chunks`](Self::max_open_chunks).
///
/// The codec, level, filters and split mode are those of the [`FrameBuilder`](crate::FrameBuilder). If all items of a
/// chunk have the same value, such as zero or NaN, at most a chunk header and one item are stored.
///
/// If the arguments of a call are wrong, or too many chunks would be open, the call changes nothing. After any other
/// error, or after a panic of the function `read` of [`write_from`](Self::write_from), items are lost. The array can
/// then not be finished: every later call returns an error.
///
/// ```
/// use std::io::Cursor;
/// use b2nd_frame::{Array, Frame, FrameBuilder};
/// use b2nd_serde::{Meta, Shapes};
///
/// let meta = Meta::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] }, "|u1")?;
/// let mut array = FrameBuilder::new(meta).write_to(Cursor::new(Vec::new()))?.into_array_writer()?;
/// // Row by row, in C order.
/// array.write(&[0..1, 0..5], &[0, 1, 2, 3, 4])?;
/// array.write(&[1..3, 0..5], &[5, 6, 7, 8, 9, 10, 11, 12, 13, 14])?;
///
/// let array = Array::new(Frame::read_at(array.finish()?, 0)?)?;
/// assert_eq!(array.slice(&[1..3, 2..4]).read()?, [7, 8, 12, 13]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is a frame before `finish`"]
pub struct ArrayWriter<W: Write> {
    frame: FrameWriter<W>,
    meta: Meta,
    geometry: Geometry,
    params: CParams,
    /// A worker for each thread.
    workers: Vec<Worker>,
    /// Buffers for compressed chunks, reused by later tasks.
    spare: Vec<Vec<u8>>,
    open: BTreeMap<u64, OpenChunk>,
    max_open: usize,
    /// Whether a call has failed, or panicked, after it took items. These items are lost, and the other items of their
    /// chunks may be lost too.
    has_failed: bool,
}

/// The compressor and the buffers of a thread. `part` has the items that are in both a chunk and the region, in C
/// order. `items` has all items of the chunk.
struct Worker {
    compressor: Compressor,
    part: Vec<u8>,
    items: Vec<u8>,
}

/// A task of the queue: the part of a chunk that is in the region.
struct GatherTask<'p> {
    part: Chunk<'p>,
    /// The chunk, if it is open.
    open: Option<OpenChunk>,
    /// The buffer for the compressed chunk.
    buffer: Vec<u8>,
}

/// A chunk after the items of a part were copied into it.
struct GatheredChunk {
    number: u64,
    /// The chunk, if it is not complete yet.
    open: Option<OpenChunk>,
    /// The compressed chunk, if it is complete.
    buffer: Vec<u8>,
}

/// An incomplete chunk, with the items written so far.
struct OpenChunk {
    items: Vec<u8>,
    /// A bit for each item, set once the item is written.
    written: Vec<u64>,
    nwritten: u64,
}

/// A function that copies items of a region into the buffer of a chunk, before the chunk is compressed. The first
/// argument is the part of the chunk that is in the region. The second is the buffer `part` of the [`Worker`], into
/// which `write_from` first reads the items of the part. The third is the buffer of the chunk.
type Gather<'g, E> = dyn Fn(&Chunk<'_>, &mut Vec<u8>, &mut [u8]) -> Result<(), E> + Sync + 'g;

impl<W: Write + Seek> FrameWriter<W> {
    /// Turns this writer of chunks into a writer of items, which compresses chunks with the codec, level, filters and
    /// split mode of the [`FrameBuilder`](crate::FrameBuilder). Chunks that are already written stay in the frame.
    /// Writing their items again is an error.
    ///
    /// # Errors
    ///
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) for lz4hc, plugins and dictionaries, which this crate cannot
    /// write. [`TooLarge`](crate::ErrorKind::TooLarge) if there is no memory for the compressor.
    ///
    /// ```
    /// use b2nd_frame::{Codec, FrameBuilder};
    /// use b2nd_serde::{Meta, Shapes};
    ///
    /// let meta = Meta::new(Shapes { shape: &[4], chunkshape: &[2], blockshape: &[2] }, "|u1")?;
    /// let writer = FrameBuilder::new(meta).codec(Codec::LZ4HC).write_to(std::io::Cursor::new(Vec::new()))?;
    /// let error = writer.into_array_writer().unwrap_err();
    /// assert!(error.to_string().contains("lz4hc is only decompressed"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_array_writer(self) -> Result<ArrayWriter<W>, Error> {
        let bytes = self.header_so_far()?;
        let header = Frame::parse(&bytes)?;
        let array = header.array()?.ok_or_else(|| Error::invalid_input("the frame has no array"))?;
        let meta = array.meta().clone();
        let geometry = meta.geometry().map_err(Error::geometry)?;
        if header.header().uses_dictionary {
            return Err(Error::invalid_input("this crate cannot compress chunks with dictionaries"));
        }
        let params = params(header.header(), &self.plan.sizes);
        let workers = vec![Worker::new(params)?];
        Ok(ArrayWriter {
            frame: self,
            meta,
            geometry,
            params,
            workers,
            spare: Vec::new(),
            open: BTreeMap::new(),
            max_open: usize::MAX,
            has_failed: false,
        })
    }
}

impl<W: Write + Seek> ArrayWriter<W> {
    /// Sets the number of threads that compress, from 1 to 256. A lower number counts as 1, and a higher number as 256.
    /// The default is 1. The calling thread is one of these threads. If the system refuses to start another thread, the
    /// others do the work. Each thread needs memory for three chunks. The file does not depend on the number of
    /// threads.
    pub fn threads(mut self, threads: usize) -> Self {
        self.workers.truncate(1);
        // The first compressor could be created with these parameters, so they are valid. If there is no memory for
        // another compressor, there are fewer threads.
        self.workers.extend((1..threads.min(MAX_THREADS)).filter_map(|_| Worker::new(self.params).ok()));
        self
    }

    /// Sets the maximum number of open chunks. There is no limit by default. A region is refused if the number of open
    /// chunks would exceed the limit. The chunks that are already open count, even if the region completes them. Each
    /// further chunk counts if the region covers only a part of it.
    ///
    /// ```
    /// # use b2nd_frame::FrameBuilder;
    /// # use b2nd_serde::{Meta, Shapes};
    /// let meta = Meta::new(Shapes { shape: &[4, 4], chunkshape: &[2, 2], blockshape: &[2, 2] }, "|u1")?;
    /// let writer = FrameBuilder::new(meta).write_to(std::io::Cursor::new(Vec::new()))?;
    /// let mut array = writer.into_array_writer()?.max_open_chunks(1);
    /// // Each row is in two chunks.
    /// let error = array.write(&[0..1, 0..4], &[1, 2, 3, 4]).unwrap_err();
    /// assert_eq!(error.to_string(), "2 chunks of 4 bytes would be open, but the limit is 1");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn max_open_chunks(self, max_open: usize) -> Self {
        Self { max_open, ..self }
    }

    /// Writes the items of a region, in C order, with the item size and byte order of the dtype. The region has a range
    /// for each dimension.
    ///
    /// Items of an open chunk can be written again. The new values replace the old values.
    ///
    /// # Errors
    ///
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput) if the ranges do not fit the shape, the number of bytes does
    ///   not fit the region, or a chunk of the region is already complete. In these cases, nothing is written. The
    ///   error is also `InvalidInput` if an earlier call has failed and lost items.
    /// - [`TooLarge`](crate::ErrorKind::TooLarge) if too many chunks would be open. In this case, nothing is written.
    ///   The error is also `TooLarge` if there is no memory for a chunk. After that error, the array cannot be
    ///   finished.
    /// - [`Io`](crate::ErrorKind::Io) if a chunk cannot be written. After this error, the array cannot be finished.
    pub fn write(&mut self, region: &[Range<u64>], items: &[u8]) -> Result<(), Error> {
        let typesize = self.frame.plan.sizes.typesize as usize;
        check_region(&self.geometry, region, typesize, items.len())?;
        self.write_parts(region, &|part, _, chunk| {
            part.gather(items, typesize, chunk).map_err(Error::geometry)
        })
    }

    /// Writes a region, chunk by chunk, with items that the function `read` supplies. Neither the array nor the region
    /// has to fit in memory.
    ///
    /// `read` is called for each chunk of the region. `read` gets the ranges of the items that are in both the region
    /// and the chunk, and a buffer. `read` must put these items into the buffer, in C order. Several
    /// [threads](Self::threads) can call `read` at the same time. While this method runs, each thread needs memory for
    /// four chunks.
    ///
    /// # Errors
    ///
    /// The errors of [`write`](Self::write), and the first error of `read`. After an error or panic of `read`, the
    /// array cannot be finished.
    ///
    /// The error type `E` of `read` is any type into which an [`Error`] converts. If `read` ends with `Ok(())`, the
    /// compiler does not know this type, so name it: `Ok::<(), Error>(())`.
    ///
    /// ```
    /// use std::io::Cursor;
    /// use b2nd_frame::{Array, Frame, FrameBuilder};
    /// use b2nd_serde::Meta;
    ///
    /// // This example makes a copy of an array, with another chunk shape.
    /// let source = Array::open("tests/data/int32_3x5.b2nd")?;
    /// let meta = Meta::with_default_shapes(source.shape(), 4, source.dtype().expect("a dtype"))?;
    ///
    /// let mut array = FrameBuilder::new(meta).write_to(Cursor::new(Vec::new()))?.into_array_writer()?.threads(2);
    /// array.write_from(&[0..3, 0..5], |ranges, items| source.slice(ranges).read_into(items))?;
    /// let copy = Array::new(Frame::read_at(array.finish()?, 0)?)?;
    /// assert_eq!(copy.slice(&[1..2, 0..1]).read()?, [5, 0, 0, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_from<E: From<Error> + Send>(
        &mut self,
        region: &[Range<u64>],
        read: impl Fn(&[Range<u64>], &mut [u8]) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        let (typesize, geometry) = (self.frame.plan.sizes.typesize as usize, self.geometry.clone());
        self.write_parts(region, &|part, items, chunk| {
            let ranges: Vec<Range<u64>> = part.extent().ranges().collect();
            // The product cannot overflow, because a part is not larger than its chunk, and the chunk fits in memory.
            let nitems = usize::try_from(part.extent().nitems()).map_err(Error::too_large)?;
            let nbytes = nitems * typesize;
            if items.len() != nbytes {
                *items = zeroed(nbytes)?;
            }
            read(&ranges, items)?;
            // `part` gives the places of its items in `region`, but the buffer `items` has only the items of the part.
            // So the part is computed again, with its own `ranges` as the region.
            let gathered = geometry.chunks_in(&ranges).and_then(|mut parts| {
                parts.next().map_or(Ok(()), |part| part.gather(items, typesize, chunk))
            });
            Ok(gathered.map_err(Error::geometry)?)
        })
    }

    /// Writes zeros for all items that have not been written.
    ///
    /// # Errors
    ///
    /// [`Io`](crate::ErrorKind::Io) if a chunk cannot be written; after this error, the array cannot be finished.
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) if an earlier call has failed and lost items.
    ///
    /// ```
    /// # use std::io::Cursor;
    /// # use b2nd_frame::{Array, Frame, FrameBuilder};
    /// # use b2nd_serde::{Meta, Shapes};
    /// let meta = Meta::new(Shapes { shape: &[6], chunkshape: &[4], blockshape: &[2] }, "|u1")?;
    /// let mut array = FrameBuilder::new(meta).write_to(Cursor::new(Vec::new()))?.into_array_writer()?;
    /// array.write(&[1..3], &[7, 8])?;
    /// array.fill_with_zeros()?;
    /// let array = Array::new(Frame::read_at(array.finish()?, 0)?)?;
    /// assert_eq!(array.whole().read()?, [0, 7, 8, 0, 0, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fill_with_zeros(&mut self) -> Result<(), Error> {
        self.check_unbroken()?;
        self.has_failed = true;
        let mut chunk = Vec::new();
        while let Some((number, open)) = self.open.pop_first() {
            let Some(worker) = self.workers.first_mut() else { break };
            worker.compress(&open, &mut chunk)?;
            self.frame.write_compressed(number, &chunk)?;
        }
        self.frame.fill_missing(SpecialValue::Zeros)?;
        self.has_failed = false;
        Ok(())
    }

    /// Writes the chunk index, the trailer and the header, as [`FrameWriter::finish`] does.
    ///
    /// # Errors
    ///
    /// The errors of `FrameWriter::finish`, and [`InvalidInput`](crate::ErrorKind::InvalidInput) if an item has not
    /// been written, or an earlier call has failed and lost items.
    ///
    /// ```
    /// # use std::io::Cursor;
    /// # use b2nd_frame::{Error, FrameBuilder};
    /// # use b2nd_serde::{Meta, Shapes};
    /// let meta = Meta::new(Shapes { shape: &[4], chunkshape: &[4], blockshape: &[2] }, "|u1")?;
    /// let mut array = FrameBuilder::new(meta).write_to(Cursor::new(Vec::new()))?.into_array_writer()?;
    /// array.write(&[0..2], &[1, 2])?;
    /// // The source of the other items fails. Items 0 and 1 are in the same chunk, so they are lost too.
    /// let failed: Result<(), Box<dyn std::error::Error + Send + Sync>> =
    ///     array.write_from(&[2..4], |_, _| Err("connection lost".into()));
    /// assert!(failed.is_err());
    /// let error = array.finish().unwrap_err();
    /// assert!(error.to_string().starts_with("an earlier call has failed after it took items"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finish(self) -> Result<W, Error> {
        self.check_unbroken()?;
        if let Some((number, open)) = self.open.first_key_value() {
            let nitems = self.geometry.chunk(*number).map_or(0, |chunk| chunk.extent().nitems());
            let written = open.nwritten;
            return Err(Error::invalid_input(format_args!(
                "chunk {number} is not complete: {written} of its {nitems} items have been written"
            )));
        }
        self.frame.finish()
    }

    /// Checks that items of the dtype can be written from values of type `T`. Returns whether the byte order of the
    /// dtype differs from the byte order of the machine.
    #[cfg(feature = "ndarray")]
    pub(super) fn is_swapped<T: Item>(&self) -> Result<bool, Error> {
        let typesize = self.frame.plan.sizes.typesize as usize;
        let dtype = self.meta.parse_dtype().map_err(|error| error.to_string());
        item::is_swapped::<T>(&dtype, typesize, "written from")
    }

    pub(super) fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Refuses any call after a call that has lost items.
    // Without this check, zeros would replace the lost items. A failed call has removed its chunks from `open`. So
    // `fill_with_zeros` would fill these chunks with zeros, and a later write would start them again with zeros.
    fn check_unbroken(&self) -> Result<(), Error> {
        if self.has_failed {
            return Err(Error::invalid_input(
                "an earlier call has failed after it took items, and these items are lost: the array cannot be \
                 finished, so write it again from the start",
            ));
        }
        Ok(())
    }

    /// Writes the chunks of a region. `gather` copies the items of each part into its chunk.
    fn write_parts<E: From<Error> + Send>(
        &mut self,
        region: &[Range<u64>],
        gather: &Gather<'_, E>,
    ) -> Result<(), E> {
        self.check_unbroken()?;
        let Self { frame, geometry, workers, spare, open, max_open, has_failed, .. } = self;
        let parts = geometry.chunks_in(region).map_err(Error::geometry)?;
        let mut nopen = open.len();
        for part in parts.clone() {
            let number = part.number();
            frame.check_number(number)?;
            nopen += usize::from(!open.contains_key(&number) && !is_whole(&part));
        }
        if nopen > *max_open {
            let nbytes = frame.chunk_nbytes();
            return Err(Error::too_large(format_args!(
                "{nopen} chunks of {nbytes} bytes would be open, but the limit is {max_open}"
            ))
            .into());
        }
        let sizes = frame.plan.sizes;
        let Some((own, others)) = workers.split_first_mut() else { return Ok(()) };
        // Stays true if `gather` fails or panics.
        *has_failed = true;
        let others = others.iter_mut().map(|worker| worker.gathers(sizes, gather));
        in_order(own.gathers(sizes, gather), others, |queue| -> Result<(), E> {
            // Chunks are written in order, so the file does not depend on the number of threads.
            for part in parts {
                let (open_chunk, buffer) = (open.remove(&part.number()), spare.pop().unwrap_or_default());
                if let Some(chunk) = queue.push(GatherTask { part, open: open_chunk, buffer })? {
                    spare.push(chunk.store(frame, open)?);
                }
            }
            while let Some(chunk) = queue.next()? {
                spare.push(chunk.store(frame, open)?);
            }
            Ok(())
        })?;
        *has_failed = false;
        Ok(())
    }
}

impl Worker {
    fn new(params: CParams) -> Result<Self, Error> {
        let compressor = Compressor::new(params).map_err(|error| match error.kind() {
            ErrorKind::NoMemory => Error::too_large(error),
            _ => Error::invalid_input(error),
        })?;
        Ok(Self { compressor, part: Vec::new(), items: Vec::new() })
    }

    /// Returns a function that runs the tasks of one thread.
    fn gathers<'w, 'p, E: From<Error>>(
        &'w mut self,
        sizes: Sizes,
        gather: &'w Gather<'w, E>,
    ) -> impl FnMut(GatherTask<'p>) -> Result<GatheredChunk, E> + Send + 'w {
        move |part| self.gather(part, sizes, gather)
    }

    /// Copies the items of a part into its chunk. If the chunk is then complete, compresses it.
    fn gather<E: From<Error>>(
        &mut self,
        GatherTask { part, open, mut buffer }: GatherTask<'_>,
        sizes: Sizes,
        gather: &Gather<'_, E>,
    ) -> Result<GatheredChunk, E> {
        let (number, nbytes) = (part.number(), sizes.chunksize as usize);
        if is_whole(&part) {
            if self.items.len() == nbytes {
                // The buffer is cleared, because items of the previous chunk may be where this chunk has padding.
                self.items.fill(0);
            } else {
                self.items = zeroed(nbytes)?;
            }
            gather(&part, &mut self.part, &mut self.items)?;
            self.compressor.compress_into(&self.items, &mut buffer).map_err(Error::too_large)?;
            return Ok(GatheredChunk { number, open: None, buffer });
        }
        let mut open = open.map_or_else(|| OpenChunk::new(nbytes, nbytes / sizes.typesize as usize), Ok)?;
        gather(&part, &mut self.part, &mut open.items)?;
        open.mark(&part);
        if open.nwritten < part.whole().extent().nitems() {
            return Ok(GatheredChunk { number, open: Some(open), buffer });
        }
        self.compress(&open, &mut buffer)?;
        Ok(GatheredChunk { number, open: None, buffer })
    }

    fn compress(&mut self, open: &OpenChunk, chunk: &mut Vec<u8>) -> Result<(), Error> {
        self.compressor.compress_into(&open.items, chunk).map_err(Error::too_large)
    }
}

impl GatheredChunk {
    /// Writes the chunk if it is complete. Otherwise it stays open. Returns the buffer for the next task.
    fn store<W: Write + Seek>(
        self,
        frame: &mut FrameWriter<W>,
        open: &mut BTreeMap<u64, OpenChunk>,
    ) -> Result<Vec<u8>, Error> {
        match self.open {
            Some(chunk) => drop(open.insert(self.number, chunk)),
            None => frame.write_compressed(self.number, &self.buffer)?,
        }
        Ok(self.buffer)
    }
}

impl OpenChunk {
    fn new(nbytes: usize, nitems: usize) -> Result<Self, Error> {
        let mut written = Vec::new();
        written.try_reserve_exact(nitems.div_ceil(BITS)).map_err(Error::too_large)?;
        written.resize(nitems.div_ceil(BITS), 0);
        Ok(Self { items: zeroed(nbytes)?, written, nwritten: 0 })
    }

    /// Marks the items of a part of the chunk as written.
    fn mark(&mut self, part: &Chunk<'_>) {
        for run in part.blocks().flat_map(|block| block.runs()) {
            let Range { mut start, end } = run.source(1).unwrap_or_default();
            while start < end {
                let (word, first) = (start / BITS, start % BITS);
                let count = (BITS - first).min(end - start);
                let bits = u64::MAX >> (BITS - count) << first;
                if let Some(word) = self.written.get_mut(word) {
                    self.nwritten += u64::from((bits & !*word).count_ones());
                    *word |= bits;
                }
                start += count;
            }
        }
    }
}

/// Checks that a region is inside an array, and that its items have `found` bytes. `found` is the number of bytes that
/// the caller has given.
pub(crate) fn check_region(
    geometry: &Geometry,
    region: &[Range<u64>],
    typesize: usize,
    found: usize,
) -> Result<(), Error> {
    geometry.chunks_in(region).map_err(Error::geometry)?;
    let nitems = region.iter().fold(1, |nitems: u64, range| nitems.saturating_mul(range.end - range.start));
    let needed = nitems.saturating_mul(typesize as u64);
    if needed == found as u64 {
        return Ok(());
    }
    Err(Error::invalid_input(format_args!(
        "the region has {nitems} items of {typesize} bytes, {needed} in all, but {found} are given"
    )))
}

/// Whether a part of a region is a whole chunk.
pub(crate) fn is_whole(part: &Chunk<'_>) -> bool {
    part.extent() == part.whole().extent()
}

/// The compression parameters in a header.
pub(crate) fn params(header: &Header, sizes: &Sizes) -> CParams {
    let mut params = CParams::new(sizes.typesize as usize);
    (params.codec, params.clevel, params.splitmode) = (header.codec, header.level, header.split_mode);
    (params.blocksize, params.filters) = (sizes.blocksize as usize, header.filters);
    // Only the first `nfilters` slots are in use, but a header can have filters in the other slots too.
    params.filters.iter_mut().skip(header.nfilters.into()).for_each(|filter| *filter = Filter::NONE);
    params
}

impl<W: Write> fmt::Debug for ArrayWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frame, params, open, .. } = self;
        let mut fields = f.debug_struct("ArrayWriter");
        fields
            .field("frame", frame)
            .field("params", params)
            .field("open", &open.len())
            .finish_non_exhaustive()
    }
}
