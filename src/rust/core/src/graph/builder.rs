//! Construction of graphs: nodes are typed as they are added, and equal nodes are made once.

use super::{Def, Graph, Node, Operation, Value};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::growth::{push, reserve, reserve_entry};
use crate::stop;
use crate::tensor::{Aval, Literal};
use rustc_hash::FxHashMap;

/// The work of visiting a node, in elements of a tensor (see [`stop`]).
pub(crate) const NODE: usize = 256;

/// A graph under construction.
#[derive(Debug)]
pub struct Builder<O> {
    graph: Graph<O>,
    nodes: FxHashMap<(O, Vec<Value>), usize>,
    literals: FxHashMap<(Literal, Option<DType>), Value>,
}

impl<O: Operation> Default for Builder<O> {
    fn default() -> Self {
        let graph =
            Graph { values: vec![], nodes: vec![], inputs: vec![], constants: vec![], outputs: vec![] };
        Builder { graph, nodes: FxHashMap::default(), literals: FxHashMap::default() }
    }
}

impl<O: Operation> Builder<O> {
    fn value(&mut self, aval: Aval, def: Def) -> Value {
        push(&mut self.graph.values, (aval, def));
        Value(u32::try_from(self.graph.values.len() - 1).expect("fewer than 2^32 values fit in memory"))
    }

    /// A new argument.
    pub fn input(&mut self, aval: Aval) -> Value {
        let value = self.value(aval, Def::Input(self.graph.inputs.len()));
        push(&mut self.graph.inputs, value);
        value
    }

    /// A new captured tensor. Its number is the count of those before it.
    pub fn constant(&mut self, aval: Aval) -> Value {
        let value = self.value(aval, Def::Constant(self.graph.constants.len()));
        push(&mut self.graph.constants, value);
        value
    }

    /// A scalar known at trace time; `ambiguous` is its default dtype, if it has one ([`Aval::ambiguous`]).
    pub fn literal(&mut self, literal: Literal, ambiguous: Option<DType>) -> Value {
        if let Some(&value) = self.literals.get(&(literal, ambiguous)) {
            return value;
        }
        let aval = Aval { dtype: literal.dtype(), shape: Default::default(), ambiguous };
        let value = self.value(aval, Def::Literal(literal));
        reserve_entry(&mut self.literals);
        self.literals.insert((literal, ambiguous), value);
        value
    }

    /// Applies an op; returns its results. The same op on the same operands gives the same values.
    ///
    /// # Errors
    /// Those of [`Operation::infer`]; the graph is unchanged then.
    pub fn node(&mut self, op: impl Into<O>, operands: &[Value]) -> Result<Vec<Value>> {
        self.add(op.into(), operands)
    }

    fn add(&mut self, op: O, operands: &[Value]) -> Result<Vec<Value>> {
        stop::work(NODE);
        let key = (op, operands.to_vec());
        if let Some(&node) = self.nodes.get(&key) {
            return Ok(self.graph.nodes[node].results.clone());
        }
        let avals: Vec<&Aval> = operands.iter().map(|&v| self.graph.aval(v)).collect();
        let types = key.0.infer(&avals)?;
        let node = self.graph.nodes.len();
        // All memory is reserved first: a node is added with its results, or not at all.
        reserve_entry(&mut self.nodes);
        reserve(&mut self.graph.nodes, 1);
        reserve(&mut self.graph.values, types.len());
        let results: Vec<Value> =
            types.into_iter().enumerate().map(|(i, aval)| self.value(aval, Def::Result(node, i))).collect();
        self.graph.nodes.push(Node { op: key.0.clone(), operands: key.1.clone(), results: results.clone() });
        self.nodes.insert(key, node);
        Ok(results)
    }

    /// Applies an op that has one result.
    ///
    /// # Errors
    /// As [`Builder::node`].
    pub fn node1(&mut self, op: impl Into<O>, operands: &[Value]) -> Result<Value> {
        Ok(self.node(op, operands)?[0])
    }

    /// Copies the nodes of a graph without constants, with these values for its inputs; returns its outputs.
    ///
    /// # Errors
    /// As [`Builder::node`]: none if the values have the types of the inputs. [`Error::Internal`] for a
    /// constant.
    pub fn inline(&mut self, graph: &Graph<O>, inputs: &[Value]) -> Result<Vec<Value>> {
        let mut values: Vec<Value> = Vec::new();
        reserve(&mut values, graph.values.len());
        for (aval, def) in &graph.values {
            values.push(match *def {
                Def::Input(i) => inputs[i],
                Def::Literal(literal) => self.literal(literal, aval.ambiguous),
                Def::Constant(_) => {
                    return Err(Error::Internal { detail: "constants belong to the outermost graph".into() });
                }
                Def::Result(node, i) => {
                    let node = &graph.nodes[node];
                    let operands: Vec<Value> = node.operands.iter().map(|v| values[v.index()]).collect();
                    self.node(node.op.clone(), &operands)?[i]
                }
            });
        }
        Ok(graph.outputs.iter().map(|v| values[v.index()]).collect())
    }

    /// The graph so far, for looking up types and origins.
    pub fn graph(&self) -> &Graph<O> {
        &self.graph
    }

    /// Ends the construction.
    pub fn finish(mut self, outputs: Vec<Value>) -> Graph<O> {
        self.graph.outputs = outputs;
        self.graph
    }
}
