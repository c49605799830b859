//! The start of a metalayer: the kind of value, and with it the layout.

use serde::ser::Impossible;

use super::entries::Entries;
use super::methods::{refuse, transparent};
use crate::entry::{META_FIELDS, META_NAME};
use crate::error::{Error, LayoutFault};
use crate::layout::Layout;
use crate::wire::Buffer;

/// Takes a value that has the entries of a metalayer.
pub(super) struct Start<B> {
    pub(super) buffer: B,
    /// The requested layout; `None` selects it by the number of entries.
    pub(super) layout: Option<Layout>,
}

impl<B: Buffer> Start<B> {
    #[inline(always)]
    fn entries(self, layout: Layout) -> Entries<B> {
        Entries::new(self.buffer, layout)
    }

    /// The layout of a value with this number of entries.
    #[inline(always)]
    fn layout_of(&self, gives: usize) -> Result<Layout, Error> {
        match self.layout {
            None => Layout::of_entries(gives).ok_or_else(|| LayoutFault::NoLayout { gives }.error()),
            Some(layout) if layout.entries().len() == gives => Ok(layout),
            Some(layout) => Err(LayoutFault::Gives { layout, gives }.error()),
        }
    }
}

impl<B: Buffer> serde::Serializer for Start<B> {
    type Ok = B::Filled;
    type Error = Error;
    type SerializeSeq = Entries<B>;
    type SerializeTuple = Entries<B>;
    type SerializeTupleStruct = Entries<B>;
    type SerializeTupleVariant = Impossible<B::Filled, Error>;
    type SerializeMap = Impossible<B::Filled, Error>;
    type SerializeStruct = Entries<B>;
    type SerializeStructVariant = Impossible<B::Filled, Error>;

    #[inline(always)]
    fn serialize_seq(self, len: Option<usize>) -> Result<Self::SerializeSeq, Error> {
        match (len, self.layout) {
            (Some(len), _) => self.serialize_tuple(len),
            // The given layout has the number of entries; `end` checks it.
            (None, Some(layout)) => Ok(self.entries(layout)),
            (None, None) => Err(LayoutFault::UnknownCount.error()),
        }
    }

    #[inline(always)]
    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple, Error> {
        let layout = self.layout_of(len)?;
        Ok(self.entries(layout))
    }

    #[inline(always)]
    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleStruct, Error> {
        self.serialize_tuple(len)
    }

    #[inline(always)]
    fn serialize_struct(self, name: &'static str, len: usize) -> Result<Self::SerializeStruct, Error> {
        // Before the number of fields, because a `Meta` has eight in every layout.
        if name == META_NAME && len == META_FIELDS.len() {
            return Ok(Entries::of_meta(self.buffer, self.layout));
        }
        self.serialize_tuple(len)
    }

    transparent! {}

    refuse! { integers bool floats char str bytes none unit variants map }
}
