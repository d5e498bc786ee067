//! Superinstructions: two operations of arithmetic in one pass over a tile, with the intermediate value in a
//! processor register. Loading and storing a tile in the first-level cache takes about as long as adding it,
//! so pairs halve the time of a chain of cheap ops.
//!
//! Operations and their order are the same as one by one: nothing is contracted, and the bits are the same.

use super::kernel::Kernel;
use crate::dtype::{DType, Element};
use crate::kernels::wide::wide;

/// An operation of arithmetic on two operands; integers wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RingOp {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
}

/// The second operation of a pair, on the result of the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// The result is the first operand; the other is the third of all.
    First(RingOp),
    /// The result is the second operand.
    Second(RingOp),
    /// The result is squared.
    Square,
}

/// Whether there are pairs of operations on elements of a dtype.
pub fn is_paired(dtype: DType) -> bool {
    kernel(dtype, RingOp::Add, Next::Square).is_some()
}

/// The kernel of a pair: `first` on the first two operands, then `next`. `None` for dtypes without pairs.
pub fn kernel(dtype: DType, first: RingOp, next: Next) -> Option<Kernel> {
    Some(match dtype {
        DType::F32 => with_first::<f32>(first, next),
        DType::F64 => with_first::<f64>(first, next),
        // Modulo a power of two, signs make no difference.
        DType::I8 | DType::UI8 => with_first::<u8>(first, next),
        DType::I16 | DType::UI16 => with_first::<u16>(first, next),
        DType::I32 | DType::UI32 => with_first::<u32>(first, next),
        DType::I64 | DType::UI64 => with_first::<u64>(first, next),
        _ => return None,
    })
}

/// Sums, differences and products, as the ops of that name have them.
trait Ring: Element {
    fn add(self, y: Self) -> Self;
    fn sub(self, y: Self) -> Self;
    fn mul(self, y: Self) -> Self;
}
macro_rules! ring {
    ($(|$x:ident, $y:ident| $add:expr, $sub:expr, $mul:expr; $($type:ty)+;)+) => {$($(
        impl Ring for $type {
            #[inline(always)]
            fn add(self, y: Self) -> Self { let ($x, $y) = (self, y); $add }
            #[inline(always)]
            fn sub(self, y: Self) -> Self { let ($x, $y) = (self, y); $sub }
            #[inline(always)]
            fn mul(self, y: Self) -> Self { let ($x, $y) = (self, y); $mul }
        }
    )+)+};
}
ring! {
    |x, y| x + y, x - y, x * y; f32 f64;
    |x, y| x.wrapping_add(y), x.wrapping_sub(y), x.wrapping_mul(y); u8 u16 u32 u64;
}

/// An operation as a type, so that each pair is a loop of its own.
trait Arithmetic: 'static {
    fn of<T: Ring>(x: T, y: T) -> T;
}
macro_rules! arithmetic {
    ($($name:ident $method:ident)+) => {$(
        struct $name;
        impl Arithmetic for $name {
            #[inline(always)]
            fn of<T: Ring>(x: T, y: T) -> T { Ring::$method(x, y) }
        }
    )+};
}
arithmetic! { Sum add Difference sub Product mul }

fn with_first<T: Ring>(first: RingOp, next: Next) -> Kernel {
    match first {
        RingOp::Add => with_next::<T, Sum>(next),
        RingOp::Sub => with_next::<T, Difference>(next),
        RingOp::Mul => with_next::<T, Product>(next),
    }
}

fn with_next<T: Ring, A: Arithmetic>(next: Next) -> Kernel {
    match next {
        Next::First(RingOp::Add) => first::<T, A, Sum>(),
        Next::First(RingOp::Sub) => first::<T, A, Difference>(),
        Next::First(RingOp::Mul) => first::<T, A, Product>(),
        Next::Second(RingOp::Add) => second::<T, A, Sum>(),
        Next::Second(RingOp::Sub) => second::<T, A, Difference>(),
        Next::Second(RingOp::Mul) => second::<T, A, Product>(),
        Next::Square => Kernel::of2(|x: &[T], y: &[T], out: &mut [T]| {
            wide(|| {
                for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
                    let z = A::of(x, y);
                    *out = z.mul(z);
                }
            })
        }),
    }
}

fn first<T: Ring, A: Arithmetic, B: Arithmetic>() -> Kernel {
    Kernel::of3(|x: &[T], y: &[T], z: &[T], out: &mut [T]| {
        wide(|| {
            for (((out, &x), &y), &z) in out.iter_mut().zip(x).zip(y).zip(z) {
                *out = B::of(A::of(x, y), z);
            }
        })
    })
}

fn second<T: Ring, A: Arithmetic, B: Arithmetic>() -> Kernel {
    Kernel::of3(|x: &[T], y: &[T], z: &[T], out: &mut [T]| {
        wide(|| {
            for (((out, &x), &y), &z) in out.iter_mut().zip(x).zip(y).zip(z) {
                *out = B::of(z, A::of(x, y));
            }
        })
    })
}
