//! Each test compresses data, and checks that decompression gives the same bytes. The tests in
//! `lab/interop/compressed.rs` decompress thousands of other chunks with C-Blosc2.

use b2nd_chunk::{
    CParams, Chunk, ChunkHeader, Codec, Compressor, Decompressor, ErrorKind, Filter, SpecialValue, SplitMode,
};

const CODECS: [Codec; 4] = [Codec::BLOSCLZ, Codec::LZ4, Codec::ZLIB, Codec::ZSTD];

fn compressed(params: CParams, data: &[u8]) -> (ChunkHeader, Vec<u8>) {
    let mut chunk = vec![0x55; 7];
    Compressor::new(params).unwrap().compress_into(data, &mut chunk).unwrap();
    let header = ChunkHeader::parse(&chunk).unwrap();
    assert_eq!(header.check(), Ok(()), "{params:?}");
    assert_eq!(
        (header.nbytes(), header.cbytes(), header.header_len()),
        (data.len(), chunk.len(), 32),
        "{params:?}"
    );
    (header, chunk)
}

fn decompressed(chunk: &[u8]) -> Vec<u8> {
    let mut data = vec![0xaa; ChunkHeader::parse(chunk).unwrap().nbytes()];
    Decompressor::new().decompress_into(&Chunk::parse(chunk).unwrap(), &mut data).unwrap();
    data
}

/// Numbers that rise slowly, so that every codec compresses them with any filter.
fn items(count: u32) -> Vec<u8> {
    (0..count).flat_map(|number| (number / 5 * 3).to_le_bytes()).collect()
}

fn noise(length: usize) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(7);
    (0..length).map(|_| rng.u8(..)).collect()
}

fn with_filters(mut params: CParams, filters: &[Filter]) -> CParams {
    params.filters = [Filter::NONE; 6];
    params.filters[6 - filters.len()..].copy_from_slice(filters);
    params
}

#[test]
fn every_codec_level_split_mode_and_filter_gives_the_same_bytes_back() {
    let (shuffle, bitshuffle, delta) = (Filter::SHUFFLE, Filter::BITSHUFFLE, Filter::DELTA);
    let pairs = Filter { meta: 2, ..shuffle };
    let rows = Filter { meta: 4, ..Filter::BYTEDELTA };
    let pipelines: [&[Filter]; 11] = [
        &[],
        &[shuffle],
        &[pairs],
        &[bitshuffle],
        &[Filter { meta: 3, ..bitshuffle }],
        &[delta],
        &[delta, shuffle],
        &[delta, bitshuffle],
        &[shuffle, rows],
        &[bitshuffle, shuffle],
        &[delta, shuffle, rows],
    ];
    // The data has two whole blocks and a shorter block. The test also compresses a slice of this data that ends within
    // an item.
    let data = items(650);
    let modes = [SplitMode::Always, SplitMode::Never, SplitMode::Auto, SplitMode::ForwardCompatible];
    for (codec, clevel) in CODECS.into_iter().flat_map(|codec| (0..=9).map(move |clevel| (codec, clevel))) {
        for (splitmode, filters) in
            modes.into_iter().flat_map(|mode| pipelines.map(|filters| (mode, filters)))
        {
            let mut params = with_filters(CParams::new(4), filters);
            (params.codec, params.clevel, params.splitmode, params.blocksize) =
                (codec, clevel, splitmode, 1024);
            for data in [&data[..], &data[..2101]] {
                let (header, chunk) = compressed(params, data);
                assert!(decompressed(&chunk) == data, "{params:?}");
                assert_eq!(header.blocksize(), 1024, "{params:?}");
                if clevel == 0 {
                    assert!(header.is_uncompressed(), "{params:?}");
                    continue;
                }
                assert!(header.has_table(), "{params:?}");
                let splits_itself = match codec {
                    Codec::ZSTD => clevel <= 5,
                    codec => codec != Codec::ZLIB,
                };
                let is_split = match splitmode {
                    SplitMode::Always => true,
                    SplitMode::Never => false,
                    _ => splits_itself && filters.iter().any(|filter| filter.id == shuffle.id),
                };
                assert_eq!((header.codec(), header.is_split()), (Some(codec), is_split), "{params:?}");
                assert!(chunk.len() < data.len(), "{} bytes: {params:?}", chunk.len());
            }
        }
    }
}

#[test]
fn blocks_are_split_automatically_from_32_items_on_and_up_to_16_bytes() {
    for (typesize, blocksize, is_split) in
        [(4, 128, true), (4, 124, false), (16, 512, true), (17, 544, false), (3, 4095, true), (3, 4096, true)]
    {
        let mut params = CParams::new(typesize);
        params.blocksize = blocksize;
        let (header, chunk) = compressed(params, &items(4000));
        assert_eq!(header.is_split(), is_split, "{params:?}");
        assert!(decompressed(&chunk) == items(4000), "{params:?}");
    }
}

#[test]
fn equal_items_become_a_chunk_of_one_value() {
    // Items above 255 bytes have the type size 1 in the header.
    for (typesize, typesize_in_header) in [(1, 1), (2, 2), (3, 3), (8, 8), (255, 255), (256, 1), (1000, 1)] {
        let params = CParams::new(typesize);
        let value = [&noise(typesize - 1)[..], b"\x01"].concat();
        for (item, special, cbytes) in [
            (vec![0; typesize], SpecialValue::Zeros, 32),
            (value.clone(), SpecialValue::Value, 32 + typesize),
        ] {
            let (header, chunk) = compressed(params, &item.repeat(100));
            assert_eq!((header.special(), chunk.len()), (Some(special), cbytes), "{typesize}");
            assert_eq!(header.typesize(), typesize_in_header);
            assert!(decompressed(&chunk) == item.repeat(100), "{typesize}");
        }
        // Three kinds of data are not constant: a single item, equal items with a part of an item at the end, and equal
        // items except the last.
        let mut other = value.repeat(100);
        other[100 * typesize - 1] ^= 4;
        let ragged = [&value.repeat(3)[..], &value[..typesize / 2]].concat();
        for data in [&value, &other, &ragged] {
            let (header, chunk) = compressed(params, data);
            let is_constant = typesize == 1 && data == &ragged;
            assert_eq!(header.special().is_some(), is_constant, "{typesize}, {} bytes", data.len());
            assert!(decompressed(&chunk) == *data, "{typesize}, {} bytes", data.len());
        }
    }
}

#[test]
fn short_data_level_0_and_noise_are_stored() {
    let compressible = [&items(8)[..]; 5].concat();
    for (data, clevel, is_stored) in [
        (&compressible[..0], 9, true),
        (&compressible[..1], 9, true),
        (&b"0101010101010101010101010101010"[..], 9, true),
        (&compressible[..], 0, true),
        (&compressible[..], 1, false),
        (&noise(40_000)[..], 9, true),
    ] {
        for codec in CODECS {
            let mut params = CParams::new(4);
            (params.codec, params.clevel) = (codec, clevel);
            let (header, chunk) = compressed(params, data);
            assert_eq!(header.is_uncompressed(), is_stored, "{} bytes, {params:?}", data.len());
            assert!(!is_stored || chunk[32..] == *data);
            assert!(decompressed(&chunk) == data);
        }
    }
    // At level 0, the vector allocates only a little more memory than the chunk needs.
    let mut params = CParams::new(4);
    params.clevel = 0;
    assert!(compressed(params, &noise(40_000)).1.capacity() < 41_000);
    // From 32 bytes on, data is compressed if it gets shorter. A stream in which all bytes are equal is stored in five
    // bytes.
    let mut params = with_filters(CParams::new(1), &[]);
    params.blocksize = 31;
    let data = [&[7; 31][..], b"1"].concat();
    let (header, chunk) = compressed(params, &data);
    assert_eq!((header.has_table(), chunk.len()), (true, 32 + 8 + 5 + 5));
    assert_eq!(decompressed(&chunk), data);
}

#[test]
fn a_chunk_is_at_most_32_bytes_longer_than_its_data() {
    let noise = noise(300);
    for length in (0..100).chain(190..260) {
        for zeros in [0, length / 10, length / 4] {
            let data = [&vec![0; zeros][..], &noise[..length - zeros]].concat();
            for codec in CODECS {
                let mut params = CParams::new(2);
                (params.codec, params.blocksize) = (codec, 64);
                let (_, chunk) = compressed(params, &data);
                assert!(chunk.len() <= length + 32, "{} bytes for {length}: {params:?}", chunk.len());
                assert!(decompressed(&chunk) == data, "{length}: {params:?}");
            }
        }
    }
}

#[test]
fn each_refused_parameter_is_named() {
    let filters = |filters: &[Filter]| with_filters(CParams::new(4), filters);
    let of_size = |typesize, filter| with_filters(CParams::new(typesize), &[filter]);
    let meta = |filter: Filter, meta: i8| Filter { meta: meta.cast_unsigned(), ..filter };
    let codec = |codec| {
        let mut params = CParams::new(4);
        params.codec = codec;
        params
    };
    let mut level = CParams::new(4);
    level.clevel = 10;
    let order = "trunc_prec and int_trunc come first, then at most one delta";
    let cases = [
        (codec(Codec::LZ4HC), "lz4hc is only decompressed here; to compress, use blosclz, lz4, zlib or zstd"),
        (codec(Codec(33)), "zfp_acc is not one of blosclz, lz4, zlib and zstd"),
        (codec(Codec(200)), "codec 200 is not one of blosclz, lz4, zlib and zstd"),
        (level, "the level is 10, but must be 0 to 9"),
        (CParams::new(0), "items have 0 bytes, but must have at least 1"),
        (filters(&[Filter::NDCELL]), "ndcell is a filter that this crate cannot apply"),
        (filters(&[Filter { id: 177, meta: 3 }]), "filter 177 (3) is a filter that this crate cannot apply"),
        (
            filters(&[Filter::SHUFFLE, Filter::DELTA]),
            &format!("the filter delta is at the wrong place: {order}"),
        ),
        (filters(&[Filter::DELTA; 2]), &format!("the filter delta is at the wrong place: {order}")),
        (
            filters(&[Filter::DELTA, meta(Filter::INT_TRUNC, 8)]),
            &format!("the filter int_trunc (8) is at the wrong place: {order}"),
        ),
        (
            filters(&[Filter::SHUFFLE, meta(Filter::TRUNC_PREC, 8)]),
            &format!("the filter trunc_prec (8) is at the wrong place: {order}"),
        ),
        (of_size(2, meta(Filter::TRUNC_PREC, 8)), "the filter trunc_prec (8) does not fit items of 2 bytes"),
        (
            of_size(4, meta(Filter::TRUNC_PREC, 24)),
            "the filter trunc_prec (24) does not fit items of 4 bytes",
        ),
        (of_size(4, Filter::TRUNC_PREC), "the filter trunc_prec does not fit items of 4 bytes"),
        (of_size(3, meta(Filter::INT_TRUNC, 8)), "the filter int_trunc (8) does not fit items of 3 bytes"),
        (of_size(1, meta(Filter::INT_TRUNC, -8)), "the filter int_trunc (248) does not fit items of 1 bytes"),
        (of_size(1, meta(Filter::INT_TRUNC, 9)), "the filter int_trunc (9) does not fit items of 1 bytes"),
    ];
    for (params, message) in cases {
        let error = Compressor::new(params).unwrap_err();
        assert_eq!(error.to_string(), format!("the chunk cannot be compressed: {message}"));
        assert_eq!(error.kind(), ErrorKind::Params);
    }
    let debug = format!("{:?}", Compressor::new(CParams::new(4)).unwrap());
    assert!(debug.starts_with("Compressor { params: CParams { codec: "), "{debug}");
}

#[test]
fn parameters_at_their_limits_are_taken() {
    let meta = |filter: Filter, meta: i8| Filter { meta: meta.cast_unsigned(), ..filter };
    for (typesize, filter) in [
        (4, meta(Filter::TRUNC_PREC, 23)),
        (4, meta(Filter::TRUNC_PREC, 1)),
        (4, meta(Filter::TRUNC_PREC, -22)),
        (8, meta(Filter::TRUNC_PREC, 52)),
        (8, meta(Filter::TRUNC_PREC, -51)),
        (1, meta(Filter::INT_TRUNC, 8)),
        (2, meta(Filter::INT_TRUNC, 16)),
        (8, meta(Filter::INT_TRUNC, -63)),
    ] {
        let params = with_filters(CParams::new(typesize), &[filter, filter, Filter::DELTA, Filter::SHUFFLE]);
        assert!(Compressor::new(params).is_ok(), "{params:?}");
    }
    // A fuzz target found that the default size of a block overflowed here.
    let mut params = CParams::new(usize::MAX);
    params.splitmode = SplitMode::Always;
    assert!(decompressed(&compressed(params, &items(100)).1) == items(100));
}

#[cfg(target_pointer_width = "64")]
#[test]
fn data_above_2147483615_bytes_is_refused_and_leaves_an_empty_chunk() {
    // This vector needs little memory, because the system only reserves addresses for memory that is never written.
    let data = vec![0; 2_147_483_616];
    let mut chunk = vec![1];
    let error = Compressor::new(CParams::new(1)).unwrap().compress_into(&data, &mut chunk).unwrap_err();
    let text = "the chunk has 2147483616 bytes of data, but must have at most 2147483615";
    assert_eq!((error.kind(), &*error.to_string()), (ErrorKind::DataTooLong, text));
    assert!(chunk.is_empty());
}

#[test]
fn delta_is_left_out_where_c_blosc2_loses_bytes() {
    let params = with_filters(CParams::new(4), &[Filter::DELTA, Filter::SHUFFLE]);
    for (length, expected) in
        [(4000, [Filter::DELTA, Filter::SHUFFLE]), (4001, [Filter::NONE, Filter::SHUFFLE])]
    {
        let data = &items(2000)[..length];
        let (header, chunk) = compressed(params, data);
        assert_eq!(header.filters()[4..], expected, "{length} bytes");
        assert!(decompressed(&chunk) == data);
    }
}

#[test]
fn bytedelta_gets_the_item_size_that_its_parameter_0_stands_for() {
    for (typesize, meta, expected) in [(4, 0, 4), (4, 2, 2), (300, 0, 1)] {
        let filter = Filter { meta, ..Filter::BYTEDELTA };
        let mut params = with_filters(CParams::new(typesize), &[filter]);
        params.codec = Codec::ZLIB;
        let (header, chunk) = compressed(params, &items(1000));
        assert_eq!(header.filters()[5], Filter { meta: expected, ..filter });
        assert!(decompressed(&chunk) == items(1000));
    }
}

#[test]
fn truncation_clears_the_bits_that_its_parameter_names() {
    let float = |bits: u32| f32::from_bits(bits).to_le_bytes().to_vec();
    let double = |bits: u64| f64::from_bits(bits).to_le_bytes().to_vec();
    let (trunc_prec, int_trunc) = (Filter::TRUNC_PREC, Filter::INT_TRUNC);
    for (filter, meta, item, expected) in [
        (trunc_prec, 23, float(0x3fff_ffff), float(0x3fff_ffff)),
        (trunc_prec, 10, float(0x3fff_ffff), float(0x3fff_e000)),
        (trunc_prec, -4, float(0x3fff_ffff), float(0x3fff_fff0)),
        (trunc_prec, 1, float(0xffff_ffff), float(0xffc0_0000)),
        (trunc_prec, 20, double(u64::MAX), double(0xffff_ffff_0000_0000)),
        (trunc_prec, -3, double(u64::MAX), double(0xffff_ffff_ffff_fff8)),
        (int_trunc, 3, vec![0xff], vec![0xe0]),
        (int_trunc, -3, vec![0xff], vec![0xf8]),
        (int_trunc, 10, vec![0xff; 2], vec![0xc0, 0xff]),
        (int_trunc, 8, vec![0xff; 4], vec![0, 0, 0, 0xff]),
        (int_trunc, -12, vec![0xff; 8], vec![0, 0xf0, 255, 255, 255, 255, 255, 255]),
        (int_trunc, 64, vec![0xff; 8], vec![0xff; 8]),
    ] {
        let filter = Filter { meta: i8::cast_unsigned(meta), ..filter };
        let params = with_filters(CParams::new(item.len()), &[filter, Filter::SHUFFLE]);
        // A zero item comes first, so the items are not all equal.
        let around = |item: &[u8]| [&vec![0; item.len()][..], &item.repeat(1000)].concat();
        let (header, chunk) = compressed(params, &around(&item));
        assert_eq!(header.filters()[4], filter);
        let once = decompressed(&chunk);
        assert!(once == around(&expected), "{filter}: {:x?}", &once[item.len()..2 * item.len()]);
        let (_, chunk) = compressed(params, &once);
        assert!(decompressed(&chunk) == once, "{filter}, twice");
        // A chunk of equal items.
        let (header, chunk) = compressed(params, &item.repeat(1000));
        assert_eq!(header.special(), Some(SpecialValue::Value), "{filter}");
        assert!(decompressed(&chunk) == expected.repeat(1000), "{filter}: {:x?}", &chunk[32..]);
    }
}

#[test]
fn equal_items_that_are_truncated_to_zeros_become_a_chunk_of_zeros() {
    let filter = Filter { meta: i8::cast_unsigned(-4), ..Filter::INT_TRUNC };
    let params = with_filters(CParams::new(2), &[filter, Filter::SHUFFLE]);
    let (header, chunk) = compressed(params, &[15, 0].repeat(16));
    assert_eq!((header.special(), chunk.len()), (Some(SpecialValue::Zeros), 32));
}

#[test]
fn data_that_is_stored_is_not_truncated() {
    let filter = Filter { meta: 1, ..Filter::TRUNC_PREC };
    let mut params = with_filters(CParams::new(4), &[filter, Filter::SHUFFLE]);
    let constant = [0xff; 4].repeat(7);
    assert!(decompressed(&compressed(params, &constant).1) == constant, "7 items");
    assert!(decompressed(&compressed(params, &noise(40)).1) == noise(40), "noise");
    params.clevel = 0;
    for data in [[0xff; 4].repeat(1000), noise(4000)] {
        assert!(decompressed(&compressed(params, &data).1) == data, "level 0, {} bytes", data.len());
    }
}

#[test]
fn default_block_sizes_are_those_of_c_blosc2() {
    const KIB: usize = 1024;
    let levels = |codec, typesize, filter| {
        (0..=9).map(move |clevel| {
            let mut params = with_filters(CParams::new(typesize), &[filter]);
            (params.codec, params.clevel) = (codec, clevel);
            // The header of a constant chunk has the block size, too.
            compressed(params, &vec![0; 5040 * KIB]).0.blocksize() / KIB
        })
    };
    let (shuffle, none) = (Filter::SHUFFLE, Filter::NONE);
    for (codec, typesize, filter, expected) in [
        (Codec::BLOSCLZ, 1, shuffle, [8, 32, 32, 32, 64, 64, 64, 128, 256, 512]),
        (Codec::LZ4, 4, shuffle, [8, 128, 128, 128, 256, 256, 256, 512, 1024, 2048]),
        (Codec::LZ4, 16, shuffle, [8, 512, 512, 512, 1024, 1024, 1024, 2048, 4096, 4096]),
        (Codec::BLOSCLZ, 4, none, [8, 16, 32, 64, 128, 128, 256, 256, 256, 256]),
        (Codec::ZLIB, 4, shuffle, [16, 32, 64, 128, 256, 256, 512, 512, 512, 1024]),
        (Codec::ZSTD, 2, shuffle, [16, 64, 64, 64, 128, 128, 512, 512, 512, 1024]),
    ] {
        let found: Vec<usize> = levels(codec, typesize, filter).collect();
        assert_eq!(found, expected, "{codec}, {typesize}, {filter}");
    }
    // Bytes after the last whole item do not change the block size.
    let params = CParams::new(4);
    assert_eq!(compressed(params, &vec![0; 5040 * KIB + 3]).0.blocksize(), 256 * KIB);
    // Data of less than 32 KiB is one block, at every level.
    for (nbytes, expected) in [(32 * KIB - 1, 32 * KIB - 4), (32 * KIB, 16 * KIB)] {
        let mut params = with_filters(CParams::new(4), &[]);
        (params.codec, params.clevel) = (Codec::LZ4, 1);
        assert_eq!(compressed(params, &vec![0; nbytes]).0.blocksize(), expected, "{nbytes}");
    }
}

#[test]
fn a_block_size_is_rounded_down_to_whole_items_but_not_below_one() {
    for (typesize, blocksize, nbytes, expected) in [
        (4, 4096, 10_000, 4096),
        (4, 4099, 10_000, 4096),
        (4, 3, 10_000, 4),
        (7, 1, 10_000, 7),
        (300, 1, 10_000, 300),
        (300, 899, 10_000, 600),
        (4, 1 << 30, 10_002, 10_000),
        (300, 4096, 200, 200),
        (8, 1, 0, 1),
    ] {
        let mut params = CParams::new(typesize);
        params.blocksize = blocksize;
        let data = &items(3000)[..nbytes];
        let (header, chunk) = compressed(params, data);
        assert_eq!(header.blocksize(), expected, "{params:?}");
        assert!(decompressed(&chunk) == data, "{params:?}");
    }
}

#[test]
fn a_compressor_makes_the_same_chunk_whatever_it_compressed_before() {
    let datas = [items(5000), noise(3000), items(77), vec![0; 500], items(20_000)];
    for codec in CODECS {
        for filters in [[Filter::DELTA, Filter::SHUFFLE], [Filter::BITSHUFFLE, Filter::SHUFFLE]] {
            let mut params = with_filters(CParams::new(4), &filters);
            (params.codec, params.blocksize) = (codec, 4096);
            let mut used = Compressor::new(params).unwrap();
            let mut chunk = Vec::new();
            for data in datas.iter().chain(datas.iter().rev()) {
                used.compress_into(data, &mut chunk).unwrap();
                assert!(chunk == compressed(params, data).1, "{params:?}");
            }
        }
    }
}

#[test]
fn zstd_gets_smaller_up_to_level_9() {
    // Counters with noise, in blocks that are not split, so that only the level differs.
    let mut rng = fastrand::Rng::with_seed(7);
    let data: Vec<u8> = (0..40_000_u64).flat_map(|at| (37 * at + rng.u64(..3)).to_le_bytes()).collect();
    let lengths = [1, 2, 3, 4, 5, 6, 7, 8, 9].map(|clevel| {
        let mut params = CParams::new(8);
        (params.clevel, params.blocksize, params.splitmode) = (clevel, data.len() / 2, SplitMode::Never);
        let (_, chunk) = compressed(params, &data);
        assert!(decompressed(&chunk) == data, "level {clevel}");
        chunk.len()
    });
    // The C library's levels are not always in order either.
    assert!(lengths[8] < lengths[4] && lengths[4] < lengths[0] && lengths[0] < data.len() / 4, "{lengths:?}");
}

#[test]
fn higher_levels_do_not_make_longer_chunks_of_floats() {
    let data: Vec<u8> = (0..50_000_u16).flat_map(|at| (f32::from(at) / 500.0).sin().to_le_bytes()).collect();
    for codec in CODECS {
        let lengths = [1, 5, 9].map(|clevel| {
            let mut params = CParams::new(4);
            (params.codec, params.clevel, params.blocksize) = (codec, clevel, data.len());
            params.splitmode = SplitMode::Always;
            compressed(params, &data).1.len()
        });
        assert!(lengths.is_sorted_by(|low, high| low >= high), "{codec}: {lengths:?}");
        assert!(lengths[2] < data.len() * 9 / 10, "{codec}: {lengths:?}");
    }
}

#[test]
fn the_parameter_of_shuffle_is_an_item_size_and_that_of_bitshuffle_is_ignored() {
    let body = |typesize: usize, filter: Filter| {
        let mut params = with_filters(CParams::new(typesize), &[filter]);
        (params.splitmode, params.blocksize) = (SplitMode::Never, 2000);
        compressed(params, &items(1000)).1.split_off(32)
    };
    let (shuffle, bitshuffle) = (Filter::SHUFFLE, Filter::BITSHUFFLE);
    assert_eq!(body(4, Filter { meta: 2, ..shuffle }), body(2, shuffle));
    assert_ne!(body(4, shuffle), body(2, shuffle));
    assert_eq!(body(4, Filter { meta: 2, ..bitshuffle }), body(4, bitshuffle));
}

#[test]
fn a_stream_that_is_as_long_as_its_data_is_stored() {
    // With some of these numbers of repeated bytes, a stream of zlib or zstd is exactly as long as its data.
    for (codec, repeated) in
        CODECS.into_iter().flat_map(|codec| (0..60).map(move |repeated| (codec, repeated)))
    {
        let bytes = noise(100);
        let mut data = [&bytes[..], &bytes[..repeated]].concat();
        let mut params = with_filters(CParams::new(1), &[]);
        (params.codec, params.blocksize) = (codec, data.len());
        // The second block becomes so short that the chunk is compressed.
        data.extend(vec![b'z'; data.len()]);
        assert!(decompressed(&compressed(params, &data).1) == data, "{codec}, {repeated}");
    }
}

/// A chunk of one stream of BloscLZ.
fn blosclz(clevel: u8, data: &[u8]) -> Vec<u8> {
    let mut params = with_filters(CParams::new(1), &[]);
    (params.codec, params.clevel, params.blocksize) = (Codec::BLOSCLZ, clevel, data.len());
    let (header, chunk) = compressed(params, data);
    assert_eq!(header.nblocks(), Some(1));
    assert!(decompressed(&chunk) == data, "level {clevel}, {} bytes", data.len());
    chunk
}

#[test]
fn blosclz_repeats_bytes_up_to_a_distance_of_73727() {
    let mark = &noise(40)[..];
    for (distance, is_repeated) in
        [(60, true), (8190, true), (8191, true), (8192, true), (8193, true), (73_727, true), (73_728, false)]
    {
        let zeros = vec![0; distance - mark.len()];
        let once = blosclz(5, &[mark, &zeros, &noise(20)].concat());
        let twice = blosclz(5, &[mark, &zeros, mark, &noise(20)].concat());
        assert_eq!(twice.len() - once.len() < 20, is_repeated, "{distance}: {}", twice.len() - once.len());
    }
}

#[test]
fn blosclz_makes_repetitions_of_any_length() {
    for length in (5..800).chain([20_000, 70_000]) {
        for repeated in [&b"a"[..], b"abc", &noise(length)] {
            let bytes: Vec<u8> = repeated.iter().copied().cycle().take(length).collect();
            let data = [&noise(64), &bytes[..], b"before", &bytes, &noise(20)].concat();
            let expected = if length < 20 { data.len() + 32 } else { data.len() - length * 2 / 3 + 60 };
            let found = blosclz(9, &data).len();
            assert!(found <= expected, "{length}: {found}, expected {expected}");
        }
    }
}

#[test]
fn blosclz_makes_use_of_alike_edges_in_label_images() {
    // An image of 256 x 256 bytes with five discs. The value of a byte in a disc is the label of this disc. Where discs
    // overlap, it is the label of the last one.
    let label = |x: i32, y: i32| {
        let is_in = |&(_, (cx, cy, r)): &(u8, (i32, i32, i32))| (x - cx).pow(2) + (y - cy).pow(2) < r * r;
        let discs = [(80, 70, 50), (170, 90, 60), (60, 190, 45), (190, 200, 40), (128, 128, 20)];
        (1..).zip(discs).filter(is_in).last().map_or(0, |(label, _)| label)
    };
    let image: Vec<u8> = (0..256).flat_map(|y| (0..256).map(move |x| label(x, y))).collect();
    for clevel in [1, 5, 9] {
        let found = blosclz(clevel, &image).len();
        assert!(found <= 2059, "level {clevel}: {found} bytes, more than before");
    }
}
