//! Gradients of values that are read part by part: each is added to its part of the sum, where that lies.

mod common;
#[path = "common/gradients.rs"]
mod gradients;

use anvil_core::dtype::DType;
use anvil_core::exec::{Executable, Output};
use anvil_core::graph::Value;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::ops::attrs::{Attr, Attrs};
use anvil_core::ops::{Binary, Builder, Graph, Op, Pad};
use anvil_core::passes::optimise;
use anvil_core::shape::Shape;
use anvil_core::tensor::{Aval, Literal};
use gradients::{gradient, integers, numbers, op, run};

/// Elements of the value that is read.
const SIZE: usize = 3000;

/// A way to read some of them, by the number of a read, and the positions that are read.
type Read = (fn(&mut Builder, Value, usize) -> Value, fn(usize) -> Vec<usize>);

/// One element, a window from a computed start, and elements at positions of which two are equal.
const READS: [Read; 3] = [
    (
        |b, x, i| {
            let range = Attrs::new()
                .with("start_indices", numbers(&[7 * i + 1]))
                .with("limit_indices", numbers(&[7 * i + 1]));
            op(b, "static_slice", &[x], &range)
        },
        |i| vec![7 * i],
    ),
    (
        |b, x, i| {
            // Counts from 1, and is moved so that the window fits.
            let start = b.literal(Literal::new(SIZE as i32 + 1 - i as i32), None);
            let window =
                Attrs::new().with("slice_sizes", numbers(&[3])).with("mode", Attr::Text("clip".into()));
            op(b, "dynamic_slice", &[x, start], &window)
        },
        |i| (0..3).map(|k| (SIZE - i).min(SIZE - 3) + k).collect(),
    ),
    (
        |b, x, i| {
            let at = integers(b, &[i as i32 + 1, 2, i as i32 + 1], &[3]);
            let windows = Attrs::new()
                .with("slice_sizes", numbers(&[1]))
                .with("offset_axes", numbers(&[]))
                .with("collapsed_slice_axes", numbers(&[1]))
                .with("start_index_map", numbers(&[1]))
                .with("index_vector_axis", numbers(&[2]))
                .with("indices_are_sorted", Attr::Logical(false))
                .with("mode", Attr::Text("clip".into()));
            op(b, "gather", &[x, at], &windows)
        },
        |i| vec![i, 1, i],
    ),
];

/// The sum of squares of a value, and of so many reads, each weighed by its number from 1 on.
fn program(reads: &[usize], count: usize) -> Graph {
    let mut b = Builder::default();
    let x = b.input(Aval::known(DType::F64, [SIZE].into()));
    let sum = |b: &mut Builder, x: Value| {
        let all = Attrs::new().with("axes", Attr::Null).with("drop", Attr::Logical(true));
        op(b, "reduce_sum", &[x], &all)
    };
    let squares = op(&mut b, "mul", &[x, x], &Attrs::new());
    let mut total = sum(&mut b, squares);
    for i in 0..count {
        for &read in reads {
            let (part, weight) = (READS[read].0(&mut b, x, i), b.literal(Literal::new((i + 1) as f64), None));
            let part = sum(&mut b, part);
            let weighed = op(&mut b, "mul", &[part, weight], &Attrs::new());
            total = op(&mut b, "add", &[total, weighed], &Attrs::new());
        }
    }
    b.finish(vec![total])
}

/// Nodes that add two values of full size, or fill one up, and are in the program.
fn whole(graph: &Graph) -> usize {
    let graph = optimise(graph).unwrap();
    let is = |op: &Op| op.get::<Binary>() == Some(&Binary::add) || op.get::<Pad>().is_some();
    let full = |v: Value| graph.aval(v).shape.size() == SIZE;
    graph.nodes().iter().filter(|node| is(&node.op) && full(node.results[0])).count()
}

#[test]
fn gradients_of_parts_are_added_to_parts() {
    let shapes: [Shape; 1] = [[SIZE].into()];
    // Whole numbers, so that sums are exact in any order.
    let x: Vec<f64> = (0..SIZE).map(|i| (i % 100) as f64).collect();
    for reads in [&[0][..], &[1], &[2], &[0, 1, 2]] {
        let made = [10, 40].map(|count| gradient(&program(reads, count), &shapes).unwrap());
        let [few, many] = [whole(&made[0]), whole(&made[1])];
        assert!(few <= 3 && many == few, "{reads:?}: {few}, then {many}");
        let mut expected: Vec<f64> = x.iter().map(|x| 2.0 * x).collect();
        for i in 0..40 {
            let positions = reads.iter().flat_map(|&read| READS[read].1(i));
            positions.for_each(|at| expected[at] += (i + 1) as f64);
        }
        let got = &run(&made[1], std::slice::from_ref(&x))[0];
        assert_eq!(*got, expected, "{reads:?}");
        // As a plan, where they are updated in place.
        let executable = Executable::compile(&made[1], &[]).unwrap();
        let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_ne_bytes()).collect();
        let mut out = AlignedBytes::zeroed(bytes.len());
        executable.run(&[Some(&bytes)], &[], vec![Output::Fresh(out.as_mut_slice())]).unwrap();
        let planned: Vec<u8> = expected.iter().flat_map(|x| x.to_ne_bytes()).collect();
        assert_eq!(out.as_slice(), planned, "{reads:?}");
    }
}
