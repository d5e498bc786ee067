//! Cumulative logarithms of sums of exponentials.
//!
//! A sum is kept by an element that was its largest when it was met, the reference `m`, and the sum `rest` of
//! `exp(x - m)` over all others, so that the logarithm is `m + log1p(rest)`: nothing overflows, and nothing is
//! lost next to 1. An element that is larger by more than 1 becomes the reference. Between these the
//! exponentials and logarithms are those of whole slices.

use super::way::Way;
use crate::dtype::Element;
use crate::kernels::math::{single, Computed, EXP, LOG1P};
use crate::kernels::tile::TILE;

/// Elements so far.
#[derive(Clone, Copy)]
pub(super) struct Exponentials {
    /// The reference: -Inf if all are, Inf if one is, NaN if one is.
    m: f64,
    /// The sum of the exponentials of all others less the reference.
    rest: f64,
}

/// The cumulation.
pub(super) struct LogSumExp;

/// How much larger than the reference an element may be.
const MARGIN: f64 = 1.0;

impl Exponentials {
    /// Takes elements up to the first that is to become the reference, and gives the results for these in
    /// place. Returns their number.
    fn several(&mut self, x: &mut [f64], terms: &mut [f64; TILE]) -> usize {
        let Exponentials { m, .. } = *self;
        let fits = |x: &f64| *x <= m + MARGIN;
        let n = if m.is_finite() { x.iter().position(|x| !fits(x)).unwrap_or(x.len()) } else { 0 };
        let (x, terms) = (&mut x[..n], &mut terms[..n]);
        x.iter_mut().for_each(|x| *x -= m);
        f64::map(&EXP, x, terms);
        for term in &mut *terms {
            self.rest += *term;
            *term = self.rest;
        }
        f64::map(&LOG1P, terms, x);
        x.iter_mut().for_each(|x| *x += m);
        n
    }

    /// Takes an element that is the reference from here on, or is infinite or NaN.
    fn one(&mut self, x: f64) -> f64 {
        if self.m.is_nan() || x.is_nan() {
            self.m = f64::NAN;
            return self.m;
        }
        // Nothing is added to infinity, and nothing by exp(-Inf).
        if self.m == f64::INFINITY || x == f64::NEG_INFINITY {
            return self.m;
        }
        self.rest = if self.m.is_finite() { (1.0 + self.rest) * single(&EXP, self.m - x) } else { 0.0 };
        self.m = x;
        // -0 stays what it is.
        if self.rest == 0.0 {
            x
        } else {
            x + single(&LOG1P, self.rest)
        }
    }
}

impl<T: Element> Way<T> for LogSumExp {
    type State = Exponentials;
    type Total = f64;

    fn start() -> Exponentials {
        Exponentials { m: f64::NEG_INFINITY, rest: 0.0 }
    }

    #[inline(never)]
    fn tile(state: &mut Exponentials, x: Option<&[T]>, out: &mut [T]) {
        let (mut wide, mut terms) = ([0.0; TILE], [0.0; TILE]);
        let wide = &mut wide[..out.len()];
        wide.iter_mut().zip(x.unwrap_or(out)).for_each(|(wide, x)| *wide = x.convert());
        let mut done = 0;
        while done < wide.len() {
            done += state.several(&mut wide[done..], &mut terms);
            if let Some(x) = wide.get_mut(done) {
                *x = state.one(*x);
                done += 1;
            }
        }
        out.iter_mut().zip(wide).for_each(|(x, wide)| *x = wide.convert());
    }
}
