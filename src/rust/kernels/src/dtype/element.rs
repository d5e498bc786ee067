//! Traits of element types, by which a kernel is written once for all dtypes.

use super::halves::{odd, odd_signed, odd_unsigned, Half};
use super::truncate::OfFloat;
use super::DType;
use half::{bf16, f16};
use num_complex::Complex;
use std::fmt::Debug;
use std::mem::size_of;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

/// Ties a Rust type to its dtype; implemented by the `dtypes!` table.
pub trait HasDType {
    /// The dtype whose elements this type holds.
    const DTYPE: DType;
}

/// A boolean as tensors store it: one byte, 0 is false. Any other byte reads as true, so no bit pattern is
/// invalid.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
pub struct Bool(u8);

impl Bool {
    /// False.
    pub const FALSE: Bool = Bool(0);
    /// True.
    pub const TRUE: Bool = Bool(1);

    /// As a `bool`.
    #[inline]
    pub fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Bool {
    #[inline]
    fn from(x: bool) -> Bool {
        Bool(x as u8)
    }
}

impl PartialEq for Bool {
    #[inline]
    fn eq(&self, other: &Bool) -> bool {
        self.get() == other.get()
    }
}

impl Debug for Bool {
    #[inline]
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

/// An element of a tensor. Plain bytes: every bit pattern is a value.
///
/// The `as_*` and `from_*` methods are the conversion rules of `nv_convert()`: float to integer truncates
/// toward zero, saturates, and turns NaN into 0; integer to narrower integer wraps; anything non-zero (NaN
/// included) is TRUE; numbers round to the nearest float, ties to even.
pub trait Element: HasDType + Copy + PartialEq + Debug + Default + Send + Sync + 'static {
    /// Converts to any other element type by the rules above.
    fn convert<T: Element>(self) -> T;
    /// From a boolean: 0 or 1.
    fn from_bool(x: bool) -> Self;
    /// From a signed 64-bit integer, wrapping.
    fn from_i64(x: i64) -> Self;
    /// From an unsigned 64-bit integer, wrapping; as a value, not as bits.
    fn from_u64(x: u64) -> Self;
    /// From a single-precision float.
    fn from_f32(x: f32) -> Self;
    /// From a double.
    fn from_f64(x: f64) -> Self;
    /// From a complex number. The imaginary part is lost unless the type is complex; `infer` refuses that.
    #[inline]
    fn from_c128(x: Complex<f64>) -> Self {
        Self::from_f64(x.re)
    }
    /// Whether it is less; FALSE is less than TRUE. Complex numbers have no order, NaN is in none: always
    /// false.
    fn lt(self, y: Self) -> bool;
    /// Whether it is less or equal; as [`Element::lt`].
    fn le(self, y: Self) -> bool;
    /// Its bytes, in the order of this machine, at the start of 16.
    fn to_bytes(self) -> [u8; 16];
    /// The element in the first bytes, which need not be aligned. Panics if there are too few.
    fn from_bytes(bytes: &[u8]) -> Self;
    /// Smallest value: the identity of a maximum. -Inf for floats.
    const LOWEST: Self;
    /// Largest value: the identity of a minimum. Inf for floats.
    const HIGHEST: Self;
}

impl Element for Bool {
    #[inline]
    fn convert<T: Element>(self) -> T {
        T::from_bool(self.get())
    }
    #[inline]
    fn from_bool(x: bool) -> Bool {
        x.into()
    }
    #[inline]
    fn from_i64(x: i64) -> Bool {
        (x != 0).into()
    }
    #[inline]
    fn from_u64(x: u64) -> Bool {
        (x != 0).into()
    }
    #[inline]
    fn from_f32(x: f32) -> Bool {
        (x != 0.0).into()
    }
    #[inline]
    fn from_f64(x: f64) -> Bool {
        (x != 0.0).into()
    }
    #[inline]
    fn lt(self, y: Bool) -> bool {
        !self.get() & y.get()
    }
    #[inline]
    fn le(self, y: Bool) -> bool {
        !self.get() | y.get()
    }
    #[inline]
    fn to_bytes(self) -> [u8; 16] {
        self.0.to_bytes()
    }
    #[inline]
    fn from_bytes(bytes: &[u8]) -> Bool {
        Bool(bytes[0])
    }
    const LOWEST: Bool = Bool::FALSE;
    const HIGHEST: Bool = Bool::TRUE;
}

// `as` is exactly the rule here: int -> int wraps, int -> float rounds to even, and so does float -> float.
macro_rules! number {
    ($($type:ty, $from:ident, $via:ty, $lowest:expr, $highest:expr;)+) => {$(
        impl Element for $type {
            #[inline]
            fn convert<T: Element>(self) -> T { T::$from(self as $via) }
            #[inline]
            fn from_bool(x: bool) -> $type { x as u8 as $type }
            #[inline]
            fn from_i64(x: i64) -> $type { x as $type }
            #[inline]
            fn from_u64(x: u64) -> $type { x as $type }
            #[inline]
            fn from_f32(x: f32) -> $type { OfFloat::of_single(x) }
            #[inline]
            fn from_f64(x: f64) -> $type { OfFloat::of_double(x) }
            #[inline]
            fn lt(self, y: $type) -> bool { self < y }
            #[inline]
            fn le(self, y: $type) -> bool { self <= y }
            #[inline]
            fn to_bytes(self) -> [u8; 16] {
                let mut out = [0; 16];
                out[..size_of::<$type>()].copy_from_slice(&self.to_ne_bytes());
                out
            }
            #[inline]
            fn from_bytes(bytes: &[u8]) -> $type {
                <$type>::from_ne_bytes(bytes[..size_of::<$type>()].try_into().expect("as many as an element has"))
            }
            const LOWEST: $type = $lowest;
            const HIGHEST: $type = $highest;
        }
    )+};
}

number! {
    i8, from_i64, i64, i8::MIN, i8::MAX;
    i16, from_i64, i64, i16::MIN, i16::MAX;
    i32, from_i64, i64, i32::MIN, i32::MAX;
    i64, from_i64, i64, i64::MIN, i64::MAX;
    u8, from_u64, u64, 0, u8::MAX;
    u16, from_u64, u64, 0, u16::MAX;
    u32, from_u64, u64, 0, u32::MAX;
    u64, from_u64, u64, 0, u64::MAX;
    f32, from_f32, f32, f32::NEG_INFINITY, f32::INFINITY;
    f64, from_f64, f64, f64::NEG_INFINITY, f64::INFINITY;
}

macro_rules! half {
    ($($type:ident)+) => {$(
        impl Element for $type {
            #[inline]
            fn convert<T: Element>(self) -> T { T::from_f32(self.single()) }
            #[inline]
            fn from_bool(x: bool) -> $type { if x { $type::ONE } else { $type::ZERO } }
            #[inline]
            fn from_i64(x: i64) -> $type { <$type>::nearest(odd_signed(x)) }
            #[inline]
            fn from_u64(x: u64) -> $type { <$type>::nearest(odd_unsigned(x)) }
            #[inline]
            fn from_f32(x: f32) -> $type { <$type>::nearest(x) }
            #[inline]
            fn from_f64(x: f64) -> $type { <$type>::nearest(odd(x)) }
            #[inline]
            fn lt(self, y: $type) -> bool { self < y }
            #[inline]
            fn le(self, y: $type) -> bool { self <= y }
            #[inline]
            fn to_bytes(self) -> [u8; 16] { self.to_bits().to_bytes() }
            #[inline]
            fn from_bytes(bytes: &[u8]) -> $type { $type::from_bits(<u16 as Element>::from_bytes(bytes)) }
            const LOWEST: $type = $type::NEG_INFINITY;
            const HIGHEST: $type = $type::INFINITY;
        }
    )+};
}
half! { bf16 f16 }

macro_rules! complex {
    ($($part:ident)+) => {$(
        impl Element for Complex<$part> {
            #[inline]
            fn convert<T: Element>(self) -> T { T::from_c128(Complex::new(self.re.into(), self.im.into())) }
            #[inline]
            fn from_bool(x: bool) -> Self { <$part>::from_bool(x).into() }
            #[inline]
            fn from_i64(x: i64) -> Self { <$part>::from_i64(x).into() }
            #[inline]
            fn from_u64(x: u64) -> Self { <$part>::from_u64(x).into() }
            #[inline]
            fn from_f32(x: f32) -> Self { <$part>::from_f32(x).into() }
            #[inline]
            fn from_f64(x: f64) -> Self { <$part>::from_f64(x).into() }
            #[inline]
            fn from_c128(x: Complex<f64>) -> Self { Complex::new(x.re as $part, x.im as $part) }
            #[inline]
            fn lt(self, _: Self) -> bool { false }
            #[inline]
            fn le(self, _: Self) -> bool { false }
            #[inline]
            fn to_bytes(self) -> [u8; 16] {
                let mut out = [0; 16];
                let part = size_of::<$part>();
                out[..part].copy_from_slice(&self.re.to_ne_bytes());
                out[part..2 * part].copy_from_slice(&self.im.to_ne_bytes());
                out
            }
            #[inline]
            fn from_bytes(bytes: &[u8]) -> Self {
                let part = size_of::<$part>();
                Complex::new(<$part as Element>::from_bytes(bytes), <$part as Element>::from_bytes(&bytes[part..]))
            }
            // Complex numbers have no order: these are never used.
            const LOWEST: Self = Complex::new(<$part>::NAN, 0.0);
            const HIGHEST: Self = Complex::new(<$part>::NAN, 0.0);
        }
    )+};
}
complex! { f32 f64 }

/// A complex element.
pub trait Cpx: Element + Add<Output = Self> + Sub<Output = Self> + Neg<Output = Self> {
    /// Type of the two parts.
    type Part: Float;
    /// From its parts.
    fn new(re: Self::Part, im: Self::Part) -> Self;
    /// Real and imaginary part.
    fn parts(self) -> (Self::Part, Self::Part);
    /// The value of a function of complex numbers in double precision, each part rounded once.
    #[inline]
    fn map(self, f: fn(Complex<f64>) -> Complex<f64>) -> Self {
        Self::from_c128(f(self.convert()))
    }
    /// As [`Cpx::map`], of two operands.
    #[inline]
    fn map2(self, other: Self, f: fn(Complex<f64>, Complex<f64>) -> Complex<f64>) -> Self {
        Self::from_c128(f(self.convert(), other.convert()))
    }
}

impl Cpx for Complex<f32> {
    type Part = f32;
    #[inline]
    fn new(re: f32, im: f32) -> Self {
        Complex::new(re, im)
    }
    #[inline]
    fn parts(self) -> (f32, f32) {
        (self.re, self.im)
    }
}

impl Cpx for Complex<f64> {
    type Part = f64;
    #[inline]
    fn new(re: f64, im: f64) -> Self {
        Complex::new(re, im)
    }
    #[inline]
    fn parts(self) -> (f64, f64) {
        (self.re, self.im)
    }
}

/// An integer element, with the arithmetic of the ops on it: everything wraps, nothing traps.
pub trait Int: Element + Ord {
    /// Width in bits.
    const BITS: u32;
    /// Whether negative values exist.
    const SIGNED: bool;
    /// All bits set: -1, or the largest unsigned value.
    const ONES: Self;
    /// Sum modulo 2^bits.
    fn wrapping_add(self, y: Self) -> Self;
    /// Difference modulo 2^bits.
    fn wrapping_sub(self, y: Self) -> Self;
    /// Product modulo 2^bits.
    fn wrapping_mul(self, y: Self) -> Self;
    /// Negation modulo 2^bits.
    fn wrapping_neg(self) -> Self;
    /// Quotient truncated toward zero; `x / 0` has all bits set, `MIN / -1` is `MIN` (StableHLO on XLA).
    fn quotient(self, y: Self) -> Self;
    /// Remainder with the sign of the dividend; `x rem 0` is `x`, `MIN rem -1` is 0.
    fn remainder(self, y: Self) -> Self;
    /// Quotient rounded down; as [`Int::quotient`] for a zero divisor.
    fn floor_quotient(self, y: Self) -> Self;
    /// Remainder with the sign of the divisor; `x mod 0` is `x`.
    fn modulo(self, y: Self) -> Self;
    /// Power modulo 2^bits; a negative exponent gives 0, except for bases 1 and -1; `0^-1` is 0.
    fn power(self, y: Self) -> Self;
    /// Absolute value; that of `MIN` is `MIN`.
    fn absolute(self) -> Self;
    /// -1, 0 or 1.
    fn signum(self) -> Self;
    /// Number of set bits.
    fn popcnt(self) -> Self;
    /// Bitwise and.
    fn and(self, y: Self) -> Self;
    /// Bitwise or.
    fn or(self, y: Self) -> Self;
    /// Bitwise exclusive or.
    fn xor(self, y: Self) -> Self;
    /// Bitwise complement.
    fn not(self) -> Self;
    /// Shift toward the high bits; 0 for amounts outside `0..bits`.
    fn shift_left(self, y: Self) -> Self;
    /// Shift toward the low bits, zeros enter; 0 for amounts outside `0..bits`.
    fn shift_right_logical(self, y: Self) -> Self;
    /// Shift toward the low bits, the sign enters; the sign fills everything for amounts outside `0..bits`.
    fn shift_right_arithmetic(self, y: Self) -> Self;
}

macro_rules! int {
    ($($type:ty, $unsigned:ty, $signed:ty, $is_signed:literal;)+) => {$(
        #[allow(unused_comparisons)]
        impl Int for $type {
            // Quotients of up to 32 bits are computed in doubles, of which processors divide several at once. What is rounded
            // differs from a whole number by more than it is rounded by.
            const BITS: u32 = <$type>::BITS;
            const SIGNED: bool = $is_signed;
            const ONES: $type = !0;
            #[inline]
            fn wrapping_add(self, y: $type) -> $type { <$type>::wrapping_add(self, y) }
            #[inline]
            fn wrapping_sub(self, y: $type) -> $type { <$type>::wrapping_sub(self, y) }
            #[inline]
            fn wrapping_mul(self, y: $type) -> $type { <$type>::wrapping_mul(self, y) }
            #[inline]
            fn wrapping_neg(self) -> $type { <$type>::wrapping_neg(self) }
            #[inline]
            fn quotient(self, y: $type) -> $type { if y == 0 { !0 } else { self.wrapping_div(y) } }
            #[inline]
            fn remainder(self, y: $type) -> $type { if y == 0 { self } else { self.wrapping_rem(y) } }
            #[inline]
            fn floor_quotient(self, y: $type) -> $type {
                if <$type>::BITS <= 32 {
                    let q = (self as f64 / y as f64).floor();
                    // The only quotient that has no number is that of the smallest and -1, which wraps.
                    let wraps = <$type>::MIN < 0 && q > <$type>::MAX as f64;
                    return if y == 0 { !0 } else if wraps { <$type>::MIN } else { q as $type };
                }
                let q = self.quotient(y);
                let inexact = y != 0 && self.remainder(y) != 0;
                if inexact && ((self < 0) != (y < 0)) { q.wrapping_sub(1) } else { q }
            }
            #[inline]
            fn modulo(self, y: $type) -> $type {
                if <$type>::BITS <= 32 {
                    let (x, divisor) = (self as f64, y as f64);
                    let r = x - (x / divisor).floor() * divisor;
                    return if y == 0 { self } else { r as $type };
                }
                let r = self.remainder(y);
                if y != 0 && r != 0 && ((r < 0) != (y < 0)) { r.wrapping_add(y) } else { r }
            }
            #[inline]
            fn power(self, y: $type) -> $type {
                if y < 0 {
                    return match self {
                        1 => 1,
                        // Only signed types come here, so all bits set is -1.
                        x if x == !0 => if y & 1 == 0 { 1 } else { x },
                        _ => 0,
                    };
                }
                let (mut base, mut exponent, mut product) = (self, y, 1 as $type);
                while exponent != 0 {
                    if exponent & 1 == 1 { product = product.wrapping_mul(base) }
                    base = base.wrapping_mul(base);
                    exponent >>= 1;
                }
                product
            }
            #[inline]
            fn absolute(self) -> $type { if self < 0 { self.wrapping_neg() } else { self } }
            #[inline]
            fn signum(self) -> $type { if self < 0 { !0 } else { (self > 0) as $type } }
            #[inline]
            fn popcnt(self) -> $type { self.count_ones() as $type }
            #[inline]
            fn and(self, y: $type) -> $type { self & y }
            #[inline]
            fn or(self, y: $type) -> $type { self | y }
            #[inline]
            fn xor(self, y: $type) -> $type { self ^ y }
            #[inline]
            fn not(self) -> $type { !self }
            #[inline]
            fn shift_left(self, y: $type) -> $type { if in_width(y as i128, <$type>::BITS) { self << y } else { 0 } }
            #[inline]
            fn shift_right_logical(self, y: $type) -> $type {
                if in_width(y as i128, <$type>::BITS) { (self as $unsigned >> y) as $type } else { 0 }
            }
            #[inline]
            fn shift_right_arithmetic(self, y: $type) -> $type {
                let by = if in_width(y as i128, <$type>::BITS) { y as u32 } else { <$type>::BITS - 1 };
                ((self as $signed) >> by) as $type
            }
        }
    )+};
}

#[inline]
fn in_width(amount: i128, bits: u32) -> bool {
    (0..bits as i128).contains(&amount)
}

int! {
    i8, u8, i8, true;
    i16, u16, i16, true;
    i32, u32, i32, true;
    i64, u64, i64, true;
    u8, u8, i8, false;
    u16, u16, i16, false;
    u32, u32, i32, false;
    u64, u64, i64, false;
}

/// A float of any width. Those of 16 bits have no arithmetic: ops compute on them in f32 and round each
/// result once, and without these methods none can round twice.
pub trait Real: Element + PartialOrd {
    /// The type that sums and products of many are accumulated in.
    type Wide: Float;
    /// Whether the sign bit is set, as for -0.
    fn sign_bit(self) -> bool;
}

macro_rules! real {
    ($($type:ident $wide:ident;)+) => {$(
        impl Real for $type {
            type Wide = $wide;
            #[inline]
            fn sign_bit(self) -> bool { self.is_sign_negative() }
        }
    )+};
}
real! { bf16 f32; f16 f32; f32 f64; f64 f64; }

macro_rules! float {
    ($($method:ident $doc:literal,)+) => {
        /// A float with arithmetic of its own. Its mathematics is in `kernels::math`, on slices.
        pub trait Float: Real + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
            + Rem<Output = Self> + Neg<Output = Self>
        {
            /// Value of a double, rounded.
            fn of(x: f64) -> Self;
            /// Value as a double, exact.
            fn f64(self) -> f64;
            $(#[doc = $doc] fn $method(self) -> Self;)+
        }
        impl Float for f32 {
            #[inline]
            fn of(x: f64) -> f32 { x as f32 }
            #[inline]
            fn f64(self) -> f64 { self as f64 }
            $(#[inline] fn $method(self) -> f32 { f32::$method(self) })+
        }
        impl Float for f64 {
            #[inline]
            fn of(x: f64) -> f64 { x }
            #[inline]
            fn f64(self) -> f64 { self }
            $(#[inline] fn $method(self) -> f64 { f64::$method(self) })+
        }
    };
}

float! {
    floor "Largest whole number not above.", ceil "Smallest whole number not below.", trunc "Whole part.",
    round "Nearest whole number, ties away from zero.", round_ties_even "Nearest whole number, ties to even.",
    abs "Absolute value.",
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quotients and remainders of so many bits, against those of wider integers.
    macro_rules! divides {
        ($type:ident, $all:expr) => {
            for (x, y) in $all {
                let (x, y): ($type, $type) = (x, y);
                let (wide, by) = (i128::from(x), i128::from(y));
                if y == 0 {
                    assert_eq!((x.floor_quotient(y), x.modulo(y)), (!0, x));
                    continue;
                }
                let below = wide.div_euclid(by) - i128::from(by < 0 && wide.rem_euclid(by) != 0);
                assert_eq!(x.floor_quotient(y), below as $type, "{x} by {y}");
                assert_eq!(x.modulo(y), (wide - below * by) as $type, "{x} by {y}");
            }
        };
    }

    #[test]
    fn quotients_by_doubles_are_exact() {
        divides!(i8, (i8::MIN..=i8::MAX).flat_map(|x| (i8::MIN..=i8::MAX).map(move |y| (x, y))));
        divides!(u8, (0..=u8::MAX).flat_map(|x| (0..=u8::MAX).map(move |y| (x, y))));
        let ends =
            [i32::MIN, i32::MIN + 1, -65_537, -46_341, -3, -2, -1, 0, 1, 2, 3, 7, 46_340, 65_536, i32::MAX];
        let near: Vec<i32> = ends.iter().flat_map(|&x| (-3..=3).map(move |d| x.wrapping_add(d))).collect();
        divides!(i32, near.iter().flat_map(|&x| near.iter().map(move |&y| (x, y))));
        divides!(u32, near.iter().flat_map(|&x| near.iter().map(move |&y| (x as u32, y as u32))));
        divides!(i16, near.iter().flat_map(|&x| near.iter().map(move |&y| (x as i16, y as i16))));
    }

    #[test]
    fn integer_corners() {
        assert_eq!((7i32).quotient(0), -1);
        assert_eq!((7u8).quotient(0), 255);
        assert_eq!(i32::MIN.quotient(-1), i32::MIN);
        assert_eq!((-7i32).quotient(2), -3);
        assert_eq!((-7i32).floor_quotient(2), -4);
        assert_eq!((7i32).floor_quotient(-2), -4);
        assert_eq!((6i32).floor_quotient(-2), -3);
        assert_eq!((-7i32).remainder(3), -1);
        assert_eq!((-7i32).modulo(3), 2);
        assert_eq!((7i32).modulo(-3), -2);
        assert_eq!((7i32).modulo(0), 7);
        assert_eq!(i32::MIN.remainder(-1), 0);
        assert_eq!((2i32).power(31), i32::MIN);
        assert_eq!(((2i32).power(-1), (1i32).power(-1), (-1i32).power(-3), (0i32).power(-1)), (0, 1, -1, 0));
        assert_eq!((0i32).power(0), 1);
        assert_eq!((200u8).power(1), 200);
        assert_eq!(i8::MIN.absolute(), i8::MIN);
        assert_eq!((-1i32).popcnt(), 32);
    }

    #[test]
    fn shifts_outside_the_width() {
        assert_eq!((1i32).shift_left(32), 0);
        assert_eq!((1i32).shift_left(-1), 0);
        assert_eq!((-8i32).shift_right_logical(1), 0x7ffffffc);
        assert_eq!((-8i32).shift_right_arithmetic(1), -4);
        assert_eq!((-8i32).shift_right_arithmetic(99), -1);
        assert_eq!((8i32).shift_right_arithmetic(-1), 0);
        assert_eq!((200u8).shift_right_arithmetic(1), 228);
        assert_eq!((200u8).shift_right_arithmetic(8), 255);
    }

    #[test]
    fn conversions() {
        assert_eq!((300.7f64).convert::<u8>(), 255);
        assert_eq!((-1.5f32).convert::<u8>(), 0);
        assert_eq!(f64::NAN.convert::<i32>(), 0);
        assert_eq!((300i32).convert::<u8>(), 44);
        assert_eq!((-1i8).convert::<u64>(), u64::MAX);
        assert_eq!(f64::NAN.convert::<Bool>(), Bool::TRUE);
        assert_eq!((-0.0f32).convert::<Bool>(), Bool::FALSE);
        assert_eq!(Bool::TRUE.convert::<f64>(), 1.0);
        assert_eq!((16777217i64).convert::<f32>(), 16777216.0);
        assert_eq!(u64::MAX.convert::<f64>(), 18446744073709551616.0);
        assert_eq!((1e300f64).convert::<f32>(), f32::INFINITY);
    }
}
