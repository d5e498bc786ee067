//! Long work reports its progress often, and is left soon after it was told to stop. Work is counted, not
//! timed.

mod common;
#[path = "common/rows.rs"]
mod row_programs;

use anvil_core::autodiff::Tape;
use anvil_core::boundary::{export_doubles, import, Filling, Source};
use anvil_core::dtype::{DType, Ranked};
use anvil_core::exec::{Executable, Output};
use anvil_core::format::{data_lines, Limits, Number};
use anvil_core::graph::Operation;
use anvil_core::hlo;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::kernels::random::Algorithm;
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::kernels::threads;
use anvil_core::ops::layout::Order;
use anvil_core::ops::*;
use anvil_core::passes;
use anvil_core::shape::{Axis, Shape};
use anvil_core::stop::EVERY;
use anvil_core::tensor::{Aval, Literal};
use common::{aligned, asking_every};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// Questions after which the answer is yes.
const ASKED: usize = 5;

/// Elements that may be reported at once: about a hundredth of a second.
const AT_ONCE: usize = 1 << 23;

/// Failures of work that should be stopped.
fn unstopped<T>(body: impl FnOnce() -> T) -> Option<String> {
    let (asked, most) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let (count, largest) = (asked.clone(), most.clone());
    let ask = move |done: usize| {
        largest.set(done.max(largest.get()));
        count.replace(count.get() + 1) + 1 == ASKED
    };
    let out = asking_every(EVERY, ask, body);
    if out.is_some() || asked.get() != ASKED {
        return Some(format!("it asked {} times, and ran to its end", asked.get()));
    }
    (most.get() > AT_ONCE).then(|| format!("it reported {} elements at once", most.get()))
}

/// A program of one op on operands of these types.
fn one(op: Op, types: &[Aval]) -> Option<Graph> {
    let mut b = Builder::default();
    let inputs: Vec<_> = types.iter().map(|t| b.input(t.clone())).collect();
    let outputs = b.node(op, &inputs).ok()?;
    Some(b.finish(outputs))
}

fn check(name: &str, graph: &Graph, findings: &mut Vec<String>) {
    // Helpers would do an unknown part of it.
    threads::want(Some(1)).unwrap();
    let program = Executable::compile(graph, &[]).unwrap();
    let inputs: Vec<AlignedBytes> =
        graph.inputs().iter().map(|&v| AlignedBytes::zeroed(graph.aval(v).bytes())).collect();
    let mut outputs: Vec<AlignedBytes> =
        program.outputs().map(|aval| AlignedBytes::zeroed(aval.bytes())).collect();
    let inputs: Vec<Option<&[u8]>> = inputs.iter().map(|x| Some(x.as_slice())).collect();
    let outputs = outputs.iter_mut().map(|x| Output::Fresh(x.as_mut_slice())).collect();
    findings.extend(
        unstopped(|| program.run(&inputs, &[], outputs).unwrap()).map(|what| format!("{name}: {what}")),
    );
}

fn none(findings: Vec<String>) {
    assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
}

fn axes_of(x: &[usize]) -> Vec<Axis> {
    x.iter().copied().map(Axis).collect()
}

fn aval(dtype: DType, sizes: &[usize]) -> Aval {
    Aval::known(dtype, Shape::try_new(sizes.to_vec()).unwrap())
}

/// Elements of an operand.
const N: usize = 1 << 20;

#[test]
fn elementwise_kernels_are_left() {
    let mut findings = Vec::new();
    for (op, arity) in row_programs::elementwise() {
        for dtype in [DType::F64, DType::BF16, DType::C64, DType::I32, DType::I1] {
            // A conversion to its own dtype is the operand.
            let own = matches!(&op, Op::Convert(op) if op.to.dtype == dtype);
            let graph = one(op.clone(), &vec![aval(dtype, &[N]); arity]);
            // Some give one value whatever the operand is, which is repeated when somebody reads it.
            let Some(graph) = graph.filter(|_| !own) else { continue };
            check(&format!("{} of {dtype}", op.name()), &graph, &mut findings);
            break;
        }
    }
    none(findings);
}

#[test]
fn kernels_that_move_elements_are_left() {
    let mut findings = Vec::new();
    let (f32, i32) = (DType::F32, DType::I32);
    let matrix = aval(f32, &[1024, 1024]);
    let windows = Windows {
        window_axes: vec![],
        dropped: axes_of(&[0]),
        batching: vec![],
        index_batching: vec![],
        index_map: axes_of(&[0]),
        index_vector_axis: Axis(1),
    };
    let rows = Windows { window_axes: axes_of(&[1]), ..windows.clone() };
    let mut region = Builder::default();
    let (x, y) = (region.input(aval(f32, &[])), region.input(aval(f32, &[])));
    let sum = region.node1(Op::Binary(Binary::add), &[x, y]).unwrap();
    let region = Arc::new(region.finish(vec![sum]));
    let scatter = |windows: &Windows, update| {
        Op::Scatter(Scatter {
            windows: windows.clone(),
            update,
            indices_are_sorted: false,
            unique_indices: false,
            check: Check::Silent,
        })
    };
    let gather = |windows: &Windows, slice_sizes: &[usize]| {
        Op::Gather(Gather {
            windows: windows.clone(),
            slice_sizes: slice_sizes.to_vec(),
            indices_are_sorted: false,
            check: Check::Silent,
        })
    };
    let places = aval(i32, &[N, 1]);
    let lines = aval(i32, &[1024, 1]);
    let mut cases = vec![
        (Op::Transpose(Transpose { permutation: axes_of(&[1, 0]) }), vec![matrix.clone()]),
        (Op::Concatenate(Concatenate { axis: Axis(1) }), vec![matrix.clone(), matrix.clone()]),
        (Op::Concatenate(Concatenate { axis: Axis(0) }), vec![matrix.clone(), matrix.clone()]),
        (
            Op::StaticSlice(StaticSlice { start: vec![1, 0], limit: vec![1024, 1024], stride: vec![1, 1] }),
            vec![matrix.clone()],
        ),
        (Op::Reverse(Reverse { axes: axes_of(&[0, 1]) }), vec![matrix.clone()]),
        (
            Op::Pad(Pad { low: vec![1, 0], high: vec![0, 1], interior: vec![0, 1] }),
            vec![matrix.clone(), aval(f32, &[])],
        ),
        (Op::Reshape(Reshape { shape: [2048, 512].into(), order: Order::Row }), vec![matrix.clone()]),
        (Op::BitcastConvert(BitcastConvert { dtype: DType::UI8 }), vec![aval(f32, &[N])]),
        (Op::Iota(Iota { axis: Axis(0), to: Ranked::known(i32), shape: [N].into(), start: 0 }), vec![]),
        (
            Op::RngBits(RngBits {
                algorithm: Algorithm::ThreeFry,
                dtype: DType::UI64,
                shape: [N].into(),
                with_state: true,
            }),
            vec![aval(DType::UI64, &[2])],
        ),
        (gather(&windows, &[1]), vec![aval(f32, &[N]), places.clone()]),
        (gather(&rows, &[1, 1024]), vec![matrix.clone(), lines.clone()]),
        (
            Op::DynamicUpdateSlice(DynamicUpdateSlice { check: Check::Silent }),
            vec![matrix.clone(), aval(f32, &[1023, 1023]), aval(i32, &[]), aval(i32, &[])],
        ),
    ];
    for update in [Update::Replace, Update::With(Binary::add), Update::By(region)] {
        cases.push((
            scatter(&windows, update.clone()),
            vec![aval(f32, &[N]), places.clone(), aval(f32, &[N])],
        ));
        cases.push((scatter(&rows, update), vec![matrix.clone(), lines.clone(), matrix.clone()]));
    }
    for (op, types) in cases {
        let graph = one(op.clone(), &types).unwrap();
        check(op.name(), &graph, &mut findings);
    }
    none(findings);
}

#[test]
fn reductions_are_left() {
    let mut findings = Vec::new();
    for fold in [Fold::Sum, Fold::Prod, Fold::Max, Fold::Min, Fold::Squares, Fold::Any, Fold::All] {
        let dtype = if matches!(fold, Fold::Any | Fold::All) { DType::I1 } else { DType::F32 };
        for (axes, sizes) in [
            (&[0][..], &[1 << 23][..]),
            (&[0], &[2048, 4096]),
            (&[1], &[2048, 4096]),
            (&[0, 2], &[64, 512, 256]),
        ] {
            let op = Op::Reduction(Reduction { fold, axes: axes_of(axes), drop: true });
            check(
                &format!("{fold:?} along {axes:?}"),
                &one(op, &[aval(dtype, sizes)]).unwrap(),
                &mut findings,
            );
        }
    }
    // Of what is nowhere in memory.
    let mut b = Builder::default();
    let shape = Shape::from([1_000_000_000]);
    let count = Iota { axis: Axis(0), to: Ranked::known(DType::I64), shape: shape.clone(), start: 0 };
    let count = b.node1(Op::Iota(count), &[]).unwrap();
    let one = b.literal(Literal::new(1i64), None);
    let ones = b.node1(Op::BroadcastInDim(BroadcastInDim { shape, axes: vec![] }), &[one]).unwrap();
    let both = b.node1(Op::Binary(Binary::mul), &[count, ones]).unwrap();
    let sum = Reduction { fold: Fold::Sum, axes: axes_of(&[0]), drop: true };
    let sum = b.node1(Op::Reduction(sum), &[both]).unwrap();
    check("a sum of what is counted", &b.finish(vec![sum]), &mut findings);
    none(findings);
}

#[test]
fn products_are_left() {
    let mut findings = Vec::new();
    let dot = |l: &[usize], r: &[usize], batch: bool| {
        let batching = if batch { [axes_of(&[2]), axes_of(&[2])] } else { [vec![], vec![]] };
        (
            Op::DotGeneral(DotGeneral {
                contracting: [axes_of(&[1]), axes_of(&[0])],
                batching,
                batch_last: false,
            }),
            l.to_vec(),
            r.to_vec(),
        )
    };
    for dtype in [DType::F32, DType::F64, DType::C64, DType::BF16, DType::I32] {
        let mut cases = vec![
            dot(&[700, 700], &[700, 700], false),
            dot(&[2000, 40], &[40, 2000], false),
            dot(&[100, 100, 60], &[100, 100, 60], true),
            // Sums that are long.
            dot(&[64, 100_000], &[100_000, 64], false),
            dot(&[8, 300_000], &[300_000, 8], false),
        ];
        if dtype.is_float() && dtype.bits() >= 32 {
            cases.push(dot(&[4096, 4096], &[4096, 1], false));
            cases.push(dot(&[1, 4096], &[4096, 4096], false));
        }
        for (op, l, r) in cases {
            let graph = one(op, &[aval(dtype, &l), aval(dtype, &r)]).unwrap();
            check(&format!("{dtype} {l:?} {r:?}"), &graph, &mut findings);
        }
    }
    none(findings);
}

/// A chain of so many nodes, each with a literal of its own.
fn chain(nodes: usize) -> Graph {
    let mut b = Builder::default();
    let mut x = b.input(aval(DType::F32, &[2]));
    for i in 0..nodes / 2 {
        let shape = Shape::from([2]);
        let number = Fill { value: Literal::new(i as f32), shape, ambiguous: None };
        let number = b.node1(Op::Fill(number), &[]).unwrap();
        x = b.node1(Op::Binary(if i % 2 == 0 { Binary::add } else { Binary::mul }), &[x, number]).unwrap();
    }
    b.finish(vec![x])
}

#[test]
fn work_on_large_graphs_is_left() {
    let graph = chain(20_000);
    let mut findings = Vec::new();
    let mut none_of =
        |name: &str, what: Option<String>| findings.extend(what.map(|what| format!("{name}: {what}")));
    none_of("build", unstopped(|| chain(20_000)));
    none_of("verify", unstopped(|| graph.verify()));
    none_of("optimise", unstopped(|| passes::optimise(&graph)));
    none_of(
        "plan",
        unstopped(|| {
            anvil_core::exec::plan::plan(
                &graph,
                anvil_core::exec::Given::Donated(&[]),
                anvil_core::exec::control::compile,
            )
        }),
    );
    none_of("print", unstopped(|| graph.to_string()));
    none_of("legalize", unstopped(|| hlo::legalize(&graph)));
    none_of("export", unstopped(|| hlo::export(&graph, &[], &hlo::Options::default())));
    none_of(
        "record",
        unstopped(|| {
            let mut b = Builder::default();
            let x = b.input(aval(DType::F32, &[2]));
            Tape::record(&mut b, &graph, &[x], &[0]).map(|_| ())
        }),
    );
    let mut b = Builder::default();
    let x = b.input(aval(DType::F32, &[2]));
    let tape = Tape::record(&mut b, &graph, &[x], &[0]).unwrap();
    let out = tape.outputs()[0];
    none_of("pull", unstopped(|| tape.pull(&mut b, &[Some(out)], &[0])));
    none(findings);
}

#[test]
fn conversions_and_texts_are_left() {
    let mut findings = Vec::new();
    let mut none_of =
        |name: &str, what: Option<String>| findings.extend(what.map(|what| format!("{name}: {what}")));
    let (x, shape) = (vec![1.0; N], Shape::from([1024, 1024]));
    let mut out = aligned(&vec![0; 4 * N]);
    for filling in [Filling::Column, Filling::Row] {
        let source = Source::Doubles(&x);
        none_of(
            "import",
            unstopped(|| import(&source, DType::F32, true, &shape, filling, out.as_mut_slice())),
        );
    }
    let mut doubles = vec![0.0; N];
    none_of("export", unstopped(|| export_doubles(DType::F32, out.as_slice(), &mut doubles)));
    let limits = Limits { max_rows: None, max_width: None, max_rows_slice: None };
    none_of("print", unstopped(|| data_lines(&shape, |i| Number::Float(i as f64), &limits)));
    none_of(
        "print one of",
        unstopped(|| data_lines(&shape, |i| Number::Float(i as f64), &Limits::default())),
    );
    none(findings);
}
