//! Statistics of the items of an array, such as the smallest item, the mean and the number of zeros. Also counts how
//! often each value occurs.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::mem;
use std::ops::Range;

use b2nd_serde::dtype::{Dtype, Kind};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use super::float::{Float, rounded};
use super::npy::Item;
use super::value::Value;
use crate::code;
use crate::input::{Address, Failure, Items, Location, index_in};
use crate::problem::Problem;
use crate::text::clean;
use crate::waiting::while_changing;

/// The maximum total length of the different values that are counted.
const MAX_VALUES_LEN: usize = 1 << 24;

/// Statistics of the items of an array. Scripts rely on the names of these fields.
#[derive(Default, Serialize)]
pub(crate) struct Stats {
    /// The smallest finite item. `None` if no item is finite, or if the items have no order.
    pub(crate) min: Option<Number>,
    pub(crate) max: Option<Number>,
    /// The mean of the finite items. `None` if no item is finite, or if the items are dates or texts.
    pub(crate) mean: Option<Number>,
    /// The population standard deviation of the finite items, as NumPy computes it by default.
    pub(crate) std: Option<Number>,
    pub(crate) nan: u64,
    pub(crate) infinite: u64,
    pub(crate) zeros: u64,
    /// The index of the first NaN or `NaT` in C order.
    pub(crate) first_nan: Option<Vec<u64>>,
    /// The lengths of the shortest and of the longest text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lengths: Option<[u64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) values: Option<ValueCounts>,
}

/// Each value with its count. `None` if the items are floats, if there are more values than requested, or if the values
/// are too long (`MAX_VALUES_LEN`).
#[derive(Serialize)]
pub(crate) struct ValueCounts(pub(crate) Option<Vec<ValueCount>>);

/// A value, and the number of items that are equal to this value.
#[derive(Serialize)]
pub(crate) struct ValueCount {
    pub(crate) value: Number,
    pub(crate) count: u64,
}

/// A value as `b2nd cat` prints it, as text and as JSON.
pub(crate) struct Number {
    pub(crate) text: String,
    json: Option<Box<RawValue>>,
}

impl Number {
    fn new(value: &Value<'_>) -> Self {
        Self { text: clean(&value.scalar()), json: to_raw_value(value).ok() }
    }

    /// A computed number, such as the mean. Its JSON has all digits, but its text is rounded.
    fn computed<const N: usize>(parts: [f64; N], value: impl Fn([f64; N]) -> Value<'static>) -> Self {
        Self { text: value(parts.map(rounded)).scalar(), json: to_raw_value(&value(parts)).ok() }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

/// A Rust type of items that have statistics.
trait Countable: Copy + Default + PartialOrd + DeserializeOwned + Serialize {
    fn is_nan(self) -> bool {
        false
    }

    fn is_infinite(self) -> bool {
        false
    }

    /// The real and the imaginary part.
    fn parts(self) -> [f64; 2];
}

impl Countable for bool {
    fn parts(self) -> [f64; 2] {
        [f64::from(u8::from(self)), 0.0]
    }
}

macro_rules! countable_integers {
    ($($number:ty)*) => {$(
        impl Countable for $number {
            #[expect(clippy::cast_precision_loss, reason = "a mean of floats, as in NumPy")]
            fn parts(self) -> [f64; 2] {
                [self as f64, 0.0]
            }
        }
    )*};
}

macro_rules! countable_floats {
    ($($float:ty)*) => {$(
        impl Countable for $float {
            fn is_nan(self) -> bool {
                self.is_nan()
            }

            fn is_infinite(self) -> bool {
                self.is_infinite()
            }

            fn parts(self) -> [f64; 2] {
                [self.into(), 0.0]
            }
        }

        /// A complex number. It is NaN if one of its parts is NaN, and infinite if one of its parts is infinite.
        impl Countable for ($float, $float) {
            fn is_nan(self) -> bool {
                self.0.is_nan() || self.1.is_nan()
            }

            fn is_infinite(self) -> bool {
                self.0.is_infinite() || self.1.is_infinite()
            }

            fn parts(self) -> [f64; 2] {
                [self.0.into(), self.1.into()]
            }
        }
    )*};
}

countable_integers!(i64 u64);
countable_floats!(f32 f64);

/// A date or a duration, as a count of units. `i64::MIN` is `NaT`, the NaN of these dtypes.
#[derive(Clone, Copy, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
struct Ticks(i64);

impl Countable for Ticks {
    fn is_nan(self) -> bool {
        self.0 == i64::MIN
    }

    fn parts(self) -> [f64; 2] {
        self.0.parts()
    }
}

impl Stats {
    /// Reads all items of an array for their statistics. `None` if the items are structs or raw bytes, or if this
    /// program cannot read them, for example because they are not stored in this frame. By default, `threads` is the
    /// number of processors. With `most`, also counts each value, unless there are more than `most` values.
    /// `on_progress` gets the number of bytes that were read so far.
    pub(crate) fn at(
        location: Location<'_>,
        threads: Option<usize>,
        most: Option<usize>,
        on_progress: &mut dyn FnMut(u64),
    ) -> Result<Option<Self>, Failure> {
        let stats = while_changing(|| {
            let items = Address::from(location).open().and_then(Items::new)?;
            let mut items = match threads {
                Some(threads) => items.threads(threads),
                None => items,
            };
            Self::collect(&mut items, most, on_progress)
        });
        match stats {
            Err(problem) if problem.code == code::UNSUPPORTED => Ok(None),
            stats => stats.map_err(|problem| location.failure(problem)),
        }
    }

    fn collect(
        items: &mut Items,
        most: Option<usize>,
        on_progress: &mut dyn FnMut(u64),
    ) -> Result<Option<Self>, Problem> {
        let mut item = Item::from_items(items);
        // If the items are subarrays, each value in them counts as an item.
        let mut within = Vec::new();
        item.unfold(&mut within);
        let dtype = &item.dtype;
        let run = Run { within, dtype, most, on_progress };
        match (dtype.kind(), dtype.item_size()) {
            (Kind::Bool, _) => run.read(items, Numbers::<bool>::new(dtype)),
            (Kind::Int, _) => run.read(items, Numbers::<i64>::new(dtype)),
            (Kind::Uint, _) => run.read(items, Numbers::<u64>::new(dtype)),
            (Kind::Float, 2 | 4) => run.read(items, Numbers::<f32>::new(dtype)),
            (Kind::Float, 8) => run.read(items, Numbers::<f64>::new(dtype)),
            (Kind::Complex, 8) => run.read(items, Numbers::<(f32, f32)>::new(dtype)),
            (Kind::Complex, 16) => run.read(items, Numbers::<(f64, f64)>::new(dtype)),
            (Kind::Datetime(_) | Kind::Timedelta(_), _) => run.read(items, Numbers::<Ticks>::new(dtype)),
            (Kind::Bytes | Kind::Str, _) => run.read(items, Texts::new(dtype)),
            _ => return Ok(None),
        }
        .map(Some)
    }
}

/// Collects statistics of one kind of items, piece by piece.
trait Collector {
    /// Adds the items of a piece, each of them `times` times. `ranges` are the index ranges of the piece, followed by
    /// the ranges of the dimensions of a subarray dtype.
    fn take(&mut self, ranges: &[Range<u64>], bytes: &[u8], times: u64);

    fn finish(self) -> Stats;
}

/// One run over all items.
struct Run<'r> {
    /// The dimensions of a subarray dtype.
    within: Vec<usize>,
    dtype: &'r Dtype,
    most: Option<usize>,
    on_progress: &'r mut dyn FnMut(u64),
}

impl Run<'_> {
    fn read(self, items: &mut Items, mut collector: impl Collector) -> Result<Stats, Problem> {
        let Self { within, dtype, most, on_progress } = self;
        let mut values = most.map(|most| Values::new(dtype, most));
        let mut done = 0_u64;
        items.read_chunks(&mut |ranges, bytes, times| {
            let ranges: Vec<_> =
                ranges.iter().cloned().chain(within.iter().map(|&length| 0..length as u64)).collect();
            collector.take(&ranges, bytes, times);
            if let Some(values) = &mut values {
                values.take(bytes, times);
            }
            done = times.saturating_mul(bytes.len() as u64).saturating_add(done);
            on_progress(done);
            Ok::<_, Problem>(())
        })?;
        Ok(Stats { values: values.map(Values::finish), ..collector.finish() })
    }
}

/// Statistics of numbers, dates and durations.
struct Numbers<'d, T> {
    dtype: &'d Dtype,
    ends: Option<(T, T)>,
    moments: Moments,
    nan: u64,
    infinite: u64,
    zeros: u64,
    first_nan: Option<Vec<u64>>,
}

impl<'d, T> Numbers<'d, T> {
    fn new(dtype: &'d Dtype) -> Self {
        let moments = Moments::default();
        Self { dtype, ends: None, moments, nan: 0, infinite: 0, zeros: 0, first_nan: None }
    }
}

impl<T: Countable> Collector for Numbers<'_, T> {
    fn take(&mut self, ranges: &[Range<u64>], bytes: &[u8], times: u64) {
        let (mut first_nan, mut batch) = (None, Batch::new(times));
        // Reading the items cannot fail: the type `T` fits the dtype, and `bytes` has only whole items.
        let numbers = self.dtype.read_items::<T>(bytes).into_iter().flatten().flatten();
        for (position, number) in numbers.enumerate() {
            let kind = if number.is_nan() {
                first_nan.get_or_insert(position as u64);
                Some(&mut self.nan)
            } else if number.is_infinite() {
                Some(&mut self.infinite)
            } else {
                batch.add(number.parts(), &mut self.moments);
                let (min, max) = self.ends.get_or_insert((number, number));
                if number < *min {
                    *min = number;
                }
                if number > *max {
                    *max = number;
                }
                Some(&mut self.zeros).filter(|_| number == T::default())
            };
            if let Some(count) = kind {
                *count = count.saturating_add(times);
            }
        }
        batch.flush(&mut self.moments);
        if let Some(position) = first_nan {
            // The pieces come in any order, so the smallest index is kept.
            let index = index_in(ranges, position);
            if self.first_nan.as_ref().is_none_or(|first| index < *first) {
                self.first_nan = Some(index);
            }
        }
    }

    fn finish(self) -> Stats {
        let Self { dtype, ends, moments, nan, infinite, zeros, first_nan } = self;
        let kind = dtype.kind();
        // Complex numbers have no order.
        let (min, max) = ends.filter(|_| !matches!(kind, Kind::Complex)).unzip();
        let [min, max] = [min, max].map(|number| {
            let mut bytes = vec![0; dtype.item_size()];
            dtype.write_item(&number?, &mut bytes).ok()?;
            Some(Number::new(&Value::read(dtype, &bytes)))
        });
        let has_mean = moments.count > 0 && !matches!(kind, Kind::Datetime(_));
        let (mean, std) = Some(moments)
            .filter(|_| has_mean)
            .map(|Moments { mean: [real, imaginary], squares, count }| {
                let mean = match kind {
                    Kind::Complex => Number::computed([real, imaginary], |[real, i]| {
                        Value::Complex(Float::Double(real), Float::Double(i))
                    }),
                    _ => Number::computed([real], |[real]| Value::Float(Float::Double(real))),
                };
                (
                    mean,
                    Number::computed([(squares / float(count)).sqrt()], |[std]| {
                        Value::Float(Float::Double(std))
                    }),
                )
            })
            .unzip();
        Stats { min, max, mean, std, nan, infinite, zeros, first_nan, ..Stats::default() }
    }
}

/// The mean of some numbers, and the sum of the squares of their distances from the mean.
#[derive(Clone, Copy, Default)]
struct Moments {
    count: u64,
    mean: [f64; 2],
    squares: f64,
}

impl Moments {
    /// Adds the moments of other numbers, with the formula of Chan and others (1979). Sums of the squares of the
    /// numbers themselves could lose all digits if the numbers are far from 0.
    fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let count = self.count.saturating_add(other.count);
        let share = float(other.count) / float(count);
        self.squares += other.squares;
        for (mean, other_mean) in self.mean.iter_mut().zip(other.mean) {
            let distance = other_mean - *mean;
            // The distance of two finite numbers can be infinite. Then their mean, which is always finite, is computed
            // in another way.
            *mean = if distance.is_finite() {
                *mean + distance * share
            } else {
                *mean * (1.0 - share) + other_mean * share
            };
            self.squares += distance * distance * share * float(self.count);
        }
        self.count = count;
    }
}

/// Numbers whose moments are computed together: first the mean, then the squares.
struct Batch {
    parts: Vec<[f64; 2]>,
    times: u64,
}

impl Batch {
    /// The number of items in a batch. A longer batch would not stay in the cache of the processor. With shorter
    /// batches, the merges would take longer.
    const LEN: usize = 1024;

    fn new(times: u64) -> Self {
        Self { parts: Vec::with_capacity(Self::LEN), times }
    }

    fn add(&mut self, parts: [f64; 2], moments: &mut Moments) {
        self.parts.push(parts);
        if self.parts.len() == Self::LEN {
            self.flush(moments);
        }
    }

    fn flush(&mut self, moments: &mut Moments) {
        let Some(&first) = self.parts.first() else { return };
        let length = float(self.parts.len() as u64);
        // The distances from the first number are summed, so that equal numbers have exactly the first number as their
        // mean.
        let mean = [0, 1].map(|part: usize| {
            let distances: f64 = self.parts.iter().map(|parts| parts[part] - first[part]).sum();
            let mean = first[part] + distances / length;
            // The sum of the distances can be infinite. Then the mean, which is always finite, is computed in another
            // way.
            let sum_of_parts = || self.parts.iter().map(|parts| parts[part] / length).sum();
            if mean.is_finite() { mean } else { sum_of_parts() }
        });
        let square = |parts: &[f64; 2]| (parts[0] - mean[0]).powi(2) + (parts[1] - mean[1]).powi(2);
        let squares = self.parts.iter().map(square).sum::<f64>() * float(self.times);
        let count = (self.parts.len() as u64).saturating_mul(self.times);
        moments.merge(&Moments { count, mean, squares });
        self.parts.clear();
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count as a weight")]
fn float(count: u64) -> f64 {
    count as f64
}

/// Statistics of texts.
struct Texts<'d> {
    dtype: &'d Dtype,
    lengths: Option<[u64; 2]>,
    zeros: u64,
}

impl<'d> Texts<'d> {
    fn new(dtype: &'d Dtype) -> Self {
        Self { dtype, lengths: None, zeros: 0 }
    }
}

impl Collector for Texts<'_> {
    fn take(&mut self, _: &[Range<u64>], bytes: &[u8], times: u64) {
        for bytes in items_of(self.dtype, bytes) {
            let length = match Value::read(self.dtype, bytes) {
                Value::Str(text) => text.chars().count() as u64,
                Value::Bytes(bytes) => bytes.len() as u64,
                _ => continue,
            };
            let [shortest, longest] = self.lengths.get_or_insert([length; 2]);
            (*shortest, *longest) = (length.min(*shortest), length.max(*longest));
            if length == 0 {
                self.zeros = self.zeros.saturating_add(times);
            }
        }
    }

    fn finish(self) -> Stats {
        Stats { zeros: self.zeros, lengths: self.lengths, ..Stats::default() }
    }
}

/// The items in some bytes.
fn items_of<'b>(dtype: &Dtype, bytes: &'b [u8]) -> impl Iterator<Item = &'b [u8]> {
    bytes.chunks_exact(dtype.item_size().max(1))
}

/// Counts how often each value occurs, unless there are more than `most` different values, or their total length
/// exceeds `MAX_VALUES_LEN`.
struct Values<'d> {
    dtype: &'d Dtype,
    most: usize,
    /// The total length of the different values.
    nbytes: usize,
    /// The bytes of each value, and its count. `None` if the items are floats, or if the values are too many or too
    /// long.
    counts: Option<HashMap<Box<[u8]>, u64>>,
}

impl<'d> Values<'d> {
    fn new(dtype: &'d Dtype, most: usize) -> Self {
        // Floats are not counted, because they are rarely equal, and different bytes can be the same number.
        let has_values = !matches!(dtype.kind(), Kind::Float | Kind::Complex);
        Self { dtype, most, nbytes: 0, counts: has_values.then(HashMap::new) }
    }

    fn take(&mut self, bytes: &[u8], times: u64) {
        // In many arrays, equal items follow each other. Such a run of equal items is added at once.
        let mut run: (&[u8], u64) = (&[], 0);
        for item in items_of(self.dtype, bytes) {
            if item == run.0 {
                run.1 = run.1.saturating_add(times);
            } else {
                self.add(mem::replace(&mut run, (item, times)));
            }
            if self.counts.is_none() {
                return;
            }
        }
        self.add(run);
    }

    fn add(&mut self, (item, count): (&[u8], u64)) {
        // A bool is True if its byte is not 0, so every byte except 0 is counted as 1.
        let item = if *self.dtype.kind() == Kind::Bool && item != [0] { &[1] } else { item };
        let Some(counts) = self.counts.as_mut().filter(|_| count > 0) else { return };
        if let Some(sum) = counts.get_mut(item) {
            *sum = sum.saturating_add(count);
        } else if counts.len() < self.most && self.nbytes + item.len() <= MAX_VALUES_LEN {
            self.nbytes += item.len();
            counts.insert(item.into(), count);
        } else {
            self.counts = None;
        }
    }

    /// The sorted values, each with its count.
    fn finish(self) -> ValueCounts {
        let Some(counts) = self.counts else { return ValueCounts(None) };
        let mut counts: Vec<_> =
            counts.iter().map(|(bytes, &count)| (Value::read(self.dtype, bytes), count)).collect();
        counts.sort_by(|(a, _), (b, _)| order(a, b));
        // Different bytes can be shown as the same value: every code point that Unicode does not have becomes U+FFFD.
        counts.dedup_by(|(value, count), (kept, sum)| {
            let is_same = order(value, kept) == Ordering::Equal;
            *sum = if is_same { sum.saturating_add(*count) } else { *sum };
            is_same
        });
        let count =
            |(value, count): &(Value<'_>, u64)| ValueCount { value: Number::new(value), count: *count };
        ValueCounts(Some(counts.iter().map(count).collect()))
    }
}

/// The order of two values of the same dtype: numbers, dates and durations by size, any other values by their text.
fn order(a: &Value<'_>, b: &Value<'_>) -> Ordering {
    match (a, b) {
        (Value::Integer(a), Value::Integer(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Datetime(a, _), Value::Datetime(b, _)) | (Value::Timedelta(a), Value::Timedelta(b)) => {
            a.cmp(b)
        }
        _ => a.scalar().cmp(&b.scalar()),
    }
}
