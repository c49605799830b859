//! `b2nd diff`: the differences of two frames.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::iter;
use std::path::PathBuf;
use std::process::ExitCode;

use b2nd_frame::{Frame, ObjectKind, Trailer, Vlmetalayer};
use clap::{Args, ValueHint};
use serde::Serialize;
use serde_json::value::{self, RawValue, to_raw_value};

use crate::input::{Address, Constant, FRAME, Failure, Items, PartsToRead, Reader, given_all, index_in};
use crate::output::items::{Comparison, Item, Value};
use crate::output::json::{print, print_failure};
use crate::output::mend::with_salvage;
use crate::output::messagepack;
use crate::output::record::{FieldChange, Room};
use crate::output::table::{Columns, Side};
use crate::problem::Problem;
use crate::terminal::{Outcome, Progress, remark, width};
use crate::text::{ABSENT, clean, count, shortened};
use crate::waiting::while_changing;

/// Show how two frames differ, with --data also in their items
///
/// One line per difference: shape, chunks, blocks, dtype, compression, metalayers. Items are compared only with --data:
/// the line then says how many differ, the index of the first one, and its values. The chunks, codecs, byte orders and
/// widths of numbers of the two frames may differ. NaN is equal to NaN. Metalayers are compared by their values; the
/// length of the frames is not compared.
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd diff a.b2nd b.b2nd
  b2nd diff --data --tolerance 1e-6 a.b2nd b.b2nd
  b2nd diff --json a.b2nd b.b2nd | jq -r '.differences[].field'
  cd before; for a in *; do b2nd diff --data $a ../after/$a; done

Exit status:
  0  no difference
  1  some differences
  2  trouble: a file cannot be read, or wrong usage")]
pub(crate) struct Diff {
    #[arg(help = FRAME)]
    a: PathBuf,
    /// Frame to compare it with
    b: PathBuf,
    /// Compare the items, too
    #[arg(long)]
    data: bool,
    /// The largest difference at which two numbers count as equal; bools are compared exactly [default: 0]
    #[arg(long, value_name = "NUMBER", requires = "data", value_parser = tolerance)]
    #[arg(value_hint = ValueHint::Other)]
    tolerance: Option<f64>,
    /// Show the full values of metalayers. Otherwise long values are cut, and in JSON a hash replaces a value longer
    /// than 64 KiB
    #[arg(long)]
    meta: bool,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// A compared frame.
struct Compared {
    frame: Frame<Reader>,
    trailer: Trailer,
}

/// The fields of a `Record` that are compared. The other fields follow from these fields, are compared separately
/// (`SIZES` and the metalayers), or may differ between equal arrays, such as the path and the length of the frame.
const FIELDS: [&str; 17] = [
    "kind",
    "container",
    "layout",
    "shape",
    "chunks",
    "blocks",
    "dtype_name",
    "version",
    "dtype_format",
    "typesize",
    "codec",
    "codec_meta",
    "clevel",
    "split",
    "dictionary",
    "filters",
    "filters_meta",
];

/// The sizes that are compared if neither frame has an array. The sizes of an array follow from its shapes and its item
/// size, which `FIELDS` contains.
const SIZES: [&str; 2] = ["nchunks", "stored_nbytes"];

/// A metalayer with its bytes, or a vlmetalayer with its compressed chunk.
#[derive(Clone, Copy)]
struct Layer<'c> {
    field: &'static str,
    name: &'c str,
    bytes: &'c [u8],
    in_trailer: Option<&'c Vlmetalayer>,
}

/// The output of `--json`. Scripts rely on the names of these fields.
#[derive(Serialize)]
struct DiffRecord<'d> {
    a: &'d str,
    b: &'d str,
    differences: &'d [Difference],
}

/// A field, a metalayer or an item that differs, with its values in the frames `a` and `b`. If only one frame has a
/// metalayer, the value for the other frame is absent.
#[derive(Serialize)]
struct Difference {
    field: &'static str,
    /// The name of a metalayer.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    a: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    b: Option<Box<RawValue>>,
    /// If `field` is `data`, the index of the first item that differs. `a` and `b` are the values of that item.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<Vec<u64>>,
    /// If `field` is `data`, the number of items that differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    different: Option<u64>,
    #[serde(skip)]
    texts: [String; 3],
}

/// The maximum width of a column. A wider cell does not widen its column.
const WIDEST: usize = 100;

/// The exit status if a frame cannot be read. The Unix command `cmp` uses the same status.
const TROUBLE: u8 = 2;

impl Diff {
    pub(crate) fn run(self) -> Outcome {
        let [a, b] = given_all([&self.a, &self.b]);
        let names = [&a, &b].map(|address| address.location().to_string());
        let mut note = None;
        let differences = match while_changing(|| self.differences(&a, &b, &mut note)) {
            Ok(differences) => differences,
            Err(failure) => {
                print_failure(&with_salvage(failure), self.json)?;
                return Ok(TROUBLE.into());
            }
        };
        if self.json {
            let [a, b] = &names;
            print(&DiffRecord { a, b, differences: &differences })?;
        } else if !differences.is_empty() {
            anstream::stdout().write_all(table(names, &differences).as_bytes())?;
        }
        if let Some(note) = note {
            remark(&note);
        }
        Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Compares the frames, and returns all differences. If the frames have items that were not compared, sets `note`
    /// to a remark for the user.
    fn differences(
        &self,
        a: &Address,
        b: &Address,
        note: &mut Option<&'static str>,
    ) -> Result<Vec<Difference>, Failure> {
        let locations = [a.location(), b.location()];
        let location = a.location();
        let (a, b) = (Compared::open(a)?, Compared::open(b)?);
        let frames = [&a.frame, &b.frame];
        let are_arrays = frames.map(|frame| frame.array_metalayer().is_some());
        let sizes = if are_arrays == [false; 2] { &SIZES } else { &[][..] };
        let have_items = frames
            .iter()
            .zip(are_arrays)
            .all(|(frame, is_array)| is_array || frame.kind() == ObjectKind::SChunk);
        let changes = FieldChange::all(&a.frame, &b.frame, &[&FIELDS, sizes].concat());
        let changes = changes.map_err(|error| location.failure(error))?;
        let room = match (self.meta, self.json) {
            (true, _) => Room::ALL,
            (false, true) => Room::SHORT,
            (false, false) => Room::LINE,
        };
        let mut differences: Vec<_> = changes.into_iter().filter_map(Difference::of_fields).collect();
        differences.extend(differences_of_layers(&a, &b, room));
        if self.data {
            let [a_location, b_location] = locations;
            let a = Items::new(a.frame).map_err(|problem| a_location.failure(problem))?;
            let b = Items::new(b.frame).map_err(|problem| b_location.failure(problem))?;
            let compared = compare_items([a, b], self.tolerance.unwrap_or_default());
            let (difference, why) = compared.map_err(|unread| match unread {
                Unread::A(problem) => a_location.failure(problem),
                Unread::B(problem) => b_location.failure(problem),
            })?;
            differences.extend(difference);
            *note = why;
        } else if have_items {
            *note = Some("the items were not compared; use --data");
        }
        Ok(differences)
    }
}

/// Parses a tolerance.
fn tolerance(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| *number >= 0.0);
    number.ok_or_else(|| "must be a number that is not negative, such as 1e-6".into())
}

/// An error while the items of the first array (`A`) or of the second array (`B`) are read.
enum Unread {
    A(Problem),
    B(Problem),
}

impl From<Problem> for Unread {
    fn from(problem: Problem) -> Self {
        Self::A(problem)
    }
}

/// The difference of the items, or the reason why they were not compared. Both are `None` if the items are equal.
fn compare_items(
    [mut a, mut b]: [Items; 2],
    tolerance: f64,
) -> Result<(Option<Difference>, Option<&'static str>), Unread> {
    if a.shape != b.shape {
        return Ok((None, Some("the items were not compared: the shapes differ")));
    }
    let [a_dtype, b_dtype] = [&a, &b].map(|items| Item::from_items(items).dtype);
    let Some(comparison) = Comparison::new([&a_dtype, &b_dtype], tolerance) else {
        return Ok((
            None,
            Some("the items were not compared: the dtypes differ in more than width or byte order"),
        ));
    };
    let (nitems, ones) = (a.shape.iter().copied().fold(1, u64::saturating_mul), vec![1; a.shape.len()]);
    let parts = parts_to_compare([&a, &b], a_dtype == b_dtype)?;
    let mut progress = Progress::of_bytes(nitems.saturating_mul(a.typesize as u64));
    let (mut done, mut different, mut first) = (0_u64, 0_u64, None);
    for (ranges, times) in parts.finish() {
        a.read_pieces(&ranges, &ones, &mut |ranges, a| {
            let b = b.read_reusing(ranges, &ones).map_err(Unread::B)?;
            let (count, number) = comparison.count(a, b);
            different = different.saturating_add(count.saturating_mul(times));
            let index = number.map(|number| (number, index_in(ranges, number as u64)));
            // The parts are not in the order of the items, so a later part can contain an earlier item.
            let is_first = |index: &Vec<u64>| first.as_ref().is_none_or(|(first, _)| index < first);
            if let Some((number, index)) = index.filter(|(_, index)| is_first(index)) {
                let shown = [(&a_dtype, a), (&b_dtype, b)].map(|(dtype, items)| {
                    let item = items.chunks_exact(dtype.item_size().max(1)).nth(number);
                    let value = Value::read(dtype, item.unwrap_or_default());
                    (to_raw_value(&value).ok(), clean(&value.scalar()))
                });
                first = Some((index, shown));
            }
            done = done.saturating_add(times.saturating_mul(a.len() as u64));
            progress.show(done);
            Ok::<_, Unread>(())
        })?;
    }
    let difference = first.map(|(index, [(a, a_text), (b, b_text)])| {
        let place: Vec<_> = index.iter().map(ToString::to_string).collect();
        let place = if place.is_empty() { String::new() } else { format!(", first {}", place.join(",")) };
        let field = format!("data: {different} of {}{place}", count(nitems, "item"));
        let texts = [field, a_text, b_text];
        Difference { field: "data", name: None, a, b, index: Some(index), different: Some(different), texts }
    });
    Ok((difference, None))
}

/// The parts of two arrays to compare. If both arrays have the same chunk shape, chunks that are certainly equal are
/// skipped. Pairs of constant chunks are grouped by their two values, and only one item of each group is compared.
fn parts_to_compare([a, b]: [&Items; 2], has_same_dtype: bool) -> Result<PartsToRead<[Constant; 2]>, Unread> {
    let mut parts = PartsToRead::new(a);
    let geometries = a.geometry().zip(b.geometry()).filter(|(a, b)| a.chunkshape() == b.chunkshape());
    let Some((a_geometry, b_geometry)) = geometries else { return Ok(parts) };
    let has_same_dtype = has_same_dtype && a.typesize == b.typesize;
    // Equal stored bytes mean equal items only if the dtypes and the block shapes are equal. The other settings, such
    // as the filters, are stored in these bytes.
    let has_same_layout = has_same_dtype && a_geometry.blockshape() == b_geometry.blockshape();
    let (mut a_chunks, mut b_chunks) = (a.known_chunks()?, b.known_chunks().map_err(Unread::B)?);
    while let Some((a, a_constant)) = a_chunks.next()? {
        let Some((b, b_constant)) = b_chunks.next().map_err(Unread::B)? else { break };
        match (a_constant, b_constant) {
            (Some(a), Some(b)) if has_same_dtype && a == b => parts.skip(),
            (Some(a_value), Some(b_value)) => parts.add(a.number, Some([a_value, b_value])),
            (None, None) if has_same_layout => {
                let headers = a_chunks.header(&a)?.zip(b_chunks.header(&b).map_err(Unread::B)?);
                let is_same = headers.is_some_and(|(a, b)| a == b)
                    && a_chunks.stored(&a)? == b_chunks.stored(&b).map_err(Unread::B)?;
                if is_same { parts.skip() } else { parts.add(a.number, None) }
            }
            _ => parts.add(a.number, None),
        }
    }
    Ok(parts)
}

impl Compared {
    fn open(address: &Address) -> Result<Self, Failure> {
        let location = address.location();
        let frame = address.open().map_err(|mut problem| {
            if address.is_folder() {
                problem.hint = Some("; `b2nd diff --help` shows how to compare the files of two folders");
            }
            location.failure(problem)
        })?;
        // The array is parsed here only to report an error with the address of this frame. `differences` would report
        // the error with the address of the first frame.
        frame.array().map(drop).map_err(|error| location.failure(error))?;
        let trailer = frame.trailer().map_err(|error| location.failure(error))?;
        Ok(Self { frame, trailer })
    }

    /// The metalayers of the frame, without the metalayer that describes the array, and then all vlmetalayers.
    fn layers(&self) -> impl Iterator<Item = Layer<'_>> {
        let array = self.frame.array().ok().flatten();
        let own = array.as_ref().map(|array| array.metalayer().offset());
        let layers = self.frame.metalayers().iter().filter(move |layer| own != Some(layer.offset()));
        let layers = layers.map(|layer| Layer {
            field: "meta",
            name: layer.name(),
            bytes: layer.bytes(),
            in_trailer: None,
        });
        layers.chain(self.trailer.vlmetalayers().iter().map(|layer| Layer {
            field: "vlmeta",
            name: layer.name(),
            bytes: layer.chunk(),
            in_trailer: Some(layer),
        }))
    }
}

/// The differences of the metalayers and vlmetalayers. They are compared one after the other, so that only two of their
/// values are in memory at a time.
fn differences_of_layers(a: &Compared, b: &Compared, mut room: Room) -> Vec<Difference> {
    let mut others: BTreeMap<_, _> = b.layers().map(|layer| ((layer.field, layer.name), layer)).collect();
    let mut differences = Vec::new();
    let mut compare = |a, b| differences.extend(Difference::of_layers(a, b, &mut room));
    for layer in a.layers() {
        compare(Some(layer), others.remove(&(layer.field, layer.name)));
    }
    // The remaining metalayers are only in the second frame. They are shown in the order of that frame.
    for layer in b.layers() {
        if let Some(layer) = others.remove(&(layer.field, layer.name)) {
            compare(None, Some(layer));
        }
    }
    differences
}

/// A line for each difference. At a terminal, long values are cut, so that each line fits the width of the terminal.
fn table([a, b]: [String; 2], differences: &[Difference]) -> String {
    let mut headings = [String::new(), a, b];
    let mut rows: Vec<_> = differences.iter().map(|difference| difference.texts.clone()).collect();
    if let Some(width) = width(&io::stdout()) {
        // The first column names what differs, such as a field or a metalayer. It gets the width of its longest text,
        // but at most half of the terminal. The two columns of values share the remaining width. The number 4 is the
        // width of the two gaps between the columns.
        let longest = rows.iter().map(|[what, ..]| what.chars().count()).max().unwrap_or_default();
        let first = longest.min(width / 2);
        let value = width.saturating_sub(4 + first) / 2;
        for [what, a, b] in iter::once(&mut headings).chain(&mut rows) {
            *what = shortened(what, first);
            for cell in [a, b] {
                *cell = shortened(cell, value);
            }
        }
    }
    Columns::new([(Side::Left, WIDEST); 3]).table(&headings, &rows)
}

impl Difference {
    /// The difference of a field. `None` if the version or the dtype format is absent in one frame and 0 in the other.
    /// Not every layout stores these two entries, and an absent entry means 0.
    fn of_fields(change: FieldChange) -> Option<Self> {
        let [a_text, b_text] = change.texts();
        let FieldChange { field, values: [a, b] } = change;
        let is_zero = |value: &value::Value| value.as_u64().unwrap_or_default() == 0;
        if ["version", "dtype_format"].contains(&field) && is_zero(&a) && is_zero(&b) {
            return None;
        }
        let [a, b] = [a, b].map(|value| to_raw_value(&value).ok());
        Some(Self {
            field,
            name: None,
            a,
            b,
            index: None,
            different: None,
            texts: [field.into(), a_text, b_text],
        })
    }

    /// The difference of a metalayer that at least one frame has. `None` if both frames have the metalayer with the
    /// same value.
    fn of_layers(a: Option<Layer<'_>>, b: Option<Layer<'_>>, room: &mut Room) -> Option<Self> {
        let Layer { field, name, .. } = a.or(b)?;
        // Equal bytes have equal values, so no value is decompressed.
        if a.zip(b).is_some_and(|(a, b)| a.bytes == b.bytes) {
            return None;
        }
        let [a, b] = [a, b].map(|layer| layer.map(Layer::value));
        // Different bytes can have the same value, for example if they were compressed in different ways.
        if a.as_ref().map(|value| value.get()) == b.as_ref().map(|value| value.get()) {
            return None;
        }
        let [(a, a_text), (b, b_text)] = [a, b].map(|value| shown(value, room));
        let texts = [format!("{field} {}", clean(name)), a_text, b_text];
        Some(Self { field, name: Some(name.into()), a, b, index: None, different: None, texts })
    }
}

/// A value as JSON and as text. If the value does not fit in the remaining room, the JSON is only its digest, and the
/// text is the start of the value and its digest.
fn shown(value: Option<Box<RawValue>>, room: &mut Room) -> (Option<Box<RawValue>>, String) {
    let Some(value) = value else { return (None, ABSENT.into()) };
    if room.take(0, value.get()).is_ok() {
        let text = clean(value.get());
        return (Some(value), text);
    }
    let digest = digest(value.get().as_bytes());
    let start: String = value.get().chars().take(Room::LINE_LEN).collect();
    (to_raw_value(&digest).ok(), format!("{}… ({digest})", clean(&start)))
}

impl Layer<'_> {
    /// The value as JSON. If the value is unreadable or too long, a digest of its bytes.
    fn value(self) -> Box<RawValue> {
        let longest = messagepack::LONGEST;
        let value = match self.in_trailer {
            None => messagepack::value(self.bytes, longest).ok(),
            Some(layer) if layer.nbytes().is_some_and(|nbytes| nbytes > longest) => None,
            Some(layer) => layer.value().ok().and_then(|value| messagepack::value(&value, longest).ok()),
        };
        value.or_else(|| to_raw_value(&digest(self.bytes)).ok()).unwrap_or_default()
    }
}

/// A text with the number of bytes and their hash.
fn digest(bytes: &[u8]) -> String {
    format!("{} bytes, hash {:016x}", bytes.len(), hash(bytes))
}

/// The hash of some bytes. Equal bytes have the same hash, and different bytes nearly always have different hashes.
// The algorithm may change with the Rust version: hashes are comparable only within one output.
fn hash(bytes: &[u8]) -> u64 {
    use std::hash::Hasher;
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}
