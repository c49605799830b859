//! Two routines timed side by side, so that whatever else the machine does falls on both.

use std::hint::black_box;
use std::ptr;
use std::time::{Duration, Instant};

use crate::rows::{ROWS, Row};
use b2nd_serde_benches::machine::tenth_percentile;

/// The shortest turn: long compared to a reading of the clock, short compared to a scheduler interval.
const TURN: Duration = Duration::from_micros(5);

/// The number of heap layouts that are tried.
const LAYOUTS: usize = 4;

/// The nanoseconds of a call of ours and of the peer, both undisturbed.
#[derive(Clone, Copy)]
pub struct Figures {
    pub ours: f64,
    pub theirs: f64,
}

impl Figures {
    pub fn ratio(self) -> f64 {
        self.ours / self.theirs
    }
}

/// Measures and prints a line for each row and rank.
pub struct Bench {
    pub turns: usize,
    /// Measures only rows whose operation or peer contains this text.
    pub filter: String,
}

impl Bench {
    /// Measures a row at a rank, if there is a peer, and prints the figures for [`Line::parse`].
    pub fn compare(
        &self,
        row: &Row,
        ndim: u8,
        ours: &mut dyn FnMut(),
        theirs: Result<&mut dyn FnMut(), &'static str>,
    ) {
        if !row.operation.contains(&self.filter) && !row.against.contains(&self.filter) {
            return;
        }
        // Compared by address, because rows can have equal texts.
        let index = ROWS.iter().position(|known| ptr::eq(*known, row)).expect("a row of the table");
        match theirs {
            Ok(theirs) => {
                let Figures { ours, theirs } = self.measure(ours, theirs);
                println!("{index}\t{ndim}\t{ours}\t{theirs}");
            }
            Err(reason) => println!("{index}\t{ndim}\t{reason}"),
        }
    }

    fn measure(&self, ours: &mut dyn FnMut(), theirs: &mut dyn FnMut()) -> Figures {
        let (our_calls, their_calls) = (calls_of_a_turn(ours), calls_of_a_turn(theirs));
        let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
        for layout in 0..LAYOUTS {
            let _elsewhere = shift_heap(layout);
            for _ in 0..self.turns.div_ceil(LAYOUTS) {
                our_times.push(nanoseconds(our_calls, ours));
                their_times.push(nanoseconds(their_calls, theirs));
            }
        }
        let tenth = |times: Vec<f64>| tenth_percentile(times.into_iter()).expect("a turn");
        Figures { ours: tenth(our_times), theirs: tenth(their_times) }
    }
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

/// Allocates blocks of small sizes. While they are held, a routine's allocations have other addresses, and another
/// alignment to cache lines.
fn shift_heap(layout: usize) -> Vec<Vec<u8>> {
    (0..layout).flat_map(|_| (1..=32).map(|size| black_box(Vec::with_capacity(16 * size)))).collect()
}

/// A line that [`Bench::compare`] prints.
pub struct Line {
    pub row: usize,
    pub ndim: u8,
    /// The figures, or the reason why the row has none.
    pub figures: Result<Figures, String>,
}

impl Line {
    pub fn parse(line: &str) -> Option<Self> {
        let mut parts = line.split('\t');
        let (row, ndim) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let first = parts.next()?;
        let figures = match parts.next() {
            Some(second) => Ok(Figures { ours: first.parse().ok()?, theirs: second.parse().ok()? }),
            None => Err(first.into()),
        };
        Some(Self { row, ndim, figures })
    }
}
