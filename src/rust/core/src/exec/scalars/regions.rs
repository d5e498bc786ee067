//! Branches and short loops within the body of a loop, without a jump: of branches both are computed, and iterations follow
//! one another.

use super::{Held, Lowering, Node, MAX_STEPS};
use crate::dtype::DType;
use crate::exec::vm::native;
use crate::graph::Value;
use crate::ops::{Control, Graph, If, Scan};
use std::sync::Arc;

/// Steps of branches, at most, with those of formulas: of longer ones that which is not taken costs more than a jump.
const MAX_BRANCHES: usize = 256;

/// Iterations that follow one another, at most.
const MAX_ITERATIONS: usize = 16;

impl<'a> Lowering<'a> {
    /// The elements of the results of a node with regions, if they are computed without a jump.
    pub(super) fn regions(&mut self, node: &'a Node) -> Option<Vec<Arc<[usize]>>> {
        match node.op.control()? {
            Control::If(op) => self.branches(op, node),
            Control::Scan(op)
                if op.length <= MAX_ITERATIONS && op.length * op.body.nodes().len() <= MAX_STEPS =>
            {
                self.iterations(op, node)
            }
            Control::Scan(_) | Control::While(_) | Control::Custom(_) => None,
        }
    }

    /// The outputs of a region for these inputs.
    fn region(&mut self, graph: &'a Graph, inputs: Vec<Held>) -> Option<Vec<Arc<[usize]>>> {
        let body = std::mem::replace(&mut self.body, graph);
        let held = std::mem::replace(&mut self.held, vec![None; graph.values().count()]);
        for (v, input) in graph.inputs().iter().zip(inputs) {
            self.held[v.index()] = Some(input);
        }
        self.depth += 1;
        for number in 0..graph.nodes().len() {
            self.node(number)?;
            // Loops in loops have as many steps as the product of their lengths.
            if self.looped.steps.len() > MAX_STEPS {
                return None;
            }
        }
        let made = graph.outputs().iter().map(|&v| self.elements(v)).collect();
        self.depth -= 1;
        (self.body, self.held) = (body, held);
        made
    }

    fn inputs_of(&mut self, values: &[Value]) -> Option<Vec<Held>> {
        values.iter().map(|&v| self.operand(v)).collect()
    }

    /// Both branches, and of each element the one that the condition chooses.
    fn branches(&mut self, op: &'a If, node: &'a Node) -> Option<Vec<Arc<[usize]>>> {
        let work = |to: &Self| to.looped.steps.len() + to.formulas;
        let (before, calls) = (work(self), self.calls.len());
        let (condition, inputs) = node.operands.split_first()?;
        let condition = self.elements(*condition)?[0];
        let (first, second) = inputs.split_at(op.branches[0].inputs().len());
        let (first, second) = (self.inputs_of(first)?, self.inputs_of(second)?);
        let (yes, no) = (self.region(&op.branches[0], first)?, self.region(&op.branches[1], second)?);
        // A call may fail, in the branch that is not taken.
        if work(self) - before > MAX_BRANCHES || self.calls.len() > calls {
            return None;
        }
        let types: Vec<DType> = node.results.iter().map(|&v| self.body.aval(v).dtype).collect();
        let results = yes.iter().zip(&no).zip(types);
        let mut choose = |(&yes, &no): (&usize, &usize), dtype| self.chosen(condition, [yes, no], dtype);
        Some(
            results
                .map(|((yes, no), dtype)| yes.iter().zip(&**no).map(|pair| choose(pair, dtype)).collect())
                .collect(),
        )
    }

    /// An element, or another one, by a condition.
    fn chosen(&mut self, condition: usize, [yes, no]: [usize; 2], dtype: DType) -> usize {
        if yes == no {
            return yes;
        }
        if dtype != DType::I1 {
            return self.op(native::Op::Select, vec![condition, yes, no], dtype);
        }
        let other = self.op(native::Op::Not, vec![condition], dtype);
        let (yes, no) = (
            self.op(native::Op::And, vec![condition, yes], dtype),
            self.op(native::Op::And, vec![other, no], dtype),
        );
        self.op(native::Op::Or, vec![yes, no], dtype)
    }

    /// Iterations of a loop, one after the other.
    fn iterations(&mut self, op: &'a Scan, node: &'a Node) -> Option<Vec<Arc<[usize]>>> {
        let (state, rest) = node.operands.split_at(op.carried);
        let (sliced, captured) = rest.split_at(op.sliced);
        let mut state = state.iter().map(|&v| self.elements(v)).collect::<Option<Vec<_>>>()?;
        let stacks = sliced.iter().map(|&v| self.elements(v)).collect::<Option<Vec<_>>>()?;
        let captured = self.inputs_of(captured)?;
        let mut made: Vec<Vec<Arc<[usize]>>> = vec![vec![]; node.results.len() - op.carried];
        for step in 0..op.length {
            let index = if op.reverse { op.length - 1 - step } else { step };
            let slices = stacks.iter().map(|stack| -> Arc<[usize]> {
                let size = stack.len() / op.length;
                (0..size).map(|i| stack[place(op, index, i, size)]).collect()
            });
            let inputs = state.iter().cloned().chain(slices).map(Held::Elements);
            let inputs = inputs.chain(captured.iter().cloned()).collect();
            let mut outputs = self.region(&op.body, inputs)?;
            let slices = outputs.split_off(op.carried);
            state = outputs;
            made.iter_mut().zip(slices).for_each(|(made, slice)| made.push(slice));
        }
        let stacked = made.into_iter().map(|mut slices| -> Arc<[usize]> {
            if op.reverse {
                slices.reverse();
            }
            let size = slices.first().map_or(0, |slice| slice.len());
            let mut all = vec![0; op.length * size];
            for (index, slice) in slices.iter().enumerate() {
                slice.iter().enumerate().for_each(|(i, &v)| all[place(op, index, i, size)] = v);
            }
            all.into()
        });
        Some(state.into_iter().chain(stacked).collect())
    }
}

/// The place of an element of a slice of so many elements among all.
fn place(op: &Scan, slice: usize, element: usize, size: usize) -> usize {
    match op.last {
        true => slice * size + element,
        false => element * op.length + slice,
    }
}
