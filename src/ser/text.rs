//! A serializer for the dtype.

use core::fmt::{self, Display, Write};

use serde::ser::Impossible;

use super::methods::{refuse, transparent};
use crate::entry::MAX_DTYPE_LEN;
use crate::error::{Error, TextFault};
use crate::layout::{Layout, ParseLayoutError};
use crate::wire::{self, Output};

/// Takes a string, UTF-8 bytes, or a value that is serialized through its `Display`. Writes to the front of the slice,
/// and returns the number of bytes, including those that did not fit.
pub(super) struct TextSerializer<'s>(pub(super) &'s mut [u8]);

impl TextSerializer<'_> {
    #[inline]
    fn put(self, text: &str) -> usize {
        let mut output = Output::new(self.0);
        output.text(text);
        output.position()
    }
}

impl serde::Serializer for TextSerializer<'_> {
    type Ok = usize;
    type Error = Error;
    type SerializeSeq = Impossible<usize, Error>;
    type SerializeTuple = Impossible<usize, Error>;
    type SerializeTupleStruct = Impossible<usize, Error>;
    type SerializeTupleVariant = Impossible<usize, Error>;
    type SerializeMap = Impossible<usize, Error>;
    type SerializeStruct = Impossible<usize, Error>;
    type SerializeStructVariant = Impossible<usize, Error>;

    #[inline]
    fn serialize_str(self, text: &str) -> Result<usize, Error> {
        if !wire::is_dtype(text) {
            return Err(wire::not_dtype(text.as_bytes()));
        }
        Ok(self.put(text))
    }

    /// The name of a variant, as an enum of the dtypes that a type takes has it.
    #[inline]
    fn serialize_unit_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
    ) -> Result<usize, Error> {
        self.serialize_str(variant)
    }

    #[inline]
    fn serialize_bytes(self, bytes: &[u8]) -> Result<usize, Error> {
        let text = wire::dtype(bytes).ok_or_else(|| wire::not_dtype(bytes))?;
        Ok(self.put(text))
    }

    /// Formats into the buffer, then writes the length in front of the text.
    // Serde's default allocates a `String`, which needs a heap.
    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<usize, Error> {
        let mut output = Output::new(self.0);
        output.text_header(0);
        let mut writer = TextWriter { output, error: None };
        let written = write!(writer, "{value}");
        let TextWriter { mut output, error } = writer;
        // The recorded error first: a `Display` may ignore the failure of a piece.
        match (written, error) {
            (_, Some(error)) => Err(error),
            (Err(error), None) => Err(serde::ser::Error::custom(error)),
            (Ok(()), None) => {
                output.close_text();
                Ok(output.position())
            }
        }
    }

    transparent! {}

    refuse! { integers bool floats char none unit variants_with_content sequences map structs }
}

/// Takes the name of a layout.
pub(super) struct LayoutSerializer;

impl serde::Serializer for LayoutSerializer {
    type Ok = Layout;
    type Error = Error;
    type SerializeSeq = Impossible<Layout, Error>;
    type SerializeTuple = Impossible<Layout, Error>;
    type SerializeTupleStruct = Impossible<Layout, Error>;
    type SerializeTupleVariant = Impossible<Layout, Error>;
    type SerializeMap = Impossible<Layout, Error>;
    type SerializeStruct = Impossible<Layout, Error>;
    type SerializeStructVariant = Impossible<Layout, Error>;

    #[inline]
    fn serialize_str(self, name: &str) -> Result<Layout, Error> {
        name.parse().map_err(|error: ParseLayoutError| serde::ser::Error::custom(error))
    }

    transparent! {}

    refuse! { integers bool floats char display bytes none unit variants sequences map structs }
}

/// Text that is written in pieces.
struct TextWriter<'s> {
    output: Output<&'s mut [u8]>,
    /// Why a piece was rejected. [`fmt::Error`] cannot carry a reason.
    error: Option<Error>,
}

impl Write for TextWriter<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        // Checked piece by piece, because the text is never in memory as a whole if it does not fit the buffer.
        let before = self.output.text_length();
        let length = before + part.len();
        let checked = if let Some(at) = part.bytes().position(|byte| byte == 0) {
            Err(TextFault::Nul { at: before + at })
        } else if length > MAX_DTYPE_LEN {
            Err(TextFault::TooLong { length })
        } else {
            self.output.text_part(part);
            Ok(())
        };
        checked.map_err(|fault| {
            self.error = Some(fault.error());
            fmt::Error
        })
    }
}
