//! A serializer for the dtype.

use core::fmt::{self, Display, Write};

use serde::ser::Impossible;

use super::methods::{refuse, transparent};
use crate::error::{Detail, Error, Length, Result};
use crate::wire::{self, Output};

/// Takes a string, UTF-8 bytes, or whatever displays itself. It begins the output, and answers how many bytes it puts.
pub(super) struct TextSerializer<'s> {
    pub(super) output: Output<'s>,
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
    fn serialize_str(mut self, text: &str) -> Result<usize> {
        wire::check_str(text).map_err(|fault| fault.error())?;
        self.output.text(text);
        Ok(self.output.position())
    }

    #[inline]
    fn serialize_bytes(mut self, bytes: &[u8]) -> Result<usize> {
        self.output.text(wire::check_text(bytes).map_err(|fault| fault.error())?);
        Ok(self.output.position())
    }

    /// Formats into the buffer, and puts the length right afterwards.
    fn collect_str<T: Display + ?Sized>(mut self, value: &T) -> Result<usize> {
        self.output.text_header(0);
        let mut parts = Parts { output: self.output, error: None };
        let written = write!(parts, "{value}");
        let Parts { mut output, error, .. } = parts;
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

    refuse! { integers bool floats char none unit variants sequences map structs }
}

/// Text that comes in pieces.
struct Parts<'s> {
    output: Output<'s>,
    /// Why a piece was refused: [`fmt::Error`] cannot say.
    error: Option<Error>,
}

impl Write for Parts<'_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let before = self.output.text_length();
        let length = before + part.len();
        let checked = if let Some(at) = part.bytes().position(|byte| byte == 0) {
            Err(Detail::Nul { at: Length::new(before + at) })
        } else if length > i32::MAX as usize {
            Err(Detail::DtypeLength { found: Length::new(length) })
        } else {
            self.output.text_part(part);
            Ok(())
        };
        checked.map_err(|detail| {
            self.error = Some(Error::new(detail));
            fmt::Error
        })
    }
}
