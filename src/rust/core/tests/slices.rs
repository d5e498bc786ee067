//! Loops with long slices slice along the last axis, and give what loops along the first axis give.

mod common;
#[path = "common/gradients.rs"]
mod gradients;
#[path = "common/loops.rs"]
mod loops;

use anvil_core::dtype::DType;
use anvil_core::exec::{reference::evaluate, Executable};
use anvil_core::graph::{Operation, Value};
use anvil_core::hlo::legalize;
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::ops::layout::Order;
use anvil_core::ops::*;
use anvil_core::passes::{optimise, rows, slices};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::{Aval, Literal};
use common::{disagreement, random_inputs, Rng};
use gradients::gradient;
use loops::{float, number, plain, region};

/// A loop along `xs` whose state is `[.., sizes]` and a number, which stacks the state before, one that is
/// transposed if `turned`, and the number.
fn looped(
    b: &mut Builder,
    x: &[Value],
    sizes: &[usize],
    [length, reverse, turned]: [usize; 3],
) -> Vec<Value> {
    let slice = float(sizes);
    let back: Vec<Axis> = (0..sizes.len()).rev().map(Axis).collect();
    let body = region(&[slice.clone(), float(&[]), slice.clone(), slice], |b, x| {
        let [state, total, xs, captured] = *x else { unreachable!() };
        let product = plain(b, "mul", &[state, captured]);
        let sum = plain(b, "add", &[product, xs]);
        let next = plain(b, "sin", &[sum]);
        let half = number(b, 0.5);
        let total = plain(b, "mul", &[total, half]);
        let mut y = plain(b, "mul", &[next, state]);
        if turned == 1 {
            y = b.node1(Transpose { permutation: back.clone() }, &[y]).unwrap();
        }
        vec![next, total, y, total, state]
    });
    let op =
        Scan { body, carried: 2, sliced: 1, length, reverse: reverse == 1, last: false, checkpoint: false };
    b.node(op, x).unwrap()
}

/// The shapes that [`looped`] takes.
fn shapes(sizes: &[usize], length: usize) -> Vec<Shape> {
    let along = [&[length], sizes].concat();
    [sizes, &[], &along, sizes].map(|x| Shape::try_new(x.to_vec()).unwrap()).to_vec()
}

fn program(sizes: &[usize], way: [usize; 3]) -> Graph {
    let mut b = Builder::default();
    let x: Vec<Value> = shapes(sizes, way[0]).iter().map(|shape| b.input(float(shape))).collect();
    let results = looped(&mut b, &x, sizes, way);
    b.finish(results)
}

/// The sum of squares of all results.
fn total(graph: &Graph) -> Graph {
    let mut b = Builder::default();
    let x: Vec<Value> = graph.inputs().iter().map(|&v| b.input(graph.aval(v).clone())).collect();
    let results = b.inline(graph, &x).unwrap();
    let parts = results.into_iter().map(|v| {
        let square = plain(&mut b, "mul", &[v, v]);
        let rank = b.graph().aval(square).shape.rank();
        b.node1(Reduction { fold: Fold::Sum, axes: (0..rank).map(Axis).collect(), drop: true }, &[square])
            .unwrap()
    });
    let parts: Vec<Value> = parts.collect();
    let sum = parts.into_iter().reduce(|x, y| plain(&mut b, "add", &[x, y])).unwrap();
    b.finish(vec![sum])
}

/// Transposes outside of loops.
fn transposes(graph: &Graph) -> usize {
    graph.nodes().iter().filter(|node| node.op.get::<Transpose>().is_some()).count()
}

#[test]
fn loops_along_the_last_axis_give_what_loops_along_the_first_give() {
    // Short slices, long ones, some that are read and written where they lie, and some without elements.
    for sizes in [&[3][..], &[65], &[9, 8], &[2, 5, 7], &[3_000, 3], &[0, 80]] {
        for way in [[1, 0, 0], [2, 0, 1], [5, 1, 0], [5, 0, 1]] {
            let graph = program(sizes, way);
            let inputs = random_inputs(&mut Rng::new(way[0] as u64), &graph);
            assert_eq!(disagreement(&graph, &inputs, &[], &[0]), None, "{sizes:?} {way:?}");
            let Some(made) = slices(&graph).unwrap() else {
                assert!(way[0] == 1 || sizes.iter().product::<usize>() <= 64, "{sizes:?} {way:?} stay");
                continue;
            };
            made.verify().unwrap();
            let inputs: Vec<&[u8]> = inputs.iter().map(|x| x.as_slice()).collect();
            let want = evaluate(&graph, &inputs, &[]).unwrap();
            assert!(evaluate(&made, &inputs, &[]).unwrap() == want, "{sizes:?} {way:?}\n{made}");
            if sizes.iter().product::<usize>() < 100 {
                let legal = legalize(&made).unwrap();
                assert!(evaluate(&legal, &inputs, &[]).unwrap() == want, "{sizes:?} {way:?}\n{legal}");
            }
        }
    }
}

#[test]
fn short_slices_stay_in_their_places_when_long_ones_beside_them_are_not_read() {
    // A long state that is stacked, and long slices: the loop slices along the last axis, and then nothing reads them.
    let (short, long) = (float(&[2]), float(&[90]));
    let types = [short.clone(), long.clone(), short, long.clone(), long];
    let body = region(&types, |b, x| {
        let sum = plain(b, "add", &[x[0], x[2]]);
        let next = plain(b, "sin", &[sum]);
        let other = plain(b, "mul", &[x[1], x[3]]);
        vec![next, other, x[0], x[1], next]
    });
    for reverse in [false, true] {
        let mut b = Builder::default();
        let x: Vec<Value> = [&[2][..], &[90], &[7, 2], &[7, 90], &[90]].map(|s| b.input(float(s))).to_vec();
        let op = Scan {
            body: body.clone(),
            carried: 2,
            sliced: 2,
            length: 7,
            reverse,
            last: false,
            checkpoint: false,
        };
        let results = b.node(op, &x).unwrap();
        let graph = b.finish(vec![results[0], results[2], results[4]]);
        let inputs = random_inputs(&mut Rng::new(5), &graph);
        assert_eq!(disagreement(&graph, &inputs, &[], &[]), None);
        // As the pass of a loop that is not simplified before leaves it.
        let made = slices(&graph).unwrap().expect("there are long slices");
        assert_eq!(disagreement(&made, &inputs, &[], &[]), None, "{made}");
    }
}

#[test]
fn what_a_loop_keeps_for_its_derivative_is_read_as_it_lies() {
    for (sizes, way) in [(&[70][..], [4, 0, 0]), (&[9, 8], [3, 1, 1])] {
        let graph = gradient(&total(&program(sizes, way)), &shapes(sizes, way[0])).unwrap();
        let inputs = random_inputs(&mut Rng::new(3), &graph);
        assert_eq!(disagreement(&graph, &inputs, &[], &[]), None, "{sizes:?}");
        let program = Executable::compile(&graph, &[]).unwrap();
        let made = program.graph();
        // `xs`, and its gradient.
        assert_eq!(transposes(made), 2, "{sizes:?} {made}");
        let loops = made.nodes().iter().filter_map(|node| node.op.get::<Scan>()).collect::<Vec<_>>();
        assert!(loops.len() == 2 && loops.iter().all(|op| op.last), "{made}");
        // The state before an iteration is stacked once, for the program and its derivative.
        let stacked = &loops[0].body.outputs()[loops[0].carried..];
        assert!((1..stacked.len()).all(|k| !stacked[..k].contains(&stacked[k])), "{made}");
    }
}

#[test]
fn transposes_of_loops_in_loops_move_out_of_them() {
    // An outer loop over an inner one that stacks long slices, which the outer one stacks again.
    let (inner, outer) = (3, 4);
    let body = region(&[float(&[70]), float(&[70])], |b, x| {
        let inner_body = region(&[float(&[70]), float(&[70])], |b, x| {
            let next = plain(b, "mul", x);
            let next = plain(b, "sin", &[next]);
            vec![next, x[0]]
        });
        let op = Scan {
            body: inner_body,
            carried: 1,
            sliced: 0,
            length: inner,
            reverse: false,
            last: false,
            checkpoint: false,
        };
        b.node(op, x).unwrap()
    });
    let op =
        Scan { body, carried: 1, sliced: 0, length: outer, reverse: false, last: false, checkpoint: false };
    let mut b = Builder::default();
    let x = [0; 2].map(|_| b.input(float(&[70])));
    let results = b.node(op, &x).unwrap();
    let graph = b.finish(results);
    let inputs = random_inputs(&mut Rng::new(4), &graph);
    assert_eq!(disagreement(&graph, &inputs, &[], &[]), None);
    let made = slices(&graph).unwrap().unwrap();
    let outer = made.nodes().iter().find_map(|node| node.op.get::<Scan>()).unwrap();
    assert_eq!((transposes(&made), transposes(&outer.body)), (1, 0), "{made}");
    let shapes = [[70].into(), [70].into()];
    let graph = gradient(&total(&graph), &shapes).unwrap();
    let inputs = random_inputs(&mut Rng::new(5), &graph);
    assert_eq!(disagreement(&graph, &inputs, &[], &[]), None);
    let program = Executable::compile(&graph, &[]).unwrap();
    let loops = program.graph().nodes().iter().filter_map(|node| node.op.get::<Scan>());
    assert!(loops.map(|op| transposes(&op.body)).all(|count| count == 0), "{}", program.graph());
}

/// A loop that adds row after row of a captured value to its state, and the value itself if `also`.
fn by_rows([rows, columns, length]: [usize; 3], also: bool) -> Graph {
    let position = Aval::known(DType::I32, [length].into());
    let matrix = float(&[rows, columns]);
    let counter = Aval::known(DType::I32, Shape::scalar());
    let body = region(&[float(&[1, columns]), counter, matrix.clone()], |b, x| {
        let [state, at, captured] = *x else { unreachable!() };
        let zero = b.literal(Literal::new(0i32), None);
        let op = DynamicSlice { sizes: vec![1, columns], check: Check::Silent };
        let row = b.node1(op, &[captured, at, zero]).unwrap();
        let half = number(b, 0.5);
        let half = b.node1(BroadcastInDim { shape: [1, columns].into(), axes: vec![] }, &[half]).unwrap();
        let state = plain(b, "mul", &[state, half]);
        let next = plain(b, "add", &[state, row]);
        if !also {
            return vec![next];
        }
        let sum = Reduction { fold: Fold::Sum, axes: vec![Axis(0)], drop: false };
        let all = Reduction { fold: Fold::Sum, axes: vec![Axis(0), Axis(1)], drop: true };
        let total = b.node1(all, &[state]).unwrap();
        let totals = BroadcastInDim { shape: [rows, columns].into(), axes: vec![] };
        let totals = b.node1(totals, &[total]).unwrap();
        let product = plain(b, "mul", &[captured, totals]);
        let sums = b.node1(sum, &[product]).unwrap();
        let sums = plain(b, "mul", &[sums, row]);
        vec![plain(b, "add", &[next, sums])]
    });
    let mut b = Builder::default();
    let x = [float(&[1, columns]), position, matrix].map(|aval| b.input(aval));
    let op = Scan { body, carried: 1, sliced: 1, length, reverse: false, last: false, checkpoint: false };
    let results = b.node(op, &x).unwrap();
    b.finish(results)
}

#[test]
fn rows_of_what_stays_the_same_are_read_side_by_side() {
    let mut rng = Rng::new(5);
    // Sizes, and whether a transposed copy pays.
    for (sizes, pays) in
        [([5, 100, 5], true), ([40, 70, 3], false), ([1, 100, 4], false), ([30, 8, 30], false)]
    {
        for also in [false, true] {
            let graph = by_rows(sizes, also);
            let inputs = random_inputs(&mut rng, &graph);
            assert_eq!(disagreement(&graph, &inputs, &[], &[]), None, "{sizes:?} {also}");
            assert_eq!(
                rows(&optimise(&graph).unwrap(), false).unwrap().is_some(),
                pays && !also,
                "{sizes:?} {also}"
            );
        }
    }
    // The transposed copy stays outside of the loop.
    let turned = rows(&optimise(&by_rows([5, 100, 5], false)).unwrap(), false).unwrap().unwrap();
    let count = |graph: &Graph| graph.nodes().iter().filter(|node| node.op.name() == "transpose").count();
    let scan = turned.nodes().iter().find(|node| node.op.name() == "scan").unwrap();
    assert_eq!((count(&turned), count(scan.op.regions()[0].1)), (1, 0), "{turned}");
}

/// A loop whose state is a matrix, of which it replaces a row by one that is made of the row before and of rows at
/// positions that are computed; in two steps if `twice`, and reads all of it if `also`.
fn replacing([rows, columns, length]: [usize; 3], twice: bool, also: bool) -> Graph {
    let position = Aval::known(DType::I32, [length].into());
    let (matrix, counter) = (float(&[rows, columns]), Aval::known(DType::I32, Shape::scalar()));
    let body = region(&[matrix.clone(), counter], |b, x| {
        let [mut state, at] = *x else { unreachable!() };
        let [zero, one] = [0i32, 1].map(|n| b.literal(Literal::new(n), None));
        let update = DynamicUpdateSlice { check: Check::Silent };
        let mut to = at;
        for _ in 0..1 + usize::from(twice) {
            let from = b.node1(Binary::sub, &[to, one]).unwrap();
            let op = DynamicSlice { sizes: vec![1, columns], check: Check::Silent };
            let before = b.node1(op, &[state, from, zero]).unwrap();
            let places: Vec<Value> = [from, to, zero]
                .iter()
                .map(|&v| b.node1(Reshape { shape: [1].into(), order: Order::Column }, &[v]).unwrap())
                .collect();
            let places = b.node1(Concatenate { axis: Axis(0) }, &places).unwrap();
            let op = Gather::along(Axis(0), &[rows, columns].into(), Check::Silent);
            let picked = b.node1(op, &[state, places]).unwrap();
            let most = Reduction { fold: Fold::Max, axes: vec![Axis(0)], drop: false };
            let most = b.node1(most, &[picked]).unwrap();
            let next = plain(b, "sub", &[most, before]);
            let next = plain(b, "sin", &[next]);
            state = b.node1(update.clone(), &[state, next, to, zero]).unwrap();
            to = b.node1(Binary::add, &[to, one]).unwrap();
        }
        if also {
            state = plain(b, "sin", &[state]);
        }
        vec![state]
    });
    let mut b = Builder::default();
    let x = [matrix, position].map(|aval| b.input(aval));
    let op = Scan { body, carried: 1, sliced: 1, length, reverse: false, last: false, checkpoint: false };
    let results = b.node(op, &x).unwrap();
    b.finish(results)
}

#[test]
fn rows_of_a_state_that_are_replaced_lie_side_by_side() {
    let mut rng = Rng::new(5);
    for (sizes, pays) in
        [([9, 100, 6], true), ([200, 80, 9], false), ([9, 12, 20], false), ([2, 300, 5], true)]
    {
        for (twice, also) in [(false, false), (true, false), (false, true)] {
            let graph = replacing(sizes, twice, also);
            let inputs = random_inputs(&mut rng, &graph);
            let what = format!("{sizes:?} {twice} {also}");
            assert_eq!(disagreement(&graph, &inputs, &[], &[]), None, "{what}");
            let graph = optimise(&graph).unwrap();
            assert_eq!(rows(&graph, false).unwrap().is_some(), pays && !also, "{what}");
            // Of a loop within another, small values stay.
            assert!(rows(&graph, true).unwrap().is_none(), "{what}");
        }
    }
    // Both copies are outside of the loop.
    let turned = rows(&optimise(&replacing([9, 100, 6], false, false)).unwrap(), false).unwrap().unwrap();
    let loops = turned.nodes().iter().filter(|node| node.op.name() == "transpose").count();
    assert_eq!(loops, 2, "{turned}");
}
