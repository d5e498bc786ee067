//! A statement of a graph's text, as an op parses it: types, attributes by name, regions.

use super::syntax::{Attribute, ParseError, Parsed, Position, Setting};
use crate::dtype::{DType, Ranked};
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Literal};
use std::str::FromStr;
use std::sync::Arc;

/// An application of an op as it is written. `R` is the type of its regions.
#[derive(Debug)]
pub struct Form<'a, R> {
    /// The op's name.
    pub op: &'a str,
    /// Types of the operands.
    pub operands: Vec<&'a Aval>,
    /// Types of the results.
    pub results: Vec<&'a Aval>,
    /// Number of the statement in the text, which is unique.
    pub number: u64,
    /// Position of the name.
    pub(super) position: Position,
    pub(super) attributes: &'a [Attribute],
    pub(super) regions: Vec<(&'a str, Arc<R>)>,
}

impl<R> Form<'_, R> {
    /// The error for a statement that differs from what was expected.
    pub fn error(&self, expected: impl Into<String>, found: impl Into<String>) -> ParseError {
        ParseError { position: self.position, expected: expected.into(), found: found.into() }
    }

    /// Checks the number of operands.
    ///
    /// # Errors
    /// [`ParseError`] otherwise; so it is for the methods below.
    pub fn takes(&self, operands: usize) -> Parsed<()> {
        if self.operands.len() == operands {
            return Ok(());
        }
        Err(self.error(format!("{operands} operands of `{}`", self.op), self.operands.len().to_string()))
    }

    /// Checks that there are at least so many operands.
    pub fn takes_at_least(&self, operands: usize) -> Parsed<()> {
        if self.operands.len() >= operands {
            return Ok(());
        }
        let expected = format!("at least {operands} operands of `{}`", self.op);
        Err(self.error(expected, self.operands.len().to_string()))
    }

    /// Whether it has this attribute.
    pub fn has(&self, name: &str) -> bool {
        self.attributes.iter().any(|attribute| attribute.name == name)
    }

    /// The value that `read` makes of an attribute; `expected` describes it in the error.
    fn attribute<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&Setting) -> Option<T>,
    ) -> Parsed<T> {
        let Some(attribute) = self.attributes.iter().find(|attribute| attribute.name == name) else {
            return Err(self.error(format!("the attribute `{name}` of `{}`", self.op), "none"));
        };
        read(&attribute.setting).ok_or_else(|| ParseError {
            position: attribute.position,
            expected: format!("{expected} for `{name}`"),
            found: format!("`{}`", attribute.setting),
        })
    }

    /// A number.
    pub fn number<T: FromStr>(&self, name: &str) -> Parsed<T> {
        self.attribute(name, "a number", number)
    }

    /// Numbers.
    pub fn numbers<T: FromStr>(&self, name: &str) -> Parsed<Vec<T>> {
        self.attribute(name, "numbers", numbers)
    }

    /// Sizes of axes.
    pub fn shape(&self, name: &str) -> Parsed<Shape> {
        self.attribute(name, "a shape", |setting| Shape::try_new(numbers(setting)?).ok())
    }

    /// Positions that are written from 1.
    pub fn positions(&self, name: &str) -> Parsed<Vec<usize>> {
        self.attribute(name, "positions, from 1", positions)
    }

    /// One of `rank` axes.
    pub fn axis(&self, name: &str, rank: usize) -> Parsed<Axis> {
        let expected = format!("an axis number from 1 to {rank}");
        self.attribute(name, &expected, |setting| match axes(setting, rank)?[..] {
            [one] => Some(one),
            _ => None,
        })
    }

    /// Some of `rank` axes.
    pub fn axes(&self, name: &str, rank: usize) -> Parsed<Vec<Axis>> {
        let expected = format!("distinct axis numbers from 1 to {rank}");
        self.attribute(name, &expected, |setting| axes(setting, rank))
    }

    /// Axes of each of the first two operands.
    pub fn axes_of_two(&self, name: &str) -> Parsed<[Vec<Axis>; 2]> {
        let two = |setting: &Setting| match setting {
            Setting::List(all) => match &all[..] {
                [one, other] => {
                    let [first, second] = [0, 1].map(|i| self.operands[i].shape.rank());
                    Some([axes(one, first)?, axes(other, second)?])
                }
                _ => None,
            },
            _ => None,
        };
        self.attribute(name, "a list of axis numbers of two operands", two)
    }

    /// `TRUE` or `FALSE`.
    pub fn logical(&self, name: &str) -> Parsed<bool> {
        self.attribute(name, "TRUE or FALSE", truth)
    }

    /// `TRUE` or `FALSE`, so many times.
    pub fn logicals(&self, name: &str, count: usize) -> Parsed<Vec<bool>> {
        self.attribute(name, &format!("TRUE or FALSE {count} times"), |setting| {
            let all: Option<Vec<bool>> = match setting {
                Setting::Vector(all) => all.iter().map(truth).collect(),
                one => Some(vec![truth(one)?]),
            };
            all.filter(|all| all.len() == count)
        })
    }

    /// A dtype.
    pub fn dtype(&self, name: &str) -> Parsed<DType> {
        self.attribute(name, "a dtype", |setting| DType::parse(word(setting)?).ok())
    }

    /// An element of a type, in the dtype that it is stored in.
    pub fn literal(&self, name: &str, ranked: Ranked) -> Parsed<Literal> {
        let expected = format!("an element of dtype {ranked}");
        self.attribute(name, &expected, |setting| Literal::parse(ranked.stored(), word(setting)?))
    }

    /// A text between quotes, as it is.
    pub fn text(&self, name: &str) -> Parsed<String> {
        self.attribute(name, "a text", |setting| match setting {
            Setting::Text(text) => Some(text.clone()),
            _ => None,
        })
    }

    /// The value of one of these names, with or without quotes.
    pub fn one_of<T: Clone>(&self, name: &str, choices: &[(&str, T)]) -> Parsed<T> {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        self.attribute(name, &format!("one of {}", names.join(", ")), |setting| match setting {
            Setting::Word(word) | Setting::Text(word) => {
                choices.iter().find(|(name, _)| name == word).map(|(_, choice)| choice.clone())
            }
            _ => None,
        })
    }

    /// The region of this name.
    pub fn region(&self, name: &str) -> Parsed<Arc<R>> {
        match self.regions.iter().find(|(known, _)| *known == name) {
            Some((_, region)) => Ok(region.clone()),
            None => Err(self.error(format!("the region `{name}` of `{}`", self.op), "none")),
        }
    }
}

fn word(setting: &Setting) -> Option<&str> {
    match setting {
        Setting::Word(word) => Some(word),
        _ => None,
    }
}

fn truth(setting: &Setting) -> Option<bool> {
    match word(setting)? {
        "TRUE" => Some(true),
        "FALSE" => Some(false),
        _ => None,
    }
}

fn number<T: FromStr>(setting: &Setting) -> Option<T> {
    word(setting)?.parse().ok()
}

/// The numbers of a vector, or a single number.
fn numbers<T: FromStr>(setting: &Setting) -> Option<Vec<T>> {
    match setting {
        Setting::Vector(all) => all.iter().map(number).collect(),
        one => Some(vec![number(one)?]),
    }
}

fn positions(setting: &Setting) -> Option<Vec<usize>> {
    numbers(setting)?.into_iter().map(|one_based: usize| one_based.checked_sub(1)).collect()
}

/// Distinct ones of `rank` axes.
fn axes(setting: &Setting, rank: usize) -> Option<Vec<Axis>> {
    let axes: Vec<Axis> = positions(setting)?.into_iter().map(Axis).collect();
    let fits = |(i, axis): (usize, &Axis)| axis.0 < rank && !axes[..i].contains(axis);
    axes.iter().enumerate().all(fits).then_some(axes)
}
