//! Shapes, axes and strides.
//!
//! Sizes are in elements, strides are in elements and may be zero (broadcast). The canonical layout is
//! column-major, as in R. Every size computation is checked once, in [`Shape::try_new`]; a `Shape` is
//! addressable for as long as it lives.

use crate::error::{Error, Result};
use std::fmt;
use std::ops::Deref;

/// Largest number of elements in a tensor: R's own limit for vectors.
pub const MAX_SIZE: u64 = 1 << 52;

/// Sizes of the axes, first one fastest in memory. `()` is a scalar (0-d).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Shape(Vec<usize>);

impl Shape {
    /// The shape with one more axis, the last.
    ///
    /// # Errors
    /// As [`Shape::try_new`].
    pub fn with_last(&self, size: usize) -> Result<Shape> {
        Shape::try_new(self.0.iter().copied().chain([size]).collect())
    }

    /// The shape with one more axis, the first.
    ///
    /// # Errors
    /// As [`Shape::try_new`].
    pub fn with_first(&self, size: usize) -> Result<Shape> {
        Shape::try_new([size].into_iter().chain(self.0.iter().copied()).collect())
    }

    /// The shape of a strip: so many elements along an axis, but no more than there are.
    pub fn strip(&self, axis: Axis, size: usize) -> Shape {
        let mut sizes = self.0.clone();
        sizes[axis.0] = size.min(sizes[axis.0]);
        Shape(sizes)
    }

    /// A shape of these sizes.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the product of the non-zero sizes exceeds [`MAX_SIZE`] elements.
    pub fn try_new(sizes: Vec<usize>) -> Result<Shape> {
        let fits = sizes
            .iter()
            .filter(|&&d| d > 0)
            .try_fold(1u64, |n, &d| n.checked_mul(d as u64).filter(|&n| n <= MAX_SIZE));
        match fits {
            Some(_) => Ok(Shape(sizes)),
            None => Err(Error::TooLarge { shape: Shape(sizes).to_string() }),
        }
    }

    /// The shape of a scalar.
    pub fn scalar() -> Shape {
        Shape(Vec::new())
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// Number of elements; 1 for a scalar.
    #[inline]
    pub fn size(&self) -> usize {
        self.0.iter().product()
    }

    /// Strides of the dense column-major layout, in elements.
    pub fn strides(&self) -> Vec<usize> {
        let mut stride = 1;
        let next = |&d: &usize| {
            let own = stride;
            stride *= d.max(1);
            own
        };
        self.0.iter().map(next).collect()
    }

    /// The axes that are not in `axes`, in order.
    pub fn without(&self, axes: &[Axis]) -> Shape {
        Shape(self.0.iter().enumerate().filter(|(i, _)| !axes.contains(&Axis(*i))).map(|(_, &d)| d).collect())
    }

    /// How many of the first axes of `other` a 0-d or 1-d operand of this shape fills, so that it is repeated
    /// along the rest in column-major order, as R recycles vectors; one element may fill none. `None` if it fills no
    /// whole number of them.
    pub fn repeated_down(&self, other: &Shape) -> Option<usize> {
        match self.0[..] {
            [] => Some(0),
            [length] => {
                let mut filled = 1;
                let fits = |&size: &usize| {
                    filled *= size;
                    filled == length
                };
                let filled = other.0.iter().position(fits).map(|axis| axis + 1);
                filled.or((length == 1).then_some(0))
            }
            _ => None,
        }
    }

    /// The shape that both broadcast to by the right-aligned rule of NumPy: sizes are equal, or one of them
    /// is 1.
    ///
    /// # Errors
    /// [`Error::Broadcast`] for the first axis that disagrees.
    pub fn broadcast(&self, other: &Shape) -> Result<Shape> {
        let rank = self.rank().max(other.rank());
        let at = |s: &Shape, i: usize| if i + s.rank() < rank { 1 } else { s.0[i + s.rank() - rank] };
        let sizes = (0..rank).map(|i| match (at(self, i), at(other, i)) {
            (l, r) if l == r || r == 1 => Ok(l),
            (1, r) => Ok(r),
            (l, r) => Err(Error::Broadcast { from: self.clone(), to: other.clone(), axis: Axis(i), l, r }),
        });
        Shape::try_new(sizes.collect::<Result<_>>()?)
    }
}

impl Deref for Shape {
    type Target = [usize];
    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    /// For literals in code and tests. Panics if the product overflows the limit.
    fn from(sizes: [usize; N]) -> Shape {
        Shape::try_new(sizes.to_vec()).expect("a literal shape is addressable")
    }
}

impl fmt::Display for Shape {
    /// `(2,3)`; `()` for a scalar.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({})", join(&self.0, ","))
    }
}

/// An axis number: 0-based inside, 1-based in every text. Conversions between both are here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Axis(pub usize);

impl Axis {
    /// The axis after this one: this one, behind a new first one.
    pub fn next(self) -> Axis {
        Axis(self.0 + 1)
    }

    /// The axis with this 1-based number; a negative one counts from the end.
    ///
    /// # Errors
    /// [`Error::AxisOutOfRange`] unless `1 <= |number| <= shape.rank()`.
    pub fn from_one_based(op: &str, number: i64, shape: &Shape) -> Result<Axis> {
        Axis::of_rank(number, shape.rank()).ok_or_else(|| Error::AxisOutOfRange {
            op: op.to_string(),
            got: number,
            shape: shape.clone(),
        })
    }

    /// The axis with this 1-based number among `rank` axes; a negative one counts from the end. `None` if
    /// there is no such axis.
    pub fn of_rank(number: i64, rank: usize) -> Option<Axis> {
        let rank = rank as i64;
        let from_zero = if number < 0 { rank.checked_add(number)? } else { number - 1 };
        (0..rank).contains(&from_zero).then_some(Axis(from_zero as usize))
    }

    /// The 1-based number.
    pub fn one_based(self) -> usize {
        self.0 + 1
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.one_based())
    }
}

/// Joins numbers for a text, such as `2, 3`.
pub fn join<T: fmt::Display>(xs: &[T], sep: &str) -> String {
    xs.iter().map(T::to_string).collect::<Vec<_>>().join(sep)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_are_column_major() {
        assert_eq!(Shape::from([2, 3, 4]).strides(), [1, 2, 6]);
        assert_eq!(Shape::scalar().strides(), [0usize; 0]);
        assert_eq!(Shape::scalar().size(), 1);
        assert_eq!(Shape::from([3, 0]).size(), 0);
    }

    #[test]
    fn broadcast_aligns_right() {
        let b = |l: Shape, r: Shape| l.broadcast(&r);
        assert_eq!(b([3].into(), [2, 3].into()).unwrap(), [2, 3].into());
        assert_eq!(b([2, 1].into(), [1, 4].into()).unwrap(), [2, 4].into());
        assert_eq!(b([0].into(), [1].into()).unwrap(), [0].into());
        assert!(b([2].into(), [3].into()).is_err());
        assert!(b([0].into(), [3].into()).is_err());
    }

    #[test]
    fn vectors_are_repeated_down_whole_axes() {
        let filled = |length: usize, to: &[usize]| {
            Shape::from([length]).repeated_down(&Shape::try_new(to.to_vec()).unwrap())
        };
        assert_eq!([2, 6, 24].map(|n| filled(n, &[2, 3, 4])), [Some(1), Some(2), Some(3)]);
        assert_eq!([0, 3, 4, 12, 48].map(|n| filled(n, &[2, 3, 4])), [None; 5]);
        // One element goes with any shape.
        assert_eq!([filled(1, &[2, 3, 4]), filled(1, &[0])], [Some(0), Some(0)]);
        // Of several ways the shortest: the elements are the same.
        assert_eq!([filled(3, &[3, 1]), filled(3, &[1, 3]), filled(1, &[1, 3])], [Some(1), Some(2), Some(1)]);
        assert_eq!([filled(0, &[3, 0]), filled(3, &[3, 0]), filled(0, &[0, 3])], [Some(2), Some(1), Some(1)]);
        assert_eq!(Shape::scalar().repeated_down(&[2, 3].into()), Some(0));
        assert_eq!(Shape::from([2, 1]).repeated_down(&[2, 3].into()), None);
    }

    #[test]
    fn size_overflow_is_an_error_even_next_to_a_zero() {
        assert!(Shape::try_new(vec![1 << 40, 1 << 40]).is_err());
        assert!(Shape::try_new(vec![0, 1 << 40, 1 << 40]).is_err());
        assert!(Shape::try_new(vec![1 << 52]).is_ok());
    }

    #[test]
    fn axis_prints_from_one() {
        assert_eq!(Axis(0).to_string(), "1");
        assert!(Axis::from_one_based("nv_x", 0, &[2].into()).is_err());
        assert_eq!(Axis::from_one_based("nv_x", -1, &[2, 3].into()).unwrap(), Axis(1));
        assert!(Axis::from_one_based("nv_x", -3, &[2, 3].into()).is_err());
        assert!([i64::MIN, i64::MAX].iter().all(|&n| Axis::of_rank(n, 2).is_none()));
        assert_eq!(Axis::from_one_based("nv_x", 1, &[2].into()).unwrap(), Axis(0));
    }
}
