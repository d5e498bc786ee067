//! Formulas that become functions: those are at least as accurate, and change nothing else.

use crate::cases::CASES;
use crate::precise::{ulps, Precise};
use crate::{common, point, row, single_error};
use anvil_core::autodiff::Tape;
use anvil_core::dtype::DType;
use anvil_core::exec::reference;
use anvil_core::ops::{Builder, Graph, Math, Unary, Var};
use anvil_core::passes::{accurate, Stage};
use anvil_core::shape::Shape;
use anvil_core::tensor::Aval;
use common::{disagreement, Rng};

type Formula = for<'m, 'b> fn(Var<'m, 'b>) -> Var<'m, 'b>;

/// The formulas, and the functions that they are.
const FORMULAS: &[(Unary, Formula)] = &[
    (Unary::softplus, |x| (x.unary(Unary::exp) + 1.0).unary(Unary::log)),
    (Unary::softplus, |x| (1.0 + x.unary(Unary::exp)).unary(Unary::log)),
    (Unary::softplus, |x| x.unary(Unary::exp).unary(Unary::log1p)),
    (Unary::log1p, |x| (1.0 + x).unary(Unary::log)),
    (Unary::expm1, |x| x.unary(Unary::exp) - 1.0),
    (Unary::logistic, |x| 1.0 / (1.0 + (-x).unary(Unary::exp))),
    (Unary::logistic, |x| x.unary(Unary::exp) / (x.unary(Unary::exp) + 1.0)),
];

fn graph(dtype: DType, size: usize, formula: impl for<'m, 'b> Fn(Var<'m, 'b>) -> Vec<Var<'m, 'b>>) -> Graph {
    let mut b = Builder::default();
    let x = b.input(Aval::known(dtype, Shape::from([size])));
    let math = Math::new(&mut b);
    let outputs = formula(math.var(x)).into_iter().map(Var::value).collect();
    math.finish().expect("a program");
    b.finish(outputs)
}

fn ops(graph: &Graph) -> Vec<&'static str> {
    graph.nodes().iter().map(|node| node.op.row().name).collect()
}

fn singles(graph: &Graph, x: &[f32]) -> Vec<f32> {
    let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_ne_bytes()).collect();
    let out = reference::evaluate(graph, &[&bytes], &[]).expect("no checks");
    out[0].chunks(4).map(|y| f32::from_ne_bytes([y[0], y[1], y[2], y[3]])).collect()
}

fn doubles(graph: &Graph, x: &[f64]) -> Vec<f64> {
    let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_ne_bytes()).collect();
    let out = reference::evaluate(graph, &[&bytes], &[]).expect("no checks");
    out[0].chunks(8).map(|y| f64::from_ne_bytes(std::array::from_fn(|i| y[i]))).collect()
}

/// The larger of two errors; NaN is the largest.
fn worse(x: f64, y: f64) -> f64 {
    if y.is_nan() {
        f64::INFINITY
    } else {
        x.max(y.abs())
    }
}

#[test]
fn functions_are_at_least_as_accurate_as_the_formulas() {
    let mut table = String::new();
    for &(function, formula) in FORMULAS {
        let name = row(function.row().name).expect("a row").name;
        let case = CASES.iter().find(|case| case.name == name).expect("a case");
        let bound = row(name).expect("a row").ulps;

        let mut rng = Rng::new(5);
        let x: Vec<f32> =
            (0..20_000).map(|_| point(&mut rng, case.range) as f32).filter(|x| x.is_finite()).collect();
        let old = graph(DType::F32, x.len(), |x| vec![formula(x)]);
        let new = accurate(&old, Stage::Compiled).unwrap().expect("a formula");
        let (mut before, mut after) = (0.0, 0.0);
        for ((&x, old), new) in x.iter().zip(singles(&old, &x)).zip(singles(&new, &x)) {
            let want = (case.double)(x.into());
            // Below -1 there is no logarithm.
            if want.is_nan() {
                assert!(old.is_nan() && new.is_nan());
                continue;
            }
            before = worse(before, single_error(old, want));
            after = worse(after, single_error(new, want));
        }
        assert!(after <= before && after <= bound, "{name}: {after} ulps in f32, of the formula {before}");
        table += &format!("{name:<10}{before:<14.4e}{after:<10.3}");

        let (low, high) = (case.range.0.max(-30.0), case.range.1.min(30.0));
        let x: Vec<f64> = (0..2000)
            .map(|i| point(&mut rng, (low, high)) * if i % 2 == 0 { 1.0 } else { 1e-3 })
            .filter(|x| x.abs() < 30.0 && *x > low && x.abs() > 1e-300)
            .collect();
        let old = graph(DType::F64, x.len(), |x| vec![formula(x)]);
        let new = accurate(&old, Stage::Compiled).unwrap().expect("a formula");
        let (mut before, mut after, mut precise) = (0.0, 0.0, Precise::new());
        for ((&x, old), new) in x.iter().zip(doubles(&old, &x)).zip(doubles(&new, &x)) {
            let big = precise.of(x);
            let want = (case.exact)(&mut precise, &big);
            before = worse(before, ulps(old, &want, 53, -1074));
            after = worse(after, ulps(new, &want, 53, -1074));
        }
        assert!(after <= before && after <= bound, "{name}: {after} ulps in f64, of the formula {before}");
        table += &format!("{before:<14.4e}{after:.3}\n");
    }
    println!("{table}");
}

#[test]
fn a_formula_becomes_one_node() {
    for &(function, formula) in FORMULAS {
        for dtype in [DType::F32, DType::F64, DType::BF16, DType::F16] {
            let old = graph(dtype, 3, |x| vec![formula(x)]);
            let new = accurate(&old, Stage::Compiled).unwrap().expect("a formula");
            assert_eq!(ops(&new), [function.row().name]);
            assert_eq!(new.aval(new.outputs()[0]), old.aval(old.outputs()[0]));
            assert!(accurate(&new, Stage::Compiled).unwrap().is_none());
            // Derivatives of the others would be worse.
            let is_early = accurate(&old, Stage::Traced).unwrap().is_some();
            assert_eq!(is_early, function == Unary::softplus);
            let inputs = [common::random_tensor(&mut Rng::new(2), old.aval(old.inputs()[0]))];
            assert_eq!(disagreement(&new, &inputs, &[], &[]), None);
        }
    }
}

#[test]
fn what_only_looks_like_a_formula_stays() {
    let others: &[Formula] = &[
        |x| (x.unary(Unary::exp) + 2.0).unary(Unary::log),
        |x| 1.0 - x.unary(Unary::exp),
        |x| 1.0 / (1.0 + x.unary(Unary::exp)),
        |x| 2.0 / (1.0 + (-x).unary(Unary::exp)),
        |x| x.unary(Unary::exp) / ((-x).unary(Unary::exp) + 1.0),
    ];
    for &formula in others {
        let graph = graph(DType::F32, 3, |x| vec![formula(x)]);
        assert!(accurate(&graph, Stage::Compiled).unwrap().is_none(), "{graph}");
    }
    let complex = graph(DType::C64, 3, |x| vec![x.unary(Unary::exp) - 1.0]);
    assert!(accurate(&complex, Stage::Compiled).unwrap().is_none());
}

#[test]
fn sums_that_something_else_reads_stay() {
    let shared = graph(DType::F32, 3, |x| {
        let sum = x.unary(Unary::exp) + 1.0;
        vec![sum.unary(Unary::log), sum]
    });
    assert!(accurate(&shared, Stage::Compiled).unwrap().is_none());
    // The exponential is computed for its other reader.
    let shared = graph(DType::F32, 3, |x| {
        let power = x.unary(Unary::exp);
        vec![(power + 1.0).unary(Unary::log), power]
    });
    let new = accurate(&shared, Stage::Compiled).unwrap().expect("a formula");
    assert_eq!(ops(&new), ["exp", "softplus"]);
}

#[test]
fn overflow_is_no_longer_there_and_nan_is_as_it_was() {
    let x = [1000.0, -1000.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.0];
    let of = |i: usize, stage: Option<Stage>| {
        let old = graph(DType::F64, x.len(), |x| vec![FORMULAS[i].1(x)]);
        doubles(&stage.map_or(old.clone(), |stage| accurate(&old, stage).unwrap().expect("a formula")), &x)
    };
    let (softplus, plain) = (of(0, Some(Stage::Traced)), of(0, None));
    assert_eq!(softplus[..4], [1000.0, 0.0, f64::INFINITY, 0.0]);
    assert_eq!(plain[..2], [f64::INFINITY, 0.0]);
    let (logistic, plain) = (of(6, Some(Stage::Compiled)), of(6, None));
    assert_eq!(logistic[..4], [1.0, 0.0, 1.0, 0.0]);
    assert!(plain[0].is_nan() && plain[2].is_nan());
    assert!(softplus[4].is_nan() && logistic[4].is_nan());
}

#[test]
fn the_gradient_of_a_softplus_is_one_where_its_exponential_overflows() {
    let gradient = |graph: &Graph| {
        let mut b = Builder::default();
        let x = b.input(graph.aval(graph.inputs()[0]).clone());
        let tape = Tape::record(&mut b, graph, &[x], &[0]).unwrap();
        let math = Math::new(&mut b);
        let ones = math.fill(1.0, graph.aval(graph.outputs()[0])).value();
        math.finish().unwrap();
        let pulled = tape.pull(&mut b, &[Some(ones)], &[0]).unwrap();
        doubles(&b.finish(pulled), &[1000.0, 0.0, -1000.0])
    };
    let old = graph(DType::F64, 3, |x| vec![FORMULAS[0].1(x)]);
    let new = accurate(&old, Stage::Traced).unwrap().expect("a formula");
    assert_eq!(gradient(&old)[0], 0.0);
    assert_eq!(gradient(&new), [1.0, 0.5, 0.0]);
}
