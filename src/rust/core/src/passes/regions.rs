//! Simplification of branches and loops: values that nothing reads are not carried, stacked or returned;
//! loop-invariant nodes are hoisted; literals outside are literals inside.

use super::flagged;
use crate::dtype::DType;
use crate::error::Result;
use crate::graph::{Def, Value};
use crate::growth::table;
use crate::ops::{Builder, Control, DynamicSlice, Graph, If, Op, Scan, Transpose, While};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Results of a simpler op that equals `op`; `None` for those that are not `read`, and if the op has no
/// regions.
///
/// # Errors
/// Those of [`Builder::node`]; one would be a bug of the pass.
pub(super) fn simplify(
    b: &mut Builder,
    op: &Op,
    operands: &[Value],
    read: &[bool],
) -> Result<Option<Vec<Option<Value>>>> {
    // An op that prints is found by its first result.
    let mut read = read.to_vec();
    read.iter_mut().take(1).for_each(|first| *first |= op.has_effect());
    match op.control() {
        Some(Control::If(op)) => branches(b, op, operands, &read).map(Some),
        Some(Control::While(op)) => {
            let (init, rest) = operands.split_at(op.carried);
            let (for_cond, for_body) = rest.split_at(op.cond.inputs().len() - op.carried);
            let prints = prints(&op.body) || prints(&op.cond);
            let looped = Loop { init, along: &[], read: &read, ends: false, runs: false, prints };
            let regions =
                vec![(super::optimise(&op.cond)?, for_cond), (super::optimise(&op.body)?, for_body)];
            let make = |mut regions: Vec<Graph>, carried, _| {
                let body = Arc::new(regions.remove(1));
                Op::from(While { cond: Arc::new(regions.remove(0)), body, carried, bound: op.bound })
            };
            looped.simplify(b, regions, &make).map(Some)
        }
        Some(Control::Scan(op)) => {
            let (init, rest) = operands.split_at(op.carried);
            let (along, rest) = rest.split_at(op.sliced);
            let prints = prints(&op.body);
            let looped = Loop { init, along, read: &read, ends: true, runs: op.length > 0, prints };
            let make = |mut regions: Vec<Graph>, carried, sliced| {
                Op::from(Scan { body: Arc::new(regions.remove(0)), carried, sliced, ..op.clone() })
            };
            looped.simplify(b, vec![(super::optimise(&op.body)?, rest)], &make).map(Some)
        }
        Some(Control::Custom(_)) | None => Ok(None),
    }
}

fn prints(region: &Graph) -> bool {
    region.nodes().iter().any(|node| node.op.has_effect())
}

/// Only one branch runs, so nothing is hoisted.
fn branches(b: &mut Builder, op: &If, operands: &[Value], read: &[bool]) -> Result<Vec<Option<Value>>> {
    let (yes, no) = operands[1..].split_at(op.branches[0].inputs().len());
    let kept: Vec<usize> = (0..read.len()).filter(|&k| read[k]).collect();
    let (mut all, mut regions) = (vec![operands[0]], Vec::new());
    for (region, given) in op.branches.iter().zip([yes, no]) {
        let part = KnownRegion::new(
            super::optimise(region)?,
            given.iter().copied().map(Some).collect(),
            Hoisted::Nothing,
        );
        let (region, given) = part.rebuilt(b, &[], &kept)?;
        regions.push(Arc::new(region));
        all.extend(given);
    }
    let branches = <[_; 2]>::try_from(regions).expect("there are two");
    let made = b.node(If { branches }, &all)?;
    Ok(renumbered(read.len(), &kept, &made))
}

/// Results by their old numbers.
fn renumbered(count: usize, kept: &[usize], made: &[Value]) -> Vec<Option<Value>> {
    let mut out = table(None, count);
    kept.iter().zip(made).for_each(|(&k, &v)| out[k] = Some(v));
    out
}

/// A loop, but for its regions.
struct Loop<'a> {
    init: &'a [Value],
    along: &'a [Value],
    /// For each result, whether anything reads it.
    read: &'a [bool],
    /// Whether the number of iterations is known.
    ends: bool,
    /// Whether the body runs at least once.
    runs: bool,
    prints: bool,
}

impl Loop<'_> {
    /// The regions come with their operands beside state and slices; the last one is the body. `make` makes
    /// the op from regions and the numbers of carried and sliced values.
    fn simplify(
        &self,
        b: &mut Builder,
        regions: Vec<(Graph, &[Value])>,
        make: &dyn Fn(Vec<Graph>, usize, usize) -> Op,
    ) -> Result<Vec<Option<Value>>> {
        let carried = self.init.len();
        let body = &regions.last().expect("a loop has a body").0;
        // A state that no iteration changes equals its initial value.
        let stays = |j: usize| {
            let (input, output) = (body.inputs()[j], body.outputs()[j]);
            let first = b.graph().aval(self.init[j]);
            input == output
                && (first.ambiguous.is_none() || body.aval(output).ambiguous.is_some())
                && !(self.prints && j == 0)
        };
        let mut stays: Vec<bool> = (0..carried).map(stays).collect();
        // A loop that never ends must stay one.
        if !self.ends && (0..carried).all(|j| stays[j] || !self.read[j]) {
            self.read[..carried].iter().position(|&read| read).into_iter().for_each(|j| stays[j] = false);
        }
        let last = regions.len() - 1;
        let part = |(number, (region, given)): (usize, (Graph, &[Value]))| {
            let state = (0..carried).map(|j| stays[j].then_some(self.init[j]));
            let slices = self.along.iter().map(|_| None);
            let slices = slices.take(region.inputs().len() - carried - given.len());
            let fixed = state.chain(slices).chain(given.iter().copied().map(Some)).collect();
            // Conditions are tested at least once.
            KnownRegion::new(region, fixed, Hoisted::Nodes { raising: self.runs || number < last })
        };
        let parts: Vec<KnownRegion> = regions.into_iter().enumerate().map(part).collect();
        let (body, tests) = parts.split_last().expect("a loop has a body");

        // A state is kept if it is read outside or in another iteration.
        let mut kept: Vec<bool> = (0..carried).map(|j| self.read[j] && !stays[j]).collect();
        let Stacked { made: stacked, twice, slices: same } = self.stacked(b, &body.graph);
        for test in tests {
            let reads = test.reads(&(0..test.graph.outputs().len()).collect::<Vec<_>>());
            (0..carried).for_each(|j| kept[j] |= reads[j]);
        }
        let reads = loop {
            let outputs: Vec<usize> =
                (0..carried).filter(|&j| kept[j]).chain(stacked.iter().copied()).collect();
            let reads = body.reads(&outputs);
            if (0..carried).all(|j| kept[j] || !reads[j]) {
                break reads;
            }
            (0..carried).for_each(|j| kept[j] |= reads[j]);
        };
        let state: Vec<usize> = (0..carried).filter(|&j| kept[j]).collect();
        let slices: Vec<usize> = (carried..carried + self.along.len()).filter(|&i| reads[i]).collect();
        let outputs: Vec<usize> = state.iter().chain(&stacked).copied().collect();

        let mut out: Vec<Option<Value>> = vec![None; self.read.len()];
        for j in (0..carried).filter(|&j| stays[j]) {
            let result = body.graph.aval(body.graph.outputs()[j]);
            let ambiguous = b.graph().aval(self.init[j]).ambiguous_with(result);
            out[j] = Some(flagged(b, self.init[j], ambiguous)?);
        }
        same.iter().for_each(|&(k, v)| out[k] = Some(v));
        if outputs.is_empty() && !self.prints {
            return Ok(out);
        }
        let mut operands: Vec<Value> = state.iter().map(|&j| self.init[j]).collect();
        operands.extend(slices.iter().map(|&i| self.along[i - carried]));
        let mut graphs = Vec::new();
        for test in tests {
            let all: Vec<usize> = (0..test.graph.outputs().len()).collect();
            let (graph, given) = test.rebuilt(b, &state, &all)?;
            graphs.push(graph);
            operands.extend(given);
        }
        let inputs: Vec<usize> = state.iter().chain(&slices).copied().collect();
        let (graph, given) = body.rebuilt(b, &inputs, &outputs)?;
        graphs.push(graph);
        operands.extend(given);
        let made = b.node(make(graphs, state.len(), slices.len()), &operands)?;
        outputs.iter().zip(made).for_each(|(&k, v)| out[k] = Some(v));
        twice.iter().for_each(|&(k, first)| out[k] = out[first]);
        Ok(out)
    }

    /// What the loop is to stack.
    fn stacked(&self, b: &Builder, body: &Graph) -> Stacked {
        let carried = self.init.len();
        let (inner, mut all) = (body.outputs(), Stacked::default());
        let slices = body.inputs()[carried..].iter().zip(self.along);
        for k in (carried..self.read.len()).filter(|&k| self.read[k]) {
            let v = inner[k];
            let is_slice = |(&slice, &along): &(&Value, &Value)| {
                slice == v && b.graph().aval(along).ambiguous == body.aval(v).ambiguous
            };
            let same = slices.clone().find(is_slice).filter(|_| !(self.prints && k == 0));
            let first = all.made.iter().copied().find(|&first| inner[first] == v);
            match (same, first) {
                (Some((_, &along)), _) => all.slices.push((k, along)),
                (None, Some(first)) => all.twice.push((k, first)),
                (None, None) => all.made.push(k),
            }
        }
        all
    }
}

/// The results that a loop stacks, by their numbers.
#[derive(Default)]
struct Stacked {
    made: Vec<usize>,
    /// Those that are the same as one that is made before.
    twice: Vec<(usize, usize)>,
    /// Those that are slices as they are, and the value that they are slices of.
    slices: Vec<(usize, Value)>,
}

/// What may be hoisted out of a region.
#[derive(Clone, Copy)]
enum Hoisted {
    Nothing,
    /// Nodes without an effect; those that may raise an error only if the region runs at least once.
    Nodes {
        raising: bool,
    },
}

/// A region, with what is known about its inputs.
struct KnownRegion {
    graph: Graph,
    /// For each input, the outside value that it always equals, if there is one.
    fixed: Vec<Option<Value>>,
    /// For each value, whether it is loop-invariant and may be hoisted.
    invariant: Vec<bool>,
}

/// For each value, whether it is a transpose that only products read, and reads of single rows. These read transposed
/// matrices in place, so hoisting it would only add a copy.
fn transposes_in_place(graph: &Graph) -> Vec<bool> {
    let mut is: Vec<bool> = graph.values().map(|_| false).collect();
    for node in graph.nodes().iter().filter(|node| node.op.get::<Transpose>().is_some()) {
        is[node.results[0].index()] = true;
    }
    let reads_row = |op: &Op| op.get::<DynamicSlice>().is_some_and(|op| op.sizes.first() == Some(&1));
    let in_place = |op: &Op| op.reads_transposed() || reads_row(op);
    let read_otherwise = graph.nodes().iter().filter(|node| !in_place(&node.op)).flat_map(|n| &n.operands);
    read_otherwise.chain(graph.outputs()).for_each(|v| is[v.index()] = false);
    is
}

impl KnownRegion {
    fn new(graph: Graph, fixed: Vec<Option<Value>>, hoisted: Hoisted) -> KnownRegion {
        let may_leave = |op: &Op| match hoisted {
            Hoisted::Nothing => false,
            Hoisted::Nodes { raising } => !op.has_effect() && (raising || !op.may_raise()),
        };
        let mut invariant: Vec<bool> = Vec::with_capacity(fixed.len());
        for v in graph.values() {
            invariant.push(match graph.def(v) {
                Def::Input(i) => fixed[i].is_some(),
                Def::Literal(_) => true,
                Def::Constant(_) => false,
                Def::Result(node, _) => {
                    let node = &graph.nodes()[node];
                    may_leave(&node.op) && node.operands.iter().all(|v| invariant[v.index()])
                }
            });
        }
        KnownRegion { graph, fixed, invariant }
    }

    /// For each input, whether these outputs, or ops that print, depend on it.
    fn reads(&self, outputs: &[usize]) -> Vec<bool> {
        let mut wanted: Vec<Value> = outputs.iter().map(|&k| self.graph.outputs()[k]).collect();
        wanted.extend(
            self.graph.nodes().iter().filter(|node| node.op.has_effect()).flat_map(|node| &node.operands),
        );
        let (mut read, mut seen) = (vec![false; self.fixed.len()], vec![false; self.invariant.len()]);
        while let Some(v) = wanted.pop() {
            if self.invariant[v.index()] || std::mem::replace(&mut seen[v.index()], true) {
                continue;
            }
            match self.graph.def(v) {
                Def::Input(i) => read[i] = true,
                Def::Result(node, _) => wanted.extend(&self.graph.nodes()[node].operands),
                Def::Literal(_) | Def::Constant(_) => {}
            }
        }
        read
    }

    /// The region with these of its inputs and outputs. Other outside values that it needs become further
    /// inputs, whose values are returned too.
    fn rebuilt(&self, b: &mut Builder, inputs: &[usize], outputs: &[usize]) -> Result<(Graph, Vec<Value>)> {
        let graph = &self.graph;
        let outputs: Vec<Value> = outputs.iter().map(|&k| graph.outputs()[k]).collect();
        // The values needed inside and those needed outside. The walk goes backwards: readers come after what
        // they read.
        let count = self.invariant.len();
        let (mut inside, mut outside) = (table(false, count), table(false, count));
        outputs.iter().for_each(|v| inside[v.index()] = true);
        let turned = transposes_in_place(graph);
        let made_outside =
            |op: &Op, v: Value| self.invariant[v.index()] && !op.is_cheap() && !turned[v.index()];
        for node in graph.nodes().iter().rev() {
            let wanted = |of: &[bool]| node.results.iter().any(|v| of[v.index()]);
            if node.op.has_effect() || wanted(&inside) && !made_outside(&node.op, node.results[0]) {
                node.operands.iter().for_each(|v| inside[v.index()] = true);
            } else {
                node.results.iter().for_each(|v| outside[v.index()] |= inside[v.index()]);
            }
            if node.results.iter().any(|v| outside[v.index()]) {
                node.operands.iter().for_each(|v| outside[v.index()] = true);
            }
        }

        let mut region = Builder::default();
        let mut given: Vec<Value> = Vec::new();
        let mut entries: FxHashMap<(Value, Option<DType>), Value> = FxHashMap::default();
        let (mut new, mut outer) = (table(None, count), table(None, count));
        for &i in inputs {
            let v = graph.inputs()[i];
            new[v.index()] = Some(region.input(graph.aval(v).clone()));
        }
        // A value from outside: a literal as it is, another value as an input.
        let mut enter = |region: &mut Builder, b: &Builder, v: Value, from: Value| {
            let aval = graph.aval(v);
            if let Def::Literal(literal) = b.graph().def(from) {
                return region.literal(literal, aval.ambiguous);
            }
            *entries.entry((from, aval.ambiguous)).or_insert_with(|| {
                given.push(from);
                region.input(aval.clone())
            })
        };
        for v in graph.values() {
            let i = v.index();
            match graph.def(v) {
                Def::Literal(literal) => {
                    let flag = graph.aval(v).ambiguous;
                    if inside[i] {
                        new[i] = Some(region.literal(literal, flag));
                    }
                    if outside[i] {
                        outer[i] = Some(b.literal(literal, flag));
                    }
                }
                Def::Input(k) => {
                    // The hoisted nodes read it with the default type that the region gives it.
                    outer[i] = match self.fixed[k].filter(|_| outside[i]) {
                        Some(from) => Some(flagged(b, from, graph.aval(v).ambiguous)?),
                        None => None,
                    };
                    if let (true, None, Some(from)) = (inside[i], new[i], self.fixed[k]) {
                        new[i] = Some(enter(&mut region, b, v, from));
                    }
                }
                Def::Result(number, 0) => {
                    let node = &graph.nodes()[number];
                    let of = |values: &[Option<Value>]| -> Vec<Value> {
                        node.operands.iter().map(|x| values[x.index()].expect("marked above")).collect()
                    };
                    let wanted = |of: &[bool]| node.results.iter().any(|v| of[v.index()]);
                    if wanted(&outside) {
                        for (x, made) in node.results.iter().zip(b.node(node.op.clone(), &of(&outer))?) {
                            outer[x.index()] = Some(made);
                        }
                    }
                    if node.op.has_effect() || wanted(&inside) && !made_outside(&node.op, v) {
                        for (x, made) in node.results.iter().zip(region.node(node.op.clone(), &of(&new))?) {
                            new[x.index()] = Some(made);
                        }
                    } else {
                        for x in node.results.iter().filter(|x| inside[x.index()]) {
                            let from = outer[x.index()].expect("marked above");
                            new[x.index()] = Some(enter(&mut region, b, *x, from));
                        }
                    }
                }
                Def::Constant(_) | Def::Result(..) => {}
            }
        }
        let outputs = outputs.iter().map(|v| new[v.index()].expect("marked above")).collect();
        Ok((region.finish(outputs), given))
    }
}
