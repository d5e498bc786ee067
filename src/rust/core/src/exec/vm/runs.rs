//! Values in memory that native code reads, or writes, in place though they are not dense: they lie in *runs* of
//! elements side by side, or of one element that is repeated, such as the columns of what is broadcast.

use super::native::{Argument, Chain, Nest, MAX_AXES};
use crate::shape::Shape;
use crate::tensor::Layout;
use std::ops::Range;

/// Bytes of a run, at least: those of a vector. What is left at the end of a run is computed with the vector
/// that ends there.
const RUN: usize = 32;

/// The places of a value's elements in its stream, in bytes.
#[derive(Clone, Debug)]
pub struct Runs {
    /// Elements of a run, and whether they are one.
    len: usize,
    repeated: bool,
    /// The first element, and the bytes of one.
    first: usize,
    width: usize,
    /// Bytes by which elements that are read by the same address are before and behind these.
    before: usize,
    behind: usize,
    /// Sizes and strides of the axes on which the runs lie.
    axes: Vec<(usize, isize)>,
    /// Whether they are the folds of segments, of which a tile has its own, from its first segment on.
    folded: bool,
}

impl Runs {
    /// What so many segments are folded into, repeated for their elements, if these are no less than a vector.
    pub fn of_folds(segment: usize, segments: usize, width: usize) -> Option<Runs> {
        let axes = vec![(segments, width as isize)];
        let runs =
            Runs { len: segment, repeated: true, first: 0, width, before: 0, behind: 0, axes, folded: true };
        (segment * width >= RUN).then_some(runs)
    }

    /// Whether they are the folds of segments.
    pub fn are_folds(&self) -> bool {
        self.folded
    }

    /// The runs of a value of such elements, if they are no shorter than a vector.
    pub fn of(shape: &Shape, layout: &Layout, width: usize) -> Option<Runs> {
        let (&len, &step) = (shape.first()?, layout.strides.first()?);
        let axes = shape.iter().zip(&layout.strides).skip(1);
        let axes = axes.map(|(&size, &stride)| (size, stride * width as isize)).collect();
        let first = layout.offset * width;
        (len * width >= RUN && (step == 0 || step == 1)).then_some(Runs {
            len,
            repeated: step == 0,
            first,
            width,
            before: 0,
            behind: 0,
            axes,
            folded: false,
        })
    }

    /// By how much more of a vector of so many lanes than its elements fill a run takes, in thousandths for each
    /// element.
    pub fn waste(&self, lanes: usize) -> usize {
        1000 * (self.len.next_multiple_of(lanes) - self.len) / (lanes * self.len)
    }

    /// Elements of a run.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whether a run is one element.
    pub fn repeated(&self) -> bool {
        self.repeated
    }

    /// All bytes that may be read by their address.
    pub(super) fn bytes(&self) -> Range<isize> {
        let last = |&(size, stride): &(usize, isize)| (size as isize - 1) * stride;
        let (mut low, mut high) = (self.first as isize, self.first as isize);
        for end in self.axes.iter().map(last) {
            (low, high) = (low + end.min(0), high + end.max(0));
        }
        let len = if self.repeated { 1 } else { self.len };
        low - self.before as isize..high + (self.width * len + self.behind) as isize
    }

    /// How many bytes these elements are behind others, in the same stream, if each is as many.
    pub fn bytes_behind(&self, other: &Runs) -> Option<i32> {
        let alike = (self.len, self.width, &self.axes) == (other.len, other.width, &other.axes);
        let plain = |runs: &Runs| !runs.repeated && !runs.folded;
        let bytes = i32::try_from(self.first as isize - other.first as isize).ok()?;
        // An instruction adds some to it.
        (alike && plain(self) && plain(other) && bytes.unsigned_abs() < 1 << 30).then_some(bytes)
    }

    /// The same runs, of which elements that are so many bytes behind them are read by the same address.
    pub fn reaching(self, bytes: i32) -> Runs {
        let (before, behind) = (bytes.min(0).unsigned_abs() as usize, bytes.max(0) as usize);
        Runs { before: self.before.max(before), behind: self.behind.max(behind), ..self }
    }

    /// Whether the runs of values can be gone over together.
    pub fn are_joint<'r>(all: impl Iterator<Item = &'r Runs> + Clone) -> bool {
        Joint::of(all).is_some()
    }

    /// Whether the joint runs of values are so long that elements of this width may have non-temporal stores.
    pub fn long_enough<'r>(all: impl Iterator<Item = &'r Runs> + Clone, width: usize) -> bool {
        Joint::of(all).is_some_and(|joint| Nest::is_long(joint.len * width))
    }

    /// The loops of a chain of which some arguments, by number, lie in runs.
    pub fn nest(chain: &Chain, runs: &[(usize, Runs)]) -> Option<Nest> {
        let joint = Joint::of(runs.iter().map(|(_, runs)| runs))?;
        joint.nest(chain.arguments(), runs.iter().map(|(number, _)| *number))
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
    /// The byte at which each value begins.
    firsts: Vec<isize>,
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
        Some(Joint {
            len: ends[0],
            firsts: all.map(|runs| runs.first as isize).collect(),
            sizes,
            strides,
            moves,
        })
    }

    /// The loops of native code with these arguments, some of which, by number, are the values that lie in runs
    /// and the others are dense; `None` if the code has no room for a number.
    pub(super) fn nest(
        &self,
        arguments: impl Iterator<Item = Argument>,
        numbers: impl Iterator<Item = usize> + Clone,
    ) -> Option<Nest> {
        let mut dense = vec![];
        for argument in arguments {
            let width = if argument.repeated { 0 } else { argument.width };
            dense.push(i32::try_from(self.len * width).ok()?);
        }
        let mut moves = vec![dense; self.sizes.len()];
        for (moves, all) in moves.iter_mut().zip(&self.moves) {
            for (number, &by) in numbers.clone().zip(all) {
                moves[number] = i32::try_from(by).ok()?;
            }
        }
        let small = |&size: &usize| i32::try_from(size).is_ok();
        let fits = self.sizes.iter().chain([&self.len]).all(small);
        fits.then(|| Nest { len: self.len, sizes: self.sizes.clone(), moves })
    }

    /// Where some elements begin: the number of the first within its run. `to` is given the byte at which each
    /// value has the first element of that run, and `left`, for each axis, how many indices are left, the first
    /// one among them.
    #[inline]
    pub(super) fn begin(
        &self,
        elements: &Range<usize>,
        mut to: impl FnMut(usize, isize),
        mut left: impl FnMut(usize, usize),
    ) -> usize {
        let (within, mut rest) = (elements.start % self.len, elements.start / self.len);
        self.firsts.iter().enumerate().for_each(|(value, &first)| to(value, first));
        for (axis, (&size, strides)) in self.sizes.iter().zip(&self.strides).enumerate() {
            let index = rest % size;
            rest /= size;
            left(axis, size - index);
            if index > 0 {
                strides.iter().enumerate().for_each(|(value, &stride)| to(value, index as isize * stride));
            }
        }
        within
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::vm::native::MAX_ARGUMENTS;

    /// Elements of 4 bytes of which a run is as long as any vector.
    const LONG: usize = RUN / 4;

    #[test]
    fn elements_are_where_the_layout_says() {
        let shape: Shape = [LONG, 3, 2].into();
        for strides in [vec![1, 0, 2 * LONG as isize], vec![0, 1, 3], vec![1, -(LONG as isize), 0]] {
            let layout = Layout { strides, offset: 2 * LONG };
            let runs = Runs::of(&shape, &layout, 4).expect("they are long");
            let all = runs.bytes();
            for number in (0..shape.size()).step_by(7).chain([shape.size() - 1]) {
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
    fn a_run_wastes_what_its_last_vector_has_beyond_it() {
        let waste = |len: usize, lanes| {
            let layout = Layout { strides: vec![1, 0], offset: 0 };
            Runs::of(&[len, 2].into(), &layout, 4).expect("it is long").waste(lanes)
        };
        assert_eq!([8, 16, 48].map(|len| waste(len, 8)), [0; 3]);
        // Six lanes of sixteen for ten elements, fifteen for seventeen.
        assert_eq!([waste(10, 16), waste(17, 16), waste(17, 8)], [37, 55, 51]);
    }

    struct Begin {
        within: usize,
        moved: [isize; MAX_ARGUMENTS],
        left: [usize; MAX_AXES],
    }

    fn begun(joint: &Joint, elements: Range<usize>) -> Begin {
        let (mut moved, mut left) = ([0; MAX_ARGUMENTS], [0; MAX_AXES]);
        let within = joint.begin(&elements, |value, by| moved[value] += by, |axis, count| left[axis] = count);
        Begin { within, moved, left }
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
        // The last argument is dense.
        let argument = |repeated| Argument { width: 4, repeated, written: false };
        let arguments = all.iter().map(|runs| argument(runs.repeated)).chain([argument(false)]);
        let nest = joint.nest(arguments, 0..all.len()).expect("the numbers are small");
        assert_eq!((nest.len, nest.sizes.as_slice()), (n, [m, 2].as_slice()));
        for start in 0..2 * n * m {
            let begin = begun(&joint, start..2 * n * m);
            assert_eq!(begin.within, start % n);
            assert_eq!(begin.left[..2], [m - start / n % m, 2 - start / n / m]);
            let own = |runs: &Runs| if runs.repeated { 0 } else { 4 * begin.within as isize };
            for (i, runs) in all.iter().enumerate() {
                assert_eq!(begin.moved[i] + own(runs), runs.at(start).0, "{runs:?} at {start}");
                // From the last element of a run to the next.
                if start + n < 2 * n * m {
                    let next = begun(&joint, start + n..2 * n * m);
                    let axis = usize::from(begin.left[0] == 1);
                    assert_eq!(next.moved[i] - begin.moved[i], nest.moves[axis][i] as isize);
                }
            }
            assert!(nest.moves.iter().all(|moves| moves[all.len()] == 4 * n as i32));
        }
        let other = Runs::of(&[n + 1, 4].into(), &Layout { strides: vec![1, 50], offset: 0 }, 4).unwrap();
        assert!(Joint::of(all.iter().chain([&other])).is_none());
    }
}
