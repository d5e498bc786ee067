//! Modified Bessel functions of the first kind of many points at once: of the orders 0 and 1 in lanes. The bits are those of
//! the function of one point.

use super::bessel::bessel_i;
use super::bessel_first::{grown, scaled_at};
use super::densities::TOGETHER;

/// [`bessel_i`] of as many points as there are results: of the orders 0 and 1 in lanes.
fn many(x: &[f64], order: &[f64], is_scaled: bool, out: &mut [f64]) {
    for ((x, order), out) in x.chunks(TOGETHER).zip(order.chunks(TOGETHER)).zip(out.chunks_mut(TOGETHER)) {
        let (mut places, mut counts) = ([[0; TOGETHER]; 4], [0; 4]);
        for (i, (&x, &order)) in x.iter().zip(order).enumerate() {
            if (order == 0.0 || order.abs() == 1.0) && x != 0.0 && x.is_finite() {
                let kind = usize::from(order != 0.0) + 2 * usize::from(x.abs() > 8.0);
                places[kind][counts[kind]] = i;
                counts[kind] += 1;
            } else {
                out[i] = bessel_i(order, x, is_scaled);
            }
        }
        for (kind, (places, count)) in places.iter().zip(counts).enumerate().filter(|(_, (_, n))| *n > 0) {
            let (mut sizes, mut made) = ([1.0; TOGETHER], [0.0; TOGETHER]);
            sizes.iter_mut().zip(&places[..count]).for_each(|(size, &i)| *size = x[i].abs());
            let (first, is_far) = (kind % 2 == 1, kind >= 2);
            scaled_at(first, is_far, &sizes, count, &mut made);
            for ((&i, &size), &factor) in places[..count].iter().zip(&sizes).zip(&made) {
                let value = if is_scaled { factor } else { grown(factor, size) };
                out[i] = if first && x[i] < 0.0 { -value } else { value };
            }
        }
    }
}

/// The modified function of the first kind of as many points as there are results.
pub fn bessels_i(x: &[f64], order: &[f64], out: &mut [f64]) {
    many(x, order, false, out);
}

/// The same, times `e^-|x|`.
pub fn bessels_ie(x: &[f64], order: &[f64], out: &mut [f64]) {
    many(x, order, true, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_have_the_bits_of_one() {
        let orders = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, f64::NAN];
        let ends = [0.0, -0.0, 8.0, -8.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-300, 800.0, 1e10];
        let points: Vec<f64> = (-300..300).map(|i| 0.07 * f64::from(i)).chain(ends).collect();
        let all: Vec<(f64, f64)> = points.iter().flat_map(|&x| orders.map(|order| (x, order))).collect();
        let (x, order): (Vec<f64>, Vec<f64>) = all.into_iter().unzip();
        let mut out = vec![0.0; x.len()];
        for is_scaled in [false, true] {
            many(&x, &order, is_scaled, &mut out);
            for (i, got) in out.iter().enumerate() {
                let want = bessel_i(order[i], x[i], is_scaled);
                assert!(
                    got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                    "{} {}",
                    order[i],
                    x[i]
                );
            }
        }
    }
}
