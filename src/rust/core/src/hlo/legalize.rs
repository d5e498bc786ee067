//! Legalization: ops without an operation of StableHLO are replaced by their formulas.

use super::formulas;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{Def, Value};
use crate::ops::{
    BroadcastInDim, Builder, Control, Fill, Formula, Graph, If, Lowering, Math, Op, Region, Scatter, Update,
    Var, While,
};
use crate::passes::optimise;
use crate::tensor::Aval;
use std::sync::Arc;

/// A graph with the same inputs, constants and outputs, in which all ops, those in regions too, have an
/// operation of StableHLO.
///
/// # Errors
/// [`Error::Export`] for an op that has no lowering.
pub fn legalize(graph: &Graph) -> Result<Graph> {
    let graph = optimise(graph)?;
    let mut b = Builder::default();
    let mut new: Vec<Option<Value>> = vec![None; graph.values().count()];
    for &v in graph.inputs() {
        new[v.index()] = Some(b.input(graph.aval(v).clone()));
    }
    for &v in graph.constants() {
        new[v.index()] = Some(b.constant(graph.aval(v).clone()));
    }
    let outputs = walk(&mut b, &graph, new, None)?;
    optimise(&b.finish(outputs))
}

/// Adds the nodes of a graph whose inputs and constants have values; returns its outputs. `own` is the op
/// whose formula the graph is, with the dtype of its first operand: that op stays an operation.
fn walk(
    b: &mut Builder,
    graph: &Graph,
    mut new: Vec<Option<Value>>,
    own: Option<(&Op, Option<DType>)>,
) -> Result<Vec<Value>> {
    let known = |new: &[Option<Value>], v: &Value| {
        new[v.index()].ok_or_else(|| Error::Internal { detail: "a value is read before it is made".into() })
    };
    for v in graph.values() {
        if let Def::Literal(literal) = graph.def(v) {
            new[v.index()] = Some(b.literal(literal, graph.aval(v).ambiguous));
        }
    }
    for node in graph.nodes() {
        let operands = node.operands.iter().map(|v| known(&new, v)).collect::<Result<Vec<Value>>>()?;
        let dtype = operands.first().map(|&v| b.graph().aval(v).dtype);
        let made = emit(b, &node.op, &operands, own == Some((&node.op, dtype)))?;
        for (old, value) in node.results.iter().zip(made) {
            new[old.index()] = Some(value);
        }
    }
    graph.outputs().iter().map(|v| known(&new, v)).collect()
}

/// Adds an op, or its formula unless `own`.
fn emit(b: &mut Builder, op: &Op, operands: &[Value], own: bool) -> Result<Vec<Value>> {
    let avals: Vec<Aval> = operands.iter().map(|&v| b.graph().aval(v).clone()).collect();
    match op.lower(&avals) {
        Lowering::Todo { why, hint } => {
            Err(Error::Export { op: op.row().function.into(), why: why.into(), hint: hint.into() })
        }
        Lowering::Formula(formula, hlo) if !own || hlo.is_none() => {
            let (graph, new) = built(b, op, formula, operands, &avals)?;
            walk(b, &graph, new, Some((op, avals.first().map(|x| x.dtype))))
        }
        Lowering::Op(_) | Lowering::Formula(..) => match number_everywhere(b, op, operands) {
            Some(fill) if fill.shape.rank() == 0 => Ok(operands.to_vec()),
            Some(fill) => b.node(fill, &[]),
            None => b.node(with_legal_regions(op)?, operands),
        },
    }
}

/// The `Fill` that equals an op which broadcasts a literal.
fn number_everywhere(b: &Builder, op: &Op, operands: &[Value]) -> Option<Fill> {
    let (to, &x) = (op.get::<BroadcastInDim>()?, operands.first()?);
    let ambiguous = b.graph().aval(x).ambiguous;
    match b.graph().def(x) {
        Def::Literal(value) => Some(Fill { value, shape: to.shape.clone(), ambiguous }),
        Def::Input(_) | Def::Constant(_) | Def::Result(..) => None,
    }
}

/// The op with legalized regions.
fn with_legal_regions(op: &Op) -> Result<Op> {
    Ok(match (op.control(), op.get::<Scatter>()) {
        (Some(Control::If(op)), _) => {
            If { branches: [region(&op.branches[0])?, region(&op.branches[1])?] }.into()
        }
        (Some(Control::While(op)), _) => {
            While { cond: region(&op.cond)?, body: region(&op.body)?, carried: op.carried, bound: op.bound }
                .into()
        }
        (Some(Control::Scan(_) | Control::Custom(_)), _) => unreachable!("they become formulas"),
        (None, Some(scatter @ Scatter { update: Update::By(update), .. })) => {
            Scatter { update: Update::By(region(update)?), ..scatter.clone() }.into()
        }
        (None, _) => op.clone(),
    })
}

fn region(region: &Region) -> Result<Region> {
    legalize(region).map(Arc::new)
}

/// The formula of an op, as a graph, and the values of its inputs. Literals stay literals.
fn built(
    b: &Builder,
    op: &Op,
    formula: Formula,
    operands: &[Value],
    avals: &[Aval],
) -> Result<(Graph, Vec<Option<Value>>)> {
    let mut inner = Builder::default();
    let mut inputs = Vec::new();
    for (&v, aval) in operands.iter().zip(avals) {
        inputs.push(match b.graph().def(v) {
            Def::Literal(literal) => inner.literal(literal, aval.ambiguous),
            Def::Result(node, _) if matches!(b.graph().nodes()[node].op, Op::Fill(_)) => {
                inner.node1(b.graph().nodes()[node].op.clone(), &[])?
            }
            _ => inner.input(aval.clone()),
        });
    }
    let math = Math::new(&mut inner);
    let made = {
        let vars: Vec<Var> = inputs.iter().map(|&v| math.var(v)).collect();
        formulas::build(op, formula, &vars, &math)?.into_iter().map(Var::value).collect::<Vec<_>>()
    };
    math.finish()?;
    let graph = inner.finish(made);
    let mut new = vec![None; graph.values().count()];
    for (&inside, &outside) in inputs.iter().zip(operands) {
        new[inside.index()] = Some(outside);
    }
    Ok((graph, new))
}
