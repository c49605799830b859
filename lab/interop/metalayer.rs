//! Compares metalayers of this crate with those of the reference, C-Blosc2, and of python-blosc2.

#![allow(unsafe_code, reason = "calls into C")]

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::{env, fs, ptr};

use crate::{cases, python};
use b2nd_frame::Frame;
use b2nd_lab::{Seven, data};
use b2nd_serde::{Error, ErrorKind, Layout, Meta, Shapes, from_slice, to_vec};
use fastrand::Rng;
use libloading::Library;
use serde_json::Value;

type Serialize = unsafe extern "C" fn(
    ndim: i8,
    shape: *const i64,
    chunkshape: *const i32,
    blockshape: *const i32,
    dtype: *const c_char,
    dtype_format: i8,
    smeta: *mut *mut u8,
) -> c_int;

type Deserialize = unsafe extern "C" fn(
    smeta: *const u8,
    smeta_len: i32,
    ndim: *mut i8,
    shape: *mut i64,
    chunkshape: *mut i32,
    blockshape: *mut i32,
    dtype: *mut *mut c_char,
    dtype_format: *mut i8,
) -> c_int;

unsafe extern "C" {
    fn free(pointer: *mut c_void);
}

/// C-Blosc2's two functions for the metalayer.
struct Reference {
    library: Library,
}

/// The fields that C-Blosc2 reads.
#[derive(Debug, PartialEq)]
struct Fields {
    length: usize,
    shape: Vec<i64>,
    chunkshape: Vec<i32>,
    blockshape: Vec<i32>,
    dtype_format: i8,
    dtype: Option<Vec<u8>>,
}

impl Reference {
    fn load() -> Self {
        let path = env::var_os("B2ND_LIBBLOSC2").expect("B2ND_LIBBLOSC2, which lab/run interop sets");
        // SAFETY: the library of the package; its initializers do nothing.
        Self { library: unsafe { Library::new(path) }.unwrap() }
    }

    fn serialize(&self, value: &Seven) -> Vec<u8> {
        let dtype = CString::new(value.dtype.clone()).unwrap();
        let mut smeta = ptr::null_mut();
        // SAFETY: the types are those of the header `b2nd.h`, and each vector has `ndim` items. What the function
        // allocates has the length that it returns.
        unsafe {
            let serialize = self.library.get::<Serialize>(b"b2nd_serialize_meta").unwrap();
            let length = serialize(
                value.ndim.try_into().unwrap(),
                value.shape.as_ptr(),
                value.chunkshape.as_ptr(),
                value.blockshape.as_ptr(),
                dtype.as_ptr(),
                value.dtype_format.try_into().unwrap(),
                &raw mut smeta,
            );
            let bytes = std::slice::from_raw_parts(smeta, length.try_into().unwrap()).to_vec();
            free(smeta.cast());
            bytes
        }
    }

    /// The fields that are read, or the error code.
    fn deserialize(&self, bytes: &[u8]) -> Result<Fields, c_int> {
        let (mut ndim, mut dtype_format, mut dtype) = (0_i8, 0_i8, ptr::null_mut());
        let (mut shape, mut chunkshape, mut blockshape) = ([0; 16], [0; 16], [0; 16]);
        // SAFETY: the types are those of the header `b2nd.h`; the vectors have room for its largest rank. The dtype
        // is a C string that the caller frees.
        let (code, dtype) = unsafe {
            let deserialize = self.library.get::<Deserialize>(b"b2nd_deserialize_meta").unwrap();
            let code = deserialize(
                bytes.as_ptr(),
                bytes.len().try_into().unwrap(),
                &raw mut ndim,
                shape.as_mut_ptr(),
                chunkshape.as_mut_ptr(),
                blockshape.as_mut_ptr(),
                &raw mut dtype,
                &raw mut dtype_format,
            );
            let text = (!dtype.is_null()).then(|| CStr::from_ptr(dtype).to_bytes().to_vec());
            free(dtype.cast());
            (code, text)
        };
        let length = usize::try_from(code).map_err(|_| code)?;
        let ndim = usize::try_from(ndim).unwrap();
        Ok(Fields {
            length,
            shape: shape[..ndim].to_vec(),
            chunkshape: chunkshape[..ndim].to_vec(),
            blockshape: blockshape[..ndim].to_vec(),
            dtype_format,
            dtype,
        })
    }
}

/// The fields that we read, in C-Blosc2's form.
fn fields(meta: &Meta, length: usize) -> Fields {
    Fields {
        length,
        shape: meta.shape().to_vec(),
        chunkshape: meta.chunkshape().to_vec(),
        blockshape: meta.blockshape().to_vec(),
        dtype_format: meta.dtype_format().unwrap_or_default().try_into().unwrap(),
        dtype: meta.dtype().map(|dtype| dtype.as_bytes().to_vec()),
    }
}

/// A random metalayer: half of them small and ordinary, half with arbitrary numbers.
fn random(rng: &mut Rng) -> Seven {
    let ndim = if rng.bool() { rng.u8(0..=4) } else { rng.u8(0..=16) };
    let wild = rng.bool();
    let long = |rng: &mut Rng| if wild { rng.i64(..) >> rng.u8(0..64) } else { rng.i64(0..1000) };
    let short = |rng: &mut Rng| if wild { rng.i32(..) >> rng.u8(0..32) } else { rng.i32(0..1000) };
    let dtypes = ["<i4", "|u1", "<f8", "", "[('größe', '<f4'), ('名前', '<U3')]", "<M8[ns]"];
    let dtype = if rng.bool() {
        dtypes[rng.usize(..dtypes.len())].to_owned()
    } else {
        (0..rng.usize(..500)).map(|_| rng.char('\u{1}'..)).collect()
    };
    Seven {
        version: 0,
        ndim,
        shape: (0..ndim).map(|_| long(rng)).collect(),
        chunkshape: (0..ndim).map(|_| short(rng)).collect(),
        blockshape: (0..ndim).map(|_| short(rng)).collect(),
        dtype_format: if rng.bool() { 0 } else { rng.u8(0..=127) },
        dtype,
    }
}

#[test]
fn c_blosc2_writes_the_same_bytes_and_reads_the_same_fields() {
    let reference = Reference::load();
    let cases = cases(20_000);
    let mut rng = Rng::with_seed(seed());
    for _ in 0..cases {
        let value = random(&mut rng);
        let bytes = to_vec(&value).unwrap();
        assert_eq!(bytes, reference.serialize(&value), "{value:?}");
        let meta: Meta = from_slice(&bytes).unwrap();
        assert_eq!(reference.deserialize(&bytes), Ok(fields(&meta, bytes.len())), "{value:?}");
    }
    println!("{cases} random metalayers: all bytes and fields are equal");
}

/// A random seed, or the value of `B2ND_SEED` to repeat a run.
fn seed() -> u64 {
    let seed = env::var("B2ND_SEED").ok().map_or_else(|| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("B2ND_SEED={seed}");
    seed
}

/// A few changes of the kind that broken writers and broken disks make.
fn mutate(bytes: &mut Vec<u8>, rng: &mut Rng) {
    const MARKERS: [u8; 16] =
        [0x00, 0x01, 0x7f, 0x80, 0x90, 0x92, 0x93, 0x95, 0x96, 0x97, 0xa0, 0xcf, 0xd2, 0xd3, 0xdb, 0xff];
    for _ in 0..rng.u8(1..=3) {
        let at = if bytes.is_empty() { 0 } else { rng.usize(..bytes.len()) };
        match rng.u8(..8) {
            0 => bytes.insert(at, rng.u8(..)),
            1 if !bytes.is_empty() => drop(bytes.remove(at)),
            2 => bytes.truncate(at),
            3 => bytes.push(rng.u8(..)),
            4 | 5 if !bytes.is_empty() => bytes[at] = MARKERS[rng.usize(..MARKERS.len())],
            _ if !bytes.is_empty() => bytes[at] = rng.u8(..),
            _ => bytes.push(0),
        }
    }
}

/// The reason why C-Blosc2 reads what we refuse; `None` if C-Blosc2 should have failed too.
fn leniency(error: &Error, bytes: &[u8], read: &Fields) -> Option<&'static str> {
    Some(match error.kind() {
        ErrorKind::Layout => "only it: it passes over the outer marker",
        ErrorKind::Marker => "only it: it passes over every marker and count but the dtype's",
        ErrorKind::Utf8 => "only it: its dtype is bytes",
        ErrorKind::Nul => "only it: its dtype ends at a NUL",
        ErrorKind::TrailingBytes => "only it: it passes over what is left, or finds a dtype there",
        ErrorKind::UnexpectedEnd if read.dtype.is_none() && read.length == bytes.len() => {
            "only it: the bytes left, not the outer marker, say whether there is a dtype"
        }
        ErrorKind::DtypeLength if bytes[0] == 0x96 => {
            "only it: it takes a str32 marker for a dtype format, and layout b2nd-six for no layout"
        }
        _ => return None,
    })
}

#[test]
fn what_we_accept_c_blosc2_reads_alike_and_what_only_it_accepts_has_a_known_reason() {
    let reference = Reference::load();
    let cases = cases(200_000);
    let mut rng = Rng::with_seed(seed());
    let mut counts = BTreeMap::<&str, usize>::new();
    for _ in 0..cases {
        let meta: Meta = from_slice(&to_vec(&random(&mut rng)).unwrap()).unwrap();
        let layout = Layout::ALL[rng.usize(..Layout::ALL.len())];
        let mut bytes = to_vec(&meta.with_layout(layout).unwrap()).unwrap();
        mutate(&mut bytes, &mut rng);

        let outcome = match (from_slice::<Meta>(&bytes), reference.deserialize(&bytes)) {
            (Ok(meta), Err(_)) => {
                assert_eq!(meta.layout(), Layout::B2ndSix, "{bytes:x?}");
                "only we: it has never read layout b2nd-six"
            }
            (Ok(meta), Ok(read)) => {
                assert_eq!(read, fields(&meta, bytes.len()), "{bytes:x?}");
                "both"
            }
            (Err(_), Err(_)) => "neither",
            (Err(error), Ok(read)) => match leniency(&error, &bytes, &read) {
                Some(reason) => reason,
                None => panic!("{error}, but C-Blosc2 reads {bytes:x?}"),
            },
        };
        *counts.entry(outcome).or_default() += 1;
    }
    println!("{cases} mutated metalayers");
    for (outcome, count) in &counts {
        println!("{count:9}  {outcome}");
    }
    assert!(counts["both"] > 1000 && counts["neither"] > 1000);
}

/// Bytes of ours in the place of a file's metalayer.
fn with_metalayer(name: &str, change: impl Fn(&Meta) -> Meta) -> (Vec<u8>, Meta) {
    let mut file = fs::read(data().join(name)).unwrap();
    let frame = Frame::parse(&file).unwrap();
    let layer = frame.array_metalayer().unwrap();
    let meta = change(frame.array().unwrap().unwrap().meta().unwrap());
    let bytes = to_vec(&meta).unwrap();
    assert_eq!(bytes.len(), layer.bytes().len());
    // The new metalayer overwrites the old one completely.
    file[layer.offset()..][..bytes.len()].copy_from_slice(&bytes);
    (file, meta)
}

#[test]
fn python_blosc2_opens_files_with_our_bytes_in_their_header() {
    let folder = tempfile::tempdir().unwrap();
    // The same again, and another shape of the same grid of chunks, with another dtype of the same size.
    let same = |meta: &Meta| Meta::new(meta.shapes(), meta.dtype().unwrap());
    let files: Vec<(&str, (Vec<u8>, Meta))> = vec![
        (
            "int32_3x5.b2nd",
            with_metalayer("int32_3x5.b2nd", |_| {
                Meta::new(Shapes { shape: &[4, 6], chunkshape: &[2, 3], blockshape: &[1, 2] }, "<u4").unwrap()
            }),
        ),
        ("scalar.b2nd", with_metalayer("scalar.b2nd", |meta| same(meta).unwrap())),
        ("empty.b2nd", with_metalayer("empty.b2nd", |meta| same(meta).unwrap())),
        ("rank16.b2nd", with_metalayer("rank16.b2nd", |meta| same(meta).unwrap())),
        ("struct_long.b2nd", with_metalayer("struct_long.b2nd", |meta| same(meta).unwrap())),
        (
            "struct_non_ascii.b2nd",
            with_metalayer("struct_non_ascii.b2nd", |meta| {
                Meta::new(Shapes { shape: &[8], ..meta.shapes() }, "[('größe', '>f4'), ('名字', '<U3')]")
                    .unwrap()
            }),
        ),
    ];
    let mut command = python("open.py");
    for (name, (file, _)) in &files {
        let path = folder.path().join(name);
        fs::write(&path, file).unwrap();
        command.arg(path);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let seen: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    for ((name, (_, meta)), seen) in files.iter().zip(&seen) {
        let expected = serde_json::json!({
            "shape": meta.shape(), "chunks": meta.chunkshape(), "blocks": meta.blockshape(), "dtype": meta.dtype(),
        });
        assert_eq!(*seen, expected, "{name}");
    }
    println!("{} files with our bytes open in python-blosc2", seen.len());
}
