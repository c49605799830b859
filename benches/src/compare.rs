//! Measures the times of two routines. The routines take turns, so that other load on the machine affects both in the
//! same way.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// The minimum duration of a turn. A turn is long compared with the time to read the clock. It is short compared with
/// the time for which the system lets a program run without a break.
const TURN: Duration = Duration::from_micros(5);

/// The number of heap layouts with which each row is measured (see `shift_heap`).
const LAYOUTS: usize = 4;

/// The name of an operation, and the name of the peer that it is compared with.
pub type Row = (&'static str, &'static str);

/// A benchmark: measures rows, and prints a line for each row and rank.
pub struct Bench {
    pub turns: usize,
    /// Measures only rows whose operation or peer contains this text.
    pub filter: String,
}

impl Bench {
    /// Measures the operation of a row, with metalayers of one rank. Prints the row, the rank, and the nanoseconds of
    /// one call of our routine and of one call of the peer's routine. If the peer cannot be measured, prints the reason
    /// instead of the times.
    pub fn compare(
        &self,
        (operation, against): Row,
        ndim: u8,
        ours: &mut dyn FnMut(),
        theirs: Result<&mut dyn FnMut(), &'static str>,
    ) {
        if !operation.contains(&self.filter) && !against.contains(&self.filter) {
            return;
        }
        let figures = match theirs {
            Ok(theirs) => self.measure(ours, theirs),
            Err(reason) => reason.into(),
        };
        println!("{operation}\t{against}\t{ndim}\t{figures}");
    }

    fn measure(&self, ours: &mut dyn FnMut(), theirs: &mut dyn FnMut()) -> String {
        let (our_calls, their_calls) = (calls_of_a_turn(ours), calls_of_a_turn(theirs));
        let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
        for layout in 0..LAYOUTS {
            let _elsewhere = shift_heap(layout);
            for _ in 0..self.turns.div_ceil(LAYOUTS) {
                our_times.push(nanoseconds(our_calls, ours));
                their_times.push(nanoseconds(their_calls, theirs));
            }
        }
        format!("{}\t{}", tenth_percentile(our_times), tenth_percentile(their_times))
    }
}

/// The 10th percentile of these times. Slow turns (because of other programs) and a single lucky turn do not change it
/// much.
fn tenth_percentile(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 10]
}

fn calls_of_a_turn(routine: &mut dyn FnMut()) -> u32 {
    let mut calls = 1;
    while time(calls, routine) < TURN {
        calls *= 2;
    }
    calls
}

fn nanoseconds(calls: u32, routine: &mut dyn FnMut()) -> f64 {
    time(calls, routine).as_secs_f64() * 1e9 / f64::from(calls)
}

#[inline(never)]
fn time(calls: u32, routine: &mut dyn FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..calls {
        routine();
    }
    start.elapsed()
}

/// Allocates small blocks. A larger `layout` allocates more of them. Until the caller drops these blocks, the
/// allocations of a routine have other addresses than with any other `layout`, and another alignment to cache lines.
fn shift_heap(layout: usize) -> Vec<Vec<u8>> {
    (0..layout).flat_map(|_| (1..=32).map(|size| black_box(Vec::with_capacity(16 * size)))).collect()
}
