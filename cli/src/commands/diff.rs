//! `b2nd diff`: the differences of two frames, except in their data.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use b2nd_frame::{Frame, Trailer, Vlmetalayer};
use clap::Args;
use serde::Serialize;
use serde_json::value::{RawValue, Value, to_raw_value};

use crate::input::{Address, Failure, Reader, given_all};
use crate::output::json::{print, print_failure};
use crate::output::messagepack;
use crate::output::record::{FieldChange, Room};
use crate::output::table::{Columns, Side};
use crate::terminal::{Outcome, width};
use crate::text::{ABSENT, clean, shortened};

/// Show how two frames differ: shape, chunks, blocks, dtype, compression, metalayers; not data
///
/// One line per difference. Neither the data nor the length of the frames is compared: two frames without differences
/// can still hold different items. Metalayers are compared by their values.
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd diff a.b2nd b.b2nd
  b2nd diff --json a.b2nd b.b2nd | jq -r '.differences[].field'

Exit status:
  0  no difference
  1  some differences
  2  trouble: a file cannot be read, or wrong usage")]
pub(crate) struct Diff {
    /// Frame: FILE, sparse frame (directory), `FILE:MEMBER`, `FILE@OFFSET`, URL, or - (standard input)
    a: PathBuf,
    /// Frame to compare it with
    b: PathBuf,
    /// Show the full values of metalayers; without it, the start of each, or in JSON a hash of values longer than 64
    /// KiB
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

/// The compared fields of a record. All others follow from these, or depend on where the frame is stored.
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

/// The sizes of a frame without an array, in which no shape implies them.
const SIZES: [&str; 2] = ["nchunks", "stored_nbytes"];

/// A metalayer, or the chunk of a vlmetalayer.
#[derive(Clone, Copy)]
struct Layer<'c> {
    field: &'static str,
    name: &'c str,
    bytes: &'c [u8],
    in_trailer: Option<&'c Vlmetalayer>,
}

/// The output of `--json`. Scripts rely on these names.
#[derive(Serialize)]
struct DiffRecord<'d> {
    a: &'d str,
    b: &'d str,
    differences: &'d [Difference],
}

/// A value that differs. If a frame lacks the metalayer, its value is absent.
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
    #[serde(skip)]
    texts: [String; 3],
}

/// Cells wider than this do not widen their column.
const WIDEST: usize = 100;

/// The exit status of trouble, as in `cmp`.
const TROUBLE: u8 = 2;

impl Diff {
    pub(crate) fn run(self) -> Outcome {
        let [a, b] = given_all([&self.a, &self.b]);
        let names = [&a, &b].map(|address| address.location().to_string());
        let differences = match self.differences(&a, &b) {
            Ok(differences) => differences,
            Err(failure) => {
                print_failure(&failure, self.json)?;
                return Ok(TROUBLE.into());
            }
        };
        if self.json {
            let [a, b] = &names;
            print(&DiffRecord { a, b, differences: &differences })?;
        } else if !differences.is_empty() {
            anstream::stdout().write_all(table(names, &differences).as_bytes())?;
        }
        Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn differences(&self, a: &Address, b: &Address) -> Result<Vec<Difference>, Failure> {
        let location = a.location();
        let (a, b) = (Compared::open(a)?, Compared::open(b)?);
        let has_array = |frame: &Frame<Reader>| frame.array().is_ok_and(|array| array.is_some());
        let sizes = if has_array(&a.frame) || has_array(&b.frame) { &[][..] } else { &SIZES };
        let changes = FieldChange::all(&a.frame, &b.frame, &[&FIELDS, sizes].concat());
        let changes = changes.map_err(|error| location.failure(error))?;
        let room = match (self.meta, self.json) {
            (true, _) => Room::ALL,
            (false, true) => Room::SHORT,
            (false, false) => Room::LINE,
        };
        let mut differences: Vec<_> = changes.into_iter().filter_map(Difference::of_fields).collect();
        differences.extend(differences_of_layers(&a, &b, room));
        Ok(differences)
    }
}

impl Compared {
    fn open(address: &Address) -> Result<Self, Failure> {
        let location = address.location();
        let mut frame = address.open().map_err(|problem| location.failure(problem))?;
        // An error here is told with this frame's address.
        frame.array().map(drop).map_err(|error| location.failure(error))?;
        let trailer = frame.trailer().map_err(|error| location.failure(error))?;
        Ok(Self { frame, trailer })
    }

    /// All metalayers except the array's own, and the vlmetalayers.
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

/// The metalayers that differ. Only two values are in memory at a time.
fn differences_of_layers(a: &Compared, b: &Compared, mut room: Room) -> Vec<Difference> {
    let mut others: BTreeMap<_, _> = b.layers().map(|layer| ((layer.field, layer.name), layer)).collect();
    let mut differences = Vec::new();
    let mut compare = |a, b| differences.extend(Difference::of_layers(a, b, &mut room));
    for layer in a.layers() {
        compare(Some(layer), others.remove(&(layer.field, layer.name)));
    }
    // Then the metalayers of the second frame only, in its order.
    for layer in b.layers() {
        if let Some(layer) = others.remove(&(layer.field, layer.name)) {
            compare(None, Some(layer));
        }
    }
    differences
}

/// A line for each difference. At a terminal, long values are cut.
fn table([a, b]: [String; 2], differences: &[Difference]) -> String {
    let mut headings = [String::new(), a, b];
    let mut rows: Vec<_> = differences.iter().map(|difference| difference.texts.clone()).collect();
    if let Some(width) = width(&io::stdout()) {
        // Three columns, and two gaps of two spaces.
        let widest = width.saturating_sub(4) / 3;
        for cell in headings.iter_mut().chain(rows.iter_mut().flatten()) {
            *cell = shortened(cell, widest);
        }
    }
    Columns::new([(Side::Left, WIDEST); 3]).table(&headings, &rows)
}

impl Difference {
    /// `None` for a version of 0 that only one layout stores.
    fn of_fields(change: FieldChange) -> Option<Self> {
        let [a_text, b_text] = change.texts();
        let FieldChange { field, values: [a, b] } = change;
        let is_zero = |value: &Value| value.as_u64().unwrap_or_default() == 0;
        if ["version", "dtype_format"].contains(&field) && is_zero(&a) && is_zero(&b) {
            return None;
        }
        let [a, b] = [a, b].map(|value| to_raw_value(&value).ok());
        Some(Self { field, name: None, a, b, texts: [field.into(), a_text, b_text] })
    }

    /// `None` if the metalayers are equal. At least one frame has the metalayer.
    fn of_layers(a: Option<Layer<'_>>, b: Option<Layer<'_>>, room: &mut Room) -> Option<Self> {
        let Layer { field, name, .. } = a.or(b)?;
        // Equal bytes need not be decompressed.
        if a.zip(b).is_some_and(|(a, b)| a.bytes == b.bytes) {
            return None;
        }
        let [a, b] = [a, b].map(|layer| layer.map(Layer::value));
        // Different bytes can have the same value, for example with another compression.
        if a.as_ref().map(|value| value.get()) == b.as_ref().map(|value| value.get()) {
            return None;
        }
        let [(a, a_text), (b, b_text)] = [a, b].map(|value| shown(value, room));
        let texts = [format!("{field} {}", clean(name)), a_text, b_text];
        Some(Self { field, name: Some(name.into()), a, b, texts })
    }
}

/// A value as JSON and as text, both within the remaining room.
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
    /// A value that is unreadable or too long is compared by its bytes.
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

/// The number of bytes and their hash.
fn digest(bytes: &[u8]) -> String {
    format!("{} bytes, hash {:016x}", bytes.len(), hash(bytes))
}

/// A hash: equal for equal bytes, and nearly always different for others.
// The algorithm may change with the Rust version: hashes are comparable only within one output.
fn hash(bytes: &[u8]) -> u64 {
    use std::hash::Hasher;
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}
