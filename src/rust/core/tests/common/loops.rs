//! Programs with branches and loops, for the tests of derivatives.
#![allow(dead_code)] // each test file uses a part

use crate::common::Rng;
use crate::gradients::{inner, integers, numbers, op};
use anvil_core::dtype::DType;
use anvil_core::graph::Value;
use anvil_core::ops::attrs::{Attr, Attrs};
use anvil_core::ops::{Builder, If, Op, Region, Scan, While};
use anvil_core::shape::Shape;
use anvil_core::tensor::{Aval, Literal};
use std::slice;
use std::sync::Arc;

pub fn plain(b: &mut Builder, name: &str, operands: &[Value]) -> Value {
    op(b, name, operands, &Attrs::new())
}

pub fn number(b: &mut Builder, x: f64) -> Value {
    b.literal(Literal::new(x), None)
}

pub fn float(shape: &[usize]) -> Aval {
    Aval::known(DType::F64, Shape::try_new(shape.to_vec()).unwrap())
}

/// A graph of its own with inputs of these types.
pub fn region(types: &[Aval], f: impl FnOnce(&mut Builder, &[Value]) -> Vec<Value>) -> Region {
    let mut b = Builder::default();
    let x: Vec<Value> = types.iter().map(|aval| b.input(aval.clone())).collect();
    let outputs = f(&mut b, &x);
    Arc::new(b.finish(outputs))
}

pub fn to_float(b: &mut Builder, x: Value) -> Value {
    op(
        b,
        "convert",
        &[x],
        &Attrs::new().with("dtype", Attr::Text("f64".into())).with("ambiguous", Attr::Logical(false)),
    )
}

/// `x > 0 ? sin(x y) : x exp(y) z`, in branches that use different values, one of them another one inside.
pub fn branches(b: &mut Builder, x: &[Value]) -> Value {
    let zero = number(b, 0.0);
    let pred = plain(b, "gt", &[x[0], zero]);
    let scalar = float(&[]);
    let inner = region(&[scalar.clone(), scalar.clone()], |b, x| {
        let product = plain(b, "mul", x);
        vec![plain(b, "sin", &[product])]
    });
    let nested = region(&[scalar.clone(), scalar.clone()], |b, x| {
        let pred = plain(b, "lt", &[x[0], x[1]]);
        let other = region(slice::from_ref(&scalar), |b, x| vec![plain(b, "tanh", x)]);
        b.node(Op::If(If { branches: [inner.clone(), other] }), &[pred, x[0], x[1], x[0]]).unwrap()
    });
    let other = region(&[scalar.clone(), scalar.clone(), scalar], |b, x| {
        let e = plain(b, "exp", &[x[1]]);
        let product = plain(b, "mul", &[x[0], e]);
        vec![plain(b, "mul", &[product, x[2]])]
    });
    let op = Op::If(If { branches: [nested, other] });
    b.node(op, &[pred, x[0], x[1], x[0], x[1], x[2]]).unwrap()[0]
}

/// The variants of a loop.
#[derive(Clone, Copy)]
pub struct Way {
    pub length: usize,
    pub reverse: bool,
    pub checkpoint: bool,
}

/// A loop whose state is (vector, counter, number), which goes along a vector and a matrix of integers, uses
/// a captured matrix, and stacks a float and an integer. Inputs: state vector, state number, `xs`, captured.
pub fn looped(b: &mut Builder, x: &[Value], way: Way) -> Vec<Value> {
    let integer = Aval::known(DType::I32, Shape::scalar());
    let types = [float(&[2]), integer.clone(), float(&[]), float(&[2]), integer, float(&[2, 2])];
    let body = region(&types, |b, x| {
        let [h, count, s, slice, k, w] = x else { unreachable!() };
        let product = plain(b, "mul", &[*w, *w]);
        let in_shape = |b: &mut Builder, x: Value, shape: &[usize]| {
            let attrs = Attrs::new().with("shape", numbers(shape)).with("order", Attr::Text("column".into()));
            op(b, "reshape", &[x], &attrs)
        };
        let column = in_shape(b, *h, &[2, 1]);
        let moved = plain(b, "matmul", &[product, column]);
        let moved = in_shape(b, moved, &[2]);
        let sum = plain(b, "add", &[moved, *slice]);
        let h = plain(b, "tanh", &[sum]);
        let one = b.literal(Literal::new(1i32), None);
        let count = plain(b, "add", &[*count, one]);
        let weight = plain(b, "mul", &[count, *k]);
        let weight = to_float(b, weight);
        let scaled = plain(b, "mul", &[h, *s]);
        let y = plain(b, "mul", &[scaled, weight]);
        let all = Attrs::new().with("axes", Attr::Null).with("drop", Attr::Logical(true));
        let part = op(b, "reduce_sum", &[h], &all);
        let grown = plain(b, "sin", &[part]);
        let s = plain(b, "add", &[*s, grown]);
        vec![h, count, s, y, count]
    });
    let zero = b.literal(Literal::new(0i32), None);
    let whole: Vec<i32> = (0..way.length as i32).map(|i| i % 3 + 1).collect();
    let ks = integers(b, &whole, &[way.length]);
    let op = Scan {
        body,
        carried: 3,
        sliced: 2,
        length: way.length,
        reverse: way.reverse,
        last: false,
        checkpoint: way.checkpoint,
    };
    b.node(Op::Scan(op), &[x[0], zero, x[1], x[2], ks, x[3]]).unwrap()
}

pub fn loop_shapes(length: usize) -> [Shape; 4] {
    [[2].into(), Shape::scalar(), [length, 2].into(), [2, 2].into()]
}

/// One number of the results with these numbers.
pub fn joined(b: &mut Builder, results: &[Value], which: &[usize]) -> Value {
    let parts: Vec<Value> =
        which.iter().map(|&i| inner(b, results[i], &mut Rng::new(i as u64 + 5))).collect();
    parts.into_iter().reduce(|x, y| plain(b, "add", &[x, y])).unwrap()
}

/// `x` doubled as long as it is below 10.
pub fn doubled(b: &mut Builder, x: Value) -> Value {
    let cond = region(&[float(&[])], |b, x| {
        let ten = number(b, 10.0);
        vec![plain(b, "lt", &[x[0], ten])]
    });
    let body = region(&[float(&[])], |b, x| vec![plain(b, "add", &[x[0], x[0]])]);
    b.node(Op::While(While { cond, body, carried: 1, bound: None }), &[x]).unwrap()[0]
}

/// Rows of a matrix; along each row the state is multiplied, damped by a captured number.
pub fn loop_in_loop(b: &mut Builder, x: &[Value], checkpoint: bool) -> Vec<Value> {
    let along = region(&[float(&[]), float(&[]), float(&[])], |b, x| {
        let product = plain(b, "mul", &[x[0], x[1]]);
        let damped = plain(b, "mul", &[product, x[2]]);
        let next = plain(b, "sin", &[damped]);
        let next = plain(b, "add", &[next, x[1]]);
        vec![next, damped]
    });
    let rows = region(&[float(&[]), float(&[3]), float(&[])], |b, x| {
        let op =
            Scan { body: along, carried: 1, sliced: 1, length: 3, reverse: true, last: false, checkpoint };
        let results = b.node(Op::Scan(op), &[x[0], x[1], x[2]]).unwrap();
        let y = inner(b, results[1], &mut Rng::new(9));
        vec![results[0], y]
    });
    let op =
        Scan { body: rows, carried: 1, sliced: 1, length: 2, reverse: false, last: false, checkpoint: false };
    b.node(Op::Scan(op), &[x[0], x[1], x[2]]).unwrap()
}

/// Branches on the state and on slices.
pub fn branches_in_loop(b: &mut Builder, x: &[Value]) -> Vec<Value> {
    let body = region(&[float(&[]), float(&[]), float(&[]), float(&[])], |b, x| {
        let y = branches(b, &[x[1], x[0], x[2]]);
        let next = plain(b, "mul", &[y, x[3]]);
        vec![next, y]
    });
    let op = Scan { body, carried: 1, sliced: 1, length: 3, reverse: false, last: false, checkpoint: false };
    b.node(Op::Scan(op), &[x[0], x[1], x[2], x[3]]).unwrap()
}
