//! Makes one instruction of two operations of arithmetic where only the second reads the result of the first.

use super::draft::{Draft, Location, Make, Virtual};
use crate::dtype::DType;
use crate::exec::vm::native;
use crate::exec::vm::superinstruction::{self, Next, RingOp};
use crate::ops::Op;

/// An op as an operation that may be one of a pair.
pub fn ring_op(op: &Op, from: &[DType]) -> Option<(RingOp, DType)> {
    let op = match op.instruction()? {
        native::Op::Add => RingOp::Add,
        native::Op::Sub => RingOp::Sub,
        native::Op::Mul => RingOp::Mul,
        _ => return None,
    };
    Some((op, from[0])).filter(|(_, dtype)| superinstruction::is_paired(*dtype))
}

/// Joins pairs among the instructions, in their order.
pub fn join(drafts: Vec<Draft>, values: &[Virtual]) -> Vec<Draft> {
    let mut reads = vec![0; values.len()];
    drafts.iter().flat_map(|draft| &draft.operands).for_each(|&value| reads[value] += 1);
    let mut out: Vec<Option<Draft>> = Vec::with_capacity(drafts.len());
    // For each value, the instruction that makes it.
    let mut made = vec![usize::MAX; values.len()];
    for mut draft in drafts {
        if let Some((at, next)) = partner(&draft, &out, &made, &reads, values) {
            let first = out[at].take().expect("a partner is there");
            let (op, dtype) = first.ring.expect("a partner is one of a pair");
            let other = match next {
                Next::First(_) => Some(draft.operands[1]),
                Next::Second(_) => Some(draft.operands[0]),
                Next::Square => None,
            };
            let operands = first.operands.iter().copied().chain(other).collect();
            let make = move || superinstruction::kernel(dtype, op, next).expect("pairs have kernels");
            draft = Draft { make: Make::Kernel(Box::new(make)), operands, ring: None, ..draft };
        }
        made[draft.result] = out.len();
        out.push(Some(draft));
    }
    out.into_iter().flatten().collect()
}

/// The instruction that makes an operand of this one, if the two can be one, and what this one does with it.
fn partner(
    draft: &Draft,
    before: &[Option<Draft>],
    made: &[usize],
    reads: &[usize],
    values: &[Virtual],
) -> Option<(usize, Next)> {
    let ((op, dtype), &[x, y]) = (draft.ring?, draft.operands.as_slice()) else { return None };
    let made = |value: usize, readers: usize| {
        let at = made[value];
        let first = before.get(at)?.as_ref()?;
        let same = first.ring.is_some_and(|(_, other)| other == dtype) && first.folded == draft.folded;
        let own = values[value].location == Location::Register && reads[value] == readers;
        (same && own).then_some(at)
    };
    if x == y {
        return made(x, 2).filter(|_| op == RingOp::Mul).map(|at| (at, Next::Square));
    }
    let as_first = || made(x, 1).map(|at| (at, Next::First(op)));
    as_first().or_else(|| made(y, 1).map(|at| (at, Next::Second(op))))
}
