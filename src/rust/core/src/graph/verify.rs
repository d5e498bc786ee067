//! The invariants of a graph, checked after tracing and, in debug builds, after every pass:
//!
//! 1. every value has one origin, and origins and nodes point at each other;
//! 2. operands are made before they are used;
//! 3. the types of a node's results are what its op infers from its operands;
//! 4. a literal is a scalar of its own dtype, and an ambiguous value has the dtype that its type is stored in;
//! 5. inputs, constants and outputs are values of this graph;
//! 6. all this holds in the graphs that ops run, and these have no constants.

use super::{Def, Graph, Operation};
use crate::error::{Error, Result};
use crate::stop;
use crate::tensor::Aval;

impl<O: Operation> Graph<O> {
    /// Checks every invariant.
    ///
    /// # Errors
    /// [`Error::Internal`] with the first that is broken, and the graph's text.
    pub fn verify(&self) -> Result<()> {
        self.broken().map_or(Ok(()), |what| Err(Error::Internal { detail: format!("{what}\n{self}") }))
    }

    fn broken(&self) -> Option<String> {
        let count = self.values.len();
        let lists = self.inputs.iter().chain(&self.constants).chain(&self.outputs);
        if let Some(v) = lists.clone().find(|v| v.index() >= count) {
            return Some(format!("value {} is not of this graph", v.index()));
        }
        for (index, (aval, def)) in self.values.iter().enumerate() {
            let at_home = match *def {
                Def::Input(i) => self.inputs.get(i).is_some_and(|v| v.index() == index),
                Def::Constant(i) => self.constants.get(i).is_some_and(|v| v.index() == index),
                Def::Literal(literal) => literal.dtype() == aval.dtype && aval.shape.rank() == 0,
                Def::Result(node, i) => {
                    self.nodes.get(node).and_then(|n| n.results.get(i)).is_some_and(|v| v.index() == index)
                }
            };
            if !at_home {
                return Some(format!("value {index} has the wrong origin {def:?}"));
            }
            if aval.dtype != aval.ranked().stored() {
                return Some(format!("value {index} is {aval} and stored as {}", aval.dtype));
            }
        }
        for (number, node) in self.nodes.iter().enumerate() {
            stop::work(super::NODE);
            let name = node.op.name();
            let first = node.results.first().map_or(count, |v| v.index());
            if node.operands.iter().any(|v| v.index() >= first) {
                return Some(format!("node {number} ({name}) reads a value that is made later"));
            }
            for (what, region) in node.op.regions() {
                let broken = if region.constants.is_empty() {
                    region.broken()
                } else {
                    Some("it has constants".into())
                };
                if let Some(broken) = broken {
                    return Some(format!("node {number} ({name}), its {what}: {broken}"));
                }
            }
            let operands: Vec<&Aval> = node.operands.iter().map(|&v| self.aval(v)).collect();
            match node.op.infer(&operands) {
                Err(e) => return Some(format!("node {number} ({name}) is not well typed: {e}")),
                Ok(types) => {
                    if !types.iter().eq(node.results.iter().map(|&v| self.aval(v))) {
                        return Some(format!(
                            "node {number} ({name}) has results of other types than its op infers"
                        ));
                    }
                }
            }
        }
        None
    }
}
