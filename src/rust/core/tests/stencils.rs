//! Sums of shifted slices, and their gradients: what is padded in several ways is written once, and read in place;
//! what has a frame around it is computed in its place.

mod common;

use anvil_core::dtype::{DType, Ranked};
use anvil_core::exec::reference::evaluate;
use anvil_core::exec::Executable;
use anvil_core::graph::Value;
use anvil_core::ops::*;
use anvil_core::passes::pads;
use anvil_core::shape::Shape;
use anvil_core::tensor::{Aval, Literal};
use common::{disagreement, random_inputs, Rng};
use std::sync::Arc;

fn node(b: &mut Builder, op: impl Into<Op>, operands: &[Value]) -> Value {
    b.node1(op.into(), operands).unwrap()
}

/// Random pads of a value to one shape.
fn padded(b: &mut Builder, x: Value, rng: &mut Rng, sizes: &[usize], count: usize) -> Vec<Value> {
    let shape = b.graph().aval(x).shape.clone();
    let interior: Vec<usize> =
        shape.iter().map(|_| if rng.one_in(4) { 1 + rng.below(2) } else { 0 }).collect();
    let values = [0.0, -0.0, 2.5].map(|value: f64| b.literal(Literal::new(value), None));
    let mut pads = vec![];
    for _ in 0..count {
        let value = values[if rng.one_in(6) { 1 + rng.below(2) } else { 0 }];
        let own = if rng.one_in(6) { vec![0; shape.rank()] } else { interior.clone() };
        let (mut low, mut high) = (vec![], vec![]);
        for (axis, &size) in shape.iter().enumerate() {
            let dilated = size + size.saturating_sub(1) * own[axis];
            let more = sizes[axis] as i64 - dilated as i64;
            // What is cut off at one end is padded at the other.
            low.push(
                rng.below(more.unsigned_abs() as usize + 3) as i64 * more.signum() + rng.below(3) as i64 - 1,
            );
            high.push(more - low[axis]);
        }
        pads.push(node(b, Pad { low, high, interior: own }, &[x, value]));
    }
    pads
}

#[test]
fn random_pads_of_one_value_agree_with_the_reference() {
    let mut joined = 0;
    for seed in 0..2_000 {
        let mut rng = Rng::new(seed);
        let mut b = Builder::default();
        let rank = 1 + rng.below(3);
        let shape: Vec<usize> = (0..rank)
            .map(|_| {
                let most = if rng.one_in(12) { 2 } else { 12 };
                rng.below(most)
            })
            .collect();
        let sizes: Vec<usize> = shape.iter().map(|size| size + rng.below(5)).collect();
        let x = b.input(Aval::known(DType::F64, Shape::try_new(shape).unwrap()));
        let x = node(&mut b, Unary::negate, &[x]);
        let count = 2 + rng.below(5);
        let pads_of_x = padded(&mut b, x, &mut rng, &sizes, count);
        let sum = pads_of_x.iter().copied().reduce(|sum, v| node(&mut b, Binary::add, &[sum, v])).unwrap();
        let mut outputs = vec![sum];
        outputs.extend(rng.one_in(4).then_some(x));
        outputs.extend(rng.one_in(4).then_some(pads_of_x[0]));
        let graph = b.finish(outputs);
        let inputs = random_inputs(&mut rng, &graph);
        if let Some(what) = disagreement(&graph, &inputs, &[], &[]) {
            panic!("seed {seed}: {what}\n{graph}");
        }
        let Some(one) = pads(&graph).unwrap() else { continue };
        let all: Vec<&[u8]> = inputs.iter().map(|x| x.as_slice()).collect();
        let of = |graph: &Graph| evaluate(graph, &all, &[]).unwrap();
        assert!(of(&graph) == of(&one), "seed {seed}: other results from one pad\n{graph}\n{one}");
        joined += 1;
    }
    assert!(joined > 400, "{joined}");
}

/// The steps of the gradient of a five-point stencil on an array of this shape.
fn steps_of_gradient(rows: usize, columns: usize) -> Vec<String> {
    let mut b = Builder::default();
    let g = b.input(Aval::known(DType::F32, [rows - 2, columns - 2].into()));
    let g = node(&mut b, Unary::tanh, &[g]);
    let zero = b.literal(Literal::new(0f32), None);
    let mut pad = |at: [i64; 2]| {
        let (low, high) = (at.to_vec(), at.map(|at| 2 - at).to_vec());
        node(&mut b, Pad { low, high, interior: vec![0, 0] }, &[g, zero])
    };
    let pads = [[0, 1], [2, 1], [1, 0], [1, 2]].map(&mut pad);
    let sum = pads.into_iter().reduce(|sum, x| node(&mut b, Binary::add, &[sum, x])).unwrap();
    let plan = Executable::compile(&b.finish(vec![sum]), &[]).unwrap();
    plan.lines().iter().map(|line| line.kind.clone()).collect()
}

#[test]
fn the_gradient_of_a_stencil_writes_what_it_reads_once() {
    for (rows, columns) in [(300, 40), (16, 16), (9, 1000)] {
        let steps = steps_of_gradient(rows, columns);
        assert_eq!(steps.iter().filter(|step| **step == "pad").count(), 1, "{steps:?}");
    }
}

/// A part of a value, from these positions on.
fn part(b: &mut Builder, x: Value, start: &[usize], sizes: &[usize]) -> Value {
    let limit = start.iter().zip(sizes).map(|(start, size)| start + size).collect();
    node(b, StaticSlice { start: start.to_vec(), limit, stride: vec![1; start.len()] }, &[x])
}

/// Many windows of few arrays, of several dtypes, are read by one address for each array.
#[test]
fn sums_of_many_windows_agree_with_the_reference() {
    for seed in 0..1_000 {
        let mut rng = Rng::new(seed);
        let rank = 2 + rng.below(2);
        let most = [90, 24][rank - 2];
        let sizes: Vec<usize> = (0..rank).map(|_| 1 + rng.below(most)).collect();
        let inner: Vec<usize> = sizes.iter().map(|&size| size - rng.below(size.min(5))).collect();
        let mut b = Builder::default();
        let shape = Shape::try_new(sizes.clone()).unwrap();
        let to = Ranked::known(*rng.choose(&[DType::F32, DType::F64]));
        let dtypes = [DType::F32, DType::F64, DType::I8, DType::I32, DType::I1];
        let arrays: Vec<Value> = (0..1 + rng.below(3))
            .map(|i| {
                let dtype = if i == 0 { to.dtype } else { *rng.choose(&dtypes) };
                b.input(Aval::known(dtype, shape.clone()))
            })
            .collect();
        let mut sum = None;
        for _ in 0..2 + rng.below(40) {
            let x = *rng.choose(&arrays);
            let start: Vec<usize> =
                sizes.iter().zip(&inner).map(|(all, size)| rng.below(all - size + 1)).collect();
            let window = part(&mut b, x, &start, &inner);
            let window = node(&mut b, Convert { to }, &[window]);
            let op = if rng.one_in(3) { Binary::sub } else { Binary::add };
            sum = Some(sum.map_or(window, |sum| node(&mut b, op, &[sum, window])));
        }
        let graph = b.finish(sum.into_iter().collect());
        let inputs = random_inputs(&mut rng, &graph);
        if let Some(what) = disagreement(&graph, &inputs, &[], &[]) {
            panic!("seed {seed}: {what}\n{graph}");
        }
    }
}

/// An update at these positions.
fn put(b: &mut Builder, x: Value, new: Value, start: &[usize]) -> Value {
    let starts = start.iter().map(|&i| b.literal(Literal::new(i as i32), None)).collect::<Vec<_>>();
    let operands: Vec<Value> = [x, new].into_iter().chain(starts).collect();
    node(b, DynamicUpdateSlice { check: Check::Silent }, &operands)
}

/// An array after a random update of a part, or a random pad of a part, by what a group makes of it.
fn framed(b: &mut Builder, x: Value, others: &[Value], rng: &mut Rng) -> Value {
    let (shape, dtype) = (b.graph().aval(x).shape.clone(), b.graph().aval(x).dtype);
    let sizes: Vec<usize> = shape.iter().map(|&size| size - rng.below(size.min(4))).collect();
    let start =
        |rng: &mut Rng| shape.iter().zip(&sizes).map(|(all, size)| rng.below(all - size + 1)).collect();
    let from: Vec<Vec<usize>> = (0..1 + rng.below(4)).map(|_| start(rng)).collect();
    let at: Vec<usize> = start(rng);
    let parts: Vec<Value> = from
        .iter()
        .map(|from| {
            let of = if rng.one_in(3) { *rng.choose(others) } else { x };
            part(b, of, from, &sizes)
        })
        .collect();
    let sum = parts.into_iter().reduce(|sum, x| node(b, Binary::add, &[sum, x])).unwrap();
    let mut new = node(b, Unary::negate, &[sum]);
    if rng.one_in(4) {
        // Not of elements of one width: kernels take turns with native code.
        let to = Ranked::known(if rng.one_in(2) { DType::I8 } else { DType::F64 });
        new = node(b, Convert { to }, &[new]);
        new = node(b, Convert { to: Ranked::known(dtype) }, &[new]);
    }
    match rng.below(4) {
        0 => {
            let low: Vec<i64> = at.iter().map(|&at| at as i64).collect();
            let high = (0..at.len()).map(|i| (shape[i] - sizes[i] - at[i]) as i64).collect();
            let value = match dtype {
                DType::F32 => b.literal(Literal::new(-0f32), None),
                DType::F64 => b.literal(Literal::new(0.5f64), None),
                _ => b.literal(Literal::new(3i8), None),
            };
            node(b, Pad { low, high, interior: vec![0; at.len()] }, &[new, value])
        }
        1 => put(b, others[rng.below(others.len())], new, &at),
        _ => put(b, x, new, &at),
    }
}

#[test]
fn random_values_in_frames_agree_with_the_reference() {
    for seed in 0..1_500 {
        let mut rng = Rng::new(seed);
        let dtype = *rng.choose(&[DType::F32, DType::F64, DType::I8]);
        let rank = 1 + rng.below(3);
        let most = [3000, 50, 14][rank - 1];
        let sizes: Vec<usize> = (0..rank).map(|_| 1 + rng.below(most)).collect();
        let aval = Aval::known(dtype, Shape::try_new(sizes).unwrap());
        let steps = |b: &mut Builder, inputs: [Value; 2], rng: &mut Rng| {
            let mut values = inputs.to_vec();
            for _ in 0..1 + rng.below(4) {
                let x = *rng.choose(&values);
                let next = framed(b, x, &values, rng);
                values.push(next);
                if rng.one_in(3) {
                    let other = *rng.choose(&values);
                    values.push(node(b, Binary::add, &[next, other]));
                }
            }
            values
        };
        let mut b = Builder::default();
        let mut x = [(); 2].map(|()| b.input(aval.clone()));
        if rng.one_in(2) {
            let mut body = Builder::default();
            let inputs = [(); 2].map(|()| body.input(aval.clone()));
            let values = steps(&mut body, inputs, &mut rng);
            let next = [(); 2].map(|()| *rng.choose(&values[1..]));
            let body = Arc::new(body.finish(next.to_vec()));
            let length = rng.below(4);
            let scan =
                Scan { body, carried: 2, sliced: 0, length, reverse: false, last: false, checkpoint: false };
            let out = b.node(Op::Scan(scan), &x).unwrap();
            x = [out[0], out[1]];
        }
        let values = steps(&mut b, x, &mut rng);
        let mut outputs = vec![values[values.len() - 1]];
        outputs.extend(rng.one_in(2).then(|| *rng.choose(&values)));
        let graph = b.finish(outputs);
        let inputs = random_inputs(&mut rng, &graph);
        for donated in [&[][..], &[0], &[1, 0]] {
            if let Some(what) = disagreement(&graph, &inputs, &[], donated) {
                panic!("seed {seed}: {what}\n{graph}");
            }
        }
    }
}

/// A loop whose body updates the inside of a matrix from all of it, and the gradient of such a body.
fn smoothed(b: &mut Builder, x: Value, backwards: bool) -> Value {
    let [rows, columns] = [40, 30];
    let sizes = [rows - 2, columns - 2];
    let starts = [[0, 1], [2, 1], [1, 0], [1, 2]];
    if !backwards {
        let parts = starts.map(|start| part(b, x, &start, &sizes));
        let new = parts.into_iter().reduce(|sum, x| node(b, Binary::add, &[sum, x])).unwrap();
        return put(b, x, new, &[1, 1]);
    }
    let zero = b.literal(Literal::new(0f32), None);
    let zeros = node(b, BroadcastInDim { shape: sizes.into(), axes: vec![] }, &[zero]);
    let mut sum = put(b, x, zeros, &[1, 1]);
    let g = part(b, x, &[1, 1], &sizes);
    let g = node(b, Unary::negate, &[g]);
    for at in starts.map(|start| start.map(|i| i as i64)) {
        let pad = Pad { low: at.to_vec(), high: at.map(|at| 2 - at).to_vec(), interior: vec![0, 0] };
        let pad = node(b, pad, &[g, zero]);
        sum = node(b, Binary::add, &[sum, pad]);
    }
    sum
}

#[test]
fn steps_of_a_stencil_in_a_loop_copy_a_frame_alone() {
    for backwards in [false, true] {
        let aval = Aval::known(DType::F32, [40, 30].into());
        let mut body = Builder::default();
        let x = body.input(aval.clone());
        let out = smoothed(&mut body, x, backwards);
        let body = Arc::new(body.finish(vec![out]));
        let mut b = Builder::default();
        let x = b.input(aval);
        let scan =
            Scan { body, carried: 1, sliced: 0, length: 3, reverse: false, last: false, checkpoint: false };
        let out = b.node(Op::Scan(scan), &[x]).unwrap();
        let plan = Executable::compile(&b.finish(out), &[]).unwrap();
        let lines = plan.lines();
        let of = |kind: &str| lines.iter().filter(|line| line.kind == kind).collect::<Vec<_>>();
        let frames = [2 * (40 + 28) * 4, (42 * 32 - 38 * 28) * 4];
        let (updates, pads) = (of("dynamic_update_slice"), of("pad"));
        if backwards {
            // Zeros are put into the gradient where it lies, when nothing else reads it: the loop holds two
            // states and the pad.
            assert!((1..64).contains(&(1 + plan.memory_plan().regions - 4 * (2 * 40 * 30 + 42 * 32))));
            assert_eq!(pads.iter().map(|line| line.written).collect::<Vec<_>>(), [frames[1]]);
        } else {
            assert_eq!(updates.iter().map(|line| line.written).collect::<Vec<_>>(), [frames[0]]);
        }
        assert_eq!(of("group").len(), 1 + usize::from(backwards), "{}", plan.describe());
        assert!(of("copy").is_empty());
    }
}
