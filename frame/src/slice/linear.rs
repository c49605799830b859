//! Arrays without a grid of chunks: the items follow one another in C order, through all chunks. The last chunk and the
//! last block of each chunk can be shorter than the others.

use core::ops::Range;

/// The chunk size and the data size of an array without a grid of chunks.
#[derive(Clone, Copy)]
pub(super) struct Linear {
    /// The decompressed size in bytes of each chunk but the last.
    pub(super) chunksize: u64,
    /// The decompressed size of all chunks.
    pub(super) nbytes: u64,
}

impl Linear {
    /// The chunks with bytes of a slice, from chunk `number` on.
    pub(super) fn chunks_from<'s>(
        &self,
        runs: &'s LinearRuns,
        number: u64,
    ) -> impl Iterator<Item = LinearPart<'s>> + use<'s> {
        let Self { chunksize, nbytes } = *self;
        let mut from = number.saturating_mul(chunksize);
        core::iter::from_fn(move || {
            let (run, _) = runs.overlapping(from..nbytes).next()?;
            let start = run.start / chunksize * chunksize;
            let end = start.saturating_add(chunksize).min(nbytes);
            from = end;
            Some(LinearPart { runs, number: start / chunksize, first: start, range: start..end })
        })
    }
}

/// The bytes of a slice: runs of contiguous bytes, all of the same length. The offsets of the runs count from the start
/// of the array.
pub(super) struct LinearRuns {
    /// For each dimension with several runs: the number of runs, and the distance in bytes from one run to the next.
    /// The last dimension comes first.
    axes: Vec<(u64, u64)>,
    first: u64,
    length: u64,
    count: u64,
}

impl LinearRuns {
    /// The runs of a slice of an array with this shape. The slice must have at least one item.
    pub(super) fn new(shape: &[u64], ranges: &[Range<u64>], steps: &[u64], typesize: usize) -> Self {
        let mut stride = typesize as u64;
        let (mut axes, mut first, mut length) = (Vec::new(), 0, stride);
        // Whether a run can span several indices of this dimension. It can if all items of the later dimensions are
        // selected.
        let mut is_contiguous = true;
        for ((&items, range), &step) in shape.iter().zip(ranges).zip(steps).rev() {
            let count = (range.end - range.start).div_ceil(step);
            first += range.start * stride;
            if is_contiguous && (step == 1 || count == 1) {
                length *= count;
            } else if count > 1 {
                axes.push((count, step * stride));
            }
            is_contiguous &= count == items;
            stride *= items;
        }
        let count = axes.iter().map(|&(count, _)| count).product();
        Self { axes, first, length, count }
    }

    fn offset(&self, mut number: u64) -> u64 {
        let mut offset = self.first;
        // `axes` begins with the last dimension, because its index changes from each run to the next.
        for &(count, distance) in &self.axes {
            offset += number % count * distance;
            number /= count;
        }
        offset
    }

    /// The parts of the runs that are in a byte range of the array. Each part comes with its offset in the slice.
    fn overlapping(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, u64)> + use<'_> {
        let Range { start, end } = range;
        // The offsets of the runs are in ascending order, because the array is in C order. So a binary search finds the
        // first run that ends after `start`.
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.offset(middle) + self.length <= start { low = middle + 1 } else { high = middle }
        }
        (low..self.count)
            .map(|number| (number, self.offset(number)))
            .take_while(move |&(_, run)| run.max(start) < end)
            .map(move |(number, run)| {
                let part = run.max(start)..(run + self.length).min(end);
                let target = number * self.length + (part.start - run);
                (part, target)
            })
    }
}

/// A chunk or a block that has bytes of the slice.
#[derive(Clone)]
pub(super) struct LinearPart<'s> {
    runs: &'s LinearRuns,
    /// The number of the chunk, or of the block in its chunk.
    pub(super) number: u64,
    /// The offset of the chunk in the array. For a block, this is the offset of its chunk.
    first: u64,
    /// The byte range of the chunk or block in the array.
    range: Range<u64>,
}

impl<'s> LinearPart<'s> {
    /// The runs of the slice, each as a byte range in the decompressed chunk, with its offset in the slice.
    pub(super) fn runs(&self) -> impl Iterator<Item = (Range<u64>, u64)> + use<'s> {
        let first = self.first;
        self.runs
            .overlapping(self.range.clone())
            .map(move |(run, target)| (run.start - first..run.end - first, target))
    }

    /// Whether all bytes of the chunk or block are in one run of the slice.
    pub(super) fn is_whole(&self) -> bool {
        self.runs.overlapping(self.range.clone()).next().is_some_and(|(run, _)| run == self.range)
    }

    /// A block of this chunk.
    pub(super) fn block(&self, number: usize, blocksize: usize) -> Self {
        let number = number as u64;
        let start = self.range.start.saturating_add(number.saturating_mul(blocksize as u64));
        let end = start.saturating_add(blocksize as u64).min(self.range.end);
        Self { number, range: start.min(end)..end, ..self.clone() }
    }

    /// The numbers of the blocks of this chunk that have bytes of the slice.
    pub(super) fn block_numbers(&self, blocksize: usize) -> impl Iterator<Item = usize> + use<'s> {
        let Self { runs, range: Range { start, end }, .. } = self.clone();
        let blocksize = (blocksize as u64).max(1);
        let mut from = start;
        core::iter::from_fn(move || {
            let (run, _) = runs.overlapping(from..end).next()?;
            let number = (run.start - start) / blocksize;
            from = start + (number + 1).saturating_mul(blocksize);
            usize::try_from(number).ok()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offset in the array of each byte of the slice.
    fn expected(shape: &[u64], ranges: &[Range<u64>], steps: &[u64], typesize: u64) -> Vec<u64> {
        let mut offsets = vec![0];
        for ((&items, range), &step) in shape.iter().zip(ranges).zip(steps) {
            let indices = || range.clone().step_by(usize::try_from(step).unwrap());
            offsets = offsets
                .iter()
                .flat_map(|&offset| indices().map(move |index| offset * items + index))
                .collect();
        }
        offsets.iter().flat_map(|&item| item * typesize..(item + 1) * typesize).collect()
    }

    #[test]
    fn chunks_and_blocks_have_all_bytes_of_a_slice_in_order() {
        let shape = [4, 5, 6];
        let mut random = fastrand::Rng::with_seed(7);
        for case in 0..2000 {
            let mut ranges = Vec::new();
            for &items in &shape {
                let start = if random.bool() { 0 } else { random.u64(..items) };
                ranges.push(start..if random.bool() { items } else { random.u64(start + 1..=items) });
            }
            let steps = [0; 3].map(|_| if random.bool() { 1 } else { random.u64(1..4) });
            let typesize = random.usize(1..5);
            let nbytes = 120 * typesize as u64;
            let linear = Linear { chunksize: random.u64(1..nbytes + 20), nbytes };
            let blocksize = random.usize(1..40);
            let runs = LinearRuns::new(&shape, &ranges, &steps, typesize);
            let (mut bytes, mut before) = (Vec::new(), None);
            for chunk in linear.chunks_from(&runs, 0) {
                assert!(before < Some(chunk.number));
                before = Some(chunk.number);
                let start = chunk.number * linear.chunksize;
                assert!(
                    linear
                        .chunks_from(&runs, chunk.number)
                        .next()
                        .is_some_and(|same| same.range == chunk.range)
                );
                let runs = |part: &LinearPart<'_>| {
                    let runs = part.runs().flat_map(|(run, target)| run.zip(target..)).collect::<Vec<_>>();
                    runs.into_iter().map(|(byte, target)| (start + byte, target)).collect::<Vec<_>>()
                };
                let blocks: Vec<_> =
                    chunk.block_numbers(blocksize).map(|number| chunk.block(number, blocksize)).collect();
                assert!(
                    blocks.iter().all(|block| block.runs().next().is_some_and(|(run, _)| !run.is_empty()))
                );
                let of_blocks: Vec<_> = blocks.iter().flat_map(runs).collect();
                assert_eq!(of_blocks, runs(&chunk), "{case}");
                assert!(!chunk.is_whole() || of_blocks.len() as u64 == chunk.range.end - chunk.range.start);
                bytes.extend(of_blocks);
            }
            let expected = expected(&shape, &ranges, &steps, typesize as u64);
            assert!(bytes == expected.into_iter().zip(0..).collect::<Vec<_>>(), "{case}");
        }
    }
}
