//! Two routines timed side by side, so that whatever else the machine does falls on both.
//!
//! Criterion measures the ratio: each of its samples is some milliseconds of calls of ours, then as many calls of the
//! peer. Its warm-up, its numbers of calls and its statistics are as always; what it prints is the mean of the ratios.
//! The table has the ratio of [`Figures`] from the same samples, because a mean tells how busy the machine was.

use std::time::{Duration, Instant};

use criterion::measurement::{Measurement, ValueFormatter};
use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};

use crate::machine::tenth_percentile;
use crate::rows::{RANKS, Row};

/// Samples that are shorter only warm up.
const SHORTEST: Duration = Duration::from_millis(1);

pub struct Bench {
    criterion: Criterion<Ratio>,
    pub results: Vec<(&'static Row, [Outcome; RANKS.len()])>,
}

/// The samples of all rounds, or why there are none.
pub type Outcome = Result<Vec<Sample>, &'static str>;

/// Nanoseconds of a call, undisturbed.
#[derive(Clone, Copy)]
pub struct Figures {
    pub ours: f64,
    pub theirs: f64,
}

impl Figures {
    /// `None` where criterion was asked for something else.
    pub fn of(samples: &[Sample]) -> Option<Self> {
        let samples = samples.iter().filter(|sample| sample.ours + sample.theirs >= SHORTEST);
        Some(Self {
            ours: tenth_percentile(samples.clone().map(|sample| sample.nanoseconds_of(sample.ours)))?,
            theirs: tenth_percentile(samples.map(|sample| sample.nanoseconds_of(sample.theirs)))?,
        })
    }

    pub fn ratio(self) -> f64 {
        self.ours / self.theirs
    }
}

impl Bench {
    pub fn from_arguments() -> Self {
        let criterion = Criterion::default()
            .with_measurement(Ratio)
            .warm_up_time(Duration::from_millis(100))
            .measurement_time(Duration::from_millis(700))
            .sample_size(140)
            .nresamples(10_000)
            .configure_from_args();
        Self { criterion, results: Vec::new() }
    }

    /// Measures a row at a rank, if there is a peer. What earlier rounds measured stays.
    pub fn compare(
        &mut self,
        row: &'static Row,
        ndim: u8,
        ours: &mut impl FnMut(),
        theirs: Result<impl FnMut(), &'static str>,
    ) {
        let known = self.results.iter().position(|(known, _)| known.name == row.name);
        let index = known.unwrap_or_else(|| {
            self.results.push((row, RANKS.map(|_| Ok(Vec::new()))));
            self.results.len() - 1
        });
        let Some(column) = RANKS.iter().position(|&rank| rank == ndim) else { return };
        let outcome = &mut self.results[index].1[column];
        match theirs {
            Ok(mut theirs) => {
                if let Ok(samples) = outcome {
                    measure(&mut self.criterion, row, ndim, samples, ours, &mut theirs);
                }
            }
            Err(reason) => *outcome = Err(reason),
        }
    }
}

fn measure(
    criterion: &mut Criterion<Ratio>,
    row: &Row,
    ndim: u8,
    samples: &mut Vec<Sample>,
    ours: &mut impl FnMut(),
    theirs: &mut impl FnMut(),
) {
    let mut group = criterion.benchmark_group(row.name);
    group.sampling_mode(SamplingMode::Flat);
    group.bench_function(BenchmarkId::from_parameter(ndim), |bencher| {
        bencher.iter_custom(|calls| {
            let _elsewhere = shift_heap(samples.len());
            let sample = Sample { calls, ours: time(calls, ours), theirs: time(calls, theirs) };
            samples.push(sample);
            sample
        });
    });
}

/// Compiled once for each routine, so that it is the same code whatever it is held against.
#[inline(never)]
fn time(calls: u64, routine: &mut impl FnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..calls {
        routine();
    }
    start.elapsed()
}

/// Blocks of every small size: while they are held, what a routine allocates lies elsewhere, and otherwise to the
/// lines of the cache. Criterion does the same with the stack.
fn shift_heap(sample: usize) -> Vec<Vec<u8>> {
    (0..sample % 4).flat_map(|_| (1..=32).map(|size| Vec::with_capacity(16 * size))).collect()
}

/// So many calls of ours, and as many of the peer.
#[derive(Clone, Copy, Default)]
pub struct Sample {
    calls: u64,
    ours: Duration,
    theirs: Duration,
}

impl Sample {
    fn ratio(&self) -> f64 {
        // A single call may be too short for the clock.
        let theirs = self.theirs.max(Duration::from_nanos(1));
        self.ours.div_duration_f64(theirs)
    }

    #[allow(clippy::cast_precision_loss, reason = "far from 2^53")]
    fn nanoseconds_of(&self, duration: Duration) -> f64 {
        duration.as_nanos() as f64 / self.calls as f64
    }
}

/// Measures the time of ours in times of the peer.
pub struct Ratio;

impl Measurement for Ratio {
    type Intermediate = ();
    type Value = Sample;

    fn start(&self) {}

    /// Only for criterion's own loops, which see one routine.
    fn end(&self, (): ()) -> Sample {
        Sample::default()
    }

    fn add(&self, a: &Sample, b: &Sample) -> Sample {
        Sample { calls: a.calls + b.calls, ours: a.ours + b.ours, theirs: a.theirs + b.theirs }
    }

    fn zero(&self) -> Sample {
        Sample::default()
    }

    /// Criterion divides by the number of calls.
    #[allow(clippy::cast_precision_loss, reason = "far from 2^53")]
    fn to_f64(&self, sample: &Sample) -> f64 {
        sample.ratio() * sample.calls as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &Times
    }
}

struct Times;

impl ValueFormatter for Times {
    fn scale_values(&self, _typical: f64, _values: &mut [f64]) -> &'static str {
        "x"
    }

    fn scale_throughputs(
        &self,
        _typical: f64,
        _throughput: &Throughput,
        _values: &mut [f64],
    ) -> &'static str {
        "x"
    }

    fn scale_for_machines(&self, _values: &mut [f64]) -> &'static str {
        "x"
    }
}
