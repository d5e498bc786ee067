//! Real lines of even length as half as many complex numbers: the even elements are the real parts, the odd ones the
//! imaginary parts.

use super::butterflies::Number;
use super::ends::Woven;
use super::line::Shared;
use super::lines::{Lines, Out};
use super::long::{time, Long, Sink, Source};
use super::parts::{Parts, Room};
use crate::dtype::Element;
use crate::kernels::memory::room as memory;
use crate::kernels::threads::pool;
use crate::kernels::wide::wide;
use num_complex::Complex;

/// A number of the transform of a real line, from two of that of its halves, which are as far from both ends, and the
/// root of its place.
#[inline(always)]
fn split<T: Number>([a, b]: [T; 2], [x, y]: [T; 2], [c, s]: [T; 2]) -> [T; 2] {
    let half = T::of(0.5);
    let (even, odd) = ([(a + x) * half, (b - y) * half], [(b + y) * half, (x - a) * half]);
    [even[0] + (odd[0] * c - odd[1] * s), even[1] + (odd[0] * s + odd[1] * c)]
}

/// A number of which the inverse is made, its parts exchanged, from two of the transform of a real line: what
/// [`split`] undoes, twice as large.
#[inline(always)]
fn joined<T: Number>([a, b]: [T; 2], [x, y]: [T; 2], [c, s]: [T; 2]) -> [T; 2] {
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

/// What a function makes of the numbers of one line: of each, of that which is as far from the other end, and of the
/// root of its place.
fn line<T: Number>(
    [a, b]: [&[T]; 2],
    [x, y]: [&[T]; 2],
    roots: &[[T; 2]],
    [re, im]: [&mut [T]; 2],
    make: impl Fn([T; 2], [T; 2], [T; 2]) -> [T; 2],
) {
    wide(|| {
        let near = a.iter().zip(b);
        let far = x.iter().rev().zip(y.iter().rev());
        let out = re.iter_mut().zip(im);
        for (((out, near), far), &root) in out.zip(near).zip(far).zip(roots) {
            [*out.0, *out.1] = make([*near.0, *near.1], [*far.0, *far.1], root);
        }
    });
}

/// The transforms of real lines from those of their halves, of `roots`, which are one more than there are numbers.
pub fn split_lines<T: Number>(roots: &[[T; 2]], x: &Parts<T>, out: &mut Parts<T>, width: usize) {
    let points = roots.len() - 1;
    out.iter_mut().for_each(|part| part.resize(roots.len() * width));
    if width == 1 {
        // Both ends are made of the first number alone.
        let ends = x.each_ref().map(|part| part[0]);
        for k in [0, points] {
            [out[0][k], out[1][k]] = split(ends, ends, roots[k]);
        }
        let near = x.each_ref().map(|part| &part[1..points]);
        return line(near, near, &roots[1..points], out.each_mut().map(|part| &mut part[1..points]), split);
    }
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
pub fn join_lines<T: Number>(roots: &[[T; 2]], x: &mut Parts<T>, out: &mut Parts<T>, width: usize) {
    let points = roots.len() - 1;
    x[1][..width].fill(T::of(0.0));
    x[1][points * width..].fill(T::of(0.0));
    if width == 1 {
        let x = x.each_ref();
        let (near, far) = (x.map(|part| &part[..points]), x.map(|part| &part[1..]));
        return line(near, far, &roots[..points], out.each_mut().map(|part| &mut part[..]), joined);
    }
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

impl<T: Number> Source<T> for Pairs<'_, T> {
    fn woven(&self, size: usize) -> Option<Woven<*const T>> {
        let data = self.data[self.start as usize..].get(..2 * size).filter(|_| self.stride == 1)?;
        Some(Woven { first: data.as_ptr(), step: 1, inverse: None })
    }

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

impl<T: Number> Sink<T> for PairsOut<'_, T> {
    fn woven(&self, size: usize) -> Option<Woven<*mut T>> {
        let ((all, len), start) = (self.out.all(), self.start as usize);
        let inverse = Some(self.size.f64());
        (self.stride == 1 && start + 2 * size <= len).then(|| Woven {
            first: all.wrapping_add(start),
            step: 1,
            inverse,
        })
    }

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

/// The other half of the transforms of real lines of `size` numbers, of which the first one is there: its conjugate.
pub fn mirror_lines<T: Number>([re, im]: &mut Parts<T>, size: usize, width: usize) {
    for part in [&mut *re, &mut *im] {
        part.resize(size * width);
    }
    if width == 1 {
        let (first, count) = (size / 2 + 1, (size - 1) / 2);
        let [(from, to), (conjugate, of)] = [re.split_at_mut(first), im.split_at_mut(first)];
        to.iter_mut().zip(from[1..=count].iter().rev()).for_each(|(to, from)| *to = *from);
        of.iter_mut().zip(conjugate[1..=count].iter().rev()).for_each(|(to, from)| *to = -*from);
        return;
    }
    for k in size / 2 + 1..size {
        let from = (size - k) * width;
        re.copy_within(from..from + width, k * width);
        for lane in 0..width {
            im[k * width + lane] = -im[from + lane];
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

impl<T: Number> Source<T> for Joined<'_, T> {
    fn read(&self, first: usize, re: &mut [T], im: &mut [T]) {
        let points = self.roots.len() - 1;
        let at = |k: usize| {
            let z = self.data[(self.start + k as isize * self.stride) as usize];
            [z.re, if k == 0 || k == points { T::of(0.0) } else { z.im }]
        };
        let count = re.len();
        if self.stride != 1 {
            for (k, (re, im)) in (first..).zip(re.iter_mut().zip(im)) {
                [*re, *im] = joined(at(k), at(points - k), self.roots[k]);
            }
            return;
        }
        let line = &self.data[self.start as usize..][..=points];
        let (near, far) = (&line[first..][..count], &line[points + 1 - first - count..][..count]);
        wide(|| {
            let numbers = near.iter().zip(far.iter().rev()).zip(&self.roots[first..]);
            for (out, ((near, far), &root)) in re.iter_mut().zip(&mut *im).zip(numbers) {
                [*out.0, *out.1] = joined([near.re, near.im], [far.re, far.im], root);
            }
        });
        if first == 0 {
            [re[0], im[0]] = joined(at(0), at(points), self.roots[0]);
        }
    }
}

/// Numbers of the transform of a long line that are made by one thread at a time.
const CHUNK: usize = 1 << 11;

/// The transforms of long real lines: their first halves, or all of them, `whole` of each number.
pub fn long_lines<T: Number>(
    (long, roots): (&Long<T>, &[[T; 2]]),
    (data, from): (&[T], &Lines),
    (out, to): (&Out<Complex<T>>, &Lines),
    whole: Option<impl Fn(T, T) -> Complex<T> + Sync>,
) where
    Complex<T>: Element,
{
    let (points, count) = (roots.len() - 1, to.count());
    pool::for_each_piece(count, count > 1, |number| {
        let source = Pairs { data, start: from.start(number), stride: from.stride };
        let mut halves = [memory::Room::zeroed(points), memory::Room::zeroed(points)];
        let [re, im] = &mut halves;
        // SAFETY: nobody else knows the memory yet.
        unsafe { long.run(&source, &Shared::new(re, im)) };
        let [re, im] = halves.each_ref().map(|part: &memory::Room<T>| &part[..]);
        let start = to.start(number);
        let shared = time::<T>(points, 1) >= pool::WORTH_SHARING;
        pool::for_each_piece(roots.len().div_ceil(CHUNK), shared, |chunk| {
            let first = chunk * CHUNK;
            let count = CHUNK.min(roots.len() - first);
            let room = &mut *Room::kept(count);
            let [a, b] = &mut room.x;
            // Both ends are made of the first number alone.
            let (low, high) = (first.max(1), (first + count).min(points));
            let (near, far) = (
                [re, im].map(|part| &part[low..high]),
                [re, im].map(|part| &part[points + 1 - high..=points - low]),
            );
            line(
                near,
                far,
                &roots[low..high],
                [&mut a[low - first..high - first], &mut b[low - first..high - first]],
                split,
            );
            for k in [0, points].into_iter().filter(|k| (first..first + count).contains(k)) {
                let ends = [re[0], im[0]];
                [a[k - first], b[k - first]] = split(ends, ends, roots[k]);
            }
            let numbers = a[..count].iter().zip(&b[..count]);
            let at = |k: usize| (start + k as isize * to.stride) as usize;
            // SAFETY: lines have no elements in common; each number, and its conjugate, is of one chunk.
            unsafe {
                match &whole {
                    None if to.stride == 1 => {
                        let row = out.row(at(first), count);
                        wide(|| {
                            row.iter_mut()
                                .zip(numbers)
                                .for_each(|(out, (&re, &im))| *out = Complex::new(re, im))
                        });
                    }
                    None => (first..)
                        .zip(numbers)
                        .for_each(|(k, (&re, &im))| out.set(at(k), Complex::new(re, im))),
                    Some(whole) if to.stride == 1 => {
                        let row = out.row(at(first), count);
                        let others = out.row(at(2 * points + 1 - high), high - low);
                        wide(|| {
                            row.iter_mut().zip(numbers).for_each(|(out, (&re, &im))| *out = whole(re, im));
                            let numbers = a[low - first..].iter().zip(&b[low - first..]);
                            others
                                .iter_mut()
                                .rev()
                                .zip(numbers)
                                .for_each(|(out, (&re, &im))| *out = whole(re, -im));
                        });
                    }
                    Some(whole) => {
                        for (k, (&re, &im)) in (first..).zip(numbers) {
                            out.set(at(k), whole(re, im));
                            if 0 < k && k < points {
                                out.set(at(2 * points - k), whole(re, -im));
                            }
                        }
                    }
                }
            }
        });
    });
}

/// Long real lines from their transforms.
pub fn long_inverses<T: Number>(
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
