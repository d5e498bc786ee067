//! Positions that lie in few runs, as `c(n, 1:(n - 1))` does: the runs are slices, which cost nothing, and are joined. So
//! the other ops see what moves where, and no position is looked up when the program runs.

use super::applier::Applier;
use crate::error::Result;
use crate::graph::Value;
use crate::ops::{Concatenate, Reverse, StaticSlice};
use crate::shape::Axis;

/// Positions one after the other, forwards or backwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The least of them.
    start: usize,
    size: usize,
    backwards: bool,
}

/// Runs that are joined whatever their lengths, at most.
const FEW: usize = 4;

/// Runs that are joined if they are so [`LONG`], at most.
const SOME: usize = 16;

/// Positions of a run, on average, at least.
const LONG: usize = 2;

/// The runs in which positions lie, counted from 0; `None` if they are many.
pub fn few_runs(at: &[i32]) -> Option<Vec<Run>> {
    let (mut runs, mut rest) = (vec![], at);
    while let [first, others @ ..] = rest {
        let step = others.first().map_or(1, |second| second - first);
        let goes_on = |(a, b): (&i32, &i32)| step.abs() == 1 && b - a == step;
        let size = 1 + rest.iter().zip(others).take_while(|&pair| goes_on(pair)).count();
        let (now, later) = rest.split_at(size);
        let backwards = size > 1 && step < 0;
        let start = usize::try_from(if backwards { now[size - 1] } else { now[0] }).ok()?;
        runs.push(Run { start, size, backwards });
        rest = later;
        if runs.len() > SOME {
            return None;
        }
    }
    (runs.len() <= FEW || at.len() >= LONG * runs.len()).then_some(runs)
}

impl Applier<'_> {
    /// The value with these runs of positions along axes, which are within bounds. An axis that it does not have is left to
    /// the check of subscripts.
    ///
    /// # Errors
    /// Those of [`crate::ops::Builder::node`].
    pub fn runs_joined(&mut self, mut x: Value, joins: &[(Axis, Vec<Run>)]) -> Result<Value> {
        for (axis, runs) in joins {
            let shape = self.shape(x);
            if axis.0 >= shape.rank() {
                continue;
            }
            let mut parts = vec![];
            for run in runs {
                let slice = StaticSlice::along(&shape, *axis, run.start..run.start + run.size);
                let mut part = self.builder.node1(slice, &[x])?;
                if run.backwards {
                    part = self.builder.node1(Reverse { axes: vec![*axis] }, &[part])?;
                }
                parts.push(part);
            }
            x = match parts.as_slice() {
                &[part] => part,
                parts => self.builder.node1(Concatenate { axis: *axis }, parts)?,
            };
        }
        Ok(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_cut_into_runs() {
        let run = |start, size, backwards| Run { start, size, backwards };
        assert_eq!(few_runs(&[4, 0, 1, 2, 3]), Some(vec![run(4, 1, false), run(0, 4, false)]));
        assert_eq!(few_runs(&[2, 1, 0, 1, 2]), Some(vec![run(0, 3, true), run(1, 2, false)]));
        let padded = [run(0, 1, false), run(0, 3, false), run(2, 1, false)];
        assert_eq!(few_runs(&[0, 0, 1, 2, 2]), Some(padded.to_vec()));
        assert_eq!(few_runs(&[7]), Some(vec![run(7, 1, false)]));
        assert_eq!(few_runs(&[0, 5, 9, 3, 7]), None);
        // Five runs, long ones.
        let long: Vec<i32> = (0..5).flat_map(|k| 20 * k..20 * k + 10).collect();
        assert_eq!(few_runs(&long).map(|runs| runs.len()), Some(5));
        let many: Vec<i32> = (0..20).flat_map(|k| 20 * k..20 * k + 10).collect();
        assert_eq!(few_runs(&many), None);
        assert_eq!(few_runs(&[]), Some(vec![]));
    }
}
