//! Regions that are traced apart meet in one op: where one gives an ambiguous float, which is stored in
//! double precision, and another one a known dtype, the known one holds for both.

use super::{Builder, Convert, Custom, Derivative, Graph, If, Region, Scan, Update, While};
use crate::dtype::{Bool, Ranked};
use crate::error::Result;
use crate::graph::Value;
use crate::tensor::{Aval, Literal};
use std::sync::Arc;

/// Types of values of a graph.
fn types(graph: &Graph, values: &[Value]) -> Vec<Ranked> {
    values.iter().map(|&v| graph.aval(v).ranked()).collect()
}

/// The known one of two types, if they are stored in two dtypes although their names are the same but for
/// the `?`; otherwise the first.
fn known_of(x: Ranked, y: Ranked) -> Ranked {
    if x.dtype == y.dtype && x.stored() != y.stored() {
        return Ranked::known(x.dtype);
    }
    x
}

/// Whether values of one type can stand for those of the other as they are.
fn is_stored_as(x: &Aval, to: Ranked) -> bool {
    x.dtype == to.stored()
}

/// A region whose first inputs and outputs have these types. They are converted to and from its own.
fn retyped(region: &Region, inputs: &[Ranked], outputs: &[Ranked]) -> Result<Region> {
    let fits = |values: &[Value], types: &[Ranked]| {
        values.iter().zip(types).all(|(&v, &to)| is_stored_as(region.aval(v), to))
    };
    if fits(region.inputs(), inputs) && fits(region.outputs(), outputs) {
        return Ok(region.clone());
    }
    let mut b = Builder::default();
    let mut given = Vec::with_capacity(region.inputs().len());
    for (i, &v) in region.inputs().iter().enumerate() {
        let own = region.aval(v);
        given.push(match inputs.get(i) {
            Some(&to) if !is_stored_as(own, to) => {
                let input = b.input(Aval::new(to, own.shape.clone()));
                b.node1(Convert { to: own.ranked() }, &[input])?
            }
            _ => b.input(own.clone()),
        });
    }
    let mut made = b.inline(region, &given)?;
    for (v, &to) in made.iter_mut().zip(outputs) {
        if !is_stored_as(b.graph().aval(*v), to) {
            *v = b.node1(Convert { to }, &[*v])?;
        }
    }
    Ok(Arc::new(b.finish(made)))
}

fn has_effect(region: &Region) -> bool {
    region.nodes().iter().any(|node| node.op.has_effect())
}

/// A region without outputs, with one.
fn with_output(region: &Region) -> Result<Region> {
    let mut b = Builder::default();
    let given: Vec<Value> = region.inputs().iter().map(|&v| b.input(region.aval(v).clone())).collect();
    b.inline(region, &given)?;
    let output = b.literal(Literal::new(Bool::FALSE), None);
    Ok(Arc::new(b.finish(vec![output])))
}

/// The types of a loop's state, from those of its initial values and of what its body gives.
fn state(init: &[Ranked], body: &Region) -> Vec<Ranked> {
    let next = types(body, body.outputs());
    init.iter().zip(next).map(|(&x, y)| known_of(x, y)).collect()
}

impl If {
    /// A branch op with these regions, whose results agree but for ambiguity. If they have an effect and no
    /// results, the op has one that nobody reads: a node with an effect is found by its first result.
    ///
    /// # Errors
    /// None on well-typed regions; so it is for the others below.
    pub fn from_branches(yes: &Region, no: &Region) -> Result<If> {
        if yes.outputs().is_empty() && (has_effect(yes) || has_effect(no)) {
            return Ok(If { branches: [with_output(yes)?, with_output(no)?] });
        }
        let [one, other] = [yes, no].map(|region| types(region, region.outputs()));
        let results: Vec<Ranked> = one.into_iter().zip(other).map(|(x, y)| known_of(x, y)).collect();
        Ok(If { branches: [retyped(yes, &[], &results)?, retyped(no, &[], &results)?] })
    }
}

impl While {
    /// A loop from initial values of these types, and the types that they are to be converted to.
    ///
    /// # Errors
    /// As [`If::from_branches`].
    pub fn from_types(
        cond: &Region,
        body: &Region,
        init: &[Ranked],
        bound: Option<usize>,
    ) -> Result<(While, Vec<Ranked>)> {
        let state = state(init, body);
        let (cond, body) = (retyped(cond, &state, &[])?, retyped(body, &state, &state)?);
        Ok((While { cond, body, carried: init.len(), bound }, state))
    }
}

impl Scan {
    /// The loop for initial values of these types, and the types that they are to be converted to. With an
    /// effect it has a result, as in [`If::from_branches`].
    ///
    /// # Errors
    /// As [`If::from_branches`].
    pub fn from_types(self, init: &[Ranked]) -> Result<(Scan, Vec<Ranked>)> {
        if self.body.outputs().is_empty() && has_effect(&self.body) {
            return Ok((Scan { body: with_output(&self.body)?, ..self }, vec![]));
        }
        let state = state(init, &self.body);
        Ok((Scan { body: retyped(&self.body, &state, &state)?, ..self }, state))
    }
}

impl Custom {
    /// The op with graphs of its derivative that give results, and gradients or tangents, of the types of
    /// `call`.
    ///
    /// # Errors
    /// As [`If::from_branches`].
    pub fn agreeing(self) -> Result<Custom> {
        let results = types(&self.call, self.call.outputs());
        let arguments = types(&self.call, self.call.inputs());
        let derivative = match &self.derivative {
            Derivative::Reverse { forward, backward, targets } => {
                let gradients: Vec<Ranked> = targets.iter().map(|&i| arguments[i]).collect();
                Derivative::Reverse {
                    forward: retyped(forward, &[], &results)?,
                    backward: retyped(backward, &[], &gradients)?,
                    targets: targets.clone(),
                }
            }
            Derivative::Forward(push) => {
                let floats = self.floats(self.call.outputs());
                let tangents = results.iter().zip(floats).filter(|(_, float)| *float).map(|(&to, _)| to);
                let made: Vec<Ranked> = results.iter().copied().chain(tangents).collect();
                Derivative::Forward(retyped(push, &[], &made)?)
            }
        };
        Ok(Custom { derivative, ..self })
    }
}

impl Update {
    /// The update of elements of a type, by a region that was traced for such.
    ///
    /// # Errors
    /// As [`If::from_branches`].
    pub(super) fn of_elements(region: &Region, x: Ranked) -> Result<Update> {
        Ok(Update::from_region(retyped(region, &[], &[x])?))
    }
}
