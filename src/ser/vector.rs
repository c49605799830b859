//! A serializer for a dimension vector.

use core::marker::PhantomData;

use serde::Serialize;
use serde::ser::{Impossible, SerializeSeq, SerializeTuple, SerializeTupleStruct};

use super::integer::{Width, integer};
use super::refuse::refuse;
use crate::error::{Detail, Error, Length, Result};
use crate::layout::Entry;
use crate::wire::{FixedInt, Output};

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

    #[inline]
    fn check_count(&self, found: usize) -> Result<()> {
        if found == usize::from(self.ndim) {
            return Ok(());
        }
        Err(Error::new(Detail::Dimensions { found: Length::new(found), ndim: self.ndim }))
    }
}

impl<'s, 'a, W: FixedInt + Width> serde::Serializer for VectorSerializer<'s, 'a, W> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Dimensions<'s, 'a, W>;
    type SerializeTuple = Dimensions<'s, 'a, W>;
    type SerializeTupleStruct = Dimensions<'s, 'a, W>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Impossible<(), Error>;
    type SerializeStruct = Impossible<(), Error>;
    type SerializeStructVariant = Impossible<(), Error>;

    #[inline]
    fn serialize_seq(self, len: Option<usize>) -> Result<Self::SerializeSeq> {
        if let Some(len) = len {
            self.check_count(len)?;
        }
        self.output.vector(self.ndim);
        Ok(Dimensions { vector: self, count: 0 })
    }

    #[inline]
    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple> {
        self.serialize_seq(Some(len))
    }

    #[inline]
    fn serialize_tuple_struct(self, _name: &'static str, len: usize) -> Result<Self::SerializeTupleStruct> {
        self.serialize_seq(Some(len))
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<()> {
        value.serialize(self)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _name: &'static str, value: &T) -> Result<()> {
        value.serialize(self)
    }

    #[inline]
    fn is_human_readable(&self) -> bool {
        false
    }

    refuse! { integers bool floats char str bytes none unit variants map structs }
}

/// A dimension vector on its way out.
pub(super) struct Dimensions<'s, 'a, W> {
    vector: VectorSerializer<'s, 'a, W>,
    count: usize,
}

impl<W: FixedInt + Width> SerializeSeq for Dimensions<'_, '_, W> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let dimension: W =
            integer(value).map_err(|error| error.in_dimension(self.vector.entry, self.count))?;
        // A sequence that never ends is counted, but not written, beyond `ndim`.
        if self.count < usize::from(self.vector.ndim) {
            self.vector.output.int(dimension);
        }
        self.count += 1;
        Ok(())
    }

    #[inline]
    fn end(self) -> Result<()> {
        self.vector.check_count(self.count)
    }
}

impl<W: FixedInt + Width> SerializeTuple for Dimensions<'_, '_, W> {
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

impl<W: FixedInt + Width> SerializeTupleStruct for Dimensions<'_, '_, W> {
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
