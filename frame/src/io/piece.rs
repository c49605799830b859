//! The pieces of a chunk that a slice needs: reading them, and copying their items into the slice.
//!
//! A piece is a byte range of the chunk with the blocks in it, so that blocks which lie together are read at once. Only
//! reading needs the file, so other threads can do the copying.

use core::ops::Range;
use std::collections::HashSet;
use std::io::{Read, Seek};

use b2nd_chunk::blocks::block_starts;
use b2nd_chunk::header::INT32;
use b2nd_chunk::{ChunkHeader, Decompressor};
use b2nd_serde::geometry::{Block, Chunk, Run};

use crate::code::FindingCode;
use crate::error::Error;
use crate::format::chunk::one_item;
use crate::format::chunk_file::name;
use crate::format::decompress::{max_data, zeroed};
use crate::format::index::{ChunkEntry, ChunkPlace};
use crate::io::chunks::Chunks;
use crate::io::shared_slice::{SharedSlice, SliceWriter};
use crate::rules::chunk::{ChunkRules, about, check_support, damaged, not_a_chunk, rule, wrong, wrong_place};

/// The size of the first read of a chunk. It holds the header and the table, and often all of a small chunk.
// A longer read would be wasted on a slice of a few items; a shorter one would often miss a part of the table.
const FIRST_READ: u64 = 1 << 14;

/// The largest gap between two blocks that one read covers. A longer gap costs a second read.
// A trade-off between reading bytes that are not needed and a second call.
const MAX_GAP: usize = 1 << 14;

/// The size, stored or decompressed, at which a piece ends and the next one begins. Several threads share a large chunk
/// this way.
// Long enough that passing a piece to a thread costs little beside decompressing it.
const PIECE_LEN: usize = 1 << 20;

/// A part of a chunk, with the stored bytes of its items.
pub(crate) struct Piece<'g> {
    entry: ChunkEntry,
    chunk: Chunk<'g>,
    data: PieceData,
}

/// The stored bytes of a piece.
enum PieceData {
    /// All items of the chunk have this value.
    Value(Vec<u8>),
    /// Blocks that can be decompressed one by one.
    Blocks(StoredBlocks),
    /// A whole chunk, because its blocks cannot be decompressed one by one.
    Whole { header: ChunkHeader, chunk: Vec<u8> },
}

/// Blocks, and the range of the chunk that holds them.
struct StoredBlocks {
    header: ChunkHeader,
    list: Vec<StoredBlock>,
    bytes: Vec<u8>,
    /// The offset of `bytes` in the chunk.
    from: usize,
}

/// The place of a block in its chunk.
struct StoredBlock {
    /// The index among the blocks that the slice needs.
    index: usize,
    /// The index among all blocks of the chunk.
    number: usize,
    range: Range<usize>,
}

/// Refuses chunks that have more bytes together than the frame, and two chunks in one file. With them, a small file
/// could make a slice take any time.
pub(crate) struct Unshared {
    /// The number of bytes that further chunks of a contiguous frame can have.
    left: u64,
    /// The files of a sparse frame that were read.
    files: HashSet<u64>,
}

impl Unshared {
    pub(crate) fn new(frame_len: u64) -> Self {
        Self { left: frame_len, files: HashSet::new() }
    }

    fn take(&mut self, entry: &ChunkEntry, cbytes: usize) -> Result<(), Error> {
        if let ChunkPlace::File(file) = entry.place {
            if self.files.insert(file) {
                return Ok(());
            }
            let text = format!("chunk {} is in {}, as is a chunk before it", entry.number, name(file));
            return Err(Error::malformed(about(FindingCode::ChunkOffset, entry).text(text)));
        }
        let left = self.left.checked_sub(cbytes as u64);
        self.left = left.unwrap_or_default();
        left.map(drop).ok_or_else(|| {
            let number = entry.number;
            let text = format!(
                "up to chunk {number}, the chunks of the slice have more bytes than the frame, so some share bytes"
            );
            Error::malformed(about(FindingCode::ChunkOverlap, entry).text(text))
        })
    }
}

/// Reads the pieces of a chunk that a slice needs, and passes each one to `receive`.
pub(crate) fn read_pieces<'g, R: Read + Seek>(
    chunks: &mut Chunks<'_, R>,
    rules: &ChunkRules,
    chunk: &Chunk<'g>,
    typesize: usize,
    unshared: &mut Unshared,
    receive: &mut dyn FnMut(Piece<'g>) -> Result<(), Error>,
) -> Result<(), Error> {
    let Some(entry) = chunks.get(chunk.number())? else {
        return Err(Error::unsupported(format_args!("the chunk index has no chunk {}", chunk.number())));
    };
    let mut pass = |data| receive(Piece { entry, chunk: chunk.clone(), data });
    match entry.place {
        ChunkPlace::Frame(_) | ChunkPlace::File(_) => {}
        ChunkPlace::Special(special) => {
            return pass(PieceData::Value(one_item(special, typesize).map_err(|why| unread(&entry, &why))?));
        }
        ChunkPlace::Invalid(value) => {
            return Err(Error::malformed(wrong_place(&entry, value)));
        }
    }
    let first = chunks.stored_bytes(&entry, FIRST_READ)?;
    let header = ChunkHeader::parse(&first.bytes).ok_or_else(|| Error::malformed(not_a_chunk(&entry)))?;
    // The numbers of the header are used from here on, so the rules come first.
    let wrong = |why: String| Error::malformed(wrong(&entry, &why));
    rules.check(&header, entry.nbytes, first.room).map_err(wrong)?;
    unshared.take(&entry, header.cbytes)?;
    let mut reader = ChunkReader { chunks, entry, first: first.bytes, cbytes: header.cbytes };
    if header.special.is_some() {
        let value = reader.bytes(header.header_len..header.cbytes)?;
        if value.len() != typesize {
            return Err(wrong(format!(
                "repeats a value of {} bytes, but items have {typesize}",
                value.len()
            )));
        }
        return pass(PieceData::Value(value));
    }
    if header.is_uncompressed {
        // There is no table of blocks: they follow the header one after another.
        let numbers = needed(chunk);
        let blocks = numbers.map(|(index, number)| {
            // All blocks have this size, because the chunks of an array are padded to whole blocks.
            let start = header.header_len + number * header.blocksize;
            StoredBlock { index, number, range: start..start + header.blocksize }
        });
        return in_pieces(&mut reader, header, blocks, &mut |blocks| pass(PieceData::Blocks(blocks)));
    }
    check_support(&header).map_err(|why| unread(&entry, &why))?;
    let table = reader.bytes(0..header.header_len + header.table_len().unwrap_or_default())?;
    rule(header.check_table(&table)).map_err(wrong)?;
    if header.needs_other_blocks() {
        return pass(PieceData::Whole { header, chunk: reader.bytes(0..header.cbytes)? });
    }
    let blocks = located(&header, &table, chunk).map_err(|why| Error::malformed(damaged(&entry, &why)))?;
    in_pieces(&mut reader, header, blocks.into_iter(), &mut |blocks| pass(PieceData::Blocks(blocks)))
}

pub(super) fn unread(entry: &ChunkEntry, why: &str) -> Error {
    Error::unsupported(format_args!("chunk {} {why}", entry.number))
}

/// The blocks of a chunk that a slice needs: for each one its index among them, and its number in the chunk.
fn needed(chunk: &Chunk<'_>) -> impl Iterator<Item = (usize, usize)> {
    let number = |block: Block<'_>| usize::try_from(block.number()).unwrap_or(usize::MAX);
    chunk.blocks().map(number).enumerate()
}

/// The needed blocks with their byte ranges, in the order of the file. A block ends where the next one begins, or at its
/// largest stored size if that is before.
fn located(header: &ChunkHeader, table: &[u8], chunk: &Chunk<'_>) -> Result<Vec<StoredBlock>, String> {
    let table = table.get(header.header_len..).unwrap_or_default();
    let starts: Vec<_> =
        block_starts(table).map(|start| usize::try_from(start).unwrap_or_default()).collect();
    let mut sorted = starts.clone();
    sorted.sort_unstable();
    let twice = sorted.windows(2).find_map(|pair| match pair {
        [a, b] if a == b => Some(*a),
        _ => None,
    });
    if let Some(start) = twice {
        return Err(format!("cannot be decompressed: two blocks begin at byte {start} of it"));
    }
    let longest = header.longest_block(header.blocksize);
    let mut blocks: Vec<_> = needed(chunk)
        .filter_map(|(index, number)| {
            let start = *starts.get(number)?;
            let next = sorted.get(sorted.partition_point(|&other| other <= start));
            let end = start.saturating_add(longest).min(next.copied().unwrap_or(header.cbytes));
            Some(StoredBlock { index, number, range: start..end })
        })
        .collect();
    blocks.sort_unstable_by_key(|block| block.range.start);
    Ok(blocks)
}

/// Reads neighbouring blocks with one read. The blocks must come in the order of the file.
fn in_pieces<R: Read + Seek>(
    reader: &mut ChunkReader<'_, '_, R>,
    header: ChunkHeader,
    blocks: impl Iterator<Item = StoredBlock>,
    receive: &mut dyn FnMut(StoredBlocks) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut pass = |blocks: Vec<StoredBlock>| {
        let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return Ok(()) };
        let (from, bytes) = (first.range.start, reader.bytes(first.range.start..last.range.end)?);
        receive(StoredBlocks { header, list: blocks, bytes, from })
    };
    let mut together: Vec<StoredBlock> = Vec::new();
    for block in blocks {
        let is_apart = match (together.first(), together.last()) {
            (Some(first), Some(last)) => {
                let stored = block.range.end.saturating_sub(first.range.start);
                let data = (together.len() + 1).saturating_mul(header.blocksize);
                block.range.start.saturating_sub(last.range.end) > MAX_GAP || stored.max(data) > PIECE_LEN
            }
            _ => false,
        };
        if is_apart {
            pass(core::mem::take(&mut together))?;
        }
        together.push(block);
    }
    pass(together)
}

/// Reads bytes of a chunk. The first bytes are in memory already.
struct ChunkReader<'c, 'f, R> {
    chunks: &'c mut Chunks<'f, R>,
    entry: ChunkEntry,
    first: Vec<u8>,
    cbytes: usize,
}

impl<R: Read + Seek> ChunkReader<'_, '_, R> {
    fn bytes(&mut self, range: Range<usize>) -> Result<Vec<u8>, Error> {
        match self.first.get(range.clone()) {
            Some(bytes) => Ok(bytes.to_vec()),
            None => self.chunks.range(&self.entry, range, self.cbytes),
        }
    }
}

/// Memory of a thread for decompressing blocks.
#[derive(Default)]
pub(crate) struct Scratch {
    decompressor: Decompressor,
    /// The decompressed block.
    block: Vec<u8>,
}

impl Piece<'_> {
    /// Copies the items into a slice. Each thread passes its own `scratch` for every piece, and so allocates once.
    pub(crate) fn copy(&self, target: &SharedSlice<'_>, scratch: &mut Scratch) -> Result<(), Error> {
        match &self.data {
            PieceData::Value(value) => repeat(self.runs(), value, target).ok_or_else(|| self.misfit()),
            PieceData::Blocks(blocks) => self.blocks(blocks, target, scratch),
            PieceData::Whole { header, chunk } => self.whole(header, chunk, target, scratch),
        }
    }

    fn misfit(&self) -> Error {
        unread(&self.entry, "does not fit the slice")
    }

    fn damaged(&self, error: &b2nd_chunk::Error) -> Error {
        Error::malformed(damaged(&self.entry, &error.message().to_string()))
    }

    fn whole(
        &self,
        header: &ChunkHeader,
        chunk: &[u8],
        target: &SharedSlice<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        self.bound(header.nbytes, chunk.len(), target)?;
        let mut data = zeroed(header.nbytes)?;
        scratch.decompressor.decompress_into(chunk, &mut data).map_err(|error| self.damaged(&error))?;
        scatter(self.runs(), &data, 0, target).ok_or_else(|| self.misfit())
    }

    fn runs(&self) -> impl Iterator<Item = Run> {
        self.chunk.blocks().flat_map(|block| block.runs())
    }

    fn blocks(
        &self,
        stored: &StoredBlocks,
        target: &SharedSlice<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        let StoredBlocks { header, list, bytes, from } = stored;
        let (length, misfit) = (header.blocksize, || self.misfit());
        for &StoredBlock { index, number, ref range } in list {
            let block = self.chunk.blocks().nth(index).ok_or_else(misfit)?;
            let first = block.byte_offset(target.typesize).ok_or_else(misfit)?;
            let bytes = bytes.get(range.start - from..range.end - from).ok_or_else(misfit)?;
            if header.is_uncompressed {
                // The stored bytes are the items: no copy in between.
                scatter(block.runs(), bytes, first, target).ok_or_else(misfit)?;
                continue;
            }
            // A block that reaches beyond the chunk is refused by the decompressor.
            let streams = header.block_bytes(bytes, length).unwrap_or(bytes);
            // The length of each stream is 0, which stands for zeros. Such a block is not bound by its stored size, as
            // nothing is decompressed.
            if streams.len() == header.nstreams(length) * INT32 && streams.iter().all(|&byte| byte == 0) {
                repeat(block.runs(), &[0], target).ok_or_else(misfit)?;
                continue;
            }
            self.bound(length, streams.len(), target)?;
            let Scratch { decompressor, block: buffer } = &mut *scratch;
            let mut decompress = |data: &mut [u8]| {
                let result = decompressor.decompress_block_bytes(header, number, streams, data);
                result.map_err(|error| self.damaged(&error))
            };
            // If all items of the block lie together in the slice, they are decompressed in place and not copied.
            if let Some(run) = only_run(&block, length, target) {
                let mut writer = SliceWriter::new(target);
                let run =
                    writer.at(run.start).and_then(|items| items.get_mut(..length)).ok_or_else(misfit)?;
                decompress(run)?;
                continue;
            }
            if buffer.len() < length {
                *buffer = zeroed(length)?;
            }
            let data = buffer.get_mut(..length).ok_or_else(misfit)?;
            decompress(data)?;
            scatter(block.runs(), data, first, target).ok_or_else(misfit)?;
        }
        Ok(())
    }

    /// Refuses a decompressed size beyond both the expansion limit and the size of the slice, because a few bytes could
    /// claim gigabytes.
    fn bound(&self, length: usize, from: usize, target: &SharedSlice<'_>) -> Result<(), Error> {
        let most = max_data(from).max(target.nbytes);
        if length <= most {
            return Ok(());
        }
        let number = self.entry.number;
        Err(Error::too_large(format_args!(
            "chunk {number} claims {length} bytes of data in {from} stored bytes, but at most {most} are decompressed"
        )))
    }
}

/// The byte range of the slice that takes the whole block, if its items lie together there. `None` with several
/// threads: decompressing in place would hold the lock of a region, and others would wait.
fn only_run(block: &Block<'_>, length: usize, target: &SharedSlice<'_>) -> Option<Range<usize>> {
    let run = block.runs().next().filter(|_| !target.is_shared())?;
    run.target(target.typesize).filter(|range| range.len() == length)
}

/// Fills runs of the slice with a value. `None` if the slice is too short.
fn repeat(runs: impl Iterator<Item = Run>, value: &[u8], target: &SharedSlice<'_>) -> Option<()> {
    // Zeros stay untouched, so they cost no memory: the system provides a page when it is first changed.
    if target.is_zeroed && value.iter().all(|&byte| byte == 0) {
        return Some(());
    }
    let mut writer = SliceWriter::new(target);
    for run in runs {
        writer.fill(run.target(target.typesize)?, value)?;
    }
    Some(())
}

/// Copies runs into the slice. `data` is the decompressed chunk from byte `first` on. `None` if `data` or the slice is
/// too short.
fn scatter(
    runs: impl Iterator<Item = Run>,
    data: &[u8],
    first: usize,
    target: &SharedSlice<'_>,
) -> Option<()> {
    let mut writer = SliceWriter::new(target);
    for run in runs {
        let source = run.source(target.typesize)?;
        let data = data.get(source.start.checked_sub(first)?..source.end.checked_sub(first)?)?;
        writer.copy(run.target(target.typesize)?.start, data)?;
    }
    Some(())
}
