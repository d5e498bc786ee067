//! Benchmarks of an iteration of a loop: counting, scalars, gradient descent on few numbers, logistic
//! regression. `cargo bench --bench loops` prints nanoseconds per repetition, the fastest run and the median.

use anvil_core::dtype::DType;
use anvil_core::exec::{Executable, Output};
use anvil_core::graph::Value;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::ops::{
    Binary, BroadcastInDim, Builder, Compare, DotGeneral, Graph, Op, Reduction, Region, Ternary, Unary, While,
};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::{Aval, Literal};
use std::sync::Arc;
use std::time::Instant;

/// A graph under construction, on values of one dtype.
struct Program(Builder, DType);

impl Program {
    fn region(dtype: DType, make: impl FnOnce(&mut Program) -> Vec<Value>) -> Region {
        let mut p = Program(Builder::default(), dtype);
        let outputs = make(&mut p);
        Arc::new(p.0.finish(outputs))
    }

    fn input(&mut self, sizes: &[usize]) -> Value {
        self.0.input(Aval::known(self.1, Shape::try_new(sizes.to_vec()).unwrap()))
    }

    fn number(&mut self, x: f64) -> Value {
        self.0.literal(Literal::new(x).convert(self.1), None)
    }

    fn apply(&mut self, op: Op, operands: &[Value]) -> Value {
        self.0.node1(op, operands).unwrap()
    }

    /// An op of two values, of which the second may be 0-d.
    fn op(&mut self, op: Binary, x: Value, y: Value) -> Value {
        let shape = self.0.graph().aval(x).shape.clone();
        let y = if self.0.graph().aval(y).shape == shape {
            y
        } else {
            self.apply(Op::BroadcastInDim(BroadcastInDim { shape, axes: vec![] }), &[y])
        };
        self.apply(Op::Binary(op), &[x, y])
    }

    fn sum(&mut self, x: Value) -> Value {
        self.apply(Op::Reduction(Reduction { fold: Fold::Sum, axes: vec![Axis(0)], drop: true }), &[x])
    }

    fn product(&mut self, x: Value, axis: usize, y: Value) -> Value {
        let op = DotGeneral {
            contracting: [vec![Axis(axis)], vec![Axis(0)]],
            batching: [vec![], vec![]],
            batch_last: false,
        };
        self.apply(Op::DotGeneral(op), &[x, y])
    }
}

/// A loop of `times` repetitions: its state begins with a counter; `rest` are the sizes of what else the body
/// reads.
fn looped(
    d: DType,
    times: usize,
    state: &[&[usize]],
    rest: &[&[usize]],
    body: impl FnOnce(&mut Program, &[Value], &[Value]) -> Vec<Value>,
) -> Graph {
    let cond = Program::region(d, |p| {
        let inputs: Vec<Value> = state.iter().map(|s| p.input(s)).collect();
        let limit = p.number(times as f64);
        vec![p.apply(Op::Compare(Compare::lt), &[inputs[0], limit])]
    });
    let body = Program::region(d, |p| {
        let state: Vec<Value> = state.iter().map(|s| p.input(s)).collect();
        let rest: Vec<Value> = rest.iter().map(|s| p.input(s)).collect();
        let one = p.number(1.0);
        let next = p.op(Binary::add, state[0], one);
        [vec![next], body(p, &state[1..], &rest)].concat()
    });
    let mut p = Program(Builder::default(), d);
    let inputs: Vec<Value> = state.iter().chain(rest).map(|s| p.input(s)).collect();
    let outputs =
        p.0.node(Op::While(While { cond, body, carried: state.len(), bound: None }), &inputs).unwrap();
    p.0.finish(outputs)
}

fn counter(d: DType, times: usize) -> Graph {
    looped(d, times, &[&[]], &[], |_, _, _| vec![])
}

/// Steps of a random walk that are taken or not.
fn walk(d: DType, times: usize) -> Graph {
    looped(d, times, &[&[], &[], &[]], &[], |p, state, _| {
        let (x, seed) = (state[0], state[1]);
        let (a, m, half, two) = (p.number(16807.0), p.number(65537.0), p.number(0.5), p.number(2.0));
        let seed = p.op(Binary::mul, seed, a);
        let seed = p.op(Binary::modulo, seed, m);
        let u = p.op(Binary::div, seed, m);
        let step = p.op(Binary::sub, u, half);
        let to = p.op(Binary::add, x, step);
        let (old, new) = (p.op(Binary::mul, x, x), p.op(Binary::mul, to, to));
        let ratio = p.op(Binary::sub, old, new);
        let ratio = p.op(Binary::div, ratio, two);
        let ratio = p.apply(Op::Unary(Unary::exp), &[ratio]);
        let taken = p.apply(Op::Compare(Compare::lt), &[u, ratio]);
        vec![p.apply(Op::Ternary(Ternary::Select), &[taken, to, x]), seed]
    })
}

/// A line through `n` points.
fn descent(d: DType, times: usize, n: usize) -> Graph {
    looped(d, times, &[&[], &[], &[]], &[&[n], &[n]], |p, state, rest| {
        let (a, b, x, y) = (state[0], state[1], rest[0], rest[1]);
        let rate = p.number(0.02 / n as f64);
        let e = p.op(Binary::mul, x, b);
        let e = p.op(Binary::add, e, a);
        let e = p.op(Binary::sub, e, y);
        let slope = p.op(Binary::mul, e, x);
        let mut updated = |old, gradient| {
            let sum = p.sum(gradient);
            let step = p.op(Binary::mul, sum, rate);
            p.op(Binary::sub, old, step)
        };
        vec![updated(a, e), updated(b, slope)]
    })
}

fn logistic(d: DType, times: usize, n: usize) -> Graph {
    looped(d, times, &[&[], &[20]], &[&[n, 20], &[n]], |p, state, rest| {
        let (b, x, y) = (state[0], rest[0], rest[1]);
        let rate = p.number(0.02 / n as f64);
        let e = p.product(x, 1, b);
        let e = p.apply(Op::Unary(Unary::logistic), &[e]);
        let e = p.op(Binary::sub, e, y);
        let g = p.product(x, 0, e);
        let g = p.op(Binary::mul, g, rate);
        vec![p.op(Binary::sub, b, g)]
    })
}

fn time(name: &str, dtype: DType, times: usize, graph: &Graph) {
    let executable = Executable::compile(graph, &[]).unwrap();
    let fill = |&v: &Value| {
        let aval = graph.aval(v);
        let mut bytes = AlignedBytes::zeroed(aval.bytes());
        for (i, out) in bytes.as_mut_slice().chunks_mut(aval.dtype.bytes()).enumerate() {
            let value = if aval.shape.size() <= 20 { 0.0 } else { (i * 37 % 1000) as f64 / 500.0 };
            let literal = Literal::new(value).convert(aval.dtype).to_bytes();
            out.copy_from_slice(&literal[..aval.dtype.bytes()]);
        }
        bytes
    };
    let inputs: Vec<AlignedBytes> = graph.inputs().iter().map(fill).collect();
    let inputs: Vec<Option<&[u8]>> = inputs.iter().map(|x| Some(x.as_slice())).collect();
    let mut outputs: Vec<AlignedBytes> =
        graph.outputs().iter().map(|&v| AlignedBytes::zeroed(graph.aval(v).bytes())).collect();
    let mut run = || {
        let start = Instant::now();
        let buffers = outputs.iter_mut().map(|x| Output::Fresh(x.as_mut_slice())).collect();
        executable.run(&inputs, &[], buffers).unwrap();
        start.elapsed().as_nanos() as f64 / times as f64
    };
    // Short runs, of which some are not interrupted.
    let mut all: Vec<f64> = (0..200).map(|_| run()).collect();
    all.sort_by(f64::total_cmp);
    println!("{name:<28}{:>6}{:>12.1} ({:.1})", dtype.name(), all[0], all[100]);
}

fn main() {
    for d in [DType::F32, DType::F64] {
        time("counter", d, 20_000, &counter(d, 20_000));
        time("random walk", d, 2_000, &walk(d, 2_000));
        time("gradient descent, 100", d, 2_000, &descent(d, 2_000, 100));
        time("gradient descent, 1000", d, 500, &descent(d, 500, 1_000));
        time("logistic, 10000 x 20", d, 5, &logistic(d, 5, 10_000));
    }
}
