//! The memory that programs really take, counted by the allocator, is what their plans say.

mod common;

use anvil_core::dtype::DType;
use anvil_core::exec::{Executable, Output};
use anvil_core::graph::Value;
use anvil_core::kernels::fold::Fold;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::ops::{Binary, BroadcastInDim, Builder, DotGeneral, Graph, Op, Reduction, Scan, Transpose, Unary};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::Aval;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;

/// Bytes that are allocated now, and the most that were.
static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: the system's allocator does the work, with what it is given.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        MOST.fetch_max(NOW.fetch_add(layout.size(), SeqCst) + layout.size(), SeqCst);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), SeqCst);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Elements on a side: matrices of 8 MB, beside which what threads keep for themselves is little.
const N: usize = 1024;

fn matrix() -> Aval {
    Aval::known(DType::F64, Shape::try_new(vec![N, N]).unwrap())
}

fn unary(b: &mut Builder, op: Unary, x: Value) -> Value {
    b.node1(Op::Unary(op), &[x]).unwrap()
}

fn binary(b: &mut Builder, op: Binary, x: Value, y: Value) -> Value {
    b.node1(Op::Binary(op), &[x, y]).unwrap()
}

fn product(b: &mut Builder, x: Value, y: Value) -> Value {
    b.node1(Op::DotGeneral(DotGeneral { contracting: [vec![Axis(1)], vec![Axis(0)]], batching: [vec![], vec![]] }), &[x, y]).unwrap()
}

fn transpose(b: &mut Builder, x: Value) -> Value {
    b.node1(Op::Transpose(Transpose { permutation: vec![Axis(1), Axis(0)] }), &[x]).unwrap()
}

fn total(b: &mut Builder, x: Value, axes: &[usize]) -> Value {
    let axes = axes.iter().copied().map(Axis).collect();
    b.node1(Op::Reduction(Reduction { fold: Fold::Sum, axes, drop: true }), &[x]).unwrap()
}

/// Several values that have to be there at once, of which some die on the way.
fn layers() -> Graph {
    let mut b = Builder::default();
    let (x, w) = (b.input(matrix()), b.input(matrix()));
    let mut h = x;
    for _ in 0..4 {
        let z = product(&mut b, h, w);
        h = unary(&mut b, Unary::tanh, z);
    }
    let rows = total(&mut b, h, &[0]);
    let wide = b.node1(Op::BroadcastInDim(BroadcastInDim { shape: matrix().shape, axes: vec![Axis(1)] }), &[rows]).unwrap();
    let scaled = binary(&mut b, Binary::div, h, wide);
    b.finish(vec![scaled, rows])
}

/// A product with a transposed operand, and reductions over both axes.
fn transposed() -> Graph {
    let mut b = Builder::default();
    let (x, y) = (b.input(matrix()), b.input(matrix()));
    let t = transpose(&mut b, x);
    let z = product(&mut b, t, y);
    let (rows, columns) = (total(&mut b, z, &[1]), total(&mut b, z, &[0]));
    let out = binary(&mut b, Binary::mul, rows, columns);
    b.finish(vec![out])
}

/// A loop that carries a matrix.
fn repeated() -> Graph {
    let mut inside = Builder::default();
    let (state, step) = (inside.input(matrix()), inside.input(matrix()));
    let next = product(&mut inside, state, step);
    let next = unary(&mut inside, Unary::sin, next);
    let body = inside.finish(vec![next]);
    let mut b = Builder::default();
    let (x, w) = (b.input(matrix()), b.input(matrix()));
    let scan = Scan { body: Arc::new(body), carried: 1, sliced: 0, length: 3, reverse: false, checkpoint: false };
    let out = b.node(Op::Scan(scan), &[x, w]).unwrap();
    b.finish(out)
}

#[test]
fn programs_take_the_memory_that_they_plan() {
    for (name, graph) in [("layers", layers()), ("transposed", transposed()), ("repeated", repeated())] {
        let inputs: Vec<AlignedBytes> = graph.inputs().iter().map(|&v| AlignedBytes::zeroed(graph.aval(v).bytes())).collect();
        let before = NOW.load(SeqCst);
        MOST.store(before, SeqCst);
        let executable = Executable::compile(&graph, &[]).unwrap();
        let needs = executable.needs();
        assert_eq!(needs.inputs, inputs.iter().map(|x| x.as_slice().len()).sum::<usize>());
        let mut outputs: Vec<AlignedBytes> = executable.outputs().map(|aval| AlignedBytes::zeroed(aval.bytes())).collect();
        for _ in 0..2 {
            let buffers = outputs.iter_mut().map(|bytes| Output::Fresh(bytes.as_mut_slice())).collect();
            let slices: Vec<Option<&[u8]>> = inputs.iter().map(|x| Some(x.as_slice())).collect();
            assert!(executable.run(&slices, &[], buffers, &mut |_| false));
        }
        let peak = needs.inputs + MOST.load(SeqCst) - before;
        let ratio = peak as f64 / needs.peak() as f64;
        assert!((0.9..=1.1).contains(&ratio), "{name}: {peak} bytes, planned {needs:?}\n{}", executable.describe());
    }
}
