//! `b2nd ls --summary`: the sizes of all arrays, in all and by codec and dtype; the numbers of frames by kind, of
//! arrays by codec, layout, dtype, rank, shape and chunk shape, and of failures by code.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::Hash;
use std::io;
use std::ops::AddAssign;

use b2nd_frame::{Codec, ObjectKind};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::json::line;
use super::table::{Columns, Side};
use super::totals::Totals;
use crate::input::View;
use crate::terminal::width;
use crate::text::{self, Size, ratio, short, short_size, shortened};

/// The most rows of a table.
const SHOWN: usize = 10;

/// The widest cell. Only a dtype can be wider, and is shortened.
const WIDEST: usize = 60;

#[derive(Default)]
pub(crate) struct Summary {
    sizes: Sizes,
    kinds: Tally<ObjectKind>,
    /// By the codec's number.
    codecs: Tally<u8, 2>,
    layouts: Tally<&'static str>,
    failures: Tally<&'static str>,
    dtypes: Tally<Option<String>, 2>,
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
            writeln!(f, "not included: {arrays} with uncertain sizes, because of errors in the header")?;
        }
        Ok(())
    }
}

/// The arrays of a rank.
#[derive(Default, Serialize)]
struct Rank {
    count: u64,
    /// The smallest and the largest number of items along each axis.
    least: Vec<i64>,
    largest: Vec<i64>,
}

impl Rank {
    fn merge(&mut self, other: Self) {
        // A default has no axes to compare with.
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

impl AddAssign for Sizes {
    fn add_assign(&mut self, other: Self) {
        self.nbytes += other.nbytes;
        self.stored_nbytes += other.stored_nbytes;
        self.cbytes += other.cbytes;
        self.unknown += other.unknown;
    }
}

/// The names of the sums.
const SUMS: [&str; 2] = ["nbytes", "cbytes"];

/// The number of arrays of each key, and the sums over them: `N` is 2, or 0 for a tally without sums.
struct Tally<K, const N: usize = 0>(HashMap<K, (u64, [i128; N])>);

impl<K, const N: usize> Default for Tally<K, N> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<K: Hash + Ord, const N: usize> Tally<K, N> {
    fn add(&mut self, key: K, count: u64, sums: [i128; N]) {
        let (known, known_sums) = self.0.entry(key).or_insert((0, [0; N]));
        *known += count;
        known_sums.iter_mut().zip(sums).for_each(|(known, more)| *known += more);
    }

    fn merge(&mut self, others: Self) {
        others.0.into_iter().for_each(|(key, (count, sums))| self.add(key, count, sums));
    }

    /// The most frequent first; equally frequent ones in their own order.
    fn sorted(self) -> Vec<(K, u64, [i128; N])> {
        let mut counts: Vec<_> = self.0.into_iter().map(|(key, (count, sums))| (key, count, sums)).collect();
        counts.sort_by(|(a, a_count, _), (b, b_count, _)| (Reverse(a_count), a).cmp(&(Reverse(b_count), b)));
        counts
    }

    /// A table of the most frequent ones, with a row for the others.
    fn table(self, heading: &str, nouns: &str, name: impl Fn(&K) -> String) -> String {
        let row = |count: u64, sums: [i128; N], name: String| {
            [count.to_string()].into_iter().chain(sums.map(short_size)).chain([name]).collect()
        };
        let counts = self.sorted();
        let mut rows: Vec<_> =
            counts.iter().map(|(key, count, sums)| row(*count, *sums, name(key))).collect();
        // A single further row takes no more room than "1 other".
        if let Some(rest) = counts.get(SHOWN..).filter(|rest| rest.len() > 1) {
            let (mut count, mut sums) = (0, [0; N]);
            for (_, more, more_sums) in rest {
                count += more;
                sums.iter_mut().zip(more_sums).for_each(|(sum, more)| *sum += more);
            }
            rows.truncate(SHOWN);
            rows.push(row(count, sums, format!("… {} other {nouns}", rest.len())));
        }
        let names = SUMS.iter().take(N).map(|name| name.to_uppercase());
        let headings: Vec<_> = ["COUNT".into()].into_iter().chain(names).chain([heading.into()]).collect();
        table(&headings, &rows)
    }

    /// The list for `--json`.
    fn counted(self, name: &'static str) -> Vec<Counted<K, N>> {
        self.sorted().into_iter().map(|(key, count, sums)| Counted { name, key, count, sums }).collect()
    }
}

impl Summary {
    pub(crate) fn add_kind(&mut self, kind: ObjectKind) {
        self.kinds.add(kind, 1, []);
    }

    pub(crate) fn add_failure(&mut self, code: &'static str) {
        self.failures.add(code, 1, []);
    }

    pub(crate) fn add(&mut self, view: View<'_>) {
        self.add_kind(view.kind);
        let (Some(array), header) = (view.array, view.header) else { return };
        let shape = array.shape().to_vec();
        let sizes = Sizes::of(view);
        self.sizes += sizes;
        let sums = [sizes.nbytes, sizes.cbytes];
        self.codecs.add(header.codec.0, 1, sums);
        self.layouts.add(array.meta().layout().name(), 1, []);
        self.dtypes.add(text::dtype(array), 1, sums);
        let one = Rank { count: 1, least: shape.clone(), largest: shape.clone() };
        self.ranks.entry(shape.len()).or_default().merge(one);
        self.chunks.add(array.chunkshape().to_vec(), 1, []);
        self.shapes.add(shape, 1, []);
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.sizes += other.sizes;
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
        // Without arrays, the other tables are empty.
        if self.ranks.is_empty() {
            return text;
        }
        let ranks = self.ranks.iter().map(|(ndim, rank)| {
            vec![rank.count.to_string(), ndim.to_string(), short(&rank.least), short(&rank.largest)]
        });
        let ranks: Vec<_> = ranks.collect();
        let dtype = |dtype: &Option<String>| shortened(dtype.as_deref().unwrap_or("none"), WIDEST);
        text += &self.codecs.table("CODEC", "codecs", |&number| Codec(number).to_string());
        text += &self.layouts.table("LAYOUT", "layouts", |layout| (*layout).into());
        text += &self.dtypes.table("DTYPE", "dtypes", dtype);
        text += &table(&["COUNT", "RANK", "LEAST", "LARGEST"].map(String::from), &ranks);
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
                .map(|Counted { name, key, count, sums }| Counted {
                    name,
                    key: Codec(key).to_string(),
                    count,
                    sums,
                })
                .collect(),
            layouts: self.layouts.counted("layout"),
            dtypes: self.dtypes.counted("dtype"),
            ranks: ranks.map(|(ndim, rank)| RankRecord { ndim, rank }).collect(),
            shapes: self.shapes.counted("shape"),
            chunks: self.chunks.counted("chunks"),
        })
    }
}

/// A table with counts and sizes aligned to the right.
pub(super) fn table(headings: &[String], rows: &[Vec<String>]) -> String {
    let is_number = |heading: &str| ["COUNT", "NBYTES", "CBYTES"].contains(&heading);
    let side = |heading: &String| if is_number(heading) { Side::Right } else { Side::Left };
    let columns = Columns::new(headings.iter().map(|heading| (side(heading), WIDEST)));
    format!("\n{}", columns.within(width(&io::stdout())).table(headings, rows))
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
    codecs: Vec<Counted<String, 2>>,
    layouts: Vec<Counted<&'static str>>,
    dtypes: Vec<Counted<Option<String>, 2>>,
    ranks: Vec<RankRecord>,
    shapes: Vec<Counted<Vec<i64>>>,
    chunks: Vec<Counted<Vec<i32>>>,
}

#[derive(Serialize)]
struct RankRecord {
    ndim: usize,
    #[serde(flatten)]
    rank: Rank,
}

/// An entry of a tally as JSON: the key under `name`, its count and its sums.
struct Counted<K, const N: usize = 0> {
    name: &'static str,
    key: K,
    count: u64,
    sums: [i128; N],
}

impl<K: Serialize, const N: usize> Serialize for Counted<K, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry(self.name, &self.key)?;
        object.serialize_entry("count", &self.count)?;
        for (name, sum) in SUMS.iter().zip(&self.sums) {
            object.serialize_entry(name, sum)?;
        }
        object.end()
    }
}
