//! States of loops that are put together of parts along a short axis are carried in parts.

mod common;
#[path = "common/gradients.rs"]
mod gradients;
#[path = "common/loops.rs"]
mod loops;

use anvil_core::dtype::{DType, Ranked};
use anvil_core::exec::Executable;
use anvil_core::graph::Value;
use anvil_core::ops::*;
use anvil_core::shape::Axis;
use common::{disagreement, random_inputs, Rng};
use loops::{float, number, plain, region};
use std::sync::Arc;

/// How a program steps from a state to the next one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// Two evaluations of the derivative, whose parts are computed of parts of the state.
    Heun,
    /// The parts in another order.
    Turned,
    /// As `Heun`, and the state is stacked.
    Stacked,
    /// As `Heun`, and the state is summed along the axis of its parts.
    Summed,
    /// Parts are padded with zeros and added, as gradients of parts are, beside a fold of all parts.
    Padded,
    /// Nothing is taken apart.
    Whole,
}

/// The parts of a value of `k` along an axis.
fn parts(b: &mut Builder, x: Value, axis: usize, k: usize) -> Vec<Value> {
    let shape = b.graph().aval(x).shape.clone();
    let part = |i: usize| {
        let (mut start, mut limit) = (vec![0; shape.rank()], shape.to_vec());
        (start[axis], limit[axis]) = (i, i + 1);
        StaticSlice { start, limit, stride: vec![1; shape.rank()] }
    };
    (0..k).map(|i| b.node1(part(i), &[x]).unwrap()).collect()
}

/// The next state: `rates` are the same for all iterations.
fn step(b: &mut Builder, state: Value, rates: Value, way: Way, axis: usize, k: usize) -> Value {
    if way == Way::Whole {
        let product = plain(b, "mul", &[state, rates]);
        return plain(b, "sin", &[product]);
    }
    if way == Way::Turned {
        let mut all = parts(b, state, axis, k);
        all.rotate_left(1);
        return b.node1(Concatenate { axis: Axis(axis) }, &all).unwrap();
    }
    if way == Way::Padded {
        let (shape, zero) = (b.graph().aval(state).shape.clone(), number(b, 0.0));
        // Numbers of half the width, as a state of another type is converted in each iteration.
        let narrow = b.node1(Convert { to: Ranked::known(DType::F32) }, &[state]).unwrap();
        let wide = b.node1(Convert { to: Ranked::known(DType::F64) }, &[narrow]).unwrap();
        let all = parts(b, wide, axis, k);
        let fold = anvil_core::kernels::reductions::fold::Fold::Sum;
        let squares = plain(b, "mul", &[wide, wide]);
        let sum = b.node1(Reduction { fold, axes: vec![Axis(axis)], drop: true }, &[squares]).unwrap();
        let axes = (0..shape.rank()).filter(|&i| i != axis).map(Axis).collect();
        let sum = b.node1(BroadcastInDim { shape: shape.clone(), axes }, &[sum]).unwrap();
        let mut whole = plain(b, "mul", &[sum, wide]);
        for i in 0..2 {
            let part = plain(b, "mul", &[all[i], all[(i + 1) % k]]);
            let (mut low, mut high) = (vec![0; shape.rank()], vec![0; shape.rank()]);
            (low[axis], high[axis]) = (i as i64, (k - 1 - i) as i64);
            let pad = b.node1(Pad { low, high, interior: vec![0; shape.rank()] }, &[part, zero]).unwrap();
            whole = plain(b, "add", &[whole, pad]);
        }
        let whole = plain(b, "mul", &[whole, rates]);
        return plain(b, "sin", &[whole]);
    }
    let half = number(b, 0.5);
    let derivative = |b: &mut Builder, x: Value| {
        let all = parts(b, x, axis, k);
        let mut made: Vec<Value> = (0..k).map(|i| plain(b, "mul", &[all[i], all[(i + 1) % k]])).collect();
        made[0] = plain(b, "sin", &[made[0]]);
        let whole = b.node1(Concatenate { axis: Axis(axis) }, &made).unwrap();
        plain(b, "mul", &[whole, rates])
    };
    let first = derivative(b, state);
    let first = plain(b, "mul", &[first, half]);
    let middle = plain(b, "add", &[state, first]);
    let second = derivative(b, middle);
    let next = plain(b, "add", &[first, second]);
    plain(b, "sin", &[next])
}

fn program(sizes: &[usize], axis: usize, way: Way, tested: bool) -> Graph {
    let (mut b, k) = (Builder::default(), sizes[axis]);
    let x = [b.input(float(sizes)), b.input(float(sizes))];
    let types = [float(sizes), float(&[]), float(sizes)];
    let body = region(&types, |b, x| {
        let next = step(b, x[0], x[2], way, axis, k);
        let one = number(b, 1.0);
        let count = plain(b, "add", &[x[1], one]);
        let mut outputs = vec![next, count];
        outputs.extend((way == Way::Stacked && !tested).then_some(next));
        if way == Way::Summed {
            let fold = anvil_core::kernels::reductions::fold::Fold::Sum;
            let axes = (0..sizes.len()).map(Axis).collect();
            let sum = b.node1(Reduction { fold, axes, drop: true }, &[next]).unwrap();
            outputs[1] = plain(b, "add", &[count, sum]);
        }
        outputs
    });
    let zero = number(&mut b, 0.0);
    let results = if tested {
        let cond = region(&types[..2], |b, x| {
            let (end, first) = (number(b, 4.0), parts(b, x[0], axis, k)[0]);
            let fold = anvil_core::kernels::reductions::fold::Fold::Max;
            let axes = (0..sizes.len()).map(Axis).collect();
            let most = b.node1(Reduction { fold, axes, drop: true }, &[first]).unwrap();
            let far = number(b, 1e9);
            let near = plain(b, "lt", &[most, far]);
            let more = plain(b, "lt", &[x[1], end]);
            vec![plain(b, "and", &[near, more])]
        });
        let op = While { cond, body, carried: 2, bound: None };
        b.node(op, &[x[0], zero, x[1]]).unwrap()
    } else {
        let op =
            Scan { body, carried: 2, sliced: 0, length: 5, reverse: false, last: false, checkpoint: false };
        b.node(op, &[x[0], zero, x[1]]).unwrap()
    };
    b.finish(results)
}

/// Two states, of which one alone is taken apart: both are carried in parts, as one is added to the other.
#[test]
fn what_is_added_to_parts_is_carried_in_parts_too() {
    let sizes = [2, 500];
    let mut b = Builder::default();
    let x = [b.input(float(&sizes)), b.input(float(&sizes))];
    let body = region(&[float(&sizes), float(&sizes)], |b, x| {
        let all = parts(b, x[0], 0, 2);
        let first = plain(b, "mul", &[all[0], all[1]]);
        let slope = b.node1(Concatenate { axis: Axis(0) }, &[first, all[0]]).unwrap();
        let p = plain(b, "sub", &[x[1], slope]);
        let q = plain(b, "add", &[x[0], p]);
        vec![plain(b, "sin", &[q]), p]
    });
    let op = Scan { body, carried: 2, sliced: 0, length: 5, reverse: false, last: false, checkpoint: false };
    let results = b.node(op, &x).unwrap();
    let graph = b.finish(results);
    let inputs = random_inputs(&mut Rng::new(1), &graph);
    assert_eq!(disagreement(&graph, &inputs, &[], &[0]), None);
    let body = self::body(Executable::compile(&graph, &[]).unwrap().graph());
    assert_eq!(body.inputs().len(), 4, "{body}");
}

/// The body of the loop of a graph.
fn body(graph: &Graph) -> Arc<Graph> {
    let looped = graph.nodes().iter().find_map(|node| match node.op.control() {
        // One on strips has the loop in it.
        Some(Control::Scan(op)) if op.carried == 0 => Some(body(&op.body)),
        Some(Control::Scan(op)) => Some(op.body.clone()),
        Some(Control::While(op)) => Some(op.body.clone()),
        _ => None,
    });
    looped.expect("there is a loop")
}

#[test]
fn states_are_carried_in_parts() {
    for sizes in [&[2, 90][..], &[90, 3], &[5, 3, 40], &[2, 2_000], &[16, 5], &[17, 5], &[2, 20]] {
        for (way, tested) in [
            (Way::Heun, false),
            (Way::Heun, true),
            (Way::Turned, false),
            (Way::Stacked, false),
            (Way::Summed, false),
            (Way::Summed, true),
            (Way::Padded, false),
            (Way::Padded, true),
            (Way::Whole, false),
        ] {
            let axis = if sizes.len() == 3 || sizes[1] == 3 { 1 } else { 0 };
            let graph = program(sizes, axis, way, tested);
            let inputs = random_inputs(&mut Rng::new(sizes[0] as u64), &graph);
            let what = format!("{sizes:?} {way:?} {tested}");
            assert_eq!(disagreement(&graph, &inputs, &[], &[0]), None, "{what}");
            let made = Executable::compile(&graph, &[]).unwrap();
            let (body, k) = (body(made.graph()), sizes[axis]);
            let long = sizes.iter().product::<usize>() > 64;
            let is_part = |v: &&Value| {
                let shape = &body.aval(**v).shape;
                shape.rank() == sizes.len() && shape[axis] == 1
            };
            let carried = body.inputs().iter().filter(is_part).count();
            let joins = body.nodes().iter().filter(|node| node.op.get::<Concatenate>().is_some()).count();
            // What is turned is put together once, as what is stacked or summed is: two derivatives are put together else.
            let in_parts = long && k <= 16 && way != Way::Whole;
            assert_eq!(carried >= k, in_parts, "{what} {body}");
            let wanted = usize::from(matches!(way, Way::Stacked | Way::Summed));
            assert!(!in_parts || joins == wanted, "{what} {body}");
        }
    }
}
