//! Formulas: the lowerings of ops that have no operation of StableHLO with the same meaning.
//!
//! A formula is written in the language of derivative rules ([`Var`]). It is a graph of ops like any other,
//! which the interpreter can run: tests hold each formula to its op. Rows and ops name formulas
//! ([`Formula`]); nothing else knows this folder.

mod arrays;
mod coefficients;
mod complex;
mod control;
mod convert;
mod cumulative;
mod elementwise;
mod factors;
mod floats;
mod gather;
mod jacobi;
mod random;
mod special;

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::ops::{Binary, BinaryFormula, Formula, Math, Op, UnaryFormula, Var};

/// The results of an op by its formula.
///
/// # Errors
/// [`Error::Internal`] if the formula takes other operands. Errors of the ops that it is made of are returned
/// by [`Math::finish`].
pub fn build<'m, 'b>(
    op: &Op,
    formula: Formula,
    operands: &[Var<'m, 'b>],
    math: &'m Math<'b>,
) -> Result<Vec<Var<'m, 'b>>> {
    let one = |y: Var<'m, 'b>| Ok(vec![y]);
    match (formula, operands) {
        (Formula::Unary(name), &[x]) => one(in_single([x], |[x]| unary(name, x))),
        (Formula::Property(name), &[x]) => one(unary(name, x)),
        (Formula::Binary(name), &[x, y]) => one(in_single([x, y], |[x, y]| binary(name, x, y))),
        // XLA lacks the clamp of booleans, and would make one from a maximum and a minimum.
        (Formula::ClampBooleans, &[lo, x, hi]) => one(x.binary(Binary::or, lo).binary(Binary::and, hi)),
        (Formula::Convert(op), &[x]) => one(convert::convert(op, x)),
        (Formula::Bitcast(op), &[x]) => one(convert::bitcast(op, x)),
        (Formula::Reduce(op), &[x]) => one(arrays::reduce(op, x)),
        (Formula::Cumulative(op), &[x]) => one(cumulative::cumulative(op, x)),
        (Formula::Fourier(op), &[x]) => one(op.along_last(x)),
        (Formula::InSingle, &[x, ..]) => {
            let wide: Vec<Var> = operands.iter().map(|x| x.convert(DType::F32)).collect();
            one(wide[0].apply(op.clone(), &wide[1..]).convert(x.aval().dtype))
        }
        (Formula::Reshape(op), &[x]) => one(arrays::reshape(op, x)),
        (Formula::Product(op), &[x, y]) => one(arrays::product(op, x, y)),
        (Formula::Count(op), []) => one(arrays::iota(op, math)),
        (Formula::WideIndices(first), &[x, ..]) => {
            let indices = gather::widened(&operands[first..]);
            one(x.apply(op.clone(), &[&operands[1..first], &indices[..]].concat()))
        }
        (Formula::Scatter(op), &[x, indices, update]) => one(gather::scatter(op, x, indices, update)),
        (Formula::ScatterLoop(op), _) => gather::scatter_loop(op, operands, math),
        (Formula::Random(op), &[state]) => Ok(random::bits(op, state).split_off(usize::from(!op.with_state))),
        (Formula::TopK(op), &[x]) => one(arrays::top_k(op, x)),
        (Formula::Special(name), x) => one(special::special(name, x)),
        (Formula::Cholesky(op), &[x]) => Ok(factors::cholesky(op, x)),
        (Formula::TriangularSolve(op), &[a, b]) => Ok(factors::triangular_solve(op, a, b)),
        (Formula::Lu, &[x]) => Ok(factors::lu(x)),
        (Formula::LuSolve(op), &[_, factors, order, b]) => Ok(factors::lu_solve(op, factors, order, b)),
        (Formula::Qr(op), &[x]) => Ok(factors::qr(op, x)),
        (Formula::Eigh(op), &[x]) => Ok(jacobi::eigh(op, x)),
        (Formula::Svd(op), &[x]) => Ok(jacobi::svd(op, x)),
        (Formula::Scan(op), _) => control::scan(op, operands, math),
        (Formula::Call(op), _) => math.inline(&op.call, &op.of_call(operands)),
        (
            Formula::Unary(_)
            | Formula::Property(_)
            | Formula::Binary(_)
            | Formula::ClampBooleans
            | Formula::Convert(_)
            | Formula::Bitcast(_)
            | Formula::Reduce(_)
            | Formula::Cumulative(_)
            | Formula::Fourier(_)
            | Formula::InSingle
            | Formula::Reshape(_)
            | Formula::Product(_)
            | Formula::Count(_)
            | Formula::WideIndices(_)
            | Formula::Scatter(_)
            | Formula::Random(_)
            | Formula::TopK(_)
            | Formula::Cholesky(_)
            | Formula::TriangularSolve(_)
            | Formula::Lu
            | Formula::LuSolve(_)
            | Formula::Qr(_)
            | Formula::Eigh(_)
            | Formula::Svd(_),
            _,
        ) => {
            let detail = format!("`{}` of {} operands has another formula", op.row().name, operands.len());
            Err(Error::Internal { detail })
        }
    }
}

/// A formula computed in f32 where operands are 16-bit floats, and rounded once.
fn in_single<'m, 'b, const N: usize>(
    x: [Var<'m, 'b>; N],
    f: impl Fn([Var<'m, 'b>; N]) -> Var<'m, 'b>,
) -> Var<'m, 'b> {
    let dtype = x[0].aval().dtype;
    if dtype.is_half() {
        return f(x.map(|x| x.convert(DType::F32))).convert(dtype);
    }
    f(x)
}

fn unary<'m, 'b>(formula: UnaryFormula, x: Var<'m, 'b>) -> Var<'m, 'b> {
    match formula {
        UnaryFormula::Same => x,
        UnaryFormula::Trunc => elementwise::trunc(x),
        UnaryFormula::Conj => elementwise::conj(x),
        UnaryFormula::Arg => elementwise::arg(x),
        UnaryFormula::IsFinite => elementwise::is_finite(x),
        UnaryFormula::IsInfinite => elementwise::is_infinite(x),
        UnaryFormula::IsNan => elementwise::is_nan(x),
        UnaryFormula::Exp2 => floats::exp2(x),
        UnaryFormula::Softplus => floats::softplus(x),
        UnaryFormula::Log2 => floats::log2(x),
        UnaryFormula::Log10 => floats::log10(x),
        UnaryFormula::Log1p => floats::log1p(x),
        UnaryFormula::Sinh => floats::sinh(x),
        UnaryFormula::Cosh => floats::cosh(x),
        UnaryFormula::Atanh => floats::atanh(x),
        UnaryFormula::Erfc => floats::erfc(x),
        UnaryFormula::ErfInv => floats::erf_inv(x),
        UnaryFormula::Sinpi => floats::sinpi(x),
        UnaryFormula::Cospi => floats::cospi(x),
        UnaryFormula::Tanpi => floats::tanpi(x),
        UnaryFormula::Gamma => special::gamma_function(x),
        UnaryFormula::Erfcx => special::erfcx(x),
        UnaryFormula::Probit => special::probit(x),
        UnaryFormula::Lgamma => floats::lgamma(x),
        UnaryFormula::Digamma => floats::digamma(x),
        UnaryFormula::ComplexExp => complex::exp(x),
        UnaryFormula::ComplexSin => complex::sin(x),
        UnaryFormula::ComplexCos => complex::cos(x),
        UnaryFormula::UpperHalf(op) => complex::above(x, op),
        UnaryFormula::FirstQuadrant(op) => complex::first_quadrant(x, op),
    }
}

fn binary<'m, 'b>(formula: BinaryFormula, x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    match formula {
        BinaryFormula::Or => x.binary(Binary::or, y),
        BinaryFormula::MulNoNan => elementwise::mul_no_nan(x, y),
        BinaryFormula::Quotient => elementwise::quotient(x, y),
        BinaryFormula::IntegerPower => elementwise::integer_power(x, y),
        BinaryFormula::Remainder => elementwise::remainder(x, y),
        BinaryFormula::Modulo => elementwise::modulo(x, y),
        BinaryFormula::FloorQuotient => elementwise::floor_quotient(x, y),
        BinaryFormula::Polygamma => floats::polygamma(x, y),
    }
}
