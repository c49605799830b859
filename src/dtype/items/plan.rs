//! The plan of an item: the kinds, offsets and byte orders of its parts, compiled from the dtype once for many items.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::ptr;

use super::error::{ItemError, Place};
use crate::dtype::repr::excerpt;
use crate::dtype::types::{ByteOrder, Dtype, Field, Kind};

/// The deepest nesting of an item, each dimension of a subarray counted. It bounds the stack of a type that takes any
/// depth. `serde_json` has the same limit.
const MAX_DEPTH: usize = 128;

/// The values of an item beyond 16 for each of its bytes. Empty lists have no bytes, and fields can overlap, so without
/// a limit a short item could become a value of any size.
const MAX_EXCESS: usize = 4096;

/// An item or a part of it.
#[derive(Clone, Debug)]
pub(super) struct Plan<'d> {
    pub(super) form: Form<'d>,
    /// In bytes.
    pub(super) size: usize,
    pub(super) is_big: bool,
    /// For messages.
    dtype: &'d Dtype,
}

/// The form in which a part is stored. It determines what a type can take.
#[derive(Clone, Debug)]
pub(super) enum Form<'d> {
    Bool,
    /// Signed integers, datetimes and durations, of so many bytes.
    Int(usize),
    Uint(usize),
    Float16,
    Float32,
    Float64,
    /// Bytes that NULs pad: `S`.
    Bytes,
    /// UTF-32 that NULs pad: `U`.
    Text,
    /// `V`, and numbers without a type in Rust.
    Raw,
    /// A dimension of a subarray, or the two numbers of a complex one.
    Array {
        length: usize,
        element: Box<Plan<'d>>,
    },
    Struct(Fields<'d>),
}

impl<'d> Plan<'d> {
    pub(super) fn new(dtype: &'d Dtype) -> Result<Self, ItemError> {
        let plan = Self::of(dtype)?;
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
                "an item of {size} bytes has empty lists, or fields that overlap, for {values} values, but at most {most} are read"
            )));
        }
        Ok(plan)
    }

    fn of(dtype: &'d Dtype) -> Result<Self, ItemError> {
        let size = dtype.item_size();
        let form = match (dtype.kind(), size) {
            (Kind::Bool, _) => Form::Bool,
            (Kind::Int | Kind::Datetime(_) | Kind::Timedelta(_), _) => Form::Int(size),
            (Kind::Uint, _) => Form::Uint(size),
            (Kind::Float, 2) => Form::Float16,
            (Kind::Float, 4) => Form::Float32,
            (Kind::Float, 8) => Form::Float64,
            (Kind::Complex, _) => {
                let form = match size {
                    8 => Form::Float32,
                    16 => Form::Float64,
                    _ => Form::Raw,
                };
                Form::Array { length: 2, element: Box::new(Self::part(dtype, form, size / 2)) }
            }
            (Kind::Bytes, _) => Form::Bytes,
            (Kind::Str, _) => Form::Text,
            (Kind::Object, _) => {
                return Err(ItemError::new(
                    "the dtype is |O: Python objects are pointers, which mean nothing in a file",
                ));
            }
            (Kind::Subarray(subarray), _) => {
                let mut plan = Self::of(subarray.base())?;
                for &length in subarray.shape().iter().rev() {
                    let size = plan.size.saturating_mul(length);
                    plan = Self::part(dtype, Form::Array { length, element: Box::new(plan) }, size);
                }
                return Ok(plan);
            }
            (Kind::Struct(parts), _) => Form::Struct(Fields::new(parts.fields())?),
            (Kind::Float | Kind::Void | Kind::Extension(_), _) => Form::Raw,
        };
        Ok(Self::part(dtype, form, size))
    }

    fn part(dtype: &'d Dtype, form: Form<'d>, size: usize) -> Self {
        Self { form, size, is_big: dtype.byte_order() == Some(ByteOrder::Big), dtype }
    }

    /// The plan of the content of a newtype if it is not this one: `half::f16` is a newtype of its bits.
    pub(super) fn of_newtype(&self, name: &str) -> Option<Self> {
        let is_half = name == "f16" && matches!(self.form, Form::Float16);
        is_half.then_some(Self { form: Form::Uint(2), ..*self })
    }

    /// The error of a type that takes or gives something else than the dtype.
    #[cold]
    pub(super) fn mismatch(&self, verb: &str, what: impl fmt::Display) -> ItemError {
        ItemError::new(format_args!("the dtype is {self}, but the type {verb} {what}"))
    }

    /// The number of values, with each byte of a text as one, and the levels of nesting.
    fn extent(&self) -> (usize, usize) {
        match &self.form {
            Form::Array { length, element } => {
                let (values, depth) = element.extent();
                (length.saturating_mul(values).max(1), depth + 1)
            }
            Form::Struct(fields) => fields.list.iter().fold((1, 1), |(sum, deepest), field| {
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
        match (&self.form, self.dtype.kind()) {
            (Form::Struct(fields), _) => write!(f, "a struct of {} fields", fields.list.len()),
            (Form::Array { length, .. }, Kind::Subarray(_)) => write!(f, "an array of {length}"),
            _ => write!(f, "{}", self.dtype.type_string()),
        }
    }
}

/// The values of a part, one after the other. What reading and writing have in common: which values there are, where
/// they are, and what is wrong with a type that has others.
pub(super) struct Parts<'p, 'd> {
    list: List<'p, 'd>,
    pub(super) length: usize,
    pub(super) next: usize,
    /// Whether the last values can be padding, which the type leaves out.
    is_padded: bool,
    /// What the type does with values: it takes or gives them.
    verb: &'static str,
}

enum List<'p, 'd> {
    Elements(&'p mut Plan<'d>),
    Fields(&'p mut Fields<'d>),
    /// The plan of a byte.
    Bytes(Plan<'d>),
}

impl<'p, 'd> Parts<'p, 'd> {
    /// The values by position, for a type that has `count` of them. `is_list` if their number is not part of the type.
    pub(super) fn by_position(
        plan: &'p mut Plan<'d>,
        verb: &'static str,
        count: Option<usize>,
        is_list: bool,
        what: impl fmt::Display,
    ) -> Result<Self, ItemError> {
        let is_padded = is_list && matches!(plan.form, Form::Bytes);
        let byte = Plan { form: Form::Uint(1), size: 1, ..*plan };
        let (list, length) = match plan.form {
            Form::Array { length, ref mut element } => (List::Elements(element), length),
            Form::Bytes | Form::Raw => (List::Bytes(byte), plan.size),
            Form::Struct(ref mut fields) => {
                fields.sort_as_in_dtype();
                let length = fields.list.len();
                (List::Fields(fields), length)
            }
            _ => return Err(plan.mismatch(verb, what)),
        };
        let parts = Self { list, length, next: 0, is_padded, verb };
        match count {
            Some(count) if count > length || count < length && !is_padded => Err(parts.wrong_number(count)),
            _ => Ok(parts),
        }
    }

    /// The values of fields in their present order.
    #[inline]
    pub(super) fn of_fields(fields: &'p mut Fields<'d>, verb: &'static str) -> Self {
        let length = fields.list.len();
        Self { list: List::Fields(fields), length, next: 0, is_padded: false, verb }
    }

    /// The dtype of values that can be fewer than its bytes.
    pub(super) fn padded(&self) -> Option<&Plan<'d>> {
        match &self.list {
            List::Bytes(byte) if self.is_padded => Some(byte),
            _ => None,
        }
    }

    #[cold]
    pub(super) fn wrong_number(&self, count: usize) -> ItemError {
        let Self { length, verb, .. } = self;
        ItemError::new(format_args!("the dtype has {length} values, but the type {verb} {count}"))
    }

    /// Makes the field with this name the next value.
    #[inline]
    pub(super) fn select(&mut self, name: &str) -> Result<(), ItemError> {
        match &mut self.list {
            List::Fields(fields) => fields.select(name, self.next),
            _ => Err(ItemError::only_in_type(name)),
        }
    }

    /// The name of the next field for a struct with these fields.
    pub(super) fn key(&self, names: &[&str]) -> Option<&'d str> {
        match &self.list {
            List::Fields(fields) => fields.list.get(self.next).map(|field| field.key(names)),
            _ => None,
        }
    }

    /// The plan, offset and place of the next value.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<(&mut Plan<'d>, usize, Place<'d>)> {
        let number = self.next;
        if number == self.length {
            return None;
        }
        self.next += 1;
        let element = match &mut self.list {
            List::Fields(fields) => {
                let FieldPlan { plan, offset, field, .. } = fields.list.get_mut(number)?;
                return Some((plan, *offset, Place::Field(field.name())));
            }
            List::Elements(element) => element,
            List::Bytes(byte) => byte,
        };
        let offset = number * element.size;
        Some((element, offset, Place::Element(number)))
    }

    /// Fails if values remain.
    #[inline]
    pub(super) fn end(&self) -> Result<(), ItemError> {
        if self.next == self.length {
            return Ok(());
        }
        Err(self.key(&[]).map_or_else(|| self.wrong_number(self.next), ItemError::only_in_dtype))
    }
}

/// The fields of a struct, in the order in which the type takes them.
#[derive(Clone, Debug)]
pub(super) struct Fields<'d> {
    list: Vec<FieldPlan<'d>>,
    /// Whether the order is that of the dtype.
    is_sorted: bool,
    /// The latest struct that has these fields. If it has no others, the order is that of the struct.
    matched: Option<&'static [&'static str]>,
}

#[derive(Clone, Debug)]
struct FieldPlan<'d> {
    field: &'d Field,
    plan: Plan<'d>,
    offset: usize,
    /// The position in the dtype.
    position: usize,
}

impl<'d> FieldPlan<'d> {
    fn is_named(&self, name: &str) -> bool {
        self.field.name() == name || self.field.title() == Some(name)
    }

    /// The name or title by which a struct with these fields has the field.
    fn key(&self, names: &[&str]) -> &'d str {
        match self.field.title() {
            Some(title) if names.contains(&title) && !names.contains(&self.field.name()) => title,
            _ => self.field.name(),
        }
    }
}

impl<'d> Fields<'d> {
    fn new(fields: &'d [Field]) -> Result<Self, ItemError> {
        let plan = |(position, field): (usize, &'d Field)| {
            let plan = Plan::of(field.dtype()).map_err(|error| error.at(Place::Field(field.name())))?;
            Ok(FieldPlan { field, plan, offset: field.offset(), position })
        };
        let list = fields.iter().enumerate().map(plan).collect::<Result<_, ItemError>>()?;
        Ok(Self { list, is_sorted: true, matched: None })
    }

    /// Sorts the fields as in the dtype.
    #[inline]
    pub(super) fn sort_as_in_dtype(&mut self) {
        if !self.is_sorted {
            self.list.sort_by_key(|field| field.position);
            (self.is_sorted, self.matched) = (true, None);
        }
    }

    /// Sorts the fields as a struct has them. Returns whether it has no others; if it has, the order is any.
    #[inline]
    pub(super) fn sort_as_in_struct(&mut self, names: &'static [&'static str]) -> Result<bool, ItemError> {
        // The names of a type are one static slice, so its address is enough.
        if !self.matched.is_some_and(|matched| ptr::eq(matched, names)) {
            self.match_names(names)?;
        }
        // Names and titles are distinct in a dtype, so as many names are all of them.
        Ok(self.list.len() == names.len())
    }

    #[cold]
    fn match_names(&mut self, names: &'static [&'static str]) -> Result<(), ItemError> {
        if let Some(field) = self.list.iter().find(|field| !names.contains(&field.key(names))) {
            return Err(ItemError::only_in_dtype(field.field.name()));
        }
        if self.list.len() == names.len() {
            self.list.sort_by_cached_key(|field| names.iter().position(|name| *name == field.key(names)));
            self.is_sorted = false;
        }
        self.matched = Some(names);
        Ok(())
    }

    /// Makes the field with this name the next one, after `written` others. Values of a type come in the same order,
    /// which the list takes over: the next item needs no search.
    #[inline]
    fn select(&mut self, name: &str, written: usize) -> Result<(), ItemError> {
        if self.list.get(written).is_some_and(|field| field.is_named(name)) {
            return Ok(());
        }
        self.swap_in(name, written)
    }

    #[cold]
    fn swap_in(&mut self, name: &str, written: usize) -> Result<(), ItemError> {
        match self.list.iter().position(|field| field.is_named(name)) {
            Some(index) if index >= written => {
                self.list.swap(index, written);
                (self.is_sorted, self.matched) = (false, None);
                Ok(())
            }
            Some(_) => Err(ItemError::new(format_args!("the type has the field {} twice", excerpt(name)))),
            None => Err(ItemError::only_in_type(name)),
        }
    }
}
