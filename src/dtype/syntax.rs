//! The grammar: Python's literals, as far as they make a dtype.
//!
//! What it gives is still only what was written, with the place of each part. The offsets come of it in `layout`, as a
//! dictionary says only at its end whether its fields are aligned.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use winnow::ascii::{digit1, multispace0};
use winnow::combinator::{alt, cut_err, eof, not, opt, peek, preceded, terminated};
use winnow::error::{AddContext, ErrMode, ParserError};
use winnow::stream::{LocatingSlice, Location, Stream};
use winnow::token::{any, one_of, take_while};
use winnow::{ModalResult, Parser};

use super::error::{ParseErrorKind, Problem};
use super::literal::{excerpt, string};
use super::{Dtype, MAX_ITEM_SIZE, MAX_NESTING, scalar};

pub(super) type Input<'a> = LocatingSlice<&'a str>;
pub(super) type Parsed<T> = ModalResult<T, Problem>;

/// A part of a dtype as it is written, and the byte at which it begins.
#[derive(Clone, Copy)]
pub(super) struct At<T> {
    pub(super) at: usize,
    pub(super) is: T,
}

/// A dtype as it is written.
pub(super) enum Form {
    /// `'<i4'`, or the bare name of a type of `ml_dtypes`
    Scalar(Dtype),
    /// `('<i4', (2, 3))`
    Subarray(Box<At<Form>>, At<Shape>),
    /// `[('a', '<i4'), …]`
    List(Vec<At<FieldForm>>),
    /// `{'names': ['a', …], 'formats': ['<i4', …], …}`
    Dict(Box<DictForm>),
    /// `(numpy.record, [('a', '<i4'), …])`
    Record(Box<At<Form>>),
}

/// `('a', '<i4')`, `(('title', 'a'), '<i4')` or `('a', '<i4', (2, 3))`
pub(super) struct FieldForm {
    pub(super) name: String,
    pub(super) title: Option<String>,
    /// Of a field in a dictionary only.
    pub(super) offset: Option<At<usize>>,
    pub(super) format: At<Form>,
}

pub(super) struct DictForm {
    pub(super) names: Vec<At<String>>,
    pub(super) formats: At<Vec<At<Form>>>,
    pub(super) offsets: Option<At<Vec<At<usize>>>>,
    pub(super) titles: Option<At<Vec<Option<String>>>>,
    pub(super) item_size: Option<At<usize>>,
    pub(super) aligned: bool,
}

pub(super) enum Shape {
    Number(usize),
    Tuple(Vec<usize>),
}

/// Reads a dtype that begins with a bracket.
pub(super) fn parse(text: &str) -> Result<At<Form>, Problem> {
    let form = |input: &mut Input<'_>| form(MAX_NESTING, input);
    terminated(form, eof.context("the end"))
        .parse(Input::new(text))
        .map_err(winnow::error::ParseError::into_inner)
}

pub(super) const FORM: &str = "a type string, '[', '(' or '{'";

/// Reads a dtype, by way of `list`, `tuple` or `dict` also the dtypes in it.
///
/// Whatever is on that way stays on the stack up to the innermost dtype, so it has small frames: what else there is to
/// read is read in functions of its own, which are not inlined.
fn form(levels: usize, input: &mut Input<'_>) -> Parsed<At<Form>> {
    let at = input.current_token_start();
    let Some(levels) = levels.checked_sub(1) else { return too_deep(at) };
    let is = match first(input)? {
        '\'' | '"' => type_string(input),
        '[' => list(levels, input),
        '(' => tuple(levels, input),
        '{' => dict(levels, input),
        _ => bare_name(input),
    }?;
    Ok(At { at, is })
}

#[cold]
fn too_deep<T>(at: usize) -> Parsed<T> {
    let message = format!("more than {MAX_NESTING} dtypes inside each other");
    Err(ErrMode::Cut(Problem::refused(at, ParseErrorKind::TooDeep, message)))
}

#[inline(never)]
fn first(input: &mut Input<'_>) -> Parsed<char> {
    peek(any.context(FORM)).parse_next(input)
}

/// `'<i4'`
#[inline(never)]
fn type_string(input: &mut Input<'_>) -> Parsed<Form> {
    let start = input.current_token_start();
    let text = string(input)?;
    let has_escapes = input.previous_token_end() - start != text.len() + 2;
    let dtype = scalar::parse(&text).map_err(|mut problem| {
        problem.at = if has_escapes { start } else { start + 1 + problem.at };
        ErrMode::Cut(problem)
    })?;
    Ok(Form::Scalar(dtype))
}

/// The name of a type of `ml_dtypes`, without quotes.
#[inline(never)]
fn bare_name(input: &mut Input<'_>) -> Parsed<Form> {
    take_while(1.., |c: char| c.is_ascii_alphanumeric() || c == '_')
        .verify_map(scalar::extension)
        .context(FORM)
        .map(Form::Scalar)
        .parse_next(input)
}

/// `[('a', '<i4'), …]`
fn list(levels: usize, input: &mut Input<'_>) -> Parsed<Form> {
    items(']', |input| field(levels, input), input).map(Form::List)
}

/// `('a', '<i4', (2, 3))`
fn field(levels: usize, input: &mut Input<'_>) -> Parsed<At<FieldForm>> {
    let at = input.current_token_start();
    let (title, name) = beginning_of_field(input)?;
    let format = form(levels, input)?;
    let format = rest_of_field(format, input)?;
    Ok(At { at, is: FieldForm { name, title, offset: None, format } })
}

/// Title and name.
#[inline(never)]
fn beginning_of_field(input: &mut Input<'_>) -> Parsed<(Option<String>, String)> {
    ('('.context("a field: a tuple of name and dtype"), multispace0).parse_next(input)?;
    let names = alt((titled_name, string.map(|name| (None, name)))).parse_next(input)?;
    comma(input)?;
    Ok(names)
}

/// The shape, if there is one.
#[inline(never)]
fn rest_of_field(format: At<Form>, input: &mut Input<'_>) -> Parsed<At<Form>> {
    let shape = opt(preceded((comma, not(')')), cut_err(shape))).parse_next(input)?;
    end_of_tuple(input)?;
    Ok(match shape {
        Some(shape) => At { at: format.at, is: Form::Subarray(Box::new(format), shape) },
        None => format,
    })
}

/// `('title', 'name')`
fn titled_name(input: &mut Input<'_>) -> Parsed<(Option<String>, String)> {
    ('(', multispace0).parse_next(input)?;
    cut_err(terminated(
        |input: &mut Input<'_>| {
            let title = title(input)?;
            comma(input)?;
            Ok((title, string(input)?))
        },
        end_of_tuple,
    ))
    .parse_next(input)
}

fn title(input: &mut Input<'_>) -> Parsed<Option<String>> {
    alt(("None".value(None), string.map(Some))).parse_next(input)
}

/// `('<i4', (2, 3))` or `(numpy.record, [('a', '<i4')])`
fn tuple(levels: usize, input: &mut Input<'_>) -> Parsed<Form> {
    let is_record = beginning_of_tuple(input)?;
    let base = form(levels, input)?;
    rest_of_tuple(is_record, base, input)
}

#[inline(never)]
fn beginning_of_tuple(input: &mut Input<'_>) -> Parsed<bool> {
    ('(', multispace0).parse_next(input)?;
    let record = opt(("numpy.record", comma)).parse_next(input)?;
    if record.is_some() {
        peek(one_of(['[', '{'])).context("'[' or '{'").parse_next(input)?;
    }
    Ok(record.is_some())
}

#[inline(never)]
fn rest_of_tuple(is_record: bool, base: At<Form>, input: &mut Input<'_>) -> Parsed<Form> {
    let base = Box::new(base);
    let form = if is_record {
        Form::Record(base)
    } else {
        Form::Subarray(base, preceded(comma, shape).parse_next(input)?)
    };
    end_of_tuple(input)?;
    Ok(form)
}

/// A size, or a tuple of sizes.
fn shape(input: &mut Input<'_>) -> Parsed<At<Shape>> {
    let at = input.current_token_start();
    let is = if opt(peek('(')).parse_next(input)?.is_some() {
        Shape::Tuple(items(')', number("a number"), input)?)
    } else {
        Shape::Number(number("a number or a tuple of numbers")(input)?)
    };
    Ok(At { at, is })
}

fn number(expected: &'static str) -> impl Fn(&mut Input<'_>) -> Parsed<usize> {
    move |input| {
        let at = input.current_token_start();
        let digits: &str = digit1.context(expected).parse_next(input)?;
        let number = digits.parse().ok().filter(|&number| number <= MAX_ITEM_SIZE);
        number.ok_or_else(|| {
            let message = format!("expected a number up to {MAX_ITEM_SIZE}, found {digits:.40}");
            ErrMode::Cut(Problem::refused(at, ParseErrorKind::TooLarge, message))
        })
    }
}

/// The entries of a dictionary, as far as they are read.
#[derive(Default)]
struct Entries {
    names: Option<Vec<At<String>>>,
    formats: Option<At<Vec<At<Form>>>>,
    offsets: Option<At<Vec<At<usize>>>>,
    titles: Option<At<Vec<Option<String>>>>,
    item_size: Option<At<usize>>,
    aligned: Option<bool>,
}

/// `{'names': ['a', …], 'formats': ['<i4', …], …}`
fn dict(levels: usize, input: &mut Input<'_>) -> Parsed<Form> {
    let at = input.current_token_start();
    let mut entries = Box::<Entries>::default();
    items('}', |input| entry(levels, &mut entries, input), input)?;
    whole_dict(at, *entries)
}

#[inline(never)]
fn whole_dict(at: usize, entries: Entries) -> Parsed<Form> {
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

fn entry(levels: usize, entries: &mut Entries, input: &mut Input<'_>) -> Parsed<()> {
    let at = input.current_token_start();
    let key = key(input)?;
    let form = |input: &mut Input<'_>| form(levels, input);
    match key.as_str() {
        "names" => set(&mut entries.names, at, &key, list_of(placed(string)), input),
        "formats" => set(&mut entries.formats, at, &key, placed(list_of(form)), input),
        "offsets" => set(&mut entries.offsets, at, &key, placed(list_of(placed(number("a number")))), input),
        "titles" => set(&mut entries.titles, at, &key, placed(list_of(title)), input),
        "itemsize" => set(&mut entries.item_size, at, &key, placed(number("a number")), input),
        "aligned" => set(&mut entries.aligned, at, &key, truth, input),
        _ => Err(unknown_key(at, &key)),
    }
}

#[inline(never)]
fn key(input: &mut Input<'_>) -> Parsed<String> {
    terminated(string, (multispace0, ':'.context("':'"), multispace0)).parse_next(input)
}

#[cold]
fn unknown_key(at: usize, key: &str) -> ErrMode<Problem> {
    const KEYS: &str = "names, formats, offsets, titles, itemsize, aligned";
    refused(at, format!("expected a key of {KEYS}, found {}", excerpt(key)))
}

/// Reads the value of a key that has not come before.
#[inline(never)]
fn set<'a, T>(
    slot: &mut Option<T>,
    at: usize,
    key: &str,
    value: impl Fn(&mut Input<'a>) -> Parsed<T>,
    input: &mut Input<'a>,
) -> Parsed<()> {
    if slot.is_some() {
        return Err(refused(at, format!("the key '{key}' occurs more than once")));
    }
    *slot = Some(value(input)?);
    Ok(())
}

fn truth(input: &mut Input<'_>) -> Parsed<bool> {
    alt(("True".value(true), "False".value(false))).context("True or False").parse_next(input)
}

/// A list, or a tuple in place of one.
fn list_of<'a, T>(item: impl Fn(&mut Input<'a>) -> Parsed<T>) -> impl Fn(&mut Input<'a>) -> Parsed<Vec<T>> {
    move |input| items(opening(input)?, &item, input)
}

/// The bracket that will close the list that begins here.
#[inline(never)]
fn opening(input: &mut Input<'_>) -> Parsed<char> {
    peek(alt(('['.value(']'), '('.value(')')))).context("'[' or '('").parse_next(input)
}

/// Items in brackets, with commas between them.
fn items<'a, T>(
    close: char,
    mut item: impl FnMut(&mut Input<'a>) -> Parsed<T>,
    input: &mut Input<'a>,
) -> Parsed<Vec<T>> {
    let mut items = Vec::new();
    skip_bracket(input)?;
    while !is_end(close, input)? {
        items.push(item(input)?);
        separator(close, input)?;
    }
    Ok(items)
}

/// The opening bracket, whichever it is.
#[inline(never)]
fn skip_bracket(input: &mut Input<'_>) -> Parsed<()> {
    (any, multispace0).void().parse_next(input)
}

#[inline(never)]
fn is_end(close: char, input: &mut Input<'_>) -> Parsed<bool> {
    opt(close).map(|close| close.is_some()).parse_next(input)
}

#[inline(never)]
fn separator(close: char, input: &mut Input<'_>) -> Parsed<()> {
    let expected = match close {
        ')' => "',' or ')'",
        ']' => "',' or ']'",
        _ => "',' or '}'",
    };
    let separator = alt((',', peek(close))).context(expected);
    (multispace0, separator, multispace0).void().parse_next(input)
}

fn comma(input: &mut Input<'_>) -> Parsed<()> {
    (multispace0, ','.context("','"), multispace0).void().parse_next(input)
}

/// The end of a tuple, which may have one more comma.
fn end_of_tuple(input: &mut Input<'_>) -> Parsed<()> {
    (multispace0, opt((',', multispace0)), ')'.context("',' or ')'")).void().parse_next(input)
}

/// Adds the place at which a part begins.
fn placed<'a, T>(part: impl Fn(&mut Input<'a>) -> Parsed<T>) -> impl Fn(&mut Input<'a>) -> Parsed<At<T>> {
    move |input| {
        let at = input.current_token_start();
        part(input).map(|is| At { at, is })
    }
}

fn refused(at: usize, message: String) -> ErrMode<Problem> {
    ErrMode::Cut(Problem::refused(at, ParseErrorKind::Syntax, message))
}

impl ParserError<Input<'_>> for Problem {
    type Inner = Self;

    /// What was expected is added by the context of the parser that failed.
    fn from_input(input: &Input<'_>) -> Self {
        Self::expected(input.current_token_start(), "")
    }

    fn into_inner(self) -> Result<Self, Self> {
        Ok(self)
    }
}

impl AddContext<Input<'_>, &'static str> for Problem {
    fn add_context(
        self,
        _input: &Input<'_>,
        _start: &<Input<'_> as Stream>::Checkpoint,
        expected: &'static str,
    ) -> Self {
        self.or_expected(expected)
    }
}
