//! `b2nd view`: a picture of an array.

use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use b2nd_frame::write_new_file;
use b2nd_serde::dtype::Kind;
use clap::{Args, ValueHint};

use super::array_items::{Trouble, open_items, show};
use super::new_files::NewFiles;
use crate::code;
use crate::input::{Address, FRAME, Items, Selected, Selection, given_all};
use crate::names::has_extension;
use crate::output::change::{exists, of_either};
use crate::output::items::{Item, LevelRange};
use crate::output::picture::{Pixels, color_key, write_png};
use crate::problem::Problem;
use crate::terminal::{Outcome, buffered_stdout, is_colored, screen_size};
use crate::text::Tuple;

/// The maximum number of pixels of a PNG: 16384 by 16384.
const MAX_PIXELS: u64 = 1 << 28;

/// The largest slice, in bytes, that is kept in memory. A larger slice is read twice: first for the range of its
/// numbers, and then for the colors of its pixels.
const MAX_KEPT: u64 = 1 << 26;

/// The maximum height of a line chart in the terminal, in lines.
const LINE_HEIGHT: usize = 12;

/// If a picture is much longer in one dimension, the shorter dimension keeps at least about this number of pixels.
const LEAST_PIXELS: u64 = 8;

/// Show a slice as a picture in the terminal, or write a PNG
///
/// The smallest number is dark blue, the largest yellow; NaN has no color. Below the picture are the slice that it
/// shows, and the range of the numbers in this slice. A picture shows two dimensions, the last ones that are longer
/// than 1. It is taken from the middle of each other dimension, unless --slice chooses another place. Numbers along a
/// single dimension are shown as a line. A complex number counts by its magnitude.
///
/// In the terminal, every item is a pixel if there is room. Otherwise only every second, third … item is read and
/// shown, and the slice below the picture has this step. Without colors, pixels are characters from . to @.
#[derive(Args)]
#[command(after_help = "Examples:
  b2nd view array.b2nd
  b2nd view --slice 3,:,100:200 array.b2nd
  b2nd view s3://bucket/array.b2nd
  b2nd view -o slice.png array.b2nd
  b2nd view --color always array.b2nd | less -R")]
pub(crate) struct View {
    #[arg(help = FRAME)]
    file: PathBuf,
    /// Part of the array, as in NumPy: ranges and indices such as `0:2,-1,::2`
    #[arg(long, value_name = "SLICE", allow_hyphen_values = true, value_hint = ValueHint::Other)]
    slice: Option<Selection>,
    /// Write a PNG with a pixel for each item, at most 268435456 pixels; TO must be a new path
    #[arg(short, long, value_name = "TO", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,
}

impl View {
    pub(crate) fn run(self) -> Outcome {
        let [address] = given_all([&self.file]);
        let files = NewFiles::new(true, false, false);
        show(&address, false, || self.show(&address, &files))
    }

    fn show(&self, address: &Address, files: &NewFiles) -> Result<(), Trouble> {
        let items = open_items(address)?;
        let item = Item::from_items(&items);
        let range = LevelRange::new(item.dtype.clone()).ok_or_else(|| no_numbers(&item))?;
        let selection = self.slice.clone().unwrap_or_default();
        let selected = selection.apply(&items.shape).map_err(|why| Problem::new(code::INVALID_INPUT, why))?;
        let mut plane = Plane::new(items, selected, range)?;
        match &self.output {
            None => plane.draw(),
            Some(to) => {
                let written = plane.write(to, files);
                files.end();
                written.map_err(|problem| match of_either(address, to, problem) {
                    // A problem, unlike a failure, makes `show` read the changing frame again.
                    failure if failure.error.code == code::CHANGING => Trouble::Problem(failure.error),
                    failure => Trouble::Failure(failure),
                })?;
                let mut stdout = buffered_stdout();
                writeln!(stdout, "{}", plane.caption(is_colored()))?;
                Ok(stdout.flush()?)
            }
        }
    }
}

/// Refuses items that are not numbers.
fn no_numbers(item: &Item) -> Problem {
    let dtype = &item.dtype;
    let message =
        format!("items of dtype {dtype} are not numbers, so they have no colors; `b2nd cat` prints them");
    let hint = item.note.is_some().then_some("; `b2nd rewrite --dtype` gives the array another dtype");
    Problem { hint, ..Problem::new(code::UNSUPPORTED, message) }
}

/// A slice in which at most two dimensions are longer than 1, and the range of its numbers.
struct Plane {
    items: Items,
    selected: Selected,
    /// The dimensions of the array that the picture shows, at most two.
    axes: Vec<usize>,
    range: LevelRange,
}

impl Plane {
    /// The plane of the last two dimensions of a slice that are longer than 1. In each other dimension, the plane is at
    /// the middle of the slice.
    fn new(items: Items, mut selected: Selected, range: LevelRange) -> Result<Self, Problem> {
        let lengths: Vec<u64> = selected.lengths().collect();
        if lengths.contains(&0) {
            let message = format!("nothing to show: the slice has shape {}", Tuple(&lengths));
            return Err(Problem::new(code::INVALID_INPUT, message));
        }
        let long = lengths.iter().enumerate().filter(|&(_, &length)| length > 1).map(|(axis, _)| axis);
        let mut axes: Vec<usize> = long.collect();
        let others = axes.len().saturating_sub(2);
        for axis in axes.drain(..others) {
            if let (Some(range), Some(step), Some(length)) =
                (selected.ranges.get_mut(axis), selected.steps.get_mut(axis), lengths.get(axis))
            {
                let middle = range.start + length / 2 * *step;
                (*range, *step) = (middle..middle + 1, 1);
            }
        }
        items.check(&selected)?;
        Ok(Self { items, selected, axes, range })
    }

    /// The number of items along each dimension of the picture.
    fn lengths(&self) -> Vec<u64> {
        let lengths: Vec<u64> = self.selected.lengths().collect();
        self.axes.iter().filter_map(|&axis| lengths.get(axis).copied()).collect()
    }

    /// Makes the picture show only every `step`-th of its items along a dimension. `axis` is an index into `axes`.
    fn thin(&mut self, axis: usize, step: u64) {
        if let Some(steps) = self.axes.get(axis).and_then(|&axis| self.selected.steps.get_mut(axis)) {
            *steps = steps.saturating_mul(step);
        }
    }

    /// Draws the plane in the terminal.
    fn draw(&mut self) -> Result<(), Trouble> {
        let is_colored = is_colored();
        let [columns, lines] = screen_size();
        // Two lines of the screen are reserved for the caption and the prompt of the shell.
        let lines = lines.saturating_sub(2).max(1);
        // A cell of the terminal is twice as high as it is wide. With colors, it shows two square pixels, one above the
        // other. Without colors, a cell is a single pixel, so the rows are thinned twice as much as the columns.
        let (height, aspect) = if is_colored { (2 * lines, 1) } else { (lines, 2) };
        match self.lengths()[..] {
            [] => {}
            [length] => self.thin(0, length.div_ceil(columns as u64)),
            [rows, length, ..] => {
                let (height, columns) = (height as u64, columns as u64);
                let step = length.div_ceil(columns).max(rows.div_ceil(height * aspect));
                // If the picture fits the screen, all its rows are shown, even if it then looks too high for its width.
                let aspect = if step == 1 && rows <= height { 1 } else { aspect };
                self.thin(0, (step * aspect).min(rows.div_ceil(height.min(LEAST_PIXELS))));
                self.thin(1, step.min(length.div_ceil(columns.min(LEAST_PIXELS))));
            }
        }
        let bytes = self.items.read_all(&self.selected)?;
        self.range.add(&bytes);
        let parts: Vec<_> = self.range.parts(&bytes).collect();
        let pixels = match self.lengths()[..] {
            [_] => Pixels::line(&parts, height.min(height / lines * LINE_HEIGHT)),
            [_, length, ..] => Pixels { width: usize::try_from(length).unwrap_or_default(), parts },
            [] => Pixels { width: 1, parts },
        };
        let mut stdout = buffered_stdout();
        pixels.write(&mut stdout, is_colored)?;
        writeln!(stdout, "{}", self.caption(is_colored))?;
        Ok(stdout.flush()?)
    }

    /// Writes the plane as PNG.
    fn write(&mut self, to: &Path, files: &NewFiles) -> Result<(), Problem> {
        if !has_extension(to, "png") {
            return Err(Problem::new(code::INVALID_INPUT, "the name of a PNG must end with .png").at(to));
        }
        if to.symlink_metadata().is_ok() {
            return Err(exists());
        }
        let size = self.png_size()?;
        let Self { items, selected, range, .. } = self;
        let nbytes = selected.lengths().fold(items.typesize as u64, u64::saturating_mul);
        let kept = if nbytes <= MAX_KEPT { Some(items.read_all(selected)?) } else { None };
        let mut each = |receive: &mut dyn FnMut(&[u8]) -> Result<(), Problem>| match &kept {
            Some(bytes) => receive(bytes),
            None => items.read_pieces(&selected.ranges, &selected.steps, &mut |_, bytes| {
                // The items are read twice, so each read counts for half of the progress.
                files.advance_or_fail(bytes.len() / 2)?;
                receive(bytes)
            }),
        };
        each(&mut |bytes| {
            range.add(bytes);
            Ok(())
        })?;
        let failed = |error: io::Error| Problem::from(error).at(to);
        files.write(|| {
            write_new_file(to, |file| {
                write_png(BufWriter::new(file), size, range.missing > 0, failed, |pixels| {
                    each(&mut |bytes| pixels.write(range.parts(bytes)).map_err(failed))
                })
            })
        })
    }

    /// The number of columns and rows of the PNG. Numbers along a single dimension become one row.
    fn png_size(&mut self) -> Result<[u32; 2], Problem> {
        let size = |lengths: &[u64]| match *lengths {
            [rows, columns, ..] => [columns, rows],
            [columns] => [columns, 1],
            [] => [1, 1],
        };
        let [columns, rows] = size(&self.lengths());
        let fits = |step: u64| columns.div_ceil(step).saturating_mul(rows.div_ceil(step)) <= MAX_PIXELS;
        if let (true, Ok(columns), Ok(rows)) = (fits(1), columns.try_into(), rows.try_into()) {
            return Ok([columns, rows]);
        }
        let step = (0..u64::BITS).map(|bits| 1 << bits).find(|&step| fits(step)).unwrap_or(u64::MAX);
        self.thin(0, step);
        self.thin(1, step);
        let slice = self.slice();
        let message = format!(
            "the PNG would have {columns} x {rows} pixels, but at most {MAX_PIXELS} are written; use --slice {slice}"
        );
        Err(Problem::new(code::TOO_LARGE, message))
    }

    /// The slice of the picture, as `--slice` accepts it.
    fn slice(&self) -> String {
        let shape = &self.items.shape;
        let subscript = |((range, &step), &length): ((&Range<u64>, &u64), &u64)| {
            let optional =
                |number: u64, default| if number == default { String::new() } else { number.to_string() };
            if range.end - range.start == 1 {
                return range.start.to_string();
            }
            let bounds = format!("{}:{}", optional(range.start, 0), optional(range.end, length));
            if step > 1 { format!("{bounds}:{step}") } else { bounds }
        };
        let Selected { ranges, steps, .. } = &self.selected;
        let subscripts: Vec<_> = ranges.iter().zip(steps).zip(shape.iter()).map(subscript).collect();
        subscripts.join(",")
    }

    /// The line below a picture: its slice, dtype and range.
    fn caption(&self, is_colored: bool) -> String {
        let (slice, range) = (self.slice(), &self.range);
        let ends = match range.texts() {
            Some([min, max]) => format!("{min} {} {max}", color_key(is_colored)),
            None => "no finite number".into(),
        };
        let is_time = matches!(range.dtype().kind(), Kind::Datetime(_) | Kind::Timedelta(_));
        let counts = [(range.missing, if is_time { "NaT" } else { "NaN" }), (range.infinite, "infinite")];
        let counts = counts.into_iter().filter(|&(count, _)| count > 0);
        let counts: Vec<_> = counts.map(|(count, name)| format!(", {count} {name}")).collect();
        format!("[{slice}] {}: {ends}{}", range.dtype().numpy_str(), counts.concat())
    }
}
