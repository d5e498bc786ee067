//! Products of batches of small matrices: which operands are copied, and in which order the kernels of
//! [`batch`](super::batch) are called.
//!
//! Operands are read in place if their elements lie as the vectors ask, and each is read by few tiles; else
//! some are copied at a time. Each sum is that of [`super::product`], bit for bit, if it has one block; of
//! matrices with a vector, that of [`matvec`](crate::kernels::products::matvec) if it has one lane.

use super::batch::{Below, Beside, Flat, Matrices};
use super::operand::{Target, DEPTH};
use super::scratch::{room, Line};
use super::tile::{Kernels, Tiled};
use crate::kernels::memory::squares::transpose;
use crate::kernels::products::matrix::PRODUCTS;
use crate::stop;
use std::mem::size_of;

/// Bytes of copied operands that are used before the next are copied, about: with the results they stay in
/// the second-level cache.
const COPIED: usize = 1 << 18;

/// Bytes of operands and results whose tiles are all computed before the next, about: the tiles after the
/// first find most of them in the first-level cache.
const TURN: usize = 1 << 16;

/// Tiles that read an element of an operand which is not copied, at most. Elements of a matrix are far apart,
/// often by a power of two, so that many of them have the same place in the cache.
const TILES: usize = 2;

/// Vectors of a batch that are copied at a time, at most.
const MOST_COPIED: usize = 8;

/// Vectors of a batch between two checks for interrupts, if nothing is copied.
const IN_PLACE: usize = 256;

/// Elements of both matrices of a product side by side, at most: more would not stay in the cache.
const MOST_ELEMENTS: usize = 1 << 13;

/// Elements of each of three matrices one after the other, at most: larger ones are worth the larger tiles of
/// products by themselves, which read a matrix fewer times. One that is multiplied by a vector is read once.
const MOST_BELOW: [usize; 2] = [1 << 8, 1 << 12];

/// Whether products of these sizes, of so many matrices, are computed side by side; `in_place` if the left ones lie so,
/// of which by a vector even a few are read without a copy.
pub fn is_beside<T: Tiled>(kernels: &Kernels<T>, [b, m, k, n]: [usize; 4], in_place: bool) -> bool {
    let enough = 2 * b >= kernels.lanes || in_place && n == 1 && b > 1;
    enough && k <= DEPTH && (m + n) * k <= MOST_ELEMENTS
}

/// Products of a batch, whose results lie side by side; of `out` the strides are those of rows and of
/// columns. With `vectors`, `n` is 1, and sums are those of products with a vector.
///
/// # Safety
/// As of [`super::product`], and the processor has the instructions of the kernels.
pub unsafe fn all_beside<T: Tiled>(
    kernels: &Kernels<T>,
    operands: [Matrices<T>; 2],
    [b, m, k, n]: [usize; 4],
    vectors: bool,
    out: Target<T>,
    scratch: &mut Vec<Line>,
) {
    let (lanes, most) = (kernels.lanes, kernels.beside.len());
    let [tall, broad] = [m, n].map(|size| size.div_ceil(size.div_ceil(most)));
    let shapes = [[m, k], [k, n]];
    let elements = shapes.map(|[rows, columns]| rows * columns);
    // What all results share, is copied once, to all lanes.
    let shared = [0, 1].map(|i| operands[i].strides[2] == 0);
    let in_place = [0, 1].map(|i| operands[i].strides[2] == 1 && [n, m][i] <= TILES * most);
    let copied: usize = (0..2).filter(|&i| !shared[i] && !in_place[i]).map(|i| elements[i]).sum();
    let count = match copied * lanes * size_of::<T>() {
        0 => IN_PLACE,
        bytes => (COPIED / bytes).clamp(1, MOST_COPIED),
    };
    let turn = (TURN / ((m * k + k * n + m * n) * lanes * size_of::<T>())).max(1);
    let sizes = [0, 1].map(|i| elements[i] * lanes * if in_place[i] || shared[i] { 1 } else { count });
    let [left, right] = room::<T>(scratch, [sizes[0] + m * n * lanes, sizes[1]]);
    let (copies, rest) = ([left, right], left.add(sizes[0]));
    for i in (0..2).filter(|&i| shared[i]) {
        (kernels.spread)(operands[i], shapes[i], [0, lanes], copies[i]);
    }
    for first in (0..b).step_by(count * lanes) {
        // Whole vectors, and what is left.
        let numbers = (count * lanes).min(b - first);
        let whole = numbers / lanes * lanes;
        for (start, numbers) in [(first, whole), (first + whole, numbers - whole)] {
            if numbers == 0 {
                continue;
            }
            stop::work(m * k * n * numbers / PRODUCTS);
            let is_whole = numbers >= lanes;
            // Rows of the left operands that are read in place: of less than a vector those behind which there is enough.
            let ready = if is_whole { m } else { operands[0].whole_rows(k, start, lanes).min(m) };
            let ready = if in_place[0] { ready } else { 0 };
            // The first element of the copy of an operand from a row on, and its strides of rows, columns and vectors.
            let copy = |i: usize, from: usize| {
                let [rows, columns] = [shapes[i][0] - from, shapes[i][1]];
                if !shared[i] && rows > 0 {
                    (kernels.spread)(operands[i].from(from), [rows, columns], [start, numbers], copies[i]);
                }
                let stride = if shared[i] { 0 } else { elements[i] * lanes };
                (copies[i].cast_const(), [lanes, rows * lanes, stride].map(|stride| stride as isize))
            };
            let direct = |i: usize| {
                let [rows, columns, _] = operands[i].strides;
                (operands[i].at(0, 0, start), [rows, columns, lanes as isize])
            };
            let parts = [(0..ready, direct(0)), (ready..m, copy(0, ready))];
            let (b, b_strides) = if in_place[1] && is_whole { direct(1) } else { copy(1, 0) };
            let (c, c_strides) = if is_whole {
                (out.first.wrapping_add(start), [out.strides[0], out.strides[1], lanes])
            } else {
                (rest, [lanes, m * lanes, 0])
            };
            let count = numbers.div_ceil(lanes);
            for v in (0..count).step_by(turn) {
                let b = b.wrapping_offset(v as isize * b_strides[2]);
                let c = c.wrapping_add(v * c_strides[2]);
                for (j, (part, (a, a_strides))) in
                    (0..n).step_by(broad).flat_map(|j| parts.iter().map(move |part| (j, part)))
                {
                    let a = a.wrapping_offset(v as isize * a_strides[2]);
                    for i in part.clone().step_by(tall) {
                        let [rows, columns] = [tall.min(part.end - i), broad.min(n - j)];
                        let by_rows =
                            if vectors { kernels.vectors_beside } else { kernels.beside[columns - 1] };
                        (by_rows[rows - 1])(&Beside {
                            depth: k,
                            count: turn.min(count - v),
                            a: a.wrapping_offset((i - part.start) as isize * a_strides[0]),
                            a_strides: *a_strides,
                            b: b.wrapping_offset(j as isize * b_strides[1]),
                            b_strides,
                            c: c.wrapping_add(i * c_strides[0] + j * c_strides[1]),
                            c_strides,
                        });
                    }
                }
            }
            if !is_whole {
                for (i, j) in (0..n).flat_map(|j| (0..m).map(move |i| (i, j))) {
                    let (sums, to) = (rest.add((i + j * m) * lanes), out.at(i, j).add(start));
                    // A copy of so few bytes is no call.
                    (0..numbers).for_each(|lane| to.add(lane).write(*sums.add(lane)));
                }
            }
        }
    }
}

/// Whether products of these sizes are computed one after the other.
pub fn is_below([_, m, k, n]: [usize; 4]) -> bool {
    k <= DEPTH && (m * k).max(k * n).max(m * n) <= MOST_BELOW[(n == 1) as usize]
}

/// Products of a batch, whose results `[m, n, b]` follow each other. With `vectors`, `n` is 1, and sums are
/// those of products with a vector.
///
/// # Safety
/// As of [`all_beside()`].
pub unsafe fn all_below<T: Tiled>(
    kernels: &Kernels<T>,
    [lhs, rhs]: [Matrices<T>; 2],
    [b, m, k, n]: [usize; 4],
    vectors: bool,
    out: *mut T,
    scratch: &mut Vec<Line>,
) {
    if all_flat(kernels, [lhs, rhs], [b, m, k, n], vectors, out) {
        return;
    }
    let most = kernels.below.len();
    let broad = n.div_ceil(n.div_ceil(most));
    let in_place = lhs.strides[0] == 1;
    // All tiles of these matrices are computed, then those of the next.
    let bytes = (m * k + k * n + m * n) * size_of::<T>();
    let count = ((COPIED / 4) / bytes).max(1);
    let [copy, _] = room::<T>(scratch, [if in_place { 0 } else { count * m * k }, 0]);
    for first in (0..b).step_by(count) {
        let count = count.min(b - first);
        stop::work(m * k * n * count / PRODUCTS);
        let (a, a_strides) = if in_place {
            (lhs.at(0, 0, first), [lhs.strides[1], lhs.strides[2]])
        } else {
            for number in 0..count {
                let copy = copy.add(number * m * k);
                if lhs.strides[1] == 1 && lhs.strides[0] > 0 {
                    transpose(lhs.at(0, 0, first + number), [k, m], [lhs.strides[0] as usize, m], copy);
                    continue;
                }
                for (i, l) in (0..k).flat_map(|l| (0..m).map(move |i| (i, l))) {
                    copy.add(i + l * m).write(*lhs.at(i, l, first + number));
                }
            }
            (copy.cast_const(), [m as isize, (m * k) as isize])
        };
        for i in (0..m).step_by(kernels.lanes) {
            for j in (0..n).step_by(broad) {
                let kernel = if vectors { kernels.vector_below } else { kernels.below[broad.min(n - j) - 1] };
                kernel(&Below {
                    depth: k,
                    count,
                    rows: kernels.lanes.min(m - i),
                    a: a.wrapping_add(i),
                    a_strides,
                    b: rhs.at(0, j, first),
                    b_strides: rhs.strides,
                    c: out.wrapping_add(i + j * m + first * m * n),
                    c_strides: [m, m * n],
                });
            }
        }
    }
}

/// As [`all_below()`], if operands are dense, and one or two vectors hold each matrix whole; returns whether
/// they do.
///
/// # Safety
/// As of [`all_below()`].
unsafe fn all_flat<T: Tiled>(
    kernels: &Kernels<T>,
    operands: [Matrices<T>; 2],
    [b, m, k, n]: [usize; 4],
    vectors: bool,
    out: *mut T,
) -> bool {
    let (lanes, sizes) = (kernels.lanes, [m * k, k * n, m * n]);
    let largest = sizes[0].max(sizes[1]).max(sizes[2]);
    let is_dense = |i: usize| {
        let ([rows, columns], [down, across, next]) = ([[m, k], [k, n]][i], operands[i].strides);
        // Of an axis of one element the stride is any.
        let is = |stride: isize, size: usize, want: usize| size == 1 || stride == want as isize;
        let by_column = is(down, rows, 1) && is(across, columns, rows);
        let by_row = is(across, columns, 1) && is(down, rows, columns);
        (by_column || by_row) && is(next, b, sizes[i])
    };
    if largest > 2 * lanes || !is_dense(0) || !is_dense(1) {
        return false;
    }
    let (pair, together) = (largest > lanes, (lanes / largest).max(1));
    // One column from another: of a single matrix that takes less time in place.
    if vectors && together == 1 && operands[0].strides[0] == 1 {
        return false;
    }
    let mut places = Vec::with_capacity(2 * k * 2 * lanes);
    for (l, v) in (0..k).flat_map(|l| (0..1 + pair as usize).map(move |v| (l, v))) {
        for operand in 0..2 {
            places.extend((v * lanes..(v + 1) * lanes).map(|lane| {
                let (number, i, j) = (lane / sizes[2], lane % m, lane / m % n);
                let [down, across, _] = operands[operand].strides;
                let [row, column] = [[i, l], [l, j]][operand];
                let place = number * sizes[operand] + row * down as usize + column * across as usize;
                // Lanes that hold no result read any.
                if number < together {
                    place as u32
                } else {
                    0
                }
            }));
        }
    }
    let at = |number: usize| (operands[0].at(0, 0, number), operands[1].at(0, 0, number));
    let each = IN_PLACE * together;
    for first in (0..b / together * together).step_by(each).chain([b / together * together]) {
        // As many whole vectors, and in the end what is left.
        let whole = each.min(b / together * together - first);
        let (count, matrices) = if whole > 0 { (whole / together, together) } else { (1, b - first) };
        if matrices == 0 {
            break;
        }
        stop::work(m * k * n * count * matrices / PRODUCTS);
        let ((x, y), c) = (at(first), out.wrapping_add(first * sizes[2]));
        (kernels.flat[pair as usize][vectors as usize])(&Flat {
            depth: k,
            count,
            a: x,
            b: y,
            c,
            sizes: sizes.map(|size| size * matrices),
            places: places.as_ptr(),
            end: c.wrapping_add(count * matrices * sizes[2]).cast_const(),
        });
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::math::Level;
    use crate::kernels::products::gemm::tests::Number;

    /// How the matrices of a batch lie: the strides of rows, columns and matrices, and the place of the first
    /// element in so many.
    fn lies(way: usize, [b, rows, columns]: [usize; 3]) -> ([isize; 3], usize, usize) {
        let [b, rows, columns] = [b, rows, columns].map(|size| size as isize);
        let all = (b * rows * columns) as usize;
        match way {
            // Side by side, and so transposed.
            0 => ([b, b * rows, 1], 0, all),
            1 => ([b * columns, b, 1], 0, all),
            // One after the other, and so transposed.
            2 => ([1, rows, rows * columns], 0, all),
            3 => ([columns, 1, rows * columns], 0, all),
            // The same for all.
            4 => ([1, rows, 0], 0, (rows * columns) as usize),
            // Backwards, and every second.
            5 => ([-1, -rows, -rows * columns], all - 1, all),
            _ => ([2 * b, 2 * b * rows, 2], 0, 2 * all),
        }
    }

    /// Holds both ways to lie for results to sums of one element each, bit for bit, at all levels.
    fn check<T: Number>([b, m, k, n]: [usize; 4], ways: [usize; 2]) {
        let numbers = |count: usize, seed: usize| -> Vec<T> {
            // Some products are NaN, and some vanish below zero.
            let number = |i: usize| match (i * 7919 + seed) % 1013 {
                0 => f64::NAN,
                x if x % 5 == 0 => -1e-30,
                x => x as f64 / 1013.0 - 0.5,
            };
            (0..count).map(|i| T::of(number(i))).collect()
        };
        let shapes = [[b, m, k], [b, k, n]];
        let [(left, at_left, many), (right, at_right, more)] = [0, 1].map(|i| lies(ways[i], shapes[i]));
        let (x, y) = (numbers(many, 1), numbers(more, 500));
        let operands = [
            Matrices { first: x[at_left..].as_ptr(), len: many - at_left, strides: left },
            Matrices { first: y[at_right..].as_ptr(), len: more - at_right, strides: right },
        ];
        let element = |number: usize, i: usize, j: usize, vectors: bool| {
            let sum = (0..k).fold(T::default(), |sum: T, l| {
                // SAFETY: elements of the operands.
                let [x, y] = unsafe { [*operands[0].at(i, l, number), *operands[1].at(l, j, number)] };
                if vectors {
                    // A product that is added to zero is rounded.
                    sum + T::default().plus_product(x, y)
                } else {
                    sum.plus_product(x, y)
                }
            });
            T::default() + sum
        };
        let same = |x: T, y: T| x.bits() == y.bits() || x != x && y != y;
        let levels = Level::ALL.iter().filter(|level| level.is_here());
        let kernels = levels.filter_map(|&level| T::kernels(level));
        for (kernels, vectors) in kernels.flat_map(|kernels| [(kernels, false), (kernels, true)]) {
            if vectors && n > 1 {
                continue;
            }
            let (mut beside, mut below) = (vec![T::of(7.0); b * m * n + 1], vec![T::of(7.0); b * m * n + 1]);
            let out = Target { first: beside.as_mut_ptr(), strides: [b, b * m] };
            // SAFETY: the elements are there, and so is the level.
            unsafe {
                all_beside(kernels, operands, [b, m, k, n], vectors, out, &mut Vec::new());
                all_below(kernels, operands, [b, m, k, n], vectors, below.as_mut_ptr(), &mut Vec::new());
            }
            for (number, i, j) in
                (0..b).flat_map(|number| (0..m).flat_map(move |i| (0..n).map(move |j| (number, i, j))))
            {
                let want = element(number, i, j, vectors);
                let made = [beside[number + (i + j * m) * b], below[i + (j + number * n) * m]];
                assert!(
                    made.iter().all(|&x| same(x, want)),
                    "{b} {m} {k} {n} {ways:?} {number} {i} {j} {made:?} {want:?} {}",
                    kernels.lanes
                );
            }
            assert!(
                [beside, below].iter().all(|made| made[b * m * n] == T::of(7.0)),
                "a neighbour was written"
            );
        }
    }

    #[test]
    fn each_product_of_a_batch_is_a_sum_in_order_however_matrices_lie() {
        let sizes = [
            [17, 1, 1, 1],
            [33, 2, 2, 2],
            [40, 3, 3, 3],
            [37, 4, 5, 4],
            [5, 5, 5, 5],
            [70, 8, 3, 7],
            [19, 17, 9, 13],
            [9, 1, 20, 6],
            [18, 33, 32, 2],
            [300, 5, 6, 1],
            [29, 2, 3, 4],
            [11, 1, 16, 1],
            [3, 4, 1, 4],
            [2, 2, 2, 3],
            [5, 37, 12, 1],
            [3, 9, 70, 1],
            [2, 5, 3, 1],
        ];
        for (sizes, ways) in sizes.into_iter().flat_map(|sizes| (0..49).map(move |i| (sizes, [i % 7, i / 7])))
        {
            check::<f32>(sizes, ways);
            check::<f64>(sizes, ways);
        }
    }
}
