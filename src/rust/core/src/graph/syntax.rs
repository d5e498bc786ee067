//! The syntax tree of a graph's text: names, types and attributes as they are written, before any op is known.
//!
//! `graph/parse.rs` makes it of a text; `graph/read.rs` makes a graph of it.

use crate::dtype::Ranked;
use crate::tensor::{Aval, Literal};
use std::fmt;

/// A place in a text: line and column, from 1. Columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column of the first character.
    pub column: usize,
}

/// A text that is no graph, at the first place where that shows.
///
/// It is none of the conditions that R sees ([`crate::error::Error`]): no function of R reads a graph.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {}, column {}: expected {expected}, found {found}", .position.line, .position.column)]
pub struct ParseError {
    /// Where.
    pub position: Position,
    /// What could have stood there.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

/// Result of reading a text.
pub type Parsed<T> = Result<T, ParseError>;

/// What an attribute is set to.
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
    /// What it is set to.
    pub setting: Setting,
    /// Where that stands.
    pub position: Position,
}

/// A value with its type: `%1: f32[2, 3]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declaration {
    /// The name, with `%`.
    pub name: String,
    /// The type.
    pub aval: Aval,
    /// Where the name stands.
    pub position: Position,
}

/// A value that is used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operand {
    /// Which one.
    pub source: Source,
    /// Where it stands.
    pub position: Position,
}

/// Which value is used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// The one of this name, with `%`.
    Name(String),
    /// A scalar, ambiguous or not: `1:f32?`.
    Literal(Literal, bool),
}

impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::Name(name) => f.write_str(name),
            Source::Literal(literal, ambiguous) => {
                write!(f, "{literal}:{}", Ranked { dtype: literal.dtype(), ambiguous: *ambiguous })
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
    /// Where that stands.
    pub position: Position,
    /// Its static parameters.
    pub attributes: Vec<Attribute>,
    /// The values that it reads.
    pub operands: Vec<Operand>,
    /// The graphs that it runs, with what they are to it.
    pub regions: Vec<(String, Block)>,
}

/// Statements with the values that come in and go out: a program, or a region.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// Arguments.
    pub inputs: Vec<Declaration>,
    /// Captured tensors; a region has none.
    pub constants: Vec<Declaration>,
    /// Nodes, in order.
    pub body: Vec<Statement>,
    /// Results, with their types where these are written: a region's are names alone.
    pub outputs: Vec<(Operand, Option<Aval>)>,
}
