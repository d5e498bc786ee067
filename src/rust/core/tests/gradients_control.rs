//! Derivatives of branches and of loops along an axis, against central differences, first and second
//! order.

mod common;
#[path = "common/gradients.rs"]
mod gradients;
#[path = "common/loops.rs"]
mod loops;

use anvil_core::autodiff::Tape;
use anvil_core::dtype::DType;
use anvil_core::graph::Value;
use anvil_core::ops::{Builder, If, Op, Region, Scan, While};
use anvil_core::shape::Shape;
use anvil_core::tensor::{Aval, Literal};
use common::Rng;
use gradients::{check, gradient, inner, inputs, run, scalar};
use loops::{
    branches, branches_in_loop, doubled, float, joined, loop_in_loop, loop_shapes, looped, number, plain,
    region, Way,
};

const AROUND: [[f64; 2]; 1] = [[-1.0, 1.0]];

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
    let op = Scan { body, carried: 1, sliced: 0, length: 4, reverse: false, last: false, checkpoint: false };
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
        let program = |b: &mut Builder, x: &[Value]| {
            let results = loop_in_loop(b, x, checkpoint);
            joined(b, &results, &[0, 1])
        };
        check("scan in scan", &program, &[Shape::scalar(), [2, 3].into(), Shape::scalar()], &AROUND, rng);
    }
}

#[test]
fn branches_in_loops_agree_with_differences() {
    let rng = &mut Rng::new(4);
    let program = |b: &mut Builder, x: &[Value]| {
        let results = branches_in_loop(b, x);
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
    let op = Scan { body, carried: 2, sliced: 0, length: 3, reverse: false, last: false, checkpoint: false };
    let y = b.node(Op::Scan(op), &[x[0], one]).unwrap()[0];
    let gradients = gradient(&b.finish(vec![y]), &shapes).unwrap();
    // The factors are 1, 16, 16.
    assert_eq!(run(&gradients, &[vec![3.0]]), [[256.0]]);
}

#[test]
fn loops_with_a_bound_agree_with_differences() {
    let rng = &mut Rng::new(5);
    // A vector is squared and damped by a captured number until its sum is below another one.
    for (bound, domain) in [(0, [0.5, 0.9]), (1, [0.5, 0.9]), (6, [0.5, 0.9]), (6, [0.01, 0.02])] {
        let program = |b: &mut Builder, x: &[Value]| {
            let types = [float(&[2]), Aval::known(DType::I32, Shape::scalar()), float(&[])];
            let cond = region(&types, |b, x| {
                let sum = inner(b, x[0], &mut Rng::new(3));
                vec![plain(b, "gt", &[sum, x[2]])]
            });
            let body = region(&types, |b, x| {
                let square = plain(b, "mul", &[x[0], x[0]]);
                let next = plain(b, "mul", &[square, x[2]]);
                let one = b.literal(Literal::new(1i32), None);
                vec![next, plain(b, "add", &[x[1], one])]
            });
            let limit = number(b, 0.1);
            let zero = b.literal(Literal::new(0i32), None);
            // As one that counts its steps.
            let cond = counting(&cond, bound);
            let op = While { cond, body, carried: 2, bound: Some(bound) };
            b.node(Op::While(op), &[x[0], zero, limit, x[1]]).unwrap()[0]
        };
        check(&format!("while, {bound}"), &program, &[[2].into(), Shape::scalar()], &[domain], rng);
    }
}

/// A condition that does not hold after so many steps, which the second value of the state counts.
fn counting(cond: &Region, bound: usize) -> Region {
    let types: Vec<Aval> = cond.inputs().iter().map(|&v| cond.aval(v).clone()).collect();
    region(&types, |b, x| {
        let holds = b.inline(cond, x).unwrap()[0];
        let bound = b.literal(Literal::new(bound as i32), None);
        let below = plain(b, "lt", &[x[1], bound]);
        vec![plain(b, "and", &[holds, below])]
    })
}
