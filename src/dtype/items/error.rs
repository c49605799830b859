//! The error of an item that does not fit a Rust type, with the field of the item.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::{self, Display};

use serde::de;
use serde::ser;

use crate::dtype::repr::excerpt;
use crate::dtype::types::Field;

/// The error of an item that cannot be read as a Rust type, or of a value that cannot be written as an item.
///
/// The text names the number of the item (if there are several), the path of the field, the content or the dtype of the
/// field, and what was expected.
///
/// ```
/// use b2nd_serde::Dtype;
///
/// let dtype: Dtype = "[('ra', '<f8'), ('flags', [('level', '<i2')])]".parse()?;
/// let items = [[0; 10], [0, 0, 0, 0, 0, 0, 0, 0, 0x2c, 1]].concat();
/// let error = dtype.read_items::<(f64, (u8,))>(&items)?.nth(1).unwrap().unwrap_err();
/// assert_eq!(error.to_string(), "item 1, field flags.level: invalid value: integer `300`, expected u8");
/// assert_eq!((error.item(), error.path()), (Some(1), "flags.level"));
///
/// let error = dtype.read_item::<(f32, (i16,))>(&items[..10]).unwrap_err();
/// assert_eq!(error.to_string(), "field ra: the dtype is <f8, not f32");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
// A box, so a `Result` with it stays small.
pub struct ItemError(Box<ItemFault>);

/// The place of a value in the part that contains it.
#[derive(Clone, Copy)]
pub(super) enum PlaceInPart<'d> {
    Field(&'d Field),
    Element(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ItemFault {
    item: Option<usize>,
    path: String,
    reason: String,
}

impl ItemError {
    #[cold]
    pub(super) fn new(reason: impl Display) -> Self {
        Self(Box::new(ItemFault { item: None, path: String::new(), reason: reason.to_string() }))
    }

    /// The error for an item that is shorter than its plan. This error never occurs, because the length of the item is
    /// checked before.
    #[cold]
    pub(super) fn too_short() -> Self {
        Self::new("the item is shorter than its dtype")
    }

    #[cold]
    pub(super) fn only_in_dtype(name: &str) -> Self {
        Self::new(format_args!("the dtype has the field {}, which the type does not have", excerpt(name)))
    }

    /// The error for reading an item into a Rust struct that lacks a field of the dtype.
    #[cold]
    pub(super) fn not_in_struct(name: &str) -> Self {
        let why = Self::only_in_dtype(name).0.reason;
        Self::new(format_args!("{why}; a field of the type `serde::de::IgnoredAny` skips it"))
    }

    #[cold]
    pub(super) fn only_in_type(name: &str) -> Self {
        Self::new(format_args!("the type has the field {}, which the dtype does not have", excerpt(name)))
    }

    #[cold]
    pub(super) fn wrong_number(found: usize, count: usize) -> Self {
        Self::new(format_args!("the dtype has {found} values, but the type has {count}"))
    }

    /// The error for an iterator that gives more or fewer values than its `len`.
    #[cold]
    pub(super) fn wrong_count(said: usize, given: usize) -> Self {
        let given = if given > said { format!("more than {said}") } else { given.to_string() };
        Self::new(format_args!("the iterator said that it has {said} values, but gave {given}"))
    }

    /// Puts a place in front of the path of the error.
    #[cold]
    pub(super) fn at(mut self, place: PlaceInPart<'_>) -> Self {
        let path = &self.0.path;
        let dot = if path.is_empty() || path.starts_with('[') { "" } else { "." };
        self.0.path = match place {
            PlaceInPart::Field(field) => format!("{}{dot}{path}", field.name()),
            PlaceInPart::Element(number) => format!("[{number}]{dot}{path}"),
        };
        self
    }

    #[cold]
    pub(super) fn in_item(mut self, number: usize) -> Self {
        self.0.item = Some(number);
        self
    }

    /// The number of the item, counted from 0, if the error is about one item of several; otherwise `None`.
    #[must_use]
    pub fn item(&self) -> Option<usize> {
        self.0.item
    }

    /// The path of the field, such as `flags.level` or `position[2]`; empty if the error is about the whole item.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// What is wrong, without the number of the item and the path.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.0.reason
    }
}

impl Display for ItemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ItemFault { item, path, reason } = &*self.0;
        match (item, path.as_str()) {
            (None, "") => {}
            (Some(item), "") => write!(f, "item {item}: ")?,
            (None, path) => write!(f, "field {}: ", path.escape_debug())?,
            (Some(item), path) => write!(f, "item {item}, field {}: ", path.escape_debug())?,
        }
        f.write_str(reason)
    }
}

impl core::error::Error for ItemError {}

impl de::Error for ItemError {
    #[cold]
    fn custom<T: Display>(message: T) -> Self {
        Self::new(message)
    }

    #[cold]
    fn missing_field(name: &'static str) -> Self {
        Self::only_in_type(name)
    }
}

impl ser::Error for ItemError {
    #[cold]
    fn custom<T: Display>(message: T) -> Self {
        Self::new(message)
    }
}
