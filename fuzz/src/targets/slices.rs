//! Slices of arrays: in any frame, the items of a slice are equal to the items in the decompressed chunks.

use std::ops::Range;

use b2nd_frame::{Array, Check, CheckDepth, ErrorKind, Frame, Severity};

use crate::choices::Choices;
use crate::seeds;

/// The number of bytes for choices: a start, a stop and a step for each of eight dimensions, and the number of threads.
pub(super) const COUNT: usize = 25;

/// The maximum size, in bytes, of a slice that this target reads, and of a chunk with which it compares the slice.
pub(super) const MOST: u64 = 1 << 20;

pub fn seeds() -> Vec<Vec<u8>> {
    seeds::choices(COUNT, &seeds::frames())
}

pub fn run(data: &[u8]) {
    let (mut choices, bytes) = Choices::split(data, COUNT);
    let Ok(array) = Frame::read_at(bytes, 0).and_then(Array::new) else { return };
    let threads = 1 + choices.below(3);
    let (ranges, steps) = slice(&array, &mut choices);
    refused(&array);
    match array.slice(&ranges).steps(&steps).nbytes() {
        Ok(nbytes) if nbytes as u64 <= MOST => {}
        _ => return,
    }
    let read = array.slice(&ranges).steps(&steps).threads(threads).read();
    // A slice can fail although a check finds no error, for example because b2nd-frame does not support a filter. Only
    // an error of the kind `Malformed` says that the file is wrong. After such an error, a check must find an error
    // too, if the check skips nothing.
    let is_malformed = read.as_ref().is_err_and(|error| error.kind() == ErrorKind::Malformed);
    assert!(!is_malformed || !is_sound(array.frame()), "no error was found, but {:?}", read.err());
    let expected = of_chunks(&array, &ranges, &steps);
    if let (Ok(read), Some(expected)) = (&read, &expected) {
        assert!(read == expected, "other items than those of the chunks: {ranges:?} {steps:?}");
    }
    let Ok(read) = read else { return };
    let mut items = vec![0xaa_u8; read.len()];
    array.slice(&ranges).steps(&steps).read_into(&mut items).expect("as before");
    assert!(items == read, "other items with another number of threads: {ranges:?} {steps:?}");
}

/// Makes ranges inside the array, and steps, from the choices.
pub(super) fn slice<R>(array: &Array<R>, choices: &mut Choices<'_>) -> (Vec<Range<u64>>, Vec<u64>) {
    let end = |items: u64, byte: u8| {
        u64::try_from(u128::from(items) * u128::from(byte) / 255).expect("at most the items")
    };
    let mut part = |&items: &u64| {
        let [a, b, step] = [choices.byte(), choices.byte(), choices.byte()];
        // Half of the steps are 1.
        (end(items, a.min(b))..end(items, a.max(b)), u64::from(step.saturating_sub(127)).max(1))
    };
    array.shape().iter().map(|items| items.unsigned_abs()).map(|items| part(&items)).unzip()
}

/// Asserts that a slice with ranges that do not fit the shape is refused.
fn refused<R>(array: &Array<R>) {
    let whole: Vec<Range<u64>> = array.shape().iter().map(|items| 0..items.unsigned_abs()).collect();
    assert!(array.slice(&[&whole[..], std::slice::from_ref(&(0..1))].concat()).nbytes().is_err());
    if let [.., last] = &whole[..] {
        let beyond = 0..last.end.saturating_add(1);
        let others = &whole[..whole.len() - 1];
        assert!(array.slice(others).nbytes().is_err());
        if last.end < u64::MAX {
            assert!(array.slice(&[others, std::slice::from_ref(&beyond)].concat()).nbytes().is_err());
        }
    }
}

/// Returns true if a check of the data finds no error and skips nothing.
fn is_sound(frame: &Frame<&[u8]>) -> bool {
    let report = Check::new(CheckDepth::ChunkData).run(frame).expect("a file in memory");
    let has_error = report.findings.iter().any(|finding| finding.severity() == Severity::Error);
    !has_error && report.skipped.is_empty()
}

/// The items of a slice, copied from its decompressed chunks. `None` if one of these chunks cannot be decompressed, or
/// if the array has no grid of chunks.
fn of_chunks(array: &Array<&[u8]>, ranges: &[Range<u64>], steps: &[u64]) -> Option<Vec<u8>> {
    let mut items = vec![0; array.slice(ranges).steps(steps).nbytes().ok()?];
    let mut chunks = array.frame().chunks().ok()?;
    for chunk in array.geometry()?.chunks_in_steps(ranges, steps).ok()? {
        let entry = chunks.get(chunk.number()).ok()??;
        entry.nbytes.filter(|&nbytes| nbytes <= MOST)?;
        let data = chunks.decompressed(&entry).ok()?;
        chunk.scatter(&data, array.item_size(), &mut items).ok()?;
    }
    Some(items)
}
