//! Inner products of lines, in lanes that fill vectors.

use crate::dtype::Float;
use crate::kernels::wide::{wide_loop, Loop};

/// The inner products of each line of `x` with each of `y`, all of one length. A sum has `L` lanes: element
/// `i` belongs to lane `i % L`, and the later half of the lanes is added to the earlier until one is left.
pub(super) fn products<F: Float, const L: usize, const R: usize, const C: usize>(
    x: [&[F]; R],
    y: [&[F]; C],
) -> [[F; C]; R] {
    let n = x[0].len();
    wide_loop(Products::<F, L, R, C> { x: x.map(|x| &x[..n]), y: y.map(|y| &y[..n]) })
}

/// Lines of equal length.
struct Products<'a, F, const L: usize, const R: usize, const C: usize> {
    x: [&'a [F]; R],
    y: [&'a [F]; C],
}

impl<F: Float, const L: usize, const R: usize, const C: usize> Loop for Products<'_, F, L, R, C> {
    type Made = [[F; C]; R];

    #[inline(always)]
    fn run(self) -> [[F; C]; R] {
        let (x, y, n) = (self.x, self.y, self.x[0].len());
        let mut acc = [[[F::of(0.0); L]; C]; R];
        let whole = n / L * L;
        for at in (0..whole).step_by(L) {
            // Of constant length, so that the lanes stay in registers.
            let y: [[F; L]; C] = std::array::from_fn(|j| vector(&y[j][at..at + L]));
            for (acc, x) in acc.iter_mut().zip(&x) {
                let x: [F; L] = vector(&x[at..at + L]);
                for (acc, y) in acc.iter_mut().zip(&y) {
                    *acc = std::array::from_fn(|l| acc[l] + x[l] * y[l]);
                }
            }
        }
        std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                let mut acc = acc[i][j];
                for at in whole..n {
                    acc[at - whole] = acc[at - whole] + x[i][at] * y[j][at];
                }
                let mut half = L / 2;
                while half > 0 {
                    for l in 0..half {
                        acc[l] = acc[l] + acc[l + half];
                    }
                    half /= 2;
                }
                acc[0]
            })
        })
    }
}

/// As many elements as the slice has.
#[inline(always)]
pub(super) fn vector<F: Float, const L: usize>(x: &[F]) -> [F; L] {
    std::array::from_fn(|l| x[l])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_of_the_description() {
        // 2^24 + 1 is no float: 1 survives where it is not added to 2^24 first.
        let big = 16_777_216f32;
        let x = [big, 1.0, 1.0, -1.0, -big, 1.0, 0.0];
        // In 4 lanes: 0, 2, 1, -1; then 1, 1; then 2.
        assert_eq!(products::<f32, 4, 1, 2>([&x], [&[1.0; 7], &[0.5; 7]]), [[2.0, 1.0]]);
        // One after the other: 1 and 1 are lost, -1 is not.
        assert_eq!(products::<f32, 1, 2, 1>([&x, &x[..]], [&[1.0; 7]]), [[0.0], [0.0]]);
    }
}
