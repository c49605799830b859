//! Annotated bytes: the meaning of each byte of a metalayer.
//!
//! [`metalayer`] makes a [`Dump`] of a metalayer. `Display` prints the lines of a `Dump` as text. The method
//! [`rows`](Dump::rows) passes each line to a function, as a [`Row`]. An [`Annotator`] makes rows for bytes of any
//! format. The crate [`b2nd-frame`] uses an `Annotator` to dump headers, chunks and trailers.
//!
//! ```
//! // The encoder stopped too early: the last line names the missing entry.
//! let text = b2nd_serde::dump::metalayer(&[0x95, 0x00, 0x02]).to_string();
//! assert!(text.trim_end().ends_with("expected 1 byte for shape, but the input ends here"));
//! ```
//!
//! [`b2nd-frame`]: https://docs.rs/b2nd-frame

use core::fmt;
use core::ops::ControlFlow;

mod row;

mod annotator;

mod metalayer;

pub use annotator::Annotator;
pub use row::{Printable, Row};

/// Shows the bytes of a metalayer and their meaning.
///
/// Each line shows a value: its offset, its bytes, its type, the name of its entry, and the value itself. If the bytes
/// are not a metalayer, the lines end at the first invalid byte, with an error message.
///
/// ```
/// use b2nd_serde::dump;
///
/// let mut buffer = [0; 64];
/// let bytes = b2nd_serde::to_slice(&(0, 1, [6], [4], [2], 0, "|u1"), &mut buffer)?;
/// let text = "   0  97                                array of 7  layout         b2nd
///    1  00                                fixint      version        0
///    2  01                                fixint      ndim           1
///    3  91                                array of 1  shape
///    4    d3 00 00 00 00 00 00 00 06      int64       shape[0]       6
///   13  91                                array of 1  chunkshape
///   14    d2 00 00 00 04                  int32       chunkshape[0]  4
///   19  91                                array of 1  blockshape
///   20    d2 00 00 00 02                  int32       blockshape[0]  2
///   25  00                                fixint      dtype_format   0
///   26  db 00 00 00 03                    str32       dtype          3 bytes
///   31    7c 75 31                                                   |u1
/// ";
/// assert_eq!(dump::metalayer(bytes).to_string(), text);
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[must_use]
pub fn metalayer(bytes: &[u8]) -> Dump<'_> {
    Dump::new(bytes, |mut rows| rows.metalayer(rows.rest().len()))
}

/// Bytes, and a function that makes the rows for them. Created by [`metalayer`] or [`Dump::new`]. `Display` prints all
/// lines.
///
/// ```
/// let dump = b2nd_serde::dump::metalayer(&[0x97, 0x00]);
/// assert!(dump.to_string().starts_with("   0  97 "));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Dump<'b> {
    bytes: &'b [u8],
    annotate: Annotate,
}

/// A function that makes the rows for the bytes of an annotator.
// A function pointer, not a closure, so a `Dump` is `Copy` and can be displayed more than once.
type Annotate = fn(Annotator<'_, '_>) -> fmt::Result;

impl<'b> Dump<'b> {
    /// A dump of bytes in any format. The function `annotate` makes the rows of the dump.
    ///
    /// ```
    /// use b2nd_serde::dump::Dump;
    ///
    /// let dump = Dump::new(&[0, 7], |mut rows| rows.value(2, "uint16", "length", rows.rest()[1]));
    /// assert_eq!(dump.to_string().trim_start(), "0  00 07                             uint16      length         7\n");
    /// ```
    #[must_use]
    pub fn new(bytes: &'b [u8], annotate: Annotate) -> Self {
        Self { bytes, annotate }
    }

    /// Passes each line of the dump to a function, as a [`Row`], until the function returns `Break`.
    pub fn rows(&self, mut receive: impl FnMut(&Row<'_>) -> ControlFlow<()>) {
        // An error only means that `receive` returned `Break`, and the caller already knows that.
        let _ = self.write(&mut |row| match receive(row) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(fmt::Error),
        });
    }

    fn write(&self, receive: &mut dyn FnMut(&Row<'_>) -> fmt::Result) -> fmt::Result {
        (self.annotate)(Annotator::new(self.bytes, receive))
    }
}

impl fmt::Display for Dump<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(&mut |row| writeln!(f, "{row}"))
    }
}
