//! A serializer for a dimension vector.

use core::marker::PhantomData;

use serde::Serialize;
use serde::ser::{Impossible, SerializeSeq, SerializeTuple, SerializeTupleStruct};

use super::integer::{Width, integer};
use super::methods::{refuse, transparent};
use crate::error::{Detail, Error, Length, Result};
use crate::layout::Entry;
use crate::wire::{FixedInt, Output, Slots};

/// Takes a sequence, tuple or tuple struct of `ndim` integers.
pub(super) struct VectorSerializer<'s, 'a, W> {
    output: &'s mut Output<'a>,
    entry: Entry,
    ndim: u8,
    width: PhantomData<W>,
}

impl<'s, 'a, W> VectorSerializer<'s, 'a, W> {
    #[inline]
    pub(super) fn new(output: &'s mut Output<'a>, entry: Entry, ndim: u8) -> Self {
        Self { output, entry, ndim, width: PhantomData }
    }
}

#[inline]
fn check_count(found: usize, ndim: u8) -> Result<()> {
    if found == usize::from(ndim) {
        return Ok(());
    }
    Err(Error::new(Detail::Dimensions { found: Length::new(found), ndim }))
}

impl<'s, W: FixedInt + Width> serde::Serializer for VectorSerializer<'s, '_, W> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Dimensions<'s, W>;
    type SerializeTuple = Dimensions<'s, W>;
    type SerializeTupleStruct = Dimensions<'s, W>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Impossible<(), Error>;
    type SerializeStruct = Impossible<(), Error>;
    type SerializeStructVariant = Impossible<(), Error>;

    #[inline]
    fn serialize_seq(self, len: Option<usize>) -> Result<Self::SerializeSeq> {
        if let Some(len) = len {
            check_count(len, self.ndim)?;
        }
        let slots = self.output.vector(self.ndim);
        Ok(Dimensions { slots, entry: self.entry, ndim: self.ndim, count: 0 })
    }

    #[inline]
    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple> {
        self.serialize_seq(Some(len))
    }

    #[inline]
    fn serialize_tuple_struct(self, _name: &'static str, len: usize) -> Result<Self::SerializeTupleStruct> {
        self.serialize_seq(Some(len))
    }

    transparent! {}

    refuse! { integers bool floats char str bytes none unit variants map structs }
}

/// A dimension vector on its way out.
pub(super) struct Dimensions<'s, W> {
    slots: Slots<'s, W>,
    entry: Entry,
    ndim: u8,
    count: usize,
}

impl<W: FixedInt + Width> SerializeSeq for Dimensions<'_, W> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        match integer(value) {
            Ok(dimension) => self.slots.put(dimension),
            Err(error) => return Err(error.in_dimension(self.entry, self.count)),
        }
        self.count += 1;
        // Not at the end: a sequence may have none.
        if self.count > usize::from(self.ndim) { check_count(self.count, self.ndim) } else { Ok(()) }
    }

    #[inline]
    fn end(self) -> Result<()> {
        check_count(self.count, self.ndim)
    }
}

impl<W: FixedInt + Width> SerializeTuple for Dimensions<'_, W> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        SerializeSeq::serialize_element(self, value)
    }

    #[inline]
    fn end(self) -> Result<()> {
        SerializeSeq::end(self)
    }
}

impl<W: FixedInt + Width> SerializeTupleStruct for Dimensions<'_, W> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        SerializeSeq::serialize_element(self, value)
    }

    #[inline]
    fn end(self) -> Result<()> {
        SerializeSeq::end(self)
    }
}
