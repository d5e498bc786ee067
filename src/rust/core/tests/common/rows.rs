//! Small programs of one op each: every row of the catalogue on every dtype that it takes.
#![allow(dead_code)] // each test file uses a part

use crate::common::text::read_back;
use anvil_core::dtype::{DType, Ranked};
use anvil_core::error::Result;
use anvil_core::graph::Value;
use anvil_core::kernels::fourier::Kind;
use anvil_core::kernels::products::convolution::Window;
use anvil_core::kernels::random::Algorithm;
use anvil_core::kernels::reductions::cumulative::Cumulation;
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::ops::callback::{Callee, Function};
use anvil_core::ops::layout::Order;
use anvil_core::ops::*;
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::{Aval, Literal, View, ViewMut};
use std::collections::BTreeMap;
use std::slice;
use std::sync::Arc;

/// A program of one op.
pub struct Program {
    /// Name of the op, dtype, number of the variant of the op; another op changes none of them.
    pub name: String,
    /// Name of the op's row.
    pub row: &'static str,
    pub graph: Graph,
}

/// Elements of an operand of an elementwise op: enough for random special values to meet each other.
pub const ELEMENTS: usize = 400;

fn axes_of(x: &[usize]) -> Vec<Axis> {
    x.iter().copied().map(Axis).collect()
}

fn shape(x: &[usize]) -> Shape {
    Shape::try_new(x.to_vec()).expect("a small shape")
}

fn aval(dtype: DType, x: &[usize]) -> Aval {
    Aval::known(dtype, shape(x))
}

/// Graph of an op on inputs of these types, if it takes them.
fn program(op: Op, types: &[Aval]) -> Option<Graph> {
    let mut b = Builder::default();
    let inputs: Vec<_> = types.iter().map(|t| b.input(t.clone())).collect();
    let outputs = b.node(op, &inputs).ok()?;
    Some(read_back(b.finish(outputs)))
}

/// Elementwise ops but for `select`, whose first operand is a condition, with the number of operands.
pub fn elementwise() -> Vec<(Op, usize)> {
    let mut ops: Vec<(Op, usize)> = Unary::ALL.iter().map(|&op| (Op::Unary(op), 1)).collect();
    ops.extend(Predicate::ALL.iter().map(|&op| (Op::Predicate(op), 1)));
    ops.extend(DType::ALL.iter().map(|&dtype| (Op::Convert(Convert::known(dtype)), 1)));
    ops.extend(Part::ALL.iter().map(|&op| (Op::Part(op), 1)));
    ops.push((Op::Complex(MakeComplex), 2));
    ops.extend(Binary::ALL.iter().map(|&op| (Op::Binary(op), 2)));
    ops.extend(Special::ALL.iter().map(|&op| (Op::Special(op), op.arity())));
    ops.extend(Compare::ALL.iter().map(|&op| (Op::Compare(op), 2)));
    ops.push((Op::Ternary(Ternary::Clamp), 3));
    ops
}

/// Ops that move elements or make them of nothing, with the types of their operands but for the dtype, which
/// is `d`.
fn structured(d: DType, elements: usize) -> Vec<(Op, Vec<Aval>)> {
    let i32s = |x: &[usize]| aval(DType::I32, x);
    let mut all: Vec<(Op, Vec<Aval>)> = vec![
        (
            Op::Ternary(Ternary::Select),
            vec![aval(DType::I1, &[elements]), aval(d, &[elements]), aval(d, &[elements])],
        ),
        (Op::Transpose(Transpose { permutation: axes_of(&[2, 0, 1]) }), vec![aval(d, &[2, 3, 4])]),
        (
            Op::BroadcastInDim(BroadcastInDim { shape: shape(&[2, 4, 3]), axes: axes_of(&[2, 0]) }),
            vec![aval(d, &[3, 1])],
        ),
        (
            Op::Concatenate(Concatenate { axis: Axis(1) }),
            vec![aval(d, &[2, 3]), aval(d, &[2, 0]), aval(d, &[2, 2])],
        ),
        (
            Op::StaticSlice(StaticSlice { start: vec![1, 0], limit: vec![4, 5], stride: vec![2, 3] }),
            vec![aval(d, &[4, 5])],
        ),
        (Op::Reverse(Reverse { axes: axes_of(&[1]) }), vec![aval(d, &[3, 4])]),
        (Op::Reverse(Reverse { axes: vec![] }), vec![aval(d, &[3])]),
        (
            Op::Pad(Pad { low: vec![-1, 2], high: vec![2, -1], interior: vec![1, 0] }),
            vec![aval(d, &[3, 4]), aval(d, &[])],
        ),
        (Op::Pad(Pad { low: vec![1], high: vec![1], interior: vec![3] }), vec![aval(d, &[0]), aval(d, &[])]),
    ];
    for order in [Order::Row, Order::Column] {
        for (from, to) in [(&[2, 3, 4][..], &[4, 6][..]), (&[6], &[1, 6]), (&[0, 2], &[3, 0]), (&[1, 1], &[])]
        {
            all.push((Op::Reshape(Reshape { shape: shape(to), order }), vec![aval(d, from)]));
        }
    }
    for index in [DType::I8, DType::I32, DType::UI64, DType::I64, DType::UI8] {
        let i = || aval(index, &[]);
        all.push((
            Op::DynamicSlice(DynamicSlice { sizes: vec![2, 3], check: Check::Silent }),
            vec![aval(d, &[4, 300]), i(), i()],
        ));
        all.push((
            Op::DynamicUpdateSlice(DynamicUpdateSlice { check: Check::Silent }),
            vec![aval(d, &[4, 300]), aval(d, &[2, 3]), i(), i()],
        ));
        let windows = Windows {
            window_axes: axes_of(&[1]),
            dropped: axes_of(&[0]),
            batching: vec![],
            index_batching: vec![],
            index_map: axes_of(&[0, 1]),
            index_vector_axis: Axis(1),
        };
        let gather = Gather {
            windows: windows.clone(),
            slice_sizes: vec![1, 3],
            indices_are_sorted: false,
            check: Check::Silent,
        };
        all.push((Op::Gather(gather), vec![aval(d, &[4, 6]), aval(index, &[7, 2])]));
        for update in
            [Update::Replace, Update::With(Binary::add), Update::With(Binary::mul), Update::With(Binary::max)]
        {
            let scatter = Scatter {
                windows: windows.clone(),
                update,
                indices_are_sorted: false,
                unique_indices: false,
                check: Check::Silent,
            };
            for sizes in [[4, 6], [0, 6]] {
                all.push((
                    Op::Scatter(scatter.clone()),
                    vec![aval(d, &sizes), aval(index, &[9, 2]), aval(d, &[9, 3])],
                ));
            }
        }
    }
    let batched = Windows {
        window_axes: axes_of(&[3, 4]),
        dropped: axes_of(&[1]),
        batching: axes_of(&[0]),
        index_batching: axes_of(&[1]),
        index_map: axes_of(&[2, 1]),
        index_vector_axis: Axis(3),
    };
    let gather = Gather {
        windows: batched.clone(),
        slice_sizes: vec![1, 1, 2, 2],
        indices_are_sorted: false,
        check: Check::Silent,
    };
    all.push((Op::Gather(gather), vec![aval(d, &[2, 3, 4, 2]), i32s(&[2, 2, 3, 2])]));
    let update = Update::With(Binary::add);
    let scatter = Scatter {
        windows: batched,
        update: update.clone(),
        indices_are_sorted: false,
        unique_indices: false,
        check: Check::Silent,
    };
    all.push((
        Op::Scatter(scatter),
        vec![aval(d, &[2, 3, 4, 2]), i32s(&[2, 2, 3, 2]), aval(d, &[2, 2, 3, 2, 2])],
    ));
    // Several updates of one value, at no position.
    let nowhere = Windows {
        window_axes: vec![],
        dropped: vec![],
        batching: vec![],
        index_batching: vec![],
        index_map: vec![],
        index_vector_axis: Axis(1),
    };
    let scatter = Scatter {
        windows: nowhere,
        update,
        indices_are_sorted: false,
        unique_indices: false,
        check: Check::Silent,
    };
    all.push((Op::Scatter(scatter), vec![aval(d, &[]), i32s(&[3, 0]), aval(d, &[3])]));
    for fold in [Fold::Sum, Fold::Prod, Fold::Max, Fold::Min, Fold::Any, Fold::All, Fold::Squares] {
        for drop in [true, false] {
            for (axes, from) in [(&[0][..], &[5, 3][..]), (&[1, 0], &[2, 3]), (&[], &[3]), (&[1], &[2, 0])] {
                all.push((Op::Reduction(Reduction { fold, axes: axes_of(axes), drop }), vec![aval(d, from)]));
            }
        }
    }
    for by in [Cumulation::Sum, Cumulation::Prod, Cumulation::Max, Cumulation::Min, Cumulation::LogSumExp] {
        for reverse in [false, true] {
            for (axis, from) in [(0, &[11, 2][..]), (1, &[9, 5]), (1, &[2, 3, 2]), (0, &[1]), (0, &[0, 2])] {
                let op = Cumulative { by, axis: Axis(axis), reverse };
                all.push((Op::Cumulative(op), vec![aval(d, from)]));
            }
        }
    }
    let dots = [
        (
            DotGeneral {
                contracting: [axes_of(&[1]), axes_of(&[0])],
                batching: [vec![], vec![]],
                batch_last: false,
            },
            [&[3, 4][..], &[4, 2]],
        ),
        (
            DotGeneral {
                contracting: [axes_of(&[2]), axes_of(&[0])],
                batching: [axes_of(&[0]), axes_of(&[2])],
                batch_last: false,
            },
            [&[2, 3, 4], &[4, 5, 2]],
        ),
        (
            DotGeneral { contracting: [vec![], vec![]], batching: [vec![], vec![]], batch_last: false },
            [&[3], &[2]],
        ),
        (
            DotGeneral {
                contracting: [axes_of(&[0]), axes_of(&[0])],
                batching: [vec![], vec![]],
                batch_last: false,
            },
            [&[0, 3], &[0, 2]],
        ),
    ];
    all.extend(dots.map(|(dot, [l, r])| (Op::DotGeneral(dot), vec![aval(d, l), aval(d, r)])));
    for &dtype in DType::ALL {
        for from in [&[3, 8][..], &[16], &[2, 2], &[4], &[]] {
            all.push((Op::BitcastConvert(BitcastConvert { dtype }), vec![aval(d, from)]));
        }
    }
    all
}

/// Ops on matrices, which are no part of [`programs`]: on matrices of random numbers most have no result that
/// says anything. They are held in `matrices.rs` and `factors.rs`.
pub const MATRICES: [&str; 7] = ["chol", "triangular_solve", "lu", "lu_solve", "qr", "eigh", "svd"];

/// Ops on matrices, with the types of their operands.
pub fn matrices(d: DType) -> Vec<(Op, Vec<Aval>)> {
    let mut all: Vec<(Op, Vec<Aval>)> = vec![];
    for square in [&[4, 4][..], &[2, 3, 3], &[0, 0], &[20, 20]] {
        for lower in [true, false] {
            all.push((Cholesky { lower }.into(), vec![aval(d, square)]));
        }
        for vectors in [true, false] {
            all.push((Eigh { vectors }.into(), vec![aval(d, square)]));
        }
    }
    for lower in [true, false] {
        for unit in [true, false] {
            for adjoint in [true, false] {
                let op = TriangularSolve { lower, unit, adjoint };
                for [a, b] in [[&[5, 5][..], &[5, 3][..]], [&[2, 3, 3], &[2, 3, 1]], [&[0, 0], &[0, 2]]] {
                    all.push((op.into(), vec![aval(d, a), aval(d, b)]));
                }
            }
        }
    }
    for sizes in [&[4, 4][..], &[5, 3], &[3, 5], &[2, 3, 4], &[0, 2], &[2, 0]] {
        all.push((Lu.into(), vec![aval(d, sizes)]));
        for full in [true, false] {
            all.push((Qr { full }.into(), vec![aval(d, sizes)]));
            all.push((Svd { vectors: true, full }.into(), vec![aval(d, sizes)]));
        }
        all.push((Svd { vectors: false, full: false }.into(), vec![aval(d, sizes)]));
    }
    for adjoint in [true, false] {
        let types = vec![aval(d, &[4, 4]), aval(d, &[4, 4]), aval(DType::I32, &[4]), aval(d, &[4, 2])];
        all.push((LuSolve { adjoint }.into(), types));
    }
    all
}

/// Ops that sort.
fn sorts(d: DType) -> Vec<(Op, Vec<Aval>)> {
    let mut all = vec![];
    for (axis, sizes) in [(0, &[70][..]), (0, &[9, 4]), (1, &[3, 7]), (1, &[2, 5, 3]), (0, &[0, 2])] {
        for descending in [false, true] {
            let axis = Axis(axis);
            all.push((Op::Sort(Sort { axis, descending }), vec![aval(d, sizes)]));
            let one = Ordering { axis, descending: vec![descending] };
            all.push((Op::Ordering(one), vec![aval(d, sizes)]));
            let three = Ordering { axis, descending: vec![descending, true, false] };
            let others = [DType::I1, d, DType::I32].map(|dtype| aval(dtype, sizes));
            all.push((Op::Ordering(three), others.to_vec()));
            let top = TopK { axis, count: sizes[axis.0].min(4), descending };
            all.push((Op::TopK(top), vec![aval(d, sizes)]));
        }
    }
    all
}

/// Transforms and sums over windows.
fn signals(d: DType) -> Vec<(Op, Vec<Aval>)> {
    let mut all = vec![];
    for kind in [Kind::Forward, Kind::Inverse, Kind::Real, Kind::RealInverse] {
        for (axis, from) in [(0, &[12, 2][..]), (1, &[3, 7]), (1, &[2, 67, 3]), (0, &[1]), (0, &[3, 0])] {
            let sizes =
                if kind == Kind::RealInverse { [2, 1].map(|odd| 2 * from[axis] - odd) } else { [0, 0] };
            for size in sizes.into_iter().filter(|&n| kind != Kind::RealInverse || n > 0) {
                all.push((Op::Fourier(Fourier { kind, axis: Axis(axis), size }), vec![aval(d, from)]));
            }
        }
    }
    let plain = Convolution {
        stride: vec![1],
        low: vec![0],
        high: vec![0],
        base: vec![1],
        dilation: vec![1],
        groups: 1,
    };
    let conv =
        |op: Convolution, x: &[usize], kernel: &[usize]| (op.into(), vec![aval(d, x), aval(d, kernel)]);
    let grouped = Convolution { stride: vec![2], low: vec![1], high: vec![-1], groups: 2, ..plain.clone() };
    let dilated = Convolution { low: vec![2], base: vec![2], dilation: vec![2], ..plain.clone() };
    let of_two = Convolution {
        stride: vec![1, 2],
        low: vec![1, 0],
        high: vec![0, 1],
        base: vec![1, 1],
        dilation: vec![1, 2],
        groups: 1,
    };
    all.extend([
        conv(plain.clone(), &[2, 5, 3], &[3, 3, 2]),
        conv(grouped, &[1, 7, 4], &[3, 2, 4]),
        conv(dilated, &[2, 4, 1], &[2, 1, 3]),
        conv(of_two, &[2, 4, 5, 2], &[2, 2, 2, 3]),
        conv(plain.clone(), &[0, 5, 3], &[3, 3, 2]),
        conv(plain, &[2, 2, 1], &[3, 1, 2]),
    ]);
    let along = |size, stride, low, high, dilation| Window { size, stride, low, high, dilation, base: 1 };
    let alone = along(1, 1, 0, 0, 1);
    for fold in [Fold::Sum, Fold::Prod, Fold::Max, Fold::Min] {
        for (windows, from) in [
            (vec![along(3, 1, 0, 0, 1)], &[7][..]),
            (vec![along(2, 2, 1, 1, 1), along(3, 1, 0, 1, 1)], &[5, 4]),
            (vec![along(3, 1, 2, -1, 2), alone], &[6, 2]),
            (vec![alone, along(2, 1, 0, 0, 1), along(2, 2, 0, 1, 1)], &[1, 3, 4]),
            (vec![along(2, 1, 0, 0, 1), alone], &[1, 2]),
            (vec![], &[]),
        ] {
            all.push((ReduceWindow { fold, windows }.into(), vec![aval(d, from)]));
        }
    }
    all
}

/// Ops of no operands, and random bits.
fn made(dtype: DType) -> Vec<(Op, Vec<Aval>)> {
    let mut all = vec![];
    for (value, to) in
        [(Literal::new(1.5f64), &[2, 3][..]), (Literal::new(f64::NAN), &[]), (Literal::new(-7i32), &[0, 2])]
    {
        all.push((Op::Fill(Fill { value: value.convert(dtype), shape: shape(to), ambiguous: None }), vec![]));
    }
    for (to, axis, start) in [
        (&[4, 3][..], 0, 0),
        (&[2, 5], 1, 3),
        (&[7], 0, -4),
        (&[200], 0, -100),
        (&[0], 0, 5),
        (&[300], 0, 60_000),
    ] {
        let iota = Iota { axis: Axis(axis), to: Ranked::known(dtype), shape: shape(to), start };
        all.push((Op::Iota(iota), vec![]));
    }
    for algorithm in [Algorithm::ThreeFry, Algorithm::Philox] {
        for to in [
            &[][..],
            &[1],
            &[5],
            &[6],
            &[2, 3],
            &[3, 3],
            &[3, 1, 4],
            &[5, 7, 3],
            &[0, 2],
            &[1, 8],
            &[9, 2, 5],
            &[257],
        ] {
            let bits = RngBits { algorithm, dtype, shape: shape(to), with_state: true };
            all.push((Op::RngBits(bits), vec![aval(DType::UI64, &[2])]));
        }
    }
    all
}

fn region(types: &[Aval], body: &dyn Fn(&mut Builder, &[Value]) -> Vec<Value>) -> Arc<Graph> {
    let mut b = Builder::default();
    let inputs: Vec<_> = types.iter().map(|t| b.input(t.clone())).collect();
    let outputs = body(&mut b, &inputs);
    Arc::new(b.finish(outputs))
}

/// Scatters by functions: a formula, one that uses a value from around it, one with a loop. Windows are
/// dropped, batched, at no position.
fn scatters(d: DType) -> Vec<(Op, Vec<Aval>)> {
    let add =
        |b: &mut Builder, x, y| b.node1(Op::Binary(Binary::add), &[x, y]).expect("every dtype has sums");
    let (one, line) = (aval(d, &[]), aval(d, &[3]));
    let formula = region(&[one.clone(), one.clone()], &|b, v| {
        let sum = add(b, v[0], v[1]);
        vec![add(b, sum, v[1])]
    });
    let around = region(&[one.clone(), one.clone(), one.clone()], &|b, v| {
        let sum = add(b, v[0], v[1]);
        vec![add(b, sum, v[2])]
    });
    let step = region(&[one.clone(), one.clone()], &|b, v| vec![add(b, v[0], v[1])]);
    let repeated = region(&[one.clone(), one.clone(), line.clone()], &|b, v| {
        let scan = Scan {
            body: step.clone(),
            carried: 1,
            sliced: 1,
            length: 3,
            reverse: false,
            last: false,
            checkpoint: false,
        };
        let sum = add(b, v[0], v[1]);
        b.node(Op::Scan(scan), &[sum, v[2]]).expect("a scan of sums")
    });
    let windows =
        |window: &[usize], dropped: &[usize], batching: [&[usize]; 2], map: &[usize], vector: usize| {
            Windows {
                window_axes: axes_of(window),
                dropped: axes_of(dropped),
                batching: axes_of(batching[0]),
                index_batching: axes_of(batching[1]),
                index_map: axes_of(map),
                index_vector_axis: Axis(vector),
            }
        };
    let places = [
        (windows(&[1], &[0], [&[], &[]], &[0, 1], 1), aval(d, &[4, 6]), &[9, 2][..], aval(d, &[9, 3])),
        (
            windows(&[3, 4], &[1], [&[0], &[1]], &[2, 1], 3),
            aval(d, &[2, 3, 4, 2]),
            &[2, 2, 3, 2],
            aval(d, &[2, 2, 3, 2, 2]),
        ),
        (windows(&[], &[0], [&[], &[]], &[0], 1), aval(d, &[5]), &[4], aval(d, &[4])),
        (windows(&[], &[], [&[], &[]], &[], 1), one.clone(), &[3, 0], aval(d, &[3])),
        (windows(&[1], &[], [&[], &[]], &[0], 1), aval(d, &[0]), &[2, 1], aval(d, &[2, 0])),
    ];
    let mut all = Vec::new();
    for (windows, x, indices, update) in places {
        for (function, captured) in [(&formula, None), (&around, Some(&one)), (&repeated, Some(&line))] {
            for index in [DType::I8, DType::I32, DType::UI64] {
                let update_by = Update::By(function.clone());
                let windows = windows.clone();
                let op = Scatter {
                    windows,
                    update: update_by,
                    indices_are_sorted: false,
                    unique_indices: false,
                    check: Check::Silent,
                };
                let types = [x.clone(), aval(index, indices), update.clone()];
                all.push((Op::Scatter(op), types.into_iter().chain(captured.cloned()).collect()));
            }
        }
    }
    all
}

/// Branches and loops: a value is doubled, or summed along an axis.
fn control(d: DType) -> Vec<(Op, Vec<Aval>)> {
    let (x, count, flag) = (aval(d, &[3]), aval(DType::I32, &[]), aval(DType::I1, &[]));
    let add =
        |b: &mut Builder, x, y| b.node1(Op::Binary(Binary::add), &[x, y]).expect("every dtype has sums");
    let double = region(slice::from_ref(&x), &|b, v| vec![add(b, v[0], v[0])]);
    let same = region(slice::from_ref(&x), &|_, v| vec![v[0]]);
    let mut all = vec![(Op::If(If { branches: [double.clone(), same] }), vec![flag, x.clone(), x.clone()])];
    let step = region(&[count.clone(), x.clone(), x.clone()], &|b, v| {
        let one = b.literal(Literal::new(1i32), None);
        vec![add(b, v[0], one), add(b, v[1], v[2])]
    });
    // From `-2^31` on it would take for ever: counts begin at a number of 8 bits.
    let cond = region(&[count.clone(), x.clone()], &|b, v| {
        let (limit, low) = (b.literal(Literal::new(3i32), None), b.literal(Literal::new(-100i32), None));
        let below = b.node1(Op::Compare(Compare::lt), &[v[0], limit]).expect("integers are compared");
        let above = b.node1(Op::Compare(Compare::gt), &[v[0], low]).expect("integers are compared");
        vec![b.node1(Op::Binary(Binary::and), &[below, above]).expect("booleans are joined")]
    });
    all.push((
        Op::While(While { cond, body: step, carried: 2, bound: None }),
        vec![count, x.clone(), x.clone()],
    ));
    for (length, reverse) in [(4, false), (4, true), (0, false), (1, true)] {
        let body = region(&[x.clone(), x.clone(), x.clone()], &|b, v| {
            let sum = add(b, v[0], v[1]);
            let other = add(b, v[1], v[2]);
            vec![sum, other, v[0]]
        });
        let scan = Scan { body, carried: 1, sliced: 1, length, reverse, last: false, checkpoint: false };
        all.push((Op::Scan(scan), vec![x.clone(), aval(d, &[length, 3]), x.clone()]));
    }
    let forward = region(slice::from_ref(&x), &|b, v| vec![add(b, v[0], v[0])]);
    let backward = region(slice::from_ref(&x), &|_, v| vec![v[0]]);
    let derivative = Derivative::Reverse { forward, backward, targets: vec![0] };
    let custom = Custom { call: double.clone(), arguments: 1, derivative };
    all.push((Op::Custom(custom), vec![x.clone()]));
    let floats = d.is_float() || d.is_complex();
    let types = if floats { vec![x.clone(), x.clone()] } else { vec![x.clone()] };
    let push = region(&types, &|b, v| v.iter().map(|&x| add(b, x, x)).collect());
    let custom = Custom { call: double, arguments: 1, derivative: Derivative::Forward(push) };
    all.push((Op::Custom(custom), vec![x]));
    all
}

/// All programs, with so many elements of operands of elementwise ops.
pub fn programs(elements: usize) -> Vec<Program> {
    let mut all = Vec::new();
    let others = |dtype: DType| {
        let same = |(op, arity): (Op, usize)| (op, vec![aval(dtype, &[elements]); arity]);
        let ops = elementwise().into_iter().map(same).chain(structured(dtype, elements)).chain(made(dtype));
        ops.chain(control(dtype)).chain(scatters(dtype)).collect::<Vec<_>>()
    };
    let families: [&dyn Fn(DType) -> Vec<(Op, Vec<Aval>)>; 3] = [&others, &sorts, &signals];
    for (family, &dtype) in families.iter().flat_map(|family| DType::ALL.iter().map(move |d| (family, d))) {
        let ops = family(dtype);
        let mut variants: BTreeMap<&str, usize> = BTreeMap::new();
        for (op, types) in ops {
            let row = op.row().name;
            let number = variants.entry(row).or_default();
            *number += 1;
            if let Some(graph) = program(op, &types) {
                all.push(Program { name: format!("{row}-{dtype}-{number}"), row, graph });
            }
        }
    }
    all
}

/// An op, with the types of operands that it takes.
pub struct Example {
    pub op: Op,
    pub operands: Vec<Aval>,
    pub results: Vec<Aval>,
}

impl Example {
    fn of(graph: &Graph) -> Example {
        let node = graph.nodes().last().expect("a program of one op");
        let types = |values: &[Value]| values.iter().map(|&v| graph.aval(v).clone()).collect();
        Example { op: node.op.clone(), operands: types(&node.operands), results: types(&node.results) }
    }
}

/// Examples of all ops, by row.
pub fn examples() -> BTreeMap<&'static str, Vec<Example>> {
    let mut all: BTreeMap<&str, Vec<Example>> = BTreeMap::new();
    for program in programs(4) {
        all.entry(program.row).or_default().push(Example::of(&program.graph));
    }
    let mut b = Builder::default();
    let x = b.input(Aval::known(DType::F32, [2].into()));
    let shown = b.node1(Print { label: "x".into(), ambiguous: None, number: 1 }, &[x]).unwrap();
    all.entry("print").or_default().push(Example::of(&b.finish(vec![shown])));
    all.entry("callback").or_default().push(Example::of(&callback()));
    for dtype in [DType::F32, DType::F64, DType::C64, DType::C128] {
        for (op, types) in matrices(dtype) {
            let name = op.row().name;
            all.entry(name).or_default().push(Example::of(&program(op, &types).expect("an op on matrices")));
        }
    }
    all
}

/// A function that gives nothing.
struct Idle;

impl Function for Idle {
    fn call(&self, _types: &[Aval], _operands: &[View], _results: &mut [ViewMut]) -> Result<()> {
        Ok(())
    }
}

/// A program that calls a function.
pub fn callback() -> Graph {
    let (mut b, aval) = (Builder::default(), aval(DType::F32, &[2]));
    let x = b.input(aval.clone());
    let given = b.node1(Callback::new(Callee::new(Idle), &[&aval], vec![aval.clone()], false), &[x]).unwrap();
    b.finish(vec![given])
}
