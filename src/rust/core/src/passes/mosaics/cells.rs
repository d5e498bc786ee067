//! The places that a chain of updates writes, cut so that each update writes whole cells: which update wrote a place last.

use super::chains::{Chain, Write};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Cells for each update, at most, and those that are looked at for all values that are joined: more would take longer
/// than the rest of the compilation.
pub(super) const CELLS: usize = 256;

/// An update of a chain: the version that it makes, and which of its writes.
pub(super) type Owner = (usize, usize);

/// Elements from `start` on and before `end`, along each axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Region {
    /// See there.
    pub start: Vec<usize>,
    /// See there.
    pub end: Vec<usize>,
}

impl Region {
    /// All of a value of these sizes.
    pub(super) fn all(sizes: &[usize]) -> Region {
        Region { start: vec![0; sizes.len()], end: sizes.to_vec() }
    }

    /// What a write replaces, a value of these sizes.
    pub(super) fn of(write: &Write, sizes: &[usize]) -> Region {
        let end = write.start.iter().zip(sizes).map(|(at, size)| at + size).collect();
        Region { start: write.start.clone(), end }
    }

    /// Its sizes.
    pub(super) fn sizes(&self) -> Vec<usize> {
        self.start.iter().zip(&self.end).map(|(start, end)| end - start).collect()
    }

    /// Whether its elements are side by side in memory, within this one.
    fn is_contiguous_in(&self, whole: &Region) -> bool {
        let sizes = self.sizes();
        let cut = whole.sizes().iter().zip(&sizes).position(|(all, own)| all != own);
        cut.is_none_or(|axis| sizes[axis + 1..].iter().all(|&size| size == 1))
    }
}

/// What a region of a version consists of.
#[derive(Debug)]
pub(super) enum Tree {
    /// Elements that one update wrote last, or that are from before all.
    Leaf(Option<Owner>, Region),
    /// Parts, joined along an axis.
    Join(usize, Vec<Tree>),
}

impl Tree {
    /// The parts that are not joined of others, in order.
    pub(super) fn leaves(&self) -> Vec<(Option<Owner>, &Region)> {
        match self {
            Tree::Leaf(owner, region) => vec![(*owner, region)],
            Tree::Join(_, parts) => parts.iter().flat_map(Tree::leaves).collect(),
        }
    }

    /// Whether it is joined of what is joined, and its parts lie side by side in a region: they can be joined as vectors.
    pub(super) fn is_flat_in(&self, whole: &Region) -> bool {
        let Tree::Join(_, parts) = self else { return false };
        parts.iter().any(|part| matches!(part, Tree::Join(..)))
            && self.leaves().iter().all(|(_, part)| part.is_contiguous_in(whole))
    }
}

/// The cells of a chain.
pub(super) struct Cells {
    /// Along each axis, where cells begin, and where the last ends.
    cuts: Vec<Vec<usize>>,
    /// For each cell that is written, by which updates, in order.
    history: FxHashMap<usize, Vec<Owner>>,
}

impl Cells {
    /// Those of a chain whose first value has these sizes; `None` if they are too many. `sizes` gives those of what is
    /// written.
    pub(super) fn of(chain: &Chain, base: &[usize], sizes: impl Fn(&Write) -> Vec<usize>) -> Option<Cells> {
        let mut cuts: Vec<Vec<usize>> = base.iter().map(|&size| vec![0, size]).collect();
        let writes = || chain.steps.iter().flat_map(|step| &step.writes);
        for write in writes() {
            for ((cuts, &at), size) in cuts.iter_mut().zip(&write.start).zip(sizes(write)) {
                cuts.extend([at, at + size]);
            }
        }
        for cuts in &mut cuts {
            cuts.sort_unstable();
            cuts.dedup();
        }
        let mut cells = Cells { cuts, history: FxHashMap::default() };
        let mut left = CELLS * chain.steps.len();
        let all = cells.cuts.iter().try_fold(1usize, |all, cuts| all.checked_mul(cuts.len()));
        all.filter(|&all| all <= left)?;
        for (number, step) in chain.steps.iter().enumerate() {
            for (i, write) in step.writes.iter().enumerate() {
                let ranges = cells.ranges(&Region::of(write, &sizes(write)));
                left = left.checked_sub(ranges.iter().map(ExactSizeIterator::len).product())?;
                for cell in cells.numbers(&ranges) {
                    cells.history.entry(cell).or_default().push((number + 1, i));
                }
            }
        }
        Some(cells)
    }

    /// The number of cells that a region has a part of.
    pub(super) fn count(&self, region: &Region) -> usize {
        self.ranges(region).iter().map(ExactSizeIterator::len).product()
    }

    /// The cells along each axis that a region has a part of.
    fn ranges(&self, region: &Region) -> Vec<Range<usize>> {
        let along = |(cuts, (&start, &end)): (&Vec<usize>, (&usize, &usize))| {
            let first = cuts.partition_point(|&at| at <= start) - 1;
            first..cuts.partition_point(|&at| at < end).max(first)
        };
        self.cuts.iter().zip(region.start.iter().zip(&region.end)).map(along).collect()
    }

    /// The numbers of cells, the first axis first.
    fn numbers(&self, ranges: &[Range<usize>]) -> Vec<usize> {
        let mut all = vec![0];
        // The last axis varies slowest.
        for (range, cuts) in ranges.iter().zip(&self.cuts).rev() {
            all = all.iter().flat_map(|&outer| range.clone().map(move |i| outer * cuts.len() + i)).collect();
        }
        all
    }

    /// The number of elements that updates wrote that made the versions `after` one up to another.
    pub(super) fn written(
        &self,
        chain: &Chain,
        after: usize,
        to: usize,
        sizes: impl Fn(&Write) -> Vec<usize>,
    ) -> usize {
        let mut all = 0;
        for (number, step) in chain.steps.iter().enumerate().take(to).skip(after) {
            for (i, write) in step.writes.iter().enumerate() {
                let ranges = self.ranges(&Region::of(write, &sizes(write)));
                let numbers = self.numbers(&ranges);
                let volumes = self.volumes(&ranges);
                for (cell, volume) in numbers.iter().zip(volumes) {
                    let owners = &self.history[cell];
                    let first = owners.partition_point(|&(version, _)| version <= after);
                    all += if owners[first] == (number + 1, i) { volume } else { 0 };
                }
            }
        }
        all
    }

    /// The elements of cells, in the order of their numbers.
    fn volumes(&self, ranges: &[Range<usize>]) -> Vec<usize> {
        let mut all = vec![1];
        for (range, cuts) in ranges.iter().zip(&self.cuts).rev() {
            let sizes = |outer: usize| range.clone().map(move |i| outer * (cuts[i + 1] - cuts[i]));
            all = all.iter().flat_map(|&outer| sizes(outer)).collect();
        }
        all
    }

    /// What a region of a version consists of, where all from before the version `after` is one value; `None` if it has
    /// more cells than `most`.
    pub(super) fn tree(&self, region: &Region, version: usize, after: usize, most: usize) -> Option<Tree> {
        if version <= after {
            return Some(Tree::Leaf(None, region.clone()));
        }
        let ranges = self.ranges(region);
        if self.count(region) > most {
            return None;
        }
        let owner = |cell: &usize| {
            let all = self.history.get(cell)?;
            let end = all.partition_point(|&(made, _)| made <= version);
            all[..end].last().filter(|&&(made, _)| made > after).copied()
        };
        let owners: Vec<Option<Owner>> = self.numbers(&ranges).iter().map(owner).collect();
        let cuts: Vec<&[usize]> =
            self.cuts.iter().zip(&ranges).map(|(cuts, r)| &cuts[r.start..=r.end]).collect();
        Some(split(&owners, &cuts, region.clone()))
    }
}

/// A region as parts of one owner each: those of its cells, which are cut there.
fn split(owners: &[Option<Owner>], cuts: &[&[usize]], region: Region) -> Tree {
    if owners.iter().all(|&owner| owner == owners[0]) {
        return Tree::Leaf(owners[0], region);
    }
    let (last, others) = cuts.split_last().expect("one cell has one owner");
    let axis = others.len();
    let size = owners.len() / (last.len() - 1);
    let (mut parts, mut first) = (vec![], 0);
    for i in 1..last.len() {
        let block = |i: usize| &owners[i * size..][..size];
        if i + 1 < last.len() && block(i) == block(first) {
            continue;
        }
        let mut part = region.clone();
        part.start[axis] = last[first].max(region.start[axis]);
        part.end[axis] = last[i].min(region.end[axis]);
        parts.push(split(block(first), others, part));
        first = i;
    }
    match parts.len() {
        1 => parts.remove(0),
        _ => Tree::Join(axis, parts),
    }
}
