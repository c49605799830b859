//! `b2nd ls --sort`: the order of frames by a value.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use clap::ValueEnum;

use super::store::StoreRecord;
use crate::input::{Address, View};

/// The value that determines the order.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortBy {
    /// By path
    Path,
    /// The largest first
    Nbytes,
    /// The largest first
    Cbytes,
    /// The best compressed first
    Ratio,
    /// The fewest dimensions first, then by the length of each dimension in turn
    Shape,
}

/// An order of frames and stores.
#[derive(Clone, Copy)]
pub(crate) struct Order {
    pub(crate) by: SortBy,
    pub(crate) is_reverse: bool,
}

impl Order {
    pub(crate) fn key_of_frame(self, view: View<'_>) -> SortKey {
        let value = match self.by {
            SortBy::Path => Some(Vec::new()),
            // The smallest key comes first, but the largest size or ratio must come first. So the sizes and ratios are
            // negated.
            SortBy::Nbytes => view.nbytes().map(|nbytes| vec![-i128::from(nbytes)]),
            SortBy::Cbytes => view.cbytes().map(|cbytes| vec![-i128::from(cbytes)]),
            SortBy::Ratio => {
                // The ratio is a fixed-point number with 62 fractional bits, which are far more than a row shows. The
                // number fits an `i128`, because `nbytes` and `cbytes` fit an `i64`.
                let ratio = view.compressed().and_then(|(nbytes, cbytes)| (nbytes << 62).checked_div(cbytes));
                ratio.map(|ratio| vec![-ratio])
            }
            SortBy::Shape => view.array.map(|array| {
                let shape = array.shape();
                [shape.len() as i128].into_iter().chain(shape.iter().map(|&items| items.into())).collect()
            }),
        };
        SortKey { is_reverse: self.is_reverse, value, address: view.location.into() }
    }

    /// The sort key of a store. A store has a path, but no size, ratio or shape. So its value is unknown unless entries
    /// are sorted by path.
    pub(crate) fn key_of_store(self, record: &StoreRecord) -> SortKey {
        let value = (self.by == SortBy::Path).then(Vec::new);
        SortKey { is_reverse: self.is_reverse, value, address: record.address.clone() }
    }
}

/// The sort key of a frame or store.
#[derive(PartialEq, Eq)]
pub(crate) struct SortKey {
    is_reverse: bool,
    /// The smallest value comes first. `None` is an unknown value. It comes last, even with --reverse.
    value: Option<Vec<i128>>,
    address: Address,
}

impl Ord for SortKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = self.value.cmp(&other.value).then_with(|| self.address.cmp(&other.address));
        let order = if self.is_reverse { order.reverse() } else { order };
        // An unknown value is last in either order.
        self.value.is_none().cmp(&other.value.is_none()).then(order)
    }
}

impl PartialOrd for SortKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Keeps only the first `most` entries of an order.
pub(crate) struct First<T> {
    most: usize,
    /// The kept entries, ordered by their keys. Entries with the same key are in the order in which they were added.
    kept: BTreeMap<(SortKey, u64), T>,
    added: u64,
}

impl<T> First<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, kept: BTreeMap::new(), added: 0 }
    }

    pub(crate) fn add(&mut self, key: SortKey, content: T) {
        self.kept.insert((key, self.added), content);
        self.added += 1;
        if self.kept.len() > self.most {
            self.kept.pop_last();
        }
    }

    /// The kept entries, in their order.
    pub(crate) fn into_sorted(self) -> impl Iterator<Item = T> {
        self.kept.into_values()
    }
}
