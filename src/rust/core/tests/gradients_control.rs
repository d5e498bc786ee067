//! Derivatives of branches and of loops along an axis, against central differences, first and second
//! order.

mod common;
#[path = "common/gradients.rs"]
mod gradients;

use anvil_core::autodiff::Tape;
use anvil_core::dtype::DType;
use anvil_core::graph::Value;
use anvil_core::ops::attrs::{Attr, Attrs};
use anvil_core::ops::{Builder, If, Op, Region, Scan, While};
use anvil_core::shape::Shape;
use anvil_core::tensor::{Aval, Literal};
use common::Rng;
use gradients::{check, gradient, inner, inputs, op, run, scalar};
use std::slice;
use std::sync::Arc;

const AROUND: [[f64; 2]; 1] = [[-1.0, 1.0]];

fn plain(b: &mut Builder, name: &str, operands: &[Value]) -> Value {
    op(b, name, operands, &Attrs::new())
}

fn number(b: &mut Builder, x: f64) -> Value {
    b.literal(Literal::new(x), None)
}

fn float(shape: &[usize]) -> Aval {
    Aval::known(DType::F64, Shape::try_new(shape.to_vec()).unwrap())
}

/// A graph of its own with inputs of these types.
fn region(types: &[Aval], f: impl FnOnce(&mut Builder, &[Value]) -> Vec<Value>) -> Region {
    let mut b = Builder::default();
    let x: Vec<Value> = types.iter().map(|aval| b.input(aval.clone())).collect();
    let outputs = f(&mut b, &x);
    Arc::new(b.finish(outputs))
}

fn to_float(b: &mut Builder, x: Value) -> Value {
    op(
        b,
        "convert",
        &[x],
        &Attrs::new().with("dtype", Attr::Text("f64".into())).with("ambiguous", Attr::Logical(false)),
    )
}

/// `x > 0 ? sin(x y) : x exp(y) z`, in branches that use different values, one of them another one inside.
fn branches(b: &mut Builder, x: &[Value]) -> Value {
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

#[test]
fn branches_agree_with_differences() {
    let rng = &mut Rng::new(1);
    let shapes = [Shape::scalar(), Shape::scalar(), Shape::scalar()];
    for domains in [
        [[0.2, 0.4], [0.6, 0.9], [0.5, 1.0]],
        [[0.6, 0.9], [0.2, 0.4], [0.5, 1.0]],
        [[-0.9, -0.2], [0.2, 0.4], [0.5, 1.0]],
    ] {
        check("if", &branches, &shapes, &domains, rng);
    }
}

#[test]
fn a_branch_that_is_not_taken_is_not_run_backwards_either() {
    // sqrt(x) at 0 in the branch not taken: its gradient is infinite.
    let mut b = Builder::default();
    let x = inputs(&mut b, &[Shape::scalar()]);
    let zero = number(&mut b, 0.0);
    let pred = plain(&mut b, "gt", &[x[0], zero]);
    let root = region(&[float(&[])], |b, x| vec![plain(b, "sqrt", x)]);
    let same = region(&[float(&[])], |_, x| vec![x[0]]);
    let y = b.node(Op::If(If { branches: [root, same] }), &[pred, x[0], x[0]]).unwrap();
    let gradients = gradient(&b.finish(y), &[Shape::scalar()]).unwrap();
    assert_eq!(run(&gradients, &[vec![0.0]]), [[1.0]]);
    assert_eq!(run(&gradients, &[vec![4.0]]), [[0.25]]);
}

/// The variants of a loop.
#[derive(Clone, Copy)]
struct Way {
    length: usize,
    reverse: bool,
    checkpoint: bool,
}

/// A loop whose state is (vector, counter, number), which goes along a vector and a matrix of integers, uses
/// a captured matrix, and stacks a float and an integer. Inputs: state vector, state number, `xs`, captured.
fn looped(b: &mut Builder, x: &[Value], way: Way) -> Vec<Value> {
    let integer = Aval::known(DType::I32, Shape::scalar());
    let types = [float(&[2]), integer.clone(), float(&[]), float(&[2]), integer, float(&[2, 2])];
    let body = region(&types, |b, x| {
        let [h, count, s, slice, k, w] = x else { unreachable!() };
        let product = plain(b, "mul", &[*w, *w]);
        let in_shape = |b: &mut Builder, x: Value, shape: &[usize]| {
            let attrs = Attrs::new()
                .with("shape", gradients::numbers(shape))
                .with("order", Attr::Text("column".into()));
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
    let ks = gradients::integers(b, &whole, &[way.length]);
    let op = Scan {
        body,
        carried: 3,
        sliced: 2,
        length: way.length,
        reverse: way.reverse,
        checkpoint: way.checkpoint,
    };
    b.node(Op::Scan(op), &[x[0], zero, x[1], x[2], ks, x[3]]).unwrap()
}

fn loop_shapes(length: usize) -> [Shape; 4] {
    [[2].into(), Shape::scalar(), [length, 2].into(), [2, 2].into()]
}

/// One number of the results with these numbers.
fn joined(b: &mut Builder, results: &[Value], which: &[usize]) -> Value {
    let parts: Vec<Value> =
        which.iter().map(|&i| inner(b, results[i], &mut Rng::new(i as u64 + 5))).collect();
    parts.into_iter().reduce(|x, y| plain(b, "add", &[x, y])).unwrap()
}

#[test]
fn loops_agree_with_differences() {
    let rng = &mut Rng::new(2);
    for length in [0, 1, 4] {
        for (reverse, checkpoint) in [(false, false), (true, false), (false, true), (true, true)] {
            let way = Way { length, reverse, checkpoint };
            // All of the results that are floats; the state alone; what is stacked alone.
            for which in [&[0, 2, 3][..], &[0], &[2], &[3]] {
                let program = |b: &mut Builder, x: &[Value]| {
                    let results = looped(b, x, way);
                    joined(b, &results, which)
                };
                check("scan", &program, &loop_shapes(length), &AROUND, rng);
            }
        }
    }
}

#[test]
fn what_is_computed_again_is_bit_for_bit_what_was_stored() {
    let shapes = loop_shapes(5);
    let x: Vec<Vec<f64>> =
        shapes.iter().map(|s| (0..s.size()).map(|i| 0.3 + i as f64 / 7.0).collect()).collect();
    let graphs = [false, true].map(|checkpoint| {
        let way = Way { length: 5, reverse: false, checkpoint };
        let program = |b: &mut Builder, x: &[Value]| {
            let results = looped(b, x, way);
            joined(b, &results, &[0, 2, 3])
        };
        gradient(&scalar(&program, &shapes, 1), &shapes).unwrap()
    });
    assert_eq!(run(&graphs[0], &x), run(&graphs[1], &x));
    // The loop that goes forward stores more than its state only without checkpoints.
    let stored = graphs.map(|graph| {
        let first = graph.nodes().iter().find(|node| matches!(node.op, Op::Scan(_))).unwrap();
        first.results.len()
    });
    // Of its results, five are the body's own; the state has three values.
    assert_eq!(stored[1], 5 + 3);
    assert!(stored[0] > stored[1], "{stored:?}");
}

#[test]
fn loops_store_only_what_their_derivative_reads() {
    // Of s <- w s^2 that is the state: neither the power, nor w in the shape of the state, nor the exponent.
    let shapes: [Shape; 2] = [[3].into(), Shape::scalar()];
    let mut b = Builder::default();
    let x = inputs(&mut b, &shapes);
    let body = region(&[float(&[3]), float(&[])], |b, x| {
        let two = number(b, 2.0);
        let square = plain(b, "pow", &[x[0], two]);
        vec![plain(b, "mul", &[x[1], square])]
    });
    let op = Scan { body, carried: 1, sliced: 0, length: 4, reverse: false, checkpoint: false };
    let y = b.node(Op::Scan(op), &x).unwrap()[0];
    let s = inner(&mut b, y, &mut Rng::new(1));
    let by_state = {
        let graph = b.finish(vec![s]);
        let mut b = Builder::default();
        let x = inputs(&mut b, &shapes);
        let tape = Tape::record(&mut b, &graph, &x, &[0]).unwrap();
        let one = number(&mut b, 1.0);
        let gradients = tape.pull(&mut b, &[Some(one)], &[0]).unwrap();
        b.finish(gradients)
    };
    let loops: Vec<usize> = by_state
        .nodes()
        .iter()
        .filter(|node| matches!(node.op, Op::Scan(_)))
        .map(|node| node.results.len())
        .collect();
    // Forwards the state and its history; backwards the gradient of the state alone.
    assert_eq!(loops, [2, 1]);
}

#[test]
fn loops_in_loops_agree_with_differences() {
    let rng = &mut Rng::new(3);
    for checkpoint in [false, true] {
        // Rows of a matrix; along each row the state is multiplied, damped by a captured number.
        let program = |b: &mut Builder, x: &[Value]| {
            let along = region(&[float(&[]), float(&[]), float(&[])], |b, x| {
                let product = plain(b, "mul", &[x[0], x[1]]);
                let damped = plain(b, "mul", &[product, x[2]]);
                let next = plain(b, "sin", &[damped]);
                let next = plain(b, "add", &[next, x[1]]);
                vec![next, damped]
            });
            let rows = region(&[float(&[]), float(&[3]), float(&[])], |b, x| {
                let op = Scan { body: along, carried: 1, sliced: 1, length: 3, reverse: true, checkpoint };
                let results = b.node(Op::Scan(op), &[x[0], x[1], x[2]]).unwrap();
                let y = inner(b, results[1], &mut Rng::new(9));
                vec![results[0], y]
            });
            let op = Scan { body: rows, carried: 1, sliced: 1, length: 2, reverse: false, checkpoint: false };
            let results = b.node(Op::Scan(op), &[x[0], x[1], x[2]]).unwrap();
            joined(b, &results, &[0, 1])
        };
        check("scan in scan", &program, &[Shape::scalar(), [2, 3].into(), Shape::scalar()], &AROUND, rng);
    }
}

#[test]
fn branches_in_loops_agree_with_differences() {
    let rng = &mut Rng::new(4);
    let program = |b: &mut Builder, x: &[Value]| {
        let body = region(&[float(&[]), float(&[]), float(&[]), float(&[])], |b, x| {
            let y = branches(b, &[x[1], x[0], x[2]]);
            let next = plain(b, "mul", &[y, x[3]]);
            vec![next, y]
        });
        let op = Scan { body, carried: 1, sliced: 1, length: 3, reverse: false, checkpoint: false };
        let results = b.node(Op::Scan(op), &[x[0], x[1], x[2], x[3]]).unwrap();
        joined(b, &results, &[0, 1])
    };
    // Away from the places where a condition changes: the slices are positive, and larger than the state.
    let domains = [[0.05, 0.1], [0.6, 0.9], [0.1, 0.2], [0.05, 0.1]];
    check(
        "if in scan",
        &program,
        &[Shape::scalar(), [3].into(), Shape::scalar(), Shape::scalar()],
        &domains,
        rng,
    );
}

/// `x` doubled as long as it is below 10.
fn doubled(b: &mut Builder, x: Value) -> Value {
    let cond = region(&[float(&[])], |b, x| {
        let ten = number(b, 10.0);
        vec![plain(b, "lt", &[x[0], ten])]
    });
    let body = region(&[float(&[])], |b, x| vec![plain(b, "add", &[x[0], x[0]])]);
    b.node(Op::While(While { cond, body, carried: 1 }), &[x]).unwrap()[0]
}

#[test]
fn loops_with_a_condition_say_what_to_use_instead() {
    let shapes = [Shape::scalar()];
    let error = gradient(&scalar(&|b, x| doubled(b, x[0]), &shapes, 1), &shapes).unwrap_err().to_string();
    assert!(error.contains("nv_while") && error.contains("nv_for") && error.contains("nv_scan"), "{error}");
    // They are no obstacle where nothing is derived through them: behind what has no gradient, or beside the
    // result.
    for stopped in ["stop_gradient", "floor"] {
        let program = |b: &mut Builder, x: &[Value]| {
            let still = plain(b, stopped, &[x[0]]);
            let factor = doubled(b, still);
            plain(b, "mul", &[factor, x[0]])
        };
        let mut b = Builder::default();
        let x = inputs(&mut b, &shapes);
        let y = program(&mut b, &x);
        let gradients = gradient(&b.finish(vec![y]), &shapes).unwrap();
        assert_eq!(run(&gradients, &[vec![3.0]]), [[12.0]], "{stopped}");
    }
}

#[test]
fn a_state_that_does_not_depend_on_the_inputs_is_not_derived() {
    // The second value of the state goes through a loop with a condition, and begins at a number of its own.
    let shapes = [Shape::scalar()];
    let mut b = Builder::default();
    let x = inputs(&mut b, &shapes);
    let body = region(&[float(&[]), float(&[])], |b, x| {
        let next = plain(b, "mul", &[x[0], x[1]]);
        let grown = doubled(b, x[1]);
        vec![next, grown]
    });
    let one = number(&mut b, 1.0);
    let op = Scan { body, carried: 2, sliced: 0, length: 3, reverse: false, checkpoint: false };
    let y = b.node(Op::Scan(op), &[x[0], one]).unwrap()[0];
    let gradients = gradient(&b.finish(vec![y]), &shapes).unwrap();
    // The factors are 1, 16, 16.
    assert_eq!(run(&gradients, &[vec![3.0]]), [[256.0]]);
}
