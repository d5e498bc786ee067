//! Branches, loops and functions of two elements: ops with random regions.

use super::{Names, Writer};
use crate::common::Rng;
use anvil_core::autodiff::{is_differentiable, push};
use anvil_core::dtype::{DType, Ranked};
use anvil_core::graph::{Def, Operation, Value};
use anvil_core::ops::{
    rows, Binary, Builder, Compare, Convert, Custom, Derivative, Fill, Graph, If, Op, Region, Scan, While,
};
use anvil_core::shape::Shape;
use anvil_core::tensor::{Aval, Literal};
use std::sync::Arc;

/// The ops of functions of two elements: elementwise ones, and others too.
const COMBINING: Names = &[
    ("add", 2),
    ("sub", 2),
    ("mul", 2),
    ("max", 2),
    ("min", 2),
    ("lt", 2),
    ("eq", 2),
    ("select", 3),
    ("abs", 1),
    ("sin", 1),
    ("negate", 1),
    ("is_finite", 1),
    ("convert", 1),
    ("sqrt", 1),
    ("floor_div", 2),
    ("and", 2),
    ("identity", 1),
];
const ANY_COMBINING: Names = &[
    ("add", 2),
    ("mul", 2),
    ("sub", 2),
    ("reduce_sum", 1),
    ("broadcast_in_dim", 1),
    ("reshape", 1),
    ("concatenate", 1),
    ("print", 1),
    ("select", 3),
    ("lt", 2),
    ("gather", 2),
    ("scatter", 3),
    ("static_slice", 1),
];

impl Writer {
    /// A region on inputs of these types: `outputs` picks what it gives, once it is full of random ops. What
    /// it needs beside the inputs becomes further inputs, whose types are returned too.
    fn region(
        &mut self,
        given: &[Aval],
        names: Names,
        outputs: impl FnOnce(&mut Writer, &[Value]) -> Vec<Value>,
    ) -> (Region, Vec<Aval>) {
        let (b, pool) = (std::mem::take(&mut self.b), std::mem::take(&mut self.pool));
        let (depth, in_region) = (self.depth, std::mem::replace(&mut self.in_region, true));
        self.depth -= 1;
        let inputs: Vec<Value> = given.iter().map(|aval| self.b.input(aval.clone())).collect();
        self.pool = inputs.clone();
        for _ in 0..self.rng.below(3) {
            let aval = self.aval();
            let value = self.b.input(aval);
            self.pool.push(value);
        }
        for _ in 0..self.rng.below(6) {
            self.step(names);
        }
        let outputs = outputs(self, &inputs);
        let graph = std::mem::replace(&mut self.b, b).finish(outputs);
        (self.pool, self.depth, self.in_region) = (pool, depth, in_region);
        let region = without_constants(&graph);
        let more = region.inputs()[given.len()..].iter().map(|&v| region.aval(v).clone()).collect();
        (Arc::new(region), more)
    }

    /// A function of an element and an update, and what else it uses: elementwise ops as a rule, any others
    /// now and then.
    pub(super) fn combining(&mut self, element: Aval) -> (Region, Vec<Value>) {
        let names = if self.rng.one_in(4) { ANY_COMBINING } else { COMBINING };
        self.depth += 1;
        let (region, more) = self.region(&[element.clone(), element.clone()], names, |w, _| {
            w.like_types(std::slice::from_ref(&element))
        });
        self.depth -= 1;
        (region, self.of_types(&more))
    }

    /// A value of this type, or one that is stored as such: one of the pool, or a new input.
    fn of_type(&mut self, aval: &Aval) -> Value {
        self.chosen(aval, |x| x.dtype == aval.dtype && x.shape == aval.shape)
    }

    /// Values of these types but for the `?`, which bodies and branches may give.
    fn like_types(&mut self, avals: &[Aval]) -> Vec<Value> {
        let like = |x: &Aval, y: &Aval| x.ranked().dtype == y.ranked().dtype && x.shape == y.shape;
        avals.iter().map(|aval| self.chosen(aval, |x| like(x, aval))).collect()
    }

    fn chosen(&mut self, aval: &Aval, is_one: impl Fn(&Aval) -> bool) -> Value {
        let same = |x: &&Value| is_one(self.b.graph().aval(**x));
        let fits: Vec<Value> = self.pool.iter().filter(same).copied().collect();
        if fits.is_empty() || self.rng.one_in(8) {
            return self.b.input(aval.clone());
        }
        // A late one, more often than not: it was computed.
        let last = fits.len() - 1;
        fits[if self.rng.one_in(2) { last } else { self.rng.below(last + 1) }]
    }

    fn of_types(&mut self, avals: &[Aval]) -> Vec<Value> {
        avals.iter().map(|aval| self.of_type(aval)).collect()
    }

    fn some(&mut self, most: usize) -> Vec<Value> {
        let n = self.rng.below(most + 1);
        (0..n).map(|_| self.any()).collect()
    }

    fn avals(&self, values: &[Value]) -> Vec<Aval> {
        values.iter().map(|&v| self.b.graph().aval(v).clone()).collect()
    }

    /// Values as a loop's state of these types, which are stored differently at most.
    fn converted(&mut self, values: Vec<Value>, to: Vec<Ranked>) -> Vec<Value> {
        let pairs = values.into_iter().zip(to);
        pairs
            .map(|(x, to)| match self.b.graph().aval(x).dtype == to.stored() {
                true => x,
                false => self.b.node1(Convert { to }, &[x]).unwrap(),
            })
            .collect()
    }

    /// A branch, a loop or a function with a derivative of its own, with random regions, on random values.
    pub fn control(&mut self, names: Names) -> &'static str {
        let counter = Aval::known(DType::I32, Shape::scalar());
        let (op, operands) = match self.rng.below(4) {
            0 => {
                let pred = self.of_type(&Aval::known(DType::I1, Shape::scalar()));
                let (mut inputs, mut types) = (self.some(3), vec![]);
                let given = self.avals(&inputs);
                let (yes, more) = self.region(&given, names, |w, _| {
                    let outputs = w.some(3);
                    types = w.avals(&outputs);
                    outputs
                });
                inputs.extend(self.of_types(&more));
                let others = self.some(3);
                let given = self.avals(&others);
                let (no, more) = self.region(&given, names, |w, _| w.like_types(&types));
                inputs.extend(others);
                inputs.extend(self.of_types(&more));
                (Op::If(If::from_branches(&yes, &no).unwrap()), [vec![pred], inputs].concat())
            }
            1 => {
                // The first value of the state counts, so that the loop ends; where it begins and ends is
                // random.
                let start = self.rng.below(3) as i32;
                let start = self.b.literal(Literal::new(start), None);
                let state = [vec![start], self.some(3)].concat();
                let given = self.avals(&state);
                let limit = Literal::new(self.rng.below(6) as i32);
                let (cond, for_cond) = self.region(&given, names, |w, inputs| {
                    let limit = w.b.literal(limit, None);
                    let mut go_on = w.b.node1(Op::Compare(Compare::lt), &[inputs[0], limit]).unwrap();
                    if w.rng.one_in(3) {
                        let other = w.of_type(&Aval::known(DType::I1, Shape::scalar()));
                        go_on = w.b.node1(Op::Binary(Binary::and), &[go_on, other]).unwrap();
                    }
                    vec![go_on]
                });
                let (body, for_body) = self.region(&given, names, |w, inputs| {
                    let one = w.b.literal(Literal::new(1i32), None);
                    let next = w.b.node1(Op::Binary(Binary::add), &[inputs[0], one]).unwrap();
                    [vec![next], w.like_types(&given[1..])].concat()
                });
                let (op, to) = While::from_types(&cond, &body, &ranked(&given), None).unwrap();
                let state = self.converted(state, to);
                (Op::While(op), [state, self.of_types(&for_cond), self.of_types(&for_body)].concat())
            }
            2 => {
                let mut operands = self.some(3);
                let (given, mut types) = (self.avals(&operands), vec![]);
                let (call, for_call) = self.region(&given, names, |w, _| {
                    let outputs = w.some(3);
                    types = w.avals(&outputs);
                    outputs
                });
                let has_rule = self.smooth || self.rng.one_in(3);
                if let Some(op) = has_rule.then(|| self.with_rule(&call, operands.len())).flatten() {
                    operands.extend(self.of_types(&for_call));
                    let captured = operands[op.arguments..].to_vec();
                    operands.extend(captured);
                    return self.add(Op::Custom(op), &operands);
                }
                // Nobody derives it: these two are not run.
                let (forward, for_forward) = self.region(&given, names, |w, _| w.like_types(&types));
                let (backward, for_backward) = self.region(&types, names, |w, _| w.like_types(&given));
                let arguments = operands.len();
                operands.extend(self.of_types(&[for_call, for_forward, for_backward].concat()));
                let targets = (0..arguments).collect();
                let derivative = Derivative::Reverse { forward, backward, targets };
                let op = Custom { call, arguments, derivative };
                (Op::Custom(op.agreeing().unwrap()), operands)
            }
            _ => {
                let length = self.rng.below(5);
                let (mut state, mut along) = (self.some(3), vec![]);
                if self.rng.one_in(4) {
                    state.push(self.of_type(&counter));
                }
                for _ in 0..self.rng.below(3) {
                    let slice = self.aval();
                    let sizes = [&[length], &slice.shape[..]].concat();
                    along.push(self.of_type(&Aval { shape: Shape::try_new(sizes).unwrap(), ..slice }));
                }
                let mut given = self.avals(&state);
                for aval in self.avals(&along) {
                    given.push(Aval { shape: Shape::try_new(aval.shape[1..].to_vec()).unwrap(), ..aval });
                }
                let carried = state.len();
                let (body, more) =
                    self.region(&given, names, |w, _| [w.like_types(&given[..carried]), w.some(3)].concat());
                let (sliced, reverse) = (along.len(), self.rng.one_in(2));
                let op = Scan { body, carried, sliced, length, reverse, last: false, checkpoint: false };
                let (op, to) = op.from_types(&ranked(&given[..carried])).unwrap();
                let state = self.converted(state, to);
                (Op::Scan(op), [state, along, self.of_types(&more)].concat())
            }
        };
        self.add(op, &operands)
    }

    /// A function with the derivative of its ops as its rule, if they have one.
    fn with_rule(&self, call: &Region, arguments: usize) -> Option<Custom> {
        let differentiable = |aval: &Aval| is_differentiable(aval.dtype);
        let avals: Vec<Aval> = call.inputs().iter().map(|&v| call.aval(v).clone()).collect();
        let mut b = Builder::default();
        let mut x: Vec<Value> = avals[..arguments].iter().map(|aval| b.input(aval.clone())).collect();
        let mut v: Vec<Option<Value>> = avals[..arguments]
            .iter()
            .map(|aval| differentiable(aval).then(|| b.input(aval.clone())))
            .collect();
        x.extend(avals[arguments..].iter().map(|aval| b.input(aval.clone())));
        v.resize(x.len(), None);
        let made = push(&mut b, call, &x, &v).ok()?;
        let mut outputs = made.outputs;
        for (&out, tangent) in call.outputs().iter().zip(made.tangents) {
            let aval = call.aval(out);
            if differentiable(aval) {
                let value = Literal::new(0.0).convert(aval.dtype);
                let zero = Fill { value, shape: aval.shape.clone(), ambiguous: aval.ambiguous };
                outputs.push(tangent.unwrap_or_else(|| b.node1(zero, &[]).unwrap()));
            }
        }
        let derivative = Derivative::Forward(Arc::new(b.finish(outputs)));
        Some(Custom { call: call.clone(), arguments, derivative })
    }

    fn add(&mut self, op: Op, operands: &[Value]) -> &'static str {
        let name = op.name();
        for value in self.b.node(op, operands).unwrap_or_else(|e| panic!("{name}: {e}")) {
            if self.b.graph().aval(value).shape.size() <= 2_000 {
                self.pool.push(value);
            }
        }
        name
    }
}

fn ranked(avals: &[Aval]) -> Vec<Ranked> {
    avals.iter().map(Aval::ranked).collect()
}

/// A graph whose constants have become inputs, after the others.
pub fn without_constants(graph: &Graph) -> Graph {
    let mut b = Builder::default();
    let mut new = vec![None; graph.values().count()];
    for &v in graph.inputs().iter().chain(graph.constants()) {
        new[v.index()] = Some(b.input(graph.aval(v).clone()));
    }
    for v in graph.values() {
        match graph.def(v) {
            Def::Literal(literal) => new[v.index()] = Some(b.literal(literal, graph.aval(v).ambiguous)),
            Def::Result(number, 0) => {
                let node = &graph.nodes()[number];
                let operands: Vec<Value> = node.operands.iter().map(|x| new[x.index()].unwrap()).collect();
                let made = b.node(node.op.clone(), &operands).unwrap();
                node.results.iter().zip(made).for_each(|(old, value)| new[old.index()] = Some(value));
            }
            _ => {}
        }
    }
    b.finish(graph.outputs().iter().map(|v| new[v.index()].unwrap()).collect())
}

/// A random program of floats of 64 bits, mostly, for derivatives, in half of the cases with branches and loops;
/// and random numbers.
#[allow(dead_code)] // some test files derive
pub fn smooth_program(seed: u64) -> (Graph, Rng) {
    let mut names: Vec<(&str, usize)> = rows().map(|row| (row.name, row.operands.len())).collect();
    names.retain(|(name, _)| {
        !["if", "while", "scan", "custom_gradient", "custom_jvp", "print"].contains(name)
    });
    for name in ["mul", "add", "sub", "sin", "tanh", "matmul", "gather", "scatter", "reshape", "transpose"] {
        names.extend([(name, 2); 6]);
    }
    let mut writer = Writer::smooth(seed);
    writer.depth = 2;
    for _ in 0..2 + writer.rng.below(12) {
        writer.step(&names);
    }
    if seed % 2 == 0 {
        writer.control(&names);
    }
    let outputs: Vec<Value> = writer.outputs();
    let Writer { rng, b, .. } = writer;
    (without_constants(&b.finish(outputs)), rng)
}
