//! Writes and reads a metalayer, and finds items in the chunks of an array, without an allocator. Exits with 0 if all
//! steps succeed, or else with the number of the step that failed.

#![no_std]
#![no_main]

use b2nd_serde::{
    ErrorKind, Geometry, Shapes, from_slice, geometry, serialized_size, take_from_slice, to_slice,
};
use serde_derive::{Deserialize, Serialize};

#[derive(PartialEq, Serialize, Deserialize)]
struct Metalayer<'a> {
    version: u8,
    ndim: u8,
    shape: [u64; 3],
    chunkshape: [u32; 3],
    blockshape: [u32; 3],
    dtype_format: u8,
    dtype: &'a str,
}

fn run() -> Result<(), i32> {
    let value = Metalayer {
        version: 0,
        ndim: 3,
        shape: [5, 400, 3],
        chunkshape: [1, 110, 3],
        blockshape: [1, 57, 3],
        dtype_format: 0,
        dtype: "|u1",
    };
    let mut buffer = [0; 128];
    let bytes = to_slice(&value, &mut buffer).map_err(|_| 1)?;
    ensure(serialized_size(&value).is_ok_and(|size| size == bytes.len()), 2)?;
    ensure(from_slice::<Metalayer>(bytes).is_ok_and(|read| read == value), 3)?;
    ensure(take_from_slice::<Metalayer>(bytes).is_ok_and(|(_, rest)| rest.is_empty()), 4)?;

    // Without an allocator, errors still have their kind, position and message. Only one kind of message is lost: the
    // text of an error that a type's own `Serialize` or `Deserialize` raised.
    let error = from_slice::<Metalayer>(&bytes[..12]).err().ok_or(5)?;
    ensure(error.kind() == ErrorKind::UnexpectedEnd && error.offset() == Some(4), 6)?;
    let error = to_slice(&value, &mut [0; 10]).err().ok_or(7)?;
    ensure(error.kind() == ErrorKind::BufferTooSmall, 8)?;
    find_items()
}

/// Finds the items of a slice in the worked example of the format, which has 3 x 5 items in chunks of 2 x 3 and blocks
/// of 1 x 2.
fn find_items() -> Result<(), i32> {
    let geometry =
        Geometry::new(Shapes { shape: &[3, 5], chunkshape: &[2, 3], blockshape: &[1, 2] }).map_err(|_| 9)?;
    ensure(geometry.position(&[1, 2]).and_then(|at| geometry.byte_offset(at, 4)) == Some(24), 10)?;
    let chunks = geometry.chunks_in(&[0..3, 1..4]).map_err(|_| 11)?;
    // `found` counts how often each item of the slice is in a run. Each item must be in exactly one run.
    let mut found = [0; 9];
    for run in chunks.flat_map(|chunk| chunk.blocks()).flat_map(|block| block.runs()) {
        let target = run.target(1).and_then(|range| found.get_mut(range)).ok_or(12)?;
        target.iter_mut().for_each(|count| *count += 1);
    }
    ensure(found == [1; 9], 13)?;
    let resize = geometry.resize(&[2, 9]).map_err(|_| 14)?;
    ensure(resize.changes_chunks(), 15)?;
    ensure(resize.kept_chunks().eq([(0, 0), (1, 1)]), 16)?;
    let error = Geometry::new(Shapes { shape: &[3], chunkshape: &[0], blockshape: &[1] }).err().ok_or(17)?;
    ensure(error.kind() == geometry::ErrorKind::Zero && error.dimension() == Some(0), 18)
}

fn ensure(holds: bool, step: i32) -> Result<(), i32> {
    if holds { Ok(()) } else { Err(step) }
}

#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    run().err().unwrap_or(0)
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

// The compiled core library refers to this function, although nothing unwinds.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

// The C library starts the program and ends it.
#[link(name = "c")]
unsafe extern "C" {}
