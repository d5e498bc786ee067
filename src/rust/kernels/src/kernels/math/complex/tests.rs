//! Held to values from mpmath, and to what C99 says of signed zeros, infinities and NaN.

use super::arithmetic::is_infinite;
use super::*;
use crate::dtype::DType;
use crate::kernels::cast;
use crate::kernels::elementwise::Unary;

/// Rows of arguments and values of a reference file, after its two lines of header.
fn reference(name: &str) -> Vec<Vec<C>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/testdata/special/");
    let text = std::fs::read_to_string(format!("{folder}complex_{name}.csv")).expect("committed");
    let number = |cell: &str| cell.parse::<f64>().expect("a number");
    let row = |line: &str| {
        let cells: Vec<f64> = line.split(',').map(number).collect();
        cells.chunks(2).map(|c| new(c[0], c[1])).collect()
    };
    let rows: Vec<Vec<C>> = text.lines().skip(2).map(row).collect();
    assert!(rows.len() > 150, "{name}");
    rows
}

/// Absolute value of the difference in units of epsilon times that of the value, of a subnormal one its
/// smallest step.
fn error(got: C, want: C) -> f64 {
    let scaled = want.re.abs().max(want.im.abs());
    if got == want {
        0.0
    } else if scaled.is_infinite() {
        // Where a part overflows, products of the other may as well.
        if is_infinite(got) {
            0.0
        } else {
            INF
        }
    } else {
        // Both are brought to a size whose squares are in range.
        let by = if scaled > 1.0 {
            2f64.powi(-512)
        } else if scaled < 1e-200 {
            2f64.powi(512)
        } else {
            1.0
        };
        let (d, size) = ((got - want) * by, (want * by).re.hypot(want.im * by));
        d.re.hypot(d.im) / (EPSILON * size).max(5e-324 * by)
    }
}

/// Holds a function to its bound, in units of `scale` epsilon; tells the worst point.
fn hold(name: &str, bound: f64, f: impl Fn(&[C]) -> C, scale: impl Fn(&[C]) -> f64) {
    let mut worst = (0.0, String::new());
    for row in reference(name) {
        let (want, arguments) = row.split_last().expect("a value");
        let got = f(arguments);
        let e = error(got, *want) / scale(arguments);
        if e.is_nan() || e > worst.0 {
            worst = (e, format!("{name}{arguments:?} is {got:e}, not {want:e}"));
        }
    }
    assert!(worst.0 <= bound, "{} epsilon: {}", worst.0, worst.1);
}

#[test]
fn functions_against_mpmath() {
    let held: &[(&str, f64, fn(C) -> C)] = &[
        ("sqrt", 2.0, sqrt),
        ("log", 2.0, ln),
        ("exp", 2.0, exp),
        ("sin", 2.0, sin),
        ("cos", 2.0, cos),
        ("tan", 3.0, tan),
        ("sinh", 2.0, sinh),
        ("cosh", 2.0, cosh),
        ("tanh", 3.0, tanh),
        ("asin", 2.0, asin),
        ("acos", 2.0, acos),
        ("atan", 2.0, atan),
        ("asinh", 2.0, asinh),
        ("acosh", 2.0, acosh),
        ("atanh", 2.0, atanh),
    ];
    for &(name, bound, f) in held {
        hold(name, bound, |z| f(z[0]), |_| 1.0);
    }
    // The kernels of programs, which compute most of these block by block.
    let kernels = [
        (Unary::sqrt, 2.0),
        (Unary::log, 2.0),
        (Unary::exp, 2.0),
        (Unary::sin, 2.0),
        (Unary::cos, 2.0),
        (Unary::tan, 3.0),
        (Unary::sinh, 2.0),
        (Unary::cosh, 2.0),
        (Unary::tanh, 3.0),
    ];
    for (function, bound) in kernels {
        let map = function.map(DType::C128).expect("a function of complex numbers");
        let of = |z: &[C]| {
            let mut out = [C::default()];
            map.run([cast::bytes(z)], cast::bytes_mut(&mut out));
            out[0]
        };
        hold(&format!("{function:?}"), bound, |z| of(&z[..1]), |_| 1.0);
    }
    hold("mul", 2.0, |z| mul(z[0], z[1]), |_| 1.0);
    hold("div", 2.0, |z| div(z[0], z[1]), |_| 1.0);
    // As the documentation says: the exponent, or the size of the logarithm of the result.
    hold(
        "pow",
        2.0,
        |z| pow(z[0], z[1]),
        |z| {
            let log = mul(z[1], ln(z[0]));
            1.0 + log.re.hypot(log.im).max(z[1].re.abs().max(z[1].im.abs()))
        },
    );
}

#[test]
fn other_logarithms_are_multiples_of_the_natural_one() {
    for row in reference("log") {
        for (got, unit) in [(log2(row[0]), std::f64::consts::LN_2), (log10(row[0]), std::f64::consts::LN_10)]
        {
            let e = error(got, row[1] / unit);
            assert!(e <= 4.0, "{e} epsilon at {}", row[0]);
        }
    }
    assert_eq!((log2(new(8.0, 0.0)), log10(new(1000.0, 0.0))), (new(3.0, 0.0), new(3.0, 0.0)));
}

/// The same numbers, the signs of zeros included, any NaN for a NaN.
fn assert_same(got: C, want: (f64, f64), what: &str) {
    let same = |a: f64, b: f64| (a.is_nan() && b.is_nan()) || a.to_bits() == b.to_bits();
    assert!(same(got.re, want.0) && same(got.im, want.1), "{what}: {got:?} is not {want:?}");
}

const NAN: f64 = f64::NAN;

#[test]
fn cuts_belong_to_the_side_of_the_signed_zero() {
    let pi = std::f64::consts::PI;
    for side in [0.0, -0.0] {
        let of = |x: f64| x.copysign(side);
        assert_same(sqrt(new(-4.0, side)), (0.0, of(2.0)), "sqrt");
        assert_same(sqrt(new(-0.0, side)), (0.0, side), "sqrt of 0");
        assert_same(ln(new(-1.0, side)), (0.0, of(pi)), "ln");
        assert_same(ln(new(-0.0, side)), (-INF, of(pi)), "ln of -0");
        assert_same(ln(new(0.0, side)), (-INF, side), "ln of 0");
        assert_same(asin(new(2.0, side)), (FRAC_PI_2, of(2f64.acosh())), "asin");
        assert_same(acos(new(2.0, side)), (0.0, -of(2f64.acosh())), "acos");
        assert_same(acos(new(-2.0, side)), (pi, -of(2f64.acosh())), "acos below");
        assert_same(acosh(new(-2.0, side)), (2f64.acosh(), of(pi)), "acosh");
        assert_same(atanh(new(2.0, side)), (0.5 * 3f64.ln(), of(FRAC_PI_2)), "atanh");
        assert_same(asinh(new(side, 2.0)), (of(2f64.acosh()), FRAC_PI_2), "asinh");
        assert_same(atan(new(side, 2.0)), (of(FRAC_PI_2), 0.5 * 3f64.ln()), "atan");
        // Odd functions keep the signs of both zeros.
        for f in [sin, tan, sinh, tanh, asin, atan, asinh, atanh] {
            assert_same(f(new(-0.0, side)), (-0.0, side), "odd");
        }
        assert_same(cosh(new(-0.0, side)), (1.0, -side), "cosh");
        assert_same(cos(new(-0.0, side)), (1.0, side), "cos");
        assert_same(exp(new(-0.0, side)), (1.0, side), "exp");
    }
}

#[test]
fn infinities_and_nan_are_those_of_c() {
    for (x, y, want) in [
        (NAN, INF, (INF, INF)),
        (-INF, 1.0, (0.0, INF)),
        (INF, -1.0, (INF, -0.0)),
        (1.0, NAN, (NAN, NAN)),
        (-INF, NAN, (NAN, INF)),
        (INF, NAN, (INF, NAN)),
    ] {
        assert_same(sqrt(new(x, y)), want, "sqrt");
    }
    for (x, y, want) in [
        (INF, NAN, (INF, NAN)),
        (NAN, INF, (INF, NAN)),
        (1.0, NAN, (NAN, NAN)),
        (NAN, 1.0, (NAN, NAN)),
        (-INF, INF, (INF, 0.75 * std::f64::consts::PI)),
    ] {
        assert_same(ln(new(x, y)), want, "ln");
    }
    for (x, y, want) in [
        (INF, 0.0, (INF, 0.0)),
        (-INF, INF, (0.0, 0.0)),
        (-INF, NAN, (0.0, 0.0)),
        (INF, INF, (INF, NAN)),
        (NAN, 0.0, (NAN, 0.0)),
        (1.0, INF, (NAN, NAN)),
        (-INF, 2.0, (-0.0, 0.0)),
        (INF, 2.0, (-INF, INF)),
    ] {
        assert_same(exp(new(x, y)), want, "exp");
    }
    for (x, y, want) in [
        (0.0, INF, (0.0, NAN)),
        (INF, 0.0, (INF, 0.0)),
        (INF, INF, (INF, NAN)),
        (-INF, 2.0, (INF, INF)),
        (NAN, 0.0, (NAN, 0.0)),
        (1.0, NAN, (NAN, NAN)),
    ] {
        assert_same(sinh(new(x, y)), want, "sinh");
    }
    for (x, y, want) in [
        (0.0, INF, (NAN, 0.0)),
        (INF, 0.0, (INF, 0.0)),
        (-INF, 0.0, (INF, -0.0)),
        (INF, NAN, (INF, NAN)),
        (INF, 2.0, (-INF, INF)),
        (1.0, INF, (NAN, NAN)),
    ] {
        assert_same(cosh(new(x, y)), want, "cosh");
    }
    for (x, y, want) in [
        (INF, 2.0, (1.0, -0.0)),
        (-INF, INF, (-1.0, 0.0)),
        (1.0, INF, (NAN, NAN)),
        (0.0, NAN, (0.0, NAN)),
        (NAN, 0.0, (NAN, 0.0)),
        (400.0, 1.0, (1.0, 0.0)),
        (-INF, NAN, (-1.0, 0.0)),
    ] {
        assert_same(tanh(new(x, y)), want, "tanh");
    }
    for (x, y, want) in [
        (INF, INF, (FRAC_PI_2 / 2.0, INF)),
        (1.0, -INF, (0.0, -INF)),
        (0.0, NAN, (0.0, NAN)),
        (NAN, 1.0, (NAN, NAN)),
    ] {
        assert_same(asin(new(x, y)), want, "asin");
    }
    for (x, y, want) in [
        (-INF, 1.0, (std::f64::consts::PI, -INF)),
        (-INF, INF, (1.5 * FRAC_PI_2, -INF)),
        (NAN, INF, (NAN, -INF)),
        (0.0, NAN, (FRAC_PI_2, NAN)),
        (INF, NAN, (NAN, -INF)),
    ] {
        assert_same(acos(new(x, y)), want, "acos");
    }
    for (x, y, want) in [
        (-INF, 1.0, (INF, std::f64::consts::PI)),
        (NAN, INF, (INF, NAN)),
        (INF, NAN, (INF, NAN)),
        (1.0, NAN, (NAN, NAN)),
    ] {
        assert_same(acosh(new(x, y)), want, "acosh");
    }
    for (x, y, want) in [
        (1.0, 0.0, (INF, 0.0)),
        (INF, 1.0, (0.0, FRAC_PI_2)),
        (1.0, INF, (0.0, FRAC_PI_2)),
        (0.0, NAN, (0.0, NAN)),
        (NAN, INF, (0.0, FRAC_PI_2)),
        (1.0, NAN, (NAN, NAN)),
    ] {
        let got = atanh(new(x, y));
        // The sign of what comes from a NaN is not defined.
        assert_same(new(if x.is_nan() { got.re.abs() } else { got.re }, got.im), want, "atanh");
    }
}

#[test]
fn what_has_an_infinite_part_is_infinite() {
    let inf = new(INF, NAN);
    assert_same(mul(new(INF, INF), new(1.0, 0.0)), (INF, INF), "mul");
    assert!(is_infinite(mul(inf, new(1.0, 1.0))) && is_infinite(mul(new(0.5, -2.0), inf)));
    assert_same(mul(inf, new(0.0, 0.0)), (NAN, NAN), "mul by 0");
    assert_same(mul(new(NAN, 1.0), new(2.0, 2.0)), (NAN, NAN), "mul of NaN");
    assert!(is_infinite(mul(new(1e200, 1e200), new(1e200, 1e200))));
    assert_same(div(new(1.0, 1.0), new(0.0, 0.0)), (INF, INF), "by 0");
    assert_same(div(new(1.0, -1.0), new(-0.0, 0.0)), (-INF, INF), "by -0");
    assert_same(div(new(0.0, 0.0), new(0.0, 0.0)), (NAN, NAN), "0 by 0");
    assert_same(div(new(1.0, 2.0), new(INF, NAN)), (0.0, 0.0), "by infinity");
    assert_same(div(new(INF, 1.0), new(1.0, 1.0)), (INF, -INF), "infinity by");
    assert_same(div(new(INF, INF), new(INF, INF)), (NAN, NAN), "infinities");
    assert_same(div(new(1.0, NAN), new(2.0, 0.0)), (NAN, NAN), "NaN by");
    // A real divisor divides the parts.
    assert_same(div(new(1.0, 2.0), new(3.0, 0.0)), (1.0 / 3.0, 2.0 / 3.0), "by 3");
}

#[test]
fn powers_at_zero_and_of_whole_exponents() {
    let zero = new(0.0, 0.0);
    assert_same(pow(zero, zero), (1.0, 0.0), "0^0");
    assert_same(pow(new(NAN, NAN), zero), (1.0, 0.0), "NaN^0");
    assert_same(pow(zero, new(2.0, 1.0)), (0.0, 0.0), "0^(2+i)");
    assert_same(pow(zero, new(-1.0, 0.0)), (INF, 0.0), "0^-1");
    assert_same(pow(zero, new(0.0, 1.0)), (NAN, NAN), "0^i");
    assert_same(pow(new(1.0, 2.0), new(2.0, 0.0)), (-3.0, 4.0), "(1+2i)^2");
    assert_eq!(pow(new(0.0, 1.0), new(1023.0, 0.0)), new(0.0, -1.0));
    assert_eq!(pow(new(0.0, 2.0), new(-2.0, 0.0)), new(-0.25, 0.0));
    assert_same(pow(new(2.0, 0.0), new(0.5, 0.0)), (2f64.sqrt(), 0.0), "2^(1/2)");
}

#[test]
fn bits_are_the_same_on_every_system() {
    // A number for the bits of all results, which those of a library of the system would change.
    type Function = fn(C) -> C;
    let functions: [(&str, Function, u64); 18] = [
        ("sqrt", sqrt, 0x30922db361b549da),
        ("ln", ln, 0x9e2225fd5e9c089f),
        ("log2", log2, 0x07013f1f4788467e),
        ("log10", log10, 0xc3848f3e1cc94486),
        ("exp", exp, 0x278b356fdd8119ba),
        ("sinh", sinh, 0x76d54b0dedbc0802),
        ("cosh", cosh, 0x845cc35a3669aa0b),
        ("tanh", tanh, 0x6b0f81fadba41159),
        ("sin", sin, 0x92bfdd45b4752a94),
        ("cos", cos, 0xb1a15cc1632e25a7),
        ("tan", tan, 0x45dade4743e392e5),
        ("asin", asin, 0xe2634657c20a56d5),
        ("acos", acos, 0x3e14e892e8dd5897),
        ("asinh", asinh, 0x8c854094b4b5bd7b),
        ("acosh", acosh, 0xe3e627f8ec2f6cef),
        ("atanh", atanh, 0x74165ad1d686639c),
        ("atan", atan, 0xf846c1b3d09d627c),
        ("pow", |z| pow(z, new(0.3, -0.7)), 0x678849fb2f9b6f97),
    ];
    let got = functions.map(|(name, function, _)| {
        let mut state = 1u64;
        let mut number = || {
            // The constants are Knuth's (TAOCP, volume 2, 3.3.4, line 26).
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 50) as f64 - 4.0
        };
        let mix = |hash: u64, bits: u64| (hash.rotate_left(5) ^ bits).wrapping_mul(0x517c_c1b7_2722_0a95);
        let all = (0..2000).map(|_| function(new(number(), number())));
        (name, all.fold(0, |hash, z| mix(mix(hash, z.re.to_bits()), z.im.to_bits())))
    });
    assert_eq!(got, functions.map(|(name, _, want)| (name, want)));
}
