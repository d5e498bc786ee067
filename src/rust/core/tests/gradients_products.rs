//! Gradients of loops by matrices that they read in each iteration: sums of products, taken after the loop where
//! operands are small.

mod common;
#[path = "common/gradients.rs"]
mod gradients;
#[path = "common/loops.rs"]
mod loops;

use anvil_core::graph::Value;
use anvil_core::ops::{Binary, Builder, DotGeneral, Graph, Op, Scan, Transpose};
use anvil_core::shape::{Axis, Shape};
use common::Rng;
use gradients::{check, gradient, scalar};
use loops::{float, joined, plain, region};

/// Size of the state: products of two of these are worth to be summed after the loop.
const N: usize = 5;

fn product(b: &mut Builder, x: Value, y: Value, contracting: [usize; 2]) -> Value {
    let contracting = contracting.map(|axis| vec![Axis(axis)]);
    b.node1(DotGeneral { contracting, batching: [vec![], vec![]], batch_last: false }, &[x, y]).unwrap()
}

/// What the loop has beside the plain product with its state.
#[derive(Clone, Copy, PartialEq)]
enum Case {
    Plain,
    /// The matrix is also read transposed, and element by element.
    Twice,
    /// The vector is a slice.
    Slices,
    /// The other operand is the same in each iteration.
    Same,
}

/// A loop whose state is `tanh(w %*% state + slice)`; operands: state, slices, `w`, a vector.
fn recurrent(
    b: &mut Builder,
    x: &[Value],
    case: Case,
    length: usize,
    [reverse, checkpoint]: [bool; 2],
) -> Value {
    let types = [float(&[N]), float(&[N]), float(&[N, N]), float(&[N])];
    let body = region(&types, |b, x| {
        let [state, slice, w, same] = [x[0], x[1], x[2], x[3]];
        let by = match case {
            Case::Slices => slice,
            Case::Same => same,
            Case::Plain | Case::Twice => state,
        };
        let mut z = product(b, w, by, [1, 0]);
        if case == Case::Twice {
            let turned = b.node1(Transpose { permutation: vec![Axis(1), Axis(0)] }, &[w]).unwrap();
            let back = product(b, turned, slice, [1, 0]);
            z = plain(b, "add", &[z, back]);
            let squares = plain(b, "mul", &[w, w]);
            let of_squares = product(b, squares, same, [1, 0]);
            z = plain(b, "sub", &[z, of_squares]);
        }
        let z = plain(b, "add", &[z, state]);
        let next = plain(b, "tanh", &[z]);
        vec![next, z]
    });
    let op = Scan { body, carried: 1, sliced: 1, length, reverse, last: false, checkpoint };
    let results = b.node(Op::Scan(op), x).unwrap();
    joined(b, &results, &[0, 1])
}

fn shapes(length: usize) -> [Shape; 4] {
    [[N].into(), [length, N].into(), [N, N].into(), [N].into()]
}

const CASES: [Case; 4] = [Case::Plain, Case::Twice, Case::Slices, Case::Same];

#[test]
fn they_agree_with_differences() {
    let rng = &mut Rng::new(1);
    for case in CASES {
        for length in [0, 1, 3] {
            for way in [[false, false], [true, false], [false, true]] {
                let program = |b: &mut Builder, x: &[Value]| recurrent(b, x, case, length, way);
                check("scan of products", &program, &shapes(length), &[[-0.5, 0.5]], rng);
            }
        }
    }
}

/// The sizes of the states of the loop that runs backwards, and the products after it.
fn backwards(graph: &Graph) -> (Vec<usize>, usize) {
    let mut loops =
        graph.nodes().iter().enumerate().filter_map(|(i, node)| node.op.get::<Scan>().map(|op| (i, op)));
    let (at, op) = loops.next_back().unwrap();
    let inputs = &op.body.inputs()[..op.carried];
    let after = graph.nodes()[at..].iter().filter(|node| node.op.get::<DotGeneral>().is_some()).count();
    (inputs.iter().map(|&v| op.body.aval(v).shape.size()).collect(), after)
}

#[test]
fn the_loop_sums_no_product_of_small_operands() {
    let made = |case: Case| {
        let program = |b: &mut Builder, x: &[Value]| recurrent(b, x, case, 3, [false, false]);
        backwards(&gradient(&scalar(&program, &shapes(3), 1), &shapes(3)).unwrap())
    };
    // The gradient of the state alone is left (that of a vector that is not read is no sum).
    let (states, products) = made(Case::Plain);
    assert!(!states.contains(&(N * N)) && products == 1, "{states:?} {products}");
    let (states, products) = made(Case::Slices);
    assert!(!states.contains(&(N * N)) && products == 1, "{states:?} {products}");
    // Of the terms of a gradient those that are no products are summed in the loop.
    let (states, products) = made(Case::Twice);
    assert!(states.contains(&(N * N)) && products == 2, "{states:?} {products}");
    // What is the same in each iteration is not stacked.
    let (states, products) = made(Case::Same);
    assert!(states.contains(&(N * N)) && products == 0, "{states:?} {products}");
}

#[test]
fn large_operands_stay_in_the_loop() {
    // The state is a matrix of as many columns: operands are as large as the product.
    let shapes: [Shape; 2] = [[N, N].into(), [N, N].into()];
    let program = |b: &mut Builder, x: &[Value]| {
        let body = region(&[float(&[N, N]), float(&[N, N])], |b, x| vec![product(b, x[1], x[0], [1, 0])]);
        let op =
            Scan { body, carried: 1, sliced: 0, length: 3, reverse: false, last: false, checkpoint: false };
        b.node(Op::Scan(op), x).unwrap()[0]
    };
    let made = gradient(&scalar(&program, &shapes, 1), &shapes).unwrap();
    assert_eq!(backwards(&made), (vec![N * N, N * N], 0));
    let adds = |graph: &Graph| graph.nodes().iter().filter(|node| node.op == Op::Binary(Binary::add)).count();
    let Some(op) = made.nodes().iter().rev().find_map(|node| node.op.get::<Scan>()) else { unreachable!() };
    assert_eq!(adds(&op.body), 1);
}
