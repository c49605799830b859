//! `b2nd ls --summary`: how many bytes the arrays have, how many frames there are of each kind, arrays of each codec,
//! layout, dtype, rank, shape and chunk shape, and failures of each code.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::Hash;
use std::io;

use b2nd_frame::{Codec, ObjectKind};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::json::line;
use super::table::{Columns, Side};
use super::totals::Totals;
use crate::input::View;
use crate::terminal::width;
use crate::text::{self, Size, codec_name, ratio, short, shortened};

/// The most rows of a table.
const SHOWN: usize = 10;

/// The widest cell. Only a dtype can be wider, and is shortened.
const WIDEST: usize = 60;

#[derive(Default)]
pub(crate) struct Summary {
    sizes: Sizes,
    kinds: Tally<ObjectKind>,
    /// By the codec's number.
    codecs: Tally<u8>,
    layouts: Tally<&'static str>,
    failures: Tally<&'static str>,
    dtypes: Tally<Option<String>>,
    ranks: BTreeMap<usize, Rank>,
    shapes: Tally<Vec<i64>>,
    chunks: Tally<Vec<i32>>,
}

/// The bytes of all arrays. The sums cannot overflow, whatever the headers say.
#[derive(Clone, Copy, Default, Serialize)]
struct Sizes {
    nbytes: i128,
    /// With the padding of chunks and blocks.
    stored_nbytes: i128,
    cbytes: i128,
    /// Arrays without sizes, which are in no sum.
    #[serde(rename = "without_sizes")]
    unknown: u64,
}

impl Sizes {
    fn of(view: View<'_>) -> Self {
        let known = view.nbytes().zip(view.compressed()).map(|(nbytes, (stored_nbytes, cbytes))| Self {
            nbytes: nbytes.into(),
            stored_nbytes,
            cbytes,
            unknown: 0,
        });
        known.unwrap_or(Self { unknown: 1, ..Self::default() })
    }

    fn add(&mut self, other: Self) {
        self.nbytes += other.nbytes;
        self.stored_nbytes += other.stored_nbytes;
        self.cbytes += other.cbytes;
        self.unknown += other.unknown;
    }

    fn ratio(self) -> Option<f64> {
        ratio((self.stored_nbytes, self.cbytes))
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nbytes, stored_nbytes, cbytes, unknown } = *self;
        write!(f, "\nnbytes: {}", Size(nbytes))?;
        if stored_nbytes != nbytes {
            write!(f, ", with padding {}", Size(stored_nbytes))?;
        }
        writeln!(f, "\ncbytes: {}", Size(cbytes))?;
        self.ratio().map_or(Ok(()), |ratio| writeln!(f, "cratio: {ratio:.2}x"))?;
        if unknown > 0 {
            let arrays = text::count(unknown, "array");
            writeln!(f, "left out: {arrays}, as errors leave the sizes unknown")?;
        }
        Ok(())
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

/// How often there is each of these.
struct Tally<K>(HashMap<K, u64>);

impl<K> Default for Tally<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Hash + Ord> Tally<K> {
    fn add(&mut self, key: K, count: u64) {
        *self.0.entry(key).or_default() += count;
    }

    fn merge(&mut self, others: Self) {
        others.0.into_iter().for_each(|(key, count)| self.add(key, count));
    }

    /// The most frequent first; equally frequent ones in their own order.
    fn sorted(self) -> Vec<(K, u64)> {
        let mut counts: Vec<_> = self.0.into_iter().collect();
        counts.sort_by(|(a, a_count), (b, b_count)| (Reverse(a_count), a).cmp(&(Reverse(b_count), b)));
        counts
    }

    /// A table of the most frequent ones, with a row for the others.
    fn table(self, heading: &str, nouns: &str, name: impl Fn(&K) -> String) -> String {
        let counts = self.sorted();
        let mut rows: Vec<_> = counts.iter().map(|(key, count)| [count.to_string(), name(key)]).collect();
        if let Some(rest) = counts.get(SHOWN..).filter(|rest| rest.len() > 1) {
            let count: u64 = rest.iter().map(|(_, count)| count).sum();
            rows.truncate(SHOWN);
            rows.push([count.to_string(), format!("… {} other {nouns}", rest.len())]);
        }
        table(["COUNT", heading], &rows)
    }

    /// The list for `--json`.
    fn counted(self, name: &'static str) -> Vec<Counted<K>> {
        self.sorted().into_iter().map(|(key, count)| Counted { name, key, count }).collect()
    }
}

impl Summary {
    pub(crate) fn add_kind(&mut self, kind: ObjectKind) {
        self.kinds.add(kind, 1);
    }

    pub(crate) fn add_failure(&mut self, code: &'static str) {
        self.failures.add(code, 1);
    }

    pub(crate) fn add(&mut self, view: View<'_>) {
        self.add_kind(view.kind);
        let (Some(array), header) = (view.array, view.header) else { return };
        let shape = array.shape().to_vec();
        self.sizes.add(Sizes::of(view));
        self.codecs.add(header.codec.0, 1);
        self.layouts.add(array.layout_name(), 1);
        self.dtypes.add(text::dtype(array), 1);
        let one = Rank { count: 1, least: shape.clone(), largest: shape.clone() };
        self.ranks.entry(shape.len()).or_default().merge(one);
        self.chunks.add(array.chunkshape().to_vec(), 1);
        self.shapes.add(shape, 1);
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.sizes.add(other.sizes);
        self.kinds.merge(other.kinds);
        self.codecs.merge(other.codecs);
        self.layouts.merge(other.layouts);
        self.failures.merge(other.failures);
        self.dtypes.merge(other.dtypes);
        self.shapes.merge(other.shapes);
        self.chunks.merge(other.chunks);
        for (ndim, rank) in other.ranks {
            self.ranks.entry(ndim).or_default().merge(rank);
        }
    }

    pub(crate) fn text(self, totals: Totals) -> String {
        let mut text = format!("{totals}\n");
        if totals.arrays > 0 {
            text += &self.sizes.to_string();
        }
        if !self.failures.0.is_empty() {
            text += &self.failures.table("FAILURE", "failures", |code| (*code).into());
        }
        if !self.kinds.0.is_empty() {
            text += &self.kinds.table("KIND", "kinds", ObjectKind::to_string);
        }
        if self.ranks.is_empty() {
            return text;
        }
        let ranks = self.ranks.iter().map(|(ndim, rank)| {
            [rank.count.to_string(), ndim.to_string(), short(&rank.least), short(&rank.largest)]
        });
        let ranks: Vec<_> = ranks.collect();
        let dtype = |dtype: &Option<String>| shortened(dtype.as_deref().unwrap_or("none"), WIDEST);
        text += &self.codecs.table("CODEC", "codecs", |&number| codec_name(Codec(number)).into());
        text += &self.layouts.table("LAYOUT", "layouts", |layout| (*layout).into());
        text += &self.dtypes.table("DTYPE", "dtypes", dtype);
        text += &table(["COUNT", "RANK", "LEAST", "LARGEST"], &ranks);
        text += &self.shapes.table("SHAPE", "shapes", |shape| short(shape));
        text + &self.chunks.table("CHUNKS", "chunk shapes", |chunks| short(chunks))
    }

    pub(crate) fn json(self, totals: Totals) -> Vec<u8> {
        let codecs = self.codecs.counted("codec").into_iter();
        let ranks = self.ranks.into_iter();
        line(&SummaryRecord {
            arrays: totals.arrays,
            stores: totals.stores,
            tables: totals.tables,
            frames_without_array: totals.others,
            failures: totals.failures,
            sizes: self.sizes,
            cratio: self.sizes.ratio(),
            failure_codes: self.failures.counted("code"),
            kinds: self.kinds.counted("kind"),
            codecs: codecs
                .map(|Counted { name, key, count }| Counted { name, key: codec_name(Codec(key)), count })
                .collect(),
            layouts: self.layouts.counted("layout"),
            dtypes: self.dtypes.counted("dtype"),
            ranks: ranks
                .map(|(ndim, Rank { count, least, largest })| RankRecord { ndim, count, least, largest })
                .collect(),
            shapes: self.shapes.counted("shape"),
            chunks: self.chunks.counted("chunks"),
        })
    }
}

fn table<const N: usize>(headings: [&str; N], rows: &[[String; N]]) -> String {
    let side = |index| if index == 0 { Side::Right } else { Side::Left };
    let columns = Columns::new((0..N).map(|index| (side(index), WIDEST)));
    format!("\n{}", columns.within(width(&io::stdout())).table(&headings.map(String::from), rows))
}

/// The summary as `--json` prints it.
#[derive(Serialize)]
struct SummaryRecord {
    arrays: u64,
    stores: u64,
    tables: u64,
    frames_without_array: u64,
    failures: u64,
    #[serde(flatten)]
    sizes: Sizes,
    cratio: Option<f64>,
    failure_codes: Vec<Counted<&'static str>>,
    kinds: Vec<Counted<ObjectKind>>,
    codecs: Vec<Counted<Cow<'static, str>>>,
    layouts: Vec<Counted<&'static str>>,
    dtypes: Vec<Counted<Option<String>>>,
    ranks: Vec<RankRecord>,
    shapes: Vec<Counted<Vec<i64>>>,
    chunks: Vec<Counted<Vec<i32>>>,
}

#[derive(Serialize)]
struct RankRecord {
    ndim: usize,
    count: u64,
    least: Vec<i64>,
    largest: Vec<i64>,
}

/// One of these under its name, and how often it is there.
struct Counted<K> {
    name: &'static str,
    key: K,
    count: u64,
}

impl<K: Serialize> Serialize for Counted<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(2))?;
        object.serialize_entry(self.name, &self.key)?;
        object.serialize_entry("count", &self.count)?;
        object.end()
    }
}
