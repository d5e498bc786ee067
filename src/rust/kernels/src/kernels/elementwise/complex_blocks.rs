//! Functions of complex numbers, a block at a time: by those of real numbers, as vectors. Numbers for which the formula
//! overflows, loses digits or has another value by C99 are computed one by one. Which these are depends on the number
//! alone, so that it has the same bits wherever it stands. `c64` computes in double precision, too, and rounds once.

use crate::dtype::Cpx;
use crate::kernels::math::{self, complex, Computed, Kernel1};
use crate::kernels::wide::wide;
use num_complex::Complex;

type C = Complex<f64>;

/// Numbers at a time.
const BLOCK: usize = 64;

/// A function of complex numbers.
pub struct Blocks {
    /// Real and imaginary parts of the function, from those of as many numbers.
    quick: fn([&[f64]; 2], [&mut [f64]; 2]),
    /// Whether a number is computed by itself.
    is_rare: fn(f64, f64) -> bool,
    /// The function of a number.
    each: fn(C) -> C,
}

/// Real and imaginary parts of numbers.
#[inline(always)]
fn split<T: Cpx, P>(x: &[T], [re, im]: [&mut [P; BLOCK]; 2], parts: impl Fn(T) -> (P, P)) {
    for (z, (re, im)) in x.iter().zip(re.iter_mut().zip(im)) {
        (*re, *im) = parts(*z);
    }
}

/// Applies a function.
pub fn apply<T: Cpx>(function: &Blocks, x: &[T], out: &mut [T]) {
    let ([mut re, mut im], [mut a, mut b]) = ([[0.0; BLOCK]; 2], [[0.0; BLOCK]; 2]);
    for (x, out) in x.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
        let n = x.len();
        wide(|| split(x, [&mut re, &mut im], |z| z.convert::<C>().parts()));
        (function.quick)([&re[..n], &im[..n]], [&mut a[..n], &mut b[..n]]);
        wide(|| {
            for (out, (&a, &b)) in out.iter_mut().zip(a.iter().zip(&b)) {
                *out = T::from_c128(Complex::new(a, b));
            }
        });
        for i in 0..n {
            if (function.is_rare)(re[i], im[i]) {
                out[i] = x[i].map(function.each);
            }
        }
    }
}

/// A function of the parts of numbers.
pub fn of_parts<T: Cpx>(
    x: &[T],
    out: &mut [T::Part],
    function: impl Fn(&[T::Part], &[T::Part], &mut [T::Part]),
) where
    T::Part: Computed,
{
    let [mut re, mut im] = [[T::Part::default(); BLOCK]; 2];
    for (x, out) in x.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
        let n = x.len();
        wide(|| split(x, [&mut re, &mut im], T::parts));
        function(&re[..n], &im[..n], out);
    }
}

/// A function of real numbers, of all in a block.
fn of(kernel: &Kernel1, x: &[f64]) -> [f64; BLOCK] {
    let mut out = [0.0; BLOCK];
    f64::map(kernel, x, &mut out[..x.len()]);
    out
}

/// Whether the exponential of a number, or the hyperbolic functions, may be out of range.
#[inline]
fn is_large(x: f64) -> bool {
    !matches!(x.abs(), size if size < 700.0)
}

/// Whether products of the hyperbolic functions of one number and the sine or cosine of the other one may be out of
/// range.
#[inline]
fn is_beyond(x: f64, y: f64) -> bool {
    is_large(x) || !y.is_finite()
}

/// Products of two functions of one part with two of the other one.
fn products([a, b]: [&[f64; BLOCK]; 2], [c, s]: [&[f64; BLOCK]; 2], [re, im]: [&mut [f64]; 2]) {
    wide(|| {
        re.iter_mut().zip(a.iter().zip(c)).for_each(|(re, (a, c))| *re = a * c);
        im.iter_mut().zip(b.iter().zip(s)).for_each(|(im, (b, s))| *im = b * s);
    });
}

/// Exponential, `e^x (cos y + i sin y)`.
pub static EXP: Blocks = Blocks {
    quick: |[x, y], out| {
        let e = of(&math::EXP, x);
        products([&e, &e], [&of(&math::COS, y), &of(&math::SIN, y)], out);
    },
    is_rare: is_beyond,
    each: complex::exp,
};

/// Hyperbolic sine, `sinh x cos y + i cosh x sin y`.
pub static SINH: Blocks = Blocks {
    quick: |[x, y], out| {
        let (s, c) = (of(&math::SINH, x), of(&math::COSH, x));
        products([&s, &c], [&of(&math::COS, y), &of(&math::SIN, y)], out);
    },
    is_rare: is_beyond,
    each: complex::sinh,
};

/// Hyperbolic cosine, `cosh x cos y + i sinh x sin y`.
pub static COSH: Blocks = Blocks {
    quick: |[x, y], out| {
        let (s, c) = (of(&math::SINH, x), of(&math::COSH, x));
        products([&c, &s], [&of(&math::COS, y), &of(&math::SIN, y)], out);
    },
    is_rare: is_beyond,
    each: complex::cosh,
};

/// Sine, `sin x cosh y + i cos x sinh y`.
pub static SIN: Blocks = Blocks {
    quick: |[x, y], out| {
        let (s, c) = (of(&math::SIN, x), of(&math::COS, x));
        products([&s, &c], [&of(&math::COSH, y), &of(&math::SINH, y)], out);
    },
    is_rare: |x, y| is_beyond(y, x),
    each: complex::sin,
};

/// Cosine, `cos x cosh y - i sin x sinh y`.
pub static COS: Blocks = Blocks {
    quick: |[x, y], out| {
        let s = of(&math::SIN, x).map(|s| -s);
        products([&of(&math::COS, x), &s], [&of(&math::COSH, y), &of(&math::SINH, y)], out);
    },
    is_rare: |x, y| is_beyond(y, x),
    each: complex::cos,
};

/// The parts of the hyperbolic tangent, by W. Kahan's formula, see [`complex::tanh`].
fn tanh_parts(x: &[f64], y: &[f64], [re, im]: [&mut [f64]; 2]) {
    let (s, t) = (of(&math::SINH, x), of(&math::TAN, y));
    wide(|| {
        for (((re, im), s), t) in re.iter_mut().zip(im).zip(s).zip(t) {
            let beta = 1.0 + t * t;
            let over = 1.0 + beta * s * s;
            (*re, *im) = (beta * (1.0 + s * s).sqrt() * s / over, t / over);
        }
    });
}

/// Whether that formula may overflow, or is not the function of a real number.
#[inline]
fn is_far(x: f64, y: f64) -> bool {
    !(x.abs() <= 22.0 && y.is_finite() && y != 0.0)
}

/// Hyperbolic tangent.
pub static TANH: Blocks =
    Blocks { quick: |[x, y], out| tanh_parts(x, y, out), is_rare: is_far, each: complex::tanh };

/// Tangent, `tanh(iz) / i`.
pub static TAN: Blocks = Blocks {
    quick: |[x, y], [re, im]| {
        let mut turned = [0.0; BLOCK];
        turned.iter_mut().zip(y).for_each(|(turned, y)| *turned = -y);
        tanh_parts(&turned[..y.len()], x, [&mut *im, &mut *re]);
        im.iter_mut().for_each(|im| *im = -*im);
    },
    is_rare: |x, y| is_far(y, x),
    each: complex::tan,
};

/// Whether squares of a number of this size are out of range, or it is none.
#[inline]
fn is_extreme(x: f64, y: f64) -> bool {
    !(1e-150..1e150).contains(&x.abs().max(y.abs())) || x.is_nan() || y.is_nan()
}

/// Square root, of non-negative real part.
pub static SQRT: Blocks = Blocks {
    quick: |[x, y], [re, im]| {
        wide(|| {
            for (((re, im), &x), &y) in re.iter_mut().zip(im).zip(x).zip(y) {
                let t = ((x.abs() + (x * x + y * y).sqrt()) * 0.5).sqrt();
                let other = y.abs() / (2.0 * t);
                let (a, b) = if x >= 0.0 { (t, other) } else { (other, t) };
                (*re, *im) = (a, b.copysign(y));
            }
        });
    },
    is_rare: is_extreme,
    each: complex::sqrt,
};

/// Logarithms by `log`, in units of which `e` has `unit`.
#[inline(always)]
fn logarithms([x, y]: [&[f64]; 2], [re, im]: [&mut [f64]; 2], log: &Kernel1, unit: f64) {
    let [mut near, mut far] = [[0.0; BLOCK]; 2];
    wide(|| {
        for (((near, far), x), y) in near.iter_mut().zip(&mut far).zip(x).zip(y) {
            // As `complex::ln()`: near the unit circle by the square of the size less 1.
            let (x, y) = (x.abs(), y.abs());
            let (large, small) = if x > y { (x, y) } else { (y, x) };
            let (beyond, is_near) = complex::beyond_unit(large, small);
            (*near, *far) = if is_near { (beyond, 1.0) } else { (0.0, x * x + y * y) };
        }
    });
    let n = x.len();
    let (near, far) = (of(&math::LOG1P, &near[..n]), of(log, &far[..n]));
    f64::map2(&math::ATAN2, y, x, im);
    wide(|| {
        // One of the two logarithms is 0.
        re.iter_mut().zip(near.iter().zip(far)).for_each(|(re, (near, far))| *re = 0.5 * (near * unit + far));
        im.iter_mut().for_each(|im| *im *= unit);
    });
}

/// Natural logarithm.
pub static LOG: Blocks =
    Blocks { quick: |z, out| logarithms(z, out, &math::LOG, 1.0), is_rare: is_extreme, each: complex::ln };

/// Logarithm to base 2.
pub static LOG2: Blocks = Blocks {
    quick: |z, out| logarithms(z, out, &math::LOG2, std::f64::consts::LOG2_E),
    is_rare: is_extreme,
    each: complex::log2,
};

/// Logarithm to base 10.
pub static LOG10: Blocks = Blocks {
    quick: |z, out| logarithms(z, out, &math::LOG10, std::f64::consts::LOG10_E),
    is_rare: is_extreme,
    each: complex::log10,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Element;

    const ALL: [(&str, &Blocks); 10] = [
        ("exp", &EXP),
        ("sinh", &SINH),
        ("cosh", &COSH),
        ("sin", &SIN),
        ("cos", &COS),
        ("tanh", &TANH),
        ("tan", &TAN),
        ("sqrt", &SQRT),
        ("log", &LOG),
        ("log10", &LOG10),
    ];

    fn numbers(n: usize, size: f64) -> Vec<C> {
        let part = |i: usize| (((i * 7919 + 13) % 2017) as f64 / 1008.5 - 1.0) * size;
        (0..n).map(|i| Complex::new(part(2 * i), part(2 * i + 1))).collect()
    }

    fn bits(z: C) -> [u64; 2] {
        [z.re, z.im].map(|part| if part.is_nan() { 0 } else { part.to_bits() })
    }

    /// Values at zeros, infinities, NaN and numbers of all sizes are those one by one, but for roundings: signs of zeros
    /// and what is not finite are the same.
    #[test]
    fn blocks_have_the_values_of_numbers_one_by_one() {
        let parts = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -3.25,
            1e-9,
            1e-200,
            5e-324,
            21.5,
            -30.0,
            699.0,
            705.0,
            1e5,
            -1e160,
            f64::MAX,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ];
        let special: Vec<C> = parts.iter().flat_map(|&x| parts.map(|y| Complex::new(x, y))).collect();
        for (name, function) in ALL {
            for x in [special.clone(), numbers(1000, 1.2), numbers(1000, 20.0), numbers(500, 1e4)] {
                let mut out = vec![Complex::default(); x.len()];
                apply(function, &x, &mut out);
                for (z, got) in x.iter().zip(&out) {
                    let want = (function.each)(*z);
                    let size = want.re.abs().max(want.im.abs());
                    for (got, want) in [(got.re, want.re), (got.im, want.im)] {
                        let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
                        let zeros = want == 0.0 || got == 0.0;
                        let near = !zeros && (got - want).abs() <= 5.0 * f64::EPSILON * size;
                        assert!(same || near, "{name}({z}) is {got:e}, not {want:e}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_number_has_the_same_bits_in_any_place() {
        for (name, function) in ALL {
            let mut x = numbers(150, 3.0);
            x[70] = Complex::new(f64::INFINITY, 1.0);
            let mut all = vec![Complex::default(); x.len()];
            apply(function, &x, &mut all);
            for (i, z) in x.iter().enumerate() {
                let mut one = [Complex::default()];
                apply(function, &[*z], &mut one);
                assert_eq!(bits(one[0]), bits(all[i]), "{name}({z})");
                let narrow: Complex<f32> = Complex::new(z.re as f32, z.im as f32);
                let (mut single, mut wide) = ([Complex::<f32>::default()], [Complex::<f64>::default()]);
                apply(function, &[narrow], &mut single);
                apply(function, &[narrow.convert()], &mut wide);
                let rounded: Complex<f32> = wide[0].convert();
                assert_eq!(bits(single[0].convert()), bits(rounded.convert()), "{name}({narrow})");
            }
        }
    }
}
