//! Ops that compute element by element: their kernels on one tile, as instructions of a tile program, and
//! what these cost.

use super::{Binary, Op, Unary};
use crate::dtype::DType;
use crate::exec::vm::native;
use crate::exec::vm::Kernel;
use crate::kernels::cast::by_width;
use crate::kernels::random::ELEMENT;

impl Op {
    /// Whether each element of the result is made of those of the operands that are in its place.
    pub(crate) fn is_elementwise(&self, from: &[DType]) -> bool {
        match self {
            Op::Unary(_) | Op::Predicate(_) | Op::Binary(_) | Op::Compare(_) | Op::Ternary(_) => true,
            Op::Part(_) | Op::Complex(_) | Op::Convert(_) => true,
            Op::BitcastConvert(to) => to.dtype.bytes() == from[0].bytes(),
            _ => false,
        }
    }

    /// The kernel of an elementwise op on operands of these dtypes. It is the one that [`Op::eval`] runs.
    pub(crate) fn kernel(&self, from: &[DType]) -> Option<Kernel> {
        Some(match self {
            Op::Unary(op) => op.kernel(from[0]),
            Op::Predicate(op) => op.kernel(from[0]),
            Op::Binary(op) => op.kernel(from[0]),
            Op::Compare(op) => op.kernel(from[0]),
            Op::Part(op) => op.kernel(from[0]),
            Op::Complex(op) => op.kernel(from[0]),
            Op::Ternary(op) => op.kernel(from[1]),
            Op::Convert(op) => op.kernel(from[0]),
            Op::BitcastConvert(_) => by_width!(from[0], T => Kernel::copy::<T>()),
            _ => return None,
        })
    }

    /// What it is as a step of native code on operands of these dtypes, if it can be one.
    pub(crate) fn native(&self, from: &[DType]) -> Option<native::Op> {
        let step = match self {
            Op::Convert(op) => native::Op::Convert(op.dtype),
            op => op.row().native?,
        };
        native::has(step, *from.last()?).then_some(step)
    }

    /// About how long its kernel takes for an element, in picoseconds, on one core with AVX2 (an AMD EPYC,
    /// Zen 4).
    pub(crate) fn picoseconds(&self, from: &[DType]) -> usize {
        // For each byte of an element, where vectors are computed on: they hold half as many doubles as
        // singles.
        const SIMPLE: usize = 15;
        const DIVISION: usize = 50;
        const FUNCTION: usize = 150;
        const SPECIAL: usize = 1_000;
        // For each element, where they are not.
        const HALF: usize = 2_000;
        const QUOTIENT: usize = 2_000;
        const REMAINDER: usize = 10_000;
        const PICK: usize = 1_000;
        const COMPLEX: usize = 30_000;
        const SERIES: usize = 120_000;
        let bytes = from.iter().map(|d| d.bytes()).max().unwrap_or(1);
        let complex = from.iter().any(|d| d.is_complex());
        let float = from.iter().any(|d| d.is_float());
        let function = if complex { COMPLEX } else { FUNCTION * bytes };
        let one = match self {
            Op::Unary(op) => match op {
                Unary::negate | Unary::abs | Unary::conj | Unary::not | Unary::stop_gradient => {
                    SIMPLE * bytes
                }
                Unary::floor | Unary::ceiling | Unary::trunc | Unary::round_nearest_even => SIMPLE * bytes,
                Unary::sqrt | Unary::rsqrt if float => DIVISION * bytes,
                Unary::sign | Unary::popcnt => DIVISION * bytes,
                Unary::lgamma | Unary::digamma | Unary::erf_inv => SPECIAL * bytes,
                _ => function,
            },
            Op::Binary(op) => match op {
                Binary::div if float => DIVISION * bytes,
                Binary::remainder | Binary::modulo | Binary::floor_div if float => REMAINDER,
                Binary::div | Binary::remainder | Binary::modulo | Binary::floor_div => QUOTIENT,
                Binary::pow | Binary::atan2 => 2 * function,
                Binary::polygamma => SERIES,
                _ => SIMPLE * bytes,
            },
            Op::Part(_) => DIVISION * bytes,
            Op::RngBits(_) => ELEMENT,
            Op::Gather(_) => PICK,
            _ => SIMPLE * bytes,
        };
        let half = from.iter().any(|d| matches!(d, DType::BF16 | DType::F16));
        if half {
            one + HALF
        } else {
            one
        }
    }
}
