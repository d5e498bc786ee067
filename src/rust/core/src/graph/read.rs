//! From the syntax tree of a graph's text to the graph. A text is read as it stands: equal statements stay two
//! nodes, and each value has the type that is written.

use super::parse::parse;
use super::syntax::{
    Attribute, Block, Declaration, Operand, ParseError, Parsed, Position, Setting, Source, Statement,
};
use super::{Def, Graph, Node, Operation, Value};
use crate::dtype::DType;
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Literal};
use std::collections::HashMap;
use std::str::FromStr;
use std::sync::Arc;

impl<O: Operation> Graph<O> {
    /// The graph of a text, as printing writes it (the grammar is in `graph/parse.rs`). Names of values are
    /// free, but for the `%`.
    ///
    /// # Errors
    /// [`ParseError`] for a text that does not follow the grammar, a name that is not known or known already,
    /// an op that does not exist or does not take its attributes, regions or operands, and types that are not
    /// those that the op gives.
    pub fn parse(text: &str) -> Parsed<Graph<O>> {
        let mut count = 0;
        Reader::graph(&parse(text)?, &mut count)
    }
}

/// An application of an op as it is written: what the op is made of.
#[derive(Debug)]
pub struct Form<'a, O> {
    /// The op's name.
    pub op: &'a str,
    /// Types of the operands.
    pub operands: Vec<&'a Aval>,
    /// Types of the results.
    pub results: Vec<&'a Aval>,
    /// Number of the statement in the text; no other has it.
    pub number: u64,
    /// Where the name stands.
    position: Position,
    attributes: &'a [Attribute],
    regions: Vec<(&'a str, Arc<Graph<O>>)>,
}

impl<O> Form<'_, O> {
    /// The error that something else was expected of the statement.
    pub fn error(&self, expected: impl Into<String>, found: impl Into<String>) -> ParseError {
        ParseError { position: self.position, expected: expected.into(), found: found.into() }
    }

    /// Checks the number of operands.
    ///
    /// # Errors
    /// Here as in the methods below: [`ParseError`] if the statement has no such thing.
    pub fn takes(&self, operands: usize) -> Parsed<()> {
        if self.operands.len() == operands {
            return Ok(());
        }
        Err(self.error(format!("{operands} operands of `{}`", self.op), self.operands.len().to_string()))
    }

    /// Checks that there are so many operands, or more.
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

    /// What `read` makes of an attribute, which should be `expected`.
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
        self.attribute(name, "TRUE or FALSE", |setting| match word(setting)? {
            "TRUE" => Some(true),
            "FALSE" => Some(false),
            _ => None,
        })
    }

    /// A dtype.
    pub fn dtype(&self, name: &str) -> Parsed<DType> {
        self.attribute(name, "a dtype", |setting| DType::parse(word(setting)?).ok())
    }

    /// An element of a dtype.
    pub fn literal(&self, name: &str, dtype: DType) -> Parsed<Literal> {
        let expected = format!("an element of dtype {dtype}");
        self.attribute(name, &expected, |setting| Literal::parse(dtype, word(setting)?))
    }

    /// A text between quotes, as it is.
    pub fn text(&self, name: &str) -> Parsed<String> {
        self.attribute(name, "a text", |setting| match setting {
            Setting::Text(text) => Some(text.clone()),
            _ => None,
        })
    }

    /// One of these names, between quotes or not; what it stands for.
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
    pub fn region(&self, name: &str) -> Parsed<Arc<Graph<O>>> {
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

fn number<T: FromStr>(setting: &Setting) -> Option<T> {
    word(setting)?.parse().ok()
}

/// Numbers are a vector, or one that stands by itself.
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

/// A graph that is being read.
struct Reader<'a, O> {
    graph: Graph<O>,
    names: HashMap<&'a str, Value>,
    literals: HashMap<(Literal, bool), Value>,
}

impl<'a, O: Operation> Reader<'a, O> {
    /// The graph of a block; `count` statements of the text were read before.
    fn graph(block: &'a Block, count: &mut u64) -> Parsed<Graph<O>> {
        let graph =
            Graph { values: vec![], nodes: vec![], inputs: vec![], constants: vec![], outputs: vec![] };
        let mut reader = Reader { graph, names: HashMap::new(), literals: HashMap::new() };
        for (i, input) in block.inputs.iter().enumerate() {
            let value = reader.declare(input, Def::Input(i))?;
            reader.graph.inputs.push(value);
        }
        for (i, constant) in block.constants.iter().enumerate() {
            let value = reader.declare(constant, Def::Constant(i))?;
            reader.graph.constants.push(value);
        }
        for statement in &block.body {
            reader.statement(statement, count)?;
        }
        for (operand, aval) in &block.outputs {
            let value = reader.operand(operand)?;
            let known = reader.graph.aval(value);
            if let Some(aval) = aval.as_ref().filter(|aval| *aval != known) {
                let (position, expected, found) = (operand.position, known.to_string(), aval.to_string());
                return Err(ParseError { position, expected, found });
            }
            reader.graph.outputs.push(value);
        }
        Ok(reader.graph)
    }

    fn value(&mut self, aval: Aval, def: Def) -> Value {
        self.graph.values.push((aval, def));
        Value(u32::try_from(self.graph.values.len() - 1).expect("fewer than 2^32 values fit in memory"))
    }

    fn declare(&mut self, declaration: &'a Declaration, def: Def) -> Parsed<Value> {
        let value = self.value(declaration.aval.clone(), def);
        match self.names.insert(&declaration.name, value) {
            None => Ok(value),
            Some(_) => Err(ParseError {
                position: declaration.position,
                expected: "a name that no other value has".into(),
                found: format!("`{}`", declaration.name),
            }),
        }
    }

    fn operand(&mut self, operand: &Operand) -> Parsed<Value> {
        match &operand.source {
            Source::Name(name) => self.names.get(name.as_str()).copied().ok_or_else(|| ParseError {
                position: operand.position,
                expected: "the name of a value that is made before".into(),
                found: format!("`{name}`"),
            }),
            &Source::Literal(literal, ambiguous) => {
                if let Some(&value) = self.literals.get(&(literal, ambiguous)) {
                    return Ok(value);
                }
                let aval = Aval { dtype: literal.dtype(), shape: Shape::scalar(), ambiguous };
                let value = self.value(aval, Def::Literal(literal));
                self.literals.insert((literal, ambiguous), value);
                Ok(value)
            }
        }
    }

    fn statement(&mut self, statement: &'a Statement, count: &mut u64) -> Parsed<()> {
        *count += 1;
        let number = *count;
        let operands: Vec<Value> =
            statement.operands.iter().map(|operand| self.operand(operand)).collect::<Parsed<_>>()?;
        let regions: Vec<(&str, Arc<Graph<O>>)> = statement
            .regions
            .iter()
            .map(|(name, block)| Ok((name.as_str(), Arc::new(Reader::graph(block, count)?))))
            .collect::<Parsed<_>>()?;
        let form = Form {
            op: &statement.op,
            operands: operands.iter().map(|&v| self.graph.aval(v)).collect(),
            results: statement.results.iter().map(|result| &result.aval).collect(),
            number,
            position: statement.position,
            attributes: &statement.attributes,
            regions,
        };
        let op = O::parse(&form)?;
        form.agrees(&op)?;
        let node = self.graph.nodes.len();
        let results: Vec<Value> = statement
            .results
            .iter()
            .enumerate()
            .map(|(i, result)| self.declare(result, Def::Result(node, i)))
            .collect::<Parsed<_>>()?;
        self.graph.nodes.push(Node { op, operands, results });
        Ok(())
    }
}

impl<O: Operation> Form<'_, O> {
    /// Checks that an op says of itself what is written: no more attributes and regions, and these types.
    fn agrees(&self, op: &O) -> Parsed<()> {
        let own: Vec<&str> = op.attributes().into_iter().map(|(name, _)| name).collect();
        let mut others = self.attributes.iter().filter(|attribute| !own.contains(&attribute.name.as_str()));
        if let Some(Attribute { name, position, .. }) = others.next() {
            let expected = match &own[..] {
                [] => format!("no attributes of `{}`", self.op),
                own => format!("attributes of `{}`, which are {}", self.op, own.join(", ")),
            };
            return Err(ParseError { position: *position, expected, found: format!("`{name}`") });
        }
        let (own, written) = (op.regions().len(), self.regions.len());
        if own != written {
            return Err(self.error(format!("{own} regions of `{}`", self.op), written.to_string()));
        }
        let types = op.infer(&self.operands).map_err(|e| {
            self.error(format!("operands that `{}` takes", self.op), e.to_string().replace('\n', " "))
        })?;
        if !types.iter().eq(self.results.iter().copied()) {
            let list = |avals: &mut dyn Iterator<Item = &Aval>| {
                avals.map(Aval::to_string).collect::<Vec<_>>().join(", ")
            };
            let (expected, found) = (list(&mut types.iter()), list(&mut self.results.iter().copied()));
            return Err(self.error(format!("results of type {expected}"), found));
        }
        Ok(())
    }
}
