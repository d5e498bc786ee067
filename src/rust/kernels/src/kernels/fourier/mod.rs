//! Discrete Fourier transforms of lines of any length.
//!
//! `y[k] = sum over j of x[j] * exp(-2 pi i j k / n)`. Lines of a length with small prime factors are
//! transformed in [`passes`], several lines at once; long ones as a matrix, columns first, then rows, so that
//! each part stays in the cache and threads share the parts ([`long`]); lengths with a large prime factor as
//! a convolution (L. I. Bluestein, 1970). The first pass reads numbers where they are in a tensor, and the last one
//! writes them there ([`ends`]), if they lie side by side; short lines that lie one behind the other are
//! transposed on their way ([`tiles`]).
//!
//! What is computed for a line depends on its length alone. Functions of numbers are not the system's, and no
//! instruction contracts, so that the bits are the same everywhere.

mod butterflies;
mod ends;
mod halves;
mod line;
mod lines;
mod long;
mod odd;
mod parts;
mod pass;
mod passes;
mod roots;
mod tiles;
mod transform;

pub use transform::{Kind, Transforms};

#[cfg(test)]
mod tests {
    use super::butterflies::Number;
    use super::transform::Transform;
    use super::*;
    use crate::dtype::Element;
    use crate::kernels::cast;
    use crate::shape::Shape;
    use crate::tensor::{Layout, View, ViewMut};
    use num_complex::Complex;

    fn numbers(n: usize) -> Vec<Complex<f64>> {
        let part = |i: usize| ((i * 7919 + 13) % 1013) as f64 / 1013.0 - 0.5;
        (0..n).map(|i| Complex::new(part(2 * i), part(2 * i + 1))).collect()
    }

    /// The transform by its definition, of the numbers in `at`.
    fn defined(x: &[Complex<f64>], inverse: bool, at: &[usize]) -> Vec<Complex<f64>> {
        let n = x.len();
        let sum = |k: usize| {
            let terms = x.iter().enumerate().map(|(j, z)| {
                let [c, s] = roots::root((j as u128 * k as u128 % n as u128) as usize, n);
                z * Complex::new(c, if inverse { -s } else { s })
            });
            // With the roundings of the sum, which are more than those of a transform.
            let (mut sum, mut rest) = ([0.0; 2], [0.0; 2]);
            for term in terms {
                for (i, x) in [term.re, term.im].into_iter().enumerate() {
                    let (old, new) = (sum[i], sum[i] + x);
                    let kept = new - old;
                    rest[i] += (old - (new - kept)) + (x - kept);
                    sum[i] = new;
                }
            }
            Complex::new(sum[0] + rest[0], sum[1] + rest[1]) / if inverse { n as f64 } else { 1.0 }
        };
        at.iter().map(|&k| sum(k)).collect()
    }

    /// Runs a transform of dense lines along the first or the last of two axes.
    fn run<T: Number, I: Element, O: Element>(
        kind: Kind,
        size: usize,
        x: &[I],
        sizes: [usize; 2],
        axis: usize,
    ) -> Vec<O>
    where
        Complex<T>: Element,
    {
        let mut out = sizes;
        out[axis] = match kind {
            Kind::Real => size / 2 + 1,
            _ => size,
        };
        let real = I::DTYPE.is_float();
        let (from, to) = (Shape::from(sizes), Shape::from(out));
        let layout = Layout::dense(&from);
        let mut made = vec![O::default(); to.size()];
        let x = View { dtype: I::DTYPE, shape: &from, layout: &layout, data: cast::bytes(x) };
        let mut out = ViewMut { dtype: O::DTYPE, shape: &to, data: cast::bytes_mut(&mut made) };
        Transform::<T>::new(kind, size, real).run(&x, axis, &mut out);
        made
    }

    fn agrees(n: usize, x: &[Complex<f64>], got: &[Complex<f64>], want: &[Complex<f64>], bound: f64) {
        let scale = x.iter().map(|z| z.norm_sqr().sqrt()).sum::<f64>();
        for (got, want) in got.iter().zip(want) {
            assert!((got - want).norm() <= bound * scale * 2f64.powi(-53), "{n}: {got} is not {want}");
        }
    }

    #[test]
    fn lines_of_all_lengths_are_transformed() {
        let lengths = (1..70)
            .chain([
                81, 101, 125, 128, 210, 251, 289, 509, 1000, 1024, 2032, 3721, 4096, 4099, 4489, 5000, 6561,
                8192,
            ])
            .chain([10007]);
        for n in lengths {
            let x = numbers(n);
            let at: Vec<usize> = if n < 600 { (0..n).collect() } else { (0..n).step_by(n / 40).collect() };
            for (kind, inverse) in [(Kind::Forward, false), (Kind::Inverse, true)] {
                let want = defined(&x, inverse, &at);
                let got: Vec<Complex<f64>> = run::<f64, _, _>(kind, n, &x, [n, 1], 0);
                agrees(n, &x, &at.iter().map(|&k| got[k]).collect::<Vec<_>>(), &want, 4.0);
                let single: Vec<Complex<f32>> = x.iter().map(|&z| z.convert()).collect();
                let got: Vec<Complex<f32>> = run::<f32, _, _>(kind, n, &single, [n, 1], 0);
                let got: Vec<Complex<f64>> = at.iter().map(|&k| got[k].convert()).collect();
                agrees(n, &x, &got, &want, 4.0 * 2f64.powi(29));
            }
        }
    }

    #[test]
    fn real_lines_are_transformed_by_half_as_many_numbers() {
        for n in (1..40).chain([100, 1000, 4097, 8192, 16384, 10006]) {
            let x: Vec<f64> = numbers(n).iter().map(|z| z.re).collect();
            let whole: Vec<Complex<f64>> = x.iter().map(|&x| Complex::from(x)).collect();
            let at: Vec<usize> =
                if n < 600 { (0..n / 2 + 1).collect() } else { (0..n / 2 + 1).step_by(n / 40).collect() };
            let got: Vec<Complex<f64>> = run::<f64, _, _>(Kind::Real, n, &x, [n, 1], 0);
            agrees(
                n,
                &whole,
                &at.iter().map(|&k| got[k]).collect::<Vec<_>>(),
                &defined(&whole, false, &at),
                4.0,
            );
            // All of it, and of the inverse: the first half, and its conjugate.
            let all: Vec<Complex<f64>> = run::<f64, _, _>(Kind::Forward, n, &x, [n, 1], 0);
            let inverse: Vec<Complex<f64>> = run::<f64, _, _>(Kind::Inverse, n, &x, [n, 1], 0);
            for k in 0..n {
                let z = if k > n / 2 { got[n - k].conj() } else { got[k] };
                assert_eq!(all[k], z, "{n}");
                assert_eq!(inverse[k], Complex::new(z.re / n as f64, -z.im / n as f64), "{n}");
            }
            // Imaginary parts that a real line does not have are not read.
            let mut half = got.clone();
            half[0].im = 7.0;
            if n % 2 == 0 {
                half[n / 2].im = 7.0;
            }
            let back: Vec<f64> = run::<f64, _, _>(Kind::RealInverse, n, &half, [n / 2 + 1, 1], 0);
            for (x, y) in x.iter().zip(&back) {
                assert!((x - y).abs() < 1e-14, "{n}: {y} is not {x}");
            }
        }
    }

    #[test]
    fn a_line_has_the_same_bits_with_any_others_and_in_any_place() {
        for (n, lines) in [(7, 37), (12, 5), (1000, 20), (67, 9), (8192, 3)] {
            let x = numbers(n * lines);
            let all: Vec<Complex<f64>> = run::<f64, _, _>(Kind::Forward, n, &x, [n, lines], 0);
            let across: Vec<Complex<f64>> = (0..n * lines).map(|i| x[i / lines + i % lines * n]).collect();
            let other: Vec<Complex<f64>> = run::<f64, _, _>(Kind::Forward, n, &across, [lines, n], 1);
            for line in 0..lines {
                let one: Vec<Complex<f64>> =
                    run::<f64, _, _>(Kind::Forward, n, &x[line * n..][..n], [n, 1], 0);
                assert_eq!(one, all[line * n..][..n], "{n}");
                assert!(one.iter().enumerate().all(|(k, z)| *z == other[line + k * lines]), "{n}");
            }
        }
    }

    /// As above of real lines and back, along both axes; one line alone is neither beside others nor across.
    #[test]
    fn a_real_line_has_the_same_bits_with_any_others_and_in_any_place() {
        for (n, lines) in
            [(1, 3), (2, 40), (7, 37), (12, 5), (30, 17), (512, 33), (67, 9), (134, 9), (8192, 3), (16384, 2)]
        {
            let x: Vec<f32> = numbers(n * lines).iter().map(|z| z.re as f32).collect();
            let m = n / 2 + 1;
            let along: Vec<Complex<f32>> = run::<f32, _, _>(Kind::Real, n, &x, [n, lines], 0);
            let back: Vec<f32> = run::<f32, _, _>(Kind::RealInverse, n, &along, [m, lines], 0);
            let turned: Vec<f32> = (0..n * lines).map(|i| x[i / lines + i % lines * n]).collect();
            let across: Vec<Complex<f32>> = run::<f32, _, _>(Kind::Real, n, &turned, [lines, n], 1);
            let whole: Vec<Complex<f32>> = run::<f32, _, _>(Kind::Forward, n, &x, [n, lines], 0);
            let whole_across: Vec<Complex<f32>> = run::<f32, _, _>(Kind::Forward, n, &turned, [lines, n], 1);
            let back_across: Vec<f32> = run::<f32, _, _>(Kind::RealInverse, n, &across, [lines, m], 1);
            for line in 0..lines {
                let one: Vec<Complex<f32>> = run::<f32, _, _>(Kind::Real, n, &x[line * n..][..n], [n, 1], 0);
                let of_one: Vec<f32> = run::<f32, _, _>(Kind::RealInverse, n, &one, [m, 1], 0);
                assert_eq!(one, along[line * m..][..m], "{n}");
                assert_eq!(of_one, back[line * n..][..n], "{n}");
                assert_eq!(one, whole[line * n..][..m], "{n}");
                assert!((0..n).all(|k| whole[line * n + k] == whole_across[line + k * lines]), "{n}");
                assert!(one.iter().enumerate().all(|(k, z)| *z == across[line + k * lines]), "{n}");
                assert!(of_one.iter().enumerate().all(|(k, x)| *x == back_across[line + k * lines]), "{n}");
                assert!(of_one.iter().zip(&x[line * n..]).all(|(x, y)| (x - y).abs() < 1e-5), "{n}");
            }
        }
    }

    #[test]
    fn roots_of_unity_are_exact_on_the_axes() {
        for n in [1, 2, 4, 8, 1000, 1 << 20] {
            assert_eq!(roots::root(0, n), [1.0, -0.0]);
            if n % 4 == 0 {
                assert_eq!(roots::root(n / 4, n).map(f64::abs), [0.0, 1.0]);
                assert_eq!(roots::root(n / 2, n).map(f64::abs), [1.0, 0.0]);
            }
        }
    }
}
