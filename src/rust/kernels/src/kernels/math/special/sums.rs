//! Sums of many terms at two or three cycles a term: the bits are those of plain operations, on every processor.

use super::memo::Memo;

/// The part of a sum that is left out.
const LEFT_OUT: f64 = 1e-18;

/// The sum of `count` terms, of which the first is 1 and term `k` is `ratio(k)` times the one before, and term
/// `count`, which is not in the sum; 0 once terms are below 1e-18 of the sum. Ratios fall, or their sizes are below
/// 0.7.
///
/// By fours: the ratios of a step do not wait for the terms before it.
#[inline(always)]
pub(super) fn by_ratios(count: f64, ratio: impl Fn(f64) -> f64) -> (f64, f64) {
    let (mut sum, mut term, mut k) = (0.0, 1.0, 0.0);
    while k + 4.0 <= count {
        let [first, second, third, fourth] = [1.0, 2.0, 3.0, 4.0].map(|j| ratio(k + j));
        let two = first * second;
        sum += term * (1.0 + (first + (two + two * third)));
        term *= two * (third * fourth);
        k += 4.0;
        // NaN ends it too.
        if term.abs() < LEFT_OUT * sum || term.is_nan() {
            return (sum, 0.0);
        }
    }
    while k < count {
        sum += term;
        k += 1.0;
        term *= ratio(k);
    }
    (sum, term)
}

/// A polynomial, constant first, in four chains.
#[inline(always)]
pub(super) fn polynomial<const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
    let (square, mut sums) = (x * x, [0.0; 4]);
    let fourth = square * square;
    for (i, c) in coefficients.iter().enumerate().rev() {
        sums[i % 4] = sums[i % 4] * fourth + c;
    }
    (sums[0] + sums[1] * x) + square * (sums[2] + sums[3] * x)
}

/// A polynomial in two variables at one value of the second, whose powers rows are for: one in the first, of as
/// many coefficients as the first row has. Kept: the second variable is often a parameter.
pub(super) fn at<const N: usize>(rows: &[&[f64]], y: f64, kept: &Memo<[f64; N]>) -> [f64; N] {
    kept.get(y, 0.0, |y, _| {
        let mut sum = [0.0; N];
        for row in rows.iter().rev() {
            for (sum, c) in sum.iter_mut().zip(row.iter()) {
                *sum = *sum * y + c;
            }
        }
        sum
    })
}
