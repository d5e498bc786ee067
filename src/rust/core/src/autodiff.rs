//! Reverse-mode derivatives: a program becomes nodes of a graph, and then so do the gradients of its inputs.
//!
//! The rules are those of the ops ([`Op::pull`](crate::ops::Op::pull)). What they make are nodes like any other, so that
//! the gradient of a gradient needs nothing more. Only nodes between the inputs that are asked for and the outputs are
//! looked at: an op without a rule is no obstacle elsewhere.

use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{Def, Value};
use crate::ops::{Binary, Builder, Convert, Graph, Math, Op, Var};

/// A graph whose nodes have been copied into another one.
pub struct Tape<'g> {
    graph: &'g Graph,
    /// For each value of the graph, the one that it has become.
    values: Vec<Value>,
}

/// Whether values of a dtype have gradients.
pub fn is_differentiable(dtype: DType) -> bool {
    dtype.is_float() || dtype.is_complex()
}

impl<'g> Tape<'g> {
    /// Copies the nodes of a graph without constants into `builder`, with these values in place of its inputs.
    ///
    /// # Errors
    /// Those of [`Builder::node`]: none if the values have the types of the inputs.
    pub fn record(builder: &mut Builder, graph: &'g Graph, inputs: &[Value]) -> Result<Tape<'g>> {
        let mut values = Vec::with_capacity(graph.values().count());
        for value in graph.values() {
            let copied = match graph.def(value) {
                Def::Input(i) => inputs[i],
                Def::Literal(literal) => builder.literal(literal, graph.aval(value).ambiguous),
                Def::Constant(_) => {
                    let detail = "constants belong to the outermost trace".into();
                    return Err(crate::error::Error::Internal { detail });
                }
                Def::Result(node, i) => {
                    let node = &graph.nodes()[node];
                    let operands: Vec<Value> = node.operands.iter().map(|v| values[v.index()]).collect();
                    builder.node(node.op.clone(), &operands)?[i]
                }
            };
            values.push(copied);
        }
        Ok(Tape { graph, values })
    }

    /// What the graph's outputs have become.
    pub fn outputs(&self) -> Vec<Value> {
        self.graph.outputs().iter().map(|v| self.values[v.index()]).collect()
    }

    /// Gradients of the inputs with these numbers, for gradients of the outputs (`None` is 0). They have the types of the
    /// inputs.
    ///
    /// # Errors
    /// [`Error::NoGradient`](crate::error::Error::NoGradient) if an op on the way has no rule.
    pub fn pull(&self, builder: &mut Builder, gradients: &[Option<Value>], wrt: &[usize]) -> Result<Vec<Value>> {
        let count = self.values.len();
        let mut depends = vec![false; count];
        wrt.iter().for_each(|&i| depends[self.graph.inputs()[i].index()] = true);
        for node in self.graph.nodes() {
            let any = node.operands.iter().any(|v| depends[v.index()]);
            for v in &node.results {
                depends[v.index()] = any && is_differentiable(self.graph.aval(*v).dtype);
            }
        }

        let mut sums: Vec<Option<Value>> = vec![None; count];
        for (v, g) in self.graph.outputs().iter().zip(gradients) {
            if let (true, Some(g)) = (depends[v.index()], g) {
                add(builder, &mut sums[v.index()], *g)?;
            }
        }
        for node in self.graph.nodes().iter().rev() {
            let wanted: Vec<bool> = node.operands.iter().map(|v| depends[v.index()]).collect();
            let reached = node.results.iter().any(|v| sums[v.index()].is_some());
            if !reached || !wanted.contains(&true) {
                continue;
            }
            let math = Math::new(builder);
            let var = |v: &Value| math.var(self.values[v.index()]);
            let operands: Vec<Var> = node.operands.iter().map(var).collect();
            let results: Vec<Var> = node.results.iter().map(var).collect();
            let made: Vec<Option<Var>> = node.results.iter().map(|v| sums[v.index()].map(|g| math.var(g))).collect();
            let pulled = node.op.pull(&operands, &results, &made, &wanted)?;
            let pulled: Vec<Option<Value>> = pulled.into_iter().map(|g| g.map(Var::value)).collect();
            math.finish()?;
            for ((v, g), wanted) in node.operands.iter().zip(pulled).zip(wanted) {
                if let (true, Some(g)) = (wanted, g) {
                    add(builder, &mut sums[v.index()], g)?;
                }
            }
        }

        wrt.iter()
            .map(|&i| {
                let input = self.graph.inputs()[i];
                let aval = self.graph.aval(input);
                match sums[input.index()] {
                    Some(g) if builder.graph().aval(g).ambiguous == aval.ambiguous => Ok(g),
                    Some(g) => {
                        builder.node1(Op::Convert(Convert { dtype: aval.dtype, ambiguous: aval.ambiguous }), &[g])
                    }
                    None => {
                        let math = Math::new(builder);
                        let zero = math.fill(0.0, aval).value();
                        math.finish().map(|()| zero)
                    }
                }
            })
            .collect()
    }
}

/// Adds to the gradient of a value.
fn add(builder: &mut Builder, sum: &mut Option<Value>, g: Value) -> Result<()> {
    *sum = Some(match *sum {
        Some(so_far) => builder.node1(Op::Binary(Binary::add), &[so_far, g])?,
        None => g,
    });
    Ok(())
}
