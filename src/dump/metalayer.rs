//! The rows of a metalayer.

use core::fmt;

use super::annotator::Annotator;
use crate::error::{Error, TextFault};
use crate::layout::{Encoding, Entry};
use crate::metalayer::{Metalayer, of_version};
use crate::wire::{FixedInt, Reader};

impl Annotator<'_, '_> {
    /// Shows the next `length` bytes as a metalayer, up to the first invalid byte.
    ///
    /// # Errors
    ///
    /// If the function that receives the rows has stopped the dump.
    pub fn metalayer(&mut self, length: usize) -> fmt::Result {
        let rows = self.part(length);
        Walk { input: Reader::new(rows.rest()), ndim: 0, rows }.run()
    }
}

/// Why the rows end early.
enum Stop {
    /// The bytes are not a metalayer.
    Fault(Error),
    /// The function that receives the rows has returned this error, to stop the dump.
    Over(fmt::Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Fault(error)
    }
}

impl From<fmt::Error> for Stop {
    fn from(error: fmt::Error) -> Self {
        Self::Over(error)
    }
}

/// Reads a metalayer, and makes a row of each value.
// The dump uses the `Reader` of the parser, so the dump and the parser find the same error.
struct Walk<'w, 'b> {
    input: Reader<'b>,
    /// The number of dimensions of the vectors; 0 before it is read.
    ndim: u8,
    rows: Annotator<'w, 'b>,
}

impl Walk<'_, '_> {
    fn run(mut self) -> fmt::Result {
        let start = self.input;
        let Err(stop) = self.entries() else { return Ok(()) };
        let error = match stop {
            Stop::Fault(error) => of_version(error, start),
            Stop::Over(error) => return Err(error),
        };
        // Shows the bytes before the fault that no row has shown yet, and then the fault at its byte.
        let before = error.offset().unwrap_or(usize::MAX).saturating_sub(self.rows.shown());
        self.rows.depth += 1;
        self.rows.raw(before)?;
        self.rows.depth -= 1;
        self.rows.fault(&error.message())
    }

    fn entries(&mut self) -> Result<(), Stop> {
        let layout = Metalayer::find_layout(self.input)?;
        self.input.skip(1);
        self.rows.value(1, format_args!("array of {}", layout.marked_entries()), "layout", layout)?;
        for &entry in layout.entries() {
            match entry.encoding() {
                Encoding::Fixint => {
                    let value = in_entry(entry, self.input.fixint())?;
                    self.rows.value(1, "fixint", entry, value)?;
                }
                Encoding::Ndim => {
                    self.ndim = in_entry(entry, self.input.ndim())?;
                    self.rows.value(1, "fixint", entry, self.ndim)?;
                }
                Encoding::Int64s => self.vector::<i64>(entry, "int64")?,
                Encoding::Int32s => self.vector::<i32>(entry, "int32")?,
                Encoding::Str32 => self.text(entry)?,
            }
        }
        Ok(self.input.check_end()?)
    }

    fn vector<T: FixedInt>(&mut self, entry: Entry, width: &str) -> Result<(), Stop> {
        let ndim = self.ndim;
        let vector = in_entry(entry, self.input.vector::<T, Error>(ndim));
        // If a dimension of the vector is invalid or cut off, the dimensions before it still get rows.
        let good = match &vector {
            Ok(_) => Some(ndim.into()),
            Err(error) => error.dimension(),
        };
        if let Some(good) = good {
            self.rows.value(1, format_args!("array of {ndim}"), entry, "")?;
            let items = self.rows.rest().chunks(T::SIZE);
            self.rows.depth += 1;
            for (index, value) in items.filter_map(T::decode).take(good).enumerate() {
                let value: i64 = value.into();
                self.rows.value(T::SIZE, width, format_args!("{entry}[{index}]"), value)?;
            }
            self.rows.depth -= 1;
        }
        vector?;
        Ok(())
    }

    fn text(&mut self, entry: Entry) -> Result<(), Stop> {
        let start = self.input;
        let text = self
            .input
            .text()
            .and_then(|text| text.map_err(|bytes| start.text_error(TextFault::not_utf8(bytes))));
        let length = in_entry(entry, text)?.len();
        let head = self.input.position() - length - self.rows.shown();
        self.rows.value(head, "str32", entry, format_args!("{length} bytes"))?;
        self.rows.depth += 1;
        self.rows.raw(length)?;
        self.rows.depth -= 1;
        Ok(())
    }
}

fn in_entry<T>(entry: Entry, value: Result<T, Error>) -> Result<T, Error> {
    value.map_err(|error| error.in_entry(entry))
}
