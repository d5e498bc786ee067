//! Microkernels of matrix products: tiles that stay in registers, a few vectors of rows times a few columns,
//! for each set of instructions; and of equations with a triangle, which products lead to.

use super::batch::{
    below, beside, flat, spread, Below, BelowKernel, Beside, BesideKernel, Flat, FlatKernel, Matrices, Spread,
};
use super::few::Few;
use super::pack::{pack, Packed};
use super::vector::Vector;
use crate::kernels::math::Level;
use crate::kernels::memory::cache::prefetch;
use crate::kernels::products::matrix::{Lower, Sums, LOWER};
use std::arch::x86_64::*;

/// A register tile of the result, and its operands. Rows of `a` and of `c` are contiguous.
#[derive(Debug)]
pub struct Tile<T> {
    /// Products in a sum.
    pub depth: usize,
    /// Rows of the left operand, and the stride of its columns.
    pub a: *const T,
    pub a_stride: isize,
    /// Columns of the right operand, and the strides of its rows and of its columns (not read where it is
    /// packed).
    pub b: *const T,
    pub b_strides: [isize; 2],
    /// The result, and the stride of its columns.
    pub c: *mut T,
    pub c_stride: usize,
    /// Rows and columns that the result has. Of the left operand no others are read, of the right one as many
    /// columns as the kernel has.
    pub rows: usize,
    pub columns: usize,
    /// What becomes of the sums.
    pub sums: Sums,
}

/// Elements of the largest tile of all.
pub const LARGEST: usize = 3 * 16 * 8;

/// A kernel, to be called only if the processor has its instructions, with tiles whose elements all exist.
pub type TileKernel<T> = unsafe fn(&Tile<T>);

/// The kernels of one level for one type, to be called as their types say.
#[derive(Debug)]
pub struct Kernels<T: 'static> {
    /// Elements of a vector.
    pub lanes: usize,
    /// Vectors of rows of the largest tile whose last may have fewer rows than lanes, unless they are packed.
    pub masked: usize,
    /// Columns of a group.
    pub group: usize,
    /// Rows and columns of the largest tile, and of packed panels.
    pub most: [usize; 2],
    /// Rows of the left operand and columns of the right one that are packed at once, at most; multiples of
    /// those of the largest tile.
    pub block: [usize; 2],
    /// Rows of a result up to which contiguous columns of the right operand are read in place.
    pub in_place: usize,
    /// Whether tiles of a large result are fetched before they are made.
    pub fetches: bool,
    /// By groups of columns, vectors of rows, and whether columns are packed.
    pub tiles: &'static [&'static [[TileKernel<T>; 2]]],
    /// [`pack`] for rows, and for columns.
    pub pack: [unsafe fn(*const T, [isize; 2], [usize; 3], *mut T); 2],
    /// [`beside()`], by columns, and by rows.
    pub beside: &'static [&'static [BesideKernel<T>]],
    /// [`below()`], by columns.
    pub below: &'static [BelowKernel<T>],
    /// [`beside()`] with a vector, by rows.
    pub vectors_beside: &'static [BesideKernel<T>],
    /// [`below()`] with a vector.
    pub vector_below: BelowKernel<T>,
    /// [`flat()`] for one vector and for two, with a vector and without.
    pub flat: [[FlatKernel<T>; 2]; 2],
    /// [`spread()`].
    pub spread: Spread<T>,
    /// [`substitute()`].
    pub substitute: unsafe fn(&Lower<T>, *mut T, isize, [usize; 2]),
}

/// A float whose products have kernels of their own.
pub trait Tiled: Packed + Few {
    /// The kernels of a level, if it has some.
    fn kernels(level: Level) -> Option<&'static Kernels<Self>>;
}

/// The sums of a tile of `R` vectors of rows (at least one row of the last) and `C` columns. `PACKED` is the
/// row stride of the right operand if that is packed, with contiguous columns; 0 if it is read in place, with
/// the strides of the tile. Of the left operand, what is `AHEAD` columns on is fetched, if that is not 0.
///
/// # Safety
/// As of [`TileKernel`].
#[inline(always)]
unsafe fn tile<
    V: Vector,
    const R: usize,
    const C: usize,
    const PACKED: usize,
    const MASKED: usize,
    const AHEAD: isize,
>(
    tile: &Tile<V::Scalar>,
) {
    let &Tile { depth, mut a, a_stride, mut b, b_strides, c, c_stride, rows, columns, sums: how } = tile;
    let mask = V::mask(rows - (R - 1) * V::LANES);
    let [down, across] = if PACKED > 0 { [PACKED as isize, 1] } else { b_strides };
    let mut sums = [[V::zero(); R]; C];
    for _ in 0..depth {
        if AHEAD > 0 && PACKED > 0 && R > 1 {
            prefetch(a.wrapping_offset(AHEAD * a_stride).cast());
        }
        let x: [V; R] = std::array::from_fn(|i| {
            let x = a.wrapping_add(i * V::LANES);
            if i + 1 < R || R > MASKED {
                V::load(x)
            } else {
                V::load_some(x, mask)
            }
        });
        for (j, sums) in sums.iter_mut().enumerate() {
            let y = V::splat(b.wrapping_offset(j as isize * across));
            for (sum, &x) in sums.iter_mut().zip(&x) {
                *sum = sum.add_product(x, y);
            }
        }
        a = a.wrapping_offset(a_stride);
        b = b.wrapping_offset(down);
    }
    for (j, sums) in sums.iter().enumerate().take(columns) {
        for (i, &sum) in sums.iter().enumerate() {
            let out = c.wrapping_add(j * c_stride + i * V::LANES);
            let whole = i + 1 < R || rows == R * V::LANES;
            let before = match how {
                Sums::Set => V::zero(),
                _ if whole => V::load(out),
                _ => V::load_some(out, mask),
            };
            let sum = if how == Sums::Subtract { before.subtract(sum) } else { before.add(sum) };
            if whole {
                sum.store(out);
            } else {
                sum.store_some(out, mask);
            }
        }
    }
}

/// Solves the equations of the first `n` rows in place, for `m` right-hand sides, at most as many as there are
/// lanes, one in each. `x` is the first row, which is contiguous, and `stride` leads from one to the next. All
/// rows are in registers. Products are rounded before they are subtracted, as in small matrices of a batch. A loop
/// around it would have the compiler make vectors of all elements of the triangle before, for which there are no
/// registers.
///
/// # Safety
/// The elements are there and not in use; to be inlined where the instructions are.
#[inline(always)]
unsafe fn substitute<V: Vector>(
    triangle: &Lower<V::Scalar>,
    x: *mut V::Scalar,
    stride: isize,
    [n, m]: [usize; 2],
) {
    let (mask, whole) = (V::mask(m), m == V::LANES);
    let at = |i: usize| x.wrapping_offset(i as isize * stride);
    let mut lines: [V; LOWER] = std::array::from_fn(|i| {
        if i >= n {
            V::zero()
        } else if whole {
            V::load(at(i))
        } else {
            V::load_some(at(i), mask)
        }
    });
    // Written out, so that lines stay in registers.
    macro_rules! steps {
        ($($i:literal)+) => {$( step::<V, $i>(triangle, &mut lines); )+};
    }
    steps!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
    for (i, line) in lines.into_iter().enumerate() {
        if i >= n {
            break;
        } else if whole {
            line.store(at(i));
        } else {
            line.store_some(at(i), mask);
        }
    }
}

/// Line `I` is divided by its element of the diagonal, and its products are subtracted from those after it.
///
/// # Safety
/// As of [`substitute`].
#[inline(always)]
unsafe fn step<V: Vector, const I: usize>(triangle: &Lower<V::Scalar>, lines: &mut [V; LOWER]) {
    let line = lines[I].times(V::splat(&triangle.inverses[I]));
    lines[I] = line;
    for (after, row) in lines[I + 1..].iter_mut().zip(&triangle.rows[I + 1..]) {
        *after = after.subtract(V::splat(&row[I]).times(line));
    }
}

/// The kernels of a level: its instructions, its vectors, how many of them the largest tile has, how many of
/// a tile may have a mask, columns of a tile of one group and of two, and rows and columns of a tile of
/// results side by side; rows and columns of a block, rows up to which columns are read in place, and how many
/// columns of the left operand are fetched ahead, or 0 if nothing is fetched.
macro_rules! level {
    ($name:ident, $feature:literal, $single:ty, $double:ty, [$($vectors:literal),+], masked $masked:literal, $half:literal, $most:literal, [$($side:literal),+], block $block:expr, in_place $in_place:expr, ahead $ahead:literal) => {
        mod $name {
            use super::*;

            #[target_feature(enable = $feature)]
            unsafe fn kernel<V: Vector, const R: usize, const C: usize, const PACKED: usize>(tile: &Tile<V::Scalar>) {
                super::tile::<V, R, C, PACKED, $masked, $ahead>(tile)
            }

            #[target_feature(enable = $feature)]
            unsafe fn packed<T: Packed, const W: usize>(x: *const T, strides: [isize; 2], sizes: [usize; 3], out: *mut T) {
                pack::<T, W>(x, strides, sizes, out)
            }

            #[target_feature(enable = $feature)]
            unsafe fn substituted<V: Vector>(
                triangle: &Lower<V::Scalar>,
                x: *mut V::Scalar,
                stride: isize,
                sizes: [usize; 2],
            ) {
                substitute::<V>(triangle, x, stride, sizes)
            }

            #[target_feature(enable = $feature)]
            unsafe fn side_by_side<V: Vector, const R: usize, const C: usize, const FUSED: bool>(
                tile: &Beside<V::Scalar>,
            ) {
                beside::<V, R, C, FUSED>(tile)
            }

            #[target_feature(enable = $feature)]
            unsafe fn one_by_one<V: Vector, const C: usize, const FUSED: bool>(tile: &Below<V::Scalar>) {
                below::<V, C, FUSED>(tile)
            }

            #[target_feature(enable = $feature)]
            unsafe fn flattened<V: Vector, const PAIR: bool, const FUSED: bool>(tile: &Flat<V::Scalar>) {
                flat::<V, PAIR, FUSED>(tile)
            }

            #[target_feature(enable = $feature)]
            unsafe fn copied<V: Vector>(
                x: Matrices<V::Scalar>,
                sizes: [usize; 2],
                numbers: [usize; 2],
                out: *mut V::Scalar,
            ) where
                V::Scalar: Packed,
            {
                spread::<V>(x, sizes, numbers, out)
            }

            /// The kernels of `C` columns of results side by side.
            struct Columns<V, const C: usize>(V);
            impl<V: Vector, const C: usize> Columns<V, C> {
                const BY_ROWS: &'static [BesideKernel<V::Scalar>] = &[$(side_by_side::<V, $side, C, true>),+];
            }

            const fn kernels<V: Vector, const W: usize>() -> Kernels<V::Scalar>
            where
                V::Scalar: Packed,
            {
                let block: [usize; 2] = $block;
                assert!(block[0] % W == 0 && block[1] % $most == 0 && $most == 2 * $half && V::LANES.is_power_of_two());
                Kernels {
                    lanes: V::LANES,
                    masked: $masked,
                    group: $half,
                    most: [W, $most],
                    block,
                    in_place: $in_place,
                    fetches: $ahead > 0,
                    tiles: &[
                        &[$([kernel::<V, $vectors, $half, 0>, kernel::<V, $vectors, $half, $most>]),+],
                        &[$([kernel::<V, $vectors, $most, 0>, kernel::<V, $vectors, $most, $most>]),+],
                    ],
                    pack: [packed::<V::Scalar, W>, packed::<V::Scalar, $most>],
                    beside: &[$(Columns::<V, $side>::BY_ROWS),+],
                    below: &[
                        one_by_one::<V, 1, true>,
                        one_by_one::<V, 2, true>,
                        one_by_one::<V, 3, true>,
                        one_by_one::<V, 4, true>,
                        one_by_one::<V, 5, true>,
                        one_by_one::<V, 6, true>,
                        one_by_one::<V, 7, true>,
                        one_by_one::<V, 8, true>,
                    ],
                    vectors_beside: &[$(side_by_side::<V, $side, 1, false>),+],
                    vector_below: one_by_one::<V, 1, false>,
                    flat: [
                        [flattened::<V, false, true>, flattened::<V, false, false>],
                        [flattened::<V, true, true>, flattened::<V, true, false>],
                    ],
                    spread: copied::<V>,
                    substitute: substituted::<V>,
                }
            }
            const MOST: usize = [$($vectors),+].len();
            pub(super) static SINGLE: Kernels<f32> = kernels::<$single, { MOST * <$single>::LANES }>();
            pub(super) static DOUBLE: Kernels<f64> = kernels::<$double, { MOST * <$double>::LANES }>();
        }
    };
}
// Sums, rows and an element of a column leave one of the 16 registers of AVX2, which is not enough for a
// mask; with the kernel of 3 times 4 that would fill them, the compiler runs out of registers. AVX-512 has
// 32.
// Blocks of AVX2 are for 512 kB of second-level cache, of which 96 rows take 200 kB in double precision. To pack
// rows for 510 columns, and not once more for each 256, took 4 % off a product of 1000 rows; to fetch rows and
// the result ahead, as much. Up to 320 rows columns read in place are as fast as packed ones. For 1000 these save
// 3 %, and 10 % if other cores use the third-level cache too, as columns a power of two apart are in few sets.
level! { avx2, "avx2,fma", __m256, __m256d, [1, 2], masked 1, 3, 6, [1, 2, 3], block [96, 510], in_place 320, ahead 8 }
#[cfg(has_avx512)]
level! { avx512, "avx512f,avx2,fma", __m512, __m512d, [1, 2, 3], masked 3, 4, 8, [1, 2, 3, 4], block [144, 256], in_place usize::MAX, ahead 0 }

macro_rules! tiled {
    ($($scalar:ty, $name:ident;)+) => {$(
        impl Tiled for $scalar {
            fn kernels(level: Level) -> Option<&'static Kernels<Self>> {
                match level {
                    Level::Avx2 => Some(&avx2::$name),
                    #[cfg(has_avx512)]
                    Level::Avx512 => Some(&avx512::$name),
                    _ => None,
                }
            }
        }
    )+};
}
tiled! { f32, SINGLE; f64, DOUBLE; }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::math::Level;

    macro_rules! check {
        ($type:ident) => {
            for kernels in
                Level::ALL.iter().filter(|level| level.is_here()).filter_map(|&level| $type::kernels(level))
            {
                for (n, m) in (1..=LOWER).flat_map(|n| (1..=kernels.lanes).map(move |m| (n, m))) {
                    let number = |i: usize| ((i * 7919 + 11) % 1013) as $type / 1013.0 - 0.5;
                    let mut triangle = Lower { rows: [[0.0; LOWER]; LOWER], inverses: [1.0; LOWER] };
                    for i in 0..n {
                        (0..i).for_each(|k| triangle.rows[i][k] = number(i * n + k));
                        triangle.inverses[i] = 1.0 + number(i + 500);
                    }
                    let stride = m + 2;
                    let given: Vec<$type> = (0..n * stride).map(|i| number(i + 200)).collect();
                    let mut want = given.clone();
                    for (i, j) in (0..n).flat_map(|i| (0..m).map(move |j| (i, j))) {
                        let x = (0..i).fold(want[i * stride + j], |x, k| {
                            x - triangle.rows[i][k] * want[k * stride + j]
                        });
                        want[i * stride + j] = x * triangle.inverses[i];
                    }
                    let mut made = given.clone();
                    // SAFETY: all rows are there, and so is the level.
                    unsafe { (kernels.substitute)(&triangle, made.as_mut_ptr(), stride as isize, [n, m]) };
                    assert_eq!(made, want, "{n} {m} {}", kernels.lanes);
                    // From the last row up.
                    let upward =
                        |x: &[$type]| -> Vec<$type> { x.chunks(stride).rev().flatten().copied().collect() };
                    let mut made = upward(&given);
                    let last = made[(n - 1) * stride..].as_mut_ptr();
                    // SAFETY: as above.
                    unsafe { (kernels.substitute)(&triangle, last, -(stride as isize), [n, m]) };
                    assert_eq!(upward(&made), want, "{n} {m} {}", kernels.lanes);
                }
            }
        };
    }

    #[test]
    fn all_levels_give_the_same_solutions_of_each_right_hand_side() {
        check!(f32);
        check!(f64);
    }
}
