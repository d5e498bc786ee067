//! Compositions of the ops that convert, reduce, count, and move elements, where StableHLO's op of that name
//! is not ours.

use super::compare::Compare;
use super::complex::Part;
use super::contract::OpDef;
use super::derive::{Math, Var};
use super::spell::{wide_indices, widened};
use super::windows::fitted;
use super::{Binary, BitcastConvert, Convert, Iota, Op, Reduction, Reshape, Scatter, Unary, Windows};
use crate::dtype::{DType, Kind};
use crate::kernels::reductions::fold::Fold;
use crate::shape::{Axis, Shape};
use crate::tensor::{Aval, Literal};

pub(super) fn is_half(dtype: DType) -> bool {
    dtype.is_float() && dtype.bits() == 16
}

/// Digits of a float dtype, in bits: whole numbers up to 2 to their power are exact.
fn digits(dtype: DType) -> u32 {
    match dtype {
        DType::BF16 => 8,
        DType::F16 => 11,
        DType::F32 => 24,
        _ => 53,
    }
}

impl Convert {
    /// Whether StableHLO's conversion is ours. It leaves open whether NaN is true, and compilers round to 16
    /// bits by way of 32.
    pub(super) fn is_plain(&self, from: DType) -> bool {
        match self.dtype {
            DType::I1 => from.kind() != Kind::Float,
            to if is_half(to) => !(from == DType::F64 || from.is_integer() && from.bits() > 16),
            _ => true,
        }
    }

    /// The operand in another dtype.
    pub(super) fn compose<'m, 'b>(&self, x: Var<'m, 'b>) -> Var<'m, 'b> {
        if self.dtype == DType::I1 {
            return x.compare(Compare::ne, x.of(0.0));
        }
        odd(exact_double(x)).convert(self.dtype)
    }
}

/// A double that rounds to 24 bits or fewer as `x` does. An integer of more than 53 bits is cut off at bit
/// 11, and that bit set if anything was lost, so that the rest is neither a number of 24 bits nor halfway
/// between two.
fn exact_double<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let dtype = x.aval().dtype;
    if !dtype.is_integer() || dtype.bits() < 64 {
        return x.convert(DType::F64);
    }
    let (zero, low) = (x.of(0.0), x.integer((1 << 11) - 1));
    let lost = x.binary(Binary::and, low).compare(Compare::ne, zero);
    let cut = x.binary(Binary::and, low.unary(Unary::not));
    let sticky = cut.binary(Binary::or, lost.select(x.integer(1 << 11), zero));
    let small = x.compare(Compare::lt, x.integer(1 << 53));
    let small = match dtype {
        DType::I64 => small.binary(Binary::and, x.compare(Compare::gt, x.integer(-(1 << 53)))),
        _ => small,
    };
    small.select(x, sticky).convert(DType::F64)
}

/// As `odd()` of the dtypes: the f32 next to a double towards zero, made odd if that is not the double
/// itself.
fn odd<'m, 'b>(x: Var<'m, 'b>) -> Var<'m, 'b> {
    let nearest = x.convert(DType::F32);
    let back = nearest.convert(DType::F64);
    let exact = back.compare(Compare::eq, x).binary(Binary::or, x.compare(Compare::ne, x));
    let bits = nearest.bitcast(DType::I32);
    let beyond = back.unary(Unary::abs).compare(Compare::gt, x.unary(Unary::abs));
    let toward = bits - beyond.select(bits.of(1.0), bits.of(0.0));
    let made = toward.binary(Binary::or, bits.of(1.0)).bitcast(DType::F32);
    exact.select(nearest, made)
}

impl BitcastConvert {
    /// The bits of complex numbers are those of their parts, real before imaginary; booleans have none.
    pub(super) fn compose<'m, 'b>(&self, x: Var<'m, 'b>) -> Var<'m, 'b> {
        let aval = x.aval();
        if aval.dtype == self.dtype {
            return x;
        }
        let types = self.infer(&[&aval]).map(|types| types[0].shape.clone());
        let result = match types {
            Ok(shape) => shape,
            Err(error) => {
                x.math().fail(error);
                return x;
            }
        };
        // The dimensions that both have, and what one of these holds as parts of one width, then of the
        // other.
        let common = aval.shape.rank().min(result.rank());
        let prefix = &aval.shape[..common];
        let (from, to) = (aval.dtype.part(), self.dtype.part());
        let mut parts = x;
        if aval.dtype.is_complex() {
            let last = Axis(aval.shape.rank());
            let [re, im] =
                [Part::real, Part::imag].map(|part| x.part(part).reread([&aval.shape[..], &[1]].concat()));
            parts = re.beside(&[im], last);
        }
        let count = aval.shape[common..].iter().product::<usize>() * aval.dtype.bytes() / from.bytes();
        let ratio = to.bytes() / from.bytes();
        let inner = if ratio > 1 { vec![count / ratio, ratio] } else { vec![count] };
        let made = parts.reread([prefix, &inner].concat());
        let made = if from == to { made } else { made.bitcast(to) };
        if !self.dtype.is_complex() {
            return made.reread(result.to_vec());
        }
        let pairs = made.reread([&result[..], &[2]].concat());
        let part = |i: usize| pairs.section(Axis(result.rank()), i, i + 1).reread(result.to_vec());
        part(0).complex(part(1))
    }
}

impl Reduction {
    /// Whether it is StableHLO's: that keeps no dimension, and adds 16-bit floats as they are.
    pub(super) fn is_plain(&self, dtype: DType) -> bool {
        self.fold != Fold::Squares && self.drop && !self.axes.is_empty() && !self.is_wide(dtype)
    }

    /// Whether it is computed in f32, and rounded once.
    fn is_wide(&self, dtype: DType) -> bool {
        is_half(dtype) && matches!(self.fold, Fold::Sum | Fold::Prod | Fold::Squares)
    }

    /// The reduced operand.
    pub(super) fn compose<'m, 'b>(&self, x: Var<'m, 'b>) -> Var<'m, 'b> {
        let aval = x.aval();
        if self.fold == Fold::Squares {
            let apart = self.deviations(if self.is_wide(aval.dtype) { x.convert(DType::F32) } else { x });
            return self.again(Fold::Sum, apart.squared()).convert(aval.dtype);
        }
        if self.axes.is_empty() {
            // A product begins with 1, which makes NaN of what is beside an infinite part.
            let product = self.fold == Fold::Prod && aval.dtype.is_complex();
            return if product { x.of(1.0) * x } else { x };
        }
        let reduced = |x: Var<'m, 'b>| x.apply(Op::Reduction(Reduction { drop: true, ..self.clone() }), &[]);
        let y = if self.is_wide(aval.dtype) {
            reduced(x.convert(DType::F32)).convert(aval.dtype)
        } else {
            reduced(x)
        };
        if self.drop {
            return y;
        }
        let size = |(i, &size): (usize, &usize)| if self.axes.contains(&Axis(i)) { 1 } else { size };
        y.reread(aval.shape.iter().enumerate().map(size).collect())
    }
}

/// Sizes without those of 1: if they do not change, both orders read the same elements.
fn lines(shape: &Shape) -> Vec<usize> {
    shape.iter().copied().filter(|&size| size != 1).collect()
}

impl Reshape {
    /// Column-major order is row-major order of the reversed dimensions, on both sides.
    pub(super) fn compose<'m, 'b>(&self, x: Var<'m, 'b>) -> Var<'m, 'b> {
        let from = x.aval().shape;
        if lines(&from) == lines(&self.shape) {
            return x.reread(self.shape.to_vec());
        }
        let reverse = |rank: usize| (0..rank).rev().map(Axis).collect();
        let made = x.transposed(reverse(from.rank())).reread(self.shape.iter().rev().copied().collect());
        made.transposed(reverse(self.shape.rank()))
    }
}

impl Iota {
    /// Whether it counts from 0, through numbers that the dtype has.
    pub(super) fn is_plain(&self) -> bool {
        self.start == 0 && self.shape.size() > 0 && self.is_exact()
    }

    fn is_exact(&self) -> bool {
        let most = self.shape[self.axis.0] as i128 + i128::from(self.start).abs();
        !self.dtype.is_float() || most <= 1 << digits(self.dtype)
    }

    /// Counts from 0 and adds the start, in a dtype that has all numbers.
    pub(super) fn compose<'m, 'b>(&self, math: &'m Math<'b>) -> Var<'m, 'b> {
        if self.shape.size() == 0 {
            return math.constant(Literal::new(0i64).convert(self.dtype), &self.shape);
        }
        let from_zero = Iota { start: 0, ambiguous: false, ..self.clone() };
        if self.is_exact() && from_zero.infer(&[]).is_ok() {
            let count = math.apply(Op::Iota(from_zero), &[]);
            return count + count.integer(self.start);
        }
        let wide = math.apply(Op::Iota(Iota { dtype: DType::I64, ..from_zero }), &[]);
        (wide + wide.integer(self.start)).convert(self.dtype)
    }
}

impl Scatter {
    /// Whether StableHLO's op leaves out what we do. It goes by elements and we, as XLA, by windows.
    pub(super) fn is_plain(&self, operands: &[Aval]) -> bool {
        let [x, _, update] = operands else { return false };
        if !self.is_straight() {
            return false;
        }
        let sizes = self.sizes(x.shape.rank(), &update.shape);
        // Without positions there is nothing to look up, which XLA does not expect.
        wide_indices(&operands[1..2])
            && !self.windows.index_map.is_empty()
            && self.windows.index_map.iter().all(|axis| sizes[axis.0] <= 1)
    }

    /// With windows that do not fit moved so far that none of their elements does.
    pub(super) fn compose<'m, 'b>(
        &self,
        x: Var<'m, 'b>,
        indices: Var<'m, 'b>,
        update: Var<'m, 'b>,
    ) -> Var<'m, 'b> {
        if x.aval().shape.size() == 0 {
            return x;
        }
        if self.windows.index_map.is_empty() {
            return self.at_zero(x, indices, update);
        }
        let (shape, sizes) = (x.aval().shape, self.sizes(x.aval().shape.rank(), &update.aval().shape));
        let mut at = widened(&[indices])[0];
        if self.windows.index_map.iter().any(|axis| sizes[axis.0] > 1) {
            let outside = shape.iter().copied().max().unwrap_or(1) as i64;
            if outside > i64::from(i32::MAX) {
                at = at.convert(DType::I64);
            }
            let fits = fitted(at, &self.windows, &shape, &sizes).fits;
            let whole = at.aval().shape;
            let batches: Vec<Axis> = self.windows.batches(&whole).into_iter().map(Axis).collect();
            at = fits.repeated(&whole, &batches).select(at, at.integer(outside));
        }
        x.apply(Op::Scatter(self.clone()), &[at, update])
    }

    /// Where no dimension has positions: with a new first dimension of size 1, at 0.
    fn at_zero<'m, 'b>(&self, x: Var<'m, 'b>, indices: Var<'m, 'b>, update: Var<'m, 'b>) -> Var<'m, 'b> {
        let (shape, index_shape) = (x.aval().shape, indices.aval().shape);
        let old = &self.windows;
        let later = |dims: &[Axis]| dims.iter().map(|axis| Axis(axis.0 + 1)).collect::<Vec<_>>();
        let batches = old.batches(&index_shape);
        let without_vectors = |axis: &Axis| Axis(axis.0 - usize::from(axis.0 > old.index_vector_dim.0));
        let windows = Windows {
            window_dims: old.window_dims.clone(),
            dropped: [vec![Axis(0)], later(&old.dropped)].concat(),
            batching: later(&old.batching),
            index_batching: old.index_batching.iter().map(without_vectors).collect(),
            index_map: vec![Axis(0)],
            index_vector_dim: Axis(batches.len()),
        };
        let sizes: Vec<usize> = batches.iter().map(|&i| index_shape[i]).chain([1]).collect();
        let zeros = x.math().fill(0.0, &Aval::known(DType::I32, Shape::scalar())).filled(0.0, &sizes);
        let made = x
            .reread([&[1], &shape[..]].concat())
            .apply(Op::Scatter(Scatter { windows, ..self.clone() }), &[zeros, update]);
        made.reread(shape.to_vec())
    }
}
