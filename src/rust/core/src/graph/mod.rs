//! Graphs: typed values and the nodes that make them, in topological order.
//!
//! A graph is generic over its ops, which are one layer above: an op may hold a graph (the body of a loop),
//! and a graph holds ops. The trait [`Operation`] is all that a graph knows of an op. Every transformation
//! (passes, derivatives, batching, lowering) is a function on graphs.

mod builder;
mod form;
mod parse;
mod read;
pub mod syntax;
mod text;
mod verify;

pub use builder::Builder;
pub(crate) use builder::NODE;
pub use form::Form;

use crate::error::Result;
use crate::tensor::{Aval, Literal};
use std::fmt::Debug;
use std::hash::Hash;
use syntax::Parsed;

/// The requirements of a graph on its ops. Static parameters are part of the op: equal ops on equal operands
/// are the same value.
pub trait Operation: Clone + Eq + Hash + Debug {
    /// The name, as in the graph's text.
    fn name(&self) -> &'static str;

    /// Types of the results for operands of these types. Result types are decided here and nowhere else.
    ///
    /// # Errors
    /// Errors for dtypes, shapes and axes that the op cannot be applied to.
    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>>;

    /// Static parameters in the order of printing, each as R would print it.
    fn attributes(&self) -> Vec<(&'static str, String)>;

    /// Graphs that the op runs, with their role as name.
    fn regions(&self) -> Vec<(&'static str, &Graph<Self>)> {
        vec![]
    }

    /// The op of a statement in a graph's text: the inverse of [`name`](Operation::name),
    /// [`attributes`](Operation::attributes) and [`regions`](Operation::regions). The caller checks that the
    /// op has no other attributes and that its results have the types that are written.
    ///
    /// # Errors
    /// [`ParseError`](syntax::ParseError) if no op of that name has these attributes, regions and operands.
    fn parse(form: &Form<Graph<Self>>) -> Parsed<Self>;
}

/// A value of a graph, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Value(u32);

impl Value {
    /// Its number, for tables indexed by value.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Def {
    /// Argument number of the program.
    Input(usize),
    /// Number of a tensor captured at trace time, bound when the program runs.
    Constant(usize),
    /// A scalar known at trace time.
    Literal(Literal),
    /// Result `.1` of node `.0`.
    Result(usize, usize),
}

/// An op applied to values.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Node<O> {
    /// The op, with its static parameters.
    pub op: O,
    /// Values that it reads; all made before.
    pub operands: Vec<Value>,
    /// Values that it makes.
    pub results: Vec<Value>,
}

/// A program: nodes in topological order, with inputs, captured constants and outputs.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Graph<O> {
    values: Vec<(Aval, Def)>,
    nodes: Vec<Node<O>>,
    inputs: Vec<Value>,
    constants: Vec<Value>,
    outputs: Vec<Value>,
}

impl<O> Graph<O> {
    /// Type of a value.
    pub fn aval(&self, value: Value) -> &Aval {
        &self.values[value.index()].0
    }

    /// Origin of a value.
    pub fn def(&self, value: Value) -> Def {
        self.values[value.index()].1
    }

    /// The literal that a value is, if it is one.
    pub fn literal(&self, value: Value) -> Option<Literal> {
        match self.def(value) {
            Def::Literal(literal) => Some(literal),
            Def::Input(_) | Def::Result(..) | Def::Constant(_) => None,
        }
    }

    /// The node that makes a value, if one does.
    pub fn made_by(&self, value: Value) -> Option<&Node<O>> {
        match self.def(value) {
            Def::Result(node, _) => Some(&self.nodes[node]),
            Def::Input(_) | Def::Constant(_) | Def::Literal(_) => None,
        }
    }

    /// All values, in the order of their making.
    pub fn values(&self) -> impl Iterator<Item = Value> {
        (0..self.values.len() as u32).map(Value)
    }

    /// The nodes, in topological order.
    pub fn nodes(&self) -> &[Node<O>] {
        &self.nodes
    }

    /// The arguments.
    pub fn inputs(&self) -> &[Value] {
        &self.inputs
    }

    /// The captured tensors.
    pub fn constants(&self) -> &[Value] {
        &self.constants
    }

    /// The results.
    pub fn outputs(&self) -> &[Value] {
        &self.outputs
    }
}
