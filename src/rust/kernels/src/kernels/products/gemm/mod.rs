//! Products of matrices of floats, on processors with AVX2 or AVX-512.
//!
//! The result is split into register tiles ([`tile`]). Of the right operand columns are read in place if they
//! are contiguous, each a sequence of its own, and not read so often that a copy is worth it. Small operands are
//! read in place too, the left one if rows are contiguous; else panels are packed, so that a tile reads them
//! sequentially ([`pack`]), in blocks that stay in the second-level cache.
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
use crate::kernels::memory::cache::prefetch;
use crate::stop;
use operand::DEPTH;
use scratch::{room, with_scratch, Line};
use std::mem::{size_of, MaybeUninit};
use std::ops::Range;
use tile::{Tile, TileKernel, LARGEST};

pub use batch::Matrices;
pub use operand::{Operand, Target};
pub use tile::{Kernels, Tiled};

/// Rows or columns of one operand up to which the other is not worth packing: each of its blocks is used for
/// so few.
const MAX_UNPACKED_LINES: usize = 16;

/// Bytes of an operand up to which it is read in place.
const MAX_UNPACKED_BYTES: usize = 1 << 16;

/// `lhs * rhs`, for sizes `[m, k, n]` above 0, `lhs [m, k]` and `rhs [k, n]`: written to the result, added to it,
/// or subtracted from it. With `lower`, only elements whose column is at most their row and so many more are
/// asked for. Returns whether the processor has kernels for it.
///
/// # Safety
/// All elements are there; those of the result are apart from each other and from the operands, and not in
/// use.
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
/// they are worth it: for results side by side, of left operands that are so too or not, or for results that follow
/// each other.
pub fn of_batches<T: Tiled>(sizes: [usize; 4], beside: Option<bool>) -> Option<&'static Kernels<T>> {
    let kernels = T::kernels(Level::current())?;
    let is_small = match beside {
        Some(in_place) => batches::is_beside(kernels, sizes, in_place),
        None => batches::is_below(sizes),
    };
    is_small.then_some(kernels)
}

/// `out = lhs * rhs` for each of a batch of matrices of sizes `[b, m, k, n]`, or for some of them, with the
/// kernels of [`of_batches`] for results side by side: of `out` the strides are those of rows and of columns.
/// With `vectors`, `n` is 1, and sums are those of products with a vector.
///
/// # Safety
/// As of [`update`].
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
/// As of [`update`].
pub unsafe fn one_by_one<T: Tiled>(
    kernels: &Kernels<T>,
    operands: [Matrices<T>; 2],
    sizes: [usize; 4],
    vectors: bool,
    out: *mut T,
) {
    with_scratch(|scratch| batches::all_below(kernels, operands, sizes, vectors, out, scratch));
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
/// As of [`update`], and the processor has the instructions of the kernels.
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
    let [height, width] = kernels.block;
    let in_place = [
        lhs.strides[0] == 1 && (n <= MAX_UNPACKED_LINES || m * k * size_of::<T>() <= MAX_UNPACKED_BYTES),
        (rhs.strides[0] == 1 && m <= kernels.in_place)
            || m <= MAX_UNPACKED_LINES
            || n * k * size_of::<T>() <= MAX_UNPACKED_BYTES,
    ];
    // What is less than a vector of rows or a group of columns is filled up with zeros. Asked of each tile, so
    // without divisions: four of them would take half as long as a tile of 16 products.
    let packs_rows = |rows: usize| {
        !in_place[0] || (rows & (kernels.lanes - 1) != 0 && rows > kernels.lanes * kernels.masked)
    };
    let packs_columns = |columns: usize| !in_place[1] || (columns != kernels.group && columns != broad);
    // Of lines that are read in place only the last ones are filled up.
    let panels = |in_place: bool, count: usize, most: usize, width: usize| {
        let panels = if in_place { 1 } else { count.min(most).div_ceil(width) };
        panels * pack::apart::<T>(width, k.min(DEPTH))
    };
    let [left, right] =
        room::<T>(scratch, [panels(in_place[0], m, height, tall), panels(in_place[1], n, width, broad)]);
    let fetches = kernels.fetches && out.strides[0] == 1 && m * n * size_of::<T>() > MAX_UNPACKED_BYTES;
    for (j, l) in (0..n).step_by(width).flat_map(|j| (0..k).step_by(DEPTH).map(move |l| (j, l))) {
        let (columns, depth) = (width.min(n - j), DEPTH.min(k - l));
        let next = |in_place: bool, lines: usize| if in_place { 0 } else { pack::apart::<T>(lines, depth) };
        let [next_left, next_right] = [next(in_place[0], tall), next(in_place[1], broad)];
        let first = if in_place[1] { columns - columns % broad } else { 0 };
        let packed = columns - first;
        if packed > 0 && packs_columns(packed) {
            let ([down, across], read) = (rhs.strides, packed.next_multiple_of(kernels.group));
            kernels.pack[1](rhs.at(l, j + first), [across, down], [packed, read, depth], right);
        }
        for i in (0..m).step_by(height) {
            let rows = height.min(m - i);
            if !part.meets(i..i + rows, j..j + columns) {
                continue;
            }
            stop::work(rows * columns * depth / PRODUCTS);
            let first = if in_place[0] { rows - rows % tall } else { 0 };
            let packed = rows - first;
            if packed > 0 && packs_rows(packed) {
                let read = packed.next_multiple_of(kernels.lanes);
                kernels.pack[0](lhs.at(i + first, l), lhs.strides, [packed, read, depth], left);
            }
            // Plain loops: iterators divide to learn how often they run, and small products wait for that.
            let (mut across, mut right) = (j, right.cast_const());
            while across < j + columns {
                let columns = broad.min(j + columns - across);
                let packed = packs_columns(columns);
                let (mut down, mut left) = (i, left.cast_const());
                while down < i + rows {
                    let rows = tall.min(i + rows - down);
                    let (a, a_stride) = if packs_rows(rows) {
                        (left, tall as isize)
                    } else {
                        (lhs.at(down, l), lhs.strides[1])
                    };
                    let (c, c_stride) = (out.at(down, across), out.strides[1]);
                    let tile = Tile {
                        depth,
                        a,
                        a_stride,
                        b: if packed { right } else { rhs.at(l, across) },
                        b_strides: rhs.strides,
                        c,
                        c_stride,
                        rows,
                        columns,
                        sums: if l > 0 && sums == Sums::Set { Sums::Add } else { sums },
                    };
                    let vectors = usize::from(rows > kernels.lanes) + usize::from(rows > 2 * kernels.lanes);
                    let kernel =
                        kernels.tiles[usize::from(columns > kernels.group)][vectors][usize::from(packed)];
                    if !part.meets(down..down + rows, across..across + columns) {
                        // Nothing of it is asked for.
                    } else if out.strides[0] == 1 {
                        if fetches {
                            fetch(c, c_stride, [rows, columns]);
                        }
                        kernel(&tile);
                    } else {
                        apart(kernel, tile, out.strides);
                    }
                    down += tall;
                    left = left.wrapping_add(next_left);
                }
                across += broad;
                right = right.wrapping_add(next_right);
            }
        }
    }
}

/// Has a tile of a result fetched, which is there when its sums are made: they are added to it, or written to
/// lines that have to be read before.
#[inline(always)]
fn fetch<T>(c: *const T, stride: usize, [rows, columns]: [usize; 2]) {
    for j in 0..columns {
        let column = c.wrapping_add(j * stride);
        prefetch(column.cast());
        prefetch(column.wrapping_add(rows - 1).cast());
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
    fn sums_are_added_to_and_subtracted_from_what_is_asked_for() {
        fn check<T: Number>(how: Sums, lower: Option<isize>, turned: bool) {
            // More than two blocks of rows, and more columns than one.
            let [m, k, n] = [330, 3, 520];
            let number = |i: usize| T::of(((i * 7919) % 1013) as f64 / 1013.0 - 0.5);
            let (x, y): (Vec<T>, Vec<T>) =
                ((0..m * k).map(number).collect(), (7..7 + k * n).map(number).collect());
            let given: Vec<T> = (9..9 + m * n).map(number).collect();
            let mut out = given.clone();
            let lhs = Operand { first: x.as_ptr(), strides: [1, m as isize] };
            let rhs = Operand { first: y.as_ptr(), strides: [n as isize, 1] };
            let strides = if turned { [n, 1] } else { [1, m] };
            let target = Target { first: out.as_mut_ptr(), strides };
            // SAFETY: the elements are there.
            if !unsafe { update(lhs, rhs, [m, k, n], how, lower, target) } {
                return;
            }
            for (i, j) in (0..n).flat_map(|j| (0..m).map(move |i| (i, j))) {
                let at = i * strides[0] + j * strides[1];
                let sum = (0..k).fold(T::default(), |sum, l| sum.plus_product(x[i + l * m], y[j + l * n]));
                let want = match how {
                    Sums::Set => sum,
                    Sums::Add => given[at] + sum,
                    Sums::Subtract => given[at] - sum,
                };
                let asked = lower.is_none_or(|most| j as isize - i as isize <= most);
                assert!(!asked || out[at] == want, "{how:?} {lower:?} {turned} {i} {j}");
            }
        }
        for how in [Sums::Set, Sums::Add, Sums::Subtract] {
            for (lower, turned) in [None, Some(0), Some(-200), Some(100)]
                .into_iter()
                .flat_map(|lower| [(lower, false), (lower, true)])
            {
                check::<f32>(how, lower, turned);
                check::<f64>(how, lower, turned);
            }
        }
    }

    #[test]
    fn large_operands_are_packed() {
        let sizes @ [m, k, n] = [330, 260, 520];
        assert!(m * k * size_of::<f32>() > MAX_UNPACKED_BYTES && k > DEPTH);
        for level in Level::ALL.iter().filter(|level| level.is_here()) {
            if let Some(&Kernels { block, in_place, .. }) = f32::kernels(*level) {
                assert!(m > 2 * block[0] && n > block[1] && (m > in_place || in_place == usize::MAX));
            }
        }
        for ways in [[0, 0], [1, 0], [0, 1]] {
            check::<f32>(sizes, ways);
            check::<f64>(sizes, ways);
        }
    }
}
