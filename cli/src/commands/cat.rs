//! `b2nd cat`: the items of an array.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueHint};
use serde::Serialize;

use super::array_items::{Trouble, open_items, show};
use crate::code;
use crate::input::{Address, FRAME, Items, Selected, Selection, Target, given_all};
use crate::output::items::{
    CsvWriter, EDGE_LEN, Edges, Item, ValueWriter, npy_header, why_too_many_lists, write_array,
};
use crate::output::json::begin;
use crate::output::store::deleted_rows;
use crate::problem::Problem;
use crate::terminal::{Outcome, complain, remark};

/// Print the items of an array
///
/// Items are printed in the layout of NumPy. If they have more than 1000 values, only the edges are read and shown. If
/// a single item has more than 1000 values, only the ends of its lists are shown. For a slice, only the blocks that it
/// touches are read, unless a chunk has a dictionary or the delta filter. A super-chunk without a shape is an array of
/// one dimension.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "one field per option")]
#[command(after_help = "Examples:
  b2nd cat array.b2nd
  b2nd cat --slice 0:10,-1 array.b2nd
  b2nd cat --npy --slice 0,:,: s3://bucket/array.b2nd | python3 plot.py
  b2nd cat --json array.b2nd | jq '.values[0]'
  # jq 1.6 rounds integers beyond 2^53; DuckDB reads NaN and infinities as such:
  b2nd cat --json array.b2nd | duckdb -csv -c \"select unnest(values::double[])
    from read_json('/dev/stdin')\"
  b2nd cat --csv --slice 0,:,: array.b2nd > first.csv")]
pub(crate) struct Cat {
    #[arg(help = FRAME)]
    file: PathBuf,
    /// Part of the array, as in NumPy: ranges and indices such as `0:2,-1,::2`
    #[arg(long, value_name = "SLICE", allow_hyphen_values = true, value_hint = ValueHint::Other)]
    slice: Option<Selection>,
    /// Print all items, if they take at most 64 MiB, or 1024 times the size of the frame if that is more
    #[arg(long, conflicts_with_all = ["npy", "json"])]
    full: bool,
    /// Write a NumPy file to standard output, which must not be a terminal
    #[arg(long)]
    npy: bool,
    /// Print a JSON object with all items
    ///
    /// Numbers are not rounded: the float32 nearest to 0.1 is 0.10000000149011612, as in NumPy's `tolist`. NaN and
    /// infinities are the strings "NaN", "Infinity" and "-Infinity", and `NaT` is null. Items of dtype S are printed as
    /// text. In it, \xNN stands for a byte that is not UTF-8. In a text with such a byte, or with the characters \x, a
    /// backslash is \\
    #[arg(long, conflicts_with = "npy")]
    json: bool,
    /// Print all items as comma-separated values: a line for each item if there is 1 dimension, for each row if there
    /// are 2
    ///
    /// Values are as with --json, except that `NaT` is an empty cell. A complex number has two columns. If the items
    /// are structs, the first line has the names of the fields.
    #[arg(long, conflicts_with_all = ["npy", "json", "full"])]
    csv: bool,
}

impl Cat {
    pub(crate) fn run(self) -> Outcome {
        if self.npy && io::stdout().is_terminal() {
            complain(&"--npy writes bytes, which a terminal cannot show; `b2nd convert` writes a file");
            return Ok(ExitCode::from(2));
        }
        let [address] = given_all([&self.file]);
        show(&address, self.json, || self.show(&address))
    }

    fn show(&self, address: &Address) -> Result<(), Trouble> {
        let mut items = open_items(address)?;
        let mut item = Item::from_items(&items);
        let selection = self.slice.clone().unwrap_or_default();
        let selected = selection.apply(&items.shape).map_err(|why| Problem::new(code::INVALID_INPUT, why))?;
        items.check(&selected)?;
        let shape: Result<Vec<usize>, _> = selected.shape().map(usize::try_from).collect();
        let mut shape =
            shape.map_err(|_| Problem::new(code::TOO_LARGE, "the shape is too large for this machine"))?;
        if self.npy {
            item = item.for_npy(&mut shape);
        } else if self.json || self.csv {
            // As in NumPy, the dimensions of a subarray dtype are added to the dimensions of the array.
            item.unfold(&mut shape);
        }
        if !self.npy
            && let Some(why) = item.why_too_long()
        {
            return Err(Problem::new(code::TOO_LARGE, why).into());
        }
        if let Some(&length) = items.shape.first()
            && let Some(note) = deleted_rows(&Target::given(address.clone()), length)
        {
            remark(&format_args!("{}: {note}", address.location()));
        }
        if let Some(note) = &item.note {
            remark(&format_args!("{}: {note}", address.location()));
        }
        if !self.npy && !self.json && !self.csv {
            return self.print(item, shape, &mut items, &selected);
        }
        let printing =
            Printing { address, item: &item, shape: &shape, items: &mut items, selected: &selected };
        if self.npy {
            printing.npy()
        } else if self.json {
            printing.json()
        } else {
            printing.csv()
        }
    }

    /// Prints all items. If there are too many and `--full` is not given, prints only the items at the edges.
    fn print(
        &self,
        mut item: Item,
        mut shape: Vec<usize>,
        items: &mut Items,
        selected: &Selected,
    ) -> Result<(), Trouble> {
        let count = selected.shape().fold(1, u64::saturating_mul);
        let edges = Edges::new(shape.clone(), count, &item.dtype);
        // If only the edges are printed, an item of a subarray dtype is printed as a list. If the whole array is
        // printed, the dimensions of the dtype become dimensions of the array, as in NumPy.
        let (edges, bytes) = if edges.is_summary && !self.full {
            (edges, items.read_edges(selected, EDGE_LEN)?)
        } else {
            item.unfold(&mut shape);
            (Edges::whole(shape), items.read_all(selected)?)
        };
        let mut stdout = BufWriter::new(io::stdout().lock());
        write_array(&mut stdout, &item.dtype, &edges, &bytes)?;
        Ok(stdout.flush()?)
    }
}

/// The fields of the JSON object that are printed before the items.
#[derive(Serialize)]
struct Description<'d> {
    #[serde(flatten)]
    address: &'d Address,
    shape: &'d [usize],
    dtype: String,
}

/// The items to print, with their description.
struct Printing<'p> {
    address: &'p Address,
    item: &'p Item,
    shape: &'p [usize],
    items: &'p mut Items,
    selected: &'p Selected,
}

impl Printing<'_> {
    /// Passes all items to `write`, in pieces. `begin` is called once, just before the first piece is written. So if
    /// the first piece cannot be read, nothing is printed. If a later piece cannot be read, the error is a
    /// [`Trouble::Failure`].
    fn pieces<W>(
        self,
        out: &mut W,
        begin: impl Fn(&mut W) -> io::Result<()>,
        write: impl Fn(&mut W, &[u8]) -> io::Result<()>,
    ) -> Result<(), Trouble> {
        let Self { address, items, selected, .. } = self;
        let mut is_begun = false;
        let read = items.read_pieces(&selected.ranges, &selected.steps, &mut |_, bytes| {
            if !is_begun {
                is_begun = true;
                begin(out)?;
            }
            Ok::<_, Trouble>(write(out, bytes)?)
        });
        // An array without items has no pieces, so `begin` was not called above.
        let printed = read.and_then(|()| if is_begun { Ok(()) } else { Ok(begin(out)?) });
        printed.map_err(|trouble| trouble.after_output(is_begun, address))
    }

    /// Prints a NumPy file.
    fn npy(self) -> Result<(), Trouble> {
        let header = npy_header(&self.item.dtype, self.shape);
        let mut stdout = io::stdout().lock();
        self.pieces(&mut stdout, |stdout| stdout.write_all(&header), Write::write_all)?;
        Ok(stdout.flush()?)
    }

    /// Prints comma-separated values.
    fn csv(self) -> Result<(), Trouble> {
        let stdout = io::stdout().lock();
        let is_terminal = stdout.is_terminal();
        let mut csv = CsvWriter::new(stdout, is_terminal, &self.item.dtype, self.shape)
            .map_err(|why| Problem::new(code::INVALID_INPUT, why))?;
        self.pieces(&mut csv, CsvWriter::begin, CsvWriter::write)?;
        Ok(csv.end()?)
    }

    /// Prints a JSON object. Each piece of the items is printed as soon as it is read, so that the memory does not grow
    /// with the number of items.
    fn json(self) -> Result<(), Trouble> {
        let Self { address, item, shape, .. } = self;
        if let Some(why) = why_too_many_lists(shape) {
            return Err(Problem::new(code::TOO_LARGE, why).into());
        }
        let description = Description { address, shape, dtype: item.dtype.to_string() };
        let start = [&begin(&description)[..], b",\"values\":"].concat();
        let mut stdout = BufWriter::new(io::stdout().lock());
        let mut values = ValueWriter::new(&mut stdout, &item.dtype, shape);
        let printed = self.pieces(&mut values, |values| values.begin(&start), ValueWriter::write);
        if let Err(trouble) = printed {
            if let Trouble::Failure(_) = trouble {
                // A line break ends the unfinished JSON object, so that the failure is printed on a line of its own.
                stdout.write_all(b"\n")?;
                stdout.flush()?;
            }
            return Err(trouble);
        }
        values.end()?.write_all(b"}\n")?;
        Ok(stdout.flush()?)
    }
}
