//! The parameters of compression, and their rules.

use crate::codec::Codec;
use crate::error::{Error, Fault, ensure};
use crate::filter::Filter;
use crate::header::{MAX_BLOCKSIZE, typesize_byte};
use crate::split_mode::SplitMode;

/// The highest level of compression.
const MAX_LEVEL: u8 = 9;

/// The largest item size, in bytes, for which [`SplitMode::Auto`] splits blocks.
const MAX_STREAMS: usize = 16;
/// The smallest number of items in a block for which [`SplitMode::Auto`] splits the block.
const MIN_ITEMS_OF_SPLIT: usize = 32;

/// The parameters of compression. The fields have the same names as in python-blosc2.
///
/// ```
/// use b2nd_chunk::{CParams, Codec, Compressor, Filter};
///
/// let mut params = CParams::new(8);
/// params.codec = Codec::LZ4;
/// params.filters[5] = Filter::BITSHUFFLE;
/// assert!(Compressor::new(params).is_ok());
///
/// params.codec = Codec::LZ4HC;
/// let error = Compressor::new(params).unwrap_err();
/// assert!(error.to_string().contains("lz4hc is only decompressed"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CParams {
    /// The codec: [`BLOSCLZ`](Codec::BLOSCLZ), [`LZ4`](Codec::LZ4), [`ZLIB`](Codec::ZLIB) or [`ZSTD`](Codec::ZSTD). The
    /// default is `ZSTD`.
    pub codec: Codec,
    /// The compression level, 0 (none) to 9; 5 by default. LZ4 gives the same result at all levels from 1 on. For blocks
    /// of more than 256 KiB, zstd gives the same result at the levels 6 to 8.
    pub clevel: u8,
    /// The size of an item in bytes, at least 1.
    pub typesize: usize,
    /// The size of a block in bytes. 0, the default, means that the other parameters and the length of the data
    /// determine the size. The rule is the same as in C-Blosc2. The size is rounded down to whole items, but a block
    /// has at least one item.
    pub blocksize: usize,
    /// Whether blocks are split into one stream per byte of an item.
    pub splitmode: SplitMode,
    /// The filters, in order of application. By default there is only a shuffle, at the last position. `trunc_prec` and
    /// `int_trunc` must come before all other filters. After them there can be one `delta`, and it must come before
    /// each shuffle and each `bytedelta`.
    ///
    /// No filter is applied to a chunk that is stored without compression, as in C-Blosc2. So its items keep all their
    /// bits, even with `trunc_prec` or `int_trunc`. Such chunks are the result at level 0, for data of fewer than 32
    /// bytes, and for data that does not get shorter.
    pub filters: [Filter; 6],
}

impl CParams {
    /// The default parameters for items of this many bytes.
    #[must_use]
    pub fn new(typesize: usize) -> Self {
        let mut filters = [Filter::NONE; 6];
        let [.., last] = &mut filters;
        *last = Filter::SHUFFLE;
        let (codec, clevel, splitmode) = (Codec::ZSTD, 5, SplitMode::Auto);
        Self { codec, clevel, typesize, blocksize: 0, splitmode, filters }
    }

    /// Checks the parameters. If the parameter of `bytedelta` is 0, the item size replaces it.
    pub(crate) fn check(mut self) -> Result<Self, Error> {
        let Self { codec, clevel: level, typesize, .. } = self;
        ensure(codec != Codec::LZ4HC, Fault::CodecOnlyRead { codec })?;
        ensure(codec.is_built_in(), Fault::OtherCodec { codec })?;
        ensure(level <= MAX_LEVEL, Fault::Level { level })?;
        ensure(typesize > 0, Fault::ParamsTypesize)?;
        let mut last_rank = 0;
        for slot in &mut self.filters {
            let filter = *slot;
            let rank = match filter.without_parameter() {
                Filter::NONE => continue,
                Filter::TRUNC_PREC | Filter::INT_TRUNC => 0,
                Filter::DELTA => 1,
                Filter::SHUFFLE | Filter::BITSHUFFLE | Filter::BYTEDELTA => 2,
                _ => return Err(Fault::OtherFilter { filter }.into()),
            };
            // C-Blosc2 decompresses wrong data if there is a second delta, or a delta after a shuffle.
            let is_second_delta = rank == 1 && last_rank == 1;
            ensure(rank >= last_rank && !is_second_delta, Fault::FilterOrder { filter })?;
            last_rank = rank;
            let truncates = rank > 0 || cleared_bits(filter, typesize).is_some();
            ensure(truncates, Fault::Truncation { filter, typesize })?;
            *slot = filter.in_chunk(typesize_byte(typesize));
        }
        Ok(self)
    }

    /// The filters that cannot be undone, `trunc_prec` and `int_trunc`. The other filters are replaced by `NONE`.
    pub(crate) fn truncations(&self) -> [Filter; 6] {
        self.filters.map(|filter| match filter.without_parameter() {
            Filter::TRUNC_PREC | Filter::INT_TRUNC => filter,
            _ => Filter::NONE,
        })
    }

    /// Whether blocks of this size are split. Blocks that are not a whole number of items are never split, because
    /// C-Blosc2 would lose the last bytes of such a block.
    pub(crate) fn splits(&self, blocksize: usize) -> bool {
        let typesize = usize::from(typesize_byte(self.typesize));
        let wants_split = match self.splitmode {
            SplitMode::Always => true,
            SplitMode::Never => false,
            SplitMode::Auto | SplitMode::ForwardCompatible => {
                let is_fast = match self.codec {
                    Codec::ZSTD => self.clevel <= 5,
                    codec => [Codec::BLOSCLZ, Codec::LZ4].contains(&codec),
                };
                is_fast
                    && self.filters.iter().any(|filter| filter.id == Filter::SHUFFLE.id)
                    && typesize <= MAX_STREAMS
                    && blocksize / typesize >= MIN_ITEMS_OF_SPLIT
            }
        };
        wants_split && blocksize.is_multiple_of(typesize)
    }

    /// The block size for a chunk with this many bytes of data. It is at least 1.
    pub(crate) fn blocksize_of(&self, nbytes: usize) -> usize {
        let blocksize = if self.blocksize == 0 { self.default_blocksize(nbytes) } else { self.blocksize };
        let blocksize = blocksize.max(self.typesize).min(MAX_BLOCKSIZE).min(nbytes);
        match blocksize - blocksize % self.typesize {
            0 => blocksize.max(1),
            whole => whole,
        }
    }

    /// The block size that C-Blosc2 chooses.
    fn default_blocksize(&self, nbytes: usize) -> usize {
        const KIB: usize = 1024;
        let level = usize::from(self.clevel);
        if level > 0 && self.splits(nbytes - nbytes % self.typesize) {
            let stream = match level {
                0..=3 => 32 * KIB,
                4..=6 => 64 * KIB,
                7 => 128 * KIB,
                8 => 256 * KIB,
                _ => 512 * KIB,
            };
            return stream.saturating_mul(self.typesize).min(4096 * KIB);
        }
        if nbytes < 32 * KIB {
            return nbytes;
        }
        let base = [8, 16, 32, 64, 128, 128, 256, 256, 256, 256].get(level).map_or(0, |size| size * KIB);
        match (self.codec, level) {
            (Codec::ZLIB | Codec::ZSTD, 9) => 4 * base,
            (Codec::ZLIB | Codec::ZSTD, _) => 2 * base,
            _ => base,
        }
    }
}

/// The number of low bits that a truncation clears in each item. A positive parameter is the number of bits that stay,
/// a negative parameter is the number of bits that are cleared. `None` if the filter cannot truncate items of this size
/// with this parameter.
pub(crate) fn cleared_bits(filter: Filter, typesize: usize) -> Option<u32> {
    let bits = match (filter.id == Filter::TRUNC_PREC.id, typesize) {
        // `trunc_prec` clears bits of the mantissa of a float. The mantissa has 23 or 52 bits.
        (true, 4) => 23,
        (true, 8) => 52,
        (false, 1 | 2 | 4 | 8) => 8 * u32::try_from(typesize).ok()?,
        _ => return None,
    };
    let meta = i8::from_le_bytes([filter.meta]);
    let number = u32::from(meta.unsigned_abs());
    let cleared = if meta < 0 { number } else { bits.checked_sub(number)? };
    // C-Blosc2 never clears all bits.
    (cleared < bits).then_some(cleared)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::MAX_NBYTES;

    #[test]
    fn a_block_is_no_longer_than_c_blosc2_takes() {
        for blocksize in [0, 4, usize::MAX] {
            let params = CParams { blocksize, ..CParams::new(usize::MAX) };
            assert_eq!(params.blocksize_of(MAX_NBYTES), MAX_BLOCKSIZE);
        }
        let params = CParams { blocksize: usize::MAX, ..CParams::new(7) };
        assert_eq!(params.blocksize_of(MAX_NBYTES), MAX_BLOCKSIZE / 7 * 7);
    }
}
