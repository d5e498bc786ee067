//! Allocations of warm calls: lists are reused from call to call, and nothing is resolved twice.

use anvil_core::dtype::{DType, Ranked};
use anvil_core::exec::{Executable, Output};
use anvil_core::graph::Value;
use anvil_core::kernels::cast;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::kernels::reductions::cumulative::Cumulation;
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::kernels::threads::want;
use anvil_core::ops::{
    Binary, BroadcastInDim, Builder, Check, Compare, Concatenate, Convert, Cumulative, DotGeneral,
    DynamicSlice, DynamicUpdateSlice, If, Reduction, Region, Reverse, Scan, Unary, While,
};
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::{Aval, Literal};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

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
    warm_all(shapes, |b, x| vec![program(b, x)])
}

/// As [`warm`], of a program of several results. Inputs and outputs of each call lie elsewhere than those of
/// the one before.
fn warm_all(shapes: &[&[usize]], program: impl Fn(&mut Builder, &[Value]) -> Vec<Value>) -> usize {
    let mut b = Builder::default();
    let inputs: Vec<Value> = shapes.iter().map(|s| b.input(aval(s))).collect();
    let results = program(&mut b, &inputs);
    let executable = Executable::compile(&b.finish(results), &[]).unwrap();
    let mut last = 0;
    // All at once, so that no two lie in one place.
    let data: Vec<Vec<Vec<f64>>> =
        (0..3).map(|_| shapes.iter().map(|s| vec![1.0; s.iter().product()]).collect()).collect();
    let out = |_| executable.outputs().map(|aval| AlignedBytes::zeroed(aval.bytes())).collect();
    let mut out: Vec<Vec<AlignedBytes>> = (0..3).map(out).collect();
    for (data, out) in data.iter().zip(&mut out) {
        let bytes: Vec<Option<&[u8]>> = data.iter().map(|x| Some(cast::bytes(x))).collect();
        let outputs = out.iter_mut().map(|x| Output::Fresh(x.as_mut_slice())).collect();
        let before = COUNT.get();
        executable.run(&bytes, &[], outputs).unwrap();
        last = COUNT.get() - before;
    }
    last
}

fn aval(sizes: &[usize]) -> Aval {
    Aval::known(DType::F64, Shape::try_new(sizes.to_vec()).unwrap())
}

/// A graph of its own.
fn region(shapes: &[&[usize]], program: impl Fn(&mut Builder, &[Value]) -> Vec<Value>) -> Region {
    let mut b = Builder::default();
    let inputs: Vec<Value> = shapes.iter().map(|s| b.input(aval(s))).collect();
    let results = program(&mut b, &inputs);
    Arc::new(b.finish(results))
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
        let (one, shape) = (b.literal(Literal::new(1.0), None), b.graph().aval(x[0]).shape.clone());
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
    // Of one tile, and of tiles that carry to the next.
    let sums_so_far = |b: &mut Builder, x: &[Value]| {
        let exp = unary(Unary::exp)(b, x[0]);
        let sums =
            b.node1(Cumulative { by: Cumulation::Sum, axis: Axis(0), reverse: false }, &[exp]).unwrap();
        binary(b, Binary::div, sums, exp)
    };
    assert_eq!(warm(&[&[100]], sums_so_far), 0);
    assert_eq!(warm(&[&[20_000]], sums_so_far), 0);
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

/// What a loop's body does with rows, and by itself: a list for each step would take as long as the step.
#[test]
fn rows_of_few_elements_are_read_added_up_and_replaced_without_lists() {
    let at = |b: &mut Builder, x: Value| b.node1(Convert { to: Ranked::known(DType::I32) }, &[x]).unwrap();
    let row = |b: &mut Builder, x: &[Value]| {
        let (at, zero) = (at(b, x[1]), b.literal(Literal::new(0i32), None));
        let op = DynamicSlice { sizes: vec![1, 6], check: Check::Silent };
        b.node1(op, &[x[0], at, zero]).unwrap()
    };
    assert_eq!(warm(&[&[10, 6], &[]], row), 0);
    let replaced = |b: &mut Builder, x: &[Value]| {
        let (at, zero) = (at(b, x[1]), b.literal(Literal::new(0i32), None));
        let op = DynamicUpdateSlice { check: Check::Silent };
        b.node1(op, &[x[0], x[2], at, zero]).unwrap()
    };
    assert_eq!(warm(&[&[10, 6], &[], &[1, 6]], replaced), 0);
    for fold in [Fold::Sum, Fold::Prod, Fold::Max] {
        let folded = |b: &mut Builder, x: &[Value]| {
            b.node1(Reduction { fold, axes: vec![Axis(1)], drop: true }, &[x[0]]).unwrap()
        };
        assert_eq!(warm(&[&[8, 6]], folded), 0, "{fold:?}");
    }
}

#[test]
fn folds_across_columns_allocate_nothing() {
    let sums = |b: &mut Builder, x: &[Value]| {
        let squares = binary(b, Binary::mul, x[0], x[0]);
        b.node1(Reduction { fold: Fold::Sum, axes: vec![Axis(1)], drop: true }, &[squares]).unwrap()
    };
    // On one thread: helpers are called when there are several.
    want(Some(1)).unwrap();
    for sizes in [[400, 300], [40_000, 3], [7, 20_000]] {
        assert_eq!(warm(&[&sizes], sums), 0, "{sizes:?}");
    }
}

#[test]
fn steps_of_several_operands_and_results_allocate_nothing() {
    let joined = |b: &mut Builder, x: &[Value]| {
        b.node1(Concatenate { axis: Axis(0) }, &[x[0], x[1], x[0], x[1], x[0]]).unwrap()
    };
    assert_eq!(warm(&[&[20, 10], &[30, 10]], joined), 0);
    let kept = |b: &mut Builder, x: &[Value]| {
        let exp = unary(Unary::exp)(b, x[0]);
        let log = unary(Unary::log)(b, x[0]);
        vec![exp, log, x[0]]
    };
    assert_eq!(warm_all(&[&[500]], kept), 0);
}

/// A product with a literal.
fn scaled(b: &mut Builder, x: Value, by: f64) -> Value {
    let by = b.literal(Literal::new(by), None);
    let shape = b.graph().aval(x).shape.clone();
    let by = b.node1(BroadcastInDim { shape, axes: vec![] }, &[by]).unwrap();
    binary(b, Binary::mul, x, by)
}

/// Whether the first element of a value is less than a number.
fn less(b: &mut Builder, x: Value, limit: f64) -> Value {
    let limit = b.literal(Literal::new(limit), None);
    b.node1(Compare::lt, &[x, limit]).unwrap()
}

#[test]
fn branches_allocate_nothing() {
    let one = region(&[&[100]], |b, x| vec![unary(Unary::exp)(b, x[0])]);
    let other = region(&[&[100]], |b, x| vec![b.node1(Reverse { axes: vec![Axis(0)] }, &[x[0]]).unwrap()]);
    let branch = |b: &mut Builder, x: &[Value]| {
        // A reversed vector is too much to compute both ways.
        let branches = [one.clone(), other.clone()];
        let holds = less(b, x[0], 2.0);
        b.node(If { branches }, &[holds, x[1], x[1]]).unwrap()
    };
    assert_eq!(warm_all(&[&[], &[100]], branch), 0);
}

/// A loop of `n` repetitions whose body has ops in groups, alone, and a loop.
fn repeated(n: f64) -> impl Fn(&mut Builder, &[Value]) -> Vec<Value> {
    let inner = region(&[&[], &[50]], |b, x| {
        let next = unary(Unary::tanh)(b, x[1]);
        let one = b.literal(Literal::new(1.0), None);
        vec![binary(b, Binary::add, x[0], one), next]
    });
    let few = region(&[&[], &[50]], |b, x| vec![less(b, x[0], 3.0)]);
    let body = region(&[&[], &[50]], move |b, x| {
        let one = b.literal(Literal::new(1.0), None);
        let next = binary(b, Binary::add, x[0], one);
        let op = While { cond: few.clone(), body: inner.clone(), carried: 2, bound: None };
        let made = b.node(op, &[one, x[1]]).unwrap()[1];
        let back = b.node1(Reverse { axes: vec![Axis(0)] }, &[made]).unwrap();
        vec![next, scaled(b, back, 0.5)]
    });
    let cond = region(&[&[], &[50]], move |b, x| vec![less(b, x[0], n)]);
    move |b, x| b.node(While { cond: cond.clone(), body: body.clone(), carried: 2, bound: None }, x).unwrap()
}

#[test]
fn loops_allocate_nothing_whatever_their_length() {
    for n in [0.0, 1.0, 2.0, 100.0] {
        assert_eq!(warm_all(&[&[], &[50]], repeated(n)), 0, "{n} repetitions");
    }
    // Slices are gone along.
    let body = region(&[&[4], &[4]], |b, x| vec![binary(b, Binary::add, x[0], x[1])]);
    assert_eq!(warm_all(&[&[4], &[30, 4]], scan(body, 30)), 0);
    // They are stacked, short ones and long ones: what transposes long ones at the beginning and at the end
    // allocates, once for each piece of work, of which there may be one more.
    for (size, lengths, more, most) in [(4, [30, 60], 0, 0), (100, [30, 60], 0, 8), (4_200, [4, 8], 1, 8)] {
        let body = region(&[&[size], &[size]], |b, x| {
            let sum = binary(b, Binary::add, x[0], x[1]);
            vec![sum, scaled(b, sum, 2.0)]
        });
        let [few, many] = lengths.map(|n| warm_all(&[&[size], &[n, size]], scan(body.clone(), n)));
        assert!(
            many - few <= more && many <= most,
            "{few} and {many} allocations for {lengths:?} slices of {size}"
        );
    }
}

fn scan(body: Region, length: usize) -> impl Fn(&mut Builder, &[Value]) -> Vec<Value> {
    let op = Scan { body, carried: 1, sliced: 1, length, reverse: false, last: false, checkpoint: false };
    move |b, x| b.node(op.clone(), x).unwrap()
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

#[test]
fn loops_on_strips_allocate_nothing() {
    // Strips of one size. (Transposes, as of slices, make lists of their axes.)
    let looped = |b: &mut Builder, x: &[Value]| {
        let n = b.graph().aval(x[0]).shape[0];
        let body = region(&[&[n], &[n]], |b, x| {
            let exp = unary(Unary::exp)(b, x[0]);
            let sum = binary(b, Binary::add, exp, x[1]);
            vec![unary(Unary::tanh)(b, sum)]
        });
        let op =
            Scan { body, carried: 1, sliced: 0, length: 20, reverse: false, last: false, checkpoint: false };
        b.node(op, x).unwrap()
    };
    want(Some(1)).unwrap();
    for n in [8_000, 9_000] {
        assert_eq!(warm_all(&[&[n], &[n]], looped), 0, "{n} elements");
    }
}
