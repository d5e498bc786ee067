//! The beta function and binomial coefficients: DLMF 5.12.1, 1.2.6.

use super::double::{two_sum, Double};
use super::incomplete_beta::complete;
use super::memo::Memo;
use super::parts::Product;
use crate::kernels::math::{single, SINPI};

/// `gamma(a) gamma(b) / gamma(a + b)`; NaN if either is negative, Inf if either is 0.
fn product(a: f64, b: f64) -> Result<Product, f64> {
    if !(a >= 0.0 && b >= 0.0) || (a.min(b) == 0.0 && a.max(b) == f64::INFINITY) {
        return Err(f64::NAN);
    }
    if a == 0.0 || b == 0.0 {
        return Err(f64::INFINITY);
    }
    if a == f64::INFINITY || b == f64::INFINITY {
        return Err(0.0);
    }
    Ok(complete(a, b))
}

/// The beta function of numbers that are not negative.
#[inline]
pub fn beta(a: f64, b: f64) -> f64 {
    product(a, b).map_or_else(|end| end, Product::value)
}

/// Its logarithm.
#[inline]
pub fn lbeta(a: f64, b: f64) -> f64 {
    product(a, b).map_or_else(libm::log, |p| p.log.value())
}

/// A binomial coefficient: its size as a product or a number, and its sign.
enum Coefficient {
    Product(Product, f64),
    Number(f64),
}

/// The factorials of whole numbers below [`FEW`], which two doubles hold exactly.
const FACTORIALS: [[f64; 2]; FEW as usize] = {
    let (mut all, mut i, mut value) = ([[1.0, 0.0]; FEW as usize], 1, 1_u128);
    while i < all.len() {
        value *= i as u128;
        let high = value as f64;
        all[i] = [high, (value as i128 - high as i128) as f64];
        i += 1;
    }
    all
};

/// Below this size of `n` products of [`FEW`] factors do not overflow.
const MODEST: f64 = 1e9;

/// `n (n - 1) ... (n - k + 1) / k!` for a few factors.
fn factors(n: f64, k: f64) -> f64 {
    let (mut product, mut j) = (Double::from(1.0), 1.0);
    if n.abs() < MODEST {
        while j <= k {
            product = product * two_sum(n, 1.0 - j);
            j += 1.0;
        }
        let [high, low] = FACTORIALS[k as usize];
        return (product / two_sum(high, low)).value();
    }
    while j <= k {
        product = product * two_sum(n, 1.0 - j) / j.into();
        j += 1.0;
    }
    product.value()
}

/// The coefficient of whole numbers of which all products on the way are whole doubles; `None` of others.
#[inline]
fn whole(n: f64, k: f64) -> Option<f64> {
    /// Below it doubles are exact.
    const EXACT: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;
    if !(0.0..FEW).contains(&k) || !is_whole(n) || n.abs() >= EXACT {
        return None;
    }
    if (0.0..k).contains(&n) {
        return Some(0.0);
    }
    let (mut value, mut j) = (1.0, 1.0);
    while j <= k {
        let product = value * (n - j + 1.0);
        if product.abs() >= EXACT {
            return None;
        }
        value = product / j;
        j += 1.0;
    }
    Some(value)
}

/// Up to this many factors are multiplied.
const FEW: f64 = 30.0;

#[inline]
fn is_whole(x: f64) -> bool {
    x.trunc() == x
}

fn coefficient(n: f64, k: f64) -> Coefficient {
    let k = k.round_ties_even();
    if n.is_nan() || k.is_nan() || n.is_infinite() || k.is_infinite() {
        return Coefficient::Number(f64::NAN);
    }
    // By symmetry.
    let k = if is_whole(n) && n >= 0.0 && n - k < k { n - k } else { k };
    if k < 0.0 {
        return Coefficient::Number(0.0);
    }
    if k < FEW {
        return Coefficient::Number(factors(n, k));
    }
    let odd = if k % 2.0 == 0.0 { 1.0 } else { -1.0 };
    if n < 0.0 {
        // gamma(k - n) / (gamma(k + 1) gamma(-n))
        let Product { log, factor } = complete(-n, k + 1.0);
        return Coefficient::Product(Product { log: -log, factor: 1.0 / factor / (k - n) }, odd);
    }
    let rest = n - k + 1.0;
    if rest > 0.0 {
        let Product { log, factor } = complete(rest, k + 1.0);
        return Coefficient::Product(Product { log: -log, factor: 1.0 / factor / (n + 1.0) }, 1.0);
    }
    // gamma(n - k + 1) by reflection: DLMF 5.5.3.
    let sine = single(&SINPI, n);
    let size = complete(n + 1.0, k - n).times(sine.abs() * std::f64::consts::FRAC_1_PI);
    Coefficient::Product(size, -odd * sine.signum())
}

/// Binomial coefficient `n` over `k`, as R has it: `n` is any number, `k` is rounded to a whole one, and it is 0
/// for a negative `k`. NaN if either is infinite.
#[inline]
pub fn choose(n: f64, k: f64) -> f64 {
    if let Some(value) = whole(n, k.round_ties_even()) {
        return value;
    }
    thread_local!(static VALUES: Memo<f64> = const { Memo::new() });
    VALUES.with(|values| values.get(n, k, new_choose))
}

fn new_choose(n: f64, k: f64) -> f64 {
    let value = match coefficient(n, k) {
        Coefficient::Number(x) => x,
        Coefficient::Product(p, sign) => sign * p.value(),
    };
    // Of whole numbers it is one.
    if is_whole(n) && value.is_finite() {
        value.round_ties_even()
    } else {
        value
    }
}

/// Logarithm of the absolute value of [`choose`].
#[inline]
pub fn lchoose(n: f64, k: f64) -> f64 {
    thread_local!(static VALUES: Memo<f64> = const { Memo::new() });
    VALUES.with(|values| values.get(n, k, new_lchoose))
}

fn new_lchoose(n: f64, k: f64) -> f64 {
    match coefficient(n, k) {
        Coefficient::Number(x) if x.is_finite() && is_whole(n) => libm::log(x.round_ties_even().abs()),
        Coefficient::Number(x) => libm::log(x.abs()),
        Coefficient::Product(p, _) => {
            let size = p.value();
            if is_whole(n) && size < 1e15 {
                libm::log(size.round_ties_even())
            } else {
                p.log()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_coefficients_are_those_of_doubled_precision() {
        let mut count = 0;
        for n in -60..400 {
            for k in -2..32 {
                let (n, k) = (f64::from(n), f64::from(k));
                if let Some(value) = whole(n, k) {
                    assert_eq!(value.to_bits(), new_choose(n, k).to_bits(), "{n} over {k}");
                    count += 1;
                }
            }
        }
        assert!(count > 5_000, "{count}");
    }
}
