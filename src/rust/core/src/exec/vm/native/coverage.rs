//! Which ops chains may have: those that there are instructions for, on every processor with native code.

use super::chain::Op;
use super::expansion::formula;
use crate::dtype::DType;

/// Whether there are instructions for an op on operands of this dtype: of the second one of a selection, and
/// of the one that is converted.
pub fn has(op: Op, dtype: DType) -> bool {
    let (float, boolean) = (matches!(dtype, DType::F32 | DType::F64), dtype == DType::I1);
    let integer = is_integer(dtype);
    match op {
        _ if op.is_function() => formula(op, dtype).is_some() || op.quotient(dtype).is_some(),
        Op::Function(_) | Op::Function2(_) | Op::Function4(_) => false,
        Op::High(_) | Op::Doubles | Op::Integers => false,
        Op::Step(_) | Op::NotStep(_) | Op::Guard(_) => false,
        Op::Masks(_) | Op::Join(_) | Op::Lane(..) => false,
        Op::Add | Op::Mul | Op::Max | Op::Min => float || integer || boolean,
        Op::Sub | Op::Negate => float || integer,
        Op::Clamp | Op::Sign | Op::IsNan | Op::IsFinite | Op::IsInfinite => float,
        Op::MulNoNan | Op::Div | Op::Sqrt | Op::Floor | Op::Ceiling | Op::Trunc | Op::Round => float,
        Op::Abs => float || is_signed(dtype),
        Op::And | Op::Or | Op::Xor | Op::Not => integer || boolean,
        Op::ShiftLeft | Op::ShiftRight | Op::ShiftRightSigned => integer && dtype.bytes() >= 4,
        Op::Eq | Op::Ne | Op::Gt | Op::Ge | Op::Lt | Op::Le => float || integer,
        Op::Select => float || integer,
        Op::Convert(to) => {
            let widens = integer && dtype.bytes() < to.bytes();
            match to {
                DType::F32 => boolean || widens || dtype == DType::I32,
                // The instruction would take unsigned integers as signed.
                DType::F64 => boolean || widens && dtype != DType::UI32 || dtype == DType::F32,
                to => is_integer(to) && (boolean || widens),
            }
        }
    }
}

pub fn is_integer(dtype: DType) -> bool {
    is_signed(dtype) || matches!(dtype, DType::UI8 | DType::UI16 | DType::UI32 | DType::UI64)
}

pub fn is_signed(dtype: DType) -> bool {
    matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64)
}
