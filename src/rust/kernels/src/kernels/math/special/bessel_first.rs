//! Modified Bessel functions of the first kind of the orders 0 and 1, by Chebyshev series.
//!
//! Up to 8 they are series of `e^-x I(x)`, for order 1 divided by `x`, in `x / 4 - 1`; beyond, of
//! `sqrt(x) e^-x I(x)` in `16 / x - 1`: the variables of C. W. Clenshaw, "Chebyshev series for mathematical functions",
//! National Physical Laboratory Mathematical Tables 5 (1962). The coefficients are of interpolation in 64 Chebyshev
//! points, computed with 40 digits.

use super::densities::TOGETHER;
use super::parts::Product;
use crate::kernels::math::lanes::{Singles, Wide};
use crate::kernels::math::vectors::{vectored, Vectored};

/// The sum of a Chebyshev series, by the recurrence of Clenshaw.
#[inline]
pub(super) fn series<const N: usize>(t: f64, coefficients: &[f64; N]) -> f64 {
    let (twice, mut a, mut b) = (2.0 * t, 0.0, 0.0);
    for &c in coefficients[1..].iter().rev() {
        (a, b) = (twice * a - b + c, a);
    }
    t * a - b + coefficients[0]
}

/// `e^-x I(x)` of order 1 if it is `first`, else 0; `x` is not negative.
pub fn scaled(first: bool, x: f64) -> f64 {
    if x <= 8.0 {
        let t = 0.25 * x - 1.0;
        return if first { x * series(t, &I1_NEAR) } else { series(t, &I0_NEAR) };
    }
    let t = 16.0 / x - 1.0;
    (if first { series(t, &I1_FAR) } else { series(t, &I0_FAR) }) / x.sqrt()
}

/// A series at some points, in lanes.
struct Series<'s, const N: usize> {
    t: &'s [f64; TOGETHER],
    count: usize,
    coefficients: &'s [f64; N],
    out: &'s mut [f64; TOGETHER],
}

impl<const N: usize> Vectored for Series<'_, N> {
    type Made = ();

    #[inline(always)]
    fn run<S: Singles<Scalar = f32>, V: Wide>(self) {
        for at in (0..self.count).step_by(V::LANES) {
            let t = V::load(&self.t[at..]);
            let (twice, mut a, mut b) = (V::of(2.0) * t, V::of(0.0), V::of(0.0));
            // As `series`.
            for &c in self.coefficients[1..].iter().rev() {
                (a, b) = (twice * a - b + V::of(c), a);
            }
            (t * a - b + V::of(self.coefficients[0])).store(&mut self.out[at..]);
        }
    }
}

/// [`scaled`] of as many points as there are places, each of the same order and on the same side of 8.
pub(super) fn scaled_at(
    first: bool,
    is_far: bool,
    x: &[f64; TOGETHER],
    count: usize,
    out: &mut [f64; TOGETHER],
) {
    let mut t = [0.0; TOGETHER];
    t.iter_mut().zip(x).for_each(|(t, x)| *t = if is_far { 16.0 / x - 1.0 } else { 0.25 * x - 1.0 });
    let t = &t;
    match (first, is_far) {
        (false, false) => vectored(Series { t, count, coefficients: &I0_NEAR, out }),
        (false, true) => vectored(Series { t, count, coefficients: &I0_FAR, out }),
        (true, false) => vectored(Series { t, count, coefficients: &I1_NEAR, out }),
        (true, true) => vectored(Series { t, count, coefficients: &I1_FAR, out }),
    }
    for (out, x) in out[..count].iter_mut().zip(x) {
        if is_far {
            *out /= x.sqrt();
        } else if first {
            *out *= x;
        }
    }
}

/// What was divided by `e^x`.
#[inline]
pub(super) fn grown(factor: f64, x: f64) -> f64 {
    Product { log: x.into(), factor }.value()
}

const I0_NEAR: [f64; 30] = [
    0.33839763720473803,
    -0.3046826723431984,
    0.17162090152220877,
    -0.09490109704804764,
    0.04930528423967071,
    -0.02373741480589947,
    0.010546460394594998,
    -0.004324309995050576,
    0.0016394756169413357,
    -0.0005763755745385824,
    0.00018850288509584165,
    -5.754195010082104e-05,
    1.6448448070728896e-05,
    -4.4167383584587505e-06,
    1.1173875391201037e-06,
    -2.670793853940612e-07,
    6.046995022541919e-08,
    -1.300025009986248e-08,
    2.6598237246823866e-09,
    -5.189795601635263e-10,
    9.675809035373237e-11,
    -1.726826291441556e-11,
    2.95505266312964e-12,
    -4.856446783111929e-13,
    7.676185498604936e-14,
    -1.1685332877993451e-14,
    1.715391285555133e-15,
    -2.431279846547955e-16,
    3.3307945188222384e-17,
    -4.4153416464793395e-18,
];
const I1_NEAR: [f64; 29] = [
    0.12629359322181682,
    -0.17641651835783406,
    0.1026436586898471,
    -0.05294598120809499,
    0.024726449030626516,
    -0.010564084894626197,
    0.004156422944312888,
    -0.0015135724506312532,
    0.0005122859561685758,
    -0.00016176081582589674,
    4.781565107550054e-05,
    -1.3273163656039436e-05,
    3.4702513081376785e-06,
    -8.568720264695455e-07,
    2.0032947535521353e-07,
    -4.445059128796328e-08,
    9.381537386495773e-09,
    -1.8872497517228294e-09,
    3.625590281552117e-10,
    -6.663489723502027e-11,
    1.1736186298890901e-11,
    -1.9839743977649436e-12,
    3.223793365945575e-13,
    -5.042185504727912e-14,
    7.600684294735408e-15,
    -1.1055969477353862e-15,
    1.5536319577362005e-16,
    -2.111421214358166e-17,
    2.7779141127610464e-18,
];
const I0_FAR: [f64; 25] = [
    0.4022452055070544,
    0.0033691164782556943,
    6.889758346916825e-05,
    2.8913705208347567e-06,
    2.0489185894690638e-07,
    2.266668990498178e-08,
    3.3962320257083865e-09,
    4.94060238822497e-10,
    1.1889147107846439e-11,
    -3.1499165279632416e-11,
    -1.3215811840447713e-11,
    -1.7941785315068062e-12,
    7.180124451383666e-13,
    3.8527783827421426e-13,
    1.54008621752141e-14,
    -4.150569347287222e-14,
    -9.554846698828307e-15,
    3.8116806693526224e-15,
    1.7725601330565263e-15,
    -3.425485619677219e-16,
    -2.8276239805165836e-16,
    3.461222867697461e-17,
    4.46562142029676e-17,
    -4.830504485944182e-18,
    -7.233180487874754e-18,
];
const I1_FAR: [f64; 25] = [
    0.38928811750914005,
    -0.009761097491361469,
    -0.00011058893876262371,
    -3.882564808877691e-06,
    -2.512236237870209e-07,
    -2.6314688468895196e-08,
    -3.835380385964237e-09,
    -5.589743462196584e-10,
    -1.8974958123505413e-11,
    3.2526035830154884e-11,
    1.4125807436613782e-11,
    2.0356285441470896e-12,
    -7.198551776245908e-13,
    -4.0835511110921974e-13,
    -2.1015418427726643e-14,
    4.272440016711951e-14,
    1.0420276984128802e-14,
    -3.8144030724370075e-15,
    -1.8803547755107825e-15,
    3.3082023109209285e-16,
    2.96262899764595e-16,
    -3.209525921993424e-17,
    -4.6503053684893586e-17,
    4.414348323071708e-18,
    7.517296310842105e-18,
];
