//! The general way to read: every layout, every type, and errors with their place.

use serde::de::Visitor;
use serde::forward_to_deserialize_any;

use super::entries::InOrder;
use super::methods::{transparent, whole};
use super::names::{ByName, Names};
use super::read_error::Misfit;
use super::takes::Takes;
use crate::entry::META_FIELDS;
use crate::error::{Detail, Error, LayoutFault, ValueType};
use crate::layout::Layout;
use crate::wire::{Input, Metalayer};

/// A serde deserializer that reads metalayers from a slice.
///
/// A metalayer can be read into a struct, tuple, tuple struct, sequence or `Meta`. The
/// [crate's page](crate#serdes-data-model) has a table of the types and entries that fit each other.
/// [`from_slice`](crate::from_slice()) is faster.
///
/// ```
/// use b2nd_serde::{Deserializer, Layout};
/// use serde::Deserialize;
///
/// let mut deserializer = Deserializer::new(b"\x95\x00\x00\x90\x90\x90");
/// assert_eq!(deserializer.layout()?, Layout::Caterva);
/// let value = serde_json::Value::deserialize(&mut deserializer)?;
/// assert_eq!(deserializer.offset(), 6);
/// deserializer.end()?;
/// assert_eq!(value, serde_json::json!([0, 0, [], [], []]));
/// # Ok::<(), b2nd_serde::Error>(())
/// ```
#[derive(Debug)]
pub struct Deserializer<'de> {
    input: Input<'de>,
}

impl<'de> Deserializer<'de> {
    /// A deserializer for the metalayer at the front of a slice.
    #[must_use]
    #[inline]
    pub fn new(bytes: &'de [u8]) -> Self {
        Self { input: Input::new(bytes) }
    }

    /// The layout of the next metalayer. The position does not change.
    ///
    /// The first byte determines the layout; after `96`, the byte after `blockshape` decides.
    ///
    /// # Errors
    ///
    /// If no layout begins with the first byte; after `96`, also if a byte up to the deciding one is invalid.
    pub fn layout(&self) -> Result<Layout, Error> {
        self.input.layout()
    }

    /// The number of bytes read so far. A metalayer that gave an error, in its bytes or in the type, is not counted.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.input.position()
    }

    /// Checks that no bytes are left.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TrailingBytes`](crate::ErrorKind::TrailingBytes) if bytes are left; the message says how many.
    pub fn end(&self) -> Result<(), Error> {
        self.input.end()
    }

    /// The bytes that are left.
    pub(super) fn rest(&self) -> &'de [u8] {
        self.input.rest()
    }

    /// Checks the whole next metalayer, then lets a type take its entries.
    pub(super) fn take<V: Visitor<'de>>(&mut self, takes: Takes, visitor: V) -> Result<V::Value, Error> {
        let start = self.offset();
        let metalayer = Metalayer::read(self.input.clone())?;
        let bytes = self.rest();
        let bytes = bytes.get(..bytes.len() - metalayer.rest.len()).unwrap_or_default();
        let value = visit(&metalayer, bytes, start, takes, visitor).map_err(|error| error.at(start))?;
        self.input.skip_to(metalayer.rest);
        Ok(value)
    }
}

/// Lets a type take the entries of a metalayer of these bytes, which begins at offset `start` of the input.
fn visit<'de, V: Visitor<'de>>(
    metalayer: &Metalayer<'de>,
    bytes: &'de [u8],
    start: usize,
    takes: Takes,
    visitor: V,
) -> Result<V::Value, Error> {
    let layout = metalayer.layout;
    let count = layout.entries().len();
    let mut entries = InOrder::new(metalayer, start);
    let value = match takes {
        Takes::Count(takes) if takes != count => return Err(LayoutFault::Takes { layout, takes }.error()),
        // The visitor gets the state by reference. Moved, it would be copied through memory that was written a moment
        // before, which stalls the processor.
        Takes::Any | Takes::Count(_) => visitor.visit_seq(&mut entries),
        Takes::Fields(fields) => match Names::place(fields, layout)? {
            None => visitor.visit_seq(&mut entries),
            Some(names) => visitor.visit_map(ByName { entries: &mut entries, names }),
        },
        Takes::Bytes => {
            // Only the `Meta` of a user refuses them.
            let fault = LayoutFault::Takes { layout, takes: META_FIELDS.len() };
            return visitor.visit_borrowed_bytes(bytes).map_err(|Misfit| fault.error());
        }
        Takes::Map => return Err(Error::new(Detail::Unsupported(ValueType::Map))),
    };
    match (value, entries.taken()) {
        (Ok(value), visited) if visited == count => Ok(value),
        // The struct's own error would be "invalid length 7".
        (Err(error), _)
            if !matches!(takes, Takes::Any)
                && error.is_custom_length()
                && error.entry().is_none()
                && entries.is_over() =>
        {
            Err(LayoutFault::TakesMore { layout }.error())
        }
        (Err(error), _) => Err(error),
        // Without this check a sequence type that stops early would silently drop entries.
        (Ok(_), visited) => Err(LayoutFault::Takes { layout, takes: visited }.error()),
    }
}

impl<'de> serde::Deserializer<'de> for &mut Deserializer<'de> {
    type Error = Error;

    whole! {}
}
