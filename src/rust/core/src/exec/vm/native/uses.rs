//! Which ops of a body read each value, and which values each op is the last to read.

use std::ops::Index;

/// See the [module](self).
pub(super) struct Uses {
    /// The ops that read each value.
    readers: Lists,
    /// The values that each op is the last to read.
    dying: Lists,
}

/// Lists of numbers, in one allocation: one each was a seventh of what a chain takes to compile.
struct Lists {
    starts: Vec<usize>,
    all: Vec<usize>,
}

impl Lists {
    /// So many lists, from pairs of the number of a list and what it has.
    fn of(count: usize, pairs: impl Iterator<Item = (usize, usize)> + Clone) -> Lists {
        let mut starts = vec![0; count + 1];
        pairs.clone().for_each(|(list, _)| starts[list + 1] += 1);
        (0..count).for_each(|list| starts[list + 1] += starts[list]);
        let (mut ends, mut all) = (starts.clone(), vec![0; starts[count]]);
        for (list, item) in pairs {
            all[ends[list]] = item;
            ends[list] += 1;
        }
        Lists { starts, all }
    }

    fn get(&self, list: usize) -> &[usize] {
        &self.all[self.starts[list]..self.starts[list + 1]]
    }
}

impl Uses {
    /// Those of so many values and ops; `reads` are pairs of an op and a value, in the order of ops.
    pub fn of(values: usize, ops: usize, reads: impl Iterator<Item = (usize, usize)> + Clone) -> Uses {
        let readers = Lists::of(values, reads.map(|(at, v)| (v, at)));
        let last = |v: usize| readers.get(v).last().map(|&at| (at, v));
        let dying = Lists::of(ops, (0..values).filter_map(last));
        Uses { readers, dying }
    }

    /// The values that this op is the last to read.
    pub fn dying(&self, at: usize) -> &[usize] {
        self.dying.get(at)
    }
}

impl Index<usize> for Uses {
    type Output = [usize];

    /// The ops that read a value, in order; twice if they do.
    fn index(&self, value: usize) -> &[usize] {
        self.readers.get(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_die_with_the_last_op_that_reads_them() {
        let uses = Uses::of(4, 3, [(0, 2), (0, 2), (1, 0), (2, 0), (2, 3)].into_iter());
        let readers: Vec<&[usize]> = (0..4).map(|v| &uses[v]).collect();
        assert_eq!(readers, [&[1, 2][..], &[], &[0, 0], &[2]]);
        let dying: Vec<&[usize]> = (0..3).map(|at| uses.dying(at)).collect();
        assert_eq!(dying, [&[2][..], &[], &[0, 3]]);
    }
}
