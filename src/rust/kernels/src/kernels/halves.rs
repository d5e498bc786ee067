//! Functions of floats of 16 bits, which are those of singles, rounded once.

use super::math::{Computed, Kernel1, Kernel2};
use super::wide::wide;
use crate::dtype::Element;

/// Elements that are converted at once.
const PART: usize = 256;

/// Makes singles of floats of 16 bits.
pub fn widen<H: Element>(x: &[H], out: &mut [f32]) {
    wide(|| out.iter_mut().zip(x).for_each(|(out, x)| *out = x.convert()));
}

/// Rounds singles to 16 bits.
fn narrow<H: Element>(x: &[f32], out: &mut [H]) {
    wide(|| out.iter_mut().zip(x).for_each(|(out, &x)| *out = H::from_f32(x)));
}

/// A function of each element.
pub fn map<H: Element>(kernel: &Kernel1, x: &[H], out: &mut [H]) {
    let (mut singles, mut result) = ([0.0; PART], [0.0; PART]);
    for (x, out) in x.chunks(PART).zip(out.chunks_mut(PART)) {
        let n = x.len();
        widen(x, &mut singles[..n]);
        f32::map(kernel, &singles[..n], &mut result[..n]);
        narrow(&result[..n], out);
    }
}

/// A function of each pair of elements.
pub fn map2<H: Element>(kernel: &Kernel2, x: &[H], y: &[H], out: &mut [H]) {
    let (mut singles_x, mut singles_y, mut result) = ([0.0; PART], [0.0; PART], [0.0; PART]);
    for ((x, y), out) in x.chunks(PART).zip(y.chunks(PART)).zip(out.chunks_mut(PART)) {
        let n = x.len();
        widen(x, &mut singles_x[..n]);
        widen(y, &mut singles_y[..n]);
        f32::map2(kernel, &singles_x[..n], &singles_y[..n], &mut result[..n]);
        narrow(&result[..n], out);
    }
}
