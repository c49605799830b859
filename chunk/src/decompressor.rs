//! Decompression of chunks and of single blocks.

use core::{fmt, mem};

use alloc::vec::Vec;

use crate::blocks::block_starts;
use crate::chunk::Chunk;
use crate::codec::Codec;
use crate::error::{Error, Fault, ensure};
use crate::filter::Filter;
use crate::filters;
use crate::header::{ChunkHeader, INT32, SpecialValue};
use crate::memory;
use crate::rules::CheckedHeader;
use crate::streams::Decoders;

/// Version 2 of the chunk's format, from Blosc 1. Its bitshuffle changes a block only if the number of items in the
/// block is a multiple of 8.
const BLOSC1_VERSION: u8 = 2;

/// The number of bytes that the crate zrip, the decoder of zstd, may write after the data of a stream.
const ZSTD_OVERLENGTH: usize = 64;

/// Decompresses chunks. A `Decompressor` reuses its memory, so use the same one for many chunks.
///
/// ```
/// use b2nd_chunk::{Chunk, Decompressor};
///
/// // 4 items of 2 bytes, shuffled into two streams of 4 bytes. In the first all bytes are 1, in the second 0.
/// let chunk = b"\x05\x01\x05\x02\x08\0\0\0\x08\0\0\0\x2d\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\
///     \x24\0\0\0\xff\xff\xff\xff\x01\0\0\0\0";
/// let chunk = Chunk::parse(chunk)?;
/// let mut data = vec![0; chunk.header().nbytes()];
/// let mut decompressor = Decompressor::new();
/// decompressor.decompress_into(&chunk, &mut data)?;
/// assert_eq!(data, [1, 0, 1, 0, 1, 0, 1, 0]);
/// # Ok::<(), b2nd_chunk::Error>(())
/// ```
#[derive(Default)]
pub struct Decompressor {
    decoders: Decoders,
    /// The decompressed streams of a block, before the filters are undone. The vector keeps the length of the longest
    /// block so far. Only for zstd, the vector is truncated to the start of each stream before the stream is
    /// decompressed, because the crate zrip can only append to a vector.
    streams: Vec<u8>,
    /// The decompressed block 0 of a chunk with the filter delta. This filter combined each later block with block 0.
    reference: Vec<u8>,
}

/// Decompresses a chunk to a vector. The chunk may have at most `limit` bytes of data, because a chunk of a few bytes can
/// claim 2 GiB. Items that were never written become zeros. Bytes after the chunk are ignored.
///
/// To decompress many chunks, use a [`Decompressor`], which reuses its memory.
///
/// ```
/// // 4 items of 2 bytes, shuffled into two streams of 4 bytes. In the first all bytes are 1, in the second 0.
/// let chunk = b"\x05\x01\x05\x02\x08\0\0\0\x08\0\0\0\x2d\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\
///     \x24\0\0\0\xff\xff\xff\xff\x01\0\0\0\0";
/// assert_eq!(b2nd_chunk::decompress_to_vec(chunk, 1 << 20)?, [1, 0, 1, 0, 1, 0, 1, 0]);
///
/// let error = b2nd_chunk::decompress_to_vec(chunk, 7).unwrap_err();
/// assert_eq!(error.to_string(), "the chunk has 8 bytes of data, but at most 7 are allowed");
/// # Ok::<(), b2nd_chunk::Error>(())
/// ```
///
/// The vector holds the data of all blocks, one after the other. In an N-dimensional array, a block is a small part of
/// the array, not a row, and can have padding. To read the items of such an array, use `Array` of the crate
/// `b2nd-frame`. Or compute the position of each block with the module `geometry` of the crate `b2nd-serde`.
///
/// # Errors
///
/// [`ErrorKind::DataTooLong`](crate::ErrorKind::DataTooLong) if the chunk has more than `limit` bytes of data,
/// [`Unsupported`](crate::ErrorKind::Unsupported) if this crate [cannot decompress](crate#what-is-decompressed) the
/// chunk, [`NoMemory`](crate::ErrorKind::NoMemory) if the system has no memory for the data, and any other kind if the
/// chunk is damaged.
pub fn decompress_to_vec(chunk: &[u8], limit: usize) -> Result<Vec<u8>, Error> {
    let chunk = Chunk::parse(chunk)?;
    let nbytes = chunk.header().nbytes;
    ensure(nbytes <= limit, Fault::OverLimit { nbytes, limit })?;
    let mut data = Vec::new();
    memory::resize(&mut data, nbytes)?;
    Decompressor::new().decompress_into(&chunk, &mut data)?;
    Ok(data)
}

/// The parts of a chunk that all its blocks share.
#[derive(Clone, Copy)]
struct Shared<'c> {
    header: &'c ChunkHeader,
    codec: Codec,
    /// The dictionary; empty if the chunk has none.
    dictionary: &'c [u8],
}

/// The data of a stream: one repeated byte, uncompressed bytes, or compressed bytes.
#[derive(Clone, Copy)]
enum Stream<'c> {
    Run(u8),
    Stored(&'c [u8]),
    Compressed(&'c [u8]),
}

impl Decompressor {
    /// A decompressor. It allocates nothing before it is used.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Decompresses a chunk to the start of `out`, and returns the number of bytes, [`nbytes`](ChunkHeader::nbytes). Items
    /// that were never written become zeros.
    ///
    /// Time grows with the number of bytes read and written. The decompressor allocates memory for at most four blocks,
    /// each at most as long as the data. If the data does not fit `out`, this method fails before it allocates, so a
    /// chunk of a few bytes cannot make it allocate much memory.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Data`](crate::ErrorKind::Data) if a block or the dictionary is damaged,
    /// [`BufferTooSmall`](crate::ErrorKind::BufferTooSmall) if `out` is shorter than the data, and
    /// [`NoMemory`](crate::ErrorKind::NoMemory) if the system has no memory for a block. After an error, part of `out` may
    /// be overwritten.
    pub fn decompress_into(&mut self, chunk: &Chunk<'_>, out: &mut [u8]) -> Result<usize, Error> {
        let header = chunk.header();
        let data = start_of(out, header.nbytes)?;
        if !header.has_table() {
            fill(chunk, 0, data);
            return Ok(header.nbytes);
        }
        let shared = self.shared(chunk)?;
        let wrong_sizes = Fault::BlockSizes { nbytes: header.nbytes };
        let count = header.nblocks().unwrap_or_default();
        let mut done = 0;
        for number in 0..count {
            let (stored, length) = stored_block(chunk, number)?;
            let (before, rest) = data.split_at_mut(done);
            let block = rest.get_mut(..length).ok_or(wrong_sizes.in_block(number))?;
            // If blocks have different sizes, each block is compressed independently of the others. The filter delta
            // then treats each block like block 0, and `reference` is `None`.
            let reference = before.get(..header.blocksize).filter(|_| !header.has_variable_blocks);
            self.block(shared, stored, reference, block).map_err(|fault| fault.in_block(number))?;
            done += length;
        }
        if done == header.nbytes { Ok(done) } else { Err(wrong_sizes.in_block(count)) }
    }

    /// Decompresses a block of a chunk to the start of `out`, and returns its number of bytes. `number` counts from 0
    /// to [`nblocks`](ChunkHeader::nblocks) - 1. If all blocks have the same size, the block begins at byte `number` times
    /// `blocksize` of the data.
    ///
    /// With the filter delta, a block depends on block 0, so block 0 is decompressed too.
    ///
    /// ```
    /// # use b2nd_chunk::{Chunk, Decompressor};
    /// // Ten uncompressed bytes in blocks of four.
    /// let chunk = b"\x05\x01\x07\x01\x0a\0\0\0\x04\0\0\0\x2a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x000123456789";
    /// let mut block = [0; 4];
    /// assert_eq!(Decompressor::new().decompress_block(&Chunk::parse(chunk)?, 2, &mut block)?, 2);
    /// assert_eq!(&block[..2], b"89");
    /// # Ok::<(), b2nd_chunk::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`decompress_into`](Self::decompress_into), and
    /// [`NoBlock`](crate::ErrorKind::NoBlock) if the chunk has no block of this number.
    pub fn decompress_block(
        &mut self,
        chunk: &Chunk<'_>,
        number: usize,
        out: &mut [u8],
    ) -> Result<usize, Error> {
        let header = chunk.header();
        let count = header.nblocks().unwrap_or_default();
        ensure(number < count, Fault::NoBlock { number, count })?;
        if !header.has_table() {
            let block = start_of(out, header.block_len(number).unwrap_or_default())?;
            fill(chunk, number * header.blocksize, block);
            return Ok(block.len());
        }
        let shared = self.shared(chunk)?;
        let (stored, length) = stored_block(chunk, number)?;
        let block = start_of(out, length)?;
        let mut reference = None;
        if number > 0 && header.has_delta() && !header.has_variable_blocks {
            let (stored, length) = stored_block(chunk, 0)?;
            let first = reference.insert(mem::take(&mut self.reference));
            memory::resize(first, length)?;
            self.block(shared, stored, None, first).map_err(|fault| fault.in_block(0))?;
        }
        let result = self.block(shared, stored, reference.as_deref(), block);
        self.reference = reference.unwrap_or_default();
        result.map(|()| length).map_err(|fault| fault.in_block(number))
    }

    /// Decompresses a block from its stored bytes, without the rest of the chunk. So a program does not have to read
    /// the other blocks from a file. Returns the number of bytes written to the start of `out`. `stored` must begin
    /// with the bytes of the block, and may continue after them.
    ///
    /// # Errors
    ///
    /// The errors of [`decompress_block`](Self::decompress_block), and [`ErrorKind::Data`](crate::ErrorKind::Data) if
    /// the block needs the rest of the chunk ([`ChunkHeader::needs_other_blocks`]), or if the chunk has no compressed
    /// blocks.
    ///
    /// ```
    /// # use b2nd_chunk::{ChunkHeader, Decompressor};
    /// // A header of two blocks of four bytes, and a block in which each byte is 7.
    /// let bytes = b"\x05\x01\x15\x01\x08\0\0\0\x04\0\0\0\x30\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    /// let header = ChunkHeader::parse(bytes).expect("a header").checked()?;
    /// let mut block = [0; 4];
    /// Decompressor::new().decompress_block_bytes(&header, 1, b"\xf9\xff\xff\xff\x01", &mut block)?;
    /// assert_eq!(block, [7; 4]);
    /// # Ok::<(), b2nd_chunk::Error>(())
    /// ```
    pub fn decompress_block_bytes(
        &mut self,
        header: &CheckedHeader,
        number: usize,
        stored: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        // The header of a chunk without compressed blocks has no codec, so it is rejected here.
        let codec = header.codec.filter(|_| !header.needs_other_blocks());
        let codec = codec.ok_or(Fault::OtherBlocks.in_block(number))?;
        let count = header.nblocks().unwrap_or_default();
        let length = header.block_len(number).ok_or(Fault::NoBlock { number, count })?;
        let shared = Shared { header, codec, dictionary: &[] };
        let result = self.block(shared, stored, None, start_of(out, length)?);
        result.map(|()| length).map_err(|fault| fault.in_block(number))
    }

    /// The codec and the dictionary of a chunk with a table of blocks.
    fn shared<'c>(&mut self, chunk: &'c Chunk<'_>) -> Result<Shared<'c>, Error> {
        let header = chunk.header();
        let codec = header.codec.ok_or(Fault::CodecOfFrame)?;
        let after = chunk.body().get(header.table_len().unwrap_or_default()..);
        let dictionary = after.filter(|_| header.has_dictionary).and_then(|after| {
            let length = usize::try_from(block_starts(after).next()?).ok()?;
            after.get(INT32..)?.get(..length)
        });
        let dictionary = dictionary.unwrap_or_default();
        self.decoders.load_dictionary(codec, dictionary).ok_or(Fault::Dictionary.in_block(0))?;
        Ok(Shared { header, codec, dictionary })
    }

    /// Decompresses the streams of a block and undoes its filters. `reference` is the decompressed block 0, with which
    /// the filter delta combined this block. It must be `None` for block 0 itself. It can be `None` for any block if
    /// the blocks do not depend on block 0.
    fn block(
        &mut self,
        shared: Shared<'_>,
        stored: &[u8],
        reference: Option<&[u8]>,
        out: &mut [u8],
    ) -> Result<(), Fault> {
        let header = shared.header;
        let is_shuffled = header.pipeline().any(Filter::is_shuffle);
        // Without a shuffle, the streams can be decompressed directly into `out`. The crate zrip (zstd) cannot do this,
        // because it can only append to a vector.
        let mut is_in_out = !is_shuffled && shared.codec != Codec::ZSTD;
        self.streams(shared, stored, out, is_in_out)?;
        let streams = self.streams.get_mut(..out.len()).unwrap_or_default();
        for filter in header.pipeline().rev() {
            if filter.is_shuffle() {
                if is_in_out {
                    streams.copy_from_slice(out);
                }
                unshuffle(header, filter, streams, out);
                is_in_out = true;
                continue;
            }
            let data = if is_in_out { &mut *out } else { &mut *streams };
            match filter.without_parameter() {
                Filter::DELTA => filters::undelta(header.typesize.into(), reference, data),
                Filter::BYTEDELTA => filters::unbytedelta(filter.meta.into(), data),
                // The other filters truncate numbers. A truncation cannot be undone, because the cleared bits are lost.
                _ => {}
            }
        }
        if !is_in_out {
            out.copy_from_slice(streams);
        }
        Ok(())
    }

    /// Decompresses the streams of a block to `out` if `is_in_out` is true, else to the start of `self.streams`.
    fn streams(
        &mut self,
        shared: Shared<'_>,
        stored: &[u8],
        out: &mut [u8],
        is_in_out: bool,
    ) -> Result<(), Fault> {
        let Shared { header, codec, dictionary } = shared;
        let Self { decoders, streams, .. } = self;
        let length = out.len() / header.nstreams(out.len());
        if !is_in_out {
            // The crate zrip reserves memory for the data, and for the bytes that it may write after the data. If the
            // system had no memory, zrip would end the process. So this method reserves the memory first, and returns
            // an error if that fails.
            memory::reserve(streams, (out.len() + ZSTD_OVERLENGTH).saturating_sub(streams.len()))?;
        }
        let mut rest = stored;
        for at in (0..out.len()).step_by(length.max(1)) {
            let stream = next_stream(header, &mut rest, length)?;
            if let Stream::Compressed(bytes) = stream
                && codec == Codec::ZSTD
            {
                streams.resize(at, 0);
                let appended = decoders.append_zstd(dictionary, bytes, length, streams);
                appended.ok_or(Fault::Stream { codec, stored: bytes.len(), length })?;
                continue;
            }
            let end = at + length;
            if !is_in_out && streams.len() < end {
                streams.resize(end, 0);
            }
            let data = if is_in_out { &mut *out } else { &mut *streams };
            let data = data.get_mut(at..end).unwrap_or_default();
            match stream {
                Stream::Run(byte) => data.fill(byte),
                Stream::Stored(bytes) => data.copy_from_slice(bytes),
                Stream::Compressed(bytes) => {
                    let decompressed = decoders.decompress(codec, dictionary, bytes, data);
                    decompressed.ok_or(Fault::Stream { codec, stored: bytes.len(), length })?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decompressor").finish_non_exhaustive()
    }
}

/// The first `needed` bytes of a buffer.
fn start_of(out: &mut [u8], needed: usize) -> Result<&mut [u8], Error> {
    let given = out.len();
    out.get_mut(..needed).ok_or(Fault::BufferTooSmall { needed, given }.into())
}

/// Fills `data` with a part of the data of a constant or uncompressed chunk. The part begins at byte `from`.
fn fill(chunk: &Chunk<'_>, from: usize, data: &mut [u8]) {
    let (header, body) = (chunk.header(), chunk.body());
    let value: &[u8] = match header.special {
        // C-Blosc2 writes NaN in the byte order of the machine on which it runs, which is nearly always little-endian.
        // This crate always writes little-endian.
        Some(SpecialValue::Nan) if header.typesize == 4 => &const { f32::NAN.to_le_bytes() },
        Some(SpecialValue::Nan) => &const { f64::NAN.to_le_bytes() },
        Some(SpecialValue::Value) => body,
        Some(SpecialValue::Zeros | SpecialValue::Uninitialized) => &[0],
        None => return data.copy_from_slice(body.get(from..from + data.len()).unwrap_or_default()),
    };
    if let [byte] = value {
        return data.fill(*byte);
    }
    // `data` can begin within a repetition of the value. So the first repetition is written from byte `phase` of the
    // value on, and continues with the bytes before `phase`. After that, each step of the loop copies all bytes written
    // so far, so it doubles their number.
    let phase = from.checked_rem(value.len()).unwrap_or_default();
    let (before, after) = value.split_at(phase);
    for (byte, value) in data.iter_mut().zip(after.iter().chain(before)) {
        *byte = *value;
    }
    let mut done = value.len();
    while (1..data.len()).contains(&done) {
        let count = done.min(data.len() - done);
        data.copy_within(..count, done);
        done += count;
    }
}

/// The stored bytes of a block, and its decompressed length. The bytes can continue after the end of the block.
fn stored_block<'c>(chunk: &Chunk<'c>, number: usize) -> Result<(&'c [u8], usize), Error> {
    let header = chunk.header();
    let table = chunk.body().get(..header.table_len().unwrap_or_default()).unwrap_or_default();
    let mut starts = block_starts(table.get(number * INT32..).unwrap_or_default())
        .map(|start| usize::try_from(start).unwrap_or(usize::MAX));
    let start = starts.next().unwrap_or(usize::MAX);
    if let Some(length) = header.block_len(number) {
        return Ok((chunk.range(start..header.cbytes), length));
    }
    let stored = chunk.range(start..starts.next().unwrap_or(header.cbytes));
    let length = block_starts(stored).next().and_then(|length| usize::try_from(length).ok());
    let length = length.filter(|&length| (1..=header.nbytes).contains(&length));
    Ok((stored, length.ok_or(Fault::BlockSizes { nbytes: header.nbytes }.in_block(number))?))
}

/// Takes the next stream of a block from `rest`. The stream decompresses to `length` bytes.
fn next_stream<'c>(header: &ChunkHeader, rest: &mut &'c [u8], length: usize) -> Result<Stream<'c>, Fault> {
    let (&stored, after) = rest.split_first_chunk().ok_or(Fault::BeyondEnd)?;
    let stored = i32::from_le_bytes(stored);
    // If blocks have different sizes, the number before a stream is the length of the decompressed data, not of the
    // stream. The stream then has all remaining bytes.
    let count = if header.has_variable_blocks { Ok(after.len()) } else { usize::try_from(stored) };
    let Ok(count) = count else {
        let (&token, after) = after.split_first().ok_or(Fault::BeyondEnd)?;
        *rest = after;
        let byte = u8::try_from(stored.unsigned_abs()).ok().filter(|_| token & 1 != 0);
        return byte.map(Stream::Run).ok_or(Fault::Run { length: stored });
    };
    if count > length {
        return Err(Fault::StreamLength { stored: count, length });
    }
    let (bytes, after) = after.split_at_checked(count).ok_or(Fault::BeyondEnd)?;
    *rest = after;
    Ok(match count {
        0 if !header.has_variable_blocks => Stream::Run(0),
        _ if count == length => Stream::Stored(bytes),
        _ => Stream::Compressed(bytes),
    })
}

fn unshuffle(header: &ChunkHeader, filter: Filter, source: &[u8], out: &mut [u8]) {
    let itemsize = filter.shuffled_size(header.typesize.into());
    if filter.id == Filter::SHUFFLE.id {
        return filters::unshuffle(itemsize, source, out);
    }
    if header.version == BLOSC1_VERSION && !(out.len() / itemsize.max(1)).is_multiple_of(8) {
        return out.copy_from_slice(source);
    }
    filters::unbitshuffle(itemsize, source, out);
}
