//! Remainders, and quotients that are rounded down. Of quotients below 2^51, 2^22 of singles, the whole number is known but
//! for one: what rounds up to a whole number is just below it, and the rest, which one fused product gives exactly, has
//! the other sign then. Larger quotients, infinities and zero divisors are left to the functions of scalars.

use super::lanes::{Doubles, Lanes, Singles, MOST_LANES};
use super::scalar;

/// The quotient, the whole number below it, and the rest that has the sign of the divisor or is 0.
#[inline(always)]
fn divided<V: Lanes>(x: V, y: V) -> (V, V, V) {
    let quotient = x / y;
    let (near, _) = quotient.whole();
    let below = V::select(quotient.lt(near), near - V::of(1.0), near);
    let rest = below.neg_mul_add(y, x);
    let is_over = rest.xor(V::sign_mask().and(y)).lt(V::of(0.0));
    let below = V::select(is_over, below - V::of(1.0), below);
    (quotient, below, V::select(is_over, rest + y, rest))
}

/// Where the quotient is too large, or no number, or the divisor is infinite.
#[inline(always)]
fn is_rare<V: Lanes>(x: V, y: V) -> V::Mask {
    let most = V::either(2251799813685248.0, 4194304.0);
    !((x / y).abs().lt(most) & y.abs().lt(V::of(f64::INFINITY)))
}

/// What a function of scalars makes of each lane.
macro_rules! one_by_one {
    ($x:ident, $y:ident, $function:path) => {{
        let (mut xs, mut ys) = ([0.0; MOST_LANES], [0.0; MOST_LANES]);
        $x.store(&mut xs);
        $y.store(&mut ys);
        for (x, &y) in xs.iter_mut().zip(&ys).take(V::LANES) {
            *x = $function(*x, y);
        }
        V::load(&xs)
    }};
}

macro_rules! quotients {
    ($($(#[$doc:meta])+ $doubles:ident $singles:ident $scalar:path, |$x:ident, $y:ident| $made:expr;)+) => {$(
        $(#[$doc])+
        #[inline(always)]
        pub(super) fn $doubles<V: Doubles>($x: V, $y: V) -> V {
            if V::any(is_rare($x, $y)) {
                return one_by_one!($x, $y, $scalar);
            }
            $made
        }

        /// As that of doubles.
        #[inline(always)]
        pub(super) fn $singles<V: Singles>($x: V, $y: V) -> V {
            if V::any(is_rare($x, $y)) {
                return one_by_one!($x, $y, $scalar);
            }
            $made
        }
    )+};
}
quotients! {
    /// [`scalar::modulo`].
    modulo modulo_single scalar::modulo, |x, y| divided(x, y).2.copysign(y);
    /// [`scalar::remainder`].
    remainder remainder_single scalar::remainder, |x, y| divided(x.abs(), y.abs()).2.copysign(x);
    /// [`scalar::floor_quotient`].
    floor_quotient floor_quotient_single scalar::floor_quotient, |x, y| {
        let (quotient, below, _) = divided(x, y);
        V::select(below.same(V::of(0.0)), V::of(0.0).copysign(quotient), below)
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Float;
    use crate::kernels::math::{Computed, Kernel2, FLOOR_QUOTIENT, MODULO, REMAINDER};

    /// Numbers of all sizes, whole ones and their multiples, and those that have names.
    fn numbers<F: Float>() -> Vec<F> {
        let mut state = 88172645463325252u64;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut all: Vec<f64> =
            vec![0.0, -0.0, 1.0, -1.0, 0.1, 3.0, 1e-40, 5e-324, 1e30, 2f64.powi(51), 2f64.powi(22)];
        all.extend([f64::INFINITY, f64::NEG_INFINITY, f64::NAN]);
        for _ in 0..400 {
            let (bits, whole) = (next(), (next() % 2000) as f64 - 1000.0);
            let size = 2f64.powi((bits >> 40) as i32 % 120 - 60);
            all.extend([whole, whole * 0.1, whole / 3.0, (bits as i64 as f64) * 2f64.powi(-63) * size]);
        }
        all.into_iter().map(F::of).collect()
    }

    fn check<F: Computed + Float>(kernel: &Kernel2, scalar: fn(F, F) -> F) {
        let all = numbers::<F>();
        for (i, &y) in all.iter().enumerate().step_by(7) {
            let mut made = all.clone();
            F::map2(kernel, &all, &vec![y; all.len()], &mut made);
            let mut turned = all.clone();
            F::map2(kernel, &vec![y; all.len()], &all, &mut turned);
            for (&x, (&one, &other)) in all.iter().zip(made.iter().zip(&turned)) {
                for (got, want, of) in [(one, scalar(x, y), (x, y)), (other, scalar(y, x), (y, x))] {
                    let same = got == want && got.sign_bit() == want.sign_bit() || got != got && want != want;
                    assert!(same, "{kernel:?} of {of:?}, {i}: {got:?}, not {want:?}");
                }
            }
        }
    }

    #[test]
    fn vectors_have_the_bits_of_scalars() {
        check::<f64>(&MODULO, scalar::modulo);
        check::<f32>(&MODULO, scalar::modulo);
        check::<f64>(&REMAINDER, scalar::remainder);
        check::<f32>(&REMAINDER, scalar::remainder);
        check::<f64>(&FLOOR_QUOTIENT, scalar::floor_quotient);
        check::<f32>(&FLOOR_QUOTIENT, scalar::floor_quotient);
    }
}
