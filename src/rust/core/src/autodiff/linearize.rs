//! A program as its value at a point, and its derivative there as a linear map that can be applied to many
//! tangents.
//!
//! Forward mode with tangents that are inputs gives one graph for both; what is computed from tangents is the
//! linear map, and the values that it reads of the rest are residuals.

use super::cut::{computed_from, effects, part, read};
use super::forward::push_apart;
use crate::error::Result;
use crate::graph::Value;
use crate::ops::{Builder, Graph};
use crate::tensor::Aval;

/// A program and its derivative.
#[derive(Debug)]
pub struct Linearized {
    /// From the inputs to the outputs of the program, and then the residuals.
    pub value: Graph,
    /// From the residuals, and then tangents of the inputs with respect to which it is linearized, to the
    /// tangents of those outputs that are floats. It is linear in the tangents.
    ///
    /// It computes no value again that does not depend on tangents, but in branches and loops: these run with
    /// values and tangents side by side, from operands that are residuals, so that the memory does not grow
    /// with the number of iterations. What they print they print again.
    pub linear: Graph,
}

/// Cuts a program without constants in two, with respect to the inputs with these numbers, which are floats.
///
/// # Errors
/// Those of [`push`](super::push).
pub fn linearize(graph: &Graph, wrt: &[usize]) -> Result<Linearized> {
    let mut b = Builder::default();
    let avals: Vec<Aval> = graph.inputs().iter().map(|&v| graph.aval(v).clone()).collect();
    let inputs: Vec<Value> = avals.iter().map(|aval| b.input(aval.clone())).collect();
    let given: Vec<Value> = wrt.iter().map(|&i| b.input(avals[i].clone())).collect();
    let mut tangents = vec![None; inputs.len()];
    wrt.iter().zip(&given).for_each(|(&i, &t)| tangents[i] = Some(t));
    let pushed = push_apart(&mut b, graph, &inputs, &tangents)?;
    let moved: Vec<Value> = pushed.tangents_or_zeros(&mut b)?.into_iter().flatten().collect();
    let both = b.finish(vec![]);
    let linear = computed_from(&both, &given);
    let residuals = read(&both, &moved, |v| !linear[v.index()]);
    let shown: Vec<Value> = effects(&both).into_iter().filter(|v| !linear[v.index()]).collect();
    Ok(Linearized {
        value: part(&both, &inputs, &[pushed.outputs.as_slice(), &residuals].concat(), &shown)?,
        linear: part(&both, &[residuals.as_slice(), &given].concat(), &moved, &[])?,
    })
}
