//! Where the fields of a structured dtype lie: from what is written to the dtype that it means.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::iter;

use super::error::{ParseErrorKind, Problem};
use super::literal::excerpt;
use super::syntax::{At, DictForm, FieldForm, Form, Shape};
use super::{ByteOrder, Dtype, Field, Kind, MAX_ITEM_SIZE, MAX_NDIM, Spelling, Struct, Subarray, scalar};

/// The dtype that a form means. Within an aligned one everything is aligned, whatever it says itself.
///
/// As in the grammar, only what is on the way to the dtypes inside stays on the stack.
pub(super) fn dtype(form: At<Form>, aligned: bool) -> Result<Dtype, Problem> {
    match form.is {
        Form::Scalar(dtype) => Ok(dtype),
        Form::Subarray(base, shape) => subarray(dtype(*base, aligned)?, shape),
        Form::List(fields) => structure(form.at, members(named(fields), aligned)?, None, aligned),
        Form::Dict(dict) => {
            let (item_size, aligned) = (dict.item_size, aligned || dict.aligned);
            structure(form.at, members(fields(*dict)?, aligned)?, item_size, aligned)
        }
        // NumPy reads the fields of a record by themselves.
        Form::Record(base) => Ok(record(dtype(*base, false)?)),
    }
}

/// NumPy keeps the alignment of mere bytes.
fn record(mut dtype: Dtype) -> Dtype {
    dtype.alignment = 1;
    if let Kind::Struct(parts) = &mut dtype.kind {
        parts.is_record = true;
    }
    dtype
}

#[inline(never)]
fn subarray(base: Dtype, shape: At<Shape>) -> Result<Dtype, Problem> {
    let At { at, is: shape } = shape;
    // What NumPy calls unsized: a type that still waits for its size.
    let is_unsized = base.item_size == 0 && !matches!(base.kind, Kind::Struct(_));
    let shape = match shape {
        Shape::Number(0) if is_unsized => return Ok(base),
        Shape::Number(size) if is_unsized && !matches!(base.kind, Kind::Subarray(_)) => {
            let order = base.byte_order.unwrap_or(ByteOrder::Little);
            return scalar::numpy(base.kind.letter(), size, order).ok_or_else(|| too_large(at));
        }
        _ if is_unsized => return Err(layout(at, "an item of the subarray has no size".into())),
        Shape::Tuple(shape) if shape.is_empty() => return Ok(base),
        Shape::Tuple(shape) => shape,
        Shape::Number(length) => iter::once(length).collect(),
    };
    if shape.len() > MAX_NDIM {
        let message = format!("more than {MAX_NDIM} dimensions");
        return Err(Problem::refused(at, ParseErrorKind::TooDeep, message));
    }
    Ok(Dtype {
        item_size: size_of_items(base.item_size, &shape).ok_or_else(|| too_large(at))?,
        alignment: base.alignment,
        byte_order: None,
        kind: Kind::Subarray(Subarray { base: Box::new(base), shape: shape.into_boxed_slice() }),
        spelling: Spelling::TypeString,
    })
}

/// With a zero in the shape there are no items, however large the other dimensions are.
fn size_of_items(item_size: usize, shape: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    let size = shape.iter().try_fold(item_size, |size, &length| size.checked_mul(length))?;
    (size <= MAX_ITEM_SIZE).then_some(size)
}

/// A field before the fields in front of it have given it its offset.
struct Member {
    at: usize,
    name: String,
    title: Option<String>,
    dtype: Dtype,
    offset: Option<At<usize>>,
}

fn members(fields: Vec<At<FieldForm>>, aligned: bool) -> Result<Vec<Member>, Problem> {
    let mut members = Vec::with_capacity(fields.len());
    for At { at, is: field } in fields {
        let FieldForm { name, title, offset, format } = field;
        let dtype = dtype(format, aligned)?;
        members.push(Member { at, name, title, dtype, offset });
    }
    Ok(members)
}

/// In a list, a field without a name is given one.
fn named(mut fields: Vec<At<FieldForm>>) -> Vec<At<FieldForm>> {
    for (index, At { is: field, .. }) in fields.iter_mut().enumerate() {
        if field.name.is_empty() {
            // NumPy names it by its title, and then finds that name taken by the title.
            field.name = field.title.clone().unwrap_or_else(|| format!("f{index}"));
        }
    }
    fields
}

/// The fields of a dictionary, whose parts stand in lists of their own there.
#[inline(never)]
fn fields(dict: DictForm) -> Result<Vec<At<FieldForm>>, Problem> {
    let count = dict.names.len();
    same_count(count, "formats", &dict.formats)?;
    if let Some(offsets) = &dict.offsets {
        same_count(count, "offsets", offsets)?;
    }
    if let Some(titles) = &dict.titles {
        same_count(count, "titles", titles)?;
    }
    let mut offsets = dict.offsets.into_iter().flat_map(|offsets| offsets.is);
    let mut titles = dict.titles.into_iter().flat_map(|titles| titles.is);
    let fields = dict.names.into_iter().zip(dict.formats.is).map(|(name, format)| {
        let title = titles.next().flatten();
        At { at: name.at, is: FieldForm { name: name.is, title, offset: offsets.next(), format } }
    });
    Ok(fields.collect())
}

fn same_count<T>(names: usize, key: &str, values: &At<Vec<T>>) -> Result<(), Problem> {
    let count = values.is.len();
    if count == names {
        return Ok(());
    }
    let entries = if count == 1 { "entry" } else { "entries" };
    let message = format!("'{key}' has {count} {entries}, but 'names' has {names}");
    Err(Problem::refused(values.at, ParseErrorKind::Layout, message))
}

/// Lays the fields out. Where no offset is given, one follows the other, from one multiple of its alignment to the next
/// if the dtype is aligned.
#[inline(never)]
fn structure(
    at: usize,
    members: Vec<Member>,
    item_size: Option<At<usize>>,
    aligned: bool,
) -> Result<Dtype, Problem> {
    refuse_duplicates(&members)?;
    let mut end = 0;
    let mut alignment = 1;
    let mut fields = Vec::with_capacity(members.len());
    let mut places = Vec::with_capacity(members.len());
    for member in members {
        let Member { at, dtype, .. } = member;
        let step = if aligned { dtype.alignment } else { 1 };
        let offset = match member.offset {
            Some(offset) if offset.is % step != 0 => {
                let message = format!("offset {} is no multiple of the alignment {step}", offset.is);
                return Err(layout(offset.at, message));
            }
            Some(offset) => offset.is,
            None => round_up(end, step).ok_or_else(|| too_large(at))?,
        };
        let field_end = offset.checked_add(dtype.item_size).filter(|&end| end <= MAX_ITEM_SIZE);
        let field_end = field_end.ok_or_else(|| too_large(at))?;
        end = end.max(field_end);
        alignment = alignment.max(step);
        places.push(Place { offset, end: field_end, at, has_objects: dtype.has_objects() });
        fields.push(Field { name: member.name.into(), title: member.title.map(Into::into), offset, dtype });
    }
    refuse_overlapping_objects(places)?;
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

/// The size that is given, if it is one that the fields can have.
fn wide_enough(given: &At<usize>, needed: usize, alignment: usize) -> Result<usize, Problem> {
    let item_size = given.is;
    if item_size < needed {
        let message = format!("itemsize {item_size} is less than the {needed} bytes of the fields");
        return Err(layout(given.at, message));
    }
    if item_size % alignment != 0 {
        let message = format!("itemsize {item_size} is no multiple of the alignment {alignment}");
        return Err(layout(given.at, message));
    }
    Ok(item_size)
}

fn round_up(offset: usize, alignment: usize) -> Option<usize> {
    offset.checked_next_multiple_of(alignment).filter(|&offset| offset <= MAX_ITEM_SIZE)
}

/// A field can be asked for by its title too, so both have to be its own.
fn refuse_duplicates(members: &[Member]) -> Result<(), Problem> {
    let mut taken = BTreeSet::new();
    for member in members {
        for key in iter::once(&member.name).chain(&member.title) {
            if !taken.insert(key) {
                let message = format!("the name or title {} occurs more than once", excerpt(key));
                return Err(Problem::refused(member.at, ParseErrorKind::DuplicateField, message));
            }
        }
    }
    Ok(())
}

struct Place {
    offset: usize,
    end: usize,
    at: usize,
    has_objects: bool,
}

/// Fields may overlap, but not where one of them has Python objects in it.
fn refuse_overlapping_objects(mut places: Vec<Place>) -> Result<(), Problem> {
    if !places.iter().any(|place| place.has_objects) {
        return Ok(());
    }
    places.sort_by_key(|place| (place.offset, place.end));
    let (mut end, mut end_of_objects) = (0, 0);
    for place in places {
        let taken = if place.has_objects { end } else { end_of_objects };
        if place.offset < taken {
            return Err(layout(place.at, "the field overlaps another one of objects".into()));
        }
        end = end.max(place.end);
        if place.has_objects {
            end_of_objects = end_of_objects.max(place.end);
        }
    }
    Ok(())
}

fn layout(at: usize, message: String) -> Problem {
    Problem::refused(at, ParseErrorKind::Layout, message)
}

fn too_large(at: usize) -> Problem {
    let message = format!("an item is larger than {MAX_ITEM_SIZE} bytes");
    Problem::refused(at, ParseErrorKind::TooLarge, message)
}
