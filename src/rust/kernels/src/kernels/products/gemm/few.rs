//! Products of few rows and few columns: each sum in a register of its own, and operands read in place,
//! however they lie. Vectors would be filled up with zeros, after copies.

use super::operand::{Operand, Target, DEPTH};
use std::arch::x86_64::*;
use std::ops::{Add, Sub};

/// Rows and columns of a result, at most.
pub const MOST: usize = 3;

/// A product of a number of rows and columns; the number is that of the products in a sum. To be called if
/// the processor has FMA, for elements that are there.
pub type FewKernel<T> = unsafe fn(Operand<T>, Operand<T>, usize, Target<T>);

/// A float with such products.
pub trait Few: Copy + Default + Add<Output = Self> + Sub<Output = Self> + 'static {
    /// By columns, and by rows, less 1.
    const KERNELS: [[FewKernel<Self>; MOST]; MOST];

    /// `self + x * y`, rounded once.
    ///
    /// # Safety
    /// To be inlined where FMA is.
    unsafe fn add_product(self, x: Self, y: Self) -> Self;
}

/// Sums of products, one after the other, in blocks that are added in order.
///
/// # Safety
/// As of [`FewKernel`].
#[target_feature(enable = "avx2,fma")]
unsafe fn few<T: Few, const R: usize, const C: usize>(
    lhs: Operand<T>,
    rhs: Operand<T>,
    depth: usize,
    out: Target<T>,
) {
    for start in (0..depth).step_by(DEPTH) {
        let mut sums = [[T::default(); R]; C];
        for l in start..depth.min(start + DEPTH) {
            let x: [T; R] = std::array::from_fn(|i| *lhs.at(i, l));
            for (j, sums) in sums.iter_mut().enumerate() {
                let y = *rhs.at(l, j);
                for (sum, &x) in sums.iter_mut().zip(&x) {
                    *sum = sum.add_product(x, y);
                }
            }
        }
        for (j, sums) in sums.iter().enumerate() {
            for (i, &sum) in sums.iter().enumerate() {
                let out = out.at(i, j);
                out.write(if start > 0 { *out } else { T::default() } + sum);
            }
        }
    }
}

macro_rules! kernels {
    ($($float:ident $set:ident $add:ident $get:ident;)+) => {$(
        impl Few for $float {
            const KERNELS: [[FewKernel<$float>; MOST]; MOST] = [
                [few::<$float, 1, 1>, few::<$float, 2, 1>, few::<$float, 3, 1>],
                [few::<$float, 1, 2>, few::<$float, 2, 2>, few::<$float, 3, 2>],
                [few::<$float, 1, 3>, few::<$float, 2, 3>, few::<$float, 3, 3>],
            ];

            #[inline(always)]
            unsafe fn add_product(self, x: $float, y: $float) -> $float {
                $get($add($set(x), $set(y), $set(self)))
            }
        }
    )+};
}
kernels! { f32 _mm_set_ss _mm_fmadd_ss _mm_cvtss_f32; f64 _mm_set_sd _mm_fmadd_sd _mm_cvtsd_f64; }
