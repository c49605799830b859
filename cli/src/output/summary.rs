//! `b2nd ls --summary` prints the total size of all arrays, and several tables. The tables count frames, arrays and
//! failures. The tables of codecs and dtypes also have sums of sizes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Display};
use std::io;
use std::ops::AddAssign;

use serde::Serialize;

use super::json::line;
use super::table::{Columns, Side};
use super::totals::Totals;
use crate::input::View;
use crate::terminal::width;
use crate::text::{self, ABSENT, Size, ratio, short, short_size, shortened};

/// The number of keys that a table shows. All other keys share one more row.
const SHOWN: usize = 10;

/// The maximum width of a column. A dtype that is wider is shortened. A shape that is wider does not widen the column.
const WIDEST: usize = 60;

/// The tables. For each table: the name of its list in JSON, the name of the key in each entry of the list, and whether
/// an entry has sums of sizes.
const TABLES: [(&str, &str, bool); 7] = [
    ("failure_codes", "code", false),
    ("kinds", "kind", false),
    ("codecs", "codec", true),
    ("layouts", "layout", false),
    ("dtypes", "dtype", true),
    ("shapes", "shape", false),
    ("chunks", "chunks", false),
];

/// The value that a row of a table counts.
#[derive(PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(untagged)]
enum Key {
    Absent,
    Text(String),
    Shape(Vec<i64>),
}

impl Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str(ABSENT),
            Self::Text(text) => f.write_str(&shortened(text, WIDEST)),
            Self::Shape(shape) => f.write_str(&short(shape)),
        }
    }
}

/// A count of frames, arrays or failures, with the sums of the sizes of the arrays in bytes. For a kind of frames or a
/// code of failures, the sums are 0. The sums cannot overflow an `i128`, whatever the headers contain.
#[derive(Clone, Copy, Default, Serialize)]
struct Sizes {
    #[serde(skip)]
    count: u64,
    nbytes: i128,
    /// The sum of the decompressed sizes of all chunks. Unlike `nbytes`, it includes the padding.
    stored_nbytes: i128,
    cbytes: i128,
    /// The number of arrays with uncertain sizes. The sums do not include these arrays.
    #[serde(rename = "without_sizes")]
    unknown: u64,
}

impl Sizes {
    fn new(view: View<'_>) -> Self {
        let known = view.nbytes().zip(view.compressed()).map(|(nbytes, (stored_nbytes, cbytes))| Self {
            count: 1,
            nbytes: nbytes.into(),
            stored_nbytes,
            cbytes,
            unknown: 0,
        });
        known.unwrap_or(Self { count: 1, unknown: 1, ..Self::default() })
    }

    fn ratio(self) -> Option<f64> {
        ratio((self.stored_nbytes, self.cbytes))
    }
}

impl AddAssign for Sizes {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.nbytes += other.nbytes;
        self.stored_nbytes += other.stored_nbytes;
        self.cbytes += other.cbytes;
        self.unknown += other.unknown;
    }
}

impl Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nbytes, stored_nbytes, cbytes, unknown, .. } = *self;
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

/// The number of arrays of a rank, with their smallest and largest lengths along each axis.
#[derive(Serialize)]
struct Rank {
    ndim: usize,
    count: u64,
    least: Vec<i64>,
    largest: Vec<i64>,
}

impl AddAssign for Rank {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.least.iter_mut().zip(other.least).for_each(|(least, other)| *least = other.min(*least));
        self.largest
            .iter_mut()
            .zip(other.largest)
            .for_each(|(largest, other)| *largest = other.max(*largest));
    }
}

#[derive(Default)]
pub(crate) struct Summary {
    /// The counts, by the name of the table and the key of the row.
    counts: HashMap<(&'static str, Key), Sizes>,
    ranks: BTreeMap<usize, Rank>,
    sizes: Sizes,
}

impl Summary {
    /// Adds 1 to the count of a kind of frame, or of a failure code. These counts have no sums of sizes.
    pub(crate) fn add_one(&mut self, table: &'static str, key: &dyn Display) {
        self.count(table, Key::Text(key.to_string()), Sizes { count: 1, ..Sizes::default() });
    }

    pub(crate) fn add(&mut self, view: View<'_>) {
        self.add_one("kinds", &view.kind);
        let (Some(shape), sizes) = (view.shape(), Sizes::new(view)) else { return };
        self.sizes += sizes;
        self.count("codecs", Key::Text(view.header.codec.to_string()), sizes);
        let dtype = view.dtype_name(view.dtype().as_ref());
        self.count("dtypes", dtype.map_or(Key::Absent, Key::Text), sizes);
        self.count("shapes", Key::Shape(shape.into()), sizes);
        if let Some(array) = view.array {
            let chunks = array.chunkshape().iter().map(|&items| items.into()).collect();
            self.count("layouts", Key::Text(array.meta().layout().to_string()), sizes);
            self.count("chunks", Key::Shape(chunks), sizes);
        }
        self.add_rank(Rank { ndim: shape.len(), count: 1, least: shape.into(), largest: shape.into() });
    }

    fn count(&mut self, table: &'static str, key: Key, sizes: Sizes) {
        *self.counts.entry((table, key)).or_default() += sizes;
    }

    fn add_rank(&mut self, rank: Rank) {
        match self.ranks.get_mut(&rank.ndim) {
            Some(known) => *known += rank,
            None => drop(self.ranks.insert(rank.ndim, rank)),
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.sizes += other.sizes;
        other.counts.into_iter().for_each(|((table, key), sizes)| self.count(table, key, sizes));
        other.ranks.into_values().for_each(|rank| self.add_rank(rank));
    }

    /// The counts of a table: the most frequent key first. Keys with equal counts are sorted by the key.
    fn sorted(&self, table: &str) -> Vec<(&Key, Sizes)> {
        let of_table = self.counts.iter().filter(|((of, _), _)| *of == table);
        let mut counts: Vec<_> = of_table.map(|((_, key), &sizes)| (key, sizes)).collect();
        counts.sort_by_key(|&(key, sizes)| (Reverse(sizes.count), key));
        counts
    }

    /// A table of the most frequent keys, with a row for all other keys.
    fn table(&self, (list, name, has_sums): (&str, &str, bool)) -> String {
        let row = |Sizes { count, nbytes, cbytes, .. }: Sizes, name: String| {
            let sums = [nbytes, cbytes].into_iter().filter(|_| has_sums).map(short_size);
            [count.to_string()].into_iter().chain(sums).chain([name]).collect()
        };
        let counts = self.sorted(list);
        let mut rows: Vec<Vec<_>> = counts.iter().map(|(key, sizes)| row(*sizes, key.to_string())).collect();
        // If there is only one more row, it is shown, because a row "1 other" would take the same space.
        if let Some(rest) = counts.get(SHOWN..).filter(|rest| rest.len() > 1) {
            let mut others = Sizes::default();
            for (_, sizes) in rest {
                others += *sizes;
            }
            rows.truncate(SHOWN);
            rows.push(row(others, format!("… {} other {}", rest.len(), list.replace('_', " "))));
        }
        let sums: &[&str] = if has_sums { &["NBYTES", "CBYTES"] } else { &[] };
        table(&[&["COUNT"], sums, &[&name.to_uppercase()]].concat(), &rows)
    }

    pub(crate) fn text(&self, totals: Totals) -> String {
        let mut text = format!("{totals}\n");
        if totals.arrays > 0 {
            text += &self.sizes.to_string();
        }
        text.extend(TABLES.map(|of| self.table(of)));
        let ranks = self.ranks.values().map(|Rank { ndim, count, least, largest }| {
            vec![count.to_string(), ndim.to_string(), short(least), short(largest)]
        });
        text + &table(&["COUNT", "RANK", "LEAST", "LARGEST"], &ranks.collect::<Vec<_>>())
    }

    pub(crate) fn json(&self, totals: Totals) -> Vec<u8> {
        let list = |(list, name, has_sums): (_, _, bool)| {
            let entry = |(key, Sizes { count, nbytes, cbytes, .. })| Entry {
                key: BTreeMap::from([(name, key)]),
                count,
                nbytes: has_sums.then_some(nbytes),
                cbytes: has_sums.then_some(cbytes),
            };
            (list, self.sorted(list).into_iter().map(entry).collect())
        };
        line(&SummaryRecord {
            arrays: totals.arrays,
            stores: totals.stores,
            tables: totals.tables,
            frames_without_array: totals.others,
            failures: totals.failures,
            sizes: self.sizes,
            cratio: self.sizes.ratio(),
            lists: TABLES.map(list).into(),
            ranks: self.ranks.values().collect(),
        })
    }
}

/// The text of a table, below an empty line. Counts and sizes are aligned to the right. Without rows, the text is
/// empty.
pub(super) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let is_number = |heading: &str| ["COUNT", "NBYTES", "CBYTES"].contains(&heading);
    let side = |heading: &&str| if is_number(heading) { Side::Right } else { Side::Left };
    let columns = Columns::new(headings.iter().map(|heading| (side(heading), WIDEST)));
    format!("\n{}", columns.within(width(&io::stdout())).table(headings, rows))
}

/// The summary as `--json` prints it.
#[derive(Serialize)]
struct SummaryRecord<'s> {
    arrays: u64,
    stores: u64,
    tables: u64,
    frames_without_array: u64,
    failures: u64,
    #[serde(flatten)]
    sizes: Sizes,
    cratio: Option<f64>,
    #[serde(flatten)]
    lists: BTreeMap<&'static str, Vec<Entry<'s>>>,
    ranks: Vec<&'s Rank>,
}

/// A row of a table as JSON.
#[derive(Serialize)]
struct Entry<'s> {
    #[serde(flatten)]
    key: BTreeMap<&'static str, &'s Key>,
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    nbytes: Option<i128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cbytes: Option<i128>,
}
