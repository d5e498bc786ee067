//! Several vectors of lanes in one loop. Where an iteration waits for what it carries longer than it computes, the
//! processor computes on other lanes meanwhile: each step is done on one vector after the other.

use super::Lowering;
use crate::exec::vm::native::lanes::Along;
use crate::exec::vm::native::loops::{Carried, Loop, Place, Step, Window};
use crate::exec::vm::native::MicroOp;

/// Vectors of lanes that are computed together, at most.
const MOST: usize = 4;

/// Vectors that a loop carries, at most, for all lanes together: others are not in registers.
const REGISTERS: usize = 8;

/// Steps of an iteration, at most, for all lanes together: processors look ahead over a few hundred.
const STEPS: usize = 256;

/// How long steps that wait for nothing take, as it compares with their estimate, where there is always one to do
/// (measured on an AMD EPYC, Zen 4).
const BUSY: usize = 2;

impl Lowering<'_> {
    /// How many vectors of lanes are worth to be computed together, where there are so many. Positions that are the same for
    /// all lanes are found once for all of these; and iterations wait for one another where one reads what the last one wrote.
    pub(super) fn abreast(&self, vectors: usize) -> usize {
        let looped = &self.looped;
        let Some(mode) = self.lanes.as_ref() else { return 1 };
        let apart: Vec<usize> = mode.along.iter().map(|along| along.apart(mode.count)).collect();
        if looped.test.is_some() || self.called() > 0 || varying(looped, &apart).is_none() {
            return 1;
        }
        let has_windows = looped.steps.iter().any(|step| matches!(step, Step::Load(_) | Step::Put(_)));
        let steps = looped.steps.len() + self.formulas;
        let fit = (REGISTERS / looped.carried.len().max(1)).min(STEPS / steps.max(1));
        let wanted =
            if has_windows { MOST } else { self.waits().div_ceil(self.apart().saturating_mul(BUSY).max(1)) };
        wanted.min(fit).min(vectors).clamp(1, MOST)
    }

    /// About how long an iteration on so many vectors together takes, in picoseconds.
    pub(super) fn took_abreast(&self, copies: usize) -> usize {
        self.apart().saturating_mul(BUSY * copies).max(self.waits())
    }
}

/// The loop on so many vectors of lanes together, of so many lanes each. What is the same for all lanes is computed once.
/// `None` if places are too far away.
pub(super) fn interleaved(looped: Loop, along: &[Along], [copies, lanes]: [usize; 2]) -> Option<Loop> {
    // The bytes of each argument from those of a vector of lanes to those of the next; 0 if it is the same for all.
    let apart: Vec<usize> = along.iter().map(|along| along.apart(lanes)).collect();
    let varies = varying(&looped, &apart)?;
    let Loop { mut chain, steps, carried, reads, mut arguments, vectors, .. } = looped;
    let mut firsts = vec![];
    let mut all =
        Loop { reverse: looped.reverse, length: looped.length, strides: looped.strides, ..Loop::default() };
    for (v, value) in std::mem::take(&mut chain.values).into_iter().enumerate() {
        let first = chain.values.len();
        firsts.push(first);
        chain.values.extend(std::iter::repeat_n(value, if varies[v] { copies } else { 1 }));
        all.vectors.extend((first..chain.values.len()).filter(|_| vectors.contains(&v)));
    }
    let of = |v: usize, k: usize| firsts[v] + if varies[v] { k } else { 0 };
    let placed = |place: Place, k: usize| {
        let offset = i32::try_from(k * apart[place.argument]).ok()?.checked_add(place.offset)?;
        Some(Place { offset, ..place })
    };
    let op_of = |op: &MicroOp, k: usize| MicroOp {
        operands: op.operands.iter().map(|&v| of(v, k)).collect(),
        result: of(op.result, k),
        ..op.clone()
    };
    let windows = |window: &Window| {
        let apart = apart[window.argument];
        let mut elements = vec![];
        for k in 0..if apart > 0 { copies } else { 1 } {
            for &(v, at) in &window.elements {
                elements.push((of(v, k), i32::try_from(k * apart).ok()?.checked_add(at)?));
            }
        }
        let starts = window.starts.iter().map(|&(v, most, bytes)| (of(v, 0), most, bytes)).collect();
        Some(Window { starts, elements, ..window.clone() })
    };
    for step in &steps {
        let each = match step {
            Step::Op(op) | Step::Instead(_, op) => varies[op.result],
            Step::Store(_, place) => apart[place.argument] > 0,
            Step::Load(_) | Step::Put(_) => false,
            _ => return None,
        };
        for k in 0..if each { copies } else { 1 } {
            all.steps.push(match step {
                Step::Instead(mask, op) => Step::Instead(of(*mask, k), op_of(op, k)),
                Step::Op(op) => Step::Op(op_of(op, k)),
                Step::Store(v, place) => Step::Store(of(*v, k), placed(*place, k)?),
                Step::Load(window) => Step::Load(windows(window)?),
                Step::Put(window) => Step::Put(windows(window)?),
                _ => return None,
            });
        }
    }
    for (v, place) in reads {
        for k in 0..if varies[v] { copies } else { 1 } {
            all.reads.push((of(v, k), placed(place, k)?));
        }
    }
    for Carried { value, next, place } in carried {
        for k in 0..if varies[value] { copies } else { 1 } {
            all.carried.push(Carried { value: of(value, k), next: of(next, k), place: placed(place, k)? });
        }
    }
    for ((bytes, _), apart) in arguments.iter_mut().zip(&apart) {
        *bytes += (copies - 1) * apart;
    }
    (all.chain, all.arguments) = (chain, arguments);
    Some(all)
}

/// Whether each value differs between lanes; `None` if one that is carried the same for all would, if each lane has positions
/// of its own, or if there are other steps than those of which several are done at once.
fn varying(looped: &Loop, apart: &[usize]) -> Option<Vec<bool>> {
    let mut varies = vec![false; looped.chain.values.len()];
    for &(v, place) in &looped.reads {
        varies[v] = *apart.get(place.argument)? > 0;
    }
    looped.carried.iter().for_each(|carried| varies[carried.value] = apart[carried.place.argument] > 0);
    for step in &looped.steps {
        match step {
            Step::Op(MicroOp { result, .. }) | Step::Instead(_, MicroOp { result, .. }) => {
                step.reads(&mut |v| varies[*result] |= varies[v]);
            }
            Step::Store(v, place) if *apart.get(place.argument)? > 0 || !varies[*v] => {}
            Step::Load(window) | Step::Put(window) => {
                let each = *apart.get(window.argument)? > 0;
                let is_load = matches!(step, Step::Load(_));
                for &(v, _) in &window.elements {
                    varies[v] |= is_load && each;
                }
                let own = window.elements.iter().any(|&(v, _)| varies[v] && !each);
                if own || window.starts.iter().any(|&(v, ..)| varies[v]) {
                    return None;
                }
            }
            Step::Store(..) | Step::Call(_) | Step::Begin(..) | Step::End(..) => return None,
        }
    }
    looped.carried.iter().all(|carried| varies[carried.value] || !varies[carried.next]).then_some(varies)
}
