//! Puts all changes of a file into its source at once. Before each stands a question: which change is on?

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use proc_macro2::LineColumn;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::list::{Genre, Mutant};

/// A source with its changes.
pub struct Woven {
    pub text: String,
    /// Where each change stands in the text.
    pub arms: Vec<(Range<usize>, usize)>,
    /// Where each place with changes stands in the text, and which these are. A place comes before those inside it.
    pub sites: Vec<(Range<usize>, Vec<usize>)>,
    /// All that have a place.
    pub placed: Vec<usize>,
    /// Those that the compiler may compute: what is in constants and in functions that can be.
    pub constant: Vec<usize>,
}

/// Weaves changes, given with their numbers, into a source. Those that have no place in it that an expression can take
/// are left out.
pub fn weave(source: &str, mutants: &[(usize, &Mutant)]) -> syn::Result<Woven> {
    let file = syn::parse_file(source)?;
    let mut finder = Finder {
        offsets: Offsets::new(source),
        source,
        pending: HashMap::new(),
        edits: Vec::new(),
        in_constant: false,
        placed: Vec::new(),
        constant: Vec::new(),
    };
    for &(number, mutant) in mutants {
        let start = finder.offsets.of_column(mutant.span.start.line, mutant.span.start.column);
        finder.pending.entry((mutant.genre, start)).or_default().push((number, mutant));
    }
    finder.visit_file(&file);
    let mut edits = finder.edits;
    // Outer before inner; the sort is stable, and what stands at one place is found from the outside in.
    edits.sort_by_key(|edit| (edit.range.start, !edit.range.is_empty(), std::cmp::Reverse(edit.range.end)));
    let Finder { placed, constant, .. } = finder;
    let woven = Woven { text: String::new(), arms: Vec::new(), sites: Vec::new(), placed, constant };
    let mut weaver = Weaver { source, woven };
    weaver.copy(0..source.len(), &edits);
    Ok(weaver.woven)
}

/// A source with one change, as cargo-mutants makes it.
pub fn replace(source: &str, mutant: &Mutant) -> String {
    let offsets = Offsets::new(source);
    let [start, end] =
        [&mutant.span.start, &mutant.span.end].map(|place| offsets.of_column(place.line, place.column));
    [&source[..start], &mutant.replacement, &source[end..]].concat()
}

struct Edit {
    /// Of the source. An empty one is a place where something is inserted.
    range: Range<usize>,
    before: String,
    /// The changes that the edit brings.
    numbers: Vec<usize>,
    /// Those of them that have a text of their own.
    arms: Vec<(usize, String)>,
    /// What stands before the range as it was.
    otherwise: &'static str,
    after: &'static str,
}

struct Weaver<'a> {
    source: &'a str,
    woven: Woven,
}

impl Weaver<'_> {
    /// Copies a range of the source, with the edits inside it.
    fn copy(&mut self, range: Range<usize>, mut edits: &[Edit]) {
        let mut position = range.start;
        while let [edit, rest @ ..] = edits {
            let inside = rest.iter().take_while(|inner| inner.range.start < edit.range.end).count();
            let (inside, rest) = rest.split_at(inside);
            self.woven.text += &self.source[position..edit.range.start];
            self.edit(edit, inside);
            position = edit.range.end;
            edits = rest;
        }
        self.woven.text += &self.source[position..range.end];
    }

    fn edit(&mut self, edit: &Edit, inside: &[Edit]) {
        let start = self.woven.text.len();
        let site = self.woven.sites.len();
        self.woven.sites.push((start..start, edit.numbers.clone()));
        self.woven.text += &edit.before;
        for (number, text) in &edit.arms {
            let start = self.woven.text.len();
            self.woven.text += &format!("{number} => {text}, ");
            self.woven.arms.push((start..self.woven.text.len(), *number));
        }
        self.woven.text += edit.otherwise;
        self.copy(edit.range.clone(), inside);
        self.woven.text += edit.after;
        self.woven.sites[site].0.end = self.woven.text.len();
    }
}

/// Finds the places of changes.
struct Finder<'a> {
    offsets: Offsets,
    source: &'a str,
    pending: HashMap<(Genre, usize), Vec<(usize, &'a Mutant)>>,
    edits: Vec<Edit>,
    in_constant: bool,
    placed: Vec<usize>,
    constant: Vec<usize>,
}

impl<'a> Finder<'a> {
    fn range(&self, node: &impl Spanned) -> Range<usize> {
        let span = node.span();
        self.offsets.of(span.start())..self.offsets.of(span.end())
    }

    fn text(&self, node: &impl Spanned) -> &'a str {
        &self.source[self.range(node)]
    }

    fn take(&mut self, genre: Genre, at: &impl Spanned) -> Vec<(usize, &'a Mutant)> {
        let start = self.range(at).start;
        let taken = self.pending.remove(&(genre, start)).unwrap_or_default();
        self.placed.extend(numbers(&taken));
        if self.in_constant {
            self.constant.extend(numbers(&taken));
        }
        taken
    }

    /// An expression takes the form of one of its changes.
    fn choose(&mut self, expression: &impl Spanned, arms: Vec<(usize, String)>) {
        if !arms.is_empty() {
            let numbers = numbers(&arms);
            let before = format!("(match {} {{ ", active(&numbers));
            self.edits.push(Edit {
                range: self.range(expression),
                before,
                numbers,
                arms,
                otherwise: "_ => ",
                after: " })",
            });
        }
    }

    fn insert(&mut self, at: usize, text: String, numbers: Vec<usize>) {
        self.edits.push(Edit {
            range: at..at,
            before: text,
            numbers,
            arms: Vec::new(),
            otherwise: "",
            after: "",
        });
    }

    /// Returns what was true outside.
    fn enter(&mut self, constant: bool) -> bool {
        std::mem::replace(&mut self.in_constant, constant)
    }

    /// A function returns at once.
    fn body(&mut self, signature: &syn::Signature, block: &syn::Block) {
        // A hidden type is one type, and that of what is returned at once is another.
        if self.text(&signature.output).contains("impl ") {
            return;
        }
        let Some(first) = block.stmts.first() else { return };
        let arms: Vec<_> = self
            .take(Genre::FnValue, first)
            .into_iter()
            .map(|(number, mutant)| (number, format!("return {}", mutant.replacement)))
            .collect();
        if !arms.is_empty() {
            let numbers = numbers(&arms);
            let before = format!("match {} {{ ", active(&numbers));
            let start = self.range(first).start;
            self.edits.push(Edit {
                range: start..start,
                before,
                numbers,
                arms,
                otherwise: "_ => {} } ",
                after: "",
            });
        }
    }

    /// An arm is left out, or its guard changed.
    fn arm(&mut self, node: &syn::Arm, guard: Option<&syn::Expr>) {
        let left_out = numbers(&self.take(Genre::MatchArm, node));
        if !left_out.is_empty() {
            let off = format!("{} == 0", active(&left_out));
            if let Some(guard) = guard {
                let Range { start, end } = self.range(guard);
                self.insert(start, format!("{off} && ("), left_out);
                self.insert(end, ")".to_owned(), Vec::new());
            } else {
                self.insert(self.range(&node.pat).end, format!(" if {off}"), left_out);
            }
        }
        if let Some(guard) = guard {
            let arms = self.take(Genre::MatchArmGuard, guard).into_iter();
            let arms = arms.map(|(number, mutant)| (number, mutant.replacement.clone())).collect();
            self.choose(guard, arms);
        }
    }
}

/// The question which of these changes is on.
fn active(numbers: &[usize]) -> String {
    format!("crate::mutants::active(&{numbers:?})")
}

fn numbers<T>(changes: &[(usize, T)]) -> Vec<usize> {
    changes.iter().map(|(number, _)| *number).collect()
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item_fn(&mut self, node: &'ast syn::ItemFn) {
        let outer = self.enter(node.sig.constness.is_some());
        self.body(&node.sig, &node.block);
        visit::visit_item_fn(self, node);
        self.in_constant = outer;
    }

    fn visit_impl_item_fn(&mut self, node: &'ast syn::ImplItemFn) {
        let outer = self.enter(node.sig.constness.is_some());
        self.body(&node.sig, &node.block);
        visit::visit_impl_item_fn(self, node);
        self.in_constant = outer;
    }

    fn visit_trait_item_fn(&mut self, node: &'ast syn::TraitItemFn) {
        if let Some(block) = &node.default {
            self.body(&node.sig, block);
        }
        visit::visit_trait_item_fn(self, node);
    }

    fn visit_item_const(&mut self, node: &'ast syn::ItemConst) {
        let outer = self.enter(true);
        visit::visit_item_const(self, node);
        self.in_constant = outer;
    }

    fn visit_impl_item_const(&mut self, node: &'ast syn::ImplItemConst) {
        let outer = self.enter(true);
        visit::visit_impl_item_const(self, node);
        self.in_constant = outer;
    }

    fn visit_expr_binary(&mut self, node: &'ast syn::ExprBinary) {
        // `let` stands in a condition alone, not in a match.
        if !has_let(&node.left) && !has_let(&node.right) {
            let (left, right) = (self.text(&node.left), self.text(&node.right));
            let arms = self
                .take(Genre::BinaryOperator, &node.op)
                .into_iter()
                .map(|(number, mutant)| (number, format!("({left}) {} ({right})", mutant.replacement)))
                .collect();
            self.choose(node, arms);
        }
        visit::visit_expr_binary(self, node);
    }

    fn visit_expr_unary(&mut self, node: &'ast syn::ExprUnary) {
        let inner = self.text(&node.expr);
        let arms = self
            .take(Genre::UnaryOperator, &node.op)
            .into_iter()
            .map(|(number, _)| (number, inner.to_owned()))
            .collect();
        self.choose(node, arms);
        visit::visit_expr_unary(self, node);
    }

    fn visit_expr_match(&mut self, node: &'ast syn::ExprMatch) {
        let arms: BTreeSet<_> = node.arms.iter().map(|arm| self.range(arm).start).collect();
        // That an arm is needed is an error of the whole.
        let left_out =
            self.pending.iter().filter(|((genre, at), _)| *genre == Genre::MatchArm && arms.contains(at));
        let numbers = left_out.flat_map(|(_, changes)| numbers(changes)).collect();
        let range = self.range(node);
        self.edits.push(Edit {
            range,
            before: String::new(),
            numbers,
            arms: Vec::new(),
            otherwise: "",
            after: "",
        });
        visit::visit_expr_match(self, node);
    }

    fn visit_arm(&mut self, node: &'ast syn::Arm) {
        let guard = match &node.pat {
            syn::Pat::Guard(pattern) => Some(&*pattern.guard),
            _ => None,
        };
        if !guard.is_some_and(has_let) {
            self.arm(node, guard);
        }
        visit::visit_arm(self, node);
    }

    fn visit_expr_struct(&mut self, node: &'ast syn::ExprStruct) {
        let whole = self.range(node);
        let mut arms = Vec::new();
        for field in &node.fields {
            for (number, mutant) in self.take(Genre::StructField, field) {
                let left_out = self.offsets.of_column(mutant.span.start.line, mutant.span.start.column)
                    ..self.offsets.of_column(mutant.span.end.line, mutant.span.end.column);
                let text = [&self.source[whole.start..left_out.start], &self.source[left_out.end..whole.end]]
                    .concat();
                arms.push((number, text));
            }
        }
        self.choose(node, arms);
        visit::visit_expr_struct(self, node);
    }
}

fn has_let(expression: &syn::Expr) -> bool {
    match expression {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(binary) => has_let(&binary.left) || has_let(&binary.right),
        _ => false,
    }
}

/// From lines and columns to bytes.
struct Offsets {
    /// Of each line, where each of its characters begins, and where it ends.
    lines: Vec<Vec<usize>>,
}

impl Offsets {
    fn new(source: &str) -> Self {
        let mut start = 0;
        let lines = source.split_inclusive('\n').map(|line| {
            let mut characters: Vec<_> = line.char_indices().map(|(at, _)| start + at).collect();
            start += line.len();
            characters.push(start);
            characters
        });
        Self { lines: lines.collect() }
    }

    /// As syn counts: lines from 1, columns from 0.
    fn of(&self, place: LineColumn) -> usize {
        self.lines[place.line - 1][place.column]
    }

    /// As cargo-mutants counts: lines and columns from 1.
    fn of_column(&self, line: usize, column: usize) -> usize {
        self.lines[line - 1][column - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::{Place, Span};

    const SOURCE: &str = "
fn width(é: &[u8], wide: bool) -> usize {
    match é.len() {
        0 if !wide => 1 + 2 * 3,
        7 => 8,
        len => len,
    }
}
";

    /// A change of what stands first in the source.
    fn mutant(genre: Genre, text: &str, replacement: &str) -> Mutant {
        let at = SOURCE.find(text).unwrap();
        let place = |at: usize| Place {
            line: SOURCE[..at].matches('\n').count() + 1,
            column: SOURCE[..at].rsplit('\n').next().unwrap().chars().count() + 1,
        };
        let span = Span { start: place(at), end: place(at + text.len()) };
        Mutant { file: String::new(), name: String::new(), genre, replacement: replacement.to_owned(), span }
    }

    fn mutants() -> Vec<Mutant> {
        vec![
            mutant(
                Genre::FnValue,
                "match é.len() {\n        0 if !wide => 1 + 2 * 3,\n        7 => 8,\n        len => len,\n    }",
                "0",
            ),
            mutant(Genre::MatchArm, "0 if !wide => 1 + 2 * 3,", ""),
            mutant(Genre::MatchArmGuard, "!wide", "true"),
            mutant(Genre::UnaryOperator, "!", ""),
            mutant(Genre::BinaryOperator, "+", "-"),
            mutant(Genre::BinaryOperator, "*", "/"),
            mutant(Genre::MatchArm, "7 => 8,", ""),
        ]
    }

    #[test]
    fn every_change_stands_behind_a_question() {
        let mutants = mutants();
        let numbered: Vec<_> = (1..).zip(&mutants).collect();
        let woven = weave(SOURCE, &numbered).unwrap();
        let expected = "
fn width(é: &[u8], wide: bool) -> usize {
    match ?[1] { 1 => return 0, _ => {} } match é.len() {
        0 if ?[2] == 0 && ((match ?[3] { 3 => true, _ => (match ?[4] { 4 => wide, _ => !wide }) })) => (match ?[5] { 5 => (1) - (2 * 3), _ => 1 + (match ?[6] { 6 => (2) / (3), _ => 2 * 3 }) }),
        7 if ?[7] == 0 => 8,
        len => len,
    }
}
";
        assert_eq!(woven.text.replace("crate::mutants::active(&", "?").replace("])", "]"), expected);
        for (range, number) in &woven.arms {
            assert!(woven.text[range.clone()].starts_with(&format!("{number} => ")));
        }
    }

    #[test]
    fn a_change_alone_replaces_what_it_names() {
        let mutants = mutants();
        assert!(replace(SOURCE, &mutants[0]).ends_with("usize {\n    0\n}\n"));
        assert_eq!(replace(SOURCE, &mutants[4]), SOURCE.replace('+', "-"));
        assert_eq!(replace(SOURCE, &mutants[6]), SOURCE.replace("7 => 8,", ""));
    }
}
