//! Sums of shifted slices, and their gradients: what is padded in several ways is written once, and read in place.

mod common;

use anvil_core::dtype::DType;
use anvil_core::exec::reference::evaluate;
use anvil_core::exec::Executable;
use anvil_core::graph::Value;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::ops::*;
use anvil_core::passes::pads;
use anvil_core::shape::Shape;
use anvil_core::tensor::{Aval, Literal};
use common::{disagreement, random_tensor, Rng};

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
        let inputs: Vec<AlignedBytes> =
            graph.inputs().iter().map(|&v| random_tensor(&mut rng, graph.aval(v))).collect();
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
