//! Export of the bytes of a tensor to R's vectors.

use super::{NA_INTEGER, NA_INTEGER64};
use crate::dtype::{dispatch, Bool, DType, Element, HasDType};
use crate::stop;
use half::{bf16, f16};
use num_complex::Complex;

/// The R vector that a tensor of some dtype becomes unless another one is asked for: the narrowest type that
/// holds all its values, up to doubles and pairs of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Natural {
    /// A logical vector.
    Logical,
    /// An integer vector.
    Integer,
    /// A double vector.
    Double,
    /// A complex vector.
    Complex,
}

/// The R vector for a dtype.
pub fn natural(dtype: DType) -> Natural {
    match dtype {
        DType::I1 => Natural::Logical,
        DType::I8 | DType::I16 | DType::I32 | DType::UI8 | DType::UI16 => Natural::Integer,
        DType::UI32 | DType::I64 | DType::UI64 => Natural::Double,
        DType::BF16 | DType::F16 | DType::F32 | DType::F64 => Natural::Double,
        DType::C64 | DType::C128 => Natural::Complex,
    }
}

/// Counts of values that an R vector cannot hold, which do not overlap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Loss {
    /// Whole numbers that were rounded to the nearest double.
    pub rounded: usize,
    /// Values that are in range, but whose bits are `NA` to R: the smallest integer.
    pub na: usize,
    /// Values that are out of range, and became `NA`.
    pub out_of_range: usize,
}

impl Loss {
    /// Whether nothing was lost.
    pub fn is_none(&self) -> bool {
        *self == Loss::default()
    }
}

/// Any dtype as doubles. Narrower floats widen exactly, NaN keeps its payload in f64, booleans are 0 and 1.
/// Only integers of more than 53 bits can be `rounded`. `bytes` may be unaligned.
///
/// This function and the next ones give the real part of complex numbers without counting a loss: the R side
/// refuses complex tensors before it calls them.
///
/// # Panics
/// If `bytes` does not hold as many elements as `out`; so do all functions here.
pub fn export_doubles(dtype: DType, bytes: &[u8], out: &mut [f64]) -> Loss {
    dispatch!(dtype, T => {
        let mut loss = Loss::default();
        each::<T, f64>(bytes, out, |x| {
            let y = x.convert::<f64>();
            loss.rounded += usize::from(!x.is_exact(y));
            y
        });
        loss
    })
}

/// Any dtype as integers of 32 bits, with the rules of `as.integer()`: floats lose their fraction, NaN is
/// `NA`, what is out of range is `NA` and counted. `na` counts the smallest i32, which R takes for `NA`.
/// `bytes` may be unaligned.
pub fn export_integers(dtype: DType, bytes: &[u8], out: &mut [i32]) -> Loss {
    dispatch!(dtype, T => {
        let mut loss = Loss::default();
        each::<T, i32>(bytes, out, |x| match x.whole_part() {
            None => NA_INTEGER,
            Some(x) => i32::try_from(x).map_or_else(
                |_| { loss.out_of_range += 1; NA_INTEGER },
                |x| { loss.na += usize::from(x == NA_INTEGER); x },
            ),
        });
        loss
    })
}

/// Any dtype as logicals, with the rules of `as.logical()`: what is not zero is `TRUE`, NaN is `NA`. Nothing
/// counts as lost. `bytes` may be unaligned.
pub fn export_logicals(dtype: DType, bytes: &[u8], out: &mut [i32]) {
    dispatch!(dtype, T => {
        each::<T, i32>(bytes, out, |x| match x.is_missing() {
            true => NA_INTEGER,
            false => i32::from(x.convert::<Bool>().get()),
        })
    })
}

/// Any dtype as the 64-bit integers of package bit64, with the rules of [`export_integers`]: `na` counts the
/// smallest i64, `out_of_range` (for integers) the ui64 from 2^63 on. `bytes` may be unaligned.
pub fn export_integer64(dtype: DType, bytes: &[u8], out: &mut [i64]) -> Loss {
    dispatch!(dtype, T => {
        let mut loss = Loss::default();
        each::<T, i64>(bytes, out, |x| match x.whole_part() {
            None => NA_INTEGER64,
            Some(x) => i64::try_from(x).map_or_else(
                |_| { loss.out_of_range += 1; NA_INTEGER64 },
                |x| { loss.na += usize::from(x == NA_INTEGER64); x },
            ),
        });
        loss
    })
}

/// Any dtype as complex numbers: c128 bit for bit, c64 widened exactly; the rest as in [`export_doubles`],
/// with an imaginary part of 0. `bytes` may be unaligned.
pub fn export_complex(dtype: DType, bytes: &[u8], out: &mut [Complex<f64>]) -> Loss {
    dispatch!(dtype, T => {
        let mut loss = Loss::default();
        each::<T, Complex<f64>>(bytes, out, |x| {
            let y = x.convert::<Complex<f64>>();
            loss.rounded += usize::from(!x.is_exact(y.re));
            y
        });
        loss
    })
}

/// An element type that is exported. For a complex number all methods are about the real part.
trait Exported: Element {
    /// Whether it is NaN.
    fn is_missing(self) -> bool;
    /// The whole part; `None` for NaN. Saturates far outside of every integer of R.
    fn whole_part(self) -> Option<i128>;
    /// Whether `y`, the nearest double, is the same number.
    fn is_exact(self, y: f64) -> bool;
}

macro_rules! integers {
    ($($type:ty)+) => {$(
        impl Exported for $type {
            fn is_missing(self) -> bool { false }
            fn whole_part(self) -> Option<i128> { Some(self.into()) }
            // Up to 32 bits the result is known at compile time.
            fn is_exact(self, y: f64) -> bool { <$type>::BITS <= 32 || y as i128 == i128::from(self) }
        }
    )+};
}
integers! { i8 i16 i32 i64 u8 u16 u32 u64 }

macro_rules! floats {
    ($($type:ty)+) => {$(
        impl Exported for $type {
            fn is_missing(self) -> bool { self.is_nan() }
            fn whole_part(self) -> Option<i128> { if self.is_nan() { None } else { Some(self as i128) } }
            fn is_exact(self, _: f64) -> bool { true }
        }
    )+};
}
floats! { f32 f64 }

// Types that are exported as another: 16-bit floats as f32, complex numbers as their real part.
macro_rules! by_way_of {
    ($($type:ty: |$x:ident| $wider:expr;)+) => {$(
        impl Exported for $type {
            fn is_missing(self) -> bool { let $x = self; $wider.is_nan() }
            fn whole_part(self) -> Option<i128> { let $x = self; $wider.whole_part() }
            fn is_exact(self, _: f64) -> bool { true }
        }
    )+};
}
by_way_of! {
    bf16: |x| x.to_f32();
    f16: |x| x.to_f32();
    Complex<f32>: |x| x.re;
    Complex<f64>: |x| x.re;
}

impl Exported for Bool {
    fn is_missing(self) -> bool {
        false
    }
    fn whole_part(self) -> Option<i128> {
        Some(self.get().into())
    }
    fn is_exact(self, _: f64) -> bool {
        true
    }
}

fn each<T: Exported, U>(bytes: &[u8], out: &mut [U], mut convert: impl FnMut(T) -> U) {
    let width = <T as HasDType>::DTYPE.bytes();
    assert_eq!(bytes.len(), out.len() * width, "as many elements come out as go in");
    for (out, bytes) in out.chunks_mut(stop::EVERY).zip(bytes.chunks(stop::EVERY * width)) {
        stop::work(out.len());
        for (out, x) in out.iter_mut().zip(bytes.chunks_exact(width)) {
            *out = convert(<T as Element>::from_bytes(x));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boundary::NA_REAL_BITS;
    use crate::kernels::cast;

    fn doubles<T: Element>(x: &[T]) -> (Vec<f64>, Loss) {
        let mut out = vec![0.5; x.len()];
        let loss = export_doubles(T::DTYPE, cast::bytes(x), &mut out);
        (out, loss)
    }

    fn integers<T: Element>(x: &[T]) -> (Vec<i32>, Loss) {
        let mut out = vec![77; x.len()];
        let loss = export_integers(T::DTYPE, cast::bytes(x), &mut out);
        (out, loss)
    }

    fn integer64<T: Element>(x: &[T]) -> (Vec<i64>, Loss) {
        let mut out = vec![77; x.len()];
        let loss = export_integer64(T::DTYPE, cast::bytes(x), &mut out);
        (out, loss)
    }

    fn logicals<T: Element>(x: &[T]) -> Vec<i32> {
        let mut out = vec![77; x.len()];
        export_logicals(T::DTYPE, cast::bytes(x), &mut out);
        out
    }

    const NONE: Loss = Loss { rounded: 0, na: 0, out_of_range: 0 };

    #[test]
    fn every_dtype_has_a_natural_vector_that_holds_it() {
        for &d in DType::ALL {
            let fits = match natural(d) {
                Natural::Logical => d == DType::I1,
                Natural::Integer => d.is_integer() && (d.bits() < 32 || d == DType::I32),
                Natural::Double => d.is_float() || (d.is_integer() && d.bits() == 64) || d == DType::UI32,
                Natural::Complex => d.is_complex(),
            };
            assert!(fits, "{d}");
        }
    }

    #[test]
    fn extremes_of_every_integer_come_out_in_their_natural_vector() {
        assert_eq!(integers(&[i8::MIN, -1, 0, i8::MAX]), (vec![-128, -1, 0, 127], NONE));
        assert_eq!(integers(&[i16::MIN, i16::MAX]), (vec![-32768, 32767], NONE));
        assert_eq!(integers(&[u8::MAX, 0]), (vec![255, 0], NONE));
        assert_eq!(integers(&[u16::MAX]), (vec![65535], NONE));
        assert_eq!(integers(&[i32::MAX, -i32::MAX]), (vec![i32::MAX, -i32::MAX], NONE));
        assert_eq!(doubles(&[u32::MAX, 0]), (vec![4294967295.0, 0.0], NONE));
        assert_eq!(logicals(&[Bool::TRUE, Bool::FALSE]), [1, 0]);
    }

    #[test]
    fn the_smallest_integer_is_counted_since_r_reads_na() {
        let (out, loss) = integers(&[1, i32::MIN, i32::MIN]);
        assert_eq!((out[1], loss), (NA_INTEGER, Loss { na: 2, ..NONE }));
        assert_eq!(integer64(&[i64::MIN, 5]), (vec![NA_INTEGER64, 5], Loss { na: 1, ..NONE }));
        // As doubles both are ordinary numbers.
        assert_eq!(doubles(&[i32::MIN]), (vec![-2147483648.0], NONE));
        assert_eq!(doubles(&[i64::MIN]), (vec![-9223372036854775808.0], NONE));
    }

    #[test]
    fn rounded_doubles_are_counted() {
        let two53 = 1i64 << 53;
        assert_eq!(doubles(&[two53, -two53, two53 + 2]).1, NONE);
        assert_eq!(doubles(&[two53 + 1, -two53 - 1, i64::MAX, 1]).1, Loss { rounded: 3, ..NONE });
        assert_eq!(doubles(&[u64::MAX]), (vec![18446744073709551616.0], Loss { rounded: 1, ..NONE }));
        assert_eq!(doubles(&[1u64 << 63, (1 << 53) + 1]).1, Loss { rounded: 1, ..NONE });
    }

    #[test]
    fn what_integers_cannot_hold_is_na_and_counted() {
        let (out, loss) = integers(&[2147483648i64, -2147483649, 7, -2147483648]);
        assert_eq!(out, [NA_INTEGER, NA_INTEGER, 7, NA_INTEGER]);
        assert_eq!(loss, Loss { na: 1, out_of_range: 2, rounded: 0 });
        assert_eq!(integers(&[u32::MAX, 3]), (vec![NA_INTEGER, 3], Loss { out_of_range: 1, ..NONE }));
        let (out, loss) = integer64(&[u64::MAX, 1 << 63, i64::MAX as u64]);
        assert_eq!(out, [NA_INTEGER64, NA_INTEGER64, i64::MAX]);
        assert_eq!(loss, Loss { out_of_range: 2, ..NONE });
        assert_eq!(integer64(&[i64::MAX, -1]), (vec![i64::MAX, -1], NONE));
        assert_eq!(integer64(&[Bool::TRUE]), (vec![1], NONE));
    }

    #[test]
    fn floats_follow_as_integer_and_as_logical() {
        let (out, loss) = integers(&[2.9f64, -2.9, f64::NAN, f64::INFINITY, 3e9, -0.0]);
        assert_eq!(out, [2, -2, NA_INTEGER, NA_INTEGER, NA_INTEGER, 0]);
        assert_eq!(loss, Loss { out_of_range: 2, ..NONE });
        assert_eq!(integer64(&[-1e19f32, 1.5]), (vec![NA_INTEGER64, 1], Loss { out_of_range: 1, ..NONE }));
        assert_eq!(logicals(&[0.0f64, -0.0, 0.4, f64::NAN]), [0, 0, 1, NA_INTEGER]);
        assert_eq!(logicals(&[0u8, 2]), [0, 1]);
    }

    #[test]
    fn floats_widen_exactly_and_keep_na() {
        assert_eq!(
            doubles(&[0.1f32, f32::MIN_POSITIVE, f32::INFINITY]).0,
            [0.1f32 as f64, f32::MIN_POSITIVE as f64, f64::INFINITY]
        );
        assert!(doubles(&[f32::NAN]).0[0].is_nan());
        assert_eq!(doubles(&[f64::from_bits(NA_REAL_BITS)]).0[0].to_bits(), NA_REAL_BITS);
        assert!(doubles(&[-0.0f32]).0[0].is_sign_negative());
        assert_eq!(doubles(&[Bool::TRUE, Bool::FALSE]), (vec![1.0, 0.0], NONE));
    }

    /// Value of the bits of a binary float of `fraction` stored digits and 15 - `fraction` of the exponent.
    fn value(bits: u16, fraction: u32) -> f64 {
        let bias = (1 << (14 - fraction)) - 1;
        let exponent = i32::from(bits & 0x7FFF) >> fraction;
        let digits = f64::from(bits & ((1 << fraction) - 1));
        let size = match exponent {
            e if e == 2 * bias + 1 && digits == 0.0 => f64::INFINITY,
            e if e == 2 * bias + 1 => f64::NAN,
            0 => digits * 2f64.powi(1 - bias - fraction as i32),
            e => (digits + 2f64.powi(fraction as i32)) * 2f64.powi(e - bias - fraction as i32),
        };
        if bits >> 15 == 1 {
            -size
        } else {
            size
        }
    }

    #[test]
    fn every_float_of_sixteen_bits_widens_exactly() {
        let all: Vec<u16> = (0..=u16::MAX).collect();
        for (dtype, fraction) in [(DType::BF16, 7), (DType::F16, 10)] {
            let mut out = vec![0.5; all.len()];
            assert_eq!(export_doubles(dtype, cast::bytes(&all), &mut out), NONE);
            let mut pairs = vec![Complex::new(0.5, 0.5); all.len()];
            assert_eq!(export_complex(dtype, cast::bytes(&all), &mut pairs), NONE);
            for (&bits, (got, pair)) in all.iter().zip(out.into_iter().zip(pairs)) {
                let want = value(bits, fraction);
                let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
                assert!(same, "{bits:#06x} of {dtype}: {got:e} and {want:e}");
                assert!(got.is_nan() && pair.re.is_nan() || pair.re == got);
                assert_eq!(pair.im, 0.0);
            }
        }
    }

    #[test]
    fn floats_of_sixteen_bits_follow_the_rules_of_floats() {
        let x = [2.9, -2.9, f32::NAN, f32::INFINITY, 3e9, -0.0].map(bf16::from_f32);
        let (out, loss) = integers(&x);
        assert_eq!(out, [2, -2, NA_INTEGER, NA_INTEGER, NA_INTEGER, 0]);
        assert_eq!(loss, Loss { out_of_range: 2, ..NONE });
        assert_eq!(integer64(&[f16::MAX, f16::from_f32(-1.5)]), (vec![65504, -1], NONE));
        assert_eq!(logicals(&[0.0, -0.0, 6e-8, f32::NAN].map(f16::from_f32)), [0, 0, 1, NA_INTEGER]);
    }

    fn complexes<T: Element>(x: &[T]) -> (Vec<Complex<f64>>, Loss) {
        let mut out = vec![Complex::new(0.5, 0.5); x.len()];
        let loss = export_complex(T::DTYPE, cast::bytes(x), &mut out);
        (out, loss)
    }

    #[test]
    fn complex_numbers_come_out_bit_for_bit() {
        let na = f64::from_bits(NA_REAL_BITS);
        let x = [Complex::new(na, -0.0), Complex::new(0.1, na), Complex::new(-0.0, f64::NEG_INFINITY)];
        let (out, loss) = complexes(&x);
        let bits = |z: &Complex<f64>| [z.re.to_bits(), z.im.to_bits()];
        assert_eq!((out.iter().map(bits).collect::<Vec<_>>(), loss), (x.iter().map(bits).collect(), NONE));

        let (out, loss) = complexes(&[Complex::new(0.1f32, -0.0), Complex::new(f32::NAN, f32::MIN_POSITIVE)]);
        assert_eq!((out[0], out[0].im.is_sign_negative()), (Complex::new(0.1f32.into(), 0.0), true));
        assert!(out[1].re.is_nan() && out[1].im == f64::from(f32::MIN_POSITIVE));
        assert!(loss.is_none());
    }

    #[test]
    fn real_dtypes_as_complex_numbers_have_no_imaginary_part() {
        let z = |re: f64| Complex::new(re, 0.0);
        assert_eq!(complexes(&[Bool::TRUE]), (vec![z(1.0)], NONE));
        assert_eq!(complexes(&[-3i8, 4]), (vec![z(-3.0), z(4.0)], NONE));
        assert_eq!(
            complexes(&[i64::MAX, 1]),
            (vec![z(9223372036854775808.0), z(1.0)], Loss { rounded: 1, ..NONE })
        );
    }

    #[test]
    fn other_vectors_get_the_real_part_of_complex_numbers() {
        let x = [Complex::new(-2.5, 9.0), Complex::new(f64::NAN, 0.0), Complex::new(0.0, f64::NAN)];
        assert_eq!(integers(&x), (vec![-2, NA_INTEGER, 0], NONE));
        assert_eq!(integer64(&x), (vec![-2, NA_INTEGER64, 0], NONE));
        assert_eq!((doubles(&x).0[0], doubles(&x).0[2]), (-2.5, 0.0));
        assert_eq!(logicals(&x)[..2], [1, NA_INTEGER]);
    }

    #[test]
    fn bytes_may_be_unaligned() {
        let mut aligned = crate::kernels::memory::AlignedBytes::zeroed(17);
        let bytes = aligned.as_mut_slice();
        bytes[1..9].copy_from_slice(&1.5f64.to_ne_bytes());
        bytes[9..17].copy_from_slice(&(-2.0f64).to_ne_bytes());
        let mut out = [0.0; 2];
        export_doubles(DType::F64, &bytes[1..], &mut out);
        assert_eq!(out, [1.5, -2.0]);
        let mut out = [Complex::default()];
        export_complex(DType::C128, &bytes[1..], &mut out);
        assert_eq!(out, [Complex::new(1.5, -2.0)]);
        assert!(doubles::<u64>(&[]).1.is_none());
    }
}
