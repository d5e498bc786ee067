//! About how long an iteration takes.

use super::{Lowering, CALL, FORMULA, STEP};
use crate::exec::vm::native::loops::Step;
use crate::exec::vm::native::{self, MicroOp};

/// That of a step which waits for no other, as it compares with the estimate of a plan (measured on an AMD EPYC, Zen 4: a
/// plan of a few elements takes two to three times its estimate).
const APART: usize = 100;

/// That of a quotient or a root beside it: of several at once they take about as long as of one (measured on an AMD EPYC,
/// Zen 5).
const DIVISION: usize = 1_000;

impl Lowering<'_> {
    /// Functions that each iteration calls.
    pub(super) fn called(&self) -> usize {
        self.calls.len() - self.raisers
    }

    /// Whether there is no need to look at the same loop without vectors: there are none, or they spare much.
    pub(super) fn is_clear(&self) -> bool {
        !self.vectors.any() || APART * self.vectors.spared > self.apart() / 2
    }

    /// About how long an iteration waits for what it carries, in picoseconds: the longest way from that to what is carried
    /// on.
    pub(super) fn waits(&self) -> usize {
        let mut depths = vec![None; self.looped.chain.values.len()];
        self.looped.carried.iter().for_each(|carried| depths[carried.value] = Some(0));
        for step in &self.looped.steps {
            let mut depth: Option<usize> = None;
            step.reads(&mut |v| depth = depth.max(depths[v]));
            let Some(depth) = depth else { continue };
            match step {
                Step::Op(MicroOp { op, result, .. }) => {
                    let dtype = self.looped.chain.values[*result].dtype;
                    let own = match op {
                        native::Op::Div | native::Op::Sqrt => 4 * STEP,
                        _ => match native::steps(*op, dtype) {
                            0 => STEP,
                            steps => FORMULA * steps,
                        },
                    };
                    depths[*result] = Some(depth + own);
                }
                Step::Load(window) => {
                    window.elements.iter().for_each(|&(v, _)| depths[v] = Some(depth + 3 * STEP));
                }
                _ => {}
            }
        }
        self.looped.carried.iter().filter_map(|carried| depths[carried.next]).max().unwrap_or(0)
    }

    /// About how long an iteration takes, in picoseconds, as it compares with the estimate of a plan.
    pub(super) fn apart(&self) -> usize {
        let reads = self.looped.reads.iter().filter(|(_, place)| place.moves).count();
        let (mut work, mut divisions) = (reads + self.formulas, 0);
        for step in &self.looped.steps {
            let Step::Op(MicroOp { op, operands, .. }) = step else {
                work += 1;
                continue;
            };
            work += match op {
                native::Op::Join(_) if operands.iter().all(|&v| self.known_literal(v).is_some()) => 0,
                native::Op::Join(_) if operands.iter().any(|v| *v != operands[0]) => operands.len() + 1,
                _ => 1,
            };
            divisions += usize::from(matches!(op, native::Op::Div | native::Op::Sqrt));
        }
        let once = APART * work + DIVISION * divisions + CALL * self.called();
        once.saturating_add(self.repeated.saturating_mul(APART))
    }
}
