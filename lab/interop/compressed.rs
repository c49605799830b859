//! This project compresses chunks, and C-Blosc2 decompresses them to the same data.

use std::io::Write;
use std::process::Stdio;

use b2nd_chunk::{CParams, Chunk, ChunkHeader, Codec, Compressor, Decompressor, Filter, SplitMode};
use fastrand::Rng;
use serde_json::json;

use crate::{cases, python, seed};

/// Random bytes, of one of these kinds: equal items, noise, few different values, repetitions, or slowly rising
/// numbers. Sometimes the last item is not whole.
fn data(rng: &mut Rng, typesize: usize) -> Vec<u8> {
    let length = 1 << rng.u32(4..18);
    let length = length / 2 + rng.usize(0..=length / 2);
    let length = if rng.u8(..10) < 7 { length / typesize * typesize } else { length };
    let item: Vec<u8> = (0..rng.usize(1..40)).map(|_| rng.u8(..)).collect();
    let (style, value) = (rng.u8(..6), rng.choice([0, 0, 7, 255]).unwrap());
    let mut sum = 0_u32;
    let bytes = (0..length).map(|at| match style {
        0 => value,
        1 => rng.u8(..),
        2 => rng.choice([0, 0, 0, 1, 5]).unwrap(),
        3 => item[at % item.len()],
        4 => item[at % typesize % item.len()],
        _ => {
            if at % typesize == 0 {
                sum += rng.u32(..7);
            }
            sum.to_le_bytes().get(at % typesize).copied().unwrap_or_default()
        }
    });
    bytes.collect()
}

fn params(rng: &mut Rng, typesize: usize) -> CParams {
    // Bitshuffle and delta ignore their parameters.
    let ignored = rng.choice([0, 0, 3, 255]).unwrap();
    let bitshuffle = Filter { meta: ignored, ..Filter::BITSHUFFLE };
    let (shuffle, delta) = (Filter::SHUFFLE, Filter { meta: ignored, ..Filter::DELTA });
    let itemsize = Filter { meta: rng.u8(2..9), ..shuffle };
    let pipelines: &[&[Filter]] = &[
        &[],
        &[shuffle],
        &[bitshuffle],
        &[delta],
        &[delta, shuffle],
        &[delta, bitshuffle],
        &[shuffle, Filter::BYTEDELTA],
        &[bitshuffle, shuffle],
        &[itemsize],
        &[delta, shuffle, Filter::BYTEDELTA],
    ];
    let truncation = if rng.bool() {
        Filter { meta: rng.choice([3, 10, 20, 0xfd]).unwrap(), ..Filter::TRUNC_PREC }
    } else {
        Filter { meta: rng.choice([3, 5, 7, 0xfe]).unwrap(), ..Filter::INT_TRUNC }
    };
    loop {
        let mut params = CParams::new(typesize);
        params.codec = rng.choice([Codec::BLOSCLZ, Codec::LZ4, Codec::ZLIB, Codec::ZSTD]).unwrap();
        params.clevel = rng.u8(..=9);
        params.splitmode = rng.choice([SplitMode::Always, SplitMode::Never, SplitMode::Auto]).unwrap();
        let (whole, any) = (typesize * rng.usize(1..2000), rng.usize(1..5000));
        params.blocksize = rng.choice([0, 0, whole, any]).unwrap();
        params.filters = [Filter::NONE; 6];
        let filters = rng.choice(pipelines).unwrap();
        params.filters[6 - filters.len()..].copy_from_slice(filters);
        if rng.u8(..8) == 0 {
            params.filters[0] = truncation;
        }
        if Compressor::new(params).is_ok() {
            return params;
        }
    }
}

#[test]
fn c_blosc2_decompresses_our_chunks_to_the_same_bytes() {
    let mut rng = Rng::with_seed(seed().into());
    let mut child = python("compressed.py").stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let (mut chunk, mut decompressor) = (Vec::new(), Decompressor::new());
    let mut with_blocks = 0;
    for _ in 0..cases(20_000) {
        let (any, large) = (rng.usize(1..32), rng.usize(1..300));
        let typesize = rng.choice([1, 2, 3, 4, 8, 16, any, large]).unwrap();
        let (data, params) = (data(&mut rng, typesize), params(&mut rng, typesize));
        let case = format!("{} bytes, {params:?}", data.len());
        Compressor::new(params).unwrap().compress_into(&data, &mut chunk).unwrap();
        let header = ChunkHeader::parse(&chunk).unwrap();
        header.check().unwrap_or_else(|error| panic!("{error}: {case}"));
        assert!(chunk.len() == header.cbytes() && chunk.len() <= data.len() + 32, "{case}");
        with_blocks += u32::from(header.has_table());

        let [truncation, ..] = params.filters;
        // C-Blosc2 and this project truncate the data if the chunk is compressed or, at these levels and lengths, constant.
        let is_truncated =
            header.has_table() || header.special().is_some() && params.clevel > 0 && data.len() >= 32;
        let truncated = (is_truncated && truncation.id != 0 && truncation.name().is_some())
            .then_some(truncation)
            .filter(|filter| [Filter::TRUNC_PREC.id, Filter::INT_TRUNC.id].contains(&filter.id));
        let mut found = vec![0xaa; data.len()];
        Chunk::parse(&chunk)
            .and_then(|chunk| decompressor.decompress_into(&chunk, &mut found))
            .unwrap_or_else(|error| panic!("{error}: {case}"));
        assert!(truncated.is_some() || found == data, "other data: {case}");

        let truncated = truncated.map(|filter| {
            let meta = i8::from_le_bytes([filter.meta]);
            json!([filter.name().unwrap().to_uppercase(), meta, typesize])
        });
        let line =
            json!({ "data": data.len(), "chunk": chunk.len(), "truncated": truncated, "params": case });
        writeln!(input, "{line}").unwrap();
        input.write_all(&data).unwrap();
        input.write_all(&chunk).unwrap();
    }
    drop(input);
    assert!(child.wait().unwrap().success());
    println!("{with_blocks} chunks with compressed blocks");
}

/// Data with repetitions. A BloscLZ stream encodes short and long distances in different ways, and short and long
/// lengths too. Some distances and lengths here are close to the limits between these encodings.
fn repetitions(rng: &mut Rng) -> impl Iterator<Item = Vec<u8>> {
    let mut noise = |length| (0..length).map(|_| rng.u8(..)).collect::<Vec<u8>>();
    let mark = noise(40);
    let (end, long) = (noise(20), noise(70_000));
    let distances = [41, 255, 256, 8190, 8191, 8192, 8193, 65_535, 65_536, 73_726, 73_727, 73_728];
    let far = distances.map(|distance| [&mark[..], &vec![0; distance - 40], &mark, &end].concat());
    let lengths = (5..30).chain(250..290).chain(510..540).chain([8191, 8192, 70_000]);
    let alike = lengths.flat_map(move |length| {
        [vec![7; length], b"abc".iter().copied().cycle().take(length).collect(), long[..length].to_vec()]
            .map(|bytes| [&mark, &bytes[..], b"before", &bytes, &end].concat())
    });
    far.into_iter().chain(alike)
}

#[test]
fn c_blosc2_decompresses_repetitions_at_every_distance_and_length() {
    let mut child = python("compressed.py").stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut chunk = Vec::new();
    for data in repetitions(&mut Rng::with_seed(seed().into())) {
        for clevel in [1, 5, 9] {
            let mut params = CParams::new(1);
            (params.codec, params.clevel, params.blocksize) = (Codec::BLOSCLZ, clevel, data.len());
            Compressor::new(params).unwrap().compress_into(&data, &mut chunk).unwrap();
            let line =
                json!({ "data": data.len(), "chunk": chunk.len(), "truncated": null, "level": clevel });
            writeln!(input, "{line}").unwrap();
            input.write_all(&data).unwrap();
            input.write_all(&chunk).unwrap();
        }
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn our_default_block_sizes_are_those_of_c_blosc2() {
    let mut rng = Rng::with_seed(seed().into());
    let mut child = python("compressed.py").arg("blocksizes").stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut chunk = Vec::new();
    for _ in 0..cases(2000) {
        let (any, large) = (rng.usize(1..32), rng.usize(1..256));
        let typesize = rng.choice([1, 2, 3, 4, 8, 16, any, large]).unwrap();
        let bits = rng.u32(1..23);
        // The data has at least one whole item, because C-Blosc2 makes blocks of one byte for data that is shorter than
        // an item.
        let nbytes = typesize.max(32) + rng.usize(0..1 << bits);
        let nbytes = if rng.bool() { nbytes.next_multiple_of(typesize) } else { nbytes };
        let mut params = CParams::new(typesize);
        params.codec = rng.choice([Codec::BLOSCLZ, Codec::LZ4, Codec::ZLIB, Codec::ZSTD]).unwrap();
        params.clevel = rng.u8(..=9);
        params.splitmode = rng.choice([SplitMode::Always, SplitMode::Never, SplitMode::Auto]).unwrap();
        params.filters[5] = rng.choice([Filter::SHUFFLE, Filter::BITSHUFFLE, Filter::NONE]).unwrap();
        // The values of the data do not matter, because only the block size in the header is compared. Zeros can become
        // a constant chunk, but its header has a block size too.
        Compressor::new(params).unwrap().compress_into(&vec![0; nbytes], &mut chunk).unwrap();
        let line = json!({
            "nbytes": nbytes,
            "typesize": typesize,
            "codec": params.codec.to_string().to_uppercase(),
            "clevel": params.clevel,
            "splitmode": format!("{}_SPLIT", params.splitmode.to_string().to_uppercase()),
            "filter": params.filters[5].id,
            "blocksize": ChunkHeader::parse(&chunk).unwrap().blocksize(),
        });
        writeln!(input, "{line}").unwrap();
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}
