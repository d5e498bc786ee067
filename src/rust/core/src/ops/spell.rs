//! How ops are written in StableHLO: by name, or as a composition of ops that have one.
//!
//! A composition is a formula in the language of [`derive`](super::derive), so that it is a graph of ops like
//! any other and the interpreter runs it too: tests hold each one to its op. Ops of a composition are spelled
//! in their turn. What an op means is what its kernel does; a name is given only where StableHLO's op means
//! the same, or leaves open what XLA decides as we do (shifts beyond the width, conversions of floats beyond
//! the range of integers).

use super::derive::Var;
use super::layout::Order;
use super::{Binary, Compare, Op, Part, Predicate, Reduction, Ternary, Unary};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernels::reductions::fold::Fold;
use crate::tensor::Aval;

/// How rows of elementwise ops say it; `F` is a formula of their operands.
pub enum Spelling<F> {
    /// An op of StableHLO or CHLO, by its name with that of the dialect.
    Op(&'static str),
    /// An op for the dtypes of which this holds, a formula for the others that are accepted. In its own
    /// composition, on the dtype that it is composed for, the op is the plain one.
    On(fn(DType) -> bool, &'static str, F),
    /// A formula. On 16-bit floats it is computed in f32 and rounded once, as the kernels do.
    Formula(F),
    /// None, because of this.
    Missing(&'static str),
}

/// The spelling of an elementwise op of one operand.
pub type Spelling1 = Spelling<for<'m, 'b> fn(Var<'m, 'b>) -> Var<'m, 'b>>;
/// The spelling of an elementwise op of two operands.
pub type Spelling2 = Spelling<for<'m, 'b> fn(Var<'m, 'b>, Var<'m, 'b>) -> Var<'m, 'b>>;

/// How an op is written on operands of known types.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Spelled {
    /// As the op of this name.
    Plain(&'static str),
    /// As what [`Op::compose`] makes of it, in which the op itself is the one of this name.
    Composed(Option<&'static str>),
    /// Not at all, because of this.
    Missing(&'static str),
}

impl<F> Spelling<F> {
    /// What it says for operands of this dtype.
    fn on(&self, dtype: DType) -> Spelled {
        match self {
            Spelling::Op(name) => Spelled::Plain(name),
            Spelling::On(suits, name, _) if suits(dtype) => Spelled::Plain(name),
            Spelling::On(_, name, _) => Spelled::Composed(Some(name)),
            Spelling::Formula(_) => Spelled::Composed(None),
            Spelling::Missing(why) => Spelled::Missing(why),
        }
    }

    /// The formula, if it has one.
    fn formula(self) -> Option<F> {
        match self {
            Spelling::On(_, _, formula) | Spelling::Formula(formula) => Some(formula),
            Spelling::Op(_) | Spelling::Missing(_) => None,
        }
    }
}

fn plain_if(plain: bool, name: &'static str) -> Spelled {
    if plain {
        Spelled::Plain(name)
    } else {
        Spelled::Composed(Some(name))
    }
}

impl Op {
    /// How it is written on operands of these types.
    pub fn spelled(&self, operands: &[Aval]) -> Spelled {
        let dtype = operands.first().map_or(DType::F32, |x| x.dtype);
        match self {
            Op::Unary(op) => op.spelling().on(dtype),
            Op::Predicate(op) => op.spelling().on(dtype),
            Op::Binary(op) => op.spelling().on(dtype),
            Op::Compare(_) => Spelled::Plain("stablehlo.compare"),
            Op::Part(op) => op.spelling().on(dtype),
            Op::Complex(_) => Spelled::Plain("stablehlo.complex"),
            // XLA has no clamp of booleans.
            Op::Ternary(op) => plain_if(*op == Ternary::Select || dtype != DType::I1, op.spelling()),
            Op::Convert(op) => plain_if(op.is_plain(dtype), "stablehlo.convert"),
            Op::BitcastConvert(op) => {
                let plain = !dtype.is_complex() && !op.dtype.is_complex() && dtype != DType::I1;
                plain_if(plain, "stablehlo.bitcast_convert")
            }
            Op::Reduction(op) if op.fold == Fold::Squares => Spelled::Composed(None),
            Op::Reduction(op) => plain_if(op.is_plain(dtype), "stablehlo.reduce"),
            Op::Reshape(op) => plain_if(op.order == Order::Row, "stablehlo.reshape"),
            Op::Transpose(_) => Spelled::Plain("stablehlo.transpose"),
            Op::BroadcastInDim(_) => Spelled::Plain("stablehlo.broadcast_in_dim"),
            Op::Concatenate(_) => Spelled::Plain("stablehlo.concatenate"),
            Op::StaticSlice(_) => Spelled::Plain("stablehlo.slice"),
            Op::Reverse(_) => Spelled::Plain("stablehlo.reverse"),
            Op::DynamicSlice(_) => plain_if(wide_indices(&operands[1..]), "stablehlo.dynamic_slice"),
            Op::DynamicUpdateSlice(_) => {
                plain_if(wide_indices(&operands[2..]), "stablehlo.dynamic_update_slice")
            }
            Op::Pad(_) => Spelled::Plain("stablehlo.pad"),
            Op::Gather(_) => plain_if(wide_indices(&operands[1..]), "stablehlo.gather"),
            Op::Scatter(op) => plain_if(op.is_plain(operands), "stablehlo.scatter"),
            Op::DotGeneral(_) => Spelled::Plain("stablehlo.dot_general"),
            Op::Fill(_) => Spelled::Plain("stablehlo.constant"),
            Op::Iota(op) => plain_if(op.is_plain(), "stablehlo.iota"),
            Op::If(_) => Spelled::Plain("stablehlo.if"),
            Op::While(_) => Spelled::Plain("stablehlo.while"),
            Op::Scan(_) | Op::Custom(_) | Op::RngBits(_) => Spelled::Composed(None),
            Op::Print(_) => Spelled::Missing("StableHLO has no op that prints"),
        }
    }

    /// The results, composed of other ops: for what is [`Spelled::Composed`].
    ///
    /// # Errors
    /// [`Error::Internal`] for other ops; those of the ops that it is made of come when the formulas are
    /// ended.
    pub fn compose<'m, 'b>(
        &self,
        operands: &[Var<'m, 'b>],
        math: &'m super::Math<'b>,
    ) -> Result<Vec<Var<'m, 'b>>> {
        let one = |y: Var<'m, 'b>| Ok(vec![y]);
        let none =
            || Err(Error::Internal { detail: format!("`{}` is not composed of others", self.row().name) });
        match (self, operands) {
            (Op::Unary(op), &[x]) => {
                op.spelling().formula().map_or_else(none, |f| one(in_single([x], |[x]| f(x))))
            }
            (Op::Predicate(op), &[x]) => op.spelling().formula().map_or_else(none, |f| one(f(x))),
            (Op::Part(op), &[x]) => op.spelling().formula().map_or_else(none, |f| one(f(x))),
            (Op::Binary(op), &[x, y]) => {
                op.spelling().formula().map_or_else(none, |f| one(in_single([x, y], |[x, y]| f(x, y))))
            }
            // Of booleans; XLA makes a clamp, which it has not, of a maximum and a minimum.
            (Op::Ternary(_), &[lo, x, hi]) => one(x.binary(Binary::or, lo).binary(Binary::and, hi)),
            (Op::Convert(op), &[x]) => one(op.compose(x)),
            (Op::BitcastConvert(op), &[x]) => one(op.compose(x)),
            (Op::Reduction(op), &[x]) => one(op.compose(x)),
            (Op::Reshape(op), &[x]) => one(op.compose(x)),
            (Op::Iota(op), []) => one(op.compose(math)),
            (Op::DynamicSlice(_), [x, starts @ ..]) => one(x.apply(self.clone(), &widened(starts))),
            (Op::DynamicUpdateSlice(_), [x, update, starts @ ..]) => {
                one(x.apply(self.clone(), &[&[*update], &widened(starts)[..]].concat()))
            }
            (Op::Gather(_), &[x, indices]) => one(x.apply(self.clone(), &widened(&[indices]))),
            (Op::Scatter(op), _) if !op.is_straight() || operands.len() > 3 => op.one_by_one(operands, math),
            (Op::Scatter(op), &[x, indices, update]) => one(op.compose(x, indices, update)),
            (Op::RngBits(op), &[state]) => Ok(op.compose(state).split_off(usize::from(!op.with_state))),
            (Op::Scan(op), _) => op.compose(operands, math),
            (Op::Custom(op), _) => math.inline(&op.call, &op.operands(&op.call, operands)),
            _ => none(),
        }
    }
}

/// A formula computed in f32 where operands are 16-bit floats.
fn in_single<'m, 'b, const N: usize>(
    x: [Var<'m, 'b>; N],
    f: impl Fn([Var<'m, 'b>; N]) -> Var<'m, 'b>,
) -> Var<'m, 'b> {
    let dtype = x[0].aval().dtype;
    if dtype.is_float() && dtype.bits() == 16 {
        return f(x.map(|x| x.convert(DType::F32))).convert(dtype);
    }
    f(x)
}

// ---- indices -------------------------------------------------------------------------------------------------------

/// Whether indices can hold any position: a compiler that clamps them in their own dtype needs the sizes to
/// fit there.
pub(super) fn wide_indices(indices: &[Aval]) -> bool {
    indices.iter().all(|x| matches!(x.dtype, DType::I32 | DType::I64))
}

/// The same positions in `i32` or `i64`. Numbers beyond `i64` are as far out as its largest.
pub(super) fn widened<'m, 'b>(indices: &[Var<'m, 'b>]) -> Vec<Var<'m, 'b>> {
    let widen = |x: &Var<'m, 'b>| match x.aval().dtype {
        DType::I32 | DType::I64 => *x,
        DType::UI32 => x.convert(DType::I64),
        DType::UI64 => {
            let signed = x.convert(DType::I64);
            let beyond = signed.compare(Compare::lt, signed.of(0.0));
            beyond.select(signed.integer(i64::MAX), signed)
        }
        _ => x.convert(DType::I32),
    };
    indices.iter().map(widen).collect()
}

// ---- dtypes of rows ------------------------------------------------------------------------------------------------

/// Floats and complex numbers.
pub(super) fn inexact(dtype: DType) -> bool {
    dtype.part().is_float()
}

/// Everything but complex numbers.
pub(super) fn real(dtype: DType) -> bool {
    !dtype.is_complex()
}

/// Everything but booleans. XLA's own folding of constants takes the sum of two that hold for an addition
/// modulo 2, while its kernels, as the specification, say or.
pub(super) fn not_boolean(dtype: DType) -> bool {
    dtype != DType::I1
}

/// No dtype.
pub(super) fn never(_: DType) -> bool {
    false
}

/// Floats of up to 32 bits, and complex numbers.
pub(super) fn single(dtype: DType) -> bool {
    dtype != DType::F64
}

/// Floats of up to 32 bits.
pub(super) fn single_real(dtype: DType) -> bool {
    real(dtype) && single(dtype)
}

// ---- formulas of rows ----------------------------------------------------------------------------------------------

/// The operand itself.
pub(super) fn same<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    x
}

/// The whole part: down above 0, up below it, so that a zero keeps its sign.
pub(super) fn trunc<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    if !x.aval().dtype.is_float() {
        return x;
    }
    x.compare(Compare::lt, x.of(0.0)).select(x.unary(Unary::ceiling), x.floor())
}

/// The conjugate of complex numbers; others are their own.
pub(super) fn conj<'m, 'b>(z: Var<'m, 'b>) -> Var<'m, 'b> {
    if z.aval().dtype.is_complex() {
        z.part(Part::real).complex(-z.part(Part::imag))
    } else {
        z
    }
}

/// Whether all elements that there are of a dtype have a property.
fn everywhere<'m, 'b>(x: Var<'m, 'b>, holds: bool) -> Var<'m, 'b> {
    x.of(0.0).compare(if holds { Compare::eq } else { Compare::ne }, x.of(0.0))
}

/// Finite numbers: all integers, and complex ones whose parts are.
pub(super) fn is_finite<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    if x.aval().dtype.is_complex() {
        let [re, im] = [Part::real, Part::imag].map(|part| x.part(part).predicate(Predicate::is_finite));
        return re.binary(Binary::and, im);
    }
    everywhere(x, true)
}

/// Infinite numbers, and complex ones of which a part is.
pub(super) fn is_infinite<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let infinite = |x: Var<'m, 'b>| x.unary(Unary::abs).compare(Compare::eq, x.of(f64::INFINITY));
    either_part(x, infinite)
}

/// NaN, which differs from itself, and complex numbers of which a part is.
pub(super) fn is_nan<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    either_part(x, |x| x.compare(Compare::ne, x))
}

fn either_part<'m, 'b>(x: Var<'m, 'b>, property: impl Fn(Var<'m, 'b>) -> Var<'m, 'b>) -> Var<'m, 'b> {
    match x.aval().dtype {
        d if d.is_complex() => {
            let [re, im] = [Part::real, Part::imag].map(|part| property(x.part(part)));
            re.binary(Binary::or, im)
        }
        d if d.is_float() => property(x),
        _ => everywhere(x, false),
    }
}

/// The argument of a complex number.
pub(super) fn arg<'m, 'b>(z: Var<'m, 'b>) -> Var<'m, 'b> {
    z.part(Part::imag).binary(Binary::atan2, z.part(Part::real))
}

/// The product, or the second operand where that is 0.
pub(super) fn mul_no_nan<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    y.compare(Compare::eq, y.of(0.0)).select(y, x * y)
}

/// The op on two integers with 1 for a divisor of 0, where it is something else: compilers trap if they fold
/// it.
fn unless_zero<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>, op: Binary, by_zero: Var<'m, 'b>) -> Var<'m, 'b> {
    if y.known().is_some_and(|z| z.re != 0.0) {
        return x.binary(op, y);
    }
    let zero = y.compare(Compare::eq, y.of(0.0));
    zero.select(by_zero, x.binary(op, zero.select(y.of(1.0), y)))
}

/// Quotient of integers; all bits are set in that by 0.
pub(super) fn quotient<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    unless_zero(x, y, Binary::div, x.integer(-1))
}

/// Remainder of integers; by 0 it is the dividend.
pub(super) fn remainder<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    unless_zero(x, y, Binary::remainder, x)
}

/// Whether one of two numbers is negative and the other is not; a zero has a sign if it is a float.
fn signs_differ<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    negative(x).compare(Compare::ne, negative(y))
}

/// Whether the sign bit is set.
pub(super) fn negative<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let dtype = x.aval().dtype;
    let bits = match dtype {
        DType::F32 => x.bitcast(DType::I32),
        DType::F64 => x.bitcast(DType::I64),
        d if d.is_float() => x.bitcast(DType::I16),
        _ => x,
    };
    bits.compare(Compare::lt, bits.of(0.0))
}

/// Zero with the sign of a float.
fn zero_signed<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    negative(x).select(x.of(-0.0), x.of(0.0))
}

/// As `kernels::math::scalar::modulo`, and of integers.
pub(super) fn modulo<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    let rest = x.binary(Binary::remainder, y);
    let zero = x.of(0.0);
    let none = rest.compare(Compare::eq, zero);
    if x.aval().dtype.is_float() {
        return none.select(zero_signed(y), signs_differ(rest, y).select(rest + y, rest));
    }
    let kept = none.binary(Binary::or, y.compare(Compare::eq, zero)).binary(Binary::or, same_sign(rest, y));
    kept.select(rest, rest + y)
}

fn same_sign<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    signs_differ(x, y).unary(Unary::not)
}

/// As `kernels::math::scalar::floor_quotient`, and of integers.
pub(super) fn floor_quotient<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    let (zero, one) = (x.of(0.0), x.of(1.0));
    let rest = x.binary(Binary::remainder, y);
    let by_zero = y.compare(Compare::eq, zero);
    let below = rest.compare(Compare::ne, zero).binary(Binary::and, signs_differ(rest, y));
    if !x.aval().dtype.is_float() {
        let below = below.binary(Binary::and, by_zero.unary(Unary::not));
        return below.select(x / y - one, x / y);
    }
    let exact = (x - rest) / y - below.select(one, zero);
    let q = exact.floor();
    let q = (exact - q).compare(Compare::gt, x.of(0.5)).select(q + one, q);
    let q = q.compare(Compare::eq, zero).select(zero_signed(x / y), q);
    let infinite = x.unary(Unary::abs).compare(Compare::eq, x.of(f64::INFINITY));
    let plain =
        by_zero.binary(Binary::or, infinite).binary(Binary::or, is_nan(x)).binary(Binary::or, is_nan(y));
    plain.select(x / y, q)
}

/// Powers of integers by repeated squaring, exact modulo `2^bits` for every exponent. A loop, which ends when
/// no bit of an exponent is left.
pub(super) fn integer_power<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    let (zero, one) = (x.of(0.0), x.of(1.0));
    let negative = y.compare(Compare::lt, zero);
    // The exponent counts down to 0; a negative one is none.
    let exponent = negative.select(zero, y);
    let powers = x.repeat_while(
        &[x, exponent, one],
        |state| {
            let left = state[1].compare(Compare::ne, state[1].of(0.0));
            let axes = (0..left.aval().shape.rank()).map(crate::shape::Axis).collect();
            left.apply(Op::Reduction(Reduction { fold: Fold::Any, axes, drop: true }), &[])
        },
        |state| {
            let &[base, exponent, product] = state else { return state.to_vec() };
            let one = exponent.of(1.0);
            let odd = exponent.binary(Binary::and, one).compare(Compare::eq, one);
            let next = odd.select(product * base, product);
            vec![base * base, exponent.binary(Binary::shift_right_logical, one), next]
        },
    );
    let power = powers.get(2).copied().unwrap_or(x);
    if x.aval().dtype.bounds().is_some_and(|(low, _)| low == 0) {
        return power;
    }
    // Whole reciprocals are those of 1 and -1.
    let minus = x.of(-1.0);
    let odd = y.binary(Binary::and, one).compare(Compare::eq, one);
    let of_minus = odd.select(minus, one);
    let reciprocal = x.compare(Compare::eq, minus).select(of_minus, zero);
    let reciprocal = x.compare(Compare::eq, one).select(one, reciprocal);
    negative.select(reciprocal, power)
}
