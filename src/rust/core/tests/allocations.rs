//! Allocations of warm calls: lists are reused from call to call, and nothing is resolved twice.

use anvil_core::dtype::DType;
use anvil_core::exec::{Executable, Output};
use anvil_core::graph::Value;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::ops::{Binary, BroadcastInDim, Builder, DotGeneral, Reduction, Reverse, Unary};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::{Aval, Literal};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts allocations of each thread.
struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does it; here it is counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of the third call of a program with these inputs, which are ones.
fn warm(shapes: &[&[usize]], program: impl Fn(&mut Builder, &[Value]) -> Value) -> usize {
    let mut b = Builder::default();
    let avals = shapes.iter().map(|&s| Aval::known(DType::F64, Shape::try_new(s.to_vec()).unwrap()));
    let inputs: Vec<Value> = avals.map(|aval| b.input(aval)).collect();
    let result = program(&mut b, &inputs);
    let executable = Executable::compile(&b.finish(vec![result]), &[]).unwrap();
    let data: Vec<Vec<f64>> = shapes.iter().map(|s| vec![1.0; s.iter().product()]).collect();
    let bytes: Vec<Option<&[u8]>> = data.iter().map(|x| Some(anvil_core::kernels::cast::bytes(x))).collect();
    let mut out = AlignedBytes::zeroed(executable.outputs().map(Aval::bytes).sum());
    let mut last = 0;
    for _ in 0..3 {
        let outputs = vec![Output::Fresh(out.as_mut_slice())];
        let before = COUNT.get();
        executable.run(&bytes, &[], outputs);
        last = COUNT.get() - before;
    }
    last
}

fn unary(op: Unary) -> impl Fn(&mut Builder, Value) -> Value {
    move |b, x| b.node1(op, &[x]).unwrap()
}

fn binary(b: &mut Builder, op: Binary, x: Value, y: Value) -> Value {
    b.node1(op, &[x, y]).unwrap()
}

#[test]
fn elementwise_programs_allocate_nothing() {
    let chain = |b: &mut Builder, x: &[Value]| {
        let product = binary(b, Binary::mul, x[0], x[1]);
        let (one, shape) = (b.literal(Literal::new(1.0), false), b.graph().aval(x[0]).shape.clone());
        let ones = b.node1(BroadcastInDim { shape, axes: vec![] }, &[one]).unwrap();
        let tanh = unary(Unary::tanh)(b, product);
        binary(b, Binary::add, tanh, ones)
    };
    for n in [1, 100, 10_000] {
        assert_eq!(warm(&[&[n], &[n]], chain), 0, "{n} elements");
    }
}

#[test]
fn reductions_and_what_goes_on_with_them_allocate_nothing() {
    let sum = |b: &mut Builder, x: Value| {
        b.node1(Reduction { fold: Fold::Sum, axes: vec![Axis(0)], drop: true }, &[x]).unwrap()
    };
    let of_squares = |b: &mut Builder, x: &[Value]| {
        let squares = binary(b, Binary::mul, x[0], x[0]);
        sum(b, squares)
    };
    assert_eq!(warm(&[&[10_000]], of_squares), 0);
    let softmax = |b: &mut Builder, x: &[Value]| {
        let exp = unary(Unary::exp)(b, x[0]);
        let (total, shape) = (sum(b, exp), b.graph().aval(x[0]).shape.clone());
        let total = b.node1(BroadcastInDim { shape, axes: vec![Axis(1)] }, &[total]).unwrap();
        binary(b, Binary::div, exp, total)
    };
    assert_eq!(warm(&[&[100, 20]], softmax), 0);
}

#[test]
fn programs_of_many_steps_allocate_nothing() {
    // An op alone between two groups.
    let steps = |b: &mut Builder, x: &[Value]| {
        let exp = unary(Unary::exp)(b, x[0]);
        let back = b.node1(Reverse { axes: vec![Axis(0)] }, &[exp]).unwrap();
        let back = unary(Unary::log)(b, back);
        binary(b, Binary::add, back, x[1])
    };
    assert_eq!(warm(&[&[500], &[500]], steps), 0);
}

#[test]
fn products_allocate_no_more_than_their_kernels_do() {
    let product = |b: &mut Builder, x: &[Value]| {
        let matmul = DotGeneral::matmul(&[8, 8].into(), &[8, 8].into()).unwrap();
        let product = b.node1(matmul, &[x[0], x[1]]).unwrap();
        unary(Unary::tanh)(b, product)
    };
    assert_eq!(warm(&[&[8, 8], &[8, 8]], product), 0);
}
