//! `b2nd ls --summary`: how many bytes the arrays have, how many frames there are of each kind, arrays of each codec,
//! layout, dtype, rank, shape and chunk shape, and failures of each code.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::Hash;
use std::io;

use b2nd_frame::{Codec, Kind};
use serde::Serialize;

use crate::counts::Counts;
use crate::json::{codec, line, parsed_dtype, ratio};
use crate::output::{BOLD, width};
use crate::table::{Columns, Side, shortened};
use crate::text::{self, Size, short};
use crate::visit::View;

/// The most rows of a table.
const SHOWN: usize = 10;

/// The widest cell. Only a dtype can be wider, and is shortened.
const WIDEST: usize = 60;

#[derive(Default)]
pub(crate) struct Summary {
    sizes: Sizes,
    kinds: HashMap<Kind, u64>,
    /// By the codec's number.
    codecs: BTreeMap<u8, u64>,
    layouts: BTreeMap<&'static str, u64>,
    failures: BTreeMap<&'static str, u64>,
    dtypes: HashMap<Option<String>, u64>,
    ranks: BTreeMap<usize, Rank>,
    shapes: HashMap<Vec<i64>, u64>,
    chunks: HashMap<Vec<i32>, u64>,
}

/// The bytes of all arrays. The sums cannot overflow, whatever the headers say.
#[derive(Clone, Copy, Default, Serialize)]
struct Sizes {
    nbytes: i128,
    /// With the padding of chunks and blocks.
    stored_nbytes: i128,
    cbytes: i128,
}

impl Sizes {
    fn add(&mut self, other: Self) {
        self.nbytes += other.nbytes;
        self.stored_nbytes += other.stored_nbytes;
        self.cbytes += other.cbytes;
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nbytes, stored_nbytes, cbytes } = *self;
        write!(f, "\nnbytes: {}", Size(nbytes))?;
        if stored_nbytes != nbytes {
            write!(f, ", with padding {}", Size(stored_nbytes))?;
        }
        writeln!(f, "\ncbytes: {}", Size(cbytes))?;
        ratio(stored_nbytes, cbytes).map_or(Ok(()), |ratio| writeln!(f, "cratio: {ratio:.2}x"))
    }
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

    pub(crate) fn add_failure(&mut self, code: &'static str) {
        *self.failures.entry(code).or_default() += 1;
    }

    pub(crate) fn add(&mut self, view: View<'_>) {
        self.add_kind(view.kind);
        let (Some(array), header) = (view.array, view.header) else { return };
        let shape = array.shape().to_vec();
        let dtype = array.meta().and_then(parsed_dtype);
        self.sizes.add(Sizes {
            // What does not fit is left out.
            nbytes: view.nbytes().unwrap_or_default().into(),
            stored_nbytes: header.nbytes.into(),
            cbytes: header.cbytes.into(),
        });
        *self.codecs.entry(header.codec.0).or_default() += 1;
        *self.layouts.entry(array.layout().name()).or_default() += 1;
        *self.dtypes.entry(text::dtype_as(array, dtype.as_ref())).or_default() += 1;
        let one = Rank { count: 1, least: shape.clone(), largest: shape.clone() };
        self.ranks.entry(shape.len()).or_default().merge(one);
        *self.chunks.entry(array.chunkshape().to_vec()).or_default() += 1;
        *self.shapes.entry(shape).or_default() += 1;
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.sizes.add(other.sizes);
        merge(&mut self.kinds, other.kinds);
        merge_ordered(&mut self.codecs, other.codecs);
        merge_ordered(&mut self.layouts, other.layouts);
        merge_ordered(&mut self.failures, other.failures);
        merge(&mut self.dtypes, other.dtypes);
        merge(&mut self.shapes, other.shapes);
        merge(&mut self.chunks, other.chunks);
        for (ndim, rank) in other.ranks {
            self.ranks.entry(ndim).or_default().merge(rank);
        }
    }

    pub(crate) fn text(self, counts: Counts) -> String {
        let mut text = format!("{counts}\n");
        if counts.arrays > 0 {
            text += &self.sizes.to_string();
        }
        if !self.failures.is_empty() {
            text += &table(["COUNT", "FAILURE"], shown(self.failures, "failures", |code| (*code).into()));
        }
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
        text +=
            &table(["COUNT", "CODEC"], shown(self.codecs, "codecs", |&number| codec(Codec(number)).into()));
        text += &table(["COUNT", "LAYOUT"], shown(self.layouts, "layouts", |layout| (*layout).into()));
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
            sizes: self.sizes,
            cratio: ratio(self.sizes.stored_nbytes, self.sizes.cbytes),
            failure_codes: sorted(self.failures)
                .into_iter()
                .map(|(code, count)| FailureCount { code, count })
                .collect(),
            kinds: sorted(self.kinds).into_iter().map(|(kind, count)| KindCount { kind, count }).collect(),
            codecs: sorted(self.codecs)
                .into_iter()
                .map(|(number, count)| CodecCount { codec: codec(Codec(number)), count })
                .collect(),
            layouts: sorted(self.layouts)
                .into_iter()
                .map(|(layout, count)| LayoutCount { layout, count })
                .collect(),
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

fn merge_ordered<K: Ord>(counts: &mut BTreeMap<K, u64>, others: BTreeMap<K, u64>) {
    for (key, count) in others {
        *counts.entry(key).or_default() += count;
    }
}

/// The most frequent first; equally frequent ones in their own order.
fn sorted<K: Ord>(counts: impl IntoIterator<Item = (K, u64)>) -> Vec<(K, u64)> {
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|(a, a_count), (b, b_count)| (Reverse(a_count), a).cmp(&(Reverse(b_count), b)));
    counts
}

/// Rows for the most frequent ones, and one for the others.
fn shown<K: Ord>(
    counts: impl IntoIterator<Item = (K, u64)>,
    nouns: &str,
    name: impl Fn(&K) -> String,
) -> Vec<[String; 2]> {
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
    let mut columns = Columns::new(sides, [WIDEST; N]).within(width(&io::stdout()));
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
    #[serde(flatten)]
    sizes: Sizes,
    cratio: Option<f64>,
    failure_codes: Vec<FailureCount>,
    kinds: Vec<KindCount>,
    codecs: Vec<CodecCount>,
    layouts: Vec<LayoutCount>,
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
struct FailureCount {
    code: &'static str,
    count: u64,
}

#[derive(Serialize)]
struct CodecCount {
    codec: Cow<'static, str>,
    count: u64,
}

#[derive(Serialize)]
struct LayoutCount {
    layout: &'static str,
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
