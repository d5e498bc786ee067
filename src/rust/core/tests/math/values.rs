//! Special values, and independence of bits from everything but the operand.

use crate::cases::{CASES, PAIRS};
use crate::common::Rng;
use crate::point;
use anvil_core::kernels::math::{self, Computed, Level};

/// Numbers at which something happens, and any at all.
fn mixed(rng: &mut Rng, n: usize) -> Vec<f64> {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.0,
        -3.0,
        1e-310,
        -5e-324,
        1e-40,
        1e300,
        -1e300,
        1e15,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    (0..n).map(|i| if i % 5 == 0 { *rng.choose(&special) } else { point(rng, (-10.0, 10.0)) }).collect()
}

/// Bits, all NaN that are not their operand's being one.
fn bits<F: Computed>(x: &[F]) -> Vec<u64> {
    x.iter().map(|x| u64::from_ne_bytes(x.to_bytes()[..8].try_into().expect("8 bytes"))).collect()
}

fn same_everywhere<F: Computed>(name: &str, x: &[F], run: impl Fn(Level, std::ops::Range<usize>) -> Vec<F>) {
    let want = bits(&run(Level::Portable, 0..x.len()));
    for &level in Level::ALL.iter().filter(|level| level.is_here()) {
        let got = bits(&run(level, 0..x.len()));
        let first = got.iter().zip(&want).position(|(got, want)| got != want);
        assert_eq!(first, None, "{name} of {:?} on {level:?}", first.map(|i| x[i]));
        // Of any length, from anywhere.
        for length in 0..35 {
            let start = length * 7 % 50;
            assert_eq!(
                bits(&run(level, start..start + length)),
                want[start..start + length],
                "{name} on {level:?}"
            );
        }
    }
}

fn levels<F: Computed>(n: usize) {
    let mut rng = Rng::new(5);
    let x: Vec<F> = mixed(&mut rng, n).into_iter().map(F::of).collect();
    let y: Vec<F> = mixed(&mut rng, n).into_iter().map(F::of).collect();
    for case in CASES {
        same_everywhere(case.name, &x, |level, part| {
            let mut out = vec![F::default(); part.len()];
            F::map_at(level, case.kernel, &x[part], &mut out);
            out
        });
    }
    for case in PAIRS {
        same_everywhere(case.name, &x, |level, part| {
            let mut out = vec![F::default(); part.len()];
            F::map2_at(level, case.kernel, &x[part.clone()], &y[part], &mut out);
            out
        });
    }
}

#[test]
fn bits_depend_on_the_operand_alone() {
    levels::<f32>(20_000);
    levels::<f64>(20_000);
}

#[test]
fn nan_keeps_its_payload_and_sign() {
    // R's `NA`, as R makes it and as arithmetic leaves it, and one of the other sign.
    for x in [0x7ff0_0000_0000_07a2_u64, 0x7ff8_0000_0000_07a2, 0xfff8_0000_0000_07a2].map(f64::from_bits) {
        let single = f32::from_bits(if x.is_sign_negative() { 0xffc0_07a2 } else { 0x7fc0_07a2 });
        let check = |name: &str, got: f64, got32: f32| {
            assert_eq!(got.to_bits(), x.to_bits() | 1 << 51, "{name}");
            assert_eq!(got32.to_bits(), single.to_bits(), "{name} of f32");
        };
        for &level in Level::ALL.iter().filter(|level| level.is_here()) {
            let (mut out, mut out32) = ([0.0; 3], [0f32; 3]);
            for case in CASES {
                f64::map_at(level, case.kernel, &[1.0, x, 0.5], &mut out);
                f32::map_at(level, case.kernel, &[1.0, single, 0.5], &mut out32);
                check(case.name, out[1], out32[1]);
            }
            for case in PAIRS {
                f64::map2_at(level, case.kernel, &[1.0, x, 3.0], &[1.0, 2.0, 0.5], &mut out);
                f32::map2_at(level, case.kernel, &[1.0, single, 3.0], &[1.0, 2.0, 0.5], &mut out32);
                check(case.name, out[1], out32[1]);
                f64::map2_at(level, case.kernel, &[1.0, 3.0, 3.0], &[1.0, x, 0.5], &mut out);
                f32::map2_at(level, case.kernel, &[1.0, 3.0, 3.0], &[1.0, single, 0.5], &mut out32);
                check(case.name, out[1], out32[1]);
            }
        }
    }
}

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// Values that are no matter of rounding.
const SPECIAL: &[(&str, &[(f64, f64)])] = &[
    ("exp", &[(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (1000.0, INF), (-1000.0, 0.0)]),
    (
        "exp2",
        &[(0.0, 1.0), (3.0, 8.0), (-149.0, 1.401298464324817e-45), (INF, INF), (-INF, 0.0), (2000.0, INF)],
    ),
    (
        "expm1",
        &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (1000.0, INF), (-1000.0, -1.0), (1e-40, 1e-40)],
    ),
    ("log", &[(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (-1.0, NAN), (-INF, NAN), (INF, INF)]),
    ("log1p", &[(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (-2.0, NAN), (INF, INF), (-1e-40, -1e-40)]),
    (
        "log2",
        &[
            (8.0, 3.0),
            (0.0, -INF),
            (-1.0, NAN),
            (1.0, 0.0),
            (INF, INF),
            (0.125, -3.0),
            (1.401298464324817e-45, -149.0),
        ],
    ),
    ("log10", &[(1000.0, 3.0), (1e10, 10.0), (0.0, -INF), (-1.0, NAN), (1.0, 0.0), (INF, INF), (10.0, 1.0)]),
    ("logistic", &[(0.0, 0.5), (INF, 1.0), (-INF, 0.0), (1000.0, 1.0), (-1000.0, 0.0)]),
    ("softplus", &[(INF, INF), (-INF, 0.0), (1000.0, 1000.0), (-1000.0, 0.0)]),
    ("tanh", &[(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (100.0, 1.0), (-1e-40, -1e-40)]),
    ("sinh", &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (-1000.0, -INF), (1e-40, 1e-40)]),
    ("cosh", &[(0.0, 1.0), (INF, INF), (-INF, INF), (-1000.0, INF)]),
    ("sin", &[(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (1e-40, 1e-40)]),
    ("cos", &[(0.0, 1.0), (INF, NAN), (-INF, NAN)]),
    ("tan", &[(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (-1e-40, -1e-40)]),
    ("sqrt", &[(0.0, 0.0), (-0.0, -0.0), (-1.0, NAN), (INF, INF)]),
    ("rsqrt", &[(0.0, INF), (-0.0, -INF), (-1.0, NAN), (INF, 0.0), (4.0, 0.5)]),
    ("cbrt", &[(0.0, 0.0), (-0.0, -0.0), (-8.0, -2.0), (INF, INF), (-INF, -INF), (27.0, 3.0)]),
    ("asin", &[(0.0, 0.0), (-0.0, -0.0), (1.1, NAN), (-INF, NAN), (1e-40, 1e-40)]),
    ("acos", &[(1.0, 0.0), (1.1, NAN), (-INF, NAN)]),
    (
        "atan",
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (INF, std::f64::consts::FRAC_PI_2),
            (-INF, -std::f64::consts::FRAC_PI_2),
            (1e-40, 1e-40),
        ],
    ),
    ("asinh", &[(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (-1e-40, -1e-40)]),
    ("acosh", &[(1.0, 0.0), (0.5, NAN), (-1e5, NAN), (-INF, NAN), (INF, INF)]),
    ("atanh", &[(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN), (-INF, NAN), (1e-40, 1e-40)]),
    ("sinpi", &[(0.0, 0.0), (-0.0, -0.0), (1.0, 0.0), (0.5, 1.0), (-0.5, -1.0), (1.5, -1.0), (INF, NAN)]),
    ("cospi", &[(0.0, 1.0), (1.0, -1.0), (0.5, 0.0), (-1.5, 0.0), (1e30, 1.0), (-INF, NAN)]),
    (
        "tanpi",
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (0.25, 1.0),
            (-0.25, -1.0),
            (0.75, -1.0),
            (0.5, NAN),
            (1.0, 0.0),
            (INF, NAN),
        ],
    ),
    (
        "gamma",
        &[
            (0.0, NAN),
            (-0.0, NAN),
            (-2.0, NAN),
            (1.0, 1.0),
            (2.0, 1.0),
            (5.0, 24.0),
            (INF, INF),
            (-INF, NAN),
            (200.0, INF),
        ],
    ),
    ("erf", &[(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (10.0, 1.0)]),
    ("erfc", &[(0.0, 1.0), (-0.0, 1.0), (INF, 0.0), (-INF, 2.0), (100.0, 0.0), (-1e300, 2.0), (1e300, 0.0)]),
    (
        "erf_inv",
        &[
            (0.0, 0.0),
            (-0.0, -0.0),
            (1.0, INF),
            (-1.0, -INF),
            (1.5, NAN),
            (-2.0, NAN),
            (INF, NAN),
            (-INF, NAN),
        ],
    ),
    (
        "lgamma",
        &[
            (0.0, INF),
            (-0.0, INF),
            (1.0, 0.0),
            (2.0, 0.0),
            (-3.0, INF),
            (-1e300, INF),
            (INF, INF),
            (-INF, INF),
        ],
    ),
    ("digamma", &[(0.0, NAN), (-0.0, NAN), (-5.0, NAN), (-1e300, NAN), (INF, INF), (-INF, NAN)]),
];

#[test]
fn special_values() {
    for case in CASES {
        let (_, values) =
            SPECIAL.iter().find(|(name, _)| *name == case.name).expect("every function has some");
        for &(x, want) in *values {
            let (mut got, mut got32) = ([0.0], [0f32]);
            f64::map(case.kernel, &[x], &mut got);
            f32::map(case.kernel, &[x as f32], &mut got32);
            let quiet = if want.is_nan() { 0x7ff8_0000_0000_0000 } else { want.to_bits() };
            assert_eq!(got[0].to_bits(), quiet, "{}({x}) = {}", case.name, got[0]);
            let quiet = if want.is_nan() { 0x7fc0_0000 } else { (want as f32).to_bits() };
            assert_eq!(got32[0].to_bits(), quiet, "{}({x}) = {} for f32", case.name, got32[0]);
        }
    }
}

#[test]
fn powers_and_angles_at_the_ends_are_those_of_ieee_754() {
    let values = [
        0.0,
        -0.0,
        0.5,
        -0.5,
        1.0,
        -1.0,
        2.0,
        -2.0,
        3.0,
        -3.0,
        1e300,
        -1e300,
        1e-300,
        9007199254740993.0,
        INF,
        -INF,
        NAN,
        5e-324,
    ];
    for x in values {
        for y in values {
            let (mut got, mut got32) = ([0.0], [0f32]);
            f64::map2(&math::POW, &[x], &[y], &mut got);
            let want = x.powf(y);
            let near = |got: f64, want: f64, distance: f64| {
                let same = got == want || (got - want).abs() <= want.abs() * distance;
                (got.is_nan() && want.is_nan()) || (same && got.is_sign_negative() == want.is_sign_negative())
            };
            // Short exponents are products, with as many roundings.
            assert!(near(got[0], want, 6e-16), "pow({x}, {y}) = {}, not {want}", got[0]);
            f32::map2(&math::POW, &[x as f32], &[y as f32], &mut got32);
            let want = (x as f32).powf(y as f32);
            assert!(
                near(got32[0].into(), want.into(), 3e-7),
                "pow({x}, {y}) = {}, not {want} for f32",
                got32[0]
            );
            f64::map2(&math::ATAN2, &[x], &[y], &mut got);
            let want = x.atan2(y);
            assert!(near(got[0], want, 5e-16), "atan2({x}, {y}) = {}, not {want}", got[0]);
        }
    }
}
