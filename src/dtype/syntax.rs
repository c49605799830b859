//! The grammar of a dtype: the subset of Python's lists, tuples and dictionaries that dtypes use.
//!
//! The parser returns the dtype as it was written, with the place of each part. `resolve` computes the offsets later,
//! because `'aligned': True` may come at the end of a dictionary, after its fields.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use winnow::Parser;
use winnow::ascii::{digit1, multispace0};
use winnow::combinator::{alt, cut_err, eof, not, opt, peek, preceded, terminated};
use winnow::error::ErrMode;
use winnow::stream::Location;
use winnow::token::{any, one_of, take_while};

use super::error::{ErrorKind, ParseError};
use super::input::{DtypeText, ParseResult};
use super::literal::string;
use super::repr::excerpt;
use super::scalar;
use super::types::{Dtype, MAX_ITEM_SIZE, MAX_NESTING};

/// A part of a dtype, and its offset in the text, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Spanned<T> {
    pub(super) at: usize,
    pub(super) value: T,
}

/// A dtype as it was written.
pub(super) enum Form {
    /// A type string such as `'<i4'`, or the name of a type of `ml_dtypes` without quotes.
    Scalar(Dtype),
    /// A subarray: `('<i4', (2, 3))`.
    Subarray(Box<Spanned<Form>>, Spanned<Shape>),
    /// A list of fields: `[('a', '<i4'), …]`.
    List(Vec<Spanned<FieldForm>>),
    /// A dictionary: `{'names': ['a', …], 'formats': ['<i4', …], …}`.
    Dict(Box<DictForm>),
    /// A record: `(numpy.record, [('a', '<i4'), …])`.
    Record(Box<Spanned<Form>>),
}

/// A field: `('a', '<i4')`, `(('title', 'a'), '<i4')` or `('a', '<i4', (2, 3))`.
pub(super) struct FieldForm {
    pub(super) name: String,
    pub(super) title: Option<String>,
    /// `None` unless the field is in a dictionary with offsets.
    pub(super) offset: Option<Spanned<usize>>,
    pub(super) format: Spanned<Form>,
}

pub(super) struct DictForm {
    pub(super) names: Vec<Spanned<String>>,
    pub(super) formats: Spanned<Vec<Spanned<Form>>>,
    pub(super) offsets: Option<Spanned<Vec<Spanned<usize>>>>,
    pub(super) titles: Option<Spanned<Vec<Option<String>>>>,
    pub(super) item_size: Option<Spanned<usize>>,
    pub(super) aligned: bool,
}

pub(super) enum Shape {
    Number(usize),
    Tuple(Vec<usize>),
}

/// Reads a dtype that begins with a bracket.
pub(super) fn parse(text: &str) -> Result<Spanned<Form>, ParseError> {
    let form = |input: &mut DtypeText<'_>| form(MAX_NESTING, input);
    terminated(form, eof.context("the end"))
        .parse(DtypeText::new(text))
        .map_err(winnow::error::ParseError::into_inner)
}

pub(super) const FORM: &str = "a type string, '[', '(' or '{'";

/// Reads a dtype. For nested dtypes, `list`, `tuple` and `dict` call this function again.
// These functions recurse, so their stack frames must be small. Therefore, all code that does not recurse is in
// functions that are never inlined.
fn form(levels: usize, input: &mut DtypeText<'_>) -> ParseResult<Spanned<Form>> {
    let at = input.current_token_start();
    let Some(levels) = levels.checked_sub(1) else { return too_deep(at) };
    let value = match first(input)? {
        '\'' | '"' => type_string(input),
        '[' => list(levels, input),
        '(' => tuple(levels, input),
        '{' => dict(levels, input),
        _ => bare_name(input),
    }?;
    Ok(Spanned { at, value })
}

#[cold]
fn too_deep<T>(at: usize) -> ParseResult<T> {
    let message = format!("dtypes are nested more than {MAX_NESTING} deep");
    Err(ErrMode::Cut(ParseError::refused(at, ErrorKind::TooDeep, message)))
}

#[inline(never)]
fn first(input: &mut DtypeText<'_>) -> ParseResult<char> {
    peek(any.context(FORM)).parse_next(input)
}

/// Reads a type string in quotes: `'<i4'`.
#[inline(never)]
fn type_string(input: &mut DtypeText<'_>) -> ParseResult<Form> {
    let start = input.current_token_start();
    let text = string(input)?;
    // A literal without escapes is 2 bytes longer than its string, because of the quotes. If the literal has escapes,
    // an offset in the string is not an offset in the literal, so an error has the offset of the start of the literal.
    let has_escapes = input.previous_token_end() - start != text.len() + 2;
    let dtype = scalar::parse(&text).map_err(|mut error| {
        error.at = if has_escapes { start } else { start + 1 + error.at };
        ErrMode::Cut(error)
    })?;
    Ok(Form::Scalar(dtype))
}

/// Reads the name of a type of `ml_dtypes`, without quotes.
#[inline(never)]
fn bare_name(input: &mut DtypeText<'_>) -> ParseResult<Form> {
    take_while(1.., |c: char| c.is_ascii_alphanumeric() || c == '_')
        .verify_map(scalar::extension)
        .context(FORM)
        .map(Form::Scalar)
        .parse_next(input)
}

/// Reads a list of fields: `[('a', '<i4'), …]`.
fn list(levels: usize, input: &mut DtypeText<'_>) -> ParseResult<Form> {
    items(']', |input| field(levels, input), input).map(Form::List)
}

/// Reads a field of a list: `('a', '<i4', (2, 3))`.
fn field(levels: usize, input: &mut DtypeText<'_>) -> ParseResult<Spanned<FieldForm>> {
    let at = input.current_token_start();
    let (title, name) = beginning_of_field(input)?;
    let format = form(levels, input)?;
    let format = rest_of_field(format, input)?;
    Ok(Spanned { at, value: FieldForm { name, title, offset: None, format } })
}

/// Reads the beginning of a field: its title, if there is one, and its name.
#[inline(never)]
fn beginning_of_field(input: &mut DtypeText<'_>) -> ParseResult<(Option<String>, String)> {
    ('('.context("a field (a tuple of name and dtype)"), multispace0).parse_next(input)?;
    let names = alt((titled_name, string.map(|name| (None, name)))).parse_next(input)?;
    comma(input)?;
    Ok(names)
}

/// Reads the rest of a field: its shape, if there is one.
#[inline(never)]
fn rest_of_field(format: Spanned<Form>, input: &mut DtypeText<'_>) -> ParseResult<Spanned<Form>> {
    let shape = opt(preceded((comma, not(')')), cut_err(shape))).parse_next(input)?;
    end_of_tuple(input)?;
    Ok(match shape {
        Some(shape) => Spanned { at: format.at, value: Form::Subarray(Box::new(format), shape) },
        None => format,
    })
}

/// Reads the title and the name of a field: `('title', 'name')`.
fn titled_name(input: &mut DtypeText<'_>) -> ParseResult<(Option<String>, String)> {
    ('(', multispace0).parse_next(input)?;
    cut_err(terminated(
        |input: &mut DtypeText<'_>| {
            let title = title(input)?;
            comma(input)?;
            Ok((title, string(input)?))
        },
        end_of_tuple,
    ))
    .parse_next(input)
}

fn title(input: &mut DtypeText<'_>) -> ParseResult<Option<String>> {
    alt(("None".value(None), string.map(Some))).parse_next(input)
}

/// Reads a subarray, `('<i4', (2, 3))`, or a record, `(numpy.record, [('a', '<i4')])`.
fn tuple(levels: usize, input: &mut DtypeText<'_>) -> ParseResult<Form> {
    let is_record = beginning_of_tuple(input)?;
    let base = form(levels, input)?;
    rest_of_tuple(is_record, base, input)
}

#[inline(never)]
fn beginning_of_tuple(input: &mut DtypeText<'_>) -> ParseResult<bool> {
    ('(', multispace0).parse_next(input)?;
    let record = opt(("numpy.record", comma)).parse_next(input)?;
    if record.is_some() {
        peek(one_of(['[', '{'])).context("'[' or '{'").parse_next(input)?;
    }
    Ok(record.is_some())
}

#[inline(never)]
fn rest_of_tuple(is_record: bool, base: Spanned<Form>, input: &mut DtypeText<'_>) -> ParseResult<Form> {
    let base = Box::new(base);
    let form = if is_record {
        Form::Record(base)
    } else {
        Form::Subarray(base, preceded(comma, shape).parse_next(input)?)
    };
    end_of_tuple(input)?;
    Ok(form)
}

/// Reads a size, or a tuple of sizes.
fn shape(input: &mut DtypeText<'_>) -> ParseResult<Spanned<Shape>> {
    let at = input.current_token_start();
    let value = if opt(peek('(')).parse_next(input)?.is_some() {
        Shape::Tuple(items(')', number("a number"), input)?)
    } else {
        Shape::Number(number("a number or a tuple of numbers")(input)?)
    };
    Ok(Spanned { at, value })
}

fn number(expected: &'static str) -> impl Fn(&mut DtypeText<'_>) -> ParseResult<usize> {
    move |input| {
        let at = input.current_token_start();
        let digits: &str = digit1.context(expected).parse_next(input)?;
        let number = digits.parse().ok().filter(|&number| number <= MAX_ITEM_SIZE);
        number.ok_or_else(|| {
            let message = format!("expected a number up to {MAX_ITEM_SIZE}, found {digits:.40}");
            ErrMode::Cut(ParseError::refused(at, ErrorKind::TooLarge, message))
        })
    }
}

/// The entries of a dictionary that have been read so far.
#[derive(Default)]
struct DictEntries {
    names: Option<Vec<Spanned<String>>>,
    formats: Option<Spanned<Vec<Spanned<Form>>>>,
    offsets: Option<Spanned<Vec<Spanned<usize>>>>,
    titles: Option<Spanned<Vec<Option<String>>>>,
    item_size: Option<Spanned<usize>>,
    aligned: Option<bool>,
}

/// Reads a dictionary: `{'names': ['a', …], 'formats': ['<i4', …], …}`.
fn dict(levels: usize, input: &mut DtypeText<'_>) -> ParseResult<Form> {
    let at = input.current_token_start();
    let mut entries = Box::<DictEntries>::default();
    items('}', |input| entry(levels, &mut entries, input), input)?;
    whole_dict(at, *entries)
}

#[inline(never)]
fn whole_dict(at: usize, entries: DictEntries) -> ParseResult<Form> {
    let missing = |key| refused(at, format!("the dictionary has no '{key}'"));
    Ok(Form::Dict(Box::new(DictForm {
        names: entries.names.ok_or_else(|| missing("names"))?,
        formats: entries.formats.ok_or_else(|| missing("formats"))?,
        offsets: entries.offsets,
        titles: entries.titles,
        item_size: entries.item_size,
        aligned: entries.aligned.unwrap_or(false),
    })))
}

fn entry(levels: usize, entries: &mut DictEntries, input: &mut DtypeText<'_>) -> ParseResult<()> {
    let at = input.current_token_start();
    let key = key(input)?;
    let form = |input: &mut DtypeText<'_>| form(levels, input);
    match key.as_str() {
        "names" => set(&mut entries.names, at, &key, list_of(spanned(string)), input),
        "formats" => set(&mut entries.formats, at, &key, spanned(list_of(form)), input),
        "offsets" => {
            set(&mut entries.offsets, at, &key, spanned(list_of(spanned(number("a number")))), input)
        }
        "titles" => set(&mut entries.titles, at, &key, spanned(list_of(title)), input),
        "itemsize" => set(&mut entries.item_size, at, &key, spanned(number("a number")), input),
        "aligned" => set(&mut entries.aligned, at, &key, truth, input),
        _ => Err(unknown_key(at, &key)),
    }
}

#[inline(never)]
fn key(input: &mut DtypeText<'_>) -> ParseResult<String> {
    terminated(string, (multispace0, ':'.context("':'"), multispace0)).parse_next(input)
}

#[cold]
fn unknown_key(at: usize, key: &str) -> ErrMode<ParseError> {
    const KEYS: &str = "names, formats, offsets, titles, itemsize, aligned";
    refused(at, format!("expected a key of {KEYS}, found {}", excerpt(key)))
}

/// Reads the value of a key. A key must not be repeated.
#[inline(never)]
fn set<'a, T>(
    slot: &mut Option<T>,
    at: usize,
    key: &str,
    value: impl Fn(&mut DtypeText<'a>) -> ParseResult<T>,
    input: &mut DtypeText<'a>,
) -> ParseResult<()> {
    if slot.is_some() {
        return Err(refused(at, format!("the key '{key}' occurs more than once")));
    }
    *slot = Some(value(input)?);
    Ok(())
}

fn truth(input: &mut DtypeText<'_>) -> ParseResult<bool> {
    alt(("True".value(true), "False".value(false))).context("True or False").parse_next(input)
}

/// Reads a list, or a tuple in place of a list.
fn list_of<'a, T>(
    item: impl Fn(&mut DtypeText<'a>) -> ParseResult<T>,
) -> impl Fn(&mut DtypeText<'a>) -> ParseResult<Vec<T>> {
    move |input| items(opening(input)?, &item, input)
}

/// Returns the closing bracket that matches the opening bracket at the current place, without advancing.
#[inline(never)]
fn opening(input: &mut DtypeText<'_>) -> ParseResult<char> {
    peek(alt(('['.value(']'), '('.value(')')))).context("'[' or '('").parse_next(input)
}

/// Reads items in brackets, separated by commas.
fn items<'a, T>(
    close: char,
    mut item: impl FnMut(&mut DtypeText<'a>) -> ParseResult<T>,
    input: &mut DtypeText<'a>,
) -> ParseResult<Vec<T>> {
    let mut items = Vec::new();
    skip_bracket(input)?;
    while !is_end(close, input)? {
        items.push(item(input)?);
        separator(close, input)?;
    }
    Ok(items)
}

/// Skips the opening bracket.
#[inline(never)]
fn skip_bracket(input: &mut DtypeText<'_>) -> ParseResult<()> {
    (any, multispace0).void().parse_next(input)
}

#[inline(never)]
fn is_end(close: char, input: &mut DtypeText<'_>) -> ParseResult<bool> {
    opt(close).map(|close| close.is_some()).parse_next(input)
}

#[inline(never)]
fn separator(close: char, input: &mut DtypeText<'_>) -> ParseResult<()> {
    let expected = match close {
        ')' => "',' or ')'",
        ']' => "',' or ']'",
        _ => "',' or '}'",
    };
    let separator = alt((',', peek(close))).context(expected);
    (multispace0, separator, multispace0).void().parse_next(input)
}

fn comma(input: &mut DtypeText<'_>) -> ParseResult<()> {
    (multispace0, ','.context("','"), multispace0).void().parse_next(input)
}

/// Reads the end of a tuple, which may have a trailing comma.
fn end_of_tuple(input: &mut DtypeText<'_>) -> ParseResult<()> {
    (multispace0, opt((',', multispace0)), ')'.context("',' or ')'")).void().parse_next(input)
}

/// Reads a part, and adds the offset at which the part begins.
fn spanned<'a, T>(
    part: impl Fn(&mut DtypeText<'a>) -> ParseResult<T>,
) -> impl Fn(&mut DtypeText<'a>) -> ParseResult<Spanned<T>> {
    move |input| {
        let at = input.current_token_start();
        part(input).map(|value| Spanned { at, value })
    }
}

fn refused(at: usize, message: String) -> ErrMode<ParseError> {
    ErrMode::Cut(ParseError::refused(at, ErrorKind::Syntax, message))
}
