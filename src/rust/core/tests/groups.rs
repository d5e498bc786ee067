//! Groups of elementwise nodes in programs that loops generate; others are in `graphs.rs` and `programs.rs`
//! (random ones).

mod common;

use anvil_core::dtype::{DType, Ranked};
use anvil_core::exec::Executable;
use anvil_core::graph::Value;
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::kernels::tile::TILE;
use anvil_core::ops::layout::Order;
use anvil_core::ops::{
    Binary, BroadcastInDim, Builder, Check, Compare, DotGeneral, Gather, Graph, Iota, Op, Reduction, Reshape,
    StaticSlice, Transpose, Unary,
};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::{Aval, Literal};
use common::{disagreement, random_inputs, Rng};

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

fn broadcast(b: &mut Builder, x: Value, sizes: &[usize], axes: &[usize]) -> Value {
    let axes = axes.iter().copied().map(Axis).collect();
    b.node1(Op::BroadcastInDim(BroadcastInDim { shape: shape(sizes), axes }), &[x]).unwrap()
}

fn reduce(b: &mut Builder, fold: Fold, x: Value, axes: &[usize]) -> Value {
    let axes = axes.iter().copied().map(Axis).collect();
    b.node1(Op::Reduction(Reduction { fold, axes, drop: true }), &[x]).unwrap()
}

fn number(b: &mut Builder, dtype: DType, x: f64, sizes: &[usize]) -> Value {
    let literal = b.literal(Literal::new(x).convert(dtype), None);
    broadcast(b, literal, sizes, &[])
}

/// Holds a program to the reference, with every input given away and with none; gives the text of its plan.
fn agrees(graph: &Graph, seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let inputs = random_inputs(&mut rng, graph);
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
fn what_shares_no_operand_with_a_group_joins_that_of_its_reader() {
    // What is gathered cannot move to the group of its reader, which begins with a product of others.
    let (mut b, n) = (Builder::default(), 3 * TILE);
    let x = input(&mut b, DType::F32, &[n]);
    let index = input(&mut b, DType::I32, &[n]);
    let others = [input(&mut b, DType::F32, &[n]), input(&mut b, DType::F32, &[n])];
    let gather = Gather::along(Axis(0), &shape(&[n]), Check::Silent);
    let read = b.node1(gather, &[x, index]).unwrap();
    let first = unary(&mut b, Unary::sin, read);
    let product = binary(&mut b, Binary::mul, others[0], others[1]);
    let sum = binary(&mut b, Binary::max, first, product);
    let text = agrees(&b.finish(vec![sum]), 7);
    assert_eq!(steps(&text), 1, "{text}");
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

fn transpose(b: &mut Builder, x: Value, order: &[usize]) -> Value {
    let permutation = order.iter().copied().map(Axis).collect();
    b.node1(Transpose { permutation }, &[x]).unwrap()
}

#[test]
fn products_without_a_sum_are_fused() {
    let axes = |axes: &[usize]| axes.iter().copied().map(Axis).collect::<Vec<_>>();
    for dtype in
        [DType::F32, DType::F64, DType::I32, DType::I1, DType::UI8, DType::BF16, DType::F16, DType::C64]
    {
        // Shapes, contracted axes of one element, batching axes.
        let cases: [([&[usize]; 2], [&[usize]; 2], [&[usize]; 2]); 6] = [
            ([&[7], &[5]], [&[], &[]], [&[], &[]]),
            ([&[40, 1], &[1, 50]], [&[1], &[0]], [&[], &[]]),
            ([&[3, 1, 4], &[2, 4, 1]], [&[1], &[2]], [&[2], &[1]]),
            ([&[6, 3], &[3, 6]], [&[], &[]], [&[1, 0], &[0, 1]]),
            ([&[0, 1], &[1, 5]], [&[1], &[0]], [&[], &[]]),
            ([&[1, 1], &[1, 1]], [&[1], &[0]], [&[], &[]]),
        ];
        for ((i, (sizes, contracting, batching)), last) in
            cases.into_iter().enumerate().zip([true, false].into_iter().cycle())
        {
            for batch_last in [last, !last] {
                let mut b = Builder::default();
                let [x, y] = sizes.map(|sizes| input(&mut b, dtype, sizes));
                let (contracting, batching) = (contracting.map(axes), batching.map(axes));
                let z = b.node1(DotGeneral { contracting, batching, batch_last }, &[x, y]).unwrap();
                let z = binary(&mut b, Binary::add, z, z);
                let text = agrees(&b.finish(vec![z]), i as u64);
                let keeps = dtype.is_half() || dtype.is_complex();
                assert_eq!(text.contains("dot_general"), keeps, "{dtype:?} {i} {text}");
            }
        }
    }
}

#[test]
fn transposes_around_elementwise_ops_cancel() {
    for (sizes, order, back) in
        [(&[30, 50][..], &[1, 0][..], &[1, 0][..]), (&[4, 5, 6], &[1, 2, 0], &[2, 0, 1])]
    {
        // Of a batch that comes first: moved to the end, and back.
        let mut b = Builder::default();
        let x = input(&mut b, DType::F32, sizes);
        let y = input(&mut b, DType::F32, sizes);
        let [turned, other] = [x, y].map(|v| transpose(&mut b, v, order));
        let tanh = unary(&mut b, Unary::tanh, turned);
        let product = binary(&mut b, Binary::mul, tanh, other);
        let made = transpose(&mut b, product, back);
        let text = agrees(&b.finish(vec![made]), 3);
        assert!(steps(&text) == 1 && !text.contains("copy"), "{text}");
    }
    // One that is read in both orders stays, and so does one that would cost more gathers than it saves.
    let mut b = Builder::default();
    let [x, y, z] = [0; 3].map(|_| input(&mut b, DType::F32, &[30, 50]));
    let first = binary(&mut b, Binary::mul, x, y);
    let second = binary(&mut b, Binary::sub, first, z);
    let turned = transpose(&mut b, second, &[1, 0]);
    let sum = reduce(&mut b, Fold::Sum, second, &[0]);
    agrees(&b.finish(vec![turned, sum]), 4);
}

#[test]
fn an_outer_product_of_each_example_is_written_in_its_order() {
    // What is broadcast is read in any order: `z` is an output with the batch first, and a factor.
    let mut b = Builder::default();
    let (x, y) = (input(&mut b, DType::F32, &[20, 8]), input(&mut b, DType::F32, &[6, 20]));
    let x = transpose(&mut b, x, &[1, 0]);
    let y = unary(&mut b, Unary::exp, y);
    let batching = [vec![Axis(1)], vec![Axis(1)]];
    let op = DotGeneral { contracting: [vec![], vec![]], batching, batch_last: true };
    let z = b.node1(op, &[x, y]).unwrap();
    let z = transpose(&mut b, z, &[2, 0, 1]);
    let y = transpose(&mut b, y, &[1, 0]);
    let text = agrees(&b.finish(vec![z, y]), 5);
    assert!(!text.contains("copy") && !text.contains("dot_general"), "{text}");
}

/// As examples of `x %*% y` and of `x %*% v` have it whose axis comes first, with and without an op after it;
/// sizes whose sums would have other bits stay as they are.
#[test]
fn products_of_a_batch_that_comes_first_are_written_in_its_order() {
    let sizes = [(20, 3, 4, 5, true), (33, 3, 4, 1, true), (33, 1, 63, 2, true), (2, 3, 64, 1, false)];
    for (i, (count, m, k, n, moves)) in sizes.into_iter().enumerate() {
        for (dtype, tanh) in [(DType::F32, false), (DType::F64, true), (DType::I32, false)] {
            let mut b = Builder::default();
            let x = input(&mut b, dtype, &[count, m, k]);
            let y = input(&mut b, dtype, &[count, k, n]);
            let [x, y] = [x, y].map(|v| transpose(&mut b, v, &[1, 2, 0]));
            let batching = [vec![Axis(2)], vec![Axis(2)]];
            let op = DotGeneral { contracting: [vec![Axis(1)], vec![Axis(0)]], batching, batch_last: true };
            let mut z = b.node1(op, &[x, y]).unwrap();
            if tanh {
                z = unary(&mut b, Unary::tanh, z);
            }
            let z = transpose(&mut b, z, &[2, 0, 1]);
            let text = agrees(&b.finish(vec![z]), i as u64);
            assert_eq!(text.contains("copy"), !moves && !tanh, "{dtype:?} {m} {k} {n} {text}");
        }
    }
}

/// What is small becomes large in the group that adds it up, whatever comes between: `x + 2 y z'`, of which the
/// product is written the other way round, where its columns are short.
#[test]
fn outer_products_are_computed_where_they_are_read() {
    let sizes = [5000, 6];
    let mut b = Builder::default();
    let [x, y, z] = [&sizes[..], &sizes[..1], &sizes[1..]].map(|sizes| input(&mut b, DType::F64, sizes));
    let op = DotGeneral { contracting: [vec![], vec![]], batching: [vec![], vec![]], batch_last: false };
    let product = b.node1(op, &[z, y]).unwrap();
    let turned = transpose(&mut b, product, &[1, 0]);
    let twice = binary(&mut b, Binary::add, turned, turned);
    // The group of the sums of `x` alone comes between.
    let sums = reduce(&mut b, Fold::Sum, x, &[0]);
    let spread = broadcast(&mut b, sums, &sizes, &[1]);
    let centred = binary(&mut b, Binary::sub, x, spread);
    let made = binary(&mut b, Binary::add, centred, twice);
    let text = agrees(&b.finish(vec![made]), 5);
    assert!(steps(&text) == 1 && !text.contains("dot_general"), "{text}");
}

/// As `outer(x, y, f)` has it: `f` is called on vectors, of which each is a broadcast to a matrix, and some by row.
#[test]
fn broadcasts_that_are_read_as_vectors_are_read_where_they_are() {
    for (n, m) in [(30, 40), (3, 700), (700, 3), (1, 9), (5, 0)] {
        for by_column in [true, false] {
            let mut b = Builder::default();
            let [x, y] = [n, m].map(|size| input(&mut b, DType::F64, &[size]));
            let z = input(&mut b, DType::F64, &[n * m]);
            let order = if by_column { Order::Column } else { Order::Row };
            let [x, y] = [(x, 0), (y, 1)].map(|(v, axis)| {
                let spread = broadcast(&mut b, v, &[n, m], &[axis]);
                b.node1(Reshape { shape: shape(&[n * m]), order }, &[spread]).unwrap()
            });
            let apart = binary(&mut b, Binary::sub, x, y);
            let scaled = binary(&mut b, Binary::mul, apart, z);
            let is_less = b.node1(Op::Compare(Compare::lt), &[y, z]).unwrap();
            let text = agrees(&b.finish(vec![scaled, is_less]), 6);
            assert!(!by_column || !text.contains("reshape"), "{n} {m} {text}");
        }
    }
}

/// Softmax, and standardised elements with their means, over the last axis.
fn over_lines(b: &mut Builder, x: Value, sizes: &[usize], dtype: DType) -> Vec<Value> {
    over(b, x, sizes, dtype, sizes.len() - 1)
}

/// As [`over_lines`], over any axis.
fn over(b: &mut Builder, x: Value, sizes: &[usize], dtype: DType, axis: usize) -> Vec<Value> {
    let left: Vec<usize> = (0..sizes.len()).filter(|&i| i != axis).collect();
    let (rows, axis) = (left.iter().map(|&i| sizes[i]).collect::<Vec<usize>>(), [axis]);
    let n = number(b, dtype, sizes[axis[0]] as f64, &rows);
    let largest = reduce(b, Fold::Max, x, &axis);
    let largest = broadcast(b, largest, sizes, &left);
    let apart = binary(b, Binary::sub, x, largest);
    let e = unary(b, Unary::exp, apart);
    let sum = reduce(b, Fold::Sum, e, &axis);
    let sum = broadcast(b, sum, sizes, &left);
    let softmax = binary(b, Binary::div, e, sum);
    let sum = reduce(b, Fold::Sum, softmax, &axis);
    let mean = binary(b, Binary::div, sum, n);
    let spread = broadcast(b, mean, sizes, &left);
    let centred = binary(b, Binary::sub, softmax, spread);
    let square = binary(b, Binary::mul, centred, centred);
    let squares = reduce(b, Fold::Sum, square, &axis);
    let deviation = unary(b, Unary::sqrt, squares);
    let spread = broadcast(b, deviation, sizes, &left);
    vec![binary(b, Binary::div, centred, spread), mean, deviation]
}

#[test]
fn lines_across_columns_in_phases() {
    // Of few elements, and of many columns, in several steps.
    let shapes =
        [&[16_500, 128][..], &[1_050_000, 2], &[4097, 2, 256], &[1000, 66], &[9, 7300], &[33, 5, 400]];
    for (seed, sizes) in shapes.into_iter().enumerate() {
        let in_phases = sizes.iter().product::<usize>() > 1 << 21;
        let dtypes = if in_phases { &[DType::F32, DType::F64][..] } else { &[DType::F64, DType::BF16] };
        for &dtype in dtypes {
            let mut b = Builder::default();
            let x = input(&mut b, dtype, sizes);
            let out = over_lines(&mut b, x, sizes, dtype);
            let text = agrees(&b.finish(out), seed as u64);
            assert_eq!(steps(&text) == 1, in_phases, "{text}");
        }
        // A value that the group makes and keeps, one that it gathers, and counts, with rows of their own.
        let mut b = Builder::default();
        let (x, turned) = (input(&mut b, DType::F64, sizes), input(&mut b, DType::F64, &[sizes[0]]));
        let turned = broadcast(&mut b, turned, sizes, &[0]);
        let x = binary(&mut b, Binary::mul, x, turned);
        let mut out = over_lines(&mut b, x, sizes, DType::F64);
        let rows = &sizes[..sizes.len() - 1];
        let scale = input(&mut b, DType::F64, rows);
        let scaled = binary(&mut b, Binary::mul, scale, out[1]);
        let left: Vec<usize> = (0..rows.len()).collect();
        let spread = broadcast(&mut b, scaled, sizes, &left);
        let last = binary(&mut b, Binary::add, spread, turned);
        let last = binary(&mut b, Binary::max, last, x);
        out.extend([x, scaled, last]);
        let text = agrees(&b.finish(out), seed as u64);
        assert!(!in_phases || steps(&text) <= 2, "{text}");
    }
}

/// Lines of more than a tile, rows that are no whole blocks of them, squares of deviations, and operands that are
/// packed from any layout: transposed, repeated along columns or along rows, part of another, counts.
#[test]
fn lines_of_many_columns_in_phases() {
    for (seed, sizes) in [[577, 3700], [2100, 1001]].into_iter().enumerate() {
        // From 16 MB on.
        for (dtype, sizes) in [(DType::F64, sizes), (DType::F32, [sizes[0], 2 * sizes[1]])] {
            let mut b = Builder::default();
            let x = input(&mut b, dtype, &sizes);
            let mean = reduce(&mut b, Fold::Sum, x, &[1]);
            let squares = reduce(&mut b, Fold::Squares, x, &[1]);
            let spread = |b: &mut Builder, x| broadcast(b, x, &sizes, &[0]);
            let n = number(&mut b, dtype, sizes[1] as f64, &sizes[..1]);
            let mean = binary(&mut b, Binary::div, mean, n);
            let deviation = unary(&mut b, Unary::sqrt, squares);
            let (shift, scale) = (spread(&mut b, mean), spread(&mut b, deviation));
            let centred = binary(&mut b, Binary::sub, x, shift);
            let scaled = binary(&mut b, Binary::div, centred, scale);
            let text = agrees(&b.finish(vec![scaled, squares]), seed as u64);
            assert_eq!(steps(&text), 1, "{text}");
        }
        let mut b = Builder::default();
        let (x, y) = (input(&mut b, DType::F64, &sizes), input(&mut b, DType::F64, &[sizes[1], sizes[0]]));
        let (row, column) = (input(&mut b, DType::F64, &sizes[1..]), input(&mut b, DType::F64, &sizes[..1]));
        let long = input(&mut b, DType::F64, &[sizes[0] + 3, sizes[1]]);
        let turned = transpose(&mut b, y, &[1, 0]);
        let row = broadcast(&mut b, row, &sizes, &[1]);
        let column = broadcast(&mut b, column, &sizes, &[0]);
        let limit = vec![sizes[0] + 2, sizes[1]];
        let part = b.node1(StaticSlice { start: vec![2, 0], limit, stride: vec![1; 2] }, &[long]).unwrap();
        let count = Iota { axis: Axis(1), to: Ranked::known(DType::F64), shape: shape(&sizes), start: 0 };
        let count = b.node1(count, &[]).unwrap();
        let sum = [turned, row, column, part, count].into_iter().fold(x, |x, y| {
            let least = binary(&mut b, Binary::min, x, y);
            binary(&mut b, Binary::add, least, y)
        });
        let mut out = over_lines(&mut b, sum, &sizes, DType::F64);
        let last = binary(&mut b, Binary::mul, out[0], row);
        out.extend([sum, binary(&mut b, Binary::sub, last, turned)]);
        agrees(&b.finish(out), seed as u64);
    }
}

#[test]
fn first_of_the_largest_of_lines() {
    for sizes in [[4, 20_000], [70_000, 4], [300, 300], [4, 5]] {
        let mut b = Builder::default();
        let x = input(&mut b, DType::F32, &sizes);
        let largest = reduce(&mut b, Fold::Max, x, &[1]);
        let largest = broadcast(&mut b, largest, &sizes, &[0]);
        let apart = binary(&mut b, Binary::sub, x, largest);
        let least = reduce(&mut b, Fold::Min, apart, &[1]);
        let both = reduce(&mut b, Fold::Sum, apart, &[1]);
        agrees(&b.finish(vec![least, both, largest]), 9);
    }
}

#[test]
fn folds_of_segments_of_any_length_are_read_by_chains() {
    let lengths = [2, 4, 7, 8, 9, 16, 17, 33, 56, 66, 500, TILE, TILE + 3, 5000];
    for (seed, n) in lengths.into_iter().enumerate() {
        for dtype in [DType::F32, DType::F64, DType::BF16] {
            let mut b = Builder::default();
            let sizes = [n, 5, 7];
            let x = input(&mut b, dtype, &sizes);
            // With a part of a longer value beside, and one number for each segment.
            let long = input(&mut b, dtype, &[n, 9, 7]);
            let part = StaticSlice { start: vec![0, 2, 0], limit: vec![n, 7, 7], stride: vec![1; 3] };
            let part = b.node1(part, &[long]).unwrap();
            let mut out = over(&mut b, x, &sizes, dtype, 0);
            let mean = broadcast(&mut b, out[1], &sizes, &[1, 2]);
            let above = b.node1(Op::Compare(Compare::gt), &[part, mean]).unwrap();
            let scale = input(&mut b, dtype, &[5, 7]);
            let scale = broadcast(&mut b, scale, &sizes, &[1, 2]);
            let scaled = binary(&mut b, Binary::mul, scale, mean);
            out.extend([above, binary(&mut b, Binary::sub, scaled, part)]);
            agrees(&b.finish(out), seed as u64);
        }
    }
}

#[test]
fn lines_of_random_shapes_along_any_axis() {
    let mut rng = Rng::new(5);
    for seed in 0..24 {
        let rank = 2 + rng.below(2);
        let most = if rank == 2 { 600 } else { 60 };
        let sizes: Vec<usize> = (0..rank).map(|_| 2 + rng.below(most)).collect();
        let (axis, dtype) = (rng.below(rank), *rng.choose(&[DType::F32, DType::F64]));
        let mut b = Builder::default();
        let x = input(&mut b, dtype, &sizes);
        let mut out = over(&mut b, x, &sizes, dtype, axis);
        // What the squares of deviations are read for, too.
        let squares = reduce(&mut b, Fold::Squares, x, &[axis]);
        let left: Vec<usize> = (0..rank).filter(|&i| i != axis).collect();
        let spread = broadcast(&mut b, squares, &sizes, &left);
        out.extend([squares, binary(&mut b, Binary::div, x, spread)]);
        agrees(&b.finish(out), seed);
    }
}

#[test]
fn neighbours_on_runs_of_any_length() {
    let shapes = [
        [5, 7, 9],
        [6, 400, 1],
        [10, 9, 40],
        [12, 12, 3],
        [35, 40, 3],
        [102, 100, 1],
        [1030, 4, 3],
        [70, 8, 9],
    ];
    for (seed, sizes) in shapes.into_iter().enumerate() {
        for dtype in [DType::F32, DType::F64, DType::I8, DType::I32] {
            let mut b = Builder::default();
            let x = input(&mut b, dtype, &sizes);
            let part = |b: &mut Builder, down: usize, right: usize| {
                let limit = vec![sizes[0] - 2 + down, sizes[1] - 2 + right, sizes[2]];
                b.node1(StaticSlice { start: vec![down, right, 0], limit, stride: vec![1; 3] }, &[x]).unwrap()
            };
            let inner = [sizes[0] - 2, sizes[1] - 2, sizes[2]];
            let mut sum = part(&mut b, 1, 1);
            for (down, right) in [(0, 1), (2, 1), (1, 0), (1, 2), (2, 2)] {
                let other = part(&mut b, down, right);
                sum = binary(&mut b, if down == right { Binary::mul } else { Binary::add }, sum, other);
            }
            // One element for each column, one for each row, and a comparison that is a result.
            let (columns, rows) = (input(&mut b, dtype, &inner[1..]), input(&mut b, dtype, &inner[..1]));
            let columns = broadcast(&mut b, columns, &inner, &[1, 2]);
            let rows = broadcast(&mut b, rows, &inner, &[0]);
            let scaled = binary(&mut b, Binary::mul, sum, columns);
            let moved = binary(&mut b, Binary::sub, scaled, rows);
            let above = b.node1(Op::Compare(Compare::gt), &[moved, columns]).unwrap();
            let largest = reduce(&mut b, Fold::Max, moved, &[0, 1, 2]);
            agrees(&b.finish(vec![moved, above, largest]), seed as u64);
        }
    }
}
