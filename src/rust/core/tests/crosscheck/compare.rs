//! The difference of two results of an op, and its bound.
#![allow(dead_code)] // each test file uses a part

use crate::common::aligned;
use crate::known::{is_known, Pair};
use anvil_core::dtype::{DType, Kind};
use anvil_core::exec::reference;
use anvil_core::kernels::reductions::cumulative::Cumulation;
use anvil_core::kernels::reductions::fold::Fold;
use anvil_core::ops::{Binary, Builder, Op, Part, Reduction, Scatter, Unary, Update};
use anvil_core::shape::Axis;
use anvil_core::tensor::Aval;

/// The bytes of a value, with its type.
pub type Typed<'a> = (&'a Aval, &'a [u8]);

/// The results of a node on these operands, by the reference interpreter; `None` where it raises an error, which
/// XLA does not have.
pub fn evaluate(op: &Op, operands: &[Typed]) -> Option<Vec<(Aval, Vec<u8>)>> {
    let mut b = Builder::default();
    let inputs: Vec<_> = operands.iter().map(|(aval, _)| b.input((*aval).clone())).collect();
    let outputs = b.node(op.clone(), &inputs).expect("types are those that it was traced with");
    let graph = b.finish(outputs);
    let data: Vec<_> = operands.iter().map(|(_, x)| aligned(x)).collect();
    let results =
        reference::evaluate(&graph, &data.iter().map(|x| x.as_slice()).collect::<Vec<_>>(), &[]).ok()?;
    Some(graph.outputs().iter().map(|&v| graph.aval(v).clone()).zip(results).collect())
}

/// The same of a node that raises no error.
fn values_of(op: &Op, operands: &[Typed]) -> Vec<(Aval, Vec<u8>)> {
    evaluate(op, operands).expect("an op that raises nothing, or did not before")
}

/// The bound on the difference of two results.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bound {
    /// Not at all; NaN is NaN.
    Exact,
    /// By as many units in the last place; of complex numbers, of the larger part.
    Ulps(f64),
    /// As sums and products of the same terms in another order.
    Order,
    /// As a special function, by its formula, may: relative to the result, or absolutely.
    Special,
    /// By any amount: rounding errors of a function that is applied again and again, in an order that is left
    /// open.
    Open,
}

/// Error bounds of XLA's functions. It states no bounds; the largest error that was measured is that of `erf`
/// on f32, 6.7 units.
const XLA: f64 = 7.0;
/// As [`XLA`], of complex numbers: those have formulas of several functions, of which errors add up.
const XLA_COMPLEX: f64 = 16.0;

/// The bound of an op on floats: that of its row, and that of XLA; all else is exact.
pub fn bound(op: &Op, complex: bool) -> Bound {
    // What is rounded correctly has no error of its own: XLA's is counted from there.
    let own = Some(op.row().ulps).filter(|&ulps| ulps > 0.5).unwrap_or(0.0);
    match op {
        // exp(w log z): what the logarithm is rounded by is multiplied with w and the logarithm, up to 700
        // each.
        Op::Binary(Binary::pow) if complex => Bound::Ulps(700.0),
        // XLA: exp(lgamma(n + 1)) times a zeta function, whose rounding, twice, grows with what is in the
        // exponential, up to 700.
        Op::Binary(Binary::polygamma) => Bound::Ulps(own + 1400.0),
        // How many digits a result has depends on the condition of the function at the operands: `special.rs` holds
        // functions and formulas to mpmath, and this XLA to the formula.
        Op::Special(_) | Op::Unary(Unary::gamma | Unary::erfcx | Unary::probit) => Bound::Special,
        Op::Unary(_) | Op::Binary(_) if complex => Bound::Ulps(own + XLA_COMPLEX),
        Op::Unary(_) | Op::Binary(_) | Op::Part(_) => Bound::Ulps(own + XLA),
        Op::Reduction(r) if matches!(r.fold, Fold::Sum | Fold::Prod | Fold::Squares) => Bound::Order,
        Op::Cumulative(c) if !matches!(c.by, Cumulation::Max | Cumulation::Min) => Bound::Order,
        Op::ReduceWindow(w) if matches!(w.fold, Fold::Sum | Fold::Prod) => Bound::Order,
        Op::DotGeneral(_) | Op::Convolution(_) | Op::Fourier(_) => Bound::Order,
        Op::Scatter(s) => match &s.update {
            Update::Replace => Bound::Exact,
            Update::With(_) => Bound::Order,
            Update::By(region)
                if region.nodes().iter().all(|node| bound(&node.op, complex) == Bound::Exact) =>
            {
                Bound::Exact
            }
            Update::By(_) => Bound::Open,
        },
        _ => Bound::Exact,
    }
}

/// One part of a number as f64, and the spacing of its dtype there.
fn number(dtype: DType, x: &[u8]) -> f64 {
    match dtype {
        DType::F16 => half::f16::from_ne_bytes(x.try_into().expect("2 bytes")).to_f64(),
        DType::BF16 => half::bf16::from_ne_bytes(x.try_into().expect("2 bytes")).to_f64(),
        DType::F32 => f64::from(f32::from_ne_bytes(x.try_into().expect("4 bytes"))),
        _ => f64::from_ne_bytes(x.try_into().expect("8 bytes")),
    }
}

/// Bits of the significand, and the exponent of the smallest normal number.
fn format(dtype: DType) -> (i32, i32) {
    match dtype {
        DType::F16 => (11, -14),
        DType::BF16 => (8, -126),
        DType::F32 => (24, -126),
        _ => (53, -1022),
    }
}

/// Distance of neighbours of a finite number, or of the largest ones.
pub fn ulp(dtype: DType, x: f64) -> f64 {
    let (bits, lowest) = format(dtype);
    let exponent =
        if x == 0.0 || !x.is_finite() { lowest } else { (x.abs().log2().floor() as i32).max(lowest) };
    let last = exponent - bits + 1;
    // In two steps: a power that is subnormal would be 1 over Inf.
    2f64.powi(last / 2) * 2f64.powi(last - last / 2)
}

/// Whether it is a float below the smallest normal one, but not 0.
pub fn is_subnormal(dtype: DType, x: f64) -> bool {
    x != 0.0 && x.abs() < 2f64.powi(format(dtype).1)
}

/// Whether one of two results is infinite and the other so large that it could be.
fn overflows(dtype: DType, x: f64, y: f64, units: f64) -> bool {
    let (bits, lowest) = format(dtype);
    let largest = 2f64.powi(1 - lowest) * (2.0 - 2f64.powi(1 - bits));
    let near = |x: f64| x.is_finite() && x.abs() >= largest * (1.0 - units * 2f64.powi(1 - bits));
    (x.is_infinite() && near(y) || y.is_infinite() && near(x)) && x.signum() == y.signum()
}

/// All parts of all elements of a float or complex tensor.
pub fn numbers(dtype: DType, x: &[u8]) -> Vec<f64> {
    let part = dtype.part();
    x.chunks_exact(part.bytes()).map(|x| number(part, x)).collect()
}

/// XLA takes subnormal numbers for 0.
pub fn without_subnormals(aval: &Aval, bytes: &mut [u8]) {
    if is_inexact(aval.dtype) {
        let part = aval.dtype.part();
        let gone: Vec<bool> = numbers(aval.dtype, bytes).into_iter().map(|x| is_subnormal(part, x)).collect();
        for (x, gone) in bytes.chunks_exact_mut(part.bytes()).zip(gone) {
            if gone {
                x.fill(0);
            }
        }
    }
}

/// Whether it holds floats or complex numbers.
pub fn is_inexact(dtype: DType) -> bool {
    dtype.part().kind() == Kind::Float
}

/// The parts' absolute values, summed, as a real tensor; integers as they are.
fn magnitude((aval, x): &Typed) -> (Aval, Vec<u8>) {
    if !is_inexact(aval.dtype) {
        return ((*aval).clone(), x.to_vec());
    }
    let one = |op: Op, (aval, x): &(Aval, Vec<u8>)| values_of(&op, &[(aval, x)]).remove(0);
    let abs = |x: &(Aval, Vec<u8>)| one(Op::Unary(Unary::abs), x);
    let given = ((*aval).clone(), x.to_vec());
    if !aval.dtype.is_complex() {
        return abs(&given);
    }
    let [re, im] = [Part::real, Part::imag].map(|part| abs(&one(Op::Part(part), &given)));
    values_of(&Op::Binary(Binary::add), &[(&re.0, &re.1), (&im.0, &im.1)]).remove(0)
}

/// For squares of deviations, whose mean cancels, the sum of the squares of the elements.
fn without_mean(op: &Op, x: Vec<(Aval, Vec<u8>)>) -> (Op, Vec<(Aval, Vec<u8>)>) {
    match op {
        Op::Reduction(r) if r.fold == Fold::Squares => {
            let square = |(aval, x): &(Aval, Vec<u8>)| {
                values_of(&Op::Binary(Binary::mul), &[(aval, x), (aval, x)]).remove(0)
            };
            (Op::Reduction(Reduction { fold: Fold::Sum, ..r.clone() }), x.iter().map(square).collect())
        }
        op => (op.clone(), x),
    }
}

/// What XLA gave, but for places of a scatter that several updates meet where their order matters: StableHLO
/// leaves it open (`scatter`), XLA goes by rows of the updates and anvil by columns, as R does.
fn without_open(op: &Op, operands: &[Typed], want: &[u8], got: &[u8]) -> Vec<u8> {
    let mut got = got.to_vec();
    let Op::Scatter(scatter) = op else { return got };
    if matches!(scatter.update, Update::With(_)) {
        return got;
    }
    let counts = |(aval, _): &Typed, by: i32| {
        let aval = Aval::known(DType::I32, aval.shape.clone());
        let bytes = by.to_ne_bytes().repeat(aval.shape.size());
        (aval, bytes)
    };
    let (zero, one) = (counts(&operands[0], 0), counts(&operands[2], 1));
    let count = Scatter { update: Update::With(Binary::add), ..scatter.clone() };
    let met =
        values_of(&Op::Scatter(count), &[(&zero.0, &zero.1), operands[1], (&one.0, &one.1)]).remove(0).1;
    let size = operands[0].0.dtype.bytes();
    for (i, met) in met.chunks_exact(4).enumerate() {
        if i32::from_ne_bytes(met.try_into().expect("4 bytes")) > 1 {
            got[i * size..(i + 1) * size].copy_from_slice(&want[i * size..(i + 1) * size]);
        }
    }
    got
}

/// The difference of two results of a special function. At the ends of the range, which XLA flushes to 0, and where kernels
/// lose the errors of products, and with them the result, there is nothing to compare.
fn special(operands: &[Typed], (aval, want): Typed, got: &[u8]) -> Option<String> {
    let dtype = aval.dtype;
    let all: Vec<Vec<f64>> = operands.iter().map(|(aval, x)| numbers(aval.dtype, x)).collect();
    for (i, (x, y)) in numbers(dtype, want).into_iter().zip(numbers(dtype, got)).enumerate() {
        let at: Vec<f64> = all.iter().map(|x| x[i]).collect();
        let is_far = |x: &f64| x.is_finite() && *x != 0.0 && !(1e-150..1e150).contains(&x.abs());
        let relative = if dtype == DType::F64 { 1e-9 } else { 2.0 * ulp(dtype, 1.0) };
        let same = x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= relative * x.abs();
        let tiny = (x - y).abs() < 1e-13 || is_subnormal(dtype, x) || is_subnormal(dtype, y);
        if !same && !tiny && !at.iter().any(is_far) && !overflows(dtype, x, y, 8.0) {
            return Some(format!("at {at:?}: anvil {x:e}, XLA {y:e}"));
        }
    }
    None
}

/// For each element of a transform along an axis, the sum of its terms' magnitudes: of all elements of its line,
/// whichever element of the line it is. Half a spectrum stands for both halves.
fn sums_of_lines(axis: Axis, (aval, x): &(Aval, Vec<u8>), result: &Aval) -> Vec<f64> {
    let (before, along) = (aval.shape[..axis.0].iter().product::<usize>(), aval.shape[axis.0]);
    let mut sums = vec![0.0; aval.shape.size() / along.max(1)];
    let line = |i: usize, along: usize| i % before + i / (before * along) * before;
    for (i, x) in numbers(aval.dtype, x).into_iter().enumerate() {
        sums[line(i, along)] += 2.0 * x;
    }
    let along = result.shape[axis.0];
    (0..result.shape.size()).map(|i| sums[line(i, along)]).collect()
}

/// The difference of two results of a node, if it exceeds the bound; `worst` gets the distances within the
/// bound.
pub fn difference(
    op: &Op,
    operands: &[Typed],
    (aval, want): Typed,
    got: &[u8],
    result: usize,
    bound: Bound,
    worst: &mut f64,
) -> Option<String> {
    if bound == Bound::Open {
        return None;
    }
    if bound == Bound::Special {
        return special(operands, (aval, want), got);
    }
    let got = &without_open(op, operands, want, got)[..];
    if !is_inexact(aval.dtype) {
        return crate::common::first_difference(aval.dtype, want, got);
    }
    let (part, parts) = (aval.dtype.part(), if aval.dtype.is_complex() { 2 } else { 1 });
    let all = (numbers(aval.dtype, want), numbers(aval.dtype, got));
    let order = (bound == Bound::Order).then(|| {
        let magnitudes: Vec<_> = operands.iter().map(magnitude).collect();
        let terms = operands.iter().map(|(aval, _)| aval.shape.size()).max().unwrap_or(1) + 2;
        if let Op::Fourier(op) = op {
            return (sums_of_lines(op.axis, &magnitudes[0], aval), terms as f64);
        }
        let (op, magnitudes) = without_mean(op, magnitudes);
        let typed: Vec<Typed> = magnitudes.iter().map(|(aval, x)| (aval, x.as_slice())).collect();
        let (aval, sums) = values_of(&op, &typed).swap_remove(result);
        (numbers(aval.dtype, &sums), terms as f64)
    });
    for (i, (&x, &y)) in all.0.iter().zip(&all.1).enumerate() {
        // -0 is not 0.
        if x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan() {
            continue;
        }
        let at = i / parts * parts..(i / parts + 1) * parts;
        let of_complex = operands.first().is_some_and(|(aval, _)| aval.dtype.is_complex());
        let (anvil, xla) = (&all.0[at.clone()], &all.1[at]);
        if is_known(op, &Pair { dtype: aval.dtype, sums: order.is_some(), of_complex, anvil, xla }) {
            continue;
        }
        let of_pair = |v: &[f64]| {
            v[i / parts * parts..][..parts].iter().filter(|x| x.is_finite()).fold(0f64, |m, x| m.max(x.abs()))
        };
        let unit = match &order {
            _ if bound == Bound::Exact => 0.0,
            None => ulp(part, of_pair(&all.0)),
            Some((sums, terms)) => {
                let sum = sums[i / parts];
                // Whether parts of a sum or product leave the range depends on the order.
                if !sum.is_finite() {
                    continue;
                }
                ulp(part, sum) * terms
            }
        };
        let distance = (x - y).abs() / unit;
        let allowed = if let Bound::Ulps(n) = bound { n } else { 2.0 };
        if distance <= allowed {
            *worst = worst.max(distance);
        } else if bound == Bound::Exact || !overflows(part, x, y, allowed) {
            return Some(format!(
                "element {} of {}: anvil {x:e}, XLA {y:e}, {distance:.1} units",
                i / parts,
                aval
            ));
        }
    }
    None
}
