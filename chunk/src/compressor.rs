//! Compression of chunks.

use core::{fmt, mem};

use alloc::vec::Vec;

use crate::error::{Error, Fault, ensure};
use crate::filter::Filter;
use crate::filters;
use crate::header::{ChunkHeader, INT32, MAX_NBYTES, compressed_header, stored_header, typesize_byte};
use crate::memory;
use crate::params::{CParams, cleared_bits};
use crate::streams::StreamEncoder;

/// Data of fewer bytes is stored without compression. C-Blosc2 has the same limit.
const MIN_NBYTES: usize = 32;

/// The byte that follows a negative length. Its bit 0 is set, which means that the stream repeats one byte.
const RUN_TOKEN: u8 = 1;

/// Compresses data to chunks. A `Compressor` reuses its memory, so use the same one for many chunks.
///
/// ```
/// use b2nd_chunk::{CParams, Compressor, decompress_to_vec};
///
/// let data: Vec<u8> = (0..1000_u32).flat_map(u32::to_le_bytes).collect();
/// let mut chunk = Vec::new();
/// Compressor::new(CParams::new(4))?.compress_into(&data, &mut chunk)?;
/// assert!(chunk.len() < 1000);
/// assert_eq!(decompress_to_vec(&chunk, data.len())?, data);
/// # Ok::<(), b2nd_chunk::Error>(())
/// ```
pub struct Compressor {
    params: CParams,
    encoder: StreamEncoder,
    filtered: FilteredBlock,
}

/// A filtered block, with the memory for filtering.
#[derive(Default)]
struct FilteredBlock {
    bytes: Vec<u8>,
    /// The memory for the output of the next filter.
    next: Vec<u8>,
    /// Block 0 as a decompressor will return it. It is block 0 after the truncations, which cannot be undone, but
    /// before all other filters. The filter delta combines each later block with block 0.
    reference: Vec<u8>,
}

impl Compressor {
    /// A compressor with these parameters.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Params`](crate::ErrorKind::Params) if a parameter is invalid, or if this crate cannot apply the
    /// codec or a filter. [`NoMemory`](crate::ErrorKind::NoMemory) if the system has no memory for the codec.
    pub fn new(params: CParams) -> Result<Self, Error> {
        let params = params.check()?;
        let encoder = StreamEncoder::new(params.codec, params.clevel)?;
        Ok(Self { params, encoder, filtered: FilteredBlock::default() })
    }

    /// Compresses data to a chunk, and replaces the content of `chunk` with it.
    ///
    /// If all items are equal, the chunk holds only one of them, or none if they are zeros. Data that does not get
    /// shorter, or has fewer than 32 bytes, is stored without compression. So a chunk is at most 32 bytes longer than
    /// its data.
    ///
    /// In addition to the chunk, this method needs memory for five blocks and for the encoder.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DataTooLong`](crate::ErrorKind::DataTooLong) if the data has more than 2147483615 bytes, and
    /// [`NoMemory`](crate::ErrorKind::NoMemory) if the system has no memory for a block or the chunk. After an error,
    /// the content of `chunk` is not specified.
    ///
    /// ```
    /// use b2nd_chunk::{CParams, ChunkHeader, Compressor, SpecialValue};
    ///
    /// let mut chunk = Vec::new();
    /// Compressor::new(CParams::new(8))?.compress_into(&[0; 8_000], &mut chunk)?;
    /// let header = ChunkHeader::parse(&chunk).expect("a header");
    /// assert_eq!((header.special(), chunk.len()), (Some(SpecialValue::Zeros), 32));
    /// # Ok::<(), b2nd_chunk::Error>(())
    /// ```
    pub fn compress_into(&mut self, data: &[u8], chunk: &mut Vec<u8>) -> Result<(), Error> {
        chunk.clear();
        let nbytes = data.len();
        let too_long = Fault::DataTooLong { nbytes };
        ensure(nbytes <= MAX_NBYTES, too_long)?;
        let CParams { typesize, clevel, .. } = self.params;
        let blocksize = self.params.blocksize_of(nbytes);
        let constant = constant(data, typesize);
        let is_compressed = clevel > 0 && nbytes >= MIN_NBYTES;
        if constant.is_none() && is_compressed && self.compress_blocks(data, blocksize, chunk)? {
            return Ok(());
        }
        let body = match constant {
            None => data,
            Some(mut value) => {
                if is_compressed {
                    // The value is truncated, because the same items would also be truncated in a chunk that is not
                    // constant.
                    value = self.filtered.apply(&self.params.truncations(), typesize, 0, value)?;
                }
                if value.iter().all(|&byte| byte == 0) { &[] } else { value }
            }
        };
        let header = stored_header(constant.is_some(), typesize, nbytes, blocksize, body.len());
        chunk.clear();
        let length = ChunkHeader::MAX_LEN + body.len();
        chunk.try_reserve_exact(length).map_err(|_| Fault::NoMemory { nbytes: length })?;
        chunk.extend_from_slice(&header.ok_or(too_long)?);
        chunk.extend_from_slice(body);
        Ok(())
    }

    /// Compresses the data block by block. Returns `false` as soon as the table and the blocks together are not shorter
    /// than the data.
    fn compress_blocks(&mut self, data: &[u8], blocksize: usize, chunk: &mut Vec<u8>) -> Result<bool, Fault> {
        let CParams { codec, mut filters, typesize, .. } = self.params;
        let itemsize: usize = typesize_byte(typesize).into();
        if !data.len().is_multiple_of(itemsize) {
            // The data ends within an item. C-Blosc2 does not undo delta in the bytes after the last whole item, so
            // the whole chunk is compressed without delta.
            filters
                .iter_mut()
                .filter(|filter| filter.id == Filter::DELTA.id)
                .for_each(|filter| *filter = Filter::NONE);
        }
        let is_split = self.params.splits(blocksize);
        let table = ChunkHeader::MAX_LEN;
        memory::resize(chunk, table + data.len().div_ceil(blocksize) * INT32)?;
        for (number, block) in data.chunks(blocksize).enumerate() {
            // If the length of the chunk does not fit an `i32`, the chunk is longer than its data. The method then
            // returns `false`, and the wrong offset is never used.
            let start = i32::try_from(chunk.len()).unwrap_or(i32::MAX).to_le_bytes();
            if let Some(entry) = chunk.get_mut(table + number * INT32..).and_then(<[u8]>::first_chunk_mut) {
                *entry = start;
            }
            let block = self.filtered.apply(&filters, itemsize, number, block)?;
            // The shorter last block is never split.
            let nstreams = if is_split && block.len() == blocksize { itemsize } else { 1 };
            for stream in block.chunks_exact((block.len() / nstreams).max(1)) {
                append_stream(&mut self.encoder, stream, chunk)?;
                if chunk.len() >= ChunkHeader::MAX_LEN + data.len() {
                    return Ok(false);
                }
            }
        }
        let sizes = [data.len(), blocksize, chunk.len() - ChunkHeader::MAX_LEN];
        let header = compressed_header(codec, &filters, is_split, typesize, sizes);
        let start = chunk.first_chunk_mut();
        Ok(start.zip(header).map(|(start, header)| *start = header).is_some())
    }
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compressor").field("params", &self.params).finish_non_exhaustive()
    }
}

impl FilteredBlock {
    /// Applies filters to a block.
    fn apply<'b>(
        &'b mut self,
        filters: &[Filter],
        itemsize: usize,
        number: usize,
        block: &'b [u8],
    ) -> Result<&'b [u8], Fault> {
        let Self { bytes, next, reference } = self;
        let mut is_copied = false;
        for filter in filters.iter().filter(|filter| filter.id != 0) {
            let kind = filter.without_parameter();
            if filter.is_shuffle() {
                let shuffle = if kind == Filter::SHUFFLE { filters::shuffle } else { filters::bitshuffle };
                memory::resize(next, block.len())?;
                shuffle(filter.shuffled_size(itemsize), if is_copied { bytes } else { block }, next);
                mem::swap(bytes, next);
                is_copied = true;
                continue;
            }
            if !mem::replace(&mut is_copied, true) {
                bytes.clear();
                memory::reserve(bytes, block.len())?;
                bytes.extend_from_slice(block);
            }
            match kind {
                Filter::DELTA if number == 0 => {
                    reference.clear();
                    memory::reserve(reference, bytes.len())?;
                    reference.extend_from_slice(bytes);
                    filters::delta(itemsize, None, bytes);
                }
                Filter::DELTA => filters::delta(itemsize, Some(reference), bytes),
                Filter::BYTEDELTA => filters::bytedelta(filter.meta.into(), bytes),
                _ => filters::truncate(itemsize, cleared_bits(*filter, itemsize).unwrap_or_default(), bytes),
            }
        }
        Ok(if is_copied { bytes } else { block })
    }
}

/// The bytes of one item, if `data` has two or more items and all are equal. `None` for all other data.
fn constant(data: &[u8], typesize: usize) -> Option<&[u8]> {
    let (value, others) = data.split_at_checked(typesize)?;
    let is_constant = !others.is_empty() && others.len() % typesize == 0 && data.starts_with(others);
    is_constant.then_some(value)
}

/// Appends a stream to the chunk, in the first form that is possible: as one repeated byte, compressed, or
/// uncompressed.
fn append_stream(encoder: &mut StreamEncoder, stream: &[u8], chunk: &mut Vec<u8>) -> Result<(), Fault> {
    // All bytes of the stream are equal if each byte is equal to the byte before it.
    if let Some((&byte, others)) = stream.split_first()
        && stream.starts_with(others)
    {
        memory::reserve(chunk, INT32 + 1)?;
        chunk.extend_from_slice(&(-i32::from(byte)).to_le_bytes());
        if byte != 0 {
            chunk.push(RUN_TOKEN);
        }
        return Ok(());
    }
    let bytes = encoder.compress(stream)?.unwrap_or(stream);
    memory::reserve(chunk, INT32 + bytes.len())?;
    // The fallback is never used: `bytes` is not longer than the data of the chunk, and the length of this data fits an
    // `i32`.
    chunk.extend_from_slice(&i32::try_from(bytes.len()).unwrap_or(i32::MAX).to_le_bytes());
    chunk.extend_from_slice(bytes);
    Ok(())
}
