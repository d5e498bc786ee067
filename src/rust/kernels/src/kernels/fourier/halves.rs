//! Real lines of even length as half as many complex numbers: the even elements are the real parts, the odd ones the
//! imaginary parts.

use super::line::Apart;
use super::lines::{Lines, Out};
use super::long::{time, Long, Sink, Source};
use super::passes::Parts;
use crate::dtype::{Element, Float};
use crate::kernels::memory::zeroed;
use crate::kernels::threads::pool;
use crate::kernels::wide::wide;
use num_complex::Complex;

/// A number of the transform of a real line, from two of that of its halves, which are as far from both ends, and the
/// root of its place.
#[inline(always)]
fn split<T: Float>([a, b]: [T; 2], [x, y]: [T; 2], [c, s]: [T; 2]) -> [T; 2] {
    let half = T::of(0.5);
    let (even, odd) = ([(a + x) * half, (b - y) * half], [(b + y) * half, (x - a) * half]);
    [even[0] + (odd[0] * c - odd[1] * s), even[1] + (odd[0] * s + odd[1] * c)]
}

/// A number of which the inverse is made, its parts exchanged, from two of the transform of a real line: what
/// [`split`] undoes, twice as large.
#[inline(always)]
fn joined<T: Float>([a, b]: [T; 2], [x, y]: [T; 2], [c, s]: [T; 2]) -> [T; 2] {
    // Of the even elements, and of the odd ones, turned back.
    let (even, odd) = ([a + x, b - y], [a - x, b + y]);
    let odd = [odd[0] * c + odd[1] * s, odd[1] * c - odd[0] * s];
    [even[1] + odd[0], even[0] - odd[1]]
}

/// The places of the two numbers of which number `k` is made, of so many.
#[inline(always)]
fn both(k: usize, points: usize) -> [usize; 2] {
    [if k == points { 0 } else { k }, if k == 0 { 0 } else { points - k }]
}

/// The transforms of real lines from those of their halves, of `roots`, which are one more than there are numbers.
pub fn split_lines<T: Float>(roots: &[[T; 2]], x: &Parts<T>, out: &mut Parts<T>, width: usize) {
    let points = roots.len() - 1;
    out.iter_mut().for_each(|part| part.resize(roots.len() * width, T::of(0.0)));
    wide(|| {
        let [re, im] = out;
        for (k, (re, im)) in re.chunks_exact_mut(width).zip(im.chunks_exact_mut(width)).enumerate() {
            let [a, x] = both(k, points).map(|k| x.each_ref().map(|part| &part[k * width..][..width]));
            for lane in 0..width {
                let at = |[re, im]: [&[T]; 2]| [re[lane], im[lane]];
                [re[lane], im[lane]] = split(at(a), at(x), roots[k]);
            }
        }
    });
}

/// The numbers of which the inverses of real lines are made, from their transforms, whose imaginary parts at both ends
/// are taken as 0.
pub fn join_lines<T: Float>(roots: &[[T; 2]], x: &mut Parts<T>, out: &mut Parts<T>, width: usize) {
    let points = roots.len() - 1;
    x[1][..width].fill(T::of(0.0));
    x[1][points * width..].fill(T::of(0.0));
    wide(|| {
        let [re, im] = out;
        for (k, (re, im)) in re.chunks_exact_mut(width).zip(im.chunks_exact_mut(width)).enumerate() {
            let [a, x] = [k, points - k].map(|k| x.each_ref().map(|part| &part[k * width..][..width]));
            for lane in 0..width {
                let at = |[re, im]: [&[T]; 2]| [re[lane], im[lane]];
                [re[lane], im[lane]] = joined(at(a), at(x), roots[k]);
            }
        }
    });
}

/// The halves of a real line.
struct Pairs<'a, T> {
    data: &'a [T],
    start: isize,
    stride: isize,
}

impl<T: Float> Source<T> for Pairs<'_, T> {
    fn read(&self, first: usize, re: &mut [T], im: &mut [T]) {
        if self.stride == 1 {
            let pairs = self.data[self.start as usize + 2 * first..][..2 * re.len()].chunks_exact(2);
            for ((re, im), pair) in re.iter_mut().zip(im).zip(pairs) {
                (*re, *im) = (pair[0], pair[1]);
            }
            return;
        }
        let at = |k: usize| self.data[(self.start + k as isize * self.stride) as usize];
        for (k, (re, im)) in (first..).zip(re.iter_mut().zip(im)) {
            (*re, *im) = (at(2 * k), at(2 * k + 1));
        }
    }
}

/// A real line that several threads write from its halves, whose parts are exchanged.
struct PairsOut<'a, T> {
    out: &'a Out<T>,
    start: isize,
    stride: isize,
    /// What the elements are divided by.
    size: T,
}

impl<T: Float + Element> Sink<T> for PairsOut<'_, T> {
    unsafe fn write(&self, first: usize, re: &[T], im: &[T]) {
        let at = |k: usize| (self.start + k as isize * self.stride) as usize;
        for (k, (&im, &re)) in (first..).zip(re.iter().zip(im)) {
            // SAFETY: as the caller promises.
            unsafe {
                self.out.set(at(2 * k), re / self.size);
                self.out.set(at(2 * k + 1), im / self.size);
            }
        }
    }
}

/// What the halves of a real line are the inverse of.
struct Joined<'a, T> {
    roots: &'a [[T; 2]],
    data: &'a [Complex<T>],
    start: isize,
    stride: isize,
}

impl<T: Float> Source<T> for Joined<'_, T> {
    fn read(&self, first: usize, re: &mut [T], im: &mut [T]) {
        let points = self.roots.len() - 1;
        let at = |k: usize| {
            let z = self.data[(self.start + k as isize * self.stride) as usize];
            [z.re, if k == 0 || k == points { T::of(0.0) } else { z.im }]
        };
        for (k, (re, im)) in (first..).zip(re.iter_mut().zip(im)) {
            [*re, *im] = joined(at(k), at(points - k), self.roots[k]);
        }
    }
}

/// Numbers of the transform of a long line that are made by one thread at a time.
const CHUNK: usize = 1 << 13;

/// The transforms of long real lines.
pub fn long_lines<T: Float>(
    (long, roots): (&Long<T>, &[[T; 2]]),
    (data, from): (&[T], &Lines),
    (out, to): (&Out<Complex<T>>, &Lines),
) where
    Complex<T>: Element,
{
    let (points, count) = (roots.len() - 1, to.count());
    pool::for_each_piece(count, count > 1, |line| {
        let source = Pairs { data, start: from.start(line), stride: from.stride };
        let mut halves: Parts<T> = [zeroed(points), zeroed(points)];
        // SAFETY: nobody else knows the memory yet.
        unsafe { long.run(&source, &Apart::new(&mut halves)) };
        let [re, im] = &halves;
        let start = to.start(line);
        let shared = time(points, 1) >= pool::WORTH_SHARING;
        pool::for_each_piece(roots.len().div_ceil(CHUNK), shared, |chunk| {
            let first = chunk * CHUNK;
            for (k, &root) in (first..).zip(roots[first..].iter().take(CHUNK)) {
                let [a, x] = both(k, points).map(|k| [re[k], im[k]]);
                let [re, im] = split(a, x, root);
                // SAFETY: lines have no elements in common, and each is in one chunk.
                unsafe { out.set((start + k as isize * to.stride) as usize, Complex::new(re, im)) };
            }
        });
    });
}

/// Long real lines from their transforms.
pub fn long_inverses<T: Float>(
    (long, roots): (&Long<T>, &[[T; 2]]),
    (data, from): (&[Complex<T>], &Lines),
    (out, to): (&Out<T>, &Lines),
) where
    Complex<T>: Element,
{
    let (count, size) = (to.count(), T::of((2 * (roots.len() - 1)) as f64));
    pool::for_each_piece(count, count > 1, |line| {
        let source = Joined { roots, data, start: from.start(line), stride: from.stride };
        let sink = PairsOut { out, start: to.start(line), stride: to.stride, size };
        // SAFETY: lines have no elements in common, and each is in one piece.
        unsafe { long.run(&source, &sink) };
    });
}
