//! The syntax tree of a graph's text: names, types and attributes as they are written, before any op is
//! known.
//!
//! `graph/parse.rs` makes it from a text; `graph/read.rs` makes a graph from it.

use crate::dtype::{DType, Ranked};
use crate::tensor::{Aval, Literal};
use std::fmt;

/// A position in a text: line and column, from 1. Columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column of the first character.
    pub column: usize,
}

/// An error in the text of a graph, the first one.
///
/// It is no condition of R ([`crate::error::Error`]): no function of R reads a graph's text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {}, column {}: expected {expected}, found {found}", .position.line, .position.column)]
pub struct ParseError {
    /// The position of the error.
    pub position: Position,
    /// What was expected there.
    pub expected: String,
    /// What was found there.
    pub found: String,
}

/// The result of parsing.
pub type Parsed<T> = Result<T, ParseError>;

/// The value of an attribute, as it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Setting {
    /// A number, a logical, or a name: `2`, `TRUE`, `f32`.
    Word(String),
    /// `"row"`, without the quotes.
    Text(String),
    /// `c(1, 2)`.
    Vector(Vec<Setting>),
    /// `[1, c(2, 3)]`.
    List(Vec<Setting>),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |all: &[Setting]| all.iter().map(Setting::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Setting::Word(word) => f.write_str(word),
            Setting::Text(text) => write!(f, "{text:?}"),
            Setting::Vector(all) => write!(f, "c({})", joined(all)),
            Setting::List(all) => write!(f, "[{}]", joined(all)),
        }
    }
}

/// A static parameter of an op: `axes = c(1, 2)`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// Its value.
    pub setting: Setting,
    /// Position of the value.
    pub position: Position,
}

/// A value with its type: `%1: f32[2, 3]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declaration {
    /// The name, with `%`.
    pub name: String,
    /// The type.
    pub aval: Aval,
    /// Position of the name.
    pub position: Position,
}

/// A use of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operand {
    /// The value.
    pub source: Source,
    /// Its position.
    pub position: Position,
}

/// The value that is used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// The value of this name, with `%`.
    Name(String),
    /// A scalar, and its default dtype if it is ambiguous: `1:f32?`.
    Literal(Literal, Option<DType>),
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::Name(name) => f.write_str(name),
            Source::Literal(literal, ambiguous) => {
                let ranked = ambiguous.map_or(Ranked::known(literal.dtype()), Ranked::ambiguous);
                write!(f, "{literal}:{ranked}")
            }
        }
    }
}

/// An op applied to values: a line, and its regions below it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    /// The results.
    pub results: Vec<Declaration>,
    /// The op's name.
    pub op: String,
    /// Position of the name.
    pub position: Position,
    /// Its static parameters.
    pub attributes: Vec<Attribute>,
    /// The values that it reads.
    pub operands: Vec<Operand>,
    /// Its regions, with their role as name.
    pub regions: Vec<(String, Definition)>,
}

/// The definition of a program or a region: inputs, statements, outputs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Definition {
    /// Arguments.
    pub inputs: Vec<Declaration>,
    /// Captured tensors; a region has none.
    pub constants: Vec<Declaration>,
    /// Nodes, in order.
    pub body: Vec<Statement>,
    /// Results, with their types where these are written: a region's are names alone.
    pub outputs: Vec<(Operand, Option<Aval>)>,
}
