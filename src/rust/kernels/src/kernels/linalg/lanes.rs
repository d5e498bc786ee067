//! Batches of small matrices, several of them at once: one in each lane of the processor's vectors.
//!
//! The algorithms have no branches that depend on elements; what a matrix needs and another one does not is
//! chosen by lane. A matrix never changes what comes out for its neighbours, and the bits are those of the
//! algorithms for one matrix.

use super::each::{dispatch_stored, Kind, Places};
use super::scalar::Real;
use super::triangular::Triangle;
use crate::dtype::{DType, Element};
use crate::kernels::cast;
use crate::kernels::threads::pool;
use crate::kernels::wide::{wide_loop, Loop};
use crate::tensor::{Layout, View, ViewMut};
use half::{bf16, f16};
use num_complex::Complex;
use std::ops::Range;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// Matrices that are computed at once.
pub const LANES: usize = 8;

/// Rows up to which matrices are computed in lanes.
pub const SMALL: usize = 16;

/// Matrices from which on that is faster than one after the other.
const FEW: usize = 3;

/// An element of each matrix.
pub type Lane<T> = [T; LANES];

/// Dense matrices and vectors of [`LANES`] examples, as [`Values`](super::each::Values) are those of one.
#[derive(Default)]
pub struct Values<T> {
    /// Matrices.
    pub scalars: Vec<Vec<Lane<T>>>,
    /// Vectors of real numbers.
    pub reals: Vec<Vec<Lane<T>>>,
    /// Vectors of integers.
    pub integers: Vec<Vec<Lane<i32>>>,
}

/// Whether the matrices of an operand, its last two axes, are computed in lanes.
pub fn suit(x: &View) -> bool {
    let (batch, _) = x.shape.split_at(x.shape.rank() - 2);
    fit(x, SMALL) && batch.iter().product::<usize>() >= FEW
}

/// Whether the matrices of an operand are real, and have elements and at most so many rows and columns.
pub fn fit(x: &View, most: usize) -> bool {
    let matrix = &x.shape[x.shape.rank() - 2..];
    !x.dtype.is_complex() && matrix.iter().all(|&size| (1..=most).contains(&size))
}

/// As [`each`](super::each::each), for real numbers, with [`LANES`] examples at a time. The last of them are one
/// example several times where the batch has not as many.
pub fn each<T: Real>(
    operands: &[View],
    axes: [&[usize]; 2],
    results: &mut [ViewMut],
    picoseconds: usize,
    run: impl Fn(&mut Values<T>, &mut Values<T>) + Sync,
) {
    each_of(operands, axes, results, picoseconds, &run)
}

/// As [`each`]: one for all that is called.
fn each_of<T: Real>(
    operands: &[View],
    axes: [&[usize]; 2],
    results: &mut [ViewMut],
    picoseconds: usize,
    run: &(dyn Fn(&mut Values<T>, &mut Values<T>) + Sync),
) {
    let from: Vec<Places> = operands
        .iter()
        .zip(axes[0])
        .map(|(x, &own)| Places::new(x.shape, &x.layout.strides, x.layout.offset, own))
        .collect();
    let to: Vec<Places> = results
        .iter()
        .zip(axes[1])
        .map(|(x, &own)| Places::new(x.shape, &Layout::dense(x.shape).strides, 0, own))
        .collect();
    let count = to[0].examples();
    if count == 0 {
        return;
    }
    let out: Vec<(AtomicPtr<u8>, usize, DType)> =
        results.iter_mut().map(|x| (AtomicPtr::new(x.data.as_mut_ptr()), x.data.len(), x.dtype)).collect();
    let shared = picoseconds.saturating_mul(count) / 4 >= pool::WORTH_SHARING;
    // Each piece is long enough to be worth a turn.
    let piece = (pool::WORTH_SHARING / picoseconds.max(1)).clamp(1, count).next_multiple_of(LANES);
    pool::for_each_piece(count.div_ceil(piece), shared, |number| {
        let end = count.min((number + 1) * piece);
        let (mut inputs, mut outputs) = (Values::<T>::default(), Values::<T>::default());
        room(&mut inputs, operands.iter().map(|x| x.dtype).zip(&from));
        room(&mut outputs, out.iter().map(|x| x.2).zip(&to));
        for start in (number * piece..end).step_by(LANES) {
            let examples = start..end.min(start + LANES);
            load(operands, &from, examples.clone(), &mut inputs);
            run(&mut inputs, &mut outputs);
            // SAFETY: examples have no elements in common, and each is in one piece.
            unsafe { store(&outputs, &to, &out, examples) };
        }
    });
}

/// Makes room for values of these types.
fn room<'a, T: Real>(values: &mut Values<T>, types: impl Iterator<Item = (DType, &'a Places)>) {
    for (dtype, places) in types {
        match places.kind(dtype) {
            Kind::Scalars => values.scalars.push(vec![[T::ZERO; LANES]; places.len()]),
            Kind::Reals => values.reals.push(vec![[T::ZERO; LANES]; places.len()]),
            Kind::Integers => values.integers.push(vec![[0; LANES]; places.len()]),
        }
    }
}

/// Copies the operands of some examples.
fn load<T: Real>(operands: &[View], from: &[Places], examples: Range<usize>, values: &mut Values<T>) {
    let mut seen = [0; 3];
    for (x, places) in operands.iter().zip(from) {
        let kind = places.kind(x.dtype);
        let number = seen[kind as usize];
        seen[kind as usize] += 1;
        let firsts = places.firsts::<LANES>(examples.clone());
        let out = match kind {
            Kind::Scalars => cast::bytes_mut(values.scalars[number].as_flattened_mut()),
            Kind::Reals => cast::bytes_mut(values.reals[number].as_flattened_mut()),
            Kind::Integers => cast::bytes_mut(values.integers[number].as_flattened_mut()),
        };
        dispatch_stored!(x.dtype, From, To => {
            gather::<From, To>(cast::slice(x.data), places, firsts, cast::slice_mut(out))
        })
    }
}

/// The elements of the matrices that start here.
fn gather<E: Element, T: Element>(data: &[E], places: &Places, firsts: [isize; LANES], out: &mut [T]) {
    let adjacent = firsts.iter().zip(firsts[0]..).all(|(&first, at)| first == at);
    places.each(|element, distance| {
        let out = &mut out[element * LANES..][..LANES];
        if adjacent {
            let from = &data[(firsts[0] + distance) as usize..][..LANES];
            out.iter_mut().zip(from).for_each(|(out, x)| *out = x.convert());
        } else {
            let from = firsts.iter().map(|first| data[(first + distance) as usize]);
            out.iter_mut().zip(from).for_each(|(out, x)| *out = x.convert());
        }
    });
}

/// Writes the results of some examples.
///
/// # Safety
/// Nobody else reads or writes elements of these examples.
unsafe fn store<T: Real>(
    values: &Values<T>,
    to: &[Places],
    out: &[(AtomicPtr<u8>, usize, DType)],
    examples: Range<usize>,
) {
    let mut seen = [0; 3];
    for (places, (data, len, dtype)) in to.iter().zip(out) {
        let kind = places.kind(*dtype);
        let number = seen[kind as usize];
        seen[kind as usize] += 1;
        let firsts = places.firsts::<LANES>(examples.clone());
        let values = match kind {
            Kind::Scalars => cast::bytes(values.scalars[number].as_flattened()),
            Kind::Reals => cast::bytes(values.reals[number].as_flattened()),
            Kind::Integers => cast::bytes(values.integers[number].as_flattened()),
        };
        dispatch_stored!(*dtype, To, From => {
            let (data, len) = (data.load(Relaxed).cast::<To>(), len / std::mem::size_of::<To>());
            // SAFETY: promised by the caller.
            unsafe { scatter::<To, From>(cast::slice(values), places, &firsts[..examples.len()], data, len) };
        })
    }
}

/// Writes the elements of the matrices that start here.
///
/// # Safety
/// `data` has `len` elements, and nobody else reads or writes those of these matrices.
unsafe fn scatter<E: Element, T: Element>(
    values: &[T],
    places: &Places,
    firsts: &[isize],
    data: *mut E,
    len: usize,
) {
    let adjacent = firsts.len() == LANES && firsts.iter().zip(firsts[0]..).all(|(&first, at)| first == at);
    places.each(|element, distance| {
        let values = &values[element * LANES..][..LANES];
        if adjacent {
            let at = (firsts[0] + distance) as usize;
            assert!(at + LANES <= len, "elements outside of the result");
            // SAFETY: elements of the result, as just checked.
            let to = unsafe { std::slice::from_raw_parts_mut(data.add(at), LANES) };
            to.iter_mut().zip(values).for_each(|(to, x)| *to = x.convert());
        } else {
            for (&first, x) in firsts.iter().zip(values) {
                let at = (first + distance) as usize;
                assert!(at < len, "an element outside of the result");
                // SAFETY: an element of the result, as just checked.
                unsafe { data.add(at).write(x.convert()) };
            }
        }
    });
}

/// Cholesky factors of the matrices `a [n, n]`, of which the lower triangle is read; 0 above the diagonal. If
/// not `lower`, it is the upper triangle, and 0 below. All elements are NaN if a pivot is not positive and
/// finite.
pub fn cholesky<T: Real>(a: &mut [Lane<T>], n: usize, lower: bool) {
    let turned = |a: &mut [Lane<T>]| {
        for (i, j) in (0..if lower { 0 } else { n }).flat_map(|j| (0..j).map(move |i| (i, j))) {
            a.swap(i + j * n, j + i * n);
        }
    };
    turned(a);
    wide_loop(Cholesky { a, n });
    turned(a);
}

struct Cholesky<'a, T> {
    a: &'a mut [Lane<T>],
    n: usize,
}

impl<T: Real> Loop for Cholesky<'_, T> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let Cholesky { a, n } = self;
        let (mut least, mut spoiled) = ([T::ONE; LANES], [T::ZERO; LANES]);
        for j in 0..n {
            for k in 0..j {
                let factor = a[j + k * n];
                for i in j..n {
                    let from = a[i + k * n];
                    let to = &mut a[i + j * n];
                    (0..LANES).for_each(|l| to[l] -= from[l] * factor[l]);
                }
            }
            let pivot = a[j + j * n];
            (0..LANES).for_each(|l| least[l] = if pivot[l] < least[l] { pivot[l] } else { least[l] });
            (0..LANES).for_each(|l| spoiled[l] += pivot[l] * T::ZERO);
            let root = pivot.map(Real::root);
            let inverse = root.map(|root| T::ONE / root);
            a[j + j * n] = root;
            for x in &mut a[j * n + j + 1..(j + 1) * n] {
                (0..LANES).for_each(|l| x[l] *= inverse[l]);
            }
            a[j * n..j * n + j].fill([T::ZERO; LANES]);
        }
        let spoiled = not_finite(&spoiled);
        let fails: [bool; LANES] = std::array::from_fn(|l| (least[l] <= T::ZERO) | spoiled[l]);
        if fails.contains(&true) {
            for x in a {
                (0..LANES).filter(|&l| fails[l]).for_each(|l| x[l] = T::of(f64::NAN));
            }
        }
    }
}

/// Whether one of the numbers was not finite of which this is the sum, each times 0. Vectors of the processor have no
/// instruction that asks for it.
#[inline(always)]
fn not_finite<T: Real>(sum: &Lane<T>) -> [bool; LANES] {
    sum.map(|x| x != T::ZERO)
}

/// LU factors of the matrices `a [m, n]`, and the numbers of the rows that are exchanged, as
/// [`lu::factorise`](super::lu::factorise) makes them.
pub fn lu<T: Real>(a: &mut [Lane<T>], sizes: [usize; 2], pivots: &mut [Lane<i32>]) {
    wide_loop(Lu { a, sizes, pivots })
}

struct Lu<'a, T> {
    a: &'a mut [Lane<T>],
    sizes: [usize; 2],
    pivots: &'a mut [Lane<i32>],
}

impl<T: Real> Loop for Lu<'_, T> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let Lu { a, sizes: [m, n], pivots } = self;
        for j in 0..m.min(n) {
            let (mut largest, mut row) = (a[j + j * m], [j as i32; LANES]);
            for i in j + 1..m {
                let x = a[i + j * m];
                for l in 0..LANES {
                    let (best, x) = (largest[l], x[l]);
                    // The first NaN is the largest of all: it spreads to the whole result.
                    let better = (best.abs() < x.abs()) | ((x != x) & (best == best));
                    largest[l] = if better { x } else { best };
                    row[l] = if better { i as i32 } else { row[l] };
                }
            }
            pivots[j] = row;
            for k in 0..n {
                let above = a[j + k * m];
                let mut moved = above;
                for i in j + 1..m {
                    let x = &mut a[i + k * m];
                    for l in 0..LANES {
                        let here = row[l] == i as i32;
                        moved[l] = if here { x[l] } else { moved[l] };
                        x[l] = if here { above[l] } else { x[l] };
                    }
                }
                a[j + k * m] = moved;
            }
            let pivot = largest;
            let inverse = pivot.map(|x| T::ONE / x);
            let whole = inverse.iter().all(|x| x.abs() < T::of(f64::INFINITY));
            for x in &mut a[j * m + j + 1..(j + 1) * m] {
                for l in 0..LANES {
                    x[l] = match whole {
                        true => x[l] * inverse[l],
                        false if pivot[l] == T::ZERO => x[l],
                        false if inverse[l].is_finite() => x[l] * inverse[l],
                        false => x[l] / pivot[l],
                    };
                }
            }
            for k in j + 1..n {
                let factor = a[j + k * m];
                for i in j + 1..m {
                    let from = a[i + j * m];
                    let to = &mut a[i + k * m];
                    for l in 0..LANES {
                        // A column without an element other than 0 is left as it is.
                        let updated = to[l] - from[l] * factor[l];
                        to[l] = if pivot[l] == T::ZERO { to[l] } else { updated };
                    }
                }
            }
        }
    }
}

/// The order of the rows that exchanges make, as [`lu::permutation`](super::lu::permutation).
pub fn permutation(pivots: &[Lane<i32>], order: &mut [Lane<i32>]) {
    order.iter_mut().zip(0..).for_each(|(order, i)| *order = [i; LANES]);
    for (i, rows) in pivots.iter().enumerate() {
        for (l, &row) in rows.iter().enumerate() {
            let here = order[i][l];
            order[i][l] = std::mem::replace(&mut order[row as usize][l], here);
        }
    }
}

/// Solves `triangle * x = b` for `x [n, m]`, which holds `b` before, where `triangle` is that of `a [n, n]` or,
/// if `transposed`, of its transpose; as [`triangular::solve`](super::triangular::solve).
pub fn solve<T: Real>(a: &[Lane<T>], transposed: bool, triangle: Triangle, n: usize, x: &mut [Lane<T>]) {
    wide_loop(Solve { a, transposed, triangle, n, x })
}

struct Solve<'a, T> {
    a: &'a [Lane<T>],
    transposed: bool,
    triangle: Triangle,
    n: usize,
    x: &'a mut [Lane<T>],
}

impl<T: Real> Loop for Solve<'_, T> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let Solve { a, transposed, triangle, n, x } = self;
        let [down, across] = if transposed { [n, 1] } else { [1, n] };
        let row = |i: usize| if triangle.lower { i } else { n - 1 - i };
        let mut inverse = [[T::ONE; LANES]; SMALL];
        let mut spoiled = [T::ZERO; LANES];
        if !triangle.unit {
            for (i, inverse) in inverse.iter_mut().enumerate().take(n) {
                *inverse = a[row(i) * (n + 1)].map(|x| T::ONE / x);
                (0..LANES).for_each(|l| spoiled[l] += inverse[l] * T::ZERO);
            }
        }
        let divides = not_finite(&spoiled);
        let divides_any = divides.contains(&true);
        for x in x.chunks_exact_mut(n) {
            for i in 0..n {
                let mut sum = x[row(i)];
                for k in 0..i {
                    let (factor, x) = (a[row(i) * down + row(k) * across], x[row(k)]);
                    (0..LANES).for_each(|l| sum[l] -= factor[l] * x[l]);
                }
                if !triangle.unit {
                    if divides_any {
                        // Reciprocals are not used where one of a matrix is out of range.
                        let by = a[row(i) * (n + 1)];
                        (0..LANES).filter(|&l| divides[l]).for_each(|l| sum[l] = sum[l] / by[l]);
                        (0..LANES).filter(|&l| !divides[l]).for_each(|l| sum[l] *= inverse[i][l]);
                    } else {
                        (0..LANES).for_each(|l| sum[l] *= inverse[i][l]);
                    }
                }
                x[row(i)] = sum;
            }
        }
    }
}
