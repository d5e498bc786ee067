//! Conversions by value.

use super::map::{map, Map};
use crate::dtype::{dispatch, DType, Element};
use crate::kernels::wide::wide;

/// The conversion from one dtype to another, by the rules of [`Element`].
pub fn convert(from: DType, to: DType) -> Map<1> {
    match (from, to) {
        (DType::F64, DType::I64) => map!([f64] -> i64, |x; out| wide(|| truncated(x, out))),
        _ => dispatch!(from, T => dispatch!(to, U => of::<T, U>())),
    }
}

fn of<T: Element, U: Element>() -> Map<1> {
    map!([T] -> U, |x; out| wide(|| {
        for (out, x) in out.iter_mut().zip(x) {
            *out = x.convert();
        }
    }))
}

/// Elements that are converted at one time.
const TOGETHER: usize = 16;

/// Doubles as integers, without an instruction for it: processors before AVX-512 have one for a single double alone.
/// The digits of the sum of a number and 2^52 are those of the integer next to it.
#[inline(always)]
fn truncated(x: &[f64], out: &mut [i64]) {
    const SHIFT: f64 = (1u64 << 52) as f64;
    for (out, x) in out.chunks_mut(TOGETHER).zip(x.chunks(TOGETHER)) {
        // Not so of NaN.
        let small = x.iter().fold(true, |small, x| small & (x.abs() < SHIFT / 2.0));
        if !small {
            out.iter_mut().zip(x).for_each(|(out, x)| *out = x.convert());
            continue;
        }
        for (out, &x) in out.iter_mut().zip(x) {
            let size = x.abs();
            let near = (size + SHIFT) - SHIFT;
            let whole = near - if near > size { 1.0 } else { 0.0 };
            let number = (whole + SHIFT).to_bits().wrapping_sub(SHIFT.to_bits()) as i64;
            *out = if x < 0.0 { number.wrapping_neg() } else { number };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_truncated_to_integers() {
        let mut x = vec![f64::NAN, f64::INFINITY, -f64::INFINITY, 0.0, -0.0, 5e-324, f64::MAX];
        let [below, above] =
            [-1, 1].map(|by| move |x: f64| f64::from_bits(x.to_bits().wrapping_add_signed(by)));
        for power in 0..=64 {
            let size = (power as f64).exp2();
            for near in [size, size - 1.0, size + 1.0, size - 0.5, size + 0.5, below(size), above(size)] {
                x.extend([near, -near, near / 3.0, -near / 3.0]);
            }
        }
        let want: Vec<i64> = x.iter().map(|x| x.convert()).collect();
        // What is large is among others, and alone.
        for n in [0, 1, 15, 16, 17, 40, x.len()] {
            for (x, want) in x.chunks(n.max(1)).zip(want.chunks(n.max(1))) {
                let mut out = vec![7; x.len()];
                truncated(x, &mut out);
                assert_eq!(out, want);
                wide(|| truncated(x, &mut out));
                assert_eq!(out, want);
            }
        }
    }
}
