//! Derivatives of branches and of loops along an axis.

use super::cut::{computed_from, effects_around, part, read};
use super::loop_products::{terms, LoopProduct, Stack, Term};
use super::{depends, zeros, Tape};
use crate::error::Result;
use crate::graph::{Def, Value};
use crate::ops::{Binary, Builder, Graph, If, Region, Scan, While};
use crate::tensor::Aval;
use std::sync::Arc;

/// Types of a graph's outputs.
pub(super) fn output_types(graph: &Graph) -> Vec<Aval> {
    graph.outputs().iter().map(|&v| graph.aval(v).clone()).collect()
}

/// Types of a graph's inputs.
pub(super) fn input_types(graph: &Graph) -> Vec<Aval> {
    graph.inputs().iter().map(|&v| graph.aval(v).clone()).collect()
}

/// The indices that are marked.
fn marked(marks: &[bool]) -> Vec<usize> {
    (0..marks.len()).filter(|&i| marks[i]).collect()
}

/// The gradients, with zeros for those that are `None`.
pub(super) fn filled(
    b: &mut Builder,
    gradients: &[Option<Value>],
    types: &[Aval],
    which: &[usize],
) -> Result<Vec<Value>> {
    which.iter().map(|&i| gradients[i].map_or_else(|| zeros(b, &types[i]), Ok)).collect()
}

/// Gradients of a branch's operands: another branch, which recomputes the region that was taken and
/// differentiates it.
pub(super) fn pull_if(
    b: &mut Builder,
    op: &If,
    operands: &[Value],
    gradients: &[Option<Value>],
    wanted: &[bool],
) -> Result<Vec<Option<Value>>> {
    let types: Vec<Aval> = operands[1..].iter().map(|&v| b.graph().aval(v).clone()).collect();
    let outputs = output_types(&op.branches[0]);
    let first = op.branches[0].inputs().len();
    let (one, other) = wanted[1..].split_at(first);
    let [one, other] = [(0, one), (1, other)].map(|(k, marks)| depends::outputs(&op.branches[k], marks));
    let known: Vec<usize> = (0..outputs.len()).filter(|&i| one[i] || other[i]).collect();
    let given = filled(b, gradients, &outputs, &known)?;
    let wrt: Vec<usize> = (0..types.len()).filter(|&i| wanted[i + 1]).collect();
    let branch = |k: usize| -> Result<Region> {
        let region = &op.branches[k];
        let range = if k == 0 { 0..first } else { first..types.len() };
        let mut b = Builder::default();
        let inputs: Vec<Value> = types.iter().map(|aval| b.input(aval.clone())).collect();
        let mut pulled = vec![None; outputs.len()];
        for &i in &known {
            pulled[i] = Some(b.input(outputs[i].clone()));
        }
        let own: Vec<usize> = wrt.iter().filter(|i| range.contains(i)).map(|i| i - range.start).collect();
        let tape = Tape::record(&mut b, region, &inputs[range.clone()], &own)?;
        let mut made = tape.pull(&mut b, &pulled, &own)?.into_iter();
        let results = wrt
            .iter()
            .map(|&i| match if range.contains(&i) { made.next() } else { None } {
                Some(g) => Ok(g),
                None => zeros(&mut b, &types[i]),
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(b.finish(results)))
    };
    let inputs: Vec<Value> = operands[1..].iter().chain(&given).copied().collect();
    let all: Vec<Value> = [&[operands[0]], inputs.as_slice(), inputs.as_slice()].concat();
    let results = b.node(If { branches: [branch(0)?, branch(1)?] }, &all)?;
    let mut out = vec![None; operands.len()];
    for (&i, g) in wrt.iter().zip(results) {
        out[i + 1] = Some(g);
    }
    Ok(out)
}

/// A loop with a condition as one that runs as often as its bound says: a branch on the condition, which keeps
/// the state from where it does not hold.
pub(super) fn bounded(op: &While, length: usize) -> Result<Scan> {
    let captured = op.cond.inputs().len() - op.carried;
    let mut b = Builder::default();
    let mut types = input_types(&op.cond);
    types.extend(input_types(&op.body).split_off(op.carried));
    let inputs: Vec<Value> = types.into_iter().map(|aval| b.input(aval)).collect();
    let (state, rest) = inputs.split_at(op.carried);
    let (for_cond, for_body) = rest.split_at(captured);
    let pred = b.inline(&op.cond, &[state, for_cond].concat())?;
    // The branch that keeps the state has it in the types that the body gives.
    let mut kept = Builder::default();
    let same = input_types(&op.body)[..op.carried].iter().map(|aval| kept.input(aval.clone())).collect();
    let branches = [op.body.clone(), Arc::new(kept.finish(same))];
    let operands = [&pred[..], state, for_body, state].concat();
    let next = b.node(If { branches }, &operands)?;
    Ok(Scan {
        body: Arc::new(b.finish(next)),
        carried: op.carried,
        sliced: 0,
        length,
        reverse: false,
        last: false,
        checkpoint: false,
    })
}

/// The derivative of a scan: the values that its body keeps in each iteration, and the loop that runs
/// backwards.
pub(super) struct ScanRule {
    /// The values of the state and the slices that have gradients.
    state: Vec<usize>,
    along: Vec<usize>,
    /// Outputs beside the state that have gradients.
    stacked: Vec<usize>,
    /// The other operands whose gradients the loop that runs backwards sums.
    summed: Vec<usize>,
    /// Products that are summed after it, each with the operand whose gradient they are part of.
    products: Vec<(usize, LoopProduct)>,
    /// The loop that runs backwards. State: gradients of the state, then the sums so far. Slices: gradients of the
    /// stacked results, kept values, slices of the loop itself. Results beside the state: gradients of slices, then
    /// operands of products.
    back: Scan,
    /// The values that the loop kept, stacked.
    kept: Vec<Value>,
    carried: usize,
}

impl ScanRule {
    /// Adds the loop to `b` so that it keeps what its derivative needs; returns its results and the rule.
    pub(super) fn record(
        b: &mut Builder,
        op: &Scan,
        operands: &[Value],
        wanted: &[bool],
    ) -> Result<(Vec<Value>, ScanRule)> {
        let body = &op.body;
        let (types, outputs) = (input_types(body), output_types(body));
        let (carried, sliced) = (op.carried, op.sliced);
        // A state may depend on the initial values of others; of the other operands only some are wanted.
        let marks = depends::state(body, wanted, carried);
        let chosen = |from: usize, to: usize| -> Vec<usize> { (from..to).filter(|&i| marks[i]).collect() };
        let (state, along) = (chosen(0, carried), chosen(carried, carried + sliced));
        let rest = chosen(carried + sliced, types.len());
        let wrt = [state.as_slice(), &along, &rest].concat();
        let mut stacked = marked(&depends::outputs(body, &marks));
        stacked.retain(|&i| i >= carried);

        // The body and its derivative in one graph. Values before `mark` belong to the body.
        let mut both = Builder::default();
        let inputs: Vec<Value> = types.iter().map(|aval| both.input(aval.clone())).collect();
        let tape = Tape::record(&mut both, body, &inputs, &wrt)?;
        let values = tape.outputs();
        let mark = both.graph().values().count();
        let mut gradients = vec![None; outputs.len()];
        let input_of = |both: &mut Builder, aval: &Aval| both.input(aval.clone());
        let from_state: Vec<Value> = state.iter().map(|&i| input_of(&mut both, &types[i])).collect();
        let from_stacked: Vec<Value> = stacked.iter().map(|&i| input_of(&mut both, &outputs[i])).collect();
        state.iter().zip(&from_state).for_each(|(&i, &g)| gradients[i] = Some(g));
        stacked.iter().zip(&from_stacked).for_each(|(&i, &g)| gradients[i] = Some(g));
        let pulled = tape.pull(&mut both, &gradients, &wrt)?;
        let (to_state, others) = pulled.split_at(state.len());
        let (to_along, to_rest) = others.split_at(along.len());
        let differ = [&inputs[..carried + sliced], &from_state, &from_stacked].concat();
        let varies = computed_from(both.graph(), &differ);
        let (mut summed, mut so_far, mut sums, mut to_multiply) = (vec![], vec![], vec![], vec![]);
        for (&i, &g) in rest.iter().zip(to_rest) {
            let (products, left) = terms(both.graph(), g, &varies);
            to_multiply.extend(products.into_iter().map(|product| (i, product)));
            if !left.is_empty() {
                let so_far_of = input_of(&mut both, &types[i]);
                let mut g = left[0];
                for &term in &left[1..] {
                    g = both.node1(Binary::add, &[g, term])?;
                }
                sums.push(both.node1(Binary::add, &[so_far_of, g])?);
                so_far.push(so_far_of);
                summed.push(i);
            }
        }
        let mut results = [to_state, &sums, to_along].concat();
        let both = both.finish(results.clone());

        // Values of the body that its derivative reads. With checkpoints it reads the state, and what must not
        // run twice, and recomputes the others.
        let (ahead, behind) = effects_around(&both, mark);
        let factors: Vec<Value> = to_multiply.iter().flat_map(|(_, product)| product.operands).collect();
        let mut kept =
            read(&both, &[results.as_slice(), &factors, &behind].concat(), |v| match both.def(v) {
                Def::Input(_) => inputs[..carried].contains(&v),
                Def::Result(node, _) => {
                    v.index() < mark && (!op.checkpoint || both.nodes()[node].op.has_effect())
                }
                Def::Literal(_) | Def::Constant(_) => false,
            });
        if op.checkpoint {
            kept.extend(&inputs[..carried]);
            kept.sort();
            kept.dedup();
        }

        let forward = part(&both, &inputs, &[values.as_slice(), &kept].concat(), &ahead)?;
        let slices = &inputs[carried..carried + sliced];
        let place = |list: &[Value], v: Value| list.iter().position(|&other| other == v);
        let is_there =
            |v: Value| place(&kept, v).map(Stack::Kept).or_else(|| place(slices, v).map(Stack::Slice));
        let mut made = vec![];
        let over = |(i, product): (usize, Term)| {
            product.over(&both, op.length, is_there, &mut made).map(|product| (i, product))
        };
        let products = to_multiply.into_iter().map(over).collect::<Result<_>>()?;
        results.extend(made);
        let given =
            [&from_state, &so_far, &from_stacked, kept.as_slice(), slices, &inputs[carried + sliced..]]
                .concat();
        let back = Scan {
            body: Arc::new(part(&both, &given, &results, &behind)?),
            carried: state.len() + summed.len(),
            sliced: stacked.len() + kept.len() + sliced,
            length: op.length,
            reverse: !op.reverse,
            last: op.last,
            checkpoint: op.checkpoint,
        };
        let mut results = b.node(Scan { body: Arc::new(forward), ..op.clone() }, operands)?;
        let kept = results.split_off(outputs.len());
        Ok((results, ScanRule { state, along, summed, products, stacked, back, kept, carried }))
    }

    /// Gradients of the operands.
    pub(super) fn pull(
        &self,
        b: &mut Builder,
        operands: &[Value],
        results: &[Value],
        gradients: &[Option<Value>],
    ) -> Result<Vec<Option<Value>>> {
        let type_of = |b: &Builder, v: Value| b.graph().aval(v).clone();
        let types: Vec<Aval> = results.iter().map(|&v| type_of(b, v)).collect();
        let mut given = filled(b, gradients, &types, &self.state)?;
        for &i in &self.summed {
            let aval = type_of(b, operands[i]);
            given.push(zeros(b, &aval)?);
        }
        given.extend(filled(b, gradients, &types, &self.stacked)?);
        given.extend(&self.kept);
        given.extend(&operands[self.carried..]);
        debug_assert_eq!(self.back.body.inputs().len(), given.len());
        let made = b.node(self.back.clone(), &given)?;
        let mut out = vec![None; operands.len()];
        let order: Vec<usize> = [&self.state[..], &self.summed, &self.along].concat();
        for (&i, &g) in order.iter().zip(&made) {
            out[i] = Some(g);
        }
        let stack = |stack: Stack| match stack {
            Stack::Kept(number) => self.kept[number],
            Stack::Slice(number) => operands[self.carried + number],
            Stack::Made(number) => made[order.len() + number],
        };
        for (i, product) in &self.products {
            product.add_to(b, &mut out[*i], stack)?;
        }
        Ok(out)
    }
}
