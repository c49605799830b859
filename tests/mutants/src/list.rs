//! The changes that cargo-mutants lists.

use serde::Deserialize;

#[derive(Deserialize)]
pub struct Mutant {
    /// From the root of the repository.
    pub file: String,
    pub name: String,
    pub genre: Genre,
    pub replacement: String,
    pub span: Span,
}

#[derive(Clone, Copy, Deserialize, Eq, Hash, PartialEq)]
pub enum Genre {
    FnValue,
    BinaryOperator,
    UnaryOperator,
    MatchArm,
    MatchArmGuard,
    StructField,
}

#[derive(Deserialize)]
pub struct Span {
    pub start: Place,
    pub end: Place,
}

/// Counted from 1.
#[derive(Deserialize)]
pub struct Place {
    pub line: usize,
    pub column: usize,
}
