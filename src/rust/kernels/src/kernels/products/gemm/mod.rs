//! Products of matrices of floats, on processors with AVX2 or AVX-512.
//!
//! The result is split into register tiles ([`tile`]). Of the right operand columns are read in place if they
//! are contiguous: each is a sequence of its own. Small operands are too, of the left one if rows are
//! contiguous; else panels are packed, so that a tile reads them sequentially ([`pack`]), in blocks that stay in
//! the second-level cache.
//!
//! Each element is a sum of products that are added one after the other, rounded once each (FMA), in blocks
//! of [`DEPTH`], which are added in order. That is what `matrixmultiply` does on processors that have FMA, so
//! that both give the same bits; where it stands in, with other instructions or on other processors, is
//! the choice of `dot`.

mod batch;
mod batches;
mod few;
mod operand;
mod pack;
mod scratch;
mod tile;
mod vector;

use super::matrix::{Lower, Sums, PRODUCTS};
use crate::kernels::math::Level;
use crate::stop;
use operand::DEPTH;
use scratch::{room, with_scratch, Line};
use std::mem::{size_of, MaybeUninit};
use std::ops::Range;
use tile::{Tile, TileKernel, LARGEST};

pub use batch::Matrices;
pub use operand::{Operand, Target};
pub use tile::{Kernels, Tiled};

/// Rows of the left operand that are packed at once, at most.
const ROWS: usize = 144;

/// Columns of the right operand that are packed at once, at most.
const COLUMNS: usize = 256;

/// Rows or columns of one operand up to which the other is not worth packing: each of its blocks is used for
/// so few.
const MAX_UNPACKED_LINES: usize = 16;

/// Bytes of an operand up to which it is read in place.
const MAX_UNPACKED_BYTES: usize = 1 << 16;

/// `out = lhs * rhs`, for sizes `[m, k, n]` above 0, `lhs [m, k]` and `rhs [k, n]`. Returns whether the
/// processor has kernels for it.
///
/// # Safety
/// All elements are there; those of the result are apart from each other and from the operands, and not in
/// use.
pub unsafe fn product<T: Tiled>(lhs: Operand<T>, rhs: Operand<T>, sizes: [usize; 3], out: Target<T>) -> bool {
    update(lhs, rhs, sizes, Sums::Set, None, out)
}

/// As [`product`]; the products are written, added to the result, or subtracted from it. With `lower`, only
/// elements whose column is at most their row and so many more are asked for.
///
/// # Safety
/// As of [`product`].
pub unsafe fn update<T: Tiled>(
    lhs: Operand<T>,
    rhs: Operand<T>,
    sizes: [usize; 3],
    sums: Sums,
    lower: Option<isize>,
    out: Target<T>,
) -> bool {
    let Some(kernels) = T::kernels(Level::current()) else { return false };
    let [down, across] = out.strides;
    // Kernels write contiguous rows: of a result that lies the other way the transpose is made, whose elements
    // are the same sums.
    let turned = down != 1 && across == 1;
    let (operands, sizes, out) = if turned {
        let out = Target { strides: [across, down], ..out };
        ([rhs.transposed(), lhs.transposed()], [sizes[2], sizes[1], sizes[0]], out)
    } else {
        ([lhs, rhs], sizes, out)
    };
    let part = Part { most: lower.unwrap_or(isize::MAX), turned };
    with_scratch(|scratch| blocks(kernels, operands, sizes, sums, part, out, scratch));
    true
}

/// The kernels for a batch of matrices of sizes `[b, m, k, n]`, all above 0, if the processor has some, and
/// they are worth it: for results side by side, or for results that follow each other.
pub fn of_batches<T: Tiled>(sizes: [usize; 4], beside: bool) -> Option<&'static Kernels<T>> {
    let kernels = T::kernels(Level::current())?;
    let is_small = if beside { batches::is_beside(kernels, sizes) } else { batches::is_below(sizes) };
    is_small.then_some(kernels)
}

/// `out = lhs * rhs` for each of a batch of matrices of sizes `[b, m, k, n]`, or for some of them, with the
/// kernels of [`of_batches`] for results side by side: of `out` the strides are those of rows and of columns.
/// With `vectors`, `n` is 1, and sums are those of products with a vector.
///
/// # Safety
/// As of [`product`].
pub unsafe fn side_by_side<T: Tiled>(
    kernels: &Kernels<T>,
    operands: [Matrices<T>; 2],
    sizes: [usize; 4],
    vectors: bool,
    out: Target<T>,
) {
    with_scratch(|scratch| batches::all_beside(kernels, operands, sizes, vectors, out, scratch));
}

/// As [`side_by_side`], with the kernels for results that follow each other: `out [m, n, b]`.
///
/// # Safety
/// As of [`product`].
pub unsafe fn one_by_one<T: Tiled>(
    kernels: &Kernels<T>,
    operands: [Matrices<T>; 2],
    sizes: [usize; 4],
    vectors: bool,
    out: *mut T,
) {
    with_scratch(|scratch| batches::all_below(kernels, operands, sizes, vectors, out, scratch));
}

/// `out` becomes the transpose of a matrix of `[rows, columns]`; columns of both are contiguous, with these
/// strides. Returns whether the processor has kernels for it.
///
/// # Safety
/// All elements are there; those of the result are not in use.
pub unsafe fn transpose<T: Tiled>(x: *const T, sizes: [usize; 2], strides: [usize; 2], out: *mut T) -> bool {
    let here = T::kernels(Level::current()).is_some();
    if here {
        pack::transpose(x, sizes, strides, out);
    }
    here
}

/// Solves equations with a triangle in place, for `[rows, right-hand sides]`: `x` is the first row, which is
/// contiguous, and `stride` leads from one to the next. Returns whether the processor has kernels for it.
///
/// # Safety
/// All elements are there, and not in use.
pub unsafe fn solve<T: Tiled>(triangle: &Lower<T>, x: *mut T, stride: isize, sizes: [usize; 2]) -> bool {
    let kernels = T::kernels(Level::current());
    if let Some(kernels) = kernels {
        let [n, m] = sizes;
        for start in (0..m).step_by(kernels.lanes) {
            (kernels.substitute)(triangle, x.wrapping_add(start), stride, [n, kernels.lanes.min(m - start)]);
        }
    }
    kernels.is_some()
}

/// The part of a result that is asked for: tiles without an element of it are left out.
#[derive(Clone, Copy)]
struct Part {
    /// By how much the column of an element exceeds its row, at most.
    most: isize,
    /// Whether it is the row that exceeds the column.
    turned: bool,
}

impl Part {
    /// Whether it has elements in these rows and columns.
    fn meets(self, rows: Range<usize>, columns: Range<usize>) -> bool {
        let [less, greater] = if self.turned { [columns, rows] } else { [rows, columns] };
        (greater.start as isize - less.end as isize) < self.most
    }
}

/// The product, block by block.
///
/// # Safety
/// As of [`product`], and the processor has the instructions of the kernels.
unsafe fn blocks<T: Tiled>(
    kernels: &Kernels<T>,
    [lhs, rhs]: [Operand<T>; 2],
    [m, k, n]: [usize; 3],
    sums: Sums,
    part: Part,
    out: Target<T>,
    scratch: &mut Vec<Line>,
) {
    if m.max(n) <= few::MOST && sums == Sums::Set {
        stop::work(m * k * n / PRODUCTS);
        return T::KERNELS[n - 1][m - 1](lhs, rhs, k, out);
    }
    let [tall, broad] = kernels.most;
    let height = ROWS / tall * tall;
    let in_place = [
        lhs.strides[0] == 1 && (n <= MAX_UNPACKED_LINES || m * k * size_of::<T>() <= MAX_UNPACKED_BYTES),
        // To pack contiguous columns took a tenth of the time of a product of 2048 rows.
        rhs.strides[0] == 1 || m <= MAX_UNPACKED_LINES || n * k * size_of::<T>() <= MAX_UNPACKED_BYTES,
    ];
    // What is less than a vector of rows or a group of columns is filled up with zeros.
    let packs_rows = |rows: usize| {
        !in_place[0] || (rows % kernels.lanes != 0 && rows.div_ceil(kernels.lanes) > kernels.masked)
    };
    let packs_columns = |columns: usize| !in_place[1] || columns % kernels.group != 0;
    let panels =
        |count: usize, most: usize, width: usize| count.min(most).next_multiple_of(width) * k.min(DEPTH);
    let [left, right] = room::<T>(scratch, [panels(m, height, tall), panels(n, COLUMNS, broad)]);
    for (j, l) in (0..n).step_by(COLUMNS).flat_map(|j| (0..k).step_by(DEPTH).map(move |l| (j, l))) {
        let (columns, depth) = (COLUMNS.min(n - j), DEPTH.min(k - l));
        for start in (0..columns).step_by(broad) {
            let columns = broad.min(columns - start);
            if packs_columns(columns) {
                let [down, across] = rhs.strides;
                kernels.pack[1](
                    rhs.at(l, j + start),
                    [across, down],
                    [columns, columns.next_multiple_of(kernels.group), depth],
                    right.add(start * depth),
                );
            }
        }
        for i in (0..m).step_by(height) {
            let rows = height.min(m - i);
            if !part.meets(i..i + rows, j..j + columns) {
                continue;
            }
            stop::work(rows * columns * depth / PRODUCTS);
            for start in (0..rows).step_by(tall) {
                let rows = tall.min(rows - start);
                if packs_rows(rows) {
                    kernels.pack[0](
                        lhs.at(i + start, l),
                        lhs.strides,
                        [rows, rows.next_multiple_of(kernels.lanes), depth],
                        left.add(start * depth),
                    );
                }
            }
            for start in (0..columns).step_by(broad) {
                let (columns, across) = (broad.min(columns - start), j + start);
                let packed = packs_columns(columns);
                let b = if packed { right.add(start * depth).cast_const() } else { rhs.at(l, across) };
                for start in (0..rows).step_by(tall) {
                    let (rows, down) = (tall.min(rows - start), i + start);
                    if !part.meets(down..down + rows, across..across + columns) {
                        continue;
                    }
                    let (a, a_stride) = if packs_rows(rows) {
                        (left.add(start * depth).cast_const(), tall as isize)
                    } else {
                        (lhs.at(down, l), lhs.strides[1])
                    };
                    let kernel = kernels.tiles[columns.div_ceil(kernels.group) - 1]
                        [rows.div_ceil(kernels.lanes) - 1][packed as usize];
                    let (c, c_stride) = (out.at(down, across), out.strides[1]);
                    let tile = Tile {
                        depth,
                        a,
                        a_stride,
                        b,
                        b_strides: rhs.strides,
                        c,
                        c_stride,
                        rows,
                        columns,
                        sums: if l > 0 && sums == Sums::Set { Sums::Add } else { sums },
                    };
                    if out.strides[0] == 1 {
                        kernel(&tile);
                    } else {
                        apart(kernel, tile, out.strides);
                    }
                }
            }
        }
    }
}

/// A tile of a result whose rows are not contiguous.
///
/// # Safety
/// As of [`blocks`].
unsafe fn apart<T: Tiled>(kernel: TileKernel<T>, tile: Tile<T>, [down, across]: [usize; 2]) {
    // The kernel writes all that is read: zeros before would take as long as a short sum.
    let mut sums = [const { MaybeUninit::<T>::uninit() }; LARGEST];
    let Tile { c, rows, columns, sums: how, .. } = tile;
    kernel(&Tile { c: sums.as_mut_ptr().cast(), c_stride: rows, sums: Sums::Set, ..tile });
    for j in 0..columns {
        for i in 0..rows {
            let (sum, out) = (sums[i + j * rows].assume_init(), c.add(i * down + j * across));
            out.write(match how {
                Sums::Set => sum,
                Sums::Add => *out + sum,
                Sums::Subtract => *out - sum,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Debug;

    pub(super) trait Number: Tiled + PartialEq + Debug {
        fn of(x: f64) -> Self;
        fn bits(self) -> u64;
        fn plus_product(self, x: Self, y: Self) -> Self;
    }
    macro_rules! number {
        ($($type:ident)+) => {$(
            impl Number for $type {
                fn of(x: f64) -> $type {
                    x as $type
                }
                fn bits(self) -> u64 {
                    self.to_bits().into()
                }
                fn plus_product(self, x: $type, y: $type) -> $type {
                    x.mul_add(y, self)
                }
            }
        )+};
    }
    number! { f32 f64 }

    /// Strides of a matrix that fills a vector, in one of four ways: by column, by row, every second element,
    /// and backwards.
    fn lies(way: usize, rows: usize, columns: usize) -> ([isize; 2], usize) {
        let [rows, columns] = [rows as isize, columns as isize];
        match way {
            0 => ([1, rows], 0),
            1 => ([columns, 1], 0),
            2 => ([2, 2 * rows], 0),
            _ => ([-1, -rows], (rows * columns - 1) as usize),
        }
    }

    const WHOLE: Part = Part { most: isize::MAX, turned: false };

    /// Holds products at all levels to sums of one element each, bit for bit.
    fn check<T: Number>([m, k, n]: [usize; 3], ways: [usize; 2]) {
        let numbers = |n: usize, seed: usize| {
            (0..2 * n).map(|i| T::of(((i * 7919 + seed) % 1013) as f64 / 1013.0 - 0.5)).collect()
        };
        let (x, y): (Vec<T>, Vec<T>) = (numbers(m * k, 1), numbers(k * n, 500));
        let ((left, first), (right, start)) = (lies(ways[0], m, k), lies(ways[1], k, n));
        let lhs = Operand { first: x[first..].as_ptr(), strides: left };
        let rhs = Operand { first: y[start..].as_ptr(), strides: right };
        let element = |i: usize, j: usize| {
            let mut sum = None;
            for l in (0..k).step_by(DEPTH) {
                let block = (l..k.min(l + DEPTH)).fold(T::default(), |sum, l| {
                    // SAFETY: elements of the operands.
                    unsafe { sum.plus_product(*lhs.at(i, l), *rhs.at(l, j)) }
                });
                sum = Some(sum.map_or(block, |sum: T| sum + block));
            }
            sum.unwrap()
        };
        let want: Vec<T> = (0..m * n).map(|at| element(at % m, at / m)).collect();
        for kernels in
            Level::ALL.iter().filter(|level| level.is_here()).filter_map(|&level| T::kernels(level))
        {
            for stride in [1, 3] {
                let mut out = vec![T::of(7.0); stride * m * n];
                let target = Target { first: out.as_mut_ptr(), strides: [stride, stride * m] };
                // SAFETY: the elements are there, and so is the level.
                unsafe { blocks(kernels, [lhs, rhs], [m, k, n], Sums::Set, WHOLE, target, &mut Vec::new()) };
                let got: Vec<T> = out.iter().copied().step_by(stride).collect();
                assert_eq!(got, want, "{m} {k} {n} {ways:?} {stride} {}", kernels.lanes);
                assert!(
                    out.iter().enumerate().all(|(at, &x)| at % stride == 0 || x == T::of(7.0)),
                    "a neighbour was written"
                );
            }
        }
    }

    #[test]
    fn each_element_is_a_sum_in_order_however_matrices_lie() {
        let sizes = [
            [1, 1, 1],
            [5, 3, 2],
            [3, 300, 2],
            [17, 9, 13],
            [48, 257, 8],
            [31, 520, 6],
            [150, 40, 21],
            [70, 30, 300],
        ];
        for (sizes, ways) in sizes.into_iter().flat_map(|sizes| (0..16).map(move |i| (sizes, [i % 4, i / 4])))
        {
            check::<f32>(sizes, ways);
            check::<f64>(sizes, ways);
        }
    }

    #[test]
    fn large_operands_are_packed() {
        assert!(300 * 260 * size_of::<f32>() > MAX_UNPACKED_BYTES && 300 > 2 * ROWS && 260 > DEPTH);
        for ways in [[0, 0], [1, 0], [0, 1]] {
            check::<f32>([300, 260, 270], ways);
            check::<f64>([300, 260, 270], ways);
        }
    }
}
