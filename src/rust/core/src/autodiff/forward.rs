//! Forward-mode derivatives: the nodes of a program are copied to a graph, and with each node that depends on
//! a wanted input those for the tangents of its results.
//!
//! The rules are those of the ops ([`OpDef::jvp`](crate::ops::OpDef::jvp)): a linear op is its own rule, on
//! the tangents. A tangent of a value has its type; none is 0.

mod regions;

use super::cut::computed_from;
use super::{is_differentiable, zeros};
use crate::error::{Error, Result};
use crate::graph::{Def, Value};
use crate::ops::{Binary, Builder, Control, Convert, Forward, Graph, Jvp, Linear, Math, Op, Var};
use crate::tensor::Aval;

/// The copies of a program's outputs, and their tangents.
pub struct Pushed {
    /// The outputs.
    pub outputs: Vec<Value>,
    /// Their tangents, of their types; `None` is 0, as are those of values that are no floats.
    pub tangents: Vec<Option<Value>>,
}

impl Pushed {
    /// The tangents, with zeros for those of floats that are 0.
    ///
    /// # Errors
    /// Those of [`Builder::node`].
    pub fn tangents_or_zeros(&self, b: &mut Builder) -> Result<Vec<Option<Value>>> {
        let pairs = self.outputs.iter().zip(&self.tangents);
        pairs
            .map(|(&v, tangent)| {
                let aval = b.graph().aval(v).clone();
                match tangent {
                    None if is_differentiable(aval.dtype) => zeros(b, &aval).map(Some),
                    tangent => Ok(*tangent),
                }
            })
            .collect()
    }
}

/// Copies the nodes of a graph without constants into `b`, with these values in place of its inputs, and adds
/// the tangents of its outputs for tangents of the inputs, which have their types but for ambiguity.
///
/// # Errors
/// Those of [`Builder::node`]: none if the values have the types of the inputs. [`Error::NoGradient`] if an op
/// on the way has no rule.
pub fn push(b: &mut Builder, graph: &Graph, inputs: &[Value], tangents: &[Option<Value>]) -> Result<Pushed> {
    walk(b, graph, inputs, tangents, false)
}

/// As [`push`], but no output is computed from tangents: branches and loops with tangents beside their values
/// are further ones, which give tangents alone.
///
/// # Errors
/// Those of [`push`].
pub(super) fn push_apart(
    b: &mut Builder,
    graph: &Graph,
    inputs: &[Value],
    tangents: &[Option<Value>],
) -> Result<Pushed> {
    walk(b, graph, inputs, tangents, true)
}

fn walk(
    b: &mut Builder,
    graph: &Graph,
    inputs: &[Value],
    tangents: &[Option<Value>],
    apart: bool,
) -> Result<Pushed> {
    let count = graph.values().count();
    let (mut values, mut moved) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let (mut made, mut made_tangents): (Vec<Value>, Vec<Option<Value>>) = (vec![], vec![]);
    for value in graph.values() {
        let aval = graph.aval(value);
        let (copy, tangent) = match graph.def(value) {
            Def::Input(i) => {
                let tangent = tangents[i].filter(|_| is_differentiable(aval.dtype));
                (inputs[i], tangent.map(|t| typed(b, t, aval)).transpose()?)
            }
            Def::Literal(literal) => (b.literal(literal, aval.ambiguous), None),
            Def::Constant(_) => {
                return Err(Error::Internal { detail: "constants belong to the outermost trace".into() });
            }
            Def::Result(number, i) => {
                if i == 0 {
                    let node = &graph.nodes()[number];
                    let operands: Vec<Value> = node.operands.iter().map(|v| values[v.index()]).collect();
                    let given: Vec<Option<Value>> = node.operands.iter().map(|v| moved[v.index()]).collect();
                    let types: Vec<&Aval> = node.results.iter().map(|&v| graph.aval(v)).collect();
                    (made, made_tangents) = push_node(b, &node.op, &operands, &given, &types)?;
                    if apart && node.op.control().is_some() {
                        made = values_apart(b, &node.op, &operands, made, &given)?;
                    }
                }
                (made[i], made_tangents[i])
            }
        };
        values.push(copy);
        moved.push(tangent);
    }
    let of_outputs = |all: &[Option<Value>]| graph.outputs().iter().map(|v| all[v.index()]).collect();
    let outputs: Vec<Value> = graph.outputs().iter().map(|v| values[v.index()]).collect();
    let mut tangents: Vec<Option<Value>> = of_outputs(&moved);
    for (tangent, &v) in tangents.iter_mut().zip(graph.outputs()) {
        *tangent = tangent.map(|t| typed(b, t, graph.aval(v))).transpose()?;
    }
    Ok(Pushed { outputs, tangents })
}

/// A tangent in the type of its value, from which it may differ in ambiguity.
fn typed(b: &mut Builder, tangent: Value, aval: &Aval) -> Result<Value> {
    if b.graph().aval(tangent) == aval {
        return Ok(tangent);
    }
    b.node1(Convert { to: aval.ranked() }, &[tangent])
}

/// Results of an op that are not computed from tangents.
fn values_apart(
    b: &mut Builder,
    op: &Op,
    operands: &[Value],
    made: Vec<Value>,
    tangents: &[Option<Value>],
) -> Result<Vec<Value>> {
    let given: Vec<Value> = tangents.iter().copied().flatten().collect();
    let moved = computed_from(b.graph(), &given);
    if !made.iter().any(|v| moved[v.index()]) {
        return Ok(made);
    }
    match op.control() {
        // The rule was written into the graph, as the function is now.
        Some(Control::Custom(custom)) => b.inline(&custom.call, &custom.of_call(operands)),
        _ => b.node(op.clone(), operands),
    }
}

/// Adds a node and the tangents of its results, which have these types.
fn push_node(
    b: &mut Builder,
    op: &Op,
    operands: &[Value],
    tangents: &[Option<Value>],
    types: &[&Aval],
) -> Result<(Vec<Value>, Vec<Option<Value>>)> {
    let none = vec![None; types.len()];
    let moves = tangents.iter().any(Option::is_some);
    if !moves || !types.iter().any(|aval| is_differentiable(aval.dtype)) {
        return Ok((b.node(op.clone(), operands)?, none));
    }
    let missing = |why: &str| Error::NoGradient { op: op.row().function.into(), why: why.into() };
    let (rule, partly) = match op.jvp() {
        Jvp::Zero => return Ok((b.node(op.clone(), operands)?, none)),
        Jvp::Regions => return regions::push(b, op, operands, tangents),
        Jvp::Todo(why) => return Err(missing(why)),
        Jvp::Linear => {
            let results = b.node(op.clone(), operands)?;
            let mut made = linear(b, op, operands, tangents)?;
            made.resize(types.len(), None);
            return Ok((results, made));
        }
        Jvp::By(rule) => (rule, None),
        Jvp::Partly(rule, why) => (rule, Some(why)),
    };
    let results = b.node(op.clone(), operands)?;
    let math = Math::new(b);
    let vars = |values: &[Value]| values.iter().map(|&v| math.var(v)).collect::<Vec<Var>>();
    let (operands, made) = (vars(operands), vars(&results));
    let tangents: Vec<Option<Var>> = tangents.iter().map(|t| t.map(|t| math.var(t))).collect();
    let at = Forward { operands: &operands, results: &made, tangents: &tangents };
    let pushed: Vec<Option<Value>> = rule(&at).into_iter().map(|t| t.map(Var::value)).collect();
    math.finish()?;
    if let Some(why) = partly.filter(|_| pushed.contains(&None)) {
        return Err(missing(why));
    }
    Ok((results, pushed))
}

/// The tangents of the results of a linear op: the op on the tangents.
fn linear(
    b: &mut Builder,
    op: &Op,
    operands: &[Value],
    tangents: &[Option<Value>],
) -> Result<Vec<Option<Value>>> {
    // The op with the tangents of these operands, with 0 for those that have none.
    let on = |b: &mut Builder, these: &[usize]| -> Result<Vec<Value>> {
        let mut moved = operands.to_vec();
        for &i in these {
            let aval = b.graph().aval(operands[i]).clone();
            moved[i] = tangents[i].map_or_else(|| zeros(b, &aval), Ok)?;
        }
        b.node(op.clone(), &moved)
    };
    let made = match op.linear() {
        Linear::InAll => on(b, &(0..operands.len()).collect::<Vec<_>>())?,
        Linear::In(these) => on(b, these)?,
        Linear::InEach(these) => {
            let mut sum: Option<Vec<Value>> = None;
            for &i in these.iter().filter(|&&i| tangents[i].is_some()) {
                let next = on(b, &[i])?;
                sum = Some(match sum {
                    None => next,
                    Some(so_far) => {
                        let pairs = so_far.into_iter().zip(next);
                        pairs.map(|(x, y)| b.node1(Binary::add, &[x, y])).collect::<Result<_>>()?
                    }
                });
            }
            sum.unwrap_or_default()
        }
    };
    Ok(made.into_iter().map(Some).collect())
}
