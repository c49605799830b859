//! The rows of a metalayer.

use core::fmt;

use super::annotator::Annotator;
use crate::error::Error;
use crate::layout::{Encoding, Entry};
use crate::wire::{FixedInt, Input};

impl Annotator<'_, '_> {
    /// Shows the next `length` bytes as a metalayer, up to the first invalid byte.
    ///
    /// # Errors
    ///
    /// If the function that receives the rows has stopped the dump.
    pub fn metalayer(&mut self, length: usize) -> fmt::Result {
        let rows = self.part(length);
        Walk { input: Input::new(rows.rest()), rows }.run()
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
// The dump uses the `Input` of the parser, so both find the same error.
struct Walk<'w, 'b> {
    input: Input<'b>,
    rows: Annotator<'w, 'b>,
}

impl Walk<'_, '_> {
    fn run(mut self) -> fmt::Result {
        let Err(stop) = self.entries() else { return Ok(()) };
        let error = match stop {
            Stop::Fault(error) => error.of_version(self.input.version(0)),
            Stop::Over(error) => return Err(error),
        };
        // Shows the bytes before the fault that are in no row yet, and then the fault at its byte.
        let before = error.offset().unwrap_or(usize::MAX).saturating_sub(self.rows.shown());
        self.rows.depth += 1;
        self.rows.raw(before)?;
        self.rows.depth -= 1;
        self.rows.fault(&error.message())
    }

    fn entries(&mut self) -> Result<(), Stop> {
        let layout = self.input.layout()?;
        self.input.skip_outer_marker();
        self.rows.value(1, format_args!("array of {}", layout.marked_entries()), "layout", layout)?;
        let mut ndim = 0;
        for &entry in layout.entries() {
            match (entry, entry.encoding()) {
                (Entry::Ndim, _) => {
                    ndim = self.input.ndim()?;
                    self.rows.value(1, "fixint", entry, ndim)?;
                }
                (_, Encoding::Fixint) => {
                    let value = self.input.fixint(entry)?;
                    self.rows.value(1, "fixint", entry, value)?;
                }
                (_, Encoding::Int64s) => self.vector::<i64>(entry, ndim, "int64")?,
                (_, Encoding::Int32s) => self.vector::<i32>(entry, ndim, "int32")?,
                (_, Encoding::Str32) => self.text(entry)?,
            }
        }
        Ok(self.input.end()?)
    }

    fn vector<T: FixedInt>(&mut self, entry: Entry, ndim: u8, width: &str) -> Result<(), Stop> {
        let vector = self.input.vector::<T>(entry, ndim);
        // If the vector is invalid, the dimensions before the first invalid one still get rows. If the input ends
        // within the vector, each dimension that is whole gets a row.
        let good = match &vector {
            Ok(items) => Some(items.len()),
            Err(error) => error.dimension(),
        };
        if let Some(good) = good {
            self.rows.value(1, format_args!("array of {ndim}"), entry, "")?;
            let items = self.rows.rest().chunks(T::WIDTH);
            self.rows.depth += 1;
            for (index, value) in items.filter_map(T::decode).take(good).enumerate() {
                let value: i64 = value.into();
                self.rows.value(T::WIDTH, width, format_args!("{entry}[{index}]"), value)?;
            }
            self.rows.depth -= 1;
        }
        vector?;
        Ok(())
    }

    fn text(&mut self, entry: Entry) -> Result<(), Stop> {
        let length = self.input.utf8()?.len();
        let head = self.input.position() - length - self.rows.shown();
        self.rows.value(head, "str32", entry, format_args!("{length} bytes"))?;
        self.rows.depth += 1;
        self.rows.raw(length)?;
        self.rows.depth -= 1;
        Ok(())
    }
}
