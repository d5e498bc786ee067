//! Folds of each of many segments, as R code writes them one after the other, and as one scatter.

mod common;
#[path = "common/gradients.rs"]
mod gradients;
#[path = "common/rounding.rs"]
mod rounding;

use anvil_core::dtype::{DType, Ranked};
use anvil_core::graph::Value;
use anvil_core::ops::attrs::{Attr, Attrs};
use anvil_core::ops::*;
use anvil_core::passes::segments;
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::Literal;
use common::Rng;
use gradients::{numbers, op};
use rounding::agree;

const N: usize = 300;

fn shape(sizes: &[usize]) -> Shape {
    Shape::try_new(sizes.to_vec()).unwrap()
}

fn plain(b: &mut Builder, name: &str, operands: &[Value]) -> Value {
    op(b, name, operands, &Attrs::new())
}

/// A number for each element, or the values of a vector along the first axis, in a shape.
fn spread(b: &mut Builder, v: Value, to: &Shape) -> Value {
    let axes = (0..b.graph().aval(v).shape.rank()).map(Axis).collect();
    b.node1(BroadcastInDim { shape: to.clone(), axes }, &[v]).unwrap()
}

fn uniform(b: &mut Builder, number: f64, dtype: DType, to: &Shape) -> Value {
    let number = b.literal(Literal::new(number).convert(dtype), None);
    spread(b, number, to)
}

/// Codes of segments, from numbers between -1 and 1: some are no whole numbers, and some belong to no segment.
fn codes(b: &mut Builder, x: Value, segments: usize, dtype: DType, whole: bool) -> Value {
    let at = b.graph().aval(x).shape.clone();
    let scale = uniform(b, segments as f64 / 1.6, DType::F64, &at);
    let mut v = plain(b, "mul", &[x, scale]);
    if whole || !dtype.is_float() {
        v = plain(b, "floor", &[v]);
    }
    match dtype {
        DType::F64 => v,
        _ => b.node1(Convert { to: Ranked::known(dtype) }, &[v]).unwrap(),
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Unary(&'static str),
    /// With the other input.
    Other(&'static str),
    /// With the number of the segment.
    Number(&'static str),
    /// With what the last fold of the segment gave.
    Last(&'static str),
    /// Where the mask is false, 1.
    Padded,
    /// Where the other input is positive.
    Positive,
}

fn step(rng: &mut Rng) -> Step {
    let name = *rng.choose(&["add", "sub", "mul", "max"]);
    let function = *rng.choose(&["tanh", "abs", "negate"]);
    match rng.below(6) {
        0 => Step::Unary(function),
        1 => Step::Other(name),
        2 => Step::Number(name),
        3 => Step::Last(name),
        4 => Step::Padded,
        _ => Step::Positive,
    }
}

/// What is folded of a segment, in two folds, of which the second one knows the first.
fn program(b: &mut Builder, x: &[Value], seed: u64) -> Vec<Value> {
    let rng = &mut Rng::new(seed);
    let at = b.graph().aval(x[0]).shape.clone();
    let count = 4 + rng.below(6);
    let dtype = *rng.choose(&[DType::I32, DType::I64, DType::F64, DType::F32]);
    let whole = rng.one_in(2);
    let g = codes(b, x[2], count, dtype, whole);
    let stages: Vec<(Vec<Step>, &str, bool)> = (0..2)
        .map(|_| {
            let fold = *rng.choose(&["reduce_sum", "reduce_sum", "reduce_max", "reduce_min"]);
            ((0..rng.below(5)).map(|_| step(rng)).collect(), fold, rng.one_in(8))
        })
        .collect();
    let odd = rng.one_in(3).then(|| rng.below(count));
    let low = rng.below(5) as i64 - 3;
    let mut results = vec![];
    for k in 0..count {
        let number = (low + k as i64) as f64;
        let codes = b.graph().aval(g).shape.clone();
        let other = uniform(b, number, dtype, &codes);
        let mask = plain(b, "eq", &[g, other]);
        let mask = spread(b, mask, &at);
        let mut last = b.literal(Literal::new(number), None);
        for (steps, fold, leaks) in &stages {
            let mut v = x[0];
            for &step in steps {
                v = match step {
                    Step::Unary(name) => plain(b, name, &[v]),
                    Step::Other(name) => plain(b, name, &[v, x[1]]),
                    Step::Number(name) => {
                        let number = uniform(b, number, DType::F64, &at);
                        plain(b, name, &[v, number])
                    }
                    Step::Last(name) => {
                        let axes =
                            (at.rank() - b.graph().aval(last).shape.rank()..at.rank()).map(Axis).collect();
                        let op = BroadcastInDim { shape: at.clone(), axes };
                        let op = if b.graph().aval(last).shape.rank() == 0 {
                            BroadcastInDim { shape: at.clone(), axes: vec![] }
                        } else {
                            op
                        };
                        let last = b.node1(op, &[last]).unwrap();
                        plain(b, name, &[v, last])
                    }
                    Step::Padded => {
                        let one = uniform(b, 1.0, DType::F64, &at);
                        plain(b, "select", &[mask, v, one])
                    }
                    Step::Positive => {
                        let zero = uniform(b, 0.0, DType::F64, &at);
                        let positive = plain(b, "gt", &[x[1], zero]);
                        plain(b, "select", &[positive, v, zero])
                    }
                };
            }
            if odd == Some(k) {
                v = plain(b, "cos", &[v]);
            }
            let identity = match *fold {
                "reduce_max" => f64::NEG_INFINITY,
                "reduce_min" => f64::INFINITY,
                // Elements of other segments count.
                _ if *leaks => 0.25,
                _ => 0.0,
            };
            let identity = uniform(b, identity, DType::F64, &at);
            let v = plain(b, "select", &[mask, v, identity]);
            let attrs = Attrs::new().with("axes", numbers(&[1])).with("drop", Attr::Logical(true));
            last = op(b, fold, &[v], &attrs);
            results.push(last);
        }
    }
    results
}

#[test]
fn random_folds_of_segments_agree_with_what_was_written() {
    let (mut met, mut programs) = (0, 0);
    for seed in 0..400 {
        let rng = &mut Rng::new(seed);
        let at = if rng.one_in(3) { shape(&[N, 3]) } else { shape(&[N]) };
        let mut b = Builder::default();
        let x = gradients::inputs(&mut b, &[at.clone(), at, shape(&[N])]);
        let results = program(&mut b, &x, seed);
        let graph = b.finish(results);
        programs += 1;
        if let Some(joined) = segments(&graph).unwrap() {
            met += 1;
            agree(&graph, &joined, rng);
        }
    }
    assert!(met > programs / 3 && met < programs, "{met} of {programs} programs have segments");
}

/// `tapply(x, g, function(z) sum((z - mean(z))^2))`: sums and counts are scatters, and there is no other fold.
#[test]
fn sums_of_squares_within_segments_are_scatters() {
    let mut b = Builder::default();
    let x = gradients::inputs(&mut b, &[shape(&[N]), shape(&[N])]);
    let g = codes(&mut b, x[1], 12, DType::I32, true);
    let at = shape(&[N]);
    let attrs = || Attrs::new().with("axes", Attr::Null).with("drop", Attr::Logical(true));
    let results: Vec<Value> = (-6..6)
        .map(|k| {
            let number = uniform(&mut b, f64::from(k), DType::I32, &at);
            let mask = plain(&mut b, "eq", &[g, number]);
            let (zero, one) = (uniform(&mut b, 0.0, DType::F64, &at), uniform(&mut b, 1.0, DType::F64, &at));
            let z = plain(&mut b, "select", &[mask, x[0], one]);
            let kept = plain(&mut b, "select", &[mask, z, zero]);
            let sum = op(&mut b, "reduce_sum", &[kept], &attrs());
            let count = b.node1(Convert { to: Ranked::known(DType::F64) }, &[mask]).unwrap();
            let count = op(&mut b, "reduce_sum", &[count], &attrs());
            let mean = plain(&mut b, "div", &[sum, count]);
            let mean = spread(&mut b, mean, &at);
            let centred = plain(&mut b, "sub", &[z, mean]);
            let squares = plain(&mut b, "mul", &[centred, centred]);
            let kept = plain(&mut b, "select", &[mask, squares, zero]);
            op(&mut b, "reduce_sum", &[kept], &attrs())
        })
        .collect();
    let graph = b.finish(results);
    let joined = segments(&graph).unwrap().unwrap();
    let count = |name: &str| joined.nodes().iter().filter(|node| node.op.row().name == name).count();
    assert_eq!((count("scatter"), count("reduce_sum"), count("select")), (3, 0, 0), "{joined}");
    agree(&graph, &joined, &mut Rng::new(1));
}

/// Each segment is compared with the sum of the one before: no two folds are computed at a time.
#[test]
fn segments_that_need_one_another_are_left() {
    let mut b = Builder::default();
    let x = gradients::inputs(&mut b, &[shape(&[N]), shape(&[N])]);
    let g = codes(&mut b, x[1], 12, DType::F64, true);
    let at = shape(&[N]);
    let mut last = b.literal(Literal::new(0.5), None);
    for k in 0..8 {
        let number = uniform(&mut b, f64::from(k), DType::F64, &at);
        let mask = plain(&mut b, "eq", &[g, number]);
        let zero = uniform(&mut b, 0.0, DType::F64, &at);
        let before = spread(&mut b, last, &at);
        let v = plain(&mut b, "mul", &[x[0], before]);
        let v = plain(&mut b, "select", &[mask, v, zero]);
        let attrs = Attrs::new().with("axes", Attr::Null).with("drop", Attr::Logical(true));
        last = op(&mut b, "reduce_sum", &[v], &attrs);
    }
    let graph = b.finish(vec![last]);
    assert!(segments(&graph).unwrap().is_none());
}
