//! Converts a parsed form to a `Dtype`, and computes the offset of each field.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::iter;

use super::error::{ErrorKind, ParseError};
use super::repr::excerpt;
use super::scalar;
use super::syntax::{DictForm, FieldForm, Form, Shape, Spanned};
use super::types::{
    ByteOrder, Dtype, Field, Kind, MAX_ITEM_SIZE, MAX_SUBARRAY_NDIM, Spelling, Struct, Subarray,
};

/// How a field gets its offset if the dtype does not state one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Spacing {
    Packed,
    Aligned,
    /// An unnamed field of bytes, such as `('', '|V3')`, is padding before the next field, as in the `descr` of NumPy's
    /// files.
    Padded,
}

/// The dtype of a form. Every form inside an aligned dtype is aligned, even a dictionary with `'aligned': False`. The
/// only exception is a form inside a record.
// For nested dtypes, `dtype` and `members` call each other, so their stack frames must be small. That is why long code
// that does not recurse is in functions that are never inlined.
pub(super) fn dtype(form: Spanned<Form>, spacing: Spacing) -> Result<Dtype, ParseError> {
    match form.value {
        Form::Scalar(dtype) => Ok(dtype),
        Form::Subarray(base, shape) => subarray(dtype(*base, spacing)?, shape),
        Form::List(fields) if spacing == Spacing::Padded => padded(form.at, members(fields, spacing)?),
        Form::List(fields) => structure(form.at, members(named(fields), spacing)?, None, spacing),
        Form::Dict(dict) => {
            let (item_size, spacing) =
                (dict.item_size, if dict.aligned { Spacing::Aligned } else { spacing });
            structure(form.at, members(fields(*dict)?, spacing)?, item_size, spacing)
        }
        // As in NumPy, an aligned dtype around a record does not align the fields of the record.
        Form::Record(base) => Ok(record(dtype(*base, Spacing::Packed)?)),
    }
}

/// Makes a dtype a record. Its alignment becomes 1, as in NumPy.
fn record(mut dtype: Dtype) -> Dtype {
    dtype.alignment = 1;
    if let Kind::Struct(parts) = &mut dtype.kind {
        parts.is_record = true;
    }
    dtype
}

#[inline(never)]
fn subarray(base: Dtype, shape: Spanned<Shape>) -> Result<Dtype, ParseError> {
    let Spanned { at, value: shape } = shape;
    // NumPy calls a type of 0 bytes, such as `S`, unsized.
    let is_unsized = base.item_size == 0 && !matches!(base.kind, Kind::Struct(_));
    // After an unsized base, a number is not a shape but the size of the base: `('S', 5)` is `S5`.
    let shape = match shape {
        // A size of 0 changes nothing: `('S', 0)` is `S`.
        Shape::Number(0) if is_unsized => return Ok(base),
        Shape::Number(size) if is_unsized && !matches!(base.kind, Kind::Subarray(_)) => {
            let order = base.byte_order.unwrap_or(ByteOrder::Little);
            return scalar::numpy(base.kind.letter(), size, order).ok_or_else(|| too_large(at));
        }
        _ if is_unsized => {
            return Err(contradiction(at, "the items of a subarray must have a size, as in 'S5'".into()));
        }
        // An empty shape makes no subarray: `('<i4', ())` is `<i4`.
        Shape::Tuple(shape) if shape.is_empty() => return Ok(base),
        Shape::Tuple(shape) => shape,
        Shape::Number(length) => iter::once(length).collect(),
    };
    if shape.len() > MAX_SUBARRAY_NDIM {
        let message = format!("the subarray has more than {MAX_SUBARRAY_NDIM} dimensions");
        return Err(ParseError::refused(at, ErrorKind::TooDeep, message));
    }
    Ok(Dtype {
        item_size: size_of_items(base.item_size, &shape).ok_or_else(|| too_large(at))?,
        alignment: base.alignment,
        byte_order: None,
        kind: Kind::Subarray(Subarray { base: Box::new(base), shape: shape.into_boxed_slice() }),
        spelling: Spelling::TypeString,
    })
}

/// The size of all items of a subarray in bytes. It is 0 if the shape contains a 0, whatever the other dimensions are.
fn size_of_items(item_size: usize, shape: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    let size = shape.iter().try_fold(item_size, |size, &length| size.checked_mul(length))?;
    (size <= MAX_ITEM_SIZE).then_some(size)
}

/// A field before its offset is computed.
struct Member {
    at: usize,
    name: String,
    title: Option<String>,
    dtype: Dtype,
    offset: Option<Spanned<usize>>,
}

fn members(fields: Vec<Spanned<FieldForm>>, spacing: Spacing) -> Result<Vec<Member>, ParseError> {
    let mut members = Vec::with_capacity(fields.len());
    for Spanned { at, value: field } in fields {
        let FieldForm { name, title, offset, format } = field;
        let dtype = dtype(format, spacing)?;
        members.push(Member { at, name, title, dtype, offset });
    }
    Ok(members)
}

/// Gives a name to each unnamed field of a list: `f` and its index.
fn named(mut fields: Vec<Spanned<FieldForm>>) -> Vec<Spanned<FieldForm>> {
    for (index, Spanned { value: field, .. }) in fields.iter_mut().enumerate() {
        if field.name.is_empty() {
            // NumPy uses the title of an unnamed field as its name, and then rejects the dtype because title and name
            // are equal. This crate also copies the title, and `refuse_duplicates` then rejects the dtype.
            field.name = field.title.clone().unwrap_or_else(|| format!("f{index}"));
        }
    }
    fields
}

/// A structured dtype of a `descr`, in which unnamed fields of bytes are padding.
#[inline(never)]
fn padded(at: usize, mut members: Vec<Member>) -> Result<Dtype, ParseError> {
    let mut end: usize = 0;
    members.retain_mut(|member| {
        member.offset = Some(Spanned { at: member.at, value: end });
        // `structure` rejects a size that is too large.
        end = end.saturating_add(member.dtype.item_size);
        !(member.name.is_empty() && matches!(member.dtype.kind, Kind::Void))
    });
    structure(at, members, Some(Spanned { at, value: end }), Spacing::Packed)
}

/// The fields of a dictionary, from its lists of names, formats, offsets and titles.
#[inline(never)]
fn fields(dict: DictForm) -> Result<Vec<Spanned<FieldForm>>, ParseError> {
    let count = dict.names.len();
    same_count(count, "formats", &dict.formats)?;
    if let Some(offsets) = &dict.offsets {
        same_count(count, "offsets", offsets)?;
    }
    if let Some(titles) = &dict.titles {
        same_count(count, "titles", titles)?;
    }
    let mut offsets = dict.offsets.into_iter().flat_map(|offsets| offsets.value);
    let mut titles = dict.titles.into_iter().flat_map(|titles| titles.value);
    let fields = dict.names.into_iter().zip(dict.formats.value).map(|(name, format)| {
        let title = titles.next().flatten();
        Spanned { at: name.at, value: FieldForm { name: name.value, title, offset: offsets.next(), format } }
    });
    Ok(fields.collect())
}

fn same_count<T>(names: usize, key: &str, values: &Spanned<Vec<T>>) -> Result<(), ParseError> {
    let count = values.value.len();
    if count == names {
        return Ok(());
    }
    let entries = if count == 1 { "entry" } else { "entries" };
    let message = format!("'{key}' has {count} {entries}, but 'names' has {names}");
    Err(ParseError::refused(values.at, ErrorKind::Layout, message))
}

/// A structured dtype with computed offsets. A field without an offset follows the previous field. In an aligned dtype,
/// such a field begins at the next multiple of its alignment.
#[inline(never)]
fn structure(
    at: usize,
    members: Vec<Member>,
    item_size: Option<Spanned<usize>>,
    spacing: Spacing,
) -> Result<Dtype, ParseError> {
    let aligned = spacing == Spacing::Aligned;
    refuse_duplicates(&members)?;
    let mut end = 0;
    let mut alignment = 1;
    let mut fields = Vec::with_capacity(members.len());
    let mut ranges = Vec::with_capacity(members.len());
    for member in members {
        let Member { at, dtype, .. } = member;
        // Without alignment every offset is allowed.
        let step = if aligned { dtype.alignment } else { 1 };
        let offset = match member.offset {
            Some(offset) if offset.value % step != 0 => {
                let message = format!("offset {} is not a multiple of the alignment {step}", offset.value);
                return Err(contradiction(offset.at, message));
            }
            Some(offset) => offset.value,
            None => round_up(end, step).ok_or_else(|| too_large(at))?,
        };
        let field_end = offset.checked_add(dtype.item_size).filter(|&end| end <= MAX_ITEM_SIZE);
        let field_end = field_end.ok_or_else(|| too_large(at))?;
        // The end of the dtype is the largest end of a field, because fields of a dictionary may overlap and be in any
        // order.
        end = end.max(field_end);
        alignment = alignment.max(step);
        ranges.push(FieldRange { offset, end: field_end, at, has_objects: dtype.has_objects() });
        fields.push(Field { name: member.name.into(), title: member.title.map(Into::into), offset, dtype });
    }
    refuse_overlapping_objects(ranges)?;
    let needed = round_up(end, alignment).ok_or_else(|| too_large(at))?;
    Ok(Dtype {
        item_size: match item_size {
            Some(item_size) => wide_enough(&item_size, needed, alignment)?,
            None => needed,
        },
        alignment,
        byte_order: None,
        kind: Kind::Struct(Struct {
            fields: fields.into_boxed_slice(),
            is_aligned: aligned,
            is_record: false,
        }),
        spelling: Spelling::TypeString,
    })
}

/// Checks that the stated item size is a multiple of the alignment, and not less than `needed`, the number of bytes
/// that the fields need.
fn wide_enough(given: &Spanned<usize>, needed: usize, alignment: usize) -> Result<usize, ParseError> {
    let item_size = given.value;
    if item_size < needed {
        let message = format!("itemsize {item_size} is less than the {needed} bytes of the fields");
        return Err(contradiction(given.at, message));
    }
    if item_size % alignment != 0 {
        let message = format!("itemsize {item_size} is not a multiple of the alignment {alignment}");
        return Err(contradiction(given.at, message));
    }
    Ok(item_size)
}

fn round_up(offset: usize, alignment: usize) -> Option<usize> {
    offset.checked_next_multiple_of(alignment).filter(|&offset| offset <= MAX_ITEM_SIZE)
}

/// Rejects a name or title that occurs twice, because a field can be looked up by its name and by its title.
fn refuse_duplicates(members: &[Member]) -> Result<(), ParseError> {
    let mut taken = BTreeSet::new();
    for member in members {
        for key in iter::once(&member.name).chain(&member.title) {
            if !taken.insert(key) {
                let message = format!("the name or title {} occurs more than once", excerpt(key));
                return Err(ParseError::refused(member.at, ErrorKind::DuplicateField, message));
            }
        }
    }
    Ok(())
}

/// The bytes of a field.
struct FieldRange {
    offset: usize,
    end: usize,
    at: usize,
    has_objects: bool,
}

/// Rejects a field that overlaps a field with Python objects. Two fields without objects may overlap.
fn refuse_overlapping_objects(mut ranges: Vec<FieldRange>) -> Result<(), ParseError> {
    if !ranges.iter().any(|range| range.has_objects) {
        return Ok(());
    }
    // After the ranges are sorted by offset, it is enough to compare each range with the largest end of the ranges
    // before it.
    ranges.sort_by_key(|range| (range.offset, range.end));
    let (mut end, mut end_of_objects) = (0, 0);
    for range in ranges {
        // A range with objects must not overlap any earlier range. A range without objects must not overlap an earlier
        // range with objects.
        let taken = if range.has_objects { end } else { end_of_objects };
        if range.offset < taken {
            return Err(contradiction(
                range.at,
                "the field overlaps another one, and one of the two contains objects".into(),
            ));
        }
        end = end.max(range.end);
        if range.has_objects {
            end_of_objects = end_of_objects.max(range.end);
        }
    }
    Ok(())
}

fn contradiction(at: usize, message: String) -> ParseError {
    ParseError::refused(at, ErrorKind::Layout, message)
}

fn too_large(at: usize) -> ParseError {
    let message = format!("an item has more than {MAX_ITEM_SIZE} bytes");
    ParseError::refused(at, ErrorKind::TooLarge, message)
}
