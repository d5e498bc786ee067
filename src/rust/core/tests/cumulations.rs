//! Cumulations in groups: next to the reference, on several threads, for lines of one and of many tiles.

mod common;

use anvil_core::dtype::DType;
use anvil_core::exec::Executable;
use anvil_core::graph::Value;
use anvil_core::kernels::reductions::cumulative::Cumulation;
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::kernels::threads::want;
use anvil_core::kernels::tile::TILE;
use anvil_core::ops::{Binary, BroadcastInDim, Builder, Cumulative, Graph, Op, Reduction, Unary};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::{Aval, Literal};
use common::{disagreement, random_inputs, Rng};

const BY: [Cumulation; 5] =
    [Cumulation::Sum, Cumulation::Prod, Cumulation::Max, Cumulation::Min, Cumulation::LogSumExp];

/// Lines of these many elements, so many of them.
const SIZES: [(usize, usize); 10] = [
    (1, 4),
    (2, 2000),
    (7, 1),
    (TILE, 3),
    (TILE + 1, 1),
    (3 * TILE + 5, 2),
    (3 * TILE, 9),
    (17 * TILE + 3, 1),
    (17 * TILE, 3),
    (40 * TILE + 9, 1),
];

fn input(b: &mut Builder, dtype: DType, sizes: &[usize]) -> Value {
    b.input(Aval::known(dtype, Shape::try_new(sizes.to_vec()).unwrap()))
}

fn cumulate(b: &mut Builder, by: Cumulation, reverse: bool, x: Value) -> Value {
    b.node1(Op::Cumulative(Cumulative { by, axis: Axis(0), reverse }), &[x]).unwrap()
}

fn unary(b: &mut Builder, op: Unary, x: Value) -> Value {
    b.node1(Op::Unary(op), &[x]).unwrap()
}

fn binary(b: &mut Builder, op: Binary, x: Value, y: Value) -> Value {
    b.node1(Op::Binary(op), &[x, y]).unwrap()
}

fn sum(b: &mut Builder, x: Value) -> Value {
    b.node1(
        Op::Reduction(Reduction { fold: Fold::Sum, axes: [Axis(0)].into_iter().collect(), drop: true }),
        &[x],
    )
    .unwrap()
}

/// Holds a program to the reference on several numbers of threads, with inputs given away and kept; gives the
/// names of the kinds of its steps.
fn kinds(graph: &Graph, seed: u64) -> Vec<String> {
    let mut rng = Rng::new(seed);
    let inputs = random_inputs(&mut rng, graph);
    let all: Vec<usize> = (0..inputs.len()).collect();
    for number in [1, 3] {
        want(Some(number)).unwrap();
        for donated in [&all[..], &[]] {
            if let Some(what) = disagreement(graph, &inputs, &[], donated) {
                let text = Executable::compile(graph, donated).unwrap().describe();
                panic!("{number} threads: {what}\n{graph}\n{text}");
            }
        }
    }
    Executable::compile(graph, &[]).unwrap().lines().into_iter().map(|line| line.kind).collect()
}

/// One test, since the number of threads is that of the process.
#[test]
fn cumulations_take_part_in_groups() {
    for (n, lines) in SIZES {
        for reverse in [false, true] {
            for by in BY {
                let mut b = Builder::default();
                let x = input(&mut b, DType::F64, &[n, lines]);
                let before = unary(&mut b, Unary::sin, x);
                let y = cumulate(&mut b, by, reverse, before);
                let after = binary(&mut b, Binary::mul, y, x);
                // The element before and the sum are read from memory and from registers.
                let total = sum(&mut b, after);
                let graph = b.finish(vec![after, before, total]);
                let kinds = kinds(&graph, 1);
                assert!(n == 1 || kinds == ["group"], "{by:?} of {lines} lines of {n}: {kinds:?}\n{graph}");
            }
            // One cumulation of another; and what is centred by a fold, which is read inside.
            for second in [reverse, !reverse] {
                let mut b = Builder::default();
                let x = input(&mut b, DType::F32, &[n, lines]);
                let y = unary(&mut b, Unary::negate, x);
                let y = cumulate(&mut b, Cumulation::Sum, reverse, y);
                let y = cumulate(&mut b, Cumulation::Max, second, y);
                let total = sum(&mut b, y);
                let shape = Shape::try_new(vec![n, lines]).unwrap();
                let axes = [Axis(1)].into_iter().collect();
                let total = b.node1(Op::BroadcastInDim(BroadcastInDim { shape, axes }), &[total]).unwrap();
                let y = binary(&mut b, Binary::sub, y, total);
                kinds(&b.finish(vec![y]), 2);
            }
        }
    }
    // Of all dtypes, and of one number repeated.
    for dtype in [DType::BF16, DType::C64, DType::I8, DType::UI64, DType::C128] {
        for n in [5, 5 * TILE + 1] {
            let mut b = Builder::default();
            let x = input(&mut b, dtype, &[n]);
            let y = binary(&mut b, Binary::mul, x, x);
            let y = cumulate(&mut b, Cumulation::Sum, n == 5, y);
            let y = binary(&mut b, Binary::add, y, x);
            let one = b.literal(Literal::new(1.0).convert(dtype), None);
            let shape = Shape::try_new(vec![n]).unwrap();
            let axes = Default::default();
            let ones = b.node1(Op::BroadcastInDim(BroadcastInDim { shape, axes }), &[one]).unwrap();
            let count = cumulate(&mut b, Cumulation::Sum, false, ones);
            let y = binary(&mut b, Binary::add, y, count);
            kinds(&b.finish(vec![y]), 3);
        }
    }
    // By itself it is a step of its own.
    let mut b = Builder::default();
    let x = input(&mut b, DType::F64, &[5 * TILE]);
    let y = cumulate(&mut b, Cumulation::Sum, false, x);
    assert_eq!(kinds(&b.finish(vec![y]), 4), ["cumsum"]);
}
