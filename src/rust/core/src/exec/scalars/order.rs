//! The order of the steps of an iteration.
//!
//! Nodes are lowered one after the other, each on all its elements: a value of twenty elements would be twenty values
//! between two steps on one of them, more than there are registers. So ops are computed when what reads their results at
//! last is, some elements at a time.

use crate::exec::vm::native::loops::{Loop, Step};

/// Elements that are computed at a time: steps of as many chains do not wait for one another.
const TOGETHER: usize = 2;

/// Orders the steps of an iteration. Steps other than ops stay in their order.
pub(super) fn order(looped: &mut Loop) {
    let steps = std::mem::take(&mut looped.steps);
    let mut made: Vec<Option<usize>> = vec![None; looped.chain.values.len()];
    for (at, step) in steps.iter().enumerate() {
        if let Step::Op(op) = step {
            made[op.result] = Some(at);
        }
    }
    let mut order = Order { steps: &steps, made, done: vec![false; steps.len()], order: vec![] };
    let mut at = 0;
    while at < steps.len() {
        match &steps[at] {
            Step::Op(_) => at += 1,
            Step::Store(..) => {
                let is_store = |step: &&Step| matches!(step, Step::Store(..));
                let count = steps[at..].iter().take_while(is_store).count().min(TOGETHER);
                let mut values = vec![];
                steps[at..at + count].iter().for_each(|step| step.reads(&mut |v| values.push(v)));
                order.compute(&values);
                order.order.extend(at..at + count);
                at += count;
            }
            step => {
                let mut values = vec![];
                step.reads(&mut |v| values.push(v));
                order.compute_some(&values);
                // An iteration of a loop does not compute what was before it.
                if matches!(step, Step::Begin(..)) {
                    (0..at).for_each(|op| order.op(op));
                }
                order.order.push(at);
                at += 1;
            }
        }
    }
    let next: Vec<usize> = looped.carried.iter().map(|carried| carried.next).collect();
    order.compute_some(&next);
    order.compute(&looped.test.iter().map(|&(v, _)| v).collect::<Vec<_>>());
    let order = order.order;
    let mut steps: Vec<Option<Step>> = steps.into_iter().map(Some).collect();
    looped.steps = order.into_iter().filter_map(|at| steps[at].take()).collect();
}

struct Order<'s> {
    steps: &'s [Step],
    /// For each element, the op that makes it.
    made: Vec<Option<usize>>,
    /// The ops that are in the order.
    done: Vec<bool>,
    order: Vec<usize>,
}

impl Order<'_> {
    /// Has elements computed, some at a time.
    fn compute_some(&mut self, values: &[usize]) {
        values.chunks(TOGETHER).for_each(|values| self.compute(values));
    }

    /// Has these elements computed, by ops in their order.
    fn compute(&mut self, values: &[usize]) {
        let (mut ops, mut left) = (vec![], values.to_vec());
        while let Some(v) = left.pop() {
            let Some(at) = self.made[v].filter(|&at| !std::mem::replace(&mut self.done[at], true)) else {
                continue;
            };
            ops.push(at);
            self.steps[at].reads(&mut |v| left.push(v));
        }
        ops.sort_unstable();
        self.order.extend(ops);
    }

    /// Has an op computed that is not yet.
    fn op(&mut self, at: usize) {
        if let Step::Op(op) = &self.steps[at] {
            self.compute(&[op.result]);
        }
    }
}
