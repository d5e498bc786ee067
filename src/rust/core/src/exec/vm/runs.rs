//! Values in memory that native code reads in place though they are not dense: they lie in long *runs* of
//! elements side by side, or of one element that is repeated, such as the columns of what is broadcast.

use super::native::MAX_ARGUMENTS;
use crate::shape::Shape;
use crate::tensor::Layout;
use std::ops::Range;

/// Elements of a run, at least: a shorter one is copied before code would begin and end with it.
const LONG: usize = 16;

/// Axes of several values on which runs of all of them lie, at most.
const MAX_AXES: usize = 8;

/// The places of a value's elements in its stream, in bytes.
#[derive(Clone, Debug)]
pub struct Runs {
    /// Elements of a run, and whether they are one.
    len: usize,
    repeated: bool,
    /// The first element, and the bytes of one.
    first: usize,
    width: usize,
    /// Sizes and strides of the axes on which the runs lie.
    axes: Vec<(usize, isize)>,
}

impl Runs {
    /// The runs of a value of such elements, if they are long.
    pub fn of(shape: &Shape, layout: &Layout, width: usize) -> Option<Runs> {
        let (&len, &step) = (shape.first()?, layout.strides.first()?);
        let axes = shape.iter().zip(&layout.strides).skip(1);
        let axes = axes.map(|(&size, &stride)| (size, stride * width as isize)).collect();
        let first = layout.offset * width;
        (len >= LONG && (step == 0 || step == 1)).then_some(Runs {
            len,
            repeated: step == 0,
            first,
            width,
            axes,
        })
    }

    /// Whether a run is one element.
    pub fn repeated(&self) -> bool {
        self.repeated
    }

    /// All bytes that it may read.
    pub(super) fn bytes(&self) -> Range<isize> {
        let last = |&(size, stride): &(usize, isize)| (size as isize - 1) * stride;
        let (mut low, mut high) = (self.first as isize, self.first as isize);
        for end in self.axes.iter().map(last) {
            (low, high) = (low + end.min(0), high + end.max(0));
        }
        low..high + (self.width * if self.repeated { 1 } else { self.len }) as isize
    }

    /// Whether the runs of values can be gone over together.
    pub fn are_joint<'r>(all: impl Iterator<Item = &'r Runs> + Clone) -> bool {
        Joint::of(all).is_some()
    }

    /// The byte at which the element with that number is, and how many there are from it on in its run.
    #[cfg(test)]
    fn at(&self, number: usize) -> (isize, usize) {
        let (within, mut rest) = (number % self.len, number / self.len);
        let mut at = (self.first + if self.repeated { 0 } else { within * self.width }) as isize;
        for &(size, stride) in &self.axes {
            at += (rest % size) as isize * stride;
            rest /= size;
        }
        (at, self.len - within)
    }
}

/// Several values whose runs are gone over together: where one's run ends, those of all are cut.
#[derive(Clone, Debug)]
pub(super) struct Joint {
    /// Elements of a run.
    len: usize,
    /// Sizes of the axes on which runs lie.
    sizes: Vec<usize>,
    /// The byte at which each value begins, and the bytes of its elements; 0 if a run is one of them.
    values: Vec<(isize, usize)>,
    /// For each axis, the strides of all values, and by how much they move on when the index along the axis is
    /// the next one and those along the axes before begin again.
    strides: Vec<Vec<isize>>,
    moves: Vec<Vec<isize>>,
}

impl Joint {
    /// The runs of values of equally many elements; `None` if their axes do not end at the same elements.
    pub(super) fn of<'r>(all: impl Iterator<Item = &'r Runs> + Clone) -> Option<Joint> {
        // After how many elements an axis ends, of any value.
        let mut ends: Vec<usize> = vec![];
        for runs in all.clone() {
            let sizes = runs.axes.iter().map(|(size, _)| *size);
            ends.extend([runs.len].into_iter().chain(sizes).scan(1, |end, size| {
                *end *= size;
                Some(*end)
            }));
        }
        ends.sort_unstable();
        ends.dedup();
        let sizes: Vec<usize> = ends.windows(2).map(|pair| pair[1] / pair[0]).collect();
        if ends.windows(2).any(|pair| pair[1] % pair[0] != 0) || sizes.len() > MAX_AXES {
            return None;
        }
        let stride = |runs: &Runs, start: usize| {
            // The axis in which so many elements end, and those of a step along it.
            let (mut step, mut end) = (1, runs.len);
            let mut stride = if runs.repeated { 0 } else { runs.width as isize };
            for &(size, next) in &runs.axes {
                if start < end {
                    break;
                }
                (step, stride) = (end, next);
                end *= size;
            }
            (start / step) as isize * stride
        };
        let count = ends.len().checked_sub(1)?;
        let strides: Vec<Vec<isize>> = ends[..count]
            .iter()
            .map(|&start| all.clone().map(|runs| stride(runs, start)).collect())
            .collect();
        let mut back = vec![0; all.clone().count()];
        let moves = strides.iter().zip(&sizes).map(|(strides, &size)| {
            let moved = strides.iter().zip(&back).map(|(stride, back)| stride - back).collect();
            back.iter_mut().zip(strides).for_each(|(back, stride)| *back += (size as isize - 1) * stride);
            moved
        });
        let moves = moves.collect();
        let value = |runs: &Runs| (runs.first as isize, if runs.repeated { 0 } else { runs.width });
        Some(Joint { len: ends[0], values: all.map(value).collect(), sizes, strides, moves })
    }

    /// Goes over elements: for each run, or part of one, how many there are, and the byte at which each value
    /// has the first.
    #[inline]
    pub(super) fn each(&self, elements: Range<usize>, mut visit: impl FnMut(usize, &[isize])) {
        let (mut within, mut rest) = (elements.start % self.len, elements.start / self.len);
        let mut index = [0; MAX_AXES];
        let mut at = [0; MAX_ARGUMENTS];
        let at = &mut at[..self.values.len()];
        at.iter_mut().zip(&self.values).for_each(|(at, (first, _))| *at = *first);
        for ((index, &size), strides) in index.iter_mut().zip(&self.sizes).zip(&self.strides) {
            (*index, rest) = (rest % size, rest / size);
            at.iter_mut().zip(strides).for_each(|(at, stride)| *at += *index as isize * stride);
        }
        let shift = |at: &mut [isize], by: usize| {
            at.iter_mut().zip(&self.values).for_each(|(at, (_, width))| *at += (by * width) as isize);
        };
        shift(at, within);
        let mut left = elements.len();
        loop {
            let len = left.min(self.len - within);
            visit(len, at);
            left -= len;
            if left == 0 {
                break;
            }
            // To the start of the run, and from there to the next.
            if within > 0 {
                at.iter_mut().zip(&self.values).for_each(|(at, (_, width))| *at -= (within * width) as isize);
                within = 0;
            }
            let mut axis = 0;
            while index[axis] + 1 == self.sizes[axis] {
                index[axis] = 0;
                axis += 1;
            }
            index[axis] += 1;
            at.iter_mut().zip(&self.moves[axis]).for_each(|(at, by)| *at += by);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_where_the_layout_says() {
        let shape: Shape = [LONG, 3, 2].into();
        for strides in [vec![1, 0, 2 * LONG as isize], vec![0, 1, 3], vec![1, -(LONG as isize), 0]] {
            let layout = Layout { strides, offset: 2 * LONG };
            let runs = Runs::of(&shape, &layout, 4).expect("they are long");
            let all = runs.bytes();
            for number in (0..shape.size()).step_by(97).chain([shape.size() - 1]) {
                let index = [number % LONG, number / LONG % 3, number / LONG / 3];
                let steps = index.iter().zip(&layout.strides).map(|(&i, &stride)| i as isize * stride);
                let want = 4 * (layout.offset as isize + steps.sum::<isize>());
                assert_eq!(runs.at(number), (want, LONG - index[0]));
                assert!(all.start <= want && want + 4 <= all.end);
            }
        }
        let layout = |strides: [isize; 2]| Layout { strides: strides.into(), offset: 0 };
        assert!(Runs::of(&[LONG - 1, 2].into(), &layout([1, 0]), 4).is_none());
        assert!(Runs::of(&[LONG, 2].into(), &layout([2, 0]), 4).is_none());
    }

    #[test]
    fn runs_of_several_values_are_cut_where_one_ends() {
        // Columns of a matrix, of a longer one, all of one at once, and one element for each column or all.
        let (n, m) = (LONG + 3, 5);
        let shapes: [(&[usize], &[isize]); 6] = [
            (&[n, m, 2], &[1, 40, 400]),
            (&[n * m, 2], &[1, 200]),
            (&[n, m * 2], &[0, 1]),
            (&[n * m, 2], &[0, 3]),
            (&[n, m, 2], &[1, 0, -40]),
            (&[n, 2 * m], &[1, -(n as isize)]),
        ];
        let all: Vec<Runs> = shapes
            .iter()
            .map(|(shape, strides)| {
                let layout = Layout { strides: strides.to_vec(), offset: 1000 };
                Runs::of(&Shape::try_new(shape.to_vec()).unwrap(), &layout, 4).expect("they are long")
            })
            .collect();
        let joint = Joint::of(all.iter()).expect("their axes end together");
        for range in [0..2 * n * m, 1..2, 7..3 * n + 1, n..2 * n, n * m - 1..n * m + 1] {
            let mut number = range.start;
            joint.each(range.clone(), |len, at| {
                assert!(len > 0 && number % n + len <= n);
                for (runs, &at) in all.iter().zip(at) {
                    assert_eq!(at, runs.at(number).0, "{runs:?} at {number}");
                }
                number += len;
            });
            assert_eq!(number, range.end);
        }
        let other = Runs::of(&[n + 1, 4].into(), &Layout { strides: vec![1, 50], offset: 0 }, 4).unwrap();
        assert!(Joint::of(all.iter().chain([&other])).is_none());
    }
}
