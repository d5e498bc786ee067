//! Batches of ops: a program on values with a batch axis gives what a loop of single runs gives.

#[path = "common/batches.rs"]
mod batches;
mod common;
#[path = "common/rows.rs"]
mod row_programs;

use anvil_core::batch::{batch, Examples, Stacked};
use anvil_core::dtype::DType;
use anvil_core::error::Error;
use anvil_core::graph::Operation;
use anvil_core::hlo::legalize;
use anvil_core::kernels::cast;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::kernels::random::Algorithm;
use anvil_core::kernels::reductions::cumulative::Cumulation;
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::ops::{
    rows, Binary, Builder, Concatenate, Cumulative, DotGeneral, Graph, Op, OpDef, Reduction, RngBits,
    StaticSlice, Ternary, Transpose,
};
use anvil_core::passes::optimise;
use anvil_core::shape::{Axis, Shape};
use anvil_core::tensor::Aval;
use batches::{bits, differs, evaluate, subsets, vmap, Data};
use common::{aligned, Rng};
use row_programs::{elementwise, programs, MATRICES};
use std::collections::{BTreeMap, BTreeSet};

/// Sizes of batches.
const SIZES: [usize; 4] = [0, 1, 3, 7];

fn aval(dtype: DType, sizes: &[usize]) -> Aval {
    Aval::known(dtype, Shape::try_new(sizes.to_vec()).unwrap())
}

/// Graph of an op on inputs of these types, if it takes them.
fn graph(op: impl Into<Op>, inputs: &[Aval]) -> Option<Graph> {
    let mut b = Builder::default();
    let x: Vec<_> = inputs.iter().map(|aval| b.input(aval.clone())).collect();
    let outputs = b.node(op, &x).ok()?;
    Some(b.finish(outputs))
}

/// Every row on every dtype and choice of batched operands. All sizes with `ANVIL_PROGRAMS`, which extended
/// runs set; else they take turns.
#[test]
fn rows_agree_with_a_loop_of_single_runs() {
    let all = std::env::var_os("ANVIL_PROGRAMS").is_some();
    let mut rng = Rng::new(1);
    let mut turns: BTreeMap<&str, usize> = BTreeMap::new();
    // By row: the numbers of operands that were batched, and the sizes.
    let mut met: BTreeMap<&str, BTreeSet<(usize, usize)>> = BTreeMap::new();
    for program in programs(4) {
        let op = &program.graph.nodes()[0].op;
        for marks in subsets(program.graph.inputs().len()) {
            let turn = turns.entry(program.row).or_default();
            *turn += 1;
            for size in if all { &SIZES[..] } else { &SIZES[*turn % 4..][..1] } {
                if op.name() == "scatter" && marks.iter().skip(3).any(|&mark| mark) {
                    // What a function captures must not differ between examples.
                    let error = vmap(&program.graph, &marks, *size).unwrap_err();
                    assert!(matches!(error, Error::NoBatch { .. }), "{error}");
                    continue;
                }
                let data = Data::random(&mut rng, &program.graph, &marks, *size);
                if let Some(what) = differs(&program.graph, &marks, &data, &bits) {
                    panic!("{}: {what}", program.name);
                }
                let count = marks.iter().filter(|&&mark| mark).count();
                met.entry(program.row).or_default().insert((count, *size));
            }
        }
    }
    for row in rows() {
        // Ops with an effect have no program of their own. One that prints is met in random programs.
        let sizes = met
            .get(row.name)
            .map_or(0, |met| met.iter().map(|(_, size)| size).collect::<BTreeSet<_>>().len());
        assert!(
            sizes == 4 || ["print", "callback"].contains(&row.name) || MATRICES.contains(&row.name),
            "{}: {sizes} sizes of batches",
            row.name
        );
    }
}

#[test]
fn elementwise_ops_agree_on_shapes_of_all_kinds() {
    let mut rng = Rng::new(2);
    let shapes = [&[][..], &[1], &[0], &[5], &[2, 3], &[3, 0, 2], &[1, 4, 1, 2]];
    let mut ops = elementwise();
    ops.push((Op::Ternary(Ternary::Select), 3));
    for (op, arity) in ops {
        for (i, &dtype) in DType::ALL.iter().enumerate() {
            let sizes = shapes[(i + rng.below(shapes.len())) % shapes.len()];
            let mut inputs = vec![aval(dtype, sizes); arity];
            if matches!(op, Op::Ternary(Ternary::Select)) {
                inputs[0] = aval(DType::I1, sizes);
            }
            let Some(graph) = graph(op.clone(), &inputs) else { continue };
            for marks in subsets(arity) {
                let size = *rng.choose(&SIZES);
                let data = Data::random(&mut rng, &graph, &marks, size);
                if let Some(what) = differs(&graph, &marks, &data, &bits) {
                    panic!("{what}");
                }
            }
        }
    }
}

/// Numbers from -1 to 1, in f32 or f64, and their absolute values.
fn numbers(rng: &mut Rng, aval: &Aval) -> [AlignedBytes; 2] {
    let x: Vec<f64> =
        (0..aval.shape.size()).map(|_| rng.below(1 << 20) as f64 / f64::from(1 << 19) - 1.0).collect();
    [x.clone(), x.iter().map(|x| x.abs()).collect()].map(|x| match aval.dtype {
        DType::F32 => aligned(cast::bytes(&x.iter().map(|&x| x as f32).collect::<Vec<f32>>())),
        _ => aligned(cast::bytes(&x)),
    })
}

fn floats(dtype: DType, x: &[u8]) -> Vec<f64> {
    match dtype {
        DType::F32 => x.chunks(4).map(|e| f32::from_ne_bytes(e.try_into().unwrap()).into()).collect(),
        _ => x.chunks(8).map(|e| f64::from_ne_bytes(e.try_into().unwrap())).collect(),
    }
}

/// Sums and products may be added in another order than in a single run. In any order the error is at most
/// `n` roundings of the sum of absolute values, for `n` terms; so two differ by `2 n` of these at most.
#[test]
fn sums_and_products_of_many_terms_agree_within_their_bound() {
    let mut rng = Rng::new(3);
    let sum = |axes: &[usize]| {
        Op::from(Reduction { fold: Fold::Sum, axes: axes.iter().copied().map(Axis).collect(), drop: true })
    };
    let squares = |axes: &[usize]| {
        Op::from(Reduction {
            fold: Fold::Squares,
            axes: axes.iter().copied().map(Axis).collect(),
            drop: false,
        })
    };
    let dot = |contracting: [usize; 2], batching: Option<[usize; 2]>| {
        let axes = |i: usize| batching.map_or(vec![], |axes| vec![Axis(axes[i])]);
        Op::from(DotGeneral {
            contracting: contracting.map(|i| vec![Axis(i)]),
            batching: [axes(0), axes(1)],
            batch_last: false,
        })
    };
    let cases: Vec<(Op, Vec<&[usize]>, usize)> = vec![
        (sum(&[0]), vec![&[5003]], 5003),
        (sum(&[0, 1]), vec![&[301, 17]], 5117),
        (sum(&[1]), vec![&[17, 301]], 301),
        (squares(&[0]), vec![&[1025, 3]], 1025),
        (dot([0, 0], None), vec![&[1003], &[1003]], 1003),
        (dot([1, 0], None), vec![&[33, 70], &[70]], 70),
        (dot([0, 0], None), vec![&[70], &[70, 33]], 70),
        (dot([1, 0], None), vec![&[19, 131], &[131, 23]], 131),
        (dot([0, 1], None), vec![&[131, 19], &[23, 131]], 131),
        (dot([2, 0], Some([0, 2])), vec![&[2, 3, 40], &[40, 5, 2]], 40),
        (dot([0, 0], None), vec![&[0, 3], &[0, 2]], 0),
    ];
    for (op, sizes, terms) in cases {
        for dtype in [DType::F32, DType::F64] {
            let inputs: Vec<Aval> = sizes.iter().map(|sizes| aval(dtype, sizes)).collect();
            let single = graph(op.clone(), &inputs).unwrap();
            for marks in subsets(inputs.len()) {
                for size in SIZES {
                    let mut absolute = Vec::new();
                    let data = Data::new(&single, &marks, size, |aval| {
                        let [x, abs] = numbers(&mut rng, aval);
                        absolute.push(abs);
                        x
                    });
                    let mut absolute = absolute.into_iter();
                    let of_absolute = Data::new(&single, &marks, size, |_| absolute.next().unwrap());
                    let magnitudes = of_absolute.loop_of_runs(&single).into_iter();
                    let magnitudes: Vec<u8> = magnitudes.flat_map(|all| all.unwrap().remove(0)).collect();
                    let magnitudes = floats(dtype, &magnitudes);
                    let unit = if dtype == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON } / 2.0;
                    let within = |dtype: DType, got: &[u8], want: &[u8]| {
                        let pairs = floats(dtype, got).into_iter().zip(floats(dtype, want)).zip(&magnitudes);
                        let beyond =
                            |((x, y), m): &((f64, f64), &f64)| (x - y).abs() > 2.0 * terms as f64 * unit * *m;
                        pairs.into_iter().find(beyond).map(|((x, y), m)| format!("{x}, not {y}, of {m}"))
                    };
                    if let Some(what) = differs(&single, &marks, &data, &within) {
                        panic!("{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn draws_of_a_batch_of_states_are_those_of_each_state() {
    let mut rng = Rng::new(4);
    let state = aval(DType::UI64, &[2]);
    let shapes = [&[][..], &[1], &[2], &[5], &[2, 3], &[3, 1, 4], &[0, 2], &[257], &[600, 3]];
    for algorithm in [Algorithm::ThreeFry, Algorithm::Philox] {
        for dtype in [DType::UI8, DType::I16, DType::UI32, DType::I64] {
            for sizes in shapes {
                let shape = Shape::try_new(sizes.to_vec()).unwrap();
                let op = RngBits { algorithm, dtype, shape, with_state: true };
                let single = graph(op, std::slice::from_ref(&state)).unwrap();
                for size in [0, 1, 3, 40] {
                    let data = Data::random(&mut rng, &single, &[true], size);
                    if let Some(what) = differs(&single, &[true], &data, &bits) {
                        panic!("{what}");
                    }
                    // A batch of batches; and as StableHLO computes it.
                    let batched = vmap(&single, &[true], size).unwrap();
                    let all = Data::random(&mut rng, &batched, &[true], 2);
                    if let Some(what) = differs(&batched, &[true], &all, &bits) {
                        panic!("{what}");
                    }
                    let plain = legalize(&batched).unwrap();
                    assert!(plain.nodes().iter().all(|node| node.op.name() != "rng_bits"));
                    let [got, want] = [&plain, &batched].map(|graph| evaluate(graph, &data.inputs).unwrap());
                    assert_eq!(got, want, "{batched}");
                }
            }
        }
    }
}

#[test]
fn states_of_random_numbers_are_pairs() {
    let op = RngBits { algorithm: Algorithm::Philox, dtype: DType::I32, shape: [3].into(), with_state: true };
    for (dtype, sizes) in
        [(DType::UI64, &[3][..]), (DType::I64, &[2]), (DType::UI64, &[]), (DType::UI64, &[3, 2])]
    {
        assert!(op.infer(&[&aval(dtype, sizes)]).is_err(), "{sizes:?}");
    }
    let types = op.infer(&[&aval(DType::UI64, &[2, 5, 4])]).unwrap();
    assert_eq!(types, [aval(DType::UI64, &[2, 5, 4]), aval(DType::I32, &[3, 5, 4])]);
}

/// What follows examples that lie in rows is computed as they lie: no transpose is left.
#[test]
fn examples_in_rows_are_computed_as_they_lie() {
    let x = aval(DType::F64, &[7]);
    let mut b = Builder::default();
    let [x, y] = [b.input(x.clone()), b.input(x)];
    let ends = StaticSlice { start: vec![1], limit: vec![7], stride: vec![1] };
    let end = b.node1(ends, &[x]).unwrap();
    let joined = b.node1(Concatenate { axis: Axis(0) }, &[end, y]).unwrap();
    let sums = b.node1(Cumulative { by: Cumulation::Sum, axis: Axis(0), reverse: false }, &[joined]).unwrap();
    let squares = b.node1(Binary::mul, &[sums, sums]).unwrap();
    let op = Reduction { fold: Fold::Sum, axes: vec![Axis(0)], drop: true };
    let total = b.node1(op, &[squares]).unwrap();
    let single = b.finish(vec![total]);
    let mut b = Builder::default();
    let inputs = [aval(DType::F64, &[50, 7]), aval(DType::F64, &[7])].map(|aval| b.input(aval));
    let last = b.node1(Transpose { permutation: vec![Axis(1), Axis(0)] }, &inputs[..1]).unwrap();
    let given = Stacked { values: vec![last, inputs[1]], batched: vec![true, false] };
    let made = batch(&mut b, &single, &given, Examples { size: 50, mask: None }).unwrap();
    let all = optimise(&b.finish(made.values)).unwrap();
    assert!(all.nodes().iter().all(|node| node.op.name() != "transpose"), "{all}");
}
