//! The operations that the mathematics is written in, on a vector of lanes; one implementation per
//! instruction set.
//!
//! Each operation gives the same bits in every implementation, payloads of NaN included, and none reads a
//! neighbouring lane: so a function gives the same bits on every processor and at every position.

use std::ops::{Add, BitAnd, BitOr, Div, Mul, Not, Sub};

/// The largest number of lanes of any level.
pub(in crate::kernels) const MOST_LANES: usize = 16;

/// A vector of singles or doubles.
///
/// Values exist only inside of functions that are compiled for the instruction set of the implementation; the
/// methods rely on that, and are all inlined into them.
pub(in crate::kernels) trait Lanes:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// An element.
    type Scalar: Copy;
    /// A mask: one truth value for each lane.
    type Mask: Copy + BitAnd<Output = Self::Mask> + BitOr<Output = Self::Mask> + Not<Output = Self::Mask>;
    /// Number of lanes.
    const LANES: usize;
    /// Whether lanes are doubles.
    const DOUBLE: bool;

    /// A number broadcast to all lanes, rounded to their type.
    fn of(x: f64) -> Self;
    /// Bits broadcast to all lanes; the low 32 for singles.
    fn of_bits(x: u64) -> Self;
    /// The first elements of a slice that has as many as there are lanes.
    fn load(x: &[Self::Scalar]) -> Self;
    /// Writes all lanes to the start of a slice that has room for them.
    fn store(self, out: &mut [Self::Scalar]);

    /// `self * y + z`, rounded once.
    fn mul_add(self, y: Self, z: Self) -> Self;
    /// `z - self * y`, rounded once.
    fn neg_mul_add(self, y: Self, z: Self) -> Self;
    /// Square root, correctly rounded.
    fn sqrt(self) -> Self;

    /// `self < y`; false for NaN.
    fn lt(self, y: Self) -> Self::Mask;
    /// `self <= y`; false for NaN.
    fn le(self, y: Self) -> Self::Mask;
    /// `self == y`; false for NaN.
    fn same(self, y: Self) -> Self::Mask;
    /// `x` where true, else `y`.
    fn select(mask: Self::Mask, x: Self, y: Self) -> Self;
    /// Whether any lane is true.
    fn any(mask: Self::Mask) -> bool;

    /// Bitwise and.
    fn and(self, y: Self) -> Self;
    /// Bitwise or.
    fn or(self, y: Self) -> Self;
    /// Bitwise exclusive or.
    fn xor(self, y: Self) -> Self;
    /// Bitwise and of `y` and the complement of `self`.
    fn not_and(self, y: Self) -> Self;
    /// Sum of the bits as integers.
    fn add_bits(self, y: Self) -> Self;
    /// Difference of the bits as integers.
    fn sub_bits(self, y: Self) -> Self;
    /// Bits shifted left by a constant.
    fn shl(self, by: u32) -> Self;
    /// Bits shifted right by a constant; zeros enter.
    fn shr(self, by: u32) -> Self;

    // ---- made of these

    /// [`horner`].
    #[inline(always)]
    fn horner<const N: usize>(self, coefficients: &[f64; N]) -> Self {
        by_horner(self, coefficients)
    }

    /// [`polynomial`].
    #[inline(always)]
    fn polynomial<const N: usize>(self, coefficients: &[f64; N]) -> Self {
        by_estrin(self, coefficients)
    }

    /// The polynomial of the four coefficients, or those that are left, from `at` on.
    #[inline(always)]
    fn four<const N: usize>(self, square: Self, coefficients: &[f64; N], at: usize) -> Self {
        let low = self.two(coefficients, at);
        if at + 2 < N {
            self.two(coefficients, at + 2).mul_add(square, low)
        } else {
            low
        }
    }

    /// As [`Lanes::four`], of two.
    #[inline(always)]
    fn two<const N: usize>(self, coefficients: &[f64; N], at: usize) -> Self {
        let low = Self::of(coefficients[at]);
        if at + 1 < N {
            Self::of(coefficients[at + 1]).mul_add(self, low)
        } else {
            low
        }
    }

    /// Number of bits.
    const WIDTH: u32 = if Self::DOUBLE { 64 } else { 32 };

    /// Number of bits of the significand that are stored.
    const FRACTION: u32 = if Self::DOUBLE { 52 } else { 23 };
    /// Bits of 1.
    const ONE: u64 = if Self::DOUBLE { 0x3ff0_0000_0000_0000 } else { 0x3f80_0000 };

    /// One constant for doubles, one for singles.
    #[inline(always)]
    fn either(double: f64, single: f64) -> Self {
        Self::of(if Self::DOUBLE { double } else { single })
    }
    /// The sign bit.
    #[inline(always)]
    fn sign_mask() -> Self {
        Self::of_bits(if Self::DOUBLE { 1 << 63 } else { 1 << 31 })
    }
    /// Absolute value.
    #[inline(always)]
    fn abs(self) -> Self {
        Self::sign_mask().not_and(self)
    }
    /// Sign bit flipped, of NaN too.
    #[inline(always)]
    fn negate(self) -> Self {
        self.xor(Self::sign_mask())
    }
    /// Absolute value of `self`, sign of `y`.
    #[inline(always)]
    fn copysign(self, y: Self) -> Self {
        self.abs().or(Self::sign_mask().and(y))
    }
    /// Whether it is NaN.
    #[inline(always)]
    fn is_nan(self) -> Self::Mask {
        !self.same(self)
    }
    /// The smaller one; `y` if either is NaN.
    #[inline(always)]
    fn min(self, y: Self) -> Self {
        Self::select(self.lt(y), self, y) // as the instruction of x86 does
    }
    /// The larger one; `y` if either is NaN.
    #[inline(always)]
    fn max(self, y: Self) -> Self {
        Self::select(y.lt(self), self, y)
    }
    /// Nearest whole number, ties to even, and a float whose low bits are that number; below 2^51 in size,
    /// 2^22 for singles.
    #[inline(always)]
    fn whole(self) -> (Self, Self) {
        let magic = Self::either(6755399441055744.0, 12582912.0);
        let bits = self + magic;
        (bits - magic, bits)
    }
    /// 2 to the power of a whole number, if that is a normal float.
    #[inline(always)]
    fn power_of_two(self) -> Self {
        let (_, bits) = self.whole();
        bits.shl(Self::FRACTION).add_bits(Self::of_bits(Self::ONE))
    }
    /// `self` times 2 to the power of a whole number, rounded once; for a positive `self` near 1, or up to 2^60 from
    /// it if it is a double, and a result anywhere. No step makes or reads a subnormal number, which takes some
    /// processors a hundred times as long: in units of the smallest one they are whole numbers, and those are the
    /// bits of the result.
    #[inline(always)]
    fn scale(self, by: Self) -> Self {
        let (smallest, far) = (Self::either(1074.0, 149.0), Self::either(-200.0, -30.0));
        let unit = Self::of((1u64 << Self::FRACTION) as f64);
        let low = by.min(far).max(Self::either(-1174.0, -249.0));
        let in_units = self * (low + smallest).power_of_two();
        let is_subnormal = in_units.lt(unit);
        let by = Self::select(is_subnormal, Self::of(0.0), by);
        let (half, _) = (by * Self::of(0.5)).whole();
        let normal = self * half.power_of_two() * (by - half).power_of_two();
        Self::select(is_subnormal, (in_units + unit).sub_bits(unit), normal)
    }
    /// `r` where a number, else `self` with the quiet bit set, payload and sign as they are.
    #[inline(always)]
    fn keep_nan(self, r: Self) -> Self {
        Self::select(self.is_nan(), self + self, r)
    }
}

/// A vector of doubles.
pub(in crate::kernels) trait Doubles: Lanes<Scalar = f64> {}
impl<V: Lanes<Scalar = f64>> Doubles for V {}

/// A vector of doubles that elements are accumulated in.
pub(in crate::kernels) trait Wide: Doubles {
    /// The first elements of a slice that has as many as there are lanes.
    fn of_singles(x: &[f32]) -> Self;
    /// The sums of the lanes of as many vectors as there are lanes: of each the later half is added to the earlier,
    /// until one is left. Of several together it takes a third of the instructions.
    fn totals(x: &[Self]) -> Self;
}

/// A vector whose lanes can change places with those of another one.
pub(in crate::kernels) trait Paired: Lanes {
    /// The lanes of both by turns: the first half of that, the second half.
    fn weave(self, y: Self) -> (Self, Self);
    /// Of the lanes of both, one after the other, those with even numbers, and those with odd ones: what undoes
    /// [`Paired::weave`].
    fn unweave(self, y: Self) -> (Self, Self);
}

/// Singles that can be computed on as doubles.
pub(in crate::kernels) trait Singles: Lanes<Scalar = f32> {
    /// As many doubles, in as many vectors as they need.
    type Double: Doubles;
    /// The lanes in order: the first half, the second half.
    fn widen(self) -> (Self::Double, Self::Double);
    /// Whether a function of doubles is compiled for both halves at once: neither then waits for the other.
    const TOGETHER: bool = true;
    /// Each rounded once.
    fn narrow(low: Self::Double, high: Self::Double) -> Self;
}

/// What [`Lanes::horner`] does unless there is something faster.
#[inline(always)]
pub(super) fn by_horner<V: Lanes, const N: usize>(x: V, coefficients: &[f64; N]) -> V {
    let mut at = N - 1;
    let mut sum = V::of(coefficients[at]);
    while at > 0 {
        at -= 1;
        sum = sum.mul_add(x, V::of(coefficients[at]));
    }
    sum
}

/// What [`Lanes::polynomial`] does unless there is something faster.
#[inline(always)]
pub(super) fn by_estrin<V: Lanes, const N: usize>(x: V, coefficients: &[f64; N]) -> V {
    let square = x * x;
    let fourth = square * square;
    let mut at = (N - 1) / 4 * 4;
    let mut sum = x.four(square, coefficients, at);
    while at > 0 {
        at -= 4;
        sum = sum.mul_add(fourth, x.four(square, coefficients, at));
    }
    sum
}

/// Polynomial with these coefficients, constant first: four at a time by Estrin's scheme, and Horner's for these,
/// so that few operations wait for one another.
#[inline(always)]
pub(super) fn polynomial<V: Lanes, const N: usize>(x: V, coefficients: &[f64; N]) -> V {
    x.polynomial(coefficients)
}

/// As [`polynomial`], by Horner's scheme for all powers: fewer operations, and the smallest error where `x`
/// is not small.
#[inline(always)]
pub(super) fn horner<V: Lanes, const N: usize>(x: V, coefficients: &[f64; N]) -> V {
    x.horner(coefficients)
}

/// The rounded sum and its rounding error (fast two-sum, Dekker); for `|x| >= |y|`, or numbers that are far
/// from overflow and underflow alike.
#[inline(always)]
pub(super) fn fast_two_sum<V: Lanes>(x: V, y: V) -> (V, V) {
    let sum = x + y;
    (sum, y - (sum - x))
}

/// The rounded sum and its rounding error (two-sum, Knuth).
#[inline(always)]
pub(super) fn two_sum<V: Lanes>(x: V, y: V) -> (V, V) {
    let sum = x + y;
    let kept = sum - x;
    (sum, (x - (sum - kept)) + (y - kept))
}

/// The rounded product and its rounding error (two-product).
#[inline(always)]
pub(super) fn two_product<V: Lanes>(x: V, y: V) -> (V, V) {
    let product = x * y;
    (product, x.mul_add(y, product.negate()))
}
