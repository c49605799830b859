//! Decompression of chunks and of single blocks.

use core::{fmt, mem};

use alloc::vec::Vec;

use crate::blocks::{BlockTable, block_starts};
use crate::codec::Codec;
use crate::codecs::Decoders;
use crate::error::{BlockFault, Detail, Error, HeaderFault};
use crate::filter::Filter;
use crate::filters;
use crate::header::{ChunkHeader, INT32, SpecialValue};

/// The version of chunks of Blosc 1 whose bitshuffle leaves a block alone unless its items are a multiple of 8.
const BLOSC1_VERSION: u8 = 2;

/// Decompresses chunks. Its memory, some blocks long, is used again, so decompress many chunks with one.
///
/// ```
/// use b2nd_chunk::{ChunkHeader, Decompressor};
///
/// // 4 items of 2 bytes, shuffled into two streams of 4 bytes: the byte 1 repeats, and zeros.
/// let chunk = b"\x05\x01\x05\x02\x08\0\0\0\x08\0\0\0\x2d\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\
///     \x24\0\0\0\xff\xff\xff\xff\x01\0\0\0\0";
/// let header = ChunkHeader::parse(chunk).expect("a header");
/// let mut data = vec![0; header.nbytes];
/// let mut decompressor = Decompressor::new();
/// decompressor.decompress_into(chunk, &mut data)?;
/// assert_eq!(data, [1, 0, 1, 0, 1, 0, 1, 0]);
/// # Ok::<(), b2nd_chunk::Error>(())
/// ```
#[derive(Default)]
pub struct Decompressor {
    decoders: Decoders,
    /// A block before the filters are undone. It never gets shorter than what a block needs, except for zstd, which
    /// appends to it.
    streams: Vec<u8>,
    /// A block between two filters that are undone.
    between: Vec<u8>,
    /// Block 0, on which the other blocks depend with the filter delta.
    reference: Vec<u8>,
}

/// The parts of a chunk that all its blocks share.
#[derive(Clone, Copy)]
struct Shared<'c> {
    header: &'c ChunkHeader,
    codec: Codec,
    /// Empty without a dictionary.
    dictionary: &'c [u8],
}

/// The data of a stream in one of its three forms.
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

    /// Decompresses a chunk to the start of `out`, and returns the number of bytes, [`ChunkHeader::nbytes`]. Items that
    /// were never written become zeros. Bytes after the chunk are ignored.
    ///
    /// Time grows with the bytes read and written. Memory is that of four blocks, at most as long as the data. `out` is
    /// at least as long as the data, so a chunk of a few bytes cannot claim memory.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if the codec or a filter is one that this crate does not undo,
    /// [`BufferTooSmall`](crate::ErrorKind::BufferTooSmall) if `out` is shorter than the data, and any other kind if
    /// the chunk is damaged. `out` then has some of the data.
    pub fn decompress_into(&mut self, chunk: &[u8], out: &mut [u8]) -> Result<usize, Error> {
        let header = checked_header(chunk)?;
        let data = start_of(out, header.nbytes)?;
        if !header.has_table() {
            fill_constant(&header, chunk, 0, data);
            return Ok(header.nbytes);
        }
        header.check_table(chunk)?;
        let shared = self.shared(&header, chunk)?;
        let mut done = 0;
        for number in 0..header.nblocks().unwrap_or_default() {
            let fault = |fault| Error::new(Detail::Block { number, fault });
            let (stored, length) = stored_block(&header, chunk, number)?;
            let (before, rest) = data.split_at_mut(done);
            let sizes = fault(BlockFault::Sizes { nbytes: header.nbytes });
            let block = rest.get_mut(..length).ok_or(sizes)?;
            // Blocks of different sizes are compressed apart from each other, so each is a block 0.
            let reference = before.get(..header.blocksize).filter(|_| !header.has_variable_blocks);
            self.block(shared, stored, reference, block).map_err(fault)?;
            done += length;
        }
        if done == header.nbytes {
            return Ok(done);
        }
        let number = header.nblocks().unwrap_or_default();
        Err(Error::new(Detail::Block { number, fault: BlockFault::Sizes { nbytes: header.nbytes } }))
    }

    /// Decompresses a block of a chunk to the start of `out`, and returns its number of bytes. Blocks are counted from
    /// 0; there are [`ChunkHeader::nblocks`], and block `number` begins at byte `number` times `blocksize` of the data.
    ///
    /// With the filter delta, a block depends on block 0, which is then decompressed too.
    ///
    /// ```
    /// # use b2nd_chunk::{Decompressor, header::stored_header};
    /// // Ten bytes in blocks of four.
    /// let header = stored_header(false, 1, 10, 4, 10).expect("sizes that fit");
    /// let chunk = [&header[..], b"0123456789"].concat();
    /// let mut block = [0; 4];
    /// assert_eq!(Decompressor::new().decompress_block(&chunk, 2, &mut block)?, 2);
    /// assert_eq!(&block[..2], b"89");
    /// # Ok::<(), b2nd_chunk::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of [`decompress_into`](Self::decompress_into), and
    /// [`NoBlock`](crate::ErrorKind::NoBlock) if the chunk has no block of this number.
    pub fn decompress_block(&mut self, chunk: &[u8], number: usize, out: &mut [u8]) -> Result<usize, Error> {
        let header = checked_header(chunk)?;
        let count = header.nblocks().unwrap_or_default();
        if number >= count {
            return Err(Error::new(Detail::NoBlock { number, count }));
        }
        if !header.has_table() {
            let block = start_of(out, header.block_len(number).unwrap_or_default())?;
            fill_constant(&header, chunk, number * header.blocksize, block);
            return Ok(block.len());
        }
        let shared = self.shared(&header, chunk)?;
        let fault = |fault| Error::new(Detail::Block { number, fault });
        let (stored, length) = stored_block(&header, chunk, number)?;
        let block = start_of(out, length)?;
        if number == 0 || header.has_variable_blocks || !header.has_delta() {
            self.block(shared, stored, None, block).map_err(fault)?;
            return Ok(length);
        }
        let (stored, first_length) = stored_block(&header, chunk, 0)?;
        let mut reference = mem::take(&mut self.reference);
        reference.resize(first_length, 0);
        let first = self.block(shared, stored, None, &mut reference);
        let result = first.map_err(|fault| Error::new(Detail::Block { number: 0, fault })).and_then(|()| {
            let (stored, _) = stored_block(&header, chunk, number)?;
            self.block(shared, stored, Some(&reference), block).map_err(fault)
        });
        self.reference = reference;
        result.map(|()| length)
    }

    /// Decompresses a block of a compressed chunk of which only the block's stored bytes are at hand, such as a range of
    /// a file, and returns the number of bytes written to the start of `out`. `stored` begins with the block, and can be longer.
    ///
    /// # Errors
    ///
    /// The errors of [`decompress_block`](Self::decompress_block), and [`ErrorKind::Data`](crate::ErrorKind::Data) if
    /// the block needs the rest of the chunk ([`ChunkHeader::needs_other_blocks`]), or if the chunk is not compressed.
    ///
    /// ```
    /// # use b2nd_chunk::{ChunkHeader, Decompressor};
    /// // A header of two blocks of four bytes, and a block of which each byte is 7.
    /// let bytes = b"\x05\x01\x15\x01\x08\0\0\0\x04\0\0\0\x30\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    /// let header = ChunkHeader::parse(bytes).expect("a header");
    /// let mut block = [0; 4];
    /// Decompressor::new().decompress_block_bytes(&header, 1, b"\xf9\xff\xff\xff\x01", &mut block)?;
    /// assert_eq!(block, [7; 4]);
    /// # Ok::<(), b2nd_chunk::Error>(())
    /// ```
    pub fn decompress_block_bytes(
        &mut self,
        header: &ChunkHeader,
        number: usize,
        stored: &[u8],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        header.check()?;
        header.check_support()?;
        let fault = |fault| Error::new(Detail::Block { number, fault });
        let codec = header.codec.filter(|_| !header.needs_other_blocks());
        let codec = codec.ok_or(fault(BlockFault::OtherBlocks))?;
        let count = header.nblocks().unwrap_or_default();
        let length = header.block_len(number).ok_or(Error::new(Detail::NoBlock { number, count }))?;
        let block = start_of(out, length)?;
        self.block(Shared { header, codec, dictionary: &[] }, stored, None, block).map_err(fault)?;
        Ok(length)
    }

    /// The codec and the dictionary of a chunk with a table of blocks.
    fn shared<'c>(&mut self, header: &'c ChunkHeader, chunk: &'c [u8]) -> Result<Shared<'c>, Error> {
        let fault = || Error::new(Detail::Block { number: 0, fault: BlockFault::Dictionary });
        let codec = header.codec.unwrap_or(Codec::BLOSCLZ);
        let after = header.header_len.saturating_add(header.table_len().unwrap_or_default());
        let after = chunk.get(after..).filter(|_| header.has_dictionary).unwrap_or_default();
        let length = block_starts(after).next().and_then(|length| usize::try_from(length).ok());
        let dictionary = after.get(INT32..).and_then(|bytes| bytes.get(..length.unwrap_or_default()));
        let dictionary = dictionary.unwrap_or_default();
        self.decoders.load_dictionary(codec, dictionary).ok_or_else(fault)?;
        Ok(Shared { header, codec, dictionary })
    }

    /// Decompresses the streams of a block and undoes its filters. `reference` is block 0 as decompressed; without it,
    /// the block is block 0.
    fn block(
        &mut self,
        shared: Shared<'_>,
        stored: &[u8],
        reference: Option<&[u8]>,
        out: &mut [u8],
    ) -> Result<(), BlockFault> {
        let header = shared.header;
        let is_copy = |filter: &Filter| [Filter::TRUNC_PREC.id, Filter::INT_TRUNC.id].contains(&filter.id);
        let mut pipeline = header.pipeline().rev().filter(|filter| !is_copy(filter)).peekable();
        if pipeline.peek().is_none() && shared.codec != Codec::ZSTD {
            return self.streams_in_place(shared, stored, out);
        }
        self.streams(shared, stored, out.len())?;
        let Self { streams, between, .. } = self;
        let mut is_in_out = false;
        let is_transposed =
            |filter: &Filter| [Filter::SHUFFLE.id, Filter::BITSHUFFLE.id].contains(&filter.id);
        let mut left = header.pipeline().filter(is_transposed).count();
        for filter in pipeline {
            let source = streams.get_mut(..out.len()).unwrap_or_default();
            if !is_transposed(&filter) {
                undo_in_place(header, filter, reference, if is_in_out { &mut *out } else { source });
                continue;
            }
            left -= 1;
            // The last one writes to its destination.
            if left == 0 {
                undo_transposition(header, filter, source, out);
                is_in_out = true;
            } else {
                between.resize(out.len(), 0);
                undo_transposition(header, filter, source, between);
                mem::swap(streams, between);
            }
        }
        if !is_in_out {
            out.copy_from_slice(streams.get(..out.len()).unwrap_or_default());
        }
        Ok(())
    }

    /// Decompresses the streams of a block without filters.
    fn streams_in_place(
        &mut self,
        shared: Shared<'_>,
        stored: &[u8],
        out: &mut [u8],
    ) -> Result<(), BlockFault> {
        let (mut rest, length) = (stored, out.len() / shared.header.nstreams(out.len()));
        for data in out.chunks_exact_mut(length.max(1)) {
            let stream = next_stream(shared.header, &mut rest, length)?;
            self.stream(shared, stream, data)?;
        }
        Ok(())
    }

    /// Decompresses the streams of a block to the start of `self.streams`.
    fn streams(&mut self, shared: Shared<'_>, stored: &[u8], length: usize) -> Result<(), BlockFault> {
        let mut data = mem::take(&mut self.streams);
        let (mut rest, each) = (stored, length / shared.header.nstreams(length));
        let mut result = Ok(());
        for at in (0..length).step_by(each.max(1)) {
            result = next_stream(shared.header, &mut rest, each).and_then(|stream| match stream {
                Stream::Compressed(bytes) if shared.codec == Codec::ZSTD => {
                    data.resize(at, 0);
                    let appended = self.decoders.append_zstd(shared.dictionary, bytes, each, &mut data);
                    appended.ok_or_else(|| codec_fault(shared, bytes, each))
                }
                stream => {
                    if data.len() < at + each {
                        data.resize(at + each, 0);
                    }
                    self.stream(shared, stream, data.get_mut(at..at + each).unwrap_or_default())
                }
            });
            if result.is_err() {
                break;
            }
        }
        self.streams = data;
        result
    }

    fn stream(&mut self, shared: Shared<'_>, stream: Stream<'_>, data: &mut [u8]) -> Result<(), BlockFault> {
        match stream {
            Stream::Run(byte) => data.fill(byte),
            Stream::Stored(bytes) => data.copy_from_slice(bytes),
            Stream::Compressed(bytes) => {
                let Shared { codec, dictionary, .. } = shared;
                let decompressed = self.decoders.decompress(codec, dictionary, bytes, data);
                decompressed.ok_or_else(|| codec_fault(shared, bytes, data.len()))?;
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

/// The header of a whole chunk that can be decompressed here.
fn checked_header(chunk: &[u8]) -> Result<ChunkHeader, Error> {
    let header = ChunkHeader::parse(chunk).ok_or(Error::new(Detail::Header(HeaderFault::NoHeader)))?;
    let (cbytes, found) = (header.cbytes, chunk.len());
    if found < cbytes {
        return Err(Error::new(Detail::Header(HeaderFault::Truncated { cbytes, found })));
    }
    header.check()?;
    header.check_support()?;
    Ok(header)
}

/// The first bytes of a buffer.
fn start_of(out: &mut [u8], needed: usize) -> Result<&mut [u8], Error> {
    let given = out.len();
    out.get_mut(..needed).ok_or(Error::new(Detail::BufferTooSmall { needed, given }))
}

/// Fills a part of the data, from byte `from` on, of a chunk without a table of blocks.
fn fill_constant(header: &ChunkHeader, chunk: &[u8], from: usize, data: &mut [u8]) {
    let (single, double) = (f32::NAN.to_le_bytes(), f64::NAN.to_le_bytes());
    let body = chunk.get(header.header_len..header.cbytes).unwrap_or_default();
    let value = match header.special {
        // C-Blosc2 fills NaN in the byte order of the processor, which is little-endian nearly always.
        Some(SpecialValue::Nan) if header.typesize == 4 => &single[..],
        Some(SpecialValue::Nan) => &double,
        Some(SpecialValue::Value) => body,
        Some(SpecialValue::Zeros | SpecialValue::Uninitialized) => &[0],
        None => {
            data.copy_from_slice(
                body.get(from..).and_then(|body| body.get(..data.len())).unwrap_or_default(),
            );
            return;
        }
    };
    if let [byte] = value {
        return data.fill(*byte);
    }
    let phase = from.checked_rem(value.len()).unwrap_or_default();
    for (byte, value) in data.iter_mut().zip(value.iter().cycle().skip(phase)) {
        *byte = *value;
    }
}

/// The stored bytes from the start of a block on, and its decompressed length.
fn stored_block<'c>(
    header: &ChunkHeader,
    chunk: &'c [u8],
    number: usize,
) -> Result<(&'c [u8], usize), Error> {
    let fault = |fault| Error::new(Detail::Block { number, fault });
    let bytes = chunk.get(header.header_len..header.cbytes).unwrap_or_default();
    let (table, after) = bytes.split_at_checked(header.table_len().unwrap_or_default()).unwrap_or_default();
    let entry = table.get(number * INT32..).unwrap_or_default();
    let mut check = BlockTable::new(header, after);
    check.skip(number);
    check.extend(entry.get(..INT32).unwrap_or_default());
    check.finish()?;
    let mut starts = block_starts(entry).map(|start| usize::try_from(start).unwrap_or(usize::MAX));
    let start = starts.next().unwrap_or(usize::MAX);
    if let Some(length) = header.block_len(number) {
        let stored = chunk.get(start..header.cbytes).unwrap_or_default();
        return Ok((stored, length));
    }
    let stored = chunk.get(start..starts.next().unwrap_or(header.cbytes)).unwrap_or_default();
    let length = block_starts(stored).next().and_then(|length| usize::try_from(length).ok());
    let sizes = fault(BlockFault::Sizes { nbytes: header.nbytes });
    let length = length.filter(|&length| (1..=header.nbytes).contains(&length)).ok_or(sizes)?;
    Ok((stored, length))
}

/// Takes the next stream of a block, of `length` decompressed bytes.
fn next_stream<'c>(
    header: &ChunkHeader,
    rest: &mut &'c [u8],
    length: usize,
) -> Result<Stream<'c>, BlockFault> {
    let (&stored, after) = rest.split_first_chunk().ok_or(BlockFault::BeyondEnd)?;
    let stored = i32::from_le_bytes(stored);
    // Of blocks with different sizes, the length is that of the data.
    let count = if header.has_variable_blocks { Ok(after.len()) } else { usize::try_from(stored) };
    let Ok(count) = count else {
        let (&token, after) = after.split_first().ok_or(BlockFault::BeyondEnd)?;
        *rest = after;
        let byte = u8::try_from(stored.unsigned_abs()).ok().filter(|_| token & 1 != 0);
        return byte.map(Stream::Run).ok_or(BlockFault::Run { length: stored });
    };
    if count > length {
        return Err(BlockFault::StreamLength { stored: count, length });
    }
    let (bytes, after) = after.split_at_checked(count).ok_or(BlockFault::BeyondEnd)?;
    *rest = after;
    Ok(match count {
        0 if !header.has_variable_blocks => Stream::Run(0),
        _ if count == length => Stream::Stored(bytes),
        _ => Stream::Compressed(bytes),
    })
}

#[cold]
fn codec_fault(shared: Shared<'_>, stream: &[u8], length: usize) -> BlockFault {
    BlockFault::Codec { codec: shared.codec, stored: stream.len(), length }
}

/// Undoes a filter that does not move bytes.
fn undo_in_place(header: &ChunkHeader, filter: Filter, reference: Option<&[u8]>, data: &mut [u8]) {
    match filter.id {
        id if id == Filter::DELTA.id => filters::undelta(header.typesize.into(), reference, data),
        id if id == Filter::BYTEDELTA.id => filters::unbytedelta(filter.meta.into(), data),
        _ => {}
    }
}

/// Undoes a shuffle.
fn undo_transposition(header: &ChunkHeader, filter: Filter, source: &[u8], out: &mut [u8]) {
    let itemsize = usize::from(header.typesize);
    match filter.meta {
        _ if filter.id == Filter::BITSHUFFLE.id => {
            if header.version == BLOSC1_VERSION && (out.len() / itemsize.max(1)) % 8 != 0 {
                return out.copy_from_slice(source);
            }
            filters::unbitshuffle(itemsize, source, out);
        }
        0 => filters::unshuffle(itemsize, source, out),
        size => filters::unshuffle(size.into(), source, out),
    }
}
