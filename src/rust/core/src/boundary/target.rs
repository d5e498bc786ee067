//! Conversion of one element of R's data to an element type, with its rounding and its refusals. `import`
//! converts vectors.

use crate::dtype::{Bool, Element};
use half::{bf16, f16};
use num_complex::Complex;

/// The reason why a dtype cannot hold an element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Refusal {
    /// `NA`, or NaN where there is none.
    Missing,
    /// A number that the dtype does not have.
    Unrepresentable,
    /// Text that is no number.
    NotANumber,
}

/// An element type that R's data convert to.
pub(super) trait Target: Element {
    /// From an integer.
    fn from_whole(x: i128) -> Result<Self, Refusal>;
    /// From a double.
    fn from_double(x: f64) -> Result<Self, Refusal>;
    /// From text without spaces around it.
    fn from_text(x: &str) -> Result<Self, Refusal>;
}

/// A whole number in decimal digits.
#[inline(never)]
fn whole_of_text(x: &str) -> Result<i128, Refusal> {
    let digits = x.strip_prefix(['+', '-']).unwrap_or(x);
    if digits.is_empty() || !digits.bytes().all(|c| c.is_ascii_digit()) {
        return Err(Refusal::NotANumber);
    }
    // A number of more digits than i128 has is whole, and too large.
    x.parse().map_err(|_| Refusal::Unrepresentable)
}

macro_rules! integers {
    ($($type:ty)+) => {$(
        impl Target for $type {
            fn from_whole(x: i128) -> Result<$type, Refusal> {
                <$type>::try_from(x).map_err(|_| Refusal::Unrepresentable)
            }

            fn from_double(x: f64) -> Result<$type, Refusal> {
                if x.is_nan() {
                    return Err(Refusal::Missing);
                }
                // `as` truncates and saturates, which the conversion back shows. The largest 64-bit integers
                // convert back to the next power of two, which is out of range itself.
                let y = x as $type;
                let in_range = <$type>::BITS <= 32 || x < <$type>::MAX as f64;
                if y as f64 == x && in_range {
                    Ok(y)
                } else {
                    Err(Refusal::Unrepresentable)
                }
            }

            fn from_text(x: &str) -> Result<$type, Refusal> {
                whole_of_text(x).and_then(Target::from_whole)
            }
        }
    )+};
}
integers! { i8 i16 i32 i64 u8 u16 u32 u64 }

macro_rules! floats {
    ($($type:ty)+) => {$(
        impl Target for $type {
            fn from_whole(x: i128) -> Result<$type, Refusal> {
                Ok(x as $type)
            }

            fn from_double(x: f64) -> Result<$type, Refusal> {
                Ok(x as $type)
            }

            // Parsed as the type itself: by way of f64 it would be rounded twice.
            fn from_text(x: &str) -> Result<$type, Refusal> {
                x.parse().map_err(|_| Refusal::NotANumber)
            }
        }
    )+};
}
floats! { f32 f64 }

macro_rules! halves {
    ($($type:ty)+) => {$(
        impl Target for $type {
            // R's integers have 64 bits at most.
            fn from_whole(x: i128) -> Result<$type, Refusal> {
                Ok(if x < 0 { Element::from_i64(x as i64) } else { Element::from_u64(x as u64) })
            }

            fn from_double(x: f64) -> Result<$type, Refusal> {
                Ok(<$type as Element>::from_f64(x))
            }

            // By way of f64, there being no parser of 16-bit floats: rounds twice only what is halfway
            // between two of them up to its 17th digit.
            fn from_text(x: &str) -> Result<$type, Refusal> {
                f64::from_text(x).and_then(Target::from_double)
            }
        }
    )+};
}
halves! { bf16 f16 }

macro_rules! complex {
    ($($part:ty)+) => {$(
        impl Target for Complex<$part> {
            fn from_whole(x: i128) -> Result<Complex<$part>, Refusal> {
                <$part>::from_whole(x).map(Complex::from)
            }

            fn from_double(x: f64) -> Result<Complex<$part>, Refusal> {
                <$part>::from_double(x).map(Complex::from)
            }

            // `import` refuses all text before: R knows how to read the many ways to write complex numbers.
            fn from_text(_: &str) -> Result<Complex<$part>, Refusal> {
                Err(Refusal::NotANumber)
            }
        }
    )+};
}
complex! { f32 f64 }

impl Target for Bool {
    fn from_whole(x: i128) -> Result<Bool, Refusal> {
        match x {
            0 => Ok(Bool::FALSE),
            1 => Ok(Bool::TRUE),
            _ => Err(Refusal::Unrepresentable),
        }
    }

    fn from_double(x: f64) -> Result<Bool, Refusal> {
        u8::from_double(x).and_then(|x| Bool::from_whole(x.into()))
    }

    // The words that `as.logical()` accepts.
    fn from_text(x: &str) -> Result<Bool, Refusal> {
        match x {
            "TRUE" | "true" | "True" | "T" => Ok(Bool::TRUE),
            "FALSE" | "false" | "False" | "F" => Ok(Bool::FALSE),
            _ => Err(Refusal::NotANumber),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boundary::NA_REAL_BITS;

    const NA_REAL: f64 = f64::from_bits(NA_REAL_BITS);

    fn doubles<T: Target>(x: &[f64]) -> Vec<T> {
        x.iter().map(|&x| T::from_double(x).unwrap()).collect()
    }

    /// Every finite value of a 16-bit float from 0 up, and what follows the largest if the exponent had no
    /// end.
    fn steps<T: Target>() -> Vec<f64> {
        let all = (0..=u16::MAX >> 1).map(|bits| T::from_bytes(&bits.to_ne_bytes()).convert::<f64>());
        let mut steps: Vec<f64> = all.take_while(|x| x.is_finite()).collect();
        steps.push(2.0 * steps[steps.len() - 1] - steps[steps.len() - 2]);
        steps
    }

    fn sixteen_bits_round_once<T: Target>() {
        let steps = steps::<T>();
        let (mut data, mut want) = (Vec::new(), Vec::new());
        for (i, pair) in steps.windows(2).enumerate() {
            let (low, high) = (i as u16, i as u16 + 1);
            let middle = (pair[0] + pair[1]) / 2.0;
            let even = if low % 2 == 0 { low } else { high };
            // One unit of a double to either side of halfway is gone in an f32, and must count all the same.
            let [below, above] = [f64::NEG_INFINITY, f64::INFINITY].map(|to| libm::nextafter(middle, to));
            for (x, bits) in [(pair[0], low), (below, low), (middle, even), (above, high)] {
                data.extend([x, -x]);
                want.extend([bits, bits | 0x8000]);
            }
        }
        let got = doubles::<T>(&data);
        for ((x, got), want) in data.iter().zip(got).zip(want) {
            assert_eq!(u16::from_bytes(&got.to_bytes()), want, "{x:e} into {}", T::DTYPE);
        }
        let infinite = [1e5 * steps[steps.len() - 1], f64::MAX, f64::INFINITY, steps[steps.len() - 1]];
        assert_eq!(doubles::<T>(&infinite), [T::HIGHEST; 4]);
        for nan in [f64::NAN, -f64::NAN, NA_REAL, f64::from_bits(0x7FF0_0000_0000_0001)] {
            let got = doubles::<T>(&[nan])[0].convert::<f64>();
            assert!(got.is_nan(), "{}", T::DTYPE);
        }
    }

    #[test]
    fn doubles_round_once_to_sixteen_bits() {
        sixteen_bits_round_once::<bf16>();
        sixteen_bits_round_once::<f16>();
        assert_eq!(doubles::<f16>(&[65519.99, 65520.0]), [f16::MAX, f16::INFINITY]);
        assert_eq!(doubles::<bf16>(&[f64::from(f32::MAX)]), [bf16::INFINITY]);
    }
}
