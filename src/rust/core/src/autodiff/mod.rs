//! Derivatives: [`Tape`] is reverse mode, [`push`] forward mode, [`linearize`] the latter in two steps. In reverse mode the nodes of a program are
//! copied to a graph, and then nodes for the gradients of its inputs are added.
//!
//! The rules are those of the ops ([`OpDef::vjp`](crate::ops::OpDef::vjp)). They add nodes like any other, so
//! that gradients of gradients need nothing more. Only nodes between the wanted inputs and the outputs are
//! visited: elsewhere an op without a rule is no error.

mod control;
mod cut;
mod depends;
mod effects;
mod forward;
mod linearize;
mod loop_products;
mod sums;

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::graph::{Def, Value};
use crate::growth::table;
use crate::ops::create::uniform;
use crate::ops::rules::Pull;
use crate::ops::{
    Backward, Builder, Control, Convert, Custom, Derivative, Graph, Math, Op, Region, Var, Vjp,
};
use crate::tensor::{Aval, Literal};
use control::ScanRule;
use effects::IfRule;
pub use forward::{push, Pushed};
pub use linearize::{linearize, Linearized};
use std::collections::HashMap;
use sums::add;

/// A graph whose nodes have been copied into another one.
pub struct Tape<'g> {
    graph: &'g Graph,
    /// For each value of the graph, its copy.
    values: Vec<Value>,
    /// For each value, whether it has a gradient: see [`depends`].
    depends: Vec<bool>,
    /// By node: loops along an axis, which keep what their derivative needs.
    scans: HashMap<usize, ScanRule>,
    /// By node: branches with effects, which keep what these gave.
    branches: HashMap<usize, IfRule>,
    /// By node: the residuals of a function with a derivative that the user wrote.
    residuals: HashMap<usize, Vec<Value>>,
}

/// Whether values of a dtype have gradients.
pub fn is_differentiable(dtype: DType) -> bool {
    dtype.is_float() || dtype.is_complex()
}

impl<'g> Tape<'g> {
    /// Copies the nodes of a graph without constants into `builder`, with these values in place of its
    /// inputs; `wrt` are the numbers of the inputs to differentiate with respect to.
    ///
    /// # Errors
    /// Those of [`Builder::node`]: none if the values have the types of the inputs. Those of the rules for
    /// loops.
    pub fn record(
        builder: &mut Builder,
        graph: &'g Graph,
        inputs: &[Value],
        wrt: &[usize],
    ) -> Result<Tape<'g>> {
        let count = graph.values().count();
        let mut marks = vec![false; graph.inputs().len()];
        wrt.iter().for_each(|&i| marks[i] = true);
        let depends = depends::depends(graph, &marks);
        let mut values: Vec<Value> = Vec::with_capacity(count);
        let (mut scans, mut branches, mut residuals) = (HashMap::new(), HashMap::new(), HashMap::new());
        let mut made: Vec<Value> = Vec::new();
        for value in graph.values() {
            values.push(match graph.def(value) {
                Def::Input(i) => inputs[i],
                Def::Literal(literal) => builder.literal(literal, graph.aval(value).ambiguous),
                Def::Constant(_) => {
                    let detail = "constants belong to the outermost trace".into();
                    return Err(Error::Internal { detail });
                }
                Def::Result(number, i) => {
                    let node = &graph.nodes()[number];
                    if i == 0 {
                        let operands: Vec<Value> = node.operands.iter().map(|v| values[v.index()]).collect();
                        let wanted: Vec<bool> = node.operands.iter().map(|v| depends[v.index()]).collect();
                        let op = node.op.control().filter(|_| wanted.contains(&true));
                        let bounded = match op {
                            Some(Control::While(op)) => {
                                op.bound.map(|bound| control::bounded(op, bound)).transpose()?
                            }
                            _ => None,
                        };
                        made = match bounded.as_ref().map(Control::Scan).or(op) {
                            Some(Control::Scan(op)) => {
                                let (results, rule) = ScanRule::record(builder, op, &operands, &wanted)?;
                                scans.insert(number, rule);
                                results
                            }
                            Some(Control::Custom(op)) => match &op.derivative {
                                Derivative::Reverse { forward, .. } => {
                                    let given = op.of_forward(forward, &operands);
                                    let mut all = builder.inline(forward, &given)?;
                                    residuals.insert(number, all.split_off(node.results.len()));
                                    all
                                }
                                // Where the results are derived again, so is the rule.
                                Derivative::Forward(_) => builder.node(node.op.clone(), &operands)?,
                            },
                            Some(Control::If(op)) if node.op.has_effect() => {
                                let (results, rule) = IfRule::record(builder, op, &operands, &wanted)?;
                                branches.insert(number, rule);
                                results
                            }
                            Some(Control::If(_) | Control::While(_)) | None => {
                                builder.node(node.op.clone(), &operands)?
                            }
                        };
                    }
                    made[i]
                }
            });
        }
        Ok(Tape { graph, values, depends, scans, branches, residuals })
    }

    /// The copies of the graph's outputs.
    pub fn outputs(&self) -> Vec<Value> {
        self.graph.outputs().iter().map(|v| self.values[v.index()]).collect()
    }

    /// Gradients of the inputs with these numbers, which are among those of [`record`](Tape::record), for
    /// gradients of the outputs (`None` is 0), which have their types but for ambiguity. They have the types
    /// of the inputs.
    ///
    /// # Errors
    /// [`Error::NoGradient`] if an op on the way has no rule.
    pub fn pull(
        &self,
        builder: &mut Builder,
        gradients: &[Option<Value>],
        wrt: &[usize],
    ) -> Result<Vec<Value>> {
        let (count, depends) = (self.values.len(), &self.depends);
        let mut sums: Vec<Option<Value>> = table(None, count);
        for (v, g) in self.graph.outputs().iter().zip(gradients) {
            if let (true, &Some(g)) = (depends[v.index()], g) {
                // A known float for an ambiguous one is stored in another dtype.
                let to = self.graph.aval(*v);
                let same = builder.graph().aval(g).dtype == to.dtype;
                let g = if same { g } else { builder.node1(Convert { to: to.ranked() }, &[g])? };
                add(builder, &mut sums[v.index()], g)?;
            }
        }
        for (number, node) in self.graph.nodes().iter().enumerate().rev() {
            let wanted: Vec<bool> = node.operands.iter().map(|v| depends[v.index()]).collect();
            let reached = node.results.iter().any(|v| sums[v.index()].is_some());
            if !reached || !wanted.contains(&true) {
                continue;
            }
            let operands: Vec<Value> = node.operands.iter().map(|v| self.values[v.index()]).collect();
            let results: Vec<Value> = node.results.iter().map(|v| self.values[v.index()]).collect();
            let made: Vec<Option<Value>> = node.results.iter().map(|v| sums[v.index()]).collect();
            let missing =
                |pulled: &[Option<Value>]| wanted.iter().zip(pulled).any(|(w, g)| *w && g.is_none());
            let pulled = match node.op.vjp() {
                Vjp::By(rule) => {
                    let pulled = by_rule(builder, &rule, [&operands, &results], &made, &wanted)?;
                    if missing(&pulled) {
                        let detail = format!("the rule of `{}` leaves out a gradient", node.op.row().name);
                        return Err(Error::Internal { detail });
                    }
                    pulled
                }
                Vjp::Partly(rule, why) => {
                    let pulled = by_rule(builder, &rule, [&operands, &results], &made, &wanted)?;
                    if missing(&pulled) {
                        return Err(no_gradient(&node.op, why));
                    }
                    pulled
                }
                Vjp::Regions => self.pull_regions(builder, number, [&operands, &results], &made, &wanted)?,
                Vjp::Zero => continue,
                Vjp::Todo(why) => return Err(no_gradient(&node.op, why)),
            };
            for ((v, g), wanted) in node.operands.iter().zip(pulled).zip(wanted) {
                // What is 0 everywhere reaches nothing: of factors that a solution does not depend on beside the
                // matrix.
                if let (true, Some(g)) = (wanted, g.filter(|&g| !is_zero(builder, g))) {
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
                    Some(g) => builder.node1(Convert { to: aval.ranked() }, &[g]),
                    None => zeros(builder, aval),
                }
            })
            .collect()
    }
}

/// Whether all elements of a value are known to be 0.
fn is_zero(builder: &Builder, v: Value) -> bool {
    let dtype = builder.graph().aval(v).dtype;
    uniform(builder.graph(), v) == Some(Literal::new(0i32).convert(dtype))
}

impl Tape<'_> {
    /// Gradients by the derivatives of an op's regions.
    fn pull_regions(
        &self,
        builder: &mut Builder,
        number: usize,
        [operands, results]: [&[Value]; 2],
        gradients: &[Option<Value>],
        wanted: &[bool],
    ) -> Result<Vec<Option<Value>>> {
        let op = &self.graph.nodes()[number].op;
        match (op.control(), self.scans.get(&number)) {
            (Some(Control::Scan(_) | Control::While(_)), Some(rule)) => {
                rule.pull(builder, operands, results, gradients)
            }
            (Some(Control::Custom(op)), _) => self.pull_custom(builder, op, number, operands, gradients),
            (Some(Control::If(op)), _) => match self.branches.get(&number) {
                Some(rule) => rule.pull(builder, op, operands, gradients),
                None => control::pull_if(builder, op, operands, gradients, wanted),
            },
            (Some(Control::Scan(_) | Control::While(_)) | None, _) => {
                let detail = format!("`{}` has no derivative by its graphs", op.row().name);
                Err(Error::Internal { detail })
            }
        }
    }

    /// Gradients by the user's function.
    fn pull_custom(
        &self,
        builder: &mut Builder,
        op: &Custom,
        number: usize,
        operands: &[Value],
        gradients: &[Option<Value>],
    ) -> Result<Vec<Option<Value>>> {
        let (backward, targets) = match &op.derivative {
            Derivative::Reverse { backward, targets, .. } => (backward, targets),
            Derivative::Forward(push) => return transpose(builder, op, push, operands, gradients),
        };
        let mut inputs = self.residuals.get(&number).cloned().unwrap_or_default();
        for (v, g) in self.graph.nodes()[number].results.iter().zip(gradients) {
            inputs.push(g.map_or_else(|| zeros(builder, self.graph.aval(*v)), Ok)?);
        }
        inputs.extend(op.captured(operands));
        let made = builder.inline(backward, &inputs)?;
        let mut out = vec![None; operands.len()];
        for (&target, g) in targets.iter().zip(made) {
            out[target] = Some(g);
        }
        Ok(out)
    }
}

/// Gradients by the user's rule for forward mode, which is linear in the tangents: its own gradients with
/// respect to these, at any tangents.
fn transpose(
    builder: &mut Builder,
    op: &Custom,
    push: &Region,
    operands: &[Value],
    gradients: &[Option<Value>],
) -> Result<Vec<Option<Value>>> {
    let floats = op.floats(&op.call.inputs()[..op.arguments]);
    let targets: Vec<usize> = (0..op.arguments).filter(|&i| floats[i]).collect();
    let mut inputs = operands[..op.arguments].to_vec();
    for &i in &targets {
        let aval = op.call.aval(op.call.inputs()[i]);
        inputs.push(zeros(builder, aval)?);
    }
    inputs.extend(op.captured(operands));
    let tangents: Vec<usize> = (op.arguments..op.arguments + targets.len()).collect();
    let tape = Tape::record(builder, push, &inputs, &tangents)?;
    let of_tangents = gradients.iter().zip(op.floats(op.call.outputs())).filter(|(_, float)| *float);
    let mut given = vec![None; gradients.len()];
    given.extend(of_tangents.map(|(g, _)| *g));
    let made = tape.pull(builder, &given, &tangents)?;
    let mut out = vec![None; operands.len()];
    for (target, g) in targets.into_iter().zip(made) {
        out[target] = Some(g);
    }
    Ok(out)
}

/// Gradients of operands by the rule of their op.
fn by_rule(
    builder: &mut Builder,
    rule: &Pull,
    [operands, results]: [&[Value]; 2],
    gradients: &[Option<Value>],
    wanted: &[bool],
) -> Result<Vec<Option<Value>>> {
    let math = Math::new(builder);
    let vars = |values: &[Value]| values.iter().map(|&v| math.var(v)).collect::<Vec<Var>>();
    let (operands, results) = (vars(operands), vars(results));
    let gradients: Vec<Option<Var>> = gradients.iter().map(|g| g.map(|g| math.var(g))).collect();
    let at = Backward { operands: &operands, results: &results, gradients: &gradients, wanted };
    let pulled = rule(&at).into_iter().map(|g| g.map(Var::value)).collect();
    math.finish().map(|()| pulled)
}

fn no_gradient(op: &Op, why: &str) -> Error {
    Error::NoGradient { op: op.row().function.into(), why: why.into() }
}

/// The gradient of a value that the result does not depend on.
fn zeros(builder: &mut Builder, aval: &Aval) -> Result<Value> {
    let math = Math::new(builder);
    let zero = math.fill(0.0, aval).value();
    math.finish().map(|()| zero)
}
