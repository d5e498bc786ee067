//! Derivatives of branches with effects. The backward pass computes other branches anew; that of these would
//! run the effects again. So they return what their derivative reads of the results of ops with effects.

use super::control::{filled, input_types, output_types};
use super::cut::{effects_around, part, read};
use super::{depends, zeros, Tape};
use crate::error::Result;
use crate::graph::{Def, Value};
use crate::ops::{Builder, If, Region};
use crate::tensor::Aval;
use std::sync::Arc;

/// The derivative of a branch op with effects.
pub(super) struct IfRule {
    /// The branch op that computes gradients. Operands of its regions: those of the region, the gradients of
    /// the results with these numbers, what the region kept.
    back: If,
    known: Vec<usize>,
    /// The operands that have gradients, without the condition.
    wrt: Vec<usize>,
    /// What each region kept; zeros if it did not run.
    kept: [Vec<Value>; 2],
}

/// A region and its derivative in one graph.
struct Both {
    b: Builder,
    inputs: Vec<Value>,
    outputs: Vec<Value>,
    /// Inputs for the gradients of the known outputs.
    gradients: Vec<Value>,
    /// Gradients of the op's operands.
    pulled: Vec<Value>,
    /// Ops with effects of the region, and of its derivative, each by its first result.
    effects: [Vec<Value>; 2],
    /// What the gradients read of ops with effects.
    kept: Vec<Value>,
}

impl IfRule {
    /// Adds the branch op to `b` so that it keeps what its derivative needs; returns its results and the
    /// rule.
    pub(super) fn record(
        b: &mut Builder,
        op: &If,
        operands: &[Value],
        wanted: &[bool],
    ) -> Result<(Vec<Value>, IfRule)> {
        let wanted = &wanted[1..];
        let (one, other) = wanted.split_at(op.branches[0].inputs().len());
        let [one, other] = [(0, one), (1, other)].map(|(k, marks)| depends::outputs(&op.branches[k], marks));
        let known: Vec<usize> = (0..one.len()).filter(|&i| one[i] || other[i]).collect();
        let wrt: Vec<usize> = (0..wanted.len()).filter(|&i| wanted[i]).collect();
        let [mut yes, mut no] = [Both::new(op, 0, &known, &wrt)?, Both::new(op, 1, &known, &wrt)?];
        let [of_yes, of_no] = [&yes, &no].map(|both| both.kept_types());
        let (not_yes, not_no) = (no.zeros(&of_yes)?, yes.zeros(&of_no)?);
        let branches = [yes.forward([&yes.kept, &not_no])?, no.forward([&not_yes, &no.kept])?];
        let back = If { branches: [yes.back()?, no.back()?] };
        let mut results = b.node(If { branches }, operands)?;
        let mut kept = results.split_off(one.len());
        let rest = kept.split_off(of_yes.len());
        Ok((results, IfRule { back, known, wrt, kept: [kept, rest] }))
    }

    /// Gradients of the operands.
    pub(super) fn pull(
        &self,
        b: &mut Builder,
        op: &If,
        operands: &[Value],
        gradients: &[Option<Value>],
    ) -> Result<Vec<Option<Value>>> {
        let given = filled(b, gradients, &output_types(&op.branches[0]), &self.known)?;
        let (yes, no) = operands[1..].split_at(op.branches[0].inputs().len());
        let all = [&operands[..1], yes, &given, &self.kept[0], no, &given, &self.kept[1]].concat();
        let made = b.node(self.back.clone(), &all)?;
        let mut out = vec![None; operands.len()];
        self.wrt.iter().zip(made).for_each(|(&i, g)| out[i + 1] = Some(g));
        Ok(out)
    }
}

impl Both {
    fn new(op: &If, k: usize, known: &[usize], wrt: &[usize]) -> Result<Both> {
        let types: Vec<Aval> = op.branches.iter().flat_map(|region| input_types(region)).collect();
        let first = op.branches[0].inputs().len();
        let range = if k == 0 { 0..first } else { first..types.len() };
        let (region, outputs) = (&op.branches[k], output_types(&op.branches[k]));
        let mut b = Builder::default();
        let inputs: Vec<Value> = types[range.clone()].iter().map(|aval| b.input(aval.clone())).collect();
        let own: Vec<usize> = wrt.iter().filter(|i| range.contains(i)).map(|i| i - range.start).collect();
        let tape = Tape::record(&mut b, region, &inputs, &own)?;
        let mark = b.graph().values().count();
        let gradients: Vec<Value> = known.iter().map(|&i| b.input(outputs[i].clone())).collect();
        let mut given = vec![None; outputs.len()];
        known.iter().zip(&gradients).for_each(|(&i, &g)| given[i] = Some(g));
        let mut made = tape.pull(&mut b, &given, &own)?.into_iter();
        let mut pulled = Vec::with_capacity(wrt.len());
        for &i in wrt {
            pulled.push(match if range.contains(&i) { made.next() } else { None } {
                Some(g) => g,
                None => zeros(&mut b, &types[i])?,
            });
        }
        let outputs = tape.outputs();
        let graph = b.graph();
        let (ahead, behind) = effects_around(graph, mark);
        let kept = read(graph, &[pulled.as_slice(), &behind].concat(), |v| match graph.def(v) {
            Def::Result(node, _) => v.index() < mark && graph.nodes()[node].op.has_effect(),
            Def::Input(_) | Def::Literal(_) | Def::Constant(_) => false,
        });
        Ok(Both { b, inputs, outputs, gradients, pulled, effects: [ahead, behind], kept })
    }

    fn kept_types(&self) -> Vec<Aval> {
        self.kept.iter().map(|&v| self.b.graph().aval(v).clone()).collect()
    }

    /// Zeros, in place of what the other region keeps.
    fn zeros(&mut self, types: &[Aval]) -> Result<Vec<Value>> {
        types.iter().map(|aval| zeros(&mut self.b, aval)).collect()
    }

    /// The region that gives the outputs, and then these values.
    fn forward(&self, kept: [&[Value]; 2]) -> Result<Region> {
        let wanted = [&self.outputs, kept[0], kept[1]].concat();
        Ok(Arc::new(part(self.b.graph(), &self.inputs, &wanted, &self.effects[0])?))
    }

    /// The region that computes gradients.
    fn back(&self) -> Result<Region> {
        let given = [self.inputs.as_slice(), &self.gradients, &self.kept].concat();
        Ok(Arc::new(part(self.b.graph(), &given, &self.pulled, &self.effects[1])?))
    }
}
