//! Windows of values in random programs, at positions that are values too.

use super::Writer;
use anvil_core::graph::Value;
use anvil_core::shape::Shape;

/// Windows of a value; axes count from 1.
pub(super) struct Windows {
    pub(super) indices: Value,
    pub(super) sizes: Vec<usize>,
    pub(super) dropped: Vec<usize>,
    /// A batch axis of the value, and that of the indices; or none.
    pub(super) batching: [Vec<usize>; 2],
    pub(super) map: Vec<usize>,
    /// Shape of the stack of all windows.
    pub(super) stack: Vec<usize>,
    /// Its axes that are those of the windows.
    pub(super) stacked: Vec<usize>,
    pub(super) vector_axis: usize,
}

impl Writer {
    /// Windows of a value, with indices for them; now and then with an axis of both that is a batch.
    pub(super) fn windows(&mut self, shape: &Shape) -> Windows {
        let rank = shape.rank();
        let batch = (rank > 0 && self.rng.one_in(3)).then(|| 1 + self.rng.below(rank));
        let mut some = |from: Vec<usize>| -> Vec<usize> {
            from.into_iter().filter(|&i| Some(i) != batch && self.rng.one_in(2)).collect()
        };
        let dropped = some((1..=rank).collect());
        let mut map = some((1..=rank).collect());
        self.rng.shuffle(&mut map);
        let single = |i: usize| dropped.contains(&(i + 1)) || batch == Some(i + 1);
        let mut window = |i: usize| match single(i) {
            true => 1.min(shape[i].max(usize::from(batch != Some(i + 1)))),
            false => self.rng.below(shape[i] + 1),
        };
        let sizes: Vec<usize> = (0..rank).map(&mut window).collect();
        let mut indices: Vec<usize> = (0..self.rng.below(3)).map(|_| self.rng.below(4)).collect();
        let batch_at = batch.map(|axis| {
            let at = self.rng.below(indices.len() + 1);
            indices.insert(at, shape[axis - 1]);
            at
        });
        // The stack has the axes of the indices, with those of the windows in between.
        let kept = (0..rank).filter(|i| !dropped.contains(&(i + 1)) && batch != Some(i + 1));
        let (mut stack, mut stacked) = (indices.clone(), vec![]);
        for i in kept {
            let at = stacked.last().map_or(0, |&last: &usize| last);
            let at = at + self.rng.below(stack.len() - at + 1);
            stack.insert(at, sizes[i]);
            stacked.push(at + 1);
        }
        let vector_axis = self.rng.below(indices.len() + 1);
        let has_axis = map.len() != 1 || self.rng.one_in(2);
        if has_axis {
            indices.insert(vector_axis, map.len());
        }
        let batching = [batch, batch_at.map(|at| at + 1 + usize::from(has_axis && vector_axis <= at))]
            .map(|axis| axis.into_iter().collect());
        let vector_axis = if has_axis { vector_axis } else { indices.len() } + 1;
        Windows {
            indices: self.integers(&indices),
            sizes,
            dropped,
            batching,
            map,
            stack,
            stacked,
            vector_axis,
        }
    }
}
