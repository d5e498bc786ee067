//! Numbers of which a function is known beforehand: NaN, zeros, and those beyond which it is constant.
//!
//! Most are what guards of formulas find, and a loop whose state has become one meets it in each step. A
//! kernel computes a whole vector, and once more with care; of one number a few comparisons are enough. The
//! bits are those that the kernel gives.

use super::*;

/// What is known of a function of one number, once it was asked for.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) single: OnceLock<Ends<f32>>,
    pub(super) double: OnceLock<Ends<f64>>,
}

impl Known {
    pub(super) const fn none() -> Known {
        Known { single: OnceLock::new(), double: OnceLock::new() }
    }
}

/// Where a function of one number is constant.
#[derive(Debug)]
pub(super) struct Ends<F> {
    /// It is below the first and above the second number.
    bounds: [F; 2],
    values: [F; 2],
    /// Its values at 0 and at -0.
    zeros: [F; 2],
}

/// The numbers below and above which doubles and singles have the values of -Inf and Inf: where a function
/// has reached a limit, as its kernel sees it, or its domain ends.
fn bounds(kernel: &Kernel1) -> [[f64; 2]; 2] {
    let infinite = f64::INFINITY;
    let table: [(&[&Kernel1], [f64; 2], [f64; 2]); 10] = [
        (&[&EXP], [-746.0, 711.5], [-104.5, 91.0]),
        (&[&EXP2], [-1080.0, 1030.0], [-155.0, 132.0]),
        (&[&EXPM1], [-708.0, 711.5], [-87.0, 91.0]),
        (&[&LOGISTIC], [-746.0, 708.0], [-104.5, 87.0]),
        (&[&SOFTPLUS], [-746.0, infinite], [-104.5, infinite]),
        (&[&SINH, &COSH], [-711.5, 711.5], [-91.0, 91.0]),
        (&[&SQRT, &RSQRT, &LOG, &LOG2, &LOG10], [0.0, infinite], [0.0, infinite]),
        (&[&LOG1P], [-1.0, infinite], [-1.0, infinite]),
        (&[&ACOSH], [1.0, infinite], [1.0, infinite]),
        (&[&ASIN, &ACOS, &ATANH, &ERF_INV], [-1.0, 1.0], [-1.0, 1.0]),
    ];
    let found = table.into_iter().find(|(kernels, ..)| kernels.contains(&kernel));
    found.map_or([[-infinite, infinite]; 2], |(_, doubles, singles)| [doubles, singles])
}

/// For a type of floats, by the number of its bounds and the bits of its fraction.
macro_rules! known {
    ($float:ident $at:literal $fraction:literal $nan_of:ident $power:ident) => {
        impl Ends<$float> {
            /// Those of a function.
            pub(super) fn of(kernel: &Kernel1) -> Ends<$float> {
                // Infinities are beyond all others.
                let bounds = bounds(kernel)[$at].map(|x| (x as $float).clamp(-$float::MAX, $float::MAX));
                let mut made = [0.0; 4];
                $float::map(kernel, &[$float::NEG_INFINITY, $float::INFINITY, 0.0, -0.0], &mut made);
                let [low, high, zero, negative_zero] = made;
                Ends { bounds, values: [low, high], zeros: [zero, negative_zero] }
            }

            /// The value at a number, where it is known.
            #[inline]
            pub(super) fn value(&self, x: $float) -> Option<$float> {
                if x.is_nan() {
                    return $nan_of(x, 0.0);
                }
                let [low, high] = self.bounds;
                let value = match x {
                    x if x < low => self.values[0],
                    x if x > high => self.values[1],
                    0.0 => self.zeros[usize::from(x.is_sign_negative())],
                    _ => return None,
                };
                Some(value)
            }
        }

        /// The one of two numbers that is NaN, as arithmetic gives it: payload and sign are kept. Which of
        /// two that are, depends on the processor.
        pub(super) fn $nan_of(x: $float, y: $float) -> Option<$float> {
            let quiet = |x: $float| x.to_bits() | 1 << ($fraction - 1);
            let found = match (x.is_nan(), y.is_nan()) {
                (false, false) => return None,
                (true, true) if quiet(x) != quiet(y) => return None,
                (true, _) => quiet(x),
                (false, true) => quiet(y),
            };
            Some($float::from_bits(found))
        }

        /// `x^y` where it is a short power, or the operands alone determine it.
        pub(super) fn $power(x: $float, y: $float) -> Option<$float> {
            if x == 1.0 || y == 0.0 {
                return Some(1.0);
            }
            if x.is_nan() || y.is_nan() {
                return $nan_of(x, y);
            }
            // The products of `short_power`.
            let halves = (y + y) as i32;
            let is_whole = halves % 2 == 0;
            let range = if is_whole { -8..=16 } else { -3..=5 };
            let is_short = halves as $float == y + y && range.contains(&halves) && y != 1.0;
            if !is_short || !is_whole && x < 0.0 {
                return power_at_ends(x.into(), y.into()).map(|power| power as $float);
            }
            // No root is that of -0.
            let base = if is_whole { x } else { x + 0.0 };
            let inverse = |x: $float| if y < 0.0 { 1.0 / x } else { x };
            let b = inverse(base);
            let (square, cube) = (b * b, b * b * b);
            let power = match halves.abs() {
                1 => inverse(base.sqrt()),
                2 => b,
                3 => b * b.sqrt(),
                4 => square,
                5 => square * b.sqrt(),
                6 => cube,
                8 => square * square,
                10 => square * square * b,
                12 => cube * cube,
                14 => cube * cube * b,
                _ => (square * square) * (square * square),
            };
            Some(power)
        }
    };
}
/// Of pairs of which nothing is known beforehand.
#[inline]
pub(super) fn unknown(_x: f64, _y: f64) -> Option<f64> {
    None
}

/// As [`unknown`], of singles.
#[inline]
pub(super) fn unknown_single(_x: f32, _y: f32) -> Option<f32> {
    None
}

known! { f64 0 52 nan_of_doubles power }
known! { f32 1 23 nan_of_singles power_single }

/// The power that the operands alone determine, neither of them NaN, as `power_at_edges` has it. By itself,
/// since a compiler may give the root of a negative number in the place of a NaN.
#[inline(never)]
fn power_at_ends(x: f64, y: f64) -> Option<f64> {
    const LARGE: f64 = 4503599627370496.0;
    let is_whole = |y: f64| y.abs() >= LARGE || (y.abs() + LARGE) - LARGE == y.abs();
    if x != 0.0 && x.is_finite() && y.is_finite() {
        return (x < 0.0 && !is_whole(y)).then_some(f64::NAN);
    }
    let size = match x.abs() {
        1.0 => return Some(1.0),
        size if (size < 1.0) == (y < 0.0) => f64::INFINITY,
        _ => 0.0,
    };
    let is_odd = is_whole(y) && !is_whole(0.5 * y);
    Some(if x.is_sign_negative() && is_odd { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bits of numbers of all exponents, around bounds, and of kinds that have names.
    fn numbers(width: u32, fraction: u32) -> Vec<u64> {
        let mut all = vec![];
        for exponent in 0..1u64 << (width - fraction) {
            let high = exponent << fraction;
            let part = exponent.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - fraction);
            all.extend([high, high | 1, high | part, high | ((1 << fraction) - 1)]);
        }
        all
    }

    fn tables() -> impl Iterator<Item = f64> {
        KERNELS.iter().flat_map(|kernel| bounds(kernel)).flatten().filter(|x| x.is_finite())
    }

    macro_rules! check {
        ($float:ident $bits:ident $width:literal $fraction:literal) => {
            let mut all: Vec<$float> =
                numbers($width, $fraction).iter().map(|&x| $float::from_bits(x as $bits)).collect();
            for x in tables().map(|x| x as $float) {
                let beside = [x.to_bits() + 1, x.to_bits().wrapping_sub(1)].map($float::from_bits);
                all.extend(beside.into_iter().chain([x, -x, x + 0.25, x - 0.25]));
            }
            let mut made = vec![0.0; all.len()];
            for &kernel in KERNELS {
                $float::map(kernel, &all, &mut made);
                let mut known = 0;
                for (&x, &want) in all.iter().zip(&made) {
                    let Some(y) = $float::known(kernel, x) else { continue };
                    assert_eq!(y.to_bits(), want.to_bits(), "{kernel:?} of {x:e}: {y:e}, not {want:e}");
                    known += 1;
                }
                assert!(known > 6, "{kernel:?}");
            }
            let halves = (-12..=20).map(|y| 0.5 * y as $float);
            let exponents = halves.chain([-0.0, 0.7, -3.25, 31.0, 1e9 + 0.5, 1e19, -1e19]);
            let special = [$float::INFINITY, -$float::INFINITY, $float::NAN, -$float::NAN];
            for y in exponents.chain(special) {
                for kernel in [&POW, &ATAN2] {
                    for turned in [false, true] {
                        let ys = vec![y; all.len()];
                        let (a, b) = if turned { (&ys, &all) } else { (&all, &ys) };
                        $float::map2(kernel, a, b, &mut made);
                        for ((&a, &b), &want) in a.iter().zip(b).zip(&made) {
                            let Some(z) = $float::known2(kernel, a, b) else { continue };
                            assert_eq!(z.to_bits(), want.to_bits(), "{kernel:?} of {a:e} and {b:e}");
                        }
                    }
                }
            }
        };
    }

    #[test]
    fn what_is_known_is_what_kernels_give() {
        check! { f32 u32 32 23 }
        check! { f64 u64 64 52 }
    }

    #[test]
    fn what_guards_find_again_and_again_is_known() {
        for x in [f64::NAN, f64::INFINITY, -f64::INFINITY, 0.0, -0.0] {
            KERNELS.iter().for_each(|kernel| assert!(f64::known(kernel, x).is_some(), "{kernel:?} of {x}"));
        }
        assert_eq!(f64::known(&EXP, -1000.0), Some(0.0));
        assert!(f64::known(&LOG, -1.0).is_some_and(f64::is_nan));
        assert_eq!(f64::known2(&POW, 3.0, 2.0), Some(9.0));
        assert_eq!(f32::known2(&POW, 0.0, 0.7), Some(0.0));
        assert!(f64::known2(&POW, f64::NAN, f64::NAN).is_some_and(f64::is_nan));
        assert_eq!(f64::known2(&POW, 3.0, 2.25), None);
    }
}
