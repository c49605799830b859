//! The smallest and largest items of an array, and how many are NaN, infinite and zero.

use b2nd_serde::dtype::{Dtype, Kind};
use serde::de::DeserializeOwned;
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};

use super::npy::Item;
use super::value::Value;
use crate::input::{Address, Failure, Items, Location};
use crate::problem::Problem;
use crate::text::clean;
use crate::waiting::while_changing;

/// Statistics of the items of an array.
#[derive(Serialize)]
pub(crate) struct Stats {
    /// The smallest finite number; `None` if there is none.
    pub(crate) min: Option<Number>,
    pub(crate) max: Option<Number>,
    pub(crate) nan: u64,
    pub(crate) infinite: u64,
    pub(crate) zeros: u64,
}

/// A number, as `b2nd cat` prints it.
pub(crate) struct Number {
    pub(crate) text: String,
    json: Option<Box<RawValue>>,
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

/// A Rust type of numbers that can be compared and counted for the statistics.
trait Real: Copy + Default + PartialOrd + DeserializeOwned + Serialize {
    fn is_nan(self) -> bool {
        false
    }

    fn is_infinite(self) -> bool {
        false
    }
}

impl Real for bool {}
impl Real for i64 {}
impl Real for u64 {}

impl Real for f32 {
    fn is_nan(self) -> bool {
        self.is_nan()
    }

    fn is_infinite(self) -> bool {
        self.is_infinite()
    }
}

impl Real for f64 {
    fn is_nan(self) -> bool {
        self.is_nan()
    }

    fn is_infinite(self) -> bool {
        self.is_infinite()
    }
}

impl Stats {
    /// Reads all items of an array for their statistics. `None` if the items are not numbers, or are not stored in this
    /// frame. The default of `threads` is one per processor. `on_progress` gets the number of bytes that were read so
    /// far.
    pub(crate) fn at(
        location: Location<'_>,
        threads: Option<usize>,
        on_progress: &mut dyn FnMut(u64),
    ) -> Result<Option<Self>, Failure> {
        let stats = while_changing(|| {
            let items = Address::from(location).open().and_then(Items::new)?;
            let mut items = match threads {
                Some(threads) => items.threads(threads),
                None => items,
            };
            Self::collect(&mut items, on_progress)
        });
        match stats {
            Err(problem) if problem.code == "unsupported" => Ok(None),
            stats => stats.map_err(|problem| location.failure(problem)),
        }
    }

    fn collect(items: &mut Items, on_progress: &mut dyn FnMut(u64)) -> Result<Option<Self>, Problem> {
        let mut item = Item::from_items(items)?;
        // If the items are subarrays, each number in them counts.
        item.unfold(&mut Vec::new());
        let dtype = item.dtype;
        match (dtype.kind(), dtype.item_size()) {
            (Kind::Bool, _) => count::<bool>(items, &dtype, on_progress),
            (Kind::Int, _) => count::<i64>(items, &dtype, on_progress),
            (Kind::Uint, _) => count::<u64>(items, &dtype, on_progress),
            (Kind::Float, 2 | 4) => count::<f32>(items, &dtype, on_progress),
            (Kind::Float, 8) => count::<f64>(items, &dtype, on_progress),
            _ => return Ok(None),
        }
        .map(Some)
    }
}

fn count<T: Real>(
    items: &mut Items,
    dtype: &Dtype,
    on_progress: &mut dyn FnMut(u64),
) -> Result<Stats, Problem> {
    let mut ends: Option<(T, T)> = None;
    let [mut nan, mut infinite, mut zeros, mut done] = [0_u64; 4];
    items.read_chunks(&mut |bytes, times| {
        // Reading the items cannot fail: the type `T` fits the dtype, and `bytes` has only whole items.
        for number in dtype.read_items::<T>(bytes).into_iter().flatten().flatten() {
            let kind = if number.is_nan() {
                Some(&mut nan)
            } else if number.is_infinite() {
                Some(&mut infinite)
            } else {
                let (min, max) = ends.get_or_insert((number, number));
                if number < *min {
                    *min = number;
                }
                if number > *max {
                    *max = number;
                }
                Some(&mut zeros).filter(|_| number == T::default())
            };
            if let Some(count) = kind {
                *count = count.saturating_add(times);
            }
        }
        done = times.saturating_mul(bytes.len() as u64).saturating_add(done);
        on_progress(done);
        Ok::<_, Problem>(())
    })?;
    let (min, max) = ends.unzip();
    let [min, max] = [min, max].map(|number| {
        let mut bytes = vec![0; dtype.item_size()];
        dtype.write_item(&number?, &mut bytes).ok()?;
        let value = Value::read(dtype, &bytes);
        Some(Number { text: clean(&value.scalar()), json: to_raw_value(&value).ok() })
    });
    Ok(Stats { min, max, nan, infinite, zeros })
}
