//! The graph of a syntax tree. A text is read as it stands: equal statements stay two nodes, and each value
//! has the type that is written.

use super::form::Form;
use super::parse::parse;
use super::syntax::{Attribute, Declaration, Definition, Operand, ParseError, Parsed, Source, Statement};
use super::{Def, Graph, Node, Operation, Value};
use crate::dtype::DType;
use crate::shape::Shape;
use crate::tensor::{Aval, Literal};
use std::collections::HashMap;
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

/// A graph that is being read.
struct Reader<'a, O> {
    graph: Graph<O>,
    names: HashMap<&'a str, Value>,
    literals: HashMap<(Literal, Option<DType>), Value>,
}

impl<'a, O: Operation> Reader<'a, O> {
    /// The graph of a definition; `count` statements of the text were read before.
    fn graph(definition: &'a Definition, count: &mut u64) -> Parsed<Graph<O>> {
        let graph =
            Graph { values: vec![], nodes: vec![], inputs: vec![], constants: vec![], outputs: vec![] };
        let mut reader = Reader { graph, names: HashMap::new(), literals: HashMap::new() };
        for (i, input) in definition.inputs.iter().enumerate() {
            let value = reader.declare(input, Def::Input(i))?;
            reader.graph.inputs.push(value);
        }
        for (i, constant) in definition.constants.iter().enumerate() {
            let value = reader.declare(constant, Def::Constant(i))?;
            reader.graph.constants.push(value);
        }
        for statement in &definition.body {
            reader.statement(statement, count)?;
        }
        for (operand, aval) in &definition.outputs {
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
            .map(|(name, definition)| Ok((name.as_str(), Arc::new(Reader::graph(definition, count)?))))
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
        agrees(&form, &op)?;
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

/// Checks that an op has the attributes, regions and types that are written, and no others.
fn agrees<O: Operation>(form: &Form<Graph<O>>, op: &O) -> Parsed<()> {
    let own: Vec<&str> = op.attributes().into_iter().map(|(name, _)| name).collect();
    let mut others = form.attributes.iter().filter(|attribute| !own.contains(&attribute.name.as_str()));
    if let Some(Attribute { name, position, .. }) = others.next() {
        let expected = match &own[..] {
            [] => format!("no attributes of `{}`", form.op),
            own => format!("attributes of `{}`, which are {}", form.op, own.join(", ")),
        };
        return Err(ParseError { position: *position, expected, found: format!("`{name}`") });
    }
    let (own, written) = (op.regions().len(), form.regions.len());
    if own != written {
        return Err(form.error(format!("{own} regions of `{}`", form.op), written.to_string()));
    }
    let types = op.infer(&form.operands).map_err(|e| {
        form.error(format!("operands that `{}` takes", form.op), e.to_string().replace('\n', " "))
    })?;
    if !types.iter().eq(form.results.iter().copied()) {
        let list = |avals: &mut dyn Iterator<Item = &Aval>| {
            avals.map(Aval::to_string).collect::<Vec<_>>().join(", ")
        };
        let (expected, found) = (list(&mut types.iter()), list(&mut form.results.iter().copied()));
        return Err(form.error(format!("results of type {expected}"), found));
    }
    Ok(())
}
