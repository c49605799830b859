//! `b2nd ls --summary`: how many frames there are of each kind, and arrays of each dtype, rank, shape and chunk shape.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use b2nd_serde::frame::{Array, Kind};
use serde::Serialize;

use crate::counts::Counts;
use crate::json::line;
use crate::output::BOLD;
use crate::table::{Columns, Side, shortened};
use crate::text::{self, short};

/// The most rows of a table.
const SHOWN: usize = 10;

/// The widest cell. Only a dtype can be wider, and is shortened.
const WIDEST: usize = 60;

#[derive(Default)]
pub(crate) struct Summary {
    kinds: HashMap<Kind, u64>,
    dtypes: HashMap<Option<String>, u64>,
    ranks: BTreeMap<usize, Rank>,
    shapes: HashMap<Vec<i64>, u64>,
    chunks: HashMap<Vec<i32>, u64>,
}

/// The arrays of a rank.
#[derive(Default)]
struct Rank {
    count: u64,
    /// The smallest and the largest number of items along each axis.
    least: Vec<i64>,
    largest: Vec<i64>,
}

impl Rank {
    fn merge(&mut self, other: Self) {
        if self.count == 0 {
            *self = other;
            return;
        }
        self.count += other.count;
        for (least, other) in self.least.iter_mut().zip(other.least) {
            *least = other.min(*least);
        }
        for (largest, other) in self.largest.iter_mut().zip(other.largest) {
            *largest = other.max(*largest);
        }
    }
}

impl Summary {
    pub(crate) fn add_kind(&mut self, kind: Kind) {
        *self.kinds.entry(kind).or_default() += 1;
    }

    pub(crate) fn add(&mut self, array: &Array<'_>) {
        let shape = array.shape().to_vec();
        *self.dtypes.entry(text::dtype(array)).or_default() += 1;
        let one = Rank { count: 1, least: shape.clone(), largest: shape.clone() };
        self.ranks.entry(shape.len()).or_default().merge(one);
        *self.chunks.entry(array.chunkshape().to_vec()).or_default() += 1;
        *self.shapes.entry(shape).or_default() += 1;
    }

    pub(crate) fn merge(&mut self, other: Self) {
        merge(&mut self.kinds, other.kinds);
        merge(&mut self.dtypes, other.dtypes);
        merge(&mut self.shapes, other.shapes);
        merge(&mut self.chunks, other.chunks);
        for (ndim, rank) in other.ranks {
            self.ranks.entry(ndim).or_default().merge(rank);
        }
    }

    pub(crate) fn text(self, counts: Counts) -> String {
        let mut text = format!("{counts}\n");
        if !self.kinds.is_empty() {
            text += &table(["COUNT", "KIND"], shown(self.kinds, "kinds", Kind::to_string));
        }
        let ranks = self.ranks.iter();
        let ranks: Vec<_> = ranks
            .map(|(ndim, rank)| {
                [rank.count.to_string(), ndim.to_string(), short(&rank.least), short(&rank.largest)]
            })
            .collect();
        if ranks.is_empty() {
            return text;
        }
        let dtype = |dtype: &Option<String>| shortened(dtype.as_deref().unwrap_or("none"), WIDEST);
        text += &table(["COUNT", "DTYPE"], shown(self.dtypes, "dtypes", dtype));
        text += &table(["COUNT", "RANK", "LEAST", "LARGEST"], ranks);
        text += &table(["COUNT", "SHAPE"], shown(self.shapes, "shapes", |shape| short(shape)));
        text += &table(["COUNT", "CHUNKS"], shown(self.chunks, "chunk shapes", |chunks| short(chunks)));
        text
    }

    pub(crate) fn json(self, counts: Counts) -> Vec<u8> {
        let ranks = self.ranks.into_iter();
        line(&Json {
            arrays: counts.arrays,
            stores: counts.stores,
            tables: counts.tables,
            frames_without_array: counts.others,
            failures: counts.failures,
            kinds: sorted(self.kinds).into_iter().map(|(kind, count)| KindCount { kind, count }).collect(),
            dtypes: sorted(self.dtypes).into_iter().map(|(dtype, count)| Dtype { dtype, count }).collect(),
            ranks: ranks
                .map(|(ndim, Rank { count, least, largest })| JsonRank { ndim, count, least, largest })
                .collect(),
            shapes: sorted(self.shapes).into_iter().map(|(shape, count)| Shape { shape, count }).collect(),
            chunks: sorted(self.chunks).into_iter().map(|(chunks, count)| Chunks { chunks, count }).collect(),
        })
    }
}

fn merge<K: Eq + Hash>(counts: &mut HashMap<K, u64>, others: HashMap<K, u64>) {
    for (key, count) in others {
        *counts.entry(key).or_default() += count;
    }
}

/// The most frequent first; equally frequent ones in their own order.
fn sorted<K: Ord>(counts: HashMap<K, u64>) -> Vec<(K, u64)> {
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|(a, a_count), (b, b_count)| (Reverse(a_count), a).cmp(&(Reverse(b_count), b)));
    counts
}

/// Rows for the most frequent ones, and one for the others.
fn shown<K: Ord>(counts: HashMap<K, u64>, nouns: &str, name: impl Fn(&K) -> String) -> Vec<[String; 2]> {
    let counts = sorted(counts);
    let mut rows: Vec<_> = counts.iter().map(|(key, count)| [count.to_string(), name(key)]).collect();
    if let Some(rest) = counts.get(SHOWN..).filter(|rest| rest.len() > 1) {
        let count: u64 = rest.iter().map(|(_, count)| count).sum();
        rows.truncate(SHOWN);
        rows.push([count.to_string(), format!("… {} other {nouns}", rest.len())]);
    }
    rows
}

fn table<const N: usize>(header: [&str; N], rows: Vec<[String; N]>) -> String {
    let header = header.map(String::from);
    let mut sides = [Side::Left; N];
    if let Some(count) = sides.first_mut() {
        *count = Side::Right;
    }
    let mut columns = Columns::new(sides, [WIDEST; N]);
    columns.fit(&header);
    for row in &rows {
        columns.fit(row);
    }
    let mut text = format!("\n{BOLD}{}{BOLD:#}\n", columns.line(&header));
    for row in rows {
        text += &(columns.line(&row) + "\n");
    }
    text
}

/// The summary as `--json` prints it.
#[derive(Serialize)]
struct Json {
    arrays: u64,
    stores: u64,
    tables: u64,
    frames_without_array: u64,
    failures: u64,
    kinds: Vec<KindCount>,
    dtypes: Vec<Dtype>,
    ranks: Vec<JsonRank>,
    shapes: Vec<Shape>,
    chunks: Vec<Chunks>,
}

#[derive(Serialize)]
struct KindCount {
    kind: Kind,
    count: u64,
}

#[derive(Serialize)]
struct Dtype {
    dtype: Option<String>,
    count: u64,
}

#[derive(Serialize)]
struct JsonRank {
    ndim: usize,
    count: u64,
    least: Vec<i64>,
    largest: Vec<i64>,
}

#[derive(Serialize)]
struct Shape {
    shape: Vec<i64>,
    count: u64,
}

#[derive(Serialize)]
struct Chunks {
    chunks: Vec<i32>,
    count: u64,
}
