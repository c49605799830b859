//! The grammar: Python's literals, as far as they make a dtype.
//!
//! What it gives is still only what was written, with the place of each part. The offsets come of it in `layout`, as a
//! dictionary says only at its end whether its fields are aligned.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use winnow::ascii::{digit1, multispace0};
use winnow::combinator::{alt, cut_err, dispatch, eof, not, opt, peek, preceded, repeat_till, terminated};
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
    Dict(DictForm),
    /// `(numpy.record, [('a', '<i4'), …])`
    Record(Box<At<Form>>),
}

/// `('a', '<i4')`, `(('title', 'a'), '<i4')` or `('a', '<i4', (2, 3))`
pub(super) struct FieldForm {
    pub(super) name: String,
    pub(super) title: Option<String>,
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

const FORM: &str = "a type string, '[', '(' or '{'";

fn form(levels: usize, input: &mut Input<'_>) -> Parsed<At<Form>> {
    let at = input.current_token_start();
    let Some(levels) = levels.checked_sub(1) else {
        let message = format!("more than {MAX_NESTING} dtypes inside each other");
        return Err(ErrMode::Cut(Problem::refused(at, ParseErrorKind::TooDeep, message)));
    };
    let field = |input: &mut Input<'_>| field(levels, input);
    let is = dispatch! { peek(any.context(FORM));
        '\'' | '"' => type_string.map(Form::Scalar),
        '[' => preceded('[', until(']', placed(field))).map(Form::List),
        '(' => |input: &mut Input<'_>| tuple(levels, input),
        '{' => |input: &mut Input<'_>| dict(levels, input).map(Form::Dict),
        _ => word.verify_map(scalar::extension).context(FORM).map(Form::Scalar),
    }
    .parse_next(input)?;
    Ok(At { at, is })
}

/// `'<i4'`
fn type_string(input: &mut Input<'_>) -> Parsed<Dtype> {
    let start = input.current_token_start();
    let text = string(input)?;
    let has_escapes = input.previous_token_end() - start != text.len() + 2;
    scalar::parse(&text).map_err(|mut problem| {
        problem.at = if has_escapes { start } else { start + 1 + problem.at };
        ErrMode::Cut(problem)
    })
}

/// The name of a Python object, without quotes.
fn word<'a>(input: &mut Input<'a>) -> Parsed<&'a str> {
    take_while(1.., |c: char| c.is_ascii_alphanumeric() || c == '_').parse_next(input)
}

/// `('<i4', (2, 3))` or `(numpy.record, [('a', '<i4')])`
fn tuple(levels: usize, input: &mut Input<'_>) -> Parsed<Form> {
    ('(', multispace0).parse_next(input)?;
    let record = opt(("numpy.record", comma)).parse_next(input)?;
    if record.is_some() {
        peek(one_of(['[', '{'])).context("'[' or '{'").parse_next(input)?;
    }
    let form = Box::new(form(levels, input)?);
    let form = match record {
        Some(_) => Form::Record(form),
        None => Form::Subarray(form, preceded(comma, placed(shape)).parse_next(input)?),
    };
    end_of_tuple(input)?;
    Ok(form)
}

fn field(levels: usize, input: &mut Input<'_>) -> Parsed<FieldForm> {
    const EXPECTED: &str = "a field: a tuple of name and dtype";
    ('('.context(EXPECTED), multispace0).parse_next(input)?;
    let (title, name) = alt((titled_name, string.map(|name| (None, name)))).parse_next(input)?;
    comma(input)?;
    let format = form(levels, input)?;
    let at = format.at;
    let shape = opt(preceded((comma, not(')')), cut_err(placed(shape)))).parse_next(input)?;
    end_of_tuple(input)?;
    let format = match shape {
        Some(shape) => At { at, is: Form::Subarray(Box::new(format), shape) },
        None => format,
    };
    Ok(FieldForm { name, title, format })
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

/// A size, or a tuple of sizes.
fn shape(input: &mut Input<'_>) -> Parsed<Shape> {
    alt((
        preceded('(', cut_err(until(')', number("a number")))).map(Shape::Tuple),
        number("a number or a tuple of numbers").map(Shape::Number),
    ))
    .parse_next(input)
}

fn number<'a>(expected: &'static str) -> impl Parser<Input<'a>, usize, ErrMode<Problem>> {
    move |input: &mut Input<'a>| {
        let at = input.current_token_start();
        let digits: &str = digit1.context(expected).parse_next(input)?;
        let number = digits.parse().ok().filter(|&number| number <= MAX_ITEM_SIZE);
        number.ok_or_else(|| {
            let message = format!("expected a number up to {MAX_ITEM_SIZE}, found {digits:.40}");
            ErrMode::Cut(Problem::refused(at, ParseErrorKind::TooLarge, message))
        })
    }
}

fn dict(levels: usize, input: &mut Input<'_>) -> Parsed<DictForm> {
    let start = input.current_token_start();
    let form = |input: &mut Input<'_>| form(levels, input);
    let (mut names, mut formats, mut offsets, mut titles) = (None, None, None, None);
    let (mut item_size, mut aligned) = (None, None);
    let entry = |input: &mut Input<'_>| {
        let at = input.current_token_start();
        let key = string(input)?;
        (multispace0, ':'.context("':'"), multispace0).parse_next(input)?;
        match key.as_str() {
            "names" => set(&mut names, at, &key, list(placed(string)), input),
            "formats" => set(&mut formats, at, &key, placed(list(form)), input),
            "offsets" => set(&mut offsets, at, &key, placed(list(placed(number("a number")))), input),
            "titles" => set(&mut titles, at, &key, placed(list(title)), input),
            "itemsize" => set(&mut item_size, at, &key, placed(number("a number")), input),
            "aligned" => set(&mut aligned, at, &key, truth, input),
            _ => {
                let found = excerpt(&key);
                let message = format!(
                    "expected a key of names, formats, offsets, titles, itemsize, aligned, found {found}"
                );
                Err(refused(at, message))
            }
        }
    };
    let _: Vec<()> = preceded('{', until('}', entry)).parse_next(input)?;
    let missing = |key| refused(start, format!("the dictionary has no '{key}'"));
    Ok(DictForm {
        names: names.ok_or_else(|| missing("names"))?,
        formats: formats.ok_or_else(|| missing("formats"))?,
        offsets,
        titles,
        item_size,
        aligned: aligned.unwrap_or(false),
    })
}

/// Reads the value of a key that has not come before.
fn set<'a, T>(
    slot: &mut Option<T>,
    at: usize,
    key: &str,
    mut value: impl Parser<Input<'a>, T, ErrMode<Problem>>,
    input: &mut Input<'a>,
) -> Parsed<()> {
    if slot.is_some() {
        return Err(refused(at, format!("the key '{key}' occurs more than once")));
    }
    *slot = Some(value.parse_next(input)?);
    Ok(())
}

fn truth(input: &mut Input<'_>) -> Parsed<bool> {
    alt(("True".value(true), "False".value(false))).context("True or False").parse_next(input)
}

/// A list, or a tuple in place of one.
fn list<'a, T>(
    mut item: impl Parser<Input<'a>, T, ErrMode<Problem>>,
) -> impl Parser<Input<'a>, Vec<T>, ErrMode<Problem>> {
    move |input: &mut Input<'a>| {
        let close = alt(('['.value(']'), '('.value(')'))).context("'['").parse_next(input)?;
        until(close, item.by_ref()).parse_next(input)
    }
}

/// Items with commas between them, up to the closing bracket.
fn until<'a, T>(
    close: char,
    item: impl Parser<Input<'a>, T, ErrMode<Problem>>,
) -> impl Parser<Input<'a>, Vec<T>, ErrMode<Problem>> {
    let expected = match close {
        ')' => "',' or ')'",
        ']' => "',' or ']'",
        _ => "',' or '}'",
    };
    let separator = alt((',', peek(close))).context(expected);
    let item = terminated(item, (multispace0, separator, multispace0));
    preceded(multispace0, repeat_till(0.., item, close)).map(|(items, _)| items)
}

fn comma(input: &mut Input<'_>) -> Parsed<()> {
    (multispace0, ','.context("','"), multispace0).void().parse_next(input)
}

/// The end of a tuple, which may have one more comma.
fn end_of_tuple(input: &mut Input<'_>) -> Parsed<()> {
    (multispace0, opt((',', multispace0)), ')'.context("',' or ')'")).void().parse_next(input)
}

/// Adds the place at which a part begins.
fn placed<'a, T>(
    mut part: impl Parser<Input<'a>, T, ErrMode<Problem>>,
) -> impl Parser<Input<'a>, At<T>, ErrMode<Problem>> {
    move |input: &mut Input<'a>| {
        let at = input.current_token_start();
        part.parse_next(input).map(|is| At { at, is })
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
