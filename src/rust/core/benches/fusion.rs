//! Benchmarks of groups of elementwise nodes: chains, reductions and loops at several sizes. `cargo bench
//! --bench fusion` prints nanoseconds per run, with one thread and with all (`ANVIL_NUM_THREADS` is read when
//! the first large program runs, so each is a process of its own).

mod common;

use anvil_core::dtype::DType;
use anvil_core::exec::Executable;
use anvil_core::graph::Value;
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::ops::{
    Binary, BroadcastInDim, Builder, Compare, Convert, Graph, Op, Reduction, Ternary, Unary, While,
};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::{Aval, Literal};
use std::sync::Arc;
use std::time::Instant;

/// A program under construction, on tensors of one dtype and shape.
struct Program {
    b: Builder,
    dtype: DType,
    shape: Shape,
}

impl Program {
    fn new(dtype: DType, sizes: &[usize]) -> Program {
        Program { b: Builder::default(), dtype, shape: Shape::try_new(sizes.to_vec()).unwrap() }
    }

    fn input(&mut self) -> Value {
        self.b.input(Aval::known(self.dtype, self.shape.clone()))
    }

    fn apply(&mut self, op: Op, operands: &[Value]) -> Value {
        self.b.node1(op, operands).unwrap()
    }

    fn unary(&mut self, op: Unary, x: Value) -> Value {
        self.apply(Op::Unary(op), &[x])
    }

    fn binary(&mut self, op: Binary, x: Value, y: Value) -> Value {
        self.apply(Op::Binary(op), &[x, y])
    }

    fn number(&mut self, x: f64) -> Value {
        let scalar = self.b.literal(Literal::new(x).convert(self.dtype), None);
        self.apply(Op::BroadcastInDim(BroadcastInDim { shape: self.shape.clone(), axes: vec![] }), &[scalar])
    }

    fn add(&mut self, x: Value, y: Value) -> Value {
        self.binary(Binary::add, x, y)
    }

    fn sub(&mut self, x: Value, y: Value) -> Value {
        self.binary(Binary::sub, x, y)
    }

    fn mul(&mut self, x: Value, y: Value) -> Value {
        self.binary(Binary::mul, x, y)
    }

    fn div(&mut self, x: Value, y: Value) -> Value {
        self.binary(Binary::div, x, y)
    }

    fn sum(&mut self, x: Value, axes: Vec<Axis>) -> Value {
        self.apply(Op::Reduction(Reduction { fold: Fold::Sum, axes, drop: true }), &[x])
    }

    fn finish(self, outputs: Vec<Value>) -> Graph {
        self.b.finish(outputs)
    }
}

fn one(_: usize) -> Vec<usize> {
    vec![]
}

fn axpb(d: DType, n: usize) -> Graph {
    let mut p = Program::new(d, &[n]);
    let (x, a, c) = (p.input(), p.number(1.5), p.number(0.25));
    let y = p.mul(a, x);
    let y = p.add(y, c);
    p.finish(vec![y])
}

fn chain10(d: DType, n: usize) -> Graph {
    let mut p = Program::new(d, &[n]);
    let (x, y) = (p.input(), p.input());
    let mut v = x;
    for i in 0..5 {
        let c = p.number(0.5 + i as f64 / 8.0);
        v = p.mul(v, c);
        v = p.add(v, y);
    }
    p.finish(vec![v])
}

fn tanh_affine(d: DType, n: usize) -> Graph {
    let mut p = Program::new(d, &[n]);
    let (x, w, b) = (p.input(), p.input(), p.input());
    let v = p.mul(x, w);
    let v = p.add(v, b);
    let v = p.unary(Unary::tanh, v);
    p.finish(vec![v])
}

fn gelu(d: DType, n: usize) -> Graph {
    let mut p = Program::new(d, &[n]);
    let x = p.input();
    let (half, one, root) = (p.number(0.5), p.number(1.0), p.number(std::f64::consts::FRAC_1_SQRT_2));
    let v = p.mul(x, root);
    let v = p.unary(Unary::erf, v);
    let v = p.add(v, one);
    let h = p.mul(x, half);
    let v = p.mul(h, v);
    p.finish(vec![v])
}

/// exp(x - m) and its sum.
fn exp_sum(d: DType, n: usize) -> Graph {
    let mut p = Program::new(d, &[n]);
    let (x, m) = (p.input(), p.number(3.0));
    let v = p.sub(x, m);
    let v = p.unary(Unary::exp, v);
    let s = p.sum(v, vec![Axis(0)]);
    p.finish(vec![v, s])
}

fn dot(d: DType, n: usize) -> Graph {
    let mut p = Program::new(d, &[n]);
    let (x, y) = (p.input(), p.input());
    let v = p.mul(x, y);
    let s = p.sum(v, vec![Axis(0)]);
    p.finish(vec![s])
}

/// Sums of squared differences by column.
fn column_sums(d: DType, n: usize) -> Graph {
    let columns = 10.min(n);
    let mut p = Program::new(d, &[n / columns, columns]);
    let (x, y) = (p.input(), p.input());
    let v = p.sub(x, y);
    let v = p.mul(v, v);
    let s = p.sum(v, vec![Axis(0)]);
    p.finish(vec![s])
}

fn sum(d: DType, n: usize) -> Graph {
    let mut p = Program::new(d, &[n]);
    let x = p.input();
    let s = p.sum(x, vec![Axis(0)]);
    p.finish(vec![s])
}

/// Price of a call option.
fn black_scholes(d: DType, n: usize) -> Graph {
    let mut p = Program::new(d, &[n]);
    let (s, k, t) = (p.input(), p.input(), p.input());
    let (rate, sigma, half, one) = (p.number(0.02), p.number(0.3), p.number(0.5), p.number(1.0));
    let root = p.number(std::f64::consts::FRAC_1_SQRT_2);
    let drift = p.number(0.02 + 0.3 * 0.3 / 2.0);
    let ratio = p.div(s, k);
    let log = p.unary(Unary::log, ratio);
    let grown = p.mul(drift, t);
    let top = p.add(log, grown);
    let time = p.unary(Unary::sqrt, t);
    let scale = p.mul(sigma, time);
    let d1 = p.div(top, scale);
    let d2 = p.sub(d1, scale);
    let mut normal = |x: Value| {
        let v = p.mul(x, root);
        let v = p.unary(Unary::erf, v);
        let v = p.add(v, one);
        p.mul(v, half)
    };
    let (n1, n2) = (normal(d1), normal(d2));
    let discount = p.mul(rate, t);
    let discount = p.unary(Unary::negate, discount);
    let discount = p.unary(Unary::exp, discount);
    let first = p.mul(s, n1);
    let second = p.mul(k, discount);
    let second = p.mul(second, n2);
    let price = p.sub(first, second);
    p.finish(vec![price])
}

/// `ifelse(x > 0, x, x * 0.1)`, of integers converted.
fn mixed(d: DType, n: usize) -> Graph {
    let mut p = Program::new(d, &[n]);
    let i = p.b.input(Aval::known(DType::I32, p.shape.clone()));
    let x = p.apply(Op::Convert(Convert::known(d)), &[i]);
    let (zero, slope) = (p.number(0.0), p.number(0.1));
    let positive = p.apply(Op::Compare(Compare::gt), &[x, zero]);
    let low = p.mul(x, slope);
    let y = p.apply(Op::Ternary(Ternary::Select), &[positive, x, low]);
    p.finish(vec![y])
}

/// A matrix plus a vector by rows and one by columns.
fn outer(d: DType, n: usize) -> Graph {
    let rows = (n as f64).sqrt() as usize;
    let mut p = Program::new(d, &[rows, n / rows]);
    let x = p.input();
    let shape = p.shape.clone();
    let mut v = x;
    for axis in [0, 1] {
        let vector = p.b.input(Aval::known(d, Shape::try_new(vec![shape[axis]]).unwrap()));
        let spread = BroadcastInDim { shape: shape.clone(), axes: vec![Axis(axis)] };
        let y = p.apply(Op::BroadcastInDim(spread), &[vector]);
        v = p.add(v, y);
    }
    p.finish(vec![v])
}

/// The softmax of columns.
fn softmax(d: DType, n: usize) -> Graph {
    let rows = (n as f64).sqrt() as usize;
    let mut p = Program::new(d, &[rows, n / rows]);
    let x = p.input();
    let spread = Op::BroadcastInDim(BroadcastInDim { shape: p.shape.clone(), axes: vec![Axis(1)] });
    let max = p.apply(Op::Reduction(Reduction { fold: Fold::Max, axes: vec![Axis(0)], drop: true }), &[x]);
    let max = p.apply(spread.clone(), &[max]);
    let e = p.sub(x, max);
    let e = p.unary(Unary::exp, e);
    let sum = p.sum(e, vec![Axis(0)]);
    let sum = p.apply(spread, &[sum]);
    let y = p.div(e, sum);
    p.finish(vec![y])
}

/// A loop of `n` repetitions on four scalars.
fn scalar_loop(d: DType, n: usize) -> Graph {
    let scalar = || Program::new(d, &one(0));
    let mut p = scalar();
    let i = p.input();
    let (limit, _) = (p.number(n as f64), ());
    let go = p.apply(Op::Compare(Compare::lt), &[i, limit]);
    let _ = (p.input(), p.input());
    let cond = p.finish(vec![go]);
    let mut p = scalar();
    let (i, a, b) = (p.input(), p.input(), p.input());
    let (one, rate) = (p.number(1.0), p.number(0.01));
    let next = p.add(i, one);
    let e = p.mul(a, b);
    let e = p.sub(e, a);
    let e = p.mul(e, rate);
    let (c, e2) = (p.sub(a, e), p.mul(e, rate));
    let f = p.add(b, e2);
    let body = p.finish(vec![next, c, f]);
    let mut p = scalar();
    let inputs = [p.input(), p.input(), p.input()];
    let op = Op::While(While { cond: Arc::new(cond), body: Arc::new(body), carried: 3, bound: None });
    let outputs = p.b.node(op, &inputs).unwrap();
    p.finish(outputs)
}

/// Nanoseconds of the fastest of several runs, and of the median.
fn time(graph: &Graph) -> (f64, f64) {
    common::time(
        graph,
        |aval, i| if aval.shape.rank() == 0 { 0.0 } else { 0.5 + (i * 37 % 1000) as f64 / 500.0 },
    )
}

/// A program of about this many nodes, and the milliseconds that its compilation takes.
fn compile_time(nodes: usize) -> f64 {
    let mut p = Program::new(DType::F32, &[1000]);
    let (x, y) = (p.input(), p.input());
    let (mut v, mut outputs) = (x, vec![]);
    for i in 0..nodes / 5 {
        let c = p.number(i as f64);
        v = p.mul(v, y);
        v = p.add(v, c);
        v = p.unary(Unary::tanh, v);
        if i % 50 == 49 {
            outputs.push(p.sum(v, vec![Axis(0)]));
        }
    }
    outputs.push(v);
    let graph = p.finish(outputs);
    let start = Instant::now();
    for _ in 0..10 {
        std::hint::black_box(Executable::compile(&graph, &[]).unwrap());
    }
    start.elapsed().as_secs_f64() * 100.0
}

type Make = fn(DType, usize) -> Graph;
const PROGRAMS: [(&str, Make); 12] = [
    ("axpb", axpb),
    ("chain10", chain10),
    ("tanh(x*w+b)", tanh_affine),
    ("gelu", gelu),
    ("exp(x-m), sum", exp_sum),
    ("sum(x*y)", dot),
    ("colSums((x-y)^2)", column_sums),
    ("sum(x)", sum),
    ("black-scholes", black_scholes),
    ("ifelse of i32", mixed),
    ("x + row + column", outer),
    ("softmax of columns", softmax),
];

fn main() {
    let wanted = std::env::args().nth(1).filter(|a| !a.starts_with("--"));
    println!("compile 1,000 nodes: {:.2} ms", compile_time(1000));
    println!("{:<20}{:>6}{:>14}{:>14}{:>14}   ns per run, fastest (median)", "", "", "1e3", "1e5", "1e7");
    for (name, make) in PROGRAMS.iter().filter(|(name, _)| wanted.as_ref().is_none_or(|w| name.contains(w))) {
        for dtype in [DType::F32, DType::F64] {
            print!("{name:<20}{:>6}", dtype.name());
            for n in [1_000, 100_000, 10_000_000] {
                let (fastest, median) = time(&make(dtype, n));
                print!("  {fastest:>11.0} ({median:.0})");
            }
            println!();
        }
    }
    for dtype in [DType::F32, DType::F64] {
        let (fastest, median) = time(&scalar_loop(dtype, 10_000));
        println!(
            "scalar loop, {}: {:.0} ({:.0}) ns per repetition",
            dtype.name(),
            fastest / 1e4,
            median / 1e4
        );
    }
}
