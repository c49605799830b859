//! The plan of an item: the kinds, offsets and byte orders of its parts, compiled from the dtype once for many items.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::ptr;

use super::error::ItemError;
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

    /// The same bytes, as an unsigned integer.
    pub(super) fn bits(&self) -> Self {
        Self { form: Form::Uint(self.size), ..*self }
    }

    /// A byte of this part.
    pub(super) fn byte(&self) -> Self {
        Self { form: Form::Uint(1), size: 1, ..*self }
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

/// The fields of a struct, in the order in which the type takes them.
#[derive(Clone, Debug)]
pub(super) struct Fields<'d> {
    pub(super) list: Vec<FieldPlan<'d>>,
    order: FieldOrder,
}

#[derive(Clone, Debug)]
pub(super) struct FieldPlan<'d> {
    pub(super) field: &'d Field,
    pub(super) plan: Plan<'d>,
    pub(super) offset: usize,
    /// The position in the dtype.
    position: usize,
}

/// The present order of the fields.
#[derive(Clone, Copy, Debug)]
enum FieldOrder {
    /// That of the dtype.
    Dtype,
    /// That of a struct with exactly these fields.
    Struct(&'static [&'static str]),
    /// That of the dtype; a struct has all its fields and more.
    Subset(&'static [&'static str]),
    /// That of the values as written.
    Written,
}

impl<'d> FieldPlan<'d> {
    fn is_named(&self, name: &str) -> bool {
        self.field.name() == name || self.field.title() == Some(name)
    }

    /// The name of the field in a struct with these fields: its name or title in the dtype.
    pub(super) fn key(&self, names: &[&str]) -> &'d str {
        match self.field.title() {
            Some(title) if names.contains(&title) && !names.contains(&self.field.name()) => title,
            _ => self.field.name(),
        }
    }
}

impl<'d> Fields<'d> {
    fn new(fields: &'d [Field]) -> Result<Self, ItemError> {
        let plan = |(position, field): (usize, &'d Field)| {
            let plan = Plan::of(field.dtype()).map_err(|error| error.in_field(field.name()))?;
            Ok(FieldPlan { field, plan, offset: field.offset(), position })
        };
        let list = fields.iter().enumerate().map(plan).collect::<Result<_, ItemError>>()?;
        Ok(Self { list, order: FieldOrder::Dtype })
    }

    /// Sorts the fields as in the dtype.
    #[inline]
    pub(super) fn sort_as_in_dtype(&mut self) {
        if !matches!(self.order, FieldOrder::Dtype | FieldOrder::Subset(_)) {
            self.list.sort_by_key(|field| field.position);
            self.order = FieldOrder::Dtype;
        }
    }

    /// Sorts the fields as a struct has them. Returns whether it has exactly these fields; if not, the order is that of
    /// the dtype, and the struct has more fields.
    #[inline]
    pub(super) fn sort_as_in_struct(&mut self, names: &'static [&'static str]) -> Result<bool, ItemError> {
        // The names of a type are one static slice, so its address is enough.
        match self.order {
            FieldOrder::Struct(known) if ptr::eq(known, names) => Ok(true),
            FieldOrder::Subset(known) if ptr::eq(known, names) => Ok(false),
            _ => self.match_names(names),
        }
    }

    #[cold]
    fn match_names(&mut self, names: &'static [&'static str]) -> Result<bool, ItemError> {
        self.sort_as_in_dtype();
        let index = |field: &FieldPlan<'_>| {
            let key = field.key(names);
            names.iter().position(|name| *name == key)
        };
        if let Some(field) = self.list.iter().find(|field| index(field).is_none()) {
            return Err(surplus(field.field.name()));
        }
        // Names and titles are distinct in a dtype, so as many names are all of them.
        let is_exact = self.list.len() == names.len();
        self.order = if is_exact { FieldOrder::Struct(names) } else { FieldOrder::Subset(names) };
        if is_exact {
            self.list.sort_by_cached_key(index);
        }
        Ok(is_exact)
    }

    /// The field to write, after `written` others. Values of a type always come in the same order. The list takes
    /// it over, so the next item needs no search.
    #[inline]
    pub(super) fn next(&mut self, name: &str, written: usize) -> Result<&mut FieldPlan<'d>, ItemError> {
        if !self.list.get(written).is_some_and(|field| field.is_named(name)) {
            self.swap_in(name, written)?;
        }
        self.list.get_mut(written).ok_or_else(ItemError::too_short)
    }

    #[cold]
    fn swap_in(&mut self, name: &str, written: usize) -> Result<(), ItemError> {
        match self.list.iter().position(|field| field.is_named(name)) {
            Some(index) if index >= written => {
                self.list.swap(index, written);
                self.order = FieldOrder::Written;
                Ok(())
            }
            Some(_) => Err(ItemError::new(format_args!("the type has the field {} twice", excerpt(name)))),
            None => Err(ItemError::new(format_args!(
                "the type has the field {}, which the dtype does not have",
                excerpt(name)
            ))),
        }
    }

    /// Fails if fields remain after those that were written.
    pub(super) fn end(&self, written: usize) -> Result<(), ItemError> {
        self.list.get(written).map_or(Ok(()), |field| Err(surplus(field.field.name())))
    }
}

#[cold]
pub(super) fn surplus(name: &str) -> ItemError {
    ItemError::new(format_args!("the dtype has the field {}, which the type does not have", excerpt(name)))
}
