//! The chunks and blocks with items of a slice.

use core::ops::Range;

use b2nd_chunk::ChunkHeader;
use b2nd_serde::geometry::{Block, Chunk, Run};

use crate::slice::linear::LinearPart;

/// A chunk with items of a slice.
#[expect(clippy::large_enum_variant, reason = "a chunk of a grid is on the stack also without this enum")]
pub(super) enum SelectedChunk<'s> {
    /// A chunk of the grid of an array.
    Grid(Chunk<'s>),
    /// A chunk of an array without a grid.
    Linear(LinearPart<'s>),
}

/// A block with items of a slice.
#[expect(clippy::large_enum_variant, reason = "as for a chunk")]
pub(super) enum SelectedBlock<'s> {
    Grid(Block<'s>),
    Linear(LinearPart<'s>),
}

/// Bytes that are contiguous both in the decompressed chunk and in the slice.
pub(super) struct ByteRun {
    /// The byte range in the decompressed chunk.
    pub(super) source: Range<usize>,
    /// The byte range in the slice.
    pub(super) target: Range<usize>,
}

impl ByteRun {
    fn of_items(run: &Run, typesize: usize) -> Option<Self> {
        Some(Self { source: run.source(typesize)?, target: run.target(typesize)? })
    }

    fn of_bytes(source: &Range<u64>, target: u64) -> Option<Self> {
        let end = target.checked_add(source.end - source.start)?;
        let [start, stop, target, end] =
            [source.start, source.end, target, end].map(|byte| usize::try_from(byte).ok());
        Some(Self { source: start?..stop?, target: target?..end? })
    }
}

impl<'s> SelectedChunk<'s> {
    pub(super) fn number(&self) -> u64 {
        match self {
            Self::Grid(chunk) => chunk.number(),
            Self::Linear(chunk) => chunk.number,
        }
    }

    /// The number of blocks of the chunk that the slice needs, and the number of all its blocks. In an array without a
    /// grid, the blocks are not known before the chunk header is read. So a chunk of such an array counts as one block
    /// here. This block counts as needed only if the slice needs the whole chunk.
    pub(super) fn needed_blocks(&self) -> [u64; 2] {
        match self {
            Self::Grid(chunk) => [chunk.blocks(), chunk.whole().blocks()].map(|blocks| blocks.len() as u64),
            Self::Linear(chunk) => [chunk.is_whole().into(), 1],
        }
    }

    /// The blocks with items of the slice. For each block: its index for [`block`](Self::block), and its number in the
    /// chunk.
    pub(super) fn blocks(&self, header: &ChunkHeader) -> impl Iterator<Item = (usize, usize)> + use<'_, 's> {
        let (grid, linear) = match self {
            Self::Grid(chunk) => (Some(chunk.blocks()), None),
            Self::Linear(chunk) => (None, Some(chunk.block_numbers(header.blocksize()))),
        };
        let number = |block: Block<'_>| usize::try_from(block.number()).unwrap_or(usize::MAX);
        let grid = grid.into_iter().flatten().map(number).enumerate();
        grid.chain(linear.into_iter().flatten().map(|number| (number, number)))
    }

    pub(super) fn block(&self, index: usize, header: &ChunkHeader) -> Option<SelectedBlock<'_>> {
        match self {
            Self::Grid(chunk) => chunk.blocks().nth(index).map(SelectedBlock::Grid),
            Self::Linear(chunk) => Some(SelectedBlock::Linear(chunk.block(index, header.blocksize()))),
        }
    }

    /// The runs of the slice in the chunk. A run is `None` if its offsets do not fit `usize`.
    pub(super) fn runs(&self, typesize: usize) -> impl Iterator<Item = Option<ByteRun>> {
        let (grid, linear) = match self {
            Self::Grid(chunk) => (Some(chunk.blocks().flat_map(|block| block.runs())), None),
            Self::Linear(chunk) => (None, Some(chunk.runs())),
        };
        either(grid, linear, typesize)
    }
}

impl SelectedBlock<'_> {
    /// The runs of the slice in the block.
    pub(super) fn runs(&self, typesize: usize) -> impl Iterator<Item = Option<ByteRun>> {
        let (grid, linear) = match self {
            Self::Grid(block) => (Some(block.runs()), None),
            Self::Linear(block) => (None, Some(block.runs())),
        };
        either(grid, linear, typesize)
    }
}

fn either(
    grid: Option<impl Iterator<Item = Run>>,
    linear: Option<impl Iterator<Item = (Range<u64>, u64)>>,
    typesize: usize,
) -> impl Iterator<Item = Option<ByteRun>> {
    let grid = grid.into_iter().flatten().map(move |run| ByteRun::of_items(&run, typesize));
    grid.chain(linear.into_iter().flatten().map(|(source, target)| ByteRun::of_bytes(&source, target)))
}
