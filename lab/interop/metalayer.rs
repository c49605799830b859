//! Compares how this crate, C-Blosc2 (the reference) and python-blosc2 read and write metalayers.

// `c_blosc2.rs` is in the folder of another package. A published archive of this package would not contain it, but
// neither package is ever published.
#[path = "../../benches/src/c_blosc2.rs"]
#[expect(unreachable_pub, reason = "the benchmarks use it too")]
mod c_blosc2;

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_int};

use crate::{cases, seed};
use b2nd_lab::Seven;
use b2nd_serde::{Error, ErrorKind, Layout, Meta, from_slice, to_vec};
use c_blosc2::CBlosc2;
use fastrand::Rng;

/// The fields that C-Blosc2 reads from a metalayer.
#[derive(Debug, PartialEq)]
struct Fields {
    length: usize,
    shape: Vec<i64>,
    chunkshape: Vec<i32>,
    blockshape: Vec<i32>,
    dtype_format: i8,
    dtype: Option<Vec<u8>>,
}

fn load() -> CBlosc2 {
    CBlosc2::load().expect("B2ND_LIBBLOSC2, which lab/run interop sets")
}

/// The fields that C-Blosc2 reads, or the error code.
fn read(reference: &CBlosc2, bytes: &[u8]) -> Result<Fields, c_int> {
    let mut fields = c_blosc2::Fields::default();
    let (code, dtype) = reference.deserialize(bytes, &mut fields);
    let length = usize::try_from(code).map_err(|_| code)?;
    let ndim = usize::try_from(fields.ndim).unwrap();
    Ok(Fields {
        length,
        shape: fields.shape[..ndim].to_vec(),
        chunkshape: fields.chunkshape[..ndim].to_vec(),
        blockshape: fields.blockshape[..ndim].to_vec(),
        dtype_format: fields.dtype_format,
        dtype: dtype.text().map(CStr::to_bytes).map(<[u8]>::to_vec),
    })
}

/// The fields that this crate reads from a metalayer, in the form that C-Blosc2 gives them.
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

/// A random metalayer. Half of the metalayers have small, ordinary numbers. The others have any numbers.
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
    let reference = load();
    let cases = cases(20_000);
    let mut rng = Rng::with_seed(seed().into());
    for _ in 0..cases {
        let value = random(&mut rng);
        let bytes = to_vec(&value).unwrap();
        let Seven { shape, chunkshape, blockshape, dtype_format, .. } = &value;
        let dtype = CString::new(value.dtype.as_str()).unwrap();
        let dtype_format = i8::try_from(*dtype_format).unwrap();
        let theirs = reference.serialize(shape, chunkshape, blockshape, &dtype, dtype_format);
        assert_eq!(bytes, *theirs, "{value:?}");
        let meta: Meta = from_slice(&bytes).unwrap();
        assert_eq!(read(&reference, &bytes), Ok(fields(&meta, bytes.len())), "{value:?}");
    }
    println!("{cases} random metalayers: all bytes and fields are equal");
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

/// The known reason why C-Blosc2 reads a metalayer that this crate refuses, or `None` if C-Blosc2 should have failed
/// too.
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
    let reference = load();
    let cases = cases(200_000);
    let mut rng = Rng::with_seed(seed().into());
    let mut counts = BTreeMap::<&str, usize>::new();
    for _ in 0..cases {
        let meta: Meta = from_slice(&to_vec(&random(&mut rng)).unwrap()).unwrap();
        let layout = Layout::ALL[rng.usize(..Layout::ALL.len())];
        let mut bytes = to_vec(&meta.with_layout(layout).unwrap()).unwrap();
        mutate(&mut bytes, &mut rng);

        let outcome = match (from_slice::<Meta>(&bytes), read(&reference, &bytes)) {
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
