//! The plan of an item: the kinds, offsets and byte orders of its parts, compiled from the dtype once for many items.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::{fmt, mem, ptr};

use super::error::{ItemError, PlaceInPart};
use crate::dtype::repr::excerpt;
use crate::dtype::types::{ByteOrder, Dtype, Field, Kind};

/// The deepest nesting of an item. Each dimension of a subarray counts as a level. A Rust type that can have any depth,
/// such as a JSON value, is read by recursion, so this limit also limits the size of the stack. `serde_json` has the
/// same limit.
const MAX_DEPTH: usize = 128;

/// An item of n bytes can have at most 16 n + `MAX_EXCESS` values. Without a limit, a short item could have any number
/// of values, because fields can overlap, and an empty list is a value without bytes.
const MAX_EXCESS: usize = 4096;

/// The plan of an item or of a part of it.
#[derive(Clone, Debug)]
pub(super) struct Plan<'d> {
    pub(super) storage: Storage<'d>,
    /// The number of bytes of the part.
    pub(super) size: usize,
    pub(super) is_big: bool,
    /// The dtype of the part, for messages.
    dtype: &'d Dtype,
}

/// How a part is stored. This determines which Rust types can read and write the part.
#[derive(Clone, Debug)]
pub(super) enum Storage<'d> {
    Bool,
    /// Signed integers, datetimes and durations, with their number of bytes.
    Int(usize),
    Uint(usize),
    Float16,
    Float32,
    Float64,
    /// `S`, which is bytes padded with NULs. Rust sequences are read and written byte by byte, with the plan in the box
    /// for each byte.
    Bytes(Box<Plan<'d>>),
    /// UTF-32 padded with NULs: `U`.
    Text,
    /// `V`, and numbers for which Rust has no type. All of them are read and written as bytes.
    Raw(Box<Plan<'d>>),
    /// One dimension of a subarray, or a complex number, which has two elements.
    Array {
        length: usize,
        element: Box<Plan<'d>>,
    },
    Struct(Fields<'d>),
}

impl<'d> Plan<'d> {
    pub(super) fn new(dtype: &'d Dtype) -> Result<Self, ItemError> {
        let plan = Self::build(dtype)?;
        let (values, depth) = plan.extent();
        if depth > MAX_DEPTH {
            return Err(ItemError::new(format_args!(
                "the dtype is nested {depth} levels deep, but at most {MAX_DEPTH} are read"
            )));
        }
        let most = plan.size.saturating_mul(16).saturating_add(MAX_EXCESS);
        if values > most {
            let size = plan.size;
            return Err(ItemError::new(format_args!(
                "an item of {size} bytes has {values} values, in empty lists or overlapping fields, but at most {most} are read"
            )));
        }
        Ok(plan)
    }

    fn build(dtype: &'d Dtype) -> Result<Self, ItemError> {
        let size = dtype.item_size();
        let byte = |dtype| Box::new(Self::part(dtype, Storage::Uint(1), 1));
        let storage = match (dtype.kind(), size) {
            (Kind::Bool, _) => Storage::Bool,
            (Kind::Int | Kind::Datetime(_) | Kind::Timedelta(_), _) => Storage::Int(size),
            (Kind::Uint, _) => Storage::Uint(size),
            (Kind::Float, 2) => Storage::Float16,
            (Kind::Float, 4) => Storage::Float32,
            (Kind::Float, 8) => Storage::Float64,
            (Kind::Complex, _) => {
                let storage = match size {
                    8 => Storage::Float32,
                    16 => Storage::Float64,
                    _ => Storage::Raw(byte(dtype)),
                };
                Storage::Array { length: 2, element: Box::new(Self::part(dtype, storage, size / 2)) }
            }
            (Kind::Bytes, _) => Storage::Bytes(byte(dtype)),
            (Kind::Str, _) => Storage::Text,
            (Kind::Object, _) => {
                return Err(ItemError::new(
                    "the dtype is |O: Python objects are pointers, which mean nothing in a file",
                ));
            }
            (Kind::Subarray(subarray), _) => {
                let mut plan = Self::build(subarray.base())?;
                for &length in subarray.shape().iter().rev() {
                    let size = plan.size.saturating_mul(length);
                    plan = Self::part(dtype, Storage::Array { length, element: Box::new(plan) }, size);
                }
                return Ok(plan);
            }
            (Kind::Struct(parts), _) => Storage::Struct(Fields::new(parts.fields())?),
            (Kind::Float | Kind::Void | Kind::Extension(_), _) => Storage::Raw(byte(dtype)),
        };
        Ok(Self::part(dtype, storage, size))
    }

    fn part(dtype: &'d Dtype, storage: Storage<'d>, size: usize) -> Self {
        Self { storage, size, is_big: dtype.byte_order() == Some(ByteOrder::Big), dtype }
    }

    /// The plan of the content of a newtype, if it differs from this plan. It differs only for `half::f16`, whose
    /// content is its bits as a `u16`.
    pub(super) fn of_newtype(&self, name: &str) -> Option<Self> {
        let is_half = name == "f16" && matches!(self.storage, Storage::Float16);
        is_half.then_some(Self { storage: Storage::Uint(2), ..*self })
    }

    /// The error for a Rust type or a value of another kind than the dtype.
    #[cold]
    pub(super) fn mismatch<T>(&self, found: impl fmt::Display) -> Result<T, ItemError> {
        Err(ItemError::new(format_args!("the dtype is {self}, not {found}")))
    }

    /// The number of values and the levels of nesting. Each byte of a text counts as a value.
    fn extent(&self) -> (usize, usize) {
        match &self.storage {
            Storage::Array { length, element } => {
                let (values, depth) = element.extent();
                (length.saturating_mul(values).max(1), depth + 1)
            }
            Storage::Struct(fields) => fields.list.iter().fold((1, 1), |(sum, deepest), field| {
                let (values, depth) = field.plan.extent();
                (values.saturating_add(sum), deepest.max(depth + 1))
            }),
            _ => (self.size.max(1), 1),
        }
    }
}

/// The dtype of a part, for a message.
impl fmt::Display for Plan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.storage, self.dtype.kind()) {
            (Storage::Struct(fields), _) => write!(f, "a struct of {} fields", fields.list.len()),
            (Storage::Array { length, .. }, Kind::Subarray(_)) => write!(f, "an array of {length}"),
            _ => write!(f, "{}", self.dtype.type_string()),
        }
    }
}

/// The values of a part, in order, with their offsets. Reading and writing both use this list. So they give the same
/// errors for a Rust type with more, fewer or other values than the part.
pub(super) struct Parts<'p, 'd> {
    list: List<'p, 'd>,
    pub(super) length: usize,
    pub(super) next: usize,
    /// Whether the last values may be padding. If so, the Rust type can have fewer values than the part.
    is_padded: bool,
}

enum List<'p, 'd> {
    Elements(&'p mut Plan<'d>),
    /// The fields that have not been read or written yet.
    Fields(&'p mut [FieldPlan<'d>], &'p mut FieldOrder<'d>),
}

impl<'p, 'd> Parts<'p, 'd> {
    /// The values of a part, for a Rust type that reads or writes them in order, without names. `count` is the number
    /// of values of the Rust type, if it is known. `is_list` means that the Rust type can have any number of values.
    pub(super) fn by_position(
        plan: &'p mut Plan<'d>,
        count: Option<usize>,
        is_list: bool,
        found: impl fmt::Display,
    ) -> Result<Self, ItemError> {
        let is_padded = is_list && matches!(plan.storage, Storage::Bytes(_));
        let (list, length) = match plan.storage {
            Storage::Array { length, ref mut element } => (List::Elements(element), length),
            Storage::Bytes(ref mut byte) | Storage::Raw(ref mut byte) => (List::Elements(byte), plan.size),
            Storage::Struct(ref mut fields) => {
                fields.sort_as_in_dtype();
                let length = fields.list.len();
                (List::Fields(&mut fields.list, &mut fields.order), length)
            }
            _ => return plan.mismatch(found),
        };
        match count {
            Some(count) if count > length || count < length && !is_padded => {
                Err(ItemError::wrong_number(length, count))
            }
            _ => Ok(Self { list, length, next: 0, is_padded }),
        }
    }

    /// The values of the fields, in the current order of the fields.
    #[inline(always)]
    pub(super) fn of_fields(fields: &'p mut Fields<'d>) -> Self {
        let length = fields.list.len();
        Self { list: List::Fields(&mut fields.list, &mut fields.order), length, next: 0, is_padded: false }
    }

    /// The plan of a single byte, if the part is an `S` and the Rust type can have fewer values than the `S` has bytes.
    /// `None` otherwise.
    pub(super) fn padded(&self) -> Option<&Plan<'d>> {
        match &self.list {
            List::Elements(byte) if self.is_padded => Some(byte),
            _ => None,
        }
    }

    /// Makes the field with this name the next value. The fields stay in the new order for the next item. The next item
    /// usually needs its fields in the same order, and then no search is needed.
    #[inline]
    pub(super) fn select(&mut self, name: &str) -> Result<(), ItemError> {
        match &mut self.list {
            List::Fields([field, ..], _) if is_named(field.field, name) => Ok(()),
            List::Fields(rest, order) => order.swap_in(name, rest),
            List::Elements(_) => Err(ItemError::only_in_type(name)),
        }
    }

    /// The name of the next field of the dtype, or its title if only the title is in `names`, the field names of a Rust
    /// struct.
    pub(super) fn key(&self, names: &[&str]) -> Option<&'d str> {
        match &self.list {
            List::Fields([field, ..], _) => Some(field.key(names)),
            _ => None,
        }
    }

    /// The plan, offset and place of the next value.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<(&mut Plan<'d>, usize, PlaceInPart<'d>)> {
        let number = self.next;
        match &mut self.list {
            List::Fields(rest, _) => {
                let (FieldPlan { plan, offset, field, .. }, left) = mem::take(rest).split_first_mut()?;
                *rest = left;
                self.next += 1;
                Some((plan, *offset, PlaceInPart::Field(field)))
            }
            List::Elements(element) if number < self.length => {
                self.next += 1;
                let offset = number * element.size;
                Some((element, offset, PlaceInPart::Element(number)))
            }
            List::Elements(_) => None,
        }
    }

    /// Fails if some values have not been read or written.
    #[inline(always)]
    pub(super) fn end(&self) -> Result<(), ItemError> {
        match &self.list {
            _ if self.next == self.length => Ok(()),
            List::Fields([FieldPlan { field, .. }, ..], _) => Err(ItemError::only_in_dtype(field.name())),
            _ => Err(ItemError::wrong_number(self.length, self.next)),
        }
    }
}

/// The fields of a structured dtype, in the order in which the Rust type has them.
#[derive(Clone, Debug)]
pub(super) struct Fields<'d> {
    list: Vec<FieldPlan<'d>>,
    order: FieldOrder<'d>,
}

#[derive(Clone, Debug)]
struct FieldOrder<'d> {
    in_dtype: &'d [Field],
    /// Whether the fields are in the order of the dtype.
    is_sorted: bool,
    /// The field names of the latest Rust struct that has all fields of the dtype. If the struct has only these fields,
    /// `Fields::list` is in the order of the struct.
    matched: Option<&'static [&'static str]>,
}

#[derive(Clone, Debug)]
struct FieldPlan<'d> {
    field: &'d Field,
    plan: Plan<'d>,
    offset: usize,
}

impl<'d> FieldPlan<'d> {
    /// The name of the field, or its title if only the title is in `names`, the field names of a Rust struct.
    fn key(&self, names: &[&str]) -> &'d str {
        match self.field.title() {
            Some(title) if names.contains(&title) && !names.contains(&self.field.name()) => title,
            _ => self.field.name(),
        }
    }
}

impl<'d> Fields<'d> {
    fn new(fields: &'d [Field]) -> Result<Self, ItemError> {
        let plan = |field: &'d Field| {
            let plan = Plan::build(field.dtype()).map_err(|error| error.at(PlaceInPart::Field(field)))?;
            Ok(FieldPlan { field, plan, offset: field.offset() })
        };
        let list = fields.iter().map(plan).collect::<Result<_, ItemError>>()?;
        Ok(Self { list, order: FieldOrder { in_dtype: fields, is_sorted: true, matched: None } })
    }

    /// Sorts the fields into the order of the dtype.
    #[inline]
    pub(super) fn sort_as_in_dtype(&mut self) {
        if !self.order.is_sorted {
            // The fields are one slice in the dtype, so their addresses are in the order of the dtype.
            self.list.sort_by_key(|field| ptr::from_ref(field.field));
            (self.order.is_sorted, self.order.matched) = (true, None);
        }
    }

    /// If the dtype has every field of a Rust struct, sorts the fields into the order of the struct and returns `true`.
    /// Otherwise returns `false`. A field that only the dtype has is an error.
    #[inline]
    pub(super) fn sort_as_in_struct(&mut self, names: &'static [&'static str]) -> Result<bool, ItemError> {
        // A Rust struct always passes the same static slice of field names. So if the address is equal, the names of
        // this struct have been matched already.
        if !self.order.matched.is_some_and(|matched| ptr::eq(matched, names)) {
            self.match_names(names)?;
        }
        // At this point, every field of the dtype is in the struct, and no name or title occurs twice in a dtype. So if
        // the struct has as many field names as the dtype has fields, the dtype has every field of the struct.
        Ok(self.list.len() == names.len())
    }

    #[cold]
    fn match_names(&mut self, names: &'static [&'static str]) -> Result<(), ItemError> {
        if let Some(field) = self.list.iter().find(|field| !names.contains(&field.key(names))) {
            return Err(ItemError::not_in_struct(field.field.name()));
        }
        if self.list.len() == names.len() {
            self.list.sort_by_cached_key(|field| names.iter().position(|name| *name == field.key(names)));
            self.order.is_sorted = false;
        }
        self.order.matched = Some(names);
        Ok(())
    }
}

fn is_named(field: &Field, name: &str) -> bool {
    field.name() == name || field.title() == Some(name)
}

impl FieldOrder<'_> {
    #[cold]
    fn swap_in(&mut self, name: &str, rest: &mut [FieldPlan<'_>]) -> Result<(), ItemError> {
        if let Some(index) = rest.iter().position(|field| is_named(field.field, name)) {
            rest.swap(0, index);
            (self.is_sorted, self.matched) = (false, None);
            return Ok(());
        }
        if self.in_dtype.iter().any(|field| is_named(field, name)) {
            return Err(ItemError::new(format_args!("the type has the field {} twice", excerpt(name))));
        }
        Err(ItemError::only_in_type(name))
    }
}
