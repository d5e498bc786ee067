//! The positions of one axis that a subscript of R selects: numbers, a range, a mask.
//!
//! Knows no graph: [`subset`](crate::apply::subset) makes nodes of what is selected here.

use crate::error::{Error, Result};
use crate::ops::attrs::number;
use crate::shape::{Axis, Shape};

/// The elements of a vector of R.
#[derive(Clone, Copy, Debug)]
pub enum Numbers<'a> {
    /// Integers; the smallest is `NA`.
    Integers(&'a [i32]),
    /// Doubles.
    Doubles(&'a [f64]),
}

/// Positions of an axis, which count from 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Selection {
    /// One position; the axis is dropped.
    At(usize),
    /// `size` positions from `start` on, `stride` apart.
    Range {
        /// The first.
        start: usize,
        /// Their number.
        size: usize,
        /// Distance between neighbours; may be negative.
        stride: isize,
    },
    /// These.
    Positions(Vec<i32>),
}

impl Selection {
    /// Number of positions.
    pub fn len(&self) -> usize {
        match self {
            Selection::At(_) => 1,
            Selection::Range { size, .. } => *size,
            Selection::Positions(at) => at.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Position number `i` of them.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn at(&self, i: usize) -> usize {
        assert!(i < self.len(), "a position that is selected");
        match self {
            Selection::At(at) => *at,
            Selection::Range { start, stride, .. } => start.wrapping_add_signed(i as isize * stride),
            Selection::Positions(at) => at[i] as usize,
        }
    }
}

impl Numbers<'_> {
    fn len(self) -> usize {
        match self {
            Numbers::Integers(x) => x.len(),
            Numbers::Doubles(x) => x.len(),
        }
    }

    /// A number; NaN for `NA`.
    fn get(self, i: usize) -> f64 {
        match self {
            Numbers::Integers(x) if x[i] == i32::MIN => f64::NAN,
            Numbers::Integers(x) => x[i].into(),
            Numbers::Doubles(x) => x[i],
        }
    }
}

/// An error about a subscript.
pub(super) fn wrong<T>(axis: Axis, expected: &str, got: impl Into<String>, hint: &str) -> Result<T> {
    Err(Error::Subscript { axis, expected: expected.into(), got: got.into(), hint: hint.into() })
}

/// Checks that positions are i32. Sizes of axes are, as in R; only the number of elements of a whole tensor
/// may be larger.
fn check_size(size: usize) -> Result<()> {
    let fits = i32::try_from(size).is_ok();
    if fits {
        Ok(())
    } else {
        Err(Error::TooLarge { shape: format!("({size})") })
    }
}

/// The positions that numbers select: positive numbers these, negative ones all others, zeros nothing. A single number
/// other than 0 drops its axis unless `keeps`.
///
/// # Errors
/// [`Error::Subscript`] for missing values, fractions and mixed signs; [`Error::IndexOutOfBounds`].
pub fn select(numbers: Numbers, keeps: bool, axis: Axis, size: usize) -> Result<Selection> {
    check_size(size)?;
    let n = numbers.len();
    if n == 0 {
        return Ok(Selection::Range { start: 0, size: 0, stride: 1 });
    }
    let whole = |i: usize| -> Result<i64> {
        let x = numbers.get(i);
        if x.is_nan() {
            return wrong(
                axis,
                "whole numbers",
                "NA",
                "Tensors hold no `NA`: replace missing indices first.",
            );
        }
        if x.abs() > size as f64 {
            return Err(Error::IndexOutOfBounds { index: number(x), axis, size });
        }
        if x.fract() != 0.0 {
            return wrong(
                axis,
                "whole numbers",
                number(x),
                "Round it, such as with `trunc()`, if that is meant.",
            );
        }
        Ok(x as i64)
    };
    if n == 1 && !keeps {
        let x = whole(0)?;
        if x > 0 {
            return Ok(Selection::At(x as usize - 1));
        }
    }
    if let Some(positions) = plain(numbers, size) {
        return Ok(progression(positions));
    }
    // As in R, zeros select nothing: the first other number says whether positions are left out.
    let mut first = 0;
    for i in 0..n {
        first = whole(i)?;
        if first != 0 {
            break;
        }
    }
    let mixed =
        || wrong(axis, "all positive or all negative", "a mixture", "Negative numbers leave positions out.");
    if first < 0 {
        let mut kept = vec![true; size];
        for i in 0..n {
            let x = whole(i)?;
            if x > 0 {
                return mixed();
            }
            if x < 0 {
                kept[(-x - 1) as usize] = false;
            }
        }
        return Ok(progression(positions_of(kept.into_iter())));
    }
    let mut positions = Vec::with_capacity(n);
    for i in 0..n {
        let x = whole(i)?;
        if x < 0 {
            return mixed();
        }
        if x > 0 {
            positions.push((x - 1) as i32);
        }
    }
    Ok(progression(positions))
}

/// The positions of numbers that are all valid positive ones, by a vectorised check.
fn plain(numbers: Numbers, size: usize) -> Option<Vec<i32>> {
    // The size was checked to fit.
    let size = size as i32;
    match numbers {
        Numbers::Integers(x) => {
            let all = x.iter().fold(true, |all, &x| all & (1 <= x) & (x <= size));
            all.then(|| x.iter().map(|&x| x - 1).collect())
        }
        Numbers::Doubles(x) => {
            let whole = |x: f64| f64::from(x as i32) == x;
            let all = x.iter().fold(true, |all, &x| all & (1.0 <= x) & (x <= size.into()) & whole(x));
            all.then(|| x.iter().map(|&x| x as i32 - 1).collect())
        }
    }
}

/// The positions of `first:last`. `None` if one of both is out of bounds; [`select`] makes the error then.
pub fn select_range(first: i64, last: i64, size: usize) -> Option<Selection> {
    let all = 1..=i64::try_from(size).ok().filter(|_| check_size(size).is_ok())?;
    let is_one = all.contains(&first) && all.contains(&last);
    is_one.then(|| Selection::Range {
        start: first as usize - 1,
        size: first.abs_diff(last) as usize + 1,
        stride: if last < first { -1 } else { 1 },
    })
}

/// The positions where a mask is `TRUE` (1; the smallest integer is `NA`), which is recycled as a whole.
///
/// # Errors
/// [`Error::Subscript`] for missing values, or a length of which the size of the axis is no multiple.
pub fn select_mask(mask: &[i32], axis: Axis, size: usize) -> Result<Selection> {
    check_size(size)?;
    if mask.len() > size || !mask.is_empty() && size % mask.len() != 0 {
        let expected = format!("as long as axis {axis}, {size}, if it is logical, or a whole part of it");
        let hint = "Use `which(mask)` to select by number.";
        return wrong(axis, &expected, format!("of length {}", mask.len()), hint);
    }
    if mask.contains(&i32::MIN) {
        return wrong(
            axis,
            "TRUE and FALSE",
            "NA",
            "Tensors hold no `NA`: use `mask & !is.na(mask)`, or `which(mask)`.",
        );
    }
    Ok(progression(positions_of(mask.iter().cycle().take(size).map(|&x| x != 0))))
}

/// The elements that the rows of a matrix of positions select, one for each row, with a column for each axis.
/// Positions of elements are in column-major order.
///
/// # Errors
/// As [`select`].
pub fn select_rows(numbers: &[f64], shape: &Shape) -> Result<Selection> {
    check_size(shape.size())?;
    let rows = numbers.len() / shape.rank();
    let mut positions = vec![0; rows];
    let mut stride = 1;
    for (i, &size) in shape.iter().enumerate() {
        for (position, &x) in positions.iter_mut().zip(&numbers[i * rows..]) {
            let axis = Axis(i);
            if !x.is_nan() && x.fract() == 0.0 && (x < 0.0 || x > size as f64) {
                return Err(Error::IndexOutOfBounds { index: number(x), axis, size });
            }
            let Selection::At(at) = select(Numbers::Doubles(&[x]), false, axis, size)? else {
                return wrong(axis, "positive", number(x), "");
            };
            *position += (at * stride) as i32;
        }
        stride *= size;
    }
    Ok(progression(positions))
}

fn positions_of(kept: impl Iterator<Item = bool>) -> Vec<i32> {
    kept.enumerate().filter(|(_, kept)| *kept).map(|(i, _)| i as i32).collect()
}

/// The positions as a range, if they are evenly spaced.
fn progression(positions: Vec<i32>) -> Selection {
    let size = positions.len();
    let start = positions.first().map_or(0, |&p| p as usize);
    let stride = match positions.as_slice() {
        [a, b, ..] => b - a,
        _ => 1,
    };
    let even = stride != 0 && positions.windows(2).all(|pair| pair[1] - pair[0] == stride);
    if even {
        Selection::Range { start, size, stride: stride as isize }
    } else {
        Selection::Positions(positions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: usize, size: usize, stride: isize) -> Selection {
        Selection::Range { start, size, stride }
    }

    #[test]
    fn numbers_select_what_they_do_in_r() {
        let select = |x: &[f64], keeps| select(Numbers::Doubles(x), keeps, Axis(1), 5);
        assert_eq!(select(&[3.0], false).unwrap(), Selection::At(2));
        assert_eq!(select(&[3.0], true).unwrap(), range(2, 1, 1));
        assert_eq!(select(&[2.0, 3.0, 4.0], false).unwrap(), range(1, 3, 1));
        assert_eq!(select(&[5.0, 3.0, 1.0], false).unwrap(), range(4, 3, -2));
        assert_eq!(select(&[1.0, 1.0], false).unwrap(), Selection::Positions(vec![0, 0]));
        assert_eq!(select(&[4.0, 1.0, 2.0], false).unwrap(), Selection::Positions(vec![3, 0, 1]));
        assert_eq!(select(&[-1.0], false).unwrap(), range(1, 4, 1));
        assert_eq!(select(&[-2.0, -4.0, -2.0], false).unwrap(), range(0, 3, 2));
        assert_eq!(select(&[], false).unwrap(), range(0, 0, 1));
        assert_eq!(select(&[-1.0, -2.0, -3.0, -4.0, -5.0], false).unwrap(), range(0, 0, 1));
        assert_eq!(select(&[0.0], false).unwrap(), range(0, 0, 1));
        assert_eq!(select(&[-0.0, 0.0], false).unwrap(), range(0, 0, 1));
        assert_eq!(select(&[0.0, 3.0], false).unwrap(), range(2, 1, 1));
        assert_eq!(select(&[4.0, 0.0, 1.0], false).unwrap(), range(3, 2, -3));
        assert_eq!(select(&[0.0, -1.0, 0.0], false).unwrap(), range(1, 4, 1));
        for (wrong, what) in [
            (vec![6.0], "Index 6 is out of bounds for axis 2 of size 5"),
            (vec![-6.0], "Index -6 is out of bounds"),
            (vec![1.0, 1e300], "out of bounds"),
            (vec![f64::INFINITY], "out of bounds"),
            (vec![1.5], "whole numbers, not 1.5"),
            (vec![1.0, f64::NAN], "not NA"),
            (vec![1.0, -1.0], "a mixture"),
            (vec![-1.0, 1.0], "a mixture"),
            (vec![0.0, -1.0, 1.0], "a mixture"),
            (vec![0.0, 6.0], "out of bounds"),
        ] {
            let error = select(&wrong, false).unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
            assert_eq!(error.class(), "anvil_error_index");
        }
        let missing = super::select(Numbers::Integers(&[1, i32::MIN]), false, Axis(0), 5);
        assert!(missing.unwrap_err().to_string().contains("NA"));
    }

    #[test]
    fn many_numbers_select_what_each_does() {
        let size = 100;
        for numbers in [
            (1..=100).collect::<Vec<i32>>(),
            vec![7; 50],
            (1..=50).rev().map(|i| 2 * i).collect(),
            vec![3, 99, 1],
        ] {
            let doubles: Vec<f64> = numbers.iter().map(|&x| x.into()).collect();
            let want = progression(numbers.iter().map(|x| x - 1).collect());
            assert_eq!(select(Numbers::Integers(&numbers), false, Axis(0), size).unwrap(), want);
            assert_eq!(select(Numbers::Doubles(&doubles), false, Axis(0), size).unwrap(), want);
        }
        for wrong in [f64::NAN, 101.0, 2.5, -1.0, 1e10, f64::INFINITY] {
            let mut numbers = vec![5.0; 60];
            numbers[40] = wrong;
            assert!(select(Numbers::Doubles(&numbers), false, Axis(0), size).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_range_selects_what_its_numbers_do() {
        for (first, last) in
            [(1, 5), (5, 1), (2, 3), (4, 4), (0, 3), (-1, 2), (3, 6), (-3, -1), (i64::from(i32::MIN), 1)]
        {
            let stride = if last < first { -1 } else { 1 };
            let numbers: Vec<f64> =
                (0..=first.abs_diff(last).min(10)).map(|i| (first + stride * i as i64) as f64).collect();
            let one_by_one = select(Numbers::Doubles(&numbers), true, Axis(0), 5);
            match select_range(first, last, 5) {
                Some(selection) => {
                    assert_eq!(one_by_one.unwrap(), if first == last { range(3, 1, 1) } else { selection })
                }
                None => assert!(first <= 0 || one_by_one.is_err()),
            }
        }
        assert_eq!(select_range(1, 1, usize::MAX), None);
    }

    #[test]
    fn masks_are_recycled_as_a_whole() {
        assert_eq!(select_mask(&[0, 1, 1, 0], Axis(0), 4).unwrap(), range(1, 2, 1));
        assert_eq!(select_mask(&[0, 0], Axis(0), 2).unwrap(), range(0, 0, 1));
        assert_eq!(select_mask(&[0, 1], Axis(0), 6).unwrap(), range(1, 3, 2));
        assert_eq!(select_mask(&[1], Axis(0), 4).unwrap(), range(0, 4, 1));
        for none in
            [select_mask(&[], Axis(0), 4), select_mask(&[0], Axis(0), 4), select_mask(&[], Axis(0), 0)]
        {
            assert_eq!(none.unwrap(), range(0, 0, 1));
        }
        for mask in [&[1, 0, 1][..], &[1; 5], &[1; 8]] {
            let error = select_mask(mask, Axis(0), 4).unwrap_err().to_string();
            assert!(error.contains("as long as axis 1, 4"), "{error}");
        }
        assert!(select_mask(&[1], Axis(0), 0).is_err());
        assert!(select_mask(&[1, i32::MIN], Axis(0), 2).unwrap_err().to_string().contains("NA"));
        assert!(select_mask(&[], Axis(0), 1 << 31).is_err());
    }
}
