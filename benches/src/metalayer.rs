//! The price of a metalayer, against C-Blosc2, against other crates and against code written by hand.
//!
//! `benches/run` runs it. The table goes to the standard output, and that of a whole run to `docs/BENCHMARKS.md`.

mod c_blosc2;
mod compare;
mod hand_written;
mod machine;
mod page;
mod rows;
mod values;

use std::env;
use std::ffi::CString;
use std::fs::{self, File};
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::Path;

use b2nd_serde::frame::Frame;
use b2nd_serde::{Meta, from_slice, to_slice, to_vec};
use blosc2_pure_rs::b2nd::B2ndMeta;
use serde::de::DeserializeOwned;

use c_blosc2::{CBlosc2, Fields};
use compare::Bench;
use values::{Arrays, Vecs};

/// Nearly a minute lies between two, so that no comparison falls into busy seconds as a whole.
const ROUNDS: usize = 3;

/// Bytes that a program reads of a file whose metalayer it wants.
const PREFIX: usize = 512;

/// Room for every metalayer here, always at the same place in the lines of the cache.
#[repr(align(64))]
struct Buffer([u8; 400]);

impl Buffer {
    /// The bytes, of which the compiler knows neither the place nor the length. A slice in one black box would be
    /// written to memory in two words and might be read as one: a wait that is no part of what is measured.
    fn slice(&mut self) -> &mut [u8] {
        &mut black_box(self).0[..black_box(400)]
    }
}

fn main() {
    let is_whole = env::args().skip(1).eq(["--bench"]);
    let mut bench = Bench::from_arguments();
    let c_blosc2 = CBlosc2::load();

    for _ in 0..if is_whole { ROUNDS } else { 1 } {
        measure::<1>(&mut bench, c_blosc2.as_ref());
        measure::<3>(&mut bench, c_blosc2.as_ref());
        measure::<8>(&mut bench, c_blosc2.as_ref());
        measure::<16>(&mut bench, c_blosc2.as_ref());
    }

    let page = page::page(&bench.results, c_blosc2.as_ref());
    println!("{page}");
    if is_whole {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("docs");
        fs::create_dir_all(&docs).unwrap();
        fs::write(docs.join("BENCHMARKS.md"), page).unwrap();
    }
}

/// One metalayer, and the peer that may be absent.
struct Case<'a> {
    ndim: u8,
    value: &'a Vecs,
    bytes: &'a [u8],
    c_blosc2: Result<&'a CBlosc2, &'static str>,
}

fn measure<const N: usize>(bench: &mut Bench, c_blosc2: Option<&CBlosc2>)
where
    [u64; N]: DeserializeOwned,
    [u32; N]: DeserializeOwned,
{
    let ndim = u8::try_from(N).unwrap();
    let value = Vecs::of_rank(ndim);
    let bytes = to_vec(&value).unwrap();
    let case = Case { ndim, value: &value, bytes: &bytes, c_blosc2: c_blosc2.ok_or("absent") };
    write_to_slice(bench, &case);
    write_to_vec(bench, &case);
    read_to_arrays::<N>(bench, &case);
    read_to_meta(bench, &case);
    read_to_vecs(bench, &case);
    read_frame(bench, &case);
}

fn write_to_slice(bench: &mut Bench, &Case { ndim, value, bytes, c_blosc2 }: &Case) {
    let (mut buffer, mut theirs) = (Buffer([0; 400]), Buffer([0; 400]));
    let dtype = CString::new(&*value.dtype).unwrap();
    assert_eq!(to_slice(value, &mut buffer.0).unwrap(), bytes);
    assert_eq!(hand_written::write(value, &mut theirs.0).unwrap(), bytes);
    if let Ok(c_blosc2) = c_blosc2 {
        assert_eq!(*c_blosc2.serialize(value, &dtype), *bytes);
    }

    let mut ours = || {
        black_box(to_slice(black_box(value), buffer.slice()).unwrap());
    };
    let c = c_blosc2.map(|c_blosc2| {
        || {
            black_box(&c_blosc2.serialize(black_box(value), black_box(&dtype)));
        }
    });
    bench.compare(&rows::TO_SLICE, ndim, &mut ours, c);
    let by_hand = || {
        black_box(hand_written::write(black_box(value), theirs.slice()).unwrap());
    };
    bench.compare(&rows::TO_SLICE_BY_HAND, ndim, &mut ours, Ok(by_hand));
}

fn write_to_vec(bench: &mut Bench, &Case { ndim, value, bytes, c_blosc2 }: &Case) {
    let dtype = CString::new(&*value.dtype).unwrap();
    let pure = B2ndMeta::new(
        value.shape.clone(),
        value.chunkshape.clone(),
        value.blockshape.clone(),
        &value.dtype,
        value.dtype_format.cast_signed(),
    )
    .unwrap();
    assert_eq!(hand_written::write_vec(value).unwrap(), bytes);
    assert_eq!(pure.serialize().unwrap(), bytes);

    let mut ours = || {
        black_box(&to_vec(black_box(value)).unwrap());
    };
    let c = c_blosc2.map(|c_blosc2| {
        || {
            black_box(&c_blosc2.serialize(black_box(value), black_box(&dtype)));
        }
    });
    bench.compare(&rows::TO_VEC, ndim, &mut ours, c);
    let by_hand = || {
        black_box(&hand_written::write_vec(black_box(value)).unwrap());
    };
    bench.compare(&rows::TO_VEC_BY_HAND, ndim, &mut ours, Ok(by_hand));
    let rmp = || {
        black_box(&rmp_serde::to_vec(black_box(value)).unwrap());
    };
    bench.compare(&rows::TO_VEC_RMP, ndim, &mut ours, Ok(rmp));
    let pure = || {
        black_box(&black_box(&pure).serialize().unwrap());
    };
    bench.compare(&rows::TO_VEC_PURE, ndim, &mut ours, Ok(pure));
}

fn read_to_arrays<const N: usize>(bench: &mut Bench, &Case { ndim, value, bytes, c_blosc2 }: &Case)
where
    [u64; N]: DeserializeOwned,
    [u32; N]: DeserializeOwned,
{
    let read = |bytes| from_slice::<Arrays<'_, [u64; N], [u32; N]>>(bytes).unwrap();
    assert_eq!(hand_written::read_arrays(bytes).unwrap(), read(bytes));
    let mut fields = Fields::default();
    if let Ok(c_blosc2) = c_blosc2 {
        let dtype = c_blosc2.deserialize(bytes, &mut fields);
        assert_eq!((fields.ndim.cast_unsigned(), &fields.shape[..N]), (ndim, &*value.shape));
        assert_eq!(
            (&fields.chunkshape[..N], &fields.blockshape[..N]),
            (&*value.chunkshape, &*value.blockshape)
        );
        assert_eq!((fields.dtype_format, dtype.to_str()), (0, Ok(&*value.dtype)));
    }

    let mut ours = || {
        black_box(&read(black_box(bytes)));
    };
    let c = c_blosc2.map(|c_blosc2| {
        || {
            black_box(&c_blosc2.deserialize(black_box(bytes), black_box(&mut fields)));
        }
    });
    bench.compare(&rows::TO_ARRAYS, ndim, &mut ours, c);
    let by_hand = || {
        black_box(&hand_written::read_arrays::<N>(black_box(bytes)).unwrap());
    };
    bench.compare(&rows::TO_ARRAYS_BY_HAND, ndim, &mut ours, Ok(by_hand));
}

fn read_to_meta(bench: &mut Bench, &Case { ndim, bytes, .. }: &Case) {
    assert_eq!(hand_written::read_meta(bytes).unwrap(), from_slice::<Meta>(bytes).unwrap());

    let mut ours = || {
        black_box(&from_slice::<Meta>(black_box(bytes)).unwrap());
    };
    let by_hand = || {
        black_box(&hand_written::read_meta(black_box(bytes)).unwrap());
    };
    bench.compare(&rows::TO_META, ndim, &mut ours, Ok(by_hand));
}

fn read_to_vecs(bench: &mut Bench, &Case { ndim, value, bytes, .. }: &Case) {
    let read_rmp = |bytes| rmp_serde::from_slice::<Vecs>(bytes).unwrap();
    let bytes_of_rmp = rmp_serde::to_vec(value).unwrap();
    assert_eq!(from_slice::<Vecs>(bytes).unwrap(), *value);
    assert_eq!(hand_written::read(bytes).unwrap(), *value);
    assert_eq!(read_rmp(&bytes_of_rmp), *value);
    let can_rmp = ndim < 16;
    assert!(!can_rmp || read_rmp(bytes) == *value);
    assert_eq!(B2ndMeta::deserialize(bytes).unwrap().shape, value.shape);

    let mut ours = || {
        black_box(&from_slice::<Vecs>(black_box(bytes)).unwrap());
    };
    let rmp = || {
        black_box(&read_rmp(black_box(bytes)));
    };
    let rmp = can_rmp.then_some(rmp).ok_or("cannot");
    bench.compare(&rows::TO_VECS, ndim, &mut ours, rmp);
    let by_hand = || {
        black_box(&hand_written::read(black_box(bytes)).unwrap());
    };
    bench.compare(&rows::TO_VECS_BY_HAND, ndim, &mut ours, Ok(by_hand));
    let rmp = || {
        black_box(&read_rmp(black_box(&bytes_of_rmp)));
    };
    bench.compare(&rows::TO_VECS_RMP, ndim, &mut ours, Ok(rmp));
    let pure = || {
        black_box(&B2ndMeta::deserialize(black_box(bytes)).unwrap());
    };
    bench.compare(&rows::TO_VECS_PURE, ndim, &mut ours, Ok(pure));
}

fn read_frame(bench: &mut Bench, &Case { ndim, bytes, .. }: &Case) {
    let prefix = frame_with(bytes);
    let frame = Frame::parse(&prefix).unwrap();
    assert_eq!(frame.array().unwrap().unwrap().meta(), Some(&from_slice(bytes).unwrap()));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("rank_{ndim}.b2nd"));
    fs::write(&path, prefix).unwrap();
    let file = File::open(path).unwrap();

    let mut ours = || {
        let frame = Frame::parse(black_box(&prefix)).unwrap();
        black_box(&frame.array().unwrap().unwrap());
    };
    let mut buffer = [0; PREFIX];
    let two_reads = || {
        for _ in 0..2 {
            file.read_exact_at(black_box(&mut buffer), 0).unwrap();
        }
    };
    bench.compare(&rows::FRAME, ndim, &mut ours, Ok(two_reads));
    let meta = || {
        black_box(&from_slice::<Meta>(black_box(bytes)).unwrap());
    };
    bench.compare(&rows::FRAME_AND_META, ndim, &mut ours, Ok(meta));
}

/// The first bytes of a frame that has this metalayer: those of a real file, with the metalayer exchanged.
fn frame_with(bytes: &[u8]) -> [u8; PREFIX] {
    let mut file = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/int32_3x5.b2nd")).unwrap();
    let frame = Frame::parse(&file).unwrap();
    let metalayer = frame.array_metalayer().unwrap();
    let end = metalayer.offset() + metalayer.bytes().len();
    assert_eq!(frame.header().header_len, end, "nothing of the header is behind the metalayer");
    let length = u32::try_from(bytes.len()).unwrap();
    let header_len = metalayer.offset() + bytes.len();
    let frame_len = frame.header().frame_len - end as u64 + header_len as u64;
    file.splice(metalayer.offset() - 4..end, length.to_be_bytes().into_iter().chain(bytes.iter().copied()));
    file[11..15].copy_from_slice(&i32::try_from(header_len).unwrap().to_be_bytes());
    file[16..24].copy_from_slice(&frame_len.to_be_bytes());
    file.resize(PREFIX, 0);
    file.try_into().unwrap()
}
