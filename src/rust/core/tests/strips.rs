//! Loops on strips give what loops on all elements give, to the bit.

mod common;
#[path = "common/gradients.rs"]
mod gradients;
#[path = "common/loops.rs"]
mod loops;

use anvil_core::dtype::{DType, Ranked};
use anvil_core::exec::{reference::evaluate, Executable};
use anvil_core::graph::Value;
use anvil_core::kernels::reductions::cumulative::Cumulation;
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::ops::layout::Order;
use anvil_core::ops::*;
use anvil_core::passes::{optimise, strips, Cuts};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::Literal;
use common::{disagreement, first_difference, random_inputs, Rng};
use loops::{float, plain, region, to_float};

/// Cuts by which each loop that can be cut is cut into as many strips as it can.
const ALL: Cuts = Cuts { worth: 0, iteration: 0, cache: 0, whole: 64, always: true };

fn shape(sizes: &[usize]) -> Shape {
    Shape::try_new(sizes.to_vec()).unwrap()
}

/// Sizes with one more, at this axis.
fn with(sizes: &[usize], axis: usize, size: usize) -> Vec<usize> {
    let mut sizes = sizes.to_vec();
    sizes.insert(axis, size);
    sizes
}

/// A loop of a state of `n` elements beside `k` others, which are the first axis if `first`. It has all that a strip
/// can be read from and written to: a state that is whole, slices, values along the strip that are captured, also in
/// another order, rows of them that are read at computed places, others that are whole, positions along the strip.
fn looped(n: usize, k: usize, length: usize, first: bool, reverse: bool) -> Graph {
    let at = usize::from(!first);
    let sizes = with(&[k], at, n);
    let types = [
        float(&sizes),
        float(&[]),
        float(&[n]),
        float(&sizes),
        float(&[n, length]),
        float(&[k]),
        float(&with(&[2, k], if first { 0 } else { 2 }, n)),
    ];
    let body = region(&types, |b, x| {
        let [state, count, slice, other, rows, whole, pairs] = *x else { unreachable!() };
        let repeat = |b: &mut Builder, v: Value, axes: &[usize]| {
            let axes = axes.iter().map(|&i| Axis(i)).collect();
            b.node1(BroadcastInDim { shape: shape(&sizes), axes }, &[v]).unwrap()
        };
        let reduce = |b: &mut Builder, v: Value, fold: Fold, axis: usize| {
            b.node1(Reduction { fold, axes: vec![Axis(axis)], drop: true }, &[v]).unwrap()
        };
        // A row at a computed place.
        let position =
            b.node1(Convert { to: Ranked { dtype: DType::I64, ambiguous: false } }, &[count]).unwrap();
        let zero = b.literal(Literal::new(0i64), None);
        let op = DynamicSlice { sizes: vec![n, 1], check: Check::Silent };
        let row = b.node1(op, &[rows, zero, position]).unwrap();
        let row = b.node1(Reshape { shape: shape(&[n]), order: Order::Column }, &[row]).unwrap();
        // Positions along the strip.
        let to = Ranked { dtype: DType::I64, ambiguous: false };
        let places = b.node1(Iota { axis: Axis(0), to, shape: shape(&[n]), start: 1 }, &[]).unwrap();
        let places = to_float(b, places);
        let scaled = plain(b, "mul", &[row, places]);
        let row = repeat(b, scaled, &[at]);
        let slice = repeat(b, slice, &[at]);
        let whole = repeat(b, whole, &[at ^ 1]);
        // Sums over pairs, and of products of these.
        let pair = reduce(b, pairs, Fold::Sum, usize::from(first));
        let contracting = [Axis(1 + usize::from(first)), Axis(at ^ 1)];
        let dot = DotGeneral {
            contracting: contracting.map(|axis| vec![axis]),
            batching: [Axis(if first { 0 } else { 2 }), Axis(at)].map(|axis| vec![axis]),
            batch_last: !first,
        };
        let product = b.node1(dot, &[pairs, state]).unwrap();
        let product = reduce(b, product, Fold::Max, usize::from(first));
        let product = repeat(b, product, &[at]);
        let mut next = plain(b, "mul", &[state, whole]);
        for v in [slice, row, other, pair, product] {
            next = plain(b, "add", &[next, v]);
        }
        let next = plain(b, "sin", &[next]);
        let one = b.literal(Literal::new(1.0), None);
        let count = plain(b, "add", &[count, one]);
        let sum = reduce(b, next, Fold::Sum, at ^ 1);
        let order: Vec<Axis> = [1, 0].map(Axis).to_vec();
        let turned = b.node1(Transpose { permutation: order }, &[next]).unwrap();
        vec![next, count, sum, turned, count]
    });
    let op = Scan { body, carried: 2, sliced: 1, length, reverse, last: false, checkpoint: false };
    let mut b = Builder::default();
    let mut outer = types.clone();
    outer[2] = float(&[length, n]);
    let x: Vec<Value> = outer.into_iter().map(|aval| b.input(aval)).collect();
    let results = b.node(op, &x).unwrap();
    b.finish(results)
}

/// The loops on strips, and their numbers of strips.
fn counts(graph: &Graph) -> Vec<usize> {
    let loops = graph.nodes().iter().filter_map(|node| node.op.get::<Scan>());
    loops.filter(|op| op.carried == 0 && op.last).map(|op| op.length).collect()
}

/// Checks that a graph has a loop that is cut into several strips, and that it gives what it gave.
fn check(graph: &Graph, seed: usize, what: &str) {
    let graph = optimise(graph).unwrap();
    let made = strips(&graph, ALL).unwrap().unwrap_or_else(|| panic!("{what}: no strips\n{graph}"));
    assert!(counts(&made).iter().any(|&count| count > 1), "{what}\n{made}");
    let inputs = random_inputs(&mut Rng::new(seed as u64), &graph);
    let bytes: Vec<&[u8]> = inputs.iter().map(|x| x.as_slice()).collect();
    let want = evaluate(&graph, &bytes, &[]).unwrap();
    for (got, want) in evaluate(&made, &bytes, &[]).unwrap().iter().zip(&want) {
        let difference = first_difference(DType::F64, got.as_slice(), want.as_slice());
        assert_eq!(difference, None, "{what}\n{made}");
    }
    assert_eq!(disagreement(&made, &inputs, &[], &[0]), None, "{what}\n{made}");
}

#[test]
fn loops_on_strips_give_what_loops_on_all_elements_give() {
    for (n, k) in [(2, 3), (7, 1), (16, 2), (48, 2), (97, 3), (200, 1)] {
        for (first, reverse) in [(false, false), (true, false), (false, true), (true, true)] {
            let graph = looped(n, k, 5, first, reverse);
            check(&graph, n, &format!("{n} {k} {first} {reverse}"));
        }
    }
}

#[test]
fn transposes_around_loops_on_strips_stay_outside() {
    // Slices along the last axis of an input, and results that are read so, as in batches: only strips are moved.
    for (n, k) in [(48, 2), (97, 3)] {
        let looped = looped(n, k, 5, true, false);
        let mut b = Builder::default();
        let mut x: Vec<Value> = vec![];
        for (i, &v) in looped.inputs().iter().enumerate() {
            let aval = looped.aval(v).clone();
            let back = |b: &mut Builder| {
                let sizes = aval.shape.iter().rev().copied().collect::<Vec<_>>();
                let input = b.input(float(&sizes));
                let permutation = (0..sizes.len()).rev().map(Axis).collect();
                b.node1(Transpose { permutation }, &[input]).unwrap()
            };
            x.push(if i % 2 == 0 { back(&mut b) } else { b.input(aval) });
        }
        let results = b.inline(&looped, &x).unwrap();
        let turned = results.into_iter().map(|v| {
            let rank = b.graph().aval(v).shape.rank();
            b.node1(Transpose { permutation: (0..rank).rev().map(Axis).collect() }, &[v]).unwrap()
        });
        let turned = turned.collect();
        check(&b.finish(turned), n, &format!("{n} {k}"));
    }
}

#[test]
fn long_loops_are_cut_and_shared() {
    // Sizes with divisors, and without; strips along the last axis and along another.
    let all: [&[usize]; 4] = [&[6_000], &[6_007], &[3, 3_000], &[3_001, 2]];
    // States that are given, and those that an op without operands makes.
    for (sizes, is_given) in all.into_iter().flat_map(|sizes| [(sizes, true), (sizes, false)]) {
        let body = region(&[float(sizes)], |b, x| {
            let sine = plain(b, "sin", x);
            vec![plain(b, "mul", &[sine, x[0]])]
        });
        let op =
            Scan { body, carried: 1, sliced: 0, length: 20, reverse: false, last: false, checkpoint: false };
        let mut b = Builder::default();
        let counted = Iota { axis: Axis(0), to: Ranked::known(DType::F64), shape: shape(sizes), start: 1 };
        let x = if is_given { b.input(float(sizes)) } else { b.node1(counted, &[]).unwrap() };
        let results = b.node(op, &[x]).unwrap();
        let graph = b.finish(results);
        let program = Executable::compile(&graph, &[]).unwrap();
        assert!(counts(program.graph()).iter().any(|&count| count > 1), "{sizes:?} {}", program.graph());
        assert!(program.lines().iter().any(|line| line.kind == "scan" && line.pieces > 1), "{sizes:?}");
        let inputs = random_inputs(&mut Rng::new(sizes[0] as u64), &graph);
        assert_eq!(disagreement(&graph, &inputs, &[], &[]), None, "{sizes:?}");
    }
}

/// A loop of a state of 100 elements, by a function of its body.
fn of_state(f: impl FnOnce(&mut Builder, Value) -> Value) -> Graph {
    let body = region(&[float(&[100])], |b, x| vec![f(b, x[0])]);
    let op = Scan { body, carried: 1, sliced: 0, length: 9, reverse: false, last: false, checkpoint: false };
    let mut b = Builder::default();
    let x = b.input(float(&[100]));
    let results = b.node(op, &[x]).unwrap();
    b.finish(results)
}

#[test]
fn loops_whose_elements_meet_are_not_cut() {
    let is_cut = |graph: &Graph| strips(&optimise(graph).unwrap(), ALL).unwrap().is_some();
    assert!(is_cut(&of_state(|b, x| plain(b, "sin", &[x]))));
    let sum = |b: &mut Builder, x: Value| {
        let sum = b.node1(Reduction { fold: Fold::Sum, axes: vec![Axis(0)], drop: true }, &[x]).unwrap();
        b.node1(BroadcastInDim { shape: shape(&[100]), axes: vec![] }, &[sum]).unwrap()
    };
    assert!(!is_cut(&of_state(sum)));
    let reversed = |b: &mut Builder, x: Value| b.node1(Reverse { axes: vec![Axis(0)] }, &[x]).unwrap();
    assert!(!is_cut(&of_state(reversed)));
    let cumulated = |b: &mut Builder, x: Value| {
        let op = Cumulative { by: Cumulation::Sum, axis: Axis(0), reverse: false };
        b.node1(op, &[x]).unwrap()
    };
    assert!(!is_cut(&of_state(cumulated)));
    let shifted = |b: &mut Builder, x: Value| {
        let end = b.node1(StaticSlice::along(&shape(&[100]), Axis(0), 1..100), &[x]).unwrap();
        let start = b.node1(StaticSlice::along(&shape(&[100]), Axis(0), 0..1), &[x]).unwrap();
        b.node1(Concatenate { axis: Axis(0) }, &[end, start]).unwrap()
    };
    assert!(!is_cut(&of_state(shifted)));
    let in_rows = |b: &mut Builder, x: Value| {
        let matrix = b.node1(Reshape { shape: shape(&[10, 10]), order: Order::Row }, &[x]).unwrap();
        b.node1(Reshape { shape: shape(&[100]), order: Order::Column }, &[matrix]).unwrap()
    };
    assert!(!is_cut(&of_state(in_rows)));
}

/// A loop of a vector of `n` elements around one over `m` slices of what is captured, whose own state is the vector and
/// one beside it, and what it stacks; along the last axis if `last`.
fn nested(n: usize, m: usize, last: bool) -> Graph {
    let stacked = if last { [n, m] } else { [m, n] };
    let inner = region(&[float(&[n]), float(&[]), float(&[n]), float(&[n])], |b, x| {
        let [state, count, slice, other] = *x else { unreachable!() };
        let product = plain(b, "mul", &[state, slice]);
        let repeated = b.node1(BroadcastInDim { shape: shape(&[n]), axes: vec![] }, &[count]).unwrap();
        let sum = plain(b, "add", &[product, repeated]);
        let sum = plain(b, "sub", &[sum, other]);
        let half = b.literal(Literal::new(0.5), None);
        let count = plain(b, "mul", &[count, half]);
        let y = plain(b, "cos", &[sum]);
        vec![y, count, sum]
    });
    let types = [float(&[n]), float(&stacked), float(&[n])];
    let body = region(&types, |b, x| {
        let [state, along, other] = *x else { unreachable!() };
        let one = b.literal(Literal::new(1.0), None);
        let op =
            Scan { body: inner, carried: 2, sliced: 1, length: m, reverse: true, last, checkpoint: false };
        let made = b.node(op, &[state, one, along, other]).unwrap();
        let axis = Axis(usize::from(last));
        let most = Reduction { fold: Fold::Max, axes: vec![axis], drop: true };
        let most = b.node1(most, &[made[2]]).unwrap();
        let next = plain(b, "add", &[made[0], most]);
        vec![plain(b, "sin", &[next]), made[2]]
    });
    let op = Scan { body, carried: 1, sliced: 0, length: 4, reverse: false, last: false, checkpoint: false };
    let mut b = Builder::default();
    let x: Vec<Value> = types.iter().map(|aval| b.input(aval.clone())).collect();
    let results = b.node(op, &x).unwrap();
    b.finish(results)
}

#[test]
fn loops_in_loops_are_cut_with_them() {
    for (n, m) in [(48, 3), (97, 5)] {
        for last in [false, true] {
            check(&nested(n, m, last), n, &format!("{n} {m} {last}"));
        }
    }
    // Slices that are along the axis of the strips are not cut.
    let inner = region(&[float(&[]), float(&[])], |b, x| {
        let sum = plain(b, "add", x);
        vec![sum, sum]
    });
    let over = |b: &mut Builder, x: Value| {
        let zero = b.literal(Literal::new(0.0), None);
        let op = Scan {
            body: inner,
            carried: 1,
            sliced: 1,
            length: 100,
            reverse: false,
            last: false,
            checkpoint: false,
        };
        b.node(op, &[zero, x]).unwrap()[1]
    };
    assert!(strips(&optimise(&of_state(over)).unwrap(), ALL).unwrap().is_none());
}

/// What is hoisted out of a loop becomes an input of its body, after nodes that are there, such as what counts.
#[test]
fn inputs_of_a_body_come_after_what_counts() {
    let graph = Graph::parse(
        "<AnvilGraph>
  Inputs:
    %x1: f64[50]
    %x2: f64[]
  Body:
    %3: i32[5] = iota [axis = 1, dtype = i32, shape = 5, start = 1, ambiguous = FALSE] ()
    %4: f64[50] = scan [length = 5, reverse = FALSE, checkpoint = FALSE] (%x1, %3, %x2, %x1)
      body(%x1: f64[50], %x2: i32[], %x3: f64[], %x4: f64[50]):
        %1: i32[3] = iota [axis = 1, dtype = i32, shape = 3, start = 1, ambiguous = FALSE] ()
        %2: f64[50] = scan [length = 3, reverse = FALSE, checkpoint = FALSE] (%x1, %1, %x3, %x2, %x4)
          body(%x1: f64[50], %x2: i32[], %x3: f64[], %x4: i32[], %x5: f64[50]):
            %1: f64[] = add(1:f64, %x3)
            %2: f64[50] = broadcast_in_dim [shape = 50, broadcast_axes = c()] (%1)
            %3: f64[50] = mul(%2, %x1)
            %4: i32[] = sub(%x4, %x2)
            %5: f64[] = convert [dtype = f64, ambiguous = FALSE] (%4)
            %6: f64[50] = broadcast_in_dim [shape = 50, broadcast_axes = c()] (%5)
            %7: f64[50] = add(%x5, %6)
            %8: f64[50] = sub(%3, %7)
            gives (%8)
        gives (%2)
  Outputs:
    %4: f64[50]
",
    );
    check(&graph.unwrap(), 50, "a hoisted number");
}
