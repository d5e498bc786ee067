//! The equation of an einsum: `ij,jk->ik`.
//!
//! One term for each operand, separated by commas, and after `->` that of the result. A letter names an axis;
//! `...` stands for those that have no letter, aligned from the last. White space means nothing.

use crate::error::{Error, Result};

/// A part of a term.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// An axis.
    Letter(char),
    /// The axes without a letter.
    Ellipsis,
}

/// The axes of one operand or of the result, each with the number of its character, from 1.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Term {
    /// The axes in order.
    pub parts: Vec<(Part, usize)>,
    /// The number of the character after the term.
    pub end: usize,
}

/// An equation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Equation {
    text: String,
    /// A term for each operand.
    pub inputs: Vec<Term>,
    /// That of the result, unless it is left out.
    pub output: Option<Term>,
}

impl Term {
    /// How many axes have letters.
    pub fn letters(&self) -> usize {
        self.parts.iter().filter(|(part, _)| *part != Part::Ellipsis).count()
    }

    /// Whether there are axes without letters, or may be.
    pub fn has_ellipsis(&self) -> bool {
        self.letters() < self.parts.len()
    }
}

impl Equation {
    /// Reads an equation.
    ///
    /// # Errors
    /// [`Error::Equation`], which points at the character.
    pub fn parse(text: &str) -> Result<Equation> {
        let chars: Vec<char> = text.chars().collect();
        let mut equation = Equation { text: text.into(), inputs: vec![], output: None };
        let (mut term, mut is_output, mut at) = (Term::default(), false, 0);
        let is =
            |at: usize, expected: &str| chars[at..].iter().take(expected.len()).copied().eq(expected.chars());
        while at < chars.len() {
            let (c, here) = (chars[at], at + 1);
            at += 1;
            match c {
                _ if c.is_whitespace() => {}
                'a'..='z' | 'A'..='Z' => {
                    let part = Part::Letter(c);
                    if is_output && term.parts.iter().any(|(other, _)| *other == part) {
                        return equation.wrong(here, "each letter once after \"->\"");
                    }
                    term.parts.push((part, here));
                }
                '.' if is(at - 1, "...") && !term.has_ellipsis() => {
                    term.parts.push((Part::Ellipsis, here));
                    at += 2;
                }
                '.' if term.has_ellipsis() => return equation.wrong(here, "one \"...\" in each term"),
                '.' => return equation.wrong(here, "\"...\", which is three dots,"),
                '-' if is(at - 1, "->") && !is_output => {
                    term.end = here;
                    equation.inputs.push(std::mem::take(&mut term));
                    is_output = true;
                    at += 1;
                }
                ',' if !is_output => {
                    term.end = here;
                    equation.inputs.push(std::mem::take(&mut term));
                }
                _ if is_output => return equation.wrong(here, "letters or \"...\""),
                _ => return equation.wrong(here, "letters, \"...\", \",\" or \"->\""),
            }
        }
        term.end = chars.len() + 1;
        if is_output {
            equation.output = Some(term);
        } else {
            equation.inputs.push(term);
        }
        equation.check_output()?;
        Ok(equation)
    }

    /// Checks that the result has no axis that no operand has.
    fn check_output(&self) -> Result<()> {
        let Some(output) = &self.output else { return Ok(()) };
        let known =
            |part: &Part| self.inputs.iter().any(|term| term.parts.iter().any(|(other, _)| other == part));
        match output.parts.iter().find(|(part, _)| !known(part)) {
            Some(&(Part::Letter(_), at)) => self.wrong(at, "a letter of an operand"),
            Some(&(Part::Ellipsis, at)) => self.wrong(at, "letters, since no operand has \"...\","),
            None => Ok(()),
        }
    }

    /// The error that something else is expected at a character.
    pub fn wrong<T>(&self, at: usize, expected: &str) -> Result<T> {
        let got = match self.text.chars().nth(at - 1) {
            Some(c) => format!("\"{c}\""),
            None => "its end".into(),
        };
        Err(Error::Equation { equation: self.text.clone(), at, expected: expected.into(), got })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong_at(text: &str) -> usize {
        match Equation::parse(text) {
            Err(Error::Equation { at, .. }) => at,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn terms_are_letters_and_an_ellipsis() {
        let equation = Equation::parse(" i j,...jk -> ...ik").unwrap();
        assert_eq!(equation.inputs.len(), 2);
        assert_eq!(equation.inputs[0].parts, [(Part::Letter('i'), 2), (Part::Letter('j'), 4)]);
        assert_eq!(equation.inputs[0].end, 5);
        assert_eq!(equation.inputs[1].parts[0], (Part::Ellipsis, 6));
        assert_eq!(equation.inputs[1].letters(), 2);
        assert_eq!(equation.output.unwrap().parts.len(), 3);
        let scalars = Equation::parse(",").unwrap();
        assert_eq!((scalars.inputs.len(), scalars.output), (2, None));
        assert!(Equation::parse("ii->").unwrap().output.unwrap().parts.is_empty());
    }

    #[test]
    fn errors_point_at_the_character() {
        assert_eq!(wrong_at("ij,j1->i"), 5);
        assert_eq!(wrong_at("ij,jk->ii"), 9);
        assert_eq!(wrong_at("ij->iz"), 6);
        assert_eq!(wrong_at("ij->...i"), 5);
        assert_eq!(wrong_at("i..j"), 2);
        assert_eq!(wrong_at("...i..."), 5);
        assert_eq!(wrong_at("ij-k"), 3);
        assert_eq!(wrong_at("ij->i->j"), 6);
        assert_eq!(wrong_at("ij->i,j"), 6);
        assert_eq!(wrong_at("ij>k"), 3);
        assert_eq!(wrong_at("\u{e9}i"), 1);
        let message = Equation::parse("ij,j1->i").unwrap_err().to_string();
        assert!(message.ends_with("not \"1\".\nx ij,j1->i\n      ^"), "{message}");
    }
}
