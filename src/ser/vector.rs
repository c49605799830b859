//! A serializer for a dimension vector.

use serde::Serialize;
use serde::ser::{Impossible, SerializeSeq, SerializeTuple, SerializeTupleStruct};

use super::integer::{Width, integer};
use super::methods::{refuse, transparent};
use crate::entry::Entry;
use crate::error::{Detail, Error};
use crate::wire::{FixedInt, Slots};

/// Takes a sequence, tuple or tuple struct of `ndim` integers.
pub(super) struct VectorSerializer<'s, W> {
    slots: Slots<'s, W>,
    entry: Entry,
    ndim: u8,
}

impl<'s, W> VectorSerializer<'s, W> {
    #[inline]
    pub(super) fn new(slots: Slots<'s, W>, entry: Entry, ndim: u8) -> Self {
        Self { slots, entry, ndim }
    }
}

#[inline]
fn check_count(found: usize, ndim: u8) -> Result<(), Error> {
    if found == usize::from(ndim) { Ok(()) } else { Err(wrong_count(found, ndim)) }
}

#[cold]
fn wrong_count(found: usize, ndim: u8) -> Error {
    Error::new(Detail::Dimensions { found, ndim })
}

/// Stands for the number of dimensions after an error in one of them, which the type may ignore. A type that goes on
/// cannot count up to a right number from here.
const FAILED: usize = usize::MAX / 2;

impl<'s, W: FixedInt + Width> serde::Serializer for VectorSerializer<'s, W> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = SerializeVector<'s, W>;
    type SerializeTuple = SerializeVector<'s, W>;
    type SerializeTupleStruct = SerializeVector<'s, W>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Impossible<(), Error>;
    type SerializeStruct = Impossible<(), Error>;
    type SerializeStructVariant = Impossible<(), Error>;

    #[inline]
    fn serialize_seq(self, len: Option<usize>) -> Result<Self::SerializeSeq, Error> {
        if let Some(len) = len {
            check_count(len, self.ndim)?;
        }
        Ok(SerializeVector { slots: self.slots, entry: self.entry, ndim: self.ndim, count: 0 })
    }

    #[inline]
    fn serialize_tuple(self, len: usize) -> Result<Self::SerializeTuple, Error> {
        self.serialize_seq(Some(len))
    }

    #[inline]
    fn serialize_tuple_struct(
        self,
        _name: &'static str,
        len: usize,
    ) -> Result<Self::SerializeTupleStruct, Error> {
        self.serialize_seq(Some(len))
    }

    #[inline]
    fn collect_seq<I: IntoIterator<Item: Serialize>>(self, values: I) -> Result<(), Error> {
        let values = values.into_iter();
        let (least, most) = values.size_hint();
        // At most one dimension too many, because a sequence may be infinite. For slices a zip with a range is faster
        // than `take`.
        let enough = usize::from(self.ndim) + 1;
        // A hint that is exact is checked before the first dimension is written.
        let mut dimensions = self.serialize_seq(most.filter(|&most| most == least))?;
        for (_, value) in (0..enough).zip(values) {
            dimensions.put(&value)?;
        }
        SerializeSeq::end(dimensions)
    }

    transparent! {}

    refuse! { integers bool floats char str bytes none unit variants map structs }
}

/// A partly written dimension vector.
// Not the same struct as `VectorSerializer`: with the count in that one, writing arrays takes 143 instructions more.
pub(super) struct SerializeVector<'s, W> {
    slots: Slots<'s, W>,
    entry: Entry,
    ndim: u8,
    count: usize,
}

impl<W: FixedInt + Width> SerializeVector<'_, W> {
    #[cold]
    fn wrong(&self) -> Error {
        if self.count < FAILED {
            wrong_count(self.count, self.ndim)
        } else {
            Error::new(Detail::IgnoredError)
        }
    }

    // Inlined: see `entries.rs`.
    #[inline(always)]
    fn put<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        match integer(value) {
            Ok(dimension) => self.slots.put(dimension),
            Err(error) => {
                let error = error.in_dimension(self.entry, self.count);
                self.count = FAILED;
                return Err(error);
            }
        }
        self.count += 1;
        Ok(())
    }
}

impl<W: FixedInt + Width> SerializeSeq for SerializeVector<'_, W> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.put(value)?;
        // Checked here and not in `end`, because a sequence may be infinite.
        if self.count > usize::from(self.ndim) { Err(self.wrong()) } else { Ok(()) }
    }

    #[inline]
    fn end(self) -> Result<(), Error> {
        if self.count == usize::from(self.ndim) { Ok(()) } else { Err(self.wrong()) }
    }
}

impl<W: FixedInt + Width> SerializeTuple for SerializeVector<'_, W> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        SerializeSeq::serialize_element(self, value)
    }

    #[inline]
    fn end(self) -> Result<(), Error> {
        SerializeSeq::end(self)
    }
}

impl<W: FixedInt + Width> SerializeTupleStruct for SerializeVector<'_, W> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        SerializeSeq::serialize_element(self, value)
    }

    #[inline]
    fn end(self) -> Result<(), Error> {
        SerializeSeq::end(self)
    }
}
