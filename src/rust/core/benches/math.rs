//! Benchmarks of the time per element of each function: 2^20 elements in tiles of 1,024, on one thread, with
//! the level of instructions in use and with those of the system's library, one element after the other.

use anvil_core::kernels::math::{self, Computed, Kernel1, Kernel2, Level};
use std::hint::black_box;
use std::time::Instant;

const TILE: usize = 1024;
const TILES: usize = 1024;
const ROUNDS: usize = 7;

/// Nanoseconds per element in the fastest of some rounds.
fn time(mut run: impl FnMut(usize)) -> f64 {
    let rounds = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        (0..TILES).for_each(&mut run);
        start.elapsed().as_secs_f64() * 1e9 / (TILE * TILES) as f64
    });
    rounds.fold(f64::INFINITY, f64::min)
}

/// So many tiles that they stay in the second-level cache.
const KEPT: usize = 16;

fn numbers<F: Computed>(range: (f64, f64)) -> Vec<F> {
    let mut state = 1u64;
    (0..TILE * KEPT)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            F::of(range.0 + (range.1 - range.0) * (state >> 11) as f64 * 2f64.powi(-53))
        })
        .collect()
}

fn one<F: Computed>(kernel: &Kernel1, system: fn(F) -> F, range: (f64, f64), levels: &[Level]) -> String {
    let (x, mut out) = (numbers::<F>(range), vec![F::default(); TILE]);
    let tile = |i: usize| &x[i % KEPT * TILE..][..TILE];
    let mut text = format!(
        "{:9.2}",
        time(|i| {
            black_box(&mut out).iter_mut().zip(tile(i)).for_each(|(out, &x)| *out = system(x));
        })
    );
    for &level in levels {
        text += &format!("{:9.2}", time(|i| F::map_at(level, kernel, tile(i), black_box(&mut out))));
    }
    text
}

fn two<F: Computed>(kernel: &Kernel2, system: fn(F, F) -> F, range: (f64, f64), levels: &[Level]) -> String {
    let (x, y, mut out) = (numbers::<F>(range), numbers::<F>((-2.0, 2.0)), vec![F::default(); TILE]);
    let tile = |x: &'_ [F], i: usize| -> Vec<F> { x[i % KEPT * TILE..][..TILE].to_vec() };
    let (x, y) = (tile(&x, 0), tile(&y, 3));
    let mut text = format!(
        "{:9.2}",
        time(|_| {
            black_box(&mut out).iter_mut().zip(&x).zip(&y).for_each(|((out, &x), &y)| *out = system(x, y));
        })
    );
    for &level in levels {
        text += &format!("{:9.2}", time(|_| F::map2_at(level, kernel, &x, &y, black_box(&mut out))));
    }
    text
}

fn main() {
    let levels: Vec<Level> = Level::ALL.iter().copied().filter(|level| level.is_here()).collect();
    let names: String = levels.iter().map(|level| format!("{:>9}", level.name())).collect();
    println!("ns per element      f32{names}{:>14}{names}", "f64");
    macro_rules! row {
        ($name:literal, $kernel:ident, $f32:expr, $f64:expr, $range:expr) => {
            let (single, double) = (
                one::<f32>(&math::$kernel, $f32, $range, &levels),
                one::<f64>(&math::$kernel, $f64, $range, &levels),
            );
            println!("{:<14}{single}     {double}", $name);
        };
    }
    let wide = (-10.0, 10.0);
    row!("exp", EXP, f32::exp, f64::exp, wide);
    row!("exp2", EXP2, f32::exp2, f64::exp2, wide);
    row!("expm1", EXPM1, f32::exp_m1, f64::exp_m1, wide);
    row!("log", LOG, f32::ln, f64::ln, (1e-3, 100.0));
    row!("log1p", LOG1P, f32::ln_1p, f64::ln_1p, (-0.9, 10.0));
    row!("log2", LOG2, f32::log2, f64::log2, (1e-3, 100.0));
    row!("log10", LOG10, f32::log10, f64::log10, (1e-3, 100.0));
    row!("logistic", LOGISTIC, |x| 1.0 / (1.0 + (-x).exp()), |x| 1.0 / (1.0 + (-x).exp()), wide);
    row!("softplus", SOFTPLUS, |x| x.exp().ln_1p(), |x| x.exp().ln_1p(), wide);
    row!("tanh", TANH, f32::tanh, f64::tanh, (-4.0, 4.0));
    row!("sinh", SINH, f32::sinh, f64::sinh, wide);
    row!("cosh", COSH, f32::cosh, f64::cosh, wide);
    row!("sin", SIN, f32::sin, f64::sin, (-100.0, 100.0));
    row!("sin, far", SIN, f32::sin, f64::sin, (1e15, 1e18));
    row!("cos", COS, f32::cos, f64::cos, (-100.0, 100.0));
    row!("tan", TAN, f32::tan, f64::tan, (-100.0, 100.0));
    row!("asin", ASIN, f32::asin, f64::asin, (-1.0, 1.0));
    row!("acos", ACOS, f32::acos, f64::acos, (-1.0, 1.0));
    row!("atan", ATAN, f32::atan, f64::atan, wide);
    row!("asinh", ASINH, |x| libm::asinh(x.into()) as f32, libm::asinh, wide);
    row!("acosh", ACOSH, |x| libm::acosh(x.into()) as f32, libm::acosh, (1.0, 10.0));
    row!("atanh", ATANH, |x| libm::atanh(x.into()) as f32, libm::atanh, (-1.0, 1.0));
    row!("erf", ERF, |x| libm::erf(x.into()) as f32, libm::erf, (-4.0, 4.0));
    row!("erfc", ERFC, |x| libm::erfc(x.into()) as f32, libm::erfc, (-4.0, 6.0));
    row!("erf_inv", ERF_INV, |_| f32::NAN, |_| f64::NAN, (-1.0, 1.0));
    row!("lgamma", LGAMMA, |x| libm::lgamma(x.into()) as f32, libm::lgamma, (0.0, 20.0));
    row!("lgamma, below", LGAMMA, |x| libm::lgamma(x.into()) as f32, libm::lgamma, (-20.0, 0.0));
    row!("digamma", DIGAMMA, |_| f32::NAN, |_| f64::NAN, (0.0, 20.0));
    row!("sqrt", SQRT, f32::sqrt, f64::sqrt, (0.0, 100.0));
    row!("rsqrt", RSQRT, |x| 1.0 / x.sqrt(), |x| 1.0 / x.sqrt(), (0.01, 100.0));
    row!("cbrt", CBRT, f32::cbrt, f64::cbrt, wide);
    macro_rules! pair {
        ($name:literal, $kernel:ident, $f32:expr, $f64:expr, $range:expr) => {
            let (single, double) = (
                two::<f32>(&math::$kernel, $f32, $range, &levels),
                two::<f64>(&math::$kernel, $f64, $range, &levels),
            );
            println!("{:<14}{single}     {double}", $name);
        };
    }
    pair!("pow", POW, f32::powf, f64::powf, (0.1, 10.0));
    pair!("atan2", ATAN2, f32::atan2, f64::atan2, wide);
}
