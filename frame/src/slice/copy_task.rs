//! The copy tasks of a slice, which threads can run. A task holds stored bytes of one chunk, decompresses them, and
//! copies the items into the slice.

use core::ops::Range;

use b2nd_chunk::internals::INT32;
use b2nd_chunk::{CheckedHeader, Chunk};

use crate::chunk::chunk_rules::{not_decompressed, unread};
use crate::chunk::entry::ChunkEntry;
use crate::chunk::expansion::{max_data, zeroed};
use crate::error::Error;
use crate::slice::scratch::Scratch;
use crate::slice::selected_chunk::{ByteRun, SelectedBlock, SelectedChunk};
use crate::slice::selection::Selection;
use crate::slice::shared_slice::{SharedSlice, SliceWriter};
use crate::slice::window::Window;

/// A task that produces the items of a chunk, or of some of its blocks, and copies them into the slice.
pub(super) struct CopyTask {
    pub(super) entry: ChunkEntry,
    /// The part number of the chunk (see [`Selection::chunks_from`]).
    pub(super) part: usize,
    pub(super) data: TaskData,
}

/// A function that receives the tasks, in the order in which their bytes are read.
pub(super) type ReceiveTask<'r> = dyn FnMut(CopyTask) -> Result<(), Error> + 'r;

/// The value or the stored bytes from which a task produces its items.
pub(super) enum TaskData {
    /// All items of the chunk have this value.
    Value(Vec<u8>),
    /// Blocks that can be decompressed one by one.
    Blocks { header: CheckedHeader, list: Vec<StoredBlock>, bytes: Window },
    /// A whole chunk, because its blocks cannot be decompressed one by one.
    Whole { header: CheckedHeader, bytes: Window },
}

/// The place of a block in its chunk.
pub(super) struct StoredBlock {
    /// The index that [`SelectedChunk::block`] expects for this block.
    pub(super) selected_index: usize,
    /// The index of the block among all blocks of the chunk.
    pub(super) block_number: usize,
    pub(super) range: Range<usize>,
}

impl CopyTask {
    /// Copies the items. A thread passes the same `scratch` to all its tasks, so that it need not allocate memory for
    /// each task.
    pub(super) fn run(
        &self,
        selection: &Selection,
        target: &SharedSlice<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        let chunk = selection.chunk(self.part).ok_or_else(|| self.misfit())?;
        match &self.data {
            TaskData::Value(value) => {
                repeat(chunk.runs(target.typesize), value, target).ok_or_else(|| self.misfit())
            }
            TaskData::Blocks { header, list, bytes } => {
                self.blocks(&chunk, header, list, bytes, target, scratch)
            }
            TaskData::Whole { header, bytes } => self.whole(&chunk, header, bytes, target, scratch),
        }
    }

    fn misfit(&self) -> Error {
        misfit(&self.entry)
    }

    fn whole(
        &self,
        chunk: &SelectedChunk<'_>,
        header: &CheckedHeader,
        bytes: &Window,
        target: &SharedSlice<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        let stored = bytes.get(0..header.cbytes()).ok_or_else(|| self.misfit())?;
        let stored =
            Chunk::with_header(*header, stored).map_err(|error| not_decompressed(&self.entry, &error))?;
        self.bound(header.nbytes(), header.cbytes(), target)?;
        let mut data = zeroed(header.nbytes())?;
        scratch.longest = scratch.longest.max(header.nbytes());
        scratch
            .decompressor
            .decompress_into(&stored, &mut data)
            .map_err(|error| not_decompressed(&self.entry, &error))?;
        scatter(chunk.runs(target.typesize), &data, 0, target).ok_or_else(|| self.misfit())
    }

    fn blocks(
        &self,
        chunk: &SelectedChunk<'_>,
        header: &CheckedHeader,
        list: &[StoredBlock],
        bytes: &Window,
        target: &SharedSlice<'_>,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        let misfit = || self.misfit();
        for &StoredBlock { selected_index, block_number, ref range } in list {
            let block = chunk.block(selected_index, header).ok_or_else(misfit)?;
            let length = header.block_len(block_number).ok_or_else(misfit)?;
            // The offset of the block in the decompressed chunk.
            let first = block_number * header.blocksize();
            let bytes = bytes.get(range.clone()).ok_or_else(misfit)?;
            if header.is_uncompressed() {
                // The stored bytes are already the items, so they are copied into the slice directly.
                scatter(block.runs(target.typesize), bytes, first, target).ok_or_else(misfit)?;
                continue;
            }
            // A block is stored as one or more streams. If the last stream does not end within `bytes`, the block is
            // damaged. The decompressor then gets all of `bytes`, and returns the error.
            let streams = header.block_bytes(bytes, length).unwrap_or(bytes);
            // If the length of each stream is 0, the block is all zeros. The expansion limit does not apply, because
            // nothing is decompressed.
            if streams.len() == header.nstreams(length) * INT32 && streams.iter().all(|&byte| byte == 0) {
                repeat(block.runs(target.typesize), &[0], target).ok_or_else(misfit)?;
                continue;
            }
            self.bound(length, streams.len(), target)?;
            let Scratch { decompressor, block: buffer, longest } = &mut *scratch;
            *longest = length.max(*longest);
            let mut decompress = |data: &mut [u8]| {
                let result = decompressor.decompress_block_bytes(header, block_number, streams, data);
                result.map_err(|error| not_decompressed(&self.entry, &error))
            };
            // If the items of the block are contiguous in the slice, decompress the block into the slice directly,
            // without a copy.
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
            scatter(block.runs(target.typesize), data, first, target).ok_or_else(misfit)?;
        }
        Ok(())
    }

    /// Refuses a decompressed size that exceeds both the expansion limit and the size of the slice, because a few
    /// stored bytes could claim gigabytes of data.
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

/// The error for a chunk whose items do not fit into the slice.
pub(super) fn misfit(entry: &ChunkEntry) -> Error {
    unread(entry, "does not fit the slice")
}

/// The byte range of the whole block in the slice, if the items of the block are contiguous in the slice. Otherwise
/// `None`. Also `None` if several threads write to the slice, because a thread that decompresses into the slice
/// directly would hold the lock of a region for too long.
fn only_run(block: &SelectedBlock<'_>, length: usize, target: &SharedSlice<'_>) -> Option<Range<usize>> {
    let run = block.runs(target.typesize).next()?.filter(|_| !target.is_shared)?;
    Some(run.target).filter(|range| range.len() == length)
}

/// Fills runs of the slice with a value. `None` if the slice is too short.
fn repeat(
    mut runs: impl Iterator<Item = Option<ByteRun>>,
    value: &[u8],
    target: &SharedSlice<'_>,
) -> Option<()> {
    // If the buffer of the slice is already zero, do not write zeros to it. Memory pages that were never written to
    // take no memory, because the system provides a page only at the first write.
    if target.is_zeroed && value.iter().all(|&byte| byte == 0) {
        return Some(());
    }
    let mut writer = SliceWriter::new(target);
    runs.try_for_each(|run| {
        let ByteRun { source, target } = run?;
        // The value repeats from the start of the chunk, so a run can begin within a value.
        writer.fill(target, value, source.start % value.len().max(1))
    })
}

/// Copies runs of items from `data` into the slice. `data` begins at byte `first` of the decompressed chunk. `None` if
/// `data` or the slice is too short.
fn scatter(
    mut runs: impl Iterator<Item = Option<ByteRun>>,
    data: &[u8],
    first: usize,
    target: &SharedSlice<'_>,
) -> Option<()> {
    let mut writer = SliceWriter::new(target);
    runs.try_for_each(|run| {
        let ByteRun { source, target } = run?;
        let data = data.get(source.start.checked_sub(first)?..source.end.checked_sub(first)?)?;
        writer.copy(target.start, data)
    })
}
