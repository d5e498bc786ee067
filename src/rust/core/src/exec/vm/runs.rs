//! Values in memory that native code reads in place though they are not dense: they lie in long *runs* of
//! elements side by side, or of one element that is repeated, such as the columns of what is broadcast.

use crate::shape::Shape;
use crate::tensor::Layout;
use std::ops::Range;

/// Elements of a run, at least: a shorter one is copied before code would begin and end with it.
const LONG: usize = 512;

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

    /// The byte at which the element with that number is, and how many there are from it on in its run.
    #[inline]
    pub(super) fn at(&self, number: usize) -> (isize, usize) {
        let (within, mut rest) = (number % self.len, number / self.len);
        let mut at = (self.first + if self.repeated { 0 } else { within * self.width }) as isize;
        for &(size, stride) in &self.axes {
            at += (rest % size) as isize * stride;
            rest /= size;
        }
        (at, self.len - within)
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
}
