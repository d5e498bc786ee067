//! Branches and loops, cases that random programs (`programs.rs`) do not cover: stopped, nested runs,
//! ill-formed.

mod common;

use anvil_core::dtype::DType;
use anvil_core::exec::vm::native;
use anvil_core::exec::{Executable, Output};
use anvil_core::graph::Value;
use anvil_core::ops::{Binary, Builder, Compare, Graph, If, Op, Region, Scan, While};
use anvil_core::tensor::{Aval, Literal};
use common::{aligned, asking};
use std::cell::Cell;
use std::rc::Rc;
use std::slice;
use std::sync::Arc;

fn f32s(sizes: &[usize]) -> Aval {
    Aval::known(DType::F32, anvil_core::shape::Shape::try_new(sizes.to_vec()).unwrap())
}

/// A region on inputs of these types.
fn region(inputs: &[Aval], outputs: impl FnOnce(&mut Builder, &[Value]) -> Vec<Value>) -> Region {
    let mut b = Builder::default();
    let inputs: Vec<_> = inputs.iter().map(|aval| b.input(aval.clone())).collect();
    let outputs = outputs(&mut b, &inputs);
    Arc::new(b.finish(outputs))
}

fn add() -> Op {
    Op::Binary(Binary::add)
}

/// Sums along a vector, with all sums on the way; then counts on from the last to a limit.
fn sums_and_count(length: usize, limit: f32) -> Graph {
    let scalar = f32s(&[]);
    let body = region(&[scalar.clone(), scalar.clone()], |b, x| {
        let sum = b.node1(add(), &[x[0], x[1]]).unwrap();
        vec![sum, sum]
    });
    let cond = region(slice::from_ref(&scalar), |b, x| {
        let limit = b.literal(Literal::new(limit), None);
        vec![b.node1(Op::Compare(Compare::lt), &[x[0], limit]).unwrap()]
    });
    let count = region(slice::from_ref(&scalar), |b, x| {
        let one = b.literal(Literal::new(1f32), None);
        vec![b.node1(add(), &[x[0], one]).unwrap()]
    });
    let mut b = Builder::default();
    let xs = b.input(f32s(&[length]));
    let zero = b.literal(Literal::new(0f32), None);
    let scan = Scan { body, carried: 1, sliced: 1, length, reverse: false, last: false, checkpoint: false };
    let sums = b.node(Op::Scan(scan), &[zero, xs]).unwrap();
    let last = b.node1(Op::While(While { cond, body: count, carried: 1, bound: None }), &[sums[0]]).unwrap();
    b.finish(vec![sums[1], last])
}

fn bytes(x: &[f32]) -> Vec<u8> {
    x.iter().flat_map(|v| v.to_ne_bytes()).collect()
}

/// Runs `sums_and_count`.
fn run(program: &Executable, xs: &[f32]) -> (Vec<f32>, f32) {
    let input = aligned(&bytes(xs));
    let (mut sums, mut last) = (aligned(&vec![0xA5; 4 * xs.len()]), aligned(&[0xA5; 4]));
    let outputs = vec![Output::Fresh(sums.as_mut_slice()), Output::Fresh(last.as_mut_slice())];
    program.run(&[Some(input.as_slice())], &[], outputs).unwrap();
    let floats =
        |x: &[u8]| x.chunks(4).map(|e| f32::from_ne_bytes(e.try_into().unwrap())).collect::<Vec<_>>();
    (floats(sums.as_slice()), floats(last.as_slice())[0])
}

#[test]
fn a_loop_can_be_stopped_anywhere_and_run_again() {
    let program = Executable::compile(&sums_and_count(3, 100.0), &[]).unwrap();
    let (want, xs) = ((vec![1.5, 3.5, 6.5], 100.5), [1.5, 2.0, 3.0]);
    // Runs it until it is asked so often; how often it was.
    let stopped = |stop_at: usize| {
        let steps = Rc::new(Cell::new(0));
        let count = steps.clone();
        let ask = move |_| count.replace(count.get() + 1) + 1 == stop_at;
        (asking(ask, || run(&program, &xs)), steps.get())
    };
    let (all, steps) = stopped(0);
    assert_eq!(all.as_ref(), Some(&want));
    // The tile VM asks at least once for each repetition, however small its values are; native code before it
    // begins.
    assert!(steps > if native::is_here() { 1 } else { 97 }, "{steps}");
    for stop_at in 1..=steps {
        assert_eq!(stopped(stop_at), (None, stop_at), "nothing is run after a stop");
        assert_eq!(run(&program, &xs), want, "after a stop at {stop_at}");
    }
}

#[test]
fn a_program_with_loops_may_be_run_while_it_runs() {
    // What asks whether to stop may call the same program again: a handler of R does.
    let program = Rc::new(Executable::compile(&sums_and_count(3, 100.0), &[]).unwrap());
    let inside = Rc::new(Cell::new(0));
    let (same, count) = (program.clone(), inside.clone());
    let ask = move |_| {
        count.set(count.get() + 1);
        assert_eq!(run(&same, &[10.0, 20.0, 30.0]), (vec![10.0, 30.0, 60.0], 100.0));
        false
    };
    assert_eq!(asking(ask, || run(&program, &[1.0, 2.0, 3.0])), Some((vec![1.0, 3.0, 6.0], 100.0)));
    assert!(inside.get() > if native::is_here() { 1 } else { 90 }, "{}", inside.get());
}

#[test]
fn a_long_loop_on_few_numbers_is_stopped_on_its_way() {
    let program = Executable::compile(&sums_and_count(3, 1e5), &[]).unwrap();
    let stopped = |stop_at: usize| {
        let steps = Rc::new(Cell::new(0));
        let count = steps.clone();
        let ask = move |_| count.replace(count.get() + 1) + 1 == stop_at;
        (asking(ask, || run(&program, &[1.0, 2.0, 3.0])), steps.get())
    };
    let (all, steps) = stopped(0);
    assert_eq!(all, Some((vec![1.0, 3.0, 6.0], 1e5)));
    assert!(steps > 10, "{steps}");
    for stop_at in [1, 2, steps / 2, steps] {
        assert_eq!(stopped(stop_at), (None, stop_at));
        assert_eq!(run(&program, &[1.0, 2.0, 3.0]), (vec![1.0, 3.0, 6.0], 1e5));
    }
}

#[test]
fn nothing_to_go_along_leaves_the_state() {
    let program = Executable::compile(&sums_and_count(0, 100.0), &[]).unwrap();
    assert_eq!(run(&program, &[]), (vec![], 100.0));
}

#[test]
fn regions_are_verified_with_the_graph_around_them() {
    let (scalar, flag) = (f32s(&[]), Aval::known(DType::I1, Default::default()));
    let graph = |yes: Region| {
        let mut b = Builder::default();
        let pred = b.input(flag.clone());
        let no = region(&[], |b, _| vec![b.literal(Literal::new(0f32), None)]);
        let results = b.node(Op::If(If { branches: [yes, no] }), &[pred]).unwrap();
        b.finish(results)
    };
    let one = || region(&[], |b, _| vec![b.literal(Literal::new(1f32), None)]);
    assert_eq!(graph(one()).verify(), Ok(()));
    let captures = region(&[], |b, _| vec![b.constant(scalar.clone())]);
    let error = graph(captures.clone()).verify().unwrap_err().to_string();
    assert!(error.contains("node 0 (if), its true: it has constants"), "{error}");
    // As deep as they are nested.
    let around = region(&[], |b, _| {
        let pred = b.literal(Literal::new(1i32).convert(DType::I1), None);
        b.node(Op::If(If { branches: [one(), captures] }), &[pred]).unwrap()
    });
    let error = graph(around).verify().unwrap_err().to_string();
    assert!(error.contains("its true: node 0 (if), its false: it has constants"), "{error}");
}

#[test]
fn ops_refuse_what_does_not_fit_their_regions() {
    let scalar = f32s(&[]);
    let same = || region(slice::from_ref(&scalar), |_, x| x.to_vec());
    let mut b = Builder::default();
    let (x, xs) = (b.input(scalar.clone()), b.input(f32s(&[2])));
    let flag = b.input(Aval::known(DType::I1, Default::default()));
    let mut refused = |op: Op, operands: &[Value]| b.node(op, operands).is_err();
    let branch = |yes: Region, no: Region| Op::If(If { branches: [yes, no] });
    assert!(!refused(branch(same(), same()), &[flag, x, x]));
    assert!(refused(branch(same(), same()), &[x, x, x]));
    assert!(refused(branch(same(), same()), &[flag, x]));
    assert!(refused(branch(same(), same()), &[flag, x, xs]));
    assert!(refused(branch(same(), same()), &[flag, x, x, x]));
    assert!(refused(branch(same(), same()), &[]));
    let scan = |carried, sliced, length| {
        Op::Scan(Scan {
            body: same(),
            carried,
            sliced,
            length,
            reverse: false,
            last: false,
            checkpoint: false,
        })
    };
    assert!(!refused(scan(1, 0, 5), &[x]));
    assert!(!refused(scan(0, 1, 2), &[xs]));
    assert!(refused(scan(0, 1, 3), &[xs]));
    assert!(refused(scan(0, 1, 1), &[x]));
    assert!(refused(scan(2, 0, 3), &[x, x]));
    assert!(refused(scan(1, 0, 3), &[]));
    let cond = region(slice::from_ref(&scalar), |b, x| {
        vec![b.node1(Op::Compare(Compare::lt), &[x[0], x[0]]).unwrap()]
    });
    let repeat = |cond: Region| Op::While(While { cond, body: same(), carried: 1, bound: None });
    assert!(!refused(repeat(cond.clone()), &[x]));
    assert!(refused(repeat(cond.clone()), &[xs]));
    assert!(refused(repeat(cond), &[]));
    assert!(refused(repeat(same()), &[x]));
}
