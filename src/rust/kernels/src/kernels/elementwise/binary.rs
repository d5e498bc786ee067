//! Functions of two elements of a dtype, in that dtype.

use super::complex::{power, product, products, quotients};
use super::map::{by_kind, check, map, Map, Run};
use super::updates::{update_cheap, update_each};
use crate::dtype::{Bool, Cpx, DType, Element, Float, Int};
use crate::kernels::math::{self, complex, scalar, special, Computed};
use crate::kernels::wide::wide;

/// A function of two elements of a dtype.
#[derive(Clone, Copy)]
pub struct Pair {
    /// Which function it is.
    pub by: Binary,
    /// Of as many pairs.
    pub map: Map<2>,
    each: Each,
}

/// Elements at places and others, as [`update_each`] has them: the elements and their number, places, and the others,
/// as many as places.
type Each = unsafe fn(*mut u8, usize, &[u32], *const u8);

impl Pair {
    /// Of elements at places and others, one by one, with the same bits, as [`update_each`] does it.
    ///
    /// # Panics
    /// If there are not as many others as places, or if elements are not aligned.
    pub fn each(&self, elements: &mut [u8], places: &[u32], others: &[u8]) {
        let (dtype, n) = (self.map.to(), elements.len() / self.map.to().bytes());
        if n == 0 || places.is_empty() {
            return;
        }
        check(elements, dtype, n);
        check(others, dtype, places.len());
        // SAFETY: checked above.
        unsafe { (self.each)(elements.as_mut_ptr(), n, places, others.as_ptr()) }
    }
}

/// The [`Each`] of a function of two elements.
macro_rules! each {
    ($type:ty, $one:expr) => {
        each!($type, $one, update_each)
    };
    ($type:ty, $one:expr, $update:ident) => {
        |x, n, places, others| {
            // SAFETY: by `Each` they are elements of this type, as every bit pattern of an `Element` is one.
            let (x, others) = unsafe {
                (
                    std::slice::from_raw_parts_mut(x.cast::<$type>(), n),
                    std::slice::from_raw_parts(others.cast::<$type>(), places.len()),
                )
            };
            $update(x, places, others, $one)
        }
    };
}

macro_rules! binary {
    ($($name:ident {
        $(simd: $simd:path,)?
        $(float: |$x:ident, $y:ident| $float:expr,)?
        $(int: |$i:ident, $j:ident| $int:expr,)?
        $(boolean: |$a:ident, $b:ident| $boolean:expr,)?
        $(complex: |$z:ident, $w:ident| $complex:expr,)?
        $(complexes: $complexes:path,)?
    })+) => {
        /// A function of two elements.
        #[allow(non_camel_case_types, missing_docs)]
        #[derive(Clone, Copy, Debug)]
        pub enum Binary { $($name),+ }

        impl Binary {
            fn float<F: Computed>(self) -> Option<Pair> {
                match self { $(Binary::$name => {
                    #[allow(unused_mut, unused_assignments)]
                    let mut made = None;
                    $(made = Some(Pair {
                        by: Binary::$name,
                        map: Map { from: [F::DTYPE; 2], to: F::DTYPE, run: Run::Two(&$simd) },
                        each: each!(F, |x, y| math::pair(&$simd, x, y)),
                    });)?
                    $(made = Some(Pair {
                        by: Binary::$name,
                        map: map!([F, F] -> F, |x, y; out| wide(|| for ((out, &$x), &$y) in out.iter_mut().zip(x).zip(y) { *out = $float })),
                        each: each!(F, |$x, $y| $float, update_cheap),
                    });)?
                    made
                }),+ }
            }

            /// Of a 16-bit float: computed in f32, and rounded once.
            fn half<H: Element>(self) -> Option<Pair> {
                match self { $(Binary::$name => {
                    #[allow(unused_mut, unused_assignments)]
                    let mut made = None;
                    $(made = Some(Pair {
                        by: Binary::$name,
                        map: Map { from: [H::DTYPE; 2], to: H::DTYPE, run: Run::Two(&$simd) },
                        each: each!(H, |x: H, y: H| H::from_f32(math::pair(&$simd, x.convert::<f32>(), y.convert()))),
                    });)?
                    $({
                        #[allow(dead_code)]
                        type F = f32;
                        #[inline]
                        fn one<H: Element>(v: H, w: H) -> H {
                            let ($x, $y) = (v.convert::<f32>(), w.convert::<f32>());
                            H::from_f32($float)
                        }
                        made = Some(Pair {
                            by: Binary::$name,
                            map: map!([H, H] -> H, |x, y; out| wide(|| for ((out, &v), &w) in out.iter_mut().zip(x).zip(y) { *out = one(v, w) })),
                            each: each!(H, one::<H>),
                        });
                    })?
                    made
                }),+ }
            }

            fn int<I: Int>(self) -> Option<Pair> {
                match self { $(Binary::$name => {
                    #[allow(unused_mut, unused_assignments)]
                    let mut made = None;
                    $(made = Some(Pair {
                        by: Binary::$name,
                        map: map!([I, I] -> I, |x, y; out| wide(|| for ((out, &$i), &$j) in out.iter_mut().zip(x).zip(y) { *out = $int })),
                        each: each!(I, |$i, $j| $int, update_cheap),
                    });)?
                    made
                }),+ }
            }

            fn complex<C: Cpx>(self) -> Option<Pair> {
                match self { $(Binary::$name => {
                    #[allow(unused_mut, unused_assignments)]
                    let mut made = None;
                    $(made = Some(Pair {
                        by: Binary::$name,
                        map: map!([C, C] -> C, |x, y; out| for ((out, &$z), &$w) in out.iter_mut().zip(x).zip(y) { *out = $complex }),
                        each: each!(C, |$z, $w| $complex),
                    });)?
                    $(made = made.map(|pair| Pair { map: map!([C, C] -> C, |x, y; out| $complexes(x, y, out)), ..pair });)?
                    made
                }),+ }
            }

            fn boolean(self) -> Option<Pair> {
                match self { $(Binary::$name => {
                    #[allow(unused_mut, unused_assignments)]
                    let mut made = None;
                    $({
                        #[inline]
                        fn one(v: Bool, w: Bool) -> Bool {
                            let ($a, $b) = (v.get(), w.get());
                            ($boolean).into()
                        }
                        made = Some(Pair {
                            by: Binary::$name,
                            map: map!([Bool, Bool] -> Bool, |x, y; out| for ((out, &v), &w) in out.iter_mut().zip(x).zip(y) { *out = one(v, w) }),
                            each: each!(Bool, one),
                        });
                    })?
                    made
                }),+ }
            }
        }
    };
}

binary! {
    add { float: |x, y| x + y, int: |x, y| x.wrapping_add(y), boolean: |x, y| x | y, complex: |x, y| x + y, }
    sub { float: |x, y| x - y, int: |x, y| x.wrapping_sub(y), complex: |x, y| x - y, }
    mul { float: |x, y| x * y, int: |x, y| x.wrapping_mul(y), boolean: |x, y| x & y, complex: |x, y| product(x, y), complexes: products, }
    mul_no_nan {
        float: |x, y| {
            let z = x * y;
            if scalar::is_nan(z) && y == F::of(0.0) { y } else { z }
        },
        complex: |x, y| {
            let z = product(x, y);
            if scalar::is_nan(z) && y == C::default() { y } else { z }
        },
    }
    div { float: |x, y| x / y, int: |x, y| x.quotient(y), complex: |x, y| x.map2(y, complex::div), complexes: quotients, }
    pow { simd: math::POW, int: |x, y| x.power(y), complex: |x, y| power(x, y), }
    remainder { simd: math::REMAINDER, int: |x, y| x.remainder(y), }
    modulo { simd: math::MODULO, int: |x, y| x.modulo(y), }
    floor_div { simd: math::FLOOR_QUOTIENT, int: |x, y| x.floor_quotient(y), }
    max { float: |x, y| scalar::maximum(x, y), int: |x, y| x.max(y), boolean: |x, y| x | y, }
    min { float: |x, y| scalar::minimum(x, y), int: |x, y| x.min(y), boolean: |x, y| x & y, }
    atan2 { simd: math::ATAN2, }
    and { int: |x, y| x.and(y), boolean: |x, y| x & y, }
    or { int: |x, y| x.or(y), boolean: |x, y| x | y, }
    xor { int: |x, y| x.xor(y), boolean: |x, y| x ^ y, }
    shift_left { int: |x, y| x.shift_left(y), }
    shift_right_logical { int: |x, y| x.shift_right_logical(y), }
    shift_right_arithmetic { int: |x, y| x.shift_right_arithmetic(y), }
    polygamma { float: |n, x| F::of(special::polygamma(n.f64(), x.f64())), }
}

impl Binary {
    /// Its kernels on elements of a dtype, if it is a function of these.
    pub fn pair(self, dtype: DType) -> Option<Pair> {
        by_kind!(self, dtype)
    }
}
