//! Sums of products of a line and a number.

use super::lanes::{Singles, Wide, MOST_LANES};
use super::vectors::{vectored, Vectored};
use crate::dtype::Element;

/// A float that is multiplied and added in one step.
pub trait ProductSums: Element {
    /// Adds the product of each element and a number to the sum at its index, rounded once.
    fn add_products(sums: &mut [Self], x: &[Self], by: Self);
}

struct Line<'a, R> {
    sums: &'a mut [R],
    x: &'a [R],
    by: R,
}

macro_rules! product_sums {
    ($($type:ident $lanes:ident;)+) => {$(
        impl ProductSums for $type {
            fn add_products(sums: &mut [$type], x: &[$type], by: $type) {
                vectored(Line { sums, x, by })
            }
        }

        impl Vectored for Line<'_, $type> {
            type Made = ();
            #[inline(always)]
            fn run<S: Singles<Scalar = f32>, D: Wide>(self) {
                let (by, n) = ($lanes::of(self.by.convert()), $lanes::LANES);
                let (mut sums, xs) = (self.sums.chunks_exact_mut(n), self.x.chunks_exact(n));
                let rest = xs.remainder();
                for (sum, x) in (&mut sums).zip(xs) {
                    $lanes::load(x).mul_add(by, $lanes::load(sum)).store(sum);
                }
                let (last, mut sum, mut x) = (sums.into_remainder(), [0.0; MOST_LANES], [0.0; MOST_LANES]);
                sum[..rest.len()].copy_from_slice(last);
                x[..rest.len()].copy_from_slice(rest);
                $lanes::load(&x).mul_add(by, $lanes::load(&sum)).store(&mut sum);
                last.copy_from_slice(&sum[..rest.len()]);
            }
        }
    )+};
}
product_sums! { f32 S; f64 D; }
