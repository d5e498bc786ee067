//! Programs that replace parts of values again and again, as assignments in loops do: what is updated where it
//! lies, what must be copied before, and that both agree with the reference. Beside them what reads elements and adds to
//! elements at computed places, in groups.

mod common;

use anvil_core::dtype::{DType, Ranked};
use anvil_core::error::Error;
use anvil_core::exec::{reference, Executable, Output};
use anvil_core::graph::Value;
use anvil_core::kernels::memory::row_reads;
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::ops::*;
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::{Aval, Literal};
use common::{disagreement, random_inputs, Rng};
use std::sync::Arc;

const ROWS: usize = 40;
const COLUMNS: usize = 7;

fn node(b: &mut Builder, op: impl Into<Op>, operands: &[Value]) -> Value {
    b.node1(op.into(), operands).unwrap()
}

fn matrix() -> Aval {
    Aval::known(DType::F64, [ROWS, COLUMNS].into())
}

/// A value of one element, repeated.
fn filled(b: &mut Builder, element: Literal, sizes: &[usize]) -> Value {
    let (one, shape) = (b.literal(element, None), Shape::try_new(sizes.to_vec()).unwrap());
    node(b, BroadcastInDim { shape, axes: vec![] }, &[one])
}

/// Part of a matrix, from a start.
fn part(b: &mut Builder, x: Value, start: [usize; 2], sizes: [usize; 2]) -> Value {
    let limit = (0..2).map(|i| start[i] + sizes[i]).collect();
    node(b, StaticSlice { start: start.to_vec(), limit, stride: vec![1, 1] }, &[x])
}

fn put(b: &mut Builder, x: Value, new: Value, start: [usize; 2]) -> Value {
    let at = start.map(|i| b.literal(Literal::new(i as i32), None));
    node(b, DynamicUpdateSlice { check: Check::Silent }, &[x, new, at[0], at[1]])
}

/// The sum of a part and the parts beside it.
fn around(b: &mut Builder, x: Value) -> Value {
    let sizes = [ROWS - 2, COLUMNS - 2];
    let parts = [[1, 1], [0, 1], [2, 1], [1, 0], [1, 2]].map(|start| part(b, x, start, sizes));
    parts.into_iter().reduce(|sum, x| node(b, Binary::add, &[sum, x])).unwrap()
}

/// Adds elements to those of a vector.
fn sums(check: Check) -> Scatter {
    let Gather { windows, .. } = Gather::along(Axis(0), &[1].into(), Check::Silent);
    let (indices_are_sorted, unique_indices, update) = (false, false, Update::With(Binary::add));
    Scatter { windows, update, indices_are_sorted, unique_indices, check }
}

/// A matrix with elements added to columns that are chosen by positions, of which some are equal and some
/// outside.
fn scattered(b: &mut Builder, x: Value, rng: &mut Rng, update: Update) -> Value {
    let count = 1 + rng.below(5);
    let iota = Iota { axis: Axis(0), to: Ranked::known(DType::I32), shape: [count].into(), start: 0 };
    let positions = node(b, iota, &[]);
    let half = filled(b, Literal::new(rng.below(3) as i32), &[count]);
    let positions = node(b, Binary::mul, &[positions, half]);
    let new = filled(b, Literal::new(1.5f64), &[ROWS, count]);
    let windows = Windows {
        window_axes: vec![Axis(0)],
        dropped: vec![Axis(1)],
        batching: vec![],
        index_batching: vec![],
        index_map: vec![Axis(1)],
        index_vector_axis: Axis(1),
    };
    let (indices_are_sorted, unique_indices, check) = (false, false, Check::Silent);
    node(b, Scatter { windows, update, indices_are_sorted, unique_indices, check }, &[x, positions, new])
}

/// Updates a matrix some times, in random ways; some read the matrix as it was before, or after.
fn updated(b: &mut Builder, before: Value, rng: &mut Rng) -> Value {
    let mut x = before;
    for _ in 0..1 + rng.below(4) {
        x = match rng.below(7) {
            0 | 1 => {
                let new = around(b, x);
                put(b, x, new, [1, 1])
            }
            // A part of what is updated, as it is: it must be read before it is written.
            2 => {
                let new = part(b, x, [1, 2], [ROWS - 1, 3]);
                put(b, x, new, [0, 1])
            }
            3 => {
                let new = part(b, before, [0, 0], [5, 2]);
                put(b, x, new, [3, 4])
            }
            4 => scattered(b, x, rng, Update::Replace),
            5 => scattered(b, x, rng, Update::With(Binary::add)),
            _ => node(b, Unary::tanh, &[x]),
        };
    }
    x
}

/// A region that updates two matrices, of which the second sometimes is the first as it was.
fn body(rng: &mut Rng) -> Region {
    let mut b = Builder::default();
    let inputs = [(); 2].map(|()| b.input(matrix()));
    let first = updated(&mut b, inputs[0], rng);
    let second = match rng.below(3) {
        0 => inputs[0],
        1 => inputs[1],
        _ => updated(&mut b, inputs[1], rng),
    };
    Arc::new(b.finish(vec![first, second]))
}

#[test]
fn random_updates_agree_with_the_reference() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let mut b = Builder::default();
        let mut x = [(); 2].map(|()| b.input(matrix()));
        if rng.one_in(2) {
            let length = rng.below(4);
            let scan = Scan {
                body: body(&mut rng),
                carried: 2,
                sliced: 0,
                length,
                reverse: false,
                last: false,
                checkpoint: false,
            };
            let out = b.node(Op::Scan(scan), &x).unwrap();
            x = [out[0], out[1]];
        }
        let last = updated(&mut b, x[0], &mut rng);
        let sum = node(&mut b, Binary::add, &[x[1], last]);
        let mut outputs = vec![last];
        outputs.extend(rng.one_in(2).then_some(sum));
        outputs.extend(rng.one_in(4).then_some(x[0]));
        let graph = b.finish(outputs);
        let inputs = random_inputs(&mut rng, &graph);
        for donated in [&[][..], &[0], &[1, 0]] {
            if let Some(what) = disagreement(&graph, &inputs, &[], donated) {
                panic!("seed {seed}: {what}\n{graph}");
            }
        }
    }
}

/// Bytes that a loop with this body holds.
fn held(update: impl Fn(&mut Builder, Value) -> Value) -> usize {
    let mut b = Builder::default();
    let x = b.input(matrix());
    let out = update(&mut b, x);
    let body = Arc::new(b.finish(vec![out]));
    let mut b = Builder::default();
    let x = b.input(matrix());
    let scan =
        Scan { body, carried: 1, sliced: 0, length: 3, reverse: false, last: false, checkpoint: false };
    let out = b.node1(Op::Scan(scan), &[x]).unwrap();
    Executable::compile(&b.finish(vec![out]), &[]).unwrap().memory_plan().regions
}

#[test]
fn a_loop_holds_what_it_updates_once() {
    let bytes = matrix().bytes();
    let element = |b: &mut Builder, x| {
        let new = filled(b, Literal::new(2f64), &[1, 1]);
        put(b, x, new, [3, 3])
    };
    assert_eq!(held(element), bytes);
    // One update after the other, of which the first is made of all before, in its place in the next value.
    let twice = |b: &mut Builder, x| {
        let new = around(b, x);
        let x = put(b, x, new, [1, 1]);
        element(b, x)
    };
    assert_eq!(held(twice), 2 * bytes);
    // What is read where it is written is copied.
    let moved = |b: &mut Builder, x| {
        let new = part(b, x, [1, 0], [ROWS - 1, COLUMNS]);
        put(b, x, new, [0, 0])
    };
    assert_eq!(held(moved), 2 * bytes);
}

#[test]
fn a_list_of_updates_is_the_same_in_any_number_of_shares() {
    // Long enough to be shared, with positions that ascend, or not, with few places, or many.
    use anvil_core::kernels::threads::want;
    for (places, step) in [(3usize, 1usize), (3, 0), (1000, 7), (600_000, 1), (600_000, 7919)] {
        let count = 20_000;
        let mut b = Builder::default();
        let x = b.input(Aval::known(DType::F64, [places].into()));
        let new = b.input(Aval::known(DType::F64, [count].into()));
        let at = b.input(Aval::known(DType::I32, [count].into()));
        let scatter = sums(Check::Silent);
        let out = node(&mut b, scatter, &[x, at, new]);
        let graph = b.finish(vec![out]);
        let mut rng = Rng::new(places as u64);
        let mut inputs = random_inputs(&mut rng, &graph);
        let position = |i: usize| match step {
            // Sorted, in runs.
            0 => i * places / count,
            _ => i * step % (places + 1),
        };
        let positions: Vec<u8> = (0..count).flat_map(|i| (position(i) as i32).to_ne_bytes()).collect();
        inputs[2] = common::aligned(&positions);
        for threads in [1, 2, 4] {
            want(Some(threads)).unwrap();
            if let Some(what) = disagreement(&graph, &inputs, &[], &[]) {
                panic!("{places} places, {threads} threads: {what}");
            }
        }
        want(None).unwrap();
    }
}

#[test]
fn a_fill_that_updates_is_one_element() {
    let mut b = Builder::default();
    let x = b.input(matrix());
    let ones = filled(&mut b, Literal::new(1f64), &[ROWS, 3]);
    let out = put(&mut b, x, ones, [0, 2]);
    let plan = Executable::compile(&b.finish(vec![out]), &[]).unwrap();
    assert_eq!((plan.lines().len(), plan.scratch_bytes()), (1, 0), "{}", plan.describe());
}

#[test]
fn sums_of_few_places_are_those_of_one_element_after_the_other() {
    use anvil_core::kernels::threads::want;
    let sizes = [
        (5, 3),
        (1000, 3),
        (1025, 70),
        (3000, 2999),
        (9000, 300),
        (20_000, 3),
        (20_000, 4000),
        (150_000, 146),
    ];
    for (number, (count, places)) in sizes.into_iter().enumerate() {
        for (dtype, index) in [(DType::I32, DType::I32), (DType::F64, DType::I64), (DType::F32, DType::I32)] {
            // Of products, at places that are computed: positions from 1 on, some outside. And how many there are.
            let mut b = Builder::default();
            let [x, y] = [0; 2].map(|_| b.input(Aval::known(dtype, [count].into())));
            let at = b.input(Aval::known(index, [count].into()));
            let one = filled(&mut b, Literal::new(1).convert(index), &[count]);
            let at = node(&mut b, Binary::sub, &[at, one]);
            let product = node(&mut b, Binary::mul, &[x, y]);
            let start = filled(&mut b, Literal::new(2).convert(dtype), &[places]);
            let sum = node(&mut b, sums(Check::Silent), &[start, at, product]);
            let (none, ones) =
                (filled(&mut b, Literal::new(0), &[places]), filled(&mut b, Literal::new(1), &[count]));
            let counts = node(&mut b, sums(Check::Silent), &[none, at, ones]);
            let graph = b.finish(vec![sum, product, counts]);
            let mut rng = Rng::new(number as u64);
            let mut inputs = random_inputs(&mut rng, &graph);
            let positions: Vec<i64> = (0..count).map(|_| rng.below(places + 2) as i64).collect();
            let bytes: Vec<u8> = match index {
                DType::I64 => positions.iter().flat_map(|x| x.to_ne_bytes()).collect(),
                _ => positions.iter().flat_map(|&x| (x as i32).to_ne_bytes()).collect(),
            };
            inputs[2] = common::aligned(&bytes);
            for threads in [1, 2, 5] {
                want(Some(threads)).unwrap();
                if let Some(what) = disagreement(&graph, &inputs, &[], &[]) {
                    panic!("{count} {dtype} at {places}, {threads} threads: {what}");
                }
            }
            want(None).unwrap();
            let text = Executable::compile(&graph, &[]).unwrap().describe();
            let is_one = places * 16 <= count || count <= 1 << 13;
            assert_eq!(!text.contains(". scatter;"), is_one, "{count} at {places}: {text}");
            // The reference runs the op's kernel, too: integers are added here, one after the other.
            let operands: Vec<&[u8]> = inputs.iter().map(|x| x.as_slice()).collect();
            let results = reference::evaluate(&graph, &operands, &[]).unwrap();
            let (mut wanted, mut numbers) = (vec![2i32; places], vec![0i32; places]);
            let products = results[1].chunks_exact(4).map(|x| i32::from_ne_bytes(x.try_into().unwrap()));
            let inside = |&at: &i64| (1..=places as i64).contains(&at).then(|| at as usize - 1);
            positions.iter().filter_map(inside).for_each(|at| numbers[at] += 1);
            assert_eq!(results[2], numbers.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<_>>());
            if dtype == DType::I32 {
                for (at, product) in positions.iter().zip(products) {
                    if let Some(at) = inside(at) {
                        wanted[at] = wanted[at].wrapping_add(product);
                    }
                }
                assert_eq!(results[0], wanted.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn a_place_that_is_outside_is_named_in_a_group() {
    let (count, places) = (100_000, 7);
    let mut b = Builder::default();
    let x = b.input(Aval::known(DType::F64, [count].into()));
    let at = b.input(Aval::known(DType::I32, [count].into()));
    let square = node(&mut b, Binary::mul, &[x, x]);
    let start = filled(&mut b, Literal::new(0f64), &[places]);
    let sum = node(&mut b, sums(Check::Raises(Site::default())), &[start, at, square]);
    let graph = b.finish(vec![sum]);
    let mut inputs = random_inputs(&mut Rng::new(1), &graph);
    let mut positions: Vec<i32> = (0..count as i32).map(|i| i % 7).collect();
    (positions[60_000], positions[70_001]) = (7, -1);
    inputs[1] = common::aligned(&positions.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<_>>());
    let program = Executable::compile(&graph, &[]).unwrap();
    let mut out = vec![0u8; places * 8];
    let operands: Vec<Option<&[u8]>> = inputs.iter().map(|x| Some(x.as_slice())).collect();
    let error = program.run(&operands, &[], vec![Output::Fresh(&mut out)]).unwrap_err();
    assert!(matches!(error, Error::IndexOutOfRange { value: 8, size: 7, .. }), "{error}");
}

#[test]
fn slices_along_an_axis_are_read_in_groups() {
    // Of matrices and others, from one line, some, or all after the other; few, many, or one.
    let sizes: [(&[usize], usize, bool); 6] = [
        (&[50, 90], 0, false),
        (&[50, 90], 1, false),
        (&[50, 90], 0, true),
        (&[50, 90], 1, true),
        (&[6, 30, 5], 1, false),
        (&[3, 4, 9], 0, false),
    ];
    for (number, (sizes, axis, turned)) in sizes.into_iter().enumerate() {
        for (count, index) in [(1, DType::I32), (7, DType::I64), (300, DType::I32), (2000, DType::UI8)] {
            let mut b = Builder::default();
            let mut x = b.input(Aval::known(DType::F32, Shape::try_new(sizes.to_vec()).unwrap()));
            let mut shape = sizes.to_vec();
            if turned {
                x = node(&mut b, Transpose { permutation: vec![Axis(1), Axis(0)] }, &[x]);
                shape.reverse();
            }
            // All but the first of the positions.
            let at = b.input(Aval::known(index, [count + 1].into()));
            let at =
                node(&mut b, StaticSlice { start: vec![1], limit: vec![count + 1], stride: vec![1] }, &[at]);
            let gather = Gather::along(Axis(axis), &Shape::try_new(shape.clone()).unwrap(), Check::Silent);
            let picked = node(&mut b, gather, &[x, at]);
            shape[axis] = count;
            let y = b.input(Aval::known(DType::F32, Shape::try_new(shape).unwrap()));
            let product = node(&mut b, Binary::mul, &[picked, y]);
            let sum = Reduction { fold: Fold::Sum, axes: vec![Axis(0)], drop: true };
            let sum = node(&mut b, sum, &[product]);
            let graph = b.finish(vec![product, sum]);
            let inputs = random_inputs(&mut Rng::new(number as u64), &graph);
            if let Some(what) = disagreement(&graph, &inputs, &[], &[]) {
                panic!("{count} of {sizes:?} along {axis}: {what}");
            }
            let text = Executable::compile(&graph, &[]).unwrap().describe();
            // Many rows are read side by side in all columns, before the group.
            let whole =
                axis == 0 && !turned && row_reads::is_worth(count, sizes[0], sizes[1..].iter().product(), 4);
            let steps = if whole { "\n2 steps," } else { "\n1 step," };
            assert!(text.contains(steps), "{sizes:?} along {axis}: {text}");
        }
    }
}
