//! A serializer for the dtype.

use core::fmt::{self, Display, Write};

use serde::ser::Impossible;

use super::methods::{refuse, transparent};
use crate::error::{Detail, Error, Length, Result};
use crate::wire::{self, Output};

/// Takes a string, UTF-8 bytes, or whatever displays itself.
pub(super) struct TextSerializer<'s, 'a> {
    pub(super) output: &'s mut Output<'a>,
}

impl serde::Serializer for TextSerializer<'_, '_> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Impossible<(), Error>;
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Impossible<(), Error>;
    type SerializeStruct = Impossible<(), Error>;
    type SerializeStructVariant = Impossible<(), Error>;

    #[inline]
    fn serialize_str(self, text: &str) -> Result<()> {
        wire::check_str(text).map_err(|fault| fault.error())?;
        self.output.text(text);
        Ok(())
    }

    #[inline]
    fn serialize_bytes(self, bytes: &[u8]) -> Result<()> {
        self.output.text(wire::check_text(bytes).map_err(|fault| fault.error())?);
        Ok(())
    }

    /// Formats into the buffer, and puts the length right afterwards.
    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<()> {
        let start = self.output.text_header(0);
        let mut parts = Parts { output: self.output, start, error: None };
        let written = write!(parts, "{value}");
        let Parts { output, error, .. } = parts;
        match (written, error) {
            (_, Some(error)) => Err(error),
            (Err(error), None) => Err(serde::ser::Error::custom(error)),
            (Ok(()), None) => {
                output.close_text(start);
                Ok(())
            }
        }
    }

    transparent! {}

    refuse! { integers bool floats char none unit variants sequences map structs }
}

/// Text that comes in pieces.
struct Parts<'s, 'a> {
    output: &'s mut Output<'a>,
    start: usize,
    /// Why a piece was refused: [`fmt::Error`] cannot say.
    error: Option<Error>,
}

impl Write for Parts<'_, '_> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let before = self.output.text_length(self.start);
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
