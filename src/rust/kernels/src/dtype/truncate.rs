//! Floats made integers: towards zero, what is out of range the nearest end of it, NaN 0.
//!
//! Results are those of `as`, which the compiler does not make vectors of: 1.3 to 1.7 ns in place of 0.3 to 0.6.

/// A number that floats convert to: those of other floats are rounded.
pub(super) trait OfFloat: Sized {
    /// That of a single.
    fn of_single(x: f32) -> Self;
    /// That of a double.
    fn of_double(x: f64) -> Self;
}

macro_rules! by_cast {
    ($($type:ty)+) => {$(
        impl OfFloat for $type {
            #[inline(always)]
            fn of_single(x: f32) -> $type {
                x as $type
            }

            #[inline(always)]
            fn of_double(x: f64) -> $type {
                x as $type
            }
        }
    )+};
}
by_cast! { i64 u64 f32 f64 }

/// A number that is no less than the first end of a range and no more than the second, and 0 for NaN.
macro_rules! within {
    ($x:expr, $low:expr, $high:expr) => {{
        let x = if $x >= $low { $x } else { $low };
        let x = if x <= $high { x } else { $high };
        if $x.is_nan() {
            0.0
        } else {
            x
        }
    }};
}

macro_rules! by_i32 {
    ($($type:ty)+) => {$(
        impl OfFloat for $type {
            #[inline(always)]
            fn of_single(x: f32) -> $type {
                let x = within!(x, <$type>::MIN as f32, <$type>::MAX as f32);
                // SAFETY: both ends of the range are integers of 32 bits.
                unsafe { x.to_int_unchecked::<i32>() as $type }
            }

            #[inline(always)]
            fn of_double(x: f64) -> $type {
                let x = within!(x, <$type>::MIN as f64, <$type>::MAX as f64);
                // SAFETY: as in `of_single`.
                unsafe { x.to_int_unchecked::<i32>() as $type }
            }
        }
    )+};
}
by_i32! { i8 u8 i16 u16 }

/// The first number beyond `i32`.
const BEYOND: f32 = -(i32::MIN as f32);

/// The largest single that is in the range of `i32`.
const HIGHEST: f32 = BEYOND - 128.0;

impl OfFloat for i32 {
    #[inline(always)]
    fn of_single(x: f32) -> i32 {
        let within = within!(x, -BEYOND, HIGHEST);
        // SAFETY: both ends of the range are in that of `i32`.
        let y = unsafe { within.to_int_unchecked() };
        if x >= BEYOND {
            i32::MAX
        } else {
            y
        }
    }

    #[inline(always)]
    fn of_double(x: f64) -> i32 {
        let x = within!(x, f64::from(i32::MIN), f64::from(i32::MAX));
        // SAFETY: as in `of_single`.
        unsafe { x.to_int_unchecked() }
    }
}

// What is beyond `i32` is converted without its highest bit, which a subtraction takes away without rounding.
impl OfFloat for u32 {
    #[inline(always)]
    fn of_single(x: f32) -> u32 {
        let within = within!(x, 0.0, 2.0 * HIGHEST);
        let is_high = within >= BEYOND;
        let low = if is_high { within - BEYOND } else { within };
        // SAFETY: `low` is at least 0 and below 2^31.
        let y = unsafe { low.to_int_unchecked::<i32>() } as u32 | u32::from(is_high) << 31;
        if x >= 2.0 * BEYOND {
            u32::MAX
        } else {
            y
        }
    }

    #[inline(always)]
    fn of_double(x: f64) -> u32 {
        let beyond = f64::from(BEYOND);
        let within = within!(x, 0.0, f64::from(u32::MAX));
        let is_high = within >= beyond;
        let low = if is_high { within - beyond } else { within };
        // SAFETY: as in `of_single`.
        (unsafe { low.to_int_unchecked::<i32>() }) as u32 | u32::from(is_high) << 31
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! check {
        ($x:expr, $of:ident, $($type:ty)+) => {
            $(assert_eq!(<$type>::$of($x), $x as $type, "{:?} as {}", $x, stringify!($type));)+
        };
    }

    #[test]
    fn integers_are_those_of_a_cast() {
        // Every exponent and sign with the first bits of the significand, and their neighbours.
        for high in 0..=u16::MAX {
            for low in [0, 1, 0xffff] {
                let x = f32::from_bits(u32::from(high) << 16 | low);
                check!(x, of_single, i8 u8 i16 u16 i32 u32 i64 u64);
            }
            for low in [0, 1, 0xffff_ffff_ffff] {
                let x = f64::from_bits(u64::from(high) << 48 | low);
                check!(x, of_double, i8 u8 i16 u16 i32 u32 i64 u64);
            }
        }
        // The ends of the ranges, and what is beside them.
        for bits in [7u8, 8, 15, 16, 31, 32, 63, 64] {
            for sign in [1.0, -1.0] {
                for steps in -3i8..=3 {
                    let x = sign * f32::from(bits).exp2();
                    check!(f32::from_bits(x.to_bits().wrapping_add(steps as u32)), of_single, i8 u8 i16 u16 i32 u32 i64 u64);
                    let x = f64::from(sign) * f64::from(bits).exp2();
                    check!(x + 0.5 * f64::from(steps), of_double, i8 u8 i16 u16 i32 u32 i64 u64);
                    check!(f64::from_bits(x.to_bits().wrapping_add(steps as u64)), of_double, i8 u8 i16 u16 i32 u32 i64 u64);
                }
            }
        }
    }
}
