//! Ops with a known operand that are rewritten to cheaper ones: the bits are those of the op on a tensor.

mod common;

use anvil_core::dtype::{Bool, DType};
use anvil_core::exec::{Executable, Output};
use anvil_core::graph::Value;
use anvil_core::kernels::math::Steps;
use anvil_core::kernels::memory::AlignedBytes;
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::ops::{
    Binary, BroadcastInDim, Builder, Convert, Graph, Op, Predicate, Reduction, Ternary, Unary,
};
use anvil_core::passes;
use anvil_core::shape::Axis;
use anvil_core::tensor::{Aval, Literal};
use common::{aligned, disagreement, Rng};

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
            _ if dtype == DType::I1 => Literal::new(rng.below(2) as i32).convert(dtype),
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

#[test]
fn remainders_and_quotients_of_integers_by_powers_of_two_are_bits() {
    let mut rng = Rng::new(8);
    for &dtype in DType::ALL.iter().filter(|d| d.is_integer()) {
        let (low, high) = dtype.bounds().unwrap();
        let is_unsigned = low == 0;
        for power in 0..dtype.bits() {
            let known = Literal::new((1_u64 << power) as i64).convert(dtype);
            let is_above = 1_i128 << power <= high;
            for (op, goes) in [
                (Binary::modulo, is_above),
                (Binary::floor_div, is_above),
                (Binary::remainder, is_unsigned),
                (Binary::div, is_unsigned || power == 0),
            ] {
                assert_eq!(check(op, dtype, known, &mut rng), goes, "{op:?} of {dtype} and 2^{power}");
            }
        }
        for number in [-8, -1, 0, 3, 6] {
            let known = Literal::new(number).convert(dtype);
            assert!(!check(Binary::modulo, dtype, known, &mut rng), "{dtype} and {number}");
        }
    }
}

/// An op, the number that is one of its operands, and whether it is the left one.
type Step = (Binary, Literal, bool);

/// How many nodes with a kernel are left of a program that means the same, bit for bit but for those of NaN.
fn left(rng: &mut Rng, graph: &Graph) -> usize {
    let inputs: Vec<AlignedBytes> =
        graph.inputs().iter().map(|&v| aligned(&elements(graph.aval(v).dtype, rng))).collect();
    if let Some(difference) = disagreement(graph, &inputs, &[], &[]) {
        panic!("{difference}\n{graph}");
    }
    let is_map = |op: &Op| op.get::<Binary>().is_some() || op.get::<Unary>().is_some();
    passes::optimise(graph).unwrap().nodes().iter().filter(|node| is_map(&node.op)).count()
}

/// How many ops are left of two ops with known operands.
fn left_of_two(rng: &mut Rng, steps: [Step; 2]) -> usize {
    let mut b = Builder::default();
    let aval = Aval::known(steps[0].1.dtype(), [N].into());
    let mut x = b.input(aval.clone());
    for (op, number, is_left) in steps {
        let scalar = b.literal(number, None);
        let y = b.node1(BroadcastInDim { shape: aval.shape.clone(), axes: vec![] }, &[scalar]).unwrap();
        x = b.node1(op, &if is_left { [y, x] } else { [x, y] }).unwrap();
    }
    left(rng, &b.finish(vec![x]))
}

#[test]
fn any_two_ops_with_known_operands_keep_their_meaning() {
    let mut rng = Rng::new(7);
    for &dtype in DType::ALL.iter().filter(|d| !d.is_complex()) {
        let ops: Vec<Binary> =
            Binary::ALL.iter().copied().filter(|op| op.row().accepts.contains(dtype)).collect();
        let numbers = [0.0, -0.0, 1.0, -1.0, 3.0, -7.0, 40.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        let mut numbers: Vec<Literal> = numbers.iter().map(|&x| Literal::new(x).convert(dtype)).collect();
        if let Some((low, high)) = dtype.bounds() {
            numbers.extend([low, high].map(|x| Literal::new(x as i64).convert(dtype)));
        }
        for _ in 0..400 {
            let mut step = || (*rng.choose(&ops), *rng.choose(&numbers), rng.one_in(3));
            let steps = [step(), step()];
            left_of_two(&mut rng, steps);
        }
    }
}

#[test]
fn numbers_that_change_nothing_or_join_cost_nothing() {
    use Binary::{add, and, div, max, min, mul, or, shift_left, sub, xor};
    let mut rng = Rng::new(8);
    for &dtype in DType::ALL.iter().filter(|d| !d.is_complex()) {
        let mut left = |first, second| left_of_two(&mut rng, [first, second]);
        let number = |n: f64| Literal::new(n).convert(dtype);
        let (zero, one, three) = (number(0.0), number(1.0), number(3.0));
        assert_eq!(left((mul, one, false), (mul, one, true)), 0, "{dtype}");
        if dtype == DType::I1 {
            continue;
        }
        assert_eq!(left((max, three, true), (max, one, false)), 1, "{dtype}");
        assert_eq!(left((max, three, true), (min, one, false)), 2, "{dtype}");
        assert_eq!(left((sub, zero, false), (div, one, false)), 0, "{dtype}");
        assert_eq!(left((sub, zero, true), (sub, one, true)), 2, "{dtype}");
        // Sums and products of floats round, and -0 + 0 is 0.
        let rounds = usize::from(dtype.is_float());
        assert_eq!(left((add, zero, false), (add, number(-0.0), true)), rounds, "{dtype}");
        assert_eq!(left((sub, one, false), (add, three, true)), 1 + rounds, "{dtype}");
        assert_eq!(left((mul, three, false), (mul, three, true)), 1 + rounds, "{dtype}");
        if let Some((low, _)) = dtype.bounds() {
            let (all, low) = (Literal::new(-1i32).convert(dtype), Literal::new(low as i64).convert(dtype));
            assert_eq!(left((and, all, false), (or, zero, true)), 0, "{dtype}");
            assert_eq!(left((xor, all, false), (xor, three, true)), 1, "{dtype}");
            assert_eq!(left((max, low, false), (shift_left, zero, false)), 0, "{dtype}");
            assert_eq!(left((add, three, false), (mul, zero, true)), 0, "{dtype}");
        }
    }
}

#[test]
fn signs_that_are_taken_twice_cost_nothing() {
    let mut rng = Rng::new(9);
    for &dtype in DType::ALL.iter().filter(|d| d.is_float() || d.is_integer()) {
        let aval = Aval::known(dtype, [N].into());
        // Op, whether its operands are negated, and the ops that are left.
        for (op, negated, ops) in [
            (Binary::sub, [false, true], 1),
            (Binary::add, [false, true], 1),
            (Binary::add, [true, false], 1),
            (Binary::add, [true, true], 2),
            (Binary::sub, [true, false], 2),
        ] {
            let mut b = Builder::default();
            let mut terms = [0, 1].map(|_| b.input(aval.clone()));
            for (term, _) in terms.iter_mut().zip(negated).filter(|(_, negated)| *negated) {
                *term = b.node1(Unary::negate, &[*term]).unwrap();
            }
            let mut sum = b.node1(op, &terms).unwrap();
            for _ in 0..2 {
                sum = b.node1(Unary::negate, &[sum]).unwrap();
            }
            assert_eq!(left(&mut rng, &b.finish(vec![sum])), ops, "{op:?} {negated:?} {dtype}");
        }
    }
}

#[test]
fn choices_that_are_known_cost_nothing() {
    let mut rng = Rng::new(10);
    for &dtype in DType::ALL.iter().filter(|d| !d.is_complex()) {
        let aval = Aval::known(dtype, [N].into());
        let mut count = |condition: fn(&mut Builder, &Aval) -> Value, same: bool| {
            let mut b = Builder::default();
            let inputs = [0, 1].map(|_| b.input(aval.clone()));
            let pred = condition(&mut b, &Aval::known(DType::I1, [N].into()));
            let z = b.node1(Ternary::Select, &[pred, inputs[0], inputs[usize::from(!same)]]).unwrap();
            let graph = b.finish(vec![z]);
            left(&mut rng, &graph);
            passes::optimise(&graph).unwrap().nodes().len()
        };
        fn known(b: &mut Builder, aval: &Aval, value: bool) -> Value {
            let scalar = b.literal(Literal::new(Bool::from(value)), None);
            b.node1(BroadcastInDim { shape: aval.shape.clone(), axes: vec![] }, &[scalar]).unwrap()
        }
        assert_eq!(count(|b, aval| known(b, aval, true), false), 0, "{dtype}");
        assert_eq!(count(|b, aval| known(b, aval, false), false), 0, "{dtype}");
        assert_eq!(count(|b, aval| b.input(aval.clone()), true), 0, "{dtype}");
        assert_eq!(count(|b, aval| b.input(aval.clone()), false), 1, "{dtype}");
        let negated = |b: &mut Builder, aval: &Aval| {
            let pred = b.input(aval.clone());
            b.node1(Unary::not, &[pred]).unwrap()
        };
        assert_eq!(count(negated, false), 1, "{dtype}");
        // Whatever is beside FALSE does not matter.
        let absorbed = |b: &mut Builder, aval: &Aval| {
            let (x, none) = (b.input(aval.clone()), known(b, aval, false));
            b.node1(Binary::and, &[x, none]).unwrap()
        };
        assert_eq!(count(absorbed, false), 0, "{dtype}");
    }
}

/// Checks a sum of numbers that booleans were converted to, which are made of elements of another dtype; and whether
/// it is one of `i32`.
fn check_count(rng: &mut Rng, [from, to]: [DType; 2], axes: &[usize], shape: [usize; 2]) {
    let short = [DType::F32, DType::F64, DType::I64, DType::UI64];
    let mut b = Builder::default();
    let x = b.input(Aval::known(from, shape.into()));
    let holds = b.node1(Convert::known(DType::I1), &[x]).unwrap();
    let holds = b.node1(Unary::not, &[holds]).unwrap();
    let number = b.node1(Convert::known(to), &[holds]).unwrap();
    // The sum of no elements is known.
    let some = axes.iter().all(|&axis| shape[axis] > 0);
    let axes = axes.iter().copied().map(Axis).collect();
    let sum = b.node1(Reduction { fold: Fold::Sum, axes, drop: true }, &[number]).unwrap();
    let graph = b.finish(vec![sum]);
    let x = elements(from, rng)[..shape[0] * shape[1] * from.bytes()].to_vec();
    assert_eq!(disagreement(&graph, &[aligned(&x)], &[], &[]), None, "{graph}");
    let simple = passes::optimise(&graph).unwrap();
    let sum = simple.nodes().iter().find(|node| node.op.get::<Reduction>().is_some());
    let counts = sum.is_some_and(|sum| simple.aval(sum.operands[0]).dtype == DType::I32);
    let wanted = short.contains(&to) && from != DType::F64 || to == DType::I32;
    assert_eq!(counts, some && wanted, "{to} {graph}");
}

#[test]
fn sums_of_booleans_are_counts() {
    let mut rng = Rng::new(13);
    let all =
        [DType::F32, DType::F64, DType::I64, DType::UI64, DType::I32, DType::I16, DType::BF16, DType::C64];
    for to in all {
        for axes in [&[][..], &[0], &[1], &[0, 1]] {
            for shape in [[15, 20], [0, 3]] {
                for from in [DType::I1, DType::F32, DType::F64] {
                    check_count(&mut rng, [from, to], axes, shape);
                }
            }
        }
    }
}

#[test]
fn what_is_nan_nowhere_is_not_asked() {
    let mut rng = Rng::new(14);
    // A number where it is NaN; one where another value is; NaN itself; an integer; and what is asked the other way round.
    for (dtype, filled, other, swapped, known) in [
        (DType::F64, 0.5, false, false, true),
        (DType::F32, f64::NEG_INFINITY, false, false, true),
        (DType::F64, 0.5, true, false, false),
        (DType::F32, f64::NAN, false, false, false),
        (DType::F64, 0.5, false, true, false),
        (DType::I32, 3.0, false, true, true),
    ] {
        let mut b = Builder::default();
        let aval = Aval::known(dtype, [N].into());
        let (x, y) = (b.input(aval.clone()), b.input(aval.clone()));
        let scalar = b.literal(Literal::new(filled).convert(dtype), None);
        let number = b.node1(BroadcastInDim { shape: aval.shape, axes: vec![] }, &[scalar]).unwrap();
        let is_nan = b.node1(Predicate::is_nan, &[if other { y } else { x }]).unwrap();
        let (yes, no) = if swapped { (x, number) } else { (number, x) };
        let chosen = b.node1(Ternary::Select, &[is_nan, yes, no]).unwrap();
        let asked = b.node1(Predicate::is_nan, &[chosen]).unwrap();
        let graph = b.finish(vec![asked]);
        let inputs = [0; 2].map(|_| aligned(&elements(dtype, &mut rng)));
        assert_eq!(disagreement(&graph, &inputs, &[], &[]), None, "{graph}");
        let simple = passes::optimise(&graph).unwrap();
        let asks = simple.nodes().iter().any(|node| node.op.get::<Predicate>().is_some());
        assert_eq!(asks, !known, "{simple}");
    }
}
