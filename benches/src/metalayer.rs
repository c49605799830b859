//! The time to read and write a metalayer, compared with C-Blosc2 and other crates, in a release build.
//!
//! `lab/run benchmarks metalayer` runs this benchmark several times, and writes the figures into
//! `lab/results/benchmarks.md`.

mod c_blosc2;
mod compare;

use std::env;
use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::hint::black_box;
use std::os::unix::fs::FileExt;

use b2nd_serde::to_vec;
use b2nd_serde_benches::{PREFIX, frame_with};
use b2nd_serde_user::vecs::Vecs;
use b2nd_serde_user::{arrays, frame, meta, vecs};
use blosc2_pure_rs::b2nd::B2ndMeta;

use c_blosc2::{CBlosc2, Fields};
use compare::{Bench, Row};

/// The number of turns of each routine.
const TURNS: usize = 2000;

const TO_SLICE: &str = "`to_slice`, struct with `Vec`s";
const TO_VEC: &str = "`to_vec`, struct with `Vec`s";
const ARRAYS: &str = "`from_slice`, arrays and `&str`";
const META: &str = "`from_slice`, `Meta`";
const VECS: &str = "`from_slice`, `Vec`s and `String`";
const FRAME: Row = ("`Frame` from a prefix, with `array()`", "two reads of 512 bytes of a cached file");

/// A buffer for any metalayer, aligned to a cache line.
#[repr(align(64))]
struct Buffer([u8; 400]);

impl Buffer {
    /// The buffer as a slice. The compiler must know neither the address nor the length of the slice, so each of them
    /// goes through a separate `black_box`. A single `black_box` for the slice would cost time: the program would store
    /// the address and the length separately, and load both at once. The processor would delay this load until both
    /// stores are done.
    fn slice(&mut self) -> &mut [u8] {
        &mut black_box(self).0[..black_box(400)]
    }
}

/// Measures the rows in the order in which the page of the benchmarks lists them.
fn main() {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let is_quick = arguments.iter().any(|argument| argument == "--quick");
    let filter = arguments.into_iter().find(|argument| !argument.starts_with("--")).unwrap_or_default();
    let bench = &Bench { turns: if is_quick { TURNS / 20 } else { TURNS }, filter };
    let c_blosc2 = CBlosc2::load();
    let c_blosc2 = c_blosc2.as_ref().ok_or("absent");
    macro_rules! rank {
        ($rank:literal $module:ident) => {
            let value = Vecs::of_rank($rank);
            let bytes = to_vec(&value).unwrap();
            let case = Case { ndim: $rank, value: &value, bytes: &bytes, c_blosc2 };
            write_to_slice(bench, &case);
            write_to_vec(bench, &case);

            let array = arrays::$module::read(&bytes).unwrap();
            assert_eq!(to_vec(&array).unwrap(), bytes);
            let mut ours = || {
                black_box(&arrays::$module::read(black_box(&bytes)));
            };
            case.against_c_reading(bench, ARRAYS, &mut ours);

            read_to_meta(bench, &case);
            read_to_vecs(bench, &case);
            read_frame(bench, &case);
        };
    }
    rank! { 1 rank_1 }
    rank! { 3 rank_3 }
    rank! { 8 rank_8 }
    rank! { 16 rank_16 }
}

/// A metalayer for the measurements, and the peer C-Blosc2.
struct Case<'a> {
    ndim: u8,
    value: &'a Vecs,
    bytes: &'a [u8],
    /// C-Blosc2, or the reason why it cannot be measured.
    c_blosc2: Result<&'a CBlosc2, &'static str>,
}

impl Case<'_> {
    fn against_c_writing(&self, bench: &Bench, operation: &'static str, ours: &mut dyn FnMut()) {
        let dtype = CString::new(&*self.value.dtype).unwrap();
        let row = (operation, "`b2nd_serialize_meta`");
        match self.c_blosc2 {
            Ok(c_blosc2) => {
                let write = |value: &Vecs, dtype| {
                    let Vecs { shape, chunkshape, blockshape, dtype_format, .. } = value;
                    c_blosc2.serialize(shape, chunkshape, blockshape, dtype, dtype_format.cast_signed())
                };
                assert_eq!(*write(self.value, &dtype), *self.bytes);
                let mut theirs = || {
                    black_box(&write(black_box(self.value), black_box(&dtype)));
                };
                bench.compare(row, self.ndim, ours, Ok(&mut theirs));
            }
            Err(reason) => bench.compare(row, self.ndim, ours, Err(reason)),
        }
    }

    fn against_c_reading(&self, bench: &Bench, operation: &'static str, ours: &mut dyn FnMut()) {
        let mut fields = Fields::default();
        let row = (operation, "`b2nd_deserialize_meta`");
        match self.c_blosc2 {
            Ok(c_blosc2) => {
                let (length, dtype) = c_blosc2.deserialize(self.bytes, &mut fields);
                assert_eq!(usize::try_from(length), Ok(self.bytes.len()));
                let (value, ndim) = (self.value, usize::from(self.ndim));
                assert_eq!((fields.ndim.cast_unsigned(), &fields.shape[..ndim]), (self.ndim, &*value.shape));
                assert_eq!(&fields.chunkshape[..ndim], &*value.chunkshape);
                assert_eq!(&fields.blockshape[..ndim], &*value.blockshape);
                let dtype = dtype.text().map(CStr::to_bytes);
                assert_eq!((fields.dtype_format, dtype), (0, Some(value.dtype.as_bytes())));
                let mut theirs = || {
                    black_box(&c_blosc2.deserialize(black_box(self.bytes), black_box(&mut fields)));
                };
                bench.compare(row, self.ndim, ours, Ok(&mut theirs));
            }
            Err(reason) => bench.compare(row, self.ndim, ours, Err(reason)),
        }
    }
}

fn write_to_slice(bench: &Bench, case: &Case) {
    let &Case { value, bytes, .. } = case;
    assert_eq!(vecs::write(value, &mut [0; 400]).unwrap(), bytes);
    let mut buffer = Buffer([0; 400]);
    let mut ours = || {
        black_box(vecs::write(black_box(value), buffer.slice()).is_ok());
    };
    case.against_c_writing(bench, TO_SLICE, &mut ours);
}

fn write_to_vec(bench: &Bench, case: &Case) {
    let &Case { ndim, value, bytes, .. } = case;
    let pure = B2ndMeta::new(
        value.shape.clone(),
        value.chunkshape.clone(),
        value.blockshape.clone(),
        &value.dtype,
        value.dtype_format.cast_signed(),
    )
    .unwrap();
    assert_eq!(vecs::write_vec(value).unwrap(), bytes);
    assert_eq!(pure.serialize().unwrap(), bytes);

    let mut ours = || {
        black_box(&vecs::write_vec(black_box(value)));
    };
    let mut rmp = || {
        black_box(&rmp_serde::to_vec(black_box(value)));
    };
    let mut pure = || {
        black_box(&black_box(&pure).serialize());
    };
    case.against_c_writing(bench, TO_VEC, &mut ours);
    bench.compare((TO_VEC, "rmp-serde, into its own bytes"), ndim, &mut ours, Ok(&mut rmp));
    bench.compare((TO_VEC, "blosc2-pure-rs, `B2ndMeta::serialize`"), ndim, &mut ours, Ok(&mut pure));
}

fn read_to_meta(bench: &Bench, case: &Case) {
    let &Case { bytes, .. } = case;
    assert_eq!(to_vec(&meta::read(bytes).unwrap()).unwrap(), bytes);
    let mut ours = || {
        black_box(&meta::read(black_box(bytes)));
    };
    case.against_c_reading(bench, META, &mut ours);
}

fn read_to_vecs(bench: &Bench, &Case { ndim, value, bytes, .. }: &Case) {
    let read_rmp = rmp_serde::from_slice::<Vecs>;
    assert_eq!(vecs::read(bytes).unwrap(), *value);
    let can_rmp = ndim < 16;
    assert!(!can_rmp || read_rmp(bytes).unwrap() == *value);
    assert_eq!(B2ndMeta::deserialize(bytes).unwrap().shape, value.shape);

    let mut ours = || {
        black_box(&vecs::read(black_box(bytes)));
    };
    let mut rmp = || {
        black_box(&read_rmp(black_box(bytes)));
    };
    let mut pure = || {
        black_box(&B2ndMeta::deserialize(black_box(bytes)));
    };
    let rmp: Result<&mut dyn FnMut(), _> = if can_rmp { Ok(&mut rmp) } else { Err("cannot") };
    bench.compare((VECS, "rmp-serde, from the same bytes"), ndim, &mut ours, rmp);
    bench.compare((VECS, "blosc2-pure-rs, `B2ndMeta::deserialize`"), ndim, &mut ours, Ok(&mut pure));
}

fn read_frame(bench: &Bench, &Case { ndim, bytes, .. }: &Case) {
    let prefix = frame_with(bytes);
    assert_eq!(frame::read(&prefix).unwrap(), ndim.into());
    // Writes the file next to the program. The temporary folder may be on a different kind of file system, such as one
    // in memory, where reads take a different time.
    let path = env::current_exe().unwrap().with_extension("b2nd");
    fs::write(&path, prefix).unwrap();
    let file = File::open(&path).unwrap();
    fs::remove_file(path).unwrap();

    let mut ours = || {
        black_box(&frame::read(black_box(&prefix)));
    };
    let mut buffer = [0; PREFIX];
    let mut two_reads = || {
        for _ in 0..2 {
            file.read_exact_at(black_box(&mut buffer), 0).unwrap();
        }
    };
    bench.compare(FRAME, ndim, &mut ours, Ok(&mut two_reads));
}
