//! The plan of a slice. If the plan gets the bytes of the file, it gives the same result as `Slice::read`. If the plan
//! gets other bytes, it does not panic, it ends, and the ranges that it asks for at the same time (a wave) are not
//! longer than allowed.

use b2nd_frame::{Array, Frame, SlicePlan};

use crate::choices::Choices;
use crate::seeds;
use crate::targets::slices::{self, MOST};

/// The number of bytes for choices: the choices of a slice, and 16 bytes for changes of the bytes that the plan gets.
const COUNT: usize = slices::COUNT + 16;

/// The maximum number of bytes of the ranges in a wave, unless a single range is longer.
const WAVE: u64 = 1 << 26;

pub fn seeds() -> Vec<Vec<u8>> {
    seeds::choices(COUNT, &seeds::frames())
}

pub fn run(data: &[u8]) {
    let (mut choices, bytes) = Choices::split(data, COUNT);
    let Ok(array) = Frame::read_at(bytes, 0).and_then(Array::new) else { return };
    let (ranges, steps) = slices::slice(&array, &mut choices);
    match array.slice(&ranges).steps(&steps).nbytes() {
        Ok(nbytes) if nbytes as u64 <= MOST => {}
        _ => return,
    }
    let read = array.slice(&ranges).steps(&steps).read();
    // The plan is of a new array. This array has read nothing, so the plan asks for all ranges.
    let new = Frame::read_at(bytes, 0).and_then(Array::new).expect("as before");
    let planned = new.slice(&ranges).steps(&steps).plan();
    let planned = planned.and_then(|plan| follow(plan, bytes, |_| ()));
    // Either `Slice::read` and the plan both fail, or both succeed. Their errors can have different kinds, so the
    // errors are not compared. For example, if a chunk file is missing, `Slice::read` fails to read the file, but the
    // plan fails because it gets too few bytes.
    match (&read, &planned) {
        (Ok(read), Ok(planned)) => assert!(read == planned, "other items: {ranges:?} {steps:?}"),
        (Ok(_), Err(error)) => panic!("{error}: {ranges:?} {steps:?}"),
        (Err(error), Ok(_)) => panic!("only the reader found {error}: {ranges:?} {steps:?}"),
        (Err(_), Err(_)) => {}
    }
    let new = Frame::read_at(bytes, 0).and_then(Array::new).expect("as before");
    let Ok(plan) = new.slice(&ranges).steps(&steps).plan() else { return };
    let _ = follow(plan, bytes, |answer| match choices.below(6) {
        0 => answer.truncate(choices.byte().into()),
        1 => answer.extend([choices.byte(); 40]),
        2 => answer.fill(choices.byte()),
        3 => {
            let at = usize::from(choices.byte()) % answer.len().max(1);
            answer.get_mut(at).into_iter().for_each(|byte| *byte ^= choices.byte());
        }
        4 => {
            let by = usize::from(choices.byte()).min(answer.len());
            answer.rotate_left(by);
        }
        _ => {}
    });
}

/// Gives a plan the ranges of a file until it is complete. `change` may change the bytes.
fn follow(
    mut plan: SlicePlan,
    file: &[u8],
    mut change: impl FnMut(&mut Vec<u8>),
) -> Result<Vec<u8>, b2nd_frame::Error> {
    let mut waves = 0;
    while !plan.ranges().is_empty() {
        let lengths = || plan.ranges().iter().map(|range| range.end - range.start);
        assert!(lengths().sum::<u64>() <= WAVE || lengths().count() == 1, "{:?}", plan.ranges());
        assert!(plan.ranges().is_sorted_by(|a, b| a.end < b.start || plan.chunk_file(0).is_some()));
        waves += 1;
        assert!(waves < 1000, "the plan does not end");
        let answer = |(number, range): (usize, &std::ops::Range<u64>)| {
            let of = |byte: u64| usize::try_from(byte).unwrap_or(usize::MAX).min(file.len());
            let is_here = plan.chunk_file(number).is_none();
            let bytes = file.get(of(range.start)..of(range.end)).filter(|_| is_here);
            let mut answer = bytes.unwrap_or_default().to_vec();
            change(&mut answer);
            answer
        };
        let answers: Vec<_> = plan.ranges().iter().enumerate().map(answer).collect();
        plan.take(answers)?;
    }
    plan.finish()
}
