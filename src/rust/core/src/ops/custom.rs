//! Functions with a derivative that the user wrote.

use super::attrs::vector;
use super::contract::{Form, OpDef};
use super::control::{check, internal, outputs, runs, same, Control, Region};
use super::lower::{Formula, Lowering};
use super::rules::{Batch, Jvp, Vjp};
use super::{Graph, Row};
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::syntax::Parsed;
use crate::graph::Value;
use crate::shape::Axis;
use crate::tensor::{Aval, View, ViewMut};

/// A graph with a derivative that the user wrote. Operands: the arguments, what the graph captures, what the
/// graphs of the derivative capture, one after the other. Results: those of the graph.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Custom {
    /// From the arguments to the results.
    pub call: Region,
    /// Number of arguments.
    pub arguments: usize,
    /// The derivative.
    pub derivative: Derivative,
}

/// A derivative that the user wrote, of arguments alone: what is captured counts as constant.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Derivative {
    /// In reverse mode.
    Reverse {
        /// From the arguments to the results and the residuals; replaces the graph where the op is
        /// differentiated.
        forward: Region,
        /// From the residuals and the gradients of the results to the gradients of some arguments.
        backward: Region,
        /// The arguments that `backward` gives gradients of.
        targets: Vec<usize>,
    },
    /// In forward mode: from the arguments and the tangents of those that are floats to the results and the
    /// tangents of those that are floats. It is linear in the tangents, so that reverse mode transposes it.
    Forward(Region),
}

static GRADIENT: Row = runs("custom_gradient", "custom_gradient", &[]);
static JVP: Row = runs("custom_jvp", "custom_jvp", &[]);

impl Custom {
    /// The operands of `call`: the arguments and what it captures.
    pub fn of_call<T: Copy>(&self, operands: &[T]) -> Vec<T> {
        self.arguments_and(operands, 0, self.call.inputs().len())
    }

    /// The operands of `forward`: the arguments and what it captures.
    pub fn of_forward<T: Copy>(&self, forward: &Region, operands: &[T]) -> Vec<T> {
        self.arguments_and(operands, self.call.inputs().len() - self.arguments, forward.inputs().len())
    }

    /// The arguments, and what a graph of so many inputs captures, after so many captures of others.
    fn arguments_and<T: Copy>(&self, operands: &[T], before: usize, inputs: usize) -> Vec<T> {
        let (arguments, rest) = operands.split_at(self.arguments);
        let rest = rest.iter().skip(before).take(inputs - self.arguments);
        arguments.iter().chain(rest).copied().collect()
    }

    /// What the derivative's last graph captures: `backward`, or that of forward mode.
    pub fn captured<'a, T>(&self, operands: &'a [T]) -> &'a [T] {
        let of_forward = match &self.derivative {
            Derivative::Reverse { forward, .. } => forward.inputs().len() - self.arguments,
            Derivative::Forward(_) => 0,
        };
        &operands[(self.call.inputs().len() + of_forward).min(operands.len())..]
    }

    /// Whether each result, or each argument, is a float, which has tangents.
    pub fn floats(&self, values: &[Value]) -> Vec<bool> {
        let is_float = |dtype: DType| dtype.is_float() || dtype.is_complex();
        values.iter().map(|&v| is_float(self.call.aval(v).dtype)).collect()
    }
}

impl OpDef for Custom {
    fn row(&self) -> &'static Row {
        match self.derivative {
            Derivative::Reverse { .. } => &GRADIENT,
            Derivative::Forward(_) => &JVP,
        }
    }

    fn rows() -> Vec<&'static Row> {
        vec![&GRADIENT, &JVP]
    }

    fn attributes(&self) -> Vec<(&'static str, String)> {
        let mut all = vec![("arguments", self.arguments.to_string())];
        if let Derivative::Reverse { targets, .. } = &self.derivative {
            let targets: Vec<Axis> = targets.iter().copied().map(Axis).collect();
            all.push(("targets", vector(&targets)));
        }
        all
    }

    fn parse(form: &Form) -> Parsed<Custom> {
        let call = form.region("call")?;
        let arguments: usize = form.number("arguments")?;
        let mut most = form.operands.len().min(call.inputs().len());
        let derivative = if form.op == JVP.name {
            Derivative::Forward(form.region("push")?)
        } else {
            let (forward, backward) = (form.region("forward")?, form.region("backward")?);
            most = most.min(forward.inputs().len());
            let targets = form.axes("targets", arguments)?.into_iter().map(|Axis(i)| i).collect();
            Derivative::Reverse { forward, backward, targets }
        };
        if arguments > most {
            return Err(
                form.error("as many operands and inputs as there are arguments", arguments.to_string())
            );
        }
        Ok(Custom { call, arguments, derivative })
    }

    fn infer(&self, operands: &[&Aval]) -> Result<Vec<Aval>> {
        let row = self.row();
        check(row, &self.call, self.of_call(operands).into_iter())?;
        let own: Vec<&Aval> = outputs(&self.call).collect();
        let refuse = || internal(row, "two graphs of different types");
        match &self.derivative {
            Derivative::Reverse { forward, .. } => {
                check(row, forward, self.of_forward(forward, operands).into_iter())?;
                if !outputs(forward).take(own.len()).zip(&own).all(|(x, y)| same(x, y)) {
                    return Err(refuse());
                }
            }
            Derivative::Forward(push) => {
                let arguments = &self.call.inputs()[..self.arguments];
                let moved = |floats: Vec<bool>, all: &[&Aval]| -> Vec<Aval> {
                    let tangents = all.iter().zip(floats).filter(|(_, float)| *float).map(|(aval, _)| aval);
                    all.iter().chain(tangents).map(|aval| (*aval).clone()).collect()
                };
                let mut given = moved(self.floats(arguments), &operands[..self.arguments]);
                given.extend(self.captured(operands).iter().map(|aval| (*aval).clone()));
                check(row, push, given.iter())?;
                let made = moved(self.floats(self.call.outputs()), &own);
                if outputs(push).len() != made.len() || !outputs(push).zip(&made).all(|(x, y)| same(x, y)) {
                    return Err(refuse());
                }
            }
        }
        Ok(own.into_iter().cloned().collect())
    }

    fn regions(&self) -> Vec<(&'static str, &Graph)> {
        match &self.derivative {
            Derivative::Reverse { forward, backward, .. } => {
                vec![("call", &self.call), ("forward", forward), ("backward", backward)]
            }
            Derivative::Forward(push) => vec![("call", &self.call), ("push", push)],
        }
    }

    fn control(&self) -> Option<Control<'_>> {
        Some(Control::Custom(self))
    }

    fn eval(&self, _operands: &[View], _results: &mut [ViewMut]) {
        unreachable!("executors run regions")
    }

    fn vjp(&self) -> Vjp<'_> {
        Vjp::Regions
    }

    fn jvp(&self) -> Jvp<'_> {
        match self.derivative {
            Derivative::Forward(_) => Jvp::Regions,
            Derivative::Reverse { .. } => {
                Jvp::Todo("its derivative is given for reverse mode alone; `custom_jvp()` gives one for both")
            }
        }
    }

    fn batch(&self) -> Batch<'_> {
        Batch::Regions
    }

    fn lower(&self, _operands: &[Aval]) -> Lowering<'_> {
        Lowering::Formula(Formula::Call(self), None)
    }
}
