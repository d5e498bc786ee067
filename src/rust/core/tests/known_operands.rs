//! Ops with a known operand that are rewritten to cheaper ones: the bits are those of the op on a tensor.

mod common;

use anvil_core::dtype::DType;
use anvil_core::exec::{Executable, Output};
use anvil_core::kernels::math::Steps;
use anvil_core::ops::{Binary, BroadcastInDim, Builder, Graph};
use anvil_core::passes;
use anvil_core::tensor::{Aval, Literal};
use common::Rng;

const N: usize = 300;

fn run(graph: &Graph, inputs: &[&[u8]], bytes: usize) -> Vec<u8> {
    let mut out = vec![0; bytes];
    let inputs: Vec<Option<&[u8]>> = inputs.iter().map(|x| Some(*x)).collect();
    let executable = Executable::compile(graph, &[]).unwrap();
    executable.run(&inputs, &[], vec![Output::Fresh(&mut out)]).unwrap();
    out
}

/// `op(x, y)` with a `y` that is known, or an input.
fn graph(op: Binary, dtype: DType, known: Option<Literal>) -> Graph {
    let mut b = Builder::default();
    let aval = Aval::known(dtype, [N].into());
    let x = b.input(aval.clone());
    let y = match known {
        None => b.input(aval.clone()),
        Some(literal) => {
            let scalar = b.literal(literal, None);
            b.node1(BroadcastInDim { shape: aval.shape.clone(), axes: vec![] }, &[scalar]).unwrap()
        }
    };
    let z = b.node1(op, &[x, y]).unwrap();
    b.finish(vec![z])
}

/// Bytes of elements of all kinds; of floats, numbers of all sizes beside those at which something happens.
fn elements(dtype: DType, rng: &mut Rng) -> Vec<u8> {
    let special = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324, 1e-45, 3.0];
    let one = |rng: &mut Rng| -> Vec<u8> {
        let literal = match rng.below(4) {
            0 => Literal::new(special[rng.below(special.len())]).convert(dtype),
            1 => Literal::new((rng.bits() % 2001) as f64 / 100.0 - 10.0).convert(dtype),
            _ => return rng.bits().to_le_bytes()[..dtype.bytes()].to_vec(),
        };
        literal.to_bytes()[..dtype.bytes()].to_vec()
    };
    (0..N).flat_map(|_| one(rng)).collect()
}

fn check(op: Binary, dtype: DType, known: Literal, rng: &mut Rng) -> bool {
    let x = elements(dtype, rng);
    let y: Vec<u8> = (0..N).flat_map(|_| known.to_bytes()[..dtype.bytes()].to_vec()).collect();
    let short = graph(op, dtype, Some(known));
    let got = run(&short, &[&x], x.len());
    let want = run(&graph(op, dtype, None), &[&x, &y], x.len());
    for i in 0..N {
        let at = i * dtype.bytes()..(i + 1) * dtype.bytes();
        let (got, want, x) = (&got[at.clone()], &want[at.clone()], &x[at]);
        assert_eq!(got, want, "{op:?} of {dtype} {x:?} and {known:?}");
    }
    let simple = passes::optimise(&short).unwrap();
    !simple.nodes().iter().any(|node| node.op.get::<Binary>() == Some(&op))
}

#[test]
fn powers_with_short_exponents_are_products() {
    let mut rng = Rng::new(5);
    for &dtype in DType::ALL.iter().filter(|d| d.is_float() || d.is_integer()) {
        for twice in -20..=20 {
            if twice % 2 != 0 && !dtype.is_float() {
                continue;
            }
            let exponent = f64::from(twice) / 2.0;
            let gone = check(Binary::pow, dtype, Literal::new(exponent).convert(dtype), &mut rng);
            if matches!(dtype, DType::F32 | DType::F64) {
                assert_eq!(gone, Steps::of(exponent).is_some(), "{exponent} of {dtype}");
            }
        }
    }
}

#[test]
fn quotients_by_powers_of_two_are_products() {
    let mut rng = Rng::new(6);
    for dtype in [DType::F32, DType::F64] {
        for exponent in (-1080..=1030).step_by(7).chain(-152..=130) {
            let known = Literal::new(2f64.powi(exponent)).convert(dtype);
            let known = if rng.one_in(3) { Literal::new(-known.get::<f64>()).convert(dtype) } else { known };
            let gone = check(Binary::div, dtype, known, &mut rng);
            let least = if dtype == DType::F32 { -126 } else { -1022 };
            assert_eq!(gone, (least..=-least).contains(&exponent), "2^{exponent} of {dtype}");
        }
    }
    assert!(!check(Binary::div, DType::F64, Literal::new(3.0), &mut rng));
}
