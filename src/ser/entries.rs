//! Writes the entries of a metalayer, from every kind of value that can have them.
//!
//! Everything between a derived `serialize` and the bytes is `inline(always)`. Only then does the compiler know the
//! entry of each field, and removes the comparisons of names and the matches over entries. With a single call left in
//! between, writing takes 50 % longer.

use serde::Serialize;
use serde::ser::{SerializeSeq, SerializeStruct, SerializeTuple, SerializeTupleStruct};

use super::integer::fixint;
use super::text::{LayoutSerializer, TextSerializer};
use super::vector::VectorSerializer;
use crate::entry::{Entry, MAX_NDIM, META_FIELDS};
use crate::error::{Detail, Error, LayoutFault};
use crate::layout::Layout;
use crate::wire::{Buffer, Output};

/// The position after an error. No layout has an entry there, so the writing cannot continue.
const FAILED: u8 = u8::MAX;

/// A metalayer that is being written, entry by entry.
#[derive(Debug)]
pub struct Entries<B> {
    output: Output<B>,
    layout: Layout,
    version: u8,
    /// The position of the next entry; [`FAILED`] after an error, even if the value ignores the error.
    next: u8,
    ndim: u8,
    next_field: NextField,
}

/// The meaning of the next field of a struct.
#[derive(Clone, Copy, Debug)]
enum NextField {
    /// An entry.
    Entry,
    /// The layout of a `Meta`, which must be the requested one if there is one.
    MetaLayout(Option<Layout>),
    /// An entry of a `Meta`, which has a field for every entry in every layout.
    MetaEntry,
}

impl<B: Buffer> Entries<B> {
    #[inline(always)]
    pub(super) fn new(buffer: B, layout: Layout) -> Self {
        Self {
            output: Output::new(buffer),
            layout,
            version: 0,
            next: 0,
            ndim: 0,
            next_field: NextField::Entry,
        }
    }

    /// The entries of a `Meta`, whose first field is its layout.
    #[inline(always)]
    pub(super) fn of_meta(buffer: B, asked: Option<Layout>) -> Self {
        Self { next_field: NextField::MetaLayout(asked), ..Self::new(buffer, Layout::B2nd) }
    }

    /// Takes the first field of a `Meta`.
    #[inline(always)]
    fn meta_layout<T: Serialize + ?Sized>(
        &mut self,
        key: &str,
        value: &T,
        asked: Option<Layout>,
    ) -> Result<(), Error> {
        if key != "layout" {
            // The `Meta` of a user.
            return Err(LayoutFault::NoLayout { gives: META_FIELDS.len() }.error());
        }
        let value = value.serialize(LayoutSerializer)?;
        match asked {
            Some(asked) if asked != value => Err(LayoutFault::OtherLayout { value, asked }.error()),
            _ => {
                self.layout = value;
                self.next_field = NextField::MetaEntry;
                Ok(())
            }
        }
    }

    /// Checks that a field with a well-known name is in the position of its own entry.
    #[inline(always)]
    fn check_name(&self, key: &'static str) -> Result<(), Error> {
        match self.layout.entry(self.next) {
            Some(entry) if !entry.can_be_field(key) => Err(field_order(key, entry, self.layout)),
            _ => Ok(()),
        }
    }

    #[inline(always)]
    fn entry<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let Some(entry) = self.layout.entry(self.next) else {
            // Saturating, so `FAILED` stays, and the message is about the ignored error.
            let gives = self.next.saturating_add(1);
            self.next = FAILED;
            return Err(wrong_count(self.layout, gives));
        };
        match self.write(entry, value) {
            Ok(()) => {
                self.next += 1;
                Ok(())
            }
            Err(error) => {
                self.next = FAILED;
                Err(error.in_entry(entry))
            }
        }
    }

    #[inline(always)]
    fn write<T: Serialize + ?Sized>(&mut self, entry: Entry, value: &T) -> Result<(), Error> {
        let output = &mut self.output;
        match entry {
            // Written together with `ndim`, from which a new buffer computes its size.
            Entry::Version => self.version = fixint(value)?,
            Entry::DtypeFormat => output.fixint(fixint(value)?),
            Entry::Ndim => {
                let ndim = fixint(value)?;
                if ndim > MAX_NDIM {
                    return Err(Error::new(Detail::Rank { found: ndim.into() }));
                }
                self.ndim = ndim;
                output.start(self.layout, self.version, ndim);
            }
            Entry::Shape => {
                let slots = output.vector::<i64>(self.ndim);
                value.serialize(VectorSerializer::new(slots, entry, self.ndim))?;
            }
            Entry::Chunkshape | Entry::Blockshape => {
                let slots = output.vector::<i32>(self.ndim);
                value.serialize(VectorSerializer::new(slots, entry, self.ndim))?;
            }
            Entry::Dtype => {
                let length = value.serialize(TextSerializer(output.rest()))?;
                output.skip(length);
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn finish(self) -> Result<B::Filled, Error> {
        if usize::from(self.next) != self.layout.entries().len() {
            return Err(wrong_count(self.layout, self.next));
        }
        self.output.finish()
    }
}

/// Whether a field of a `Meta` is an entry of its layout. The field `layout` is not an entry.
#[inline]
fn has_field(layout: Layout, key: &str) -> bool {
    Entry::of_field(key).is_some_and(|entry| layout.has(entry))
}

#[cold]
fn field_order(field: &'static str, here: Entry, layout: Layout) -> Error {
    LayoutFault::FieldOrder { field, layout }.error().in_entry(here)
}

#[cold]
fn wrong_count(layout: Layout, gives: u8) -> Error {
    if gives == FAILED {
        return Error::new(Detail::IgnoredError);
    }
    LayoutFault::Gives { layout, gives: gives.into() }.error()
}

// Only `inline`: the length of a sequence is not known at compile time, and `inline(always)` gave no measurable gain.
impl<B: Buffer> SerializeSeq for Entries<B> {
    type Ok = B::Filled;
    type Error = Error;

    #[inline]
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.entry(value)
    }

    #[inline]
    fn end(self) -> Result<B::Filled, Error> {
        self.finish()
    }
}

impl<B: Buffer> SerializeTuple for Entries<B> {
    type Ok = B::Filled;
    type Error = Error;

    #[inline(always)]
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.entry(value)
    }

    #[inline(always)]
    fn end(self) -> Result<B::Filled, Error> {
        self.finish()
    }
}

impl<B: Buffer> SerializeTupleStruct for Entries<B> {
    type Ok = B::Filled;
    type Error = Error;

    #[inline(always)]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.entry(value)
    }

    #[inline(always)]
    fn end(self) -> Result<B::Filled, Error> {
        self.finish()
    }
}

impl<B: Buffer> SerializeStruct for Entries<B> {
    type Ok = B::Filled;
    type Error = Error;

    #[inline(always)]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        match self.next_field {
            NextField::MetaLayout(asked) => return self.meta_layout(key, value, asked),
            NextField::MetaEntry if !has_field(self.layout, key) => return Ok(()),
            NextField::MetaEntry | NextField::Entry => {}
        }
        // Recorded, because a `Serialize` may ignore the error and continue.
        if let Err(error) = self.check_name(key) {
            self.next = FAILED;
            return Err(error);
        }
        self.entry(value)
    }

    #[inline(always)]
    fn end(self) -> Result<B::Filled, Error> {
        self.finish()
    }
}
