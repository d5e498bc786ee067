//! Functions of counts from tables: parameters of densities are counts in many models, another one for each element.

use super::double::Double;
use crate::kernels::math::gamma::positive_lgamma;
use crate::kernels::math::lanes::{Doubles, Lanes, MOST_LANES};
use crate::kernels::math::portable::F64x2;
use std::array::from_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

/// The largest count in a table.
pub(super) const LARGEST: usize = 256;

/// A value for each count from 0 on.
pub(super) type Table<T> = [T; LARGEST + 1];

/// Whether numbers are counts in the tables, from 1 on, and numbers whose low bits these are.
#[inline(always)]
pub(super) fn of_lanes<V: Doubles>(x: V) -> (V::Mask, V) {
    let (whole, bits) = x.whole();
    (whole.same(x) & V::of(1.0).le(x) & x.le(V::of(LARGEST as f64)), bits)
}

/// Which count a number with these low bits is, or the largest one.
#[inline(always)]
fn count(bits: f64) -> usize {
    (bits.to_bits() as usize & (2 * LARGEST - 1)).min(LARGEST)
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
        *made = values[count(at)];
    }
    V::load(&made)
}

/// Values of counts from a table, in two parts, by the counts' low bits.
#[inline(always)]
pub(super) fn values<V: Doubles>(table: &Table<Double>, bits: V) -> (V, V) {
    let (mut at, mut high, mut low) = ([0.0; MOST_LANES], [0.0; MOST_LANES], [0.0; MOST_LANES]);
    bits.store(&mut at);
    for lane in 0..V::LANES {
        (high[lane], low[lane]) = (table[count(at[lane])].0, table[count(at[lane])].1);
    }
    (V::load(&high), V::load(&low))
}

/// A value for each pair of counts, made when it is asked for first: of so many pairs a model has few. The bits of both
/// parts are inverted, so that nothing but zeros is to be stored for those that are not made.
pub(super) struct Pairs([[[AtomicU64; 2]; LARGEST + 1]; LARGEST + 1]);

impl Pairs {
    pub const fn new() -> Pairs {
        Pairs([const { [const { [const { AtomicU64::new(0) }; 2] }; LARGEST + 1] }; LARGEST + 1])
    }

    /// The values of pairs of counts in lanes, in two parts, by the counts' low bits.
    #[inline(always)]
    pub fn values<V: Doubles>(&self, bits: [V; 2], make: impl Fn(f64, f64) -> Double) -> (V, V) {
        let [mut first, mut second, mut high, mut low] = [[0.0; MOST_LANES]; 4];
        bits[0].store(&mut first);
        bits[1].store(&mut second);
        for lane in 0..V::LANES {
            let (a, b) = (count(first[lane]), count(second[lane]));
            let kept = &self.0[a][b];
            // Whoever reads a first part reads the second one that was stored before it; all threads make the same.
            let bits = kept[0].load(Ordering::Acquire);
            let value = if bits != 0 {
                Double(f64::from_bits(!bits), f64::from_bits(!kept[1].load(Ordering::Relaxed)))
            } else {
                let value = make(a as f64, b as f64);
                kept[1].store(!value.1.to_bits(), Ordering::Relaxed);
                kept[0].store(!value.0.to_bits(), Ordering::Release);
                value
            };
            (high[lane], low[lane]) = (value.0, value.1);
        }
        (V::load(&high), V::load(&low))
    }
}

/// The value at a count; `None` of other numbers.
#[inline]
pub(super) fn at(table: &Table<Double>, x: f64) -> Option<Double> {
    let k = x as usize;
    ((1..=LARGEST).contains(&k) && k as f64 == x).then(|| table[k])
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
        let table = from_fn(|k| Double(2.0 * k as f64, 0.0));
        let value = |x: f64| at(&table, x).map(|value| value.0);
        for k in 1..=LARGEST {
            assert_eq!(value(k as f64), Some(2.0 * k as f64));
        }
        for x in [0.0, -1.0, 0.5, 255.9, 257.0, 1e300, f64::INFINITY, f64::NAN] {
            assert_eq!(value(x), None, "{x}");
        }
    }
}
