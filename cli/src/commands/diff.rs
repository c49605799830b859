//! `b2nd diff`: what two frames do not have in common, but for their data.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, Write};
use std::iter;
use std::path::PathBuf;
use std::process::ExitCode;

use b2nd_frame::{Array, Error, Frame, Header, Trailer, Vlmetalayer};
use clap::Args;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use unicode_width::UnicodeWidthStr;

use crate::input::{Address, Failure, Reader, given_all};
use crate::output::json::{print, print_failure};
use crate::output::messagepack;
use crate::output::record::Record;
use crate::output::table::{Columns, Side};
use crate::terminal::{Outcome, width};
use crate::text::{self, ABSENT, Tuple, clean, codec, shortened};

/// Show how two frames differ: shape, chunks, blocks, dtype, compression, metalayers; not data
///
/// One line per difference. The data is not compared, and neither is how long the frames are: two frames without a
/// difference can hold other items. Metalayers are compared by their values.
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
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// A value as it is shown, which is compared, and as JSON.
#[derive(Clone)]
struct Value {
    text: String,
    json: String,
    /// Whether the values that are shown before it imply it.
    is_implied: bool,
}

/// The values of a frame by their names, in the order in which they are shown.
type Values = Vec<(&'static str, Option<String>, Value)>;

/// What `--json` prints. Scripts rely on these names.
#[derive(Serialize)]
struct DiffRecord<'d> {
    a: &'d str,
    b: &'d str,
    differences: &'d [Difference],
}

/// A value that differs. A metalayer that one of the two lacks has no value there.
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

/// The exit status of trouble, as that of `cmp`.
const TROUBLE: u8 = 2;

impl Diff {
    pub(crate) fn run(self) -> Outcome {
        let [a, b] = given_all([&self.a, &self.b])
            .map(|address| Ok::<_, Failure>((values(&address)?, address.location().to_string())));
        let compared = a.and_then(|(a, name)| b.map(|(b, other)| (differences(a, b), [name, other])));
        let (differences, names) = match compared {
            Ok(compared) => compared,
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
}

/// A line for each difference. At a terminal, long values are cut.
fn table([a, b]: [String; 2], differences: &[Difference]) -> String {
    let mut headings = [String::new(), a, b];
    let mut rows: Vec<_> = differences.iter().map(|difference| difference.texts.clone()).collect();
    if let Some(width) = width(&io::stdout()) {
        let mut longest = [0; 3];
        for cells in iter::once(&headings).chain(&rows) {
            longest.iter_mut().zip(cells).for_each(|(longest, cell)| *longest = cell.width().max(*longest));
        }
        let [name, first, second] = longest;
        let room = width.saturating_sub(4);
        let name = name.min(room / 3);
        // What one of the two does not need, the other gets.
        let half = (room - name) / 2;
        let first = first.min(half.max((room - name).saturating_sub(second)));
        for cells in iter::once(&mut headings).chain(&mut rows) {
            for (cell, widest) in cells.iter_mut().zip([name, first, room - name - first]) {
                *cell = shortened(cell, widest);
            }
        }
    }
    Columns::new([(Side::Left, usize::MAX); 3]).table(&headings, &rows)
}

/// The values that are not the same in both.
fn differences(a: Values, b: Values) -> Vec<Difference> {
    let mut others: BTreeMap<_, _> =
        b.iter().map(|(field, name, shown)| ((*field, name.clone()), shown.clone())).collect();
    let mut pairs = Vec::new();
    for (field, name, shown) in a {
        let other = others.remove(&(field, name.clone()));
        pairs.push((field, name, Some(shown), other));
    }
    // What only the second one has, in its order, after its like in the first one.
    for (field, name, _) in b {
        if let Some(shown) = others.remove(&(field, name.clone())) {
            pairs.push((field, name, None, Some(shown)));
        }
    }
    let text = |shown: &Option<Value>| shown.as_ref().map(|shown| shown.text.clone());
    let is_implied = |shown: &Option<Value>| shown.as_ref().is_some_and(|shown| shown.is_implied);
    pairs.retain(|(.., a, b)| text(a) != text(b) && !(is_implied(a) && is_implied(b)));
    pairs.into_iter().map(|(field, name, a, b)| Difference::new(field, name, a, b)).collect()
}

impl Difference {
    fn new(field: &'static str, name: Option<String>, a: Option<Value>, b: Option<Value>) -> Self {
        let label = name.as_ref().map_or(field.into(), |name| format!("{field} {}", clean(name)));
        let text = |shown: &Option<Value>| shown.as_ref().map_or(ABSENT.into(), |shown| clean(&shown.text));
        let texts = [label, text(&a), text(&b)];
        let raw = |shown: Option<Value>| shown.and_then(|shown| RawValue::from_string(shown.json).ok());
        Self { field, name, a: raw(a), b: raw(b), texts }
    }
}

/// What is compared of a frame.
fn values(address: &Address) -> Result<Values, Failure> {
    let location = address.location();
    let failed = |error: Error| location.failure(error);
    let mut frame = address.open().map_err(|problem| location.failure(problem))?;
    let trailer = frame.trailer().map_err(failed)?;
    read(&frame, &trailer).map_err(failed)
}

fn read(frame: &Frame<Reader>, trailer: &Trailer) -> Result<Values, Error> {
    let header = frame.header();
    let array = frame.array()?;
    let array = array.as_ref();
    let record = Record::to_compare(frame, array);
    let plain = |value: Option<&str>| Value::new(value.unwrap_or(ABSENT).into(), &value);
    let mut values: Values = Vec::new();
    let mut add = |field, shown| values.push((field, None, shown));
    add("kind", plain(Some(record.kind.name())));
    add("container", plain(Some(record.container)));
    add("layout", plain(record.layout));
    add("metalayer", plain(record.metalayer).implied(record.metalayer == record.layout));
    add("shape", tuple(record.shape));
    add("chunks", tuple(record.chunks));
    add("blocks", tuple(record.blocks));
    let dtype = array.and_then(text::dtype);
    add("dtype", Value { text: dtype.unwrap_or_else(|| ABSENT.into()), ..plain(record.dtype) });
    // An old layout has neither, which is as if both were 0.
    for (field, number) in [("version", record.version), ("dtype_format", record.dtype_format)] {
        add(field, Value::optional(number.as_ref()).implied(number.unwrap_or_default() == 0));
    }
    add("typesize", Value::new(header.typesize.to_string(), &header.typesize));
    let [chunksize, blocksize, nbytes] = array.and_then(|array| sizes(header, array)).unwrap_or_default();
    for (field, size, implied) in [
        ("chunksize", Some(header.chunksize.into()), chunksize),
        ("blocksize", header.blocksize.map(i64::from), blocksize),
        ("nbytes", Some(header.nbytes), nbytes),
    ] {
        let is_implied = implied.is_some() && size.map(i128::from) == implied;
        add(field, Value::optional(size.as_ref()).implied(is_implied));
    }
    add("codec", plain(Some(&codec(header.codec, header.codec_meta))));
    add("level", Value::new(header.level.to_string(), &header.level));
    add("split", plain(Some(&header.split_mode.to_string())));
    let dictionary = if header.uses_dictionary { "yes" } else { "no" };
    add("dictionary", Value::new(dictionary.into(), &header.uses_dictionary));
    let filters = text::filters(header);
    add("filters", Value::new(text::list(&filters), &filters));
    let own = array.map(Array::metalayer);
    for layer in
        frame.metalayers().iter().filter(|layer| own.is_none_or(|own| own.offset() != layer.offset()))
    {
        values.push(("meta", Some(layer.name().into()), Value::meta(Ok(layer.bytes()), layer.bytes())));
    }
    for layer in trailer.vlmetalayers() {
        values.push(("vlmeta", Some(layer.name().into()), vlmeta(layer)));
    }
    Ok(values)
}

/// The bytes of a chunk, of a block, and of all chunks, by the shapes of an array.
fn sizes(header: &Header, array: &Array<'_>) -> Option<[Option<i128>; 3]> {
    let geometry = array.geometry().ok()?;
    let bytes = |nitems: u64| i128::from(nitems) * i128::from(header.typesize);
    let chunk = bytes(geometry.padded_chunk_nitems());
    let all = chunk.saturating_mul(geometry.nchunks().into());
    Some([chunk, bytes(geometry.block_nitems()), all].map(Some))
}

fn tuple<T: Serialize + Display>(numbers: Option<&[T]>) -> Value {
    Value::new(numbers.map_or(ABSENT.into(), |numbers| Tuple(numbers).to_string()), &numbers)
}

fn vlmeta(layer: &Vlmetalayer) -> Value {
    let too_long = layer.nbytes().is_some_and(|nbytes| nbytes > messagepack::LONGEST);
    let value = if too_long { None } else { layer.value().ok() };
    Value::meta(value.as_deref().ok_or(()), layer.chunk())
}

impl Value {
    fn new(text: String, json: &impl Serialize) -> Self {
        let json = to_raw_value(json).map_or_else(|_| "null".into(), |json| json.get().into());
        Self { text, json, is_implied: false }
    }

    fn optional<T: Serialize + Display>(value: Option<&T>) -> Self {
        Self::new(value.map_or(ABSENT.into(), ToString::to_string), &value)
    }

    fn implied(self, is_implied: bool) -> Self {
        Self { is_implied, ..self }
    }

    /// The value of a metalayer. What cannot be read or is too long is told apart by its bytes.
    fn meta(value: Result<&[u8], ()>, bytes: &[u8]) -> Self {
        let shown = value.and_then(|value| messagepack::value(value).map_err(drop));
        let text = match &shown {
            Ok(value) => value.get().into(),
            Err(()) => format!("{} bytes, of sum {:016x}", bytes.len(), sum(bytes)),
        };
        match shown {
            Ok(_) => Self { json: text.clone(), text, is_implied: false },
            Err(()) => Self::new(text.clone(), &text),
        }
    }
}

/// A number that is the same for the same bytes, and nearly always another one for others.
fn sum(bytes: &[u8]) -> u64 {
    use std::hash::Hasher;
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}
