//! The parser from the text of a graph ([`text`](super::text)) to its syntax tree. Spaces and ends of lines
//! separate words and have no other meaning:
//!
//! ```text
//! program   = "<AnvilGraph>" inputs [constants] body outputs
//! inputs    = "Inputs:" ("(none)" | value+)
//! constants = "Constants:" value+
//! body      = "Body:" ("(empty)" | statement*)
//! outputs   = "Outputs:" ("(none)" | (value | literal)+)
//! statement = results "=" op ["[" attribute {"," attribute} "]"] "(" operands ")" region*
//! results   = value | "(" names "):" "(" types ")"
//! region    = name "(" values "):" statement* "gives" "(" operands ")"
//! attribute = name "=" setting
//! setting   = word | "\"" text "\"" | "c(" settings ")" | "[" settings "]"
//! operand   = name | literal
//! literal   = word ":" dtype
//! value     = name ":" type
//! type      = dtype "[" sizes "]"
//! dtype     = word ["?"]
//! ```

use super::syntax::{
    Attribute, Declaration, Definition, Operand, ParseError, Parsed, Position, Setting, Source, Statement,
};
use crate::dtype::{DType, Ranked};
use crate::shape::Shape;
use crate::tensor::{Aval, Literal};
use std::fmt;

/// A token: a word or a sign.
#[derive(Clone, PartialEq, Debug)]
enum Token {
    Word(String),
    Text(String),
    Sign(char),
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(word) => write!(f, "`{word}`"),
            Token::Text(text) => write!(f, "`{text:?}`"),
            Token::Sign(sign) => write!(f, "`{sign}`"),
            Token::End => f.write_str("the end of the text"),
        }
    }
}

const SIGNS: &str = "()[],:=<>";

/// Tokens with their positions; the last is [`Token::End`].
fn tokens(text: &str) -> Parsed<Vec<(Token, Position)>> {
    let mut tokens = Vec::new();
    let mut position = Position { line: 1, column: 1 };
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (token, taken) = match first {
            c if c.is_whitespace() => (None, &rest[..c.len_utf8()]),
            '"' => {
                let (text, taken) = quoted(rest).ok_or_else(|| ParseError {
                    position,
                    expected: "a text between quotes, with the escapes of Rust".into(),
                    found: format!("`{}`", rest.lines().next().unwrap_or("")),
                })?;
                (Some(Token::Text(text)), taken)
            }
            c if SIGNS.contains(c) => (Some(Token::Sign(c)), &rest[..1]),
            _ => {
                let ends = |c: char| c.is_whitespace() || c == '"' || SIGNS.contains(c);
                let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
                (Some(Token::Word(word.into())), word)
            }
        };
        tokens.extend(token.map(|token| (token, position)));
        for c in taken.chars() {
            position = match c {
                '\n' => Position { line: position.line + 1, column: 1 },
                _ => Position { column: position.column + 1, ..position },
            };
        }
        rest = &rest[taken.len()..];
    }
    tokens.push((Token::End, position));
    Ok(tokens)
}

/// The string after an opening quote, written as [`str`]'s `Debug` writes it, and the part of `rest` that it
/// takes.
fn quoted(rest: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        text.push(match c {
            '"' => return Some((text, &rest[..=at])),
            '\\' => match chars.next()?.1 {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                '0' => '\0',
                'u' => {
                    let digits: String = chars.by_ref().map(|(_, c)| c).take_while(|&c| c != '}').collect();
                    char::from_u32(u32::from_str_radix(digits.strip_prefix('{')?, 16).ok()?)?
                }
                c @ ('"' | '\'' | '\\') => c,
                _ => return None,
            },
            c => c,
        });
    }
    None
}

/// The syntax tree of a program.
///
/// # Errors
/// [`ParseError`] at the first token that the grammar does not allow.
pub fn parse(text: &str) -> Parsed<Definition> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0 };
    let program = parser.program()?;
    match parser.peek() {
        Token::End => Ok(program),
        _ => Err(parser.unexpected("another output, or the end of the text")),
    }
}

struct Parser {
    tokens: Vec<(Token, Position)>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    /// The token after the next one.
    fn second(&self) -> &Token {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].0
    }

    fn position(&self) -> Position {
        self.tokens[self.at].1
    }

    fn unexpected(&self, expected: impl Into<String>) -> ParseError {
        ParseError { position: self.position(), expected: expected.into(), found: self.peek().to_string() }
    }

    /// Takes the next token if it is this one.
    fn takes(&mut self, token: &Token) -> bool {
        let same = self.peek() == token;
        self.at += usize::from(same);
        same
    }

    fn sign(&mut self, sign: char) -> Parsed<()> {
        if self.takes(&Token::Sign(sign)) {
            return Ok(());
        }
        Err(self.unexpected(format!("`{sign}`")))
    }

    fn keyword(&mut self, word: &str) -> Parsed<()> {
        if self.takes(&Token::Word(word.into())) {
            return Ok(());
        }
        Err(self.unexpected(format!("`{word}`")))
    }

    /// Whether the next token is a word that is (or is not) the name of a value.
    fn is_word(&self, value: bool) -> bool {
        matches!(self.peek(), Token::Word(word) if word.starts_with('%') == value)
    }

    /// A word that is (or is not) the name of a value.
    fn word(&mut self, value: bool, expected: &str) -> Parsed<String> {
        match self.peek().clone() {
            Token::Word(word) if word.starts_with('%') == value => {
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    /// A list between two signs, separated by commas.
    fn list<T>(
        &mut self,
        [open, close]: [char; 2],
        item: impl Fn(&mut Parser) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        self.sign(open)?;
        let mut items = Vec::new();
        if self.takes(&Token::Sign(close)) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.takes(&Token::Sign(close)) {
                return Ok(items);
            }
            if !self.takes(&Token::Sign(',')) {
                return Err(self.unexpected(format!("`,` or `{close}`")));
            }
        }
    }

    /// Reads a section's title; returns whether the section is empty, which the word `empty` in parentheses
    /// says.
    fn section(&mut self, title: &str, empty: &str) -> Parsed<bool> {
        self.keyword(title)?;
        self.sign(':')?;
        let is_empty = *self.peek() == Token::Sign('(') && *self.second() == Token::Word(empty.into());
        if is_empty {
            self.at += 2;
            self.sign(')')?;
        }
        Ok(is_empty)
    }

    fn program(&mut self) -> Parsed<Definition> {
        self.sign('<')?;
        self.keyword("AnvilGraph")?;
        self.sign('>')?;
        let mut program = Definition::default();
        if !self.section("Inputs", "none")? {
            program.inputs = self.values()?;
        }
        if *self.peek() == Token::Word("Constants".into()) {
            self.section("Constants", "none")?;
            program.constants = self.values()?;
        }
        if !self.section("Body", "empty")? {
            program.body = self.statements()?;
        }
        if !self.section("Outputs", "none")? {
            while *self.peek() != Token::End {
                let operand = self.operand()?;
                let aval = match &operand.source {
                    Source::Literal(..) => None,
                    Source::Name(_) => {
                        self.sign(':')?;
                        Some(self.aval()?)
                    }
                };
                program.outputs.push((operand, aval));
            }
        }
        Ok(program)
    }

    fn values(&mut self) -> Parsed<Vec<Declaration>> {
        let mut values = vec![self.value()?];
        while self.is_word(true) {
            values.push(self.value()?);
        }
        Ok(values)
    }

    fn value(&mut self) -> Parsed<Declaration> {
        let position = self.position();
        let name = self.word(true, "the name of a value, such as `%1`")?;
        self.sign(':')?;
        Ok(Declaration { name, aval: self.aval()?, position })
    }

    fn statements(&mut self) -> Parsed<Vec<Statement>> {
        let mut statements = Vec::new();
        while self.is_word(true) || *self.peek() == Token::Sign('(') {
            statements.push(self.statement()?);
        }
        Ok(statements)
    }

    fn statement(&mut self) -> Parsed<Statement> {
        let results = self.results()?;
        self.sign('=')?;
        let position = self.position();
        let op = self.word(false, "the name of an op")?;
        let attributes = match self.peek() {
            Token::Sign('[') => self.list(['[', ']'], Parser::attribute)?,
            _ => vec![],
        };
        let operands = self.list(['(', ')'], Parser::operand)?;
        let mut regions = Vec::new();
        while self.is_word(false) && *self.second() == Token::Sign('(') && !self.is_end_of_region() {
            regions.push(self.region()?);
        }
        Ok(Statement { results, op, position, attributes, operands, regions })
    }

    fn is_end_of_region(&self) -> bool {
        *self.peek() == Token::Word("gives".into())
    }

    fn results(&mut self) -> Parsed<Vec<Declaration>> {
        if *self.peek() != Token::Sign('(') {
            return Ok(vec![self.value()?]);
        }
        let name = |parser: &mut Parser| {
            Ok((parser.position(), parser.word(true, "the name of a value, such as `%1`")?))
        };
        let names = self.list(['(', ')'], name)?;
        self.sign(':')?;
        let position = self.position();
        let avals = self.list(['(', ')'], Parser::aval)?;
        if names.len() != avals.len() {
            let (expected, found) = (format!("{} types", names.len()), avals.len().to_string());
            return Err(ParseError { position, expected, found });
        }
        let declare = |((position, name), aval)| Declaration { name, aval, position };
        Ok(names.into_iter().zip(avals).map(declare).collect())
    }

    fn region(&mut self) -> Parsed<(String, Definition)> {
        let name = self.word(false, "the name of a region")?;
        let inputs = self.list(['(', ')'], Parser::value)?;
        self.sign(':')?;
        let body = self.statements()?;
        if !self.is_end_of_region() {
            return Err(self.unexpected("another statement, or `gives`"));
        }
        self.at += 1;
        let outputs = self.list(['(', ')'], Parser::operand)?;
        let outputs = outputs.into_iter().map(|operand| (operand, None)).collect();
        Ok((name, Definition { inputs, constants: vec![], body, outputs }))
    }

    fn attribute(&mut self) -> Parsed<Attribute> {
        let name = self.word(false, "the name of an attribute")?;
        self.sign('=')?;
        let position = self.position();
        Ok(Attribute { name, setting: self.setting()?, position })
    }

    fn setting(&mut self) -> Parsed<Setting> {
        match self.peek().clone() {
            Token::Word(c) if c == "c" && *self.second() == Token::Sign('(') => {
                self.at += 1;
                self.list(['(', ')'], Parser::setting).map(Setting::Vector)
            }
            Token::Sign('[') => self.list(['[', ']'], Parser::setting).map(Setting::List),
            Token::Text(text) => {
                self.at += 1;
                Ok(Setting::Text(text))
            }
            _ => self.word(false, "a number, a name, a text, `c(` or `[`").map(Setting::Word),
        }
    }

    fn operand(&mut self) -> Parsed<Operand> {
        let position = self.position();
        if self.is_word(true) {
            let name = self.word(true, "the name of a value")?;
            return Ok(Operand { source: Source::Name(name), position });
        }
        let word = self.word(false, "the name of a value, or a number with its dtype, such as `1:f32`")?;
        self.sign(':')?;
        let ranked = self.dtype()?;
        let literal = Literal::parse(ranked.stored(), &word).ok_or_else(|| ParseError {
            position,
            expected: format!("an element of dtype {ranked}"),
            found: format!("`{word}`"),
        })?;
        Ok(Operand { source: Source::Literal(literal, ranked.default()), position })
    }

    fn dtype(&mut self) -> Parsed<Ranked> {
        let here = self.unexpected(format!("a dtype, one of {}", DType::names()));
        let word = self.word(false, "a dtype")?;
        let (name, ambiguous) = word.strip_suffix('?').map_or((word.as_str(), false), |name| (name, true));
        DType::parse(name).map(|dtype| Ranked { dtype, ambiguous }).map_err(|_| here)
    }

    fn aval(&mut self) -> Parsed<Aval> {
        let ranked = self.dtype()?;
        let position = self.position();
        let size = |parser: &mut Parser| {
            let here = parser.unexpected("the size of an axis");
            parser.word(false, "the size of an axis")?.parse::<usize>().map_err(|_| here)
        };
        let sizes = self.list(['[', ']'], size)?;
        let shape = Shape::try_new(sizes).map_err(|e| ParseError {
            position,
            expected: "a shape".into(),
            found: e.to_string(),
        })?;
        Ok(Aval::new(ranked, shape))
    }
}
