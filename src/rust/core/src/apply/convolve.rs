//! Convolutions of vectors, and interpolation: compositions.

use super::applier::{Applier, Composition};
use super::order::search;
use crate::dtype::FLOAT;
use crate::error::{Error, Result};
use crate::graph::Value;
use crate::kernels::fourier::Kind;
use crate::ops::attrs::Attrs;
use crate::ops::layout::Order;
use crate::ops::*;
use crate::shape::{Axis, Shape};
use crate::tensor::Aval;

/// All of them, by name.
pub(super) const ALL: &[(&str, Composition)] = &[
    ("convolve", |a, operands, attrs| a.convolve(operands, attrs)),
    ("interp", |a, operands, attrs| a.interp(operands, attrs)),
];

/// A length, at least this one, that has no prime factor above 5.
fn round_length(least: usize) -> usize {
    let smooth = |mut n: usize| {
        [2, 3, 5].iter().for_each(|&p| {
            while n % p == 0 {
                n /= p
            }
        });
        n == 1
    };
    (least..).find(|&n| smooth(n)).expect("a power of 2")
}

/// Whether transforms take less time than all products of vectors of these lengths.
fn by_transforms(long: usize, short: usize) -> bool {
    // Picoseconds, as measured: of a product, and of a number in each of the steps of three transforms.
    let length = round_length(long + short - 1);
    let steps = (usize::BITS - length.leading_zeros()) as usize;
    short > 32 && long.saturating_mul(short).saturating_mul(150) > 3 * length * steps * 300
}

/// All sums of products of two vectors with elements, as transforms or one by one.
fn full<'m, 'b>(x: Var<'m, 'b>, y: Var<'m, 'b>) -> Var<'m, 'b> {
    let (x, y) = if x.aval().shape.size() < y.aval().shape.size() { (y, x) } else { (x, y) };
    let (Aval { dtype, shape, .. }, short) = (x.aval(), y.aval().shape.size());
    let (long, total) = (shape.size(), shape.size() + short - 1);
    let precise = dtype.part().bits() >= 32 && dtype.part().is_float();
    if precise && by_transforms(long, short) {
        let size = round_length(total);
        let [there, back] = match dtype.is_complex() {
            true => [Kind::Forward, Kind::Inverse],
            false => [Kind::Real, Kind::RealInverse],
        };
        let spectrum = |x: Var<'m, 'b>| {
            let rest = (size - x.aval().shape.size()) as i64;
            let padded = x.padded(0.0, vec![0], vec![rest], vec![0]);
            padded.apply(Fourier { kind: there, axis: Axis(0), size: 0 }, &[])
        };
        let product = spectrum(x) * spectrum(y);
        let size = if dtype.is_complex() { 0 } else { size };
        return product.apply(Fourier { kind: back, axis: Axis(0), size }, &[]).section(Axis(0), 0, total);
    }
    let as_shape = |x: Var<'m, 'b>, sizes: [usize; 3]| {
        x.apply(Reshape { shape: sizes.into(), order: Order::Column }, &[])
    };
    let kernel = y.apply(Reverse { axes: vec![Axis(0)] }, &[]);
    let around = vec![short as i64 - 1];
    let op = Convolution {
        stride: vec![1],
        low: around.clone(),
        high: around,
        base: vec![1],
        dilation: vec![1],
        groups: 1,
    };
    let made = as_shape(x, [1, long, 1]).apply(op, &[as_shape(kernel, [short, 1, 1])]);
    made.reshaped(&[total].into())
}

impl Applier<'_> {
    /// The convolution of two vectors, by the modes of NumPy and the types of R.
    fn convolve(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        const FUNCTION: &str = "nv_convolve";
        let kind = attrs.choice("type", &["full", "same", "valid", "open", "filter", "circular"])?;
        arity(FUNCTION, operands.len(), 2)?;
        let values = self.join_counted(operands)?;
        let mut vectors = Vec::new();
        for (i, &value) in values.iter().enumerate() {
            let shape = self.shape(value);
            if shape.rank() > 1 || shape.size() == 0 {
                return Err(Error::Rank {
                    op: FUNCTION.into(),
                    operand: ["x", "y"][i].into(),
                    expected: "one axis, with elements".into(),
                    shape,
                    hint: "`nv_conv()` convolves along several axes.".into(),
                });
            }
            vectors.push(self.vector(value)?);
        }
        let [n, m] = [0, 1].map(|i| self.aval(vectors[i]).shape.size());
        if kind == "circular" && n != m {
            let (lhs, rhs) = (self.shape(vectors[0]), self.shape(vectors[1]));
            let what = "Vectors around a circle have one length".into();
            return Err(Error::SizeMismatch { op: FUNCTION.into(), lhs, rhs, what, l: n, r: m });
        }
        if kind == "filter" && m > n {
            let (lhs, rhs) = (self.shape(vectors[0]), self.shape(vectors[1]));
            let what = "A filter is not longer than what it filters".into();
            return Err(Error::SizeMismatch { op: FUNCTION.into(), lhs, rhs, what, l: n, r: m });
        }
        self.formulas(|math| {
            let [x, y] = [0, 1].map(|i| math.var(vectors[i]));
            let (least, most) = (n.min(m), n.max(m));
            // R takes the second vector backwards, and of complex numbers the conjugates.
            let backwards = || {
                let y = y.apply(Reverse { axes: vec![Axis(0)] }, &[]);
                if y.aval().dtype.is_complex() {
                    y.conj()
                } else {
                    y
                }
            };
            let all = match kind {
                "full" | "same" | "valid" => full(x, y),
                _ => full(x, backwards()),
            };
            let part = |from: usize, to: usize| all.section(Axis(0), from, to);
            [match kind {
                "same" => part((least - 1) / 2, (least - 1) / 2 + most),
                "valid" | "filter" => part(least - 1, most),
                // What goes beyond the end goes on at the beginning.
                "circular" if n > 1 => {
                    let wrapped = part(0, n - 1).padded(0.0, vec![1], vec![0], vec![0]);
                    part(n - 1, 2 * n - 1) + wrapped
                }
                _ => all,
            }]
        })
    }

    /// Piecewise linear functions through points, at other places.
    fn interp(&mut self, operands: &[Value], attrs: &Attrs) -> Result<Vec<Value>> {
        const FUNCTION: &str = "nv_interp";
        arity(FUNCTION, operands.len(), 3)?;
        let rules = match attrs.whole("rule", 1)?.as_slice() {
            [one] => [*one; 2],
            [left, right] => [*left, *right],
            _ => [0; 2],
        };
        if rules.iter().any(|rule| !(1..=2).contains(rule)) {
            return Err(Error::arg("rule", "1 or 2, or two of these", attrs.get("rule").describe()));
        }
        let values = self.promote(operands, FLOAT)?;
        let (xs, ys) = (self.vector(values[0])?, self.vector(values[1])?);
        let (lhs, rhs) = (self.shape(xs), self.shape(ys));
        let n = lhs.size();
        for (operand, shape) in [("x", &lhs), ("y", &rhs)] {
            if shape.rank() != 1 || shape.size() == 0 {
                return Err(Error::Rank {
                    op: FUNCTION.into(),
                    operand: operand.into(),
                    expected: "one axis, with elements".into(),
                    shape: shape.clone(),
                    hint: String::new(),
                });
            }
        }
        if lhs != rhs {
            let (op, what) = (FUNCTION.into(), "Each point has an `x` and a `y`".into());
            return Err(Error::SizeMismatch { op, l: n, r: rhs.size(), lhs, rhs, what });
        }
        let shape = self.shape(values[2]);
        self.formulas(|math| {
            let (xs, ys) = (math.var(xs), math.var(ys));
            let at = math.var(values[2]).reshaped(&Shape::from([shape.size()]));
            // The point before each place, of those that have one after them.
            let count = search(xs, at, true);
            let last = count.integer(n.saturating_sub(2) as i64);
            let before = (count - count.integer(1)).binary(Binary::max, count.integer(0));
            let before = before.binary(Binary::min, last);
            let after = (before + before.integer(1)).binary(Binary::min, before.integer(n as i64 - 1));
            let [x0, x1] = [before, after].map(|place| take_along(xs, place, Axis(0)));
            let [y0, y1] = [before, after].map(|place| take_along(ys, place, Axis(0)));
            let width = x1 - x0;
            let none = width.compare(Compare::eq, width.of(0.0));
            let share = (at - x0) / none.select(width.of(1.0), width);
            let inside = none.select(y0, y0 + share * (y1 - y0));
            // At the points themselves nothing is rounded.
            let inside = at.compare(Compare::eq, x1).select(y1, inside);
            let [low, high] = [(0, rules[0]), (n - 1, rules[1])].map(|(point, rule)| match rule {
                1 => inside.of(f64::NAN),
                _ => ys
                    .section(Axis(0), point, point + 1)
                    .reshaped(&Shape::scalar())
                    .repeated(&at.aval().shape, &[]),
            });
            let end = |point: usize| {
                xs.section(Axis(0), point, point + 1)
                    .reshaped(&Shape::scalar())
                    .repeated(&at.aval().shape, &[])
            };
            let made = at.compare(Compare::lt, end(0)).select(low, inside);
            let made = at.compare(Compare::gt, end(n - 1)).select(high, made);
            // A place that is no number has no value.
            [at.compare(Compare::ne, at).select(at, made).reshaped(&shape)]
        })
    }
}
