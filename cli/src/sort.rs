//! `b2nd ls --sort`: frames in another order than that of the files.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::path::PathBuf;

use clap::ValueEnum;

use crate::address::{Inside, Location};
use crate::store::StoreRecord;
use crate::visit::View;

/// What decides the order.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Key {
    /// By path
    Name,
    /// The largest NBYTES first
    Size,
    /// The largest CBYTES first
    Stored,
    /// The best compressed first
    Ratio,
    /// The fewest dimensions first, then the shortest
    Shape,
}

/// An order of frames and stores.
#[derive(Clone, Copy)]
pub(crate) struct Order {
    pub(crate) key: Key,
    pub(crate) is_reverse: bool,
}

impl Order {
    pub(crate) fn place_of_frame(self, view: View<'_>) -> Place {
        let header = view.header;
        let value = match self.key {
            Key::Name => Some(Vec::new()),
            Key::Size => view.nbytes().map(|nbytes| vec![-i128::from(nbytes)]),
            Key::Stored => Some(vec![-i128::from(header.cbytes)]),
            Key::Ratio => {
                // Exact enough to tell any two ratios apart that differ where they are printed.
                let ratio = (i128::from(header.nbytes) << 62).checked_div(header.cbytes.into());
                ratio.map(|ratio| vec![-ratio])
            }
            Key::Shape => view.array.map(|array| {
                let shape = array.shape();
                [shape.len() as i128].into_iter().chain(shape.iter().map(|&items| items.into())).collect()
            }),
        };
        let name = name(view.location);
        Place { is_reverse: self.is_reverse, value, name }
    }

    /// The place of a store, which has no size of its own.
    pub(crate) fn place_of_store(self, record: &StoreRecord) -> Place {
        let value = (self.key == Key::Name).then(Vec::new);
        let name = name(record.address.location());
        Place { is_reverse: self.is_reverse, value, name }
    }
}

/// The place of a frame or store in an order.
#[derive(PartialEq, Eq)]
pub(crate) struct Place {
    is_reverse: bool,
    /// The smallest is first. What is unknown is last, in the reverse order too.
    value: Option<Vec<i128>>,
    name: Name,
}

/// The path, a member of a zip file, and an offset in the file.
type Name = (PathBuf, Option<Box<str>>, u64);

fn name(location: Location<'_>) -> Name {
    let (member, offset) = match location.inside {
        Inside::Member(member) => (Some(member.into()), 0),
        Inside::Offset(offset) => (None, offset),
        Inside::Url(member) => (member.map(Into::into), 0),
        Inside::Whole | Inside::Stdin => (None, 0),
    };
    (location.path.into(), member, offset)
}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = self.value.cmp(&other.value).then_with(|| self.name.cmp(&other.name));
        let order = if self.is_reverse { order.reverse() } else { order };
        self.value.is_none().cmp(&other.value.is_none()).then(order)
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Something with its place.
pub(crate) struct Placed<T> {
    pub(crate) place: Place,
    pub(crate) content: T,
}

impl<T> Ord for Placed<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place.cmp(&other.place)
    }
}

impl<T> PartialOrd for Placed<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Placed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.place == other.place
    }
}

impl<T> Eq for Placed<T> {}

/// The first ones of an order. No others are kept.
pub(crate) struct First<T> {
    most: usize,
    /// The last one is at the top.
    heap: BinaryHeap<Placed<T>>,
}

impl<T> First<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, heap: BinaryHeap::new() }
    }

    pub(crate) fn add(&mut self, placed: Placed<T>) {
        self.heap.push(placed);
        if self.heap.len() > self.most {
            self.heap.pop();
        }
    }

    /// All that were kept, in their order.
    pub(crate) fn into_sorted(self) -> Vec<T> {
        self.heap.into_sorted_vec().into_iter().map(|placed| placed.content).collect()
    }
}
