//! Every elementwise op, on every dtype, at lengths around a tile, in every layout: the planned program and
//! the reference give the same bits.

mod common;
#[path = "common/rows.rs"]
mod row_programs;

use anvil_core::dtype::DType;
use anvil_core::exec::{Executable, Output};
use anvil_core::graph::{Operation, Value};
use anvil_core::kernels::tile::TILE;
use anvil_core::ops::{
    BroadcastInDim, Builder, Compare, Convert, Op, Reverse, Special, StaticSlice, Ternary, Transpose, Unary,
};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::{Aval, Literal};
use common::{aligned, asking, disagreement, random_inputs, random_tensor, Rng};
use std::cell::Cell;
use std::rc::Rc;

/// Matrices around the length of a tile, so that they can be transposed.
const SIZES: [[usize; 2]; 6] = [[0, 3], [1, 1], [3, 341], [32, 32], [5, 205], [17, 181]];

/// How an operand is given to the op.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Arrangement {
    Dense,
    Transposed,
    Broadcast,
    /// Every second column of a larger value, last element first.
    Backwards,
}
const PLACES: [Arrangement; 4] =
    [Arrangement::Dense, Arrangement::Transposed, Arrangement::Broadcast, Arrangement::Backwards];

/// Elementwise ops, with the number of operands.
fn ops() -> Vec<(Op, usize)> {
    let mut ops = row_programs::elementwise();
    ops.push((Op::Ternary(Ternary::Select), 3));
    ops
}

/// An operand of this shape, arranged in this way.
fn operand(b: &mut Builder, arrangement: Arrangement, dtype: DType, shape: &Shape) -> Value {
    match arrangement {
        Arrangement::Dense => b.input(Aval::known(dtype, shape.clone())),
        Arrangement::Transposed => {
            let x = b.input(Aval::known(dtype, [shape[1], shape[0]].into()));
            b.node1(Op::Transpose(Transpose { permutation: vec![Axis(1), Axis(0)] }), &[x]).unwrap()
        }
        Arrangement::Backwards => {
            let x = b.input(Aval::known(dtype, [shape[0] + 1, 2 * shape[1]].into()));
            let (limit, stride) = (vec![shape[0] + 1, 2 * shape[1]], vec![1, 2]);
            let x = b.node1(Op::StaticSlice(StaticSlice { start: vec![1, 0], limit, stride }), &[x]).unwrap();
            b.node1(Op::Reverse(Reverse { axes: vec![Axis(0), Axis(1)] }), &[x]).unwrap()
        }
        Arrangement::Broadcast => {
            let x = b.input(Aval::known(dtype, Shape::scalar()));
            b.node1(Op::BroadcastInDim(BroadcastInDim { shape: shape.clone(), axes: vec![] }), &[x]).unwrap()
        }
    }
}

#[test]
fn sizes_are_those_around_a_tile() {
    assert_eq!(SIZES.map(|[m, n]| m * n), [0, 1, TILE - 1, TILE, TILE + 1, 3 * TILE + 5]);
}

#[test]
fn elementwise_ops_agree_in_every_layout() {
    let mut rng = Rng::new(1);
    let (mut cases, mut accepted) = (0, std::collections::HashSet::new());
    for (op, arity) in ops() {
        for &dtype in DType::ALL {
            for shape in SIZES.map(Shape::from) {
                // Of functions that take microseconds some layouts of three operands are enough.
                let step = if op.get::<Special>().is_some() && arity == 3 { 11 } else { 1 };
                for layouts in (0..PLACES.len().pow(arity as u32)).step_by(step) {
                    let arrangements: Vec<Arrangement> = (0..arity)
                        .map(|i| PLACES[layouts / PLACES.len().pow(i as u32) % PLACES.len()])
                        .collect();
                    let mut b = Builder::default();
                    let first = if op == Op::Ternary(Ternary::Select) { DType::I1 } else { dtype };
                    let types = std::iter::once(first).chain(std::iter::repeat(dtype));
                    let operands: Vec<Value> = arrangements
                        .iter()
                        .zip(types)
                        .map(|(&arrangement, dtype)| operand(&mut b, arrangement, dtype, &shape))
                        .collect();
                    let Ok(result) = b.node1(op.clone(), &operands) else { continue };
                    let graph = b.finish(vec![result]);
                    let inputs = random_inputs(&mut rng, &graph);
                    if let Some(what) = disagreement(&graph, &inputs, &[], &[0]) {
                        panic!("{} on {dtype}{shape} {arrangements:?}: {what}", op.name());
                    }
                    cases += 1;
                    accepted.insert((op.name(), dtype));
                }
            }
        }
        let accepts = |d: &DType| accepted.contains(&(op.name(), *d));
        // A conversion to a real dtype loses nothing on purpose, complex numbers have parts of 32 or 64 bits,
        // and what a part of a real number is, and the absolute value of a complex one, `apply` says in other
        // ops.
        let narrows = |d: &DType| match op {
            Op::Convert(op) => d.is_complex() && !op.to.dtype.is_complex(),
            Op::Complex(_) => d.bits() == 16,
            Op::Part(_) => !d.is_complex(),
            Op::Unary(Unary::abs) => d.is_complex(),
            _ => false,
        };
        let says = |d: &DType| op.row().accepts.contains(*d) && !narrows(d);
        assert!(DType::ALL.iter().all(|d| accepts(d) == says(d)), "{}", op.name());
    }
    assert!(cases > 10_000, "{cases}");
}

#[test]
fn integers_compared_with_numbers_are_compared_as_floats() {
    let numbers = [-1e300, -300.5, -1.0, -0.5, -0.0, 0.5, 2.0, 2.5, 127.0, 255.0, 256.0, 65535.5, 4e9];
    let mut rng = Rng::new(5);
    let mut narrow = 0;
    for dtype in [DType::I8, DType::I16, DType::I32, DType::I64, DType::UI8, DType::UI16, DType::UI32] {
        for (to, &op) in
            [DType::F32, DType::F64].into_iter().flat_map(|d| Compare::ALL.iter().map(move |op| (d, op)))
        {
            for number in numbers.into_iter().chain([f64::NAN, f64::INFINITY]) {
                let mut b = Builder::default();
                let x = b.input(Aval::known(dtype, [700].into()));
                let float = b.node1(Convert::known(to), &[x]).unwrap();
                let scalar = b.literal(Literal::new(number).convert(to), None);
                let wide = b.node1(BroadcastInDim { shape: [700].into(), axes: vec![] }, &[scalar]).unwrap();
                let outputs = [[float, wide], [wide, float]].map(|operands| b.node1(op, &operands).unwrap());
                let graph = b.finish(outputs.to_vec());
                let input = [random_tensor(&mut rng, graph.aval(x))];
                assert_eq!(disagreement(&graph, &input, &[], &[]), None, "{dtype} {to} {number}\n{graph}");
                let executable = Executable::compile(&graph, &[]).unwrap();
                let converts = executable.graph().nodes().iter().any(|node| node.op.name() == "convert");
                narrow += usize::from(!converts);
            }
        }
    }
    // Of 15 numbers, i64 has none, and other dtypes those that lie in their range.
    assert!(narrow > 250, "{narrow}");
}

#[test]
fn a_program_stops_when_asked() {
    let mut b = Builder::default();
    let x = b.input(Aval::known(DType::F64, [4].into()));
    let y = b.node1(Op::Unary(Unary::exp), &[x]).unwrap();
    // Read backwards, so that the next op cannot be of the same step.
    let y = b.node1(Op::Reverse(Reverse { axes: vec![Axis(0)] }), &[y]).unwrap();
    let z = b.node1(Op::Unary(Unary::sin), &[y]).unwrap();
    let executable = Executable::compile(&b.finish(vec![z]), &[]).unwrap();
    let (input, mut out) = (aligned(&[0; 32]), aligned(&[0xA5; 32]));
    let asked = Rc::new(Cell::new(0));
    let count = asked.clone();
    let mut run = |stop_at: usize| {
        let count = count.clone();
        count.set(0);
        let outputs = vec![Output::Fresh(out.as_mut_slice())];
        let ask = move |_| count.replace(count.get() + 1) + 1 == stop_at;
        let done = asking(ask, || executable.run(&[Some(input.as_slice())], &[], outputs)).is_some();
        (done, out.as_slice().to_vec())
    };
    assert_eq!((run(2), asked.get()), ((false, vec![0xA5; 32]), 2));
    // It is none the worse for it.
    let (done, out) = run(0);
    assert!(done);
    assert_eq!(out[..8], 1f64.sin().to_ne_bytes());
}
