//! Selections of elements.

use super::binary::Binary;
use super::map::{map, Map, Run};
use crate::dtype::{Bool, DType, Element};
use crate::kernels::cast::{self, by_width};
use crate::kernels::tile::{tiles, TILE};
use crate::kernels::wide::wide;
use num_complex::Complex;

/// Element types of a selection.
trait Bits: Element {
    /// `y` if `x`, else `z`, by arithmetic: an `if` is compiled to a branch, which is mispredicted half of
    /// the time.
    fn pick(x: bool, y: Self, z: Self) -> Self;
}
macro_rules! bits {
    ($($type:ty)+) => {$(
        impl Bits for $type {
            #[inline(always)]
            fn pick(x: bool, y: Self, z: Self) -> Self {
                let mask = <$type>::from(x).wrapping_neg();
                (y & mask) | (z & !mask)
            }
        }
    )+};
}
bits! { u8 u16 u32 u64 }
impl Bits for Complex<f64> {
    #[inline(always)]
    fn pick(x: bool, y: Self, z: Self) -> Self {
        let part = |y: f64, z: f64| f64::from_bits(u64::pick(x, y.to_bits(), z.to_bits()));
        Complex::new(part(y.re, z.re), part(y.im, z.im))
    }
}

/// The elements of a dtype of the second operand where the first is true, of the third elsewhere.
pub fn select(dtype: DType) -> Map<3> {
    by_width!(dtype, T => Map { from: [DType::I1, dtype, dtype], to: dtype, ..of::<T>() })
}

fn of<T: Bits>() -> Map<3> {
    map!([Bool, T, T] -> T, |x, y, z; out| wide(|| {
        for (((out, x), &y), &z) in out.iter_mut().zip(x).zip(y).zip(z) {
            *out = T::pick(x.get(), y, z);
        }
    }))
}

/// `min(max(x, lo), hi)` of elements of a dtype, given `lo`, `x` and `hi`, as the functions of two have it: NaN
/// anywhere gives NaN, -0 is below 0, and `lo > hi` gives `hi`.
pub fn clamp(dtype: DType) -> Map<3> {
    Map { from: [dtype; 3], to: dtype, run: Run::Bytes(clamped) }
}

/// Computes [`clamp`] of elements that are there.
fn clamped(dtype: DType, [lo, x, hi]: [&[u8]; 3], out: &mut [u8]) {
    let (Some(max), Some(min)) = (Binary::max.pair(dtype), Binary::min.pair(dtype)) else {
        unreachable!("`infer` refuses {dtype}, which has no order")
    };
    let width = dtype.bytes();
    // Elements with an order have 8 bytes at most.
    let mut raised = [0u64; TILE];
    // Tiles of whole rows are longer than others.
    for range in tiles(out.len() / width) {
        let bytes = range.start * width..range.end * width;
        let raised = &mut cast::bytes_mut(&mut raised)[..bytes.len()];
        max.map.run([&x[bytes.clone()], &lo[bytes.clone()]], raised);
        min.map.run([raised, &hi[bytes.clone()]], &mut out[bytes]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clamp_is_the_maximum_then_the_minimum() {
        let clamped = |lo: f32, x: f32, hi: f32| {
            let mut out = [1f32];
            let operands = [lo, x, hi];
            clamp(DType::F32)
                .run([0, 1, 2].map(|i| cast::bytes(&operands[i..=i])), cast::bytes_mut(&mut out));
            out[0]
        };
        assert_eq!(
            [clamped(0.0, 5.0, 2.0), clamped(0.0, -5.0, 2.0), clamped(3.0, 5.0, 2.0)],
            [2.0, 0.0, 2.0]
        );
        assert!(clamped(0.0, -0.0, 1.0).is_sign_positive() && clamped(-1.0, 0.0, -0.0).is_sign_negative());
        assert!(clamped(f32::NAN, 0.0, 1.0).is_nan() && clamped(0.0, f32::NAN, 1.0).is_nan());
        assert!(clamped(0.0, 0.0, f32::NAN).is_nan());
    }
}
