//! From the bytes of a tensor to R's vectors.

use super::{NA_INTEGER, NA_INTEGER64};
use crate::dtype::{dispatch, Bool, DType, Element, HasDType};

/// The R vector that a tensor of some dtype becomes unless another one is asked for: the narrowest type that holds all
/// its values, up to doubles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Natural {
    /// A logical vector.
    Logical,
    /// An integer vector.
    Integer,
    /// A double vector.
    Double,
}

/// The R vector for a dtype.
pub fn natural(dtype: DType) -> Natural {
    match dtype {
        DType::I1 => Natural::Logical,
        DType::I8 | DType::I16 | DType::I32 | DType::UI8 | DType::UI16 => Natural::Integer,
        DType::UI32 | DType::I64 | DType::UI64 | DType::F32 | DType::F64 => Natural::Double,
    }
}

/// What an R vector could not hold. The counts do not overlap.
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

/// Any dtype as doubles. f32 widens exactly, NaN keeps its payload in f64, booleans are 0 and 1. Only integers of more
/// than 53 bits can be `rounded`. `bytes` may be unaligned.
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

/// Any dtype as integers of 32 bits, with the rules of `as.integer()`: floats lose their fraction, NaN is `NA`, what is
/// out of range is `NA` and counted. `na` counts the smallest i32, which R takes for `NA`. `bytes` may be unaligned.
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

/// Any dtype as logicals, with the rules of `as.logical()`: what is not zero is `TRUE`, NaN is `NA`. Nothing counts as
/// lost. `bytes` may be unaligned.
pub fn export_logicals(dtype: DType, bytes: &[u8], out: &mut [i32]) {
    dispatch!(dtype, T => {
        each::<T, i32>(bytes, out, |x| match x.is_missing() {
            true => NA_INTEGER,
            false => i32::from(x.convert::<Bool>().get()),
        })
    })
}

/// Any dtype as the 64-bit integers of package bit64, with the rules of [`export_integers`]: `na` counts the smallest
/// i64, `out_of_range` (for integers) the ui64 from 2^63 on. `bytes` may be unaligned.
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

/// An element type on its way out.
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
            // Up to 32 bits the answer is known when this is compiled.
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
    for (out, x) in out.iter_mut().zip(bytes.chunks_exact(width)) {
        *out = convert(<T as Element>::from_bytes(x));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::cast;
    use crate::boundary::NA_REAL_BITS;

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
                Natural::Double => d.is_float() || d.bits() == 64 || d == DType::UI32,
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

    #[test]
    fn bytes_may_be_unaligned() {
        let mut aligned = crate::kernels::memory::AlignedBytes::zeroed(17);
        let bytes = aligned.as_mut_slice();
        bytes[1..9].copy_from_slice(&1.5f64.to_ne_bytes());
        bytes[9..17].copy_from_slice(&(-2.0f64).to_ne_bytes());
        let mut out = [0.0; 2];
        export_doubles(DType::F64, &bytes[1..], &mut out);
        assert_eq!(out, [1.5, -2.0]);
        assert!(doubles::<u64>(&[]).1.is_none());
    }
}
