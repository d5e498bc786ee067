//! Updates of rank one: eigenvalues and eigenvectors of `diag(d) + rho * z * z^T`.
//!
//! Eigenvalues are the roots of the secular equation `1 + rho * sum(z^2 / (d - x)) = 0`, one between two
//! elements of `d` and one above the last. Each is found as its distance from the nearer one, by rational
//! interpolation (Li, *Solving secular equations stably and efficiently*, 1993). The vector `z` is then
//! replaced by the one for which these roots are exact, so that eigenvectors are orthogonal however close
//! eigenvalues are (Gu and Eisenstat, 1994).

use super::reflector::LANES;
use super::scalar::{hypot, Real};
use super::view::MatMut;
use crate::kernels::memory::zeroed;
use crate::kernels::threads::pool;
use crate::kernels::wide::{wide_loop, Loop};

/// The parts of two joined halves.
pub struct Joined<R> {
    /// Columns of the halves that take part in the update, by their kind.
    pub order: Vec<usize>,
    /// How many of these have elements in the upper half only, in both, and in the lower half only.
    pub kinds: [usize; 3],
    /// The eigenvectors of the update: rows in that order.
    pub vectors: Vec<R>,
    /// Its eigenvalues, ascending.
    pub values: Vec<f64>,
    /// Columns that stay as they are, with their eigenvalues.
    pub rest: Vec<usize>,
}

/// The eigenvalues and eigenvectors of `q * (diag(d) + rho * z * z^T) * q^T` for `rho > 0`, where `z` has the
/// norm of `sqrt(2)`, and `d` is ascending in the first `half` and in the rest. Where two elements of `d` are so
/// close, or one of `z` is so small, that it makes no difference to the matrix, a column of `q` is an
/// eigenvector; two columns are rotated for that. `None` if a root is not found, as where something is NaN.
pub fn join<R: Real>(d: &mut [f64], z: &[f64], rho: f64, half: usize, mut q: MatMut<R>) -> Option<Joined<R>> {
    let n = d.len();
    let rho = 2.0 * rho;
    let mut z: Vec<f64> = z.iter().map(|z| z * std::f64::consts::FRAC_1_SQRT_2).collect();
    let sorted = ascending(d, (0..n).collect());
    let largest = |x: &[f64]| x.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let small = 8.0 * R::EPSILON * largest(d).max(largest(&z));
    if !small.is_finite() {
        return None;
    }
    let mut kind: Vec<usize> = (0..n).map(|i| if i < half { 0 } else { 2 }).collect();
    let (mut kept, mut rest, mut last) = (vec![], vec![], None);
    for now in sorted {
        if rho * z[now].abs() <= small {
            rest.push(now);
            continue;
        }
        let Some(before) = last.replace(now) else { continue };
        let size = hypot(z[now], z[before]);
        let (c, s) = (z[now] / size, -z[before] / size);
        let distance = d[now] - d[before];
        if (distance * c * s).abs() > small {
            kept.push(before);
            continue;
        }
        (z[now], z[before]) = (size, 0.0);
        if kind[now] != kind[before] {
            kind[now] = 1;
        }
        let (cosine, sine) = (R::from_f64(c), R::from_f64(s));
        let [x, y] = q.two_columns(before, now);
        for (x, y) in x.iter_mut().zip(y) {
            (*x, *y) = (cosine * *x + sine * *y, cosine * *y - sine * *x);
        }
        (d[before], d[now]) = (d[before] * c * c + d[now] * s * s, d[before] * s * s + d[now] * c * c);
        rest.push(before);
    }
    kept.extend(last);
    let poles: Vec<f64> = kept.iter().map(|&i| d[i]).collect();
    let weights: Vec<f64> = kept.iter().map(|&i| z[i]).collect();
    // Rows of the eigenvectors go by kind.
    let rows = by_kind(&kind, &kept);
    let kinds = [0, 1, 2].map(|is| kept.iter().filter(|&&i| kind[i] == is).count());
    let (values, vectors) = vectors::<R>(&poles, &weights, rho, &rows)?;
    Some(Joined { order: rows.iter().map(|&row| kept[row]).collect(), kinds, vectors, values, rest })
}

/// Positions in the order of the numbers there. Not generic: a sort is much code, and what calls it is compiled
/// for each type of elements.
pub(super) fn ascending(d: &[f64], mut positions: Vec<usize>) -> Vec<usize> {
    positions.sort_by(|&i, &j| d[i].total_cmp(&d[j]));
    positions
}

/// The rows of what is kept, in the order of the kinds, of which there are three.
pub(super) fn by_kind(kind: &[usize], kept: &[usize]) -> Vec<usize> {
    (0..3).flat_map(|is| (0..kept.len()).filter(move |&row| kind[kept[row]] == is)).collect()
}

/// About how long an element of the sums of the secular equation takes for one root, in picoseconds.
const TERM: usize = 8_000;

/// What the elements of `d` stand for.
pub trait Poles: Copy + Sync {
    /// The difference of the poles of two elements.
    fn difference(self, x: f64, y: f64) -> f64;
    /// The element of a root at this distance from the pole of `d`.
    fn root(self, d: f64, distance: f64) -> f64;
}

/// Poles as they are.
#[derive(Clone, Copy)]
pub struct Plain;

impl Poles for Plain {
    #[inline(always)]
    fn difference(self, x: f64, y: f64) -> f64 {
        x - y
    }
    #[inline(always)]
    fn root(self, d: f64, distance: f64) -> f64 {
        d + distance
    }
}

/// Squares: roots are those of singular values, given as their square roots.
#[derive(Clone, Copy)]
pub struct Squares;

impl Poles for Squares {
    #[inline(always)]
    fn difference(self, x: f64, y: f64) -> f64 {
        (x - y) * (x + y)
    }
    #[inline(always)]
    fn root(self, d: f64, distance: f64) -> f64 {
        (d * d + distance).max(0.0).sqrt()
    }
}

/// The roots of a secular equation, and what eigenvectors are made of.
pub struct Roots {
    /// The roots, ascending.
    pub values: Vec<f64>,
    /// The vector `z` for which they are exact.
    pub exact: Vec<f64>,
    distances: Vec<f64>,
}

impl Roots {
    /// The distances of all poles from a root.
    pub fn distances(&self, root: usize) -> &[f64] {
        let k = self.values.len();
        &self.distances[root * (k + 1)..][..k]
    }

    /// A matrix with a column for each root, of norm 1: `z / distance`, times a factor for each pole if there
    /// are some. Row `i` is the one of pole `rows[i]`. A factor of NaN stands for an element of -1.
    pub fn columns<R: Real>(&self, rows: &[usize], factors: Option<&[f64]>) -> Vec<R> {
        let k = self.values.len();
        let mut out = zeroed::<R>(k * k);
        pool::for_each_chunk(&mut out, k.max(1), k * k * 2_000, |j, out| {
            wide_loop(Column { exact: &self.exact, distances: self.distances(j), factors, rows, out });
        });
        out
    }
}

/// Eigenvalues and eigenvectors of `diag(d) + rho * z * z^T` for ascending `d` and `z` without zeros. Row `i` of
/// the eigenvectors is the one of `d[rows[i]]`.
fn vectors<R: Real>(d: &[f64], z: &[f64], rho: f64, rows: &[usize]) -> Option<(Vec<f64>, Vec<R>)> {
    let roots = roots(d, z, rho, Plain)?;
    let columns = roots.columns(rows, None);
    Some((roots.values, columns))
}

/// The roots of `1 + rho * sum(z^2 / (p - x)) = 0` for ascending poles `p`, and `z` without zeros. The
/// elements of `d` stand for poles as `P` says, and so do the roots. `None` if one is not found.
pub fn roots<P: Poles>(d: &[f64], z: &[f64], rho: f64, poles: P) -> Option<Roots> {
    let k = d.len();
    let squares: Vec<f64> = z.iter().map(|z| z * z).collect();
    // Column `j`: the distances of all poles from root `j`, and after them the root.
    let mut distances = zeroed::<f64>((k + 1) * k);
    pool::for_each_chunk(&mut distances, k + 1, k * k * TERM, |j, column| {
        let (distances, root) = column.split_at_mut(k);
        root[0] = wide_loop(Root { d, squares: &squares, rho, j, distances, poles });
    });
    let values: Vec<f64> = distances.chunks_exact(k + 1).map(|column| column[k]).collect();
    if values.iter().any(|x| x.is_nan()) {
        return None;
    }
    let mut products = vec![1.0; k];
    const ROWS: usize = 256;
    pool::for_each_chunk(&mut products, ROWS, k * k * 1_000, |i, products| {
        let start = i * ROWS;
        wide_loop(Products { d, distances: &distances, start, products, poles });
    });
    let exact = products.iter().zip(z).map(|(x, z)| (-x).max(0.0).sqrt().copysign(*z)).collect();
    Some(Roots { values, exact, distances })
}

/// `z^2` for which the roots are exact, with the opposite sign, for some rows.
struct Products<'a, P> {
    poles: P,
    d: &'a [f64],
    distances: &'a [f64],
    start: usize,
    products: &'a mut [f64],
}

impl<P: Poles> Loop for Products<'_, P> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let Products { poles, d, distances, start, products } = self;
        let (k, end) = (d.len(), start + products.len());
        let mine = &d[start..end];
        for (j, column) in distances.chunks_exact(k + 1).enumerate() {
            let pole = d[j];
            for ((out, &distance), &d) in products.iter_mut().zip(&column[start..end]).zip(mine) {
                // The pole itself has no factor below.
                let below = if d == pole { 1.0 } else { poles.difference(d, pole) };
                *out *= distance / below;
            }
        }
    }
}

/// A column of eigenvectors.
struct Column<'a, R> {
    exact: &'a [f64],
    distances: &'a [f64],
    factors: Option<&'a [f64]>,
    rows: &'a [usize],
    out: &'a mut [R],
}

impl<R: Real> Loop for Column<'_, R> {
    type Made = ();

    #[inline(always)]
    fn run(self) {
        let Column { exact, distances, factors, rows, out } = self;
        let mut quotients: Vec<f64> = exact.iter().zip(distances).map(|(z, x)| z / x).collect();
        if let Some(factors) = factors {
            let with = |x: f64, by: f64| if by.is_nan() { -1.0 } else { x * by };
            quotients.iter_mut().zip(factors).for_each(|(x, &by)| *x = with(*x, by));
        }
        let mut sums = [0.0; LANES];
        for part in quotients.chunks(LANES) {
            sums.iter_mut().zip(part).for_each(|(sum, x)| *sum += x * x);
        }
        let inverse = 1.0 / sums.into_iter().sum::<f64>().sqrt();
        out.iter_mut().zip(rows).for_each(|(out, &row)| *out = R::from_f64(quotients[row] * inverse));
    }
}

/// Root `j`; `distances` becomes those of all poles from it. NaN if it is not found.
struct Root<'a, P> {
    poles: P,
    d: &'a [f64],
    squares: &'a [f64],
    rho: f64,
    j: usize,
    distances: &'a mut [f64],
}

/// The sum over some poles, and its derivative.
#[inline(always)]
fn half(squares: &[f64], distances: &[f64]) -> [f64; 2] {
    let (mut value, mut slope) = ([0.0; LANES], [0.0; LANES]);
    let (mut zs, mut xs) = (squares.chunks_exact(LANES), distances.chunks_exact(LANES));
    for (z, x) in (&mut zs).zip(&mut xs) {
        // One loop for each vector: the compiler makes vectors of no more than one at a time.
        let inverse: [f64; LANES] = std::array::from_fn(|l| 1.0 / x[l]);
        let terms: [f64; LANES] = std::array::from_fn(|l| z[l] * inverse[l]);
        value.iter_mut().zip(terms).for_each(|(value, term)| *value += term);
        slope.iter_mut().zip(terms).zip(inverse).for_each(|((slope, x), y)| *slope += x * y);
    }
    for (l, (z, x)) in zs.remainder().iter().zip(xs.remainder()).enumerate() {
        let inverse = 1.0 / x;
        let term = z * inverse;
        value[l] += term;
        slope[l] += term * inverse;
    }
    [value.into_iter().sum::<f64>(), slope.into_iter().sum::<f64>()]
}

/// The sum over poles up to one, the sum over the others, and the derivatives of both.
#[inline(always)]
fn sums(squares: &[f64], distances: &[f64], at: usize) -> [f64; 4] {
    let [psi, slope_psi] = half(&squares[..at], &distances[..at]);
    let [phi, slope_phi] = half(&squares[at..], &distances[at..]);
    [psi, phi, slope_psi, slope_phi]
}

impl<P: Poles> Loop for Root<'_, P> {
    type Made = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        /// Steps, at most: four are usual, and bisection ends within these.
        const STEPS: usize = 200;
        let Root { poles, d, squares, rho, j, distances } = self;
        let (k, inverse) = (d.len(), 1.0 / rho);
        let is_last = j + 1 == k;
        if k == 1 {
            let x = rho * squares[0];
            distances[0] = -x;
            return poles.root(d[0], x);
        }
        // The two poles that are interpolated, the first of the upper sum, and the width of the interval.
        let (lower, upper) = if is_last { (j - 1, j) } else { (j, j + 1) };
        let width =
            if is_last { rho * squares.iter().sum::<f64>() } else { poles.difference(d[j + 1], d[j]) };
        let middle = width / 2.0;
        let place = |distances: &mut [f64], origin: f64, x: f64| {
            distances.iter_mut().zip(d).for_each(|(out, d)| *out = poles.difference(*d, origin) - x);
        };
        place(distances, d[j], middle);
        let [psi, phi, ..] = sums(squares, distances, upper);
        let at_middle = inverse + psi + phi;
        // The pole that the root is measured from, and what it lies between.
        let right = !is_last && at_middle < 0.0;
        let origin = d[if right { j + 1 } else { j }];
        let (mut low, mut high) = match (is_last, right) {
            (true, _) if at_middle < 0.0 => (middle, width),
            (_, true) => (-middle, 0.0),
            _ => (0.0, middle),
        };
        // The first guess: the two poles as they are, the sum of all others as in the middle.
        let (first, second) = (squares[lower], squares[upper]);
        let mut x = if is_last {
            (low + high) / 2.0
        } else {
            let others = at_middle - first / distances[lower] - second / distances[upper];
            let (a, b) = if right {
                (-others * width + first + second, second * width)
            } else {
                (others * width + first + second, first * width)
            };
            let root =
                if right { (a * a + 4.0 * b * others).abs() } else { (a * a - 4.0 * b * others).abs() }
                    .sqrt();
            match (right, a > 0.0) {
                (false, true) => 2.0 * b / (a + root),
                (false, false) => (a - root) / (2.0 * others),
                (true, true) => -2.0 * b / (a + root),
                (true, false) => (a - root) / (2.0 * others),
            }
        };
        if !(low < x && x < high) {
            x = (low + high) / 2.0;
        }
        let (mut fixed, mut before) = (!is_last, f64::INFINITY);
        for _ in 0..STEPS {
            place(distances, origin, x);
            let [psi, phi, slope_psi, slope_phi] = sums(squares, distances, upper);
            let value = inverse + psi + phi;
            let slope = slope_psi + slope_phi;
            let error = 8.0 * (psi.abs() + phi.abs()) + 2.0 * inverse + x.abs() * slope;
            if value.abs() <= f64::EPSILON / 2.0 * error {
                return poles.root(origin, x);
            }
            if value.is_nan() {
                return f64::NAN;
            }
            if value < 0.0 {
                low = x;
            } else {
                high = x;
            }
            if high - low <= f64::EPSILON * low.abs().min(high.abs()) {
                return poles.root(origin, x);
            }
            if value.abs() > before / 10.0 && !is_last {
                fixed = !fixed;
            }
            before = value.abs();
            let (near, far) = (distances[lower], distances[upper]);
            let c = match (fixed, right) {
                (false, _) => value - near * slope_psi - far * slope_phi,
                (true, false) => {
                    value - far * slope + poles.difference(d[upper], d[lower]) * (first / near) / near
                }
                (true, true) => {
                    value - near * slope - poles.difference(d[upper], d[lower]) * (second / far) / far
                }
            };
            let a = (near + far) * value - near * far * slope;
            let b = near * far * value;
            let root = (a * a - 4.0 * b * c).max(0.0).sqrt();
            let [one, other] = if a <= 0.0 {
                [(a - root) / (2.0 * c), 2.0 * b / (a - root)]
            } else {
                [2.0 * b / (a + root), (a + root) / (2.0 * c)]
            };
            // The root lies where the sign of the value says, and within the interval.
            let inside = |step: f64| step * value < 0.0 && low < x + step && x + step < high;
            x = match (inside(one), inside(other)) {
                (true, true) if one.abs() > other.abs() => x + other,
                (true, _) => x + one,
                (false, true) => x + other,
                _ if low == 0.0 && high > 0.0 => high / 16.0,
                _ if high == 0.0 && low < 0.0 => low / 16.0,
                _ => (low + high) / 2.0,
            };
        }
        f64::NAN
    }
}
