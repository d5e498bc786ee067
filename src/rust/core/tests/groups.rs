//! Groups of elementwise nodes beside what random programs cover (`programs.rs`): what goes into one step,
//! and that sizes, places and threads change no bit.

mod common;

use anvil_core::dtype::DType;
use anvil_core::exec::Executable;
use anvil_core::graph::Value;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::kernels::random::Algorithm;
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::kernels::tile::TILE;
use anvil_core::ops::layout::Order;
use anvil_core::ops::{
    Binary, BroadcastInDim, Builder, Compare, Concatenate, Convert, DotGeneral, Fill, Gather, Graph, Iota,
    Op, Reduction, Reshape, Reverse, RngBits, StaticSlice, Ternary, Transpose, Unary,
};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::{Aval, Literal};
use common::{disagreement, random_tensor, Rng};

fn shape(sizes: &[usize]) -> Shape {
    Shape::try_new(sizes.to_vec()).unwrap()
}

fn input(b: &mut Builder, dtype: DType, sizes: &[usize]) -> Value {
    b.input(Aval::known(dtype, shape(sizes)))
}

fn unary(b: &mut Builder, op: Unary, x: Value) -> Value {
    b.node1(Op::Unary(op), &[x]).unwrap()
}

fn binary(b: &mut Builder, op: Binary, x: Value, y: Value) -> Value {
    b.node1(Op::Binary(op), &[x, y]).unwrap()
}

fn convert(b: &mut Builder, dtype: DType, x: Value) -> Value {
    b.node1(Op::Convert(Convert { dtype, ambiguous: false }), &[x]).unwrap()
}

fn broadcast(b: &mut Builder, x: Value, sizes: &[usize], axes: &[usize]) -> Value {
    let axes = axes.iter().copied().map(Axis).collect();
    b.node1(Op::BroadcastInDim(BroadcastInDim { shape: shape(sizes), axes }), &[x]).unwrap()
}

fn reduce(b: &mut Builder, fold: Fold, x: Value, axes: &[usize]) -> Value {
    let axes = axes.iter().copied().map(Axis).collect();
    b.node1(Op::Reduction(Reduction { fold, axes, drop: true }), &[x]).unwrap()
}

fn transpose(b: &mut Builder, x: Value) -> Value {
    b.node1(Op::Transpose(Transpose { permutation: vec![Axis(1), Axis(0)] }), &[x]).unwrap()
}

fn number(b: &mut Builder, dtype: DType, x: f64, sizes: &[usize]) -> Value {
    let literal = b.literal(Literal::new(x).convert(dtype), false);
    broadcast(b, literal, sizes, &[])
}

/// Holds a program to the reference, with every input given away and with none; gives the text of its plan.
fn agrees(graph: &Graph, seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let inputs: Vec<AlignedBytes> =
        graph.inputs().iter().map(|&v| random_tensor(&mut rng, graph.aval(v))).collect();
    let all: Vec<usize> = (0..inputs.len()).collect();
    for donated in [&all[..], &[]] {
        if let Some(what) = disagreement(graph, &inputs, &[], donated) {
            panic!("{what}\n{graph}\n{}", Executable::compile(graph, donated).unwrap().describe());
        }
    }
    Executable::compile(graph, &[]).unwrap().describe()
}

fn steps(text: &str) -> usize {
    text.lines().count() - 1
}

/// Lengths around those of tiles and of the pieces that threads get.
const LENGTHS: [usize; 8] = [0, 1, 2, TILE - 1, TILE, TILE + 1, 3 * TILE + 5, 200_003];

#[test]
fn a_chain_is_one_step_at_any_length() {
    for n in LENGTHS {
        let mut b = Builder::default();
        let (x, w, c) = (
            input(&mut b, DType::F32, &[n]),
            input(&mut b, DType::F32, &[n]),
            input(&mut b, DType::F32, &[n]),
        );
        let y = binary(&mut b, Binary::mul, x, w);
        let y = binary(&mut b, Binary::add, y, c);
        let y = unary(&mut b, Unary::tanh, y);
        let text = agrees(&b.finish(vec![y]), n as u64 + 1);
        assert_eq!(steps(&text), if n == 0 { 3 } else { 1 }, "{text}");
    }
}

#[test]
fn scalars_are_one_step() {
    let mut b = Builder::default();
    let (x, y) = (input(&mut b, DType::F64, &[]), input(&mut b, DType::F64, &[1]));
    let a = unary(&mut b, Unary::exp, x);
    let c = unary(&mut b, Unary::sin, y);
    let one = broadcast(&mut b, a, &[1], &[]);
    let z = binary(&mut b, Binary::add, one, c);
    let text = agrees(&b.finish(vec![z, a]), 2);
    assert_eq!(steps(&text), 1, "{text}");
}

#[test]
fn broadcasts_transposes_and_slices_are_read_in_the_group() {
    for (rows, columns) in [(1, 1), (3, 5), (40, 70), (TILE + 3, 3), (2, 700), (1, 9), (9, 1)] {
        let mut b = Builder::default();
        let x = input(&mut b, DType::F64, &[rows, columns]);
        let (r, c) = (input(&mut b, DType::F64, &[columns]), input(&mut b, DType::F64, &[rows]));
        let t = input(&mut b, DType::F64, &[columns, rows]);
        let wide = input(&mut b, DType::F64, &[rows, 2 * columns]);
        let s = input(&mut b, DType::F64, &[]);
        let operands = [
            broadcast(&mut b, r, &[rows, columns], &[1]),
            broadcast(&mut b, c, &[rows, columns], &[0]),
            transpose(&mut b, t),
            b.node1(
                Op::StaticSlice(StaticSlice {
                    start: vec![0, 0],
                    limit: vec![rows, 2 * columns],
                    stride: vec![1, 2],
                }),
                &[wide],
            )
            .unwrap(),
            b.node1(
                Op::StaticSlice(StaticSlice {
                    start: vec![0, columns],
                    limit: vec![rows, 2 * columns],
                    stride: vec![1, 1],
                }),
                &[wide],
            )
            .unwrap(),
            broadcast(&mut b, s, &[rows, columns], &[]),
        ];
        let y = operands.into_iter().fold(x, |y, v| binary(&mut b, Binary::sub, y, v));
        let text = agrees(&b.finish(vec![y]), rows as u64);
        assert_eq!(steps(&text), 1, "{text}");
    }
}

#[test]
fn a_broadcast_in_the_middle_is_made_before_it_is_repeated() {
    let mut b = Builder::default();
    let (x, r) = (input(&mut b, DType::F32, &[30, 50]), input(&mut b, DType::F32, &[50]));
    let r = unary(&mut b, Unary::exp, r);
    let r = unary(&mut b, Unary::sin, r);
    let r = broadcast(&mut b, r, &[30, 50], &[1]);
    let y = binary(&mut b, Binary::mul, x, r);
    let y = unary(&mut b, Unary::cos, y);
    let text = agrees(&b.finish(vec![y]), 3);
    assert_eq!(steps(&text), 2, "{text}");
}

#[test]
fn reductions_close_groups() {
    let all = [Fold::Sum, Fold::Max, Fold::Min, Fold::Squares];
    for dtype in [DType::F32, DType::F64, DType::BF16, DType::I32, DType::C64] {
        for n in [1, 7, TILE, 2 * TILE + 9, 400_001] {
            let mut b = Builder::default();
            let (x, y) = (input(&mut b, dtype, &[n]), input(&mut b, dtype, &[n]));
            let z = binary(&mut b, Binary::mul, x, y);
            let folds = if dtype.is_complex() {
                &all[..1]
            } else if dtype.is_float() {
                &all
            } else {
                &all[..3]
            };
            let mut outputs: Vec<Value> = folds.iter().map(|&fold| reduce(&mut b, fold, z, &[0])).collect();
            outputs.push(reduce(&mut b, Fold::Sum, x, &[0]));
            let text = agrees(&b.finish(outputs), n as u64);
            assert_eq!(steps(&text), 1, "{text}");
        }
    }
}

#[test]
fn reductions_of_columns_close_groups() {
    for (rows, columns) in [(1, 5), (3, 1000), (TILE, 3), (TILE - 1, 4), (TILE + 1, 4), (5000, 7), (600, 300)]
    {
        let mut b = Builder::default();
        let (x, y) =
            (input(&mut b, DType::F32, &[rows, columns]), input(&mut b, DType::F32, &[rows, columns]));
        let z = binary(&mut b, Binary::sub, x, y);
        let z = binary(&mut b, Binary::mul, z, z);
        let mut outputs =
            [Fold::Sum, Fold::Max, Fold::Squares].map(|fold| reduce(&mut b, fold, z, &[0])).to_vec();
        outputs.push(z);
        let text = agrees(&b.finish(outputs), rows as u64);
        assert_eq!(steps(&text), 1, "{text}");
    }
}

#[test]
fn reductions_of_rows_close_groups_that_are_large() {
    // Rows and columns below, at and beyond what is folded together, and several dimensions of each.
    let cases: [(&[usize], &[usize], bool); 8] = [
        (&[2, 40_000], &[1], true),
        (&[300, 250], &[1], true),
        (&[5000, 17], &[1], true),
        (&[70, TILE + 1], &[1], true),
        (&[3, 50, 500], &[1, 2], true),
        (&[40, 50, 40], &[2], true),
        (&[100, 20], &[1], false),
        (&[100_003, 2], &[1], true),
    ];
    for dtype in [DType::F32, DType::F64, DType::F16, DType::I32, DType::C64] {
        for (sizes, axes, joined) in cases {
            let mut b = Builder::default();
            let (x, y) = (input(&mut b, dtype, sizes), input(&mut b, dtype, &sizes[..1]));
            let spread = broadcast(&mut b, y, sizes, &[0]);
            let z = binary(&mut b, Binary::sub, x, spread);
            let z = binary(&mut b, Binary::mul, z, z);
            let all = [Fold::Sum, Fold::Prod, Fold::Max, Fold::Min];
            let folds = if dtype.is_complex() { &all[..2] } else { &all };
            let mut outputs: Vec<Value> = folds.iter().map(|&fold| reduce(&mut b, fold, z, axes)).collect();
            let kept = binary(&mut b, Binary::add, z, x);
            outputs.extend(sizes.len().eq(&2).then_some(kept));
            let text = agrees(&b.finish(outputs), sizes[0] as u64);
            assert_eq!(steps(&text) == 1, joined, "{dtype} {sizes:?}: {text}");
        }
    }
}

#[test]
fn products_close_a_group_and_rows_are_steps_of_their_own() {
    let mut b = Builder::default();
    let x = input(&mut b, DType::F64, &[300, 20]);
    let y = unary(&mut b, Unary::abs, x);
    let y = unary(&mut b, Unary::sqrt, y);
    let outputs = vec![reduce(&mut b, Fold::Prod, y, &[0]), reduce(&mut b, Fold::Sum, y, &[1])];
    let text = agrees(&b.finish(outputs), 5);
    assert_eq!(steps(&text), 2, "{text}");
}

#[test]
fn squares_of_columns_are_read_on_in_their_group_and_those_of_rows_are_steps() {
    for (rows, columns) in [(5, 40_000), (300, 250), (10_000, 20)] {
        for dtype in [DType::F32, DType::F64] {
            let mut b = Builder::default();
            let x = input(&mut b, dtype, &[rows, columns]);
            let y = unary(&mut b, Unary::negate, x);
            let (squares, spread) = repeated(&mut b, Fold::Squares, y, &[rows, columns]);
            let scaled = binary(&mut b, Binary::div, y, spread);
            let text = agrees(&b.finish(vec![squares, scaled]), rows as u64);
            assert_eq!(steps(&text), 1, "{text}");
        }
    }
    let mut b = Builder::default();
    let x = input(&mut b, DType::F32, &[300, 2500]);
    let y = unary(&mut b, Unary::negate, x);
    let squares = reduce(&mut b, Fold::Squares, y, &[1]);
    let text = agrees(&b.finish(vec![squares]), 6);
    assert_eq!(steps(&text), 2, "{text}");
}

/// A reduction over the first dimension, repeated along it.
fn repeated(b: &mut Builder, fold: Fold, x: Value, sizes: &[usize]) -> (Value, Value) {
    let folded = reduce(b, fold, x, &[0]);
    (folded, broadcast(b, folded, sizes, &(1..sizes.len()).collect::<Vec<_>>()))
}

/// A softmax, with the logarithm of its sums.
fn softmax(b: &mut Builder, x: Value, sizes: &[usize]) -> Vec<Value> {
    let (max, spread) = repeated(b, Fold::Max, x, sizes);
    let e = binary(b, Binary::sub, x, spread);
    let e = unary(b, Unary::exp, e);
    let (sum, spread) = repeated(b, Fold::Sum, e, sizes);
    let (y, log) = (binary(b, Binary::div, e, spread), unary(b, Unary::log, sum));
    vec![y, binary(b, Binary::add, log, max)]
}

/// Segments shorter than the longest that is computed on as a whole, as long, and longer.
const SEGMENTS: [(usize, usize); 9] = [
    (1, 7),
    (2, 5),
    (7, 1),
    (300, 40),
    (TILE, 3),
    (TILE + 3, 5),
    (2, 4000),
    (1 << 14, 2),
    ((1 << 14) + 1, 2),
];

fn is_row(segment: usize) -> bool {
    (2..=1 << 14).contains(&segment)
}

#[test]
fn what_segments_are_folded_into_is_computed_on_and_repeated_in_the_group() {
    for dtype in [DType::F32, DType::F64, DType::F16] {
        for (segment, count) in SEGMENTS {
            let mut b = Builder::default();
            let x = input(&mut b, dtype, &[segment, count]);
            let outputs = softmax(&mut b, x, &[segment, count]);
            let text = agrees(&b.finish(outputs), segment as u64);
            assert_eq!(steps(&text) == 1, is_row(segment), "{segment} x {count}: {text}");
        }
    }
}

#[test]
fn normalised_layers_are_one_step() {
    for (segment, count) in SEGMENTS {
        let sizes = [segment, count];
        let mut b = Builder::default();
        let (x, scale) = (input(&mut b, DType::F32, &sizes), input(&mut b, DType::F32, &[count]));
        let shift = input(&mut b, DType::F32, &[segment]);
        let n = number(&mut b, DType::F32, segment as f64, &[count]);
        let sum = reduce(&mut b, Fold::Sum, x, &[0]);
        let mean = binary(&mut b, Binary::div, sum, n);
        let spread = broadcast(&mut b, mean, &sizes, &[1]);
        let d = binary(&mut b, Binary::sub, x, spread);
        let square = binary(&mut b, Binary::mul, d, d);
        let sum = reduce(&mut b, Fold::Sum, square, &[0]);
        let variance = binary(&mut b, Binary::div, sum, n);
        let factor = unary(&mut b, Unary::rsqrt, variance);
        // Values of one element for each segment that are in memory, and that are outputs too.
        let factor = binary(&mut b, Binary::mul, factor, scale);
        let spread = broadcast(&mut b, factor, &sizes, &[1]);
        let y = binary(&mut b, Binary::mul, d, spread);
        let shift = broadcast(&mut b, shift, &sizes, &[0]);
        let y = binary(&mut b, Binary::add, y, shift);
        let text = agrees(&b.finish(vec![y, variance, mean]), 3);
        assert_eq!(steps(&text) == 1, is_row(segment), "{segment} x {count}: {text}");
    }
}

#[test]
fn segments_of_other_dimensions_are_not_mixed() {
    // Sums by columns, by slices, and of all, each read by the elements; and sums read in another order.
    let sizes = [6, 6, 6];
    let mut b = Builder::default();
    let x = input(&mut b, DType::F64, &sizes);
    let spread: Vec<Value> = [vec![0], vec![0, 1], vec![0, 1, 2], vec![1]]
        .into_iter()
        .map(|axes| {
            let rest: Vec<usize> = (0..3).filter(|i| !axes.contains(i)).collect();
            let sum = reduce(&mut b, Fold::Sum, x, &axes);
            broadcast(&mut b, sum, &sizes, &rest)
        })
        .collect();
    let sum = reduce(&mut b, Fold::Max, x, &[0]);
    let turned = transpose(&mut b, sum);
    let turned = broadcast(&mut b, turned, &sizes, &[1, 2]);
    let first = broadcast(&mut b, sum, &sizes, &[0, 1]);
    let mut outputs = vec![];
    let mut y = x;
    for v in spread.into_iter().chain([turned, first]) {
        y = binary(&mut b, Binary::sub, y, v);
        outputs.push(reduce(&mut b, Fold::Sum, y, &[0]));
        outputs.push(reduce(&mut b, Fold::Sum, y, &[0, 1]));
    }
    outputs.push(y);
    agrees(&b.finish(outputs), 8);
}

/// How often an op is run by a plan.
fn count(text: &str, op: &str) -> usize {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| *word == op).count()
}

#[test]
fn nothing_transcendental_is_computed_twice() {
    // One exponential with readers in three groups, in reductions, and among the outputs.
    let mut b = Builder::default();
    let x = input(&mut b, DType::F64, &[60, 40]);
    let e = unary(&mut b, Unary::exp, x);
    let s = reduce(&mut b, Fold::Sum, e, &[1]);
    let l = unary(&mut b, Unary::log, s);
    let l = broadcast(&mut b, l, &[60, 40], &[0]);
    let y = binary(&mut b, Binary::div, e, l);
    let t = transpose(&mut b, e);
    let z = unary(&mut b, Unary::tanh, t);
    let z = binary(&mut b, Binary::mul, z, t);
    let w = binary(&mut b, Binary::add, e, x);
    let w = unary(&mut b, Unary::sin, w);
    let text = agrees(&b.finish(vec![y, z, w, e]), 6);
    for op in ["exp", "log", "tanh", "sin"] {
        assert_eq!(count(&text, op), 1, "{op}: {text}");
    }
}

#[test]
fn a_value_is_an_output_and_read_inside() {
    for n in LENGTHS {
        let mut b = Builder::default();
        let x = input(&mut b, DType::F32, &[n]);
        let a = unary(&mut b, Unary::negate, x);
        let c = binary(&mut b, Binary::add, a, x);
        let d = binary(&mut b, Binary::mul, c, a);
        agrees(&b.finish(vec![a, c, d, a]), n as u64 + 9);
    }
}

#[test]
fn dtypes_mix() {
    for n in [1, 10, 2 * TILE + 3] {
        let mut b = Builder::default();
        let (i, h) = (input(&mut b, DType::I32, &[n]), input(&mut b, DType::F16, &[n]));
        let (x, z) = (input(&mut b, DType::F64, &[n]), input(&mut b, DType::C128, &[n]));
        let i64 = convert(&mut b, DType::F64, i);
        let h64 = convert(&mut b, DType::F64, h);
        let y = binary(&mut b, Binary::add, i64, h64);
        let larger = b.node1(Op::Compare(Compare::gt), &[y, x]).unwrap();
        let y = b.node1(Op::Ternary(Ternary::Select), &[larger, y, x]).unwrap();
        let small = convert(&mut b, DType::I8, y);
        let c = convert(&mut b, DType::C128, y);
        let c = binary(&mut b, Binary::mul, c, z);
        let h2 = binary(&mut b, Binary::mul, h, h);
        let h2 = binary(&mut b, Binary::add, h2, h);
        let any = reduce(&mut b, Fold::Any, larger, &[0]);
        let text = agrees(&b.finish(vec![small, c, h2, any, larger]), n as u64);
        assert_eq!(steps(&text), 1, "{text}");
    }
}

#[test]
fn counting_and_filling_need_no_memory() {
    let mut b = Builder::default();
    let x = input(&mut b, DType::F32, &[50, 60]);
    let iota =
        Iota { axis: Axis(1), dtype: DType::F32, shape: shape(&[50, 60]), start: -3, ambiguous: false };
    let i = b.node1(Op::Iota(iota), &[]).unwrap();
    let fill = Fill { value: Literal::new(2.5f32), shape: shape(&[50, 60]), ambiguous: false };
    let f = b.node1(Op::Fill(fill), &[]).unwrap();
    let y = binary(&mut b, Binary::mul, x, i);
    let y = binary(&mut b, Binary::add, y, f);
    let t = transpose(&mut b, f);
    let z = transpose(&mut b, y);
    let z = binary(&mut b, Binary::sub, z, t);
    let z = unary(&mut b, Unary::abs, z);
    let text = agrees(&b.finish(vec![y, z]), 4);
    assert_eq!((steps(&text), count(&text, "fill"), count(&text, "iota")), (2, 0, 0), "{text}");
    // An output is made by itself, and what is counted in another order too.
    let mut b = Builder::default();
    let x = input(&mut b, DType::F32, &[60, 50]);
    let iota = Iota { axis: Axis(0), dtype: DType::F32, shape: shape(&[50, 60]), start: 1, ambiguous: false };
    let i = b.node1(Op::Iota(iota), &[]).unwrap();
    let t = transpose(&mut b, i);
    let y = binary(&mut b, Binary::mul, x, t);
    let y = unary(&mut b, Unary::sin, y);
    let u = unary(&mut b, Unary::cos, i);
    let u = unary(&mut b, Unary::exp, u);
    agrees(&b.finish(vec![y, i, u]), 5);
}

#[test]
fn long_chains_and_many_live_values() {
    let mut b = Builder::default();
    let x = input(&mut b, DType::F64, &[3000]);
    let mut y = x;
    for i in 0..1000 {
        let c = number(&mut b, DType::F64, 1.0 + f64::from(i) / 1000.0, &[3000]);
        y = binary(&mut b, if i % 3 == 0 { Binary::max } else { Binary::sub }, y, c);
    }
    let text = agrees(&b.finish(vec![y]), 1);
    assert!(steps(&text) <= 4, "{text}");
    // 200 values of which each is read again at the end: far more than the cache holds.
    for n in [5, TILE, 5 * TILE + 1] {
        let mut b = Builder::default();
        let x = input(&mut b, DType::F64, &[n]);
        let mut values = vec![x];
        for _ in 0..200 {
            let last = *values.last().unwrap();
            values.push(unary(&mut b, if values.len() % 2 == 0 { Unary::negate } else { Unary::cos }, last));
        }
        let y = values.into_iter().rev().reduce(|x, y| binary(&mut b, Binary::sub, x, y)).unwrap();
        agrees(&b.finish(vec![y]), 2);
    }
}

#[test]
fn inputs_that_are_given_away_are_written_over() {
    for n in [1, TILE + 1, 200_003] {
        // Two outputs in the places of two inputs that both read, crosswise.
        let mut b = Builder::default();
        let (x, y) = (input(&mut b, DType::F32, &[n]), input(&mut b, DType::F32, &[n]));
        let (s, d) = (binary(&mut b, Binary::add, x, y), binary(&mut b, Binary::sub, x, y));
        let graph = b.finish(vec![d, s]);
        agrees(&graph, n as u64);
        let executable = Executable::compile(&graph, &[0, 1]).unwrap();
        assert_eq!(executable.donations(), [Some(0), Some(1)]);
        assert_eq!(
            (executable.scratch_bytes(), steps(&executable.describe())),
            (0, 1),
            "{}",
            executable.describe()
        );
    }
    // Read in another order too, or by a reduction of other tiles: then not.
    let mut b = Builder::default();
    let x = input(&mut b, DType::F32, &[40, 40]);
    let t = transpose(&mut b, x);
    let y = binary(&mut b, Binary::add, x, t);
    let y = unary(&mut b, Unary::sin, y);
    agrees(&b.finish(vec![y]), 8);
}

#[test]
fn large_values_that_die_are_written_over() {
    let n = 100_000;
    let mut b = Builder::default();
    let x = input(&mut b, DType::F64, &[2, n / 2]);
    let mut y = x;
    for _ in 0..4 {
        // What row sums are taken from is repeated in another step.
        let s = reduce(&mut b, Fold::Sum, y, &[1]);
        let s = broadcast(&mut b, s, &[2, n / 2], &[0]);
        y = binary(&mut b, Binary::sub, y, s);
        y = unary(&mut b, Unary::negate, y);
    }
    let graph = b.finish(vec![y]);
    let text = agrees(&graph, 3);
    let executable = Executable::compile(&graph, &[]).unwrap();
    // Of each of the two sums a partial result of 16 bytes for each tile of a row.
    assert!(executable.scratch_bytes() < 8 * n + 32 * (n / 2).div_ceil(TILE) + 1000, "{text}");
}

#[test]
fn values_are_made_near_to_their_readers() {
    // Each is read by a step of its own; all at once they would be 40 times the input.
    let n = 100;
    let mut b = Builder::default();
    let x = input(&mut b, DType::F64, &[n, n]);
    let mut total = input(&mut b, DType::F64, &[n]);
    for i in 0..40 {
        let c = number(&mut b, DType::F64, f64::from(i), &[n, n]);
        let y = binary(&mut b, Binary::mul, x, c);
        let y = unary(&mut b, Unary::sin, y);
        let s = reduce(&mut b, Fold::Sum, y, &[1]);
        total = binary(&mut b, Binary::add, total, s);
    }
    let graph = b.finish(vec![total]);
    let text = agrees(&graph, 1);
    let executable = Executable::compile(&graph, &[]).unwrap();
    assert!(executable.scratch_bytes() < 6 * 8 * n * n, "{text}");
}

#[test]
fn plans_describe_themselves() {
    let mut b = Builder::default();
    let x = input(&mut b, DType::F32, &[2000]);
    let y = unary(&mut b, Unary::exp, x);
    let s = reduce(&mut b, Fold::Sum, y, &[0]);
    let text = agrees(&b.finish(vec![s]), 1);
    let want = "1. group of 2000 elements in tiles of 1024: exp, reduce_sum; reads 8000 B, writes 36 B\n\
                1 step, 8000 B read, 36 B written, 64 B of scratch memory\n";
    assert_eq!(text, want);
}

#[test]
fn squares_are_products() {
    for dtype in [DType::F64, DType::F32, DType::F16, DType::BF16, DType::I32, DType::UI8] {
        let mut b = Builder::default();
        let x = input(&mut b, dtype, &[3000]);
        let two = number(&mut b, dtype, 2.0, &[3000]);
        let y = binary(&mut b, Binary::pow, x, two);
        let text = agrees(&b.finish(vec![y]), 5);
        assert!(text.contains(": mul;"), "{text}");
    }
    // Complex powers have rules of their own.
    let mut b = Builder::default();
    let x = input(&mut b, DType::C64, &[3000]);
    let two = number(&mut b, DType::C64, 2.0, &[3000]);
    let y = binary(&mut b, Binary::pow, x, two);
    assert!(agrees(&b.finish(vec![y]), 6).contains("pow"));
}

#[test]
fn pairs_of_arithmetic_agree_with_single_steps() {
    let steps = [Binary::add, Binary::sub, Binary::mul];
    let dtypes = [
        DType::F32,
        DType::F64,
        DType::F16,
        DType::C64,
        DType::I8,
        DType::UI8,
        DType::I16,
        DType::UI16,
        DType::I32,
        DType::UI32,
        DType::I64,
        DType::UI64,
        DType::I1,
    ];
    for dtype in dtypes {
        for n in [1, 7, TILE + 5] {
            let mut b = Builder::default();
            let [x, y, z] = [0; 3].map(|_| input(&mut b, dtype, &[n]));
            let c = number(&mut b, dtype, 1.0, &[n]);
            let mut outputs = Vec::new();
            for first in steps {
                for second in steps {
                    if dtype == DType::I1 && (first == Binary::sub || second == Binary::sub) {
                        continue;
                    }
                    let made = binary(&mut b, first, x, y);
                    outputs.push(binary(&mut b, second, made, z));
                    let made = binary(&mut b, first, z, y);
                    outputs.push(binary(&mut b, second, x, made));
                    // With a constant, and with what others read too.
                    let made = binary(&mut b, first, z, c);
                    let twice = binary(&mut b, second, c, made);
                    outputs.push(twice);
                    outputs.push(binary(&mut b, second, twice, x));
                    let made = binary(&mut b, first, z, x);
                    outputs.push(binary(&mut b, second, made, made));
                }
            }
            agrees(&b.finish(outputs), n as u64);
        }
    }
}

#[test]
fn random_bits_do_not_part_the_group_of_those_who_read_them() {
    let mut b = Builder::default();
    let mut state = input(&mut b, DType::UI64, &[2]);
    let mut total = input(&mut b, DType::UI64, &[3]);
    for _ in 0..4 {
        let op = RngBits {
            algorithm: Algorithm::ThreeFry,
            dtype: DType::UI64,
            shape: shape(&[3]),
            with_state: true,
        };
        let drawn = b.node(Op::RngBits(op), &[state]).unwrap();
        let doubled = binary(&mut b, Binary::mul, drawn[1], total);
        (state, total) = (drawn[0], binary(&mut b, Binary::add, doubled, total));
    }
    let text = agrees(&b.finish(vec![total, state]), 3);
    assert_eq!(steps(&text), 2, "{text}");
}

#[test]
fn large_results_that_leave_the_program_are_whole() {
    // More than 2 MiB each: they are stored past the caches, in pieces that threads share, unless a later
    // step reads them.
    let n = 700_001;
    let mut b = Builder::default();
    let [x, y] = [0; 2].map(|_| input(&mut b, DType::F32, &[n]));
    let z = binary(&mut b, Binary::mul, x, y);
    let w = binary(&mut b, Binary::sub, z, x);
    let wide = convert(&mut b, DType::F64, w);
    let sum = reduce(&mut b, Fold::Sum, z, &[0]);
    let less = broadcast(&mut b, sum, &[n], &[]);
    let less = binary(&mut b, Binary::sub, z, less);
    agrees(&b.finish(vec![z, w, wide, sum, less]), 4);
}

/// The product over a dimension of each.
fn product(b: &mut Builder, x: Value, i: usize, y: Value, j: usize) -> Value {
    let product = DotGeneral { contracting: [vec![Axis(i)], vec![Axis(j)]], batching: [vec![], vec![]] };
    b.node1(Op::DotGeneral(product), &[x, y]).unwrap()
}

#[test]
fn products_with_vectors_are_part_of_groups() {
    let sizes = [
        (1, 1),
        (5, 1),
        (1, 5),
        (20, 20),
        (7, 3),
        (TILE, 20),
        (TILE + 1, 1),
        (3000, 63),
        (3000, 64),
        (2500, 128),
        (40_003, 20),
    ];
    for (seed, (n, p)) in sizes.into_iter().enumerate() {
        for (dtype, turned, column) in [
            (DType::F32, false, false),
            (DType::F64, true, false),
            (DType::F32, true, true),
            (DType::F64, false, true),
        ] {
            let mut b = Builder::default();
            let given = input(&mut b, dtype, &if turned { [p, n] } else { [n, p] });
            let x = if turned { transpose(&mut b, given) } else { given };
            let of = |k: usize| if column { vec![k, 1] } else { vec![k] };
            let (w, y) = (input(&mut b, dtype, &of(p)), input(&mut b, dtype, &of(n)));
            let eta = product(&mut b, x, 1, w, 0);
            let mean = unary(&mut b, Unary::logistic, eta);
            let rest = binary(&mut b, Binary::sub, mean, y);
            // The vector first, and the matrix.
            let slope = if column { product(&mut b, rest, 0, x, 0) } else { product(&mut b, x, 0, rest, 0) };
            let squares = product(&mut b, y, 0, rest, 0);
            let all = if column { vec![0, 1] } else { vec![0] };
            let loss = reduce(&mut b, Fold::Sum, rest, &all);
            let text = agrees(&b.finish(vec![slope, loss, squares]), seed as u64);
            let groups = text.lines().filter(|line| line.contains("group of")).count();
            // Matrices of 128 columns of doubles, and what a row is longer than a column is made of, are
            // steps of their own.
            let narrow = TILE * p * dtype.bytes() <= 1 << 19 && n > p;
            assert!(!narrow || (steps(&text), groups) == (1, 1), "{n} {p} {dtype}\n{text}");
        }
    }
}

#[test]
fn products_read_what_is_in_memory() {
    for (n, p) in [(30, 30), (2000, 40), (2000, 1)] {
        let mut b = Builder::default();
        let (x, w, y) = (
            input(&mut b, DType::F64, &[n, p]),
            input(&mut b, DType::F64, &[p]),
            input(&mut b, DType::F64, &[n]),
        );
        // A vector and a matrix that groups make, of as many elements as what is made of them.
        let w = unary(&mut b, Unary::tanh, w);
        let square = binary(&mut b, Binary::mul, x, x);
        let eta = product(&mut b, square, 1, w, 0);
        let eta = binary(&mut b, Binary::add, eta, y);
        // Shares of all, as of a softmax, and sums with the rows of a matrix of the group.
        let most = reduce(&mut b, Fold::Max, eta, &[0]);
        let most = broadcast(&mut b, most, &[n], &[]);
        let less = binary(&mut b, Binary::sub, eta, most);
        let exp = unary(&mut b, Unary::exp, less);
        let sum = reduce(&mut b, Fold::Sum, exp, &[0]);
        let sum = broadcast(&mut b, sum, &[n], &[]);
        let share = binary(&mut b, Binary::div, exp, sum);
        let back = product(&mut b, share, 0, square, 0);
        let own = product(&mut b, share, 0, share, 0);
        let ones = number(&mut b, DType::F64, 1.0, &[n]);
        let sums = product(&mut b, ones, 0, x, 0);
        let next = binary(&mut b, Binary::sub, w, back);
        let again = product(&mut b, x, 1, next, 0);
        agrees(&b.finish(vec![next, own, sums, again, share]), n as u64);
    }
}

#[test]
fn random_bits_are_made_where_they_are_read() {
    for algorithm in [Algorithm::ThreeFry, Algorithm::Philox] {
        for sizes in
            [&[1][..], &[7], &[16], &[17], &[3 * TILE + 5], &[33, 70], &[70_001, 3], &[2, 3, 901], &[0]]
        {
            for (dtype, float) in
                [(DType::I32, DType::F32), (DType::I64, DType::F64), (DType::UI8, DType::F32)]
            {
                let mut b = Builder::default();
                // A state that is a view, of which a group makes another.
                let states = input(&mut b, DType::UI64, &[3, 2]);
                let section = StaticSlice { start: vec![1, 0], limit: vec![2, 2], stride: vec![1, 1] };
                let state = b.node1(Op::StaticSlice(section), &[states]).unwrap();
                let state = b
                    .node1(Op::Reshape(Reshape { shape: shape(&[2]), order: Order::Column }), &[state])
                    .unwrap();
                let op =
                    |with_state| Op::RngBits(RngBits { algorithm, dtype, shape: shape(sizes), with_state });
                let drawn = b.node(op(true), &[state]).unwrap();
                let numbers = convert(&mut b, float, drawn[1]);
                let one = unary(&mut b, Unary::sin, numbers);
                let again = b.node(op(true), &[drawn[0]]).unwrap();
                let two = convert(&mut b, float, again[1]);
                let y = binary(&mut b, Binary::mul, one, two);
                let all: Vec<usize> = (0..sizes.len()).collect();
                let sum = reduce(&mut b, Fold::Sum, y, &all);
                let text = agrees(&b.finish(vec![y, sum, again[0]]), 5);
                let long = text.lines().filter(|line| line.contains("rng_bits")).count();
                assert!(sizes == [0] || long <= 2, "{text}");
                assert!(sizes.len() == 1 || !text.lines().any(|line| line.contains(". rng_bits")), "{text}");
            }
        }
    }
}

fn beside(b: &mut Builder, values: &[Value], axis: usize) -> Value {
    b.node1(Op::Concatenate(Concatenate { axis: Axis(axis) }), values).unwrap()
}

#[test]
fn what_is_joined_end_to_end_is_made_there() {
    for n in [1, 5, 700, 70_001] {
        let mut b = Builder::default();
        let (x, y) = (input(&mut b, DType::F32, &[n, 1]), input(&mut b, DType::F32, &[n, 2]));
        let one = unary(&mut b, Unary::exp, x);
        let two = unary(&mut b, Unary::sin, y);
        let inner = beside(&mut b, &[one, two], 1);
        let three = binary(&mut b, Binary::mul, x, one);
        let all = beside(&mut b, &[three, inner], 1);
        // Parts are read after their whole, and a whole that dies where its part is read otherwise.
        let sum = reduce(&mut b, Fold::Sum, two, &[0]);
        let wide = broadcast(&mut b, one, &[n, 3], &[0, 1]);
        let late = binary(&mut b, Binary::sub, inner, wide);
        let text = agrees(&b.finish(vec![all, sum, late]), n as u64);
        assert!(!text.contains("concatenate"), "{text}");
        // Along another dimension, twice the same, or an input: a step.
        let mut b = Builder::default();
        let x = input(&mut b, DType::F32, &[n, 2]);
        let y = unary(&mut b, Unary::exp, x);
        let rows = beside(&mut b, &[y, y], 0);
        let twice = beside(&mut b, &[y, y], 1);
        let given = beside(&mut b, &[x, y], 1);
        let text = agrees(&b.finish(vec![rows, twice, given]), n as u64);
        assert_eq!(text.lines().filter(|line| line.contains("concatenate")).count(), 3, "{text}");
    }
}

#[test]
fn what_is_computed_of_a_product_is_part_of_its_step() {
    let sizes = [
        (2, 1, 2),
        (3, 5, 7),
        (40, 32, 40),
        (33, 300, 31),
        (128, 70, 300),
        (700, 9, 260),
        (1500, 40, 500),
        (5000, 30, 9),
    ];
    for (seed, (m, k, n)) in sizes.into_iter().enumerate() {
        for (dtype, turned) in
            [(DType::F32, false), (DType::F64, true), (DType::F32, true), (DType::F64, false)]
        {
            let mut b = Builder::default();
            let (x, w) =
                (input(&mut b, dtype, &if turned { [k, m] } else { [m, k] }), input(&mut b, dtype, &[k, n]));
            let (bias, other) = (input(&mut b, dtype, &[n]), input(&mut b, dtype, &[m, n]));
            let xw = product(&mut b, x, usize::from(!turned), w, 0);
            let bias = broadcast(&mut b, bias, &[m, n], &[1]);
            let eta = binary(&mut b, Binary::add, xw, bias);
            let zero = number(&mut b, dtype, 0.0, &[m, n]);
            let hidden = binary(&mut b, Binary::max, eta, zero);
            // As in a step of gradient descent, in the place of what it begins with.
            let rate = number(&mut b, dtype, 0.1, &[m, n]);
            let step = binary(&mut b, Binary::mul, rate, xw);
            let next = binary(&mut b, Binary::sub, other, step);
            let text = agrees(&b.finish(vec![hidden, next]), seed as u64);
            let narrow = m * k * n * 50 > 30_000_000 && n < 256;
            assert!(steps(&text) == if narrow { 2 } else { 1 }, "{m} {k} {n} {dtype}\n{text}");
        }
    }
}

#[test]
fn a_product_may_be_read_as_a_whole_and_folded() {
    for n in [5, 30, 200, 300] {
        let mut b = Builder::default();
        let (x, y) = (input(&mut b, DType::F64, &[n, n]), input(&mut b, DType::F64, &[n, n]));
        let xy = product(&mut b, x, 1, y, 0);
        let exp = unary(&mut b, Unary::sin, xy);
        // Both of this one's operands, one turned, are made by the group before.
        let turned = transpose(&mut b, exp);
        let again = product(&mut b, turned, 1, xy, 0);
        let less = binary(&mut b, Binary::sub, again, exp);
        let squares = binary(&mut b, Binary::mul, less, less);
        let (sum, columns, rows) = (
            reduce(&mut b, Fold::Sum, squares, &[0, 1]),
            reduce(&mut b, Fold::Sum, less, &[0]),
            reduce(&mut b, Fold::Sum, xy, &[1]),
        );
        agrees(&b.finish(vec![sum, columns, rows, again]), n as u64);
    }
}

#[test]
fn elements_are_picked_where_they_are_read() {
    for n in [1, 2, 255, 257, 2 * TILE + 3, 70_001] {
        for (dtype, index) in [
            (DType::F32, DType::I32),
            (DType::F64, DType::I8),
            (DType::I1, DType::I64),
            (DType::C64, DType::UI64),
        ] {
            let mut b = Builder::default();
            let (x, i) = (input(&mut b, dtype, &[n]), input(&mut b, index, &[n, 1]));
            // What is picked from is in another unit, has the size of what is picked, and a layout of its
            // own.
            let table = if dtype == DType::F32 { unary(&mut b, Unary::exp, x) } else { x };
            let table = b.node1(Op::Reverse(Reverse { axes: vec![Axis(0)] }), &[table]).unwrap();
            let one = number(&mut b, index, 1.0, &[n, 1]);
            let less = binary(&mut b, Binary::sub, i, one);
            let picked = b.node1(Op::Gather(Gather::along(Axis(0), &shape(&[n]))), &[table, less]).unwrap();
            let again = b.node1(Op::Gather(Gather::along(Axis(0), &shape(&[n]))), &[x, i]).unwrap();
            let same = b.node1(Op::Compare(Compare::eq), &[picked, again]).unwrap();
            let text = agrees(&b.finish(vec![picked, same]), n as u64);
            assert!(!text.contains(". gather"), "{text}");
        }
    }
}
