//! Positions in a pattern, as `c(n, 1:(n - 1))`, which lie in few runs, or `rep(1:n, each = m)`, which are a range
//! repeated: runs are slices, which cost nothing, and are joined; what is repeated is broadcast. So the other ops see
//! what moves where, and no position is looked up when the program runs.

use super::applier::Applier;
use crate::error::Result;
use crate::graph::Value;
use crate::ops::layout::Order;
use crate::ops::{BroadcastInDim, Concatenate, Reshape, Reverse, StaticSlice};
use crate::shape::{Axis, Shape};
use std::cmp::Ordering;

/// Positions in a pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// These one after the other.
    Runs(Vec<Run>),
    /// A range, repeated.
    Repeated(Repeated),
}

/// Evenly spaced positions, each of which comes `each` times, all of them `times` times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repeated {
    start: usize,
    size: usize,
    stride: isize,
    each: usize,
    times: usize,
}

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

/// The pattern of positions, counted from 0; `None` if they have none.
pub fn pattern(at: &[i32]) -> Option<Pattern> {
    match repeated(at) {
        Some(repeated) => Some(Pattern::Repeated(repeated)),
        None => few_runs(at).map(Pattern::Runs),
    }
}

/// The range that positions repeat; `None` if they repeat none.
fn repeated(at: &[i32]) -> Option<Repeated> {
    let &first = at.first()?;
    let each = at.iter().take_while(|&&p| p == first).count();
    let stride = at.get(each).map_or(1, |&second| second.wrapping_sub(first));
    let nth = |i: usize| i64::from(first) + i as i64 * i64::from(stride);
    let size = at.iter().step_by(each).enumerate().take_while(|&(i, &p)| nth(i) == i64::from(p)).count();
    let period = each * size;
    let times = at.len() / period;
    let repeats = each * times > 1 && times * period == at.len();
    let holds = || at.iter().enumerate().all(|(k, &p)| nth(k % period / each) == i64::from(p));
    let start = usize::try_from(first).ok()?;
    (repeats && holds()).then_some(Repeated { start, size, stride: stride as isize, each, times })
}

/// The runs in which positions lie; `None` if they are many.
fn few_runs(at: &[i32]) -> Option<Vec<Run>> {
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
    /// The value with these positions along axes, which are within bounds. An axis that it does not have is left to the
    /// check of subscripts.
    ///
    /// # Errors
    /// Those of [`crate::ops::Builder::node`].
    pub fn at_patterns(&mut self, mut x: Value, patterns: &[(Axis, Pattern)]) -> Result<Value> {
        for (axis, pattern) in patterns {
            if axis.0 < self.shape(x).rank() {
                x = match pattern {
                    Pattern::Runs(runs) => self.runs_joined(x, *axis, runs)?,
                    Pattern::Repeated(repeated) => self.range_repeated(x, *axis, *repeated)?,
                };
            }
        }
        Ok(x)
    }

    fn runs_joined(&mut self, x: Value, axis: Axis, runs: &[Run]) -> Result<Value> {
        let shape = self.shape(x);
        let mut parts = vec![];
        for run in runs {
            let slice = StaticSlice::along(&shape, axis, run.start..run.start + run.size);
            let part = self.builder.node1(slice, &[x])?;
            parts.push(if run.backwards { self.backwards(part, axis)? } else { part });
        }
        match parts.as_slice() {
            &[part] => Ok(part),
            parts => self.builder.node1(Concatenate { axis }, parts),
        }
    }

    fn range_repeated(&mut self, x: Value, axis: Axis, of: Repeated) -> Result<Value> {
        let shape = self.shape(x);
        let last = of.start.wrapping_add_signed((of.size as isize - 1) * of.stride);
        let (first, end) = (of.start.min(last), of.start.max(last) + 1);
        let mut x = x;
        if end - first < shape[axis.0] || of.stride.unsigned_abs() > 1 {
            let mut slice = StaticSlice::along(&shape, axis, first..end);
            slice.stride[axis.0] = of.stride.unsigned_abs();
            x = self.builder.node1(slice, &[x])?;
        }
        if of.stride < 0 && of.size > 1 {
            x = self.backwards(x, axis)?;
        }
        let (before, after) = (usize::from(of.each > 1), usize::from(of.times > 1));
        let mut sizes = shape.to_vec();
        let parts = [(before, of.each), (1, of.size), (after, of.times)];
        sizes.splice(axis.0..=axis.0, parts.into_iter().filter(|part| part.0 > 0).map(|part| part.1));
        let place = |i: usize| match i.cmp(&axis.0) {
            Ordering::Less => i,
            Ordering::Equal => i + before,
            Ordering::Greater => i + before + after,
        };
        let axes = (0..shape.rank()).map(|i| Axis(place(i))).collect();
        let wide = BroadcastInDim { shape: Shape::try_new(sizes)?, axes };
        let wide = self.builder.node1(wide, &[x])?;
        let mut sizes = shape.to_vec();
        sizes[axis.0] = of.each * of.size * of.times;
        self.builder.node1(Reshape { shape: Shape::try_new(sizes)?, order: Order::Column }, &[wide])
    }

    fn backwards(&mut self, x: Value, axis: Axis) -> Result<Value> {
        self.builder.node1(Reverse { axes: vec![axis] }, &[x])
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

    #[test]
    fn positions_repeat_a_range() {
        let given = |at: &[i32]| {
            repeated(at)
                .map(|r| [r.start as isize, r.size as isize, r.stride, r.each as isize, r.times as isize])
        };
        assert_eq!(given(&[0, 1, 2, 0, 1, 2]), Some([0, 3, 1, 1, 2]));
        assert_eq!(given(&[4, 4, 2, 2, 0, 0]), Some([4, 3, -2, 2, 1]));
        assert_eq!(given(&[1, 1, 2, 2, 1, 1, 2, 2]), Some([1, 2, 1, 2, 2]));
        assert_eq!(given(&[3, 3, 3]), Some([3, 1, 1, 3, 1]));
        assert_eq!(given(&[0, 0, 1]), None);
        assert_eq!(given(&[0, 0, 1, 1, 2]), None);
        assert_eq!(given(&[0, 1, 0, 1, 0]), None);
        assert_eq!(given(&[0, 1, 2]), None);
        assert_eq!(given(&[7]), None);
        assert_eq!(given(&[]), None);
    }
}
