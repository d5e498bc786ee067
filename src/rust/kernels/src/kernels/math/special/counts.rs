//! Functions of counts from tables: parameters of densities are counts in many models, another one for each element.

use super::double::Double;
use crate::kernels::math::gamma::positive_lgamma;
use crate::kernels::math::lanes::{Doubles, Lanes, MOST_LANES};
use crate::kernels::math::portable::F64x2;
use std::array::from_fn;
use std::sync::OnceLock;

/// The largest count in a table.
pub(super) const LARGEST: usize = 256;

/// A value for each count from 0 on.
type Table<T> = [T; LARGEST + 1];

/// Whether numbers are counts in the tables, from 1 on, and numbers whose low bits these are.
#[inline(always)]
pub(super) fn of_lanes<V: Doubles>(x: V) -> (V::Mask, V) {
    let (whole, bits) = x.whole();
    (whole.same(x) & V::of(1.0).le(x) & x.le(V::of(LARGEST as f64)), bits)
}

/// The logarithms of the gamma functions of numbers that are all counts, with the bits of [`positive_lgamma`].
#[inline(always)]
pub(super) fn lgamma<V: Doubles>(bits: V) -> V {
    static VALUES: OnceLock<Table<f64>> = OnceLock::new();
    let values = VALUES.get_or_init(|| {
        from_fn(|k| {
            let mut value = [0.0; MOST_LANES];
            positive_lgamma::<F64x2, false>(F64x2::of(k as f64)).store(&mut value);
            value[0]
        })
    });
    let (mut at, mut made) = ([0.0; MOST_LANES], [0.0; MOST_LANES]);
    bits.store(&mut at);
    for (made, at) in made.iter_mut().zip(at).take(V::LANES) {
        *made = values[(at.to_bits() as usize & (2 * LARGEST - 1)).min(LARGEST)];
    }
    V::load(&made)
}

/// The value of a function at a count, from a table that is made with the first; `None` of other numbers.
#[inline]
pub(super) fn at(
    table: &'static OnceLock<Table<Double>>,
    x: f64,
    make: impl Fn(f64) -> Double,
) -> Option<Double> {
    let k = x as usize;
    let is_count = (1..=LARGEST).contains(&k) && k as f64 == x;
    is_count.then(|| table.get_or_init(|| from_fn(|k| make(k as f64)))[k])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_of_gamma_functions_are_those_of_lanes() {
        for k in (1..LARGEST).step_by(2) {
            let x = F64x2::load(&[k as f64, (k + 1) as f64]);
            let (is_count, bits) = of_lanes(x);
            assert!(!F64x2::any(!is_count));
            assert!(!F64x2::any(!lgamma(bits).same(positive_lgamma::<F64x2, false>(x))), "{k}");
        }
        for x in [0.0, -1.0, 0.5, 1.5, 256.5, 257.0, 1e300, f64::INFINITY, f64::NAN] {
            assert!(!F64x2::any(of_lanes(F64x2::of(x)).0), "{x}");
        }
    }

    #[test]
    fn others_than_counts_are_in_no_table() {
        static TABLE: OnceLock<Table<Double>> = OnceLock::new();
        let value = |x: f64| at(&TABLE, x, |x| Double(2.0 * x, 0.0)).map(|value| value.0);
        for k in 1..=LARGEST {
            assert_eq!(value(k as f64), Some(2.0 * k as f64));
        }
        for x in [0.0, -1.0, 0.5, 255.9, 257.0, 1e300, f64::INFINITY, f64::NAN] {
            assert_eq!(value(x), None, "{x}");
        }
    }
}
