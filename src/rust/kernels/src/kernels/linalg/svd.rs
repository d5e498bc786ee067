//! Singular values and vectors.
//!
//! The matrix is made bidiagonal ([`super::bidiagonal`]), a long one after its QR factorisation; the singular
//! value decomposition of that by divide and conquer (Gu and Eisenstat, *A divide-and-conquer algorithm for the
//! bidiagonal SVD*, 1995): the halves on both sides of a row are joined by the roots of a secular equation in
//! the squares of singular values ([`super::secular`]). Small ones by implicit QR sweeps (Golub and Reinsch,
//! *Singular value decomposition and least squares solutions*, 1970).

use super::bidiagonal::reduce;
use super::dqds::singular_values;
use super::eigen::scale_for;
use super::qr;
use super::scalar::{hypot, multiply, Real, Scalar};
use super::secular::{ascending, by_kind, roots, Squares};
use super::view::{MatMut, MatRef};
use crate::dtype::Element;
use crate::kernels::memory::zeroed;
use crate::kernels::products::matrix::Sums;
use crate::kernels::wide::{wide_loop, Loop};
use crate::stop;

/// Rows up to which a bidiagonal matrix is not divided.
const BASE: usize = 25;

/// Singular values of `a [m, n]`, column-major with `m >= n`, descending. `vectors` become the left and right
/// ones, as columns: of the left ones the first `n` or all `m`. Gives whether that was possible: it is not if an
/// element is not finite.
pub fn tall<T: Scalar>(
    mut a: Vec<T>,
    [m, n]: [usize; 2],
    values: &mut [T::Real],
    vectors: Option<[MatMut<T>; 2]>,
) -> bool {
    let largest = a.iter().try_fold(0.0, |most: f64, &x| {
        let size = x.re().f64().abs().max(x.im().f64().abs());
        (x.is_finite()).then(|| most.max(size))
    });
    let Some(largest) = largest else { return false };
    let scale = scale_for::<T>(largest);
    if scale != 1.0 {
        a.iter_mut().for_each(|x| *x = x.times(T::Real::from_f64(scale)));
    }
    // A long matrix is made square first.
    let mut long;
    let mut reflectors = None;
    let reduced = if m > n + n / 2 && n > 0 {
        let mut square = zeroed::<T>(n * n);
        long = a;
        reflectors =
            Some(qr::factorise(MatMut::new(&mut long, [m, n], m), MatMut::new(&mut square, [n, n], n)));
        reduce(square, [n, n])
    } else {
        reduce(a, [m, n])
    };
    let (mut d, mut e) = (reduced.diagonal.clone(), reduced.above.clone());
    // The values beside vectors are those without, to the last bit. Those of single precision need no more than that.
    let mut alone = d.clone();
    if !singular_values(&mut alone, &e, T::Real::EPSILON) {
        return false;
    }
    let order = ascending(&alone, (0..n).collect());
    let found: Vec<f64> = order.iter().rev().map(|&i| alone[i]).collect();
    match vectors {
        None => {}
        Some([mut u, mut v]) => {
            let (mut left, mut right) = (zeroed::<T::Real>(n * n), zeroed::<T::Real>(n * n));
            let halves = [MatMut::new(&mut left, [n, n], n), MatMut::new(&mut right, [n, n], n)];
            if !divide(&mut d, &mut e, halves) {
                return false;
            }
            u.fill(T::ZERO);
            for j in 0..n {
                let from = n - 1 - j;
                u.column(j).iter_mut().zip(&left[from * n..][..n]).for_each(|(u, &x)| *u = T::real(x));
                v.column(j).iter_mut().zip(&right[from * n..][..n]).for_each(|(v, &x)| *v = T::real(x));
            }
            (n..u.columns()).for_each(|j| u.set(j, j, T::ONE));
            let columns = u.columns();
            if reflectors.is_some() {
                reduced.transform_left(u.again().block(0..n, 0..n));
            } else {
                reduced.transform_left(u.again());
            }
            if let Some(reflectors) = &mut reflectors {
                reflectors.apply(u.block(0..m, 0..columns), false);
            }
            reduced.transform_right(v);
        }
    }
    values.iter_mut().zip(&found).for_each(|(out, &x)| *out = T::Real::from_f64(x / scale));
    true
}

/// Singular values, ascending, of the upper bidiagonal matrix with the diagonal `d` and `e` above it, which has
/// a column more than rows if `e` is as long as `d`. `u` and `v` become the matrices of its left and right
/// singular vectors; the last column of `v` spans the null space, if there is that column more.
fn divide<R: Real>(d: &mut [f64], e: &mut [f64], [mut u, mut v]: [MatMut<R>; 2]) -> bool {
    let (n, columns) = (d.len(), v.columns());
    if n <= BASE {
        return small(d, e, [u, v]);
    }
    stop::work(n * n);
    let half = n / 2;
    let (alpha, beta) = (d[half], e[half]);
    u.fill(R::ZERO);
    v.fill(R::ZERO);
    {
        let ((d1, d2), (e1, e2)) = (d.split_at_mut(half), e.split_at_mut(half));
        let (u1, u2) = {
            let [[first, _], [_, last]] = u.again().split(half, half);
            (first, last)
        };
        let [[v1, _], [_, v2]] = v.again().split(half + 1, half + 1);
        let rows = n - half - 1;
        let u2 = u2.block(1..rows + 1, 1..rows + 1);
        if !(divide(d1, e1, [u1, v1]) && divide(&mut d2[1..], &mut e2[1..], [u2, v2])) {
            return false;
        }
    }
    u.set(half, half, R::ONE);
    // The row between the halves, in the basis of the right singular vectors.
    let mut z: Vec<f64> = (0..n)
        .map(|j| if j <= half { alpha * v.at(half, j).f64() } else { beta * v.at(half + 1, j).f64() })
        .collect();
    if columns > n {
        // The null vectors of both halves become one, and one that the row does not see.
        let other = beta * v.at(half + 1, n).f64();
        let size = hypot(z[half], other);
        if size > 0.0 {
            rotate(v.two_columns(half, n), z[half] / size, other / size);
            z[half] = size;
        }
    }
    d[half] = 0.0;
    join(d, z, half, alpha.abs().max(beta.abs()), [u, v])
}

/// `x` becomes `c * x + s * y`, `y` becomes `c * y - s * x`.
fn rotate<R: Real>([x, y]: [&mut [R]; 2], c: f64, s: f64) {
    let (c, s) = (R::from_f64(c), R::from_f64(s));
    for (x, y) in x.iter_mut().zip(y) {
        (*x, *y) = (c * *x + s * *y, c * *y - s * *x);
    }
}

/// Joins two halves: the singular values of the matrix with the row `z` and `d` on the diagonal, where `d[half]`
/// is 0.
fn join<R: Real>(
    d: &mut [f64],
    mut z: Vec<f64>,
    half: usize,
    row: f64,
    [mut u, mut v]: [MatMut<R>; 2],
) -> bool {
    let n = d.len();
    let largest = d.iter().fold(row, |most: f64, x| most.max(x.abs()));
    if largest == 0.0 {
        return true;
    }
    let small = 64.0 * R::EPSILON * largest;
    if !small.is_finite() {
        return false;
    }
    let mut kind: Vec<usize> = (0..n).map(|i| if i < half { 0 } else { 2 }).collect();
    kind[half] = 1;
    let sorted = ascending(d, (0..n).filter(|&i| i != half).collect());
    let (mut kept, mut rest, mut last): (Vec<usize>, Vec<usize>, Option<usize>) = (vec![half], vec![], None);
    for now in sorted {
        if z[now].abs() <= small {
            rest.push(now);
            continue;
        }
        let Some(before) = last.replace(now) else { continue };
        if d[now] - d[before] > small {
            kept.push(before);
            continue;
        }
        let size = hypot(z[now], z[before]);
        let (c, s) = (z[now] / size, -z[before] / size);
        (z[now], z[before]) = (size, 0.0);
        if kind[now] != kind[before] {
            kind[now] = 1;
        }
        rotate(u.two_columns(before, now), c, s);
        rotate(v.two_columns(before, now), c, s);
        rest.push(before);
    }
    kept.extend(last);
    // Zero is a pole, from which the next one keeps a distance, and its element of `z` is not 0.
    if z[half].abs() <= small {
        z[half] = small.max(f64::MIN_POSITIVE);
    }
    let mut poles: Vec<f64> = kept.iter().map(|&i| d[i]).collect();
    if let Some(next) = poles.get_mut(1) {
        *next = next.max(small / 2.0);
    }
    let weights: Vec<f64> = kept.iter().map(|&i| z[i]).collect();
    let k = kept.len();
    let rows = by_kind(&kind, &kept);
    let kinds = [0, 1, 2].map(|is| kept.iter().filter(|&&i| kind[i] == is).count());
    // In units of the largest, whose square may be out of range.
    let scaled = |x: &[f64]| x.iter().map(|x| x / largest).collect::<Vec<f64>>();
    let (poles, weights) = (scaled(&poles), scaled(&weights));
    let square = weights.iter().map(|z| z * z).sum::<f64>();
    let size = square.sqrt();
    let unit: Vec<f64> = weights.iter().map(|z| z / size).collect();
    let Some(found) = roots(&poles, &unit, square, Squares) else { return false };
    let order: Vec<usize> = rows.iter().map(|&row| kept[row]).collect();
    let factors: Vec<f64> = std::iter::once(f64::NAN).chain(poles[1..].iter().copied()).collect();
    // Left vectors are those of d * z: the element of the row itself is -1, for the exact z.
    let right = found.columns::<R>(&rows, None);
    let left = found.columns::<R>(&rows, Some(&factors));
    let values: Vec<f64> = found.values.iter().map(|x| x * largest).collect();
    // Where columns go: new ones, then those that stay.
    let all: Vec<f64> = values.into_iter().chain(rest.iter().map(|&i| d[i])).collect();
    let places = ascending(&all, (0..n).collect());
    let sorted: Vec<f64> = places.iter().map(|&from| all[from]).collect();
    combine(u.again().block(0..n, 0..n), [half, half + 1], &order, kinds, &rest, &left, &places);
    let lines = v.rows();
    combine(v.block(0..lines, 0..n), [half + 1, half + 1], &order, kinds, &rest, &right, &places);
    // The middle row of the left vectors belongs to neither half.
    let middle = rows.iter().position(|&row| row == 0).expect("zero is always a pole");
    for (j, &from) in places.iter().enumerate() {
        if from < k {
            u.set(half, j, left[from * k + middle]);
        }
    }
    d.copy_from_slice(&sorted);
    true
}

/// Products of the vectors of both halves, of which the upper one has the rows before the first number, the
/// lower one those from the second on, with the vectors of the joined matrix. Of the columns in `order` some have
/// elements in the upper half only, then some in both, then some in the lower half only; those in `rest` stay.
/// `places` says which comes where.
fn combine<R: Real>(
    mut q: MatMut<R>,
    [top, bottom]: [usize; 2],
    order: &[usize],
    [upper, both, lower]: [usize; 3],
    rest: &[usize],
    vectors: &[R],
    places: &[usize],
) {
    let (m, k) = (q.rows(), order.len());
    let below = m - bottom;
    let (mut first, mut last) = (zeroed::<R>(top * (upper + both)), zeroed::<R>(below * (both + lower)));
    for (&from, out) in order[..upper + both].iter().zip(first.chunks_exact_mut(top.max(1))) {
        out.copy_from_slice(&q.column(from)[..top]);
    }
    for (&from, out) in order[upper..].iter().zip(last.chunks_exact_mut(below.max(1))) {
        out.copy_from_slice(&q.column(from)[bottom..]);
    }
    let kept: Vec<Vec<R>> = rest.iter().map(|&from| q.column(from).to_vec()).collect();
    let mut made = zeroed::<R>(m * k);
    let vectors = MatRef::new(vectors, [k, k], k);
    let mut out = MatMut::new(&mut made, [m, k], m);
    multiply(
        out.again().block(0..top, 0..k),
        MatRef::new(&first, [top, upper + both], top),
        vectors.block(0..upper + both, 0..k),
        Sums::Set,
    );
    multiply(
        out.block(bottom..m, 0..k),
        MatRef::new(&last, [below, both + lower], below),
        vectors.block(upper..k, 0..k),
        Sums::Set,
    );
    for (j, &from) in places.iter().enumerate() {
        q.column(j).copy_from_slice(if from < k { &made[from * m..][..m] } else { &kept[from - k] });
    }
}

/// [`divide`] of a small matrix, by sweeps.
fn small<R: Real>(d: &mut [f64], e: &mut [f64], [mut u, mut v]: [MatMut<R>; 2]) -> bool {
    let (n, columns) = (d.len(), v.columns());
    let identity = |n: usize| {
        let mut out = vec![0.0; n * n];
        (0..n).for_each(|i| out[i * n + i] = 1.0);
        out
    };
    let (mut left, mut right) = (identity(n), identity(columns));
    if columns > n {
        // The last column is rotated away, from the last row up.
        let mut beyond = e[n - 1];
        for i in (0..n).rev() {
            let size = hypot(d[i], beyond);
            if beyond == 0.0 || size == 0.0 {
                break;
            }
            let (c, s) = (d[i] / size, beyond / size);
            d[i] = size;
            if i > 0 {
                (e[i - 1], beyond) = (c * e[i - 1], -s * e[i - 1]);
            }
            let (head, tail) = right.split_at_mut(n * columns);
            for (x, y) in head[i * columns..][..columns].iter_mut().zip(tail) {
                (*x, *y) = (c * *x + s * *y, c * *y - s * *x);
            }
        }
    }
    let above = &e[..n.saturating_sub(1)];
    if !wide_loop(Sweeps { d, above, u: (&mut left, n), v: (&mut right, columns) }) {
        return false;
    }
    let order = ascending(d, (0..n).collect());
    let sorted: Vec<f64> = order.iter().map(|&i| d[i]).collect();
    d.copy_from_slice(&sorted);
    for (j, &from) in order.iter().enumerate() {
        u.column(j).iter_mut().zip(&left[from * n..]).for_each(|(u, &x)| *u = R::from_f64(x));
        v.column(j).iter_mut().zip(&right[from * columns..]).for_each(|(v, &x)| *v = R::from_f64(x));
    }
    if columns > n {
        v.column(n).iter_mut().zip(&right[n * columns..]).for_each(|(v, &x)| *v = R::from_f64(x));
    }
    true
}

/// Columns of a dense matrix, with their length.
type Columns<'a> = (&'a mut [f64], usize);

/// Rotates columns `i` and `j`: the first becomes `c * x + s * y`, the other `c * y - s * x`.
#[inline(always)]
fn turn((data, n): &mut Columns, i: usize, j: usize, c: f64, s: f64) {
    let (head, tail) = data.split_at_mut(j * *n);
    for (x, y) in head[i * *n..][..*n].iter_mut().zip(tail) {
        (*x, *y) = (c * *x + s * *y, c * *y - s * *x);
    }
}

/// Singular values of a square upper bidiagonal matrix, in any order; rotations are applied to the columns of
/// the left and right vectors. False if one does not converge.
struct Sweeps<'a> {
    d: &'a mut [f64],
    above: &'a [f64],
    u: Columns<'a>,
    v: Columns<'a>,
}

impl Loop for Sweeps<'_> {
    type Made = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Sweeps { d, above, mut u, mut v } = self;
        /// Sweeps for one singular value, at most: two are usual.
        const SWEEPS: usize = 75;
        let n = d.len();
        // `e[i]` is above `d[i]`; the first is 0.
        let mut e: Vec<f64> = std::iter::once(0.0).chain(above.iter().copied()).collect();
        let size = d.iter().zip(&e).fold(0.0, |most: f64, (d, e)| most.max(d.abs() + e.abs()));
        let small = f64::EPSILON / 2.0 * size;
        for k in (0..n).rev() {
            for sweep in 0.. {
                if sweep > SWEEPS {
                    return false;
                }
                stop::work(k);
                // The block that ends at `k`: up to a zero above the diagonal, or below one on it.
                let mut l = k;
                let cancels = loop {
                    if e[l].abs() <= small {
                        break false;
                    }
                    if d[l - 1].abs() <= small {
                        break true;
                    }
                    l -= 1;
                };
                if cancels {
                    // A zero on the diagonal: its row is rotated away.
                    let (mut c, mut s) = (0.0, 1.0);
                    for i in l..=k {
                        let f = s * e[i];
                        e[i] *= c;
                        if f.abs() <= small {
                            break;
                        }
                        let g = d[i];
                        let h = hypot(f, g);
                        d[i] = h;
                        (c, s) = (g / h, -f / h);
                        turn(&mut u, l - 1, i, c, s);
                    }
                }
                let z = d[k];
                if l == k {
                    if z < 0.0 {
                        d[k] = -z;
                        let (data, n) = &mut v;
                        data[k * *n..(k + 1) * *n].iter_mut().for_each(|x| *x = -*x);
                    }
                    break;
                }
                // The shift, from the last two rows.
                let (mut x, y, mut g, h) = (d[l], d[k - 1], e[k - 1], e[k]);
                let mut f = ((y - z) * (y + z) + (g - h) * (g + h)) / (2.0 * h * y);
                g = hypot(f, 1.0);
                f = ((x - z) * (x + z) + h * (y / (f + g.copysign(f)) - h)) / x;
                let (mut c, mut s) = (1.0, 1.0);
                for j in l..k {
                    let i = j + 1;
                    let (mut g, mut y) = (e[i], d[i]);
                    let mut h = s * g;
                    g *= c;
                    let mut z = hypot(f, h);
                    e[j] = z;
                    (c, s) = if z == 0.0 { (1.0, 0.0) } else { (f / z, h / z) };
                    f = x * c + g * s;
                    g = g * c - x * s;
                    h = y * s;
                    y *= c;
                    turn(&mut v, j, i, c, s);
                    z = hypot(f, h);
                    d[j] = z;
                    if z != 0.0 {
                        (c, s) = (f / z, h / z);
                    }
                    f = c * g + s * y;
                    x = c * y - s * g;
                    turn(&mut u, j, i, c, s);
                }
                e[l] = 0.0;
                e[k] = f;
                d[k] = x;
            }
        }
        true
    }
}
