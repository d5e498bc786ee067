//! The function of Lambert: DLMF 4.13; Corless et al. 1996.

use super::double::{two_product, Double};
use super::parts::horner;

/// Coefficients of the series at the branch point in the root of `2 (e x + 1)`: Corless et al. (4.22).
pub const BRANCH_POINT: [f64; 34] = [
    -1.0,
    1.0,
    -0.3333333333333333,
    0.1527777777777778,
    -0.07962962962962963,
    0.044502314814814814,
    -0.02598471487360376,
    0.01563563253233392,
    -0.009616892024299432,
    0.006014543252956118,
    -0.0038112980348919993,
    0.0024408779911439826,
    -0.0015769303446867841,
    0.0010262633205076071,
    -0.0006720616311561362,
    0.0004424730618146209,
    -0.00029267722472962746,
    0.00019438727605453933,
    -0.00012957426685274883,
    8.665035805208128e-05,
    -5.811360750441382e-05,
    3.907668486743905e-05,
    -2.63380647472311e-05,
    1.7790345805079586e-05,
    -1.2040352739559977e-05,
    8.163531982496613e-06,
    -5.544203208567359e-06,
    3.7710949611072535e-06,
    -2.5687050390550955e-06,
    1.7520067268263412e-06,
    -1.1964453089157258e-06,
    8.179940565280035e-07,
    -5.598551881378796e-07,
    3.835663851491814e-07,
];

/// `e` as a sum of two.
const E: Double = Double(std::f64::consts::E, 1.4456468917292502e-16);

/// Up to this root the series is used.
const NEAR: f64 = 0.4;

/// The real number `w` with `w e^w = x`: the one of at least -1, or the other one, for `x` from `-1/e` to 0, if
/// `below`. NaN where there is none.
///
/// # Sources
/// Corless et al. 1996 (series at the branch point); Iacono and Boyd 2017 (Newton's method for the logarithm).
pub fn lambert_w(x: f64, below: bool) -> f64 {
    if x.is_nan() || x == 0.0 || x == f64::INFINITY {
        return match (x, below) {
            (x, false) => x,
            (0.0, true) => f64::NEG_INFINITY,
            _ => f64::NAN,
        };
    }
    if below && x > 0.0 {
        return f64::NAN;
    }
    let above = two_product(x, E.0) + (x * E.1).into() + 1.0.into();
    let square = 2.0 * above.value();
    if square < 0.0 {
        // The double next to -1/e is below it by less than its last digit.
        return if square > -1e-15 { -1.0 } else { f64::NAN };
    }
    let root = square.sqrt();
    if root < NEAR {
        return horner(if below { -root } else { root }, &BRANCH_POINT);
    }
    let mut w = if below {
        let log = libm::log(-x);
        if log > -2.0 {
            horner(-root, &BRANCH_POINT[..8])
        } else {
            log - libm::log(-log)
        }
    } else if x < 1.0 {
        if x < 0.0 && root < 0.9 {
            horner(root, &BRANCH_POINT[..10])
        } else if x.abs() < 1e-8 {
            return x - x * x;
        } else {
            x / (1.0 + x)
        }
    } else {
        let log = libm::log1p(x);
        log * (1.0 - libm::log1p(log) / (2.0 + log))
    };
    for _ in 0..20 {
        let step = libm::log(x / w) - w;
        let next = w + w / (1.0 + w) * step;
        let done = (next - w).abs() <= 1e-9 * w.abs();
        w = next;
        if done {
            break;
        }
    }
    w
}
