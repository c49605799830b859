//! Compression of any bytes with any parameters.

use b2nd_chunk::{
    CParams, Chunk, ChunkHeader, Codec, Compressor, Decompressor, ErrorKind, Filter, SplitMode,
};

use crate::choices::Choices;
use crate::seeds;

const COUNT: usize = 24;

const CODECS: [Codec; 4] = [Codec::BLOSCLZ, Codec::LZ4, Codec::ZLIB, Codec::ZSTD];
const SPLIT_MODES: [SplitMode; 3] = [SplitMode::Auto, SplitMode::Always, SplitMode::Never];
const TRUNCATIONS: [Filter; 2] = [Filter::TRUNC_PREC, Filter::INT_TRUNC];
/// The filters that the compressor can apply and that do not truncate. In this order, the compressor accepts all of
/// them together, and any selection of them.
const FILTERS: [Filter; 4] = [Filter::DELTA, Filter::BITSHUFFLE, Filter::SHUFFLE, Filter::BYTEDELTA];

/// Choices with the bytes of a frame as the data, and choices without data.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut all = seeds::choices(COUNT, &seeds::frames());
    all.extend(seeds::choices(COUNT, &[]));
    all
}

fn params(choices: &mut Choices<'_>) -> CParams {
    let mut params = CParams::new(choices.one(&[1, 2, 3, 4, 8, 16, 255, 256]));
    params.codec = choices.one(&CODECS);
    params.clevel = choices.byte() % 10;
    params.splitmode = choices.one(&SPLIT_MODES);
    params.blocksize = usize::from(choices.byte()) * choices.below(64);
    let kept = choices.byte();
    let meta = choices.byte() % 9;
    for (number, filter) in FILTERS.into_iter().enumerate() {
        let is_kept = kept >> number & 1 == 1;
        params.filters[2 + number] = if is_kept { Filter { meta, ..filter } } else { Filter::NONE };
    }
    if kept >> 4 == 0 {
        params.filters[0] = Filter { meta: choices.byte(), ..choices.one(&TRUNCATIONS) };
    }
    // Sometimes uses any numbers as parameters. The compressor refuses most of them.
    if choices.below(16) == 0 {
        let other = Filter { id: choices.byte(), meta: choices.byte() };
        params.filters[choices.below(6)] = other;
        params.codec = Codec(choices.byte() % 40);
        params.clevel = choices.byte();
        params.typesize = usize::try_from(choices.wide()).unwrap_or(usize::MAX);
        params.blocksize = usize::try_from(choices.wide()).unwrap_or(usize::MAX);
    }
    params
}

/// Asserts that a chunk is at most 32 bytes longer than its data, and that it decompresses to the data, as a whole and
/// block by block. A filter that truncates the data must not change truncated data.
pub(super) fn run(bytes: &[u8]) {
    let (mut choices, data) = Choices::split(bytes, COUNT);
    let params = params(&mut choices);
    let mut compressor = match Compressor::new(params) {
        Ok(compressor) => compressor,
        Err(error) => return assert_eq!(error.kind(), ErrorKind::Params, "{error}"),
    };
    let truncates = params.filters.iter().any(|filter| TRUNCATIONS.iter().any(|other| other.id == filter.id));
    let once = round_trip(&mut compressor, data);
    assert!(truncates || once == data, "other data");
    if truncates {
        // Truncated data does not change if it is truncated again. Data that the compressor stores uncompressed or as a
        // constant chunk is not truncated, so it does not change either.
        assert!(round_trip(&mut compressor, &once) == once, "truncated twice");
    }
}

fn round_trip(compressor: &mut Compressor, data: &[u8]) -> Vec<u8> {
    let (mut chunk, mut decompressor) = (Vec::new(), Decompressor::new());
    compressor.compress_into(data, &mut chunk).expect("data that is not too long");
    let header = ChunkHeader::parse(&chunk).expect("a chunk");
    header.check().expect("a chunk");
    assert!(chunk.len() == header.cbytes() && header.nbytes() == data.len());
    assert!(chunk.len() <= data.len() + 32, "{} bytes for {}", chunk.len(), data.len());
    let mut found = vec![0xaa; data.len()];
    let chunk = Chunk::parse(&chunk).expect("a chunk");
    assert_eq!(decompressor.decompress_into(&chunk, &mut found), Ok(data.len()));
    let (mut done, mut block) = (0, vec![0x55; data.len()]);
    for number in 0..header.nblocks().unwrap_or_default().min(64) {
        let length = decompressor.decompress_block(&chunk, number, &mut block).expect("a block");
        assert_eq!(found[done..done + length], block[..length], "block {number}");
        done += length;
    }
    found
}
